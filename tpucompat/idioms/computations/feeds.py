"""Infeed and outfeed: queues between the host and each core.

Inside a computation the native operations are built (``tensorflow/python/tpu/ops/tpu_ops.py`` of
TensorFlow 1.15), and the engine gives every shard the queue of its core. On the host the other ends
are built here. A queue holds whole tuples of any types and shapes; it is found by the number of its
core, so that any thread of the same Session reaches it. Both ends block: a dequeue until there is
an element, an enqueue while the queue is full.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError
from tpucompat.engines import in_graph, shards
from tpucompat.idioms.computations import far_feeds
from tpucompat.idioms.startup import tpu_system
from tpucompat.tf import private

_INFEED_TYPES = frozenset(
    [tf.bool, tf.int32, tf.int64, tf.bfloat16, tf.float32, tf.complex64, tf.uint32]
)


def infeed_dequeue(dtype: Any, shape: Any, name: str | None = None) -> Any:
    """Takes a tensor from the infeed of the core that runs the computation.

    Args:
      dtype: The tensor's type.
      shape: Its shape.
      name: The operation's name.

    Returns:
      A tensor.

    Raises:
      TypeError: If a TPU's infeed has no such type (TPU351).
    """
    return infeed_dequeue_tuple([dtype], [shape], name)[0]


def infeed_dequeue_tuple(dtypes: Any, shapes: Any, name: str | None = None) -> list[Any]:
    """Takes a tuple of tensors from the infeed of the core that runs the computation.

    Args:
      dtypes: Their types.
      shapes: Their shapes.
      name: The operation's name.

    Returns:
      A list of tensors.

    Raises:
      TypeError: If a TPU's infeed has no such type (TPU351).
    """
    types = [tf.as_dtype(dtype) for dtype in dtypes]
    check_infeed_types(types)
    if in_graph.is_tracing():
        return list(private.tpu_ops().infeed_dequeue_tuple(types, shapes, name=name))
    return _dequeue("infeed", _core(-1), types, shapes, name)


def check_infeed_types(types: Sequence[Any], names: Sequence[str] = ()) -> None:
    """Refuses what no TPU's infeed takes.

    Args:
      types: The types of a tuple, each a ``tf.DType``.
      names: What a script calls the tensors, where that is known.

    Raises:
      TypeError: If there is no such infeed type (TPU351).
    """
    for index, dtype in enumerate(types):
        if dtype not in _INFEED_TYPES:
            fed = f"{names[index]} is {dtype.name}, which" if names else str(dtype)
            raise BadTypeError(
                "TPU351",
                f"{fed} is not a supported TPU infeed type. Supported types are: "
                f"{sorted(one.name for one in _INFEED_TYPES)}",
            )


def infeed_enqueue(
    input: Any,
    shape: Any = (),
    layout: Any = (),
    device_ordinal: int = -1,
    name: str | None = None,
) -> Any:
    """Puts a tensor into the infeed of a core.

    Args:
      input: The tensor.
      shape: Its shape.
      layout: Ignored.
      device_ordinal: The core, counted within its host; -1 where the operation is placed on the
        core itself (``tf.device('/device:TPU:3')``).
      name: The operation's name.

    Returns:
      An operation; it blocks while the queue of the core is full.
    """
    return infeed_enqueue_tuple(
        [input], [shape] if shape != () else [None], (), device_ordinal, name
    )


def infeed_enqueue_tuple(
    inputs: Sequence[Any],
    shapes: Sequence[Any],
    layouts: Any = (),
    device_ordinal: int = -1,
    name: str | None = None,
) -> Any:
    """Puts a tuple of tensors into the infeed of a core.

    Args:
      inputs: The tensors.
      shapes: Their shapes.
      layouts: Ignored.
      device_ordinal: The core, counted within its host; -1 where the operation is placed on the
        core itself (``tf.device('/device:TPU:3')``).
      name: The operation's name.

    Returns:
      An operation; it blocks while the queue of the core is full.

    Raises:
      ValueError: If a tensor does not have the shape given for it (TPU352).
    """
    del layouts
    values = [tf.convert_to_tensor(value) for value in inputs]
    checked = [_of_shape(value, shape) for value, shape in zip(values, shapes)]
    return _enqueue("infeed", _core(device_ordinal), checked, name)


def outfeed_enqueue(input: Any, name: str | None = None) -> Any:
    """Puts a tensor into the outfeed of the core that runs the computation.

    Args:
      input: The tensor.
      name: The operation's name.

    Returns:
      An operation.
    """
    return outfeed_enqueue_tuple([input], name)


def outfeed_enqueue_tuple(inputs: Sequence[Any], name: str | None = None) -> Any:
    """Puts a tuple of tensors into the outfeed of the core that runs the computation.

    Args:
      inputs: The tensors.
      name: The operation's name.

    Returns:
      An operation.
    """
    values = [tf.convert_to_tensor(value) for value in inputs]
    if in_graph.is_tracing():
        return private.tpu_ops().outfeed_enqueue_tuple(values, name=name)
    return _enqueue("outfeed", _core(-1), values, name)


def outfeed_dequeue(
    dtype: Any, shape: Any, device_ordinal: int = -1, name: str | None = None
) -> Any:
    """Takes a tensor from the outfeed of a core.

    Args:
      dtype: The tensor's type.
      shape: Its shape.
      device_ordinal: The core, counted within its host; -1 where the operation is placed on the
        core itself.
      name: The operation's name.

    Returns:
      A tensor; fetching it blocks until the core has put one in.
    """
    return outfeed_dequeue_tuple([dtype], [shape], device_ordinal, name)[0]


def outfeed_dequeue_tuple(
    dtypes: Sequence[Any],
    shapes: Sequence[Any],
    device_ordinal: int = -1,
    name: str | None = None,
) -> list[Any]:
    """Takes a tuple of tensors from the outfeed of a core.

    Args:
      dtypes: Their types.
      shapes: Their shapes.
      device_ordinal: The core, counted within its host; -1 where the operation is placed on the
        core itself.
      name: The operation's name.

    Returns:
      A list of tensors; fetching one blocks until the core has put a tuple in. Tensors of the same
      list that are fetched together come from the same tuple.
    """
    types = [tf.as_dtype(dtype) for dtype in dtypes]
    return _dequeue("outfeed", _core(device_ordinal), types, shapes, name)


class InfeedQueue(private.tpu_feed().InfeedQueue):  # type: ignore[misc]
    """Describes the tuples that a sharded computation takes, and builds both ends.

    TensorFlow's own class (``tensorflow/python/tpu/tpu_feed.py``), whose arguments and methods it
    has, with the operations of this module.
    """

    _generated_dequeue_op: bool
    _enqueued: list[tuple[Any, int]] | None = None  # graphs and cores of the ends on the host
    _dequeued_in: Any = None

    def generate_dequeue_op(self, tpu_device: int | None = 0) -> list[Any]:
        """Builds the end inside the computation.

        Args:
          tpu_device: Ignored; a replica runs on one device.

        Returns:
          The tensors of one shard's tuple.

        Raises:
          ValueError: If types or shapes are not known yet, the shards cannot share a shape, or the
            end was built already (TPU352).
        """
        del tpu_device
        self.freeze()
        if self._generated_dequeue_op:
            raise BadValueError("TPU352", "Can't generate two dequeue Ops from the same queue")
        self._generated_dequeue_op = True
        self._dequeued_in = _outermost(tf.get_default_graph())
        for graph, core in self._enqueued or ():
            self._carry(graph, core)
        return infeed_dequeue_tuple(
            self._tuple_types, self._shapes_of_a_shard(), name=self._name + "/dequeue"
        )

    def _shapes_of_a_shard(self) -> list[Any]:
        return [
            policy.get_sharded_shape(shape)
            for shape, policy in zip(self._tuple_shapes, self._sharding_policies)
        ]

    def _carry(self, graph: Any, core: int) -> None:
        """Connects the two ends where they are in different graphs, whose Sessions share no queue."""
        if self._dequeued_in in (None, graph):
            return
        types, shapes = self._tuple_types, self._shapes_of_a_shard()
        far_feeds.carry(
            graph,
            self._dequeued_in,
            core,
            list(zip(types, shapes)),
            lambda: _dequeue("infeed", core, types, shapes, None),
            lambda values: _enqueue("infeed", core, values, None),
        )

    def _generate_enqueue_op(
        self,
        inputs: Sequence[Any],
        name_prefix: str,
        index: int,
        device: Any = None,
        tpu_ordinal: int = -1,
    ) -> Any:
        """Builds the end on the host for one shard; see TensorFlow's own method."""
        if device is None and len({tensor.device for tensor in inputs}) > 1:
            devices = [tensor.device for tensor in inputs]
            raise BadValueError(
                "TPU352",
                f"input devices for shard {index} are {devices}, but should all be the same",
            )
        with tf.device(inputs[0].device if device is None else device):
            end = (_outermost(inputs[0].graph), _core(tpu_ordinal))
            self._enqueued = [*(self._enqueued or ()), end]
            self._carry(*end)
            return infeed_enqueue_tuple(
                inputs,
                [tensor.shape for tensor in inputs],
                device_ordinal=tpu_ordinal,
                name=f"{name_prefix}/{index}",
            )


