"""Sessions of computations that train become calls, with ``session_loop.py`` beside the script."""

from __future__ import annotations

import ast
import builtins
import pathlib
import re
import sys
import textwrap

import pytest

if sys.version_info < (3, 9):
    pytest.skip("migrate needs Python 3.9", allow_module_level=True)

from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.migrate import files, plan, tree, written

EXAMPLES = pathlib.Path(__file__).parents[2] / "legacy_examples"
SCRIPT = """\
import numpy as np
import tensorflow as tf
from tensorflow.contrib import tpu

TPU_WORKER = 'grpc://10.0.0.2:8470'
images = tf.placeholder(tf.float32, shape=(64, 4), name='images')
labels = tf.placeholder(tf.int32, [64])

def model(x):
  h = tf.layers.dense(x, 8, activation=tf.nn.relu, name='h', reuse=tf.AUTO_REUSE)
  return tf.layers.dense(h, 3, name='out', reuse=tf.AUTO_REUSE)

def fit_batch(x, y):
  loss = tf.losses.sparse_softmax_cross_entropy(y, model(x))
  opt = tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(0.1, 0.9))
  return loss, opt.minimize(loss, tf.train.get_or_create_global_step())

inputs = [images, labels]
train = tpu.shard(fit_batch, inputs, num_shards=8)
scores, = tpu.rewrite(model, [images])
init = tf.global_variables_initializer()

with tf.Session(TPU_WORKER) as sess:
  sess.run(tpu.initialize_system())
  sess.run(init)
  for i in range(5):
    data = np.random.RandomState(i).rand(64, 4)
    loss = sess.run(train, feed_dict={
        images: data,
        labels: data.argmax(1) % 3,
    })
    print(i, np.mean(loss), sess.run(tf.train.get_global_step()))
  print(sess.run(scores, {images: np.ones([64, 4])}).sum())
  sess.run(tpu.shutdown_system())
"""
#: A function that returns one of its own, and a class whose object has a method for a computation.
CLOSURE = """\
def make(n):
  def step(x, y):
    return fit_batch(x * n, y)
  return step
"""
OBJECT = """\
class Net(object):
  def __init__(self, n):
    self.n = n
  def step(self, x, y):
    return fit_batch(x * self.n, y)
net = Net(2)
"""


def migrated(text, path="script.py"):
    return plan.migrate(findings.understand(sources.decode(path, text.encode())))


def after_of(text):
    result = migrated(text)
    assert result.way == plan.SESSION, result.after.decode()
    return result.after.decode()


def reason_of(text):
    result = migrated(text)
    assert result.way == plan.COMPATIBLE, result.after.decode()
    return " ".join(line.strip("# ") for line in result.after.decode().splitlines())


def test_a_session_becomes_calls():
    result = migrated(SCRIPT)
    after = result.after.decode()
    assert after.endswith("""\
inputs = [images, labels]
program = session_loop.Program()
# NOTE(tpucompat TPU213): the results have one share for each core of the strategy, in
#   the place of num_shards
train = program.on_all_cores(fit_batch, inputs)
run_model = program.on_one_core(model, [images])

program.initialize()
for i in range(5):
  data = np.random.RandomState(i).rand(64, 4)
  loss = train(data, data.argmax(1) % 3)
  print(i, np.mean(loss), program.global_step())
print(run_model(np.ones([64, 4]))[0].sum())
""")
    assert "images = tf.TensorSpec((64, 4), tf.float32)\n" in after
    assert "opt = session_loop.CrossShardOptimizer(tf.compat.v1.train.Momentum" in after
    assert "import session_loop\nimport tensorflow as tf\n" in after
    for gone in ("Session(", "contrib", "placeholder", "TODO", "tpucompat.v1", "disable_v2"):
        assert gone not in after
    assert tree.said(result).startswith("rewritten to TensorFlow 2, with session_loop.py beside it")


def test_what_is_beside_it_has_what_the_program_uses():
    (cut,) = tree.with_parts([migrated(SCRIPT)])
    text = cut.beside["session_loop.py"]
    assert {"Program", "on_one_core", "initialize", "compute_gradients", "graph_of_replica"} <= (
        written.defined(text)
    )
    assert not {"Saver", "values", "Trainer"} & written.defined(text)
    assert b"training_loop" not in text
    compile(text, "session_loop.py", "exec")


def test_a_module_beside_several_scripts_has_what_all_of_them_use():
    whole = written.source("session_loop.py")
    small, large = (
        written.part(whole, names) for names in (["Computations"], ["Program", "Saver"])
    )
    assert written.of_both("session_loop", large, small) == large
    both = written.of_both("session_loop", small, large)
    assert written.defined(both) == written.defined(small) | written.defined(large)
    assert written.of_both("session_loop", both, large) == both
    assert written.of_both("session_loop", small + b"MINE = 1\n", large) is None
    mine = large + b"MINE = 1\n"
    assert written.of_both("session_loop", mine, small) == mine
    slim = written.completing_tf_slim(small)
    assert b"complete_tf_slim()" in written.of_both("session_loop", slim, large)


def test_a_module_that_was_changed_is_left_alone(tmp_path):
    place = tmp_path / "session_loop.py"
    whole = written.source("session_loop.py")
    before = written.part(whole, ["Computations"]) + b"MINE = 1\n"
    place.write_bytes(before)
    with pytest.raises(files.WriteError, match="TPU452 .* changed by hand, and lacks .*Program"):
        files.beside({"session_loop.py": written.part(whole, ["Program"])}, str(tmp_path))
    assert place.read_bytes() == before


def test_a_migrated_program_stays_as_it_is():
    after = after_of(SCRIPT)
    assert migrated(after).after.decode() == after


