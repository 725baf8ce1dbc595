"""Rewrites what Keras 3 offers otherwise than Keras 2; the rows are in keras_3_rows.py.

A rewriting is a function of the file and the place; where it cannot see enough it gives False, and the place
gets a TODO with the row's code.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Callable, Mapping

from tpucompat.commands.analysis.keras_3 import Difference, Finder, applies
from tpucompat.commands.analysis.keras_3_rows import WORDS
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.commands.migrate import keras_2
from tpucompat.commands.migrate import keras_3_text as written
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.text import Overlap
from tpucompat.names.used import argument, constant, keyword

_ENDINGS = re.compile(
    r"(?s)(.*?)((?:\.weights)?\.(?:h5|hdf5|hdf|keras|tf|ckpt|model|weights))?(['\"]{1,3})$"
)
#: Of the functions and classes that are written into scripts.
_DOCSTRINGS = frozenset(
    docstring
    for text in vars(written).values()
    if isinstance(text, str)
    for docstring in re.findall(r'"""(.*?)"""', text.replace("{{", "{").replace("}}", "}"))
)
_RATES = {  # what Keras 2 took for `lr` where it was not given
    "Adadelta": "0.001",
    "Adagrad": "0.001",
    "Adam": "0.001",
    "Adamax": "0.001",
    "Ftrl": "0.001",
    "Nadam": "0.001",
    "RMSprop": "0.001",
    "SGD": "0.01",
}


def rewrite(context: Context) -> None:
    """Rewrites every difference of a file, or marks it."""
    if not applies(context.module):
        return
    rewriter = _Rewriter(context)
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


def uses_models(context: Context) -> bool:
    """Whether a file makes layers or models of Keras, which live in no graph of TensorFlow 1 any more."""
    return applies(context.module) and any(
        below_keras(call.name).startswith(("layers.", "models.", "Sequential", "Model", "Input"))
        for call in context.names.calls
    )


class _Rewriter:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.finder = Finder(context.module)
        helpers = {
            id(inside)
            for tree in context.trees.values()
            for node in tree.body
            if isinstance(node, (ast.ClassDef, ast.FunctionDef))
            and ast.get_docstring(node) in _DOCSTRINGS
            for inside in ast.walk(node)
        }
        self.found = [one for one in self.finder.find() if id(one.node) not in helpers]
        self._added: dict[int, tuple[ast.Call, list[str], str]] = {}
        self._dropped: set[int] = set()

    def rewrite(self, one: Difference) -> None:
        if id(one.node) in self.context.done and one.row.how not in ("generator", "default"):
            return
        if self.context.is_marked(one.row.code, one.node, self.cell(one.node)):
            return  # left to a person before
        how = _HOW.get(one.row.how)
        try:
            done = how is not None and how(self, one)
        except Overlap:
            done = False
        if not done:
            words = one.row.was + (f" → {one.row.becomes}" if one.row.becomes else "")
            words += f": {one.row.note}" if one.row.note else ""
            self.context.todo(one.row.code, words, one.node, self.cell(one.node))

    def cell(self, node: ast.AST) -> int:
        return self.context.cell_of(node)

    def finish(self) -> None:
        """Writes the arguments that calls get, all of one call at once."""
        for call, words, code in self._added.values():
            text = self.context.texts[self.cell(call)]
            end = text.span(call)[1] - 1
            behind = text.text[:end].rstrip()
            at = len(behind)
            left = [*call.args, *(word.value for word in call.keywords)]
            is_first = all(id(value) in self._dropped for value in left)
            before = "" if is_first else " " if behind.endswith(",") else ", "
            with self.context.rule(code):
                text.replace(at, at, before + ", ".join(words))

    # Edits ---------------------------------------------------------------------------------------

    def add(self, call: ast.Call, words: str) -> bool:
        """Adds an argument behind the others."""
        code = self.context.texts[self.cell(call)].rule
        held = self._added.setdefault(id(call), (call, [], code))[1]
        if words not in held:
            held.append(words)
        return True

    def wrap(self, node: ast.AST, before: str, after: str) -> bool:
        text = self.context.texts[self.cell(node)]
        start, end = text.span(node)
        text.replace(start, start, before)
        text.replace(end, end, after)
        return True

    def behind(self, inner: ast.AST, outer: ast.AST, words: str) -> bool:
        """Puts words in the place of what stands behind a part of an expression."""
        text = self.context.texts[self.cell(outer)]
        start, end = text.span(inner)[1], text.span(outer)[1]
        if not text.is_free(start, end):
            return False
        text.replace(start, end, words)
        return True

    def drop(self, call: ast.Call, value: ast.AST) -> bool:
        """Takes an argument out, with one comma."""
        text = self.context.texts[self.cell(call)]
        word = next((one for one in call.keywords if one.value is value), None)
        start = text.keyword(word)[0] if word is not None else text.span(value)[0]
        end = text.span(value)[1]
        before = text.text[:start].rstrip()
        if before.endswith(",") and text.is_free(len(before) - 1, end):
            text.replace(len(before) - 1, end, "")
        else:
            behind = len(text.text) - len(text.text[end:].lstrip(" ,"))
            text.replace(start, behind if text.is_free(start, behind) else end, "")
        self.context.done.update(id(inside) for inside in ast.walk(value))
        self._dropped.add(id(value))
        return True

    def define(self, name: str, template: str) -> bool:
        """Writes a function into the script, once; False where the name is taken."""
        return self.context.helper(name, template)

    def to_function(self, call: ast.Call, name: str) -> bool:
        """``model.method(x)`` -> ``name(model, x)``."""
        text = self.context.texts[self.cell(call)]
        value: Any = getattr(call.func, "value", None)
        start, end = text.span(call)
        inner, function_end = text.span(value)[1], text.span(call.func)[1]
        opening = text.text.find("(", function_end, end)
        more = "" if text.text[opening + 1 : end - 1].strip() in ("", ",") else ", "
        text.replace(start, start, name + "(")
        text.replace(inner, opening + 1, more)
        return True

    def end_with(self, node: ast.AST, ending: str) -> bool:
        """Gives a text another ending."""
        cell = self.cell(node)
        match = _ENDINGS.match(self.context.texts[cell].source(node))
        if match is None:
            return False
        return self.context.replace(node, cell, match.group(1) + ending + match.group(3))

    def is_in_text(self, node: ast.AST) -> bool:
        """Whether a constant is a part of an f-string, whose position Python gives since 3.12 only."""
        above = self.context.parents(self.cell(node)).get(id(node))
        return isinstance(above, ast.JoinedStr)

    def call_of(self, node: ast.AST) -> ast.Call | None:
        """The call that an attribute is the function of."""
        above = self.context.parents(self.cell(node)).get(id(node))
        return above if isinstance(above, ast.Call) and above.func is node else None


# Arguments -----------------------------------------------------------------------------------------


def _drop(self: _Rewriter, one: Difference) -> bool:
    return one.call is not None and self.drop(one.call, one.node)


def _drop_true(self: _Rewriter, one: Difference) -> bool:
    return constant(one.node) is True and _drop(self, one)


def _drop_false(self: _Rewriter, one: Difference) -> bool:
    return constant(one.node) is False and _drop(self, one)


def _rename(self: _Rewriter, one: Difference) -> bool:
    word = next((w for w in one.call.keywords if w.value is one.node), None) if one.call else None
    if word is None:
        return False
    text = self.context.texts[self.cell(one.node)]
    text.replace(*text.keyword(word), one.row.becomes)
    return True


def _place(self: _Rewriter, one: Difference) -> bool:
    text = self.context.texts[self.cell(one.node)]
    start = text.span(one.node)[0]
    text.replace(start, start, one.row.becomes)
    return True


def _default(self: _Rewriter, one: Difference) -> bool:
    return one.call is not None and self.add(one.call, one.name.replace(",", ", "))


def _period(self: _Rewriter, one: Difference) -> bool:
    if one.call is None:
        return False
    if constant(one.node) == 1:
        return self.drop(one.call, one.node)
    if not self.define("PeriodicCheckpoint", written.PERIODIC_CHECKPOINT):
        return False
    return self.context.replace(one.call.func, self.cell(one.call), "PeriodicCheckpoint")


def _decay(self: _Rewriter, one: Difference) -> bool:
    call = one.call
    if call is None:
        return False
    text = self.context.texts[self.cell(call)]
    if constant(one.node) in (0, 0.0):
        return self.drop(call, one.node)
    if any(other.row.how in ("learning_rate", "set_value") for other in self.found) or any(
        below_keras(other.name) in _SET_RATES for other in self.context.names.calls
    ):
        return False  # a schedule cannot be set
    schedule = self.context.local("tf.keras.optimizers.schedules.InverseTimeDecay")
    decay = text.source(one.node)
    rate = keyword(call, "lr") or argument(call, 0, "learning_rate")
    default = _RATES.get(one.owner.rpartition(".")[2])
    if rate is not None:
        self.wrap(rate, f"{schedule}(", f", 1, {decay})")
    elif default is not None:
        self.add(call, f"learning_rate={schedule}({default}, 1, {decay})")
    else:
        return False
    return self.drop(call, one.node)


_SET_RATES = frozenset(("callbacks.LearningRateScheduler", "callbacks.ReduceLROnPlateau"))


def _input(self: _Rewriter, one: Difference) -> bool:
    """``add(Layer(batch_input_shape=…))`` -> ``add(tf.keras.Input(batch_shape=…))`` before it."""
    call = one.call
    if call is None:
        return False
    cell = self.cell(call)
    text = self.context.texts[cell]
    above: Any = self.context.parents(cell).get(id(call))
    shape = text.source(one.node)
    if one.name == "input_length":
        known = (
            any(
                word.arg in ("batch_input_shape", "input_shape", "input_dim")
                and word.value is not one.node
                and one.owner != "layers.Embedding"
                for word in call.keywords
            )
            or keyword(call, "batch_input_shape") is not None
        )
        is_none = isinstance(one.node, ast.Constant) and one.node.value is None
        if known or is_none:
            return self.drop(call, one.node)
        words = (
            f"shape={shape}" if isinstance(one.node, (ast.Tuple, ast.List)) else f"shape=({shape},)"
        )
    else:
        words = f"batch_shape={shape}"
    made = f"{self.context.local('tf.keras.Input')}({words})"
    if isinstance(above, ast.Call) and above.func is call:
        return self.drop(call, one.node)  # it is given its inputs
    if isinstance(above, ast.List):
        start = text.span(call)[0]
        text.replace(start, start, made + ", ")
        return self.drop(call, one.node)
    statement = self.context.statement(call, cell)
    is_added = (
        isinstance(above, ast.Call)
        and getattr(above.func, "attr", "") == "add"
        and isinstance(statement, ast.Expr)
        and statement.value is above
        and text.owns_lines(statement)
    )
    if not is_added:
        return False
    line = statement.lineno
    model = text.source(above.func.value)
    text.insert_line(line, f"{text.indent(line)}{model}.add({made}){text.newline}")
    return self.drop(call, one.node)


# Methods and attributes ------------------------------------------------------------------------------


def _generator(self: _Rewriter, one: Difference) -> bool:
    return True  # tpucompat.commands.migrate.methods


def _attribute(self: _Rewriter, one: Difference, name: str) -> bool:
    text = self.context.texts[self.cell(one.node)]
    end = text.span(one.node)[1]
    text.replace(end - len(one.node.attr), end, name)
    return True


def _predict(self: _Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    if call is not None and argument(call, 2, "verbose") is None:
        self.add(call, "verbose=0")
    return _attribute(self, one, "predict")


def _classes(self: _Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    return (
        call is not None
        and self.define("predict_classes", written.PREDICT_CLASSES)
        and self.to_function(call, "predict_classes")
    )


def _reset(self: _Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    return (
        call is not None
        and not call.args
        and self.define("reset_states", written.RESET_STATES)
        and self.to_function(call, "reset_states")
    )


def _metrics_names(self: _Rewriter, one: Difference) -> bool:
    if not self.define("metrics_names", written.METRICS_NAMES):
        return False
    text = self.context.texts[self.cell(one.node)]
    start = text.span(one.node)[0]
    before, after = "metrics_names(", ")"
    if key(one.node.value) in self.finder.of_several_outputs():  # whose values are in order, too
        if not self.define("in_order", written.IN_ORDER):
            return False
        before, after = f"in_order({text.source(one.node.value)}, {before}", "))"
    text.replace(start, start, before)
    return self.behind(one.node.value, one.node, after)


def _shape(self: _Rewriter, one: Difference) -> bool:
    what = "output" if one.node.attr.startswith("output") else "input"
    text = self.context.texts[self.cell(one.node)]
    start = text.span(one.node)[0]
    if not self.behind(one.node.value, one.node, f".{what}.shape)"):
        return False
    text.replace(start, start, "tuple(")
    return True


def _at(self: _Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    index = argument(call, 0, "node_index") if call is not None else None
    if call is None or constant(index) != 0:
        return False
    what = "output" if "output" in one.node.attr else "input"
    if "shape" not in one.node.attr:
        return self.behind(one.node.value, call, "." + what)
    text = self.context.texts[self.cell(call)]
    start = text.span(call)[0]
    if not self.behind(one.node.value, call, f".{what}.shape)"):
        return False
    text.replace(start, start, "tuple(")
    return True


def _tensor_shape(self: _Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    if call is None:
        return False
    parents = self.context.parents(self.cell(call))
    above = parents.get(id(call))
    if isinstance(above, ast.Attribute) and above.attr == "as_list":
        outer = parents.get(id(above))
        text = self.context.texts[self.cell(call)]
        start = text.span(call)[0]
        if outer is None or not self.behind(one.node.value, outer, ".shape)"):
            return False
        text.replace(start, start, "list(")
        return True
    return self.behind(one.node.value, call, ".shape")


def _learning_rate(self: _Rewriter, one: Difference) -> bool:
    return _attribute(self, one, "learning_rate")


def _set_value(self: _Rewriter, one: Difference) -> bool:
    """``K.set_value(variable, value)`` -> ``variable.assign(value)``."""
    call = one.node
    if len(call.args) != 2 or call.keywords:
        return False
    text = self.context.texts[self.cell(call)]
    text.replace(text.span(call)[0], text.span(call.args[0])[0], "")
    text.replace(text.span(call.args[0])[1], text.span(call.args[1])[0], ".assign(")
    self.context.done.add(id(call.func))
    return True


def _constant(self: _Rewriter, one: Difference) -> bool:
    name = self.context.local("tf." + one.name)
    self.context.done.add(id(one.node.func))
    return self.context.replace(one.node.func, self.cell(one.node), name)


def _rmsprop(self: _Rewriter, one: Difference) -> bool:
    call = one.node
    epsilon = argument(call, 3, "epsilon")
    if epsilon is None:
        return self.add(call, "epsilon=1e-14")
    if isinstance(epsilon, ast.Constant) and constant(epsilon) is None:
        return self.context.replace(epsilon, self.cell(call), "1e-14")
    return self.wrap(epsilon, "(", ") ** 2")


def _optimizer_word(self: _Rewriter, one: Difference) -> bool:
    words = self.context.local("tf.keras.optimizers") + "." + WORDS[one.name]
    return self.context.replace(one.node, self.cell(one.node), words)


# Texts -----------------------------------------------------------------------------------------------


def _text(self: _Rewriter, one: Difference) -> bool:
    text = self.context.texts[self.cell(one.node)]
    start, end = text.span(one.node)
    quoted = text.text[start:end]
    if quoted[1:-1] != constant(one.node):
        return False
    text.replace(start, end, quoted[0] + one.name + quoted[0])
    return True


def _file(self: _Rewriter, one: Difference) -> bool:
    """Gives a file the ending that Keras 3 wants, wherever its name stands."""
    is_weights = one.row.was.startswith("save_weights")
    literal = self.finder.literal_of(one.node)
    if literal is None:
        return _unseen_file(self, one, is_weights)
    ending = ".weights.h5" if is_weights else ".keras"
    if not is_weights and any(
        keyword(call.node, "include_optimizer") is not None for call in self.context.names.calls
    ):
        ending = ".h5"
    name = constant(literal)
    alike = [literal]
    if isinstance(name, str) and len(name) > 4 and re.search(r"[./_{%]", name[1:]):
        alike = [
            node
            for tree in self.context.trees.values()
            for node in ast.walk(tree)
            if constant(node) == name and not self.is_in_text(node)
        ]
    done = [self.end_with(node, ending) for node in alike]
    if not all(done):
        return False
    if is_weights and not _latest_weights(self):
        return False
    match = _ENDINGS.match(repr(name)) if isinstance(name, str) else None
    old = match.group(2) if match is not None else None
    if old in (".h5", ".hdf5", ".hdf"):
        _rename_endings(self, old, ending)
    elif one.name == "save" and one.call is not None and not old:
        _make_folder(self, one)
    return True


def _latest_weights(self: _Rewriter) -> bool:
    """The newest checkpoint of a folder, where a model's weights are all that the script saves."""
    calls = [call for call in self.context.names.calls if call.name.endswith(".latest_checkpoint")]
    if not calls:
        return True
    saves = (".Saver", ".Checkpoint", ".CheckpointManager", "Estimator")
    if any(call.name.endswith(saves) for call in self.context.names.calls):
        return True  # those make checkpoints as they always did
    if not self.define("latest_weights", written.LATEST_WEIGHTS):
        return False
    for call in calls:
        if id(call.node.func) not in self.context.done:
            self.context.replace(call.node.func, self.cell(call.node), "latest_weights")
            self.context.done.add(id(call.node.func))
    return True


