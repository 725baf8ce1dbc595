"""The same in early TensorFlow 2."""
import numpy as np
import tensorflow as tf

tpu = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(tpu)
tf.tpu.experimental.initialize_tpu_system(tpu)
strategy = tf.distribute.experimental.TPUStrategy(tpu)
x = np.arange(640, dtype='float32').reshape(64, 10) / 640
y = (np.arange(64) % 3).astype('float32').reshape(64, 1)
before = x.copy(), y.copy()


def parts():
    for index in range(4):
        yield x[16 * index:16 * index + 16], y[16 * index:16 * index + 16]


class Parts(tf.keras.utils.Sequence):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return x[16 * index:16 * index + 16], y[16 * index:16 * index + 16]


def check(what):
    assert np.array_equal(x, before[0]) and np.array_equal(y, before[1]), what


with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation='relu', input_shape=(10,)),
                                 tf.keras.layers.Dense(1)])
    model.compile('sgd', 'mse')
model.fit(Parts(), epochs=2, verbose=0)
check('a Sequence')
dataset = tf.data.Dataset.from_generator(parts, (tf.float32, tf.float32), ((16, 10), (16, 1)))
model.fit(dataset, epochs=2, verbose=0)
check('a Dataset')
optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def step(inputs, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(inputs) - labels) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


with strategy.scope():
    for batch in strategy.experimental_distribute_dataset(dataset):
        strategy.experimental_run_v2(step, args=batch)
check('a loop')
print('KEPT')
