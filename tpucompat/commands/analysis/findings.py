"""What ``scan`` reports and ``migrate`` works from: the findings in one file."""

from __future__ import annotations

import ast
import re
from types import MappingProxyType
from typing import Iterator, Mapping, NamedTuple

from tpucompat.base import codes
from tpucompat.commands.analysis import guards, indexes, own_objects, sources
from tpucompat.commands.analysis.sources import Source, SourceError
from tpucompat.names import era, fixes
from tpucompat.names import successors as today
from tpucompat.names.used import NOTHING_GIVEN, Call, Names, Use, walk
from tpucompat.names.used_scopes import Scope


class Finding(NamedTuple):
    """One place in a file.

    Attributes:
      path: The file.
      line: From 1, in the file or in the cell.
      column: From 1, in characters.
      cell: The number of the notebook's cell; 0 in a script.
      code: A key of :data:`tpucompat.base.codes.CODES`.
      was: The old name or habit.
      becomes: What one writes today; "" if there is nothing.
      note: What to know beside it.
      covered: Whether ``tpucompat run`` answers it; None where only the installed packages can tell.
      fix: ``safe`` or ``unsafe`` where ``migrate`` rewrites it, else "".
      guarded: Whether the program is written to go on without it.
    """

    path: str
    line: int
    column: int
    cell: int
    code: str
    was: str
    becomes: str = ""
    note: str = ""
    covered: bool | None = True
    fix: str = fixes.NONE
    guarded: bool = False

    @property
    def page(self) -> str:
        """The page of the guide."""
        return codes.page(self.code)


class Place(NamedTuple):
    """A finding with what ``migrate`` needs to rewrite it."""

    finding: Finding
    use: Use
    fate: today.Fate


