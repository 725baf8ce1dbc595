"""Rewrites arguments that Keras 3 names, places or defaults otherwise than Keras 2."""

from __future__ import annotations

import ast
from typing import Any, Mapping

from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.commands.migrate import keras_3_text as written
from tpucompat.commands.migrate.keras_3_rewriter import Rewriter, Rewriting
from tpucompat.names import standalone_keras
from tpucompat.names.used import argument, constant, keyword

_RATES = {  # what Keras 2 took for `lr` where it was not given
    "Adadelta": "0.001",
    "Adagrad": "0.001",
    "Adam": "0.001",
    "Adamax": "0.001",
    "Ftrl": "0.001",
    "Nadam": "0.001",
    "RMSprop": "0.001",
    "SGD": "0.01",
}


def _drop(self: Rewriter, one: Difference) -> bool:
    return one.call is not None and self.drop(one.call, one.node)


def _astype(self: Rewriter, one: Difference) -> bool:
    """``to_categorical(y, dtype=int)`` -> ``to_categorical(y).astype(int)``"""
    if one.call is None or not any(word.value is one.node for word in one.call.keywords):
        return False
    kind = self.context.texts[self.cell(one.node)].source(one.node)
    return self.drop(one.call, one.node) and self.wrap(one.call, "", f".astype({kind})")


def _drop_true(self: Rewriter, one: Difference) -> bool:
    return constant(one.node) is True and _drop(self, one)


def _drop_false(self: Rewriter, one: Difference) -> bool:
    return constant(one.node) is False and _drop(self, one)


def _drop_dynamic(self: Rewriter, one: Difference) -> bool:
    return constant(one.node) == "dynamic" and _drop(self, one)


def _rename(self: Rewriter, one: Difference) -> bool:
    word = next((w for w in one.call.keywords if w.value is one.node), None) if one.call else None
    if word is None:
        return False
    text = self.context.texts[self.cell(one.node)]
    text.replace(*text.keyword(word), one.row.becomes)
    return True


def _place(self: Rewriter, one: Difference) -> bool:
    text = self.context.texts[self.cell(one.node)]
    start = text.span(one.node)[0]
    text.replace(start, start, one.row.becomes)
    return True


def _default(self: Rewriter, one: Difference) -> bool:
    return one.call is not None and self.add(one.call, one.name.replace(",", ", "))


def _period(self: Rewriter, one: Difference) -> bool:
    if one.call is None:
        return False
    if constant(one.node) == 1:
        return self.drop(one.call, one.node)
    if not self.define("PeriodicCheckpoint", written.PERIODIC_CHECKPOINT):
        return False
    return self.context.replace(one.call.func, self.cell(one.call), "PeriodicCheckpoint")


def _decay(self: Rewriter, one: Difference) -> bool:
    call = one.call
    if call is None:
        return False
    text = self.context.texts[self.cell(call)]
    if constant(one.node) in (0, 0.0):
        return self.drop(call, one.node)
    if any(other.row.how in ("learning_rate", "set_value") for other in self.found) or any(
        below_keras(other.name) in _SET_RATES for other in self.context.names.calls
    ):
        return _decaying(self, call, one.node)  # a schedule cannot be set
    schedule = self.context.local("tf.keras.optimizers.schedules.InverseTimeDecay")
    decay = text.source(one.node)
    rate = keyword(call, "lr") or argument(call, 0, "learning_rate")
    default = _RATES.get(one.owner.rpartition(".")[2])
    first = f" / (1 + {_in_brackets(one.node, decay)})" if _counts_first(self, call) else ""
    decay = _in_brackets(one.node, decay) + first if first else decay
    if rate is not None:
        opened, closed = _in_brackets(rate, "\n").split("\n") if first else ("", "")
        self.wrap(rate, f"{schedule}({opened}", f"{closed}{first}, 1, {decay})")
    elif default is not None:
        self.add(call, f"learning_rate={schedule}({default}{first}, 1, {decay})")
    else:
        return False
    return self.drop(call, one.node)


def _decaying(self: Rewriter, call: ast.Call, decay: ast.expr) -> bool:
    """``SGD(lr=0.1, decay=1e-4)`` -> ``decaying(SGD(learning_rate=0.1), 1e-4)``, whose rate can be set."""
    if self.context.keras == 2 or _counts_first(self, call):
        return False
    if not self.define("decaying", written.DECAYING):
        return False
    self.wrap(call, "decaying(", f", {self.context.texts[self.cell(call)].source(decay)})")
    return self.drop(call, decay)


