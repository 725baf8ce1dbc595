"""With TPUCOMPAT_REQUIRE_TPU nothing that a script asks a TPU for is trained on the host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tpucompat.base import journal
from tpucompat.base.errors import SetupError
from tpucompat.base.machine import environment
from tpucompat.engines import tpu_devices

PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).parents[2]

#: What is computed by the cores; each of them did so on a TPU of its time.
IN_SESSIONS = ["batch_parallel", "shard", "replicate", "rewrite"]
OF_KERAS = ["keras", "keras_one_core", "fit_dataset", "fit_generator", "on_batch"]
OF_ESTIMATORS = ["train", "train_one_shard", "evaluate", "predict", "train_and_evaluate"]
OF_MODELS = [*OF_KERAS, *OF_ESTIMATORS]
#: What only the host can do -> the code of the error.
REFUSED = {"infeed": "TPU358", "strategy": "TPU464", "device": "TPU464"}
rehearses = pytest.mark.skipif(
    not environment().has("rehearsal"), reason="a rehearsal needs TensorFlow 2.15"
)


def run(folder, *command, **settings):
    unset = ("TPUCOMPAT_CORES", "TPUCOMPAT_REHEARSE")
    environ = {name: value for name, value in os.environ.items() if name not in unset}
    environ.update(settings, PYTHONPATH=str(ROOT), TPUCOMPAT_REQUIRE_TPU="1")
    environ["CUDA_VISIBLE_DEVICES"] = "-1"
    return subprocess.run(
        [sys.executable, *command],
        env=environ,
        cwd=str(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=600,
    )


@pytest.mark.parametrize("era", ["tf1", "tf2"])
@pytest.mark.parametrize("cores", [{}, {"TPUCOMPAT_CORES": "8"}])
def test_without_a_tpu_no_script_begins(tmp_path, era, cores):
    script = tmp_path / "script.py"
    script.write_text("print('begun')\n")
    done = run(tmp_path, "-m", "tpucompat", "run", "--era", era, str(script), **cores)
    assert done.returncode == 2
    assert "TPU411" in done.stderr and "begun" not in done.stdout


@pytest.mark.parametrize(
    "way",
    [
        "import tpucompat; tpucompat.install()",
        pytest.param("import tpucompat.v1 as tf; tf.train.Saver", marks=pytest.mark.long),
    ],
)
def test_without_a_tpu_nothing_of_tensorflow_can_be_used(tmp_path, way):
    script = tmp_path / "script.py"
    script.write_text(f"{way}\nprint('begun')\n")
    done = run(tmp_path, str(script))
    assert done.returncode == 1
    assert "TPU411" in done.stderr and "begun" not in done.stdout


def found_with(folder, cores, kinds):
    file = folder / "report.json"
    program = str(PROGRAMS / "required.py")
    done = run(
        folder,
        *("-m", "tpucompat", "run", "--quiet", "--rehearse", cores, program, str(file), *kinds),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(file.read_text())


@rehearses
@pytest.mark.parametrize(
    ("cores", "kinds"),
    [
        ("1", IN_SESSIONS),  # and models: test_rehearsal.py
        pytest.param("1", OF_MODELS, marks=pytest.mark.long),
        pytest.param("2", [*OF_MODELS, *IN_SESSIONS], marks=pytest.mark.long),
    ],
)
def test_on_a_tpu_the_cores_compute_or_an_error_says_why_not(tmp_path, cores, kinds):
    found = found_with(tmp_path, cores, [*kinds, *REFUSED, "train_on_host"])
    for kind in kinds:
        assert found[kind] == "programs", (kind, found[kind])
    for kind, code in REFUSED.items():
        assert code in found[kind] and "TPUCOMPAT_REQUIRE_TPU is set" in found[kind]
    assert found["train_on_host"] == "host"  # use_tpu=False is what the script asks for


@rehearses
def test_a_device_of_a_rehearsed_tpu_is_the_host(monkeypatch):
    from tpucompat.idioms.startup import early_tf2

    monkeypatch.setenv("TPUCOMPAT_REHEARSE", "2")
    monkeypatch.setattr(journal, "_said", set(), raising=False)
    with early_tf2.device("/CPU:0"):
        pass
    with early_tf2.device("/TPU:0"):
        pass
    monkeypatch.setenv("TPUCOMPAT_REQUIRE_TPU", "1")
    with pytest.raises(SetupError, match="TPU464"):
        early_tf2.device("/TPU:0")


def test_our_own_operations_on_a_tpu_are_no_error(monkeypatch):
    """The call stands where the script calls for a computation, be it in ``tf.device('/device:TPU:0')``."""
    import tensorflow.compat.v1 as tf

    from tpucompat.engines import in_graph

    monkeypatch.setenv("TPUCOMPAT_REQUIRE_TPU", "1")
    with tf.Graph().as_default() as graph, tf.device("/device:TPU:0"):
        session = tf.Session()
        assert in_graph.current_device() == "/device:TPU:0"
        tpu_devices._free(session, graph.get_operations())
        assert [operation.device for operation in graph.get_operations()] == [""]
        tf.constant(1.0) + 1.0
        with pytest.raises(SetupError, match=r"TPU464.*the script places on /device:TPU:0"):
            tpu_devices._free(session, graph.get_operations())
