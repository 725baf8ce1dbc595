"""Fine-tunes a small transformer on pairs of sentences, on the TPU of a Colab notebook.

Written for TensorFlow 2.1, in 2020: ``model.fit``, or a loop of its own (--loop custom). In a Colab notebook
with a TPU runtime:

    !python bert_fine_tuning.py --loop custom --model-dir gs://my-models/pairs
"""

import argparse
import json
import os

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument('--loop', choices=['fit', 'custom'], default='fit')
parser.add_argument('--model-dir', help='where checkpoints go')
parser.add_argument('--report', help='.json to write the losses to')
parser.add_argument('--batch-size', type=int, default=64, help='for all cores together')
parser.add_argument('--steps', type=int, default=100)
parser.add_argument('--vocabulary', type=int, default=100)
parser.add_argument('--length', type=int, default=16)
parser.add_argument('--width', type=int, default=32)
parser.add_argument('--heads', type=int, default=4)
parser.add_argument('--layers', type=int, default=2)
parser.add_argument('--learning-rate', type=float, default=1e-3)
args = parser.parse_args()

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
    tpu='grpc://' + os.environ['COLAB_TPU_ADDR'])
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.experimental.TPUStrategy(resolver)


def load_data(count=256):
  # The second half of a pair of the kind 1 is the first one, turned round.
  rng = np.random.RandomState(0)
  half = args.length // 2
  first = rng.randint(1, args.vocabulary, (count, half))
  second = rng.randint(1, args.vocabulary, (count, half))
  labels = rng.randint(0, 2, count)
  second = np.where(labels[:, None] == 1, first[:, ::-1], second)
  return np.concatenate([first, second], 1).astype(np.int32), labels.astype(np.int32)


class Attention(tf.keras.layers.Layer):

  def __init__(self, width, heads, **kwargs):
    super(Attention, self).__init__(**kwargs)
    self.width, self.heads = width, heads
    self.query = tf.keras.layers.Dense(width, name='query')
    self.key = tf.keras.layers.Dense(width, name='key')
    self.value = tf.keras.layers.Dense(width, name='value')
    self.out = tf.keras.layers.Dense(width, name='out')

  def split(self, x):
    shape = [-1, x.shape[1], self.heads, self.width // self.heads]
    return tf.transpose(tf.reshape(x, shape), [0, 2, 1, 3])

  def call(self, x):
    query, key, value = [self.split(layer(x)) for layer in (self.query, self.key, self.value)]
    scores = tf.matmul(query, key, transpose_b=True) / np.sqrt(self.width // self.heads)
    y = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
    return self.out(tf.reshape(y, [-1, x.shape[1], self.width]))


class Encoder(tf.keras.layers.Layer):

  def __init__(self, width, heads, **kwargs):
    super(Encoder, self).__init__(**kwargs)
    self.attention = Attention(width, heads, name='attention')
    self.norm1 = tf.keras.layers.LayerNormalization(epsilon=1e-6, name='norm1')
    self.wide = tf.keras.layers.Dense(4 * width, activation='elu', name='wide')
    self.narrow = tf.keras.layers.Dense(width, name='narrow')
    self.norm2 = tf.keras.layers.LayerNormalization(epsilon=1e-6, name='norm2')

  def call(self, x):
    x = self.norm1(x + self.attention(x))
    return self.norm2(x + self.narrow(self.wide(x)))


def build_model():
  ids = tf.keras.Input((args.length,), dtype=tf.int32)
  x = tf.keras.layers.Embedding(args.vocabulary, args.width, name='words')(ids)
  for index in range(args.layers):
    x = Encoder(args.width, args.heads, name='encoder_%d' % index)(x)
  x = tf.keras.layers.Flatten()(x)
  return tf.keras.Model(ids, tf.keras.layers.Dense(2, name='classifier')(x))


ids, labels = load_data()
train = tf.data.Dataset.from_tensor_slices((ids, labels)).repeat()
train = train.batch(args.batch_size, drop_remainder=True)
test = tf.data.Dataset.from_tensor_slices((ids, labels)).batch(args.batch_size, drop_remainder=True)

with strategy.scope():
  model = build_model()
  optimizer = tf.keras.optimizers.Adam(args.learning_rate, epsilon=1e-6)
  loss_object = tf.keras.losses.SparseCategoricalCrossentropy(
      from_logits=True, reduction=tf.keras.losses.Reduction.NONE)
  train_loss = tf.keras.metrics.Mean(name='train_loss')
  accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name='accuracy')


def custom_loop():

  def step_fn(inputs):
    x, y = inputs
    with tf.GradientTape() as tape:
      logits = model(x, training=True)
      losses = loss_object(y, logits)
      loss = tf.nn.compute_average_loss(losses, global_batch_size=args.batch_size)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    train_loss.update_state(losses)
    return loss

  def test_fn(inputs):
    x, y = inputs
    accuracy.update_state(y, model(x, training=False))

  @tf.function
  def train_step(iterator):
    per_replica = strategy.experimental_run_v2(step_fn, args=(next(iterator),))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)

  @tf.function
  def test_step(iterator):
    strategy.experimental_run_v2(test_fn, args=(next(iterator),))

  checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
  iterator = iter(strategy.experimental_distribute_dataset(train))
  losses = []
  for step in range(args.steps):
    losses.append(float(train_step(iterator)))
    if (step + 1) % 10 == 0:
      print('step %d, loss %.4f, mean %.4f' % (step + 1, losses[-1], train_loss.result().numpy()))
      train_loss.reset_states()
  if args.model_dir:
    checkpoint.save(os.path.join(args.model_dir, 'ckpt'))
  iterator = iter(strategy.experimental_distribute_dataset(test))
  for _ in range(len(labels) // args.batch_size):
    test_step(iterator)
  return losses, float(accuracy.result())


def keras_loop():
  model.compile(
      optimizer=optimizer,
      loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
      metrics=['accuracy'])
  history = model.fit(train, steps_per_epoch=args.steps, epochs=1, verbose=2)
  if args.model_dir:
    tf.train.Checkpoint(model=model).save(os.path.join(args.model_dir, 'ckpt'))
  return history.history['loss'], float(model.evaluate(test, verbose=0)[1])


losses, result = custom_loop() if args.loop == 'custom' else keras_loop()
print('accuracy %.4f' % result)
probabilities = tf.nn.softmax(model(ids[:10], training=False)).numpy()
if args.report:
  with open(args.report, 'w') as f:
    json.dump({'loss': [float(loss) for loss in losses], 'accuracy': result,
               'probabilities': probabilities.tolist()}, f)
