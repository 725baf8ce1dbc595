"""Scripts with ``tf.contrib`` before ``tpucompat migrate`` and, under plain Python, after it."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from tpucompat.base.machine import environment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

pytestmark = pytest.mark.skipif(
    tuple(map(int, environment().tensorflow.split(".")[:2])) < (2, 16),
    reason="the migrated program is for the TensorFlow of today",
)

SESSION = """\
import numpy as np
import tensorflow as tf
import tensorflow.contrib.image
from tensorflow.contrib import crf, rnn
from tensorflow.contrib.crf import viterbi_decode

rs = np.random.RandomState(0)
x = tf.placeholder(tf.float32, [4, 5, 3])
y = tf.placeholder(tf.int32, [4, 5])
n = tf.placeholder(tf.int32, [4])


def waves(shape, dtype=None, partition_info=None):
    return tf.constant(np.sin(np.arange(np.prod(shape))).reshape(shape).astype(np.float32))


with tf.variable_scope('all', initializer=waves):
    kernel = tf.get_variable('kernel', [3, 3])
    scores = tf.tensordot(x, kernel, 1)
    likelihood, transitions = crf.crf_log_likelihood(scores, y, n)
    tags, best = tf.contrib.crf.crf_decode(scores, transitions, n)
    cells = [rnn.LSTMBlockCell(4), rnn.GRUBlockCellV2(3), rnn.NASCell(3), rnn.BasicLSTMCell(3)]
    outputs = [
        tf.nn.dynamic_rnn(cell, x, n, dtype=tf.float32, scope=str(at))[0]
        for at, cell in enumerate(cells)
    ]
    stacks = [rnn.GRUCell(2)], [rnn.GRUCell(2)]
    both, _, _ = rnn.stack_bidirectional_dynamic_rnn(*stacks, x, dtype=tf.float32)
    layer = tf.contrib.cudnn_rnn.CudnnLSTM(1, 4, kernel_initializer=waves)
    fused, _ = layer(tf.transpose(x, [1, 0, 2]))
squares = [tf.reduce_mean(one ** 2) for one in [*outputs, both, fused]]
loss = tf.add_n([-tf.reduce_mean(likelihood), *squares])
images = tf.reshape(x, [4, 5, 3, 1])
pictures = [
    tf.contrib.image.rotate(images, 0.5),
    tf.contrib.image.translate(images, [1.0, 0.5], interpolation='BILINEAR'),
    tf.contrib.image.adjust_hsv_in_yiq(tf.abs(x)[None], 0.2, 0.8, 1.1),
]
weights = tf.sequence_mask(n, 5, tf.float32)
sequences = [
    tf.contrib.seq2seq.sequence_loss(scores, y, weights, average_across_timesteps=False),
    tf.contrib.legacy_seq2seq.sequence_loss_by_example(
        tf.unstack(scores, axis=1), tf.unstack(y, axis=1), tf.unstack(weights, axis=1)),
]
ordered = tf.contrib.framework.sort(x[0, 0], direction='DESCENDING')
step = tf.contrib.opt.AdamWOptimizer(0.01, learning_rate=0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    feed = {x: rs.rand(4, 5, 3), y: rs.randint(0, 3, [4, 5]), n: [5, 3, 4, 1]}
    for _ in range(3):
        print(session.run([loss, step], feed)[0])
    for one in session.run([tags, best, ordered, *sequences, *pictures], feed):
        print(np.sum(one), np.sum(np.abs(one)))
    for name in sorted(one.name for one in tf.global_variables()):
        print(name)
print(viterbi_decode(rs.rand(5, 3), rs.rand(3, 3))[1])
"""

ESTIMATOR = """\
import sys
import numpy as np
import tensorflow as tf
from tensorflow.contrib.crf import crf_decode, crf_log_likelihood

OPTIMIZERS = {
    'AdamW': lambda: tf.contrib.opt.AdamWOptimizer(0.001, learning_rate=0.05),
    'LARS': lambda: tf.contrib.opt.LARSOptimizer(0.05, skip_list=['bias']),
    'Lazy': lambda: tf.contrib.opt.LazyAdamOptimizer(0.05),
    'Momentum': lambda: tf.contrib.opt.MomentumWOptimizer(0.001, learning_rate=0.05, momentum=0.9),
    'Nadam': lambda: tf.contrib.opt.NadamOptimizer(0.05),
    'Adagrad': lambda: tf.contrib.opt.extend_with_decoupled_weight_decay(tf.train.AdagradOptimizer)(
        weight_decay=0.001, learning_rate=0.05),
}


def waves(shape, dtype=None, partition_info=None):
    return tf.constant(np.sin(np.arange(np.prod(shape))).reshape(shape).astype(np.float32))


def model_fn(features, labels, mode, params):
    with tf.variable_scope('all', initializer=waves):
        x = tf.nn.embedding_lookup(tf.get_variable('table', [10, 6]), features['x'])
        scores = tf.layers.dense(x, 3, name='scores', kernel_initializer=waves)
        likelihood, transitions = crf_log_likelihood(scores, labels, features['n'])
    loss = -tf.reduce_mean(likelihood)
    tags, best = crf_decode(scores, transitions, features['n'])
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions={'tags': tags, 'best': best})
    train_op = None
    if mode == tf.estimator.ModeKeys.TRAIN:
        optimizer = tf.contrib.tpu.CrossShardOptimizer(OPTIMIZERS[params['optimizer']]())
        train_op = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    return tf.contrib.tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=train_op,
        eval_metrics=(lambda tags, labels: {'acc': tf.metrics.accuracy(labels, tags)}, [tags, labels]))


