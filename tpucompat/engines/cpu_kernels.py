"""Operations that XLA compiles for a TPU and not for a CPU, written with others.

``tpucompat/engines/xla_operations.json`` lists them (``not_on_cpu``). The sums and exchanges of the cores are
meetings (``collectives.py``); what a program of TensorFlow 1 may hold besides is the gradient of a picture
that was made larger or smaller by the nearest point (``UpSampling2D``, ``resize_nearest_neighbor``).
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.engines import graphdef
from tpucompat.tf import private


def _nearest_gradient(node: Any) -> tuple[list[Any], Any]:
    """The gradient of ResizeNearestNeighbor: every point gets the sum of those that were made of it.

    Rows and columns are summed by a matrix of zeros and ones each, in which the points of the result are those
    of ``resize_nearest_neighbor_op.cc`` and ``image_resizer_state.h``.
    """
    kind = tf.as_dtype(node.attr["T"].type)
    gradient, sizes = tf.placeholder(kind, [None] * 4), tf.placeholder(tf.int32, [2])
    corners = node.attr["align_corners"].b
    halves = node.attr["half_pixel_centers"].b

    def matrix(axis: int) -> Any:
        given, wanted = tf.shape(gradient)[1 + axis], sizes[axis]
        points = tf.cast(tf.range(given), tf.float32) + (0.5 if halves else 0.0)
        ends = 1 if corners else 0
        scale = tf.cast(wanted - ends, tf.float32) / tf.cast(
            tf.maximum(given - ends, 1), tf.float32
        )
        # Halves are rounded up, as C does; tf.round gives the even one.
        source = tf.floor(points * scale + (0.5 if corners else 0.0))
        return tf.one_hot(tf.minimum(tf.cast(source, tf.int32), wanted - 1), wanted, dtype=kind)

    rows = tf.einsum("bpqc,pi->biqc", gradient, matrix(0))
    return [gradient, sizes], tf.einsum("biqc,qj->bijc", rows, matrix(1))


#: Operation -> gives the placeholders and the result of the operations that stand for a node of it.
WRITTEN: Mapping[str, Callable[[Any], tuple[list[Any], Any]]] = {
    "ResizeNearestNeighborGrad": _nearest_gradient
}


def write_out(nodes: Sequence[Any], library: Any) -> dict[str, str]:
    """Lets nodes that XLA cannot compile for a CPU call functions that it can.

    Args:
      nodes: The nodes; they are changed.
      library: The functions that they call; it is changed.

    Returns:
      The functions that have changed and have other names now, since functions are shared by name.
    """
    changed = {
        function.signature.name
        for function in list(library.function)
        if sum(_call(node, library) for node in function.node_def)
    }
    for node in nodes:
        _call(node, library)
    number = graphdef.fresh_number()
    renamed = {name: f"{name}_on_cpu_{number}" for name in graphdef.with_callers(library, changed)}
    graphdef.rename(nodes, library, renamed)
    return renamed


def _call(node: Any, library: Any) -> bool:
    """Makes a node a call; its inputs and its output, ``output``, keep their names."""
    if node.op not in WRITTEN:
        return False
    graph = private.func_graph()("on_cpu")
    with graph.as_default():
        inputs, output = WRITTEN[node.op](node)
    name = f"tpucompat_{node.op}_{graphdef.fresh_number()}"
    library.function.add().CopyFrom(private.function_def(graph, name, inputs, [output]))
    node.op = "PartitionedCall"
    node.attr.clear()
    for attr, tensors in (("Tin", inputs), ("Tout", [output])):
        node.attr[attr].list.type.extend(tensor.dtype.as_datatype_enum for tensor in tensors)
    node.attr["f"].func.name = name
    return True
