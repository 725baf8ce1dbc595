"""``tf.contrib.estimator``: heads of version 1 and what wraps an Estimator or an optimizer.

The heads are those of ``tensorflow_estimator/python/estimator/canned/head.py``, with the default
reduction of ``tf.contrib.estimator`` (the mean over the batch). Follows
``tensorflow_estimator/contrib/estimator/python/estimator`` of release 1.15.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadTypeError, BadValueError
from tpucompat.legacy import estimator as _estimator

_SOURCE = "tensorflow_estimator.python.estimator."
_api = _estimator.api
_export = _estimator.load(_SOURCE + "export.export")
_heads = _estimator.load(_SOURCE + "canned.head")

# What was in tf.contrib only, and is in the source still.
SavedModelEstimator = _estimator.load(_SOURCE + "canned.saved_model_estimator").SavedModelEstimator
build_supervised_input_receiver_fn_from_input_fn = (
    _export.build_supervised_input_receiver_fn_from_input_fn
)
read_eval_metrics = _estimator.load(_SOURCE + "early_stopping").read_eval_metrics

_MEAN = tf.losses.Reduction.SUM_OVER_BATCH_SIZE


def multi_class_head(
    n_classes: int,
    weight_column: Any = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """A head for labels of more than two classes.

    Args:
      n_classes: The number of classes.
      weight_column: A feature's name, or a numeric column, with the examples' weights.
      label_vocabulary: The labels, if they are strings.
      loss_reduction: How the losses of a batch become one; one of ``tf.losses.Reduction``.
      loss_fn: A function of labels and logits, instead of the softmax cross entropy.
      name: The head's name, which is appended to the names of metrics and summaries.

    Returns:
      A head of version 1.
    """
    return _heads._multi_class_head_with_softmax_cross_entropy_loss(
        n_classes=n_classes,
        weight_column=weight_column,
        label_vocabulary=label_vocabulary,
        loss_reduction=loss_reduction,
        loss_fn=loss_fn,
        name=name,
    )


def binary_classification_head(
    weight_column: Any = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """A head for labels of two classes.

    Args:
      weight_column: A feature's name, or a numeric column, with the examples' weights.
      thresholds: Thresholds for which accuracy, precision and recall are reported too.
      label_vocabulary: The labels, if they are strings.
      loss_reduction: How the losses of a batch become one; one of ``tf.losses.Reduction``.
      loss_fn: A function of labels and logits, instead of the sigmoid cross entropy.
      name: The head's name, which is appended to the names of metrics and summaries.

    Returns:
      A head of version 1.
    """
    return _heads._binary_logistic_head_with_sigmoid_cross_entropy_loss(
        weight_column=weight_column,
        thresholds=thresholds,
        label_vocabulary=label_vocabulary,
        loss_reduction=loss_reduction,
        loss_fn=loss_fn,
        name=name,
    )


def regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> Any:
    """A head for numbers.

    Args:
      weight_column: A feature's name, or a numeric column, with the examples' weights.
      label_dimension: How many numbers belong to an example.
      loss_reduction: How the losses of a batch become one; one of ``tf.losses.Reduction``.
      loss_fn: A function of labels and logits, instead of the squared error.
      inverse_link_fn: Makes predictions of logits.
      name: The head's name, which is appended to the names of metrics and summaries.

    Returns:
      A head of version 1.
    """
    return _heads._regression_head(
        weight_column=weight_column,
        label_dimension=label_dimension,
        loss_reduction=loss_reduction,
        loss_fn=loss_fn,
        inverse_link_fn=inverse_link_fn,
        name=name,
    )


def poisson_regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _MEAN,
    compute_full_loss: bool = True,
    name: str | None = None,
) -> Any:
    """A regression head with ``tf.nn.log_poisson_loss``, see :func:`regression_head`."""

    def loss_fn(labels: Any, logits: Any) -> Any:
        return tf.nn.log_poisson_loss(
            targets=labels, log_input=logits, compute_full_loss=compute_full_loss
        )

    return regression_head(weight_column, label_dimension, loss_reduction, loss_fn, tf.exp, name)


def logistic_regression_head(
    weight_column: Any = None, loss_reduction: str = _MEAN, name: str | None = None
) -> Any:
    """A regression head for labels in [0, 1] with the sigmoid cross entropy, see
    :func:`regression_head`."""

    def loss_fn(labels: Any, logits: Any) -> Any:
        labels = _heads._assert_range(labels, 2, message="Labels must be in range [0, 1]")
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    return regression_head(weight_column, 1, loss_reduction, loss_fn, tf.sigmoid, name)


def clip_gradients_by_norm(optimizer: Any, clip_norm: Any) -> Any:
    """An optimizer that clips the gradients by their global norm before another one applies them.

    Args:
      optimizer: The ``tf.train.Optimizer`` that applies them.
      clip_norm: The largest norm, a scalar.
    """
    return _ClippingOptimizer(optimizer, clip_norm)


class _ClippingOptimizer(tf.train.Optimizer):
    """See :func:`clip_gradients_by_norm`."""

    def __init__(self, optimizer: Any, clip_norm: Any) -> None:
        super().__init__(use_locking=False, name="ClipByNorm" + optimizer.get_name())
        self._optimizer = optimizer
        self._clip_norm = clip_norm

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The wrapped optimizer's gradients."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Clips, and lets the wrapped optimizer apply the gradients."""
        gradients, variables = zip(*grads_and_vars)
        clipped, _ = tf.clip_by_global_norm(gradients, self._clip_norm)
        return self._optimizer.apply_gradients(list(zip(clipped, variables)), global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """A slot variable of the wrapped optimizer."""
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """The wrapped optimizer's slots."""
        return self._optimizer.get_slot_names(*args, **kwargs)


def forward_features(
    estimator: Any,
    keys: str | Sequence[str] | None = None,
    sparse_default_values: Mapping[str, Any] | None = None,
) -> Any:
    """An Estimator whose predictions hold some of the features too.

    Args:
      estimator: The Estimator that predicts.
      keys: Name or names of the features; all of them when None.
      sparse_default_values: Sparse feature -> the value that fills its gaps.

    Returns:
      A new Estimator with the same model directory.

    Raises:
      TypeError: If ``keys`` are no strings.
      ValueError: When it predicts: a key is no feature, is a prediction already, or is no dense
      tensor.
    """
    if isinstance(keys, str):
        keys = [keys]
    if keys is not None and not isinstance(keys, (list, tuple)):
        raise BadTypeError(
            "TPU323",
            f"keys should be either a string or a list of strings. Given: {type(keys)}",
        )
    for key in keys or ():
        if not isinstance(key, str):
            raise BadTypeError(
                "TPU323",
                "All items in the given keys list should be a string. There exist an item with "
                f"type: {type(key)}",
            )

    def model_fn(features: Any, labels: Any, mode: Any, config: Any) -> Any:
        spec = estimator.model_fn(features, labels, mode, config)
        if spec.predictions is None:
            return spec
        forwarded = {
            key: _dense_feature(key, features, spec.predictions, sparse_default_values or {})
            for key in (features.keys() if keys is None else keys)
        }
        predictions: dict[Any, Any] = dict(spec.predictions)
        predictions.update(forwarded)
        for key in ("predict", "serving_default"):
            output = (spec.export_outputs or {}).get(key)
            if isinstance(output, _api.export.PredictOutput):
                output.outputs.update(forwarded)
        return spec._replace(predictions=predictions)

    return _api.Estimator(model_fn=model_fn, model_dir=estimator.model_dir, config=estimator.config)


def _dense_feature(
    key: str, features: Any, predictions: Any, sparse_default_values: Mapping[str, Any]
) -> Any:
    if not isinstance(predictions, dict):
        raise BadValueError(
            "TPU323",
            f"Predictions should be a dict to be able to forward features. Given: "
            f"{type(predictions)}",
        )
    if key not in features:
        raise BadValueError(
            "TPU323",
            f"keys should be exist in features. Key {key!r} is not in features dict. features "
            f"dict has following keys: {list(features)}.",
        )
    if key in predictions:
        raise BadValueError(
            "TPU323",
            f"Cannot forward feature key ({key}). Since it does exist in predictions. Existing "
            f"prediction keys: {list(predictions)}.",
        )
    feature = features[key]
    sparse = isinstance(feature, (tf.SparseTensor, tf.SparseTensorValue))
    if key in sparse_default_values:
        if not sparse:
            raise BadValueError("TPU323", f"Feature ({key}) is expected to be a `SparseTensor`.")
        return tf.sparse.to_dense(feature, default_value=sparse_default_values[key])
    if sparse:
        raise BadValueError(
            "TPU323",
            f"Feature ({key}) should be a Tensor. Use `keys` to filter unwanted features, or add "
            f"the key to `sparse_default_values`. Type of features[{key}] is {type(feature)}.",
        )
    return tf.convert_to_tensor(feature)


def export_saved_model_for_mode(
    estimator: Any,
    export_dir_base: str,
    input_receiver_fn: Callable[[], Any],
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    checkpoint_path: str | None = None,
    mode: str = "infer",
) -> Any:
    """Exports the graph of one mode as a SavedModel; see ``Estimator.export_saved_model``."""
    return estimator.export_saved_model(
        export_dir_base,
        input_receiver_fn,
        assets_extra=assets_extra,
        as_text=as_text,
        checkpoint_path=checkpoint_path,
        experimental_mode=mode,
    )


def export_all_saved_models(
    estimator: Any,
    export_dir_base: str,
    input_receiver_fn_map: Mapping[str, Callable[[], Any]],
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    checkpoint_path: str | None = None,
) -> Any:
    """Exports graphs of several modes; see ``Estimator.experimental_export_all_saved_models``."""
    return estimator.experimental_export_all_saved_models(
        export_dir_base,
        input_receiver_fn_map,
        assets_extra=assets_extra,
        as_text=as_text,
        checkpoint_path=checkpoint_path,
    )
