"""Times a step without and with an unused variable of 16 MB. Run by tests/behaviour/test_rehearsal.py."""

import json
import sys
import time

import numpy as np
import tensorflow as tf

tpu = tf.contrib.tpu


def seconds(large):
    """The shortest of 60 runs."""
    tf.reset_default_graph()
    w = tf.get_variable("w", [4, 4], initializer=tf.ones_initializer())
    if large:
        tf.get_variable("large", [4 * 1024 * 1024], initializer=tf.zeros_initializer())

    def step(x):
        loss = tf.reduce_sum(tf.square(tf.matmul(x, w)))
        optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(1e-3))
        return loss, optimizer.minimize(loss)

    train = tpu.shard(step, [tf.constant(np.ones([8, 4], "float32"))], num_shards=8)
    times = []
    with tf.Session() as sess:
        sess.run(tpu.initialize_system())
        sess.run(tf.global_variables_initializer())
        for _ in range(60):
            start = time.perf_counter()
            sess.run(train)
            times.append(time.perf_counter() - start)
    return min(times)


with open(sys.argv[1], "w") as file:
    json.dump([seconds(False), seconds(True)], file)
