"""Decoupled weight decay.

Behaviour follows weight_decay_optimizers.py of TensorFlow 1.15.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.contrib.opt.kernels import Number, value_of


class DecoupledWeightDecayExtension:
    """Adds the weight decay of Loshchilov and Hutter to an optimizer, which comes second as a base
    class.

    Before each update a variable loses ``weight_decay`` times itself. As in TensorFlow 1.15,
    ``decay_var_list`` works in ``apply_gradients``; ``minimize`` takes it too and then decays all
    variables, because it goes through ``apply_gradients`` without it.

    Args:
      weight_decay: The factor: a number, a tensor or a function that returns one. It is not
        multiplied by the learning rate.
      *args: Of the optimizer.
      **kwargs: Likewise.
    """

    _use_locking: bool
    _decaying = False

    def __init__(self, weight_decay: Number, *args: Any, **kwargs: Any) -> None:
        self._decay_var_list: Sequence[Any] = ()
        self._weight_decay = weight_decay
        super().__init__(*args, **kwargs)

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = tf.train.Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
        decay_var_list: Any = None,
    ) -> Any:
        """Like the optimizer's own; ``decay_var_list`` has no effect, as in TensorFlow 1.15."""
        return super().minimize(  # type: ignore[misc]
            loss,
            global_step=global_step,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            name=name,
            grad_loss=grad_loss,
        )

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        decay_var_list: Any = None,
    ) -> Any:
        """Like the optimizer's own; the variables of ``decay_var_list`` decay, all by default."""
        self._decay_var_list = list(decay_var_list or ())
        grads_and_vars = list(grads_and_vars)
        gradients = [gradient for gradient, _ in grads_and_vars if gradient is not None]
        # TensorFlow 1.15 let a variable decay while gradients were still being computed from it, so
        # that the result depended on the order in which a machine ran the two.
        with tf.control_dependencies(gradients):
            return super().apply_gradients(  # type: ignore[misc]
                grads_and_vars, global_step=global_step, name=name
            )

    def _decays(self, var: Any) -> bool:
        return not self._decay_var_list or any(var is chosen for chosen in self._decay_var_list)

    @contextlib.contextmanager
    def _decayed(self, var: Any, indices: Any = None) -> Iterator[None]:
        """A scope in which operations run after the variable, or some of its rows, have decayed.

        Within such a scope nothing decays again: an optimizer's update of a reference variable may be made of
        its update of a resource variable, which is extended as well.
        """
        if self._decaying or not self._decays(var):
            yield
            return
        decay = value_of(self._weight_decay)
        if indices is None:
            decayed = var.assign_sub(decay * var, self._use_locking)
        else:
            rows = tf.IndexedSlices(decay * tf.gather(var, indices), indices)
            decayed = var.scatter_sub(rows)
        self._decaying = True
        try:
            with tf.control_dependencies([decayed]):
                yield
        finally:
            self._decaying = False

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        with self._decayed(var):
            return super()._apply_dense(grad, var)  # type: ignore[misc]

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        with self._decayed(var):
            return super()._resource_apply_dense(grad, var)  # type: ignore[misc]

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        with self._decayed(var, grad.indices):
            return super()._apply_sparse(grad, var)  # type: ignore[misc]

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        with self._decayed(var, indices):
            return super()._resource_apply_sparse(grad, var, indices)  # type: ignore[misc]


def extend_with_decoupled_weight_decay(base_optimizer: type) -> type:
    """An optimizer class with weight decay; its first argument is ``weight_decay``.

    Args:
      base_optimizer: The class to extend.

    Returns:
      A subclass of :class:`DecoupledWeightDecayExtension` and of it.
    """
    parts = {"__doc__": "The base optimizer with decoupled weight decay.", "__module__": __name__}
    bases = (DecoupledWeightDecayExtension, base_optimizer)
    return type("OptimizerWithDecoupledWeightDecay", bases, parts)


class AdamWOptimizer(DecoupledWeightDecayExtension, tf.train.AdamOptimizer):
    """Adam with decoupled weight decay; the arguments are those of ``tf.train.AdamOptimizer``."""

    def __init__(
        self,
        weight_decay: Number,
        learning_rate: Number = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )


class MomentumWOptimizer(DecoupledWeightDecayExtension, tf.train.MomentumOptimizer):
    """Momentum with decoupled weight decay; the arguments are ``tf.train.MomentumOptimizer``'s."""

    def __init__(
        self,
        weight_decay: Number,
        learning_rate: Number,
        momentum: Number,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )
