"""Fashion-MNIST with Keras on a TPU, on GPUs or on the CPU.

Written for TensorFlow 2; runs with Keras 2 and Keras 3. ``legacy_examples/fashion_mnist_keras.py``
is the same program as it was written for TensorFlow 1.13.

    python fashion_mnist_keras.py --epochs 10
"""

from __future__ import annotations

import argparse
import gzip
import json
import os

import numpy as np
import tensorflow as tf

CLASSES = [
    "t-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
]


def parse_args() -> argparse.Namespace:
    """Reads the command line; the flags are those of the legacy script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data-dir", help="the four .gz files, or an .npz sample; downloaded if not given"
    )
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--steps-per-epoch", type=int, help="default: once over the data")
    parser.add_argument("--batch-size", type=int, default=1024, help="for all replicas together")
    parser.add_argument("--filters", type=int, default=16, help="of the first convolution")
    parser.add_argument("--dropout", type=float, default=0.25)
    parser.add_argument("--no-batch-norm", dest="batch_norm", action="store_false")
    parser.add_argument(
        "--float64",
        action="store_true",
        help="compute in double precision, to compare numbers; not on a TPU",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--initial-weights", metavar="FILE", help=".npz to start from")
    parser.add_argument("--history", metavar="FILE", help=".json to write the losses to")
    parser.add_argument("--output", metavar="FILE", help=".weights.h5 to save the weights to")
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
    """Returns ((images, labels), (images, labels)) for training and test.

    Images are floats in [0, 1] of shape (n, 28, 28, 1), labels int32 of shape (n,).
    """
    if data_dir is None:
        (x_train, y_train), (x_test, y_test) = tf.keras.datasets.fashion_mnist.load_data()
    elif os.path.exists(os.path.join(data_dir, "fashion_mnist_sample.npz")):
        with np.load(os.path.join(data_dir, "fashion_mnist_sample.npz")) as data:
            x_train, y_train = data["x_train"], data["y_train"]
            x_test, y_test = data["x_test"], data["y_test"]
    else:
        x_train = read_idx(data_dir, "train-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
        y_train = read_idx(data_dir, "train-labels-idx1-ubyte.gz", 8)
        x_test = read_idx(data_dir, "t10k-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
        y_test = read_idx(data_dir, "t10k-labels-idx1-ubyte.gz", 8)

    def prepare(images, labels):
        images = images[..., np.newaxis].astype(tf.keras.backend.floatx()) / 255.0
        return images, labels.astype(np.int32)

    return prepare(x_train, y_train), prepare(x_test, y_test)


def read_idx(data_dir: str, name: str, header: int) -> np.ndarray:
    """The bytes of one of the original files, without its header."""
    with gzip.open(os.path.join(data_dir, name), "rb") as stream:
        return np.frombuffer(stream.read(), np.uint8, offset=header)


def training_data(images, labels, batch_size: int, steps: int, seed: int) -> tf.data.Dataset:
    """``steps`` batches from as many passes over the data as they need, each pass newly shuffled.

    The order is drawn by NumPy, not by ``Dataset.shuffle``, so that another program can draw the
    same one. What does not fill a batch at the end of a pass is left out of that pass.
    """
    rng = np.random.RandomState(seed)
    per_pass = len(images) // batch_size
    passes = -(-steps // per_pass)
    order = [rng.permutation(len(images))[: per_pass * batch_size] for _ in range(passes)]
    images, labels = tf.constant(images), tf.constant(labels)
    return (
        tf.data.Dataset.from_tensor_slices(np.concatenate(order))
        .batch(batch_size, drop_remainder=True)
        .take(steps)
        .map(
            lambda rows: (tf.gather(images, rows), tf.gather(labels, rows)),
            num_parallel_calls=tf.data.AUTOTUNE,
        )
        .prefetch(tf.data.AUTOTUNE)
    )


def build_model(filters: int, dropout: float, batch_norm: bool) -> tf.keras.Model:
    """Three convolution blocks and a dense layer; returns logits of shape (batch, 10)."""
    layers = tf.keras.layers
    model = tf.keras.Sequential([tf.keras.Input((28, 28, 1))])
    for block in range(3):
        model.add(layers.Conv2D(filters * 2**block, 3, padding="same", use_bias=not batch_norm))
        if batch_norm:
            model.add(layers.BatchNormalization(momentum=0.9, epsilon=1e-3))
        model.add(layers.ELU())
        model.add(layers.AveragePooling2D(2))
        model.add(layers.Dropout(dropout))
    model.add(layers.Flatten())
    model.add(layers.Dense(128, activation="elu"))
    model.add(layers.Dropout(dropout))
    model.add(layers.Dense(10))
    return model


class StepLosses(tf.keras.callbacks.Callback):
    """Keeps the loss of every batch, where Keras itself reports the mean since the epoch began.

    The metric is emptied and read outside of the training step: there it is that of all replicas.
    """

    def __init__(self):
        super().__init__()
        self.losses: list[float] = []
        self.metric = tf.keras.metrics.SparseCategoricalCrossentropy(
            name="batch_loss", from_logits=True
        )

    def on_train_batch_begin(self, batch, logs=None):
        """Forgets the earlier batches."""
        self.metric.reset_state()

    def on_train_batch_end(self, batch, logs=None):
        """Keeps the loss of this one."""
        self.losses.append(float(self.metric.result()))


def main() -> None:
    """Trains, evaluates, predicts a few images and saves what was asked for."""
    args = parse_args()
    tf.keras.utils.set_random_seed(args.seed)
    if args.float64:
        tf.keras.backend.set_floatx("float64")
    (x_train, y_train), (x_test, y_test) = load_data(args.data_dir)
    steps_per_epoch = args.steps_per_epoch or len(x_train) // args.batch_size

    with make_strategy().scope():
        step_losses = StepLosses()
        model = build_model(args.filters, args.dropout, args.batch_norm)
        model.compile(
            # tf.train.AdamOptimizer had epsilon=1e-8; Keras' own default is 1e-7.
            optimizer=tf.keras.optimizers.Adam(learning_rate=1e-3, epsilon=1e-8),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy", step_losses.metric],
        )
    model.summary()
    if args.initial_weights:
        with np.load(args.initial_weights) as weights:
            model.set_weights([weights[f"arr_{i}"] for i in range(len(weights.files))])

    history = model.fit(
        training_data(x_train, y_train, args.batch_size, args.epochs * steps_per_epoch, args.seed),
        steps_per_epoch=steps_per_epoch,
        epochs=args.epochs,
        validation_data=tf.data.Dataset.from_tensor_slices((x_test, y_test)).batch(args.batch_size),
        callbacks=[step_losses],
    )

    test = model.evaluate(x_test, y_test, batch_size=args.batch_size, return_dict=True)
    print(f"test loss {test['loss']:.4f}, test accuracy {test['accuracy']:.4f}")

    guesses = tf.nn.softmax(model.predict(x_test[:8])).numpy()
    for guess, label in zip(np.argmax(guesses, axis=1), y_test):
        print(f"predicted: {CLASSES[guess]:<12} is: {CLASSES[label]}")

    if args.output:
        model.save_weights(args.output)
    if args.history:
        with open(args.history, "w") as stream:
            json.dump(
                {
                    "step_loss": step_losses.losses,
                    "epochs": {k: [float(v) for v in vs] for k, vs in history.history.items()},
                    "test": {"loss": float(test["loss"]), "acc": float(test["accuracy"])},
                    "predictions": guesses.tolist(),
                },
                stream,
            )


if __name__ == "__main__":
    main()
