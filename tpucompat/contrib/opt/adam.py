"""Kinds of Adam.

Behaviour follows lazy_adam_optimizer.py and nadam_optimizer.py of
TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.contrib.opt.kernels import cast_to, run_kernel


class _AdamStep(tf.train.AdamOptimizer):
    """What the update rules of Adam's relatives share."""

    def _coefficients(self, var: Any) -> tuple[Any, Any, Any, Any]:
        """beta1, beta2, epsilon and the step size with Adam's corrections of the first steps."""
        numbers = (self._beta1_t, self._beta2_t, self._epsilon_t, self._lr_t)
        beta1, beta2, epsilon, rate = (cast_to(number, var) for number in numbers)
        power1, power2 = self._get_beta_accumulators()
        size = rate * tf.sqrt(1 - cast_to(power2, var)) / (1 - cast_to(power1, var))
        return beta1, beta2, epsilon, size

    def _adam_kernel(self, grad: Any, var: Any, use_nesterov: bool) -> Any:
        power1, power2 = self._get_beta_accumulators()
        return run_kernel(
            "ApplyAdam",
            var,
            {name: self.get_slot(var, name) for name in "mv"},
            beta1_power=cast_to(power1, var),
            beta2_power=cast_to(power2, var),
            lr=cast_to(self._lr_t, var),
            beta1=cast_to(self._beta1_t, var),
            beta2=cast_to(self._beta2_t, var),
            epsilon=cast_to(self._epsilon_t, var),
            grad=grad,
            use_locking=self._use_locking,
            use_nesterov=use_nesterov,
        )


class _LazyRows(_AdamStep):
    """Adam that touches only the rows that have a gradient."""

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        beta1, beta2, epsilon, size = self._coefficients(var)
        m = self.get_slot(var, "m")
        v = self.get_slot(var, "v")
        m_rows = beta1 * tf.gather(m, indices) + (1 - beta1) * grad
        v_rows = beta2 * tf.gather(v, indices) + (1 - beta2) * tf.square(grad)
        step = size * m_rows / (tf.sqrt(v_rows) + epsilon)
        return tf.group(
            var.scatter_sub(tf.IndexedSlices(step, indices)),
            m.scatter_update(tf.IndexedSlices(m_rows, indices)),
            v.scatter_update(tf.IndexedSlices(v_rows, indices)),
        )

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._resource_apply_sparse(grad.values, var, grad.indices)


class LazyAdamOptimizer(_LazyRows):
    """Adam that leaves the rows and moments without a gradient as they are.

    The arguments are those of ``tf.train.AdamOptimizer``, which differs for sparse gradients only:
    it lets the moments of all rows decay at each step.
    """


class NadamOptimizer(_AdamStep):
    """Adam with Nesterov momentum (Dozat, 2016); the arguments are ``tf.train.AdamOptimizer``'s."""

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return self._adam_kernel(grad, var, use_nesterov=True)

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._adam_kernel(grad, var, use_nesterov=True)

    def _apply_sparse_shared(self, grad: Any, var: Any, indices: Any, scatter_add: Any) -> Any:
        beta1, beta2, epsilon, size = self._coefficients(var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        new = grad * (1 - beta1)
        with tf.control_dependencies([m.assign(m * beta1, use_locking=self._use_locking)]):
            m_all = scatter_add(m, indices, new)
            m_bar = new + beta1 * tf.gather(m_all, indices)
        with tf.control_dependencies([v.assign(v * beta2, use_locking=self._use_locking)]):
            v_all = scatter_add(v, indices, grad * grad * (1 - beta2))
        root = tf.sqrt(tf.gather(v_all, indices))
        return tf.group(scatter_add(var, indices, -size * m_bar / (root + epsilon)), m_bar, v_all)
