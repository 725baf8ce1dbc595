"""tf.contrib.seq2seq."""

import importlib

import numpy as np

from contrib_cases import numbers, run, session


def _initializer(tf):
    def initializer(shape, dtype=None, partition_info=None):
        size = [int(d) for d in shape]
        return tf.constant(numbers(*size, seed=sum(size)) * 0.5, tf.float32)

    return initializer


def _run(tf, build, loss=True):
    """Values of what ``build`` returns, gradients and names of the variables."""
    with tf.Graph().as_default():
        tf.set_random_seed(2)
        with tf.variable_scope("net", initializer=_initializer(tf)):
            made = build()
        results = {}
        flat = [t for t in tf.contrib.framework.nest.flatten(made) if hasattr(t, "dtype")]
        flat = [t for t in flat if not isinstance(t, tf.TensorArray)]
        variables = sorted(tf.trainable_variables(), key=lambda v: v.op.name)
        gradients = []
        if loss:
            floats = [t for t in flat if t.dtype.is_floating]
            total = tf.add_n([tf.reduce_sum(t * t) for t in floats])
            gradients = [g for g in tf.gradients(total, variables) if g is not None]
            gradients = [g.values if isinstance(g, tf.IndexedSlices) else g for g in gradients]
        with session(tf) as sess:
            results["values"] = sess.run(flat)
            results["gradients"] = sess.run(gradients)
        results["names"] = " ".join(v.op.name + str(v.shape.as_list()) for v in variables)
        return results


def _attentive(tf, mechanism, history=False, **options):
    """Teacher-forced decoding with attention."""
    seq2seq = tf.contrib.seq2seq

    def build():
        memory = tf.constant(numbers(2, 5, 4))
        cell = seq2seq.AttentionWrapper(
            tf.nn.rnn_cell.GRUCell(3),
            mechanism(memory, tf.constant([5, 3])),
            alignment_history=history,
            **options,
        )
        helper = seq2seq.TrainingHelper(tf.constant(numbers(2, 3, 2, seed=2)), [3, 2])
        decoder = seq2seq.BasicDecoder(
            cell, helper, cell.zero_state(2, tf.float32), output_layer=tf.layers.Dense(4)
        )
        outputs, state, lengths = seq2seq.dynamic_decode(decoder)
        made = [outputs.rnn_output, lengths, state.attention, state.alignments, state.time]
        if history:
            made.append(state.alignment_history.stack())
        return made

    return build


def case_loss(tf):
    loss = tf.contrib.seq2seq.sequence_loss

    def build():
        logits = tf.constant(numbers(2, 3, 4))
        targets = tf.constant([[1, 0, 3], [2, 2, 0]])
        weights = tf.constant([[1.0, 1.0, 0.0], [0.5, 0.0, 0.0]])
        off = {"average_across_timesteps": False, "average_across_batch": False}
        return [
            loss(logits, targets, weights),
            loss(logits, targets, weights, average_across_timesteps=False),
            loss(logits, targets, weights, average_across_batch=False),
            loss(logits, targets, weights, **off),
            loss(logits, targets, weights, sum_over_timesteps=True, sum_over_batch=True, **off),
            loss(logits, targets, weights, sum_over_timesteps=True, **off),
            loss(logits, targets, weights, sum_over_batch=True, **off),
            loss(
                logits,
                targets,
                weights,
                softmax_loss_function=lambda labels, logits: tf.reduce_sum(logits, 1),
            ),
            loss(logits, targets, tf.zeros([2, 3])),
        ]

    return _run(tf, build, loss=False)


