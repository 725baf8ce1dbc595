"""``tf.contrib.rnn``: networks that take all steps at once, and LSTMs whose steps are one operation.

Results and variable names follow tensorflow/contrib/rnn/python/ops/{fused_rnn_cell,lstm_ops}.py of TensorFlow
1.15. ``BlockLSTM`` has no kernel for TPUs, there as here.
"""

from __future__ import annotations

import abc
from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError

_LSTMStateTuple: Any = tf.nn.rnn_cell.LSTMStateTuple


class FusedRNNCell(abc.ABC):
    """A network over all steps: ``[time, batch, size]``, or a list of ``[batch, size]``."""

    @abc.abstractmethod
    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """The outputs, in the form of the inputs, and the final state."""


class FusedRNNCellAdaptor(FusedRNNCell):
    """A cell of one step as a network over all.

    Args:
      cell: A cell.
      use_dynamic_rnn: Whether the steps are a loop of the graph, and not written out.
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
        """The outputs, in the form of the inputs, and the final state."""
        listed = isinstance(inputs, list)
        options = {
            "initial_state": initial_state,
            "dtype": dtype,
            "sequence_length": sequence_length,
            "scope": scope,
        }
        if self._use_dynamic_rnn:
            steps = tf.stack(inputs) if listed else inputs
            outputs, state = tf.nn.dynamic_rnn(self._cell, steps, time_major=True, **options)
            return (tf.unstack(outputs) if listed else outputs), state
        outputs, state = tf.nn.static_rnn(
            self._cell, inputs if listed else tf.unstack(inputs), **options
        )
        return (outputs if listed else tf.stack(outputs)), state


class TimeReversedFusedRNN(FusedRNNCell):
    """A network that begins at the last step, or at the last one of each sequence.

    Args:
      cell: A network over all steps.
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """The outputs, in the order of the inputs, and the state after the first step."""
        outputs, state = self._cell(
            _reversed(inputs, sequence_length),
            initial_state=initial_state,
            dtype=dtype,
            sequence_length=sequence_length,
            scope=scope,
        )
        return _reversed(outputs, sequence_length), state


def _reversed(steps: Any, lengths: Any) -> Any:
    if isinstance(steps, list):  # a list is reversed as a whole, whatever the lengths
        return steps[::-1]
    if lengths is None:
        return tf.reverse(steps, [0])
    return tf.reverse_sequence(steps, lengths, seq_axis=0, batch_axis=1)


class LSTMBlockWrapper(tf.layers.Layer):
    """The states, masks and forms of an LSTM over all steps; its classes have the computation.

    A class of it has ``num_units`` and ``_call_cell(inputs, initial_cell_state, initial_output, dtype,
    sequence_length)``, which gives the cell states and the outputs of all steps.
    """

    @property
    @abc.abstractmethod
    def num_units(self) -> int:
        """Numbers in an output."""

    @abc.abstractmethod
    def _call_cell(
        self,
        inputs: Any,
        initial_cell_state: Any,
        initial_output: Any,
        dtype: Any,
        sequence_length: Any,
    ) -> tuple[Any, Any]:
        """Cell states and outputs, each ``[time, batch, num_units]``."""

    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
    ) -> tuple[Any, Any]:
        """Runs all steps.

        Args:
          inputs: ``[time, batch, size]``, or a list of ``[batch, size]``.
          initial_state: The cell state and the output before the first step; zeros without it.
          dtype: Of the zeros.
          sequence_length: ``[batch]`` integers; outputs behind a sequence are zeros.

        Returns:
          The outputs in the form of the inputs, and the last state of each sequence, an ``LSTMStateTuple``.

        Raises:
          ValueError: If the size is unknown, or neither the state nor the dtype is given.
        """
        listed = isinstance(inputs, list)
        steps = tf.stack(inputs) if listed else inputs
        static = steps.shape.with_rank(3).as_list()
        if not static[2]:
            raise BadValueError("TPU103", f"Expecting inputs_shape[2] to be set: {steps.shape}")
        time, batch = (
            tf.shape(steps)[axis] if static[axis] is None else static[axis] for axis in (0, 1)
        )
        state, output, dtype = self._start(initial_state, batch, dtype)
        lengths = None if sequence_length is None else tf.convert_to_tensor(sequence_length)
        states, outputs = self._call_cell(steps, state, output, dtype, lengths)
        if lengths is None:
            last = _LSTMStateTuple(states[-1], outputs[-1])
        else:
            mask = tf.transpose(tf.sequence_mask(lengths, time, dtype=dtype))
            outputs *= tf.expand_dims(mask, -1)
            last = _LSTMStateTuple(
                _at(lengths, state, states, batch), _at(lengths, output, outputs, batch)
            )
        return (tf.unstack(outputs) if listed else outputs), last

    def _start(self, initial_state: Any, batch: Any, dtype: Any) -> tuple[Any, Any, Any]:
        if initial_state is None:
            if dtype is None:
                raise BadValueError("TPU103", "Either initial_state or dtype needs to be specified")
            zeros = tf.zeros(tf.stack([batch, self.num_units]), dtype=dtype)
            return zeros, zeros, dtype
        if len(initial_state) != 2:
            raise BadValueError(
                "TPU103", "Expecting initial_state to be a tuple with length 2 or None"
            )
        state, output = initial_state
        return state, output, state.dtype if dtype is None else dtype


def _at(lengths: Any, first: Any, steps: Any, batch: Any) -> Any:
    """The row of each sequence behind its last step: the initial one where it has none."""
    rows = tf.concat([tf.expand_dims(first, 0), steps], 0)
    return tf.gather_nd(rows, tf.stack([lengths, tf.range(batch, dtype=lengths.dtype)], axis=1))


class LSTMBlockFusedCell(LSTMBlockWrapper):
    """An LSTM over all steps in one operation.

    Args:
      num_units: Numbers in an output.
      forget_bias: Added to the forget gate's input.
      cell_clip: Cell states are clipped to it; not at all without it.
      use_peephole: Whether gates see the cell state.
      reuse: Whether the variables exist.
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
        # What the operation takes as it is.
        self._attributes: dict[str, Any] = {
            "use_peephole": use_peephole,
            "cell_clip": -1 if cell_clip is None else cell_clip,
            "forget_bias": forget_bias,
        }

    @property
    def num_units(self) -> int:
        """Numbers in an output."""
        return self._num_units

    def build(self, input_shape: Any) -> None:
        """Makes the variables "kernel" and "bias", and those of the peepholes."""
        units, inputs = self._num_units, tf.TensorShape(input_shape).as_list()[2]
        self._kernel = self.add_weight("kernel", [inputs + units, units * 4])
        self._bias = self.add_weight("bias", [units * 4], initializer=tf.constant_initializer(0.0))
        names = ("w_i_diag", "w_f_diag", "w_o_diag") if self._attributes["use_peephole"] else ()
        self._peepholes = [self.add_weight(name, [units]) for name in names]
        self.built = True

    def _call_cell(
        self,
        inputs: Any,
        initial_cell_state: Any,
        initial_output: Any,
        dtype: Any,
        sequence_length: Any,
    ) -> tuple[Any, Any]:
        steps = tf.shape(inputs)[0] if sequence_length is None else tf.reduce_max(sequence_length)
        zeros = tf.zeros([self._num_units], dtype)
        wci, wcf, wco = self._peepholes or (zeros, zeros, zeros)
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
            **self._attributes,
        )
        return result.cs, result.h