def _rename_endings(self: _Rewriter, old: str, new: str) -> None:
    """Where the script looks for files of that ending: ``name.endswith('.h5')``, ``glob('*.h5')``."""
    for call in self.context.names.calls:
        last = getattr(call.node.func, "attr", getattr(call.node.func, "id", ""))
        for node in call.node.args if last in ("endswith", "glob", "iglob", "fnmatch") else ():
            text = constant(node)
            is_ending = last == "endswith" and text == old
            is_pattern = isinstance(text, str) and "*" in text and text.endswith(old)
            if is_ending or (is_pattern and last != "endswith"):
                self.end_with(node, new)


def _make_folder(self: _Rewriter, one: Difference) -> None:
    """A checkpoint of TensorFlow made the folder that it was written to; HDF5 does not."""
    name = constant(one.node)
    folder = name.rpartition("/")[0] if isinstance(name, str) else ""
    if folder.strip("./") and one.call is not None:
        cell = self.cell(one.call)
        text, statement = self.context.texts[cell], self.context.statement(one.call, cell)
        line = statement.lineno
        self.context.want("os")
        made = f"os.makedirs({folder!r}, exist_ok=True)"
        text.insert_line(line, text.indent(line) + made + text.newline)


def _unseen_file(self: _Rewriter, one: Difference, is_weights: bool) -> bool:
    asked = key(one.node)
    for call in self.context.names.calls:
        last = getattr(call.node.func, "attr", "")
        if last in ("exists", "isfile") and call.node.args and key(call.node.args[0]) == asked:
            return False
    kind = "weights" if is_weights else "model"
    name = f"{kind}_file" if one.name == "save" else f"saved_{kind}_file"
    save, load = written.FILES[kind]
    if not self.define(f"{kind}_file", save):
        return False
    if one.name == "load" and not self.define(name, load):
        return False
    return self.wrap(one.node, f"{name}(", ")")


