"""Rewrites what a notebook installs, and the choice of TensorFlow that Colab offered."""

from __future__ import annotations

import re
from typing import Iterator

from tpucompat.commands.analysis.sources import Unit
from tpucompat.commands.migrate.context import Context

# Colab refuses 1.x and ignores 2.x; Jupyter never had it.
_CHOICE = re.compile(r"(?P<indent>[ \t]*)%tensorflow_version\b")
_INSTALL = re.compile(r"[ \t]*(?:[!%]\s*)?(?:\S*python\S*\s+-m\s+)?pip3?\s+install\b")
_REQUIREMENT = re.compile(
    r"(?<![\w./-])(?P<name>tensorflow(?:-gpu)?|keras)(?P<extras>\[[\w,]+\])?"
    r"(?:(?P<pin>(?:==|~=|<=?)(?P<major>\d+)(?:\.(?P<minor>\d+))?[\w.*]*))?(?![\w.=<>~-])",
    re.IGNORECASE,
)
_FIRST = {"tensorflow": (2, 16), "keras": (3, 0)}  # of Keras 3


def rewrite(context: Context) -> None:
    """Takes out ``%tensorflow_version``, and the versions of TensorFlow and Keras before Keras 3."""
    for unit in context.module.source.units:
        if not unit.cell or unit.text is None:
            continue
        text = context.texts[unit.cell]
        for number in _commands(unit):
            line, start = text.line(number), text.line_start(number)
            choice = _CHOICE.match(line)
            if choice is not None:
                indent = choice.group("indent")
                text.replace(
                    start, start + len(line), f"{indent}pass{text.newline}" if indent else ""
                )
            elif _INSTALL.match(line):
                for found in _REQUIREMENT.finditer(line):
                    name = found.group("name").lower().replace("-gpu", "")
                    if _is_old(name, found):
                        at = start + found.start()
                        package = "tf-keras" if name == "keras" and context.keras == 2 else name
                        made = package + (found.group("extras") or "")
                        text.replace(at, at + len(found.group()), made)


def _commands(unit: Unit) -> Iterator[int]:
    """The numbers of the lines that are IPython's own."""
    assert unit.text is not None
    python = unit.text.split("\n")
    for number, line in enumerate(unit.original.split("\n"), 1):
        if line != python[number - 1]:
            yield number


def _is_old(name: str, found: re.Match[str]) -> bool:
    if found.group("pin") is None:
        return found.group("name").lower() != name  # tensorflow-gpu, which has no release any more
    version = int(found.group("major")), int(found.group("minor") or 0)
    return version < _FIRST[name]
