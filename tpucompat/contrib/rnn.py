"""``tf.contrib.rnn``: fused layers, wrappers and stacks around TensorFlow's own cells.

Behaviour and variable names follow tensorflow/contrib/rnn/python/ops of TensorFlow 1.15.
"""

from __future__ import annotations

import math
from typing import Any, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.contrib.rnn_cells import projected

_RNNCell: Any = tf.nn.rnn_cell.RNNCell


# Stacks (rnn.py)
# -----------------------------------------------------------------------------------


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
    """``[time, batch, ...]`` to ``[batch, time, ...]`` and the reverse; a vector is unchanged.

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


# Fused layers (fused_rnn_cell.py, lstm_ops.py)
# -------------------------------------------------------


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


# Wrappers (core_rnn_cell.py)
# ----------------------------------------------------------------------------------


class EmbeddingWrapper(_RNNCell):
    """A cell of words: their embeddings, a variable of this layer, are what the cell gets.

    Args:
      cell: A cell.
      embedding_classes: Words.
      embedding_size: Numbers in an embedding.
      initializer: Of the embedding; the scope's, or uniform with a variance of 1.
      reuse: Whether the variables exist.

    Raises:
      ValueError: If a number is not positive.
    """

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise BadValueError(
                "TPU103",
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}.",
            )
        self._cell = cell
        self._shape = [embedding_classes, embedding_size]
        self._initializer = initializer

    @property
    def state_size(self) -> Any:
        """That of the cell."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """That of the cell."""
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """That of the cell."""
        return self._cell.zero_state(batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> Any:
        """A step of the cell for words ``[batch]`` or ``[batch, 1]``."""
        uniform = tf.random_uniform_initializer(-math.sqrt(3), math.sqrt(3))
        embedding = tf.get_variable(
            "embedding",
            self._shape,
            tf.nest.flatten(state)[0].dtype,
            initializer=self._initializer or tf.get_variable_scope().initializer or uniform,
        )
        return self._cell(tf.nn.embedding_lookup(embedding, tf.reshape(inputs, [-1])), state)


class _Projecting(_RNNCell):
    """A cell with a layer before or behind it, whose variables are this layer's own."""

    def __init__(self, cell: Any, size: int, activation: Any, reuse: bool | None) -> None:
        super().__init__(_reuse=reuse)
        if size < 1:
            raise BadValueError("TPU103", f"The size of a projection must be > 0: {size}.")
        self._cell, self._size, self._activation = cell, size, activation

    @property
    def state_size(self) -> Any:
        """That of the cell."""
        return self._cell.state_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """That of the cell."""
        return self._cell.zero_state(batch_size, dtype)

    def _project(self, value: Any) -> Any:
        result = projected(value, self._size)
        return self._activation(result) if self._activation else result


class InputProjectionWrapper(_Projecting):
    """A cell whose inputs go through a layer of ``num_proj`` units."""

    def __init__(
        self,
        cell: Any,
        num_proj: int,
        activation: Any = None,
        input_size: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, num_proj, activation, reuse)

    @property
    def output_size(self) -> Any:
        """That of the cell."""
        return self._cell.output_size

    def call(self, inputs: Any, state: Any) -> Any:
        """A step of the cell."""
        return self._cell(self._project(inputs), state)


class OutputProjectionWrapper(_Projecting):
    """A cell whose outputs go through a layer of ``output_size`` units."""

    def __init__(
        self, cell: Any, output_size: int, activation: Any = None, reuse: bool | None = None
    ) -> None:
        super().__init__(cell, output_size, activation, reuse)

    @property
    def output_size(self) -> Any:
        """The units of the layer."""
        return self._size

    def call(self, inputs: Any, state: Any) -> Any:
        """A step of the cell, and the layer."""
        output, state = self._cell(inputs, state)
        return self._project(output), state