def _explained(name: str) -> Callable[..., Any]:
    """A method of TensorFlow's class whose errors carry a code and the next step."""
    original = getattr(private.tpu_feed().InfeedQueue, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except (BadTypeError, BadValueError):
            raise
        except TypeError as error:
            raise BadTypeError("TPU352", str(error)) from error
        except ValueError as error:
            raise BadValueError("TPU352", str(error)) from error

    method.__name__ = name
    method.__doc__ = original.__doc__
    return method


for _name in (
    "freeze",
    "generate_enqueue_ops",
    "set_configuration_from_input_tensors",
    "set_configuration_from_sharded_input_tensors",
    "set_number_of_shards",
    "set_shard_dimensions",
    "set_tuple_shapes",
    "set_tuple_types",
    "split_inputs_and_generate_enqueue_ops",
):
    setattr(InfeedQueue, _name, _explained(_name))


# Queues
# ---------------------------------------------------------------------------------------------


def _outermost(graph: Any) -> Any:
    """The graph that a Session runs: that of the script, around all functions."""
    while getattr(graph, "outer_graph", None) is not None:
        graph = graph.outer_graph
    return graph


def _core(ordinal: int) -> int:
    return tpu_system.core_number(in_graph.current_device(), ordinal)


def _queue(direction: str, core: int) -> Any:
    return tf.raw_ops.FIFOQueueV2(
        component_types=[tf.variant],
        shapes=[[]],
        capacity=shards.QUEUE_CAPACITY,
        shared_name=shards.queue_name(direction, core),
    )


def _enqueue(direction: str, core: int, values: Sequence[Any], name: str | None) -> Any:
    with tf.device(None):
        element = tf.raw_ops.OptionalFromValue(components=list(values))
        return tf.raw_ops.QueueEnqueueV2(
            handle=_queue(direction, core),
            components=[element],
            name=name or direction + "_enqueue",
        )


def _dequeue(
    direction: str, core: int, types: Sequence[Any], shapes: Sequence[Any], name: str | None
) -> list[Any]:
    with tf.device(None):
        element = tf.raw_ops.QueueDequeueV2(
            handle=_queue(direction, core), component_types=[tf.variant]
        )
        return list(
            tf.raw_ops.OptionalGetValue(
                optional=element[0],
                output_types=list(types),
                output_shapes=list(shapes),
                name=name or direction + "_dequeue",
            )
        )


def _of_shape(value: Any, shape: Any) -> Any:
    """The value, which has the shape or fails when it runs."""
    wanted = tf.TensorShape(shape)
    if not value.shape.is_compatible_with(wanted):
        raise BadValueError(
            "TPU352", (f"the infeed tuple has a tensor of shape {value.shape}, expected {wanted}")
        )
    return value if value.shape.is_fully_defined() else tf.ensure_shape(value, wanted)
