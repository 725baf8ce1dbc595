"""``tf.contrib.layers`` and ``slim``: the package tf-slim, with columns and a few functions of ours."""

from __future__ import annotations

from tpucompat.legacy.rows import Gone, Moved, Package, Row, StandIn

_OURS = "tpucompat.legacy.contrib.layers"
_COLUMNS = "tpucompat.legacy.contrib.columns"
_TARGETS = _COLUMNS + ".targets"
_CROSS = "tpucompat.legacy.contrib.feature_cross"
# Through our module, which puts tf-slim right for the TensorFlow that is installed.
_MODULE = "tpucompat.legacy.contrib.slim"
_SLIM = _MODULE + ":tf_slim"
_LAYERS = _MODULE + ":layers"
_NETS = _MODULE + ":nets"

# Names of contrib.layers in tf_slim.layers; contrib.slim re-exported all of them.
_FROM_SLIM = (
    "GDN",
    "OPTIMIZER_CLS_NAMES",
    "OPTIMIZER_SUMMARIES",
    "RevBlock",
    "apply_regularization",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bias_add",
    "conv1d",
    "conv2d",
    "conv2d_in_plane",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "convolution",
    "convolution1d",
    "convolution2d",
    "convolution2d_in_plane",
    "convolution2d_transpose",
    "convolution3d",
    "convolution3d_transpose",
    "dense_to_sparse",
    "dropout",
    "elu",
    "flatten",
    "fully_connected",
    "gdn",
    "group_norm",
    "images_to_sequence",
    "instance_norm",
    "l1_l2_regularizer",
    "l1_regularizer",
    "l2_regularizer",
    "layer_norm",
    "legacy_fully_connected",
    "legacy_linear",
    "legacy_relu",
    "linear",
    "max_pool2d",
    "max_pool3d",
    "maxout",
    "one_hot_encoding",
    "optimize_loss",
    "recompute_grad",
    "relu",
    "relu6",
    "repeat",
    "rev_block",
    "scale_gradient",
    "separable_conv2d",
    "separable_convolution2d",
    "sequence_to_images",
    "softmax",
    "spatial_softmax",
    "stack",
    "sum_regularizer",
    "summarize_activation",
    "summarize_activations",
    "summarize_collection",
    "summarize_tensor",
    "summarize_tensors",
    "unit_norm",
    "variance_scaling_initializer",
    "xavier_initializer",
    "xavier_initializer_conv2d",
)

_OURS_NAMES = (
    "bow_encoder",
    "embed_sequence",
    "embedding_lookup_unique",
    "safe_embedding_lookup_sparse",
)

_COLUMN_NAMES = (
    "bucketized_column",
    "check_feature_columns",
    "create_feature_spec_for_parsing",
    "crossed_column",
    "embedding_column",
    "infer_real_valued_columns",
    "input_from_feature_columns",
    "joint_weighted_sum_from_feature_columns",
    "make_place_holder_tensors_for_base_features",
    "one_hot_column",
    "parse_feature_columns_from_examples",
    "parse_feature_columns_from_sequence_examples",
    "real_valued_column",
    "scattered_embedding_column",
    "sequence_input_from_feature_columns",
    "shared_embedding_columns",
    "sparse_column_with_hash_bucket",
    "sparse_column_with_integerized_feature",
    "sparse_column_with_keys",
    "sparse_column_with_vocabulary_file",
    "transform_features",
    "weighted_sparse_column",
    "weighted_sum_from_feature_columns",
)
_TARGET_NAMES = (
    "multi_class_target",
    "regression_target",
)
_MARK = Gone(
    "TPU101",
    "It only marked functions of tf.contrib as experimental.",
    "Leave the decorator out.",
)
# contrib.slim had all names of contrib.layers' private modules; contrib.layers had its documented ones.
_ONLY_IN_SLIM: dict[str, Row] = {
    "experimental": _MARK,
    **{name: StandIn(_COLUMNS + ":" + name) for name in ("DataFrameColumn", "InputLayer")},
    **{
        name: StandIn(_TARGETS + ":" + name)
        for name in ("ProblemType", "binary_svm_target", "get_default_binary_metrics_for_eval")
    },
    **{
        name: StandIn(_OURS + ":" + name)
        for name in (
            "embedding_lookup_sparse_with_distributed_aggregation",
            "scattered_embedding_lookup",
            "scattered_embedding_lookup_sparse",
        )
    },
    "sparse_feature_cross": StandIn(_CROSS + ":sparse_feature_cross"),
}


