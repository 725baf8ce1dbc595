"""Topologies of three dimensions, and the names of contrib.tpu's private modules."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow

import tpucompat.v1 as tf

# Two chips of two cores; TensorFlow 2 has a third dimension of chips.
MESH, PLACES = [1, 2, 2], [[[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]]]


def test_a_mesh_of_three_dimensions():
    made = tf.contrib.tpu.Topology(mesh_shape=MESH, device_coordinates=PLACES)
    again = tf.contrib.tpu.Topology(serialized=made.serialized())
    np.testing.assert_array_equal(again.mesh_shape, made.mesh_shape)
    np.testing.assert_array_equal(np.array(made.mesh_shape)[[0, 1, -1]], MESH)
    places = np.array(again.device_coordinates)[..., [0, 1, -1]]
    np.testing.assert_array_equal(places, PLACES)


def test_replicas_of_two_cores():
    made = tf.contrib.tpu.Topology(mesh_shape=MESH, device_coordinates=PLACES)
    spread = tf.contrib.tpu.device_assignment(made, computation_shape=[1, 1, 2], num_replicas=2)
    assert (spread.num_replicas, spread.num_cores_per_replica) == (2, 2)
    cores = spread.core_assignment[..., [0, 1, -1]]
    assert {tuple(place) for replica in cores for place in replica} == {
        tuple(place) for place in PLACES[0]
    }


@pytest.mark.skipif(tensorflow.__version__.startswith("1."), reason="has its own modules")
@pytest.mark.parametrize(
    "name",
    [
        "tpu.TPUReplicateContext",
        "tpu_function.check_function_argument_count",
        "tpu_constant._DEFAULT_NUMBER_OF_SHARDS",
        "tpu_embedding.AdagradParameters",
        "tpu_embedding_gradient.create_dummy_table_variables",
    ],
)
def test_private_modules_of_old(name):
    value = tf.contrib.tpu.python.tpu
    for part in name.split("."):
        value = getattr(value, part)
    assert value is not None


@pytest.mark.parametrize("delete", [False, True], ids=["set back", "deleted"])
def test_what_a_script_sets_in_an_old_module_reaches_the_code_behind(delete):
    from tpucompat.idioms.tpu_estimator import source

    old = tf.contrib.tpu.python.tpu.tpu_estimator
    copy = source.load()
    name = "_WRAP_INPUT_FN_INTO_WHILE_LOOP"
    before = getattr(copy, name)
    setattr(old, name, not before)
    assert getattr(copy, name) is not before
    if delete:
        delattr(old, name)
    else:
        setattr(old, name, before)
    assert getattr(copy, name) is before
    assert getattr(old, name) is before
