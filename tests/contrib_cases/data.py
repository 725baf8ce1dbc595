"""tf.contrib.data."""

import numpy as np


def _elements(tf, dataset, count):
    """The first elements of a dataset made by ``dataset()``, and whether it ends there."""
    with tf.Graph().as_default():
        made = dataset()
        following = tf.compat.v1.data.make_one_shot_iterator(made).get_next()
        found = []
        with tf.Session() as sess:
            for _ in range(count):
                try:
                    found.append(sess.run(following))
                except tf.errors.OutOfRangeError:
                    break
        shapes = tf.compat.v1.data.get_output_shapes(made)
        return {"elements": found, "shapes": str(shapes)}


def case_batching(tf):
    data = tf.contrib.data

    def numbers():
        return tf.data.Dataset.range(11)

    def rows(sizes):
        return tf.data.Dataset.from_tensor_slices(sizes).map(lambda n: tf.fill([n], n))

    return {
        "drop": _elements(tf, lambda: numbers().apply(data.batch_and_drop_remainder(4)), 9),
        "pad": _elements(
            tf,
            lambda: rows([3, 1, 2, 4, 1]).apply(data.padded_batch_and_drop_remainder(2, [None])),
            9,
        ),
        "pad_value": _elements(
            tf,
            lambda: rows([3, 1]).apply(data.padded_batch_and_drop_remainder(2, [4], 9)),
            9,
        ),
        "fused": _elements(tf, lambda: numbers().apply(data.map_and_batch(lambda n: n * n, 4)), 9),
        "fused_drop": _elements(
            tf,
            lambda: numbers().apply(
                data.map_and_batch(lambda n: n * n, 4, drop_remainder=True, num_parallel_batches=2)
            ),
            9,
        ),
        "buckets": _elements(
            tf,
            lambda: rows([1, 2, 3, 4, 5, 6, 7]).apply(
                data.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 6], [2, 2, 2])
            ),
            9,
        ),
        "sparse": _elements(tf, lambda: rows([2, 1]).apply(data.dense_to_sparse_batch(2, [3])), 1)[
            "elements"
        ][0]._asdict(),
    }


def case_windows(tf):
    data = tf.contrib.data

    def window(*args, **kwargs):
        return _elements(
            tf,
            lambda: tf.data.Dataset.range(10).apply(data.sliding_window_batch(*args, **kwargs)),
            20,
        )

    def pair():
        dataset = tf.data.Dataset.from_tensor_slices({"a": [1, 2, 3, 4], "b": [5, 6, 7, 8]})
        return dataset.apply(data.sliding_window_batch(2))

    return {
        "plain": window(3),
        "stride": window(3, 2),
        "shift": window(window_size=2, window_shift=3, window_stride=2),
        "structure": _elements(tf, pair, 9)["elements"],
    }


def case_order(tf):
    data = tf.contrib.data

    def numbers():
        return tf.data.Dataset.range(6)

    def nested(n):
        return tf.data.Dataset.from_tensors(n).repeat(2)

    return {
        "interleave": _elements(
            tf, lambda: numbers().apply(data.parallel_interleave(nested, 2)), 20
        ),
        "sloppy": np.sort(
            _elements(tf, lambda: numbers().apply(data.sloppy_interleave(nested, 2)), 20)[
                "elements"
            ]
        ),
        "shuffled": np.sort(
            _elements(tf, lambda: numbers().apply(data.shuffle_and_repeat(6, 1)), 20)["elements"]
        ),
        # One order of its own per epoch in 2.x as in 1.15, but not the same one: the fused kernel
        # of 1.15 went on with one generator, later ones draw a new seed for each epoch.
        "epochs": np.sort(
            np.reshape(
                _elements(tf, lambda: numbers().apply(data.shuffle_and_repeat(6, 2, seed=3)), 20)[
                    "elements"
                ],
                [2, 6],
            )
        ),
        "numbered": _elements(tf, lambda: numbers().apply(data.enumerate_dataset(3)), 2),
        "unbatched": _elements(tf, lambda: numbers().batch(4).apply(data.unbatch()), 20),
        "counted": _elements(tf, lambda: data.Counter(3, 2), 4),
        "unique": _elements(tf, lambda: numbers().repeat(2).apply(data.unique()), 20),
        "scan": _elements(
            tf,
            lambda: numbers().apply(data.scan(tf.constant(0, tf.int64), lambda s, n: (s + n, s))),
            20,
        ),
        "autotune": data.AUTOTUNE,
        "prefetched": _elements(tf, lambda: numbers().apply(data.prefetch_to_device("/cpu:0")), 20)[
            "elements"
        ],
    }


def case_checks(tf):
    data = tf.contrib.data

    results = {}
    try:
        data.sliding_window_batch(2, stride=1, window_shift=1)
    except ValueError:
        results["both"] = "ValueError"
    return results
