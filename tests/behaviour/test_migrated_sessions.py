"""What ``tpucompat migrate`` makes of Sessions that train on cores, compared with them by ``verify``."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tpucompat.__main__ import main
from tpucompat.base.machine import environment
from tpucompat.commands.migrate import written

pytestmark = pytest.mark.skipif(
    tuple(map(int, environment().tensorflow.split(".")[:2])) < (2, 16),
    reason="the migrated program is for the TensorFlow of today",
)

#: Layers, momentum, an operation among the results, a computation on one core, the global step, a sum of each
#: core's own.
CLASSIFIER = """\
import numpy as np
import tensorflow as tf
from tensorflow.contrib import tpu

images = tf.placeholder(tf.float32, shape=(16, 4), name='images')
labels = tf.placeholder(tf.int32, [16])

def model(x):
  h = tf.layers.dense(x, 8, activation=tf.nn.relu, name='h', reuse=tf.AUTO_REUSE)
  h = tf.nn.dropout(tf.layers.dropout(h, 0.3, training=True), 0.5)
  return tf.layers.dense(h, 3, name='out', reuse=tf.AUTO_REUSE)

def fit_batch(x, y):
  loss = tf.losses.sparse_softmax_cross_entropy(y, model(x))
  seen = tf.get_variable('seen', [], trainable=False, initializer=tf.zeros_initializer())
  with tf.control_dependencies([seen.assign_add(loss)]):
    loss *= 1 + seen.read_value()
  optimizer = tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(0.1, 0.9))
  return loss, optimizer.minimize(loss, tf.train.get_or_create_global_step())

train = tpu.shard(fit_batch, [images, labels], num_shards=2)
scores, = tpu.rewrite(model, [images])

with tf.Session('grpc://10.0.0.2:8470') as sess:
  sess.run(tpu.initialize_system())
  sess.run(tf.global_variables_initializer())
  for i in range(5):
    data = np.random.RandomState(i).rand(16, 4)
    loss = sess.run(train, feed_dict={
        images: data,
        labels: data.argmax(1) % 3,
    })
    print('loss', np.mean(loss), 'step', sess.run(tf.train.get_global_step()))
  print('scores', sess.run(scores, {images: np.ones([16, 4])}).sum())
  sess.run(tpu.shutdown_system())
"""
#: An optimizer and moving averages that no result waits for, which a TPU runs too; several results in one run,
#: all variables, an initializer that runs twice.
NORMALIZED = """\
import numpy as np
import tensorflow as tf

def net(x, training):
  with tf.variable_scope('net', reuse=tf.AUTO_REUSE):
    x = tf.layers.dense(x, 6, name='a', kernel_initializer=tf.ones_initializer())
    x = tf.layers.batch_normalization(x, training=training, name='bn')
    return tf.layers.dense(x, 1, name='b', kernel_initializer=tf.ones_initializer())

def main():
  x = tf.placeholder(tf.float32, [16, 5])
  y = tf.placeholder(tf.float32, [16, 1])

  def step(x, y):
    loss = tf.reduce_mean(tf.square(net(x, True) - y))
    optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.05))
    optimizer.minimize(loss)
    return loss, tf.reduce_max(x)

  def predict(x):
    return net(x, False)

  loss, largest = tf.contrib.tpu.shard(step, inputs=[x, y], num_shards=2)
  out = tf.contrib.tpu.batch_parallel(predict, [x], num_shards=2)
  rng = np.random.RandomState(0)
  with tf.Session('grpc://10.0.0.2:8470') as s:
    s.run(tf.contrib.tpu.initialize_system())
    s.run(tf.global_variables_initializer())
    for i in range(4):
      a = rng.rand(16, 5).astype('f')
      l, m = s.run([loss, largest], {x: a, y: a.sum(1, keepdims=True)})
      print('loss', l.mean(), 'largest', m.max())
    print('out', s.run(out, {x: a})[0].mean())
    for v in s.run(tf.global_variables()):
      print('value', v.sum())
    s.run(tf.global_variables_initializer())
    print('again', s.run(out, {x: a})[0].mean())
    s.run(tf.contrib.tpu.shutdown_system())

