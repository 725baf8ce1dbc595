"""Learning rates of ``tf.keras.experimental`` that Keras has removed, beside the functions of ``tf.train``.

The cell of that module is in a program of ``seed_cases.py``, whose numbers are those of TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tensorflow")


@pytest.fixture
def tf():
    import tpucompat.v1 as tf

    with tf.Graph().as_default():
        yield tf


@pytest.mark.parametrize("options", [{}, {"num_periods": 1.5, "alpha": 0.1, "beta": 0.02}])
def test_a_linear_cosine_decay_is_that_of_train(tf, options):
    schedule = tf.keras.experimental.LinearCosineDecay(0.5, 10, **options)
    again = type(schedule).from_config(schedule.get_config())
    steps = (0, 3, 10, 12)
    rates = [[made(tf.constant(s)) for s in steps] for made in (schedule, again)]
    rates.append([tf.train.linear_cosine_decay(0.5, tf.constant(s), 10, **options) for s in steps])
    with tf.Session() as session:
        ours, theirs, expected = session.run(rates)
    np.testing.assert_allclose(ours, expected, rtol=1e-6)
    np.testing.assert_array_equal(theirs, ours)


def test_noise_falls_with_the_steps(tf):
    """2000 draws: six deviations of their mean and of their spread."""
    tf.set_random_seed(1)
    schedule = tf.keras.experimental.NoisyLinearCosineDecay(1.0, 10, 0.04, 1.0, beta=0.0)
    plain = tf.keras.experimental.LinearCosineDecay(1.0, 10, beta=0.0)
    for step in (0, 4):
        rates = [schedule(tf.constant(step)), plain(tf.constant(step))]
        wave = 0.5 * (1 + np.cos(np.pi * step / 10))
        with tf.Session() as session:
            drawn, expected = np.array([session.run(rates) for _ in range(2000)]).T
        spread = wave * np.sqrt(0.04 / (1 + step))
        assert abs(drawn.mean() - expected[0]) < 6 * spread / np.sqrt(2000)
        assert abs(drawn.std() / spread - 1) < 6 / np.sqrt(4000)
