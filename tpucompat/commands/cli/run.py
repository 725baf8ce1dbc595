"""``tpucompat run``: runs an old script as plain ``python`` would, with the old namespace before it."""

from __future__ import annotations

import argparse
import atexit
import importlib
import importlib.machinery
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tokenize
import types
import zipfile
from typing import Any, NamedTuple, Sequence

from tpucompat.base import interrupts, journal, missing, native_log, package, targets
from tpucompat.base.codes import CODES
from tpucompat.base.errors import ScriptError, SetupError, StoppedTraining, TPUCompatError
from tpucompat.base.machine import Environment, current_environment
from tpucompat.commands.cli import spawning
from tpucompat.commands.cli.failing import fail
from tpucompat.commands.cli.options import Parser, add_options, option, positive
from tpucompat.names.python_2 import is_python_2
from tpucompat.runtime import failures, installation, script_code, smoke, tracebacks
from tpucompat.runtime.paths import mapping

# For a script that is not in the encoding that it should be in (PEP 263).
_CODING = (
    "If it is Python source, save it as UTF-8, or declare its encoding on the first line, such as "
    "`# -*- coding: latin-1 -*-`."
)
# For a module that cannot be found.
_MODULE = "Check the name, and start in the folder that its package is in."
USAGE = "tpucompat run [OPTIONS] (SCRIPT | -m MODULE | NOTEBOOK.ipynb) [ARGUMENTS OF THE SCRIPT …]"


_OPTIONS = (
    option("--cores", type=positive, metavar="N", help="emulate N TPU cores with logical devices"),
    option(
        "--rehearse",
        metavar="N",
        help=("run under TensorFlow's TPUStrategy on N simulated cores (or a TPU such as v3-8)"),
    ),
    option(
        "--exact",
        action="store_true",
        help="use the rounding of TensorFlow 1.15 (oneDNN off), at the cost of speed",
    ),
    option(
        "--era",
        choices=("tf1", "tf2"),
        help=(
            "TensorFlow 1 (graph) or early TensorFlow 2 (eager); default: detected from the script"
        ),
    ),
    option(
        "--check-tpu",
        metavar="NAMES",
        help=(
            "first check whether the script's computations compile for these TPUs, such "
            "as v5e-8,v3-8"
        ),
    ),
    option(
        "--smoke",
        action="store_true",
        help="limit epochs and steps, to try a long script quickly",
    ),
    option(
        "--traceback",
        action="store_true",
        help="show full tracebacks",
    ),
    option("--quiet", action="store_true", help="no notices and no summary"),
    option(
        "--legacy-package",
        action="append",
        default=[],
        metavar="NAME",
        help="an installed package that was written for TensorFlow 1.x; may be repeated",
    ),
    option(
        "--map",
        action="append",
        default=[],
        metavar="gs://BUCKET=DIR",
        help="replace a bucket, or a folder in it, with a local folder; may be repeated",
    ),
    option(
        "--out",
        metavar="FILE",
        help="notebooks: write the executed notebook, with its outputs, to FILE",
    ),
    option(
        "--form",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="notebooks: set a Colab form field (a line with #@param); may be repeated",
    ),
    option(
        "--shell",
        choices=("run", "name", "skip"),
        help=(
            "notebooks: run ! lines that download or install (default; failures are "
            "reported), also list them, or skip them"
        ),
    ),
    option("-m", dest="module", nargs=argparse.REMAINDER, help="run a module, as python -m does"),
    option("script", nargs=argparse.REMAINDER, help=argparse.SUPPRESS),
)


def parser() -> argparse.ArgumentParser:
    """The options of the command; everything behind the script's name is the script's."""
    result = Parser(
        prog="tpucompat run",
        usage=USAGE,
        description=__doc__,
        allow_abbrev=False,
    )
    add_options(result, _OPTIONS)
    return result


# What a shell says of a program that Ctrl-C has ended.
_STOPPED = 130


