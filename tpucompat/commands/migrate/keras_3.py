"""Rewrites what Keras 3 offers otherwise than Keras 2; the rows are in keras_3_rows.py.

A rewriting is a function of the file and the place; where it cannot see enough it gives False, and the place
gets a TODO with the row's code.
"""

from __future__ import annotations

import ast
from typing import Any, Iterator, Mapping

from tpucompat.commands.analysis import one_element
from tpucompat.commands.analysis.findings import Module
from tpucompat.commands.analysis.keras_3 import Finder, applies
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import below_keras
from tpucompat.commands.migrate import (
    keras_2,
    keras_3_arguments,
    keras_3_elsewhere,
    keras_3_files,
    keras_3_inputs,
    keras_3_members,
    keras_3_modes,
    keras_3_names,
    keras_3_numbers,
    keras_3_values,
    symbols,
)
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras_3_rewriter import Rewriter, Rewriting
from tpucompat.names import fixes
from tpucompat.names import successors as today
from tpucompat.names.used import walk

_REWRITINGS: Mapping[str, Rewriting] = {
    **keras_3_arguments.REWRITINGS,
    **keras_3_members.REWRITINGS,
    **keras_3_elsewhere.REWRITINGS,
    **keras_3_modes.REWRITINGS,
    **keras_3_names.REWRITINGS,
    **keras_3_files.REWRITINGS,
    **keras_3_numbers.REWRITINGS,
    **keras_3_inputs.REWRITINGS,
    **keras_3_values.REWRITINGS,
}


def rewrite(context: Context) -> None:
    """Rewrites every difference of a file, or marks it."""
    if not applies(context.module):
        rewrite_numbers(context, has_estimators=False)
        return
    rewriter = Rewriter(context, _REWRITINGS)
    if context.keras == 2:
        rewriter.found = [one for one in rewriter.found if not keras_2.keeps(one)]
    for one in rewriter.found:
        if not one.guarded:
            with context.rule(one.row.code):
                rewriter.rewrite(one)
    rewriter.finish()
    if context.keras == 2:
        keras_2.rewrite(context)
    elif rewriter.finder.needs_tf_keras:
        with context.rule("TPU511"):
            _import_tf_keras(context)
            _shorten(context)


class _Numbers(Finder):
    """Looks for arrays in the place of numbers alone: what a graph is made of stays that of Keras 2."""

    def __init__(self, module: Module, has_estimators: bool) -> None:
        super().__init__(module)
        self.has_estimators = has_estimators

    def _all(self) -> Iterator[Difference]:
        for node in self.nodes:
            yield from one_element.numbers(self, node)


def rewrite_numbers(context: Context, has_estimators: bool = True) -> None:
    """Rewrites numbers that NumPy no longer makes of arrays with axes, and nothing else.

    Args:
      context: A file whose models of Keras, if any, stay those of Keras 2.
      has_estimators: Whether ``predict`` of what is not known is that of an Estimator.
    """
    finder = _Numbers(context.module, has_estimators)
    rewriter = Rewriter(context, keras_3_values.REWRITINGS, finder)
    for one in rewriter.found:
        with context.rule("TPU221"):
            rewriter.rewrite(one)


def uses_models(context: Context) -> bool:
    """Whether a file makes layers or models of Keras, which live in no graph of TensorFlow 1 any more."""
    return applies(context.module) and any(
        below_keras(call.name).startswith(("layers.", "models.", "Sequential", "Model", "Input"))
        for call in context.names.calls
    )


def _import_tf_keras(context: Context) -> None:
    """Imports Keras from TensorFlow, which has more of Keras 2 than the package ``keras`` has."""
    for found in context.imports:
        node, text = found.node, context.texts[found.cell]
        if not found.uses[0].name.startswith("keras") or any(use.guarded for use in found.uses):
            continue
        lines = _imported(context, node)
        start, end = text.span(node)
        served = isinstance(node, ast.ImportFrom) and all(
            symbols.has_served(context, one.asname or one.name) for one in node.names
        )
        if served and text.is_free(start, end):
            context.remove(node, found.cell)
            context.done.update(id(inside) for inside in walk(node))
        if not lines or not text.is_free(start, end):
            continue
        if text.owns_lines(node):
            between = text.newline + text.indent(node.lineno)
        else:
            between = "; "
        text.replace(start, end, between.join(lines))
        context.done.update(id(inside) for inside in walk(node))