@pytest.mark.parametrize(
    ("before", "after", "written_now"),
    [
        ("train = tpu", "losses, = tpu", None),
        ("with tf.Session(TPU_WORKER) as", "with tf.Session() as", "\nprogram.initialize()"),
        ("sess.run(init)", "sess.run([init])", "\nprogram.initialize()"),
        ("print(i, ", "print(sess.run(tf.trainable_variables()), ", "program.values(trainable=True)"),
        ("inputs, num_shards=8", "[images, labels], 8, outputs_from_all_shards=False",
         "program.on_all_cores(fit_batch, [images, labels], from_all=False)"),
        ("init = ", "saver = tf.train.Saver()\ninit = ", "saver = session_loop.Saver(program)"),
        ("init = ", "saver = tf.train.Saver(tf.global_variables(), max_to_keep=3)\ninit = ",
         "saver = session_loop.Saver(program, max_to_keep=3)"),
        ("from tensorflow.contrib import tpu\n", "from tensorflow.contrib.tpu import shard, rewrite\n",
         "train = program.on_all_cores(fit_batch, inputs)"),
        ("with tf.Session(TPU_WORKER) as sess:", "sess = tf.InteractiveSession()\nif True:",
         "\nif True:\n  program.initialize()"),
        ("shape=(64, 4), name=", "(64, 4), ", "tf.TensorSpec((64, 4), tf.float32)"),
        ("init = ", "tf.set_random_seed(3)\ninit = ", "program = session_loop.Program(seed=3)"),
        ("images: data,\n        labels: data.argmax(1) % 3,", "labels: mod,\n        images: data,",
         "loss = train(data, mod)\n"),
        ("images: data,\n        labels: data.argmax(1) % 3,",
         "labels: data.argmax(1) % 3,\n        images: data,",
         "loss = train(*session_loop.chosen([data.argmax(1) % 3, data], 1, 0))\n"),
        ("def fit_batch", "tf.train.create_global_step()\ndef fit_batch",
         "program = session_loop.Program(global_step=True)"),
        ("model(x))\n", "tf.norm(model(x)) * tf.ones([1, 3]))\n", "tf.norm(model(x))"),
        ("from tensorflow.contrib import tpu", "from tensorflow.contrib.tpu.python.tpu import tpu\n"
         "from tensorflow.contrib.tpu.python.tpu import tpu_optimizer",
         "program.on_all_cores(fit_batch, inputs)"),
        ("sess.run(tpu.initialize_system())\n", "sess.run(tpu.initialize_system()); print('on')\n",
         "\nprint('on')\nprogram.initialize()"),
        ("  sess.run(tpu.shutdown_system())", "  print('x'); sess.run(tpu.shutdown_system())",
         "\nprint('x')\n"),
        ("  sess.run(tpu.shutdown_system())", "  if inputs: sess.run(tpu.shutdown_system())",
         "\nif inputs: pass\n"),
        ("sess.run(train,", "sess.run(train[0],", "loss = train(data, data.argmax(1) % 3)[0]\n"),
        ("sess.run(train,", "sess.run([train[1], train[0]],",
         "loss = session_loop.chosen(train(data, data.argmax(1) % 3), 1, 0)\n"),
        ("shard(fit_batch, inputs", "shard(lambda x, y: fit_batch(x, y), inputs",
         "train = program.on_all_cores(lambda x, y: fit_batch(x, y), inputs)"),
        ("rewrite(model,", "rewrite(lambda x: model(x),",
         "run_rewrite = program.on_one_core(lambda x: model(x), [images])"),
        ("train = tpu.shard(fit_batch,",
         "import functools\ntrain = tpu.shard(functools.partial(fit_batch),",
         "train = program.on_all_cores(functools.partial(fit_batch), inputs)"),
        ("train = tpu.shard(fit_batch,",
         "from functools import partial\nstep = partial(fit_batch)\ntrain = tpu.shard(step,",
         "train = program.on_all_cores(step, inputs)"),
        ("num_shards=8", "num_shards=8, input_shard_axes=[0, 0], device_assignment=None",
         "train = program.on_all_cores(fit_batch, inputs)"),
        ("num_shards=8)", "num_shards=8)[0]", "loss = run_fit_batch(data, data.argmax(1) % 3)[0]\n"),
        ("sess.run(init)", "init.run()", "\nprogram.initialize()"),
        ("sess.run(init)", "tf.global_variables_initializer().run(session=sess)", "\nprogram.initialize()"),
        ("sess.run(tpu.initialize_system())", "topology = sess.run(tpu.initialize_system())",
         "\nprogram.initialize()"),
        ("with tf.Session(TPU_WORKER) as", "config = tf.ConfigProto()\nconfig.allow_soft_placement = True\n"
         "with tf.Session(TPU_WORKER, config=config) as",
         "run_model = program.on_one_core(model, [images])\n\nprogram.initialize()"),
        ("def model(", "def unused():\n  return tf.get_variable('v', [1])\n\ndef model(",
         "run_model = program.on_one_core(model, [images])"),
        ("from tensorflow.contrib import tpu\n", "tpu = tf.contrib.tpu\n",
         "import tensorflow as tf\n\nTPU_WORKER"),
        ("sess.run(train,", "sess.run([tf.train.get_global_step(), train[1]],",
         "loss = [program.global_step(), train(data, data.argmax(1) % 3)[1]]\n"),
        ("sess.run(train,", "sess.run((train[1], 'h/kernel:0'),",
         "loss = tuple(session_loop.chosen("
         "[program.value('h/kernel:0'), train(data, data.argmax(1) % 3)[1]], 1, 0))\n"),
        ("print(i, ", "print(sess.run([tf.trainable_variables()[0]]), ",
         "print([program.values(trainable=True)[0]], "),
        ("sess.run(train,", "sess.run({'a': train[1], 'b': train[0]},",
         "loss = dict(zip(['a', 'b'], session_loop.chosen(train(data, data.argmax(1) % 3), 1, 0)))\n"),
        ("feed_dict={\n        images: data,\n        labels: data.argmax(1) % 3,\n    }",
         "feed_dict=feed(data)", "loss = train(*feed(data))\n"),
        ("with tf.Session(TPU_WORKER) as", "with tf.Session(TPU_WORKER) as other:\n"
         "  other.run(tpu.initialize_system())\nwith tf.Session(TPU_WORKER) as",
         "[images])\n\nprogram.initialize()"),
        ("  for i in range(5):", "  def score(s, of, rows):\n    return s.run(scores, {of: rows})\n"
         "  print(score(sess, images, [0]))\n  for i in range(5):", "return run_model(rows)[0]\nprint(score("),
        ("  sess.run(init)", "  writer = tf.summary.FileWriter('out', sess.graph, flush_secs=9)\n"
         "  writer.add_graph(tf.get_default_graph())\n  writer.add_summary(tf.Summary(), 1)\n  sess.run(init)",
         "\nwriter = session_loop.file_writer('out', flush_secs=9)\n"
         "writer.add_summary(tf.compat.v1.Summary(), 1)"),
        ("init = ", "def feed(x):\n  return tf.contrib.data.shuffle_and_repeat(x)\ninit = ",
         "tf.data.experimental.shuffle_and_repeat(x)"),
        ("train = tpu.shard(fit_batch,", CLOSURE + "train = tpu.shard(make(2),",
         "train = program.on_all_cores(make(2), inputs)"),
        ("train = tpu.shard(fit_batch,", OBJECT + "train = tpu.shard(net.step,",
         "train = program.on_all_cores(net.step, inputs)"),
    ],
)  # fmt: skip
def test_other_forms(before, after, written_now):
    text = SCRIPT.replace(before, after, 1)
    if written_now is None:
        text = text.replace("run(train", "run(losses")
        written_now = "loss = run_fit_batch(data, data.argmax(1) % 3)[0]"
    if "feed(data)" in after:
        text = text.replace(
            "init = ", "def feed(x):\n  return {labels: x.argmax(1) % 3, images: x}\ninit = "
        )
    if "tpu_optimizer" in after:
        text = text.replace("tpu.Cross", "tpu_optimizer.Cross")
    if "import shard" in after:
        text = re.sub(r"tpu\.(shard|rewrite)\(", r"\1(", text).replace("tpu.", "tf.contrib.tpu.")
    if "[images" in after:
        text = text.replace("inputs = [images, labels]\n", "")
    assert written_now in after_of(text)


