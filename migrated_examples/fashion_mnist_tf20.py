"""Fashion-MNIST with Keras on a TPU, on GPUs or on the CPU, validated every few epochs.

Written for TensorFlow 2; runs with Keras 2 and Keras 3. ``legacy_examples/fashion_mnist_tf20.py`` is the same
program as it was written for TensorFlow 2.0, in 2019.

    python fashion_mnist_tf20.py --epochs 10
"""

from __future__ import annotations

import argparse
import json
import os

import numpy as np
import tensorflow as tf


def parse_args() -> argparse.Namespace:
    """Reads the command line; the flags are those of the legacy script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", help="folder with a sample; downloaded if not given")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--steps-per-epoch", type=int, default=60)
    parser.add_argument("--validation-freq", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=1024, help="for all replicas together")
    parser.add_argument("--history", help=".json to write the losses to")
    return parser.parse_args()


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


def load_data(data_dir: str | None):
    """((images, labels), (images, labels)): floats of shape (n, 28, 28, 1), int32 of shape (n,)."""
    if data_dir:
        with np.load(os.path.join(data_dir, "fashion_mnist_sample.npz")) as data:
            parts = [(data["x_" + part], data["y_" + part]) for part in ("train", "test")]
    else:
        parts = tf.keras.datasets.fashion_mnist.load_data()
    return [(x[..., None].astype(np.float32) / 255, y.astype(np.int32)) for x, y in parts]


def build_model() -> tf.keras.Model:
    """Two convolutions and two dense layers; returns logits of shape (batch, 10)."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input((28, 28, 1)),
            layers.Conv2D(8, 5, padding="same", activation="elu", name="conv1"),
            layers.AveragePooling2D(2),
            layers.Conv2D(16, 5, padding="same", activation="elu", name="conv2"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dense(64, activation="elu", name="hidden"),
            layers.Dense(10, name="logits"),
        ]
    )


def main() -> None:
    """Trains, evaluates, predicts a few images."""
    args = parse_args()
    train, test = map(tf.data.Dataset.from_tensor_slices, load_data(args.data_dir))
    train = train.repeat().batch(args.batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    images = np.stack([image for image, _ in test.take(16).as_numpy_iterator()])
    test = test.batch(200, drop_remainder=True)
    with make_strategy().scope():
        model = build_model()
        model.compile(
            optimizer=tf.keras.optimizers.Adam(1e-3),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
    history = model.fit(
        train,
        epochs=args.epochs,
        steps_per_epoch=args.steps_per_epoch,
        validation_data=test,
        validation_freq=args.validation_freq,
    )
    results = model.evaluate(test, return_dict=True)
    print(f"test loss {results['loss']:.4f}, test accuracy {results['accuracy']:.4f}")
    print(np.argmax(model.predict(images), axis=1))
    if args.history:
        with open(args.history, "w", encoding="utf-8") as stream:
            json.dump({k: [float(v) for v in vs] for k, vs in history.history.items()}, stream)


if __name__ == "__main__":
    main()
