"""``tpucompat scan``: what it finds through every form of import, what it says of it, what it cannot read."""

from __future__ import annotations

import ast
import inspect
import json
import os
import subprocess
import sys
import textwrap
import time

import pytest

from tpucompat.base import journal
from tpucompat.base.codes import CODES
from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.cli import scan as command
from tpucompat.commands.scan import configuration, scanner
from tpucompat.names import lookup, symbols, used
from tpucompat.names import successors as today

NOTHING = configuration.Configuration()


@pytest.fixture
def scan(tmp_path):
    """Scans a text; gives (line, column, code, was, becomes) of each finding that is not guarded."""

    def look(text, name="script.py", guarded=False, settings=NOTHING):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
        report = scanner.scan_file(str(path), settings)
        return [one for one in report.findings if one.guarded is guarded]

    return look


def names(found):
    return [one.was for one in found]


SHARD = "tf.contrib.tpu.shard"


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as tf\ntf.contrib.tpu.shard(f)",
        "import tensorflow\ntensorflow.contrib.tpu.shard(f)",
        "import tensorflow.contrib as c\nc.tpu.shard(f)",
        "from tensorflow import contrib\ncontrib.tpu.shard(f)",
        "import tensorflow.contrib.tpu\ntensorflow.contrib.tpu.shard(f)",
        "import tensorflow as tf\nc = tf.contrib\nt = c.tpu\nt.shard(f)",
        "import tensorflow as tf\ngetattr(tf.contrib.tpu, 'shard')(f)",
        "import tensorflow as tf\ngetattr(getattr(tf, 'contrib'), 'tpu').shard(f)",
        "import importlib\nimportlib.import_module('tensorflow.contrib.tpu').shard(f)",
        "def f():\n  t.shard(f)\nfrom tensorflow.contrib import tpu as t",
        "import tensorflow as tf\nclass A:\n  def f(self):\n    return tf.contrib.tpu.shard",
        "import tensorflow as tf\nf = lambda x: tf.contrib.tpu.shard(x)",
        "import tensorflow as tf\nwhile True:\n  with a as b:\n    [tf.contrib.tpu.shard(c) for c in b]",
        "import tensorflow as tf\nasync def f():\n  await g(tf.contrib.tpu.shard)",
        "import tensorflow as tf\ndef f(x=tf.contrib.tpu.shard): pass",
        "import tensorflow as tf\n@tf.contrib.tpu.shard\ndef f(): pass",
        "try:\n  import tensorflow.contrib.tpu as t\nexcept ImportError:\n  t = None\nt.shard(f)",
        "import tensorflow as tf\nx: int = tf.contrib.tpu.shard",
    ],
)
def test_a_symbol_is_found_through_every_form_of_name(scan, text):
    assert SHARD in names(scan(text))


@pytest.mark.parametrize(
    "text",
    [
        "import tf\ntf.contrib.tpu.shard(f)",
        "from . import tensorflow as tf\ntf.contrib.tpu.shard(f)",
        "import tensorflow as tf\ndef f(tf): tf.contrib.tpu.shard(f)",
        "import tensorflow as tf\ntf = other\ntf.contrib.tpu.shard(f)",
        "'tf.contrib.tpu.shard'  # tf.contrib.tpu.shard",
        "import tensorflow as tf\ntf.nn.relu(tf.constant(1.0))",
        "import tensorflow.compat.v1 as tf\ntf.Session()",
        "import numpy as np\nnp.array([1])\nx.shard(f)",
    ],
)
def test_nothing_is_found_where_nothing_is(scan, text):
    assert scan(text) == []


def test_an_imported_symbol_is_reported_where_it_is_imported(scan):
    found = scan("from tensorflow.contrib.tpu import (CrossShardOptimizer,\n  shard)\nshard(f)\n")
    assert names(found) == ["tf.contrib.tpu.CrossShardOptimizer", SHARD]


