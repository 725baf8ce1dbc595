"""The smaller packages of ``tf.contrib``: what moved under other names, and a few stand-ins."""

from __future__ import annotations

from tpucompat.names.rows import Gone, Moved, Package, Row, StandIn

_PYTHON = "tensorflow.python."
_OURS = "tpucompat.contrib."


def _moved(package: str, target: str, *names: str) -> dict[str, Row]:
    """Rows for names that have the same names below ``target``."""
    between = "." if ":" in target else ":"
    return {f"contrib.{package}.{name}": Moved(target + between + name) for name in names}


def _stand_ins(package: str, module: str, *names: str) -> dict[str, Row]:
    """Rows for names that a module of ours has."""
    return {f"contrib.{package}.{name}": StandIn(f"{_OURS}{module}:{name}") for name in names}


def _gone(package: str, row: Gone, *names: str) -> dict[str, Row]:
    """Rows for names that are gone for one reason."""
    return {f"contrib.{package}.{name}": row for name in names}


_EAGER_OLD = Gone(
    "TPU101",
    "It belonged to the eager mode of TensorFlow 1.x before Keras and tf.train.Checkpoint took over.",
    "Use tf.keras.Model, tf.keras.metrics and tf.train.Checkpoint; for nan checks "
    "tf.debugging.enable_check_numerics.",
)

_EAGER: dict[str, Row] = {
    "contrib.eager": Package((_OURS + "eager", "{tf}", _PYTHON + "eager.context")),
    "contrib.eager.Checkpoint": Moved("{tf}:train.Checkpoint"),
    "contrib.eager.Variable": Moved(_PYTHON + "ops.resource_variable_ops:ResourceVariable"),
    "contrib.eager.EagerVariableStore": Moved(_PYTHON + "ops.variable_scope:EagerVariableStore"),
    **{
        "contrib.eager." + name: StandIn("tpucompat.standins.eager_start:enable_eager_execution")
        for name in ("enable_eager_execution", "enable_remote_eager_execution")
    },
    "contrib.eager.in_eager_mode": Moved("{tf}:executing_eagerly"),
    "contrib.eager.implicit_gradients": Moved(_PYTHON + "eager.backprop:implicit_grad"),
    "contrib.eager.implicit_value_and_gradients": Moved(
        _PYTHON + "eager.backprop:implicit_val_and_grad"
    ),
    "contrib.eager.gradients_function": Moved(_PYTHON + "eager.backprop:gradients_function"),
    "contrib.eager.value_and_gradients_function": Moved(
        _PYTHON + "eager.backprop:val_and_grad_function"
    ),
    "contrib.eager.py_func": Moved("{tf}:py_function"),
    "contrib.eager.connect_to_remote_host": Moved("{tf}:config.experimental_connect_to_host"),
    "contrib.eager.run_test_in_graph_and_eager_modes": StandIn(
        "tpucompat.standins.test_util:run_in_graph_and_eager_modes"
    ),
    "contrib.eager.run_all_tests_in_graph_and_eager_modes": Moved(
        _PYTHON + "framework.test_util:run_all_in_graph_and_eager_modes"
    ),
    **_moved(
        "eager",
        "{tf}",
        "GradientTape",
        "TensorSpec",
        "custom_gradient",
        "executing_eagerly",
        "function",
        "make_template",
    ),
    **_moved(
        "eager",
        _PYTHON + "eager.context",
        "ASYNC",
        "DEVICE_PLACEMENT_EXPLICIT",
        "DEVICE_PLACEMENT_SILENT",
        "DEVICE_PLACEMENT_WARN",
        "SYNC",
        "async_clear_error",
        "async_wait",
        "execution_mode",
        "set_execution_mode",
        "set_server_def",
    ),
    **_stand_ins(
        "eager", "eager", "Checkpointable", "Iterator", "defun", "list_devices", "num_gpus", "run"
    ),
    "contrib.eager.metrics": Package(_OURS + "eager_metrics"),
    "contrib.eager.python.metrics": Package(_OURS + "eager_metrics"),
    "contrib.eager.python.metrics_impl": Package(_OURS + "eager_metrics"),
    **_stand_ins(
        "eager",
        "eager_saver",
        "Saver",
        "get_optimizer_variables",
        "restore_variables_on_create",
    ),
    **_gone(
        "eager",
        _EAGER_OLD,
        "ExecutionCallback",
        "Network",
        "Sequential",
        "add_execution_callback",
        "clear_execution_callbacks",
        "errstate",
        "inf_callback",
        "inf_nan_callback",
        "nan_callback",
        "restore_network_checkpoint",
        "save_network_checkpoint",
        "seterr",
    ),
}

