"""Watches dropout: how much of what is dropped, and, where asked for, nothing at all.

Each generation of TensorFlow drops other numbers, whatever the seed: one step with dropout has
no number in common with another one. Without it (``--no-dropout``) a step is compared as sharply as that of a
program that has none, and what is left to compare of dropout is its rates, and that it ends with the training.
"""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable, Mapping

import tensorflow as tf

from tpucompat.commands.verify.outputs import by_name, not_converted
from tpucompat.commands.verify.recorder import Recorder
from tpucompat.tf import private

#: The functions that drop out; those of Keras call one of them.
_FUNCTIONS = ("dropout", "dropout_v2", "stateless_dropout", "general_dropout")


class Dropouts:
    """Watches the functions that drop out.

    Args:
      recorder: Where to write.
      on: Whether they drop anything.
    """

    def __init__(self, recorder: Recorder, on: bool = True) -> None:
        self._recorder = recorder
        self._on = on
        self._seen: set[tuple[Any, ...]] = set()
        self._thread = threading.local()  # each replica's

    def open(self) -> None:
        """Begins to watch."""
        for module in private.dropout_modules():
            for name in _FUNCTIONS:
                function = getattr(module, name, None)
                if callable(function) and not hasattr(function, "_tpucompat_dropout"):
                    setattr(module, name, self._watched(function))

    def open_training_loop(self, module: Any) -> None:
        """Begins to watch for which steps the loop that ``tpucompat migrate`` writes calls a model_fn.

        The optimizers of TensorFlow 1 differentiate without a tape.
        """
        original = module.Trainer.__init__

        @functools.wraps(original)
        def make(this: Any, model_fn: Any, *args: Any, **kwargs: Any) -> None:
            told = model_fn and self._told(model_fn, lambda words: words.get("mode") == "train")
            original(this, told, *args, **kwargs)

        module.Trainer.__init__ = make

    def open_session_loop(self, module: Any) -> None:
        """Begins to watch the functions that ``tpucompat migrate`` puts on cores.

        Which of them train is not known, as in a graph.
        """
        kind = module.Computations
        for name in {"on_all_cores", "on_one_core"} & set(vars(kind)):  # a part may have one
            setattr(kind, name, self._puts_on_cores(getattr(kind, name)))

    def _puts_on_cores(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def on_cores(this: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
            return original(this, self._told(function, lambda words: True), *args, **kwargs)

        return on_cores

    def _told(
        self, function: Callable[..., Any], trains: Callable[[Mapping[str, Any]], bool]
    ) -> Callable[..., Any]:
        """A function that says whether it trains, by the arguments that it is given by name."""

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            self._thread.trains = trains(kwargs)
            try:
                return function(*args, **kwargs)
            finally:
                self._thread.trains = False

        called.keywords = getattr(function, "keywords", {})  # type: ignore[attr-defined]  # a partial's
        return not_converted(called)

    def _watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def dropout(*args: Any, **kwargs: Any) -> Any:
            if getattr(self._thread, "inside", False):  # one of them calls another
                return original(*args, **kwargs)
            self._thread.inside = True
            try:
                named = by_name(original, args, kwargs)
                x = tf.convert_to_tensor(named["x"])
                self._note(_rate(named), _dropped_at_once(x, named.get("noise_shape")))
                return original(*args, **kwargs) if self._drops() else tf.identity(x)
            finally:
                self._thread.inside = False

        dropout._tpucompat_dropout = True  # type: ignore[attr-defined]
        return not_converted(dropout)

    def _drops(self) -> bool:
        """Whether it drops anything: without dropout, still where no step trains, so outside of a tape.

        A model that is evaluated as if it were trained has other answers then.
        """
        if self._on or tf.__version__.startswith("1."):
            return self._on
        eager = tf.compat.v1.executing_eagerly_outside_functions()
        trains = getattr(self._thread, "trains", False) or private.may_record_gradients()
        return bool(eager and not trains)

    def _note(self, rate: float | None, shape: tuple[int | None, ...] | None) -> None:
        # The same layer is called once for each replica, and again where it is traced anew.
        place = (rate, shape)
        if rate != 0 and place not in self._seen:
            self._seen.add(place)
            self._recorder.write("dropout", rate=rate, shape=place[1], on=self._on)


def _dropped_at_once(x: Any, noise_shape: Any) -> tuple[int | None, ...] | None:
    """The shape of what is drawn for an example: 1 where a whole axis is dropped, as SpatialDropout does."""
    if x.shape.ndims is None:
        return None
    sizes: list[int | None] = x.shape.as_list()
    if noise_shape is None:
        return tuple(sizes[1:])
    if tf.is_tensor(noise_shape):
        drawn = _static_value(noise_shape, True)
        noise_shape = [None] * len(sizes) if drawn is None else list(drawn)
    one = [_static_value(each) if tf.is_tensor(each) else each for each in noise_shape]
    return tuple(1 if of == 1 else size for size, of in list(zip(sizes, one))[1:])


def _static_value(tensor: Any, partial: bool = False) -> Any:
    """What is known of a tensor without running it; None if nothing is, nor in releases that do not tell."""
    return tf.get_static_value(tensor, partial) if hasattr(tf, "get_static_value") else None


def _rate(named: dict[str, Any]) -> float | None:
    """Which part is dropped, to six digits; None where that is decided in the step."""
    rate, keep = named.get("rate"), named.get("keep_prob")
    given = rate if rate is not None else keep
    if given is not None and not isinstance(given, (int, float)):
        given = _static_value(given)
    if given is None:
        return None
    return round(float(given) if rate is not None else 1.0 - float(given), 6)
