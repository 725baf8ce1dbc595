"""Fields of Colab's forms: ``bucket = '' #@param {type:"string"}`` is filled in before a notebook is run.

Colab shows such a line as a field, and what its reader enters there is written into the line. Many notebooks
ask so for the bucket that a TPU needs, and stop where it is empty.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Iterator, NamedTuple, Sequence

from tpucompat.base.errors import ScriptError

_FIELD = re.compile(
    r"^(?P<before>[ \t]*(?P<name>[^\W\d]\w*)[ \t]*=[ \t]*)(?P<value>[^\n]*?)"
    r"(?P<after>[ \t]*#[ \t]*@param\b[^\n]*)$",
    re.MULTILINE,
)
_TYPE = re.compile(r"""["']?type["']?\s*:\s*["'](\w+)["']""")
_KINDS = {
    "boolean": "boolean",
    "date": "string",
    "integer": "number",
    "number": "number",
    "raw": "raw",
    "slider": "number",
    "string": "string",
}


class Field(NamedTuple):
    """A field of a form.

    Attributes:
      name: The variable that the line sets.
      value: What the author left in it, as Python.
      kind: "string", "number", "boolean", or "raw" for Python.
    """

    name: str
    value: str
    kind: str


def fields(source: str) -> Iterator[Field]:
    """The fields of a cell.

    Args:
      source: Its text.
    """
    for found in _FIELD.finditer(source):
        if _is_python(found["value"]):  # and no text in which a form is mentioned
            yield _field(found)


def fill(notebook: Any, entries: Sequence[str]) -> None:
    """Writes values into a notebook's fields; the file that it came from keeps its own.

    Args:
      notebook: A notebook of nbformat 4.
      entries: ``NAME=VALUE``, as one would enter the value in Colab: a string without quotes.

    Raises:
      ScriptError: TPU429: there is no such field, or the value does not fit it.
    """
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    known = {field.name for cell in cells for field in fields(cell.source)}
    values = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not equals or name not in known:
            said = f"no field {name!r}" if equals else f"{entry!r} is not NAME=VALUE"
            names = ", ".join(sorted(known)) or "none"
            raise ScriptError("TPU429", f"{said}; the fields of the notebook are: {names}.")
        values[name] = value
    for cell in cells:
        cell.source = _FIELD.sub(lambda found: _filled(found, values), cell.source)


def _field(found: re.Match[str]) -> Field:
    value, written = found["value"], _TYPE.search(found["after"])
    kind = _KINDS.get(written[1] if written else "")
    return Field(found["name"], value, kind or _kind_of(value))


def _kind_of(value: str) -> str:
    try:
        known = ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return "raw"
    if isinstance(known, bool):
        return "boolean"
    if isinstance(known, (int, float)):
        return "number"
    return "string" if isinstance(known, str) else "raw"


def _filled(found: re.Match[str], values: dict[str, str]) -> str:
    field = _field(found)
    if field.name not in values or not _is_python(field.value):
        return found[0]
    return found["before"] + _as_python(field, values[field.name]) + found["after"]


def _as_python(field: Field, value: str) -> str:
    if field.kind == "string":
        return repr(value)
    if field.kind == "boolean" and value.lower() in ("true", "false"):
        return value.capitalize()
    if field.kind == "raw" and _is_python(value):
        return value
    if field.kind == "number" and _is_number(value):
        return value.strip()
    wanted = "Python" if field.kind == "raw" else f"a {field.kind}"
    raise ScriptError(
        "TPU429", (f"{field.name}={value}: the field expects {wanted}, such as {field.value}.")
    )


def _is_python(text: str) -> bool:
    try:
        ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True


def _is_number(text: str) -> bool:
    try:
        number = ast.literal_eval(text.strip())
    except (SyntaxError, ValueError):
        return False
    return isinstance(number, (int, float)) and not isinstance(number, bool)
