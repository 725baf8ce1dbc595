"""tf.contrib.cudnn_rnn.

The layers of TensorFlow 1.15 run on a GPU only. What they save, and what their documentation says
to restore it into on a CPU, are stacks of the compatible cells: those are the reference for the
layers.
"""

from contrib_cases import numbers, session


def _results(tf, outputs, state):
    variables = sorted(tf.trainable_variables(), key=lambda v: v.op.name)
    flat = tf.contrib.framework.nest.flatten((outputs, state))
    gradients = tf.gradients(tf.add_n([tf.reduce_sum(t * t) for t in flat]), variables)
    with session(tf) as sess:
        for variable in variables:
            size = variable.shape.as_list()
            variable.load(numbers(*size, seed=sum(size)) * 0.5, sess)
        return {
            "values": sess.run(flat),
            "gradients": sess.run(gradients),
            "names": " ".join(v.op.name + str(v.shape.as_list()) for v in variables),
        }


def case_cells(tf):
    cudnn = tf.contrib.cudnn_rnn
    results = {}
    for name in ("CudnnCompatibleLSTMCell", "CudnnCompatibleGRUCell"):
        with tf.Graph().as_default():
            inputs = tf.constant(numbers(2, 3, 4))
            cell = getattr(cudnn, name)(3)
            made = tf.nn.dynamic_rnn(cell, inputs, sequence_length=[3, 2], dtype=tf.float32)
            results[name] = _results(tf, *made)
    return results


def _layer(tf, kind, direction, inputs, state, lengths):
    """The layer, or in TensorFlow 1.15 what its documentation restores its checkpoints into."""
    cudnn = tf.contrib.cudnn_rnn
    if tf.__name__ != "tensorflow":
        layer = getattr(cudnn, "Cudnn" + kind)(2, 3, direction=direction)
        return layer(inputs, initial_state=state, sequence_lengths=lengths)
    cell = getattr(cudnn, "CudnnCompatible" + kind + "Cell")
    parts = [tf.unstack(part) for part in state]
    states = (
        [tf.nn.rnn_cell.LSTMStateTuple(c, h) for h, c in zip(*parts)] if parts[1:] else parts[0]
    )
    options = {"sequence_length": lengths, "time_major": True, "dtype": tf.float32}
    with tf.variable_scope("cudnn_" + kind.lower()):
        if direction == "unidirectional":
            stack = tf.nn.rnn_cell.MultiRNNCell([cell(3), cell(3)])
            outputs, final = tf.nn.dynamic_rnn(
                stack, inputs, initial_state=tuple(states), **options
            )
        else:
            outputs, fw, bw = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
                [cell(3), cell(3)],
                [cell(3), cell(3)],
                inputs,
                initial_states_fw=list(states[0::2]),
                initial_states_bw=list(states[1::2]),
                **options,
            )
            final = [state for pair in zip(fw, bw) for state in pair]
    if kind == "GRU":
        return outputs, (tf.stack(final),)
    return outputs, (tf.stack([s.h for s in final]), tf.stack([s.c for s in final]))


def case_layers(tf):
    results = {}
    for kind in ("LSTM", "GRU"):
        for direction, count in (("unidirectional", 2), ("bidirectional", 4)):
            with tf.Graph().as_default():
                inputs = tf.constant(numbers(3, 2, 4))
                state = tuple(
                    tf.constant(numbers(count, 2, 3, seed=seed))
                    for seed in ((1, 2) if kind == "LSTM" else (1,))
                )
                made = _layer(tf, kind, direction, inputs, state, tf.constant([3, 2]))
                results[kind + direction] = _results(tf, *made)
    return results
