"""Cross entropies and accuracies that Keras 3 computes from something else than Keras 2 did.

Keras 2 took the input of the last activation only where the loss belongs to it (softmax and categorical,
sigmoid and binary) and, in TensorFlow 1, only where a softmax is of no more than two axes. Keras 3 takes it for
every cross entropy. TensorFlow 1 chose ``accuracy`` by the loss.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes, keras_3_axes, keras_3_unseen
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import (
    COSINES,
    METRIC_OBJECTS,
    Difference,
    has_several,
    parts,
)
from tpucompat.commands.analysis.keras_3_texts import leaves
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.used import Call, argument, constant, keyword, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

_BINARY, _CATEGORICAL = "binary_crossentropy", "categorical_crossentropy"
_KINDS = {
    **dict.fromkeys((_BINARY, "BinaryCrossentropy"), "sigmoid"),
    **dict.fromkeys((_CATEGORICAL, "CategoricalCrossentropy"), "softmax"),
    **dict.fromkeys(("sparse_" + _CATEGORICAL, "SparseCategoricalCrossentropy"), "softmax"),
}
_OF_CLASSES = frozenset((_CATEGORICAL, "CategoricalCrossentropy"))
_ACTIVATIONS = frozenset(_KINDS.values())
#: The cross entropies by their texts.
CROSSENTROPIES = frozenset(name for name in _KINDS if name.islower())
#: An activation that the script alone does not tell.
UNSEEN = "?"


def crossentropies(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Losses that do not belong to the activation of the output that they are of."""
    if call.name != ".compile":
        return
    for loss, layer in _outputs(finder, call.node):
        name = _name(finder, loss)
        wanted = _KINDS.get(name, "")
        given = _activation(finder, layer) if layer is not None else ""
        of_steps = wanted == given and name in _OF_CLASSES and finder.tf1 and layer is not None
        if of_steps and (keras_3_axes.of_output(finder, layer) or 0) < 3:  # type: ignore[arg-type]
            of_steps = False
        if wanted and given and (given != wanted or of_steps):
            row = table.BEHAVIOURS["crossentropy_of_steps" if of_steps else "crossentropy"]
            if isinstance(loss, ast.Call):
                row = row._replace(how="")
            yield Difference(row, loss, call.node, _name(finder, loss))
    yield from _metric_crossentropies(finder, call)


def of_several_activations(finder: Finder, call: Call, loss: ast.AST) -> set[str]:
    """The cross entropies that a loss may be, where loss or activation is one of several.

    Only those of an output that may have another activation than theirs.
    """
    layers = [layer for one, layer in _outputs(finder, call.node) if one is loss and layer]
    given = {word for layer in layers for word in _activations(finder, layer)}
    if not given or (_name(finder, loss) and (UNSEEN not in given and len(given) == 1)):
        return set()
    of_steps = finder.tf1 and any((keras_3_axes.of_output(finder, one) or 0) > 2 for one in layers)
    words = _texts(finder, loss)
    return {one for one in words if given != {_KINDS[one]} or (of_steps and one in _OF_CLASSES)}


def _texts(finder: Finder, loss: ast.AST) -> set[str]:
    """The cross entropies that a loss may be by a text, whether it is seen or not."""
    seen = {constant(one) for one in leaves(finder, loss)} & CROSSENTROPIES
    return seen | keras_3_unseen.words(finder, loss, CROSSENTROPIES, CROSSENTROPIES)


#: Functions that compute something else -> their rows.
_FUNCTIONS = {
    **dict.fromkeys(("activations.hard_sigmoid", "backend.hard_sigmoid"), "hard_sigmoid_function"),
    **{f"losses.{name}": "cosine" for name in (*COSINES, "CosineSimilarity")},
    **{f"metrics.{name}": "cosine" for name in COSINES},
}


def functions(finder: Finder) -> Iterator[Difference]:
    """Functions of Keras that compute something else, wherever they are used."""
    for use in finder.names.uses:
        behaviour = _FUNCTIONS.get(below_keras(use.name), "")
        if use.statement is None and behaviour:
            row = table.BEHAVIOURS[behaviour]
            if use.name.endswith("CosineSimilarity"):  # an object
                row = row._replace(how="")
            yield Difference(row, use.node, None, use.name)


def _metric_crossentropies(finder: Finder, call: Call) -> Iterator[Difference]:
    """The same of metrics, of a model with one output."""
    outputs = list(_outputs(finder, call.node))
    layer = outputs[0][1] if len(outputs) == 1 else None
    given = _activation(finder, layer) if layer is not None else ""
    for metric in parts(argument(call.node, 2, "metrics")):
        name = constant(metric)
        if given and isinstance(name, str) and _KINDS.get(name, given) != given:
            yield Difference(table.BEHAVIOURS["crossentropy"], metric, call.node, f"metrics.{name}")


