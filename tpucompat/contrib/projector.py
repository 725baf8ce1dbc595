"""``tf.contrib.tensorboard.plugins.projector``: the package tensorboard, which took it over."""

from __future__ import annotations

from typing import Any

from tpucompat.base.errors import BadValueError, SetupError

try:
    from tensorboard.plugins import projector as _projector
except ImportError as error:
    raise SetupError(
        "TPU110",
        (
            "The embedding projector requires the package tensorboard, which cannot be "
            f"imported: {error}."
        ),
        "pip install tensorboard, of TensorFlow's minor release.",
    ) from error

EmbeddingInfo = _projector.EmbeddingInfo
ProjectorConfig = _projector.ProjectorConfig
projector_config_pb2 = _projector.projector_config_pb2
SpriteMetadata = projector_config_pb2.SpriteMetadata
DESCRIPTOR = projector_config_pb2.DESCRIPTOR


def visualize_embeddings(summary_writer: Any, config: Any) -> None:
    """Writes the projector's settings beside a summary writer's events.

    Args:
      summary_writer: A ``tf.summary.FileWriter``, or a folder.
      config: A ``ProjectorConfig``.

    Raises:
      ValueError: If the writer has no folder.
    """
    folder = getattr(summary_writer, "get_logdir", lambda: summary_writer)()
    if folder is None:
        raise BadValueError("TPU103", "Summary writer must have a logdir")
    _projector.visualize_embeddings(folder, config)
