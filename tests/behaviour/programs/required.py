"""Asks for a TPU in every way that TensorFlow 1 knows, and writes down what came of it.

Run by tests/behaviour/test_tpu_required.py.
"""

import json
import sys

import numpy as np
import tensorflow as tf

tpu = tf.contrib.tpu
x = np.random.RandomState(0).randn(16, 4).astype('float32')
y = x.sum(1, keepdims=True)


def fit(model):
    model.fit(x, y, batch_size=16, epochs=1, verbose=0)


def fit_dataset(model):
    data = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16, drop_remainder=True)
    model.fit(data, steps_per_epoch=2, epochs=1, verbose=0)


def fit_generator(model):
    model.fit_generator(iter([(x, y)] * 4), steps_per_epoch=2, epochs=1, verbose=0)


def on_batch(model):
    model.train_on_batch(x, y)


def keras(train=fit, **strategy):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver('grpc://10.0.0.2:8470')
    model = tpu.keras_to_tpu_model(model, tpu.TPUDistributionStrategy(resolver, **strategy))
    model.compile(tf.train.GradientDescentOptimizer(0.1), 'mse')
    train(model)


def keras_one_core():
    keras(using_single_core=True)


def estimator(method, use_tpu=True, **config):
    def model_fn(features, labels, mode, params):
        out = tf.layers.dense(features, 1)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tpu.TPUEstimatorSpec(mode, predictions={'out': out})
        loss = tf.losses.mean_squared_error(labels, out)
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        if use_tpu:
            optimizer = tpu.CrossShardOptimizer(optimizer)
        return tpu.TPUEstimatorSpec(mode, loss=loss,
                                    train_op=optimizer.minimize(loss, tf.train.get_global_step()))

    def input_fn(params):
        data = tf.data.Dataset.from_tensor_slices((x, y)).repeat(1 if method == 'predict' else None)
        return data.batch(params['batch_size'], drop_remainder=True)

    made = tpu.TPUEstimator(
        model_fn, use_tpu=use_tpu, train_batch_size=16, eval_batch_size=16, predict_batch_size=16,
        config=tpu.RunConfig(tpu_config=tpu.TPUConfig(iterations_per_loop=2, **config)))
    if method == 'train':
        made.train(input_fn, max_steps=2)
    elif method == 'predict':
        list(made.predict(input_fn))
    elif method == 'both':
        tf.estimator.train_and_evaluate(made, tf.estimator.TrainSpec(input_fn, max_steps=2),
                                        tf.estimator.EvalSpec(input_fn, steps=1))
    else:
        made.evaluate(input_fn, steps=1)


def session(build):
    with tf.Graph().as_default():
        w = tf.get_variable('w', [4, 1], initializer=tf.ones_initializer(), use_resource=True)

        def step(a):
            loss = tf.reduce_mean(tf.square(tf.matmul(a, w)))
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
            with tf.control_dependencies([train]):
                return tf.identity(loss)

        wanted = build(step, w)
        with tf.Session() as sess:
            sess.run(tpu.initialize_system())
            sess.run(tf.global_variables_initializer())
            sess.run(wanted)


def infeed():
    def with_infeed(step, w):
        dequeue = lambda: step(tpu.infeed_dequeue(tf.float32, [16, 4]))
        return tpu.rewrite(dequeue), tpu.infeed_enqueue(tf.constant(x), [16, 4])

    session(with_infeed)


def strategy():
    with tf.contrib.distribute.TPUStrategy().scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
        model.compile('sgd', 'mse')
    model.fit(x, y, batch_size=16, epochs=1, verbose=0)


def device():
    with tf.Graph().as_default(), tf.device('/device:TPU:0'):
        total = tf.reduce_sum(tf.constant(x))
        with tf.Session() as sess:
            sess.run(total)


KINDS = {
    'keras': keras,
    'keras_one_core': keras_one_core,
    'fit_dataset': lambda: keras(fit_dataset),
    'fit_generator': lambda: keras(fit_generator),
    'on_batch': lambda: keras(on_batch),
    'train': lambda: estimator('train'),
    'train_one_shard': lambda: estimator('train', num_shards=1),
    'evaluate': lambda: estimator('evaluate'),
    'predict': lambda: estimator('predict'),
    'train_and_evaluate': lambda: estimator('both'),
    'train_on_host': lambda: estimator('train', use_tpu=False),
    'batch_parallel': lambda: session(lambda step, w: tpu.batch_parallel(
        lambda a: tf.matmul(a, w), [tf.constant(x)], num_shards=2)),
    'shard': lambda: session(lambda step, w: tpu.shard(step, [tf.constant(x)], num_shards=1)),
    'replicate': lambda: session(lambda step, w: tpu.replicate(step, [[tf.constant(x)]])),
    'rewrite': lambda: session(lambda step, w: tpu.rewrite(step, [tf.constant(x)])),
    'infeed': infeed,
    'strategy': strategy,
    'device': device,
}

found = {}
for kind in sys.argv[2:]:
    from tpucompat.engines import rehearsal
    before = rehearsal.counts['traced']
    tf.keras.backend.clear_session()
    try:
        KINDS[kind]()
        wanted = 2 if kind == 'train_and_evaluate' else 1  # the evaluation has a program, too
        found[kind] = 'programs' if rehearsal.counts['traced'] >= before + wanted else 'host'
    except Exception as error:
        found[kind] = type(error).__name__ + ': ' + str(error)[:2000]
with open(sys.argv[1], 'w') as out:
    json.dump(found, out)
