"""Trains on TFRecords in a bucket, on a TPU, on GPUs or on the CPU, and exports the model.

Written for TensorFlow 2; runs with Keras 2 and Keras 3. ``legacy_examples/gcs_tfrecord_training.py`` is the
same program as it was written for TensorFlow 2.4, in 2021.

    python gcs_tfrecord_training.py --data gs://my-pictures/tfrecords --model gs://my-models/pets
"""

from __future__ import annotations

import argparse
import json
import os

import tensorflow as tf


def parse_args() -> argparse.Namespace:
    """Reads the command line; the flags are those of the legacy script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="with train-*.tfrec and validation-*.tfrec")
    parser.add_argument("--model", help="where to export the model")
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--batch-size", type=int, default=64, help="for all replicas together")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps-per-epoch", type=int, default=2)
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


def get_dataset(pattern: str, size: int, batch_size: int, repeat: bool) -> tf.data.Dataset:
    """Batches of pictures in [0, 1], shape (batch, size, size, 3), and labels, shape (batch,)."""

    def read_example(serialized):
        features = {
            "image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64),
        }
        example = tf.io.parse_single_example(serialized, features)
        image = tf.io.decode_png(example["image"], channels=3)
        image.set_shape([size, size, 3])  # a TPU has to know it
        return tf.cast(image, tf.float32) / 255.0, tf.cast(example["label"], tf.int32)

    records = tf.data.TFRecordDataset(sorted(tf.io.gfile.glob(pattern)))
    dataset = records.map(read_example, num_parallel_calls=tf.data.AUTOTUNE)
    if repeat:
        dataset = dataset.repeat()
    # Only for training: Keras 3 divides by a batch too many where it evaluates batches of a fixed size
    # and does not know how many there are.
    return dataset.batch(batch_size, drop_remainder=repeat).prefetch(tf.data.AUTOTUNE)


def build_model(size: int) -> tf.keras.Model:
    """Two convolutions and a dense layer; returns probabilities of shape (batch, 2)."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input((size, size, 3)),
            layers.Conv2D(16, 3, activation="elu", name="conv1"),
            layers.AveragePooling2D(2),
            layers.Conv2D(32, 3, activation="elu", name="conv2"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(2, activation="softmax", name="kind"),
        ]
    )


def main() -> None:
    """Trains, evaluates, exports."""
    args = parse_args()
    train = get_dataset(f"{args.data}/train-*.tfrec", args.size, args.batch_size, True)
    validation = get_dataset(f"{args.data}/validation-*.tfrec", args.size, 32, False)
    strategy = make_strategy()
    print("replicas:", strategy.num_replicas_in_sync)
    with strategy.scope():
        model = build_model(args.size)
        model.compile(
            optimizer=tf.keras.optimizers.Adam(0.002),
            loss="sparse_categorical_crossentropy",
            metrics=["accuracy"],
        )
    history = model.fit(
        train,
        steps_per_epoch=args.steps_per_epoch,
        epochs=args.epochs,
        validation_data=validation,
    )
    results = model.evaluate(validation, return_dict=True)
    print("accuracy", results["accuracy"])
    if args.model:
        model.export(args.model)
    if args.history:
        with open(args.history, "w", encoding="utf-8") as stream:
            json.dump({k: [float(v) for v in vs] for k, vs in history.history.items()}, stream)


if __name__ == "__main__":
    main()
