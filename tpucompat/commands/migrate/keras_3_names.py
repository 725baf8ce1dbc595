"""Rewrites what reads names that Keras makes, and gives inputs and models those of Keras 2."""

from __future__ import annotations

import ast
from typing import Any, Mapping

from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import MODEL, below_keras, key
from tpucompat.commands.migrate import keras_3_text_training as written
from tpucompat.commands.migrate.keras_3_rewriter import Rewriter, Rewriting


def _unnamed(self: Rewriter, one: Difference) -> bool:
    """``Input(shape)`` -> ``Input(shape, name=next_name('input'))``"""
    defined = one.call is not None and self.define("next_name", written.NEXT_NAME)
    return defined and self.add(one.call, f"name=next_name({one.name!r})")  # type: ignore[arg-type]


def _optimizer_name(self: Rewriter, one: Difference) -> bool:
    """``optimizer.get_config()['name']`` -> ``type(optimizer).__name__``"""
    made: Any = one.call.func if one.call is not None else one.node
    made_by = (
        each for each in self.context.names.calls if below_keras(each.name).startswith("optim")
    )
    if any(word.arg == "name" for each in made_by for word in each.node.keywords):
        return False  # which is that name
    text = self.context.texts[self.cell(one.node)]
    start = text.span(one.node)[0]
    if not self.behind(made.value, one.node, ").__name__"):
        return False
    text.replace(start, start, "type(")
    return True


def _class_name(self: Rewriter, one: Difference) -> bool:
    """``type(model).__name__`` -> the same with ``.replace('Functional', 'Model')``"""
    text = self.context.texts[self.cell(one.node)]
    end = text.span(one.node)[1]
    if text.text[end:].startswith(".replace('Functional'"):
        return True
    text.replace(end, end, ".replace('Functional', 'Model')")
    return True


def _input_names(self: Rewriter, one: Difference) -> bool:
    """``model.input_names`` -> ``[one.name for one in model.inputs]``, or a function's names"""
    text = self.context.texts[self.cell(one.node)]
    start = text.span(one.node)[0]
    if self.finder.values.kind(one.node.value) == MODEL and _is_made(self, one.node.value):
        text.replace(start, start, "[one.name for one in ")
        return self.behind(one.node.value, one.node, ".inputs]")
    if not self.define("input_names", written.INPUT_NAMES):
        return False
    text.replace(start, start, "input_names(")
    return self.behind(one.node.value, one.node, ")")


def _is_made(self: Rewriter, node: ast.AST) -> bool:
    """Whether a model is made by the script of inputs and outputs."""
    made = self.finder.values.values(node)
    called = (self.finder.values.called.get(id(one), "") for one in made)
    return bool(made) and all(name.endswith(".Model") for name in called) and bool(key(node))


#: ``how`` of a row -> its rewriting.
REWRITINGS: Mapping[str, Rewriting] = {
    "unnamed": _unnamed,
    "optimizer_name": _optimizer_name,
    "class_name": _class_name,
    "input_names": _input_names,
}
