"""Linear regression on all replicas of a strategy, with a loop of its own and checkpoints.

Written for TensorFlow 2. ``legacy_examples/sharded_linear_regression.py`` is the same program as it
was written for TensorFlow 1.12.

    python sharded_linear_regression.py --model-dir /tmp/line

Started again with the same --model-dir, it goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os

import numpy as np
import tensorflow as tf

FEATURES = 4
TRUE_WEIGHTS = np.array([[1.5], [-2.0], [0.5], [3.0]], np.float32)
TRUE_BIAS = -0.7


def parse_args() -> argparse.Namespace:
    """Reads the command line; the flags are those of the legacy script, except --shards."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200, help="to be at in the end")
    parser.add_argument("--batch-size", type=int, default=64, help="for all replicas together")
    parser.add_argument("--learning-rate", type=float, default=0.05)
    parser.add_argument("--optimizer", choices=["sgd", "adam"], default="adam")
    parser.add_argument("--model-dir", help="where to keep checkpoints")
    parser.add_argument("--save-every", type=int, default=50, metavar="STEPS")
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


def batch(step: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The batch of a step: the same one whenever it is asked for."""
    rng = np.random.RandomState(step)
    x = rng.randn(size, FEATURES).astype(np.float32)
    noise = 0.1 * rng.randn(size, 1).astype(np.float32)
    return x, x.dot(TRUE_WEIGHTS) + TRUE_BIAS + noise


class Line(tf.Module):
    """A linear model; weights of shape (features, 1) and a bias of shape (1,)."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = tf.Variable(tf.zeros([FEATURES, 1]), name="weights")
        self.bias = tf.Variable(tf.zeros([1]), name="bias")

    def mean_squared_error(self, x, y):
        """The loss of a batch: x of shape (n, features), y of shape (n, 1); a scalar."""
        return tf.reduce_mean(tf.square(tf.matmul(x, self.weights) + self.bias - y))


def main() -> None:
    """Trains, saves, and tests."""
    args = parse_args()
    strategy = make_strategy()
    replicas = strategy.num_replicas_in_sync
    if args.batch_size % replicas:
        raise SystemExit(f"a batch of {args.batch_size} cannot be shared by {replicas} replicas")
    with strategy.scope():
        line = Line()
        if args.optimizer == "adam":
            # The epsilon of tf.train.AdamOptimizer; Keras has 1e-7.
            optimizer = tf.keras.optimizers.Adam(args.learning_rate, epsilon=1e-8)
        else:
            optimizer = tf.keras.optimizers.SGD(args.learning_rate)
        step = tf.Variable(0, dtype=tf.int64, trainable=False, name="step")
    checkpoint = tf.train.Checkpoint(line=line, optimizer=optimizer, step=step)
    manager = None
    if args.model_dir:
        manager = tf.train.CheckpointManager(checkpoint, args.model_dir, max_to_keep=2)
        checkpoint.restore(manager.latest_checkpoint)

    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = line.mean_squared_error(x, y)
            # The optimizer sums the gradients over the replicas; their mean is wanted.
            share = loss / replicas
        variables = [line.weights, line.bias]
        optimizer.apply_gradients(zip(tape.gradient(share, variables), variables))
        return loss

    @tf.function
    def train(x, y):
        losses = strategy.run(train_step, args=(x, y))
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)

    def shares(array):
        pieces = np.split(array, replicas)
        return strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(pieces[context.replica_id_in_sync_group])
        )

    history = {"first_step": int(step.numpy()), "loss": []}
    while step.numpy() < args.steps:
        inputs, targets = batch(int(step.numpy()), args.batch_size)
        loss = float(train(shares(inputs), shares(targets)))
        step.assign_add(1)
        now = int(step.numpy())
        history["loss"].append(loss)
        if now % 20 == 0:
            print(f"step {now:5d}  loss {loss:.6f}")
        if manager and (now % args.save_every == 0 or now == args.steps):
            manager.save(checkpoint_number=now)
    inputs, targets = batch(-1 % 2**31, args.batch_size)
    history["test_loss"] = float(line.mean_squared_error(inputs, targets))
    history["weights"] = [*line.weights.numpy().ravel().tolist(), *line.bias.numpy().tolist()]

    print(f"test loss {history['test_loss']:.6f}")
    print("weights", line.weights.numpy().ravel(), "bias", line.bias.numpy())
    if args.history:
        with open(args.history, "w", encoding="utf-8") as stream:
            json.dump(history, stream)


if __name__ == "__main__":
    main()
