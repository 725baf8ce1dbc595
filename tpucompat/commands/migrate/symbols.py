"""Replaces old names by current ones, in expressions and in imports."""

from __future__ import annotations

import ast
import re
from typing import Any, Mapping

from tpucompat.commands.analysis import guards
from tpucompat.commands.analysis.findings import Place
from tpucompat.commands.migrate.context import Context, Import
from tpucompat.names import era, fixes
from tpucompat.names import successors as today
from tpucompat.names.used import Call, constant, walk

_TENSORFLOW = ("tensorflow", "keras")
_OURS = "tpucompat."
#: A private module that moved; its names follow.
_PRIVATE = "tensorflow.python."
#: Modules that hold other names in TensorFlow 2.
_MEANS_ANOTHER = frozenset(
    (
        "initializers",
        "layers",
        "losses",
        "metrics",
        "nn",
        "random",
        "saved_model",
        "summary",
        "train",
    )
)


def rewrite(context: Context, around_only: bool = False) -> None:
    """Rewrites every place whose current name is known; marks the others.

    Args:
      context: The file.
      around_only: Leaves TensorFlow's names as they are, and rewrites those of other packages.
    """
    of_keras_3 = not around_only and context.of_keras_3
    for found in context.imports:
        if of_keras_3 and _left_to_keras_2(context, found):
            continue
        if not around_only or found.uses[0].name.partition(".")[0] not in _TENSORFLOW:
            with context.rule(_code_of(context, found)):
                _import(context, found)
    keras_2 = False
    modules = {} if around_only else named_modules(context)
    for place in context.places:
        use = place.use
        if id(use.node) in modules:
            continue
        if around_only and place.finding.code != "TPU220" and place.fate.fix == fixes.SAFE:
            continue
        if around_only and use.statement is not None and place.fate.fix != fixes.SAFE:
            context.todo_for(place.finding, use.statement)
        if use.statement is not None or id(use.node) in context.done:
            continue
        if today.needs_keras_2(place.fate):
            keras_2 = True
            if not place.fate.becomes:
                continue
        if place.fate.becomes.startswith(_OURS):
            context.todo_for(place.finding, use.node)  # which plain TensorFlow 2 does not have
            continue
        if of_keras_3 and today.is_of_keras_2(place.fate) and not today.is_module(place.fate):
            context.todo("TPU207", _left(place.fate), use.node, context.cell_of(use.node))
            continue
        known = place.fate.fix == fixes.SAFE and place.finding.code != "TPU211"
        with context.rule(place.finding.code):
            done = known and _expression(context, place)
        if not done:
            context.todo_for(place.finding, use.node)
    if keras_2:
        context.needs_keras_2 = True
    if not around_only:
        _tests(context)
    for statement, cell, used in modules.values():
        if used <= context.done:
            context.remove(statement, cell)
    if not around_only and context.module.era == era.TF1:
        _whole_modules(context)


def named_modules(context: Context) -> dict[int, tuple[Any, int, set[int]]]:
    """``tfe = tf.contrib.eager`` where each use of the name has a fate of its own.

    Returns:
      The identity of the module's node -> the statement, its cell, and the identities of the uses.
    """
    heads: dict[int, int] = {}
    for place in context.places:
        node: Any = place.use.node
        while isinstance(node, (ast.Attribute, ast.Call)):
            node = node.value if isinstance(node, ast.Attribute) else node.func
        heads[id(node)] = id(place.use.node)
    found: dict[int, tuple[Any, int, set[int]]] = {}
    for place in context.places:
        cell, node = place.finding.cell, place.use.node
        above: Any = context.parents(cell).get(id(node))
        is_alone = isinstance(above, ast.Assign) and above.value is node and len(above.targets) == 1
        # A module that TensorFlow 2 has under another name is renamed where it stands.
        has_home = place.fate.becomes.startswith(("tf.", "tf_"))
        if not is_alone or not today.is_module(place.fate) or has_home:
            continue
        name = getattr(above.targets[0], "id", "")
        named = [one for one in context.loads(name) if name]
        if named and all(id(one) in heads for one in named):
            found[id(node)] = above, cell, {heads[id(one)] for one in named}
    return found


def _tests(context: Context) -> None:
    """``hasattr(tf, 'log')`` -> ``hasattr(tf.math, 'log')``, as the name is in what it guards."""
    names = {id(use.node): use.name for use in context.names.uses}
    for call in context.names.calls:
        found = (
            guards.asked_name(call.node, names) if id(call.node) in context.names.asked else None
        )
        if found is None:
            _lost_package(context, call, names)
            continue
        cell, (base, name) = context.cell_of(call.node), call.node.args
        module, _, last = found.becomes.rpartition(".")
        with context.rule(found.code):
            context.replace(base, cell, context.local(module))
            if constant(name) != last:
                context.replace(name, cell, repr(last))


