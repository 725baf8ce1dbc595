"""Whether the training loop beside a script can call the hooks that the script gives it.

They are those of ``tf.compat.v1.train`` and the script's own, with a Session of the graph of the initial
values. What they fetch of a batch is a tensor that they hold, or one that is found by its name.
"""

from __future__ import annotations

import ast
import re

from tpucompat.commands.analysis import indexes
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.names.used import argument, constant, walk

_PLACES = tuple(
    f"tensorflow.{head}{module}."
    for head in ("", "compat.v1.")
    for module in ("train", "estimator")
)
#: Hooks of TensorFlow that ask a Session for more than values -> what a person does in their place.
_OF_SESSIONS = {
    "ProfilerHook": ": profile the training by tf.profiler.experimental",
    "FeedFnHook": ": let input_fn give what it feeds",
}
#: The tensors of ``tf.metrics``, which a hook of an evaluation finds by their names.
_METRICS = re.compile(r"(.*/)?(value|update_op):0")


def finds_metrics(context: Context) -> bool:
    """Whether a hook of a file asks its Session for a metric, which the loop computes outside of the graph."""
    uses = (use for use in context.names.uses if use.name.endswith(".SessionRunHook"))
    bases = {id(use.node) for use in uses}
    classes = indexes.nodes(context, ast.ClassDef) if bases else ()
    hooks = [one for one in classes if bases & {id(base) for base in one.bases}]
    asked = [
        constant(argument(node, 0, "name"))
        for hook in hooks
        for node in walk(hook)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "get_tensor_by_name"
    ]
    return any(isinstance(name, str) and _METRICS.fullmatch(name) for name in asked)


def check(context: Context) -> None:
    """That the hooks of a file ask for nothing but values.

    Raises:
      CannotSee: If one of them does.
    """
    for call in context.names.calls:
        head, _, last = call.name.rpartition(".")
        if head + "." not in _PLACES:
            continue
        if last in _OF_SESSIONS:
            raise CannotSee(last + _OF_SESSIONS[last])
        if last == "SessionRunArgs" and argument(call.node, 1, "feed_dict") is not None:
            raise CannotSee("a hook that feeds placeholders")
