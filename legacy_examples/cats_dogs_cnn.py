"""Cats and dogs from folders of pictures, with Keras on a Colab TPU.

Written for TensorFlow 1.13. In a Colab notebook with a TPU runtime:

    !python cats_dogs_cnn.py --data-dir dogs-vs-cats --epochs 10
"""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import argparse
import json
import os

import numpy as np
import tensorflow as tf
from tensorflow.contrib.tpu.python.tpu import keras_support
from tensorflow.keras.layers import Activation, AveragePooling2D, Conv2D, Dense, Dropout, Flatten
from tensorflow.keras.models import Sequential
from tensorflow.keras.preprocessing.image import ImageDataGenerator


def parse_args():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--data-dir', required=True, help='with train/ and validation/')
  parser.add_argument('--size', type=int, default=150, help='height and width of the pictures')
  parser.add_argument('--batch-size', type=int, default=64, help='for all cores together')
  parser.add_argument('--epochs', type=int, default=10)
  parser.add_argument('--dropout', type=float, default=0.5)
  parser.add_argument('--seed', type=int, default=1, help='decides on the order of the pictures')
  parser.add_argument('--output', default='cats_dogs_weights.h5')
  parser.add_argument('--history', metavar='FILE', help='.json to write the losses to')
  return parser.parse_args()


def build_model(size, dropout):
  model = Sequential()
  model.add(Conv2D(16, (3, 3), input_shape=(size, size, 3), name='conv1'))
  model.add(Activation('elu'))
  model.add(AveragePooling2D(pool_size=(2, 2)))
  model.add(Conv2D(32, (3, 3), name='conv2'))
  model.add(Activation('elu'))
  model.add(AveragePooling2D(pool_size=(2, 2)))
  model.add(Flatten())
  model.add(Dense(32, name='hidden'))
  model.add(Activation('elu'))
  model.add(Dropout(dropout))
  model.add(Dense(1, name='dog'))
  model.add(Activation('sigmoid'))
  return model


def main():
  args = parse_args()
  pictures = ImageDataGenerator(rescale=1. / 255)
  train = pictures.flow_from_directory(
      os.path.join(args.data_dir, 'train'),
      target_size=(args.size, args.size),
      batch_size=args.batch_size,
      class_mode='binary',
      seed=args.seed)
  validation = pictures.flow_from_directory(
      os.path.join(args.data_dir, 'validation'),
      target_size=(args.size, args.size),
      batch_size=args.batch_size,
      class_mode='binary',
      shuffle=False)

  strategy = keras_support.TPUDistributionStrategy(
      tf.contrib.cluster_resolver.TPUClusterResolver(
          tpu='grpc://' + os.environ['COLAB_TPU_ADDR']))
  model = tf.contrib.tpu.keras_to_tpu_model(build_model(args.size, args.dropout), strategy=strategy)
  model.compile(
      loss='binary_crossentropy',
      optimizer=tf.train.AdamOptimizer(learning_rate=1e-3),
      metrics=['accuracy'])
  history = model.fit_generator(
      train,
      steps_per_epoch=train.samples // args.batch_size,
      epochs=args.epochs,
      validation_data=validation,
      validation_steps=validation.samples // args.batch_size,
      shuffle=False)  # of the batches; the pictures in them are shuffled already
  model.save_weights(args.output)

  x, y = validation[0]
  dogs = model.predict(x, batch_size=len(x))
  print('%d of %d are right' % (np.sum((dogs[:, 0] > 0.5) == y), len(y)))
  if args.history:
    with open(args.history, 'w') as f:
      json.dump({'epochs': {name: [float(v) for v in values]
                            for name, values in history.history.items()},
                 'dogs': dogs[:, 0].tolist()}, f)


if __name__ == '__main__':
  main()
