"""Whether a script speaks TensorFlow 1 or 2."""

import os

import pytest

from tpucompat.commands.analysis import findings, sources
from tpucompat.names import era

TF1 = [
    "import tensorflow as tf\ntf.contrib.tpu.keras_to_tpu_model(model)",
    "from tensorflow.contrib import tpu as contrib_tpu",
    "from tensorflow.contrib.tpu.python.tpu import keras_support",
    "import tensorflow.compat.v1 as tf\nwith tf.Session() as s: pass",
    "import tensorflow as tf\nx = tf.placeholder(tf.float32)",
    "import tensorflow\ntensorflow.app.run()",
    "import tensorflow as tf\ntf.compat.v1.disable_v2_behavior()\n@tf.function\ndef f(): pass",
    "import keras\nprint(history.history['val_acc'])",
    "import keras\nhistory = model.fit(x, y, nb_epoch=3).history['val_accuracy']",
    "%tensorflow_version 1.x\nimport tensorflow as tf",
    "",
    "import tensorflow as tf\nmodel.compile('sgd', 'mse', ['accuracy'])\nmetrics = ['accuracy']",
    "import tensorflow as tf\nmodel = tf.keras.models.Sequential()",
    "print 'python 2'",
    "import tensorflow.compat.v2 as tf\ntf.compat.v1.disable_v2_behavior()\ntf.estimator.ModeKeys",
    # Unit tests of 1.15 and of its libraries, which look at names of both.
    "from tensorflow.python.platform import test\nhistory.history['accuracy']",
    "from tensorflow_estimator.python.estimator import head\nimport tensorflow as tf\ntf.executing_eagerly()",
    # TensorFlow 1.14: the TPU start-up of 2.0, and names that 2.0 had lost.
    "import tensorflow as tf\ntf.tpu.experimental.initialize_tpu_system(tpu)\n"
    "strategy = tf.distribute.experimental.TPUStrategy(tpu, steps_per_run=128)\ntf.distribute.get_strategy()\n"
    "label = tf.decode_raw(x, tf.uint8)",
    "import tensorflow as tf\nimport tensorflow.compat.v2 as tf2\ntf2.summary.scalar\ntf.layers.dense",
    "import tensorflow.compat.v1 as tf\ntf.config.experimental_connect_to_cluster(resolver)\n"
    "tf.tpu.experimental.initialize_tpu_system(resolver)\n"
    "strategy = tf.distribute.experimental.TPUStrategy(resolver)\nwith tf.Session() as session: pass",
    # A training loop of 1.15, in a graph.
    "import tensorflow.compat.v1 as tf\nstrategy = tf.distribute.experimental.TPUStrategy(resolver)\n"
    "with tf.GradientTape() as tape: pass\nloss = strategy.run(step, args=(next(iterator),))\n"
    "with tf.Session() as session: session.run(loss)",
]
TF2 = [
    "import tensorflow as tf\nstrategy = tf.distribute.TPUStrategy(resolver)",
    "import tensorflow as tf\nstrategy = tf.distribute.experimental.TPUStrategy(resolver)",
    "import tensorflow as tf\ntf.tpu.experimental.initialize_tpu_system(r)\ntf.compat.v1.logging.info('')",
    "import tensorflow as tf\n@tf.function\ndef step(): pass",
    "from tensorflow import config\nconfig.experimental_connect_to_host('grpc://x')",
    "import tensorflow as tf\nprint(history.history['val_accuracy'])",
    "import tensorflow as tf\nEarlyStopping(monitor='val_mse')",
    "import tensorflow as tf\nm.compile('adam', tf.losses.MeanSquaredError())",
    "import tensorflow.compat.v1 as tf\ntf.enable_v2_behavior()\ntf.config.list_logical_devices('TPU')",
    "import tensorflow.compat.v2 as tf\ntf.summary.scalar",
    "import tensorflow.compat.v1 as tf\ntf.distribute.experimental.TPUStrategy(tpu)\ntf.logging.info('')",
    # A script for both, and one that kept a function from before.
    "import tensorflow as tf\nif not tf.executing_eagerly(): tf.Session()\n"
    "tf.distribute.experimental.TPUStrategy(tpu)\ntf.tpu.experimental.initialize_tpu_system(tpu)",
    "import tensorflow as tf\ntf.random.set_seed(24)\ntf.distribute.experimental.TPUStrategy(tpu)\n"
    "tf.tpu.experimental.initialize_tpu_system(tpu)\n"
    "def unused(): tf.contrib.tpu.keras_to_tpu_model(model)",
]


