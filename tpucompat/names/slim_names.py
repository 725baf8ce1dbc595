"""The names that the package tf-slim (1.1.0, its last release) looks for in modules of TensorFlow, which moved.

``control_flow_ops.cond`` and others left in 2.12 to 2.13, the layers in 2.15, ``ops.Tensor`` in 2.16.
"""

from __future__ import annotations

from typing import Mapping

#: How tf-slim's modules call a module of TensorFlow -> name in it -> where tf.compat.v1 has that.
MISSING: Mapping[str, Mapping[str, str]] = {
    "array_ops": {"stack": "stack", "unstack": "unstack"},
    "control_flow_ops": {
        "Assert": "Assert",
        "case": "case",
        "cond": "cond",
        "while_loop": "while_loop",
    },
    "framework_ops": {"Tensor": "Tensor"},
    "ops": {"IndexedSlices": "IndexedSlices", "Tensor": "Tensor"},
    "variable_scope": {"variable": "Variable"},
    "convolutional_layers": {
        "Convolution1D": "layers.Conv1D",
        "Convolution2D": "layers.Conv2D",
        "Convolution2DTranspose": "layers.Conv2DTranspose",
        "Convolution3D": "layers.Conv3D",
        "Convolution3DTranspose": "layers.Conv3DTranspose",
        "SeparableConvolution2D": "layers.SeparableConv2D",
    },
    "core_layers": {
        "Dense": "layers.Dense",
        "Dropout": "layers.Dropout",
        "dense": "layers.dense",
        "flatten": "layers.flatten",
    },
    "normalization_layers": {
        "BatchNormalization": "layers.BatchNormalization",
        "batch_normalization": "layers.batch_normalization",
    },
    "pooling_layers": {
        "AveragePooling2D": "layers.AveragePooling2D",
        "AveragePooling3D": "layers.AveragePooling3D",
        "MaxPooling2D": "layers.MaxPooling2D",
        "MaxPooling3D": "layers.MaxPooling3D",
    },
}
