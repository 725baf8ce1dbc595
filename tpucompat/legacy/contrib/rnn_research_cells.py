"""More recurrent cells of ``tf.contrib.rnn``, and the rarer ones behind it.

Equations, order of gates and variable names follow tensorflow/contrib/rnn/python/ops/rnn_cell.py of TensorFlow
1.15.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadValueError
from tpucompat.legacy.contrib.rnn_cells import (
    LayerRNNCell,
    LSTMStateTuple,
    RNNCell,
    last_size,
    linear,
    normalized,
    projected,
)


class _Projecting(RNNCell):
    """The sizes of an LSTM whose outputs may be projected."""

    _num_units: int
    _num_proj: int | None

    @property
    def output_size(self) -> int:
        """Numbers in an output."""
        return self._num_proj or self._num_units

    @property
    def state_size(self) -> Any:
        """Numbers in the two parts of a state."""
        return LSTMStateTuple(self._num_units, self.output_size)


class PhasedLSTMCell(RNNCell):
    """An LSTM whose units are open for a part of a learned period only (Neil et al., 2016).

    Args:
      num_units: Numbers in a state.
      use_peepholes: Whether gates see the cell state.
      leak: How much passes while a unit is closed.
      ratio_on: The part of the period in which a unit is open.
      trainable_ratio_on: Whether that is trained.
      period_init_min: The least period to start from.
      period_init_max: The largest; the logarithms are spread evenly.
      reuse: Whether variables are reused.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        leak: Any = 0.001,
        ratio_on: Any = 0.1,
        trainable_ratio_on: bool = True,
        period_init_min: Any = 1.0,
        period_init_max: Any = 1000.0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse, autocast=False)  # times may have another type
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._leak = leak
        self._ratio_on = ratio_on
        self._trainable_ratio_on = trainable_ratio_on
        self._periods = period_init_min, period_init_max

    @property
    def output_size(self) -> int:
        """Numbers in an output."""
        return self._num_units

    @property
    def state_size(self) -> Any:
        """Numbers in the two parts of a state."""
        return LSTMStateTuple(self._num_units, self._num_units)

    def _spread(self, shape: Any, dtype: Any = tf.float32, partition_info: Any = None) -> Any:
        low, high = (tf.log(each) for each in self._periods)
        return tf.exp(tf.random_uniform(shape, low, high, dtype))

    def call(self, inputs: Any, state: Any) -> Any:
        """One step; inputs are ``[batch, 1]`` times and ``[batch, n]`` features."""
        cell, output = state
        time, features = inputs
        units = self._num_units

        def gate(name: str, size: int, peephole: Any) -> Any:
            seen = [features, output] + ([peephole] if self._use_peepholes else [])
            with tf.variable_scope(name):
                return tf.sigmoid(projected(seen, size))

        enter, keep = tf.split(gate("mask_gates", 2 * units, cell), 2, axis=1)
        with tf.variable_scope("new_input"):
            new = tf.tanh(projected([features, output], units))
        new_cell = cell * keep + enter * new
        new_output = tf.tanh(new_cell) * gate("output_gate", units, new_cell)
        period = tf.get_variable("period", [units], initializer=self._spread)
        phase = tf.get_variable(
            "phase", [units], initializer=tf.random_uniform_initializer(0.0, period.initial_value)
        )
        ratio_on = tf.get_variable(
            "ratio_on",
            [units],
            initializer=tf.constant_initializer(self._ratio_on),
            trainable=self._trainable_ratio_on,
        )
        ratio = _part_of_cycle(time, phase, period)
        rising = 2 * ratio / ratio_on
        openness = tf.where(ratio < ratio_on, 2 - rising, self._leak * ratio)
        openness = tf.where(ratio < 0.5 * ratio_on, rising, openness)
        new_cell = openness * new_cell + (1 - openness) * cell
        new_output = openness * new_output + (1 - openness) * output
        return new_output, LSTMStateTuple(new_cell, new_output)