def _shorten(context: Context) -> None:
    """``keras.utils.np_utils.to_categorical`` -> ``keras.utils.to_categorical``, and so on."""
    for use in context.names.uses:
        node: Any = use.node
        symbol = _private_symbol(use.name)
        if use.statement is not None or use.guarded or not symbol:
            continue
        for _ in range(use.name.count(".") - use.base.count(".")):
            node = getattr(node, "value", None)
        above = (below_keras(use.base + ".x")[:-2] + ".").lstrip(".")
        below = _successor(symbol, below_keras(symbol)) + use.name[len(symbol) :]
        package = _OF_ENGINE.get(below.partition(".")[0])
        below = f"{package}.{below}" if package else below
        is_here = isinstance(node, ast.Name) and below.startswith(above)
        if is_here and id(use.node) not in context.done:
            words = f"{node.id}.{below[len(above) :]}"
            context.replace(use.node, context.cell_of(use.node), words)


def _private_symbol(name: str) -> str:
    """What of a dotted name is a symbol of a private module; "" if nothing is."""
    parts = name.split(".")
    if name.startswith("keras.engine."):
        return ".".join(parts[: 3 if parts[2][:1].isupper() else 4])
    for count in range(len(parts) - 1, 1, -1):
        if ".".join(parts[:count]) in _PRIVATE_MODULES:
            return ".".join(parts[: count + 1])
    return ""


def _imported(context: Context, node: Any) -> list[str]:
    """The statements in the place of one; [] where it stays."""
    groups: dict[str, list[str]] = {}
    if isinstance(node, ast.Import):
        if any(one.name.partition(".")[0] != "keras" for one in node.names):
            return []
        for one in node.names:
            below = below_keras(one.name + ".x")[:-2] if one.name != "keras" else ""
            package, _, name = f"tensorflow.keras.{below}".rstrip(".").rpartition(".")
            if not one.asname and one.name != "keras":
                package, name = "tensorflow", "keras"
            given = one.asname or "keras"
            alias = name if name == given else f"{name} as {given}"
            if alias not in groups.setdefault(package, []):
                groups[package].append(alias)
    else:
        for one in node.names:
            if one.name == "*":
                groups.setdefault("tensorflow." + node.module, []).append("*")
                continue
            full = f"{node.module}.{one.name}"
            fate = today.fate(full)
            if fate is not None and fate.becomes.startswith(_ELSEWHERE) and context.is_idle(one):
                continue
            if symbols.has_served(context, one.asname or one.name):
                continue
            is_module = full in _PRIVATE_MODULES
            below = below_keras(full + ".x")[:-2] if is_module else below_keras(full)
            package, _, name = _full(fate, _successor(full, below)).rpartition(".")
            given = one.asname or one.name
            groups.setdefault(package, []).append(name if name == given else f"{name} as {given}")
    return [f"from {package} import {', '.join(names)}" for package, names in groups.items()]


def _full(fate: today.Fate | None, below: str) -> str:
    """The full name of a name below tf.keras, or of what TensorFlow has in its place elsewhere."""
    becomes = fate.becomes if fate is not None and fate.fix == fixes.SAFE else ""
    if becomes.startswith("tf.") and not becomes.startswith("tf.keras."):
        return "tensorflow" + becomes[len("tf") :]
    return f"tensorflow.keras.{below}"


def _successor(full: str, below: str) -> str:
    """What an imported name is called below tf.keras today: ``LSTM`` of ``CuDNNLSTM``."""
    for found in (today.fate(full), today.fate("tensorflow.keras." + below)):
        is_safe = found is not None and found.fix == fixes.SAFE
        if found is not None and is_safe and found.becomes.startswith(("tf.keras.", "keras.")):
            return found.becomes.partition("keras.")[2]
    return below


#: What Keras has in a package, and Keras 2 had in the engine too.
_OF_ENGINE: Mapping[str, str] = {
    **dict.fromkeys(("Layer", "InputSpec"), "layers"),
    **dict.fromkeys(("load_model", "model_from_json", "save_model"), "models"),
}
_ELSEWHERE = ("tf_keras.", "tpucompat.")
_PRIVATE_MODULES = frozenset(
    (
        *(
            "keras.utils." + name
            for name in ("np_utils", "generic_utils", "vis_utils", "data_utils")
        ),
        *("keras.utils." + name for name in ("layer_utils", "conv_utils", "io_utils")),
        *(
            "keras.layers." + name
            for name in ("core", "convolutional", "pooling", "recurrent", "merge")
        ),
        *(
            "keras.layers." + name
            for name in ("normalization", "embeddings", "advanced_activations")
        ),
        *("keras.layers." + name for name in ("wrappers", "noise", "local", "cudnn_recurrent")),
        *("keras.utils." + name for name in ("multi_gpu_utils", "test_utils", "losses_utils")),
        *("keras.backend." + name for name in ("common", "tensorflow_backend")),
        *("keras.callbacks." + name for name in ("callbacks", "tensorboard_v1", "tensorboard_v2")),
        "keras.layers.convolutional_recurrent",
        "keras.objectives",
        "keras.engine",
    )
)