MAKER = """\
def make_session(target):
  config = tf.ConfigProto(allow_soft_placement=True)
  sess = tf.Session(target, config=config)
  return sess

"""
FIT = """\
def fit(steps, sess, op):
  for i in range(steps):
    data = np.random.RandomState(i).rand(64, 4)
    loss = sess.run(op, {images: data, labels: data.argmax(1) % 3})
    save(sess=sess)

def save(sess):
  print(sess.run(tf.train.get_global_step()))

"""
FITTED = """\
def fit(steps, program, op):
  for i in range(steps):
    data = np.random.RandomState(i).rand(64, 4)
    loss = op(data, data.argmax(1) % 3)
    save(program=program)

def save(program):
  print(program.global_step())

"""


@pytest.mark.parametrize(
    ("opened", "within"),
    [
        ("with make_session(TPU_WORKER) as sess:", ""),
        ("def main():\n  with make_session(TPU_WORKER) as sess:", "  "),
    ],
)
def test_a_session_that_a_function_makes_or_is_given(opened, within):
    head, _, block = SCRIPT.partition("with tf.Session(TPU_WORKER) as sess:\n")
    before, loop = block[: block.index("  for i")], block[block.index("  for i") :]
    last = loop[loop.index("  print(sess.run(scores") :]
    block = textwrap.indent(before + "  fit(5, sess, train)\n" + last, within)
    after = after_of(head + MAKER + FIT + opened + "\n" + block)
    assert FITTED in after and "make_session" not in after
    calls = "program.initialize()\nfit(5, program, train)\nprint(run_model("
    assert textwrap.indent(calls, within) in after
    assert migrated(after).after.decode() == after


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("sess = tf.Session(target, config=config)", "sess = tf.Session(tf.add(target, ''))",
         "make_session does more than make"),
        ("with make", "make_session('')\nwith make", "makes more than one Session"),
        ("  fit(5, sess", "  fit(5, None, train)\n  fit(5, sess", "train has other uses: line"),
    ],
)  # fmt: skip
def test_a_function_with_a_session_that_does_more(before, after, why):
    head, _, block = SCRIPT.partition("with tf.Session(TPU_WORKER) as sess:\n")
    text = head + MAKER + FIT + "with make_session(TPU_WORKER) as sess:\n"
    text += block[: block.index("  for i")] + "  fit(5, sess, train)\n"
    assert before in text and why in reason_of(text.replace(before, after, 1))


ITERATED = """\
import tensorflow as tf

def main():
  with tf.Graph().as_default():
    data = tf.data.Dataset.range(32).map(lambda i: (tf.cast(i, tf.float32) * [[1.]], tf.ones([1])))
    batches = data.batch(8).make_initializable_iterator()
    x, y = batches.get_next()
    global_step = tf.train.get_or_create_global_step()

    def step(x, y):
      w = tf.get_variable('w', [1, 1], initializer=tf.ones_initializer())
      loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
      train = tf.train.GradientDescentOptimizer(1e-4).minimize(loss, global_step=global_step)
      with tf.control_dependencies([train]):
        return tf.identity(loss), tf.reduce_max(x), tf.reduce_sum(w)

    loss, largest, total = tf.contrib.tpu.rewrite(step, [x, y])
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    for _ in range(2):
      sess.run(batches.initializer)
      while True:
        try:
          t, l = sess.run((total, loss))
        except tf.errors.OutOfRangeError:
          break
        print(l, t, sess.run(global_step))
    sess.close()

main()
"""


OF_A_CLASS = """\
import tensorflow as tf
from tensorflow.contrib import tpu

def step(x):
  w = tf.get_variable('w', [1, 1], initializer=tf.ones_initializer())
  loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
  return loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)

class Runner(object):
  def __init__(self, size):
    self.size = size
    data = tf.placeholder(tf.float32, [size, 1])
    self.data = data
    self.loss, _ = tpu.rewrite(step, [self.data])
    self.saver = tf.train.Saver()
    self.sess = tf.Session('grpc://10.0.0.2:8470')
    self.sess.run(tpu.initialize_system())

  def start(self):
    self.sess.run(tf.global_variables_initializer())

  def train(self, data):
    return self.sess.run(self.loss, {self.data: data})

  def values(self):
    return self.sess.run(tf.trainable_variables())

  def save(self, path):
    return self.saver.save(self.sess, path)

  def close(self):
    self.sess.run(tpu.shutdown_system())
    self.sess.close()

runner = Runner(8)
runner.start()
"""


def test_names_of_a_star_import_are_followed():
    text = SCRIPT.replace(
        "from tensorflow.contrib import tpu", "from tensorflow.contrib.tpu import *"
    )
    text = text.replace("tpu.", "").replace(
        "shard(fit_batch,", "shard(lambda x, y: fit_batch(x, y),"
    )
    after = after_of(text)
    assert "import *" not in after and "session_loop.CrossShardOptimizer(" in after
    assert "program.on_all_cores(lambda x, y: fit_batch(x, y), inputs)" in after


