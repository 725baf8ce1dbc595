"""TPUEstimator and what belongs to it, under every path it had."""

from __future__ import annotations

from typing import Mapping

from tpucompat.names.rows import Package, Row, StandIn

# The stand-ins hold beside a real TensorFlow 1.x too: its own classes dial a TPU.
ON_TENSORFLOW_1 = True

_OURS = "tpucompat.idioms.tpu_estimator.estimator"
_SOURCE = "tpucompat.idioms.tpu_estimator.source:copy"
_EMBEDDING = "tpucompat.idioms.embedding."
_ASYNC_CHECKPOINT = "tpucompat.idioms.async_checkpoint"

_PUBLIC = ("InputPipelineConfig", "RunConfig", "TPUConfig", "TPUEstimator", "TPUEstimatorSpec")

# Module of old -> the modules that answer for it.
_MODULES: Mapping[str, tuple[str, ...]] = {
    "_tpu_estimator_embedding": (_SOURCE + "._tpu_estimator_embedding",),
    "async_checkpoint": (_ASYNC_CHECKPOINT,),
    "error_handling": (_SOURCE + ".error_handling",),
    "session_support": ("tpucompat.idioms.tpu_estimator.stopping",),
    "tpu_embedding": ("tpucompat.idioms.estimator:tpu_embedding",),
    "tpu_embedding_gradient": (_EMBEDDING + "gradients",),
    "tpu_config": (_OURS, _SOURCE + ".tpu_config"),
    "tpu_context": ("tpucompat.idioms.tpu_estimator.forks", _SOURCE + ".tpu_context"),
    "tpu_estimator": (_OURS, _SOURCE),
    "util": (_SOURCE + ".util_lib",),
}

# tensorflow.contrib.tpu.python.tpu up to 1.15, tensorflow.python.tpu in 1.14 and 1.15, and the
# package of their origin.
_PARENTS = (
    "contrib.tpu.python.tpu.",
    "python.tpu.",
    "python.estimator.tpu.",
    "_tensorflow_estimator.python.estimator.tpu.",
)


def _rows() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for name in _PUBLIC:
        rows["contrib.tpu." + name] = StandIn(_OURS + ":" + name)
        rows["estimator.tpu." + name] = StandIn(_OURS + ":" + name)
        # No release had it; scripts converted by a tool in 2020 use it (tensorflow/tpu, amoeba_net).
        rows["contrib.tpu.tpu." + name] = StandIn(_OURS + ":" + name)
    rows["contrib.tpu.export_estimator_savedmodel"] = StandIn(
        _OURS + ":export_estimator_savedmodel"
    )
    rows["contrib.tpu.AsyncCheckpointSaverHook"] = StandIn(
        _ASYNC_CHECKPOINT + ":AsyncCheckpointSaverHook"
    )
    # What a script imports as tensorflow_estimator.
    rows["_tensorflow_estimator"] = Package("tpucompat.idioms.estimator:package")
    rows["_tensorflow_estimator.python.estimator"] = Package("tpucompat.idioms.estimator:source")
    # Its name up to 1.15 (tensorflow-estimator 2.1 gave it the other).
    rows["_tensorflow_estimator.python.estimator.keras"] = Package(
        "tpucompat.idioms.estimator:keras_lib"
    )
    for parent in _PARENTS:
        for module, targets in _MODULES.items():
            rows[parent + module] = Package(targets)
        rows[parent + "tpu_embedding.TPUEmbedding"] = StandIn(_EMBEDDING + "tables:TPUEmbedding")
    return rows


ROWS: dict[str, Row] = _rows()
