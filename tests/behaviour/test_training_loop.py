"""The training loop that ``tpucompat migrate`` writes beside a script, as its user calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tpucompat.base.machine import environment
from tpucompat.commands.migrate import written

PROGRAM = """\
import itertools, json, sys
import numpy as np
import tensorflow as tf
import training_loop
from training_loop import InputPipelineConfig, RunConfig, Spec, TPUConfig, Trainer

v1, folder, asked, restored, given = tf.compat.v1, sys.argv[1], {}, set(), []
profiled = []
cpu = tf.config.list_physical_devices('CPU')[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

# Two GPUs, as far as make_strategy can tell; no strategy was asked for.
mirrored, devices = tf.distribute.MirroredStrategy, tf.config.list_physical_devices
tf.distribute.MirroredStrategy = lambda: mirrored(['CPU:0', 'CPU:1'])
tf.config.list_physical_devices = lambda kind=None: [cpu, cpu] if kind == 'GPU' else devices(kind)

def model_fn(features, labels, mode, params):
  w = v1.get_variable('w', [1], initializer=v1.ones_initializer())
  y = features * w
  loss, train_op = tf.reduce_mean(y), None
  v1.summary.scalar('mean', loss)
  restored.add(tuple(training_loop.ExponentialMovingAverage(0.5).variables_to_restore([w])))
  if mode == training_loop.ModeKeys.TRAIN:
    step = v1.train.get_global_step()
    averages = training_loop.ExponentialMovingAverage(0.5)
    debiased = training_loop.ExponentialMovingAverage(0.5, zero_debias=True, name='Debiased')
    with v1.variable_scope('a'):
      total = tf.reduce_sum(y + tf.cast(step, tf.float32), name='total')
      train_op = tf.group(averages.apply([y[0], total]), debiased.apply([total]), step.assign_add(1))
  return Spec(mode, {'y': y}, loss, train_op)

def adding(features, labels, mode):
  w = v1.get_variable('w', [], initializer=v1.ones_initializer())
  cost = tf.multiply(w, tf.reduce_sum(features), name='cost')
  options = {**v1.profiler.ProfileOptionBuilder.float_operation(), 'output': 'none'}
  profiled.append(training_loop.profile(
    v1.get_default_graph(), options=options).total_float_ops)
  gradients = v1.get_variable('gradients', [], trainable=False, initializer=v1.zeros_initializer())
  with tf.control_dependencies([gradients.assign_add(tf.reduce_sum(features))]):
    added = gradients.read_value()
  optimizer = training_loop.CrossShardOptimizer(v1.train.MomentumOptimizer(1.0, 0.0), 'weighted_sum')
  train_op = optimizer.apply_gradients([(added, w)], v1.train.get_global_step())
  def host_call(cost):
    given.append([mode, cost.shape.as_list()])
    with training_loop.summary_writer(f'{folder}/called').as_default():
      tf.summary.scalar(mode, cost[1])
  return Spec(mode, loss=cost, train_op=train_op, host_call=(host_call, [tf.reshape(cost, [1])]))

def averaging(features, labels, mode):
  w = v1.get_variable('w', [], initializer=v1.ones_initializer())
  seen = v1.get_variable('seen', [], trainable=False, initializer=v1.zeros_initializer())
  average = training_loop.ExponentialMovingAverage(0.5)
  step = v1.train.get_global_step()
  with tf.control_dependencies([w.assign_add(1.0), step.assign_add(1)]):
    update = average.apply([w])
  with tf.control_dependencies([seen.assign_add(1.0)]):
    loss = seen.read_value() + average.average(w)
  return Spec(mode, loss=loss, train_op=update)

class Watching(v1.train.SessionRunHook):
  def begin(self):
    self.seen, self.given = [], v1.placeholder(tf.float32, [])
    self.set = v1.trainable_variables()[0].assign(self.given)
  def before_run(self, context):
    return v1.train.SessionRunArgs(context.session.graph.get_tensor_by_name('cost:0'))
  def after_run(self, context, values):
    self.seen.append(float(values.results))
    context.session.run(self.set, {self.given: 2.0})

def input_fn(params, mode):
  asked[mode] = params['batch_size']
  x = np.arange(64, dtype='float32')[:, None]
  return tf.data.Dataset.from_tensor_slices(x).batch(params['batch_size'], True)

found, kinds = {}, InputPipelineConfig
for name, kind in [('host', True), ('replica', False), ('v1', kinds.PER_HOST_V1), ('v2', kinds.PER_HOST_V2)]:
  config = RunConfig(model_dir=f'{folder}/{name}', tpu_config=TPUConfig(2, kind))
  trainer = Trainer(model_fn, None, config, None, True, 8, 16, 32)
  asked.clear()
  trainer.train(input_fn, max_steps=2)
  trainer.evaluate(input_fn, 2)
  rows = [float(one['y'][0]) for one in trainer.predict(lambda params, mode: input_fn(params, mode).take(1))]
  assert rows == list(range(len(rows))), rows
  found[name] = [*asked.values(), len(rows)]
  found['averages'] = {one: trainer.get_variable_value(one).tolist() for one in trainer.get_variable_names()}
found['strategies'] = [trainer.strategy.num_replicas_in_sync, trainer.strategy is training_loop.make_strategy()]
found['on the host'] = Trainer(model_fn, use_tpu=False).strategy.num_replicas_in_sync
found['restored'] = sorted(restored)
with trainer.strategy.scope():
  Trainer(model_fn, f'{folder}/scope', train_batch_size=8).train(input_fn, max_steps=2)
found['in a scope'] = float(tf.train.load_variable(f'{folder}/scope', 'a/a/total/ExponentialMovingAverage'))
watching = Watching()
Trainer(adding, f'{folder}/watched', train_batch_size=8).train(input_fn, [watching], max_steps=4)
found['watched'] = watching.seen
trainer = Trainer(adding, f'{folder}/adding', train_batch_size=8, eval_batch_size=8)
trainer.train(input_fn, max_steps=2)
found['evaluated'] = float(trainer.evaluate(input_fn, 1)['loss'])
found['given'] = given[-1]
events = (e for one in tf.io.gfile.glob(f'{folder}/called/*') for e in v1.train.summary_iterator(one))
values = ((v.tag, e.step, float(tf.make_ndarray(v.tensor))) for e in events for v in e.summary.value)
found['summaries'] = sorted(set(values))
found['added'] = [float(trainer.get_variable_value(name)) for name in ('gradients', 'w')]
trainer = Trainer(averaging, f'{folder}/averaging', train_batch_size=8, eval_batch_size=8)
trainer.train(input_fn, max_steps=2)
found['averaged'] = [float(trainer.get_variable_value(name)) for name in trainer.get_variable_names()]
found['averaged'].append(float(trainer.evaluate(input_fn, 2)['loss']))
found['profiled'] = profiled
print(json.dumps(found))
"""

pytestmark = pytest.mark.skipif(
    tuple(map(int, environment().tensorflow.split(".")[:2])) < (2, 16),
    reason="the migrated program is for the TensorFlow of today",
)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What a program says that uses the loop with two replicas."""
    folder = tmp_path_factory.mktemp("loop")
    (folder / "training_loop.py").write_bytes(written.source("training_loop.py"))
    (folder / "program.py").write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, "program.py", "models"],
        cwd=folder,
        env={**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        # batch_size_for_input_fn of 1.15's tpu_context on one host with two cores: train, eval, infer.
        ("host", [8, 16, 32]),
        ("v1", [8, 16, 32]),
        ("replica", [4, 16, 32]),
        ("v2", [4, 8, 16]),
    ],
)
def test_an_input_function_is_asked_for_the_batch_of_who_calls_it(found, kind, sizes):
    assert found[kind] == [*sizes, sizes[-1]]


