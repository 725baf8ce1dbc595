"""Looks up the names and calls of a rewritten file in the installed TensorFlow and Keras, without running it.

:func:`main` does that in a process of its own: names and questions on its input, one a line as JSON, and on its
output those that are missing or refused.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import types
from typing import Iterable, Mapping, NamedTuple, Sequence

from tpucompat.base import package, processes
from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.analysis.findings import Module
from tpucompat.commands.migrate import acceptance, library_acceptance, symbols, written
from tpucompat.commands.migrate.acceptance import Asked, Question
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.plan import COMPATIBLE, NOTHING, PLAIN, Result, encoded
from tpucompat.commands.migrate.programs import Imports
from tpucompat.names.used import Use

_OF_TENSORFLOW = ("tensorflow", "keras", "tf_keras", "tf_slim")
_ROOTS = (*_OF_TENSORFLOW, *library_acceptance.ROOTS)
_CODE, _REFUSED, _REMOVED = "TPU516", "TPU510", "TPU207"
#: The same of other libraries: what is gone or refused, and what a TODO says of it already.
_OF_LIBRARIES = ("TPU221", "TPU220")


class Answers(NamedTuple):
    """What the installed packages lack.

    Attributes:
      missing: The names that do not exist.
      objections: Question -> why what it is about would be refused.
    """

    missing: frozenset[str] = frozenset()
    objections: Mapping[Question, str] = {}


def answers(
    names: Iterable[str], questions: Iterable[Question] = (), legacy_keras: bool = False
) -> Answers:
    """What of some names and calls does not exist; nothing if TensorFlow is not installed.

    Args:
      names: ``tensorflow.math.log`` and the like.
      questions: What is called with which arguments.
      legacy_keras: Whether the program asks for Keras 2 by ``TF_USE_LEGACY_KERAS``.
    """
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment.pop("TF_USE_LEGACY_KERAS", None)
    if legacy_keras:
        environment["TF_USE_LEGACY_KERAS"] = "1"
    folder = os.path.dirname(package.FOLDER)
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, (folder, environment.get("PYTHONPATH")))
    )
    asked = sorted(set(questions))
    done = subprocess.run(
        processes.statement("from tpucompat.commands.migrate import resolution; resolution.main()"),
        input="\n".join(map(json.dumps, [*sorted(set(names)), *asked])),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    missing: set[str] = set()
    objections: dict[Question, str] = {}
    for line in done.stdout.splitlines():
        before, mark, text = line.partition("MISSING ")
        if before or not mark:
            continue
        found, why = json.loads(text)
        if why:
            kind, name, words, count = found
            objections[Question(kind, name, tuple(words), count)] = why
        else:
            missing.add(found)
    return Answers(frozenset(missing), objections)


def mark(results: Sequence[Result]) -> list[Result]:
    """Files with a TODO at each name that does not exist; one process answers for all of them.

    A file that needs no rewriting is asked about too.
    """
    modules = {
        index: findings.understand(sources.decode(result.path, result.after))
        for index, result in enumerate(results)
        if result.way != COMPATIBLE and (result.changed or not result.problems)
    }
    own = {index for index, module in modules.items() if _uses(module, _OF_TENSORFLOW)}
    own |= {index for index in modules if results[index].changed}
    modules = {
        index: module
        for index, module in modules.items()
        # Files that use libraries alone are asked about beside others: nothing is started for them.
        if results[index].changed or (own and _uses(module) and not module.uses_tpucompat)
    }
    asked = {index: list(acceptance.questions(module)) for index, module in modules.items()}
    kinds = _kinds(results, modules)
    found: dict[bool, Answers] = {}
    for legacy in set(kinds.values()):
        mine = [index for index, kind in kinds.items() if kind == legacy]
        names = {use.name for index in mine for use in _uses(modules[index])}
        questions = {one.question for index in mine for one in asked[index]}
        found[legacy] = answers(names, questions, legacy)
    return [
        _marked(result, modules[index], asked[index], found[kinds[index]])
        if index in modules
        else result
        for index, result in enumerate(results)
    ]


def _uses(module: Module, roots: Sequence[str] = _ROOTS) -> list[Use]:
    return [
        use for use in module.names.uses if not use.guarded and use.name.partition(".")[0] in roots
    ]


def _kinds(results: Sequence[Result], modules: Mapping[int, Module]) -> dict[int, bool]:
    """Whether a file runs beside Keras 2: what its program asks for holds for all its modules."""
    asking = {index: _asks_for_keras_2(results[index]) for index in modules}
    if len(set(asking.values())) < 2:
        return asking
    # A file that stays as it is may be what joins two others.
    between = [
        findings.understand(sources.decode(result.path, result.after))
        for index, result in enumerate(results)
        if index not in modules and not result.problems
    ]
    every = [*modules.values(), *between]
    imports = Imports([one for one in every if not one.source.is_notebook])
    paths = {os.path.abspath(modules[index].source.path) for index in modules if asking[index]}
    programs = [path for path in imports.paths if paths & imports.reached([path])]
    asked = imports.reached(programs)
    return {
        index: asking[index] or os.path.abspath(module.source.path) in asked
        for index, module in modules.items()
    }


def _asks_for_keras_2(result: Result) -> bool:
    texts = (result.after, *result.beside.values())
    return any(b"TF_USE_LEGACY_KERAS" in text for text in texts) or bool(
        written.imported(result.after)
    )


def _marked(result: Result, module: Module, asked: Sequence[Asked], found: Answers) -> Result:
    context = Context(module)
    marked = False
    dropped = symbols.drop_idle(context, found.missing)
    marked = marked or bool(dropped)
    for use in _uses(module):
        at = use.statement if use.statement is not None else use.node
        if use.name in found.missing and id(use.node) not in dropped:
            if any(
                context.is_marked(code, at, context.cell_of(at))
                for code in (_REMOVED, *_OF_LIBRARIES)
            ):
                continue  # said already, with what to do about it
            what = f"{use.name} does not exist in the installed packages"
            context.todo(_CODE, what, at, context.cell_of(at))
            marked = True
    for one in asked:
        if one.question in found.objections:
            what = found.objections[one.question]
            is_library = one.question.name.partition(".")[0] in library_acceptance.ROOTS
            cell = context.cell_of(one.node)
            if not is_library:
                context.todo(_REFUSED, what, one.node, cell)
            elif not any(context.is_marked(code, one.node, cell) for code in _OF_LIBRARIES):
                context.todo(_OF_LIBRARIES[0], what, one.node, cell)
            else:
                continue
            marked = True
    if not marked:
        return result
    way = PLAIN if result.way == NOTHING else result.way
    return result._replace(after=encoded(module, context.finish()), way=way)


def is_there(name: str) -> bool:
    """Whether a dotted name leads to something; True where its package is not installed."""
    head, *parts = name.split(".")
    try:
        value = importlib.import_module(head)
    except ImportError:
        return head != "tensorflow" or not parts
    path = head
    for part in parts:
        if not isinstance(value, (types.ModuleType, type)):
            return True  # an object's attributes are the program's, those of FLAGS for one
        path += "." + part
        try:
            value = getattr(value, part)
        except Exception:
            try:
                value = importlib.import_module(path)
            except Exception:
                return False
    return True


def main() -> None:
    """Answers for the names and questions on the input."""
    asked = [json.loads(line) for line in sys.stdin]
    try:
        importlib.import_module("tensorflow")
    except ImportError:
        return
    for one in asked:
        if isinstance(one, str):
            why = ""
            is_answer = not is_there(one)
        else:
            kind, name, words, count = one
            why = acceptance.objection(Question(kind, name, tuple(words), count))
            is_answer = bool(why)
        if is_answer:
            sys.stdout.write(f"\nMISSING {json.dumps([one, why])}\n")
