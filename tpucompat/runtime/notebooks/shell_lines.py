"""What a shell line of a notebook does: installs TensorFlow, fetches something, or neither.

Lines are read, never run, here. What is left of a line is the author's own text, so that quotes and the
``{names}`` and ``$names`` that IPython fills in are unchanged.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

#: Distributions that would replace the TensorFlow that tpucompat works on, or are made for another one.
REPLACING = frozenset(
    (
        "keras",
        "keras-nightly",
        "tensorflow",
        "tensorflow-cpu",
        "tensorflow-estimator",
        "tensorflow-gpu",
        "tensorflow-tpu",
        "tf-estimator-nightly",
        "tf-nightly",
        "tf-nightly-2-0-preview",
        "tf-nightly-cpu",
        "tf-nightly-gpu",
        "tf-nightly-gpu-2-0-preview",
    )
)

#: Programs that fetch something from elsewhere, or change the machine.
FETCHING = frozenset(
    ("apt", "apt-get", "aria2c", "curl", "gcloud", "gdown", "gsutil", "kaggle", "wget")
)

NOTHING = ":"  # the shell's own command that does nothing

_WORD = (
    r"""(?:\{[^{}\n]*\}|\$\([^()\n]*\)|`[^`\n]*`|"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\;&|()`])+"""
)
_TOKEN = re.compile(rf"(?P<comment>(?<!\S)\#.*)|(?P<word>{_WORD})|(?P<end>&&|\|\||[;&|()\n])")
_BEFORE = re.compile(r"sudo$|env$|time$|nohup$|then$|else$|do$|if$|!$|-[A-Z]$|[A-Za-z_]\w*=")
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*?)\s*(?:\[[^\]]*\])?\s*(?:[=<>!~].*)?$")
_WITH_VALUE = re.compile(
    r"-[rcfiteb]$|--(requirement|constraint|find-links|index-url|extra-index-url|target|editable|prefix|root"
    r"|src|proxy|timeout|log|cache-dir|progress-bar|platform|name|channel|file)$|-[np]$"
)
_BRINGS = re.compile(r"-[re]$|--(requirement|editable|file)$")


class Line(NamedTuple):
    """What was read out of a shell line.

    Attributes:
      text: The line without installations of TensorFlow and Keras; None if nothing is left.
      left_out: The requirements that were taken out.
      fetches: The programs that reach outside, by name: ``wget``, ``git clone``, ``pip install``.
    """

    text: str | None
    left_out: tuple[str, ...]
    fetches: tuple[str, ...]


class _Word(NamedTuple):
    text: str
    start: int
    end: int


def read(line: str, command: str = "") -> Line:
    """Reads a shell line.

    Args:
      line: What follows the exclamation mark.
      command: What stands before it where a magic does: ``pip`` for ``%pip install …``.
    """
    cuts: list[tuple[int, int, str]] = []
    left_out: list[str] = []
    fetches: list[str] = []
    commands, kept = _commands(line), 0
    for words in commands:
        removed, program, empty = _read_command(words, command)
        left_out += [word.text.strip("\"'") for word in removed]
        if empty:
            cuts.append((words[0].start, words[-1].end, NOTHING))
            continue
        kept += 1
        cuts += [(word.start, word.end, "") for word in removed]
        if program:
            fetches.append(program)
    text = line
    for start, end, instead in sorted(cuts, reverse=True):
        before = text[:start] if instead else text[:start].rstrip(" ")
        text = before + instead + text[end:]
    return Line(text if kept or not commands else None, tuple(left_out), tuple(fetches))


def _commands(line: str) -> list[list[_Word]]:
    """The words of each command of a line: what stands between ``&&``, ``|``, ``;`` and the like."""
    found: list[list[_Word]] = [[]]
    for token in _TOKEN.finditer(line):
        if token.lastgroup == "word":
            found[-1].append(_Word(token.group(), token.start(), token.end()))
        elif token.lastgroup == "comment":
            break
        else:
            found.append([])
    return [words for words in found if words]


def _read_command(words: list[_Word], command: str) -> tuple[list[_Word], str, bool]:
    """(requirements to take out, program that reaches outside or "", whether nothing is left)."""
    at = 0
    while at < len(words) - 1 and _BEFORE.match(words[at].text):
        at += 1
    name = command or os.path.basename(words[at].text.strip("\"'"))
    arguments = words[at if command else at + 1 :]
    is_python = re.match(r"python[\d.]*$|.*\bexecutable\}?$", name)
    if is_python and [word.text for word in arguments[:2]] == ["-m", "pip"]:
        name, arguments = "pip", arguments[2:]
    if re.match(r"pip[\d.]*$|conda$|mamba$|uv$", name):
        return _read_installation(name, arguments)
    verbs = [word.text for word in arguments if not word.text.startswith("-")]
    if name == "git" and verbs[:1] and verbs[0] in ("clone", "pull", "fetch", "submodule", "lfs"):
        return [], "git " + verbs[0], False
    return [], name if name in FETCHING else "", False


def _read_installation(name: str, arguments: list[_Word]) -> tuple[list[_Word], str, bool]:
    verbs = [word for word in arguments if not word.text.startswith("-")]
    if name == "uv" and verbs[:1] and verbs[0].text == "pip":
        verbs = verbs[1:]
    if not verbs or verbs[0].text not in ("install", "uninstall", "remove"):
        return [], "", False
    removed: list[_Word] = []
    left = 0
    previous = ""
    for word in arguments[arguments.index(verbs[0]) + 1 :]:
        if _WITH_VALUE.match(previous):
            left += bool(_BRINGS.match(previous))
            previous = ""
            continue
        previous = word.text
        if word.text.startswith(("-", ">", "<", "2>")):
            continue
        if _replaces(word.text.strip("\"'")):
            removed.append(word)
        else:
            left += 1
    if removed and not left:
        return removed, "", True
    return removed, f"{name} {verbs[0].text}", False


def _replaces(requirement: str) -> bool:
    """Whether a requirement, or the address of a wheel or repository, is TensorFlow or Keras."""
    if "://" in requirement or requirement.endswith((".whl", ".tar.gz")):
        last = re.split(r"[@#?]", requirement.rstrip("/"))[0].rpartition("/")[2]
        stem = re.sub(r"\.git$", "", last)
        name = re.split(r"-\d", stem)[0] if stem == last else stem
    else:
        found = _REQUIREMENT.match(requirement)
        name = found.group(1) if found else ""
    return re.sub(r"[-_.]+", "-", name).lower() in REPLACING
