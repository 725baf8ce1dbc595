"""Fine-tunes a small transformer on pairs of sentences, on a TPU, on GPUs or on the CPU.

Written for TensorFlow 2; runs with Keras 2 and Keras 3: ``Model.fit``, or a loop of its own (--loop custom).
``legacy_examples/bert_fine_tuning.py`` is the same program as it was written for TensorFlow 2.1, in 2020.

    python bert_fine_tuning.py --loop custom --model-dir gs://my-models/pairs
"""

from __future__ import annotations

import argparse
import json
import math
import os

import numpy as np
import tensorflow as tf


def parse_args() -> argparse.Namespace:
    """Reads the command line; the flags are those of the legacy script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loop", choices=["fit", "custom"], default="fit")
    parser.add_argument("--model-dir", help="where checkpoints go")
    parser.add_argument("--report", help=".json to write the losses to")
    parser.add_argument("--batch-size", type=int, default=64, help="for all replicas together")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--vocabulary", type=int, default=100)
    parser.add_argument("--length", type=int, default=16)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
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


def load_data(args: argparse.Namespace, count: int = 256) -> tuple[np.ndarray, np.ndarray]:
    """Ids of shape (count, length) and labels of shape (count,).

    The second half of a pair of the kind 1 is the first one, turned round.
    """
    rng = np.random.RandomState(0)
    half = args.length // 2
    first = rng.randint(1, args.vocabulary, (count, half))
    second = rng.randint(1, args.vocabulary, (count, half))
    labels = rng.randint(0, 2, count)
    second = np.where(labels[:, None] == 1, first[:, ::-1], second)
    return np.concatenate([first, second], 1).astype(np.int32), labels.astype(np.int32)


class Attention(tf.keras.layers.Layer):
    """Attention of a sequence to itself: (batch, length, width) to the same shape."""

    def __init__(self, width: int, heads: int, **kwargs):
        super().__init__(**kwargs)
        self.width, self.heads = width, heads
        self.query = tf.keras.layers.Dense(width, name="query")
        self.key = tf.keras.layers.Dense(width, name="key")
        self.value = tf.keras.layers.Dense(width, name="value")
        self.out = tf.keras.layers.Dense(width, name="out")

    def build(self, input_shape):
        """Makes the variables of the four layers."""
        for layer in (self.query, self.key, self.value, self.out):
            layer.build(input_shape)

    def split(self, x):
        """(batch, length, width) to (batch, heads, length, width of a head)."""
        shape = [-1, x.shape[1], self.heads, self.width // self.heads]
        return tf.transpose(tf.reshape(x, shape), [0, 2, 1, 3])

    def call(self, x):
        """The attended sequence."""
        query, key, value = (self.split(layer(x)) for layer in (self.query, self.key, self.value))
        scores = tf.matmul(query, key, transpose_b=True) / math.sqrt(self.width // self.heads)
        y = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
        return self.out(tf.reshape(y, [-1, x.shape[1], self.width]))

    def compute_output_shape(self, input_shape):
        """The shape stays."""
        return input_shape


class Encoder(tf.keras.layers.Layer):
    """One layer of the transformer: (batch, length, width) to the same shape."""

    def __init__(self, width: int, heads: int, **kwargs):
        super().__init__(**kwargs)
        self.width = width
        self.attention = Attention(width, heads, name="attention")
        self.norm1 = tf.keras.layers.LayerNormalization(epsilon=1e-6, name="norm1")
        self.wide = tf.keras.layers.Dense(4 * width, activation="elu", name="wide")
        self.narrow = tf.keras.layers.Dense(width, name="narrow")
        self.norm2 = tf.keras.layers.LayerNormalization(epsilon=1e-6, name="norm2")

    def build(self, input_shape):
        """Makes the variables of the layers."""
        for layer in (self.attention, self.norm1, self.wide, self.norm2):
            layer.build(input_shape)
        self.narrow.build((*input_shape[:-1], 4 * self.width))

    def call(self, x):
        """The encoded sequence."""
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.narrow(self.wide(x)))

    def compute_output_shape(self, input_shape):
        """The shape stays."""
        return input_shape


class DenseAdam(tf.keras.optimizers.Adam):
    """Adam that adds up the gradients of a word before it squares them; Keras 3 squares each occurrence's."""

    def apply(self, grads, trainable_variables=None):
        """One step with dense gradients."""
        return super().apply([tf.convert_to_tensor(each) for each in grads], trainable_variables)


