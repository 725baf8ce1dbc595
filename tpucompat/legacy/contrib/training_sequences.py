"""Long sequences in pieces, with states that go on from one to the next: ``batch_sequences_with_states``.

Behaviour follows tensorflow/contrib/training/python/training/sequence_queueing_state_saver.py of TensorFlow
1.15.
The pieces wait in a barrier, each under a key, until all of its values are there; the state of a piece is
inserted when the one before it has been computed. A queue of tokens bounds how many sequences are in it.
"""

from __future__ import annotations

import collections
import numbers
from typing import Any, Iterable

import tensorflow.compat.v1 as tf

from tpucompat import private
from tpucompat.errors import BadTypeError, BadValueError
from tpucompat.legacy.contrib.training_queues import ENDS, after

_TOKEN = 0  # what it is does not matter
_CONTEXT = "_context_in_seq_"  # in front of the name of a sparse context


def _as_texts(*parts: Any) -> Any:
    """A message of texts and of the values of tensors."""
    return tf.string_join([p if isinstance(p, str) else tf.as_string(p) for p in parts])


def _is_sparse(value: Any) -> bool:
    return isinstance(value, (tf.SparseTensor, tf.SparseTensorValue))


# Checks --------------------------------------------------------------------------------------------


def _multiple(length: Any, num_unroll: Any, label: str) -> Any:
    """Asserts that a length is a multiple, and not zero."""
    fits = tf.logical_and(tf.equal(tf.mod(length, num_unroll), 0), tf.not_equal(length, 0))
    message = _as_texts(
        label + " should be a multiple of: ",
        tf.convert_to_tensor(num_unroll),
        ", but saw value: ",
        length,
        ". Consider setting pad=True.",
    )
    return tf.Assert(fits, [message])


def _of_rank(value: Any, rank: int) -> Any:
    """A tensor whose rank is checked where it is not known."""
    message = _as_texts(f"Rank of tensor {value.name} should be: {rank}, shape received:")
    check = tf.Assert(tf.equal(rank, tf.rank(value)), [message, tf.shape(value)])
    checked = after([check], value)
    try:
        checked.set_shape(checked.shape.with_rank(rank))
    except ValueError as error:
        raise BadValueError("TPU103", f"Rank check failed for {value.name}: {error}") from error
    return checked


def _of_shape(value: Any, like: Any) -> Any:
    """A tensor that is checked to have another one's shape."""
    message = _as_texts(
        f"Shape of tensor {value.name} should be: ",
        tf.shape(like),
        ", shape received: ",
        tf.shape(value),
    )
    fits = tf.reduce_all(tf.equal(tf.shape(like), tf.shape(value)))
    checked = after([tf.Assert(fits, [message])], value)
    try:
        checked.set_shape(checked.shape.merge_with(like.shape))
    except ValueError as error:
        raise BadValueError("TPU103", f"Shape check failed for {value.name}: {error}") from error
    return checked


def _of_sizes(value: Any, sizes: dict[int, Any], label: str) -> Any:
    """A tensor whose sizes along some dimensions are checked.

    Raises:
      ValueError: If they are known to be others.
    """
    known = value.shape
    if known.ndims is not None:
        if known.ndims <= max(sizes):
            raise BadValueError(
                "TPU103",
                f"{label}: rank of input is not greater than max(dimensions): "
                f"{known.ndims} vs. {max(sizes)}",
            )
        merged = known.as_list()
        merged_with = {axis: size for axis, size in sizes.items() if not tf.is_tensor(size)}
        for axis, size in merged_with.items():
            merged[axis] = size
        try:
            value.set_shape(known.merge_with(merged))
        except ValueError as error:
            raise BadValueError(
                "TPU103", f"Dimensions check failed for {label}: {error}"
            ) from error
    checks = [
        tf.Assert(
            tf.equal(size, tf.shape(value)[axis]),
            [
                _as_texts(
                    f"Dimension {axis} of tensor labeled {label} should be: ",
                    tf.convert_to_tensor(size),
                    ", shape received: ",
                    tf.shape(value),
                )
            ],
        )
        for axis, size in sizes.items()
    ]
    return after(checks, value)


