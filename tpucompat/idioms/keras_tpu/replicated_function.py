"""N replicas of a Keras model: the global batch seen from one core.

TensorFlow 1.13 cloned the model into every core, concatenated outputs and targets over the cores
and let each of them compute the loss and the metrics of the global batch; gradients were summed
over the cores and divided by their number (``TPUFunction`` and ``_cross_replica_concat`` in
``tensorflow/contrib/tpu/python/tpu/keras_support.py`` of 1.13.1). The same is done here in the
script's own graph: while Keras builds loss and metrics it is given the concatenations, and while it
builds the training function the optimizer sums its gradients. The functions that Keras' loops call
for every batch are then replayed on the replicas.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterable, Iterator, Sequence

import numpy as np

from tpucompat.base import errors
from tpucompat.engines import accelerator, coherence, graph_walk, observer, session, strategy

# What CrossReplicaSum takes (op registry of 2.15 and 2.21); another type travels as one of these.
_SUMMABLE = frozenset(["float16", "bfloat16", "float32", "float64", "int32", "uint32"])
_SUM = "tpucompat: sum over the cores"
# Activations whose logits the cross entropies of Keras' backend go back to, and the rank from which they are
# of each example: a batch is joined before them, so that losses of several cores are computed as on one.
# 1.13 joined after them, and took the logarithm of probabilities cut off at 1e-7.
_LOGITS_RANK = {"Sigmoid": 1, "Softmax": 2}
_AS_INT32 = frozenset(["bool", "int8", "int16", "uint8", "uint16"])


class GlobalBatch:
    """The concatenations over the cores that one model's loss and metrics are made of.

    Args:
      graph: The graph that the model is in.
      cores: Number of cores that share a batch.

    Attributes:
      counted: Assignment that adds to a metric of a layer -> what all cores add; names of operations.
    """

    def __init__(self, graph: Any, cores: int) -> None:
        tf = session.enter_graph_mode()
        self.cores = cores
        self.counted: dict[str, str] = {}
        with graph.as_default():
            self.core = tf.placeholder(tf.int32, [], name="core_id")
        self._joined: dict[str, Any] = {}

    def join(self, tensor: Any) -> Any:
        """One core's part of a batch -> the whole batch, the same on every core.

        Args:
          tensor: Shape [per-core batch, ...]; None is passed through.

        Returns:
          Shape [global batch, ...], in the order of the cores.

        Raises:
          tpucompat.base.errors.BadTypeError: A type that cannot be summed (TPU313).
        """
        if tensor is None:
            return None
        if tensor.name not in self._joined:
            with tensor.graph.as_default():
                self._joined[tensor.name] = self._join_logits(tensor)
        return self._joined[tensor.name]

    def join_all(self, tensors: Any) -> Any:
        """:meth:`join` for a list of tensors; None is passed through."""
        return tensors if tensors is None else [self.join(tensor) for tensor in tensors]

    def count_together(self, metrics: Iterable[Any]) -> None:
        """Lets each core add to the state of metrics what all cores add.

        A metric that a layer calls is given one core's part of the batch. Under a strategy its variables
        are read as the sum over the replicas (``SyncOnRead`` in ``Metric.add_weight``, 1.15 to 2.21).

        Args:
          metrics: Metrics of layers.
        """
        if self.cores == 1:
            return
        for handle in [weight.handle for metric in metrics for weight in metric.weights]:
            for operation in handle.consumers():
                if operation.type == "AssignAddVariableOp" and operation.name not in self.counted:
                    value = operation.inputs[1]
                    if value.dtype.name in _SUMMABLE:
                        with value.graph.as_default():
                            self.counted[operation.name] = sum_over_cores(value).op.name

    def _join_logits(self, tensor: Any) -> Any:
        made_by: Any = getattr(tensor, "op", None)
        rank = _LOGITS_RANK.get(getattr(made_by, "type", ""))
        if self.cores == 1 or rank is None or (tensor.shape.ndims or 0) < rank:
            return self._join(tensor)
        tf = session.enter_graph_mode()
        activation = {"Sigmoid": tf.sigmoid, "Softmax": tf.nn.softmax}[made_by.type]
        return activation(self._join(made_by.inputs[0]))

    def _join(self, tensor: Any) -> Any:
        if self.cores == 1:
            return tensor
        tf = session.enter_graph_mode()
        if not isinstance(tensor, tf.Tensor) or tensor.dtype.name == "string":
            raise errors.BadTypeError(
                "TPU313",
                (
                    f"{tensor} cannot be combined across {self.cores} cores: it is not a "
                    "dense numeric tensor."
                ),
            )
        dtype = tensor.dtype
        if dtype.name in _AS_INT32:
            return tf.cast(self._join(tf.cast(tensor, tf.int32)), dtype)
        if dtype.name not in _SUMMABLE:
            return tf.bitcast(self._join(tf.bitcast(tensor, tf.int32)), dtype)  # 64 bits as 2 x 32
        size = tf.shape(tensor)
        row = tf.expand_dims(tensor, 0)
        mine = tf.reshape(
            tf.equal(tf.range(self.cores), self.core), [self.cores] + [1] * tensor.shape.ndims
        )
        # Selected, not multiplied by a mask as in 1.13: infinity times zero would reach the other
        # cores.
        with_holes = tf.where_v2(mine, row, tf.zeros_like(row))
        joined = sum_over_cores(
            tf.reshape(with_holes, tf.concat([[self.cores * size[0]], size[1:]], 0))
        )
        dimensions = tensor.shape.as_list()
        batch = None if dimensions[0] is None else self.cores * dimensions[0]
        joined.set_shape([batch, *dimensions[1:]])
        return joined

    @contextlib.contextmanager
    def in_endpoints(self, endpoints: Sequence[Any]) -> Iterator[None]:
        """While Keras builds the loss, its endpoints show the global batch.

        Args:
          endpoints: The model's ``_training_endpoints`` (private in Keras, seen in 1.15 to 2.21).
        """
        with contextlib.ExitStack() as restore:
            for endpoint in endpoints:
                if endpoint.should_skip_target():
                    continue
                for owner, name in (
                    (endpoint, "_output"),
                    (endpoint, "_sample_weight"),
                    (endpoint.training_target, "_target"),
                ):
                    value = getattr(owner, name)
                    restore.callback(setattr, owner, name, value)
                    setattr(owner, name, self.join(value))
            yield


def sum_over_cores(tensor: Any) -> Any:
    """The sum of a tensor over the cores, as a node that :class:`Traceable` knows.

    Not a native ``CrossReplicaSum``: a Session places all nodes of its graph, those too that it
    never runs, and there is no kernel for that one outside a TPU. The gradient of the sum is the
    sum of the gradients, as ``tensorflow/python/tpu/ops/tpu_ops.py`` registers it.
    """
    tf = session.enter_graph_mode()

    @tf.custom_gradient
    def marked(value: Any) -> Any:
        return tf.raw_ops.PreventGradient(input=value, message=_SUM), sum_over_cores

    # A sparse gradient becomes dense, as the native operation makes it.
    return marked(tf.convert_to_tensor(tensor))


class Traceable:
    """A graph whose marked nodes are native sums in its GraphDef, for the strategy engine.

    Args:
      graph: The script's graph.
      batch: What the cores join in it.
    """

    def __init__(self, graph: Any, batch: GlobalBatch) -> None:
        self._graph = graph
        self._batch = batch

    def as_graph_def(self) -> Any:
        """The GraphDef with ``CrossReplicaSum`` nodes."""
        graph_def = self._graph.as_graph_def()
        for node in graph_def.node:
            if node.op == "PreventGradient" and node.attr["message"].s == _SUM.encode():
                node.op = "CrossReplicaSum"
                del node.attr["message"]
            if node.name in self._batch.counted:
                node.input[1] = self._batch.counted[node.name]
        return graph_def

    def __getattr__(self, name: str) -> Any:
        """Everything else is the graph's."""
        return getattr(self.__dict__["_graph"], name)


