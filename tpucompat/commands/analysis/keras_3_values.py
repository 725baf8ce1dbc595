"""Values that Keras 2 accepted or ignored, and that end a program with Keras 3."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes, keras_3_names
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_results import bests as bests
from tpucompat.commands.analysis.keras_3_results import number_methods
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import (
    MODELS,
    OPTIMIZER,
    TENSOR,
    VARIABLE,
    below_keras,
    key,
)
from tpucompat.commands.analysis.rules import of_calls
from tpucompat.names.used import Call, argument, constant, index_of, keyword, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

# Layer -> how many of its first arguments are sizes.
_SIZES = {"Dense": 1, "LSTM": 1, "GRU": 1, "SimpleRNN": 1, "RepeatVector": 1, "Embedding": 2}
_SIZE_WORDS = frozenset(("units", "n", "input_dim", "output_dim", "filters"))
#: Method -> the place of the targets.
_TARGETS = {".fit": 1, ".evaluate": 1, ".train_on_batch": 1, ".test_on_batch": 1}


@of_calls(".fit", ".train_on_batch")
def class_weight(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Class weights in anything but a dictionary were ignored."""
    weights = keyword(call.node, "class_weight")
    if not call.name.startswith((".fit", ".train_on_batch")) or weights is None:
        return
    for value in finder.values.values(weights) or [weights]:
        last = key(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""
        is_text = isinstance(constant(value), str)
        if is_text or isinstance(value, (ast.List, ast.Tuple)) or last == "compute_class_weight":
            yield Difference(table.BEHAVIOURS["class_weight"], weights, call.node)
            return


@of_calls(below=("layers.",))
def sizes(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Sizes of layers that are numbers of NumPy."""
    last = below.rpartition(".")[2]
    if not below.startswith("layers.") or last not in _SIZES:
        return
    given: list[ast.expr] = call.node.args[: _SIZES[last]]
    given += [word.value for word in call.node.keywords if word.arg in _SIZE_WORDS]
    for value in given:
        if any(_is_of_numpy(one) for one in finder.values.values(value) or [value]):
            yield Difference(table.BEHAVIOURS["numpy_size"], value, call.node)


def indices(finder: Finder, node: ast.Subscript) -> Iterator[Difference]:
    """``model.output[:, np.argmax(found)]``"""
    inner = index_of(node)
    if finder.values.kind(node.value) != TENSOR:
        return
    for index in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
        if any(_is_of_numpy(one) for one in finder.values.values(index) or [index]):
            yield Difference(table.BEHAVIOURS["numpy_size"], index)


def _is_of_numpy(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_of_numpy(node.left) or _is_of_numpy(node.right)
    return isinstance(node, ast.Call) and key(node.func).startswith(("np.", "numpy."))


@of_calls(*_TARGETS)
def targets(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``fit(x, {'name of the output': y})`` of a model with one output."""
    if call.name not in _TARGETS or key(getattr(call.node.func, "value", call.node)) in (
        finder.of_several_outputs()
    ):
        return
    given = argument(call.node, _TARGETS[call.name], "y")
    if given is None:
        return
    for value in finder.values.values(given) or [given]:
        if isinstance(value, ast.Dict) and len(value.keys) == 1 and value.keys[0] is not None:
            yield Difference(table.BEHAVIOURS["named_target"], value, call.node)


def mapped_targets(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """The same in a Dataset: ``from_tensor_slices((x, {'output': y}))``, ``map(f)``."""
    last = call.name.rpartition(".")[2]
    if last not in ("map", "from_tensor_slices", "from_tensors") or not call.node.args:
        return
    if not indexes.has_call(finder.names, *_TARGETS) or finder.trains_several:
        return
    for pair in _pairs(finder, call.node.args[0]) if last == "map" else call.node.args[:1]:
        second = pair.elts[1] if isinstance(pair, ast.Tuple) and len(pair.elts) > 1 else None
        names = second.keys if isinstance(second, ast.Dict) and len(second.keys) == 1 else [None]
        if names[0] is not None and constant(names[0]) not in _asked(finder):
            yield Difference(table.BEHAVIOURS["named_target"], second, call.node)


@indexes.once
def _asked(finder: Finder) -> set[Any]:
    """What stands in brackets; None for anything but a constant."""
    return {constant(index_of(one)) for one in indexes.nodes(finder, ast.Subscript)}


def _pairs(finder: Finder, function: ast.AST) -> list[ast.expr]:
    """What a function returns."""
    if isinstance(function, ast.Lambda):
        return [function.body]
    found = finder.names.functions.get(key(function))
    return indexes.returned(finder, found.node) if found is not None else []


def yielded_targets(finder: Finder, node: ast.FunctionDef) -> Iterator[Difference]:
    """The same in a generator."""
    if finder.trains_several:
        return
    for inside in walk(node):
        pair: Any = inside.value if isinstance(inside, (ast.Yield, ast.Return)) else None
        if isinstance(pair, ast.Name):
            pair = next(iter(finder.values.values(pair)), None)
        second = pair.elts[1] if isinstance(pair, ast.Tuple) and len(pair.elts) > 1 else None
        if second is None:
            continue
        for value in finder.values.values(second) or [second]:
            if isinstance(value, ast.Dict) and len(value.keys) == 1 and value.keys[0] is not None:
                yield Difference(table.BEHAVIOURS["named_target"], value)


def dimensions(node: ast.Attribute, values: Any) -> Iterator[Difference]:
    """``x.shape[1].value``, and ``input_shape.as_list()`` in a layer."""
    if node.attr == "value" and isinstance(node.value, ast.Subscript):
        owner: Any = node.value.value
        last = getattr(owner, "attr", getattr(owner, "id", ""))
        if isinstance(owner, ast.Call):
            last = getattr(owner.func, "attr", "")
        if last.endswith("shape") or last == "dims":
            yield Difference(table.BEHAVIOURS["dimension"], node, None, "value")
    elif node.attr == "as_list" and isinstance(node.value, ast.Name):
        is_shape = node.value.id.endswith("shape") and not values.values(node.value)
        if is_shape:
            yield Difference(table.BEHAVIOURS["shape_list"], node, None, "as_list")


@of_calls(below=("backend.",))
def dim_ordering(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``K.image_dim_ordering()`` of Keras 1."""
    if below == "backend.image_dim_ordering" or (
        below == "backend.set_image_dim_ordering"
        and constant(argument(call.node, 0, "dim_ordering")) in ("tf", "th")
    ):
        yield Difference(table.BEHAVIOURS["dim_ordering"], call.node, call.node, below)


def config_keys(finder: Finder, node: ast.Subscript) -> Iterator[Difference]:
    """``optimizer.get_config()['lr']``"""
    text = index_of(node)
    owner: Any = node.value
    made = [owner] if isinstance(owner, ast.Call) else finder.values.values(owner)
    for one in made:
        function = getattr(one, "func", None)
        if getattr(function, "attr", "") == "get_config" and constant(text) == "lr":
            yield Difference(table.BEHAVIOURS["config_lr"], text, None, "learning_rate")
        of_optimizer = finder.values.kind(getattr(function, "value", owner)) == OPTIMIZER
        if getattr(function, "attr", "") == "get_config" and constant(text) == (
            "decay" if of_optimizer else "dtype"
        ):
            yield Difference(table.BEHAVIOURS["config_key"], text)
    if isinstance(owner, ast.Subscript) and constant(index_of(owner)) == "layers":
        sources = [owner.value, *finder.values.values(owner.value)]
        is_config = any(
            getattr(getattr(one, "func", None), "attr", "") == "get_config" for one in sources
        )
        place = constant(text)
        if is_config and isinstance(place, int) and place >= 0:
            yield Difference(table.BEHAVIOURS["config_layers"], node)
    parts = [inside for one in (owner, *made) for inside in walk(one)]
    of_config = any("config" in f"{constant(one)} {getattr(one, 'attr', '')}" for one in parts)
    if constant(text) == "batch_input_shape" and of_config and isinstance(node.ctx, ast.Load):
        yield Difference(table.BEHAVIOURS["config_key"], text)


@of_calls(".compile")
def closures(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Losses that use tensors of the model from around them."""
    if call.name != ".compile":
        return
    loss = argument(call.node, 1, "loss")
    function = finder.names.functions.get(getattr(loss, "id", ""))
    if loss is None or function is None:
        return
    own = {one.arg for one in walk(function.node) if isinstance(one, ast.arg)}
    for node in walk(function.node):
        is_free = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if is_free and node.id not in own and finder.values.kind(node) == "tensor":  # type: ignore[attr-defined]
            local = finder.values.scope(node)[-1] == id(function.node) and (
                (id(function.node), node.id) in finder.values.assigned  # type: ignore[attr-defined]
            )
            if not local:
                yield Difference(table.BEHAVIOURS["closure"], loss, call.node)
                return


@of_calls(".add_variable")
def add_variable(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``self.add_variable('name', shape)``, which took the name first."""
    owner = getattr(call.node.func, "value", None)
    is_of_layer = call.name == ".add_variable" and owner is not None and key(owner) == "self"
    if is_of_layer and len(call.node.args) <= len(PLACES):
        yield Difference(table.BEHAVIOURS["add_variable"], call.node, call.node)


#: The arguments of add_variable and add_weight by their places in Keras 2.
PLACES = ("name", "shape", "dtype", "initializer", "regularizer", "trainable", "constraint")


@of_calls(below=("layers.Lambda",))
def lambdas(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Functions of Lambda layers, in a program that makes models from files or configurations."""
    if below != "layers.Lambda" or not makes_from_config(finder):
        return
    function = argument(call.node, 0, "function")
    if isinstance(function, ast.Lambda) or finder.values.used.get(id(function)):
        layers = indexes.of_keras(finder.names)[below]
        name = f"lambda_{1 + layers[id(call.node)]}"
    elif isinstance(function, ast.Name) and function.id in finder.names.functions:
        name = function.id
    else:
        return
    yield Difference(table.BEHAVIOURS["lambda_layer"], function, call.node, name)


_MAKES_FROM_CONFIG = frozenset(
    ("load_model", "model_from_json", "model_from_config", "from_config")
)


def makes_from_config(finder: Finder) -> bool:
    """Whether a program makes models from files or configurations."""
    return any(
        one.rpartition(".")[2] in _MAKES_FROM_CONFIG for one in indexes.called_names(finder.names)
    )


@of_calls(below=("layers.BatchNormalization",))
def image_statistics(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """The moving variance of images, at the first layer that has one."""
    of_keras = indexes.of_keras(finder.names)
    if below != "layers.BatchNormalization" or not any(
        one.startswith("layers.Conv2D") for one in of_keras
    ):
        return
    if not of_keras[below][id(call.node)] and constant(keyword(call.node, "fused")) is not False:
        yield Difference(table.BEHAVIOURS["image_statistics"], call.node, call.node)


@of_calls(".build")
def built(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``build`` of a model of the script's own class, which builds none of its layers."""
    owner = getattr(call.node.func, "value", None)
    if call.name != ".build" or owner is None:
        return
    for node in _own_models(finder, owner):
        if not any(getattr(member, "name", "") == "build" for member in node.body):
            yield Difference(table.BEHAVIOURS["built"], call.node, call.node)


def _own_models(finder: Finder, owner: ast.AST) -> list[ast.ClassDef]:
    """The classes of the script that extend Model, of what is assigned to a name."""
    made = {key(one.func) for one in finder.values.values(owner) if isinstance(one, ast.Call)}
    found = indexes.classes(finder, made)
    return [node for node in found if finder.values.own_class(node.name) in MODELS]


@of_calls(".load_weights")
def unbuilt(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``load_weights`` of a model of the script's own class that nothing has called before."""
    owner = getattr(call.node.func, "value", None)
    if call.name != ".load_weights" or owner is None or finder.tf1:
        return
    for node in _own_models(finder, owner):
        first = _first_used(finder).get(key(owner), call.node.lineno)
        if not _builds(finder, node) and first >= call.node.lineno:
            yield Difference(table.BEHAVIOURS["unbuilt"], call.node, call.node)


@indexes.once
def _builds(finder: Finder, made: ast.ClassDef) -> bool:
    """Whether a class builds its layers itself, or is made of inputs."""
    return any(
        getattr(one, "attr", "") == "build"
        or (isinstance(one, ast.Call) and one.args and getattr(one.func, "attr", "") == "__init__")
        for one in walk(made)
    )


@indexes.once
def _first_used(finder: Finder) -> dict[str, int]:
    """What is called, or has a method that is, which may build it -> the first line of such a call."""
    found: dict[str, int] = {}
    for node in indexes.nodes(finder, ast.Call):
        if getattr(node.func, "attr", "") not in ("compile", "load_weights"):
            name = key(getattr(node.func, "value", node.func))
            found[name] = min(node.lineno, found.get(name, node.lineno))
    return found


@indexes.once
def _trained_on(finder: Finder) -> set[str]:
    """Names of functions whose batches have targets."""
    given = [
        one.node.args[0] for one in finder.names.calls if one.name in _TRAINS and one.node.args
    ]
    return {
        key(getattr(made, "func", made))
        for value in given
        for made in [value, *finder.values.values(value)]
    }


_TRAINS = (".fit", ".fit_generator", ".evaluate", ".evaluate_generator")


@of_calls(".predict")
def yielded_inputs(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """What a generator yields for ``predict`` that is not a tuple."""
    given = argument(call.node, 0, "generator" if call.name == ".predict_generator" else "x")
    if call.name not in (".predict", ".predict_generator") or given is None:
        return
    for value in finder.values.values(given) or [given]:
        made: list[Any] = []
        if isinstance(value, ast.GeneratorExp):
            made = [value.elt]
        elif isinstance(value, ast.Call) and key(value.func) in finder.names.functions:
            if key(value.func) in _trained_on(finder):  # which yields tuples
                continue
            made = _yielded(finder, finder.names.functions[key(value.func)].node)
        for one in made:
            parts = finder.values.values(one) if isinstance(one, ast.Name) else [one]
            if isinstance(one, (ast.Name, ast.Subscript, ast.BinOp)) and not any(
                isinstance(part, (ast.Tuple, ast.List)) for part in parts
            ):
                yield Difference(table.BEHAVIOURS["yielded_inputs"], one, call.node)


@indexes.once
def _yielded(finder: Finder, function: ast.AST) -> list[Any]:
    return [one.value for one in walk(function) if isinstance(one, ast.Yield)]


@of_calls("random.seed")
def python_random(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``random.seed(1)`` in a program that draws from ``random``, and makes layers."""
    if call.name != "random.seed":
        return
    names = indexes.called_names(finder.names)
    draws = any(one.startswith("random.") and one != call.name for one in names)
    if draws and any(below_keras(one).startswith("layers.") for one in names):
        yield Difference(table.BEHAVIOURS["python_random"], call.node, call.node)


def compiles(call: ast.Call) -> bool:
    """Whether ``load_model`` compiles what it loads."""
    last = getattr(call.func, "attr", getattr(call.func, "id", ""))
    loads = last in ("load_model", "from_keras_model_file")
    return loads and constant(keyword(call, "compile")) is not False


@of_calls(".add_weight", ".get_layer", below=("",))
def slashes(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``Dense(8, name='block/dense')``, and ``get_layer`` of that name."""
    named = below.startswith("layers.") or below in ("Model", "Sequential", "Input")
    name = keyword(call.node, "name") if named or call.name == ".add_weight" else None
    if call.name == ".get_layer":
        name = argument(call.node, 0, "name")
    with_slash = (
        [one for one in _texts(finder, name) if "/" in constant(one)] if name is not None else []
    )
    for node in with_slash:
        row = table.BEHAVIOURS["slash"]
        if _loads_by_name(finder):
            row = row._replace(how="")  # a file has the names
        yield Difference(row, node, call.node)


@indexes.once
def _loads_by_name(finder: Finder) -> bool:
    return any(constant(keyword(one.node, "by_name")) is True for one in finder.names.calls)


_TAKE_INPUTS = frozenset(
    f".{name}" for name in ("fit", "predict", "evaluate", "train_on_batch", "predict_on_batch")
)


@of_calls(".get_layer", *_TAKE_INPUTS)
def default_names(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Names that Keras 2 gave inputs and models itself: ``get_layer('input_1')``, ``fit({'input_1': x})``."""
    asked: list[ast.AST] = []
    if call.name == ".get_layer":
        asked = [argument(call.node, 0, "name") or call.node]
    elif call.name in _TAKE_INPUTS:
        first: Any = argument(call.node, 0, "x")
        given = finder.values.values(first) if isinstance(first, ast.Name) else [first]
        asked = [word for one in given if isinstance(one, ast.Dict) for word in one.keys if word]
    for node in asked:
        text = constant(node)
        if not isinstance(text, str) or not keras_3_names.DEFAULT_NAME.match(text):
            continue
        word = text.partition("_")[0]
        is_made = word in keras_3_names.unnamed_words(finder)
        if not is_made and not _gives_name(finder, text):
            yield Difference(table.BEHAVIOURS["default_name"], node, call.node)


@of_calls(below=("metrics.",))
def metric_names(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """The only metric whose default name has changed."""
    if below == "metrics.KLDivergence" and argument(call.node, 0, "name") is None:
        yield Difference(table.BEHAVIOURS["kl_divergence"], call.node, call.node)


def _gives_name(finder: Finder, name: str) -> bool:
    """Whether the script gives a name, or a function that migrate has written does."""
    given, made = _names_given(finder)
    return name in given or name.partition("_")[0] in made


@indexes.once
def _names_given(finder: Finder) -> tuple[set[Any], set[Any]]:
    """The names that the calls of a script give, and the words of those that ``next_name`` makes."""
    words = [keyword(one.node, "name") for one in finder.names.calls]
    made = [one for one in words if isinstance(one, ast.Call) and key(one.func) == "next_name"]
    return set(map(constant, words)), {constant(one.args[0]) for one in made if one.args}


def _texts(finder: Finder, node: ast.AST, depth: int = 3) -> Iterator[ast.Constant]:
    """The texts that an expression is made of, as far as assignments and calls tell."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part
        elif isinstance(part, ast.Name) and depth:
            for value in [*finder.values.values(part), *finder.values.given(part)]:
                yield from _texts(finder, value, depth - 1)


@of_calls(below=("",))
def tensors_of_inputs(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``Input(tensor=…)`` of a tensor of TensorFlow."""
    tensor = keyword(call.node, "tensor") if below.rpartition(".")[2] == "Input" else None
    if tensor is None or isinstance(tensor, ast.Constant):
        return
    if finder.values.kind(tensor) != TENSOR:
        yield Difference(table.BEHAVIOURS["input_tensor"], tensor, call.node)


@of_calls("tensorflow.")
def lite_files(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Converters of TensorFlow Lite that read a file of Keras 2."""
    if call.name.startswith("tensorflow.") and call.name.endswith(".from_keras_model_file"):
        yield Difference(table.BEHAVIOURS["lite_file"], call.node, call.node)


#: What :mod:`tpucompat.commands.analysis.keras_3` asks of each call.
@of_calls(below=("backend.",))
def variables(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``K.mean(layer.kernel)``: these functions of Keras' backend take tensors only."""
    if below.startswith("backend.") and below[len("backend.") :] in TAKE_TENSORS:
        value = argument(call.node, 0, "x")
        if value is not None and finder.values.kind(value) == VARIABLE:
            yield Difference(table.BEHAVIOURS["backend_variable"], value, call.node)


#: Functions of Keras' backend that ask for more of a type than its name, which variables of Keras 3 have.
TAKE_TENSORS = frozenset(("dtype", "mean", "std", "var"))
RULES = (
    variables,
    number_methods,
    built,
    unbuilt,
    python_random,
    yielded_inputs,
    class_weight,
    sizes,
    targets,
    mapped_targets,
    dim_ordering,
    closures,
    add_variable,
    lambdas,
    image_statistics,
    slashes,
    default_names,
    metric_names,
    tensors_of_inputs,
    lite_files,
)
