"""Arrays of Datasets and Sessions where a number is wanted, which NumPy 2.4 no longer makes: ``int(label)``."""

from __future__ import annotations

import ast
from typing import Any, Iterable, Iterator, Mapping

from tpucompat.commands.analysis.graph_axes import GraphAxes
from tpucompat.commands.analysis.keras_values import DATASET, Values, key
from tpucompat.names.used import Function, constant, index_of, walk

#: What is known of an element: an array of NumPy's, a tensor, or one of them among other values of its name.
ARRAY, TENSOR, MIXED = "array", "tensor", "mixed"
#: Methods of a Dataset whose elements may have any axes; the others keep those of its batches.
_WITHOUT = frozenset(("unbatch", "flat_map", "interleave", "map", "apply", "reduce", "window"))
#: Methods whose elements are those of the Dataset itself.
_SAME = frozenset(("take", "skip", "repeat", "shuffle", "prefetch", "cache", "shard", "filter"))
_OF_TFDS = frozenset(("tfds", "tensorflow_datasets"))
_APPLIED = frozenset(("batch_and_drop_remainder", "map_and_batch"))
#: Functions and methods through which the elements go unchanged.
_AROUND = frozenset(("iter", "islice", "itertools.islice", "tqdm", "tqdm.tqdm", "list"))
_DEPTH = 5


def kind(
    values: Values, functions: Mapping[str, Function], node: ast.AST, depth: int = _DEPTH
) -> str:
    """Which kind of element of a batched Dataset, or row of a Session's result, a node is; "" if neither.

    Args:
      values: What the file's names have.
      functions: The functions of the file.
      node: The expression.
      depth: How many names it may be found behind.
    """
    if not depth:
        return ""
    inner = functions, depth - 1
    if isinstance(node, ast.Name):
        place = values.scope(node), node.id, depth
        if place not in values.elements:
            is_whole = _is_whole_of_run(values, functions, node)
            values.elements[place] = MIXED if is_whole else _of_name(values, node, *inner)
        return values.elements[place]
    if _is_whole_of_run(values, functions, node):
        return MIXED
    if isinstance(node, ast.Subscript):  # of a dictionary
        is_text = isinstance(constant(index_of(node)), str)
        if not is_text and _is_row_of_run(values, node):
            return MIXED
        is_part = is_text or _is_part_of_item(values, functions, node)
        return kind(values, functions, node.value, depth) if is_part else ""
    if not isinstance(node, ast.Call):
        return ""
    if _is_next(node):
        return _of_items(values, node.args[0], *inner)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "numpy":
        owner = kind(values, functions, node.func.value, depth)
        return {TENSOR: ARRAY, MIXED: MIXED}.get(owner, "")
    return ""


def _of_name(values: Values, node: ast.Name, functions: Mapping[str, Function], depth: int) -> str:
    """The kind of what a name may have; MIXED where that is not one kind."""
    made = {kind(values, functions, one, depth) for one in values.values(node)}
    gone = [*values.iterated(node), *values.parts_of_items(node)]
    gone += [one.args[0] for one in values.unpacked(node) if _is_next(one)]  # type: ignore[attr-defined]
    made |= {_of_items(values, one, functions, depth) for one in gone}
    return made.pop() if len(made) == 1 else MIXED if made - {""} else ""


def _is_row_of_run(values: Values, node: ast.Subscript) -> bool:
    """Whether an expression is a part of an array that a Session gave, which may be a row: ``run(x)[0]``."""
    if isinstance(index_of(node), ast.Slice):
        return False
    whole: Any = node.value
    if isinstance(whole, ast.Subscript):  # of one of several results
        whole = whole.value
        return any(_is_run(one, several=True) for one in [whole, *values.values(whole)])
    if any(_is_run(one, several=True) for one in values.unpacked(whole)):
        return True
    return any(_is_run(one, several=False) for one in [whole, *values.values(whole)])


def _is_part_of_item(
    values: Values, functions: Mapping[str, Function], node: ast.Subscript
) -> bool:
    """Whether a node is ``batch[1]``, or a row of that, of a loop over ``batch``, or a row of a part of it."""
    owner: Any = node
    indices = 0
    while isinstance(owner, ast.Subscript):
        index = index_of(owner)
        if isinstance(index, (ast.Slice, ast.Tuple)):
            return False
        indices += not isinstance(constant(index), str)
        owner = owner.value
    is_whole = isinstance(owner, ast.Name) and bool(values.iterated(owner))
    return indices <= (2 if is_whole or _is_next(owner) else 1)


