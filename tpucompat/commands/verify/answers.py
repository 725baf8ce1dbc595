"""Labels and outputs of two runs in the form in which they compare."""

from __future__ import annotations

import numpy as np

from tpucompat.commands.verify import differences
from tpucompat.commands.verify.outcomes import softmax

#: Answers in single precision that are this close are the same.
_EQUAL = 1e-6


def classes_of(labels: np.ndarray) -> np.ndarray:
    """Labels as they compare: the class where they are one-hot, else as they are."""
    one_hot = labels.ndim == 2 and labels.shape[1] > 1 and np.all((labels == 0) | (labels == 1))
    if one_hot and np.all(labels.sum(1) == 1):
        return np.argmax(labels, axis=1)
    flat: np.ndarray = labels.reshape(len(labels), -1)
    if flat.shape[1] == 1:
        flat = flat[:, 0]
    return flat.astype(np.int64) if np.all(flat == np.round(flat)) else flat


def probabilities_of(kind: str, logits: np.ndarray) -> np.ndarray:
    """Outputs as they compare: logits that differ by a constant are the same answer."""
    values: np.ndarray = logits.astype(np.float64)
    if kind == "softmax":
        values = softmax(values)
    elif kind == "sigmoid":
        with np.errstate(over="ignore"):
            values = 1 / (1 + np.exp(-values))
    return values.reshape(len(values), -1)


def in_their_order(ours: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Our rows beside theirs, and the order if it is another one."""
    if ours.shape != theirs.shape or np.allclose(ours, theirs, rtol=_EQUAL, atol=0.1 * _EQUAL):
        return ours, None
    # Of a model that has hardly learned anything, all answers are near each other: then only equal ones tell
    # which is which.
    by_size: np.ndarray = np.empty(len(ours), dtype=int)
    by_size[np.argsort(theirs[:, 0])] = np.argsort(ours[:, 0])
    if np.allclose(ours[by_size], theirs, rtol=_EQUAL, atol=0.1 * _EQUAL):
        return ours[by_size], by_size
    if np.allclose(ours, theirs, rtol=1e-3, atol=1e-4):
        return ours, None
    order = differences.same_rows(ours, theirs)
    moved = ours[order]
    # Another order explains it only if each row has found a twin of its own.
    if len(set(order.tolist())) > 0.9 * len(order) and (
        np.abs(moved - theirs).mean() < 0.1 * np.abs(ours - theirs).mean()
    ):
        return moved, order
    return ours, None
