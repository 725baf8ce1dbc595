"""``rewrite``, ``shard`` and ``batch_parallel`` of functions with variables, by a ``session_loop.py`` beside.

In reach is a Session whose graph is built once, in the block that the Session stands in, and that is only
asked for computations: a placeholder becomes what a computation is called with, a feed the argument of a call,
and a fetch its result. The functions themselves are unchanged. Whatever else a Session is asked for, and
whatever else is done with the graph, is found before anything is rewritten; such a file uses ``tpucompat.v1``.
"""

from __future__ import annotations

import os

from tpucompat.commands.migrate import (
    computations,
    keras,
    session_attributes,
    session_blocks,
    session_forms,
    session_scopes,
    written,
)
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.commands.migrate.session_inputs import MODULE
from tpucompat.commands.migrate.session_plan import Plan
from tpucompat.commands.migrate.session_reader import NAMES, Reader
from tpucompat.names.used import walk


def plan(context: Context) -> Plan:
    """How a file does without its Session.

    Raises:
      CannotSee: If it is not known to compute the same then.
    """
    if context.module.source.is_notebook:
        raise CannotSee("a notebook has no module beside it")
    folder = os.path.dirname(os.path.abspath(context.module.source.path))
    beside = os.path.join(folder, MODULE + ".py")
    if os.path.exists(beside) and not written.is_ours(beside):
        raise CannotSee(f"there is another {MODULE}.py beside it")
    if not context.is_free("program"):
        raise CannotSee("the file already defines program")
    names = session_attributes.Names(context)
    scopes = session_scopes.Scopes(context)

    def undo() -> None:
        scopes.undo()
        names.undo()

    passed: session_forms.Passed | None = None
    try:
        opened = session_blocks.opened(context, scopes.gone, scopes.kept, scopes.idle)
        passed = session_forms.Passed(context, opened.name)
        return Reader(context, opened, passed).read(undo)
    except CannotSee:
        undo()
        raise
    finally:  # the tree of the file is read again
        if passed is not None:
            passed.undo()


# Rewriting -----------------------------------------------------------------------------------------


def rewrite(context: Context, found: Plan) -> None:
    """Puts a program in the place of the Session."""
    text = context.texts[found.session.cell]
    for node, parts in found.inputs.replaced:
        start, words = text.span(node)[0], ""
        for part in parts:
            if isinstance(part, str):
                words += part
                continue
            first, last = text.span(part)
            if words or start < first:
                text.replace(start, first, words)
            start, words = last, ""
        if words or start < text.span(node)[1]:
            text.replace(start, text.span(node)[1], words)
    context.done |= found.handled
    for node in found.shared:
        what = (
            "the results have one share for each core of the strategy, in the place of num_shards"
        )
        context.note("TPU213", what, node, found.session.cell)
    gone = {id(node) for one in found.dropped for node in walk(one)}
    for use in context.names.uses:
        if use.name in NAMES and use.statement is None and id(use.node) not in gone:
            context.replace(use.node, context.cell_of(use.node), f"{MODULE}.{NAMES[use.name]}")
            keras.finish(context, use.node)
    line = found.first.lineno
    made = "Program" if found.makes else "Computations"
    given = [f"{MODULE}.one_core()"] if found.is_one else []
    given += [f"seed={text.source(found.session.seed)}"] if found.session.seed is not None else []
    given += ["global_step=True"] if found.counts else []
    indent = session_blocks.indent(context, found.session, line)
    text.insert_line(
        line, indent + f"{found.name} = {MODULE}.{made}({', '.join(given)})" + text.newline
    )
    for statement, words in found.inputs.added:
        indent = session_blocks.indent(context, found.session, statement.lineno)
        text.insert_line(statement.lineno, indent + words + text.newline)
    for statement in found.dropped:
        if not context.remove(statement, found.session.cell):
            context.replace(statement, found.session.cell, "pass")
    computations.without_start_up(context)
    found.passed.rewrite(found.name)
    session_blocks.rewrite(context, found.session)
    context.want(MODULE)
