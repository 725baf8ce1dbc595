"""What one writes in TensorFlow 2 for names whose successor no table of moves can know."""

from __future__ import annotations

from typing import Mapping, NamedTuple

SAFE, UNSAFE, NONE = "safe", "unsafe", ""


class Idiom(NamedTuple):
    """A successor that no table can know."""

    becomes: str
    note: str = ""
    fix: str = SAFE
    code: str = "TPU208"


_RUN = "In plain TensorFlow 2: strategy.run, and strategy.reduce for its results."
_COMPUTATIONS: Mapping[str, str] = {
    **dict.fromkeys(("batch_parallel", "shard", "replicate", "rewrite"), _RUN),
    "initialize_system": "In plain TensorFlow 2: tf.tpu.experimental.initialize_tpu_system.",
    "shutdown_system": "Not needed in plain TensorFlow 2.",
    "cross_replica_sum": "In plain TensorFlow 2: ReplicaContext.all_reduce.",
    "CrossShardOptimizer": (
        "In plain TensorFlow 2, an optimizer created under strategy.scope() sums gradients over the "
        "replicas; divide the loss by the global batch size."
    ),
    "repeat": "In plain TensorFlow 2: a loop over tf.range in a tf.function.",
    "while_loop": "In plain TensorFlow 2: tf.while_loop.",
    "outside_compilation": "In plain TensorFlow 2: tf.tpu.outside_compilation.",
}
#: Where each of them was defined, below ``tensorflow.python.tpu``; elsewhere in ``tpu``.
_DEFINED = {
    "cross_replica_sum": "ops.tpu_ops",
    "CrossShardOptimizer": "tpu_optimizer",
    "repeat": "training_loop",
    "while_loop": "training_loop",
}


def _paths(name: str) -> tuple[str, ...]:
    """The places of a name of computations in TensorFlow 1.15, below ``tensorflow``."""
    module = _DEFINED.get(name, "tpu")
    below = module if module.startswith("ops.") else "tpu." + module
    modules = ("contrib.tpu", "tpu", "contrib.tpu.python." + below, "python.tpu." + module)
    return tuple(f"{one}.{name}" for one in modules)


#: Path below ``tensorflow`` -> the name in ``tf.contrib.tpu`` that it is.
COMPUTATIONS: Mapping[str, str] = {path: name for name in _COMPUTATIONS for path in _paths(name)}

