"""``tpucompat migrate`` on scripts with TPUEstimator: what is rewritten, and what stays on tpucompat.v1."""

from __future__ import annotations

import ast
import json
import os
import re
import sys

import pytest

if sys.version_info < (3, 9):
    pytest.skip("migrate needs Python 3.9", allow_module_level=True)

from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.cli import migrate as command
from tpucompat.commands.migrate import estimator_tables, plan, tree, written

SCRIPT = """\
import tensorflow as tf
from tensorflow.contrib import tpu as contrib_tpu
from tensorflow.contrib import summary

def model_fn(features, labels, mode, params):
  x = tf.get_variable('x', [3])
  names = [v.op.name for v in tf.trainable_variables()]
  loss = tf.reduce_mean(features * x)
  if mode == tf.estimator.ModeKeys.EVAL:
    return contrib_tpu.TPUEstimatorSpec(mode, loss=loss)
  optimizer = contrib_tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))
  def host_call(loss):
    with summary.create_file_writer('logs').as_default(), summary.always_record_summaries():
      summary.scalar('loss', loss[0])
      return summary.all_summary_ops()
  return contrib_tpu.TPUEstimatorSpec(
      mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step()),
      host_call=(host_call, [tf.reshape(loss, [1])]))

def main():
  resolver = tf.contrib.cluster_resolver.TPUClusterResolver('demo')
  config = contrib_tpu.RunConfig(
      cluster=resolver, master=None, model_dir='out',
      tpu_config=contrib_tpu.TPUConfig(iterations_per_loop=10, num_shards=8))
  estimator = contrib_tpu.TPUEstimator(model_fn, config=config, train_batch_size=8)
  estimator.train(lambda params: tf.data.Dataset.range(3), max_steps=3)

if __name__ == '__main__':
  main()
"""

IMPORTS = """\
import tensorflow as tf
from tensorflow.compat.v1 import estimator as tf_estimator
from tensorflow.python.estimator import estimator as est
"""
WITHOUT_TPU = """\
  def other(features, labels, mode):
    return tf_estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={})
  config = tf.estimator.RunConfig(model_dir='b', save_summary_steps=5)
  tf.estimator.Estimator(
    model_fn, config=config, params={'rate': 1},
    warm_start_from=tf.estimator.WarmStartSettings('c', vars_to_warm_start='d.*'))
  print(est._load_global_step_from_checkpoint_dir('out'))
"""


def result_of(folder, text, name="script.py"):
    path = folder / name
    path.write_text(text)
    return plan.migrate(findings.analyse(str(path)))


def test_a_script_becomes_plain(tmp_path):
    result = result_of(tmp_path, SCRIPT)
    after = result.after.decode()
    ast.parse(after)
    assert result.way == plan.LOOP and result.todos == 0
    assert "tpucompat" not in after and "contrib" not in after
    assert tree.said(result) == "rewritten to TensorFlow 2, with training_loop.py beside it"
    for line in (
        "import training_loop\nimport tensorflow as tf\n",
        "  names = [v.name.split(\":\")[0] for v in tf.compat.v1.trainable_variables()]\n",
        "  if mode == training_loop.ModeKeys.EVAL:\n    return training_loop.Spec(mode, loss=loss)\n",
        "training_loop.CrossShardOptimizer(tf.compat.v1.train.AdamOptimizer(0.1))\n",
        "    with training_loop.summary_writer('logs').as_default(), tf.summary.record_if(True):\n"
        "      tf.summary.scalar('loss', loss[0])\n",
        "  resolver = training_loop.make_strategy('demo')\n",
        "      strategy=resolver, model_dir='out',\n"
        "      tpu_config=training_loop.TPUConfig(iterations_per_loop=10))\n",
    ):  # fmt: skip
        assert line in after
    again = result_of(tmp_path, after)
    assert not again.changed


def test_what_a_replica_asks_about_itself(tmp_path):
    mine = """\
  shards = tpu_function.get_tpu_context().number_of_shards
  tf.train.ExponentialMovingAverage(0.9, num_updates=shards).apply([x])
  loss = """
    text = SCRIPT.replace("  loss = ", mine, 1).replace(
        "import tensorflow as tf\n",
        "import tensorflow as tf\nfrom tensorflow.contrib.tpu.python.tpu import tpu_function\n",
    )
    graph = "  with tf.Session(graph=tf.Graph()) as s: pass\n  config ="
    result = result_of(tmp_path, text.replace("  config =", graph))
    after = result.after.decode()
    assert result.way == plan.LOOP and result.todos == 0, after
    assert "  shards = training_loop.get_tpu_context().number_of_shards\n" in after
    assert "  training_loop.ExponentialMovingAverage(0.9, num_updates=shards).apply([x])\n" in after
    assert "  with tf.compat.v1.Session(graph=tf.Graph()) as s: pass\n" in after


@pytest.mark.parametrize("place", [
    "tensorflow.contrib.tpu.python.tpu",
    "tensorflow.python.tpu",
    "tensorflow_estimator.python.estimator.tpu",
])  # fmt: skip
def test_the_modules_of_tpu_estimator_wherever_they_were(tmp_path, place):
    imports = f"from {place} import tpu_config, tpu_estimator\n"
    imports += f"from {place}.tpu_estimator import TPUEstimatorSpec\n"
    text = SCRIPT.replace("import tensorflow as tf\n", "import tensorflow as tf\n" + imports)
    text = re.sub(r"contrib_tpu\.(RunConfig|TPUConfig)", r"tpu_config.\1", text)
    text = text.replace("contrib_tpu.TPUEstimatorSpec", "TPUEstimatorSpec")
    text = text.replace("contrib_tpu.TPUEstimator(", "tpu_estimator.TPUEstimator(")
    result = result_of(tmp_path, text)
    assert result.way == plan.LOOP and result.todos == 0, result.after.decode()
    assert place.encode() not in result.after


