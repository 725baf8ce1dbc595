"""What migrate asks the installed Keras, and which parts of the training loop it writes."""

from __future__ import annotations

import ast
import sys

import pytest
import tensorflow as tf
from written_modules import undefined

if sys.version_info < (3, 9):
    pytest.skip("migrate needs Python 3.9", allow_module_level=True)

from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.migrate import (
    acceptance,
    files,
    loop_parts,
    plan,
    resolution,
    tree,
    written,
)

_KERAS_3 = tuple(map(int, tf.__version__.split(".")[:2])) >= (2, 16)

_SCRIPT = b"""\
import tensorflow as tf
from tensorflow.keras.layers import Dense
model = tf.keras.Sequential([Dense(4, input_shape=(3,)), Dense(2, activation='swoosh', border='same')])
model.compile('sgd', loss='mse', metrics=['acc', 'cosine', 'mine'])
model.fit(x, y, epochs=2, turns=3)
model.predict_classes(x)
model.save('a.keras')
tf.reshape(x, [1], wrong=1)
tf.keras.utils.get_custom_objects()['mine'] = print
for loss in ('mse', 'oops'):
    given = ['mae']
    model.compile('sgd', loss, metrics=given)
"""


def _module(text):
    return findings.understand(sources.decode("a.py", text))


def test_a_variable_of_a_comprehension_is_not_the_model_of_that_name():
    script = b"import tensorflow as tf\nprint([s.sum() for s in x])\ns = tf.keras.Sequential()\ns.fit(x)\n"
    calls = [one.question.name for one in acceptance.questions(_module(script))]
    assert calls == ["tensorflow.keras.Sequential", "tensorflow.keras.Sequential.fit"]


def test_calls_and_words_are_asked_about():
    asked = {one.question for one in acceptance.questions(_module(_SCRIPT))}
    words = {one.words[0] for one in asked if one.kind == "word"}
    assert words == {"sgd", "mse", "cosine", "swoosh", "mae", "oops"}  # the others are known
    calls = {one.name: one for one in asked if one.kind == "call"}
    assert calls["tensorflow.keras.Sequential.fit"].words == ("epochs", "turns")
    assert calls["tensorflow.keras.Sequential.fit"].places == 2


@pytest.mark.skipif(not _KERAS_3, reason="tf.keras is Keras 2")
def test_what_keras_refuses_has_a_todo_at_its_line():
    result = plan.Result("a.py", b"", _SCRIPT, plan.PLAIN, [])
    lines = resolution.mark([result])[0].after.decode().splitlines()
    marked = {
        lines[index + 1].split("(")[0]: line
        for index, line in enumerate(lines)
        if "TODO(tpucompat TPU510)" in line
    }
    assert set(marked) == {
        *("model = tf.keras.Sequential", "model.compile", "model.fit", "model.predict_classes"),
        *("tf.reshape", "for loss in "),
    }
    assert "turns" in marked["model.fit"] and "'cosine'" in marked["model.compile"]


@pytest.mark.parametrize("lines", [
    "import re\nre.compile('[0-9]*').search(name)",
    "import re as regex\ndef f(name):\n  return regex.compile('a.b')",
])  # fmt: skip
def test_a_function_of_another_module_is_no_method(lines):
    module = _module(f"import tensorflow as tf\n{lines}\nmodel.compile('mbf')\n".encode())
    words = [one.question.words[0] for one in acceptance.questions(module)]
    assert words == ["mbf"]


@pytest.mark.skipif(not _KERAS_3, reason="tf.keras is Keras 2")
def test_what_keras_accepts_has_none():
    text = b"""\
import tensorflow as tf
layers = tf.keras.layers
given = tf.keras.Input((3,), name='a')
found = layers.Dense(2, activation='relu', input_shape=(3,))(given)
model = tf.keras.Model(inputs=given, outputs=found, name='b')
model.compile(tf.keras.optimizers.Adam(learning_rate=0.1, clipnorm=1.0), 'mse', metrics=['accuracy'])
model.fit(x, y, 8, 2, verbose=0)
model.add(layers.LSTM(3, dtype='float32', recurrent_initializer='orthogonal'))
tf.keras.callbacks.ModelCheckpoint('a.keras', save_best_only=True)
tf.one_hot(x, 3)
tf.io.FixedLenFeature([1], tf.int64, 0)
"""
    result = plan.Result("a.py", b"", text, plan.PLAIN, [])
    assert resolution.mark([result])[0].after == text


# The training loop ---------------------------------------------------------------------------------------

_LOOP = written.source("training_loop.py")
_TRAINS = ("Trainer", "RunConfig", "TPUConfig", "Spec", "ModeKeys", "make_strategy", "train")


@pytest.mark.parametrize(
    "uses", [_TRAINS, (*_TRAINS, "evaluate"), (*_TRAINS, "predict", "export_saved_model")]
)
def test_a_part_of_the_training_loop_has_all_that_it_uses(uses):
    part = written.part(_LOOP, uses)
    assert not undefined(part)
    methods = {one.name for one in ast.walk(ast.parse(part)) if isinstance(one, ast.FunctionDef)}
    assert "train" in methods and ("evaluate" in methods) == ("evaluate" in uses)
    assert len(part.splitlines()) < 0.8 * len(_LOOP.splitlines())
    assert part.startswith(_LOOP.split(b"\n")[0])  # by which it is known again