def _is_whole_of_run(values: Values, functions: Mapping[str, Function], node: Any) -> bool:
    """Whether a node is what a Session gave for one tensor, unless the file shows that this is a number."""
    fetched: list[Any] = []
    if isinstance(node, ast.Call):
        fetched = _fetched(values, node)
    elif isinstance(node, ast.Name):
        made: list[Any] = values.unpacked(node)
        for call in made:
            fetched += _fetched(values, call, values.places(node, call))
    elif isinstance(node, ast.Subscript) and isinstance(constant(index_of(node)), int):
        made = [node.value, *values.values(node.value)]
        for call in made:
            fetched += _fetched(values, call, [constant(index_of(node))])
    of = GraphAxes(values, functions).of
    return any(of(one) != 0 for one in fetched)


def _fetched(values: Values, node: ast.Call, places: Iterable[int] | None = None) -> list[Any]:
    """The tensors that a Session is run for, or those in some places of them."""
    function: Any = getattr(node, "func", None)
    if getattr(function, "attr", "") != "run" or not node.args:
        return []
    owner, first = function.value, node.args[0]
    made = [values.called.get(id(one), "") for one in [owner, *values.values(owner)]]
    if "sess" not in key(owner).lower() and not any(one.endswith("Session") for one in made):
        return []
    if isinstance(first, (ast.List, ast.Tuple)):
        return [first.elts[place] for place in places or () if place < len(first.elts)]
    is_one = places is None and not isinstance(first, (ast.Dict, ast.DictComp, ast.ListComp))
    return [first] if is_one else []


def _is_run(node: Any, several: bool) -> bool:
    """Whether an expression runs a Session for several results, or for one."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    if not is_call or node.func.attr not in ("run", "eval"):
        return False
    return isinstance(node.args[0], (ast.List, ast.Tuple)) == several if node.args else not several


def _is_next(node: Any) -> bool:
    return isinstance(node, ast.Call) and key(node.func) == "next" and len(node.args) == 1


def _of_items(values: Values, node: Any, functions: Mapping[str, Function], depth: int) -> str:
    """The kind of what an expression goes through."""
    if not depth:
        return ""
    if isinstance(node, ast.Name):
        made = [*values.values(node), *values.given(node)]
        found = {_of_items(values, one, functions, depth - 1) for one in made}
        return found.pop() if len(found) == 1 else ""
    if not isinstance(node, ast.Call):
        return ""
    name = key(node.func)
    if name in _AROUND or (name == "enumerate" and node.args):
        return _of_items(values, node.args[0], functions, depth - 1) if node.args else ""
    if name.endswith(".as_numpy") and len(node.args) == 1:  # of tensorflow_datasets
        return ARRAY if _is_batched(values, node.args[0], functions, depth) else ""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "as_numpy_iterator":
        return ARRAY if _is_batched(values, node.func.value, functions, depth) else ""
    if _is_batched(values, node, functions, depth):
        return TENSOR
    # What a function gives, or rows of an array, may have an axis too; a text has none.
    return MIXED if DATASET in values.kinds(node) and not _counts(values, node) else ""


def _counts(values: Values, node: Any) -> bool:
    """Whether the elements of a Dataset are numbers for sure."""
    while isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _SAME:
        node = node.func.value  # type: ignore[attr-defined]
    return values.called.get(id(node), "").endswith(".Dataset.range")


def _is_batched(values: Values, node: Any, functions: Mapping[str, Function], depth: int) -> bool:
    """Whether an expression is a Dataset of batches, by the last method that bears on it."""
    if not depth:
        return False
    if isinstance(node, ast.Name):
        made = [*values.values(node), *values.given(node)]
        found = [_is_batched(values, one, functions, depth - 1) for one in made]
        return bool(found) and all(found)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        function = functions.get(node.func.id)
        returned = _returned(function.node) if function is not None else iter(())
        results = [_is_batched(values, one, functions, depth - 1) for one in returned]
        return bool(results) and all(results)
    if not isinstance(node.func, ast.Attribute):
        return False
    method = node.func.attr
    if method in ("batch", "padded_batch"):
        is_of_tfds = isinstance(_root(node), ast.Name) and key(_root(node)) in _OF_TFDS
        return is_of_tfds or DATASET in values.kinds(node.func.value)
    if method == "apply":
        applied = [key(getattr(one, "func", one)).rpartition(".")[2] for one in node.args]
        return bool(_APPLIED & set(applied))
    return method not in _WITHOUT and _is_batched(values, node.func.value, functions, depth)


def _root(node: Any) -> Any:
    """What a chain of methods begins with."""
    while isinstance(node, (ast.Call, ast.Attribute)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def _returned(function: Any) -> Iterator[ast.AST]:
    for node in walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value
