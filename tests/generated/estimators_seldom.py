"""Random TPUEstimator programs of what no other program of this folder does with an Estimator.

The rows were found by a search of TensorFlow 1.15's ``tf.train`` and ``tf.estimator`` for hooks, arguments and
functions that no other file has: hooks that log, count, save and look at tensors, listeners of checkpoints,
evaluation that is not on the TPU, weights from the checkpoint of another model, warm starts of some variables,
exporters, early stopping, checkpoints that are read by themselves. The programs are those of
``estimators_drawn.py``.
"""

from __future__ import annotations

import os
from unittest import mock

import estimators_drawn as drawn
import numpy as np

import tpucompat.v1 as tf


class Listener(tf.train.CheckpointSaverListener):
    """What is told of checkpoints, in order."""

    def __init__(self):
        self.told = []

    def begin(self):
        self.told.append("begin")

    def before_save(self, session, global_step_value):
        self.told.append(f"before {global_step_value}")

    def after_save(self, session, global_step_value):
        self.told.append(f"after {global_step_value}")

    def end(self, session, global_step_value):
        self.told.append(f"end {global_step_value}")


class Looking(tf.train.SessionRunHook):
    """A hook that reads and writes a variable by its name, and asks to stop."""

    def __init__(self, last):
        self.last, self.means = last, []

    def begin(self):
        self.bias = next(v for v in tf.global_variables() if v.name == "logits/bias:0")
        self.half = self.bias.assign(0.5 * self.bias)

    def after_create_session(self, session, coord):
        session.run(self.half)

    def before_run(self, context):
        return tf.train.SessionRunArgs({"step": tf.train.get_global_step()})

    def after_run(self, context, values):
        if int(values.results["step"]) >= self.last:
            context.request_stop()

    def end(self, session):
        self.means.append(session.run(self.bias))


class Program(drawn.Program):
    """A program that takes ways that few scripts take."""

    def __init__(self, m, folder, brief):
        super().__init__(m, folder, brief)
        # A call makes a loop's steps on several cores, and one on one replica: hooks would see others.
        self.loop = 1

    def hooked(self, made):
        m, train = self.m, tf.train
        place = os.path.join(self.folder, f"hooks_{len(m.log)}")
        listener = Listener()
        looking = Looking(1 if m.often() else 10**6)
        rows = {
            "logged": lambda: train.LoggingTensorHook(["global_step"], every_n_iter=2),
            "logged at the end": lambda: train.LoggingTensorHook(
                {"g": "global_step:0"}, at_end=True
            ),
            "steps": lambda: train.StepCounterHook(2, output_dir=place),
            "saver": lambda: train.CheckpointSaverHook(place, save_steps=2, listeners=[listener]),
            "looking": lambda: looking,
            "waiting": lambda: train.GlobalStepWaiterHook(0),
            "last step": lambda: train.StopAtStepHook(last_step=10**6),
        }
        if self.scaffold in (
            "saver",
            "restored",
        ):  # a hook finds no Saver that a Scaffold was given
            rows.pop("saver")
        names = m.random.sample(sorted(rows), 3)
        m.note(f"hooks {names}")
        made.train(
            self.input_fn,
            hooks=[rows[name]() for name in names],
            steps=m.one(3, 4),
            saving_listeners=[listener] if "saver" not in names and m.often() else None,
        )
        files = sorted(os.listdir(place)) if os.path.exists(place) else []
        files = [f for f in files if not f.startswith("events")]
        return {"told": " ".join(listener.told), "files": " ".join(files), "bias": looking.means}

    def evaluate_elsewhere(self, made):
        if self.brief:
            return None
        other = self.estimator(eval_on_tpu=False)
        return drawn.numbers_of(other.evaluate(self.input_fn, steps=2, hooks=[drawn.Counting()]))

    def from_checkpoint(self, made):
        """Another model whose weights begin with those of a checkpoint, all but some."""
        path = made.latest_checkpoint()
        names = [
            name for name, _ in tf.train.list_variables(path) if name.endswith(("kernel", "bias"))
        ]
        m, chosen = self.m, sorted(names)[:: self.m.one(1, 2)]
        m.note(f"{len(chosen)} of {len(names)} from the checkpoint")
        before = self.scaffold_fn

        def scaffold_fn():
            def restored():
                there = {v.op.name: v for v in tf.global_variables() if v.op.name in chosen}
                tf.train.init_from_checkpoint(path, there)
                return tf.train.Scaffold()

            return restored

        self.scaffold_fn = scaffold_fn
        try:
            self.made = self.estimator(f"from_{len(m.log)}")
            self.made.train(self.input_fn, steps=2)
        finally:
            self.scaffold_fn = before
        return {"words": self.made.get_variable_value("global_step")}

    def warm_some(self, made):
        settings = tf.estimator.WarmStartSettings(
            made.latest_checkpoint(),
            vars_to_warm_start=self.m.one(".*kernel.*", ["logits/bias", "logits/kernel"]),
        )
        self.made = self.estimator(f"warm_{len(self.m.log)}", warm_start_from=settings)
        self.made.train(self.input_fn, steps=2)

    def stopped_early(self, made):
        """The hook's variable has to be in each checkpoint, so the first training has it."""
        self.made = self.estimator(f"early_{len(self.m.log)}")
        hook = tf.estimator.experimental.make_early_stopping_hook(
            self.made, lambda: True, run_every_secs=None, run_every_steps=1
        )
        self.made.train(self.input_fn, hooks=[hook], steps=8)
        return {"step": self.made.get_variable_value("global_step")}

    def read(self, made):
        """What a checkpoint says without a graph."""
        path = tf.train.latest_checkpoint(made.model_dir)
        reader = tf.train.NewCheckpointReader(path)
        shapes = {
            name: str(shape) for name, shape in sorted(reader.get_variable_to_shape_map().items())
        }
        state = tf.train.get_checkpoint_state(made.model_dir)
        kept = [os.path.basename(each) for each in state.all_model_checkpoint_paths]
        found = tf.train.load_checkpoint(path).get_tensor("logits/kernel")
        same = np.array_equal(found, tf.train.load_variable(path, "logits/kernel"))
        return {"shapes": shapes, "kept": " ".join(kept), "kernel": found, "same": str(same)}

    def step_by_step(self, made):
        for _ in range(2):
            made.train(self.input_fn, steps=1)
        return {"names": " ".join(sorted(made.get_variable_names()))}

    def run(self):
        others = [
            "hooked",
            "hooked",
            "evaluate_elsewhere",
            "from_checkpoint",
            "warm_some",
            "stopped_early",
        ]
        others += ["read", "step_by_step", "evaluate", "train_and_evaluate", "predict", "again"]
        if (
            self.scaffold == "restored"
        ):  # TPUEstimator makes a local variable for predictions after that
            others.remove("predict")
        self.made, found = self.estimator(), {}
        for number, action in enumerate(
            ["train", *self.m.random.sample(others, 2 if self.brief else 4)]
        ):
            self.m.note(action)
            made = getattr(self, action)(self.made)
            if made is not None:
                found[f"{number} {action}"] = made
        names = sorted(self.made.get_variable_names())
        found["weights"] = {
            name: np.asarray(self.made.get_variable_value(name), "float32") for name in names
        }
        return {**found, "losses": self.hosted.rows}


def train(seed, brief=False):
    """Makes the program of a seed and runs it, as ``estimators_drawn.train``."""
    with mock.patch.object(drawn, "Program", Program):
        return drawn.train(seed, brief)
