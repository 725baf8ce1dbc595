"""Target columns of ``tf.contrib.layers``: loss, predictions and metrics of a model's outputs.

Behaviour follows tensorflow/contrib/layers/python/layers/target_column.py of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, Callable

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadValueError
from tpucompat.legacy.contrib.slim import losses, metrics

Loss = Callable[[Any, Any], Any]


class ProblemType:
    """What a model's outputs are."""

    UNSPECIFIED = 0
    CLASSIFICATION = 1
    LINEAR_REGRESSION = 2
    LOGISTIC_REGRESSION = 3


class _TargetColumn:
    """What a model is trained for.

    Args:
      loss_fn: Gives the loss of each example, of logits and labels.
      num_label_columns: How many outputs the model has.
      label_name: The name of the label, where there are several.
      weight_column_name: The feature that holds a weight for each example, or None.
      problem_type: One of :class:`ProblemType`.
    """

    def __init__(
        self,
        loss_fn: Loss,
        num_label_columns: int | None,
        label_name: str | None,
        weight_column_name: str | None,
        problem_type: int,
    ) -> None:
        if num_label_columns is None:
            raise BadValueError("TPU103", "num_label_columns must be provided")
        self._loss_fn = loss_fn
        self.num_label_columns = num_label_columns
        self.label_name = label_name
        self.weight_column_name = weight_column_name
        self.problem_type = problem_type

    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Any:
        """What the model says: classes, probabilities or numbers."""
        raise NotImplementedError

    def get_eval_ops(
        self, features: Any, logits: Any, labels: Any, metrics: Any = None
    ) -> dict[str, Any]:
        """Name to (value, update) of the loss and the metrics."""
        raise NotImplementedError

    def get_weight_tensor(self, features: Any) -> Any:
        """A vector of the examples' weights, or None."""
        if not self.weight_column_name:
            return None
        return tf.reshape(tf.cast(features[self.weight_column_name], tf.float32), shape=(-1,))

    def training_loss(
        self, logits: Any, target: Any, features: Any, name: str = "training_loss"
    ) -> Any:
        """The mean of the weighted losses."""
        return tf.reduce_mean(self._losses(logits, target, features)[0], name=name)

    def loss(self, logits: Any, target: Any, features: Any) -> Any:
        """The weighted mean of the losses."""
        weighted, weights = self._losses(logits, target, features)
        if weights is None:
            return tf.reduce_mean(weighted, name="loss")
        total = tf.cast(tf.reduce_sum(weights), tf.float32)
        return tf.div(tf.reduce_sum(weighted), total, name="loss")

    def _losses(self, logits: Any, target: Any, features: Any) -> tuple[Any, Any]:
        """The losses, weighted where there are weights, and those."""
        found = self._loss_fn(logits, target)
        weights = self.get_weight_tensor(features)
        if weights is None:
            return found, None
        return tf.multiply(tf.reshape(found, shape=(-1,)), weights), weights


class _RegressionTargetColumn(_TargetColumn):
    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Any:
        return tf.squeeze(logits, axis=[1]) if self.num_label_columns == 1 else logits

    def get_eval_ops(
        self, features: Any, logits: Any, labels: Any, metrics: Any = None
    ) -> dict[str, Any]:
        found = {"loss": _mean(self.loss(logits, labels, features))}
        if metrics:
            predictions = self.logits_to_predictions(logits, proba=False)
            weights = self.get_weight_tensor(features)
            found.update(_run_metrics(predictions, labels, metrics, weights))
        return found


