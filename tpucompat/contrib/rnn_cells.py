"""The recurrent cells of ``tf.contrib.rnn`` that TensorFlow does not have itself.

Equations, order of gates and variable names follow
tensorflow/contrib/rnn/python/ops/{rnn_cell,lstm_ops, gru_ops}.py of TensorFlow 1.15. All cells are
made of plain operations, so that they compile for a TPU too.
"""

from __future__ import annotations

from typing import Any, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError

RNNCell: Any = tf.nn.rnn_cell.RNNCell
LSTMStateTuple: Any = tf.nn.rnn_cell.LSTMStateTuple
# The base of cells whose variables are made in build(); public only as the base class of this one.
LayerRNNCell: Any = tf.nn.rnn_cell.BasicRNNCell.__mro__[1]


class Linear:
    """``concat(args) @ kernel + bias``, with variables "kernel" and "bias" of the present scope.

    ``core_rnn_cell._Linear``, which cells of the time were made of: it makes its variables at once and is
    called with the tensors at each step.

    Args:
      args: A tensor ``[batch, n]``, or a list of them, as in the calls.
      output_size: Numbers in a result.
      build_bias: Whether there is a bias.
      bias_initializer: Of the bias; zeros by default.
      kernel_initializer: Of the kernel; the scope's by default.

    Raises:
      ValueError: If there are no tensors, or one has another rank or an unknown size.
    """

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        inputs = _listed(args)
        dtype = inputs[0].dtype
        size = sum(_columns(inputs))
        self._weights = tf.get_variable(
            "kernel", [size, output_size], dtype, initializer=kernel_initializer
        )
        self._biases = _bias(output_size, dtype, bias_initializer) if build_bias else None

    def __call__(self, args: Any) -> Any:
        """``[batch, output_size]``."""
        result = tf.matmul(_joined(_listed(args)), self._weights)
        return result if self._biases is None else tf.nn.bias_add(result, self._biases)


def _listed(args: Any) -> list[Any]:
    listed = tf.nest.flatten(args) if isinstance(args, (list, tuple)) else [args]
    if args is None or not listed:
        raise BadValueError("TPU103", "`args` must be specified")
    return listed


def _columns(inputs: Sequence[Any]) -> list[int]:
    shapes = [each.shape for each in inputs]
    if any(shape.rank != 2 for shape in shapes):
        raise BadValueError("TPU103", f"linear is expecting 2D arguments: {shapes}")
    sizes = [shape.as_list()[1] for shape in shapes]
    if None in sizes:
        raise BadValueError("TPU103", f"linear expects shape[1] to be provided, but saw {shapes}")
    return sizes


def _joined(inputs: Sequence[Any]) -> Any:
    return inputs[0] if len(inputs) == 1 else tf.concat(inputs, 1)


def _bias(size: int, dtype: Any, initializer: Any) -> Any:
    with tf.variable_scope(tf.get_variable_scope()) as scope:
        scope.set_partitioner(None)
        if initializer is None:
            initializer = tf.constant_initializer(0.0, dtype=dtype)
        return tf.get_variable("bias", [size], dtype, initializer)


def linear(
    args: Any,
    output_size: int,
    bias: bool = True,
    bias_initializer: Any = None,
    kernel_initializer: Any = None,
) -> Any:
    """What :class:`Linear` computes, at once; ``core_rnn_cell._linear``.

    Args:
      args: A tensor ``[batch, n]``, or a list of them.
      output_size: Numbers in a result.
      bias: Whether there is one.
      bias_initializer: Of the bias; zeros by default.
      kernel_initializer: Of the kernel; the scope's by default.

    Returns:
      ``[batch, output_size]``.

    Raises:
      ValueError: If there are no tensors, or one has another rank or an unknown size.
    """
    inputs = _listed(args)
    dtype = inputs[0].dtype
    kernel = tf.get_variable(
        "kernel", [sum(_columns(inputs)), output_size], dtype, initializer=kernel_initializer
    )
    result = tf.matmul(_joined(inputs), kernel)
    return tf.nn.bias_add(result, _bias(output_size, dtype, bias_initializer)) if bias else result


def projected(args: Any, output_size: int, bias: bool = True) -> Any:
    """:class:`Linear` of the tensors, with its order of operations: 1.15's cells use that class."""
    return Linear(args, output_size, bias)(args)


