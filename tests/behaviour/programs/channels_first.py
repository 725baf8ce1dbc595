"""A Keras model whose layers have channels_first, trained for two steps."""

import os

import numpy as np
import tensorflow as tf

layers = tf.keras.layers
first = {"data_format": "channels_first"}
model = tf.keras.Sequential(
    [
        layers.Conv2D(4, 3, padding="same", input_shape=(3, 8, 8), **first),
        layers.BatchNormalization(axis=1),
        layers.MaxPooling2D(**first),
        layers.Conv2DTranspose(4, 3, strides=2, padding="same", **first),
        layers.AveragePooling2D(**first),
        layers.Flatten(),
        layers.Dense(5, activation="softmax"),
    ]
)
model.compile(tf.train.AdamOptimizer(1e-2), "sparse_categorical_crossentropy")
address = "grpc://" + os.environ["COLAB_TPU_ADDR"]
model = tf.contrib.tpu.keras_to_tpu_model(
    model,
    strategy=tf.contrib.tpu.TPUDistributionStrategy(
        tf.contrib.cluster_resolver.TPUClusterResolver(address)
    ),
)
images = np.random.RandomState(0).rand(16, 3, 8, 8).astype(np.float32)
labels = np.arange(16) % 5
losses = [float(model.train_on_batch(images, labels)) for _ in range(5)]
print("falling" if losses[-1] < losses[0] else losses)
