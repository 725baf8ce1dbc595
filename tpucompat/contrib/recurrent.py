"""``tf.contrib.recurrent``: recurrent networks for TPUs, on ``tf.nn.dynamic_rnn``.

TensorFlow 1.15 (tensorflow/contrib/recurrent/python/ops/functional_rnn.py) built them from
functions, because its loops had no gradient on a TPU. Outputs, states and variable names are the
same.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.contrib import nest


def functional_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    time_major: bool = False,
    scope: Any = None,
    use_tpu: bool = False,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """A recurrent network over sequences.

    Args:
      cell: The cell.
      inputs: ``[batch, time, size]``, or ``[time, batch, size]`` where ``time_major``.
      sequence_length: ``[batch]`` integers; outputs beyond are zero.
      initial_state: Zeros of ``dtype`` by default.
      dtype: Of the initial state.
      time_major: Whether the time comes first.
      scope: "rnn" by default.
      use_tpu: Ignored.
      reverse: Whether time runs backwards; padding then comes first.

    Returns:
      The outputs and the final state.
    """
    if not reverse:
        return tf.nn.dynamic_rnn(
            cell,
            inputs,
            sequence_length=sequence_length,
            initial_state=initial_state,
            dtype=dtype,
            time_major=time_major,
            scope=scope or "rnn",
        )
    axis = 0 if time_major else 1
    backwards = nest.map_structure(lambda t: tf.reverse(t, [axis]), inputs)
    outputs, state = tf.nn.dynamic_rnn(
        cell,
        backwards,
        initial_state=initial_state,
        dtype=dtype,
        time_major=time_major,
        scope=scope or "rnn",
    )
    outputs = tf.reverse(outputs, [axis])
    if sequence_length is not None:
        mask = tf.sequence_mask(sequence_length, tf.shape(outputs)[axis], dtype=outputs.dtype)
        outputs *= (tf.transpose(mask) if time_major else mask)[:, :, None]
    return outputs, state


def bidirectional_functional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    time_major: bool = False,
    use_tpu: bool = False,
    fast_reverse: bool = False,
    scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Two recurrent networks, one of them backwards in time.

    Args:
      cell_fw: The forward cell.
      cell_bw: The backward cell.
      inputs: As for :func:`functional_rnn`.
      initial_state_fw: Of the forward cell.
      initial_state_bw: Of the backward cell.
      dtype: Of the initial states.
      sequence_length: ``[batch]`` integers.
      time_major: Whether the time comes first.
      use_tpu: Ignored.
      fast_reverse: Whether the backward cell sees the padding first, instead of none of it.
      scope: "bidirectional_rnn" by default.

    Returns:
      Both outputs, and both final states.
    """
    axis = 0 if time_major else 1
    common = {"sequence_length": sequence_length, "dtype": dtype, "time_major": time_major}

    def turned(tensor: Any) -> Any:
        if sequence_length is None:
            return tf.reverse(tensor, [axis])
        return tf.reverse_sequence(tensor, sequence_length, seq_axis=axis, batch_axis=1 - axis)

    with tf.variable_scope(scope or "bidirectional_rnn"):
        with tf.variable_scope("fw") as fw:
            forward, state_fw = functional_rnn(
                cell_fw, inputs, initial_state=initial_state_fw, scope=fw, **common
            )
        with tf.variable_scope("bw") as bw:
            backward, state_bw = functional_rnn(
                cell_bw,
                inputs if fast_reverse else turned(inputs),
                initial_state=initial_state_bw,
                scope=bw,
                reverse=fast_reverse,
                **common,
            )
    return (forward, backward if fast_reverse else turned(backward)), (state_fw, state_bw)
