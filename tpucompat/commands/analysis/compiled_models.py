"""Names that are models because the script compiles them, whatever function gave them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tpucompat.commands.analysis.bindings import key
from tpucompat.names.used import Names, argument, constant

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_values import Values

#: Arguments that only ``compile`` of Keras' models has.
_WORDS = frozenset(("loss", "metrics", "optimizer"))


def find(values: Values, names: Names) -> list[tuple[tuple[int, ...], ast.expr]]:
    """The names that unknown functions gave something that is compiled: ``model = restored(build())``.

    Args:
      values: Knows the assignments, and the kinds of what is known otherwise.
      names: The calls of the file.

    Returns:
      (the scopes of a name, the name).
    """
    found: list[tuple[tuple[int, ...], ast.expr]] = []
    for call in names.calls:
        owner: Any = getattr(call.node.func, "value", None)
        if call.name != ".compile" or owner is None or values.kinds(owner):
            continue
        words = {word.arg for word in call.node.keywords}
        is_keras = bool(_WORDS & words) or isinstance(constant(argument(call.node, 0, "")), str)
        made, name = values.values(owner), key(owner)
        if is_keras and made and all(isinstance(one, ast.Call) for one in made):
            scopes = values.scope(owner)
            held = [at for at, one in enumerate(scopes) if (one, name) in values.assigned]
            if held:
                found.append((scopes[: held[-1] + 1], owner))
    return found