main()
"""

#: A graph and a Session without a block of their own, an iterator that begins again, a seed, a global step from
#: outside, results in another order, a saver.
ITERATED = """\
import numpy as np
import tensorflow as tf
tpu = tf.contrib.tpu

def main():
  tf.set_random_seed(5)
  tf.enable_resource_variables()
  with tf.Graph().as_default():
    xs = np.arange(64, dtype='f').reshape(32, 2) / 64
    data = tf.data.Dataset.from_tensor_slices((xs, xs.sum(1, keepdims=True)))
    data = data.map(lambda x, y: (tf.clip_by_value(x, 0., 1.), y)).batch(8, drop_remainder=True)
    batches = data.make_initializable_iterator()
    x, y = batches.get_next()
    global_step = tf.train.get_or_create_global_step()

    def step(x, y):
      w = tf.get_variable('w', [2, 1], initializer=tf.ones_initializer())
      loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y * 3.))
      rate = tf.train.exponential_decay(0.1, global_step, 2, 0.5)
      train = tf.train.GradientDescentOptimizer(rate).minimize(loss, global_step=global_step)
      with tf.control_dependencies([train]):
        return tf.identity(loss), tf.reduce_max(x), tf.norm(w)

    loss, largest, norm = tpu.rewrite(step, [x, y])
    saver = tf.train.Saver()
    sess = tf.Session('grpc://10.0.0.2:8470')
    sess.run(tpu.initialize_system())
    sess.run(tf.global_variables_initializer())
    for epoch in range(2):
      sess.run(batches.initializer)
      while True:
        try:
          n, l = sess.run((norm, loss))
        except tf.errors.OutOfRangeError:
          break
        print('norm', n, 'loss', l, 'step', sess.run(global_step))
    saver.save(sess, 'model/line', global_step=global_step)
    sess.close()

main()
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ITERATED, id="iterated"),
        pytest.param(CLASSIFIER, id="classifier"),
        pytest.param(NORMALIZED, id="normalized", marks=pytest.mark.long),
    ],
)
def test_a_session_that_trains_becomes_calls_of_a_strategy(text, tmp_path, capsys):
    old, folder = tmp_path / "script.py", tmp_path / "new"
    old.write_text(text)
    assert main(["migrate", "--output", str(folder), str(old)]) == 0
    new = folder / "script.py"
    assert "tpucompat" not in new.read_text().replace("NOTE(tpucompat", "")
    command = ["verify", str(old), str(new), "--no-dropout", "--cores", "2"]
    assert main(command) == 0, capsys.readouterr().out
    said = capsys.readouterr().out
    assert "with session_loop.py beside it" in said
    assert said.count("✓ agree") >= 7 and "N steps" in said and "printed numbers" in said


