"""Modules that are written beside a migrated script, and belong to its user from then on."""

from __future__ import annotations

import ast
import json
import os
import re
from typing import Any, Iterable, Iterator, Mapping

from tpucompat.names.slim_names import MISSING

#: Module -> how it begins.
MODULES: Mapping[str, str] = {
    "training_loop": '"""Trains, evaluates and exports a model_fn',
    "session_loop": '"""Runs functions on the cores of a ``tf.distribute`` strategy',
    "hyperparameters": '"""Hyperparameters as attributes of an object',
}
#: Those that run a program's steps: the way that it went, and Keras 2 for its layers.
LOOPS = ("training_loop", "session_loop")
#: A module that is one of ours, but for its errors.
_OURS: Mapping[str, str] = {"hyperparameters.py": "../../../contrib/hparam.py"}
_CODED = (
    (r"from tpucompat.*\n\n", ""),
    (r'BadValueError\((\s*)"TPU\d+",\s*', r"ValueError(\1"),
    (r'GoneError\((\s*)"TPU\d+",(\s*f".*",)\s*".*",', r"NotImplementedError(\2"),
    ("-> GoneError", "-> NotImplementedError"),
)
#: A section of a module: a comment ``# if hooks:`` before a statement -> what a script has that needs it.
SECTIONS: Mapping[str, frozenset[str]] = {
    "hooks": frozenset(("hooks", "training_hooks")),
    "eval_metric_ops": frozenset(("eval_metric_ops",)),
    "hyperparameters": frozenset(("hyperparameters",)),
    "CheckpointSaverHook": frozenset(("CheckpointSaverHook",)),
    "recurrent_layers": frozenset(
        (
            *("recurrent_layers", "RNN", "GRU", "LSTM", "SimpleRNN", "ConvLSTM2D"),
            "StackedRNNCells",
        )
    ),
}
_SECTION = re.compile(r"\s*# if (\w+):")
#: What stands for a section among the names of what a script uses.
_MARK = "# "
_OF_TF_SLIM = '''\
#: How modules of tf_slim call a module of TensorFlow -> name in it -> where tf.compat.v1 has that today.
MISSED_BY_TF_SLIM = {names}


def complete_tf_slim():
    """Gives modules of TensorFlow the names that tf_slim 1.1 looks for in them."""
    import functools
    import sys

    import tf_slim

    del tf_slim  # imported for the modules that it has
    for module in [one for name, one in sys.modules.items() if name.startswith("tf_slim.")]:
        for alias, names in MISSED_BY_TF_SLIM.items():
            used = getattr(module, alias, {tf})
            if used.__name__.startswith("tensorflow.python."):
                for name, place in names.items():
                    setattr(used, name, functools.reduce(getattr, place.split("."), {v1}))


complete_tf_slim()
'''


def source(name: str) -> bytes:
    """The text of a whole module; what it imports of another one stands in it."""
    folder = os.path.dirname(__file__)
    with open(os.path.join(folder, _OURS.get(name, name)), "rb") as stream:
        text = stream.read()
    if name in _OURS:
        for coded, plain in _CODED:
            text = re.sub(coded.encode(), plain.encode(), text)
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            return _with_definitions(text, tree, node, source(f"{node.module}.py"))
    return text


def _with_definitions(text: bytes, tree: ast.Module, taken: ast.ImportFrom, other: bytes) -> bytes:
    """A module with the functions and classes that it imports, and those that they use."""
    theirs, below = ast.parse(other), other.decode().split("\n")
    kept = _reached(theirs, {word for one in taken.names for word in (one.name, "." + one.name)})
    out = [
        "\n".join(["", "", *below[_start(node) : node.end_lineno]])
        for node in theirs.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in kept
    ]
    lines = text.decode().split("\n")
    first = next(
        _start(one) for one in tree.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))
    )
    head = [*lines[: taken.lineno - 1], *lines[taken.end_lineno : first - 2]]
    words = {word for node in theirs.body if _is_kept(node, kept) for word in _names_of(node, kept)}
    mine = [line for line in head if re.fullmatch(r"import \w+", line)]
    needed = {
        f"import {one.name}"
        for node in theirs.body
        for one in (node.names if isinstance(node, ast.Import) else ())
        if one.name in words
    }
    at = head.index(mine[0])
    head[at : at + len(mine)] = sorted({*mine} | needed)
    return "\n".join([*head, *out, "", "", *lines[first:]]).encode()


