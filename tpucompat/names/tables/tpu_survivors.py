"""Parts of ``tf.contrib.tpu`` that TensorFlow 2 still has, elsewhere."""

from __future__ import annotations

from tpucompat.names.rows import Moved, Package, Row, StandIn

_PRIVATE = "tensorflow.python.tpu."
_TPU = (_PRIVATE + "tpu", _PRIVATE + "tpu_replication")
_TOPOLOGY = "tpucompat.idioms.startup.tpu_topology:"

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
    "contrib.tpu.DeviceAssignment": StandIn(_TOPOLOGY + "DeviceAssignment"),
    "contrib.tpu.Topology": StandIn(_TOPOLOGY + "Topology"),
    "contrib.tpu.device_assignment": StandIn(_TOPOLOGY + "device_assignment"),
    "estimator.tpu.experimental.EmbeddingConfigSpec": Moved(
        "tpucompat.idioms.tpu_estimator.source:copy.EmbeddingConfigSpec"
    ),
    "contrib.tpu.python.ops.tpu_ops": Package(_PRIVATE + "ops.tpu_ops"),
    **{"contrib.tpu.python.tpu." + name: Package(_PRIVATE + name) for name in _MODULES},
    # 2.7 moved the context of a replica from there.
    **{name: Package(_TPU) for name in ("contrib.tpu.python.tpu.tpu", "python.tpu.tpu")},
    # 1.13: its check moved to where XLA's other computations are built.
    "contrib.tpu.python.tpu.tpu_function": Package(
        (_PRIVATE + "tpu_function", "tensorflow.python.compiler.xla.xla")
    ),
    # 1.12: its constants are where they are used.
    "contrib.tpu.python.tpu.tpu_constant": Package(_PRIVATE + "tpu_sharding"),
    **{
        f"{parent}.{name}": StandIn(_TOPOLOGY + name.rpartition(".")[2])
        for parent in ("contrib.tpu.python.tpu", "python.tpu")
        for name in (
            "device_assignment.DeviceAssignment",
            "device_assignment.device_assignment",
            "topology.Topology",
        )
    },
}
