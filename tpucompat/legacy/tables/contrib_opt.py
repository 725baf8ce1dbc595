"""``tf.contrib.opt``: update rules of ours on TensorFlow's kernels."""

from __future__ import annotations

from tpucompat.legacy.rows import Gone, Package, Row, StandIn

_OURS = "tpucompat.legacy.contrib.opt"

_ASYNCHRONOUS = Gone(
    "TPU101",
    "It averaged models between asynchronous workers and parameter servers.",
    "Train synchronously: TPUEstimator, CrossShardOptimizer or tf.distribute.",
)
_SECOND_ORDER = Gone(
    "TPU101",
    "Its matrix roots were computed by code that TensorFlow 2 does not have.",
    "Use AdamW or LAMB, or the package distributed-shampoo with JAX.",
)
_OUTSIDE = Gone(
    "TPU101",
    "It ran an optimizer of SciPy around the session.",
    "Call scipy.optimize.minimize with a function that runs the loss and its gradients in the "
    "session.",
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
            "LARSOptimizer",
            "LazyAdamGSOptimizer",
            "LazyAdamOptimizer",
            "MomentumWOptimizer",
            "MovingAverageOptimizer",
            "MultitaskOptimizerWrapper",
            "NadamOptimizer",
            "PowerSignOptimizer",
            "RegAdagradOptimizer",
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
            (_SECOND_ORDER, ("GGTOptimizer", "ShampooOptimizer")),
            (_OUTSIDE, ("ExternalOptimizerInterface", "ScipyOptimizerInterface")),
        )
        for name in names
    },
    # The name that TensorFlow 1.13 had for a class in a module that most scripts of its time took
    # it from.
    "contrib.opt.python.training.weight_decay_optimizers.ShampooWOptimizer": _SECOND_ORDER,
}
