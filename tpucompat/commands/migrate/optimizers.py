"""Optimizers of ``tf.train`` as Keras optimizers with the hyperparameters that they had."""

from __future__ import annotations

import ast
from typing import Mapping, NamedTuple

from tpucompat.commands.analysis import keras_3_tables
from tpucompat.commands.analysis.keras_values import key
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras_3_text_training import BY_ROWS
from tpucompat.commands.migrate.text import Text
from tpucompat.names.used import Call, argument, constant, walk


class Counterpart(NamedTuple):
    """A Keras optimizer that computes the same.

    Attributes:
      name: Its name in ``tf.keras.optimizers``.
      parameters: The old parameters in order -> those of Keras; None for one that means nothing there.
      defaults: What the old one took where nothing was given and Keras takes something else.
      same: Whether the steps are the same; else it is an unsafe rewriting, for the reason ``note``.
      note: What differs.
      written: The name of a class that is written into the script for it, or None.
    """

    name: str
    parameters: Mapping[str, str | None]
    defaults: Mapping[str, str]
    same: bool = True
    note: str = ""
    written: str | None = None


_FROM_ONES = '''

@{keras}.utils.register_keras_serializable()
class RMSpropFromOnes({keras}.optimizers.RMSprop):
{i}"""Begins with an average of ones, as tf.train.RMSPropOptimizer did."""

{i}def add_variable_from_reference(self, reference_variable, name=None, initializer='zeros'):
{i}{i}initializer = 'ones' if name == 'velocity' else initializer
{i}{i}return super().add_variable_from_reference(reference_variable, name, initializer)
'''

_IGNORED: Mapping[str, str | None] = {"use_locking": None, "name": "name"}

# The same for tf-keras.
_FROM_ONES_2 = '''

@{keras}.utils.register_keras_serializable()
class RMSpropFromOnes({keras}.optimizers.RMSprop):
{i}"""Begins with an average of ones, as tf.train.RMSPropOptimizer did."""

{i}def add_variable_from_reference(self, model_variable, variable_name, shape=None, initial_value=None):
{i}{i}if variable_name == 'velocity':
{i}{i}{i}initial_value = {tf}.ones(model_variable.shape, model_variable.dtype)
{i}{i}return super().add_variable_from_reference(model_variable, variable_name, shape, initial_value)
'''

#: Class of ``tf.train`` -> its counterpart (tensorflow/python/training of 1.15 and Keras 2 and 3).
COUNTERPARTS: Mapping[str, Counterpart] = {
    "AdamOptimizer": Counterpart(
        "Adam",
        {
            "learning_rate": "learning_rate",
            "beta1": "beta_1",
            "beta2": "beta_2",
            "epsilon": "epsilon",
            **_IGNORED,
        },
        {"learning_rate": "0.001", "epsilon": "1e-08"},  # Keras' own epsilon is 1e-7
    ),
    "GradientDescentOptimizer": Counterpart(
        "SGD", {"learning_rate": "learning_rate", **_IGNORED}, {}
    ),
    "MomentumOptimizer": Counterpart(
        "SGD",
        {
            "learning_rate": "learning_rate",
            "momentum": "momentum",
            "use_locking": None,
            "name": "name",
            "use_nesterov": "nesterov",
        },
        {},
    ),
    "RMSPropOptimizer": Counterpart(
        "RMSprop",
        {
            "learning_rate": "learning_rate",
            "decay": "rho",
            "momentum": "momentum",
            "epsilon": "epsilon",
            "use_locking": None,
            "centered": "centered",
            "name": "name",
        },
        {"epsilon": "1e-10"},
        written="RMSpropFromOnes",
    ),
    "AdagradOptimizer": Counterpart(
        "Adagrad",
        {
            "learning_rate": "learning_rate",
            "initial_accumulator_value": "initial_accumulator_value",
            **_IGNORED,
        },
        {"epsilon": "0.0"},  # which tf.train's has not
    ),
    "AdadeltaOptimizer": Counterpart(
        "Adadelta",
        {"learning_rate": "learning_rate", "rho": "rho", "epsilon": "epsilon", **_IGNORED},
        {"learning_rate": "0.001", "epsilon": "1e-08"},
    ),
    "FtrlOptimizer": Counterpart(
        "Ftrl",
        {
            "learning_rate": "learning_rate",
            "learning_rate_power": "learning_rate_power",
            "initial_accumulator_value": "initial_accumulator_value",
            "l1_regularization_strength": "l1_regularization_strength",
            "l2_regularization_strength": "l2_regularization_strength",
            **_IGNORED,
            "accum_name": None,
            "linear_name": None,
            "l2_shrinkage_regularization_strength": "l2_shrinkage_regularization_strength",
        },
        {},
    ),
}


