"""Rewrites what Keras 3 computes, logs or orders differently than Keras 2."""

from __future__ import annotations

import ast
from typing import Any, Mapping

from tpucompat.commands.analysis import keras_3_values
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import key
from tpucompat.commands.migrate import (
    keras_3_files,
    keras_3_text_batches,
    keras_3_text_training,
)
from tpucompat.commands.migrate import keras_3_text as written
from tpucompat.commands.migrate.keras_3_rewriter import Rewriter, Rewriting
from tpucompat.names.used import argument, constant, keyword, walk


def _hard_sigmoid(self: Rewriter, one: Difference) -> bool:
    if self.context.keras == 2 and one.call is not None:
        return self.add(one.call, "recurrent_activation='hard_sigmoid'")
    if one.call is None or not self.define("hard_sigmoid", written.HARD_SIGMOID):
        return False
    if one.name == "default":
        return self.add(one.call, "recurrent_activation=hard_sigmoid")
    return self.context.replace(one.node, self.cell(one.node), "hard_sigmoid")


def _hard_sigmoid_function(self: Rewriter, one: Difference) -> bool:
    return self.define("hard_sigmoid", written.HARD_SIGMOID) and self.context.replace(
        one.node, self.cell(one.node), "hard_sigmoid"
    )


def _metric_function(self: Rewriter, one: Difference) -> bool:
    if not self.define("metric_function", keras_3_text_training.METRIC_FUNCTION):
        return False
    self.context.done.add(id(one.node))
    return self.context.replace(one.node, self.cell(one.node), "metric_function")


def _mean_of_rows(self: Rewriter, one: Difference) -> bool:
    mean = self.context.local("tf.reduce_mean")
    return self.wrap(one.node, f"{mean}(", ", axis=-1)")


def _cosine(self: Rewriter, one: Difference) -> bool:
    return self.define("cosine_of_angle", written.COSINE) and self.context.replace(
        one.node, self.cell(one.node), "cosine_of_angle"
    )


def _quiet(self: Rewriter, one: Difference) -> bool:
    return self.add(one.node, "verbose=0")


def _first(self: Rewriter, one: Difference) -> bool:
    return self.rename_attribute(one, one.name + "[0]")


def _only(self: Rewriter, one: Difference) -> bool:
    """``model.output`` -> ``(model.outputs[0] if len(model.outputs) == 1 else model.outputs)``"""
    if not key(one.node):
        return False
    several = f"{key(one.node.value)}.{one.name}"
    text = self.context.texts[self.context.cell_of(one.node)]
    text.replace(*text.span(one.node), f"({several}[0] if len({several}) == 1 else {several})")
    return True


def _each_output(self: Rewriter, one: Difference) -> bool:
    """One list of metrics for each output; objects of metrics may not be shared by them."""
    owner: Any = getattr(one.call.func, "value", None) if one.call is not None else None
    if owner is None or not key(owner) or any(isinstance(node, ast.Call) for node in one.node.elts):
        return False
    return self.wrap(one.node, "[", f" for _ in {key(owner)}.outputs]")


def _by_name(self: Rewriter, one: Difference) -> bool:
    """Weights that the script has not saved itself come from Keras 2, whose files have names."""
    if one.call is None:
        return False
    if constant(one.node) in (False, None) and isinstance(one.node, ast.Constant):
        return self.drop(one.call, one.node)
    path = argument(one.call, 0, "filepath")
    if path is not None and self.finder.text_of(path) in keras_3_files.loaded_by_name(self):
        return True  # keras_3_files saves what has names
    return not any(
        call.name == ".save_weights" or keyword(call.node, "save_weights_only") is not None
        for call in self.context.names.calls
    )


def _in_order(self: Rewriter, one: Difference) -> bool:
    if not self.define("in_order", written.IN_ORDER):
        return False
    owner = one.node.func.value
    model = self.context.texts[self.cell(owner)].source(owner)
    return self.wrap(one.node, f"in_order({model}, ", ")")


