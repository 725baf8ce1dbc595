"""Datasets that are shuffled and repeated begin in the order of TensorFlow 1.15.

Up to 1.15 tf.data makes one operation of ``dataset.shuffle(n).repeat()`` before it runs it
(``core/grappler/optimizers/data/shuffle_and_repeat_fusion.cc``), the one that
``tf.contrib.data.shuffle_and_repeat`` makes. It begins with its own seeds, and its random numbers go on from
one repetition to the next; today each repetition has seeds of its own, drawn from those. Here the
first repetition is 1.15's, and the others are today's: no operation of today goes on as that one did.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import tensorflow

from tpucompat import private
from tpucompat.engines import operation_seeds

_v1 = tensorflow.compat.v1


def follow() -> None:
    """Lets graphs shuffle and repeat so; idempotent."""
    module = private.dataset_operations()
    if hasattr(module.repeat_dataset, "__wrapped__"):
        return
    repeat = module.repeat_dataset
    module.repeat_dataset = _repeated(repeat)
    module.shuffle_and_repeat_dataset = _shuffled_and_repeated(module.shuffle_and_repeat_dataset)


def _repeated(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def repeat_dataset(input_dataset: Any, count: Any, *args: Any, **options: Any) -> Any:
        shuffle = None if tensorflow.executing_eagerly() else input_dataset.op
        if (
            shuffle is None
            or shuffle.type != "ShuffleDataset"
            or not shuffle.get_attr("reshuffle_each_iteration")
            or tensorflow.get_static_value(count) in (0, 1)  # 1.15 takes these away before
        ):
            return original(input_dataset, count, *args, **options)

        def rest(remaining: Any) -> Any:
            return original(input_dataset, remaining, *args, **options)

        return _after_the_first(*shuffle.inputs, count, rest, *args, **options)

    return repeat_dataset


def _shuffled_and_repeated(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def shuffle_and_repeat_dataset(
        input_dataset: Any,
        buffer_size: Any,
        seed: Any,
        seed2: Any,
        count: Any,
        *args: Any,
        **options: Any,
    ) -> Any:
        operands = (input_dataset, buffer_size, seed, seed2)
        if tensorflow.executing_eagerly() or tensorflow.get_static_value(count) in (None, 0):
            return original(*operands, count, *args, **options)

        def rest(remaining: Any) -> Any:
            return original(*operands, remaining, *args, **options)

        return _after_the_first(*operands, count, rest, *args, **options)

    return shuffle_and_repeat_dataset


def _after_the_first(
    dataset: Any,
    buffer_size: Any,
    seed: Any,
    seed2: Any,
    count: Any,
    rest: Callable[[Any], Any],
    *args: Any,
    **options: Any,
) -> Any:
    """One repetition from a shuffle's own seeds, then ``rest(count - 1)``; a negative count has no end."""
    graph = _v1.get_default_graph()
    before = graph.version
    operations = private.dataset_operations()
    first = operations.shuffle_dataset(
        dataset, buffer_size, seed, seed2, *args, reshuffle_each_iteration=False, **options
    )
    known = tensorflow.get_static_value(count)
    if known == 1:
        return first
    remaining = _v1.where(count > 0, count - 1, count) if known is None else known - (known > 0)
    others = rest(tensorflow.convert_to_tensor(remaining, tensorflow.int64))
    both = operations.concatenate_dataset(first, others, *args, **options)
    operation_seeds.add(graph, before + 1 - graph.version)  # in 1.15 it is one operation
    return both
