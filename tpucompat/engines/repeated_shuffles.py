"""Datasets that are shuffled and repeated come in the order of TensorFlow 1.15.

Up to 1.15 tf.data makes one operation of ``dataset.shuffle(n).repeat()`` before it runs it
(``core/grappler/optimizers/data/shuffle_and_repeat_fusion.cc``), the one that
``tf.contrib.data.shuffle_and_repeat`` makes. It begins with its own seeds, and its random numbers go on from
one repetition to the next; today each repetition has seeds of its own, drawn from those, and no operation goes
on as that one did.

``RandomDataset`` gives the same numbers that 1.15's shuffle draws: both take them one by one from a
``PhiloxRandom`` of the two seeds. So the shuffle itself (``core/kernels/data/shuffle_dataset_op.cc`` of 1.15,
``ShuffleDatasetBase::Iterator::GetNextInternal``) is written here as a scan over the elements and those
numbers. It takes 0.1 to 0.2 ms for an element, some twenty times what TensorFlow's own takes; so that one
takes the first repetition where tf.data knows how many elements, and with them how many numbers, it will use,
and all of them where a buffer is large or an accelerator waits for the data.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Callable, Sequence

import tensorflow

from tpucompat.base.machine import environment
from tpucompat.engines import operation_seeds
from tpucompat.tf import patches, private

_raw = tensorflow.raw_ops
#: First seeds of shuffles that TensorFlow's own operation makes: they stand for none.
NOT_FOLLOWED: set[int] = set()
#: The largest buffer that is filled so: in some five seconds.
LARGEST_BUFFER = 50_000


@patches.patch
def install_tf1_shuffles() -> None:
    """Lets graphs shuffle and repeat so; idempotent."""
    module = private.dataset_operations()
    patches.replace(module, "repeat_dataset", _repeated(module.repeat_dataset))
    name = "shuffle_and_repeat_dataset"
    patches.replace(module, name, _shuffled_and_repeated(getattr(module, name)))


def _repeated(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def repeat_dataset(input_dataset: Any, count: Any, *args: Any, **options: Any) -> Any:
        shuffle = None if tensorflow.executing_eagerly() else input_dataset.op
        if (
            shuffle is None
            or shuffle.type != "ShuffleDataset"
            or not shuffle.get_attr("reshuffle_each_iteration")
            or tensorflow.get_static_value(count) in (0, 1)  # 1.15 takes these away before
            or not _is_followed(*shuffle.inputs[1:4])
        ):
            return original(input_dataset, count, *args, **options)
        types, shapes = _elements(shuffle)
        dataset, buffer_size, seed, seed2 = shuffle.inputs
        return _as_one(dataset, buffer_size, seed, seed2, count, types, shapes)

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
        if tensorflow.executing_eagerly() or not _is_followed(buffer_size, seed, seed2):
            return original(input_dataset, buffer_size, seed, seed2, count, *args, **options)
        types, shapes = options.get("output_types"), options.get("output_shapes")
        if types is None or shapes is None:
            types, shapes = args[:2]
        return _as_one(input_dataset, buffer_size, seed, seed2, count, types, shapes)

    return shuffle_and_repeat_dataset


def _is_followed(buffer_size: Any, seed: Any, seed2: Any) -> bool:
    """Whether a shuffle's order can be told: not where it has no seeds, which 1.15 drew each time."""
    size = tensorflow.get_static_value(buffer_size)
    if size is None or size > LARGEST_BUFFER or not _is_on_cpu():
        return False
    seeds = [tensorflow.get_static_value(value) for value in (seed, seed2)]
    is_seeded = any(value is None or value != 0 for value in seeds)
    return is_seeded and not (seeds[0] is not None and int(seeds[0]) in NOT_FOLLOWED)


def _is_on_cpu() -> bool:
    here = environment()
    return bool(here.emulated_cores) or here.cpu_only or not (here.has_tpu or here.gpus)


def _elements(dataset: Any) -> tuple[list[Any], list[Any]]:
    """The types and shapes of the parts of an element, of a dataset's operation."""
    shapes = [tensorflow.TensorShape(shape) for shape in dataset.get_attr("output_shapes")]
    return list(dataset.get_attr("output_types")), shapes