def test_groups_of_replicas_and_gradients_that_are_summed(tmp_path):
    text = SCRIPT.replace("AdamOptimizer(0.1))", "AdamOptimizer(0.1), tf.losses.Reduction.SUM)")
    text = text.replace("  loss = ", "  x = tf.tpu.cross_replica_sum(x, [[0, 1]])\n  loss = ", 1)
    result = result_of(tmp_path, text)
    after = result.after.decode()
    assert result.way == plan.LOOP and result.todos == 0, after
    assert "Optimizer(0.1), tf.compat.v1.losses.Reduction.SUM)\n" in after
    assert "  x = training_loop.cross_replica_sum(x, [[0, 1]])\n" in after


def test_a_hook_that_saves_replaces_what_the_config_says(tmp_path):
    hook = "hooks = [async_checkpoint.AsyncCheckpointSaverHook('out', save_steps=100)]"
    imports = "from tensorflow.contrib.tpu.python.tpu import async_checkpoint\n"
    text = imports + SCRIPT.replace("max_steps=3", "max_steps=3, hooks=hooks")
    text = text.replace("  estimator = ", f"  {hook}\n  estimator = ")
    (result,) = tree.with_parts([result_of(tmp_path, text)])
    assert result.todos == 0 and b"async_checkpoint" not in result.after
    assert b"training_loop.CheckpointSaverHook('out', save_steps=100)" in result.after
    assert b"config = hooks.saving(config, listeners)" in result.beside["training_loop.py"]
    other = text.replace("save_steps=100", "scaffold=s")
    assert "scaffold= of" in result_of(tmp_path, other).after.decode()


def test_gradients_that_are_applied_in_a_branch(tmp_path):
    step = "optimizer.minimize(loss, tf.train.get_global_step())"
    branch = f"  def apply():\n    return {step}\n  train = tf.cond(x[0] > 0, lambda: apply(), tf.no_op)\n"
    text = SCRIPT.replace(f"train_op={step}", "train_op=train")
    text = text.replace("  def host_call", branch + "  def host_call")
    result = result_of(tmp_path, text)
    assert result.way == plan.LOOP and result.todos == 1
    lines = result.after.decode().splitlines()
    at = next(index for index, line in enumerate(lines) if "TODO(tpucompat TPU212)" in line)
    assert "tf.cond(" in next(line for line in lines[at:] if not line.strip().startswith("#"))


@pytest.mark.parametrize("made", ["hook = {}\n    ", ""])
def test_tensors_that_a_hook_logs(tmp_path, made):
    call = "tf.train.LoggingTensorHook({'loss': loss}, every_n_iter=10)"
    given = "hook" if made else call
    text = SCRIPT.replace(
        "return contrib_tpu.TPUEstimatorSpec(mode, loss=loss)",
        f"{made.format(call)}return contrib_tpu.TPUEstimatorSpec("
        f"mode, loss=loss, training_hooks=[{given}])",
    )
    if made:  # in another function too
        text = text.replace(
            "def main", f"def other(loss):\n  hook = {call}\n  return hook\n\ndef main"
        )
    result = result_of(tmp_path, text)
    after = result.after.decode()
    assert result.way == plan.LOOP and result.todos == 0, after
    assert "tf.compat.v1.train.LoggingTensorHook({'loss': loss}, every_n_iter=10)" in after


@pytest.mark.parametrize(
    ("was", "becomes", "reason"),
    [
        ("config=config", "config=config, embedding_config_spec=1", "embedding_config_spec= of"),
        (
            "  config =",
            "  tf.train.ProfilerHook(9, output_dir='p')\n  config =",
            "ProfilerHook: profile the training by",
        ),
        (
            "  config =",
            "  tf.train.SessionRunArgs(None, {x: 1})\n  config =",
            "a hook that feeds placeholders",
        ),
        (
            "  config =",
            "  print(resolver.get_job_name())\n  config =",
            "get_job_name of the resolver",
        ),
        (
            "  estimator.train(",
            "  print(config.is_chief)\n  estimator.train(",
            "is_chief of RunConfig",
        ),
        (  # a name that stands for something else elsewhere
            "  estimator.train(",
            "  print(config.is_chief)\n  config = tf.estimator.TrainSpec(f)\n  estimator.train(",
            "is_chief of RunConfig",
        ),
        (
            "  x = tf.get_variable",
            "  print(params['context'].master_address)\n  x = tf.get_variable",
            "master_address of context",
        ),
        (
            "iterations_per_loop=10",
            "per_host_input_for_training=contrib_tpu.InputPipelineConfig.BROADCAST",
            "(InputPipelineConfig.BROADCAST)",
        ),
        ("  config =", "  f(tf.summary.FileWriter('o', g))\n  config =", "FileWriter outside of"),
        ("  config =", "  with tf.Session() as s: pass\n  config =", "Session outside of"),
        ("('x', [3])", "('x', [3], partitioner=p)", "partitioner=: leave it out"),
        (
            "  config =",
            "  tf.contrib.framework.assign_from_checkpoint('o', v)\n  config =",
            "use tf.train.init",
        ),
        (
            "  estimator.train(",
            "  with tf.Graph().as_default(): estimator.train(",
            "take the call out",
        ),
        (
            "def main",
            "class Mine(contrib_tpu.TPUEstimator): pass\ndef main",
            "a class derived from TPUEstimator",
        ),
        (
            "(tf.train.AdamOptimizer(0.1))",
            "(tf.train.AdamOptimizer(0.1), group_assignment=[[0]])",
            "group_assignment= of",
        ),
    ],
)
def test_what_the_loop_does_not_do_stays(tmp_path, was, becomes, reason):
    result = result_of(tmp_path, SCRIPT.replace(was, becomes))
    after = " ".join(result.after.decode().replace("#", " ").split())
    assert result.way == plan.COMPATIBLE and not result.beside
    assert "TODO(tpucompat TPU212): tf.contrib.tpu.TPUEstimator (" in after and reason in after


OWN_HOOK = """\
class Timer(tf.train.SessionRunHook):
  def before_run(self, run_context):
    self.start = 0
  def after_run(self, run_context, run_values):
    run_context.request_stop()
  def end(self, session):
    tf.logging.info('end')

def main"""


