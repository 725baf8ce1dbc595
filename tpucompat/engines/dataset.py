"""Input of the strategy engine: from the script's graph into the replicas.

The script builds its input pipeline in a TF 1 graph. A Dataset crosses over by its serialized
graph, and runs in TensorFlow's own runtime from then on. What the serialized graph cannot hold
(lookup tables, variables) stays behind in a Session, whose elements are handed over one by one.

Elements are flat tuples of tensors here, in the order of ``tf.nest.flatten``: what a
:class:`~tpucompat.engines.strategy.ReplicatedStep` takes.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, NamedTuple, Sequence

import tensorflow as tf

from tpucompat.base import errors
from tpucompat.engines import trace
from tpucompat.tf import private


class Crossing(NamedTuple):
    """A pipeline on the strategy's side.

    Attributes:
      dataset: A Dataset of the eager world; its elements are flat tuples.
      specs: The ``tf.TensorSpec`` of each component.
      host: What has to live as long as the pipeline: the graph owns the Python functions of its
        ``py_func`` operations, the Session the state of its tables.
    """

    dataset: Any
    specs: tuple[Any, ...]
    host: Any


class Feed:
    """An endless or finite supply of per-replica values; an iterator for ``ReplicatedStep.run``.

    Args:
      iterator: The strategy's iterator.
      crossing: Where its elements come from.
    """

    def __init__(self, iterator: Any, crossing: Crossing) -> None:
        self.iterator = iterator
        self.crossing = crossing

    def __iter__(self) -> Iterator[Any]:
        """Itself."""
        return self

    def __next__(self) -> Any:
        """The next element: a value of the strategy for each component."""
        with private.eager_mode():
            return next(self.iterator)


def cross(dataset: Any, graph: Any, session: Any = None, feed_dict: Any = None) -> Crossing:
    """Takes a Dataset out of a TF 1 graph.

    Args:
      dataset: A Dataset built in ``graph``. The seeds, shuffling and parallel calls are its own.
      graph: The ``tf.Graph`` that it was built in.
      session: A Session of that graph, in which tables and variables that the pipeline uses are
        initialized; one is made, and tables are initialized in it, where None.
      feed_dict: Values for placeholders that the pipeline was built from.

    Returns:
      The Dataset on the strategy's side. It starts at its beginning.
    """
    with graph.as_default():
        specs = tuple(tf.nest.flatten(_element_spec(dataset)))
        variant = tf.data.experimental.to_variant(dataset)
        serialized = None  # 2.0 has no such operation: the pipeline stays in its graph
        if hasattr(tf.raw_ops, "DatasetToGraphV2"):
            # Policy 1 asks for no warning about py_func and the like: they stay in this process.
            serialized = tf.raw_ops.DatasetToGraphV2(
                input_dataset=variant, external_state_policy=1, strip_device_assignment=True
            )
    if serialized is not None and all(isinstance(spec, tf.TensorSpec) for spec in specs):
        with _session(graph, session) as host:
            graph_def = host.run(serialized, feed_dict)
        if not trace.holds_state(tf.compat.v1.GraphDef.FromString(graph_def)):
            with private.eager_mode():
                crossed = tf.data.experimental.from_variant(
                    tf.raw_ops.DatasetFromGraph(graph_def=tf.constant(graph_def)), specs
                )
            return Crossing(crossed, specs, graph)
    with graph.as_default():
        iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
        tensors = tf.nest.flatten(iterator.get_next(), expand_composites=True)

    def start(host: Any) -> None:
        host.run(iterator.initializer, feed_dict)

    return from_session(tensors, graph, session, start)


def from_session(
    tensors: Sequence[Any],
    graph: Any,
    session: Any = None,
    start: Callable[[Any], None] | None = None,
) -> Crossing:
    """A Dataset of what a Session fetches: one ``session.run(tensors)`` for each element.

    For input functions that return tensors (of an iterator, of queue runners), and for pipelines
    that cannot leave their graph.

    Args:
      tensors: What an element consists of.
      graph: Their graph.
      session: A Session that is ready to fetch them; one is made where None.
      start: Called with the Session before the first element.

    Returns:
      The Dataset; it ends when the Session raises ``tf.errors.OutOfRangeError``.
    """
    host = session or tf.compat.v1.Session(graph=graph)
    if session is None:
        with graph.as_default():
            initializers = [
                tf.compat.v1.tables_initializer(),
                tf.compat.v1.local_variables_initializer(),
            ]
        host.run(initializers)

    def elements() -> Iterator[Any]:
        if start is not None:
            start(host)
        while True:
            try:
                yield tuple(host.run(list(tensors)))
            except tf.errors.OutOfRangeError:
                return

    specs = tuple(tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in tensors)
    with private.eager_mode():
        dataset = tf.data.Dataset.from_generator(
            elements,
            output_types=tuple(spec.dtype for spec in specs),
            output_shapes=tuple(spec.shape for spec in specs),
        )
    return Crossing(dataset, specs, (graph, host))


def distribute(crossing: Crossing, strategy: Any, split: bool = False) -> Feed:
    """Gives the elements of a pipeline to the replicas of a strategy.

    Args:
      crossing: The pipeline.
      strategy: The strategy.
      split: Whether an element is a batch for all replicas, to be split on axis 0 into equal parts
        (TPUEstimator's PER_HOST_V1 and keras_to_tpu_model), or one for a single replica, the next
        one being for the next replica (PER_HOST_V2).

    Returns:
      The supply. Elements at the end that do not suffice for all replicas are dropped, as a TPU's
      infeed never delivered them.

    Raises:
      errors.BadValueError: If the replicas cannot share a batch of the static size.
    """
    replicas = strategy.num_replicas_in_sync
    dataset = crossing.dataset
    with private.eager_mode():
        if replicas == 1:
            return Feed(iter(dataset.prefetch(1)), crossing)
        if split:
            for spec in crossing.specs:
                _check_batch(spec, replicas)
            dataset = dataset.flat_map(lambda *values: _parts(values, replicas))
        else:
            dataset = _whole_rounds(dataset, replicas)
        give = getattr(strategy, "distribute_datasets_from_function", None) or (
            strategy.experimental_distribute_datasets_from_function  # before 2.4
        )
        options = tf.data.Options()
        if hasattr(tf.data.experimental, "AutoShardPolicy"):
            off = tf.data.experimental.AutoShardPolicy.OFF
            options.experimental_distribute.auto_shard_policy = off
        else:  # 2.0
            options.experimental_distribute.auto_shard = False
        return Feed(iter(give(lambda _: dataset.with_options(options))), crossing)


def _element_spec(dataset: Any) -> Any:
    spec = getattr(dataset, "element_spec", None)  # 2.0 and later
    if spec is not None:
        return spec
    return tf.data.DatasetSpec.from_value(dataset).element_spec


@contextlib.contextmanager
def _session(graph: Any, session: Any) -> Iterator[Any]:
    """The given Session, or one for the time of a ``with`` block."""
    if session is not None:
        yield session
    else:
        with tf.compat.v1.Session(graph=graph) as own:
            yield own


def _check_batch(spec: Any, replicas: int) -> None:
    if spec.shape.rank == 0:
        raise errors.BadValueError(
            "TPU367",
            (f"an element of the input is a scalar, which cannot be split across {replicas} cores"),
        )
    size = spec.shape.as_list()[0] if spec.shape.rank else None
    if size is not None and size % replicas:
        raise errors.BadValueError(
            "TPU367", f"a batch of {size} does not split evenly across {replicas} cores"
        )


def _parts(values: Sequence[Any], replicas: int) -> Any:
    """The parts of one global batch as a Dataset of ``replicas`` elements."""
    parts = []
    for value in values:
        shape = tf.shape(value)
        with tf.control_dependencies(
            [
                tf.debugging.assert_equal(
                    shape[0] % replicas,
                    0,
                    message=f"TPU367 a batch does not split evenly across {replicas} cores",
                )
            ]
        ):
            part = tf.reshape(value, tf.concat([[replicas, shape[0] // replicas], shape[1:]], 0))
        if value.shape.rank is not None:
            size, *rest = value.shape.as_list()
            part.set_shape([replicas, None if size is None else size // replicas, *rest])
        parts.append(part)
    return tf.data.Dataset.from_tensor_slices(tuple(parts))


def _whole_rounds(dataset: Any, replicas: int) -> Any:
    """Without the elements at the end that do not suffice for all replicas."""
    size = tf.data.experimental.cardinality(dataset).numpy()
    if size == tf.data.experimental.INFINITE_CARDINALITY:
        return dataset
    if size >= 0:
        return dataset.take(size - size % replicas)
    # Windows, unlike batches, hold elements of different shapes.
    rounds = dataset.window(replicas, drop_remainder=True)
    return rounds.flat_map(lambda *parts: tf.data.Dataset.zip(parts))
