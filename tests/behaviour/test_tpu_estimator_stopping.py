"""Trainings of TPUEstimator that are ended from outside, and what they leave.

One kill by default; TPUCOMPAT_KILLS=10 sets another number, at random moments.
"""

from __future__ import annotations

import glob
import io
import os
import random
import signal
import subprocess
import sys

import numpy as np
import targets
import tensorflow.compat.v1 as tf

from tpucompat.idioms.tpu_estimator import progress

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAM = os.path.join(HERE, "programs", "estimator_steps.py")
KILLS = int(os.environ.get("TPUCOMPAT_KILLS", "1"))


def undisturbed(steps):
    """The losses of the program's steps, in numpy."""
    x = np.arange(32, dtype="float32").reshape(16, 2) / 32
    y = x[:, :1] * 3 - x[:, 1:] + 0.5
    weights = {"kernel": np.zeros((2, 1)), "bias": np.zeros(1)}
    momentum = {name: np.zeros_like(value) for name, value in weights.items()}
    losses = []
    for _ in range(steps):
        error = x @ weights["kernel"] + weights["bias"] - y
        losses.append(np.mean(error**2))
        gradients = {"kernel": 2 * x.T @ error / 16, "bias": 2 * error.mean(0)}
        for name in weights:
            momentum[name] = 0.9 * momentum[name] + gradients[name]
            weights[name] = weights[name] - 0.05 * momentum[name]
    return losses


class Training:
    """A model directory, and the runs of the program on it."""

    def __init__(self, folder, cores):
        self.folder = str(folder)
        self.cores = cores

    def run(self, steps, send=None, after=0):
        """Runs the program; sends it a signal when it has printed that step.

        Returns:
          Its exit code, {step: loss}, and what it said on standard error.
        """
        environment = {**os.environ, "PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "-1"}
        for name in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS"):
            environment.pop(name, None)
        command = [sys.executable, "-m", "tpucompat", "run", *targets.options(self.cores)]
        with subprocess.Popen(
            [*command, PROGRAM, self.folder, str(steps)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            # A shell lets what it starts in the background ignore Ctrl-C, which children inherit.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process:
            losses = {}
            for line in process.stdout:
                step, loss = line.split()
                losses[int(step)] = float(loss)
                if send is not None and int(step) == after:
                    process.send_signal(send)
            said = process.stderr.read()
        return process.returncode, losses, said

    def saved(self):
        """The steps that have a checkpoint."""
        names = glob.glob(os.path.join(self.folder, "model.ckpt-*.index"))
        return sorted(int(name.split("-")[-1].split(".")[0]) for name in names)


def check(losses):
    """The losses are those of an undisturbed training."""
    expected = undisturbed(max(losses) + 1)
    # numpy counts in double precision, the program in single.
    np.testing.assert_allclose(
        list(losses.values()), [expected[step] for step in losses], rtol=1e-4, atol=1e-9
    )


def code(number):
    """What the run returns whose process was ended by a signal, or would have been."""
    return {-number, 128 + number}


def test_one_replica_goes_on_where_it_was_ended(tmp_path):
    # Many steps: a busy machine may take seconds to deliver a signal.
    training = Training(tmp_path, 1)
    returned, losses, said = training.run(1000, signal.SIGTERM, after=7)
    assert returned in code(signal.SIGTERM), said[-2000:]
    first = training.saved()[-1]
    assert first == max(losses) + 1 >= 8  # the step was finished, and saved
    assert "SIGTERM: stopping after this step" in said
    check(losses)

    returned, losses, said = training.run(1000, signal.SIGINT, after=first + 3)
    assert returned == 130, said[-2000:]
    assert min(losses) == first
    third = training.saved()[-1]
    assert third == max(losses) + 1
    sentence = (
        f"tpucompat: stopped at step {third}, saved in {tmp_path}; run the script again to resume."
    )
    assert sentence + " [TPU483]" in said and "Traceback" not in said
    check(losses)

    for _ in range(KILLS):
        second = third
        # Past the next checkpoint, so that the one before stays for what follows.
        moment = second + random.randint(7, 20)
        returned, losses, _ = training.run(1000, signal.SIGKILL, after=moment)
        assert returned == -signal.SIGKILL
        third = training.saved()[-1]
        assert min(losses) == second
        assert third > second
        assert max(losses) - third <= 5  # a checkpoint every five steps
        check(losses)

    with open(os.path.join(tmp_path, f"model.ckpt-{third}.data-00000-of-00001"), "r+b") as file:
        file.truncate(20)
    before = training.saved()[-2]
    returned, losses, said = training.run(third + 3)
    assert returned == 0, said[-2000:]
    assert f"the checkpoint model.ckpt-{third} in {tmp_path} is incomplete" in said
    assert f"is incomplete, using model.ckpt-{before} [TPU322]" in said
    assert (min(losses), max(losses)) == (before, third + 2)
    assert training.saved()[-1] == third + 3
    check(losses)


def test_eight_cores_go_on_where_they_were_ended(tmp_path):
    training = Training(tmp_path, 8)
    returned, losses, said = training.run(1000, signal.SIGTERM, after=7)
    assert returned in code(signal.SIGTERM), said[-2000:]
    first = training.saved()[-1]
    assert first == max(losses) + 1
    assert first % 5 == 0  # the steps of the call were finished
    check(losses)
    returned, losses, said = training.run(first + 5)
    assert returned == 0, said[-2000:]
    assert (min(losses), max(losses)) == (first, first + 4)
    check(losses)


def test_progress_line():
    stream = io.StringIO()
    step = tf.train.get_or_create_global_step()
    more = tf.assign_add(step, 1)
    hook = progress.ProgressHook(tf.constant(0.25), 32, 3, None, stream)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(3):
            session.run(more)
    assert stream.getvalue().startswith("\rstep 3/3, loss 0.25, ")
    assert stream.getvalue().endswith(" examples/s, 0:00:00 left\r\n")
    line = progress.line
    assert line(50, 7250, 0.123456, 2.0, 32) == (
        "step 50/7250, loss 0.12346, 64.0 examples/s, 1:00:00 left"
    )
    assert line(50, None, None, 2.0, None) == "step 50, 2.0 steps/s"


SHORT = """\
import numpy as np
import tensorflow as tf

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.square(tf.layers.dense(features, 1) - labels))
    optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    step = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=step)

def input_fn(params):
    data = tf.data.Dataset.from_tensors((np.ones(3, "f"), np.ones(1, "f"))).repeat()
    return data.batch(params["batch_size"], drop_remainder=True)

config = tf.contrib.tpu.RunConfig(model_dir="m", tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=100))
estimator = tf.contrib.tpu.TPUEstimator(model_fn, config=config, train_batch_size=4)
done = []
for limit in ({"max_steps": 1000}, {"max_steps": 1000}, {"steps": 1000}, {"max_steps": 10}):
    estimator.train(input_fn, **limit)
    done.append(int(estimator.get_variable_value("global_step")))
print(done)
"""


def test_a_smoke_run_cuts_the_loop_of_a_tpu_short(tmp_path):
    """Steps are counted on from a checkpoint, and do not depend on iterations_per_loop."""
    (tmp_path / "script.py").write_text(SHORT)
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", "--smoke", "--cores", "2", "script.py"],
        cwd=str(tmp_path),
        env={**os.environ, "PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "-1"},
        stdout=subprocess.PIPE,
        universal_newlines=True,
        timeout=300,
    )
    assert done.stdout.split("\n")[-2] == "[3, 6, 9, 10]"
