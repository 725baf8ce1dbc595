"""Rewrites what asks a layer for its training mode into the argument that Keras 3 gives its ``call``."""

from __future__ import annotations

import ast
from typing import Any, Mapping

from tpucompat.commands.analysis.keras_3_modes import TRAINING, functions, takes_mode
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import below_keras
from tpucompat.commands.migrate.keras_3_rewriter import Rewriter, Rewriting
from tpucompat.names.used import walk


def _training_mode(self: Rewriter, one: Difference) -> bool:
    """``K.learning_phase()`` -> ``bool(training)``; a model is built with None, which was inference."""
    if not _has_mode(self, one.node):
        return False
    mode = _tensor(self) if one.name else f"bool({TRAINING})"
    self.context.done.update(id(inside) for inside in walk(one.node))
    return self.context.replace(one.node, self.cell(one.node), mode)


def _training_argument(self: Rewriter, one: Difference) -> bool:
    return _has_mode(self, one.node) and self.add(one.node, f"{TRAINING}={TRAINING}")


def _training_tensor(self: Rewriter, one: Difference) -> bool:
    return self.context.replace(one.node, self.cell(one.node), _tensor(self))


def _tensor(self: Rewriter) -> str:
    """The mode where it may be None, Python's, or a tensor that the script made of it."""
    cast, boolean = self.context.local("tf.cast"), self.context.local("tf.bool")
    return f"{cast}(False if {TRAINING} is None else {TRAINING}, {boolean})"


def _has_mode(self: Rewriter, node: ast.AST) -> bool:
    """Whether the function around a node is given the mode; if need be it gets the argument."""
    known = {id(one) for one in functions(self.finder)}
    parents = self.context.parents(self.cell(node))
    above: Any = parents.get(id(node))
    while above is not None and id(above) not in known:
        above = parents.get(id(above))
    if above is None or any(_is_other(self, inside) for inside in walk(above)):
        return False
    if not takes_mode(above) and id(above.args) not in self.context.done:
        text = self.context.texts[self.cell(above)]
        end = text.span([*above.args.args, *above.args.defaults[-1:]][-1])[1]
        text.replace(end, end, f", {TRAINING}=None")
        self.context.done.add(id(above.args))
    return True


def _is_other(self: Rewriter, node: ast.AST) -> bool:
    """Whether the name comes to stand for anything but the mode that Keras knows."""
    if not isinstance(node, ast.Assign):
        return False
    if not any(getattr(target, "id", "") == TRAINING for target in node.targets):
        return False
    called = (self.finder.values.called.get(id(inside), "") for inside in walk(node.value))
    return "backend.learning_phase" not in map(below_keras, called)


REWRITINGS: Mapping[str, Rewriting] = {
    "training_argument": _training_argument,
    "training_mode": _training_mode,
    "training_tensor": _training_tensor,
}
