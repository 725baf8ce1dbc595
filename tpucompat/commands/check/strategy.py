"""The strategy that a TensorFlow 2 script gets for its TPUStrategy while it is checked.

It has one device and says that it has as many replicas as the TPU. Each function given to ``run`` is
lowered, with the sums over the cores in it, for the part of a batch that one core gets; what ``run``
returns are zeros of the right shapes, so that the script's loops go on without anything being trained.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from tpucompat.commands.check.watcher import Clock
from tpucompat.engines import lowering, observer
from tpucompat.engines import sums as summing
from tpucompat.tf import private


class CheckedStrategy(tf.distribute.OneDeviceStrategy):
    """One core of a TPU, on the CPU.

    Args:
      replicas: As how many cores it shows itself.
      watcher: The :class:`tpucompat.commands.check.watcher.Watcher` that writes down what is lowered.
    """

    def __init__(self, replicas: int, watcher: Any) -> None:
        super().__init__("/cpu:0")
        self._cores = replicas
        self._watcher = watcher
        _pretend(self.extended, replicas, lambda: self.lowers)
        self.lowers = False
        self._results: dict[Any, Any] = {}

    @property
    def num_replicas_in_sync(self) -> int:
        """As many as the TPU has."""
        return self._cores

    # What lowers is called while the script's function is being converted: it need not be.
    @private.left_alone_by_autograph
    def run(
        self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None
    ) -> Any:
        """Lowers the function, and returns zeros in the place of what it returns."""
        if self.lowers:
            return super().run(fn, args, kwargs)
        given = (tuple(args), dict(kwargs or {}))
        leaves = tf.nest.flatten(given)
        places = [i for i, leaf in enumerate(leaves) if _is_value(leaf)]
        specs = [_spec(leaves[i]) for i in places]
        code = getattr(fn, "python_function", fn)
        key = (getattr(code, "__code__", id(code)), *specs)
        if key not in self._results:
            self._results[key] = self._lower(fn, given, leaves, places, specs)
        return tf.nest.map_structure(_zeros, self._results[key])

    def _lower(
        self, fn: Any, given: Any, leaves: list[Any], places: list[int], specs: list[Any]
    ) -> Any:
        kind = _kind(fn)
        fn = private.converted_by_autograph(fn)
        constants: list[Any] = [None if i in places else leaf for i, leaf in enumerate(leaves)]

        def step(*values: Any) -> Any:
            filled = list(constants)
            for place, value in zip(places, values):
                filled[place] = value
            own, named = tf.nest.pack_sequence_as(given, filled)
            self.lowers = True
            try:
                return tf.nest.map_structure(_value, self.run(fn, own, named))
            finally:
                self.lowers = False

        function = tf.function(step, jit_compile=True, autograph=False)
        line = self._watcher.here()
        # Not tf.init_scope: no gradient is recorded within it.
        with private.eager_mode(), observer.tracing(kind):
            concrete = function.get_concrete_function(*specs)
        clock = Clock()  # the script itself traces its function, checked or not
        with private.eager_mode():
            facts = lowering.lower_function(function, concrete, specs, self._watcher.sources)
        self._watcher.lowered(kind, line, clock, facts)
        return concrete.structured_outputs

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """The part of each batch that one core gets."""
        del options
        sizes = {
            tensor.shape[0]
            for tensor in tf.nest.flatten(next(iter(dataset), ()))
            if getattr(tensor, "shape", None)
        }
        uneven = [size for size in sizes if size % self._cores]
        if uneven:
            self._watcher.note(
                f"a batch of {uneven[0]} does not split evenly across {self._cores} cores [TPU399]"
            )
        open_ = [s for s in tf.nest.flatten(dataset.element_spec) if None in _sizes(s.shape)]
        if open_ and not uneven:
            self._watcher.note(
                "the last batch may be smaller and compiled a second time; "
                "drop_remainder=True avoids this [TPU399]"
            )
        shapes = tf.nest.map_structure(lambda t: t.shape, next(iter(dataset), None))

        def share(*element: Any) -> Any:
            element = element if len(element) > 1 else element[0]
            return tf.nest.map_structure(_share, element, shapes)

        def _share(tensor: Any, shape: Any) -> Any:
            if not shape.rank:
                return tensor
            part = -(-shape[0] // self._cores)
            result = tensor[:part]
            result.set_shape([part, *shape[1:]])
            return result

        return dataset if shapes is None else dataset.map(share)

    def distribute_datasets_from_function(self, dataset_fn: Any, options: Any = None) -> Any:
        """The dataset of one core, as the function makes it for the first of the inputs."""
        del options
        return dataset_fn(tf.distribute.InputContext(1, 0, self._cores))

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def experimental_distribute_values_from_function(self, value_fn: Any) -> Any:
        """The value of the first replica."""
        return value_fn(tf.distribute.experimental.ValueContext(0, self._cores))

    def experimental_local_results(self, value: Any) -> Any:
        """The value, once for each replica."""
        return (value,) * self._cores


def _pretend(extended: Any, replicas: int, lowers: Callable[[], bool]) -> None:
    """Lets the strategy's other half count and sum as a TPU's does."""

    def sums(reduce_op: Any, value: Any) -> Any:
        if not lowers() or not isinstance(value, (tf.Tensor, tf.IndexedSlices, tf.Variable)):
            return value
        name = str(getattr(reduce_op, "value", reduce_op)).upper()
        total = summing.over_cores(tf.convert_to_tensor(value), replicas)
        return total / replicas if name == "MEAN" else total

    kind = type(extended)

    class Extended(kind):  # type: ignore[misc, valid-type]
        """Sums over the cores as nodes of the program."""

        @property
        def _num_replicas_in_sync(self) -> int:
            return replicas

        def _use_merge_call(self) -> bool:
            return False

        def _reduce_to(self, reduce_op: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
            return sums(reduce_op, value)

        def _batch_reduce_to(self, reduce_op: Any, pairs: Any, *args: Any, **kwargs: Any) -> Any:
            return [sums(reduce_op, value) for value, _ in pairs]

        def _replica_ctx_all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
            return tf.nest.map_structure(lambda each: sums(reduce_op, each), value)

    extended.__class__ = Extended


def _kind(fn: Any) -> str:
    name = getattr(fn, "__qualname__", None) or getattr(fn, "__name__", "") or "a function"
    for part, word in (("train", "training"), ("test", "evaluation"), ("predict", "prediction")):
        if f"make_{part}_function" in name:
            return f"{word} step of Keras"
    return name.split(".")[-1] + " under TPUStrategy"


def _sizes(shape: Any) -> list[Any]:
    return [None] if shape.rank is None else list(shape.as_list())


def _is_value(leaf: Any) -> bool:
    return isinstance(leaf, (tf.Tensor, np.ndarray, np.generic))


def _value(leaf: Any) -> Any:
    """A result without operations: what has an effect runs anyway (a metric's ``update_state``)."""
    return None if isinstance(leaf, tf.Operation) else leaf


def _spec(leaf: Any) -> Any:
    tensor = leaf if isinstance(leaf, tf.Tensor) else tf.constant(leaf)
    return tf.TensorSpec(tensor.shape, tensor.dtype)


def _zeros(leaf: Any) -> Any:
    if not hasattr(leaf, "dtype") or not hasattr(leaf, "shape"):
        return leaf
    return tf.zeros(
        [size or 1 for size in _sizes(leaf.shape)] if leaf.shape.rank else [], leaf.dtype
    )
