"""Feeds made-up inputs to everything that reads files and settings of strangers, and watches what it does.

    python tools/fuzz.py migrate:0:1000 scan:0:1000 [--out FILE]   # inputs 0 to 999 of two kinds
    python tools/fuzz.py migrate:517                               # one input again, with what went wrong
    python tools/fuzz.py --table FILE                              # the table of docs/reliability.md

An input is made from its kind and number alone. A failure is: an exception that is none of the documented
ones, an exit code that is none, more than five seconds of the processor's time for each 100 kB, a file written
outside of the input's folder, a connection, and for `migrate` a second pass that changes something or a
rewriting that is no Python. `--out` gathers the figures of several runs, one line each; a run leaves out what
FILE has already.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import glob
import io
import json
import os
import random
import re
import resource
import signal
import socket
import sys
import tempfile
import textwrap
import time
import traceback
import warnings
import zipfile
from typing import Any, Callable, Iterator

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)
sys.dont_write_bytecode = True

from tpucompat.base import cluster  # noqa: E402
from tpucompat.base.errors import TPUCompatError  # noqa: E402
from tpucompat.commands.cli import console, convert_checkpoint, migrate, scan  # noqa: E402
from tpucompat.commands.migrate import resolution  # noqa: E402

SECONDS = 5.0  # for each 100 kB, at least once
MEMORY = 4 << 30
FOLDERS = ("legacy_examples", "migrated_examples", "tests/behaviour/programs", "tpucompat/standins")

#: Pieces that old programs have, and what is seldom in one.
WORDS = """
import tensorflow as tf|import tensorflow.compat.v1 as tf|import keras, os|from keras.layers import *|tf|np
from tensorflow.contrib import tpu as contrib_tpu|import tensorflow.contrib.slim as slim|import numpy as np
from tensorflow.python.keras import layers|try:|except ImportError:|finally:|else:|if tf.__version__ < '2':
tf.contrib.tpu.keras_to_tpu_model(m)|tf.contrib.tpu.TPUDistributionStrategy(r)|x = tf.abs(1) if y else tf.exp
tf.contrib.cluster_resolver.TPUClusterResolver('grpc://' + os.environ['COLAB_TPU_ADDR'])|np.float(1)|os|if x:
tf.log(1)|tf.layers.dense(x, 1)|tf.placeholder(tf.float32, [None])|h.history['acc']|m.compile('sgd', 'mse')
m.fit_generator(g, steps_per_epoch=2)|m = tf.keras.Sequential([])|tf.train.AdamOptimizer(1, beta1=0.9)|return
with tf.Session() as s: pass|def f(x, *y, **z): pass|class A(tf.keras.Model): pass|f = lambda x: tf.exp(x)
@tf.function|async def g(): await x|yield|f'{tf.log(1)!r:>{x}}'|x = y = tf.abs|(|)|[|]|{|}|,|:|=|.|**|@|:=|->|;
global tf|del tf|tf = None|tf.contrib|getattr(tf, 'log')(1)|__import__('tensorflow').log|%tensorflow_version 1.x
!pip install x|tf.contrib.layers.fully_connected(x, 3)|tf.contrib.slim.conv2d(x, 3, 3)|# x|tf.erf(tf.lgamma(x))
"""
WORD_LIST = [word for word in WORDS.replace("\n", "|").split("|") if word]
NAME = re.compile(r"\b(tf|np|keras|layers|model|os)(\.\w+)+")
STRANGE = [
    "\0",
    "\ufeff",
    "\u2028",
    "\x0c",
    "\r",
    "\r\n",
    "\t",
    "\x85",
    "é",
    "𝒳",
    "\ud800",
    "\\\n",
    '"""',
    "'",
    "0x",
    "\x1a",
]
PLACES = [
    "pyproject.toml",
    "../out",
    "/etc/passwd",
    "gs://b/x",
    "",
    "a" * 300,
    "\0",
    "ä\n",
    "-",
    "*",
]


class Hang(BaseException):
    """The time is over."""


