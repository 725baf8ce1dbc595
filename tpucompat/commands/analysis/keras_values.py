"""What the values of a script are, as far as Keras is concerned: models, layers, optimizers, their tensors.

A name has the kinds of all that is assigned to it in its function or module; a function gives what it returns.
What cannot be told is "", and a rule then goes by the name of the method alone, where that is Keras' own.
"""

from __future__ import annotations

import ast
import functools
import re
from typing import AbstractSet, Any, Iterable, Iterator, Mapping

from tpucompat.commands.analysis import compiled_models
from tpucompat.commands.analysis.bindings import Bindings, columns
from tpucompat.commands.analysis.bindings import key as key
from tpucompat.names.used import Names, children, walk

MODEL, SEQUENTIAL, LAYER, LAYERS, OPTIMIZER = "Model", "Sequential", "Layer", "[Layer]", "Optimizer"
TENSOR, DATASET, ITERATOR, BATCH = "tensor", "Dataset", "Iterator", "batch"
HISTORY, LOGS, CALLBACK, FUNCTION, OTHER = "History", "logs", "Callback", "function", "other"
METRIC = "Metric"
STATE, STATES = "State", "[State]"  # variables of metrics
VARIABLE, VARIABLES = "Variable", "[Variable]"
MODELS = frozenset((MODEL, SEQUENTIAL))

#: What no operation takes: a name that is also one of these elsewhere is none of them in an operation.
_NO_OPERANDS = MODELS | {LAYER, LAYERS, OPTIMIZER, DATASET, HISTORY, LOGS, CALLBACK, METRIC}

_KERAS = re.compile(
    r"(?:tensorflow\.(?:compat\.v[12]\.)?(?:python\.)?(?:contrib\.)?(?:_api\.v1\.)?)?keras\.(?:_impl\.keras\.|api\.keras\.)?"
    # tf.optimizers is Keras' in TensorFlow 2, and there was none before
    r"|tensorflow\.(?=optimizers\.|metrics\.[A-Z])"
)
#: What a program that builds a graph does not use; migrate removes the first of them.
EAGER = (".enable_eager_execution", ".GradientTape")
#: An optimizer of TensorFlow's own.
IS_OF_TRAIN = re.compile(r"tensorflow\.(?:compat\.v1\.)?train\.\w+Optimizer$")
_MAKES_MODEL = frozenset(
    ("load_model", "model_from_json", "model_from_yaml", "model_from_config", "clone_model")
)
_SAME_MODEL = frozenset(("keras_to_tpu_model", "multi_gpu_model", "sync_to_cpu"))
_HELD = frozenset(
    prefix + name
    for prefix in ("", "trainable_", "non_trainable_")
    for name in ("variables", "weights")
)
#: Variables of layers, under the names that Keras gives them.
_OF_LAYERS = frozenset(
    (
        *("kernel", "bias", "recurrent_kernel", "depthwise_kernel", "pointwise_kernel", "gamma"),
        *("beta", "moving_mean", "moving_variance", "embeddings"),
    )
)

_ITEMS = {LAYERS: LAYER, VARIABLES: VARIABLE, STATES: STATE, DATASET: BATCH, "[Model]": MODEL}
_LISTS = {LAYER: LAYERS, VARIABLE: VARIABLES, STATE: STATES}
#: What has variables, also those that it makes itself.
_HOLDING = frozenset((MODEL, SEQUENTIAL, LAYER))
_ARRAYS = frozenset(("predict", "predict_generator", "evaluate", "train_on_batch", "get_weights"))
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BINDING = (ast.Assign, ast.AnnAssign, ast.For, ast.comprehension, ast.withitem, ast.Return)
_TELLING = (ast.ClassDef, ast.Call, *_BINDING)


_CONSTRAINTS = {"maxnorm": "MaxNorm", "nonneg": "NonNeg", "unitnorm": "UnitNorm"}


