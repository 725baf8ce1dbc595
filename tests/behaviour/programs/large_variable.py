"""Times a step without and with an unused variable of 16 MB. Run by tests/behaviour/test_rehearsal.py."""

import json
import sys
import time

import numpy as np
import tensorflow as tf

tpu = tf.contrib.tpu


def runner(large):
    """A Session, and the step that it is to run."""
    with tf.Graph().as_default() as graph:
        w = tf.get_variable("w", [4, 4], initializer=tf.ones_initializer())
        if large:
            tf.get_variable("large", [4 * 1024 * 1024], initializer=tf.zeros_initializer())

        def step(x):
            loss = tf.reduce_sum(tf.square(tf.matmul(x, w)))
            optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(1e-3))
            return loss, optimizer.minimize(loss)

        train = tpu.shard(step, [tf.constant(np.ones([8, 4], "float32"))], num_shards=8)
        sess = tf.Session(graph=graph)
        sess.run(tpu.initialize_system())
        sess.run(tf.global_variables_initializer())
    return sess, train


runners = [runner(large) for large in (False, True)]
shortest = [float("inf")] * 2
for _ in range(100):  # in turns: what else the machine does slows both down
    for index, (session, operation) in enumerate(runners):
        start = time.perf_counter()
        session.run(operation)
        shortest[index] = min(shortest[index], time.perf_counter() - start)

with open(sys.argv[1], "w") as file:
    json.dump(shortest, file)
