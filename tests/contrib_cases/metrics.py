"""tf.contrib.metrics and tf.contrib.losses."""

import numpy as np

from contrib_cases import numbers, run, session


def case_streaming(tf):
    """Every streaming metric, over two batches."""
    metrics = tf.contrib.metrics
    results = {}
    with tf.Graph().as_default():
        scores = tf.placeholder(tf.float32, [6])
        labels = tf.placeholder(tf.int64, [6])
        weights = tf.placeholder(tf.float32, [6])
        logits = tf.placeholder(tf.float32, [6, 4])
        classes = tf.argmax(logits, 1)
        truth = labels > 1
        guess = scores > 0.5
        made = {
            "accuracy": metrics.streaming_accuracy(classes, labels, weights),
            "precision": metrics.streaming_precision(guess, truth),
            "recall": metrics.streaming_recall(guess, truth, weights),
            "auc": metrics.streaming_auc(scores, truth, num_thresholds=20),
            "auc_pr": metrics.streaming_auc(scores, truth, curve="PR", num_thresholds=20),
            "f1": metrics.f1_score(tf.cast(truth, tf.int64), scores, num_thresholds=20),
            "mean": metrics.streaming_mean(scores, weights),
            "mean_tensor": metrics.streaming_mean_tensor(logits),
            "mse": metrics.streaming_mean_squared_error(scores, weights),
            "rmse": metrics.streaming_root_mean_squared_error(scores, weights),
            "mae": metrics.streaming_mean_absolute_error(scores, weights),
            "relative": metrics.streaming_mean_relative_error(scores, weights, weights + 1),
            "cosine": metrics.streaming_mean_cosine_distance(
                tf.nn.l2_normalize(logits, 1), tf.nn.l2_normalize(logits[::-1], 1), 1
            ),
            "iou": metrics.streaming_mean_iou(classes, labels, 4),
            "less": metrics.streaming_percentage_less(scores, 0.4),
            "covariance": metrics.streaming_covariance(scores, weights),
            "pearson": metrics.streaming_pearson_correlation(scores, weights),
            "tp": metrics.streaming_true_positives(guess, truth),
            "tn": metrics.streaming_true_negatives(guess, truth),
            "fp": metrics.streaming_false_positives(guess, truth),
            "fn": metrics.streaming_false_negatives(guess, truth),
            "fpr": metrics.streaming_false_positive_rate(guess, truth),
            "fnr": metrics.streaming_false_negative_rate(guess, truth),
            "precision_at": metrics.streaming_precision_at_thresholds(scores, truth, [0.3, 0.7]),
            "recall_at": metrics.streaming_recall_at_thresholds(scores, truth, [0.3, 0.7]),
            "tp_at": metrics.streaming_true_positives_at_thresholds(scores, truth, [0.3, 0.7]),
            "sensitivity": metrics.streaming_sensitivity_at_specificity(
                scores, truth, 0.5, num_thresholds=20
            ),
            "specificity": metrics.streaming_specificity_at_sensitivity(
                scores, truth, 0.5, num_thresholds=20
            ),
            "recall_k": metrics.streaming_recall_at_k(logits, labels, 2),
            "sparse_recall_k": metrics.streaming_sparse_recall_at_k(logits, labels[:, None], 2),
            "sparse_precision_k": metrics.streaming_sparse_precision_at_k(
                logits, labels[:, None], 2
            ),
            "average_precision": metrics.streaming_sparse_average_precision_at_k(
                logits, labels[:, None], 3
            ),
            "concat": metrics.streaming_concat(labels),
            "count": metrics.count(labels, weights),
            "kappa": metrics.cohen_kappa(labels, classes, 4),
            "recall_at_precision": metrics.recall_at_precision(
                truth, scores, 0.5, num_thresholds=20
            ),
            "precision_at_recall": metrics.precision_at_recall(
                truth, scores, 0.5, num_thresholds=20
            ),
            "dynamic_auc": metrics.streaming_dynamic_auc(labels % 2, scores),
            "curve": metrics.streaming_curve_points(truth, scores, num_thresholds=8),
        }
        values, updates = metrics.aggregate_metric_map(made)
        plain, ops = metrics.aggregate_metrics(
            metrics.streaming_mean(scores), metrics.streaming_mean(weights)
        )
        with session(tf) as sess:
            for seed in (1, 2):
                feed = {
                    scores: (numbers(6, seed=seed) + 2) / 4,
                    labels: np.arange(6)[:: (-1) ** seed] % 4,
                    weights: np.abs(numbers(6, seed=seed + 5)),
                    logits: numbers(6, 4, seed=seed + 9),
                }
                results["update" + str(seed)] = sess.run(updates, feed)
                sess.run(ops, feed)
            results["values"] = sess.run(values, feed)
            results["plain"] = sess.run(plain)
        results["names"] = sorted(v.op.name for v in tf.local_variables())
    return results


