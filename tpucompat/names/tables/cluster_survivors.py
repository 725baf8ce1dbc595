"""The cluster resolvers of ``tf.contrib`` that TensorFlow 2 kept."""

from __future__ import annotations

from tpucompat.names.rows import Moved, Row

_NOW = "{tf}:distribute.cluster_resolver."
_NAMES = {
    "ClusterResolver": "ClusterResolver",
    "SimpleClusterResolver": "SimpleClusterResolver",
    "UnionClusterResolver": "UnionResolver",
    "GCEClusterResolver": "GCEClusterResolver",
    "GceClusterResolver": "GCEClusterResolver",  # its name in 1.13
    "KubernetesClusterResolver": "KubernetesClusterResolver",
    "SlurmClusterResolver": "SlurmClusterResolver",
    "TFConfigClusterResolver": "TFConfigClusterResolver",
}

ROWS: dict[str, Row] = {
    "contrib.cluster_resolver." + old: Moved(_NOW + new) for old, new in _NAMES.items()
}
