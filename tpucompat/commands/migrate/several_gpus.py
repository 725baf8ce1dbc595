"""``multi_gpu_model(model, gpus=2)`` -> ``model``, whose weights its replicas shared."""

from __future__ import annotations

from typing import Sequence

from tpucompat.commands.migrate.context import Context
from tpucompat.names.used import Call, argument, walk

_NOTE = (
    "multi_gpu_model → the model itself, which computes the same: build and compile it in "
    "tf.distribute.MirroredStrategy().scope() to train it on several GPUs"
)


def find(context: Context) -> list[Call]:
    """The calls of a file that are given a model."""
    return [
        call
        for call in context.names.calls
        if call.name.endswith(".multi_gpu_model")
        and "keras" in call.name
        and not call.guarded
        and argument(call.node, 0, "model") is not None
    ]


def rewrite(context: Context, found: Sequence[Call]) -> None:
    """Writes the model in their place."""
    for call in found:
        cell = context.cell_of(call.node)
        text = context.texts[cell]
        model = argument(call.node, 0, "model")
        assert model is not None
        (start, end), (first, last) = text.span(call.node), text.span(model)
        if text.is_free(start, first) and text.is_free(last, end):
            text.replace(start, first, "")
            text.replace(last, end, "")
            context.done.update(id(node) for node in walk(call.node.func))
            context.note("TPU426", _NOTE, call.node, cell)
