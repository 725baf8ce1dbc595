"""The session engine: puts the process into the world of TensorFlow 1 graphs and sessions."""

from __future__ import annotations

import functools
import re
import warnings
from typing import Any

from tpucompat.base import keras_generation
from tpucompat.base.late import late
from tpucompat.base.machine import current_environment
from tpucompat.engines import accelerator, observer
from tpucompat.tf import patches, private
from tpucompat.tf.patches.row import GRAPH, SEVERAL_CORES

tensorflow = late("tensorflow")


def enter_graph_mode() -> Any:
    """Puts TensorFlow 2 into the graph world; TensorFlow 1 is there.

    Graphs and sessions, TensorFlow 1 shapes, reference variables and Keras' graph engine are those
    of ``tf.compat.v1.disable_v2_behavior()``. :func:`_choose_variables` says what is done about the
    variables. Loops and conditionals keep their first form, which a TPU compiles too; with several cores the
    runs of all sessions are watched (:mod:`tpucompat.engines.coherence`).

    Idempotent; to be called before anything touches ``tf.keras`` on TensorFlow 2.16 and later.

    Returns:
      The TensorFlow 1 API: ``tensorflow.compat.v1``; on TensorFlow 1 ``tensorflow`` itself.

    Raises:
      tpucompat.base.errors.SetupError: ``tf.keras`` cannot be a Keras with a graph engine; see
        :func:`tpucompat.base.keras_generation.choose`.
    """
    is_2 = not current_environment().has("contrib")
    if not patches.is_applied(GRAPH):
        _enter(is_2)
    return tensorflow.compat.v1 if is_2 else tensorflow


def _enter(is_2: bool) -> None:
    if is_2:
        keras_generation.choose()
        quieten()
    accelerator.prepare()  # before anything starts TensorFlow's runtime
    if is_2:
        tensorflow.compat.v1.disable_v2_behavior()
    _choose_variables()
    patches.apply(GRAPH)
    if accelerator.is_tpu() or accelerator.cores() > 1:
        patches.apply(SEVERAL_CORES)


def v1() -> Any:
    """``tensorflow.compat.v1``, on TensorFlow 1 too, where :func:`enter_graph_mode` gives ``tensorflow``.

    Not ``enter_graph_mode().compat.v1``: 2.0 has no ``compat.v1.compat.v1``.
    """
    enter_graph_mode()
    return tensorflow.compat.v1


def _choose_variables() -> None:
    """Lets the script have TensorFlow 1's reference variables, and resource variables for several cores.

    Programs look at what they have in 1.15 (``sess.run('w:0')``, ``w.op.type``, an optimizer with
    ``_apply_dense`` only, which operations a model has). What was wrong with reference variables,
    that an assignment races with another layer's backward read, is what :func:`private.gate_gradients`
    prevents. The cores of a TPU, and a program that is made for one, take resource variables only.
    """
    if current_environment().tpu or observer.watched() or accelerator.cores() > 1:
        tensorflow.compat.v1.enable_resource_variables()
    else:
        private.gate_gradients(_not_made_then)


def _not_made_then(graph: Any, operations: int) -> None:
    from tpucompat.engines import operation_seeds  # starts TensorFlow

    operation_seeds.add(graph, -operations)


_FILTERS = patches.Setting(
    "warnings.filters",
    lambda: list(warnings.filters),
    functools.partial(setattr, warnings, "filters"),
)


@patches.patch
def quieten() -> None:
    """Silences what tells the author of an old script to write a new one."""
    private.silence_deprecations()
    filters = [
        ("ignore", re.compile(message, re.IGNORECASE), UserWarning, None, 0)
        for message in (
            ".*`Model.state_updates` will be removed",
            ".*` is deprecated and will",
            "The `lr` argument is deprecated",
        )
    ]
    patches.replace(_FILTERS, "", [*filters, *warnings.filters])


def keras() -> Any:
    """The Keras with a graph engine: ``tf.keras`` of TensorFlow 1, ``tf.compat.v1.keras`` of 2."""
    return enter_graph_mode().keras


def keras_of_the_era() -> Any:
    """The Keras of the world that the process is in: ``tf.keras`` of eager code, :func:`keras` of graphs."""
    return tensorflow.keras if tensorflow.executing_eagerly() else keras()


def optimizers_of_the_era() -> Any:
    """Its optimizers that were the only ones up to 2.10, and since 2.11 are ``keras.optimizers.legacy``.

    2.9 and 2.10 have that module too, with subclasses that nothing makes of a name.
    """
    public = keras_of_the_era().optimizers
    legacy = getattr(public, "legacy", None)
    return public if legacy is None or issubclass(legacy.SGD, public.SGD) else legacy