def accuracy(finder: Finder, call: Call, text: ast.AST) -> table.Row | None:
    """What becomes of ``accuracy`` that was one of each unit, by the loss of its output."""
    if not finder.tf1:
        return None
    row = table.BEHAVIOURS["binary_accuracy"]
    outputs = list(_outputs(finder, call.node))
    metrics = argument(call.node, 2, "metrics")
    if isinstance(metrics, ast.Dict):
        names = [
            constant(name)
            for name, value in zip(metrics.keys, metrics.values)
            if any(one is text for one in walk(value))
        ]
        outputs = [one for one in outputs if constant(_keyword(one[1], "name")) in names]
    elif len(outputs) > 1 or has_several(finder, call):
        row = row._replace(how="")
    if any(_is_binary(finder, *one) for one in outputs):
        return row
    if any(_may_be_binary(finder, *one) for one in outputs):
        is_inside = any(one is text for one in walk(call.node))
        loss = argument(call.node, 1, "loss")
        is_named = isinstance(loss, (ast.Name, ast.Attribute, ast.Subscript))
        by_loss = table.BEHAVIOURS["accuracy_of_loss"]
        return by_loss if row.how and is_inside and is_named else by_loss._replace(how="")
    return None


def _may_be_binary(finder: Finder, loss: ast.AST, layer: ast.Call | None) -> bool:
    """Whether a loss is one of several, one of them that of units that are true or false."""
    units = {_units(layer)} - {1} if layer is not None else _has_other_units(finder)
    return bool(units and not _name(finder, loss) and _BINARY in _texts(finder, loss))


#: Metrics of Keras 3 that put a row of targets beside a column of predictions, as they are -> whether they are
#: of one unit only; found by computing every metric of both Keras with such targets.
_UNALIGNED = {
    **dict.fromkeys(("hinge", "squared_hinge", "poisson", _BINARY), False),
    **dict.fromkeys(("categorical_hinge", _CATEGORICAL, "categorical_accuracy"), True),
}
#: The same of objects.
_UNALIGNED_OBJECTS = {
    **dict.fromkeys(("Hinge", "SquaredHinge", "Poisson", "BinaryCrossentropy"), False),
    **dict.fromkeys(("CategoricalHinge", "CategoricalCrossentropy", "CategoricalAccuracy"), True),
    **dict.fromkeys(("KLDivergence", "TopKCategoricalAccuracy"), True),
}


def unaligned(finder: Finder, call: Call, metric: ast.AST) -> Difference | None:
    """A metric that Keras 2 gave targets and predictions of the same axes."""
    made = finder.values.values(metric) or [metric]
    is_object = isinstance(made[0], ast.Call)
    name = _name(finder, made[0] if is_object else metric)
    word = METRIC_OBJECTS.get(name, "")
    known = _UNALIGNED_OBJECTS if is_object or word else _UNALIGNED
    kind = word.partition("(")[0] or name
    if kind not in known:
        return None
    layers = [layer for _, layer in _outputs(finder, call.node) if layer is not None]
    units = {_units(layer) for layer in layers}
    if units == {1} or (not known[kind] and (not layers or units & {1, None})):
        row = table.BEHAVIOURS["unaligned_object" if is_object or word else "unaligned"]
        return Difference(row, metric, call.node, word or name)
    return None


def _keyword(layer: ast.Call | None, name: str) -> ast.expr | None:
    return keyword(layer, name) if layer is not None else None


def _is_binary(finder: Finder, loss: ast.AST, layer: ast.Call | None) -> bool:
    """Whether a loss is that of several units, each of them true or false."""
    texts = {constant(one) for one in leaves(finder, loss)}
    if texts != {_BINARY} and _name(finder, loss) not in (_BINARY, "BinaryCrossentropy"):
        return False
    if layer is not None:
        return _units(layer) != 1
    return _has_other_units(finder)


@indexes.once
def _has_other_units(finder: Finder) -> bool:
    """Whether a layer with one of these activations has more or fewer units than one."""
    layers = (one.node for one in finder.names.calls if _activation(finder, one.node))
    return any(_units(one) != 1 for one in layers)


def _outputs(finder: Finder, compiled: ast.Call) -> Iterator[tuple[ast.AST, ast.Call | None]]:
    """The loss of each output of a model, and the layer that makes it, where one sees it."""
    loss = argument(compiled, 1, "loss")
    layers = list(_last_layers(finder, compiled))
    if isinstance(loss, ast.Dict):
        named = {constant(keyword(layer, "name")): layer for layer in layers}
        for name, one in zip(loss.keys, loss.values):
            yield one, named.get(constant(name))
    elif isinstance(loss, (ast.List, ast.Tuple)):
        known: list[Any] = layers if len(layers) == len(loss.elts) else [None] * len(loss.elts)
        yield from zip(loss.elts, known)
    elif loss is not None:
        for layer in layers or [None]:  # type: ignore[list-item]
            yield loss, layer


