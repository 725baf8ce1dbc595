"""Functions that make operations, and names that 1.13 did not show yet."""

from __future__ import annotations

import functools
import importlib
import re
import sys
import types
from typing import Any, Callable

import numpy as np
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.ops import (
    gen_nn_ops,
    image_ops_impl,
    nn,
    nn_impl,
    nn_ops,
    special_math_ops,
    weights_broadcast_ops,
)
from tensorflow.python.util import nest as nest_module

from tpucompat.tf import patches


def nest() -> Any:
    """TensorFlow's structure helpers, more of them than ``tf.nest`` shows.

    Seen in 1.13 to 2.21; ``is_sequence`` became ``is_nested`` in 2.4.
    """
    return nest_module


@patches.patch
def complete_api() -> None:
    """Gives TensorFlow 1.13 ``tf.nest`` and ``tf.raw_ops``, which became public in 1.14.

    Seen in 1.13: ``tensorflow.python.util.nest``, and an operation's function in the module
    ``tensorflow.python.ops.gen_*_ops`` of its kind.
    """
    for each in (tf, tf.compat.v1):
        if not hasattr(each, "nest"):
            patches.replace(each, "nest", nest())
        if not hasattr(each, "raw_ops"):
            patches.replace(each, "raw_ops", RawOperations("tensorflow.raw_ops"))


class RawOperations(types.ModuleType):
    """``tf.raw_ops`` of a TensorFlow that has none."""

    def __getattr__(self, name: str) -> Any:
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
        for module_name, module in list(sys.modules.items()):
            if re.fullmatch(r"tensorflow\.python\.ops\.gen_\w+_ops", module_name):
                function = getattr(module, snake, None) or getattr(module, "_" + snake, None)
                if function is not None:
                    return function
        raise AttributeError(name)


@patches.patch
def shape_convolutions_of_no_examples() -> None:
    """Gives a convolution its shape where a batch is empty: oneDNN's kernels give that of their input.

    A replica gets no examples where the last batch is smaller than the number of replicas. Only what is built
    for a batch of unknown size is changed, and only the shape of a result without elements.

    Seen in 2.6 to 2.21: ``conv2d``, ``conv3d`` and ``depthwise_conv2d_native`` of
    ``tensorflow.python.ops.gen_nn_ops``, which the public functions ask for them at each call.
    """

    def shaped(convolution: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        result = convolution(*args, **kwargs)
        examples, *of_one = result.shape.as_list()
        if tf.executing_eagerly() or examples is not None or None in of_one:
            return result
        count = tf.size(result) // int(np.prod(of_one))
        # Grappler takes out a reshape to what it infers for the result: adding min(count, 0) hides the shape.
        whole = tf.reshape(result, tf.concat([[count], of_one + tf.minimum(count, 0)], 0))
        whole.set_shape(result.shape)
        return whole

    for name in ("conv2d", "conv3d", "depthwise_conv2d_native"):
        old = getattr(gen_nn_ops, name)
        patches.replace(
            gen_nn_ops, name, functools.update_wrapper(functools.partial(shaped, old), old)
        )


def loss_modules() -> list[Any]:
    """The modules that the functions of ``tf.nn`` are looked up in by losses, and by Keras 2 and 3.

    Seen in 1.13 to 2.21 as ``tensorflow.python.ops.nn``, ``nn_ops`` and ``nn_impl``; Keras 2 imports
    ``tensorflow.compat.v2``.
    """
    of_keras_2 = [tf.compat.v2.nn] if hasattr(tf.compat, "v2") else []
    return [nn_ops, nn_impl, nn, tf.nn, tf.compat.v1.nn, *of_keras_2]


def dropout_modules() -> list[Any]:
    """The modules that functions which drop out are looked up in, by layers and by Keras 2 and 3.

    Seen in 1.13 to 2.21 as those of :func:`loss_modules`; ``nn.experimental`` in 2.4 to 2.21.
    """
    spaces = loss_modules()
    inner = [getattr(space, "experimental", None) for space in spaces]
    return [*spaces, *(space for space in inner if space is not None)]


def zero_state(size: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros ``[batch_size, *size]``, as recurrent cells start from.

    Seen as ``_zero_state_tensors`` in ``tensorflow.python.ops.rnn_cell_impl`` (1.13 to 2.1, and 2.15 to 2.21)
    and in ``tensorflow.python.keras.layers.legacy_rnn.rnn_cell_impl`` (2.3 to 2.21).
    """
    module = importlib.import_module("tensorflow.python.ops.rnn_cell_impl")
    if not hasattr(module, "_zero_state_tensors"):
        path = "tensorflow.python.keras.layers.legacy_rnn.rnn_cell_impl"
        module = importlib.import_module(path)
    return module._zero_state_tensors(size, batch_size, dtype)


def checked_image(image: Any) -> Any:
    """An image, which is checked to have three dimensions at least.

    Seen in 1.13 to 2.21 as ``tensorflow.python.ops.image_ops_impl._AssertAtLeast3DImage``.
    """
    return image_ops_impl._AssertAtLeast3DImage(image)


def einsum_of_matrices(einsum: Callable[..., Any]) -> Callable[..., Any]:
    """``tf.einsum`` by transpose, reshape and matmul, as up to 1.15; ``einsum`` where there is none.

    Seen in 2.2 to 2.21 as ``tensorflow.python.ops.special_math_ops._einsum_v1``; up to 2.1 it is ``einsum``.
    What only the later one takes (an index that an operand has twice, an unknown rank behind an ellipsis)
    is left to it: current libraries, which ask for that, see the same function.
    """
    first: Any = getattr(special_math_ops, "_einsum_v1", None)
    if first is None:
        return einsum

    @functools.wraps(einsum)
    def computed(equation: str, *inputs: Any, **options: Any) -> Any:
        own = {name: value for name, value in options.items() if name != "optimize"}
        try:
            return first(equation, *inputs, **own)
        except ValueError:
            return einsum(equation, *inputs, **options)

    return computed


def is_for_xla() -> bool:
    """Whether what is built now is built for XLA, as the step of a TPU's cores is.

    Seen in 2.5 to 2.21 as ``tf.__internal__.get_enclosing_xla_context``.
    """
    internal: Any = getattr(tf, "__internal__", None)
    enclosing = getattr(internal, "get_enclosing_xla_context", None)
    return enclosing is not None and enclosing() is not None


def operations_of_weights(weights: Any, values: Any, are_tensors: bool = False) -> int:
    """How many operations check that weights can be broadcast to values, by a graph that has nothing else.

    Args:
      weights: A tensor, or what becomes one.
      values: The same.
      are_tensors: Whether the caller has made tensors of them before it checks.

    Seen in 1.13 to 2.21 as ``tensorflow.python.ops.weights_broadcast_ops.assert_broadcastable``.
    """
    with v1.Graph().as_default() as graph:
        given = [
            v1.placeholder(each.dtype, each.shape) if isinstance(each, v1.Tensor) else each
            for each in (weights, values)
        ]
        if are_tensors:
            given = list(map(v1.convert_to_tensor, given))
        before = len(graph.get_operations())
        check = weights_broadcast_ops.assert_broadcastable(*given)
        with graph.control_dependencies([check]):  # else TensorFlow logs that nobody used it
            return len(graph.get_operations()) - before
