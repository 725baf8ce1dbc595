"""Modules that are written beside a migrated script, and belong to its user from then on."""

from __future__ import annotations

import ast
import builtins
import functools
import json
import os
import re
import textwrap
from typing import Any, Iterable, Iterator, Mapping, NamedTuple

from tpucompat.names.slim_names import MISSING
from tpucompat.names.used import walk

#: Module -> how it begins.
MODULES: Mapping[str, str] = {
    "training_loop": '"""Trains, evaluates and exports a model_fn',
    "session_loop": '"""Runs functions on the cores of a ``tf.distribute`` strategy',
    "hyperparameters": '"""Hyperparameters as attributes of an object',
    "contrib_crf": '"""``tf.contrib.crf``',
    "contrib_cudnn_rnn": '"""``tf.contrib.cudnn_rnn``',
    "contrib_data": '"""``tf.contrib.data``',
    "contrib_framework": '"""``tf.contrib.framework``',
    "contrib_image": '"""``tf.contrib.image``',
    "contrib_opt": '"""``tf.contrib.opt``',
    "contrib_rnn": '"""``tf.contrib.rnn``',
    "contrib_legacy_seq2seq": '"""``tf.contrib.legacy_seq2seq``',
    "contrib_seq2seq": '"""``tf.contrib.seq2seq.sequence_loss``',
    "contrib_training": '"""``tf.contrib.training``',
    "mnist_data": '"""``tf.contrib.learn.datasets`` and',
}
#: Those that run a program's steps: the way that it went, and Keras 2 for its layers.
LOOPS = ("training_loop", "session_loop")
#: A module that is made of ours -> those of tpucompat.contrib that it is made of, with what these import.
OURS: Mapping[str, tuple[str, ...]] = {
    "hyperparameters": ("hparam",),
    "contrib_crf": ("crf",),
    "contrib_cudnn_rnn": ("cudnn_rnn",),
    "contrib_data": ("data",),
    "contrib_framework": ("framework",),
    "contrib_image": ("image", "image_colors"),
    "contrib_opt": ("opt",),
    "contrib_rnn": ("rnn", "rnn_cells"),
    "contrib_legacy_seq2seq": ("legacy_seq2seq", "legacy_seq2seq_losses"),
    "contrib_seq2seq": ("seq2seq_losses",),
    "contrib_training": ("training",),
    "mnist_data": ("learn_datasets",),
}
#: An import of one of them, in a script or in a cell of a notebook; and the packages with modules of that name.
_IMPORT = re.compile(
    rf"(?:\bfrom +(?P<package>[\w.]+) +)?\bimport +(?P<name>{'|'.join(LOOPS)})\b".encode()
)
_OTHERS = (b"tensorflow", b"tpucompat")
_CONTRIB = "tpucompat.contrib."
_FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "..", "contrib")
#: What is imported of other packages than Python's.
_LIBRARIES = re.compile(r"(import|from) (numpy|tensorflow)")
#: Errors with codes, and Python's own in their place.
_CODED = (
    (r'\bBad(Type|Value)Error\((\s*)"TPU\d+",\s*', r"\1Error(\2"),
    (r"\bBad(Type|Value)Error\b", r"\1Error"),
    (r'GoneError\((\s*)"TPU\d+",(\s*f".*",)\s*".*",', r"NotImplementedError(\2"),
    ("-> GoneError", "-> NotImplementedError"),
)
#: A comment before a statement that some programs need: ``# if hooks:``; and what others have in the place of
#: the statement, or of its first line: ``# if not hooks: def loop(iterator):``.
_SECTION = re.compile(r"(\s*)# if (not )?(\w+(?: or \w+)*):(?: (.*))?")
#: What stands for a section among the names of what a script uses.
_MARK = "# "
#: How a module says which sections it is without.
_LACKS = "Left out, as the script does not use them: "
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


def home_of(source_name: str) -> str:
    """The module that the code of a module of tpucompat stands in beside a script; "" if it cannot."""
    homes = {_CONTRIB + one: module for module, names in OURS.items() for one in names}
    return homes.get(source_name, "")


#: Of how many files of a program is known what they import, which is asked for each module beside them.
_MOST_TEXTS = 4096