def last_size(shape: Any) -> int:
    """The last of a shape's sizes; a ValueError where it is unknown."""
    size = tf.TensorShape(shape).as_list()[-1]
    if size is None:
        raise BadValueError("TPU103", f"Expected inputs.shape[-1] to be known, saw shape: {shape}")
    return size


class _Sized:
    """Cells whose state and output have ``_num_units`` numbers."""

    _num_units: int

    @property
    def state_size(self) -> Any:
        """Numbers in a state."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """Numbers in an output."""
        return self._num_units


class _LSTMSized(_Sized):
    """Cells whose state is a cell state and an output."""

    @property
    def state_size(self) -> Any:
        """Numbers in the two parts of a state."""
        return LSTMStateTuple(self._num_units, self._num_units)


# LSTMs and GRUs that were one operation (lstm_ops.py, gru_ops.py)
# -----------------------------------


class LSTMBlockCell(_LSTMSized, LayerRNNCell):
    """An LSTM (Zaremba et al., 2014), optionally with peepholes; gates i, c, f, o.

    Args:
      num_units: Numbers in a state.
      forget_bias: Added to the forget gate's input.
      cell_clip: Cell states are clipped to it; gradients pass, as in the kernel of TensorFlow 1.15.
      use_peephole: Whether gates see the cell state.
      dtype: Of the variables.
      reuse: Whether variables are reused.
      name: Of the cell.
    """

    # For the layers of contrib.cudnn_rnn: the scope's initializer and zeros otherwise.
    kernel_initializer: Any = None
    bias_initializer: Any = tf.zeros_initializer()

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: bool | None = None,
        name: str = "lstm_cell",
    ) -> None:
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._use_peephole = use_peephole
        self._cell_clip = cell_clip

    def build(self, inputs_shape: Any) -> None:
        """Makes the variables: kernel, bias and, with peepholes, three diagonals."""
        units = self._num_units
        shape = [last_size(inputs_shape) + units, 4 * units]
        self._kernel = self.add_weight("kernel", shape, initializer=self.kernel_initializer)
        self._bias = self.add_weight("bias", shape[1:], initializer=self.bias_initializer)
        self._diagonals = [
            self.add_weight(name, [units]) if self._use_peephole else 0.0
            for name in ("w_i_diag", "w_f_diag", "w_o_diag")
        ]
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """One step."""
        if len(state) != 2:
            raise BadValueError("TPU103", "Expecting state to be a tuple with length 2.")
        cell, output = state
        gates = tf.nn.bias_add(tf.matmul(tf.concat([inputs, output], 1), self._kernel), self._bias)
        i, c, f, o = tf.split(gates, 4, axis=1)
        if self._use_peephole:
            i, f = i + cell * self._diagonals[0], f + cell * self._diagonals[1]
        cell = tf.tanh(c) * tf.sigmoid(i) + cell * tf.sigmoid(f + self._forget_bias)
        if self._cell_clip is not None and self._cell_clip > 0:
            clipped = tf.clip_by_value(cell, -self._cell_clip, self._cell_clip)
            cell = cell + tf.stop_gradient(clipped - cell)
        if self._use_peephole:
            o = o + cell * self._diagonals[2]
        output = tf.sigmoid(o) * tf.tanh(cell)
        return output, LSTMStateTuple(cell, output)


class GRUBlockCell(_Sized, LayerRNNCell):
    """A gated recurrent unit; its variables are called w_ru, b_ru, w_c and b_c.

    Args:
      num_units: Numbers in a state.
      cell_size: The older name of ``num_units``.
      reuse: Whether variables are reused.
      name: Of the cell.

    Raises:
      ValueError: If not exactly one of the two sizes is given.
    """

    _NAMES = ("w_ru", "b_ru", "w_c", "b_c")

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: bool | None = None,
        name: str = "gru_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name)
        if (cell_size is None) == (num_units is None):
            raise BadValueError("TPU103", "Exactly one of num_units or cell_size must be provided.")
        self._num_units = num_units or cell_size or 0

    def build(self, input_shape: Any) -> None:
        """Makes the four variables."""
        units = self._num_units
        rows = last_size(input_shape) + units
        ones, zeros = tf.ones_initializer(), tf.zeros_initializer()
        self._gate_kernel = self.add_weight(self._NAMES[0], [rows, 2 * units])
        self._gate_bias = self.add_weight(self._NAMES[1], [2 * units], initializer=ones)
        self._candidate_kernel = self.add_weight(self._NAMES[2], [rows, units])
        self._candidate_bias = self.add_weight(self._NAMES[3], [units], initializer=zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """One step."""
        gates = tf.matmul(tf.concat([inputs, state], 1), self._gate_kernel)
        r, u = tf.split(tf.sigmoid(tf.nn.bias_add(gates, self._gate_bias)), 2, axis=1)
        candidate = tf.matmul(tf.concat([inputs, state * r], 1), self._candidate_kernel)
        candidate = tf.tanh(tf.nn.bias_add(candidate, self._candidate_bias))
        state = u * state + (1 - u) * candidate
        return state, state


class GRUBlockCellV2(GRUBlockCell):
    """:class:`GRUBlockCell` with the variable names of ``tf.nn.rnn_cell.GRUCell``."""

    _NAMES = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")


# Kinds of LSTM (rnn_cell.py)
# -------------------------------------------------------------------------


def normalized(inputs: Any, scope: str, gain: float, shift: float) -> Any:
    """Layer normalization over the last dimension, with variables scope/gamma and scope/beta."""
    shape = inputs.shape[-1:]
    with tf.variable_scope(scope):
        gamma = tf.get_variable("gamma", shape, inputs.dtype, tf.constant_initializer(gain))
        beta = tf.get_variable("beta", shape, inputs.dtype, tf.constant_initializer(shift))
    mean, variance = tf.nn.moments(inputs, [1], keep_dims=True)
    # The epsilon of tf.contrib.layers.layer_norm.
    return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)


class LayerNormBasicLSTMCell(_LSTMSized, RNNCell):
    """An LSTM with layer normalization and recurrent dropout; gates i, j, f, o.

    Args:
      num_units: Numbers in a state.
      forget_bias: Added to the forget gate's input.
      input_size: Ignored.
      activation: Of the cell's input and output.
      layer_norm: Whether gates and cell states are normalized; if not, there is a bias.
      norm_gain: Where the gains start.
      norm_shift: Where the shifts start.
      dropout_keep_prob: Part of the cell's input that is kept.
      dropout_prob_seed: For the choice.
      reuse: Whether variables are reused.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Any = tf.tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._activation = activation
        self._forget_bias = forget_bias
        self._keep_prob = dropout_keep_prob
        self._seed = dropout_prob_seed
        self._layer_norm = layer_norm
        self._norm_starts = norm_gain, norm_shift

    def _norm(self, inputs: Any, scope: str) -> Any:
        return normalized(inputs, scope, *self._norm_starts) if self._layer_norm else inputs

    def call(self, inputs: Any, state: Any) -> Any:
        """One step."""
        cell, output = state
        args = tf.concat([inputs, output], 1)
        shape = [args.shape.as_list()[1], 4 * self._num_units]
        gates = tf.matmul(args, tf.get_variable("kernel", shape, args.dtype))
        if not self._layer_norm:
            # Not from zeros: it has the scope's initializer.
            gates = tf.nn.bias_add(gates, tf.get_variable("bias", shape[1:], args.dtype))
        i, j, f, o = tf.split(gates, 4, axis=1)
        i, j = self._norm(i, "input"), self._norm(j, "transform")
        f, o = self._norm(f, "forget"), self._norm(o, "output")
        new = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            new = tf.nn.dropout(new, self._keep_prob, seed=self._seed)
        cell = cell * tf.sigmoid(f + self._forget_bias) + tf.sigmoid(i) * new
        cell = self._norm(cell, "state")
        output = self._activation(cell) * tf.sigmoid(o)
        return output, LSTMStateTuple(cell, output)


