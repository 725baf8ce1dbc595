"""The learning rate in logs and histories, which Keras 3 calls ``learning_rate``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis import keras_values
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.names.used import constant

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder


def writes_rate(node: ast.AST) -> bool:
    """Whether a callback writes a rate itself: ``logs['lr'] = rate``."""
    written = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    if not written or getattr(node.value, "id", "") != "logs":  # type: ignore[attr-defined]
        return False
    text = node.slice  # type: ignore[attr-defined]
    return constant(text.value if type(text).__name__ == "Index" else text) == "lr"


def rates(finder: Finder, logs: ast.AST, text: Any) -> Iterator[Difference]:
    """``logs['lr']`` and ``logs.get('lr')`` of a program that does not write it itself."""
    is_logs = finder.values.kind(logs) == keras_values.LOGS or (
        finder.is_history(logs) or getattr(logs, "id", "") == "logs"
    )
    if constant(text) == "lr" and is_logs and not finder.logs_rate:
        yield Difference(table.BEHAVIOURS["log_lr"], text, None, "learning_rate")
