"""``tf.contrib.tpu``'s topologies, whose meshes had three dimensions: two of chips, and the cores of a chip.

Since TensorFlow 2.1 there is a third dimension of chips (``tensorflow/python/tpu/topology.py``), of which the
TPUs of these scripts use one; shapes and coordinates of three numbers get it here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tpucompat.tf import private

_Topology: Any = private.topology_class()
_assignment: Any = private.device_assignment()


class Topology(_Topology):
    """The shape of a TPU and the places of its cores.

    Args:
      serialized: A serialized ``TopologyProto``; the others are ignored then.
      mesh_shape: The mesh in cores: three numbers, or four.
      device_coordinates: The place of each core, of shape [tasks, cores of a task, 3 or 4].

    Raises:
      ValueError: If they do not fit.
    """

    def __init__(
        self, serialized: Any = None, mesh_shape: Any = None, device_coordinates: Any = None
    ) -> None:
        super().__init__(serialized, _chips(mesh_shape, 1), _chips(device_coordinates, 0))


class DeviceAssignment(_assignment.DeviceAssignment):
    """Which cores compute which replica.

    Args:
      topology: The :class:`Topology`.
      core_assignment: The cores' coordinates, of shape [replicas, cores of a replica, 3 or 4].

    Raises:
      ValueError: If they do not fit.
    """

    def __init__(self, topology: Any, core_assignment: Any) -> None:
        super().__init__(topology, _chips(core_assignment, 0))


def device_assignment(
    topology: Any,
    computation_shape: Any = None,
    computation_stride: Any = None,
    num_replicas: int = 1,
    **others: Any,
) -> Any:
    """Spreads replicas over the cores of a topology.

    Args:
      topology: The :class:`Topology`, or a serialized one.
      computation_shape: How many cores a replica has in each dimension: three numbers, or four.
      computation_stride: The distance between them.
      num_replicas: The number of replicas.
      **others: Later releases' own arguments.

    Returns:
      The ``DeviceAssignment``.

    Raises:
      ValueError: If the topology has not as many cores.
    """
    return _assignment.device_assignment(
        topology,
        _chips(computation_shape, 1),
        _chips(computation_stride, 1),
        num_replicas,
        **others,
    )


def _chips(numbers: Any, third: int) -> Any:
    """Numbers with one for the third dimension of chips, where the installed release has it."""
    if numbers is None or private.topology_rank() == 3:
        return numbers
    array = np.asarray(numbers)
    return np.insert(array, 2, third, axis=-1) if array.shape[-1:] == (3,) else array
