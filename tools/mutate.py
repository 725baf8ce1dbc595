"""Puts mistakes into the migrated examples and asks ``tpucompat verify`` for each whether it is found.

    python tools/mutate.py [--pair NAME] [--mistake WORD] [--part 1/3] [--cores N] [--json FILE]
    python tools/mutate.py --untried         # those that the page has no row for yet
    python tools/mutate.py --clean only      # the pairs as they are: they have to agree
    python tools/mutate.py --clean only --documents all.json     # what `tpucompat verify --all --json` writes
    python tools/mutate.py --drawn 20 --seed 1       # mistakes drawn from the syntax of each twin
    python tools/mutate.py --drawn 9 --examples FILE     # the same in the twins of another table of pairs
    python tools/mutate.py --write FILE      # the page docs/verify_power.md, from such a --json FILE

``tools/mistakes.toml`` has the mistakes: which text of which twin becomes which, and the rung that has to show
it. A legacy example runs once for each number of cores; a twin with a mistake runs in a process that is forked
from one with TensorFlow in it, which saves most of its time. With --keep, the recordings of all runs stay in a
folder, and are compared again next time: empty it where what records has changed, not for another limit. The
exit code is 1 if a mistake is not shown on its rung, or a clean pair differs.
"""

from __future__ import annotations

import argparse
import collections
import functools
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
from typing import Any, Iterable, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "tools")]

import drawn_mistakes  # noqa: E402
import provenance  # noqa: E402

from tpucompat.commands.migrate import written  # noqa: E402
from tpucompat.commands.verify import comparison, exports, ladder, pairs, recorded, runs  # noqa: E402
from tpucompat.commands.verify.recorder import Recording  # noqa: E402
from tpucompat.commands.verify.report import as_json  # noqa: E402

MISTAKES = os.path.join(ROOT, "tools", "mistakes.toml")
EXAMPLES = os.path.join(ROOT, "examples.toml")
PAGE = os.path.join(ROOT, "docs", "verify_power.md")
HEAD = os.path.join(ROOT, "tools", "verify_power_head.md")
#: The rung of a drawn mistake: any, or the end of the program.
ANY = "any"
#: The file with the lines that a twin runs.
LINES = "lines.json"
#: Seconds for a twin.
TIMEOUT = 400.0


class Mistake(NamedTuple):
    """One row of ``mistakes.toml``.

    Attributes:
      pair: Whose twin it is made in.
      name: What it is.
      rung: The rung that has to show it; "" for one that is below the tolerance.
      cores: On how many cores it is tried.
      before: The text in the twin, which is there once.
      after: What stands there instead.
      below: Why no rung shows it, and how large it is; "" for all but a few.
    """

    pair: str
    name: str
    rung: str
    cores: int
    before: str
    after: str
    below: str = ""


class Outcome(NamedTuple):
    """What became of a mistake, or of a clean pair.

    Attributes:
      pair: Its pair.
      name: The mistake's; "" for none.
      cores: On how many cores.
      rung: Where it had to be shown.
      shown: The rungs that differ, in order.
      note: What the named rung says.
      problem: Why the twin did not end; "" if it did.
      revision: Of the project that was tried.
      digest: Of the pair: both scripts, its row, and the limits.
      processor: On which it was tried.
    """

    pair: str
    name: str
    cores: int
    rung: str
    shown: list[str]
    note: str
    problem: str
    revision: str = ""
    digest: str = ""
    processor: str = ""

    @property
    def right(self) -> bool:
        """Whether the right rung shows it; for a clean pair, and a mistake below the limits, that none does."""
        if self.rung == ANY:
            return bool(self.shown or self.problem)
        return not self.problem and (self.rung in self.shown if self.rung else not self.shown)


