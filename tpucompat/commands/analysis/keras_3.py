"""Where a script uses what Keras 3 offers otherwise than Keras 2 did; the rows are in keras_3_rows.py."""

from __future__ import annotations

import ast
import functools
from typing import Any, Iterator, Mapping

from tpucompat.commands.analysis import (
    indexes,
    keras_1_rules,
    keras_3_added_layers,
    keras_3_applications,
    keras_3_batches,
    keras_3_calls,
    keras_3_classes,
    keras_3_comparisons,
    keras_3_files,
    keras_3_identifiers,
    keras_3_labels,
    keras_3_layer_words,
    keras_3_logs,
    keras_3_loops,
    keras_3_losses,
    keras_3_members,
    keras_3_models,
    keras_3_modes,
    keras_3_names,
    keras_3_optimizers,
    keras_3_outputs,
    keras_3_rates,
    keras_3_seeds,
    keras_3_settings,
    keras_3_tables,
    keras_3_training,
    keras_3_values,
    keras_3_words,
    keras_values,
    one_element,
    rules,
)
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rows import Row
from tpucompat.commands.analysis.keras_3_rules import (
    RULES,
    WRAPPERS,
    Difference,
    has_several,
    is_generator,
    is_stateful,
    parts,
    trains_several,
)
from tpucompat.commands.analysis.keras_values import EAGER, MODELS, Values, below_keras, key
from tpucompat.names import era, fixes, symbols
from tpucompat.names.used import Call, argument, constant, index_of, is_given

#: Methods of models and layers -> where the list keeps their arguments.
_OWNERS = {
    keras_values.MODEL: "Model",
    keras_values.SEQUENTIAL: "Sequential",
    keras_values.LAYER: "layers.Layer",
    keras_values.OPTIMIZER: "optimizers.Optimizer",
    keras_values.CALLBACK: "callbacks.Callback",
    keras_values.METRIC: "metrics.Metric",
    keras_values.TENSOR: "tensor",
    keras_values.VARIABLE: "variable",
}
#: Rewritings that give a call one more argument.
_ADDS = frozenset(("default", "no_metrics"))
# Methods whose arguments are those of models where nothing is known of the object, by a word that they have.
_TELLING = {
    "compile": frozenset(("loss", "optimizer", "metrics")),
    "fit": frozenset(
        ("epochs", "nb_epoch", "validation_data", "steps_per_epoch", "validation_split")
    ),
    "add_weight": frozenset(("initializer", "shape")),
    "add_loss": frozenset(),
    "train_on_batch": frozenset(),
    "test_on_batch": frozenset(),
    "save_weights": frozenset(),
    "load_weights": frozenset(),
}


@functools.lru_cache(maxsize=None)
def _asked(name: str, below: str) -> tuple[Any, ...]:
    return rules.asked(_RULES, name, below)


def applies(module: Any) -> bool:
    """Whether a file uses the Keras that belongs to the installed TensorFlow."""
    if module.uses_tpucompat or b"TF_USE_LEGACY_KERAS" in module.source.data:
        return False
    if module.given_models:
        return any(keras_3_models.is_trained(one, _TELLING["fit"]) for one in module.names.calls)
    return any(below_keras(use.name) or use.name in _ROOTS for use in module.names.uses)


_TRAINS = (".fit", ".evaluate", ".predict", ".train_on_batch", ".test_on_batch")
_ROOTS = frozenset(("keras", "tensorflow.keras"))


_SEQUENTIAL = frozenset(
    member for member in table.MEMBERS if member[0] == "Sequential" and member[1] in table.DISTINCT
)
_RULES = (
    *RULES,
    *keras_3_values.RULES,
    *keras_3_batches.RULES,
    *keras_3_labels.RULES,
    *keras_3_tables.RULES,
    *keras_1_rules.RULES,
    keras_3_layer_words.words,
    keras_3_words.optimizers,
)