def test_hooks(tmp_path):
    text = SCRIPT.replace("def main", OWN_HOOK).replace("max_steps=3", "max_steps=3, hooks=hooks")
    hooks = (
        "  hooks = [tf.estimator.StopAtStepHook(last_step=2)]\n  hooks.append(Timer())\n  config ="
    )
    text = text.replace("  config =", hooks)
    text = text.replace("  return contrib_tpu.TPUEstimatorSpec(\n      mode,", (
        "  hook = tf.train.NanTensorHook(loss)\n"
        "  return contrib_tpu.TPUEstimatorSpec(\n      mode, training_hooks=[hook],"
    ))  # fmt: skip
    result = result_of(tmp_path, text)
    after = result.after.decode()
    assert result.way == plan.LOOP and result.todos == 0, after
    train = "tf.compat.v1.train"
    assert f"class Timer({train}.SessionRunHook):\n" in after
    assert f"  hooks = [{train}.StopAtStepHook(last_step=2)]\n  hooks.append(Timer())\n" in after
    assert f"  hook = {train}.NanTensorHook(loss)\n" in after
    assert "max_steps=3, hooks=hooks)" in after
    assert not result_of(tmp_path, after).changed


def parts_of(folder, text):
    """The loop beside a script, in as many lines as the script needs."""
    (result,) = tree.with_parts([result_of(folder, text)])
    assert result.way == plan.LOOP and result.todos == 0, result.after.decode()
    return result.after.decode(), result.beside["training_loop.py"].decode()


def test_hooks_with_a_session_and_where_they_are_given(tmp_path):
    text = SCRIPT.replace("def main", OWN_HOOK).replace("tf.logging.info('end')", "session.run(x)")
    assert "class Hooks" not in parts_of(tmp_path, SCRIPT)[1]
    _, loop = parts_of(tmp_path, text.replace("max_steps=3", "hooks=[Timer()], max_steps=3"))
    assert "hooks = Hooks(hooks).begin(model)\n" in loop and '"evaluation_hooks")' not in loop
    more = "  estimator.evaluate(f, 3, [Timer()])\n  estimator.train("
    _, loop = parts_of(tmp_path, text.replace("  estimator.train(", more))
    assert 'hooks = Hooks(hooks, "evaluation_hooks").begin(model)\n' in loop
    spec = text.replace("(mode, loss=loss)", "(mode, loss=loss, evaluation_hooks=[Timer()])")
    spec = spec.replace("  estimator.train(", "  estimator.evaluate(f, 3)\n  estimator.train(")
    after, loop = parts_of(tmp_path, spec)
    assert "evaluation_hooks=[Timer()])" in after and 'Hooks(hooks, "evaluation' in loop


def test_what_train_and_evaluate_exports(tmp_path):
    call = "estimator.train(lambda params: tf.data.Dataset.range(3), max_steps=3)"
    text = SCRIPT.replace(call, (
        "tf.estimator.train_and_evaluate(\n      estimator, tf.estimator.TrainSpec(f, 3, [h]),\n"
        "      tf.estimator.EvalSpec(f, exporters=[\n"
        "          tf.estimator.LatestExporter('l', s, as_text=False, exports_to_keep=2)], throttle_secs=0))"
    ))  # fmt: skip
    after, loop = parts_of(tmp_path, text)
    assert "training_loop.LatestExporter('l', s, exports_to_keep=2)], throttle_secs=0)" in after
    assert "class LatestExporter(FinalExporter)" in loop and "BestExporter" not in loop
    assert "hooks = Hooks(hooks).begin(model)\n" in loop
    again = text.replace(".LatestExporter('l'", ".BestExporter('l'")
    assert "class BestExporter(FinalExporter)" in parts_of(tmp_path, again)[1]


def test_arguments_without_an_effect_on_the_numbers(tmp_path):
    text = SCRIPT.replace("config=config", (
        "config=config, experimental_exported_model_uses_all_cores=True"
    )).replace("num_shards=8", (
        "num_shards=8, eval_training_input_configuration=contrib_tpu.InputPipelineConfig.SLICED"
    ))  # fmt: skip
    text = text.replace(
        "  estimator.train(", "  estimator._export_to_tpu = False\n  estimator.train("
    )
    after, loop = parts_of(tmp_path, text)
    assert "uses_all_cores" not in after
    assert "=training_loop.InputPipelineConfig.SLICED)" in after
    assert "InputPipelineConfig.SLICED\n" in loop
    assert "InputPipelineConfig.SLICED\n" not in parts_of(tmp_path, SCRIPT)[1]


def test_an_estimator_spec_with_a_scaffold(tmp_path):
    spec = "tf.estimator.EstimatorSpec(mode, loss=loss, scaffold=tf.train.Scaffold(), training_chief_hooks=[h])"
    after, _ = parts_of(
        tmp_path, SCRIPT.replace("contrib_tpu.TPUEstimatorSpec(mode, loss=loss)", spec)
    )
    assert "scaffold_fn=lambda: tf.compat.v1.train.Scaffold(), training_hooks=[h])" in after


def test_a_function_with_a_session_of_its_own(tmp_path):
    session = "  with tf.Session() as s:\n    return s.run(x)\n"
    text = SCRIPT.replace("def main", f"def debug(x):\n{session}\ndef main")
    after, _ = parts_of(tmp_path, text)
    assert "\n@tf.Graph().as_default()\ndef debug(x):\n" in after
    called = text.replace("def main", "def call():\n  debug(1)\n  main()\n\ndef main")
    assert "@tf.Graph().as_default()\ndef debug" in parts_of(tmp_path, called)[0]
    for other in (  # where an estimator would be in the graph
        SCRIPT.replace("def main():\n", f"def main():\n{session}"),
        text.replace("    return s.run(x)", "    main()"),
    ):
        assert b"Session outside of" in result_of(tmp_path, other).after


