"""Walks over the operations of a TF 1 graph."""

from __future__ import annotations

from typing import Any


def needed(operation: Any) -> set[Any]:
    """An operation and all operations that it needs, by data and by control.

    Args:
      operation: A ``tf.Operation``; the bodies of functions are not looked into.
    """
    found = {operation}
    waiting = [operation]
    while waiting:
        here = waiting.pop()
        for source in [*(tensor.op for tensor in here.inputs), *here.control_inputs]:
            if source not in found:
                found.add(source)
                waiting.append(source)
    return found
