"""Methods that Keras and tf.data have renamed, and the names of metrics."""

from __future__ import annotations

import ast
from typing import Any, Mapping, Sequence

from tpucompat.commands.analysis import indexes, keras_3
from tpucompat.commands.analysis.keras_values import below_keras
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras_3_text import OF_STEP, STEP_CALLBACK
from tpucompat.commands.migrate.text import Text
from tpucompat.names import era
from tpucompat.names.used import Call, argument, constant, index_of, keyword, walk

# Old method -> (new one, its old parameters in order, those with another name now, those that are gone).
_GENERATORS: Mapping[str, tuple[str, Sequence[str]]] = {
    ".fit_generator": (
        "fit",
        (
            *("generator", "steps_per_epoch", "epochs", "verbose", "callbacks", "validation_data"),
            *("validation_steps", "class_weight", "max_queue_size", "workers"),
            *("use_multiprocessing", "shuffle", "initial_epoch"),
        ),
    ),
    ".evaluate_generator": (
        "evaluate",
        (
            "generator",
            "steps",
            "callbacks",
            "max_queue_size",
            "workers",
            "use_multiprocessing",
            "verbose",
        ),
    ),
    ".predict_generator": (
        "predict",
        (
            "generator",
            "steps",
            "callbacks",
            "max_queue_size",
            "workers",
            "use_multiprocessing",
            "verbose",
        ),
    ),
}
# How the batches are fetched, not which: later releases decide by themselves.
_GONE = ("max_queue_size", "workers", "use_multiprocessing")
#: What a Dataset of TensorFlow 1 told of its elements.
_STRUCTURES = ("output_types", "output_shapes", "output_classes")
_ITERATORS = (".make_one_shot_iterator", ".make_initializable_iterator")
_WITHOUT_QUEUE = '''

def without_queue(settings):
{i}"""Settings of fit_generator as fit takes them; how batches are fetched is decided by Keras."""
{i}gone = 'max_queue_size', 'use_multiprocessing', 'workers'
{i}kept = {{name: value for name, value in settings.items() if name not in gone}}
{i}return {{'x' if name == 'generator' else name: value for name, value in kept.items()}}
'''
# Variables of TensorFlow 2 raise NotImplementedError.
_INITIALIZED = '''

def initialized_value(variable):
{i}"""The value of a variable; its initial one where no Session has initialized it."""
{i}if {tf}.executing_eagerly() or {tf}.inside_function():
{i}{i}return variable.read_value()
{i}known = {tf}.compat.v1.is_variable_initialized(variable)
{i}return {tf}.compat.v1.cond(known, variable.read_value, lambda: variable.initial_value)
'''


def rewrite(context: Context) -> None:
    """Rewrites generators, iterators and the keys of a training's history."""
    for call in context.names.calls:
        if call.guarded or id(call.node) in context.done:
            continue
        if call.name in _GENERATORS:
            _generator(context, call)
        elif call.name in _ITERATORS:
            _iterator(context, call)
        elif call.name == ".initialized_value" and not (call.node.args or call.node.keywords):
            _initialized(context, call.node)
    _structures(context)
    _step_logs(context)
    _step_functions(context)


def _structures(context: Context) -> None:
    """``dataset.output_types`` -> ``tf.compat.v1.data.get_output_types(dataset)``"""
    if not any(use.name.startswith("tensorflow.data.") for use in context.names.uses):
        return
    found = [
        node
        for node in context.nodes
        if isinstance(node, ast.Attribute) and node.attr in _STRUCTURES
    ]
    own = {node.attr for node in found if isinstance(node.ctx, ast.Store)}
    for node in found:
        cell = context.cell_of(node)
        text = context.texts[cell]
        start, end = text.span(node.value)[1], text.span(node)[1]
        if node.attr in own or id(node) in context.done or not text.is_free(start, end):
            continue
        name = context.local(f"tf.compat.v1.data.get_{node.attr}")
        text.replace(start, end, ")")
        text.replace(text.span(node)[0], text.span(node)[0], f"{name}(")
        context.done.add(id(node))


