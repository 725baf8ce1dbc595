"""Names of ``tf.contrib`` and TensorFlow's examples whose code stands in a module of its own beside the script.

TensorFlow 2 has no counterpart of them, and tpucompat's code for them needs TensorFlow alone: the parts that
the script uses are written into a module that belongs to its user.
"""

from __future__ import annotations

import functools
import os
from typing import AbstractSet, Mapping, NamedTuple

from tpucompat.commands.migrate import applied, written
from tpucompat.commands.migrate.context import Context
from tpucompat.names import lookup
from tpucompat.names import successors as today
from tpucompat.names.rows import Package, StandIn
from tpucompat.names.used import Use, walk

#: Module -> attributes and arguments with which it cannot stand beside the script.
_GONE: Mapping[str, frozenset[str]] = {
    # TensorFlow 2 has no protocol buffer for it.
    "hyperparameters": frozenset(("to_proto", "from_proto", "hparam_def")),
    # Its Saver belongs to a Session.
    "contrib_opt": frozenset(("swapping_saver",)),
}
_REMOVED = ("tensorflow.contrib.", "tensorflow.examples.")
#: Those whose classes are made of Keras 2's.
_OF_KERAS_2 = frozenset(("contrib_rnn", "contrib_cudnn_rnn", "contrib_legacy_seq2seq"))


class Found(NamedTuple):
    """The use of a name, the module that it stands in, and its name there."""

    use: Use
    module: str
    name: str


def find(context: Context) -> list[Found]:
    """The uses of such names in a file; none of a module that cannot stand beside it."""
    if context.module.source.is_notebook:
        return []
    methods = {
        id(node) for one in applied.find(context) for node in walk(one.inner.func)
    }  # those of a Dataset
    uses = [use for use in context.names.uses if id(use.node) not in methods]
    found = [Found(use, *home) for use in uses for home in [_home(use.name)] if home]
    modules = {one.module for one in found}
    refused = {one.module for one in found if one.use.guarded}
    nodes = [node for node in context.nodes if modules]
    words = {getattr(node, "attr", getattr(node, "arg", None)) for node in nodes}
    folder = os.path.dirname(os.path.abspath(context.module.source.path))
    for module in modules:
        beside = os.path.join(folder, module + ".py")
        is_taken = os.path.exists(beside) and not written.is_ours(beside)
        is_gone = bool(words & _GONE.get(module, frozenset()))
        # ``from tensorflow.contrib import image as contrib_image``
        own = {id(node) for one in found if one.module == module for node in walk(one.use.node)}
        if is_taken or is_gone or not context.is_free(module, own):
            refused.add(module)
    return [one for one in found if one.module not in refused]


def modules(context: Context) -> AbstractSet[str]:
    """The modules that a file uses."""
    return {one.module for one in find(context)}


def needs_keras_2(context: Context) -> bool:
    """Whether what a file uses of them is made of classes of Keras 2."""
    return bool(modules(context) & _OF_KERAS_2)


@functools.lru_cache(maxsize=None)
def _home(name: str) -> tuple[str, str] | None:
    """The module of an old name, and its name there."""
    fate = today.fate(name) if name.startswith(_REMOVED) else None
    if fate is None or not fate.becomes.startswith("tpucompat.v1"):
        return None
    row = lookup.find_row(name)
    targets: tuple[str, ...] = (row.target,) if isinstance(row, StandIn) else ()
    if row is None:
        package, _, last = name.rpartition(".")
        row = lookup.find_row(package)
        targets = tuple(f"{one}:{last}" for one in row.targets) if isinstance(row, Package) else ()
    for target in targets:
        source, _, attribute = target.partition(":")
        module = written.home_of(source)
        if module and attribute in written.defined(written.source(module + ".py")):
            return module, attribute
    return None


def rewrite(context: Context, found: list[Found], packages: Mapping[str, str]) -> None:
    """Writes the names of the modules.

    Args:
      context: The file.
      found: What :func:`find` gave.
      packages: Module -> what it is imported from, where that is not the folder of the script.
    """
    for one in found:
        if one.use.statement is None:
            node = one.use.node
            context.replace(node, context.cell_of(node), f"{one.module}.{one.name}")
            context.done.update(map(id, walk(node)))  # so that its import goes
    for module in sorted({one.module for one in found if one.use.statement is None}):
        context.want(module, packages.get(module, ""))
        context.needs_keras_2 |= module in _OF_KERAS_2
