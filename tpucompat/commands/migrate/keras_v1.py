"""Names of ``tf.keras`` that TensorFlow 1 took for other classes than TensorFlow 2 does, beside Keras 2.

``tf.keras.layers.GRU`` of 1.15 is ``tf.compat.v1.keras.layers.GRU`` today: ``tf.keras.layers.GRU`` has other
defaults, other variables and other numbers. Found by comparing the two modules in tf-keras 2.21.
"""

from __future__ import annotations

from tpucompat.commands.migrate.context import Context
from tpucompat.names.used import Use, walk

NAMES = frozenset(
    (
        *(
            "initializers." + name
            for name in (
                *("Constant", "Identity", "Ones", "Orthogonal", "RandomNormal", "RandomUniform"),
                *("TruncatedNormal", "VarianceScaling", "Zeros", "constant", "glorot_normal"),
                *("glorot_uniform", "he_normal", "he_uniform", "identity", "lecun_normal"),
                *("lecun_uniform", "ones", "orthogonal", "random_normal", "random_uniform"),
                *("truncated_normal", "zeros"),
            )
        ),
        *(
            "layers." + name
            for name in (
                "BatchNormalization",
                "DenseFeatures",
                "GRU",
                "GRUCell",
                "LSTM",
                "LSTMCell",
            )
        ),
        *(
            "optimizers." + name
            for name in (
                *("Adadelta", "Adagrad", "Adam", "Adamax", "Ftrl", "Nadam", "Optimizer"),
                *("RMSprop", "SGD"),
            )
        ),
    )
)
_KERAS = "tensorflow.keras."


def find(context: Context) -> list[Use]:
    """The uses of these names in a file, without the imports."""
    return [
        use
        for use in context.names.uses
        if use.statement is None
        and use.name.startswith(_KERAS)
        and use.name[len(_KERAS) :] in NAMES
        and id(use.node) not in context.done
    ]


def rewrite(context: Context, found: list[Use]) -> None:
    """``tf.keras.layers.GRU(4)`` -> ``tf.compat.v1.keras.layers.GRU(4)``, in a file of TensorFlow 1."""
    for use in found:
        new = context.local("tf.compat.v1.keras." + use.name[len(_KERAS) :])
        context.replace(use.node, context.cell_of(use.node), new)
        context.done.update(map(id, walk(use.node)))
