"""Gives the cores unequal parts of a batch. Run by tests/behaviour/test_rehearsal.py."""

import numpy as np
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.experimental.TPUStrategy(resolver)
rows = tf.data.Dataset.from_tensor_slices(np.ones([60, 4], 'float32')).batch(28)
data = strategy.experimental_distribute_dataset(rows)


@tf.function
def total(iterator):
    return strategy.run(tf.reduce_sum, (next(iterator),))


print(total(iter(data)))
