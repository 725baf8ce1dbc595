"""``tf.contrib.estimator``: most of it had become ``tf.estimator`` by TensorFlow 1.15."""

from __future__ import annotations

from tpucompat.names.rows import Gone, Moved, Package, Row, StandIn

_TOWERS = Gone(
    "TPU101",
    "TensorFlow 2 removed multi-GPU towers together with tf.contrib.",
    "Pass RunConfig(train_distribute=tf.distribute.MirroredStrategy()) instead.",
)
_RNN = Gone(
    "TPU101",
    "TensorFlow 2 removed the canned recurrent Estimators together with tf.contrib.",
    "Write a model_fn with tf.nn.dynamic_rnn and a head of tf.contrib.estimator.",
)
_TREES = Gone(
    "TPU101",
    "Boosted trees were removed before tf.estimator itself.",
    "Train them with TensorFlow Decision Forests.",
)
_ANNOTATIONS = Gone(
    "TPU101",
    "TensorFlow 2 removed layer annotations together with tf.contrib.",
    "Use tf.estimator.DNNClassifier or DNNRegressor, which train the same way.",
)

ROWS: dict[str, Row] = {
    "contrib.estimator": Package(
        (
            "tpucompat.contrib.estimator",
            "tpucompat.idioms.estimator:api.experimental",
            "tpucompat.idioms.estimator:api",
        )
    ),
    # In tf.estimator itself, not in its experimental part.
    "contrib.estimator.add_metrics": Moved("tpucompat.idioms.estimator:api.add_metrics"),
    **{
        "contrib.estimator." + name: StandIn("tpucompat.contrib.estimator_heads:" + name)
        for name in ("multi_head", "multi_label_head")
    },
    "contrib.estimator.replicate_model_fn": _TOWERS,
    "contrib.estimator.TowerOptimizer": _TOWERS,
    "contrib.estimator.RNNClassifier": _RNN,
    "contrib.estimator.RNNEstimator": _RNN,
    "contrib.estimator.boosted_trees_classifier_train_in_memory": _TREES,
    "contrib.estimator.boosted_trees_regressor_train_in_memory": _TREES,
    "contrib.estimator.DNNClassifierWithLayerAnnotations": _ANNOTATIONS,
    "contrib.estimator.DNNRegressorWithLayerAnnotations": _ANNOTATIONS,
}
