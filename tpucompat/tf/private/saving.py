"""SavedModels, checkpoints and GraphDefs in files."""

from __future__ import annotations

import types
from typing import Any

from google.protobuf import text_format
from tensorflow.python.framework import graph_io
from tensorflow.python.saved_model import loader_impl
from tensorflow.python.training import checkpoint_ops

from tpucompat.base.late import late, load
from tpucompat.tf import patches

# 2.9 to 2.21, and 1.14 to 2.8.
_base = late("tensorflow.python.trackable.base", "tensorflow.python.training.tracking.base")
_data_structures = late(
    "tensorflow.python.trackable.data_structures",
    "tensorflow.python.training.tracking.data_structures",
)


def saved_model_loader() -> Any:
    """The class that finds, imports and restores a MetaGraphDef of a SavedModel.

    Seen in 1.13 to 2.21 as ``tensorflow.python.saved_model.loader_impl.SavedModelLoader``; the public API has
    the function that does all of it.
    """
    return loader_impl.SavedModelLoader


def load_and_remap_matrix_initializer() -> Any:
    """The function behind ``tf.contrib.framework.load_and_remap_matrix_initializer``.

    Seen in 1.13 to 2.21 as a private name of ``tensorflow.python.training.checkpoint_ops``.
    """
    return checkpoint_ops._load_and_remap_matrix_initializer


@patches.patch
def write_graphs_with_any_protobuf() -> None:
    """Lets ``tf.train.write_graph`` work with protobuf 7, and so every saver of a MonitoredSession.

    That no longer has the argument ``float_format``, which ``graph_io.py`` of tensorflow/python/framework
    gives, seen in 1.13 to 2.20 without a format. 2.20 is the first release that takes protobuf 7, and 2.21
    gives no argument.
    """

    def as_text(message: Any, float_format: str = "", **options: Any) -> str:
        del float_format
        text: str = text_format.MessageToString(message, **options)
        return text

    patches.replace(graph_io, "text_format", types.SimpleNamespace(MessageToString=as_text))


def trackable_module() -> Any:
    """The module with ``Trackable``, of which whatever object-based checkpoints save is a subclass.

    Seen in 2.9 to 2.21 as ``tensorflow.python.trackable.base``, in 1.14 to 2.8 as
    ``tensorflow.python.training.tracking.base``.
    """
    return load(_base)


def trackable_class() -> Any:
    """``Trackable`` of :func:`trackable_module`; it looks up and restores the attributes of objects."""
    return trackable_module().Trackable


def data_structures() -> Any:
    """The module of lists and mappings that object-based checkpoints follow.

    Seen in 2.9 to 2.21 as ``tensorflow.python.trackable.data_structures``, in 1.14 to 2.8 as
    ``tensorflow.python.training.tracking.data_structures``.
    """
    return load(_data_structures)