def case_basic(tf):
    seq2seq = tf.contrib.seq2seq

    def training(**options):
        def build():
            cell = tf.nn.rnn_cell.LSTMCell(3)
            helper = seq2seq.TrainingHelper(tf.constant(numbers(2, 4, 2)), [4, 2])
            decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
            return seq2seq.dynamic_decode(decoder, **options)

        return build

    def greedy(helper_of, **options):
        def build():
            table = tf.get_variable("table", [5, 2])
            cell = tf.nn.rnn_cell.GRUCell(3)
            decoder = seq2seq.BasicDecoder(
                cell,
                helper_of(table),
                cell.zero_state(2, tf.float32),
                output_layer=tf.layers.Dense(5, use_bias=False),
            )
            return seq2seq.dynamic_decode(decoder, maximum_iterations=6, **options)

        return build

    def custom():
        cell = tf.nn.rnn_cell.GRUCell(3)
        helper = seq2seq.CustomHelper(
            initialize_fn=lambda: (tf.tile([False], [2]), tf.ones([2, 2])),
            sample_fn=lambda time, outputs, state: tf.cast(tf.argmax(outputs, 1), tf.int32),
            next_inputs_fn=lambda time, outputs, state, sample_ids: (
                tf.fill([2], time > 2),
                outputs[:, :2] + tf.cast(sample_ids, tf.float32)[:, None],
                state,
            ),
        )
        decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
        return seq2seq.dynamic_decode(decoder)

    def inference(table):
        return seq2seq.InferenceHelper(
            sample_fn=lambda outputs: outputs[:, :2] * 0.5,
            sample_shape=[2],
            sample_dtype=tf.float32,
            start_inputs=tf.ones([2, 2]),
            end_fn=lambda sample: sample[:, 0] > 100.0,
        )

    def scheduled(probability, **options):
        def build():
            table = tf.get_variable("table", [3, 2])
            cell = tf.nn.rnn_cell.GRUCell(3)
            helper = seq2seq.ScheduledEmbeddingTrainingHelper(
                tf.constant(numbers(2, 4, 2)), [4, 2], table, probability, **options
            )
            decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
            return seq2seq.dynamic_decode(decoder)

        return build

    def outputs_fed(probability, **options):
        def build():
            cell = tf.nn.rnn_cell.GRUCell(2)
            helper = seq2seq.ScheduledOutputTrainingHelper(
                tf.constant(numbers(2, 4, 2)), [4, 2], probability, **options
            )
            decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
            return seq2seq.dynamic_decode(decoder)

        return build

    return {
        "training": _run(tf, training()),
        "training_imputed": _run(tf, training(impute_finished=True, output_time_major=True)),
        "training_short": _run(tf, training(maximum_iterations=2)),
        "greedy": _run(
            tf, greedy(lambda table: seq2seq.GreedyEmbeddingHelper(table, [1, 2], 0)), loss=False
        ),
        "greedy_function": _run(
            tf,
            greedy(
                lambda table: seq2seq.GreedyEmbeddingHelper(
                    lambda ids: tf.nn.embedding_lookup(table, ids) * 2, [1, 2], 3
                ),
                impute_finished=True,
            ),
            loss=False,
        ),
        # The draws of a seeded sampler inside a loop are other ones from release to release: a
        # temperature near zero makes them certain.
        "sampled": _run(
            tf,
            greedy(lambda table: seq2seq.SampleEmbeddingHelper(table, [1, 2], 0, 1e-4, seed=1)),
            loss=False,
        ),
        "inference": _run(tf, greedy(inference), loss=False),
        "custom": _run(tf, custom),
        "never": _run(tf, scheduled(0.0), loss=False),
        "output_always": _run(tf, outputs_fed(1.0)),
        "output_function": _run(
            tf,
            outputs_fed(1.0, next_inputs_fn=lambda o: o * 2),
        ),
        "output_never": _run(tf, outputs_fed(0.0)),
    }


