"""Gradients of strided convolutions by kernels of 1×1, of which oneDNN gives wrong ones.

For fewer input channels than a vector of the processor has numbers, oneDNN writes past its buffer: the process
ends with a segmentation fault (AVX-512, an odd batch, two threads), or the gradient is wrong (AVX2). Seen in
TensorFlow 2.11 to 2.21; https://github.com/uxlfoundation/oneDNN/issues/6035. The kernel reads the pixels that
the stride leaves, and no others, so its gradient is that of a convolution of those with a stride of 1.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import tensorflow as tf

from tpucompat.engines import operation_seeds
from tpucompat.tf import patches, private

#: As many numbers of 32 bits does a vector of AVX-512 have.
_WIDEST_VECTOR = 16


@patches.patch
def read_strided_pixels() -> None:
    """Lets gradients of such convolutions read the pixels first, where TensorFlow computes with oneDNN."""
    private.replace_gradients({"Conv2D": _of_conv2d})


def _of_conv2d(gradients: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(gradients)
    def computed(operation: Any, gradient: Any) -> Any:
        if not _is_concerned(operation):
            return gradients(operation, gradient)
        if tf.executing_eagerly():
            return _of_images(operation, gradient), _of_kernel(operation, gradient)
        of_images, _ = gradients(operation, gradient)  # what is not read is not computed
        with operation_seeds.uncounted():
            return of_images, _of_kernel(operation, gradient)

    return computed


def _is_concerned(operation: Any) -> bool:
    if not private.computes_with_onednn():
        return False
    height, width, channels, _ = operation.inputs[1].shape.as_list()
    return (
        height == width == 1
        and channels is not None
        and channels < _WIDEST_VECTOR
        and max(operation.get_attr("strides")) > 1
        and operation.get_attr("padding") in (b"SAME", b"VALID")  # neither pads for such a kernel
    )


def _of_images(operation: Any, gradient: Any) -> Any:
    images, kernel = operation.inputs
    return tf.raw_ops.Conv2DBackpropInput(
        input_sizes=tf.shape(images),
        filter=kernel,
        out_backprop=gradient,
        strides=operation.get_attr("strides"),
        padding=operation.get_attr("padding"),
        data_format=operation.get_attr("data_format"),
    )


def _of_kernel(operation: Any, gradient: Any) -> Any:
    images, kernel = operation.inputs
    pixels = images[tuple(slice(None, None, stride) for stride in operation.get_attr("strides"))]
    return tf.raw_ops.Conv2DBackpropFilter(
        input=pixels,
        filter_sizes=kernel.shape,
        out_backprop=gradient,
        strides=[1, 1, 1, 1],
        padding="VALID",
        data_format=operation.get_attr("data_format"),
    )
