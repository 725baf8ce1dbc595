"""Lets a file use :mod:`tpucompat.v1` where nothing in plain TensorFlow 2 is known to be the same."""

from __future__ import annotations

import ast
import re
from typing import Any, Mapping

from tpucompat.commands.migrate.context import Context, Import
from tpucompat.names.used import constant

#: Code of what needs tpucompat -> why it is not rewritten.
REASONS: Mapping[str, str] = {
    "TPU205": "private modules; tpucompat.v1 provides their names",
    "TPU206": "no counterpart in TensorFlow 2; tpucompat.v1 has TensorFlow 1.15's results",
    "TPU207": "Keras 2 layers in a graph; tpucompat.v1 provides them",
    "TPU211": "cannot find where the model is built; move it into `with strategy.scope():`",
    "TPU212": (
        "the training loop that migrate generates does not cover it; tpucompat.v1 runs it unchanged"
    ),
    "TPU213": "a computation in a Session; in TensorFlow 2 it is strategy.run in a tf.function",
    "TPU515": "Keras 3 has no graphs or Sessions; tpucompat.v1 runs both",
}

_ROOTS = ("tensorflow", "keras")
_FROM = re.compile(r"(from\s+)([\w.]+)(\s+import)")


def rewrite(context: Context, reasons: Mapping[str, str]) -> None:
    """Imports the old namespace from tpucompat, and says why.

    Args:
      context: The file.
      reasons: Code -> what was found that asks for it.
    """
    first = None
    for found in context.imports:
        if _swap(context, found) and first is None:
            first = found
    for use in context.names.uses:
        if isinstance(use.node, ast.Call):
            _swap_text(context, use.node)
    if first is not None:
        for code, what in sorted(reasons.items()):
            why = REASONS.get(code, REASONS["TPU206"])
            context.todo(code, f"{what}: {why}", first.node, first.cell)


def _swap(context: Context, found: Import) -> bool:
    text = context.texts[found.cell]
    node = found.node
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        new = _module(module)
        only_v1 = module == "tensorflow.compat" and all(one.name == "v1" for one in node.names)
        if only_v1:
            new = "tpucompat"
        match = _FROM.match(text.source(node))
        if new is None or match is None:
            return False
        start = text.span(node)[0]
        text.replace(start + match.start(2), start + match.end(2), new)
        return True
    pieces = [_imported(one) for one in node.names]
    if all(piece is None for piece in pieces):
        return False
    written = [
        piece or (one.name + (f" as {one.asname}" if one.asname else ""))
        for piece, one in zip(pieces, node.names)
    ]
    return context.replace(node, found.cell, "import " + ", ".join(written))


def _imported(alias: Any) -> str | None:
    """``tensorflow.contrib.tpu as t`` -> ``tpucompat.v1.contrib.tpu as t``."""
    new = _module(alias.name)
    if new is None:
        return None
    if alias.asname:
        return f"{new} as {alias.asname}"
    head = alias.name.partition(".")[0]
    root = f"{_module(head)} as {head}"
    return root if alias.name == head else f"{new}, {root}"


def _module(name: str) -> str | None:
    head, _, below = name.partition(".")
    if head not in _ROOTS:
        return None
    if below.partition(".")[0] == "core" or below.startswith("compat.v2"):
        return None  # of TensorFlow 2 itself
    if head == "keras":
        return "tpucompat.v1." + name
    if below == "compat.v1" or below.startswith("compat.v1."):
        below = below[len("compat.v1.") :]
    return "tpucompat.v1." + below if below else "tpucompat.v1"


def _swap_text(context: Context, call: ast.Call) -> None:
    """The text in ``import_module("tensorflow.contrib")``."""
    for argument in call.args[:1]:
        name = constant(argument)
        new = _module(name) if isinstance(name, str) else None
        if new is not None:
            context.replace(argument, context.cell_of(argument), repr(new))
