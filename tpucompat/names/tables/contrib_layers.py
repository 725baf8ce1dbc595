"""``tf.contrib.layers`` and ``slim``: the package tf-slim."""

from __future__ import annotations

from tpucompat.names.rows import Gone, Moved, Package, Row, StandIn

# Through our module, which puts tf-slim right for the TensorFlow that is installed.
_MODULE = "tpucompat.contrib.slim"
_SLIM = _MODULE + ":tf_slim"
_LAYERS = _MODULE + ":layers"
_NETS = _MODULE + ":nets"
_ENCODERS = "tpucompat.contrib.encoders"

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

_MARK = Gone(
    "TPU101",
    "It only marked functions of tf.contrib as experimental.",
    "Leave the decorator out.",
)
# contrib.slim had all names of contrib.layers' private modules; contrib.layers had its documented ones.
_ONLY_IN_SLIM: dict[str, Row] = {
    "experimental": _MARK,
}


# Private modules of contrib.layers. Star imports made them names of contrib.slim too, as
# slim.utils.collect_named_outputs in the networks of its models.
_PRIVATE: dict[str, Row] = {
    "embedding_ops": Package((_ENCODERS, "{tf}:nn")),
    "encoders": Package(_ENCODERS),
    **{
        name: Package(_LAYERS + "." + name)
        for name in (
            "initializers",
            "layers",
            "normalization",
            "optimizers",
            "regularizers",
            "rev_block_lib",
            "summaries",
            "utils",
        )
    },
}


def _names_of(package: str) -> dict[str, Row]:
    """The rows that contrib.layers and contrib.slim have in common."""
    rows: dict[str, Row] = {}
    rows.update((name, Moved(_LAYERS + "." + name)) for name in _FROM_SLIM)
    rows.update(
        (name, StandIn(_ENCODERS + ":" + name))
        for name in ("bow_encoder", "embed_sequence", "embedding_lookup_unique")
    )
    rows["safe_embedding_lookup_sparse"] = Moved("{tf}:nn.safe_embedding_lookup_sparse")
    return {package + "." + name: row for name, row in rows.items()}


ROWS: dict[str, Row] = {
    "contrib.layers": Package(_LAYERS),
    **_names_of("contrib.layers"),
    "contrib.layers.summaries": Package(_LAYERS + ".summaries"),
    "contrib.slim": Package(_SLIM),
    **_names_of("contrib.slim"),
    **{"contrib.slim." + name: row for name, row in _ONLY_IN_SLIM.items()},
    **{
        "contrib.slim." + name: StandIn("tpucompat.contrib.framework:" + name)
        for name in ("assign_from_checkpoint", "zero_initializer")
    },
    "contrib.slim.deprecated": Moved("tensorflow.python.util.deprecation:deprecated"),
    "contrib.slim.deprecated_arg_values": Moved(
        "tensorflow.python.util.deprecation:deprecated_arg_values"
    ),
    "contrib.slim.nest": Package("tpucompat.contrib.nest"),
    "contrib.slim.nets": Package(_NETS),
    "contrib.slim.python.slim.nets": Package(_NETS),
    "contrib.slim.python.slim.data": Package(_MODULE + ":data"),
    "contrib.slim.python.slim": Package(_SLIM),
    # Private modules, where scripts import one as a name.
    **{"contrib.layers.python.layers." + name: row for name, row in _PRIVATE.items()},
    **{
        "contrib.slim." + name: row for name, row in _PRIVATE.items() if name != "summaries"
    },  # its own
    "contrib.layers.python.ops.sparse_ops": Package("tf_slim.layers.sparse_ops"),
    "contrib.layers.python.ops.bucketization_op": Package(_LAYERS + ".bucketization_op"),
    "contrib.framework.python.ops.variables": Package(
        ("tpucompat.contrib.framework", _MODULE + ":variables")
    ),
    # ops.arg_scope needs no row: the package's function of that name hid the module in 1.15 too.
}
