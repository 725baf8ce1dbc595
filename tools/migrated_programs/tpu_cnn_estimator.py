"""The Cloud ML sample ``tpu_cnn_estimator`` as a TensorFlow 2 program: small pictures by two convolutions.

The original is tpu/templates/tpu_cnn_estimator/trainer.py of GoogleCloudPlatform/cloudml-samples, written for
TPUEstimator. ``tools/verify_public_programs.py`` runs both and compares them. Keras 2 and Keras 3.

    python tpu_cnn_estimator.py --model-dir gs://bucket/cnn
"""

from __future__ import annotations

import argparse
import os

import numpy as np
import tensorflow as tf

NUM_CLASSES = 10


def parse_args() -> argparse.Namespace:
    """Reads the command line; the flags are those of the original."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model-dir", default="/tmp/tpu-template", help="where checkpoints go")
    parser.add_argument("--max-steps", type=int, default=1000)
    parser.add_argument("--train-batch-size", type=int, default=16, help="of all cores together")
    parser.add_argument("--save-checkpoints-steps", type=int, default=100)
    parser.add_argument("--rms-of-zeros", action="store_true", help="begin as Keras' RMSprop does")
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


def training_data(batch_size: int) -> tf.data.Dataset:
    """Random pictures and labels, over and over, always in the same order."""
    images = np.random.rand(100, 28, 28, 1).astype(np.float32)
    labels = np.random.randint(0, NUM_CLASSES, 100).astype(np.int32)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).repeat()
    return dataset.batch(batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def build_model() -> tf.keras.Model:
    """Two convolutions without activations, each with a pooling, and a dense layer; returns logits."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input((28, 28, 1)),
            layers.Conv2D(16, 4, strides=2),
            layers.MaxPooling2D(4, strides=2),
            layers.Conv2D(32, 1),
            layers.MaxPooling2D(2, strides=2),
            layers.Flatten(),
            layers.Dense(NUM_CLASSES),
        ]
    )


def make_optimizer(model: tf.keras.Model, zeros: bool) -> tf.keras.optimizers.Optimizer:
    """``tf.train.RMSPropOptimizer(0.05)``: its averages of squared gradients begin with ones."""
    optimizer = tf.keras.optimizers.RMSprop(learning_rate=0.05, rho=0.9, epsilon=1e-10)
    optimizer.build(model.trainable_variables)
    for variable in optimizer.variables:
        if "velocity" in variable.name and not zeros:
            variable.assign(tf.ones(variable.shape))
    return optimizer


def main() -> None:
    """Trains; saves the weights every ``--save-checkpoints-steps`` steps."""
    args = parse_args()
    dataset = training_data(args.train_batch_size)
    with make_strategy().scope():
        model = build_model()
        model.compile(
            optimizer=make_optimizer(model, args.rms_of_zeros),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
    weights = os.path.join(args.model_dir, "epoch-{epoch}.weights.h5")
    model.fit(
        dataset,
        steps_per_epoch=args.save_checkpoints_steps,
        epochs=args.max_steps // args.save_checkpoints_steps,
        callbacks=[tf.keras.callbacks.ModelCheckpoint(weights, save_weights_only=True)],
        verbose=2,
    )


if __name__ == "__main__":
    main()
