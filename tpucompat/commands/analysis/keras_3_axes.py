"""How many axes a layer's output has, where the layers before it say so."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.used import argument, constant, keyword, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: Layers whose output has the axes of their input.
_SAME = frozenset(
    (
        *("Dense", "Activation", "Dropout", "BatchNormalization", "LayerNormalization", "Masking"),
        *("ReLU", "LeakyReLU", "PReLU", "ELU", "ThresholdedReLU", "Softmax"),
        *("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"),
        *("add", "subtract", "multiply", "average", "maximum", "minimum", "concatenate"),
        *("GaussianNoise", "GaussianDropout", "AlphaDropout", "ActivityRegularization"),
        *("SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"),
    )
)
_RECURRENT = frozenset(("LSTM", "GRU", "SimpleRNN", "RNN", "CuDNNLSTM", "CuDNNGRU"))
_AXES = {"Flatten": 2, "RepeatVector": 3, "Embedding": 3, "TimeDistributed": 3}
#: The end of a layer's name -> its axes: the batch, those of the images, the channels.
_ENDS = {"1D": 3, "2D": 4, "3D": 5, "2DTranspose": 4, "3DTranspose": 5}


def of_output(finder: Finder, layer: ast.Call, depth: int = 60) -> int | None:
    """The axes of the output of a layer; None if they are unknown.

    Args:
      finder: Of the file.
      layer: The call that makes the layer.
      depth: How many layers are looked at.
    """
    last = below_keras(finder.values.called.get(id(layer), "")).rpartition(".")[2]
    inner = argument(layer, 0, "layer")
    if last == "Bidirectional" and isinstance(inner, ast.Call):
        return of_output(finder, inner, depth)
    if last in _RECURRENT:
        given = keyword(layer, "return_sequences")
        is_plain = given is None or isinstance(given, ast.Constant)
        return (3 if constant(given) else 2) if is_plain else None
    if last in ("Input", "InputLayer", "Reshape"):
        whole = keyword(layer, "batch_shape")
        shape = argument(layer, 0, "target_shape" if last == "Reshape" else "shape")
        return _length(whole) if whole is not None else _length(shape, 1)
    if last.startswith("Global"):
        return 2
    if last in _SAME and depth:
        before = _before(finder, layer)
        return _of_first(layer) if before is None else _of_tensor(finder, before, depth - 1)
    if last.startswith("ConvLSTM"):
        return None
    return _AXES.get(last) or next((_ENDS[end] for end in _ENDS if last.endswith(end)), None)


def _before(finder: Finder, layer: ast.Call) -> ast.AST | None:
    """The input of a layer: a tensor, or the call that makes the layer before it."""
    inputs = _inputs(finder)
    if id(layer) in inputs:
        return inputs[id(layer)]
    if getattr(layer, "args", None) and below_keras(finder.values.called.get(id(layer), "")):
        return layer.args[0]  # a function: add([x, y])
    return None


@indexes.once
def _inputs(finder: Finder) -> dict[int, ast.AST | None]:
    """The identity of what is applied, added or listed -> its input, where the file does so first."""
    found: dict[int, ast.AST | None] = {}
    added: dict[str, ast.AST] = {}
    for node in indexes.nodes(finder, ast.Call, ast.List):
        if isinstance(node, ast.List):
            for before, one in zip([None, *node.elts], node.elts):
                found.setdefault(id(one), before)
            continue
        layer = made_layer(finder, node)
        if layer is not None:
            found.setdefault(id(layer), node.args[0] if node.args else None)
        if getattr(node.func, "attr", "") == "add" and node.args:
            owner = key(node.func.value)
            found.setdefault(id(node.args[0]), added.get(owner))
            added[owner] = node.args[0]
    return found


def _of_first(layer: ast.Call) -> int | None:
    """The axes of the first layer of a Sequential."""
    if keyword(layer, "input_dim") is not None:
        return 2
    return _length(keyword(layer, "input_shape"), 1)


def _of_tensor(finder: Finder, tensor: Any, depth: int) -> int | None:
    if isinstance(tensor, (ast.List, ast.Tuple)) and tensor.elts:
        return _of_tensor(finder, tensor.elts[0], depth)
    if isinstance(tensor, ast.Name):
        made = (*finder.values.values(tensor), *finder.values.unpacked(tensor))
        here = place(finder, tensor)
        earlier = [(place(finder, one), one) for one in made if place(finder, one) < here]
        latest = max(earlier, key=lambda one: one[0], default=(here, None))[1]
        return _of_tensor(finder, latest, depth - 1) if latest is not None and depth else None
    if not isinstance(tensor, ast.Call):
        return None
    return of_output(finder, made_layer(finder, tensor) or tensor, depth)


def made_layer(finder: Finder, applied: ast.AST) -> ast.Call | None:
    """``Dense(3)`` of ``Dense(3)(x)``, also where a name stands for the layer."""
    made: Any = getattr(applied, "func", None)
    if isinstance(made, (ast.Name, ast.Attribute)) and key(made):
        made = newest(finder, made, applied)
    return made if isinstance(made, ast.Call) else None


def newest(finder: Finder, name: ast.AST, user: ast.AST) -> ast.AST | None:
    """What a name is where a node uses it: its last value above, or the last of all where none is above."""
    found = finder.values.values(name)
    if len(found) > 1:
        here = place(finder, user)
        found = [one for one in found if place(finder, one) <= here] or found
    return found[-1] if found else None


def place(finder: Finder, node: ast.AST) -> tuple[int, int]:
    """The cell and the line of a node."""
    return _cells(finder).get(id(node), 0), getattr(node, "lineno", 0)


@indexes.once
def _cells(finder: Finder) -> dict[int, int]:
    """The identity of each node of a notebook -> its cell."""
    if len(finder.trees) == 1:
        return {}
    return {id(node): at for at, tree in enumerate(finder.trees) for node in walk(tree)}


def _length(shape: ast.AST | None, batch: int = 0) -> int | None:
    return len(shape.elts) + batch if isinstance(shape, (ast.Tuple, ast.List)) else None
