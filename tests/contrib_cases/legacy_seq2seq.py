"""tf.contrib.legacy_seq2seq."""

import functools

import numpy as np

from contrib_cases import numbers, session

_TARGETS = ([3, 1], [2, 4], [0, 1])


def _initializer(tf):
    def initializer(shape, dtype=None, partition_info=None):
        size = [int(d) for d in shape]
        return tf.constant(numbers(*size, seed=sum(size)) * 0.5, tf.float32)

    return initializer


def _run(tf, build, feed=False):
    """Values of what ``build`` returns, gradients and names of the variables."""
    with tf.Graph().as_default():
        with tf.variable_scope("net", initializer=_initializer(tf)):
            made = build(tf.placeholder_with_default(feed, []))
        flat = tf.contrib.framework.nest.flatten(made)
        variables = sorted(tf.trainable_variables(), key=lambda v: v.op.name)
        total = tf.add_n([tf.reduce_sum(t * t) for t in flat])
        pairs = zip(variables, tf.gradients(total, variables))
        gradients = {v.op.name: tf.convert_to_tensor(g) for v, g in pairs if g is not None}
        with session(tf) as sess:
            values, slopes = sess.run([flat, gradients])
        names = " ".join(v.op.name + str(v.shape.as_list()) for v in variables)
        return {"values": values, "gradients": slopes, "names": names}


def _vectors(tf, steps, seed):
    return [tf.constant(part) for part in numbers(steps, 2, 4, seed=seed)]


def _words(tf, steps):
    return [tf.constant([step % 4, (step + 2) % 5]) for step in range(steps)]


def _cell(tf):
    return tf.nn.rnn_cell.GRUCell(4)


def _projection(tf, words=5):
    return tf.get_variable("weights", [4, words]), tf.get_variable("biases", [words])


def case_vectors(tf):
    legacy = tf.contrib.legacy_seq2seq
    read, made = _vectors, _vectors

    def with_loop(feed):
        loop = lambda last, step: tf.tanh(last) * step
        return legacy.rnn_decoder(_vectors(tf, 3, 2), tf.ones([2, 4]), _cell(tf), loop, "named")

    def lstm(feed):
        cell = tf.nn.rnn_cell.LSTMCell(4)
        return legacy.basic_rnn_seq2seq(read(tf, 2, 1), made(tf, 3, 2), cell)

    def tied(feed):
        loop = lambda last, step: last * 0.5
        return legacy.tied_rnn_seq2seq(read(tf, 2, 1), made(tf, 3, 2), _cell(tf), loop)

    return {"loop": _run(tf, with_loop), "basic": _run(tf, lstm), "tied": _run(tf, tied)}


def _embedded(tf):
    legacy = tf.contrib.legacy_seq2seq
    return {
        "separate": functools.partial(
            legacy.embedding_rnn_seq2seq,
            num_encoder_symbols=6,
            num_decoder_symbols=5,
            embedding_size=3,
        ),
        "tied": functools.partial(
            legacy.embedding_tied_rnn_seq2seq, num_symbols=5, embedding_size=3
        ),
        "attention": functools.partial(
            legacy.embedding_attention_seq2seq,
            num_encoder_symbols=6,
            num_decoder_symbols=5,
            embedding_size=3,
            num_heads=2,
        ),
    }


def case_words(tf):
    results = {}
    for name, model in _embedded(tf).items():

        def run(options=None, projected=False, model=model, **given):
            def build(feed):
                more = {"output_projection": _projection(tf)} if projected else {}
                options = {"feed_previous": feed} if given.get("tensor") else more
                if "previous" in given:
                    options["feed_previous"] = given["previous"]
                return model(_words(tf, 2), _words(tf, 3), _cell(tf), **options)

            return _run(tf, build, given.get("feed", False))

        results[name] = {
            "taught": run(),
            "previous": run(previous=True),
            "projected": run(projected=True, previous=True),
            "tensor_false": run(tensor=True),
            "tensor_true": run(tensor=True, feed=True),
        }
    return results