def _settings(self: Rewriter, one: Difference) -> bool:
    """``Adam(**settings)`` -> ``optimizer_with(Adam, **settings)``, with the rate of none"""
    call = one.call
    if call is None or not self.define("decaying", written.DECAYING):
        return False
    if not self.define("optimizer_with", written.OPTIMIZER_WITH):
        return False
    text = self.context.texts[self.cell(call)]
    start, end = text.span(call)
    opening = text.text.find("(", text.span(call.func)[1], end)
    text.replace(start, start, "optimizer_with(")
    text.replace(opening, opening + 1, ", ")
    given = next((word.value for word in call.keywords if word.arg is None), None)
    if one.name and given is not None:
        self.wrap(given, f"{{'learning_rate': {one.name}, **", "}")
    return True


def _in_brackets(node: ast.AST, text: str) -> str:
    """The text of an expression as an operand."""
    return (
        text if isinstance(node, (ast.Attribute, ast.Call, ast.Constant, ast.Name)) else f"({text})"
    )


def _counts_first(self: Rewriter, call: ast.Call) -> bool:
    """Whether an optimizer counted a step before it read its rate (``standins/keras_optimizers.py``)."""
    return any(
        one.node is call and one.name.startswith(standalone_keras.PRIVATE_OPTIMIZERS)
        for one in self.context.names.calls
    )


_SET_RATES = frozenset(("callbacks.LearningRateScheduler", "callbacks.ReduceLROnPlateau"))


def _is_first(self: Rewriter, layer: ast.Call, above: Any) -> bool:
    """Whether no layer stands before one in its list, or was added before it."""
    if isinstance(above, ast.List):
        return above.elts[0] is layer
    values, model = self.finder.values, getattr(getattr(above, "func", None), "value", None)
    if model is None or not key(model):
        return True
    made = [getattr(one, "lineno", 0) for one in values.values(model)]
    since = max((line for line in made if line < layer.lineno), default=0)
    return not any(
        one.name == ".add"
        and since <= one.node.lineno < layer.lineno
        and key(one.node.func.value) == key(model)  # type: ignore[attr-defined]
        and values.scope(one.node) == values.scope(layer)
        for one in self.context.names.calls
    )


def _input(self: Rewriter, one: Difference) -> bool:
    """``add(Layer(batch_input_shape=…))`` -> ``add(tf.keras.Input(batch_shape=…))`` before it."""
    call = one.call
    if call is None:
        return False
    cell = self.cell(call)
    text = self.context.texts[cell]
    above: Any = self.context.parents(cell).get(id(call))
    shape = text.source(one.node)
    if one.name == "input_length":
        known = (
            any(
                word.arg in ("batch_input_shape", "input_shape", "input_dim")
                and word.value is not one.node
                and one.owner != "layers.Embedding"
                for word in call.keywords
            )
            or keyword(call, "batch_input_shape") is not None
        )
        is_none = isinstance(one.node, ast.Constant) and one.node.value is None
        if known or is_none:
            return self.drop(call, one.node)
        words = (
            f"shape={shape}" if isinstance(one.node, (ast.Tuple, ast.List)) else f"shape=({shape},)"
        )
    elif one.name == "batch_size":
        given = keyword(call, "input_shape")
        if given is None:
            return False
        words = f"{text.source(given)}, batch_size={shape}"
        self.drop(call, given)
    else:
        words = f"batch_shape={shape}"
    made = f"{self.context.local('tf.keras.Input')}({words})"
    if isinstance(above, ast.Call) and above.func is call:
        return self.drop(call, one.node)  # it is given its inputs
    if not _is_first(self, call, above):
        return self.drop(call, one.node)  # Keras 2 took no notice of it
    if isinstance(above, ast.List):
        start = text.span(call)[0]
        text.replace(start, start, made + ", ")
        return self.drop(call, one.node)
    statement = self.context.statement(call, cell)
    if one.name == "input_length" and isinstance(statement, ast.Assign) and statement.value is call:
        made_name = key(statement.targets[0])
        if any(key(other.node.func) == made_name for other in self.context.names.calls):
            return self.drop(call, one.node)  # it is given its inputs later
    is_added = (
        isinstance(above, ast.Call)
        and getattr(above.func, "attr", "") == "add"
        and isinstance(statement, ast.Expr)
        and statement.value is above
        and text.owns_lines(statement)
    )
    if not is_added:
        return False
    line = statement.lineno
    model = text.source(above.func.value)
    text.insert_line(line, f"{text.indent(line)}{model}.add({made}){text.newline}")
    return self.drop(call, one.node)


#: ``how`` of a row -> its rewriting.
REWRITINGS: Mapping[str, Rewriting] = {
    "decay": _decay,
    "default": _default,
    "astype": _astype,
    "drop": _drop,
    "drop_dynamic": _drop_dynamic,
    "drop_false": _drop_false,
    "drop_true": _drop_true,
    "input": _input,
    "period": _period,
    "place": _place,
    "rename": _rename,
    "settings": _settings,
}