def _logged_rate(self: Rewriter, one: Difference) -> bool:
    return self.define("logging_lr", written.LOGGING_LR) and self.wrap(one.node, "logging_lr(", ")")


def _log_columns(self: Rewriter, one: Difference) -> bool:
    return self.define("EpochLogger", written.EPOCH_LOGGER) and self.context.replace(
        one.node, self.cell(one.node), "EpochLogger"
    )


def _log_order(self: Rewriter, one: Difference) -> bool:
    """``training.history`` -> ``as_compiled(training)``"""
    if not self.define("as_compiled", written.AS_COMPILED):
        return False
    text = self.context.texts[self.cell(one.node)]
    start = text.span(one.node)[0]
    text.replace(start, start, "as_compiled(")
    return self.behind(one.node.value, one.node, ")")


def _mode(self: Rewriter, one: Difference) -> bool:
    """What ``mode='auto'`` meant: more is better where the name has acc in it."""
    if one.call is None:
        return False
    monitor = argument(one.call, int(one.owner.endswith("ModelCheckpoint")), "monitor")
    text = constant(monitor)
    if isinstance(text, str):
        mode = "'max'" if "acc" in text else "'min'"
    elif isinstance(monitor, (ast.Name, ast.Attribute)):
        source = self.context.texts[self.cell(monitor)].source(monitor)
        mode = f"'max' if 'acc' in {source} else 'min'"
    else:
        return False
    if one.node is one.call:
        return self.add(one.call, f"mode={mode}")
    return self.context.replace(one.node, self.cell(one.node), mode)


def _restored(self: Rewriter, one: Difference) -> bool:
    return self.define("RestoringIfStopped", written.RESTORING_IF_STOPPED) and self.context.replace(
        one.node, self.cell(one.node), "RestoringIfStopped"
    )


def _by_line(self: Rewriter, one: Difference) -> bool:
    return self.define("by_line", written.BY_LINE) and self.wrap(one.node, "by_line(", ")")


def _best(self: Rewriter, one: Difference) -> bool:
    """``checkpoint.best`` -> ``best_of(checkpoint)``"""
    if not self.define("best_of", written.BEST_OF):
        return False
    return self.behind(one.node.value, one.node, ")") and self.wrap(one.node.value, "best_of(", "")


def _number_method(self: Rewriter, one: Difference) -> bool:
    return self.wrap(one.node, self.context.local("numpy.asarray") + "(", ")")


def _epochs_of(self: Rewriter, one: Difference) -> bool:
    return self.define("EpochsOf", written.EPOCHS_OF) and self.wrap(
        one.node, "EpochsOf(", f"{one.name})"
    )


def _unknown_length(self: Rewriter, one: Difference) -> bool:
    return self.define("of_any_size", keras_3_text_batches.OF_ANY_SIZE) and self.wrap(
        one.node, "of_any_size(", ")"
    )


def _note(self: Rewriter, one: Difference) -> bool:
    self.context.note(one.row.code, one.row.note, one.node, self.cell(one.node))
    return True


def _python_seed(self: Rewriter, one: Difference) -> bool:
    """``random.seed(n)`` behind ``tf.set_random_seed(n)``"""
    seed = argument(one.node, 0, "seed")
    if seed is None or any(isinstance(node, ast.Call) for node in walk(seed)):
        return True  # a note says that the numbers are other ones
    is_imported = any(
        isinstance(node, ast.Import) and any(alias.name == "random" for alias in node.names)
        for node in self.finder.nodes
    )
    names = (name for name in ("random", "python_random") if self.context.is_free(name))
    random = self.context.local("random") if is_imported else next(names, "")
    text = self.context.texts[self.cell(seed)].source(seed)
    if random and _behind(self, one, f"{random}.seed({text})") and not is_imported:
        line = "import random" + ("" if random == "random" else f" as {random}")
        if line not in self.context.before_imports:
            self.context.put_before_imports(line)
    return True


def _clone_initializer(self: Rewriter, one: Difference) -> bool:
    return self.wrap(one.node, "", ".clone()")


