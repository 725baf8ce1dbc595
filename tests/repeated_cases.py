"""Datasets that are shuffled and repeated, by name; needs ``tf`` of TensorFlow 1.x alone."""

import numpy as np


def _numbers(tf, count):
    return tf.data.Dataset.from_tensor_slices(np.arange(count))


def _unknown(tf, count):
    return _numbers(tf, count).filter(lambda number: number >= 0)


CASES = {
    "a buffer for all": lambda tf: _numbers(tf, 6).shuffle(10, seed=9).repeat(3),
    "a small buffer": lambda tf: _numbers(tf, 7).shuffle(3, seed=9).repeat(3),
    "a buffer of as many": lambda tf: _numbers(tf, 5).shuffle(5, seed=1).repeat(4),
    "no end": lambda tf: _numbers(tf, 5).shuffle(8, seed=2).repeat().take(23),
    "no shuffling": lambda tf: _numbers(tf, 3).shuffle(1, seed=2).repeat(2),
    "unknown number": lambda tf: _unknown(tf, 6).shuffle(4, seed=9).repeat(4),
    "unknown number, a buffer for more than all": lambda tf: (
        _unknown(tf, 5).shuffle(12, seed=3).repeat(3)
    ),
    "unknown number, no end": lambda tf: _unknown(tf, 4).shuffle(9, seed=3).repeat().take(22),
    "nothing": lambda tf: (
        _unknown(tf, 4).filter(lambda number: number < 0).shuffle(3, seed=3).repeat(2)
    ),
    "contrib's": lambda tf: _numbers(tf, 6).apply(tf.contrib.data.shuffle_and_repeat(4, 3, seed=5)),
    "contrib's, no end": lambda tf: (
        _unknown(tf, 6).apply(tf.contrib.data.shuffle_and_repeat(4, seed=5)).take(20)
    ),
    "contrib's, once": lambda tf: _unknown(tf, 6).apply(
        tf.contrib.data.shuffle_and_repeat(4, 1, seed=5)
    ),
    "repeated before": lambda tf: _numbers(tf, 4).repeat().shuffle(3, seed=5).repeat(2).take(9),
    "the graph's seed": lambda tf: _numbers(tf, 6).shuffle(8).repeat(3),
    "in batches": lambda tf: (
        _unknown(tf, 6).shuffle(8, seed=4).repeat(3).batch(4, drop_remainder=True)
    ),
    "interleaved vectors": lambda tf: (
        tf.data.experimental.choose_from_datasets(
            [tf.data.Dataset.from_tensor_slices(np.arange(8.0).reshape(4, 2) + n) for n in (0, 50)],
            tf.data.Dataset.from_tensor_slices(np.array([0, 1, 1, 0, 1, 0, 1, 0], "int64")),
        )
        .shuffle(3, seed=4)
        .repeat(2)
    ),
    "words of several lengths": lambda tf: (
        tf.data.Dataset.from_tensor_slices(["a b", "c", "d e f", "g h"])
        .map(lambda text: tf.string_split([text]).values)
        .shuffle(4, seed=6)
        .repeat(3)
    ),
    "a dictionary and a label": lambda tf: (
        tf.data.Dataset.from_tensor_slices(
            ({"x": np.arange(10.0).reshape(5, 2), "y": ["a", "b", "c", "d", "e"]}, np.arange(5))
        )
        .shuffle(3, seed=7)
        .repeat(3)
    ),
    "sparse": lambda tf: (
        _numbers(tf, 4)
        .map(lambda number: tf.SparseTensor([[number]], [number * 10], [5]))
        .shuffle(4, seed=8)
        .repeat(3)
    ),
}


def values(tf, name):
    """All elements of a case, each as a list of text without line ends."""
    with tf.Graph().as_default():
        tf.set_random_seed(20)
        element = CASES[name](tf).make_one_shot_iterator().get_next()
        if isinstance(element, tf.SparseTensor):
            element = tf.sparse.to_dense(element)
        found = []
        with tf.Session() as session:
            while True:
                try:
                    found.append(str(_plain(session.run(element))))
                except tf.errors.OutOfRangeError:
                    return found


def _plain(value):
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in sorted(value.items())}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value
