"""Fashion-MNIST with the TensorFlow 2.0 of late 2019, on a Colab TPU.

Written for TensorFlow 2.0 and 2.1. In a Colab notebook with a TPU runtime:

    !python fashion_mnist_tf20.py --epochs 10
"""

from __future__ import absolute_import, division, print_function, unicode_literals

import argparse
import json
import os

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument('--data-dir', help='folder with a sample; downloaded if not given')
parser.add_argument('--epochs', type=int, default=10)
parser.add_argument('--steps-per-epoch', type=int, default=60)
parser.add_argument('--validation-freq', type=int, default=5)
parser.add_argument('--batch-size', type=int, default=1024, help='for all cores together')
parser.add_argument('--history', help='.json to write the losses to')
args = parser.parse_args()

if args.data_dir:
  data = np.load(os.path.join(args.data_dir, 'fashion_mnist_sample.npz'))
  x_train, y_train = data['x_train'], data['y_train']
  x_test, y_test = data['x_test'], data['y_test']
else:
  (x_train, y_train), (x_test, y_test) = tf.keras.datasets.fashion_mnist.load_data()
x_train = np.expand_dims(x_train, -1).astype(np.float32) / 255
x_test = np.expand_dims(x_test, -1).astype(np.float32) / 255

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
    tpu='grpc://' + os.environ['COLAB_TPU_ADDR'])
tf.config.experimental_connect_to_host(resolver.master())
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.experimental.TPUStrategy(resolver)


def create_model():
  model = tf.keras.models.Sequential()
  model.add(tf.keras.layers.Conv2D(8, (5, 5), padding='same', activation='elu',
                                   input_shape=x_train.shape[1:], name='conv1'))
  model.add(tf.keras.layers.AveragePooling2D(pool_size=(2, 2), strides=(2, 2)))
  model.add(tf.keras.layers.Conv2D(16, (5, 5), padding='same', activation='elu', name='conv2'))
  model.add(tf.keras.layers.AveragePooling2D(pool_size=(2, 2), strides=(2, 2)))
  model.add(tf.keras.layers.Flatten())
  model.add(tf.keras.layers.Dense(64, activation='elu', name='hidden'))
  model.add(tf.keras.layers.Dense(10, name='logits'))
  model.add(tf.keras.layers.Activation('softmax'))
  return model


with strategy.scope():
  model = create_model()
  model.compile(
      optimizer=tf.keras.optimizers.Adam(learning_rate=1e-3),
      loss=tf.keras.losses.sparse_categorical_crossentropy,
      metrics=[tf.keras.metrics.sparse_categorical_accuracy])

train = tf.data.Dataset.from_tensor_slices((x_train, y_train.astype(np.float32)))
train = train.repeat().batch(args.batch_size, drop_remainder=True)
test = tf.data.Dataset.from_tensor_slices((x_test, y_test.astype(np.float32)))
test = test.batch(200, drop_remainder=True)

history = model.fit(
    train,
    epochs=args.epochs,
    steps_per_epoch=args.steps_per_epoch,
    validation_data=test,
    validation_freq=args.validation_freq)
loss, accuracy = model.evaluate(test)
print('test loss %.4f, test accuracy %.4f' % (loss, accuracy))
predictions = model.predict(x_test[:16])
print(np.argmax(predictions, axis=1))
if args.history:
  with open(args.history, 'w') as f:
    json.dump({name: [float(v) for v in values] for name, values in history.history.items()}, f)