def test_a_part_keeps_what_a_class_of_tensorflow_calls():
    part = written.part(_LOOP, (*_TRAINS, "CrossShardOptimizer"))
    optimizer = next(
        one for one in ast.parse(part).body if getattr(one, "name", "") == "CrossShardOptimizer"
    )
    methods = {one.name for one in optimizer.body if isinstance(one, ast.FunctionDef)}
    assert {"compute_gradients", "apply_gradients"} <= methods  # of which minimize consists


def test_a_missing_function_would_be_seen():
    assert undefined(
        written.part(_LOOP, _TRAINS).replace(b"def summary_writer(", b"def made(")
    ) == {"summary_writer"}


def test_the_whole_loop_is_a_part_of_itself():
    everything = {*written.defined(_LOOP), *written.marks(loop_parts.PARTS)}
    whole = written.part(_LOOP, everything)
    assert ast.dump(ast.parse(whole)) == ast.dump(ast.parse(_LOOP)) and b"# if " not in whole


@pytest.mark.parametrize(
    ("script", "has_hooks", "has_operations"),
    [
        ("e.train(f, steps=3)", False, False),
        ("e.train(f, None, 3)", False, False),
        ("e.train(f, [hook], 3)", True, False),
        ("e.train(f, hooks=hooks)", True, False),
        ("training_loop.Spec(m, training_hooks=[h])", True, False),
        ("training_loop.Spec(m, eval_metric_ops=x)", False, True),
        ("training_loop.Spec(m, **more)", True, True),
    ],
)
def test_a_section_is_there_for_who_uses_it(script, has_hooks, has_operations):
    parts = loop_parts.needed([script.encode()], [])
    part = written.part(_LOOP, [*_TRAINS, "evaluate", *written.marks(parts)])
    assert not undefined(part) and b"# if " not in part
    assert (b"class Hooks" in part) == (b"hooks.before()" in part) == has_hooks
    assert (b"def _metric_ops" in part) == (b"= _metric_ops(" in part) == has_operations


def test_a_section_is_added_for_another_script():
    small, large = (written.part(_LOOP, [*_TRAINS, *more]) for more in ([], ["# hooks"]))
    assert written.of_both("training_loop", small, large) == large
    assert written.of_both("training_loop", large, small) == large
    assert (
        written.of_both("training_loop", small.replace(b"replica_step", b"one_step"), large) is None
    )


def test_a_program_that_is_there_keeps_what_it_uses(tmp_path):
    place = tmp_path / "training_loop.py"
    place.write_bytes(written.part(_LOOP, (*_TRAINS, "predict")))
    script = b"import training_loop\ntraining_loop.Trainer(None).train(None).evaluate(None)\n"
    path = str(tmp_path / "a.py")
    result = plan.Result(path, b"", script, plan.LOOP, [], beside={"training_loop.py": _LOOP})
    (cut,) = tree.with_parts([result])
    text = files.beside(cut.beside, str(tmp_path))[str(place)]
    assert b"def predict(" in text and b"def evaluate(" in text
    assert b"def export_saved_model(" not in text


def test_an_attribute_of_an_own_model_is_no_method_of_keras():
    script = b"""\
import tensorflow as tf
class Coder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = tf.keras.layers.Dense(1)
coder = Coder()
print(coder.encoder(x))
"""
    calls = [one.question.name for one in acceptance.questions(_module(script))]
    assert not [name for name in calls if name.endswith(".encoder")]


def test_an_optimizer_that_is_left_is_not_that_of_keras():
    script = b"""\
import tensorflow as tf
import training_loop
regularizer = tf.keras.regularizers.l2(0.1)
opt = tf.compat.v1.train.AdagradOptimizer(0.1)
opt.minimize(loss, global_step=step)
"""
    calls = [one.question.name for one in acceptance.questions(_module(script))]
    assert calls == [
        "tensorflow.keras.regularizers.l2",
        "tensorflow.compat.v1.train.AdagradOptimizer",
    ]


_OF_LIBRARIES = {
    "pd.Panel()": "pandas.Panel does not exist",
    "pd.rolling_mean(df.a, 2)": "pandas.rolling_mean does not exist",
    "np.nothing(3)": "numpy.nothing does not exist",
    "pd.concat([df], join_axes=[x])": "concat takes no argument join_axes",
    "df.convert_objects()": "DataFrame has no method convert_objects",
    "df.a.clip_lower(2)": "Series has no method clip_lower",
    "df.a.replace('x', method='pad')": "replace takes no argument method",
    "df.sum(axis=0)": "",
    "df.apply(f, axis=1).tolist()": "",
    "df.apply(f).to_frame('x')": "",
    "df.groupby('a').ngroup()": "",
    "np.zeros(3).nothing()": "",
}


def test_what_pandas_and_numpy_say(tmp_path):
    pytest.importorskip("pandas")
    start = "import numpy as np\nimport pandas as pd\nimport tensorflow as tf\ntf.log(x)\n"
    lines = [start, "df = pd.read_csv('x.csv')\n", *(f"{line}\n" for line in _OF_LIBRARIES)]
    guarded = "try:\n    pd.Panel()\nexcept AttributeError:\n    pass\n"
    (tmp_path / "a.py").write_text("".join(lines) + guarded)
    (result,) = resolution.mark(list(tree.migrate([str(tmp_path / "a.py")])))
    comments, words = {}, ""
    for line in result.after.decode().splitlines():
        words = words + line.lstrip("# ") + " " if line.startswith("#") else words
        if not line.startswith("#"):
            comments[line], words = words, ""
    for line, said in _OF_LIBRARIES.items():
        assert said in comments[line] and bool(comments[line]) == bool(said), line
    assert comments["    pd.Panel()"] == ""
