"""MNIST with Keras on a TPU, on GPUs or on the CPU.

Written for TensorFlow 2; runs with Keras 2 and Keras 3. ``legacy_examples/mnist_tpu_estimator.py``
is the same program as it was written for TensorFlow 1.14; what TPUEstimator did is done by
``Model.fit``, ``evaluate``, ``predict`` and ``export``.

    python mnist_tpu_estimator.py --data_dir ... --model_dir gs://bucket/mnist
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
    parser.add_argument("--data_dir", required=True, help="folder with mnist.npz, or the sample")
    parser.add_argument("--model_dir", required=True, help="where checkpoints and summaries go")
    parser.add_argument("--export_dir", help="where the trained model goes")
    parser.add_argument("--report", help=".json to write the losses to")
    parser.add_argument("--batch_size", type=int, default=256, help="for all replicas together")
    parser.add_argument("--train_steps", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=50, help="steps in one call")
    parser.add_argument("--seed", type=int, default=1, help="decides on the order of the images")
    parser.add_argument("--learning_rate", type=float, default=0.05, help="of the first step")
    parser.add_argument("--checkpoint", help="of the legacy script, to start from")
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


def load_data(data_dir: str):
    """Part -> (images as floats of shape (n, 28, 28, 1), labels as int32 of shape (n,))."""
    for name in ("mnist.npz", "fashion_mnist_sample.npz"):
        path = os.path.join(data_dir, name)
        if os.path.exists(path):
            with np.load(path) as data:
                return {
                    part: (
                        data["x_" + part][..., np.newaxis].astype(np.float32) / 255.0,
                        data["y_" + part].astype(np.int32),
                    )
                    for part in ("train", "test")
                }
    raise SystemExit(f"There is no data in {data_dir!r}.")


def training_data(images, labels, batch_size: int, steps: int, seed: int) -> tf.data.Dataset:
    """``steps`` batches, in the order that the legacy script draws."""
    rng = np.random.RandomState(seed)
    per_pass = len(images) // batch_size * batch_size
    passes = -(-steps * batch_size // per_pass)
    order = np.concatenate([rng.permutation(len(images))[:per_pass] for _ in range(passes)])
    images, labels = tf.constant(images), tf.constant(labels)
    return (
        tf.data.Dataset.from_tensor_slices(order)
        .repeat()
        .batch(batch_size, drop_remainder=True)
        .map(lambda rows: (tf.gather(images, rows), tf.gather(labels, rows)))
        .prefetch(tf.data.AUTOTUNE)
    )


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


def restore(model: tf.keras.Model, checkpoint: str) -> None:
    """Takes the weights of a TensorFlow 1 checkpoint, whose names are those of the layers."""
    reader = tf.train.load_checkpoint(checkpoint)
    for name in ("conv1", "conv2", "hidden", "logits"):
        model.get_layer(name).set_weights(
            [reader.get_tensor(f"{name}/{part}") for part in ("kernel", "bias")]
        )


class StepSummaries(tf.keras.callbacks.Callback):
    """Writes the loss and the learning rate of each step, as host_call did.

    Keras itself reports the mean loss since the epoch began. The metric here is emptied and read
    outside of the training step: there it is that of all replicas.
    """

    def __init__(self, model_dir: str, schedule):
        super().__init__()
        self.losses: list[float] = []
        self.rates: list[float] = []
        self.metric = tf.keras.metrics.SparseCategoricalCrossentropy(
            name="batch_loss", from_logits=True
        )
        self._writer = tf.summary.create_file_writer(model_dir)
        self._schedule = schedule

    def on_train_batch_begin(self, batch, logs=None):
        """Forgets the earlier batches."""
        self.metric.reset_state()

    def on_train_batch_end(self, batch, logs=None):
        """One line of each curve."""
        step = len(self.losses)
        self.losses.append(float(self.metric.result()))
        self.rates.append(float(self._schedule(step)))
        with self._writer.as_default(step=step):
            tf.summary.scalar("training/loss", self.losses[-1])
            tf.summary.scalar("training/learning_rate", self.rates[-1])


def main() -> None:
    """Trains, evaluates, predicts a few images, exports."""
    args = parse_args()
    data = load_data(args.data_dir)
    schedule = tf.keras.optimizers.schedules.ExponentialDecay(args.learning_rate, 100, 0.9)
    with make_strategy().scope():
        summaries = StepSummaries(args.model_dir, schedule)
        model = build_model()
        model.compile(
            optimizer=tf.keras.optimizers.SGD(schedule),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy", summaries.metric],
        )
    if args.checkpoint:
        restore(model, args.checkpoint)

    model.fit(
        training_data(*data["train"], args.batch_size, args.train_steps, args.seed),
        steps_per_epoch=args.train_steps,
        callbacks=[summaries],
        verbose=2,
    )

    checkpoint = tf.train.Checkpoint(model=model, optimizer=model.optimizer)
    checkpoint.save(os.path.join(args.model_dir, "ckpt"))

    images, labels = data["test"]
    count = len(images) // args.batch_size * args.batch_size
    metrics = model.evaluate(
        images[:count], labels[:count], args.batch_size, verbose=0, return_dict=True
    )
    print(f"accuracy {metrics['accuracy']:.4f}")
    some = images[: args.batch_size]  # every replica gets a part of them
    probabilities = tf.nn.softmax(model.predict(some, verbose=0)).numpy()[:10]
    for guess in probabilities:
        print(f"predicted: {guess.argmax()} ({100 * guess.max():.1f}%)")

    if args.export_dir:
        model.export(args.export_dir)
    if args.report:
        with open(args.report, "w") as stream:
            json.dump(
                {
                    "step_loss": summaries.losses,
                    "learning_rate": summaries.rates,
                    "metrics": {
                        "accuracy": float(metrics["accuracy"]),
                        "mean_loss": float(metrics["loss"]),
                    },
                    "probabilities": probabilities.tolist(),
                },
                stream,
            )


if __name__ == "__main__":
    main()