class Watch:
    """What is written, and who is called, while an input is read."""

    def __init__(self) -> None:
        self.folder = ""
        self.seen: list[str] = []
        sys.addaudithook(self.hook)

    def hook(self, event: str, given: tuple[Any, ...]) -> None:
        """Notes what nobody should do."""
        if not self.folder:
            return
        paths: list[Any] = []
        if event == "open":
            path, mode, flags = given
            wants = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
            if (isinstance(mode, str) and set(mode) & set("wax+")) or (flags or 0) & wants:
                paths = [path]
        elif event in (
            "os.remove",
            "os.rmdir",
            "os.mkdir",
            "os.truncate",
            "os.chmod",
            "shutil.rmtree",
        ):
            paths = [given[0]]
        elif event in ("os.rename", "os.link"):
            paths = list(given[:2])
        elif event in (
            "socket.connect",
            "socket.getaddrinfo",
            "subprocess.Popen",
            "os.exec",
            "os.system",
        ):
            self.seen.append(f"{event} {given!r}"[:200])
        for path in paths:
            if isinstance(path, int) or path is None:
                continue
            real = os.path.realpath(os.fsdecode(path))
            if real != os.devnull and not (real + os.sep).startswith(self.folder + os.sep):
                self.seen.append(f"{event} {real}")


class Failure(Exception):
    """An input that was not treated as it should be."""


def is_python(data: bytes) -> bool:
    """Whether the parser takes it."""
    try:
        ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


# Inputs ----------------------------------------------------------------------------------------------


def corpus() -> list[str]:
    """The statements of this project's old and new programs that are not long."""
    found = []
    for folder in FOLDERS:
        for path in sorted(glob.glob(os.path.join(ROOT, folder, "*.py"))):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            lines = text.splitlines(True)
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.stmt) and (node.end_lineno or 0) - node.lineno < 20:
                    found.append(textwrap.dedent("".join(lines[node.lineno - 1 : node.end_lineno])))
    return found


STATEMENTS = corpus()
WHOLE = [word for word in WORD_LIST if is_python(word.encode())]
NAMES = sorted({match.group() for text in STATEMENTS for match in NAME.finditer(text)})
AROUND = [
    "def f(x):\n", "class A(object):\n", "if x:\n", "with tf.Graph().as_default():\n", "for x in y:\n",
    "try:\n", "if tf.__version__ < '2':\n", "async def f():\n", "while 1:\n",
]  # fmt: skip


def text_of(draw: random.Random) -> str:
    """A text that is a program for the most part, of old names in places where they are seldom."""
    parts = []
    whole = draw.random() < 0.6
    for _ in range(draw.randint(1, 6)):
        part = draw.choice(STATEMENTS if draw.random() < 0.6 else WHOLE if whole else WORD_LIST)
        part = part if part.endswith("\n") else part + "\n"
        while draw.random() < 0.25:
            around = draw.choice(AROUND)
            part = around + textwrap.indent(part, draw.choice(["  ", "    ", "\t"]))
            part += "except ImportError:\n  pass\n" if around == "try:\n" else ""
        if draw.random() < 0.5:
            part = NAME.sub(lambda match: draw.choice([match.group(), draw.choice(NAMES)]), part)
        parts.append(part)
    text = "".join(parts)
    if draw.random() < 0.8:
        text = "import tensorflow as tf\nimport numpy as np\n" + text
    if draw.random() < 0.2:
        text = text.replace("\n", draw.choice(["\r\n", "\r", "\n\n", " # tf.log\n"]))
    if draw.random() < 0.1:
        text = text.rstrip("\n")
    return text if whole else worse(draw, text)


def worse(draw: random.Random, text: str) -> str:
    """A text with something cut out, put in twice, or put in."""
    for _ in range(draw.choice([1, 1, 2, 4])):
        a, b = sorted(draw.randint(0, len(text)) for _ in range(2))
        b = min(b, a + draw.choice([1, 8, 200]))
        way = draw.randrange(5)
        if way == 0:
            text = text[:a] + text[b:]
        elif way == 1:
            text = text[:b] + text[a:]
        elif way == 2:
            text = text[:a] + draw.choice(STRANGE) + text[a:]
        elif way == 3:
            text = text[:a] + draw.choice(WORD_LIST) + text[b:]
        else:
            text = text[:a] + text[a:b] * draw.choice([2, 3, 300 if b - a < 30 else 2]) + text[b:]
    return text