@pytest.mark.parametrize("maker", ["FileWriter", "FileWriterCache.get"])
def test_a_writer_of_summaries_is_made_in_a_graph(tmp_path, maker):
    line = f"  writer = tf.summary.{maker}(\n      'out')\n"
    after, _ = parts_of(tmp_path, SCRIPT.replace("  config =", line + "  config ="))
    made = f"  with tf.Graph().as_default():\n    writer = tf.compat.v1.summary.{maker}(\n      'out')\n"
    assert made in after


def test_a_spec_is_one_without_a_tpu_too(tmp_path):
    text = SCRIPT.replace(
        "TPUEstimatorSpec(mode, loss=loss)", "TPUEstimatorSpec(mode, loss=loss).as_estimator_spec()"
    )
    assert "return training_loop.Spec(mode, loss=loss)\n" in parts_of(tmp_path, text)[0]


def test_axes_of_a_batch_and_cores_of_a_replica(tmp_path):
    text = SCRIPT.replace("config=config", "config=config, batch_axis=(3, 0)").replace(
        "num_shards=8", "num_cores_per_replica=n, input_partition_dims=[[1, 2]]"
    )
    after, loop = parts_of(tmp_path, text)
    assert "batch_axis=(3, 0)" in after and "self._axes = batch_axis\n" in loop
    assert "(iterations_per_loop=10, num_cores_per_replica=n)" in after
    assert "num_cores_per_replica or 1) > 1" in loop
    assert "num_cores_per_replica or" not in parts_of(tmp_path, SCRIPT)[1]


def test_an_export_saves_no_gradients(tmp_path):
    text = SCRIPT + "\nest = contrib_tpu.TPUEstimator(f)\nest.export_savedmodel('out', None)\n"
    loop = parts_of(tmp_path, text)[1]
    assert "SaveOptions(experimental_custom_gradients=False)" in loop
    assert "tf.saved_model.save(module, path, signatures, options)" in loop


def test_a_writer_of_tensorflow_2_outlives_the_step_too(tmp_path):
    """TensorFlow 1.15 has it below compat.v2; what a traced function makes ends with the tracing."""
    import_of_2 = "import tensorflow as tf\nimport tensorflow.compat.v2 as tf2\n"
    text = SCRIPT.replace("import tensorflow as tf\n", import_of_2)
    text = text.replace("summary.create_file_writer(", "tf2.summary.create_file_writer(")
    after, _ = parts_of(tmp_path, text)
    assert "with training_loop.summary_writer('logs').as_default()" in after
    assert "create_file_writer" not in after


def test_host_call_may_be_called_in_some_steps_of_a_loop(tmp_path):
    text = SCRIPT.replace("num_shards=8", "num_shards=8, experimental_host_call_every_n_steps=3")
    after, loop = parts_of(tmp_path, text)
    assert "(iterations_per_loop=10, experimental_host_call_every_n_steps=3)" in after
    assert loop.count("if index % every > 0:\n                    continue") == 1
    without = parts_of(tmp_path, SCRIPT)[1]
    assert "every > 0" not in without and "for _ in tf.range(steps):" in without


def test_private_paths_of_contrib(tmp_path):
    text = "from tensorflow.contrib.tpu.python.tpu import bfloat16\n" + SCRIPT
    text = text.replace("  loss = ", "  y = bfloat16.bfloat16_scope()\n  loss = ", 1)
    assert "  y = tf.compat.v1.tpu.bfloat16_scope()\n" in parts_of(tmp_path, text)[0]


@pytest.mark.parametrize("tpu", ["tf.compat.v1.contrib.tpu", "tf1.contrib.tpu"])
def test_contrib_below_compat_v1(tmp_path, tpu):
    text = "import tensorflow.compat.v1 as tf1\n" + SCRIPT.replace("contrib_tpu.", tpu + ".")
    after, _ = parts_of(
        tmp_path, text.replace("from tensorflow.contrib import tpu as contrib_tpu\n", "")
    )
    assert "contrib" not in after


def test_private_modules_of_the_estimator(tmp_path):
    text = (
        "import tensorflow as tf\n"
        "from tensorflow.python.estimator.model_fn import EstimatorSpec\n"
        "from tensorflow.python.estimator.run_config import RunConfig\n"
        "from tensorflow.python.estimator.estimator import Estimator\n"
        "def model_fn(features, labels, mode):\n"
        "  return EstimatorSpec(mode, predictions=features, eval_metric_ops={})\n"
        "Estimator(model_fn, config=RunConfig(model_dir='out', device_fn=None))\n"
    )
    after, _ = parts_of(tmp_path, text)
    assert "python.estimator" not in after and "training_loop.Spec(mode, predictions=" in after
    assert (
        "training_loop.Estimator(model_fn, config=training_loop.RunConfig(model_dir='out'))"
        in after
    )


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("return data.make_one_shot_iterator().get_next()", "return data"),
        ("return data.repeat(2).make_one_shot_iterator().get_next()", "return data.repeat(2)"),
        ("return (data\n    .make_one_shot_iterator()\n    .get_next())", "return (data)"),
        ("i = data.make_one_shot_iterator()\n  x, y = i.get_next()\n  return x, y", "return data"),
        ("i = tf.data.make_one_shot_iterator(data)\n  return i.get_next()", "return data"),
        (
            "i = data.repeat(2).make_one_shot_iterator()\n  x, y = i.get_next()\n  return (x, y)",
            "dataset = data.repeat(2)\n  return dataset",
        ),
        (
            "x = data.make_one_shot_iterator().get_next('it')\n  data = 1\n  return x",
            "dataset = data\n  data = 1\n  return dataset",
        ),
    ],
)
def test_an_iterator_becomes_its_dataset(tmp_path, was, becomes):
    function = "\ndef my_input_fn(params):\n  data = tf.data.Dataset.range(3)\n  {}\n\ndef main"
    result = result_of(tmp_path, SCRIPT.replace("\ndef main", function.format(was)))
    assert result.way == plan.LOOP and not result.todos
    assert function.format(becomes) in result.after.decode()


