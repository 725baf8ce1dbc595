"""Draws small mistakes from the syntax of a migrated example, for ``tools/mutate.py --drawn``.

Where ``tools/mistakes.toml`` has the mistakes that people make, these are all that a grammar can make: a
number, a word or a flag that is another one, a keyword that is left out, an operator for its opposite, a
statement that is gone. What only speaks (help texts, messages of errors, the command line) or chooses the
machine is left alone.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from typing import NamedTuple

#: Functions without a mistake worth finding: the pair's flags give their defaults, or they choose devices.
SPARED = {"parse_args", "make_strategy"}
#: Words of Keras and TensorFlow, each with another that is accepted in its place.
WORDS = {
    "same": "valid",
    "valid": "same",
    "relu": "elu",
    "elu": "relu",
    "tanh": "relu",
    "gelu": "relu",
    "softmax": "sigmoid",
    "sigmoid": "tanh",
    "causal": "same",
    "float32": "float16",
    "int32": "int64",
}
OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "+",
    ast.Pow: "*",
    ast.MatMult: "*",
}
COMPARISONS: dict[type[ast.AST], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
}


class Drawn(NamedTuple):
    """One mistake: the line where it is made, what it is, and the whole script with it."""

    line: int
    name: str
    source: str


class _Edits(ast.NodeVisitor):
    """Collects (first offset, last offset, text instead, name) of each possible mistake."""

    def __init__(self, source: str) -> None:
        self._source = source.encode()
        starts = [0]
        for line in self._source.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts
        self.found: list[tuple[int, int, int, str, str]] = []

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def _span(self, node: ast.AST) -> tuple[int, int]:
        first = self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return first, self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _text(self, first: int, last: int) -> str:
        return self._source[first:last].decode()

    def _add(self, line: int, span: tuple[int, int], instead: str, what: str = "") -> None:
        was = " ".join(self._text(*span).split())
        name = " ".join((what or f"{was} is {instead}").split())
        self.found.append((line, *span, instead, name[:90]))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Only the body: annotations and defaults say what a caller gives."""
        if node.name not in SPARED:
            self._statements(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Only the body."""
        self._statements(node.body)

    def _statements(self, body: list[ast.stmt]) -> None:
        for statement in body:
            gone = isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign))
            told = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if told or isinstance(statement, (ast.Raise, ast.Import, ast.ImportFrom)):
                continue
            if gone:
                span = self._span(statement)
                self._add(statement.lineno, span, "pass", f"without: {self._text(*span)}")
            self.visit(statement)

    def generic_visit(self, node: ast.AST) -> None:
        """Statements of a block one by one, all else as it comes."""
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                self._statements(value)
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self.visit(child)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """A type is no work."""
        if node.value is not None:
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Left out: what stands in a text has no place of its own before Python 3.12."""

    def visit_Constant(self, node: ast.Constant) -> None:
        """Another number, the other flag, another word."""
        value, span = node.value, self._span(node)
        if isinstance(value, bool):
            self._add(
                node.lineno, span, str(not value), f"{value} is {not value}, line {node.lineno}"
            )
        elif isinstance(value, int):
            self._add(node.lineno, span, str(value + 1))
        elif isinstance(value, float):
            self._add(node.lineno, span, repr(value * 1.1 if value else 0.1))
        elif isinstance(value, str) and value in WORDS:
            self._add(node.lineno, span, repr(WORDS[value]))

    def visit_Call(self, node: ast.Call) -> None:
        """Each keyword left out."""
        for keyword in node.keywords:
            if keyword.arg is None:
                continue
            first, last = self._span(keyword)
            while self._source[last : last + 1] in (b" ", b"\n"):
                last += 1
            if self._source[last : last + 1] == b",":
                last += 1
            self._add(node.lineno, (first, last), "", f"without {self._text(first, last)}")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """The opposite operator."""
        self._between(node, node.left, node.right, OPERATORS.get(type(node.op)))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """The neighbouring comparison."""
        if len(node.ops) == 1:
            instead = COMPARISONS.get(type(node.ops[0]))
            self._between(node, node.left, node.comparators[0], instead)
        self.generic_visit(node)

    def _between(
        self, node: ast.expr, left: ast.expr, right: ast.expr, instead: str | None
    ) -> None:
        last_of_left, first_of_right = self._span(left)[1], self._span(right)[0]
        between = self._text(last_of_left, first_of_right)
        sign = between.strip(" ()\n")
        if not instead or not sign or between.count(sign) != 1:
            return
        first = last_of_left + len(between[: between.index(sign)].encode())
        name = f"{' '.join(self._text(*self._span(node)).split())}: {instead}"
        self._add(node.lineno, (first, first + len(sign)), instead, name)


def all_of(source: str) -> Iterator[Drawn]:
    """Every mistake that the grammar makes in a script and that compiles."""
    edits = _Edits(source)
    edits.visit(ast.parse(source))
    text = source.encode()
    for line, first, last, instead, name in edits.found:
        changed = (text[:first] + instead.encode() + text[last:]).decode()
        try:
            compile(changed, "<drawn>", "exec")
        except SyntaxError:
            continue
        yield Drawn(line, name, changed)


def draw(source: str, count: int, seed: int, lines: set[int]) -> list[Drawn]:
    """``count`` of them in the given lines, or all there are; the same for the same seed."""
    found = [one for one in all_of(source) if one.line in lines]
    return sorted(random.Random(seed).sample(found, min(count, len(found))))
