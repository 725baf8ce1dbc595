"""What standalone Keras and the Keras of TensorFlow 1.x had, through the old namespace, in one script."""

from __future__ import annotations

import json
import os
import subprocess
import sys

SCRIPT = """
import json
import numpy as np
import tensorflow as tf
import keras
import keras.backend.tensorflow_backend as KTF
from keras import backend as K
from keras.engine.topology import Layer, InputSpec
from keras.layers.advanced_activations import LeakyReLU
from keras.layers.convolutional import Conv2D
from keras.layers.core import Dense, Lambda
from keras.layers.merge import concatenate
from keras.layers.normalization import BatchNormalization
from keras.layers.recurrent import LSTM
from keras.models import Sequential
from keras.objectives import mean_squared_error
from keras.optimizers import Adam
from keras.utils import multi_gpu_model, np_utils
from keras.utils.np_utils import to_categorical
from keras.utils.training_utils import multi_gpu_model as same
from tensorflow.python.keras.layers import Dense as PrivateDense
from tensorflow.python.keras.engine.base_layer import Layer as PrivateLayer
from tensorflow.contrib.keras import layers as contrib_layers
from tensorflow.keras.models import Model

checks = {}
checks["one keras"] = Dense is PrivateDense is contrib_layers.Dense is tf.keras.layers.Dense
checks["one layer"] = Layer is PrivateLayer is tf.keras.layers.Layer
checks["one multi_gpu_model"] = multi_gpu_model is same
checks["one session"] = KTF.get_session is K.get_session
checks["ordering"] = K.image_dim_ordering() == "tf"
checks["one tensorflow"] = K.tf is tf
checks["lstm of the graph world"] = LSTM is tf.keras.layers.LSTM

KTF.set_session(tf.Session(config=tf.ConfigProto(allow_soft_placement=True)))
inputs = tf.keras.layers.Input((3,))  # tf.keras and keras mixed in one model
model = Sequential([keras.layers.InputLayer((3,)), tf.keras.layers.Dense(2, activation="softmax")])
model.compile(Adam(lr=0.01, decay=0.1), loss=mean_squared_error, metrics=["accuracy"])
x, y = np.ones((8, 3)), to_categorical(np.arange(8) % 2, 2)
history = model.fit(x, y, epochs=1, verbose=0, validation_split=0.5)
checks["history"] = sorted(history.history) == ["acc", "loss", "val_acc", "val_loss"]
checks["predict_classes"] = model.predict_classes(x).shape == (8,)
checks["predict_proba"] = model.predict_proba(x).shape == (8, 2)
checks["multi_gpu_model"] = multi_gpu_model(model, gpus=4).predict(x).shape == (8, 2)
checks["old aliases"] = np.zeros(2, dtype=np.bool).dtype == bool and np.int is int
print("CHECKS " + json.dumps({name: bool(value) for name, value in checks.items()}))
"""


def test_old_keras(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", "--quiet", str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        env=dict(os.environ, CUDA_VISIBLE_DEVICES="-1"),
        cwd=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("CHECKS ")]
    checks = json.loads(lines[0][len("CHECKS ") :])
    assert len(checks) == 12
    assert [name for name, passed in checks.items() if not passed] == []
