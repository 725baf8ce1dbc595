"""Variables that a loop and a branch of a TPU's computation change: only some of the changes are waited for."""
import json
import sys

import tensorflow as tf

with tf.variable_scope('', use_resource=True):
  names = ['waited', 'forgotten', 'out']
  values = [tf.get_variable(name, [], initializer=tf.zeros_initializer()) for name in names]
waited, forgotten, out = values


def changed(turns):
  forgotten.assign_add(1.)
  return turns + 1.


def body(turns):
  forgotten.assign_add(1.)
  turns = tf.cond(turns < 9., lambda: changed(turns), lambda: turns)
  with tf.control_dependencies([waited.assign_add(1.)]):
    return tf.identity(turns)


def step():
  out.assign_add(1.)
  return tf.contrib.tpu.repeat(3, body, [0.])


turns = tf.contrib.tpu.shard(step, [], num_shards=1)
with tf.Session() as session:
  session.run(tf.contrib.tpu.initialize_system())
  session.run(tf.global_variables_initializer())
  found = [session.run(turns) for _ in range(2)][-1]
  report = dict(zip(names, map(float, session.run(values))), turns=float(found[0][0]))
with open(sys.argv[1], 'w') as file:
  json.dump(report, file)
