"""Several machines, one training: the strategy over them, and where they meet outside of a step.

Every worker is a process that runs the whole script. Within a step the replicas of all workers meet as
those of one machine do, in the sums of the strategy (``tf.distribute.MultiWorkerMirroredStrategy``).
Between the steps the workers agree here that all of them are ready for the next one: a step that one
of them cannot make would hold the others for ever. A worker that has died is found out by
TensorFlow's own watch over its peers, and one that stands still by a time limit.
"""

from __future__ import annotations

import contextlib
import threading
import zlib
from typing import Any, Callable, Iterator, NamedTuple, Sequence

import numpy as np
import tensorflow as tf

from tpucompat.base import cluster, journal
from tpucompat.base.codes import CODES
from tpucompat.base.errors import LostWorkerError, SetupError, describe
from tpucompat.engines import accelerator, collectives
from tpucompat.tf import private

# How the others learn what has become of a worker.
_READY, _STOPPING, _ENDED, _FAILED = range(4)
# What a worker brings to a meeting besides its state and the place.
_NUMBERS = 4
# Seconds that a failing worker waits for the others to hear of it.
_FAREWELL = 20

_lock = threading.RLock()
_of_process: Workers | None = None


class Place(NamedTuple):
    """A point of the program that all workers have to come to together.

    Attributes:
      name: What the worker is about to do.
      numbers: What has to be the same on all of them.
    """

    name: str
    numbers: tuple[int, ...] = ()


