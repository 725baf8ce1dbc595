"""The code blocks of the guide: finds them, and runs those of some pages in this process.

Fenced blocks are told by their language. ``python`` is TensorFlow 2 code, on eight emulated devices;
``shell`` is run by bash in a folder that has the examples; other languages are for reading. The blocks of a
page are run in their order and share their names. A comment on the line above a block says more:

    <!-- run: tf1 -->            the old world: behind `tpucompat.install()`, on eight emulated cores
    <!-- run: exit 1 -->         the command ends with this code
    <!-- run: prints -->         the `text` block that follows holds what is printed; … is any text in it,
                                 numbers may differ by 1e-3, and errors such as 1.2e-07 by a power of ten
    <!-- run: not, REASON -->    needs a TPU: it has to compile, and its names have to be known

    python tools/guide_blocks.py tf2 docs/topics/batch_size.md …      # JSON lines: page, line, problem
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import json
import os
import re
import sys
import traceback
from typing import Any, Iterator, NamedTuple

_FENCE = re.compile(r"^(?P<indent> *)(?P<marks>```+|~~~+)(?P<language>[^`]*?)\s*$")
_MARK = re.compile(r"^ *<!-- run: (?P<words>.+?) -->\s*$")
CORES = 8


class Block(NamedTuple):
    """A fenced block.

    Attributes:
      page: Its file.
      line: Of its first line of code, from 1.
      language: As the fence names it.
      code: The text.
      marks: What the comment above it says: "tf1", "exit 1", "prints"; "not" and the reason.
      printed: The text block behind it, with "prints".
    """

    page: str
    line: int
    language: str
    code: str
    marks: tuple[str, ...]
    printed: str = ""

    @property
    def world(self) -> str:
        """Where it runs: tf1, tf2, shell, "" for nowhere, or "not" where only a TPU could."""
        if self.marks and self.marks[0] == "not":
            return "not"
        if self.language == "python":
            return "tf1" if "tf1" in self.marks else "tf2"
        return "shell" if self.language == "shell" else ""

    @property
    def exit_code(self) -> int:
        """With which a shell block ends."""
        return next((int(mark[5:]) for mark in self.marks if mark.startswith("exit ")), 0)


def blocks(page: str) -> list[Block]:
    """All fenced blocks of a page, those in directives too."""
    with open(page, encoding="utf-8") as stream:
        found = list(_raw(page, stream.read().splitlines()))
    result = []
    for index, block in enumerate(found):
        if "prints" in block.marks:
            printed = found[index + 1]
            if printed.language != "text":
                raise ValueError(f"{page}:{block.line}: no text block follows")
            block = block._replace(printed=printed.code)
        result.append(block)
    return result


def _raw(page: str, lines: list[str]) -> Iterator[Block]:
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        at += 1
        if not fence:
            continue
        mark = _MARK.match(lines[at - 2]) if at > 1 else None
        words = mark.group("words") if mark else ""
        # A reason may have commas.
        reason = words.startswith("not,")
        marks = ["not", words[4:].strip()] if reason else [w.strip() for w in words.split(",") if w]
        start, indent = at, len(fence.group("indent"))
        while lines[at].strip() != fence.group("marks"):
            at += 1
        code = "\n".join(line[indent:] for line in lines[start:at]) + "\n"
        at += 1
        if not fence.group("language").startswith("{"):  # a directive is for Sphinx
            yield Block(page, start + 1, fence.group("language"), code, tuple(marks))


def unknown_names(code: str) -> list[str]:
    """The names that a piece of code reads, and that it, Python or the guide's examples do not define."""
    tree = ast.parse(code)
    known = set(dir(builtins)) | {"tf", "np", "os"}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            known.add(node.name)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            known.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            known.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    used = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return sorted({name for name in used if name not in known})


_SMALL = re.compile(r"\d\.\d+e-\d\d")


def _pattern(expected: str) -> tuple[re.Pattern[str], list[str]]:
    """What has to be printed: a pattern with a group for each number, and the numbers."""
    numbers: list[str] = []
    words = []
    for word in re.findall(r"…|[-+]?\d+\.\d+(?:e[-+]?\d+)?|[^\s…\d]+|\d+|\s+", expected):
        if word == "…":
            words.append(r"[\s\S]*?")
        elif re.fullmatch(r"[-+]?\d+\.\d+(?:e[-+]?\d+)?", word):
            numbers.append(word)
            words.append(r"([-+]?\d+\.\d+(?:e[-+]?\d+)?)")
        else:
            words.append(r"\s+" if word.isspace() else re.escape(word))
    return re.compile(r"\s*" + "".join(words) + r"\s*"), numbers


def _close(found: str, expected: str) -> bool:
    if _SMALL.fullmatch(found) and _SMALL.fullmatch(expected):
        return float(found) <= 10 * float(expected)
    return abs(float(found) - float(expected)) <= 1e-3 * abs(float(expected))


def difference(printed: str, expected: str) -> str:
    """What is wrong with what was printed; "" if nothing is."""
    pattern, numbers = _pattern(expected.strip())
    found = pattern.fullmatch(printed)
    if found and all(map(_close, found.groups(), numbers)):
        return ""
    return f"it prints\n{printed}\nand the page says\n{expected}"


def _run(block: Block, names: dict[str, Any]) -> str:
    """Runs one block; returns what is wrong."""
    out = io.StringIO()
    place = f"{block.page}, line {block.line}"
    try:
        # Tracebacks, inspect and AutoGraph want to find the lines of what they are shown.
        import linecache

        linecache.cache[place] = (len(block.code), None, block.code.splitlines(True), place)
        with contextlib.redirect_stdout(out):
            exec(compile(block.code, place, "exec"), names)
    except BaseException:
        return traceback.format_exc(limit=-3)
    return difference(out.getvalue(), block.printed) if "prints" in block.marks else ""


def _enter(world: str) -> None:
    if world == "tf1":
        os.environ["TPUCOMPAT_CORES"] = str(CORES)
        import tpucompat

        tpucompat.install(era="tf1")
        return
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration()] * CORES
    )


def main(world: str, *pages: str) -> int:
    """Runs the blocks of some pages that belong to one world; prints a line of JSON for each."""
    results = sys.stdout
    sys.path.insert(0, os.getcwd())
    _enter(world)
    for page in pages:
        names: dict[str, Any] = {"__name__": "__main__"}
        for block in blocks(page):
            if block.world != world:
                continue
            if world == "tf1" and len(names) == 1:
                exec("import tensorflow as tf\ntf.reset_default_graph()", {"__name__": "__main__"})
            problem = _run(block, names)
            json.dump({"page": page, "line": block.line, "problem": problem}, results)
            results.write("\n")
            results.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
