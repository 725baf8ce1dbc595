"""What no program for TPUs was found to use of ``tf.contrib``: docs/contrib.md has the count.

Each group names what to use instead. A symbol comes back when somebody shows a program that needs it.
"""

from __future__ import annotations

from typing import Iterator

from tpucompat.names.rows import Gone, Row

_REASON = "It belonged to tf.contrib, and no public program for TPUs that was counted uses it."


def _unused(instead: str) -> Gone:
    return Gone("TPU101", _REASON, instead)


_COLUMNS = "Use tf.feature_column, and tf.feature_column.input_layer or linear_model."
_HEADS = "Use the heads of tf.estimator, tf.estimator.BinaryClassHead and its kin."
_EMBEDDINGS = "Use tf.nn.embedding_lookup, embedding_lookup_sparse or safe_embedding_lookup_sparse."
_CROSSES = "Use tf.sparse.cross_hashed, or tf.feature_column.crossed_column."
_QUEUES = "Use tf.data."
_STATE = "Use tf.data, and carry the state through the model's own features."
_CELLS = "Use the cells of tf.nn.rnn_cell, or write a cell of one's own on tf.nn.rnn_cell.RNNCell."
_OPTIMIZERS = "Use an optimizer of tf.train or tf.keras.optimizers."
_WARPS = (
    "Use scipy.ndimage.map_coordinates in a tf.py_func, or tf.gather on coordinates of one's own."
)
_TRACKING = "Use tf.train.Checkpoint, tf.Module and tf.train.list_variables."

