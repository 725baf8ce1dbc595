"""What a script with TPUEstimator asks for beyond the calls of its API, and the training loop does not have.

The names that the loop has are read from its source: those of the module, of its classes, of the context that
an input_fn gets.
"""

from __future__ import annotations

import ast
import functools
from typing import Any, Callable, Iterable, Iterator, Mapping

from tpucompat.commands.migrate import written
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.estimator_tables import DROPPED
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.names.used import Use, is_given, keyword, walk

#: What makes a writer of summaries.
_WRITERS = ("summary.FileWriter", "summary.FileWriterCache.get")
#: What runs a graph of its own, or writes from one; the loop is eager outside of model_fn.
_OF_GRAPHS = frozenset(
    f"tensorflow.{head}{name}"
    for head in ("", "compat.v1.")
    for name in (
        *("Session", "InteractiveSession", *_WRITERS, "train.Supervisor"),
        *("train.MonitoredSession", "train.MonitoredTrainingSession"),
        "train.SingularMonitoredSession",
    )
)
#: What restores variables by a Saver of its own.
_RESTORES = "contrib.framework.assign_from_checkpoint"
#: What a Spec is called for without a TPU; the loop takes one.
AS_SPEC = "as_estimator_spec"
#: A method then -> now.
RENAMED: Mapping[str, str] = {
    "export_savedmodel": "export_saved_model",
    "replace": "_replace",
}


def check(
    context: Context, module: str, target: Callable[[str], str], of_graphs: Iterable[ast.AST] = ()
) -> None:
    """That a file asks the loop for nothing that it does not have.

    Args:
      context: The file.
      module: What the loop is called.
      target: Gives what stands in the place of an old name.
      of_graphs: Functions that get a graph of their own.

    Raises:
      CannotSee: If it does.
    """
    for call in context.names.calls:
        if call.name.endswith(_RESTORES):
            raise CannotSee(f"{call.name.rpartition('.')[2]}: use tf.train.init_from_checkpoint")
        if is_given(keyword(call.node, "partitioner")):
            raise CannotSee("partitioner=: leave it out, each core has the whole variable")
    names = _members(module)
    inside = {id(node) for one in of_graphs for node in walk(one)}
    for use in context.names.uses:
        head, *parts = target(use.name).split(".") if use.statement is None else [""]
        if head == module and len(parts) > 1 and parts[1] not in names.get(parts[0], ()):
            raise CannotSee(".".join(parts))
        if id(use.node) not in inside and _lacks_graph(context, use):
            raise CannotSee(f"{use.name.rpartition('.')[2]} outside of a tf.Graph")
    classes = {id(call.node): target(call.name).rpartition(".")[2] for call in context.names.calls}
    for tree in context.trees.values():
        bases = {id(base) for node in walk(tree) for base in getattr(node, "bases", ())}
        for use in context.names.uses:
            if id(use.node) in bases and target(use.name).startswith(module):
                raise CannotSee(f"a class derived from {use.name.rpartition('.')[2]}")
        for node, kinds in _asked(tree, classes):
            asked = RENAMED.get(node.attr, node.attr)
            if isinstance(node.ctx, ast.Store) and asked[1:] in DROPPED["Trainer"]:
                continue  # estimator._export_to_tpu = False
            if node.attr != AS_SPEC and not any(
                asked in names.get(kind, (asked,)) for kind in kinds
            ):
                raise CannotSee(f"{node.attr} of {min(kinds)}")


def replaced(
    context: Context, target: Callable[[str], str]
) -> Iterator[tuple[ast.Call, ast.Attribute, str]]:
    """``config.replace(model_dir='b')``, with the method and the class of the configuration."""
    classes = {id(call.node): target(call.name).rpartition(".")[2] for call in context.names.calls}
    methods = {id(call.node.func): call.node for call in context.names.calls}
    for tree in context.trees.values():
        for node, kinds in _asked(tree, classes):
            kind = "".join(kinds & {"RunConfig", "TPUConfig"})
            if node.attr == "replace" and kind and id(node) in methods:
                yield methods[id(node)], node, kind


def writers(context: Context) -> list[ast.stmt]:
    """The statements of a file that make a writer of summaries outside of a graph, and nothing else."""
    found: list[ast.stmt] = []
    for use in context.names.uses:
        if not use.name.endswith(_WRITERS) or use.parent is None or not _lacks_graph(context, use):
            continue
        cell = context.cell_of(use.node)
        above: Any = use.parent
        while not isinstance(above, ast.stmt):
            above = context.parents(cell)[id(above)]
        gives = {word.arg for word in use.parent.keywords}
        is_simple = isinstance(above, (ast.Assign, ast.Expr)) and not gives & {"graph", "session"}
        if is_simple and len(use.parent.args) < 2 and context.texts[cell].owns_lines(above):
            found.append(above)
    return found