def read(path: str = MISTAKES) -> list[Mistake]:
    """The table of mistakes.

    Raises:
      ValueError: A mistake's text is not in its twin once.
    """
    with open(path, "rb") as stream:
        rows = pairs.toml_reader().load(stream)["mistake"]
    found = [
        Mistake(**{"cores": 8 if index % 2 else 1, "rung": "", **row})
        for index, row in enumerate(rows)
    ]
    for mistake in found:
        if twin(mistake.pair).count(mistake.before) != 1:
            raise ValueError(f"{mistake.pair}: {mistake.name}: its text is not there once")
    return found


def script_of(pair: str) -> str:
    """The file of a pair's migrated example."""
    (script,) = {each.scripts[1] for each in pairs.read(EXAMPLES) if each.name == pair}
    return script


@functools.cache
def twin(pair: str) -> str:
    """The source of a pair's migrated example."""
    with open(script_of(pair), encoding="utf-8") as stream:
        return stream.read()


def copy_modules(pair: str, folder: str) -> None:
    """Puts beside a twin with a mistake what ``migrate`` has written beside the one without."""
    for name in written.LOOPS:
        path = os.path.join(os.path.dirname(script_of(pair)), name + ".py")
        if os.path.exists(path):
            shutil.copy(path, folder)


class Bench:
    """Runs twins with mistakes against the recordings of the legacy examples.

    Args:
      folder: Where the recordings are kept.

    Attributes:
      documents: The comparisons so far, as ``tpucompat verify --json`` writes them.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.documents: list[dict[str, Any]] = []
        self._pairs = {pair.name: pair for pair in pairs.read(EXAMPLES)}

    def place(self, pair: str, cores: int) -> str:
        """The folder of a pair's runs: another one where its legacy example or its row changes."""
        found = self._pairs[pair]
        with open(found.scripts[0], encoding="utf-8") as stream:
            made = repr([found.content, stream.read()]).encode()
        digest = hashlib.sha256(made).hexdigest()[:8]
        return os.path.join(self._folder, f"{pair}-{cores}-{digest}")

    def old(self, pair: str, cores: int) -> tuple[comparison.Task, str]:
        """The task of a pair, and the folder of its legacy example's run, which is made if it is not there."""
        where = self.place(pair, cores)
        task = self._pairs[pair].task(cores, sys.executable, sys.executable)
        task = comparison.prepared(task, os.path.join(where, "data"))
        old = os.path.join(where, "old")
        if not Recording(os.path.join(old, "recording")).all("end"):
            run = runs.record(task.old, old, timeout=600)
            if run.problem:
                raise RuntimeError(f"{pair}, legacy: {run.problem}\n{run.output[-2000:]}")
        return task, old

    def lines(self, clean: Mistake) -> set[int]:
        """The lines of a twin without a mistake that its pair runs."""
        self.try_out(clean, traced=True)
        folder = os.path.join(self.place(clean.pair, clean.cores), _file_name(clean))
        with open(os.path.join(folder, LINES), encoding="utf-8") as stream:
            return set(json.load(stream))

    def try_out(self, mistake: Mistake, traced: bool = False) -> Outcome:
        """Runs a twin with a mistake, unless its recording is kept, and compares.

        Args:
          mistake: The mistake.
          traced: Whether the lines that run are written into the twin's folder.
        """
        pair, name, rung, cores = mistake[:4]
        task, old = self.old(pair, cores)
        folder = os.path.join(self.place(pair, cores), _file_name(mistake))
        half = task.new._replace(script=os.path.join(folder, pair + ".py"))
        new = Recording(os.path.join(folder, "new", "recording"))
        code = 0
        lines = os.path.join(folder, LINES) if traced else ""
        if not new.all("end") or (lines and not os.path.exists(lines)):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            text = twin(pair)
            if mistake.before:
                text = text.replace(mistake.before, mistake.after)
            with open(half.script, "w", encoding="utf-8") as stream:
                stream.write(text)
            copy_modules(pair, folder)
            for spec in runs.specifications(
                half, os.path.join(folder, "new"), os.path.join(old, "recording"), task.mapping
            ):
                code = code or _forked(spec, os.path.join(folder, "output.txt"), lines)
            new = Recording(new.folder)
        problem = new.first("end").get("error", "") or (f"exit code {code}" if code else "")
        if not new.all("end"):
            problem = problem or "it left no recording"
        before = Recording(os.path.join(old, "recording"))
        ours = runs.Run(half, code, 0.0, "", new, problem, os.path.join(folder, "new", "work"))
        theirs = runs.Run(task.old, 0, 0.0, "", before, "", old)
        exported = comparison.exported(task, theirs, ours, folder)
        found = ladder.compare(before, new, task.mapping, task.tolerances, task.ignore, exported)
        result = comparison.Result(task.name, theirs, ours, found, [problem] * bool(problem))
        self.documents.append(as_json.document(result))
        differing = {each.key: each.note for each in found.rungs if each.verdict == ladder.DIFFER}
        said = differing.get(rung) or next(iter(differing.values()), "")
        # A mistake that stops the program is shown by that.
        if rung == "error":
            return Outcome(pair, name, cores, rung, ["error"] if problem else [], problem, "")
        return Outcome(pair, name, cores, rung, list(differing), said, problem)