def case_sets(tf):
    metrics = tf.contrib.metrics

    def build():
        a = tf.constant([[1, 2], [3, 4]])
        b = tf.constant([[2, 5], [4, 3]])
        return {
            "accuracy": metrics.accuracy(tf.constant([1, 2, 3]), tf.constant([1, 0, 3])),
            "confusion": metrics.confusion_matrix([0, 1, 2, 1], [0, 2, 2, 1]),
            "weighted": metrics.confusion_matrix([0, 1], [1, 1], 3, tf.float32, weights=[0.5, 2.0]),
            "size": metrics.set_size(metrics.set_union(a, b)),
            "both": metrics.set_intersection(a, b)._asdict()
            if hasattr(metrics.set_intersection(a, b), "_asdict")
            else metrics.set_intersection(a, b),
            "left": metrics.set_difference(a, b).values,
            "right": metrics.set_difference(a, b, aminusb=False).values,
        }

    return run(tf, build)


def case_losses(tf):
    losses = tf.contrib.losses

    def build():
        a, b = tf.constant(numbers(4, 3)), tf.constant(numbers(4, 3, seed=2))
        one_hot = tf.one_hot([0, 2, 1, 1], 3)
        p = tf.sigmoid(a)
        made = {
            "absolute": losses.absolute_difference(a, b),
            "softmax": losses.softmax_cross_entropy(a, one_hot, weights=0.5, label_smoothing=0.1),
            "sparse": losses.sparse_softmax_cross_entropy(a, tf.constant([0, 2, 1, 1])),
            "sigmoid": losses.sigmoid_cross_entropy(a, one_hot, weights=[1.0, 0.0, 2.0, 1.0]),
            "log": losses.log_loss(p, one_hot),
            "hinge": losses.hinge_loss(a, one_hot),
            "squared": losses.mean_squared_error(a, b, weights=tf.constant([1.0, 2.0, 0.0, 0.5])),
            "pairwise": losses.mean_pairwise_squared_error(a, b),
            "cosine": losses.cosine_distance(
                tf.nn.l2_normalize(a, 1), tf.nn.l2_normalize(b, 1), axis=1
            ),
            "weighted": losses.compute_weighted_loss(a, 2.0),
        }
        losses.add_loss(tf.constant(3.0))
        made["total"] = losses.get_total_loss()
        made["count"] = tf.constant(len(losses.get_losses()))
        made["gradient"] = tf.gradients(made["pairwise"], [a, b])
        return made

    return run(tf, build)


def case_metric_learning(tf):
    learning = tf.contrib.losses.metric_learning

    def build():
        labels = tf.constant([0, 1, 2, 0, 1, 2, 0, 0])
        embeddings = tf.constant(numbers(8, 5))
        normal = tf.nn.l2_normalize(embeddings, 1)
        other = tf.constant(numbers(8, 5, seed=2))
        sparse = [
            tf.SparseTensor([[i, c]], tf.constant([1.0]), [1, 3])
            for i, c in [(0, 0), (0, 1), (0, 2), (0, 0)]
        ]
        made = {
            "triplet": learning.triplet_semihard_loss(labels, normal, margin=0.7),
            "contrastive": learning.contrastive_loss(
                tf.constant([1, 0, 1, 0, 1, 1, 0, 0]), embeddings, other
            ),
            "lifted": learning.lifted_struct_loss(labels, normal),
            "npairs": learning.npairs_loss(labels, embeddings, other, reg_lambda=0.01),
            "multilabel": learning.npairs_loss_multilabel(sparse, embeddings[:4], other[:4]),
        }
        for name in sorted(made):
            made[name + "_gradient"] = tf.gradients(made[name], embeddings)[0]
        return made

    return run(tf, build)