def build_model(args: argparse.Namespace) -> tf.keras.Model:
    """Ids of shape (batch, length) to logits of shape (batch, 2)."""
    ids = tf.keras.Input((args.length,), dtype="int32")
    x = tf.keras.layers.Embedding(args.vocabulary, args.width, name="words")(ids)
    for index in range(args.layers):
        x = Encoder(args.width, args.heads, name=f"encoder_{index}")(x)
    x = tf.keras.layers.Flatten()(x)
    return tf.keras.Model(ids, tf.keras.layers.Dense(2, name="classifier")(x))


def custom_loop(args, strategy, model, optimizer, train, test):
    """Trains and tests step by step: the losses, and the accuracy."""
    with strategy.scope():
        accuracy = tf.keras.metrics.SparseCategoricalAccuracy()

    def train_replica(x, y):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x, training=True))
            # The optimizer sums the gradients over the replicas.
            loss = tf.nn.compute_average_loss(losses, global_batch_size=args.batch_size)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    @tf.function
    def train_step(x, y):
        return strategy.reduce("sum", strategy.run(train_replica, args=(x, y)), axis=None)

    @tf.function
    def test_step(x, y):
        strategy.run(lambda x, y: accuracy.update_state(y, model(x, training=False)), args=(x, y))

    losses: list[float] = []
    for x, y in strategy.experimental_distribute_dataset(train.take(args.steps)):
        losses.append(float(train_step(x, y)))
        if len(losses) % 10 == 0:
            print(f"step {len(losses)}, loss {losses[-1]:.4f}")
    for x, y in strategy.experimental_distribute_dataset(test):
        test_step(x, y)
    return losses, float(accuracy.result())


def keras_loop(args, model, optimizer, train, test):
    """The same with Keras' own loops: the loss of each epoch, and the accuracy."""
    model.compile(
        optimizer=optimizer,
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    history = model.fit(train, steps_per_epoch=args.steps, epochs=1, verbose=2)
    result = model.evaluate(test, verbose=0, return_dict=True)
    return history.history["loss"], float(result["accuracy"])


def main() -> None:
    """Trains, saves, tests, and predicts a few pairs."""
    args = parse_args()
    ids, labels = load_data(args)
    examples = tf.data.Dataset.from_tensor_slices((ids, labels))
    train = examples.repeat().batch(args.batch_size, drop_remainder=True)
    test = examples.batch(args.batch_size, drop_remainder=True)
    strategy = make_strategy()
    with strategy.scope():
        model = build_model(args)
        optimizer = DenseAdam(args.learning_rate, epsilon=1e-6)
    if args.loop == "custom":
        losses, accuracy = custom_loop(args, strategy, model, optimizer, train, test)
    else:
        losses, accuracy = keras_loop(args, model, optimizer, train, test)
    if args.model_dir:
        checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
        checkpoint.save(os.path.join(args.model_dir, "ckpt"))
    print(f"accuracy {accuracy:.4f}")
    probabilities = tf.nn.softmax(model(ids[:10], training=False)).numpy()
    if args.report:
        with open(args.report, "w", encoding="utf-8") as stream:
            report = {"loss": losses, "accuracy": accuracy, "probabilities": probabilities.tolist()}
            json.dump(report, stream)


if __name__ == "__main__":
    main()
