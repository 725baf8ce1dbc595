"""The modules with names of ``tf.contrib`` that ``tpucompat migrate`` writes beside a script."""

from __future__ import annotations

import ast
import builtins
import collections
import sys

import pytest

from tpucompat.commands.cli import migrate as command
from tpucompat.commands.migrate import plan, tree, written

MODULES = sorted(written.OURS)
pytestmark = pytest.mark.skipif(sys.version_info < (3, 9), reason="migrate needs Python 3.9")


def names_of(module):
    body = ast.parse(written.source(f"{module}.py")).body
    return [one.name for one in body if isinstance(one, (ast.FunctionDef, ast.ClassDef))]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_stands_alone(module):
    """It needs nothing of tpucompat's, defines each name once, and has Python's errors with their words."""
    text = written.source(f"{module}.py").decode()
    assert "tpucompat" not in text and text.startswith(written.MODULES[module])
    assert [name for name, many in collections.Counter(names_of(module)).items() if many > 1] == []
    calls = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call)]
    errors = [one for one in calls if getattr(one.func, "id", "").endswith("Error")]
    assert all(len(one.args) == 1 for one in errors)
    compile(text, module, "exec")


@pytest.mark.parametrize("module", MODULES)
def test_each_part_has_what_it_names(module):
    public = [name for name in names_of(module) if not name.startswith("_")]
    assert public
    for name in public:
        part = ast.parse(written.part(written.source(f"{module}.py"), {name}))
        nodes = list(ast.walk(part))
        known = {*vars(builtins), "__file__"}
        known |= {one.arg for one in nodes if isinstance(one, ast.arg)}
        known |= {getattr(one, "name", "") for one in nodes}  # functions, classes, exceptions
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                known |= {(one.asname or one.name).partition(".")[0] for one in node.names}
        names = [one for one in nodes if isinstance(one, ast.Name)]
        known |= {one.id for one in names if isinstance(one.ctx, ast.Store)}
        assert {one.id for one in names} - known == set(), name


SCRIPT = """\
import tensorflow as tf
import tensorflow.contrib.image
from tensorflow.contrib import crf, rnn
from tensorflow.contrib.opt import AdamWOptimizer as AdamW

tags, _ = crf.crf_decode(scores, transitions, lengths)
turned = tf.contrib.image.rotate(images, 0.5)
losses = tf.contrib.legacy_seq2seq.sequence_loss([x], [y], [w]), tf.contrib.seq2seq.sequence_loss(x, y, w)
cells = [rnn.LayerNormBasicLSTMCell(4), rnn.BasicLSTMCell(4), tf.contrib.rnn.NASCell(4)]
step = AdamW(0.01, learning_rate=0.1).minimize(loss)
pairs = tf.contrib.framework.nest
"""


PARTS = ("crf", "image", "legacy_seq2seq", "opt", "rnn", "seq2seq")


def test_only_what_cannot_be_written_out_keeps_tpucompat(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (one,) = tree.with_parts(list(tree.migrate([str(tmp_path / "script.py")])))
    assert one.way == plan.COMPATIBLE and b"contrib_" not in one.after
    (tmp_path / "script.py").write_text(SCRIPT.replace("pairs = tf.contrib.framework.nest\n", ""))
    (one,) = tree.with_parts(list(tree.migrate([str(tmp_path / "script.py")])))
    after = one.after.decode()
    assert one.way == plan.PLAIN and one.todos == 0 and "tensorflow.contrib" not in after
    assert "contrib_crf.crf_decode(scores" in after and "contrib_opt.AdamWOptimizer(0.01" in after
    assert "tf.compat.v1.nn.rnn_cell.BasicLSTMCell(4), contrib_rnn.NASCell(4)" in after
    assert set(one.beside) == {f"contrib_{name}.py" for name in PARTS}
    assert b"class NASCell" in one.beside["contrib_rnn.py"]
    assert b"class ConvLSTMCell" not in one.beside["contrib_rnn.py"]


@pytest.mark.parametrize(
    "lines",
    [
        "from tensorflow.examples.tutorials.mnist import input_data\ninput_data.",
        "import tensorflow.examples.tutorials.mnist.input_data as data\ndata.",
        "from tensorflow.examples.tutorials.mnist.input_data import read_data_sets\n",
        "import tensorflow as tf\ntf.contrib.learn.datasets.mnist.",
    ],
)
def test_the_reader_of_mnist_is_written_too(tmp_path, lines):
    (tmp_path / "script.py").write_text(lines + "read_data_sets('data', one_hot=True)\n")
    (one,) = tree.with_parts(list(tree.migrate([str(tmp_path / "script.py")])))
    after = one.after.decode()
    assert after == "import mnist_data\n" + ("import tensorflow as tf\n" * ("tf." in lines)) + (
        "mnist_data.read_data_sets('data', one_hot=True)\n"
    )
    part = one.beside["mnist_data.py"].decode()
    assert "\n_IMAGES, _LABELS = " in part and "load_mnist" not in part


def test_an_alias_may_have_the_name_of_the_module(tmp_path):
    """As tf_upgrade_v2 and the programs of its time write it."""
    text = "import tensorflow as tf\nfrom tensorflow.contrib import image as contrib_image\n"
    path = tmp_path / "script.py"
    path.write_text(text + "contrib_image.rotate(x, 0.5)\n")
    (one,) = tree.with_parts(list(tree.migrate([str(path)])))
    assert one.way == plan.PLAIN and b"tensorflow.contrib" not in one.after
    assert b"import contrib_image\n" in one.after and "contrib_image.py" in one.beside
    path.write_text(text + "contrib_image.rotate(x, 0.5)\ndef f(contrib_image): pass\n")
    (one,) = tree.with_parts(list(tree.migrate([str(path)])))
    assert one.way == plan.COMPATIBLE


def test_a_script_gives_tf_slim_its_names_and_the_modules_beside_it_do_not(tmp_path):
    more = "first = tf.contrib.layers.xavier_initializer()\n"
    (tmp_path / "script.py").write_text(SCRIPT.rpartition("pairs")[0] + more)
    (one,) = tree.with_parts(list(tree.migrate([str(tmp_path / "script.py")])))
    assert one.after.count(b"\ncomplete_tf_slim()") == 1
    for name, text in one.beside.items():
        assert b"complete_tf_slim" not in text, name


def test_a_module_of_the_user_is_left_alone(tmp_path):
    (tmp_path / "contrib_crf.py").write_text("mine = 1\n")
    (tmp_path / "script.py").write_text(
        "import tensorflow as tf\ntf.contrib.crf.crf_decode(a, b, c)\n"
    )
    assert command.main(["--write", "--quiet", str(tmp_path / "script.py")]) == 0
    assert (tmp_path / "contrib_crf.py").read_text() == "mine = 1\n"
    assert "tpucompat.v1" in (tmp_path / "script.py").read_text()
