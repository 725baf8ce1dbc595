"""``tpucompat run`` beside plain ``python``, on scripts that start no TensorFlow."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import zipfile

import pytest

from tpucompat.engines import accelerator

SHOW = """
import sys, os, json
import helper
print(json.dumps([sys.argv, __name__, __file__, sys.path[0], os.getcwd(), helper.NAME,
                  __package__, __spec__ and __spec__.name, sys.modules['__main__'].__dict__ is globals()]))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "helper.py").write_text("NAME = __name__\ndef fail():\n    return 1 / 0\n")
    return tmp_path


def write(folder, text, name="script.py"):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return name


def python(folder, *arguments, **environ):
    # A test before this one may have left a TPU's address in the environment.
    left = {name: value for name, value in os.environ.items() if name not in accelerator.OFFERED}
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=str(folder),
        env=dict(left, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1", **environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=120,
    )


def tpucompat_run(folder, *arguments, **environ):
    return python(folder, "-m", "tpucompat", "run", *arguments, **environ)


def both(folder, *arguments):
    """(plain python, tpucompat run --quiet) on the same script and arguments."""
    return python(folder, *arguments), tpucompat_run(folder, "--quiet", *arguments)


def test_a_script_sees_what_plain_python_gives_it(folder):
    plain, ours = both(folder, write(folder, SHOW), "--cores", "3", "-m", "x")
    assert plain.returncode == ours.returncode == 0, ours.stderr
    assert ours.stdout == plain.stdout
    assert ours.stderr == ""


def test_a_script_in_another_folder(folder):
    write(folder, "NAME = 'other'", "sub/helper.py")
    plain, ours = both(folder, write(folder, SHOW, "sub/script.py"))
    assert ours.stdout == plain.stdout != ""


@pytest.mark.parametrize("target", ["package.module", "package"])
def test_a_module_sees_what_python_m_gives_it(folder, target):
    write(folder, "", "package/__init__.py")
    write(folder, SHOW, "package/module.py")
    write(folder, SHOW, "package/__main__.py")
    plain, ours = both(folder, "-m", target, "--flag", "7")
    assert plain.returncode == ours.returncode == 0, ours.stderr
    assert ours.stdout == plain.stdout


@pytest.mark.parametrize("inner", ["package", "spread"])
def test_the_packages_of_a_module_are_imported_as_python_m_does_and_see_the_old_names(
    folder, inner
):
    """``python -m`` imports them before the module: a package's __init__.py often imports all of it."""
    write(folder, "import sys\nprint(__name__, sys.argv[1:], sys.path[0])", "package/__init__.py")
    (folder / "package" / inner).mkdir()
    if inner == "package":
        write(folder, "import package\nprint(__name__)", f"package/{inner}/__init__.py")
    write(folder, SHOW, f"package/{inner}/module.py")
    plain, ours = both(folder, "-m", f"package.{inner}.module", "--flag", "7")
    assert plain.returncode == ours.returncode == 0, ours.stderr
    assert ours.stdout == plain.stdout
    write(folder, "import time\nprint(time.clock() >= 0)", "package/__init__.py")  # gone since 3.8
    ours = tpucompat_run(folder, "--quiet", "-m", f"package.{inner}.module")
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout.startswith("True\n")


def test_an_error_in_a_module_s_package_is_the_program_s_own(folder):
    write(folder, "import helper\nhelper.fail()", "package/__init__.py")
    write(folder, SHOW, "package/module.py")
    ours = tpucompat_run(folder, "--quiet", "-m", "package.module")
    assert ours.returncode == 1
    assert "ZeroDivisionError" in ours.stderr and "tpucompat/commands/cli" not in ours.stderr