def test_a_star_import_stays_with_what_has_no_successor():
    text = "import tensorflow as tf\nfrom tensorflow.contrib.tpu import *\n"
    text += "x = infeed_dequeue(tf.float32, [1])\n"
    assert "from tpucompat.v1.contrib.tpu import *" in migrated(text).after.decode()


def test_a_session_of_an_object():
    text = OF_A_CLASS.replace("    data = tf", "    self.data = tf").replace(
        "    self.data = data\n", ""
    )
    after = after_of(text)
    body = after[after.index("class Runner") : after.index("runner = ")]
    assert body == textwrap.dedent("""\
        class Runner(object):
          def __init__(self, size):
            self.size = size
            self.data = tf.TensorSpec([size, 1], tf.float32)
            self.program = session_loop.Program(session_loop.one_core())
            self.run_step = self.program.on_one_core(step, [self.data])
            self.saver = session_loop.Saver(self.program)

          def start(self):
            self.program.initialize()

          def train(self, data):
            return self.run_step(data)[0]

          def values(self):
            return self.program.values(trainable=True)

          def save(self, path):
            return self.saver.save(path)

          def close(self):
            pass

        """)
    assert migrated(after).after.decode() == after


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("runner.start()", "print(runner.sess)", "sess is read from outside of Runner"),
        ("runner.start()", "print(Runner(8).sess)", "sess is read from outside of Runner"),
        ("runner.start()", "Runner(16)", "more than one Runner"),
        ("runner.start()", "class B(Runner): pass", "a class derived from Runner"),
        ("(object)", "(Base)", "Runner inherits from another class"),
        ("  def start", "  @property\n  def start", "start of Runner is not a plain method"),
        ("  def start(self)", "  def start(this)", "start of Runner is not a plain method"),
        ("    return self.saver", "    self.sess = None\n    return self.saver", "self.sess is also used"),
        ("    return self.saver", "    print(self.loss)\n    return self.saver", "self.loss has other uses"),
        ("    self.size =", "    self.program =", "already defines program"),
    ],
)  # fmt: skip
def test_a_session_of_an_object_that_is_more_than_its_methods_see(before, after, why):
    text = OF_A_CLASS.replace("    data = tf", "    self.data = tf").replace(
        "    self.data = data\n", ""
    )
    assert before in text and why in reason_of(text.replace(before, after, 1))


def test_an_iterator_is_asked_for_what_a_computation_is_given():
    after = after_of(ITERATED)
    assert "  batches = iter(data.batch(8))\n  x, y = batches.element_spec\n\n  def step(" in after
    assert after.endswith("""\
  program = session_loop.Program(session_loop.one_core(), global_step=True)
  run_step = program.on_one_core(step, [x, y])
  program.initialize()
  for _ in range(2):
    batches = iter(data.batch(8))
    while True:
      try:
        t, l = tuple(session_loop.chosen(run_step(*batches.get_next()), 2, 0))
      except tf.errors.OutOfRangeError:
        break
      print(l, t, program.global_step())

main()
""")


TOGETHER = """\
import tensorflow as tf
from tensorflow.contrib import tpu

def inference(a):
  return tf.add(tf.matmul(a, a), 1.0)

def two(a, b):
  return tf.add(a, b), tf.reduce_sum(a)

a = tf.placeholder(tf.float32, [4, 4])
b = tf.placeholder(tf.float32, [4, 4])
one = tpu.rewrite(inference, [a])
other = tpu.rewrite(two, [a, b])
with tf.Session() as sess:
  x, y = sess.run([one, other], feed_dict={b: rows[1], a: rows[0]})
"""


def test_computations_without_variables_may_run_together():
    assert after_of(TOGETHER).endswith("\nx, y = [one(rows[0]), other(rows[0], rows[1])]\n")
    assert "fed together" in reason_of(TOGETHER.replace("rows[0]", "next(rows)"))
    trains = TOGETHER.replace("tf.matmul(a, a)", "tf.get_variable('w', [4, 4])")
    assert "fetches more than a computation" in reason_of(trains)


@pytest.mark.parametrize(
    ("made", "opened", "session"),
    [
        ("", "with tf.name_scope('tpu'), tf.device('/job:worker/device:TPU:0'):", "TPU_WORKER"),
        ("graph = tf.Graph()\n", "with graph.as_default():", "TPU_WORKER, graph=graph"),
        ("graph = tf.Graph()\n", "with graph.as_default(), tf.device('/cpu:0'):", "graph=graph"),
    ],
)
def test_blocks_that_mean_nothing_without_a_session_go(made, opened, session):
    head, _, rest = SCRIPT.partition("inputs = [")
    built, _, runs = ("inputs = [" + rest).partition("with tf.Session(TPU_WORKER) as sess:\n")
    block = f"{made}{opened}\n{textwrap.indent(built, '  ')}with tf.Session({session}) as sess:\n"
    usual = after_of(SCRIPT)
    assert after_of(head + block + runs).replace("\n\n", "\n") == usual.replace("\n\n", "\n")


def test_a_graph_or_a_block_that_is_used_otherwise_stays():
    graph = SCRIPT.replace("with tf.Session(TPU_WORKER)", "with tf.Session(graph=graph)")
    filled = "graph = tf.Graph()\nwith graph.as_default():\n  pass\ngraph.finalize()\ninputs ="
    assert "graph has other uses" in reason_of(graph.replace("inputs =", filled))
    scoped = SCRIPT.replace(
        "inputs =", "with tf.name_scope('in') as scope:\n  print(scope)\ninputs ="
    )
    assert "tf.name_scope may need a graph" in reason_of(scoped)


def test_names_of_computations_and_several_initializers_are_followed():
    names = "put = tpu.shard\nCross = tpu.CrossShardOptimizer\n"
    text = SCRIPT.replace("TPU_WORKER =", names + "TPU_WORKER =", 1)
    text = text.replace("tpu.shard(", "put(").replace("tpu.CrossShardOptimizer(", "Cross(")
    both = "tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())"
    text = text.replace("tf.global_variables_initializer()", both)
    assert after_of(text) == after_of(SCRIPT)


