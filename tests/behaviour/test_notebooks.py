"""``tpucompat run book.ipynb`` and ``%load_ext tpucompat``, in real kernels and shells."""

import base64
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from tpucompat.base.machine import environment as installed

nbformat = pytest.importorskip("nbformat", reason="the extra [notebook] is not installed")
pytest.importorskip("nbclient", reason="the extra [notebook] is not installed")
pytest.importorskip("ipykernel", reason="the extra [notebook] is not installed")

# The release that a script is told: 1.15.5, or a real TensorFlow 1.x's own.
SHOWN = installed().tensorflow if installed().has("contrib") else "1.15.5"

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def write(folder, *sources, name="book.ipynb", **metadata):
    v4 = nbformat.v4
    notebook = v4.new_notebook(metadata=metadata)
    notebook.cells = [v4.new_code_cell(textwrap.dedent(source).strip()) for source in sources]
    nbformat.write(notebook, str(folder / name))
    return name


def environment(**more):
    path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    settings = dict(PYTHONPATH=path, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1", **more)
    return {**os.environ, **settings}


def run(folder, *arguments, **environ):
    return subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", *arguments],
        cwd=str(folder),
        env=environment(**environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=300,
    )


def outputs(folder, name):
    """The outputs of each cell of an executed notebook: (kind, text or mime types)."""
    found = []
    for cell in nbformat.read(str(folder / name), 4).cells:
        found.append([])
        for output in cell.outputs:
            if output.output_type == "stream":
                found[-1].append((output.name, output.text))
            elif output.output_type == "error":
                found[-1].append(("error", output.ename))
            else:
                found[-1].append((output.output_type, dict(output.data)))
    return found


def test_a_notebook_of_colab(tmp_path):
    (tmp_path / "helper.py").write_text(
        "import tensorflow as tf\nVERSION = tf.__version__\nprint('helper', VERSION)\n"
    )
    book = write(
        tmp_path,
        """
        %tensorflow_version 1.x
        !pip install -q tensorflow==1.13.1 keras==2.2
        !echo hello {1 + 1}
        """,
        """
        import os, sys
        import tensorflow as tf
        import helper
        from google.colab import drive
        drive.mount("content/drive")
        print(tf.__version__, helper.VERSION, os.path.basename(sys.argv[0]), os.getcwd())
        """,
        """
        %%time
        with tf.Session() as session:
            print("sum", session.run(tf.contrib.layers.sum_regularizer and tf.constant(3)))
        """,
        """
        %matplotlib inline
        import matplotlib.pyplot as plt
        plt.plot([1, 2, 3])
        plt.show()
        """,
        """
        tf.gfile.Open("gs://bucket/x.txt", "w").write("text")
        files = !ls bucket
        files
        """,
        """
        !gsutil cp gs://bucket/x.txt copy.txt && cat copy.txt
        !python helper.py && pip --version
        """,
        """
        get_ipython().magic("timeit -n 1 -r 1 1 + 1")
        get_ipython().run_line_magic("matplotlib", "inline")
        """,
    )
    before = (tmp_path / book).read_bytes()
    result = run(tmp_path, book, "--out", "out.ipynb", "--map", "gs://bucket=bucket")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / book).read_bytes() == before
    first, second, third, picture, listed, programs, last = outputs(tmp_path, "out.ipynb")
    assert ("stdout", "hello 2\r\n") in [(kind, text) for kind, text in first] or any(
        "hello 2" in text for _, text in first
    )
    assert "skipped: tensorflow==1.13.1, keras==2.2" in str(first)
    assert f"{SHOWN} {SHOWN} ipykernel_launcher.py {tmp_path.resolve()}" in str(second)
    assert (tmp_path / "drive").is_dir()
    assert "sum 3" in str(third)
    assert "Wall time" in str(third)
    ((kind, data),) = picture
    assert kind == "display_data"
    assert base64.b64decode(data["image/png"])[:4] == b"\x89PNG"
    assert (tmp_path / "bucket" / "x.txt").read_text() == "text"
    assert "x.txt" in str(listed)
    assert (tmp_path / "copy.txt").read_text() == "text"
    said = "".join(text for _, text in programs)
    assert "text" in said and f"helper {SHOWN}" in said
    assert f" from {sys.prefix}" in said  # the interpreter of the notebook
    assert "per loop" in str(last)
    # The same came to the terminal, the picture by name, and the summary knows the kernel's uses.
    for words in ("hello 2", "sum 3", "[cell 4: a picture, image/png"):
        assert words in result.stdout
    assert "TPU436" in result.stderr
    assert "TensorFlow " in result.stderr
    assert "old names: " in result.stderr


