"""``migrate`` where no import names Keras: it comes from a function, an attribute or another file."""

from __future__ import annotations

import sys

import pytest

if sys.version_info < (3, 9):
    pytest.skip("migrate needs Python 3.9", allow_module_level=True)

from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.migrate import plan, tree

START = "import tensorflow as tf\nfrom tensorflow import keras\n"


def migrated(text):
    module = findings.understand(sources.decode("script.py", text.encode()))
    return plan.migrate(module).after.decode()


@pytest.mark.parametrize(
    "before",
    [
        "def f():\n  return keras\nx = f().optimizers.SGD(lr=1)",
        "def f():\n  from tensorflow import keras as k\n  return k\nx = f().optimizers.SGD(lr=1)",
        "def f():\n  k = None\n  if x:\n    k = keras\n  return k\nx = f().optimizers.SGD(lr=1)",
        "def f():\n  return g()\ndef g():\n  return keras\ndef h():\n  g().optimizers.SGD(lr=1)",
        "def f():\n  global k\n  import tensorflow.keras as k\nx = k.optimizers.SGD(lr=1)",
        "class A:\n  k = keras\n  def f(self):\n    return self.k.optimizers.SGD(lr=1)",
        "class A:\n  k = keras\nclass B(A):\n  pass\nx = B().k.optimizers.SGD(lr=1)",
        "class A:\n  k = keras\nx = A.k.optimizers.SGD(lr=1)",
        "class A:\n  def __init__(self):\n    self.k = keras\ny = A()\nx = y.k.optimizers.SGD(lr=1)",
        "class A:\n  def f(self):\n    self.k, x = keras, 1\nx = any.of.k.optimizers.SGD(lr=1)",
        "class A:\n  def f(self):\n    return keras\n  def g(self):\n    self.f().optimizers.SGD(lr=1)",
        "class A:\n  @property\n  def k(self):\n    return keras\nx = A().k.optimizers.SGD(lr=1)",
        "a, b = keras.optimizers, 1\nx = a.SGD(lr=1)",
        "try:\n  import keras as k\nexcept ImportError:\n  k = tf.keras\nx = k.optimizers.SGD(lr=1)",
        "if y:\n  k = keras\nelse:\n  import keras as k\nx = k.optimizers.SGD(lr=1)",
        "k = keras if y else None\nx = k.optimizers.SGD(lr=1)",
        "k = {'a': keras.optimizers.SGD, 'b': keras.optimizers.Adam}\nx = k[y](lr=1)",
        "for k in (keras.optimizers.SGD, keras.optimizers.Adam):\n  k(lr=1)",
        "def f(k=keras.optimizers.SGD):\n  return k(lr=1)",
        "class A:\n  k = keras.optimizers.SGD\n  def f(self):\n    return self.k(lr=1)",
        "x = getattr(keras.optimizers, y)(lr=1)",
        "k = getattr(keras.optimizers, y)\nx = k(lr=1)",
        "import functools\nx = functools.partial(keras.optimizers.SGD, lr=1)",
    ],
)
def test_arguments_of_what_no_import_names(before):
    after = migrated(START + before + "\n")
    assert after == START + before.replace("lr=1", "learning_rate=1") + "\n"


@pytest.mark.parametrize(
    "line",
    [
        "build(keras)",
        "build(backend=keras.backend)",
        "x.keras = tf.keras",
        "modules = {'layers': keras.layers}",
        "for one in (keras.losses, keras.metrics):\n  print(one)",
        "def f(K=keras.backend):\n  pass",
        "def f():\n  return keras, 1",
        "x = getattr(keras.layers, y)(input_dim=1, data_format=None, alpha=2)",
    ],
)
def test_what_is_not_followed_is_marked(line):
    assert "TODO(tpucompat TPU51" in migrated(START + line + "\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("for k in (keras.optimizers.SGD, keras.layers.Dense):\n  k(lr=1)", "(k, lr=1)"),
        (
            "class A:\n  def f(self, k):\n    self.k = keras.optimizers.SGD\n    self.k = k\n    self.k(lr=1)",
            "(self.k, lr=1)",
        ),
        ("k = [keras.optimizers.SGD, f]\nx = k[y](lr=1, decay=z)", "(k[y], lr=1, decay=z)"),
        (
            "def f(**given):\n  lr = given['lr']\n  keras.optimizers.SGD(**given)",
            "(keras.optimizers.SGD, **given)",
        ),
        ("k = keras.optimizers.SGD\nx = dict(lr=1)", "x = dict(lr=1)"),
        ("def f(lr):\n  pass\nk = [keras.optimizers.SGD]\nf(lr=1)", "\nf(lr=1)"),
    ],
)
def test_what_may_be_an_optimizer_gets_settings_of_both_names(before, after):
    assert ("optimizer_with" * after.startswith("(") + after) in migrated(START + before + "\n")