def _names_of(package: str) -> dict[str, Row]:
    """The rows that contrib.layers and contrib.slim have in common."""
    rows: dict[str, Row] = {}
    rows.update((name, Moved(_LAYERS + "." + name)) for name in _FROM_SLIM)
    rows.update((name, StandIn(_OURS + ":" + name)) for name in _OURS_NAMES)
    rows.update((name, StandIn(_COLUMNS + ":" + name)) for name in _COLUMN_NAMES)
    rows.update((name, StandIn(_TARGETS + ":" + name)) for name in _TARGET_NAMES)
    cross = "SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY"
    rows[cross] = StandIn(_CROSS + ":" + cross)
    return {package + "." + name: row for name, row in rows.items()}


ROWS: dict[str, Row] = {
    "contrib.layers": Package((_OURS, _LAYERS)),
    **_names_of("contrib.layers"),
    "contrib.layers.feature_column": Package(_COLUMNS),
    "contrib.layers.feature_column.experimental": _MARK,
    "contrib.layers.summaries": Package(_LAYERS + ".summaries"),
    "contrib.slim": Package((_SLIM, _OURS)),
    **_names_of("contrib.slim"),
    **{"contrib.slim." + name: row for name, row in _ONLY_IN_SLIM.items()},
    **{
        "contrib.slim." + name: StandIn("tpucompat.legacy.contrib.framework:" + name)
        for name in ("assign_from_checkpoint", "zero_initializer")
    },
    "contrib.slim.deprecated": Moved("tensorflow.python.util.deprecation:deprecated"),
    "contrib.slim.deprecated_arg_values": Moved(
        "tensorflow.python.util.deprecation:deprecated_arg_values"
    ),
    "contrib.slim.nest": Package("tpucompat.legacy.contrib.nest"),
    "contrib.slim.nets": Package(_NETS),
    "contrib.slim.python.slim.nets": Package(_NETS),
    "contrib.slim.python.slim.data": Package(_MODULE + ":data"),
    "contrib.slim.python.slim": Package((_SLIM, _OURS)),
    # Private modules, where scripts import one as a name.
    "contrib.layers.python.layers.layers": Package((_LAYERS + ".layers", _OURS)),
    "contrib.layers.python.layers.utils": Package(_LAYERS + ".utils"),
    "contrib.layers.python.layers.regularizers": Package(_LAYERS + ".regularizers"),
    "contrib.layers.python.layers.initializers": Package(_LAYERS + ".initializers"),
    "contrib.layers.python.layers.normalization": Package(_LAYERS + ".normalization"),
    "contrib.layers.python.layers.optimizers": Package(_LAYERS + ".optimizers"),
    "contrib.layers.python.layers.summaries": Package(_LAYERS + ".summaries"),
    "contrib.layers.python.layers.rev_block_lib": Package(_LAYERS + ".rev_block_lib"),
    "contrib.layers.python.layers.encoders": Package(_OURS),
    "contrib.layers.python.layers.embedding_ops": Package((_OURS, "{tf}:nn")),
    "contrib.layers.python.layers.feature_column": Package(_COLUMNS),
    "contrib.layers.python.layers.feature_column_ops": Package(_COLUMNS),
    "contrib.layers.python.layers.target_column": Package(_TARGETS),
    "contrib.layers.python.ops.sparse_feature_cross_op": Package(_CROSS),
    "contrib.layers.python.ops.sparse_ops": Package("tf_slim.layers.sparse_ops"),
    "contrib.layers.python.ops.bucketization_op": Package(_LAYERS + ".bucketization_op"),
    "contrib.framework.python.ops.variables": Package(
        ("tpucompat.legacy.contrib.framework", _MODULE + ":variables")
    ),
    # ops.arg_scope needs no row: the package's function of that name hid the module in 1.15 too.
}
