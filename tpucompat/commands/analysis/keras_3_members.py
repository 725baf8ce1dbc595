"""Attributes and functions that Keras 3 has under the same names, and that hold or do something else there."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, Iterable, Iterator

from tpucompat.commands.analysis import indexes, keras_3_names
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import (
    CALLBACK,
    LAYER,
    MODEL,
    MODELS,
    OPTIMIZER,
    SEQUENTIAL,
    STATE,
    TENSOR,
    VARIABLE,
    below_keras,
    key,
)
from tpucompat.names.used import children, constant, index_of, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: Function -> the row about it.
_CALLED = {
    "layers.deserialize": "layer_config",
    "models.clone_model": "clone",
    "models.model_from_json": "architecture",
    "models.model_from_yaml": "yaml",
}
#: Functions that ``migrate`` writes, whose calls are as Keras 3 wants them.
WRITTEN = ("architecture", "layer_of", "under_strategy", "uncompiled_clone")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def differences(finder: Finder) -> Iterator[Difference]:
    """Every place of a file, once."""
    for node in indexes.nodes(finder, ast.ClassDef, ast.Attribute, ast.Call, ast.Subscript):
        if isinstance(node, ast.ClassDef):
            kind = finder.values.own_class(node.name)
            if kind == CALLBACK:
                yield from _models(node)
            elif kind:
                yield from _states(node)
            yield from _schedules(finder, node)
        elif isinstance(node, ast.Attribute):
            yield from _attribute(finder, node)
        elif isinstance(node, ast.Call):
            function: Any = node.func
            is_value = getattr(function, "attr", "") in ("value", "read_value")
            if getattr(function, "attr", "") == "compiled_loss":
                yield Difference(table.BEHAVIOURS["compiled_loss"], node)
            elif key(function).endswith(".compiled_metrics.update_state"):
                yield Difference(table.BEHAVIOURS["compiled_metrics"], node)
            if _asks_for_schedule(finder, node):
                yield Difference(table.BEHAVIOURS["called_rate"], node)
            if is_value and finder.values.kind(function.value) == VARIABLE:
                yield Difference(table.BEHAVIOURS["variable_value"], function)
        elif isinstance(node, ast.Subscript):
            yield from converted_layers(finder, node)
    for call in finder.names.calls:
        row = _CALLED.get(below_keras(call.name))
        if row is not None and (
            call.function is None or getattr(call.function.node, "name", "") not in WRITTEN
        ):
            yield Difference(table.BEHAVIOURS[row], call.node, call.node)


def _attribute(finder: Finder, node: ast.Attribute) -> Iterator[Difference]:
    kind = finder.values.kind(node.value)
    if node.attr == "name" and kind == VARIABLE:
        again = finder.tf1 and keras_3_names.is_made_again(finder, node.value)
        row = table.BEHAVIOURS["repeated_name" if again else "variable_name"]
        yield Difference(row, node, None, "path")
    if node.attr == "name" and kind == STATE:
        yield Difference(table.BEHAVIOURS["state_name"], node)
    if node.attr == "variables" and kind in (*MODELS, LAYER) and _draws(finder):
        yield Difference(table.BEHAVIOURS["variables"], node, None, "variables")
    of_any = (
        kind == LAYER and isinstance(node.ctx, ast.Load) and not finder.class_of(node.value, kind)
    )
    if node.attr == "stateful" and of_any:
        yield Difference(table.BEHAVIOURS["stateful"], node)
    yield from _of_tensors(finder, node)
    if _is_private(finder, node):
        yield Difference(table.BEHAVIOURS["private"], node, None, node.attr)
    if node.attr == "input" and may_be_input_layer(finder, node.value):
        yield Difference(table.BEHAVIOURS["layer_input"], node, None, "input")
    is_of_self = node.attr == "validation_data" and key(node.value) == "self"
    if is_of_self and finder.values.has_callback() and not finder.values.values(node):
        yield Difference(table.BEHAVIOURS["validation_data"], node, None, "")


def _asks_for_schedule(finder: Finder, node: ast.Call) -> bool:
    """``optimizer.lr(step)`` and ``isinstance(optimizer.lr, LearningRateSchedule)``"""
    is_question = key(node.func) in ("type", "isinstance", "callable") and bool(node.args)
    rate: Any = node.args[0] if is_question else node.func
    if getattr(rate, "attr", "") not in ("lr", "learning_rate"):
        return False
    return finder.values.kind(rate.value) == OPTIMIZER or says_optimizer(rate.value)


@indexes.once
def _draws(finder: Finder) -> bool:
    """Whether a model may have a layer with a state of random numbers."""
    return any(map(_DRAWING.search, indexes.called_names(finder.names)))


_DRAWING = re.compile(
    r"\.(\w*Dropout\w*|Gaussian\w+|Random\w+|LSTM|GRU|SimpleRNN|ConvLSTM2D|load_model)$|\.applications\."
)


def _of_tensors(finder: Finder, node: ast.Attribute) -> Iterator[Difference]:
    """``x.shape.as_list()`` and ``x.dtype.name``, which are a tuple and a text of Keras 3."""
    part: Any = node.value
    if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice):
        part = part.value
    kind = finder.values.kind(part.value) if isinstance(part, ast.Attribute) else ""
    if kind == TENSOR and part.attr == "shape" and not hasattr((), node.attr):
        yield Difference(table.BEHAVIOURS["tensor_shape"], part, None, "shape")
    is_of_dtype = part is node.value and getattr(part, "attr", "") == "dtype"
    if is_of_dtype and kind in (TENSOR, VARIABLE) and not hasattr("", node.attr):
        yield Difference(table.BEHAVIOURS["dtype_name"], part)


def _is_private(finder: Finder, node: ast.Attribute) -> bool:
    """Whether it is something of Keras 2 itself: ``model._make_predict_function``."""
    is_private = node.attr.startswith("_") and not node.attr.startswith("__")
    if not is_private or node.attr in _PRIVATE_IN_BOTH or key(node.value) in ("self", "cls"):
        return False
    kind = finder.values.kind(node.value)
    if kind == OPTIMIZER and node.attr == "_name":
        return False  # a name that Keras 3 makes otherwise
    return kind in (*MODELS, LAYER, OPTIMIZER, CALLBACK) and node.attr not in finder.own_members


_PRIVATE_IN_BOTH = (
    *("_inbound_nodes", "_outbound_nodes", "_layers", "_nodes_by_depth"),
    *("_compile_config", "_cpu_model"),  # what migrate writes, and what it takes out
)


def own_members(nodes: Iterable[ast.AST]) -> set[str]:
    """Methods that a file defines, and the attributes of ``self`` that it assigns."""
    return {
        getattr(node, "name", getattr(node, "attr", ""))
        for node in nodes
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        or (isinstance(getattr(node, "ctx", None), ast.Store) and key(node).startswith("self."))
    }


def of_made_layers(finder: Finder, node: ast.Attribute) -> Iterator[Difference]:
    """What one class of the layers that a file makes has no more, of a layer of an unknown class."""
    for below in sorted(indexes.of_keras(finder.names)):
        lines = table.lines().get(("member", below), ())
        if below.startswith("layers.") and any(line.rest[0] == node.attr for line in lines):
            row = table.MEMBERS.get((below, node.attr))
            row = row or table.Row(f"{below}.{node.attr}", "", "", table.GONE)
            yield Difference(row._replace(how=""), node, None, node.attr, below)
            return


def says_optimizer(node: ast.AST) -> bool:
    """Whether a name is one that optimizers have."""
    last = key(node).rpartition(".")[2]
    return last in ("optimizer", "opt") or last.endswith(("optimizer", "_opt"))


def converted_layers(finder: Finder, node: ast.Subscript) -> Iterator[Difference]:
    """``tpu_model.layers[1]`` of a Sequential, whose converted form began with an input layer."""
    owner: Any = getattr(node.value, "value", None)
    if getattr(node.value, "attr", "") != "layers" or not isinstance(node.ctx, ast.Load):
        return
    index = index_of(node)
    is_last = isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub)
    made = _newest(finder, owner)
    if not is_last and isinstance(made, ast.Call) and _converts(finder, made):
        yield Difference(table.BEHAVIOURS["converted_layers"], index, None, "layers")


def _newest(finder: Finder, node: Any) -> Any:
    """What was assigned to a name last above a place; None if nothing is known."""
    made: list[Any] = [one for one in finder.values.values(node) if one.lineno < node.lineno]  # type: ignore[attr-defined]
    return max(made, key=lambda one: one.lineno, default=None)


def _converts(finder: Finder, call: ast.Call) -> bool:
    """Whether a call, or the function of the script that it calls, converts a Sequential."""
    given = [*call.args, *(word.value for word in call.keywords)]
    known = (one if isinstance(one, ast.Call) else _newest(finder, one) or one for one in given)
    if not any(finder.values.kind(one) == SEQUENTIAL for one in known):
        return False
    function = finder.names.functions.get(getattr(call.func, "id", ""))
    returned: list[Any] = [call]
    for one in walk(function.node) if function is not None else ():
        value = one.value if isinstance(one, ast.Return) else None
        returned += [value] if isinstance(value, ast.Call) else finder.values.values(value or one)
    called = finder.values.called
    return any(called.get(id(one), "").endswith(".keras_to_tpu_model") for one in returned)


#: What gives a model whose class only a file or a text has.
_LOADS = ("load_model", "model_from_json", "model_from_yaml", "model_from_config")


def of_sequential(finder: Finder, node: ast.Attribute, kind: str) -> Iterator[Difference]:
    """The tensors of a Sequential, or of a loaded model that may be one."""
    if kind == SEQUENTIAL:
        yield Difference(table.BEHAVIOURS["sequential_tensors"], node, None, node.attr + "s")
    called = finder.values.called
    made = (called.get(id(one), "") for one in finder.values.values(node.value))
    if kind == MODEL and any(one.endswith(_LOADS) for one in made):
        names = {below_keras(one).rpartition(".")[2] for one in indexes.called_names(finder.names)}
        if "Sequential" in names or "Model" not in names:
            yield Difference(table.BEHAVIOURS["loaded_tensors"], node, None, node.attr + "s")


def may_be_input_layer(finder: Finder, node: ast.AST) -> bool:
    """Whether a layer is the first one of a model that may have an input layer, or any of them in turn."""
    if isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") == "layers":
        owner: Any = node.value
        return constant(node.slice) == 0 and finder.values.kind(owner.value) != SEQUENTIAL
    is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    return is_read and finder.values.kind(node) == LAYER


def may_have_several(finder: Finder, node: ast.AST, what: str) -> bool:
    """Whether a layer may be an input layer, or one of several inputs, whose shapes are in a list.

    Args:
      finder: The file.
      node: The layer.
      what: "input" or "output".
    """
    owners = finder.class_of(node, finder.values.kind(node))
    if owners:
        return what == "input" and owners[0].rpartition(".")[2] in _OF_SEVERAL
    return may_be_input_layer(finder, node)


_OF_SEVERAL = frozenset(
    ("Add", "Average", "Concatenate", "Dot", "Maximum", "Minimum", "Multiply", "Subtract")
)


def _models(node: ast.ClassDef) -> Iterator[Difference]:
    """Where a callback takes its model itself, of which Keras 3 has a property alone."""
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or not method.args.args:
            continue
        name = f"{method.args.args[0].arg}.model"
        for inside in _own(method):
            targets = inside.targets if isinstance(inside, ast.Assign) else []
            parts = (part for target in targets for part in walk(target))
            if any(key(one) == name and isinstance(one.ctx, ast.Store) for one in parts):  # type: ignore[attr-defined]
                yield Difference(table.BEHAVIOURS["callback_model"], inside, None, name)


def _states(node: ast.ClassDef) -> Iterator[Difference]:
    """Methods that a class of the script calls on itself and that Keras 3 removed."""
    own = {getattr(member, "name", "") for member in node.body}
    for inside in ast.walk(node):
        if isinstance(inside, ast.Attribute) and key(inside) in _STATES and inside.attr not in own:
            yield Difference(table.BEHAVIOURS["own_state"], inside, None, inside.attr)


_STATES = ("self.add_update", "self.add_metric")


def _schedules(finder: Finder, node: ast.ClassDef) -> Iterator[Difference]:
    """Where a schedule of the script reckons with the number of the step, which was a float up to 2.10."""
    bases = (below_keras(finder.values.used.get(id(base), "")) for base in node.bases)
    if "optimizers.schedules.LearningRateSchedule" not in bases:
        return
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or method.name != "__call__":
            continue
        name = method.args.args[1].arg if len(method.args.args) == 2 else ""
        inside = list(walk(method))
        as_it_is = [one for one in inside if _takes_integers(one)]
        converted = {id(part) for one in as_it_is for part in walk(one)}
        reads = [one for one in inside if isinstance(one, ast.Name) and one.id == name]
        if any(id(one) not in converted for one in reads) and not any(map(_is_stored, reads)):
            yield Difference(table.BEHAVIOURS["schedule_step"], method, None, name)


def _takes_integers(node: ast.AST) -> bool:
    """A cast, or what a float would not do for: an index, ``tf.gather``."""
    is_call = isinstance(node, ast.Call) and key(node.func).rpartition(".")[2] in _INTEGERS
    return is_call or isinstance(node, ast.Subscript)


_INTEGERS = ("cast", "to_float", "float", "gather", "convert_to_tensor", "saturate_cast")


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What a function has in it, without the functions in it: ``super()`` has another meaning there."""
    for child in children(node):
        if not isinstance(child, _FUNCTIONS):
            yield child
            yield from _own(child)
