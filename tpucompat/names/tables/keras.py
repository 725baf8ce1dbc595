"""``tf.keras``, its private paths and the standalone ``keras`` of its time: one Keras for all of them.

The public names are asked first, because they are those of the graph world (``LSTM`` is version 1's); the
source package holds what scripts took from private modules.
"""

from __future__ import annotations

from typing import Iterable

from tpucompat.names.rows import Constant, Gone, Moved, Package, Row, StandIn

ON_TENSORFLOW_1 = True
# Its private modules have classes of their own (optimizers).
REAL_ON_TENSORFLOW_1 = frozenset({"python.keras"})

_ALL = ("{tf}:keras", "{keras}")
_SAME = "{own}.keras"  # with the rows that are below it
# What a module of standalone Keras had imported from its own package was reached through it.
_IMPORTED_BY_LAYERS = ("activations", "constraints", "initializers", "regularizers")
# Modules of keras.layers that tf.keras has merged or renamed since; scripts took them as attributes as well.
_MODULES_OF_LAYERS = (
    *("advanced_activations", "convolutional_recurrent", "cudnn_recurrent", "embeddings", "local"),
    *("merge", "noise", "recurrent", "wrappers"),
)
# Standalone Keras' private base classes -> a class that has it as its base in every release.
_BASES = {
    "convolutional._Conv": "Conv1D",
    "merge._Merge": "Add",
    **{
        f"pooling._{kind}Pooling{n}D": f"{kind}AveragePooling{n}D"
        for kind in ("", "Global")
        for n in (1, 2, 3)
    },
}
# Spellings of standalone Keras (up to 2.2) that tf.keras takes only as words.
_OTHER_NAMES = {
    "optimizers": {
        "sgd": "SGD",
        "rmsprop": "RMSprop",
        "adagrad": "Adagrad",
        "adadelta": "Adadelta",
        "adam": "Adam",
        "adamax": "Adamax",
        "nadam": "Nadam",
    },
    "constraints": {"maxnorm": "MaxNorm", "nonneg": "NonNeg", "unitnorm": "UnitNorm"},
    "layers": {
        "Deconv2D": "Conv2DTranspose",
        "Deconv3D": "Conv3DTranspose",
        "Deconvolution2D": "Conv2DTranspose",
        "Deconvolution3D": "Conv3DTranspose",
    },
}

_ENGINE = (
    *("{tf}:keras.layers", "{tf}:keras.models", "{tf}:keras.utils", "{keras}.engine"),
    "{tf}:keras",
)

# Module of keras.applications -> the models whose layers are others today.
_APPLICATIONS = {
    "densenet": ("DenseNet121", "DenseNet169", "DenseNet201"),
    "inception_resnet_v2": ("InceptionResNetV2",),
    "mobilenet": ("MobileNet",),
    "mobilenet_v2": ("MobileNetV2",),
    "mobilenetv2": ("MobileNetV2",),
    "resnet": ("ResNet50", "ResNet101", "ResNet152"),
    "resnet50": ("ResNet50",),
    "resnet_v2": ("ResNet50V2", "ResNet101V2", "ResNet152V2"),
}


def _applications(modules: Iterable[str], models: str) -> dict[str, Row]:
    return {
        f"keras.applications{module}.{name}": StandIn(
            f"tpucompat.standins.keras_applications:{models}.{name}", varies=True
        )
        for one in modules
        for name in _APPLICATIONS[one]
        for module in ("", "." + one)
    }


_SAVING = "tpucompat.standins.keras_saving"

_NO_MORE = Gone(
    "TPU101",
    "Keras removed it.",
    "Run `tpucompat explain` for the same name in tf.keras.",
)

