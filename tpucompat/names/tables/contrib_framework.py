"""``tf.contrib.framework``: mostly from tf-slim, the rest from TensorFlow."""

from __future__ import annotations

from tpucompat.names.rows import Gone, Moved, Package, Row, StandIn

_OURS = "tpucompat.contrib.framework"
_SLIM = "tpucompat.contrib.slim:tf_slim"
_GRAPHS = "tpucompat.contrib.slim:graphs"

ROWS: dict[str, Row] = {
    "contrib.framework": Package((_OURS, _SLIM)),
    "contrib.framework.get_graph_from_inputs": Moved(_GRAPHS + ".get_graph_from_inputs"),
    "contrib.framework.get_name_scope": Moved(_GRAPHS + ".get_name_scope"),
    "contrib.framework.nest": Package("tpucompat.contrib.nest"),
    "contrib.framework.python.framework.nest": Package("tpucompat.contrib.nest"),
    "contrib.framework.fuse_op": Gone(
        "TPU101",
        "It rewrote graphs for the TensorFlow Lite of its time.",
        "Convert the model by tf.lite.TFLiteConverter.",
    ),
    "contrib.framework.python.ops.audio_ops": Package(("{tf}:audio", "{tf}:raw_ops")),
    **{
        "contrib.framework." + name: Moved(target)
        for name, target in {
            "BoundedTensorSpec": "tensorflow.python.framework.tensor_spec:BoundedTensorSpec",
            "RecordInput": "tensorflow.python.ops.data_flow_ops:RecordInput",
            "TensorSpec": "{tf}:TensorSpec",
            "argsort": "{tf}:argsort",
            "assert_global_step": "{tf}:train.assert_global_step",
            "assert_same_float_dtype": "{tf}:debugging.assert_same_float_dtype",
            "assert_scalar": "{tf}:debugging.assert_scalar",
            "convert_to_tensor_or_sparse_tensor": "{tf}:convert_to_tensor_or_sparse_tensor",
            "create_global_step": "{tf}:train.create_global_step",
            "deprecated": "tensorflow.python.util.deprecation:deprecated",
            "deprecated_arg_values": "tensorflow.python.util.deprecation:deprecated_arg_values",
            "deprecated_args": "tensorflow.python.util.deprecation:deprecated_args",
            "get_global_step": "{tf}:train.get_global_step",
            "get_or_create_global_step": "{tf}:train.get_or_create_global_step",
            "init_from_checkpoint": "{tf}:train.init_from_checkpoint",
            "is_tensor": "{tf}:is_tensor",
            "list_variables": "{tf}:train.list_variables",
            "load_checkpoint": "{tf}:train.load_checkpoint",
            "load_variable": "{tf}:train.load_variable",
            "sort": "{tf}:sort",
            **{
                name: "tensorflow.python.framework.ops:" + name
                for name in ("prepend_name_scope", "strip_name_scope")
            },
            **{
                name: "tensorflow.python.framework.smart_cond:" + name
                for name in ("smart_case", "smart_cond", "smart_constant_value")
            },
            **{
                name: "tensorflow.python.ops.init_ops:" + name
                for name in (
                    "convolutional_delta_orthogonal",
                    "convolutional_orthogonal_1d",
                    "convolutional_orthogonal_2d",
                    "convolutional_orthogonal_3d",
                )
            },
            **{
                name: "tensorflow.python.training.checkpoint_ops:_" + name
                for name in ("load_and_remap_matrix_initializer", "load_embedding_initializer")
            },
        }.items()
    },
    **{
        "contrib.framework." + name: StandIn(_OURS + ":" + name)
        for name in (
            "assign_from_checkpoint",
            "with_same_shape",
            "with_shape",
            "zero_initializer",
        )
    },
    **{
        "contrib.framework." + name: Moved(_SLIM + "." + name)
        for name in (
            "VariableDeviceChooser",
            "add_arg_scope",
            "add_model_variable",
            "arg_scope",
            "arg_scoped_arguments",
            "assert_or_get_global_step",
            "assign_from_checkpoint_fn",
            "assign_from_values",
            "assign_from_values_fn",
            "current_arg_scope",
            "filter_variables",
            "get_local_variables",
            "get_model_variables",
            "get_trainable_variables",
            "get_unique_variable",
            "get_variable_full_name",
            "get_variables",
            "get_variables_by_name",
            "get_variables_by_suffix",
            "get_variables_to_restore",
            "global_variable",
            "has_arg_scope",
            "local_variable",
            "model_variable",
            "variable",
        )
    },
}