@pytest.mark.parametrize("opened", ["with tf.Session() as s:", "s = tf.InteractiveSession()"])
def test_the_graph_may_be_built_when_the_session_is_open(opened):
    head, _, rest = SCRIPT.partition("inputs = [")
    before, _, block = ("inputs = [" + rest).partition("with tf.Session(TPU_WORKER) as sess:\n")
    block = block.replace("sess.", "s.")
    text = textwrap.indent(before, "  ") + block
    text = textwrap.dedent(text) if opened.startswith("s =") else text
    after = after_of(f"{head}{opened}\n{text}")
    usual = after_of(SCRIPT)
    assert after.replace("\n\n", "\n") == usual.replace("\n\n", "\n")


def test_an_iterator_without_a_name_gets_one():
    text = ITERATED.replace("    batches = data.batch(8).make_initializable_iterator()\n", "")
    text = text.replace("      sess.run(batches.initializer)\n", "").replace("data = ", "rows = ")
    after = after_of(text.replace("batches.get_next", "rows.make_one_shot_iterator().get_next"))
    assert "  batches = iter(rows)\n  x, y = batches.element_spec\n" in after
    assert "(run_step(*batches.get_next()), 2, 0)" in after


def test_what_is_fed_may_have_a_name():
    feeds = "{\n        images: data,\n        labels: data.argmax(1) % 3,\n    }"
    text = SCRIPT.replace("    loss =", f"    feeds = {feeds}\n    loss =").replace(
        feeds + ")", "feeds)"
    )
    after = after_of(text)
    assert "  feeds = [data, data.argmax(1) % 3]\n  loss = train(*feeds)\n" in after


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("sess.run(train,", "sess.run([train, scores],", "fetches more than a computation"),
        ("shard(fit_batch,", "shard(lambda x, y: {'loss': model(x)},", "returns a structure"),
        ("shard(fit_batch,", "shard(lambda x, y: seen.append(x),", "side effects"),
        ("shard(fit_batch,", "shard(lambda x, y: scale(x),", "its function calls scale"),
        ("shard(fit_batch,", "shard(make(),", "its function is make(): give it a function of this file"),
        ("shard(fit_batch,", "shard(partial(make, 1),", "its function calls make"),
        ("return tf.layers", "x = tpu.repeat(2, abs, [x])\n  return tf.layers",
         "run the computation in a loop of the script instead"),
        ("num_shards=8", "num_shards=8, device_assignment=where", "leave it out, and the strategy takes all"),
        ("  sess.run(tpu.shutdown_system())", "  print(sess.run(total))",
         "a computation: line 34, print(sess.run(total))"),
        ("labels: data.argmax(1) % 3,", "", "is fed something else than the inputs"),
        ("sess.run(train, feed_dict={", "sess.run(train, options=None, feed_dict={", "options of sess"),
        ("  sess.run(init)\n", "", "never initialized"),
        ("print(i, ", "print(sess.graph, ", "sess has other uses"),
        ("print(i, ", "print(sess.partial_run(train), ", "sess.partial_run"),
        ("print(i, ", "print(images.shape, ", "images has other uses"),
        ("print(i, ", "print(tf.square(images), ", "images has other uses"),
        ("print(i, ", "print(tf.add_n([1]), ", "tf.add_n may need a graph"),
        ("print(i, ", "print(model(data), ", "model is also called outside"),
        ("return tf.layers", "seen.append(x)\n  return tf.layers", "side effects"),
        ("return tf.layers", "global h\n  return tf.layers", "side effects"),
        ("return tf.layers", "from m import f\n  x = f(x)\n  return tf.layers", ""),
        ("import numpy", "from m import f\nimport numpy", None),
        ("return loss, opt", "return {'loss': loss}, opt", "returns a structure"),
        ("0.1, 0.9", "rate, 0.9", "its function calls rate"),
        ("TPU_WORKER = ", "rate = 0.1\nrate = 0.2\nTPU_WORKER = ", None),
        ("model(x))\n", "model(x) + tf.random_normal([3], seed=1))\n", "with a seed"),
        ("  h = tf.layers", "  tf.train.AdamOptimizer()\n  h = tf.layers", "one core trains what"),
        ("num_shards=8", "num_shards=8, input_shard_axes=[0, 1]", "input_shard_axes= of shard: transpose"),
        ("init = ", "saver = tf.train.Saver(tf.trainable_variables())\ninit = ", "saves some of its variables"),
        ("num_shards=8", "num_shards=8, infeed_queue=q", "infeed_queue= of shard"),
        ("tf.train.Mom", "tf.contrib.opt.Mom", "its function uses tf.contrib.opt"),
        ("init = ", "w = tf.Variable(1.0)\nw2 = tf.assign(w, 2.0)\ninit = ", "variables of several kinds"),
        ("init = ", "program = 1\ninit = ", "already defines program"),
        ("init = ", "tf.set_random_seed(1)\ntf.set_random_seed(2)\ninit = ", "the seed of its graph"),
        ("init = ", "tf.set_random_seed(len(inputs))\ninit = ", "the seed of its graph"),
        ("init = ", "x = [data.make_one_shot_iterator()]\ninit = ", "is called for something else"),
        ("init = ", "g = tf.Graph()\ninit = ", "tf.Graph may need a graph"),
        ("init = ", "c = tf.train.Coordinator()\ninit = ", "tf.train.Coordinator may need"),
        ("  for i in range(5):", "  for i in range(5):\n    x = tf.random_normal([2])", "tf.random_normal"),
        ("with tf.Session(TPU_WORKER) as sess:", "sess = tf.Session(TPU_WORKER), 1\nif True:", "not assigned"),
        ("with tf.Session(TPU_WORKER) as sess:", "with sessions() as sess, tf.Session():", "plain `with"),
        ("feed_dict={\n        images: data,\n        labels: data.argmax(1) % 3,\n    }", "feed_dict=feed(i)",
         "cannot find what it feeds"),
        ("with tf.Session(TPU_WORKER) as", "with tf.Session(TPU_WORKER) as other:\n"
         "  other.run(train)\nwith tf.Session(TPU_WORKER) as", "must run in a single Session"),
        ("with tf.Session(TPU_WORKER) as", "with tf.Session(TPU_WORKER) as other:\n"
         "  other.run(tf.global_variables_initializer())\nwith tf.Session(TPU_WORKER) as", "a single Session"),
        ("print(i, ", "print(sess.run('loss:0'), ", "fetches more than a computation: line 32"),
        ("rewrite(model,", "rewrite(lambda x: model(x) * labels,", "reads labels from outside: give it"),
        ("train = tpu.shard(fit_batch,", CLOSURE + "print(make(3))\ntrain = tpu.shard(make(2),",
         "make is also called outside"),
        ("train = tpu.shard(fit_batch,", OBJECT + "net.n = 3\ntrain = tpu.shard(net.step,", "n, which its"),
        ("train = tpu.shard(fit_batch,",
         OBJECT.replace("= n", "= tf.constant(n)") + "train = tpu.shard(net.step,", "Net may keep tensors"),
        ("train = tpu.shard(fit_batch,",
         OBJECT.replace("Net(2)", "Net(tf.ones([]))") + "train = tpu.shard(net.step,", "Net may keep tensors"),
    ],
)  # fmt: skip
def test_what_is_not_known_to_compute_the_same_stays(before, after, why):
    assert before in SCRIPT
    text = SCRIPT.replace(before, after, 1)
    if why is None:
        text = text.replace("0.1, 0.9", "rate, 0.9") if "rate" in after else text
        text = text.replace("model(x))\n", "f(model(x)))\n", 1) if "from m" in after else text
        why = (
            "rate, which its function reads, changes" if "rate" in after else "f, of another module"
        )
    assert why in reason_of(text)