def _lost_package(context: Context, call: Call, names: Mapping[int, str]) -> None:
    """Marks ``hasattr(tf.contrib, 'rnn')``, which raises, where nothing asks for ``contrib`` first."""
    asks = call.name in ("hasattr", "getattr") and len(call.node.args) > 1 and not call.guarded
    if not asks or names.get(id(call.node.args[0])) != "tensorflow.contrib":
        return
    if all(constant(node) != "contrib" for node in context.nodes):
        what = "tf.contrib: TensorFlow 2 has none"
        context.todo("TPU206", what, call.node, context.cell_of(call.node))


def _whole_modules(context: Context) -> None:
    """``losses = tf.losses``, and ``getattr(tf.train, name)``: what is used of it cannot be followed."""
    asked = {
        id(call.node.args[0])
        for call in context.names.calls
        if call.name == "hasattr" and isinstance(constant(call.node.args[-1]), str)
    }
    for use in context.names.uses:
        head, _, path = use.name.partition(".")
        is_alone = use.statement is None and not use.guarded and id(use.node) not in context.done
        if (
            head == "tensorflow"
            and path in _MEANS_ANOTHER
            and is_alone
            and id(use.node) not in asked
        ):
            new = context.local("tf.compat.v1." + path)
            context.replace(use.node, context.cell_of(use.node), new)


def _left_to_keras_2(context: Context, found: Import) -> bool:
    """Marks an import of what models of Keras 3 cannot use."""
    if id(found.node) in context.done or any(use.guarded for use in found.uses):
        return False
    fates = {id(use.node): today.fate(use.name) for use in found.uses}
    all_lost = {node: fate for node, fate in fates.items() if fate and today.is_of_keras_2(fate)}
    if any(today.is_module(fate) for fate in all_lost.values()):
        return False
    lost = [
        fate
        for alias in found.node.names
        for fate in [all_lost.get(id(alias))]
        if fate and not context.is_idle(alias)
        if not has_served(context, alias.asname or alias.name)
    ]
    for fate in lost:
        context.todo("TPU207", _left(fate), found.node, found.cell)
    return bool(lost)


def _is_left(context: Context, fate: today.Fate) -> bool:
    """Whether Keras 3 does not have it."""
    return context.of_keras_3 and today.is_of_keras_2(fate) and not today.is_module(fate)


def _left(fate: today.Fate) -> str:
    return f"{fate.was}: Keras 3 has none; migrate --keras 2 keeps it"


def _code_of(context: Context, found: Import) -> str:
    places = (context.place_of.get(id(alias)) for alias in found.node.names)
    return next((place.finding.code for place in places if place), "TPU201")


def _expression(context: Context, place: Place) -> bool:
    fate, node = place.fate, place.use.node
    if _goes_on(context, place):
        return True
    target: Any = node
    for _ in fate.rest.split(".") if fate.rest else ():
        target = target.value
    cell = place.finding.cell
    if not isinstance(target, (ast.Attribute, ast.Name, ast.Call)):
        return False
    if fate.becomes.startswith(_PRIVATE):  # tf has no attribute `python`: an import alone finds it
        return False
    if place.finding.code == "TPU220" and fate.becomes.startswith("-"):
        return context.replace(target, cell, "(-" + context.local(fate.becomes[1:]) + ")")
    if isinstance(target, ast.Call) and not _is_getattr(target):
        return False
    done = context.replace(target, cell, context.local(fate.becomes))
    context.done.add(id(node))
    if isinstance(target, ast.Call):  # with its default
        context.done.update(map(id, walk(target)))
    return done


#: Packages whose names stay as a file writes them, once its import is that of the package.
_GO_ON = ("tf_", "tf.keras")


def _goes_on(context: Context, place: Place) -> bool:
    """Whether the name is right as it is, once the import of its package has been rewritten."""
    base = place.use.base
    if base.count(".") < 1 or not place.fate.becomes.startswith(_GO_ON):
        return False
    package = today.fate(base)
    if package is None or package.fix != fixes.SAFE or not package.becomes.startswith(_GO_ON):
        return False
    if package.becomes == "tf_slim.layers" and place.fate.becomes.count(".") == 1:
        return False  # it stands beside that module
    below = place.use.name[len(base) + 1 :]
    symbol = below[: len(below) - len(place.fate.rest) - 1] if place.fate.rest else below
    if package.becomes.startswith("tf.keras"):
        return place.fate.becomes == f"{package.becomes}.{symbol}"
    # slim.conv2d is tf_slim.conv2d, which the table calls tf_slim.layers.conv2d.
    return place.fate.becomes.rpartition(".")[2] == symbol.rpartition(".")[2]