class Module(NamedTuple):
    """A file, read and understood."""

    source: Source
    #: One tree for each unit; None for a cell that is no Python.
    trees: list[ast.Module | None]
    names: Names
    problems: list[Finding]
    era: str
    #: The uses of ``names`` before this index come from the unit of the same number.
    ends: list[tuple[int, int, int]]
    #: Whether anything in it speaks for its era, which is TensorFlow 1 otherwise.
    era_known: bool = True
    #: Whether it names no Keras, and a file that imports it, or that it imports, does.
    given_models: bool = False
    #: The names of files that other files of its program give Keras, and that Keras 3 does not take.
    renamed: frozenset[str] = frozenset()
    #: Modules of its program that it imports -> what the names in them stand for.
    given: Mapping[str, Scope] = NOTHING_GIVEN
    #: Modules beside it that it imports, and that are not migrated with it -> their files.
    left: Mapping[str, str] = MappingProxyType({})

    @property
    def uses_tpucompat(self) -> bool:
        """Whether it sees TensorFlow through ``tpucompat.v1``, which answers to old habits."""
        return any(use.name.startswith("tpucompat.v1") for use in self.names.uses)

    @property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the trees, listed at the first question: the text of many files rules every row out."""
        found = self.names.nodes
        if not found:
            found += [node for tree in self.trees if tree is not None for node in walk(tree)]
        return found


#: Methods by which old programs are known -> (what one writes, note, fix).
METHODS: Mapping[str, tuple[str, str, str]] = {
    ".experimental_run_v2": ("strategy.run", "", fixes.SAFE),
    ".fit_generator": ("model.fit", "", fixes.SAFE),
    ".evaluate_generator": ("model.evaluate", "", fixes.SAFE),
    ".predict_generator": ("model.predict", "", fixes.SAFE),
    ".initialized_value": (
        "variable.read_value()",
        "In a graph, its initial value where no Session has initialized it.",
        fixes.SAFE,
    ),
    ".make_one_shot_iterator": (
        "tf.compat.v1.data.make_one_shot_iterator(dataset)",
        "In a tf.function, iterate over the dataset itself.",
        fixes.SAFE,
    ),
    ".make_initializable_iterator": (
        "tf.compat.v1.data.make_initializable_iterator(dataset)",
        "In a tf.function, iterate over the dataset itself.",
        fixes.SAFE,
    ),
}

#: A module may be given an estimator, and name none of these libraries.
_ROOT_WORDS = re.compile(
    rb"tensorflow|keras|tpucompat|COLAB_TPU_ADDR|export_savedmodel|\binput_fn\b|\b(?:%s)\b"
    % "|".join(sorted(today.roots() - {"builtins", "google"})).encode()
)
_IGNORE = re.compile(r"#\s*tpucompat:\s*ignore(?:\[(?P<codes>[\w,\s]+)\])?", re.IGNORECASE)


def analyse(path: str) -> Module:
    """Reads a file and finds what its names stand for.

    Raises:
      SourceError: If it cannot be read at all.
    """
    return understand(sources.read(path))


def understand(
    source: Source, given_models: bool = False, given: Mapping[str, Scope] = NOTHING_GIVEN
) -> Module:
    """Like :func:`analyse`, of a file that was read already.

    Args:
      source: The file.
      given_models: Whether its program may give it a model of Keras, of which it names nothing.
      given: What the names of the modules stand for that it imports from its program.
    """
    names = Names(today.roots(), given)
    trees: list[ast.Module | None] = []
    problems: list[Finding] = []
    ends: list[tuple[int, int, int]] = []
    # A file without any of these words has nothing to find, but it may still be no Python.
    speaks = given_models or bool(given) or _ROOT_WORDS.search(source.data) is not None
    for unit in source.units:
        tree = None
        if unit.text is not None:
            try:
                tree = sources.parse(unit.text, is_cell=unit.cell > 0)
                if speaks:
                    names.add(tree)
            except SourceError as error:
                problems.append(_problem(source, error, unit.cell))
            except RecursionError:
                deep = SourceError("TPU424", "Its expressions are nested too deeply.")
                problems.append(_problem(source, deep, unit.cell))
        trees.append(tree)
        ends.append((len(names.uses), len(names.calls), len(names.strings)))
    found = _era(names, source)
    known = any(found.evidence.values())
    module = Module(source, trees, names, problems, found.era, ends, known, given_models)
    module = module._replace(given=given)
    _open_guards(module)
    for place in own_objects.calls(module):
        call = names.calls[place]
        names.own.add(id(call.node.func))
        names.calls[place] = call._replace(name="own" + call.name)
    return module


def _open_guards(module: Module) -> None:
    """Takes for unguarded what TensorFlow 2 runs, or has nothing else for."""
    names = module.names
    asks = any(call.guarded or call.name == "hasattr" for call in names.calls)
    if not asks and not any(use.guarded for use in names.uses):
        return
    gone = {id(place.use.node): place.fate for place in places(module)}
    trees = [tree for tree in module.trees if tree is not None]
    opened, names.asked = guards.opened(names, trees, gone)
    names.uses[:] = [
        use._replace(guarded=False) if id(use.node) in opened else use for use in names.uses
    ]
    names.calls[:] = [
        call._replace(guarded=False) if id(call.node) in opened else call for call in names.calls
    ]


def _problem(source: Source, error: SourceError, cell: int) -> Finding:
    code = "TPU434" if cell and error.code == "TPU421" else error.code
    covered = None if error.code == "TPU420" else False
    return Finding(
        source.path, error.line, 1, cell, code, error.message, "", "", covered, fixes.NONE
    )


def problem(path: str, error: SourceError) -> Finding:
    """The finding that says that a file cannot be read."""
    return Finding(path, error.line, 1, 0, error.code, error.message, "", "", None, fixes.NONE)


def _era(names: Names, source: Source) -> era.Verdict:
    """TensorFlow 1 or 2, as :mod:`tpucompat.names.era` weighs the names that were found."""
    names_used = {use.name[11:] for use in names.uses if use.name[:11] == "tensorflow."}
    for version in ("compat.v1", "compat.v2"):
        root = f"tensorflow.{version}"
        if any(use.statement is not None and use.name == root for use in names.uses):
            names_used |= {name[10:] for name in names_used if name[:10] == f"{version}."}
    return era.weigh([("\n".join(unit.original for unit in source.units), names_used)])


# The old names ---------------------------------------------------------------------------------------


def places(module: Module) -> Iterator[Place]:
    """Every use of an old name, in the order in which they were found."""
    position = _positions(module)
    uses = module.names.uses
    start = 0
    for unit, (end, _, _) in zip(module.source.units, module.ends):
        for use in uses[start:end]:
            found = today.fate(use.name)
            if found is None or _says_nothing(found, use, module):
                continue
            where = position.of(unit, use.node, use.statement)
            words = (found.code, found.was, found.becomes, found.note)
            finding = Finding(*where, *words, found.covered, found.fix, use.guarded)
            yield Place(finding, use, found)
        start = end


def _says_nothing(found: today.Fate, use: Use, module: Module) -> bool:
    if use.statement is None and use.base.count(".") >= today.length(found, use.name):
        return True  # it was reported, and is rewritten, where the name came from
    if found.was.startswith("tf.compat.v1.") and today.needs_keras_2(found):
        return b"TF_USE_LEGACY_KERAS" in module.source.data
    if today.is_of_tensorflow_1(found):
        if module.era == era.TF2:
            return True
        if today.fits_both(found, use.parent):
            return True
    return False


def other_findings(module: Module) -> Iterator[Finding]:
    """Methods and settings that are known by what they are called."""
    if module.uses_tpucompat:
        return
    position = _positions(module)
    start_calls = start_strings = 0
    for unit, (_, calls, strings) in zip(module.source.units, module.ends):
        for call in module.names.calls[start_calls:calls]:
            entry = METHODS.get(call.name)
            if entry is not None and call.name[0] == ".":
                where = position.of(unit, _method(call))
                code = "TPU208" if call.name == ".experimental_run_v2" else "TPU214"
                becomes, note, fix = entry
                was = call.name + "()"
                yield Finding(*where, code, was, becomes, note, True, fix, call.guarded)
        for node, text, _, guarded in module.names.strings[start_strings:strings]:
            where = position.of(unit, node)
            note = "Since 2024, a Colab TPU is attached to the machine itself."
            yield Finding(*where, "TPU208", text, "tpu='local'", note, True, fixes.SAFE, guarded)
        start_calls, start_strings = calls, strings


def where(module: Module, node: ast.AST) -> tuple[str, int, int, int]:
    """(path, line, column, cell) of a node of any of the module's trees."""
    units = module.source.units
    place = 0 if len(units) == 1 else _units_of_nodes(module).get(id(node))
    if place is None:
        return module.source.path, 1, 1, 0
    return _positions(module).of(units[place], node)


