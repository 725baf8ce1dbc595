"""``tpucompat verify`` on real programs: a migration that is right, and migrations that are wrong.

The mistakes are those that people make. Each is to be found, and on the rung that says what it is. The pairs
of ``examples.toml`` are compared too, as ``tpucompat verify --all`` compares them, and with a third of the
mistakes of ``tools/mistakes.toml`` in them: both take minutes.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import random
import re
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest

from tpucompat.__main__ import main
from tpucompat.base.machine import environment
from tpucompat.commands.verify import ladder, runs, shuffles
from tpucompat.commands.verify.recorder import Recorder, Recording

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLD = os.path.join(PROGRAMS, "verify_old.py")
NEW = os.path.join(PROGRAMS, "verify_new.py")


def _text(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as stream:
        return stream.read()


pytestmark = pytest.mark.skipif("sys.version_info < (3, 8)", reason="TensorFlow 2 needs Python 3.8")


def _watch_shuffles(monkeypatch, folder, orders=()):
    import tensorflow as tf

    from tpucompat.tf import private

    for module, name in [
        *((module, "shuffle") for module in (random, np.random, tf.random, tf.compat.v2.random)),
        *((d, "shuffle") for d in (tf.data.Dataset, tf.compat.v1.data.Dataset)),
        (np.random, "permutation"),
        (private.random_seed(), "get_seed"),
    ]:
        monkeypatch.setattr(module, name, getattr(module, name))
    shuffles.Shuffles(Recorder(str(folder)), orders).open()


@pytest.mark.parametrize("keras", ["keras.src.trainers.data_adapters", "keras.src.engine"])
def test_both_generations_of_keras_draw_the_order_of_the_old_run(keras, tmp_path, monkeypatch):
    """Keras 3 shuffles by ``tf.random``, Keras 2 by ``tf.compat.v2.random``, another module."""
    import tensorflow as tf

    from tpucompat.tf import private

    of_keras_3 = "trainers" in keras
    namespace = {"__name__": keras + ".made_up", "tf": tf if of_keras_3 else tf.compat.v2}
    exec("def shuffled(n):\n  return tf.random.shuffle(tf.range(n))", namespace)
    order = np.arange(40)[::-1]
    _watch_shuffles(monkeypatch, tmp_path, [order])
    with private.eager_mode():
        np.testing.assert_array_equal(namespace["shuffled"](40), order)


@pytest.mark.parametrize("seed", [None, 7])
def test_a_shuffle_without_a_seed_is_the_same_whatever_else_is_seeded(seed, tmp_path, monkeypatch):
    """The graph of an Estimator has no seed, an eager process has that of ``--seed`` or its own.

    And where it is repeated, the old run does not take TensorFlow 1.15's order, which needs a seed.
    """
    import tensorflow as tf

    from tpucompat.engines import repeated_shuffles
    from tpucompat.tf import private

    v1, found = tf.compat.v1, []
    monkeypatch.setattr(repeated_shuffles, "NOT_FOLLOWED", set())
    for is_new in (False, True):
        with monkeypatch.context() as replaced:
            _watch_shuffles(replaced, tmp_path)
            with private.eager_mode() if is_new else tf.Graph().as_default():
                if is_new and seed is not None:
                    tf.random.set_seed(seed)
                dataset = (tf if is_new else v1).data.Dataset.range(40).shuffle(40)
                dataset = dataset.repeat(2).batch(80)
                if is_new:
                    found.append(next(iter(dataset)).numpy())
                    tf.random.set_seed(None)
                else:
                    with v1.Session() as session:
                        batch = v1.data.make_one_shot_iterator(dataset).get_next()
                        found.append(session.run(batch))
    np.testing.assert_array_equal(*found)
    assert found[0][:40].tolist() != list(range(40))


def _without_dropout(monkeypatch, folder):
    """What ``--no-dropout`` watches the functions by."""
    from tpucompat.commands.verify import dropouts
    from tpucompat.tf import private

    for module in private.dropout_modules():
        for name in dropouts._FUNCTIONS:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(module, name))
    watched = dropouts.Dropouts(Recorder(str(folder)), on=False)
    watched.open()
    return watched


def test_without_dropout_a_training_loop_drops_in_its_evaluation(tmp_path, monkeypatch):
    """What ``migrate`` writes for TPUEstimator differentiates without a tape."""
    import tensorflow as tf

    from tpucompat.tf import private

    class Trainer:
        def __init__(self, model_fn, model_dir=None):
            self.model_fn = model_fn

    watched = _without_dropout(monkeypatch, tmp_path)
    watched.open_training_loop(types.SimpleNamespace(Trainer=Trainer))
    model_fn = functools.partial(lambda x, mode, rate: tf.nn.dropout(x, rate=rate), rate=0.5)
    trainer = Trainer(model_fn, "out")
    assert list(inspect.signature(trainer.model_fn).parameters) == ["x", "mode", "rate"]
    assert trainer.model_fn.keywords == {"rate": 0.5}
    with private.eager_mode():
        x = tf.ones([100])
        np.testing.assert_array_equal(trainer.model_fn(x, mode="train"), x)
        assert np.any(trainer.model_fn(x, mode="eval").numpy() == 0)


def test_dropout_of_whole_axes_is_no_dropout_of_numbers(tmp_path, monkeypatch):
    """In graphs sizes may be tensors, and a noise shape one tensor."""
    import tensorflow as tf
    import tensorflow.compat.v1 as v1

    from tpucompat.tf import private

    _without_dropout(monkeypatch, tmp_path)
    with private.eager_mode():
        tf.nn.dropout(tf.ones([2, 4, 5, 3]), rate=0.5, noise_shape=[2, 1, 1, 3])
        tf.keras.layers.SpatialDropout1D(0.4)(tf.ones([2, 4, 3]), training=True)
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 4, 3])
        shape = tf.shape(x)
        v1.nn.dropout(x, rate=0.3, noise_shape=tf.stack([shape[0], 1, shape[2]]))
        v1.nn.dropout(x, rate=0.2, noise_shape=[shape[0], 4, 1])
        v1.nn.dropout(x, rate=0.1)
    found = {event["rate"]: event["shape"] for event in Recording(str(tmp_path)).all("dropout")}
    expected = {0.5: [1, 1, 3], 0.4: [1, 3], 0.3: [1, 3], 0.2: [4, 1], 0.1: [4, 3]}
    assert found == expected


def test_without_dropout_no_function_of_a_session_loop_drops(tmp_path, monkeypatch):
    """Nor did one of the old run's graph."""
    import tensorflow as tf

    from tpucompat.tf import private

    class Computations:
        def on_all_cores(self, function, inputs, from_all=True):
            return lambda: (function(*inputs), from_all)

        on_one_core = on_all_cores

    watched = _without_dropout(monkeypatch, tmp_path)
    watched.open_session_loop(types.SimpleNamespace(Computations=Computations))
    with private.eager_mode():
        x = tf.ones([100])
        for put in (Computations().on_all_cores, Computations().on_one_core):
            result, from_all = put(lambda x: tf.nn.dropout(x, rate=0.5), [x], from_all=False)()
            np.testing.assert_array_equal(result, x)
            assert not from_all
        assert np.any(tf.nn.dropout(x, rate=0.5).numpy() == 0)


