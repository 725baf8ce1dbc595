"""Draws the pictures of README and guide as SVG, into ``docs/_static/pictures``.

    python tools/draw_pictures.py            # draws all of them
    python tools/draw_pictures.py --check    # exit code 1 if one is not what this draws

Curves come from ``docs/curves.json`` (see ``tools/record_curves.py``), diagrams from the table below. Colours
are readable on white and on black, because an ``<img>`` does not know the theme of the page.
"""

from __future__ import annotations

import argparse
import html
import json
import math
import os
import sys
from typing import Any, Iterator, NamedTuple, Sequence

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, "docs", "_static", "pictures")
CURVES = os.path.join(ROOT, "docs", "curves.json")

INK, GRID = "#76838d", "#8a96a040"
OLD, NEW, THIRD = "#d1495b", "#2f8fc4", "#c98a1b"
_FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
#: An error of exactly 0 has no place on a logarithmic axis; it is drawn here.
_FLOOR = 1e-9
#: Up to this relative difference two curves cannot be told apart in a picture.
COINCIDE = 1e-3


def _text(x: float, y: float, text: str, size: int = 13, anchor: str = "start", **more: str) -> str:
    extra = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in more.items())
    fill = "" if "fill" in more else f' fill="{INK}"'
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{fill}{extra}>'
        f"{html.escape(text)}</text>"
    )


