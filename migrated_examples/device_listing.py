"""Lists the devices that TensorFlow computes on, and the replicas of a strategy over them.

Written for TensorFlow 2. ``legacy_examples/device_listing.py`` is the same program as it was written
for TensorFlow 1.12.

    python device_listing.py
"""

from __future__ import annotations

import json
import os
import sys

import tensorflow as tf


def make_strategy() -> tf.distribute.Strategy:
    """A TPUStrategy where there is a TPU, else all GPUs, else the one device there is."""
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu=os.environ.get("TPU_NAME", "local")
        )
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    except (ValueError, tf.errors.OpError):
        if "TPU_NAME" in os.environ:  # it was asked for: no run on something else in silence
            raise
    if len(tf.config.list_physical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()


def main() -> None:
    """Prints the devices; writes them to the JSON file that the first argument names."""
    strategy = make_strategy()
    devices = tf.config.list_logical_devices()
    print("Devices:")
    for device in devices:
        print(f"  {device.device_type} {device.name}")
    print(f"{strategy.num_replicas_in_sync} replicas")
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", encoding="utf-8") as stream:
            json.dump(
                {
                    "types": [device.device_type for device in devices],
                    "cores": strategy.num_replicas_in_sync,
                },
                stream,
            )


if __name__ == "__main__":
    main()
