"""What ``tf.keras.experimental`` of 1.15 had and Keras has removed: a cell and two learning rates."""

from __future__ import annotations

import math
from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base import keras_generation

_keras: Any = keras_generation.graph_keras()


class PeepholeLSTMCell(_keras.layers.LSTMCell):
    """An LSTM cell whose gates see the cell's state, too (Gers and Schmidhuber, 2000).

    The input and the forget gate see the state before the step, the output gate sees the one after it. Each has
    a weight for each unit, drawn as the kernel is. The arguments are those of ``LSTMCell``; weights, names, and
    the number of operations are those of ``tensorflow/python/keras/layers/recurrent.py`` in 1.15.
    """

    def build(self, input_shape: Any) -> None:
        """Makes the weights of the gates after those of an LSTM."""
        super().build(input_shape)
        for gate in ("input", "forget", "output"):
            name = f"{gate}_gate_peephole_weights"
            weights = self.add_weight(name, (self.units,), initializer=self.kernel_initializer)
            setattr(self, name, weights)

    def _compute_carry_and_output(self, x: Any, h_tm1: Any, c_tm1: Any) -> tuple[Any, Any]:
        """The state and the output gate, of inputs and earlier outputs for each gate by itself."""
        ends = range(self.units, 5 * self.units, self.units)
        parts = zip(x, h_tm1, ends)
        return self._gated(
            [i + tf.matmul(h, self.recurrent_kernel[:, n - self.units : n]) for i, h, n in parts],
            c_tm1,
        )

    def _compute_carry_and_output_fused(self, z: Any, c_tm1: Any) -> tuple[Any, Any]:
        """The same of what all gates get together."""
        return self._gated(z, c_tm1)

    def _gated(self, sums: Any, state: Any) -> tuple[Any, Any]:
        into, kept, new, out = sums
        into = self.recurrent_activation(into + self.input_gate_peephole_weights * state)
        kept = self.recurrent_activation(kept + self.forget_gate_peephole_weights * state)
        state = kept * state + into * self.activation(new)
        return state, self.recurrent_activation(out + self.output_gate_peephole_weights * state)


class LinearCosineDecay(_keras.optimizers.schedules.LearningRateSchedule):
    """A learning rate that falls to a line and a cosine (Bello et al., 2017).

    The rate of a step is that of ``tf.train.linear_cosine_decay``.

    Args:
      initial_learning_rate: The first rate.
      decay_steps: In how many steps it falls.
      num_periods: How often the cosine falls and rises.
      alpha: What is added to the line.
      beta: What is added to the product.
      name: Of its operations.
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        num_periods: float = 0.5,
        alpha: float = 0.0,
        beta: float = 0.001,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.num_periods = num_periods
        self.alpha = alpha
        self.beta = beta
        self.name = name

    def __call__(self, step: Any) -> Any:
        """The rate of a step, as a scalar tensor."""
        with tf.name_scope(self.name or type(self).__name__):
            rate = tf.convert_to_tensor(self.initial_learning_rate, name="initial_learning_rate")
            steps = tf.cast(self.decay_steps, rate.dtype)
            done = tf.minimum(tf.cast(step, rate.dtype), steps) / steps
            wave = 0.5 * (1.0 + tf.cos(2.0 * math.pi * self.num_periods * done))
            return rate * ((self.alpha + self._line(1.0 - done, done * steps)) * wave + self.beta)

    def _line(self, left: Any, step: Any) -> Any:
        return left

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        names = ("initial_learning_rate", "decay_steps", "num_periods", "alpha", "beta", "name")
        return {name: getattr(self, name) for name in names}


class NoisyLinearCosineDecay(LinearCosineDecay):
    """The same with noise on the line, which falls with the steps: ``tf.train.noisy_linear_cosine_decay``.

    Args:
      initial_learning_rate: The first rate.
      decay_steps: In how many steps it falls.
      initial_variance: Of the noise in the first step.
      variance_decay: The power of the number of the step by which that is divided.
      num_periods: How often the cosine falls and rises.
      alpha: What is added to the line.
      beta: What is added to the product.
      name: Of its operations.
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        initial_variance: float = 1.0,
        variance_decay: float = 0.55,
        num_periods: float = 0.5,
        alpha: float = 0.0,
        beta: float = 0.001,
        name: str | None = None,
    ) -> None:
        super().__init__(initial_learning_rate, decay_steps, num_periods, alpha, beta, name)
        self.initial_variance = initial_variance
        self.variance_decay = variance_decay

    def _line(self, left: Any, step: Any) -> Any:
        variance = self.initial_variance / tf.pow(1.0 + step, self.variance_decay)
        return left + tf.random_normal(left.shape, stddev=tf.sqrt(variance))

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        own = {"initial_variance": self.initial_variance, "variance_decay": self.variance_decay}
        return {**super().get_config(), **own}
