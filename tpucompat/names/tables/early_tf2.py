"""The TPU start-up calls that scripts of early TensorFlow 2 make."""

from __future__ import annotations

from tpucompat.names.rows import Moved, Package, Row, StandIn

ERA = "tf2"

_START_UP = "tpucompat.idioms.startup.early_tf2:"
_ESTIMATOR = "tpucompat.idioms.estimator:"
_RESOLVER = StandIn("tpucompat.idioms.startup.cluster_resolver:TPUClusterResolver")
_STRATEGY = StandIn(_START_UP + "TPUStrategy")

ROWS: dict[str, Row] = {
    "distribute.TPUStrategy": _STRATEGY,
    "distribute.experimental.TPUStrategy": _STRATEGY,
    "distribute.cluster_resolver.TPUClusterResolver": _RESOLVER,
    "distribute.resolver.TPUClusterResolver": _RESOLVER,
    "compat.v1.distribute.cluster_resolver.TPUClusterResolver": _RESOLVER,
    # 2.16 removed them.
    "estimator": Package(_ESTIMATOR + "api_v2"),
    "compat.v1.estimator": Package(_ESTIMATOR + "api"),
    "compat.v2.estimator": Package(_ESTIMATOR + "api_v2"),
    "python.framework.ops.Tensor": Moved("tensorflow:Tensor", since="2.14"),
    **{
        "python.framework.tensor_shape." + name: StandIn("tpucompat.standins.shapes:" + name)
        for name in ("matrix", "scalar", "vector")
    },
    "device": StandIn(_START_UP + "device"),
    "config.experimental_connect_to_host": StandIn(_START_UP + "connect_to_host"),
    "config.experimental_connect_to_cluster": StandIn(_START_UP + "connect_to_cluster"),
    "tpu.experimental.initialize_tpu_system": StandIn(
        "tpucompat.idioms.startup.tpu_system:initialize_tpu_system"
    ),
    "tpu.experimental.shutdown_tpu_system": StandIn(
        "tpucompat.idioms.startup.tpu_system:shutdown_tpu_system"
    ),
}
