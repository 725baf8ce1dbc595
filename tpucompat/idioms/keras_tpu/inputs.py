"""What a script of 2018 hands to a Keras TPU model, prepared for Keras' training loops.

Follows ``tensorflow/contrib/tpu/python/tpu/keras_support.py`` of TensorFlow 1.13.1
(``KerasTPUModel.fit`` and ``evaluate``, ``TPUDatasetInfeedManager``, ``_validate_shapes``).
"""

from __future__ import annotations

import contextlib
import math
from typing import Any, ContextManager, Iterable, Iterator, Sequence

import numpy as np

from tpucompat.base import errors
from tpucompat.base.late import late
from tpucompat.engines import session
from tpucompat.tf import private

tf = late("tensorflow")


def whole_steps(steps: float | None) -> int | None:
    """A number of steps as an integer: ``1000 / 128`` asks for eight.

    Keras of 2018 counted ``while steps_done < steps_per_epoch``, so a fraction meant one more step.
    """
    return None if steps is None else math.ceil(steps)


def is_dataset(value: Any) -> bool:
    """Whether the value is a ``tf.data.Dataset`` of either generation."""
    session.enter_graph_mode()
    # The Dataset of one generation is no subclass of the other's in every release.
    second = getattr(tf.compat, "v2", tf.compat.v1)  # 1.13 has none
    kinds = {tf.compat.v1.data.Dataset, second.data.Dataset}
    return isinstance(value, tuple(kinds))


def is_iterator(value: Any) -> bool:
    """Whether the value is an iterator made from a Dataset in a graph."""
    tf = session.enter_graph_mode()
    return isinstance(value, tf.data.Iterator)


def is_dataset_function(value: Any) -> bool:
    """Whether the value is a function that returns the Dataset, as 1.13 wanted ``x`` to be."""
    return callable(value) and not is_dataset(value)


def dataset_from(function: Any, y: Any, steps: float | None, steps_name: str, cores: int) -> Any:
    """Calls a Dataset function and makes of its per-core batches the global batches that Keras
    counts.

    In 1.13 every core took the next batch of the Dataset, so that a step of eight cores consumed
    eight batches, in the order of the cores.

    Args:
      function: Returns a Dataset of (x, y) or (x, y, sample_weights), batched per core.
      y: The ``y`` argument that came with it; has to be None.
      steps: The number of steps; has to be given.
      steps_name: What that argument is called.
      cores: Number of cores that share a step.

    Returns:
      A Dataset whose batches are global: ``cores`` times as large.

    Raises:
      tpucompat.base.errors.BadValueError: As 1.13: no steps or a ``y`` (TPU305); not a Dataset, scalars,
        or shapes that several cores cannot share (TPU306).
    """
    if steps is None:
        raise errors.BadValueError(
            "TPU305",
            "When using tf.data as input to a model, you should specify the "
            f"{steps_name} argument.",
            f"Pass {steps_name}=number of batches per epoch.",
        )
    if y is not None:
        raise errors.BadValueError(
            "TPU305",
            "When using tf.data as input to a model, y must be None.",
            "Let the Dataset yield (x, y) pairs.",
        )
    tf = session.enter_graph_mode()
    dataset = function()
    if not is_dataset(dataset):
        raise errors.BadValueError(
            "TPU306",
            "The function passed as the `x` parameter did not return a `tf.data.Dataset`, but "
            f"{type(dataset).__name__!r}.",
        )
    shapes = private.nest().flatten(_output_shapes(dataset))
    if any(shape.ndims == 0 for shape in shapes):
        raise errors.BadValueError(
            "TPU306",
            "The dataset returns a scalar tensor. Did you forget to batch? (Output shapes: "
            f"{shapes}).",
            "Add .batch(per-core batch size, drop_remainder=True).",
        )
    if cores == 1:
        return dataset
    if not all(shape.is_fully_defined() for shape in shapes):
        raise errors.BadValueError(
            "TPU306",
            f"{cores} cores need batches of one static shape; the Dataset's shapes are {shapes}.",
            "Use .batch(per-core batch size, drop_remainder=True).",
        )

    def join(*values: Any) -> Any:
        # [cores, per-core batch, ...] -> [global batch, ...]
        joined = private.nest().map_structure(
            lambda t: tf.reshape(
                t, [t.shape.as_list()[0] * t.shape.as_list()[1], *t.shape.as_list()[2:]]
            ),
            values,
        )
        return joined if len(joined) > 1 else joined[0]

    return dataset.batch(cores, drop_remainder=True).map(join)


def _output_shapes(dataset: Any) -> Any:
    data = session.v1().data
    if hasattr(data, "get_output_shapes"):  # 1.14 and later
        return data.get_output_shapes(dataset)
    return dataset.output_shapes


