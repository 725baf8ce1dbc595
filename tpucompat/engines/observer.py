"""Observers of a script's TPU computations, as they are traced and before they run.

``tpucompat check`` registers itself here. The idioms call :func:`tell` where they have traced a
computation; without an observer that does nothing, and the computation runs.
"""

from __future__ import annotations

import contextlib
from typing import Any, ContextManager, Iterator, Mapping, NamedTuple, Sequence


class Computation(NamedTuple):
    """What one core is to run.

    Attributes:
      kind: What it is, for people: "training step of TPUEstimator".
      graph: Has ``as_graph_def()`` and ``get_operation_by_name``; it may hold much else.
      inputs: The tensors of it that a core is fed.
      outputs: The tensors wanted.
      updates: Operations or tensors that run too.
      constants: Tensor -> value, for what has one value for good.
      shapes: The shapes of the inputs as they are fed; None where those of the tensors are known.
      handles: Name of a tensor -> (``tf.DType``, ``tf.TensorShape``), for inputs that are the
        handle of a variable.
      replicas: How many cores run it.
    """

    kind: str
    graph: Any
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    updates: Sequence[Any] = ()
    constants: Mapping[Any, Any] = {}
    shapes: Sequence[Any] | None = None
    handles: Mapping[str, Any] = {}
    replicas: int = 1


class Observer:
    """Base of the observers of computations."""

    def told(self, computation: Computation) -> bool:
        """Is called with every computation; returns whether it shall not be run."""
        raise NotImplementedError

    def note(self, text: str) -> None:
        """Receives a note about the script that is not a computation."""
        raise NotImplementedError

    def tracing(self, kind: str) -> ContextManager[Any]:
        """The context in which a computation of that kind is traced."""
        raise NotImplementedError


@contextlib.contextmanager
def on_host(graph: Any) -> Iterator[None]:
    """Within: what is added to the graph stays on the host (``outside_compilation``)."""
    before = len(graph.get_operations())
    yield
    made = {operation.name for operation in graph.get_operations()[before:]}
    graph._tpucompat_on_host = made_on_host(graph) | made


def made_on_host(graph: Any) -> set[str]:
    """The names of a graph's operations that stay on the host."""
    return set(getattr(graph, "_tpucompat_on_host", ()))


class Told(BaseException):
    """Ends the building of a graph whose computation was told; no ``except Exception`` shall stop it.

    Args:
      result: What the building had come to.
    """

    def __init__(self, result: Any = None) -> None:
        super().__init__("the computation was told to an observer")
        self.result = result


_observer: Observer | None = None


def register(observer: Observer | None) -> None:
    """Sets who sees the computations; None for nobody."""
    global _observer
    _observer = observer


def watched() -> bool:
    """Whether there is an observer."""
    return _observer is not None


def tell(computation: Computation) -> bool:
    """Shows a computation to the observer.

    Returns:
      Whether it shall not be run; False where nobody observes.
    """
    return _observer is not None and _observer.told(computation)


def note(text: str) -> None:
    """Tells the observer something about the script."""
    if _observer is not None:
        _observer.note(text)


def tracing(kind: str) -> ContextManager[Any]:
    """The context in which a computation is traced; an empty one where nobody observes."""
    return contextlib.nullcontext() if _observer is None else _observer.tracing(kind)
