"""Tests that start TensorFlow: one process in the TF 1 graph world, with eight logical CPU devices."""

from __future__ import annotations

import os

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest

from tpucompat.runtime import rounding

# The tests compare numbers: exact mode, for this process and those that it starts.
os.environ.update(rounding.EXACT)

from tpucompat.engines import session

session.enter_graph_mode()

import tensorflow as tf  # noqa: E402  (the Keras generation is chosen before)

tf.compat.v1.enable_resource_variables()  # as with the cores that the tests give themselves
TF1 = tf.__version__.startswith("1.")
CORES = 8

if hasattr(tf, "config"):  # from 1.14 on
    if hasattr(tf.config, "set_logical_device_configuration"):
        config, split, device = tf.config, "set_logical_device_configuration", "LogicalDevice"
    else:  # up to 2.0 they have these names only
        config, split, device = (
            tf.config.experimental,
            "set_virtual_device_configuration",
            "VirtualDevice",
        )
    getattr(config, split)(
        config.list_physical_devices("CPU")[0],
        [getattr(config, device + "Configuration")() for _ in range(CORES)],
    )


@pytest.fixture(autouse=True)
def fresh_graph():
    """Every test has a default graph of its own."""
    tf.compat.v1.reset_default_graph()
    yield
    tf.compat.v1.reset_default_graph()


@pytest.fixture
def strategy_of():
    """Makes the strategy for N replicas: the default one, or MirroredStrategy on logical CPUs."""
    if TF1:
        pytest.skip("the strategy engine needs TensorFlow 2")
    from tpucompat.tf import private

    made = {}

    def make(replicas):
        if replicas not in made:
            with private.eager_mode():
                made[replicas] = (
                    # Collectives, its default, are for one set of devices in a process.
                    tf.distribute.MirroredStrategy(
                        [f"/cpu:{core}" for core in range(replicas)],
                        cross_device_ops=tf.distribute.ReductionToOneDevice(),
                    )
                    if replicas > 1
                    else tf.distribute.get_strategy()
                )
        return made[replicas]

    return make
