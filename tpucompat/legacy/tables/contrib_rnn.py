"""``tf.contrib.rnn``: TensorFlow's cells, and the others by code of ours."""

from __future__ import annotations

from tpucompat.legacy.rows import Constant, Moved, Package, Row, StandIn

_OURS = "tpucompat.legacy.contrib.rnn"
_CELLS = "tpucompat.legacy.contrib.rnn_cells"
_RESEARCH = "tpucompat.legacy.contrib.rnn_research_cells"
_GRID = "tpucompat.legacy.contrib.rnn_grid_cells"
_TF = "{tf}:nn.rnn_cell"

ROWS: dict[str, Row] = {
    "contrib.rnn": Package((_OURS, _CELLS, _RESEARCH, _GRID, _TF, "{tf}:nn")),
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
            "AttentionCellWrapper",
            "CompiledWrapper",
            "EmbeddingWrapper",
            "FusedRNNCell",
            "FusedRNNCellAdaptor",
            "HighwayWrapper",
            "InputProjectionWrapper",
            "LSTMBlockFusedCell",
            "LSTMBlockWrapper",
            "OutputProjectionWrapper",
            "TimeReversedFusedRNN",
            "best_effort_input_batch_size",
            "stack_bidirectional_dynamic_rnn",
            "stack_bidirectional_rnn",
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
            "CoupledInputForgetGateLSTMCell",
            "GRUBlockCell",
            "GRUBlockCellV2",
            "IndRNNCell",
            "IndyGRUCell",
            "IndyLSTMCell",
            "IntersectionRNNCell",
            "LSTMBlockCell",
            "LayerNormBasicLSTMCell",
            "LayerRNNCell",
            "NASCell",
            "SRUCell",
            "UGRNNCell",
        )
    },
    **{
        "contrib.rnn." + name: StandIn(_RESEARCH + ":" + name)
        for name in ("GLSTMCell", "PhasedLSTMCell")
    },
    **{
        "contrib.rnn." + name: StandIn(_GRID + ":" + name)
        for name in (
            "BidirectionalGridLSTMCell",
            "GridLSTMCell",
            "TimeFreqLSTMCell",
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
    "contrib.rnn.python.tools.checkpoint_convert": Package(
        "tpucompat.legacy.contrib.rnn_checkpoints"
    ),
    "python.ops.rnn_cell_impl.ASSERT_LIKE_RNNCELL_ERROR_REGEXP": Constant("is not an RNNCell"),
    # The private modules of TensorFlow proper that scripts took the cells from: since 2.6 they
    # hold a second set of classes, of which isinstance() knows nothing.
    "python.ops.rnn_cell": Package((_TF, "tensorflow.python.ops.rnn_cell_impl")),
    "python.ops.rnn_cell_impl": Package((_TF, _CELLS, "tensorflow.python.ops.rnn_cell_impl")),
}
