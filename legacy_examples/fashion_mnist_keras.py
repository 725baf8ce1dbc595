"""Fashion-MNIST on a Colab TPU with tf.keras.

Written for TensorFlow 1.13. In a Colab notebook with a TPU runtime:

    !python fashion_mnist_keras.py --epochs 10
"""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import argparse
import gzip
import json
import os
import time

import numpy as np
import tensorflow as tf

CLASSES = ['t-shirt', 'trouser', 'pullover', 'dress', 'coat',
           'sandal', 'shirt', 'sneaker', 'bag', 'ankle boot']


def parse_args():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--data-dir', help='the four .gz files, or an .npz sample; '
                                         'downloaded if not given')
  parser.add_argument('--epochs', type=int, default=10)
  parser.add_argument('--steps-per-epoch', type=int, help='default: once over the data')
  parser.add_argument('--batch-size', type=int, default=1024, help='for all TPU cores together')
  parser.add_argument('--filters', type=int, default=16, help='of the first convolution')
  parser.add_argument('--dropout', type=float, default=0.25)
  parser.add_argument('--no-batch-norm', dest='batch_norm', action='store_false')
  parser.add_argument('--float64', action='store_true',
                      help='compute in double precision, to compare numbers; not on a TPU')
  parser.add_argument('--seed', type=int, default=1)
  parser.add_argument('--initial-weights', metavar='FILE', help='.npz to start from')
  parser.add_argument('--history', metavar='FILE', help='.json to write the losses to')
  parser.add_argument('--output', metavar='FILE', help='.h5 to save the weights to')
  return parser.parse_args()


def load_data(data_dir):
  """Images as floats in [0, 1] of shape (n, 28, 28, 1), labels as int32."""
  if data_dir is None:
    (x_train, y_train), (x_test, y_test) = tf.keras.datasets.fashion_mnist.load_data()
  elif os.path.exists(os.path.join(data_dir, 'fashion_mnist_sample.npz')):
    with np.load(os.path.join(data_dir, 'fashion_mnist_sample.npz')) as data:
      x_train, y_train = data['x_train'], data['y_train']
      x_test, y_test = data['x_test'], data['y_test']
  else:
    x_train = read_idx(data_dir, 'train-images-idx3-ubyte.gz', 16).reshape(-1, 28, 28)
    y_train = read_idx(data_dir, 'train-labels-idx1-ubyte.gz', 8)
    x_test = read_idx(data_dir, 't10k-images-idx3-ubyte.gz', 16).reshape(-1, 28, 28)
    y_test = read_idx(data_dir, 't10k-labels-idx1-ubyte.gz', 8)

  def prepare(images, labels):
    images = images[..., np.newaxis].astype(tf.keras.backend.floatx()) / 255.0
    return images, labels.astype(np.int32)

  return prepare(x_train, y_train), prepare(x_test, y_test)


def read_idx(data_dir, name, header):
  with gzip.open(os.path.join(data_dir, name), 'rb') as f:
    return np.frombuffer(f.read(), np.uint8, offset=header)


def batches(x, y, batch_size, seed):
  """Endless shuffled batches. A TPU needs all of them in the same size: the rest is left out."""
  rng = np.random.RandomState(seed)
  while True:
    order = rng.permutation(len(x))
    for start in range(0, len(x) - batch_size + 1, batch_size):
      rows = order[start:start + batch_size]
      yield x[rows], y[rows]


def build_model(filters, dropout, batch_norm):
  fused = tf.keras.backend.floatx() != 'float64'  # the fused op knows no double precision
  model = tf.keras.Sequential()
  for block in range(3):
    conv = dict(filters=filters * 2 ** block, kernel_size=3, padding='same',
                use_bias=not batch_norm)
    if block == 0:
      conv['input_shape'] = (28, 28, 1)
    model.add(tf.keras.layers.Conv2D(**conv))
    if batch_norm:
      model.add(tf.keras.layers.BatchNormalization(momentum=0.9, fused=fused))
    model.add(tf.keras.layers.ELU())
    model.add(tf.keras.layers.AveragePooling2D(pool_size=2))
    model.add(tf.keras.layers.Dropout(dropout))
  model.add(tf.keras.layers.Flatten())
  model.add(tf.keras.layers.Dense(128, activation='elu'))
  model.add(tf.keras.layers.Dropout(dropout))
  model.add(tf.keras.layers.Dense(10, activation='softmax'))
  return model


class StepLosses(tf.keras.callbacks.Callback):
  """Keeps the loss of every training step, and when it came."""

  def __init__(self):
    super(StepLosses, self).__init__()
    self.losses = []
    self.times = []

  def on_batch_end(self, batch, logs=None):
    self.losses.append(float(logs['loss']))
    self.times.append(time.time())


def main():
  args = parse_args()
  tf.set_random_seed(args.seed)
  if args.float64:
    tf.keras.backend.set_floatx('float64')
  (x_train, y_train), (x_test, y_test) = load_data(args.data_dir)

  model = build_model(args.filters, args.dropout, args.batch_norm)
  model.summary()

  tpu_address = 'grpc://' + os.environ['COLAB_TPU_ADDR']
  tpu_model = tf.contrib.tpu.keras_to_tpu_model(
      model,
      strategy=tf.contrib.tpu.TPUDistributionStrategy(
          tf.contrib.cluster_resolver.TPUClusterResolver(tpu_address)))
  tpu_model.compile(
      optimizer=tf.train.AdamOptimizer(learning_rate=1e-3),
      loss='sparse_categorical_crossentropy',
      metrics=['accuracy'])
  if args.initial_weights:
    with np.load(args.initial_weights) as weights:
      tpu_model.set_weights([weights['arr_%d' % i] for i in range(len(weights.files))])

  step_losses = StepLosses()
  history = tpu_model.fit_generator(
      batches(x_train, y_train, args.batch_size, args.seed),
      steps_per_epoch=args.steps_per_epoch or len(x_train) // args.batch_size,
      epochs=args.epochs,
      validation_data=(x_test, y_test),
      callbacks=[step_losses])

  loss, accuracy = tpu_model.evaluate(x_test, y_test, batch_size=args.batch_size)
  print('test loss %.4f, test accuracy %.4f' % (loss, accuracy))

  # 8 cores share a batch: predict a multiple of 8 images.
  guesses = tpu_model.predict(x_test[:8], batch_size=8)
  for guess, label in zip(np.argmax(guesses, axis=1), y_test):
    print('predicted: %-12s is: %s' % (CLASSES[guess], CLASSES[label]))

  if args.output:
    tpu_model.save_weights(args.output, overwrite=True)
  if args.history:
    with open(args.history, 'w') as f:
      json.dump({'step_loss': step_losses.losses,
                 'step_time': step_losses.times,
                 'epochs': {name: [float(v) for v in values]
                            for name, values in history.history.items()},
                 'test': {'loss': float(loss), 'acc': float(accuracy)},
                 'predictions': guesses.tolist()}, f)


if __name__ == '__main__':
  main()