def _part_of_cycle(time: Any, phase: Any, period: Any) -> Any:
    """Where in its period a unit is, from 0 to 1; computed in the type of the times."""
    period = tf.cast(period, time.dtype)
    shifted = time - tf.cast(phase, time.dtype)
    # The remainder, whose gradient is that of the whole.
    rest = tf.stop_gradient(tf.mod(shifted, period) - shifted) + shifted
    return tf.cast(rest / period, tf.float32)


class GLSTMCell(_Projecting):
    """An LSTM in groups, each for a part of the inputs and of the state (Kuchaiev and Ginsburg, 2017).

    Args:
      num_units: Numbers in a cell state.
      initializer: Of the kernels; the scope's by default.
      num_proj: Numbers in an output, if it is projected.
      number_of_groups: The number of groups.
      forget_bias: Added to the forget gate's input.
      activation: Of the cell's output.
      reuse: Whether variables are reused.

    Raises:
      ValueError: If the groups do not divide a size.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        num_proj: int | None = None,
        number_of_groups: int = 1,
        forget_bias: float = 1.0,
        activation: Any = tf.tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._num_proj = num_proj
        self._forget_bias = forget_bias
        self._activation = activation
        self._groups = number_of_groups
        for name, size in (("num_units", num_units), ("num_proj", num_proj or 0)):
            if size % number_of_groups:
                raise BadValueError("TPU103", f"{name} must be divisible by number_of_groups")

    def call(self, inputs: Any, state: Any) -> Any:
        """One step."""
        cell, output = state
        groups = self._groups
        size = inputs.shape.as_list()[1]
        if size is None:
            raise BadValueError("TPU103", "input size must be statically known")
        if size % groups:
            raise BadValueError(
                "TPU103",
                f"input size ({size}) must be divisible by number_of_groups ({groups})",
            )
        batch = inputs.shape.as_list()[0] or tf.shape(inputs)[0]

        def part(tensor: Any, group: int, width: int) -> Any:
            name = f"GLSTM_group{group}_input_generation"
            return tf.slice(tensor, [0, group * width], [batch, width], name=name)

        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            gates = []
            for group in range(groups):
                with tf.variable_scope(f"group{group}"):
                    seen = [part(inputs, group, size // groups)]
                    seen.append(part(output, group, self.output_size // groups))
                    width = 4 * self._num_units // groups
                    gates.append(tf.split(projected(tf.concat(seen, 1), width, False), 4, 1))
            zeros = tf.constant_initializer(0.0, dtype=inputs.dtype)
            biases = [
                tf.get_variable("bias_" + name, [self._num_units], inputs.dtype, zeros)
                for name in "ijfo"
            ]
            i, j, f, o = (
                tf.nn.bias_add(tf.concat(parts, axis=1), bias)
                for parts, bias in zip(zip(*gates), biases)
            )
        cell = tf.sigmoid(f + self._forget_bias) * cell + tf.sigmoid(i) * tf.tanh(j)
        output = tf.sigmoid(o) * self._activation(cell)
        if self._num_proj is not None:
            with tf.variable_scope("projection"):
                output = projected(output, self._num_proj, False)
        return output, LSTMStateTuple(cell, output)


class _NormalizingLSTMCell(_Projecting):
    """What :class:`LayerNormLSTMCell` and :class:`WeightNormLSTMCell` share: the step after its gates."""

    _use_peepholes: bool
    _forget_bias: float
    _activation: Any
    _cell_clip: float | None
    _proj_clip: float | None

    def _next_cell(self, cell: Any, gates: tuple[Any, Any, Any], dtype: Any) -> tuple[Any, Any]:
        """The new cell state, and the weights by which the output gate sees it."""
        i, j, f = gates
        f, seen = f + self._forget_bias, None
        if self._use_peepholes:
            forget, enter, seen = (
                tf.get_variable(f"w_{name}_diag", [self._num_units], dtype) for name in "fio"
            )
            f, i = f + forget * cell, i + enter * cell
        return tf.sigmoid(f) * cell + tf.sigmoid(i) * self._activation(j), seen

    def _output(self, cell: Any, o: Any, seen: Any) -> Any:
        return tf.sigmoid(o if seen is None else o + seen * cell) * self._activation(cell)

    def _clipped(self, cell: Any, limit: float | None) -> Any:
        return cell if limit is None else tf.clip_by_value(cell, -limit, limit)


class LayerNormLSTMCell(_NormalizingLSTMCell):
    """An LSTM with layer normalization of its gates and its cell state.

    Args:
      num_units: Numbers in a cell state.
      use_peepholes: Whether gates see the cell state.
      cell_clip: Cell states are clipped to it.
      initializer: Of the kernels; the scope's by default.
      num_proj: Numbers in an output, if it is projected.
      proj_clip: Projected outputs are clipped to it.
      forget_bias: Added to the forget gate's input.
      activation: Of the cell's input and output; tanh by default.
      layer_norm: Whether it normalizes.
      norm_gain: Where the gains start.
      norm_shift: Where the shifts start.
      reuse: Whether variables are reused.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1.0,
        activation: Any = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._activation = activation or tf.tanh
        self._layer_norm = layer_norm
        self._gain = norm_gain
        self._shift = norm_shift

    def _norm(self, inputs: Any, scope: str) -> Any:
        return normalized(inputs, scope, self._gain, self._shift) if self._layer_norm else inputs

    def call(self, inputs: Any, state: Any) -> Any:
        """One step."""
        cell, output = state
        last_size(inputs.shape)
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            size = 4 * self._num_units
            gates = linear([inputs, output], size, not self._layer_norm)
            if self._layer_norm:  # the bias is there, and out of use
                zeros = tf.constant_initializer(0.0, dtype=inputs.dtype)
                tf.get_variable("bias", [size], inputs.dtype, zeros)
            names = ("input", "transform", "forget", "output")
            i, j, f, o = (
                self._norm(gate, name) for gate, name in zip(tf.split(gates, 4, axis=1), names)
            )
            cell, seen = self._next_cell(cell, (i, j, f), inputs.dtype)
            cell = self._clipped(self._norm(cell, "state"), self._cell_clip)
            output = self._output(cell, o, seen)
            if self._num_proj is not None:
                with tf.variable_scope("projection"):
                    output = linear(output, self._num_proj, False)
                output = self._clipped(output, self._proj_clip)
        return output, LSTMStateTuple(cell, output)