def case_decoders(tf):
    legacy = tf.contrib.legacy_seq2seq

    def embedding(feed):
        return legacy.embedding_rnn_decoder(
            _words(tf, 3),
            tf.ones([2, 4]),
            _cell(tf),
            5,
            3,
            output_projection=_projection(tf),
            feed_previous=True,
            update_embedding_for_previous=False,
        )

    def attention(feed, **options):
        states = tf.constant(numbers(2, 3, 4, seed=5))
        cell = tf.nn.rnn_cell.LSTMCell(4)
        start = cell.zero_state(2, tf.float32)
        return legacy.attention_decoder(_vectors(tf, 3, 2), start, states, cell, **options)

    def initial(feed):
        loop = lambda last, step: last[:, :4]
        return attention(
            feed, output_size=6, num_heads=2, initial_state_attention=True, loop_function=loop
        )

    def embedding_attention(feed):
        states = tf.constant(numbers(2, 3, 4, seed=5))
        return legacy.embedding_attention_decoder(
            _words(tf, 2), tf.ones([2, 4]), states, _cell(tf), 5, 3, output_size=5
        )

    return {
        "embedding": _run(tf, embedding),
        "attention": _run(tf, attention),
        "initial": _run(tf, initial),
        "embedding_attention": _run(tf, embedding_attention),
    }


def case_many(tf):
    def build(feed):
        outputs, states = tf.contrib.legacy_seq2seq.one2many_rnn_seq2seq(
            _words(tf, 2),
            {"a": _words(tf, 2), "b": _words(tf, 3)},
            _cell(tf),
            {"a": _cell(tf), "b": _cell(tf)},
            6,
            {"a": 5, "b": 6},
            3,
            feed_previous=feed,
        )
        return [outputs[name] + [states[name]] for name in "ab"]

    return {"taught": _run(tf, build), "previous": _run(tf, build, feed=True)}


def case_losses(tf):
    legacy = tf.contrib.legacy_seq2seq
    weights = [[1.0, 0.5], [0.0, 0.25], [2.0, 0.0]]

    def given():
        logits = [tf.constant(part) for part in numbers(3, 2, 5, seed=3)]
        return logits, [tf.constant(t) for t in _TARGETS], [tf.constant(w) for w in weights]

    own = lambda labels, logits: tf.reduce_sum(logits, 1) * tf.cast(labels, tf.float32)

    def bucketed(**options):
        def build(feed):
            model = _embedded(tf)["separate"]
            outputs, losses = legacy.model_with_buckets(
                _words(tf, 3),
                _words(tf, 3),
                [tf.constant(t) for t in _TARGETS],
                [tf.constant(w) for w in weights],
                [(2, 2), (3, 3)],
                lambda x, y: model(x, y, _cell(tf)),
                **options,
            )
            return [outputs, losses]

        return _run(tf, build)

    with tf.Graph().as_default(), session(tf) as sess:
        plain = sess.run(
            [
                legacy.sequence_loss_by_example(*given()),
                legacy.sequence_loss_by_example(*given(), average_across_timesteps=False),
                legacy.sequence_loss(*given()),
                legacy.sequence_loss(*given(), average_across_batch=False),
                legacy.sequence_loss(*given(), softmax_loss_function=own),
            ]
        )
    return {"plain": plain, "buckets": bucketed(), "each": bucketed(per_example_loss=True)}


def case_wrappers(tf):
    rnn = tf.contrib.rnn

    def build(feed):
        inner = rnn.InputProjectionWrapper(_cell(tf), 3, activation=tf.tanh)
        cell = rnn.OutputProjectionWrapper(inner, 2, activation=tf.sigmoid)
        words = rnn.EmbeddingWrapper(tf.nn.rnn_cell.LSTMCell(4), 5, 3)
        sequences = tf.stack(_vectors(tf, 3, 2), 1)
        steps = tf.constant(np.array([[[1], [2]], [[4], [0]]]))
        with tf.variable_scope("words"):
            embedded = tf.nn.dynamic_rnn(words, steps, dtype=tf.float32)
        return [tf.nn.dynamic_rnn(cell, sequences, dtype=tf.float32), embedded]

    return _run(tf, build)