def case_attention(tf):
    seq2seq = tf.contrib.seq2seq
    luong, bahdanau = seq2seq.LuongAttention, seq2seq.BahdanauAttention
    monotonic_luong = seq2seq.LuongMonotonicAttention
    monotonic = seq2seq.BahdanauMonotonicAttention
    return {
        "luong": _run(tf, _attentive(tf, lambda m, n: luong(3, m, n))),
        "luong_scaled": _run(
            tf,
            _attentive(tf, lambda m, n: luong(3, m, n, scale=True), attention_layer_size=5),
        ),
        "luong_hard": _run(
            tf, _attentive(tf, lambda m, n: luong(3, m, n, probability_fn=seq2seq.hardmax))
        ),
        "bahdanau": _run(tf, _attentive(tf, lambda m, n: bahdanau(4, m, n), history=True)),
        "bahdanau_normal": _run(
            tf,
            _attentive(
                tf,
                lambda m, n: bahdanau(4, m, n, normalize=True, score_mask_value=-5.0),
                output_attention=False,
                cell_input_fn=lambda x, a: tf.concat([x, a * 2], -1),
            ),
        ),
        "two": _run(
            tf,
            _attentive(
                tf,
                lambda m, n: [bahdanau(4, m, n), luong(3, m)],
                history=False,
                attention_layer_size=[2, 3],
            ),
        ),
        "layer": _run(
            tf,
            _attentive(
                tf,
                lambda m, n: luong(3, m, n),
                attention_layer=tf.layers.Dense(2, activation=tf.tanh),
            ),
        ),
        "monotonic_luong": _run(
            tf, _attentive(tf, lambda m, n: monotonic_luong(3, m, n, scale=True))
        ),
        "monotonic": _run(
            tf,
            _attentive(
                tf,
                lambda m, n: monotonic(
                    4, m, n, normalize=True, mode="recursive", score_bias_init=-1.0
                ),
            ),
        ),
        "monotonic_hard": _run(
            tf, _attentive(tf, lambda m, n: monotonic(4, m, n, mode="hard")), loss=False
        ),
    }


def case_functions(tf):
    seq2seq = tf.contrib.seq2seq

    def build():
        p = tf.constant((numbers(2, 5) + 2) / 4)
        previous = tf.nn.softmax(tf.constant(numbers(2, 5, seed=2)))
        return [
            seq2seq.safe_cumprod(p, axis=1),
            seq2seq.safe_cumprod(p, axis=1, exclusive=True, reverse=True),
            seq2seq.monotonic_attention(p, previous, "recursive"),
            seq2seq.monotonic_attention(p, previous, "parallel"),
            seq2seq.monotonic_attention(tf.round(p), previous, "hard"),
            seq2seq.hardmax(p),
            seq2seq.tile_batch(p, 2),
            seq2seq.tile_batch({"a": p, "b": previous[0]}, multiplier=3)["b"],
            seq2seq.gather_tree(
                tf.constant(
                    [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [4, 3, 2]], [[1, 4, 5], [6, 7, 8]]]
                ),
                tf.constant(
                    [[[0, 0, 0], [0, 0, 0]], [[0, 1, 1], [2, 2, 0]], [[2, 1, 2], [1, 0, 2]]]
                ),
                max_sequence_lengths=tf.constant([3, 2]),
                end_token=4,
            ),
        ]

    return _run(tf, build, loss=False)


def _beam(tf, attention=False, loose=False, **options):
    seq2seq = tf.contrib.seq2seq

    def build():
        table = tf.get_variable("table", [6, 2])
        cell = tf.nn.rnn_cell.LSTMCell(3)
        start = cell.zero_state(2 * 3, tf.float32)
        if attention:
            memory = tf.constant(numbers(2, 4, 3))
            if loose:  # the alignment history follows the beams only where its size is not static
                memory = tf.placeholder_with_default(memory, [None, None, 3])
            memory = seq2seq.tile_batch(memory, 3)
            lengths = seq2seq.tile_batch(tf.constant([4, 2]), 3)
            cell = seq2seq.AttentionWrapper(
                cell, seq2seq.LuongAttention(3, memory, lengths), alignment_history=True
            )
            start = cell.zero_state(2 * 3, tf.float32)
        decoder = seq2seq.BeamSearchDecoder(
            cell,
            table,
            start_tokens=[1, 2],
            end_token=0,
            initial_state=start,
            beam_width=3,
            output_layer=tf.layers.Dense(6),
            **options,
        )
        outputs, state, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=5)
        made = [
            outputs.predicted_ids,
            outputs.beam_search_decoder_output.scores,
            outputs.beam_search_decoder_output.parent_ids,
            state.log_probs,
            state.lengths,
            state.finished,
            lengths,
        ]
        if attention:
            history = state.cell_state.alignment_history
            made += [state.cell_state.alignments, history if loose else history.stack()]
        return made

    return build


