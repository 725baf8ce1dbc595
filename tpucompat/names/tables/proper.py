"""TensorFlow proper, without ``tf.contrib``: the names that moved or are gone, each with its reason."""

from __future__ import annotations

from tpucompat.names.rows import Gone, Moved, Package, Row, StandIn


def _gone(names: str, reason: str, instead: str, since: str = "") -> dict[str, Row]:
    """Rows of one reason for names below one module: ``"keras.experimental: A B"``."""
    module, _, last = names.partition(":")
    row = Gone("TPU101", reason, instead, since)
    return {f"{module}.{name}": row for name in last.split()}


_EMBEDDINGS = " ".join(
    verb + "TPUEmbedding" + optimizer + "ParametersGradAccumDebug"
    for verb in ("Load", "Retrieve")
    for optimizer in (
        "ADAM",
        "Adadelta",
        "Adagrad",
        "FTRL",
        "Momentum",
        "ProximalAdagrad",
        "RMSProp",
    )
)
_POOLS = "keras.experimental:terminate_keras_multiprocessing_pools"
_PIPELINE_STATE = (
    "CheckpointInputPipelineHook",
    "TensorFlow 2.16 removed it with tf.estimator.",
    (
        "Remove it: a resumed run restarts its input. tf.train.Checkpoint can save an eager "
        "iterator."
    ),
    "2.16",
)

# tensorflow.python.layers of TensorFlow 2 is on a frozen Keras of its own; tf.layers is on that of tf.keras.
_LAYERS = "{tf}:layers"
_LAYER_MODULES = {
    "base": {},
    "convolutional": {
        "Convolution1D": "Conv1D",
        "Convolution2D": "Conv2D",
        "Convolution2DTranspose": "Conv2DTranspose",
        "Convolution3D": "Conv3D",
        "Convolution3DTranspose": "Conv3DTranspose",
        "Deconv2D": "Conv2DTranspose",
        "Deconv3D": "Conv3DTranspose",
        "Deconvolution2D": "Conv2DTranspose",
        "Deconvolution3D": "Conv3DTranspose",
        "SeparableConvolution1D": "SeparableConv1D",
        "SeparableConvolution2D": "SeparableConv2D",
        "convolution1d": "conv1d",
        "convolution2d": "conv2d",
        "convolution2d_transpose": "conv2d_transpose",
        "convolution3d": "conv3d",
        "convolution3d_transpose": "conv3d_transpose",
        "deconv2d": "conv2d_transpose",
        "deconv3d": "conv3d_transpose",
        "deconvolution2d": "conv2d_transpose",
        "deconvolution3d": "conv3d_transpose",
        "separable_convolution2d": "separable_conv2d",
    },
    "core": {"FullyConnected": "Dense", "fully_connected": "dense"},
    "layers": {},
    "normalization": {"BatchNorm": "BatchNormalization", "batch_norm": "batch_normalization"},
    "pooling": {
        "AvgPool2D": "AveragePooling2D",
        "MaxPool2D": "MaxPooling2D",
        "avg_pool2d": "average_pooling2d",
        "max_pool2d": "max_pooling2d",
    },
}


def _layers() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for module, aliases in _LAYER_MODULES.items():
        rows["python.layers." + module] = Package(_LAYERS)
        rows.update(
            (f"python.layers.{module}.{name}", Moved(_LAYERS + "." + now))
            for name, now in aliases.items()
        )
    return rows


