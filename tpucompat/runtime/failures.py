"""How an error that ends a script is shown: its words, the script's own lines, what to do next.

TensorFlow's errors come with hundreds of lines: the frames of its loops, those that made an operation, and
those again in the error's text. A long one is shown in at most :data:`LINES` lines, the next step last; the
rest goes to a file. What is short is shown as plain ``python`` shows it.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
import traceback
from typing import Any, Callable, Sequence

from tpucompat.base.errors import StoppedTraining, TPUCompatError
from tpucompat.engines import script_lines
from tpucompat.names import python_2
from tpucompat.names import scope as scopes
from tpucompat.runtime import advice, tracebacks

#: The most lines that an error is shown in.
LINES = 25
_ADVICE = 3  # of them: where the whole is, the script's line, the next step
_FRAMES = 4  # of the script's own, two lines each
_WORDS = 10  # lines of the error's own text
_WIDTH = 400  # characters of each

# What TensorFlow writes into the text of an error beside its words: the frames of an operation and of Python
# that it called (`ops.py` and `errors_impl.py` of 1.13 to 2.21), and AutoGraph's frames.
_FRAME = re.compile(r'(\s*)File "([^"]*)", line (\d+)(?:, in (\S+))?')
_HEADING = re.compile(
    r"\s*(?:[~^]+\s*$|Traceback \(most recent call|Original stack trace for|Stack trace for op"
    r"|Detected at node|Graph execution error:|\w+: in user code:|in user code:|Node: '|During handling of"
    r"|<stack traces unavailable>|\d+ root error|\d+ successful operations|\d+ derived errors|Errors may have)"
)
# `raise` and `raise error` pass on what was caught.
_RAISES = re.compile(r"raise\s+(?!\w+\s*(from\b.*)?$)")
# The same error of several replicas (`status.cc` of 2.x), and the nodes on the way to it.
_NUMBERED = re.compile(r"\(\d+\) ([A-Z_]+|[A-Z][a-z ]+): +")
_NODES = re.compile(r"\[\[.*\]\]")


def excepthook(before: Callable[..., None], advise: bool, whole: bool) -> Callable[..., None]:
    """An excepthook that shows errors in a few lines, and says what to do where that is known.

    Args:
      before: Shows an error with its whole traceback.
      advise: Whether the next step is said.
      whole: Whether the whole traceback is shown, however long it is.
    """

    if not whole:
        logging.getLogger("tensorflow").addFilter(Terse())

    def show(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if isinstance(error, StoppedTraining) and not whole:
            sys.stderr.write(f"tpucompat: {error} [TPU483]\n")
            return
        tracebacks.strip_error(error, between=not whole)
        trace = tracebacks.strip(trace, between=not whole)
        lines = text_of(kind, error, trace).splitlines(True)
        long = len(lines) > LINES - _ADVICE and not whole
        place = place_of(error) if long else ""
        found = None
        inner = traceback.extract_tb(trace)[-1:]
        line = inner[0].line or "" if inner else ""
        if advise and not isinstance(error, TPUCompatError) and not _says_itself(trace, line):
            files = tracebacks.files(trace)
            found = advice.for_error(kind.__name__, str(error), files, line)
            if isinstance(error, SyntaxError) and python_2.is_python_2(error):
                found = advice.for_code("TPU421")._replace(
                    cause=f"{error.filename} is written for Python 2."
                )
        if long:
            sys.stderr.write(shortened(error, trace, _file_of(lines), place))
        else:
            before(kind, error, trace)
        if found is not None:
            sys.stderr.write(f"{found}\n")

    return show


def _says_itself(trace: Any, line: str) -> bool:
    """Whether the script raises the error, whose words are then its own; it may pass on one that it caught."""
    if trace is None or not _RAISES.match(line):
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return scopes.current().owns(trace.tb_frame.f_globals)


class Terse(logging.Filter):
    """Leaves the stack traces out of what TensorFlow logs of an error, which it then raises."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Shortens a record's text; lets every record through."""
        text = record.getMessage()
        if text.count('\n  File "') + text.count('\n    File "') > 1:
            record.msg, record.args = "\n".join(words(text)), ()
        return True


def text_of(kind: type[BaseException], error: BaseException, trace: Any) -> str:
    """A traceback as ``python`` writes it."""
    return "".join(traceback.format_exception(kind, error, trace))


