"""The same script by other imports: what ``tpucompat migrate`` makes of it does not depend on the spelling."""

from __future__ import annotations

import functools
import pathlib
import re
import sys
import tempfile

import pytest

if sys.version_info < (3, 9):
    pytest.skip("migrate needs Python 3.9", allow_module_level=True)

from tpucompat.commands.migrate import plan, tree
from tpucompat.commands.scan import scanner
from tpucompat.commands.scan.configuration import Configuration

EXAMPLES = sorted((pathlib.Path(__file__).parents[2] / "legacy_examples").glob("*.py"))
_ROOT = "import tensorflow as tf\n"
_TPU = r"\btf\.contrib\.tpu\."
_ESTIMATORS = "TPUEstimatorSpec|TPUEstimator"
_SETTINGS = "RunConfig|TPUConfig|InputPipelineConfig"
_COMPUTATIONS = "shard|rewrite|batch_parallel|initialize_system|shutdown_system"


def private(root):
    """Imports of the modules that define the names, and the rewritings to them."""
    modules = {
        "tpu_estimator": _ESTIMATORS,
        "tpu_config": _SETTINGS,
        "tpu_optimizer": "CrossShardOptimizer",
        "tpu": _COMPUTATIONS,
    }
    pairs = [(rf"{_TPU}({names})\b", rf"{module}.\1", module) for module, names in modules.items()]
    return lambda text: imported(text, pairs, lambda module: f"from {root} import {module}\n")


def imported(text, pairs, statement):
    """A text with other spellings, each with the import that it needs; unchanged where it has none."""
    heads = []
    for pattern, words, name in pairs:
        text, count = re.subn(pattern, words, text)
        if count and name:
            heads.append(statement(name))
    return text.replace(_ROOT, _ROOT + "".join(heads), 1)


def by_names(text):
    names = sorted(set(re.findall(_TPU + r"(\w+)", text)))
    head = f"from tensorflow.contrib.tpu import {', '.join(names)}\n" if names else ""
    return re.sub(_TPU, "", text).replace(_ROOT, _ROOT + head, 1)


def below(module, name, statement):
    """Names of a module below ``tf`` through a Python name of their own."""
    pairs = [(rf"\btf\.{re.escape(module)}\.", name + ".", name)]
    return lambda text: imported(text, pairs, lambda _: statement + "\n")


SPELLINGS = {
    "from contrib": below("contrib.tpu", "tpu", "from tensorflow.contrib import tpu"),
    "import contrib": below(
        "contrib.tpu", "contrib_tpu", "import tensorflow.contrib.tpu as contrib_tpu"
    ),
    "assigned": below("contrib.tpu", "tpu", "tpu = tf.contrib.tpu"),
    "names": by_names,
    "private of contrib": private("tensorflow.contrib.tpu.python.tpu"),
    "tf.tpu": lambda text: re.sub(
        rf"{_TPU}({_COMPUTATIONS}|CrossShardOptimizer)\b", r"tf.tpu.\1", text
    ),
    "estimator of compat.v1": lambda text: imported(
        text,
        [
            (rf"{_TPU}({_ESTIMATORS}|{_SETTINGS})\b", r"tf_estimator.tpu.\1", "tf_estimator"),
            (r"\btf\.estimator\.", "tf_estimator.", ""),
        ],
        lambda name: f"from tensorflow.compat.v1 import estimator as {name}\n",
    ),
    "tensorflow_estimator": lambda text: imported(
        text,
        [
            (rf"{_TPU}({_ESTIMATORS})\b", r"tpu_estimator.\1", "tpu_estimator"),
            (rf"{_TPU}({_SETTINGS})\b", r"tpu_config.\1", "tpu_config"),
        ],
        lambda name: f"from tensorflow_estimator.python.estimator.tpu import {name}\n",
    ),
    "from keras": below("keras", "keras", "from tensorflow import keras"),
    "import keras": below("keras", "keras", "import tensorflow.keras as keras"),
    "keras assigned": below("keras", "keras", "keras = tf.keras"),
    "layers": below("keras.layers", "layers", "from tensorflow.keras import layers"),
    "keras of compat.v1": lambda text: re.sub(r"\btf\.keras\.", "tf.compat.v1.keras.", text),
}


