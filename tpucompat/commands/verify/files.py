"""What files a script has left: checkpoints, summaries and exported models by their content, reports by
their numbers and words."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import pickle
import re
from typing import Any, Iterable, Iterator

import numpy as np

from tpucompat.base.late import late
from tpucompat.commands.checkpoints import formats
from tpucompat.commands.verify import contents, printed
from tpucompat.commands.verify.recorder import Recorder

# TensorFlow, where there is a file that only it reads.
tf = late("tensorflow")

#: Larger files are listed, not read.
_LARGEST = 256 * 2**20
#: So large is a text that is read whatever it is called.
_LARGEST_TEXT = 4 * 2**20
#: More entries than this are a vocabulary, not results.
_MOST_ENTRIES = 2000
#: Texts that are programs, markup or pictures.
_NO_RESULTS = re.compile(
    r"\.(py|ipynb|pbtxt|pb|html?|xml|svg|css|js|sh|c|h|cc|proto|png|jpe?g|gif|bmp|pdf|tfrecords?)$"
)
#: When a line was written.
_DATES = re.compile(r"\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d\S*)?|\b\d\d:\d\d:\d\d\S*")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|[-+]?inf"
_NAMED = re.compile(rf"\s*([^\W\d][\w ./-]*?)\s*([=:])\s*({_NUMBER})\s*")
_NUMBERS = re.compile(rf"\s*(?:(?:{_NUMBER})[\s,;]*)+")
_ONE_NUMBER = re.compile(rf"\s*(?:{_NUMBER})\s*", re.IGNORECASE)
#: A few words: the name of a class, an answer. Paths, dates, releases and addresses are none.
_WORDS = re.compile(r"[^\W\d_][\w '()-]*(?:, ?[^\W\d_][\w '()-]*)*")
#: So many words in a line of a text are a name; more are a sentence.
_FEW = 2
#: Names of files that TensorFlow and Keras write beside what is compared.
_OF_TENSORFLOW = re.compile(
    r"^checkpoint$|^graph\.pbtxt$|\.(index|meta|h5|hdf5|keras|pyc)$|\.data-\d+-of-\d+$|tfevents"
    r"|\.profile-empty$|\.xplane\.pb$|\.trace(\.json)?\.gz$"
)
#: By what whoever reads a text finds the numbers behind names.
_SIGNS = "signs behind names"
#: What the steps of a summary's tag are called.
STEPS = " (steps)"


def record(recorder: Recorder, folder: str) -> None:
    """Writes down what lies in a folder.

    Args:
      recorder: Where to write.
      folder: The folder that the script ran in and was told to write to.
    """
    left: dict[str, str] = {}
    for path in sorted(_files(folder)):
        relative = os.path.relpath(path, folder)
        if os.path.getsize(path) > _LARGEST:
            left[relative] = ""
        elif relative.endswith("saved_model.pb"):
            place = re.sub(r"(^|/)\d+$", "", os.path.dirname(relative))  # a server's version
            recorder.write("export", path=os.path.dirname(path), place=place)
        else:
            found = results_of(path)
            if found:
                recorder.write("report", found, path=relative)
            elif not _of_tensorflow(path):
                left[relative] = _digest(path)
    recorder.write("left", files=left)
    for where, scalars in sorted(_summaries(folder).items()):
        recorder.write("report", scalars, path=where)
    for path in formats.find(folder):
        form = formats.kind(path)
        keras = form in ("h5", "keras")
        values = formats.read(path, optimizer=True) if keras else formats.raw_tensors(path)
        if form == "h5":  # which keeps the optimizer's in a place of their own
            more = formats.read_keys(path).items()
            values.update({key: v for key, v in more if key.startswith("/optimizer_weights/")})
        numbers = {name: v for name, v in values.items() if np.asarray(v).dtype.kind in "fiu"}
        relative = os.path.relpath(path, folder)
        given = _given_names(path, form, numbers)
        recorder.write("checkpoint", numbers, path=relative, form=form, labels=given)
        if path.endswith(".keras"):
            recorder.write("keras_model", path=path)
    steps = sorted(set(_saved_steps(folder)))
    if steps:
        recorder.write("saved", steps=steps)


def _of_tensorflow(path: str) -> bool:
    """Whether a file is part of a checkpoint, of what is written for TensorBoard, or of an exported model."""
    name = os.path.basename(path)
    if _OF_TENSORFLOW.search(name) or "__pycache__" in path:
        return True
    folder = os.path.dirname(path)
    places = (folder, os.path.dirname(folder))  # an exported model has folders of its own
    return any(os.path.exists(os.path.join(place, "saved_model.pb")) for place in places)


def _digest(path: str) -> str:
    with open(path, "rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest()[:16]


def _given_names(path: str, form: str, keys: Iterable[str]) -> dict[str, str]:
    """Key in a checkpoint -> the name that was given to the variable, or to its layer, if the file says it."""
    if form == "keras":
        layers = {
            re.sub(r"/vars$", "", place).strip("/"): name
            for place, name in formats.saved_names(path).items()
        }
        return {key: f"{name}/{last}" for key, name, last in _of_layers(keys, layers)}
    known = formats.labels(path)
    return {key: known[key] for key in keys if key in known}


def _of_layers(keys: Iterable[str], layers: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for key in keys:
        place, _, last = key.rpartition("/")
        if layers.get(place):
            yield key, layers[place], last


def _saved_steps(folder: str) -> Iterator[int]:
    """What the counters in all checkpoints say, without reading the rest of them."""
    for path in _files(folder):
        prefix, extension = os.path.splitext(path)
        if extension != ".index" or os.path.basename(os.path.dirname(path)) == "variables":
            continue
        reader = tf.train.load_checkpoint(prefix)
        for name, shape in reader.get_variable_to_shape_map().items():
            if not shape and contents.COUNTED.search(name):
                value = reader.get_tensor(name)
                if contents.counts_steps(name, value):
                    yield int(value)


def _summaries(folder: str) -> dict[str, dict[str, np.ndarray]]:
    """Folder -> tag -> what was written for TensorBoard, in the order of the steps, and those steps.

    Of pictures, histograms and texts there are the steps alone.
    """
    found: dict[str, dict[str, dict[int, float | None]]] = {}
    for path in sorted(_files(folder)):
        if "tfevents" not in os.path.basename(path):
            continue
        where = os.path.join(os.path.relpath(os.path.dirname(path), folder), "summaries")
        for event in tf.compat.v1.train.summary_iterator(path):
            for value in event.summary.value:
                by_tag = found.setdefault(where, {})
                by_tag.setdefault(value.tag, {})[event.step] = _scalar(value)
    return {where: _by_tag(tags) for where, tags in found.items()}


def _by_tag(tags: dict[str, dict[int, float | None]]) -> dict[str, np.ndarray]:
    arrays = {}
    for tag, steps in tags.items():
        numbers = [number for _, number in sorted(steps.items()) if number is not None]
        if numbers:
            arrays[tag] = np.array(numbers)
        arrays[tag + STEPS] = np.array(sorted(steps))
    return arrays


def _scalar(value: Any) -> float | None:
    if value.HasField("simple_value"):
        return float(value.simple_value)
    if not value.HasField("tensor") or value.tensor.tensor_shape.dim:
        return None
    content = tf.make_ndarray(value.tensor)
    return float(content) if content.dtype.kind in "fiu" else None


def _files(folder: str) -> Iterator[str]:
    for root, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(root, name)


def results_of(path: str) -> dict[str, np.ndarray]:
    """The numbers and words in a file of any kind; empty for one that has none, or that is not read."""
    if path.endswith(".json"):
        return numbers_of(path)
    if path.endswith((".npy", ".npz", ".csv", ".tsv", ".txt")):
        return arrays_of(path)
    if _of_tensorflow(path) or _NO_RESULTS.search(path):
        return {}
    if path.endswith((".pkl", ".pickle", ".p")):
        return _of_pickle(path)
    return _of_unknown(path) if os.path.getsize(path) <= _LARGEST_TEXT else {}


def numbers_of(path: str) -> dict[str, np.ndarray]:
    """The numbers and words in a JSON file, as arrays by the keys that lead to them."""
    with open(path, encoding="utf-8") as stream:
        try:
            content = json.load(stream)
        except ValueError:
            return {}
    return _collected(content)


def _collected(content: Any) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    _collect(content, "", found)
    return found


class _Plain(pickle.Unpickler):
    """Reads numbers, words, lists, dictionaries and arrays, and calls nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        array = module.split(".")[0] == "numpy" and name in _OF_ARRAYS
        if array or (module, name) in _OF_PYTHON:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name}")


