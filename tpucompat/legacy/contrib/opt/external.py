"""Optimizers outside of TensorFlow, such as SciPy's.

Behaviour follows external_optimizer.py of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.errors import BadValueError

#: Gives the values of tensors for a vector of all variables' values.
Evaluation = Callable[[Any], Sequence[Any]]


class ExternalOptimizerInterface:
    """Lets an optimizer outside of TensorFlow minimize a loss; a subclass says which, in ``_minimize``.

    Args:
      loss: A scalar.
      var_list: The variables; the trainable ones by default.
      equalities: Scalars that shall be zero.
      inequalities: Scalars that shall not be negative.
      var_to_bounds: Variable -> (lowest, highest), each a number or an array of its shape.
      **optimizer_kwargs: For the optimizer.
    """

    def __init__(
        self,
        loss: Any,
        var_list: Any = None,
        equalities: Any = None,
        inequalities: Any = None,
        var_to_bounds: Any = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self._vars = list(tf.trainable_variables() if var_list is None else var_list)
        self._shapes = [tuple(var.shape.as_list()) for var in self._vars]
        self._packed_bounds = None if var_to_bounds is None else self._pack_bounds(var_to_bounds)
        self._update_placeholders = [tf.placeholder(var.dtype) for var in self._vars]
        self._var_updates = [
            var.assign(tf.reshape(placeholder, shape))
            for var, placeholder, shape in zip(self._vars, self._update_placeholders, self._shapes)
        ]
        self.optimizer_kwargs = optimizer_kwargs
        self._loss = [loss, self._packed_gradients(loss)]
        self._equalities = self._with_gradients(equalities)
        self._inequalities = self._with_gradients(inequalities)
        self._packed_var = _pack(self._vars)
        ends = np.cumsum([int(np.prod(shape)) for shape in self._shapes]).tolist()
        self._packing_slices = [slice(start, end) for start, end in zip([0, *ends], ends)]

    def _pack_bounds(self, var_to_bounds: dict[Any, Any]) -> list[tuple[float, float]]:
        keys = {id(var): bounds for var, bounds in var_to_bounds.items()}
        packed: list[tuple[float, float]] = []
        for var, shape in zip(self._vars, self._shapes):
            lowest, highest = keys.get(id(var), (-np.inf, np.inf))
            packed += zip(np.broadcast_to(lowest, shape).flat, np.broadcast_to(highest, shape).flat)
        return packed

    def _packed_gradients(self, tensor: Any) -> Any:
        gradients = tf.gradients(tensor, self._vars)
        return _pack(
            [
                tf.zeros_like(var) if gradient is None else gradient
                for var, gradient in zip(self._vars, gradients)
            ]
        )

    def _with_gradients(self, tensors: Any) -> list[tuple[Any, Any]]:
        return [(tensor, self._packed_gradients(tensor)) for tensor in tensors or []]

    def minimize(
        self,
        session: Any = None,
        feed_dict: Any = None,
        fetches: Any = None,
        step_callback: Any = None,
        loss_callback: Any = None,
        **run_kwargs: Any,
    ) -> None:
        """Minimizes the loss, and gives the variables the values at which it is least.

        Args:
          session: The default one, if None.
          feed_dict: Of each evaluation.
          fetches: What ``loss_callback`` is given the values of.
          step_callback: Called after each step with all variables' values.
          loss_callback: Called at each evaluation of the loss.
          **run_kwargs: Of the session's run that assigns the values.
        """
        session = session or tf.get_default_session()
        feeds, more = feed_dict or {}, fetches or []

        def evaluation(tensors: list[Any], callback: Any = None) -> Evaluation:
            def evaluate(packed: Any) -> list[Any]:
                values = {
                    var: packed[part].reshape(shape)
                    for var, part, shape in zip(self._vars, self._packing_slices, self._shapes)
                }
                found = session.run([*tensors, *more], feed_dict={**values, **feeds})
                if callback:
                    callback(*found[len(tensors) :])
                return found[: len(tensors)]

            return evaluate

        def each(pairs: list[tuple[Any, Any]], place: int) -> list[Evaluation]:
            return [evaluation([pair[place]]) for pair in pairs]

        found = self._minimize(
            initial_val=session.run(self._packed_var),
            loss_grad_func=evaluation(self._loss, loss_callback),
            equality_funcs=each(self._equalities, 0),
            equality_grad_funcs=each(self._equalities, 1),
            inequality_funcs=each(self._inequalities, 0),
            inequality_grad_funcs=each(self._inequalities, 1),
            packed_bounds=self._packed_bounds,
            step_callback=step_callback or (lambda values: None),
            optimizer_kwargs=self.optimizer_kwargs,
        )
        values = [found[part] for part in self._packing_slices]
        session.run(
            self._var_updates, feed_dict=dict(zip(self._update_placeholders, values)), **run_kwargs
        )

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: Evaluation,
        equality_funcs: Sequence[Evaluation],
        equality_grad_funcs: Sequence[Evaluation],
        inequality_funcs: Sequence[Evaluation],
        inequality_grad_funcs: Sequence[Evaluation],
        packed_bounds: Any,
        step_callback: Any,
        optimizer_kwargs: dict[str, Any],
    ) -> Any:
        """All variables' values at which the loss is least, as a vector."""
        raise NotImplementedError(
            "To use ExternalOptimizerInterface, subclass from it and implement the _minimize() method."
        )


