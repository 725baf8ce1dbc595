"""Remembers labels and outputs where a loss compares them: the forward pass, as far as it can be seen.

A loss is made by a handful of functions. What they are given is kept until somebody differentiates a loss
in the same graph (or under the same tape), and is recorded with it.
"""

from __future__ import annotations

import functools
import inspect
import threading
from typing import Any, Callable, NamedTuple

import tensorflow as tf

from tpucompat.tf import private

#: Function -> what its outputs are.
LOSSES = {
    "softmax_cross_entropy_with_logits": "softmax",
    "softmax_cross_entropy_with_logits_v2": "softmax",
    "sparse_softmax_cross_entropy_with_logits": "softmax",
    "sparse_softmax_cross_entropy_with_logits_v2": "softmax",
    "sigmoid_cross_entropy_with_logits": "sigmoid",
    "sigmoid_cross_entropy_with_logits_v2": "sigmoid",
}
#: At most so many of the latest are kept: a script may build losses that nobody differentiates.
_KEPT = 4


class Seen(NamedTuple):
    """What a loss was given; tensors."""

    kind: str
    labels: Any
    outputs: Any


_thread = threading.local()


def watch() -> None:
    """Watches the functions, wherever TensorFlow keeps them."""
    for module in private.loss_modules():
        for name, kind in LOSSES.items():
            function = getattr(module, name, None)
            if function is not None and not hasattr(function, "_tpucompat_watched"):
                setattr(module, name, _watched(function, kind))


def forget() -> None:
    """What this thread has seen is done with: a new step begins."""
    _thread.seen = []


def seen_in(graph: Any) -> list[Seen]:
    """What this thread has seen since :func:`forget`.

    Args:
      graph: Only what is in this graph; None for eager tensors.
    """
    found = []
    for seen in getattr(_thread, "seen", []):
        graphs = [_graph_of(tensor) for tensor in (seen.labels, seen.outputs)]
        if all(each is graph for each in graphs):
            found.append(seen)
    return found[-1:]


def _graph_of(tensor: Any) -> Any:
    try:
        return tensor.graph
    except AttributeError:  # an eager tensor
        return None


def not_converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which AutoGraph leaves alone: it is called inside of traced functions."""
    autograph = getattr(tf, "autograph", None)
    mark = getattr(getattr(autograph, "experimental", None), "do_not_convert", None)
    if mark is None or tf.__version__.startswith("1."):
        return function
    marked: Callable[..., Any] = mark(function)
    return marked


def is_eager_program() -> bool:
    """Whether what is built here, if anything, is the graph of a ``tf.function``."""
    if tf.__version__.startswith("1."):
        return False
    return bool(tf.compat.v1.executing_eagerly_outside_functions())


def by_name(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The arguments of a call, by name; empty for a call that cannot be made."""
    try:
        return dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):  # the function itself says what is wrong
        return {}


def _watched(function: Callable[..., Any], kind: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> Any:
        if getattr(_thread, "inside", False):  # one of them calls another
            return function(*args, **kwargs)
        _thread.inside = True
        try:
            named = by_name(function, args, kwargs)
            labels, logits = named.get("labels"), named.get("logits")
            if labels is not None and logits is not None:
                logits = tf.convert_to_tensor(logits)
                labels = tf.convert_to_tensor(labels)
                seen = [*getattr(_thread, "seen", []), Seen(kind, labels, logits)]
                _thread.seen = seen[-_KEPT:]
                for name, value in (("labels", labels), ("logits", logits)):
                    if name in kwargs:
                        kwargs[name] = value
            return function(*args, **kwargs)
        finally:
            _thread.inside = False

    watched._tpucompat_watched = True  # type: ignore[attr-defined]
    return not_converted(watched)
