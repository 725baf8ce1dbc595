"""What an error of a script's own means, where one can tell: a code, a cause and a next step.

The error is always shown first, as it is; this is the one line after it.
"""

from __future__ import annotations

import re
from typing import Iterable, NamedTuple

from tpucompat.codes import CODES


class Advice(NamedTuple):
    """The line after an error."""

    code: str
    cause: str
    next_step: str

    def __str__(self) -> str:
        return f"tpucompat: {self.cause} Next: {self.next_step} [{self.code}]"


#: (code, the error's type, its text): the first row that fits both.
ROWS: tuple[tuple[str, str, str], ...] = (
    # tensorflow/core/platform/cloud: what the file system for gs:// raises.
    ("TPU442", r".*", r"gs://.*(HTTP|retry attempts|libcurl|credentials|permission|403|401)"),
    ("TPU442", r".*", r"(HTTP request|retry attempts|libcurl|credentials)(.|\n)*gs://"),
    (
        "TPU443",
        r"URLError|HTTPError|gaierror|ConnectionError|ProxyError|SSLError|RemoteDisconnected",
        r"",
    ),
    (
        "TPU443",
        r".*",
        r"URL fetch failure|urlopen error|Max retries exceeded|Name or service not known",
    ),
    ("TPU447", r"ModuleNotFoundError", r"No module named '(?!tensorflow['.])"),
    ("TPU446", r".*", r"\.so\b.*(undefined symbol|cannot open shared object)"),
    ("TPU444", r"FileNotFoundError|NotFoundError|OSError|IOError", r"[Nn]o such file or directory"),
    # The kernels of a CPU (tensorflow/core/kernels), where oneDNN does not take their place.
    ("TPU474", r".*", r"(?i)only support(s|ed)\b[^\n]*\bND?HWC\b"),
    ("TPU444", r"NotFoundError|ValueError", r"[Uu]nsuccessful TensorSliceReader|matching files"),
)

# What a package for TensorFlow 1 runs into where it is shown the one of today, and the file that tells
# which package it was.
_OUT_OF_DATE = (
    ("AttributeError", r"^module '[\w.]+' has no attribute"),
    ("ImportError", r"^cannot import name .* from '(tensorflow|keras|tf_keras|numpy)\b"),
    ("ModuleNotFoundError", r"No module named '(tensorflow|keras)\."),
    ("TypeError", r"^Descriptors cannot be created directly"),
)
_BUCKET = re.compile(r"gs://[\w.-]+")
_INSTALLED = re.compile(r"[\\/](?:site|dist)-packages[\\/](\w+)")
_RUNTIME = frozenset(["tensorflow", "keras", "tf_keras", "numpy", "google", "absl", "six"])


def for_code(code: str) -> Advice:
    """What a code says in general."""
    return Advice(code, CODES[code].title + ".", CODES[code].what_to_do)


def for_error(kind: str, text: str, files: Iterable[str] = ()) -> Advice | None:
    """What is known about an error.

    Args:
      kind: The name of the error's type.
      text: Its message.
      files: The files of the lines that led to it, the innermost last.

    Returns:
      None where its own words are all there is to say.
    """
    for code, kinds, pattern in ROWS:
        if re.fullmatch(kinds, kind) and re.search(pattern, text):
            general = for_code(code)
            bucket = _BUCKET.search(text)
            own = bucket.group() if bucket else "gs://bucket"
            return general._replace(next_step=general.next_step.replace("gs://bucket", own))
    if any(kind == each and re.search(pattern, text) for each, pattern in _OUT_OF_DATE):
        package = _innermost_package(files)
        if package:
            general = for_code("TPU428")
            return general._replace(next_step=general.next_step.replace("NAME", package))
    return None


def _innermost_package(files: Iterable[str]) -> str:
    """The installed package that asked TensorFlow, or what lies below it, for the last thing; or ""."""
    package = ""
    for file in files:
        found = _INSTALLED.search(file)
        if not found:
            package = ""
        elif found.group(1) not in _RUNTIME:
            package = found.group(1)
    return package
