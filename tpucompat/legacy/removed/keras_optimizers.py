"""``tensorflow.python.keras.optimizers``: the optimizers that 1.15 had there, with their own defaults.

The public ``tf.keras.optimizers`` of 1.15 was another module already. Who took a class from the private path
got that of Keras 2.2: the same rules, other learning rates, and for Adagrad sums that start with 0. Behaviour
follows tensorflow/python/keras/optimizers.py of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

from tpucompat.engines import session

_public = session.keras().optimizers


class Adagrad(_public.Adagrad):  # type: ignore[name-defined]
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


class Adadelta(_public.Adadelta):  # type: ignore[name-defined]
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


class Adamax(_public.Adamax):  # type: ignore[name-defined]
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


class Nadam(_public.Nadam):  # type: ignore[name-defined]
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
