"""Small pictures as SVG: curves with their residuals, histograms of errors."""

from __future__ import annotations

import html
import math
from typing import Sequence

_WIDTH, _HEIGHT, _RESIDUAL = 1120, 280, 130
_LEFT, _RIGHT, _TOP, _GAP = 64, 16, 30, 28
_FLOOR = 1e-10  # an error of 0 has no place on a logarithmic axis: it is drawn here


def curves(
    name: str, old: Sequence[float], new: Sequence[float], limit: float | None = None
) -> str:
    """Both curves, one over the other, and below them the relative difference of each step.

    Args:
      name: Of the number.
      old: The old run's, one for each step.
      new: The new run's.
      limit: Drawn as a line, where given.
    """
    finite = [v for v in [*old, *new] if math.isfinite(v)]
    if not finite:
        return f"<p>{html.escape(name)}: no finite number</p>"
    low, high = min(finite), max(finite)
    if low == high:
        low, high = low - 0.5, high + 0.5
    count = max(len(old), len(new))
    inner = _WIDTH - _LEFT - _RIGHT

    def x(step: int) -> float:
        return _LEFT + (inner * step / (count - 1) if count > 1 else inner / 2)

    def y(value: float) -> float:
        return _TOP + _HEIGHT * (high - value) / (high - low)

    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_TOP + _HEIGHT + _GAP + _RESIDUAL + 34}" role="img" '
        f'aria-label="{html.escape(name)}">'
    ]
    for tick in _ticks(low, high):
        parts.append(_grid(y(tick), f"{tick:.4g}"))
    parts.append(_line(old, x, y, "var(--old)", 5, 0.45))
    parts.append(_line(new, x, y, "var(--new)", 1.8, 1.0))
    for offset, text, colour in ((0, "old", "var(--old)"), (70, "new", "var(--new)")):
        left = _WIDTH - 150 + offset
        parts.append(
            f'<rect x="{left}" y="6" width="16" height="5" fill="{colour}"/>'
            f'<text x="{left + 22}" y="13">{text}</text>'
        )
    parts.append(f'<text x="{_LEFT}" y="14">{html.escape(name)}, by training step</text>')
    parts.append(_residuals(old, new, x, limit))
    bottom = _TOP + _HEIGHT + _GAP + _RESIDUAL + 18
    for step in _steps(count):
        parts.append(f'<text x="{x(step - 1):.1f}" y="{bottom}" text-anchor="middle">{step}</text>')
    parts.append("</svg>")
    return "".join(parts)


def _residuals(old: Sequence[float], new: Sequence[float], x, limit: float | None) -> str:  # type: ignore
    top = _TOP + _HEIGHT + _GAP
    errors = []
    for theirs, ours in zip(old, new):
        error = abs(ours - theirs) / abs(theirs) if theirs else abs(ours)
        errors.append(max(error, _FLOOR) if math.isfinite(error) else 1.0)
    high = max([0.0, *(math.log10(e) for e in errors)]) if errors else 0.0
    high = min(max(math.ceil(high), -2), 3)
    low = math.log10(_FLOOR)

    def y(error: float) -> float:
        return top + _RESIDUAL * (high - math.log10(error)) / (high - low)

    parts = [_grid(y(10.0**power), f"1e{power}") for power in range(int(low), int(high) + 1, 3)]
    parts.append(f'<text x="{_LEFT}" y="{top - 8}">relative difference</text>')
    if limit:
        where = y(limit)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{where:.1f}" y2="{where:.1f}" '
            f'stroke="var(--differ)" stroke-dasharray="5 4"/>'
            f'<text x="{_WIDTH - _RIGHT}" y="{where - 4:.1f}" text-anchor="end">limit {limit:.0e}</text>'
        )
    for step, error in enumerate(errors):
        colour = "var(--differ)" if limit and error > limit else "var(--ink)"
        parts.append(
            f'<circle cx="{x(step):.1f}" cy="{y(min(error, 10.0**high)):.1f}" r="2.6" fill="{colour}"/>'
        )
    return "".join(parts)


def _line(values, x, y, colour: str, width: float, opacity: float) -> str:  # type: ignore
    points = " ".join(
        f"{x(step):.1f},{y(value):.1f}" for step, value in enumerate(values) if math.isfinite(value)
    )
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}" '
        f'stroke-opacity="{opacity}" stroke-linejoin="round"/>'
    )


def _grid(where: float, text: str) -> str:
    return (
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{where:.1f}" y2="{where:.1f}" stroke="var(--line)"/>'
        f'<text x="{_LEFT - 8}" y="{where + 4:.1f}" text-anchor="end">{text}</text>'
    )


def _steps(count: int) -> list[int]:
    """The first and the last step, and round numbers between them."""
    if count < 3:
        return list(range(1, count + 1))
    between = [round(tick) for tick in _ticks(1, count)]
    gap = count / 16  # closer to an end, two numbers would overlap
    return sorted({1, count, *(n for n in between if 1 + gap < n < count - gap)})


def _ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 4
    power = 10 ** math.floor(math.log10(rough))
    step = next((power * m for m in (1, 2, 5) if power * m >= rough), power * 10)
    first = math.ceil(low / step) * step
    return [first + step * index for index in range(int((high - first) / step) + 1)]


def histogram(counts: Sequence[int]) -> str:
    """Errors by powers of ten, a bar for each, from 1e-10 on the left to 10 on the right."""
    if not counts or not sum(counts):
        return ""
    width, height, bar = 12 * len(counts), 26, 10
    largest = max(counts)
    parts = [f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">']
    for index, count in enumerate(counts):
        # The square root shows the few that are far off beside the many that are not.
        size = (height - 2) * math.sqrt(count / largest)
        size = max(size, 2.0) if count else 0.6
        power = index - 10
        colour = "var(--new)" if power < -4 else ("var(--warn)" if power < -2 else "var(--differ)")
        parts.append(
            f'<rect x="{12 * index}" y="{height - size:.1f}" width="{bar}" height="{size:.1f}" '
            f'fill="{colour if count else "var(--line)"}"><title>{count} around 1e{power}</title></rect>'
        )
    parts.append("</svg>")
    return "".join(parts)
