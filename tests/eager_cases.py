"""Keras after ``tf.enable_eager_execution()``: a script for TensorFlow 1.15, which prints its numbers.

PYTHON_OF_1.15 tests/eager_cases.py > tests/data/eager_tf115.json
"""

import json
import sys

import numpy as np
import tensorflow as tf

tf.enable_eager_execution()

random = np.random.RandomState(0)
rows = random.rand(64, 4).astype(np.float32)
labels = (rows.sum(1) > 2).astype(np.int32)
keras = tf.keras
found = {"eager": tf.executing_eagerly()}


def network():
    model = keras.Sequential(
        [
            keras.layers.Dense(8, use_bias=False, input_shape=(4,)),
            keras.layers.BatchNormalization(),
            keras.layers.Activation("relu"),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )
    state = np.random.RandomState(1)
    model.set_weights([np.abs(state.randn(*each.shape)) * 0.3 for each in model.get_weights()])
    return model


OPTIMIZERS = {
    **{name: name for name in ("adam", "sgd", "rmsprop", "adagrad", "adadelta", "nadam")},
    "Adam with decay": keras.optimizers.Adam(lr=0.01, decay=0.1),
    "AdamOptimizer": tf.train.AdamOptimizer(0.01),
}
for name, optimizer in OPTIMIZERS.items():
    model = network()
    model.compile(optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(rows, labels, batch_size=16, epochs=3, shuffle=False, verbose=0).history
    found[name] = {key: [float(each) for each in values] for key, values in history.items()}
    found[name]["evaluate"] = [float(each) for each in model.evaluate(rows, labels, verbose=0)]
    found[name]["predict"] = model.predict(rows)[:, 0].astype(float).tolist()

model, optimizer, losses = network(), tf.train.GradientDescentOptimizer(0.1), []
for some, truth in tf.data.Dataset.from_tensor_slices((rows, labels)).batch(16):
    with tf.GradientTape() as tape:
        found_ = model(some, training=True)
        loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(truth, found_))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    losses.append(float(loss))
found["a loop of its own"] = {"loss": losses}

connected = keras.layers.Input((4,))
two = keras.Model(connected, [keras.layers.Lambda(lambda x: x * 2)(connected), connected])
found["connected"] = {"predict": np.concatenate(two.predict(rows[:2])).astype(float).tolist()}

sys.stdout.write(json.dumps(found) + "\n")
