"""Records the losses that the pictures of README and guide show, in ``docs/curves.json``.

    python tools/record_curves.py --reference /path/to/tf115/bin/python
    python tools/draw_pictures.py                  # and draws them

For each idiom, the legacy example runs on the reference, a real TensorFlow 1.15, and its migrated twin on
this interpreter's TensorFlow; ``tpucompat verify`` runs both, from the same initial values. The README
shows one unmodified script on both; ``tests/data/first_pair_tf115.json`` has its losses on the reference.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "tools")]

import first_pair  # noqa: E402
import provenance  # noqa: E402

OUT = os.path.join(ROOT, "docs", "curves.json")
DATA = os.path.join(ROOT, "examples_data")

#: Page of the guide -> (pair, whether TensorFlow 1.15 can run it, arguments of both scripts). 50 steps each.
IDIOMS: dict[str, tuple[str, bool, str]] = {
    "keras_to_tpu_model": (
        "fashion_mnist_keras",
        True,
        f"--data-dir {DATA} --dropout 0 --no-batch-norm --filters 8 --epochs 5 --steps-per-epoch 10 "
        "--batch-size 160 --history {out}/history.json",
    ),
    "tpu_estimator": (
        "mnist_tpu_estimator",
        True,
        f"--data_dir {DATA} --batch_size 64 --iterations 10 --train_steps 50 --model_dir {{out}}/model "
        "--report {out}/report.json",
    ),
    "batch_parallel": (
        "sharded_linear_regression",
        True,
        "--steps 50 --model-dir {out}/model --history {out}/history.json",
    ),
    "early_tf2": (
        "fashion_mnist_tf20",
        False,
        f"--data-dir {DATA} --epochs 5 --steps-per-epoch 10 --validation-freq 5 --batch-size 64 "
        "--history {out}/history.json",
    ),
}


def verified(pair: str, words: str, python_old: str) -> dict[str, Any]:
    """What ``tpucompat verify --json`` says of a pair."""
    with tempfile.TemporaryDirectory() as folder:
        found = os.path.join(folder, "verify.json")
        halves = [
            os.path.join(ROOT, half, pair + ".py")
            for half in ("legacy_examples", "migrated_examples")
        ]
        command = [sys.executable, "-m", "tpucompat", "verify", *halves, "--args", words]
        done = subprocess.run(
            [*command, "--python-old", python_old, "--json", found],
            cwd=folder,
            env=first_pair.environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if not os.path.exists(found):
            raise RuntimeError(f"{pair}: exit code {done.returncode}\n{done.stdout[-4000:]}")
        with open(found, encoding="utf-8") as stream:
            document: dict[str, Any] = json.load(stream)
    return document


def idiom(pair: str, python_old: str, words: str) -> dict[str, Any]:
    """The curves of one idiom: the legacy script, and its twin from the same initial values."""
    found = verified(pair, words, python_old)
    losses = next(iter(found["curves"].values()))
    curves = [
        {
            "script": f"{folder}/{pair}.py",
            "tensorflow": found[half]["environment"]["tensorflow"],
            "loss": losses[half],
        }
        for half, folder in (("old", "legacy_examples"), ("new", "migrated_examples"))
    ]
    return {"pair": pair, "arguments": words.replace(ROOT + os.sep, ""), "curves": curves}


def unmodified() -> dict[str, Any]:
    """The first pair's legacy half, on the reference (recorded) and here."""
    with open(first_pair.REFERENCE, encoding="utf-8") as stream:
        reference = json.load(stream)
    here = first_pair.train(
        first_pair.legacy_command(sys.executable),
        first_pair.CASES["plain"],
        reference["steps"],
        reference["epochs"],
    )
    there = first_pair.versions(sys.executable)
    script = "legacy_examples/fashion_mnist_keras.py"
    return {
        "pair": "fashion_mnist_keras",
        "arguments": " ".join(first_pair.CASES["plain"].flags),
        "curves": [
            {
                "script": script,
                "tensorflow": reference["versions"]["tensorflow"],
                "loss": reference["cases"]["plain"]["step_loss"],
            },
            {"script": script, "tensorflow": there["tensorflow"], "loss": here["step_loss"]},
        ],
    }


def main() -> int:
    """Records what was asked for; the rest of the file stays."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--reference", default=os.environ.get("TPUCOMPAT_TF115_PYTHON"))
    parser.add_argument("--only", choices=["readme", *IDIOMS], action="append")
    args = parser.parse_args()
    record: dict[str, Any] = {"pictures": {}}
    if os.path.exists(OUT):
        with open(OUT, encoding="utf-8") as stream:
            record = json.load(stream)
    for name in args.only or ["readme", *IDIOMS]:
        if name == "readme":
            found = unmodified()
        else:
            pair, on_reference, words = IDIOMS[name]
            if on_reference and not args.reference:
                parser.error("no TensorFlow 1.15: give --reference or set TPUCOMPAT_TF115_PYTHON")
            found = idiom(pair, args.reference if on_reference else sys.executable, words)
        record["pictures"][name] = {**provenance.where(), **found}
        print(name, *(f"{curve['tensorflow']}: {curve['loss'][-1]}" for curve in found["curves"]))
    with open(OUT, "w", encoding="utf-8") as stream:
        json.dump(record, stream, indent=1)
        stream.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
