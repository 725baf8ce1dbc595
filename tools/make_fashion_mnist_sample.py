"""Makes ``examples_data/fashion_mnist_sample.npz``: a small, class-balanced part of Fashion-MNIST.

    python tools/make_fashion_mnist_sample.py [--source DIR] [--output FILE]

The source is the folder with the four original ``.gz`` files; Debian's package
``dataset-fashion-mnist`` puts them in ``/usr/share/datasets/fashion-mnist``. The first images of
every class are taken, in the order of the original, so that the same source gives the same sample.
"""

from __future__ import annotations

import argparse
import gzip
import os

import numpy as np

SOURCE = "/usr/share/datasets/fashion-mnist"
OUTPUT = os.path.join(
    os.path.dirname(os.path.abspath(__file__)),
    os.pardir,
    "examples_data",
    "fashion_mnist_sample.npz",
)
CLASSES = 10
#: Images per class; together they keep the file below 1.5 MB.
TRAIN_PER_CLASS = 240
TEST_PER_CLASS = 80


def read_idx(path: str) -> np.ndarray:
    """Reads one gzipped IDX file of unsigned bytes (images of rank 3, or labels of rank 1)."""
    with gzip.open(path, "rb") as stream:
        data = stream.read()
    rank = data[3]  # the magic number is 0, 0, the type (8: unsigned byte), the rank
    shape = np.frombuffer(data, ">u4", count=rank, offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def sample(source: str, part: str, per_class: int) -> tuple[np.ndarray, np.ndarray]:
    """The first ``per_class`` images of every class of one part (``train`` or ``t10k``)."""
    images = read_idx(os.path.join(source, part + "-images-idx3-ubyte.gz"))
    labels = read_idx(os.path.join(source, part + "-labels-idx1-ubyte.gz"))
    rows = [np.flatnonzero(labels == label)[:per_class] for label in range(CLASSES)]
    chosen = np.sort(np.concatenate(rows))
    return images[chosen], labels[chosen]


def main() -> None:
    """Reads the source, writes the sample and says what it holds."""
    parser = argparse.ArgumentParser(description="Makes the Fashion-MNIST sample of the examples.")
    parser.add_argument("--source", default=SOURCE, help="folder with the four .gz files")
    parser.add_argument("--output", default=os.path.normpath(OUTPUT), help="the .npz to write")
    args = parser.parse_args()
    x_train, y_train = sample(args.source, "train", TRAIN_PER_CLASS)
    x_test, y_test = sample(args.source, "t10k", TEST_PER_CLASS)
    np.savez_compressed(args.output, x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
    size = os.path.getsize(args.output)
    print(f"{args.output}: {len(x_train)} training and {len(x_test)} test images, {size:,} bytes")


if __name__ == "__main__":
    main()
