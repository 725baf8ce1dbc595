"""Where a TPUEstimator's cores are: in this process, or in those of several workers."""

from __future__ import annotations

import contextlib
from typing import Any, ContextManager, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.engines import accelerator
from tpucompat.engines.workers import Place, Workers


class Here:
    """All cores of a program run in this process.

    Args:
      replicas: How many cores there are.
      at_once: How many of them the strategy has; the others take their turns. All if None.
      cores_per_replica: How many cores of a TPU the script wants for each, which has one device.
    """

    def __init__(
        self, replicas: int, at_once: int | None = None, cores_per_replica: int = 1
    ) -> None:
        self.cores = range(replicas)
        self.cores_per_replica = cores_per_replica
        self._at_once = at_once or replicas

    @property
    def strategy(self) -> Any:
        """The strategy that runs the cores."""
        return accelerator.strategy_of(self._at_once)

    def core_of(self, infeed: int) -> int | None:
        """The core that an infeed of the input pipeline belongs to; None if it is not here."""
        return infeed

    def leave_out(self, tensors: Sequence[Any]) -> Any:
        """The operation that stands for an infeed whose core is not here."""
        return tf.group(*tensors)

    def before_step(self, done: int, iterations: int | None) -> None:
        """What has to come before a step of the program.

        Args:
          done: How many steps have been made.
          iterations: How many there will be; None if that is not known.
        """

    def step(self) -> ContextManager[None]:
        """Within: a step is being made."""
        return contextlib.nullcontext()

    def outputs_of_all(self, outputs: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        """What all cores give out, from what those give out that are here."""
        return outputs

    def result(self, value: Any) -> Any:
        """The program's result, from what the first core that is here has computed."""
        return value


class AmongWorkers(Here):
    """The cores are those of several workers.

    Args:
      workers: The workers.
      own_infeeds: Whether the infeeds of the pipeline are those of this worker only, and not those
        of all cores.
      drains: Whether the batches of other cores have to be taken from the pipeline.
    """

    def __init__(self, workers: Workers, own_infeeds: bool = False, drains: bool = True) -> None:
        super().__init__(workers.replicas)
        self.cores = workers.cores
        self._workers = workers
        self._own_infeeds = own_infeeds
        self._drains = drains

    @property
    def strategy(self) -> Any:
        """The strategy over the replicas of all workers."""
        return self._workers.strategy

    def core_of(self, infeed: int) -> int | None:
        """The core that an infeed of the input pipeline belongs to; None if it is not here."""
        if self._own_infeeds:
            return self.cores[infeed]
        return infeed if infeed in self.cores else None

    def leave_out(self, tensors: Sequence[Any]) -> Any:
        """The operation that stands for an infeed whose core is not here."""
        return super().leave_out(tensors if self._drains else [])

    def before_step(self, done: int, iterations: int | None) -> None:
        """Waits until all workers have their batches."""
        self._workers.meet(Place("step", (done, iterations or 0)))

    def step(self) -> ContextManager[None]:
        """Within: a step of all workers is being made."""
        return self._workers.step()

    def outputs_of_all(self, outputs: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        """What the cores of all workers give out; each worker has one of everything."""
        count = len(outputs[0])
        flat = [np.asarray(value) for output in outputs for value in output]
        return [
            row[start : start + count]
            for row in self._workers.together(flat)
            for start in range(0, len(row), count)
        ]

    def result(self, value: Any) -> Any:
        """The result of core 0, the chief's first; the workers agree on stopping, too."""
        workers = self._workers
        workers.meet(Place("result"), asks_to_stop=workers.asks_to_stop)
        return workers.chiefs(value)