def bytes_of(draw: random.Random, text: str) -> bytes:
    """A text in some encoding, seldom a wrong one."""
    way = draw.randrange(20)
    if way == 0:
        return b"# -*- coding: latin-1 -*-\n" + text.encode("latin-1", "replace")
    if way == 1:
        return text.encode("utf-16", "surrogatepass")
    if way == 2:
        return (
            b"# coding: "
            + draw.choice([b"none", b"rot13", b"utf-7", b"big5", b"\xff"])
            + b"\n"
            + text.encode("utf-8", "replace")
        )
    if way == 3:
        return b"\xef\xbb\xbf" + text.encode("utf-8", "replace")
    if way == 4:
        return damaged(draw, text.encode("utf-8", "replace"))
    return text.encode("utf-8", "surrogatepass" if way == 5 else "replace")


def damaged(draw: random.Random, data: bytes) -> bytes:
    """Bytes with some changed, cut off, or put in twice."""
    changed = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 8])):
        if not changed:
            break
        at = draw.randrange(len(changed))
        way = draw.randrange(5)
        if way == 0:
            changed[at] = draw.randrange(256)
        elif way == 1:
            changed[at] ^= 1 << draw.randrange(8)
        elif way == 2:
            del changed[at : at + draw.choice([1, 4, 400])]
        elif way == 3:
            changed[at:at] = bytes(changed[at : at + draw.choice([1, 8, 100])])
        else:
            changed[at : at + 8] = draw.choice([b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7])
    return bytes(changed)


def value_of(draw: random.Random, depth: int = 0) -> Any:
    """Something that JSON can say."""
    plain = [
        None,
        True,
        False,
        0,
        -1,
        7,
        1e308,
        10**30,
        "",
        "²",
        "0",
        "worker",
        "a:1",
        "grpc://a:8470",
        "\0",
        "\ud800",
    ]
    way = draw.randrange(6 if depth < 4 else 3)
    if way < 4:
        return draw.choice(plain)
    if way == 4:
        return [value_of(draw, depth + 1) for _ in range(draw.randrange(4))]
    keys = ["cluster", "task", "type", "index", "worker", "chief", "master", "ps", "0", "x", "²"]
    return {draw.choice(keys): value_of(draw, depth + 1) for _ in range(draw.randrange(4))}


# What reads them -------------------------------------------------------------------------------------


def command(main: Callable[[list[str]], int], words: list[str]) -> int:
    """Runs a command in this process; its exit code."""
    try:
        code = main(words)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 3
    if code not in (0, 1, 2):
        raise Failure(f"exit code {code!r} of {words}")
    return code


def write(path: str, data: bytes) -> str:
    """Writes a file; its path."""
    with open(path, "wb") as file:
        file.write(data)
    return path


def scanned(draw: random.Random, folder: str) -> str:
    """`tpucompat scan` of a script."""
    path = write(os.path.join(folder, "script.py"), bytes_of(draw, text_of(draw)))
    way = draw.choice([[], ["--format", "json"], ["--format", "sarif"], ["--format", "github"]])
    return str(command(scan.main, [path, *way]))


def migrated(draw: random.Random, folder: str) -> str:
    """`tpucompat migrate --write` of a script, twice."""
    path = write(os.path.join(folder, "script.py"), bytes_of(draw, text_of(draw)))
    return rewritten(path, draw.choice([[], [], ["--unsafe"]]))


def rewritten(path: str, options: list[str]) -> str:
    """Two passes over a file; the second has nothing to do."""
    before = read(path)
    code = command(migrate.main, [path])
    code = max(code, command(migrate.main, [path, "--write", *options]))
    after = read(path)
    if is_python(before) and path.endswith(".py") and not is_python(after):
        raise Failure("what was written is no Python")
    command(migrate.main, [path, "--write", *options])
    if read(path) != after:
        raise Failure("a second pass changes something")
    return f"{code} {'rewritten' if after != before else 'left'}"