def case_beam(tf):
    return {
        "plain": _run(tf, _beam(tf), loss=False),
        "length": _run(tf, _beam(tf, length_penalty_weight=0.8), loss=False),
        "attention": _run(tf, _beam(tf, True), loss=False),
        "attention_loose": _run(tf, _beam(tf, True, loose=True), loss=False),
        "coverage": _run(
            tf,
            _beam(tf, True, coverage_penalty_weight=0.3, length_penalty_weight=0.5),
            loss=False,
        ),
    }


def case_behind(tf):
    """What programs took from the modules behind tf.contrib.seq2seq."""
    ops = tf.__name__ + ".contrib.seq2seq.python.ops."
    helper = importlib.import_module(ops + "helper")
    beam = importlib.import_module(ops + "beam_search_decoder")
    sure = np.array([[0.0, 90.0, 0.0], [90.0, 0.0, 0.0]], np.float32)

    def build():
        held = tf.constant(numbers(3, 2, 3, 2))
        parents = tf.constant(np.random.RandomState(1).randint(0, 3, [3, 2, 3]), tf.int32)
        lengths = tf.constant([[3, 2, 1], [2, 3, 3]])
        return {
            "classes": helper.categorical_sample(tf.constant(sure)),
            "more": helper.categorical_sample(tf.constant(sure), tf.int64, [2, 2]),
            "deep": helper.categorical_sample(tf.constant(sure[:, None]), sample_shape=2),
            "coins": helper.bernoulli_sample(tf.constant([0.0, 1.0]), sample_shape=3),
            "by_logits": helper.bernoulli_sample(logits=tf.constant(90 - 2 * sure), dtype=tf.bool),
            "apart": beam.gather_tree_from_array(held, parents, lengths),
            "together": beam.gather_tree_from_array(tf.reshape(held, [3, 6, 2]), parents, lengths),
        }

    return run(tf, build)


def case_beam_functions(tf):
    """The private functions of a beam search's step, of which programs made searches of their own."""
    beams = importlib.import_module(tf.__name__ + ".contrib.seq2seq.python.ops.beam_search_decoder")

    def build():
        finished = tf.constant([[False, True, False], [False, False, True]])
        logits = tf.constant(numbers(2, 3, 5) * 2)
        cell_state = (tf.constant(numbers(2, 3, 4)), tf.constant(1.0))
        attention = tf.constant(np.abs(numbers(2, 3, 4, seed=5)))
        state = beams.BeamSearchDecoderState(
            cell_state=cell_state,
            log_probs=tf.nn.log_softmax(tf.constant(numbers(2, 3, seed=2))),
            finished=finished,
            lengths=tf.constant([[2, 1, 2], [2, 2, 1]], tf.int64),
            accumulated_attention_probs=(),
        )
        parents = tf.constant([[2, 0, 0], [1, 1, 2]])
        inputs = (logits, cell_state, state, tf.constant(2), 3, 0)
        score = (logits, state.lengths[:, :, None])
        return {
            "step": beams._beam_search_step(2, *inputs, 0.6, 0.0),
            "step_plain": beams._beam_search_step(2, *inputs, 0.0, 0.0),
            "masked": beams._mask_probs(logits, 1, finished),
            "penalty": beams._length_penalty(state.lengths, 0.7),
            "scores": beams._get_scores(*score, 0.6, 0.0, finished, None),
            "scores_covered": beams._get_scores(*score, 0.0, 0.4, finished, attention),
            "gathered": beams._tensor_gather_helper(parents, finished, 2, 3, [-1]),
            "parts": beams._maybe_tensor_gather_helper(parents, cell_state[0], 2, 3, [6, -1]),
            "scalar": beams._maybe_tensor_gather_helper(parents, cell_state[1], 2, 3, [6, -1]),
        }

    def fits(size):
        with tf.Graph().as_default():
            t = tf.placeholder_with_default(numbers(*size), [None] * len(size))
            check = beams._check_batch_beam(t, tf.constant(4), 5)
            with tf.Session() as sess:
                try:
                    sess.run(check)
                except tf.errors.InvalidArgumentError:
                    return 0
                return 1

    results = run(tf, build)
    results["fits"] = [
        fits(size) for size in ((8, 4, 5, 2), (8, 20, 2), (8, 21, 2), (8, 4), (8, 20))
    ]
    try:
        beams.get_attention_probs((), 0.5)
    except ValueError:
        results["refused"] = "ValueError"
    return results