REPLICATE = """\
import numpy as np
import tensorflow as tf
def scaled(x):
  return x * tf.get_variable('w', [])
rows = [[tf.constant(float(i))] for i in range(8)]
outs = tf.contrib.tpu.replicate(scaled, rows)
with tf.Session() as sess:
  sess.run(tf.global_variables_initializer())
  print(sess.run(outs))
"""


def test_what_each_core_is_given_is_kept():
    after = after_of(REPLICATE)
    assert (
        "\nouts = program.on_each_core(scaled, rows)\nprogram.initialize()\nprint(outs())\n"
        in after
    )


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("return x", "return tf.contrib.tpu.cross_replica_sum(x)", "and these meet: use shard"),
        ("scaled, rows)", "scaled, [[fed]])", "what each core is given: use shard"),
        (", rows)", ")", "what each core is given: use shard"),
        ("return x", "return fed * x", "its function reads fed from outside"),
    ],
)
def test_what_each_core_is_given_may_not_be_fed(before, after, why):
    head = "fed = tf.placeholder('f', [])\ndef scaled"
    assert why in reason_of(REPLICATE.replace(before, after).replace("def scaled", head))


SUMMARIES = """\
import tensorflow as tf
x = tf.placeholder(tf.float32, [8])
y = tf.placeholder(tf.float32, [])
def sums(x):
  return tf.reduce_sum(x), x
total, parts = tf.contrib.tpu.rewrite(sums, [x])
tf.summary.scalar('sums/total', total)
largest = tf.summary.scalar('largest', tf.reduce_max(parts))
merged = tf.summary.merge_all()
mean = tf.summary.scalar('mean', y)
fed = tf.summary.merge(inputs=[mean])
with tf.Session() as sess:
  print(sess.run([total, merged], {x: range(8)}), sess.run(fed, {y: 1 / 3}))
"""


def test_summaries_are_made_of_numbers():
    after = after_of(SUMMARIES)
    values = "session_loop.scalars({'sums/total': total, 'largest': tf.reduce_max(parts)})"
    made = f"program.on_one_core(sums, [x]), lambda total, parts: [{values}])\n"
    assert "\nrun_sums = session_loop.with_more(" + made in after
    assert (
        "(session_loop.chosen(run_sums(range(8)), 0, 2), session_loop.scalars({'mean': 1 / 3}))"
        in after
    )
    assert "tf.summary" not in after and "merged" not in after


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (
            "scalar('sums/total', total)",
            "scalar('sums total', total)",
            "more than a number and its name",
        ),
        ("scalar('mean', y)", "histogram('mean', y)", "tf.summary.histogram that is more than"),
        ("scalar('mean', y)", "scalar('largest', y)", "more than a number and its name"),
        ("scalar('mean', y)", "scalar('y', y)", "a summary with the name of something else"),
        ("tf.reduce_max(parts)", "tf.reduce_max(x)", "something else than the results of one"),
        ("mean = ", "with tf.name_scope('a'):\n  mean = ", "a summary whose name has a scope"),
        ("run(fed, {y: 1 / 3})", "run(fed, {x: 1 / 3})", "fed something else than what it shows"),
    ],
)
def test_summaries_that_may_be_others_stay(before, after, why):
    text = SUMMARIES.replace(before, after)
    text = text.replace("placeholder(tf.float32, [])", "placeholder(tf.float32, [], name='y')")
    assert why in reason_of(text)


@pytest.mark.parametrize("body", ["return {labels: x, images: x}", "{labels: x}", "return dict(x)"])
def test_what_a_function_feeds_is_only_fed(body):
    text = SCRIPT.replace(
        "{\n        images: data,\n        labels: data.argmax(1) % 3,\n    }", "feed(data)"
    )
    text = text.replace("init = ", f"def feed(x):\n  {body}\nprint(feed(0))\ninit = ")
    assert "cannot find what it feeds" in reason_of(text)


ON_ONE = """\
import numpy as np
import tensorflow as tf
from tensorflow.contrib.tpu.python.tpu import tpu, training_loop
FLAGS = tf.app.flags.FLAGS

def draw(rows):
  data = tf.data.Dataset.from_tensors(np.ones(4)).repeat()
  batches = data.batch(rows).make_one_shot_iterator()
  return batches.get_next()

def computation(x):
  def step(total):
    train = tf.train.GradientDescentOptimizer(FLAGS.rate).minimize(tf.reduce_sum(tf.layers.dense(x, 1)))
    with tf.control_dependencies([train]):
      return total + 1.0
  return training_loop.repeat(3, step, [tf.constant(0.0)])

def train():
  tf.reset_default_graph()
  batch = draw(6)
  with tf.variable_scope('net'):
    total = tpu.rewrite(computation, [batch])
  with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    step = tf.train.get_global_step()
    print(sess.run(total), sess.run(step))
    for name, one in zip('ab', tf.trainable_variables()):
      print(one.name, sess.run(one))
    print([sess.run(one) for one in tf.global_variables()])
"""