def read(path: str) -> bytes:
    """The bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


def notebook(draw: random.Random, folder: str) -> str:
    """Both commands on a notebook."""
    cells = []
    for _ in range(draw.randint(0, 4)):
        source: Any = text_of(draw)[:600]
        if draw.random() < 0.4:
            source = source.splitlines(True)
        cell: dict[str, Any] = {
            "cell_type": draw.choice(["code", "code", "code", "markdown", 3]),
            "source": source,
        }
        if draw.random() < 0.7:
            cell.update(metadata={}, outputs=[], execution_count=None)
        if draw.random() < 0.05:
            cell = value_of(draw)
        cells.append(cell)
    book: Any = {
        "nbformat": draw.choice([4, 4, 4, 3, "4", None]),
        "nbformat_minor": 2,
        "metadata": {},
        "cells": cells,
    }
    if draw.random() < 0.1:
        book = {
            "nbformat": 3,
            "worksheets": [
                {
                    "cells": [
                        {"cell_type": "code", "input": cell.get("source", "")}
                        for cell in cells
                        if isinstance(cell, dict)
                    ]
                }
            ],
        }
    if draw.random() < 0.05:
        book = value_of(draw)
    data = json.dumps(book, indent=draw.choice([None, 1, 4])).encode()
    if draw.random() < 0.15:
        data = damaged(draw, data)
    path = write(os.path.join(folder, "book.ipynb"), data)
    command(scan.main, [path])
    return rewritten(path, [])


def tree(draw: random.Random, folder: str) -> str:
    """Both commands on a folder with links, pipes and strange names."""
    inside, outside = os.path.join(folder, "tree"), os.path.join(folder, "outside")
    for name in (inside, outside, os.path.join(inside, "deep")):
        os.mkdir(name)
    kept = write(os.path.join(outside, "kept.py"), b"import tensorflow as tf\ntf.log(1)\n")
    for number in range(draw.randint(1, 5)):
        where = draw.choice([inside, os.path.join(inside, "deep")])
        name = os.path.join(
            where,
            draw.choice(["a", "b.c", "ä", " ", "-x", "\udcff", "x" * 200])
            + str(number)
            + draw.choice([".py", ".ipynb", ".PY", ""]),
        )
        way = draw.randrange(8)
        if way < 4:
            write(name, bytes_of(draw, text_of(draw)))
        elif way == 4:
            os.symlink(
                draw.choice([kept, outside, "/", "..", ".", name, "/etc", "/dev/zero", "nowhere"]),
                name,
            )
        elif way == 5:
            os.mkfifo(name)
        elif way == 6:
            os.mkdir(name)
        else:
            os.symlink(draw.choice([os.path.join(inside, "deep"), inside]), name)
    code = command(scan.main, [inside])
    command(migrate.main, [inside, "--write"])
    first = {path: read(path) for path in files_below(inside)}
    command(migrate.main, [inside, "--write"])
    if first != {path: read(path) for path in files_below(inside)}:
        raise Failure("a second pass changes something")
    if read(kept) != b"import tensorflow as tf\ntf.log(1)\n" or os.listdir(outside) != ["kept.py"]:
        raise Failure("a file outside of the tree was changed")
    return str(code)


def files_below(folder: str) -> Iterator[str]:
    """The plain files, no links followed."""
    for where, _, names in os.walk(folder):
        for path in (os.path.join(where, name) for name in names):
            if os.path.isfile(path) and not os.path.islink(path):
                yield path


def pyproject(draw: random.Random, folder: str) -> str:
    """Settings of an untrusted tree."""
    lines = []
    for _ in range(draw.randint(0, 5)):
        key = draw.choice(
            [
                "select",
                "ignore",
                "exclude",
                "other",
                "tool.x",
                "'a b'",
                "[tool.tpucompat]",
                "[tool]",
                "[[tool.tpucompat]]",
            ]
        )
        value = draw.choice(
            [
                "['TPU2']",
                '["*.py"]',
                "[1]",
                "'TPU'",
                "[",
                "]",
                "true",
                "{a=1}",
                "['a','b',]",
                '"""',
                "['[']",
                "1e9999",
                "['\\u0000']",
                "[" * 300,
                "['" + "*" * 200 + "']",
            ]
        )
        lines.append(key if key[0] == "[" else f"{key} = {value}")
    text = draw.choice(
        ["", "[tool.tpucompat]\n", "tool = 3 # [tool.tpucompat]\n", "tool.tpucompat = 3\n"]
    ) + "\n".join(lines)
    data = text.encode()
    if draw.random() < 0.3:
        data = damaged(draw, data + b"\n")
    write(os.path.join(folder, "pyproject.toml"), data)
    path = write(os.path.join(folder, "script.py"), b"import tensorflow as tf\ntf.log(1)\n")
    return str(max(command(scan.main, [path]), command(migrate.main, [path])))