def test_all_there_is_where_no_strategy_was_named(found):
    assert found["strategies"] == [2, True] and found["on the host"] == 1


def test_what_a_model_fn_adds_up_is_of_each_replica(found):
    """The rows of the first one add up to 6 and 38, those of the other to 22 and 54."""
    assert found["added"] == [6.0 + 38, 1.0 - (6 + 22) - (44 + 76)]


def test_an_optimizer_in_an_evaluation_changes_nothing(found):
    assert found["evaluated"] == 6 * found["added"][1]


def test_an_evaluation_runs_what_its_loss_waits_for_alone(found):
    """An average of 1.5, then 2.25 stays so; what the loss waits for counts on, from 2 to 3 and 4."""
    assert found["averaged"][-1] == (2.25 + 3 + 2.25 + 4) / 2
    assert sorted(found["averaged"][:-1]) == [2.0, 2.0, 2.25, 3.0]  # the step, seen, the average, w


def test_an_evaluation_calls_the_host_too(found):
    """With the losses of both replicas; the second one's rows add up to 22."""
    assert found["given"] == ["eval", [2]]
    assert found["summaries"][0] == ["eval", 2, 22 * found["added"][1]]
    assert {tag for tag, *_ in found["summaries"]} == {"eval", "train"}


def test_a_hook_fetches_by_a_name_what_the_first_replica_computes_and_feeds_its_own_graph(found):
    """It sees the second step of a call; what it sets is what the next call starts from."""
    seen = 1.0 - (6 + 22), 2.0 - (44 + 70 + 76 + 86)
    assert found["watched"] == [38 * seen[0], (24 + 25 + 26 + 27) * seen[1]]


def test_summaries_of_a_model_fn_are_for_one_device_alone(found):
    assert found["in a scope"] == 22.5


def test_tensors_are_averaged_from_zero(found):
    """Names and values are those that 1.15 gives variable by variable for the rows of the first replica."""
    averages = {name: value for name, value in found["averages"].items() if name.startswith("a/")}
    assert averages == {
        "a/a/total/ExponentialMovingAverage": 22.5,
        "a/a/strided_slice/ExponentialMovingAverage": [4.0],
        "a/a/total/Debiased": 30.0,
        "a/a/a/total/Debiased/biased": 22.5,
        "a/a/a/total/Debiased/local_step": 2.0,
    }


def test_averages_are_restored_in_the_graph_alone(found):
    assert found["restored"] == [[], ["w/ExponentialMovingAverage", "global_step"]]


def test_a_step_is_not_profiled_again(found):
    """What it gets is of the graph, in which variables are operations, as TensorFlow 1 counted them."""
    assert (
        len(found["profiled"]) > 3 and len({*found["profiled"]}) == 1 and found["profiled"][0] > 0
    )
