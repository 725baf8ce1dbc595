"""Whether the training loop beside a script has the hooks that the script gives it.

It has some of TensorFlow's, and calls those of the script where they need no Session: such as one that takes
the time, or stops the training.
"""

from __future__ import annotations

import ast
from typing import Any, Iterable, Iterator

from tpucompat.commands.analysis.keras_values import key
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.estimator_tables import HOOKS, NAMES
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.names.used import argument, constant

_BASE = "SessionRunHook"
#: Those that are given tensors of a model_fn.
_WATCHING = ("LoggingTensorHook", "NanTensorHook")
#: Parameters of a hook's methods that stand for a Session, its graph, or what it has fetched.
_OF_SESSION = {
    "after_create_session": (1, 2),
    "before_run": (),
    "after_run": (2,),
    "end": (1,),
}
#: What a hook may ask of its ``run_context``.
_ASKED = frozenset(("request_stop", "stop_requested"))
#: Names of TensorFlow without a graph.
_WITHOUT_GRAPH = (
    "tensorflow.logging.",
    "tensorflow.gfile.",
    "tensorflow.flags.",
    "tensorflow.io.gfile.",
)


def hook_of(name: str) -> str:
    """The hook that an old name is; "" for something else."""
    found = NAMES.get(name, "")
    return found if found in HOOKS else ""


def bases(context: Context) -> frozenset[int]:
    """The bases of classes that become hooks of the loop."""
    return frozenset(id(base) for one in _classes(context).values() for base in one.bases)


def check(context: Context, calls: Iterable[tuple[ast.Call, str]]) -> None:
    """That the loop has all hooks of a file, and all of them are given to it.

    Args:
      context: The file.
      calls: The calls that the loop answers, and what each is.

    Raises:
      CannotSee: If it does not.
    """
    reader = _Reader(context)
    known: set[int] = set()
    for node, row in calls:
        places = [ast.keyword("hooks", one) for one in node.args[1:2] if row == ".train"]
        for word in [*node.keywords, *places]:
            if (word.arg, row) not in (
                ("hooks", ".train"),
                ("training_hooks", "Spec"),
                ("training_hooks", "EstimatorSpec"),
            ):
                continue
            for hook in reader.elements(word.value):
                if hook is None or not reader.is_hook(hook):
                    raise CannotSee(f"{word.arg}= of {_shown(node.func, row)}")
                known.add(id(hook))
                _check_tensors(hook, reader.made[id(hook)], row)
    for made, name in reader.made.items():
        if made not in known:
            raise CannotSee(f"a {name} that is given elsewhere")
    for one in _classes(context).values():
        _check_class(context, one)


def _shown(node: ast.expr, row: str) -> str:
    return ast.unparse(node) if hasattr(ast, "unparse") else row


class _Reader:
    """Follows a list of hooks to the calls that make them.

    Attributes:
      made: The identity of a call that makes a hook -> its class.
    """

    def __init__(self, context: Context) -> None:
        own = _classes(context)
        self.made = {
            id(call.node): hook_of(call.name) for call in context.names.calls if hook_of(call.name)
        }
        self._assigned: dict[str, list[ast.expr | None]] = {}
        for tree in context.trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in own:
                    self.made[id(node)] = node.func.id  # type: ignore[attr-defined]
                for name, value in _given(node):
                    self._assigned.setdefault(name, []).append(value)

    def is_hook(self, node: ast.expr) -> bool:
        """Whether a call makes a hook that the loop has, or may call."""
        return id(node) in self.made

    def elements(
        self, node: ast.expr | None, seen: frozenset[str] = frozenset()
    ) -> Iterator[ast.expr | None]:
        """The hooks in an expression, as the calls that make them; None for what cannot be found."""
        name = key(node) if node is not None else ""
        if isinstance(node, (ast.List, ast.Tuple)):
            for one in node.elts:
                yield from self.elements(one, seen)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for one in (node.left, node.right):
                yield from self.elements(one, seen)
        elif isinstance(node, ast.IfExp):
            for one in (node.body, node.orelse):
                yield from self.elements(one, seen)
        elif (isinstance(node, ast.Constant) and node.value is None) or (name and name in seen):
            return
        elif name and name in self._assigned:
            for value in self._assigned[name]:
                yield from self.elements(value, seen | {name})
        else:
            yield node if isinstance(node, ast.Call) else None


def _given(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Names, and what is assigned or appended to them; None where that is not known."""
    if isinstance(node, ast.Assign):
        for one in node.targets:
            yield key(one), node.value
    elif isinstance(node, ast.AugAssign):
        yield key(node.target), node.value
    elif isinstance(node, ast.arg):
        yield node.arg, None
    elif getattr(getattr(node, "func", None), "attr", "") in ("append", "extend"):
        for one in node.args[:1]:  # type: ignore[attr-defined]
            yield key(node.func.value), one  # type: ignore[attr-defined]


def _check_tensors(hook: Any, name: str, row: str) -> None:
    """That a hook that logs is given tensors where there are some, and their names elsewhere."""
    if name not in _WATCHING:
        return
    tensors = argument(hook, 0, "tensors" if name == "LoggingTensorHook" else "loss_tensor")
    values: Any = getattr(tensors, "values", None) or getattr(tensors, "elts", ()) or [tensors]
    named = [isinstance(constant(one), str) for one in values]
    if row != ".train" and any(named):
        raise CannotSee(f"names of tensors in a {name}")
    if row == ".train" and not all(named):
        raise CannotSee(f"tensors of another graph in a {name}")


def _classes(context: Context) -> dict[str, ast.ClassDef]:
    """The classes of a file that are hooks."""
    uses = {id(use.node) for use in context.names.uses if hook_of(use.name) == _BASE}
    return {
        node.name: node
        for tree in context.trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any(id(base) in uses for base in node.bases)
    }


def _check_class(context: Context, node: ast.ClassDef) -> None:
    """That a hook asks nothing of a Session or a graph."""
    inside = {id(one) for one in ast.walk(node)} - {id(base) for base in node.bases}
    for use in context.names.uses:
        is_known = use.name.startswith(_WITHOUT_GRAPH) or not use.name.startswith("tensorflow.")
        if id(use.node) in inside and not is_known:
            raise CannotSee(f"{node.name} uses {use.name.replace('tensorflow.', 'tf.', 1)}")
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or method.name not in _OF_SESSION:
            continue
        names = [one.arg for one in method.args.args]
        gone = {names[index] for index in _OF_SESSION[method.name] if index < len(names)}
        asked = names[1] if method.name in ("before_run", "after_run") and len(names) > 1 else ""
        attributes = {
            id(one.value): one.attr for one in ast.walk(method) if isinstance(one, ast.Attribute)
        }
        for one in ast.walk(method):
            fetched = one.value if isinstance(one, ast.Return) else None
            is_none = fetched is None or getattr(fetched, "value", fetched) is None
            if method.name == "before_run" and not is_none:
                raise CannotSee(f"what {node.name} fetches")
            name = getattr(one, "id", "")
            if name in gone or (name and name == asked and attributes.get(id(one)) not in _ASKED):
                raise CannotSee(f"{name} of {node.name}")
