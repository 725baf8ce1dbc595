"""``tf.contrib.opt``: optimizers on TensorFlow's own kernels, with TensorFlow 1.15's update rules.

Behaviour follows tensorflow/contrib/opt/python/training of TensorFlow 1.15, file by file as named in
the modules. Slot and variable names are those of 1.15, so that checkpoints fit.
"""

from tpucompat.contrib.opt.adam import LazyAdamOptimizer, NadamOptimizer
from tpucompat.contrib.opt.lars import LARSOptimizer
from tpucompat.contrib.opt.weight_decay import (
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    MomentumWOptimizer,
    extend_with_decoupled_weight_decay,
)
from tpucompat.contrib.opt.wrappers import MovingAverageOptimizer

__all__ = [
    "AdamWOptimizer",
    "DecoupledWeightDecayExtension",
    "LARSOptimizer",
    "LazyAdamOptimizer",
    "MomentumWOptimizer",
    "MovingAverageOptimizer",
    "NadamOptimizer",
    "extend_with_decoupled_weight_decay",
]
