"""The functions of ``tf.contrib.tpu`` that build TPU computations by hand, under every path they
had."""

from __future__ import annotations

from typing import Mapping

from tpucompat.names.rows import Package, Row, StandIn

# The stand-ins hold beside a real TensorFlow 1.x too: its own functions run on a TPU only.
ON_TENSORFLOW_1 = True

_CROSS_SHARD = "tpucompat.idioms.computations.cross_shard:"
_BATCH_PARALLEL = "tpucompat.idioms.computations.batch_parallel:"
_FEEDS = "tpucompat.idioms.computations.feeds:"
_PARTITIONED_CALL = "tpucompat.idioms.computations.partitioned_call:"
_SYSTEM = "tpucompat.idioms.startup.tpu_system:"
_TRAINING_LOOP = "tpucompat.idioms.computations.training_loop:"

_FEED_NAMES = (
    "infeed_dequeue",
    "infeed_dequeue_tuple",
    "infeed_enqueue",
    "infeed_enqueue_tuple",
    "outfeed_dequeue",
    "outfeed_dequeue_tuple",
    "outfeed_enqueue",
    "outfeed_enqueue_tuple",
)
_CALL_NAMES = ("tpu_ordinal_selector", "tpu_partitioned_call")


def _named(module: str, *names: str) -> dict[str, str]:
    return {name: module + name for name in names}


# Module of old below tensorflow.contrib.tpu.python -> name -> where it lives now.
_MODULES: Mapping[str, Mapping[str, str]] = {
    "ops.tpu_ops": {
        **_named(_CROSS_SHARD, "all_to_all", "collective_permute", "cross_replica_sum"),
        **_named(_FEEDS, *_FEED_NAMES),
        **_named(_PARTITIONED_CALL, *_CALL_NAMES),
        "tpu_replicated_input": "tpucompat.idioms.tpu_estimator.per_core:tpu_replicated_input",
    },
    "tpu.functional": {"TPUPartitionedCall": _PARTITIONED_CALL + "tpu_partitioned_call"},
    "tpu.tpu_feed": _named(_FEEDS, "InfeedQueue"),
    "tpu.training_loop": _named(_TRAINING_LOOP, "repeat", "while_loop"),
    "tpu.tpu": {
        **_named(
            _BATCH_PARALLEL,
            "batch_parallel",
            "core",
            "outside_compilation",
            "replicate",
            "rewrite",
            "rewrite_for_inference",
            "shard",
            "split_compile_and_replicate",
            "split_compile_and_shard",
            "validate_inference_rewrite_for_variables",
        ),
        **_named(_SYSTEM, "initialize_system", "shutdown_system"),
    },
    "tpu.tpu_optimizer": _named(_CROSS_SHARD, "CrossShardOptimizer"),
    "tpu.tpu_function": _named(
        _CROSS_SHARD,
        "TpuContext",
        "get_tpu_context",
        "on_device_training_loop",
        "tpu_shard_context",
    ),
}

# The public names of tf.contrib.tpu; those that tf.compat.v1.tpu has, and TensorFlow 1.15 had as
# tf.tpu.
_SURVIVORS = (
    "CrossShardOptimizer",
    "batch_parallel",
    "core",
    "cross_replica_sum",
    "initialize_system",
    "outside_compilation",
    "replicate",
    "rewrite",
    "shard",
    "shutdown_system",
)
_PUBLIC = (*_SURVIVORS, *_FEED_NAMES, "InfeedQueue", "repeat", "while_loop")


def _rows() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    targets: dict[str, str] = {}
    for module, names in _MODULES.items():
        # tensorflow.contrib.tpu.python.… up to 1.15, tensorflow.python.tpu.… from 1.14 on.
        private = "python.tpu." + module if module.startswith("ops") else "python." + module
        for name, target in names.items():
            rows[f"contrib.tpu.python.{module}.{name}"] = StandIn(target)
            rows[f"{private}.{name}"] = StandIn(target)
            targets.setdefault(name, target)
    # The operations themselves, by the name of the module that TensorFlow generates for them; up to
    # 1.13 it lay below tensorflow.contrib.tpu.
    rows["contrib.tpu.ops.gen_tpu_ops"] = Package("tensorflow.python.ops.gen_tpu_ops")
    # And the messages, which scripts of 1.13 look for there beside 1.15 too.
    rows["contrib.tpu.proto"] = Package("tensorflow.core.protobuf.tpu")
    for path in ("contrib.tpu.ops.gen_tpu_ops.", "python.ops.gen_tpu_ops."):
        rows.update((path + name, StandIn(_FEEDS + name)) for name in _FEED_NAMES)
        rows.update((path + name, StandIn(_PARTITIONED_CALL + name)) for name in _CALL_NAMES)
        rows[path + "cross_replica_sum"] = StandIn(_CROSS_SHARD + "cross_replica_sum")
    # It has no kernel where no compiler makes one program for all cores, and ends the process there.
    rows["compiler.tf2xla.python.xla.replica_id"] = StandIn(_CROSS_SHARD + "replica_id")
    rows["compiler.tf2xla.ops.gen_xla_ops.xla_replica_id"] = StandIn(_CROSS_SHARD + "replica_id")
    for name in _PUBLIC:
        rows["contrib.tpu." + name] = StandIn(targets[name])
    for name in _SURVIVORS:
        rows["tpu." + name] = StandIn(targets[name])
    return rows


ROWS: dict[str, Row] = _rows()
