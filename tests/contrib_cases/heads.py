"""Calls of the heads of ``tf.contrib.estimator`` for several labels and several aims."""

from __future__ import annotations

import tempfile

import numpy as np

NUMBERS = np.random.RandomState(0)
X = NUMBERS.normal(size=(16, 3)).astype("float32")
MANY = (NUMBERS.uniform(size=(16, 4)) > 0.5).astype("int64")
NUMBER = NUMBERS.normal(size=(16, 1)).astype("float32")
CLASS = NUMBERS.randint(0, 3, size=(16, 1))
WEIGHTS = NUMBERS.uniform(0.5, 1.5, size=(16, 1)).astype("float32")


def _model(tf, head):
    def model_fn(features, labels, mode):
        kernel = tf.get_variable("k", [3, head.logits_dimension], initializer=tf.ones_initializer())
        scale = tf.constant(np.linspace(-1, 1, head.logits_dimension), tf.float32)
        return head.create_estimator_spec(
            features=features,
            mode=mode,
            labels=labels,
            logits=tf.matmul(features["x"], kernel) * scale,
            optimizer=tf.train.GradientDescentOptimizer(0.1) if mode == "train" else None,
        )

    return model_fn


def _results(tf, head, labels, canned=False):
    """What three steps, an evaluation and a prediction give."""

    def input_fn():
        features = {"x": tf.constant(X), "w": tf.constant(WEIGHTS)}
        return tf.data.Dataset.from_tensors((features, labels())).repeat(3)

    if canned:
        columns = [tf.feature_column.numeric_column("x", [3])]
        estimator = tf.estimator.LinearEstimator(head, columns, tempfile.mkdtemp())
    else:
        estimator = tf.estimator.Estimator(_model(tf, head), tempfile.mkdtemp())
    estimator.train(input_fn)
    predicted = next(iter(estimator.predict(input_fn)))
    return {
        "name": str(head.name),
        "evaluated": estimator.evaluate(input_fn, steps=2),
        "predicted": {"/".join(k) if isinstance(k, tuple) else k: v for k, v in predicted.items()},
    }


def _sparse(tf, values=None):
    indices = np.argwhere(MANY)
    words = indices[:, 1] if values is None else [values[one] for one in indices[:, 1]]
    return lambda: tf.SparseTensor(indices, tf.constant(words), MANY.shape)


def case_multi_label_head(tf):
    make = tf.contrib.estimator.multi_label_head
    weighted = make(
        4,
        weight_column="w",
        thresholds=[0.3, 0.6],
        loss_reduction=tf.losses.Reduction.SUM,
        classes_for_class_based_metrics=[1, 3],
        name="h",
    )
    words = ["a", "b", "c", "d"]
    named = make(4, label_vocabulary=words, classes_for_class_based_metrics=["b"])
    return {
        "dense": _results(tf, make(4), lambda: tf.constant(MANY)),
        "weighted": _results(tf, weighted, lambda: tf.constant(MANY)),
        "sparse": _results(tf, make(4), _sparse(tf)),
        "words": _results(tf, named, _sparse(tf, words)),
        "canned": _results(tf, make(4), lambda: tf.constant(MANY), canned=True),
    }


def _several(tf, weights=None):
    heads = [
        tf.contrib.estimator.multi_label_head(4, name="many"),
        tf.contrib.estimator.regression_head(name="number", weight_column="w"),
        tf.contrib.estimator.multi_class_head(3, name="class"),
    ]
    return tf.contrib.estimator.multi_head(heads, weights)


def case_multi_head(tf):
    def labels():
        arrays = {"many": MANY, "number": NUMBER, "class": CLASS}
        return {name: tf.constant(array) for name, array in arrays.items()}

    with tf.Graph().as_default(), tf.Session() as session:
        head, features = _several(tf, [1.0, 0.5, 2.0]), {"w": tf.constant(WEIGHTS)}
        logits = tf.constant(np.tile(X, (1, 3))[:, :8])
        loss = head.create_loss(features, "train", logits, labels())
        exported = head.create_estimator_spec(features, "infer", logits).export_outputs
        session.run(tf.tables_initializer())
        parts = session.run(loss._asdict())
    return {
        "same weights": _results(tf, _several(tf), labels),
        "canned": _results(tf, _several(tf, [1.0, 0.5, 2.0]), labels, canned=True),
        "loss": parts,
        "exported": {k: sorted(getattr(v, "outputs", ["-"])) for k, v in exported.items()},
    }


def case_refused(tf):
    estimator = tf.contrib.estimator
    calls = (
        lambda: estimator.multi_head([]),
        lambda: estimator.multi_head([estimator.regression_head()]),
        lambda: estimator.multi_head([estimator.regression_head(name="a")], [1.0, 2.0]),
        lambda: estimator.multi_label_head(1),
        lambda: estimator.multi_label_head(3, thresholds=[1.5]),
        lambda: estimator.multi_label_head(3, loss_reduction="none"),
        lambda: estimator.multi_label_head(3, classes_for_class_based_metrics=[3]),
        lambda: estimator.multi_label_head(3, label_vocabulary=["a"]),
    )
    refused = []
    for call in calls:
        try:
            call()
        except ValueError:
            refused.append("ValueError")
    return refused
