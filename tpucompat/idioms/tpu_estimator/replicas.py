"""The strategy that runs a TPUEstimator's cores."""

from __future__ import annotations

from typing import Any

from tpucompat import accelerator, private
from tpucompat.environment import environment
from tpucompat.errors import SetupError


def strategy_of(replicas: int) -> Any:
    """The strategy over that many replicas of this process.

    Args:
      replicas: All of them; fewer where each was to spread over several cores of a TPU.

    Raises:
      SetupError: On a TPU, where all cores belong to the strategy (TPU328).
    """
    everything = accelerator.strategy()
    if replicas == everything.num_replicas_in_sync:
        return everything
    if environment().tpu and not accelerator.emulated_cores():
        raise SetupError(
            "TPU328",
            f"{replicas} replicas are wanted, and the TPU has {everything.num_replicas_in_sync} "
            "cores.",
        )
    import tensorflow

    with private.eager_mode():
        devices = everything.extended.worker_devices[:replicas]
        return tensorflow.distribute.MirroredStrategy(devices)
