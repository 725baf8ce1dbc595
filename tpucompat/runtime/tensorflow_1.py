"""What happens when a script of TensorFlow 1 first uses TensorFlow.

:mod:`tpucompat.runtime.namespace` imports this module, and TensorFlow with it, then and not before.
"""

from __future__ import annotations

from tpucompat.base.machine import environment
from tpucompat.engines import session
from tpucompat.idioms.startup import early_tf2
from tpucompat.runtime import libraries
from tpucompat.standins import keras_models, keras_names, own_layers, own_optimizers


def prepare() -> str:
    """Enters graph mode, with Keras and NumPy as TensorFlow 1 programs know them.

    Returns:
      The name of the real module behind the old ``tensorflow``.
    """
    session.enter_graph_mode()
    libraries.prepare(session.keras())
    own_optimizers.accept_old_optimizers(session.keras())
    own_layers.accept_old_layers(session.keras())
    if environment().has("contrib"):
        return "tensorflow"
    from tpucompat.standins import keras_losses  # derived from the Keras that graph mode has chosen

    early_tf2.restore_methods()
    keras_models.make_one_class()
    keras_losses.register(session.keras())
    keras_names.start_adagrad_from_zero(session.keras())
    return "tensorflow.compat.v1"
