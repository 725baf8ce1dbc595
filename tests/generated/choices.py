"""The random choices of a generated program."""

from __future__ import annotations

import random

import numpy as np


class Nudged(np.random.RandomState):
    """The same numbers, but for the last bit of a float32."""

    def rand(self, *shape):
        numbers = super().rand(*shape)
        return numbers * (1.0 + 1e-7 * np.random.RandomState(5).uniform(-1.0, 1.0, shape))


class Maker:
    """The random choices of one model, and what is known of the model."""

    nudged = False

    def __init__(self, seed):
        self.seed = seed
        self.random = random.Random(seed)
        self.numbers = (Nudged if self.nudged else np.random.RandomState)(seed)
        self.log = []  # what was chosen, for who reads a failure
        self.apart = set()  # why cores give other numbers than one replica
        self.exact = self.often(0.6)  # nothing random, no statistics of a batch

    def one(self, *choices):
        return self.random.choice(choices)

    def often(self, probability=0.5):
        return self.random.random() < probability

    def units(self):
        return self.random.randint(2, 5)

    def note(self, what):
        self.log.append(what)

    def rate(self, kind):
        """How much is dropped out: nothing in an exact model, which has the operations all the same."""
        if self.exact:
            return 0.0
        self.apart.add(f"{kind}: every core draws its own numbers")
        return self.one(0.1, 0.3, 0.5)
