"""Shampoo.

Behaviour follows shampoo.py of TensorFlow 1.15.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.legacy.contrib.opt.kernels import Number
from tpucompat.legacy.contrib.opt.matrix_functions import (
    matrix_inverse_pth_root,
    matrix_square_root,
)


def _at(number: Number, step: Any) -> Any:
    """A hyperparameter at a step."""
    return number(step) if callable(number) else number


class ShampooOptimizer(tf.train.Optimizer):
    """Preconditioned stochastic tensor optimization (Gupta, Koren and Singer, 2018).

    Hyperparameters are numbers, or functions of the step that give one.

    Args:
      global_step: The step.
      max_matrix_size: A larger dimension is preconditioned by its diagonal.
      gbar_decay: Of the gradients' moving average.
      gbar_weight: Of a gradient in it.
      mat_gbar_decay: Of the preconditioners' moving average.
      mat_gbar_weight: Of a gradient's outer product in it.
      learning_rate: Times the preconditioned gradient is subtracted.
      svd_interval: The steps from one root of a preconditioner to the next.
      precond_update_interval: The steps from one update of it to the next.
      epsilon: Added to its diagonal.
      alpha: Over the number of dimensions, the exponent of its inverse root.
      use_iterative_root: Whether roots are found by iteration, not by singular values.
      use_locking: Whether updates lock.
      name: Of the optimizer.
    """

    def __init__(
        self,
        global_step: Any = 0,
        max_matrix_size: int = 768,
        gbar_decay: Number = 0.0,
        gbar_weight: Number = 1.0,
        mat_gbar_decay: Number = 1.0,
        mat_gbar_weight: Number = 1.0,
        learning_rate: Number = 1.0,
        svd_interval: Number = 1,
        precond_update_interval: Number = 1,
        epsilon: float = 1e-4,
        alpha: Number = 0.5,
        use_iterative_root: bool = False,
        use_locking: bool = False,
        name: str = "Shampoo",
    ) -> None:
        super().__init__(use_locking, name)
        self._global_step = tf.cast(global_step, tf.float32)
        self._max_matrix_size = max_matrix_size
        self._gbar_decay = gbar_decay
        self._gbar_weight = gbar_weight
        self._mat_gbar_decay = mat_gbar_decay
        self._mat_gbar_weight = mat_gbar_weight
        self._learning_rate = learning_rate
        self._svd_interval = svd_interval
        self._precond_update_interval = precond_update_interval
        self._epsilon = epsilon
        self._alpha = alpha
        self._use_iterative_root = use_iterative_root

    def _create_slots(self, var_list: Any) -> None:
        for var in var_list:
            with tf.colocate_with(var):
                self._zeros_slot(var, "gbar", self._name)
                for axis, size in enumerate(var.shape.as_list()):
                    start = tf.zeros([size])
                    if size <= self._max_matrix_size:
                        start = tf.zeros([size, size])
                        if self._svd_interval != 1:
                            self._get_or_make_slot(var, tf.eye(size), f"H_{axis}", self._name)
                    self._get_or_make_slot(var, start, f"Gbar_{axis}", self._name)

    # Each of the four stands for itself: weight decay wraps them, and shall not decay twice.

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._apply(grad, var)

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return self._apply(grad, var)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._apply_rows(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        return self._apply_rows(grad, var, indices)

    def _apply_rows(self, grad: Any, var: Any, indices: Any) -> Any:
        if var.shape.as_list()[0] <= self._max_matrix_size or self._gbar_decay != 0.0:
            shape = tf.shape(var, out_type=indices.dtype)
            return self._apply(tf.scatter_nd(tf.expand_dims(indices, axis=1), grad, shape), var)
        return self._apply(grad, var, indices)

    def _apply(self, grad: Any, var: Any, indices: Any = None) -> Any:
        """Updates a variable; a gradient of some rows comes with their indices."""
        step = self._global_step + 1
        gradient = grad
        if indices is None:
            gradient = self._averaged(
                self.get_slot(var, "gbar"),
                self._gbar_decay,
                _at(self._gbar_decay, step),
                _at(self._gbar_weight, step) * grad,
            )
        shape = var.shape.as_list()
        exponent = -_at(self._alpha, step) / len(shape)
        for axis, size in enumerate(shape):
            if size <= self._max_matrix_size:
                root = self._matrix_root(var, grad, axis, exponent, step)
                gradient = tf.tensordot(gradient, root, axes=([0], [0]), name=f"precond_{axis}")
            else:
                root = self._diagonal_root(var, grad, axis, exponent, step, indices)
                order = [*range(1, len(shape)), 0]
                gradient = tf.transpose(gradient, perm=order) * root
        update = _at(self._learning_rate, step) * gradient
        if indices is not None:
            return tf.scatter_add(var, indices, -update)
        return tf.assign_sub(var, update)

    def _averaged(self, average: Any, decay: Number, decay_now: Any, value: Any) -> Any:
        """A moving average with a value added; without one, or without decay, what is left of it."""
        if isinstance(decay, (int, float)) and decay == 0.0:
            return value
        if isinstance(decay, (int, float)) and decay == 1.0:
            return tf.assign_add(average, value)
        return average.assign_add((decay_now - 1) * average + value)

    def _matrix_root(self, var: Any, grad: Any, axis: int, exponent: Any, step: Any) -> Any:
        """The inverse root of one dimension's preconditioner, a matrix."""
        size = var.shape.as_list()[axis]
        average = self.get_slot(var, f"Gbar_{axis}")
        interval = _at(self._precond_update_interval, step)
        others = [each for each in range(len(var.shape)) if each != axis]

        def updated() -> Any:
            outer = tf.tensordot(grad, grad, axes=(others, others), name=f"grad_outer_{axis}")
            return self._averaged(
                average,
                self._mat_gbar_decay,
                _at(self._mat_gbar_decay, step),
                _at(self._mat_gbar_weight, step) * interval * outer,
            )

        due = tf.mod(step, interval) < 1
        mean = tf.cond(due, updated, lambda: tf.identity(average)) / float(size)
        root = functools.partial(self._root, mean, size, exponent)
        if self._svd_interval == 1:
            return root()
        kept = self.get_slot(var, f"H_{axis}")
        due = tf.mod(step, _at(self._svd_interval, step)) < 1
        return tf.cond(due, lambda: tf.assign(kept, root()), lambda: tf.identity(kept))

    def _root(self, matrix: Any, size: int, exponent: Any) -> Any:
        with tf.name_scope("matrix_iterative_power"):
            if self._use_iterative_root:
                square = matrix_square_root(matrix, size, 100, self._epsilon)
                return matrix_inverse_pth_root(square, size, 2 * exponent, ridge_epsilon=0.0)
            if size == 1:
                return tf.pow(matrix + self._epsilon, exponent)
            values, left, right = tf.svd(matrix + self._epsilon * tf.eye(size), full_matrices=True)
            powers = tf.pow(tf.maximum(values, self._epsilon), exponent)
            return tf.matmul(right * powers, tf.transpose(left))

    def _diagonal_root(
        self, var: Any, grad: Any, axis: int, exponent: Any, step: Any, indices: Any
    ) -> Any:
        """The inverse root of one dimension's preconditioner, a diagonal; of a gradient's rows only theirs."""
        size = var.shape.as_list()[axis]
        average = self.get_slot(var, f"Gbar_{axis}")
        others = [each for each in range(len(var.shape)) if each != axis]
        squares = grad * grad
        if others:
            squares = tf.reduce_sum(squares, axis=others) / (
                1.0 if indices is not None else float(size)
            )
        squares = _at(self._mat_gbar_weight, step) * squares
        if axis == 0 and indices is not None:
            assert self._mat_gbar_decay == 1.0
            updated = tf.gather(tf.scatter_add(average, indices, squares), indices)
        else:
            decay = _at(self._mat_gbar_decay, step)
            updated = self._averaged(average, self._mat_gbar_decay, decay, squares)
        return tf.where(tf.greater(updated, 0), tf.pow(updated, exponent), tf.zeros_like(updated))
