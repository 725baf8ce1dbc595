"""``tf.contrib.cudnn_rnn``: its layers as stacks of plain cells, which run on any device.

The layers of TensorFlow 1.15 (tensorflow/contrib/cudnn_rnn) ran on a GPU only, and saved their
weights in the form of the cells ``CudnnCompatibleLSTMCell`` and ``CudnnCompatibleGRUCell``. Here a
layer *is* those cells: it has the names, shapes and equations of those checkpoints. One thing
differs in training: cuDNN had two biases for each gate, each with the whole gradient, where the
cells have one.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError
from tpucompat.contrib.rnn import stack_bidirectional_dynamic_rnn
from tpucompat.contrib.rnn_cells import LSTMBlockCell, LSTMStateTuple

_DIRECTIONS = ("unidirectional", "bidirectional")
_INPUT_MODES = ("linear_input", "skip_input", "auto_select")


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """An LSTM cell with the equations of cuDNN: no forget bias.

    Args:
      num_units: Numbers in a state.
      reuse: Whether variables are reused.
    """

    def __init__(self, num_units: int, reuse: bool | None = None) -> None:
        super().__init__(num_units, forget_bias=0, reuse=reuse, name="cudnn_compatible_lstm_cell")


class CudnnCompatibleGRUCell(tf.nn.rnn_cell.GRUCell):
    """A GRU cell with the equations of cuDNN: the reset gate acts after the recurrent product.

    Args:
      num_units: Numbers in a state.
      reuse: Whether variables are reused.
      kernel_initializer: Of the kernels.
    """

    def __init__(
        self, num_units: int, reuse: bool | None = None, kernel_initializer: Any = None
    ) -> None:
        super().__init__(num_units, reuse=reuse, kernel_initializer=kernel_initializer)

    def build(self, inputs_shape: Any) -> None:
        """Makes the kernels and biases."""
        size, units = tf.TensorShape(inputs_shape).as_list()[1], self._num_units
        if size is None:
            raise BadValueError(
                "TPU103", f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}"
            )
        ones = self._bias_initializer or tf.ones_initializer()
        zeros = self._bias_initializer or tf.zeros_initializer()

        def pair(scope: str, rows: int, columns: int, bias: Any) -> tuple[Any, Any]:
            return (
                self.add_weight(
                    scope + "/kernel", [rows, columns], initializer=self._kernel_initializer
                ),
                self.add_weight(scope + "/bias", [columns], initializer=bias),
            )

        self._gates = pair("gates", size + units, 2 * units, ones)
        self._from_input = pair("candidate/input_projection", size, units, zeros)
        self._from_state = pair("candidate/hidden_projection", units, units, zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """One step."""
        gates = tf.sigmoid(tf.nn.xw_plus_b(tf.concat([inputs, state], 1), *self._gates))
        r, u = tf.split(gates, 2, axis=1)
        new = tf.nn.xw_plus_b(inputs, *self._from_input)
        new = tf.tanh(new + r * tf.nn.xw_plus_b(state, *self._from_state))
        state = (1 - u) * new + u * state
        return state, state


class _CudnnRNN(tf.layers.Layer):
    """Layers of cells over time, in one or both directions.

    Args:
      num_layers: Layers.
      num_units: Numbers in a state of one direction.
      input_mode: "linear_input"; "skip_input" has no cell that does it.
      direction: "unidirectional" or "bidirectional".
      dropout: The part of the outputs between two layers that is dropped in training.
      seed: Of the dropout and of the initial weights.
      dtype: Of the weights.
      kernel_initializer: Of each gate's matrices; glorot uniform by default.
      bias_initializer: Of each gate's two biases; zeros by default.
      name: Of the layer.

    Raises:
      ValueError: If the direction, the input mode or the type is unknown.
    """

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: Any = tf.float32,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        if direction not in _DIRECTIONS:
            raise BadValueError(
                "TPU103", f"Invalid direction: {direction}, expecting one of {_DIRECTIONS}"
            )
        if input_mode not in _INPUT_MODES:
            raise BadValueError(
                "TPU103", f"Invalid input_mode: {input_mode}, expecting one of {_INPUT_MODES}"
            )
        if dtype not in (tf.float16, tf.float32, tf.float64):
            raise BadValueError(
                "TPU103", f"Only support float16, float32, float64, provided {dtype}"
            )
        self._num_layers = num_layers
        self._num_units = num_units
        self._input_mode = input_mode
        self._direction = direction
        self._dropout = dropout
        self._seed = seed
        self._kernel_initializer = kernel_initializer or tf.glorot_uniform_initializer(seed=seed)
        self._bias_initializer = bias_initializer or tf.zeros_initializer()
        self._cells = [[self._cell() for _ in range(num_layers)] for _ in range(self.num_dirs)]

    def _cell(self) -> Any:
        raise NotImplementedError

    @property
    def num_layers(self) -> int:
        """Layers."""
        return self._num_layers

    @property
    def num_units(self) -> int:
        """Numbers in a state of one direction."""
        return self._num_units

    @property
    def input_mode(self) -> str:
        """How the first layer takes its inputs."""
        return self._input_mode

    @property
    def direction(self) -> str:
        """One or both directions."""
        return self._direction

    @property
    def num_dirs(self) -> int:
        """1 or 2."""
        return _DIRECTIONS.index(self._direction) + 1

    @property
    def saveable(self) -> None:
        """Nothing: the variables are saved as they are."""
        return

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        """The shapes of the parts of a state: ``[layers * directions, batch, units]``."""
        return ([self._num_layers * self.num_dirs, batch_size, self._num_units],)

    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        sequence_lengths: Any = None,
        time_major: bool = True,
        training: bool = True,
    ) -> tuple[Any, tuple[Any, ...]]:
        """Runs the layers.

        Args:
          inputs: ``[time, batch, size]``, or ``[batch, time, size]`` where not ``time_major``.
          initial_state: A tuple of ``[layers * directions, batch, units]``; zeros by default.
          sequence_lengths: ``[batch]`` integers.
          time_major: Whether the time comes first.
          training: Whether there is dropout.

        Returns:
          The outputs of the last layer, and the tuple of the parts of the final state.

        Raises:
          TypeError: If the initial state is not a tuple.
        """
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise BadTypeError(
                "TPU103", f"Invalid initial_state type: {initial_state}, expecting tuple."
            )
        inputs = tf.convert_to_tensor(inputs, dtype=self.dtype)
        if initial_state is None:
            batch = tf.shape(inputs)[1 if time_major else 0]
            initial_state = tuple(
                tf.zeros(tf.stack(shape), self.dtype) for shape in self.state_shape(batch)
            )
        parts = [tf.unstack(part, self._num_layers * self.num_dirs) for part in initial_state]
        states = [self._joined(state) for state in zip(*parts)]
        options = {
            "sequence_length": sequence_lengths,
            "time_major": time_major,
            "dtype": self.dtype,
        }
        cells = [
            [self._with_dropout(cell, number, training) for number, cell in enumerate(direction)]
            for direction in self._cells
        ]
        if self.num_dirs == 1:
            outputs, final = tf.nn.dynamic_rnn(
                tf.nn.rnn_cell.MultiRNNCell(cells[0]),
                inputs,
                initial_state=tuple(states),
                **options,
            )
            return outputs, self._parted(final)
        outputs, forward, backward = stack_bidirectional_dynamic_rnn(
            cells[0],
            cells[1],
            inputs,
            initial_states_fw=states[0::2],
            initial_states_bw=states[1::2],
            **options,
        )
        return outputs, self._parted([s for pair in zip(forward, backward) for s in pair])

    def _with_dropout(self, cell: Any, number: int, training: bool) -> Any:
        if not training or not self._dropout or number == self._num_layers - 1:
            return cell
        return tf.nn.rnn_cell.DropoutWrapper(
            cell, output_keep_prob=1 - self._dropout, seed=self._seed
        )

    def _joined(self, parts: Any) -> Any:
        """The state of one cell from its part of each tensor."""
        return parts[0]

    def _parted(self, states: Any) -> tuple[Any, ...]:
        """The tensors of a state from the states of all cells."""
        return (tf.stack(states),)

    # Initial weights: cuDNN's are one matrix for each gate and source
    # --------------------------------

    def _kernel(self, gates: int, recurrent: bool = True) -> Any:
        """An initializer for a kernel that joins inputs and state by rows, and gates by columns."""

        def initializer(shape: Any, dtype: Any = tf.float32, partition_info: Any = None) -> Any:
            rows, columns = (int(size) for size in shape)
            units = columns // gates
            sources = [rows - units, units] if recurrent else [rows]
            blocks = [
                [tf.transpose(self._initial([units, source], dtype)) for _ in range(gates)]
                for source in sources
            ]
            return tf.concat([tf.concat(row, 1) for row in blocks], 0)

        return initializer

    def _initial(self, shape: list[int], dtype: Any) -> Any:
        return self._kernel_initializer(shape, dtype=dtype)

    def _bias(self, shape: Any, dtype: Any = tf.float32, partition_info: Any = None) -> Any:
        """The sum of a gate's two biases."""
        first, second = (self._bias_initializer(shape, dtype=dtype) for _ in range(2))
        return first + second


