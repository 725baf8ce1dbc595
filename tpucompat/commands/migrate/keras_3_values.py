"""Rewrites values, arguments of Keras 1 and losses of tensors that Keras 3 does not accept."""

from __future__ import annotations

import ast
from typing import Any, Mapping

from tpucompat.commands.analysis import batch_elements, keras_1_rules
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_3_values import PLACES
from tpucompat.commands.analysis.keras_values import key
from tpucompat.commands.migrate import keras_3_text as written
from tpucompat.commands.migrate import keras_3_text_training
from tpucompat.commands.migrate.keras_3_rewriter import Rewriter, Rewriting
from tpucompat.names import keras1
from tpucompat.names.used import argument, constant, keyword


def _keras_1(self: Rewriter, one: Difference) -> bool:
    """``Dense(output_dim=8, init='uniform')`` -> ``Dense(units=8, kernel_initializer='uniform')``"""
    call: Any = one.call
    names = keras_1_rules.names_of(
        one.owner, getattr(call.func, "attr", "") if not one.owner else ""
    )
    names = names or keras1.METHODS.get(getattr(call.func, "attr", ""), {})
    word = next(word for word in call.keywords if word.value is one.node)
    new = names[one.name].split()
    if one.name == "samples_per_epoch":
        return False  # it counted examples
    if any(keyword(call, each) is not None for each in new):
        return False
    if not new:
        return self.drop(call, one.node)
    text = self.context.texts[self.cell(one.node)]
    value = text.source(one.node)
    if one.name in keras1.SIDES:
        if len(call.args) > 1:
            return False  # another side stands in its place
        sides = [keyword(call, side) for side in keras1.SIDES]
        given = [side for side in sides if side is not None]
        if one.node is not given[0]:
            return self.drop(call, one.node)
        value = ", ".join(map(text.source, given))
        value = f"({value})" if len(given) > 1 else value
    elif one.name in keras1.VALUES and isinstance(constant(one.node), str):
        value = repr(keras1.VALUES[one.name].get(constant(one.node), constant(one.node)))
    start, end = text.keyword(word)
    if value == text.source(one.node) and len(new) == 1:
        text.replace(start, end, new[0])
        return True
    text.replace(start, text.span(one.node)[1], ", ".join(f"{each}={value}" for each in new))
    return True


def _sides(self: Rewriter, one: Difference) -> bool:
    call: Any = one.call
    text = self.context.texts[self.cell(call)]
    start, end = text.span(call.args[1])[0], text.span(call.args[-1])[1]
    text.replace(start, start, "(")
    text.replace(end, end, ")")
    return True


def _integer(self: Rewriter, one: Difference) -> bool:
    return self.wrap(one.node, "int(", ")")


def _compared(self: Rewriter, one: Difference) -> bool:
    """``if tensor == 0`` -> ``if False``; ``if tensor != other`` -> ``if tensor is not other``"""
    left, right = one.node.left, one.node.comparators[0]
    is_equal = isinstance(one.node.ops[0], ast.Eq)
    cell = self.cell(one.node)
    text = self.context.texts[cell]
    words = f"{text.source(one.node)}: {one.row.note}"
    self.context.note(one.row.code, words, one.node, cell)
    if any(constant(side) is not None for side in (left, right)):
        return self.context.replace(one.node, cell, str(not is_equal))
    start, end = text.span(left)[1], text.span(right)[0]
    if not text.is_free(start, end):
        return False
    text.replace(start, end, " is " if is_equal else " is not ")
    return True


def _one_element(self: Rewriter, one: Difference) -> bool:
    if one.name == "map":
        return self.wrap(one.node, "", ".ravel()")
    whole = one.name == "chr"  # of a character's number as a float, too
    is_sum = isinstance(one.node, (ast.BinOp, ast.Compare, ast.UnaryOp))
    before, after = ("(", ")") if is_sum else ("", "")
    if one.name == batch_elements.MIXED:
        before, after = self.context.local("numpy.asarray") + "(", ")"
    after += ".numpy()" if one.name == batch_elements.TENSOR else ""
    after += ".item())" if whole else ".item()"
    return self.wrap(one.node, ("int(" if whole else "") + before, after)


def _rate_computed(self: Rewriter, one: Difference) -> bool:
    return self.wrap(one.node, "float(", ")")


def _rate_shown(self: Rewriter, one: Difference) -> bool:
    return self.wrap(one.node, f"{self.context.local('numpy.float32')}(", ")")


def _only_value(self: Rewriter, one: Difference) -> bool:
    """``{'name': value}`` -> ``value``"""
    text = self.context.texts[self.cell(one.node)]
    value = one.node.values[0]
    (start, end), (first, last) = text.span(one.node), text.span(value)
    if not text.is_free(last, end):
        return False
    text.replace(start, first, "")
    text.replace(last, end, "")
    return True


def _dimension(self: Rewriter, one: Difference) -> bool:
    return self.behind(one.node.value, one.node, "")


