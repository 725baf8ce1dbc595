"""Gradients of strided 1×1 convolutions in fast mode: oneDNN's end the process, or are wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tpucompat.base.machine import environment

#: The gradient in each of several runs, of pictures that the test draws as the script does.
SCRIPT = """
import json
import numpy as np
import tensorflow as tf

def loss(images, kernel, stride=2):
    strides = [1, stride, stride, 1]
    return tf.reduce_sum(tf.square(tf.nn.conv2d(images, kernel, strides, PADDING, data_format='NHWC')))

draw = np.random.RandomState(0)
images, kernel = draw.randn(3, 16, 16, 3).astype('f'), draw.randn(1, 1, 3, 8).astype('f')
"""
GRAPH = """
seeds = []
for stride in (1, 2):
    tf.reset_default_graph()
    tf.set_random_seed(1)
    fed = tf.placeholder(tf.float32, [3, 16, 16, 3])
    variable = tf.Variable(kernel)
    gradients = tf.gradients(loss(fed, variable, stride), [fed, variable])
    tf.random_uniform([])
    graph = tf.get_default_graph()
    seeds += [each.get_attr('seed2') for each in graph.get_operations() if each.type == 'RandomUniform']
assert seeds[0] == seeds[1], seeds  # a program's later draws are those of 1.15
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    runs = [sess.run(gradients, {fed: images}) for _ in range(30)]
"""
EAGER = """
runs = []
for compiled in (lambda function: function, tf.function):
    @compiled
    def gradients(images, kernel):
        with tf.GradientTape() as tape:
            tape.watch([images, kernel])
            value = loss(images, kernel)
        return tape.gradient(value, [images, kernel])
    runs += [[each.numpy() for each in gradients(tf.constant(images), tf.constant(kernel))] for _ in range(30)]
"""
SHOWN = "print('GRADIENTS ' + json.dumps([[each.tolist() for each in run] for run in runs]))\n"
FAST = {"TF_ENABLE_ONEDNN_OPTS": "1", "TPUCOMPAT_EXACT": "0", "TF_NUM_INTRAOP_THREADS": "2"}


@pytest.mark.skipif((environment().release or (0, 0)) < (2, 9), reason="computes without oneDNN")
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("era, body", [("tf1", GRAPH), ("tf2", EAGER)])
def test_gradients_are_those_of_the_definition(era, body, padding, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("PADDING", repr(padding)) + body + SHOWN)

    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", "--era", era, "--quiet", str(script)],
        stdout=subprocess.PIPE,
        universal_newlines=True,
        env={**os.environ, **FAST},
        timeout=300,
    )

    assert done.returncode == 0
    line = next(each for each in done.stdout.splitlines() if each.startswith("GRADIENTS "))
    draw = np.random.RandomState(0)
    images, kernel = draw.randn(3, 16, 16, 3), draw.randn(1, 1, 3, 8)
    read = images[:, ::2, ::2]
    of_images = np.zeros_like(images)
    of_images[:, ::2, ::2] = 2 * np.einsum("bhwi,io,jo->bhwj", read, kernel[0, 0], kernel[0, 0])
    of_kernel = 2 * np.einsum("bhwi,io,bhwj->jo", read, kernel[0, 0], read)
    # Sums of up to 192 products in single precision, added in another order. A wrong one is off by much more.
    for first, second in json.loads(line.partition(" ")[2]):
        np.testing.assert_allclose(first, of_images, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(second, of_kernel[None, None], rtol=1e-3, atol=1e-3)