def unpack_iterator(iterator: Any) -> tuple[Any, Any, Any]:
    """The tensors of an iterator's next element as (x, y, sample_weights).

    Keras' graph engine takes tensors, but since TensorFlow 2.0 refuses the iterator that they come
    from.
    """
    element = iterator.get_next()
    if not isinstance(element, tuple):
        return element, None, None
    return ((*tuple(element), None, None))[:3]


@contextlib.contextmanager
def named_errors() -> Iterator[None]:
    """Gives Keras' ValueErrors about a generator's items a code and a next step."""
    try:
        yield
    except ValueError as problem:
        if isinstance(problem, errors.TPUCompatError) or "generator" not in str(problem):
            raise
        raise errors.BadValueError("TPU303", str(problem)) from problem


@contextlib.contextmanager
def named_ends(given: Iterable[Any], cores: int) -> Iterator[None]:
    """Says how many batches a step takes where a Dataset function's Dataset has not even those.

    Keras' loops then have no results at all, and fail in different ways.

    Args:
      given: The data that the script gave.
      cores: Number of cores that share a step.
    """
    try:
        yield
    except ValueError as problem:
        # The second is what predict makes of an empty list of results.
        ended = ("Empty training data", "The target structure is of type `<class 'NoneType'>`")
        if not any(map(is_dataset_function, given)) or not str(problem).startswith(ended):
            raise
        raise errors.BadValueError(
            "TPU490",
            f"A step of {cores} cores takes {cores} batches of the Dataset, which has fewer."
            if cores > 1
            else "The Dataset has no batch.",
            "Batch by the part of one core: "
            ".batch(global batch size // number of cores, drop_remainder=True).",
        ) from problem


@contextlib.contextmanager
def named_shape_errors(model: Any) -> Iterator[None]:
    """Gives Keras' ValueErrors about data that does not fit the model a code and a next step."""
    try:
        yield
    except ValueError as problem:
        if isinstance(problem, errors.TPUCompatError):
            raise
        raise errors.BadValueError(
            "TPU303",
            str(problem),
            "Give the model arrays of these shapes (None is the batch): inputs "
            f"{_shapes(model.inputs)}, outputs {_shapes(model.outputs)}; a generator yields "
            "(inputs, targets) or (inputs, targets, sample weights).",
        ) from problem


def _shapes(tensors: Any) -> str:
    session.enter_graph_mode()
    return ", ".join(str(tuple(t.shape.as_list())) for t in private.nest().flatten(tensors))


def static_batch_size(model: Any) -> int | None:
    """The batch size that the model's Input layers fix (per core in 1.13), or None."""
    session.enter_graph_mode()
    for tensor in private.nest().flatten(model.inputs):
        dimensions = tensor.shape.as_list() if tensor.shape.ndims else [None]
        if dimensions[0] is not None:
            return int(dimensions[0])
    return None


def has_loops(model: Any) -> bool:
    """Whether the model computes its outputs by loops, as recurrent layers do."""
    session.enter_graph_mode()
    return any(
        operation.type in ("Enter", "While", "StatelessWhile")
        for operation in _ancestors(private.nest().flatten(model.outputs))
    )


def _ancestors(values: Iterable[Any]) -> Iterator[Any]:
    """The operations that tensors or operations are computed from, their own among them."""
    waiting = [getattr(value, "op", value) for value in values]
    seen = set(waiting)
    while waiting:
        operation = waiting.pop()
        yield operation
        for tensor in operation.inputs:
            if tensor.op not in seen:
                seen.add(tensor.op)
                waiting.append(tensor.op)


def rebuilt(model: Any, context: ContextManager[Any]) -> tuple[list[Any], list[Any]]:
    """The model's inputs and outputs over Input layers that leave the batch size open.

    1.13 cloned the model for the shape of every batch it met, so that a static Input batch of 128
    and batches of 1024 went together (128 for each of eight cores). Here one graph takes every
    batch. The layers, and so the weights, are the model's own.

    Args:
      model: A functional or Sequential model; not a stateful one, whose states have the size of a
        batch.
      context: In which the layers are called.

    Returns:
      New input and output tensors.

    Raises:
      Exception: Whatever a layer raises that cannot do without a static batch size.
    """
    session.enter_graph_mode()
    layers = session.keras().layers
    inputs = [
        layers.Input(
            shape=tensor.shape.as_list()[1:],
            dtype=tensor.dtype,
            name=name,
        )
        for tensor, name in zip(private.nest().flatten(model.inputs), model.input_names)
    ]
    before = [id(one) for added, _ in private.added_by_layers(model) for one in added]
    with context, private.open_batches():
        # Not the model itself: its layers are called one by one, and the new model has the same.
        outputs = model.call(inputs if len(inputs) > 1 else inputs[0])
    _tell_apart(model, inputs, set(before))
    return inputs, private.nest().flatten(outputs)


