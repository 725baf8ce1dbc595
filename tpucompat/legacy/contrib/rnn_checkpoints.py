"""``contrib.rnn.python.tools.checkpoint_convert``: TensorFlow 1.0's checkpoints of recurrent cells.

Their variables are called "weights" and "biases"; from 1.2 on the cells ask for "kernel" and "bias". Behaviour
follows tensorflow/contrib/rnn/python/tools/checkpoint_convert.py of TensorFlow 1.15.
"""

from __future__ import annotations

import collections
from typing import Any

import tensorflow.compat.v1 as tf

_SCOPES = (
    *("basic_rnn_cell", "gru_cell", "gru_cell/gates", "gru_cell/candidate", "basic_lstm_cell"),
    *("lstm_cell", "lstm_cell/projection", "output_projection_wrapper", "input_projection_wrapper"),
    *("lstm_block_wrapper", "layer_norm_basic_lstm_cell", "ugrnn_cell", "intersection_rnn_cell"),
    *("intersection_rnn_cell/in_projection", "phased_lstm_cell/mask_gates"),
    *("phased_lstm_cell/new_input", "phased_lstm_cell/output_gate", "attention_cell_wrapper"),
    *("attention_cell_wrapper/attn_output_projection", "attention_cell_wrapper/attention"),
    *("attention_decoder", "attention_decoder/Attention_0"),
    "attention_decoder/AttnOutputProjection",
)

#: Part of an old name -> part of the new one; the first that occurs counts.
RNN_NAME_REPLACEMENTS: collections.OrderedDict[str, str] = collections.OrderedDict(
    [
        *(
            (f"{scope}/{old}", f"{scope}/{new}")
            for scope in _SCOPES
            for old, new in (("weights", "kernel"), ("biases", "bias"))
        ),
        ("nas_rnn/weights", "nas_rnn/kernel"),
        ("nas_rnn/recurrent_weights", "nas_rnn/recurrent_kernel"),
        # As attention_decoder of contrib.legacy_seq2seq wrote them at first.
        *(
            (f"{scope}Linear/{old}", f"{scope}{new}")
            for scope in (
                "attention_decoder/Attention_0/",
                "attention_decoder/AttnOutputProjection/",
                "attention_decoder/",
            )
            for old, new in (("Bias", "bias"), ("Matrix", "kernel"))
        ),
        ("attention_decoder/LSTMCell/B", "attention_decoder/lstm_cell/bias"),
        ("attention_decoder/LSTMCell/W_0", "attention_decoder/lstm_cell/kernel"),
    ]
)

_RNN_SHARDED_NAME_REPLACEMENTS = collections.OrderedDict(
    [
        ("LSTMCell/W_", "lstm_cell/weights/part_"),
        ("BasicLSTMCell/Linear/Matrix_", "basic_lstm_cell/weights/part_"),
        ("GRUCell/W_", "gru_cell/weights/part_"),
        ("MultiRNNCell/Cell", "multi_rnn_cell/cell_"),
    ]
)


def convert_names(
    checkpoint_from_path: str, checkpoint_to_path: str, write_v1_checkpoint: bool = False
) -> tuple[dict[str, Any], dict[str, str]]:
    """Writes a checkpoint anew, with the names that cells have from TensorFlow 1.2 on.

    1.15 never took a variable for one of several parts (its regular expression has its arguments the wrong
    way round), so that parts keep their names.

    Args:
      checkpoint_from_path: The checkpoint.
      checkpoint_to_path: The new one.
      write_v1_checkpoint: Whether that has the format of TensorFlow 0.x.

    Returns:
      New name -> variable, and old name -> new name of those that have changed.
    """
    reader = tf.train.NewCheckpointReader(checkpoint_from_path)
    variables, changed = {}, {}
    with tf.Graph().as_default():
        for name in reader.get_variable_to_shape_map():
            new = next(
                (
                    name.replace(old, RNN_NAME_REPLACEMENTS[old])
                    for old in RNN_NAME_REPLACEMENTS
                    if old in name
                ),
                name,
            )
            variables[new] = tf.Variable(reader.get_tensor(name), name=name)
            if new != name:
                tf.logging.info("Converted: %s --> %s", name, new)
                changed[name] = new
        version = tf.train.SaverDef.V1 if write_v1_checkpoint else tf.train.SaverDef.V2
        saver = tf.train.Saver(variables, write_version=version)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            saver.save(session, checkpoint_to_path)
    tf.logging.info("Summary:\n  Converted %d variable name(s).", len(variables))
    return variables, changed