class _MultiClassTargetColumn(_TargetColumn):
    def __init__(
        self, loss_fn: Loss, n_classes: int, label_name: str | None, weight_column_name: str | None
    ) -> None:
        if n_classes < 2:
            raise BadValueError("TPU103", "n_classes must be >= 2")
        super().__init__(
            loss_fn=loss_fn,
            num_label_columns=1 if n_classes == 2 else n_classes,
            label_name=label_name,
            weight_column_name=weight_column_name,
            problem_type=ProblemType.CLASSIFICATION,
        )

    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Any:
        if self.num_label_columns == 1:
            logits = tf.concat([tf.zeros_like(logits), logits], 1)
        return tf.nn.softmax(logits) if proba else tf.argmax(logits, 1)

    def get_eval_ops(
        self, features: Any, logits: Any, labels: Any, metrics: Any = None
    ) -> dict[str, Any]:
        found = {"loss": _mean(self.loss(logits, labels, features))}
        if metrics is None:
            metrics = {("accuracy", "classes"): _slim_metrics.streaming_accuracy}
        probabilities = tf.sigmoid(logits)
        labels_float = tf.cast(labels, tf.float32)
        if self.num_label_columns == 1:
            for name, metric in get_default_binary_metrics_for_eval(thresholds=[0.5]).items():
                found[name] = metric(probabilities, labels_float)
        weights = self.get_weight_tensor(features)
        for kind, chosen in _by_kind(metrics).items():
            if chosen:
                predictions = self.logits_to_predictions(logits, proba=kind == "probabilities")
                found.update(_run_metrics(predictions, labels, chosen, weights))
        return found


class _BinarySvmTargetColumn(_MultiClassTargetColumn):
    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Any:
        if proba:
            raise BadValueError(
                "TPU103", "logits to probabilities is not supported for _BinarySvmTargetColumn"
            )
        return super().logits_to_predictions(logits)


def regression_target(
    label_name: str | None = None, weight_column_name: str | None = None, label_dimension: int = 1
) -> Any:
    """A model of numbers, with the squared difference for its loss.

    Args:
      label_name: The name of the label, where there are several.
      weight_column_name: The feature that holds a weight for each example.
      label_dimension: How many numbers a label has.
    """
    return _RegressionTargetColumn(
        loss_fn=_squared_loss,
        num_label_columns=label_dimension,
        label_name=label_name,
        weight_column_name=weight_column_name,
        problem_type=ProblemType.LINEAR_REGRESSION,
    )


def multi_class_target(
    n_classes: int, label_name: str | None = None, weight_column_name: str | None = None
) -> Any:
    """A model of classes, with the cross entropy for its loss.

    Args:
      n_classes: How many; two of them need one output only.
      label_name: The name of the label, where there are several.
      weight_column_name: The feature that holds a weight for each example.

    Raises:
      ValueError: If there are fewer than two classes.
    """
    if n_classes < 2:
        raise BadValueError("TPU103", "n_classes must be > 1 for classification.")
    return _MultiClassTargetColumn(
        loss_fn=_log_loss if n_classes == 2 else _cross_entropy,
        n_classes=n_classes,
        label_name=label_name,
        weight_column_name=weight_column_name,
    )


def binary_svm_target(label_name: str | None = None, weight_column_name: str | None = None) -> Any:
    """A model of two classes, with the hinge loss.

    Args:
      label_name: The name of the label, where there are several.
      weight_column_name: The feature that holds a weight for each example.
    """
    return _BinarySvmTargetColumn(
        loss_fn=_hinge_loss,
        n_classes=2,
        label_name=label_name,
        weight_column_name=weight_column_name,
    )


def _as_column(target: Any) -> Any:
    return tf.expand_dims(target, axis=1) if len(target.shape) == 1 else target


def _squared_loss(logits: Any, target: Any) -> Any:
    target = _as_column(target)
    logits.shape.assert_is_compatible_with(target.shape)
    return tf.squared_difference(logits, tf.cast(target, tf.float32))


def _log_loss(logits: Any, target: Any) -> Any:
    labels = tf.cast(_as_column(target), tf.float32)
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)


def _cross_entropy(logits: Any, target: Any) -> Any:
    if not target.dtype.is_integer:
        raise BadValueError(
            "TPU103", f"Target's dtype should be integer Instead got {target.dtype}."
        )
    if len(target.shape) == 2:
        target = tf.squeeze(target, axis=[1])
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)


