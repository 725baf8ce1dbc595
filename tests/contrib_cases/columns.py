"""The feature columns and target columns of tf.contrib.layers, and its hashes."""

import numpy as np

from contrib_cases import numbers, run, session

_TEXTS = [["a", "bb"], ["ccc", ""], ["", "dd"], ["a", "e"]]


def _sparse(tf, rows, dtype=None):
    """A SparseTensor of the rows' entries, without empty texts and numbers below zero."""
    places = [
        (row, column)
        for row, entries in enumerate(rows)
        for column, entry in enumerate(entries)
        if entry not in ("", -1)
    ]
    values = [rows[row][column] for row, column in places]
    shape = [len(rows), max(len(entries) for entries in rows)]
    return tf.SparseTensor(places, tf.constant(values, dtype), shape)


def _features(tf):
    return {
        "word": _sparse(tf, _TEXTS),
        "dense_word": tf.constant(_TEXTS),
        "id": _sparse(tf, [[5, 2], [1, -1], [12, 3], [7, 0]], tf.int64),
        "word_weight": _sparse(tf, [[0.5, 2.0], [1.5, -1], [3.0, -1], [1.0, 4.0]], tf.float32),
        "price": tf.constant([[1.0], [12.5], [-3.0], [100.0]]),
        "size": tf.constant([[1, 2], [3, 4], [5, 6], [7, 8]]),
    }


def _columns(tf):
    layers = tf.contrib.layers
    word = layers.sparse_column_with_hash_bucket("word", 10)
    price = layers.real_valued_column("price", normalizer=lambda x: x * 0.1)
    found = {
        "word": word,
        "listed": layers.sparse_column_with_keys("dense_word", ["a", "bb", "e"], combiner="mean"),
        "id": layers.sparse_column_with_integerized_feature("id", 8),
        "hashed_id": layers.sparse_column_with_hash_bucket("id", 6, dtype=tf.int64),
        "price": price,
        "size": layers.real_valued_column("size", 2, dtype=tf.int32),
        "price_bucket": layers.bucketized_column(price, [0.0, 1.0, 1.0, 5.0]),
        "weighted": layers.weighted_sparse_column(
            layers.sparse_column_with_hash_bucket("word", 7), "word_weight"
        ),
    }
    found["crossed"] = layers.crossed_column([word, found["price_bucket"]], 20)
    found["crossed_again"] = layers.crossed_column(
        [found["crossed"], found["id"]], 30, hash_key=956888297470
    )
    return found


def _deep(tf):
    layers = tf.contrib.layers
    columns = _columns(tf)
    return [
        columns["price"],
        columns["size"],
        columns["price_bucket"],
        layers.one_hot_column(columns["listed"]),
        layers.one_hot_column(columns["weighted"]),
        layers.embedding_column(columns["id"], 3),
        layers.embedding_column(columns["weighted"], 2, combiner="sqrtn"),
        layers.embedding_column(columns["crossed"], 2, max_norm=0.1),
        layers.scattered_embedding_column("word", size=11, dimension=3, hash_key=7),
        *layers.shared_embedding_columns([columns["word"]], 2),
    ]


def _trained(tf, make, steps=2):
    """Output, gradients and variables after steps of descent; a seed decides the first values."""
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        output = make()
        loss = tf.reduce_sum(tf.square(output - 1.0)) * 0.1
        optimizer = tf.train.GradientDescentOptimizer(0.05)
        pairs = optimizer.compute_gradients(loss)
        dense = [tf.convert_to_tensor(gradient) for gradient, _ in pairs]
        train = optimizer.apply_gradients(pairs)
        with session(tf) as sess:
            first = sess.run([output, *dense])
            for _ in range(steps):
                sess.run(train)
            return {
                "output": first[0],
                "gradients": first[1:],
                "after": sess.run({v.op.name: v for v in tf.global_variables()}),
                "trainable": " ".join(v.op.name for v in tf.trainable_variables()),
            }


def case_cross(tf):
    def build():
        a, b = _sparse(tf, _TEXTS), _sparse(tf, [[5], [-7], [2**62], [-(2**62)]], tf.int64)
        c = tf.constant([[1, -2], [3, 4], [-5, 6], [7, 8]], tf.int64)
        found = {}
        for name, inputs in (("two", [a, b]), ("mixed", [c, a, b]), ("one", [a])):
            cross = tf.contrib.slim.sparse_feature_cross
            found[name + "_texts"] = cross(inputs)
            for key in (None, 11):
                for buckets in (0, 7, 1000):
                    hashed = cross(inputs, hashed_output=True, num_buckets=buckets, hash_key=key)
                    found[f"{name}_{key}_{buckets}"] = hashed
        return {name: tuple(value) for name, value in _parts(found).items()}

    return run(tf, build)


def _parts(found):
    return {name: (s.indices, s.values, s.dense_shape) for name, s in found.items()}


def case_network(tf):
    return _trained(
        tf, lambda: tf.contrib.layers.input_from_feature_columns(_features(tf), _deep(tf))
    )


def case_keys(tf):
    columns = _columns(tf)
    # The others have the address of a function in their key.
    keys = [
        columns[name].key for name in sorted(columns) if "price_b" not in name + columns[name].name
    ]
    return {"keys": keys, "names": [columns[name].name for name in sorted(columns)]}


def case_linear(tf):
    def separate():
        columns = _columns(tf)
        return tf.contrib.layers.weighted_sum_from_feature_columns(
            _features(tf), list(columns.values()), num_outputs=2
        )[0]

    def joint():
        columns = _columns(tf)
        return tf.contrib.layers.joint_weighted_sum_from_feature_columns(
            _features(tf), [columns["word"], columns["crossed"]], num_outputs=1
        )[0]

    return {"separate": _trained(tf, separate), "joint": _trained(tf, joint)}


