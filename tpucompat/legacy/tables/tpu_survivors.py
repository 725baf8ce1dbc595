"""Parts of ``tf.contrib.tpu`` that TensorFlow 2 still has, elsewhere."""

from __future__ import annotations

from tpucompat.legacy.rows import Moved, Package, Row

_PRIVATE = "tensorflow.python.tpu."

# Modules that moved from tensorflow.contrib.tpu.python.tpu in 1.14 and kept their names.
_MODULES = (
    "bfloat16",
    "datasets",
    "device_assignment",
    "feature_column",
    "functional",
    "tensor_tracer",
    "topology",
    "tpu",
    "tpu_feed",
    "tpu_function",
    "tpu_optimizer",
    "tpu_sharding",
    "tpu_system_metadata",
    "training_loop",
)

ROWS: dict[str, Row] = {
    "contrib.tpu.bfloat16_scope": Moved("{tf}:tpu.bfloat16_scope"),
    "contrib.tpu.DeviceAssignment": Moved("tensorflow:tpu.experimental.DeviceAssignment"),
    # Public as tf.tpu.experimental.Topology from 2.2 on; here from 1.14 to 2.21.
    "contrib.tpu.Topology": Moved(_PRIVATE + "topology:Topology"),
    "contrib.tpu.device_assignment": Moved(_PRIVATE + "device_assignment:device_assignment"),
    "estimator.tpu.experimental.EmbeddingConfigSpec": Moved(
        "tpucompat.idioms.tpu_estimator_source:copy.EmbeddingConfigSpec"
    ),
    "contrib.tpu.python.ops.tpu_ops": Package(_PRIVATE + "ops.tpu_ops"),
    **{"contrib.tpu.python.tpu." + name: Package(_PRIVATE + name) for name in _MODULES},
}
