"""``tensorflow.python.keras.optimizers``: the optimizers that 1.15 had there, with their own defaults.

The public ``tf.keras.optimizers`` of 1.15 was another module already. Who took a class from the private path
got that of Keras 2.2: other learning rates, arguments in another order, for Adagrad sums that start with 0, and
the same rules, but for tables none of their own. Behaviour follows tensorflow/python/keras/optimizers.py of
TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base import keras_generation
from tpucompat.engines import session

_public = keras_generation.graph_keras().optimizers


class _Dense:
    """Rows of a table without a gradient have one of 0, and move on with their averages."""

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, handle: Any, indices: Any, **kwargs: Any
    ) -> Any:
        whole = tf.convert_to_tensor(tf.IndexedSlices(grad, indices, tf.shape(handle)))
        return self._resource_apply_dense(whole, handle, **kwargs)  # type: ignore[attr-defined]


class _CountsFirst(_Dense):
    """The learning rate falls with the number of steps, this one among them.

    The public optimizers count after a step. In 1.15 these read the number and count it in no order; where a
    machine was free it had counted first in most programs, and for Adam and Adamax in all that were tried.
    """

    _initial_decay: float
    iterations: Any

    def _decayed_lr(self, var_dtype: Any) -> Any:
        if not self._initial_decay:
            return super()._decayed_lr(var_dtype)  # type: ignore[misc]
        rate = self._get_hyper("learning_rate", var_dtype)  # type: ignore[attr-defined]
        steps = tf.cast(self.iterations + 1, var_dtype)
        return rate * (1.0 / (1.0 + tf.cast(self._initial_decay, var_dtype) * steps))


class SGD(_CountsFirst, _public.SGD):  # type: ignore[name-defined]
    """Gradient descent.

    Args:
      lr: The learning rate.
      momentum: How much of the last step is kept.
      decay: By how much the learning rate falls with each step.
      nesterov: Whether the momentum is Nesterov's.
      **kwargs: ``clipnorm``, ``clipvalue``.
    """

    def __init__(
        self,
        lr: float = 0.01,
        momentum: float = 0.0,
        decay: float = 0.0,
        nesterov: bool = False,
        **kwargs: Any,
    ) -> None:
        rate = kwargs.pop("learning_rate", lr)
        super().__init__(rate, momentum, nesterov, decay=decay, **kwargs)


class RMSprop(_CountsFirst, _public.RMSprop):  # type: ignore[name-defined]
    """Gradients over the root of their squares' average.

    Args:
      lr: The learning rate.
      rho: How much of the average is kept.
      epsilon: Is added to the root; Keras' own where it is None.
      decay: By how much the learning rate falls with each step.
      **kwargs: ``clipnorm``, ``clipvalue``.
    """

    def __init__(
        self,
        lr: float = 0.001,
        rho: float = 0.9,
        epsilon: float | None = None,
        decay: float = 0.0,
        **kwargs: Any,
    ) -> None:
        rate = kwargs.pop("learning_rate", lr)
        super().__init__(rate, rho, epsilon=_epsilon(epsilon), decay=decay, **kwargs)


class Adam(_CountsFirst, _public.Adam):  # type: ignore[name-defined]
    """Adam.

    Args:
      lr: The learning rate.
      beta_1: How much of the first average is kept.
      beta_2: How much of the second average is kept.
      epsilon: Is added to its root; Keras' own where it is None.
      decay: By how much the learning rate falls with each step.
      amsgrad: Whether the largest second average counts.
      **kwargs: ``clipnorm``, ``clipvalue``.
    """

    def __init__(
        self,
        lr: float = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float | None = None,
        decay: float = 0.0,
        amsgrad: bool = False,
        **kwargs: Any,
    ) -> None:
        rate = kwargs.pop("learning_rate", lr)
        super().__init__(rate, beta_1, beta_2, _epsilon(epsilon), amsgrad, decay=decay, **kwargs)


class Adagrad(_CountsFirst, _public.Adagrad):  # type: ignore[name-defined]
    """Adagrad with sums that start with 0.

    Args:
      lr: The learning rate.
      epsilon: Is added to the root of the sums; Keras' own where it is None.
      decay: By how much the learning rate falls with each step.
      **kwargs: ``clipnorm``, ``clipvalue``.
    """

    def __init__(
        self, lr: float = 0.01, epsilon: float | None = None, decay: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(
            kwargs.pop("learning_rate", lr),
            kwargs.pop("initial_accumulator_value", 0.0),
            _epsilon(epsilon),
            decay=decay,
            **kwargs,
        )


class Adadelta(_CountsFirst, _public.Adadelta):  # type: ignore[name-defined]
    """Adadelta with a learning rate of 1.

    Args:
      lr: The learning rate.
      rho: How much of the averages is kept.
      epsilon: Is added below the roots; Keras' own where it is None.
      decay: By how much the learning rate falls with each step.
      **kwargs: ``clipnorm``, ``clipvalue``.
    """

    def __init__(
        self,
        lr: float = 1.0,
        rho: float = 0.95,
        epsilon: float | None = None,
        decay: float = 0.0,
        **kwargs: Any,
    ) -> None:
        rate = kwargs.pop("learning_rate", lr)
        super().__init__(rate, rho, _epsilon(epsilon), decay=decay, **kwargs)


class Adamax(_CountsFirst, _public.Adamax):  # type: ignore[name-defined]
    """Adamax with a learning rate of 0.002.

    Args:
      lr: The learning rate.
      beta_1: How much of the first average is kept.
      beta_2: How much of the largest gradient is kept.
      epsilon: Is added to it; Keras' own where it is None.
      decay: By how much the learning rate falls with each step.
      **kwargs: ``clipnorm``, ``clipvalue``.
    """

    def __init__(
        self,
        lr: float = 0.002,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float | None = None,
        decay: float = 0.0,
        **kwargs: Any,
    ) -> None:
        rate = kwargs.pop("learning_rate", lr)
        super().__init__(rate, beta_1, beta_2, _epsilon(epsilon), decay=decay, **kwargs)


class Nadam(_Dense, _public.Nadam):  # type: ignore[name-defined]
    """Nadam with a learning rate of 0.002.

    Args:
      lr: The learning rate.
      beta_1: How much of the first average is kept.
      beta_2: How much of the second average is kept.
      epsilon: Is added to its root; Keras' own where it is None.
      schedule_decay: By how much the momentum grows with each step.
      **kwargs: ``clipnorm``, ``clipvalue``.
    """

    def __init__(
        self,
        lr: float = 0.002,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float | None = None,
        schedule_decay: float = 0.004,
        **kwargs: Any,
    ) -> None:
        rate = kwargs.pop("learning_rate", lr)
        kwargs["schedule_decay"] = schedule_decay
        super().__init__(rate, beta_1, beta_2, _epsilon(epsilon), **kwargs)


def _epsilon(value: float | None) -> float:
    return session.keras().backend.epsilon() if value is None else value
