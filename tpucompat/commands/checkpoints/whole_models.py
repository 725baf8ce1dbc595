"""Whole models that Keras 2 saved (HDF5), as files of Keras 3, which cannot load them.

tf-keras reads the old file. The configuration that it gives is translated class by class, and the new model
has to predict what the old one predicts.
"""

from __future__ import annotations

import inspect
import json
import os
import warnings
from typing import Any, Container, Iterator, Mapping

import numpy as np

from tpucompat.base.late import late
from tpucompat.commands.checkpoints.formats import UnreadableError

h5py = late("h5py")
keras = late("keras")
tf = late("tensorflow")
tf_keras = late("tf_keras")

#: Arguments of Keras 2 that classes of Keras 3 may lack -> the values on which nothing depends; None: any.
_DROPPED: Mapping[str, tuple[Any, ...] | None] = {
    "adjustment": (None,),
    "batch_input_shape": None,
    "beta": (0,),
    "causal": (False,),
    "decay": None,  # becomes a schedule
    "dropout": (0,),
    "fn": None,
    "fused": None,
    "groups": (1,),
    "implementation": None,
    "input_length": None,
    "is_legacy_optimizer": None,
    "jit_compile": None,
    "kernel_constraint": None,  # separable convolutions have one for each of their two kernels
    "kernel_initializer": None,
    "kernel_regularizer": None,
    "noise_shape": (None,),
    "optional": (False,),
    "ragged": (False,),
    "renorm": (False,),
    "renorm_clipping": None,
    "renorm_momentum": None,
    "time_major": (False,),
    "trainable": (True,),
    "virtual_batch_size": (None,),
}
#: Class -> argument of Keras 2 -> its name in Keras 3.
_RENAMED: Mapping[str, Mapping[str, str]] = {
    "InputLayer": {"batch_input_shape": "batch_shape"},
    "LeakyReLU": {"alpha": "negative_slope"},
}
#: The size of an axis whose size is not known.
_UNKNOWN = 8
#: How far predictions may be apart, relative to the largest: the same sums in another order.
_TOLERANCE = 1e-4


#: What is said of a model that was written.
SAME = "Keras 2 and Keras 3 predict the same with it"


class UntranslatableError(ValueError):
    """Keras 3 lacks a part of a model."""


def is_whole(path: str) -> bool:
    """Whether a file is HDF5 and holds a model's configuration."""
    if not os.path.isfile(path) or not h5py.is_hdf5(path):
        return False
    with h5py.File(path, "r") as file:
        return "model_config" in file.attrs


def has_state(path: str) -> bool:
    """Whether such a file holds what the model's optimizer keeps."""
    with h5py.File(path, "r") as file:
        return "optimizer_weights" in file


def write(source: str, target: str) -> str:
    """Writes a whole model of Keras 2 as a file of Keras 3.

    Args:
      source: An HDF5 file with a model's configuration.
      target: The ``.keras`` file to write.

    Returns:
      Why the new model is not compiled; "" if it is, or if the old one was not.

    Raises:
      UnreadableError: If tf-keras cannot load the model.
      UntranslatableError: If Keras 3 lacks a part of it or predicts something else, or if it holds code.
    """
    with h5py.File(source, "r") as file:
        # Without escapes, behind which a class could hide; tf-keras would run what the file holds.
        config = json.dumps(json.loads(file.attrs["model_config"]))
        if '"Lambda"' in config or '"__lambda__"' in config:
            raise UntranslatableError("a Lambda holds code of the Python that saved it")
    try:
        old = tf_keras.models.load_model(source, compile=False)
    except Exception as error:  # whatever a layer of the script's own, or a Lambda, ends in
        raise UnreadableError(
            f"{source}: tf-keras cannot load the model: {_said(error)}"
        ) from error
    try:
        new = _built(tf_keras.saving.serialize_keras_object(old))
        for theirs, ours in _pairs(old, new):
            ours.set_weights(theirs.get_weights())
    except UntranslatableError:
        raise
    except Exception as error:  # what Keras 3 says to a class or an argument that it does not know
        raise UntranslatableError(f"Keras 3 cannot build the model: {_said(error)}") from error
    _compare(old, new)
    missing = _compile(source, new)
    new.save(target)
    return missing


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _built(config: Any) -> Any:
    return keras.saving.deserialize_keras_object(_translated(config))


def hard_sigmoid(x: Any) -> Any:
    """The one of Keras 1 and 2; ``migrate`` writes it into scripts under this name."""
    return tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


def _translated(value: Any) -> Any:
    """A configuration of Keras 2 as one of Keras 3.

    Raises:
      UntranslatableError: If Keras 3 lacks a class, or an argument that is used.
    """
    if isinstance(value, (list, tuple)):
        return [_translated(one) for one in value]
    if not isinstance(value, dict):
        return value
    name, config = value.get("class_name"), value.get("config")
    if not isinstance(name, str) or not isinstance(config, dict):
        return {key: _translated(one) for key, one in value.items()}
    rest = {key: value[key] for key in ("name", "inbound_nodes") if key in value}
    config = _translated(config)
    if name in ("Functional", "Sequential"):
        module = "keras.src.models.functional" if name == "Functional" else "keras"
        if name == "Functional":
            _renumber(config)
        return {
            **rest,
            "module": module,
            "class_name": name,
            "config": config,
            "registered_name": name,
        }
    module = (value.get("module") or "").replace(".legacy", "")
    made = _class_of(module, name)
    config = _arguments(made, config)
    return {**rest, "module": module, "class_name": name, "config": config, "registered_name": None}


