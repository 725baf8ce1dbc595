"""Two classes of pictures in folders, trained on a TPU: the habits of early 2019."""

import argparse
import os

import numpy as np
import tensorflow as tf
from tensorflow.contrib.tpu.python.tpu import keras_support
from tensorflow.keras.layers import Activation, Conv2D, Dense, Flatten, MaxPooling2D
from tensorflow.keras.models import Sequential
from tensorflow.keras.preprocessing.image import ImageDataGenerator

SIZE = 24


def make_model():
  model = Sequential()
  model.add(Conv2D(8, (3, 3), input_shape=(SIZE, SIZE, 3)))
  model.add(Activation('relu'))
  model.add(MaxPooling2D(pool_size=(2, 2)))
  model.add(Flatten())
  model.add(Dense(16, activation='relu'))
  model.add(Dense(1, activation='sigmoid'))
  return model


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('folder')
  parser.add_argument('--weights', default='weights.h5')
  parser.add_argument('--predictions', default='predictions.npz')
  args = parser.parse_args()

  pictures = ImageDataGenerator(rescale=1. / 255)
  train = pictures.flow_from_directory(
      os.path.join(args.folder, 'train'), target_size=(SIZE, SIZE), batch_size=32,
      class_mode='binary', seed=1)
  validation = pictures.flow_from_directory(
      os.path.join(args.folder, 'validation'), target_size=(SIZE, SIZE), batch_size=16,
      class_mode='binary', shuffle=False)

  tf.set_random_seed(3)
  resolver = tf.contrib.cluster_resolver.TPUClusterResolver(
      tpu='grpc://' + os.environ['COLAB_TPU_ADDR'])
  strategy = keras_support.TPUDistributionStrategy(resolver)
  model = keras_support.tpu_model(make_model(), strategy=strategy)
  model.compile(loss='binary_crossentropy', optimizer=tf.train.AdamOptimizer(2e-3),
                metrics=['accuracy'])
  history = model.fit_generator(
      train, steps_per_epoch=len(train), epochs=12,
      validation_data=validation, validation_steps=len(validation))
  model.save_weights(args.weights)

  x, _ = validation[0]
  np.savez(args.predictions, x=x, predictions=model.predict(x, batch_size=16),
           loss=history.history['loss'], val_acc=history.history['val_acc'])


if __name__ == '__main__':
  main()
