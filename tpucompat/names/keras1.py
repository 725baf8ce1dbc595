"""The arguments of Keras 1, and what Keras 2 called them: standalone Keras translated them until 2.3.

Names and values follow keras/legacy/interfaces.py of Keras 2.2.4.
"""

from __future__ import annotations

from typing import Any, Mapping

#: What an old name becomes: one word, two, or none where the argument did nothing any more.
Names = Mapping[str, str]

_WEIGHTS: Names = {
    "init": "kernel_initializer",
    "bias": "use_bias",
    **{
        f"{old}_{kind}": f"{new}_{kind}"
        for kind in ("regularizer", "constraint")
        for old, new in (("W", "kernel"), ("U", "recurrent"), ("b", "bias"))
    },
}
_ORDER: Names = {"dim_ordering": "data_format"}
_PADDED: Names = {"border_mode": "padding", **_ORDER}
#: The sides of a kernel, in the order in which it has them.
SIDES = ("nb_row", "nb_col", "kernel_dim1", "kernel_dim2", "kernel_dim3")
_CONVOLUTION: Names = {
    "nb_filter": "filters",
    "subsample": "strides",
    **dict.fromkeys(SIDES, "kernel_size"),
    **_PADDED,
    **_WEIGHTS,
}
_RECURRENT: Names = {
    **_WEIGHTS,
    "output_dim": "units",
    "inner_init": "recurrent_initializer",
    "inner_activation": "recurrent_activation",
    "dropout_W": "dropout",
    "dropout_U": "recurrent_dropout",
    "consume_less": "implementation",
    "forget_bias_init": "",  # ones, the default, or whatever else Keras 2 ignored
}
_EMBEDDING: Names = {
    "init": "embeddings_initializer",
    "W_regularizer": "embeddings_regularizer",
    "W_constraint": "embeddings_constraint",
    "dropout": "",
}
_NORMALIZATION: Names = {
    "beta_init": "beta_initializer",
    "gamma_init": "gamma_initializer",
    "mode": "",
}
_LENGTHS: Names = {"pool_length": "pool_size", "stride": "strides", "border_mode": "padding"}

_ALIKE: tuple[tuple[Names, tuple[str, ...]], ...] = (
    ({"p": "rate"}, ("Dropout", "SpatialDropout1D", "SpatialDropout2D", "GaussianDropout")),
    (_RECURRENT, ("SimpleRNN", "LSTM", "GRU")),
    (_CONVOLUTION, ("Conv2D", "Conv3D")),
    (_LENGTHS, ("MaxPooling1D", "AveragePooling1D")),
    (_PADDED, tuple(f"{kind}Pooling{n}D" for kind in ("Max", "Average") for n in (2, 3))),
    (_ORDER, tuple(f"Global{kind}Pooling{n}D" for kind in ("Max", "Average") for n in (2, 3))),
    (
        _ORDER,
        tuple(f"{kind}{n}D" for kind in ("UpSampling", "ZeroPadding", "Cropping") for n in (2, 3)),
    ),
)
#: Class of a layer -> its old arguments.
LAYERS: Mapping[str, Names] = {
    **{layer: names for names, layers in _ALIKE for layer in layers},
    "Dense": {"output_dim": "units", **_WEIGHTS},
    "SpatialDropout3D": {"p": "rate", **_ORDER},
    "GaussianNoise": {"sigma": "stddev"},
    "PReLU": {"init": "alpha_initializer"},
    "Embedding": _EMBEDDING,
    "BatchNormalization": _NORMALIZATION,
    "Conv1D": {**_CONVOLUTION, "filter_length": "kernel_size", "subsample_length": "strides"},
    "SeparableConv2D": {**_CONVOLUTION, "init": "depthwise_initializer pointwise_initializer"},
    "Conv2DTranspose": {**_CONVOLUTION, "output_shape": ""},
    "ConvLSTM2D": {**{n: w for n, w in _RECURRENT.items() if n != "output_dim"}, **_CONVOLUTION},
    "UpSampling1D": {"length": "size"},
}
_GENERATOR: Names = {
    "samples_per_epoch": "steps_per_epoch",
    "val_samples": "steps",
    "nb_epoch": "epochs",
    "nb_val_samples": "validation_steps",
    "nb_worker": "workers",
    "pickle_safe": "use_multiprocessing",
    "max_q_size": "max_queue_size",
}
#: Method of a model -> its old arguments.
METHODS: Mapping[str, Names] = {
    "fit": {"nb_epoch": "epochs"},
    "fit_generator": _GENERATOR,
    "evaluate_generator": _GENERATOR,
    "predict_generator": _GENERATOR,
}
#: Of the constructor of a model.
MODEL: Names = {"input": "inputs", "output": "outputs"}

#: Argument -> its old values, and what they became.
VALUES: Mapping[str, Mapping[Any, Any]] = {
    "dim_ordering": {"tf": "channels_last", "th": "channels_first", "default": None},
    "consume_less": {"cpu": 0, "mem": 1, "gpu": 2},
}
#: Not translated, so that Keras refuses it: Keras 2 could not normalize in these ways.
REFUSED: Mapping[str, tuple[Any, ...]] = {"mode": (1, 2)}
