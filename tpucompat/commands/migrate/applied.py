"""``dataset.apply(tf.contrib.data.batch_and_drop_remainder(8))``: methods of a Dataset today."""

from __future__ import annotations

import ast
from typing import Any, Iterator, Mapping, NamedTuple

from tpucompat.commands.migrate.context import Context
from tpucompat.names.used import Call, walk

#: Function of tf.contrib.data -> (the method, what is added to its arguments).
_METHODS: Mapping[str, tuple[str, str]] = {
    "batch_and_drop_remainder": ("batch", "drop_remainder=True"),
    "padded_batch_and_drop_remainder": ("padded_batch", "drop_remainder=True"),
    "unbatch": ("unbatch", ""),
    "enumerate_dataset": ("enumerate", ""),
}
_PACKAGE = "tensorflow.contrib.data."


class Applied(NamedTuple):
    """``dataset.apply(function(…))``, with the function's name."""

    outer: ast.Call
    inner: ast.Call
    name: str


def find(context: Context) -> list[Applied]:
    """The calls of ``apply`` that can be written as methods."""
    made = {id(call.node): call for call in context.names.calls if not call.guarded}
    return [
        Applied(call.node, made[id(call.node.args[0])].node, name)
        for call in made.values()
        for name in _names(call, made)
    ]


def _names(call: Call, made: Mapping[int, Call]) -> Iterator[str]:
    if call.name != ".apply" or len(call.node.args) != 1 or call.node.keywords:
        return
    inner = made.get(id(call.node.args[0]))
    if inner is not None and inner.name.startswith(_PACKAGE):
        name = inner.name[len(_PACKAGE) :]
        if name in _METHODS:
            yield name


def rewrite(context: Context, found: list[Applied]) -> None:
    """Writes them so; what they are given stays where it is."""
    for one in found:
        cell = context.cell_of(one.outer)
        text = context.texts[cell]
        method, more = _METHODS[one.name]
        function: Any = one.outer.func
        begin, end = text.span(function.value)[1], text.span(one.inner.func)[1]
        text.replace(begin, end, "." + method)
        closing = text.span(one.inner)[1]
        if more:
            is_empty = not one.inner.args and not one.inner.keywords
            text.replace(closing - 1, closing - 1, more if is_empty else f", {more}")
        text.replace(closing, text.span(one.outer)[1], "")
        context.done.update(id(node) for node in (one.outer.func, *walk(one.inner.func)))