#: Rows of Keras that hold for scripts of early TensorFlow 2 as well.
COMMON: dict[str, Row] = {
    "keras": Package(_ALL),
    # Keras up to 2.3 and TensorFlow up to 1.8 had these packages; their classes are public elsewhere now.
    "keras.engine": Package(_ENGINE),
    # Its name in Keras 1, kept as an alias in Keras 2.
    "keras.objectives": Package("{tf}:keras.losses"),
    "keras.applications.mobilenetv2": Package("{tf}:keras.applications.mobilenet_v2"),
    # Keras up to 2.2 defined both there; files of its MobileNet ask for them by these names.
    "keras.applications.mobilenet.relu6": Moved("{tf}:nn.relu6"),
    "keras.applications.mobilenet.DepthwiseConv2D": Moved("{tf}:keras.layers.DepthwiseConv2D"),
    "keras.engine.topology": Package(_ENGINE),
    # Weights in HDF5 groups: 2.2 moved them out of topology, tf.keras had them elsewhere.
    "keras.engine.saving": Package((_SAVING, "{tf}:keras.models")),
    "keras.saving.hdf5_format": Package(_SAVING),
    **{
        "keras.engine.topology." + name: StandIn(f"{_SAVING}:{name}")
        for name in (
            "load_weights_from_hdf5_group",
            "load_weights_from_hdf5_group_by_name",
            "preprocess_weights_for_loading",
            "save_weights_to_hdf5_group",
        )
    },
    **{
        f"keras.{module}.{name}": StandIn("tpucompat.standins.keras_positions:" + name)
        for module, name in (
            ("preprocessing.text", "one_hot"),
            ("preprocessing.text", "text_to_word_sequence"),
            ("utils", "deserialize_keras_object"),
            ("utils", "serialize_keras_object"),
        )
    },
    "keras.backend.common": Package("{tf}:keras.backend"),
    "keras.backend.tensorflow_backend": Package(("{tf}:keras.backend", "{keras}.backend")),
    "keras.utils.print_summary": Moved("{keras}.utils.layer_utils:print_summary"),
    **{
        "keras.layers." + name: Package(("{tf}:keras.layers", "{keras}.layers." + name))
        for name in _MODULES_OF_LAYERS
    },
    **{
        "keras.layers." + name: StandIn("tpucompat.standins.keras_bases:" + of)
        for name, of in _BASES.items()
    },
    **{"keras.layers." + name: Package("{tf}:keras." + name) for name in _IMPORTED_BY_LAYERS},
    **{
        f"keras.{module}.{name}": Moved(f"{{tf}}:keras.{module}.{now}")
        for module, names in _OTHER_NAMES.items()
        for name, now in names.items()
    },
    **{
        f"keras.layers.Atrous{word}{n}D": StandIn(
            f"tpucompat.standins.standalone_keras:AtrousConvolution{n}D"
        )
        for word in ("Conv", "Convolution")
        for n in (1, 2)
    },
    **{
        f"{module}.get_custom_objects": StandIn("tpucompat.standins.keras_names:get_custom_objects")
        for module in (
            "keras.utils",
            "keras.utils.generic_utils",
            "python.keras.utils.generic_utils",
        )
    },
    "keras.utils.multi_gpu_model": StandIn("tpucompat.standins.keras_names:multi_gpu_model"),
    "keras.models.model_from_yaml": StandIn("tpucompat.standins.keras_yaml:model_from_yaml"),
    # 2.4 and 2.5 removed them.
    **{
        "keras.utils." + name: StandIn("tpucompat.standins.keras_files:" + name)
        for name in ("HDF5Matrix", "convert_all_kernels_in_model")
    },
    "keras.utils.conv_utils.convert_kernel": StandIn(
        "tpucompat.standins.keras_files:convert_kernel"
    ),
    "keras.backend.image_dim_ordering": StandIn(
        "tpucompat.standins.keras_names:image_dim_ordering"
    ),
    "keras.backend.set_image_dim_ordering": StandIn(
        "tpucompat.standins.keras_names:set_image_dim_ordering"
    ),
    # 2.9 took Keras-Preprocessing's code into Keras, and changed it.
    **{
        "keras.preprocessing.image." + name: StandIn(
            "tpucompat.standins.keras_images:" + name, varies=True
        )
        for name in (
            "ImageDataGenerator",
            "apply_affine_transform",
            "random_rotation",
            "random_shear",
            "random_shift",
            "random_zoom",
        )
    },
    **{
        "keras.backend." + name: StandIn("tpucompat.standins.keras_backend:" + name)
        for name in ("batch_dot", "ctc_decode", "eye", "ones", "switch", "variable", "zeros")
    },
    # The optimizers from 1.14 to 2.10; 2.9 and 2.11 moved them.
    "keras.optimizer_v2": Package(
        (
            "{keras}.optimizer_v2",
            "{keras}.optimizers.optimizer_v2",
            "{keras}.optimizers.legacy",
        )
    ),
    # 1.15's private modules; Keras 2.8 split the first, and 2.6 called the second otherwise.
    "keras.layers.recurrent_v2": Package(
        ("{keras}.layers.recurrent_v2", "{keras}.layers.rnn.lstm", "{keras}.layers.rnn.gru")
    ),
    "keras.premade": Package(("{keras}.premade", "{keras}.premade_models")),
    "keras.legacy": Package(("{tf}:keras.layers", "{keras}")),
    "keras.legacy.interfaces": Package("tpucompat.standins.keras_interfaces"),
    # Keras 2.13 removed them, and those of earlier releases have no tags for scikit-learn 1.7.
    "keras.wrappers.scikit_learn": Package(("tpucompat.standins.keras_wrappers",)),
    "python.keras": Package(_SAME),
    "python.keras._impl.keras": Package(_SAME),
}

#: Those whose layers are others for scripts of early TensorFlow 2 as well.
EARLY_APPLICATIONS = _applications(
    ("inception_resnet_v2", "mobilenet", "mobilenet_v2", "mobilenetv2"), "of_tensorflow_2"
)

ROWS: dict[str, Row] = {
    **COMMON,
    # Scripts compare it; 2.21's "2.21.0" would come before "2.3" as text.
    "keras.__version__": Constant("2.2.4-tf"),
    **_applications(_APPLICATIONS, "of_tensorflow_1"),
    # These took a mode as well.
    **{
        f"keras.applications.{name}.preprocess_input": Moved(
            "{tf}:keras.applications.imagenet_utils.preprocess_input"
        )
        for name in ("vgg16", "vgg19")
    },
    **{
        f"keras.datasets.{name}.load_data": StandIn(
            f"tpucompat.standins.keras_datasets:load_{name}"
        )
        for name in ("boston_housing", "imdb", "reuters")
    },
    **{
        name + ".Model": StandIn("tpucompat.standins.keras_models:Model", varies=True)
        for name in ("keras", "keras.models", "keras.engine", "keras.engine.training")
    },
    # A model is a network that trains, in 1.15 (engine/network.py); Keras called it Container up to 2.1.
    **{
        "keras.engine." + name: Moved("{own}:keras.Model")
        for name in (
            *("Network", "network.Network", "topology.Network"),
            *("Container", "topology.Container"),
        )
    },
    "keras.backend.tf": Moved("tpucompat.v1"),  # standalone Keras imported TensorFlow by that name
    "contrib.keras": Package(_SAME, rest=_NO_MORE),
    "contrib.keras.api.keras": Package(_SAME, rest=_NO_MORE),
    "_api.v1.keras": Package(_SAME),
}