def _hard_sigmoid(self: _Rewriter, one: Difference) -> bool:
    if self.context.keras == 2 and one.call is not None:
        return self.add(one.call, "recurrent_activation='hard_sigmoid'")
    if one.call is None or not self.define("hard_sigmoid", written.HARD_SIGMOID):
        return False
    if one.name == "default":
        return self.add(one.call, "recurrent_activation=hard_sigmoid")
    return self.context.replace(one.node, self.cell(one.node), "hard_sigmoid")


def _hard_sigmoid_function(self: _Rewriter, one: Difference) -> bool:
    return self.define("hard_sigmoid", written.HARD_SIGMOID) and self.context.replace(
        one.node, self.cell(one.node), "hard_sigmoid"
    )


def _quiet(self: _Rewriter, one: Difference) -> bool:
    return self.add(one.node, "verbose=0")


def _first(self: _Rewriter, one: Difference) -> bool:
    return _attribute(self, one, one.name + "[0]")


def _each_output(self: _Rewriter, one: Difference) -> bool:
    """One list of metrics for each output; objects of metrics may not be shared by them."""
    owner: Any = getattr(one.call.func, "value", None) if one.call is not None else None
    if owner is None or not key(owner) or any(isinstance(node, ast.Call) for node in one.node.elts):
        return False
    return self.wrap(one.node, "[", f" for _ in {key(owner)}.outputs]")


