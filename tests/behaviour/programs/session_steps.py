"""tf.contrib.tpu.shard and a Saver, which goes on from the newest checkpoint: session_steps.py FOLDER STEPS."""

import os
import sys
import time

import numpy as np
import tensorflow as tf

tpu = tf.contrib.tpu
folder, steps = sys.argv[1], int(sys.argv[2])
X = np.random.RandomState(1).rand(64, 6).astype("float32")
Y = np.sin(X.sum(1, keepdims=True))


def step(x, y):
    w = tf.get_variable("w", [6, 1], initializer=tf.zeros_initializer(), use_resource=True)
    loss = tf.losses.mean_squared_error(y, tf.matmul(x, w))
    optimizer = tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(0.05, 0.9))
    return tpu.cross_replica_sum(loss), optimizer.minimize(
        loss, tf.train.get_or_create_global_step()
    )


losses = tpu.shard(step, [tf.constant(X), tf.constant(Y)], num_shards=8)
saver = tf.train.Saver(max_to_keep=3)
with tf.Session("grpc://" + os.environ["COLAB_TPU_ADDR"]) as session:
    session.run(tpu.initialize_system())
    newest = tf.train.latest_checkpoint(folder)
    if newest:
        saver.restore(session, newest)
    else:
        session.run(tf.global_variables_initializer())
    for now in range(session.run(tf.train.get_global_step()), steps):
        print(now, "%.9g" % session.run(losses)[0][0], flush=True)
        time.sleep(0.05)
        if (now + 1) % 5 == 0:
            saver.save(session, os.path.join(folder, "model"), global_step=now + 1)
    session.run(tpu.shutdown_system())