def test_position_and_replacement(scan):
    (one,) = scan("import tensorflow as tf\n\nclass A(object):\n  é = tf.log(2.0)\n")
    assert (one.line, one.column, one.code, one.was, one.becomes) == (
        4, 7, "TPU202", "tf.log", "tf.math.log",
    )  # fmt: skip
    assert one.covered is True and one.fix == "safe" and one.page == "codes/TPU202.html"


@pytest.mark.parametrize(
    "name, code, becomes, covered, fix",
    [
        ("tf.contrib.data.AUTOTUNE", "TPU201", "tf.data.experimental.AUTOTUNE", True, "safe"),
        ("tf.contrib.layers.conv2d", "TPU207", "tf_slim.layers.conv2d", True, "safe"),
        ("tf.contrib.framework.python.ops.arg_scope", "TPU207", "tf_slim.arg_scope", True, "safe"),
        ("tf.contrib.framework.python.ops.arg_scope.add_arg_scope", "TPU207", "tf_slim.add_arg_scope",
         True, "safe"),
        ("tf.contrib.opt.LARSOptimizer", "TPU206", "tpucompat.v1.contrib.opt.LARSOptimizer", True, "safe"),
        ("tf.contrib.quantize.create_eval_graph", "TPU101", "", False, ""),
        ("tf.contrib.tpu.no_such_thing", "TPU102", "", False, ""),
        ("tf.contrib.tpu.TPUEstimator", "TPU212", "tpucompat.v1.contrib.tpu.TPUEstimator", True, "safe"),
        ("tf.contrib.cluster_resolver.TPUClusterResolver", "TPU208",
         "tf.distribute.cluster_resolver.TPUClusterResolver", True, "safe"),
        ("tf.distribute.experimental.TPUStrategy", "TPU208", "tf.distribute.TPUStrategy", True, "safe"),
        ("tf.Session", "TPU203", "tf.compat.v1.Session", True, "safe"),
        ("tf.layers.dense", "TPU207", "tf.compat.v1.layers.dense", True, "safe"),
        ("tf.python.keras.layers.Dense", "TPU205", "tf.keras.layers.Dense", True, "safe"),
        ("tf.python.keras.engine.InputSpec", "TPU205", "tf.keras.layers.InputSpec", True, "safe"),
        ("tf.python.keras.engine.training.Model", "TPU205", "tf.keras.Model", True, "safe"),
        ("tf.python.keras.engine.training_utils.cast", "TPU205", "", True, ""),
        ("tf.estimator.Estimator", "TPU212", "tpucompat.v1.estimator.Estimator", True, "safe"),
        ("tf.compat.v1.estimator.Estimator", "TPU212", "tpucompat.v1.estimator.Estimator", True, "safe"),
        ("tf.contrib.slim.nets.inception.inception_v3", "TPU207", "tf_slim.nets.inception.inception_v3",
         None, "safe"),
    ],
)  # fmt: skip
def test_what_a_symbol_was_and_becomes(scan, name, code, becomes, covered, fix):
    (one,) = scan(f"import tensorflow as tf\n{name}")
    assert (one.code, one.becomes, one.covered, one.fix) == (code, becomes, covered, fix)


def test_every_symbol_of_tensorflow_1_has_a_sound_fate():
    """What the tables say holds for all: a code, a name or a reason, no promise without a name."""
    seen = set()
    for symbol in [*symbols.names(), *lookup.table_rows("tf1"), *lookup.table_rows("tf2")]:
        found = today.fate("tensorflow." + symbol)
        if found is None:
            assert not symbol.startswith("contrib.")
            continue
        seen.add(found.code)
        assert found.code in CODES
        assert found.becomes or found.note
        assert not found.fix or found.becomes
        assert not found.becomes.startswith("tf_slim.python")  # a folder that only TensorFlow had
        if found.code == "TPU101" and symbol.startswith("contrib."):
            assert found.covered is False and len(found.note) > 20
    assert {"TPU101", "TPU201", "TPU202", "TPU203", "TPU204", "TPU205", "TPU206", "TPU207"} <= seen


def test_the_tables_and_the_list_of_homes_agree():
    """A name that ``run`` calls gone is nowhere in the list as the same object."""
    for name, home in today.homes().items():
        assert symbols.kind(name) is not None
        assert home.kind in ("renamed", "v1", "changed", "keras2", "gone")
        if home.kind != "gone":
            assert home.target.startswith(("tf.", "tf_keras.")), name