@pytest.mark.parametrize(
    ("body", "behind"),
    [
        ("x, y = {}.get_next()\n  return y, x", ""),
        ("x, y = {}.get_next()\n  x += 1\n  return x, y", ""),
        ("x, y = {}.get_next()\n  return dict(x=x), y", ""),
        ("return {}.get_next()[0]", ""),
        ("return {}.get_next()", "my_input_fn(1)\n"),
    ],
)
def test_an_iterator_that_is_more_stays(tmp_path, body, behind):
    function = "\ndef my_input_fn(params):\n  data = tf.data.Dataset.range(3)\n  "
    before = function + body.format("data.make_one_shot_iterator()") + "\n" + behind
    result = result_of(tmp_path, SCRIPT.replace("\ndef main", before + "\ndef main"))
    after = function + body.format("tf.compat.v1.data.make_one_shot_iterator(data)")
    assert after in result.after.decode()


def test_another_context_is_not_that_of_the_input(tmp_path):
    """A paragraph of a question, as in SQuAD's files."""
    text = SCRIPT.replace(
        "  config =", "  print({'context': 'a'}['context'].replace('a', 'b'))\n  config ="
    )
    assert result_of(tmp_path, text).way == plan.LOOP
    text = text.replace("{'context': 'a'}", "example")
    assert result_of(tmp_path, text).way == plan.LOOP


def test_the_address_of_a_tpu_leads_to_its_strategy(tmp_path):
    text = SCRIPT.replace("cluster=resolver, master=None", "master=resolver.get_master()")
    after = result_of(tmp_path, text).after.decode()
    assert "strategy=training_loop.make_strategy(resolver), model_dir='out'" in after
    text = SCRIPT.replace("cluster=resolver, master=None", "master=FLAGS.master")
    after = result_of(tmp_path, text).after.decode()
    assert "strategy=training_loop.make_strategy(FLAGS.master), model_dir='out'" in after


def test_arguments_have_the_names_of_the_loop(tmp_path):
    text = SCRIPT.replace("  estimator.train(", "  contrib_tpu.cross_replica_sum(x=1, name='s')\n"
        "  tf.estimator.train_and_evaluate(estimator=estimator, train_spec=1, eval_spec=2)\n"
        "  estimator.train(").replace("Optimizer(tf.train", "Optimizer(opt=tf.train")  # fmt: skip
    after = result_of(tmp_path, text).after.decode()
    assert "cross_replica_sum(tensor=1)" in after and "Optimizer(optimizer=tf.comp" in after
    assert "train_and_evaluate(trainer=estimator, train_spec=1, eval_spec=2)" in after


def test_arguments_that_say_nothing_are_left_out(tmp_path):
    text = SCRIPT.replace(
        "max_steps=3)",
        "hooks=None, max_steps=3)\n  estimator.predict(f, yield_single_examples=False)",
    )
    result = result_of(tmp_path, text)
    assert b"estimator.predict(f, yield_single_examples=False)" in result.after
    assert b"tf.data.Dataset.range(3), max_steps=3)" in result.after


def test_an_estimator_without_a_tpu_goes_with_it(tmp_path):
    text = SCRIPT.replace("import tensorflow as tf\n", IMPORTS).replace(
        "  estimator = contrib_tpu", WITHOUT_TPU + "  estimator = contrib_tpu"
    )
    text = text.replace("master=None", "master=resolver.get_master()")
    after = result_of(tmp_path, text).after.decode()
    assert "tpucompat" not in after
    for line in (
        "import training_loop\nimport tensorflow as tf\n",
        "    return training_loop.Spec(mode, loss=loss, eval_metric_ops={})\n",
        "  config = training_loop.RunConfig(model_dir='b', save_summary_steps=5)\n"
        "  training_loop.Estimator(\n    model_fn, config=config, params={'rate': 1},\n"
        "    warm_start_from=training_loop.WarmStartSettings('c', vars_to_warm_start='d.*'))\n",
        "  print(training_loop.load_global_step('out'))\n",
    ):  # fmt: skip
        assert line in after


def test_an_address_in_a_session_stays(tmp_path):
    text = SCRIPT.replace("  config =", "  tf.Session(resolver.get_master())\n  config =")
    result = result_of(tmp_path, text)
    assert result.way == plan.COMPATIBLE and b"get_master of the resolver" in result.after


@pytest.mark.parametrize(
    "line",
    [
        "tf.train.ExponentialMovingAverage(0.9).apply(tf.trainable_variables())",
        "tf.python.tpu.tpu_function.get_tpu_context().number_of_shards",
    ],
)
def test_a_session_without_an_estimator_is_not_taken_for_one(tmp_path, line):
    text = f"""\
import tensorflow as tf
resolver = tf.contrib.cluster_resolver.TPUClusterResolver('a')
tf.contrib.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
{line}
with tf.Session(resolver.get_master()) as session:
    session.run(tf.contrib.tpu.initialize_system())
"""
    after = result_of(tmp_path, text).after
    assert b"TODO(tpucompat TPU213)" in after and b"TPU212" not in after


def test_a_module_of_the_user_is_not_replaced(tmp_path):
    (tmp_path / "training_loop.py").write_text("mine = 1\n")
    result = result_of(tmp_path, SCRIPT)
    assert result.way == plan.COMPATIBLE
    assert b"there is another training_loop.py beside it" in result.after.replace(b"\n#  ", b"")


def test_the_module_is_written_once(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    assert command.main(["--write", "--quiet", str(tmp_path)]) == 0
    module = tmp_path / "training_loop.py"
    whole = written.source("training_loop.py")
    assert b"def train(" in module.read_bytes() and written.is_ours(str(module))
    assert written.defined(module.read_bytes()) < written.defined(whole)
    changed = module.read_text() + "# mine\n"
    module.write_text(changed)
    (tmp_path / "script.py").write_text(SCRIPT)
    assert command.main(["--write", "--quiet", str(tmp_path)]) == 0
    assert module.read_text() == changed


def test_the_modules_of_a_program_go_together(tmp_path):
    """A module with layers needs no setting of its own beside a training loop; another program is apart."""
    for name, text in {
        "script.py": SCRIPT.replace("def main", "import network\n\ndef main"),
        "network.py": "import tensorflow as tf\ndef f(x): return tf.layers.dense(x, 2)\n",
        "other.py": "import tensorflow as tf\nfrom tensorflow.contrib import rnn\ntf.Session()\n"
        "tf.contrib.seq2seq.BasicDecoder(1, 2, 3)\n",
    }.items():
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in ("script.py", "network.py", "other.py")]
    found = {os.path.basename(one.path): one for one in tree.migrate(paths)}
    assert found["script.py"].way == plan.LOOP
    assert found["network.py"].way == plan.PLAIN and found["network.py"].todos == 0
    assert found["other.py"].way == plan.COMPATIBLE