def _start(node: ast.FunctionDef | ast.ClassDef) -> int:
    """The index of the line in which a definition begins, with its decorators."""
    return min(one.lineno for one in [node, *node.decorator_list]) - 1


def is_ours(path: str) -> bool:
    """Whether a file began as the module that is written here; its user may have changed it since."""
    first = MODULES[os.path.basename(path)[: -len(".py")]]
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read(len(first)) == first


def imported(text: bytes) -> str:
    """The loop that a script imports; "" if there is none."""
    return next((name for name in LOOPS if f"import {name}".encode() in text), "")


def mentioned(text: bytes) -> set[str]:
    """What a script may use of a module: attributes, keywords, and what it imports by name."""
    nodes = list(ast.walk(ast.parse(text)))
    taken = (node for node in nodes if isinstance(node, ast.ImportFrom))
    found = {alias.name for node in taken for alias in node.names}
    if b"import hyperparameters" in text:
        found.add(_MARK + "hyperparameters")
    found |= {one.attr for one in nodes if isinstance(one, ast.Attribute)}
    found |= {_MARK + name for name in found & SECTIONS["recurrent_layers"]}
    if "CheckpointSaverHook" in found:
        found |= {_MARK + "CheckpointSaverHook", _MARK + "hooks"}
    found |= {_MARK + one.arg for one in nodes if isinstance(one, ast.keyword) and one.arg}
    calls = [one for one in nodes if isinstance(one, ast.Call)]
    if any(_gives_hooks(one) for one in calls):
        found.add(_MARK + "hooks")
    if any(word.arg is None for one in calls for word in one.keywords):
        found |= {_MARK + name for one in ("hooks", "eval_metric_ops") for name in SECTIONS[one]}
    return found


def _gives_hooks(call: ast.Call) -> bool:
    """Whether a call gives hooks by their place, as ``estimator.train(input_fn, hooks)`` does."""
    given = call.args[1] if len(call.args) > 1 else None
    is_none = isinstance(given, ast.Constant) and given.value is None
    return getattr(call.func, "attr", "") == "train" and given is not None and not is_none


def imported_names(text: bytes) -> set[str]:
    """The last parts of all that a file imports; nothing where it cannot be read."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return set()
    found = [one for one in ast.walk(tree) if isinstance(one, (ast.Import, ast.ImportFrom))]
    names = [alias.name for one in found for alias in one.names]
    names += [getattr(one, "module", None) or "" for one in found]
    return {name.rpartition(".")[2] for name in names}


def defined(text: bytes) -> set[str]:
    """The functions, classes, methods and constants of a module."""
    tree = ast.parse(text)
    kinds = (ast.FunctionDef, ast.ClassDef)
    constants = (one for node in tree.body if isinstance(node, ast.Assign) for one in node.targets)
    return {one.name for one in ast.walk(tree) if isinstance(one, kinds)} | {
        one.id for one in constants if isinstance(one, ast.Name)
    }


def part(text: bytes, uses: Iterable[str]) -> bytes:
    """What a script needs of a module: the functions, classes and methods that it reaches from some names.

    Args:
      text: The module.
      uses: Names of what the script uses; those that the module does not have are ignored.
    """
    sections = {
        name for name, words in SECTIONS.items() if {_MARK + one for one in words} & {*uses}
    }
    module = _with_sections(text.decode(), sections)
    tree = ast.parse(module)
    lines = module.split("\n")
    kept = _reached(tree, {word for name in uses for word in (name, "." + name)})
    words = {word for node in tree.body if _is_kept(node, kept) for word in _names_of(node, kept)}
    out: list[str] = []
    for node, first, last in _pieces(tree.body, lines):
        if isinstance(node, ast.ClassDef) and node.name in kept:
            out += _class(node, first, lines, kept)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if getattr(node, "module", None) == "__future__":
                words.add(node.names[0].name)
            names = {one.asname or one.name.partition(".")[0] for one in node.names}
            out += lines[first:last] if names & words else []
        elif _is_kept(node, kept):
            out += lines[first:last]
    content = re.sub(r"\n{4,}", "\n\n\n", "\n".join(out).strip("\n") + "\n")
    return re.sub(r"(from __future__ .*\n)\n*", r"\1\n", content).encode()


def of_both(name: str, before: bytes, content: bytes) -> bytes | None:
    """A module that stays one when another script beside it is migrated: with what both of them use.

    Args:
      name: The module.
      before: What was written before; its user may have changed it since.
      content: What the other script needs.

    Returns:
      Its text; None where the user has changed it, and it lacks something.
    """
    whole = source(f"{name}.py")
    had, wanted = (defined(one) | _sections_of(whole, one) for one in (before, content))
    if wanted <= had:
        return before
    was, both = (part(whole, names) for names in (had, had | wanted))
    if _without_slim(before) != was:
        return None
    return completing_tf_slim(both) if b"tf_slim" in before + content else both


def whole(name: str) -> bytes:
    """A module with all its sections."""
    return _with_sections(source(name).decode(), {*SECTIONS}).encode()


def _marked(module: str) -> Iterator[tuple[str, int, int]]:
    """(section, the line of its comment, that behind its statement), with indices of lines."""
    lines = module.split("\n")
    ends = {
        node.lineno: node.end_lineno or 0
        for node in ast.walk(ast.parse(module))
        if isinstance(node, ast.stmt)
    }
    for index, line in enumerate(lines):
        found = _SECTION.fullmatch(line)
        if found:
            yield found.group(1), index, ends[index + 2]


def _with_sections(module: str, kept: set[str]) -> str:
    """A module without the comments of its sections, and without the other sections."""
    lines: list[str | None] = [*module.split("\n")]
    for name, comment, end in _marked(module):
        last = comment + 1 if name in kept else end
        lines[comment:last] = [None] * (last - comment)
    return "\n".join(line for line in lines if line is not None)


def _sections_of(text: bytes, part_of_it: bytes) -> set[str]:
    """The sections of a module that a part of it has, as :func:`mentioned` names them."""
    lines, found = text.decode().split("\n"), {*part_of_it.decode().split("\n")}
    marked = _marked(text.decode())
    return {_MARK + name for name, comment, _ in marked if lines[comment + 1] in found}


def _without_slim(text: bytes) -> bytes:
    return text.partition(completing_tf_slim(b"").strip())[0].rstrip() + b"\n"


def completing_tf_slim(text: bytes) -> bytes:
    """A module that gives TensorFlow's modules the names that tf_slim, which its program uses, misses."""
    return text.rstrip() + b"\n\n\n" + completion_of_tf_slim("tf", "v1").encode()


