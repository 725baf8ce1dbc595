"""Input pipelines of queues in ``tf.contrib.training``: buckets, and samples of another distribution.

Behaviour follows tensorflow/contrib/training/python/training/{bucket_ops,sampling_ops,resample}.py of
TensorFlow 1.15. The queues, their runners and ``tf.train.batch`` are TensorFlow's own.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat import private
from tpucompat.errors import BadTypeError, BadValueError
from tpucompat.legacy import tensors

#: What a queue's runner takes for the end of its input.
ENDS = (tf.errors.OutOfRangeError, tf.errors.CancelledError)


def after(checks: Sequence[Any], value: Any) -> Any:
    """A value that is there once the checks have passed."""
    with tf.control_dependencies(checks):
        return tf.identity(value)


def _tensors(values: Any) -> list[Any]:
    return [
        value
        if isinstance(value, (tf.SparseTensor, tf.IndexedSlices))
        else tf.convert_to_tensor(value)
        for value in values
    ]


# Buckets -------------------------------------------------------------------------------------------


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Any = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Batches of examples of one bucket each.

    Args:
      tensors: A list or dictionary of tensors, the example.
      which_bucket: A scalar, the number of its bucket.
      batch_size: Of a batch, or of one from each bucket.
      num_buckets: How many there are.
      num_threads: How many fill the buckets.
      capacity: How many batches wait.
      bucket_capacities: How many examples wait in each bucket; ``capacity`` by default.
      shapes: Of the tensors, where they are not known.
      dynamic_pad: Whether shapes may be unknown in part; a batch is padded.
      allow_smaller_final_batch: Whether the last batches may be smaller.
      keep_input: A scalar, whether the example is taken at all.
      shared_name: Under which other sessions see the queues.
      name: Of the operations.

    Returns:
      The number of the bucket, and a batch in the structure of ``tensors``.

    Raises:
      ValueError: If sizes or capacities are not one for each bucket, or there is no tensor.
    """
    one_size = not isinstance(batch_size, (list, tuple))
    sizes = [batch_size] * num_buckets if one_size else list(batch_size)
    if len(sizes) != num_buckets:
        raise BadValueError("TPU103", "If batch_size is a list it must have num_buckets elements")
    if bucket_capacities is None:
        bucket_capacities = [capacity] * num_buckets
    if len(bucket_capacities) != num_buckets:
        raise BadValueError(
            "TPU103",
            f"The list bucket_capacities ({bucket_capacities}) must have exactly num_buckets "
            f"({num_buckets}) elements.",
        )
    inputs = private.queue_inputs()
    example = inputs._as_tensor_list(tensors)
    with tf.name_scope(name, "bucket", example) as name:
        example = _tensors(example)
        if not example:
            raise BadValueError("TPU103", "Expected at least one tensor in bucket().")
        keep_input = inputs._validate_keep_input(keep_input, enqueue_many=False)
        example, sparse_info = inputs._store_sparse_tensors(
            example, enqueue_many=False, keep_input=keep_input
        )
        sizes = [_static(size) for size in sizes]
        types = inputs._dtypes([example])
        which_bucket = tf.convert_to_tensor(which_bucket, dtype=tf.int32, name="which_bucket")
        buckets = [
            inputs._which_queue(dynamic_pad)(
                capacity=bucket_capacities[number],
                dtypes=types,
                shapes=inputs._shapes([example], shapes, enqueue_many=False),
                shared_name=None if shared_name is None else f"{shared_name}_{number}",
                name=f"bucket_queue_{number}",
            )
            for number in range(num_buckets)
        ]
        known = one_size and not allow_smaller_final_batch and not tf.is_tensor(sizes[0])
        batch_shape = tf.TensorShape([sizes[0] if known else None])
        top = tf.PaddingFIFOQueue(
            capacity=capacity,
            dtypes=[tf.int32, *types],
            shapes=[tf.TensorShape([])]
            + [batch_shape.concatenate(shape) for shape in buckets[0].shapes],
            shared_name=shared_name,
            name="top_queue",
        )

        def fill() -> Any:
            filled = [
                tf.cond(
                    tf.equal(which_bucket, number),
                    functools.partial(each.enqueue, example),
                    tf.no_op,
                )
                for number, each in enumerate(buckets)
            ]
            return tf.group(*filled, name="group_enqueues")

        keep = tf.get_static_value(keep_input)
        if keep is None:
            filling = tf.cond(keep_input, fill, tf.no_op)
        else:
            filling = fill() if keep else tf.no_op()
        batches = []
        for number, (each, size) in enumerate(zip(buckets, sizes)):
            take = each.dequeue_up_to if allow_smaller_final_batch else each.dequeue_many
            taken = take(size, name=f"read_bucket_{number}")
            taken = taken if isinstance(taken, (list, tuple)) else [taken]
            batches.append(
                top.enqueue([tf.constant(number), *taken], name=f"enqueue_from_bucket_{number}")
            )
        _run_queue(buckets[0], batches, [top])
        _run_queue(top, [filling] * num_threads, buckets)
        for each in buckets:
            tf.summary.scalar(f"bucket/{each.name}/size", tf.cast(top.size(), tf.float32))
        tf.summary.scalar(
            f"bucket/{top.name}/fraction_of_{capacity}_full",
            tf.cast(top.size(), tf.float32) * (1.0 / capacity),
        )
        number, *batch = top.dequeue(name="dequeue_top")
        restored = inputs._restore_sparse_tensors(
            batch[0] if len(batch) == 1 else batch, sparse_info
        )
        return number, inputs._as_original_type(tensors, restored)


