"""Runs a computation for several shards on the replicas of a strategy, from inside a Session.

On a TPU the script's graph and Session stay on the host. Where the computation stands in the graph,
one operation is put, like TensorFlow's own TPUPartitionedCall. When the Session reaches it, it takes the
shards' inputs, runs what :mod:`tpucompat.engines.programs` has made of it, and returns the outputs.

The variables that the computation uses live on the replicas and are one with the Session's
(:mod:`tpucompat.engines.coherence`): their values cross when the host or a checkpoint reads or
writes them, and not before.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, Callable, NamedTuple, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.base import errors, journal
from tpucompat.base.machine import current_environment, environment
from tpucompat.engines import accelerator, coherence, programs, shards
from tpucompat.tf import private

#: Set for tests: emulated cores are called so too, and not only a TPU.
FORCE = "TPUCOMPAT_PARTITIONED_CALLS"


class PartitionedCall(NamedTuple):
    """A computation that a Session runs on the replicas.

    Attributes:
      outputs: ``outputs[shard][index]``: tensors of the default graph.
      executed: The operation that runs the computation.
    """

    outputs: list[list[Any]]
    executed: Any


def wanted() -> bool:
    """Whether computations are run on the replicas of a strategy."""
    return environment().tpu or bool(os.environ.get(FORCE))


def build(
    prepared: shards.Prepared,
    origin: Any,
    captures: Sequence[Any],
    inputs: Sequence[Sequence[Any]],
    shapes: Sequence[Any],
    ready: Any,
    notice: Callable[[str], None],
) -> PartitionedCall | None:
    """Adds the operation to the default graph.

    Args:
      prepared: The computation.
      origin: The graph that it was traced into.
      captures: The tensors of the default graph that it takes, for all shards.
      inputs: ``inputs[shard][index]``: tensors of the default graph.
      shapes: The static shapes of a shard's outputs.
      ready: A tensor that has to be there before the computation runs.
      notice: As in :func:`tpucompat.engines.shards.expand`.

    Returns:
      The call; None where the replicas cannot do what the computation does.

    Raises:
      errors.SetupError: If they cannot, and TPUCOMPAT_REQUIRE_TPU is set (TPU358).
    """
    count, replicas = len(inputs), accelerator.strategy().num_replicas_in_sync
    try:
        _refuse_export()
        program = programs.program(prepared, captures, count, replicas, notice, origin)
    except errors.UnsupportedGraphError as error:
        _leave_to_host(error.cause)
        return None
    with tf.init_scope():
        residents = coherence.residents_of(tf.get_default_graph(), accelerator.strategy())
    residents.add(program.handles.values())
    given = dict(zip(prepared.computation.captures, captures))
    values = [value for row in inputs for value in row]
    values += [given[name] for name in program.source.shared]
    types = [tf.as_dtype(kind) for kind in prepared.computation.output_types]
    call = getattr(tf, "numpy_function", tf.py_func)
    with tf.control_dependencies([ready]):
        *results, token = call(
            _Runner(program).run,
            [residents.number(), *values],
            [*types * count, tf.int32],
            name="partitioned_call",
        )
    outputs = [results[k * len(types) : (k + 1) * len(types)] for k in range(count)]
    for row in outputs:
        for tensor, shape in zip(row, shapes):
            tensor.set_shape(shape)
    return PartitionedCall(outputs, token.op)


class _Runner:
    """Runs a program for the operation.

    Args:
      program: What the replicas run.
    """

    def __init__(self, program: programs.Program) -> None:
        self._program = program
        # Every Session has its own variables.
        self._steps: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def run(self, number: Any, *arrays: Any) -> list[Any]:
        """Runs all shards once, with the variables of the Session that has this number."""
        mirror = coherence.mirror_of_number(int(number))
        try:
            step = self._steps.get(mirror)
            if step is None:
                step = self._steps.setdefault(mirror, self._program.step(mirror))
            return [*self._program.run(mirror, step, arrays), np.int32(0)]
        except Exception as error:
            raise mirror.failed_within(error) from None


def _refuse_export() -> None:
    """Raises inside a function of TensorFlow 1 (Defun): it is exported, and the call cannot be."""
    graph = tf.get_default_graph()
    if graph.building_function and not isinstance(graph, private.func_graph()):
        raise errors.UnsupportedGraphError(
            "TPU361", "the computation is inside a function that another process may call"
        )


def _leave_to_host(reason: str) -> None:
    if current_environment().require_tpu:
        raise errors.SetupError(
            "TPU358",
            (f"TPUCOMPAT_REQUIRE_TPU is set, but a computation would run on the host: {reason}."),
        )
    journal.notice("TPU354", f"a computation runs on the host, not on the cores: {reason}")