def _by_name(self: _Rewriter, one: Difference) -> bool:
    """Weights that the script has not saved itself come from Keras 2, whose files have names."""
    if one.call is None:
        return False
    if constant(one.node) in (False, None) and isinstance(one.node, ast.Constant):
        return self.drop(one.call, one.node)
    return not any(
        call.name == ".save_weights" or keyword(call.node, "save_weights_only") is not None
        for call in self.context.names.calls
    )


def _in_order(self: _Rewriter, one: Difference) -> bool:
    if not self.define("in_order", written.IN_ORDER):
        return False
    owner = one.node.func.value
    model = self.context.texts[self.cell(owner)].source(owner)
    return self.wrap(one.node, f"in_order({model}, ", ")")


def _note(self: _Rewriter, one: Difference) -> bool:
    self.context.note(one.row.code, one.row.note, one.node, self.cell(one.node))
    return True


def _member(self: _Rewriter, one: Difference) -> bool:
    return _attribute(self, one, one.row.becomes.rpartition(".")[2].partition("(")[0])


def _learning_phase(self: _Rewriter, one: Difference) -> bool:
    """Takes out a statement that says of a program that does not train that it does not."""
    cell = self.cell(one.node)
    statement = self.context.statement(one.node, cell)
    if not isinstance(statement, ast.Expr) or statement.value is not one.node:
        return False
    self.context.done.update(id(inside) for inside in ast.walk(statement))
    return self.context.remove(statement, cell)