def _as_one(
    dataset: Any,
    buffer_size: Any,
    seed: Any,
    seed2: Any,
    count: Any,
    types: Sequence[Any],
    shapes: Sequence[Any],
) -> Any:
    """1.15's ``ShuffleAndRepeatDataset``, a scalar of datasets; a negative count has no end."""
    graph = tensorflow.compat.v1.get_default_graph()
    before = operation_seeds.count(graph)
    operations = private.dataset_operations()
    parts: dict[str, Any] = {"output_types": list(types), "output_shapes": list(shapes)}
    spec = tuple(map(tensorflow.TensorSpec, shapes, map(tensorflow.as_dtype, types)))
    first = operations.shuffle_dataset(
        dataset, buffer_size, seed, seed2, reshuffle_each_iteration=False, **parts
    )
    if tensorflow.get_static_value(count) == 1:
        return first
    known = tensorflow.data.experimental.cardinality(_of(dataset, spec))
    is_known = known > tensorflow.data.experimental.UNKNOWN_CARDINALITY  # the least of all
    ahead = tensorflow.cast(
        tensorflow.logical_and(is_known, tensorflow.not_equal(count, 0)), tensorflow.int64
    )
    draws = _of(
        _raw.RandomDataset(
            seed=seed,
            seed2=seed2,
            output_types=[tensorflow.int64],
            output_shapes=[tensorflow.TensorShape([])],
        ),
        tensorflow.TensorSpec([], tensorflow.int64),
    )
    others = _shuffled(
        _of(dataset, spec),
        int(tensorflow.get_static_value(buffer_size)),
        draws.skip(ahead * tensorflow.maximum(known, 0)),
        tensorflow.where(count > 0, count - ahead, count),
    )
    both = _shaped(_of(first, spec).take(-ahead), spec).concatenate(others)
    # In 1.15 it is one operation.
    operation_seeds.add(graph, before + 1 - operation_seeds.count(graph))
    return tensorflow.data.experimental.to_variant(both)


def _shaped(dataset: Any, spec: Sequence[Any]) -> Any:
    """The same elements, for a concatenation.

    While it runs, what choose_from_datasets gives has shapes that cannot be concatenated ("expected [3] but got
    []"; 2.21 concatenates no two of them). What a function returns has its own.
    """

    @tensorflow.autograph.experimental.do_not_convert
    def shaped(*parts: Any) -> Any:
        return tuple(tensorflow.ensure_shape(part, one.shape) for part, one in zip(parts, spec))

    return dataset.map(shaped)


def _of(variant: Any, spec: Any) -> Any:
    return tensorflow.data.experimental.from_variant(variant, spec)


# The shuffle -----------------------------------------------------------------------------------------
#
# An element waits as one value, a list of lists (TensorList) with one of its parts each, so that a
# buffer holds elements of any kind. The buffer is a list of rows, because a list is copied when one of its
# items is written: two short lists are, instead of a long one.


def _list_of(values: Sequence[Any]) -> Any:
    """A list with these values, which are of one type."""
    made = _no_values(values[0].dtype)
    for value in values:
        made = _raw.TensorListPushBack(input_handle=made, tensor=value)
    return made


def _no_values(dtype: Any) -> Any:
    return _raw.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=dtype)


def _item(values: Any, index: Any, dtype: Any, shape: Any = ()) -> Any:
    return _raw.TensorListGetItem(
        input_handle=values,
        index=tensorflow.cast(index, tensorflow.int32),
        element_shape=tensorflow.constant(shape, tensorflow.int32),
        element_dtype=dtype,
    )


def _with_item(values: Any, index: Any, item: Any) -> Any:
    index = tensorflow.cast(index, tensorflow.int32)
    return _raw.TensorListSetItem(input_handle=values, index=index, item=item)