class CudnnLSTM(_CudnnRNN):
    """Layers of :class:`CudnnCompatibleLSTMCell`; the state is (outputs, cell states)."""

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        """The shapes of outputs and cell states."""
        return super().state_shape(batch_size) * 2

    def _cell(self) -> Any:
        cell = CudnnCompatibleLSTMCell(self._num_units)
        cell.kernel_initializer, cell.bias_initializer = self._kernel(4), self._bias
        return cell

    def _joined(self, parts: Any) -> Any:
        output, cell = parts
        return LSTMStateTuple(cell, output)

    def _parted(self, states: Any) -> tuple[Any, ...]:
        return tf.stack([state.h for state in states]), tf.stack([state.c for state in states])


class CudnnGRU(_CudnnRNN):
    """Layers of :class:`CudnnCompatibleGRUCell`; the state is (outputs,)."""

    def _cell(self) -> Any:
        gates, one = self._kernel(2), self._kernel(1, recurrent=False)

        def kernel(shape: Any, dtype: Any = tf.float32, partition_info: Any = None) -> Any:
            return (gates if int(shape[1]) > self._num_units else one)(shape, dtype)

        cell = CudnnCompatibleGRUCell(self._num_units, kernel_initializer=kernel)
        cell._bias_initializer = self._bias
        return cell


