"""Methods of a class of Keras that a subclass overrides and that have more parameters than in TensorFlow 1.15.

``tpucompat run`` calls them as 1.15 did (``tf/private/keras.py``, ``normalize_without_masks``); a rewritten
class has to accept what tf-keras passes.
"""

from __future__ import annotations

import ast
from typing import Iterator, Mapping, Sequence

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis.keras_values import key
from tpucompat.commands.migrate.context import Context

#: The last part of a base class's name -> its method, the parameter that tf-keras passes too, Keras 3's method.
_METHODS: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "BatchNormalization": (
        ("_moments", "mask", "_moments(inputs, mask)"),
        ("_calculate_mean_and_var", "mask", "_moments(inputs, mask)"),
    )
}


def rewrite(context: Context, in_graph: bool) -> None:
    """``def _moments(self, inputs, axes, keep_dims)`` -> ``..., keep_dims, mask=None)``; a TODO for Keras 3.

    Args:
      context: The file.
      in_graph: Whether its layers are in a graph, and so of Keras 2.
    """
    for owner, name, of_keras in _subclasses(context):
        rows = {row[0]: row[1:] for row in _METHODS[name]}
        for node in owner.body:
            if not isinstance(node, ast.FunctionDef) or node.name not in rows:
                continue
            parameter, now = rows[node.name]
            cell = context.cell_of(node)
            if of_keras and context.of_keras_3 and not in_graph:
                what = f"{name}.{node.name}: Keras 3 calls {now}, and does not call this method"
                context.todo("TPU511", what, node, cell)
            elif not _accepts(node.args, parameter) and node.args.args:
                text = context.texts[cell]
                last = node.args.defaults[-1] if node.args.defaults else node.args.args[-1]
                end = text.span(last)[1]
                text.replace(end, end, f", {parameter}=None")


def _accepts(given: ast.arguments, parameter: str) -> bool:
    names = {one.arg for one in (*given.args, *given.kwonlyargs)}
    return given.kwarg is not None or parameter in names


def _subclasses(context: Context) -> Iterator[tuple[ast.ClassDef, str, bool]]:
    """A file's classes with such a base class, its name, and whether it is one of ``tf.keras``."""
    used = {id(use.node): use.name for use in context.names.uses}
    own: dict[str, tuple[str, bool]] = {}
    for owner in indexes.nodes(context, ast.ClassDef):
        for base in owner.bases:
            name = used.get(id(base), "")
            last = name.rpartition(".")[2]
            if name.startswith("tensorflow.") and last in _METHODS:
                own[owner.name] = last, ".keras." in name and ".v1." not in name
            elif key(base) in own:
                own[owner.name] = own[key(base)]
            else:
                continue
            yield (owner, *own[owner.name])
            break
