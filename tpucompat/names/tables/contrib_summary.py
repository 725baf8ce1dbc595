"""``tf.contrib.summary``: TensorFlow still has it, privately beside the later one."""

from __future__ import annotations

from tpucompat.names.rows import Gone, Moved, Package, Row, StandIn

_V2 = "tensorflow.python.ops.summary_ops_v2"

_NAMES: dict[str, Row] = {
    "all_summary_ops": Moved("{tf}:summary.all_v2_summary_ops"),
    "create_db_writer": Gone(
        "TPU101",
        "TensorFlow 2 cannot write summaries to a database.",
        "Write a TensorBoard log directory with create_file_writer.",
    ),
    **{
        name: StandIn("tpucompat.idioms.summary:" + name)
        for name in ("flush", "graph", "should_record_summaries")
    },
    "initialize": Moved("{tf}:summary.initialize"),
    **{
        name: Moved(_V2 + ":" + name)
        for name in (
            "SummaryWriter",
            "always_record_summaries",
            "audio",
            "create_file_writer",
            "create_summary_file_writer",
            "eval_dir",
            "generic",
            "histogram",
            "image",
            "import_event",
            "never_record_summaries",
            "record_summaries_every_n_global_steps",
            "scalar",
            "summary_writer_initializer_op",
        )
    },
}

ROWS: dict[str, Row] = {
    "contrib.summary": Package(_V2),
    # The package's one module; tf.contrib bound its own name to it.
    "contrib.summary.summary": Package(_V2),
    **{"contrib.summary." + name: row for name, row in _NAMES.items()},
    **{"contrib.summary.summary." + name: row for name, row in _NAMES.items()},
    # Not in 1.15; who uses it beside TensorFlow 1's names means TensorFlow 2's.
    "summary.create_file_writer": Moved(_V2 + ":create_file_writer_v2", since="2.0"),
    # The module behind it, for the names that mean something else there today.
    **{
        "python.ops.summary_ops_v2." + name: _NAMES[name]
        for name in ("all_summary_ops", "flush", "graph", "should_record_summaries")
    },
}
