"""Stages as functions, which the replicas share instead of importing the same nodes each for itself.

Importing a stage for eight replicas makes eight times its nodes in Python. Here the nodes become the
body of a function, which stands in the library once, and every replica imports one node that calls it.
TensorFlow writes the bodies out when it makes the graph ready to run, so that errors, loops and
resources are as they were.

What waits for a call waits for the whole body. So a stage is unchanged where a value comes or goes
that some runs do not have: where a TF 1 conditional reaches over a meeting.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from tpucompat.engines import graphdef, trace
from tpucompat.engines.graphdef import tensor_name
from tpucompat.tf import private

#: A stage with fewer nodes is imported as fast as a call of it.
_FEWEST_NODES = 32

_BOOL = 10  # of DataType


def shared(cut: trace.Cut, inputs: Mapping[str, int]) -> trace.Cut:
    """The computation with calls in the place of its larger stages.

    Args:
      cut: The computation.
      inputs: The type (``DataType``) of each tensor that the host provides, by the name that the
        nodes know it by.

    Returns:
      A computation that gives the same.
    """
    library = type(cut.library)()
    library.CopyFrom(cut.library)
    outputs = _Outputs(library)
    types = dict(inputs)
    for stage in cut.stages:
        types.update((one.node + ":0", types[one.source]) for one in stage.meetings)
        for node in stage.graph_def.node:
            types.update(
                (f"{node.name}:{index}", kind) for index, kind in enumerate(outputs.types(node))
            )
    stages = [
        stage
        if stage.conditional or len(stage.graph_def.node) < _FEWEST_NODES
        else _called(stage, types, outputs, library.function.add())
        for stage in cut.stages
    ]
    return cut._replace(
        stages=tuple(stages), library=library, seeded=graphdef.seeded_functions(library)
    )


def _called(
    stage: trace.Stage, types: Mapping[str, int], outputs: _Outputs, function: Any
) -> trace.Stage:
    """The stage as one node.

    Args:
      stage: The stage.
      types: Tensor -> its type.
      outputs: What the nodes give.
      function: An empty FunctionDef, which becomes the stage's.
    """
    name = f"stage_{graphdef.fresh_number()}"
    taken = [key for key in stage.needs if not key.startswith("^")]
    waits = [key for key in stage.needs if key.startswith("^")]
    given = [key for key in stage.gives if not key.startswith("^")]

    signature = function.signature
    signature.name, signature.is_stateful = name, True
    inside = {}
    for index, key in enumerate(taken):
        inside[key] = signature.input_arg.add(name=f"argument_{index}", type=types[key]).name
    for node in stage.graph_def.node:
        inside.update(outputs.references(node))
    for node in stage.graph_def.node:
        copy = function.node_def.add()
        copy.CopyFrom(node)
        keys = [tensor_name(key) for key in node.input if key not in waits]
        graphdef.set_inputs(copy, [inside.get(key, key) for key in keys])
    for index, key in enumerate(given):
        output = signature.output_arg.add(name=f"result_{index}", type=types[key])
        function.ret[output.name] = inside[key]
    # What waits for a call waits, once its body is written out, for its values in Grappler and for
    # its control outputs elsewhere (``OutputControlSource`` in ``inline_function_utils.h``).
    effects = [key for key in stage.gives if key.startswith("^")]
    token = function.node_def.add(name="all_effects", op="Const", input=effects)
    token.attr["dtype"].type = _BOOL
    token.attr["value"].tensor.dtype = _BOOL
    token.attr["value"].tensor.tensor_shape.SetInParent()
    token.attr["value"].tensor.bool_val.append(True)
    function.ret[signature.output_arg.add(name="done", type=_BOOL).name] = "all_effects:output:0"
    for index, key in enumerate(effects):
        signature.control_output.append(f"effect_{index}")
        function.control_ret[f"effect_{index}"] = key[1:]

    graph_def = type(stage.graph_def)(versions=stage.graph_def.versions)
    call = graph_def.node.add(name=name, op="StatefulPartitionedCall")
    call.input.extend([*taken, *waits])
    call.attr["f"].func.name = name
    call.attr["Tin"].list.type.extend(types[key] for key in taken)
    call.attr["Tin"].list.SetInParent()
    call.attr["Tout"].list.type.extend([*(types[key] for key in given), _BOOL])
    elements = dict.fromkeys(effects, f"{name}:{len(given)}")
    elements.update((key, f"{name}:{index}") for index, key in enumerate(given))
    return stage._replace(graph_def=graph_def, elements=elements)


class _Outputs:
    """What nodes give, by the definitions of their operations.

    Args:
      library: The functions that nodes may call by the function's name.
    """

    def __init__(self, library: Any) -> None:
        self._functions = {
            function.signature.name: function.signature for function in library.function
        }

    def types(self, node: Any) -> list[int]:
        """The type of each output."""
        return [kind for _, kinds in self._arguments(node) for kind in kinds]

    def references(self, node: Any) -> Iterator[tuple[str, str]]:
        """For each output its name in a graph and in a function."""
        number = 0
        for name, kinds in self._arguments(node):
            for index in range(len(kinds)):
                yield f"{node.name}:{number}", f"{node.name}:{name}:{index}"
                number += 1

    def _arguments(self, node: Any) -> Iterator[tuple[str, list[int]]]:
        definition = self._functions.get(node.op) or private.op_def(node.op)
        for one in definition.output_arg:
            if one.type_list_attr:
                yield one.name, list(node.attr[one.type_list_attr].list.type)
            else:
                count = node.attr[one.number_attr].i if one.number_attr else 1
                yield one.name, [one.type or node.attr[one.type_attr].type] * count
