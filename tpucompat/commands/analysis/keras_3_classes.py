"""Classes and modules of Keras that a program reaches through other values than names.

A class may come from a dictionary, a loop, or ``getattr(keras.optimizers, name)``: where an argument of a call
has changed in the same way for all that it may be, it is rewritten as that of one. A module that is kept in a
list, or given to a function, is used where nothing shows what is taken from it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes, keras_3_unseen
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_optimizers import OLD_SETTINGS
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_3_texts import leaves
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.nodes import children
from tpucompat.names.used import Call, constant
from tpucompat.names.used_scopes import is_module, is_own, targets

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: Functions that ask a module for nothing that has changed.
_ASKING = frozenset(
    (
        *("dir", "getattr", "hasattr", "help", "id", "isinstance", "print", "reload", "repr"),
        *("setattr", "str", "type", "vars", "getmembers", "getfile", "getsource"),
    )
)

#: A rewriting that puts another class in the place of one, also where that is not called.
_IN_PLACE = "outer_epsilon"
#: Rewritings that write out an argument that a call leaves to its class -> that argument; "" is the default
#: that the difference names. Where the classes differ in it, it is written where the class is.
_OMITTED = {
    "cudnn": "recurrent_activation='sigmoid'",
    "hard_sigmoid": "recurrent_activation=hard_sigmoid",
    "default": "",
}
_OF_CLASSES = frozenset(("__mro__", "__name__", "__qualname__", "from_config", "mro"))
#: The class that is replaced.
_RMSPROP = frozenset(("RMSprop",))
#: Rewritings of a call that leave its function alone.
_BESIDE = frozenset(("", "default"))


def differences(finder: Finder) -> Iterator[Difference]:
    """What the calls of such classes give, and each place where a module is handed on."""
    yield from _modules(finder)
    if not _has_values(finder):
        return
    for node in finder.nodes:
        if isinstance(node, ast.Call) and (node.keywords or node.args):
            name = finder.values.called.get(id(node), "")
            if name.rpartition(".")[2] == "partial" and node.args:
                yield from _of_call(finder, node, node.args[0], is_partial=True)
            elif not below_keras(name) or is_several(finder, node.func):
                yield from _of_call(finder, node, node.func)


def is_several(finder: Finder, function: ast.AST) -> bool:
    """Whether a name may be one of several classes: ``LSTM if on_cpu else CuDNNLSTM``."""
    made = finder.values.values(function) if isinstance(function, ast.Name) else []
    found = {_class(finder, one)[0] for value in made for one in leaves(finder, value)}
    return len(found - {""}) > 1


def _has_values(finder: Finder) -> bool:
    """Whether a class of Keras is a value in the file, or is looked up by a name that is not written out."""
    return any(
        use.statement is None and use.parent is None and below_keras(use.name)
        for use in finder.names.uses
    )


def _of_call(
    finder: Finder, node: ast.Call, function: ast.AST, is_partial: bool = False
) -> Iterator[Difference]:
    found = list(leaves(finder, function))
    for leaf in found:
        if isinstance(leaf, ast.Call) and getattr(leaf.func, "id", "") == "getattr":
            yield from _of_any(finder, node, leaf)
    classes = [made for made in found if _class(finder, made)[0]]
    each = [_of_class(finder, node, made, is_partial) for made in classes]
    is_known = all(_class(finder, one)[0] or isinstance(one, ast.Constant) for one in found)
    for number, some in enumerate(each):
        for mark, one in some.items():
            if one.row.how == "keep":
                continue
            is_beside = one.node is not node or one.row.how in _BESIDE
            is_common = is_known and is_beside and all(mark in other for other in each)
            if one.row.how == _IN_PLACE or (is_partial and one.node is node and len(each) == 1):
                yield one
            elif (
                not is_common and one.node is node and _is_written_out(finder, classes[number], one)
            ):
                words = _OMITTED[one.row.how] or one.name
                yield Difference(one.row._replace(how="partial"), classes[number], None, words)
            elif not is_common and one.name in OLD_SETTINGS:
                yield Difference(table.BEHAVIOURS["settings"], node, node, "settings")
            elif not is_common:
                yield one._replace(row=one.row._replace(how=""))
            elif all(mark not in other for other in each[:number]):
                yield one


def _is_written_out(finder: Finder, made: ast.AST, one: Difference) -> bool:
    """Whether an argument that a layer's class defaults otherwise is written where the class is."""
    is_layer = _class(finder, made)[0].startswith("layers.")
    return is_layer and one.row.how in _OMITTED and not _asks_classes(finder)


