"""Runs two scripts and compares them: what ``tpucompat verify`` does, and ``verify --all`` for each pair."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from tpucompat.base import temporary
from tpucompat.commands.verify import exports, ladder, outcomes, proofs, runs, seeds
from tpucompat.commands.verify.rungs import DIFFER, SKIPPED, Comparison
from tpucompat.commands.verify.runs import Half, Run

#: What no two runs have in common.
IGNORED: Mapping[str, str] = {
    **dict.fromkeys(("*time*", "*seconds*", "*/sec"), "speed depends on the machine"),
    "*eval*/summaries": ("an Estimator also writes what evaluate returns, which is compared"),
}


class PreparationError(ValueError):
    """The data of a pair could not be made."""


class Result(NamedTuple):
    """One verified pair.

    Attributes:
      name: What it is called.
      old: The old script's run.
      new: The new script's run.
      comparison: The ladder.
      problems: Why the two could not be compared as a whole; empty if they could.
      proofs: "old" and "new" -> what ``tpucompat check`` says of it; empty where no TPU was named.
    """

    name: str
    old: Run
    new: Run
    comparison: Comparison
    problems: list[str]
    proofs: Mapping[str, proofs.Proof] = {}

    @property
    def exit_code(self) -> int:
        """0 they agree, 1 they differ, 2 they could not be compared."""
        if self.problems or self.comparison.verdict == SKIPPED:
            return 2
        return 1 if self.comparison.verdict == DIFFER else 0


class Task(NamedTuple):
    """What to run, and how to compare it.

    Attributes:
      name: What it is called.
      old: The old script.
      new: The new script.
      mapping: New variable -> old variable.
      tolerances: Rung -> ``{"limit": ..., "why": ...}``.
      ignore: Pattern -> why what it names need not agree.
      seed: For random numbers, before a script sets its own.
      timeout: Seconds for each run; None for no limit.
      prepare: A Python script and its arguments that make the data before both runs; ``{data}`` is the folder
        for them, in the scripts' arguments too.
      seeds: How often to run each script, with another seed each time, where random numbers decide.
      tpus: The TPUs for which both are checked, with commas; "" for none.
    """

    name: str
    old: Half
    new: Half
    mapping: Mapping[str, str] = {}
    tolerances: Mapping[str, Any] = {}
    ignore: Mapping[str, str] = IGNORED
    seed: int = 0
    timeout: float | None = None
    prepare: Sequence[str] = ()
    seeds: int = 1
    tpus: str = ""


def verify(task: Task, folder: str, tell: Callable[[str], None] = lambda text: None) -> Result:
    """Runs both scripts, the new one from the old one's initial values, and compares.

    Args:
      task: What to run.
      folder: Where recordings and the scripts' files go; kept.
      tell: Called with what is being done.
    """
    task = prepared(task, os.path.join(folder, "data"))
    tell(f"old: {os.path.basename(task.old.script)}")
    old = runs.record(task.old, os.path.join(folder, "old"), seed=task.seed, timeout=task.timeout)
    tell(f"new: {os.path.basename(task.new.script)}")
    new = runs.record(
        task.new,
        os.path.join(folder, "new"),
        initial=old.recording.folder,
        mapping=task.mapping,
        seed=task.seed,
        timeout=task.timeout,
    )
    tell("comparing")
    comparison = ladder.compare(
        old.recording,
        new.recording,
        task.mapping,
        task.tolerances,
        task.ignore,
        exported(task, old, new, folder),
    )
    if task.seeds > 1:
        comparison = _over_seeds(task, comparison, old, new, folder, tell)
    problems = [
        f"the {which} run: {run.problem}"
        for which, run in (("old", old), ("new", new))
        if run.problem
    ]
    if not problems and comparison.verdict == SKIPPED:
        problems.append("the runs left nothing to compare")
    return Result(task.name, old, new, comparison, problems, _proofs(task, folder, tell))


def _proofs(task: Task, folder: str, tell: Callable[[str], None]) -> dict[str, proofs.Proof]:
    found: dict[str, proofs.Proof] = {}
    for which, half in (("old", task.old), ("new", task.new)) if task.tpus else ():
        tell(f"{which}, for {task.tpus}")
        where = os.path.join(folder, "check", which)
        found[which] = proofs.prove(half, task.tpus, where, task.new.python)
    return found


def _over_seeds(
    task: Task,
    comparison: Comparison,
    old: Run,
    new: Run,
    folder: str,
    tell: Callable[[str], None],
) -> Comparison:
    """Runs both scripts with more seeds, each from initial values of its own."""
    recordings = [[old.recording], [new.recording]]
    for seed in range(task.seed + 1, task.seed + task.seeds):
        for found, half, which in zip(recordings, (task.old, task.new), ("old", "new")):
            tell(f"{which}, seed {seed}")
            where = os.path.join(folder, f"{which}-{seed}")
            found.append(runs.record(half, where, seed=seed, timeout=task.timeout).recording)
    return seeds.with_distributions(comparison, recordings[0], recordings[1], task.ignore)


def prepared(task: Task, data: str) -> Task:
    """Makes the data; the task with their place in its arguments."""
    if not task.prepare:
        return task
    command = [task.new.python, *(word.replace("{data}", data) for word in task.prepare)]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        lines = done.stdout.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
        raise PreparationError(f"{task.name}: the data could not be prepared: {lines[-1]}")
    halves = [
        half._replace(
            arguments=[word.replace("{data}", data) for word in half.arguments],
            options=[word.replace("{data}", data) for word in half.options],
        )
        for half in (task.old, task.new)
    ]
    return task._replace(old=halves[0], new=halves[1])


def exported(task: Task, old: Run, new: Run, folder: str) -> dict[str, Any]:
    """What the models that both runs have exported answer; empty if one of them has exported none."""
    last = [found[-1:] for found in outcomes.exported(old.recording, new.recording)]
    if not all(last):
        return {}
    paths = [found[0]["path"] for found in last]
    with temporary.folder() as shown:
        return exports.ask(
            task.new.python,
            paths[0],
            paths[1],
            os.path.join(folder, "answers.npz"),
            runs.environment(shown),
        )


def read_mapping(path: str) -> dict[str, str]:
    """A mapping file: JSON, new variable -> old variable.

    Raises:
      ValueError: It cannot be read, or is of another form.
    """
    try:
        with open(path, encoding="utf-8") as stream:
            content = json.load(stream)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    if not isinstance(content, dict) or not all(isinstance(v, str) for v in content.values()):
        raise ValueError(f'{path}: expected {{"new variable": "old variable", ...}}')
    return content
