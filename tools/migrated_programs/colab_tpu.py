"""lesson11/colab_tpu.py of hadifar/tensorflow-starter as a TensorFlow 2 program: film reviews by an LSTM.

The original was written for ``keras_to_tpu_model`` on Colab. ``tools/verify_public_programs.py`` runs both and
compares them. Keras 2 and Keras 3.

    python colab_tpu.py
"""

from __future__ import annotations

import argparse
import os

import tensorflow as tf

WORDS = 10000
LENGTH = 256


def parse_args() -> argparse.Namespace:
    """Reads the command line; the original had none."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument(
        "--validation-steps", type=int, help="default: all reviews set aside for it"
    )
    parser.add_argument(
        "--activation-of-keras-2", action="store_true", help="sigmoid for the gates"
    )
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


def hard_sigmoid(x: tf.Tensor) -> tf.Tensor:
    """What the gates of TensorFlow 1's LSTM had for a sigmoid; Keras 3's function of this name is flatter."""
    return tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


class Adam(tf.keras.optimizers.Adam):
    """``tf.train.AdamOptimizer``, for embeddings too.

    Its epsilon was 1e-8, where Keras' own default is 1e-7. Keras 3 squares the gradients of a word that a batch
    has twice one by one, where TensorFlow 1 and Keras 2 added them up before: here they are added up.
    """

    def __init__(self, learning_rate: float = 1e-3) -> None:
        super().__init__(learning_rate=learning_rate, epsilon=1e-8)

    def apply(self, grads, trainable_variables=None):
        """Keras 3 alone calls this."""
        super().apply([tf.convert_to_tensor(gradient) for gradient in grads], trainable_variables)


def load_data():
    """((reviews, labels), ...) for training, validation and test; reviews of shape (n, LENGTH)."""
    (x_train, y_train), (x_test, y_test) = tf.keras.datasets.imdb.load_data(num_words=WORDS)
    pad = tf.keras.preprocessing.sequence.pad_sequences
    x_train, x_test = pad(x_train, maxlen=LENGTH), pad(x_test, maxlen=LENGTH)
    return (
        (x_train[10000:], y_train[10000:]),
        (x_train[:10000], y_train[:10000]),
        (x_test, y_test),
    )


def build_model(gates) -> tf.keras.Model:
    """Returns the probability that a review is a good one, of shape (batch, 1)."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input((LENGTH,)),
            layers.Embedding(WORDS, 16),
            layers.LSTM(128, recurrent_activation=gates),
            layers.Dense(16, activation="relu"),
            layers.Dense(1, activation="sigmoid"),
        ]
    )


def main() -> None:
    """Trains and evaluates."""
    args = parse_args()
    train, validation, test = load_data()
    with make_strategy().scope():
        model = build_model("sigmoid" if args.activation_of_keras_2 else hard_sigmoid)
        model.compile(
            optimizer=Adam(),
            loss="binary_crossentropy",
            metrics=["accuracy"],
        )
    model.fit(
        *train,
        epochs=args.epochs,
        batch_size=512,
        validation_data=validation,
        validation_batch_size=512,
        validation_steps=args.validation_steps,
        verbose=2,
    )
    found = model.evaluate(*test, batch_size=512, verbose=0, return_dict=True)
    print(f"Accuracy: {found['accuracy']} Loss: {found['loss']}")


if __name__ == "__main__":
    main()
