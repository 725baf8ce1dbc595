"""Which parts of the training loop a program needs, and that each combination of them is whole."""

from __future__ import annotations

import ast
import importlib.util
import os
import random
import re
import subprocess
import sys

import pytest
from written_modules import undefined

if sys.version_info < (3, 9):
    pytest.skip("migrate needs Python 3.9", allow_module_level=True)

from tpucompat.commands.migrate import loop_parts, written

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_LOOP = written.source("training_loop.py")
_TRAINS = ("Trainer", "RunConfig", "TPUConfig", "Spec", "ModeKeys", "make_strategy", "train")


def test_each_section_of_the_loop_has_a_row():
    assert {*written.sections_of(_LOOP)} == {*loop_parts.PARTS}


#: What scripts use of the loop.
_USES = (
    *(
        "train",
        "evaluate",
        "predict",
        "export_saved_model",
        "train_and_evaluate",
        "CrossShardOptimizer",
    ),
    *(
        "Estimator",
        "FinalExporter",
        "BestExporter",
        "get_variable_value",
        "summary_writer",
        "record_every",
        "next_tag",
    ),
    *(
        "ExponentialMovingAverage",
        "init_from_checkpoint",
        "CheckpointSaverHook",
        "cross_replica_sum",
    ),
)


@pytest.mark.parametrize("seed", range(24))
def test_each_combination_of_parts_is_whole(tmp_path, seed):
    """None of them reads a name that is missing, or has a line that nobody needs."""
    draw = random.Random(seed)
    share = draw.random()
    parts = {one for one in loop_parts.PARTS if draw.random() < share}
    uses = {"Trainer", "RunConfig", "Spec", *(one for one in _USES if draw.random() < share)}
    parts |= {"saving_listeners"} if "train_and_evaluate" in uses else set()
    parts |= {"ExponentialMovingAverage", "CheckpointSaverHook"} & uses
    parts = loop_parts.closed(parts)
    part = written.part(_LOOP, {*uses, *written.marks(parts)})
    assert not undefined(part) and b"# if " not in part
    attributes = {one.attr for one in ast.walk(ast.parse(part)) if isinstance(one, ast.Attribute)}
    module = ast.parse(part)
    methods = {one.name for cls in module.body if isinstance(cls, ast.ClassDef) for one in cls.body
               if isinstance(one, ast.FunctionDef)}  # fmt: skip
    ours = {"_model", "_batches", "_input", "_params", "_fed", "_turned", "_of_calls", "_host_call",
            "undo", "value_of", "set_value", "given", "saving", "invariants"}  # fmt: skip
    assert attributes & ours <= methods
    made = re.findall(rb'(?:found|last)\["(\w+)"\] = |"(\w+)": ', part)
    assert {*re.findall(rb'found\["(\w+)"\](?! = )', part)} <= {
        one for pair in made for one in pair
    }
    path = tmp_path / "training_loop.py"
    path.write_bytes(part)
    config = ["--config", os.path.join(_ROOT, "pyproject.toml")]
    asked = ["check", "--no-cache"], ["format", "--diff", "--no-cache"]
    for command in asked if importlib.util.find_spec("ruff") else ():  # Python 3.9 and later
        ran = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *config, str(path)],
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("seed", range(20))
def test_two_scripts_share_the_parts_of_both(seed):
    draw = random.Random(seed)
    uses = [
        {*_TRAINS, *(one for one in _USES if draw.random() < 0.5),
         *written.marks(loop_parts.closed({one for one in loop_parts.PARTS if draw.random() < 0.5}))}
        for _ in range(2)
    ]  # fmt: skip
    before, content = (written.part(_LOOP, one) for one in uses)
    both = written.of_both("training_loop", before, content)
    assert both is not None
    assert written.defined(both) >= written.defined(before) | written.defined(content)
    assert both == written.part(_LOOP, uses[0] | uses[1])


def _needed(script):
    return loop_parts.needed([script.encode()], ["script", "network"])