@functools.lru_cache(maxsize=None)
def below_keras(name: str) -> str:
    """``layers.Dense`` of ``tensorflow.keras.layers.Dense``; "" for what is not Keras'."""
    match = _KERAS.match(name)
    if match is None:
        return ""
    below = name[match.end() :]
    parts = below.split(".")
    if parts[0] == "objectives":  # the name of Keras 1
        parts[0] = "losses"
    if parts[0] == "constraints":
        parts[-1] = _CONSTRAINTS.get(parts[-1], parts[-1])
    below = ".".join(parts)
    if parts[0] == "engine" or parts[-1] in ("Model", "Sequential"):
        return parts[-1]
    # keras.layers.core.Dense, keras.utils.np_utils.to_categorical, keras.engine.topology.Layer
    known = ("layers", "utils", "optimizers", "callbacks", "backend", "models", "losses", "metrics")
    if parts[0] in known and len(parts) > 2 and parts[1] not in ("schedules", "experimental"):
        return f"{parts[0]}.{parts[-1]}"
    return below


class Values:
    """The kinds of the values of a module.

    Args:
      trees: Its trees, one for each cell.
      names: What its names stand for.
      graph: Whether the program builds a graph (TensorFlow 1), where a model that is called gives a tensor.
    """

    def __init__(self, trees: Iterable[ast.Module], names: Names, graph: bool) -> None:
        self._graph = graph
        self.called: dict[int, str] = {id(call.node): call.name for call in names.calls}
        self.used: Mapping[int, str] = {id(use.node): use.name for use in names.uses}
        # Whose variables are TensorFlow's own, which have no path.
        self._has_modules = "tensorflow.Module" in self.used.values()
        self._kinds: dict[tuple[int, str], set[str]] = {}
        self._returns: dict[str, set[str]] = {}
        #: Function -> the tuples that it returns.
        self._tuples: dict[str, list[ast.Tuple]] = {}
        self._classes: dict[str, str] = {}
        self._plain: set[str] = set()  # classes that extend nothing
        self._defined: set[str] = set()  # the names of all classes of the module
        self._methods: dict[int, str] = {}  # method -> the name of its class
        self._makers: dict[str, ast.AST] = {}  # class -> its __init__
        self._scopes: dict[int, tuple[int, ...]] = {}
        #: (scope, name) -> the expressions that are assigned to it.
        self.assigned: dict[tuple[int, str], list[ast.AST]] = {}
        #: (scopes, name, depth) -> what :mod:`~tpucompat.commands.analysis.batch_elements` knows of it.
        self.elements: dict[tuple[tuple[int, ...], str, int], str] = {}
        self._columns: dict[tuple[int, int], list[ast.expr]] = {}
        self._held: set[tuple[int, int]] = set()  # (list, expression): what stands in such a list
        #: (scope, name) -> the expressions whose items it goes through.
        self._iterated: dict[tuple[int, str], list[ast.AST]] = {}
        self._own_calls: list[ast.Call] = []
        #: What is known of nodes of the trees, once nothing is added any more.
        self._told: dict[int, frozenset[str]] | None = None
        self._own_names: dict[int, set[str]] = {}
        self._pairs: list[tuple[tuple[int, ...], ast.AST, ast.AST, str]] = []
        self._indexed: Bindings | None = None
        for tree in trees:
            self._walk(tree, (0,), "")
        self._parameters(names)
        for _ in range(4):  # a name that another one is made of
            before = sum(map(len, self._kinds.values())) + sum(map(len, self._returns.values()))
            for scope, target, value, how in self._pairs:
                self._assign(scope, target, value, how)
            if before == sum(map(len, (*self._kinds.values(), *self._returns.values()))):
                break
        for scope, target in compiled_models.find(self, names):
            self._add(scope, target, {MODEL}, None)
        self._told = {}

    def _walk(self, node: ast.AST, scope: tuple[int, ...], function: str) -> None:
        self._scopes[id(node)] = scope
        if isinstance(node, _SCOPES):
            self._own_names[id(node)] = _bound(node)
            scope, function = (*scope, id(node)), getattr(node, "name", "")
        elif isinstance(node, _COMPREHENSIONS):
            scope = (*scope, id(node))  # its variables are its own
        elif isinstance(node, _TELLING):
            self._learn(node, scope, function)
        for child in children(node):
            self._walk(child, scope, function)

    def _learn(self, node: ast.AST, scope: tuple[int, ...], function: str) -> None:
        if isinstance(node, ast.ClassDef):
            self._class(node, scope)
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) or (
                isinstance(called, ast.Attribute) and key(called.value) == "self"
            ):
                self._own_calls.append(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._pairs.append((scope, target, node.value, ""))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._pairs.append((scope, node.target, node.value, ""))
        elif isinstance(node, (ast.For, ast.comprehension)):
            self._pairs.append((scope, node.target, node.iter, "item"))
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._pairs.append((scope, node.optional_vars, node.context_expr, "with"))
        elif isinstance(node, ast.Return) and node.value is not None and function:
            self._pairs.append((scope, ast.Name(function, ast.Store()), node.value, "return"))
            if isinstance(node.value, ast.Tuple):
                self._tuples.setdefault(function, []).append(node.value)

    def _parameters(self, names: Names) -> None:
        """A parameter is what the calls of its function give it."""
        for call in self._own_calls:
            self._parameters_of(names, call)

    def _parameters_of(self, names: Names, call: ast.Call) -> None:
        last = key(call.func).rpartition(".")[2]
        function = names.functions.get(last)
        node: Any = function.node if function is not None else self._makers.get(last)
        if not isinstance(node, ast.FunctionDef):
            return
        parameters = [one.arg for one in node.args.args]
        if parameters[:1] == ["self"]:
            parameters = parameters[1:]
        inner = (*self.scope(node), id(node))
        given = list(zip(parameters, call.args))
        given += [(word.arg or "", word.value) for word in call.keywords]
        for name, value in given:
            if name in parameters:
                self._pairs.append((inner, ast.Name(name, ast.Store()), value, "parameter"))

    def _class(self, node: ast.ClassDef, scope: tuple[int, ...]) -> None:
        self._defined.add(node.name)
        self._methods.update((id(one), node.name) for one in node.body)
        makers = [one for one in node.body if getattr(one, "name", "") == "__init__"]
        self._makers.update((node.name, one) for one in makers)
        if all(key(base) == "object" for base in node.bases):
            self._plain.add(node.name)
        for base in node.bases:
            below = below_keras(self.used.get(id(base), ""))
            kind = self._of_class(below) or self._classes.get(key(base), "")
            if kind:
                self._classes[node.name] = kind
                self._kinds[scope[0], "self.model" if kind == CALLBACK else node.name] = {
                    MODEL if kind == CALLBACK else FUNCTION
                }
            if kind in MODELS:
                self._kinds[scope[0], "self.optimizer"] = {OPTIMIZER}

    def has_callback(self) -> bool:
        """Whether the module has a callback of its own."""
        return CALLBACK in self._classes.values()

    def own_class(self, name: str) -> str:
        """The kind of the instances of a class of the module; "" for any other class."""
        return self._classes.get(name, "")

    def scope(self, node: ast.AST) -> tuple[int, ...]:
        """The scopes that a node stands in, outermost first."""
        return self._scopes.get(id(node), (0,))

    def values(self, node: ast.AST) -> list[ast.AST]:
        """What is assigned to a name or attribute, in the nearest scope that has it."""
        name = key(node)
        for scope in reversed(self.scope(node)):
            if (scope, name) in self.assigned:
                return self.assigned[scope, name]
        return []

    def iterated(self, node: ast.AST) -> list[ast.AST]:
        """What the variable of a loop or comprehension goes through, in the nearest scope that has it."""
        name = key(node)
        for scope in reversed(self.scope(node)):
            if (scope, name) in self.assigned:
                return self._iterated.get((scope, name), [])
        return []

    def unpacked(self, node: ast.AST) -> list[ast.AST]:
        """What was assigned to a name together with others: the call of ``x, state = layer(y)``."""
        return [one for one in self.taken_apart(node) if isinstance(one, ast.Call)]

    def adopt(self, call: ast.Call, real: ast.Call, name: str) -> None:
        """Takes a call for another one of the same place and function."""
        self._scopes[id(call)] = self.scope(real)
        self.called[id(call)] = name

    def taken_apart(self, node: ast.AST) -> list[ast.AST]:
        """The same, with the items of tables: ``make, settings = table[name]``."""
        name = key(node)
        return self._bindings().of("unpacked", name, self.scope(node)) if name else []

    def places(self, node: ast.AST, call: ast.AST) -> list[int]:
        """The places that a name has in ``a, b = call(…)``."""
        name = key(node)
        targets = self._bindings().targets.get(id(call), ())
        return [at for one in targets for at, part in enumerate(one.elts) if key(part) == name]

    def returned_at(self, node: ast.AST, call: ast.Call) -> list[ast.expr]:
        """What a function of the module returns in the places that a name has in ``a, b = call(…)``."""
        tuples = self._tuples.get(key(call.func).rpartition(".")[2], [])
        return [
            one.elts[at] for one in tuples for at in self.places(node, call) if at < len(one.elts)
        ]

    def parts_of_items(self, node: ast.AST) -> list[ast.AST]:
        """What a loop goes through whose variables a name is one of: ``for x, y in data``."""
        return self._bindings().of("item", key(node), self.scope(node))

    def converted(self, models: set[str]) -> set[str]:
        """Names of models, with those of the models that a function made of them."""
        return models | {
            key(target)
            for _, target, value, how in self._pairs
            if not how and isinstance(value, ast.Call) and key(target)
            if any(key(one) in models for one in value.args) and self.kinds(value) & MODELS
        }

    def given(self, node: ast.AST) -> list[ast.AST]:
        """What the calls of a function give a parameter of it."""
        return self._bindings().of("parameter", key(node), self.scope(node))

    def _bindings(self) -> Bindings:
        if self._indexed is None:  # what is asked once all assignments are known
            self._indexed = Bindings(self._pairs)
        return self._indexed

    # Assignments ---------------------------------------------------------------------------------

    def _assign(self, scope: tuple[int, ...], target: ast.AST, value: ast.AST, how: str) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            through = self._columns_of(value, len(target.elts)) if how == "item" else []
            if through:
                for one, part in zip(target.elts, through):
                    self._assign(scope, one, part, how)
                return
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                for one, part in zip(target.elts, value.elts):
                    self._assign(scope, one, part, how)
                return
            kinds = self.kinds(value)
            if how == "item" and isinstance(value, ast.Call) and key(value.func) == "enumerate":
                self._assign(scope, target.elts[-1], value.args[0], "item")
            elif how == "item" and isinstance(value, ast.Call) and key(value.func) == "zip":
                for one, part in zip(target.elts, value.args):
                    self._assign(scope, one, part, "item")
            elif BATCH in kinds:
                for one in target.elts:
                    self._add(scope, one, {BATCH}, value)
            elif isinstance(value, ast.Call) and not how:
                for returned in self._tuples.get(key(value.func).rpartition(".")[2], ()):
                    for one, part in zip(target.elts, returned.elts):
                        self._add(scope, one, self.kinds(part), None)
            return
        kinds = self.kinds(value)
        if how == "item":
            self._add(scope, target, set(), value, self._iterated)
            kinds = (
                {_ITEMS[next(one for one in _ITEMS if one in kinds)]}
                if kinds & _ITEMS.keys()
                else set()
            )
        if how == "return":
            self._returns.setdefault(target.id, set()).update(kinds)  # type: ignore[attr-defined]
            return
        self._add(scope, target, kinds, value if how == "" else None)

    def _columns_of(self, rows: ast.AST, size: int) -> list[ast.expr]:
        made = [rows, *self.values(rows)][-1]
        if (id(made), size) not in self._columns:
            self._columns[id(made), size] = columns(made, size)
        return self._columns[id(made), size]

    def _add(
        self,
        scope: tuple[int, ...],
        target: ast.AST,
        kinds: AbstractSet[str],
        value: ast.AST | None,
        values: dict[tuple[int, str], list[ast.AST]] | None = None,
    ) -> None:
        name = key(target)
        if not name:
            return
        where = (0 if name.startswith("self.") else scope[-1], name)
        self._kinds.setdefault(where, set()).update(kinds)
        held = (self.assigned if values is None else values).setdefault(where, [])
        if value is not None and (id(held), id(value)) not in self._held:
            self._held.add((id(held), id(value)))
            held.append(value)

    # Kinds -----------------------------------------------------------------------------------------

    def kind(self, node: ast.AST) -> str:
        """The kind of an expression; "" where it cannot be told."""
        kinds = self.kinds(node) - {OTHER}
        if kinds and kinds <= MODELS:
            return SEQUENTIAL if kinds == {SEQUENTIAL} else MODEL
        return next(iter(kinds)) if len(kinds) == 1 else ""

    def is_tensor(self, node: ast.AST) -> bool:
        """Whether what an operation is given stands for a model's inputs."""
        return self.kinds(node) - {OTHER} - _NO_OPERANDS == {TENSOR}

    def kinds(self, node: ast.AST) -> AbstractSet[str]:
        """The kinds that an expression may have."""
        if self._told is None or id(node) not in self._scopes:
            return frozenset(self._of(node))
        if id(node) not in self._told:
            self._told[id(node)] = frozenset(self._of(node))
        return self._told[id(node)]

    def _of(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.IfExp):
            yield from self.kinds(node.body) | self.kinds(node.orelse)
        elif isinstance(node, ast.Call):
            yield from self._of_call(node)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            yield from self._of_name(node)
        elif isinstance(node, ast.Subscript):
            kinds = self.kinds(node.value)
            for whole in kinds & _ITEMS.keys() - {DATASET}:
                yield whole if isinstance(node.slice, ast.Slice) else _ITEMS[whole]
            yield from kinds & {TENSOR, BATCH}
        elif isinstance(node, ast.BinOp):
            yield from (self.kinds(node.left) | self.kinds(node.right)) & {TENSOR, VARIABLES}
        elif isinstance(node, ast.ListComp):
            yield from {_LISTS[one] for one in self.kinds(node.elt) if one in _LISTS}
        elif isinstance(node, (ast.Tuple, ast.List)):
            if any(TENSOR in self.kinds(one) for one in node.elts):
                yield TENSOR
            if node.elts and all(LAYER in self.kinds(one) for one in node.elts):
                yield LAYERS
            if node.elts and all(self.kinds(one) & MODELS for one in node.elts):
                yield "[Model]"
        elif isinstance(node, (ast.Constant, ast.Dict, ast.JoinedStr, ast.Compare)):
            yield OTHER

    def _of_name(self, node: Any) -> Iterator[str]:
        name = key(node)
        hidden: set[str] = set()  # what a name of the function itself cannot be
        for scope in reversed(self.scope(node)):
            if name and (scope, name) in self._kinds:
                yield from self._kinds[scope, name] - hidden
                return
            if name in self._own_names.get(scope, ()):
                hidden = {TENSOR}
        if not isinstance(node, ast.Attribute):
            return
        above = self.kinds(node.value)
        if above & MODELS:
            yield from {
                "layers": {LAYERS},
                "optimizer": {OPTIMIZER},
                "history": {HISTORY},
            }.get(node.attr, set())
        if above & (MODELS | {LAYER}) and node.attr in ("input", "output", "inputs", "outputs"):
            yield TENSOR
        if LAYER in above and node.attr in _OF_LAYERS:
            yield VARIABLE
        is_own = above & {*_HOLDING, METRIC} or self._is_of_class(node.value)
        if key(node.value) != "self" and is_own:
            yield from self._kinds.get((0, f"self.{node.attr}"), set()) - {OTHER}
        own = self.own_kind(node) if key(node.value) == "self" else ""
        if METRIC in (*above, own) and node.attr in ("variables", "weights"):
            yield STATES
        if HISTORY in above and node.attr == "history":
            yield LOGS
        # What is not known to be Keras' has trainable variables under these two names, where it has any.
        if node.attr in _HELD and (
            above & (MODELS | {LAYER})
            or own in _HOLDING
            or (not above and node.attr.startswith("trainable_") and not self._has_modules)
        ):
            yield VARIABLES

    def _of_call(self, node: ast.Call) -> Iterator[str]:
        name = self.called.get(id(node), "")
        made, _, last = name.rpartition(".")
        below = below_keras(made if last == "from_config" else name)
        if last in _SAME_MODEL:
            yield from (self.kinds(node.args[0]) if node.args else ()) or {MODEL}
        elif below:
            yield self._of_keras(below, node)
        elif not self._graph and IS_OF_TRAIN.match(name):
            yield OPTIMIZER  # which becomes Keras'
        elif name.startswith("tensorflow.data."):
            yield DATASET if "Iterator" not in name else ITERATOR
        elif name.startswith("tensorflow.") and name != "tensorflow.gradients":
            if any(TENSOR in self.kinds(one) for one in node.args):
                yield TENSOR
        elif isinstance(node.func, ast.Attribute):
            yield from self._of_method(node, node.func)
        elif isinstance(node.func, ast.Name):
            if node.func.id in self._classes:
                yield self._classes[node.func.id]
            elif node.func.id in self._plain or self._is_tuple(node.func):
                yield OTHER
            elif node.func.id in self._returns:
                yield from self._returns[node.func.id]
            else:
                yield from self._applied(node)
        elif isinstance(node.func, ast.Call):
            yield from self._applied(node)

    def _applied(self, node: ast.Call) -> Iterator[str]:
        kinds = self.kinds(node.func)
        if not kinds & (MODELS | {LAYER}) or not node.args:
            return
        if not self._graph and isinstance(node.func, ast.Name) and self.own_kind(node) in _HOLDING:
            return  # in a layer of the script, which is called with arrays too
        # A program that computes at once calls models with arrays, and gets numbers.
        if self._graph or LAYER in kinds or any(TENSOR in self.kinds(one) for one in node.args):
            yield TENSOR

    def _of_keras(self, below: str, node: ast.Call) -> str:
        last = below.rpartition(".")[2]
        if last == "Input":
            return TENSOR
        if last in _MAKES_MODEL:
            return MODEL
        kind = self._of_class(below)
        if kind:
            return kind
        if below.startswith(("layers.", "backend.")):
            arguments = [*node.args, *(word.value for word in node.keywords)]
            if any(TENSOR in self.kinds(one) for one in arguments):
                return TENSOR
        return OTHER

    def _of_class(self, below: str) -> str:
        package, _, last = below.rpartition(".")
        if last == "Sequential":
            return SEQUENTIAL
        if last in ("Model", "Network", "Container") or (
            package.startswith("applications") and last[:1].isupper()
        ):
            return MODEL
        if last == "Layer" or (package.startswith("layers") and last[:1].isupper()):
            return LAYER
        if package == "optimizers" and (last[:1].isupper() or last in ("get", "deserialize")):
            return OPTIMIZER
        if package == "callbacks" and last[:1].isupper():
            return CALLBACK
        if package == "metrics" and last[:1].isupper():
            return METRIC
        return ""

    def own_kind(self, node: ast.AST) -> str:
        """The kind of ``self`` at a place; "" outside of the classes that extend Keras'."""
        name = next((self._methods[one] for one in self.scope(node) if one in self._methods), "")
        return self._classes.get(name, "")

    def _is_tuple(self, name: ast.Name) -> bool:
        """Whether a name is that of a tuple with named fields, such as those that keep a history."""
        made = (self.called.get(id(one), "") for one in self.values(name))
        return any(one.rpartition(".")[2] in ("namedtuple", "NamedTuple") for one in made)

    def _of_method(self, node: ast.Call, function: ast.Attribute) -> Iterator[str]:
        above = self.kinds(function.value)
        name = function.attr
        if above & MODELS or not above:
            if name in ("fit", "fit_generator") and above & MODELS:
                yield HISTORY
            elif name == "get_layer":
                yield LAYER
            elif name in _ARRAYS and above & MODELS:
                yield OTHER
        if name in _SAME_MODEL:
            yield from above or {MODEL}
        if DATASET in above:
            yield ITERATOR if name.startswith("make_") else DATASET
        if ITERATOR in above and name == "get_next":
            yield BATCH
        if name in ("add_weight", "add_variable"):
            owners = {*above, self.own_kind(node) if key(function.value) == "self" else ""}
            if owners & {*_HOLDING, METRIC}:
                yield VARIABLE if owners & _HOLDING else STATE
        if name in self._returns and self._is_of_class(function.value):
            yield from self._returns[name]
        if LAYER in above and name in ("get_output_at", "get_input_at"):
            yield TENSOR
        is_call = above & (MODELS | {LAYER}) and name == "call"
        if is_call and any(TENSOR in self.kinds(one) for one in node.args):
            yield TENSOR

    def _is_of_class(self, owner: ast.AST) -> bool:
        """Whether something is an object of a class of the module."""
        made = [owner] if isinstance(owner, ast.Call) else self.values(owner)
        return key(owner) in ("self", "cls") or any(
            isinstance(one, ast.Call) and key(one.func) in self._defined for one in made
        )


def _bound(function: ast.AST) -> set[str]:
    """The names that a function has itself: its parameters, and what it assigns."""
    found: set[str] = set()
    node: Any
    for node in walk(function):
        if node.__class__ is ast.arg:
            found.add(node.arg)
        elif node.__class__ is ast.Name and node.ctx.__class__ is ast.Store:
            found.add(node.id)
    return found
