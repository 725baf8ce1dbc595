"""Where the replicas meet: sums over the cores and exchanges between them.

The native TPU operations ``CrossReplicaSum``, ``AllToAll`` and ``CollectivePermute`` run on a TPU
only. Between replicas under a strategy, and between shards in one graph, they are made from a sum
over all replicas, the one thing that every ``tf.distribute`` strategy offers inside a step.

What the operations give follows ``tensorflow/core/ops/tpu_cross_replica_ops.cc`` and the operation
semantics of XLA.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence, Tuple

import tensorflow as tf
import tensorflow.compat.v1 as v1

from tpucompat.base import errors
from tpucompat.engines.graphdef import data_inputs, node_name, tensor_name

#: The operations, each with the name of its second input: which replicas are concerned.
OPS = {
    "CrossReplicaSum": "groups",
    "AllToAll": "groups",
    "CollectivePermute": "pairs of source and target",
}

Rows = Tuple[Tuple[int, ...], ...]


class Meeting(NamedTuple):
    """One of the operations in a computation.

    Attributes:
      node: The name of its node; the result is the tensor ``node:0``.
      op: A key of :data:`OPS`.
      source: The tensor that a replica brings.
      after: Operations that have to run before, as control inputs.
      rows: The groups of replicas, or the pairs of source and target. For a sum nothing stands for
        one group of all replicas.
      axes: For AllToAll (concat_dimension, split_dimension, split_count).
      conditions: The TF 1 conditionals that it is in, by tensor name.
    """

    node: str
    op: str
    source: str
    after: tuple[str, ...]
    rows: Rows
    axes: tuple[int, ...]
    conditions: tuple[tuple[str, int], ...]


class Request(NamedTuple):
    """What a replica brings to a meeting.

    Attributes:
      meeting: The meeting.
      value: The tensor that it brings.
      conditions: The conditionals that the meeting is in, with predicates as tensors.
    """

    meeting: Meeting
    value: Any
    conditions: tuple[tuple[Any, int], ...]


def is_for_tpus(strategy: Any) -> bool:
    """Whether one program, compiled for a TPU, serves all replicas of a strategy."""
    old = tf.distribute.experimental.TPUStrategy  # the public name is since 2.3
    return isinstance(strategy, (old, getattr(tf.distribute, "TPUStrategy", old)))


def are_cores_of_a_cpu(strategy: Any) -> bool:
    """Whether all replicas of a strategy are on this machine, and none of them on a GPU or TPU."""
    extended = strategy.extended
    local = len(extended.worker_devices) == strategy.num_replicas_in_sync
    return local and all("CPU" in device for device in extended.worker_devices)


def sources(node: Any) -> list[str]:
    """What a node takes, in full names, without the rows of a meeting: they are not a value."""
    names = [tensor_name(name) for name in node.input]
    if node.op in OPS:
        return names[:1] + [name for name in names[1:] if name.startswith("^")]
    return names


def meeting(node: Any, everything: Mapping[str, Any], conditions: Any) -> Meeting:
    """Reads a node.

    Args:
      node: One of :data:`OPS`.
      everything: Name -> NodeDef of the whole graph, which has the rows.
      conditions: The conditionals that the node is in.

    Raises:
      errors.UnsupportedGraphError: If the rows are not a constant (TPU364).
    """
    source, *after = sources(node)
    rows: Rows = ()
    given = data_inputs(node)[1:]
    if given:
        constant = everything.get(node_name(given[0]))
        if constant is None or constant.op != "Const":
            raise errors.UnsupportedGraphError(
                "TPU364", f"the {OPS[node.op]} of {node.op} {node.name!r} are not constant"
            )
        rows = tuple(map(tuple, v1.make_ndarray(constant.attr["value"].tensor).tolist()))
    if node.op == "CrossReplicaSum" and len(rows) == 1:
        rows = ()
    axes = ("concat_dimension", "split_dimension", "split_count")
    return Meeting(
        node.name,
        node.op,
        source,
        tuple(after),
        rows,
        tuple(node.attr[axis].i for axis in axes) if node.op == "AllToAll" else (),
        conditions,
    )


def meet_replicas(context: Any, requests: Sequence[Request]) -> list[Any]:
    """Answers what one replica asks for, inside a step that a strategy runs.

    Args:
      context: The ``tf.distribute.ReplicaContext``.
      requests: The requests of a stage, the same on all replicas.

    Returns:
      A tensor for each request.
    """
    replicas, mine = context.num_replicas_in_sync, context.replica_id_in_sync_group
    if replicas == 1:
        return meet_alone(requests)
    brought = []
    for request in requests:
        value = _everywhere(request)
        if _is_plain_sum(request):
            brought.append(value)
            continue
        # Everybody puts the value into a slot of its own (its group's, for a sum) among zeros.
        if request.meeting.op == "CrossReplicaSum":
            slots, slot = len(request.meeting.rows), _look_up(_group_of(request.meeting), mine)
        else:
            slots, slot = replicas, mine
        number = tf.cast(value, tf.int32) if value.dtype == tf.bool else value
        shape = tf.concat([[slots], tf.shape(number)], 0)
        brought.append(tf.scatter_nd([[slot]], number[tf.newaxis], shape))
    answers = []
    for request, total in zip(requests, sums(context, brought)):
        if not _is_plain_sum(request):
            if request.meeting.op == "CrossReplicaSum":
                total = tf.gather(total, _look_up(_group_of(request.meeting), mine))
            else:
                total = _exchanged(
                    request.meeting, tf.cast(total, request.value.dtype), mine, replicas
                )
        answers.append(_back_inside(request, total))
    return answers


def meet_shards(requests: Sequence[Sequence[Request]]) -> list[list[Any]]:
    """Answers the requests of all shards of one graph.

    Args:
      requests: For each shard its requests.

    Returns:
      For each shard a tensor for each request.
    """
    if len(requests) == 1:
        return [meet_alone(requests[0])]
    answers: list[list[Any]] = [[] for _ in requests]
    for alike in zip(*requests):
        values = [_everywhere(request) for request in alike]
        how = alike[0].meeting
        results: list[Any] = list(values)
        if how.op == "CrossReplicaSum":
            for group in how.rows or (tuple(range(len(values))),):
                total = tf.add_n([values[shard] for shard in group])
                for shard in group:
                    results[shard] = total
        else:
            together = tf.stack(values)
            results = [
                _exchanged(how, together, shard, len(values)) for shard in range(len(values))
            ]
        for shard, result in enumerate(results):
            answers[shard].append(_back_inside(alike[shard], result))
    return answers


def meet_alone(requests: Sequence[Request]) -> list[Any]:
    """Answers what a single replica asks for: its own value.

    An operation of its own, as a sum is: what waits for several meetings would otherwise wait for one
    operation twice, which ``import_graph_def`` loses count of.
    """
    return [tf.identity(request.value) for request in requests]


def _is_plain_sum(request: Request) -> bool:
    return request.meeting.op == "CrossReplicaSum" and not request.meeting.rows


def _group_of(how: Meeting) -> list[int]:
    """Replica -> the number of its group."""
    table = {member: index for index, group in enumerate(how.rows) for member in group}
    return [table[member] for member in range(len(table))]


def _look_up(table: Sequence[Any], replica: Any) -> Any:
    return tf.gather(tf.constant(table), replica)


def _exchanged(how: Meeting, together: Any, mine: Any, replicas: int) -> Any:
    """What a replica gets.

    Args:
      how: A meeting that is not a sum.
      together: The values of all replicas, stacked on axis 0.
      mine: The number of the replica, an integer or a tensor.
      replicas: How many there are.
    """
    if how.op == "CollectivePermute":
        # Who is nobody's target gets the zeros at the end.
        padded = tf.concat([together, tf.zeros_like(together[:1])], 0)
        sources = {target: source for source, target in how.rows}
        return tf.gather(
            padded, _look_up([sources.get(r, replicas) for r in range(replicas)], mine)
        )
    concat_axis, split_axis, count = how.axes
    group = _look_up(_group_of(how), mine)
    members = _look_up(how.rows, group)
    position = tf.argmax(tf.cast(tf.equal(members, mine), tf.int32), output_type=tf.int32)
    parts = tf.stack(tf.split(tf.gather(together, members), count, axis=split_axis + 1))
    return tf.concat(tf.unstack(tf.gather(parts, position), count), concat_axis)


def sums(context: Any, values: Sequence[Any]) -> list[Any]:
    """The sums over all replicas; values of one type go together.

    MirroredStrategy sums int32 on the host and refuses it beside other types
    (``mirrored_strategy.py``, ``_batch_reduce_to``).

    Args:
      context: The ``tf.distribute.ReplicaContext``.
      values: What a replica brings.
    """
    totals: list[Any] = list(values)
    for dtype in dict.fromkeys(value.dtype for value in values):
        alike = [index for index, value in enumerate(values) if value.dtype == dtype]
        sums = _all_reduce_alike(context, [values[index] for index in alike])
        for index, total in zip(alike, sums):
            totals[index] = total
    return totals


def of_first(context: Any, values: Sequence[Any]) -> list[Any]:
    """The values of replica 0, for every replica.

    Args:
      context: The ``tf.distribute.ReplicaContext``.
      values: What a replica brings.
    """
    first = tf.equal(context.replica_id_in_sync_group, 0)
    brought = [_summable(value) for value in values]
    totals = sums(context, [tf.where(first, value, tf.zeros_like(value)) for value in brought])
    return [_restored(total, value.dtype) for total, value in zip(totals, values)]


#: What a TPU sums (``tpu_cross_replica_ops.cc``), without what is twice as long.
_SUMMED = ("float16", "bfloat16", "float32", "int32")


def _summable(value: Any) -> Any:
    """A value in a type that a TPU sums; with zeros beside it the sum is the value."""
    if value.dtype.name in _SUMMED:
        return value
    return tf.cast(value, tf.int32) if value.dtype.size < 4 else tf.bitcast(value, tf.int32)


def _restored(value: Any, dtype: Any) -> Any:
    """The value that :func:`_summable` was given."""
    if value.dtype == dtype:
        return value
    return tf.cast(value, dtype) if dtype.size < 4 else tf.bitcast(value, dtype)


def _all_reduce_alike(context: Any, values: list[Any]) -> Any:
    """The sums over all replicas of values of one type.

    ``ReplicaContext.all_reduce`` is for values with gradients: it ties those of one call together
    by an IdentityN. Grappler takes the ties for an order between operations, drops control inputs
    that say the same, and later removes the ties (``dependency_optimizer.cc``). So replicas that
    run as threads meet directly, and only the one program of a TPU takes that way.
    """
    total = tf.distribute.ReduceOp.SUM
    if is_for_tpus(context.strategy):
        return context.all_reduce(total, values)

    def meet(strategy: Any, *brought: Any) -> Any:
        if len(strategy.extended.worker_devices) > 1 and are_cores_of_a_cpu(strategy):
            # The same sum in the same order, without a copy of it for every replica.
            with tf.device(strategy.extended.worker_devices[0]):
                return [tf.add_n(strategy.experimental_local_results(value)) for value in brought]
        return strategy.extended.batch_reduce_to(
            total, [(value, value) for value in map(at_home, brought)]
        )

    def at_home(value: Any) -> Any:
        # A value of one local replica is a tensor, and goes back to where it was. Without a device
        # several would not go together (``cross_device_ops.py``, ``_all_devices_match``).
        if not isinstance(value, tf.Tensor) or value.device:
            return value
        with tf.device(context.strategy.extended.worker_devices[0]):
            return tf.identity(value)

    return context.merge_call(meet, args=tuple(values))


def _everywhere(request: Request) -> Any:
    """The value, or zeros where the conditional that the meeting is in took the other way.

    All replicas have to meet, whichever way each of them took; those that did not come this way
    bring nothing. (On a TPU all cores have to take the same way.)
    """
    value = request.value
    if request.conditions and not value.shape.is_fully_defined():
        raise errors.UnsupportedGraphError(
            "TPU362",
            (
                f"{request.meeting.op} {request.meeting.node!r} is inside a conditional, and "
                f"its shape ({value.shape}) is unknown"
            ),
        )
    for predicate, branch in reversed(request.conditions):
        sides = tf.raw_ops.Switch(data=predicate, pred=predicate)
        # A control input waits for an operation, whichever of its outputs is given out.
        with tf.control_dependencies([tf.identity(sides[1 - branch])]):
            nothing = tf.zeros(value.shape, value.dtype)
        value = tf.raw_ops.Merge(inputs=[value, nothing]).output
    return value


def _back_inside(request: Request, result: Any) -> Any:
    """The result, for the conditional that asked for it."""
    for predicate, branch in request.conditions:
        result = tf.raw_ops.Switch(data=result, pred=predicate)[branch]
    return result
