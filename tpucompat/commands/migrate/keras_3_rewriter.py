"""The edits that rewritings for Keras 3 are made of."""

from __future__ import annotations

import ast
import re
from typing import Any, Callable, Mapping

from tpucompat.commands.analysis.keras_3 import Finder
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.migrate import (
    keras_3_text,
    keras_3_text_batches,
    keras_3_text_training,
)
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.text import Overlap
from tpucompat.names.used import walk

ENDINGS = re.compile(
    r"(?s)(.*?)((?:\.weights)?\.(?:h5|hdf5|hdf|keras|tf|ckpt|model|weights))?(['\"]{1,3})$"
)
#: What is written beside a place, which another rewriting may have changed.
_ALWAYS = frozenset(("default", "generator", "note", "partial"))
#: Of the functions and classes that are written into scripts.
_DOCSTRINGS = frozenset(
    docstring
    for module in (keras_3_text, keras_3_text_batches, keras_3_text_training)
    for text in vars(module).values()
    if isinstance(text, str)
    for docstring in re.findall(r'"""(.*?)"""', text.replace("{{", "{").replace("}}", "}"))
)


class Rewriter:
    """One file while its differences are rewritten.

    Args:
      context: The file.
      rewritings: ``how`` of a row -> its rewriting.
      finder: What finds the differences; those of Keras 3 if None.
    """

    def __init__(
        self, context: Context, rewritings: Mapping[str, Rewriting], finder: Any = None
    ) -> None:
        self.context = context
        self.rewritings = rewritings
        self.finder = Finder(context.module) if finder is None else finder
        helpers = {
            id(inside)
            for tree in context.trees.values()
            for node in tree.body
            if isinstance(node, (ast.ClassDef, ast.FunctionDef))
            and ast.get_docstring(node) in _DOCSTRINGS
            for inside in walk(node)
        }
        self.found = [one for one in self.finder.find() if id(one.node) not in helpers]
        self._added: dict[int, tuple[ast.Call, list[str], str]] = {}
        self._dropped: set[int] = set()

    def rewrite(self, one: Difference) -> None:
        """Rewrites a difference, or leaves a TODO."""
        if id(one.node) in self.context.done and one.row.how not in _ALWAYS:
            return
        if self.context.is_marked(one.row.code, one.node, self.cell(one.node)):
            return  # left to a person before
        how = self.rewritings.get(one.row.how)
        try:
            done = how is not None and how(self, one)
        except Overlap:
            done = False
        if not done:
            words = one.row.was + (f" → {one.row.becomes}" if one.row.becomes else "")
            words += f": {one.row.note}" if one.row.note else ""
            self.context.todo(one.row.code, words, one.node, self.cell(one.node))

    def cell(self, node: ast.AST) -> int:
        """The cell of a notebook that a node is in."""
        return self.context.cell_of(getattr(node, "real", node))

    def finish(self) -> None:
        """Writes the arguments that calls get, all of one call at once."""
        for call, words, code in self._added.values():
            text = self.context.texts[self.cell(call)]
            end = text.span(call)[1] - 1
            behind = text.text[:end].rstrip()
            at = len(behind)
            left = [*call.args, *(word.value for word in call.keywords)]
            is_first = all(id(value) in self._dropped for value in left)
            before = "" if is_first else " " if behind.endswith(",") else ", "
            with self.context.rule(code):
                text.replace(at, at, before + ", ".join(words))

    # Edits ---------------------------------------------------------------------------------------

    def add(self, call: ast.Call, words: str) -> bool:
        """Adds an argument behind the others."""
        code = self.context.texts[self.cell(call)].rule
        held = self._added.setdefault(id(call), (call, [], code))[1]
        if words not in held:
            held.append(words)
        return True

    def wrap(self, node: ast.AST, before: str, after: str) -> bool:
        """Writes words before and behind an expression."""
        text = self.context.texts[self.cell(node)]
        start, end = text.span(node)
        text.replace(start, start, before)
        text.replace(end, end, after)
        return True

    def behind(self, inner: ast.AST, outer: ast.AST, words: str) -> bool:
        """Puts words in the place of what stands behind a part of an expression."""
        text = self.context.texts[self.cell(outer)]
        start, end = text.span(inner)[1], text.span(outer)[1]
        if not text.is_free(start, end):
            return False
        text.replace(start, end, words)
        return True

    def drop(self, call: ast.Call, value: ast.AST) -> bool:
        """Takes an argument out, with one comma."""
        text = self.context.texts[self.cell(call)]
        word = next((one for one in call.keywords if one.value is value), None)
        start = text.keyword(word)[0] if word is not None else text.span(value)[0]
        if text.text[start - 1 : start] in ("'", '"'):  # of a dictionary
            start -= 1
        end = text.span(value)[1]
        before = text.text[:start].rstrip()
        if before.endswith(",") and text.is_free(len(before) - 1, end):
            text.replace(len(before) - 1, end, "")
        else:
            behind = len(text.text) - len(text.text[end:].lstrip(" ,"))
            text.replace(start, behind if text.is_free(start, behind) else end, "")
        self.context.done.update(id(inside) for inside in walk(value))
        self._dropped.add(id(value))
        return True

    def define(self, name: str, template: str) -> bool:
        """Writes a function into the script, once; False where the name is taken."""
        return self.context.helper(name, template)

    def to_function(self, call: ast.Call, name: str) -> bool:
        """``model.method(x)`` -> ``name(model, x)``."""
        text = self.context.texts[self.cell(call)]
        value: Any = getattr(call.func, "value", None)
        start, end = text.span(call)
        inner, function_end = text.span(value)[1], text.span(call.func)[1]
        opening = text.text.find("(", function_end, end)
        more = "" if text.text[opening + 1 : end - 1].strip() in ("", ",") else ", "
        text.replace(start, start, name + "(")
        text.replace(inner, opening + 1, more)
        return True

    def end_with(self, node: ast.AST, ending: str) -> bool:
        """Gives a text another ending."""
        cell = self.cell(node)
        match = ENDINGS.match(self.context.texts[cell].source(node))
        if match is None:
            return False
        return self.context.replace(node, cell, match.group(1) + ending + match.group(3))

    def is_in_text(self, node: ast.AST) -> bool:
        """Whether a constant is a part of an f-string, whose position Python gives since 3.12 only."""
        above = self.context.parents(self.cell(node)).get(id(node))
        return isinstance(above, ast.JoinedStr)

    def rename_attribute(self, one: Difference, name: str) -> bool:
        """``x.old`` -> ``x.name``."""
        text = self.context.texts[self.cell(one.node)]
        end = text.span(one.node)[1]
        text.replace(end - len(one.node.attr), end, name)
        return True

    def call_of(self, node: ast.AST) -> ast.Call | None:
        """The call that an attribute is the function of."""
        above = self.context.parents(self.cell(node)).get(id(node))
        return above if isinstance(above, ast.Call) and above.func is node else None


#: Rewrites one place; where it cannot see enough it gives False, and the place gets a TODO with the row's code.
Rewriting = Callable[[Rewriter, Difference], bool]