@functools.lru_cache(maxsize=None)
def source(name: str) -> bytes:
    """The text of a whole module; what it imports of another one stands in it."""
    if name[: -len(".py")] in OURS:
        return _joined(OURS[name[: -len(".py")]])
    with open(os.path.join(os.path.dirname(__file__), name), "rb") as stream:
        text = stream.read()
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            return _with_definitions(text, tree, node, source(f"{node.module}.py"))
    return text


@functools.lru_cache(maxsize=None)
def _closure(names: tuple[str, ...]) -> Mapping[str, str]:
    """Modules of tpucompat.contrib and those that they import, the latter first: name -> text."""
    found: dict[str, str] = {}
    for name in names:
        path = os.path.join(_FOLDER, *name.split("."))
        is_package = os.path.isdir(path)
        with open(os.path.join(path, "__init__.py") if is_package else path + ".py") as stream:
            text = stream.read()
        below = [_module_of(one) for one in _imports(ast.parse(text))]
        found.update(
            _closure(tuple(one[len(_CONTRIB) :] for one in below if one.startswith(_CONTRIB)))
        )
        found[_CONTRIB + name] = text
    return found


def _imports(tree: ast.Module) -> list[Any]:
    return [one for one in tree.body if isinstance(one, (ast.Import, ast.ImportFrom))]


def _import_of(module: str, names: set[str]) -> str:
    """The statement that imports names of a module; without names it is one."""
    return f"from {module} import {', '.join(sorted(names))}" if names else module


def _module_of(node: Any) -> str:
    """The module that a statement imports from; "" for ``import x``."""
    return getattr(node, "module", None) or ""


def _joined(names: tuple[str, ...]) -> bytes:
    """One module of several of tpucompat.contrib, with Python's errors."""
    texts = _closure(names)
    taken: dict[str, set[str]] = {}
    bodies = []
    for text in texts.values():
        tree, lines = ast.parse(text), text.split("\n")
        for node in _imports(tree):
            module = _module_of(node)
            if not module:
                taken.update((line, set()) for line in lines[node.lineno - 1 : node.end_lineno])
            elif not module.startswith("tpucompat."):
                taken.setdefault(module, set()).update(one.name for one in node.names)
        last = max(node.end_lineno for node in _imports(tree))
        bodies.append("\n".join(lines[last:]).partition("\n__all__")[0].strip("\n"))
    root = texts[_CONTRIB + names[0]]
    future, *rest = sorted(_import_of(one, words) for one, words in taken.items())
    rest.sort(key=lambda line: line.startswith("from "))
    groups = [[one for one in rest if bool(_LIBRARIES.match(one)) is of] for of in (False, True)]
    head = "\n\n".join("\n".join(one) for one in [[future], *groups] if one)
    doc = root[: root.index('"""', 3) + 3]
    text = "\n\n\n".join([f"{doc}\n\n{head}", *filter(None, bodies)]) + "\n"
    for coded, plain in _CODED:
        text = re.sub(coded, plain, text)
    return text.encode()


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
    words = _named(theirs, kept)
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
    """The loop that a script imports; "" if there is none. TensorFlow has a ``training_loop`` of its own."""
    taken = (
        one for one in _IMPORT.finditer(text) if not (one["package"] or b"").startswith(_OTHERS)
    )
    return next((one["name"].decode() for one in taken), "")


@functools.lru_cache(maxsize=_MOST_TEXTS)
def mentioned(text: bytes) -> frozenset[str]:
    """What a script may use of a module: attributes, keywords, and what it imports by name."""
    nodes = walk(ast.parse(text))
    taken = (node for node in nodes if isinstance(node, ast.ImportFrom))
    found = {alias.name for node in taken for alias in node.names}
    return frozenset(found | {one.attr for one in nodes if isinstance(one, ast.Attribute)})


def marks(sections: Iterable[str]) -> set[str]:
    """Sections, as they stand among the names of what a script uses."""
    return {_MARK + name for name in sections}