def _columns(self: _Rewriter, one: Difference) -> bool:
    if not self.define("with_columns", written.WITH_COLUMNS):
        return False
    return self.wrap(one.node, "with_columns(", ")")


def _embedding(self: _Rewriter, one: Difference) -> bool:
    if not self.define("DenseEmbedding", written.DENSE_EMBEDDING):
        return False
    # The call's other differences are about its arguments, not about what is called.
    return self.context.replace(one.node, self.cell(one.node), "DenseEmbedding")


def _as_layer(self: _Rewriter, one: Difference) -> bool:
    if not self.define("as_layer", written.AS_LAYER):
        return False
    return self.wrap(one.node.func, "as_layer(", ")")


def _cudnn(self: _Rewriter, one: Difference) -> bool:
    """What cuDNN's layers computed, as arguments of the layers that took their place."""
    self.add(one.node, "recurrent_activation='sigmoid'")
    return one.name != "CuDNNGRU" or self.add(one.node, "reset_after=True")


# Input -----------------------------------------------------------------------------------------------


def _steps(self: _Rewriter, one: Difference) -> bool:
    value = constant(one.node)
    if isinstance(value, float) and value == int(value):
        return self.context.replace(one.node, self.cell(one.node), str(int(value)))
    return self.wrap(one.node, f"int({self.context.local('numpy.ceil')}(", "))")