USES_AN_ESTIMATOR = """\
import script
estimator = script.make()
estimator.train(script.f, None, 5)
print(list(estimator.predict(script.f, ['y'])))
print(estimator.evaluate(script.f, 5), script.anything)
estimator.export_savedmodel('out', None)
"""


@pytest.mark.parametrize("imports", ["", "import tensorflow as tf\n"])
def test_a_module_that_is_given_an_estimator_finds_its_methods(tmp_path, imports):
    texts = {"script.py": SCRIPT, "use.py": imports + USES_AN_ESTIMATOR}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    results = tree.with_parts(list(tree.migrate([str(tmp_path / name) for name in texts])))
    found = {os.path.basename(one.path): one for one in results}
    assert "estimator.export_saved_model('out', None)" in found["use.py"].after.decode()
    assert "training_loop" not in found["use.py"].after.decode()
    loop = ast.parse(found["script.py"].beside["training_loop.py"])
    trainer = next(one for one in loop.body if getattr(one, "name", "") == "Trainer")
    methods = {one.name: one.args for one in trainer.body if hasattr(one, "args")}
    assert {"train", "predict", "evaluate", "export_saved_model"} <= methods.keys()
    # As they were called by position.
    for name, expected in (
        ("train", ["input_fn", "hooks", "steps", "max_steps"]),
        ("predict", ["input_fn", "predict_keys"]),
        ("evaluate", ["input_fn", "steps"]),
    ):
        assert [one.arg for one in methods[name].args][1:5][: len(expected)] == expected


def test_hooks_that_another_module_gives(tmp_path):
    use = USES_AN_ESTIMATOR.replace("None, 5)", "max_steps=5, hooks=[make()])")
    texts = {"script.py": SCRIPT, "use.py": "import tensorflow as tf\n" + use}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    results = tree.with_parts(list(tree.migrate([str(tmp_path / name) for name in texts])))
    found = {os.path.basename(one.path): one for one in results}
    assert b"hooks = Hooks(hooks).begin(model)\n" in found["script.py"].beside["training_loop.py"]


KERAS_PROGRAM = {
    "main.py": "from tensorflow.keras.utils import Sequence\nfrom trainer import train\ntrain()\n",
    "trainer.py": (
        "import tensorflow as tf\nimport callbacks\n"
        "def convert(model):\n  converted = tf.contrib.tpu.keras_to_tpu_model(model, None)\n"
        "  converted.compile(mine, 'mse')\n  return converted\n"
    ),
    "callbacks.py": "from tensorflow.keras.callbacks import Callback\nclass Mine(Callback): pass\n",
    "words.py": "import numpy as np\n",
}


def test_a_program_has_one_keras(tmp_path):
    """A file that stays on tpucompat.v1 has Keras 2, so no other file of its process may import Keras 3."""
    found = result_of_tree(tmp_path, KERAS_PROGRAM)
    for name in ("main.py", "trainer.py", "callbacks.py"):
        assert found[name].way == plan.COMPATIBLE, name
        assert b"tpucompat.v1" in found[name].after and b" tensorflow" not in found[name].after
    assert tree.said(found["main.py"]) == "uses tpucompat.v1, as another module of its program does"
    alone = {**KERAS_PROGRAM, "trainer.py": "import callbacks\ndef train(): pass\n"}
    assert all(one.way != plan.COMPATIBLE for one in result_of_tree(tmp_path, alone).values())


PACKAGES = {
    "lm/train.py": SCRIPT.replace(
        "def main", "from lm.model import f\nfrom util import opt\n\ndef main"
    ),
    "lm/model.py": "import tensorflow as tf\ndef f(x): return tf.layers.dense(x, 2)\n",
    "util/opt.py": "import tensorflow as tf\nfrom . import words\n"
    "def g(x): return tf.contrib.tpu.CrossShardOptimizer(x)\n",
    "util/words.py": "import tensorflow as tf\nprint(tf.logging.INFO)\n",
}


