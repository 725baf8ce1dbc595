"""``tf.contrib.opt``: update rules of ours on TensorFlow's kernels."""

from __future__ import annotations

from tpucompat.legacy.rows import Gone, Package, Row, StandIn

_OURS = "tpucompat.legacy.contrib.opt"

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
            "AdaMaxOptimizer",
            "AdamGSOptimizer",
            "AdamWOptimizer",
            "AddSignOptimizer",
            "DecoupledWeightDecayExtension",
            "ExternalOptimizerInterface",
            "GGTOptimizer",
            "LARSOptimizer",
            "LazyAdamGSOptimizer",
            "LazyAdamOptimizer",
            "MomentumWOptimizer",
            "MovingAverageOptimizer",
            "MultitaskOptimizerWrapper",
            "NadamOptimizer",
            "PowerSignOptimizer",
            "RegAdagradOptimizer",
            "ScipyOptimizerInterface",
            "ShampooOptimizer",
            "VariableClippingOptimizer",
            "clip_gradients_by_global_norm",
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
    "contrib.opt.python.training.matrix_functions": Package(_OURS + ".matrix_functions"),
}