class Finder:
    """Looks for the differences of one file.

    Args:
      module: The file, as :func:`tpucompat.commands.analysis.findings.understand` gives it.
    """

    #: Whether what is predicted comes from an Estimator, in dictionaries.
    has_estimators = False

    def __init__(self, module: Any) -> None:
        self.module = module
        self.trees = [tree for tree in module.trees if tree is not None]
        self.nodes = module.nodes
        self.names = module.names
        self.tf1 = module.era == era.TF1
        #: Whether it is older than the releases whose names it uses have today's form: those up to 2.4.
        self.early = self.tf1 or any(map(keras_3_names.is_early, module.names.uses))
        #: Whether batches are normalized in it.
        self.normalizes = any(map(_normalizes, module.names.calls))
        graph = self.tf1 and not any(use.name.endswith(EAGER) for use in module.names.uses)
        self.values = Values(self.trees, module.names, graph)
        self.names = keras_3_settings.with_settings(self)
        self._several: set[str] | None = None
        #: What the functions that migrate writes have been given.
        self.wrapped = {
            id(argument)
            for call in module.names.calls
            if getattr(call.node.func, "id", "") in WRAPPERS
            for argument in call.node.args
        }
        self.trains_several = trains_several(self)
        members = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Attribute)
        self.own_members = keras_3_members.own_members(indexes.nodes(self, *members))
        self.exported = keras_3_files.exported(self)
        #: Whether a callback of its own writes a learning rate into the logs.
        self.logs_rate = any(map(keras_3_logs.writes_rate, indexes.nodes(self, ast.Subscript)))
        #: The callbacks that go on to log it under its old name.
        self.kept_rates = keras_3_logs.keeps_rate(self)
        #: Whether it imports from the package ``keras`` what only ``tf.keras`` has today.
        self.needs_tf_keras = any(map(self._is_not_alone, module.names.uses))

    @staticmethod
    def _is_not_alone(use: Any) -> bool:
        head, _, raw = use.name.partition(".")
        if head != "keras" or use.guarded:
            return False
        below = below_keras(use.name)
        return symbols.kind("keras." + below) is not None and (
            raw != below
            or ("standalone", below) in table.lines()
            or "keras." + below in fixes.IDIOMS  # which names what tf.keras has
        )

    @indexes.once
    def own_metrics(self) -> set[str]:
        """Names of functions of the file that models are compiled with as losses or metrics."""
        own = self.names.functions.keys() - WRAPPERS
        return {
            key(getattr(part, "func", part))
            for call in self.names.calls
            if call.name == ".compile"
            for place, word in ((1, "loss"), (2, "metrics"))
            for part in parts(argument(call.node, place, word))
        } & own

    def of_several_outputs(self) -> set[str]:
        """Names of models with several outputs, and of what they were converted to."""
        if self._several is None:
            compiled = [call for call in self.names.calls if call.name == ".compile"]
            owners = {key(call.node.func.value) for call in compiled if has_several(self, call)}
            self._several = self.values.converted(owners - {""})
        return self._several

    def find(self) -> Iterator[Difference]:
        """Every difference once, those of one rule after the other."""
        seen: set[tuple[int, str, str]] = set()
        for one in self._all():
            if one.row.how in _ADDS and getattr(one.node, "is_one_of_several", False):
                continue
            one = one._replace(node=getattr(one.node, "real", one.node))
            mark = (id(one.node), one.row.was, one.name)
            if mark not in seen and one.row.how != "keep" and (self.tf1 or not one.row.tf1):
                seen.add(mark)
                yield one

    def _all(self) -> Iterator[Difference]:
        for call in self.names.calls:
            below = below_keras(call.name)
            if below and keras_3_classes.is_several(self, call.node.func):
                continue
            if below:
                yield from self.signature(call, below, table.owners(below))
            elif call.name.startswith("."):
                yield from self._method(call)
            yield from self.of_call(call, below)
        fits_generators = self._fits_generators()
        kinds = (ast.Attribute, ast.Assign, ast.Call, ast.BinOp, ast.FunctionDef, ast.ClassDef)
        for node in indexes.nodes(self, *kinds):
            if isinstance(node, ast.Attribute):
                yield from self._attribute(node)
            elif isinstance(node, (ast.Assign, ast.Call, ast.BinOp)):
                yield from one_element.numbers(self, node)
            elif isinstance(node, ast.FunctionDef) and fits_generators:
                yield from self._generator(node)
            elif isinstance(node, ast.ClassDef):
                yield from keras_3_batches.returned_lists(self, node)
        for module in (
            keras_3_training,
            keras_3_members,
            keras_3_seeds,
            keras_3_logs,
            keras_3_loops,
            keras_3_words,
            keras_3_classes,
            keras_3_added_layers,
            keras_3_applications,
            keras_3_identifiers,
            keras_3_calls,
            keras_3_classes,
            keras_3_modes,
            keras_3_comparisons,
            keras_3_names,
            keras_3_optimizers,
            keras_3_rates,
        ):
            yield from module.differences(self)
        yield from keras_3_files.differences(self)
        yield from keras_3_words.compiled(self)
        for node in indexes.nodes(self, ast.Subscript):
            yield from self._subscript(node)
        yield from keras_3_losses.functions(self)
        for use in self.names.uses:
            if use.statement is None or not self._is_not_alone(use):
                continue
            yield Difference(table.BEHAVIOURS["standalone"], use.node, None, use.name)

    # Signatures ----------------------------------------------------------------------------------

    def signature(self, call: Call, owner: str, owners: tuple[str, ...]) -> Iterator[Difference]:
        """What a call gives that its function takes otherwise, or lets out what has another default."""
        node = call.node
        if any(word.arg is None for word in node.keywords):
            owners = owners[:1]
        refused = {
            line.rest[0]: line.rest[1]
            for one in reversed(owners)
            for line in table.lines().get(("argument", one), ())
        }
        for word in node.keywords:
            row = self._argument(owners, word.arg or "")
            if row is None and refused.get(word.arg or "") == "refused":
                row = Row(f"{owner}({word.arg}=)", "", "", table.REFUSED)
            listed = word.arg in refused or (owners[0], word.arg) in table.ARGUMENTS
            if row is not None and listed:
                yield Difference(row, word.value, node, word.arg or "", owner, call.guarded)
        yield from self._places(call, owner, owners, refused)
        if self.tf1:
            yield from self._defaults(call, owner, owners)

    @staticmethod
    def _argument(owners: tuple[str, ...], name: str) -> Row | None:
        for one in (*owners, "*"):
            if (one, name) in table.ARGUMENTS:
                return table.ARGUMENTS[one, name]
        return None

    def _places(
        self, call: Call, owner: str, owners: tuple[str, ...], refused: Mapping[str, str]
    ) -> Iterator[Difference]:
        """Arguments whose places have another meaning."""
        mine = owners if "." in owner and owner.split(".")[-1][:1].islower() else owners[:1]
        lines = [line for one in mine for line in table.lines().get(("order", one), ())][:1]
        of_package = keras_1_rules.declared(self, call, owner)
        for line in lines:
            old, new = ([] if text == "-" else text.split(",") for text in line.rest)
            old = list(of_package.order) if of_package is not None else old
            moved = False
            for index, value in enumerate(call.node.args):
                if isinstance(value, ast.Starred) or index >= len(old):
                    break
                row = self._argument(owners, old[index])
                renamed = row is not None and row.how == "rename" and row.becomes
                now = new[index] if index < len(new) else ""
                moved = moved or now not in (old[index], renamed)
                if moved and not any(word.arg == old[index] for word in call.node.keywords):
                    if row is None and old[index] in refused:
                        row = Row(f"{owner}({old[index]}=)", "", "", table.REFUSED)
                    elif row is None or renamed or row.how == "keep":
                        is_kept = row is not None and row.how == "keep"
                        row = Row(
                            f"{owner}: argument {index + 1} was {old[index]}",
                            f"{renamed or old[index]}=",
                            "drop"
                            if (is_kept or old[index] == "epsilon") and not is_given(value)
                            else "place",
                            table.PLACE,
                            "The order of the arguments changed.",
                        )
                    yield Difference(row, value, call.node, old[index], owner, call.guarded)

    def _defaults(self, call: Call, owner: str, owners: tuple[str, ...]) -> Iterator[Difference]:
        node = call.node
        if any(isinstance(one, ast.Starred) for one in node.args) or any(
            word.arg is None for word in node.keywords
        ):
            return
        given = {word.arg for word in node.keywords}
        for one in owners[:1] if owner.split(".")[-1][:1].isupper() else owners:
            for line in table.lines().get(("default", one), ()):
                name, old, new = line.rest
                place = self._place(one, name)
                if name in given or name in table.SAME_DEFAULTS or place < len(node.args):
                    continue
                if name == "recurrent_activation":
                    continue  # its own rule
                row = Row(
                    f"{owner}({name}={old}) if omitted",
                    f"{name}={old}",
                    "default",
                    table.PLACE,
                    "It is now required." if new == "-" else f"The default is now {new}.",
                    tf1=True,
                )
                yield Difference(row, node, node, f"{name}={old}", owner, call.guarded)

    def _place(self, owner: str, name: str) -> int:
        for line in table.lines().get(("order", owner), ()):
            for text in line.rest[:1]:
                if name in text.split(","):
                    return text.split(",").index(name)
        return {"pool_size": 0, "l1": 0, "l2": 1, "padding": 0}.get(name, 99)

    # Methods and attributes ------------------------------------------------------------------------

    def _owners_of(self, node: ast.Attribute) -> tuple[str, ...]:
        """Whose a member may be, by what it is taken from."""
        if id(node) in self.names.own:
            return ()
        kind = self.values.kind(node.value)
        if kind in _OWNERS:
            owners = self.class_of(node.value, kind) or table.owners(_OWNERS[kind])
            # Of a model that was loaded or copied, the method tells the class.
            return ("Sequential", *owners) if ("Sequential", node.attr) in _SEQUENTIAL else owners
        if kind == "" and node.attr in table.DISTINCT and not self._is_module(node.value):
            return ("Sequential", "Model", "layers.Layer")
        return ()

    def class_of(self, node: ast.AST, kind: str) -> tuple[str, ...]:
        """A class of Keras and those above it, where one object alone has the name; of layers and callbacks."""
        made = (
            self.values.values(node) if kind in (keras_values.LAYER, keras_values.CALLBACK) else []
        )
        names = {below_keras(self.values.called.get(id(one), "")) for one in made}
        return table.owners(names.pop()) if len(names) == 1 and names != {""} else ()

    def _is_module(self, node: ast.AST) -> bool:
        return bool(self.values.used.get(id(node))) or key(node) in ("self", "np")

    def _method(self, call: Call) -> Iterator[Difference]:
        function = call.node.func
        if not isinstance(function, ast.Attribute):
            return
        owners = self._owners_of(function)
        if not owners and function.attr in _TELLING and not self.values.kind(function.value):
            words = {word.arg for word in call.node.keywords}
            telling = _TELLING[function.attr]
            if not telling or words & telling:
                owners = ("Sequential", "Model", "layers.Layer")
        name = function.attr
        own = self.values.own_kind(function) if key(function.value) == "self" else ""
        if (
            name == "add_weight" and own in _OWNERS
        ):  # which also the classes of the script have from Keras
            owners = (_OWNERS[own],)
        if owners:
            methods = tuple(f"{one}.{name}" for one in owners)
            yield from self.signature(call, methods[0], methods)

    def _attribute(self, node: ast.Attribute) -> Iterator[Difference]:
        owners = self._owners_of(node)
        guarded = False
        for owner in owners:
            row = table.MEMBERS.get((owner, node.attr))
            if row is not None and not (
                owner == "layers.Layer" and self._is_model(node.value) and row.how == "shape"
            ):
                yield Difference(row, node, None, node.attr, owner, guarded)
                return
        kind = self.values.kind(node.value)
        for owner in owners if kind else ():
            for line in table.lines().get(("member", owner), ()):
                if line.rest[0] == node.attr and not self._is_own(node, kind):
                    held = line.rest[1] == "yes"
                    row = Row(f"{owner}.{node.attr}", "", "", table.GONE, keras_2=held)
                    yield Difference(row, node, None, node.attr, owner, guarded)
                    return
        if kind == keras_values.LAYER and not self.class_of(node.value, kind):
            yield from keras_3_members.of_made_layers(self, node)
        yield from self._behaviour_of(node, kind)

    def _is_model(self, node: ast.AST) -> bool:
        return bool(self.values.kinds(node) & MODELS)

    @staticmethod
    def _is_own(node: ast.Attribute, kind: str) -> bool:
        """What Keras 3 has all the same: ``name`` and ``input_shape`` of a model."""
        of_some = kind == keras_values.LAYER and node.attr == "stateful"
        return (
            of_some
            or node.attr in ("name", "activity_regularizer", "losses")
            or (kind in MODELS and node.attr in ("input_shape", "output_shape"))
        )

    def _behaviour_of(self, node: ast.Attribute, kind: str) -> Iterator[Difference]:
        if node.attr == "lr" and (
            kind == keras_values.OPTIMIZER or keras_3_members.says_optimizer(node.value)
        ):
            yield Difference(table.BEHAVIOURS["learning_rate"], node, None, "lr")
        if node.attr in ("input", "output"):
            yield from keras_3_members.of_sequential(self, node, kind)
        if node.attr == "metrics_names" and (self._is_model(node.value) or not kind):
            yield Difference(table.BEHAVIOURS["metrics_names"], node, None, "metrics_names")
        if node.attr == "reset_states" and not kind and self._is_metric(node.value):
            yield Difference(table.MEMBERS["metrics.Metric", "reset_states"], node, None, "")
        yield from keras_3_values.dimensions(node, self.values)
        yield from keras_3_values.bests(self, node)
        if node.attr == "get_shape" and kind == keras_values.TENSOR:
            yield Difference(table.BEHAVIOURS["tensor_shape"], node, None, "get_shape")

    def _is_metric(self, node: ast.AST) -> bool:
        """Whether an object that nothing is known of is a metric, where states of nothing else are reset."""
        if _has_stateful(self):
            return False
        made = indexes.of_keras(self.names)
        return any(one.startswith("metrics.") for one in made) or "metric" in key(node).lower()

    # Rules -----------------------------------------------------------------------------------------

    def of_call(self, call: Call, below: str) -> Iterator[Difference]:
        """What no signature shows of one call."""
        if call.name == ".get" and call.node.args:
            owner = getattr(call.node.func, "value", call.node)
            yield from keras_3_logs.rates(self, owner, call.node.args[0])
            yield from keras_3_logs.params(self, call.node, owner, call.node.args[0])
        for rule in _asked(call.name, below):
            yield from rule(self, call, below)
        yield from keras_3_losses.crossentropies(self, call, below)
        yield from keras_3_outputs.weights_of_outputs(self, call, below)

    def _generator(self, node: ast.FunctionDef) -> Iterator[Difference]:
        yield from keras_3_batches.lists(self, node, ast.Yield)
        yield from keras_3_values.yielded_targets(self, node)
        yield from keras_3_outputs.yielded_weights(self, node)
        yield from keras_3_labels.yielded(self, node)

    def _fits_generators(self) -> bool:
        if not any(call.name.startswith(_TRAINS) for call in self.names.calls):  # another file does
            return any(below_keras(use.name) == "utils.Sequence" for use in self.names.uses)
        return any(
            call.name.endswith("_generator")
            or (call.name == ".fit" and any(is_generator(self, one) for one in call.node.args[:1]))
            for call in self.names.calls
        )

    # Names of files --------------------------------------------------------------------------------

    def text_of(self, node: ast.AST) -> str | None:
        """How the name of a file ends, where a text in the script says so; else None."""
        literal = self.literal_of(node)
        if isinstance(literal, ast.JoinedStr):
            return constant(literal.values[-1]) or "{}"
        return constant(literal) if literal is not None else None

    def literal_of(self, node: ast.AST) -> ast.AST | None:
        """The text that the name of a file ends with, in the script; None if it is missing."""
        if isinstance(constant(node), str):
            return node
        if isinstance(node, ast.Call):
            last = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if last == "format":
                return self.literal_of(node.func.value)  # type: ignore[attr-defined]
            if last in ("join", "str", "Path", "abspath", "expanduser") and node.args:
                return self.literal_of(node.args[-1])
        if isinstance(node, ast.BinOp):
            return self.literal_of(node.left if isinstance(node.op, ast.Mod) else node.right)
        if isinstance(node, ast.JoinedStr) and node.values:
            return node
        if isinstance(node, (ast.Name, ast.Attribute)):
            found = self.values.values(node)
            return self.literal_of(found[0]) if len(found) == 1 and found[0] is not node else None
        return None

    # Items -------------------------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> Iterator[Difference]:
        text = index_of(node)
        yield from keras_3_logs.rates(self, node.value, text)
        yield from keras_3_logs.params(self, node, node.value, text)
        yield from keras_3_values.config_keys(self, node)
        yield from keras_3_values.indices(self, node)

    def is_history(self, node: ast.AST) -> bool:
        """Whether an expression is ``something.history``, and may be that of a training."""
        if not isinstance(node, ast.Attribute) or node.attr != "history":
            return False
        # A callback of the script's own may keep a history of its own.
        is_own = self.values.kinds(node.value) == {keras_values.OTHER}
        of_training = self.values.kind(node.value) in ("", keras_values.HISTORY) and not is_own
        return of_training and key(node.value) != "self"


@indexes.once
def _has_stateful(finder: Finder) -> bool:
    return any(is_stateful(call) for call in finder.names.calls)


def _normalizes(call: Call) -> bool:
    below = below_keras(call.name)
    package, _, last = below.rpartition(".")
    is_model = package.startswith("applications") and last[:1].isupper()
    return last == "BatchNormalization" or (is_model and not last.startswith("VGG"))
