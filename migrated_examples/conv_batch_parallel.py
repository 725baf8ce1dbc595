"""How long does a TPU, a GPU or a CPU take for a convolution?

Written for TensorFlow 2. ``legacy_examples/conv_batch_parallel.py`` is the same program as it was
written for TensorFlow 1.12.

    python conv_batch_parallel.py --repeats 100
"""

from __future__ import annotations

import argparse
import json
import os
import time

import numpy as np
import tensorflow as tf

KERNEL_SIZE = 5


def parse_args() -> argparse.Namespace:
    """Reads the command line; the flags are those of the legacy script, except --shards."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=128, help="for all replicas together")
    parser.add_argument("--size", type=int, default=256, help="height and width of an image")
    parser.add_argument("--channels", type=int, default=3)
    parser.add_argument("--filters", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--report", metavar="FILE", help=".json to write the times to")
    parser.add_argument("--result", metavar="FILE", help=".npy to write the convolved images to")
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


def shares(strategy: tf.distribute.Strategy, array: np.ndarray):
    """An array, shared out to the replicas along its first axis and kept on their devices."""
    if len(array) % strategy.num_replicas_in_sync:
        raise SystemExit(
            f"{len(array)} images cannot be shared by {strategy.num_replicas_in_sync} replicas"
        )
    pieces = np.split(array, strategy.num_replicas_in_sync)
    return strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(pieces[context.replica_id_in_sync_group])
    )


def main() -> None:
    """Times the convolution with and without its result."""
    args = parse_args()
    rng = np.random.RandomState(0)
    pixels = rng.rand(args.images, args.size, args.size, args.channels).astype("float32")
    weights = rng.randn(KERNEL_SIZE, KERNEL_SIZE, args.channels, args.filters).astype("float32")

    strategy = make_strategy()
    images = shares(strategy, pixels)
    kernel = tf.constant(weights)

    def convolve(batch):
        return tf.nn.conv2d(batch, kernel, strides=1, padding="SAME")

    def convolve_and_forget(batch):
        tf.nn.conv2d(batch, kernel, strides=1, padding="SAME")

    @tf.function
    def without_result(batches):
        strategy.run(convolve_and_forget, args=(batches,))

    @tf.function
    def with_result(batches):
        return strategy.run(convolve, args=(batches,))

    report = {}
    for name, function in (("nothing returned", without_result), ("result returned", with_result)):
        result = function(images)  # the first run compiles
        start = time.time()
        for _ in range(args.repeats):
            out = function(images)
            if out is not None:  # devices work on while Python does
                strategy.experimental_local_results(out)[-1].numpy()
        milliseconds = (time.time() - start) / args.repeats * 1000
        print(f"{name:<18}{milliseconds:10.3f} ms per run")
        report[name] = {"ms": milliseconds}
    values = np.concatenate([one.numpy() for one in strategy.experimental_local_results(result)])
    report.update(shape=values.shape, mean=float(np.mean(values)), deviation=float(np.std(values)))
    print(f"{values.shape} values, mean {report['mean']:.6f}, deviation {report['deviation']:.6f}")

    if args.result:
        np.save(args.result, values)
    if args.report:
        with open(args.report, "w", encoding="utf-8") as stream:
            json.dump(report, stream)


if __name__ == "__main__":
    main()