_PROFILE_CONTEXT = Gone(
    "TPU101",
    "TensorFlow 2 profiles whole steps.",
    "Use tf.train.ProfilerHook, tf.profiler.Profiler or the TensorBoard profiler.",
)

_CLOUD_DATABASES = Gone(
    "TPU101",
    "TensorFlow 2 has no client for Bigtable or BigQuery.",
    "Use the package tensorflow-io (tfio.bigquery, tfio.bigtable), or export the table to TFRecord files.",
)

ROWS: dict[str, Row] = {
    **_EAGER,
    # Predictions, files and services
    "contrib.predictor": Package(_OURS + "predictor"),
    "contrib.predictor.predictor": Package(_OURS + "predictor"),
    "contrib.predictor.saved_model_predictor": Package(_OURS + "predictor"),
    "contrib.predictor.core_estimator_predictor": Package(_OURS + "predictor"),
    "contrib.predictor.from_contrib_estimator": Gone(
        "TPU101", "The Estimators of tf.contrib.learn were removed.", "Use from_estimator."
    ),
    **_stand_ins("predictor", "predictor", "from_estimator", "from_saved_model"),
    "contrib.cloud": Package(_OURS + "cloud"),
    **_stand_ins(
        "cloud",
        "cloud",
        "BlockCacheParams",
        "ConfigureGcsHook",
        "configure_colab_session",
        "configure_gcs",
    ),
    **_gone("cloud", _CLOUD_DATABASES, "BigQueryReader", "BigtableClient", "BigtableTable"),
    "contrib.tensorboard.plugins.projector": Package(_OURS + "projector"),
    # Functions
    "contrib.util": Package(_PYTHON + "framework.tensor_util"),
    "contrib.util.constant_value": Moved("{tf}:get_static_value"),
    **_moved("util", "{tf}", "make_ndarray", "make_tensor_proto"),
    **_moved(
        "util",
        _PYTHON + "framework.meta_graph",
        "ops_used_by_graph_def",
        "stripped_op_list_for_graph",
    ),
    "contrib.util.loader.load_op_library": Moved("{tf}:load_op_library"),
    "contrib.stateless": Package("{tf}:random"),
    "contrib.stateless.stateless_multinomial": Moved("{tf}:random.stateless_multinomial"),
    "contrib.stateless.stateless_random_normal": Moved("{tf}:random.stateless_normal"),
    "contrib.stateless.stateless_random_uniform": Moved("{tf}:random.stateless_uniform"),
    "contrib.stateless.stateless_truncated_normal": Moved("{tf}:random.stateless_truncated_normal"),
    "contrib.signal": Package("{tf}:signal"),
    **_moved(
        "signal",
        "{tf}:signal",
        "frame",
        "hamming_window",
        "hann_window",
        "inverse_stft",
        "inverse_stft_window_fn",
        "linear_to_mel_weight_matrix",
        "mfccs_from_log_mel_spectrograms",
        "overlap_and_add",
        "stft",
    ),
    "contrib.nn": Package((_OURS + "nn", "{tf}:nn")),
    "contrib.nn.conv1d_transpose": Moved("{tf}:nn.conv1d_transpose"),
    "contrib.nn.nth_element": StandIn(_OURS + "nn:nth_element"),
    **_gone(
        "nn",
        Gone(
            "TPU101",
            "It relied on private parts of TensorFlow that changed.",
            "Use tf.nn.sampled_softmax_loss.",
        ),
        "rank_sampled_softmax_loss",
        "sampled_sparse_softmax_loss",
    ),
    "contrib.recurrent": Package(_OURS + "recurrent"),
    **_stand_ins(
        "recurrent", "recurrent", "Recurrent", "bidirectional_functional_rnn", "functional_rnn"
    ),
    "contrib.linalg": Package("{tf}:linalg"),
    "contrib.proto.decode_proto": Moved("{tf}:io.decode_proto"),
    "contrib.proto.encode_proto": Moved("{tf}:io.encode_proto"),
    "contrib.quantization": Package(
        (
            "{tf}:quantization",
            *(_PYTHON + f"ops.gen_{kind}_ops" for kind in ("array", "math", "nn")),
        ),
        rest=Gone(
            "TPU101",
            "tf.contrib.quantization showed all generated operations, and this one was renamed.",
            "Use the function of its name in tf, tf.nn, tf.math or tf.raw_ops.",
        ),
    ),
    **_moved(
        "deprecated",
        _PYTHON + "ops.logging_ops",
        "audio_summary",
        "histogram_summary",
        "image_summary",
        "merge_all_summaries",
        "merge_summary",
        "scalar_summary",
    ),
    # Compilers, placement, profiles
    "contrib.compiler.jit.experimental_jit_scope": Moved("{tf}:xla.experimental.jit_scope"),
    "contrib.compiler.xla.compile": Moved("{tf}:xla.experimental.compile"),
    **_gone(
        "compiler.xla",
        Gone(
            "TPU101",
            "Compiling a whole tf.estimator is no longer supported.",
            "Use tf.function(jit_compile=True), or tf.xla.experimental.compile in the model_fn.",
        ),
        "check_function_argument_count",
        "estimator_model_fn",
    ),
    "contrib.autograph": Package((_PYTHON + "autograph", "{tf}:autograph")),
    **_moved("autograph", "{tf}:autograph", "to_code", "to_graph"),
    **_moved("autograph", "{tf}:autograph.experimental", "Feature", "do_not_convert"),
    **_gone(
        "autograph",
        Gone(
            "TPU101",
            "AutoGraph no longer accepts hints for lists and loops.",
            "Use a tf.TensorArray for a list, and tf.autograph.experimental.set_loop_options for a loop.",
        ),
        "set_element_type",
        "set_loop_options",
        "stack",
    ),
    "contrib.autograph.convert": Moved(_PYTHON + "autograph.impl.api:convert"),
    "contrib.autograph.converted_call": Moved(_PYTHON + "autograph.impl.api:converted_call"),
    "contrib.autograph.AutoGraphError": Moved(_PYTHON + "autograph.impl.api:AutoGraphError"),
    "contrib.autograph.StackTraceMapper": Moved(_PYTHON + "autograph.impl.api:StackTraceMapper"),
    "contrib.autograph.ConversionOptions": Moved(
        _PYTHON + "autograph.core.converter:ConversionOptions"
    ),
    "contrib.batching.batch_function": Moved("{tf}:nondifferentiable_batch_function"),
    "contrib.staging.StagingArea": Moved(_PYTHON + "ops.data_flow_ops:StagingArea"),
    "contrib.hooks.ProfilerHook": Moved("{tf}:train.ProfilerHook"),
    **_gone(
        "tpu.profiler",
        Gone(
            "TPU101",
            "TensorFlow 2 does not expose trace records.",
            "Use tf.profiler.experimental.Profile and the TensorBoard profiler.",
        ),
        "Device",
        "Resource",
        "Trace",
        "TraceEvent",
    ),
    "contrib.tfprof": Package("{tf}:profiler", rest=_PROFILE_CONTEXT),
    "contrib.tfprof.model_analyzer": Package(
        (_OURS + "tfprof", "{tf}:profiler"), rest=_PROFILE_CONTEXT
    ),
    "contrib.tfprof.tfprof_logger.write_op_log": Moved("{tf}:profiler.write_op_log"),
    "contrib.all_reduce": Package(_PYTHON + "distribute.v1.all_reduce"),
    "contrib.all_reduce.python.all_reduce": Package(_PYTHON + "distribute.v1.all_reduce"),
    # Models and checkpoints
    "contrib.checkpoint.CheckpointManager": Moved("{tf}:train.CheckpointManager"),
    "contrib.checkpoint.Checkpointable": StandIn(_OURS + "eager:Checkpointable"),
    "contrib.checkpoint.CheckpointableObjectGraph": Moved(
        "tensorflow.core.protobuf.trackable_object_graph_pb2:TrackableObjectGraph"
    ),
    "contrib.optimizer_v2": Package("{tf}:train"),
    **_moved(
        "optimizer_v2",
        "{tf}:train",
        "AdadeltaOptimizer",
        "AdagradOptimizer",
        "AdamOptimizer",
        "GradientDescentOptimizer",
        "MomentumOptimizer",
    ),
    "contrib.optimizer_v2.OptimizerV2": Moved("{tf}:train.Optimizer"),
    "contrib.feature_column": Package("{tf}:feature_column"),
    "contrib.lite": Package("{tf}:lite"),
}