def test_names_that_mean_something_else_count_in_programs_of_tensorflow_1(scan):
    text = "import tensorflow as tf\ntf.nn.dropout(x, 0.5)\ntf.reduce_mean(x, 0, keepdims=True)\n"
    assert names(scan(text + "tf.placeholder(tf.float32)\n")) == ["tf.nn.dropout", "tf.placeholder"]
    assert names(scan(text + "tf.reduce_sum(x, reduction_indices=[0])\ntf.Session()\n")) == [
        "tf.nn.dropout", "tf.reduce_sum", "tf.Session",
    ]  # fmt: skip
    assert names(scan(text + "@tf.function\ndef f(): pass\n")) == []


def test_guarded_uses(scan):
    text = """
        import tensorflow as tf
        try:
          from tensorflow.contrib import tpu
        except ImportError:
          tpu = None
        if tf.__version__.startswith('1.'):
          session = tf.Session()
        else:
          session = tf.compat.v1.Session()
        opt = tf.train.AdamOptimizer if hasattr(tf.train, 'AdamOptimizer') else tf.optimizers.Adam
        tf.log(1.0)
    """
    assert names(scan(text)) == ["tf.log"]
    assert names(scan(text, guarded=True)) == [
        "tf.contrib.tpu",
        "tf.Session",
        "tf.train.AdamOptimizer",
    ]


def test_early_tensorflow_2_start_up(scan):
    text = """
        import os
        import tensorflow as tf
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver('grpc://' + os.environ['COLAB_TPU_ADDR'])
        tf.config.experimental_connect_to_host(resolver.master())
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.experimental.TPUStrategy(resolver)
        strategy.experimental_run_v2(step)
    """
    found = scan(text)
    assert names(found) == [
        "COLAB_TPU_ADDR",
        "tf.config.experimental_connect_to_host",
        "tf.distribute.experimental.TPUStrategy",
        ".experimental_run_v2()",
    ]
    assert {one.code for one in found} == {"TPU208"}


def test_surrounding_rot(scan):
    text = """
        import numpy as np, collections, imp
        from sklearn.externals import joblib
        np.float(1), np.zeros(1, np.bool), np.array([1]), np.Inf, collections.Mapping
    """
    found = scan(text)
    assert [(one.was, one.becomes) for one in found] == [
        ("imp", ""),
        ("sklearn.externals.joblib", "joblib"),
        ("numpy.float", "float"),
        ("numpy.bool", "bool"),
        ("numpy.Inf", "numpy.inf"),
        ("collections.Mapping", "collections.abc.Mapping"),
    ]


TPU_PROGRAM = """
    import tensorflow as tf
    import numpy as np
    flags.DEFINE_integer('eval_batch_size', 100, 'x')
    BATCH = 60

    def helper(x):
      return tf.py_func(np.sort, [x], tf.float32)

    def model_fn(features, labels, mode, params):
      x = tf.reshape(features, [-1, 10])
      x = tf.boolean_mask(x, x > 0)
      tf.where(x > 0)
      helper(x)
      table = tf.gfile.GFile('table').read()
      tf.summary.scalar('loss', x)
      def host_call(x):
        tf.summary.scalar('loss', x)
        open('log')
      return tf.contrib.tpu.TPUEstimatorSpec(mode, host_call=host_call)

    def input_fn(params):
      return tf.data.Dataset.range(9).batch(params['batch_size'])

    def good_input_fn(params):
      return tf.data.Dataset.range(9).batch(params['batch_size'], drop_remainder=True)

    tf.contrib.tpu.TPUEstimator(model_fn, train_batch_size=BATCH, eval_batch_size=FLAGS.eval_batch_size,
                                predict_batch_size=64)
"""


