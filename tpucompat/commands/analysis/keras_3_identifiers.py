"""What ``metrics.get('mae')`` and the like give: a function or an object, and under which names."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import keras_3_layer_words
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import COSINES, LOSSES, Difference
from tpucompat.commands.analysis.keras_3_texts import far, leaves
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.used import Call, argument, constant

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

_ARGUMENTS = {"get": "identifier", "deserialize": "name"}
#: Metrics whose functions have other names in Keras 3, or other signs.
_OTHER_METRICS = frozenset(
    (
        *("KLD", "kld", "kullback_leibler_divergence", "logcosh", "cosine", "cosine_proximity"),
        "cosine_similarity",
    )
)
#: What differs of an initializer, regularizer or constraint that a text makes.
_ATTRIBUTES = frozenset(("__class__", "get_config", "dtype"))
_MEANS = frozenset(("mean", "reduce_mean"))
_OBJECTS = ("initializers", "regularizers", "constraints")


def differences(finder: Finder) -> Iterator[Difference]:
    """Each call that makes something of a text, and what is read of its result."""
    made: dict[int, str] = {}
    yield from _rows(finder)
    for call in finder.names.calls:
        module, _, last = below_keras(call.name).rpartition(".")
        given = argument(call.node, 0, _ARGUMENTS.get(last, ""))
        if last == "serialize" and module in ("losses", "metrics"):
            yield Difference(table.BEHAVIOURS["serialized"], call.node, call.node)
        elif last in _ARGUMENTS and given is not None:
            made[id(call.node)] = module
            yield from _of_call(finder, call, module, given)
            if module[:-1] in keras_3_layer_words.WORDS:
                yield from keras_3_layer_words.of_value(finder, call, module[:-1], given)
    for node in finder.nodes if made else ():
        owner: Any = node.value if isinstance(node, ast.Attribute) else None
        if isinstance(node, ast.Call) and key(node.func) == "type" and len(node.args) == 1:
            owner = node.args[0]
        elif owner is None or node.attr not in _ATTRIBUTES:
            continue
        sources = [owner] if isinstance(owner, ast.Call) else finder.values.values(owner)
        if any(made.get(id(one)) in _OBJECTS for one in sources):
            yield Difference(table.BEHAVIOURS["made_of_text"], node)


def _rows(finder: Finder) -> Iterator[Difference]:
    """``binary_accuracy(y, p)``, which was a mean of each row, where nothing takes the mean of it."""
    found = {
        id(call.node): call.node
        for call in finder.names.calls
        if below_keras(call.name) == "metrics.binary_accuracy"
    }
    for node in finder.nodes if found else ():
        if isinstance(node, ast.Call) and key(node.func).rpartition(".")[2] in _MEANS:
            for given in node.args:
                found.pop(id(given), None)
    for one in found.values():
        yield Difference(table.BEHAVIOURS["accuracy_of_rows"], one, one)


def _of_call(finder: Finder, call: Call, module: str, given: ast.AST) -> Iterator[Difference]:
    found = list(leaves(finder, given))
    texts = [one for one in found if isinstance(constant(one), str)]
    elsewhere = list(far(finder, given))
    if module == "metrics":
        unknown = [
            one for one in found if isinstance(one, (ast.Name, ast.Attribute, ast.Subscript))
        ]
        row = table.BEHAVIOURS["metric_function"]
        if any(constant(one) in _OTHER_METRICS for one in texts):
            row = row._replace(how="")
        if texts or any(not finder.values.used.get(id(one)) for one in unknown):
            yield Difference(row, call.node.func, call.node)
    for text in texts:
        word = constant(text)
        if module == "losses" and text in elsewhere:
            if word in (*LOSSES, *COSINES):
                yield Difference(table.BEHAVIOURS["loss_of_text"], given, call.node, word)
        elif module == "losses" and word in LOSSES:
            is_named = any(getattr(one, "attr", "") == "__name__" for one in finder.nodes)
            row = table.BEHAVIOURS["loss_name"]
            yield Difference(
                row._replace(how="") if is_named else row, text, call.node, LOSSES[word]
            )
        elif module == "losses" and word in COSINES:
            yield Difference(table.BEHAVIOURS["cosine"], text, call.node)
