"""``tf.contrib.model_pruning``: weights that are multiplied by a mask, and the masks' updates.

Behaviour and variable names follow tensorflow/contrib/model_pruning/python of TensorFlow 1.15.
"""

from __future__ import annotations

from tpucompat.contrib.model_pruning.layers import (
    masked_conv2d,
    masked_convolution,
    masked_fully_connected,
)
from tpucompat.contrib.model_pruning.masks import (
    apply_mask,
    get_masked_weights,
    get_masks,
    get_thresholds,
    get_weight_sparsity,
    get_weights,
)
from tpucompat.contrib.model_pruning.pruning import Pruning, get_pruning_hparams

__all__ = [
    "Pruning",
    "apply_mask",
    "get_masked_weights",
    "get_masks",
    "get_pruning_hparams",
    "get_thresholds",
    "get_weight_sparsity",
    "get_weights",
    "masked_conv2d",
    "masked_convolution",
    "masked_fully_connected",
]