def test_a_progress_bar_is_kept_as_it_is_shown(tmp_path):
    book = write(
        tmp_path,
        """
        import sys, time
        from IPython.display import HTML, display
        for part in range(40):
            print("\\b" * 9 + "\\r%d of 40 ..." % (part + 1), end="", flush=True)
            time.sleep(0.01)
        print(" done\\r\\nnext")
        display(HTML("<b>between</b>"))
        print("after", flush=True)
        print("warned", file=sys.stderr)
        1 / 0
        """,
    )
    assert run(tmp_path, book, "--out", "done.ipynb").returncode != 0
    (told,) = outputs(tmp_path, "done.ipynb")
    assert [told[0], told[2:]] == [
        ("stdout", "40 of 40 ... done\r\nnext\n"),
        [("stdout", "after\n"), ("stderr", "warned\n"), ("error", "ZeroDivisionError")],
    ]
    assert told[1][1]["text/html"] == "<b>between</b>"


def test_a_cell_that_fails(tmp_path):
    book = write(tmp_path, "print('before')", "open('absent.txt')", "print('after')")
    result = run(tmp_path, "--quiet", "--out", "out.ipynb", book)
    assert result.returncode == 1
    assert "before" in result.stdout
    assert "after" not in result.stdout
    lines = result.stderr.strip().split("\n")
    assert lines[-2].startswith("FileNotFoundError")
    assert lines[-1].startswith("tpucompat: cell 2 of book.ipynb failed.")
    assert lines[-1].endswith("[TPU444]")
    assert "\x1b" not in result.stderr
    first, second, third = outputs(tmp_path, "out.ipynb")
    assert first == [("stdout", "before\n")]
    assert second == [("error", "FileNotFoundError")]
    assert third == []


def test_the_error_of_a_cell_is_shown_in_a_few_lines(tmp_path):
    (tmp_path / "helper.py").write_text(
        "import numpy as np, tensorflow as tf\n"
        "def train():\n"
        "    model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(4,))])\n"
        "    model.compile('sgd', 'mse')\n"
        "    return model.fit(np.ones((4, 5)), np.ones((4, 3)))\n"
    )
    book = write(tmp_path, "import helper\ndef go():\n    return helper.train()", "go()")
    result = run(tmp_path, "--out", "out.ipynb", book)
    lines = result.stderr.rstrip().split("\n")
    assert len(lines) <= 25 and "site-packages" not in result.stderr
    assert lines[0] == "Traceback, lines of the notebook only:"  # and no log of TensorFlow's before
    assert [line for line in lines if "----> 5 return model.fit" in line]
    assert [line for line in lines if line.startswith("ValueError: Error when checking input")]
    (kept,) = [line.split()[6].rstrip(";") for line in lines if "the full traceback is in" in line]
    assert "site-packages" in pathlib.Path(kept).read_text(encoding="utf-8")
    pathlib.Path(kept).unlink()
    error = nbformat.read(str(tmp_path / "out.ipynb"), 4).cells[1].outputs[-1]
    assert len(error.traceback) > 5  # the notebook has the whole
    assert "site-packages" in run(tmp_path, "--quiet", "--traceback", book).stderr


def test_what_failed_before_is_named(tmp_path):
    book = write(
        tmp_path,
        "!false && git clone x || curl -s file:///absent/there",
        "import google.nothing",
        "%%bash\ncurl -s file:///absent/there",
    )
    result = run(tmp_path, "--quiet", book)
    assert result.returncode == 1
    assert "tpucompat/" not in result.stderr  # no lines of ours in the traceback
    last = result.stderr.strip().split("\n")[-1]
    assert "after exit code 37 from !false && git clone" in last
    assert last.endswith("[TPU447]")


