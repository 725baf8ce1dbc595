"""Loops over the variables of a Session's graph, which become loops over those of the program.

``for one in tf.trainable_variables(): print(one.name, session.run(one))``, in a statement or a comprehension,
with ``enumerate`` and ``zip`` too.
"""

from __future__ import annotations

import ast
from typing import Any, Iterator, Mapping, NamedTuple

from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.names.used import walk

#: What lists variables -> what is written.
LISTS = {
    "tensorflow.trainable_variables": "{}.in_order(trainable=True)",
    "tensorflow.global_variables": "{}.in_order()",
}
#: What a variable of TensorFlow 2 has too.
_ATTRIBUTES = frozenset(("dtype", "get_shape", "name", "shape"))


class Loop(NamedTuple):
    """A loop over variables.

    Attributes:
      call: What lists them.
      name: What one of them is called.
      node: Where it is called so: the statement, or the comprehension.
      target: The name that is assigned.
    """

    call: ast.Call
    name: str
    node: ast.AST
    target: ast.Name


def loops(block: ast.AST, calls: Mapping[int, str]) -> Iterator[Loop]:
    """The loops over variables in a block.

    Args:
      block: Where the Session is open.
      calls: The identity of each call in the file -> the dotted name of what it calls.
    """
    for node in walk(block):
        rounds: list[Any] = [node] if isinstance(node, ast.For) else []
        rounds += getattr(node, "generators", [])
        for one in rounds:
            for target, value in _pairs(one.target, one.iter):
                if calls.get(id(value)) in LISTS and isinstance(target, ast.Name):
                    yield Loop(value, target.id, node, target)


def _pairs(target: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """What is assigned in a loop, and what it comes from."""
    name = getattr(getattr(value, "func", None), "id", "")
    if name not in ("enumerate", "zip"):
        yield target, value
    elif isinstance(target, (ast.Tuple, ast.List)):
        first = 1 if name == "enumerate" else 0
        yield from zip(target.elts[first:], value.args)


def check(found: list[Loop], names: Iterator[ast.Name], parents: Mapping[int, Any]) -> set[int]:
    """The identities of the names of variables that loops are over, which have no other uses.

    Args:
      found: The loops.
      names: All that has one of their names where the Session is open.
      parents: The identity of each node -> what it stands in.

    Raises:
      CannotSee: If one has.
    """
    inside = {(one.name, id(node)) for one in found for node in walk(one.node)}
    targets = {id(one.target) for one in found}
    read = set()
    for node in names:
        is_target = id(node) in targets
        if (node.id, id(node)) not in inside or isinstance(node.ctx, ast.Store) != is_target:
            raise CannotSee(f"{node.id} is also used for something else")
        above = parents[id(node)]
        if isinstance(above, ast.Attribute) and above.attr not in _ATTRIBUTES:
            raise CannotSee(f"what is read of {node.id}, a variable")
        if not is_target and not isinstance(above, ast.Attribute):
            read.add(id(node))
    return read