def _hinge_loss(logits: Any, target: Any) -> Any:
    fits = tf.Assert(
        tf.less_equal(tf.rank(target), 2),
        ["target's shape should be either [batch_size, 1] or [batch_size]"],
    )
    with tf.control_dependencies([fits]):
        target = tf.reshape(target, shape=[tf.shape(target)[0], 1])
    return losses.hinge_loss(logits, target)


# Metrics -------------------------------------------------------------------------------------------

_slim_metrics: Any = metrics  # `metrics` is an argument of get_eval_ops


def _by_kind(metrics: dict[Any, Any]) -> dict[str, dict[str, Any]]:
    """Metrics of classes and of probabilities; the names of others are texts or have one of those words.

    Raises:
      ValueError: If a name is neither.
    """
    found: dict[str, dict[str, Any]] = {"classes": {}, "probabilities": {}}
    for name, metric in metrics.items():
        if isinstance(name, str):
            found["classes"][name] = metric
            continue
        if not isinstance(name, tuple):
            problem = "Its name is not in the correct form."
        elif len(name) != 2:
            problem = f"It returned a tuple with len {len(name)}, expected 2."
        elif name[1] not in found:
            problem = "The 2nd element of its name should be either 'classes' or 'probabilities'."
        else:
            found[name[1]][name[0]] = metric
            continue
        raise BadValueError("TPU103", f"Ignoring metric {name}. {problem}")
    return found


def _run_metrics(predictions: Any, labels: Any, metrics: Any, weights: Any) -> dict[str, Any]:
    labels = tf.cast(labels, predictions.dtype)
    options = {} if weights is None else {"weights": weights}
    return {
        name: metric(predictions, labels, **options) for name, metric in (metrics or {}).items()
    }


def _mean(values: Any, weights: Any = None) -> Any:
    return _slim_metrics.streaming_mean(values, weights=weights)


def _mean_of_labels(predictions: Any, labels: Any, weights: Any = None) -> Any:
    return _mean(labels, weights)


def _area(predictions: Any, labels: Any, weights: Any = None) -> Any:
    return _slim_metrics.streaming_auc(predictions, labels, weights=_as_float(weights))


def _as_float(weights: Any) -> Any:
    return None if weights is None else tf.cast(weights, tf.float32)


def _accuracy_at(threshold: float) -> Any:
    def accuracy(predictions: Any, labels: Any, weights: Any = None) -> Any:
        above = tf.cast(tf.greater_equal(predictions, threshold), tf.float32)
        return _slim_metrics.streaming_accuracy(predictions=above, labels=labels, weights=weights)

    return accuracy


def _at(metric: Any, threshold: float) -> Any:
    def at_threshold(predictions: Any, labels: Any, weights: Any = None) -> Any:
        value, update = metric(
            predictions, labels=labels, thresholds=[threshold], weights=_as_float(weights)
        )
        return tf.squeeze(value), update

    return at_threshold


def get_default_binary_metrics_for_eval(thresholds: Any) -> dict[str, Any]:
    """The metrics of a model of two classes.

    Args:
      thresholds: Probabilities from which on an example is taken to be of the second class.

    Returns:
      Name to function of probabilities, labels and weights that gives (value, update).
    """
    found = {
        "labels/prediction_mean": lambda predictions, labels, weights=None: _mean(
            predictions, weights
        ),
        "labels/actual_target_mean": _mean_of_labels,
        "accuracy/baseline_target_mean": _mean_of_labels,
        "auc": _area,
    }
    for each in thresholds:
        found[f"accuracy/threshold_{each:f}_mean"] = _accuracy_at(each)
        found[f"precision/positive_threshold_{each:f}_mean"] = _at(
            _slim_metrics.streaming_precision_at_thresholds, each
        )
        found[f"recall/positive_threshold_{each:f}_mean"] = _at(
            _slim_metrics.streaming_recall_at_thresholds, each
        )
    return found
