"""Which names of ``tf.compat.v1`` work in a graph only."""

from __future__ import annotations

import ast
import re

from tpucompat.commands.migrate.context import Context
from tpucompat.names import successors as today

#: Names of tf.compat.v1 that work without a graph.
WITHOUT_GRAPH = re.compile(
    r"tf\.(set_random_seed|logging|flags|app|gfile|ConfigProto|GPUOptions|OptimizerOptions|python_io|"
    r"test|resource_loader|sysconfig|train\.\w+Optimizer$|to_\w+$|io\b|version\b|VERSION|"
    r"enable_eager_execution|enable_v2_behavior|decode_|parse_|string_|AUTO_REUSE|GraphKeys|"
    r"train\.(summary_iterator|latest_checkpoint|NewCheckpointReader|list_variables|load_variable)|"
    # operations: they compute at once, and in a tf.function
    r"losses\.(?!get_|add_)|image\.|linalg\.|manip\.|div$|count_nonzero|bincount|confusion_matrix|assert_(?!variables)|"
    r"batch_gather|depth_to_space|space_to_|batch_to_space|clip_by_average_norm|arg_m|dimension_value|Dimension$|"
    r"(random\.)?(stateless_)?multinomial|sparse\.reduce_|sparse_(reduce|to_dense|concat|split|tensor_dense)|"
    r"nn\.(conv|depthwise_|fused_batch_norm|relu_layer|xw_plus_b|softmax_cross|ctc_loss|quantized_)|"
    r"(initializers\.)?uniform_unit_scaling)"
)


def builds(context: Context, besides: ast.AST | None = None) -> bool:
    """Whether a file has names of ``tf.compat.v1`` that work in a graph only: it may be the second pass."""
    for use in context.names.uses:
        if use.node is besides:
            continue
        head, _, below = use.name.partition("tensorflow.compat.v1.")
        if not below or head or WITHOUT_GRAPH.match("tf." + below):
            continue
        found = today.fate("tensorflow." + below)
        if found is not None and found.code in ("TPU203", "TPU207"):
            return True
    return False
