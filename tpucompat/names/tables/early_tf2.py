"""The TPU start-up calls that scripts of early TensorFlow 2 make."""

from __future__ import annotations

from tpucompat.names.rows import Moved, Package, Row, StandIn

ERA = "tf2"

_START_UP = "tpucompat.idioms.startup.early_tf2:"
_ESTIMATOR = "tpucompat.idioms.estimator:"
_RESOLVER = StandIn("tpucompat.idioms.startup.cluster_resolver:TPUClusterResolver")
_STRATEGY = StandIn(_START_UP + "TPUStrategy")

#: What starts a TPU up, in ``tf`` and in ``tf.compat.v1``.
_STARTS: dict[str, Row] = {
    "distribute.MirroredStrategy": StandIn(_START_UP + "MirroredStrategy"),
    "distribute.TPUStrategy": _STRATEGY,
    "distribute.experimental.TPUStrategy": _STRATEGY,
    "distribute.cluster_resolver.TPUClusterResolver": _RESOLVER,
    "distribute.resolver.TPUClusterResolver": _RESOLVER,
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

ROWS: dict[str, Row] = {
    **_STARTS,
    **{"compat.v1." + name: row for name, row in _STARTS.items()},
    "compat.v2": Moved("tpucompat.v2"),
    "enable_v2_behavior": Moved("tensorflow.compat.v2:enable_v2_behavior"),  # of compat.v2 alone
    # 2.16 removed them.
    "estimator": Package(_ESTIMATOR + "api_v2"),
    "compat.v1.estimator": Package(_ESTIMATOR + "api"),
    "python.framework.ops.Tensor": Moved("tensorflow:Tensor", since="2.14"),
    **{
        "python.framework.tensor_shape." + name: StandIn("tpucompat.standins.shapes:" + name)
        for name in ("matrix", "scalar", "vector")
    },
}