def _file_name(mistake: Mistake) -> str:
    """A folder for a mistake: its name, and a digest of what it changes in which twin."""
    made = repr([twin(mistake.pair), mistake.before, mistake.after]).encode()
    words = re.sub(r"\W+", "_", mistake.name) or "clean"
    return f"{words}-{hashlib.sha256(made).hexdigest()[:8]}"


class _Lines:
    """Notes which lines of a script run, by ``sys.settrace``."""

    def __init__(self, script: str) -> None:
        self._script = script
        self.ran: set[int] = set()

    def __call__(self, frame: types.FrameType, event: str, _: object) -> _Lines | None:
        if os.path.basename(frame.f_code.co_filename) != self._script:
            return None
        self.ran.add(frame.f_lineno)
        return self


def _forked(spec: dict[str, Any], log: str, lines: str = "") -> int:
    """Runs a script as :mod:`tpucompat.commands.verify.child` does, in a fork.

    Args:
      spec: What the child reads.
      log: The file of its output.
      lines: The file for the lines of the script that ran; "" for none.

    Returns:
      The exit code.
    """
    path = os.path.join(spec["run"], "spec.json")
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(spec, stream)
    child = os.fork()
    if not child:
        os.setsid()
        output = os.open(log, os.O_WRONLY | os.O_CREAT)
        for stream_number in (1, 2):
            os.dup2(output, stream_number)
        os.chdir(spec["work"])
        sys.argv[:] = ["child", path]
        code = 1
        noted = _Lines(os.path.basename(spec["script"]))
        try:
            if lines:
                sys.settrace(noted)
            code = recorded.main()
            sys.settrace(None)
            if lines:
                with open(lines, "w", encoding="utf-8") as stream:
                    json.dump(sorted(noted.ran), stream)
            sys.stdout.flush()
        finally:
            os._exit(code)
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.1)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 124


def _ask_forked(python: str, old: str, new: str, out: str, *_: Any) -> dict[str, Any]:
    """What :func:`tpucompat.commands.verify.exports.ask` does, in a fork too."""
    child = os.fork()
    if not child:
        code = 1
        try:
            code = exports.main([old, new, out])
        finally:
            os._exit(code)
    if os.waitpid(child, 0)[1]:
        return {"problem": "the exported models were not loaded"}
    return exports.read(out)


def _with_tensorflow(names: Iterable[str]) -> None:
    """Loads what every twin loads, in the surroundings of a recorded process; starts no device.

    Which Keras, a twin may decide itself: where one does, each loads its own.
    """
    import tensorflow as tf

    for name in ("data", "distribute", "nn", "random", "saved_model", "train"):
        getattr(tf, name)
    if not any(map(recorded.asks_for_keras_2, map(script_of, names))):
        import keras  # noqa: F401

        _ = tf.keras


def clean_twins() -> list[Mistake]:
    """A row for each pair and number of cores, without a mistake."""
    return [
        Mistake(pair.name, "", "", cores, "", "")
        for pair in pairs.read(EXAMPLES)
        for cores in pair.cores
    ]


