"""Adagrad whose accumulators can rest.

Behaviour follows reg_adagrad_optimizer.py of TensorFlow 1.15.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import tensorflow.compat.v1 as tf

from tpucompat.legacy.contrib.opt.kernels import Number, cast_to, run_kernel


class RegAdagradOptimizer(tf.train.AdagradOptimizer):
    """Adagrad whose accumulators can be left alone for a while (reg_adagrad_optimizer.py).

    Args:
      learning_rate: Of the update.
      initial_accumulator_value: Where the accumulators start.
      use_locking: Whether updates are locked.
      name: Of the optimizer.
    """

    def __init__(
        self,
        learning_rate: Number,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "RegAdagrad",
    ) -> None:
        super().__init__(
            learning_rate,
            initial_accumulator_value=initial_accumulator_value,
            use_locking=use_locking,
            name=name,
        )
        self._should_update_slots = True

    @contextlib.contextmanager
    def avoid_updating_slots(self) -> Iterator[None]:
        """A scope in which applied gradients leave the accumulators as they are."""
        before, self._should_update_slots = self._should_update_slots, False
        try:
            yield
        finally:
            self._should_update_slots = before

    def _apply(self, kernel: str, grad: Any, var: Any, **inputs: Any) -> Any:
        return run_kernel(
            kernel,
            var,
            {"accum": self.get_slot(var, "accumulator")},
            lr=cast_to(self._learning_rate_tensor, var),
            grad=grad,
            use_locking=self._use_locking,
            update_slots=self._should_update_slots,
            **inputs,
        )

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._apply("ApplyAdagrad", grad, var)

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return self._apply("ApplyAdagrad", grad, var)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._apply("SparseApplyAdagrad", grad.values, var, indices=grad.indices)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        return self._apply("SparseApplyAdagrad", grad, var, indices=indices)