class _SequenceInputWrapper:
    """An example: its length, its key, and tensors by name.

    Raises:
      TypeError: If tensors come in no dictionary, or a name is no text.
      ValueError: If there is no sequence, or a name has a colon.
    """

    def __init__(self, length: Any, key: Any, sequences: Any, context: Any) -> None:
        self.length = tf.convert_to_tensor(length, name="length")
        self.key = tf.convert_to_tensor(key, name="key")
        for label, tensors in (("sequences", sequences), ("context", context)):
            if not isinstance(tensors, dict):
                raise BadTypeError("TPU103", f"{label} must be a dict")
        if not sequences:
            raise BadValueError("TPU103", "must have at least one sequence tensor")
        _check_names("sequence key", sequences)
        _check_names("context key", context)
        self.sequences = _converted("sequence", sequences)
        self.context = _converted("context", context)


def _check_names(label: str, names: Iterable[Any]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise BadTypeError("TPU103", f"{label} must be string: {name}")
        if ":" in name:
            raise BadValueError("TPU103", f"{label} may not have a colon: '{name}'")


def _converted(label: str, tensors: dict[str, Any]) -> dict[str, Any]:
    """Tensors by name, in the order of the names."""
    return {
        name: tf.convert_to_tensor(tensors[name], name=f"{label}_{name}")
        for name in sorted(tensors)
    }


def _check_static(label: str, tensors: dict[str, Any], first: int = 0) -> None:
    for name, value in tensors.items():
        if not value.shape[first:].is_fully_defined():
            ignored = "(ignoring first dimension)" if first else ""
            raise BadValueError(
                "TPU103",
                f"Shape for {label} {name} is not fully defined {ignored}: {value.shape}",
            )


# The state saver -----------------------------------------------------------------------------------


class NextQueuedSequenceBatch:
    """A batch of pieces, and the states that they start with.

    Args:
      state_saver: Its maker.
    """

    def __init__(self, state_saver: SequenceQueueingStateSaver) -> None:
        self._saver = state_saver
        values = state_saver._received
        #: ``[batch]``: the length of the whole sequence, of the piece; its number and that of all.
        self.total_length = values["__total_length"]
        self.length = values["__length"]
        self.sequence = values["__sequence"]
        self.sequence_count = values["__sequence_count"]
        #: ``[batch]``: the order of insertion, the key of the piece and of the next.
        self.insertion_index = values["__index"]
        self.key = values["__key"]
        self.next_key = values["__next_key"]
        #: The number of pieces.
        self.batch_size = tf.squeeze(tf.shape(self.length))
        #: Name -> tensor.
        self.context = state_saver._received_of("context")
        self.sequences = state_saver._received_of("sequence")

    def state(self, state_name: str) -> Any:
        """The state of that name that the pieces start with.

        Raises:
          KeyError: If there is none.
        """
        return self._saver._received_states[state_name]

    def save_state(self, state_name: str, value: Any, name: str | None = None) -> Any:
        """An operation that hands a state on to the next pieces.

        Args:
          state_name: Its name.
          value: The state at the end of the pieces.
          name: Of the operation.

        Raises:
          KeyError: If there is no state of that name.
        """
        saver = self._saver
        if state_name not in saver._received_states:
            raise KeyError(f"state was not declared: {state_name}")
        scope = tf.name_scope(name, "InputQueueingStateSaver_SaveState", [value])
        with scope, tf.colocate_with(saver._tokens.queue_ref):
            going_on = tf.reshape(tf.where_v2(tf.logical_not(saver._done)), [-1])
            value = tf.identity(value, name=f"convert_{state_name}")
            start = saver._received_states[state_name]
            value = _of_shape(_of_rank(value, start.shape.ndims), start)
            return saver.barrier.insert_many(
                saver._place("state", state_name),
                tf.gather(self.next_key, going_on),
                tf.gather(value, going_on),
                name=f"BarrierInsertState_{state_name}",
            )


class SequenceQueueingStateSaver:
    """Cuts sequences into pieces, and gives batches of those whose state is there.

    Args:
      batch_size: Of a batch, a number or a tensor.
      num_unroll: The length of a piece, which divides that of every sequence tensor.
      input_length: An int32 scalar, the length of the sequence without padding.
      input_key: A string scalar, its unique name.
      input_sequences: Name -> ``[length, ...]`` tensor.
      input_context: Name -> tensor that comes with each of its pieces.
      initial_states: Name -> tensor, the state that the first piece starts with.
      capacity: How many sequences are held at most.
      allow_small_batch: Whether a batch may be smaller at the end.
      name: Of the operations.

    Raises:
      TypeError: If a name or a type does not fit.
      ValueError: If there is no sequence or no state, a shape is not known, or the capacity too small.
    """

    def __init__(
        self,
        batch_size: Any,
        num_unroll: int,
        input_length: Any,
        input_key: Any,
        input_sequences: dict[str, Any],
        input_context: dict[str, Any],
        initial_states: dict[str, Any],
        capacity: int | None = None,
        allow_small_batch: bool = False,
        name: str | None = None,
    ) -> None:
        if capacity is not None and tf.is_tensor(batch_size):
            enough = tf.assert_greater_equal(
                tf.cast(capacity, tf.int64),
                tf.cast(batch_size, tf.int64),
                message="capacity needs to be >= batch_size.",
            )
            input_key = after([enough], input_key)
        elif capacity is not None and capacity < batch_size:
            raise BadValueError(
                "TPU103", f"capacity {capacity} needs to be >= batch_size {batch_size}"
            )
        self.batch_size = batch_size
        self.num_unroll = num_unroll
        self._small = allow_small_batch
        self._prefetch_op: Any = None
        self._next_batch: NextQueuedSequenceBatch | None = None
        # A capacity of None is that of no bound.
        self._tokens = private.data_flow_ops().FIFOQueue(
            capacity=capacity, dtypes=[tf.int32], shapes=[[]]
        )
        with tf.colocate_with(self._tokens.queue_ref):
            if not isinstance(initial_states, dict):
                raise BadTypeError("TPU103", "initial_states must be a dictionary")
            if not initial_states:
                raise BadValueError(
                    "TPU103",
                    "initial_states may not be empty: at least one state variable is required to properly "
                    "enqueue split sequences to run in separate iterations",
                )
            _check_names("state name", initial_states)
            used = [input_length, input_key, *input_sequences.values(), *input_context.values()]
            with tf.name_scope(name, "InputQueueingStateSaver", used) as scope:
                self.name = scope
                inputs = _SequenceInputWrapper(
                    input_length, input_key, input_sequences, input_context
                )
                self._prepare(inputs, initial_states)

    def _prepare(self, inputs: _SequenceInputWrapper, initial_states: dict[str, Any]) -> None:
        """Checks the inputs, and makes the barrier."""
        states = _converted("state", initial_states)
        _check_static("state", states)
        _check_static("context", inputs.context)
        _check_static("sequence", inputs.sequences, first=1)
        length, self._key = _of_rank(inputs.length, 0), _of_rank(inputs.key, 0)
        for label, value, dtype in (
            ("length", length, tf.int32),
            ("key", self._key, tf.string),
        ):
            if value.dtype != dtype:
                raise BadTypeError(
                    "TPU103", f"{label} dtype must be {dtype.name}, but received: {value.dtype}"
                )
        padded = tf.shape(next(iter(inputs.sequences.values())))[0]
        padded = tf.identity(padded, name="padded_length")
        self._padded_length = after(
            [_multiple(padded, self.num_unroll, f"Tensor {padded.name}")], padded
        )
        self._tensors = {
            "sequence": {
                name: _of_sizes(value, {0: self._padded_length}, f"sorted_sequences_{name}")
                for name, value in inputs.sequences.items()
            },
            "context": inputs.context,
            "state": states,
        }
        message = "Input length should be <= than length from sequences:"
        inside = tf.Assert(
            tf.less_equal(length, self._padded_length),
            [message, length, " vs. ", self._padded_length],
        )
        self._length = after([inside], length)
        components = {
            "__length": (tf.int32, ()),
            "__total_length": (tf.int32, ()),
            "__next_key": (tf.string, ()),
            "__sequence": (tf.int32, ()),
            "__sequence_count": (tf.int32, ()),
        }
        for kind, tensors in self._tensors.items():
            for name, value in tensors.items():
                shape = value.shape.as_list()
                if kind == "sequence":
                    shape[0] = self.num_unroll
                components[f"__{kind}__{name}"] = (value.dtype, shape)
        self._places = {name: place for place, name in enumerate(components)}
        types, shapes = zip(*components.values())
        self.barrier = private.data_flow_ops().Barrier(types=types, shapes=shapes)

    def _place(self, kind: str, name: str) -> int:
        """Where a tensor is in the barrier."""
        return self._places[f"__{kind}__{name}"]

    @property
    def prefetch_op(self) -> Any:
        """The operation that cuts one sequence and puts its pieces into the barrier."""
        if self._prefetch_op is None:
            with tf.name_scope(None), tf.name_scope(self.name):
                self._prefetch_op = self._prefetch()
        return self._prefetch_op

    @property
    def next_batch(self) -> NextQueuedSequenceBatch:
        """The next batch, which is taken out of the barrier once in each run."""
        if self._next_batch is None:
            _ = self.prefetch_op
            with tf.name_scope(None), tf.name_scope(self.name):
                self._receive()
                self._next_batch = NextQueuedSequenceBatch(self)
        return self._next_batch

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """An operation that closes the barrier and the queue."""
        with tf.name_scope(name, "SQSSClose", [self._prefetch_op]) as scope:
            return tf.group(
                self.barrier.close(cancel_pending_enqueues, "BarrierClose"),
                self._tokens.close(cancel_pending_enqueues, "FIFOClose"),
                name=scope,
            )

    def _prefetch(self) -> Any:
        count = tf.div(self._padded_length, self.num_unroll)
        number = tf.range(count)
        one_each = tf.ones([count], tf.int32)
        remaining = tf.maximum(0, self._length - self.num_unroll * number)
        keys = tf.string_join(
            [
                tf.as_string(number, width=5, fill="0"),
                "_of_",
                tf.as_string(count, width=5, fill="0"),
                ":",
                self._key,
            ],
            name="StringJoinCurrentKeys",
        )
        stop = tf.string_join(["STOP:", self._key], name="StringJoinStop")
        values = {
            "__sequence": number,
            "__sequence_count": count * one_each,
            "__next_key": tf.concat([keys[1:], [stop]], 0),
            "__length": tf.minimum(self.num_unroll, remaining),
            "__total_length": self._length * one_each,
        }
        for name, value in self._tensors["sequence"].items():
            shape = tf.stack([count, self.num_unroll, *value.shape.as_list()[1:]])
            pieces = tf.reshape(value, shape)
            pieces.set_shape([None, self.num_unroll, *value.shape.as_list()[1:]])
            values[f"__sequence__{name}"] = pieces
        for name, value in self._tensors["context"].items():
            times = tf.stack([count, *[1] * value.shape.ndims])
            values[f"__context__{name}"] = tf.tile(tf.expand_dims(value, 0), times)
        inserted = [
            self.barrier.insert_many(self._places[name], keys, value, name=f"BarrierInsert{name}")
            for name, value in values.items()
        ]
        room = self._tokens.enqueue((_TOKEN,))
        # The state comes last, and waits for room: with it the first piece is ready.
        with tf.control_dependencies([inserted[0], room]):
            started = [
                self.barrier.insert_many(
                    self._place("state", name),
                    tf.stack([keys[0]]),
                    tf.stack([value]),
                    name=f"BarrierInitialInsertState_{name}",
                )
                for name, value in self._tensors["state"].items()
            ]
        return tf.group(room, *inserted, *started, name="StateSaverPrefetchGroup")

    def _receive(self) -> None:
        index, keys, taken = self.barrier.take_many(
            self.batch_size, self._small, name="BarrierTakeMany"
        )
        self._received = {name: taken[place] for name, place in self._places.items()}
        self._received.update({"__index": index, "__key": keys})
        self._done = self._received["__sequence"] + 1 >= self._received["__sequence_count"]
        finished = tf.reduce_sum(tf.cast(self._done, tf.int32))
        with tf.control_dependencies([self._tokens.dequeue_many(finished)]):
            self._received_states = {
                name: tf.identity(value) for name, value in self._received_of("state").items()
            }

    def _received_of(self, kind: str) -> collections.OrderedDict[str, Any]:
        return collections.OrderedDict(
            (name, self._received[f"__{kind}__{name}"]) for name in self._tensors[kind]
        )


def batch_sequences_with_states(
    input_key: Any,
    input_sequences: dict[str, Any],
    input_context: dict[str, Any],
    input_length: Any,
    initial_states: dict[str, Any],
    num_unroll: int,
    batch_size: Any,
    num_threads: int = 3,
    capacity: int = 1000,
    allow_small_batch: bool = True,
    pad: bool = True,
    make_keys_unique: bool = False,
    make_keys_unique_seed: int | None = None,
    name: str | None = None,
) -> NextQueuedSequenceBatch:
    """Batches of pieces of sequences, with states that go on from one to the next.

    Args:
      input_key: A string scalar, the sequence's unique name.
      input_sequences: Name -> ``[length, ...]`` tensor, dense or sparse.
      input_context: Name -> tensor that comes with each piece.
      input_length: An int32 scalar; with ``pad``, None stands for the length of the tensors.
      initial_states: Name -> tensor, the state that the first piece starts with.
      num_unroll: The length of a piece.
      batch_size: Of a batch.
      num_threads: How many cut sequences.
      capacity: How many sequences are held at most.
      allow_small_batch: Whether a batch may be smaller at the end.
      pad: Whether sequences are padded to a multiple of ``num_unroll``.
      make_keys_unique: Whether a random number is added to the key.
      make_keys_unique_seed: Of that number.
      name: Of the operations.

    Returns:
      The batch. Its ``save_state`` has to be run with every batch.

    Raises:
      TypeError: If inputs are no tensors by names.
      ValueError: If ``num_unroll`` is no integer, or sizes do not fit.
    """
    used = [*input_sequences.values(), *input_context.values(), *initial_states.values()]
    with tf.name_scope(name, "batch_sequences_with_states", used):
        if pad:
            length, sequences = _padding(input_sequences, num_unroll)
            input_length = length if input_length is None else input_length
        else:
            sequences = {
                key: _checked_multiple(key, value, num_unroll)
                for key, value in input_sequences.items()
            }
        context = _move_sparse_context_out(input_context, sequences, num_unroll)
        stored, sparse_keys, stores = _deconstruct_sparse_tensor_seq(sequences)
        if make_keys_unique:
            drawn = tf.random_uniform(
                (), minval=0, maxval=100000000, dtype=tf.int32, seed=make_keys_unique_seed
            )
            input_key = tf.string_join([input_key, tf.as_string(drawn)])
        saver = SequenceQueueingStateSaver(
            batch_size,
            num_unroll,
            input_length=input_length,
            input_key=input_key,
            input_sequences=stored,
            input_context=context,
            initial_states=initial_states,
            capacity=capacity,
            allow_small_batch=allow_small_batch,
        )
        ready = tf.cast(saver.barrier.ready_size(), tf.float32)
        tf.summary.scalar(f"queue/{saver.barrier.name}/ready_segment_batches_", ready)
        runner = tf.train.QueueRunner(
            saver, [saver.prefetch_op] * num_threads, queue_closed_exception_types=ENDS
        )
        tf.train.add_queue_runner(runner)
        batch = saver.next_batch
        _reconstruct_sparse_tensor_seq(batch.sequences, sparse_keys, stores, batch_size, num_unroll)
        _move_sparse_context_in(batch.context, batch.sequences)
        return batch


def _checked_multiple(key: str, value: Any, num_unroll: int) -> Any:
    """A sequence whose length is checked to be a multiple."""
    if _is_sparse(value):
        check = [_multiple(value.dense_shape[0], num_unroll, f"SparseTensor {key} first dimension")]
        return tf.SparseTensor(
            after(check, value.indices), after(check, value.values), after(check, value.dense_shape)
        )
    try:
        value = tf.convert_to_tensor(value)
    except TypeError as error:
        raise BadTypeError(
            "TPU103",
            "Unsupported input_sequences expected Tensor or SparseTensor values, got: "
            f"{type(value)} for key {key}",
        ) from error
    return after(
        [_multiple(tf.shape(value)[0], num_unroll, f"Tensor {key} first dimension")], value
    )


def _padding(sequences: dict[str, Any], num_unroll: Any) -> tuple[Any, dict[str, Any]]:
    """The length of sequences, and these padded to the next multiple of ``num_unroll``."""
    if not isinstance(num_unroll, numbers.Integral):
        raise BadValueError("TPU103", f"Unsupported num_unroll expected int, got: {num_unroll}")
    if not isinstance(sequences, dict):
        raise BadTypeError("TPU103", f"Unsupported sequences expected dict, got: {sequences}")
    for key in sequences:
        if not isinstance(key, str):
            raise BadTypeError("TPU103", f"Unsupported sequences key expected string, got: {key}")
    if not sequences:
        return 0, {}
    values = {
        key: value if _is_sparse(value) else tf.convert_to_tensor(value)
        for key, value in sorted(sequences.items())
    }
    lengths = [tf.shape(value)[0] for value in values.values() if not _is_sparse(value)]
    if lengths:
        message = _as_texts(
            "All sequence lengths must match, but received lengths: ", tf.stack(lengths)
        )
        length = after(
            [tf.Assert(tf.equal(each, lengths[0]), [message]) for each in lengths], lengths[0]
        )
    else:
        sparse = [value.dense_shape[0] for value in values.values()]
        length = tf.reduce_max(tf.cast(tf.stack(sparse), tf.int32))
    padded = length + (num_unroll - length % num_unroll) % num_unroll
    return length, {key: _padded(value, padded) for key, value in values.items()}


def _padded(value: Any, length: Any) -> Any:
    if _is_sparse(value):
        shape = tf.concat([[tf.cast(length, tf.int64)], value.dense_shape[1:]], 0)
        return tf.SparseTensor(value.indices, value.values, shape)
    shape = tf.concat([[length - tf.shape(value)[0]], tf.shape(value)[1:]], 0)
    nothing = tf.constant("" if value.dtype == tf.string else 0, dtype=value.dtype)
    return tf.concat([value, tf.fill(shape, nothing)], 0)


# Sparse tensors ------------------------------------------------------------------------------------


def _move_sparse_context_out(
    context: dict[str, Any], sequences: dict[str, Any], num_unroll: int
) -> dict[str, Any]:
    """The dense context; of the rest each becomes a sequence, whose every piece starts with it."""
    length: Any = tf.constant(1, tf.int64)
    if sequences:
        first = next(iter(sequences.values()))
        length = first.dense_shape[0] if _is_sparse(first) else tf.shape(first)[0]
        length = tf.cast(length, tf.int64)
    for key in sorted(key for key in context if _is_sparse(context[key])):
        value = context[key]
        starts = tf.range(tf.constant(0, tf.int64), length, num_unroll)
        count, entries = tf.size(starts), tf.shape(value.indices)[0]
        times = tf.tile(tf.reshape(starts, [-1, 1, 1]), [1, entries, 1])
        places = tf.tile(tf.expand_dims(value.indices, 0), tf.stack([count, 1, 1]))
        rank = tf.shape(value.indices)[1] + 1
        sequences[_CONTEXT + key] = tf.SparseTensor(
            tf.reshape(tf.concat([times, places], 2), [entries * count, rank]),
            tf.tile(value.values, tf.expand_dims(count, 0)),
            tf.concat([tf.expand_dims(length, 0), value.dense_shape], 0),
        )
    return {key: value for key, value in context.items() if not _is_sparse(value)}


def _move_sparse_context_in(context: dict[str, Any], sequences: dict[str, Any]) -> None:
    """Undoes :func:`_move_sparse_context_out` in a batch."""
    for key in sorted(key for key in sequences if key.startswith(_CONTEXT)):
        value = sequences.pop(key)
        batch, rest = value.dense_shape[:1], value.dense_shape[2:]
        one = tf.constant([1], tf.int64)
        first = tf.SparseTensor(value.indices, value.values, tf.concat([batch, one, rest], 0))
        context[key[len(_CONTEXT) :]] = tf.sparse_reshape(first, tf.concat([batch, rest], 0))


def _deconstruct_sparse_tensor_seq(
    input_sequence: dict[str, Any], shared_name: str | None = None
) -> tuple[dict[str, Any], list[str] | None, list[Any]]:
    """Sequences with handles for those that are sparse; the names of these, and what stored them."""
    keys = sorted(key for key, value in input_sequence.items() if _is_sparse(value))
    if not keys:
        return input_sequence, None, []
    store = private.sparse_maps().add_many
    handles = {key: store(input_sequence[key], shared_name=shared_name) for key in keys}
    return {**input_sequence, **handles}, keys, [handles[key].op for key in keys]


def _reconstruct_sparse_tensor_seq(
    sequence: dict[str, Any],
    sparse_tensor_keys: list[str] | None,
    tensor_op_list: list[Any],
    batch_size: Any,
    num_unroll: int,
) -> None:
    """Puts SparseTensors of ``[batch, num_unroll, ...]`` in the place of a batch's handles."""
    for key, stored in zip(sparse_tensor_keys or [], tensor_op_list):
        flat = private.sparse_maps().take_many(
            sparse_map_op=stored, sparse_handles=tf.reshape(sequence[key], [-1]), rank=None
        )
        place = flat.indices[:, :1]
        indices = [place // num_unroll, place % num_unroll, flat.indices[:, 1:]]
        sizes = tf.cast(tf.stack([batch_size, num_unroll]), tf.int64)
        sequence[key] = tf.SparseTensor(
            tf.concat(indices, axis=1), flat.values, tf.concat([sizes, flat.dense_shape[1:]], 0)
        )
