"""Reads the variables of a checkpoint, whichever generation of TensorFlow or Keras wrote it.

Four kinds: ``tf1`` (TensorFlow's format with variable names), ``tf2`` (the same files, keys are paths of
attributes), ``h5`` (Keras' HDF5, whole models and weights alone) and ``keras`` (the zip archive of Keras 3,
and its ``.weights.h5``).
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import zipfile
from typing import Any, Iterator, Mapping, NamedTuple

import numpy as np

from tpucompat.base.late import late
from tpucompat.commands.checkpoints import hdf5

# TensorFlow and h5py, whichever the format needs.
h5py = late("h5py")
tf = late("tensorflow")
trackable_object_graph_pb2 = late("tensorflow.core.protobuf.trackable_object_graph_pb2")

#: What TensorFlow 2 appends to the path of a variable.
VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
#: Where Keras 3 keeps the weights in a ``.keras`` archive.
WEIGHTS_IN_ARCHIVE = "model.weights.h5"
_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_SLOT = "/.OPTIMIZER_SLOT/"
#: Where an optimizer of Keras 3 holds the model's variables, if its checkpoint reaches them through it.
_OF_AN_OPTIMIZER = "/_trainable_variables/"


class UnreadableError(ValueError):
    """There is no checkpoint at a path, or it is of no known kind."""


class MissingError(UnreadableError):
    """There is no checkpoint at a path."""


def kind(path: str) -> str:
    """The kind of a checkpoint: "tf1", "tf2", "h5" or "keras".

    Args:
      path: A file, the prefix of a TensorFlow checkpoint, or a folder with one.

    Raises:
      UnreadableError: If there is none.
    """
    with _reading(path):
        if path.endswith((".h5", ".hdf5", ".keras")):
            _must_exist(path)
            if zipfile.is_zipfile(path):
                return "keras"
            if not h5py.is_hdf5(path):
                raise UnreadableError(f"{path}: neither an HDF5 file nor a Keras 3 archive")
            with h5py.File(path, "r") as file:
                return "h5" if _layer_names(_reader_of(file, path)) else "keras"
        return "tf2" if any(key == _OBJECT_GRAPH for key in _shapes(prefix(path))) else "tf1"


@contextlib.contextmanager
def _reading(path: str) -> Iterator[None]:
    """Within: whatever a damaged file makes a library raise says that the file cannot be read."""
    try:
        yield
    except (UnreadableError, hdf5.UnsafeError):
        raise
    except Exception as error:
        reason = str(error).strip().split("\n")[0][:200]
        raise UnreadableError(f"{path}: {type(error).__name__}: {reason}") from error


def _must_exist(path: str) -> None:
    if not os.path.isfile(path):
        raise MissingError(f"{path}: no such file")


def prefix(path: str) -> str:
    """The prefix of a TensorFlow checkpoint: that of the newest one, for a folder.

    Raises:
      UnreadableError: If there is none.
    """
    if os.path.isdir(path):
        found = tf.train.latest_checkpoint(path)
        if not found and os.path.exists(os.path.join(path, "variables", "variables.index")):
            found = os.path.join(path, "variables", "variables")  # of an exported model
        if not found:
            raise MissingError(f"{path}: no checkpoint in this folder")
        return str(found)
    path = re.sub(r"\.(index|meta|data-\d+-of-\d+)$", "", path)
    if not os.path.exists(path + ".index"):
        what = "not a checkpoint" if os.path.exists(path) else "no such checkpoint"
        raise MissingError(f"{path}: {what}")
    return path


def find(folder: str) -> list[str]:
    """The checkpoints below a folder: the newest of each folder, and all files of Keras."""
    found = []
    for root, _, files in sorted(os.walk(folder)):
        indices = [name for name in files if name.endswith(".index")]
        if indices and os.path.basename(root) != "variables":
            newest = max(indices, key=lambda name: os.path.getmtime(os.path.join(root, name)))
            found.append(os.path.join(root, newest[: -len(".index")]))
        found += [
            os.path.join(root, name)
            for name in sorted(files)
            if name.endswith((".h5", ".hdf5", ".keras"))
        ]
    return found


def read(path: str, optimizer: bool = False) -> dict[str, np.ndarray]:
    """The variables of a checkpoint.

    Args:
      path: As for :func:`kind`.
      optimizer: Also what belongs to the optimizer, and counters.

    Returns:
      Name -> array, in the order in which the layers stand where the file knows it, else in the alphabet's.
      The names of a TensorFlow 2 checkpoint are paths of attributes, without their common ending.

    Raises:
      UnreadableError: If there is nothing that can be read.
      UnsafeError: Of ``hdf5``, if it reaches out of its file, or declares more than it holds.
    """
    found = kind(path)
    values: dict[str, np.ndarray]
    with _reading(path):
        values = _read_tensorflow(prefix(path)) if found in ("tf1", "tf2") else _read_hdf5(path)
    return {
        name: value
        for name, value in values.items()
        if optimizer or not (is_optimizers(name) or _is_slot(name, values))
    }


#: Words in names of what optimizers, counters and random generators keep.
_NOT_OF_THE_MODEL = re.compile(
    r"(^|/)(\.?OPTIMIZER_SLOT|optimizer\w*|_?optimizer|save_counter|global_step|step|iteration|beta[12]_power(_\d+)?"
    r"|Adam(_\d+)?|adam_[mv]|Momentum|RMSProp(_\d+)?|Adagrad|learning_rate|training|current_learning_rate"
    r"|keras_api|seed_generator\w*|ExponentialMovingAverage)(/|$)"
)


def is_optimizers(name: str) -> bool:
    """Whether a name is of an optimizer's variable or a counter, not of the model's."""
    return bool(_NOT_OF_THE_MODEL.search(name))


def _is_slot(name: str, values: Mapping[str, np.ndarray]) -> bool:
    """Whether a name is that of another variable with a word behind it, and both have one shape."""
    variable = values.get(name.rpartition("/")[0])
    return variable is not None and bool(variable.shape) and variable.shape == values[name].shape


# What an optimizer keeps -------------------------------------------------------------------------


class Settings(NamedTuple):
    """What a file of Keras says of its model.

    Attributes:
      class_name: The optimizer's class; empty if the file does not say.
      config: The optimizer's arguments.
      layers: Name of a layer -> whether it is trainable, in the model's order; empty if the file does not say.
    """

    class_name: str
    config: Mapping[str, Any]
    layers: Mapping[str, bool]


def settings(path: str) -> Settings:
    """The settings in a file of Keras; empty ones for other files."""
    with _reading(path):
        if zipfile.is_zipfile(path):
            weights_file(path)  # refuses an archive that declares too much
            with zipfile.ZipFile(path) as archive:
                model = json.loads(archive.read("config.json"))
            optimizer = (model.get("compile_config") or {}).get("optimizer")
            layers: dict[str, bool] = {}
            _add_layers(model, layers)
        elif path.endswith((".h5", ".hdf5")):
            with opened(path) as (_, reader):
                texts = reader.attribute("/", "training_config")
            optimizer = json.loads(texts[0]).get("optimizer_config") if texts else None
            layers = {}
        else:
            return Settings("", {}, {})
    if isinstance(optimizer, dict):
        name = str(optimizer.get("class_name") or "").rpartition(">")[2]
        return Settings(name, optimizer.get("config") or {}, layers)
    return Settings(optimizer if isinstance(optimizer, str) else "", {}, layers)


def _add_layers(model: Mapping[str, Any], layers: dict[str, bool]) -> None:
    for layer in (model.get("config") or {}).get("layers") or ():
        config = layer.get("config") or {}
        layers[config.get("name", "")] = bool(config.get("trainable", True))
        _add_layers(layer, layers)


def read_keys(path: str) -> dict[str, np.ndarray]:
    """All numbers in a checkpoint, the optimizer's too, by their keys, or the paths of their datasets.

    Args:
      path: As for :func:`kind`.
    """
    found = kind(path)
    with _reading(path):
        if found in ("tf1", "tf2"):
            reader = _reader(prefix(path))
            return {
                key: np.asarray(reader.get_tensor(key))
                for key, dtype in reader.get_variable_to_dtype_map().items()
                if dtype.name != "string"
            }
        with opened(path) as (_, stored):
            return {where: stored.read(where) for where in stored.datasets()}


def keys(path: str) -> dict[str, str]:
    """Name of a variable of the model -> its key, or the path of its dataset.

    Args:
      path: As for :func:`kind`.
    """
    found = kind(path)
    with _reading(path):
        if found in ("tf1", "tf2"):
            known = variable_keys(prefix(path))
        else:
            with opened(path) as (_, reader):
                known = places(reader)
    return {name: re.sub("//+", "/", known[name]) for name in read(path)}


def labels(path: str) -> dict[str, str]:
    """Key -> what a variable was called when it was made, where a checkpoint says it beside the key.

    Args:
      path: As for :func:`kind`.
    """
    found = kind(path)
    with _reading(path):
        if found == "tf2":
            return _names_of_objects(_reader(prefix(path)))
        if found == "h5":
            with opened(path) as (_, reader):
                names = reader.attribute("/optimizer_weights", "weight_names")
            return {f"/optimizer_weights/{name}": name for name in names}
    return {}


def _names_of_objects(reader: Any) -> dict[str, str]:
    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    graph.ParseFromString(reader.get_tensor(_OBJECT_GRAPH))
    return {
        attribute.checkpoint_key: attribute.full_name
        for node in graph.nodes
        for attribute in node.attributes
        if attribute.full_name
    }


def slot_of(key: str) -> tuple[str, str, str] | None:
    """Variable, optimizer and slot of a key of an object-based checkpoint that is a slot's."""
    variable, found, rest = key.partition(_SLOT)
    if not found:
        return None
    optimizer, _, slot = rest[: -len(VALUE)].rpartition("/")
    return variable, optimizer, slot


