"""``Dense(10, kernel_initializer=tf.truncated_normal_initializer(stddev=0.1))``: initializers of Keras.

TensorFlow 1's initializers and those of Keras draw from the same distributions, but have other defaults.
Only those that a layer of Keras gets are rewritten: ``tf.get_variable`` keeps TensorFlow's. An initializer of
Keras 3 draws the same values each time, so that one with a name is written again for each layer.
"""

from __future__ import annotations

import ast
from typing import Iterator, Mapping, NamedTuple, Sequence

from tpucompat.commands.analysis.keras_values import below_keras
from tpucompat.commands.migrate import session_functions
from tpucompat.commands.migrate.context import Context
from tpucompat.names.used import Use, constant, walk


class Row(NamedTuple):
    """An initializer of TensorFlow 1.

    Attributes:
      becomes: The class below ``tf.keras.initializers``; its parameters have the same names and order.
      parameters: Those of TensorFlow 1, without ``dtype`` at the end.
      defaults: Parameter -> TensorFlow 1's default, where Keras has another.
      plain: Parameters whose value has to be a number or a text in the source, as Keras takes fewer kinds.
    """

    becomes: str
    parameters: tuple[str, ...] = ("seed",)
    defaults: Mapping[str, str] = {}
    plain: tuple[str, ...] = ()


_NORMAL = ("mean", "stddev", "seed")
#: What stands below ``tf.initializers``, and ``tf.…_initializer``, of 1.15 -> its row.
ROWS: Mapping[str, Row] = {
    "truncated_normal": Row("TruncatedNormal", _NORMAL, {"stddev": "1.0"}),
    "random_normal": Row("RandomNormal", _NORMAL, {"stddev": "1.0"}),
    "random_uniform": Row(
        "RandomUniform",
        ("minval", "maxval", "seed"),
        {"minval": "0.0", "maxval": "1.0"},
        ("maxval",),
    ),
    "constant": Row("Constant", ("value",), {}, ("value",)),
    "zeros": Row("Zeros", ()),
    "ones": Row("Ones", ()),
    "identity": Row("Identity", ("gain",)),
    "orthogonal": Row("Orthogonal", ("gain", "seed")),
    "variance_scaling": Row(
        "VarianceScaling", ("scale", "mode", "distribution", "seed"), {}, ("mode", "distribution")
    ),
    "glorot_uniform": Row("GlorotUniform"),
    "glorot_normal": Row("GlorotNormal"),
    "he_normal": Row("HeNormal"),
    "he_uniform": Row("HeUniform"),
    "lecun_normal": Row("LecunNormal"),
    "lecun_uniform": Row("LecunUniform"),
}


class Found(NamedTuple):
    """One initializer.

    Attributes:
      node: The expression that makes it.
      cell: Where that is.
      name: The class below ``tf.keras.initializers``.
      arguments: What that gets, as text.
      loads: The places, with their cells, where the name of a random initializer stands.
    """

    node: ast.expr
    cell: int
    name: str
    arguments: str
    loads: Sequence[tuple[ast.expr, int]]


def plan(context: Context) -> list[Found]:
    """The initializers that layers of Keras get, and that can be written as those of Keras."""
    layers = {
        id(call.node)
        for call in context.names.calls
        if (below_keras(call.name) or "").startswith("layers.")
    }
    found = []
    for use in context.names.uses:
        row = ROWS.get(_name(use.name))
        if row is None or use.statement is not None or use.guarded:
            continue
        if id(use.node) not in context.place_of and "compat.v1" not in use.name:
            continue  # in a program of TensorFlow 2 the name is Keras' already
        node = use.parent if use.parent is not None else use.node
        assert isinstance(node, ast.expr)
        cell = context.cell_of(node)
        arguments = _arguments(context, use, row, cell)
        if arguments is None:
            continue
        loads = _loads(context, node, cell)
        places = [(node, cell), *loads]
        if not all(_is_argument(context, *place, layers) for place in loads or places):
            continue
        if loads and "seed" in row.parameters:
            if not _is_the_same_everywhere(node):
                continue
            found.append(Found(node, cell, row.becomes, arguments, loads))
        else:
            found.append(Found(node, cell, row.becomes, arguments, ()))
    return found


