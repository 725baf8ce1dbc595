"""``tf.contrib.opt``: update rules of ours on TensorFlow's kernels."""

from __future__ import annotations

from tpucompat.names.rows import Gone, Package, Row, StandIn

_OURS = "tpucompat.contrib.opt"

_ASYNCHRONOUS = Gone(
    "TPU101",
    "It averaged models between asynchronous workers and parameter servers.",
    "Train synchronously: TPUEstimator, CrossShardOptimizer or tf.distribute.",
)

ROWS: dict[str, Row] = {
    "contrib.opt": Package(_OURS),
    **{
        "contrib.opt." + name: StandIn(_OURS + ":" + name)
        for name in (
            "AdamWOptimizer",
            "DecoupledWeightDecayExtension",
            "LARSOptimizer",
            "LazyAdamOptimizer",
            "MomentumWOptimizer",
            "MovingAverageOptimizer",
            "NadamOptimizer",
            "extend_with_decoupled_weight_decay",
        )
    },
    **{
        "contrib.opt." + name: row
        for row, names in (
            (
                _ASYNCHRONOUS,
                (
                    "AGNCustomGetter",
                    "AGNOptimizer",
                    "DropStaleGradientOptimizer",
                    "ElasticAverageCustomGetter",
                    "ElasticAverageOptimizer",
                    "ModelAverageCustomGetter",
                    "ModelAverageOptimizer",
                ),
            ),
        )
        for name in names
    },
}