def _member(self: Rewriter, one: Difference) -> bool:
    return self.rename_attribute(one, one.row.becomes.rpartition(".")[2].partition("(")[0])


def _learning_phase(self: Rewriter, one: Difference) -> bool:
    """Takes out a statement that says of a program that does not train that it does not."""
    cell = self.cell(one.node)
    statement = self.context.statement(one.node, cell)
    if not isinstance(statement, ast.Expr) or statement.value is not one.node:
        return False
    self.context.done.update(id(inside) for inside in walk(statement))
    return self.context.remove(statement, cell)


def _columns(self: Rewriter, one: Difference) -> bool:
    if not self.define("with_columns", written.WITH_COLUMNS):
        return False
    return self.wrap(one.node, "with_columns(", ")")


def _unaligned(self: Rewriter, one: Difference) -> bool:
    if not self.define("with_columns", written.WITH_COLUMNS):
        return False
    metric = f"with_columns({self.context.local('tf.keras.metrics')}.{one.name})"
    return self.context.replace(one.node, self.cell(one.node), metric)


def _unaligned_object(self: Rewriter, one: Difference) -> bool:
    if not self.define("of_columns", written.OF_COLUMNS):
        return False
    if not isinstance(constant(one.node), str):
        return self.wrap(one.node, "of_columns(", ")")
    metric = f"of_columns({self.context.local('tf.keras.metrics')}.{one.name})"
    return self.context.replace(one.node, self.cell(one.node), metric)


def _ctc_decode(self: Rewriter, one: Difference) -> bool:
    return self.define("without_padding", written.WITHOUT_PADDING) and self.wrap(
        one.node, "without_padding(", ")"
    )


def _by_rows(self: Rewriter, one: Difference) -> bool:
    if not self.define("by_rows", keras_3_text_training.BY_ROWS):
        return False
    if one.name:  # a text
        made = f"by_rows({self.context.local('tf.keras.optimizers')}.{one.name}())"
        return self.context.replace(one.node, self.cell(one.node), made)
    return self.wrap(one.node, "by_rows(", ")")


def _embedding(self: Rewriter, one: Difference) -> bool:
    if not self.define("DenseEmbedding", written.DENSE_EMBEDDING):
        return False
    # The call's other differences are about its arguments, not about what is called.
    return self.context.replace(one.node, self.cell(one.node), "DenseEmbedding")


def _as_layer(self: Rewriter, one: Difference) -> bool:
    named = written.NAMED_OPERATION if keras_3_values.makes_from_config(self.finder) else ""
    if not self.define("as_layer", written.AS_LAYER.replace("NAMED", named)):
        return False
    return self.wrap(one.node.func, "as_layer(", ")")


def _cudnn(self: Rewriter, one: Difference) -> bool:
    """What cuDNN's layers computed, as arguments of the layers that took their place."""
    self.add(one.node, "recurrent_activation='sigmoid'")
    return one.name != "CuDNNGRU" or self.add(one.node, "reset_after=True")


def _partial(self: Rewriter, one: Difference) -> bool:
    """``make = LSTM`` -> ``make = functools.partial(LSTM, recurrent_activation=hard_sigmoid)``"""
    if "hard_sigmoid" in one.name and not self.define("hard_sigmoid", written.HARD_SIGMOID):
        return False
    alike = [each for each in self.found if each.row.how == "partial" and each.node is one.node]
    if one is not alike[0]:
        return True
    words = ", ".join(dict.fromkeys(each.name for each in alike))
    partial = self.context.local("functools.partial")
    return self.wrap(one.node, f"{partial}(", f", {words})")


def _behind(self: Rewriter, one: Difference, words: str) -> bool:
    """Writes a statement behind the one that a call or assignment is."""
    cell = self.cell(one.node)
    statement: Any = self.context.parents(cell).get(id(one.node))
    text = self.context.texts[cell]
    if not isinstance(statement, (ast.Expr, ast.Assign)):
        return False
    if not text.owns_lines(statement):
        place = text.span(statement)[1]
        text.replace(place, place, f"; {words}")
        return True
    end = statement.end_lineno or statement.lineno
    text.insert_line(end + 1, text.indent(statement.lineno) + words + text.newline)
    return True


