"""Embedding tables of a TPU on one and on two cores, and the update rules of their optimizers."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import targets
import tensorflow as tf1

from tpucompat.base.errors import BadValueError
from tpucompat.idioms.embedding import config

tf = tf1.compat.v1

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TF2 = not tf1.__version__.startswith("1.")


@pytest.mark.skipif(not TF2, reason="cores without a TPU need TensorFlow 2")
@pytest.mark.parametrize("cores", [1, 2])
def test_tables_train_as_columns_without_a_tpu(cores, tmp_path):
    out = tmp_path / "out.json"
    environment = {**os.environ, "PYTHONPATH": ROOT, **targets.settings(cores)}
    for name in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS", "PLAIN_TENSORFLOW"):
        environment.pop(name, None)
    ran = subprocess.run(
        [sys.executable, os.path.join(HERE, "embedding_cases.py"), str(out)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout.decode(errors="replace")[-3000:]
    got = json.loads(out.read_text())
    assert sorted(got["tables"]) == sorted(got["columns"])
    for name, value in got["columns"].items():
        # Values of the order of 1 in single precision, sums in another order.
        np.testing.assert_allclose(got["tables"][name], value, rtol=2e-6, atol=2e-6, err_msg=name)


# Each beside TensorFlow's own optimizer with the same slots; Adam as its formula is written in
# optimization_parameters.proto, which leaves the correction of the first steps to the learning rate.
OPTIMIZERS = {
    "sgd": (
        config.StochasticGradientDescentParameters(0.1),
        lambda: tf.train.GradientDescentOptimizer(0.1),
    ),
    "adagrad": (config.AdagradParameters(0.1, 0.2), lambda: tf.train.AdagradOptimizer(0.1, 0.2)),
    "proximal adagrad": (
        config.ProximalAdagradParameters(0.1, 0.2, 0.05, 0.3),
        lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.2, 0.05, 0.3),
    ),
    "ftrl": (
        config.FtrlParameters(0.1, -0.5, 0.2, 0.05, 0.3),
        lambda: tf.train.FtrlOptimizer(0.1, -0.5, 0.2, 0.05, 0.3),
    ),
    "momentum": (
        config.MomentumParameters(0.1, 0.9),
        lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    ),
    "nesterov": (
        config.MomentumParameters(0.1, 0.9, use_nesterov=True),
        lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    ),
    "rmsprop": (
        config.RMSPropParameters(0.1, 0.8, 0.9, 1e-3),
        lambda: tf.train.RMSPropOptimizer(0.1, 0.8, 0.9, 1e-3),
    ),
}


@pytest.mark.skipif(not TF2, reason="the rules are for TensorFlow 2's cores")
@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_update_rules_are_those_of_tensorflow(name):
    from tpucompat.idioms.embedding import optimizers

    wanted, theirs = OPTIMIZERS[name]
    start = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    gradients = [np.float32(np.random.RandomState(step).randn(4, 3)) for step in range(3)]
    slots = optimizers.optimizer_of(wanted).slots
    own = [tf.constant(start)] + [
        tf.fill([4, 3], np.float32(getattr(wanted, slot.initial) if slot.initial else 0))
        for slot in slots
    ]
    if name == "rmsprop":
        own[1] = tf.ones([4, 3])  # TensorFlow's begins with ones, the hardware's with zeros
    touched = tf.constant([[True], [True], [False], [True]])
    variable = tf.Variable(start)
    optimizer = theirs()
    gradient = tf.placeholder(tf.float32, [4, 3])
    update = optimizer.apply_gradients([(gradient, variable)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for one in gradients:
            session.run(update, {gradient: one})
            new, kept = optimizers.updated(wanted, 0.1, own[0], own[1:], tf.constant(one), touched)
            own = [new, *kept]
        expected, got = session.run([variable, own[0]])
    rows = [0, 1, 3]
    # Three updates in single precision.
    np.testing.assert_allclose(got[rows], expected[rows], rtol=2e-6, atol=2e-6)
    np.testing.assert_array_equal(got[2], start[2])


@pytest.mark.skipif(not TF2, reason="the rules are for TensorFlow 2's cores")
def test_adam_decay_and_clipping():
    from tpucompat.idioms.embedding import optimizers

    wanted = config.AdamParameters(
        0.1, 0.8, 0.9, 1e-2, weight_decay_factor=0.5, clip_weight_max=0.4, clip_gradient_max=1.0
    )
    value, gradient = np.float32([[1.0, -2.0]]), np.float32([[3.0, -1.0]])
    new, (m, v) = optimizers.updated(
        wanted, 0.1, tf.constant(value), [tf.zeros([1, 2])] * 2, tf.constant(gradient), [[True]]
    )
    clipped = np.minimum(gradient, 1.0)
    by_hand = 0.2 * clipped, 0.1 * clipped**2
    expected = np.minimum(value / 2 - 0.1 * by_hand[0] / np.sqrt(by_hand[1] + 1e-4), 0.4)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run([m, v]), by_hand, rtol=1e-6)
        np.testing.assert_allclose(session.run(new), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: config.AdagradParameters(0.1, 0),
        lambda: config.AdamParameters(0.1, beta1=1.0),
        lambda: config.AdamParameters(0.1, lazy_adam=False, use_gradient_accumulation=False),
        lambda: config.FtrlParameters(0.1, learning_rate_power=0.5),
        lambda: config.StochasticGradientDescentParameters(
            0.1, use_gradient_accumulation=False, clip_gradient_min=0.0
        ),
        lambda: config.TableConfig(0, 4),
        lambda: config.TableConfig(4, 4, combiner="max"),
        lambda: config.TableConfig(4, 4, learning_rate=0.1, learning_rate_fn=lambda step: 0.1),
        lambda: config.FeatureConfig("table", max_sequence_length=-1),
    ],
)
def test_what_does_not_fit_is_refused(make):
    with pytest.raises(BadValueError, match="TPU319"):
        make()