def test_a_cell_that_fails_for_a_reason_of_its_own(tmp_path):
    book = write(tmp_path, "assert not 'so'")
    last = run(tmp_path, "--quiet", book).stderr.strip().split("\n")[-1]
    assert last.startswith("tpucompat: cell 1 of book.ipynb failed.") and last.endswith("[TPU432]")
    assert "Fix the cell" in last


def test_a_kernel_that_ends(tmp_path):
    book = write(tmp_path, "print('before')", "import os\nos._exit(3)")
    result = run(tmp_path, "--quiet", book, "--out", "out.ipynb")
    assert result.returncode == 1
    assert "the kernel died in cell 2 of book.ipynb" in result.stderr
    assert "TPU433" in result.stderr
    assert "Traceback" not in result.stderr
    assert outputs(tmp_path, "out.ipynb")[0] == [("stdout", "before\n")]


def test_ctrl_c_reaches_the_cell(tmp_path):
    book = write(tmp_path, "print('ready', flush=True)\nimport time\ntime.sleep(100)")
    process = subprocess.Popen(
        [sys.executable, "-m", "tpucompat", "run", "--quiet", "--out", "out.ipynb", book],
        cwd=str(tmp_path),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "KeyboardInterrupt" in errors
    assert outputs(tmp_path, "out.ipynb")[0][-1] == ("error", "KeyboardInterrupt")


@pytest.mark.parametrize(
    "content, code, words",
    [
        ("<!DOCTYPE html>", "TPU431", "is not a notebook"),
        ('{"cells": [}', "TPU431", "is not a notebook"),
        (None, "TPU420", "No such file"),
    ],
)
def test_what_is_no_notebook(tmp_path, content, code, words):
    if content is not None:
        (tmp_path / "book.ipynb").write_text(content)
    result = run(tmp_path, "book.ipynb")
    assert result.returncode == 2
    assert code in result.stderr
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_python_2_is_said_before_anything_runs(tmp_path):
    book = write(
        tmp_path,
        "open('ran', 'w')",
        "print 'hello'",
        kernelspec={"name": "python2", "display_name": "2"},
    )
    result = run(tmp_path, book)
    assert result.returncode == 2
    assert "TPU434" in result.stderr
    assert "cell 2, line 1: print 'hello'" in result.stderr
    assert not (tmp_path / "ran").exists()


def test_a_notebook_of_format_3(tmp_path):
    cell = {"cell_type": "code", "input": ["print(6 * 7)"], "outputs": [], "language": "python"}
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": [cell]}]}
    (tmp_path / "book.ipynb").write_text(json.dumps(old))
    result = run(tmp_path, "--quiet", "book.ipynb")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "42\n"


def test_fields_of_a_form(tmp_path):
    book = write(
        tmp_path,
        """
        BUCKET = 'gs://' #@param {type:"string"}
        steps = 100 #@param {type:"integer"}
        assert len(BUCKET) > len('gs://'), 'You need a bucket'
        print(BUCKET, steps)
        """,
    )
    done = run(tmp_path, book, "--form", "BUCKET=gs://mine", "--form=steps=3", "--out", "out.ipynb")
    assert done.returncode == 0, done.stderr
    assert outputs(tmp_path, "out.ipynb")[0][0] == ("stdout", "gs://mine 3\n")
    kept, executed = (nbformat.read(str(tmp_path / name), 4) for name in (book, "out.ipynb"))
    assert "BUCKET = 'gs://' #@param" in kept.cells[0].source
    assert "BUCKET = 'gs://mine' #@param" in executed.cells[0].source
    done = run(tmp_path, book, "--form", "bucket=gs://mine", "--out", "none.ipynb")
    assert done.returncode == 2
    assert "TPU429" in done.stderr and "BUCKET, steps" in done.stderr
    assert not (tmp_path / "none.ipynb").exists()


def test_the_executed_notebook_cannot_be_written(tmp_path):
    book = write(tmp_path, "open('ran', 'w')")
    result = run(tmp_path, book, "--out", "absent/out.ipynb")
    assert result.returncode == 2
    assert "TPU431" in result.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "arguments",
    [["book.ipynb", "an", "argument"], ["--out", "x", "script.py"], ["book.ipynb", "--map", "x"]],
)
def test_options_that_do_not_fit(tmp_path, arguments):
    write(tmp_path, "1")
    (tmp_path / "script.py").write_text("")
    assert run(tmp_path, *arguments).returncode == 2