#: Flags, a loop on a core, variables below a scope, batches that a function draws, a loop over variables, a
#: graph that is built twice.
RESUMED = """\
import os
import sys
import numpy as np
import tensorflow as tf
from tensorflow.contrib.tpu.python.tpu import tpu, training_loop

tf.app.flags.DEFINE_float('rate', 0.1, '')
FLAGS = tf.app.flags.FLAGS
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'model')
DATA = np.random.RandomState(3).rand(12, 4).astype('f')

def draw(rows):
  data = tf.data.Dataset.from_tensor_slices((DATA, DATA.sum(1))).repeat()
  x, y = data.batch(rows, drop_remainder=True).make_one_shot_iterator().get_next()
  return x, y

def computation(x, y):
  def step(total):
    w = tf.get_variable('w', [4], initializer=tf.ones_initializer())
    h = tf.layers.dense(x * w, 3, tf.nn.tanh, kernel_initializer=tf.constant_initializer(0.2))
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(h, 1) - y))
    count = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(FLAGS.rate).minimize(loss, global_step=count)
    with tf.control_dependencies([train]):
      return total + loss
  return training_loop.repeat(3, step, [tf.constant(0.0)])

def train(until):
  tf.reset_default_graph()
  x, y = draw(6)
  with tf.variable_scope('net', use_resource=True):
    total = tpu.rewrite(computation, [x, y])
  saver = tf.train.Saver()
  with tf.Session() as sess:
    sess.run(tpu.initialize_system())
    latest = tf.train.latest_checkpoint(FOLDER)
    if latest:
      saver.restore(sess, latest)
    else:
      sess.run(tf.global_variables_initializer())
    count = tf.train.get_global_step()
    while sess.run(count) < until:
      print('loss', sess.run(total)[0] / 3, sess.run(count))
    for index, one in enumerate(tf.trainable_variables()):
      print('loss', np.sum(sess.run(one)), index, one.name)
    saver.save(sess, os.path.join(FOLDER, 'ckpt'), global_step=count)
    sess.run(tpu.shutdown_system())

train(6)
train(12)
print('loss', sum(name.endswith('.index') for name in os.listdir(FOLDER)))
print('names', sorted(name for name, _ in tf.train.list_variables(FOLDER)))
"""
#: Sums of each shard, of which there are more than cores.
SHARED = """\
import numpy as np
import tensorflow as tf
shards = 4

def inside(x, y):
  found = tf.cast(tf.sqrt(x * x + y * y) < 1, tf.float32)
  return tf.reduce_sum(found, axis=0, keepdims=True), tf.reduce_mean(x)

x, y = tf.placeholder(tf.float32, [24]), tf.placeholder(tf.float32, [24])
counts = tf.contrib.tpu.batch_parallel(inside, [x, y], num_shards=shards)
with tf.Session('') as sess:
  sess.run(tf.contrib.tpu.initialize_system())
  for i in range(2):
    draw = np.random.RandomState(i).rand(2, 24)
    for result in sess.run(counts, {x: draw[0], y: draw[1]}):
      for value in result:
        print('loss', value)
"""


