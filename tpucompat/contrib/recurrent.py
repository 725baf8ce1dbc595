"""``tf.contrib.recurrent``: recurrent networks for TPUs, on ``tf.nn.dynamic_rnn`` and ``tf.scan``.

TensorFlow 1.15 (tensorflow/contrib/recurrent/python/ops/functional_rnn.py and recurrent.py) built them
from functions, because its loops had no gradient on a TPU. Outputs, states and variable names are the
same. So are gradients, but for ``aligned_end``, where 1.15 took zeros for ``state0`` in the gradient.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.contrib import nest


def Recurrent(
    theta: Any,
    state0: Any,
    inputs: Any,
    cell_fn: Any,
    cell_grad: Any = None,
    extras: Any = None,
    max_input_length: Any = None,
    use_tpu: bool = False,
    aligned_end: bool = False,
) -> tuple[Any, Any]:
    """The states of a cell that is a function, at each time.

    Args:
      theta: The weights: nested tensors.
      state0: The first state: nested tensors.
      inputs: Nested tensors whose first dimension is the time.
      cell_fn: Returns the next state and extras, from ``theta``, a state and the inputs of a time.
      cell_grad: Returns the gradients of ``theta``, state and inputs, from what ``cell_fn`` got, its
        extras and the gradients of the next state; by default those of what ``cell_fn`` computes.
      extras: Ignored; the shapes of the extras.
      max_input_length: How many times count; all by default. Beyond, accumulated states are zero.
      use_tpu: Ignored.
      aligned_end: Whether the last times count, and not the first.

    Returns:
      The states of all times in tensors whose first dimension is the time, and the final state.
    """
    times = nest.flatten(inputs)[0].shape[0]
    times = tf.shape(nest.flatten(inputs)[0])[0] if times is None else times
    step = _step(theta, cell_fn, cell_grad)
    if max_input_length is None:
        states = tf.scan(step, inputs, state0)
        return states, nest.map_structure(lambda one: one[-1], states)
    first = times - max_input_length if aligned_end else 0
    counts = tf.range(times)
    counts = (counts >= first) & (counts < first + max_input_length)

    def guarded(state: Any, row: Any) -> Any:
        now, row = row
        return nest.map_structure(
            lambda new, old: tf.where_v2(now, new, old), step(state, row), state
        )

    held = tf.scan(guarded, (counts, inputs), state0)
    states = nest.map_structure(lambda one: tf.where(counts, one, tf.zeros_like(one)), held)
    return states, nest.map_structure(lambda one: one[-1], held)


def _step(theta: Any, cell_fn: Any, cell_grad: Any) -> Any:
    """The next state of a state and a row of inputs."""
    if cell_grad is None:
        return lambda state, row: cell_fn(theta, state, row)[0]

    def step(state: Any, row: Any) -> Any:
        given = [theta, state, row]

        @tf.custom_gradient
        def of_tensors(*tensors: Any) -> tuple[Any, Any]:
            structures = nest.pack_sequence_as(given, tensors)
            found, extras = cell_fn(*structures)

            def gradient(*gradients: Any) -> list[Any]:
                gradients = nest.pack_sequence_as(found, gradients)
                return nest.flatten([*cell_grad(*structures, extras, gradients)])

            return tuple(nest.flatten(found)), gradient

        return nest.pack_sequence_as(state, nest.flatten(of_tensors(*nest.flatten(given))))

    return step


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
