"""A Session that is an attribute: ``self.sess = tf.Session()``, of a class with one object.

What such a class keeps is read like names that its methods share: in the tree, the name ``self.sess`` takes
the attribute's place. A class that inherits, or whose attributes are used elsewhere, is left alone.
"""

from __future__ import annotations

import ast
from typing import AbstractSet, Any, Iterator, Mapping

from tpucompat.commands.migrate import session_functions
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.names.used import children, walk

_SESSIONS = frozenset(("tensorflow.Session", "tensorflow.InteractiveSession"))


class Names:
    """The attributes of the class that makes a Session, as names.

    Args:
      context: The file; nothing changes if its Session is not an attribute.

    Raises:
      CannotSee: If an attribute is more than a name that methods share.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._undo: list[tuple[Any, str, int | None, ast.expr]] = []
        owner = _owner(context)
        if owner is not None:
            _check(context, owner)
            self._replace(owner)

    def undo(self) -> None:
        """Puts the attributes back."""
        for parent, field, index, node in self._undo:
            if index is None:
                setattr(parent, field, node)
            else:
                getattr(parent, field)[index] = node
        self._context.forget_parents()

    def _replace(self, owner: ast.ClassDef) -> None:
        stored = _stored(owner)
        for node, field, index, parent in list(_attributes(owner)):
            if node.attr not in stored:
                continue
            name = ast.copy_location(ast.Name(f"self.{node.attr}", node.ctx), node)
            if index is None:
                setattr(parent, field, name)
            else:
                getattr(parent, field)[index] = name
            self._undo.append((parent, field, index, node))
        self._context.forget_parents()


def owner_of(context: Context, statement: ast.AST, cell: int) -> ast.ClassDef | None:
    """The class in whose ``__init__`` a statement stands, at any depth; None where it stands elsewhere."""
    parents = context.parents(cell)
    above: Any = parents.get(id(statement))
    while above is not None and not isinstance(above, (ast.FunctionDef, ast.Lambda)):
        above = parents.get(id(above))
    owner = parents.get(id(above))
    is_init = isinstance(owner, ast.ClassDef) and getattr(above, "name", "") == "__init__"
    return owner if is_init else None  # type: ignore[return-value]


def _owner(context: Context) -> ast.ClassDef | None:
    calls = [call for call in context.names.calls if call.name in _SESSIONS]
    if len(calls) != 1:
        return None
    cell = context.cell_of(calls[0].node)
    statement = context.innermost(calls[0].node, cell)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    is_attribute = isinstance(target, ast.Attribute) and getattr(target.value, "id", "") == "self"
    return owner_of(context, statement, cell) if is_attribute else None


def _attributes(owner: ast.ClassDef) -> Iterator[tuple[ast.Attribute, str, int | None, ast.AST]]:
    """``self.x`` in a class: the node, the field of its parent, its place in a list there, and the parent."""
    for parent in walk(owner):
        for field, value in ast.iter_fields(parent):
            several = isinstance(value, list)
            for index, one in enumerate(value if several else [value]):
                if isinstance(one, ast.Attribute) and getattr(one.value, "id", "") == "self":
                    yield one, field, index if several else None, parent


def _stored(owner: ast.ClassDef) -> set[str]:
    return {one.attr for one, *_ in _attributes(owner) if isinstance(one.ctx, ast.Store)}


def _check(context: Context, owner: ast.ClassDef) -> None:
    if any(getattr(base, "id", "") != "object" for base in owner.bases) or owner.keywords:
        raise CannotSee(f"{owner.name} inherits from another class")
    for method in owner.body:
        if not isinstance(method, ast.FunctionDef):
            continue
        if method.decorator_list or [one.arg for one in method.args.args[:1]] != ["self"]:
            raise CannotSee(f"{method.name} of {owner.name} is not a plain method")
    stored = _stored(owner)
    known = {"self", *(name for tree in context.trees.values() for name in _imported(tree))}
    nodes = context.nodes
    for node in nodes:
        bases = node.bases if isinstance(node, ast.ClassDef) else []
        if any(getattr(base, "id", "") == owner.name for base in bases):
            raise CannotSee(f"a class derived from {owner.name}")
        if isinstance(node, ast.Attribute) and node.attr in stored and _root(node) not in known:
            raise CannotSee(f"{node.attr} is read from outside of {owner.name}")
    calls = (node.func for node in nodes if isinstance(node, ast.Call))
    if sum(getattr(function, "id", "") == owner.name for function in calls) != 1:
        raise CannotSee(f"more than one {owner.name} shares its graph")
    if "program" in stored:
        raise CannotSee("the file already defines program")


def _root(node: ast.AST) -> str:
    """The name that an attribute is asked of, through others; "" for anything but a name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (one.asname or one.name.partition(".")[0] for one in node.names)


class Block:
    """The names of the block that a Session stands in.

    Args:
      parents: As the context has them.
    """

    def __init__(self, parents: Mapping[int, ast.AST]) -> None:
        self._parents = parents
        #: (a statement, what its Session is called) -> a name -> where it stands, each with its place.
        self._found: dict[tuple[int, str], dict[str, list[tuple[int, ast.Name]]]] = {}

    def seen(self, statement: ast.AST, session: str, names: AbstractSet[str]) -> Iterator[ast.Name]:
        """Where names are read or assigned: not those of functions of their own.

        Args:
          statement: The one that makes the Session.
          session: What the Session is called; all methods see what an attribute's class has.
          names: The names.
        """
        where = id(statement), session
        if where not in self._found:
            self._found[where] = self._find(statement, session)
        found = [one for name in names for one in self._found[where].get(name, ())]
        yield from (node for _, node in sorted(found, key=lambda one: one[0]))

    def _find(self, statement: ast.AST, session: str) -> dict[str, list[tuple[int, ast.Name]]]:
        scope: Any = statement
        while not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            scope = self._parents[id(scope)]
        home = scope
        while session.startswith("self.") and not isinstance(scope, ast.ClassDef):
            scope = self._parents[id(scope)]
        found: dict[str, list[tuple[int, ast.Name]]] = {}
        waiting: list[tuple[ast.AST, frozenset[str]]] = [(scope, frozenset())]
        place = 0
        while waiting:
            place += 1
            node, hidden = waiting.pop()
            if isinstance(node, (ast.FunctionDef, ast.Lambda)) and node not in (scope, home):
                own = session_functions.bound(node)
                hidden = hidden | {name for name in own if not name.startswith("self.")}
            if isinstance(node, ast.Name) and node.id not in hidden:
                found.setdefault(node.id, []).append((place, node))
            waiting += [(child, hidden) for child in children(node)]
        return found
