"""Keras and NumPy as programs of both eras of TensorFlow know them."""

from __future__ import annotations

from typing import Any

from tpucompat.standins import keras1_arguments, keras_names, keras_positions, numpy_names
from tpucompat.tf import private


def prepare(keras: Any) -> None:
    """Restores what Keras and NumPy have dropped since; the package itself keeps what is there.

    Args:
      keras: The module of the era: that of graphs, or ``tf.keras`` of eager programs.
    """
    private.leave_package_to_itself("tpucompat")
    numpy_names.print_numbers_like_numpy_1()
    keras_names.restore_methods(keras)
    keras1_arguments.accept_keras_1_arguments(keras)
    keras_positions.accept_old_positions(keras)
