"""Calls that get arguments from dictionaries of the script: ``model.compile(**settings)``.

The rules see such a call a second time, with the arguments written out. What they change, they change in the
dictionary.
"""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes, keras_3_axes
from tpucompat.commands.analysis.keras_3_optimizers import is_class
from tpucompat.commands.analysis.keras_3_texts import leaves, taken_in
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.used import Call, Names, constant

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: More dictionaries for one call than this are the settings of many programs.
_MOST = 8


class WrittenOut(ast.Call):
    """A call with the items of a dictionary as its arguments.

    Attributes:
      real: The call of the script.
      is_one_of_several: Whether it may get other dictionaries, so that nothing can be added to it for this one.
    """

    real: ast.Call
    is_one_of_several: bool


def with_settings(finder: Finder) -> Names:
    """The names of a file, with the calls that are written out here."""
    names = finder.names
    found = [each for call in names.calls for each in _written_out(finder, call)]
    if not found:
        return names
    names = copy.copy(names)
    names.calls = [*names.calls, *found]
    names.__dict__.pop("_answers", None)  # of the calls before
    return names


def _written_out(finder: Finder, call: Call) -> Iterator[Call]:
    if not (below_keras(call.name) or call.name.startswith(".")) or is_class(call.name):
        return  # optimizers have a function for their settings
    for word in call.node.keywords:
        values = _reaching(finder, word.value) if word.arg is None else []
        holders = [holder for one in values for holder in leaves(finder, one)]
        settings = [list(words(finder, holder)) for holder in holders]
        if word.arg is None:
            settings += _passed_on(finder, word.value)
        for given in settings[:_MOST]:
            if given:
                others = [one for one in call.node.keywords if one is not word]
                made = WrittenOut(call.node.func, call.node.args, [*others, *given])
                made.real, made.is_one_of_several = call.node, len(settings) > 1
                finder.values.adopt(made, call.node, call.name)
                yield call._replace(node=ast.copy_location(made, call.node))


def _passed_on(finder: Finder, settings: ast.expr) -> list[list[ast.keyword]]:
    """What the calls of ``def build(**settings)`` give it, where a call in it gets the same."""
    scopes = finder.values.scope(settings)
    function = next(
        (one for one in indexes.nodes(finder, ast.FunctionDef) if id(one) == scopes[-1]), None
    )
    if function is None or function.args.kwarg is None or key(settings) != function.args.kwarg.arg:
        return []
    own = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
    return [
        [word for word in call.keywords if word.arg is not None and word.arg not in own]
        for call in indexes.nodes(finder, ast.Call)
        if key(call.func).rpartition(".")[2] == function.name
    ]


def _reaching(finder: Finder, settings: ast.expr) -> list[ast.AST]:
    """What a name is where it is used: its last value above, and those that this one replaces in some cases."""
    here = keras_3_axes.place(finder, settings)
    values = finder.values.values(settings) if isinstance(settings, ast.Name) else []
    above = [one for one in values if keras_3_axes.place(finder, one) <= here]
    blocks = indexes.nodes(finder, ast.If, ast.For, ast.While, ast.Try)
    found: list[ast.AST] = []
    for one in reversed(above if len(values) > 1 else []):
        found.append(one)
        around = [block for block in blocks if id(one) in indexes.inside(finder, block)]
        if all(id(settings) in indexes.inside(finder, block) for block in around):
            break
    return found or [settings]


def words(
    finder: Finder, holder: Any, within: frozenset[int] = frozenset()
) -> Iterator[ast.keyword]:
    """The items of a dictionary and of those that it takes in, as arguments.

    Args:
      finder: Knows the assignments.
      holder: The dictionary.
      within: The identities of those that take it in, one of which may be made of itself: ``x = dict(x, a=1)``.
    """
    own: set[Any] = set()
    within |= {id(holder)}
    if isinstance(holder, ast.Call) and key(holder.func) == "dict":
        own = {word.arg for word in holder.keywords}
        yield from (word for word in holder.keywords if word.arg is not None)
    elif isinstance(holder, ast.Dict):
        own = {constant(name) for name in holder.keys if name is not None}
        for name, value in zip(holder.keys, holder.values):
            if name is not None and isinstance(constant(name), str):
                yield ast.copy_location(ast.keyword(constant(name), value), name)
    inner = (leaf for one in taken_in(holder) for leaf in leaves(finder, one))
    for one in (leaf for leaf in inner if id(leaf) not in within):
        yield from (word for word in words(finder, one, within) if word.arg not in own)