def test_what_a_tpu_does_not_like(scan):
    found = [one for one in scan(TPU_PROGRAM) if one.code >= "TPU3"]
    assert [(one.line, one.code) for one in found] == [
        (8, "TPU371"),
        (11, "TPU370"),
        (12, "TPU370"),
        (13, "TPU370"),
        (15, "TPU372"),
        (16, "TPU339"),
        (23, "TPU370"),
        (28, "TPU367"),
        (28, "TPU367"),
    ]
    sizes = [(one.was.split(",")[0], one.becomes) for one in found if one.code == "TPU367"]
    assert sizes == [
        ("train_batch_size=60", "train_batch_size=64"),
        ("eval_batch_size=100", "eval_batch_size=96"),
    ]


def test_functions_that_a_spec_is_given_for_the_host(scan):
    program = """\
    import tensorflow as tf
    def model_fn(features, labels, mode, params):
      def scores(labels, logits):
        return {'top': tf.py_func(top, [logits], tf.float32)}
      def log(loss):
        tf.summary.scalar('loss', loss)
      def start():
        return open('words')
      metrics = None
      if mode == 'eval':
        metrics = (scores, [labels, features])
      counts = lambda x: {'count': tf.py_func(len, [x], tf.int64)}
      if params['brief']:
        return tf.contrib.tpu.TPUEstimatorSpec(mode, eval_metrics=(
            lambda x: {'top': tf.py_func(top, [x], tf.float32)}, [features]))
      if params['counts']:
        return tf.contrib.tpu.TPUEstimatorSpec(mode, eval_metrics=(counts, [features]))
      tf.py_func(top, [features], tf.float32)
      return tf.contrib.tpu.TPUEstimatorSpec(
          mode, eval_metrics=metrics, host_call=(log, [features]), scaffold_fn=start)
    tf.contrib.tpu.TPUEstimator(model_fn)
"""
    found = [(one.line, one.code) for one in scan(program) if one.code >= "TPU3"]
    assert found == [(18, "TPU371")]


@pytest.mark.parametrize(
    ("size", "is_known"),
    [
        ("    features = tf.placeholder(tf.float32, [None, 4])\n    serve(features)", False),
        (
            "    features = tf.placeholder(tf.float32, [None, 4])\n"
            "    return tf.estimator.export.ServingInputReceiver(features, features)",
            True,
        ),
        ("    return data.batch(size)", False),
        ("    x = data.batch(size).get_next()\n    x.set_shape([4])\n    return x", False),
        ("    x = data.batch(size).get_next()\n    x.set_shape([size, 4])\n    return x", True),
        (
            "    def set_shapes(x):\n"
            "      x.set_shape(tf.TensorShape([batch_size]).concatenate(x.shape[1:]))\n"
            "    return data.batch(params['batch_size']).map(set_shapes)",
            True,
        ),
    ],
)
def test_a_batch_whose_size_the_tpu_knows(scan, size, is_known):
    program = f"""\
    import tensorflow as tf
    def model_fn(features, labels, mode, params):
      flat = tf.reshape(features, [-1, 4])
      return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=flat)
    def predict_with(size, data, params):
{textwrap.indent(size, "  ")}
    tf.contrib.tpu.TPUEstimator(model_fn)
"""
    found = [one.was for one in scan(textwrap.dedent(program)) if one.code == "TPU370"]
    assert found == ([] if is_known else ["tf.reshape to -1 of an unknown batch"])


@pytest.mark.parametrize(("around", "is_fine"), [("predict", True), ("fit", False)])
def test_batches_to_predict_may_be_smaller(scan, around, is_fine):
    program = f"""\
    import tensorflow as tf
    def model_fn(features, labels, mode, params):
      return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=features)
    def {around}(estimator, data):
      def input_fn(params):
        return data.batch(params['batch_size'])
      estimator.run(input_fn)
    tf.contrib.tpu.TPUEstimator(model_fn)
"""
    found = [one.line for one in scan(textwrap.dedent(program)) if one.code == "TPU370"]
    assert found == ([] if is_fine else [6])


def test_the_same_away_from_a_tpu_is_fine(scan):
    text = TPU_PROGRAM.replace("tf.contrib.tpu.TPUEstimatorSpec", "Spec")
    text = text.replace("tf.contrib.tpu.TPUEstimator", "Estimator")
    assert [one for one in scan(text) if one.code >= "TPU3"] == []


