"""``tf.contrib.training``: hyperparameters of ours, training loops from tf-slim."""

from __future__ import annotations

from tpucompat.names.rows import Gone, Moved, Package, Row, StandIn

_OURS = "tpucompat.contrib.training"
_BUCKETS = "tpucompat.contrib.training_buckets"
_HPARAM = "tpucompat.contrib.hparam"
_LOOP = "tpucompat.contrib.slim:training.training"
_EVALUATION = "tpucompat.contrib.slim:training.evaluation"

_NAMES: dict[str, Row] = {
    **{
        name: StandIn(_OURS + ":" + name)
        for name in (
            "GreedyLoadBalancingStrategy",
            "RandomStrategy",
            "byte_size_load_fn",
        )
    },
    **{name: StandIn(_BUCKETS + ":" + name) for name in ("bucket", "bucket_by_sequence_length")},
    **{name: StandIn(_HPARAM + ":" + name) for name in ("HParams", "parse_values")},
    **{
        name: Moved(_LOOP + "." + name)
        for name in (
            "add_gradients_summaries",
            "clip_gradient_norms",
            "clip_gradient_norms_fn",
            "create_train_op",
            "multiply_gradients",
            "train",
        )
    },
    **{
        name: Moved(_EVALUATION + "." + name)
        for name in (
            "StopAfterNEvalsHook",
            "SummaryAtEndHook",
            "evaluate_once",
            "evaluate_repeatedly",
            "get_or_create_eval_step",
        )
    },
    "checkpoints_iterator": Moved("{tf}:train.checkpoints_iterator"),
    "wait_for_new_checkpoint": Moved(
        "tensorflow.python.training.checkpoint_utils:wait_for_new_checkpoint"
    ),
    "FeedingQueueRunner": Gone(
        "TPU101",
        "It was a private class of tf.estimator.",
        "Use tf.estimator.inputs.numpy_input_fn or pandas_input_fn.",
    ),
    "Tuner": Gone(
        "TPU101",
        "It was an interface without an implementation in TensorFlow.",
        "Use the package keras-tuner, or a loop over HParams.",
    ),
}

ROWS: dict[str, Row] = {
    "contrib.training": Package((_OURS, _HPARAM, _LOOP, _EVALUATION)),
    **{"contrib.training." + name: row for name, row in _NAMES.items()},
    # Modules that scripts import by name.
    **{
        "contrib.training.python.training." + module: Package((_OURS, _HPARAM, _LOOP, _EVALUATION))
        for module in ("hparam", "training", "evaluation", "device_setter")
    },
    "contrib.training.python.training.bucket_ops": Package(_BUCKETS),
    **{
        f"contrib.training.python.training.{module}.{name}": _NAMES[name]
        for module, name in (
            ("evaluation", "checkpoints_iterator"),
            ("evaluation", "wait_for_new_checkpoint"),
        )
    },
    "contrib.slim.evaluation": Package("tpucompat.contrib.slim:tf_slim.evaluation"),
    "contrib.slim.evaluation.checkpoints_iterator": _NAMES["checkpoints_iterator"],
    "contrib.slim.evaluation.wait_for_new_checkpoint": _NAMES["wait_for_new_checkpoint"],
}
