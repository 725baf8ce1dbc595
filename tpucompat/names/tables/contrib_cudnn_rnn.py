"""``tf.contrib.cudnn_rnn``: layers of ours on any device."""

from __future__ import annotations

from tpucompat.names.rows import Constant, Gone, Package, Row, StandIn

_OURS = "tpucompat.contrib.cudnn_rnn"
_OPAQUE = Gone(
    "TPU101",
    (
        "It converted cuDNN weights. tpucompat stores these variables in the layout of the "
        "cells, as TensorFlow 1.15 checkpoints do."
    ),
    "Save and restore the variables with a tf.train.Saver.",
)

#: What scripts give to the layers, from cudnn_rnn/python/ops/cudnn_rnn_ops.py of TensorFlow 1.15.
_WORDS = {
    "CUDNN_RNN_UNIDIRECTION": "unidirectional",
    "CUDNN_RNN_BIDIRECTION": "bidirectional",
    "CUDNN_LSTM": "lstm",
    "CUDNN_GRU": "gru",
    "CUDNN_RNN_RELU": "rnn_relu",
    "CUDNN_RNN_TANH": "rnn_tanh",
    "CUDNN_INPUT_LINEAR_MODE": "linear_input",
    "CUDNN_INPUT_SKIP_MODE": "skip_input",
    "CUDNN_INPUT_AUTO_MODE": "auto_select",
}

ROWS: dict[str, Row] = {
    "contrib.cudnn_rnn": Package(_OURS),
    **{
        "contrib.cudnn_rnn.python.ops.cudnn_rnn_ops." + name: Constant(word)
        for name, word in _WORDS.items()
    },
    **{
        "contrib.cudnn_rnn." + name: StandIn(_OURS + ":" + name)
        for name in (
            "CudnnCompatibleGRUCell",
            "CudnnCompatibleLSTMCell",
            "CudnnGRU",
            "CudnnLSTM",
            "CudnnRNNRelu",
            "CudnnRNNTanh",
        )
    },
    **{
        "contrib.cudnn_rnn." + name: _OPAQUE
        for name in (
            "CudnnGRUSaveable",
            "CudnnLSTMSaveable",
            "CudnnParamsFormatConverterGRU",
            "CudnnParamsFormatConverterLSTM",
            "CudnnParamsFormatConverterRelu",
            "CudnnParamsFormatConverterTanh",
            "CudnnRNNReluSaveable",
            "CudnnRNNTanhSaveable",
        )
    },
}