class WeightNormLSTMCell(_NormalizingLSTMCell):
    """An LSTM with normalized weights (Salimans and Kingma, 2016).

    Args:
      num_units: Numbers in a cell state.
      norm: Whether it normalizes.
      use_peepholes: Whether gates see the cell state.
      cell_clip: Cell states are clipped to it.
      initializer: Of the kernels; the scope's by default.
      num_proj: Numbers in an output, if it is projected.
      proj_clip: Projected outputs are clipped to it.
      forget_bias: Added to the forget gate's input.
      activation: Of the cell's input and output; tanh by default.
      reuse: Whether variables are reused.
    """

    def __init__(
        self,
        num_units: int,
        norm: bool = True,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1,
        activation: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._scope = "wn_lstm_cell"  # the cell's own name, too
        self._num_units = num_units
        self._norm = norm
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._activation = activation or tf.tanh

    def _product(self, args: list[Any], size: int) -> Any:
        """``concat(args) @ kernel``, with the columns of each argument's part of the kernel of one length."""
        rows = [last_size(each.shape) for each in args]
        kernel = tf.get_variable("kernel", [sum(rows), size], args[0].dtype)
        if self._norm:
            with tf.control_dependencies(None):
                parts = []
                for number, part in enumerate(tf.split(kernel, rows)):
                    length = tf.get_variable(f"norm_{number}", [size], part.dtype)
                    parts.append(tf.nn.l2_normalize(part, axis=0) * length)
                kernel = tf.concat(parts, axis=0)
        return tf.matmul(args[0] if len(args) == 1 else tf.concat(args, 1), kernel)

    def call(self, inputs: Any, state: Any) -> Any:
        """One step."""
        cell, output = state
        with tf.variable_scope("wn_lstm_cell", initializer=self._initializer):
            size = 4 * self._num_units
            gates = self._product([inputs, output], size)
            zeros = tf.constant_initializer(0.0, dtype=inputs.dtype)
            gates = tf.nn.bias_add(gates, tf.get_variable("bias", [size], inputs.dtype, zeros))
            i, j, f, o = tf.split(gates, 4, axis=1)
            cell, seen = self._next_cell(cell, (i, j, f), inputs.dtype)
            cell = self._clipped(cell, self._cell_clip)
            output = self._output(cell, o, seen)
            if self._num_proj is not None:
                with tf.variable_scope("projection"):
                    output = self._product([output], self._num_proj)
                output = self._clipped(output, self._proj_clip)
        return output, LSTMStateTuple(cell, output)


class _KerasLikeCell(LayerRNNCell):
    """A cell whose arguments are named as those of Keras' layers.

    Args:
      units: Numbers in a state.
      activation: Of the inputs.
      kernel_initializer: Of the kernels.
      bias_initializer: Of the bias.
      name: Of the layer.
      dtype: Of the variables.
      **kwargs: For the layer.
    """

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "ones",
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.units = units
        self.activation = tf.keras.activations.get(activation)
        self.kernel_initializer = tf.keras.initializers.get(kernel_initializer)
        self.bias_initializer = tf.keras.initializers.get(bias_initializer)

    @property
    def output_size(self) -> int:
        """Numbers in an output."""
        return self.units

    @property
    def state_size(self) -> int:
        """Numbers in a state."""
        return self.units

    def _weight(self, name: str, *shape: int) -> Any:
        initializer = self.bias_initializer if name == "bias" else self.kernel_initializer
        return self.add_weight(name=name, shape=shape, initializer=initializer)


class MinimalRNNCell(_KerasLikeCell):
    """A cell with one gate between the projected input and the state (Chen et al., 2018)."""

    def build(self, inputs_shape: Any) -> None:
        """Makes the variables."""
        size = last_size(inputs_shape)
        self.kernel = self._weight("kernel", size + 2 * self.units, self.units)
        self.bias = self._weight("bias", self.units)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """One step."""
        forward, gate = tf.split(self.kernel, [last_size(inputs.shape), 2 * self.units], axis=0)
        new = self.activation(tf.matmul(inputs, forward))
        keep = tf.nn.bias_add(tf.matmul(tf.concat([new, state], 1), gate), self.bias)
        keep = tf.sigmoid(keep)
        state = keep * state + (1 - keep) * new
        return state, state


class CFNCell(_KerasLikeCell):
    """The cell of a network without chaos (Laurent and von Brecht, 2017)."""

    def build(self, inputs_shape: Any) -> None:
        """Makes the variables."""
        self.kernel = self._weight("kernel", last_size(inputs_shape), 3 * self.units)
        self.recurrent_kernel = self._weight("recurrent_kernel", self.units, 2 * self.units)
        self.bias = self._weight("bias", 2 * self.units)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """One step."""
        of_gates, of_inputs = tf.split(self.kernel, [2 * self.units, self.units], axis=1)
        gates = tf.matmul(state, self.recurrent_kernel) + tf.matmul(inputs, of_gates)
        gates = tf.sigmoid(tf.nn.bias_add(gates, self.bias))
        keep, closed = tf.split(gates, 2, axis=1)
        new = self.activation(tf.matmul(inputs, of_inputs))
        state = keep * self.activation(state) + (1 - closed) * new
        return state, state
