"""``tf.contrib.feature_column.sequence_input_layer``, by Keras' ``SequenceFeatures``."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


def sequence_input_layer(
    features: Any,
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
) -> tuple[Any, Any]:
    """Builds a dense sequence of inputs from sequence feature columns.

    Args:
      features: Name to tensor.
      feature_columns: Sequence columns, embedded or indicated where they are categorical.
      weight_collections: Ignored: variables go into the collections that every variable goes into.
      trainable: Whether embeddings are trained.

    Returns:
      ``[batch, time, size]`` inputs and the ``[batch]`` int64 lengths.
    """
    with tf.variable_scope(None, default_name="sequence_input_layer"):
        layer = tf.keras.experimental.SequenceFeatures(
            sorted(feature_columns, key=lambda column: column.name), trainable=trainable
        )
        return layer(features)
