"""What a script makes its models of Keras of, as far as one file shows it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, AbstractSet, Any, Iterator

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.used import Call, constant, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder


#: What a module calls that is given a model, and names no Keras.
_OF_MODELS_ALONE = ("_generator", "_on_batch", ".load_weights", ".save_weights")


def is_trained(call: Call, telling: AbstractSet[str]) -> bool:
    """Whether a call is that of a method which models of Keras alone have, or ``fit`` with its words."""
    is_own = call.name[:1] == "." and call.name.endswith(_OF_MODELS_ALONE)
    words = {word.arg for word in call.node.keywords}
    return is_own or (call.name == ".fit" and not words.isdisjoint(telling))


def of(finder: Finder, node: ast.AST, depth: int = 3) -> Iterator[ast.Call]:
    """The calls that make a model, in functions of the file too."""
    inside: Any
    made: Any
    for made in [node] if isinstance(node, ast.Call) else finder.values.values(node):
        for inside in walk(made) if isinstance(made, ast.Call) else ():
            if below_keras(finder.values.called.get(id(inside), "")) == "Model":
                yield inside
            elif inside is made and depth:
                function = finder.names.functions.get(key(made.func))
                for one in indexes.returned(finder, function.node) if function is not None else ():
                    yield from of(finder, one, depth - 1)


def holds_several(finder: Finder, outputs: ast.AST) -> bool:
    """Whether outputs are a list of more than one, or one that a loop fills."""
    if isinstance(outputs, (ast.List, ast.Tuple)):
        return len(outputs.elts) > 1
    made = finder.values.values(outputs) if isinstance(outputs, ast.Name) else [outputs]
    return any(
        isinstance(one, ast.ListComp)
        or (isinstance(one, (ast.List, ast.Tuple)) and len(one.elts) != 1)
        for one in made
    )


def is_list_of_arrays(given: ast.AST | None) -> bool:
    """Whether targets are a list of arrays, one for each output."""
    return (
        isinstance(given, ast.List)
        and len(given.elts) > 1
        and all(constant(one) is None for one in given.elts)
    )