_TRAIN = ("tensorflow.train.", "tensorflow.compat.v1.train.")


def class_of(call: Call) -> str:
    """The class of ``tf.train`` that a call makes an optimizer of; "" for anything else."""
    head, _, name = call.name.rpartition(".")
    known = head + "." in _TRAIN
    return name if known and name.endswith("Optimizer") else ""


def why_not(context: Context, call: Call) -> str:
    """Why an optimizer cannot become a Keras optimizer; "" if it can."""
    counterpart = COUNTERPARTS.get(class_of(call))
    if counterpart is None:
        return "Keras has no such optimizer"
    names = list(counterpart.parameters)
    if len(call.node.args) > len(names) or any(
        isinstance(value, ast.Starred) for value in call.node.args
    ):
        return "its arguments are unknown"
    if any(word.arg not in names for word in call.node.keywords):
        return "its arguments are unknown"
    if counterpart.written is not None and _class_text(context) not in context.helpers:
        name = counterpart.written
        if not context.is_free(name):
            return f"the file has a {name} of its own"
    return "" if counterpart.same or context.unsafe else counterpart.note


def rewrite(context: Context, call: Call) -> None:
    """Puts the Keras optimizer in its place."""
    cell = context.cell_of(call.node)
    counterpart = COUNTERPARTS[class_of(call)]
    text, node = context.texts[cell], call.node
    parameters = list(counterpart.parameters.items())
    given: set[str] = set()
    for index, ((old, new), value) in enumerate(zip(parameters, node.args)):
        given.add(old)
        start = text.span(value)[0]
        if new is None:
            _drop(text, start, value)
        elif index:
            text.replace(start, start, new + "=")
    for word in node.keywords:
        old = word.arg or ""
        new = counterpart.parameters[old]
        given.add(old)
        if new is None:
            _drop(text, text.keyword(word)[0], word.value)
        elif new != old:
            text.replace(*text.keyword(word), new)
    missing = [
        f"{counterpart.parameters.get(old, old)}={default}"
        for old, default in counterpart.defaults.items()
        if old not in given
    ]
    if missing:
        end = text.span(node)[1] - 1
        behind = text.text[:end].rstrip()
        at = len(behind)
        comma = "" if behind.endswith(("(", ",")) else ", "
        text.replace(at, at, (" " if behind.endswith(",") else comma) + ", ".join(missing))
    name = context.local("tf.keras.optimizers." + counterpart.name)
    if counterpart.written is not None and context.helper(
        counterpart.written, _class_text(context)
    ):
        name = counterpart.written
    context.replace(node.func, cell, name)
    of_rows = keras_3_tables.has_tables(context.names) and keras_3_tables.steps_rows(call)
    if of_rows and context.keras != 2 and context.helper("by_rows", BY_ROWS):
        start, end = text.span(node)
        text.replace(start, start, "by_rows(")
        text.replace(end, end, ")")


_SUMMING = ".CrossShardOptimizer"


def compiled(context: Context) -> list[ast.Call]:
    """The calls whose results are given to ``compile``, also by a name that they are assigned to."""
    given = _given(context)
    names = {key(one) for one in given} - {""}
    made = [
        node.value
        for tree in context.trees.values()
        for node in (walk(tree) if names else ())
        if isinstance(node, ast.Assign) and any(key(target) in names for target in node.targets)
    ]
    return [one for one in (*given, *made) if isinstance(one, ast.Call)]


def _given(context: Context) -> list[ast.expr]:
    asked = (
        argument(one.node, 0, "optimizer") for one in context.names.calls if one.name == ".compile"
    )
    return [one for one in asked if one is not None]


def _perhaps_compiled(context: Context) -> list[ast.Call]:
    """As :func:`compiled`; all calls of the file where an optimizer comes from elsewhere in it."""
    found = compiled(context)
    given = [one for one in _given(context) if not isinstance(constant(one), str)]
    of_classes = all(key(one.func).rpartition(".")[2][:1].isupper() for one in found)
    if of_classes and len(found) >= len(given):
        return found
    trees = context.trees.values()
    return [node for tree in trees for node in walk(tree) if isinstance(node, ast.Call)]


def refused(context: Context) -> list[tuple[ast.Call, str]]:
    """Optimizers of TensorFlow 1 that are given to ``compile`` and have no counterpart, and what they are."""
    names = {id(call.node): call.name for call in context.names.calls}
    own = _own_classes(context)
    found = []
    for call in _perhaps_compiled(context):
        name = names.get(id(call), "")
        if name.startswith("tensorflow.contrib.opt."):
            found.append((call, name.replace("tensorflow.", "tf.", 1)))
        elif name.endswith(_SUMMING) and argument(call, 0, "opt") is None:
            found.append((call, "tf.contrib.tpu.CrossShardOptimizer"))
        elif key(call.func) in own:
            found.append((call, f"{key(call.func)}, a subclass of tf.train.Optimizer"))
    return found


