"""tf.contrib.rnn."""

import importlib

from contrib_cases import numbers, session


def _filled(tf):
    """A scope whose initializer gives repeatable numbers."""

    def initializer(shape, dtype=None, partition_info=None):
        size = [int(d) for d in shape]
        return tf.constant(numbers(*size, seed=sum(size)) * 0.5, tf.float32)

    return tf.variable_scope("net", initializer=initializer)


def _results(tf, made, inputs):
    """Values, gradients, names and values of all variables."""
    variables = tf.trainable_variables()
    flat = tf.contrib.framework.nest.flatten(made)
    # Another weight for each output, so that no sum hides a difference.
    loss = tf.add_n([tf.reduce_sum(t * (n + 1.0) + t * t) for n, t in enumerate(flat)])
    gradients = tf.gradients(loss, [*variables, inputs])
    with session(tf) as sess:
        # Biases that start at zero hide mistakes: move all variables a little.
        for variable in variables:
            size = variable.shape.as_list()
            # These start from random numbers, whatever the scope's initializer.
            drawn = [what for what in ("kernel_u", "period", "phase") if what in variable.op.name]
            start = {"period": 2.5}.get(drawn[0], 0.5) if drawn else sess.run(variable)
            variable.load(start + numbers(*size, seed=len(size)) * 0.2, sess)
        return {
            "values": sess.run(flat),
            "gradients": sess.run([g for g in gradients if g is not None]),
            "unused": [int(g is None) for g in gradients],
            "names": " ".join(v.op.name + str(v.shape.as_list()) for v in variables),
        }


def _cell(tf, make, size=3, state=None):
    """Two steps of a cell, in a loop with sequence lengths."""
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        inputs = tf.constant(numbers(2, 3, size))
        with _filled(tf):
            made = tf.nn.dynamic_rnn(make(), inputs, sequence_length=[3, 2], dtype=tf.float32)
        return _results(tf, made, inputs)


def case_block_cells(tf):
    rnn = tf.contrib.rnn
    return {
        "lstm": _cell(tf, lambda: rnn.LSTMBlockCell(4)),
        "lstm_clip": _cell(tf, lambda: rnn.LSTMBlockCell(4, forget_bias=0.5, cell_clip=0.1)),
        "lstm_peephole": _cell(tf, lambda: rnn.LSTMBlockCell(4, use_peephole=True, name="own")),
        "gru": _cell(tf, lambda: rnn.GRUBlockCell(4)),
        "gru_old": _cell(tf, lambda: rnn.GRUBlockCell(cell_size=4)),
        "gru_v2": _cell(tf, lambda: rnn.GRUBlockCellV2(num_units=4)),
        "stacked": _cell(
            tf, lambda: rnn.MultiRNNCell([rnn.LSTMBlockCell(4), rnn.LSTMBlockCell(2)])
        ),
    }


def case_cells(tf):
    rnn = tf.contrib.rnn
    return {
        "norm": _cell(tf, lambda: rnn.LayerNormBasicLSTMCell(4)),
        "norm_off": _cell(
            tf, lambda: rnn.LayerNormBasicLSTMCell(4, layer_norm=False, activation=tf.nn.relu)
        ),
        "norm_gain": _cell(
            tf, lambda: rnn.LayerNormBasicLSTMCell(4, norm_gain=0.5, norm_shift=0.1)
        ),
        "nas": _cell(tf, lambda: rnn.NASCell(4)),
        "nas_options": _cell(tf, lambda: rnn.NASCell(4, num_proj=2, use_bias=True)),
    }


def case_convolutional(tf):
    rnn = tf.contrib.rnn

    def run(make, *shape):
        with tf.Graph().as_default():
            inputs = tf.constant(numbers(2, 2, *shape))
            with _filled(tf):
                made = tf.nn.dynamic_rnn(make(), inputs, dtype=tf.float32)
            return _results(tf, made, inputs)

    return {
        "one": run(
            lambda: rnn.Conv1DLSTMCell(input_shape=[5, 2], output_channels=3, kernel_shape=[3]),
            5,
            2,
        ),
        "two": run(
            lambda: rnn.ConvLSTMCell(
                conv_ndims=2, input_shape=[4, 3, 2], output_channels=2, kernel_shape=[3, 3]
            ),
            4,
            3,
            2,
        ),
        "two_bare": run(
            lambda: rnn.Conv2DLSTMCell(
                input_shape=[4, 3, 2], output_channels=2, kernel_shape=[1, 2], use_bias=False
            ),
            4,
            3,
            2,
        ),
    }