@pytest.mark.parametrize(
    "line",
    [
        "print(keras, hasattr(keras.layers, 'x'), dir(tf.keras))",
        "if keras is not None: pass",
        "class A:\n  layers = keras.layers\nx = model.layers[0].append(1)",
        "x = getattr(keras.optimizers, y)(0.1)",
        "K = keras.backend\nx = K.epsilon()",
    ],
)
def test_what_asks_a_module_for_nothing_stays(line):
    assert migrated(START + line + "\n") == START + line + "\n"


FILES = {
    "common.py": START + "K = keras.backend\ndef library():\n  return keras\n",
    "between.py": "from common import *\nfrom common import keras\nmade = keras.optimizers\n",
    "base.py": START + "class Base:\n  keras = tf.keras\n",
    "one.py": "from common import keras, K\nx = keras.optimizers.SGD(lr=1)\n",
    "two.py": "import common\nx = common.keras.optimizers.SGD(lr=1)\n",
    "three.py": "import common as c\nx = c.library().optimizers.SGD(lr=1)\n",
    "four.py": "from common import library\nx = library().optimizers.SGD(lr=1)\n",
    "five.py": "from base import Base\nclass A(Base):\n  def f(self):\n    self.keras.optimizers.SGD(lr=1)\n",
    "six.py": "from between import made\nx = made.SGD(lr=1)\n",
    "pack/seven.py": "from . import eight\nfrom .eight import k\nx = k.SGD(lr=1), eight.k.SGD(lr=1)\n",
    "pack/eight.py": "from tensorflow.keras import optimizers as k\n",
}


def test_keras_from_other_files_of_a_program(tmp_path):
    (tmp_path / "pack").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    results = tree.migrate([str(tmp_path / name) for name in FILES])
    after = {str(one.path)[len(str(tmp_path)) + 1 :]: one.after.decode() for one in results}
    assert after == {name: text.replace("lr=1", "learning_rate=1") for name, text in FILES.items()}


OLD = "import tensorflow as tf\nx = tf.placeholder(tf.float32)\n"


@pytest.mark.parametrize(
    "line, files, given, marked",
    [
        ("import modeling", {"modeling.py": OLD}, (), "modeling.py"),
        ("import modeling", {"modeling.py": OLD}, ("modeling.py",), ""),
        ("import modeling", {"modeling.py": "import tensorflow as tf\ntf.function(f)\n"}, (), ""),
        ("import modeling", {"modeling.py": "x = 1\n"}, (), ""),
        ("import modeling", {"modeling.py": "x = (\n"}, (), ""),
        ("from lib import nets", {"lib/__init__.py": "", "lib/nets.py": OLD}, (), "lib/nets.py"),
        ("from lib.nets import f", {"lib/nets.py": OLD}, (), "lib/nets.py"),
        ("import lib", {"lib/__init__.py": OLD}, (), "lib/__init__.py"),
        ("import modeling", {}, (), ""),
    ],
)
def test_an_import_of_a_module_that_stays_of_tensorflow_1_is_marked(
    tmp_path, line, files, given, marked
):
    files = {**files, "main.py": f"import tensorflow as tf\n{line}\ntf.logging.info('x')\n"}
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    found = {
        one.path: one for one in tree.migrate([str(tmp_path / n) for n in ("main.py", *given)])
    }
    after = found[str(tmp_path / "main.py")].after.decode().replace("\n#   ", " ")
    assert ("TODO(tpucompat TPU427)" in after) is bool(marked)
    assert f"→ tpucompat migrate {marked}\n{line}\n" in after or not marked
