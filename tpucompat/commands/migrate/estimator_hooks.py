"""Whether the training loop beside a script can call the hooks that the script gives it.

They are those of ``tf.compat.v1.train`` and the script's own, with a Session of the graph of the initial
values. What they fetch of a batch is a tensor that they hold, or one that is found by its name.
"""

from __future__ import annotations

from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.names.used import argument

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
