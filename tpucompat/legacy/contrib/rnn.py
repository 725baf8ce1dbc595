"""``tf.contrib.rnn``: fused layers, wrappers and stacks around TensorFlow's own cells.

Behaviour and variable names follow tensorflow/contrib/rnn/python/ops of TensorFlow 1.15. The cells
proper are in :mod:`tpucompat.legacy.contrib.rnn_cells`.
"""

from __future__ import annotations

import abc
import math
from typing import Any, Sequence

import tensorflow.compat.v1 as tf

from tpucompat import private
from tpucompat.errors import BadTypeError, BadValueError
from tpucompat.legacy.contrib import nest
from tpucompat.legacy.contrib.rnn_cells import LSTMStateTuple, projected

_RNNCell: Any = tf.nn.rnn_cell.RNNCell


# Stacks (rnn.py)
# -----------------------------------------------------------------------------------


def stack_bidirectional_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: Sequence[Any],
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Layers of bidirectional networks, unrolled; each layer gets both outputs of the one below.

    Args:
      cells_fw: Forward cells, one for each layer.
      cells_bw: Backward cells.
      inputs: A list of ``[batch, size]``, one for each time step.
      initial_states_fw: Initial states of the forward cells.
      initial_states_bw: Those of the backward cells.
      dtype: Of the initial states where they are not given.
      sequence_length: ``[batch]`` integers.
      scope: "stack_bidirectional_rnn" by default.

    Returns:
      The outputs of the last layer, and the final states of the forward and of the backward cells.

    Raises:
      ValueError: If the lists of cells or states do not match.
    """
    _check_stack(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw = [], []
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw)):
            with tf.variable_scope(f"cell_{number}") as cell_scope:
                inputs, state_fw, state_bw = tf.nn.static_bidirectional_rnn(
                    cell_fw,
                    cell_bw,
                    inputs,
                    initial_state_fw=initial_states_fw[number] if initial_states_fw else None,
                    initial_state_bw=initial_states_bw[number] if initial_states_bw else None,
                    sequence_length=sequence_length,
                    dtype=dtype,
                    scope=cell_scope,
                )
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return inputs, tuple(states_fw), tuple(states_bw)


def stack_bidirectional_dynamic_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: Any,
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Layers of bidirectional networks in loops; each layer gets both outputs of the one below.

    Args:
      cells_fw: Forward cells, one for each layer.
      cells_bw: Backward cells.
      inputs: ``[batch, time, size]``, or ``[time, batch, size]`` where ``time_major``.
      initial_states_fw: Initial states of the forward cells.
      initial_states_bw: Those of the backward cells.
      dtype: Of the initial states where they are not given.
      sequence_length: ``[batch]`` integers.
      parallel_iterations: Of the loops.
      time_major: Whether the time comes first.
      scope: "stack_bidirectional_rnn" by default.
      swap_memory: Of the loops.

    Returns:
      The outputs of the last layer, and the final states of the forward and of the backward cells.

    Raises:
      ValueError: If the lists of cells or states do not match.
    """
    _check_stack(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw = [], []
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw)):
            with tf.variable_scope(f"cell_{number}"):
                outputs, (state_fw, state_bw) = tf.nn.bidirectional_dynamic_rnn(
                    cell_fw,
                    cell_bw,
                    inputs,
                    initial_state_fw=initial_states_fw[number] if initial_states_fw else None,
                    initial_state_bw=initial_states_bw[number] if initial_states_bw else None,
                    sequence_length=sequence_length,
                    parallel_iterations=parallel_iterations,
                    dtype=dtype,
                    swap_memory=swap_memory,
                    time_major=time_major,
                )
                inputs = tf.concat(outputs, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return inputs, tuple(states_fw), tuple(states_bw)


def _check_stack(cells_fw: Any, cells_bw: Any, states_fw: Any, states_bw: Any) -> None:
    for name, cells in (("fw", cells_fw), ("bw", cells_bw)):
        if not cells:
            raise BadValueError(
                "TPU103", f"Must specify at least one {name} cell for BidirectionalRNN."
            )
        if not isinstance(cells, list):
            raise BadValueError(
                "TPU103", f"cells_{name} must be a list of RNNCells (one per layer)."
            )
    if len(cells_fw) != len(cells_bw):
        raise BadValueError("TPU103", "Forward and Backward cells must have the same depth.")
    for name, states in (("fw", states_fw), ("bw", states_bw)):
        if states is not None and (not isinstance(states, list) or len(states) != len(cells_fw)):
            raise BadValueError(
                "TPU103",
                f"initial_states_{name} must be a list of state tensors (one per layer).",
            )


def transpose_batch_time(x: Any) -> Any:
    """``[time, batch, ...]`` to ``[batch, time, ...]`` and the reverse; a vector stays as it is.

    Args:
      x: A tensor.

    Returns:
      A tensor.
    """
    static = x.shape
    if static.rank is not None and static.rank < 2:
        return x
    transposed = tf.transpose(x, tf.concat([[1, 0], tf.range(2, tf.rank(x))], axis=0))
    if static.rank is not None:
        sizes = static.as_list()
        transposed.set_shape([sizes[1], sizes[0], *sizes[2:]])
    return transposed


def best_effort_input_batch_size(flat_input: Sequence[Any]) -> Any:
    """The batch size of time-major inputs, static where one of them knows it.

    Args:
      flat_input: Tensors ``[time, batch, ...]``.

    Returns:
      An integer or a scalar tensor.
    """
    for tensor in flat_input:
        if tensor.shape.rank is not None and tensor.shape.rank >= 2:
            size = tensor.shape.as_list()[1]
            if size is not None:
                return size
    return tf.shape(flat_input[0])[1]


# Fused layers (fused_rnn_cell.py, lstm_ops.py)
# -------------------------------------------------------


class FusedRNNCell(abc.ABC):
    """A whole recurrent layer as one callable; inputs are time-major."""

    @abc.abstractmethod
    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Runs the layer: ``[time, batch, size]`` or a list of ``[batch, size]``.

        Args:
          inputs: The inputs.
          initial_state: Zeros of ``dtype`` by default.
          dtype: Of the initial state.
          sequence_length: ``[batch]`` integers.
          scope: For the layer's variables.

        Returns:
          The outputs, as the inputs are given, and the final state.
        """


class FusedRNNCellAdaptor(FusedRNNCell):
    """A cell made into a layer, by ``static_rnn`` or by ``dynamic_rnn``.

    Args:
      cell: The cell.
      use_dynamic_rnn: Whether the layer is a loop.
    """

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell = cell
        self._use_dynamic_rnn = use_dynamic_rnn

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Runs the layer; see :meth:`FusedRNNCell.__call__`."""
        is_list = isinstance(inputs, list)
        options = {
            "sequence_length": sequence_length,
            "initial_state": initial_state,
            "dtype": dtype,
            "scope": scope,
        }
        if self._use_dynamic_rnn:
            stacked = tf.stack(inputs) if is_list else inputs
            outputs, state = tf.nn.dynamic_rnn(self._cell, stacked, time_major=True, **options)
            return (tf.unstack(outputs) if is_list else outputs), state
        steps = inputs if is_list else tf.unstack(inputs)
        outputs, state = tf.nn.static_rnn(self._cell, steps, **options)
        return (outputs if is_list else tf.stack(outputs)), state


class TimeReversedFusedRNN(FusedRNNCell):
    """A layer that runs from the last time step to the first.

    Args:
      cell: A layer.
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    @staticmethod
    def _reverse(sequence: Any, lengths: Any) -> Any:
        if isinstance(sequence, list):
            return sequence[::-1]
        if lengths is None:
            return tf.reverse(sequence, [0])
        return tf.reverse_sequence(sequence, lengths, seq_axis=0, batch_axis=1)

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Runs the layer; see :meth:`FusedRNNCell.__call__`."""
        outputs, state = self._cell(
            self._reverse(inputs, sequence_length),
            initial_state=initial_state,
            dtype=dtype,
            sequence_length=sequence_length,
            scope=scope,
        )
        return self._reverse(outputs, sequence_length), state


class LSTMBlockWrapper(tf.layers.Layer):
    """A time-major LSTM layer whose steps a subclass computes in one operation."""

    @property
    @abc.abstractmethod
    def num_units(self) -> int:
        """Numbers in a state and in an output."""

    @abc.abstractmethod
    def _call_cell(
        self,
        inputs: Any,
        initial_cell_state: Any,
        initial_output: Any,
        dtype: Any,
        sequence_length: Any,
    ) -> tuple[Any, Any]:
        """Computes all steps: cell states and outputs, each ``[time, batch, num_units]``."""

    def call(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None
    ) -> tuple[Any, Any]:
        """Runs the layer.

        Args:
          inputs: ``[time, batch, size]`` or a list of ``[batch, size]``.
          initial_state: (cell state, output), zeros of ``dtype`` by default.
          dtype: Of the initial state.
          sequence_length: ``[batch]`` integers.

        Returns:
          The outputs, as the inputs are given, and the final LSTMStateTuple.

        Raises:
          ValueError: If neither the state nor its type is given.
        """
        is_list = isinstance(inputs, list)
        inputs = tf.stack(inputs) if is_list else inputs
        batch = inputs.shape.as_list()[1]
        batch = tf.shape(inputs)[1] if batch is None else batch
        if initial_state is None:
            if dtype is None:
                raise BadValueError("TPU103", "Either initial_state or dtype needs to be specified")
            zeros = tf.zeros(tf.stack([batch, self.num_units]), dtype)
            initial_state = zeros, zeros
        elif len(initial_state) != 2:
            raise BadValueError(
                "TPU103", "Expecting initial_state to be a tuple with length 2 or None"
            )
        dtype = dtype or initial_state[0].dtype
        lengths = None if sequence_length is None else tf.convert_to_tensor(sequence_length)
        cell, output = initial_state
        states, outputs = self._call_cell(inputs, cell, output, dtype, lengths)
        if lengths is None:
            final = LSTMStateTuple(states[-1], outputs[-1])
        else:
            mask = tf.sequence_mask(lengths, tf.shape(inputs)[0], dtype=dtype)
            outputs *= tf.transpose(mask)[:, :, None]
            where = tf.stack([lengths, tf.range(batch, dtype=lengths.dtype)], axis=1)
            final = LSTMStateTuple(
                *(
                    tf.gather_nd(tf.concat([first[None], rest], 0), where)
                    for first, rest in zip(initial_state, (states, outputs))
                )
            )
        return (tf.unstack(outputs) if is_list else outputs), final


class LSTMBlockFusedCell(LSTMBlockWrapper):
    """An LSTM layer in one operation, with the variables of :class:`LSTMBlockCell`.

    Args:
      num_units: Numbers in a state.
      forget_bias: Added to the forget gate's input.
      cell_clip: Cell states are clipped to it.
      use_peephole: Whether gates see the cell state.
      reuse: Whether variables are reused.
      dtype: Of the variables.
      name: Of the layer.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: bool | None = None,
        dtype: Any = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._cell_clip = -1 if cell_clip is None else cell_clip
        self._use_peephole = use_peephole

    @property
    def num_units(self) -> int:
        """Numbers in a state."""
        return self._num_units

    def build(self, input_shape: Any) -> None:
        """Makes the variables: kernel, bias and, with peepholes, three diagonals."""
        size, units = tf.TensorShape(input_shape).as_list()[2], self._num_units
        self._kernel = self.add_weight("kernel", [size + units, 4 * units])
        self._bias = self.add_weight("bias", [4 * units], initializer=tf.zeros_initializer())
        self._diagonals = [
            self.add_weight(name, [units]) if self._use_peephole else None
            for name in ("w_i_diag", "w_f_diag", "w_o_diag")
        ]
        self.built = True

    def _call_cell(
        self,
        inputs: Any,
        initial_cell_state: Any,
        initial_output: Any,
        dtype: Any,
        sequence_length: Any,
    ) -> tuple[Any, Any]:
        none = tf.zeros([self._num_units], dtype)
        wci, wcf, wco = (none if d is None else d for d in self._diagonals)
        steps = tf.shape(inputs)[0] if sequence_length is None else tf.reduce_max(sequence_length)
        result = tf.raw_ops.BlockLSTM(
            seq_len_max=tf.cast(steps, tf.int64),
            x=inputs,
            cs_prev=initial_cell_state,
            h_prev=initial_output,
            w=self._kernel,
            wci=wci,
            wcf=wcf,
            wco=wco,
            b=self._bias,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
        )
        return result.cs, result.h


def block_lstm(
    seq_len_max: Any,
    x: Sequence[Any],
    w: Any,
    b: Any,
    cs_prev: Any = None,
    h_prev: Any = None,
    wci: Any = None,
    wcf: Any = None,
    wco: Any = None,
    forget_bias: float | None = None,
    cell_clip: float | None = None,
    use_peephole: bool | None = None,
    name: str | None = None,
) -> tuple[list[Any], ...]:
    """``lstm_ops._block_lstm``: an LSTM's steps in one operation, with all that it computes.

    Args:
      seq_len_max: An int64, the number of steps that are computed.
      x: The steps, each ``[batch, inputs]``.
      w: ``[inputs + units, 4 * units]``.
      b: ``[4 * units]``.
      cs_prev: The initial cell state, ``[batch, units]``; zeros without it.
      h_prev: The initial output, ``[batch, units]``; zeros without it.
      wci: ``[units]``, the input gate's weights of the cell state; zeros without it, as for the next two.
      wcf: The forget gate's.
      wco: The output gate's.
      forget_bias: Added to the forget gate's input; 1 without it.
      cell_clip: Cell states are clipped to it; not at all without it.
      use_peephole: Whether gates see the cell state.
      name: Of the operation.

    Returns:
      Input gates, cell states, forget gates, output gates, cell inputs, cells and outputs, each a list of the
      steps' ``[batch, units]``.

    Raises:
      ValueError: If the size of ``b`` is not known.
    """
    size = tf.TensorShape(b.shape).as_list()[0]
    if size is None:
        raise BadValueError("TPU103", "`b` shape must not be None.")
    dtype, batch = x[0].dtype, tf.TensorShape(x[0].shape).as_list()[0]

    def otherwise_zeros(value: Any, *shape: Any) -> Any:
        return tf.zeros(shape, dtype) if value is None else value

    result = tf.raw_ops.BlockLSTM(
        seq_len_max=seq_len_max,
        x=tf.stack(x),
        cs_prev=otherwise_zeros(cs_prev, batch, size // 4),
        h_prev=otherwise_zeros(h_prev, batch, size // 4),
        w=w,
        wci=otherwise_zeros(wci, size // 4),
        wcf=otherwise_zeros(wcf, size // 4),
        wco=otherwise_zeros(wco, size // 4),
        b=b,
        forget_bias=1 if forget_bias is None else forget_bias,
        cell_clip=-1 if cell_clip is None else cell_clip,
        use_peephole=bool(use_peephole),
        name=name,
    )
    return tuple(tf.unstack(each) for each in result)


# Wrappers (core_rnn_cell.py, rnn_cell.py)
# -------------------------------------------------------------


class _Wrapper(_RNNCell):
    """A cell around another one, with its sizes and states."""

    def __init__(self, cell: Any, reuse: bool | None = None) -> None:
        super().__init__(_reuse=reuse)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        """The wrapped cell's."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """The wrapped cell's, where the wrapper does not change it."""
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The wrapped cell's."""
        with tf.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)


