"""``multi_head`` and ``multi_label_head`` of ``tf.contrib.estimator``, over the heads of version 2.

``tf.estimator.MultiLabelHead`` and ``MultiHead`` check the arguments, labels and logits. The metrics are those
of version 1 (``tf.metrics``), under the names that both versions have.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.idioms import estimator as _estimator

_api = _estimator.api
_canned = "tensorflow_estimator.python.estimator.canned."
_heads: Any = _estimator.load(_canned + "head")
_Head: Any = _heads._Head
_RegressionHead: Any = _heads._RegressionHeadWithMeanSquaredErrorLoss
_MEAN = tf.losses.Reduction.SUM_OVER_BATCH_SIZE


def multi_label_head(
    n_classes: int,
    weight_column: Any = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    classes_for_class_based_metrics: Sequence[Any] | None = None,
    name: str | None = None,
) -> Any:
    """A head for examples that may have several labels, or none.

    Args:
      n_classes: The number of classes.
      weight_column: A feature's name, or a numeric column, with the examples' weights.
      thresholds: Thresholds for which accuracy, precision and recall are reported too.
      label_vocabulary: The labels, if they are strings.
      loss_reduction: How the losses of a batch become one; one of ``tf.losses.Reduction``.
      loss_fn: A function of labels and logits, instead of the mean sigmoid cross entropy of the classes.
      classes_for_class_based_metrics: Classes, or their labels, which have metrics of their own.
      name: The head's name, which is appended to the names of metrics and summaries.

    Returns:
      A head of version 1.

    Raises:
      ValueError: If an argument cannot be used.
    """
    if loss_reduction not in tf.losses.Reduction.all() or loss_reduction == "none":
        raise BadValueError("TPU103", f"Invalid loss_reduction: {loss_reduction}")
    classes = classes_for_class_based_metrics
    today = _api.MultiLabelHead(
        n_classes,
        weight_column=weight_column,
        thresholds=thresholds or None,
        label_vocabulary=label_vocabulary,
        loss_fn=loss_fn,
        classes_for_class_based_metrics=classes or None,
        name=name,
    )
    return _MultiLabel(today, loss_reduction)


class _MultiLabel(_RegressionHead):
    """See :func:`multi_label_head`: a regression to probabilities with another loss and other metrics."""

    def __init__(self, today: Any, loss_reduction: str) -> None:
        super().__init__(
            today.logits_dimension,
            loss_reduction=loss_reduction,
            inverse_link_fn=_probabilities,
            name=today.name,
        )
        self._today = today

    def create_loss(self, features: Any, mode: Any, logits: Any, labels: Any) -> Any:
        """The loss of a batch, those of its examples, their weights, and the labels as ones and zeros."""
        today, logits = self._today, tf.convert_to_tensor(logits)
        ones = today._processed_labels(logits, labels)
        losses, weights = today._unweighted_loss_and_weights(logits, ones, features)
        loss = tf.losses.compute_weighted_loss(losses, weights, reduction=self._loss_reduction)
        return _heads.LossSpec(loss, losses, weights, ones)

    def _create_tpu_estimator_spec(
        self, features: Any, mode: str, logits: Any, labels: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        if mode != "infer":
            labels = self._today._processed_labels(logits, labels)
        make = super()._create_tpu_estimator_spec
        spec = make(features, mode, logits, labels, *args, **kwargs)
        predictions = {"logits": spec.predictions["logits"]}
        predictions["probabilities"] = spec.predictions["predictions"]
        if mode != "infer":
            return spec._replace(predictions=predictions)
        classes = _heads._classification_output(
            predictions["probabilities"], self.logits_dimension, self._today._label_vocabulary
        )
        predicted = _api.export.PredictOutput(predictions)
        outputs = {"serving_default": classes, "classification": classes, "predict": predicted}
        return spec._replace(predictions=predictions, export_outputs=outputs)

    def _eval_metric_ops(
        self,
        predicted_value: Any,
        labels: Any,
        weights: Any,
        unreduced_loss: Any,
        regularization_loss: Any = None,
    ) -> dict[str, Any]:
        today, metrics = self._today, tf.metrics
        given = {"labels": labels, "predictions": predicted_value, "weights": weights}
        with tf.name_scope(None, "metrics", [*given.values(), unreduced_loss]):
            found = {
                today._loss_mean_key: metrics.mean(unreduced_loss, weights),
                today._auc_key: metrics.auc(**given),
                today._auc_pr_key: metrics.auc(curve="PR", **given),
            }
            if regularization_loss is not None:
                found[today._loss_regularization_key] = metrics.mean(regularization_loss)
            for number, threshold in enumerate(today._thresholds):
                for keys, metric in (
                    (today._accuracy_keys, _heads._accuracy_at_threshold),
                    (today._precision_keys, _heads._precision_at_threshold),
                    (today._recall_keys, _heads._recall_at_threshold),
                ):
                    found[keys[number]] = metric(threshold=threshold, **given)
            for number, one in enumerate(today._classes_for_class_based_metrics):
                of_class = {**given, "labels": labels[..., one : one + 1]}
                of_class["predictions"] = predicted_value[..., one : one + 1]
                mean = _heads._predictions_mean(of_class["predictions"], weights)
                found[today._prob_keys[number]] = mean
                found[today._auc_keys[number]] = _heads._auc(**of_class)
                found[today._auc_pr_keys[number]] = _heads._auc(curve="PR", **of_class)
        return found


def _probabilities(logits: Any) -> Any:
    with tf.name_scope(None, "predictions", [logits]):
        return tf.sigmoid(logits, name="probabilities")


def multi_head(heads: Sequence[Any], head_weights: Sequence[float] | None = None) -> Any:
    """A head that joins several: their losses are added, and their metrics and predictions are kept apart.

    Args:
      heads: Heads of version 1, with names.
      head_weights: A factor for the loss of each head; 1 without it.

    Returns:
      A head of version 1. Its labels are a dict by the names of the heads; its logits are one too, or are
      split by the heads' dimensions.

    Raises:
      ValueError: If heads are missing or have no names, or if there are not as many weights.
    """
    if not heads:
        raise BadValueError("TPU103", f"Must specify heads. Given: {heads}")
    return _Several(_api.MultiHead(tuple(heads), tuple(head_weights) if head_weights else None))


class _Several(_Head):
    """See :func:`multi_head`."""

    def __init__(self, today: Any) -> None:
        self._today = today
        self._weights = today._head_weights or [1] * len(today._heads)

    @property
    def name(self) -> str:
        """The names of the heads."""
        return str(self._today.name)

    @property
    def logits_dimension(self) -> int:
        """The sum of the heads' dimensions."""
        return int(self._today.logits_dimension)

    def create_loss(self, features: Any, mode: Any, logits: Any, labels: Any) -> Any:
        """The weighted sum of the losses, and what belongs to each head by its name."""
        split = self._split(logits)
        weighted, weights, ones, found = {}, {}, {}, []
        for head, factor in zip(self._today._heads, self._weights):
            name = head.name
            spec = head.create_loss(features, mode, split[name], labels[name])
            found.append(spec.training_loss)
            weighted[name] = _scaled(spec.unreduced_loss, factor)
            weights[name] = _scaled(spec.weights, factor)
            ones[name] = spec.processed_labels
        return _heads.LossSpec(self._sum(found), weighted, weights, ones)

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None,
    ) -> Any:
        """The ``EstimatorSpec`` of all heads; see the base class.

        Raises:
          ValueError: If the labels are not a dict, or if training has both or neither of an optimizer and
            ``train_op_fn``.
        """
        if labels and not isinstance(labels, dict):
            raise BadValueError("TPU103", f"labels must be a dict. Given: {labels}")
        split = self._split(logits)
        specs = {
            head.name: head.create_estimator_spec(
                features=features,
                mode=mode,
                logits=split[head.name],
                labels=labels[head.name] if labels else None,
                train_op_fn=lambda loss: tf.no_op(),
            )
            for head in self._today._heads
        }
        predictions = {
            (name, key): value
            for name, spec in specs.items()
            for key, value in spec.predictions.items()
        }
        if mode == "infer":
            outputs = self._today._merge_predict_export_outputs(list(specs.values()))
            return _api.EstimatorSpec(mode, predictions, export_outputs=outputs)
        measured: dict[str, Any] = {}
        for name, spec in specs.items():
            if mode == "eval":
                measured["loss/" + name] = tf.metrics.mean(spec.loss)
            measured.update(spec.eval_metric_ops or {})
        loss = self._sum([spec.loss for spec in specs.values()])
        train = _train(loss, optimizer, train_op_fn) if mode == "train" else None
        return _api.EstimatorSpec(mode, predictions, loss, train, measured)

    def _split(self, logits: Any) -> Any:
        return logits if isinstance(logits, dict) else self._today._split_logits(logits)

    def _sum(self, losses: Sequence[Any]) -> Any:
        with tf.name_scope("merge_losses"):
            return tf.add_n([_scaled(*pair) for pair in zip(losses, self._weights)])


def _scaled(value: Any, factor: Any) -> Any:
    return value if isinstance(factor, int) and factor == 1 else tf.multiply(value, factor)


def _train(loss: Any, optimizer: Any, train_op_fn: Callable[[Any], Any] | None) -> Any:
    if (optimizer is None) == (train_op_fn is None):
        which = "None" if optimizer is None else "set"
        raise BadValueError("TPU103", f"train_op_fn and optimizer cannot both be {which}.")
    step = tf.train.get_global_step()
    made = optimizer.minimize(loss, step) if train_op_fn is None else train_op_fn(loss)
    with tf.name_scope(""):
        tf.summary.scalar("loss", loss)
    return made
