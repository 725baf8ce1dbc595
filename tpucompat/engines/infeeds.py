"""Infeeds inside of loops, between TensorFlow's graph and XLA's program.

What an infeed brings at the top of a computation is an argument of the program. In a loop, each step
takes a value of its own; XLA's compiler for a CPU has no operation for that, a TPU has. So it goes through the
lowering as a call of a function that nobody has, as a sum does (:mod:`tpucompat.engines.sums`), and becomes
XLA's infeed.
"""

from __future__ import annotations

from typing import Any

from tpucompat.engines import graphdef
from tpucompat.tf import private

#: What the call is for, until it is an infeed.
TARGET = "tpucompat_infeed"

#: The operations -> the name of what they give.
OPERATIONS = {"InfeedDequeue": "output", "InfeedDequeueTuple": "outputs"}


def brings(node: Any) -> list[tuple[int, Any]]:
    """What an infeed brings: types, as numbers, and shapes, as protocol buffers."""
    kinds = node.attr["dtypes"].list.type or [node.attr["dtype"].type]
    shapes = node.attr["shapes"].list.shape or [node.attr["shape"].shape]
    return list(zip(kinds, shapes))


def to_calls(library: Any) -> None:
    """Makes the infeeds in the functions of a library calls, one for each value."""
    for function in library.function:
        renamed: dict[str, str] = {}
        for node in [node for node in function.node_def if node.op in OPERATIONS]:
            for index, (kind, shape) in enumerate(brings(node)):
                # TensorFlow's own numbers make NAME_1 the name of another operation.
                name = f"{node.name}/{TARGET}_{index}"
                call = function.node_def.add(name=name, op="XlaCustomCall")
                call.attr["T"].list.SetInParent()
                call.attr["dtype"].type = kind
                call.attr["shape"].shape.CopyFrom(shape)
                call.attr["target_name"].s = TARGET.encode()
                call.attr["backend_config"].s = call.name.encode()  # so that no two are one
                call.input.append("^" + node.name)
                given = f"{node.name}:{OPERATIONS[node.op]}:{index}"
                renamed[given] = call.name + ":output:0"
            node.op = "NoOp"
            node.attr.clear()
            graphdef.set_inputs(node, graphdef.control_inputs(node))
        if renamed:
            for node in function.node_def:
                graphdef.set_inputs(node, [renamed.get(key, key) for key in node.input])
            for name, key in list(function.ret.items()):
                function.ret[name] = renamed.get(key, key)


def in_program(program: bytes) -> bytes:
    """A lowered program with its calls become infeeds.

    Args:
      program: A serialized ``HloModuleProto``.
    """
    if TARGET.encode() not in program:
        return program
    module = private.hlo_module(program)
    most = max(each.id for body in module.computations for each in body.instructions)
    for body in module.computations:
        # From 2.20 on the identity of an instruction has that of its computation in its upper half.
        last = max(each.id for each in body.instructions) if most >> 32 else most
        ordered: list[Any] = []
        for instruction in body.instructions:
            if instruction.opcode == "custom-call" and instruction.custom_call_target == TARGET:
                ordered += _infeed(instruction, last)
                last += 2
            ordered.append(instruction)
        most = max(most, last)
        copies = [type(each).FromString(each.SerializeToString()) for each in ordered]
        del body.instructions[:]
        body.instructions.extend(copies)
    return bytes(module.SerializeToString())


_TUPLE, _TOKEN = 13, 17  # xla.PrimitiveType


def _infeed(call: Any, last: int) -> list[Any]:
    """What brings the value of a call, which becomes a part of it."""
    token, infeed = type(call)(), type(call)()
    token.opcode, token.id, token.name = "after-all", last + 1, call.name + ".token"
    token.shape.element_type = _TOKEN
    infeed.opcode, infeed.id, infeed.name = "infeed", last + 2, call.name + ".infeed"
    infeed.shape.element_type = _TUPLE
    infeed.shape.tuple_shapes.add().CopyFrom(call.shape)
    infeed.shape.tuple_shapes.add().CopyFrom(token.shape)
    infeed.operand_ids.append(token.id)
    for field in (
        "custom_call_target",
        "backend_config",
        "custom_call_api_version",
        "feature_group_count",
        "batch_group_count",
        "precision_config",
    ):
        call.ClearField(field)
    call.opcode, call.tuple_index = "get-tuple-element", 0
    del call.operand_ids[:]
    call.operand_ids.append(infeed.id)
    return [token, infeed]
