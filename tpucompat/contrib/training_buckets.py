"""``tf.contrib.training``: batches of similar examples, by queues.

Behaviour follows tensorflow/contrib/training/python/training/bucket_ops.py of TensorFlow 1.15; sparse tensors
are not supported.
"""

from __future__ import annotations

from typing import Any, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError

_ENDED = (tf.errors.OutOfRangeError, tf.errors.CancelledError)


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Batches of examples of the same bucket; a QueueRunner fills them.

    Args:
      tensors: An example: a tensor, or a list or dictionary of them.
      which_bucket: An int32, the example's bucket.
      batch_size: An integer, or a list with one for each bucket.
      num_buckets: How many there are.
      num_threads: Threads that enqueue examples.
      capacity: Batches that wait, and examples in a bucket.
      bucket_capacities: Examples in each bucket, instead of ``capacity``.
      shapes: Of an example's tensors; their static ones without it.
      dynamic_pad: Whether tensors of a batch are padded to one shape.
      allow_smaller_final_batch: Whether what is left at the end is a batch too.
      keep_input: A boolean, whether the example is taken.
      shared_name: Of the queues.
      name: Of the operations.

    Returns:
      The bucket of a batch, and the batch in the form of ``tensors``.

    Raises:
      ValueError: If a list does not have one entry for each bucket, or a tensor is sparse or without a shape.
    """
    listed = isinstance(batch_size, (list, tuple))
    sizes = list(batch_size) if listed else [batch_size] * num_buckets
    capacities = [capacity] * num_buckets if bucket_capacities is None else list(bucket_capacities)
    if len(sizes) != num_buckets:
        raise BadValueError("TPU103", "If batch_size is a list it must have num_buckets elements")
    if len(capacities) != num_buckets:
        raise BadValueError(
            "TPU103",
            f"The list bucket_capacities ({capacities}) must have exactly num_buckets "
            f"({num_buckets}) elements.",
        )
    with tf.name_scope(name, "bucket", _flat(tensors)):
        example = _checked(tensors)
        whole = not (listed or allow_smaller_final_batch)
        queues = _queues(example, shapes, dynamic_pad, capacities, shared_name)
        batches = _batch_queue(queues[0], sizes[0] if whole else None, capacity, shared_name)
        filled = _enqueued(queues, example, which_bucket, keep_input)
        take = "dequeue_up_to" if allow_smaller_final_batch else "dequeue_many"
        moved = []
        for number, (queue, size) in enumerate(zip(queues, sizes)):
            batch = getattr(queue, take)(size, name=f"read_bucket_{number}")
            parts = batch if isinstance(batch, (list, tuple)) else [batch]
            moved.append(
                batches.enqueue([tf.constant(number), *parts], name=f"enqueue_from_bucket_{number}")
            )
        _run(queues[0], moved, [batches])
        _run(batches, [filled] * num_threads, queues)
        waiting = tf.cast(batches.size(), tf.float32)
        for queue in queues:
            tf.summary.scalar(f"bucket/{queue.name}/size", waiting)
        tf.summary.scalar(
            f"bucket/{batches.name}/fraction_of_{capacity}_full", waiting * (1.0 / capacity)
        )
        number, *parts = batches.dequeue(name="dequeue_top")
    return number, _like(tensors, parts)


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """:func:`bucket` by an example's length.

    Args:
      input_length: An int32, the example's length.
      tensors: As in :func:`bucket`, like all that is not named here.
      batch_size: An integer, or a list with one for each bucket.
      bucket_boundaries: The lengths at which a bucket begins, without the first one's.
      num_threads: Threads that enqueue examples.
      capacity: Batches that wait, and examples in a bucket.
      bucket_capacities: Examples in each bucket, instead of ``capacity``.
      shapes: Of an example's tensors; their static ones without it.
      dynamic_pad: Whether tensors of a batch are padded to one shape.
      allow_smaller_final_batch: Whether what is left at the end is a batch too.
      keep_input: A boolean, whether the example is taken.
      shared_name: Of the queues.
      name: Of the operations.

    Returns:
      The lengths of a batch's examples, and the batch in the form of ``tensors``.

    Raises:
      TypeError: If the boundaries are not a list of integers.
      ValueError: If they do not increase, or there are none, and as :func:`bucket`.
    """
    _check_boundaries(bucket_boundaries)
    with tf.name_scope(name, "bucket_by_sequence_length", [input_length, *_flat(tensors)]):
        length = tf.convert_to_tensor(input_length, tf.int32, name="input_length")
        reached = tf.less_equal(tf.constant(bucket_boundaries, tf.int32), length)
        _, (lengths, *parts) = bucket(
            [length, *_flat(tensors)],
            tf.reduce_sum(tf.cast(reached, tf.int32)),
            batch_size,
            len(bucket_boundaries) + 1,
            num_threads=num_threads,
            capacity=capacity,
            bucket_capacities=bucket_capacities,
            shapes=None if shapes is None else [tf.TensorShape([]), *shapes],
            dynamic_pad=dynamic_pad,
            allow_smaller_final_batch=allow_smaller_final_batch,
            keep_input=keep_input,
            shared_name=shared_name,
        )
    return lengths, _like(tensors, parts)


def _check_boundaries(boundaries: Any) -> None:
    if not isinstance(boundaries, (list, tuple)):
        raise BadTypeError(
            "TPU103", f"bucket_boundaries must be a list or tuple, but received: {boundaries}"
        )
    if not boundaries:
        raise BadValueError("TPU103", "bucket_boundaries must not be empty")
    for low, high in zip(boundaries, boundaries[1:]):
        if not isinstance(low, int) or not isinstance(high, int):
            raise BadTypeError(
                "TPU103", f"bucket boundaries must be integers, but saw: {low} and {high}"
            )
        if low >= high:
            raise BadValueError(
                "TPU103",
                f"Buckets must contain sequential increasing lengths, but saw: {low} before {high}",
            )


def _flat(tensors: Any) -> list[Any]:
    if isinstance(tensors, dict):
        return [tensors[key] for key in sorted(tensors, key=str)]
    return list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]


def _like(tensors: Any, parts: Sequence[Any]) -> Any:
    if isinstance(tensors, dict):
        return dict(zip(sorted(tensors, key=str), parts))
    return list(parts) if len(parts) > 1 else parts[0]  # of a list of one 1.15 gives the tensor


def _checked(tensors: Any) -> list[Any]:
    listed = _flat(tensors)
    if not listed:
        raise BadValueError("TPU103", "Expected at least one tensor in bucket().")
    if any(isinstance(each, tf.SparseTensor) for each in listed):
        raise BadValueError(
            "TPU103", "tf.contrib.training.bucket takes no sparse tensors with tpucompat."
        )
    return [tf.convert_to_tensor(each) for each in listed]


def _queues(
    example: Sequence[Any],
    shapes: Any,
    dynamic_pad: bool,
    capacities: Sequence[int],
    shared_name: str | None,
) -> list[Any]:
    kind = tf.PaddingFIFOQueue if dynamic_pad else tf.FIFOQueue
    return [
        kind(
            capacity=capacity,
            dtypes=[each.dtype for each in example],
            shapes=[each.shape for each in example] if shapes is None else shapes,
            shared_name=shared_name and f"{shared_name}_{number}",
            name=f"bucket_queue_{number}",
        )
        for number, capacity in enumerate(capacities)
    ]


def _batch_queue(queue: Any, size: Any, capacity: int, shared_name: str | None) -> Any:
    """The queue of whole batches; one that pads, because it alone takes sizes that are not known."""
    static = None if size is None else tf.get_static_value(tf.convert_to_tensor(size))
    return tf.PaddingFIFOQueue(
        capacity=capacity,
        dtypes=[tf.int32, *queue.dtypes],
        shapes=[
            tf.TensorShape([]),
            *(tf.TensorShape([static]).concatenate(shape) for shape in queue.shapes),
        ],
        shared_name=shared_name,
        name="top_queue",
    )


def _enqueued(queues: Sequence[Any], example: list[Any], which: Any, keep_input: Any) -> Any:
    """An operation that puts an example into its bucket, if it is kept."""
    which = tf.convert_to_tensor(which, tf.int32, name="which_bucket")
    keep = tf.convert_to_tensor(keep_input, tf.bool)
    return tf.group(
        *(
            tf.cond(
                tf.logical_and(keep, tf.equal(which, number)),
                lambda queue=queue: tf.group(queue.enqueue(example)),
                tf.no_op,
            )
            for number, queue in enumerate(queues)
        ),
        name="group_enqueues",
    )


def _run(queue: Any, operations: list[Any], closed: Sequence[Any]) -> None:
    tf.train.add_queue_runner(
        tf.train.QueueRunner(
            queue,
            operations,
            close_op=tf.group(*(each.close() for each in closed)),
            cancel_op=tf.group(*(each.close(cancel_pending_enqueues=True) for each in closed)),
            queue_closed_exception_types=_ENDED,
        )
    )
