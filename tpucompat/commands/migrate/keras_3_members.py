"""Rewrites methods and attributes that Keras 3 offers otherwise than Keras 2."""

from __future__ import annotations

import ast
import re
from typing import Any, Mapping

from tpucompat.commands.analysis import keras_3_words
from tpucompat.commands.analysis.keras_3_loops import variables_of
from tpucompat.commands.analysis.keras_3_members import may_have_several
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import IS_OF_TRAIN, below_keras, key
from tpucompat.commands.migrate import keras, keras_3_text_training
from tpucompat.commands.migrate import keras_3_text as written
from tpucompat.commands.migrate.keras_3_rewriter import Rewriter, Rewriting
from tpucompat.commands.migrate.keras_copies import functions_around
from tpucompat.names.used import argument, constant, keyword


def _generator(self: Rewriter, one: Difference) -> bool:
    return True  # tpucompat.commands.migrate.methods


def _predict(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    if call is not None and argument(call, 2, "verbose") is None:
        self.add(call, "verbose=0")
    return self.rename_attribute(one, "predict")


def _classes(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    return (
        call is not None
        and self.define("predict_classes", written.PREDICT_CLASSES)
        and self.to_function(call, "predict_classes")
    )


def _layers_only(self: Rewriter, one: Difference) -> bool:
    return (
        one.call is not None
        and self.define("load_layers", keras_3_text_training.LOAD_LAYERS)
        and self.to_function(one.call, "load_layers")
    )


def _reset(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    return (
        call is not None
        and not call.args
        and self.define("reset_states", written.RESET_STATES)
        and self.to_function(call, "reset_states")
    )


def _metrics_names(self: Rewriter, one: Difference) -> bool:
    if not self.define("metrics_names", written.METRICS_NAMES):
        return False
    text = self.context.texts[self.cell(one.node)]
    start = text.span(one.node)[0]
    before, after = "metrics_names(", ")"
    if key(one.node.value) in self.finder.of_several_outputs():  # whose values are in order, too
        if not self.define("in_order", written.IN_ORDER):
            return False
        before, after = f"in_order({text.source(one.node.value)}, {before}", "))"
    text.replace(start, start, before)
    return self.behind(one.node.value, one.node, after)


def _shape(self: Rewriter, one: Difference) -> bool:
    what = "output" if one.node.attr.startswith("output") else "input"
    text = self.context.texts[self.cell(one.node)]
    start = text.span(one.node)[0]
    by, behind = "tuple(", f".{what}.shape)"
    if may_have_several(self.finder, one.node.value, what):
        if not self.define("shape_of", keras_3_text_training.SHAPE_OF):
            return False
        by, behind = "shape_of(", f", '{what}')"
    if not self.behind(one.node.value, one.node, behind):
        return False
    text.replace(start, start, by)
    return True


def _at(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    index = argument(call, 0, "node_index") if call is not None else None
    if call is None or constant(index) != 0:
        return False
    what = "output" if "output" in one.node.attr else "input"
    if "shape" not in one.node.attr:
        return self.behind(one.node.value, call, "." + what)
    text = self.context.texts[self.cell(call)]
    start = text.span(call)[0]
    if not self.behind(one.node.value, call, f".{what}.shape)"):
        return False
    text.replace(start, start, "tuple(")
    return True


def _tensor_shape(self: Rewriter, one: Difference) -> bool:
    """``x.get_shape().as_list()``, ``x.shape[1:].ndims`` -> ``list(x.shape)``, ``len(x.shape[1:])``"""
    shape: Any = self.call_of(one.node) if one.name == "get_shape" else one.node
    cell = self.cell(one.node)
    parents, text = self.context.parents(cell), self.context.texts[cell]
    inner, above = shape, parents.get(id(shape))
    if isinstance(above, ast.Subscript) and isinstance(above.slice, ast.Slice):
        inner, above = above, parents.get(id(above))
    if shape is None or (
        one.name == "get_shape" and not self.behind(one.node.value, shape, ".shape")
    ):
        return False
    if not isinstance(above, ast.Attribute):
        return True
    outer = parents.get(id(above)) if above.attr == "as_list" else above
    if above.attr not in _OF_SHAPES or outer is None:
        return False
    text.replace(text.span(outer)[0], text.span(outer)[0], _OF_SHAPES[above.attr] + "(")
    return self.behind(inner, outer, ")")


_OF_SHAPES = {"as_list": "list", "ndims": "len", "rank": "len"}


def _as_dtype(self: Rewriter, one: Difference) -> bool:
    return self.wrap(one.node, self.context.local("tf.as_dtype") + "(", ")")


def _ndim(self: Rewriter, one: Difference) -> bool:
    """``K.ndim(x)``, ``K.dtype(x)`` -> ``len(x.shape)``, ``x.dtype``"""
    value = argument(one.node, 0, "x")
    text = self.context.texts[self.cell(one.node)]
    if value is None or not text.is_free(*text.span(one.node)):
        return False
    source = text.source(value)
    words = f"{source}.dtype" if one.name == "dtype" else f"len({source}.shape)"
    return self.context.replace(one.node, self.cell(one.node), words)


def _stateful(self: Rewriter, one: Difference) -> bool:
    """``layer.stateful``, which recurrent layers alone have"""
    text = self.context.texts[self.cell(one.node)]
    start = text.span(one.node)[0]
    text.replace(start, start, "getattr(")
    return self.behind(one.node.value, one.node, ", 'stateful', False)")


def _compiled_loss(self: Rewriter, one: Difference) -> bool:
    return self.define("compiled_loss", written.COMPILED_LOSS) and self.to_function(
        one.node, "compiled_loss"
    )


def _compiled_metrics(self: Rewriter, one: Difference) -> bool:
    """``self.compiled_metrics.update_state(y, y_pred)`` -> ``update_metrics(self, y, y_pred)``"""
    text, inner = self.context.texts[self.cell(one.node)], one.node.func.value.value
    if not one.node.args or not self.define("update_metrics", written.UPDATE_METRICS):
        return False
    text.replace(text.span(one.node)[0], text.span(inner)[0], "update_metrics(")
    text.replace(text.span(inner)[1], text.span(one.node.args[0])[0], ", ")
    return True


def _private(self: Rewriter, one: Difference) -> bool:
    """``model._make_predict_function()``, ``layer._name = name``"""
    if self.context.keras == 2 and not one.name.startswith("_make_"):
        return True
    return one.name in _PUBLIC and self.rename_attribute(one, one.name[1:])


_PUBLIC = (
    *("_make_predict_function", "_make_train_function", "_make_test_function"),
    "_name",
)


def _learning_rate(self: Rewriter, one: Difference) -> bool:
    return self.rename_attribute(one, "learning_rate")


def _called_rate(self: Rewriter, one: Difference) -> bool:
    """``optimizer.learning_rate(optimizer.iterations)`` -> ``optimizer.learning_rate``"""
    call = one.node if isinstance(one.node, ast.Call) else None
    if call is None or key(call.func) in ("type", "isinstance", "callable") or len(call.args) != 1:
        return False
    made = self.finder.values.values(call.args[0]) or [call.args[0]]
    if {key(each) for each in made} != {f"{key(call.func.value)}.iterations"}:  # type: ignore[attr-defined]
        return False
    return self.behind(call.func, call, "")


def _aggregation(self: Rewriter, one: Difference) -> bool:
    """``tf.VariableAggregation.SUM`` -> ``'sum'``"""
    if isinstance(constant(one.node), str):
        return True
    name = self.finder.values.used.get(id(one.node), "")
    if ".VariableAggregation." not in name:
        return False
    self.context.done.add(id(one.node))
    return self.context.replace(
        one.node, self.cell(one.node), repr(name.rpartition(".")[2].lower())
    )


def _backend_variable(self: Rewriter, one: Difference) -> bool:
    return self.wrap(one.node, self.context.local("tf.convert_to_tensor") + "(", ")")


def _set_value(self: Rewriter, one: Difference) -> bool:
    """``K.set_value(variable, value)`` -> ``variable.assign(value)``."""
    call = one.node
    if len(call.args) != 2 or call.keywords:
        return False
    text = self.context.texts[self.cell(call)]
    text.replace(text.span(call)[0], text.span(call.args[0])[0], "")
    text.replace(text.span(call.args[0])[1], text.span(call.args[1])[0], ".assign(")
    self.context.done.add(id(call.func))
    return True


def _set_values(self: Rewriter, one: Difference) -> bool:
    """``K.batch_set_value(pairs)`` -> ``set_values(pairs)``"""
    self.context.done.add(id(one.node.func))
    return self.define("set_values", keras_3_text_training.SET_VALUES) and self.context.replace(
        one.node.func, self.cell(one.node), "set_values"
    )


def _no_metrics(self: Rewriter, one: Difference) -> bool:
    return self.add(one.node, "metrics=[]")


def _constant(self: Rewriter, one: Difference) -> bool:
    name = self.context.local("tf." + one.name)
    self.context.done.add(id(one.node.func))
    return self.context.replace(one.node.func, self.cell(one.node), name)


def _class_of(self: Rewriter, optimizer: str) -> str:
    """What a script calls an optimizer that adds epsilon to the square root; "" where the name is taken."""
    if self.context.keras == 2:
        return f"{self.context.local('tf.keras.optimizers')}.legacy.{optimizer}"
    name = f"OuterEpsilon{optimizer}"
    return name if self.define(name, written.OUTER_EPSILON[optimizer]) else ""


def _outer_epsilon(self: Rewriter, one: Difference) -> bool:
    """The optimizer that adds epsilon where Keras 2 did, under the arguments that it has."""
    name = _class_of(self, one.name)
    if not name:
        return False
    if not isinstance(one.node, ast.Call):  # a class that is called elsewhere
        return self.context.replace(one.node, self.cell(one.node), name)
    epsilon = argument(one.node, 3, "epsilon")
    if isinstance(epsilon, ast.Constant) and constant(epsilon) is None:
        _drop_epsilon(self, one.node, epsilon)
    return self.context.replace(one.node.func, self.cell(one.node), name)


def _no_epsilon(self: Rewriter, one: Difference) -> bool:
    return one.call is not None and _drop_epsilon(self, one.call, one.node)


def _drop_epsilon(self: Rewriter, call: ast.Call, epsilon: ast.expr) -> bool:
    """Takes ``epsilon=None`` out; between other arguments, its number takes its place."""
    if any(epsilon is given for given in call.args):
        return self.context.replace(epsilon, self.cell(call), "1e-7")
    return self.drop(call, epsilon)


def _made(self: Rewriter, optimizer: str) -> str:
    """``RMSprop(learning_rate=0.001)`` as a script writes it; "" where the name is taken."""
    name, _, arguments = optimizer.partition("(")
    if name in written.OUTER_EPSILON:
        name = _class_of(self, name)
    else:
        name = f"{self.context.local('tf.keras.optimizers')}.{name}"
    return f"{name}({arguments}" if name else ""


def _optimizer_word(self: Rewriter, one: Difference) -> bool:
    made = _made(self, one.name)
    return bool(made) and self.context.replace(one.node, self.cell(one.node), made)


def _optimizer_of_text(self: Rewriter, one: Difference) -> bool:
    """``optimizer_of(name)``, which knows all texts that some of the script's models may be compiled with."""
    return _knows_texts(self, one) and self.wrap(one.node, "optimizer_of(", ")")


def _optimizer_of_settings(self: Rewriter, one: Difference) -> bool:
    """``compile(**s)`` -> ``compile(**{**s, 'optimizer': optimizer_of(s.get('optimizer', 'rmsprop'))})``"""
    settings = self.context.texts[self.cell(one.node)].source(one.node)
    is_named = isinstance(one.node, (ast.Name, ast.Attribute, ast.Subscript))
    if not is_named or not _knows_texts(self, one):
        return False
    looked_up = f"optimizer_of({settings}.get('optimizer', 'rmsprop'))"
    return self.wrap(one.node, "{**", f", 'optimizer': {looked_up}}}")


def _knows_texts(self: Rewriter, one: Difference) -> bool:
    """Writes the function that knows all texts."""
    known = keras_3_words.made_of(self.finder)
    of_texts = [each for each in self.found if each.row.was == one.row.was]
    words = {word for each in of_texts for word in each.name.split()}
    made = {word: _made(self, known[word]) for word in sorted(words)}
    lines = "".join(f"{{i}}{{i}}'{word}': lambda: {text},\n" for word, text in made.items())
    template = written.OPTIMIZER_OF.replace("LINES", lines)
    return all(made.values()) and self.define("optimizer_of", template)


def _class_of_text(self: Rewriter, one: Difference) -> bool:
    """``getattr(optimizers, name)`` -> ``with_outer_epsilon(getattr(optimizers, name))``"""
    made = _class_of(self, "RMSprop")
    template = written.WITH_OUTER_EPSILON.replace("MADE", made)
    defined = bool(made) and self.define("with_outer_epsilon", template)
    return defined and self.wrap(one.node, "with_outer_epsilon(", ")")


def _layer_input(self: Rewriter, one: Difference) -> bool:
    if not self.define("layer_input", written.LAYER_INPUT):
        return False
    text = self.context.texts[self.cell(one.node)]
    start = text.span(one.node)[0]
    text.replace(start, start, "layer_input(")
    return self.behind(one.node.value, one.node, ")")


def _architecture(self: Rewriter, one: Difference) -> bool:
    return self.define("architecture", written.ARCHITECTURE) and self.context.replace(
        one.node.func, self.cell(one.node), "architecture"
    )


def _layer_config(self: Rewriter, one: Difference) -> bool:
    return self.define("layer_of", written.LAYER_OF) and self.context.replace(
        one.node.func, self.cell(one.node), "layer_of"
    )


def _gradients(self: Rewriter, one: Difference) -> bool:
    """``optimizer.minimize(loss, v)`` and ``compute_gradients(loss, v)``, where v is given.

    What stood in the second place of ``minimize`` was the step for optimizers of ``tf.train``.
    """
    call = self.call_of(one.node)
    if call is None or any(word.arg not in ("loss", "var_list", "tape") for word in call.keywords):
        return False
    minimizes = one.name == "minimize"
    loss, variables = argument(call, 0, "loss"), argument(call, 1, "var_list")
    if loss is None or variables is None or len(call.args) > 2:
        return False
    is_placed = minimizes and len(call.args) > 1
    if is_placed and any(IS_OF_TRAIN.match(each.name) for each in self.context.names.calls):
        return False
    if call.keywords[:1] and call.keywords[0].value is loss:
        return False
    text = self.context.texts[self.cell(call)]
    first = text.span(one.node.value)[1] if minimizes else text.span(call)[0]
    tape = keyword(call, "tape")
    if tape is not None:
        return minimizes and _with_tape(self, one, loss, variables, tape)
    if not text.is_free(first, text.span(loss)[0]):
        return False
    if not self.define("gradients_of_loss", written.GRADIENTS_OF_LOSS):
        return False
    before = ".apply_gradients(gradients_of_loss(" if minimizes else "gradients_of_loss("
    text.replace(first, text.span(loss)[0], before)
    for word in call.keywords:
        text.replace(text.keyword(word)[0], text.span(variables)[0], "")
    end = text.span(variables)[1]
    text.replace(end, end, ")" if minimizes else "")
    return True


def _with_tape(
    self: Rewriter, one: Difference, loss: ast.expr, variables: ast.expr, tape: ast.expr
) -> bool:
    """``optimizer.minimize(loss, v, tape=tape)``, which 2.4 added: the loss was computed under the tape."""
    call = self.call_of(one.node)
    cell = self.cell(one.node)
    text = self.context.texts[cell]
    names = [text.source(each) for each in (loss, variables, tape)]
    if call is None or not all(re.fullmatch(r"[\w.]+", name) for name in names):
        return False  # it would be computed twice
    start, end = text.span(one.node.value)[1], text.span(call)[1]
    if not text.is_free(start, end):
        return False
    value, of, by = names
    text.replace(start, end, f".apply_gradients(zip({by}.gradient({value}, {of}), {of}))")
    return True


def _to_json(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    return call is not None and not call.keywords and self.rename_attribute(one, "to_json")


def _yaml(self: Rewriter, one: Difference) -> bool:
    """``model_from_yaml(text)``, where the script writes the text itself"""
    if not any(
        isinstance(node, ast.Attribute) and node.attr == "to_yaml" for node in self.finder.nodes
    ):
        return False
    if self.context.keras == 3:
        return _architecture(self, one)
    name = self.context.local("tf.keras.models.model_from_json")
    return self.context.replace(one.node.func, self.cell(one.node), name)


def _clone(self: Rewriter, one: Difference) -> bool:
    return self.define("uncompiled_clone", written.CLONE) and self.context.replace(
        one.node.func, self.cell(one.node), "uncompiled_clone"
    )


def _call_variable(self: Rewriter, one: Difference) -> bool:
    """``K.variable(value)`` -> ``K.constant(value)``, whose arguments are the same up to the second."""
    call = one.node
    known = all(word.arg in ("value", "dtype", "name") for word in call.keywords)
    if not known or len(call.args) > 2 or not isinstance(call.func, ast.Attribute):
        return False
    return self.rename_attribute(one._replace(node=call.func), "constant")


def _callback_model(self: Rewriter, one: Difference) -> bool:
    """``self.model = model`` -> ``super().set_model(model)``, whatever the class makes of set_model itself."""
    node, text = one.node, self.context.texts[self.cell(one.node)]
    if len(node.targets) != 1 or key(node.targets[0]) != one.name:
        return False
    start, end = text.span(node)
    value = text.span(node.value)[0]
    if "(" in text.text[start:value] or not text.is_free(start, value):
        return False
    text.replace(start, value, "super().set_model(")
    text.replace(end, end, ")")
    return True


def _converted_layers(self: Rewriter, one: Difference) -> bool:
    """``layers[1]`` -> ``layers[0]``"""
    place = constant(one.node)
    is_layer = isinstance(place, int) and place > 0
    return is_layer and self.context.replace(one.node, self.cell(one.node), str(place - 1))


def _schedule_step(self: Rewriter, one: Difference) -> bool:
    """Casts the step where a schedule begins."""
    method, text = one.node, self.context.texts[self.cell(one.node)]
    first = method.body[0]
    if isinstance(first, ast.Expr) and isinstance(constant(first.value), str):
        if len(method.body) == 1:
            return False
        first = method.body[1]
    line = first.lineno
    if text.line(line).strip() and not text.line(line)[: first.col_offset].isspace():
        return False  # on the line of the def
    made = f"{one.name} = {self.context.local('tensorflow.cast')}({one.name}, 'float32')"
    text.insert_line(line, text.indent(line) + made + text.newline)
    return True


def _output_names(self: Rewriter, one: Difference) -> bool:
    """``model.output_names`` of a Sequential -> ``[model.layers[-1].name]``"""
    text = self.context.texts[self.cell(one.node)]
    start = text.span(one.node)[0]
    text.replace(start, start, "[")
    return self.behind(one.node.value, one.node, ".layers[-1].name]")


def _variable_name(self: Rewriter, one: Difference) -> bool:
    """``variable.name`` -> ``name_of(variable)``"""
    names = {
        "sequential",
        "functional",
        *map(re.escape, _names_of_layers(self, ("Sequential",)) or ()),
    }
    if any(each.row.how == "unnamed" and each.name == "model" for each in self.found):
        names.add("model")
    template = written.NAME_OF.replace("SEQUENTIAL", "|".join(sorted(names)))
    cells = self.finder.tf1 and any(
        call.name.endswith(_RECURRENT) for call in self.context.names.calls
    )
    path = "re.sub(r'/(lstm|gru|simple_rnn)_cell(_\\d+)?/', '/', path)" if cells else "path"
    wrappers = _names_of_layers(self, ("layers.TimeDistributed",))
    if wrappers is not None:  # whose layer had no name of its own
        names = {r"time_distributed(?:_\d+)?", *map(re.escape, wrappers)}
        path = f"re.sub(r'^((?:.*/)?(?:{'|'.join(sorted(names))}))/[^/]+/', r'\\1/', {path})"
    defined = self.define("name_of", template.replace("pathCELLS", path))
    return defined and _by_function(self, one, "name_of")


def _names_of_layers(self: Rewriter, owners: tuple[str, ...]) -> set[str] | None:
    """The names that a file gives to objects of some classes; None where it makes none of them."""
    made = [call for call in self.context.names.calls if below_keras(call.name) in owners]
    found = {constant(argument(call.node, 1, "name")) for call in made}
    return {name for name in found if isinstance(name, str)} if made else None


_RECURRENT = (".LSTM", ".GRU", ".SimpleRNN")


def _state_name(self: Rewriter, one: Difference) -> bool:
    """``variable.name`` of a metric -> ``state_name(variable)``"""
    return self.define("state_name", written.STATE_NAME) and _by_function(self, one, "state_name")


def _by_function(self: Rewriter, one: Difference, name: str) -> bool:
    """``value.attribute`` -> ``name(value)``"""
    text = self.context.texts[self.cell(one.node)]
    start = text.span(one.node)[0]
    text.replace(start, start, f"{name}(")
    return self.behind(one.node.value, one.node, ")")


def _variable_value(self: Rewriter, one: Difference) -> bool:
    """``variable.read_value()`` -> ``variable.value``"""
    call = self.call_of(one.node)
    return call is not None and self.behind(one.node.value, call, ".value")


def _slots(self: Rewriter, one: Difference) -> bool:
    """Makes the slots where the optimizer and the model are there."""
    variables = variables_of(one.node)
    if variables is None:
        return False
    model = keras.only_assignment(self.context, key(variables.value))
    optimizer = keras.only_assignment(self.context, one.name)
    if model is None or optimizer is None or model[1] != optimizer[1]:
        return False
    owners = [
        next(functions_around(self.context, cell, made), None) for made, cell in (model, optimizer)
    ]
    made = getattr(model[0].value, "func", None)
    is_own = isinstance(made, ast.Name) and self.finder.values.own_class(made.id)
    if owners[0] is not owners[1] or is_own:  # which has no variables yet
        return False
    last = max(model[0], optimizer[0], key=lambda statement: int(statement.lineno))
    text = self.context.texts[model[1]]
    line = f"{one.name}.build({key(variables)})"  # which may stand in another cell
    indent = text.indent(last.lineno)
    text.insert_line(last.end_lineno + 1, indent + line + text.newline)
    return True


#: ``how`` of a row -> its rewriting.
REWRITINGS: Mapping[str, Rewriting] = {
    "architecture": _architecture,
    "layer_config": _layer_config,
    "as_dtype": _as_dtype,
    "gradients": _gradients,
    "to_json": _to_json,
    "yaml": _yaml,
    "at": _at,
    "call_variable": _call_variable,
    "callback_model": _callback_model,
    "classes": _classes,
    "clone": _clone,
    "compiled_loss": _compiled_loss,
    "compiled_metrics": _compiled_metrics,
    "constant": _constant,
    "converted_layers": _converted_layers,
    "generator": _generator,
    "layer_input": _layer_input,
    "learning_rate": _learning_rate,
    "metrics_names": _metrics_names,
    "ndim": _ndim,
    "class_of_text": _class_of_text,
    "optimizer_of_settings": _optimizer_of_settings,
    "optimizer_of_text": _optimizer_of_text,
    "optimizer_word": _optimizer_word,
    "no_epsilon": _no_epsilon,
    "outer_epsilon": _outer_epsilon,
    "output_names": _output_names,
    "predict": _predict,
    "private": _private,
    "layers_only": _layers_only,
    "reset": _reset,
    "schedule_step": _schedule_step,
    "set_value": _set_value,
    "set_values": _set_values,
    "no_metrics": _no_metrics,
    "shape": _shape,
    "slots": _slots,
    "stateful": _stateful,
    "tensor_shape": _tensor_shape,
    "variable_name": _variable_name,
    "aggregation": _aggregation,
    "backend_variable": _backend_variable,
    "state_name": _state_name,
    "called_rate": _called_rate,
    "variable_value": _variable_value,
}
