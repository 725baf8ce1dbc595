"""The names of files with models and weights, of which Keras 3 takes some endings only."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Iterator

from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis import keras_3_values
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.used import argument, constant, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: How files end that Keras 3 loads, its own and those of Keras 2.
LOADABLE = (".keras", ".h5", ".hdf5")


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


#: What reads a SavedModel: the end of the call's name -> the argument with its folder.
_READERS = {
    "saved_model.load": "export_dir",
    "saved_model.load_v2": "export_dir",
    "TFLiteConverter.from_saved_model": "saved_model_dir",
}
#: The last names of all calls that read or write models.
_OF_MODELS = frozenset(
    (*(name.rpartition(".")[2] for name in _READERS), "load_model", "save", "save_model")
)


def exported(finder: Finder) -> set[str | None]:
    """The folders of which the script reads a SavedModel, or which it says are one and does not load itself."""
    loaded: set[str | None] = set()
    read: set[str | None] = set()
    said: set[str | None] = set()
    for call in finder.names.calls:
        if call.name.rpartition(".")[2] not in _OF_MODELS:
            continue
        for ending, word in _READERS.items():
            folder = argument(call.node, 0, word)
            if call.name.endswith(ending) and folder is not None:
                read.add(finder.text_of(folder))
        path = argument(call.node, 0, "filepath")
        if path is not None and below_keras(call.name).endswith("load_model"):
            loaded.update(map(finder.text_of, names(finder, path)))
        elif constant(argument(call.node, 3, "save_format")) == "tf":
            place = 0 if call.name.startswith(".") else 1
            path = argument(call.node, place, "filepath")
            said.update([] if path is None else [finder.text_of(path)])
    return (read | (said - loaded)) - {None}


def differences(finder: Finder) -> Iterator[Difference]:
    """Files of models and weights whose names Keras 3 does not take, where they are written and where read."""
    files = [(finder.text_of(one[0]), *one) for one in finder.file_arguments()]
    # A compiled model in HDF5 can be saved, and not loaded again where a loss has a short name.
    again = {
        text for text, _, call, rule, saves in files if not saves and keras_3_values.compiles(call)
    }
    wrong: set[str | None] = set()
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
        elif rule == "model_file" and text not in made and str(text).endswith((".h5", ".hdf5")):
            yield Difference(table.BEHAVIOURS["old_model"], path, call, "load")


def names(finder: Finder, path: ast.expr) -> list[ast.expr]:
    """The name of a file; of a loop over names that stand in the script, each of these."""
    for loop in finder.nodes if isinstance(path, ast.Name) else ():
        if isinstance(loop, ast.For) and key(loop.target) == key(path) and path in walk(loop):
            written = list(getattr(loop.iter, "elts", ()))
            if written and all(isinstance(constant(one), str) for one in written):
                return written
    return [path]
