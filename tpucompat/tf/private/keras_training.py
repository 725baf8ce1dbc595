"""The training loops of Keras 2's graph engine."""

from __future__ import annotations

import functools
import importlib
import types
from typing import Any, Callable

import numpy as np
import tensorflow.compat.v1 as v1

from tpucompat.tf import patches
from tpucompat.tf.private.keras import is_of_keras, keras_models, keras_source


@patches.patch
def take_iterators() -> None:
    """Lets ``fit``, ``evaluate`` and ``predict`` take an iterator over a Dataset, as up to 1.14.

    1.15 and later refuse it in ``_select_training_loop``, and still know its tensors
    (``_standardize_user_data``). Seen as ``engine.training.Model`` in 1.15 to 2.1 and as
    ``engine.training_v1.Model`` in 2.2 to 2.21.
    """
    for model in keras_models(graph=True):
        if hasattr(model, "_select_training_loop"):
            select: Any = model._select_training_loop
            patches.replace(model, "_select_training_loop", _of_tensors(select))


def _of_tensors(select: Any) -> Any:
    @functools.wraps(select)
    def select_training_loop(self: Any, inputs: Any) -> Any:
        is_iterator = isinstance(inputs, v1.data.Iterator) and not v1.executing_eagerly()
        return select(self, None if is_iterator else inputs)

    return select_training_loop


@patches.patch
def give_validation_data() -> None:
    """Lets a script's callback read ``self.validation_data``, as in standalone Keras up to 2.3.

    It is the list of inputs, targets and sample weights that validation uses (Keras 2.2.4,
    ``engine/training_arrays.py`` and ``training_generator.py``); of a generator or a Dataset it is None.
    The loops are ``fit_loop`` and ``fit_generator``; seen in ``engine.training_arrays`` and
    ``training_generator`` of 1.13 to 2.1, and in modules ``*_v1`` of 2.2 to 2.21.
    """
    for name, loop in (("training_arrays", "fit_loop"), ("training_generator", "fit_generator")):
        module = _engine_module(name)
        patches.replace(module, loop, _announcing(getattr(module, loop)))


@patches.patch
def log_numbers_of_numpy() -> None:
    """Lets callbacks and histories have numbers of NumPy, as up to 2.4: ``logs['loss'].item()``.

    Seen as ``CallbackList._process_logs`` of ``callbacks`` in 2.8 to 2.21, which makes Python's of them.
    """
    kind = importlib.import_module(keras_source() + ".callbacks").CallbackList
    given = getattr(kind, "_process_logs", None)
    if given is None:
        return

    @functools.wraps(given)
    def _process_logs(self: Any, logs: Any, *args: Any, **kwargs: Any) -> Any:
        found = given(self, logs, *args, **kwargs)
        if not isinstance(found, dict):
            return found
        numbers = {key: np.float64(value) for key, value in found.items() if type(value) is float}
        return {**found, **numbers}

    patches.replace(kind, "_process_logs", _process_logs)


@patches.patch
def sum_losses_in_float64() -> None:
    """Lets evaluations sum the losses of batches in float64, as NumPy 1 added a float32 to Python's numbers.

    Seen as ``MetricsAggregator.aggregate`` of ``engine.training_utils`` in 1.15 and of
    ``engine.training_utils_v1`` in 2.21.
    """
    kind = _engine_module("training_utils").MetricsAggregator
    given = kind.aggregate

    @functools.wraps(given)
    def aggregate(self: Any, batch_outs: Any, *args: Any, **kwargs: Any) -> Any:
        loss, *metrics = batch_outs
        if isinstance(loss, np.floating):
            loss = np.float64(loss)
        return given(self, [loss, *metrics], *args, **kwargs)

    patches.replace(kind, "aggregate", aggregate)


@patches.patch
def measure_by_methods() -> None:
    """Lets a method of an object be a metric, as up to 2.3: ``metrics=[callback.accuracy]``.

    Seen as ``get_metric_function`` of ``engine.training_utils_v1`` in 2.4 to 2.21, whose caller marks what it
    gives.
    """
    module = importlib.import_module(keras_source() + ".engine.training_utils_v1")
    given = module.get_metric_function

    @functools.wraps(given)
    def get_metric_function(*args: Any, **kwargs: Any) -> Any:
        found = given(*args, **kwargs)
        if not isinstance(found, types.MethodType):
            return found

        def measured(*args: Any, **kwargs: Any) -> Any:
            return found(*args, **kwargs)

        return measured

    patches.replace(module, "get_metric_function", get_metric_function)


def _engine_module(name: str) -> Any:
    root = keras_source() + ".engine."
    try:
        return importlib.import_module(f"{root}{name}_v1")
    except ImportError:
        return importlib.import_module(root + name)


def _announcing(loop: Callable[..., Any]) -> Any:
    @functools.wraps(loop)
    def fit(model: Any, *args: Any, callbacks: Any = None, **options: Any) -> Any:
        own = [each for each in _listed(callbacks) if not is_of_keras(type(each))]
        data = _arrays(model, options) if own else None
        for callback in own:
            callback.validation_data = data
        return loop(model, *args, callbacks=callbacks, **options)

    return fit


def _listed(callbacks: Any) -> list[Any]:
    callbacks = getattr(callbacks, "callbacks", callbacks)  # of a CallbackList
    return (
        list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks][: bool(callbacks)]
    )


def _arrays(model: Any, options: dict[str, Any]) -> list[Any] | None:
    """Inputs, targets and weights of the arguments of a loop; None where they are not arrays."""
    if "val_inputs" in options:
        parts = [options.get("val_" + name) for name in ("inputs", "targets", "sample_weights")]
    else:
        parts = [*(options.get("validation_data") or ())] if _is_pair(options) else []
        if parts:
            parts = [*model._standardize_user_data(*parts)]
    inputs, targets, weights = (_as_list(part) for part in (*parts, None, None, None)[:3])
    if not inputs or not all(isinstance(each, np.ndarray) for each in inputs + targets):
        return None
    ones: list[Any] = [np.ones(len(each), "float32") for each in targets]
    return [*inputs, *targets, *(weights if any(w is not None for w in weights) else ones)]


def _is_pair(options: dict[str, Any]) -> bool:
    data = options.get("validation_data")
    return isinstance(data, (list, tuple)) and len(data) in (2, 3)


def _as_list(part: Any) -> list[Any]:
    if part is None:
        return []
    if isinstance(part, dict):
        return list(part.values())
    return list(part) if isinstance(part, (list, tuple)) else [part]


@patches.patch
def look_at_the_nearest_threshold() -> None:
    """Gives SensitivityAtSpecificity and its opposite at the threshold that comes nearest to their value.

    1.15 does (``tensorflow/python/keras/metrics.py``). Later Keras gives the best of all thresholds that reach
    the value: ``_find_max_under_constraint``, seen in 2.3 to 2.15 and in tf-keras 2.16 to 2.21.
    """

    def nearest(self: Any, constrained: Any, dependent: Any, predicate: Any) -> Any:
        return dependent[v1.argmin(v1.abs(constrained - self.value), axis=0)]

    for name in ("SensitivityAtSpecificity", "SpecificityAtSensitivity"):
        kind: Any = getattr(v1.keras.metrics, name)
        if hasattr(kind, "_find_max_under_constraint"):
            patches.replace(kind, "_find_max_under_constraint", nearest)
