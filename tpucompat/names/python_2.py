"""Tells Python 2 by its syntax errors."""

from __future__ import annotations

import re

# Statements that only Python 2 reads: print and exec statements, `except X, e`, backticks, <>, 0777.
_PYTHON_2 = re.compile(
    r"""^\s*print\s+[^(=\s]|^\s*print\s*$|^\s*exec\s+['"\w]|^\s*except\s+[\w.]+\s*,\s*\w+\s*:"""
    r"""|`[^`]+`|<>|\b0[0-7]+\b|\bur?['"]|^\s*raise\s+\w+\s*,""",
    re.MULTILINE,
)


def is_python_2(error: SyntaxError) -> bool:
    """Whether a syntax error comes from a statement that only Python 2 reads."""
    if "print" in (error.msg or "") and "parenthes" in (error.msg or ""):
        return True
    return bool(_PYTHON_2.search(error.text or ""))
