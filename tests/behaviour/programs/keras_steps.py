"""keras_to_tpu_model with ModelCheckpoint, which goes on from the newest file: keras_steps.py FOLDER STEPS."""

import glob
import os
import sys
import time

import numpy as np
import tensorflow as tf

folder, steps = sys.argv[1], int(sys.argv[2])
X = np.random.RandomState(1).rand(64, 6).astype("float32")
Y = np.sin(X.sum(1, keepdims=True))


class Say(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(epoch, "%.9g" % logs["loss"], flush=True)
        time.sleep(0.05)


model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(16, activation="tanh", input_shape=(6,), kernel_initializer="ones"),
        tf.keras.layers.Dense(1, kernel_initializer="ones"),
    ]
)
first = 0
for name in sorted(glob.glob(os.path.join(folder, "weights.*.h5")), reverse=True):
    try:
        model.load_weights(name)
        first = int(name.split(".")[-2])
        break
    except OSError:  # it was being written
        pass
resolver = tf.contrib.cluster_resolver.TPUClusterResolver("grpc://" + os.environ["COLAB_TPU_ADDR"])
tpu_model = tf.contrib.tpu.keras_to_tpu_model(
    model, strategy=tf.contrib.tpu.TPUDistributionStrategy(resolver)
)
tpu_model.compile(optimizer=tf.train.GradientDescentOptimizer(0.05), loss="mse")
save = tf.keras.callbacks.ModelCheckpoint(
    os.path.join(folder, "weights.{epoch:05d}.h5"), save_weights_only=True, period=5
)
tpu_model.fit(
    X,
    Y,
    batch_size=64,
    epochs=steps,
    initial_epoch=first,
    shuffle=False,
    verbose=0,
    callbacks=[Say(), save],
)