def _renumber(config: dict[str, Any]) -> None:
    """Counts the calls of each layer from 0 where something refers to one; a model's building counted, too."""
    calls = {layer["name"]: max(1, len(layer["inbound_nodes"])) for layer in config["layers"]}
    places = [layer["inbound_nodes"] for layer in config["layers"]]
    found = list(_references([places, config["input_layers"], config["output_layers"]], calls))
    last: dict[str, int] = {}
    for name, index, *_ in found:
        last[name] = max(index, last.get(name, 0))
    for one in found:
        one[1] -= max(0, last[one[0]] + 1 - calls[one[0]])


def _references(value: Any, layers: Container[str]) -> Iterator[list[Any]]:
    """``[layer, call, output]``, wherever they are."""
    if isinstance(value, list):
        if [one.__class__ for one in value[:3]] == [str, int, int] and value[0] in layers:
            yield value
        for one in value:
            yield from _references(one, layers)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _references(one, layers)


def _class_of(module: str, name: str) -> Any:
    holder: Any = keras
    for part in [*module.split(".")[1:], name]:
        holder = getattr(holder, part, None)
    if holder is None or module.split(".")[0] != "keras":
        raise UntranslatableError(f"Keras 3 has no {name}")
    return holder


def _arguments(made: Any, config: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a class of Keras 3."""
    known = _known(made)
    given: dict[str, Any] = {}
    for key, value in config.items():
        key = _RENAMED.get(made.__name__, {}).get(key, key)
        if key in known:
            given[key] = _value(made, key, value)
        elif key not in _DROPPED or value not in (_DROPPED[key] or (value,)):
            raise UntranslatableError(f"{made.__name__} of Keras 3 has no {key}={value!r}")
    if given.get("learning_rate") is not None and config.get("decay"):
        given["learning_rate"] = _decaying(given["learning_rate"], config["decay"])
    return given


def _known(made: Any) -> set[str]:
    """The arguments of a class, and those that it hands on."""
    known: set[str] = set()
    for owner in made.__mro__:
        parameters = inspect.signature(owner.__init__).parameters
        known |= set(parameters)
        if not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
            break
    return known


def _value(made: Any, key: str, value: Any) -> Any:
    if value == "hard_sigmoid" and key.endswith("activation"):
        keras.saving.register_keras_serializable()(hard_sigmoid)
        return keras.saving.serialize_keras_object(hard_sigmoid)
    if key == "axis" and made.__name__ == "BatchNormalization" and isinstance(value, list):
        (value,) = value
    if key == "reduction" and value == "auto":
        return "sum_over_batch_size"
    return value


def _decaying(rate: float, decay: float) -> dict[str, Any]:
    """Keras 2's ``decay=``, as the schedule that it was."""
    config = {"initial_learning_rate": rate, "decay_steps": 1, "decay_rate": decay}
    module, name = "keras.optimizers.schedules", "InverseTimeDecay"
    return {"module": module, "class_name": name, "config": config, "registered_name": None}


def _pairs(old: Any, new: Any) -> Iterator[tuple[Any, Any]]:
    """The layers of two models, those of models in them one by one."""
    if not isinstance(old, tf_keras.Model):
        yield old, new
        return
    for theirs, ours in zip(old.layers, new.layers):
        yield from _pairs(theirs, ours)


def _compare(old: Any, new: Any) -> None:
    """Raises UntranslatableError unless both predict the same of zeros and ones, which also are indices."""
    generator = np.random.RandomState(0)
    inputs = []
    for one in old.inputs:
        shape = [size or _UNKNOWN for size in one.shape]
        inputs.append(generator.randint(0, 2, shape).astype(one.dtype.as_numpy_dtype))
    given = inputs if len(inputs) > 1 else inputs[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras 3 wonders about one input that is in no list
        theirs, ours = (tf.nest.flatten(model(given)) for model in (old, new))
    for their, our in zip(theirs, ours):
        their, our = np.asarray(their), np.asarray(our)
        if their.shape != our.shape or not np.allclose(
            our, their, rtol=_TOLERANCE, atol=_TOLERANCE * np.abs(their).max(), equal_nan=True
        ):
            raise UntranslatableError("the model of Keras 3 predicts something else")


def _compile(source: str, new: Any) -> str:
    """Compiles the new model as the old one was; returns why that cannot be."""
    with h5py.File(source, "r") as file:
        if "training_config" not in file.attrs:
            return ""
    try:
        old = tf_keras.models.load_model(source).get_compile_config()
        new.compile_from_config(
            _translated({key: one for key, one in old.items() if one is not None})
        )
    except Exception as error:  # what either says to a loss or a metric that it does not know
        return _said(error)
    return ""