class _Buffer:
    """A place for ``size`` elements, and one more, ``spare``, for what nobody reads."""

    def __init__(self, size: int) -> None:
        self.spare = tensorflow.constant(size, tensorflow.int64)
        self._row = math.isqrt(size) + 1

    def empty(self) -> Any:
        return self._repeated(self._repeated(_no_values(tensorflow.variant)))

    def _repeated(self, value: Any) -> Any:
        values = tensorflow.gather(tensorflow.reshape(value, [1]), [0] * self._row)
        return _raw.TensorListFromTensor(
            tensor=values, element_shape=tensorflow.constant([], tensorflow.int32)
        )

    def get(self, rows: Any, index: Any) -> Any:
        row = _item(rows, index // self._row, tensorflow.variant)
        return _item(row, index % self._row, tensorflow.variant)

    def put(self, rows: Any, index: Any, element: Any) -> Any:
        row = _item(rows, index // self._row, tensorflow.variant)
        row = _with_item(row, index % self._row, element)
        return _with_item(rows, index // self._row, row)


def _unboxed(element: Any, spec: Any) -> tuple[Any, ...]:
    """The parts of an element, each with its static shape."""
    parts = []
    for number, part in enumerate(spec):
        box = _item(element, number, tensorflow.variant)
        shape = part.shape.as_list() if part.shape.is_fully_defined() else -1
        value = _item(box, 0, part.dtype, shape)
        value.set_shape(part.shape)
        parts.append(value)
    return tuple(parts)


def _shuffled(dataset: Any, size: int, draws: Any, count: Any) -> Any:
    """So many repetitions of a dataset, shuffled with a buffer of ``size``; each element takes a draw.

    The buffer holds ``size`` elements, of more than one repetition if they are short, and
    an element is chosen from those of the earliest repetition.
    """
    unchanged = tensorflow.autograph.experimental.do_not_convert
    buffer = _Buffer(size)
    spec = dataset.element_spec
    zero = tensorflow.constant(0, tensorflow.int64)

    @unchanged
    def boxed(*parts: Any) -> Any:
        return _list_of([_list_of([part]) for part in parts])

    @unchanged
    def after_the_end(number: Any) -> Any:
        return number, _no_values(tensorflow.variant)

    # After the last repetition comes an element numbered -1, again and again, until the buffer is empty.
    nothing = tensorflow.data.Dataset.from_tensors(zero - 1).repeat().map(after_the_end)
    elements = dataset.map(boxed).enumerate().repeat(count).concatenate(nothing)
    # Nothing is drawn before the buffer is full.
    filling = tensorflow.data.Dataset.from_tensors(zero).repeat(size - 1)

    @unchanged
    def step(state: Any, given: Any) -> Any:
        rows, steps, there, ends = state
        (number, element), draw = given
        place = steps - (size - 1)  # of the element that is chosen now
        begun = tensorflow.boolean_mask([there], [tensorflow.equal(number, 0)])  # a repetition
        ends = tensorflow.concat([ends, begun], 0)  # where repetitions end, behind `place`
        ends = tensorflow.boolean_mask(ends, ends > tensorflow.maximum(place, 0))
        rows = buffer.put(rows, tensorflow.where(number < 0, buffer.spare, there % size), element)
        there += tensorflow.cast(number >= 0, tensorflow.int64)
        end = tensorflow.minimum(there, tensorflow.reduce_min(ends))  # of none: the largest number
        is_some = tensorflow.logical_and(place >= 0, place < there)
        chosen = (place + draw % tensorflow.maximum(end - place, 1)) % size
        chosen = tensorflow.where(is_some, chosen, buffer.spare)
        earliest = tensorflow.where(is_some, place % size, buffer.spare)
        output = buffer.get(rows, chosen)
        rows = buffer.put(rows, chosen, buffer.get(rows, earliest))
        return (rows, steps + 1, there, ends), (place, there, output)

    @unchanged
    def is_left(place: Any, there: Any, element: Any) -> Any:
        return place < there

    @unchanged
    def is_element(place: Any, there: Any, element: Any) -> Any:
        return place >= 0

    @unchanged
    def unboxed(place: Any, there: Any, element: Any) -> Any:
        return _unboxed(element, spec)

    state = (buffer.empty(), zero, zero, tensorflow.zeros([0], tensorflow.int64))
    steps = tensorflow.data.Dataset.zip((elements, filling.concatenate(draws)))
    steps = steps.apply(tensorflow.data.experimental.scan(state, step))
    steps = steps.apply(tensorflow.data.experimental.take_while(is_left))
    return steps.filter(is_element).map(unboxed)
