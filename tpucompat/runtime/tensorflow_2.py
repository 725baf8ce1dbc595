"""What happens when a script of TensorFlow 2 first uses TensorFlow.

:mod:`tpucompat.runtime.namespace` imports this module, and TensorFlow with it, then and not before.
"""

from __future__ import annotations

import tensorflow

from tpucompat.engines import accelerator
from tpucompat.idioms.startup import early_tf2
from tpucompat.runtime import libraries


def prepare() -> str:
    """Leaves TensorFlow eager, with Keras and NumPy as programs for TensorFlow 2.0 to 2.3 know them.

    Returns:
      The name of the real module behind the old ``tensorflow``.
    """
    accelerator.prepare()  # the script's first eager operation starts TensorFlow's runtime
    from tpucompat.standins import early_keras  # imports Keras, for which the devices are set up

    libraries.prepare(tensorflow.keras)
    early_keras.restore_optimizer_names()
    early_keras.restore_columns_of_vectors()
    early_keras.accept_old_arguments()
    early_keras.restore_methods()
    early_tf2.restore_methods()
    return "tensorflow"
