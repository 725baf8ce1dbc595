"""Watches shuffles: in which order a training sees its examples.

Keras draws the order of an epoch, from NumPy's generator up to TensorFlow 1's, from TensorFlow's since
(``training_arrays_v1.py`` and ``data_adapter.py`` of Keras 2, ``array_data_adapter.py`` of Keras 3), of files
in a folder always from NumPy's, and that of a sequence's batches from Python's. What the old run has drawn is
written down, and the new run draws it again. ``Dataset.shuffle`` without a seed takes one from the number of
operations before it, another number in each generation; here the first one in a script gets the same in both
runs, and the second, and so on. No other seed counts there: the graph of an Estimator has none, an eager
process has one. A repeated shuffle with a seed has the order of TensorFlow 2 in both runs: no migrated script
can have that of TensorFlow 1.15.
"""

from __future__ import annotations

import functools
import random
import re
import sys
import threading
from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from tpucompat.commands.verify.outputs import not_converted
from tpucompat.commands.verify.recorder import Recorder
from tpucompat.engines import repeated_shuffles
from tpucompat.tf import private

#: Modules of Keras that draw the order of an epoch; ``keras.datasets`` shuffles too, in each run by itself.
_KERAS = re.compile(
    r"(^|[._])keras\..*\b(engine|trainers|utils|preprocessing)\.|^keras_preprocessing\."
)
#: The first seed of those that have none.
_FIRST_SEED = 1001
#: The seed of the graph, or of the process, for those.
_BESIDE = 1000
#: Part of the names of Keras 3's modules: it draws an order for each pass, and under a strategy begins one more
#: pass, for one batch to build the model from.
_LOOKS_AHEAD = ".trainers."
#: Between Keras' function and what it calls there are so many frames of AutoGraph's at most.
_NEAR = 12


class _Seed(int):
    """A seed of an operation that is the same whatever its graph or process is seeded with."""


class Shuffles:
    """Watches what Keras and tf.data shuffle by.

    Args:
      recorder: Where to write.
      earlier: The orders that the old run has drawn, for this one to draw again.
    """

    def __init__(self, recorder: Recorder, earlier: Sequence[np.ndarray] = ()) -> None:
        self._recorder = recorder
        self._earlier = list(earlier)
        self._drawn = -1, np.zeros(0)
        self._seeds = 0
        self._lock = threading.Lock()

    def open(self) -> None:
        """Begins to watch; imports TensorFlow."""
        modules: tuple[Any, ...] = (random, np.random)
        for module in modules:
            module.shuffle = self._in_place(module.shuffle)
        np.random.permutation = self._permutation(np.random.permutation)
        if not tf.__version__.startswith("1."):
            # Keras 3 takes it from the first, Keras 2 from the second.
            for module in {tf.random, tf.compat.v2.random}:
                module.shuffle = self._of_tensor(module.shuffle)
        repeated_shuffles.NOT_FOLLOWED.add(_BESIDE)
        seeds = private.random_seed()
        seeds.get_seed = self._alone(seeds.get_seed)
        datasets = {tf.data.Dataset, tf.compat.v1.data.Dataset}
        for dataset in datasets:
            dataset.shuffle = self._seeded(dataset.shuffle)

    def _in_place(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def shuffle(x: Any, *args: Any, **kwargs: Any) -> Any:
            # Also where the order is known: so that what is drawn next is the same.
            original(x, *args, **kwargs)
            if _module(sys._getframe(1)):
                x[:] = self._order(x)

        return shuffle

    def _permutation(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def permutation(x: Any) -> Any:
            found = original(x)
            if not _module(sys._getframe(1)) or np.ndim(x):
                return found
            # Iterators over pictures draw anew when Keras 3 has looked at the first batches.
            return self._order_of_steps(found) if self._earlier else self._order(found)

        return permutation

    def _of_tensor(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def shuffle(value: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(value, *args, **kwargs)
            module = _nearest_module()
            if not module or found.shape.rank != 1 or not found.dtype.is_integer:
                return found
            draw = self._order_of_steps if _LOOKS_AHEAD in module else self._order
            known = tf.numpy_function(draw, [found], found.dtype)
            known.set_shape(found.shape)
            return known

        return not_converted(shuffle)

    def _order_of_steps(self, drawn: Any) -> np.ndarray:
        """The order of the steps from here on: the same one again, if none was made since it was drawn."""
        steps, order = self._drawn
        if steps != self._recorder.steps or order.shape != np.shape(drawn):
            order = self._order(drawn)
            self._drawn = self._recorder.steps, order
        return order

    def _order(self, drawn: Any) -> np.ndarray:
        """The order of an epoch: that of the old run, if it has drawn one of as many, else the one drawn."""
        drawn = np.asarray(drawn)
        with self._lock:
            for index, order in enumerate(self._earlier):
                if order.shape == drawn.shape and set(order.tolist()) == set(drawn.tolist()):
                    return self._earlier.pop(index).astype(drawn.dtype)
            self._recorder.write("shuffle", [drawn])
        return drawn

    def _seeded(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def shuffle(
            this: Any, buffer_size: Any, seed: Any = None, *args: Any, **kwargs: Any
        ) -> Any:
            if seed is None:
                with self._lock:
                    seed = _Seed(_FIRST_SEED + self._seeds)
                    self._seeds += 1
            return original(this, buffer_size, seed, *args, **kwargs)

        return not_converted(shuffle)

    def _alone(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def get_seed(op_seed: Any) -> Any:
            if isinstance(op_seed, _Seed):
                return (_BESIDE, int(op_seed))
            found = original(op_seed)
            if found[0] is not None:
                repeated_shuffles.NOT_FOLLOWED.add(int(found[0]))
            return found

        return get_seed


def _module(frame: Any) -> str:
    """The name of the module that a frame is in, if it is one of Keras' that draw orders; else ""."""
    name = str(frame.f_globals.get("__name__", ""))
    return name if _KERAS.search(name) else ""


def _nearest_module() -> str:
    """Keras' module among the nearest callers: TensorFlow traces what Keras maps over a Dataset."""
    frame: Any = sys._getframe(2)
    for _ in range(_NEAR):
        if frame is None or _module(frame):
            break
        frame = frame.f_back
    return _module(frame) if frame is not None else ""
