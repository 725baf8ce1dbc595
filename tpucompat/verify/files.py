"""What files a script has left: checkpoints, summaries and exported models by their content, reports by
their numbers."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Iterable, Iterator

import numpy as np

from tpucompat.verify.recorder import Recorder

#: Larger files are listed, not read.
_LARGEST = 256 * 2**20
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|[-+]?inf"
_NAMED = re.compile(rf"\s*([^\W\d][\w ./-]*?)\s*[=:]\s*({_NUMBER})\s*")
_NUMBERS = re.compile(rf"\s*(?:(?:{_NUMBER})[\s,;]*)+")


def record(recorder: Recorder, folder: str) -> None:
    """Writes down what lies in a folder.

    Args:
      recorder: Where to write.
      folder: The folder that the script ran in and was told to write to.
    """
    from tpucompat.checkpoints import formats

    for path in sorted(_files(folder)):
        relative = os.path.relpath(path, folder)
        if os.path.getsize(path) > _LARGEST:
            continue
        if relative.endswith(".json"):
            numbers = numbers_of(path)
            if numbers:
                recorder.write("report", numbers, path=relative)
        elif relative.endswith((".npy", ".npz", ".csv", ".tsv", ".txt")):
            arrays = arrays_of(path)
            if arrays:
                recorder.write("report", arrays, path=relative)
        elif relative.endswith("saved_model.pb"):
            recorder.write("export", path=os.path.dirname(path))
    for where, scalars in sorted(_summaries(folder).items()):
        recorder.write("report", scalars, path=where)
    for path in formats.find(folder):
        keras = formats.kind(path) in ("h5", "keras")
        values = formats.read(path, optimizer=True) if keras else formats.raw_tensors(path)
        numbers = {name: v for name, v in values.items() if np.asarray(v).dtype.kind in "fiu"}
        recorder.write("checkpoint", numbers, path=os.path.relpath(path, folder))


def _summaries(folder: str) -> dict[str, dict[str, np.ndarray]]:
    """Folder -> tag of a scalar -> what was written for TensorBoard, in the order of the steps."""
    import tensorflow as tf

    found: dict[str, dict[str, dict[int, float]]] = {}
    for path in sorted(_files(folder)):
        if "tfevents" not in os.path.basename(path):
            continue
        where = os.path.join(os.path.relpath(os.path.dirname(path), folder), "summaries")
        for event in tf.compat.v1.train.summary_iterator(path):
            for value in event.summary.value:
                number = _scalar(value)
                if number is not None:
                    by_tag = found.setdefault(where, {})
                    by_tag.setdefault(value.tag, {})[event.step] = number
    return {
        where: {tag: np.array([v for _, v in sorted(steps.items())]) for tag, steps in tags.items()}
        for where, tags in found.items()
    }


def _scalar(value: Any) -> float | None:
    if value.HasField("simple_value"):
        return float(value.simple_value)
    if not value.HasField("tensor") or value.tensor.tensor_shape.dim:
        return None
    import tensorflow as tf

    content = tf.make_ndarray(value.tensor)
    return float(content) if content.dtype.kind in "fiu" else None


def _files(folder: str) -> Iterator[str]:
    for root, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(root, name)


def numbers_of(path: str) -> dict[str, np.ndarray]:
    """The numbers in a JSON file, as arrays by the keys that lead to them."""
    with open(path, encoding="utf-8") as stream:
        try:
            content = json.load(stream)
        except ValueError:
            return {}
    found: dict[str, np.ndarray] = {}
    _collect(content, "", found)
    return found


def _collect(thing: Any, path: str, found: dict[str, np.ndarray]) -> None:
    if isinstance(thing, dict):
        for key, value in thing.items():
            _collect(value, f"{path}/{key}" if path else str(key), found)
        return
    if isinstance(thing, (bool, int, float, list)):
        try:
            array = np.asarray(thing)
        except ValueError:  # lists of different lengths
            return
        if array.dtype.kind in "biuf":
            found[path] = array
        elif isinstance(thing, list):
            for index, value in enumerate(thing):
                if isinstance(value, (dict, list)):
                    _collect(value, f"{path}/{index}", found)


def arrays_of(path: str) -> dict[str, np.ndarray]:
    """The arrays in a NumPy file, a table of numbers, or a text with results."""
    try:
        if path.endswith((".tsv", ".txt")):
            with open(path, encoding="utf-8") as stream:
                return _of_text(stream)
        if path.endswith(".csv"):
            return {"table": np.genfromtxt(path, delimiter=",", skip_header=1)}
        data = np.load(path)
        return {"array": data} if isinstance(data, np.ndarray) else {k: data[k] for k in data.files}
    except (OSError, ValueError):
        return {}


def _of_text(lines: Iterable[str]) -> dict[str, np.ndarray]:
    """``loss = 0.5`` by its name, and what stands in lines of numbers alone; other text says nothing."""
    found: dict[str, list[float]] = {}
    for line in lines:
        named = _NAMED.fullmatch(line)
        if named:
            found.setdefault(named.group(1), []).append(float(named.group(2)))
        elif _NUMBERS.fullmatch(line):
            found.setdefault("numbers", []).extend(map(float, re.findall(_NUMBER, line)))
    return {name: np.asarray(values) for name, values in found.items()}