def result_of_tree(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    found = tree.migrate([str(folder / name) for name in files])
    return {os.path.relpath(one.path, str(folder)): one for one in found}


def test_a_program_of_packages_has_one_loop(tmp_path):
    found = result_of_tree(tmp_path, PACKAGES)
    assert [name for name in found if found[name].beside] == ["lm/train.py"]
    for name in ("lm/train.py", "util/opt.py"):
        assert found[name].way == plan.LOOP and not found[name].todos
        assert b"from lm import training_loop\n" in found[name].after
    assert found["lm/model.py"].way == plan.PLAIN and not found["lm/model.py"].todos


SUMMARIES = """\
import tensorflow as tf
def host_call(loss):
  with tf.contrib.summary.create_file_writer('logs').as_default():
    with tf.contrib.summary.record_summaries_every_n_global_steps(10):
      tf.contrib.summary.scalar('loss', loss[0])
      return tf.contrib.summary.all_summary_ops()
"""


def test_a_host_call_in_a_module_of_its_own_goes_with_its_program(tmp_path):
    """Alone, or in another program, nobody knows when its summaries are written."""
    found = result_of_tree(tmp_path, {**PACKAGES, "util/words.py": SUMMARIES})
    words = found["util/words.py"]
    assert words.way == plan.LOOP and not words.todos
    for line in (
        b"from lm import training_loop\n",
        b"training_loop.summary_writer('logs').as_default()",
        b"training_loop.record_every(10)",
        b"tf.summary.scalar('loss', loss[0])",
    ):
        assert line in words.after, line
    assert found["lm/train.py"].way == plan.LOOP
    alone = "from util import words\nimport tensorflow as tf\ntf.contrib.gan.gan_model(None)\n"
    found = result_of_tree(tmp_path, {"util/words.py": SUMMARIES, "other.py": alone})
    assert found["util/words.py"].way == plan.COMPATIBLE


@pytest.mark.parametrize(
    ("more", "wrapped"),
    [
        ("tf.contrib.summary.scalar('loss', loss[1])", 2),
        ("tf.contrib.summary.scalar('other', loss[1])", 0),
        ("for one in loss: tf.contrib.summary.scalar('each', one)", 1),
        ("for one in loss: tf.contrib.summary.scalar('each_%s' % one, one)", 0),
    ],
)
def test_tags_that_are_used_twice_are_numbered(tmp_path, more, wrapped):
    first = "      tf.contrib.summary.scalar('loss', loss[0])\n"
    text = SUMMARIES.replace(first, f"{first}      {more}\n")
    found = result_of_tree(tmp_path, {**PACKAGES, "util/words.py": text})
    after = found["util/words.py"].after.decode()
    assert after.count("tf.summary.scalar(training_loop.next_tag('") == wrapped


def test_one_module_that_stays_keeps_the_others_of_its_program(tmp_path):
    stays = "import tensorflow as tf\ntf.contrib.gan.gan_model(None)\n"
    found = result_of_tree(tmp_path, {**PACKAGES, "util/words.py": stays})
    for name in PACKAGES:
        assert found[name].way == plan.COMPATIBLE, name
    why = b"words.py of the same program uses tpucompat.v1"
    assert why in b" ".join(found["lm/train.py"].after.replace(b"#", b"").split())


LAYERS = """\
import tensorflow.compat.v1 as tf

def build():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""
OF_SESSIONS = """\
import tensorflow.compat.v1 as tf
import layers
resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=name)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.experimental.TPUStrategy(resolver)
with strategy.scope():
    model = layers.build()
loss = strategy.run(step, args=(next(iterator),))
with tf.Session(resolver.master()) as session:
    print(session.run(loss))
"""


def test_a_strategy_in_a_session_stays_and_a_program_beside_it_is_told(tmp_path):
    eager = (
        "import tensorflow as tf\nimport layers\n@tf.function\ndef f():\n    pass\nlayers.build()\n"
    )
    found = result_of_tree(tmp_path, {"a.py": OF_SESSIONS, "b.py": eager, "layers.py": LAYERS})
    assert found["a.py"].way == found["layers.py"].way == plan.COMPATIBLE
    assert b"TODO(tpucompat TPU213): TPUStrategy (in the graph of a Session)" in found["a.py"].after
    assert b"TODO(tpucompat TPU203): a.py of the same program uses" in found["b.py"].after
    assert found["b.py"].todos == 1
    found = result_of_tree(tmp_path, {"b.py": eager, "layers.py": LAYERS})
    assert not found["b.py"].todos


@pytest.mark.parametrize(("tensor", "stays"), [("top_5/value:0", True), ("loss:0", False)])
def test_a_hook_that_finds_a_metric_by_its_name_stays(tmp_path, tensor, stays):
    """The loop computes metrics outside of the graph; the tensors of the model_fn are in it."""
    hook = f"""\
import tensorflow as tf

class Report(tf.train.SessionRunHook):
    def end(self, session):
        print(session.run(session.graph.get_tensor_by_name('{tensor}')))
"""
    found = result_of_tree(tmp_path, {"hook.py": hook, "main.py": "import hook\n" + SCRIPT})
    ways = (plan.COMPATIBLE, plan.COMPATIBLE) if stays else (plan.PLAIN, plan.LOOP)
    assert (found["hook.py"].way, found["main.py"].way) == ways
    why = b"TODO(tpucompat TPU212): a hook that finds the tensor of a metric by its name"
    assert (why in found["hook.py"].after) == stays


def test_a_module_that_builds_nothing_keeps_two_programs_apart(tmp_path):
    other = "import tensorflow as tf\nfrom util import words\ntf.contrib.gan.gan_model(None)\n"
    found = result_of_tree(tmp_path, {**PACKAGES, "other.py": other})
    assert found["other.py"].way == plan.COMPATIBLE
    assert found["lm/train.py"].way == plan.LOOP


def test_a_module_of_layers_does_not_tie_two_programs(tmp_path):
    words = (
        PACKAGES["util/words.py"]
        + "def f(x):\n  return tf.layers.dense(x, tf.get_variable('n', []))\n"
    )
    words = words if "import tensorflow" in words else "import tensorflow as tf\n" + words
    other = "import tensorflow as tf\nfrom util import words\ntf.contrib.gan.gan_model(None)\n"
    found = result_of_tree(tmp_path, {**PACKAGES, "util/words.py": words, "other.py": other})
    assert found["other.py"].way == plan.COMPATIBLE
    assert found["lm/train.py"].way == plan.LOOP
    assert b"tf.compat.v1.layers.dense(" in found["util/words.py"].after


def test_all_names_of_the_table_are_in_the_module():
    text = written.source("training_loop.py").decode()
    defined = {node.name for node in ast.parse(text).body if hasattr(node, "name")} | {
        target.id
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign)
        for target in node.targets
    }
    targets = {*estimator_tables.NAMES.values(), "make_strategy", "summary_writer", "record_every"}
    targets |= {"next_tag"}
    assert targets <= defined
    assert "tpucompat" not in text


LAYERS = SCRIPT.replace(
    "  loss = tf.reduce_mean(features * x)\n",
    "  layers = tf.contrib.keras.layers\n"
    "  loss = tf.reduce_mean(layers.Dense(1)(layers.Input(tensor=features + 1)))\n",
)


def test_keras_layers_in_a_model_fn_take_its_tensors():
    result = plan.migrate(findings.understand(sources.decode("layers.py", LAYERS.encode())))
    after = result.after.decode()
    assert result.way == plan.LOOP and not result.todos
    assert "  layers = tf.keras.layers\n" in after
    assert "tf.reduce_mean(layers.Dense(1)(features + 1))" in after
    # A model of it is made in a graph only.
    model = LAYERS.replace("mode, loss=loss)\n", "mode, loss=tf.keras.Model(x, y))\n", 1)
    result = plan.migrate(findings.understand(sources.decode("layers.py", model.encode())))
    assert result.way == plan.COMPATIBLE and b"a Keras model of Input(tensor=)" in result.after


PREDICTED = """\
  rows = np.zeros(16)
  for i, row in enumerate(estimator.predict(f)):
    print('%s %d: %.2f%%' % (row['name'], row['y'], 2 * row['y']), float(row['z'][0]), row['y'])
    rows[i] = row['y']
    rows[1:] = row['y']
  first = next(estimator.predict(f))
  value = first[key]
  found = list(estimator.predict(f))
  print(int(value), math.exp(found[0]['y']), [float(one['y']) for one in found], float(other['y']))
