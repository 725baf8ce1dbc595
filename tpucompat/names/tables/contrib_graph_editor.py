"""``tf.contrib.graph_editor``: selection, copies and rerouting of tensors by code of ours."""

from __future__ import annotations

from tpucompat.names.rows import Gone, Package, Row, StandIn

_OURS = "tpucompat.contrib.graph_editor"
_SELECTION = "tpucompat.contrib.graph_editor_selection"
_BOTH = (_OURS, _SELECTION)

_SURGERY = Gone(
    "TPU101",
    "It cut and joined whole parts of a graph in place, which TensorFlow 2's graphs do not allow.",
    "Use graph_replace, copy_with_input_replacements or reroute_ts, or rebuild the graph.",
)

ROWS: dict[str, Row] = {
    "contrib.graph_editor": Package(_BOTH, rest=_SURGERY),
    **{"contrib.graph_editor." + name: Package(_BOTH) for name in ("reroute", "select", "util")},
    **{"contrib.graph_editor." + name: Package(_BOTH) for name in ("subgraph", "transform")},
    **{
        "contrib.graph_editor." + name: StandIn(_OURS + ":" + name)
        for name in (
            "SubGraphView",
            "TransformerInfo",
            "add_control_inputs",
            "copy",
            "copy_with_input_replacements",
            "graph_replace",
            "make_view",
            "make_view_from_scope",
            "remove_control_inputs",
            "reroute_ts",
            "sgv",
            "sgv_scope",
            "swap_ts",
        )
    },
    **{
        "contrib.graph_editor." + name: StandIn(_SELECTION + ":" + name)
        for name in (
            "ControlOutputs",
            "can_be_regex",
            "compute_boundary_ts",
            "filter_ops",
            "filter_ops_from_regex",
            "filter_ts",
            "filter_ts_from_regex",
            "get_backward_walk_ops",
            "get_consuming_ops",
            "get_forward_walk_ops",
            "get_generating_ops",
            "get_name_scope_ops",
            "get_tensors",
            "get_walks_intersection_ops",
            "get_walks_union_ops",
            "make_list_of_op",
            "make_list_of_t",
            "make_regex",
            "select_ops",
            "select_ts",
        )
    },
}
