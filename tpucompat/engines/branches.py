"""TF 1 conditionals in loops, and their gradients, in a form that XLA can compile.

TensorFlow makes functions of conditionals before XLA sees them, and drops what a branch does for no Merge
(``functionalize_cond.cc``). The gradient of a loop keeps on stacks what it needs of a branch, if it runs;
the next turn waits for that. So the loop itself would be dropped ("Missing '_Retval' node"). Here every turn
puts something on every stack and takes it off: a branch that did not run is represented by zeros.
"""

from __future__ import annotations

from typing import Any, Tuple

from tpucompat.base import errors
from tpucompat.engines import flow, graphdef
from tpucompat.engines.graphdef import control_inputs, data_inputs, node_name, set_inputs

#: The branches that a value is in: (predicate, number of the branch), outermost first.
Branches = Tuple[Tuple[str, int], ...]

_SWITCHES = ("Switch", "RefSwitch")
_MERGES = ("Merge", "RefMerge")


def even_out(nodes: dict[str, Any]) -> None:
    """Lets stacks be filled and emptied in every turn of their loop, whatever branches run.

    Args:
      nodes: Name -> NodeDef; they are changed.

    Raises:
      errors.UnsupportedGraphError: If a loop with a gradient is in a branch (TPU395).
    """
    if not any(node.op in _SWITCHES for node in nodes.values()):
        return
    graph = _Graph(nodes)
    graph.complete_loops()
    for name in [name for name, node in nodes.items() if node.op in _MERGES]:
        graph.complete(nodes[name])
    for name in [name for name, node in nodes.items() if node.op == "StackPushV2"]:
        graph.push_always(nodes[name])
    for name in [name for name, node in nodes.items() if node.op == "StackPopV2"]:
        graph.pop_always(nodes[name])
    for name in [name for name, node in nodes.items() if node.op == "ControlTrigger"]:
        graph.wait_for_loop(nodes[name])