def drawn(bench: Bench, clean: Mistake, count: int, seed: int) -> list[Mistake]:
    """``count`` mistakes in what a twin runs, drawn from its syntax.

    Which lines that are is the same on any number of cores.
    """
    text, ran = twin(clean.pair), bench.lines(clean._replace(cores=1))
    return [
        clean._replace(name=f"line {line}: {name}", rung=ANY, before=text, after=source)
        for line, name, source in drawn_mistakes.draw(text, count, seed, ran)
    ]


def rows_of_page() -> dict[tuple[str, str], str]:
    """Pair and mistake -> its row on the page as it is."""
    with open(PAGE, encoding="utf-8") as stream:
        lines = [line.rstrip("\n") for line in stream if line.startswith("| ")]
    found = {tuple(cell.strip() for cell in line.split("|")[1:3]): line for line in lines}
    return {(pair, name): line for (pair, name), line in found.items() if "not tried (" not in line}


def row_of(mistake: Mistake, one: dict[str, Any] | None, before: dict[tuple[str, str], str]) -> str:
    """The row of a mistake: of its outcome, else as it stands on the page."""
    pair, name, named = mistake.pair, mistake.name, mistake.rung
    if one is None:
        row = f"| {pair} | {name} | {mistake.cores} | not tried ({named}) |  |"
        return before.get((pair, name), row)
    rung = named if named in one["shown"] else f"**not on {named}**"
    others = ", ".join(key for key in one["shown"] if key != named)
    if not named:
        rung = f"below the limits: {mistake.below}"
    return f"| {pair} | {name} | {one['cores']} | {rung} | {others} |"


def page(mistakes: list[Mistake], found: list[dict[str, Any]]) -> str:
    """The page of the guide: every mistake of the table, with what became of it.

    Args:
      mistakes: The table.
      found: Outcomes, as data; those of pairs that have changed since count as not tried.
    """
    digests = {pair.name: pair.digest for pair in pairs.read(EXAMPLES)}
    fresh = [one for one in found if one["name"] and one["digest"] == digests[one["pair"]]]
    outcomes = {(one["pair"], one["name"]): one for one in fresh}
    made = provenance.where()
    before = rows_of_page()
    counts = collections.Counter(one["revision"] for one in outcomes.values())
    kept = sum((m.pair, m.name) not in outcomes and (m.pair, m.name) in before for m in mistakes)
    said = [f"{revision} ({count} of them)" for revision, count in counts.items()]
    processors = "; ".join(dict.fromkeys(one["processor"] for one in outcomes.values()))
    told = f"Recorded until {made['date']} at revision {', '.join(said)}, on {processors}"
    told += f"; the other {kept} before, as the history of this page says." if kept else "."
    rows = [row_of(m, outcomes.get((m.pair, m.name)), before) for m in mistakes]
    tried = sum(" | not tried (" not in row for row in rows)
    shown = sum(f" | {m.cores} | {m.rung or 'none'} | " in row for m, row in zip(mistakes, rows))
    with open(HEAD, encoding="utf-8") as stream:
        text = stream.read()
    values = {"count": len(mistakes), "tried": tried, "shown": shown, "made": told}
    for key, value in values.items():
        text = text.replace("{" + key + "}", str(value))
    head = [
        "| twin | mistake | cores | shown by | other rungs that differ |",
        "|---|---|---|---|---|",
    ]
    return text + "\n" + "\n".join([*head, *rows]) + "\n"


