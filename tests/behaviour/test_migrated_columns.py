"""Estimators and graphs without a TPU: arrays as input, vocabularies, Datasets by their structure."""

from __future__ import annotations

import pytest
from test_migrated_estimators import printed_by_both

COLUMNS = """\
import itertools, os, sys
import numpy as np
import pandas as pd
import tensorflow as tf

with tf.Session('') as session:
  print('some', len(session.list_devices()) > 0)

def model_fn(features, labels, mode, params):
  net = tf.feature_column.input_layer(features, params['columns'])
  net = tf.layers.dense(net, 4, activation=tf.nn.relu, kernel_initializer=tf.constant_initializer(0.1))
  out = tf.layers.dense(net, 1, kernel_initializer=tf.constant_initializer(0.2))[:, 0]
  if mode == tf.estimator.ModeKeys.PREDICT:
    return tf.estimator.EstimatorSpec(mode, predictions={'out': out}, export_outputs={
        'first': tf.estimator.export.PredictOutput({'out': out})})
  loss = tf.losses.mean_squared_error(labels, out)
  if mode == tf.estimator.ModeKeys.EVAL:
    return tf.estimator.EstimatorSpec(mode, loss=loss)
  train_op = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
  return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

def serving():
  given = {'size': tf.placeholder(tf.float32, [None]), 'kind': tf.placeholder(tf.string, [None])}
  return tf.estimator.export.ServingInputReceiver(given, given)

random = np.random.RandomState(0)
data = pd.DataFrame({'size': random.rand(20), 'kind': random.choice(['a', 'b', 'c'], 20)})
target = pd.Series((data['size'] + (data['kind'] == 'a')).values.astype('float32'))
with open('kinds.txt', 'w') as file:
  file.write('a\\nb\\n')
columns = [tf.feature_column.numeric_column('size')] + [
    tf.feature_column.indicator_column(one) for one in (
        tf.feature_column.categorical_column_with_vocabulary_list('kind', ['a', 'b', 'c']),)]
est = tf.estimator.Estimator(model_fn, sys.argv[1], params={'columns': columns})
est.train(tf.estimator.inputs.pandas_input_fn(data, target, 8, num_epochs=None, shuffle=False), steps=5)
est.train(tf.estimator.inputs.pandas_input_fn(data, target, batch_size=8, num_epochs=2, shuffle=False))
arrays = {'size': data['size'].values, 'kind': data['kind'].values.astype('object')}
given = tf.estimator.inputs.numpy_input_fn(arrays, target.values, batch_size=6, shuffle=False)
print(sorted((name, float(value)) for name, value in est.evaluate(given).items()))
given = tf.estimator.inputs.numpy_input_fn(x=arrays, num_epochs=1, shuffle=False)
print([float(one['out']) for one in itertools.islice(est.predict(given), 3)])
folder = est.export_savedmodel(sys.argv[1] + '/export', serving)
predict = tf.contrib.predictor.from_saved_model(folder)
print(predict({'size': [0.5, 0.25, 0.], 'kind': ['a', 'c', 'none']})['out'])

def count(folder):
  checkpoint = tf.train.latest_checkpoint(folder)
  tf.reset_default_graph()
  with tf.Session() as session:
    saver = tf.train.import_meta_graph(checkpoint + '.meta')
    saver.restore(session, checkpoint)
    values = session.run(tf.trainable_variables())
  return sum(one.size for one in values), [float(one.sum()) for one in values]

print('count', count(sys.argv[1]), count(sys.argv[1]))
"""


@pytest.mark.long
def test_columns_with_vocabularies_fed_from_arrays(tmp_path):
    printed, _ = printed_by_both(tmp_path, COLUMNS)
    assert printed[:2] == ["some", "True"] and "count" in printed


ITERATORS = """\
import tensorflow as tf

train = tf.data.Dataset.range(20).map(lambda x: tf.to_float(x) / 10.).repeat()
test = tf.data.Dataset.range(5).map(tf.to_float)
handle = tf.placeholder(tf.string, shape=[])
element = tf.data.Iterator.from_string_handle(handle, train.output_types, train.output_shapes).get_next()
steps, checks = train.make_one_shot_iterator(), test.make_initializable_iterator()
either = tf.data.Iterator.from_structure(test.output_types, test.output_shapes)
following, begin = either.get_next(), either.make_initializer(test)
w = tf.get_variable('w', initializer=0.5)
loss = tf.square(w * element - 2 * element)
step = tf.train.RMSPropOptimizer(0.05).minimize(loss)
with tf.Session() as session:
  session.run(tf.global_variables_initializer())
  first, second = session.run([steps.string_handle(), checks.string_handle()])
  for _ in range(2):
    for _ in range(4):
      session.run(step, {handle: first})
    session.run(checks.initializer)
    print('loss', float(sum(session.run(loss, {handle: second}) for _ in range(5))))
  session.run(begin)
  print('next', [float(session.run(following)) for _ in range(2)])
"""


def test_iterators_of_several_datasets(tmp_path):
    printed, _ = printed_by_both(tmp_path, ITERATORS)
    assert printed.count("loss") == 2 and printed.count("next") == 1
