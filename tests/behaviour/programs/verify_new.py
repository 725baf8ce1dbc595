"""The twin of verify_old.py in TensorFlow 2, and what can go wrong with it: the second argument."""

import json
import sys

import numpy as np
import tensorflow as tf

CORES = 8
RATE = 1e-3
BATCH, STEPS = 64, 6
MISTAKE = sys.argv[2] if len(sys.argv) > 2 else "none"


def batches():
    """The batches of the old script."""
    rng = np.random.RandomState(0)
    for _ in range(STEPS):
        x = rng.randn(BATCH, 12).astype(np.float32)
        y = (np.abs(x[:, 0]) + x[:, 1] > 1).astype(np.int32)
        if MISTAKE == "labels shifted":
            y = np.roll(y, 1)
        size = BATCH // CORES if MISTAKE == "batch of one core" else BATCH
        yield x[:size], y[:size]


def build_model():
    """The old script's network."""
    layers = tf.keras.layers
    momentum = 0.99 if MISTAKE == "momentum" else 0.9
    width = 24 if MISTAKE == "other variables" else 16
    return tf.keras.Sequential(
        [
            tf.keras.Input((12,)),
            layers.Dense(width, name="hidden"),
            layers.BatchNormalization(momentum=momentum, epsilon=1e-3, name="norm"),
            layers.Activation("tanh"),
            layers.Dense(2, name="logits"),
        ]
    )


def main():
    """Trains."""
    model = build_model()
    optimizer = tf.keras.optimizers.Adam(
        RATE if MISTAKE == "rate" else RATE * CORES, epsilon=1e-7 if MISTAKE == "epsilon" else 1e-8
    )
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction="sum" if MISTAKE == "sum" else "sum_over_batch_size"
    )

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    history = []
    for x, y in batches():
        if MISTAKE == "crash" and len(history) == 3:
            raise RuntimeError("the disk is full")
        history.append(float(step(x, y)))
    with open(sys.argv[1], "w", encoding="utf-8") as stream:
        json.dump({"loss": history}, stream)


if __name__ == "__main__":
    main()
