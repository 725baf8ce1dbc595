"""Fine-tunes a small BERT as a classifier of pairs of sentences, on a TPU, on GPUs or on the CPU.

Written for TensorFlow 2: a training loop of its own over ``strategy.run``, and
``tf.train.Checkpoint``. ``legacy_examples/bert_classifier.py`` is the same program as it was written
for TensorFlow 1.13.

    python bert_classifier.py --model_dir gs://bucket/pairs --checkpoint ...
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time

import numpy as np
import tensorflow as tf


def parse_args() -> argparse.Namespace:
    """Reads the command line; the flags are those of the legacy script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help=".npz with the arrays ids, segments and labels")
    parser.add_argument("--model_dir", required=True, help="where checkpoints go")
    parser.add_argument("--checkpoint", help="of the legacy script, to start from")
    parser.add_argument("--report", help=".json to write the losses to")
    parser.add_argument("--batch_size", type=int, default=32, help="for all replicas together")
    parser.add_argument("--train_steps", type=int, default=200)
    parser.add_argument("--warmup_steps", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=50, help="steps in one call")
    parser.add_argument("--vocabulary", type=int, default=100)
    parser.add_argument("--length", type=int, default=24, help="words of a pair of sentences")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--learning_rate", type=float, default=1e-3, help="the highest one")
    parser.add_argument("--weight_decay", type=float, default=0.01, help="of the optimizer")
    parser.add_argument("--clip_norm", type=float, default=1.0, help="of all gradients together")
    parser.add_argument("--initializer_range", type=float, default=0.02, help="of the weights")
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


