"""``%load_ext tpucompat``: the old namespace, and what notebooks of Colab expect of their shell."""

from __future__ import annotations

import ast
import atexit
import json
import os
import sys
from typing import Any, Callable, NamedTuple

from tpucompat.base import journal, native_log
from tpucompat.runtime import installation, script_code, smoke, tracebacks
from tpucompat.runtime.notebooks import cells, shell_lines

#: The JSON file by which ``tpucompat run`` hands its options to the kernel.
OPTIONS = "TPUCOMPAT_NOTEBOOK"

#: What is done with shell lines that reach outside: "run" (and a failure is named), "name" (and run), "skip".
SHELL = "TPUCOMPAT_SHELL"

_CELL_SHELLS = ("bash", "sh", "shell", "script", "system", "sx", "!")


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext tpucompat``: ``install()`` for a notebook's cells, and Colab's habits for its shell.

    Args:
      shell: IPython's InteractiveShell.
    """
    options = _options()
    journal.quiet = options.get("quiet", journal.quiet)
    if options:  # the kernel is ours
        native_log.quieten()
    current = installation.installed()
    era = options.get("era") or (current.era if current else None if options else "tf1")
    packages = options.get("legacy_packages", ())
    here = installation.install_for(
        options.get("source", ""), options.get("directory", ""), era, packages
    )
    if options.get("smoke"):
        smoke.enable(here.era)
    if options.get("journal"):
        atexit.register(_write_journal, options["journal"])
    shell.register_magic_function(_choose_version, "line", "tensorflow_version")
    _register_shell_magic(shell)
    if not hasattr(shell, "magic"):
        # IPython 9 removed it: get_ipython().magic('matplotlib inline')
        shell.magic = lambda line: shell.run_line_magic(*_name_and_rest(line))
    _unload(shell)  # loading anew
    _hide_our_frames(shell)
    shell.tpucompat_after_line = lambda line: _after_line(shell, line)
    shell.input_transformers_cleanup.insert(0, cells.outdented)
    shell.ast_transformers.append(ShellLines())
    if script_code.numpy_promotes_by_type():
        shell.ast_transformers.append(Arithmetic())


def _options() -> dict[str, Any]:
    path = os.environ.pop(OPTIONS, "")
    if not path:
        return {}
    with open(path, encoding="utf-8") as file:
        options: dict[str, Any] = json.load(file)
    return options


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext tpucompat``: the shell and its cells are as they were before."""
    _unload(shell)
    installation.uninstall()


def _unload(shell: Any) -> None:
    """Takes away what :func:`load_ipython_extension` put into the shell, but not the old namespace."""
    shell.ast_transformers[:] = [
        each for each in shell.ast_transformers if not isinstance(each, (ShellLines, Arithmetic))
    ]
    shell.input_transformers_cleanup[:] = [
        each for each in shell.input_transformers_cleanup if each is not cells.outdented
    ]


class Arithmetic:
    """Lets a cell's operators choose NumPy 1's types."""

    def visit(self, tree: ast.Module) -> ast.Module:
        """The cell, changed where it has operators."""
        from tpucompat.standins import arithmetic  # imports NumPy

        arithmetic.rewritten(tree)
        return tree


class ShellLines(ast.NodeTransformer):
    """Looks at the calls that IPython makes of shell lines, just before a cell is run.

    At this place the lines are certain to be shell lines (and no text that looks like one), and their names
    are filled in where they stand.
    """

    def visit_Expr(self, node: ast.Expr) -> Any:
        """A line of its own: it may be left out, and its exit code can be looked at."""
        call = _call(node.value)
        if call is None:
            return self.generic_visit(node)
        treated = _treat(call)
        if not treated.text:
            return ast.copy_location(ast.Pass(), node)
        call.put(treated.text)
        if not treated.fetches or not call.sets_exit_code:
            return node
        named = _shown(call.magic, treated.text)
        after = ast.parse(f"get_ipython().tpucompat_after_line({named!r})").body[0]
        for part in ast.walk(after):
            ast.copy_location(part, node)
        return [node, after]

    def visit_Call(self, node: ast.Call) -> Any:
        """Inside an expression, as in ``files = !ls``: it has to have a value."""
        self.generic_visit(node)
        call = _call(node)
        if call is not None:
            call.put(_treat(call).text or shell_lines.NOTHING)
        return node


class _Call(NamedTuple):
    """A call that IPython made of a shell line.

    Attributes:
      magic: The name that stands before the text where it is not a program's: ``pip``; else "".
      text: What the shell is given.
      put: Changes the text.
      sets_exit_code: Whether the exit code can be looked at afterwards; ``%%bash`` raises an error itself.
    """

    magic: str
    text: str
    put: Callable[[str], None]
    sets_exit_code: bool


class _Treated(NamedTuple):
    """What is to be run of a shell text ("" for nothing), and whether it reaches outside."""

    text: str
    fetches: bool


