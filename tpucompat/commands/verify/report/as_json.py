"""A comparison as data."""

from __future__ import annotations

import math
from typing import Any

from tpucompat.commands.verify.comparison import Result
from tpucompat.commands.verify.runs import Run


def document(result: Result) -> dict[str, Any]:
    """Everything that the other reports show, ready for ``json.dump``; no NaN and no infinity in it."""
    comparison = result.comparison
    content = {
        "name": result.name,
        "exit_code": result.exit_code,
        "verdict": comparison.verdict,
        "problems": result.problems,
        "old": _run(result.old),
        "new": _run(result.new),
        "variables": {
            "pairs": comparison.matches.pairs,
            "how": comparison.matches.how,
            "only_old": comparison.matches.only_old,
            "only_new": comparison.matches.only_new,
        },
        "rungs": [
            {
                "key": rung.key,
                "title": rung.title,
                "verdict": rung.verdict,
                "worst": rung.worst,
                "limit": rung.tolerance.limit if rung.tolerance else None,
                "measure": rung.tolerance.measure if rung.tolerance else None,
                "why": rung.tolerance.why if rung.tolerance else None,
                "note": rung.note,
                "rows": [
                    {"name": row.name, "verdict": row.verdict, **row.difference._asdict()}
                    for row in rung.rows
                ],
            }
            for rung in comparison.rungs
        ],
        "tpus": dict(result.proofs),
        "curves": {
            name: {"old": old, "new": new} for name, (old, new) in comparison.curves.items()
        },
    }
    result_: dict[str, Any] = _finite(content)
    return result_


def _run(run: Run) -> dict[str, Any]:
    environment = dict(run.recording.first("environment"))
    environment.pop("kind", None)
    return {
        "script": run.half.script,
        "arguments": list(run.half.arguments),
        "python": run.half.python,
        "cores": run.half.cores,
        "rehearse": run.half.rehearse,
        "exit_code": run.code,
        "seconds": round(run.seconds, 1),
        "problem": run.problem,
        "environment": environment,
    }


def _finite(thing: Any) -> Any:
    if isinstance(thing, dict):
        return {str(key): _finite(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [_finite(value) for value in thing]
    if isinstance(thing, float) and not math.isfinite(thing):
        return str(thing)
    return thing