def _generator(context: Context, call: Call) -> None:
    cell = context.cell_of(call.node)
    new, parameters = _GENERATORS[call.name]
    node, text = call.node, context.texts[cell]
    starred = any(isinstance(value, ast.Starred) for value in node.args)
    settings = [word.value for word in node.keywords if word.arg is None]
    if (
        starred
        or len(node.args) > len(parameters)
        or (settings and not context.helper("without_queue", _WITHOUT_QUEUE))
    ):
        context.todo("TPU214", f"{call.name[1:]} → {new}: its arguments are unknown", node, cell)
        return
    validation = (
        argument(node, list(parameters).index("validation_data"), "validation_data")
        if new == "fit"
        else None
    )
    given = validation is not None and not isinstance(validation, ast.Constant)
    if given or new == "evaluate":
        what = "was the unweighted mean of the batches; it now weights them by size"
        what = f"{'val_loss' if given else 'the loss'} {what}"
        context.note("TPU217", what, node, cell)
    end = text.span(node.func)[1]
    old = call.name[1:]
    text.replace(end - len(old), end, new)
    for given_settings in settings:
        start, end = text.span(given_settings)
        text.replace(start, start, "without_queue(")
        text.replace(end - 1, end, text.text[end - 1] + ")")  # before what others write behind
    for parameter, value in zip(parameters[1:], node.args[1:]):
        if parameter in _GONE:
            _drop(text, text.span(value)[0], value)
        else:
            start = text.span(value)[0]
            text.replace(start, start, parameter + "=")
    for word in node.keywords:
        if word.arg == "generator":
            text.replace(*text.keyword(word), "x")
        elif word.arg in _GONE:
            in_thread = constant(word.value) == 0 and word.arg == "workers"
            if in_thread and new == "fit" and keyword(node, "shuffle") is None:
                # The main thread read a Sequence in its order, whatever shuffle said.
                text.replace(text.keyword(word)[0], text.span(word.value)[1], "shuffle=False")
            else:
                _drop(text, text.keyword(word)[0], word.value)
        elif word.arg == "shuffle" and constant(keyword(node, "workers")) == 0:
            context.replace(word.value, cell, "False")


def _drop(text: Text, start: int, value: ast.AST) -> None:
    """Takes an argument out, with the comma and the space before it."""
    end = text.span(value)[1]
    before = text.text[:start].rstrip()
    if before.endswith(","):
        text.replace(len(before) - 1, end, "")


def _iterator(context: Context, call: Call) -> None:
    """``dataset.make_one_shot_iterator()`` -> ``tf.compat.v1.data.make_one_shot_iterator(dataset)``."""
    cell = context.cell_of(call.node)
    text, node = context.texts[cell], call.node
    value: Any = getattr(node.func, "value", None)
    start, end = text.span(node)
    function_end = text.span(node.func)[1]
    if value is None or (node.args and call.name == ".make_one_shot_iterator"):
        return
    name = context.local("tf.compat.v1.data" + call.name)
    inner = text.span(value)
    opening = text.text.find("(", function_end, end)
    if opening < 0 or not text.is_free(inner[1], end):
        context.todo(
            "TPU214", f"{call.name[1:]}: tf.compat.v1.data has it as a function", node, cell
        )
        return
    # What the dataset is written as stays where it is, with the rewritings inside of it.
    more = "" if text.text[opening + 1 : end - 1].strip() in ("", ",") else ", "
    text.replace(start, start, name + "(")
    text.replace(inner[1], opening + 1, more)


def _initialized(context: Context, node: ast.Call) -> None:
    """``variable.initialized_value()`` -> ``initialized_value(variable)``, a function of the file's own."""
    cell = context.cell_of(node)
    text = context.texts[cell]
    start, end = text.span(node)
    inner = text.span(node.func.value)[1]  # type: ignore[attr-defined]
    if text.is_free(inner, end) and context.helper("initialized_value", _INITIALIZED):
        text.replace(start, start, "initialized_value(")
        text.replace(inner, end, ")")


_OF_STEPS = frozenset(
    f"on{kind}_batch_{end}" for kind in ("", "_train") for end in ("begin", "end")
)


def _step_logs(context: Context) -> None:
    """The logs of a step: in TensorFlow 1 its loss, metrics since the epoch began, its number and its size.

    TensorFlow 2.2 made its loss the mean since the epoch began, as it is in Keras 3.
    """
    is_own = context.module.era == era.TF1
    if not keras_3.applies(context.module):
        return
    for function in indexes.nodes(
        context, ast.FunctionDef
    ):  # several classes have one of this name
        arguments = [one.arg for one in function.args.args]
        if function.name not in _OF_STEPS or len(arguments) != 3:
            continue
        for node in walk(function):
            cell = context.cell_of(node)
            has_items = is_own and _is_items(node, arguments[2])
            if has_items and context.helper("of_step", OF_STEP):
                own, number, logs = arguments
                each = f"{{**{logs}, 'batch': {number}, 'loss': of_step({own}, 'loss')}}"
                context.replace(node.func.value, cell, each)  # type: ignore[attr-defined]
                context.note("TPU511", _NO_SIZE, node, cell)
                continue
            if is_own and _passes_on(context, node, arguments[2]):
                context.todo("TPU215", _MEANS, node, cell)
                continue
            name = _log(node, arguments[2])
            if name is not None and (is_own or constant(name) != "loss"):
                _step_log(context, node, name, arguments)


