"""Writes nodes and functions out for several shards."""

from __future__ import annotations

import functools
from typing import Any, Callable, Sequence

from tpucompat.engines.graphdef import fresh_number, set_node_apart
from tpucompat.engines.shards import lowering
from tpucompat.engines.shards.bodies import Body, data_inputs, is_control, producer, suffix
from tpucompat.engines.shards.operations import (
    DEQUEUES,
    EXCHANGES,
    FEEDS,
    FUNCTIONAL,
    LOOPS,
    SUM,
    Library,
)
from tpucompat.engines.shards.varying import Analyses, Analysis, Plan

# Attributes that place a node or serve TensorFlow's own bookkeeping about the graph it came from.
_DROPPED_ATTRS = (
    "_class",
    "_num_original_outputs",
    "_read_only_resource_inputs",
    "_tpu_replicate",
    "_XlaMustCompile",
    "_xla_outside_compilation",
)


class Writer:
    """Writes a body out for some of the shards.

    Args:
      body: The nodes.
      analysis: What varies in it.
      shards: The numbers of the shards.
      context: What all writers share.
      arguments: Argument -> its reference for each shard.
    """

    def __init__(
        self,
        body: Body,
        analysis: Analysis,
        shards: Sequence[int],
        context: Context,
        arguments: dict[str, list[str]],
    ) -> None:
        self.body = body
        self.analysis = analysis
        self.shards = list(shards)
        self.context = context
        self.library = context.library
        self.arguments = arguments
        self.names: dict[str, list[str]] = {}
        self.outputs: dict[tuple[str, int], list[str]] = {}
        self.nodes: list[Any] = []

    def write(self) -> None:
        """Writes the nodes into :attr:`nodes`."""
        for node in self.body.nodes.values():
            self._name(node)
        for node in self.body.nodes.values():
            self._emit(node)

    def references(self, reference: str) -> list[str]:
        """The value's reference in each of the shards."""
        name = producer(reference)
        if name in self.arguments:
            return self.arguments[name]
        node = self.body.nodes[name]
        key = (name, self.body.output_index(reference, self.library.output_names(node)))
        if key in self.outputs:
            return self.outputs[key]
        return [one + suffix(reference) for one in self.names[name]]

    def instances(self, name: str) -> list[str]:
        """The nodes that a traced node became, each once."""
        return list(dict.fromkeys(self.names.get(name, [])))

    # Names, before anything is written: a loop's body may refer back.

    def _name(self, node: Any) -> None:
        name = node.name
        plan = self.analysis.plans.get(name)
        count = len(self.shards)
        own = [f"shard_{shard}/{name}" for shard in self.shards]
        if plan is not None and plan.mode == "joined":
            self.names[name] = [name] * count
            self._name_outputs(node, plan.outputs)
        elif node.op == SUM:
            self._name_sum(node)
        elif self.analysis.nodes[name]:
            self.names[name] = own
            if node.op in DEQUEUES:
                size = len(node.attr["dtypes"].list.type) or 1
                for index in range(size):
                    self.outputs[name, index] = [
                        self.body.output(one, "components", index) for one in own
                    ]
            elif node.op in EXCHANGES:
                self.outputs[name, 0] = [self.body.output(one, "output", 0) for one in own]
        else:
            self.names[name] = [name] * count

    def _name_outputs(self, node: Any, varying: Sequence[bool]) -> None:
        """The outputs of a node that runs functions: varying ones stand once for each shard."""
        count = len(self.shards)
        names = self.library.output_names(node)
        labels = joined_names(names, varying, self.shards)
        at = 0
        for index, varies in enumerate(varying):
            places = range(at, at + (count if varies else 1))
            if names and self.body.is_function:
                own = [self.body.output(node.name, labels[place], 0) for place in places]
            else:
                own = [self.body.output(node.name, "output", place) for place in places]
            self.outputs[node.name, index] = own if varies else own * count
            at = places.stop

    def _name_sum(self, node: Any) -> None:
        groups = self._groups(node)
        group_of = {shard: index for index, group in enumerate(groups) for shard in group}
        own = [
            node.name if len(groups) == 1 else f"{node.name}/group_{group_of[shard]}"
            for shard in self.shards
        ]
        self.names[node.name] = own
        self.outputs[node.name, 0] = [self.body.output(one, "sum", 0) for one in own]

    def _groups(self, node: Any) -> list[list[int]]:
        """The groups of a sum, each with those of its shards that are written here."""
        groups = [
            [shard for shard in group if shard in self.shards]
            for group in self.analysis.groups(node)
        ]
        named = {shard for group in groups for shard in group}
        rest = [shard for shard in self.shards if shard not in named]
        return [group for group in groups if group] + ([rest] if rest else [])

    # Nodes

    def _emit(self, node: Any) -> None:
        plan = self.analysis.plans.get(node.name)
        if node.op == SUM:
            self._emit_sums(node)
        elif plan is not None and plan.mode == "joined":
            self._emit_joined(node, plan)
        elif plan is not None and plan.mode == "separate":
            self._emit_separate(node)
        elif not self.analysis.nodes[node.name]:
            copy = self._copy(node, node.name)
            copy.input.extend(self.references(r)[0] for r in data_inputs(node))
            self.control(copy, node, None)
        elif node.op in FEEDS:
            lowering.feed(self, node)
        elif node.op == "AllToAll":
            lowering.all_to_all(self, node)
        elif node.op == "CollectivePermute":
            lowering.permute(self, node)
        else:
            self._emit_each(node)

    def _emit_each(self, node: Any) -> None:
        """A node that every shard has for itself."""
        for k, shard in enumerate(self.shards):
            copy = self._copy(node, self.names[node.name][k])
            copy.input.extend(self.references(r)[k] for r in data_inputs(node))
            self.control(copy, node, k)
            set_node_apart(copy, shard)

    def _emit_separate(self, node: Any) -> None:
        for k, shard in enumerate(self.shards):
            copy = self._copy(node, self.names[node.name][k])
            copy.input.extend(self.references(r)[k] for r in data_inputs(node))
            self.control(copy, node, k)
            self._replace_functions(copy, functools.partial(self.context.specialised, shard))

    def _emit_joined(self, node: Any, plan: Plan) -> None:
        copy = self._copy(node, node.name)
        references = data_inputs(node)
        offset = self.library.offset(node)
        copy.input.extend(self.references(r)[0] for r in references[:offset])
        for reference, varies in zip(references[offset:], plan.inputs):
            own = self.references(reference)
            copy.input.extend(own if varies else own[:1])
        self.control(copy, node, None)
        loop = node.op in LOOPS
        cond = node.attr["cond"].func.name if loop else ""
        self._replace_functions(
            copy,
            lambda name: self.context.written(
                name, plan.inputs, (False,) if name == cond else plan.outputs, tuple(self.shards)
            ),
        )
        count = len(self.shards)
        in_types, out_types = ("T", "T") if loop else ("Tin", "Tout")
        if in_types in copy.attr:
            repeat(copy.attr[in_types].list.type, plan.inputs, count)
        if not loop and out_types in copy.attr:
            repeat(copy.attr[out_types].list.type, plan.outputs, count)
        if "output_shapes" in copy.attr and copy.attr["output_shapes"].list.shape:
            repeat(copy.attr["output_shapes"].list.shape, plan.outputs, count)
        copy.attr.pop("_output_shapes", None)

    def _replace_functions(self, node: Any, new: Callable[[str], str]) -> None:
        if node.op in self.library.functions:
            node.op = new(node.op)
            return
        for attr in FUNCTIONAL[node.op][1]:
            value = node.attr[attr]
            for func in value.list.func or [value.func]:
                if func.name in self.library.functions:
                    func.name = new(func.name)

    def _emit_sums(self, node: Any) -> None:
        values = dict(zip(self.shards, self.references(node.input[0])))
        names = dict(zip(self.shards, self.names[node.name]))
        for group in self._groups(node):
            copy = self.new(names[group[0]], "AddN", node)
            copy.attr["N"].i = len(group)
            copy.attr["T"].CopyFrom(node.attr["T"])
            copy.input.extend(values[shard] for shard in group)
            self.control(copy, node, None)

    def _copy(self, node: Any, name: str) -> Any:
        copy = self.context.node_type()
        copy.CopyFrom(node)
        copy.name = name
        del copy.input[:]
        clean(copy)
        self.nodes.append(copy)
        return copy

    def new(self, name: str, op: str, like: Any = None) -> Any:
        """Adds a node, on the device of another one."""
        node = self.context.node_type()
        node.name = name
        node.op = op
        if like is not None:
            node.device = like.device
            clean(node)
        self.nodes.append(node)
        return node

    def control(self, copy: Any, node: Any, k: int | None) -> None:
        """Gives a written node the traced one's control inputs; None stands for all shards."""
        found = []
        for reference in node.input:
            if not is_control(reference):
                continue
            name = producer(reference)
            if k is None:
                found.extend(self.instances(name))
            elif name in self.names:
                found.append(self.names[name][k])
        copy.input.extend("^" + name for name in dict.fromkeys(found))