def _pack(tensors: list[Any]) -> Any:
    """One vector of all tensors' values."""
    flat = [tf.reshape(tensor, [-1]) for tensor in tensors]
    return tf.concat(flat, 0) if len(flat) > 1 else flat[0] if flat else None


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Lets ``scipy.optimize.minimize`` minimize a loss, by L-BFGS-B unless ``method`` names another."""

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: Evaluation,
        equality_funcs: Sequence[Evaluation],
        equality_grad_funcs: Sequence[Evaluation],
        inequality_funcs: Sequence[Evaluation],
        inequality_grad_funcs: Sequence[Evaluation],
        packed_bounds: Any,
        step_callback: Any,
        optimizer_kwargs: dict[str, Any],
    ) -> Any:
        import scipy.optimize

        def loss_and_gradient(values: Any) -> tuple[Any, Any]:
            loss, gradient = loss_grad_func(values)
            return loss, gradient.astype("float64")

        given = dict(optimizer_kwargs)
        constraints = [
            {"type": kind, "fun": _only(value), "jac": _only(gradient)}
            for kind, values, gradients in (
                ("eq", equality_funcs, equality_grad_funcs),
                ("ineq", inequality_funcs, inequality_grad_funcs),
            )
            for value, gradient in zip(values, gradients)
        ]
        options = {
            "jac": True,
            "callback": step_callback,
            "method": given.pop("method", self._DEFAULT_METHOD),
            "constraints": constraints,
            "bounds": packed_bounds,
        }
        for name in sorted(options.keys() & given.keys()):
            raise BadValueError(
                "TPU103",
                "Bounds must be set using the var_to_bounds argument"
                if name == "bounds"
                else f"Optimizer keyword arg '{name}' is set automatically and cannot be injected manually",
            )
        result = scipy.optimize.minimize(
            loss_and_gradient, initial_val.astype("float64"), **options, **given
        )
        lines = [f"Message: {result.message}", f"Objective function value: {result.fun:f}"]
        if hasattr(result, "nit"):
            lines.append(f"Number of iterations: {result.nit}")
        if hasattr(result, "nfev"):
            lines.append(f"Number of functions evaluations: {result.nfev}")
        tf.logging.info("%s", "\n  ".join(["Optimization terminated with:", *lines]))
        return result["x"]


def _only(evaluation: Evaluation) -> Callable[[Any], Any]:
    """The one value of an evaluation, as SciPy takes it since it has been rewritten: no list, and float64."""
    return lambda values: np.asarray(evaluation(values)[0], np.float64)