def _validation_generator(self: _Rewriter, one: Difference) -> bool:
    steps = argument(one.call, int(one.name), "validation_steps") if one.call else None
    if steps is None or not self.define("Batches", written.BATCHES):
        return False
    text = self.context.texts[self.cell(steps)].source(steps)
    if any(other.row.how == "steps" and other.node is steps for other in self.found):
        text = f"int({self.context.local('numpy.ceil')}({text}))"
    return self.wrap(one.node, "Batches(", f", {text})")


def _call(self: _Rewriter, one: Difference) -> bool:
    if isinstance(one.node, ast.Lambda):
        return self.wrap(one.node, "(", ")()")
    return self.wrap(one.node, "", "()")


def _iterator(self: _Rewriter, one: Difference) -> bool:
    """Gives fit the Dataset that the iterator was made of."""
    made: Any = one.node
    if not isinstance(made, ast.Call):
        found = self.finder.values.values(made)
        if len(found) != 1 or _loads(self, key(made)) != 1:
            return False
        made = found[0]
    return _strip_iterator(self, made)


def _strip_iterator(self: _Rewriter, made: Any) -> bool:
    function = getattr(made, "func", None)
    if not isinstance(function, ast.Attribute) or not function.attr.startswith("make_one_shot"):
        return False
    self.context.done.add(id(made))
    return self.behind(function.value, made, "")


