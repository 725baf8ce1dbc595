"""Rewrites how data reaches ``fit``, ``evaluate`` and ``predict``."""

from __future__ import annotations

import ast
from typing import Any, Mapping

from tpucompat.commands.analysis.keras_3_batches import steps_of
from tpucompat.commands.analysis.keras_3_rules import Difference, is_generator
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.commands.migrate import graph_names, keras_3_text_training
from tpucompat.commands.migrate import keras_3_text as written
from tpucompat.commands.migrate.keras_3_rewriter import Rewriter, Rewriting
from tpucompat.names.used import argument, constant, keyword, walk


def _steps(self: Rewriter, one: Difference) -> bool:
    value = constant(one.node)
    if isinstance(value, float) and value == int(value):
        return self.context.replace(one.node, self.cell(one.node), str(int(value)))
    return self.wrap(one.node, f"int({self.context.local('numpy.ceil')}(", "))")


def _validation_generator(self: Rewriter, one: Difference) -> bool:
    steps = argument(one.call, int(one.name), "validation_steps") if one.call else None
    if steps is None or not _define_steps_of(self):
        return False
    text = self.context.texts[self.cell(steps)].source(steps)
    if any(other.row.how == "steps" and other.node is steps for other in self.found):
        text = f"int({self.context.local('numpy.ceil')}({text}))"
    return self.wrap(one.node, "StepsOf(", f", {text})")


def _first_batches(self: Rewriter, one: Difference) -> bool:
    """``validation_data=batches`` -> ``validation_data=first_of(batches, n)``"""
    steps = keyword(one.call, "validation_steps") if one.call else None
    if steps is None or not _define_steps_of(self) or not self.define("first_of", written.FIRST_OF):
        return False
    count = self.context.texts[self.cell(steps)].source(steps)
    if any(other.row.how == "steps" and other.node is steps for other in self.found):
        count = f"int({self.context.local('numpy.ceil')}({count}))"
    return self.wrap(one.node, "first_of(", f", {count})")


def _define_steps_of(self: Rewriter) -> bool:
    if not self.define("StepsOf", written.STEPS_OF):
        return False
    self.context.want("deepcopy", "copy")
    return True


def _batches_of_steps(self: Rewriter, one: Difference) -> bool:
    """``fit_generator(batches, steps_per_epoch=n)`` -> ``fit(StepsOf(batches, n), shuffle=False)``"""
    call: Any = one.call
    steps = steps_of(one.name, call)
    if steps is None or len(call.args) > 8 or not _define_steps_of(self):
        return False
    count = self.context.texts[self.cell(steps)].source(steps)
    is_float = any(other.row.how == "steps" and other.node is steps for other in self.found)
    if is_float:
        count = f"int({self.context.local('numpy.ceil')}({count}))"
    order = _order(self, one) if one.name.startswith(".fit") else ""
    before, after = "StepsOf(", f", {count})"
    if not is_generator(self.finder, one.node):
        if not self.define("passes", written.PASSES):
            return False
        order += "" if self.finder.tf1 else f", steps={count}"
        before, after = before + "passes(", f"{order})" + after
    if not is_float and any(word.value is steps for word in call.keywords):
        self.drop(call, steps)
    return self.wrap(one.node, before, after)


def _order(self: Rewriter, one: Difference) -> str:
    """Takes the order of the batches of a Sequence from Keras, which would mix those of an epoch.

    Returns:
      The same for ``passes``: by default, workers shuffled each pass, and told the Sequence of its end.
    """
    call: Any = one.call
    shuffle = keyword(call, "shuffle")
    in_thread = constant(keyword(call, "workers")) == 0
    given = "True"
    if shuffle is not None:
        given = self.context.texts[self.cell(shuffle)].source(shuffle)
        self.context.replace(shuffle, self.cell(shuffle), "False")
    elif not in_thread or one.name == ".fit":  # else workers=0 becomes it
        self.add(call, "shuffle=False")
    if in_thread:
        return ", ends=False"
    return "" if given == "False" else f", shuffle={given}"


def _call(self: Rewriter, one: Difference) -> bool:
    if isinstance(one.node, ast.Lambda):
        return self.wrap(one.node, "(", ")()")
    made = f"() if callable({key(one.node)}) else {key(one.node)}" if one.name else "()"
    return self.wrap(one.node, "", made)


