"""What the tests of modules that migrate writes ask of them."""

from __future__ import annotations

import builtins
import symtable


def undefined(text: bytes) -> set[str]:
    """Global names that a module reads and does not define."""
    found: set[str] = set()
    waiting = [symtable.symtable(text.decode(), "part", "exec")]
    defined = set(waiting[0].get_identifiers()) | set(dir(builtins)) | {"__file__"}
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        found |= {
            one.get_name() for one in table.get_symbols() if one.is_global() and one.is_referenced()
        }
    return found - defined
