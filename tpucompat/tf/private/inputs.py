"""Input pipelines: tf.data, queues, tables and feature columns."""

from __future__ import annotations

import functools
from typing import Any, Callable

import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops, multi_device_iterator_ops
from tensorflow.python.ops import data_flow_ops as data_flow_ops_module
from tensorflow.python.ops import gen_dataset_ops
from tensorflow.python.ops import lookup_ops as lookup_ops_module

from tpucompat.tf import patches


@patches.patch
def read_no_element_ahead() -> None:
    """Lets an iterator ask its dataset for an element only when somebody asks the iterator, as 1.15 does.

    tf.data puts a ``prefetch`` behind a pipeline's last step (the option ``inject_prefetch``, in force where
    nobody has set it). What has a state then runs ahead of the steps that it belongs to: Python's generators
    and NumPy's random numbers that the script draws from as well, variables that a ``map`` counts with.

    Seen in 2.15 and 2.21 as ``DatasetV2._apply_debug_options`` of
    ``tensorflow/python/data/ops/dataset_ops.py``, which every iterator asks; the option in those that have it.
    """
    if not hasattr(tf.data.Options().experimental_optimization, "inject_prefetch"):
        return
    own = dataset_ops.DatasetV2._apply_debug_options

    @functools.wraps(own)
    def _apply_debug_options(self: Any) -> Any:
        options = tf.data.Options()
        options.experimental_optimization.inject_prefetch = False
        return own(self).with_options(options)

    patches.replace(dataset_ops.DatasetV2, "_apply_debug_options", _apply_debug_options)


@patches.patch
def leave_replica_inputs_untuned() -> None:
    """Lets what brings batches to simulated cores go without tf.data's tuning of buffers and threads.

    The thread that tunes an iterator sleeps twice as long each time, up to a minute. Its end is a race
    that a machine of few processors often loses: ``CancellationManager`` says that it has been cancelled
    after it has woken the thread (``cancellation.cc``, ``Model::OptimizeLoop`` in ``model.cc``, up to
    2.21), which goes back to sleep, and the iterator's end waits for it. With an iterator for each of 8
    replicas, one after the other, the end of a ``fit`` took minutes; the iterator of a Session kept the end of
    every ``TPUEstimator.train`` for as long as half the training.

    Seen in 2.0 to 2.21 as ``_create_device_dataset`` and ``MultiDeviceIterator``, in 2.1 to 2.21 as
    ``OwnedMultiDeviceIterator``, all in ``tensorflow.python.data.ops.multi_device_iterator_ops``; and as
    for :func:`read_no_element_ahead`.
    """

    def untuned(dataset: Any) -> Any:
        options = tf.data.Options()
        if hasattr(options, "autotune"):  # 2.7 and later
            options.autotune.enabled = False
        else:
            options.experimental_optimization.autotune = False
        return dataset.with_options(options)

    own = getattr(dataset_ops.DatasetV2, "_apply_debug_options", None)
    if own is not None:
        patches.replace(
            dataset_ops.DatasetV2,
            "_apply_debug_options",
            functools.wraps(own)(lambda self: untuned(own(self))),
        )
    create = getattr(multi_device_iterator_ops, "_create_device_dataset", None)
    if create is not None:
        patches.replace(
            multi_device_iterator_ops,
            "_create_device_dataset",
            functools.wraps(create)(lambda *args, **kwargs: untuned(create(*args, **kwargs))),
        )
    for name in ("MultiDeviceIterator", "OwnedMultiDeviceIterator"):  # of a graph, of eager code
        kind = getattr(multi_device_iterator_ops, name, None)
        if kind is not None:
            patches.replace(kind, "__init__", _with_dataset(untuned, kind.__init__))


def _with_dataset(changed: Callable[[Any], Any], initialize: Any) -> Any:
    @functools.wraps(initialize)
    def initialize_changed(self: Any, dataset: Any = None, *args: Any, **kwargs: Any) -> None:
        if dataset is not None:  # else it is put together from the parts of another one
            dataset = changed(dataset)
        initialize(self, dataset, *args, **kwargs)

    return initialize_changed


def lookup_ops() -> Any:
    """Tables from files and tensors; ``tf.contrib.lookup`` under other names.

    Seen in 1.13 to 2.21; ``tf.lookup`` shows only a part of it.
    """
    return lookup_ops_module


def data_flow_ops() -> Any:
    """The module of the queues, with the barrier and with queues without a bound.

    Seen in 1.13 to 2.21; ``tf.queue`` shows the queues only, and no barrier.
    """
    return data_flow_ops_module


def dataset_operations() -> Any:
    """The module of tf.data's operations, with those that ``tf.raw_ops`` calls by keywords alone.

    Seen in 1.13 to 2.21 as ``tensorflow.python.ops.gen_dataset_ops``.
    """
    return gen_dataset_ops
