"""What the optimizers of ``tf.contrib.opt`` share: TensorFlow's kernels, for both kinds of variables."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

# A hyperparameter: a number, a tensor, or a function that gives one.
Number = Any


def value_of(number: Number) -> Any:
    """A hyperparameter's value."""
    return number() if callable(number) else number


def cast_to(number: Any, var: Any) -> Any:
    """A number in a variable's dtype."""
    return tf.cast(number, var.dtype.base_dtype)


def run_kernel(name: str, var: Any, slots: dict[str, Any], **inputs: Any) -> Any:
    """Runs an optimizer's kernel on a variable and its slots, of either kind of variable."""
    if var.dtype == var.dtype.base_dtype:
        handles = {slot: variable.handle for slot, variable in slots.items()}
        return getattr(tf.raw_ops, "Resource" + name)(var=var.handle, **handles, **inputs)
    references = {slot: variable._ref() for slot, variable in slots.items()}
    return getattr(tf.raw_ops, name)(var=var._ref(), **references, **inputs).op


class BothKinds(tf.train.Optimizer):
    """An optimizer whose two methods serve both resource variables and reference variables."""

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._resource_apply_dense(grad, var)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._resource_apply_sparse(grad.values, var, grad.indices)
