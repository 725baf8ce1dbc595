"""The first pair, side by side: the old script through ``tpucompat run``, and its migrated twin.

    make demo        or        python tools/demo.py [--output DIR]

Both halves start from the same weights and see the same batches of Fashion-MNIST, on one CPU
replica; dropout is off, because its random numbers differ between TensorFlow 1 and 2. The loss of
every step is printed side by side and drawn to ``DIR/first_pair.png``. Exit code 1 if the curves
part.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

import first_pair
import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot, ticker

#: A validation after every tenth step.
STEPS, EPOCHS = 50, 5
#: Single precision, 50 steps. The halves use different batch-norm code (fused in TensorFlow 1,
#: plain in Keras 3), and sums over 800,000 single-precision numbers leave 1e-4 to 1e-3 of its
#: variance open. Measured: 4e-4. A learning rate that is 1 % off makes 4e-3 in ten steps.
LIMIT = 2e-3
#: Double precision, 20 steps; see first_pair.MIGRATED_LIMIT. Measured: 2e-6. Adam's epsilon at
#: Keras' 1e-7 instead of TensorFlow's 1e-8 makes 7e-5.
LIMIT_DOUBLE = first_pair.MIGRATED_LIMIT
DOUBLE_STEPS = 20

#: Colours, and the lower edge of the panel with the differences.
LEGACY, MIGRATED = "#d1495b", "#2e6f95"
SINGLE, DOUBLE = "0.3", "#c17f24"
FLOOR = 1e-9
#: How the words stand to their point.
RIGHT: dict[str, Any] = {"ha": "right", "va": "bottom", "size": 8}
LEFT: dict[str, Any] = {"ha": "left", "va": "center", "size": 8}


def halves(case: str, steps: int, epochs: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Trains both halves and returns what they recorded: legacy, migrated."""
    results = []
    for what, command in (
        ("legacy, through tpucompat run", first_pair.legacy_command(sys.executable)),
        ("migrated, plain TensorFlow 2", first_pair.migrated_command(sys.executable)),
    ):
        start = time.monotonic()
        print(f"  {what}: ", end="", flush=True)
        results.append(first_pair.train(command, first_pair.CASES[case], steps, epochs))
        print(f"{steps} steps, {time.monotonic() - start:.0f} s")
    return results[0], results[1]


def print_curves(legacy: dict[str, Any], migrated: dict[str, Any], parts: np.ndarray) -> None:
    """The losses as a table, one line per step."""
    print(f"\n{'step':>4}  {'legacy':>9}  {'migrated':>9}  difference")
    for step, (old, new) in enumerate(zip(legacy["step_loss"], migrated["step_loss"])):
        print(f"{step + 1:>4}  {old:>9.6f}  {new:>9.6f}  {parts[step]:>10.1e}")
    print(
        f"test  {legacy['test']['loss']:>9.6f}  {migrated['test']['loss']:>9.6f}   "
        f"accuracy {legacy['test']['acc']:.3f} and {migrated['test']['acc']:.3f}"
    )


def draw(
    legacy: dict[str, Any],
    migrated: dict[str, Any],
    parts: np.ndarray,
    double: np.ndarray,
    title: str,
    path: str,
) -> None:
    """Both curves with the validation losses; below them the relative difference of each step."""
    steps = np.arange(1, len(parts) + 1)
    figure, (curves, residual) = pyplot.subplots(
        2, 1, sharex=True, figsize=(8, 7), height_ratios=(5, 2), layout="constrained"
    )
    curves.plot(steps, legacy["step_loss"], color=LEGACY, linewidth=4.5, alpha=0.45)
    curves.plot(steps, migrated["step_loss"], color=MIGRATED, linewidth=1.4)
    each = len(parts) // EPOCHS
    ends = steps[each - 1 :: each]
    curves.plot(ends, legacy["epochs"]["val_loss"], "o", color=LEGACY, ms=9, alpha=0.45)
    curves.plot(ends, migrated["epochs"]["val_loss"], "o", color=MIGRATED, ms=4)
    # The legend: lines for the scripts, one point for both.
    curves.plot([], [], color=LEGACY, linewidth=4.5, alpha=0.45, label="legacy script")
    curves.plot([], [], color=MIGRATED, linewidth=1.4, label="migrated script")
    curves.plot([], [], "o", color="0.5", ms=6, label="validation, either script")
    curves.set_ylabel("loss (cross entropy)")
    curves.set_ylim(bottom=0)
    curves.legend(frameon=False)
    curves.set_title(title, fontsize=11)

    # A difference of exactly 0 has no place on a logarithmic axis: it is drawn at the lower edge.
    for values, limit, colour in ((parts, LIMIT, SINGLE), (double, LIMIT_DOUBLE, DOUBLE)):
        residual.semilogy(
            steps[: len(values)], np.maximum(values, FLOOR), "o-", color=colour, ms=3, lw=1
        )
        # Each limit is drawn as far as its curve goes.
        residual.plot(steps[[0, len(values) - 1]], [limit, limit], "--", color=colour, lw=1)
    residual.text(STEPS, LIMIT, f"single precision, limit {LIMIT:.0e}", color=SINGLE, **RIGHT)
    where = (len(double) + 0.5, max(double[-1], FLOOR))
    residual.text(*where, f"double precision, limit {LIMIT_DOUBLE:.0e}", color=DOUBLE, **LEFT)
    residual.set_ylim(FLOOR, LIMIT * 20)
    residual.yaxis.set_major_locator(ticker.LogLocator(base=10, numticks=6))
    residual.set_ylabel("relative difference")
    residual.set_xlabel("training step (1024 images each)")
    for axes in (curves, residual):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(True, axis="y", color="0.9")
        axes.set_axisbelow(True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def main() -> int:
    """Runs both pairs of runs and says whether they agree; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", default=os.path.join(first_pair.ROOT, "demo_output"))
    args = parser.parse_args()
    os.makedirs(args.output, exist_ok=True)
    tensorflow = first_pair.versions(sys.executable)["tensorflow"]

    print(f"Fashion-MNIST, three convolution blocks with batch norm, TensorFlow {tensorflow}")
    legacy, migrated = halves("batch_norm", STEPS, EPOCHS)
    print("The same in double precision:")
    old, new = halves("batch_norm_float64", DOUBLE_STEPS, 1)
    parts = first_pair.differences(migrated["step_loss"], legacy["step_loss"])
    double = first_pair.differences(new["step_loss"], old["step_loss"])

    print_curves(legacy, migrated, parts)
    picture = os.path.join(args.output, "first_pair.png")
    title = f"Fashion-MNIST on TensorFlow {tensorflow}: a TF 1.x TPU script and its migration"
    draw(legacy, migrated, parts, double, title, picture)

    agree = True
    print()
    for what, largest, limit in (
        (f"single precision, {STEPS} steps", parts.max(), LIMIT),
        (f"double precision, {DOUBLE_STEPS} steps", double.max(), LIMIT_DOUBLE),
    ):
        fine = bool(largest <= limit)  # False for NaN too
        agree = agree and fine
        verdict = "agree" if fine else "PART"
        print(f"{what}: the curves {verdict}: largest difference {largest:.1e}, limit {limit:.0e}")
    print(f"picture: {os.path.relpath(picture)}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
