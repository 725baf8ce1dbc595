"""``tf.contrib.optimizer_v2``: the one optimizer whose numbers differ from ``tf.train``'s.

Behaviour follows tensorflow/contrib/optimizer_v2/rmsprop.py of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


class RMSPropOptimizer(tf.train.RMSPropOptimizer):
    """RMSProp whose epsilon is where the mean square starts, and is not added at each step.

    Args:
      learning_rate: Of the update.
      decay: Of the mean square.
      momentum: Of the update.
      epsilon: Where the mean square starts.
      use_locking: Whether updates are locked.
      centered: Whether the variance takes the mean square's place.
      name: Of the optimizer.
    """

    def _create_slots(self, var_list: Any) -> None:
        start = tf.constant_initializer(self._epsilon)
        for var in var_list:
            self._get_or_make_slot_with_initializer(
                var, start, var.shape, var.dtype.base_dtype, "rms", self._name
            )
            if self._centered:
                self._zeros_slot(var, "mg", self._name)
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        super()._prepare()
        self._epsilon_tensor = tf.constant(0.0)