class Workers:
    """The workers of a training, this one being one of them.

    Args:
      strategy: The strategy over the replicas of all workers.
      index: This worker's number; worker 0 is the chief.
      count: How many there are.

    Attributes:
      strategy: The strategy.
      index: This worker's number.
      count: How many there are.
      cores: The numbers of this worker's replicas among all replicas.
      asks_to_stop: Whether this worker wants all to stop.
      stopping: The worker that has asked all others to stop; None if nobody has.
    """

    def __init__(self, strategy: Any, index: int, count: int) -> None:
        self.strategy = strategy
        self.index = index
        self.count = count
        here = len(strategy.extended.worker_devices)
        self.cores = range(index * here, (index + 1) * here)
        self.asks_to_stop = False
        self.stopping: int | None = None
        self._sums: dict[tuple[int, ...], Callable[[Any], Any]] = {}
        self._lock = threading.RLock()
        self._inside_step = False
        self._lost = False
        self._heard = False

    @property
    def is_chief(self) -> bool:
        """Whether this worker writes the checkpoints and the summaries."""
        return self.index == 0

    @property
    def replicas(self) -> int:
        """The replicas of all workers."""
        return int(self.strategy.num_replicas_in_sync)

    def meet(self, place: Place, asks_to_stop: bool = False) -> None:
        """Waits until all workers have come to a place.

        Args:
          place: The place.
          asks_to_stop: Whether all workers shall stop; :attr:`stopping` says so on all of them.

        Raises:
          tf.errors.OutOfRangeError: If the input of another worker has ended (TPU336).
          LostWorkerError: If another worker has failed, is gone or is somewhere else (TPU316).
        """
        rows = self._tell(_STOPPING if asks_to_stop else _READY, place)
        for worker, state in enumerate(rows[:, 0].tolist()):
            self._heard = state in (_ENDED, _FAILED)
            if state == _ENDED:
                raise _ended(worker)
            if state == _FAILED:
                raise LostWorkerError("TPU316", f"worker {worker} has stopped with an error.")
            if state == _STOPPING and self.stopping is None:
                self.stopping = worker
        own = rows[self.index]
        for worker, row in enumerate(rows):
            if row[1] != own[1]:
                raise self._parted(f"at {place.name!r}, worker {worker} is at another point.")
            if (row[2:] != own[2:]).any():
                theirs, mine = (list(one[2 : 2 + len(place.numbers)]) for one in (row, own))
                raise self._parted(
                    f"at {place.name!r}, worker {worker} has {theirs}, but worker "
                    f"{self.index} has {mine}."
                )

    def chiefs(self, value: Any) -> Any:
        """The chief's value of a scalar, which each worker has one of."""
        value = np.asarray(value)
        return self.together([value])[0][0].astype(value.dtype).reshape(value.shape)

    def together(self, arrays: Sequence[Any]) -> list[list[Any]]:
        """The arrays of all workers.

        Args:
          arrays: This worker's, of the same types and shapes on all workers.

        Returns:
          For each worker its arrays.
        """
        arrays = [np.ascontiguousarray(array) for array in arrays]
        data = b"".join(array.tobytes() for array in arrays)
        padded = np.frombuffer(data + b"\0" * (-len(data) % 8), np.int64)
        return [_unpacked(row.tobytes(), arrays) for row in self._gathered(padded)]

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """Within: a step of all replicas is being made.

        Raises:
          LostWorkerError: If another worker is gone (TPU316).
        """
        self._inside_step = True
        with self._watched():
            yield
        self._inside_step = False

    def leave(self, error: BaseException) -> None:
        """Tells the others that this worker cannot go on; they raise at their next meeting.

        In the middle of a step nobody can be told, nor after a worker was lost. Then they find it out
        when this process ends.

        Args:
          error: What has happened.
        """
        if self._heard:  # of another's end, from which all go on
            self._heard = False
            return
        if self._lost or self._inside_step:
            return
        state = _ENDED if isinstance(error, tf.errors.OutOfRangeError) else _FAILED

        def tell() -> None:
            with contextlib.suppress(Exception):
                self._tell(state, Place("leave"))

        teller = threading.Thread(target=tell, name="Farewell", daemon=True)
        teller.start()
        teller.join(_FAREWELL)
        self._lost = self._lost or teller.is_alive()

    def _tell(self, state: int, place: Place) -> Any:
        """What all workers bring: for each a row of its state, the place and the numbers."""
        row: Any = np.zeros(2 + _NUMBERS, np.int64)
        row[0] = state
        row[1] = zlib.crc32(place.name.encode())
        row[2 : 2 + len(place.numbers)] = place.numbers
        return self._gathered(row)

    def _parted(self, how: str) -> LostWorkerError:
        self._lost = True
        return LostWorkerError("TPU316", how)

    def _gathered(self, row: Any) -> Any:
        """The rows of all workers, of 64-bit integers."""
        if self._lost:
            raise LostWorkerError("TPU316", "the workers diverged earlier.")
        with self._lock, private.eager_mode(), self._watched():
            table = np.zeros((self.count, *row.shape), np.int64)
            table[self.index] = row
            empty = np.zeros_like(table)

            def value_of(context: Any) -> Any:
                first = context.replica_id_in_sync_group == self.cores[0]
                return tf.constant(table if first else empty)

            total = self._sum_of(table.shape)(private.per_replica(self.strategy, value_of))
            return self.strategy.experimental_local_results(total)[0].numpy()

    def _sum_of(self, shape: tuple[int, ...]) -> Callable[[Any], Any]:
        """A function that sums tables of a shape over all replicas."""
        if shape not in self._sums:

            def one_replica(value: Any) -> Any:
                return collectives.sums(tf.distribute.get_replica_context(), [value])[0]

            self._sums[shape] = tf.function(
                lambda value: self.strategy.run(one_replica, args=(value,)), autograph=False
            )
        return self._sums[shape]

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Within: what TensorFlow says of a peer that is gone becomes an error of ours.

        Its own (UnavailableError, AbortedError) would let a MonitoredSession restart, alone.
        """
        try:
            yield
        except tf.errors.OpError as error:
            if not isinstance(error, _of_peers(tf)) and "ollective" not in error.message:
                raise
            self._lost = True
            raise LostWorkerError(
                "TPU316", f"another worker does not respond: {_first_line(error.message)}"
            ) from error


def of_process() -> Workers | None:
    """The workers of TF_CONFIG's cluster, connected; None where it names one machine, or none.

    The first call waits for all workers to start.

    Raises:
      BadValueError: TF_CONFIG cannot be used (TPU418).
      SetupError: This machine cannot be one of several (TPU419), or is a parameter server (TPU317).
      LostWorkerError: The others have not started in time (TPU316).
    """
    global _of_process
    with _lock:
        if _of_process is None:
            given = cluster.cluster()
            if given is None or given.task == "evaluator":
                return None
            if not given.trains:
                raise SetupError(
                    "TPU317", f"this process is task {given.task_id} of {given.task!r}."
                )
            if given.machines == 1:
                return None
            _announce(given)
            _of_process = Workers(_connected(given), given.rank, given.machines)
        return _of_process


def _announce(given: cluster.Cluster) -> None:
    servers = f"; {given.servers} parameter servers are ignored" if given.servers else ""
    journal.notice(
        "TPU314",
        (
            f"waiting for {given.machines} workers to start; this is worker "
            f"{given.rank}{' and the chief' if not given.rank else ''}{servers}"
        ),
    )


def _connected(given: cluster.Cluster) -> Any:
    try:
        return accelerator.strategy_over(given, cluster.patience())
    except RuntimeError as error:
        if isinstance(error, SetupError) or "program startup" not in str(error):
            raise
        raise SetupError("TPU419", f"TensorFlow has already started: {error}") from error
    except tf.errors.OpError as error:
        raise LostWorkerError(
            "TPU316", f"not all workers started: {_first_line(error.message)}"
        ) from error


def _of_peers(tf: Any) -> tuple[type, ...]:
    errors = tf.errors
    return (
        errors.UnavailableError,
        errors.AbortedError,
        errors.DeadlineExceededError,
    )


def _ended(worker: int) -> Exception:
    """The error of a training whose input has ended on another worker."""
    text = f"End of sequence on worker {worker}"
    described = describe("TPU336", text, CODES["TPU336"].what_to_do)
    error: Exception = tf.errors.OutOfRangeError(None, None, described)
    return error


def _unpacked(data: bytes, arrays: Sequence[Any]) -> list[Any]:
    """Arrays of the types and shapes of others, from their bytes."""
    result, start = [], 0
    for array in arrays:
        stop = start + array.nbytes
        result.append(np.frombuffer(data[start:stop], array.dtype).reshape(array.shape))
        start = stop
    return result


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if "Collective" in line or "worker" in line]
    return (told or lines or ["no reason given"])[0][:200]
