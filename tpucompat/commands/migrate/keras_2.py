"""``migrate --keras 2``: the package tf-keras, imported by its own name, in the place of ``tf.keras``.

What tf-keras has as TensorFlow 1 had it is unchanged. What Keras 2 itself changed on its way to TensorFlow 2
(optimizers, defaults, the names in logs) is rewritten as for Keras 3.
"""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING, Any, Iterable

from tpucompat.commands.analysis.keras_3_rows import kept_by_keras_2
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import below_keras
from tpucompat.commands.migrate import files
from tpucompat.commands.migrate.context import Context
from tpucompat.names import era
from tpucompat.names.used import walk

if TYPE_CHECKING:
    from tpucompat.commands.migrate.plan import Result

#: What pip installs.
REQUIREMENT = "tf-keras"
MODULE = "tf_keras"
_REQUIREMENTS = "requirements.txt"
_IS_REQUIRED = re.compile(r"(?im)^\s*tf[-_.]keras\b")
_RULE = "TPU511"


def keeps(one: Difference) -> bool:
    """Whether tf-keras has the old way, so that a difference of Keras 3 needs no rewriting."""
    if one.row.how == "hard_sigmoid":
        return one.name == "text"  # its hard_sigmoid is the old one; the default is not
    return kept_by_keras_2(one.row)


def is_needed(result: Result) -> bool:
    """Whether a rewritten file imports tf-keras."""
    return result.changed and MODULE.encode() in result.after


def rewrite(context: Context) -> None:
    """Imports Keras from tf-keras, in all ways in which a file names it."""
    with context.rule(_RULE):
        for found in context.imports:
            if not any(use.guarded for use in found.uses):
                _import(context, found.node, found.cell)
        for use in context.names.uses:
            if use.statement is None and not use.guarded and use.base == "tensorflow":
                _expression(context, use.name, use.node)


def _expression(context: Context, name: str, node: Any) -> None:
    """``tf.keras.layers.Dense`` -> ``tf_keras.layers.Dense``."""
    is_short = name.split(".")[1] in _short_names(context)
    if not (is_short or name.startswith("tensorflow.keras")) or id(node) in context.done:
        return
    inner = node
    for _ in name.split(".")[2:]:
        if not isinstance(inner, ast.Attribute):
            return
        inner = inner.value
    if isinstance(inner, ast.Attribute) and (is_short or inner.attr == "keras"):
        below = f".{inner.attr}" if is_short else ""
        context.replace(inner, context.cell_of(inner), context.local(MODULE) + below)


def _short_names(context: Context) -> tuple[str, ...]:
    """Modules of TensorFlow that are Keras': tf.losses and tf.metrics are so in TensorFlow 2 only."""
    if context.module.era == era.TF1:
        return ("optimizers",)
    return ("losses", "metrics", "optimizers")


def _import(context: Context, node: Any, cell: int) -> None:
    text = context.texts[cell]
    lines = _imported(node)
    if not lines or not text.is_free(*text.span(node)):
        return
    between = text.newline + text.indent(node.lineno) if text.owns_lines(node) else "; "
    context.replace(node, cell, between.join(lines))
    context.done.update(id(inside) for inside in walk(node))


def _imported(node: Any) -> list[str]:
    """The statements in the place of one; [] where it stays."""
    lines: list[str] = []
    others: list[str] = []
    names: dict[str, list[str]] = {}
    for one in node.names:
        given = one.name + (f" as {one.asname}" if one.asname else "")
        within = "" if isinstance(node, ast.Import) else node.module or ""
        full = f"{within}.{one.name}" if within else one.name
        if one.name == "*" and _is_keras(within):
            names.setdefault(_module(within), []).append("*")
        elif not _is_keras(full) or (
            isinstance(node, ast.Import) and full.startswith("tensorflow") and not one.asname
        ):
            others.append(given)
        else:
            whole = isinstance(node, ast.Import)
            bound = one.asname or ("keras" if whole else one.name)
            home = _module("keras" if whole and not one.asname else full)
            package, _, last = home.rpartition(".")
            if package:
                names.setdefault(package, []).append(
                    last if last == bound else f"{last} as {bound}"
                )
            else:
                lines.append(f"import {last} as {bound}")
    if len(others) == len(node.names):
        return []
    lines += [f"from {package} import {', '.join(found)}" for package, found in names.items()]
    if others and isinstance(node, ast.Import):
        lines.append("import " + ", ".join(others))
    elif others:
        lines.append(f"from {node.module} import {', '.join(others)}")
    return lines


def _is_keras(name: str) -> bool:
    return name in ("keras", "tensorflow.keras", "tensorflow.python.keras") or bool(
        below_keras(name + ".x")
    )


def _module(name: str) -> str:
    """``tf_keras.layers.Dense`` of ``tensorflow.python.keras.layers.core.Dense``."""
    below = below_keras(name)
    parts = below.split(".")
    if len(parts) > 1 and parts[1] in _PRIVATE.get(parts[0], ()):
        below = ".".join([parts[0], *parts[2:]])
    elif below in ("Model", "Sequential", "Input"):
        below = {"Input": "layers.Input"}.get(below, f"models.{below}")
    return f"{MODULE}.{below}".rstrip(".")


_PRIVATE = {
    "layers": ("core", "convolutional", "pooling", "recurrent", "merge", "normalization"),
    "utils": ("np_utils", "generic_utils", "vis_utils", "data_utils", "layer_utils"),
}


def require(written: Iterable[str]) -> list[str]:
    """Adds tf-keras to each requirements.txt beside what was written, where it is not named yet.

    Returns:
      The files that were changed.

    Raises:
      WriteError: If one cannot be written.
    """
    changed = []
    for folder in sorted({os.path.dirname(os.path.abspath(path)) for path in written}):
        path = os.path.join(folder, _REQUIREMENTS)
        try:
            with open(path, "rb") as stream:
                before = stream.read()
        except FileNotFoundError:
            continue
        if _IS_REQUIRED.search(before.decode("utf-8", "replace")):
            continue
        newline = b"\r\n" if b"\r\n" in before else b"\n"
        joint = b"" if not before or before.endswith(b"\n") else newline
        files.write(path, before, before + joint + REQUIREMENT.encode() + newline)
        changed.append(path)
    return changed
