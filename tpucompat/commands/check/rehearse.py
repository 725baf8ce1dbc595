"""``tpucompat check --rehearse``: the script's steps run once under TensorFlow's own TPUStrategy.

Compiling shows what a TPU's compiler takes. Running the script on simulated cores
(:mod:`tpucompat.engines.rehearsal`) shows besides what ``TPUStrategy`` itself refuses: unequal parts of a
batch, meetings in loops, values that go back and forth between the cores and the host.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any, Mapping, Sequence

from tpucompat.base import targets
from tpucompat.base.errors import SetupError
from tpucompat.commands.check import report
from tpucompat.engines.xla_operations import Finding

#: What tpucompat's errors say on standard error: code and cause, the line, the next step.
_ERROR = re.compile(
    r"^tpucompat\.base\.errors\.\w+: (TPU3\d\d|TPU463) (.*?)(?:; made at ([^\n]*?:\d+): ([^\n]*))?\n"
    r"  Next: ([^\n]*)",
    re.MULTILINE | re.DOTALL,
)


def check(
    given: str, program: Sequence[str], folder: str, limit: float, environ: Mapping[str, str]
) -> report.Checked:
    """Runs a script with ``tpucompat run --smoke --rehearse``.

    Args:
      given: The TPU: a number of cores, or a name.
      program: Options of ``tpucompat run``, the script and its arguments.
      folder: Where the script's output is left.
      limit: Seconds for the run.
      environ: The environment of the run.

    Returns:
      What was found, as of one computation.

    Raises:
      SetupError: There is no such TPU (TPU455).
    """
    size = targets.slice_of(given)
    if size is None:
        raise SetupError("TPU455", f"--rehearse {given}: not a number of cores or a TPU name.")
    command = [sys.executable, "-m", "tpucompat", "run", "--quiet", "--smoke", "--rehearse", given]
    path = os.path.join(folder, "rehearsal.txt")
    with open(path, "wb") as output:
        try:
            code: int | None = subprocess.run(
                [*command, *program],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environ),
                timeout=limit,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            code = None
    with open(path, encoding="utf-8", errors="replace") as text:
        findings, verdict, said = judge(code, text.read())
    where = f"rehearsed TPUStrategy, {size.cores} core" + "s" * (size.cores != 1)
    record: dict[str, Any] = {"name": "rehearsal", "line": where, "replicas": size.cores}
    record["findings"] = [finding._asdict() for finding in findings]
    target = targets.Target(given, "", "", size.cores, 0)
    return report.Checked(record, [report.Row(target, verdict, said, None)])


def judge(code: int | None, output: str) -> tuple[list[Finding], str, str]:
    """What a run shows: findings, the verdict, and the verdict in words.

    Args:
      code: The exit code; None where the run was stopped.
      output: What the script and tpucompat have printed.
    """
    if code is None:
        return [], "unknown", "the rehearsal exceeded the time limit (--limit)"
    if not code:
        return [], "lowers", "its steps run under a rehearsed TPUStrategy, compiled for the CPU"
    told = list(_ERROR.finditer(output))
    if not told:
        last = (output.strip().splitlines() or ["it said nothing"])[-1].strip()
        return [], "unknown", f"the rehearsal ended with exit code {code}: {last[:300]}"
    kind, text, line, source, instead = told[-1].groups(default="")
    finding = Finding(kind, text, line=line, source=source, instead=instead)
    return [finding], "does not compile", text
