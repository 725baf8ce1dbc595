"""Writes the variables of one checkpoint in the format of another generation."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any, Callable, Mapping, NamedTuple

import numpy as np

from tpucompat.base import temporary
from tpucompat.base.late import late
from tpucompat.commands.checkpoints import formats, optimizers, whole_models
from tpucompat.commands.checkpoints.formats import UnreadableError
from tpucompat.commands.checkpoints.states import StateError
from tpucompat.commands.verify.matching import Matches, match
from tpucompat.commands.verify.recorder import Variable

# TensorFlow and h5py, whichever the format needs.
h5py = late("h5py")
tf = late("tensorflow")

KINDS = ("tf1", "tf2", "h5", "keras")


class ConversionError(ValueError):
    """The variables of the two sides do not belong together, or the target cannot be made."""


class Converted(NamedTuple):
    """What was done.

    Attributes:
      source: The kind that was read.
      target: The kind that was written.
      names: Written name -> read name.
      matches: How they were found; None where no layout was given.
      kept: Names whose values are those of the layout's own file.
      state: Key of what the optimizer keeps -> where its value is from; None where that was not converted.
      remarks: What else to know of it.
    """

    source: str
    target: str
    names: dict[str, str]
    matches: Matches | None
    kept: list[str]
    state: Mapping[str, str] | None = None
    remarks: tuple[str, ...] = ()


def convert(
    source: str,
    target: str,
    to: str | None = None,
    like: str | None = None,
    mapping: Mapping[str, str] | None = None,
    partial: bool = False,
    optimizer: optimizers.Wanted | None = None,
) -> Converted:
    """Converts a checkpoint.

    Args:
      source: What to read; see :func:`tpucompat.commands.checkpoints.formats.kind`.
      target: The file, or the prefix of a TensorFlow checkpoint, to write.
      to: The kind to write; told by the target's ending, or by ``like``, where None.
      like: A checkpoint of the program that is going to read the target: its names and its layout. What does
        not belong to the model (an optimizer's state, counters) keeps its values.
      mapping: Name in ``like`` (or to write) -> name in the source.
      partial: Whether variables of ``like`` without a twin may keep its values.
      optimizer: What is known of the optimizer, whose state is converted, too. Left alone where None.

    Raises:
      UnreadableError: A file cannot be read.
      ConversionError: Variables have no twin, or the target cannot be made without ``like``.
    """
    values = formats.read(source)
    if like is None and target.endswith(".keras") and whole_models.is_whole(source):
        return _convert_model(source, values, target, mapping, optimizer)
    if not values:
        raise UnreadableError(f"{source}: contains no model variables")
    kind = to or _kind_of_target(target, like)
    if like is None:
        if optimizer is not None:
            raise ConversionError(
                "an optimizer's state requires --like FILE, saved with the optimizer"
            )
        return _convert_freely(source, values, target, kind, mapping or {})
    if formats.kind(like) != kind:
        raise ConversionError(f"{like} has the format {formats.kind(like)}, but {kind} is required")
    wanted = formats.read(like)
    matches = match(_variables(values), _variables(wanted), mapping)
    problems = list(matches.problems)
    if matches.only_new and not partial:
        problems.append(
            f"{source} has no match for {', '.join(matches.only_new[:6])} (assign one "
            "with --map, or keep their values with --partial)"
        )
    # TensorFlow's files know no order: the alphabet is not that of the layers.
    by_order = [name for name, how in matches.how.items() if how == "order"]
    if by_order and {kind, formats.kind(source)} & {"tf1", "tf2"}:
        problems.append(f"no match by name or shape for {', '.join(by_order[:6])}; use --map FILE")
    if problems or not matches.pairs:
        raise ConversionError(
            "; ".join(problems) or "the two checkpoints have no variables in common"
        )
    chosen = {
        name: values[theirs].astype(wanted[name].dtype) for name, theirs in matches.pairs.items()
    }
    kept = list(matches.only_new)
    carried = None
    if optimizer is not None:
        carried = optimizers.carry(source, like, matches.pairs, optimizer)
        if carried.kept and not partial:
            raise ConversionError(
                f"{source} has no value for {', '.join(carried.kept[:6])} (keep those of {like} with "
                "--partial)"
            )
        kept += carried.kept
    state = carried.values if carried else {}
    write_like, layout = _WRITERS_LIKE[kind], like
    _write(target, chosen, lambda made: write_like(made, layout, chosen, state), state)
    names = carried.names if carried else None
    return Converted(formats.kind(source), kind, matches.pairs, matches, kept, names)


def _kind_of_target(target: str, like: str | None) -> str:
    if target.endswith((".keras", ".weights.h5")) and not (like and formats.kind(like) == "h5"):
        return "keras"
    if target.endswith((".h5", ".hdf5")):
        return formats.kind(like) if like else "h5"
    if like:
        return formats.kind(like)
    raise ConversionError(
        f"{target}: cannot determine the format from the name; use --to tf1, --to tf2 or "
        "--like FILE"
    )


def _variables(values: Mapping[str, np.ndarray]) -> list[Variable]:
    return [Variable(name, tuple(value.shape), False) for name, value in values.items()]


def _convert_freely(
    source: str,
    values: Mapping[str, np.ndarray],
    target: str,
    kind: str,
    mapping: Mapping[str, str],
) -> Converted:
    unknown = [name for name in mapping.values() if name not in values]
    if unknown:
        raise ConversionError(f"{source} has no variable {', '.join(unknown)}")
    renamed = {theirs: ours for ours, theirs in mapping.items()}
    names = {renamed.get(name, name): name for name in values}
    chosen = {name: values[theirs] for name, theirs in names.items()}
    if kind == "keras":
        raise ConversionError(
            "a Keras 3 file belongs to one model; pass a file saved by the new model "
            "with --like FILE"
        )
    _write(target, chosen, lambda made: _WRITERS[kind](made, chosen))
    return Converted(formats.kind(source), kind, names, None, [])


def _convert_model(
    source: str,
    values: Mapping[str, np.ndarray],
    target: str,
    mapping: Mapping[str, str] | None,
    wanted: optimizers.Wanted | None,
) -> Converted:
    """A whole model of Keras 2, which needs no layout: its own configuration says what belongs where."""
    if mapping:
        raise ConversionError("a whole model requires --like FILE for --map FILE")
    place = os.path.realpath(target)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with temporary.folder(beside=place) as folder:
        made = os.path.join(folder, os.path.basename(place))
        try:
            problem = whole_models.write(source, made)
        except whole_models.UntranslatableError as error:
            raise ConversionError(f"{target} was not written: {error}") from error
        remarks = [f"not compiled: {problem}"] if problem else []
        done = Converted("h5", "keras", dict(zip(values, values)), None, [])
        if not problem and whole_models.has_state(source):
            try:
                done = convert(
                    source, made, "keras", made, None, False, wanted or optimizers.Wanted()
                )
            except (ConversionError, StateError) as error:
                if wanted is not None:
                    raise
                remarks.append(f"the optimizer starts without its state: {error}")
        os.replace(made, place)
    return done._replace(remarks=(whole_models.SAME, *remarks))


def _write(
    target: str,
    chosen: Mapping[str, np.ndarray],
    write: Callable[[str], None],
    state: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Writes beside the target, reads that again, and puts it in its place."""
    place = os.path.realpath(target)
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with temporary.folder(beside=place) as folder:
            made = os.path.join(folder, os.path.basename(place))
            write(made)
            _check(formats.read(made, optimizer=True), target, chosen)
            if state:
                _check(formats.read_keys(made), target, state)
            _move(folder, os.path.dirname(place))
    except ConversionError:
        raise
    except Exception as error:  # also what TensorFlow and h5py raise where a disk is full
        reason = str(error).strip().split("\n")[0][:200]
        raise ConversionError(f"{target} was not written: {reason}") from error
    if not target.endswith((".h5", ".hdf5", ".keras")):
        _name_newest(target)


def _move(source: str, target: str) -> None:
    """Puts all files of one folder into another; a checkpoint's index, which is read first, at last."""
    for name in sorted(os.listdir(source), key=lambda name: (name.endswith(".index"), name)):
        os.replace(os.path.join(source, name), os.path.join(target, name))


def _name_newest(target: str) -> None:
    """Lets a folder that names no newest checkpoint name this one."""
    folder = os.path.dirname(os.path.abspath(target))
    if not os.path.exists(os.path.join(folder, "checkpoint")):
        tf.compat.v1.train.update_checkpoint_state(folder, os.path.basename(target))


def _check(
    written: Mapping[str, np.ndarray], target: str, chosen: Mapping[str, np.ndarray]
) -> None:
    for name, value in chosen.items():
        if name not in written or not np.array_equal(written[name], value):
            same = name in written and bool(np.all((written[name] == value) | (value != value)))
            if not same:
                raise ConversionError(f"{target}: {name} differs after writing")


# Writers with a layout of their own ----------------------------------------------------------------


def _write_tf1(target: str, values: Mapping[str, Any]) -> None:
    """TensorFlow's format with these keys."""
    keys = sorted(values)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tensors = [tf.constant(values[key]) for key in keys]
        session.run(
            tf.raw_ops.SaveV2(
                prefix=target, tensor_names=keys, shape_and_slices=[""] * len(keys), tensors=tensors
            )
        )


def _write_tf2(target: str, values: Mapping[str, np.ndarray]) -> None:
    """An object-based checkpoint whose objects are the parts of the names."""
    if tf.__version__.startswith("1."):
        raise ConversionError("writing an object-based checkpoint requires TensorFlow 2")
    root = tf.train.Checkpoint()
    for name, value in values.items():
        *path, last = name.split("/")
        holder = root
        for part in path:
            if not hasattr(holder, part):
                setattr(holder, part, tf.train.Checkpoint())
            holder = getattr(holder, part)
        setattr(holder, last, tf.Variable(value))
    root.write(target)


def _write_h5(target: str, values: Mapping[str, np.ndarray]) -> None:
    """The weights alone, as ``Model.save_weights`` of Keras 2 writes them."""
    layers: dict[str, list[str]] = {}
    for name in values:
        layers.setdefault(name.rpartition("/")[0] or name, []).append(name)
    made = io.BytesIO()  # on a disk that is full, HDF5's own writing ends the process
    with h5py.File(made, "w") as file:
        file.attrs["layer_names"] = [layer.encode("utf-8") for layer in layers]
        file.attrs["backend"] = b"tensorflow"
        file.attrs["keras_version"] = b"2.15.0"
        for layer, names in layers.items():
            group = file.create_group(layer)
            group.attrs["weight_names"] = [f"{name}:0".encode() for name in names]
            for name in names:
                group.create_dataset(f"{name}:0", data=values[name])
    _put(target, made.getbuffer())


def _put(target: str, content: Any) -> None:
    with open(target, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


_WRITERS = {"tf1": _write_tf1, "tf2": _write_tf2, "h5": _write_h5}


# Writers with the layout of another file -----------------------------------------------------------


def _write_tensorflow_like(
    target: str, like: str, values: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]
) -> None:
    where = formats.prefix(like)
    tensors = formats.raw_tensors(where)
    keys = formats.variable_keys(where)
    tensors.update({keys[name]: value for name, value in values.items()})
    tensors.update(state)
    _write_tf1(target, tensors)


def _write_hdf5_like(
    target: str, like: str, values: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]
) -> None:
    if not zipfile.is_zipfile(like):
        with open(like, "rb") as stream:
            weights = io.BytesIO(stream.read())
        _replace(weights, values, state, like)
        _put(target, weights.getbuffer())
        return
    weights = formats.weights_file(like)
    _replace(weights, values, state, like)
    with zipfile.ZipFile(like) as archive, zipfile.ZipFile(target, "w") as made:
        for item in archive.infolist():
            is_ours = item.filename == formats.WEIGHTS_IN_ARCHIVE
            made.writestr(item, weights.getbuffer() if is_ours else archive.read(item))


def _replace(
    weights: io.BytesIO,
    values: Mapping[str, np.ndarray],
    state: Mapping[str, np.ndarray],
    like: str,
) -> None:
    with formats.opened(like, weights, "r+") as (file, reader):
        places = formats.places(reader)
        for name, value in values.items():
            file[places[name]][...] = value
        for place, value in state.items():
            file[place][...] = value


_WRITERS_LIKE = {
    "tf1": _write_tensorflow_like,
    "tf2": _write_tensorflow_like,
    "h5": _write_hdf5_like,
    "keras": _write_hdf5_like,
}
