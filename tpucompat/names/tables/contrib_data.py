"""``tf.contrib.data``: most of it became ``tf.data.experimental`` under the same names."""

from __future__ import annotations

from tpucompat.names.rows import Gone, Moved, Package, Row, StandIn

_OURS = "tpucompat.contrib.data"
_EXPERIMENTAL = "{tf}:data.experimental"

ROWS: dict[str, Row] = {
    "contrib.data": Package((_OURS, _EXPERIMENTAL)),
    "contrib.data.LMDBDataset": Gone(
        "TPU101",
        "TensorFlow 2 cannot read LMDB files.",
        (
            "Convert the file to TFRecord files, or read it with the lmdb package in "
            "tf.data.Dataset.from_generator."
        ),
    ),
    **{
        "contrib.data." + name: StandIn(_OURS + ":" + name)
        for name in (
            "batch_and_drop_remainder",
            "padded_batch_and_drop_remainder",
            "sliding_window_batch",
            "sloppy_interleave",
        )
    },
    # TensorFlow 1.4 moved them to tf.data, and kept these until 1.5; batching.py kept the last until 1.9.
    **{
        "contrib.data." + name: Moved("{tf}:data." + name)
        for name in (
            "Dataset",
            "FixedLengthRecordDataset",
            "Iterator",
            "TFRecordDataset",
            "TextLineDataset",
        )
    },
    "contrib.data.python.ops.batching.filter_irregular_batches": StandIn(
        _OURS + ":filter_irregular_batches"
    ),
    **{
        "contrib.data." + name: Moved(_EXPERIMENTAL + "." + name)
        for name in (
            "AUTOTUNE",
            "Counter",
            "CsvDataset",
            "Optional",
            "RandomDataset",
            "Reducer",
            "SqlDataset",
            "TFRecordWriter",
            "bucket_by_sequence_length",
            "choose_from_datasets",
            "copy_to_device",
            "dense_to_sparse_batch",
            "enumerate_dataset",
            "get_next_as_optional",
            "get_single_element",
            "group_by_reducer",
            "group_by_window",
            "ignore_errors",
            "make_batched_features_dataset",
            "make_csv_dataset",
            "make_saveable_from_iterator",
            "map_and_batch",
            "parallel_interleave",
            "parse_example_dataset",
            "prefetch_to_device",
            "rejection_resample",
            "sample_from_datasets",
            "scan",
            "shuffle_and_repeat",
            "unbatch",
            "unique",
        )
    },
}