def rewritten(folder, text):
    (folder / "script.py").write_text(text)
    (result,) = tree.migrate([str(folder / "script.py")])
    return result


@functools.lru_cache(maxsize=None)
def as_it_is(path):
    with tempfile.TemporaryDirectory() as folder:
        return rewritten(pathlib.Path(folder), path.read_text())


CASES = [
    pytest.param(path, name, id=f"{path.stem}-{name}")
    for path in EXAMPLES
    for name, spell in SPELLINGS.items()
    if spell(path.read_text()) != path.read_text()
]


@pytest.mark.parametrize("path, spelling", CASES)
def test_a_spelling_goes_the_same_way(tmp_path, path, spelling):
    then = as_it_is(path)
    result = rewritten(tmp_path, SPELLINGS[spelling](path.read_text()))
    assert (result.way, result.todos) == (then.way, then.todos), result.after.decode()
    assert b"tf.contrib" not in result.after and b"tpucompat.v1" not in result.after


def test_each_spelling_is_one_of_some_example():
    assert {case.values[1] for case in CASES} == set(SPELLINGS)


_HELPERS = {
    "utils.py": "import os\nfrom base import *\n",
    "base.py": "import tensorflow as tf\nfrom tensorflow.contrib import tpu as contrib_tpu\n",
}


@pytest.fixture
def starred(tmp_path, monkeypatch):
    """Writes a script beside modules that import TensorFlow for it; gives its name, from its folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in _HELPERS.items():
        (tmp_path / name).write_text(text)

    def write(text):
        (tmp_path / "script.py").write_text(text)
        return "script.py"

    return write


def test_names_of_another_module_s_imports_are_followed(starred):
    path = starred(
        "from utils import *  # tf\ndef f(x): return tf.to_float(x), contrib_tpu.shard\n"
    )
    found = scanner.scan_file(path, Configuration()).findings
    assert [(one.code, one.line) for one in found] == [("TPU203", 2), ("TPU213", 2)]
    (result,) = (one for one in tree.migrate([path]) if one.path == path)
    assert result.way == plan.COMPATIBLE and result.before == pathlib.Path(path).read_bytes()
    assert b"from utils import *  # tf\n" in result.after
    assert b"import tpucompat.v1 as tf\n" in result.after

    path = starred("from utils import *\ndef f(x): return tf.to_float(x)\n")
    (result,) = tree.migrate([path])
    assert result.before == pathlib.Path(path).read_bytes()
    assert result.after.endswith(
        b"from utils import *\nimport tensorflow as tf\ndef f(x): return tf.compat.v1.to_float(x)\n"
    )


@pytest.mark.parametrize(
    "text",
    ["from utils import *\nx = 1\n", "from utils import *\nimport tf\ntf.to_float(1)\n",
     "from other import *\ntf.to_float(1)\n", "from utils import f\ntf.to_float(1)\n"],
)  # fmt: skip
def test_what_no_star_import_gives_is_not_followed(starred, text):
    path = starred(text)
    assert not scanner.scan_file(path, Configuration()).findings
    (result,) = tree.migrate([path])
    assert not result.changed and result.before == text.encode()


def test_layers_that_a_recursive_function_makes_of_a_list_of_settings(tmp_path):
    """``settings`` is a part of itself: what may be in it is followed once."""
    path = tmp_path / "script.py"
    path.write_text("""\
from tensorflow import keras

def stack(x, settings):
    if not settings:
        return x
    kind, options = settings[0]
    x = keras.layers.CuDNNLSTM(8, **options)(x) if kind == "lstm" else keras.layers.Dense(8, **options)(x)
    return stack(x, settings[1:])

inputs = keras.Input((5,))
model = keras.Model(inputs, stack(inputs, [("dense", dict(init="relu")), ("lstm", dict(name="a"))]))
""")
    (result,) = tree.migrate([str(path)])
    assert b"keras.layers.LSTM(8, **options" in result.after, result.after.decode()