@contextlib.contextmanager
def averaged_gradients(optimizer: Any, cores: int) -> Iterator[None]:
    """While Keras builds the training function, its optimizer averages the gradients over the
    cores.

    What an optimizer does to its gradients before it hands them out (``clipnorm``) it does for each
    core by itself, as under 1.13's ``KerasCrossShardOptimizer`` and ``CrossShardOptimizer``. They make
    sparse gradients dense on one core too, where a TPU has no kernel for sparse updates.

    Args:
      optimizer: A Keras optimizer, or Keras' wrapper around a ``tf.train`` optimizer.
      cores: Number of cores.
    """
    tf = session.enter_graph_mode()
    summed = sum_over_cores if cores > 1 else tf.convert_to_tensor
    inner = getattr(optimizer, "optimizer", None)
    if inner is not None:
        compute, apply = inner.compute_gradients, inner.apply_gradients

        def compute_part(loss: Any, *args: Any, **kwargs: Any) -> Any:
            return compute(loss * (1.0 / cores), *args, **kwargs)

        def apply_sums(gradients: Any, *args: Any, **kwargs: Any) -> Any:
            sums = [(None if g is None else summed(g), v) for g, v in gradients]
            return apply(sums, *args, **kwargs)

        patch = (inner, {"compute_gradients": compute_part, "apply_gradients": apply_sums})
    else:
        get = optimizer.get_gradients

        def get_averages(loss: Any, params: Any) -> list[Any]:
            gradients = _clipped(optimizer, get(loss, params))
            return [summed(gradient) / cores for gradient in gradients]

        patch = (optimizer, {"get_gradients": get_averages})
    owner, methods = patch
    before = {name: owner.__dict__[name] for name in methods if name in owner.__dict__}
    owner.__dict__.update(methods)
    try:
        yield
    finally:
        for name in methods:
            del owner.__dict__[name]
        owner.__dict__.update(before)


