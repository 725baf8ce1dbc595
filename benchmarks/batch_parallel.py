"""What batch_parallel costs over the same computation in one bare Session, as a ratio.

    python benchmarks/batch_parallel.py [--images 128] [--size 256] [--rounds 20]

A 5x5 convolution over 8 shards, on one device and on 8 emulated cores, each in a process of its own.
Runs of both forms alternate, so that both see the same machine; the ratio is that of the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT = 1.1


def parse_args() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=128)
    parser.add_argument("--size", type=int, default=256, help="height and width of an image")
    parser.add_argument("--channels", type=int, default=3)
    parser.add_argument("--filters", type=int, default=8)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(args: argparse.Namespace) -> dict[str, float]:
    """Median seconds of both forms, and the largest difference of their results."""
    import numpy as np

    import tpucompat.v1 as tf

    rng = np.random.RandomState(0)
    shape = (args.images, args.size, args.size, args.channels)
    pixels = rng.rand(*shape).astype("float32")
    kernel = tf.constant(rng.randn(5, 5, args.channels, args.filters).astype("float32"))
    feed = tf.placeholder(tf.float32, shape)
    images = tf.Variable(feed, trainable=False, validate_shape=True)

    def convolve(batch):
        return tf.nn.conv2d(batch, kernel, strides=[1, 1, 1, 1], padding="SAME")

    # The value stays inside the Session: fetching it would cost both forms the same copy.
    bare = tf.identity(convolve(images)).op
    (joined,) = tf.contrib.tpu.batch_parallel(convolve, [images], num_shards=args.shards)
    forms = {"bare": bare, "batch_parallel": tf.identity(joined).op}
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    with tf.Session() as session:
        session.run(tf.contrib.tpu.initialize_system())
        session.run(images.initializer, {feed: pixels})
        one, other = session.run([bare.outputs[0], joined])
        difference = float(np.abs(one - other).max())
        for _ in range(args.rounds):
            for name, operation in forms.items():
                start = time.perf_counter()
                session.run(operation)
                seconds[name].append(time.perf_counter() - start)
    return {
        "difference": difference,
        **{name: statistics.median(values) for name, values in seconds.items()},
    }


def main() -> int:
    """Prints the ratios; 1 if that on one device is above the limit."""
    args = parse_args()
    if args.here:
        print(json.dumps(measure(args)))
        return 0
    ratios = []
    for cores in (1, 8):
        environment = {
            **os.environ,
            "PYTHONPATH": ROOT,
            "TPUCOMPAT_CORES": str(cores),
            "CUDA_VISIBLE_DEVICES": "-1",
        }
        command = [sys.executable, os.path.abspath(__file__), "--here", *sys.argv[1:]]
        out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
        result = json.loads(out.decode().splitlines()[-1])
        ratios.append(result["batch_parallel"] / result["bare"])
        print(
            "{:>16}: bare Session {:7.1f} ms, batch_parallel over {} shards {:7.1f} ms, "
            "ratio {:.3f}, largest difference {:.1g}".format(
                "one device" if cores == 1 else f"{cores} emulated cores",
                result["bare"] * 1000,
                args.shards,
                result["batch_parallel"] * 1000,
                ratios[-1],
                result["difference"],
            )
        )
    return int(ratios[0] > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