@pytest.mark.parametrize(
    "body, reported",
    [
        ("x * 2", True),
        ("return x * 2", False),
        ("variable.assign_add(x)", False),
        ("def g():\n    return 1", True),
        ("return", True),
    ],
)
def test_a_computation_that_returns_nothing(scan, body, reported):
    text = f"import tensorflow as tf\ndef f(x):\n  {body}\ntf.contrib.tpu.batch_parallel(f, [1])\n"
    assert ("TPU350" in [one.code for one in scan(text)]) is reported


def test_comments_and_settings_turn_findings_off(scan):
    text = """
        import tensorflow as tf
        tf.Session()  # tpucompat: ignore[TPU203]
        tf.Session()  # tpucompat: ignore
        tf.Session()  # tpucompat: ignore[TPU101]
        tf.log(1.0)
    """
    assert [one.line for one in scan(text)] == [5, 6]
    only = configuration.Configuration(select=("TPU202",))
    assert names(scan(text, settings=only)) == ["tf.log"]
    without = configuration.Configuration(select=("TPU2",), ignore=("TPU203",))
    assert names(scan(text, settings=without)) == ["tf.log"]


def notebook(*cells, **extra):
    made = [{"cell_type": "code", "source": cell, "outputs": [], "metadata": {}} for cell in cells]
    return json.dumps({"cells": made, "nbformat": 4, "metadata": {}, **extra}).encode()


def test_notebooks_are_read_cell_by_cell(scan):
    data = notebook(
        ["%tensorflow_version 1.x\n", "!pip install x\n", "import tensorflow as tf\n"],
        "files = !ls\nif files:\n  !echo {files}\n  %cd x\ntf.contrib.tpu.shard(f)",
        "%%bash\ntf.log",
        "%%time\ntf.log(1.0)\ntf.nn?\n?tf",
        "text = '''\n!tf\n''' % (\n  1)\nx = 5 \\\n  % 2\ntf.Session()",
        "print 'two'",
    )
    found = scan(data, "book.ipynb")
    assert [(one.cell, one.line, one.code, one.was) for one in found if one.code != "TPU434"] == [
        (2, 5, "TPU213", SHARD),
        (4, 2, "TPU202", "tf.log"),
        (5, 7, "TPU203", "tf.Session"),
    ]
    assert [(one.cell, one.code) for one in found if one.code == "TPU434"] == [(6, "TPU434")]


def test_a_cell_may_be_indented_as_a_whole(scan):
    data = notebook(
        [" import tensorflow as tf\n", " tf.log(1.0)\n"],
        "\n  # first\n  if x:\n    tf.Session()\ny = 1\n",
        " x = 1\n   tf.log(2.0)",
    )
    found = scan(data, "book.ipynb")
    assert [(one.cell, one.line, one.column, one.was) for one in found] == [
        (1, 2, 2, "tf.log"),
        (2, 4, 5, "tf.Session"),
        (3, 1, 1, "unexpected indent"),
    ]
    broken = scan(b" import tensorflow as tf\n", "script.py")
    assert [one.code for one in broken] == ["TPU424"]


def test_a_notebook_of_version_3(scan):
    cells = [{"cell_type": "code", "input": ["import tensorflow as tf\n", "tf.log(1)"]}]
    data = json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3}).encode()
    assert names(scan(data, "old.ipynb")) == ["tf.log"]


# What cannot be read, or is strange -----------------------------------------------------------------


@pytest.mark.parametrize(
    "data, name, code",
    [
        (b"\x7fELF\0\0", "program.py", "TPU424"),
        (b"def f(:\n", "broken.py", "TPU424"),
        (b"import tensorflow\nprint 'x'\n", "two.py", "TPU421"),
        (b"try:\n  pass\nexcept E, e:\n  pass\n", "two.py", "TPU421"),
        (b"# -*- coding: no-such -*-\n", "coding.py", "TPU420"),
        (b"{", "broken.ipynb", "TPU450"),
        (b"[]", "list.ipynb", "TPU450"),
        (b"\xff\xfe", "bytes.ipynb", "TPU450"),
        (b'{"cells": 5}', "five.ipynb", "TPU450"),
        (b"x = " + b"(" * 3000 + b")" * 3000, "deep.py", "TPU424"),
    ],
)
def test_what_cannot_be_read_is_named(scan, data, name, code):
    assert [one.code for one in scan(data, name)] == [code]


