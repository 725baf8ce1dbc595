"""A trained graph without its masks: the masked weights become constants."""

from __future__ import annotations

from typing import Any, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadValueError


def strip_pruning_vars_fn(input_graph_def: Any, output_node_names: Sequence[str]) -> Any:
    """Replaces the products of weights and masks by their values.

    Args:
      input_graph_def: A GraphDef whose variables are constants.
      output_node_names: Nodes that are wanted.

    Returns:
      A GraphDef without masks and without the weights they were multiplied with.
    """
    masked = [node.name for node in input_graph_def.node if "masked_weight" in node.name]
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(input_graph_def, name="")
        with tf.Session(graph=graph) as session:
            tensors = {name: graph.get_tensor_by_name(name + ":0") for name in masked}
            values = session.run(tensors)
    for name, value in values.items():
        zeros = 100 * float((value == 0).mean())
        tf.logging.info("%s has %d values, %1.2f%% zeros \n", name, value.size, zeros)
    stripped = tf.GraphDef()
    for node in input_graph_def.node:
        made = stripped.node.add()
        if node.name in values:
            made.op, made.name = "Const", node.name
            made.attr["dtype"].CopyFrom(node.attr["T"])
            made.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(values[node.name]))
        else:
            made.CopyFrom(node)
    return tf.graph_util.extract_sub_graph(stripped, list(output_node_names))


def graph_def_from_checkpoint(checkpoint_dir: str, output_node_names: Sequence[str]) -> Any:
    """The graph of the latest checkpoint in a folder, with its variables as constants.

    Args:
      checkpoint_dir: The folder.
      output_node_names: Nodes that are wanted.

    Returns:
      A GraphDef.

    Raises:
      ValueError: If there is no checkpoint.
    """
    path = tf.train.latest_checkpoint(checkpoint_dir)
    if path is None:
        raise BadValueError("TPU103", f"Could not find a checkpoint at: {checkpoint_dir}.")
    saver = tf.train.import_meta_graph(path + ".meta", clear_devices=True)
    with tf.Session() as session:
        saver.restore(session, path)
        return tf.graph_util.convert_variables_to_constants(
            session, tf.get_default_graph().as_graph_def(), list(output_node_names)
        )
