"""The shape of the TPU system that the cores of this process stand for."""

from __future__ import annotations

from tpucompat.tf import private

#: Cores of one TPU host; device ordinals count within a host.
CORES_PER_HOST = 8


def serialized(cores: int) -> bytes:
    """The serialized ``TopologyProto`` of so many cores, two to a chip as on a TPU v2.

    Args:
      cores: The number of cores; those beyond 8 belong to further hosts.
    """
    per_chip = 1 if cores % 2 else 2
    chips = cores // per_chip
    height = max(size for size in range(1, int(chips**0.5) + 1) if chips % size == 0)
    width = chips // height
    # TensorFlow 2 has a third dimension of chips, of which a TPU v2 uses one.
    depth = [1] if private.topology_rank() == 4 else []
    per_host = min(cores, CORES_PER_HOST)
    proto = private.topology_proto()()
    proto.mesh_shape.extend([width, height, *depth, per_chip])
    proto.num_tasks = -(-cores // per_host)
    proto.num_tpu_devices_per_task = per_host
    for index in range(cores):
        chip = index // per_chip
        coordinates: list[int] = [
            chip % width,
            chip // width,
            *([0] * len(depth)),
            index % per_chip,
        ]
        proto.device_coordinates.extend(coordinates)
    return bytes(proto.SerializeToString())
