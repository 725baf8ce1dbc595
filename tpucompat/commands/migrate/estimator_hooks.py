"""Whether the training loop beside a script can call the hooks that the script gives it.

They are those of ``tf.compat.v1.train`` and the script's own, with a Session of the graph of the initial
values. What they fetch of a batch has to be a tensor that they hold, or that one of TensorFlow's
finds by its name.
"""

from __future__ import annotations

import ast
from typing import Iterator

from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.names.used import argument, constant

_ARGS = tuple(
    f"tensorflow.{head}{module}.SessionRunArgs"
    for head in ("", "compat.v1.")
    for module in ("train", "estimator")
)


def check(context: Context) -> None:
    """That what the hooks of a file fetch can be found.

    Raises:
      CannotSee: If it cannot.
    """
    for call in context.names.calls:
        if call.name not in _ARGS:
            continue
        if argument(call.node, 1, "feed_dict") is not None:
            raise CannotSee("a hook that feeds placeholders")
        fetched = argument(call.node, 0, "fetches")
        if any(isinstance(constant(one), str) for one in _leaves(fetched)):
            raise CannotSee("a hook that fetches tensors by their names")


def _leaves(node: ast.AST | None) -> Iterator[ast.AST]:
    """What is fetched: the values of a dict, the elements of a list, or the expression itself."""
    values = getattr(node, "values", None) if isinstance(node, ast.Dict) else None
    values = node.elts if isinstance(node, (ast.List, ast.Tuple)) else values
    if values is not None:
        for one in values:
            yield from _leaves(one)
    elif node is not None:
        yield node
