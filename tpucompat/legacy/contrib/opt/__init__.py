"""``tf.contrib.opt``: optimizers on TensorFlow's own kernels, with TensorFlow 1.15's update rules.

Behaviour follows tensorflow/contrib/opt/python/training of TensorFlow 1.15, file by file as named in
the modules. Slot and variable names are those of 1.15, so that checkpoints fit.
"""

from tpucompat.legacy.contrib.opt.adam import (
    AdaMaxOptimizer,
    AdamGSOptimizer,
    LazyAdamGSOptimizer,
    LazyAdamOptimizer,
    NadamOptimizer,
)
from tpucompat.legacy.contrib.opt.external import (
    ExternalOptimizerInterface,
    ScipyOptimizerInterface,
)
from tpucompat.legacy.contrib.opt.ggt import (
    GGTOptimizer,
)
from tpucompat.legacy.contrib.opt.lars import (
    LARSOptimizer,
)
from tpucompat.legacy.contrib.opt.reg_adagrad import (
    RegAdagradOptimizer,
)
from tpucompat.legacy.contrib.opt.shampoo import (
    ShampooOptimizer,
)
from tpucompat.legacy.contrib.opt.signs import (
    AddSignOptimizer,
    PowerSignOptimizer,
    get_cosine_decay_fn,
    get_linear_decay_fn,
    get_restart_decay_fn,
)
from tpucompat.legacy.contrib.opt.weight_decay import (
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    MomentumWOptimizer,
    ShampooWOptimizer,
    extend_with_decoupled_weight_decay,
)
from tpucompat.legacy.contrib.opt.wrappers import (
    MovingAverageOptimizer,
    MultitaskOptimizerWrapper,
    VariableClippingOptimizer,
    clip_gradients_by_global_norm,
)

__all__ = [
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
    "ShampooWOptimizer",
    "VariableClippingOptimizer",
    "clip_gradients_by_global_norm",
    "extend_with_decoupled_weight_decay",
    "get_cosine_decay_fn",
    "get_linear_decay_fn",
    "get_restart_decay_fn",
]
