"""Sums over the cores, between TensorFlow's graph and XLA's program.

TensorFlow's lowering for a CPU has the sum (``XlaAllReduce``) since 2.16 only, and takes up to 40 ms each,
because it starts MLIR for it. So a sum goes through the lowering as a call of a function that nobody has
(``XlaCustomCall``, lowered directly), and becomes XLA's all-reduce in the finished program.
"""

from __future__ import annotations

import json
from typing import Any, Sequence

from tpucompat.base.late import late
from tpucompat.engines import graphdef
from tpucompat.tf import private

tf = late("tensorflow")

#: What the call is for, until it is a sum.
TARGET = "tpucompat_sum_of_cores"


def to_call(node: Any, shape: Any, groups: Sequence[Sequence[int]]) -> None:
    """Makes a ``CrossReplicaSum`` a call.

    Args:
      node: The ``NodeDef``.
      shape: What it sums, a ``tf.TensorShape`` that is known.
      groups: The cores that sum together.
    """
    kind = node.attr["T"].type
    node.op = "XlaCustomCall"
    node.attr.clear()
    node.attr["T"].list.type.append(kind)
    node.attr["dtype"].type = kind
    node.attr["shape"].shape.CopyFrom(shape.as_proto())
    graphdef.set_inputs(node, [node.input[0], *(key for key in node.input if key[:1] == "^")])
    node.attr["target_name"].s = TARGET.encode()
    node.attr["backend_config"].s = json.dumps([list(group) for group in groups]).encode()


def over_cores(value: Any, replicas: int) -> Any:
    """The sum of a tensor over all cores, for what is to be lowered."""
    kind = value.dtype
    # As the TPU's own sum: floats and 32-bit integers.
    taken = kind if kind.is_floating or kind in (tf.int32, tf.uint32) else tf.int32
    value, groups = tf.cast(value, taken), [list(range(replicas))]
    if value.shape.is_fully_defined():
        total = private.custom_call(value, TARGET, json.dumps(groups))
    else:
        total = private.all_reduce(value, groups)
    return tf.cast(total, kind)


def is_call(node: Any) -> bool:
    """Whether a node of a graph is such a call."""
    return bool(node.op == "XlaCustomCall" and node.attr["target_name"].s == TARGET.encode())


def is_sum(node: Any) -> bool:
    """Whether a node of a graph is a sum over cores, in any form."""
    return node.op in ("XlaAllReduce", "CrossReplicaSum") or is_call(node)


def in_program(program: bytes) -> bytes:
    """A lowered program with its calls become sums.

    Args:
      program: A serialized ``HloModuleProto``.
    """
    if TARGET.encode() not in program:
        return program
    module = private.hlo_module(program)
    made: dict[int, int] = {}  # type of what is summed -> the computation that adds two of it
    for computation in list(module.computations):
        for instruction in computation.instructions:
            if instruction.opcode == "custom-call" and instruction.custom_call_target == TARGET:
                kind = instruction.shape.element_type
                if kind not in made:
                    made[kind] = _adding(module, kind)
                _become_sum(instruction, made[kind])
    return bytes(module.SerializeToString())


def _become_sum(instruction: Any, adding: int) -> None:
    groups = json.loads(instruction.backend_config)
    for field in (
        "custom_call_target",
        "backend_config",
        "custom_call_api_version",
        "feature_group_count",
        "batch_group_count",
        "precision_config",
    ):
        instruction.ClearField(field)
    instruction.opcode = "all-reduce"
    instruction.called_computation_ids.append(adding)
    for group in groups:
        instruction.replica_groups.add().replica_ids.extend(group)


def _adding(module: Any, kind: int) -> int:
    """Puts a computation that adds two numbers before all others; its identity."""
    identity = 1 + int(max(computation.id for computation in module.computations))
    # From 2.20 on the identity of an instruction has that of its computation in its upper half.
    most = max(each.id for computation in module.computations for each in computation.instructions)
    first = (identity << 32) + 1 if most >> 32 else max(most, identity) + 1
    result = type(module.computations[0])()
    result.name, result.id, result.root_id = f"sum_of_cores.{identity}", identity, first + 2
    for number, opcode in enumerate(("parameter", "parameter", "add")):
        instruction = result.instructions.add()
        instruction.name, instruction.opcode = f"{opcode}.{identity}.{number}", opcode
        instruction.id = first + number
        instruction.shape.element_type = kind
        instruction.shape.layout.SetInParent()
        if opcode == "parameter":
            instruction.parameter_number = number
            result.program_shape.parameters.add().CopyFrom(instruction.shape)
            result.program_shape.parameter_names.append(instruction.name)
        else:
            instruction.operand_ids.extend((first, first + 1))
            result.program_shape.result.CopyFrom(instruction.shape)
    module.computations.insert(0, result)
    return identity
