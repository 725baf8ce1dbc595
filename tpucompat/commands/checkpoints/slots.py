"""What each generation calls the slots of an optimizer, and in which order it keeps them.

Slots are called here as Keras 3 calls them. The tests hold the table against the classes of TensorFlow, Keras 2
and Keras 3.
"""

from __future__ import annotations

import re
from typing import Iterable, Mapping, NamedTuple


class Row(NamedTuple):
    """One optimizer.

    Attributes:
      name: Its class in Keras.
      others: Classes of Keras with the same slots.
      tf1: How ``tf.train`` and ``tf.contrib.opt`` name the optimizers with these slots.
      made: The slots of those in the order of their making: ``kernel/Adam``, ``kernel/Adam_1``. Which of the
        tuples holds follows from their number.
      words: What Keras 2 calls a slot -> the slot. Its two generations of optimizers have a word each, and
        ``tf.train`` sometimes a third, in object-based checkpoints.
      groups: The order in a file of Keras 3. The slots of one group alternate, variable by variable. The first
        group is always there.
      scaled: Slots that Keras keeps multiplied by minus the learning rate, and ``tf.train`` does not.
    """

    name: str
    others: tuple[str, ...]
    tf1: tuple[str, ...]
    made: tuple[tuple[str, ...], ...]
    words: Mapping[str, str]
    groups: tuple[tuple[str, ...], ...]
    scaled: tuple[str, ...] = ()

    def slots(self) -> frozenset[str]:
        """All slots that it can have."""
        return frozenset(slot for group in self.groups for slot in group)

    def may_have(self, slots: Iterable[str]) -> bool:
        """Whether an optimizer of this kind can have exactly these slots."""
        slots = set(slots)
        return slots.issuperset(self.groups[0]) and slots.issubset(self.slots())


# Sources: python/training and contrib/opt of 1.15.5, tf_keras/src/optimizers, keras/src/optimizers.
ROWS = (
    Row(
        "Adam",
        ("AdamW",),
        ("Adam", "AdamW"),
        (("momentum", "velocity"),),
        {"m": "momentum", "v": "velocity", "vhat": "velocity_hat"},
        (("momentum", "velocity"), ("velocity_hat",)),
    ),
    Row(
        "SGD",
        (),
        ("Momentum", "MomentumW"),
        (("momentum",),),
        {"momentum": "momentum", "m": "momentum"},
        (("momentum",),),
        # accumulator = momentum * accumulator + gradient, but momentum * m - learning_rate * gradient
        ("momentum",),
    ),
    Row(
        "RMSprop",
        (),
        ("RMSProp",),
        (("velocity", "momentum"), ("velocity", "average_gradient", "momentum")),
        {
            "rms": "velocity",
            "mg": "average_gradient",
            **{word: word for word in ("velocity", "momentum", "average_gradient")},
        },
        (("velocity",), ("momentum",), ("average_gradient",)),
    ),
    Row(
        "Adagrad",
        (),
        ("Adagrad",),
        (("accumulator",),),
        {"accumulator": "accumulator"},
        (("accumulator",),),
    ),
    Row(
        "Adadelta",
        (),
        ("Adadelta",),
        (("accumulated_grad", "accumulated_delta_var"),),
        {
            "accum_grad": "accumulated_grad",
            "accum_var": "accumulated_delta_var",
            "accum": "accumulated_grad",
            "accum_update": "accumulated_delta_var",
            **{word: word for word in ("accumulated_grad", "accumulated_delta_var")},
        },
        (("accumulated_grad", "accumulated_delta_var"),),
    ),
    Row(
        "Adamax",
        (),
        ("AdaMax",),
        (("momentum", "norm"),),
        {"m": "momentum", "v": "norm", "u": "norm"},
        (("momentum", "norm"),),
    ),
    Row(
        "Ftrl",
        (),
        ("Ftrl",),
        (("accumulator", "linear"),),
        {"accumulator": "accumulator", "accum": "accumulator", "linear": "linear"},
        (("accumulator", "linear"),),
    ),
)

NAMES = tuple(row.name for row in ROWS)
#: Optimizers whose state is not converted: their classes, as Keras 3 names their objects.
UNSUPPORTED = frozenset(
    ("nadam", "lion", "lamb", "adafactor", "muon", "loss_scale_optimizer", "schedule_free_adam_w")
)


def rows_of(name: str) -> tuple[Row, ...]:
    """The rows of a class of Keras, or of what Keras calls an object of it; all if it is unknown."""
    plain = _plain(name)
    found = tuple(row for row in ROWS if plain in map(_plain, (row.name, *row.others)))
    return found or ROWS


def is_known(name: str) -> bool:
    """Whether a name is of a class in the table."""
    return rows_of(name) is not ROWS


def is_unsupported(name: str) -> bool:
    """Whether a name is of a class whose state cannot be converted."""
    return _plain(name) in set(map(_plain, UNSUPPORTED))


def _plain(name: str) -> str:
    return re.sub(r"_\d+$", "", name).replace("_", "").lower()