@functools.lru_cache(maxsize=_MOST_TEXTS)
def imported_names(text: bytes) -> frozenset[str]:
    """The last parts of all that a file imports; nothing where it cannot be read."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return frozenset()
    found = [one for one in walk(tree) if isinstance(one, (ast.Import, ast.ImportFrom))]
    names = [alias.name for one in found for alias in one.names]
    names += [getattr(one, "module", None) or "" for one in found]
    return frozenset(name.rpartition(".")[2] for name in names)


def defined(text: bytes) -> set[str]:
    """The functions, classes, methods and constants of a module."""
    tree = ast.parse(text)
    kinds = (ast.FunctionDef, ast.ClassDef)
    constants = (one for node in tree.body if isinstance(node, ast.Assign) for one in node.targets)
    return {one.name for one in walk(tree) if isinstance(one, kinds)} | {
        one.id for one in constants if isinstance(one, ast.Name)
    }


def part(text: bytes, uses: Iterable[str]) -> bytes:
    """What a script needs of a module: the functions, classes and methods that it reaches from some names.

    Args:
      text: The module.
      uses: Names of what the script uses, with the :func:`marks` of sections; those that the module does
        not have are ignored.
    """
    sections = {name[len(_MARK) :] for name in uses if name.startswith(_MARK)}
    module = _with_sections(text.decode(), sections)
    tree = ast.parse(module)
    lines = module.split("\n")
    kept = _reached(tree, {word for name in uses for word in (name, "." + name)})
    derived, words = _derived(tree), _named(tree, kept)
    out: list[str] = []
    for node, first, last in _pieces(tree.body, lines):
        if isinstance(node, ast.ClassDef) and node.name in kept:
            out += _class(node, first, lines, kept, derived)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if getattr(node, "module", None) == "__future__":
                words.add(node.names[0].name)
            names = {one.asname or one.name.partition(".")[0] for one in node.names}
            used = names & words
            if isinstance(node, ast.ImportFrom) and used and used < names:
                out += [*lines[first : node.lineno - 1], _import_of(_module_of(node), used)]
            else:
                out += lines[first:last] if used else []
        elif _is_kept(node, kept):
            out += lines[first:last]
    content = re.sub(r"\n{4,}", "\n\n\n", "\n".join(out).strip("\n") + "\n")
    content = _saying_what_it_lacks(content, {*sections_of(text)} - sections)
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


def sections_of(text: bytes) -> list[str]:
    """The sections that a module has, in their order."""
    found = (name for one in _marked(text.decode()) for name in one.names)
    return list(dict.fromkeys(found))


class _Marked(NamedTuple):
    """A comment of a section, with indices of lines.

    Attributes:
      names: Those of the sections that it belongs to.
      instead: What stands there without it; None where nothing does.
      comment: Its line.
      first: That of its statement.
      end: That behind its statement.
    """

    names: list[str]
    instead: str | None
    comment: int
    first: int
    end: int


def _marked(module: str) -> Iterator[_Marked]:
    lines = module.split("\n")
    ends: dict[int, int] = {}
    for node in walk(ast.parse(module)):
        if isinstance(node, (ast.stmt, ast.keyword)):
            ends[node.lineno] = max(ends.get(node.lineno, 0), node.end_lineno or 0)
    for index, line in enumerate(lines):
        found = _SECTION.fullmatch(line)
        if found:
            first = next(at for at in range(index, len(lines)) if at + 1 in ends)
            indent, is_instead, names, text = found.groups()
            end = first + 1 if (text or "").endswith(":") else ends[first + 1]
            yield _Marked(
                names.split(" or "), indent + text if is_instead else None, index, first, end
            )


def _with_sections(module: str, kept: set[str]) -> str:
    """A module without the comments of its sections, and without what only the other sections have."""
    lines: list[str | None] = [*module.split("\n")]
    for one in _marked(module):
        if lines[one.comment] is None:  # within what is left out
            continue
        lines[one.comment] = None
        if kept.isdisjoint(one.names):
            lines[one.comment : one.end] = [None] * (one.end - one.comment)
            if one.instead is not None:
                lines[one.first] = one.instead
    return "\n".join(line for line in lines if line is not None)


def _saying_what_it_lacks(module: str, sections: set[str]) -> str:
    """A module whose docstring says which sections it is without."""
    if not sections:
        return module
    said = textwrap.wrap(_LACKS + ", ".join(sorted(sections)) + ".", 100)
    end = module.index('"""', 3)
    return "\n".join([module[:end], *said]) + "\n" + module[end:]