class _CudnnPlainRNN(_CudnnRNN):
    _activation: Any = None

    def _cell(self) -> Any:
        cell = _PlainCell(self._num_units, type(self)._activation)
        cell.kernel_initializer, cell.bias_initializer = self._kernel(1), self._bias
        return cell


class CudnnRNNTanh(_CudnnPlainRNN):
    """Layers of plain cells with tanh; the state is (outputs,)."""

    _activation = tf.tanh


class CudnnRNNRelu(_CudnnPlainRNN):
    """Layers of plain cells with relu; the state is (outputs,)."""

    _activation = tf.nn.relu


class _PlainCell(tf.nn.rnn_cell.BasicRNNCell):
    """A plain cell with initializers of its own."""

    kernel_initializer: Any = None
    bias_initializer: Any = None

    def __init__(self, num_units: int, activation: Any) -> None:
        super().__init__(num_units, activation=activation, name="cudnn_compatible_rnn_cell")

    def build(self, inputs_shape: Any) -> None:
        """Makes kernel and bias."""
        size, units = tf.TensorShape(inputs_shape).as_list()[1], self._num_units
        shape = [size + units, units]
        self._kernel = self.add_weight("kernel", shape, initializer=self.kernel_initializer)
        self._bias = self.add_weight("bias", [units], initializer=self.bias_initializer)
        self.built = True
