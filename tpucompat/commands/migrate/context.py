"""What all rewriters of one file share: its texts, the places that were found, the TODO comments."""

from __future__ import annotations

import ast
import builtins
import contextlib
import re
import textwrap
from typing import AbstractSet, Any, Iterator, NamedTuple

from tpucompat.base.codes import CODES
from tpucompat.commands.analysis import findings, keras_3
from tpucompat.commands.analysis.findings import Finding, Module, Place
from tpucompat.commands.migrate import written
from tpucompat.commands.migrate.text import IMPORT, Edit, Overlap, Text
from tpucompat.commands.migrate.tpu_tests import asks_for_tpu
from tpucompat.commands.migrate.trees import Trees
from tpucompat.names.used import Use, walk

#: How a TODO begins; ``TODO(tpucompat TPU212): …``.
_MARK = "TODO(tpucompat {})"
_NOTE = "NOTE(tpucompat {})"
_WIDTH = 90
_AS_TF = "import tensorflow as tf"


class Import(NamedTuple):
    """A statement that imports from a followed package, and the cell that it is in."""

    node: Any
    cell: int
    uses: list[Use]


class Context(Trees):
    """One file on its way.

    Args:
      module: The file as it was read.
      unsafe: Whether rewritings are wanted that may change what the program does.
      keras: Which Keras it gets: 3, TensorFlow's own, or 2, the package tf-keras.
    """

    def __init__(self, module: Module, unsafe: bool = False, keras: int = 3) -> None:
        super().__init__(module)
        self.module = module
        self.unsafe = unsafe
        self.keras = keras
        self.names = module.names
        self.texts = {unit.cell: Text(unit.original) for unit in module.source.units}
        everything = list(findings.places(module))
        #: Uses that the program needs; guarded ones stay as they are.
        self.places: list[Place] = [place for place in everything if not place.finding.guarded]
        #: The identity of a node -> the place that it is.
        self.place_of = {id(place.use.node): place for place in self.places}
        #: Whether its Keras becomes Keras 3.
        self.of_keras_3 = keras == 3 and keras_3.applies(module)
        self.imports = list(self._imports())
        #: Nodes that a rewriter has dealt with.
        self.done: set[int] = set()
        #: Nodes that a rewriter will deal with, so that nothing has to answer them.
        self.planned: set[int] = set()
        #: Nodes that are left to a person.
        self.left: set[int] = set()
        self._todos: dict[tuple[int, int], dict[str, str]] = {}
        self._notes: dict[tuple[int, int], dict[str, str]] = {}
        self._wanted: dict[str, str] = {}
        #: Line that is added among the imports -> the rule that needs it.
        self._rules: dict[str, str] = {}
        #: What is put before the first import of TensorFlow, and behind the imports.
        self.before_imports: list[str] = []
        self.after_imports: list[str] = []
        #: Functions that were put there, so that each is there once.
        self.helpers: list[str] = []
        #: Whether it uses layers of Keras 2, which need a package and a setting.
        self.needs_keras_2 = False
        self._free_tf: bool | None = None
        #: Names of the module itself, and what they stand for.
        self._bound = {name: what for name, what in self.names.bound().items() if what}
        self._removed: set[int] = set()
        self._words: set[str] = set()
        self._indents: list[tuple[int, int, int, str]] = []
        #: Lines of a block that is gone: (cell, first, last, how far they were indented in it).
        self.dedented: list[tuple[int, int, int, int]] = []
        self._outside: list[Edit] = []

    def _imports(self) -> Iterator[Import]:
        seen: dict[int, Import] = {}
        start = 0
        for unit, (end, _, _) in zip(self.module.source.units, self.module.ends):
            for use in self.names.uses[start:end]:
                if use.statement is None:
                    continue
                if id(use.statement) not in seen:
                    found = Import(use.statement, unit.cell, [])
                    seen[id(use.statement)] = found
                    yield found
                seen[id(use.statement)].uses.append(use)
            start = end

    @contextlib.contextmanager
    def rule(self, code: str) -> Iterator[None]:
        """The edits that are made inside belong to a rule; one inside another one has the last word."""
        before = {cell: text.rule for cell, text in self.texts.items()}
        for text in self.texts.values():
            text.rule = code
        try:
            yield
        finally:
            for cell, text in self.texts.items():
                text.rule = before[cell]

    # Trees -------------------------------------------------------------------------------------

    def innermost(self, node: ast.AST, cell: int) -> Any:
        """The statement directly around a node, which others may stand before in its line."""
        found: Any = node
        while found is not None and not isinstance(found, ast.stmt):
            found = self.parents(cell).get(id(found))
        return found

    def statement(self, node: ast.AST, cell: int) -> Any:
        """The statement around a node that begins its line."""
        parents, text = self.parents(cell), self.texts[cell]
        found: Any = node
        while found is not None:
            if isinstance(found, ast.stmt):
                start = text.offset(found.lineno, found.col_offset)
                if not text.text[text.line_start(found.lineno) : start].strip():
                    return found
            found = parents.get(id(found))
        return node

    # Edits -------------------------------------------------------------------------------------

    def replace(self, node: ast.AST, cell: int, text: str) -> bool:
        """Puts a text in the place of a node; False where another rewriting was there first."""
        where = self.texts[cell]
        try:
            where.replace(*where.span(node), text)
        except Overlap:
            return False
        self.done.add(id(node))
        return True

    def remove(self, statement: Any, cell: int) -> bool:
        """Takes a statement out.

        An ``if`` that holds no other goes with it; of another block ``pass`` is left.
        """
        where = self.texts[cell]
        above: Any = self.parents(cell).get(id(statement))
        body = self.body_of(statement, cell)
        if not self.may_remove(statement, cell):
            return False
        try:
            if not where.owns_lines(statement):
                self._remove_joined(statement, body, where)
            elif not isinstance(above, ast.Module) and all(
                one is statement or id(one) in self._removed for one in body
            ):
                is_idle = isinstance(above, ast.If) and not above.orelse
                if is_idle and (_is_plain(above.test) or asks_for_tpu(above.test)):
                    where.discard(above.lineno, above.end_lineno or above.lineno)
                    return self.remove(above, cell)
                where.replace(*where.span(statement), "pass")
            else:
                where.delete_lines(statement.lineno, statement.end_lineno)
        except Overlap:
            return False
        self._removed.add(id(statement))
        self.done.update(id(node) for node in walk(statement))
        return True

    def may_remove(self, statement: Any, cell: int) -> bool:
        """Whether a statement has its lines for itself, or shares them with others behind semicolons."""
        where = self.texts[cell]
        if where.owns_lines(statement):
            return True
        return len(where.joined(statement, self.body_of(statement, cell))) > 1

    def _remove_joined(self, statement: Any, body: list[ast.stmt], where: Text) -> None:
        """Takes a statement out with its semicolon, and those beside it that are gone with theirs."""
        joined = where.joined(statement, body)
        kept = [one is not statement and id(one) not in self._removed for one in joined]
        at = next(index for index, one in enumerate(joined) if one is statement)
        before = max((index for index in range(at) if kept[index]), default=None)
        behind = next((index for index in range(at, len(kept)) if kept[index]), None)
        if before is not None:
            last = joined[-1 if behind is None else behind - 1]
            where.take_out(where.span(joined[before])[1], where.span(last)[1])
        elif behind is not None:
            where.take_out(where.span(joined[0])[0], where.span(joined[behind])[0])
        else:
            first, end = where.span(joined[0])[0], where.span(joined[-1])[1]
            has_others = any(
                id(one) not in self._removed and not any(one is other for other in joined)
                for one in body
            )
            begins = not where.text[where.line_start(joined[0].lineno) : first].strip()
            if has_others and begins:
                where.discard(joined[0].lineno, joined[-1].end_lineno)
                where.delete_lines(joined[0].lineno, joined[-1].end_lineno)
            else:
                where.take_out(first, end, "pass")

    # Names -------------------------------------------------------------------------------------

    def local(self, dotted: str) -> str:
        """How this file writes a current dotted name, such as ``tf.math.log`` or ``tf_slim.conv2d``.

        An import is added if the module is not imported yet.
        """
        if self.keras == 2 and (dotted + ".").startswith("tf.keras."):
            dotted = "tf_keras" + dotted[len("tf.keras") :]
        head, _, rest = dotted.partition(".")
        module = {"tf": "tensorflow"}.get(head, head)
        if not rest and hasattr(builtins, dotted):
            return dotted
        if dotted.startswith("collections.abc."):
            module, rest = "collections.abc", dotted[len("collections.abc.") :]
        for name, stands_for in self._bound.items():
            if stands_for == module and "." not in module:
                return f"{name}.{rest}" if rest else name
            if "." in stands_for and dotted.startswith(stands_for + ".") and head != "keras":
                return name + dotted[len(stands_for) :]  # Image.LANCZOS, of PIL
            if module == "tensorflow" and stands_for.startswith("tensorflow.compat.v"):
                version = stands_for[len("tensorflow.") :]
                if rest.startswith(version + "."):
                    return f"{name}.{rest[len(version) + 1 :]}"
        if module == "tensorflow" and (self._wanted.get(module) == _AS_TF or self._tf_is_free()):
            self._import(module, _AS_TF)
            return f"tf.{rest}"
        self._import(module, f"import {module}")
        return f"{module}.{rest}" if rest else module

    def is_idle(self, alias: ast.alias) -> bool:
        """Whether an imported name is used nowhere in the file."""
        name = alias.asname or alias.name.partition(".")[0]
        return name != "*" and name not in self._said()

    def _said(self) -> set[str]:
        """All names and texts of the file."""
        if not self._words:
            for node in self.nodes:
                word = getattr(node, "id", getattr(node, "value", None))
                if isinstance(node, (ast.Name, ast.Constant)) and isinstance(word, str):
                    self._words.add(word)
        return self._words

    def is_free(self, name: str, but_for: AbstractSet[int] = frozenset()) -> bool:
        """Whether nothing in this file has a Python name, but for statements that are taken out.

        Args:
          name: The name.
          but_for: Nodes that are rewritten, by their ids.
        """
        return all(id(node) in self.done or id(node) in but_for for node in self.having(name))

    def _tf_is_free(self) -> bool:
        if self._free_tf is None:
            self._free_tf = all(
                getattr(node, "id", "") != "tf" and getattr(node, "asname", "") != "tf"
                for node in self.nodes
            )
        return self._free_tf

    def want(self, module: str, package: str = "") -> None:
        """Adds ``import module`` (``from package``) where no statement at the top has it by then."""
        where = self._first_import()
        for cell, tree in self.trees.items():
            for statement in tree.body:
                if (cell, statement.lineno) > where:
                    break
                if isinstance(statement, ast.Import) and any(
                    alias.name == module and not alias.asname for alias in statement.names
                ):
                    return
        self._import(module, f"from {package} import {module}" if package else f"import {module}")

    def _import(self, module: str, line: str) -> None:
        self._wanted[module] = line
        self._needed_by_rule(line)

    def _needed_by_rule(self, words: str) -> None:
        self._rules.setdefault(words, next(iter(self.texts.values())).rule)

    def put_before_imports(self, words: str) -> None:
        """Puts a line before the first import of TensorFlow."""
        self.before_imports.append(words)
        self._needed_by_rule(words)

    def put_behind_imports(self, words: str) -> None:
        """Puts lines behind the imports."""
        self.after_imports.append(words)
        self._needed_by_rule(words)

    def define(self, function: str) -> None:
        """Puts a function behind the imports, and one blank line less behind another one."""
        self.put_behind_imports(function[1:] if self.after_imports else function)

    def helper(self, name: str, template: str) -> bool:
        """Writes a function or class into the script, once; False where its name is taken.

        Args:
          name: What it is called.
          template: Its text; {i} is one indentation, {tf}, {keras} and {numpy} what the file calls them.
        """
        if template in self.helpers or self._has_helper(name, template):
            return True
        if not self.is_free(name):
            return False
        self.helpers.append(template)
        keras = self.local("tf.keras") if "{keras}" in template else ""
        tf = self.local("tf.nest").rpartition(".")[0] if "{tf}" in template else ""
        numpy = self.local("numpy") if "{numpy}" in template else ""
        for module in ("os", "functools", "inspect", "json", "re", "threading"):
            if f"{module}." in template.replace(f"tf.{module}.", ""):
                self.want(module)
        self.define(template.format(i=self.indent_unit(), tf=tf, keras=keras, numpy=numpy))
        return True

    def _has_helper(self, name: str, template: str) -> bool:
        """Whether an earlier pass has written it."""
        docstring = re.search(r'"""(.*?)"""', template)
        return docstring is not None and any(
            getattr(node, "name", "") == name
            and ast.get_docstring(node) == docstring.group(1).replace("{{", "{").replace("}}", "}")  # type: ignore[arg-type]
            for tree in self.trees.values()
            for node in tree.body
        )

    def indent_unit(self) -> str:
        """How far this file indents a block."""
        for cell, tree in self.trees.items():
            for statement in tree.body:
                body = getattr(statement, "body", None)
                if body and body[0].lineno > statement.lineno:
                    return self.texts[cell].indent(body[0].lineno)
        return "    "

    def indent_later(self, cell: int, first: int, last: int, by: str) -> None:
        """Indents whole lines in the end, when it is known what stands in them.

        Lines that were put before them by then stay outside of the block.
        """
        self._outside += self.texts[cell].edits
        self._indents.append((cell, first, last, by))

    # TODO comments -----------------------------------------------------------------------------

    def note(self, code: str, what: str, node: ast.AST, cell: int) -> None:
        """Marks a statement with what differs, where nobody has anything to do."""
        line = self._first_line(node, cell)
        if not self._is_marked(code, line, cell):
            self._notes.setdefault((cell, line), {}).setdefault(code, what)

    def todo(self, code: str, what: str, node: ast.AST, cell: int) -> None:
        """Marks a statement once with what is left to do."""
        self.left.add(id(node))
        line = self._first_line(node, cell)
        if not self._is_marked(code, line, cell):
            self._todos.setdefault((cell, line), {}).setdefault(code, what or CODES[code].title)

    def todo_at_import(self, code: str, what: str) -> None:
        """Marks the first import of TensorFlow with what holds for the whole file, once."""
        if any(self.is_marked(code, found.node, found.cell) for found in self.imports):
            return
        for found in self.imports:
            if found.uses[0].name.partition(".")[0] == "tensorflow":
                self.todo(code, what, found.node, found.cell)
                return

    def todo_for(self, finding: Finding, node: ast.AST) -> None:
        """The same for a finding that is left unchanged."""
        what = finding.was
        if finding.becomes:
            what += " → " + finding.becomes
        elif finding.note:
            what += ": " + finding.note
        self.todo(finding.code, what, node, finding.cell)

    def is_marked(self, code: str, node: ast.AST, cell: int) -> bool:
        """Whether a statement has a TODO or NOTE of this code from an earlier rewriting."""
        return self._is_marked(code, self._first_line(node, cell), cell)

    def _first_line(self, node: ast.AST, cell: int) -> int:
        statement = self.statement(node, cell)
        line: int = getattr(statement, "lineno", 1)
        return min([line, *(one.lineno for one in getattr(statement, "decorator_list", []))])

    def _is_marked(self, code: str, line: int, cell: int) -> bool:
        text = self.texts[cell]
        while line > 1:
            line -= 1
            above = text.line(line).strip()
            if not above.startswith("#"):
                return False
            if f"(tpucompat {code})" in above:
                return True
        return False

    # The end -----------------------------------------------------------------------------------

    def finish(self) -> dict[int, str]:
        """Writes the comments and imports; gives the new texts of the units that have changed."""
        for cell, first, last, by in self._indents:
            for line in range(first, last + 1):
                self.texts[cell].indent_line(line, by)
            self.texts[cell].indent_inserted(first, last, by, self._outside)
        self._write_imports()
        for cell, line in sorted({*self._todos, *self._notes}):
            text = self.texts[cell]
            indent = self._indent(cell, line)
            notes, todos = (held.get((cell, line), {}) for held in (self._notes, self._todos))
            for code, what in sorted({**notes, **todos}.items()):
                text.rule = code
                mark = (_MARK if code in todos else _NOTE).format(code)
                words = f"{mark}: {' '.join(what.split())}"
                words = _writable(words, self.module.source.encoding)
                for number, part in enumerate(
                    textwrap.wrap(words, max(40, _WIDTH - len(indent) - 4))
                ):
                    mark = "#   " if number else "# "
                    text.insert_line(line, indent + mark + part + text.newline)
        return {
            cell: text.result()
            for cell, text in self.texts.items()
            if text.edits and cell in self.trees
        }

    def _indent(self, cell: int, line: int) -> str:
        """What a line is indented by in the end."""
        less = sum(
            by
            for where, first, last, by in self.dedented
            if where == cell and first <= line <= last
        )
        indent = self.texts[cell].indent(line)
        return indent[: len(indent) - less] + "".join(
            by
            for where, first, last, by in self._indents
            if where == cell and first <= line <= last
        )

    def _write_imports(self) -> None:
        bound = set(self._bound.values())
        wanted = [
            line
            for module, line in sorted(self._wanted.items(), key=_loops_first)
            if module not in bound or "." in module
        ]
        if wanted or self.before_imports:
            cell, line = self._first_import()
            text = self.texts[cell]
            first = [words for words in wanted if words == "import os"]
            others = [words for words in wanted if words not in first]
            for words in [*first, *self.before_imports, *others]:
                text.rule = self._rules.get(words, "")
                text.insert_line(line, text.indent(line) + words + text.newline, IMPORT)
        if self.after_imports:
            cell, line, indent = self.behind_imports()
            text = self.texts[cell]
            at_end = text.line_start(line) >= len(text.text)
            for index, words in enumerate(self.after_imports, 1):
                text.rule = self._rules.get(words, "")
                words = textwrap.indent(words, indent)
                is_last = index == len(self.after_imports)
                if words.endswith("\n") and is_last and not at_end and text.line(line).strip():
                    words += "\n"  # two lines behind a function
                text.insert_line(line, words.replace("\n", text.newline) + text.newline, IMPORT)

    def _first_import(self) -> tuple[int, int]:
        """Where the first import of a followed package at the top of the file stands."""
        at_top = [
            found
            for found in self.imports
            if any(found.node is statement for statement in self.trees[found.cell].body)
        ]
        heads = ("tensorflow", "keras")
        of_tensorflow = [one for one in at_top if one.uses[0].name.partition(".")[0] in heads]
        for found in of_tensorflow or at_top:
            return found.cell, found.node.lineno
        for cell, tree in self.trees.items():
            for statement in tree.body:
                is_future = (
                    isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
                )
                is_text = isinstance(statement, ast.Expr) and isinstance(
                    statement.value, ast.Constant
                )
                if not is_future and not is_text:
                    return cell, statement.lineno
        return next(iter(self.texts)), 1

    def _is_in_function(self, found: Import) -> bool:
        parents, node = self.parents(found.cell), found.node
        while id(node) in parents:
            node = parents[id(node)]
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                return True
        return False

    def behind_imports(self) -> tuple[int, int, str]:
        """(cell, line, indent) behind the imports of the unit that imports TensorFlow first."""
        cell, first = self._first_import()
        body = self.trees[cell].body
        if not any(found.node in body for found in self.imports):
            for nested in self.imports:  # below an `if`: the names of a function are its own
                if not self._is_in_function(nested):
                    indent = self.texts[nested.cell].indent(nested.node.lineno)
                    return nested.cell, nested.node.end_lineno + 1, indent
        # The lines of a notebook's cell may be indented, all or the first of them: the nearest one's holds.
        last, nearest = first - 1, first
        for statement in body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                last = max(last, statement.end_lineno or statement.lineno)
                nearest = statement.lineno
            elif statement.lineno > first:
                break
        return cell, last + 1, self.texts[cell].indent(nearest)


def _is_plain(test: ast.expr) -> bool:
    """Whether asking for it changes nothing."""
    return not any(isinstance(node, (ast.Call, ast.Await)) for node in walk(test))


def _writable(text: str, encoding: str) -> str:
    """A comment in the file's own encoding."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.replace("→", "->").replace("…", "...")
        return text.encode("ascii", "replace").decode("ascii")
    return text


def _loops_first(wanted: tuple[str, str]) -> tuple[bool, str]:
    """The order of new imports: a loop asks for Keras 2, which is too late behind one of TensorFlow."""
    return wanted[0] not in written.LOOPS, wanted[0]
