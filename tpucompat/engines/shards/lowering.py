"""Writes out what a TPU does between cores, or between a core and the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tpucompat.engines.shards.bodies import DT_INT32, DT_VARIANT, data_inputs
from tpucompat.engines.shards.operations import DEQUEUES
from tpucompat.engines.shards.varying import constant_rows

if TYPE_CHECKING:
    from tpucompat.engines.shards.writer import Writer

#: The number of elements that an infeed or outfeed queue of one core holds before it blocks.
QUEUE_CAPACITY = 64


def queue_name(direction: str, core: int) -> str:
    """The name that the two ends of a core's queue share; of "infeed" or "outfeed"."""
    return f"tpucompat_{direction}_core_{core}"


def feed(writer: Writer, node: Any) -> None:
    """An infeed or outfeed of a core: one end of a queue; an element is a whole tuple."""
    infeed = node.op in DEQUEUES
    types = node.attr["dtypes"].list.type or [node.attr["dtype"].type]
    for k, shard in enumerate(writer.shards):
        name = writer.names[node.name][k]
        queue = _queue(writer, name + "/queue", infeed, writer.context.core_of(shard))
        handle = writer.body.output(queue.name, "handle", 0)
        if infeed:
            taken = writer.new(name + "/dequeue", "QueueDequeueV2", node)
            taken.input.append(handle)
            taken.attr["component_types"].list.type.append(DT_VARIANT)
            taken.attr["timeout_ms"].i = -1
            writer.control(taken, node, k)
            value = writer.new(name, "OptionalGetValue", node)
            value.input.append(writer.body.output(taken.name, "components", 0))
            value.attr["output_types"].list.type.extend(types)
            shapes = node.attr["shapes"].list.shape or [node.attr["shape"].shape]
            value.attr["output_shapes"].list.shape.extend(shapes)
        else:
            value = writer.new(name + "/tuple", "OptionalFromValue", node)
            value.input.extend(writer.references(r)[k] for r in data_inputs(node))
            value.attr["Toutput_types"].list.type.extend(types)
            given = writer.new(name, "QueueEnqueueV2", node)
            given.input.extend([handle, writer.body.output(value.name, "optional", 0)])
            given.attr["Tcomponents"].list.type.append(DT_VARIANT)
            given.attr["timeout_ms"].i = -1
            writer.control(given, node, k)


def all_to_all(writer: Writer, node: Any) -> None:
    """An exchange: each shard cuts its value into pieces, and joins the pieces meant for it."""
    values = writer.references(node.input[0])
    groups = constant_rows(writer.body, node.input[1]) or [writer.shards]
    count = node.attr["split_count"].i
    split_axis = _integer(writer, node.name + "/split_dimension", node.attr["split_dimension"].i)
    join_axis = _integer(writer, node.name + "/concat_dimension", node.attr["concat_dimension"].i)
    for k, shard in enumerate(writer.shards):
        split = writer.new(f"{node.name}/split_{shard}", "Split", node)
        split.input.extend([split_axis, values[k]])
        split.attr["num_split"].i = count
        split.attr["T"].CopyFrom(node.attr["T"])
    for k, shard in enumerate(writer.shards):
        group = next(group for group in groups if shard in group)
        if len(group) == 1:  # ConcatV2 wants two
            join = writer.new(writer.names[node.name][k], "Identity", node)
            join.input.append(writer.body.output(f"{node.name}/split_{shard}", "output", 0))
            join.attr["T"].CopyFrom(node.attr["T"])
            writer.control(join, node, k)
            continue
        join = writer.new(writer.names[node.name][k], "ConcatV2", node)
        for other in group:
            name = f"{node.name}/split_{other}"
            join.input.append(writer.body.output(name, "output", group.index(shard)))
        join.input.append(join_axis)
        join.attr["N"].i = count
        join.attr["T"].CopyFrom(node.attr["T"])
        join.attr["Tidx"].type = DT_INT32
        writer.control(join, node, k)


def permute(writer: Writer, node: Any) -> None:
    """Values sent from shard to shard; zeros where nothing is sent."""
    values = dict(zip(writer.shards, writer.references(node.input[0])))
    source_of = {t: s for s, t in constant_rows(writer.body, node.input[1])}
    for k, shard in enumerate(writer.shards):
        name = writer.names[node.name][k]
        source = source_of.get(shard)
        copy = writer.new(name + "/value", "Identity" if source in values else "ZerosLike", node)
        copy.input.append(values[source if source in values else shard])
        copy.attr["T"].CopyFrom(node.attr["T"])
        result = writer.new(name, "Identity", node)
        result.input.append(
            writer.body.output(copy.name, "y" if source not in values else "output", 0)
        )
        result.attr["T"].CopyFrom(node.attr["T"])
        writer.control(result, node, k)


def _queue(writer: Writer, name: str, infeed: bool, core: int) -> Any:
    node = writer.new(name, "FIFOQueueV2")
    node.attr["component_types"].list.type.append(DT_VARIANT)
    node.attr["shapes"].list.shape.add()
    node.attr["capacity"].i = QUEUE_CAPACITY
    node.attr["container"].s = b""
    node.attr["shared_name"].s = queue_name("infeed" if infeed else "outfeed", core).encode()
    return node


def _integer(writer: Writer, name: str, value: int) -> str:
    node = writer.new(name, "Const")
    node.attr["dtype"].type = DT_INT32
    node.attr["value"].tensor.dtype = DT_INT32
    node.attr["value"].tensor.tensor_shape.SetInParent()
    node.attr["value"].tensor.int_val.append(value)
    return writer.body.output(name, "output", 0)
