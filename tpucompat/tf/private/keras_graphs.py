"""What Keras 2 does in graphs since 1.15: masks of loops, updates of metrics, names of custom objects."""

from __future__ import annotations

import functools
import importlib
import types
from typing import Any

import tensorflow.compat.v1 as v1

from tpucompat.tf import patches
from tpucompat.tf.private.functions import left_alone_by_autograph
from tpucompat.tf.private.keras import keras_source


@patches.patch
def step_without_masks() -> None:
    """Lets TimeDistributed call its layer at every step, whatever a mask says, as 1.15.

    With a known batch size it loops over the steps, unless it knows the layer, and passes the mask on
    (``tensorflow/python/keras/layers/wrappers.py``). Later Keras gives the loop the mask, so that a masked step
    repeats the output of the one before, and asks the layer for its mask: seen in 2.15 (bundled Keras) and in
    tf-keras 2.16 to 2.21.
    """
    kind: Any = v1.keras.layers.TimeDistributed
    call, compute = kind.call, kind.compute_mask

    def has_batch_size(inputs: Any) -> bool:
        return getattr(inputs, "shape", None) is not None and bool(
            inputs.shape.rank and inputs.shape.as_list()[0]
        )

    @functools.wraps(call)
    def over_all_steps(self: Any, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        loops = has_batch_size(inputs) and not self._always_use_reshape
        return call(self, inputs, training=training, mask=None if loops else mask)

    @functools.wraps(compute)
    def compute_mask(self: Any, inputs: Any, mask: Any = None) -> Any:
        return mask if has_batch_size(inputs) else compute(self, inputs, mask)

    patches.replace(kind, "call", left_alone_by_autograph(over_all_steps))
    patches.replace(kind, "compute_mask", compute_mask)


@patches.patch
def read_updated_metrics() -> None:
    """Lets ``update_state`` of a metric give the value that it has written, as 1.15 in a graph.

    There it gives what the metric's own method returns: for most the last variable, read after the update.
    Later Keras gives the last operation of the graph. It reads that variable, but a Session returns None for
    it.
    Seen as ``metrics_utils.update_state_wrapper`` in 2.2 to 2.15 (bundled Keras) and in tf-keras 2.16 to 2.21.
    """
    module = importlib.import_module(keras_source() + ".utils.metrics_utils")
    given = module.update_state_wrapper

    @functools.wraps(given)
    def update_state_wrapper(function: Any) -> Any:
        update = given(function)

        @functools.wraps(update)
        def update_state(*args: Any, **kwargs: Any) -> Any:
            last = update(*args, **kwargs)
            reads = isinstance(last, v1.Operation) and last.type == "ReadVariableOp"
            return last.outputs[0] if reads else last

        return update_state

    patches.replace(module, "update_state_wrapper", update_state_wrapper)


@patches.patch
def share_custom_objects() -> None:
    """Lets all threads share what a ``CustomObjectScope`` and a script add to Keras' names, as in 1.15.

    Since 2.12 each thread has the names of its scopes for itself, where Keras looks first:
    ``saving.object_registration._THREAD_LOCAL_CUSTOM_OBJECTS``, seen in 2.15 (bundled Keras) and in tf-keras
    2.16 to 2.21.
    """
    module = _object_registration()
    if hasattr(module, "_THREAD_LOCAL_CUSTOM_OBJECTS"):
        patches.replace(module, "_THREAD_LOCAL_CUSTOM_OBJECTS", types.SimpleNamespace())


def custom_objects() -> dict[str, Any]:
    """What scopes and scripts add to Keras' names, after :func:`share_custom_objects`; a live dictionary."""
    scoped = getattr(_object_registration(), "_THREAD_LOCAL_CUSTOM_OBJECTS", None)
    found: dict[str, Any] = v1.keras.utils.get_custom_objects() if scoped is None else vars(scoped)
    return found


def _object_registration() -> Any:
    try:
        return importlib.import_module(keras_source() + ".saving.object_registration")
    except ImportError:
        return None  # up to 2.11: all names are in one dictionary
