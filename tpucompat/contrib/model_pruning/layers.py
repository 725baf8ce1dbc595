"""A convolution and a dense layer whose weights have masks."""

from __future__ import annotations

from typing import Any, Callable

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.contrib import slim
from tpucompat.contrib.model_pruning import masks

tf_slim: Any = slim.package()
_WEIGHTS: Any = tf_slim.xavier_initializer()
_BIASES: Any = tf.zeros_initializer()


class _Masked(tf.layers.Layer):
    """What the two layers share: kernel, mask and threshold, and a bias where one is wanted."""

    def _add_kernel(self, shape: list[int]) -> None:
        self.kernel = self.add_weight(
            "kernel",
            shape,
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            dtype=self.dtype,
        )

    def _add_mask(self, shape: list[int]) -> None:
        self.mask = self.add_weight(
            "mask", shape, initializer=tf.ones_initializer(), trainable=False, dtype=self.dtype
        )

    def _finish(self, units: int) -> None:
        self.threshold = self.add_weight(
            "threshold", [], initializer=tf.zeros_initializer(), trainable=False, dtype=self.dtype
        )
        self.masked_kernel = masks.collect(self.kernel, self.mask, self.threshold)
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                dtype=self.dtype,
            )
        self.built = True

    def _activated(self, outputs: Any) -> Any:
        return outputs if self.activation is None else self.activation(outputs)


class MaskedConv2D(_Masked, tf.layers.Conv2D):
    """A 2D convolution whose kernel is multiplied by the variable ``mask``; arguments of tf.layers.Conv2D."""

    def build(self, input_shape: Any) -> None:
        """Makes the variables mask, kernel, threshold and bias."""
        channels = tf.TensorShape(input_shape).as_list()[
            1 if self.data_format == "channels_first" else -1
        ]
        if channels is None:
            raise BadValueError(
                "TPU103",
                "The channel dimension of the inputs should be defined. Found `None`.",
            )
        shape = [*self.kernel_size, channels, self.filters]
        self._add_mask(shape)
        self._add_kernel(shape)
        self._finish(self.filters)

    def call(self, inputs: Any) -> Any:
        """``[batch, height, width, channels]``, or channels first, to as many filters."""
        layout = "NCHW" if self.data_format == "channels_first" else "NHWC"
        outputs = tf.nn.convolution(
            inputs,
            self.masked_kernel,
            dilation_rate=self.dilation_rate,
            strides=self.strides,
            padding=self.padding.upper(),
            data_format=layout,
        )
        if self.bias is not None:
            outputs = tf.nn.bias_add(outputs, self.bias, data_format=layout)
        return self._activated(outputs)


class MaskedFullyConnected(_Masked, tf.layers.Dense):
    """A dense layer whose kernel is multiplied by the variable ``mask``; arguments of tf.layers.Dense."""

    def build(self, input_shape: Any) -> None:
        """Makes the variables kernel, mask, threshold and bias."""
        last = tf.TensorShape(input_shape).as_list()[-1]
        if last is None:
            raise BadValueError(
                "TPU103",
                "The last dimension of the inputs to `Dense` should be defined. Found `None`.",
            )
        self._add_kernel([last, self.units])
        self._add_mask([last, self.units])
        self._finish(self.units)

    def call(self, inputs: Any) -> Any:
        """``[..., n]`` to ``[..., units]``."""
        inputs = tf.convert_to_tensor(inputs, dtype=self.dtype)
        shape = inputs.get_shape().as_list()
        if len(shape) > 2:
            outputs = tf.tensordot(inputs, self.masked_kernel, [[len(shape) - 1], [0]])
            outputs.set_shape([*shape[:-1], self.units])
        else:
            outputs = tf.matmul(inputs, self.masked_kernel)
        if self.bias is not None:
            outputs = tf.nn.bias_add(outputs, self.bias)
        return self._activated(outputs)


