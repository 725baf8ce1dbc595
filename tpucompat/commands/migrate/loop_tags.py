"""Tags of summaries that a program writes under one name, which TensorFlow 1 numbered."""

from __future__ import annotations

import ast
import collections
from typing import Any, Iterable, Iterator

from tpucompat.commands.migrate.context import Context
from tpucompat.names.used import argument, constant

_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)


def repeated(context: Context, calls: Iterable[ast.Call]) -> Iterator[ast.expr]:
    """The tags that may be those of an earlier summary too.

    Args:
      context: The file.
      calls: The calls that write summaries.
    """
    functions = {id(one.node): name for name, one in context.names.functions.items()}
    called = collections.Counter(
        getattr(one.node.func, "id", getattr(one.node.func, "attr", ""))
        for one in context.names.calls
    )
    found: dict[tuple[int, str], list[ast.expr]] = collections.defaultdict(list)
    again = set()
    for call in calls:
        tag = argument(call, 0, "name")
        if tag is None or not isinstance(constant(tag), str):
            continue
        above: Any = context.parents(context.cell_of(call)).get(id(call))
        while above is not None and not isinstance(above, (ast.FunctionDef, ast.Lambda)):
            again |= {id(tag)} if isinstance(above, _LOOPS) else set()
            above = context.parents(context.cell_of(call)).get(id(above))
        again |= {id(tag)} if called[functions.get(id(above), "")] > 1 else set()
        found[id(above), constant(tag)].append(tag)
    for tags in found.values():
        if len(tags) > 1 or id(tags[0]) in again:
            yield from tags
