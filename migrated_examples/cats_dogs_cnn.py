"""Cats and dogs from folders of pictures, with Keras on a TPU, on GPUs or on the CPU.

Written for TensorFlow 2; runs with Keras 2 and Keras 3. ``legacy_examples/cats_dogs_cnn.py`` is the same
program as it was written for TensorFlow 1.13.

    python cats_dogs_cnn.py --data-dir dogs-vs-cats --epochs 10
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np
import tensorflow as tf


def parse_args() -> argparse.Namespace:
    """Reads the command line; the flags are those of the legacy script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", required=True, help="with train/ and validation/")
    parser.add_argument("--size", type=int, default=150, help="height and width of the pictures")
    parser.add_argument("--batch-size", type=int, default=64, help="for all replicas together")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1, help="decides on the order of the pictures")
    parser.add_argument("--output", default="cats_dogs.weights.h5")
    parser.add_argument("--history", metavar="FILE", help=".json to write the losses to")
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


def list_pictures(folder: str) -> tuple[list[str], np.ndarray]:
    """The files of a folder with a folder for each class, and the number of each file's class."""
    classes = sorted(path for path in Path(folder).iterdir() if path.is_dir())
    files = [(file, label) for label, path in enumerate(classes) for file in sorted(path.iterdir())]
    return [str(file) for file, _ in files], np.array([label for _, label in files], np.float32)


def dataset(files: list[str], labels: np.ndarray, order: np.ndarray, size: int, batch_size: int):
    """Batches of pictures in [0, 1], shape (batch, size, size, 3), and labels, shape (batch, 1)."""

    def load(file, label):
        picture = tf.io.decode_image(tf.io.read_file(file), channels=3, expand_animations=False)
        # The generator of Keras 1 took the nearest pixel, and of two as near the left one.
        picture = tf.image.resize(picture, [size, size], method="nearest")
        return tf.cast(picture, tf.float32) / 255.0, label

    rows = tf.data.Dataset.from_tensor_slices((np.array(files)[order], labels[order][:, None]))
    return (
        rows.map(load, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(batch_size, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )


def build_model(size: int, dropout: float) -> tf.keras.Model:
    """Two convolutions and two dense layers; returns one logit, shape (batch, 1)."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input((size, size, 3)),
            layers.Conv2D(16, 3, activation="elu", name="conv1"),
            layers.AveragePooling2D(2),
            layers.Conv2D(32, 3, activation="elu", name="conv2"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dense(32, activation="elu", name="hidden"),
            layers.Dropout(dropout),
            layers.Dense(1, name="dog"),
        ]
    )


def main() -> None:
    """Trains, saves, and predicts a batch."""
    args = parse_args()
    files, labels = list_pictures(os.path.join(args.data_dir, "train"))
    # The order of the legacy script's first epoch, newly drawn for each of the others.
    rng = np.random.RandomState(args.seed)
    order = np.concatenate([rng.permutation(len(files)) for _ in range(args.epochs)])
    train = dataset(files, labels, order, args.size, args.batch_size)
    test_files, test_labels = list_pictures(os.path.join(args.data_dir, "validation"))
    in_order = np.arange(len(test_files))
    validation = dataset(test_files, test_labels, in_order, args.size, args.batch_size)

    with make_strategy().scope():
        model = build_model(args.size, args.dropout)
        model.compile(
            # tf.train.AdamOptimizer had epsilon=1e-8; Keras' own default is 1e-7.
            optimizer=tf.keras.optimizers.Adam(1e-3, epsilon=1e-8),
            loss=tf.keras.losses.BinaryCrossentropy(from_logits=True),
            metrics=[tf.keras.metrics.BinaryAccuracy("accuracy", threshold=0.0)],
        )
    history = model.fit(
        train,
        steps_per_epoch=len(files) // args.batch_size,
        epochs=args.epochs,
        validation_data=validation,
    )
    model.save_weights(args.output)

    x, y = next(iter(validation))
    dogs = tf.sigmoid(model.predict(x)).numpy()[:, 0]
    print(f"{np.sum((dogs > 0.5) == y.numpy()[:, 0])} of {len(dogs)} are right")
    if args.history:
        with open(args.history, "w", encoding="utf-8") as stream:
            epochs = {name: [float(v) for v in values] for name, values in history.history.items()}
            json.dump({"epochs": epochs, "dogs": dogs.tolist()}, stream)


if __name__ == "__main__":
    main()
