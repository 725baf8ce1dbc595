"""``keras.wrappers.scikit_learn``, which Keras 2.13 removed: Keras models as scikit-learn's estimators.

Behaviour follows tensorflow/python/keras/wrappers/scikit_learn.py of TensorFlow 1.15.
"""

from __future__ import annotations

import copy
import inspect
import types
from typing import Any, Callable, Iterable

import numpy as np

from tpucompat.base.late import late
from tpucompat.engines import session

utils = late("sklearn.utils")


class BaseWrapper:
    """What the two wrappers share: arguments of the model's function and of its methods in one.

    Args:
      build_fn: A function that returns a compiled model, or an object that is called for one; None where a
        subclass has ``__call__``.
      **sk_params: Arguments of that function, or of the model's fit, predict and evaluate.

    Raises:
      ValueError: Neither of them has such an argument.
    """

    def __init__(self, build_fn: Any = None, **sk_params: Any) -> None:
        self.build_fn = build_fn
        self.sk_params = sk_params
        self.check_params(sk_params)

    def check_params(self, params: Iterable[str]) -> None:
        """Refuses arguments that nothing takes."""
        functions = [self._builder(), *(getattr(_sequential(), name) for name in _METHODS)]
        for name in params:
            if name != "nb_epoch" and not any(name in _arguments(each) for each in functions):
                raise ValueError(f"{name} is not a legal parameter")

    def get_params(self, **params: Any) -> dict[str, Any]:
        """A copy of all arguments, as scikit-learn clones estimators by it."""
        del params
        return {**copy.deepcopy(self.sk_params), "build_fn": self.build_fn}

    def set_params(self, **params: Any) -> Any:
        """Sets arguments; returns the estimator."""
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Makes a new model and trains it; returns Keras' History."""
        make: Any = self if self.build_fn is None else self.build_fn
        self.model = make(**self.filter_sk_params(self._builder()))
        if _loss_name(self.model) == "categorical_crossentropy" and np.ndim(y) != 2:
            y = _categories(y)
        arguments = copy.deepcopy(self.filter_sk_params(_sequential().fit))
        arguments.update(kwargs)
        return self.model.fit(x, y, **arguments)

    def filter_sk_params(self, fn: Callable[..., Any], override: Any = None) -> dict[str, Any]:
        """Those of the arguments that a function takes, and those that override them."""
        taken = {name: value for name, value in self.sk_params.items() if name in _arguments(fn)}
        taken.update(override or {})
        return taken

    def _evaluated(self, x: Any, y: Any, given: dict[str, Any]) -> list[Any]:
        """The loss and the metrics of the model."""
        arguments = self.filter_sk_params(_sequential().evaluate, given)
        found = self.model.evaluate(x, y, **arguments)
        return found if isinstance(found, list) else [found]

    def _builder(self) -> Any:
        make: Any = self if self.build_fn is None else self.build_fn
        return make if isinstance(make, (types.FunctionType, types.MethodType)) else make.__call__

    def __sklearn_tags__(self) -> Any:
        """Neither classifier nor regressor, as scikit-learn took them; 1.6 and later ask for it."""
        tags = utils.TargetTags(required=True)
        return utils.Tags(estimator_type=None, target_tags=tags)


class KerasClassifier(BaseWrapper):
    """A Keras classifier; labels may be of any kind."""

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Trains on labels of shape [samples] or one-hot rows.

        Raises:
          ValueError: ``y`` has more dimensions.
        """
        self.classes_, targets = _numbered(np.array(y))
        self.n_classes_ = len(self.classes_)
        return super().fit(x, targets, **kwargs)

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """The labels of samples."""
        kwargs = self.filter_sk_params(_sequential().predict_classes, kwargs)
        return self.classes_[self.model.predict_classes(x, **kwargs)]

    def predict_proba(self, x: Any, **kwargs: Any) -> Any:
        """Class probabilities, shape [samples, classes]."""
        arguments = self.filter_sk_params(_sequential().predict_proba, kwargs)
        found = np.asarray(self.model.predict(x, **arguments))
        return _of_both_classes(found) if found.shape[1] == 1 else found

    def score(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """The mean accuracy.

        Raises:
          ValueError: The model was compiled without accuracy.
        """
        y = np.searchsorted(self.classes_, y)
        if _loss_name(self.model) == "categorical_crossentropy" and y.ndim != 2:
            y = _categories(y)
        found = dict(zip(self.model.metrics_names, self._evaluated(x, y, kwargs)))
        accuracy = found.get("accuracy", found.get("acc"))
        if accuracy is None:
            raise ValueError(
                "The model is not configured to compute accuracy. You should pass "
                '`metrics=["accuracy"]` to the `model.compile()` method.'
            )
        return accuracy


class KerasRegressor(BaseWrapper):
    """A Keras regressor."""

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """Predictions, shape [samples]."""
        kwargs = self.filter_sk_params(_sequential().predict, kwargs)
        return np.squeeze(self.model.predict(x, **kwargs), axis=-1)

    def score(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Minus the loss: the more the better."""
        return -self._evaluated(x, y, kwargs)[0]


def _of_both_classes(second: Any) -> Any:
    """Probabilities of two classes from a sigmoid's, which are those of the second."""
    return np.concatenate((1 - second, second), axis=1)


_METHODS = ("fit", "predict", "predict_classes", "evaluate")


def _numbered(labels: Any) -> tuple[Any, Any]:
    """The classes of labels, and the labels as numbers of theirs; rows are one-hot, and stay.

    Raises:
      ValueError: The labels have more dimensions.
    """
    if labels.ndim == 2 and labels.shape[1] > 1:
        return np.arange(labels.shape[1]), labels
    if labels.ndim != 1 and labels.shape[1:] != (1,):
        raise ValueError("Invalid shape for y: " + str(labels.shape))
    classes, numbers = np.unique(labels, return_inverse=True)
    return classes, numbers.reshape(labels.shape)


def _arguments(function: Callable[..., Any]) -> Any:
    return inspect.signature(function).parameters


def _loss_name(model: Any) -> str:
    loss = model.loss
    return str(getattr(loss, "name", None) or getattr(loss, "__name__", loss))


def _categories(labels: Any) -> Any:
    return _keras().utils.to_categorical(labels)


def _sequential() -> Any:
    return _keras().Sequential


def _keras() -> Any:
    return session.keras_of_the_era()
