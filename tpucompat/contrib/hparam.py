"""Hyperparameters as attributes of an object, and the parser of their texts.

Behaviour follows tensorflow/contrib/training/python/training/hparam.py of TensorFlow 1.15.
"""

from __future__ import annotations

import json
import numbers
import re
from typing import Any, Iterator

from tpucompat.base.errors import BadValueError, GoneError

# One assignment: NAME or NAME[INDEX], "=", then a bare value or a list in brackets.
_TARGET = re.compile(r"(?P<name>[A-Za-z][\w.]*)(?:\[\s*(?P<index>\d+)\s*\])?\s*=\s*")
_VALUE = re.compile(r"(?:\[(?P<list>[^\]]*)\]|(?P<value>[^,\[]*))(?:$|,\s*)")
_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}


def parse_values(
    values: str, type_map: dict[str, type], ignore_unknown: bool = False
) -> dict[str, Any]:
    """Parses ``name=value,name=[value,value],name[3]=value``.

    Args:
      values: The text.
      type_map: Name to type; the type parses the value.
      ignore_unknown: Whether names that have no type are left out.

    Returns:
      Name to value, to list of values, or to a dictionary of index to value.

    Raises:
      ValueError: If the text is malformed, a name has no type or is assigned twice, or a value
        cannot be parsed.
    """
    found: dict[str, Any] = {}
    for name, index, text, is_list in _assignments(values):
        if name not in type_map:
            if ignore_unknown:
                continue
            raise BadValueError("TPU103", f"Unknown hyperparameter type for {name}")
        if is_list and index is not None:
            raise BadValueError("TPU103", "Assignment of a list to a list index.")
        known = found.setdefault(name, {}) if index is not None else found
        key: Any = name if index is None else index
        if not isinstance(known, dict) or key in known:
            label = name if index is None else f"{name}[{index}]"
            raise BadValueError("TPU103", f"Multiple assignments to variable '{label}' in {values}")
        words = [word for word in re.split("[ ,]", text) if word] if is_list else [text]
        parsed = [_parse(name, type_map[name], word, text, values) for word in words]
        known[key] = parsed if is_list else parsed[0]
    return found


def _assignments(values: str) -> Iterator[tuple[str, int | None, str, bool]]:
    """(name, index, text of the value, whether it is a list) of each assignment."""
    position = 0
    while position < len(values):
        target = _TARGET.match(values, position)
        value = _VALUE.match(values, target.end()) if target else None
        if target is None or value is None:
            raise BadValueError("TPU103", "Malformed hyperparameter value: " + values[position:])
        index = None if target.group("index") is None else int(target.group("index"))
        is_list = value.group("list") is not None
        yield target.group("name"), index, value.group("list" if is_list else "value"), is_list
        position = value.end()


def _parse(name: str, type_: type, word: str, text: str, values: str) -> Any:
    try:
        if type_ is bool:
            return _BOOLEANS[word] if word in _BOOLEANS else bool(int(word))
        return type_(word)
    except ValueError:
        raise BadValueError(
            "TPU103",
            f"Could not parse hparam '{name}' of type '{type_.__name__}' with value '{text}' "
            f"in {values}",
        ) from None


