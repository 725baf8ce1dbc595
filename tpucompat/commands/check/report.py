"""What ``tpucompat check`` found, for people and as JSON."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from tpucompat.base.targets import Target
from tpucompat.commands.check.compiler import Outcome

#: Verdict -> exit code.
EXIT = {"compiles": 0, "lowers": 0, "does not compile": 1, "unknown": 2}


class Row(NamedTuple):
    """One computation on one TPU.

    Attributes:
      target: The TPU.
      verdict: A key of :data:`EXIT`.
      text: The verdict in words.
      outcome: What the compiler said; None where it was not asked.
    """

    target: Target
    verdict: str
    text: str
    outcome: Outcome | None


class Checked(NamedTuple):
    """One computation.

    Attributes:
      record: What the watcher wrote down.
      rows: What became of it on each TPU.
    """

    record: dict[str, Any]
    rows: list[Row]


def judge(record: dict[str, Any], target: Target, outcome: Outcome | None, compiler: str) -> Row:
    """The verdict on one computation for one TPU.

    Args:
      record: What the watcher wrote down.
      target: The TPU.
      outcome: What the compiler said; None where it was not asked.
      compiler: "libtpu 0.0.52"; why there is none, where there is none.
    """
    for finding in record["findings"]:
        return Row(target, "does not compile", finding["text"], None)
    if record["replicas"] > target.replicas:
        text = f"it requests {record['replicas']} shards, but a {target.name} has {target.replicas}"
        text += f" cores as TensorFlow counts them; set num_shards={target.replicas} [TPU382]"
        return Row(target, "does not compile", text, None)
    if not record.get("program"):
        return Row(target, "unknown", record.get("unsure") or "not lowered", None)
    if outcome is None:
        text = "lowers to XLA, every operation has a TPU kernel; not compiled: " + compiler
        return Row(target, "lowers", text, None)
    memory = f"{gib(outcome.total)} of {gib(target.memory)} GiB per core"
    replicas = f"{record['replicas']} replica" + "s" * (record["replicas"] != 1)
    if outcome.verdict == "compiles":
        text = f"compiles with {compiler} for {target.generation}, {replicas}; {memory}"
        return Row(target, "compiles", text, outcome)
    if outcome.verdict == "too big":
        text = f"does not fit {gib(target.memory)} GiB per core: {outcome.text} [TPU398]"
        return Row(target, "does not compile", text, outcome)
    if outcome.verdict == "refused":
        text = f"{compiler} rejects it for {target.generation}: {outcome.text} [TPU395]"
        return Row(target, "does not compile", text, outcome)
    return Row(target, "unknown", outcome.text, outcome)


def unseen(replicas: int, group: Sequence[Target]) -> Checked:
    """What is said of TPUs for whose number of cores the script showed nothing."""
    text = f"the script built no computation when it ran on {replicas} cores"
    record = {"name": "no computation", "replicas": replicas, "findings": [], "unsure": text}
    return Checked(record, [Row(target, "unknown", text, None) for target in group])


def overall(checked: Sequence[Checked]) -> str:
    """The worst verdict of all; "unknown" where there is nothing."""
    verdicts = [row.verdict for each in checked for row in each.rows]
    for verdict in ("does not compile", "unknown", "lowers"):
        if verdict in verdicts:
            return verdict
    return "compiles" if verdicts else "unknown"


def gib(count: float) -> str:
    """Bytes in GiB with two or three digits."""
    value = count / 2**30
    return f"{value:.2f}" if value >= 0.095 else f"{value:.1g}" if value else "0"


def amount(count: float) -> str:
    """A number of operations with its unit."""
    for factor, unit in ((1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP")):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} FLOP"


def text(checked: Sequence[Checked], notes: Sequence[str], licence: str) -> str:
    """The report for a terminal."""
    lines: list[str] = []
    for each in checked:
        lines += [*_describe(each), ""]
    lines += [f"note: {note}" for note in notes]
    if licence:
        lines.append("note: " + licence)
    return "\n".join(lines).rstrip() + "\n"


def _describe(each: Checked) -> list[str]:
    record = each.record
    facts = [record["line"]] if record.get("line") else []
    if record.get("operations"):
        facts.append(f"{record['operations']} operations")
    if record.get("reductions"):
        facts.append(f"{record['reductions']} sums over the cores")
    flops = [row.outcome.flops for row in each.rows if row.outcome and row.outcome.flops]
    if flops:
        facts.append(amount(flops[0]) + " per core and step")
    lines = [f"{record['name']}  ({', '.join(facts)})"]
    for finding in record["findings"]:
        lines.append(f"  {finding['code']} {finding['text']}")
        if finding["line"]:
            lines.append(f"    at {finding['line']}: {finding['source']}")
        lines.append(f"    instead: {finding['instead']}")
    lines += [f"  {note}" for note in record.get("notes", ())]
    width = max((len(row.target.name) for row in each.rows), default=0)
    for row in each.rows:
        said = row.verdict if record["findings"] else row.text
        if row.verdict == "unknown":
            said = "unknown: " + row.text
        lines.append(f"  {row.target.name:<{width}}  {said}")
        if row.outcome is not None and row.outcome.memory:
            parts = ("arguments", "outputs", "temporaries", "aliased")
            told = ", ".join(f"{part} {gib(row.outcome.memory.get(part, 0))}" for part in parts)
            lines.append(f"  {'':<{width}}  GiB: {told}")
    return lines


def as_dict(
    checked: Sequence[Checked], notes: Sequence[str], compiler: str, ended: dict[str, Any]
) -> dict[str, Any]:
    """The report as JSON has it."""
    return {
        "verdict": overall(checked),
        "exit": EXIT[overall(checked)],
        "compiler": compiler,
        "computations": [
            {
                **{key: value for key, value in each.record.items() if key != "program"},
                "targets": [_row(row) for row in each.rows],
            }
            for each in checked
        ],
        "notes": list(notes),
        "script": {key: value for key, value in ended.items() if key != "end"},
    }


def _row(row: Row) -> dict[str, Any]:
    result: dict[str, Any] = {"tpu": row.target.name, "verdict": row.verdict, "text": row.text}
    result["available"] = row.target.memory
    if row.outcome is not None:
        result.update(memory=row.outcome.memory, flops=row.outcome.flops)
        outcome = row.outcome
        result.update(total=outcome.total, seconds=outcome.seconds, cpu=outcome.cpu)
    return result