def test_a_graph_that_a_function_builds_becomes_a_program_of_it():
    after = after_of(ON_ONE)
    assert after[after.index("def train") :] == textwrap.dedent("""\
        def train():
          next_batches = draw(6)
          batch = next_batches.element_spec
          with tf.compat.v1.variable_scope('net'):
            program = session_loop.Program(session_loop.one_core())
            total = program.on_one_core(computation, [batch])
          program.initialize()
          print(total(next_batches.get_next()), program.global_step())
          for name, one in zip('ab', program.in_order(trainable=True)):
            print(one.name, one.numpy())
          print([one.numpy() for one in program.in_order()])
        """)
    assert "  batches = iter(data.batch(rows))\n  return batches\n" in after
    assert "return session_loop.repeat(3, step, [tf.constant(0.0)])" in after


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("[tf.constant(0.0)])", "[tf.constant(0.0)], None, 'loop')", "arguments of repeat"),
        ("[tf.constant(0.0)])", "[tf.constant(0.0)], infeed_queue=None)", "arguments of repeat"),
        ("tpu.rewrite(computation", "tpu.shard(computation", "run the computation in a loop of the script"),
        ("print(one.name,", "print(one.op.name,", "what is read of one, a variable"),
        ("print(one.name,", "print(one,", "a variable has other uses"),
        ("    print([sess", "    print(one)\n    print([sess", "one is also used for something else"),
        ("variable_scope('net')", "variable_scope('net') as scope", "beside its Session"),
        ("  batch = draw(6)", "  batch = draw(6)\n  draw(7)", "_iterator is called for something"),
        ("  return batches.get_next()", "  return batches.get_next(), 1", "_iterator is called for something"),
        ("  batch = draw(6)", "  batch = draw(6)\n  w = tf.Variable(1.0)", "variables of several kinds"),
    ],
)  # fmt: skip
def test_a_graph_of_a_function_that_is_more(before, after, why):
    assert before in ON_ONE and why in reason_of(ON_ONE.replace(before, after, 1))


def test_placeholders_may_be_made_in_one_statement():
    pair = "a, b = tf.placeholder(tf.float32, [8, 2]), tf.placeholder(tf.float32, [8])"
    text = f"""\
import tensorflow as tf
{pair}
total, = tf.contrib.tpu.shard(lambda x, y: tf.reduce_sum(x) + tf.reduce_sum(y), [a, b], num_shards=4)
with tf.Session() as sess:
  print(sess.run(total, {{a: [[1, 2]] * 8, b: [3] * 8}}))
"""
    after = after_of(text)
    assert "a, b = tf.TensorSpec([8, 2], tf.float32), tf.TensorSpec([8], tf.float32)" in after
    assert "[a, b], shards=4)" in after
    unused = text.replace(pair, pair.replace("a, b", "a, b, c") + ", tf.placeholder(tf.int32)")
    assert "c is made beside others" in reason_of(unused)


MEANS = """\
import tensorflow as tf
a = tf.placeholder(tf.float32, [8])
sums, squares = tf.contrib.tpu.shard(lambda x: (tf.reduce_sum(x), tf.norm(x)), [a], num_shards=4)
mean = tf.sqrt(tf.reduce_mean(sums, axis=0))
with tf.Graph().as_default(), tf.Session() as sess:
  print(sess.run([squares, mean], {a: [1.] * 8}))
"""


def test_what_a_session_computes_of_results_becomes_one_of_them():
    after = after_of(MEANS)
    assert (
        "with_more(program.on_all_cores(lambda x: (tf.reduce_sum(x), tf.norm(x)), [a], shards=4), "
        in after
    )
    assert "lambda sums, squares: [tf.sqrt(tf.reduce_mean(sums, axis=0))])\n" in after
    assert after.endswith("\nprint(session_loop.chosen(run_shard([1.] * 8), 1, 2))\n")


