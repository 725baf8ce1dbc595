"""``tf.contrib.saved_model`` and ``tf.keras.experimental``: Keras models as SavedModels.

Follows tensorflow/python/keras/saving/saved_model_experimental.py of TensorFlow 1.15. What is written is
today's SavedModel of Keras, whose signature "serving_default" has the inputs and outputs of 1.15's; the
graphs of training and evaluation that 1.15 wrote beside it are in the model that loading gives.
"""

from __future__ import annotations

import os
from typing import Any, Mapping

import tensorflow.compat.v1 as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

from tpucompat.base.errors import AssertedError


def export_saved_model(
    model: Any,
    saved_model_path: Any,
    custom_objects: Mapping[str, Any] | None = None,
    as_text: bool = False,
    input_signature: Any = None,
    serving_only: bool = False,
) -> bytes:
    """Writes a Keras model as a SavedModel.

    Args:
      model: The model.
      saved_model_path: A folder that does not exist yet, or is empty.
      custom_objects: Name to class or function; loading wants them, not saving.
      as_text: Whether the proto is written as text.
      input_signature: Specifications of the inputs, of a model that does not know them.
      serving_only: Whether what belongs to training is left out.

    Returns:
      The folder, as TensorFlow 1.12 and 1.13 gave it (in bytes); 1.15 gave nothing.

    Raises:
      AssertionError: If the folder is not empty.
    """
    del custom_objects
    path = tf.compat.as_str(tf.compat.path_to_str(saved_model_path))
    if tf.gfile.Exists(path) and tf.gfile.ListDirectory(path):
        raise AssertedError("TPU103", f"Export directory already exists, and is not empty: {path}")
    more = {} if input_signature is None else {"signatures": _served(model, input_signature)}
    tf.keras.models.save_model(
        model, path, save_format="tf", include_optimizer=not serving_only, **more
    )
    if as_text:
        _as_text(path)
    return tf.compat.as_bytes(path)


def load_from_saved_model(
    saved_model_path: Any, custom_objects: Mapping[str, Any] | None = None
) -> Any:
    """The Keras model that :func:`export_saved_model` wrote.

    Args:
      saved_model_path: The folder.
      custom_objects: Name to class or function of the model's own.

    Returns:
      The model, with its weights.
    """
    path = tf.compat.as_str(tf.compat.path_to_str(saved_model_path))
    return tf.keras.models.load_model(path, custom_objects=custom_objects)


save_keras_model = export_saved_model
load_keras_model = load_from_saved_model


def _served(model: Any, input_signature: Any) -> Any:
    """What the SavedModel computes for inputs that the caller describes."""

    def serve(*inputs: Any) -> Any:
        results = model(*inputs)
        return {"outputs": results} if tf.is_tensor(results) else results

    return tf.function(serve).get_concrete_function(*tf.nest.flatten(input_signature))


def _as_text(folder: str) -> None:
    """Puts the text form of a SavedModel in the place of the other."""
    before = os.path.join(folder, "saved_model.pb")
    proto = saved_model_pb2.SavedModel()
    with tf.gfile.GFile(before, "rb") as stream:
        proto.ParseFromString(stream.read())
    with tf.gfile.GFile(os.path.join(folder, "saved_model.pbtxt"), "w") as stream:
        stream.write(text_format.MessageToString(proto))
    tf.gfile.Remove(before)
