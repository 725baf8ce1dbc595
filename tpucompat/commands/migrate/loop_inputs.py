"""Whether the input functions of a program return datasets, as far as its files tell."""

from __future__ import annotations

import ast
from typing import Any, Iterator, Sequence

from tpucompat.names.used import walk

#: What says that an input_fn may return tensors.
TENSORS = r"returns tensors|get_next|make_\w+_iterator|\w+_input_producer|\w+_input_fn of tensors"
_METHODS = {
    *(
        "apply",
        "batch",
        "cache",
        "concatenate",
        "enumerate",
        "filter",
        "flat_map",
        "from_generator",
    ),
    *(
        "from_tensor_slices",
        "from_tensors",
        "interleave",
        "list_files",
        "map",
        "map_and_batch",
        "padded_batch",
    ),
    *(
        "prefetch",
        "range",
        "repeat",
        "shard",
        "shuffle",
        "skip",
        "take",
        "unbatch",
        "window",
        "with_options",
    ),
    *("FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset", "choose_from_datasets"),
    *("sample_from_datasets", "zip"),
}
#: A call -> the place of an input_fn in it.
_PLACES = {"train": 0, "evaluate": 0, "predict": 0, "TrainSpec": 0, "EvalSpec": 0}
#: The functions of the loop that make an input_fn.
_MAKERS = ("numpy_input_fn", "pandas_input_fn")


def words(trees: Sequence[ast.Module]) -> set[str]:
    """``returns tensors`` where an input_fn may return anything but a dataset."""
    functions: dict[str, list[Any]] = {}
    nodes = [node for tree in trees for node in walk(tree)]
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    reader = _Reader(functions)
    given = [one for call in calls for one in _given(call)]
    return set() if given and all(map(reader.makes, given)) else {"returns tensors"}


def _given(call: ast.Call) -> Iterator[ast.expr]:
    name = _Reader.name(call)
    if name in _PLACES:
        yield from [word.value for word in call.keywords if word.arg == "input_fn"]
        yield from call.args[_PLACES[name] : _PLACES[name] + 1]


class _Reader:
    """Finds what functions return.

    Args:
      functions: Those of the program, by name.
    """

    def __init__(self, functions: dict[str, list[Any]]) -> None:
        self._functions, self._seen = functions, set()  # type: ignore[var-annotated]

    @staticmethod
    def name(call: ast.expr) -> str:
        """The last part of the name of a function, or of what is called."""
        node: Any = call.func if isinstance(call, ast.Call) else call
        return getattr(node, "attr", "") or getattr(node, "id", "")

    def makes(self, node: ast.expr, around: Any = None) -> bool:
        """Whether an expression is a function that returns datasets."""
        if isinstance(node, ast.Lambda):
            return self._is_dataset(node.body, None)
        if isinstance(node, ast.Call) and self.name(node) == "partial" and node.args:
            return self.makes(node.args[0], around)
        if isinstance(node, ast.Call):
            if self.name(node) in _MAKERS:
                return True
            made = self._functions.get(self.name(node), [])
            return bool(made) and all(self._all(one, self.makes) for one in made)
        found = self._functions.get(self.name(node), [])
        if found:
            return all(self._all(one, self._is_dataset) for one in found)
        values = self._assigned(self.name(node), around) if isinstance(node, ast.Name) else []
        return bool(values) and all(self.makes(one, around) for one in values)

    def _all(self, function: Any, check: Any) -> bool:
        """Whether all that a function returns passes; one that is being looked into does."""
        if (function, check.__name__) in self._seen:
            return True
        self._seen.add((function, check.__name__))
        returned = [one.value for one in _within(function) if isinstance(one, ast.Return)]
        return bool(returned) and all(one is not None and check(one, function) for one in returned)

    def _is_dataset(self, node: ast.expr, around: Any) -> bool:
        if isinstance(node, ast.Call):
            own = self._functions.get(self.name(node), [])
            if own:
                return all(self._all(one, self._is_dataset) for one in own)
            return self.name(node) in _METHODS
        if isinstance(node, ast.Name):
            values = self._assigned(node.id, around)
            return bool(values) and all(
                self._is_dataset(one, None) or self._is_same(one, node.id) for one in values
            )
        return False

    def _is_same(self, value: ast.expr, name: str) -> bool:
        return isinstance(value, ast.Name) and value.id == name

    def _assigned(self, name: str, around: Any) -> list[ast.expr]:
        nodes = _within(around) if around is not None else []
        return [
            one.value
            for one in nodes
            if isinstance(one, ast.Assign)
            and any(getattr(to, "id", "") == name for to in one.targets)
        ]


def _within(function: Any) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions in it."""
    waiting: list[ast.AST] = (
        [*function.body] if isinstance(function.body, list) else [function.body]
    )
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)
