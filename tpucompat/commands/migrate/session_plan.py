"""What is read of a Session, and how a computation is given its function and inputs."""

from __future__ import annotations

import ast
from typing import AbstractSet, Any, Callable, Iterable, Mapping, NamedTuple

from tpucompat.commands.migrate import session_blocks, session_forms, session_inputs
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.names.used import constant, walk

#: What puts a function onto cores -> the method of a program that does it.
METHODS = {
    "rewrite": "on_one_core",
    "shard": "on_all_cores",
    "batch_parallel": "on_all_cores",
    "replicate": "on_each_core",
}
#: Their parameters that have a counterpart, or need none: how many shards there are is the strategy's.
_PARAMETERS = frozenset(("computation", "inputs", "num_shards", "outputs_from_all_shards", "name"))
#: Functions of ``tf`` that a Session may compute of results, and TensorFlow 2 has by the same names.
ON_RESULTS = frozenset(
    (
        *("abs", "add", "argmax", "cast", "concat", "divide", "exp", "expand_dims", "identity"),
        *(
            "maximum",
            "minimum",
            "multiply",
            "reduce_all",
            "reduce_any",
            "reduce_max",
            "reduce_mean",
        ),
        *(
            "reduce_min",
            "reduce_prod",
            "reduce_sum",
            "reshape",
            "round",
            "sqrt",
            "square",
            "squeeze",
        ),
        *("stack", "subtract", "transpose"),
    )
)
#: Others -> what one does without them.
_NEXT = {
    "device_assignment": ": leave it out, and the strategy takes all cores",
    "infeed_queue": ": give the computation its batches as inputs, from placeholders or an iterator",
    "input_shard_axes": ": transpose its inputs, so that each core gets rows",
    "output_shard_axes": ": transpose its results, so that each core gives rows",
}


class Computation(NamedTuple):
    """A call that puts a function onto cores.

    Attributes:
      node: The call.
      given: The placeholders among its inputs, in their order.
      name: What its function is called with; "" for a name that it is assigned to as it is.
      outputs: The names that its results are assigned to, one each.
    """

    node: ast.Call
    given: list[str]
    name: str
    outputs: list[str]


class Plan(NamedTuple):
    """What is written in the place of a Session.

    Attributes:
      session: The Session, and what it is open in.
      passed: The functions that are given it.
      name: What the program is called.
      first: The statement that the program is made before.
      dropped: Statements that have no effect any more.
      inputs: What is written in the place of expressions, and before statements.
      shared: Calls whose results have a share for each core, which has to be said.
      handled: The identities of nodes that need nothing else.
      makes: Whether the functions have variables.
      counts: Whether there is a global step before a function asks for it.
      is_one: Whether all functions run on one core, which then trains for itself.
      undo: Puts the tree of the file back, which is read without some blocks and attributes.
    """

    session: session_blocks.Opened
    passed: session_forms.Passed
    name: str
    first: Any
    dropped: list[Any]
    inputs: session_inputs.Inputs
    shared: list[ast.Call]
    handled: frozenset[int]
    makes: bool
    counts: bool
    is_one: bool
    undo: Callable[[], None]


def check_arguments(node: ast.Call, kind: str) -> None:
    """That all arguments of a computation have a counterpart.

    Args:
      node: The call that makes it.
      kind: Its name in ``tf.contrib.tpu``.

    Raises:
      CannotSee: If one of them has none.
    """
    for word in node.keywords:
        if word.arg not in _PARAMETERS and not _says_nothing(word):
            raise CannotSee(f"{word.arg}= of {kind}{_NEXT.get(word.arg or '', '')}")
    if len(node.args) > (2 if kind in ("rewrite", "replicate") else 3):
        raise CannotSee(f"arguments of {kind}")


def variable(node: ast.Call) -> list[tuple[ast.AST, session_inputs.Parts]]:
    """What is written for a ``tf.Variable`` of the host: every one of TensorFlow 2 is a resource.

    Raises:
      CannotSee: If it has no counterpart.
    """
    words = {word.arg for word in node.keywords}
    if len(node.args) != 1 or words - {"trainable", "name", "dtype", "use_resource"}:
        raise CannotSee("arguments of tf.Variable")
    kept = [word for word in node.keywords if word.arg != "use_resource"]
    named = [part for word in kept for part in (f", {word.arg}=", word.value)]
    written: session_inputs.Parts = [node.func, "(", node.args[0], *named, ")"]
    return [(node, written)] if len(kept) < len(words) else []


def identities(nodes: Iterable[ast.AST]) -> set[int]:
    """The identities of some nodes, and of all nodes in them."""
    return {id(inside) for one in nodes for inside in walk(one)}


def _says_nothing(word: ast.keyword) -> bool:
    """Whether an argument is None, or says that inputs are split by their rows, as they are anyway."""
    items = getattr(word.value, "elts", [word.value])
    is_none = isinstance(word.value, ast.Constant) and word.value.value is None
    return is_none or ("axes" in (word.arg or "") and all(constant(one) == 0 for one in items))


def imports(context: Context, nodes: AbstractSet[int]) -> set[int]:
    """``from tensorflow.contrib.tpu import shard``, where all that reads the name is among some nodes."""
    aliases = [one.node for one in context.names.uses if isinstance(one.node, ast.alias)]
    read = {id(one): context.loads(one.asname or one.name) for one in aliases}
    return {one for one, loads in read.items() if loads and {*map(id, loads)} <= nodes}


def shown(context: Context, node: ast.AST) -> str:
    """The line of a node, and what stands around it there."""
    line = context.texts[context.cell_of(node)].line(node.lineno).strip()  # type: ignore[attr-defined]
    return f"line {node.lineno}, {line[:60]}"  # type: ignore[attr-defined]


def is_item(parents: Mapping[int, ast.AST], table: ast.AST, node: ast.AST) -> bool:
    """Whether a call is an item of a list, or of a tuple that is."""
    above = parents.get(id(node))
    if isinstance(above, ast.Tuple) and above is not table:
        above = parents.get(id(above))
    return above is table and isinstance(table, (ast.List, ast.Tuple))
