"""The session engine: puts the process into the world of TensorFlow 1 graphs and sessions."""

from __future__ import annotations

import warnings
from typing import Any

from tpucompat.base import keras_generation
from tpucompat.base.late import late
from tpucompat.base.machine import current_environment
from tpucompat.engines import accelerator, local_devices, observer
from tpucompat.tf import private
from tpucompat.tf.private import patches

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
    if tensorflow.__version__.startswith("1."):
        _enter_on_1()
        return tensorflow
    _enter_on_2()
    return tensorflow.compat.v1


@patches.patch("1.13 to 1.15")
def _enter_on_1() -> None:
    """Completes TensorFlow 1's own graph mode."""
    accelerator.prepare()  # before anything starts TensorFlow's runtime
    _choose_variables()
    private.complete_api()
    private.let_graph_variables_be_true()
    private.complete_resource_variables()
    _show_values()
    local_devices.watch()


@patches.patch("2.0 to 2.21")
def _enter_on_2() -> None:
    """Puts TensorFlow 2 into graph mode."""
    keras_generation.choose()
    _quieten()
    accelerator.prepare()  # before anything starts TensorFlow's runtime
    tensorflow.compat.v1.disable_v2_behavior()
    private.forget_eager_start()
    _choose_variables()
    private.average_masked_losses_over_all()
    private.normalize_without_masks()
    private.feed_missing_axes()
    private.write_graphs_with_any_protobuf()
    private.write_all_h5_files_alike()
    private.name_recurrent_weights_by_layer()
    private.forget_masks_of_convolutional_cells()
    private.name_losses_like_tensorflow_1()
    private.count_resource_variables_as_variables()
    private.let_graph_variables_be_true()
    private.make_eager_tensors_hashable()
    private.accept_whole_numbers_as_dimensions()
    private.give_specs_their_sizes()
    private.complete_resource_variables()
    private.read_no_element_ahead()
    _show_values()
    _follow_seeds()
    local_devices.watch()
    if accelerator.is_tpu() or accelerator.cores() > 1:
        from tpucompat.engines import coherence  # the engine of several cores, for them alone

        coherence.watch()
    if accelerator.is_tpu():
        from tpucompat.engines import tpu_devices  # for TPUs alone

        tpu_devices.keep_sessions_off()


def _show_values() -> None:
    from tpucompat.engines import variables  # starts TensorFlow, which not each caller needs

    variables.show_values()


def _follow_seeds() -> None:
    """Up to 2.5 a seeded program draws what that release draws."""
    from tpucompat.engines import operation_seeds, repeated_shuffles  # start TensorFlow

    if not current_environment().has("operation_counts"):
        operation_seeds.install_tf1_computations()
        return
    operation_seeds.install_tf1_op_seeds()
    repeated_shuffles.install_tf1_shuffles()


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


def _quieten() -> None:
    """Silences what tells the author of an old script to write a new one."""
    private.silence_deprecations()
    for message in (
        ".*`Model.state_updates` will be removed",
        ".*` is deprecated and will",
        "The `lr` argument is deprecated",
    ):
        warnings.filterwarnings("ignore", message=message, category=UserWarning)


def keras() -> Any:
    """The Keras with a graph engine: ``tf.keras`` of TensorFlow 1, ``tf.compat.v1.keras`` of 2."""
    return enter_graph_mode().keras


def keras_of_the_era() -> Any:
    """The Keras of the world that the process is in: ``tf.keras`` of eager code, :func:`keras` of graphs."""
    return tensorflow.keras if tensorflow.executing_eagerly() else keras()