def with_graphs(context: Context, calls: Iterable[ast.Call]) -> list[ast.FunctionDef]:
    """The functions of a file that build a graph for a Session, and call no estimator.

    Args:
      context: The file.
      calls: The calls that the loop answers.
    """
    of_loop = {id(call) for call in calls}
    made = {id(node) for one in writers(context) for node in walk(one)}
    lacking = {id(use.node) for use in context.names.uses if _lacks_graph(context, use)} - made
    functions = {
        one.name: one
        for tree in context.trees.values()
        for one in tree.body
        if isinstance(one, ast.FunctionDef)
    }
    return [
        one
        for one in functions.values()
        if any(id(node) in lacking for node in walk(one))
        and not one.decorator_list
        and not any(id(node) in of_loop for node in _reached(one, functions))
    ]


def _reached(
    function: ast.FunctionDef, functions: Mapping[str, ast.FunctionDef]
) -> Iterator[ast.AST]:
    """The nodes of a function, and of those of the file that it names."""
    seen, waiting = {function.name}, [function]
    while waiting:
        for node in walk(waiting.pop()):
            yield node
            name = getattr(node, "id", "")
            if name in functions and name not in seen:
                seen.add(name)
                waiting.append(functions[name])


def _lacks_graph(context: Context, use: Use) -> bool:
    is_of_graph = use.name in _OF_GRAPHS and use.statement is None
    return is_of_graph and not has_graph(context, use.node)


def has_graph(context: Context, node: ast.AST) -> bool:
    """Whether a ``with`` around a node enters a graph, or a Session is given one."""
    parents = context.parents(context.cell_of(node))
    above: Any = parents.get(id(node))
    words = above.keywords if isinstance(above, ast.Call) and above.func is node else ()
    if any(word.arg == "graph" and not isinstance(word.value, ast.Constant) for word in words):
        return True
    while above is not None:
        for item in getattr(above, "items", ()) if isinstance(above, ast.With) else ():
            entered = item.context_expr  # not the session of `with tf.Session().as_default()`
            is_own = any(inside is node for inside in walk(entered))
            if _last_name(getattr(entered, "func", None)) == "as_default" and not is_own:
                return True
        above = parents.get(id(above))
    return False


def _asked(tree: ast.AST, classes: Mapping[int, str]) -> Iterator[tuple[ast.Attribute, set[str]]]:
    """Attributes of objects of the loop's classes, with the class; all of a name that functions share."""
    kinds: dict[str, set[str]] = {}
    for node in walk(tree):
        if isinstance(node, ast.Assign):
            for one in node.targets:
                kind = _kind(node.value, classes)
                kinds.setdefault(ast.dump(one).replace("Store()", "Load()"), set()).add(kind)
    for node in walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        kind = _kind(node.value, classes)
        found = {kind} if kind else kinds.get(ast.dump(node.value), set())
        if found - {""}:
            yield node, found


def _kind(node: ast.AST, classes: Mapping[int, str]) -> str:
    """The class of what an expression gives; "" where it is not known."""
    if isinstance(node, ast.Subscript):
        owner, key = node.value, _constant(node.slice)
    elif isinstance(node, ast.Call) and _last_name(node.func) == "get" and node.args:
        owner, key = node.func.value, _constant(node.args[0])  # type: ignore[attr-defined]
    else:
        return classes.get(id(node), "")
    is_context = key == "context" and getattr(owner, "id", "") == "params"
    return "context" if is_context else classes.get(id(node), "")


def _constant(node: Any) -> Any:
    inner = node.value if type(node).__name__ == "Index" else node
    return inner.value if isinstance(inner, ast.Constant) else None


@functools.lru_cache(maxsize=None)
def _members(module: str) -> Mapping[str, frozenset[str]]:
    """Class of the module -> what can be asked of it and of its objects."""
    tree = ast.parse(written.source(module + ".py"))
    found: dict[str, frozenset[str]] = {}
    for statement in tree.body:
        node: Any = statement
        if isinstance(node, ast.ClassDef):
            bases = [getattr(base, "id", "") for base in node.bases]
            if all(base in found for base in bases):  # another class may have more
                own = {name for inside in walk(node) for name in _stored(inside)}
                found[node.name] = frozenset(own).union(*(found[base] for base in bases))
        elif _last_name(getattr(getattr(node, "value", None), "func", None)) == "namedtuple":
            fields = node.value.args[1].value.split()
            found[node.targets[0].id] = frozenset(("_replace", *fields))
    # That of an input_fn and that of a model_fn, which is not told who calls it.
    found["context"] = frozenset(
        word.arg or ""
        for node in walk(tree)
        if isinstance(node, ast.Call) and _last_name(node.func) == "SimpleNamespace"
        for word in node.keywords
    )
    return found


def _last_name(node: Any) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ""


def _stored(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        yield node.name
    elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        yield node.id if isinstance(node, ast.Name) else node.attr