#: A program that needs no part.
_SMALL = """\
import training_loop
import tensorflow as tf
def input_fn(params):
  dataset = tf.data.Dataset.range(3).map(f)
  dataset = dataset.batch(params['batch_size'])
  return dataset
def metric_fn(x):
  return {'x': tf.compat.v1.metrics.mean(x)}
def model_fn(features, labels, mode, params):
  if mode == training_loop.ModeKeys.PREDICT:
    return training_loop.Spec(mode, x)
  if mode == training_loop.ModeKeys.EVAL:
    return training_loop.Spec(mode, x)
  optimizer = training_loop.CrossShardOptimizer(tf.compat.v1.train.GradientDescentOptimizer(0.1))
  return training_loop.Spec(mode, loss=x, train_op=optimizer.minimize(x), eval_metrics=(metric_fn, [x]))
per_host = training_loop.InputPipelineConfig.PER_HOST_V2
config = training_loop.RunConfig(tpu_config=training_loop.TPUConfig(5, per_host))
trainer = training_loop.Trainer(model_fn, 'a', config, {'a': 1})
trainer.train(input_fn, None, 3)
"""


def test_a_small_program_needs_no_part():
    assert _needed(_SMALL) == set()


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("loss=x,", "loss=x, host_call=h,", {"host_call"}),
        ("loss=x,", "loss=x, scaffold_fn=h,", {"scaffold_fn"}),
        ("loss=x,", "loss=x, eval_metric_ops=m,", {"eval_metric_ops", "own_variables"}),
        ("input_fn, None", "input_fn, [hook]", {"hooks"}),
        ("input_fn, None, 3)", "input_fn)\ntrainer.evaluate(input_fn, hooks=a)", {"hooks", "evaluation_hooks"}),
        ("(0.1)", "(0.1, name='loss')", {"loss_scope"}),
        ("GradientDescent", "Momentum", {"slots"}),
        ("GradientDescent", "AdamWeightDecay", {"slots", "own_optimizers"}),
        ("loss=x,", "loss=tf.group(v.assign(1), x),", {"own_variables"}),
        ("loss=x,", "loss=v1.get_variable('a', [], trainable=False),", {"own_variables"}),
        ("loss=x,", "loss=tf.compat.v1.metrics.mean(x),", {"own_variables"}),
        ("loss=x,", "loss=tf.compat.v1.layers.batch_normalization(x),", {"own_variables", "collections"}),
        ("loss=x,", "loss=sum(tf.compat.v1.trainable_variables()),", {"collections"}),
        ("loss=x,", "loss=tf.compat.v1.summary.scalar('a', x),", {"summaries"}),
        ("loss=x,", "loss=f(tf.compat.v1.summary),", {"summaries"}),
        ("loss=x,", "loss=tf.summary.scalar('a', x),", set()),
        ("  return dataset\n", "  return dataset, x\n", {"input_tensors"}),
        ("  return dataset\n", "  return iterator.get_next()\n", {"input_tensors"}),
        ("  return dataset\n", "  return made_elsewhere\n", {"input_tensors"}),
        ("ModeKeys.EVAL", "ModeKeys.TRAIN", {"own_variables"}),  # it makes updates in evaluations
        ("  optimizer =", "  if mode == training_loop.ModeKeys.TRAIN:\n    x.minimize()\n  optimizer =", set()),
        ("  if mode", "  x.minimize(y)\n  if mode", {"own_variables"}),
        ("PER_HOST_V2", "PER_HOST_V1", {"per_host"}),
        ("PER_HOST_V2", "PER_SHARD_V1", {"per_host", "context"}),
        ("(5, per_host)", "(5)", {"per_host"}),
        ("params['batch_size']", "params['context'].num_hosts", {"context"}),
        ("{'a': 1}", "hparams", {"own_params"}),
        ("{'a': 1}", "{}, True, 8, 8, 8, 'model.ckpt'", {"warm_start_from"}),
        ("(5, per_host)", "(5, per_host), tf_random_seed=3", {"tf_random_seed"}),
        ("trainer.train(", "trainer.predict(input_fn, ['a'])\ntrainer.train(", {"predict_keys"}),
        ("import training_loop", "import training_loop, network", set()),
    ],
)  # fmt: skip
def test_what_a_program_says_needs_a_part(old, new, parts):
    assert _SMALL.count(old) >= 1
    assert _needed(_SMALL.replace(old, new)) == parts


def test_an_unknown_module_may_need_more():
    script = _SMALL.replace("import training_loop", "import training_loop, library")
    assert _needed(script) >= {"own_variables", "collections", "input_tensors", "own_optimizers"}
