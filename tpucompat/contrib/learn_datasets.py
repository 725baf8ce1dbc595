"""``tf.contrib.learn.datasets`` and ``tensorflow.examples.tutorials.mnist.input_data``: MNIST in memory.

Behaviour follows tensorflow/contrib/learn/python/learn/datasets/{mnist,base}.py of TensorFlow 1.15, batch by
batch: the order comes from NumPy's global generator, which a ``DataSet`` seeds when it is made.
"""

from __future__ import annotations

import gzip
import os
import urllib.request
from typing import Any, NamedTuple

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError

DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
# Magic numbers of the IDX files: unsigned bytes in three dimensions and in one.
_IMAGES, _LABELS = 2051, 2049


class Datasets(NamedTuple):
    """Three parts of a dataset."""

    train: Any
    validation: Any
    test: Any


def _content(file: Any, magic: int, what: str) -> Any:
    """The header's sizes and the bytes of a gzipped IDX file."""
    with gzip.GzipFile(fileobj=file) as stream:
        content = stream.read()
    found = int(np.frombuffer(content, ">u4", 1)[0])
    if found != magic:
        raise BadValueError(
            "TPU103", f"Invalid magic number {found} in MNIST {what} file: {file.name}"
        )
    dimensions = magic & 0xFF
    sizes = np.frombuffer(content, ">u4", dimensions, 4).astype(int)
    values = np.frombuffer(content, np.uint8, int(np.prod(sizes)), 4 + 4 * dimensions)
    return values.reshape(sizes)


def extract_images(f: Any) -> Any:
    """Reads an image file.

    Args:
      f: The open file.

    Returns:
      uint8 ``[images, rows, columns, 1]``.

    Raises:
      ValueError: If it has another format.
    """
    print("Extracting", f.name)
    return _content(f, _IMAGES, "image")[..., None]


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = 10) -> Any:
    """Reads a label file.

    Args:
      f: The open file.
      one_hot: Whether labels become vectors.
      num_classes: Of the vectors.

    Returns:
      uint8 ``[labels]``, or float64 ``[labels, num_classes]``.

    Raises:
      ValueError: If it has another format.
    """
    print("Extracting", f.name)
    labels = _content(f, _LABELS, "label")
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def dense_to_one_hot(labels_dense: Any, num_classes: int) -> Any:
    """Labels as vectors.

    Args:
      labels_dense: Classes.
      num_classes: How many there are.

    Returns:
      float64 ``[labels, num_classes]``.
    """
    return np.eye(num_classes)[labels_dense.ravel()]


class DataSet:
    """Images and labels, batch by batch.

    Args:
      images: uint8 ``[images, rows, columns, 1]``.
      labels: Their labels.
      fake_data: Whether there are 10000 images of ones instead.
      one_hot: Whether fake labels are vectors.
      dtype: uint8, or float32 in [0, 1].
      reshape: Whether images are flattened.
      seed: Of the order; TensorFlow's own seed by default.

    Raises:
      TypeError: If the type is another one.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = tf.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        graph_seed, op_seed = tf.get_seed(seed)
        np.random.seed(graph_seed if seed is None else op_seed)
        dtype = tf.as_dtype(dtype).base_dtype
        if dtype not in (tf.uint8, tf.float32):
            raise BadTypeError(
                "TPU103", f"Invalid image dtype {dtype!r}, expected uint8 or float32"
            )
        self._num_examples = 10000
        self.one_hot = one_hot
        if not fake_data:
            assert len(images) == len(labels), (
                f"images.shape: {images.shape} labels.shape: {labels.shape}"
            )
            self._num_examples = len(images)
            if reshape:
                assert images.shape[3] == 1
                images = images.reshape(len(images), int(np.prod(images.shape[1:])))
            if dtype == tf.float32:
                images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self._images = images
        self._labels = labels
        self._epochs_completed = 0
        self._index_in_epoch = 0

    @property
    def images(self) -> Any:
        """All images, in the order of this epoch."""
        return self._images

    @property
    def labels(self) -> Any:
        """Their labels."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """How many there are."""
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """How often all were given."""
        return self._epochs_completed

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """The next images and labels; a batch at the end goes on into the next epoch.

        Args:
          batch_size: How many.
          fake_data: Whether they are ones.
          shuffle: Whether each epoch has an order of its own.

        Returns:
          Images and labels.
        """
        if fake_data:
            label: Any = [1] + [0] * 9 if self.one_hot else 0
            return [[1] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]
        start = self._index_in_epoch
        if shuffle and start == 0 and self._epochs_completed == 0:
            self._reorder()
        if start + batch_size <= self._num_examples:
            self._index_in_epoch += batch_size
            return self._part(start, self._index_in_epoch)
        self._epochs_completed += 1
        rest = self._part(start, self._num_examples)
        if shuffle:
            self._reorder()
        self._index_in_epoch = batch_size - (self._num_examples - start)
        images, labels = zip(rest, self._part(0, self._index_in_epoch))
        return np.concatenate(images), np.concatenate(labels)

    def _part(self, start: int, end: int) -> tuple[Any, Any]:
        return self._images[start:end], self._labels[start:end]

    def _reorder(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """Downloads a file unless it is there.

    Args:
      filename: Its name.
      work_directory: Where it belongs; made if need be.
      source_url: Where it comes from.

    Returns:
      Its path.
    """
    path = os.path.join(work_directory, filename)
    if not tf.gfile.Exists(path):
        tf.gfile.MakeDirs(work_directory)
        with urllib.request.urlopen(source_url) as response:
            content = response.read()
        with tf.gfile.GFile(path + ".part", "wb") as file:
            file.write(content)
        tf.gfile.Rename(path + ".part", path)
        print("Successfully downloaded", filename, len(content), "bytes.")
    return path


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = tf.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = DEFAULT_SOURCE_URL,
) -> Datasets:
    """Reads MNIST, or another dataset in its four files.

    Args:
      train_dir: The folder of the files; what is missing is downloaded.
      fake_data: Whether there are ones instead.
      one_hot: Whether labels are vectors.
      dtype: As for :class:`DataSet`.
      reshape: Likewise.
      validation_size: How many of the training images are for validation.
      seed: As for :class:`DataSet`.
      source_url: Where missing files come from.

    Returns:
      Training, validation and test sets.

    Raises:
      ValueError: If there are not as many images, or a file is damaged.
    """
    if fake_data:
        return Datasets(
            *(
                DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed)
                for _ in range(3)
            )
        )

    def read(name: str, extract: Any) -> Any:
        path = maybe_download(name, train_dir, (source_url or DEFAULT_SOURCE_URL) + name)
        with tf.gfile.GFile(path, "rb") as file:
            return extract(file)

    def labels_of(file: Any) -> Any:
        return extract_labels(file, one_hot=one_hot)

    images = read("train-images-idx3-ubyte.gz", extract_images)
    labels = read("train-labels-idx1-ubyte.gz", labels_of)
    test_images = read("t10k-images-idx3-ubyte.gz", extract_images)
    test_labels = read("t10k-labels-idx1-ubyte.gz", labels_of)
    if not 0 <= validation_size <= len(images):
        raise BadValueError(
            "TPU103",
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}.",
        )
    options = {"dtype": dtype, "reshape": reshape, "seed": seed}
    train = DataSet(images[validation_size:], labels[validation_size:], **options)
    validation = DataSet(images[:validation_size], labels[:validation_size], **options)
    return Datasets(train, validation, DataSet(test_images, test_labels, **options))


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    """MNIST from a folder; see :func:`read_data_sets`."""
    return read_data_sets(train_dir)