def test_without_dropout_only_a_training_step_has_none(tmp_path, monkeypatch):
    """A model that drops out where it is evaluated has other answers than the old one."""
    import tensorflow as tf

    from tpucompat.tf import private

    _without_dropout(monkeypatch, tmp_path)
    with private.eager_mode():
        x = tf.ones([100])
        with tf.GradientTape():
            trained = tf.nn.dropout(x, rate=0.5)
        evaluated = tf.nn.dropout(x, rate=0.5)
    np.testing.assert_array_equal(trained, x)
    assert np.any(evaluated.numpy() == 0)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        graph = session.run(tf.compat.v1.nn.dropout(tf.ones([100]), rate=0.5))
    np.testing.assert_array_equal(graph, np.ones(100))  # which of its steps train is not known


def test_each_signature_of_an_exported_model_is_asked(tmp_path):
    """And it is said what a client has to know of it."""
    import tensorflow as tf

    from tpucompat.commands.verify import exports
    from tpucompat.tf import private

    with private.eager_mode():
        module = tf.Module()
        rows = tf.TensorSpec([None, 3], tf.float32, name="x")
        module.half = tf.function(lambda x: {"half": x / 2}, input_signature=[rows])
        module.sign = tf.function(lambda x: {"sign": tf.cast(tf.sign(x), tf.int32)})
        signatures = {
            "serving_default": module.half,
            "sign": module.sign.get_concrete_function(x=tf.TensorSpec([2, 3], name="x")),
        }
        tf.saved_model.save(module, str(tmp_path), signatures=signatures)
        answers, interface = exports.answers_of(str(tmp_path))
    assert {name: len(rows) for name, rows in answers.items()} == {"half": 8, "sign: sign": 2}
    assert interface["sign"] == {
        "inputs": {"x": ["float32", [2, 3]]},
        "outputs": {"sign": ["int32", [2, 3]]},
    }
    assert interface["serving_default"]["inputs"] == {"x": ["float32", [None, 3]]}


