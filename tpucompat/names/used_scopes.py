"""What the names of a scope stand for, and what functions and classes of the module hand on of it.

``def get_keras(): from tensorflow import keras; return keras`` makes ``get_keras()`` another name of
``tensorflow.keras``, and ``self.keras = tf.keras`` makes one of ``self.keras``. Only statements are looked at,
before the module goes on: a function may be called above the lines that its body is visited from.
"""

from __future__ import annotations

import ast
from typing import Any, Iterable, Iterator, NamedTuple

from tpucompat.names import symbols

#: Attributes that objects of Keras have too, so that the name alone tells nothing.
_OF_OBJECTS = frozenset(("layers", "losses", "metrics", "optimizers", "callbacks"))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Binding(NamedTuple):
    """What a name stands for.

    Attributes:
      name: The dotted name.
      guarded: Whether the program is written to go on without it.
      base: What the Python name in an expression stands for, where the expression is longer.
    """

    name: str
    guarded: bool
    base: str = ""


class Owner:
    """A class of the module, with what its attributes stand for and its methods return."""

    def __init__(self, bases: Iterable[Owner] = ()) -> None:
        self._bases = tuple(bases)
        self._attributes: dict[str, list[Binding | None]] = {}
        #: Methods -> what they return.
        self.returned: dict[str, Binding] = {}

    def learn(self, name: str, binding: Binding | None) -> None:
        """Takes note of one thing that an attribute is made to stand for; None if it is not known."""
        self._attributes.setdefault(name, []).append(binding)

    def attribute(self, name: str) -> Binding | None:
        """What an attribute stands for, here or in the classes above."""
        if name in self._attributes:
            return common(self._attributes[name])
        found = (base.attribute(name) for base in self._bases)
        return next((one for one in found if one is not None), None)

    def result(self, name: str) -> Binding | None:
        """What a method returns, here or in the classes above."""
        if name in self.returned:
            return self.returned[name]
        found = (base.result(name) for base in self._bases)
        return next((one for one in found if one is not None), None)

    def tells(self) -> bool:
        """Whether anything is known of it."""
        return bool(self.returned) or any(filter(None, map(self.attribute, self._attributes)))

    def modules(self) -> Iterator[tuple[str, Binding]]:
        """The attributes that are modules, which objects of an unknown class are taken to have too."""
        for name, held in self._attributes.items():
            found = common(held)
            if found is not None and is_module(found.name) and name not in _OF_OBJECTS:
                yield name, found


class Scope:
    """The names of a function, class or module."""

    def __init__(self, outer: Scope | None, function: Any, owner: Owner | None = None) -> None:
        self.outer = outer
        self.function = function
        #: The class whose body it is.
        self.owner = owner
        self.names: dict[str, Binding | None] = {}
        #: Names of modules that are not followed -> the module.
        self.modules: dict[str, str] = {}
        #: Functions -> what they return.
        self.returned: dict[str, Binding] = {}
        #: Classes of the module, and objects of them.
        self.owners: dict[str, Owner] = {}

    def forget(self, name: str) -> None:
        """Takes a name for one that stands for something else now."""
        self.modules.pop(name, None)
        self.returned.pop(name, None)
        self.owners.pop(name, None)

    def take(self, name: str, other: Scope, theirs: str) -> None:
        """Gives a name what another module calls so."""
        if theirs in other.returned:
            self.returned[name] = other.returned[theirs]
        if theirs in other.owners:
            self.owners[name] = other.owners[theirs]

    def as_owner(self) -> Owner:
        """The module as an object with attributes."""
        owner = Owner()
        for name, binding in self.names.items():
            owner.learn(name, binding)
        owner.returned.update(self.returned)
        return owner

    def handed_on(self) -> set[str]:
        """The names that mean something to who imports them."""
        names = {name for name, binding in self.names.items() if binding is not None}
        return (
            names
            | self.returned.keys()
            | {name for name, owner in self.owners.items() if owner.tells()}
        )

    def holder(self, name: str) -> Scope | None:
        """The nearest scope that has a name."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.outer
        return scope

    def hand_on(self, function: Any, binding: Binding | None) -> None:
        """Takes note of what a function of this scope returns."""
        if binding is None:
            return
        if self.owner is None:
            self.returned[function.name] = binding
        elif any(getattr(one, "id", "") == "property" for one in function.decorator_list):
            self.owner.learn(function.name, binding)
        else:
            self.owner.returned[function.name] = binding

    def around(self) -> Owner | None:
        """The nearest class around."""
        scope: Scope | None = self
        while scope is not None and scope.owner is None:
            scope = scope.outer
        return None if scope is None else scope.owner


def joined(before: Binding, binding: Binding | None) -> Binding:
    """What a name stands for behind two branches: the first that is known, as a matter of versions.

    Keras is one Keras today, whether it is imported from TensorFlow or by itself.
    """
    is_same = binding is None or _of_keras(before.name) == _of_keras(binding.name)
    return Binding(before.name, before.guarded or not is_same)


def _of_keras(name: str) -> str:
    head, _, below = name.partition(".")
    return below if head == "tensorflow" and below.startswith("keras") else name


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a function in their order, those of its conditions too."""
    for statement in body:
        yield statement
        for field in ("body", "handlers", "orelse", "finalbody"):
            inside = getattr(statement, field, None)
            if inside and not isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
                yield from statements(inside)


def is_module(name: str) -> bool:
    """Whether a dotted name is that of a module."""
    below = name[11:] if name[:11] == "tensorflow." else name
    return below in ("tensorflow", "keras") or symbols.kind(below) == "module"


def common(found: list[Binding | None]) -> Binding | None:
    """What all of some values stand for; a module may be missing at first, or be chosen from two."""
    known = [one for one in found if one is not None]
    if all(is_module(one.name) for one in known):
        binding = known[0] if known else None
        for one in known[1:]:
            binding = one if binding is None else joined(binding, one)
        return binding
    is_one = len(known) == len(found) and len({one.name for one in known}) == 1
    return known[0] if is_one else None


def is_own(node: ast.AST) -> bool:
    """Whether an expression is ``self.x`` or ``cls.x``."""
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in ("self", "cls")


def targets(node: ast.stmt) -> Iterator[tuple[Any, ast.expr]]:
    """(target, value) of each assignment in a statement; those of ``a, b = c, d`` one by one."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from pairs(target, node.value)


def pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[Any, ast.expr]]:
    """(target, value) of an assignment; those of ``a, b = c, d`` one by one."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield target, value
    elif isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
        yield from zip(target.elts, value.elts)