def _lacking(part_of_it: bytes) -> set[str]:
    """The sections that a module says it is without."""
    doc = " ".join((ast.get_docstring(ast.parse(part_of_it)) or "").split())
    return {*doc.partition(_LACKS)[2].rstrip(".").split(", ")} - {""}


def _sections_of(text: bytes, part_of_it: bytes) -> set[str]:
    """The sections of a module that a part of it has, as :func:`marks` names them."""
    return marks({*sections_of(text)} - _lacking(part_of_it))


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
    rows = "".join(f'    "{name}": {json.dumps(names)},\n' for name, names in MISSING.items())
    rows = re.sub(r"(.{70,96}?, )(?=.)", "\\1\n        ", rows)
    rows = re.sub(" +$", "", rows, flags=re.MULTILINE)
    return _OF_TF_SLIM.format(names="{\n" + rows + "}", tf=tf, v1=v1)


def _pieces(body: list[Any], lines: list[str], above: int = 0) -> Iterator[tuple[Any, int, int]]:
    """(statement, first line, line behind it): with the comments and empty lines before it."""
    for node in body:
        yield node, above, node.end_lineno
        above = node.end_lineno


def _class(
    node: ast.ClassDef, first: int, lines: list[str], kept: set[str], derived: set[str]
) -> list[str]:
    start = node.body[0].lineno - 1
    out = lines[first:start]
    for member, above, last in _pieces(node.body, lines, start):
        if not isinstance(member, ast.FunctionDef) or _is_method(node, member, kept, derived):
            out += lines[above:last]
    return out


def _derived(tree: ast.Module) -> set[str]:
    """The classes of a module with a base class of another module, which may call what they override.

    So may what stands beside such a base class.
    """
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    bases = {
        name: {getattr(base, "id", ".") for base in node.bases} for name, node in classes.items()
    }
    ours = classes.keys() | {*vars(builtins), "NamedTuple"}
    found: set[str] = set()
    for name in classes:  # a base class stands before them
        if bases[name] & found or bases[name] - ours:
            found.add(name)
    waiting = list(found)
    while waiting:
        beside = bases[waiting.pop()] & classes.keys() - found
        found |= beside
        waiting += beside
    return found


def _is_method(
    owner: ast.ClassDef, node: ast.FunctionDef, kept: set[str], derived: set[str]
) -> bool:
    """Whether a method is called: by a name that is kept, or by a base class of another module."""
    return owner.name in derived or "." + node.name in kept or node.name.startswith("__")


def _is_kept(node: Any, kept: set[str]) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name in kept
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = {getattr(one, "id", "") for target in targets for one in ast.walk(target)}
        return bool(names & kept)
    return not isinstance(node, (ast.Import, ast.ImportFrom))


def _named(tree: ast.Module, kept: set[str]) -> set[str]:
    """What the kept statements of a module name."""
    derived = _derived(tree)
    nodes = (node for node in tree.body if _is_kept(node, kept))
    return {word for node in nodes for word in _names_of(node, kept, derived)}


def _names_of(node: Any, kept: set[str], derived: set[str]) -> set[str]:
    """What a statement names; of a class, what its kept methods do."""
    if not isinstance(node, ast.ClassDef):
        return _names(node)
    members = (
        one
        for one in node.body
        if not isinstance(one, ast.FunctionDef) or _is_method(node, one, kept, derived)
    )
    return set().union(*map(_names, [*node.bases, *node.decorator_list, *members]))


def _names(node: ast.AST) -> set[str]:
    found = {one.id for one in walk(node) if isinstance(one, ast.Name)}
    return found | {"." + one.attr for one in walk(node) if isinstance(one, ast.Attribute)}


def _reached(tree: ast.Module, kept: set[str]) -> set[str]:
    derived = _derived(tree)
    while True:
        more = set(kept)
        for node in tree.body:
            if _is_kept(node, kept):
                more |= _names_of(node, kept, derived)
        if more == kept:
            return kept
        kept = more