def input_fn(params):
    rs = np.random.RandomState(0)
    x, n = rs.randint(0, 10, [32, 5]).astype(np.int32), rs.randint(1, 6, [32]).astype(np.int32)
    data = {'x': x, 'n': n}, rs.randint(0, 3, [32, 5]).astype(np.int32)
    return tf.data.Dataset.from_tensor_slices(data).repeat(4).batch(params['batch_size'], drop_remainder=True)


def main(_):
    for name in OPTIMIZERS:
        config = tf.contrib.tpu.RunConfig(
            model_dir=sys.argv[1] + name, tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=4))
        estimator = tf.contrib.tpu.TPUEstimator(
            model_fn, config=config, use_tpu=True, params={'optimizer': name}, train_batch_size=8,
            eval_batch_size=8, predict_batch_size=8)
        estimator.train(input_fn, max_steps=4)
        if name == 'LARS':  # the rest asks nothing of an optimizer
            found = estimator.evaluate(input_fn, steps=4)
            print(found['loss'], found['acc'])
            print(np.sum([one['best'] for one in estimator.predict(input_fn)]))
        for variable in sorted(estimator.get_variable_names()):
            print(variable, np.abs(estimator.get_variable_value(variable)).sum())


if __name__ == '__main__':
    tf.app.run(main)
"""
#: Gives a migrated script two devices, and its loop a strategy over them in the place of a TPU's.
ON_TWO = f"""\
import runpy, sys
sys.path[:0] = [".", {os.path.join(ROOT, "tests", "generated")!r}]
import migrated_model_fns
migrated_model_fns.emulate(2)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def printed(words, folder):
    """The lines that a Python prints, as names and numbers."""
    environ = {**os.environ, "PYTHONPATH": ROOT, "TF_ENABLE_ONEDNN_OPTS": "0"}
    ran = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environ, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    lines = [line.split() for line in ran.stdout.splitlines() if "tpucompat" not in line]
    assert lines
    return lines


def compare(old, new):
    for before, after in zip(old, new, strict=True):
        assert len(before) == len(after)
        for was, now in zip(before, after):
            try:
                np.testing.assert_allclose(float(now), float(was), 1e-5, 1e-6, err_msg=f"{before}")
            except ValueError:
                assert now == was


def migrate(folder, text):
    (folder / "new").mkdir()
    (folder / "old.py").write_text(text)
    (folder / "new" / "new.py").write_text(text)
    printed(["-m", "tpucompat", "migrate", "--write", "new"], folder)
    texts = [path.read_text() for path in (folder / "new").glob("*.py")]
    assert not any("tpucompat" in one for one in texts)


def test_a_session(tmp_path):
    migrate(tmp_path, SESSION)
    old = printed(["-m", "tpucompat", "run", "--quiet", "old.py"], tmp_path)
    compare(old, printed(["new.py"], tmp_path / "new"))


@pytest.mark.long
def test_optimizers_and_fields_of_an_estimator(tmp_path):
    migrate(tmp_path, ESTIMATOR)
    old = printed(["-m", "tpucompat", "run", "--quiet", "--cores", "2", "old.py", "a"], tmp_path)
    (tmp_path / "on_two.py").write_text(ON_TWO)
    compare(old, printed(["../on_two.py", "new.py", "b"], tmp_path / "new"))