def main() -> int:
    """Runs the mistakes that are asked for."""
    global EXAMPLES, MISTAKES
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pair", action="append", help="only this one's; may be repeated")
    parser.add_argument("--mistake", default="", help="only those with these words in their names")
    parser.add_argument(
        "--untried", action="store_true", help="only those that the page has no row for"
    )
    parser.add_argument("--drawn", type=int, metavar="N", help="instead, N of each twin's syntax")
    parser.add_argument("--seed", type=int, default=0, help="of --drawn")
    parser.add_argument(
        "--examples",
        metavar="FILE",
        help="another table of pairs; its mistakes.toml lies beside it",
    )
    parser.add_argument("--part", default="1/1", help="every third from the first on: 1/3")
    parser.add_argument("--cores", type=int, help="instead of those of the table")
    parser.add_argument(
        "--clean", choices=["no", "too", "only"], default="no", help="the twins without mistakes"
    )
    parser.add_argument("--keep", default="", help="folder in which all runs stay, for next time")
    parser.add_argument("--json", help="outcomes as data; those that are there already stay")
    parser.add_argument("--documents", metavar="FILE", help="for tools/record_pairs.py")
    parser.add_argument("--write", metavar="FILE", help="make the page from outcomes as data")
    parser.add_argument(
        "--minutes", type=float, help="begin nothing more after them; --json goes on"
    )
    options = parser.parse_args()
    if options.examples:
        EXAMPLES = os.path.abspath(options.examples)
        MISTAKES = os.path.join(os.path.dirname(EXAMPLES), "mistakes.toml")
    mistakes = read(MISTAKES) if os.path.exists(MISTAKES) else []
    if options.write:
        with open(options.write, encoding="utf-8") as stream:
            found = json.load(stream)
        text = page(mistakes, found)  # which keeps rows of the page as it is
        with open(PAGE, "w", encoding="utf-8") as stream:
            stream.write(text)
        return 0
    if os.environ.get("PYTHONHASHSEED") != "0":
        with tempfile.TemporaryDirectory() as shown:
            environment = runs.environment(shown)
            return subprocess.run([sys.executable, *sys.argv], env=environment).returncode
    if options.drawn:
        mistakes = clean_twins()
    part, _, parts = options.part.partition("/")
    mistakes = mistakes[int(part) - 1 :: int(parts)]
    if options.clean != "no":
        mistakes = [*clean_twins(), *(mistakes if options.clean == "too" else [])]
    mistakes = [m for m in mistakes if not options.pair or m.pair in options.pair]
    mistakes = [m for m in mistakes if options.mistake in m.name]
    if options.untried:
        mistakes = [m for m in mistakes if (m.pair, m.name) not in rows_of_page()]
    if options.cores:
        mistakes = list(dict.fromkeys(m._replace(cores=options.cores) for m in mistakes))
    done = []
    if options.json and os.path.exists(options.json):
        with open(options.json, encoding="utf-8") as stream:
            done = json.load(stream)
    known = {(one["pair"], one["name"], one["cores"]) for one in done}
    made = provenance.where()
    digests = {pair.name: pair.digest for pair in pairs.read(EXAMPLES)}
    exports.ask = _ask_forked
    _with_tensorflow({mistake.pair for mistake in mistakes})
    wrong = tried = 0
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    with tempfile.TemporaryDirectory() as own:
        bench = Bench(options.keep or own)
        if options.drawn:
            clean = list(dict.fromkeys(mistakes))
            mistakes = [
                one for twin_ in clean for one in drawn(bench, twin_, options.drawn, options.seed)
            ]
        mistakes = [m for m in mistakes if (m.pair, m.name, m.cores) not in known]
        for mistake in mistakes:
            if time.monotonic() > end:
                break
            found_one = bench.try_out(mistake)._replace(
                revision=made["revision"],
                digest=digests[mistake.pair],
                processor=made["processor"],
            )
            tried += 1
            wrong += not found_one.right
            mark = "ok   " if found_one.right else "WRONG"
            shown = ", ".join(found_one.shown) or "nothing differs"
            print(
                f"{mark} {found_one.pair}, {found_one.cores}: {found_one.name or 'clean'} "
                f"[{found_one.rung}] {shown} | {found_one.problem or found_one.note}",
                flush=True,
            )
            done.append(found_one._asdict())
            for path, content in ((options.json, done), (options.documents, bench.documents)):
                if path:
                    with open(path, "w", encoding="utf-8") as stream:
                        json.dump(content, stream, indent=1)
    print(f"{tried} of {len(mistakes)} tried, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