class Program(NamedTuple):
    """A script or module ready to run."""

    code: types.CodeType
    source: str
    file: str
    arguments: list[str]
    path0: str
    spec: importlib.machinery.ModuleSpec | None


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns the exit code, or lets the script's own exception or SystemExit through."""
    options = parser().parse_args(argv)
    try:
        if _is_notebook(options):
            return _run_notebook(options, argv)
        if options.out or options.shell or options.form:
            raise ScriptError(
                "TPU493",
                "--out, --form and --shell require a notebook (.ipynb).",
                "Leave them out.",
            )
        program = _program(options)
        if options.check_tpu:
            _check_first(options)
        options.era = _set_up(options, program)
        _name_misplaced(program)
    except TPUCompatError as error:
        return fail(error)
    except SyntaxError as error:
        return _syntax_error(error)
    if not options.quiet:
        atexit.register(_summary, list(argv), options)
    sys.excepthook = failures.excepthook(sys.excepthook, not options.quiet, options.traceback)
    options.ended_well = False
    interrupts.watch()
    try:
        execute(program)
        options.ended_well = True
    except SystemExit as end:
        options.ended_well = not end.code
        raise
    except StoppedTraining as stopped:
        sys.excepthook(type(stopped), stopped, stopped.__traceback__)
        return _STOPPED
    except Exception as raised:
        told = _refusal(raised)
        if told is None:
            raise
        # The script's own traceback; then exit code 2, which says that the next step is in the message.
        told.__cause__ = told.__context__ = None
        shown = told.with_traceback(tracebacks.of_script(raised.__traceback__))
        sys.excepthook(type(shown), shown, shown.__traceback__)
        return 2
    return 0


def _refusal(raised: Exception) -> TPUCompatError | None:
    """What an error of the script's is in tpucompat's terms; None where it is the script's alone."""
    if "tpucompat.engines.rehearsal" in sys.modules:
        from tpucompat.engines import rehearsal  # imports TensorFlow

        raised = rehearsal.told(raised)
    return raised if isinstance(raised, TPUCompatError) else None


def _name_misplaced(program: Program) -> None:
    """Says which options of ours stand behind the script's name, where the script has no such option."""
    ours = {name for action in parser()._actions for name in action.option_strings}
    source = program.source.replace("-", "_")
    for word in program.arguments[1:]:
        name = word.partition("=")[0]
        is_ours = name in ours and name.startswith("--") and name != "--help"
        if is_ours and name.lstrip("-").replace("-", "_") not in source:
            text = f"{name} follows the script name and is passed to the script"
            journal.notice("TPU484", text)


def _is_notebook(options: argparse.Namespace) -> bool:
    return not options.module and bool(options.script) and options.script[0].endswith(".ipynb")


def _run_notebook(options: argparse.Namespace, argv: Sequence[str]) -> int:
    from tpucompat.runtime.notebooks import runner  # asyncio, for notebooks alone

    # A notebook has no arguments of its own: what stands behind its name is ours too.
    name, behind = options.script[0], options.script[1:]
    options = parser().parse_args(behind, options)
    options.script.insert(0, name)
    _apply(options)
    if options.shell:
        os.environ["TPUCOMPAT_SHELL"] = options.shell
    options.ended_well = False
    if not options.quiet:
        atexit.register(_summary, list(argv), options)
    code = runner.run(options)
    options.ended_well = not code
    return code


def _check_first(options: argparse.Namespace) -> None:
    """``tpucompat check`` in a process of its own; what it says stops nothing."""
    targets.parse(options.check_tpu)  # a wrong name is an error of this command line
    command = [sys.executable, "-m", "tpucompat", "check", "--tpu", options.check_tpu]
    command += ["--era", options.era] if options.era else []
    command += [f"--map={each}" for each in options.map]
    command += [f"--legacy-package={name}" for name in options.legacy_package]
    command += ["-m", *options.module] if options.module else options.script
    root = os.path.dirname(package.FOLDER)
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    sys.stdout.flush()
    subprocess.run(command, stdout=sys.stderr, env=dict(os.environ, PYTHONPATH=path), check=False)


