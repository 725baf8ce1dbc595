"""Runs that fetch values of variables, alone or beside the results of a computation.

``loss, step = session.run([loss, global_step])`` becomes a list of both. A Session reads variables while a
computation changes them; a TPU takes longer than the host, so what is written reads them before.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple, Sequence

from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.commands.migrate.session_inputs import MODULE, Parts
from tpucompat.commands.migrate.session_plan import Computation
from tpucompat.names.used import argument, constant

#: What a layer, an optimizer and a moving average call their variables.
_OF_LAYERS = ("beta", "bias", "gamma", "global_step", "kernel", "moving_mean", "moving_variance")


class Place(NamedTuple):
    """A fetch of what a computation gives.

    Attributes:
      computations: Those that it may be of.
      at: Which of their results; None for all of them.
    """

    computations: list[Computation]
    at: int | None


def writes(node: ast.Call, session: str) -> Parts | None:
    """What is written for ``tf.summary.FileWriter(folder, session.graph)``: no graph is left to write.

    Args:
      node: The call.
      session: What the Session is called.
    """
    folder = argument(node, 0, "logdir")
    graph = argument(node, 1, "graph")
    if folder is None or len(node.args) > 2 or not is_graph(graph, session):
        return None
    words = [word for word in node.keywords if word.value not in (folder, graph)]
    more = [part for word in words for part in (f", {word.arg}=", word.value)]
    return [f"{MODULE}.file_writer(", folder, *more, ")"]


def is_graph(node: ast.AST | None, session: str) -> bool:
    """Whether an expression is the graph of a Session, the default one, or None."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "attr", "") == "get_default_graph"
    if isinstance(node, ast.Attribute):
        return node.attr == "graph" and getattr(node.value, "id", "") == session
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def names_variable(context: Context, name: str) -> bool:
    """Whether a tensor's name, ``net/dense/kernel:0``, is one of a variable that the file makes."""
    last = name.partition(":")[0].rpartition("/")[2]
    made = (call.node for call in context.names.calls if call.name.endswith("get_variable"))
    own = {constant(node.args[0]) for node in made if node.args}
    return name.endswith(":0") and (last in _OF_LAYERS or last in own)


def beside(fetch: Any, places: Sequence[Place], given: Parts, values: Sequence[str]) -> Parts:
    """What is written for a run that fetches values.

    Args:
      fetch: The list or tuple that it fetches.
      places: What is of a computation, in the order of the fetches.
      given: The arguments of the computation.
      values: For each fetch, what is written for a value, and "" for what is of a computation.

    Raises:
      CannotSee: If that is of more than one computation.
    """
    items: list[Any] = []
    order = [0] * len(places)  # of results, among those that are computed
    count = len(places)
    if places:
        found = places[0].computations[0]
        at = [one.at for one in places if one.at is not None]
        if {id(one.node) for place in places for one in place.computations} != {id(found.node)}:
            raise CannotSee("the Session fetches more than a computation")
        items = [f"{found.name}(", *given, ")"]
        if len(places) == 1:
            items += [f"[{one}]" for one in at]
        elif len(at) < len(places) or not found.outputs:
            raise CannotSee("the Session fetches more than a computation")
        else:
            items.insert(0, "*")
            order, count = at, len(found.outputs)
    read = [value for value in values if value]
    before = [part for value in read for part in (value, ", ")]
    items = [*before, *items] if items else before[:-1]
    first, computed = iter(range(len(read))), iter(order)
    order = [next(first) if value else len(read) + next(computed) for value in values]
    is_tuple = isinstance(fetch, ast.Tuple)
    if order == [*range(len(read) + count)]:
        ends = ("(", "," * (len(values) == 1) + ")") if is_tuple else ("[", "]")
    else:
        ends = (f"{MODULE}.chosen([", f"], {', '.join(map(str, order))})")
        ends = (f"tuple({ends[0]}", ends[1] + ")") if is_tuple else ends
    return [ends[0], *items, ends[1]]
