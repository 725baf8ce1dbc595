"""What TPUEstimator's API becomes with the training loop that is written beside the script, as tables."""

from __future__ import annotations

from typing import Mapping

#: The module that is written beside the script.
MODULE = "training_loop"

_CLASSES: Mapping[str, str] = {
    "TPUEstimator": "Trainer",
    "TPUEstimatorSpec": "Spec",
    "RunConfig": "RunConfig",
    "TPUConfig": "TPUConfig",
    "InputPipelineConfig": "InputPipelineConfig",
}
COMPUTATIONS: Mapping[str, str] = {
    "CrossShardOptimizer": "CrossShardOptimizer",
    "cross_replica_sum": "cross_replica_sum",
}
_ESTIMATOR: Mapping[str, str] = {
    "ModeKeys": "ModeKeys",
    "Estimator": "Estimator",
    "EstimatorSpec": "Spec",
    "RunConfig": "RunConfig",
    "WarmStartSettings": "WarmStartSettings",
    "TrainSpec": "TrainSpec",
    "EvalSpec": "EvalSpec",
    "train_and_evaluate": "train_and_evaluate",
    **{
        f"export.{one}Output": f"{one}Output" for one in ("Predict", "Classification", "Regression")
    },
    **{
        f"export.build_{kind}_serving_input_receiver_fn": f"build_{kind}_serving_input_receiver_fn"
        for kind in ("raw", "parsing")
    },
    **{f"inputs.{kind}_input_fn": f"{kind}_input_fn" for kind in ("numpy", "pandas")},
    "export.ServingInputReceiver": "ServingInputReceiver",
    "export.TensorServingInputReceiver": "TensorServingInputReceiver",
    **{name: name for name in ("FinalExporter", "LatestExporter", "BestExporter")},
}
#: What stops a training -> the parameter that says when; in contrib.estimator, then in estimator.experimental.
STOPPING: Mapping[str, str] = {
    "make_early_stopping_hook": "should_stop_fn",
    **{f"stop_if_{one}_hook": "threshold" for one in ("higher", "lower")},
    **{f"stop_if_no_{one}_hook": f"max_steps_without_{one}" for one in ("increase", "decrease")},
}
#: The hook that says when the loop saves; the others are those of ``tf.compat.v1.train``.
SAVING = "CheckpointSaverHook"
#: Names that a file may have for another reason than an estimator.
ELSEWHERE: frozenset[str] = frozenset(
    (
        SAVING,
        "Saver",
        "init_from_checkpoint",
        "assign_from_checkpoint_fn",
        "from_saved_model",
        "profile",
    ),
)
#: Where the modules of TPUEstimator were, from 1.13 to 1.15.
_MODULES = (
    "tensorflow.contrib.tpu.python.tpu.",
    "tensorflow.python.tpu.",
    "tensorflow_estimator.python.estimator.tpu.",
)
CONTRIB: tuple[str, ...] = (
    "tensorflow.contrib.tpu.",
    "tensorflow.contrib.tpu.python.ops.tpu_ops.",
    "tensorflow.python.tpu.ops.tpu_ops.",
    *(head + f"tpu_{name}." for head in _MODULES for name in ("config", "estimator", "optimizer")),
)
#: Where AsyncCheckpointSaverHook was.
_ASYNC = ("tensorflow.contrib.tpu.", *(head + "async_checkpoint." for head in _MODULES))
_TPU = ("tensorflow.tpu.", "tensorflow.compat.v1.tpu.")
_CORE = ("tensorflow.estimator.", "tensorflow.compat.v1.estimator.")
#: Module below ``tensorflow.python.estimator`` -> what it defines of tf.estimator.
_PRIVATE: Mapping[str, tuple[str, ...]] = {
    "estimator": ("Estimator", "WarmStartSettings"),
    "model_fn": ("EstimatorSpec", "ModeKeys"),
    "mode_keys": ("ModeKeys",),
    "run_config": ("RunConfig",),
    "training": ("EvalSpec", "TrainSpec", "train_and_evaluate"),
    "inputs.numpy_io": ("numpy_input_fn",),
    "inputs.pandas_io": ("pandas_input_fn",),
    "exporter": ("BestExporter", "FinalExporter", "LatestExporter"),
    "export.export": (
        *("ServingInputReceiver", "TensorServingInputReceiver"),
        *(f"build_{kind}_serving_input_receiver_fn" for kind in ("raw", "parsing")),
    ),
    "export.export_output": ("PredictOutput", "ClassificationOutput", "RegressionOutput"),
}
_ROOTS = ("tensorflow.python.estimator.", "tensorflow_estimator.python.estimator.")

