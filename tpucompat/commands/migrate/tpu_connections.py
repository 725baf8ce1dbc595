"""The start-up of a TPU: addresses of Colab's TPU nodes, the calls of early TensorFlow 2."""

from __future__ import annotations

import ast
from typing import Any

from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.text import strings_over_lines
from tpucompat.names import successors as today
from tpucompat.names.used import Call, constant

LOCAL = "'local'"

_CONNECT = "tensorflow.config.experimental_connect_to_host"


def rewrite(context: Context) -> None:
    """Rewrites addresses, connections and calls; marks what is tested for instead of used."""
    for node, _, _, guarded in context.names.strings:
        cell = context.cell_of(node)
        if not guarded and id(node) not in context.done:
            _address(context, node, cell)
    for call in context.names.calls:
        if id(call.node) in context.done or id(call.node.func) in context.done:
            continue
        if call.name == _CONNECT and not call.guarded:
            _connection(context, call)
        elif call.name.endswith(".TPUStrategy") and not call.guarded:
            _extra_arguments(context, call)
        elif call.name == ".experimental_run_v2" and not call.guarded:
            _method(context, call, "run")


def eager_calls(context: Context) -> list[Call]:
    """The calls by which a program asks for eager execution, where nothing else decides it."""
    return [
        call
        for call in context.names.calls
        if call.name.endswith(".enable_eager_execution") and not call.guarded
    ]


def remove_eager_calls(context: Context) -> None:
    """Takes out what asks for the mode that TensorFlow 2 is in."""
    for call in eager_calls(context):
        cell = context.cell_of(call.node)
        statement = context.statement(call.node, cell)
        if isinstance(statement, ast.Expr) and statement.value is call.node:
            context.remove(statement, cell)


def listings(context: Context) -> list[tuple[int, ast.With]]:
    """Where a Session is opened only to list the devices of the TPU.

    with tf.Session(address) as session:
      devices = session.list_devices()
    """
    found = []
    for cell, tree in context.trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.With) and _lists_devices(context, node, cell):
                found.append((cell, node))
    return found


def _lists_devices(context: Context, node: ast.With, cell: int) -> bool:
    item = node.items[0]
    name = getattr(item.optional_vars, "id", "")
    opens = any(
        call.node is item.context_expr and call.name == "tensorflow.Session"
        for call in context.names.calls
    )
    if len(node.items) != 1 or not name or not opens:
        return False
    inside = [one for statement in node.body for one in ast.walk(statement)]
    uses = [one for one in inside if isinstance(one, ast.Name) and one.id == name]
    text = context.texts[cell]
    return (
        len(uses) == sum(_listed(one) == name for one in inside) > 0
        and node.body[0].lineno > node.lineno
        and text.owns_lines(node)
        and "\f" not in text.source(node) + text.line(node.lineno)
        and not strings_over_lines(node, node.lineno, node.end_lineno or node.lineno)
    )


def _listed(node: ast.AST) -> str:
    """``session`` of a call ``session.list_devices()``; "" for anything else."""
    function = node.func if isinstance(node, ast.Call) and not node.args else None
    if isinstance(function, ast.Attribute) and function.attr == "list_devices":
        return getattr(function.value, "id", "")
    return ""


def rewrite_listings(context: Context, found: list[tuple[int, ast.With]]) -> None:
    """Lists the devices without a Session."""
    for cell, node in found:
        text = context.texts[cell]
        by = len(text.indent(node.body[0].lineno)) - len(text.indent(node.lineno))
        context.done.update(id(inside) for inside in ast.walk(node.items[0]))
        text.delete_lines(node.lineno, node.body[0].lineno - 1)
        for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1):
            text.dedent_line(line, by)
        name = context.local("tf.config.list_logical_devices")
        for call in ast.walk(node):
            if _listed(call):
                context.replace(call.func, cell, name)  # type: ignore[attr-defined]


def whole_address(context: Context, node: ast.AST, cell: int) -> Any | None:
    """The expression that makes an address of ``COLAB_TPU_ADDR``: ``'grpc://' + os.environ[…]``.

    Args:
      context: The file.
      node: The text ``COLAB_TPU_ADDR``.
      cell: Where it stands.

    Returns:
      The largest expression that is an address; None where the name is only asked for.
    """
    parents = context.parents(cell)
    found = parents.get(id(node))
    if type(found).__name__ == "Index":  # Python 3.8
        found = parents.get(id(found))
    is_lookup = isinstance(found, ast.Subscript) and isinstance(found.ctx, ast.Load)
    is_get = isinstance(found, ast.Call) and isinstance(found.func, ast.Attribute)
    if is_get and found.func.attr not in ("get", "getenv"):  # type: ignore[union-attr]
        return None
    if not is_lookup and not is_get:
        return None
    while True:
        above = parents.get(id(found))
        if not _makes_address(above):
            return found
        found = above


def _makes_address(node: ast.AST | None) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Add, ast.Mod)) and _is_grpc(constant(node.left))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr == "format" and _is_grpc(constant(node.func.value))
    if isinstance(node, ast.JoinedStr):
        return bool(node.values) and _is_grpc(constant(node.values[0]))
    return isinstance(node, ast.FormattedValue)


def _is_grpc(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("grpc://")


def _address(context: Context, node: ast.AST, cell: int) -> None:
    whole = whole_address(context, node, cell)
    if whole is None or not context.replace(whole, cell, LOCAL):
        context.todo(
            "TPU208", "Colab no longer sets COLAB_TPU_ADDR; its TPU is tpu='local'", node, cell
        )


def _connection(context: Context, call: Call) -> None:
    """``experimental_connect_to_host(resolver.master())`` -> ``…_to_cluster(resolver)``."""
    cell = context.cell_of(call.node)
    node = call.node.args[0] if len(call.node.args) == 1 and not call.node.keywords else None
    context.done.add(id(call.node.func))
    is_master = (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("master", "get_master")
    )
    if not is_master:
        context.todo(
            "TPU208",
            "connect with tf.config.experimental_connect_to_cluster(resolver)",
            call.node,
            cell,
        )
        return
    resolver = context.texts[cell].source(node.func.value)  # type: ignore[union-attr]
    context.replace(
        call.node.func, cell, context.local("tf.config.experimental_connect_to_cluster")
    )
    context.replace(node, cell, resolver)  # type: ignore[arg-type]


def _extra_arguments(context: Context, call: Call) -> None:
    """TPUStrategy of 1.x also took how many steps one run of its own had."""
    found = today.fate(call.name)
    if found is None or not any(word.arg == "steps_per_run" for word in call.node.keywords):
        return
    cell = context.cell_of(call.node)
    context.todo(
        "TPU208", "TPUStrategy has no steps_per_run; loop in a tf.function", call.node, cell
    )


def _method(context: Context, call: Call, name: str) -> None:
    """Another name for a method."""
    cell = context.cell_of(call.node)
    text = context.texts[cell]
    end = text.span(call.node.func)[1]
    old = call.node.func.attr  # type: ignore[attr-defined]
    text.replace(end - len(old), end, name)
