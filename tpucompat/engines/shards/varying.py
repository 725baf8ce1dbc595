"""Finds out what varies between the shards."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.engines.shards.bodies import Body, data_inputs, is_control, producer
from tpucompat.engines.shards.operations import LOOPS, SUM, Library, takes_resource


class Plan(NamedTuple):
    """How a node that runs functions is written out.

    Attributes:
      mode: "once" as it stands, "joined" for all shards together, "separate" for each shard by
        itself.
      inputs: For each argument of the functions, whether it varies.
      outputs: For each output, whether it varies.
    """

    mode: str
    inputs: tuple[bool, ...]
    outputs: tuple[bool, ...]


class Analysis:
    """What varies between the shards in a body.

    Args:
      body: The nodes.
      library: The functions that they call.
      arguments: For each argument, whether it varies.
      owner: The analyses of functions, kept by what was asked.
    """

    def __init__(
        self, body: Body, library: Library, arguments: Sequence[bool], owner: Analyses
    ) -> None:
        self.body = body
        self.library = library
        self._owner = owner
        self.arguments = dict(zip(body.arguments, arguments))
        self.nodes: dict[str, bool] = {}
        self.plans: dict[str, Plan] = {}
        self._run()

    def varies(self, reference: str) -> bool:
        """Whether a value varies."""
        name = producer(reference)
        if name in self.arguments:
            return self.arguments[name]
        plan = self.plans.get(name)
        if plan is not None and not is_control(reference):
            names = self.library.output_names(self.body.nodes[name])
            return plan.outputs[self.body.output_index(reference, names)]
        return self.nodes.get(name, False)

    @property
    def returns(self) -> list[bool]:
        """For each returned value, whether it varies."""
        return [self.varies(reference) for reference in self.body.returns]

    def _run(self) -> None:
        changed = True
        while changed:
            changed = False
            for name in self.body.order():
                changed |= self._visit(self.body.nodes[name])

    def _visit(self, node: Any) -> bool:
        """Looks at a node; whether more is known to vary now."""
        if self.library.called(node):
            return self._visit_functional(node)
        varies = self._varying(node)
        changed = varies and not self.nodes.get(node.name, False)
        self.nodes[node.name] = varies
        if varies:
            changed |= self._diverge(node)
        return changed

    def _varying(self, node: Any) -> bool:
        if node.op == SUM:
            return len(self.groups(node)) > 1
        return self.library.differs(node) or any(map(self.varies, data_inputs(node)))

    def _diverge(self, node: Any) -> bool:
        """A write that varies makes its resource one that every shard has for itself."""
        changed = False
        for position, reference in enumerate(data_inputs(node)):
            if not takes_resource(node, position, self.library):
                continue
            root = self.body.root(reference)
            if self.arguments.get(root) is False and self.library.access(node, position)[1]:
                self.arguments[root] = changed = True
        return changed

    def _visit_functional(self, node: Any) -> bool:
        offset = self.library.offset(node)
        references = data_inputs(node)
        decides = any(map(self.varies, references[:offset]))
        inputs = list(map(self.varies, references[offset:]))
        called = self.library.called(node)
        before = self.plans.get(node.name)
        if before is not None:
            inputs = [a or b for a, b in zip(inputs, before.inputs)]
        while True:
            analyses = [self._owner.of(name, inputs) for name in called]
            grown = [
                any(values) for values in zip(inputs, *(one.arguments.values() for one in analyses))
            ]
            if node.op in LOOPS:
                decides = decides or analyses[0].returns[0]
                outputs = [a or b for a, b in zip(grown, analyses[1].returns)]
                grown = outputs
            else:
                outputs = [any(values) for values in zip(*(one.returns for one in analyses))]
            if grown == inputs:
                break
            inputs = grown
        if decides and any(self.library.has_sum(name) for name in called):
            self._owner.notice(node.name)
            decides = False
        if decides:
            plan = Plan("separate", (True,) * len(inputs), (True,) * len(outputs))
        elif not any(inputs) and not any(outputs) and not any(map(self.library.is_special, called)):
            plan = Plan("once", tuple(inputs), tuple(outputs))
        else:
            plan = Plan("joined", tuple(inputs), tuple(outputs))
        self.plans[node.name] = plan
        self.nodes[node.name] = plan.mode == "separate"
        changed = before is None or plan != before
        for reference, varies in zip(references[offset:], inputs):
            root = self.body.root(reference)
            if (varies or decides) and self.arguments.get(root) is False:
                position = references.index(reference)
                if self.library.access(node, position)[1]:
                    self.arguments[root] = changed = True
        return changed

    def groups(self, node: Any) -> list[list[int]]:
        """The groups of shards of a sum; an empty list stands for all shards."""
        return constant_rows(self.body, node.input[1])


class Analyses:
    """The analyses of functions."""

    def __init__(self, library: Library, notice: Callable[[str], None]) -> None:
        self._library = library
        self._known: dict[tuple[str, tuple[bool, ...]], Analysis] = {}
        self.notice = notice

    def of(self, function: str, arguments: Sequence[bool]) -> Analysis:
        """The analysis of a function whose arguments vary as said."""
        key = (function, tuple(arguments))
        if key not in self._known:
            body = self._library.body(function)
            self._known[key] = Analysis(body, self._library, arguments, self)
        return self._known[key]


def constant_rows(body: Body, reference: str) -> list[list[int]]:
    """The rows of an integer matrix that is a constant; none where its value is not in the
    graph."""
    node = body.nodes.get(producer(reference))
    while node is not None and node.op == "Identity":
        node = body.nodes.get(producer(node.input[0]))
    if node is None or node.op != "Const":
        return []
    return [list(map(int, row)) for row in tf.make_ndarray(node.attr["value"].tensor)]