# The program ---------------------------------------------------------------------------------------


def _program(options: argparse.Namespace) -> Program:
    if options.module:
        return _module(options.module[0], options.module[1:], options.legacy_package)
    if options.script:
        return _script(options.script[0], options.script[1:])
    raise ScriptError("TPU420", "No script was given.", USAGE)


def _script(name: str, arguments: list[str]) -> Program:
    # As python does with a folder.
    within = os.path.join(name, "__main__.py")
    path = within if os.path.isfile(within) else name
    if zipfile.is_zipfile(path):
        step = (
            f"Unpack it first: `python -m zipfile -e {path} FOLDER`, then `tpucompat run FOLDER`."
        )
        raise ScriptError("TPU420", f"{path} is an archive.", step)
    try:
        with tokenize.open(path) as text:  # honours a coding line, as python does
            source = text.read()
        if "\0" in source:
            raise SyntaxError("It contains null bytes.")
    except (
        UnicodeDecodeError,
        SyntaxError,
    ) as error:  # SyntaxError: it is no UTF-8, or says a wrong coding
        raise ScriptError("TPU420", f"{path}: {_reason(error)}", _CODING) from error
    except OSError as error:
        folder = f"Name a script in it: `tpucompat run {os.path.join(path, 'NAME.py')}`."
        module = " To run a module, use `tpucompat run -m NAME`."
        advice = folder if isinstance(error, IsADirectoryError) else ""
        if isinstance(error, FileNotFoundError):
            advice = missing.next_step(path) + ("" if path.endswith(".py") else module)
        raise ScriptError("TPU420", f"{path}: {_reason(error)}", advice) from error
    # Since Python 3.9 a script's __file__ and the file in its tracebacks are absolute.
    file = os.path.abspath(path) if sys.version_info >= (3, 9) else path
    code = script_code.compiled(source, file)
    folder = os.path.dirname(os.path.realpath(path))
    return Program(code, source, file, [name, *arguments], folder, None)


def _module(name: str, arguments: list[str], packages: Sequence[str]) -> Program:
    if name.endswith(".py") and os.path.isfile(name):
        step = f"Run a file without -m: `tpucompat run {name}`."
        raise ScriptError("TPU420", f"{name} is a file, not the name of a module.", step)
    sys.path.insert(0, os.getcwd())
    try:
        spec = _find_module(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = _find_module(name)
    except ImportError as error:
        raise ScriptError("TPU420", f"No module named {name}: {error}", _MODULE) from error
    finally:
        del sys.path[0]
    loader: Any = spec.loader if spec is not None else None
    if spec is None or spec.origin is None or not hasattr(loader, "get_code"):
        raise ScriptError("TPU420", f"No module named {name}.", _MODULE)
    code = script_code.code_of(spec, name, packages)
    return Program(
        code,
        loader.get_source(name) or "",
        spec.origin,
        [spec.origin, *arguments],
        os.getcwd(),
        spec,
    )


def _find_module(name: str) -> importlib.machinery.ModuleSpec | None:
    """``importlib.util.find_spec``, which imports the packages that the module is in; this does not.

    They are the program's own, and import TensorFlow as it was: :func:`execute` imports them when the old
    namespace stands. Only a package whose own code says where its modules lie is imported here already.
    """
    path: list[str] | None = None  # sys.path
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        spec = _find_in(".".join(parts[:count]), path)
        if count == len(parts) and spec is not None:
            return spec
        if spec is not None and spec.origin is not None:
            path = list(spec.submodule_search_locations or ())
        else:  # a folder without __init__.py: executes nothing
            places = [os.path.join(place, parts[count - 1]) for place in path or sys.path]
            path = [place for place in places if os.path.isdir(place)]
        if not path:
            break
    return importlib.util.find_spec(name)


def _find_in(name: str, path: list[str] | None) -> importlib.machinery.ModuleSpec | None:
    """What the import system finds for a full name in the folders of its package."""
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(name, path, None)
        except KeyError:  # a folder without __init__.py, in a package that is not imported yet
            return None
        if spec is not None:
            return spec
    return None


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)


