"""Rewrites the names of files, which Keras 3 reads differently than Keras 2."""

from __future__ import annotations

import ast
import posixpath
import re
from typing import Any, Iterator, Mapping

from tpucompat.commands.analysis import indexes, keras_3_files
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import MODELS, key
from tpucompat.commands.migrate import keras_3_endings
from tpucompat.commands.migrate import keras_3_text as written
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras_3_rewriter import ENDINGS, Rewriter, Rewriting
from tpucompat.names.used import Call, argument, constant, keyword


def _text(self: Rewriter, one: Difference) -> bool:
    text = self.context.texts[self.cell(one.node)]
    start, end = text.span(one.node)
    quoted = text.text[start:end]
    if quoted[1:-1] != constant(one.node):
        return False
    text.replace(start, end, quoted[0] + one.name + quoted[0])
    return True


def _file(self: Rewriter, one: Difference) -> bool:
    """Gives a file the ending that Keras 3 wants, wherever its name stands."""
    is_weights = one.row.was.startswith("save_weights")
    literal = self.finder.literal_of(one.node)
    if literal is None or one.name == "either":
        return _unseen_file(self, one, is_weights)
    ending = ".weights.h5" if is_weights else ".keras"
    if not is_weights and _says_optimizer(self, one.node):
        ending = ".h5"
    name = constant(literal)
    if is_weights and name in loaded_by_name(self):
        return _whole_model(self, one)
    alike = [literal]
    if isinstance(name, str) and len(name) > 3 and re.search(r"[./_{%]", name[1:]):
        paths = _paths(self.context).get(posixpath.normpath(name), ())
        alike = [node for node in paths if not self.is_in_text(node)]
    known = {id(node) for node in alike}
    for path in _written_alike(self, one.node):
        if id(path) not in known:
            known.add(id(path))
            alike.append(path)
    done = [self.end_with(node, ending) for node in alike]
    if not all(done):
        return False
    if is_weights and not _latest_weights(self):
        return False
    match = ENDINGS.match(repr(name)) if isinstance(name, str) else None
    old = match.group(2) if match is not None else None
    if old in (".h5", ".hdf5", ".hdf"):
        keras_3_endings.rename(self, name, old, ending)
    elif one.name == "save" and one.call is not None:
        _make_folder(self, one, name)
    return True


def _written_alike(self: Rewriter, path: ast.AST) -> Iterator[ast.AST]:
    """The ends of the other expressions that name a file: ``os.path.exists(os.path.join(d, 'm'))``."""
    for other in _arguments(self.context).get(ast.dump(path), ()):
        literal = self.finder.literal_of(other)
        if literal is not None and id(literal) not in self.context.done:
            yield literal


@indexes.once
def _arguments(context: Context) -> dict[str, list[ast.expr]]:
    """The form of an argument -> those of all calls that have it."""
    found: dict[str, list[ast.expr]] = {}
    for call in context.names.calls:
        for one in call.node.args:
            found.setdefault(ast.dump(one), []).append(one)
    return found


@indexes.once
def _paths(context: Context) -> dict[str, list[Any]]:
    """A path -> the texts that name it: ``weights.h5`` is ``./weights.h5``."""
    found: dict[str, list[Any]] = {}
    for node in indexes.nodes(context, ast.Constant):
        if isinstance(node.value, str):
            found.setdefault(posixpath.normpath(node.value), []).append(node)
    return found


@indexes.once
def loaded_by_name(self: Rewriter) -> set[str]:
    """The names of files whose layers are found by their names; weights files of Keras 3 lack them."""
    loads = (
        call.node
        for call in self.context.names.calls
        if call.name == ".load_weights" and constant(keyword(call.node, "by_name")) is True
    )
    paths = (argument(call, 0, "filepath") for call in loads)
    names = {self.finder.text_of(path) for path in paths if path is not None}
    return {name for name in names if name is not None and name.endswith((".h5", ".hdf5"))}


def _whole_model(self: Rewriter, one: Difference) -> bool:
    """``save_weights('w.h5')`` -> ``save('w.h5')``, whose layers have names; it is loaded as before."""
    if one.name != "save":
        return True
    function: Any = one.call.func if one.call is not None else None
    of_class = self.finder.values.kind(getattr(function, "value", one.node)) in MODELS
    if getattr(function, "attr", "") != "save_weights" or not of_class:
        return False
    return self.rename_attribute(one._replace(node=function), "save")