def _clipped(optimizer: Any, gradients: Sequence[Any]) -> list[Any]:
    """Clips one core's gradients, as ``get_gradients`` itself did up to TensorFlow 1.15.

    Since 2.0 or so the optimizer clips when it applies. Doing both changes nothing: an average of
    clipped gradients is within the limits.
    """
    tf = session.enter_graph_mode()
    norm = getattr(optimizer, "clipnorm", None)
    limit = getattr(optimizer, "clipvalue", None)
    result = []
    for gradient in gradients:
        if norm:
            gradient = tf.clip_by_norm(tf.convert_to_tensor(gradient), norm)
        if limit:
            gradient = tf.clip_by_value(tf.convert_to_tensor(gradient), -limit, limit)
        result.append(gradient)
    return result


class ReplicatedFunction:
    """A function of Keras' backend that runs on the replicas; Keras' loops call it for every batch.

    Args:
      function: What Keras built: inputs, outputs and updates of one core.
      batch: The global batch of the model.
      joins_outputs: Whether the cores' outputs are concatenated (predictions); else their mean is
        taken. Most are of the global batch and the same on all cores; a loss that a layer adds is of
        a core's part.

    Attributes:
      fetches: More tensors of the graph to be computed in the session at every call, and
      fetch_callbacks: who gets their values; Keras' TensorBoard callback fills them.
    """

    def __init__(self, function: Any, batch: GlobalBatch, joins_outputs: bool) -> None:
        self._function = function
        self._batch = batch
        self._joins_outputs = joins_outputs
        self._steps: dict[Any, strategy.ReplicatedStep] = {}
        self.fetches: list[Any] = []
        self.fetch_callbacks: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """What else the function has: inputs, outputs, updates_op, name."""
        return getattr(self.__dict__["_function"], name)

    def __call__(self, inputs: Any) -> list[Any]:
        """Runs one batch.

        Args:
          inputs: A flat list with an array, or a symbolic tensor, for each input of the function.

        Returns:
          An array for each output.

        Raises:
          tpucompat.base.errors.UnevenBatchError: The cores cannot share the batch (TPU304).
        """
        if observer.watched():
            return self._shown(inputs)
        here = session.keras().backend.get_session()
        given = [
            (tensor, value)
            for tensor, value in zip(self._function.inputs, _numbers(inputs, here))
            if value is not None
        ]
        fed = [(t, _array(t, value)) for t, value in given if t.shape.ndims != 0]
        # A number beside the batch: the learning phase, the same in every call.
        fixed = {t.name: (t, _array(t, value)) for t, value in given if t.shape.ndims == 0}
        mirror = coherence.mirror_of(here, accelerator.strategy())
        step = self._step(mirror, [tensor for tensor, _ in fed], fixed)
        shares = self._shares([value for _, value in fed])
        # One core's model is computed by all replicas alike.
        results = mirror.run(step, shares * (step.replicas // len(shares)))[: len(shares)]
        self._answer_fetches(here, fed)
        if self._joins_outputs:
            return [np.concatenate(parts) for parts in zip(*results)]
        return [
            np.mean(parts, axis=0, dtype="float64").astype(parts[0].dtype)
            for parts in zip(*results)
        ]

    def _shown(self, inputs: Any) -> list[Any]:
        """Shows the function to who observes; zeros stand for what the cores would give out."""
        _forget_session(self._function.outputs[0].graph)
        given = [(t, v) for t, v in zip(self._function.inputs, _shapes(inputs)) if v is not None]
        fed = [(t, _array(t, value)) for t, value in given if t.shape.ndims != 0]
        parts = self._shares([value for _, value in fed])[0]
        kind = {"train": "training", "test": "evaluation", "predict": "prediction"}
        name = getattr(self._function, "name", None) or ""
        word = next((kind[key] for key in kind if name.startswith(key)), "")
        observer.tell(
            observer.Computation(
                (word or ("prediction" if self._joins_outputs else "training")) + " step of Keras",
                Traceable(self._function.outputs[0].graph, self._batch),
                inputs=[self._batch.core, *(tensor for tensor, _ in fed)],
                outputs=self._function.outputs,
                updates=[self._function.updates_op],
                constants={t: _array(t, value) for t, value in given if t.shape.ndims == 0},
                shapes=[np.shape(part) for part in parts],
                replicas=self._batch.cores,
            )
        )
        size = len(fed[0][1])
        shapes = [output.shape.as_list() for output in self._function.outputs]
        if self._joins_outputs:
            shapes = [[size, *shape[1:]] for shape in shapes]
        types = [output.dtype.as_numpy_dtype for output in self._function.outputs]
        return [np.zeros([n or 1 for n in shape], kind) for shape, kind in zip(shapes, types)]

    def _step(
        self, mirror: Any, inputs: list[Any], fixed: dict[str, Any]
    ) -> strategy.ReplicatedStep:
        key = (
            mirror,
            tuple(tensor.name for tensor in inputs),
            tuple((name, value.tobytes()) for name, (_, value) in sorted(fixed.items())),
        )
        if key not in self._steps:
            traced = strategy.TracedStep(
                Traceable(self._function.outputs[0].graph, self._batch),
                inputs=[self._batch.core, *inputs],
                outputs=self._function.outputs,
                updates=_fed_updates(
                    self._function.updates_op,
                    {t.op for t in (self._batch.core, *inputs, *(t for t, _ in fixed.values()))},
                ),
                constants=dict(fixed.values()),
            )
            # Replicas that compute one core's model draw random numbers of their own.
            of_first = list(traced.variables) if self._batch.cores == 1 else []
            self._steps[key] = strategy.ReplicatedStep(
                traced, mirror.strategy, mirror.variables, of_first
            )
        return self._steps[key]

    def _shares(self, values: list[Any]) -> list[list[Any]]:
        """The feeds of each core: its number, then its part of each input."""
        cores = self._batch.cores
        size = len(values[0])
        if size % cores:
            raise errors.UnevenBatchError(
                "TPU304",
                "batch_size must be divisible by the number of TPU cores in use "
                f"({size} vs {cores}).",
            )
        parts = [np.split(value, cores) for value in values]
        return [[np.int32(core), *[part[core] for part in parts]] for core in range(cores)]

    def _answer_fetches(self, here: Any, fed: Any) -> None:
        if self.fetches:
            for fetch, value in zip(self.fetches, here.run(self.fetches, dict(fed))):
                if fetch in self.fetch_callbacks:
                    self.fetch_callbacks[fetch](value)


def _fed_updates(updates_op: Any, fed: set[Any]) -> list[Any]:
    """The updates of a function that need nothing else than what it is fed.

    A layer that was called on several inputs has an update for each of them, and Keras gives the
    updates of stateful layers to every function; those of the model before it was rebuilt have to be left.
    """
    waiting, found = [updates_op], []
    while waiting:
        operation = waiting.pop()
        if operation.type == "NoOp" and operation.control_inputs:
            waiting.extend(operation.control_inputs)
            continue
        needed = graph_walk.needed(operation)
        if all(each in fed or each.type != "Placeholder" for each in needed):
            found.append(operation)
    return found[::-1]


def _forget_session(graph: Any) -> None:
    """Lets Keras begin a new Session, which knows the graph as it is now.

    The gradient of a conditional of version 2 adds outputs to it, and a Session that has seen the
    conditional before refuses to go on. Weights do not matter where nothing is trained.
    """
    tf = session.enter_graph_mode()
    session.keras().backend.set_session(tf.Session(graph=graph))
    with graph.as_default():
        for variable in tf.global_variables():
            variable._keras_initialized = False  # tf_keras/src/backend.py, 1.13 to 2.21


def _shapes(inputs: Any) -> list[Any]:
    """A batch's inputs with zeros for the symbolic ones; no Session is asked if it need not be."""
    tf = session.enter_graph_mode()
    symbolic = [value for value in inputs if isinstance(value, tf.Tensor)]
    if not all(value.shape.is_fully_defined() for value in symbolic):
        return _numbers(inputs, session.keras().backend.get_session())
    return [
        np.zeros(value.shape.as_list(), value.dtype.as_numpy_dtype)
        if isinstance(value, tf.Tensor)
        else value
        for value in inputs
    ]


def _array(tensor: Any, value: Any) -> Any:
    return np.asarray(value, tensor.dtype.as_numpy_dtype)


def _numbers(inputs: Any, here: Any) -> list[Any]:
    """A batch's inputs with the symbolic ones (a Dataset's elements) computed, all in one run."""
    tf = session.enter_graph_mode()
    symbolic = {index: value for index, value in enumerate(inputs) if isinstance(value, tf.Tensor)}
    values = list(inputs)
    if symbolic:
        for index, value in zip(symbolic, here.run(list(symbolic.values()))):
            values[index] = value
    return values