#: Old name below ``tensorflow`` -> what one writes in TensorFlow 2 on a TPUStrategy.
IDIOMS: Mapping[str, Idiom] = {
    # Start-up
    "contrib.cluster_resolver.TPUClusterResolver": Idiom(
        "tf.distribute.cluster_resolver.TPUClusterResolver",
        "On a TPU VM its argument is tpu='local'.",
    ),
    "contrib.distribute.TPUStrategy": Idiom("tf.distribute.TPUStrategy"),
    "contrib.distribute.initialize_tpu_system": Idiom("tf.tpu.experimental.initialize_tpu_system"),
    "distribute.experimental.TPUStrategy": Idiom("tf.distribute.TPUStrategy"),
    **{
        "keras.mixed_precision.experimental." + name: Idiom(
            "tf.keras.mixed_precision." + now, "", SAFE, "TPU202"
        )
        for name, now in (
            ("Policy", "Policy"),
            ("set_policy", "set_global_policy"),
            ("global_policy", "global_policy"),
            ("LossScaleOptimizer", "LossScaleOptimizer"),
        )
    },
    "keras.mixed_precision.experimental": Idiom("tf.keras.mixed_precision", "", SAFE, "TPU202"),
    # Keras 3 has the name, and accepts its value nowhere.
    "keras.losses.Reduction.AUTO": Idiom(
        "tf.keras.losses.Reduction.SUM_OVER_BATCH_SIZE", "", SAFE, "TPU202"
    ),
    # Of the class that TensorFlow 2 calls so, which has none of these
    **{
        f"data.Iterator.{name}": Idiom(f"tf.compat.v1.data.Iterator.{name}", "", SAFE, "TPU203")
        for name in ("from_string_handle", "from_structure")
    },
    # Of the package keras, which tf.keras did not have
    "keras.backend.logsumexp": Idiom("tf.reduce_logsumexp", "", SAFE, "TPU202"),
    "keras.backend.is_tensor": Idiom("tf.is_tensor", "", SAFE, "TPU202"),
    **{
        f"keras.layers.{name}": Idiom(f"tf.keras.{name}", "", SAFE, "TPU202")
        for name in ("activations", "constraints", "initializers", "regularizers")
    },
    # Functions that tf.keras of Keras 3 has under their short names alone
    **{
        f"keras.{package}.{name}": Idiom(f"tf.keras.{package}.{short}", "", SAFE, "TPU202")
        for package in ("losses", "metrics")
        for name, short in (
            ("mean_absolute_error", "MAE"),
            ("mean_absolute_percentage_error", "MAPE"),
            ("mean_squared_error", "MSE"),
            ("mean_squared_logarithmic_error", "MSLE"),
        )
    },
    # Eager execution before TensorFlow 2
    **{
        "contrib.eager." + name: Idiom(becomes, "", SAFE, "TPU201")
        for name, becomes in (
            ("Iterator", "iter"),
            ("Variable", "tf.Variable"),
            ("defun", "tf.function"),
            ("metrics.Accuracy", "tf.keras.metrics.Accuracy"),
            ("metrics.Mean", "tf.keras.metrics.Mean"),
        )
    },
    # What left tf.keras.experimental and its like
    **{
        f"keras.experimental.{name}": Idiom(
            f"tf.keras.optimizers.schedules.{name}", "", SAFE, "TPU202"
        )
        for name in ("CosineDecay", "CosineDecayRestarts")
    },
    **{
        f"keras.optimizers.{package}.{name}": Idiom(
            f"tf.keras.optimizers.{name}", "", SAFE, "TPU202"
        )
        for package in ("legacy", "experimental")
        for name in (
            *("Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "Ftrl", "Nadam", "RMSprop", "SGD"),
        )
    },
    **{
        f"keras.layers.experimental.preprocessing.{name}": Idiom(
            f"tf.keras.layers.{name}", "", SAFE, "TPU202"
        )
        for name in (
            *("CategoryEncoding", "CenterCrop", "Discretization", "Hashing", "IntegerLookup"),
            *("Normalization", "RandomContrast", "RandomCrop", "RandomFlip", "RandomRotation"),
            *("RandomTranslation", "RandomZoom", "Rescaling", "Resizing", "StringLookup"),
            "TextVectorization",
        )
    },
    "keras.estimator.model_to_estimator": Idiom(
        "tpucompat.v1.keras.estimator.model_to_estimator",
        "In plain TensorFlow 2 the model trains by its own fit.",
        SAFE,
        "TPU206",
    ),
    "distribute.resolver.TPUClusterResolver": Idiom(
        "tf.distribute.cluster_resolver.TPUClusterResolver"
    ),
    "config.experimental_connect_to_host": Idiom(
        "tf.config.experimental_connect_to_cluster",
        "It takes the resolver instead of an address.",
    ),
    # keras_to_tpu_model
    **{
        f"contrib.tpu.{path}{name}": Idiom(becomes, note, SAFE, "TPU211")
        for path in ("", "python.tpu.keras_support.")
        for name, becomes, note in (
            ("keras_to_tpu_model", "strategy.scope()", "The model is built and compiled inside."),
            (
                "TPUDistributionStrategy",
                "tf.distribute.TPUStrategy",
                "The system is initialized first.",
            ),
        )
    },
    **{
        "keras.layers.CuDNN" + name: Idiom(
            "tf.keras.layers." + name, "It uses the cuDNN kernel automatically.", SAFE, "TPU202"
        )
        for name in ("LSTM", "GRU")
    },
    **{
        path: Idiom(f"tpucompat.v1.{path}", _COMPUTATIONS[name], SAFE, "TPU213")
        for path, name in COMPUTATIONS.items()
    },
    # TPUEstimator
    **{
        "contrib.tpu." + name: Idiom("tpucompat.v1.contrib.tpu." + name, note, SAFE, "TPU212")
        for name, note in {
            "TPUEstimator": "In plain TensorFlow 2: a Keras model, or a loop over strategy.run.",
            "TPUEstimatorSpec": "In plain TensorFlow 2 the training step returns the loss itself.",
            "RunConfig": (
                "Its settings became arguments of fit, of callbacks and of the strategy."
            ),
            "TPUConfig": "iterations_per_loop became steps_per_execution of compile.",
            "InputPipelineConfig": "strategy.experimental_distribute_dataset splits the input.",
            "AsyncCheckpointSaverHook": "tf.train.CheckpointManager, or a Keras callback.",
            "export_estimator_savedmodel": "tf.saved_model.save.",
        }.items()
    },
}

#: Names that mean another class in TensorFlow 2, which old programs use in the same way.
ALIKE = frozenset(
    (
        "DeviceSpec",
        "VariableAggregation",
        "data.Dataset",
        "data.FixedLengthRecordDataset",
        "data.Iterator",
        "data.TFRecordDataset",
        "data.TextLineDataset",
        "distribute.MirroredStrategy",
        "distribute.OneDeviceStrategy",
        "distribute.ReplicaContext",
        "distribute.Strategy",
        "distribute.StrategyExtended",
        "executing_eagerly",
        "image.ResizeMethod",
        "train.Checkpoint",
        "variable_creator_scope",
    )
)
#: Classes whose parameters are others in TensorFlow 2: those of TensorFlow 1, and those of 2.
PARAMETERS = {
    "Variable": (
        "initial_value,trainable,collections,validate_shape,caching_device,name,variable_def,dtype,"
        "expected_shape,import_scope,constraint,use_resource,synchronization,aggregation,shape",
        "initial_value,trainable,validate_shape,caching_device,name,variable_def,dtype,import_scope,"
        "constraint,synchronization,aggregation,shape,experimental_enable_variable_lifting",
    ),
    "name_scope": ("name,default_name,values", "name"),
}
