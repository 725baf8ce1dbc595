"""LSTM cells whose weights have masks."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.legacy.contrib.model_pruning import masks

_CELLS: Any = tf.nn.rnn_cell


class _Masked:
    """A cell that multiplies its inputs by ``kernel * mask``; a projection has no mask."""

    _kernel: Any
    built: bool
    dtype: Any
    add_weight: Any

    def build(self, inputs_shape: Any) -> None:
        """Makes the cell's variables, and mask and threshold."""
        super().build(inputs_shape)  # type: ignore[misc]
        self.built = False
        self._mask = self.add_weight(
            "mask",
            self._kernel.shape.as_list(),
            initializer=tf.ones_initializer(),
            trainable=False,
            dtype=self.dtype,
        )
        self._threshold = self.add_weight(
            "threshold", [], initializer=tf.zeros_initializer(), trainable=False, dtype=self.dtype
        )
        self._masked_kernel = masks.collect(self._kernel, self._mask, self._threshold)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """One step, with the masked kernel in the place of the kernel."""
        kernel, self._kernel = self._kernel, self._masked_kernel
        try:
            return super().call(inputs, state)  # type: ignore[misc]
        finally:
            self._kernel = kernel


class MaskedBasicLSTMCell(_Masked, _CELLS.BasicLSTMCell):
    """``tf.nn.rnn_cell.BasicLSTMCell`` with a mask over its kernel.

    Args:
      num_units: Numbers in a state.
      forget_bias: Added to the forget gate's input.
      state_is_tuple: Whether states are LSTMStateTuple.
      activation: Of the inner states.
      reuse: Whether variables are reused.
      name: Of the cell.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            num_units,
            forget_bias=forget_bias,
            state_is_tuple=state_is_tuple,
            activation=activation,
            reuse=reuse,
            name=name,
        )


class MaskedLSTMCell(_Masked, _CELLS.LSTMCell):
    """``tf.nn.rnn_cell.LSTMCell`` with a mask over its kernel; same arguments."""