def _loads(self: _Rewriter, name: str) -> int:
    return sum(
        key(node) == name and isinstance(getattr(node, "ctx", None), ast.Load)
        for tree in self.context.trees.values()
        for node in ast.walk(tree)
    )


def _batch(self: _Rewriter, one: Difference) -> bool:
    """``images, labels = dataset.make_one_shot_iterator().get_next()`` and ``fit(images, labels)``."""
    call = one.call
    if call is None or not call.args or one.node is not call.args[0]:
        return False
    given = list(call.args[:2])
    parts = [self.finder.values.values(value) for value in given]
    if any(len(found) != 1 or found[0] is not parts[0][0] for found in parts):
        return False
    if any(_loads(self, key(value)) != 1 for value in given):
        return False
    next_call: Any = parts[0][0]
    iterator = next_call.func.value
    cell = self.cell(next_call)
    statement = self.context.statement(next_call, cell)
    if not isinstance(statement, ast.Assign) or not self.context.texts[cell].owns_lines(statement):
        return False
    if isinstance(iterator, ast.Name):
        found = self.finder.values.values(iterator)
        if len(found) != 1 or _loads(self, iterator.id) != 1 or not _strip_iterator(self, found[0]):
            return False
        name = iterator.id
        self.context.remove(statement, cell)
    else:
        name = next(
            (one for one in ("dataset", "batches", "fit_dataset") if self.context.is_free(one)), ""
        )
        function = getattr(iterator, "func", None)
        if not name and isinstance(getattr(function, "value", None), ast.Name):
            name = function.value.id  # type: ignore[union-attr]
            self.context.done.add(id(iterator))
            self.context.remove(statement, cell)
        elif not name or not isinstance(function, ast.Attribute):
            return False
        elif isinstance(function.value, ast.Name):
            name = function.value.id
            self.context.done.add(id(iterator))
            self.context.remove(statement, cell)
        else:
            self.context.done.add(id(iterator))
            if not self.behind(function.value, next_call, ""):
                return False
            self.context.replace(statement.targets[0], cell, name)
    text = self.context.texts[self.cell(call)]
    text.replace(text.span(given[0])[0], text.span(given[-1])[1], name)
    return True