def _static(size: Any) -> Any:
    """A batch size as a number, if that is known."""
    size = tf.convert_to_tensor(size, dtype=tf.int32, name="batch_size")
    number = tf.get_static_value(size)
    return size if number is None else int(number)


def _run_queue(queue: Any, operations: list[Any], fed: Sequence[Any]) -> None:
    """Adds a runner of a queue's operations, which closes the queues that they feed."""
    tf.train.add_queue_runner(
        tf.train.QueueRunner(
            queue,
            operations,
            close_op=tf.group(*[each.close() for each in fed]),
            cancel_op=tf.group(*[each.close(cancel_pending_enqueues=True) for each in fed]),
            queue_closed_exception_types=ENDS,
        )
    )


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Any = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Batches of examples of about the same length.

    Args:
      input_length: A scalar, the example's length.
      tensors: A list or dictionary of tensors, the example.
      batch_size: Of a batch, or of one from each bucket.
      bucket_boundaries: Increasing lengths, from each of which on a new bucket is used.
      num_threads: As for :func:`bucket`; so are all others.
      capacity: How many batches wait.
      bucket_capacities: How many examples wait in each bucket.
      shapes: Of the tensors.
      dynamic_pad: Whether batches are padded.
      allow_smaller_final_batch: Whether the last batches may be smaller.
      keep_input: Whether the example is taken.
      shared_name: Under which other sessions see the queues.
      name: Of the operations.

    Returns:
      The lengths of a batch's examples, and the batch in the structure of ``tensors``.

    Raises:
      TypeError: If the boundaries are no list of integers.
      ValueError: If there are none, or they do not increase.
    """
    inputs = private.queue_inputs()
    example = inputs._as_tensor_list(tensors)
    _check_boundaries(bucket_boundaries)
    with tf.name_scope(name, "bucket_by_sequence_length", [input_length, *example]):
        length = tf.convert_to_tensor(input_length, dtype=tf.int32, name="input_length")
        limits = np.iinfo(np.int32)
        inside = tf.logical_and(
            tf.less_equal([limits.min, *bucket_boundaries], length),
            tf.less(length, [*bucket_boundaries, limits.max]),
        )
        _, (lengths, *batch) = bucket(
            tensors=[length, *example],
            which_bucket=tf.cast(tf.reduce_min(tf.where_v2(inside)), tf.int32),
            batch_size=batch_size,
            num_buckets=len(bucket_boundaries) + 1,
            num_threads=num_threads,
            capacity=capacity,
            bucket_capacities=bucket_capacities,
            shapes=None if shapes is None else [tf.TensorShape([]), *shapes],
            dynamic_pad=dynamic_pad,
            allow_smaller_final_batch=allow_smaller_final_batch,
            keep_input=keep_input,
            shared_name=shared_name,
        )
        return lengths, inputs._as_original_type(tensors, batch)


def _check_boundaries(boundaries: Any) -> None:
    if not isinstance(boundaries, (list, tuple)):
        raise BadTypeError(
            "TPU103", f"bucket_boundaries must be a list or tuple, but received: {boundaries}"
        )
    if not boundaries:
        raise BadValueError("TPU103", "bucket_boundaries must not be empty")
    for lower, upper in zip(boundaries, boundaries[1:]):
        if not isinstance(lower, int) or not isinstance(upper, int):
            raise BadTypeError(
                "TPU103", f"bucket boundaries must be integers, but saw: {lower} and {upper}"
            )
        if lower >= upper:
            raise BadValueError(
                "TPU103",
                "Buckets must contain sequential increasing lengths, but saw: "
                f"{lower} before {upper}",
            )


# Samples -------------------------------------------------------------------------------------------


def rejection_sample(
    tensors: Any,
    accept_prob_fn: Callable[[list[Any]], Any],
    batch_size: int,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Batches of the examples that a draw accepts.

    Args:
      tensors: A list of tensors, the example or a batch of them.
      accept_prob_fn: Gives the probability with which an example, a list of tensors, is accepted.
      batch_size: Of a batch.
      queue_threads: How many fill it.
      enqueue_many: Whether ``tensors`` is a batch.
      prebatch_capacity: How many examples of it wait.
      prebatch_threads: How many take it apart.
      runtime_checks: Whether it is checked that the probability is one.
      name: Of the scope.

    Returns:
      A list of tensors.

    Raises:
      ValueError: If it is no batch, where it should be.
    """
    with tf.variable_scope(name, "rejection_sample", tensors):
        example = _tensors(tensors)
        if enqueue_many:
            for each in example:
                first = each.shape.with_rank_at_least(1)[:1]
                first.assert_is_compatible_with(example[0].shape[:1])
            batched = tf.train.batch(
                example,
                batch_size=1,
                num_threads=prebatch_threads,
                capacity=prebatch_capacity,
                enqueue_many=True,
            )
            batched = batched if isinstance(batched, (list, tuple)) else [batched]
            example = [tf.squeeze(each, [0]) for each in batched]
        accepted = accept_prob_fn(example)
        if runtime_checks:
            checks = [tf.assert_less_equal(0.0, accepted), tf.assert_less_equal(accepted, 1.0)]
            accepted = tf.identity(after(checks, accepted), name="prob_with_checks")
        batch = tf.train.maybe_batch(
            example,
            keep_input=tf.random_uniform([]) < accepted,
            batch_size=batch_size,
            num_threads=queue_threads,
        )
        return [batch] if isinstance(batch, tf.Tensor) else batch


