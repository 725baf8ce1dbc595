"""Uses a TPU in the order that the command line says, in one process: words of ACTIONS.

Run by tests/behaviour/test_tpu_in_one_process.py.
"""

import json
import sys

import numpy as np
import tensorflow as tf

tpu = tf.contrib.tpu
x = np.random.RandomState(0).randn(16, 4).astype('float32')
y = x.sum(1, keepdims=True)
kept = {}


def session():
    with tf.Graph().as_default(), tf.Session() as sess:
        return sess.run(tf.reduce_sum(tf.constant(x)))


def placed():
    with tf.Graph().as_default(), tf.Session('grpc://10.0.0.2:8470') as sess:
        with tf.device('/device:TPU:0'):
            return sess.run(tf.reduce_sum(tf.constant(x)))


def initialize():
    with tf.Graph().as_default(), tf.Session() as sess:
        return len(sess.run(tpu.initialize_system())) > 0


def initialize_all():
    return tf.contrib.distribute.initialize_tpu_system() is not None


def shutdown():
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(tpu.shutdown_system())


def resolver():
    made = tf.contrib.cluster_resolver.TPUClusterResolver('grpc://10.0.0.2:8470')
    return int(made.num_accelerators()['TPU'])


def shard():
    """Four steps in a Session that stays open, and goes on with its variable the next time."""
    if 'shard' not in kept:
        graph = tf.Graph()
        with graph.as_default():
            w = tf.get_variable('w', [4, 1], initializer=tf.zeros_initializer(), use_resource=True)

            def step(a, b):
                loss = tf.reduce_mean(tf.square(tf.matmul(a, w) - b))
                optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
                with tf.control_dependencies([optimizer.minimize(loss)]):
                    return tf.identity(loss)

            with tf.device('/device:TPU:0'):
                loss = tpu.shard(step, [tf.constant(x), tf.constant(y)], num_shards=2)
            sess = tf.Session()
            sess.run(tf.global_variables_initializer())
            kept['shard'] = sess, loss
    sess, loss = kept['shard']
    return [float(np.mean(sess.run(loss))) for _ in range(4)]


def model():
    tf.keras.backend.clear_session()
    made = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,), kernel_initializer='zeros')])
    made = tpu.keras_to_tpu_model(made, tpu.TPUDistributionStrategy())
    made.compile(tf.train.GradientDescentOptimizer(0.1), 'mse')
    kept.setdefault('first', made)
    history = made.fit(x, y, batch_size=16, epochs=4, shuffle=False, verbose=0)
    return history.history['loss']


def model_again():
    """The first model trains on: its variables are still there."""
    history = kept['first'].fit(x, y, batch_size=16, epochs=4, shuffle=False, verbose=0)
    return history.history['loss']


def estimator():
    def model_fn(features, labels, mode, params):
        out = tf.layers.dense(features, 1, kernel_initializer=tf.zeros_initializer())
        loss = tf.losses.mean_squared_error(labels, out)
        optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
        metrics = lambda labels, out: {'error': tf.metrics.mean_squared_error(labels, out)}
        return tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metrics, [labels, out]),
                                    train_op=optimizer.minimize(loss, tf.train.get_global_step()))

    def input_fn(params):
        data = tf.data.Dataset.from_tensor_slices((x, y)).repeat()
        return data.batch(params['batch_size'], drop_remainder=True)

    made = tpu.TPUEstimator(
        model_fn, use_tpu=True, train_batch_size=16, eval_batch_size=16,
        config=tpu.RunConfig(tpu_config=tpu.TPUConfig(iterations_per_loop=2)))
    made.train(input_fn, max_steps=4)
    return float(made.evaluate(input_fn, steps=1)['error'])


def twice():
    """What the stand-in says when tpucompat initializes it again."""
    from tpucompat.engines import accelerator
    from tpucompat.tf import private
    from tpucompat.base import machine as environment
    try:
        with private.eager_mode():
            accelerator._make_strategy(environment.current_environment())
    except RuntimeError as error:
        return 'second time' in str(error)


found = []
for name in sys.argv[2:]:
    result = globals()[name]()
    found.append((name, np.array(result, 'float64').tolist() if result is not None else None))
with open(sys.argv[1], 'w') as out:
    json.dump({'found': found, 'initialized': tf.Session._tpu_counts['initialized']}, out)
