"""Watches models: what ``fit``, ``evaluate`` and ``predict`` of Keras and of Estimators return."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable, Iterator

import numpy as np

from tpucompat.commands.verify.graph_watcher import GraphWatcher
from tpucompat.commands.verify.outputs import not_converted
from tpucompat.commands.verify.recorder import Recorder
from tpucompat.tf import private

# Imports inside functions: each enters the graph world, and needs an idiom that not every script uses.

#: More rows than this of a prediction are not kept.
_ROWS = 4096


class ModelWatcher:
    """Watches the methods of models.

    Args:
      recorder: Where to write.
      graphs: The watcher of graphs, which is told about models on several cores.
      repeats: A context for what a model_fn prints when it is called again: the loop that ``tpucompat
        migrate`` writes calls it in a graph, and in its steps.
      between_calls: Called after a training; nothing of the model runs then.
      begins_anew: Called before a training that makes its variables again.
      saved: Called when a checkpoint of a model is written, with what writes it again.
    """

    def __init__(
        self,
        recorder: Recorder,
        graphs: GraphWatcher | None,
        repeats: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
        between_calls: Callable[[], None] = lambda: None,
        begins_anew: Callable[[], None] = lambda: None,
        saved: Callable[[Callable[[], None]], None] = lambda again: None,
    ) -> None:
        self._recorder = recorder
        self._graphs = graphs
        self._repeats = repeats
        self._between_calls = between_calls
        self._begins_anew = begins_anew
        self._saved = saved

    def open_keras(self) -> None:
        """Begins to watch Keras' models."""
        classes = {*private.keras_models(graph=False)}
        with contextlib.suppress(Exception):  # Keras 3 has no graph engine
            classes |= {*private.keras_models(graph=True)}
        takers = {
            "fit": self._history,
            "fit_generator": self._history,
            "evaluate": self._evaluation,
            "evaluate_generator": self._evaluation,
            "predict": self._prediction,
            "predict_generator": self._prediction,
        }
        for one in classes:
            for name, take in takers.items():
                if hasattr(one, name):
                    setattr(one, name, self._watched(getattr(one, name), take))

    def open_tpu_models(self) -> None:
        """Begins to watch the models of ``keras_to_tpu_model``, when they train on several cores."""
        from tpucompat.idioms.keras_tpu import model as keras_model

        graphs = self._graphs
        model: Any = keras_model.KerasTPUModel
        original = model._make_train_function

        def make_train_function(this: Any) -> Any:
            cores = this._batch.cores if this._batch is not None else 1
            if graphs is None or cores == 1:
                return original(this)
            # Optimizers of Keras average the gradients afterwards; those of tf.train get a part of the loss.
            average = not hasattr(this.optimizer, "optimizer")
            with graphs.several_cores(cores, average):
                return original(this)

        model._make_train_function = make_train_function

    def open_estimators(self) -> None:
        """Begins to watch Estimators; enters the graph world."""
        from tpucompat.idioms.tpu_estimator import estimator

        self._watch_estimators(estimator.TPUEstimator)

    def open_training_loop(self, module: Any) -> None:
        """Begins to watch what ``tpucompat migrate`` writes in the place of TPUEstimator."""
        self._watch_estimators(module.Trainer)
        for kind, name, watched in (
            (module.Trainer, "train", self._watched_training),
            (module.Model, "save", self._watched_save),
            (module.Model, "__call__", self._watched_call),
        ):
            if hasattr(kind, name):  # a program that only predicts may have a part of the loop
                setattr(kind, name, watched(getattr(kind, name)))

    def _watched_training(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def train(this: Any, *args: Any, **kwargs: Any) -> Any:
            self._begins_anew()
            return original(this, *args, **kwargs)

        return train

    def _watched_save(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def save(this: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(this, *args, **kwargs)
            self._saved(lambda: original(this, *args, **kwargs))
            return result

        return save

    def _watched_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(this: Any, *args: Any, **kwargs: Any) -> Any:
            with self._repeats():
                return original(this, *args, **kwargs)

        return not_converted(call)

    def _watch_estimators(self, kind: Any) -> None:
        for one in kind.__mro__:
            for name, watch in (
                ("evaluate", lambda f: self._watched(f, self._evaluation)),
                ("predict", self._watched_rows),
            ):
                if name in one.__dict__ and one is not object:
                    setattr(one, name, watch(one.__dict__[name]))

    # Methods ------------------------------------------------------------------------------------

    def _watched(
        self, original: Callable[..., Any], take: Callable[[Any, Any], None]
    ) -> Callable[..., Any]:
        @functools.wraps(original)
        def method(this: Any, *args: Any, **kwargs: Any) -> Any:
            with self._recorder.outermost("model") as outermost:
                result = original(this, *args, **kwargs)
            if outermost:
                self._between_calls()
                with contextlib.suppress(Exception):  # the script's own result comes first
                    take(this, result)
            return result

        return method

    def _watched_rows(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def predict(this: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
            rows: list[Any] = []
            count, complete = 0, False
            found = iter(original(this, *args, **kwargs))
            try:
                while True:
                    # The body of a generator runs when it is asked for the next value.
                    with self._recorder.outermost("model") as outermost:
                        try:
                            row = next(found)
                        except StopIteration:
                            complete = True
                            return
                    count += outermost
                    if outermost and len(rows) < _ROWS:
                        rows.append(row)
                    yield row
            finally:
                if rows:
                    self._write_rows(rows, count, complete)

        return predict

    def _write_rows(self, rows: list[Any], count: int, complete: bool) -> None:
        if isinstance(rows[0], dict):
            arrays = {str(k): np.stack([np.asarray(row[k]) for row in rows]) for k in rows[0]}
        else:
            arrays = {"predictions": np.stack([np.asarray(row) for row in rows])}
        self._recorder.write("prediction", arrays, count=count, complete=complete)

    def _history(self, model: Any, result: Any) -> None:
        values = getattr(result, "history", None)
        if values:
            self._recorder.write(
                "history", values={str(k): [float(v) for v in vs] for k, vs in values.items()}
            )

    def _evaluation(self, model: Any, result: Any) -> None:
        self._recorder.write("evaluation", values=_named_metrics(model, result))

    def _prediction(self, model: Any, result: Any) -> None:
        outputs = list(result) if isinstance(result, (list, tuple)) else [result]
        if isinstance(result, dict):
            arrays = {str(key): np.asarray(value) for key, value in result.items()}
        elif len(outputs) == 1:
            arrays = {"predictions": np.asarray(outputs[0])}
        else:
            arrays = {f"predictions_{i}": np.asarray(o) for i, o in enumerate(outputs)}
        count = max((len(np.atleast_1d(array)) for array in arrays.values()), default=0)
        kept = {name: array[:_ROWS] if array.ndim else array for name, array in arrays.items()}
        self._recorder.write("prediction", kept, count=count, complete=True)


def _named_metrics(model: Any, result: Any) -> dict[str, float]:
    """What ``evaluate`` found, by name: ``{"loss": ..., "accuracy": ...}``."""
    if isinstance(result, dict):
        return {str(name): float(value) for name, value in result.items() if np.ndim(value) == 0}
    values = list(result) if isinstance(result, (list, tuple)) else [result]
    names = list(model.metrics_names)
    if "compile_metrics" in names and hasattr(model, "get_metrics_result"):  # Keras 3
        found = model.get_metrics_result()
        return {str(name): float(value) for name, value in found.items()}
    return {str(name): float(value) for name, value in zip(names, values)}
