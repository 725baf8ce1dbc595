"""The command line: ``tpucompat COMMAND``."""

import os
import sys

# `python -m` puts the current folder first, where a stranger's json.py would be taken for Python's. What Python
# itself imports before this line is out of reach: `python -P -m tpucompat`, or `tpucompat`.
if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

import difflib
import importlib
from typing import Optional, Sequence

from tpucompat.commands.cli import failing
from tpucompat.version import VERSION

#: Command -> (module with ``main(argv) -> int``, what it does). Only the chosen one is imported.
COMMANDS = {
    "run": ("tpucompat.commands.cli.run", "run an old script, module or notebook, unmodified"),
    "scan": ("tpucompat.commands.cli.scan", "find TensorFlow 1 code in scripts and notebooks"),
    "verify": ("tpucompat.commands.cli.verify", "compare an old script with its migration"),
    "convert-checkpoint": (
        "tpucompat.commands.cli.convert_checkpoint",
        "convert a checkpoint between TensorFlow and Keras formats",
    ),
    "migrate": ("tpucompat.commands.cli.migrate", "rewrite scripts and notebooks for TensorFlow 2"),
    "check": (
        "tpucompat.commands.cli.check",
        "check whether a script's computations compile for a TPU",
    ),
    "doctor": ("tpucompat.commands.cli.doctor", "show the environment and what is missing from it"),
    "explain": ("tpucompat.commands.cli.explain", "explain a code, or where an old symbol went"),
}


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Runs one command; what follows its name is the command's own.

    Args:
      argv: The arguments without the program's name; those of the process if None.

    Returns:
      The exit code: 2 for a command line that cannot be understood, else the command's.
    """
    if "_ARGCOMPLETE" in os.environ:
        _complete()
    arguments = list(sys.argv[1:] if argv is None else argv)
    # What a script prints is its own, and Python says what becomes of it.
    if arguments[:1] == ["run"] and arguments[1:] not in (["-h"], ["--help"]):
        return _command(arguments)
    return failing.with_output(lambda: _command(arguments))


def _command(arguments: Sequence[str]) -> int:
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help"):
        print(usage())
        return 0 if arguments else 2
    if name in ("-V", "--version"):
        print("tpucompat " + VERSION)
        return 0
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        sys.stderr.write(f"tpucompat: unknown command {name!r}{hint}\n{usage()}\n")
        return 2
    result: int = importlib.import_module(COMMANDS[name][0]).main(arguments[1:])
    return result


def _complete() -> None:
    """Answers the shell, which asks for completions through argcomplete (the extra "completion")."""
    import argparse  # for completion alone

    import argcomplete  # an extra of its own

    everything = argparse.ArgumentParser(prog="tpucompat")
    commands = everything.add_subparsers()
    for name, (module, what) in COMMANDS.items():
        own = importlib.import_module(module).parser()
        commands.add_parser(
            name, parents=[own], add_help=False, help=what, conflict_handler="resolve"
        )
    argcomplete.autocomplete(everything)


def usage() -> str:
    """The commands, a line each."""
    lines = ["usage: tpucompat COMMAND [ARGUMENTS]", ""]
    lines += [f"  {name:<19}{what}" for name, (_, what) in COMMANDS.items()]
    return "\n".join([*lines, "", "Run `tpucompat COMMAND --help` for the options of a command."])


if __name__ == "__main__":
    sys.exit(main())
