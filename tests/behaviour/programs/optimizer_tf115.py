"""Trains with TensorFlow 1.15 itself: ``optimizer_tf115.py FOLDER FORM OPTIMIZER [CHECKPOINT]``.

FORM is "train" (tf.train and a Saver), "h5" or "tf" (tf.keras, a whole model or weights in TensorFlow's format).
Without a checkpoint it trains, saves at FOLDER/FORM-OPTIMIZER and prints the losses of the next steps; with one it
restores that, and prints the losses of the next steps.
"""

import json
import os
import sys

import numpy as np
import tensorflow as tf

folder, form, name = sys.argv[1:4]
checkpoint = sys.argv[4] if len(sys.argv) > 4 else None
data = np.load(os.path.join(folder, "data.npz"))
layers = ("hidden", "other", "logits")
tf.compat.v1.logging.set_verbosity("ERROR")

if form == "train":
    y = tf.constant(data["x"])
    for layer in layers:
        with tf.variable_scope(layer, use_resource=True):
            y = tf.matmul(y, tf.get_variable("kernel", initializer=data[layer + "_kernel"]))
            y += tf.get_variable("bias", initializer=data[layer + "_bias"])
        y = y if layer == layers[-1] else tf.tanh(y)
    loss = tf.reduce_mean(tf.square(y - data["y"]))
    optimizer = {
        "Adam": lambda: tf.train.AdamOptimizer(0.01),
        "SGD": lambda: tf.train.MomentumOptimizer(0.05, 0.9),
    }[name]()
    step = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    session = tf.Session()
    saver = tf.train.Saver()
    session.run(tf.global_variables_initializer())

    def one():
        value = float(session.run(loss))
        session.run(step)
        return value

    def save(path):
        saver.save(session, path)

    if checkpoint:
        saver.restore(session, checkpoint)
else:
    tf.keras.backend.clear_session()
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(
                len(data[layer + "_bias"]),
                activation=None if layer == layers[-1] else "tanh",
                name=layer,
                input_shape=(5,),
            )
            for layer in layers
        ]
    )
    optimizer = {
        "Adam": lambda: tf.keras.optimizers.Adam(0.01, epsilon=1e-8),
        "SGD": lambda: tf.keras.optimizers.SGD(0.05, momentum=0.9),
    }[name]()
    model.compile(optimizer, "mean_squared_error")
    model.set_weights([data[layer + end] for layer in layers for end in ("_kernel", "_bias")])

    def one():
        return float(model.train_on_batch(data["x"], data["y"]))

    def save(path):
        if form == "h5":
            model.save(path + ".h5")
        else:
            model.save_weights(path, save_format="tf")


if not checkpoint:
    for _ in range(7):
        one()
    save(os.path.join(folder, "{}-{}".format(form, name)))
print(json.dumps([one() for _ in range(10)]))
