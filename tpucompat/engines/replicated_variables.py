"""The variables of a step on N replicas: copies on each, found by the names that the trace has for them."""

from __future__ import annotations

import itertools
from typing import Any, Iterable, Mapping, Sequence

import numpy as np
import tensorflow as tf
import tensorflow.compat.v1 as v1

from tpucompat.base import errors
from tpucompat.engines import trace
from tpucompat.tf import private


class ReplicatedVariables:
    """A strategy's copies of resource variables; several steps (training, evaluation) share them.

    Every replica has a copy of its own, and a step that assigns inside the replica changes that
    copy alone, as on a TPU. Replica 0 is read back, as the distributed TPU rewrite of TF 1 writes
    back core 0 (``distributed_tpu_rewrite_pass.cc``).

    Args:
      strategy: The ``tf.distribute.Strategy`` whose replicas hold the copies.
    """

    def __init__(self, strategy: Any) -> None:
        self.strategy = strategy
        self._specs: dict[str, trace.VariableSpec] = {}
        self._pending: dict[str, Any] = {}
        self._variables: dict[str, Any] = {}

    def declare(self, specs: Iterable[trace.VariableSpec]) -> None:
        """Tells which variables a step will use, with their types and static shapes."""
        for spec in specs:
            self._specs.setdefault(spec.name, spec)

    def load(self, values: Mapping[str, Any]) -> None:
        """Copies values from the host to all replicas.

        Args:
          values: Variable name -> array. Variables that no step uses are kept all the same.
        """
        for name, value in values.items():
            if name not in self._variables:
                self._pending[name] = value
                continue
            self._assign(name, itertools.repeat(value))

    def load_apart(self, name: str, values: Sequence[Any]) -> None:
        """Gives each replica a value of its own.

        Args:
          name: A variable that has a value.
          values: An array for each replica.
        """
        self.create([name])
        self._assign(name, values)

    def _assign(self, name: str, values: Iterable[Any]) -> None:
        """Gives each replica's copy a value; one array for all of them is taken over once."""
        with private.eager_mode():
            variable, last, tensor = self._variables[name], None, None
            for copy, value in zip(self.strategy.experimental_local_results(variable), values):
                if tensor is None or value is not last:
                    last, tensor = value, tf.convert_to_tensor(value, copy.dtype)
                    self._check_value(name, tensor)
                # What copy.assign() does in three times the time.
                tf.raw_ops.AssignVariableOp(resource=copy.handle, value=tensor)

    def read(self, names: Iterable[str] | None = None, replica: int = 0) -> dict[str, Any]:
        """Copies values from a replica to the host.

        Args:
          names: The variables wanted; all that were loaded when None.
          replica: Whose copy.

        Returns:
          Variable name -> array.
        """
        wanted = list(names) if names is not None else [*self._variables, *self._pending]
        self.create(wanted)
        copies = self.strategy.experimental_local_results
        with private.eager_mode():
            return {name: copies(self._variables[name])[replica].numpy() for name in wanted}

    def create(self, names: Iterable[str]) -> None:
        """Makes the replicas' copies of variables that have a value by now.

        Raises:
          errors.UninitializedError: If one has none.
        """
        missing = [name for name in names if name not in self._variables]
        unknown = [name for name in missing if name not in self._pending]
        if unknown:
            raise errors.UninitializedError(
                "TPU365",
                "no value was loaded for {} of the step's variables: {}".format(
                    len(unknown),
                    ", ".join(sorted(unknown)[:5]) + (", ..." if len(unknown) > 5 else ""),
                ),
            )
        with private.eager_mode(), self.strategy.scope():
            for name in missing:
                spec = self._specs.get(name)
                self._check_value(name, self._pending[name])
                self._variables[name] = tf.Variable(
                    self._pending.pop(name),
                    dtype=spec.dtype if spec else None,
                    shape=spec.shape if spec else None,
                    # No name: it would be an attribute of the handle's operation, and every
                    # variable have to wait for a kernel of its own (1.4 s for 2,000 copies).
                    trainable=False,  # no tape shall watch it: the graph holds the gradients
                    # Replicas assign their own copies. MEAN fails on integers, SUM is wrong.
                    aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
                )

    def _check_value(self, name: str, value: Any) -> None:
        shape = self._specs[name].shape if name in self._specs else None
        if shape is not None and not shape.is_compatible_with(np.shape(value)):
            raise errors.BadValueError(
                "TPU368",
                (
                    f"the variable {name!r} has the shape {shape}, but its value has the "
                    f"shape {np.shape(value)}"
                ),
            )

    def handles(self, names: Iterable[str]) -> dict[str, Any]:
        """The handles of the current replica's copies, as tensors of the current function."""
        graph = v1.get_default_graph()
        return {name: graph.capture(self._variables[name].handle) for name in names}