SHELL = """
def fetch(place):
    !curl -s file://{place}
    return 7
"""


@pytest.mark.parametrize("how", ["run", "name", "skip"])
def test_shell_lines_that_fetch(tmp_path, how):
    (tmp_path / "data.txt").write_text("the data")
    book = write(
        tmp_path,
        SHELL,
        f"print(fetch('{tmp_path}/data.txt'), fetch('{tmp_path}/absent'))",
        f"found = !curl -s file://{tmp_path}/data.txt\nprint(found)",
        f"%%bash\ncurl -s file://{tmp_path}/data.txt\necho and more",
    )
    result = run(tmp_path, book, "--shell", how)
    assert result.returncode == 0, result.stderr
    assert "7 7" in result.stdout
    assert "and more" in result.stdout
    assert result.stdout.count("the data") == (0 if how == "skip" else 3)
    failed = "exit code 37 from !curl -s file://{place}"
    assert (failed in result.stderr) is (how != "skip")
    assert ("left out: !curl" in result.stderr) is (how == "skip")
    assert ("run: !curl" in result.stderr) is (how == "name")
    assert "[TPU435]" in result.stderr


LIVE = """
import sys, warnings
warnings.simplefilter("ignore")
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
def cell(source):
    result = shell.run_cell(source)
    if not result.success:
        sys.exit(1)
cell("%load_ext tpucompat")
cell("%reload_ext tpucompat")
cell("%tensorflow_version 2.x")
cell("import tpucompat; print('era', tpucompat.installed().era)")
cell("%tensorflow_version 1.x")
cell("!pip install tensorflow==1.13.1")
cell(" x = [1,\\n      2]\\nprint('sum', sum(x))")
cell("import tensorflow as tf; print('version', tf.__version__)")
cell("import tensorflow as tf; print('again', tf.placeholder.__name__)")
cell("%tensorflow_version 2.x")
cell("print('still', tpucompat.installed().era)")
cell("%unload_ext tpucompat")
cell("print('left', tpucompat.installed(), len(shell.ast_transformers))".replace("shell", "get_ipython()"))
"""


def test_numbers_have_the_types_of_numpy_1(tmp_path):
    book = write(
        tmp_path,
        "import numpy as np\nimport tensorflow as tf",
        "pixel = np.uint8(200)\npixel += 100\nscaled = np.ones(2, np.float32) * np.sqrt(2)",
        "print(pixel, scaled.dtype)\nnp.uint8(255) + 1",
    )
    result = run(tmp_path, book, "--out", "out.ipynb")
    assert result.returncode == 0, result.stderr
    assert outputs(tmp_path, "out.ipynb")[-1] == [
        ("stdout", "300 float32\n"),
        ("execute_result", {"text/plain": "256"}),
    ]


def test_in_a_live_notebook(tmp_path):
    (tmp_path / "live.py").write_text(LIVE)
    result = subprocess.run(
        [sys.executable, "live.py"],
        cwd=str(tmp_path),
        env=environment(IPYTHONDIR=str(tmp_path / "ipython")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    said = [line for line in result.stdout.split("\n") if line.split(" ")[0] in WORDS]
    assert said[0] == "era tf2"
    assert said[1] == "sum 3"
    assert said[2].startswith(f"version {SHOWN[:4]}")
    assert said[3].startswith("again")
    assert said[4] == "still tf1"
    assert said[5] == "left None 0"
    assert result.stderr.count("skipped: tensorflow==1.13.1") == 1
    assert "TPU437" in result.stderr


WORDS = ("era", "sum", "version", "again", "still", "left")