class HParams:
    """Named hyperparameters, as attributes; each keeps the type of its first value.

    Args:
      hparam_def: A protocol buffer of hyperparameters; gone.
      model_structure: Anything; kept for ``get_model_structure``.
      **kwargs: Names and first values.

    Raises:
      ValueError: If a name is an attribute already, or a list is empty.
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None:
            raise _gone("HParams(hparam_def=...)")
        # Name -> (type of the value or of its elements, whether it is a list).
        self._hparam_types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Adds a hyperparameter; a list or tuple makes it multi-valued.

        Raises:
          ValueError: If the name is taken or the list is empty.
        """
        if getattr(self, name, None) is not None:
            raise BadValueError("TPU103", f"Hyperparameter name is reserved: {name}")
        is_list = isinstance(value, (list, tuple))
        if is_list and not value:
            raise BadValueError("TPU103", f"Multi-valued hyperparameters cannot be empty: {name}")
        self._hparam_types[name] = (type(value[0] if is_list else value), is_list)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Sets a hyperparameter to a value that fits its type.

        Raises:
          KeyError: If there is none of that name.
          ValueError: If the value does not fit.
        """
        type_, is_list = self._hparam_types[name]
        if isinstance(value, list) != is_list:
            wanted = (
                f"Must pass a list for multi-valued parameter: {name}."
                if is_list
                else f"Must not pass a list for single-valued parameter: {name}"
            )
            raise BadValueError("TPU103", wanted)
        if is_list:
            setattr(self, name, [_fitted(name, type_, entry) for entry in value])
        else:
            setattr(self, name, _fitted(name, type_, value))

    def del_hparam(self, name: str) -> None:
        """Removes a hyperparameter, if there is one of that name."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Overrides hyperparameters by the assignments in a text; see :func:`parse_values`.

        Raises:
          ValueError: If the text cannot be parsed or a value does not fit.
        """
        types = {name: type_ for name, (type_, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, types))

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        """Overrides hyperparameters by a dictionary's entries; returns itself.

        Raises:
          KeyError: If a name is unknown.
          ValueError: If a value does not fit.
        """
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map: dict[str, Any]) -> HParams:
        """The older name of :meth:`override_from_dict`."""
        return self.override_from_dict(values_map)

    def set_model_structure(self, model_structure: Any) -> None:
        """Keeps a model structure."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """The model structure that was kept."""
        return self._model_structure

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """The hyperparameters as JSON; the arguments are those of ``json.dumps``."""
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json: str) -> HParams:
        """Overrides hyperparameters by a JSON object's entries; returns itself.

        Raises:
          KeyError: If a name is unknown.
          ValueError: If a value does not fit.
        """
        return self.override_from_dict(json.loads(values_json))

    def values(self) -> dict[str, Any]:
        """Name to present value."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a hyperparameter, or the default where there is none of that name.

        Raises:
          ValueError: If the default does not fit the hyperparameter's type.
        """
        if key not in self._hparam_types:
            return default
        if default is not None:
            type_, is_list = self._hparam_types[key]
            shown = f"list<{type_}>" if is_list else str(type_)
            problem = f"Hparam '{key}' of type '{shown}' is incompatible with default={default}"
            if is_list != isinstance(default, list):
                raise BadValueError("TPU103", problem)
            for value in default if is_list else [default]:
                try:
                    _fitted(key, type_, value)
                except ValueError as error:
                    raise BadValueError("TPU103", f"{problem}. {error}") from error
        return getattr(self, key)

    def __contains__(self, key: str) -> bool:
        """Whether there is a hyperparameter of that name."""
        return key in self._hparam_types

    def __str__(self) -> str:
        """``name=value,...``, as :meth:`parse` reads it but for lists."""
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        """The names and values, sorted by name."""
        return f"{type(self).__name__}({sorted(self.values().items())})"

    def to_proto(self, export_scope: Any = None) -> Any:
        """Gone: TensorFlow 2 has no protocol buffer of hyperparameters."""
        raise _gone("HParams.to_proto")

    @staticmethod
    def from_proto(hparam_def: Any, import_scope: Any = None) -> Any:
        """Gone: TensorFlow 2 has no protocol buffer of hyperparameters."""
        raise _gone("HParams.from_proto")


def _gone(what: str) -> GoneError:
    return GoneError(
        "TPU101",
        f"tf.contrib.training.{what}: TensorFlow 2 has no protocol buffer of hyperparameters.",
        "Use to_json() and parse_json().",
    )


def _fitted(name: str, type_: type, value: Any) -> Any:
    """The value, converted to the hyperparameter's type where that loses nothing."""
    if type(value) is type_ or type_ is type(None):
        return value
    fits = (
        (not issubclass(type_, (str, bytes)) or isinstance(value, (str, bytes)))
        and issubclass(type_, bool) == isinstance(value, bool)
        and (not issubclass(type_, numbers.Integral) or isinstance(value, numbers.Integral))
        and (not issubclass(type_, numbers.Number) or isinstance(value, numbers.Number))
    )
    if not fits:
        raise BadValueError(
            "TPU103", f"Could not cast hparam '{name}' of type '{type_}' from value {value!r}"
        )
    return type_(value)
