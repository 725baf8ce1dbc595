"""Keras as TensorFlow 2.0 to 2.3 had it: one Keras for all its paths, and the names that went since."""

from __future__ import annotations

from tpucompat.names.rows import Moved, Package, Row, StandIn
from tpucompat.names.tables.keras import COMMON, EARLY_APPLICATIONS

ERA = "tf2"

_EARLY = "tpucompat.standins.early_keras:"
_OPTIMIZERS = (
    "Adadelta",
    "Adagrad",
    "Adam",
    "Adamax",
    "Ftrl",
    "Nadam",
    "Optimizer",
    "RMSprop",
    "SGD",
    "get",
)
_MIXED_PRECISION = ("LossScaleOptimizer", "Policy", "global_policy", "set_policy")

ROWS: dict[str, Row] = {
    **COMMON,
    **EARLY_APPLICATIONS,
    "keras.backend.tf": Moved("tpucompat.v2"),
    # 2.11 (RELEASE.md) put other optimizers behind these names, which know no `lr`, `decay`,
    # `get_weights` or `_resource_apply_dense`; those of before are in `optimizers.legacy`.
    **{
        f"{module}.{name}": StandIn(_EARLY + name)
        for module in ("keras.optimizers", "optimizers")
        for name in _OPTIMIZERS
    },
    **{
        "keras.optimizers." + name.lower(): StandIn(_EARLY + name)
        for name in _OPTIMIZERS
        if name not in ("Optimizer", "get")
    },
    # 2.4 changed what the baseline means, tf-keras 2.16 brings the best weights back at every end.
    # Later releases round the rates that are compared and multiplied, and print them in other words.
    **{
        "keras.callbacks." + name: StandIn("tpucompat.standins.keras_callbacks:" + name)
        for name in ("EarlyStopping", "LearningRateScheduler", "ReduceLROnPlateau")
    },
    # 2.3 still had these.
    **{
        "keras.experimental." + name: StandIn("tpucompat.standins.keras_experimental:" + name)
        for name in ("LinearCosineDecay", "NoisyLinearCosineDecay", "PeepholeLSTMCell")
    },
    # 2.4 made mixed precision stable under shorter paths, 2.11 removed these.
    "keras.mixed_precision.experimental": Package("{tf}:keras.mixed_precision"),
    **{
        "keras.mixed_precision.experimental." + name: StandIn(_EARLY + name)
        for name in _MIXED_PRECISION
    },
}
