"""tf.contrib.crf."""

import numpy as np

from contrib_cases import numbers, run, session

TAGS = np.array([[0, 2, 1, 3], [1, 1, 0, 2], [3, 0, 0, 0], [2, 1, 3, 0]], np.int32)
LENGTHS = np.array([4, 2, 1, 3], np.int64)


def case_scores(tf):
    crf = tf.contrib.crf

    def build():
        inputs, transitions = tf.constant(numbers(4, 4, 4)), tf.constant(numbers(4, 4, seed=2))
        tags, lengths = tf.constant(TAGS), tf.constant(LENGTHS)
        short = inputs[:, :1]
        some = tf.constant(numbers(4, 4, 4, seed=3) > -1.0)
        loose = tf.placeholder_with_default(numbers(4, 1, 4), [None, None, 4])
        empty = tf.constant([0, 2, 1, 0])
        return {
            "unary": crf.crf_unary_score(tags, lengths, inputs),
            "unary64": crf.crf_unary_score(tf.cast(tags, tf.int64), lengths, inputs),
            "binary": crf.crf_binary_score(tags, lengths, transitions),
            "sequence": crf.crf_sequence_score(inputs, tags, lengths, transitions),
            "sequence_one": crf.crf_sequence_score(short, tags[:, :1], lengths, transitions),
            "sequence_loose": crf.crf_sequence_score(loose, tags[:, :1], lengths, transitions),
            "norm": crf.crf_log_norm(inputs, lengths, transitions),
            "norm_one": crf.crf_log_norm(short, lengths, transitions),
            "norm_empty": crf.crf_log_norm(inputs, empty, transitions),
            "norm_one_empty": crf.crf_log_norm(short, empty, transitions),
            "multitag": crf.crf_multitag_sequence_score(inputs, some, lengths, transitions),
            "multitag_one": crf.crf_multitag_sequence_score(
                short, some[:, :1], lengths, transitions
            ),
            "likelihood": crf.crf_log_likelihood(inputs, tags, lengths, transitions)[0],
            "decoded": crf.crf_decode(inputs, transitions, lengths),
            "decoded_one": crf.crf_decode(short, transitions, lengths),
            "decoded_loose": crf.crf_decode(loose, transitions, lengths),
            "decoded_empty": crf.crf_decode(inputs, transitions, empty),
        }

    results = run(tf, build)
    results["viterbi"] = crf.viterbi_decode(numbers(5, 4), numbers(4, 4, seed=2))
    return results


def case_training(tf):
    """As a sequence tagger trains: the transitions are a variable, lengths are fed."""
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        lengths = tf.placeholder(tf.int32, [None])
        weights = tf.get_variable("w", initializer=numbers(3, 4, seed=4))
        logits = tf.tensordot(tf.constant(numbers(4, 4, 3)), weights, 1)
        with tf.variable_scope("crf_loss"):
            start = tf.constant_initializer(numbers(4, 4, seed=5))
            transitions = tf.get_variable("transitions", [4, 4], initializer=start)
            likelihood, transitions = tf.contrib.crf.crf_log_likelihood(
                inputs=logits,
                tag_indices=tf.constant(TAGS),
                transition_params=transitions,
                sequence_lengths=lengths,
            )
        loss = tf.reduce_mean(-likelihood)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        predicted, _ = tf.contrib.crf.crf_decode(logits, transitions, lengths)
        own, made = tf.contrib.crf.crf_log_likelihood(logits, tf.constant(TAGS), lengths)
        with session(tf) as sess:
            feed = {lengths: LENGTHS}
            losses = [sess.run([loss, train], feed)[0] for _ in range(4)]
            return {
                "losses": losses,
                "transitions": sess.run(transitions),
                "weights": sess.run(weights),
                "predicted": sess.run(predicted, feed),
                "name": made.op.name,
                "shape": own.shape.ndims,
            }
