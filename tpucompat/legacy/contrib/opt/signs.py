"""Updates by the signs of gradients, and how their weight decays.

Behaviour follows addsign.py, powersign.py and sign_decay.py of TensorFlow 1.15.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadValueError
from tpucompat.legacy.contrib.opt.kernels import BothKinds, cast_to, run_kernel


class _SignOptimizer(BothKinds):
    """Updates that grow where gradient and momentum agree in sign."""

    def __init__(
        self, learning_rate: float, beta: float, sign_decay_fn: Any, use_locking: bool, name: str
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._beta = beta
        self._sign_decay_fn = sign_decay_fn
        self._sign_decay_t: Any = 1.0

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Like the base class; the decay of the sign is that of ``global_step``."""
        if self._sign_decay_fn is not None:
            self._sign_decay_t = tf.convert_to_tensor(self._sign_decay_fn(global_step))
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list: Any) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        m, beta = self.get_slot(var, "m"), cast_to(self._beta, var)
        dense = tf.IndexedSlices(grad, indices, tf.shape(var, out_type=indices.dtype))
        m_all = m.assign(m * beta + tf.convert_to_tensor(dense) * (1 - beta), read_value=True)
        agreement = tf.gather(tf.sign(m_all), indices) * tf.sign(grad)
        factor = self._factor(cast_to(self._sign_decay_t, var) * agreement, var)
        step = tf.IndexedSlices(cast_to(self._lr, var) * factor * grad, indices)
        return tf.group(var.scatter_sub(step), m_all)

    def _factor(self, agreement: Any, var: Any) -> Any:
        raise NotImplementedError


class AddSignOptimizer(_SignOptimizer):
    """AddSign (Bello et al., 2017): the update is ``(alpha + f(t) * sign(g) * sign(m)) * g``.

    Args:
      learning_rate: Of the update.
      alpha: The constant in it.
      beta: Decay of the moving average m.
      sign_decay_fn: f, a function of the global step; 1 by default.
      use_locking: Whether updates are locked.
      name: Of the optimizer.
    """

    def __init__(
        self,
        learning_rate: float = 0.1,
        alpha: float = 1.0,
        beta: float = 0.9,
        sign_decay_fn: Any = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._alpha = alpha

    def _factor(self, agreement: Any, var: Any) -> Any:
        return cast_to(self._alpha, var) + agreement

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return run_kernel(
            "ApplyAddSign",
            var,
            {"m": self.get_slot(var, "m")},
            lr=cast_to(self._lr, var),
            alpha=cast_to(self._alpha, var),
            sign_decay=cast_to(self._sign_decay_t, var),
            beta=cast_to(self._beta, var),
            grad=grad,
            use_locking=self._use_locking,
        )


class PowerSignOptimizer(_SignOptimizer):
    """PowerSign (Bello et al., 2017): the update is ``base ** (f(t) * sign(g) * sign(m)) * g``.

    Args:
      learning_rate: Of the update.
      base: The base of the power.
      beta: Decay of the moving average m.
      sign_decay_fn: f, a function of the global step; 1 by default.
      use_locking: Whether updates are locked.
      name: Of the optimizer.
    """

    def __init__(
        self,
        learning_rate: float = 0.1,
        base: float = math.e,
        beta: float = 0.9,
        sign_decay_fn: Any = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._logbase = math.log(base)

    def _factor(self, agreement: Any, var: Any) -> Any:
        return tf.pow(cast_to(math.e, var), cast_to(self._logbase, var) * agreement)

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return run_kernel(
            "ApplyPowerSign",
            var,
            {"m": self.get_slot(var, "m")},
            lr=cast_to(self._lr, var),
            logbase=cast_to(self._logbase, var),
            sign_decay=cast_to(self._sign_decay_t, var),
            beta=cast_to(self._beta, var),
            grad=grad,
            use_locking=self._use_locking,
        )


def _progress(global_step: Any, decay_steps: int) -> tuple[Any, Any]:
    """The step, not beyond the last one, and the fraction of the steps done."""
    if global_step is None:
        raise BadValueError("TPU103", "global_step is required for the decay of the sign.")
    step = tf.minimum(tf.convert_to_tensor(global_step), decay_steps)
    return step, tf.cast(step, tf.float32) / tf.cast(decay_steps, tf.float32)


def get_linear_decay_fn(decay_steps: int) -> Callable[[Any], Any]:
    """A function of the global step that falls from 1 to 0 in ``decay_steps``."""

    def linear_decay_fn(global_step: Any) -> Any:
        step, _ = _progress(global_step, decay_steps)
        left = tf.cast(decay_steps, tf.int32) - tf.cast(step, tf.int32)
        return tf.maximum(0.0, tf.cast(left, tf.float32) / tf.cast(decay_steps, tf.float32))

    return linear_decay_fn


def get_cosine_decay_fn(
    decay_steps: int, num_periods: float = 0.5, zero_after: float | None = None
) -> Callable[[Any], Any]:
    """A function of the global step: ``num_periods`` of a cosine between 1 and 0.

    Args:
      decay_steps: Steps in all.
      num_periods: Periods in them.
      zero_after: The number of periods after which it is 0.

    Returns:
      The function.
    """

    def cosine_decay_fn(global_step: Any) -> Any:
        _, done = _progress(global_step, decay_steps)
        fraction = 2.0 * num_periods * done
        decayed = 0.5 * (1.0 + tf.cos(tf.constant(math.pi) * fraction))
        if zero_after is None:
            return decayed
        return tf.where(fraction >= 2 * zero_after, tf.zeros_like(decayed), decayed)

    return cosine_decay_fn


def get_restart_decay_fn(
    decay_steps: int, num_periods: float = 1, zero_after: float | None = None
) -> Callable[[Any], Any]:
    """A function of the global step: half a cosine, started again ``num_periods`` times.

    Args:
      decay_steps: Steps in all.
      num_periods: Starts in them.
      zero_after: The number of periods after which it is 0.

    Returns:
      The function.
    """

    def restart_decay_fn(global_step: Any) -> Any:
        step, _ = _progress(global_step, decay_steps)
        total = tf.cast(decay_steps, tf.float32)
        fraction = tf.mod(num_periods * tf.cast(step, tf.float32), total) / total
        decayed = 0.5 * (1.0 + tf.cos(tf.constant(math.pi) * fraction))
        if zero_after is None:
            return decayed
        periods = tf.cast(num_periods * step, tf.float32) / total
        return tf.where(periods >= zero_after, tf.zeros_like(decayed), decayed)

    return restart_decay_fn
