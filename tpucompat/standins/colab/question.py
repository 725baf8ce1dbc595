"""Is a script only asking whether it runs on Colab?

``try: import google.colab`` is how notebooks ask, and the true answer is an ImportError. Outside of a try the
script takes it for granted, and needs something that stands in.
"""

from __future__ import annotations

import ast
import functools
import linecache
from typing import Any


def is_question(frame: Any) -> bool:
    """Whether the import that a frame is about to make stands inside a ``try`` with handlers.

    Args:
      frame: The importing code's frame.
    """
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    return _in_try(source, frame.f_lineno) if source else False


@functools.lru_cache(maxsize=64)
def _in_try(source: str, line: int) -> bool:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return any(
        isinstance(node, ast.Try) and node.handlers and _covers(node.body, line)
        for node in ast.walk(tree)
    )


def _covers(body: list[ast.stmt], line: int) -> bool:
    # Nodes know where they end from Python 3.8 on only.
    lines = [node.lineno for part in body for node in ast.walk(part) if hasattr(node, "lineno")]
    return min(lines) <= line <= max(lines)