def prepare(argv: Sequence[str]) -> tuple[Program, str]:
    """Everything up to the script's first line, for those who look on while it runs.

    Args:
      argv: The arguments behind ``run``; no notebook.

    Returns:
      The program for :func:`execute`, and its era: "tf1" or "tf2".

    Raises:
      TPUCompatError: As the command would say.
    """
    options = parser().parse_args(argv)
    program = _program(options)
    return program, _set_up(options, program)


def _set_up(options: argparse.Namespace, program: Program) -> str:
    _apply(options)
    here = installation.install_for(
        program.source, program.path0, options.era, options.legacy_package
    )
    if options.smoke:
        smoke.enable(here.era)
    spawning.offer(_arguments_again(options, program, here.era))
    return here.era


def _arguments_again(options: argparse.Namespace, program: Program, era: str) -> list[str]:
    """The command line for another process, without what is in the environment and what is the script's."""
    flags = [f"--{name}" for name in ("smoke", "quiet") if getattr(options, name)]
    packages = [f"--legacy-package={name}" for name in options.legacy_package]
    script = ["-m", options.module[0]] if options.module else [program.file]
    return ["--era", era, *flags, *packages, *script]


def _apply(options: argparse.Namespace) -> None:
    """The options that become settings of the process, and of those that it starts."""
    native_log.quieten()
    _check_cores(options)
    for name in options.legacy_package:
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            journal.notice("TPU493", f"--legacy-package {name}: no such package is installed")
    if options.cores is not None:
        os.environ["TPUCOMPAT_CORES"] = str(options.cores)
    if options.rehearse is not None:
        os.environ["TPUCOMPAT_REHEARSE"] = options.rehearse
        if options.cores is None:
            os.environ.pop("TPUCOMPAT_CORES", None)  # the command line decides
    if options.exact:
        os.environ["TPUCOMPAT_EXACT"] = "1"
    if options.map:
        before = mapping.from_environment().folders
        path_map = mapping.parse_all([*options.map, *map("{0.remote}={0.local}".format, before)])
        os.environ[mapping.VARIABLE] = mapping.to_environment(path_map)
    journal.quiet = options.quiet


def _check_cores(options: argparse.Namespace) -> None:
    """Refuses cores that cannot be had, before the script begins."""
    if options.rehearse is None:
        return
    if options.cores is not None:
        text = "--cores and --rehearse exclude each other."
        raise SetupError("TPU455", text, "Leave out --cores to rehearse, or --rehearse to emulate.")
    if targets.slice_of(options.rehearse) is None:
        text = f"--rehearse {options.rehearse} is neither a number of cores nor a TPU name."
        raise SetupError("TPU455", text, "Pass a number such as 8, or a name such as v3-8.")


def execute(program: Program) -> None:
    """What ``python script.py`` or ``python -m module`` does, in this process."""
    # sys.path[0] is the folder of the tpucompat command, or of the package; under `python -P` there is none.
    sys.path[: 0 if getattr(sys.flags, "safe_path", False) else 1] = [program.path0]
    if program.spec and program.spec.parent:
        sys.argv[:] = ["-m", *program.arguments[1:]]  # what runpy leaves there for the packages
        importlib.import_module(program.spec.parent)
    sys.argv[:] = program.arguments
    main_module = types.ModuleType("__main__")
    main_module.__dict__.update(_names_of(program, "__main__"))
    sys.modules["__main__"] = main_module
    exec(program.code, main_module.__dict__)