def _name(finder: Finder, loss: ast.AST) -> str:
    """``binary_crossentropy``, of a text, a function or an object; "" for anything else."""
    if isinstance(constant(loss), str):
        return str(constant(loss))
    if isinstance(loss, ast.Call):
        name = finder.values.called.get(id(loss), "")
    else:
        name = finder.values.used.get(id(loss), "")
    return name.rpartition(".")[2] if below_keras(name) else ""


def _units(layer: ast.Call) -> object:
    return constant(argument(layer, 0, "units"))


def _activation(finder: Finder, layer: ast.Call) -> str:
    """``softmax`` or ``sigmoid``, as far as Keras 3 knows what they were given; else ""."""
    found = _activations(finder, layer)
    return found.pop() if len(found) == 1 and UNSEEN not in found else ""


def _activations(finder: Finder, layer: ast.Call) -> set[str]:
    """Which of the two a layer may have; `UNSEEN` where the script alone does not tell."""
    below = below_keras(finder.values.called.get(id(layer), ""))
    if below == "layers.Softmax":
        return {"softmax"}
    value: Any = keyword(layer, "activation")
    if below == "layers.Activation":
        value = argument(layer, 0, "activation")
    elif below == "layers.Dense" and value is None:
        value = argument(layer, 1, "activation")
    if value is None or not below.startswith("layers."):
        return set()
    return {_word(finder, one) for one in leaves(finder, value)} & {*_ACTIVATIONS, UNSEEN}


def _word(finder: Finder, activation: ast.AST) -> str:
    if isinstance(activation, ast.Constant):
        return str(activation.value)
    name = finder.values.used.get(id(activation), "")
    head, _, word = below_keras(name).rpartition(".")
    if head == "activations":
        return word
    return "" if name or isinstance(activation, (ast.Call, ast.Lambda)) else UNSEEN


def _last_layers(finder: Finder, compiled: ast.Call) -> Iterator[ast.Call]:
    """The layers that make the outputs of the model that is compiled, where one sees them."""
    model: Any = getattr(compiled.func, "value", None)
    if model is not None:
        yield from _layers_of(finder, model, compiled, 3)


def _layers_of(finder: Finder, model: ast.expr, user: ast.AST, depth: int) -> Iterator[ast.Call]:
    values = finder.values
    added = reversed(_added(finder).get((values.scope(model), key(model)), ()))
    here = keras_3_axes.place(finder, user)
    made: Any = model if isinstance(model, ast.Call) else keras_3_axes.newest(finder, model, user)
    before = (one for one in added if keras_3_axes.place(finder, one) <= here)
    newest: ast.Call | None = next(before, None)
    is_made_anew = (
        newest is not None
        and made is not None
        and keras_3_axes.place(finder, newest) < keras_3_axes.place(finder, made) <= here
    )
    if newest is not None and not is_made_anew:
        if newest.args and isinstance(newest.args[0], ast.Call):
            yield newest.args[0]
        return
    if not isinstance(made, ast.Call) or not depth:
        return
    below = below_keras(values.called.get(id(made), ""))
    function = finder.names.functions.get(key(made.func).rpartition(".")[2])
    if below == "Sequential":
        layers = argument(made, 0, "layers")
        if isinstance(layers, ast.List) and layers.elts and isinstance(layers.elts[-1], ast.Call):
            yield layers.elts[-1]
    elif below == "Model":
        outputs = argument(made, 1, "outputs") or keyword(made, "output")
        several = outputs.elts if isinstance(outputs, (ast.List, ast.Tuple)) else [outputs]
        for one in several:
            last = keras_3_axes.newest(finder, one, made) if isinstance(one, ast.Name) else one
            layer = keras_3_axes.made_layer(finder, last) if last is not None else None
            if layer is not None:
                yield layer
    elif below.endswith((".model_from_json", ".model_from_yaml")):
        for written in _written(finder):
            yield from _layers_of(finder, written, user, depth - 1)
    elif values.called.get(id(made), "").endswith((".keras_to_tpu_model", ".clone_model")):
        if made.args:
            yield from _layers_of(finder, made.args[0], user, depth - 1)
    elif function is not None:
        for inside in _returns(finder, function.node):
            yield from _layers_of(finder, inside.value, inside, depth - 1)


@indexes.once
def _added(finder: Finder) -> dict[tuple[tuple[int, ...], str], list[ast.Call]]:
    """(scopes, model) -> the calls of its ``add``, in the order of the file."""
    found: dict[tuple[tuple[int, ...], str], list[ast.Call]] = {}
    for call in indexes.calls(finder.names, ".add"):
        place = finder.values.scope(call.node), key(call.node.func.value)  # type: ignore[attr-defined]
        found.setdefault(place, []).append(call.node)
    return found


@indexes.once
def _written(finder: Finder) -> list[Any]:
    """The models whose structure is written down."""
    calls = (call for call in finder.names.calls if call.name in (".to_json", ".to_yaml"))
    return [call.node.func.value for call in calls]


@indexes.once
def _returns(finder: Finder, function: ast.AST) -> list[Any]:
    return [one for one in walk(function) if isinstance(one, ast.Return) and one.value is not None]
