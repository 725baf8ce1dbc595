"""Where recorded numbers come from: what the recorders write into their files beside the numbers."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: The widest first.
_VECTORS = ("avx512f", "avx2", "sse4_1")
_RELEASES = (
    "import json, numpy, tensorflow; print(json.dumps([tensorflow.__version__, numpy.__version__]))"
)


def made(python=sys.executable):
    """When, where, by which releases and from which revision something was recorded.

    Args:
      python: The interpreter that computed it.

    Returns:
      Key -> text. A revision with "+" is one whose files were changed since.
    """
    import json

    told = _said([python, "-c", _RELEASES]).splitlines()
    tensorflow, numpy = json.loads(told[-1]) if told else ("unknown", "unknown")
    return {**where(), "tensorflow": tensorflow, "numpy": numpy}


def where():
    """The part of :func:`made` that no TensorFlow is needed for."""
    command = ["git", "-C", ROOT, "describe", "--always", "--dirty=+", "--abbrev=10"]
    today = datetime.datetime.now(datetime.timezone.utc)
    return {
        "revision": _said(command) or "unknown",
        "date": today.strftime("%Y-%m-%d"),
        "processor": processor(),
    }


def processor():
    """What the processor calls itself, and the widest vectors that it knows."""
    name, flags = platform.processor() or "unknown", ""
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            for line in stream:
                key, _, value = line.partition(":")
                if key.strip() == "model name":
                    name = value.strip()
                elif key.strip() == "flags":
                    flags = value
    known = flags.split()
    widest = next((word for word in _VECTORS if word in known), "")
    return ", ".join(filter(None, [name, widest]))


def _said(command):
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=300
    )
    return done.stdout.decode("utf-8", "replace").strip()