def _call(node: ast.AST) -> _Call | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    owner = node.func.value
    if not (
        isinstance(owner, ast.Call)
        and isinstance(owner.func, ast.Name)
        and owner.func.id == "get_ipython"
    ):
        return None
    texts = [_text(argument) or "" for argument in node.args]
    where, magic = -1, ""
    if node.func.attr in ("system", "getoutput"):
        where = 0
    elif node.func.attr == "run_line_magic" and texts[:1]:
        if texts[0] in ("pip", "conda", "mamba"):
            where, magic = 1, texts[0]
        elif texts[0] in ("sx", "system", "shell"):
            where = 1
    elif node.func.attr == "run_cell_magic" and texts[:1] and texts[0] in _CELL_SHELLS:
        where = 2
    if not 0 <= where < len(texts) or not texts[where]:
        return None

    def put(text: str) -> None:
        node.args[where] = ast.copy_location(
            ast.parse(repr(text), mode="eval").body, node.args[where]
        )

    return _Call(magic, texts[where], put, node.func.attr in ("system", "run_line_magic"))


def _treat(call: _Call) -> _Treated:
    """Takes out what is not to be run, and says so."""
    how = os.environ.get(SHELL, "run")
    kept, fetches = [], False
    for line in _logical_lines(call.text):
        seen = shell_lines.read(line, call.magic)
        if seen.left_out:
            names = ", ".join(seen.left_out)
            journal.notice("TPU436", f"skipped: {names}; the cells run on the installed TensorFlow")
        text = shell_lines.NOTHING if seen.text is None else seen.text
        if seen.fetches and how in ("name", "skip"):
            done = "left out" if how == "skip" else "run"
            journal.notice("TPU435", f"{done}: {_shown(call.magic, text)}")
        if seen.fetches and how == "skip":
            text = shell_lines.NOTHING
        else:
            fetches = fetches or bool(seen.fetches)
        kept.append(text)
    if all(text.strip() in (shell_lines.NOTHING, "") for text in kept):
        return _Treated("", False)
    return _Treated("\n".join(kept), fetches)


def _logical_lines(text: str) -> list[str]:
    """The lines of a shell script, with continued ones in one piece."""
    lines: list[str] = []
    for line in text.split("\n"):
        if lines and lines[-1].endswith("\\"):
            lines[-1] += "\n" + line
        else:
            lines.append(line)
    return lines


def _shown(magic: str, line: str) -> str:
    return f"%{magic} {line}" if magic else f"!{line}"


def _after_line(shell: Any, line: str) -> None:
    code = shell.user_ns.get("_exit_code", 0)
    if code:
        journal.notice("TPU435", f"exit code {code} from {line}")


def _text(node: ast.AST) -> str | None:
    value = getattr(node, "value", getattr(node, "s", None))  # ast.Str has s, up to Python 3.7
    return value if isinstance(value, str) else None


def _hide_our_frames(shell: Any) -> None:
    """Shows the errors of cells without the lines of the import hook."""
    if "showtraceback" in vars(shell):
        return  # loaded before
    show = shell.showtraceback

    def showtraceback(exc_tuple: Any = None, *args: Any, **kwargs: Any) -> Any:
        kind, error, traceback = exc_tuple or sys.exc_info()
        if isinstance(error, BaseException):
            tracebacks.strip_error(error)
            exc_tuple = (kind, error, tracebacks.strip(traceback))
        return show(exc_tuple, *args, **kwargs)

    shell.showtraceback = showtraceback


# Magics --------------------------------------------------------------------------------------------


def _choose_version(line: str) -> None:
    """``%tensorflow_version 1.x`` or ``2.x``, which Colab had."""
    version = line.split("#")[0].strip()
    if version[:1] not in ("1", "2"):
        sys.stderr.write("Usage: %tensorflow_version 1.x (or 2.x)\n")
        return
    era = "tf" + version[0]
    current = installation.installed()
    if current is not None and current.era != era and not installation.switch(era):
        journal.notice(
            "TPU437",
            (
                f"%tensorflow_version {version}: TensorFlow is already in use as TensorFlow "
                f"{current.era[-1]}"
            ),
        )


def _register_shell_magic(shell: Any) -> None:
    """``%%shell`` and ``%shell``, which Colab has."""
    if shell.find_magic("shell", "cell") is None:
        shell.register_magic_function(
            lambda line, cell: shell.run_cell_magic("bash", line, cell), "cell", "shell"
        )
    if shell.find_magic("shell", "line") is None:
        shell.register_magic_function(lambda line: shell.system(line), "line", "shell")


def _name_and_rest(line: str) -> tuple[str, str]:
    name, _, rest = line.lstrip().lstrip("%").partition(" ")
    return name, rest


def _write_journal(path: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"uses": journal.uses(), "notices": journal.notices()}, file)