"""


def test_numbers_of_predictions_that_have_an_axis(tmp_path):
    text = SCRIPT.replace(
        "import tensorflow", "import math\nimport numpy as np\nimport tensorflow", 1
    )
    text = text.replace("\nif __name__", PREDICTED + "\nif __name__")
    after, _ = parts_of(tmp_path, text)
    assert (
        "(row['name'], row['y'].item(), (2 * row['y']).item()), float(row['z'][0]), row['y'])\n"
        "    rows[i] = row['y'].item()\n    rows[1:] = row['y']\n"
    ) in after
    assert (
        "(int(value.item()), math.exp(found[0]['y'].item()), [float(one['y'].item()) for one in found], "
        "float(other['y']))"
    ) in after


def test_a_step_neither_saves_nor_restores(tmp_path):
    text = SCRIPT.replace("  if mode ==", (
        "  saver = tf.train.Saver(max_to_keep=3)\n"
        "  tf.contrib.framework.init_from_checkpoint('c', {'x': 'y'})\n"
        "  if mode =="
    ), 1)  # fmt: skip
    after, loop = parts_of(tmp_path, text)
    assert "  saver = training_loop.Saver(max_to_keep=3)\n" in after
    assert "  training_loop.init_from_checkpoint('c', {'x': 'y'})\n" in after
    assert "def Saver(" in loop and "def init_from_checkpoint(" in loop


def test_a_configuration_with_other_values(tmp_path):
    text = SCRIPT.replace("  estimator = ", (
        "  name = 'a-b'.replace('-', '_')\n"
        "  config = config.replace(model_dir=name, session_config=None, master='grpc://a')\n"
        "  estimator = "
    ))  # fmt: skip
    after, _ = parts_of(tmp_path, text)
    assert "  name = 'a-b'.replace('-', '_')\n  config = config._replace(model_dir=name" in after
    assert "session_config" not in after


def test_a_model_function_of_keras_layers_keeps_its_optimizer(tmp_path):
    text = SCRIPT.replace("loss = tf.reduce_mean(", "loss = tf.keras.layers.Dense(1)(").replace(
        "optimizer.minimize(loss, tf.train.get_global_step())",
        "optimizer.apply_gradients(optimizer.compute_gradients(loss), tf.train.get_global_step())",
    )
    after = result_of(tmp_path, text).after.decode()
    assert "tf.compat.v1.train.AdamOptimizer(0.1)" in after
    assert "compute_gradients(loss), tf.compat.v1.train.get_global_step())" in after


def book_of(*cells, minor=4, name="source"):
    """A notebook whose cells have some texts, as Colab writes it."""
    one = {"metadata": {}, "execution_count": None, "outputs": []}
    made = [{"cell_type": "code", **one, name: text.splitlines(keepends=True)} for text in cells]
    book = {"nbformat": 4, "nbformat_minor": minor, "metadata": {"accelerator": "TPU"}}
    book.update({"cells": made} if name == "source" else {"worksheets": [{"cells": made}]})
    return json.dumps(book, indent=2)


def migrated_book(folder, text):
    path = folder / "book.ipynb"
    path.write_text(text)
    (result,) = tree.with_parts(list(tree.migrate([str(path)])))
    return result


@pytest.mark.parametrize("minor", [4, 5])
def test_a_notebook_has_the_loop_in_a_cell(tmp_path, minor):
    head, body = SCRIPT.split("def model_fn")
    text = book_of("print('µ')\n", head, "def model_fn" + body, "def other(:\n", minor=minor)
    result = migrated_book(tmp_path, text)
    assert tree.said(result) == "rewritten to TensorFlow 2, with training_loop.py in a cell of it"
    assert not result.beside
    cells = json.loads(result.after)["cells"]
    texts = ["".join(cell["source"]) for cell in cells]
    assert [("training_loop" in one) for one in texts] == [False, True, True, True, False]
    first, _, loop = texts[1].partition("\n")
    assert first == "%%writefile training_loop.py" and loop == beside_of(tmp_path)
    assert ("id" in cells[1]) == (minor == 5)
    assert texts[2].startswith("import training_loop\n")
    inserted = result.after.decode().split('"execution_count"')[
        2
    ]  # as the others stand in the file
    assert '\n      "metadata": {}' in inserted
    assert migrated_book(tmp_path, result.after.decode()).after == result.after
    more = result.after.decode().replace("def other(:", "!pip install tensorflow==1.15")
    again = migrated_book(tmp_path, more).after
    assert again != more.encode() and again.count(b"%%writefile") == 1


def beside_of(folder):
    """The module beside a script that is what the notebook is."""
    path = folder / "script.py"
    path.write_text(SCRIPT)
    (result,) = tree.with_parts(list(tree.migrate([str(path)])))
    return result.beside["training_loop.py"].decode()


def test_an_old_notebook_has_the_loop_beside_it(tmp_path):
    result = migrated_book(tmp_path, book_of(SCRIPT, name="input"))
    assert tree.said(result) == "rewritten to TensorFlow 2, with training_loop.py beside it"
    assert [*result.beside] == ["training_loop.py"] and b"writefile" not in result.after
