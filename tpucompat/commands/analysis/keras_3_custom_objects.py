"""Names that a script gives to functions of its own, which Keras 3 looks for in files alone.

``get_custom_objects().update({'gelu': gelu})`` let Keras 2 find ``Dense(4, activation='gelu')``. Keras 3 knows
its own functions alone where a layer or ``compile`` gets a name (``activations.get`` of 3.15).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference, parts
from tpucompat.commands.analysis.keras_values import below_keras
from tpucompat.names.used import constant

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

_NAMES = "utils.get_custom_objects", "utils.generic_utils.get_custom_objects"
#: Arguments of layers and of ``compile`` that take the name of a function.
_LOOKED_UP = frozenset(
    (
        *("activation", "recurrent_activation", "loss", "metrics", "weighted_metrics"),
        *(
            f"{weight}_{kind}"
            for weight in (
                *("kernel", "bias", "recurrent", "depthwise", "pointwise", "embeddings"),
                *("beta", "gamma", "alpha", "activity"),
            )
            for kind in ("initializer", "regularizer", "constraint")
        ),
    )
)
_PLACES_OF_COMPILE = 1, 2  # loss, metrics


def differences(finder: Finder) -> Iterator[Difference]:
    """Where a name stands for a function of the script's own."""
    own = set(_registered(finder))
    for call in finder.names.calls if own else ():
        below = below_keras(call.name)
        is_layer = below.startswith("layers.")
        if not is_layer and call.name != ".compile":
            continue
        values: list[Any] = [word.value for word in call.node.keywords if word.arg in _LOOKED_UP]
        places = (0,) if below == "layers.Activation" else () if is_layer else _PLACES_OF_COMPILE
        values += [call.node.args[place] for place in places if place < len(call.node.args)]
        for one in (one for value in values for one in parts(value)):
            name = constant(one)
            if isinstance(name, str) and name in own:
                row = table.BEHAVIOURS["custom_object"]
                yield Difference(row, one, call.node, name, guarded=call.guarded)


def _registered(finder: Finder) -> Iterator[str]:
    """The names that the script registers."""
    for node in indexes.nodes(finder, ast.Call, ast.Subscript):
        given: list[Any] = []
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "update":
            if _is_asked(finder, node.func.value) and node.args:  # type: ignore[attr-defined]
                given = (
                    getattr(node.args[0], "keys", []) if isinstance(node.args[0], ast.Dict) else []
                )
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            given = [node.slice] if _is_asked(finder, node.value) else []
        for one in given:
            name = constant(getattr(one, "value", one) if type(one).__name__ == "Index" else one)
            if isinstance(name, str):
                yield name


def _is_asked(finder: Finder, node: ast.AST) -> bool:
    name = finder.values.called.get(id(node), "")
    return below_keras(name) in _NAMES
