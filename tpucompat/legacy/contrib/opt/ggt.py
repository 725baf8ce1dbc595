"""GGT, the optimizer of full-matrix adaptive regularization.

Behaviour follows ggt.py of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.legacy.contrib.opt.kernels import Number, cast_to, graph_of_state, value_of


class GGTOptimizer(tf.train.Optimizer):
    """Full-matrix adaptive regularization from the last gradients (Agarwal et al., 2018).

    Args:
      learning_rate: Times the step is subtracted.
      beta1: Of the gradients' moving average.
      use_locking: Whether updates lock.
      name: Of the optimizer.
      window: How many of the last averages make the matrix.
      eps: A least singular value from which on what lies outside of them counts too.
      svd_eps: Added to the matrix' diagonal.
      sigma_eps: Added to its singular values.
    """

    def __init__(
        self,
        learning_rate: Number = 0.001,
        beta1: Number = 0.9,
        use_locking: bool = False,
        name: str = "GGT",
        window: int = 10,
        eps: Number = 1e-4,
        svd_eps: Number = 1e-6,
        sigma_eps: Number = 1e-2,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._beta1 = beta1
        self._window = window
        self._eps = eps
        self._svd_eps = svd_eps
        self._sigma_eps = sigma_eps
        #: Variable's name -> where it lies in the vector of all.
        self._places: dict[str, tuple[int, int]] = {}

    def _create_slots(self, var_list: Any) -> None:
        end = 0
        for var in sorted(var_list, key=lambda each: each.name):
            start, end = end, end + int(np.prod(var.shape.as_list()))
            self._places[var.name] = start, end
        first = min(var_list, key=lambda each: each.name)
        dtype = first.dtype.base_dtype
        for name, shape in (
            ("global_step", ()),
            ("grad_buffer", (self._window, end)),
            ("moment1", (end,)),
            ("flat_grad", (end,)),
        ):
            self._create_non_slot_variable(tf.zeros(shape, dtype), name, first)

    def _non_slot(self, name: str) -> Any:
        return self._get_non_slot_variable(name, graph=graph_of_state())

    def _get_moment1(self) -> Any:
        return self._non_slot("moment1")

    def _get_grad_buffer(self) -> Any:
        return self._non_slot("grad_buffer")

    def _get_flat_grad(self) -> Any:
        return self._non_slot("flat_grad")

    def _prepare(self) -> None:
        self._variables: list[Any] = []

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._resource_apply_dense(grad, var)

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        self._variables.append(var)
        places = tf.range(*self._places[var.name])
        return tf.scatter_update(self._get_flat_grad(), places, tf.reshape(grad, [-1]))

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        raise NotImplementedError("Sparse gradient updates are not supported.")

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        raise NotImplementedError("Sparse gradient updates are not supported.")

    def _finish(self, update_ops: Any, name_scope: str) -> Any:
        first = self._variables[0]
        beta1 = cast_to(value_of(self._beta1), first)
        rate = cast_to(value_of(self._learning_rate), first)
        with tf.control_dependencies(update_ops):
            gradient = self._get_flat_grad().read_value()
            step = tf.convert_to_tensor(tf.assign_add(self._non_slot("global_step"), 1.0))
            moment = self._get_moment1()
            moment = tf.convert_to_tensor(
                tf.assign(moment, beta1 * moment + (1.0 - beta1) * gradient)
            )
            place = tf.floormod(tf.cast(step - 1.0, tf.int32), self._window)
            buffer = tf.scatter_update(self._get_grad_buffer(), place, moment)
            filled = tf.minimum(step, cast_to(self._window, first))
            columns = tf.transpose(tf.convert_to_tensor(buffer) / tf.sqrt(filled))
            change = rate * self._step(columns, tf.expand_dims(moment, -1), first)
            changes = []
            for var in self._variables:
                start, end = self._places[var.name]
                changes.append(tf.assign_sub(var, tf.reshape(change[start:end], var.shape)))
            return tf.group(*changes, name=name_scope)

    def _step(self, columns: Any, moment: Any, like: Any) -> Any:
        """The moment over the root of the columns' outer product, and over its least value outside of them."""
        svd_eps, sigma_eps, eps = (
            cast_to(value_of(each), like) for each in (self._svd_eps, self._sigma_eps, self._eps)
        )
        damping = tf.eye(self._window, dtype=like.dtype.base_dtype) * svd_eps
        inner = tf.matmul(columns, columns, transpose_a=True) + damping
        sigma, vectors, _ = tf.svd(inner)
        root = tf.sqrt(sigma)
        least = tf.reduce_min(root)

        def within(factors: Any) -> Any:
            parts = tf.matmul(columns, moment, transpose_a=True)
            parts = tf.matmul(vectors, parts, transpose_a=True)
            return tf.matmul(columns, tf.matmul(vectors, tf.matmul(tf.diag(factors), parts)))

        head = within(1.0 / tf.pow(root + sigma_eps, 3))
        tail = moment - within(1.0 / sigma)
        return tf.cond(least > eps, lambda: head + tail / least, lambda: head)