ROWS: dict[str, Row] = {
    **_layers(),
    "config.experimental_list_devices": StandIn("tpucompat.contrib.eager:list_devices"),
    "enable_eager_execution": StandIn("tpucompat.standins.eager_start:enable_eager_execution"),
    **{
        name: StandIn("tpucompat.engines.resource_variables:" + name)
        for name in ("enable_resource_variables", "disable_resource_variables")
    },
    **{
        name: StandIn("tpucompat.standins.python_functions:py_func")
        for name in ("py_func", "python.ops.script_ops.py_func")
    },
    **{
        "math." + name: StandIn("tpucompat.standins.special_functions:" + name)
        for name in ("bessel_i0", "bessel_i1")
    },
    **{
        name: StandIn("tpucompat.standins.tensors:Tensor", varies=True)
        for name in ("Tensor", "python.framework.ops.Tensor")
    },
    "train.Int64List": StandIn("tpucompat.standins.messages:Int64List"),
    # Scripts read checkpoints by the native module.
    **{
        module + ".NewCheckpointReader": Moved("{tf}:train.NewCheckpointReader")
        for module in ("pywrap_tensorflow", "python.pywrap_tensorflow")
    },
    "python.framework.ops.register_dense_tensor_like_type": StandIn(
        "tpucompat.standins.tensors:register_dense_tensor_like_type"
    ),
    **{
        "python.framework.tensor_shape." + name: StandIn("tpucompat.standins.shapes:" + name)
        for name in ("matrix", "scalar", "vector")
    },
    "python.framework.test_util.run_in_graph_and_eager_modes": StandIn(
        "tpucompat.standins.test_util:run_in_graph_and_eager_modes"
    ),
    # The profiler for eager code, which graph scripts imported too; public since 2.2, gone from here in 2.17.
    "python.eager.profiler.start_profiler_server": Moved(
        "tensorflow:profiler.experimental.server.start", since="2.17"
    ),
    "python.eager.profiler.Profiler": Moved(
        "tensorflow:profiler.experimental.Profile", since="2.17"
    ),
    **{
        "python.eager.profiler." + name: Gone(
            "TPU101",
            "The TensorFlow 2 profiler writes its own output.",
            "Use tf.profiler.experimental.start(logdir) and tf.profiler.experimental.stop().",
            since="2.17",
        )
        for name in ("maybe_create_event_file", "save", "start", "stop")
    },
    # Keras took its layers of feature columns along in 2.6.
    **{
        "python.feature_column." + module: Package(
            ("tensorflow.python.feature_column." + module, "{keras}.feature_column." + module)
        )
        for module in ("dense_features", "dense_features_v2")
    },
    # 2.6 and 2.7 have others there, of the Keras that they no longer use.
    "python.feature_column.feature_column_lib.DenseFeatures": Moved(
        "{tf}:keras.layers.DenseFeatures"
    ),
    "python.feature_column.feature_column_lib.SequenceFeatures": Moved(
        "{tf}:keras.experimental.SequenceFeatures"
    ),
    # 1.15 gave the module its other name.
    "python.util.deprecation_wrapper": Moved("tensorflow.python.util.module_wrapper"),
    # tf.distribute put its own function there, which the list of private moves cannot see.
    "python.ops.resource_variable_ops._from_proto_fn": Moved(
        "tensorflow.python.ops.ref_variable:_from_proto_fn", since="2.15"
    ),
    **_gone(
        "data.experimental:StatsAggregator StatsOptions bytes_produced_stats latency_stats",
        "TensorFlow 2 does not record input pipeline statistics.",
        "Use the TensorBoard profiler, or tf.data autotuning.",
    ),
    **_gone(
        "data.experimental:MapVectorizationOptions",
        "tf.data no longer vectorizes maps.",
        "Map after batch().",
    ),
    **_gone("data.experimental:" + _PIPELINE_STATE[0], *_PIPELINE_STATE[1:]),
    **_gone("contrib.data:" + _PIPELINE_STATE[0], *_PIPELINE_STATE[1:]),
    **_gone(
        "estimator:BoostedTreesClassifier BoostedTreesEstimator BoostedTreesRegressor",
        "Boosted trees were removed before tf.estimator itself.",
        "Use the package tensorflow-decision-forests, or xgboost.",
    ),
    **{
        "keras.experimental." + name: StandIn("tpucompat.standins.keras_experimental:" + name)
        for name in ("LinearCosineDecay", "NoisyLinearCosineDecay", "PeepholeLSTMCell")
    },
    **{
        "keras.experimental." + name: StandIn("tpucompat.contrib.saved_model:" + name)
        for name in ("export_saved_model", "load_from_saved_model")
    },
    **_gone(
        _POOLS,
        "Keras no longer lists its processes.",
        "Remove it: they exit on their own.",
    ),
    **{
        "keras.callbacks." + name: StandIn("tpucompat.standins.keras_callbacks:" + name)
        for name in (
            *("CSVLogger", "EarlyStopping", "LearningRateScheduler", "ModelCheckpoint"),
            "ReduceLROnPlateau",
        )
    },
    # 2.0 turned the sign of the loss, not of the metric.
    **{
        f"keras.{module}.{name}": StandIn("tpucompat.standins.keras_losses:cosine_proximity")
        for module in ("losses", "metrics")
        for name in ("cosine", "cosine_proximity", "cosine_similarity")
    },
    "keras.losses.CosineSimilarity": StandIn("tpucompat.standins.keras_losses:CosineSimilarity"),
    # 2.4 made mixed precision stable under shorter paths; compat.v1 lost the long ones between 2.5 and 2.8.
    **{
        "keras.mixed_precision.experimental." + name: StandIn(
            "tpucompat.standins.early_keras:" + name
        )
        for name in ("Policy", "global_policy", "set_policy")
    },
    **_gone(
        "lite.experimental.nn:TFLiteLSTMCell TfLiteRNNCell dynamic_rnn",
        "TensorFlow Lite now converts Keras recurrent layers.",
        "Use tf.keras.layers.LSTM and tf.lite.TFLiteConverter.",
    ),
    **_gone(
        "lite.experimental:get_potentially_supported_ops",
        "TensorFlow Lite no longer lists its operations in Python.",
        "Convert the model: tf.lite.TFLiteConverter reports unsupported operations.",
    ),
    **_gone(
        "raw_ops:CompareAndBitpack",
        "TensorFlow 2 does not have this operation.",
        "Use numpy.packbits(x > threshold) on the host, or tf.bitwise on numbers.",
    ),
    **_gone(
        "raw_ops:" + _EMBEDDINGS,
        "TensorFlow 2 does not have these TPU embedding operations.",
        "Use tf.tpu.experimental.embedding.TPUEmbedding.",
    ),
    **{
        f"tpu.experimental.{name}Parameters": Moved(
            f"tpucompat.idioms.embedding.config:{name}Parameters", since="2.16"
        )
        for name in ("Adagrad", "Adam", "Ftrl", "StochasticGradientDescent")
    },
}