def completion_of_tf_slim(tf: str, v1: str) -> str:
    """The statements that do so.

    Args:
      tf: How the file calls TensorFlow.
      v1: How it calls ``tf.compat.v1``.
    """
    return _OF_TF_SLIM.format(names=json.dumps(MISSING, indent=4), tf=tf, v1=v1)


def _pieces(body: list[Any], lines: list[str], above: int = 0) -> Iterator[tuple[Any, int, int]]:
    """(statement, first line, line behind it): with the comments and empty lines before it."""
    for node in body:
        yield node, above, node.end_lineno
        above = node.end_lineno


def _class(node: ast.ClassDef, first: int, lines: list[str], kept: set[str]) -> list[str]:
    start = node.body[0].lineno - 1
    out = lines[first:start]
    for member, above, last in _pieces(node.body, lines, start):
        if not isinstance(member, ast.FunctionDef) or _is_method(node, member, kept):
            out += lines[above:last]
    return out


def _is_method(owner: ast.ClassDef, node: ast.FunctionDef, kept: set[str]) -> bool:
    """Whether a method is called: by a name that is kept, or by a base class of another module."""
    overrides = any(isinstance(base, ast.Attribute) for base in owner.bases)
    return overrides or "." + node.name in kept or node.name.startswith("__")


def _is_kept(node: Any, kept: set[str]) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name in kept
    if isinstance(node, ast.Assign):
        return bool({getattr(one, "id", "") for one in node.targets} & kept)
    return not isinstance(node, (ast.Import, ast.ImportFrom))


def _names_of(node: Any, kept: set[str]) -> set[str]:
    """What a statement names; of a class, what its kept methods do."""
    if not isinstance(node, ast.ClassDef):
        return _names(node)
    members = (
        one
        for one in node.body
        if not isinstance(one, ast.FunctionDef) or _is_method(node, one, kept)
    )
    return set().union(*map(_names, [*node.bases, *node.decorator_list, *members]))


def _names(node: ast.AST) -> set[str]:
    found = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return found | {"." + one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def _reached(tree: ast.Module, kept: set[str]) -> set[str]:
    while True:
        more = set(kept)
        for node in tree.body:
            if _is_kept(node, kept):
                more |= _names_of(node, kept)
        if more == kept:
            return kept
        kept = more