IN_TODAYS_WORLD = pytest.mark.skipif(
    sys.version_info < (3, 11) or (environment().release or (0, 0)) < (2, 16),
    reason="the table is read by tomllib, and the recorded figures are those of Keras 3",
)


@pytest.mark.long
@IN_TODAYS_WORLD
@pytest.mark.parametrize("name", re.findall(r'(?m)^name = "(.*)"', _text("examples.toml")))
def test_a_pair_agrees(name, capsys):
    assert main(["verify", "--all", "--pair", name]) == 0, capsys.readouterr().out


@pytest.mark.long
@IN_TODAYS_WORLD
def test_a_third_of_the_mistakes_is_shown(tmp_path):
    command = [sys.executable, os.path.join(ROOT, "tools", "mutate.py"), "--part", "1/3"]
    command += ["--keep", str(tmp_path / "kept"), "--json", str(tmp_path / "outcomes.json")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    tried = json.loads((tmp_path / "outcomes.json").read_text())
    assert 3 * len(tried) >= 100
    assert done.returncode == 0, [line for line in done.stdout.splitlines() if "WRONG" in line]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("verify")


@pytest.fixture(scope="module")
def old(folder):
    run = runs.record(
        runs.Half(OLD, ["{out}/r.json"], legacy=True), str(folder / "old"), timeout=200
    )
    assert not run.problem, run.output[-3000:]
    return run.recording


@pytest.fixture
def migration(folder, old):
    """Runs the migration with a mistake in it, from the old run's values."""

    def run(mistake):
        half = runs.Half(NEW, ["{out}/r.json", mistake])
        where = str(folder / mistake.replace(" ", "_"))
        return runs.record(half, where, initial=old.folder, timeout=200)

    return run


def test_a_migration_that_is_right_agrees(old, migration):
    run = migration("none")
    assert not run.problem, run.output[-3000:]
    found = ladder.compare(old, run.recording)
    verdicts = {rung.key: (rung.verdict, rung.worst) for rung in found.rungs}
    assert found.verdict == ladder.AGREE, verdicts
    for key in ("variables", "initial", "forward", "loss", "gradients", "update", "steps", "files"):
        assert verdicts[key][0] == ladder.AGREE, key
    # What is found of a mistake is far above what is left of a migration without one.
    assert verdicts["update"][1] < 1e-4 and verdicts["steps"][1] < 1e-5
    assert len(found.matches.pairs) == 8  # the moving averages too
    # A mapping that loses a twin is said on the first rung.
    wrong = ladder.compare(old, run.recording, {"sequential/hidden/kernel": "hiden/kernel"})
    assert wrong.rungs[0].verdict == ladder.DIFFER
    assert "did you mean 'hidden/kernel'?" in wrong.rungs[0].note


@pytest.mark.parametrize(
    ("mistake", "rung", "said"),
    [
        ("rate", "update", "all updates are 0.125 times as large"),
        ("epsilon", "update", "differ, first"),
        ("momentum", "update", "moving_"),
        ("sum", "loss", "64 times as much"),
        ("labels shifted", "loss", "labels of the first step differ"),
        ("batch of one core", "forward", "8 examples in a step instead of 64"),
    ],
)
def test_a_mistake_is_found_on_its_rung(old, migration, mistake, rung, said):
    run = migration(mistake)
    assert not run.problem, run.output[-3000:]
    found = ladder.compare(old, run.recording)
    differing = {each.key: each.note for each in found.rungs if each.verdict == ladder.DIFFER}
    assert next(iter(differing)) == rung, differing
    assert said in differing[rung]


def test_the_loss_of_a_tpu_computation_is_differentiated_once(tmp_path):
    """The computation is a function in the script's graph: no function of an eager program."""
    script = tmp_path / "sharded.py"
    script.write_text(SHARDED)
    run = runs.record(runs.Half(str(script), legacy=True), str(tmp_path / "run"), timeout=200)
    assert not run.problem, run.output[-3000:]
    (site,) = run.recording.sites()
    assert site["replicas"] == 2
    # Mean of (w - x)² from w = 0, then w = 0.5 · mean x.
    assert run.recording.objectives(site["site"]) == pytest.approx([2.5, 2.5 - 0.75 * 2.25])


SHARDED = """
import tensorflow as tf

def step(x):
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean((w - x) ** 2)
    optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.25))
    with tf.control_dependencies([optimizer.minimize(loss)]):
        return tf.identity(loss)

losses, = tf.contrib.tpu.shard(step, [tf.constant([1.0, 2.0])], num_shards=2)
with tf.Session() as session:
    session.run([tf.contrib.tpu.initialize_system(), tf.global_variables_initializer()])
    for _ in range(2):
        session.run(losses)
"""


def test_a_run_that_crashes_leaves_a_partial_report(tmp_path, capsys):
    """Through the command: exit code 2, the rungs that were reached, the page and the data."""
    arguments = ["verify", OLD, NEW, "--args", "{out}/r.json", "--new-args", "crash"]
    arguments += ["--json", str(tmp_path / "r.json"), "--html", str(tmp_path / "r.html")]
    assert main([*arguments, "--timeout", "200"]) == 2
    out = capsys.readouterr().out
    assert "the new run: RuntimeError: the disk is full" in out
    content = json.loads((tmp_path / "r.json").read_text())
    by_key = {rung["key"]: rung for rung in content["rungs"]}
    assert by_key["gradients"]["verdict"] == "agree"
    assert "3 steps instead of 6" in by_key["steps"]["note"]
    assert content["new"]["environment"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert "the disk is full" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_computations_that_migrate_rewrites_compute_the_same(tmp_path):
    """On eight cores: the function's own rows on each of them, and a function that one of them computes."""
    old = os.path.join(PROGRAMS, "plain_computations.py")
    new = tmp_path / "plain_computations.py"
    shutil.copy(old, new)
    assert main(["migrate", "--write", str(new)]) == 0
    assert "tpucompat" not in new.read_text()
    data = tmp_path / "r.json"
    arguments = ["--args", "{out}/r.json", "--cores", "8", "--timeout", "200", "--json", str(data)]
    assert main(["verify", old, str(new), *arguments]) == 0
    (files,) = (r for r in json.loads(data.read_text())["rungs"] if r["key"] == "files")
    assert [row["name"] for row in files["rows"]] == [
        f"r.json: {n}" for n in ("one", "relu", "product")
    ]
    assert files["worst"] < 1e-6


PLAIN_SESSION = """
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [4, 3])
w = tf.get_variable("w", [3, 1])
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as session:
  session.run(tf.global_variables_initializer())
  for _ in range(7):
    session.run(train, {x: np.ones((4, 3))})
"""
ITS_TWIN = """
import tensorflow as tf

w = tf.Variable(tf.random.uniform([3, 1], -1.2, 1.2), name="w")
for _ in range(5):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.ones([4, 3]), w) - 1))
    w.assign_sub(0.1 * tape.gradient(loss, w))
"""


def test_the_training_of_a_plain_session_is_seen(tmp_path):
    """Its variables are references, which optimizers take the gradients by."""
    scripts = []
    for name, text in (("old", PLAIN_SESSION), ("new", ITS_TWIN)):
        scripts.append(str(tmp_path / f"{name}.py"))
        (tmp_path / f"{name}.py").write_text(text)
    data = tmp_path / "r.json"
    assert main(["verify", *scripts, "--timeout", "200", "--json", str(data)]) == 1
    rungs = {rung["key"]: rung for rung in json.loads(data.read_text())["rungs"]}
    agreed = ("variables", "initial", "loss", "gradients", "update")
    assert {rungs[key]["verdict"] for key in agreed} == {"agree"}
    assert "5 steps instead of 7" in rungs["steps"]["note"] and rungs["steps"]["worst"] < 1e-6


DROPPING = """
import numpy as np
import tensorflow as tf

x = np.random.RandomState(0).randn(64, 12).astype(np.float32)
keep = tf.placeholder_with_default(1.0, [])
images, labels = tf.placeholder(tf.float32, [None, 12]), tf.placeholder(tf.int32, [None])
hidden = tf.nn.dropout(tf.layers.dense(images, 16, tf.tanh, name="a"), keep_prob=0.7)
logits = tf.layers.dense(tf.layers.dropout(hidden, 0.5, training=True), 2, name="b")
loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
with tf.Session() as session:
  session.run(tf.global_variables_initializer())
  for step in range(6):
    feeds = {images: x, labels: (x[:, 0] > 0).astype(np.int32)}
    print("loss %.6f" % session.run([loss, train], feeds)[0])
"""
DROPPING_TODAY = """
import numpy as np
import tensorflow as tf

layers = tf.keras.layers
x = np.random.RandomState(0).randn(64, 12).astype(np.float32)
model = tf.keras.Sequential([
    tf.keras.Input((12,)), layers.Dense(16, "tanh", name="a"), layers.Dropout(0.3),
    layers.Dropout(0.5), layers.Dense(2, name="b"),
])
optimizer = tf.keras.optimizers.SGD(0.05, 0.9)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss

for _ in range(6):
    print("loss %.6f" % float(step(x, (x[:, 0] > 0).astype(np.int32))))
"""


def test_without_dropout_a_program_that_has_some_is_compared_sharply(tmp_path):
    """The masks of two generations are others, the rates are not; momentum is kept with the rate in it."""
    scripts = []
    for name, text in (("old", DROPPING), ("new", DROPPING_TODAY)):
        scripts.append(str(tmp_path / f"{name}.py"))
        (tmp_path / f"{name}.py").write_text(text)
    data = tmp_path / "r.json"
    arguments = ["verify", *scripts, "--timeout", "200", "--json", str(data), "--no-dropout"]
    assert main(arguments) == 0
    rungs = {rung["key"]: rung for rung in json.loads(data.read_text())["rungs"]}
    assert rungs["dropout"]["note"] == "rates: 0.3, 0.5"
    assert rungs["forward"]["worst"] < 1e-6 and rungs["steps"]["worst"] < 1e-5
    assert rungs["update"]["verdict"] == rungs["printed"]["verdict"] == "agree"
    assert "slots" in rungs["update"]["note"]