def _normalize_by_batch(self: Rewriter, one: Difference) -> bool:
    text = self.context.texts[self.cell(one.node)]
    return self.define("normalize_by_batch", keras_3_text_training.NORMALIZE_BY_BATCH) and _behind(
        self, one, f"normalize_by_batch({text.source(one.node.value)})"
    )


def _keep_trainable(self: Rewriter, one: Difference) -> bool:
    model = key(one.node.func.value)
    return (
        bool(model)
        and self.define("keep_trainable", keras_3_text_training.KEEP_TRAINABLE)
        and _behind(self, one, f"keep_trainable({model})")
    )


def _share_optimizer(self: Rewriter, one: Difference) -> bool:
    return self.define("share_optimizer", keras_3_text_training.SHARE_OPTIMIZER) and _behind(
        self, one, f"share_optimizer({one.name})"
    )


def _crossentropy(self: Rewriter, one: Difference) -> bool:
    cell = self.cell(one.node)
    if one.name == "binary_crossentropy":
        name = "binary_crossentropy_of_probabilities"
        defined = self.define(name, written.BINARY_CROSSENTROPY)
        return defined and self.context.replace(one.node, cell, name)
    if not self.define("of_probabilities", written.OF_PROBABILITIES):
        return False
    loss = self.context.texts[cell].source(one.node)
    if isinstance(constant(one.node), str):
        name = one.name if one.name.startswith("metrics.") else f"losses.{one.name}"
        loss = self.context.local(f"tf.keras.{name}")
    return self.context.replace(one.node, cell, f"of_probabilities({loss})")


def _metric_object(self: Rewriter, one: Difference) -> bool:
    metric = f"{self.context.local('tf.keras.metrics')}.{one.name}"
    return self.context.replace(one.node, self.cell(one.node), metric)


def _lambda_layer(self: Rewriter, one: Difference) -> bool:
    if not self.define("registered", written.REGISTERED):
        return False
    start, end = "registered(", f", '{one.name}')"
    if self.finder.values.used.get(
        id(one.node)
    ):  # a function of TensorFlow's, which keeps its own name
        start, end = start + "lambda x, **given: ", "(x, **given)" + end
    return self.wrap(one.node, start, end)


#: ``how`` of a row -> its rewriting.
REWRITINGS: Mapping[str, Rewriting] = {
    "as_layer": _as_layer,
    "metric_object": _metric_object,
    "crossentropy": _crossentropy,
    "in_order": _in_order,
    "learning_phase": _learning_phase,
    "best": _best,
    "by_line": _by_line,
    "epochs_of": _epochs_of,
    "unknown_length": _unknown_length,
    "log_columns": _log_columns,
    "log_order": _log_order,
    "logged_rate": _logged_rate,
    "member": _member,
    "mode": _mode,
    "restored": _restored,
    "note": _note,
    "number_method": _number_method,
    "python_seed": _python_seed,
    "clone_initializer": _clone_initializer,
    "columns": _columns,
    "cosine": _cosine,
    "ctc_decode": _ctc_decode,
    "each_output": _each_output,
    "unaligned": _unaligned,
    "unaligned_object": _unaligned_object,
    "by_rows": _by_rows,
    "embedding": _embedding,
    "first": _first,
    "only": _only,
    "hard_sigmoid_function": _hard_sigmoid_function,
    "quiet": _quiet,
    "by_name": _by_name,
    "cudnn": _cudnn,
    "partial": _partial,
    "metric_function": _metric_function,
    "mean_of_rows": _mean_of_rows,
    "hard_sigmoid": _hard_sigmoid,
    "lambda_layer": _lambda_layer,
    "keep_trainable": _keep_trainable,
    "normalize_by_batch": _normalize_by_batch,
    "share_optimizer": _share_optimizer,
}
