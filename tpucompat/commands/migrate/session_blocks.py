"""The statements that a Session and its graph are opened by, and what becomes of them."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple, Sequence

from tpucompat.commands.migrate import (
    computations,
    keras,
    session_attributes,
    session_forms,
    session_functions,
)
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.commands.migrate.session_inputs import is_still
from tpucompat.names.used import Call, argument, walk

#: The names of computations, and where they are defined.
_ALIASED = {*computations.NAMES} | {name.rpartition(".")[0] for name in computations.NAMES}
_SEEDS = frozenset(("tensorflow.set_random_seed", "tensorflow.random.set_random_seed"))
_SESSIONS = frozenset(("tensorflow.Session", "tensorflow.InteractiveSession"))


class Opened(NamedTuple):
    """A Session that is open in a part of a file.

    Attributes:
      cell: Where all of it stands.
      call: What makes it.
      maker: The function that this calls, or None where it is the Session itself.
      name: What it is called.
      statement: ``with tf.Session() as name:``, or ``name = tf.Session()``.
      block: The part of the file: that ``with``, or all that follows in the same block.
      body: The statements in it.
      graph: ``with tf.Graph().as_default():`` around it, or None.
      scopes: Other blocks that go, with what they are opened by.
      naming: Blocks that stay, and name variables.
      idle: Blocks of other Sessions, which only start the TPU or stop it, and what the tree has there.
      seed: That of the graph, or None.
    """

    cell: int
    call: ast.Call
    maker: ast.FunctionDef | None
    name: str
    statement: Any
    block: ast.AST
    body: list[ast.stmt]
    graph: ast.With | None
    scopes: Sequence[ast.stmt]
    naming: Sequence[ast.With]
    idle: Sequence[tuple[ast.With, ast.stmt]]
    seed: ast.AST | None


def opened(
    context: Context,
    scopes: Sequence[ast.stmt] = (),
    naming: Sequence[ast.With] = (),
    idle: Sequence[tuple[ast.With, ast.stmt]] = (),
) -> Opened:
    """The one Session of a file.

    Args:
      context: The file.
      scopes: Blocks that the tree is read without, and the graphs that they open.
      naming: Blocks that stay, and that the tree is read without.
      idle: Blocks of other Sessions that the tree is read without, and what it has there.

    Raises:
      CannotSee: If there are several, or it is opened otherwise.
    """
    others = {id(one.items[0].context_expr) for one, _ in idle}
    sessions = [call for call in context.names.calls if call.name in _SESSIONS]
    sessions = [call for call in sessions if id(call.node) not in others]
    if len(sessions) != 1 or any(call.guarded for call in sessions):
        raise CannotSee("the computation must run in a single Session")
    (call,) = sessions
    maker = session_forms.maker_of(context, call)
    call = call._replace(node=maker.call) if maker else call
    cell = context.cell_of(call.node)
    statement = context.statement(call.node, cell)
    if not isinstance(statement, ast.Assign):
        statement = _with_graph(context, call, statement) or computations.block_of(
            context, call, cell
        )
        name: str = statement.items[-1].optional_vars.id  # type: ignore[union-attr]
        block: ast.AST = statement
        body = statement.body
    else:
        target = statement.targets[0]
        around = context.body_of(statement, cell)
        at = next(index for index, one in enumerate(around) if one is statement)
        if statement.value is not call.node or not isinstance(target, ast.Name):
            raise CannotSee("the Session is not assigned directly")
        if len(statement.targets) != 1 or not context.texts[cell].owns_lines(statement):
            raise CannotSee("the Session is not assigned directly")
        name, body = target.id, around[at + 1 :]
        if name.startswith("self."):
            owner = session_attributes.owner_of(context, statement, cell)
            methods = owner.body if owner is not None else []
            inits = (one for one in methods if any(statement is inner for inner in walk(one)))
            init = next(inits, None)
            body = [*body, *(one for one in methods if one is not init)]
        block = ast.Module(body=body, type_ignores=[])
    return Opened(
        cell=cell,
        call=call.node,
        maker=maker.function if maker else None,
        name=name,
        statement=statement,
        block=block,
        body=body,
        graph=_graph(context, statement, cell),
        scopes=scopes,
        naming=naming,
        idle=idle,
        seed=_seed(context),
    )


def _with_graph(context: Context, call: Call, node: Any) -> ast.With | None:
    """``with tf.Graph().as_default(), tf.Session() as name:``; None for something else."""
    if not isinstance(node, ast.With) or len(node.items) < 2:
        return None
    *others, last = node.items
    calls = {id(one.node): one.name for one in context.names.calls}
    is_known = last.context_expr is call.node and isinstance(last.optional_vars, ast.Name)
    for one in others:
        made = one.context_expr.func.value if _is_default(one.context_expr) else None  # type: ignore[attr-defined]
        is_graph = calls.get(id(made)) == "tensorflow.Graph" and one.optional_vars is None
        is_known = is_known and is_graph
    can_go = computations.can_go(context.texts[context.cell_of(node)], node)
    return node if is_known and can_go else None


def outer(context: Context, found: Opened) -> list[ast.stmt]:
    """The statements of the module, where a Session is opened in a function of it and they make its graph."""
    parents = context.parents(found.cell)
    above: Any = parents.get(id(found.statement))
    while isinstance(above, (ast.With, ast.If, ast.Try)):
        above = parents.get(id(above))
    module = parents.get(id(above))
    if not isinstance(above, ast.FunctionDef) or not isinstance(module, ast.Module):
        return []
    own = session_functions.bound(above)
    assigned = (one for one in module.body if isinstance(one, ast.Assign))
    return [one for one in assigned if not session_functions.bound(one) & own]


def _graph(context: Context, statement: Any, cell: int) -> ast.With | None:
    """``with tf.Graph().as_default():`` directly around a statement."""
    above = context.parents(cell).get(id(statement))
    if not isinstance(above, ast.With) or len(above.items) != 1:
        return None
    made = above.items[0].context_expr
    graph = made.func.value if _is_default(made) else None  # type: ignore[attr-defined]
    calls = {id(call.node): call.name for call in context.names.calls}
    if calls.get(id(graph)) != "tensorflow.Graph" or above.items[0].optional_vars is not None:
        return None
    if not computations.can_go(context.texts[cell], above):
        raise CannotSee("its graph is not opened by a plain `with tf.Graph().as_default():`")
    return above


def _seed(context: Context) -> ast.AST | None:
    """The seed of the one graph of a file, or None.

    Raises:
      CannotSee: If there are several.
    """
    calls = [call for call in context.names.calls if call.name in _SEEDS]
    if len(calls) > 1 or any(call.guarded for call in calls):
        raise CannotSee("the seed of its graph")
    found = argument(calls[0].node, 0, "seed") if calls else None
    if calls and not is_still(found):
        raise CannotSee("the seed of its graph")
    return found


def aliases(context: Context, cell: int) -> dict[str, ast.Assign]:
    """Statements such as ``tpu = tf.contrib.tpu``, or ``shard = tpu.shard``: the name -> the statement."""
    modules = {id(use.node) for use in context.names.uses if use.name in _ALIASED}
    found = {}
    for node in walk(context.trees[cell]):
        if isinstance(node, ast.Assign) and id(node.value) in modules:
            name = getattr(node.targets[0], "id", "")
            if keras.only_assignment(context, name) is None:
                raise CannotSee("a name of tf.contrib.tpu")
            found[name] = node
    return found


def _is_default(node: ast.AST) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr == "as_default"


def opening(found: Opened) -> set[int]:
    """The identities of the nodes that open a Session, its graph and the blocks that go."""
    made: list[ast.AST] = [found.call, *getattr(found.statement, "items", ())]
    for one in (found.graph, *found.scopes):
        made += one.items if isinstance(one, ast.With) else [one] if one is not None else []
    made += [block for block, _ in found.idle]
    return {id(node) for one in made for node in walk(one)}


def rewrite(context: Context, found: Opened) -> None:
    """Takes a Session and its graph out, behind all edits in their blocks."""
    cell = found.cell
    for one in (found.statement, *found.scopes):
        if isinstance(one, ast.Assign):
            context.remove(one, cell)
    for _, nothing in found.idle:
        if not context.remove(nothing, cell):
            context.replace(nothing, cell, "pass")
    blocks = (found.graph, found.statement, *found.scopes)
    computations.without_blocks(context, cell, [one for one in blocks if isinstance(one, ast.With)])
    gone: list[ast.AST] = [found.call]  # with all names in it: the tree is read without the others
    gone += [node for one, _ in found.idle for node in walk(one.items[0].context_expr)]
    computations.retire(context, gone, [*gone])


def indent(context: Context, found: Opened, line: int) -> str:
    """What a line is indented by when the blocks of the Session and its graph are gone."""
    text = context.texts[found.cell]
    indented = text.indent(line)
    for block in (found.graph, found.statement, *found.scopes):
        if isinstance(block, ast.With) and block.lineno < line <= (block.end_lineno or 0):
            indented = indented[: len(indented) - _depth(context, found.cell, block)]
    return indented


def _depth(context: Context, cell: int, block: ast.With) -> int:
    text = context.texts[cell]
    return len(text.indent(block.body[0].lineno)) - len(text.indent(block.lineno))
