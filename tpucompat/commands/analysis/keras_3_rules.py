"""Differences of Keras 3 that no signature shows: each rule looks at one call of a script."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple

from tpucompat.commands.analysis import indexes, keras_3_models, keras_values
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rows import Row
from tpucompat.commands.analysis.keras_3_texts import leaves
from tpucompat.commands.analysis.keras_values import key
from tpucompat.commands.analysis.rules import of_calls
from tpucompat.names import standalone_keras
from tpucompat.names.used import Call, argument, constant, index_of, keyword, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder


class Difference(NamedTuple):
    """One place in a script, and the row that it falls under.

    Attributes:
      row: What becomes of it.
      node: Where it stands: a call, an attribute, a text.
      call: The call that it is about, or None.
      name: The argument, the member, or what else the rewriting wants to know.
      owner: Whose it is, as in the list: ``Model.fit``, ``layers.Dense``.
      guarded: Whether the program is written to go on without it.
      uncertain: Whether the script may well do what Keras 3 wants: it says nothing of the file's name.
    """

    row: Row
    node: Any
    call: ast.Call | None = None
    name: str = ""
    owner: str = ""
    guarded: bool = False
    uncertain: bool = False


_NAMES_OF_METRICS = {  # what TensorFlow 1 called them in logs -> what a script may call them
    "acc": ("accuracy",),
    "mean_squared_error": ("mse", "MSE"),
    "mean_absolute_error": ("mae", "MAE"),
    "mean_absolute_percentage_error": ("mape", "MAPE"),
    "mean_squared_logarithmic_error": ("msle", "MSLE"),
}
METRICS = {name: long for long, names in _NAMES_OF_METRICS.items() for name in names}
#: Losses that Keras 3 knows by another text.
LOSSES = {
    "logcosh": "log_cosh",
    "kullback_leibler_divergence": "kl_divergence",
    "huber_loss": "huber",
}
#: The loss whose sign has changed, as a text and as a function.
COSINES = frozenset(("cosine_proximity", "cosine_similarity"))
#: Metrics that Keras 3 does not know by a text, or logs under that text -> the object of their Keras 2 name.
METRIC_WORDS = {
    **{
        name: f"{name}()"
        for name in (
            *("AUC", "Accuracy", "BinaryAccuracy", "BinaryCrossentropy", "CategoricalAccuracy"),
            *("CategoricalCrossentropy", "CategoricalHinge", "CosineSimilarity", "FalseNegatives"),
            *("FalsePositives", "Hinge", "MeanAbsoluteError", "MeanAbsolutePercentageError"),
            *("MeanSquaredError", "MeanSquaredLogarithmicError", "Poisson", "Precision", "Recall"),
            *("RootMeanSquaredError", "SparseCategoricalAccuracy", "SparseCategoricalCrossentropy"),
            *("SparseTopKCategoricalAccuracy", "SquaredHinge", "TopKCategoricalAccuracy"),
            *("TrueNegatives", "TruePositives"),
        )
    },
    **dict.fromkeys(
        ("KLDivergence", "kullback_leibler_divergence"),
        "KLDivergence('kullback_leibler_divergence')",
    ),
    **dict.fromkeys(("LogCoshError", "logcosh"), "LogCoshError('logcosh')"),
    "log_cosh": "LogCoshError('log_cosh')",
    "cosine_proximity": "CosineSimilarity('cosine_proximity')",
}
#: The same of TensorFlow 1 alone, which logged short words under long names.
METRIC_OBJECTS = {
    **METRIC_WORDS,
    **dict.fromkeys(("kld", "KLD"), METRIC_WORDS["kullback_leibler_divergence"]),
    "cosine_similarity": METRIC_WORDS["cosine_proximity"],
}
#: Functions that migrate writes around others, and for losses.
WRAPPERS = frozenset(
    (
        *("in_order", "with_columns", "of_columns", "of_probabilities"),
        *("binary_crossentropy_of_probabilities", "without_padding", "cosine_of_angle"),
        *("logging_lr", "as_compiled", "by_line", "EpochsOf", "StepsOf", "first_of", "of_any_size"),
        *("loss_of", "metric_of", "crossentropy_by_activation", "accuracy_of"),
        *("activation_of", "constraint_of", "initializer_of", "by_rows"),
        *("optimizer_of", "optimizer_with", "with_outer_epsilon"),
    )
)


@of_calls(below=("",))
def _hard_sigmoid(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    last = below.rpartition(".")[2]
    row = table.BEHAVIOURS["hard_sigmoid"]
    if last in ("CuDNNLSTM", "CuDNNGRU"):
        yield Difference(table.BEHAVIOURS["cudnn"], call.node, call.node, last)
    if finder.tf1 and last in ("LSTM", "GRU", "LSTMCell", "GRUCell", "ConvLSTM2D"):
        starred = any(word.arg is None for word in call.node.keywords)
        if keyword(call.node, "recurrent_activation") is None and len(call.node.args) < 3:
            how = row._replace(how="") if starred else row
            yield Difference(how, call.node, call.node, "default")


@of_calls(".fit", ".evaluate", ".predict")
def _steps(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    if call.name not in (
        ".fit",
        ".fit_generator",
        ".evaluate",
        ".predict",
        ".evaluate_generator",
        ".predict_generator",
    ):
        return
    for word in call.node.keywords:
        if word.arg in ("steps_per_epoch", "validation_steps", "steps") and _is_float(
            finder, word.value
        ):
            yield Difference(table.BEHAVIOURS["steps"], word.value, call.node, word.arg)
    if call.name.endswith("_generator"):
        for value in call.node.args[1:2]:
            if _is_float(finder, value):
                yield Difference(table.BEHAVIOURS["steps"], value, call.node, "")


def _is_float(finder: Finder, node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Div):
            return True
        return _is_float(finder, node.left) or _is_float(finder, node.right)
    if isinstance(node, ast.Name):
        return any(_is_float(finder, one) for one in finder.values.values(node) if one is not node)
    if (
        isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") in ("ceil", "floor")
        and key(node.func) != "math.ceil"
        and key(node.func) != "math.floor"
    ):
        return True  # numpy gives a float
    return isinstance(constant(node), float)


@of_calls(".fit", ".evaluate", ".predict")
def _data(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """What is given to fit instead of a Dataset."""
    if call.name not in (".fit", ".evaluate", ".predict"):
        return
    values = finder.values
    first = argument(call.node, 0, "x")
    for node in (*_branches(first), *_branches(keyword(call.node, "validation_data"))):
        kind = values.kind(node)
        functions = [is_function(finder, one) for one in values.values(node) or [node]]
        if any(functions):
            # In one branch a function, for a TPU, and in the other the Dataset itself.
            name = "" if all(functions) else "callable"
            yield Difference(table.BEHAVIOURS["fit_function"], node, call.node, name)
        elif kind == keras_values.ITERATOR:
            yield Difference(table.BEHAVIOURS["fit_iterator"], node, call.node)
        elif kind == keras_values.BATCH:
            yield Difference(table.BEHAVIOURS["fit_batch"], node, call.node)


def _branches(node: ast.expr | None) -> list[ast.expr]:
    """An expression, or both results of a conditional one; none of None."""
    if isinstance(node, ast.IfExp) and key(getattr(node.test, "func", node)) != "callable":
        return _branches(node.body) + _branches(node.orelse)
    return [] if node is None else [node]


@of_calls(".predict")
def _vectors(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``predict(outputs[-1])``: a first input of the script's, and then what the script made of outputs."""
    if call.name not in (".predict", ".predict_on_batch"):
        return
    given = argument(call.node, 0, "x")
    grown = _grown(finder)
    for one in (finder.values.values(given) or [given]) if given is not None else ():
        if isinstance(one, ast.Subscript) and key(one.value) in grown and _is_last(one):
            yield Difference(table.BEHAVIOURS["vector"], given, call.node)
            return