@pytest.mark.parametrize(
    "ending",
    [
        "raise SystemExit(7)",
        "raise SystemExit('a message')",
        "import sys; sys.exit()",
        "import os; os._exit(9)",
        "1 / 0",
        "helper.fail()",
        "try:\n    helper.fail()\nexcept Exception as e:\n    raise KeyError('x') from e",
        "try:\n    helper.fail()\nexcept Exception:\n    raise KeyError('x')",
        "import broken",
        "import missing_module",
        "from helper import nothing",
        "assert False, 'no'",
        "raise KeyboardInterrupt",
        "import atexit; atexit.register(print, 'end')",
    ],
)
def test_exit_codes_and_tracebacks(folder, ending):
    write(folder, "import helper\nhelper.fail()", "broken.py")
    plain, ours = both(folder, write(folder, "import helper\n" + ending))
    assert ours.returncode == plain.returncode
    assert ours.stdout == plain.stdout
    assert ours.stderr == plain.stderr


def test_a_kill_by_signal_is_the_script_s(folder):
    plain, ours = both(
        folder, write(folder, "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)")
    )
    assert ours.returncode == plain.returncode == -signal.SIGTERM


@pytest.mark.parametrize(
    "source, code, words",
    [
        ("x = (1\ny = 2", "TPU424", "SyntaxError"),
        ("def f():\nreturn 1", "TPU424", "IndentationError"),
        ("x = 1\n%matplotlib inline", "TPU448", "notebook"),
        ("if True:\n    !pip install x", "TPU448", "notebook"),
        ("print 'hello'", "TPU421", "Python 2"),
        ("import os\nprint 'a', os", "TPU421", "Python 2"),
        ("try:\n    pass\nexcept ValueError, e:\n    pass", "TPU421", "Python 2"),
        ("x = 0777", "TPU421", "Python 2"),
        ("exec 'x = 1'", "TPU421", "Python 2"),
        ("raise ValueError, 'no'", "TPU421", "Python 2"),
    ],
)
def test_what_python_cannot_read(folder, source, code, words):
    plain, ours = both(folder, write(folder, source))
    assert ours.returncode == 2
    assert code in ours.stderr
    assert words in ours.stderr
    assert "Next:" in ours.stderr
    assert ours.stderr.startswith(plain.stderr)  # the script's own traceback comes first
    assert "tpucompat/commands/cli" not in ours.stderr


def test_a_module_of_python_2(folder):
    (folder / "older.py").write_text("print 'hello'")
    plain, ours = both(folder, write(folder, "import older"))
    assert ours.stderr == plain.stderr  # no line of the import system, nor of ours
    ours = python(folder, "-m", "tpucompat", "run", "script.py")
    assert "older.py is written for Python 2. Next: " in ours.stderr
    assert "[TPU421]" in ours.stderr


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "No script was given"),
        (["absent.py"], "absent.py: No such file"),
        (["."], "Is a directory"),
        (["latin.py"], "latin.py"),
        (["-m", "absent.module"], "No module named absent"),
        (["-m", "absent"], "No module named absent"),
        (["-m", "latin.py"], "Next: Run a file without -m: `tpucompat run latin.py`."),
        (["."], "Next: Name a script in it: `tpucompat run ./NAME.py`."),
        (["-m"], "No script was given"),
        (["app.zip"], "python -m zipfile -e app.zip"),
        (["null.py"], "null.py: It contains null bytes"),
    ],
)
def test_what_is_no_script(folder, arguments, words):
    (folder / "latin.py").write_bytes(b"# caf\xe9\nprint(1)\n")
    (folder / "null.py").write_bytes(b"print(1)\0\n")
    with zipfile.ZipFile(folder / "app.zip", "w") as archive:
        archive.writestr("__main__.py", "print(1)")
    ours = tpucompat_run(folder, *arguments)
    assert ours.returncode == 2
    assert "TPU420" in ours.stderr
    assert words in ours.stderr
    assert "Traceback" not in ours.stderr


def test_a_script_in_latin_1_is_told_of_encodings(folder):
    (folder / "latin.py").write_bytes(b"# caf\xe9\nprint(1)\n")
    ours = tpucompat_run(folder, "latin.py")
    assert "coding: latin-1" in ours.stderr and "permissions" not in ours.stderr
    assert "Check the path" in tpucompat_run(folder, "absent.py").stderr


def test_a_script_that_reads_the_tpu_s_address_where_there_is_none(folder):
    script = write(folder, "import os\nprint(os.environ['COLAB_TPU_ADDR'])")
    ours = tpucompat_run(folder, script, TPUCOMPAT_NO_TPU="1")
    assert "Next: Unset TPUCOMPAT_NO_TPU" in ours.stderr and "[TPU477]" in ours.stderr


