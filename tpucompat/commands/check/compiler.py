"""Tier (b): libtpu in a process of its own, with a limit on time and memory.

A compiler that crashes or takes too long says nothing about the program: the outcome is unknown then.
"""

from __future__ import annotations

import glob
import importlib.util
import json
import os
import platform
import re
import select
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

from tpucompat.base.errors import SetupError
from tpucompat.base.late import late
from tpucompat.base.targets import Target

resource = late("resource")

#: Where libtpu.so is, for who keeps it outside the interpreter's packages.
VARIABLE = "TPUCOMPAT_LIBTPU"

#: What the process runs; it imports the standard library only.
PROCESS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pjrt.py")

LICENCE = (
    "libtpu is a Google product under the Google Cloud Platform terms of service and the "
    "license in its wheel (libtpu/LICENSE); tpucompat neither bundles nor installs it"
)


class Libtpu(NamedTuple):
    """Where the compiler is, and its version; "" where the version is not known."""

    path: str
    version: str


class Outcome(NamedTuple):
    """What the compiler says of one program.

    Attributes:
      verdict: "compiles", "too big", "refused" or "unknown".
      text: Why, where it does not compile.
      memory: Bytes per core: arguments, outputs, temporaries, code ...; empty where unknown.
      flops: Floating-point operations of one core's step; None where unknown.
      seconds: How long it took.
      cpu: How many seconds of the processor.
    """

    verdict: str
    text: str = ""
    memory: dict[str, int] = {}  # noqa: RUF012 - never changed
    flops: float | None = None
    seconds: float = 0.0
    cpu: float = 0.0

    @property
    def total(self) -> int:
        """Bytes that the program needs on a core at once, without what it shares with its inputs."""
        parts = ("arguments", "outputs", "temporaries", "code")
        return sum(self.memory.get(p, 0) for p in parts) - self.memory.get("aliased", 0)


def find() -> Libtpu:
    """The libtpu of this machine.

    Raises:
      SetupError: If there is none, or none can run here (TPU379).
    """
    here = f"{platform.system()} {platform.machine()}"
    if here != "Linux x86_64":
        raise SetupError("TPU379", f"libtpu requires Linux on x86-64; this is {here}.")
    path = os.environ.get(VARIABLE, "")
    if path:
        if not os.path.isfile(path):
            raise SetupError("TPU379", f"{VARIABLE}={path} is not a file.")
        return Libtpu(path, _version(path))
    spec = importlib.util.find_spec("libtpu")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        path = os.path.join(folder, "libtpu.so")
        if os.path.isfile(path):
            return Libtpu(path, _version(path))
    raise SetupError("TPU379", "libtpu, the TPU compiler, is not installed.")


def _version(path: str) -> str:
    """The version by the metadata of the wheel, which lies beside the package."""
    beside = os.path.join(os.path.dirname(os.path.dirname(path)), "libtpu-*.dist-info")
    found = sorted(glob.glob(beside))
    match = re.search(r"libtpu-([^-]+)\.dist-info", found[-1]) if found else None
    return match.group(1) if match else ""


class Compiler:
    """Compiles programs, one after the other, in a process that is restarted when it has ended.

    Args:
      libtpu: The compiler.
      seconds: The time limit of one program.
      memory: The limit on the process's memory, in bytes; 0 for none.
    """

    def __init__(self, libtpu: Libtpu, seconds: float = 120.0, memory: int = 0) -> None:
        self.libtpu = libtpu
        self._seconds = seconds
        self._memory = memory
        self._process: Any = None
        self._errors: Any = None
        self._buffer = b""

    def compile(self, program: str, target: Target, replicas: int, effort: str) -> Outcome:
        """Compiles one program.

        Args:
          program: The file with the serialized ``HloModuleProto``.
          target: The TPU.
          replicas: On how many of its cores the program runs.
          effort: "quick" or "full".
        """
        request = {
            "program": program,
            "topology": target.topology,
            "replicas": replicas,
            "effort": effort,
        }
        try:
            self._start()
            self._process.stdin.write((json.dumps(request) + "\n").encode())
            self._process.stdin.flush()
            answer = self._answer()
        except (OSError, _NoAnswer) as error:
            reason = str(error) or type(error).__name__
            tail = self._tail()
            self.close()
            return Outcome("unknown", f"the compiler did not respond: {reason}{tail}")
        return _outcome(answer, target)

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout, self._errors):
                stream.close()
        self._process, self._buffer = None, b""

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            [sys.executable, "-I", PROCESS, self.libtpu.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        if self._memory:
            limit = (self._memory, self._memory)
            resource.prlimit(self._process.pid, resource.RLIMIT_DATA, limit)
        fault = self._answer().get("fault")  # else the version of its interface
        if fault:
            raise _NoAnswer(fault)

    def _answer(self) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            stream = self._process.stdout.fileno()
            if not select.select([stream], [], [], self._seconds)[0]:
                raise _NoAnswer(f"none within {self._seconds:.0f} s")
            read = os.read(stream, 65536)
            if not read:
                raise _NoAnswer(f"it ended with exit code {self._process.wait()}")
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\n")
        return dict(json.loads(line))

    def _tail(self) -> str:
        self._errors.seek(0)
        text = self._errors.read().decode("utf-8", "replace")
        told = [line for line in text.splitlines() if re.search(r"Check failed|F\d{4} ", line)]
        return f" ({told[0][:200]})" if told else ""


class _NoAnswer(Exception):
    """The process ended, or did not answer in time."""


_OUT_OF_MEMORY = re.compile(r"RESOURCE_EXHAUSTED|Ran out of memory|CompileTime\w*Oom")
# What the compiler says of itself, and not of the program.
_FAULTS = re.compile(
    r"INTERNAL|Internal|UNAVAILABLE|ABORTED|topology|Topology|does not exist|too old"
)


def _outcome(answer: dict[str, Any], target: Target) -> Outcome:
    times: dict[str, Any] = {name: float(answer.get(name, 0.0)) for name in ("seconds", "cpu")}
    error = answer.get("error", "")
    if error:
        text = error.split("\n")[0][:300]
        if _OUT_OF_MEMORY.search(error):
            return Outcome("too big", text, **times)
        return Outcome("unknown" if _FAULTS.search(error) else "refused", text, **times)
    made = Outcome("compiles", "", answer["memory"], answer["flops"], **times)
    if made.total > target.memory:
        return made._replace(verdict="too big", text="the total exceeds the available memory")
    return made
