"""The names of files with models and weights, of which Keras 3 takes some endings only."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes, keras_3_values
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import CALLBACK, MODELS, OTHER, below_keras, key
from tpucompat.names.used import Call, argument, constant, index_of, keyword, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: How files end that Keras 3 loads, its own and those of Keras 2.
LOADABLE = (".keras", ".h5", ".hdf5")


#: The functions for names of files that migrate writes.
_WRITTEN = frozenset(("model_file", "weights_file", "saved_model_file", "saved_weights_file"))
#: What shows that a name is made of parts; of a sum, the last one is seen.
_PARTS = re.compile(r"[%{]|^\.")


def may_be(text: str | None, saved: str | None) -> bool:
    """Whether two texts in a script may name one file, because one of them is made of parts."""
    if text is None or saved is None or not (_PARTS.search(text) or _PARTS.search(saved)):
        return False
    return "." in text and text.rpartition(".")[2] == saved.rpartition(".")[2]


def ends_well(text: str | None, rule: str) -> bool:
    """Whether Keras 3 writes weights or a model to a file whose name ends so."""
    if text is None:
        return False
    return text.endswith(".weights.h5" if rule == "weights_file" else (".keras", ".h5"))


#: Functions that know SavedModels, but for those that write one.
_READING = re.compile(
    r"^tensorflow\.(.+\.)?((saved_model|predictor|tensorrt|trt|lite)\.|TFSMLayer$)|^tensorflow_hub\.",
    re.IGNORECASE,
)
_WRITING = re.compile(
    r"\.(save|simple_save|save_keras_model|from_keras_model\w*|Builder|\w+Builder)$"
)
#: Arguments that are folders of SavedModels, whatever takes them.
FOLDERS = frozenset(("export_dir", "saved_model_dir", "input_saved_model_dir"))
#: The last names of the calls by which Keras reads and writes models.
_OF_MODELS = frozenset(("load_model", "save", "save_model"))


def exported(finder: Finder) -> set[str | None]:
    """The folders of which the script reads a SavedModel, or which it says are one and does not load itself."""
    loaded: set[str | None] = set()
    read: set[str | None] = set()
    said: set[str | None] = set()
    for call in finder.names.calls:
        read.update(finder.text_of(folder) for folder in _read(call))
        if call.name.rpartition(".")[2] not in _OF_MODELS:
            continue
        path = argument(call.node, 0, "filepath")
        if path is not None and below_keras(call.name).endswith("load_model"):
            loaded.update(map(finder.text_of, names(finder, path)))
        elif constant(argument(call.node, 3, "save_format")) == "tf":
            place = 0 if call.name.startswith(".") else 1
            path = argument(call.node, place, "filepath")
            said.update([] if path is None else [finder.text_of(path)])
    return (read | (said - loaded)) - {None}


def reads_saved_model(name: str) -> bool:
    """Whether a function of TensorFlow reads the SavedModel of a folder that it is given."""
    return _READING.search(name) is not None and not writes_saved_model(name)


def writes_saved_model(name: str) -> bool:
    """Whether a function of TensorFlow writes a SavedModel to a folder that it is given."""
    return _WRITING.search(name) is not None


def _read(call: Call) -> list[ast.expr]:
    """What of a call may be the folder of a SavedModel that it reads."""
    if reads_saved_model(call.name):
        given = (*call.node.args, *(word.value for word in call.node.keywords))
        return [one for one in given if isinstance(one, _TEXTS)]
    if writes_saved_model(call.name):
        return []
    return [word.value for word in call.node.keywords if word.arg in FOLDERS]


_TEXTS = (ast.Constant, ast.Name, ast.Attribute, ast.BinOp, ast.JoinedStr, ast.Call)


def renamed(finder: Finder) -> frozenset[str]:
    """The names of files that a file writes, and that Keras 3 takes under another name only."""
    files = ((finder.text_of(path), rule) for path, _, rule, saves in arguments(finder) if saves)
    return frozenset(text for text, rule in files if text and not ends_well(text, rule))


def differences(finder: Finder) -> Iterator[Difference]:
    """Files of models and weights whose names Keras 3 does not take, where they are written and where read."""
    files = [(finder.text_of(one[0]), *one) for one in arguments(finder)]
    # A compiled model in HDF5 can be saved, and not loaded again where a loss has a short name.
    again = {
        text for text, _, call, rule, saves in files if not saves and keras_3_values.compiles(call)
    }
    wrong: set[str | None] = {*finder.module.renamed}
    for text, path, call, rule, saves in files:
        is_again = text in again and str(text).endswith(".h5")
        well = ends_well(text, rule) and not is_again
        if saves and (rule == "signatures" or not well):
            wrong.add(text)
            unseen = text is None and not finder.tf1 and rule != "signatures"
            yield Difference(table.BEHAVIOURS[rule], path, call, "save", uncertain=unseen)
    saved = {rule for _, _, _, rule, saves in files if saves}
    made = {text for text, _, _, _, saves in files if saves}
    for text, path, call, rule, saves in files:
        never = text is not None and not text.endswith(LOADABLE)
        is_alike = text not in wrong and any(may_be(text, one) for one in wrong)
        if not saves and (text in wrong or never or is_alike):
            unseen = text is None and not finder.tf1
            row = table.BEHAVIOURS[rule]
            row = row if text in wrong or rule in saved else row._replace(how="")
            yield Difference(row, path, call, "either" if is_alike else "load", uncertain=unseen)
        elif rule == "model_file" and not saves and _may_be_old(finder, path, made):
            yield Difference(table.BEHAVIOURS["old_model"], path, call, "load")
    yield from attributes(finder)
    yield from _architectures(finder)
    plain = [(str(text), rule) for text, _, _, rule, saves in files if saves and _is_plain(text)]
    folders = {text for text, rule in plain if rule == "model_file"}
    has_checkpoints = any(rule == "weights_file" for _, rule in plain)
    for one in finder.names.calls:
        yield from _looks(finder, one, folders, has_checkpoints)


def _may_be_old(finder: Finder, path: ast.expr, made: set[str | None]) -> bool:
    """Whether a file may hold a whole model that Keras 2 saved.

    Args:
      finder: Knows what names stand for.
      path: The name of the file that is loaded.
      made: How the names of the models end that the script saves; None where that is unknown.
    """
    text = finder.text_of(path)
    if text is not None:
        return text not in made and text.endswith((".h5", ".hdf5"))
    given = {finder.text_of(one) for one in finder.values.given(path)} - {None}
    if not finder.early or finder.module.renamed or None in made:
        return False
    return not given & made if given else not made


def _architectures(finder: Finder) -> Iterator[Difference]:
    """Models in JSON, in a script that writes none."""
    if not finder.early or indexes.has_call(finder.names, ".to_json", ".to_yaml"):
        return
    for call in finder.names.calls:
        if below_keras(call.name) == "models.model_from_json":
            yield Difference(table.BEHAVIOURS["old_architecture"], call.node, call.node)


def attributes(finder: Finder) -> Iterator[Difference]:
    """What a script asks its own files of weights for, and Keras 3 does not write into them."""
    rules = {rule for _, _, rule, saves in arguments(finder) if saves}
    if "weights_file" not in rules or not any(use.base == "h5py" for use in finder.names.uses):
        return
    for node in indexes.nodes(finder, ast.Subscript, ast.Call):
        owner: Any = None
        name: Any = None
        if isinstance(node, ast.Subscript):
            owner, name = node.value, constant(index_of(node))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "get" and node.args:
            owner, name = node.func.value, constant(node.args[0])  # type: ignore[attr-defined]
        if getattr(owner, "attr", "") != "attrs" or name not in _ATTRIBUTES:
            continue
        if not any(constant(one) == "model_weights" for one in walk(owner)):  # of a whole model
            yield Difference(table.BEHAVIOURS["weights_attributes"], node)


_ATTRIBUTES = frozenset(("layer_names", "weight_names", "keras_version", "backend"))


def _is_plain(text: str | None) -> bool:
    """Whether a file or folder without an ending is meant, which TensorFlow wrote in several files."""
    return text is not None and not text.endswith(LOADABLE) and "{" not in text


def _looks(
    finder: Finder, call: Call, folders: set[str], has_checkpoints: bool
) -> Iterator[Difference]:
    """Where a script looks into the folder of a model, or for the files of a checkpoint."""
    module, _, last = call.name.rpartition(".")
    of_files = last == "open" or f"{module}.".startswith(_FILE_MODULES)
    if not of_files or not (folders or has_checkpoints):
        return
    for path in call.node.args:
        whole = finder.text_of(path)
        inside = {constant(one) for one in walk(path)} if isinstance(path, _TEXTS) else set()
        below = [text for text in inside if isinstance(text, str)]
        is_folder = whole in folders and last not in _OF_ONE_FILE
        is_inside = whole not in folders and any(
            text in folders or text.startswith(tuple(f"{one}/" for one in folders))
            for text in below
        )
        if is_folder or is_inside:
            yield Difference(table.BEHAVIOURS["model_folder"], call.node, call.node, "folder")
        elif has_checkpoints and _OF_CHECKPOINT.search(str(whole)):
            yield Difference(table.BEHAVIOURS["checkpoint_files"], call.node, call.node, "files")


_FILE_MODULES = (
    *("os.", "glob.", "shutil.", "zipfile.", "tarfile.", "subprocess.", "pathlib."),
    *("tensorflow.io.gfile.", "tensorflow.gfile."),
)
#: What does as well with one file as with a folder.
_OF_ONE_FILE = frozenset(
    (
        *("exists", "lexists", "isfile", "getsize", "getmtime", "remove", "unlink", "rename"),
        *("replace", "copy", "copyfile", "copy2", "move", "stat", "join", "basename", "dirname"),
        *("abspath", "realpath", "relpath", "normpath", "split", "splitext", "expanduser"),
        *("makedirs", "mkdir", "access", "chmod", "fspath", "open", "system", "Path"),
        *("Exists", "Remove", "Rename", "Copy", "Stat", "GFile", "Open", "MakeDirs", "MkDir"),
    )
)
_OF_CHECKPOINT = re.compile(r"(^|/|\*)(\.index|\.data\S*|checkpoint)$")


def names(finder: Finder, path: ast.expr) -> list[ast.expr]:
    """The name of a file; of a loop over names that stand in the script, each of these."""
    for loop in indexes.nodes(finder, ast.For) if isinstance(path, ast.Name) else ():
        if key(loop.target) == key(path) and path in walk(loop):
            written = list(getattr(loop.iter, "elts", ()))
            if written and all(isinstance(constant(one), str) for one in written):
                return written
    return [path]


@indexes.once
def arguments(finder: Finder) -> list[tuple[ast.expr, ast.Call, str, bool]]:
    """(the expression of a file's name, the call, the rule that it falls under, whether it is written)."""
    return list(_arguments(finder))


def _arguments(finder: Finder) -> Iterator[tuple[ast.expr, ast.Call, str, bool]]:
    for call in finder.names.calls:
        last = call.name.rpartition(".")[2]
        below = below_keras(call.name)
        path: ast.expr | None = None
        rule, saves = "model_file", True
        if call.name.startswith(".") and not _is_other(finder, call):
            path = argument(call.node, 0, "filepath")
            if last in ("save_weights", "load_weights"):
                rule, saves = "weights_file", last == "save_weights"
            elif last != "save" or not finder._is_model(call.node.func.value):
                path = None
        elif below and last == "save_model":
            path = argument(call.node, 1, "filepath")
        elif (below and last == "load_model") or last == "from_keras_model_file":
            path, saves = argument(call.node, 0, "filepath"), False
        elif below and last == "ModelCheckpoint":
            path = argument(call.node, 0, "filepath")
            if constant(argument(call.node, 4, "save_weights_only")):
                rule = "weights_file"
        written = isinstance(path, ast.Call) and key(path.func) in _WRITTEN
        if path is None or written:
            continue
        is_export = rule == "model_file" and finder.text_of(path) in finder.exported
        if saves and (is_export or keyword(call.node, "signatures") is not None):
            rule = "signatures"
        for one in names(finder, path):
            yield one, call.node, rule, saves


def _is_other(finder: Finder, call: Call) -> bool:
    owner = getattr(call.node.func, "value", None)
    kind = OTHER if owner is None else finder.values.kind(owner)
    return kind not in ("", CALLBACK, *MODELS)