def _svg(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="{_FONT}"><title>{html.escape(title)}</title>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


# Curves ----------------------------------------------------------------------------------------

_WIDTH, _LEFT, _RIGHT = 760, 62, 20
_TOP, _MAIN, _GAP, _LOW, _BOTTOM = 44, 220, 34, 92, 40


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round numbers within a range, about ``count`` of them."""
    rough = (high - low) / count
    power = 10 ** math.floor(math.log10(rough))
    step = next((power * m for m in (1, 2, 2.5, 5) if power * m >= rough), power * 10)
    first = math.ceil(low / step)
    return [round(step * n, 12) for n in range(first, math.floor(high / step) + 1)]


def curves(record: dict[str, Any]) -> str:
    """Losses by step, one line for each run; below them, how far the others are from the first."""
    runs = record["curves"]
    losses = [run["loss"] for run in runs]
    finite = [value for loss in losses for value in loss]
    low, high = min(0.0, *finite), max(finite)
    count = max(map(len, losses))
    inner = _WIDTH - _LEFT - _RIGHT

    def x(step: int) -> float:
        return _LEFT + inner * step / (count - 1)

    def y(value: float) -> float:
        return _TOP + _MAIN * (high - value) / (high - low)

    parts = []
    for tick in ticks(low, high):
        parts.append(_rule(y(tick), f"{tick:g}"))
    for index, (loss, style) in enumerate(zip(losses, _styles(len(runs)))):
        points = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in enumerate(loss))
        parts.append(f'<polyline points="{points}" fill="none" stroke-linejoin="round" {style}/>')
        parts.append(_legend(index, runs[index], style))
    parts.append(_text(_LEFT - 8, _TOP - 10, "loss", anchor="end"))
    parts += _residuals(losses, x)
    return _svg(_WIDTH, _TOP + _MAIN + _GAP + _LOW + _BOTTOM, _alt(record), parts)


def _styles(count: int) -> list[str]:
    """The first line is wide and pale, so that the others are seen on it."""
    wide = f'stroke="{OLD}" stroke-width="7" stroke-opacity="0.45"'
    thin = f'stroke="{NEW}" stroke-width="2.2"'
    dotted = f'stroke="{THIRD}" stroke-width="2.2" stroke-dasharray="2 5" stroke-linecap="round"'
    return [wide, thin] if count == 2 else [wide, thin, dotted]


def _legend(index: int, run: dict[str, Any], style: str) -> str:
    left, top = 250, 58 + 22 * index
    name = f"{run['script']} on TensorFlow {run['tensorflow']}"
    return f'<path d="M{left} {top}h30" {style}/>' + _text(left + 40, top + 4, name)


def _rule(where: float, text: str) -> str:
    return f'<path d="M{_LEFT} {where:.1f}H{_WIDTH - _RIGHT}" stroke="{GRID}"/>' + _text(
        _LEFT - 8, where + 4, text, 12, "end"
    )


def differences(losses: Sequence[Sequence[float]]) -> list[list[float]]:
    """The relative difference of every later curve from the first, step by step."""
    first = losses[0]
    return [[abs(a - b) / abs(b) for a, b in zip(loss, first)] for loss in losses[1:]]


def _residuals(losses: Sequence[Sequence[float]], x: Any) -> list[str]:
    top = _TOP + _MAIN + _GAP
    found = differences(losses)
    power = max(math.ceil(math.log10(max(_FLOOR, *(max(each) for each in found)))), -6)
    floor = math.log10(_FLOOR)

    def y(error: float) -> float:
        return top + _LOW * (power - math.log10(max(error, _FLOOR))) / (power - floor)

    parts = [_text(_LEFT, top - 10, "relative difference from the first curve")]
    for exponent in range(int(floor), power + 1, 3 if power - floor > 4 else 1):
        parts.append(_rule(y(10.0**exponent), f"1e{exponent}" if exponent > floor else "0"))
    for errors, colour in zip(found, (NEW, THIRD)):
        parts += [
            f'<circle cx="{x(step):.1f}" cy="{y(error):.1f}" r="2.4" fill="{colour}"/>'
            for step, error in enumerate(errors)
        ]
    bottom, count = top + _LOW + 20, max(map(len, losses))
    marks = [1, *(step for step in range(10, count + 1, 10))]
    parts += [_text(x(step - 1), bottom, str(step), 12, "middle") for step in marks]
    parts.append(_text((_LEFT + _WIDTH) / 2, bottom + 16, "training step", 12, "middle"))
    return parts


def _alt(record: dict[str, Any]) -> str:
    runs = record["curves"]
    worst = max(max(each) for each in differences([run["loss"] for run in runs]))
    names = ", ".join(f"{run['script']} on TensorFlow {run['tensorflow']}" for run in runs)
    return (
        f"Training loss over {len(runs[0]['loss'])} steps: {names}. The curves "
        f"{'coincide' if worst < COINCIDE else 'differ'}; the largest relative difference is {worst:.1e}."
    )


# Diagrams --------------------------------------------------------------------------------------


class Side(NamedTuple):
    """One half of a diagram: a host and the cores of a TPU, and what crosses between them."""

    title: str
    host: tuple[str, ...]
    there: str
    cores: tuple[str, ...]
    meeting: str
    back: str


#: Idiom -> how TensorFlow 1 ran it, and what runs today.
DIAGRAMS: dict[str, tuple[Side, Side]] = {
    "keras_to_tpu_model": (
        Side(
            "TensorFlow 1: keras_to_tpu_model",
            ("model (own weights)", "tpu_model.fit: Session.run"),
            "infeed: batches",
            ("rewritten train step", "copy of the weights"),
            "CrossReplicaSum",
            "outfeed: losses; sync_to_cpu",
        ),
        Side(
            "Today: a model built in strategy.scope()",
            ("model", "model.fit"),
            "strategy.run(train_step, batch)",
            ("Keras train step", "mirrored variables"),
            "all-reduce",
            "losses and metrics",
        ),
    ),
    "tpu_estimator": (
        Side(
            "TensorFlow 1: TPUEstimator",
            ("input_fn, hooks, Saver", "Session.run per call"),
            "infeed: batches",
            ("model_fn, traced once", "loop: iterations_per_loop"),
            "CrossReplicaSum",
            "outfeed: loss, host_call",
        ),
        Side(
            "tpucompat run: the same script today",
            ("input_fn, hooks, Saver", "replays the traced step"),
            "strategy.run(step, batch)",
            ("model_fn, traced once", "strategy variables"),
            "all-reduce",
            "loss, host_call, checkpoints",
        ),
    ),
    "batch_parallel": (
        Side(
            "TensorFlow 1: batch_parallel, shard",
            ("Session.run(outputs)",),
            "shards of the inputs",
            ("the computation", "compiled by rewrite"),
            "CrossReplicaSum",
            "joined outputs",
        ),
        Side(
            "Today: strategy.run in a tf.function",
            ("outputs = step(inputs)",),
            "strategy.run(computation, shards)",
            ("the computation", "one replica per core"),
            "all-reduce",
            "one value per replica",
        ),
    ),
    "early_tf2": (
        Side(
            "TensorFlow 2.0 to 2.4: a TPU node",
            ("script or notebook", "grpc://COLAB_TPU_ADDR"),
            "experimental_run_v2 over gRPC",
            ("replica function", "on another machine"),
            "all-reduce",
            "results over gRPC",
        ),
        Side(
            "Today: a TPU VM",
            ("script or notebook", "tpu='local'"),
            "strategy.run",
            ("replica function", "on this machine"),
            "all-reduce",
            "results",
        ),
    ),
}
_PANEL = 170


def diagram(sides: tuple[Side, Side]) -> str:
    """Both halves, one below the other."""
    parts = [
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{INK}"/></marker></defs>'
    ]
    for index, (side, colour) in enumerate(zip(sides, (OLD, NEW))):
        parts += _side(side, colour, _PANEL * index)
    return _svg(_WIDTH, 2 * _PANEL, described(sides), parts)


def described(sides: tuple[Side, Side]) -> str:
    """A diagram in words."""
    return " ".join(
        f"{side.title}. The host runs {', '.join(side.host)}. It sends {side.there} to the 8 cores, which run "
        f"{', '.join(side.cores)} and meet in {side.meeting}. Back to the host: {side.back}."
        for side in sides
    )


def _side(side: Side, colour: str, top: int) -> Iterator[str]:
    yield _text(8, top + 22, side.title, 15, font_weight="600")
    yield _box(8, top + 36, 200, 104, colour)
    yield _text(108, top + 56, "host", 12, "middle", font_style="italic")
    for line, text in enumerate(side.host):
        yield _text(108, top + 84 + 20 * line, text, 13, "middle")
    yield _box(446, top + 36, 306, 104, colour)
    yield _text(599, top + 56, "TPU: 8 cores", 12, "middle", font_style="italic")
    for core in range(8):
        yield _box(458 + 36 * core, top + 66, 30, 22, colour, 0.25)
        yield _text(473 + 36 * core, top + 81, str(core), 11, "middle")
    yield f'<path d="M458 {top + 95}H740" stroke="{colour}" stroke-width="3"/>'
    yield _text(599, top + 110, side.meeting, 11, "middle")
    yield _text(599, top + 130, ", ".join(side.cores), 13, "middle")
    for height, text, way in ((70, side.there, "M212 {}H440"), (116, side.back, "M442 {}H214")):
        yield (
            f'<path d="{way.format(top + height)}" stroke="{INK}" stroke-width="1.5" '
            'marker-end="url(#tip)"/>'
        )
        yield _text(327, top + height - 8, text, 12, "middle")


def _box(x: int, y: int, width: int, height: int, colour: str, opacity: float = 0.08) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{colour}" '
        f'fill-opacity="{opacity}" stroke="{colour}" stroke-opacity="0.7"/>'
    )


def pictures() -> dict[str, str]:
    """File name -> its text."""
    with open(CURVES, encoding="utf-8") as stream:
        recorded = json.load(stream)["pictures"]
    found = {f"{name}_curves.svg": curves(record) for name, record in recorded.items()}
    found.update((f"{name}_diagram.svg", diagram(sides)) for name, sides in DIAGRAMS.items())
    return found


def main() -> int:
    """Draws, or compares; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args()
    os.makedirs(OUT, exist_ok=True)
    stale = []
    for name, text in pictures().items():
        path = os.path.join(OUT, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as stream:
                if stream.read() == text:
                    continue
        stale.append(name)
        if not args.check:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
    print(
        "\n".join(f"{'stale' if args.check else 'drawn'}: {name}" for name in stale) or "all drawn"
    )
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