_OF_ARRAYS = frozenset(("_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer"))
_OF_PYTHON = frozenset(
    [
        ("collections", "OrderedDict"),
        ("collections", "defaultdict"),
        *(("builtins", name) for name in ("list", "dict", "float", "int")),
        ("_codecs", "encode"),
    ]
)


def _of_pickle(path: str) -> dict[str, np.ndarray]:
    try:
        with open(path, "rb") as stream:
            content = _Plain(stream).load()
    except Exception:  # whatever a file raises that is none, or has other objects
        return {}
    if isinstance(content, dict) and len(content) > _MOST_ENTRIES:
        return {}
    found = _collected(content)
    return {name or "content": value for name, value in found.items()}


def _of_unknown(path: str) -> dict[str, np.ndarray]:
    """A text: lines of JSON, a table with some delimiter, or numbers by the words before them."""
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            text = stream.read()
    except (OSError, ValueError):
        return {}
    if "\0" in text:
        return {}
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and all(line.lstrip().startswith("{") for line in lines):
        try:
            return _collected(_by_key([json.loads(line) for line in lines]))
        except ValueError:
            return {}
    for delimiter in "\t,;|":
        try:
            table = _of_table(text, delimiter) if len(lines) > 1 else {}
        except csv.Error:
            table = {}
        if table:
            # Whoever reads it parts its lines there.
            return {f"{name} (by {delimiter!r})": column for name, column in table.items()}
    plain = _DATES.sub("", text)
    found = {name or "numbers": one.values for name, one in printed.numbers(plain).items()}
    return {**found, **{name: np.array([said]) for name, said in printed.words(plain).items()}}


