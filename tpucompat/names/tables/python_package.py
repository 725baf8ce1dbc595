"""``tensorflow.python`` itself, which up to 2.3 (python/__init__.py) had imported what lies below it.

``from tensorflow.python import math_ops`` was as good as the full path. Those modules are where they were.
"""

from __future__ import annotations

from tpucompat.names.rows import Moved, Row

ON_TENSORFLOW_1 = True  # the package ops is found there too, and what its module has

#: Package below ``tensorflow.python`` -> its modules that ``tensorflow.python`` had by the same name.
_REEXPORTED = {
    "eager": "context",
    "framework": (
        "common_shapes config constant_op dtypes errors errors_impl graph_util random_seed sparse_tensor "
        "tensor_shape tensor_spec tensor_util"
    ),
    "lib.io": "file_io",
    "ops": (
        "array_grad array_ops check_ops clip_ops control_flow_ops control_flow_util data_flow_grad "
        "gen_array_ops gen_control_flow_ops gen_data_flow_ops gen_functional_ops gen_io_ops gen_linalg_ops "
        "gen_math_ops gen_nn_ops gen_parsing_ops gen_random_ops gen_sparse_ops gen_state_ops gen_string_ops "
        "gradient_checker_v2 linalg_ops_impl list_ops map_fn math_grad math_ops metrics nn nn_ops ragged "
        "random_grad random_ops resource_variable_ops rnn rnn_cell rnn_grad sets sparse_grad sparse_ops "
        "state_grad state_ops stateful_random_ops tensor_array_ops"
    ),
    "platform": "app flags gfile resource_loader tf_logging",
    "util": "deprecation dispatch function_utils nest object_identity tf_inspect",
}

#: What of framework/ops.py scripts take: ``from tensorflow.python import ops`` found that module, and
#: ``import tensorflow.python.ops.math_ops`` the package of this name.
_OPS = (
    "Graph GraphKeys Operation add_to_collection add_to_collections colocate_with control_dependencies "
    "convert_to_tensor device executing_eagerly_outside_functions get_collection get_collection_ref "
    "get_default_graph get_default_session get_name_scope init_scope name_scope "
    "reset_default_graph"
)

#: Packages that a module of their own name hid: ``tf.python.profiler`` was profiler/profiler.py, and is found
#: beside ``import tensorflow.python.profiler.model_analyzer``. The names are tf.profiler's and tf.summary's.
_HIDDEN = {
    "profiler": "AdviceProto GraphNodeProto MultiGraphNodeProto OpLogProto ProfileOptionBuilder Profiler "
    "advise profile write_op_log",
    "summary": "Event FileWriter FileWriterCache SessionLog Summary SummaryDescription TaggedRunMetadata "
    "all_v2_summary_ops audio get_summary_description histogram image initialize merge merge_all scalar "
    "tensor_summary text",
}

ROWS: dict[str, Row] = {
    **{
        f"python.{package}.{name}": Moved(f"{{tf}}:{package}.{name}")
        for package, names in _HIDDEN.items()
        for name in names.split()
    },
    **{
        "python." + name: Moved(f"{{own}}.python.{package}.{name}")
        for package, names in _REEXPORTED.items()
        for name in names.split()
    },
    "python.framework_ops": Moved("{own}.python.framework.ops"),
    **{
        "python.ops." + name: Moved("tensorflow.python.framework.ops:" + name)
        for name in _OPS.split()
    },
}