class EmbeddingWrapper(_Wrapper):
    """Embeds integer inputs before the cell.

    Args:
      cell: The cell.
      embedding_classes: Rows of the matrix "embedding".
      embedding_size: Its columns.
      initializer: Of the matrix; the scope's, else uniform in ±√3.
      reuse: Whether variables are reused.

    Raises:
      ValueError: If a size is not positive.
    """

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise BadValueError(
                "TPU103",
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}.",
            )
        self._shape = [embedding_classes, embedding_size]
        self._initializer = initializer

    def call(self, inputs: Any, state: Any) -> Any:
        """One step of the cell."""
        initializer = self._initializer or tf.get_variable_scope().initializer
        if not initializer:
            initializer = tf.random_uniform_initializer(-math.sqrt(3), math.sqrt(3))
        dtype = (state[0] if isinstance(state, tuple) else state).dtype
        with tf.device("/cpu:0"):
            table = tf.get_variable("embedding", self._shape, initializer=initializer, dtype=dtype)
            embedded = tf.nn.embedding_lookup(table, tf.reshape(inputs, [-1]))
        return self._cell(embedded, state)


class InputProjectionWrapper(_Wrapper):
    """Projects the inputs before the cell.

    Args:
      cell: The cell.
      num_proj: Numbers in a projected input.
      activation: Applied to it.
      input_size: Ignored.
      reuse: Whether variables are reused.
    """

    def __init__(
        self,
        cell: Any,
        num_proj: int,
        activation: Any = None,
        input_size: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._num_proj = num_proj
        self._activation = activation

    def call(self, inputs: Any, state: Any) -> Any:
        """One step of the cell."""
        narrow = projected(inputs, self._num_proj)
        return self._cell(self._activation(narrow) if self._activation else narrow, state)


class OutputProjectionWrapper(_Wrapper):
    """Projects the outputs after the cell.

    Args:
      cell: The cell.
      output_size: Numbers in a projected output.
      activation: Applied to it.
      reuse: Whether variables are reused.

    Raises:
      ValueError: If ``output_size`` is not positive.
    """

    def __init__(
        self, cell: Any, output_size: int, activation: Any = None, reuse: bool | None = None
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise BadValueError("TPU103", f"Parameter output_size must be > 0: {output_size}.")
        self._projected_size = output_size
        self._activation = activation

    @property
    def output_size(self) -> int:
        """Numbers in an output."""
        return self._projected_size

    def call(self, inputs: Any, state: Any) -> Any:
        """One step of the cell."""
        output, state = self._cell(inputs, state)
        result = projected(output, self._projected_size)
        return (self._activation(result) if self._activation else result), state


class HighwayWrapper(_Wrapper):
    """Mixes inputs and outputs of a cell of equal sizes by learned gates.

    Args:
      cell: The cell.
      couple_carry_transform_gates: Whether one gate serves both.
      carry_bias_init: Where the carry gate's bias starts.
    """

    def __init__(
        self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0
    ) -> None:
        # A function around a cell, not a layer: its variables are in the scope that it is called
        # in.
        self._cell = cell
        self._coupled = couple_carry_transform_gates
        self._carry_bias = carry_bias_init

    def _gate(self, name: str, inputs: Any, bias: float) -> Any:
        size = inputs.shape.as_list()[1]
        weights = tf.get_variable(name + "_w", [size, size])
        start = tf.constant_initializer(bias)
        biases = tf.get_variable(name + "_b", [size], initializer=start)
        return tf.sigmoid(tf.nn.xw_plus_b(inputs, weights, biases))

    def _highway(self, inputs: Any, outputs: Any) -> Any:
        inputs.shape.assert_is_compatible_with(outputs.shape)
        carry = self._gate("carry", inputs, self._carry_bias)
        if self._coupled:
            transform = 1 - carry
        else:
            transform = self._gate("transform", inputs, -self._carry_bias)
        return inputs * carry + outputs * transform

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """One step of the cell."""
        outputs, state = self._cell(inputs, state, scope=scope)
        nest.assert_same_structure(inputs, outputs)
        return nest.map_structure(self._highway, inputs, outputs), state


class AttentionCellWrapper(_Wrapper):
    """Lets a cell attend to its own last outputs (Bahdanau et al., 2014).

    Args:
      cell: The cell.
      attn_length: How many outputs are attended to.
      attn_size: Numbers in each; the cell's output size by default.
      attn_vec_size: Numbers in a hidden feature; ``attn_size`` by default.
      input_size: Numbers that the cell gets; as many as the wrapper gets by default.
      state_is_tuple: Whether the state is a tuple, or one concatenated tensor.
      reuse: Whether variables are reused.

    Raises:
      ValueError: If ``attn_length`` is not positive, or the cell's state is a tuple and ours is
        not.
    """

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if not hasattr(cell, "state_size"):
            raise BadTypeError("TPU103", f"The argument 'cell' ({cell!r}) is not an RNNCell.")
        if nest.is_sequence(cell.state_size) and not state_is_tuple:
            raise BadValueError(
                "TPU103",
                "Cell returns tuple of states, but the flag state_is_tuple is not set. "
                f"State size is: {cell.state_size}",
            )
        if attn_length <= 0:
            raise BadValueError(
                "TPU103", f"attn_length should be greater than zero, got {attn_length}"
            )
        self._attn_length = attn_length
        self._attn_size = attn_size or cell.output_size
        self._attn_vec_size = attn_vec_size or self._attn_size
        self._input_size = input_size
        self._state_is_tuple = state_is_tuple

    @property
    def _sizes(self) -> tuple[Any, int, int]:
        return self._cell.state_size, self._attn_size, self._attn_size * self._attn_length

    @property
    def state_size(self) -> Any:
        """The cell's state, the last attention, and the outputs attended to."""
        return self._sizes if self._state_is_tuple else sum(self._sizes)

    @property
    def output_size(self) -> int:
        """Numbers in an output."""
        return self._attn_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Zeros of all parts of the state."""
        return _RNNCell.zero_state(self, batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> Any:
        """One step of the cell."""
        if not self._state_is_tuple:
            state = tf.split(state, list(self._sizes), axis=1)
        state, attention, outputs = state
        outputs = tf.reshape(outputs, [-1, self._attn_length, self._attn_size])
        size = self._input_size or inputs.shape.as_list()[1]
        output, state = self._cell(projected([inputs, attention], size), state)
        query = tf.concat(nest.flatten(state), 1) if self._state_is_tuple else state
        attention = self._attend(query, outputs)
        with tf.variable_scope("attn_output_projection"):
            output = projected([output, attention], self._attn_size)
        outputs = tf.concat([outputs[:, 1:], output[:, None]], 1)
        parts = state, attention, tf.reshape(outputs, [-1, self._attn_length * self._attn_size])
        return output, (parts if self._state_is_tuple else tf.concat(parts, 1))

    def _attend(self, query: Any, outputs: Any) -> Any:
        with tf.variable_scope("attention"):
            kernel = tf.get_variable("attn_w", [1, 1, self._attn_size, self._attn_vec_size])
            vector = tf.get_variable("attn_v", [self._attn_vec_size])
            hidden = outputs[:, :, None, :]
            features = tf.nn.conv2d(hidden, kernel, [1, 1, 1, 1], "SAME")
            wanted = tf.reshape(
                projected(query, self._attn_vec_size), [-1, 1, 1, self._attn_vec_size]
            )
            scores = tf.reduce_sum(vector * tf.tanh(features + wanted), [2, 3])
            weights = tf.nn.softmax(scores)[:, :, None, None]
            return tf.reduce_sum(weights * hidden, [1, 2])


class CompiledWrapper(_Wrapper):
    """Compiles the steps of a cell by XLA.

    Args:
      cell: The cell.
      compile_stateful: Whether random operations and variables are compiled too.
    """

    def __init__(self, cell: Any, compile_stateful: bool = False) -> None:
        super().__init__(cell)
        self._compile_stateful = compile_stateful

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """One step of the cell."""

        def compiles(node: Any) -> bool:
            return self._compile_stateful or not private.op_def(node.op).is_stateful

        with tf.xla.experimental.jit_scope(compile_ops=compiles):
            return self._cell(inputs, state, scope=scope)
