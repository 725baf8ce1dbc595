"""What happens when a script of TensorFlow 2 first uses TensorFlow.

:mod:`tpucompat.runtime.namespace` imports this module, and TensorFlow with it, then and not before.
"""

from __future__ import annotations

from tpucompat.engines import accelerator
from tpucompat.tf import patches
from tpucompat.tf.patches.row import EAGER_KERAS, LIBRARIES


def prepare() -> str:
    """Leaves TensorFlow eager, with Keras and NumPy as programs for TensorFlow 2.0 to 2.3 know them.

    Returns:
      The name of the real module behind the old ``tensorflow``.
    """
    accelerator.prepare()  # the script's first eager operation starts TensorFlow's runtime
    patches.apply(LIBRARIES)
    patches.apply(EAGER_KERAS)
    return "tensorflow"
