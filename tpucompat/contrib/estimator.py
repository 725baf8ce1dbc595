"""``tf.contrib.estimator``: heads of version 1 and what wraps an Estimator or an optimizer.

The heads are those of ``tensorflow_estimator/python/estimator/canned/head.py``, with the default
reduction of ``tf.contrib.estimator`` (the mean over the batch). Follows
``tensorflow_estimator/contrib/estimator/python/estimator`` of release 1.15.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError
from tpucompat.idioms import estimator as _estimator

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


def forward_features(
    estimator: Any, keys: Any = None, sparse_default_values: Mapping[str, Any] | None = None
) -> Any:
    """An Estimator whose predictions have features of the input too.

    Args:
      estimator: The Estimator that is extended.
      keys: The names of the features, or the name of one; all without it.
      sparse_default_values: The sparse features that become dense, and what fills them.

    Returns:
      An Estimator with the same directory and configuration.

    Raises:
      ValueError: If a feature is missing, sparse, or named like a prediction.
      TypeError: If a name is not a string.
    """
    names = [keys] if isinstance(keys, str) else keys
    if names is not None and not isinstance(names, (list, tuple)):
        raise BadTypeError(
            "TPU103", f"keys should be either a string or a list of strings. Given: {type(keys)}"
        )
    for name in names or ():
        if not isinstance(name, str):
            raise BadTypeError(
                "TPU103", f"All items in the given keys list should be a string: {type(name)}"
            )

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        spec = estimator.model_fn(features, labels, mode, config)
        if spec.predictions is None:
            return spec
        forwarded = {
            name: _forwarded(name, features, spec.predictions, sparse_default_values or {})
            for name in (features if names is None else names)
        }
        spec.predictions.update(forwarded)
        for key in ("predict", "serving_default"):
            output = (spec.export_outputs or {}).get(key)
            if isinstance(output, _api.export.PredictOutput):
                output.outputs.update(forwarded)
        return spec

    return _api.Estimator(model_fn=model_fn, model_dir=estimator.model_dir, config=estimator.config)


def _forwarded(name: str, features: Any, predictions: Any, fillings: Mapping[str, Any]) -> Any:
    if not isinstance(predictions, dict):
        raise BadValueError(
            "TPU103",
            f"Predictions should be a dict to be able to forward features: {type(predictions)}",
        )
    if name not in features:
        raise BadValueError(
            "TPU103",
            f'keys should be exist in features. Key "{name}" is not in features dict. '
            f"features dict has following keys: {list(features)}.",
        )
    if name in predictions:
        raise BadValueError(
            "TPU103",
            f"Cannot forward feature key ({name}). Since it does exist in predictions. "
            f"Existing prediction keys: {list(predictions)}.",
        )
    feature = features[name]
    if isinstance(feature, tf.SparseTensor):
        if name not in fillings:
            raise BadValueError(
                "TPU103",
                f"Feature ({name}) should be a Tensor. Please use `keys` argument of "
                "forward_features to filter unwanted features, or add key to argument "
                "`sparse_default_values`.",
            )
        return tf.sparse.to_dense(feature, default_value=fillings[name])
    if name in fillings:
        raise BadValueError("TPU103", f"Feature ({name}) is expected to be a `SparseTensor`.")
    return tf.convert_to_tensor(feature)


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
