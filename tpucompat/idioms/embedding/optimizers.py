"""The update rules of embedding tables, one row for each optimizer.

The formulas are those that ``tensorflow/core/protobuf/tpu/optimization_parameters.proto`` (release
2.15) describes for the hardware; where it points to an operation of TensorFlow, that operation's.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence, Tuple

import tensorflow.compat.v1 as tf

from tpucompat.idioms.embedding.config import wrong

Slots = Tuple[Any, ...]
Update = Callable[[Any, Any, Any, Slots, Any], Tuple[Any, Slots]]


class Slot(NamedTuple):
    """A variable that an optimizer keeps beside a table, of the table's shape.

    Attributes:
      suffix: What its name has behind the table's; the same as on a CPU.
      initial: The attribute of the hyperparameters with its first value; "" for zero.
    """

    suffix: str
    initial: str = ""


class Optimizer(NamedTuple):
    """An optimizer of embedding tables.

    Attributes:
      slots: Its slots.
      update: Takes hyperparameters, learning rate, values, slots and gradients; returns the new
        values and slots.
    """

    slots: tuple[Slot, ...]
    update: Update


def _sgd(_: Any, rate: Any, value: Any, slots: Slots, gradient: Any) -> tuple[Any, Slots]:
    return value - rate * gradient, slots


def _adagrad(_: Any, rate: Any, value: Any, slots: Slots, gradient: Any) -> tuple[Any, Slots]:
    accumulator = slots[0] + tf.square(gradient)
    return value - rate * gradient / tf.sqrt(accumulator), (accumulator,)


def _proximal_adagrad(
    wanted: Any, rate: Any, value: Any, slots: Slots, gradient: Any
) -> tuple[Any, Slots]:
    """``ApplyProximalAdagrad``."""
    accumulator = slots[0] + tf.square(gradient)
    rate = rate / tf.sqrt(accumulator)
    value -= rate * gradient
    shrunk = tf.maximum(tf.abs(value) - rate * wanted.l1_regularization_strength, 0.0)
    new = tf.sign(value) * shrunk / (1.0 + rate * wanted.l2_regularization_strength)
    return new, (accumulator,)


def _adam(wanted: Any, rate: Any, value: Any, slots: Slots, gradient: Any) -> tuple[Any, Slots]:
    """Without the correction of the first steps, which the hardware leaves to the learning rate."""
    m = wanted.beta1 * slots[0] + (1 - wanted.beta1) * gradient
    v = wanted.beta2 * slots[1] + (1 - wanted.beta2) * tf.square(gradient)
    if wanted.sum_inside_sqrt:
        root = tf.sqrt(v + wanted.epsilon**2)
    else:
        root = tf.sqrt(v) + wanted.epsilon
    return value - rate * m / root, (m, v)


def _ftrl(wanted: Any, rate: Any, value: Any, slots: Slots, gradient: Any) -> tuple[Any, Slots]:
    """``ApplyFtrl``; ``beta`` as Keras' FTRL has it."""
    accumulator = slots[0] + tf.square(gradient)
    old_power, new_power = (
        tf.pow(one, -wanted.learning_rate_power) for one in (slots[0], accumulator)
    )
    # The hardware can keep the linear slot times the learning rate, for rates that begin at zero.
    scale = rate if getattr(wanted, "multiply_linear_by_learning_rate", False) else 1.0
    linear = slots[1] + scale * gradient - scale / rate * (new_power - old_power) * value
    l2 = wanted.l2_regularization_strength + getattr(wanted, "beta", 0) / (2 * rate)
    quadratic = scale / rate * new_power + 2 * scale * l2
    l1 = scale * wanted.l1_regularization_strength
    new = (tf.clip_by_value(linear, -l1, l1) - linear) / quadratic
    return new, (accumulator, linear)