def shortened(error: BaseException, trace: Any, file: str, place: str) -> str:
    """An error in a few lines.

    Args:
      error: The error.
      trace: Its traceback.
      file: Where the whole of it is; "" if it could not be written.
      place: The script's line that it is about; "" if that is not known.
    """
    own = [each for each in traceback.extract_tb(trace) if _sources().is_own(each.filename)]
    more = len(own) - _FRAMES
    left_out = f", {more} caller{'s' if more > 1 else ''} omitted" if more > 0 else ""
    lines = [f"Traceback, lines of the script only{left_out}:"] if own else []
    for frame in own[-_FRAMES:]:
        lines.append(f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}')
        lines.append(f"    {frame.line}"[:_WIDTH])
    where = [f"tpucompat: at {place}"[:_WIDTH]] if place else []
    if file:
        where.append(f"tpucompat: the full traceback is in {file}; --traceback shows it")
    said = [line[:_WIDTH] for line in _named(error)]
    if "\n  Next: " in str(error):  # it has a code, and ends with the next step
        lines += where + said
    else:
        lines += said + where
    return "\n".join(lines) + "\n"


def of_cells(texts: Sequence[str]) -> str:
    """A notebook's error in a few lines: those of its cells and modules, and the error's words.

    Args:
      texts: The traceback as IPython writes it: a heading, a text for each frame, the error.
    """
    lines = "\n".join(texts).splitlines(True)
    if len(lines) <= LINES - _ADVICE:
        return "".join(lines).rstrip("\n") + "\n"
    own: list[str] = []
    for text in texts[:-1]:
        file = tracebacks.files_of_lines([text])[:1]
        if file == [""] or (file and _sources().is_own(os.path.expanduser(file[0]))):
            heading, *code = text.strip("\n").splitlines()
            own.append(f"  {heading}")
            own += [f"    {line[:_WIDTH]}" for line in code if line.startswith("--")][:1]
    shown = ["Traceback, lines of the notebook only:", *own[-2 * _FRAMES :]] if own else []
    kept = _file_of(lines)
    where = f"tpucompat: the full traceback is in {kept}; --traceback shows it"
    said = [line[:_WIDTH] for line in words(texts[-1])]
    return "\n".join([*shown, *said, *([where] if kept else [])]) + "\n"


def words(text: str) -> list[str]:
    """The lines of an error's text that say something: no stack traces, nothing twice."""
    kept: list[str] = []
    frame = -1  # the indentation of the frame before, whose line of code comes next
    for line in text.splitlines():
        found = _FRAME.match(line)
        indented = len(line) - len(line.lstrip())
        if found:
            frame = len(found.group(1))
            continue
        said = _NUMBERED.sub("", line.strip())
        is_code = frame >= 0 and indented > frame
        frame = -1
        if is_code or not said or said in kept or _HEADING.match(line):
            continue
        if not (_NODES.match(said) and any(map(_NODES.match, kept))):
            kept.append(said)
    if len(kept) > _WORDS:
        half = _WORDS // 2
        kept = [*kept[: half - 1], "…", *kept[-half:]]
    return kept or text.strip().splitlines()[:1]


def _named(error: BaseException) -> list[str]:
    """An error's type and words, as ``python`` begins the line."""
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    said = words(str(error))
    # AutoGraph's own text begins with the type too.
    first = [re.sub(rf"^{kind.__qualname__}: ", "", line) for line in said[:1]]
    return [": ".join([name, *first]), *said[1:]]


def place_of(error: BaseException) -> str:
    """The newest line of the script that an error is about, with its text; "" where none is known.

    That is where the operation was made that failed, if one did, not where it was run.
    """
    causes: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in causes:
        causes.append(each)
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
    sources = _sources()
    # An error that a library raised instead of an operation's is about what the library was called for.
    if not hasattr(error, "op") and not isinstance(error, TPUCompatError):
        causes = [each for each in causes if not hasattr(each, "op")]
    found = [sources.of_element(each) for each in causes]
    found += [sources.of_nodes(str(each)) for each in causes]
    found += [sources.of_error(each) for each in reversed(causes)]
    return next((f"{line.place}: {line.text}" for line in found if line.place), "")


def _sources() -> Any:
    return script_lines.Sources(scopes.current().packages)


def _file_of(lines: list[str]) -> str:
    """Writes a whole traceback to a file of its own, which stays; its name, or "" where none can be written."""
    try:
        number, name = tempfile.mkstemp(prefix="tpucompat-traceback-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8", errors="replace") as file:
            file.writelines(lines)
    except OSError:
        return ""
    return name
