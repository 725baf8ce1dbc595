"""What happens when a script of TensorFlow 2 first uses TensorFlow.

:mod:`tpucompat.runtime.namespace` imports this module, and TensorFlow with it, then and not before.
"""

from __future__ import annotations

import tensorflow

from tpucompat.engines import accelerator
from tpucompat.idioms.startup import early_tf2
from tpucompat.standins import (
    keras1_arguments,
    keras_names,
    keras_positions,
    numpy_names,
)
from tpucompat.tf import private


def prepare() -> str:
    """Leaves TensorFlow eager, with Keras and NumPy as programs for TensorFlow 2.0 to 2.3 know them.

    Returns:
      The name of the real module behind the old ``tensorflow``.
    """
    accelerator.prepare()  # the script's first eager operation starts TensorFlow's runtime
    from tpucompat.standins import early_keras  # imports Keras, for which the devices are set up

    private.leave_package_to_itself("tpucompat")
    numpy_names.print_numbers_like_numpy_1()
    keras_names.restore_methods(tensorflow.keras)
    keras1_arguments.accept_keras_1_arguments(tensorflow.keras)
    keras_positions.accept_old_positions(tensorflow.keras)
    early_keras.restore_optimizer_names()
    early_keras.restore_columns_of_vectors()
    early_keras.accept_old_arguments()
    early_keras.restore_methods()
    early_tf2.restore_methods()
    return "tensorflow"
