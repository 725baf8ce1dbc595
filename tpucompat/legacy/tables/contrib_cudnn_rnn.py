"""``tf.contrib.cudnn_rnn``: layers of ours on any device."""

from __future__ import annotations

from tpucompat.legacy.rows import Gone, Package, Row, StandIn

_OURS = "tpucompat.legacy.contrib.cudnn_rnn"
_OPAQUE = Gone(
    "TPU101",
    "It converted cuDNN's own form of weights; here the layers' variables are in the cells' form, in which "
    "TensorFlow 1.15 saved them too.",
    "Save and restore the variables by a tf.train.Saver.",
)

ROWS: dict[str, Row] = {
    "contrib.cudnn_rnn": Package(_OURS),
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