#: (package, what to use instead) -> its names.
_GROUPS: dict[tuple[str, str], str] = {
    ("layers", _COLUMNS): """
        bucketized_column check_feature_columns create_feature_spec_for_parsing crossed_column
        embedding_column infer_real_valued_columns input_from_feature_columns
        joint_weighted_sum_from_feature_columns make_place_holder_tensors_for_base_features one_hot_column
        parse_feature_columns_from_examples parse_feature_columns_from_sequence_examples real_valued_column
        scattered_embedding_column sequence_input_from_feature_columns shared_embedding_columns
        sparse_column_with_hash_bucket sparse_column_with_integerized_feature sparse_column_with_keys
        sparse_column_with_vocabulary_file transform_features weighted_sparse_column
        weighted_sum_from_feature_columns feature_column python.layers.feature_column
        python.layers.feature_column_ops
    """,
    ("slim", _COLUMNS): "DataFrameColumn InputLayer",
    ("layers", _HEADS): "multi_class_target regression_target python.layers.target_column",
    ("slim", _HEADS): "ProblemType binary_svm_target get_default_binary_metrics_for_eval",
    ("slim", _EMBEDDINGS): """
        embedding_lookup_sparse_with_distributed_aggregation scattered_embedding_lookup
        scattered_embedding_lookup_sparse
    """,
    ("layers", _CROSSES): """
        SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY python.ops.sparse_feature_cross_op
    """,
    ("slim", _CROSSES): "sparse_feature_cross",
    ("feature_column", "Use tf.feature_column.sequence_numeric_column and its kin."): """
        sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity
        sequence_categorical_column_with_vocabulary_file sequence_categorical_column_with_vocabulary_list
        sequence_input_layer sequence_numeric_column
    """,
    ("training", _QUEUES): """
        rejection_sample resample_at_rate stratified_sample weighted_resample
        python.training.resample python.training.sampling_ops
    """,
    ("training", _STATE): """
        NextQueuedSequenceBatch SequenceQueueingStateSaver batch_sequences_with_states
        python.training.sequence_queueing_state_saver
    """,
    ("rnn", _CELLS): """
        AttentionCellWrapper BidirectionalGridLSTMCell CompiledWrapper CoupledInputForgetGateLSTMCell
        GLSTMCell GridLSTMCell HighwayWrapper IndRNNCell IndyGRUCell IndyLSTMCell
        IntersectionRNNCell PhasedLSTMCell SRUCell
        TimeFreqLSTMCell UGRNNCell best_effort_input_batch_size
    """,
    ("rnn", "Use stack_bidirectional_dynamic_rnn, or tf.nn.static_bidirectional_rnn."): """
        stack_bidirectional_rnn
    """,
    ("rnn", "Convert the variables by tf.train.load_checkpoint and a tf.train.Saver."): """
        python.tools.checkpoint_convert
    """,
    ("opt", _OPTIMIZERS): """
        AdaMaxOptimizer AdamGSOptimizer AddSignOptimizer GGTOptimizer LazyAdamGSOptimizer
        PowerSignOptimizer RegAdagradOptimizer ShampooOptimizer python.training.matrix_functions
    """,
    ("opt", "Use scipy.optimize.minimize on a function that runs the Session."): """
        ExternalOptimizerInterface ScipyOptimizerInterface
    """,
    ("opt", "Use tf.clip_by_norm or tf.clip_by_global_norm, and tf.cond around a step."): """
        MultitaskOptimizerWrapper VariableClippingOptimizer clip_gradients_by_global_norm
    """,
    ("optimizer_v2", "Use tf.train.RMSPropOptimizer."): "RMSPropOptimizer",
    ("nn", "Use tf.nn.dropout, tf.nn.softplus and tf.nn.selu."): "alpha_dropout scaled_softplus",
    ("nn", "Use the function without deprecated_flipped_, with logits= and labels= by name."): """
        deprecated_flipped_sigmoid_cross_entropy_with_logits
        deprecated_flipped_softmax_cross_entropy_with_logits
        deprecated_flipped_sparse_softmax_cross_entropy_with_logits
    """,
    ("sparsemax", "Use tf.nn.softmax, or the sparsemax of the package tensorflow-addons."): """
        sparsemax sparsemax_loss
    """,
    ("framework", "Use the functions of tf.debugging, tf.add_n and tf.reduce_sum."): """
        assert_scalar_int reduce_sum_n remove_squeezable_dimensions
    """,
    ("framework", "Use tf.py_func, tf.Print and Graph.get_operations."): """
        get_placeholders py_func python.ops.prettyprint_ops
    """,
    ("framework", "Use tf.train.init_from_checkpoint."): """
        load_linear_multiclass_bias_initializer load_variable_slot_initializer
    """,
    ("data", "Use tf.data.Dataset.reduce, tf.ensure_shape and make_batched_features_dataset."): """
        assert_element_shape read_batch_features reduce_dataset
    """,
    ("image", _WARPS): """
        dense_image_warp interpolate_spline sparse_image_warp
        python.ops.dense_image_warp python.ops.dense_image_warp._interpolate_bilinear
    """,
    ("resampler", "Use tf.gather on coordinates of one's own."): "resampler",
    ("lookup", "Use index_table_from_file, index_table_from_tensor and their tables' lookup."): """
        index_to_string string_to_index string_to_index_table_from_file
        string_to_index_table_from_tensor
    """,
    ("distribute", "Use tf.train.MonitoredSession with hooks."): "Monitor python.monitor",
    ("testing", "Read the event files by tf.train.summary_iterator."): """
        python.framework.fake_summary_writer python.framework.util_test
    """,
    ("checkpoint", _TRACKING): """
        CheckpointableBase List Mapping NoDependency NumpyState PythonStateWrapper UniqueNameTracker
        capture_dependencies dot_graph_from_checkpoint list_objects object_metadata split_dependency
    """,
    (
        "eager",
        "Use Accuracy of tf.contrib.eager.metrics on tf.argmax of the outputs, or tf.keras.metrics.",
    ): """
        metrics.BinaryAccuracy metrics.CategoricalAccuracy metrics.SparseAccuracy
    """,
    ("model_pruning", "Use tf.nn.rnn_cell with apply_mask on the weights."): """
        MaskedBasicLSTMCell MaskedLSTMCell python.layers.rnn_cells
    """,
    ("model_pruning", "Multiply the weights by get_masks() before the graph is frozen."): """
        graph_def_from_checkpoint strip_pruning_vars_fn python.strip_pruning_vars_lib
    """,
    ("model_pruning", "Run Pruning.conditional_mask_update_op beside the train_op."): """
        train python.learning
    """,
    ("estimator", "Use tf.contrib.estimator.regression_head with loss_fn and inverse_link_fn."): """
        logistic_regression_head poisson_regression_head
    """,
}
#: ``contrib.slim`` had the public names of ``contrib.layers``.
_ALSO_IN_SLIM = ("layers",)


def _rows() -> Iterator[tuple[str, Row]]:
    for (package, instead), names in _GROUPS.items():
        for name in names.split():
            yield f"contrib.{package}.{name}", _unused(instead)
            if package in _ALSO_IN_SLIM and "python." not in name and name != "feature_column":
                yield f"contrib.slim.{name}", _unused(instead)


ROWS: dict[str, Row] = {
    "contrib.testing": _unused("Read the event files by tf.train.summary_iterator."),
    **dict(_rows()),
}
