"""tf.contrib.rnn."""

import importlib
import os
import tempfile

import numpy as np

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
        "coupled": _cell(tf, lambda: rnn.CoupledInputForgetGateLSTMCell(4)),
        "coupled_options": _cell(
            tf,
            lambda: rnn.CoupledInputForgetGateLSTMCell(
                4,
                use_peepholes=True,
                num_proj=3,
                proj_clip=0.2,
                num_unit_shards=2,
                num_proj_shards=3,
                state_is_tuple=False,
            ),
        ),
        "coupled_norm": _cell(tf, lambda: rnn.CoupledInputForgetGateLSTMCell(4, layer_norm=True)),
        "nas": _cell(tf, lambda: rnn.NASCell(4)),
        "nas_options": _cell(tf, lambda: rnn.NASCell(4, num_proj=2, use_bias=True)),
        "ugrnn": _cell(tf, lambda: rnn.UGRNNCell(4)),
        "intersection": _cell(tf, lambda: rnn.IntersectionRNNCell(4, num_in_proj=4)),
        "intersection_plain": _cell(tf, lambda: rnn.IntersectionRNNCell(3)),
        "sru": _cell(tf, lambda: rnn.SRUCell(4)),
        "ind": _cell(tf, lambda: rnn.IndRNNCell(4)),
        "indy_gru": _cell(tf, lambda: rnn.IndyGRUCell(4)),
        "indy_lstm": _cell(tf, lambda: rnn.IndyLSTMCell(4, forget_bias=0.3)),
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


def case_wrappers(tf):
    rnn = tf.contrib.rnn
    results = {
        "input": _cell(tf, lambda: rnn.InputProjectionWrapper(rnn.GRUCell(4), 2, tf.tanh)),
        "output": _cell(tf, lambda: rnn.OutputProjectionWrapper(rnn.LSTMCell(4), 2)),
        "attention": _cell(
            tf, lambda: rnn.AttentionCellWrapper(rnn.BasicLSTMCell(4), 2, attn_vec_size=3)
        ),
        "attention_joined": _cell(
            tf,
            lambda: rnn.AttentionCellWrapper(
                rnn.GRUCell(4), 2, attn_size=3, input_size=2, state_is_tuple=False
            ),
        ),
        "highway": _cell(tf, lambda: rnn.HighwayWrapper(rnn.GRUCell(3))),
        "highway_free": _cell(tf, lambda: rnn.HighwayWrapper(rnn.GRUCell(3), False, 0.5)),
        "residual": _cell(tf, lambda: rnn.ResidualWrapper(rnn.BasicRNNCell(3))),
    }
    with tf.Graph().as_default():
        ids = [tf.constant([1, 2]), tf.constant([0, 4])]
        with _filled(tf):
            cell = rnn.EmbeddingWrapper(rnn.GRUCell(4), 5, 3)
            made = rnn.static_rnn(cell, ids, dtype=tf.float32)
        results["embedding"] = _results(tf, made, tf.trainable_variables()[0])
    return results


