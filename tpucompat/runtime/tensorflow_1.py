"""What happens when a script of TensorFlow 1 first uses TensorFlow.

:mod:`tpucompat.runtime.namespace` imports this module, and TensorFlow with it, then and not before.
"""

from __future__ import annotations

from tpucompat.base.machine import environment
from tpucompat.engines import session
from tpucompat.tf import patches
from tpucompat.tf.patches.row import GRAPH_KERAS, LIBRARIES


def prepare() -> str:
    """Enters graph mode, with Keras and NumPy as TensorFlow 1 programs know them.

    Returns:
      The name of the real module behind the old ``tensorflow``.
    """
    session.enter_graph_mode()
    patches.apply(LIBRARIES)
    patches.apply(GRAPH_KERAS)
    return "tensorflow" if environment().has("contrib") else "tensorflow.compat.v1"
