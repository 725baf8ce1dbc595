"""Sees the script's TPU computations, lowers each of them, and writes down what became of it.

It works in the process that runs the script (:mod:`tpucompat.commands.check.child`), and leaves its records in
a folder: one line of JSON for each computation, and a file with its lowered form.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import Any, Iterator

from tpucompat.base.errors import SetupError, TPUCompatError
from tpucompat.engines import lowering, observer
from tpucompat.engines.script_lines import Sources
from tpucompat.engines.xla_operations import Finding
from tpucompat.tf import private

RECORDS = "computations.jsonl"


class Clock:
    """Seconds since it was made: by the clock, and of the processor, which other programs leave alone."""

    def __init__(self) -> None:
        self._start = time.time(), time.process_time()

    def read(self) -> dict[str, float]:
        """Both, for a record."""
        now = time.time(), time.process_time()
        seconds, cpu = (round(end - start, 3) for start, end in zip(self._start, now))
        return {"seconds": seconds, "cpu": cpu}


class Watcher(observer.Observer):
    """Writes down the computations of one run of the script.

    Args:
      folder: Where to.
      sources: Finds the script's lines.
      replicas: For how many cores the script is run.

    Attributes:
      sources: As given.
    """

    def __init__(self, folder: str, sources: Sources, replicas: int) -> None:
        self._folder = folder
        self.sources = sources
        self._replicas = replicas
        self._seen: set[Any] = set()
        self._open: dict[Any, tuple[observer.Computation, str]] = {}
        self._graphs: list[Any] = []  # kept, so that no other graph gets the identity of one
        self._numbers: dict[str, int] = {}
        self._count = 0
        self._notes: set[str] = set()

    def told(self, computation: observer.Computation) -> bool:
        """Lowers a computation that it has not seen; none is run."""
        shapes = computation.shapes or [tensor.shape for tensor in computation.inputs]
        graph = getattr(computation.graph, "_graph", computation.graph)
        key = (id(graph), *(tensor.name for tensor in computation.outputs))
        key += tuple(str(getattr(update, "name", update)) for update in computation.updates)
        key += tuple((tensor.name, str(value)) for tensor, value in computation.constants.items())
        line = self.sources.here().place
        if any(None in _sizes(shape) for shape in shapes):
            self._open.setdefault(key, (computation, line))
            return True
        _, line = self._open.pop(key, (None, line))
        sized = (*key, *(tuple(_sizes(shape)) for shape in shapes))
        if sized not in self._seen:
            self._seen.add(sized)
            self._graphs.append(graph)
            self._lower(computation, line)
        return True

    @contextlib.contextmanager
    def tracing(self, kind: str) -> Iterator[None]:
        """Lets what is traced know that it is meant for XLA; writes down why it cannot be traced."""
        try:
            with private.XlaContext():
                yield
        except Exception as error:
            if not getattr(error, "_tpucompat_written", False):
                self.failed(kind, error)
            raise

    def failed(self, kind: str, error: BaseException) -> None:
        """Writes down a computation that could not be built."""
        with contextlib.suppress(AttributeError):  # an error of a class without attributes
            error._tpucompat_written = True  # type: ignore[attr-defined]
        line = self.sources.of_error(error)
        self._write(kind, self.sources.here().place, [_for_error(error, line)], Clock())

    def end(self, error: BaseException | None) -> None:
        """Lowers what was never run, and writes down how the script ended."""
        for computation, line in list(self._open.values()):
            self._lower(computation, line)
        self._open.clear()
        told: dict[str, Any] = {"end": True, "cpu": round(time.process_time(), 3)}
        written = getattr(error, "_tpucompat_written", False)
        refused = isinstance(error, TPUCompatError) and not isinstance(error, SetupError)
        if error is not None and refused and not written and str(error).startswith("TPU3"):
            self.failed("computation", error)  # refused before it was traced
        if error is not None:
            where = self.sources.of_error(error).place
            told.update(error=f"{type(error).__name__}: {error}", line=where)
            told["missing_file"] = isinstance(error, FileNotFoundError) or (
                type(error).__name__ == "NotFoundError"
            )
        self._append(told)

    def note(self, text: str) -> None:
        """Writes down something about the script, once."""
        if text not in self._notes:
            self._notes.add(text)
            self._append({"note": text})

    def _lower(self, computation: observer.Computation, line: str) -> None:
        clock = Clock()
        try:
            lowered = lowering.lower(computation, self.sources)
        except Exception as error:  # a fault of ours must not look like one of the script's
            self._write(
                computation.kind,
                line,
                [],
                clock,
                unsure=f"{type(error).__name__}: {error}",
                replicas=computation.replicas,
            )
            return
        self.lowered(computation.kind, line, clock, lowered, computation.replicas)

    def lowered(
        self, kind: str, line: str, clock: Clock, lowered: lowering.Lowered, replicas: int = 0
    ) -> None:
        """Writes down a computation that was lowered, and the time since the clock was started.

        Args:
          kind: What it is, for people.
          line: Where the script asks for it.
          clock: Was made before the work began.
          lowered: What became of it.
          replicas: On how many cores it runs; 0 for all that the script is run for.
        """
        facts = lowered._asdict()
        self._write(kind, line, facts.pop("findings"), clock, replicas=replicas, **facts)

    def here(self) -> str:
        """The line of the script that is being executed."""
        return self.sources.here().place

    def _write(
        self,
        kind: str,
        line: str,
        findings: list[Finding],
        clock: Clock,
        hlo: bytes = b"",
        replicas: int = 0,
        **facts: Any,
    ) -> None:
        self._count += 1
        number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
        record = {
            "name": kind if number == 1 else f"{kind} ({number})",
            "line": line,
            "replicas": replicas or self._replicas,
            "findings": [finding._asdict() for finding in findings],
            **clock.read(),
            **facts,
        }
        if hlo:
            file = os.path.join(self._folder, f"{self._replicas}-{self._count}.hlo")
            with open(file, "wb") as stream:
                stream.write(hlo)
            record["program"] = file
        self._append(record)

    def _append(self, record: dict[str, Any]) -> None:
        with open(os.path.join(self._folder, RECORDS), "a", encoding="utf-8") as stream:
            stream.write(json.dumps(record) + "\n")


def _sizes(shape: Any) -> list[int | None]:
    if hasattr(shape, "rank"):
        return [None] if shape.rank is None else list(shape.as_list())
    return list(shape)


def _for_error(error: BaseException, line: Any) -> Finding:
    """What an error says that comes out of the script's function while it is traced."""
    told = [line.strip() for line in str(error).strip().split("\n") if line.strip()] or [""]
    first = told[-1] if told[0].startswith("in user code") else told[0]
    text = f"the computation cannot be traced: {type(error).__name__}: {first}"
    code, instead = (
        "TPU397",
        "fix the line; the traceback is in the output of the script (--verbose)",
    )
    name = getattr(error, "code", "")
    if isinstance(name, str) and name.startswith("TPU"):
        first = getattr(error, "cause", first)
        text, instead = (
            f"the computation is rejected: {first} [{name}]",
            getattr(error, "next_step", ""),
        )
    words = first.lower()
    if "none" in words and any(
        w in words for w in ("shape", "dimension", "nonetype", "unsupported")
    ):
        code = "TPU391"
        instead = (
            "batch with drop_remainder=True and give placeholders a static shape; in "
            "tf.reshape, use -1 for the unknown dimension only"
        )
    return Finding(code, text, line=line.place, source=line.text, instead=instead)