def case_sequences(tf):
    def make():
        layers = tf.contrib.layers
        word = layers.sparse_column_with_hash_bucket("word", 10)
        features = {
            "number": tf.constant(numbers(2, 3, 4)),
            "word": tf.SparseTensor(
                [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 2, 0]], ["a", "b", "c", "a"], [2, 3, 2]
            ),
        }
        columns = [
            layers.real_valued_column("number"),
            layers.one_hot_column(word),
            layers.embedding_column(word, 2),
        ]
        return layers.sequence_input_from_feature_columns(features, columns)

    return _trained(tf, make)


def case_core_layers(tf):
    """tf.feature_column takes these columns too."""

    def deep():
        columns = _columns(tf)
        chosen = [
            columns["price"],
            columns["price_bucket"],
            tf.contrib.layers.one_hot_column(columns["listed"]),
            tf.contrib.layers.embedding_column(columns["id"], 3),
        ]
        return tf.feature_column.input_layer(_features(tf), chosen)

    def wide():
        columns = _columns(tf)
        chosen = [columns[name] for name in ("word", "price_bucket", "crossed", "weighted")]
        return tf.feature_column.linear_model(_features(tf), chosen)

    return {"deep": _trained(tf, deep), "wide": _trained(tf, wide)}


def case_parsing(tf):
    def example(words, price):
        feature = {
            "word": tf.train.Feature(bytes_list=tf.train.BytesList(value=words)),
            "price": tf.train.Feature(float_list=tf.train.FloatList(value=[price])),
        }
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    def build():
        columns = _columns(tf)
        serialized = tf.constant([example([b"a", b"bb"], 1.0), example([], 30.0)])
        chosen = [columns["word"], columns["price_bucket"], columns["crossed"]]
        parsed = tf.contrib.layers.parse_feature_columns_from_examples(serialized, chosen)
        spec = tf.contrib.layers.create_feature_spec_for_parsing(list(columns.values()))
        return {
            "word": tuple(_parts({"": parsed[chosen[0]]})[""]),
            "bucket": parsed[chosen[1]],
            "crossed": tuple(_parts({"": parsed[chosen[2]]})[""]),
            "spec": tf.constant(" ".join(f"{k}:{type(spec[k]).__name__}" for k in sorted(spec))),
        }

    return run(tf, build)


def case_targets(tf):
    layers = tf.contrib.layers

    def build():
        features = {"weight": tf.constant([1.0, 2.0, 0.5])}
        one, three = tf.constant(numbers(3, 1)), tf.constant(numbers(3, 3, seed=2))
        binary = tf.constant([[1], [0], [1]])
        cases = {
            "regression": (layers.regression_target(), one, tf.constant([1.0, 2.0, 3.0])),
            "binary": (layers.multi_class_target(2, weight_column_name="weight"), one, binary),
            "three": (layers.multi_class_target(3), three, tf.constant([[2], [0], [1]])),
            "svm": (tf.contrib.slim.binary_svm_target(), one, binary),
        }
        found = {}
        for name, (target, logits, labels) in cases.items():
            found[name] = {
                "loss": target.loss(logits, labels, features),
                "training_loss": target.training_loss(logits, labels, features),
                "predictions": target.logits_to_predictions(logits),
            }
        made = cases["binary"][0].get_eval_ops(features, one, binary)
        found["updates"] = {name: update for name, (_, update) in made.items()}
        return found

    return run(tf, build)


def case_scattered(tf):
    def build():
        weights = tf.constant(numbers(13))
        values = _sparse(tf, _TEXTS)
        slim = tf.contrib.slim
        found = {"dense": slim.scattered_embedding_lookup(weights, tf.constant(_TEXTS), 4)}
        for combiner in ("mean", "sqrtn", "sum"):
            found[combiner] = slim.scattered_embedding_lookup_sparse(
                weights, values, 3, combiner=combiner, hash_key=5
            )
        matrix = [tf.constant(numbers(4, 2)), tf.constant(numbers(4, 2, seed=2))]
        found["aggregated"] = slim.embedding_lookup_sparse_with_distributed_aggregation(
            matrix, _sparse(tf, [[5, 2], [1, -1], [6, 3], [7, 0]], tf.int64), None
        )
        return found

    return run(tf, build)


def case_errors(tf):
    """What columns refuse, in 1.15's words."""
    layers = tf.contrib.layers
    word = layers.sparse_column_with_hash_bucket("word", 10)
    calls = {
        "hash": lambda: layers.sparse_column_with_hash_bucket("word", 0),
        "type": lambda: layers.sparse_column_with_hash_bucket("word", 9, dtype=tf.float32),
        "crossed": lambda: layers.crossed_column([word], 10),
        "boundaries": lambda: layers.bucketized_column(layers.real_valued_column("x"), [2, 1]),
        "dimension": lambda: layers.real_valued_column("x", dimension=0),
        "default": lambda: layers.real_valued_column("x", default_value="a"),
        "in_network": lambda: layers.input_from_feature_columns(_features(tf), [word]),
        "twice": lambda: layers.check_feature_columns([word, word]),
        "shared": lambda: layers.shared_embedding_columns([], 2),
    }
    found = {}
    for name, call in calls.items():
        try:
            with tf.Graph().as_default():
                call()
        except (TypeError, ValueError) as error:
            kind = "ValueError" if isinstance(error, ValueError) else "TypeError"
            found[name] = kind + ": " + str(np.array(getattr(error, "cause", str(error))))
    return found