def execute_spawned(argv: Sequence[str], names: dict[str, Any]) -> None:
    """Executes the program in a process that it has spawned, whose arguments and paths stand already.

    Args:
      argv: The arguments behind ``run``, without the script's.
      names: The namespace of the process's main module, which becomes the program's.
    """
    program, _ = prepare(argv)
    if program.spec and program.spec.parent:
        importlib.import_module(program.spec.parent)
    names.clear()
    names.update(_names_of(program, "__mp_main__"))
    exec(program.code, names)


def _names_of(program: Program, name: str) -> dict[str, Any]:
    """What Python gives a main module before its first line."""
    file_loader = importlib.machinery.SourceFileLoader(name, program.file)
    return {
        "__name__": name,
        "__doc__": None,
        "__file__": program.file,
        "__cached__": None,
        "__loader__": program.spec.loader if program.spec else file_loader,
        "__spec__": program.spec,
        "__package__": program.spec.parent if program.spec else None,
        "__builtins__": sys.modules["builtins"],
    }


# What is said --------------------------------------------------------------------------------------


def _syntax_error(error: SyntaxError) -> int:
    """The script's own traceback, as python shows it; then what it means."""
    sys.excepthook(type(error), error.with_traceback(None), None)
    if is_python_2(error):
        return fail(
            ScriptError(
                "TPU421", "{} is written for Python 2.".format(error.filename or "The script")
            )
        )
    where = "{}, line {}".format(error.filename or "the script", error.lineno)
    if (error.text or "").lstrip().startswith(("%", "!")):
        return fail(ScriptError("TPU448", f"{where}: an IPython command."))
    return fail(ScriptError("TPU424", f"{where}: {error.msg}"))


def _summary(argv: list[str], options: argparse.Namespace) -> None:
    here = current_environment()
    lines = [
        "── tpucompat " + "─" * 47,
        "TensorFlow {} on Python {}, Keras {}; {} engine, {}, {}".format(
            here.tensorflow,
            ".".join(map(str, here.python)),
            " ".join(filter(None, (here.keras, _keras_version(here)))),
            here.engine,
            here.replicas,
            here.mode,
        ),
    ]
    used = journal.uses()
    if used:
        shown = ", ".join(f"{name} ×{count}" for name, count in used[:8])
        more = len(used) - 8
        lines.append("old names: " + shown + (f", and {more} more" if more > 0 else ""))
    if _may_go_on(argv, options):
        lines.append("next: " + _next_command(argv, options))
    text = "\n".join(lines) + "\n"
    encoding = getattr(sys.stderr, "encoding", None) or "ascii"
    sys.stderr.write(text.encode(encoding, "replace").decode(encoding))


def _keras_version(here: Environment) -> str:
    return here.tf_keras_version if here.keras == "tf-keras" else here.keras_version


def _may_go_on(argv: list[str], options: argparse.Namespace) -> bool:
    """Whether there is a next command to tell: not after an error or a help text, nor in era tf2."""
    asked_for_help = any(re.fullmatch("-h|--?help(full|short)?", word) for word in argv)
    return options.ended_well and not asked_for_help and (options.era != "tf2" or options.smoke)


def _next_command(argv: list[str], options: argparse.Namespace) -> str:
    own = len(argv) - len(options.module or options.script)
    kept = [word for place, word in enumerate(argv) if place >= own or word != "--smoke"]
    words = list(map(shlex.quote, kept))
    if options.smoke:
        return "tpucompat run {}   (the whole run)".format(" ".join(words))
    said = [code for code, _ in journal.notices()]
    codes = [code for code in said if not CODES[code].what_to_do.startswith("Nothing")]
    if codes:
        return f"tpucompat explain {codes[0]}"
    if options.cores is None and options.rehearse is None:
        return "tpucompat run --cores 8 {}   (as on the 8 cores of a TPU v2-8)".format(
            " ".join(words)
        )
    return "tpucompat doctor"