def _iterator(self: Rewriter, one: Difference) -> bool:
    """Gives fit the Dataset that the iterator was made of."""
    made: Any = one.node
    if not isinstance(made, ast.Call):
        found = self.finder.values.values(made)
        if len(found) != 1 or _loads(self, key(made)) != 1:
            return False
        made = found[0]
    return _strip_iterator(self, made)


def _strip_iterator(self: Rewriter, made: Any) -> bool:
    function = getattr(made, "func", None)
    if not isinstance(function, ast.Attribute) or not function.attr.startswith("make_one_shot"):
        return False
    self.context.done.add(id(made))
    return self.behind(function.value, made, "")


def _loads(self: Rewriter, name: str) -> int:
    return sum(
        key(node) == name and isinstance(getattr(node, "ctx", None), ast.Load)
        for tree in self.context.trees.values()
        for node in walk(tree)
    )


def _batch(self: Rewriter, one: Difference) -> bool:
    """``images, labels = dataset.make_one_shot_iterator().get_next()`` and ``fit(images, labels)``."""
    call = one.call
    if call is None or not call.args or one.node is not call.args[0]:
        return False
    given = list(call.args[:2])
    parts = [self.finder.values.values(value) for value in given]
    if any(len(found) != 1 or found[0] is not parts[0][0] for found in parts):
        return False
    if any(_loads(self, key(value)) != 1 for value in given):
        return False
    next_call: Any = parts[0][0]
    iterator = next_call.func.value
    cell = self.cell(next_call)
    statement = self.context.statement(next_call, cell)
    if not isinstance(statement, ast.Assign) or not self.context.texts[cell].owns_lines(statement):
        return False
    if isinstance(iterator, ast.Name):
        found = self.finder.values.values(iterator)
        if len(found) != 1 or _loads(self, iterator.id) != 1 or not _strip_iterator(self, found[0]):
            return False
        name = iterator.id
        self.context.remove(statement, cell)
    else:
        name = next(
            (one for one in ("dataset", "batches", "fit_dataset") if self.context.is_free(one)), ""
        )
        function = getattr(iterator, "func", None)
        if not name and isinstance(getattr(function, "value", None), ast.Name):
            name = function.value.id  # type: ignore[union-attr]
            self.context.done.add(id(iterator))
            self.context.remove(statement, cell)
        elif not name or not isinstance(function, ast.Attribute):
            return False
        elif isinstance(function.value, ast.Name):
            name = function.value.id
            self.context.done.add(id(iterator))
            self.context.remove(statement, cell)
        else:
            self.context.done.add(id(iterator))
            if not self.behind(function.value, next_call, ""):
                return False
            self.context.replace(statement.targets[0], cell, name)
    text = self.context.texts[self.cell(call)]
    text.replace(text.span(given[0])[0], text.span(given[-1])[1], name)
    return True


def _lists(self: Rewriter, one: Difference) -> bool:
    if not isinstance(one.node, ast.List):
        return self.wrap(one.node, "tuple(", ")")
    text = self.context.texts[self.cell(one.node)]
    start, end = text.span(one.node)
    text.replace(start, start + 1, "(")
    text.replace(end - 1, end, ",)" if len(one.node.elts) == 1 else ")")
    return True


def _function(self: Rewriter, one: Difference) -> bool:
    call = one.node
    inputs, outputs = argument(call, 0, "inputs"), argument(call, 1, "outputs")
    if inputs is None or outputs is None or len(call.args) + len(call.keywords) != 2:
        return False
    if not self.define("keras_function", written.FUNCTION):
        return False
    for node in walk(inputs):
        name = self.finder.values.called.get(id(node), "")
        if below_keras(name) == "backend.learning_phase":
            self.context.replace(node, self.cell(node), "None")
            self.context.done.update(id(inside) for inside in walk(node))
    return self.context.replace(call.func, self.cell(call), "keras_function")


def _model_gradients(self: Rewriter, one: Difference) -> bool:
    """``K.gradients(model.output, layer.output)``, outside of losses, where Keras 3 has arrays."""
    call = one.node
    parts = [part for value in call.args[1:] for part in getattr(value, "elts", [value])]
    are_tensors = all(map(self.finder.values.is_tensor, [*call.args[:1], *parts]))
    if len(call.args) != 2 or call.keywords or not are_tensors:
        return False
    if not self.define("model_gradients", keras_3_text_training.MODEL_GRADIENTS):
        return False
    return self.context.replace(call.func, self.cell(call), "model_gradients")