def _lists(self: _Rewriter, one: Difference) -> bool:
    text = self.context.texts[self.cell(one.node)]
    start, end = text.span(one.node)
    text.replace(start, start + 1, "(")
    text.replace(end - 1, end, ",)" if len(one.node.elts) == 1 else ")")
    return True


def _function(self: _Rewriter, one: Difference) -> bool:
    call = one.node
    if len(call.args) != 2 or call.keywords or not self.define("keras_function", written.FUNCTION):
        return False
    for node in ast.walk(call.args[0]):
        name = self.finder.values.called.get(id(node), "")
        if below_keras(name) == "backend.learning_phase":
            self.context.replace(node, self.cell(node), "None")
            self.context.done.update(id(inside) for inside in ast.walk(node))
    return self.context.replace(call.func, self.cell(call), "keras_function")


def _standalone(self: _Rewriter, one: Difference) -> bool:
    return True  # all imports together, in the end


_HOW: Mapping[str, Callable[[_Rewriter, Difference], bool]] = {
    "as_layer": _as_layer,
    "in_order": _in_order,
    "learning_phase": _learning_phase,
    "member": _member,
    "note": _note,
    "columns": _columns,
    "each_output": _each_output,
    "embedding": _embedding,
    "first": _first,
    "hard_sigmoid_function": _hard_sigmoid_function,
    "quiet": _quiet,
    "at": _at,
    "by_name": _by_name,
    "batch": _batch,
    "call": _call,
    "classes": _classes,
    "constant": _constant,
    "cudnn": _cudnn,
    "decay": _decay,
    "default": _default,
    "drop": _drop,
    "drop_false": _drop_false,
    "drop_true": _drop_true,
    "file": _file,
    "function": _function,
    "generator": _generator,
    "hard_sigmoid": _hard_sigmoid,
    "input": _input,
    "iterator": _iterator,
    "learning_rate": _learning_rate,
    "lists": _lists,
    "metrics_names": _metrics_names,
    "optimizer_word": _optimizer_word,
    "period": _period,
    "place": _place,
    "predict": _predict,
    "rename": _rename,
    "reset": _reset,
    "rmsprop": _rmsprop,
    "set_value": _set_value,
    "shape": _shape,
    "standalone": _standalone,
    "steps": _steps,
    "tensor_shape": _tensor_shape,
    "text": _text,
    "validation_generator": _validation_generator,
}


# Standalone Keras --------------------------------------------------------------------------------------


def _import_tf_keras(context: Context) -> None:
    """Imports Keras from TensorFlow, which has more of Keras 2 than the package ``keras`` has."""
    for found in context.imports:
        node, text = found.node, context.texts[found.cell]
        if not found.uses[0].name.startswith("keras") or any(use.guarded for use in found.uses):
            continue
        lines = _imported(node)
        start, end = text.span(node)
        if not lines or not text.is_free(start, end):
            continue
        if text.owns_lines(node):
            between = text.newline + text.indent(node.lineno)
        else:
            between = "; "
        text.replace(start, end, between.join(lines))
        context.done.update(id(inside) for inside in ast.walk(node))


def _imported(node: Any) -> list[str]:
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
            is_module = full in _PRIVATE_MODULES
            below = below_keras(full + ".x")[:-2] if is_module else below_keras(full)
            package, _, name = f"tensorflow.keras.{below}".rpartition(".")
            given = one.asname or one.name
            groups.setdefault(package, []).append(name if name == given else f"{name} as {given}")
    return [f"from {package} import {', '.join(names)}" for package, names in groups.items()]


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
        "keras.engine",
    )
)
