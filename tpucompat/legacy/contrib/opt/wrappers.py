"""Optimizers around another optimizer, and clipping.

Behaviour follows moving_average_optimizer.py, variable_clipping_optimizer.py and
multitask_optimizer_wrapper.py of TensorFlow 1.15.
"""

from __future__ import annotations

import contextlib
import types
from typing import Any, Callable

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadTypeError, BadValueError


class MovingAverageOptimizer(tf.train.Optimizer):
    """Keeps a moving average of the variables that another optimizer trains
    (moving_average_optimizer.py).

    Args:
      opt: The other optimizer.
      average_decay: Of the average.
      num_updates: Makes the decay smaller at the start, as in
        ``tf.train.ExponentialMovingAverage``.
      sequential_update: Whether the average is updated after the variables, or beside them.
    """

    def __init__(
        self,
        opt: Any,
        average_decay: float = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ) -> None:
        self._optimizer = opt
        self._ema = tf.train.ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped: dict[str, str] | None = None
        self._sequential_update = sequential_update

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Applies the gradients and updates the averages; one operation for both."""
        grads_and_vars = list(grads_and_vars)
        train = self._optimizer.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        variables = [var for gradient, var in grads_and_vars if gradient is not None]
        with tf.control_dependencies([train] if self._sequential_update else []):
            average = self._ema.apply(variables)
        self._swapped = {}
        for var in variables:
            names = var.op.name, self._ema.average(var).op.name
            self._swapped.update([names, names[::-1]])
        return tf.group(train, average, name="train_with_avg")

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Any:
        """A Saver that writes averages under the names of their variables, and the reverse.

        Args:
          var_list: Variables, or name to variable; all global ones by default.
          name: Of the saver.
          **kwargs: More arguments of ``tf.train.Saver``.

        Returns:
          The saver.

        Raises:
          RuntimeError: Before ``apply_gradients`` or ``minimize``.
          ValueError: If a variable is to be saved without its average.
        """
        if self._swapped is None:
            raise RuntimeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        saved = _by_name(tf.global_variables() if var_list is None else var_list)
        known: dict[str, Any] = {}
        for key, entry in saved.items():
            if isinstance(entry, list):
                known.update((part.op.name, part) for part in entry)
            else:
                known[key] = entry
        swapped = {
            key: [self._other(known, part.op.name, part) for part in entry]
            if isinstance(entry, list)
            else self._other(known, key, entry)
            for key, entry in saved.items()
        }
        return tf.train.Saver(swapped, name=name, **kwargs)

    def _other(self, known: dict[str, Any], name: str, variable: Any) -> Any:
        assert self._swapped is not None
        other = self._swapped.get(name)
        if other is None:
            return variable
        if other not in known:
            raise BadValueError(
                "TPU103",
                f"Variable to swap {other} is not part of variables to save. "
                "This breaks MovingAverageOptimizer.",
            )
        return known[other]


def _by_name(var_list: Any) -> dict[str, Any]:
    """Name in the checkpoint -> variable, or the list of the parts of a partitioned one."""
    if isinstance(var_list, dict):
        return {
            name: entry if isinstance(entry, tf.Variable) or tf.is_tensor(entry) else list(entry)
            for name, entry in var_list.items()
        }
    found: dict[str, Any] = {}
    for var in var_list:
        part = getattr(var, "_save_slice_info", None)
        if part is None:
            found[var.op.name] = var
        else:
            found.setdefault(part.full_name, []).append(var)
    return found


class VariableClippingOptimizer(tf.train.Optimizer):
    """Clips variables to a norm after another optimizer's step (variable_clipping_optimizer.py).

    Args:
      opt: The other optimizer.
      vars_to_clip_dims: Variable to the dimensions over which its norm is taken.
      max_norm: The largest norm.
      use_locking: Whether updates are locked.
      colocate_clip_ops_with_vars: Whether the clipping runs where the variable is.
      name: Of the optimizer.
    """

    def __init__(
        self,
        opt: Any,
        vars_to_clip_dims: dict[Any, Any],
        max_norm: float,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._clip_dims = [(var, list(dims)) for var, dims in vars_to_clip_dims.items()]
        self._max_norm = max_norm
        self._colocate = colocate_clip_ops_with_vars

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's."""
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's."""
        return self._opt.get_slot_names(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Applies the gradients, then clips; one operation for both."""
        grads_and_vars = list(grads_and_vars)
        with tf.name_scope(name, self._name) as name:
            done = [self._opt.apply_gradients(grads_and_vars, global_step=global_step)]
            with tf.control_dependencies(done[:1]):
                for gradient, var in grads_and_vars:
                    dims = next((dims for known, dims in self._clip_dims if known is var), None)
                    if gradient is not None and dims is not None:
                        with tf.name_scope("clip_" + var.op.name):
                            done.append(self._clip(gradient, var, dims))
            return tf.group(*done, name=name)

    def _clip(self, gradient: Any, var: Any, dims: list[int]) -> Any:
        colocated = tf.colocate_with(var) if self._colocate else contextlib.nullcontext()
        if isinstance(gradient, tf.IndexedSlices) and 0 not in dims:
            rows = tf.gather(var, gradient.indices)
            with colocated:
                change = rows - tf.clip_by_norm(rows, self._max_norm, dims)
            return var.scatter_sub(tf.IndexedSlices(change, gradient.indices, gradient.dense_shape))
        now = var.read_value()
        with colocated:
            change = now - tf.clip_by_norm(now, self._max_norm, dims)
        return var.assign_sub(change, use_locking=self._use_locking)


def _all_zeros(gradient: Any) -> Any:
    values = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
    return tf.equal(tf.count_nonzero(values), 0)


class MultitaskOptimizerWrapper:
    """An optimizer that skips the update of a variable whose gradient is all zeros.

    From multitask_optimizer_wrapper.py: without it, momentum moves the variables of tasks that the
    batch had no examples of. The given optimizer is changed in place.

    Args:
      opt: A ``tf.train.Optimizer``.

    Raises:
      TypeError: If it is none.
    """

    _WRAPPED = ("_apply_dense", "_resource_apply_dense", "_apply_sparse", "_resource_apply_sparse")

    def __init__(self, opt: Any) -> None:
        if not isinstance(opt, tf.train.Optimizer):
            raise BadTypeError(
                "TPU103", "Supplied optimizer must be an instance of tf.train.Optimizer"
            )
        self._opt = opt
        for name in self._WRAPPED:
            setattr(opt, name, types.MethodType(self._skipping(getattr(opt, name)), opt))

    @staticmethod
    def _skipping(apply: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, gradient: Any, *args: Any, **kwargs: Any) -> Any:
            def update() -> Any:
                with tf.control_dependencies([apply(gradient, *args, **kwargs)]):
                    return tf.no_op()

            return tf.cond(_all_zeros(gradient), tf.no_op, update)

        return wrapper

    def __getattr__(self, name: str) -> Any:
        """Everything else is the wrapped optimizer's."""
        return getattr(self._opt, name)


def clip_gradients_by_global_norm(
    gradients_variables: Any, clip_norm: float = 20.0
) -> tuple[list[tuple[Any, Any]], Any]:
    """Clips gradients by their common norm.

    Args:
      gradients_variables: (gradient, variable) pairs.
      clip_norm: The largest common norm.

    Returns:
      The pairs with clipped gradients, and the norm before.
    """
    gradients, variables = zip(*gradients_variables)
    norm = tf.global_norm(gradients)
    clipped, _ = tf.clip_by_global_norm(gradients, clip_norm, use_norm=norm)
    return list(zip(clipped, variables)), norm