class _Graph:
    """Nodes, and the branches that they are in."""

    def __init__(self, nodes: dict[str, Any]) -> None:
        self._nodes = nodes
        self._branches: dict[str, Branches] = {}
        for name in flow.in_order(nodes):
            self._branches[name] = self._found(nodes[name])

    def of(self, key: str) -> Branches:
        """The branches that a tensor or a control input is in."""
        name = node_name(key)
        found = self._branches.get(name, ())
        if key.startswith("^") or not self._decides(name):
            return found
        branch = (self._predicate(name), int(key.split(":")[1]))
        return found if branch in found else (*found, branch)

    def _decides(self, name: str) -> bool:
        """Whether a node is the switch of a conditional, and not of a loop."""
        node = self._nodes.get(name)
        if node is None or node.op not in _SWITCHES:
            return False
        source = self._nodes.get(node_name(self._predicate(name)))
        return source is None or source.op != "LoopCond"

    def _predicate(self, switch: str, local: bool = False) -> str:
        """What a switch asks; ``local``: as it is called in the loop that the switch is in."""
        key = data_inputs(self._nodes[switch])[1]
        passed = ("Identity",) if local else ("Identity", "Enter")
        while node_name(key) in self._nodes and self._nodes[node_name(key)].op in passed:
            key = data_inputs(self._nodes[node_name(key)])[0]
        return key

    def _found(self, node: Any) -> Branches:
        if node.op == "ControlTrigger":  # runs in any case
            return ()
        given = [self.of(key) for key in (*data_inputs(node), *control_inputs(node))]
        if node.op in _MERGES:
            begins = [
                self.of(key)
                for key in data_inputs(node)
                if "NextIteration" not in self._nodes[node_name(key)].op
            ]
            return tuple(one for one in begins[0] if all(one in other for other in begins))
        given.sort(key=len, reverse=True)
        return tuple(dict.fromkeys(one for branches in given for one in branches))

    def _add(self, name: str, op: str, inputs: list[str], like: Any = None, dtype: int = 0) -> Any:
        """Adds a node, whose branches follow from its inputs."""
        while name in self._nodes:
            name += "_"
        node = type(next(iter(self._nodes.values())))(name=name, op=op)
        if like is not None:
            node.CopyFrom(like)
            node.name = name
        else:
            node.attr["T"].type = dtype
        set_inputs(node, inputs)
        if op == "Merge":
            node.attr["N"].i = len(inputs)
        self._nodes[name] = node
        self._branches[name] = self._found(node)
        return node

    def complete_loops(self) -> None:
        """Gives every value of a loop a switch, where the loop's condition alone asks for it."""
        switched: dict[str, str] = {}  # a merge -> whether its loop goes on
        for node in self._nodes.values():
            if node.op in _SWITCHES:
                data, predicate = data_inputs(node)
                switched[node_name(data)] = predicate
        goes_on = {self._frame(name): key for name, key in switched.items() if self._frame(name)}
        for name in [name for name in self._nodes if name not in switched]:
            if self._frame(name) in goes_on:
                predicate = goes_on[self._frame(name)]
                merge = self._nodes[name]
                dtype = merge.attr["T"].type
                self._add(f"{name}/on", "Switch", [name + ":0", predicate], dtype=dtype)
                passed = self._add(f"{name}/passed", "Identity", [f"{name}/on:1"], dtype=dtype)
                following = self._nodes[node_name(data_inputs(merge)[1])]
                set_inputs(following, [*following.input, "^" + passed.name])

    def _frame(self, name: str) -> bytes:
        """The frame whose value a merge is; empty if it is not a loop's."""
        node = self._nodes.get(name)
        if node is None or node.op not in _MERGES:
            return b""
        start = self._nodes[node_name(data_inputs(node)[0])]
        return start.attr["frame_name"].s if start.op in ("Enter", "RefEnter") else b""

    def complete(self, merge: Any) -> None:
        """Gives a merge two inputs of which one is there, where one of them always was.

        The gradient of ``tf.gather`` in a branch merges the shape of a variable, a constant.
        """
        keys = data_inputs(merge)
        if len(keys) != 2 or any("NextIteration" in self._nodes[node_name(k)].op for k in keys):
            return
        for index, key in enumerate(keys):
            other = self.of(keys[1 - index])
            own = self.of(key)
            more = [branch for branch in other if branch not in own]
            if len(more) == 1 and not any(p == more[0][0] for p, _ in own):
                predicate, branch = more[0]
                made = self._add(
                    f"{merge.name}/given", "Switch", [key, predicate], dtype=merge.attr["T"].type
                )
                keys[index] = f"{made.name}:{1 - branch}"
                set_inputs(merge, [*keys, *control_inputs(merge)])
                self._branches[merge.name] = self._found(merge)

    def _around(self, node: Any) -> tuple[str, Branches]:
        """The handle of a stack before the branches of its loop in which it is used, and those branches."""
        start = handle = data_inputs(node)[0]
        waits = control_inputs(node)
        while self._decides(node_name(handle)):
            switch = self._nodes[node_name(handle)]
            handle = data_inputs(switch)[0]
            waits += control_inputs(switch)
        # It waits for the counter of its loop, which may be in branches as a whole.
        outside = {one for key in (handle, *waits) for one in self.of(key)}
        return handle, tuple(one for one in self.of(start) if one not in outside)

    def push_always(self, push: Any) -> None:
        """Puts zeros on a stack if the branch whose value is put there did not run."""
        value = data_inputs(push)[1]
        handle, branches = self._around(push)
        dtype = push.attr["T"].type
        for predicate, branch in reversed(branches):
            node = self._nodes[node_name(value)]
            if node.op in _SWITCHES and self._predicate(node.name) == predicate:
                value = data_inputs(node)[0]
                continue
            like = self._outside(value, (predicate, branch), push.name)
            zeros = self._add(f"{push.name}/zeros", "ZerosLike", [like], dtype=dtype)
            other = self._add(
                f"{push.name}/other", "Switch", [zeros.name + ":0", predicate], dtype=dtype
            )
            both = [f"{other.name}:{1 - branch}", value]
            value = (
                self._add(
                    f"{push.name}/either", "Merge", both if branch else both[::-1], dtype=dtype
                ).name
                + ":0"
            )
        if branches:
            self._always(push, [handle, value], branches)
        if self.of(push.name):
            raise _refusal(push)

    def pop_always(self, pop: Any) -> None:
        """Takes from a stack in every turn; the branch alone gets what was there."""
        handle, branches = self._around(pop)
        if not branches:
            return
        dtype = pop.attr["elem_type"].type
        taken = self._add(f"{pop.name}/taken", pop.op, list(pop.input), like=pop)
        self._always(taken, [handle], branches)
        # The turn that it belongs to has begun when it is known which branch runs.
        set_inputs(taken, [*taken.input, "^" + node_name(branches[0][0])])
        value = taken.name + ":0"
        for predicate, branch in branches:
            switch = self._add(f"{pop.name}/given", "Switch", [value, predicate], dtype=dtype)
            value = f"{switch.name}:{branch}"
        pop.attr["T"].type = dtype
        graphdef.become_identity(pop, dtype)
        set_inputs(pop, [value])
        for node in self._nodes.values():
            if node.op == "ControlTrigger" and "^" + pop.name in node.input:
                kept = [key for key in node.input if key != "^" + pop.name]
                set_inputs(node, [*kept, "^" + taken.name])

    def wait_for_loop(self, trigger: Any) -> None:
        """Lets the next turn wait for what this one does in any case."""
        given = [self.of(key) for key in trigger.input]
        fewest = min(given, key=len, default=())
        set_inputs(
            trigger, [key for key, own in zip(trigger.input, given) if len(own) <= len(fewest)]
        )

    def _always(self, node: Any, inputs: list[str], branches: Branches) -> None:
        """Takes a node out of branches."""
        kept = [key for key in control_inputs(node) if not set(branches) & set(self.of(key))]
        set_inputs(node, [*inputs, *kept])
        self._branches[node.name] = self._found(node)

    def _outside(self, value: str, branch: tuple[str, int], scope: str) -> str:
        """A tensor of the shape of another one, which is in a branch.

        It is computed by copies of the branch's nodes. As nothing but its shape is asked for, XLA drops them.
        """
        copies: dict[str, str] = {}
        queue, found = [node_name(value)], []
        while queue:
            name = queue.pop()
            if name in copies:
                continue
            node = self._nodes[name]
            if node.op == "Exit":
                raise _refusal(node)
            copies[name] = f"{scope}/like/{name}"
            found.append(name)
            for key in data_inputs(node):
                if branch in self.of(key) and not self._is_given(key, branch):
                    queue.append(node_name(key))
        position = {name: index for index, name in enumerate(self._branches)}
        for name in sorted(found, key=position.__getitem__):
            node = self._nodes[name]
            inputs = []
            for key in data_inputs(node):
                if self._is_given(key, branch):
                    key = data_inputs(self._nodes[node_name(key)])[0]
                if node_name(key) in copies:
                    key = key.replace(node_name(key), copies[node_name(key)], 1)
                inputs.append(key)
            waits = control_inputs(node)
            kept = [key for key in waits if branch not in self.of(key)]
            if len(kept) < len(waits):  # a constant is in a loop by what it waits for
                kept.append("^" + node_name(branch[0]))
            copies[name] = self._add(copies[name], node.op, [*inputs, *kept], like=node).name
        return value.replace(node_name(value), copies[node_name(value)], 1)

    def _is_given(self, key: str, branch: tuple[str, int]) -> bool:
        """Whether the switch of a branch gives a tensor."""
        name = node_name(key)
        return self._decides(name) and (self._predicate(name), int(key.split(":")[1])) == branch


def _refusal(node: Any) -> errors.UnsupportedGraphError:
    text = f"a loop with a gradient is in a conditional ({node.op} {node.name!r})"
    step = "Compute the loop outside of tf.cond, and choose its result by tf.where."
    return errors.UnsupportedGraphError("TPU395", text, step).at(node.name)