#: Means of what all shards give, of a graph that is opened with its Session, and the names below a scope.
MEANS = """\
import numpy as np
import tensorflow as tf
from tensorflow.contrib import tpu

def step(x, y):
  w = tf.get_variable('w', [3], initializer=tf.zeros_initializer())
  loss = tf.reduce_mean(tf.square(tf.reduce_sum(x * w, 1) - y))
  train = tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1)).minimize(loss)
  with tf.control_dependencies([train]):
    return tf.expand_dims(loss, 0), tf.expand_dims(tf.reduce_max(x), 0)

with tf.Graph().as_default(), tf.Session() as sess:
  x, y = tf.placeholder(tf.float32, [8, 3]), tf.placeholder(tf.float32, [8])
  with tf.variable_scope('net'):
    losses, largest = tpu.shard(step, [x, y], num_shards=4)
  mean = tf.reduce_mean(losses, axis=0)
  root = tf.sqrt(tf.reduce_max(largest))
  sess.run(tpu.initialize_system())
  sess.run(tf.global_variables_initializer())
  for i in range(3):
    a = np.random.RandomState(i).rand(8, 3)
    found = sess.run([mean, root], {x: a, y: a.sum(1)})
    print('loss', found[0])
    print('loss', found[1])
  print('names', [one.name for one in tf.global_variables()])
"""
#: A method of an object that keeps the Session.
METHOD = """\
import numpy as np
import tensorflow as tf
from tensorflow.contrib import tpu

class Trainer(object):
  def __init__(self, rate):
    self.rate = rate
    self.x = tf.placeholder(tf.float32, [8, 3])
    self.loss, self.norm = tpu.rewrite(self.step, [self.x])
    self.sess = tf.Session()
    self.sess.run(tpu.initialize_system())
    self.sess.run(tf.global_variables_initializer())

  def net(self, x):
    return tf.layers.dense(x, 1, kernel_initializer=tf.ones_initializer())

  def step(self, x):
    loss = tf.reduce_mean(tf.square(self.net(x)))
    train = tf.train.RMSPropOptimizer(self.rate).minimize(loss)
    with tf.control_dependencies([train]):
      return tf.identity(loss), tf.norm(x)

  def fit(self, x):
    return self.sess.run(self.loss, {self.x: x})

trainer = Trainer(0.1)
for i in range(3):
  print('loss', trainer.fit(np.random.RandomState(i).rand(8, 3)))
"""
#: A method of an object of another class, a function that returns one, placeholders that functions read from
#: outside, and values of variables beside results.
OUTSIDE = """\
import os
import numpy as np
import tensorflow as tf
from tensorflow.contrib import tpu

EVENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'events')

class Net(object):
  def __init__(self, rate):
    self.rate = rate
  def step(self, x):
    count = tf.train.get_or_create_global_step()
    loss = tf.square(tf.layers.dense(x, 1, kernel_initializer=tf.ones_initializer()))
    return tf.reduce_mean(loss * self.rate) + tf.cast(count, tf.float32)

def distances(x):
  return tf.reduce_sum(tf.square(x - centre) * scale, 1)

def powers(n):
  factor = 2.0
  def power(x):
    return tf.reduce_sum(x ** n) * factor
  return power

x, centre = tf.placeholder(tf.float32, [8, 3]), tf.placeholder(tf.float32, [3])
scale = tf.placeholder(tf.float32, [])
net = Net(0.1)
loss, = tpu.rewrite(net.step, [x])
far, = tpu.batch_parallel(distances, [x], num_shards=4)
cube, = tpu.rewrite(powers(3), inputs=[x])
tf.summary.scalar('loss', loss)
tf.summary.scalar('loss/root', tf.sqrt(tf.reduce_max(loss)))
merged = tf.summary.merge_all()
shown = tf.placeholder(tf.float32, [])
shown_mean = tf.summary.scalar('mean', shown)
mean = tf.summary.merge([shown_mean])
with tf.Session() as sess:
  writer = tf.summary.FileWriter(EVENTS, sess.graph)
  sess.run(tpu.initialize_system())
  sess.run(tf.global_variables_initializer())
  for i in range(3):
    data = np.random.RandomState(i).rand(8, 3)
    found, event = sess.run([loss, merged], {x: data})
    print('loss', found)
    writer.add_summary(event, i)
    writer.add_summary(sess.run(mean, {shown: found / 3}), i)
    count, found, kernel = sess.run([tf.train.get_global_step(), far, 'dense/kernel:0'],
                                    feed_dict={scale: i + 1., x: data, centre: [0., 0.5, 1.]})
    for value in [count, *found, *kernel.ravel()]:
      print('loss', value)
    print('loss', sess.run([cube, 'dense/bias:0'], {x: data})[0])
  print('loss', sess.run(tf.trainable_variables()[1])[0])
  writer.close()
for event in tf.train.summary_iterator(tf.gfile.Glob(EVENTS + '/*')[0]):
  for value in event.summary.value:
    print('loss', event.step + 10 * value.simple_value)
    print('names', value.tag)
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param(RESUMED, 11, id="resumed"),
        pytest.param(SHARED, 16, id="shared"),
        pytest.param(MEANS, 6, id="means"),
        pytest.param(METHOD, 3, id="method"),
        pytest.param(OUTSIDE, 52, id="outside"),
    ],
)
def test_a_session_prints_the_same_without_tpucompat(text, lines, tmp_path):
    old, folder = tmp_path / "script.py", tmp_path / "new"
    old.write_text(text)
    assert main(["migrate", "--output", str(folder), str(old)]) == 0
    new = folder / "script.py"
    assert "tpucompat" not in new.read_text().replace("NOTE(tpucompat", "")
    numbers, names = zip(
        *(
            _printed([sys.executable, *map(str, command)])
            for command in (["-m", "tpucompat", "run", "--exact", "--quiet", old], [new])
        )
    )
    assert names[0] == names[1] and ("'names'" not in text or names[0])
    assert len(numbers[0]) == lines and numbers[1] == pytest.approx(numbers[0], rel=1e-5)


#: Sums of four shards on some cores, and how many shards there are; what five rows of inputs give.
TURNS = """\
import sys
import tensorflow as tf
devices = [tf.config.LogicalDeviceConfiguration() for _ in range(8)]
tf.config.set_logical_device_configuration(tf.config.list_physical_devices('CPU')[0], devices)
import session_loop