def tf_config(draw: random.Random, folder: str) -> str:
    """TF_CONFIG of a cluster, intact and damaged."""
    given: Any = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}
    for _ in range(draw.randint(0, 3)):
        where: Any = draw.choice([given, given["cluster"], given["task"]])
        if isinstance(where, dict):
            where[
                draw.choice(
                    ["cluster", "task", "type", "index", "worker", "chief", "ps", "evaluator"]
                )
            ] = value_of(draw)
        if not all(isinstance(given.get(key), dict) for key in ("cluster", "task")):
            break
    text = json.dumps(given if draw.random() < 0.8 else value_of(draw))
    if draw.random() < 0.2:
        text = damaged(draw, text.encode()).decode("latin-1")
    if draw.random() < 0.02:
        text = "[" * draw.choice([10, 100000])
    os.environ[cluster.VARIABLE] = text.replace("\0", "")
    try:
        found = cluster.cluster()
        cluster.without_cluster()
        return "none" if found is None else "a cluster"
    except TPUCompatError as error:
        return error.code
    finally:
        del os.environ[cluster.VARIABLE]


def resolver(draw: random.Random, folder: str) -> str:
    """Names and addresses of TPUs, and their settings."""
    from tpucompat.idioms.startup import cluster_resolver

    names = [
        None,
        "",
        "local",
        "grpc://10.0.0.2:8470",
        "node-1",
        "grpc://",
        "a" * 5000,
        "http://x:y@z",
        "::1",
        "grpc://[::1]:8470",
        b"node",
        b"\xff",
        "²",
        "a,b",
        "a\nb",
        "\ud800",
        7,
        [],
        ["a"],
        ["a", "b"],
        [None],
        [7],
        {},
        "10.0.0.2:99999999999",
        "grpc://a:-1",
        "a b",
    ]
    settings = [
        "TPU_NAME",
        "COLAB_TPU_ADDR",
        "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS",
        "TPUCOMPAT_NO_TPU",
        "TPUCOMPAT_CORES",
    ]
    values = ["", "0", "1", "8", "-1", "²", "x", "grpc://a:1,grpc://b:2", "a" * 999]
    before = dict(os.environ)
    for name in draw.sample(settings, draw.randint(0, 2)):
        os.environ[name] = draw.choice(values)
    try:
        made = cluster_resolver.TPUClusterResolver(
            draw.choice(names),
            draw.choice([None, "z", ""]),
            None,
            draw.choice(["worker", "", "coordinator"]),
        )
        for ask in (
            made.master,
            made.get_master,
            made.cluster_spec,
            made.num_accelerators,
            made.get_job_name,
        ):
            ask()
        return "a resolver"
    except (ValueError, TypeError, NotImplementedError, TPUCompatError) as error:
        return type(error).__name__
    finally:
        os.environ.clear()
        os.environ.update(before)


def checkpoints(folder: str) -> None:
    """Small checkpoints of each format, to be damaged."""
    import h5py
    import numpy as np

    os.makedirs(folder)
    plain = os.path.join(folder, "w.h5")
    with h5py.File(plain, "w") as file:
        group = file.create_group("dense")
        file.attrs["layer_names"] = [b"dense"]
        group.attrs["weight_names"] = [b"dense/kernel:0", b"dense/bias:0"]
        group["dense/kernel:0"] = np.arange(12, dtype="float32").reshape(3, 4)
        group["dense/bias:0"] = np.zeros(4, "float32")
        file.create_dataset("chunked", data=np.arange(1000), chunks=(100,), compression="gzip")
    from tpucompat.commands.checkpoints import conversion

    values = {"dense/kernel": np.ones([3, 4], "float32"), "global_step": np.int64(7)}
    conversion._write_tf1(os.path.join(folder, "m.ckpt"), values)
    with zipfile.ZipFile(os.path.join(folder, "m.keras"), "w") as archive:
        archive.write(plain, "model.weights.h5")
        archive.writestr("config.json", "{}")
        archive.writestr("metadata.json", '{"keras_version": "3.0.0"}')


