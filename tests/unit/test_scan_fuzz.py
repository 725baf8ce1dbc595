"""Thousands of mutated scripts and notebooks: neither scan nor migrate crashes, and no byte is lost.

The default is a small number; TPUCOMPAT_FUZZ=10000 sets another.
"""

from __future__ import annotations

import json
import os
import random
import sys
import warnings

import pytest

if sys.version_info < (3, 9):
    pytest.skip("migrate needs Python 3.9", allow_module_level=True)

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

from tpucompat.commands.analysis import findings, sources  # noqa: E402
from tpucompat.commands.migrate import plan  # noqa: E402
from tpucompat.commands.scan import configuration, scanner  # noqa: E402

COUNT = int(os.environ.get("TPUCOMPAT_FUZZ", "150"))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Pieces of old programs; the mutations put them together, cut them and damage them.
PIECES = [
    *("import tensorflow as tf\n", "import tensorflow.compat.v1 as tf\n", "import numpy as np\n"),
    *("from tensorflow.contrib import tpu as t\n", "from tensorflow.contrib import slim, layers\n"),
    *("from keras.layers import *\n", "import tensorflow.contrib.slim\n", "import os, keras\n"),
    *(
        "tf.log(",
        "tf.contrib.tpu.shard(f, [x])\n",
        "t.TPUEstimator(model_fn, train_batch_size=7)\n",
    ),
    *(
        "tf.Session('grpc://' + os.environ['COLAB_TPU_ADDR'])\n",
        "np.float(1)\n",
        "np.Inf, tf.erf\n",
    ),
    *(
        "m = tf.keras.Sequential()\n",
        "m = tf.contrib.tpu.keras_to_tpu_model(m, s)\n",
        "m.compile('a')\n",
    ),
    *("m.fit_generator(g, 3, workers=2)\n", "d.make_one_shot_iterator().get_next()\n", "%time x\n"),
    *(
        "tf.train.AdamOptimizer(1, beta1=2)\n",
        "tf.layers.dense(x, 1)\n",
        "tf.placeholder(1, [None])\n",
    ),
    *("if x:\n  ", "def f(tf):\n  ", "class A:\n  ", "try:\n  ", "except ImportError:\n  pass\n"),
    *(
        "with tf.Session(x) as s:\n  print(s.list_devices())\n",
        "return\n",
        "lambda: tf.log\n",
        ")\n",
    ),
    *(
        "'''",
        '"',
        "# é\n",
        "\\\n",
        "\r\n",
        "\t",
        "\x0c",
        "\u2028",
        "é = 1\n",
        "x = 'é'; tf.log(1)\n",
    ),
    *(
        "def f(x):\n  return 2 * x\n",
        "a = tf.contrib.tpu.rewrite(f, [tf.ones([2])])\n",
        "a = t.batch_parallel(f, inputs=[x], num_shards=8)\n",
        "with tf.Session() as s:\n  s.run(t.initialize_system())\n  y = s.run(a)\n",
    ),
    *("getattr(tf, 'log')(1)\n", "print 'x'\n", "f'{tf.log(1)}'\n", "tf.contrib.quantize.f(1)\n"),
    *(
        "h.history['acc']\n",
        "m.compile(metrics=['accuracy'])\n",
        "\0",
        "# tpucompat: ignore[TPU1]\n",
    ),
]


def _originals():
    """What is mutated: the legacy examples, and a program with computations that migrate rewrites."""
    folder = os.path.join(ROOT, "legacy_examples")
    names = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".py")]
    more = os.path.join(ROOT, "tests", "behaviour", "programs", "plain_computations.py")
    for name in [*sorted(names), *([more] * 4)]:
        with open(name, "rb") as stream:
            yield stream.read()


ORIGINALS = list(_originals())


def check(path, data):
    """Whatever the bytes are, they are described, and rewritten so that the rest stays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = findings.understand(sources.decode(path, data))
        except sources.SourceError as error:
            assert findings.problem(path, error).code.startswith("TPU4")
            return
        list(scanner._found(module))
        result = plan.migrate(module)
        assert result.before == data
        assert "TPU454" not in [problem.code for problem in result.problems]
        if not result.changed:
            return
        again = plan.migrate(findings.understand(sources.decode(path, result.after)))
        assert again.after == result.after
        text = data.decode(module.source.encoding if path.endswith(".py") else "utf-8")
        after = result.after.decode(module.source.encoding if path.endswith(".py") else "utf-8")
        # Every comment of the author's is still there, and so are the line ends.
        if "'''" not in text and '"""' not in text:
            comments = [
                line.strip() for line in text.splitlines() if line.lstrip().startswith("# ")
            ]
            assert all(comment in after for comment in comments)
        if path.endswith(".py") and "\r\n" in text and not _has_lone(text):
            assert not _has_lone(after)


def _has_lone(text):
    """Whether a line ends otherwise than by CR LF."""
    rest = text.replace("\r\n", "")
    return "\n" in rest or "\r" in rest


@hypothesis.settings(
    max_examples=COUNT,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
@hypothesis.given(st.lists(st.sampled_from(PIECES), max_size=14), st.sampled_from(["\n", "\r\n"]))
def test_programs_of_pieces(pieces, newline):
    text = "".join(pieces).replace("\r\n", "\n").replace("\n", newline)
    check("script.py", text.encode())
    cells = [{"cell_type": "code", "source": part} for part in text.split("tf.log(")]
    check("book.ipynb", json.dumps({"cells": cells}, ensure_ascii=False).encode())


def test_damaged_programs():
    """Lines of real old programs, shuffled, cut, doubled and damaged."""
    generator = random.Random(0)
    for _ in range(max(20, COUNT // 2)):
        data = bytearray(generator.choice(ORIGINALS))
        lines = bytes(data).split(b"\n")
        for _ in range(generator.randint(1, 6)):
            at = generator.randrange(len(lines))
            kind = generator.randrange(5)
            if kind == 0:
                del lines[at]
            elif kind == 1:
                lines.insert(at, generator.choice(lines))
            elif kind == 2:
                lines[at] = lines[at][: generator.randrange(len(lines[at]) + 1)]
            elif kind == 3:
                lines.insert(at, generator.choice(PIECES).encode())
            else:
                lines[at] = lines[at].replace(b" ", b"\t", 1)
            lines = lines or [b""]
        check("script.py", b"\n".join(lines))


@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
def test_bytes_of_any_kind(tmp_path, suffix):
    generator = random.Random(1)
    path = tmp_path / ("any" + suffix)
    for size in range(40):
        path.write_bytes(bytes(generator.randrange(256) for _ in range(size)))
        report = scanner.scan_file(str(path), configuration.Configuration())
        assert all(one.code.startswith("TPU") for one in report.findings)