def _functional(
    layer_class: Callable[..., Any],
    inputs: Any,
    scope: Any,
    default_scope: str,
    reuse: Any,
    normalizer: tuple[Any, Any],
    activation_fn: Any,
    collections: tuple[Any, Any],
    **arguments: Any,
) -> Any:
    """A layer's output in a variable scope, normalized, activated and collected, as tf.contrib.layers does."""
    slim_layers: Any = slim.layers
    variables = slim_layers.layers  # tf-slim's module: variables as "weights" and "biases"
    getter = variables._build_variable_getter({"bias": "biases", "kernel": "weights"})
    with tf.variable_scope(
        scope, default_scope, [inputs], reuse=reuse, custom_getter=getter
    ) as inside:
        inputs = tf.convert_to_tensor(inputs)
        layer = layer_class(
            inputs,
            activation=None,
            activity_regularizer=None,
            name=inside.name,
            dtype=inputs.dtype.base_dtype,
            _scope=inside,
            _reuse=reuse,
            **arguments,
        )
        outputs = layer(inputs)
        variables_collections, outputs_collections = collections
        for variable, name in ((layer.kernel, "weights"), (layer.bias, "biases")):
            if variable is not None:
                variables._add_variable_to_collections(variable, variables_collections, name)
        normalizer_fn, normalizer_params = normalizer
        if normalizer_fn is not None:
            outputs = normalizer_fn(outputs, **(normalizer_params or {}))
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return slim_layers.utils.collect_named_outputs(
            outputs_collections, inside.original_name_scope, outputs
        )


@tf_slim.add_arg_scope
def masked_convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Any = tf.nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = _WEIGHTS,
    weights_regularizer: Any = None,
    biases_initializer: Any = _BIASES,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """``tf.contrib.layers.conv2d`` with a mask over its weights: same arguments, images only.

    Raises:
      ValueError: If the inputs are not images, or their layout is not known.
    """

    def layer(images: Any, **arguments: Any) -> Any:
        layouts = {None: "channels_last", "NHWC": "channels_last", "NCHW": "channels_first"}
        rank = images.get_shape().ndims
        if rank != 4:
            raise BadValueError(
                "TPU103", f"Sparse Convolution not supported for input with rank {rank}"
            )
        return MaskedConv2D(
            filters=num_outputs,
            kernel_size=kernel_size,
            strides=stride,
            padding=padding,
            data_format=layouts[data_format],
            dilation_rate=rate,
            **arguments,
        )

    if data_format not in (None, "NHWC", "NCHW"):
        raise BadValueError("TPU103", f"Invalid data_format: {data_format!r}")
    return _functional(
        layer,
        inputs,
        scope,
        "Conv",
        reuse,
        (normalizer_fn, normalizer_params),
        activation_fn,
        (variables_collections, outputs_collections),
        use_bias=not normalizer_fn and biases_initializer,
        kernel_initializer=weights_initializer,
        bias_initializer=biases_initializer,
        kernel_regularizer=weights_regularizer,
        bias_regularizer=biases_regularizer,
        trainable=trainable,
    )


masked_conv2d = masked_convolution


@tf_slim.add_arg_scope
def masked_fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = tf.nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = _WEIGHTS,
    weights_regularizer: Any = None,
    biases_initializer: Any = _BIASES,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """``tf.contrib.layers.fully_connected`` with a mask over its weights: same arguments.

    Raises:
      ValueError: If the number of outputs is not an integer.
    """
    if not isinstance(num_outputs, int):
        raise BadValueError("TPU103", f"num_outputs should be int or long, got {num_outputs}.")
    return _functional(
        lambda _, **arguments: MaskedFullyConnected(units=num_outputs, **arguments),
        inputs,
        scope,
        "fully_connected",
        reuse,
        (normalizer_fn, normalizer_params),
        activation_fn,
        (variables_collections, outputs_collections),
        use_bias=not normalizer_fn and biases_initializer,
        kernel_initializer=weights_initializer,
        bias_initializer=biases_initializer,
        kernel_regularizer=weights_regularizer,
        bias_regularizer=biases_regularizer,
        trainable=trainable,
    )
