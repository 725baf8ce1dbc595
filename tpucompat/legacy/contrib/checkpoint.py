"""``tf.contrib.checkpoint``: parts of object-based checkpoints, which are private or gone today.

Behaviour follows tensorflow/contrib/checkpoint/python of TensorFlow 1.15.
"""

from __future__ import annotations

import io
from typing import Any, Callable, Sequence
from typing import Mapping as MappingType

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat import private

_STRUCTURES = private.data_structures()
_CHECKPOINTS = private.object_checkpoints()
_BUILDER = private.saver_builder()

CheckpointableBase = private.trackable_class()
List = _STRUCTURES.List
Mapping = _STRUCTURES.Mapping
NoDependency = _STRUCTURES.NoDependency
PythonStateWrapper = tf.train.experimental.PythonState
capture_dependencies = _CHECKPOINTS.capture_dependencies
list_objects = _CHECKPOINTS.list_objects
object_metadata = _CHECKPOINTS.object_metadata


class UniqueNameTracker(_STRUCTURES.TrackableDataStructure):  # type: ignore[name-defined]
    """Dependencies of a checkpoint whose names are made unique: ``x``, ``x_1``, ``x_2``."""

    def __init__(self) -> None:
        super().__init__()
        self._maybe_initialize_trackable()
        self._name_counts: dict[str, int] = {}

    @property
    def _values(self) -> list[Any]:
        return [dependency.ref for dependency in self._checkpoint_dependencies]

    def track(self, trackable: Any, base_name: str) -> Any:
        """Adds a dependency.

        Args:
          trackable: A variable, or another object that checkpoints can hold.
          base_name: Its name, which gets a number where it is taken.

        Returns:
          ``trackable``.

        Raises:
          ValueError: A checkpoint cannot hold it.
        """
        if not isinstance(trackable, CheckpointableBase):
            raise ValueError(
                f"Expected a trackable value, got {trackable} which does not inherit from "
                "tf.track.Trackable."
            )
        count = self._name_counts.get(base_name, 0)
        while self._lookup_dependency(_numbered(base_name, count)) is not None:
            count += 1
        self._name_counts[base_name] = count + 1
        self._track_value(trackable, name=_numbered(base_name, count))
        return trackable


def _numbered(name: str, count: int) -> str:
    return f"{name}_{count}" if count else name


class _Array(PythonStateWrapper):  # type: ignore[misc,valid-type]
    """A NumPy array as a part of a checkpoint."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def serialize(self) -> bytes:
        """The array as the bytes of a .npy file."""
        with io.BytesIO() as stream:
            np.save(stream, self.array, allow_pickle=False)
            return stream.getvalue()

    def deserialize(self, string_value: bytes) -> None:
        """Takes the array of :meth:`serialize` over."""
        self.array = np.load(io.BytesIO(string_value), allow_pickle=False)


class NumpyState(CheckpointableBase):  # type: ignore[misc,valid-type]
    """An object whose attributes are NumPy arrays, which a checkpoint saves.

    Restoring makes the attributes that the saved object had, at once, in a graph as well.
    """

    def _lookup_dependency(self, name: str, cached_dependencies: Any = None) -> Any:
        # A checkpoint that is restored asks for each name that it holds: there the attribute is made.
        del cached_dependencies  # 2.11
        found = super()._lookup_dependency(name)
        if found is None:
            found = _Array(np.array([]))
            self._depend(name, found)
            super().__setattr__(name, found)
        return found

    def _depend(self, name: str, array: _Array) -> None:
        """What ``_track_trackable`` does, which would look the name up first."""
        reference = private.trackable_module().TrackableReference(name=name, ref=array)
        self._unconditional_checkpoint_dependencies.append(reference)
        self._unconditional_dependency_names[name] = array

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        return value.array if isinstance(value, _Array) else value

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (np.ndarray, np.generic)):
            existing = self.__dict__.get(name)
            if isinstance(existing, _Array):
                existing.array = value
                return
            value = _Array(value)
            self._maybe_initialize_trackable()
            self._depend(name, value)
        elif not (name.startswith("_self_") or hasattr(type(self), name)) and getattr(
            self, "_self_setattr_tracking", True
        ):
            raise NotImplementedError(
                f"Assigned {value} to the {name} property of {self}, which is not a NumPy array. "
                "Currently mixing NumPy arrays and other trackable objects is not supported. "
                "File a feature request if this limitation bothers you."
            )
        super().__setattr__(name, value)


class _Part(CheckpointableBase):  # type: ignore[misc,valid-type]
    """One of several dependencies that are saved and restored together; looks like a variable."""

    def __init__(self, name: str, dtype: Any, device: Any, shared: _SharedBuffers) -> None:
        self._name, self._dtype, self._device, self._shared = name, dtype, device, shared

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        def saveable(name: str) -> Any:
            return _PartSaveable(name, self._name, self._dtype, self._device, self._shared)

        return {private.trackable_module().VARIABLE_VALUE_KEY: saveable}


class _SharedBuffers:
    """What the parts of a split dependency save from, and restore into."""

    def __init__(
        self,
        count: int,
        fill: Callable[[dict[str, Any]], Any],
        consume: Callable[[dict[str, Any]], Any],
    ) -> None:
        self._count, self._fill, self._consume = count, fill, consume
        self._saved: dict[str, Any] = {}
        self._restored: dict[str, Any] = {}

    def save(self, name: str) -> Any:
        if name not in self._saved:
            if self._saved:
                raise AssertionError(
                    f"Split dependency {name} unsynchronized. Split dependencies must be saved together."
                )
            self._fill(self._saved)
        return self._saved.pop(name)

    def restore(self, name: str, tensor: Any) -> Any:
        if name in self._restored:
            raise AssertionError(
                f"Split dependency {name} unsynchronized. Split dependencies must be restored together."
            )
        self._restored[name] = tensor
        if len(self._restored) < self._count:
            return tf.no_op()
        done = self._consume(self._restored)
        self._restored.clear()
        return done


class _PartSaveable(_BUILDER.SaveableObject):  # type: ignore[name-defined]
    def __init__(
        self, name: str, part: str, dtype: Any, device: Any, shared: _SharedBuffers
    ) -> None:
        def save() -> Any:
            return shared.save(part)

        self._part, self._shared = part, shared
        specification = _BUILDER.SaveSpec(
            tensor=save, slice_spec="", name=name, dtype=dtype, device=device
        )
        super().__init__(save, [specification], name)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Hands the restored value on; the last of the parts makes the restoration."""
        (tensor,) = restored_tensors
        return self._shared.restore(self._part, tensor)