#: Dotted name of then -> name in the module.
NAMES: Mapping[str, str] = {
    **{head + was: now for head in CONTRIB for was, now in {**_CLASSES, **COMPUTATIONS}.items()},
    **{head + "tpu." + was: now for head in _CORE for was, now in _CLASSES.items()},
    **{head + was: now for head in _TPU for was, now in COMPUTATIONS.items()},
    **{head + was: now for head in _CORE for was, now in _ESTIMATOR.items()},
    **{
        f"{head}{module}.{was}": "Spec" if was == "EstimatorSpec" else was
        for head in _ROOTS
        for module, names in _PRIVATE.items()
        for was in names
    },
    **{
        f"{head}.train.{name}": name
        for head in ("tensorflow", "tensorflow.compat.v1")
        for name in ("init_from_checkpoint", "ExponentialMovingAverage", "Saver")
    },
    **{f"tensorflow.{head}profiler.profile": "profile" for head in ("", "compat.v1.")},
    "tensorflow.contrib.framework.init_from_checkpoint": "init_from_checkpoint",
    "tensorflow.contrib.framework.assign_from_checkpoint_fn": "assign_from_checkpoint_fn",
    **{
        f"{head}.{module}.{SAVING}": SAVING
        for head in ("tensorflow", "tensorflow.compat.v1")
        for module in ("train", "estimator")
    },
    **{head + "AsyncCheckpointSaverHook": SAVING for head in _ASYNC},
    **{
        f"tensorflow.{head}{name}": name
        for head in (
            "contrib.estimator.",
            "estimator.experimental.",
            "compat.v1.estimator.experimental.",
        )
        for name in STOPPING
    },
    "tensorflow.contrib.estimator.read_eval_metrics": "read_eval_metrics",
    # A host_call makes its writer in a function, which would end it.
    **{
        f"tensorflow.{head}summary.create_file_writer": "summary_writer"
        for head in ("", "compat.v2.", "compat.v1.compat.v2.")
    },
    "tensorflow.contrib.predictor.from_saved_model": "from_saved_model",
    **{
        f"tensorflow.{head}python.tpu.tpu_function.get_tpu_context": "get_tpu_context"
        for head in ("", "contrib.tpu.")
    },
    **{
        head
        + ".python.estimator.estimator._load_global_step_from_checkpoint_dir": "load_global_step"
        for head in ("tensorflow", "tensorflow_estimator")
    },
}
SUMMARY = "tensorflow.contrib.summary."
SUMMARIES: Mapping[str, str] = {
    "create_file_writer": MODULE + ".summary_writer",
    "create_summary_file_writer": MODULE + ".summary_writer",
    "always_record_summaries": "tf.summary.record_if",
    "never_record_summaries": "tf.summary.record_if",
    "record_summaries_every_n_global_steps": MODULE + ".record_every",
    "scalar": "tf.summary.scalar",
    "histogram": "tf.summary.histogram",
    "all_summary_ops": "tf.compat.v1.summary.all_v2_summary_ops",
}
RESOLVERS = tuple(
    head + "cluster_resolver." for head in ("contrib.", "distribute.", "compat.v1.distribute.")
)

