"""Stages as functions, which the replicas share instead of importing the same nodes each for itself.

Importing a stage for eight replicas makes eight times its nodes: in Python, and for everything that
TensorFlow does with a graph before it runs. Here the nodes become the body of a function, which stands
in the library once, and every replica imports one node that calls it.

A call hands out all its values at its end, and what lives as long as a run lives as long as the call.
So a stage stays as it is where a value comes or goes that some runs do not have (a TF 1 conditional that
reaches over a meeting), or a resource that the computation makes (the TensorArray of a loop).
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, NamedTuple

from tpucompat import private
from tpucompat.engines import graphdef, trace
from tpucompat.engines.graphdef import tensor_name

#: A stage with fewer nodes is imported as fast as a call of it.
_FEWEST_NODES = 32
#: Grappler works on a function once for every replica that calls it. In a larger computation that takes
#: many times as long as it saves in the steps of a run on emulated cores (5 to 10 percent of a step).
_MOST_OPTIMIZED_NODES = 3000

_RESOURCE = 20  # DT_RESOURCE


class Shared(NamedTuple):
    """A computation with calls in the place of its larger stages.

    Attributes:
      cut: The computation.
      config: The ``ConfigProto`` that a function which replays it is to be called with; None for the
        usual one.
    """

    cut: trace.Cut
    config: Any


def shared(cut: trace.Cut, inputs: Mapping[str, int]) -> Shared:
    """Puts calls in the place of the larger stages; in eager mode.

    Args:
      cut: The computation.
      inputs: The type (``DataType``) of each tensor that the host provides, by the name that the
        nodes know it by.

    Returns:
      A computation that gives the same.
    """
    size = sum(len(stage.graph_def.node) for stage in cut.stages)
    config = private.call_config(optimized=size <= _MOST_OPTIMIZED_NODES)
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
    stages = []
    imported = 0
    for stage in cut.stages:
        crossing = {*stage.needs, *stage.gives} - cut.variables.keys()
        made = {key for key in crossing if types.get(key) == _RESOURCE}
        if len(stage.graph_def.node) < _FEWEST_NODES:
            stages.append(stage)
        elif stage.conditional or made:
            stages.append(stage)
            imported += 1
        else:
            function = library.function.add()
            stages.append(_called(stage, types, outputs, function, config))
    seeded = graphdef.seeded_functions(library)
    whole = cut._replace(stages=tuple(stages), library=library, seeded=seeded)
    # What is left around the calls, Grappler cannot make better.
    return Shared(whole, None if imported else private.call_config(optimized=False))


def _called(
    stage: trace.Stage, types: Mapping[str, int], outputs: _Outputs, function: Any, config: Any
) -> trace.Stage:
    """The stage as one node.

    Args:
      stage: The stage.
      types: Tensor -> its type.
      outputs: What the nodes give.
      function: An empty FunctionDef, which becomes the stage's.
      config: The ``ConfigProto`` that it is called with.
    """
    name = f"stage_{graphdef.fresh_number()}"
    taken = [key for key in stage.needs if not key.startswith("^")]
    waits = [key for key in stage.needs if key.startswith("^")]
    given = [key for key in stage.gives if not key.startswith("^")]

    signature = function.signature
    signature.name, signature.is_stateful = name, True
    # Inlined, the replicas' copies would be one large graph again.
    function.attr["_noinline"].b = True
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
    for index, key in enumerate(set(stage.gives) - set(given)):
        signature.control_output.append(f"effect_{index}")
        function.control_ret[f"effect_{index}"] = key[1:]

    graph_def = type(stage.graph_def)(versions=stage.graph_def.versions)
    call = graph_def.node.add(name=name, op="StatefulPartitionedCall")
    call.input.extend([*taken, *waits])
    call.attr["f"].func.name = name
    call.attr["config_proto"].s = config.SerializeToString()
    for attr, keys in (("Tin", taken), ("Tout", given)):
        call.attr[attr].list.SetInParent()
        call.attr[attr].list.type.extend(types[key] for key in keys)
    elements = dict.fromkeys(stage.gives, name)
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