def test_line_ends_and_encodings(scan):
    text = b"# -*- coding: latin-1 -*-\r\nx = '\xe9'\r\nimport tensorflow as tf\r\ntf.log(1.0)\r\n"
    assert [(one.line, one.was) for one in scan(text)] == [(4, "tf.log")]
    unnamed = b"# caf\xe9\nimport tensorflow as tf\ntf.log(1.0)\n"  # Python 2 took it
    assert [(one.line, one.was) for one in scan(unnamed)] == [(3, "tf.log")]
    marked = b"\xef\xbb\xbfimport tensorflow as tf\rtf.log(1.0)\r"
    assert [(one.line, one.was) for one in scan(marked)] == [(2, "tf.log")]


def test_a_long_file_and_a_long_sum(scan):
    text = "import tensorflow as tf\n" + "x = tf.log(1.0)\n" * 50_000
    start = time.process_time()
    assert len(scan(text)) == 50_000
    assert time.process_time() - start < 20  # about 1.5 s on one free core
    long = "import tensorflow as tf\nx = " + " + ".join(["1"] * 900) + "\ntf.log(x)\n"
    assert names(scan(long)) == ["tf.log"]


def test_an_expression_that_is_nested_too_deeply(scan):
    found = scan("import tensorflow as tf\nx = " + "1 + " * 40_000 + "1\ntf.log(x)\n")
    assert [one.code for one in found] in (["TPU202"], ["TPU424"], ["TPU424", "TPU202"])


def test_folders_with_links_and_what_is_left_out(tmp_path):
    for name in (
        "a/one.py",
        "b/two.py",
        ".git/three.py",
        "b/skip/four.py",
        "b/not.txt",
        "b/five_pb2.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("import tensorflow as tf\ntf.log(1)\n")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "a" / "self.py").symlink_to(tmp_path / "a" / "self.py")
    (tmp_path / "b" / "dead.py").symlink_to(tmp_path / "nowhere.py")
    settings = configuration.Configuration(exclude=("skip", "*_pb2.py"))
    found = [os.path.basename(path) for path in scanner.files([str(tmp_path)], settings)]
    assert sorted(found) == ["dead.py", "one.py", "self.py", "two.py"]
    reports = scanner.scan(scanner.files([str(tmp_path)], settings), settings)
    codes = {os.path.basename(report.path): report.findings[0].code for report in reports}
    assert codes == {
        "dead.py": "TPU420",
        "one.py": "TPU202",
        "self.py": "TPU420",
        "two.py": "TPU202",
    }


OLD = "import tensorflow as tf\ntf.log(1)\n"


@pytest.fixture
def linked(tmp_path):
    """A tree with links to what lies beside it: a file, a folder, and a folder's other name."""
    for name in (
        "tree/real.py",
        "tree/sub/deep.py",
        "outside/secret.py",
        "outside/more.py",
        "tree/script",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(OLD)
    tree = tmp_path / "tree"
    (tree / "a.py").symlink_to(tmp_path / "outside" / "secret.py")
    (tree / "folder").symlink_to(tmp_path / "outside")
    (tree / "treehouse").symlink_to(tmp_path / "tree")  # the tree itself
    (tree / "a_link.py").symlink_to(tree / "real.py")
    (tree / "script.py").symlink_to(tree / "script")
    return tree


def test_links_out_of_the_tree_are_left_out_and_said(linked, capsys):
    journal.reset()
    found = {os.path.relpath(path, linked) for path in scanner.files([str(linked)], NOTHING)}
    assert found == {"real.py", os.path.join("sub", "deep.py"), "script.py"}
    said = capsys.readouterr().err
    assert (
        f"skipped: {linked / 'a.py'}, {linked / 'folder'} are links out of the tree [TPU485]"
        in said
    )
    # Where what lies outside is named too, it is part of what is looked at.
    outside = linked.parent / "outside"
    both = list(scanner.files([str(linked), str(outside)], NOTHING))
    assert str(outside / "secret.py") in both and len(both) == 5
    assert [*scanner.files([str(linked / "a.py")], NOTHING)] == [str(linked / "a.py")]  # named


def test_folders_may_be_nested_more_deeply_than_calls(tmp_path):
    folder = tmp_path.joinpath(*"d" * 300)
    folder.mkdir(parents=True)
    (folder / "x.py").write_text(OLD)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 200)
    try:
        assert len(list(scanner.files([str(tmp_path)], NOTHING))) == 1
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_or_a_device_is_no_file(tmp_path):
    path = tmp_path / "pipe.py"
    os.mkfifo(path)
    for name in (str(path), os.devnull):
        (found,) = scanner.scan_file(name, NOTHING).findings
        assert found.code == "TPU420" and "a pipe, a socket or a device" in found.was
    assert list(scanner.files([str(tmp_path)], NOTHING)) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_file_without_permission(tmp_path):
    path = tmp_path / "secret.py"
    path.write_text("x")
    path.chmod(0)
    assert scanner.scan_file(str(path), NOTHING).findings[0].code == "TPU420"


def test_a_file_that_is_a_folder(tmp_path):
    assert scanner.scan_file(str(tmp_path), NOTHING).findings[0].code == "TPU420"


# The command ---------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "old.py").write_text(
        "import tensorflow as tf\ntf.contrib.quantize.x()\ntf.log(1)\n"
    )
    (tmp_path / "new.py").write_text("print(1)\n")
    return tmp_path