@pytest.mark.parametrize(
    "source, said",
    [
        ("raise OSError('no such file or directory: run prepare.py')", ""),
        ("raise ValueError('no matching files for the pattern')", ""),
        ("class ConnectionError(Exception): pass\nraise ConnectionError('of two layers')", ""),
        ("raise RuntimeError('gs://b: the credentials are not in the list')", ""),
        ("import ctypes\nctypes.CDLL('libabsent.so')", "Put the file there"),
        ("1 / 0", ""),
        ("import subprocess\nsubprocess.run(['absent-program'])", "Install it, or correct"),
        ("open('absent.txt')", "Put the file there"),
        ("try:\n    open('absent.txt')\nexcept OSError as e:\n    raise e", "Put the file there"),
    ],
)
def test_a_next_step_is_said_of_errors_that_are_not_the_script_s_own(folder, source, said):
    ours = tpucompat_run(folder, write(folder, source))
    assert ours.returncode == 1 and ours.stderr.count("Next: ") == bool(said)
    assert said in ours.stderr


def test_a_coding_line_is_honoured(folder):
    (folder / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nprint(len('caf\xe9'))\n")
    assert tpucompat_run(folder, "--quiet", "latin.py").stdout == "4\n"


def test_the_summary_comes_last_on_stderr_and_names_the_next_command(folder):
    ours = tpucompat_run(folder, write(folder, "print('out')", "my script.py"), "--epochs", "2")
    assert ours.stdout == "out\n"
    assert ours.stderr.count("── tpucompat") == 1
    last = ours.stderr.strip().splitlines()[-1]
    assert re.match(r"next: tpucompat run --cores 8 'my script.py' --epochs 2", last)


def test_the_summary_follows_a_traceback(folder):
    ours = tpucompat_run(folder, write(folder, "1 / 0"))
    assert ours.returncode == 1
    assert ours.stderr.index("ZeroDivisionError") < ours.stderr.index("── tpucompat")


@pytest.mark.parametrize(
    "source, arguments, code",
    [
        ("1 / 0", [], 1),
        ("raise SystemExit(3)", [], 3),
        ("import argparse\nargparse.ArgumentParser().parse_args()", ["--help"], 0),
        ("print(1)  # TensorFlow 2", [], 0),
        ("", ["absent"], 0),
    ],
)
def test_a_next_command_is_named_only_where_there_is_one(folder, source, arguments, code):
    era = ["--era", "tf2"] if "TensorFlow 2" in source else []
    ours = tpucompat_run(folder, *era, write(folder, source), *arguments)
    assert ours.returncode == code
    assert "── tpucompat" in ours.stderr
    assert ("\nnext: " in ours.stderr) == (source == "")


def test_a_folder_with_a_main_file_is_run_as_python_runs_it(folder):
    (folder / "app").mkdir()
    (folder / "app" / "near.py").write_text("value = 5")
    (folder / "app" / "__main__.py").write_text(
        "import sys, near\nprint(sys.argv, near.value, __package__ or None)"
    )
    plain, ours = both(folder, "app", "more")
    assert ours.returncode == 0 and ours.stdout == plain.stdout


def test_the_next_command_keeps_what_is_the_script_s(folder):
    ours = tpucompat_run(folder, "--smoke", write(folder, ""), "--smoke", "1")
    assert re.search(r"\nnext: tpucompat run \S+ --smoke 1 ", ours.stderr)


@pytest.mark.parametrize(
    "source, arguments, named",
    [
        ("", ["--cores", "8"], True),
        ("", ["--map=gs://a=b"], True),
        ("", ["--epochs", "8", "--help"], False),
        (
            "import argparse; a = argparse.ArgumentParser(); a.add_argument('--cores')",
            ["--cores", "8"],
            False,
        ),
        ("from absl import flags; flags.DEFINE_integer('cores', 1, '')", ["--cores=8"], False),
    ],
)
def test_an_option_of_ours_behind_the_script_s_name_is_named(folder, source, arguments, named):
    ours = tpucompat_run(folder, write(folder, source), *arguments)
    assert ours.returncode == 0, ours.stderr
    assert ("follows the script name" in ours.stderr and "[TPU484]" in ours.stderr) == named


def test_what_tensorflow_s_own_code_logs_is_off_unless_asked_for(folder):
    script = write(folder, "import os\nprint(os.environ['TF_CPP_MIN_LOG_LEVEL'])")
    environ = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", environ)
        assert tpucompat_run(folder, "--quiet", script).stdout == "3\n"
        assert tpucompat_run(folder, "--quiet", script, TF_CPP_MIN_LOG_LEVEL="0").stdout == "0\n"


@pytest.mark.parametrize(
    "command",
    ["run", "scan", "migrate", "check", "doctor", "explain", "verify", "convert-checkpoint"],
)
def test_help_texts_are_plain_text(folder, command):
    shown = python(folder, "-m", "tpucompat", command, "--help").stdout
    assert "usage:" in shown.lower() and "``" not in shown


def test_nothing_of_the_user_s_is_changed(folder):
    script = folder / write(folder, "print('x')")
    before = script.read_bytes(), sorted(os.listdir(str(folder)))
    tpucompat_run(folder, "script.py")
    assert (script.read_bytes(), sorted(os.listdir(str(folder)))) == before


def test_the_tpu_s_address_is_there_for_scripts_that_read_it(folder):
    ours = tpucompat_run(
        folder, "--quiet", write(folder, "import os\nprint(os.environ['COLAB_TPU_ADDR'])")
    )
    assert "invalid" in ours.stdout
    ours = tpucompat_run(folder, "--quiet", "script.py", COLAB_TPU_ADDR="10.0.0.2:8470")
    assert ours.stdout == "10.0.0.2:8470\n"


def test_importing_the_package_starts_no_tensorflow(folder):
    done = python(
        folder,
        "-c",
        "import sys, tpucompat; print([m for m in ('tensorflow', 'numpy', 'keras') if m in sys.modules])",
    )
    assert done.stdout == "[]\n"


def test_numbers_have_the_types_of_numpy_1(folder):
    write(folder, "import numpy as np\nscaled = np.ones(2, np.float32) * np.sqrt(2)", "beside.py")
    text = """
    import numpy as np
    import beside
    print(np.uint8(200) + 100, beside.scaled.dtype, "%d %d" % (np.array(4), 2 + np.int64(3)))
    """
    for arguments in ((write(folder, text),), ("-m", "script")):
        ours = tpucompat_run(folder, "--quiet", *arguments)
        assert (ours.stdout, ours.stderr) == ("300 float32 4 5\n", "")
    plain, ours = both(folder, write(folder, "import numpy as np\nnp.ones(2) + np.ones(3)\n"))
    assert "could not be broadcast" in plain.stderr
    assert ours.stderr.count("File ") == plain.stderr.count("File ") == 1


def test_methods_behind_operators_are_the_script_s_own(folder):
    text = """
    import numpy as np
    class Size:
        def __add__(self, other):
            return float(other)  # which NumPy refuses today, and the script is given back
        def __radd__(self, other):
            return int(other)
    print(Size() + np.array([2.0]), 1 + Size())
    """
    ours = tpucompat_run(folder, "--quiet", write(folder, text))
    assert (ours.returncode, ours.stdout) == (0, "2.0 1\n")
    # NumPy 1.25 to 2.3 warns of it, at the script's own line.
    assert (
        not ours.stderr or "script.py:5: DeprecationWarning: Conversion of an array" in ours.stderr
    )


SPAWNING = """
import multiprocessing, sys
import numpy as np

def named(number):
    return number, np.float is float, (np.float32(1) * np.float64(1)).dtype.name, __name__, sys.argv[1:]

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map(named, [1]))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no other way than spawn")
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize("as_module", [False, True])
def test_processes_that_a_script_spawns_see_the_old_names(folder, method, as_module):
    name = write(folder, SPAWNING)
    program = ["-m", "script"] if as_module else [name]
    done = tpucompat_run(folder, "--quiet", *program, method)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"[(1, True, 'float64', '__mp_main__', ['{method}'])]\n"