def stratified_sample(
    tensors: Any,
    labels: Any,
    target_probs: Any,
    batch_size: int,
    init_probs: Any = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[list[Any], Any]:
    """Batches in which the classes have given shares.

    Args:
      tensors: A list of tensors, the example or a batch of them.
      labels: Its class, or theirs, an integer each.
      target_probs: The share of each class in the batches.
      batch_size: Of a batch.
      init_probs: The share of each class in the input; estimated by default.
      enqueue_many: Whether ``tensors`` is a batch.
      queue_capacity: How many examples of it wait.
      threads_per_queue: How many fill a batch.
      name: Of the operations.

    Returns:
      The batch's tensors, and its labels.

    Raises:
      TypeError: If ``tensors`` is no list.
      ValueError: If shapes do not fit.
    """
    with tf.name_scope(name, "stratified_sample", [*tensors, labels]):
        examples = _tensors(tensors)
        labels = tf.convert_to_tensor(labels)
        target_probs = tf.convert_to_tensor(target_probs, dtype=tf.float32)
        if not enqueue_many:
            examples = [tf.expand_dims(each, 0) for each in examples]
            labels = tf.expand_dims(labels, 0)
        if init_probs is None:
            target_probs.shape.assert_is_fully_defined()
            init_probs = _estimate_data_distribution(labels, target_probs.shape.num_elements())
        else:
            init_probs = tf.convert_to_tensor(init_probs, dtype=tf.float32)
        examples, labels, (init_probs, target_probs) = _verify_input(
            examples, labels, [init_probs, target_probs]
        )
        possible = tf.logical_or(tf.not_equal(init_probs, 0), tf.equal(target_probs, 0))
        message = (
            "All classes with zero initial probability must also have zero target probability: "
        )
        check = tf.Assert(tf.reduce_all(possible), [message, init_probs, target_probs])
        accepted = _calculate_acceptance_probabilities(after([check], init_probs), target_probs)
        rejected = tf.reduce_sum((1 - accepted) * init_probs)
        warned = functools.partial(
            tf.Print,
            accepted,
            [accepted],
            message="Proportion of examples rejected by sampler is high.",
            first_n=10,
        )
        accepted = tf.cond(tf.less(rejected, 0.5), lambda: accepted, warned)
        batched = tf.train.batch(
            [*examples, labels],
            batch_size=1,
            num_threads=threads_per_queue,
            capacity=queue_capacity,
            enqueue_many=True,
        )
        *example, label = [tf.squeeze(each, [0]) for each in batched]
        *batch, batch_labels = tf.train.maybe_batch(
            [*example, label],
            keep_input=tf.random_uniform([]) < tf.gather(accepted, label),
            batch_size=batch_size,
            num_threads=threads_per_queue,
        )
        return batch, batch_labels


def _estimate_data_distribution(labels: Any, num_classes: int, smoothing_constant: int = 10) -> Any:
    """The share of each class among the labels so far, each class seen some times before the first."""
    if smoothing_constant <= 0:
        raise BadValueError("TPU103", "smoothing_constant must be nonzero.")
    seen = tf.Variable(
        [smoothing_constant] * num_classes, trainable=False, name="class_count", dtype=tf.int64
    )
    here = tf.reduce_sum(tf.one_hot(labels, num_classes, dtype=tf.int64), 0)
    counts = seen.assign_add(here) + 0  # a copy, which other threads do not add to
    return tf.cast(tf.truediv(counts, tf.reduce_sum(counts)), tf.float32)


def _verify_input(
    tensor_list: list[Any], labels: Any, probs_list: list[Any]
) -> tuple[list[Any], Any, list[Any]]:
    """Examples, labels and shares, once it is checked that they fit one another."""
    tolerance = 1e-6
    checked = []
    for probs in probs_list:
        probs.shape.assert_is_fully_defined()
        probs.shape.assert_has_rank(1)
        total = tf.reduce_sum(probs)
        sums = [
            tf.assert_non_negative(probs),
            tf.assert_less(total, 1.0 + tolerance),
            tf.assert_less(1.0 - tolerance, total),
        ]
        checked.append(after(sums, probs))
    classes = checked[0].shape.num_elements()
    if any(probs.shape.num_elements() != classes for probs in checked):
        raise BadValueError("TPU103", "Probability parameters must have the same length.")
    labels.shape.assert_has_rank(1)
    for each in tensor_list:
        first = each.shape.with_rank_at_least(1)[:1]
        first.assert_is_compatible_with(labels.shape[:1])
    size = tf.shape(labels)[0]
    some = tf.assert_positive(size)
    labels = after([some], labels)
    examples = [
        after([some, tf.assert_equal(tf.shape(each)[0], size)], each) for each in tensor_list
    ]
    kinds = [
        tf.assert_integer(labels),
        tf.assert_non_negative(labels),
        tf.assert_less(labels, tf.cast(classes, labels.dtype)),
    ]
    return examples, after(kinds, labels), checked


def _calculate_acceptance_probabilities(init_probs: Any, target_probs: Any) -> Any:
    """The probabilities by which a class is accepted: as high as can be, for the wanted shares."""
    ratio = target_probs / init_probs
    ratio = tf.where_v2(
        tf.is_nan(ratio), tf.zeros_like(ratio), ratio
    )  # a class that is never there
    return ratio / tf.reduce_max(ratio)


def resample_at_rate(
    inputs: Sequence[Any],
    rates: Any,
    scope: str | None = None,
    seed: int | None = None,
    back_prop: bool = False,
) -> list[Any]:
    """Each example of a batch as often as a Poisson draw says.

    Args:
      inputs: Tensors with the batch first.
      rates: The mean of each example's draw.
      scope: Of the operations.
      seed: Of the draw.
      back_prop: Whether gradients go through the choice.

    Returns:
      The tensors, with as many examples as were drawn.
    """
    with tf.name_scope(scope, "resample_at_rate", [*inputs, rates]):
        rates = tf.convert_to_tensor(rates, name="rates")
        counts = tf.cast(tf.random_poisson(rates, (), rates.dtype, seed=seed), tf.int32)
        chosen = _repeat_range(counts)
        if not back_prop:
            chosen = tf.stop_gradient(chosen)
        return [tf.gather(each, chosen) for each in inputs]


def _repeat_range(counts: Any, name: str | None = None) -> Any:
    """``[0, 0, 2]`` for ``[2, 0, 1]``."""
    with tf.name_scope(name, "repeat_range", [counts]) as scope:
        counts = tf.convert_to_tensor(counts, name="counts")
        return tf.identity(tensors.repeat(tf.range(tf.size(counts)), counts, 0), name=scope)


def weighted_resample(
    inputs: list[Any],
    weights: Any,
    overall_rate: float,
    scope: str | None = None,
    mean_decay: float = 0.999,
    seed: int | None = None,
) -> tuple[list[Any], Any]:
    """A batch resampled by weights, so that ``overall_rate`` of all examples remain.

    Args:
      inputs: Tensors with the batch first.
      weights: One for each example.
      overall_rate: The number of examples that remain, over those that come.
      scope: Of the operations.
      mean_decay: Of the moving average of the weights.
      seed: Of the draw.

    Returns:
      The tensors, and the rate at which each of their examples was drawn.
    """
    with tf.name_scope(scope, "weighted_resample", inputs) as name:
        with tf.variable_scope(scope, "estimate_mean", inputs):
            estimated = tf.get_local_variable(
                "estimated_mean", initializer=tf.cast(0, weights.dtype), dtype=weights.dtype
            )
            batch_mean = tf.reduce_mean(weights)
            mean = private.assign_moving_average(estimated, batch_mean, mean_decay)
        rates = weights * overall_rate / mean
        drawn, *results = resample_at_rate([rates, *inputs], rates, scope=name, seed=seed)
        return results, drawn
