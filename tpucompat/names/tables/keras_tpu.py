"""``keras_to_tpu_model`` and what stood beside it in ``keras_support.py``."""

from __future__ import annotations

from tpucompat.names.rows import Gone, Package, Row, StandIn

# TensorFlow 1.x gets the stand-ins too: its own class dials a TPU and cannot train without one.
ON_TENSORFLOW_1 = True

_MODULE = "tpucompat.idioms.keras_tpu.keras_to_tpu_model"

# The classes by which 1.13's model fed and ran its TPU functions. Scripts that change them expect that every
# batch goes through them.
_INTERNALS = (
    "KerasCrossShardOptimizer",
    "SizedInfeed",
    "TPUDatasetInfeedManager",
    "TPUFunction",
    "TPUInfeedInstance",
    "TPUInfeedManager",
    "TPUModelOp",
    "TPUNumpyInfeedManager",
    "TPURewriteContext",
)
_INTERNAL = Gone(
    "TPU101",
    ("It was an internal part of TensorFlow 1.13's TPU model, which tpucompat does not use."),
    "Remove the patch: fit, train_on_batch, evaluate and predict do not need it.",
)

ROWS: dict[str, Row] = {
    "contrib.tpu.keras_to_tpu_model": StandIn(_MODULE + ":keras_to_tpu_model"),
    "contrib.tpu.TPUDistributionStrategy": StandIn(_MODULE + ":TPUDistributionStrategy"),
    "contrib.tpu.python.tpu.keras_support": Package(_MODULE),
    **{"contrib.tpu.python.tpu.keras_support." + name: _INTERNAL for name in _INTERNALS},
}
