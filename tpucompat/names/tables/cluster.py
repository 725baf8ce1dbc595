"""Cluster resolvers of TPUs and the sessions that take their addresses."""

from __future__ import annotations

from tpucompat.names.rows import Package, Row, StandIn

# Beside a real TensorFlow 1.x too: its own would dial the TPU node.
ON_TENSORFLOW_1 = True

_RESOLVER = StandIn("tpucompat.idioms.startup.cluster_resolver:TPUClusterResolver")
_MODULE = Package("tpucompat.idioms.startup.cluster_resolver")
_SESSIONS = "tpucompat.idioms.startup.sessions:"
_START_UP = "tpucompat.idioms.startup.early_tf2:"

ROWS: dict[str, Row] = {
    "contrib.cluster_resolver.TPUClusterResolver": _RESOLVER,
    "contrib.cluster_resolver.python.training.TPUClusterResolver": _RESOLVER,
    "contrib.cluster_resolver.python.training.tpu_cluster_resolver": _MODULE,
    "distribute.cluster_resolver.TPUClusterResolver": _RESOLVER,
    "python.distribute.cluster_resolver.tpu_cluster_resolver": _MODULE,
    "Session": StandIn(_SESSIONS + "Session"),
    "InteractiveSession": StandIn(_SESSIONS + "InteractiveSession"),
    "python.client.session.Session": StandIn(_SESSIONS + "Session"),
    "python.client.session.InteractiveSession": StandIn(_SESSIONS + "InteractiveSession"),
    "train.ChiefSessionCreator": StandIn(_SESSIONS + "ChiefSessionCreator"),
    "train.WorkerSessionCreator": StandIn(_SESSIONS + "WorkerSessionCreator"),
    "train.SingularMonitoredSession": StandIn(_SESSIONS + "SingularMonitoredSession"),
    "train.MonitoredTrainingSession": StandIn(_SESSIONS + "MonitoredTrainingSession"),
    "train.SessionManager": StandIn(_SESSIONS + "SessionManager"),
    "train.Supervisor": StandIn(_SESSIONS + "Supervisor"),
    "train.Server": StandIn(_SESSIONS + "Server"),
    "python.training.server_lib.Server": StandIn(_SESSIONS + "Server"),
    "config.experimental_connect_to_host": StandIn(_START_UP + "connect_to_host"),
    "config.experimental_connect_to_cluster": StandIn(_START_UP + "connect_to_cluster"),
    **{
        module + name: StandIn("tpucompat.idioms.startup.tpu_system:" + name)
        for module in ("tpu.experimental.", "python.tpu.tpu_strategy_util.")
        for name in ("initialize_tpu_system", "shutdown_tpu_system")
    },
}