class ConvLSTMCell(RNNCell):
    """An LSTM whose products are convolutions (Shi et al., 2015).

    Args:
      conv_ndims: 1, 2 or 3.
      input_shape: Of one input, without the batch: sizes and channels.
      output_channels: Channels of the state.
      kernel_shape: Sizes of the kernel.
      use_bias: Whether there is a bias.
      skip_connection: Whether the inputs are appended to the outputs.
      forget_bias: Added to the forget gate's input.
      initializers: Ignored, as in TensorFlow 1.15.
      name: Of the cell.

    Raises:
      ValueError: If ``input_shape`` does not fit ``conv_ndims``.
    """

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Any,
        output_channels: int,
        kernel_shape: Any,
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: Any = None,
        name: str = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise BadValueError(
                "TPU103", f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}."
            )
        self._convolution = {1: tf.nn.conv1d, 2: tf.nn.conv2d, 3: tf.nn.conv3d}[conv_ndims]
        self._strides = 1 if conv_ndims == 1 else [1] * (conv_ndims + 2)
        self._space = list(input_shape[:-1])
        self._channels = output_channels
        self._kernel_shape = list(kernel_shape)
        self._use_bias = use_bias
        self._skip = input_shape[-1] if skip_connection else 0
        self._forget_bias = forget_bias

    @property
    def state_size(self) -> Any:
        """Shapes of the two parts of a state."""
        shape = tf.TensorShape([*self._space, self._channels])
        return LSTMStateTuple(shape, shape)

    @property
    def output_size(self) -> Any:
        """Shape of an output."""
        return tf.TensorShape([*self._space, self._channels + self._skip])

    def call(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """One step."""
        cell, hidden = state
        args = tf.concat([inputs, hidden], -1)
        shape = [*self._kernel_shape, args.shape.as_list()[-1], 4 * self._channels]
        kernel = tf.get_variable("kernel", shape, args.dtype)
        gates = self._convolution(args, kernel, self._strides, padding="SAME")
        if self._use_bias:
            zeros = tf.zeros_initializer(dtype=args.dtype)
            gates = gates + tf.get_variable("biases", shape[-1:], args.dtype, zeros)
        i, j, f, o = tf.split(gates, 4, axis=-1)
        cell = tf.sigmoid(f + self._forget_bias) * cell + tf.sigmoid(i) * tf.tanh(j)
        output = tf.tanh(cell) * tf.sigmoid(o)
        if self._skip:
            output = tf.concat([output, inputs], axis=-1)
        return output, LSTMStateTuple(cell, output)


class Conv1DLSTMCell(ConvLSTMCell):
    """:class:`ConvLSTMCell` over one dimension."""

    def __init__(self, name: str = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """:class:`ConvLSTMCell` over two dimensions."""

    def __init__(self, name: str = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """:class:`ConvLSTMCell` over three dimensions."""

    def __init__(self, name: str = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)


class NASCell(LayerRNNCell):
    """The cell that a search found (Zoph and Le, 2016).

    Args:
      num_units: Numbers in a cell state.
      num_proj: Numbers in an output, if it is projected.
      use_bias: Whether there is a bias.
      reuse: Whether variables are reused.
      **kwargs: Of the layer.
    """

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units = num_units
        self._num_proj = num_proj
        self._use_bias = use_bias

    @property
    def output_size(self) -> int:
        """Numbers in an output."""
        return self._num_units if self._num_proj is None else self._num_proj

    @property
    def state_size(self) -> Any:
        """Numbers in the two parts of a state."""
        return LSTMStateTuple(self._num_units, self.output_size)

    def build(self, inputs_shape: Any) -> None:
        """Makes the kernels, the bias and the projection."""
        width = 8 * self._num_units
        self.recurrent_kernel = self.add_weight("recurrent_kernel", [self.output_size, width])
        self.kernel = self.add_weight("kernel", [last_size(inputs_shape), width])
        if self._use_bias:
            self.bias = self.add_weight("bias", [width], initializer=tf.zeros_initializer())
        if self._num_proj is not None:
            shape = [self._num_units, self._num_proj]
            self.projection_weights = self.add_weight("projection_weights", shape)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """One step."""
        cell, output = state
        recurrent = tf.matmul(output, self.recurrent_kernel)
        if self._use_bias:
            recurrent = tf.nn.bias_add(recurrent, self.bias)
        m = tf.split(recurrent, 8, axis=1)
        x = tf.split(tf.matmul(inputs, self.kernel), 8, axis=1)
        first = tf.tanh(tf.sigmoid(x[0] + m[0]) * tf.nn.relu(x[1] + m[1]))
        second = tf.tanh(tf.sigmoid(x[2] + m[2]) + tf.nn.relu(x[3] * m[3]))
        third = tf.tanh(tf.tanh(x[4] + m[4]) * tf.sigmoid(x[5] + m[5]))
        fourth = tf.sigmoid(tf.tanh(x[6] + m[6]) + tf.sigmoid(x[7] + m[7]))
        cell = tf.tanh(first + cell) * second
        output = tf.tanh(cell * tf.tanh(third + fourth))
        if self._num_proj is not None:
            output = tf.matmul(output, self.projection_weights)
        return output, LSTMStateTuple(cell, output)


# Others (rnn_cell.py)
# ---------------------------------------------------------------------------------
