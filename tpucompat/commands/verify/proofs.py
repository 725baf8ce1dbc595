"""What ``tpucompat check`` says of both halves of a pair: the proof that a report carries.

The numbers of a pair are compared where no TPU is; whether its computations compile for a named TPU is another
question, and the report answers both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Iterator, Mapping, NamedTuple

from tpucompat.base import temporary
from tpucompat.commands.verify.runs import Half, environment

#: The proof of a half: what ``tpucompat check --json`` prints, or ``{"error": ...}``.
Proof = Mapping[str, Any]


class Row(NamedTuple):
    """One computation of a half.

    Attributes:
      name: What it is.
      cells: TPU -> (verdict, in words).
      findings: What stops it: code, text, place, what to write instead.
    """

    name: str
    cells: dict[str, tuple[str, str]]
    findings: list[str]


def prove(half: Half, tpus: str, folder: str, python: str = sys.executable) -> Proof:
    """Checks one half.

    Args:
      half: What to check.
      tpus: Names with commas between them: "v5e-8,v3-8".
      folder: Where the script may write.
      python: An interpreter with TensorFlow 2; the half's own may be one with TensorFlow 1.
    """
    out = os.path.join(folder, "work")
    os.makedirs(out, exist_ok=True)
    command = [python, "-m", "tpucompat", "check", "--json", "--tpu", tpus]
    command += [word.replace("{out}", out) for word in half.options]
    command += [os.path.abspath(half.script)]
    command += [word.replace("{out}", out) for word in half.arguments]
    with temporary.folder() as shown:
        done = subprocess.run(
            command,
            cwd=out,
            env=environment(shown),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    try:
        return dict(json.loads(done.stdout))
    except ValueError:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        told = next((line for line in lines if "error: " in line), (lines or ["no answer"])[-1])
        return {"error": told.split("error: ", 1)[-1]}


def verdict(proof: Proof) -> str:
    """One word for all of it: "compiles", "lowers", "does not compile" or "unknown"."""
    return str(proof.get("verdict", "unknown"))


def rows(proof: Proof) -> Iterator[Row]:
    """The computations, those of several numbers of cores put together by their names."""
    found: dict[str, Row] = {}
    for computation in proof.get("computations", ()):
        row = found.setdefault(computation["name"], Row(computation["name"], {}, []))
        for target in computation["targets"]:
            row.cells[target["tpu"]] = (target["verdict"], target["text"])
        for finding in computation["findings"]:
            place = f" at {finding['line']}" if finding.get("line") else ""
            text = f"{finding['code']} {finding['text']}{place}; instead: {finding['instead']}"
            if text not in row.findings:
                row.findings.append(text)
    yield from found.values()


def line(proof: Proof) -> str:
    """All of it in one line."""
    if "error" in proof:
        return str(proof["error"])
    found = list(rows(proof))
    by_verdict: dict[str, list[str]] = {}
    for tpu in dict.fromkeys(tpu for row in found for tpu in row.cells):
        verdicts = [row.cells[tpu][0] for row in found if tpu in row.cells]
        order = ("does not compile", "unknown", "lowers", "compiles")
        worst = next((word for word in order if word in verdicts), "unknown")
        by_verdict.setdefault(worst, []).append(tpu)
    told = "; ".join(f"{word}: {', '.join(tpus)}" for word, tpus in by_verdict.items())
    count = f"{len(found)} computation" + "s" * (len(found) != 1)
    return f"{told} ({count}; {proof.get('compiler', '')})"