def _shape_list(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    if call is None:
        return False
    return self.context.replace(call, self.cell(call), f"list({one.node.value.id})")


def _dim_ordering(self: Rewriter, one: Difference) -> bool:
    call = one.node
    function = self.context.texts[self.cell(call)].source(call.func)
    owner = function.rpartition(".")[0]
    if not owner:
        return False
    if one.name.endswith("set_image_dim_ordering"):
        order = keras1.VALUES["dim_ordering"][
            constant(call.args[0] if call.args else call.keywords[0].value)
        ]
        words = f"{owner}.set_image_data_format({order!r})"
    else:
        words = f"('tf' if {owner}.image_data_format() == 'channels_last' else 'th')"
    self.context.done.update((id(call), id(call.func)))  # its module is still used
    return self.context.replace(call, self.cell(call), words)


def _add_loss(self: Rewriter, one: Difference) -> bool:
    """``model.add_loss(tensor)`` -> ``model = with_loss(model, tensor)``"""
    call: Any = one.call
    if len(call.args) != 1 or call.keywords:
        return False
    given = call.args[0]
    if isinstance(given, ast.Lambda) or getattr(given, "id", "") in self.context.names.functions:
        return False  # it computes from weights, later
    return _pass_through(self, call, "with_loss", written.WITH_LOSS)


def _add_metric(self: Rewriter, one: Difference) -> bool:
    """``model.add_metric(tensor, name='m')`` -> ``model = with_metric(model, tensor, name='m')``"""
    call: Any = one.call
    aggregation = keyword(call, "aggregation")
    words = {word.arg for word in call.keywords} - {"aggregation"}
    if len(call.args) != 1 or words != {"name"} or constant(aggregation) not in (None, "mean"):
        return False
    if not _pass_through(self, call, "with_metric", keras_3_text_training.WITH_METRIC):
        return False
    return aggregation is None or self.drop(call, aggregation)


def _pass_through(self: Rewriter, call: Any, name: str, text: str) -> bool:
    """``model.method(tensor, …)`` -> ``model = name(model, tensor, …)``"""
    cell = self.cell(call)
    model = key(call.func.value)
    is_statement = isinstance(self.context.statement(call, cell), ast.Expr)
    if not is_statement or not model or not self.define(name, text):
        return False
    file = self.context.texts[cell]
    file.replace(file.span(call)[0], file.span(call.args[0])[0], f"{model} = {name}({model}, ")
    return True


def _positional(self: Rewriter, one: Difference) -> bool:
    """``layer(x, True, mask)`` -> ``layer(x, training=True, mask=mask)``"""
    call: Any = one.call
    text = self.context.texts[self.cell(call)]
    names = one.name.split(",")
    starts = [text.span(value)[0] for value in call.args[-len(names) :]]
    if not all(text.text[:start].rstrip().endswith(",") for start in starts):
        return False  # one stands in brackets of its own
    for name, start in zip(names, starts):
        text.replace(start, start, name + "=")
    return True


def _kl_divergence(self: Rewriter, one: Difference) -> bool:
    return self.add(one.node, "name='kullback_leibler_divergence'")


def _add_variable(self: Rewriter, one: Difference) -> bool:
    call: Any = one.call
    text = self.context.texts[self.cell(call)]
    for name, value in zip(PLACES, call.args):
        start = text.span(value)[0]
        text.replace(start, start, name + "=")
    end = text.span(call.func)[1]
    text.replace(end - len(call.func.attr), end, "add_weight")
    return True


def _custom_object(self: Rewriter, one: Difference) -> bool:
    if self.is_in_text(one.node):
        return False
    asked = self.context.local("tf.keras.utils.get_custom_objects")
    return self.context.replace(one.node, self.cell(one.node), f"{asked}()[{one.name!r}]")


def _built(self: Rewriter, one: Difference) -> bool:
    """``model.build(shape)`` -> ``model(tf.keras.Input(batch_shape=shape))``"""
    shape = argument(one.node, 0, "input_shape")
    lists = (ast.Tuple, ast.List, ast.Dict)
    if shape is None or any(isinstance(part, lists) for part in getattr(shape, "elts", [])):
        return False  # of several inputs
    text = self.context.texts[self.cell(one.node)]
    made = f"({self.context.local('tf.keras.Input')}(batch_shape={text.source(shape)}))"
    return self.behind(one.node.func.value, one.node, made)


def _slash(self: Rewriter, one: Difference) -> bool:
    if self.is_in_text(one.node):
        return False
    cell = self.cell(one.node)
    text = self.context.texts[cell].source(one.node)
    return self.context.replace(one.node, cell, text.replace("/", "_"))


def _lite_file(self: Rewriter, one: Difference) -> bool:
    call = one.node
    quantized = any(
        getattr(node, "attr", "") == "post_training_quantize" for node in self.finder.nodes
    )
    if len(call.args) != 1 or call.keywords or quantized:
        return False
    self.wrap(call.args[0], f"{self.context.local('tf.keras.models.load_model')}(", ")")
    name = self.context.local("tf.lite.TFLiteConverter.from_keras_model")
    return self.context.replace(call.func, self.cell(call), name)


def _tuple(self: Rewriter, one: Difference) -> bool:
    return self.wrap(one.node, "(", ",)")


#: ``how`` of a row -> its rewriting.
REWRITINGS: Mapping[str, Rewriting] = {
    "add_loss": _add_loss,
    "add_metric": _add_metric,
    "kl_divergence": _kl_divergence,
    "positional": _positional,
    "add_variable": _add_variable,
    "built": _built,
    "compared": _compared,
    "dim_ordering": _dim_ordering,
    "dimension": _dimension,
    "integer": _integer,
    "one_element": _one_element,
    "rate_computed": _rate_computed,
    "rate_shown": _rate_shown,
    "keras_1": _keras_1,
    "lite_file": _lite_file,
    "slash": _slash,
    "custom_object": _custom_object,
    "only_value": _only_value,
    "shape_list": _shape_list,
    "sides": _sides,
    "tuple": _tuple,
}
