"""The strategies and functions of ``tf.contrib.distribute`` that TensorFlow 2 kept elsewhere."""

from __future__ import annotations

from tpucompat.names.rows import Gone, Moved, Package, Row, StandIn

_OURS = "tpucompat.idioms.startup.distribute:"
_V1 = "{tf}:distribute."
_PRIVATE = "tensorflow.python.distribute."

_MOVED = {
    "AllReduceCrossDeviceOps": _PRIVATE + "cross_device_ops:AllReduceCrossDeviceOps",
    "CrossDeviceOps": "tensorflow:distribute.CrossDeviceOps",
    "DistributeConfig": _PRIVATE + "distribute_config:DistributeConfig",
    "DistributionStrategy": _V1 + "Strategy",
    "ReplicaContext": _V1 + "ReplicaContext",
    "StandardInputStep": _PRIVATE + "step_fn:StandardInputStep",
    "StandardSingleLossStep": _PRIVATE + "step_fn:StandardSingleLossStep",
    "Step": _PRIVATE + "step_fn:Step",
    "UpdateContext": _PRIVATE + "distribute_lib:UpdateContext",
    "get_cross_replica_context": "tpucompat.tf.private:cross_replica_context",
    "get_distribution_strategy": _V1 + "get_strategy",
    "get_loss_reduction": _V1 + "get_loss_reduction",
    "get_replica_context": _V1 + "get_replica_context",
    "get_strategy": _V1 + "get_strategy",
    "has_distribution_strategy": _V1 + "has_strategy",
    "has_strategy": _V1 + "has_strategy",
    "in_cross_replica_context": _V1 + "in_cross_replica_context",
    "require_replica_context": _PRIVATE + "distribute_lib:require_replica_context",
    "run_standard_tensorflow_server": _PRIVATE
    + "distribute_coordinator:run_standard_tensorflow_server",
}
_STRATEGIES = {
    "CollectiveAllReduceStrategy": "collective_all_reduce_strategy",
    "MirroredStrategy": "mirrored_strategy",
    "OneDeviceStrategy": "one_device_strategy",
    "ParameterServerStrategy": "parameter_server_strategy",
}

ROWS: dict[str, Row] = {
    "contrib.distribute.MultiWorkerAllReduce": Gone(
        "TPU101",
        "TensorFlow 2.1 removed it.",
        "Remove cross_device_ops: MultiWorkerMirroredStrategy selects one.",
    ),
    # 2.3 took the optimizers of the strategies' own tests out; Keras has them.
    "python.distribute.strategy_combinations": Package(
        (
            _PRIVATE + "strategy_combinations",
            _PRIVATE + "optimizer_combinations",
            "{keras}.distribute.optimizer_combinations",
        )
    ),
}
ROWS.update(("contrib.distribute." + name, Moved(target)) for name, target in _MOVED.items())
# What the strategies of tf.contrib were written over, which their modules showed under these names.
ROWS.update(
    (f"contrib.distribute.python.{module}.Core{name}", Moved(f"{_PRIVATE}{module}:{now}"))
    for module, name, now in (
        ("mirrored_strategy", "MirroredStrategy", "MirroredStrategy"),
        ("mirrored_strategy", "MirroredExtended", "MirroredExtended"),
        ("parameter_server_strategy", "ParameterServerStrategy", "ParameterServerStrategyV1"),
        ("parameter_server_strategy", "ParameterServerExtended", "ParameterServerStrategyExtended"),
    )
)
for _name, _module in _STRATEGIES.items():
    ROWS["contrib.distribute." + _name] = StandIn(_OURS + _name)
    ROWS[f"contrib.distribute.python.{_module}.{_name}"] = StandIn(_OURS + _name)
    # Its helpers and the classes below it, where they are now.
    ROWS.setdefault(f"contrib.distribute.python.{_module}", Package(_PRIVATE + _module))
