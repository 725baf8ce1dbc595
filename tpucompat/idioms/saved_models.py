"""SavedModels that were exported for a TPU, in a Session without one.

TPUEstimator exports a model twice: under the tag "serve" as the script built it, and under "serve", "tpu"
as a program of a TPU's core. The second is a function that ``TPUPartitionedCall`` runs on one core, with the
marks of ``tpu.rewrite`` in it (``tensorflow/python/tpu/tpu_replication.py``, seen in 1.14 to 2.21); where there
is no TPU, what it computes is computed in place.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping

import tensorflow.compat.v1 as tf

from tpucompat.base import journal
from tpucompat.base.machine import environment
from tpucompat.tf import private

# Operation of a TPU -> (what computes the same in place, the name of its output there).
_IN_PLACE: Mapping[str, tuple[str, str]] = {
    "TPUCompilationResult": ("Const", "output"),
    "TPUOrdinalSelector": ("Const", "output"),
    "TPUPartitionedCall": ("StatefulPartitionedCall", "output"),
    "TPUReplicateMetadata": ("NoOp", ""),
    "TPUReplicatedInput": ("Identity", "output"),
    "TPUReplicatedOutput": ("Identity", "output"),
}
# Attributes that stay with an operation.
_KEPT: Mapping[str, tuple[str, ...]] = {
    "StatefulPartitionedCall": ("Tin", "Tout", "f"),
    "Identity": ("T",),
}
_MARKS = ("_tpu_replicate", "_tpu_compilation_status", "_xla_outside_compilation")


def load(
    sess: Any, tags: Iterable[str], export_dir: Any, import_scope: Any = None, **saver_kwargs: Any
) -> Any:
    """Loads a SavedModel into a Session, as ``tf.saved_model.loader.load`` does.

    Args:
      sess: The Session; its graph gets the operations.
      tags: The tags of the MetaGraphDef that is wanted.
      export_dir: The SavedModel's folder.
      import_scope: Name scope of what is imported.
      **saver_kwargs: For the Saver that restores the variables.

    Returns:
      The ``MetaGraphDef``.

    Raises:
      RuntimeError: If there is none with these tags.
    """
    saved = private.saved_model_loader()(export_dir)
    if not environment().has_tpu:
        wanted = saved.get_meta_graph_def_from_tags

        def in_place(tags: Any) -> Any:
            found = wanted(tags)
            if _is_for_tpu(found.graph_def):
                journal.notice("TPU356", f"{export_dir!r} was exported for a TPU")
                found = type(found).FromString(found.SerializeToString())
                compute_in_place(found.graph_def)
            return found

        saved.get_meta_graph_def_from_tags = in_place
    return saved.load(sess, tags, import_scope, **saver_kwargs)


def compute_in_place(graph_def: Any) -> None:
    """Replaces the operations that need a TPU by others with the same results.

    Args:
      graph_def: A ``GraphDef`` with functions; it is changed.
    """
    for node in graph_def.node:
        _replace(node)
    for function in graph_def.library.function:
        outputs = {
            node.name: _IN_PLACE[node.op][1] for node in function.node_def if node.op in _IN_PLACE
        }
        for node in function.node_def:
            _replace(node)
            node.input[:] = [_renamed(reference, outputs) for reference in node.input]
        for name, reference in list(function.ret.items()):
            function.ret[name] = _renamed(reference, outputs)


def _is_for_tpu(graph_def: Any) -> bool:
    nodes = [*graph_def.node, *(n for f in graph_def.library.function for n in f.node_def)]
    return any(node.op in _IN_PLACE for node in nodes)


def _replace(node: Any) -> None:
    """Makes one node compute in place."""
    if "TPU" in node.device:
        node.device = ""
    for mark in _MARKS:
        node.attr.pop(mark, None)
    if node.op not in _IN_PLACE:
        return
    was, node.op = node.op, _IN_PLACE[node.op][0]
    if was == "TPUPartitionedCall":  # its last argument is the core
        data = [reference for reference in node.input if not reference.startswith("^")]
        node.input.remove(data[-1])
    kept = {name: node.attr[name] for name in _KEPT.get(node.op, ()) if name in node.attr}
    kept = {name: type(value).FromString(value.SerializeToString()) for name, value in kept.items()}
    node.attr.clear()
    for name, value in kept.items():
        node.attr[name].CopyFrom(value)
    if node.op == "Const":
        value = tf.make_tensor_proto(0 if was == "TPUOrdinalSelector" else b"")
        node.attr["dtype"].type = value.dtype
        node.attr["value"].tensor.CopyFrom(value)


def _renamed(reference: str, outputs: Mapping[str, str]) -> str:
    """What a function's node refers to (``node:output:0``), when outputs have other names."""
    name, colon, rest = reference.partition(":")
    if not colon or name not in outputs:
        return reference
    return f"{name}:{outputs[name]}:{rest.rpartition(':')[2]}"
