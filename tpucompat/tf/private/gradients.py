"""Gradients of graphs."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_ops, gradients_impl, math_ops
from tensorflow.python.ops import gradients as gradients_module

from tpucompat.tf import patches


@patches.patch
def gate_gradients(told: Callable[[Any, int], None]) -> None:
    """Lets ``tf.gradients`` finish an operation's gradients together, where reference variables are.

    A gradient that is applied at once (``var.assign(var - rate * grad)``) otherwise races with the gradients
    of the layer below, which read the same variable: training on 1.15 and 2.21 diverges. ``tf.train``'s
    optimizers ask for the same by their GATE_OP; a TPU computes all gradients from the values before the step.

    Seen in 1.14 to 2.21 as ``tensorflow.python.ops.gradients_util._GradientsHelper``; in 1.13 in
    ``gradients_impl``.

    Args:
      told: Called with a graph and the number of operations that were made for it there, where the caller
        had not asked for them.
    """
    gradients_util: Any
    try:
        gradients_util = importlib.import_module("tensorflow.python.ops.gradients_util")
    except ImportError:
        gradients_util = importlib.import_module("tensorflow.python.ops.gradients_impl")

    helper = gradients_util._GradientsHelper
    position = list(inspect.signature(helper).parameters).index("gate_gradients")

    @functools.wraps(helper)
    def gated(*args: Any, **kwargs: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        asked = args[position] if len(args) > position else kwargs.get("gate_gradients", False)
        if asked or graph.building_function or not any(map(_is_reference, _variables_of(graph))):
            return helper(*args, **kwargs)
        if len(args) > position:
            args = (*args[:position], True, *args[position + 1 :])
        else:
            kwargs["gate_gradients"] = True
        before = len(graph.get_operations())
        gradients = helper(*args, **kwargs)
        told(graph, sum("_grad/tuple/" in each.name for each in graph.get_operations()[before:]))
        return gradients

    patches.replace(gradients_util, "_GradientsHelper", gated)


@patches.patch
def let_gradients_leave_loops() -> None:
    """Lets an operation of a loop wait for one before the loop in all of its steps, the last test included.

    TensorFlow ties such a wait to the body (``WhileContext._AddOpInternal``, control_flow_ops.py of 1.13 to
    2.21), which does not run after the last test. So the gradient of an initial value (a decoder's state)
    never leaves the loop where ``minimize`` waits for an update that has a value: the Session ends the step
    without ``train_op``, and reports nothing. A TPU's compiler knows no such step.
    """
    loop: Any = control_flow_ops.WhileContext
    original = loop._AddOpInternal

    @functools.wraps(original)
    def add(self: Any, operation: Any) -> None:
        before = set(operation.control_inputs)
        original(self, operation)
        pivot = self.GetControlPivot()
        for wait in set(operation.control_inputs) - before:
            if wait.type == "Identity" and pivot is not None and wait is not pivot.op:
                wait._remove_all_control_inputs()

    patches.replace(loop, "_AddOpInternal", add)


@patches.patch
def sum_over_axes_of_any_type() -> None:
    """Lets gradients of reductions take axes that are int64, such as ``np.arange``, as 1.15 did.

    ``reduced_shape`` of ``tensorflow/python/ops/math_ops.py`` cast them to int32 up to 2.16. In 2.21 it gives
    them to DynamicStitch, which takes int32 alone, if the shape is not known.
    """
    original = math_ops.reduced_shape

    @functools.wraps(original)
    def reduced_shape(input_shape: Any, axes: Any) -> Any:
        is_tensor = isinstance(axes, tf.Tensor)  # numbers become no operation, as they did
        return original(
            input_shape, math_ops.cast(axes, "int32") if is_tensor else np.asarray(axes, np.int32)
        )

    patches.replace(math_ops, "reduced_shape", reduced_shape)


def may_record_gradients() -> bool:
    """Whether a ``tf.GradientTape`` is open in this thread.

    Seen as ``could_possibly_record`` in ``tensorflow.python.eager.tape`` (1.13 to 2.11) and in
    ``tensorflow.python.eager.record`` (2.12 to 2.21).
    """
    try:
        module = importlib.import_module("tensorflow.python.eager.record")
    except ImportError:
        module = importlib.import_module("tensorflow.python.eager.tape")
    return bool(module.could_possibly_record())


def _variables_of(graph: Any) -> list[Any]:
    return [
        variable
        for name in ("trainable_variables", "variables")
        for variable in graph.get_collection_ref(name)
    ]


def _is_reference(variable: Any) -> bool:
    return getattr(getattr(variable, "op", None), "type", "") in ("Variable", "VariableV2")


def gradient_modules() -> list[Any]:
    """The modules in which optimizers and Keras look ``gradients`` up.

    Seen in 1.13 to 2.21 as ``tensorflow.python.ops.gradients`` and ``gradients_impl``. Keras 2 imports
    ``tensorflow.compat.v2``, whose ``compat.v1`` is another module than that of ``tensorflow``.
    """
    of_keras_2 = getattr(getattr(tf.compat, "v2", None), "compat", None)
    of_keras_2 = getattr(of_keras_2, "v1", None)
    modules = [gradients_impl, gradients_module, tf, tf.compat.v1, of_keras_2]
    return [module for module in modules if hasattr(module, "gradients")]


def replace_gradients(by_type: Mapping[str, Callable[[Callable[..., Any]], Any]]) -> None:
    """Puts other functions in the place of those that compute operations' gradients.

    Seen in 1.13 to 2.21 in ``tensorflow/python/framework/ops.py`` (``_gradient_registry``) and ``registry.py``
    (the function is the "type" of an entry).

    Args:
      by_type: For each type of operation what makes the new function of the old one.
    """
    entries = ops._gradient_registry._registry
    for operation, change in by_type.items():
        if operation in entries:
            patches.replace(entries[operation], "type", change(entries[operation]["type"]))