def split_dependency(
    component_names: Sequence[str],
    component_dtypes: Sequence[Any],
    fill_save_buffer_fn: Callable[[dict[str, Any]], Any],
    consume_restore_buffer_fn: Callable[[dict[str, Any]], Any],
    device: Any,
) -> MappingType[str, Any]:
    """Several dependencies whose values one operation makes, and one takes.

    Args:
      component_names: Their names.
      component_dtypes: Their types.
      fill_save_buffer_fn: Puts the value of each name into the dictionary that it is given.
      consume_restore_buffer_fn: Takes such a dictionary of restored values; in a graph it returns the
        operation that restores.
      device: Where values are saved and restored.

    Returns:
      Name -> an object to depend on. Whoever depends on one of them should depend on all.
    """
    shared = _SharedBuffers(len(component_names), fill_save_buffer_fn, consume_restore_buffer_fn)
    return {
        name: _Part(name, dtype, device, shared)
        for name, dtype in zip(component_names, component_dtypes)
    }


def dot_graph_from_checkpoint(save_path: str) -> str:
    """The objects of a ``tf.train.Checkpoint``'s file and what they depend on, as a graph in DOT format.

    Args:
      save_path: What ``save`` returned.
    """
    nodes = object_metadata(save_path).nodes
    reader = tf.train.load_checkpoint(save_path)
    shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    slots = {slot.slot_variable_node_id for node in nodes for slot in node.slot_variables}
    key = private.trackable_module().VARIABLE_VALUE_KEY
    lines = ["digraph {"]
    for number, node in enumerate(nodes):
        looks = "shape=point label="
        if [attribute.name for attribute in node.attributes] == [key]:
            color, kind = ("orange", "Slot variable") if number in slots else ("blue", "Variable")
            value = node.attributes[0]
            name = _escaped(value.full_name)
            shape, dtype = shapes[value.checkpoint_key], types[value.checkpoint_key].name
            looks += f'"" color={color} width=.25 tooltip="{kind} {name} shape={shape} {dtype}"'
        elif node.slot_variables:
            looks += '"" width=.25 color=red,tooltip="Optimizer"'
        else:
            looks += '"" width=.25'
        lines.append(f"N_{number} [{looks}]")
        for child in node.children:
            label = _escaped(child.local_name)
            lines.append(f'N_{number} -> N_{child.node_id} [label="{label}"]')
        for slot in node.slot_variables:
            to, label = slot.slot_variable_node_id, _escaped(slot.slot_name)
            lines.append(f'N_{number} -> N_{to} [label="{label}" style=dotted]')
            lines.append(f"N_{slot.original_variable_node_id} -> N_{to} [style=dotted]")
    return "\n".join([*lines, "}", ""])


def _escaped(name: str) -> str:
    return name.replace('"', '\\"')
