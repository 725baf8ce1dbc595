"""``tf.contrib.tpu.keras_to_tpu_model`` and the module ``keras_support`` that it came from.

The names are those of ``tensorflow/contrib/tpu/python/tpu/keras_support.py``; scripts import this
module under that path and rebind what they find.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base import errors, keras_generation
from tpucompat.idioms.keras_tpu.inputs import validate_shapes as _validate_shapes
from tpucompat.idioms.keras_tpu.model import KerasTPUModel
from tpucompat.idioms.keras_tpu.model import clone_optimizer as _clone_optimizer  # noqa: F401
from tpucompat.idioms.keras_tpu.strategy import TPUAssignment, TPUDistributionStrategy

__all__ = [
    "KerasTPUModel",
    "TPUAssignment",
    "TPUDistributionStrategy",
    "TPUEmbedding",
    "keras_to_tpu_model",
    "setup_tpu_session",
    "tpu_model",
]

_keras = keras_generation.graph_keras()
K = _keras.backend
_Embedding: Any = _keras.layers.Embedding


def tpu_model(
    model: Any,
    strategy: TPUDistributionStrategy | None = None,
    tpu_name_or_address: Any = None,
) -> KerasTPUModel:
    """Makes a Keras model train on the cores of a TPU, or on what stands in for them.

    Args:
      model: A functional or Sequential ``tf.keras`` model, compiled or not; its weights and the
        session they live in are kept.
      strategy: How many cores; all that there are by default.
      tpu_name_or_address: TensorFlow 1.9's way to name the TPU; nothing connects to it.

    Returns:
      A :class:`KerasTPUModel` over the same layers.

    Raises:
      tpucompat.base.errors.BadTypeError: ``strategy`` is something else (TPU307), as in 1.13.
      tpucompat.base.errors.BadValueError: A layer's shape is variable beyond the batch (TPU302), as in
        1.13, or the model has no static graph of layers (TPU312).
    """
    del tpu_name_or_address
    if isinstance(model, KerasTPUModel):
        model = model.sync_to_cpu()
    if not model.inputs:
        raise errors.BadValueError("TPU312", f"The inputs of the model {model.name!r} are unknown.")
    _validate_shapes(model)
    if strategy is None:
        strategy = TPUDistributionStrategy()
    elif not isinstance(strategy, TPUDistributionStrategy):
        raise errors.BadTypeError(
            "TPU307",
            "`strategy` must have type `tf.contrib.tpu.TPUDistributionStrategy`. Got: "
            f"{type(strategy)}",
        )
    return KerasTPUModel(cpu_model=model, strategy=strategy)


keras_to_tpu_model = tpu_model


def setup_tpu_session(cluster_resolver: Any) -> None:
    """Connects to nothing: Keras' session is the one that trains."""
    del cluster_resolver
    K.get_session()


class TPUEmbedding(_Embedding):
    """An embedding layer that looks up by a one-hot matrix product, as TPUs wanted it.

    Raises:
      tpucompat.base.errors.BadValueError: On build, when the batch shape has no static length (TPU302).
    """

    def build(self, input_shape: Any) -> Any:
        """Creates the weights; the shape has to be known beyond the batch."""
        if None in tf.TensorShape(input_shape).as_list()[1:]:
            raise errors.BadValueError(
                "TPU302", "TPUEmbeddings must have a fixed input_length or input shape."
            )
        return super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        """Looks up int32 indices of shape [batch, length]: gives [batch, length, output_dim]."""
        one_hot = tf.one_hot(tf.cast(inputs, tf.int32), self.input_dim)
        return tf.tensordot(one_hot, self.embeddings, 1)
