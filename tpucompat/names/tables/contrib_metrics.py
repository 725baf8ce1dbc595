"""``tf.contrib.metrics`` and ``tf.contrib.losses``: tf-slim has both."""

from __future__ import annotations

from tpucompat.names.rows import Moved, Package, Row

_METRICS = "tpucompat.contrib.slim:metrics"
_LOSSES = "tpucompat.contrib.slim:losses"

_ROWS: dict[str, Row] = {
    "contrib.metrics": Package((_METRICS, "{tf}:metrics")),
    "contrib.metrics.confusion_matrix": Moved("{tf}:confusion_matrix"),
    **{
        "contrib.metrics." + name: Moved("{tf}:sets." + name)
        for name in ("set_difference", "set_intersection", "set_size", "set_union")
    },
    **{
        "contrib.metrics." + name: Moved(_METRICS + "." + name)
        for name in (
            "accuracy",
            "aggregate_metric_map",
            "aggregate_metrics",
            "auc_using_histogram",
            "auc_with_confidence_intervals",
            "cohen_kappa",
            "count",
            "f1_score",
            "precision_at_recall",
            "precision_recall_at_equal_thresholds",
            "recall_at_precision",
            "sparse_recall_at_top_k",
            "streaming_accuracy",
            "streaming_auc",
            "streaming_concat",
            "streaming_covariance",
            "streaming_curve_points",
            "streaming_dynamic_auc",
            "streaming_false_negative_rate",
            "streaming_false_negative_rate_at_thresholds",
            "streaming_false_negatives",
            "streaming_false_negatives_at_thresholds",
            "streaming_false_positive_rate",
            "streaming_false_positive_rate_at_thresholds",
            "streaming_false_positives",
            "streaming_false_positives_at_thresholds",
            "streaming_mean",
            "streaming_mean_absolute_error",
            "streaming_mean_cosine_distance",
            "streaming_mean_iou",
            "streaming_mean_relative_error",
            "streaming_mean_squared_error",
            "streaming_mean_tensor",
            "streaming_pearson_correlation",
            "streaming_percentage_less",
            "streaming_precision",
            "streaming_precision_at_thresholds",
            "streaming_recall",
            "streaming_recall_at_k",
            "streaming_recall_at_thresholds",
            "streaming_root_mean_squared_error",
            "streaming_sensitivity_at_specificity",
            "streaming_sparse_average_precision_at_k",
            "streaming_sparse_average_precision_at_top_k",
            "streaming_sparse_precision_at_k",
            "streaming_sparse_precision_at_top_k",
            "streaming_sparse_recall_at_k",
            "streaming_specificity_at_sensitivity",
            "streaming_true_negatives",
            "streaming_true_negatives_at_thresholds",
            "streaming_true_positives",
            "streaming_true_positives_at_thresholds",
        )
    },
    "contrib.losses": Package(_LOSSES),
    "contrib.losses.metric_learning": Package(_LOSSES + ".metric_learning"),
    **{
        "contrib.losses." + name: Moved(_LOSSES + "." + name)
        for name in (
            "absolute_difference",
            "add_loss",
            "compute_weighted_loss",
            "cosine_distance",
            "get_losses",
            "get_regularization_losses",
            "get_total_loss",
            "hinge_loss",
            "log_loss",
            "mean_pairwise_squared_error",
            "mean_squared_error",
            "sigmoid_cross_entropy",
            "softmax_cross_entropy",
            "sparse_softmax_cross_entropy",
        )
    },
    **{
        "contrib.losses.metric_learning." + name: Moved(_LOSSES + ".metric_learning." + name)
        for name in (
            "cluster_loss",
            "contrastive_loss",
            "lifted_struct_loss",
            "npairs_loss",
            "npairs_loss_multilabel",
            "triplet_semihard_loss",
        )
    },
}

ROWS: dict[str, Row] = {
    **_ROWS,
    # contrib.slim had imported both packages, under their own names.
    **{name.replace("contrib.", "contrib.slim.", 1): row for name, row in _ROWS.items()},
}