@pytest.mark.parametrize(
    "change",
    [
        "seen.assign_add(1.0)",
        "tf.layers.batch_normalization(x[:, None], training=True)",
        "tf.layers.BatchNormalization()(x[:, None], training=True)",
        "tf.train.AdamOptimizer(seen).minimize(seen)",
    ],
)
def test_cores_do_not_take_turns_at_what_changes_variables(change):
    text = f"""\
import tensorflow as tf
x = tf.placeholder(tf.float32, [8])
def count(x):
  seen = tf.get_variable('seen', [])
  more = {change}
  return tf.reshape(tf.reduce_sum(x), [1])
out, = tf.contrib.tpu.shard(count, [x], num_shards=4)
with tf.Session() as sess:
  sess.run(tf.global_variables_initializer())
  print(sess.run(out, {{x: [1.] * 8}}))
"""
    after = after_of(text)
    assert "the results have one share for each core" in " ".join(after.replace("#  ", "").split())
    assert "shards=" not in after
    assert "shards=4)" in after_of(text.replace(change, "seen * 2"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tf.sqrt(", "tf.log("),
        ("axis=0", "keep_dims=True"),
        ("(sums, axis=0)", "(sums + other)"),
        ("mean = ", "mean, = "),
    ],
)
def test_what_may_be_something_else_than_of_results_stays(before, after):
    text = "import numpy\nother = numpy.random.rand()\n" + MEANS.replace(before, after, 1)
    assert before in MEANS and migrated(text).way == plan.COMPATIBLE


@pytest.mark.parametrize("opened", ["name_scope", "variable_scope"])
def test_a_block_that_a_session_begins_with_stays(opened):
    text = f"""\
import tensorflow as tf
with tf.Session() as sess:
  with tf.{opened}('inputs'):
    x = tf.placeholder(tf.float32, [4, 2])
    y, = tf.contrib.tpu.batch_parallel(tf.nn.softmax, [x], num_shards=2)
  print(sess.run(y, {{x: [[1., 1.]] * 4}}))
""".replace("tf.nn.softmax", "lambda x: tf.nn.softmax(x)")
    assert migrated(text).way == plan.COMPATIBLE
    after = after_of(text.replace(f"  with tf.{opened}", f"  print(1)\n  with tf.{opened}"))
    assert ("variable_scope('inputs')" in after) == (opened == "variable_scope")


def test_a_method_that_is_called_elsewhere_too_stays():
    text = """\
import tensorflow as tf
class Trainer:
  def __init__(self):
    self.x = tf.placeholder(tf.float32, [8])
    self.total, = tf.contrib.tpu.rewrite(self.add, [self.x])
    self.sess = tf.Session()
  def add(self, x):
    return tf.reduce_sum(x)
  def run(self, x):
    print(self.sess.run(self.total, {self.x: x}))
Trainer().run([1.] * 8)
"""
    assert "self.run_add = self.program.on_one_core(self.add, [self.x])" in after_of(text)
    again = text.replace("    print(", "    self.add(x)\n    print(")
    assert "add is also called outside of the computations" in reason_of(again)
    assert "give it a function of this file" in reason_of(text + "def add(x): return x\n")


@pytest.mark.parametrize(
    "name", ["device_listing", "sharded_linear_regression", "conv_batch_parallel"]
)
def test_the_examples_leave_tensorflow_1(name):
    (result,) = tree.with_parts(list(tree.migrate([str(EXAMPLES / f"{name}.py")])))
    assert b"tpucompat.v1" not in result.after and result.todos == 0
    assert result.way in (plan.PLAIN, plan.SESSION)


@pytest.mark.parametrize("name", written.MODULES)
def test_a_written_module_has_the_names_that_it_uses(name):
    nodes = list(ast.walk(ast.parse(written.source(f"{name}.py"))))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    defined = {node.id for node in names if isinstance(node.ctx, ast.Store)} | {*dir(builtins)}
    defined |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    defined |= {
        getattr(node, "asname", None) or node.name.partition(".")[0]
        for node in nodes
        if isinstance(node, (ast.alias, ast.FunctionDef, ast.ClassDef, ast.ExceptHandler))
        and node.name
    }
    assert {node.id for node in names} <= defined


def tree_of(folder, text, name="script.py"):
    (folder / name).write_text(text)
    (result,) = tree.migrate([str(folder / name)])
    return result


_ROOT = "import tensorflow as tf\nfrom tensorflow.contrib import tpu\n"
_SWITCHED = "tf.compat.v1.disable_v2_behavior()\n"
_CONNECTED = """\
resolver = tf.distribute.cluster_resolver.TPUClusterResolver('mine')
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
"""


def prefixed(text):
    return re.sub(r"\btf\.(?=[a-z]\w*\.|[a-zA-Z]\w*\b)", "tf.compat.v1.", text)


@pytest.mark.parametrize(
    "head, spelled",
    [
        ("import tensorflow.compat.v1 as tf\n", lambda rest: rest),
        ("from tensorflow.compat import v1 as tf\n", lambda rest: rest),
        ("import tensorflow as tf\n", prefixed),
        ("import tensorflow.compat.v1 as tf\ntf.disable_eager_execution()\n", lambda rest: rest),
        ("import tensorflow as tf\n" + _SWITCHED, prefixed),
        ("import tensorflow as tf\n" + _SWITCHED + _CONNECTED, prefixed),
    ],
)
def test_tensorflow_1_below_compat_v1_is_the_same_program(tmp_path, head, spelled):
    """In the years of 2.0 scripts wrote ``tf.compat.v1`` before what they had."""
    before, rest = SCRIPT.split(_ROOT)
    then = tree_of(tmp_path, before + _ROOT + rest)
    own = before + head + spelled(rest.replace("tpu.", "tf.tpu."))
    result = tree_of(tmp_path, own)
    assert result.way == plan.SESSION, result.after.decode()
    assert result.after == then.after
    assert result.before.decode() == own


def test_what_stays_keeps_the_spelling_of_the_script(tmp_path):
    own = """\
import tensorflow.compat.v1 as tf

x = tf.placeholder(tf.float32, [8])
total, = tf.tpu.rewrite(lambda x: tf.Print(x, [x]), [x])
with tf.Session() as session:
  print(session.run(total, {x: [1.0] * 8}))
"""
    result = tree_of(tmp_path, own)
    assert result.way == plan.COMPATIBLE and b"TODO(tpucompat TPU213)" in result.after
    assert result.before.decode() == own


def test_a_computation_below_compat_v1_is_found(tmp_path):
    (tmp_path / "script.py").write_text("import tensorflow as tf\ntf.compat.v1.tpu.shard(print)\n")
    module = findings.analyse(str(tmp_path / "script.py"))
    assert [one.code for one in module_findings(module)] == ["TPU213"]


def module_findings(module):
    return [place.finding for place in findings.places(module)]


def test_a_variable_of_resources_is_as_every_other_one():
    text = (
        "import numpy as np\nimport tensorflow as tf\nfrom tensorflow.contrib import tpu\n"
        "b = tf.Variable(np.ones([8, 2]), use_resource=True, name='b')\n"
        "def compute(x):\n  return x + 1.0\n"
        "outputs = tpu.batch_parallel(compute, [b], num_shards=8)\n"
        "with tf.Session('grpc://a:1') as sess:\n"
        "  sess.run(tf.global_variables_initializer())\n"
        "  print(sess.run(outputs))\n"
    )
    after = migrated(text).after.decode()
    assert "\nb = tf.Variable(np.ones([8, 2]), name='b')\n" in after and "TODO" not in after


@pytest.mark.parametrize(
    "package",
    ["tensorflow.contrib.tpu.python.tpu", "tensorflow.python.tpu", "tensorflow.contrib.tpu"],
)
def test_tensorflows_own_training_loop_is_not_that_beside_a_script(package):
    """A script that imports it was taken for one that had been migrated before."""
    loop = "training_loop.repeat(3, lambda x: x + 1.0, [0.0])"
    text = f"import tensorflow as tf\nfrom {package} import training_loop\n"
    text += f"y = tf.contrib.tpu.rewrite(lambda: {loop})\nprint(tf.Session().run(y))\n"
    assert written.imported(text.encode()) == ""
    found = migrated(text)
    assert found.way == plan.COMPATIBLE
    assert found.after.count(b"tpucompat.v1") >= 2
    assert written.imported(b"from lm import training_loop\n") == "training_loop"
    assert written.imported(b'"import session_loop\\n"') == "session_loop"