@indexes.once
def _units_of_nodes(module: Module) -> dict[int, int]:
    """The identity of each node -> the place of its unit."""
    trees = [(place, tree) for place, tree in enumerate(module.trees) if tree is not None]
    return {id(node): place for place, tree in trees for node in walk(tree)}


def _method(call: Call) -> ast.AST:
    """What stands where a method's name does, as far as this Python tells."""
    function = call.node.func
    return function if getattr(function, "end_lineno", None) is not None else call.node


class _Positions:
    """Lines and columns in characters; ``ast`` counts bytes of UTF-8."""

    def __init__(self, source: Source) -> None:
        self._path = source.path
        self._lines: dict[int, list[str]] = {}
        self._ascii = all(unit.text is None or _is_ascii(unit.text) for unit in source.units)

    def of(
        self, unit: sources.Unit, node: ast.AST, statement: ast.AST | None = None
    ) -> tuple[str, int, int, int]:
        """(path, line, column, cell) of a node; of a method, where its name stands."""
        at = node if hasattr(node, "lineno") else statement  # ast.alias before Python 3.10
        line: int = getattr(at, "lineno", 1)
        offset: int = getattr(at, "col_offset", 0)
        if self._ascii or offset == 0:
            return self._path, line, offset + 1, unit.cell
        if unit.cell not in self._lines:
            self._lines[unit.cell] = re.split("\r\n|\r|\n", unit.text or "")
        text = self._lines[unit.cell][line - 1].encode("utf-8")[:offset]
        return self._path, line, len(text.decode("utf-8", "replace")) + 1, unit.cell


@indexes.once
def _positions(module: Module) -> _Positions:
    return _Positions(module.source)


def _is_ascii(text: str) -> bool:
    try:
        text.encode("ascii")
    except UnicodeEncodeError:
        return False
    return True


def ignored(text: str) -> Mapping[int, frozenset[str]]:
    """Line -> the codes that a comment on it turns off; the empty set stands for all of them."""
    if "tpucompat:" not in text:
        return {}
    found: dict[int, frozenset[str]] = {}
    for number, line in enumerate(re.split("\r\n|\r|\n", text), 1):
        match = _IGNORE.search(line)
        if match:
            codes = match.group("codes") or ""
            found[number] = frozenset(
                code.strip().upper() for code in codes.split(",") if code.strip()
            )
    return found