def _standalone(self: Rewriter, one: Difference) -> bool:
    return True  # all imports together, in the end


def _by_output(self: Rewriter, one: Difference) -> bool:
    owner: Any = getattr(one.call.func, "value", None) if one.call is not None else None
    if not key(owner) or not self.define("by_output", written.BY_OUTPUT):
        return False
    return self.wrap(one.node, f"by_output({key(owner)}, ", ")")


def _class_weights(self: Rewriter, one: Difference) -> bool:
    """``fit(x, y, class_weight={'a': w})`` -> ``sample_weight=weights_of_classes(model, y, {'a': w})``"""
    call: Any = one.call
    word = next((word for word in call.keywords if word.value is one.node), None)
    targets = argument(call, 1, "y")
    owner = key(call.func.value)
    makes = any(isinstance(node, ast.Call) for node in walk(targets)) if targets else True
    if word is None or targets is None or makes or not owner or call.func.attr not in _ARRAYS:
        return False
    if keyword(call, "sample_weight") is not None or any(
        word.arg is None for word in call.keywords
    ):
        return False
    if not self.define("weights_of_classes", written.CLASS_WEIGHTS):
        return False
    text = self.context.texts[self.cell(call)]
    given = text.source(targets)
    if not isinstance(targets, (ast.List, ast.Tuple)):
        if not self.define("by_output", written.BY_OUTPUT):
            return False
        self.wrap(targets, f"by_output({owner}, ", ")")
    start, value = text.keyword(word)[0], text.span(one.node)[0]
    text.replace(start, value, f"sample_weight=weights_of_classes({owner}, {given}, ")
    text.replace(text.span(one.node)[1], text.span(one.node)[1], ")")
    return True


def _weighted_generator(self: Rewriter, one: Difference) -> bool:
    """``fit(batches(), class_weight=w)`` -> ``fit(weighted_batches(batches(), w))``"""
    call: Any = one.call
    weights = keyword(call, "class_weight")
    if weights is None or any(isinstance(node, ast.Call) for node in walk(weights)):
        return False
    given = self.context.texts[self.cell(call)].source(weights)
    if not self.define("weighted_batches", written.WEIGHTED_BATCHES):
        return False
    return self.wrap(one.node, "weighted_batches(", f", {given})") and self.drop(call, weights)


def _numbers(self: Rewriter, one: Difference) -> bool:
    is_plain = isinstance(one.node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    before, after = ("", "") if is_plain else ("(", ")")
    return self.wrap(one.node, before, after + ".astype('float32')")


#: Methods that have their targets as arrays.
_ARRAYS = ("fit", "train_on_batch")


def _loss_weights(self: Rewriter, one: Difference) -> bool:
    return self.behind(one.node.values[-1], one.node, f", {one.name}}}")


def _as_column(self: Rewriter, one: Difference) -> bool:
    return self.define("as_column", written.AS_COLUMN) and self.wrap(one.node, "as_column(", ")")


def _graph_mode(self: Rewriter, one: Difference) -> bool:
    """Takes out what asks for graphs, if nothing else in the file does."""
    cell = self.cell(one.node)
    statement = self.context.statement(one.node, cell)
    is_alone = getattr(statement, "value", None) is one.node
    if not is_alone or graph_names.builds(self.context, besides=one.node.func):
        return False
    return self.context.remove(statement, cell)


#: ``how`` of a row -> its rewriting.
REWRITINGS: Mapping[str, Rewriting] = {
    "batch": _batch,
    "batches_of_steps": _batches_of_steps,
    "by_output": _by_output,
    "as_column": _as_column,
    "call": _call,
    "graph_mode": _graph_mode,
    "class_weights": _class_weights,
    "function": _function,
    "model_gradients": _model_gradients,
    "iterator": _iterator,
    "lists": _lists,
    "numbers": _numbers,
    "weighted_generator": _weighted_generator,
    "loss_weights": _loss_weights,
    "standalone": _standalone,
    "steps": _steps,
    "first_batches": _first_batches,
    "validation_generator": _validation_generator,
}
