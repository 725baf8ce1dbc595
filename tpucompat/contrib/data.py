"""``tf.contrib.data``: the transformations that ``tf.data.experimental`` did not take over.

Everything else of the package has the same name in ``tf.compat.v1.data.experimental``. Behaviour
follows tensorflow/contrib/data/python/ops of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError

Transformation = Callable[[Any], Any]


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """Batches and leaves out a last batch that is not full; shapes are static.

    Args:
      batch_size: Elements per batch, an integer or an int64 scalar tensor.

    Returns:
      A function for ``Dataset.apply``.
    """
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """Pads, batches and leaves out a last batch that is not full.

    Args:
      batch_size: Elements per batch.
      padded_shapes: A structure of shapes like an element.
      padding_values: A structure of scalars like an element; zeros and empty strings by default.

    Returns:
      A function for ``Dataset.apply``.
    """
    return lambda dataset: dataset.padded_batch(
        batch_size,
        padded_shapes=padded_shapes,
        padding_values=padding_values,
        drop_remainder=True,
    )


def filter_irregular_batches(batch_size: int) -> Transformation:
    """Leaves out batches of another size; the shapes of those that remain are static.

    Args:
      batch_size: The number of elements of a full batch.

    Returns:
      A function for ``Dataset.apply``.
    """

    def is_full(*batch: Any) -> Any:
        return tf.equal(tf.shape(tf.nest.flatten(batch)[0])[0], batch_size)

    def with_shape(component: Any) -> Any:
        component.set_shape([batch_size] + [None] * (component.shape.ndims - 1))
        return component

    def with_shapes(*batch: Any) -> Any:
        shaped = tf.nest.map_structure(with_shape, batch)
        return shaped if len(batch) > 1 else shaped[0]

    return lambda dataset: dataset.filter(is_full).map(with_shapes)


def sloppy_interleave(map_func: Any, cycle_length: Any, block_length: Any = 1) -> Transformation:
    """Interleaves nested datasets in parallel, in whatever order they are ready.

    Args:
      map_func: Maps an element to a dataset.
      cycle_length: How many of them are read at once.
      block_length: How many elements are taken from one at a time.

    Returns:
      A function for ``Dataset.apply``.
    """
    return tf.data.experimental.parallel_interleave(
        map_func, cycle_length, block_length, sloppy=True
    )


def sliding_window_batch(
    window_size: Any,
    stride: Any | None = None,
    window_shift: Any | None = None,
    window_stride: Any = 1,
) -> Transformation:
    """Batches overlapping windows; a window that is not full is left out.

    Args:
      window_size: Elements in a window.
      stride: The older name of ``window_shift``.
      window_shift: Elements between the starts of two windows, 1 by default.
      window_stride: Elements between two members of a window.

    Returns:
      A function for ``Dataset.apply``.

    Raises:
      ValueError: If both ``stride`` and ``window_shift`` are given.
    """
    if stride is not None and window_shift is not None:
        raise BadValueError("TPU103", "Cannot specify both `stride` and `window_shift`")
    shift = next(value for value in (window_shift, stride, 1) if value is not None)

    def batch(*window: Any) -> Any:
        parts = tf.nest.map_structure(lambda part: part.batch(window_size), window)
        return tf.data.Dataset.zip(parts if len(parts) > 1 else parts[0])

    return lambda dataset: dataset.window(
        window_size, shift=shift, stride=window_stride, drop_remainder=True
    ).flat_map(batch)


class PrivateThreadPool(NamedTuple):
    """Threads of a Dataset's own (``data/experimental/ops/threadpool.py`` of 1.15).

    Attributes:
      num_threads: How many.
      display_name: Their name in traces, which nothing shows any more.
      max_intra_op_parallelism: Threads for one operation at most.
    """

    num_threads: int
    display_name: str | None = None
    max_intra_op_parallelism: int = 1


def override_threadpool(dataset: Any, thread_pool: PrivateThreadPool) -> Any:
    """The dataset, whose parallel operations run in threads of its own.

    Args:
      dataset: A ``tf.data.Dataset``.
      thread_pool: How many threads.

    Returns:
      A Dataset of the same elements.
    """
    options = tf.data.Options()
    # Under this name since 2.7.
    threading = getattr(options, "threading", None) or options.experimental_threading
    threading.private_threadpool_size = thread_pool.num_threads
    threading.max_intra_op_parallelism = thread_pool.max_intra_op_parallelism
    return dataset.with_options(options)