def _is_getattr(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "getattr"


# Imports -------------------------------------------------------------------------------------------

#: Modules of ``tf`` that are attributes alone, so that ``from`` does not find them (2.15 to 2.21).
ATTRIBUTES_ALONE = (
    *(
        "tf.distribute.cluster_resolver.",
        "tf.distribute.coordinator.",
        "tf.distribute.experimental.",
    ),
    *("tf.initializers.", "tf.losses.", "tf.metrics.", "tf.optimizers."),
)


def _import(context: Context, found: Import) -> None:
    """Rewrites an import statement as a whole, where each of its names has a place."""
    if any(use.guarded for use in found.uses) or id(found.node) in context.done:
        return
    fates = {id(use.node): today.fate(use.name) for use in found.uses}
    if not any(fates.values()):
        return
    lines: list[str] = []
    kept: list[Any] = []
    for alias in found.node.names:
        fate = fates.get(id(alias))
        if fate is None or id(alias) not in context.place_of:
            kept.append(alias)
            continue
        new = _new_import(context, found, alias, fate)
        if (new is None or _is_left(context, fate)) and context.is_idle(alias):
            continue  # which nothing uses
        if new is None:
            context.todo_for(context.place_of[id(alias)].finding, found.node)
            kept.append(alias)
        elif new:
            _add_import(lines, new)
    if len(kept) == len(found.node.names):
        return
    if kept:
        lines.insert(0, _statement(found.node, kept))
    _replace(context, found, lines)


def _add_import(lines: list[str], new: str) -> None:
    """Adds a statement, or its name to the statement that imports from the same module."""
    package, _, name = new.partition(" import ")
    if lines and name and lines[-1].partition(" import ")[0] == package:
        lines[-1] += ", " + name
    else:
        lines.append(new)


def _new_import(context: Context, found: Import, alias: Any, fate: today.Fate) -> str | None:
    """The statement for one name; "" where it is not needed any more, None where nobody knows."""
    is_from = isinstance(found.node, ast.ImportFrom)
    if fate.code == "TPU211":
        return ""  # what it made is under a strategy now
    if has_served(context, alias.asname or alias.name):
        return ""
    if today.is_module(fate) and fate.was.startswith("tf.contrib"):
        uses = [
            place for place in context.places
            if place.use.statement is None and place.use.base == "tensorflow." + fate.was[3:]
        ]  # fmt: skip
        if not fate.becomes.startswith(_GO_ON):
            # Its names are rewritten where they are used, so nothing is left of it.
            if all(place.fate.fix == fixes.SAFE for place in uses) and (is_from or alias.asname):
                return ""
            return None
    if (
        fate.fix != fixes.SAFE
        or not fate.becomes
        or fate.becomes.startswith(_OURS)
        or (fate.rest and not (is_from and fate.becomes.startswith(_PRIVATE)))
        or (not is_from and not alias.asname)
    ):
        return None
    name = alias.asname or alias.name
    if name == "*":
        package = _package(context, fate.becomes)
        return f"from {package} import *"
    module, _, last = ".".join(filter(None, (fate.becomes, fate.rest))).rpartition(".")
    if not module:
        return None if last in ("int", "float", "bool", "object", "str", "complex") else (
            f"import {last}" + (f" as {name}" if name != last else "")
        )  # fmt: skip
    if (module + ".").startswith(ATTRIBUTES_ALONE):
        return f"{name} = {context.local(fate.becomes)}"
    module = _package(context, module)
    return f"from {module} import {last}" + (f" as {name}" if name != last else "")


def _package(context: Context, module: str) -> str:
    if context.keras == 2 and (module + ".").startswith("tf.keras."):
        return "tf_keras" + module[len("tf.keras") :]
    return re.sub(r"^tf\b", "tensorflow", module)


def has_served(context: Context, name: str) -> bool:
    """Whether an imported name was used, and is no longer: another rewriting took out all that used it."""
    loads = context.loads(name)
    return bool(loads) and all(id(node) in context.done for node in loads)


def drop_idle(context: Context, names: frozenset[str]) -> set[int]:
    """Takes names out of ``from`` imports that nothing in the file uses; gives their nodes."""
    dropped: set[int] = set()
    for found in context.imports:
        gone = [
            use.node
            for use in found.uses
            if use.name in names and isinstance(use.node, ast.alias) and context.is_idle(use.node)
        ]
        if not gone or not isinstance(found.node, ast.ImportFrom):
            continue
        kept = [one for one in found.node.names if not any(one is node for node in gone)]
        _replace(context, found, [_statement(found.node, kept)] if kept else [])
        dropped.update(map(id, gone))
    return dropped


def _statement(node: Any, names: list[Any]) -> str:
    words = ", ".join(one.name + (f" as {one.asname}" if one.asname else "") for one in names)
    if isinstance(node, ast.ImportFrom):
        return f"from {'.' * node.level}{node.module or ''} import {words}"
    return "import " + words


def _replace(context: Context, found: Import, lines: list[str]) -> None:
    text = context.texts[found.cell]
    if not lines:
        if not context.remove(found.node, found.cell):
            context.replace(found.node, found.cell, "pass")
        return
    if len(lines) > 1 and not text.owns_lines(found.node):
        context.replace(found.node, found.cell, "; ".join(lines))
        return
    between = text.newline + text.indent(found.node.lineno)
    context.replace(found.node, found.cell, between.join(lines))