@indexes.once
def _grown(finder: Finder) -> set[str]:
    """The lists that something is appended to."""
    calls = (one.node.func for one in indexes.calls(finder.names, ".append"))
    return {key(one.value) for one in calls if isinstance(one, ast.Attribute)} - {""}


def _is_last(node: ast.Subscript) -> bool:
    index = index_of(node)
    return isinstance(index, ast.UnaryOp) and constant(index.operand) == 1


def is_function(finder: Finder, node: ast.AST) -> bool:
    """A function of the script, a lambda, or ``functools.partial(input_fn, batch)``.

    One that requires arguments is that of an Estimator, which gives it ``params``.
    A generator does not return a Dataset.
    """
    name = key(node)
    function = finder.names.functions.get(
        name[len("self.") :] if name.startswith("self.") else name
    )
    if function is not None:
        return (
            not finder.values.kind(node)
            and not getattr(function.node, "decorator_list", None)  # a property, for example
            and _requires_nothing(function.node)
            and not _yields(finder, function.node)
        )
    if isinstance(node, ast.Call):
        return key(node.func).rpartition(".")[2] == "partial" or _returns_functions(finder, node)
    return isinstance(node, ast.Lambda) and _requires_nothing(node)


def _returns_functions(finder: Finder, call: ast.Call) -> bool:
    """Whether all that a function of the file returns are functions: ``fit(make_input_fn(8))``."""
    name = key(call.func)
    function = finder.names.functions.get(
        name[len("self.") :] if name.startswith("self.") else name
    )
    if function is None or _yields(finder, function.node):
        return False
    inner = [one for one in walk(function.node) if isinstance(one, _FUNCTIONS)][1:]
    below = {id(one) for made in inner for one in walk(made) if one is not made}
    own = [one for one in indexes.returned(finder, function.node) if id(one) not in below]
    return bool(own) and all(is_function(finder, one) for one in own)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _requires_nothing(function: Any) -> bool:
    arguments = function.args
    names = [*getattr(arguments, "posonlyargs", []), *arguments.args]
    taken = len(names) - (bool(names) and names[0].arg == "self")
    return taken <= len(arguments.defaults) and None not in arguments.kw_defaults


