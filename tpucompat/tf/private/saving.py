"""SavedModels, checkpoints and GraphDefs in files."""

from __future__ import annotations

import functools
import types
from typing import Any, Iterator

import tensorflow.compat.v1 as v1
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


@patches.patch
def refuse_other_shapes() -> None:
    """Lets ``Saver.restore`` refuse values of other shapes than the graph's, as for reference variables.

    A resource variable takes any value, and a model whose layers fit it trains on with other sizes. What a
    Saver restores is in its ``_var_list``, seen in 1.13 to 2.21; a list there has the parts of one variable.
    """
    saver: Any = v1.train.Saver
    restore = saver.restore

    @functools.wraps(restore)
    def checked(self: Any, sess: Any, save_path: Any) -> Any:
        for name, ours, there in _other_shapes(self, save_path):
            text = (
                f"Restoring from checkpoint failed: {name} has the shape {there} in {save_path}, "
            )
            raise v1.errors.InvalidArgumentError(None, None, f"{text}and {ours} in the graph.")
        return restore(self, sess, save_path)

    patches.replace(saver, "restore", checked)


def _other_shapes(saver: Any, path: Any) -> Iterator[tuple[str, list[int], list[int]]]:
    """(name, shape in the graph, shape in the checkpoint) of what does not match."""
    variables: Any = getattr(saver, "_var_list", None) or []
    if getattr(saver, "_reshape", False):
        return
    try:
        there = v1.train.load_checkpoint(path).get_variable_to_shape_map()
    except (ValueError, TypeError, v1.errors.OpError):  # the Saver itself says what is wrong
        return
    is_named = isinstance(variables, dict)
    for name, variable in variables.items() if is_named else ((None, each) for each in variables):
        shape = getattr(variable, "shape", None)
        if not isinstance(shape, v1.TensorShape) or not shape.is_fully_defined():
            continue
        if getattr(variable, "_save_slice_info", None) is not None:
            continue  # a part of what the checkpoint has
        key = name or variable.name.partition(":")[0]  # an eager one has no op
        if key in there and shape.as_list() != list(there[key]):
            yield key, shape.as_list(), list(there[key])


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