def test_exit_codes(tree, capsys):
    assert command.main([str(tree)]) == 1
    assert command.main([str(tree / "new.py")]) == 0
    assert command.main([str(tree / "missing.py")]) == 2
    assert "TPU420" in capsys.readouterr().err
    (tree / "pyproject.toml").write_text(
        "[tool.tpucompat]\nselect = ['TPU1']\nexclude = ['old.py']\n"
    )
    assert command.main([str(tree)]) == 0
    for wrong in (
        "select = ['nonsense']",
        "sellect = []",
        "ignore = 'TPU1'",
        "ignore = [",
        "ignore=[5]",
    ):
        (tree / "pyproject.toml").write_text(f"[tool.tpucompat]\n{wrong}\n")
        assert command.main([str(tree)]) == 2
        assert "TPU451" in capsys.readouterr().err


def test_text_names_the_effort(tree, capsys):
    command.main([str(tree)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{tree}/old.py:2:1: TPU101 tf.contrib.quantize")
    assert lines[1].endswith("old.py:3:1: TPU202 tf.log → tf.math.log  [migrate]")
    sums = "2 findings, 1 fixable with migrate, 1 by hand, 1 unsupported by run"
    assert lines[2:] == ["", "Checked 2 files (6 lines): " + sums]


def test_text_has_a_line_for_each_file_where_several_have_findings(tree, capsys):
    (tree / "new.py").write_text("import tensorflow as tf\ntf.log(1.0)\n")
    command.main([str(tree)])
    *_, first, second, gap, total = capsys.readouterr().out.splitlines()
    assert first == f"{tree}/new.py: 1 finding, 1 fixable with migrate"
    assert second.startswith(f"{tree}/old.py: 2 findings, ") and gap == ""
    assert total.startswith("Checked 2 files (")


def test_json(tree, capsys):
    command.main([str(tree), "--format", "json"])
    loaded = json.loads(capsys.readouterr().out)
    assert loaded["effort"]["findings"] == 2 and len(loaded["files"]) == 2
    assert loaded["findings"][1] == {
        "path": str(tree / "old.py"), "line": 3, "column": 1, "cell": 0, "code": "TPU202",
        "was": "tf.log", "becomes": "tf.math.log", "note": "", "covered": True, "fix": "safe",
        "guarded": False, "title": CODES["TPU202"].title, "page": "codes/TPU202.html",
    }  # fmt: skip


def test_sarif_and_github(tree, capsys):
    command.main([str(tree), "--format", "sarif"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["TPU101", "TPU202"]
    assert [(one["ruleIndex"], one["level"]) for one in run["results"]] == [
        (0, "error"),
        (1, "warning"),
    ]
    place = run["results"][1]["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 3, "startColumn": 1}
    command.main([str(tree), "--format", "github", "--ignore", "TPU1"])
    shown = capsys.readouterr().out
    assert shown.startswith("::warning file=") and "line=3,col=1,title=TPU202::tf.log" in shown


def test_the_settings_are_read_without_a_toml_reader_too():
    text = '[tool.other]\nselect = ["X"]\n[tool.tpucompat]\n# c\nselect = [\n  "TPU1",  # c\n  "TPU2",\n]\n'
    text += "exclude = ['a']\n\n[tool.more]\nignore = ['b']\n"
    assert configuration._plain_table(text) == {"select": ["TPU1", "TPU2"], "exclude": ["a"]}


def test_many_files_in_several_processes(tmp_path):
    for index in range(60):
        (tmp_path / f"f{index:02}.py").write_text(
            "import tensorflow as tf\n" + "tf.log(1)\n" * index
        )
    paths = list(scanner.files([str(tmp_path)], NOTHING))
    reports = scanner.scan(paths, NOTHING, workers=2)
    assert [report.path for report in reports] == paths
    assert [len(report.findings) for report in reports] == list(range(60))


def test_no_tensorflow_is_imported(tree):
    script = (
        "import sys; from tpucompat.__main__ import main; main(['scan', sys.argv[1]]);"
        "assert not {'tensorflow', 'numpy', 'keras'} & set(sys.modules)"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(tree)], check=True, timeout=60, stdout=subprocess.DEVNULL
    )


def test_the_text_of_a_notebook_keeps_its_lines():
    text = "%matplotlib inline\n!ls \\\n  -l\nx = !ls\ny = %who\nhelp?\n'''\n%a\n'''\nf(\n%b)\n"
    made = sources.without_magics(text)
    assert made.count("\n") == text.count("\n")
    assert made.splitlines()[:6] == ["pass", "pass", "", "x = None", "y = None", "pass"]
    assert made.splitlines()[6:9] == ["'''", "%a", "'''"]
    assert ast.parse(made.replace("%b", "b"))
    assert findings.ignored("x  # tpucompat: ignore[TPU1, tpu2]") == {1: {"TPU1", "TPU2"}}


def test_magics_without_a_percent_sign_are_no_python():
    """IPython takes them where the line is none: ``ls -l`` is a subtraction to both."""
    text = "pip install tensorflow==1.13.1\nls -l\nmv -T a \\\n  b\ncat = 1\ncd = cat\n"
    made = sources.without_magics(text)
    assert made.splitlines() == ["pass", "ls -l", "pass", "", "cat = 1", "cd = cat"]
    assert sources.without_magics("x = 1\n") == "x = 1\n"
    assert sources.without_magics("# of Colab\n%%javascript\nfunction f() {}\n") is None


def test_a_program_of_tensorflow_2_is_not_told_of_what_it_may_do_right(scan):
    assert not scan(
        """
        import argparse
        import tensorflow as tf

        def main(args, layers, batch):
            with tf.distribute.MirroredStrategy().scope():
                model = tf.keras.Model(*layers)
            model.save_weights(args.output)
            return tf.nn.softmax(model(batch, training=False)).numpy()
        """
    )


def test_a_file_of_weights_whose_name_keras_3_refuses(scan):
    (found,) = scan(
        """
        import tensorflow as tf

        model = tf.keras.Sequential()
        model.save_weights("weights.h5")
        """
    )
    assert found.code == "TPU513"


def test_the_walk_visits_what_the_walk_of_python_does():
    tree = sources.parse(inspect.getsource(used))
    left_out = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    expected = [node for node in ast.walk(tree) if not isinstance(node, left_out)]
    assert used.walk(tree) == expected