MADE: list[str] = []


def checkpoint(draw: random.Random, folder: str) -> str:
    """`convert-checkpoint` of a damaged file, in its subprocess."""
    source = draw.choice(MADE)
    name = os.path.join(folder, os.path.basename(source))
    parts = glob.glob(source + ".*") if source.endswith(".ckpt") else [source]
    hit = draw.choice(parts)
    for part in parts:
        data = read(part)
        write(
            os.path.join(folder, os.path.basename(part)),
            damaged(draw, data) if part == hit else data,
        )
    target = os.path.join(folder, draw.choice(["out.h5", "out.ckpt"]))
    words = [name, target, *([] if target.endswith(".h5") else ["--to", "tf1"])]
    child = os.fork()
    if child == 0:
        code = 99
        try:
            for kind, most in ((resource.RLIMIT_CPU, 20), (resource.RLIMIT_CORE, 0)):
                resource.setrlimit(kind, (most, most))
            with open(os.devnull, "w") as nothing:
                os.dup2(nothing.fileno(), 2)
            code = command(convert_checkpoint.convert, words)
            if WATCH is not None and WATCH.seen:
                code = 98
        except BaseException:
            with open(os.path.join(folder, "trace"), "w") as file:
                traceback.print_exc(file=file)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return (
            f"ended by {signal.Signals(os.WTERMSIG(status)).name}: TPU488"  # which the command says
        )
    code = os.WEXITSTATUS(status)
    if code == 99:
        raise Failure(read(os.path.join(folder, "trace")).decode()[-1500:])
    if code not in (0, 2):
        raise Failure(f"exit code {code}")
    return str(code)


KINDS: dict[str, Callable[[random.Random, str], str]] = {
    "scan": scanned,
    "migrate": migrated,
    "notebook": notebook,
    "tree": tree,
    "checkpoint": checkpoint,
    "pyproject": pyproject,
    "tf_config": tf_config,
    "resolver": resolver,
}

# The campaign ----------------------------------------------------------------------------------------

WATCH: Watch | None = None


def over(number: int, frame: Any) -> None:
    """The time is over."""
    raise Hang


def one(kind: str, number: int) -> tuple[str, float, int, str]:
    """Treats one input.

    Returns:
      What came of it, the processor's seconds, the size of the input, and what was wrong; "" for nothing.
    """
    assert WATCH is not None
    draw = random.Random(f"{kind}:{number}")
    wrong, came, size = "", "", 0
    with tempfile.TemporaryDirectory() as made, contextlib.redirect_stdout(io.StringIO()) as out:
        folder = os.path.realpath(made)
        if kind != "resolver" and kind != "tf_config":
            os.chdir(folder)
        WATCH.folder, WATCH.seen = folder, []
        signal.setitimer(signal.ITIMER_REAL, 300)
        start = time.process_time()
        try:
            with contextlib.redirect_stderr(out):
                came = KINDS[kind](draw, folder)
        except Hang:
            wrong = "does not end"
        except Failure as error:
            wrong = str(error)
        except BaseException:
            wrong = traceback.format_exc()
        taken = time.process_time() - start
        signal.setitimer(signal.ITIMER_REAL, 0)
        WATCH.folder = ""
        with contextlib.suppress(OSError):
            size = sum(os.path.getsize(path) for path in files_below(folder))
        passes = {"migrate": 3, "notebook": 4, "tree": 3}.get(kind, 1)
        if not wrong and taken / passes > SECONDS * max(1.0, size / 1e5):
            wrong = f"{taken:.1f} s for {size} bytes in {passes} passes"
        if not wrong and WATCH.seen:
            wrong = f"outside: {WATCH.seen[:3]}"
        os.chdir(ROOT)
    return came, taken / passes, size, wrong


def run(kind: str, start: int, end: int) -> dict[str, Any]:
    """Treats a range of inputs; the figures."""
    came: collections.Counter[str] = collections.Counter()
    slowest, size, failures = 0.0, 0, []
    bar = console.Progress()
    for number in range(start, end):
        bar.show(number - start, end - start, f"{kind}:{number}, {len(failures)} failures")
        said, seconds, length, wrong = one(kind, number)
        came[said] += 1
        slowest, size = max(slowest, seconds), size + length
        if wrong:
            failures.append([number, wrong])
            bar.close()
            print(f"{kind}:{number}: {wrong}", file=sys.stderr, flush=True)
    bar.close()
    return {
        "kind": kind,
        "start": start,
        "end": end,
        "came": came,
        "slowest": slowest,
        "bytes": size,
        "failures": failures,
    }