@pytest.mark.parametrize("source", [*TF1, *TF2])
def test_migrate_sees_the_same_era(source):
    if source.startswith(("%", "print '")):
        return  # no Python of today: a notebook's line, and a print statement
    found = findings.understand(sources.decode("script.py", source.encode()))
    assert found.era == era.detect(source).era


@pytest.mark.parametrize("source", TF1)
def test_tensorflow_1(source):
    assert era.detect(source).era == era.TF1


@pytest.mark.parametrize("source", TF2)
def test_tensorflow_2(source):
    assert era.detect(source).era == era.TF2


def test_the_script_s_own_modules_are_read(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("from package import model")
    (tmp_path / "package" / "model.py").write_text(
        "import tensorflow as tf\n@tf.function\ndef f(): pass"
    )
    source = "import package\nimport package.model\nimport absent"
    assert era.detect(source).era == era.TF1
    assert era.detect(source, str(tmp_path)).era == era.TF2


def test_modules_that_import_each_other_end(tmp_path):
    (tmp_path / "a.py").write_text("import b\nimport tensorflow as tf\ntf.Session()")
    (tmp_path / "b.py").write_text("import a")
    verdict = era.detect("import a", str(tmp_path))
    assert verdict.evidence[era.TF1] == [("tf.Session", 10)]


def test_the_evidence_is_told():
    verdict = era.detect("import tensorflow as tf\ntf.contrib.layers\ntf.random.set_seed(1)")
    assert verdict.evidence == {
        era.TF1: [("tf.contrib", 10)],
        era.TF2: [("tf.random.set_seed", 10)],
    }
    assert verdict.era == era.TF1


def test_modules_imported_by_dots_are_read(tmp_path):
    (tmp_path / "package" / "nets").mkdir(parents=True)
    (tmp_path / "package" / "__init__.py").write_text("from .nets import model")
    (tmp_path / "package" / "nets" / "__init__.py").write_text("")
    (tmp_path / "package" / "nets" / "model.py").write_text("from .. import step")
    (tmp_path / "package" / "step.py").write_text(
        "import tensorflow as tf\n@tf.function\ndef f(): pass"
    )
    assert era.detect("import package", str(tmp_path)).era == era.TF2


def test_modules_on_the_python_path_are_read_but_no_installed_ones(tmp_path, monkeypatch):
    source = (
        "import tensorflow as tf\nimport model, library, tpucompat\nif tf.executing_eagerly(): pass"
    )
    for folder, module, code in (
        ("project", "model", "tf.placeholder(tf.float32)"),
        ("project", "tpucompat", "tf.function(f)"),
        ("installed", "library", "tf.function(f)"),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{module}.py").write_text(f"import tensorflow as tf\n{code}")
    (tmp_path / "installed" / "library-1.0.dist-info").mkdir()
    folders = [str(tmp_path / name) for name in ("project", "installed")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))
    (tmp_path / "script").mkdir()
    verdict = era.detect(source, str(tmp_path / "script"))
    assert verdict.era == era.TF1
    assert verdict.evidence["tf2"] == [("tf.executing_eagerly", 1)]


WORDS = (
    "log['acc']",
    'log["val_acc"]',
    "log['accuracy']",
    'log["val_accuracy"]',
    "log['val_mae']",
    "tf.losses.Huber()",
    "tf.metrics.Mean()",
    "log['val_mse']",
    "%tensorflow_version 1.x",
    "%tensorflow_version 2.x",
    "COLAB_TPU_ADDR",
    "fit(nb_epoch=2)",
    "(nb_filter = 3)",
    "(border_mode='same')",
    "(samples_per_epoch=9)",
    "import tensorflow_estimator",
    "experimental_run_v2(f)",
    "strategy.run(f)",
    "keras_to_tpu_model(m)",
    "TPUEstimator(f)",
)


def test_modules_by_compat_v1_say_nothing_where_a_session_is_opened():
    names = {"compat.v1", "Session", "GradientTape", "distribute.experimental"}
    script = ("strategy.run(step)", names)
    assert era.weigh([script, ("", {"compat.v1"})]).era == era.TF1
    assert (
        era.weigh([("strategy.run(step)", names - {"Session"}), ("", {"compat.v1"})]).era == era.TF2
    )
    assert era.weigh([("", names | {"function"}), ("", {"compat.v1"})]).era == era.TF2


def test_each_part_of_a_word_leads_to_it():
    for text in WORDS:
        evidence = era.weigh([(text, set())]).evidence
        assert [mark for found in evidence.values() for mark, _ in found if mark in text], text
    for part in {part for word in era._WORDS for part in word.parts}:
        assert [text for text in WORDS if part in text], part
