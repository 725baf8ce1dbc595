"""``tf.contrib.rnn``: TensorFlow's cells, and the others by code of ours."""

from __future__ import annotations

from tpucompat.names.rows import Constant, Moved, Package, Row, StandIn

_OURS = "tpucompat.contrib.rnn"
_CELLS = "tpucompat.contrib.rnn_cells"
_FUSED = "tpucompat.contrib.rnn_fused"
_TF = "{tf}:nn.rnn_cell"

ROWS: dict[str, Row] = {
    "contrib.rnn": Package((_OURS, _CELLS, _FUSED, _TF, "{tf}:nn")),
    **{
        "contrib.rnn." + name: Moved(_TF + "." + name)
        for name in (
            "BasicLSTMCell",
            "BasicRNNCell",
            "DeviceWrapper",
            "DropoutWrapper",
            "GRUCell",
            "LSTMCell",
            "LSTMStateTuple",
            "MultiRNNCell",
            "RNNCell",
            "ResidualWrapper",
        )
    },
    **{
        "contrib.rnn." + name: Moved("{tf}:nn." + name)
        for name in ("static_bidirectional_rnn", "static_rnn", "static_state_saving_rnn")
    },
    **{
        "contrib.rnn." + name: StandIn(_OURS + ":" + name)
        for name in (
            "EmbeddingWrapper",
            "InputProjectionWrapper",
            "OutputProjectionWrapper",
            "stack_bidirectional_dynamic_rnn",
            "transpose_batch_time",
        )
    },
    **{
        "contrib.rnn." + name: StandIn(_CELLS + ":" + name)
        for name in (
            "Conv1DLSTMCell",
            "Conv2DLSTMCell",
            "Conv3DLSTMCell",
            "ConvLSTMCell",
            "GRUBlockCell",
            "GRUBlockCellV2",
            "LSTMBlockCell",
            "LayerNormBasicLSTMCell",
            "LayerRNNCell",
            "NASCell",
        )
    },
    **{
        "contrib.rnn." + name: StandIn(_FUSED + ":" + name)
        for name in (
            "FusedRNNCell",
            "FusedRNNCellAdaptor",
            "LSTMBlockFusedCell",
            "LSTMBlockWrapper",
            "TimeReversedFusedRNN",
        )
    },
    # What programs made cells of their own with.
    **{
        f"contrib.rnn.python.ops.{place}.{name}": StandIn(f"{_CELLS}:{ours}")
        for place, name, ours in (
            ("core_rnn_cell", "_Linear", "Linear"),
            ("core_rnn_cell", "_linear", "linear"),
            ("rnn_cell", "_Linear", "Linear"),
        )
    },
    "python.ops.rnn_cell_impl.ASSERT_LIKE_RNNCELL_ERROR_REGEXP": Constant("is not an RNNCell"),
    # The private modules of TensorFlow proper that scripts took the cells from: since 2.6 they
    # hold a second set of classes, of which isinstance() knows nothing.
    "python.ops.rnn_cell": Package((_TF, "tensorflow.python.ops.rnn_cell_impl")),
    "python.ops.rnn_cell_impl": Package((_TF, _CELLS, "tensorflow.python.ops.rnn_cell_impl")),
}
