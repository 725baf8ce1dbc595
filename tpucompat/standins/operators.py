"""The functions that stand in for operators in the script's modules; they count as the script's own.

Code that looks for its caller's module, and finds these, is to find the script: this module imports
nothing that is shown to scripts in another way.
"""

from __future__ import annotations

import operator
from typing import Any, Callable


def function(
    name: str,
    numbers: tuple[type, ...],
    array: Any,
    adapted: Callable[[Any, Any], tuple[Any, Any]],
) -> Callable[[Any, Any], Any]:
    """What computes as an operator does, with other operands where one is NumPy's.

    Args:
      name: The operator's, in the module ``operator``.
      numbers: NumPy's types.
      array: That of arrays; two of them are left unchanged.
      adapted: Gives both operands as they are to be.
    """
    operate = getattr(operator, name)

    def function(left: Any, right: Any) -> Any:
        if isinstance(left, numbers) or isinstance(right, numbers):
            if isinstance(left, array) and isinstance(right, array) and left.ndim and right.ndim:
                return operate(left, right)
            left, right = adapted(left, right)
        return operate(left, right)

    return function
