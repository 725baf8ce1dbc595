"""How the gradients of activations are caught on their way to the model's optimizer.

Counterpart of ``tensorflow/python/tpu/tpu_embedding_gradient.py`` (release 2.15): every activation
depends on a trainable variable of its table that changes nothing. The optimizer differentiates with
respect to that variable, and the gradient that comes past the activation is kept for the table.
"""

from __future__ import annotations

import collections
from typing import Any, Mapping

import tensorflow.compat.v1 as tf

from tpucompat.idioms.tpu_estimator import device as device_lib


def create_dummy_table_variables(tpu_embedding: Any) -> tuple[dict[str, Any], Any]:
    """Makes the variables that bring the gradients.

    Args:
      tpu_embedding: The ``TPUEmbedding``.

    Returns:
      Table -> variable of shape [1], and the operation that initializes them.
    """
    made = {
        # Its own collection: it is not saved; the slots of the model's optimizer for it are.
        table: tf.get_variable(
            f"tpu_embedding_dummy_table_variable_{table}",
            shape=[1],
            dtype=tf.float32,
            use_resource=True,
            trainable=True,
            collections=["tpu_embedding_dummy_table_variables"],
        )
        for table in tpu_embedding.table_to_features_dict
    }
    device_lib.device_for_graph().caught_gradients = {}
    return made, tf.variables_initializer(
        list(made.values()), name="tpu_embedding_dummy_table_variables_init"
    )


def hook_dummy_table_variables_to_activations(
    tpu_embedding: Any, activations: Mapping[str, Any], dummy_table_variables: Mapping[str, Any]
) -> dict[str, Any]:
    """The activations as the model is given them.

    Args:
      tpu_embedding: The ``TPUEmbedding``.
      activations: Feature -> activations.
      dummy_table_variables: Table -> the variable that brings the gradients.

    Returns:
      Feature -> the same values.
    """
    features = tpu_embedding.feature_to_config_dict
    return collections.OrderedDict(
        (
            name,
            _hooked(name, dummy_table_variables[features[name].table_id].read_value(), activation),
        )
        for name, activation in activations.items()
    )


def _hooked(name: str, dummy: Any, activation: Any) -> Any:
    def hooked(_: Any, value: Any) -> Any:
        def gradient(upstream: Any) -> tuple[Any, None]:
            caught = device_lib.device_for_graph().caught_gradients
            if name in caught:
                raise RuntimeError(
                    f"the gradient of the embedding feature {name!r} is computed twice; "
                    "wrap the use that should not update the table in tf.stop_gradient."
                )
            caught[name] = tf.identity(upstream)
            return tf.zeros([1]), None

        return tf.identity(value), gradient

    return tf.custom_gradient(hooked)(dummy, activation)


def get_gradients_through_dummy_table_variables(tpu_embedding: Any) -> dict[str, Any]:
    """The gradients that were caught; zeros for activations of which the loss does not depend.

    Args:
      tpu_embedding: The ``TPUEmbedding``.

    Returns:
      Feature -> gradient of the loss with respect to its activations.
    """
    caught = device_lib.device_for_graph().caught_gradients
    missing = [name for name in tpu_embedding.feature_to_config_dict if name not in caught]
    if missing:
        tf.logging.warning(
            ("The loss does not depend on the embedding features %s; their gradients are zero."),
            ", ".join(missing),
        )
    gradients = collections.OrderedDict()
    for name, feature in tpu_embedding.feature_to_config_dict.items():
        if name in caught:
            gradients[name] = caught[name]
            continue
        columns = tpu_embedding.table_to_config_dict[feature.table_id].dimension
        shape = [tpu_embedding.batch_size_per_core, feature.max_sequence_length, columns]
        gradients[name] = tf.zeros([size for size in shape if size])
    return gradients
