"""Layers of MobileNet and MobileNetV2 by their places, which are other layers in Keras 3.

TensorFlow 1 and 2.0 to 2.3 had a layer that pads before the first convolution, and MobileNet one more before
its last. A place after the first layer counts it; one that counts from the end does not.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Iterator

from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import SEQUENTIAL, below_keras
from tpucompat.names.used import constant, index_of, keyword

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: Application -> the names of its layers that have others in Keras 3, or are missing.
_LOST = {
    "MobileNet": "conv1_pad|reshape_1|act_softmax",
    "MobileNetV2": "Conv1_pad|Logits",
    "InceptionResNetV2": r"block(35|17|8)_\d+",
    **dict.fromkeys(("DenseNet121", "DenseNet169", "DenseNet201"), "fc1000"),
    **dict.fromkeys(("ResNet50", "ResNet101", "ResNet152"), "probs"),
    **dict.fromkeys(("ResNet50V2", "ResNet101V2", "ResNet152V2"), "probs"),
}
#: Those with other numbers of layers.
_COUNTED = ("MobileNet", "MobileNetV2")


def differences(finder: Finder) -> Iterator[Difference]:
    """Each place, number and name of a layer that is another one or missing."""
    made = [
        (below.rpartition(".")[2], call.node)
        for call in finder.names.calls
        for below in [below_keras(call.name)]
        if below.startswith("applications.") and below.rpartition(".")[2] in _LOST
    ]
    if not made:
        return
    row = table.BEHAVIOURS["application_layers"]
    lost = re.compile("|".join(_LOST[application] for application, _ in made))
    counted = [(name, node) for name, node in made if name in _COUNTED]
    for name, call in counted:
        shape = keyword(call, "input_shape")
        if isinstance(shape, ast.Tuple) and any(_is_padded(name, one) for one in shape.elts[:2]):
            yield Difference(table.BEHAVIOURS["application_sides"], call, call)
    from_end = any(name == "MobileNet" and _has_top(node) for name, node in counted)
    for node in finder.nodes:
        if _names(node, lost) or (
            counted and any(_is_other(place, from_end) for place in _places(finder, node))
        ):
            yield Difference(row, node)


def _names(node: ast.AST, lost: re.Pattern[str]) -> bool:
    """Whether a node asks for a layer by one of these names."""
    if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "get_layer":
        return False
    asked = (*node.args[:1], keyword(node, "name"))
    return any(lost.fullmatch(str(constant(one))) is not None for one in asked)


def _is_padded(name: str, side: ast.AST) -> bool:
    """Whether Keras 3 pads a side of the image in another way, or the images alone tell."""
    number = constant(side)
    if number is None:
        return type(side).__name__ in ("Constant", "NameConstant")
    return isinstance(number, int) and number % 2 == 1 and name == "MobileNet"


def _has_top(node: ast.Call) -> bool:
    top = keyword(node, "include_top")
    return top is None or constant(top) is not False


def _places(finder: Finder, node: ast.AST) -> Iterator[ast.AST | None]:
    """The places by which a node takes layers, the ends of slices too; None for all of them, numbered."""
    if isinstance(node, ast.Subscript) and _is_layers(finder, node.value):
        index = index_of(node)
        if isinstance(index, ast.Slice):
            yield from (one for one in (index.lower, index.upper) if one is not None)
        else:
            yield index
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "get_layer":
        yield from (one for one in [keyword(node, "index")] if one is not None)
    elif (
        isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in ("len", "enumerate")
        and any(_is_layers(finder, one) for one in node.args[:1])
    ):
        yield None


def _is_layers(finder: Finder, node: ast.AST) -> bool:
    """Whether a node is the layers of a model that may begin with those of an application."""
    if isinstance(node, ast.Name):
        return any(_is_layers(finder, one) for one in finder.values.values(node))
    if not isinstance(node, ast.Attribute) or node.attr != "layers":
        return False
    return finder.values.kind(node.value) != SEQUENTIAL


def _is_other(place: ast.AST | None, from_end: bool) -> bool:
    """Whether a place is that of another layer today."""
    number = None if place is None else constant(place)
    if isinstance(place, ast.UnaryOp) and isinstance(place.op, ast.USub):
        number = constant(place.operand)
        number = -number if isinstance(number, int) else None
    if not isinstance(number, int):
        return True
    return number < -1 and from_end if number <= 0 else True
