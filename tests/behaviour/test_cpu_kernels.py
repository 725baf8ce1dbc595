"""What a TPU has and XLA's compiler for a CPU has not is rehearsed by other operations, with its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tpucompat.base.machine import environment

if not environment().has("rehearsal"):
    pytest.skip("a rehearsal needs TensorFlow 2.15", allow_module_level=True)

import tensorflow as tf

from tpucompat.engines import cpu_kernels
from tpucompat.tf import private


def gradient_of(shape, size, corners, halves):
    """A graph with the gradient of a picture that was scaled, its node, and what TensorFlow's kernel gives."""
    given = np.random.RandomState(0).rand(*shape).astype("float32")
    with tf.Graph().as_default() as graph:
        made = tf.raw_ops.ResizeNearestNeighborGrad(
            grads=tf.constant(given), size=size, align_corners=corners, half_pixel_centers=halves
        )
        with tf.compat.v1.Session() as session:
            return graph.as_graph_def(), made.op.name, session.run(made)


def compiled(graph_def, name):
    """What XLA gives."""

    def step():
        private.add_functions(graph_def.library)
        return tf.graph_util.import_graph_def(graph_def, return_elements=[name + ":0"])[0]

    with private.eager_mode():
        return private.plain_function(step, jit_compile=True)().numpy()


@pytest.mark.parametrize(
    ("shape", "size", "corners", "halves"),
    [
        ((2, 6, 8, 3), [3, 4], False, False),  # UpSampling2D
        ((2, 5, 7, 2), [3, 4], False, False),
        ((2, 5, 7, 2), [3, 4], True, False),
        ((1, 5, 7, 2), [3, 4], False, True),
        ((1, 3, 4, 2), [7, 6], False, True),
        ((1, 1, 1, 1), [2, 2], True, False),
    ],
)
def test_the_gradient_of_a_scaled_picture(shape, size, corners, halves):
    graph_def, name, expected = gradient_of(shape, size, corners, halves)
    assert cpu_kernels.write_out(graph_def.node, graph_def.library) == {}
    # A sum is made in another order.
    np.testing.assert_allclose(compiled(graph_def, name), expected, rtol=1e-6)


def test_it_is_written_out_in_functions_too():
    graph_def, name, expected = gradient_of((2, 6, 8, 3), [3, 4], False, False)
    with tf.Graph().as_default() as graph:
        held = private.func_graph()("held")
        with held.as_default():
            (inner,) = tf.graph_util.import_graph_def(graph_def, return_elements=[name + ":0"])
        library = graph.as_graph_def().library
    library.function.add().CopyFrom(private.function_def(held, "held", [], [inner]))
    node = tf.compat.v1.NodeDef(name="call", op="PartitionedCall")
    node.attr["Tin"].list.SetInParent()
    node.attr["Tout"].list.type.append(tf.float32.as_datatype_enum)
    node.attr["f"].func.name = "held"
    renamed = cpu_kernels.write_out([node], library)
    assert list(renamed) == ["held"]
    assert node.attr["f"].func.name == renamed["held"]
    whole = tf.compat.v1.GraphDef(node=[node], library=library, versions=graph_def.versions)
    np.testing.assert_allclose(compiled(whole, "call"), expected, rtol=1e-6)


def test_what_is_written_out_is_what_a_cpu_has_not():
    from tpucompat.engines import xla_operations as operations

    assert set(cpu_kernels.WRITTEN) <= operations.on_tpu_only()
