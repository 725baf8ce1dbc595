"""What a TensorFlow 2 program's variables are called: by the layers and attributes that hold them.

``tf.Variable`` is often made without a name, and Keras 3 gives it its last word only. Layers and modules say
more: the name of a Keras weight is its path, that of a ``tf.Module``'s variable the attributes that lead to
it, as in an object-based checkpoint.
"""

from __future__ import annotations

import gc
from typing import Any, Iterable, Iterator, Mapping, Sequence

import numpy as np
import tensorflow as tf


def is_variable(thing: Any) -> bool:
    """Whether it is a ``tf.Variable``, on one replica or on several."""
    return isinstance(thing, tf.Variable)


def is_eager(tensor: Any) -> bool:
    """Whether a tensor has its value already."""
    return hasattr(tensor, "numpy") and not hasattr(tensor, "op")


def plain(thing: Any) -> Any:
    """The ``tf.Variable`` inside a variable of Keras 3; anything else as it is."""
    inner = getattr(thing, "_value", None)
    return inner if not is_variable(thing) and is_variable(inner) else thing


def container(variable: Any) -> Any:
    """The distributed variable that a replica's variable belongs to; itself where there is none."""
    held = getattr(variable, "_distributed_container", None)
    held = held() if callable(held) else None
    return variable if held is None else held


def parts(variable: Any) -> list[Any]:
    """The replicas' copies of a variable; itself, where there is one replica."""
    strategy = getattr(variable, "distribute_strategy", None) or tf.distribute.get_strategy()
    return list(strategy.experimental_local_results(variable))


def value_of(variable: Any) -> np.ndarray:
    """A variable's value: of the replicas' copies their mean, which is what a checkpoint keeps."""
    values = [np.array(part.read_value()) for part in parts(variable)]
    first = getattr(variable, "aggregation", None) == tf.VariableAggregation.ONLY_FIRST_REPLICA
    if len(values) == 1 or first or variable.trainable or not variable.dtype.is_floating:
        return values[0]
    mean: np.ndarray = np.mean(values, axis=0, dtype=values[0].dtype)
    return mean


def eagerly() -> Any:
    """A context in which variables can be read and assigned, whatever is being traced."""
    return tf.init_scope()


def names_of(variables: Sequence[Any], taken: Mapping[str, Any]) -> list[str]:
    """A name for each variable, different from each other and from those that are taken.

    Args:
      variables: ``tf.Variable`` objects.
      taken: Name -> variable, for those that have one.
    """
    of_id = {id(variable): name for name, variable in taken.items()}
    known = _paths({id(variable) for variable in variables})
    used = set(taken)
    result = []
    for variable in variables:
        name = of_id.get(id(variable))
        if name is None:
            base = known.get(id(variable)) or str(variable.name).partition(":")[0]
            name, count = base, 1
            while name in used:
                count += 1
                name = f"{base}#{count}"
            used.add(name)
        result.append(name)
    return result


def trainable_variables() -> list[tuple[str, Any]]:
    """Name and variable of all that can be trained and is alive, in the order of their making."""
    found: dict[int, Any] = {}
    for thing in _living(tf.Variable):
        variable = container(thing)
        if variable.trainable and variable.dtype.is_floating:
            found[id(variable)] = variable
    variables = sorted(found.values(), key=_age)
    return list(zip(names_of(variables, {}), variables))


def _age(variable: Any) -> int:
    # "dense/kernel_23": resource variables number themselves as they are made.
    number = str(getattr(variable, "_unique_id", "")).rpartition("_")[2]
    return int(number) if number.isdigit() else 0


def untrained_variables(trained: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Name and variable of what the models of trained variables hold besides: moving averages.

    Args:
      trained: Name -> variable.
    """
    ids = {id(variable) for variable in trained.values()}
    found: dict[int, Any] = {}
    for model in _living(tf.keras.Model):
        weights = [(w, plain(w)) for w in _weights(model)]
        if any(id(v) in ids for _, v in weights):
            for _, variable in weights:
                if id(variable) not in ids and variable.dtype.is_floating:
                    found[id(variable)] = variable
    for module in _living(tf.Module):
        if isinstance(module, (tf.Variable, tf.keras.layers.Layer)):
            continue
        inside = dict(_walk(module, ""))
        if any(id(v) in ids for v in inside.values()):
            for variable in inside.values():
                if not variable.trainable and variable.dtype.is_floating:
                    found[id(variable)] = variable
    left = [variable for key, variable in found.items() if key not in ids]
    return list(zip(names_of(left, trained), left))


def other_variables(known: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Name and variable of all other tensors of numbers that are alive: the slots of optimizers.

    Args:
      known: Name -> variable of the models.
    """
    ids = {id(variable) for variable in known.values()}
    found: dict[int, Any] = {}
    for thing in _living(tf.Variable):
        variable = container(thing)
        if id(variable) not in ids and variable.dtype.is_floating and variable.shape.rank:
            found[id(variable)] = variable
    variables = sorted(found.values(), key=_age)
    return list(zip(names_of(variables, known), variables))


def of_optimizers(variables: Mapping[str, Any]) -> list[str]:
    """Which of these variables Keras' optimizers hold.

    Args:
      variables: Name -> variable.
    """
    held = {
        id(container(plain(variable)))
        for optimizer in _living(tf.keras.optimizers.Optimizer)
        for variable in _variables_of(optimizer)
    }
    return [name for name, variable in variables.items() if id(variable) in held]


def _variables_of(optimizer: Any) -> list[Any]:
    found = optimizer.variables  # a method in Keras 2's older optimizers
    return list(found() if callable(found) else found)


def _weights(model: Any) -> list[Any]:
    try:
        return list(model.weights)
    except (ValueError, AttributeError):  # not built yet
        return []


def _paths(wanted: set[int]) -> dict[int, str]:
    """Id of a variable -> the longest name that a holder gives it."""
    found: dict[int, str] = {}
    for layer in _living(tf.keras.layers.Layer):
        for weight in _weights(layer):
            variable = plain(weight)
            if id(variable) in wanted:
                path = str(getattr(weight, "path", "") or variable.name).partition(":")[0]
                if len(path) > len(found.get(id(variable), "")):
                    found[id(variable)] = path
    for module in _living(tf.Module):
        if isinstance(module, (tf.Variable, tf.keras.layers.Layer)):
            continue
        for path, variable in _walk(module, ""):
            # The shortest way to a variable of a plain module is that of its owner's own attribute.
            if id(variable) in wanted and id(variable) not in found:
                found[id(variable)] = path
    return found


def _walk(thing: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The variables below an object, with the attributes that lead to them."""
    if is_variable(thing):
        yield path, thing
        return
    if depth > 6:
        return
    children: Iterable[tuple[Any, Any]] = ()
    if hasattr(thing, "items"):  # TensorFlow's own dictionary in a module is no Mapping
        children = thing.items()
    elif isinstance(thing, (list, tuple)):
        children = enumerate(thing)
    elif isinstance(thing, tf.Module):
        children = [(k, v) for k, v in vars(thing).items() if not k.startswith("_self_")]
    for name, child in list(children):
        yield from _walk(child, f"{path}/{name}" if path else str(name), depth + 1)


def _living(kind: Any) -> list[Any]:
    found = []
    for thing in gc.get_objects():
        try:
            if isinstance(thing, kind):
                found.append(thing)
        except Exception:  # an object whose __class__ is a property that fails
            continue
    return found