rows = [[i, tf.ones(2) * i] for i in range(5)]
for count in map(int, sys.argv[1:]):
  strategy = tf.distribute.MirroredStrategy([f'cpu:{i}' for i in range(count)])
  cores = session_loop.Computations(strategy)
  add = cores.on_all_cores(lambda x: (tf.reduce_sum(x), tf.shape(x)), [tf.range(8.0)], shards=4)
  sums, shapes = add()
  each = cores.on_each_core(lambda x, y: (tf.cast(x, tf.float32) * y, tf.shape(y)[0]), rows)
  print(sums.tolist(), len(shapes), [[product.tolist(), int(size)] for product, size in each()])
"""


def test_cores_take_turns_at_shards(tmp_path):
    (tmp_path / "session_loop.py").write_bytes(written.source("session_loop.py"))
    (tmp_path / "turns.py").write_text(TURNS)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "turns.py"), "2", "3", "8"], capture_output=True, text=True
    )
    each = [[[i * i * 1.0] * 2, 2] for i in range(5)]
    assert done.stdout.splitlines() == [f"[1.0, 5.0, 9.0, 13.0] 4 {each}"] * 3, done.stderr[-2000:]


SLIM = """\
import numpy as np
import tensorflow as tf
from tensorflow.contrib import slim

images = tf.placeholder(tf.float32, [4, 8, 8, 3])
with slim.arg_scope([slim.conv2d], weights_initializer=tf.constant_initializer(0.1),
                    weights_regularizer=slim.l2_regularizer(1e-3), normalizer_fn=slim.batch_norm):
  net = slim.max_pool2d(slim.conv2d(images, 4, [3, 3]), [2, 2])
net = tf.contrib.layers.fully_connected(slim.flatten(net), 2, activation_fn=None,
                                        weights_initializer=tf.constant_initializer(0.2))
loss = tf.losses.mean_squared_error(tf.ones([4, 2]), net) + tf.add_n(tf.losses.get_regularization_losses())
step = tf.train.GradientDescentOptimizer(1e-4).minimize(loss)
with tf.Session() as sess:
  sess.run(tf.global_variables_initializer())
  for i in range(3):
    print('loss', sess.run([step, loss], {images: np.random.RandomState(i).rand(4, 8, 8, 3)})[1])
"""


def test_layers_of_tf_slim_run_without_tpucompat(tmp_path):
    old, folder = tmp_path / "script.py", tmp_path / "new"
    old.write_text(SLIM)
    assert main(["migrate", "--output", str(folder), str(old)]) == 0
    new = folder / "script.py"
    assert "tpucompat" not in new.read_text()
    numbers = []
    for command in (["-m", "tpucompat", "run", "--exact", "--quiet", old], [new]):
        numbers.append(_printed([sys.executable, *map(str, command)])[0])
    assert len(numbers[0]) == 3 and numbers[1] == pytest.approx(numbers[0], rel=1e-5)


def _printed(command):
    exact = dict(os.environ, TF_ENABLE_ONEDNN_OPTS="0")
    done = subprocess.run(command, capture_output=True, text=True, env=exact)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    numbers = [float(line.split()[1]) for line in lines if line[:4] == "loss"]
    return numbers, [line for line in lines if line[:5] == "names"]