def load_data(args: argparse.Namespace) -> dict[str, np.ndarray]:
    """The examples: ids and segments of shape (n, length), labels of shape (n,)."""
    if args.data:
        with np.load(args.data) as data:
            return {name: data[name] for name in ("ids", "segments", "labels")}
    rng = np.random.RandomState(0)
    half = args.length // 2
    topic = (args.vocabulary - 1) // 2
    labels = rng.randint(0, 2, 512)
    first = rng.randint(1, args.vocabulary, (512, half))
    second = rng.randint(1, 1 + topic, (512, half)) + topic * labels[:, None]
    words = rng.randint(half // 2, half + 1, (2, 512, 1))
    ids = [np.where(np.arange(half) < n, x, 0) for n, x in zip(words, (first, second))]
    return {
        "ids": np.concatenate(ids, 1).astype(np.int32),
        "segments": np.repeat([[0, 1]], half, 1).repeat(512, 0).astype(np.int32),
        "labels": labels.astype(np.int32),
    }


def variable(value: tf.Tensor) -> tf.Variable:
    """A variable that every replica assigns, all of them the same value."""
    return tf.Variable(value, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)


class Classifier(tf.Module):
    """The encoder and the classifier; its variables have the names of the legacy script's."""

    def __init__(self, args: argparse.Namespace):
        super().__init__()
        self._args = args
        self.weights: dict[str, tf.Variable] = {}
        width = args.width
        self._add("encoder/words", args.vocabulary, width)
        self._add("encoder/positions", args.length, width)
        self._add("encoder/segments", 2, width)
        self._add_norm("encoder/norm")
        for index in range(args.layers):
            scope = f"encoder/layer_{index}/"
            for name in ("query", "key", "value", "attended"):
                self._add_dense(scope + name, width, width)
            self._add_norm(scope + "attention_norm")
            self._add_dense(scope + "intermediate", width, 4 * width)
            self._add_dense(scope + "output", 4 * width, width)
            self._add_norm(scope + "output_norm")
        self._add_dense("encoder/pooled", width, width)
        self._add_dense("classifier", width, 2)

    def _add(self, name: str, *shape: int) -> None:
        spread = self._args.initializer_range
        self.weights[name] = variable(tf.random.truncated_normal(shape, stddev=spread))

    def _add_dense(self, name: str, inputs: int, outputs: int) -> None:
        self._add(name + "/kernel", inputs, outputs)
        self.weights[name + "/bias"] = variable(tf.zeros([outputs]))

    def _add_norm(self, name: str) -> None:
        self.weights[name + "/gamma"] = variable(tf.ones([self._args.width]))
        self.weights[name + "/beta"] = variable(tf.zeros([self._args.width]))

    def _dense(self, x: tf.Tensor, name: str) -> tf.Tensor:
        return tf.tensordot(x, self.weights[name + "/kernel"], 1) + self.weights[name + "/bias"]

    def _norm(self, x: tf.Tensor, name: str) -> tf.Tensor:
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return tf.nn.batch_normalization(
            x,
            mean,
            variance,
            self.weights[name + "/beta"],
            self.weights[name + "/gamma"],
            1e-12,  # of tf.contrib.layers.layer_norm
        )

    def _attention(self, x: tf.Tensor, mask: tf.Tensor, scope: str) -> tf.Tensor:
        batch, length, width = x.shape
        size = width // self._args.heads

        def heads_of(name):
            y = tf.reshape(self._dense(x, scope + name), [batch, length, self._args.heads, size])
            return tf.transpose(y, [0, 2, 1, 3])

        query, key, value = heads_of("query"), heads_of("key"), heads_of("value")
        scores = tf.matmul(query, key, transpose_b=True) / math.sqrt(size)
        scores += (1.0 - mask[:, tf.newaxis, tf.newaxis, :]) * -10000.0
        y = tf.matmul(tf.nn.softmax(scores), value)
        return tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [batch, length, width])

    def __call__(self, ids: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
        """Logits of shape (batch, 2)."""
        mask = tf.cast(tf.not_equal(ids, 0), tf.float32)
        x = tf.gather(self.weights["encoder/words"], ids) + self.weights["encoder/positions"]
        x += tf.gather(self.weights["encoder/segments"], segments)
        x = self._norm(x, "encoder/norm")
        for index in range(self._args.layers):
            scope = f"encoder/layer_{index}/"
            y = self._dense(self._attention(x, mask, scope), scope + "attended")
            x = self._norm(x + y, scope + "attention_norm")
            y = tf.nn.gelu(self._dense(x, scope + "intermediate"))
            x = self._norm(x + self._dense(y, scope + "output"), scope + "output_norm")
        return self._dense(tf.tanh(self._dense(x[:, 0], "encoder/pooled")), "classifier")

    def restore(self, checkpoint: str) -> None:
        """Takes the weights of a TensorFlow 1 checkpoint, by name."""
        reader = tf.train.load_checkpoint(checkpoint)
        theirs = reader.get_variable_to_shape_map()
        for name, variable in self.weights.items():
            if name in theirs:
                variable.assign(reader.get_tensor(name))


class AdamWeightDecay(tf.Module):
    """Adam of clipped gradients, with weight decay beside the moments, and no bias correction."""

    def __init__(self, weights: dict[str, tf.Variable], decay: float, clip_norm: float):
        super().__init__()
        self._weights = weights
        self._decay = decay
        self._clip_norm = clip_norm
        self.m = {name: variable(tf.zeros_like(value)) for name, value in weights.items()}
        self.v = {name: variable(tf.zeros_like(value)) for name, value in weights.items()}

    def apply(self, gradients: dict[str, tf.Tensor], learning_rate: tf.Tensor) -> None:
        """One step; the gradients are those of all replicas together."""
        clipped, _ = tf.clip_by_global_norm(list(gradients.values()), self._clip_norm)
        for name, gradient in zip(gradients, clipped):
            m, v, weight = self.m[name], self.v[name], self._weights[name]
            m.assign(0.9 * m + 0.1 * gradient)
            v.assign(0.999 * v + 0.001 * tf.square(gradient))
            update = m / (tf.sqrt(v) + 1e-6)
            if "norm" not in name and "bias" not in name:
                update += self._decay * weight
            weight.assign(weight - learning_rate * update)


def learning_rate_at(step: tf.Tensor, args: argparse.Namespace) -> tf.Tensor:
    """Grows for the first steps, and falls to zero after them."""
    step = tf.cast(step, tf.float32)
    decayed = args.learning_rate * (1.0 - step / args.train_steps)
    warm = args.learning_rate * step / max(args.warmup_steps, 1)
    return tf.where(step < args.warmup_steps, warm, decayed)


def main() -> None:
    """Trains, evaluates, predicts a few pairs."""
    args = parse_args()
    data = load_data(args)
    examples = tf.data.Dataset.from_tensor_slices(data)
    strategy = make_strategy()
    with strategy.scope():
        model = Classifier(args)
        optimizer = AdamWeightDecay(model.weights, args.weight_decay, args.clip_norm)
        step = tf.Variable(0, dtype=tf.int64, trainable=False)
        accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
        mean_loss = tf.keras.metrics.Mean()
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(model=model, optimizer=optimizer, step=step), args.model_dir, 5
    )
    if args.checkpoint:
        model.restore(args.checkpoint)
    manager.restore_or_initialize()  # goes on where an earlier run of this program ended

    def loss_of(batch):
        logits = model(batch["ids"], batch["segments"])
        return tf.nn.sparse_softmax_cross_entropy_with_logits(batch["labels"], logits), logits

    def train_replica(batch):
        with tf.GradientTape() as tape:
            losses, _ = loss_of(batch)
            # The gradients of all replicas are summed, so each takes its part of the loss.
            loss = tf.reduce_sum(losses) / args.batch_size
        gradients = tape.gradient(loss, model.weights)
        gradients = {name: tf.convert_to_tensor(value) for name, value in gradients.items()}
        context = tf.distribute.get_replica_context()
        optimizer.apply(context.all_reduce("sum", gradients), learning_rate_at(step, args))
        return loss

    @tf.function
    def train_step(batch):
        rate = learning_rate_at(step, args)
        loss = strategy.reduce("sum", strategy.run(train_replica, args=(batch,)), axis=None)
        step.assign_add(1)
        return loss, rate

    @tf.function
    def evaluate_step(batch):
        def evaluate_replica(batch):
            losses, logits = loss_of(batch)
            accuracy.update_state(batch["labels"], logits)
            mean_loss.update_state(losses)

        strategy.run(evaluate_replica, args=(batch,))

    report: dict = {"step_loss": [], "learning_rate": [], "step_time": []}
    batches = examples.repeat().batch(args.batch_size, drop_remainder=True)
    for batch in strategy.experimental_distribute_dataset(batches):
        if int(step.numpy()) >= args.train_steps:
            break
        loss, rate = train_step(batch)
        report["step_loss"].append(float(loss))
        report["learning_rate"].append(float(rate))
        report["step_time"].append(time.time())
        if int(step.numpy()) % 100 == 0 or int(step.numpy()) == args.train_steps:
            manager.save()

    batches = examples.batch(args.batch_size, drop_remainder=True)
    for batch in strategy.experimental_distribute_dataset(batches):
        evaluate_step(batch)
    print(f"accuracy {accuracy.result():.4f}")
    probabilities = tf.nn.softmax(model(data["ids"][:10], data["segments"][:10])).numpy()
    report["metrics"] = {
        "accuracy": float(accuracy.result()),
        "mean_loss": float(mean_loss.result()),
    }
    report["probabilities"] = probabilities.tolist()
    if args.report:
        with open(args.report, "w") as stream:
            json.dump(report, stream)


if __name__ == "__main__":
    main()