def _says_optimizer(self: Rewriter, path: ast.AST) -> bool:
    """Whether the file of that name is saved with ``include_optimizer=``, which HDF5 alone takes."""
    return self.finder.text_of(path) in _with_optimizer(self)


@indexes.once
def _with_optimizer(self: Rewriter) -> set[str | None]:
    return {
        self.finder.text_of(other)
        for other, call, _, saves in keras_3_files.arguments(self.finder)
        if saves and keyword(call, "include_optimizer") is not None
    }


@indexes.once
def _latest(context: Context) -> list[Call]:
    return [call for call in context.names.calls if call.name.endswith(".latest_checkpoint")]


def _latest_weights(self: Rewriter) -> bool:
    """The newest checkpoint of a folder, where a model's weights are all that the script saves."""
    calls = _latest(self.context)
    if not calls:
        return True
    saves = (".Saver", ".Checkpoint", ".CheckpointManager", "Estimator")
    if any(name.endswith(saves) for name in indexes.called_names(self.context.names)):
        return True  # those make checkpoints as they always did
    if not self.define("latest_weights", written.LATEST_WEIGHTS):
        return False
    for call in calls:
        if id(call.node.func) not in self.context.done:
            self.context.replace(call.node.func, self.cell(call.node), "latest_weights")
            self.context.done.add(id(call.node.func))
    return True


def _make_folder(self: Rewriter, one: Difference, name: object) -> None:
    """A checkpoint of TensorFlow made the folder that it was written to; HDF5 does not."""
    folder = name.rpartition("/")[0] if isinstance(name, str) else ""
    is_plain = not re.search(r"[{%]", folder)  # without parts that the script fills in
    if folder.strip("./") and is_plain and one.call is not None:
        cell = self.cell(one.call)
        text, statement = self.context.texts[cell], self.context.statement(one.call, cell)
        line = statement.lineno
        self.context.want("os")
        made = f"os.makedirs({folder!r}, exist_ok=True)"
        text.insert_line(line, text.indent(line) + made + text.newline)


def _unseen_file(self: Rewriter, one: Difference, is_weights: bool) -> bool:
    if ast.dump(one.node) in _looked_for(self.context):
        return False
    if is_weights and not _latest_weights(self):
        return False
    kind = "weights" if is_weights else "model"
    name = f"{kind}_file" if one.name == "save" else f"saved_{kind}_file"
    save, load = written.FILES[kind]
    if not self.define(f"{kind}_file", save):
        return False
    if one.name != "save" and not self.define(name, load):
        return False
    return self.wrap(one.node, f"{name}(", ")")


@indexes.once
def _looked_for(context: Context) -> set[str]:
    """The forms of what the script asks for whether it is there."""
    calls = (call.node for call in context.names.calls)
    asks = (one for one in calls if getattr(one.func, "attr", "") in ("exists", "isfile"))
    return {ast.dump(one.args[0]) for one in asks if one.args}


def _signatures(self: Rewriter, one: Difference) -> bool:
    """``model.save(path, signatures=f)`` -> ``tf.saved_model.save(model, path, signatures=f)``."""
    call: Any = one.call
    function = call.func
    is_method = isinstance(function, ast.Attribute) and function.attr == "save"
    words = {word.arg for word in call.keywords}
    if not words <= {"signatures", "save_format"} or len(call.args) != (1 if is_method else 2):
        return False
    name = key(one.node)
    loads = (path for path, _, _, saves in keras_3_files.arguments(self.finder) if not saves)
    if name and any(key(path) == name for path in loads):
        return False
    made = self.context.local("tensorflow.saved_model.save")
    if not is_method:
        return self.context.replace(function, self.cell(call), made)
    model = key(function.value)
    return (
        bool(model)
        and self.context.replace(function, self.cell(call), made)
        and self.wrap(one.node, f"{model}, ", "")
    )


#: ``how`` of a row -> its rewriting.
REWRITINGS: Mapping[str, Rewriting] = {
    "file": _file,
    "signatures": _signatures,
    "text": _text,
}
