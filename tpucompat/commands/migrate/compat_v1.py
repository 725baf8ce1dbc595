"""Scripts that spell TensorFlow 1 by ``tf.compat.v1``, in the spelling of TensorFlow 1.15.

The rules of computations that are built by hand know the functions of a graph by the names of 1.15. A script of
2020 has the same functions below ``tf.compat.v1``; without that prefix it is the script of 2018.
"""

from __future__ import annotations

import ast
from typing import Any, Iterator

from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.analysis.findings import Module
from tpucompat.commands.migrate import plan
from tpucompat.commands.migrate.text import Text
from tpucompat.names import era
from tpucompat.names.fixes import COMPUTATIONS
from tpucompat.names.used import Use

_V1 = "tensorflow.compat.v1"


def respelled(module: Module) -> Module | None:
    """A file without the prefix; None where it builds no computation with it.

    Args:
      module: The file.
    """
    prefixed = {use.name for use in module.names.uses if use.name.startswith(_V1)}
    if module.era != era.TF1 or module.problems or module.uses_tpucompat:
        return None
    if not any(name[len(_V1) + 1 :] in COMPUTATIONS for name in prefixed):
        return None
    changed = {}
    start = 0
    for unit, (end, _, _) in zip(module.source.units, module.ends):
        if unit.text is not None:
            text = Text(unit.text)
            for span, words in set(_edits(text, module.names.uses[start:end])):
                text.replace(*span, words)
            changed[unit.cell] = text.result()
        start = end
    again = findings.understand(sources.decode(module.source.path, plan.encoded(module, changed)))
    return again._replace(era=module.era)


def _edits(text: Text, uses: list[Use]) -> Iterator[tuple[tuple[int, int], str]]:
    for use in uses:
        statement: Any = use.statement
        if statement is not None:
            words = _import(statement)
            if words:
                yield text.span(statement), words
            continue
        node: Any = use.node
        while isinstance(node, ast.Attribute):
            above = node.value
            if node.attr == "v1" and isinstance(above, ast.Attribute) and above.attr == "compat":
                yield (text.span(above.value)[1], text.span(node)[1]), ""
            node = above


def _import(statement: Any) -> str:
    """An import statement without the prefix; "" where it has none."""
    names = [(one.name, f" as {one.asname}" if one.asname else "") for one in statement.names]
    if isinstance(statement, ast.Import):
        if not any(name.startswith(_V1) for name, _ in names):
            return ""
        return "import " + ", ".join(name.replace(_V1, "tensorflow") + to for name, to in names)
    module = statement.module or ""
    if module == "tensorflow.compat" and names[0][0] == "v1" and len(names) == 1:
        return "import tensorflow" + (names[0][1] or " as v1")
    if not module.startswith(_V1):
        return ""
    listed = ", ".join(name + to for name, to in names)
    return f"from {module.replace(_V1, 'tensorflow')} import {listed}"