@of_calls(".fit")
def _validation(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    if call.name in (".fit", ".fit_generator"):
        place = 5 if call.name == ".fit_generator" else 7
        value = argument(call.node, place, "validation_data")
        if value is not None and is_generator(finder, value):
            yield Difference(
                table.BEHAVIOURS["validation_generator"], value, call.node, str(place + 1)
            )


def is_generator(finder: Finder, node: ast.AST) -> bool:
    """Whether an expression is what a function of the file yields."""
    if isinstance(node, ast.Name):
        return any(
            is_generator(finder, one) for one in finder.values.values(node) if one is not node
        )
    if not isinstance(node, ast.Call):
        return False
    function = finder.names.functions.get(key(node.func).rpartition(".")[2])
    return function is not None and _yields(finder, function.node)


@indexes.once
def _yields(finder: Finder, function: ast.AST) -> bool:
    return any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in walk(function))


@of_calls(".compile", below=("optimizers.",))
def _optimizers(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    if below == "optimizers.RMSprop":
        momentum = keyword(call.node, "momentum")
        if momentum is None or constant(momentum) == 0:
            yield Difference(table.BEHAVIOURS["rmsprop"], call.node, call.node, "RMSprop")
    given = [argument(call.node, place, word) for place, word in _SMALL]
    of_package = standalone_keras.is_of_package(call.name)  # whose accumulator starts with zero
    has_epsilon = given[-1] is None or constant(given[-1]) != 0
    if below == "optimizers.Adagrad" and has_epsilon and (any(given) or of_package):
        # else the accumulator is far above epsilon
        yield Difference(table.BEHAVIOURS["rmsprop"], call.node, call.node, "Adagrad")
    if below.startswith("optimizers.") and below != "optimizers.RMSprop":
        place = _EPSILON.get(below.rpartition(".")[2])
        epsilon = keyword(call.node, "epsilon")
        if place is not None:
            epsilon = argument(call.node, place, "epsilon")
        if isinstance(epsilon, ast.Constant) and epsilon.value is None:
            yield Difference(table.BEHAVIOURS["epsilon"], epsilon, call.node, "epsilon")
    if below == "optimizers.Nadam":
        yield Difference(table.BEHAVIOURS["nadam"], call.node, call.node)
    elif call.name == ".compile":
        value = argument(call.node, 0, "optimizer")
        word = str(constant(value)).lower()
        if value is not None and word == "nadam":
            yield Difference(table.BEHAVIOURS["nadam"], value, call.node)


#: Optimizer -> the place of ``epsilon``, where every Keras has it at the same one.
_EPSILON = {"Adadelta": 2, "Adam": 3, "Adamax": 3, "Nadam": 3}
_SMALL = ((1, "initial_accumulator_value"), (2, "epsilon"))


def _tensors(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Operations on tensors that stand for a model's inputs."""
    name = call.name
    if below == "backend.gradients" or name == "tensorflow.gradients":
        if below or finder.values.kind(call.node) == keras_values.TENSOR:
            yield Difference(table.BEHAVIOURS["gradients"], call.node, call.node)
        return
    is_operation = (
        name.startswith("tensorflow.") and not below and not name.startswith("tensorflow.data")
    ) or (below.startswith("backend.") and below not in _TAKE_TENSORS)
    if is_operation and any(
        finder.values.is_tensor(one)
        for one in (*call.node.args, *(word.value for word in call.node.keywords))
    ):
        yield Difference(table.BEHAVIOURS["tensor_operation"], call.node, call.node)
    if below in _FAIL and call.node.args and finder.values.is_tensor(call.node.args[0]):
        yield Difference(table.BEHAVIOURS["ndim"], call.node, call.node, below[8:])
    if name in (".add_loss", ".add_metric") and finder._is_model(call.node.func.value):  # type: ignore[attr-defined]
        yield Difference(table.BEHAVIOURS[name[1:]], call.node, call.node)


_FAIL = frozenset(("backend.ndim", "backend.dtype"))
_TAKE_TENSORS = _FAIL | {"backend.int_shape", "backend.function", "backend.is_keras_tensor"}


@of_calls(below=("backend.",))
def _backend(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    if below == "backend.set_value" and call.node.args:
        value = call.node.args[0]
        if isinstance(value, ast.Attribute) and value.attr in ("lr", "learning_rate"):
            yield Difference(table.BEHAVIOURS["set_value"], call.node, call.node)
        elif not finder.values.called.get(id(_only(finder, value))):
            yield Difference(table.BEHAVIOURS["set_variable"], call.node, call.node)
    elif below == "backend.batch_set_value":
        yield Difference(table.BEHAVIOURS["set_values"], call.node, call.node)
    elif below in ("backend.ones", "backend.zeros") and call.function is not None:
        yield Difference(table.BEHAVIOURS["constant"], call.node, call.node, below[8:])
    elif below == "backend.variable" and _is_a_call(call):
        yield Difference(table.BEHAVIOURS["variable"], call.node, call.node)
    elif below == "backend.ctc_decode" and id(call.node) not in finder.wrapped:
        if not any(finder.values.is_tensor(one) for one in call.node.args):
            yield Difference(table.BEHAVIOURS["ctc_decode"], call.node, call.node)
    elif below == "backend.function":
        yield Difference(table.BEHAVIOURS["function"], call.node, call.node)


def _only(finder: Finder, node: ast.AST) -> ast.AST:
    """What a name stands for, where it is one value: a variable that the script makes is TensorFlow's."""
    found = finder.values.values(node)
    return found[0] if len(found) == 1 else node


def _is_a_call(call: Call) -> bool:
    """Whether it stands in the ``call`` of a layer, which makes its tensors again each time."""
    return call.function is not None and getattr(call.function.node, "name", "") == "call"


def is_stateful(call: Call) -> bool:
    """Whether a layer keeps its state between batches."""
    return keyword(call.node, "stateful") is not None


@of_calls(below=("backend.",))
def _learning_phase(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """The training mode belonged to the graph, and is now an argument of each call of a model."""
    if below == "backend.set_learning_phase":
        phase = argument(call.node, 0, "value")
        names = indexes.called_names(finder.names)
        trains = any(one.startswith((".fit", ".train_on_batch")) for one in names)
        how = "learning_phase" if constant(phase) in (0, False) and not trains else ""
        row = table.BEHAVIOURS["learning_phase"]
        yield Difference(row._replace(how=how), call.node, call.node)


@of_calls(".fit")
def _weighted_validation(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    weights = keyword(call.node, "class_weight")
    split = keyword(call.node, "validation_split")
    if call.name != ".fit" or weights is None or split is None:
        return
    if not isinstance(weights, ast.Constant) and constant(split) not in (0, 0.0):
        yield Difference(table.BEHAVIOURS["weighted_validation"], call.node, call.node)


def trains_several(finder: Finder) -> bool:
    """Whether any model of a file is compiled with several outputs."""
    return any(has_several(finder, one) for one in indexes.calls(finder.names, ".compile"))


@of_calls(".evaluate", ".train_on_batch", ".test_on_batch")
def _order_of_values(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """The list of losses and metrics of a model with several outputs."""
    if call.name not in _GIVE_VALUES or id(call.node) in finder.wrapped:
        return
    word = keyword(call.node, "return_dict")
    owner = getattr(call.node.func, "value", None)
    if word is not None or owner is None:
        return
    if key(owner) in finder.of_several_outputs():
        yield Difference(table.BEHAVIOURS["order_of_values"], call.node, call.node)
    elif _repeats_any(finder):
        yield Difference(table.BEHAVIOURS["repeated_metric"], call.node, call.node)


@indexes.once
def _repeats_any(finder: Finder) -> bool:
    return any(_repeats(one.node) for one in indexes.calls(finder.names, ".compile"))


def _repeats(compiled: ast.Call) -> bool:
    """Whether a model has a metric of one name with weights and without."""
    plain, weighted = (
        {METRICS.get(name, name) for name in map(_metric_name, parts(argument(compiled, *place)))}
        for place in ((2, "metrics"), (5, "weighted_metrics"))
    )
    return bool((plain & weighted) - {""})


def _metric_name(metric: ast.AST) -> str:
    text = constant(metric)
    return text if isinstance(text, str) else key(metric).rpartition(".")[2]


_GIVE_VALUES = (".evaluate", ".evaluate_generator", ".train_on_batch", ".test_on_batch")


def has_several(finder: Finder, call: Call) -> bool:
    """Whether the model that is compiled has several outputs, as far as its losses and outputs tell."""
    return _has_several(finder, call.node)


@indexes.once
def _has_several(finder: Finder, call: ast.Call) -> bool:
    loss = argument(call, 1, "loss")
    owner = getattr(call.func, "value", None)
    several = (isinstance(loss, ast.Dict) and len(loss.keys) > 1) or (
        isinstance(loss, (ast.List, ast.Tuple)) and len(loss.elts) > 1
    )
    for made in keras_3_models.of(finder, owner) if owner is not None else ():
        outputs = argument(made, 1, "outputs") or keyword(made, "output")
        several = several or (outputs is not None and keras_3_models.holds_several(finder, outputs))
    # The model may be made in another file.
    return several or key(owner or call) in _given_several(finder)


@indexes.once
def _given_several(finder: Finder) -> set[str]:
    """The models that are trained with targets in a list."""
    given = {
        key(getattr(fit.node.func, "value", fit.node))
        for fit in finder.names.calls
        if fit.name.startswith(".fit")
        and keras_3_models.is_list_of_arrays(argument(fit.node, 1, "y"))
    }
    return given - {""}


@of_calls(".predict", ".evaluate_generator")
def _quiet(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Where TensorFlow printed no progress by default, up to 2.8."""
    places = {".predict": 2, ".predict_generator": 6, ".evaluate_generator": 6}
    if call.name not in places or not finder._is_model(call.node.func.value):  # type: ignore[attr-defined]
        return
    if argument(call.node, places[call.name], "verbose") is None and not any(
        word.arg is None for word in call.node.keywords
    ):
        row = table.BEHAVIOURS["quiet"]._replace(tf1=not finder.early)
        yield Difference(row, call.node, call.node)


@of_calls(".compile")
def _outputs(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """One list of metrics for all outputs of a model."""
    if call.name != ".compile":
        return
    metrics: Any = argument(call.node, 2, "metrics")
    if isinstance(metrics, ast.Name):
        found = finder.values.values(metrics)
        metrics = found[0] if len(found) == 1 else None
    if not isinstance(metrics, (ast.List, ast.Tuple)) or not metrics.elts:
        return
    if any(isinstance(one, (ast.List, ast.Tuple)) for one in metrics.elts):
        return
    if has_several(finder, call):
        yield Difference(table.BEHAVIOURS["metrics_of_outputs"], metrics, call.node)


def _columns(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Losses and metrics of the script's own, which look at the axes and types of what they are given."""
    objects = keyword(call.node, "custom_objects")
    for value in objects.values if isinstance(objects, ast.Dict) else ():
        if key(getattr(value, "func", value)) in finder.own_metrics():
            yield Difference(table.BEHAVIOURS["columns"], value, call.node)
    if call.name != ".compile":
        return
    for position, word in ((1, "loss"), (2, "metrics")):
        for value in parts(argument(call.node, position, word)):
            made = value.func if isinstance(value, ast.Call) else value
            if getattr(made, "id", "") in WRAPPERS:
                continue
            function = finder.names.functions.get(made.id) if isinstance(made, ast.Name) else None
            gives = indexes.returned(finder, function.node) if function is not None else []
            if function is not None and not any(
                isinstance(constant(text), str) for one in gives for text in leaves(finder, one)
            ):
                yield Difference(table.BEHAVIOURS["columns"], value, call.node)
    loss = argument(call.node, 1, "loss")
    name = constant(loss) or (key(loss).rpartition(".")[2] if loss is not None else "")
    if str(name).startswith("sparse_"):
        for value in parts(argument(call.node, 2, "metrics")):
            if METRICS.get(constant(value), "").startswith("mean_"):
                yield Difference(table.BEHAVIOURS["sparse_labels"], value, call.node)


def _graph_mode(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """A program of TensorFlow 2 that asks for TensorFlow 1's graphs, and trains a model of Keras."""
    asks = call.name.endswith((".disable_eager_execution", ".disable_v2_behavior"))
    if asks and indexes.has_call(finder.names, ".fit", ".train_on_batch"):
        row = table.BEHAVIOURS["graph_mode"]
        yield Difference(row, call.node, call.node, guarded=call.guarded)


def parts(value: ast.AST | None) -> list[Any]:
    """The items of a list or dictionary, however nested."""
    if isinstance(value, ast.Dict):
        return [part for one in value.values for part in parts(one)]
    if isinstance(value, (ast.List, ast.Tuple)):
        return [part for one in value.elts for part in parts(one)]
    return [] if value is None else [value]


RULES: tuple[Callable[[Finder, Call, str], Iterator[Difference]], ...] = (
    _hard_sigmoid,
    _steps,
    _data,
    _vectors,
    _validation,
    _optimizers,
    _tensors,
    _backend,
    _quiet,
    _learning_phase,
    _weighted_validation,
    _order_of_values,
    _outputs,
    _columns,
    _graph_mode,
)