#: Class -> its parameters that the module has, under the names they have there.
KEPT: Mapping[str, Mapping[str, str]] = {
    "RunConfig": {
        "cluster": "strategy",
        **{
            name: name
            for name in (
                "model_dir",
                "tf_random_seed",
                "save_checkpoints_steps",
                "save_checkpoints_secs",
                "save_summary_steps",
                "keep_checkpoint_max",
                "tpu_config",
            )
        },
        "master": "strategy",  # of scripts that have no cluster=
    },
    "TPUConfig": {
        name: name
        for name in (
            "iterations_per_loop",
            "per_host_input_for_training",
            "eval_training_input_configuration",
            "num_cores_per_replica",
            "experimental_host_call_every_n_steps",
        )
    },
    "Trainer": {
        name: name
        for name in (
            "model_fn",
            "model_dir",
            "config",
            "params",
            "use_tpu",
            "train_batch_size",
            "eval_batch_size",
            "predict_batch_size",
            "warm_start_from",
            "eval_on_tpu",
            "batch_axis",
        )
    },
    "Spec": {
        name: name
        for name in (
            "mode",
            "predictions",
            "loss",
            "train_op",
            "eval_metrics",
            "export_outputs",
            "scaffold_fn",
            "host_call",
            "training_hooks",
            "evaluation_hooks",
            "prediction_hooks",
        )
    },
    "EstimatorSpec": {
        **{
            name: name
            for name in (
                "mode",
                "predictions",
                "loss",
                "train_op",
                "eval_metric_ops",
                "export_outputs",
                "training_hooks",
                "evaluation_hooks",
                "prediction_hooks",
            )
        },
        "scaffold": "scaffold_fn",
        "training_chief_hooks": "training_hooks",
    },
    "Estimator": {
        name: name for name in ("model_fn", "model_dir", "config", "params", "warm_start_from")
    },
    "WarmStartSettings": {
        name: name
        for name in (
            "ckpt_to_initialize_from",
            "vars_to_warm_start",
            "var_name_to_vocab_info",
            "var_name_to_prev_var_name",
        )
    },
    "TrainSpec": {name: name for name in ("input_fn", "max_steps", "hooks", "saving_listeners")},
    "EvalSpec": {
        name: name for name in ("input_fn", "steps", "name", "hooks", "exporters", "throttle_secs")
    },
    "FinalExporter": {name: name for name in ("name", "serving_input_receiver_fn", "assets_extra")},
    "LatestExporter": {
        name: name
        for name in ("name", "serving_input_receiver_fn", "assets_extra", "exports_to_keep")
    },
    "BestExporter": {
        name: name
        for name in (
            *("name", "serving_input_receiver_fn", "event_file_pattern", "compare_fn"),
            *("assets_extra", "exports_to_keep"),
        )
    },
    "train_and_evaluate": {
        "estimator": "trainer",
        "train_spec": "train_spec",
        "eval_spec": "eval_spec",
    },
    "ServingInputReceiver": {name: name for name in ("features", "receiver_tensors")},
    "TensorServingInputReceiver": {name: name for name in ("features", "receiver_tensors")},
    "PredictOutput": {"outputs": "outputs"},
    "ClassificationOutput": {"scores": "scores", "classes": "classes"},
    "RegressionOutput": {"value": "value"},
    "read_eval_metrics": {"eval_dir": "eval_dir"},
    **{
        name: {
            one: one
            for one in (
                *("estimator", "metric_name", when, "eval_dir", "min_steps"),
                *("run_every_secs", "run_every_steps"),
            )
        }
        for name, when in STOPPING.items()
    },
    "build_raw_serving_input_receiver_fn": {
        name: name for name in ("features", "default_batch_size")
    },
    "build_parsing_serving_input_receiver_fn": {
        name: name for name in ("feature_spec", "default_batch_size")
    },
    "init_from_checkpoint": {
        "ckpt_dir_or_file": "checkpoint",
        "assignment_map": "assignment_map",
    },
    "assign_from_checkpoint_fn": {
        name: name
        for name in ("model_path", "var_list", "ignore_missing_vars", "reshape_variables")
    },
    "ExponentialMovingAverage": {
        name: name for name in ("decay", "num_updates", "zero_debias", "name")
    },
    "CheckpointSaverHook": {
        name: name for name in ("checkpoint_dir", "save_secs", "save_steps", "listeners")
    },
    "from_saved_model": {
        "export_dir": "folder",
        "signature_def_key": "signature",
    },
    "CrossShardOptimizer": {"opt": "optimizer", "reduction": "reduction", "name": "name"},
    "get_tpu_context": {},
    "cross_replica_sum": {"x": "tensor", "group_assignment": "groups"},
    "load_global_step": {"checkpoint_dir": "folder"},
    "summary_writer": {
        name: name for name in ("logdir", "max_queue", "flush_millis", "filename_suffix", "name")
    },
    "record_every": {"n": "steps", "global_step": "global_step"},
    ".train": {
        name: name for name in ("input_fn", "hooks", "steps", "max_steps", "saving_listeners")
    },
    ".evaluate": {name: name for name in ("input_fn", "steps", "hooks", "checkpoint_path", "name")},
    ".predict": {
        name: name
        for name in (
            *("input_fn", "predict_keys", "hooks", "checkpoint_path", "yield_single_examples"),
        )
    },
    ".export_saved_model": {
        name: name
        for name in (
            *("export_dir_base", "serving_input_receiver_fn", "assets_extra", "checkpoint_path"),
        )
    },
    "make_strategy": {name: name for name in ("tpu", "zone", "project")},
    "summary": {"name": "name", "tensor": "data", "data": "data", "step": "step"},
}
#: Parameters that TensorFlow 2 has no use for.
DROPPED: Mapping[str, frozenset[str]] = {
    "RunConfig": frozenset(
        (
            "evaluation_master",
            "session_config",
            "log_step_count_steps",
            "keep_checkpoint_every_n_hours",
            "protocol",
            "device_fn",
            "experimental_max_worker_delay_secs",
            "session_creation_timeout_secs",
        )
    ),
    "TPUConfig": frozenset(
        # The last one is about replicas of several cores.
        ("num_shards", "tpu_job_name", "initial_infeed_sleep_secs", "input_partition_dims")
    ),
    "Trainer": frozenset(
        (
            *("export_to_tpu", "export_to_cpu", "export_saved_model_api_version"),
            # It is about exports for a TPU alone.
            "experimental_exported_model_uses_all_cores",
        )
    ),
    "FinalExporter": frozenset(("as_text",)),
    "LatestExporter": frozenset(("as_text",)),
    "BestExporter": frozenset(("as_text",)),
    "EvalSpec": frozenset(("start_delay_secs",)),
    "cross_replica_sum": frozenset(("name",)),
    ".export_saved_model": frozenset(("strip_default_attrs", "as_text")),
    "make_strategy": frozenset(
        ("job_name", "coordinator_name", "coordinator_address", "credentials")
    ),
}
#: How many positional arguments mean the same in the module.
POSITIONAL: Mapping[str, int] = {
    "RunConfig": 0,
    "TPUConfig": 1,
    "Trainer": 8,
    "Spec": 8,
    "EstimatorSpec": 4,
    "Estimator": 5,
    "WarmStartSettings": 4,
    "TrainSpec": 4,
    "EvalSpec": 5,
    "FinalExporter": 3,
    "LatestExporter": 3,
    "BestExporter": 5,
    "train_and_evaluate": 3,
    "ServingInputReceiver": 2,
    "TensorServingInputReceiver": 2,
    "PredictOutput": 1,
    "ClassificationOutput": 2,
    "RegressionOutput": 1,
    "read_eval_metrics": 1,
    "make_early_stopping_hook": 4,
    **{name: 7 for name in STOPPING if name.startswith("stop_if_")},
    "build_raw_serving_input_receiver_fn": 2,
    "build_parsing_serving_input_receiver_fn": 2,
    "init_from_checkpoint": 2,
    "assign_from_checkpoint_fn": 4,
    "ExponentialMovingAverage": 4,
    "get_tpu_context": 0,
    "CheckpointSaverHook": 3,
    "from_saved_model": 2,
    "CrossShardOptimizer": 3,
    "cross_replica_sum": 2,
    "load_global_step": 1,
    "summary_writer": 1,
    "record_every": 2,
    ".train": 5,
    ".evaluate": 5,
    ".predict": 5,
    ".export_saved_model": 3,
    "make_strategy": 3,
    "summary": 2,
}
SESSIONS = (".tpu.shard", ".tpu.batch_parallel", ".tpu.replicate", ".tpu.rewrite")
#: Keyword arguments that tell a method of an estimator from one of Keras.
OF_ESTIMATORS = ("hooks", "saving_listeners", "serving_input_receiver_fn")
METHODS = {
    "train": ".train",
    "evaluate": ".evaluate",
    "predict": ".predict",
    "export_saved_model": ".export_saved_model",
    "export_savedmodel": ".export_saved_model",
}