def nodes(context: Context) -> Iterator[int]:
    """The identities of all that stands in them."""
    for one in plan(context):
        yield from (id(node) for node in walk(one.node))


def rewrite(context: Context, found: list[Found]) -> None:
    """Writes initializers of Keras in their place."""
    for one in found:
        text = f"{context.local('tf.keras.initializers.' + one.name)}({one.arguments})"
        for node, cell in one.loads or [(one.node, one.cell)]:
            context.replace(node, cell, text)
        context.done.update(id(node) for node in walk(one.node))
        if one.loads:
            context.remove(context.parents(one.cell)[id(one.node)], one.cell)


def _name(dotted: str) -> str:
    """The name of a row; "" if it is of no row."""
    path = dotted.partition("tensorflow.")[2]
    path = path[len("compat.v1.") :] if path.startswith("compat.v1.") else path
    if path.startswith("initializers."):
        return path[len("initializers.") :]
    return path[: -len("_initializer")] if path.endswith("_initializer") else ""


def _arguments(context: Context, use: Use, row: Row, cell: int) -> str | None:
    """What the initializer of Keras gets; None where it cannot be said."""
    given: dict[str, ast.expr] = {}
    call = use.parent
    if call is not None:
        names = (*row.parameters, "dtype")
        if len(call.args) > len(names) or any(isinstance(one, ast.Starred) for one in call.args):
            return None
        given.update(zip(names, call.args))
        for word in call.keywords:
            if word.arg not in (*row.parameters, "dtype"):
                return None
            given[word.arg] = word.value
    text = context.texts[cell]
    dtype = given.pop("dtype", None)
    if dtype is not None and text.source(dtype).strip("'\"").rpartition(".")[2] != "float32":
        return None
    if any(constant(given[name]) is None for name in row.plain if name in given):
        return None
    followed = session_functions.uses(context)
    if any(id(node) in followed for value in given.values() for node in walk(value)):
        return None  # something in it is rewritten, too
    words = [f"{name}={text.source(value)}" for name, value in given.items()]
    words += [f"{name}={value}" for name, value in row.defaults.items() if name not in given]
    return ", ".join(words)


def _is_the_same_everywhere(node: ast.expr) -> bool:
    """Whether an initializer can be written elsewhere: all of its arguments are constants, or types."""
    if not isinstance(node, ast.Call):
        return True
    words = [word.value for word in node.keywords if word.arg != "dtype"]
    return all(constant(value) is not None for value in (*node.args, *words))


def _loads(context: Context, node: ast.expr, cell: int) -> list[tuple[ast.expr, int]]:
    """Where the name stands that a statement gives to a value; nothing if it has none."""
    statement = context.parents(cell).get(id(node))
    if not isinstance(statement, ast.Assign) or statement.value is not node:
        return []
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Name):
        return []
    others = [other for other in context.named(target.id) if other is not target]
    named = [(other, context.cell_of(other)) for other in others]
    named = [(other, place) for other, place in named if id(other) in context.parents(place)]
    if not context.texts[cell].owns_lines(statement):
        return []
    stores = any(not isinstance(other.ctx, ast.Load) for other, _ in named)
    return [] if stores else list(named)


def _is_argument(context: Context, node: ast.expr, cell: int, layers: set[int]) -> bool:
    """Whether a value goes to a layer of Keras."""
    parents = context.parents(cell)
    above = parents.get(id(node))
    if isinstance(above, ast.keyword):
        return id(parents.get(id(above))) in layers and (above.arg or "").endswith("initializer")
    return isinstance(above, ast.Call) and id(above) in layers and node is not above.func
