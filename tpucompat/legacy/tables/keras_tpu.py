"""``keras_to_tpu_model`` and what stood beside it in ``keras_support.py``."""

from __future__ import annotations

from tpucompat.legacy.rows import Package, Row, StandIn

# TensorFlow 1.x gets the stand-ins too: its own class dials a TPU and cannot train without one.
ON_TENSORFLOW_1 = True

_MODULE = "tpucompat.idioms.keras_to_tpu_model"

ROWS: dict[str, Row] = {
    "contrib.tpu.keras_to_tpu_model": StandIn(_MODULE + ":keras_to_tpu_model"),
    "contrib.tpu.TPUDistributionStrategy": StandIn(_MODULE + ":TPUDistributionStrategy"),
    "contrib.tpu.python.tpu.keras_support": Package(_MODULE),
}