def _by_key(records: list[dict[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for record in records:
        for key, value in record.items():
            found.setdefault(key, []).append(value)
    return found


def _collect(thing: Any, path: str, found: dict[str, np.ndarray]) -> None:
    if isinstance(thing, dict):
        for key, value in thing.items():
            _collect(value, f"{path}/{key}" if path else str(key), found)
        return
    try:
        array = np.asarray(thing)
    except ValueError:  # lists of different lengths
        array = np.asarray(None)
    if array.dtype.kind == "U":
        array = of_words(array.ravel().tolist()).reshape(array.shape)
        # Whoever reads the file is given words.
        path += " (in quotes)" * (array.dtype.kind == "f")
    if array.dtype.kind in "biuf" or (array.dtype.kind == "U" and (array != "").any()):
        found[path] = array
    elif isinstance(thing, (list, tuple)):
        for index, value in enumerate(thing):
            if isinstance(value, (dict, list, tuple)):
                _collect(value, f"{path}/{index}", found)


def of_words(cells: list[str]) -> np.ndarray:
    """Cells as numbers, if all of them are, an empty one as NaN; else as words, "" for what says nothing."""
    numbers = [not cell.strip() or _ONE_NUMBER.fullmatch(cell) for cell in cells]
    if all(numbers) and any(cell.strip() for cell in cells):
        return np.array([float(cell) if cell.strip() else np.nan for cell in cells])
    plain = [cell.strip() for cell in cells]
    return np.array([c if _ONE_NUMBER.fullmatch(c) or _WORDS.fullmatch(c) else "" for c in plain])


def arrays_of(path: str) -> dict[str, np.ndarray]:
    """The arrays in a NumPy file, the columns of a table, or a text with results."""
    try:
        if path.endswith((".csv", ".tsv", ".txt")):
            with open(path, encoding="utf-8", newline="") as stream:
                text = stream.read()
            table = (
                {}
                if path.endswith(".txt")
                else _of_table(text, "\t" if path.endswith(".tsv") else ",")
            )
            return table or _of_text(text.splitlines())
        data = np.load(path)
        return {"array": data} if isinstance(data, np.ndarray) else {k: data[k] for k in data.files}
    except (OSError, ValueError, csv.Error):
        return {}


def _of_table(text: str, delimiter: str) -> dict[str, np.ndarray]:
    """Columns by the words in the first line, or by their number; empty for what is not a table."""
    rows = [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if any(row)]
    width = max(map(len, rows), default=0)
    if width < 2 or min(map(len, rows)) < width:
        return {}
    head = [f"column {index + 1}" for index in range(width)]
    if not any(_ONE_NUMBER.fullmatch(cell) for cell in rows[0]):
        head = [cell.strip("# ") or head[index] for index, cell in enumerate(rows.pop(0))]
    columns = {}
    for index, name in enumerate(head):
        column = of_words([row[index] for row in rows])
        if column.size and (column.dtype.kind == "f" or (column != "").any()):
            columns[name if name not in columns else f"{name} {index + 1}"] = column
    return columns


def _of_text(lines: Iterable[str]) -> dict[str, np.ndarray]:
    """``loss = 0.5`` by its name, what stands in lines of numbers alone, and lines of one or two words."""
    found: dict[str, list[Any]] = {}
    for line in lines:
        named = _NAMED.fullmatch(line)
        if named:
            found.setdefault(named.group(1), []).append(float(named.group(3)))
            found[_SIGNS] = sorted({*found.get(_SIGNS, []), named.group(2)})
        elif _NUMBERS.fullmatch(line):
            found.setdefault("numbers", []).extend(map(float, re.findall(_NUMBER, line)))
        elif _WORDS.fullmatch(line.strip()) and len(line.split()) <= _FEW:
            found.setdefault("words", []).append(line.strip())
    return {name: np.asarray(values) for name, values in found.items()}