def saved_names(path: str) -> dict[str, str]:
    """Group of variables in a file of Keras 3 -> the name of the layer or the optimizer that they belong to."""
    found: dict[str, str] = {}
    with _reading(path), opened(path) as (_, reader):
        for place in reader.groups():
            if place.endswith("/vars"):
                found[place] = "".join(reader.attribute(place, "name"))
    return found


# TensorFlow's ----------------------------------------------------------------------------------


def _reader(where: str) -> Any:
    """TensorFlow's reader of a checkpoint whose values are as large as its files."""
    reader = tf.compat.v1.train.NewCheckpointReader(where)
    types = reader.get_variable_to_dtype_map()
    declared = sum(
        int(np.prod(np.array(shape, object))) * (0 if types[key] == tf.string else types[key].size)
        for key, shape in reader.get_variable_to_shape_map().items()
    )
    folder, name = os.path.split(where)
    files = [entry for entry in os.scandir(folder or ".") if entry.name.startswith(name + ".data-")]
    if files:  # a checkpoint of the first format is one file, and compressed
        hdf5.must_fit(declared, sum(entry.stat().st_size for entry in files), where)
    return reader


def _shapes(where: str) -> Mapping[str, Any]:
    shapes: Mapping[str, Any] = _reader(where).get_variable_to_shape_map()
    return shapes


def natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts ``dense_10`` behind ``dense_9``."""
    words = re.split(r"(\d+)", name)
    return [(int(word), "") if word.isdigit() else (-1, word) for word in words]


def raw_tensors(where: str) -> dict[str, Any]:
    """Everything in a TensorFlow checkpoint, by its key, text too.

    Args:
      where: Its prefix.
    """
    reader = _reader(where)
    return {
        key: reader.get_tensor(key)
        for key in sorted(reader.get_variable_to_dtype_map(), key=natural)
    }


def variable_keys(where: str) -> dict[str, str]:
    """Name -> key in a TensorFlow checkpoint, without text and slots of optimizers.

    Args:
      where: Its prefix.
    """
    reader = _reader(where)
    types = reader.get_variable_to_dtype_map()
    names = {}
    if any(
        _OF_AN_OPTIMIZER in key for key in types
    ):  # the path names no layer, and is not the model's
        names = {
            key: name for key, name in _names_of_objects(reader).items() if _OF_AN_OPTIMIZER in key
        }
    return {
        names.get(key) or (key[: -len(VALUE)] if key.endswith(VALUE) else key): key
        for key in sorted(types, key=natural)
        if key != _OBJECT_GRAPH and types[key].name != "string" and _SLOT not in key
    }


def _read_tensorflow(where: str) -> dict[str, np.ndarray]:
    reader = _reader(where)
    return {name: reader.get_tensor(key) for name, key in variable_keys(where).items()}


# Keras' ----------------------------------------------------------------------------------------


def _reader_of(file: Any, path: str) -> hdf5.Reader:
    """What reads an open HDF5 file, which may lie inside of an archive."""
    return hdf5.Reader(file, hdf5.most_bytes(path))


def _weights_group(reader: hdf5.Reader) -> str:
    return "/" if reader.get("model_weights") is None else "/model_weights"


def _layer_names(reader: hdf5.Reader) -> list[str]:
    return reader.attribute(_weights_group(reader), "layer_names")


def _read_hdf5(path: str) -> dict[str, np.ndarray]:
    with opened(path) as (_, reader):
        return {name: reader.read(where) for name, where in places(reader).items()}


@contextlib.contextmanager
def opened(path: str, where: Any = None, mode: str = "r") -> Iterator[tuple[Any, hdf5.Reader]]:
    """Opens a file of Keras: what h5py makes of it, and what reads it with care.

    Args:
      path: The file.
      where: What is opened in its place, if it is in memory.
      mode: That of h5py.
    """
    with h5py.File(weights_file(path) if where is None else where, mode) as file:
        yield file, _reader_of(file, path)


def weights_file(path: str) -> Any:
    """What h5py opens for a file of Keras 3: the file, or the weights inside of its archive.

    Keras 2 up to TensorFlow 2.11 writes HDF5 under the ending .keras, too.
    """
    if not zipfile.is_zipfile(path):
        return path
    with zipfile.ZipFile(path) as archive:
        size = sum(item.file_size for item in archive.infolist())
        hdf5.must_fit(size, hdf5.most_bytes(path), path)
        return io.BytesIO(archive.read(WEIGHTS_IN_ARCHIVE))


def places(reader: hdf5.Reader) -> dict[str, str]:
    """Name -> the path of its dataset, in an open HDF5 file of either generation of Keras."""
    return _h5_places(reader) if _layer_names(reader) else _keras_places(reader)


def _h5_places(reader: hdf5.Reader) -> dict[str, str]:
    group = _weights_group(reader)
    found = {}
    for layer in _layer_names(reader):
        for name in reader.attribute(f"{group}/{layer}", "weight_names"):
            found[name.partition(":")[0]] = f"{group}/{layer}/{name}"
    return found


def _keras_places(reader: hdf5.Reader) -> dict[str, str]:
    """Keras 3 numbers the variables of a layer; they are called by what layers of such shapes have."""
    layers: dict[str, list[str]] = {}
    for where in sorted(reader.datasets(), key=natural):
        if where.startswith("/metrics/"):  # Keras 2 saves those, too
            continue
        layers.setdefault(where.rpartition("/")[0], []).append(where)
    found = {}
    for layer, datasets in layers.items():
        shapes = [tuple(reader.dataset(where).shape) for where in datasets]
        base = re.sub(r"/vars$", "", layer).lstrip("/")
        for word, where in zip(_words(shapes) or map(_last, datasets), datasets):
            found[f"{base}/{word}"] = where
    return found


def _last(where: str) -> str:
    return where.rpartition("/")[2]


def _words(shapes: list[tuple[int, ...]]) -> list[str]:
    """What the variables of a layer are called, if their shapes tell."""
    vectors = all(len(shape) == 1 for shape in shapes) and len(set(shapes)) == 1
    if vectors and len(shapes) == 4:  # batch normalization
        return ["gamma", "beta", "moving_mean", "moving_variance"]
    if vectors and len(shapes) == 2:  # layer normalization
        return ["gamma", "beta"]
    if len(shapes) == 2 and len(shapes[0]) > 1 and len(shapes[1]) == 1:
        return ["kernel", "bias"]
    if len(shapes) == 3 and [len(shape) for shape in shapes] == [2, 2, 1]:
        return ["kernel", "recurrent_kernel", "bias"]
    return ["kernel"] if len(shapes) == 1 and len(shapes[0]) > 1 else []
