"""Layer-wise learning rates.

Behaviour follows lars_optimizer.py of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.contrib.opt.kernels import BothKinds, Number, cast_to, run_kernel, value_of


class _Scaling(NamedTuple):
    """What the learning rate of a variable is scaled by, beside its norms."""

    eeta: float
    epsilon: float


class LARSOptimizer(BothKinds):
    """Layer-wise adaptive rate scaling (You, Gitman and Ginsburg, 2017).

    The learning rate of a variable is multiplied by ``eeta * |w| / (|g| + weight_decay * |w| +
    epsilon)``, or by 1 where a norm is zero.

    Args:
      learning_rate: The common rate, before scaling.
      momentum: Of the update.
      weight_decay: Times the variable is added to its gradient.
      eeta: The coefficient of the scaling.
      epsilon: Added to its denominator.
      name: Of the optimizer.
      skip_list: Variables whose names contain one of these words are neither scaled nor decayed.
      use_nesterov: Whether the momentum is Nesterov's.

    Raises:
      ValueError: If ``momentum`` or ``weight_decay`` is negative.
    """

    def __init__(
        self,
        learning_rate: Number,
        momentum: float = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        for word, number in (("momentum", momentum), ("weight_decay", weight_decay)):
            if number < 0.0:
                raise BadValueError("TPU103", f"{word} should be positive: {number}")
        super().__init__(False, name)
        self._learning_rate, self._momentum = learning_rate, momentum
        self._scaling = _Scaling(eeta, epsilon)
        # By this name, for extend_with_decoupled_weight_decay of LARS takes it for its own, as in 1.15.
        self._weight_decay = weight_decay
        self._plain = tuple(skip_list or ())
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Any) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = tf.convert_to_tensor(value_of(self._learning_rate))
        self._momentum_tensor = tf.convert_to_tensor(value_of(self._momentum))

    def compute_lr(self, grad: Any, var: Any) -> tuple[Any, Any]:
        """The learning rate of a variable, and its gradient with the weight decay added."""
        rate = value_of(self._learning_rate)
        if any(word in var.name for word in self._plain):
            return rate, grad
        (eeta, epsilon), decay = self._scaling, self._weight_decay
        w_norm = tf.norm(var, ord=2)
        g_norm = tf.norm(grad, ord=2)
        ratio = eeta * w_norm / (g_norm + decay * w_norm + epsilon)
        one = tf.ones_like(ratio)
        ratio = tf.where(w_norm > 0, tf.where(g_norm > 0, ratio, one), one)
        return rate * ratio, grad + decay * var

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        rate, grad = self.compute_lr(grad, var)
        # The rate is in the gradient, so that the momentum is one of scaled steps.
        return run_kernel(
            "ApplyMomentum",
            var,
            {"accum": self.get_slot(var, "momentum")},
            lr=cast_to(1.0, var),
            grad=grad * rate,
            momentum=cast_to(value_of(self._momentum), var),
            use_nesterov=self._use_nesterov,
        )

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        # Neither scaled nor decayed, in TensorFlow 1.15 too.
        return run_kernel(
            "SparseApplyMomentum",
            var,
            {"accum": self.get_slot(var, "momentum")},
            lr=cast_to(self._learning_rate_tensor, var),
            grad=grad,
            indices=indices,
            momentum=cast_to(self._momentum_tensor, var),
            use_nesterov=self._use_nesterov,
        )
