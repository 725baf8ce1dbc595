"""Summaries of what a computation gives, or of what a run is fed: ``tf.summary.scalar`` and what merges them.

TensorFlow 2 has no merged summary to fetch. What is written makes the same message of the numbers, so that
``writer.add_summary(merged, step)`` stays.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Iterable, Mapping, NamedTuple

from tpucompat.commands.migrate import session_inputs
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.names.used import argument, constant

_SUMMARY = "tensorflow.summary."
#: What a tag may have in it to stay as it is.
_TAG = re.compile(r"[\w.\-][\w.\-/]*")


class Scalar(NamedTuple):
    """``loss_summary = tf.summary.scalar('loss', loss)``.

    Attributes:
      statement: The statement.
      name: What it is assigned to; "" for nothing.
      tag: What it is called in the file.
      value: What is shown.
    """

    statement: ast.stmt
    name: str
    tag: str
    value: ast.AST


def scalars(statements: Iterable[Any], calls: Mapping[int, str]) -> list[Scalar]:
    """The summaries that statements make.

    Args:
      statements: The statements.
      calls: The identities of calls, and the dotted names of what they call.

    Raises:
      CannotSee: If one is not of a number, or has a tag that is not sure.
    """
    found: list[Scalar] = []
    for one in statements:
        node = getattr(one, "value", None)
        called = calls.get(id(node), "")
        if not called.startswith(_SUMMARY) or called.startswith(
            (_SUMMARY + "merge", _SUMMARY + "File")
        ):
            continue
        value, tag = argument(node, 1, "tensor"), constant(argument(node, 0, "name"))  # type: ignore[arg-type]
        is_plain = (
            isinstance(tag, str) and _TAG.fullmatch(tag) and tag not in {each.tag for each in found}
        )
        if called != _SUMMARY + "scalar" or value is None or not is_plain or len(node.args) > 2:  # type: ignore[union-attr]
            raise CannotSee(
                called.replace("tensorflow.", "tf.") + " that is more than a number and its name"
            )
        targets = getattr(one, "targets", [])
        found.append(Scalar(one, getattr(targets[0], "id", "") if targets else "", tag, value))
    return found


def names(nodes: Iterable[ast.AST]) -> set[Any]:
    """What operations and variables of a file are named, apart from its summaries."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    words = (
        word.value for call in calls for word in call.keywords if word.arg in ("name", "scope")
    )
    named = ("get_variable", "name_scope", "variable_scope")
    first = (
        call.args[0] for call in calls if call.args and getattr(call.func, "attr", "") in named
    )
    return {constant(one) for one in (*words, *first)}


def merged(statement: ast.stmt, called: str, found: list[Scalar]) -> list[Scalar]:
    """What ``tf.summary.merge_all()`` or ``tf.summary.merge([…])`` puts together; [] for something else."""
    node: Any = getattr(statement, "value", None)
    if called == _SUMMARY + "merge_all" and not (node.args or node.keywords):
        return [one for one in found if one.statement.lineno < statement.lineno]
    given = argument(node, 0, "inputs") if called == _SUMMARY + "merge" else None
    if given is None or len(node.args) + len(node.keywords) != 1:
        return []
    by_name = {one.name: one for one in found if one.name}
    names = [getattr(one, "id", "") for one in getattr(given, "elts", [])]
    return [by_name[name] for name in names] if {*names} <= by_name.keys() else []


def written(values: Mapping[str, str]) -> str:
    """The call that makes a message of numbers, by their tags."""
    items = ", ".join(f"{tag!r}: {value}" for tag, value in values.items())
    return f"{session_inputs.MODULE}.scalars({{{items}}})"