def _momentum(wanted: Any, rate: Any, value: Any, slots: Slots, gradient: Any) -> tuple[Any, Slots]:
    momenta = wanted.momentum * slots[0] + gradient
    step = gradient + wanted.momentum * momenta if wanted.use_nesterov else momenta
    return value - rate * step, (momenta,)


def _rmsprop(wanted: Any, rate: Any, value: Any, slots: Slots, gradient: Any) -> tuple[Any, Slots]:
    """``ApplyRMSProp``."""
    ms = wanted.rho * slots[0] + (1 - wanted.rho) * tf.square(gradient)
    mom = wanted.momentum * slots[1] + rate * gradient / tf.sqrt(ms + wanted.epsilon)
    return value - mom, (ms, mom)


#: Name of the class of hyperparameters -> the optimizer.
OPTIMIZERS: dict[str, Optimizer] = {
    "StochasticGradientDescentParameters": Optimizer((), _sgd),
    "AdagradParameters": Optimizer((Slot("Adagrad", "initial_accumulator"),), _adagrad),
    "ProximalAdagradParameters": Optimizer(
        (Slot("ProximalAdagrad", "initial_accumulator"),), _proximal_adagrad
    ),
    "AdamParameters": Optimizer((Slot("Adam/m"), Slot("Adam/v")), _adam),
    "FtrlParameters": Optimizer((Slot("Ftrl", "initial_accumulator_value"), Slot("Ftrl_1")), _ftrl),
    "MomentumParameters": Optimizer((Slot("Momentum"),), _momentum),
    "RMSPropParameters": Optimizer((Slot("RMSProp/ms"), Slot("RMSProp/mom")), _rmsprop),
}


def optimizer_of(wanted: Any) -> Optimizer:
    """The optimizer of some hyperparameters.

    Args:
      wanted: An instance of a class of :mod:`config`, or of TensorFlow's of that name.

    Raises:
      ValueError: If it is of another class (TPU319).
    """
    name = type(wanted).__name__
    if name not in OPTIMIZERS:
        raise wrong(
            f"{name} is not an embedding optimizer; use one of {', '.join(sorted(OPTIMIZERS))}."
        )
    return OPTIMIZERS[name]


def updated(
    wanted: Any, rate: Any, value: Any, slots: Sequence[Any], gradient: Any, touched: Any
) -> tuple[Any, Slots]:
    """One update of a table.

    Args:
      wanted: The hyperparameters.
      rate: The learning rate, a scalar.
      value: The table, of shape [rows, columns].
      slots: Its slots, of that shape.
      gradient: The gradient, of that shape.
      touched: Whether a row was looked up, of shape [rows, 1]; others keep their values, unless the
        optimizer is Adam that is not lazy.

    Returns:
      The new values and slots.
    """
    if _limited(wanted, "clip_gradient"):
        gradient = _clipped(gradient, wanted, "clip_gradient")
    start = value
    decay = getattr(wanted, "weight_decay_factor", None)
    if decay:
        by_rate = getattr(wanted, "multiply_weight_decay_factor_by_learning_rate", None)
        start = value - value * decay * (rate if by_rate else 1.0)
    new, new_slots = optimizer_of(wanted).update(wanted, rate, start, tuple(slots), gradient)
    if _limited(wanted, "clip_weight"):
        new = _clipped(new, wanted, "clip_weight")
    if not getattr(wanted, "lazy_adam", True):
        return new, new_slots
    everywhere = tf.broadcast_to(touched, tf.shape(value))
    kept = [tf.where(everywhere, *pair) for pair in zip((new, *new_slots), (value, *slots))]
    return kept[0], tuple(kept[1:])


def _limited(wanted: Any, what: str) -> bool:
    return any(getattr(wanted, f"{what}_{end}", None) is not None for end in ("min", "max"))


def _clipped(value: Any, wanted: Any, what: str) -> Any:
    lowest, highest = (getattr(wanted, f"{what}_{end}") for end in ("min", "max"))
    if lowest is not None:
        value = tf.maximum(value, lowest)
    return value if highest is None else tf.minimum(value, highest)