@indexes.once
def _asks_classes(finder: Finder) -> bool:
    """Whether the script asks a class for what a partial function does not have."""
    return any(node.attr in _OF_CLASSES for node in indexes.nodes(finder, ast.Attribute))


def _class(finder: Finder, node: ast.AST) -> tuple[str, str]:
    full = finder.values.used.get(id(node), "")
    below = below_keras(full)
    package, _, last = below.rpartition(".")
    return (below, full) if package and last[:1].isupper() else ("", "")


def _of_class(
    finder: Finder, node: ast.Call, made: ast.AST, is_partial: bool
) -> dict[tuple[int, str, str], Difference]:
    below, full = _class(finder, made)
    call = Call(full, node, None, False)
    found = [*finder.signature(call, below, table.owners(below)), *finder.of_call(call, below)]
    given = {id(word.value) for word in node.keywords}
    return {
        (id(one.node), one.row.becomes, one.row.how): (
            one._replace(node=made) if one.row.how == _IN_PLACE else one
        )
        for one in found
        # What a later call gives takes the place of what is given here.
        if id(one.node) in given or not is_partial or one.row.how in (_IN_PLACE, *_OMITTED)
    }


def _of_any(finder: Finder, node: ast.Call, looked_up: ast.Call) -> Iterator[Difference]:
    """The arguments of a call that some class of a module takes otherwise."""
    module = below_keras(finder.values.used.get(id(looked_up.args[0]), "") + ".x")[:-2]
    if not module or len(looked_up.args) < 2 or isinstance(constant(looked_up.args[1]), str):
        return
    if (
        module == "optimizers"
        and id(looked_up) not in finder.wrapped
        and _may_be_rmsprop(finder, looked_up.args[1])
    ):
        yield Difference(table.BEHAVIOURS["class_of_text"], looked_up, node, "RMSprop")
    for word in node.keywords:
        row = table.ARGUMENTS.get(("*", word.arg or ""))
        if row is not None and row.how == "decay":  # whose rate is that of some class
            yield Difference(table.BEHAVIOURS["settings"], node, node, "settings")
            continue
        changed = [
            owner
            for (kind, owner), lines in table.lines().items()
            if kind == "argument" and owner.rpartition(".")[0] == module
            if any(line.rest[0] == word.arg for line in lines)
        ]
        if row is None and changed:
            row = table.Row(f"{changed[0]}({word.arg}=)", "", "", table.REFUSED)
        if row is not None and changed:
            yield Difference(row, word.value, node, word.arg or "", changed[0])


def _may_be_rmsprop(finder: Finder, name: ast.AST) -> bool:
    unseen = keras_3_unseen.words(finder, name, _RMSPROP, _RMSPROP if finder.tf1 else frozenset())
    return bool(unseen) or any(constant(one) in _RMSPROP for one in leaves(finder, name))


# Modules -------------------------------------------------------------------------------------------


def _modules(finder: Finder) -> Iterator[Difference]:
    """Each place where a module of Keras is a value that no name stands for."""
    modules = {
        id(use.node): use.node
        for use in finder.names.uses
        if use.statement is None and use.parent is None and not use.guarded
        if is_module(use.name) and below_keras(use.name + ".x")
    }
    if not modules:
        return
    for node in finder.nodes:
        for value in _handed_on(node):
            if id(value) in modules:
                yield Difference(table.BEHAVIOURS["module"], value, None, key(value))


def _handed_on(node: Any) -> Iterator[ast.AST]:
    """The values that a node gives to what is not followed."""
    if isinstance(node, ast.Call):
        if key(node.func).rpartition(".")[2] not in _ASKING:
            yield from node.args
            yield from (word.value for word in node.keywords)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        for target, value in targets(node):
            if not isinstance(target, ast.Name) and not is_own(target):
                yield value
    elif isinstance(node, (ast.Return, ast.Yield)):
        if isinstance(node.value, (ast.Tuple, ast.List, ast.Dict)):
            yield from children(node.value)
        elif isinstance(node, ast.Yield) and node.value is not None:
            yield node.value
    elif isinstance(node, (ast.List, ast.Set, ast.Dict)):
        yield from children(node)
    elif isinstance(node, ast.arguments):
        yield from (*node.defaults, *filter(None, node.kw_defaults))
    elif isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple):
        yield from node.iter.elts
