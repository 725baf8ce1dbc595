"""Replaces spans of a text, and leaves everything else as it is.

The standard library's ``ast`` gives the place of every expression (since Python 3.9), and the rewriting needs
no more: what lies between the spans is copied byte for byte, so that formatting, comments and line ends survive
by construction. A concrete syntax tree would parse each file some thirty times more slowly, and be one more
package.
"""

from __future__ import annotations

import ast
import bisect
import re
import textwrap
from typing import Any, Iterator, NamedTuple, Sequence

from tpucompat.names.used import walk

_KEYWORD = re.compile(r"\w+(?:\s*=|['\"]\s*:)[\s(]*$")
_LINE_END = re.compile("\r\n|\r|\n")


#: What comes first of several edits at one place: imports, other whole lines, what indents the line, the rest.
IMPORT, LINE, INDENT, INSIDE = range(4)


class Edit(NamedTuple):
    """A span in characters, what takes its place, and the code of the rule that wants it."""

    start: int
    end: int
    text: str
    rank: int = INSIDE
    rule: str = ""


class Overlap(ValueError):
    """Two edits want the same place."""


class Text:
    """A unit's text with the edits that are wanted."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.edits: list[Edit] = []
        self._inside: list[Edit] = []  # in order, but for those that stand between lines
        #: The code of the rule that is at work, for the report.
        self.rule = ""
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        end = _LINE_END.search(text)
        #: How its lines end.
        self.newline = end.group() if end else "\n"

    # Places ------------------------------------------------------------------------------------

    def offset(self, line: int, column: int) -> int:
        """The place of a line (from 1) and a column in bytes of UTF-8, as ``ast`` counts."""
        start = self._starts[line - 1]
        rest = self.text[start : start + column]
        if len(rest.encode("utf-8")) != len(rest):
            rest = self.line(line).encode("utf-8")[:column].decode("utf-8", "ignore")
        return start + len(rest)

    def line(self, number: int) -> str:
        """A line with its end."""
        end = self._starts[number] if number < len(self._starts) else len(self.text)
        return self.text[self._starts[number - 1] : end]

    def line_start(self, number: int) -> int:
        """Where a line begins; the end of the text behind its last line."""
        return self._starts[number - 1] if number <= len(self._starts) else len(self.text)

    def span(self, node: Any) -> tuple[int, int]:
        """The span of a node."""
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )

    def source(self, node: ast.AST) -> str:
        """What stands there."""
        start, end = self.span(node)
        return self.text[start:end]

    def indent(self, line: int) -> str:
        """The white space that a line is indented by; a form feed restarts it, as for Python."""
        text = self.line(line)
        return text[: len(text) - len(text.lstrip(" \t\f"))].rpartition("\f")[2]

    def keyword(self, word: ast.keyword) -> tuple[int, int]:
        """The span of the name of an argument or item; ``ast`` gives an argument's since Python 3.9 only."""
        end = self.span(word.value)[0]
        match = _KEYWORD.search(self.text[:end][-200:])
        length = len(match.group()) if match else 0
        return end - length, end - length + len(word.arg or "")

    def owns_lines(self, node: Any) -> bool:
        """Whether a statement has its lines for itself, but for a comment behind it."""
        start, end = self.span(node)
        before = self.text[self.line_start(node.lineno) : start]
        after = self.text[end : self.line_start(node.end_lineno + 1)]
        goes_on = node.lineno > 1 and self.line(node.lineno - 1).rstrip("\r\n").endswith("\\")
        alone = not before.strip() and (not after.strip() or after.lstrip().startswith("#"))
        return alone and not goes_on

    def joined(self, node: Any, body: Sequence[Any]) -> Sequence[Any]:
        """The statements that semicolons join with one, itself among them.

        Args:
          node: The statement.
          body: The statements that it stands among.
        """
        first = next(index for index, one in enumerate(body) if one is node)
        last = first
        while first and body[first - 1].end_lineno == body[first].lineno:
            first -= 1
        while last + 1 < len(body) and body[last + 1].lineno == body[last].end_lineno:
            last += 1
        return body[first : last + 1]

    # Edits -------------------------------------------------------------------------------------

    def replace(self, start: int, end: int, text: str) -> None:
        """Wants other text in a span.

        Raises:
          Overlap: If another edit has a part of it.
        """
        wanted = Edit(start, end, text, rule=self.rule)
        at = bisect.bisect_left(self._inside, (start, end))
        # What stands before and behind it; edits of no width may stand at the same place.
        for index in range(max(0, at - 2), min(len(self._inside), at + 3)):
            edit = self._inside[index]
            if edit[:3] == wanted[:3]:
                return
            if end > edit.start and edit.end > start:
                raise Overlap(self.text[start:end])
        self._inside.insert(at, wanted)
        self.edits.append(wanted)

    def discard(self, first: int, last: int) -> None:
        """Forgets what was wanted in some lines, which are taken out as a whole."""
        start, end = self.line_start(first), self.line_start(last + 1)
        self.edits = [edit for edit in self.edits if not start <= edit.start < end]
        self._inside = [edit for edit in self._inside if not start <= edit.start < end]

    def take_out(self, start: int, end: int, left: str = "") -> None:
        """Takes a span of statements out, with what was wanted in it, but not behind what stands before it."""
        stays = bool(self.text[:start].strip()) and not self.text[start - 1].isspace()

        def is_kept(edit: Edit) -> bool:
            at_start = edit.start == edit.end == start and (stays or edit.rank != INSIDE)
            return at_start or not start <= edit.start < end

        self.edits = list(filter(is_kept, self.edits))
        self._inside = list(filter(is_kept, self._inside))
        self.replace(start, end, left)

    def dedent_line(self, line: int, by: int) -> None:
        """Takes white space from the start of a line, as far as there is some."""
        indent = self.indent(line)
        if self.line(line).strip():
            start = self.line_start(line)
            self.replace(start, start + min(by, len(indent)), "")

    def is_free(self, start: int, end: int) -> bool:
        """Whether no edit has a part of a span."""
        at = bisect.bisect_left(self._inside, (start, end))
        near = self._inside[max(0, at - 2) : at + 3]
        return all(end <= edit.start or edit.end <= start for edit in near)

    def insert_line(self, line: int, text: str, rank: int = LINE) -> None:
        """Puts whole lines before a line."""
        at = self.line_start(line)
        if at == len(self.text) and self.text and not self.text.endswith(("\n", "\r")):
            text = self.newline + text
        self.edits.append(Edit(at, at, text, rank, self.rule))

    def indent_line(self, line: int, by: str) -> None:
        """Indents a line further, unless it is empty or taken out."""
        text = self.line(line)
        at = self.line_start(line) + len(text) - len(text.lstrip(" \t\f"))
        is_gone = any(
            edit.start < at < edit.end or (edit.start <= at < edit.end and not edit.text)
            for edit in self._inside
        )
        if text.strip() and not is_gone:
            self.edits.append(Edit(at, at, by, INDENT))

    def indent_inserted(self, first: int, last: int, by: str, but: Sequence[Edit]) -> None:
        """Indents what was put between some lines, but for some edits."""
        starts = {self.line_start(line) for line in range(first, last + 1)}
        kept = {id(edit) for edit in but}
        for index, edit in enumerate(self.edits):
            if edit.rank == LINE and edit.start in starts and id(edit) not in kept:
                self.edits[index] = edit._replace(text=textwrap.indent(edit.text, by))

    def delete_lines(self, first: int, last: int) -> None:
        """Takes whole lines out."""
        self.replace(self.line_start(first), self.line_start(last + 1), "")

    def result(self) -> str:
        """The text with all edits."""
        parts, at = [], 0
        for edit in sorted(self.edits, key=lambda one: (one.start, one.rank, one.end > one.start)):
            parts += [self.text[at : edit.start], edit.text]
            at = edit.end
        return "".join([*parts, self.text[at:]])


def strings_over_lines(tree: ast.AST, first: int, last: int) -> bool:
    """Whether a string goes over several lines between two lines, so that their indentation cannot change."""
    return any(first <= line <= last for line in lines_of_strings(tree))


def lines_of_strings(tree: ast.AST) -> Iterator[int]:
    """The lines in which strings begin that go over several."""
    for node in walk(tree):
        is_text = isinstance(node, (ast.Constant, ast.JoinedStr))
        if is_text and isinstance(getattr(node, "value", ""), (str, bytes, list)):
            line, end = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
            if line != end:
                yield line
