"""Every private import of TensorFlow and Keras that tpucompat needs, in one place.

Each function names the releases in which the path was seen; ``tests/behaviour/test_private.py`` calls all of
them, so that a path which moves fails there first. Imports stand inside the functions: most paths exist in some
releases only, and nobody shall load what another function needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tpucompat.tf.private.functions import (
        add_functions,
        call_config,
        control_captures,
        converted_by_autograph,
        func_graph,
        function_as_graph,
        function_graph,
        functions_called_with,
        is_function_of_a_dataset,
        leave_package_to_itself,
        left_alone_by_autograph,
        must_run,
        plain_function,
        tf_inspect,
        wrapped_functions,
    )
    from tpucompat.tf.private.gradients import (
        gate_gradients,
        gradient_modules,
        let_gradients_leave_loops,
        may_record_gradients,
        replace_gradients,
        sum_over_axes_of_any_type,
    )
    from tpucompat.tf.private.graphs import (
        accept_whole_numbers_as_dimensions,
        add_control_inputs,
        change_inputs_of_imports,
        control_flow_context,
        eager_mode,
        eager_op_functions,
        forget_eager_start,
        give_specs_their_sizes,
        graph_collections,
        graph_op_functions,
        is_in_loop,
        make_eager_tensors_hashable,
        op_def,
        random_seed,
        replace_input,
        smart_cond,
        static_value,
    )
    from tpucompat.tf.private.inputs import (
        data_flow_ops,
        dataset_operations,
        leave_replica_inputs_untuned,
        lookup_ops,
        read_no_element_ahead,
    )
    from tpucompat.tf.private.keras import (
        activate_selu_by_elu,
        added_by_layers,
        average_masked_losses_over_all,
        drop_states_for_all_gates_together,
        feed_missing_axes,
        first_keras_optimizers,
        forget_masks_of_convolutional_cells,
        functional_model,
        hdf5_format,
        is_of_keras,
        is_seeded_by_keras,
        keras_layer_engines,
        keras_model_engines,
        keras_models,
        keras_source,
        name_layers_by_their_classes,
        name_losses_like_tensorflow_1,
        name_recurrent_weights_by_layer,
        normalize_without_masks,
        open_batches,
        start_recurrent_states_at_zero,
        take_inputs_of_updates,
        threshold_within_wrappers,
        track_tf_optimizer,
        write_all_h5_files_alike,
    )
    from tpucompat.tf.private.keras_graphs import (
        custom_objects,
        read_updated_metrics,
        share_custom_objects,
        step_without_masks,
    )
    from tpucompat.tf.private.keras_training import (
        give_validation_data,
        log_numbers_of_numpy,
        look_at_the_nearest_threshold,
        measure_by_methods,
        sum_losses_in_float64,
        take_iterators,
    )
    from tpucompat.tf.private.modules import computes_with_onednn, replace_functions
    from tpucompat.tf.private.operations import (
        RawOperations,
        checked_image,
        complete_api,
        dropout_modules,
        einsum_of_matrices,
        is_for_xla,
        loss_modules,
        nest,
        operations_of_weights,
        shape_convolutions_of_no_examples,
        zero_state,
    )
    from tpucompat.tf.private.paths import PathFunction, path_functions
    from tpucompat.tf.private.rehearsal import (
        function_def,
        handle_like,
        inside_program,
        is_ordered,
        ordered_program,
        program_context,
        replicate_by,
        system_metadata,
        unpacked_tpu_strategy,
    )
    from tpucompat.tf.private.saving import (
        data_structures,
        load_and_remap_matrix_initializer,
        refuse_other_shapes,
        saved_model_loader,
        trackable_class,
        trackable_module,
        write_graphs_with_any_protobuf,
    )
    from tpucompat.tf.private.sessions import (
        after_sessions_close,
        before_graphs_are_sent,
        before_sessions_close,
        convert_in_sessions,
        default_session_config,
        place,
        session_interface,
        session_run_function,
        watch_sessions,
    )
    from tpucompat.tf.private.strategies import (
        cluster_resolver_class,
        cross_replica_context,
        gpus,
        limit_start_of_peers,
        one_replica,
        per_replica,
        run_on_replicas,
    )
    from tpucompat.tf.private.summaries import monitoring, silence_deprecations, summary_ops_v2
    from tpucompat.tf.private.testing import keras_test_modules, test_util
    from tpucompat.tf.private.tpu import (
        XlaContext,
        all_reduce,
        cross_replica_sum,
        custom_call,
        device_assignment,
        hlo_module,
        topology_class,
        topology_proto,
        topology_rank,
        tpu_feed,
        tpu_function,
        tpu_ops,
        training_loop,
        xla_replica_id,
    )
    from tpucompat.tf.private.variables import (
        DEFAULT_VARIABLE_CREATORS,
        complete_resource_variables,
        count_resource_variables_as_variables,
        let_graph_variables_be_true,
        plain_variable_class,
        resource_variable_class,
    )

# The functions by their modules. A module is imported when the first of its names is asked for: whoever imports
# this package starts no TensorFlow.
_NAMES = {
    "functions": (
        "add_functions",
        "call_config",
        "control_captures",
        "converted_by_autograph",
        "func_graph",
        "function_as_graph",
        "function_graph",
        "functions_called_with",
        "is_function_of_a_dataset",
        "leave_package_to_itself",
        "left_alone_by_autograph",
        "must_run",
        "plain_function",
        "tf_inspect",
        "wrapped_functions",
    ),
    "gradients": (
        "gate_gradients",
        "gradient_modules",
        "let_gradients_leave_loops",
        "may_record_gradients",
        "replace_gradients",
        "sum_over_axes_of_any_type",
    ),
    "graphs": (
        "accept_whole_numbers_as_dimensions",
        "add_control_inputs",
        "change_inputs_of_imports",
        "control_flow_context",
        "eager_mode",
        "eager_op_functions",
        "forget_eager_start",
        "give_specs_their_sizes",
        "graph_collections",
        "graph_op_functions",
        "is_in_loop",
        "make_eager_tensors_hashable",
        "op_def",
        "random_seed",
        "replace_input",
        "smart_cond",
        "static_value",
    ),
    "inputs": (
        "data_flow_ops",
        "dataset_operations",
        "leave_replica_inputs_untuned",
        "lookup_ops",
        "read_no_element_ahead",
    ),
    "keras": (
        "activate_selu_by_elu",
        "added_by_layers",
        "average_masked_losses_over_all",
        "feed_missing_axes",
        "first_keras_optimizers",
        "drop_states_for_all_gates_together",
        "forget_masks_of_convolutional_cells",
        "functional_model",
        "hdf5_format",
        "is_of_keras",
        "is_seeded_by_keras",
        "keras_layer_engines",
        "keras_model_engines",
        "keras_models",
        "keras_source",
        "name_layers_by_their_classes",
        "name_losses_like_tensorflow_1",
        "name_recurrent_weights_by_layer",
        "normalize_without_masks",
        "open_batches",
        "start_recurrent_states_at_zero",
        "take_inputs_of_updates",
        "threshold_within_wrappers",
        "track_tf_optimizer",
        "write_all_h5_files_alike",
    ),
    "keras_graphs": (
        "custom_objects",
        "read_updated_metrics",
        "share_custom_objects",
        "step_without_masks",
    ),
    "keras_training": (
        "give_validation_data",
        "log_numbers_of_numpy",
        "look_at_the_nearest_threshold",
        "measure_by_methods",
        "sum_losses_in_float64",
        "take_iterators",
    ),
    "modules": (
        "computes_with_onednn",
        "replace_functions",
    ),
    "operations": (
        "RawOperations",
        "checked_image",
        "complete_api",
        "dropout_modules",
        "einsum_of_matrices",
        "is_for_xla",
        "loss_modules",
        "nest",
        "operations_of_weights",
        "shape_convolutions_of_no_examples",
        "zero_state",
    ),
    "paths": (
        "PathFunction",
        "path_functions",
    ),
    "rehearsal": (
        "function_def",
        "handle_like",
        "inside_program",
        "is_ordered",
        "ordered_program",
        "program_context",
        "replicate_by",
        "system_metadata",
        "unpacked_tpu_strategy",
    ),
    "saving": (
        "data_structures",
        "load_and_remap_matrix_initializer",
        "refuse_other_shapes",
        "saved_model_loader",
        "trackable_class",
        "trackable_module",
        "write_graphs_with_any_protobuf",
    ),
    "sessions": (
        "before_graphs_are_sent",
        "after_sessions_close",
        "before_sessions_close",
        "convert_in_sessions",
        "default_session_config",
        "place",
        "session_interface",
        "session_run_function",
        "watch_sessions",
    ),
    "strategies": (
        "cluster_resolver_class",
        "cross_replica_context",
        "gpus",
        "limit_start_of_peers",
        "one_replica",
        "per_replica",
        "run_on_replicas",
    ),
    "summaries": (
        "monitoring",
        "silence_deprecations",
        "summary_ops_v2",
    ),
    "testing": (
        "keras_test_modules",
        "test_util",
    ),
    "tpu": (
        "XlaContext",
        "all_reduce",
        "cross_replica_sum",
        "custom_call",
        "device_assignment",
        "hlo_module",
        "topology_class",
        "topology_proto",
        "topology_rank",
        "tpu_feed",
        "tpu_function",
        "tpu_ops",
        "training_loop",
        "xla_replica_id",
    ),
    "variables": (
        "DEFAULT_VARIABLE_CREATORS",
        "complete_resource_variables",
        "count_resource_variables_as_variables",
        "let_graph_variables_be_true",
        "plain_variable_class",
        "resource_variable_class",
    ),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