def _step_log(context: Context, node: ast.AST, name: ast.expr, arguments: list[str]) -> None:
    """One entry of the logs of a step."""
    cell = context.cell_of(node)
    own, number, _ = arguments
    entry = constant(name)
    if entry == "size":
        context.todo("TPU511", _NO_SIZE, node, cell)
    elif entry == "batch":
        context.replace(node, cell, number)
    elif entry == "loss":
        done = context.helper("of_step", OF_STEP)
        text = context.texts[cell].source(name)
        if not done or not context.replace(node, cell, f"of_step({own}, {text})"):
            context.todo("TPU215", _MEANS, node, cell)
    elif not isinstance(entry, str):
        context.todo("TPU215", _MEANS, node, cell)


def _step_functions(context: Context) -> None:
    """Functions that a LambdaCallback calls at the end of a step, which get the logs of TensorFlow 1 too."""
    for call in context.names.calls:
        if below_keras(call.name) != "callbacks.LambdaCallback":
            continue
        given = [argument(call.node, 3, "on_batch_end"), keyword(call.node, "on_train_batch_end")]
        for value in given if keras_3.applies(context.module) else ():
            if value is None or not _needs_loss(context, value):
                continue
            cell = context.cell_of(call.node)
            is_only = given[0] is value or given[0] is None
            done = is_only and context.helper("of_step", OF_STEP)
            done = done and context.helper("StepCallback", STEP_CALLBACK)
            if not done or not context.replace(call.node.func, cell, "StepCallback"):
                context.todo("TPU215", _MEANS, call.node, cell)
            elif given[1] is value:
                start = context.texts[cell].keyword(_word(call.node, value))[0]
                context.texts[cell].replace(
                    start, start + len("on_train_batch_end"), "on_batch_end"
                )


def _word(call: ast.Call, value: ast.AST) -> ast.keyword:
    return next(word for word in call.keywords if word.value is value)


def _needs_loss(context: Context, value: ast.expr) -> bool:
    """Whether a function may read the step's loss or number from its logs, or calls them otherwise."""
    known = context.names.functions.get(getattr(value, "id", ""))
    function: Any = value if isinstance(value, ast.Lambda) else known.node if known else None
    if function is None:
        return constant(value) is not None or not isinstance(value, ast.Constant)
    arguments = [one.arg for one in function.args.args]
    if len(arguments) != 2 or arguments[1] != "logs":
        return True  # Keras 3 passes them as ``logs``
    uses = reads = 0
    for node in walk(function):
        uses += isinstance(node, ast.Name) and node.id == "logs"
        name = constant(_log(node, "logs"))
        reads += isinstance(name, str) and name not in ("loss", "batch")
        if name == "size":
            context.todo("TPU511", _NO_SIZE, node, context.cell_of(node))
    return uses > reads


_NO_SIZE = "Keras 3 logs no size of a batch"
_MEANS = (
    "logs['loss'] now contains the mean since the start of the epoch, not the value of the step"
)


def _is_items(node: ast.AST, logs: str) -> bool:
    """Whether all of the logs are read: ``logs.items()``."""
    function = node.func if isinstance(node, ast.Call) else None
    return (
        isinstance(function, ast.Attribute)
        and function.attr in ("items", "values", "iteritems")
        and getattr(function.value, "id", "") == logs
    )


def _passes_on(context: Context, node: ast.AST, logs: str) -> bool:
    """Whether all of the logs go elsewhere: ``self.seen.append(logs)``, ``'{loss}'.format(**logs)``."""
    if not isinstance(node, ast.Name) or node.id != logs or not isinstance(node.ctx, ast.Load):
        return False
    parents = context.parents(context.cell_of(node))
    above: Any = parents.get(id(node))
    if isinstance(above, ast.keyword):
        return above.arg is None or not _is_super(parents.get(id(above)))
    if isinstance(above, ast.Call) and above.func is not node:
        return not _is_super(above) and getattr(above.func, "id", "") not in _ABOUT_LOGS
    return getattr(above, "attr", "") == "copy"


_ABOUT_LOGS = frozenset(("bool", "isinstance", "len", "list", "set", "sorted", "type"))


def _is_super(call: Any) -> bool:
    """Whether a call is of a method of the base class: ``super().on_batch_end(batch, logs)``."""
    owner = getattr(getattr(call, "func", None), "value", None)
    is_base = isinstance(owner, ast.Call) and getattr(owner.func, "id", "") == "super"
    return is_base or getattr(getattr(call, "func", None), "attr", "") in _OF_STEPS


def _log(node: ast.AST, logs: str) -> ast.expr | None:
    """The key of ``logs[key]`` and ``logs.get(key)``; None of anything else."""
    if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == logs:
        return index_of(node) if isinstance(node.ctx, ast.Load) else None
    function = node.func if isinstance(node, ast.Call) and node.args else None
    if not isinstance(function, ast.Attribute) or function.attr != "get":
        return None
    return node.args[0] if getattr(function.value, "id", "") == logs else None  # type: ignore[attr-defined]