def _tell_apart(model: Any, inputs: Sequence[Any], before: set[int]) -> None:
    """Marks the losses and updates that layers have added by the inputs that they belong to.

    Keras takes those that a layer adds without a word about inputs (``self.add_loss(penalty)`` in ``call``)
    for ones that belong to no inputs, and counts them in every model. That of a weight is then there twice,
    and that of a value asks for the inputs of the other model. The second of two stays: an update of a weight
    comes after what the same call has read of it.

    Args:
      model: The model whose layers were called again.
      inputs: What they were called with.
      before: The ``id`` of what they had added earlier.
    """
    given = {tensor.op for tensor in (*inputs, *private.nest().flatten(model.inputs))}
    for added, mark in private.added_by_layers(model):
        earlier, again = [], 0
        for one in added:
            if any(operation in given for operation in _ancestors([one])):
                setattr(one, mark, False)
            elif id(one) in before:
                earlier.append(id(one))
            else:
                again += 1
        replaced = set(earlier[-again:] if again else [])
        added[:] = [one for one in added if id(one) not in replaced]


def weights_or_ones(weights: Any, y: Any, endpoints: Sequence[Any]) -> Any:
    """The sample weights of a batch; ones where a model that has had weights gets none.

    Keras up to 1.13 always fed weights. Later ones rebuild loss and functions whenever weights
    come or go, which with weighted training and unweighted validation is twice in an epoch.

    Args:
      weights: What Keras made of the batch's weights: a list, or None.
      y: The targets as a list.
      endpoints: The ``_training_endpoints`` of a compiled model (private in Keras, seen in 1.15 to
        2.21).
    """
    if not y or not isinstance(y, (list, tuple)) or any(w is not None for w in weights or []):
        return weights
    fed = [end for end in endpoints if end.has_feedable_training_target()]
    if len(fed) != len(y) or any(end.sample_weight is None for end in fed):
        return weights
    if not all(isinstance(targets, np.ndarray) for targets in y):
        return weights
    return [
        np.ones(targets.shape[: end.sample_weight.shape.ndims], "float32")
        for end, targets in zip(fed, y)
    ]


class FixedBatch:
    """A function of Keras' backend that takes batches of one size only.

    Args:
      function: The function.
      size: Number of examples in a batch.
      problem: What a layer raised when :func:`rebuilt` left the size open.
    """

    def __init__(self, function: Any, size: int, problem: Exception) -> None:
        self._function = function
        self._size = size
        self._problem = problem

    def __getattr__(self, name: str) -> Any:
        """What else the function has: inputs, outputs, fetches..."""
        return getattr(self.__dict__["_function"], name)

    def __call__(self, inputs: Any) -> Any:
        """Runs one batch.

        Raises:
          tpucompat.base.errors.BadValueError: It has another size (TPU310).
        """
        given = len(inputs[0]) if hasattr(inputs[0], "__len__") else self._size
        if given != self._size:
            raise errors.BadValueError(
                "TPU310",
                (
                    f"Received a batch of {given}, but the model requires {self._size}: a "
                    f"layer needs a static batch size ({self._problem})."
                ),
            )
        return self._function(inputs)


def validate_shapes(model: Any) -> None:
    """Refuses a model with a variable shape in another dimension than the batch, as 1.13 did.

    Raises:
      tpucompat.base.errors.BadValueError: TPU302.
    """
    for layer in model.layers:
        try:
            input_shape, output_shape = layer.input_shape, layer.output_shape
        except AttributeError:
            continue  # Shared by inputs of different shapes, which are other layers' outputs.
        for shape in _flat_shapes(input_shape) + _flat_shapes(output_shape):
            if None in shape[1:]:
                raise errors.BadValueError(
                    "TPU302",
                    f"Layer {layer} has a variable shape in a non-batch dimension.  TPU models "
                    f"must have constant shapes for all operations. Input shape: {input_shape}; "
                    f"output shape: {output_shape}",
                    "You may have to specify `input_length` for RNN/TimeDistributed layers, or the "
                    "full `shape` of an Input.",
                )


def _flat_shapes(shapes: Any) -> list[tuple[int | None, ...]]:
    """The shapes in a layer's `input_shape`: one tuple, or lists and dicts of them."""
    if shapes is None:
        return []
    if isinstance(shapes, dict):
        return [shape for value in shapes.values() for shape in _flat_shapes(value)]
    if isinstance(shapes, (list, tuple)):
        if all(size is None or isinstance(size, int) for size in shapes):
            return [tuple(shapes)]
        return [shape for value in shapes for shape in _flat_shapes(value)]
    return [tuple(shapes.as_list())]