def table(path: str) -> Iterator[str]:
    """The figures of all runs, as a table of the guide."""
    sums: dict[str, dict[str, Any]] = {}
    with open(path, encoding="utf-8") as file:
        for line in map(json.loads, file):
            has = sums.setdefault(
                line["kind"],
                {
                    "count": 0,
                    "bytes": 0,
                    "slowest": 0.0,
                    "failures": 0,
                    "came": collections.Counter(),
                },
            )
            has["count"] += line["end"] - line["start"]
            has["bytes"] += line["bytes"]
            has["failures"] += len(line["failures"])
            has["slowest"] = max(has["slowest"], line["slowest"])
            has["came"].update(line["came"])
    yield "| command and input | inputs | bytes | longest (s of CPU time) | failures |"
    yield "|---|---|---|---|---|"
    for kind in filter(sums.get, KINDS):
        has = sums[kind]
        what = (KINDS[kind].__doc__ or "").split("\n")[0].rstrip(".")
        yield f"| {what} | {has['count']:,} | {has['bytes']:,} | {has['slowest']:.2f} | {has['failures']} |"
    total = [sum(has[key] for has in sums.values()) for key in ("count", "bytes", "failures")]
    slowest = max(has["slowest"] for has in sums.values())
    yield f"| total | {total[0]:,} | {total[1]:,} | {slowest:.2f} | {total[2]} |"


def asked(word: str) -> tuple[str, int, int]:
    """KIND:START:END, or KIND:NUMBER for one input.

    Raises:
      ValueError: No input is asked for.
    """
    kind, *numbers = word.split(":")
    if kind not in KINDS:
        raise ValueError(f"{word}: unknown kind; choose from {', '.join(KINDS)}")
    if len(numbers) not in (1, 2) or not all(map(str.isdecimal, numbers)):
        raise ValueError(f"{word}: expected KIND:START:END or KIND:NUMBER")
    first, last = int(numbers[0]), int(numbers[-1]) + (len(numbers) == 1)
    if first >= last:
        raise ValueError(f"{word}: no input; END is not a count, and comes after START")
    return kind, first, last


def main(argv: list[str]) -> int:
    """Runs what is asked for; 1 if there was a failure."""
    global WATCH
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", metavar="KIND:START:END", help=", ".join(KINDS))
    parser.add_argument("--out", metavar="FILE")
    parser.add_argument("--table", metavar="FILE")
    options = parser.parse_args(argv)
    if options.table:
        print("\n".join(table(options.table)))
        return 0
    try:
        wanted = [asked(word) for word in options.what]
    except ValueError as error:
        parser.error(str(error))
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, over)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # A name or an address is never looked up: nothing of this may reach a network.
    socket.setdefaulttimeout(1)
    # What is installed is no question here, and takes a process for each file that is rewritten.
    resolution.answers = lambda *_: resolution.Answers()  # type: ignore[assignment]
    done = set()
    if options.out and os.path.exists(options.out):
        with open(options.out, encoding="utf-8") as file:
            done = {(line["kind"], line["start"], line["end"]) for line in map(json.loads, file)}
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        if any(word.startswith("checkpoint") for word in options.what):
            place = os.path.join(folder, "made")
            # In another process: a process whose TensorFlow has started threads cannot be forked.
            if os.fork() == 0:
                checkpoints(place)
                os._exit(0)
            os.wait()
            import tensorflow  # noqa: F401

            MADE.extend(os.path.join(place, name) for name in ("w.h5", "m.keras", "m.ckpt"))
        if any(word.startswith("resolver") for word in options.what):
            from tpucompat.idioms.startup import cluster_resolver  # noqa: F401
        WATCH = Watch()
        for given in wanted:
            if given in done:
                continue
            figures = run(*given)
            failed = failed or bool(figures["failures"])
            line = json.dumps(figures)
            print(line)
            if options.out:
                with open(options.out, "a", encoding="utf-8") as file:
                    file.write(line + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