def _own_classes(context: Context) -> set[str]:
    """The script's own classes of optimizers of ``tf.train``."""
    used = {id(use.node): use.name for use in context.names.uses}
    classes = [node for node in context.nodes if isinstance(node, ast.ClassDef)]
    own: set[str] = set()
    for node in classes:
        bases = [used.get(id(base), "") for base in node.bases]
        is_optimizer = any(
            base.startswith(_TRAIN) and base.endswith("Optimizer") for base in bases
        ) or any(key(base) in own for base in node.bases)
        if is_optimizer:
            own.add(node.name)
    return own


def wrapped(context: Context) -> list[tuple[ast.Call, ast.expr]]:
    """``CrossShardOptimizer(optimizer)`` given to ``compile``, each with its optimizer."""
    names = {id(call.node): call.name for call in context.names.calls}
    pairs = ((call, argument(call, 0, "opt")) for call in compiled(context))
    return [
        (call, opt)
        for call, opt in pairs
        if opt is not None and names.get(id(call), "").endswith(_SUMMING)
    ]


def unwrap(context: Context) -> None:
    """Leaves the optimizer of a ``CrossShardOptimizer``: a strategy sums what Keras trains with."""
    for call, opt in wrapped(context):
        if id(call.func) in context.done:
            continue
        cell = context.cell_of(call)
        statement, text = context.statement(call, cell), context.texts[cell]
        same = isinstance(statement, ast.Assign) and key(statement.targets[0]) == key(opt) != ""
        if not same or not context.remove(statement, cell):
            text.replace(text.span(call)[0], text.span(opt)[0], "")
            text.replace(text.span(opt)[1], text.span(call)[1], "")
        context.done.add(id(call.func))


#: Methods that count a step, and the place of its variable.
_PLACES = {".apply_gradients": 1, ".minimize": 1}


def rewrite_steps(context: Context) -> None:
    """``optimizer.apply_gradients(pairs, global_step=step)`` of Keras, which counts no step of the program."""
    for call in context.names.calls:
        if call.name not in _PLACES or call.guarded:
            continue
        step = argument(call.node, _PLACES[call.name], "global_step")
        if step is None or isinstance(constant(step), str):  # a name, which Keras' own have there
            continue
        if call.name == ".minimize" and step in call.node.args and not _is_step(context, step):
            continue  # the variables, which Keras' own have there
        cell = context.cell_of(call.node)
        text, statement = context.texts[cell], context.statement(call.node, cell)
        if _is_read(context, step):
            line = f"{text.indent(statement.lineno)}{_step_text(context, step)}.assign_add(1)"
            text.insert_line(statement.end_lineno + 1, line + text.newline)
        word = next((one for one in call.node.keywords if one.value is step), None)
        _drop(text, text.keyword(word)[0] if word is not None else text.span(step)[0], step)
        context.done.update(id(node) for node in walk(step))


def _is_step(context: Context, node: ast.AST) -> bool:
    """Whether an expression is a program's step: ``tf.train.get_global_step()``, or a name for it."""
    name = getattr(node, "id", "")
    values = [node] + [
        one.value
        for tree in context.trees.values()
        for one in (walk(tree) if name else ())
        if isinstance(one, ast.Assign) and getattr(one.targets[0], "id", "") == name
    ]
    asked = {id(use.node) for use in context.names.uses if use.name.endswith("_global_step")}
    return "step" in name or any(id(one) in asked for value in values for one in walk(value))


def _is_read(context: Context, step: ast.AST) -> bool:
    """Whether a program looks at its step elsewhere."""
    own = {id(node) for node in walk(step)}
    name = getattr(step, "id", "")
    return any(
        id(use.node) not in own and use.name.endswith("_global_step") for use in context.names.uses
    ) or any(
        id(node) not in own and getattr(node, "id", "") == name and isinstance(node.ctx, ast.Load)
        for node in context.nodes
        if isinstance(node, ast.Name)
    )


def _step_text(context: Context, step: ast.AST) -> str:
    if isinstance(step, ast.Call):
        return context.local("tf.compat.v1.train.get_or_create_global_step") + "()"
    return context.texts[context.cell_of(step)].source(step)


def _class_text(context: Context) -> str:
    return _FROM_ONES_2 if context.keras == 2 else _FROM_ONES


def _drop(text: Text, start: int, value: ast.AST) -> None:
    """Takes an argument out, with the comma before it, or else behind it."""
    end = text.span(value)[1]
    before = text.text[:start].rstrip()
    if before.endswith(","):
        text.replace(len(before) - 1, end, "")
    else:
        behind = len(text.text) - len(text.text[end:].lstrip(" ,"))
        text.replace(start, behind, "")
