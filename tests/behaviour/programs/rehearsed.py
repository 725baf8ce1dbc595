"""Trains on a TPU, and writes down where the steps ran. Run by tests/behaviour/test_rehearsal.py."""

import json
import sys

import numpy as np
import tensorflow as tf

kind, report = sys.argv[1:3]

calls = {'steps': 0, 'host': 0}
order = []


def crossed():
  """What has crossed between host and cores since the last question.

  s: the cores are given a step, and the host goes on; w: a step for which the host waits; r: the host waits
  for what a step has left; v: a variable is written or read.
  """
  found = ''.join(order)
  del order[:]
  return found


def watch():
  """Counts the steps of the strategy, and the Session's runs that change weights."""
  from tpucompat.engines import coherence, graph_walk, strategy
  from tpucompat.engines import replicated_variables
  step, session_runs = strategy.ReplicatedStep.__call__, coherence._session_runs

  def counted(self, feeds, **options):
    calls['steps'] += any('Apply' in node.op or 'AssignSub' in node.op
                          for stage in self.traced.cut.stages for node in stage.graph_def.node)
    order.append('w' if options.get('wait', True) else 's')
    return step(self, feeds, **options)

  def waited(values):
    order.append('r')
    return to_host(values)

  def seen(session, names):
    needed = {o.type for name in names
              for o in graph_walk.needed(session.graph.get_operation_by_name(name))}
    calls['host'] += any('Apply' in each for each in needed)
    return session_runs(session, names)

  def loaded(self, name, values):
    order.append('v')
    return assign(self, name, values)

  def variables_read(self, names=None, replica=0):
    order.append('v')
    return read(self, names, replica)

  variables = replicated_variables.ReplicatedVariables
  assign, read = variables._assign, variables.read
  variables._assign, variables.read = loaded, variables_read
  to_host, strategy.to_host = strategy.to_host, waited
  strategy.ReplicatedStep.__call__ = counted
  coherence._session_runs = seen


x = np.random.RandomState(0).randn(64, 8).astype('float32')
y = np.arange(64) % 3


def keras(stateful=False, single=False, words=False):
  layers = tf.keras.layers
  if stateful:
    inputs = tf.keras.Input(batch_shape=(16, 4, 2))
    hidden = layers.LSTM(5, stateful=True, kernel_initializer='ones', recurrent_initializer='ones')(inputs)
  elif words:  # sparse gradients, and an optimizer whose sparse updates no TPU has
    inputs = tf.keras.Input((8,), dtype='int32')
    hidden = layers.Flatten()(layers.Embedding(9, 2, embeddings_initializer='ones')(inputs))
  else:
    inputs = tf.keras.Input((8,))
    hidden = layers.Dense(6, activation='tanh', kernel_initializer='ones')(inputs)
  outputs = layers.Dense(3, activation='softmax', kernel_initializer=tf.keras.initializers.Constant(
      np.linspace(-1, 1, 3 * int(hidden.shape[-1])).reshape(-1, 3).astype('float32')))(hidden)
  model = tf.keras.Model(inputs, outputs)
  resolver = tf.contrib.cluster_resolver.TPUClusterResolver('grpc://10.0.0.2:8470')
  strategy = tf.contrib.tpu.TPUDistributionStrategy(resolver, using_single_core=single)
  model = tf.contrib.tpu.keras_to_tpu_model(model, strategy)
  optimizer = tf.train.AdagradOptimizer(0.1) if words else tf.train.GradientDescentOptimizer(0.1)
  model.compile(optimizer, 'sparse_categorical_crossentropy')
  data = x.reshape(64, 4, 2) if stateful else np.clip(3 * np.abs(x), 0, 8).astype('int32') if words else x
  crossed()
  history = model.fit(data, y, batch_size=16, epochs=2, shuffle=False, verbose=0)
  calls['training'] = crossed()
  return history.history['loss'] + [float(model.evaluate(data, y, batch_size=16, verbose=0))]


def estimator():
  def model_fn(features, labels, mode, params):
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    sequence = tf.reshape(features, [-1, 4, 2])
    with tf.variable_scope('rnn', initializer=tf.constant_initializer(0.1)):
      hidden, _ = tf.nn.dynamic_rnn(cell, sequence, dtype=tf.float32)
    logits = tf.layers.dense(hidden[:, -1], 3, kernel_initializer=tf.constant_initializer(
        np.linspace(-1, 1, 12)))
    if mode == tf.estimator.ModeKeys.PREDICT:
      return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions={'p': tf.nn.softmax(logits)})
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    metrics = (lambda l, p: {'mean': tf.metrics.mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=l, logits=p))}, [labels, logits])
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op, eval_metrics=metrics)

  def input_fn(params):
    data = tf.data.Dataset.from_tensor_slices((x, y.astype('int32'))).repeat()
    return data.batch(params['batch_size'], drop_remainder=True)

  def predict_fn(params):
    return tf.data.Dataset.from_tensor_slices(x).batch(params['batch_size'], drop_remainder=True)

  config = tf.contrib.tpu.RunConfig(tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=3))
  made = tf.contrib.tpu.TPUEstimator(model_fn, config=config, use_tpu=True, train_batch_size=16,
                                     eval_batch_size=16, predict_batch_size=16)
  crossed()
  made.train(input_fn, max_steps=6)
  calls['training'] = crossed()
  evaluated = made.evaluate(input_fn, steps=4)
  predicted = [row['p'] for row in made.predict(predict_fn)]
  return [float(evaluated['mean'])] + np.concatenate(predicted).tolist()


def shard():
  w = tf.get_variable('w', [8, 1], initializer=tf.ones_initializer(), use_resource=True)

  def step(a, b):
    loss = tf.reduce_mean(tf.square(tf.matmul(a, w) - b))
    optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.05))
    with tf.control_dependencies([optimizer.minimize(loss)]):
      return tf.identity(loss)

  a = tf.placeholder(tf.float32, [64, 8])
  b = tf.placeholder(tf.float32, [64, 1])
  from tpucompat.engines import accelerator
  losses = tf.contrib.tpu.shard(step, [a, b], num_shards=accelerator.cores())
  with tf.Session() as sess:
    sess.run(tf.contrib.tpu.initialize_system())
    sess.run(tf.global_variables_initializer())
    given = {a: x, b: y[:, None].astype('float32')}
    return [float(np.mean(sess.run(losses, given))) for _ in range(4)] + sess.run(w)[:, 0].tolist()


watch()
numbers = {'keras': keras, 'stateful': lambda: keras(stateful=True),
           'single': lambda: keras(single=True), 'words': lambda: keras(words=True),
           'estimator': estimator, 'shard': shard}[kind]()
with open(report, 'w') as out:
  json.dump(dict(calls, numbers=numbers), out)