def case_layers(tf):
    rnn = tf.contrib.rnn

    def run(make, **options):
        with tf.Graph().as_default():
            inputs = tf.constant(numbers(3, 2, 4))
            with _filled(tf):
                made = make()(inputs, dtype=tf.float32, **options)
            return _results(tf, made, inputs)

    def started():
        with tf.Graph().as_default():
            inputs = tf.constant(numbers(3, 2, 4))
            zeros = tf.zeros([2, 2]) + 0.5
            with _filled(tf):
                made = rnn.LSTMBlockFusedCell(2)(inputs, initial_state=(zeros, zeros * 2))
            return _results(tf, made, inputs)

    return {
        "fused": run(lambda: rnn.LSTMBlockFusedCell(3)),
        "fused_lengths": run(
            lambda: rnn.LSTMBlockFusedCell(3, forget_bias=0.2, cell_clip=0.5),
            sequence_length=[3, 1],
        ),
        "fused_peephole": run(lambda: rnn.LSTMBlockFusedCell(3, use_peephole=True)),
        "fused_state": started(),
        "adapted": run(lambda: rnn.FusedRNNCellAdaptor(rnn.GRUCell(3))),
        "adapted_dynamic": run(
            lambda: rnn.FusedRNNCellAdaptor(rnn.GRUCell(3), use_dynamic_rnn=True),
            sequence_length=[3, 1],
        ),
        "reversed": run(lambda: rnn.TimeReversedFusedRNN(rnn.LSTMBlockFusedCell(3))),
        "reversed_lengths": run(
            lambda: rnn.TimeReversedFusedRNN(rnn.LSTMBlockFusedCell(3)), sequence_length=[2, 3]
        ),
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
        inputs = tf.constant(numbers(2, 3, 4))
        with _filled(tf):
            made = rnn.stack_bidirectional_rnn(
                [rnn.GRUCell(2)],
                [rnn.GRUCell(2)],
                tf.unstack(inputs, axis=1),
                initial_states_fw=[tf.ones([2, 2])],
                dtype=tf.float32,
                scope="own",
            )
        results["static"] = _results(tf, made, inputs)
    with tf.Graph().as_default():
        loose = tf.placeholder_with_default(numbers(2, 3, 4), [None, 3, None])
        made = rnn.transpose_batch_time(loose)
        results["transposed"] = str(made.shape.as_list())
        results["batch"] = str(rnn.best_effort_input_batch_size([loose]))
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


def case_research_cells(tf):
    rnn = tf.contrib.rnn
    behind = importlib.import_module(tf.__name__ + ".contrib.rnn.python.ops.rnn_cell")

    def phased(**options):
        """In a loop; times have another type."""
        with tf.Graph().as_default():
            features = tf.constant(numbers(2, 3, 3))
            times = tf.constant(np.cumsum(np.arange(6.0).reshape(2, 3, 1), 1) * 0.7 + 0.1)
            with _filled(tf):
                made = tf.nn.dynamic_rnn(
                    rnn.PhasedLSTMCell(4, **options), (times, features), dtype=tf.float32
                )
            with session(tf) as sess:
                named = {v.op.name.rpartition("/")[2]: v for v in tf.global_variables()}
                period, phase = sess.run([named["period"], named["phase"]])
            least = options.get("period_init_min", 1.0)
            drawn = (period >= least).all() and (phase >= 0).all() and (phase < period).all()
            return dict(_results(tf, made, features), drawn=bool(drawn))

    results = {
        "phased": phased(),
        "phased_peephole": phased(use_peepholes=True, ratio_on=0.4, leak=0.1),
        "phased_fixed": phased(trainable_ratio_on=False, period_init_min=2.0, period_init_max=3.0),
    }
    for name, make, size in (
        ("groups", lambda: rnn.GLSTMCell(4, number_of_groups=2), 6),
        ("groups_one", lambda: rnn.GLSTMCell(4, forget_bias=0.5, activation=tf.nn.relu), 3),
        ("groups_projected", lambda: rnn.GLSTMCell(6, num_proj=3, number_of_groups=3), 3),
        ("compiled_all", lambda: rnn.CompiledWrapper(rnn.GRUCell(4), compile_stateful=True), 3),
        ("compiled", lambda: rnn.CompiledWrapper(rnn.LSTMCell(4)), 3),
        ("layer", lambda: behind.LayerNormLSTMCell(4), 3),
        ("layer_norm", lambda: behind.LayerNormLSTMCell(4, layer_norm=True, norm_gain=0.5), 3),
        (
            "layer_options",
            lambda: behind.LayerNormLSTMCell(
                4,
                use_peepholes=True,
                cell_clip=0.3,
                num_proj=2,
                proj_clip=0.2,
                layer_norm=True,
                norm_shift=0.1,
            ),
            3,
        ),
        ("weight", lambda: behind.WeightNormLSTMCell(4), 3),
        ("weight_off", lambda: behind.WeightNormLSTMCell(4, norm=False, use_peepholes=True), 3),
        (
            "weight_options",
            lambda: behind.WeightNormLSTMCell(
                4, use_peepholes=True, cell_clip=0.3, num_proj=2, proj_clip=0.2, forget_bias=0.5
            ),
            3,
        ),
        ("minimal", lambda: behind.MinimalRNNCell(4, kernel_initializer="ones"), 3),
        ("chaos_free", lambda: behind.CFNCell(4, kernel_initializer="ones"), 3),
    ):
        results[name] = _cell(tf, make, size)
    try:
        _cell(tf, lambda: rnn.GLSTMCell(4, number_of_groups=2), 5)
    except ValueError:  # an error of a layer keeps its type
        results["refused"] = "ValueError"
    return results


def case_checkpoint_names(tf):
    """The names of 1.0's checkpoints become those of 1.2."""
    private = importlib.import_module(tf.__name__ + ".contrib.rnn.python.tools.checkpoint_convert")
    folder = tempfile.mkdtemp()
    path, new = os.path.join(folder, "old.ckpt"), os.path.join(folder, "new.ckpt")
    table = private.RNN_NAME_REPLACEMENTS
    with tf.Graph().as_default():
        # Those with "Linear" become names that others become too.
        old = [name for name in sorted(table) if "Linear" not in name]
        for number, name in enumerate(["a", "rnn/LSTMCell/W_0", *old]):
            tf.Variable(float(number), name="net/" + name)
        with session(tf) as sess:
            tf.train.Saver().save(sess, path)
    variables, changed = private.convert_names(path, new, write_v1_checkpoint=True)
    reader = tf.train.NewCheckpointReader(new)
    names = sorted(reader.get_variable_to_shape_map())
    return {
        "changed": str(sorted(changed.items())),
        "values": [reader.get_tensor(name) for name in names],
        "names": str(names),
        "variables": str(sorted(variables)),
        "parts": str(list(private._RNN_SHARDED_NAME_REPLACEMENTS.items())),
        "table": str(sorted(table.items())),
    }


def case_grid_cells(tf):
    rnn = tf.contrib.rnn

    def stepped(cell, features, state, steps=2):
        """Two steps by hand: these cells' states are as wide as the input says."""
        with tf.Graph().as_default():
            inputs = tf.constant(numbers(2, features))
            with _filled(tf) as scope:
                made = cell()
                now = state(tf, made)
                outputs = []
                for step in range(steps):
                    output, now = made(inputs * (step + 1.0), now)
                    outputs.append(output)
                    scope.reuse_variables()
            sizes = str([made.output_size, made.state_size])
            return dict(_results(tf, [outputs, now], inputs), sizes=sizes)

    def wide(width):
        return lambda tf, cell: tf.constant(numbers(2, width, seed=3))

    def parts(tf, cell):
        kind = cell.state_tuple_type
        seeds = range(len(kind._fields))
        return kind(
            *[tf.constant(numbers(2, size, seed=n + 3)) for n, size in zip(seeds, cell.state_size)]
        )

    def joined(tf, cell):
        return tf.constant(numbers(2, cell.state_size, seed=3))

    window = {"feature_size": 3, "frequency_skip": 2}
    blocks = dict(
        window, num_frequency_blocks=[2, 1], start_freqindex_list=[0, 3], end_freqindex_list=[5, 6]
    )
    everything = {"use_peepholes": True, "cell_clip": 0.4, "num_unit_shards": 2, "forget_bias": 0.5}
    coupled = {"couple_input_forget_gates": True, "use_peepholes": True}
    one = dict(window, num_frequency_blocks=[2])
    shared = {"share_time_frequency_weights": True, "use_peepholes": True}
    grid, both = rnn.GridLSTMCell, rnn.BidirectionalGridLSTMCell
    results = {}
    for name, make, features, state in (
        ("time_frequency", lambda: rnn.TimeFreqLSTMCell(2, **window), 6, wide(8)),
        ("time_frequency_all", lambda: rnn.TimeFreqLSTMCell(2, **everything, **window), 5, wide(8)),
        ("grid", lambda: grid(2, **one), 5, parts),
        ("grid_all", lambda: grid(2, **everything, **blocks), 6, parts),
        ("grid_shared", lambda: grid(2, **shared, **one), 5, parts),
        ("grid_coupled", lambda: grid(2, **coupled, **one), 5, parts),
        ("grid_joined", lambda: grid(2, state_is_tuple=False, **blocks), 6, joined),
        ("both", lambda: both(2, **blocks), 6, parts),
        ("both_later", lambda: both(2, backward_slice_offset=1, **everything, **one), 5, parts),
        ("both_earlier", lambda: both(2, backward_slice_offset=-1, **one), 5, parts),
    ):
        results[name] = stepped(make, features, state)
    for name, options in (
        ("without", {}),
        ("wrong", dict(window, num_frequency_blocks=[3])),
        ("lists", dict(window, num_frequency_blocks=[2, 1])),
        ("shards", dict(one, num_unit_shards=99)),
    ):
        try:
            stepped(lambda options=options: grid(2, **options), 5, parts)
        except ValueError:
            results["refused_" + name] = "ValueError"
    try:
        rnn.AttentionCellWrapper(None, 4)
    except TypeError as error:
        results["no_cell"] = str("is not an RNNCell" in str(error))
    return results
