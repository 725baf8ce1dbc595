"""``tf.contrib.training.HParams``: the class stands in a module of its own beside the script.

It is plain Python, so that a script may do with it what it did, but for protocol buffers.
"""

from __future__ import annotations

import ast
import os

from tpucompat.commands.migrate import written
from tpucompat.commands.migrate.context import Context
from tpucompat.names.used import Use

#: The module that is written beside the script.
MODULE = "hyperparameters"
_PLACES = ("tensorflow.contrib.training.", "tensorflow.contrib.training.python.training.hparam.")
NAMES = {
    place + name: f"{MODULE}.{name}" for place in _PLACES for name in ("HParams", "parse_values")
}
#: What TensorFlow 2 has no protocol buffer for.
_GONE = frozenset(("to_proto", "from_proto", "hparam_def"))


def find(context: Context) -> list[Use]:
    """The uses of the class and its parser in a file; none where they cannot stand beside it."""
    uses = [use for use in context.names.uses if use.name in NAMES]
    if not uses or context.module.source.is_notebook or any(use.guarded for use in uses):
        return []
    folder = os.path.dirname(os.path.abspath(context.module.source.path))
    beside = os.path.join(folder, MODULE + ".py")
    is_taken = os.path.exists(beside) and not written.is_ours(beside)
    nodes = [node for tree in context.trees.values() for node in ast.walk(tree)]
    words = {getattr(node, "attr", getattr(node, "arg", None)) for node in nodes}
    return [] if is_taken or words & _GONE or not context.is_free(MODULE) else uses


def rewrite(context: Context, found: list[Use], package: str) -> None:
    """Writes the names of the module.

    Args:
      context: The file.
      found: What :func:`find` gave.
      package: What the module is imported from; "" for the folder of the script.
    """
    for use in found:
        if use.statement is None:
            context.replace(use.node, context.cell_of(use.node), NAMES[use.name])
            context.done.update(map(id, ast.walk(use.node)))  # so that its import goes
    if any(use.statement is None for use in found):
        context.want(MODULE, package)