def case_fused(tf):
    """Networks over all steps: one operation, a cell's loop, cells written out, and backwards."""
    rnn = tf.contrib.rnn

    def run(make, lengths=None, listed=False, **options):
        with tf.Graph().as_default():
            inputs = tf.constant(numbers(4, 3, 2))
            with _filled(tf):
                steps = tf.unstack(inputs) if listed else inputs
                made = make()(steps, sequence_length=lengths, dtype=tf.float32, **options)
            return _results(tf, made, inputs)

    def fused(**options):
        return lambda: rnn.LSTMBlockFusedCell(3, **options)

    def adapted(dynamic):
        return lambda: rnn.FusedRNNCellAdaptor(rnn.BasicRNNCell(3), use_dynamic_rnn=dynamic)

    def turned(make):
        return lambda: rnn.TimeReversedFusedRNN(make())

    state = (numbers(3, 3), numbers(3, 3, seed=2))
    return {
        "fused": run(fused()),
        "lengths": run(fused(), [4, 0, 2]),
        "options": run(
            fused(use_peephole=True, cell_clip=0.3, forget_bias=0.5, name="own"), [1, 3, 2]
        ),
        "state": run(fused(), [3, 0, 1], initial_state=state),
        "turned": run(turned(fused()), [4, 1, 2]),
        "turned_whole": run(turned(fused())),
        "dynamic": run(adapted(True), [4, 0, 2]),
        "dynamic_listed": run(adapted(True), listed=True),
        "static": run(adapted(False), [4, 1, 2]),
        "turned_cell": run(turned(adapted(False)), [4, 1, 2]),
        "turned_listed": run(turned(adapted(False)), [4, 1, 2], listed=True),
    }


def case_stacks(tf):
    rnn = tf.contrib.rnn
    results = {}
    with tf.Graph().as_default():
        inputs = tf.constant(numbers(2, 3, 4))
        with _filled(tf):
            made = rnn.stack_bidirectional_dynamic_rnn(
                [rnn.LSTMCell(2), rnn.LSTMCell(3)],
                [rnn.GRUCell(2), rnn.GRUCell(3)],
                inputs,
                dtype=tf.float32,
                sequence_length=[3, 2],
            )
        results["dynamic"] = _results(tf, made, inputs)
    with tf.Graph().as_default():
        loose = tf.placeholder_with_default(numbers(2, 3, 4), [None, 3, None])
        made = rnn.transpose_batch_time(loose)
        results["transposed"] = str(made.shape.as_list())
        with tf.Session() as sess:
            results["turned"] = sess.run(made)
    return results


def case_all_that_a_block_computes(tf):
    lstm_ops = importlib.import_module(tf.__name__ + ".contrib.rnn.python.ops.lstm_ops")
    results = {}
    for name, options in (
        ("plain", {}),
        ("peepholes", {"wci": [0.3, -0.2], "wcf": [0.1, 0.4], "wco": [-0.5, 0.2]}),
    ):
        with tf.Graph().as_default(), tf.Session() as sess:
            made = lstm_ops._block_lstm(
                tf.constant(3, tf.int64),
                tf.unstack(tf.constant(numbers(3, 2, 4))),
                tf.constant(numbers(6, 8)),
                tf.constant(numbers(8)),
                use_peephole=bool(options),
                cell_clip=0.5 if options else None,
                **options,
            )
            results[name] = [sess.run(tf.stack(each)) for each in made]
    return results


def case_linear(tf):
    """What programs made cells of their own with, behind tf.contrib.rnn."""
    core = importlib.import_module(tf.__name__ + ".contrib.rnn.python.ops.core_rnn_cell")

    def run(make, *sizes):
        with tf.Graph().as_default():
            inputs = tf.constant(numbers(2, 3))
            parts = [inputs, *(tf.constant(numbers(2, size)) for size in sizes)]
            with _filled(tf):
                made = make(parts)
            return _results(tf, made, inputs)

    def class_of(parts):
        linear = core._Linear(parts, 4, True, kernel_initializer=tf.ones_initializer())
        return [linear(parts), linear([part + 1.0 for part in parts])]

    return {
        "one": run(lambda parts: core._linear(parts[0], 4, True)),
        "two": run(lambda parts: core._linear(parts, 4, True, tf.constant_initializer(0.5)), 2),
        "without": run(lambda parts: core._linear(parts, 4, False), 2),
        "class": run(class_of, 2, 1),
    }
