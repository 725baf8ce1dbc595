"""The first pair's model as one writes it for TensorFlow 2, to time its steps.

    python benchmarks/direct_keras.py one FLAGS          on one replica
    python benchmarks/direct_keras.py mirrored FLAGS     under MirroredStrategy, eight devices of the CPU

The second yardstick of ``overhead.py``. Data, batches and model are the migrated example's own
functions, and the flags are its flags; what is left out is the metric by which it reports each loss.
"""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np
import tensorflow as tf

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORES = 8


class StepTimes(tf.keras.callbacks.Callback):
    """Keeps when each batch ended."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        """Keeps the time of this one."""
        self.times.append(time.perf_counter())


def strategy(kind: str) -> tf.distribute.Strategy:
    """The default strategy, or one replica on each of eight logical devices of the CPU."""
    if kind == "one":
        return tf.distribute.get_strategy()
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration()] * CORES
    )
    return tf.distribute.MirroredStrategy(
        [f"/cpu:{core}" for core in range(CORES)],
        cross_device_ops=tf.distribute.ReductionToOneDevice(),
    )


def main(kind: str) -> None:
    """Trains as the migrated example does, and writes the times of the steps.

    Args:
      kind: ``one`` or ``mirrored``.
    """
    sys.path.insert(0, os.path.join(ROOT, "migrated_examples"))
    import fashion_mnist_keras as example

    args = example.parse_args()
    replicas = strategy(kind)
    (x_train, y_train), (x_test, y_test) = example.load_data(args.data_dir)
    with replicas.scope():
        model = example.build_model(args.filters, args.dropout, args.batch_norm)
        model.compile(
            optimizer=tf.keras.optimizers.Adam(learning_rate=1e-3, epsilon=1e-8),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
    with np.load(args.initial_weights) as weights:
        model.set_weights([weights[f"arr_{i}"] for i in range(len(weights.files))])
    steps = args.steps_per_epoch
    times = StepTimes()
    history = model.fit(
        example.training_data(x_train, y_train, args.batch_size, steps, args.seed),
        steps_per_epoch=steps,
        validation_data=tf.data.Dataset.from_tensor_slices((x_test, y_test)).batch(args.batch_size),
        callbacks=[times],
    )
    with open(args.history, "w", encoding="utf-8") as stream:
        json.dump({"step_time": times.times, "epochs": history.history}, stream)


if __name__ == "__main__":
    main(sys.argv.pop(1))