class Context:
    """What the writers of a graph and of its functions share."""

    def __init__(
        self,
        library: Library,
        analyses: Analyses,
        node_type: Callable[[], Any],
        core_of: Callable[[int], int],
    ) -> None:
        self.library = library
        self.analyses = analyses
        self.node_type = node_type
        self.core_of = core_of
        self.functions: dict[str, Any] = {}
        self._written: dict[Any, str] = {}

    def specialised(self, shard: int, name: str) -> str:
        """The function as one shard runs it."""
        if not self.library.is_special(name):
            return name
        signature = self.library.functions[name].signature
        return self.written(
            name, (True,) * len(signature.input_arg), (True,) * len(signature.output_arg), (shard,)
        )

    def written(
        self, name: str, inputs: Sequence[bool], outputs: Sequence[bool], shards: tuple[int, ...]
    ) -> str:
        """A function for several shards.

        Args:
          name: The traced function.
          inputs: For each argument, whether there is one for each shard.
          outputs: For each returned value, whether one for each shard is returned.
          shards: The shards.

        Returns:
          The name of the new function.
        """
        key = (name, tuple(inputs), tuple(outputs), shards)
        if key not in self._written:
            # The name comes first: a function may call itself.
            self._written[key] = f"{name}_for_{len(shards)}_shards_{fresh_number()}"
            self.functions[self._written[key]] = self._write(self._written[key], *key)
        return self._written[key]

    def _write(
        self,
        new_name: str,
        name: str,
        inputs: Sequence[bool],
        outputs: Sequence[bool],
        shards: tuple[int, ...],
    ) -> Any:
        old = self.library.functions[name]
        body = self.library.body(name)
        count = len(shards)
        new = type(old)()
        new.signature.CopyFrom(old.signature)
        new.signature.name = new_name
        del new.signature.input_arg[:]
        del new.signature.output_arg[:]
        arguments: dict[str, list[str]] = {}
        for index, (argument, varies) in enumerate(zip(old.signature.input_arg, inputs)):
            own = joined_names([argument.name], [varies], shards)
            arguments[argument.name] = own if varies else own * count
            for one in own:
                position = len(new.signature.input_arg)
                copy = new.signature.input_arg.add()
                copy.CopyFrom(argument)
                copy.name = one
                if hasattr(old, "arg_attr") and index in old.arg_attr:
                    new.arg_attr[position].CopyFrom(old.arg_attr[index])
        analysis = self.analyses.of(name, inputs)
        writer = Writer(body, analysis, shards, self, arguments)
        writer.write()
        new.node_def.extend(writer.nodes)
        for output, reference, varies in zip(old.signature.output_arg, body.returns, outputs):
            own = writer.references(reference)
            for k, one in enumerate(joined_names([output.name], [varies], shards)):
                copy = new.signature.output_arg.add()
                copy.CopyFrom(output)
                copy.name = one
                new.ret[one] = own[k]
        del new.signature.control_output[:]
        for label, node in getattr(old, "control_ret", {}).items():
            for k, one in enumerate(writer.instances(node)):
                new.control_ret[f"{label}_{k}"] = one
                new.signature.control_output.append(f"{label}_{k}")
        for attr, value in old.attr.items():
            if attr != "_input_shapes":
                new.attr[attr].CopyFrom(value)
        return new


def clean(node: Any) -> None:
    """Frees a node from the TPU that it was placed on."""
    if "TPU" in node.device:
        node.device = ""
    for attr in _DROPPED_ATTRS:
        node.attr.pop(attr, None)


def repeat(field: Any, varying: Sequence[bool], count: int) -> None:
    """Repeats the entries of a list attribute that belong to varying values."""
    entries = list(field)
    copies = [type(e)() if hasattr(e, "CopyFrom") else e for e in entries]
    for copy, entry in zip(copies, entries):
        if hasattr(entry, "CopyFrom"):
            copy.CopyFrom(entry)
    del field[:]
    for entry, varies in zip(copies, varying):
        field.extend([entry] * (count if varies else 1))


def joined_names(names: Sequence[str], varying: Sequence[bool], shards: Sequence[int]) -> list[str]:
    """Names of arguments, where varying ones stand once for each shard."""
    result = []
    for name, varies in zip(names, varying):
        result.extend([f"{name}_shard_{shard}" for shard in shards] if varies else [name])
    return result
