"""Trains on TFRecords in a bucket, on the TPU of a Colab notebook, and saves the model there.

Written for TensorFlow 2.4, in 2021. In a Colab notebook with a TPU runtime:

    !python gcs_tfrecord_training.py --data gs://my-pictures/tfrecords --model gs://my-models/pets
"""

import argparse
import json
import os

import tensorflow as tf

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument('--data', required=True, help='with train-*.tfrec and validation-*.tfrec')
parser.add_argument('--model', help='where to save the model')
parser.add_argument('--size', type=int, default=32)
parser.add_argument('--batch-size', type=int, default=64, help='for all cores together')
parser.add_argument('--epochs', type=int, default=5)
parser.add_argument('--steps-per-epoch', type=int, default=2)
parser.add_argument('--history', help='.json to write the losses to')
args = parser.parse_args()

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
    tpu='grpc://' + os.environ['COLAB_TPU_ADDR'])
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.experimental.TPUStrategy(resolver)
print('replicas:', strategy.num_replicas_in_sync)

AUTO = tf.data.experimental.AUTOTUNE


def read_example(serialized):
  features = {
      'image': tf.io.FixedLenFeature([], tf.string),
      'label': tf.io.FixedLenFeature([], tf.int64),
  }
  example = tf.io.parse_single_example(serialized, features)
  image = tf.io.decode_png(example['image'], channels=3)
  image = tf.cast(image, tf.float32) / 255.0
  # Not -1: a TPU has to know the size ("Reshape's input dynamic size").
  image = tf.reshape(image, [args.size, args.size, 3])
  return image, tf.cast(example['label'], tf.int32)


def get_dataset(part, repeat):
  files = sorted(tf.io.gfile.glob('%s/%s-*.tfrec' % (args.data, part)))
  dataset = tf.data.TFRecordDataset(files, num_parallel_reads=1)
  dataset = dataset.map(read_example, num_parallel_calls=AUTO)
  if repeat:
    dataset = dataset.repeat()
  dataset = dataset.batch(args.batch_size if repeat else 32, drop_remainder=True)
  return dataset.prefetch(AUTO)


def get_model():
  m = tf.keras.Sequential([
      tf.keras.layers.Conv2D(16, 3, activation='elu', input_shape=[args.size, args.size, 3], name='conv1'),
      tf.keras.layers.AveragePooling2D(2),
      tf.keras.layers.Conv2D(32, 3, activation='elu', name='conv2'),
      tf.keras.layers.GlobalAveragePooling2D(),
      tf.keras.layers.Dense(2, activation='softmax', name='kind'),
  ])
  m.compile(
      optimizer=tf.keras.optimizers.Adam(lr=0.002),
      loss='sparse_categorical_crossentropy',
      metrics=['sparse_categorical_accuracy'])
  return m


with strategy.scope():
  m = get_model()

history = m.fit(get_dataset('train', True), steps_per_epoch=args.steps_per_epoch, epochs=args.epochs,
                validation_data=get_dataset('validation', False))
results = m.evaluate(get_dataset('validation', False))
print('accuracy', results[1])
if args.model:
  m.save(args.model)
if args.history:
  with open(args.history, 'w') as f:
    json.dump({name: [float(v) for v in values] for name, values in history.history.items()}, f)
