"""TPUEstimator's own source, on cores of ours.

``tpu_estimator.py`` of tensorflow-estimator (of ``tf.contrib`` in TensorFlow 1.13) says how
TPUEstimator
behaves: what input functions and model functions are given, what is refused and how, in which order
the hooks run. It is loaded a second time here, under a name of ours, and in this copy what builds
and runs TPU programs is replaced: the primitives of :mod:`tpucompat.idioms.tpu_estimator.device`
take their place.
The installed module is unchanged.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from typing import Any, Iterator

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.base import journal
from tpucompat.base.errors import BadValueError
from tpucompat.base.machine import current_environment
from tpucompat.engines import accelerator, observer, operation_seeds, refusals
from tpucompat.idioms import estimator as estimator_lib
from tpucompat.idioms import summary
from tpucompat.idioms.computations import batch_parallel, cross_shard, feeds
from tpucompat.idioms.tpu_estimator import device as device_lib
from tpucompat.idioms.tpu_estimator import per_core, seams, stopping, watched, workers
from tpucompat.tf import private

_NAME = "tpucompat.idioms._tpu_estimator"

# TensorFlow 1.14 to 2.15, tensorflow-estimator 2.15; TensorFlow 1.13.
_PATHS = (
    "tensorflow_estimator.python.estimator.tpu.tpu_estimator",
    "tensorflow.contrib.tpu.python.tpu.tpu_estimator",
)


def __getattr__(name: str) -> Any:
    """``copy``: the copy of the module, made when first asked for (PEP 562)."""
    if name == "copy":
        return load()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load() -> Any:
    """The copy of the module; made at the first call.

    Raises:
      SetupError: If tensorflow-estimator is not installed (TPU405).
    """
    if _NAME not in sys.modules:
        try:
            _replace_primitives(_copy(_installed()))
        except BaseException:
            sys.modules.pop(_NAME, None)
            raise
    return sys.modules[_NAME]


def _installed() -> Any:
    try:
        return estimator_lib.load(_PATHS[0])
    except ImportError:
        return importlib.import_module(_PATHS[1])


def _copy(module: Any) -> Any:
    """Runs a module's source again, as another module."""
    spec = importlib.util.spec_from_file_location(_NAME, module.__file__)
    assert spec is not None and spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = copy
    with _one_gauge(module), _one_registration(module):
        spec.loader.exec_module(copy)
    return copy


@contextlib.contextmanager
def _one_gauge(module: Any) -> Iterator[None]:
    """Within: a usage counter of that module is not registered a second time, which TensorFlow
    warns of (2.1 and later)."""
    gauge = getattr(module, "_tpu_estimator_gauge", None)
    if gauge is None:
        yield
        return
    # Where the module itself takes its counters from; by an import of its own up to 2.5.
    monitoring = getattr(module, "monitoring", None) or private.monitoring()
    original, monitoring.BoolGauge = monitoring.BoolGauge, lambda *args: gauge
    try:
        yield
    finally:
        monitoring.BoolGauge = original


@contextlib.contextmanager
def _one_registration(module: Any) -> Iterator[None]:
    """Within: what that module has registered for its collection stays, as 1.13 refuses a second time."""
    ops: Any = getattr(module, "ops", None)
    original = getattr(ops, "register_proto_function", None)
    if original is None:
        yield
        return

    def register_once(*args: Any, **options: Any) -> None:
        with contextlib.suppress(KeyError):
            original(*args, **options)

    ops.register_proto_function = register_once
    try:
        yield
    finally:
        ops.register_proto_function = original


def _let_nested_features_be(module: Any) -> None:
    """Lets features that hold others pass the infeed, whatever their names are.

    TensorFlow puts small features into one tensor, and returns as soon as it finds nested ones; it
    remembers the small ones that it has seen by then, and looks for their tensor on the core (a KeyError,
    from 1.15 to 2.15).
    """
    if not seams.exists(module, "TensorPacker.maybe_concatenate_features"):
        return
    original = module.TensorPacker.maybe_concatenate_features

    def concatenate(self: Any, features: Any) -> None:
        nested = isinstance(features, dict) and not all(
            isinstance(value, tf.Tensor) for value in features.values()
        )
        original(self, {} if nested else features)

    seams.replace(module, "TensorPacker.maybe_concatenate_features", concatenate)


def _name_what_is_fed(module: Any) -> None:
    """Refuses a type that the infeed lacks by the name of the feature, which the infeed does not know."""
    recorder = module._InputPipeline.InputsStructureRecorder
    original = recorder.flatten_features_and_labels

    def flatten(self: Any, features: Any, labels: Any, *signals: Any, **options: Any) -> Any:
        named = [*_parts(features, "features"), *_parts(labels, "labels")]
        feeds.check_infeed_types([part.dtype for _, part in named], [name for name, _ in named])
        return original(self, features, labels, *signals, **options)

    seams.replace(
        module, "_InputPipeline.InputsStructureRecorder.flatten_features_and_labels", flatten
    )


def _parts(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The tensors of a structure, each with the expression that takes it out."""
    if isinstance(value, (dict, list, tuple)):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in pairs:
            yield from _parts(part, f"{name}[{key!r}]")
    elif value is not None:
        yield name, value


def _replace_primitives(module: Any) -> None:
    """Puts the cores of ours under the copy."""
    seams.replace(
        module,
        "tpu_ops",
        _Replaced(
            module.tpu_ops,
            outfeed_enqueue_tuple=lambda tensors: device_lib.device_for_graph().give_outfeed(
                tensors
            ),
            outfeed_dequeue_tuple=_outfeed_dequeue_tuple,
        ),
    )
    seams.replace(
        module,
        "tpu_feed",
        _Replaced(
            module.tpu_feed, InfeedQueue=InfeedQueue, _PartitionedInfeedQueue=PartitionedInfeedQueue
        ),
    )
    if seams.exists(module, "tpu_embedding_gradient"):  # from 1.14 on
        from tpucompat.idioms.embedding import columns, gradients  # 1.13 has neither

        seams.replace(module, "tpu_embedding_gradient", gradients)
        seams.replace(
            module,
            "_tpu_estimator_embedding",
            _Replaced(
                module._tpu_estimator_embedding, get_full_variable_names=columns.full_variable_names
            ),
        )
    seams.replace(module, "session_support", stopping)
    seams.replace(module, "InstallSignalHandlerHook", stopping.InstallSignalHandlerHook)
    stopping.end_with_the_process(module)
    seams.replace(module, "_check_add_preemption_hook", lambda cluster: False)
    seams.replace(module, "_sync_variables_ops", _sync_variables_ops)
    seams.replace(module, "_validate_tpu_training_graph", _validate_training_graph)
    seams.replace(module, "_train_on_tpu_system", lambda *args: _train(module, *args))
    seams.replace(module, "_eval_on_tpu_system", lambda *args: _evaluate(module, *args))
    seams.replace(module, "_predict_on_tpu_system", lambda *args: _predict(module, *args))
    seams.replace(module, "_CapturingContext.AddOp", _refuse_values_of_cores)
    _let_nested_features_be(module)
    seams.replace(
        module,
        "error_handling",
        _Replaced(
            module.error_handling,
            ErrorRendezvous=_rendezvous(module.error_handling.ErrorRendezvous),
        ),
    )
    seams.replace(
        module,
        "tpu_context",
        _Replaced(module.tpu_context, TPUContext=_context_of_script(module.tpu_context.TPUContext)),
    )
    if hasattr(module, "tf"):
        # 2.5's to 2.10's hand a resource to tf.summary.flush, which takes it by another name.
        module.tf = _with_flush(module.tf)
    _check_more(module)
    workers.share_input(module)
    _start_feeds_with_session(module)


def _start_feeds_with_session(module: Any) -> None:
    """Lets the feeds of the cores start when the hook is told of the Session."""
    hook = module.TPUInfeedOutfeedSessionHook
    # A property without effect: the hook's constructor sets it, and there is nothing to initialize.
    hook._should_initialize_tpu = property(lambda self: False, lambda self, value: None)
    connected = hook.after_create_session

    def after_create_session(self: Any, session: Any, coord: Any) -> None:
        device_lib.device_for_graph(session.graph).start(session)
        connected(self, session, coord)

    seams.replace(module, "TPUInfeedOutfeedSessionHook.after_create_session", after_create_session)


def _with_flush(tensorflow: Any) -> Any:
    """TensorFlow, with a ``tf.compat.v2.summary.flush`` that takes a resource too, as up to 2.4."""
    if not hasattr(tensorflow.compat, "v2"):  # 1.13
        return tensorflow
    summary_lib = _Replaced(tensorflow.compat.v2.summary, flush=summary.flush)
    v2 = _Replaced(tensorflow.compat.v2, summary=summary_lib)
    return _Replaced(tensorflow, compat=_Replaced(tensorflow.compat, v2=v2))


def _check_more(module: Any) -> None:
    """Lets the wrapper of a model function, and the infeed, refuse what TensorFlow 1.15 stumbled over.

    The model begins with the number of operations that it has on one replica, however many cores are fed.
    """
    wrapper, model_fn_lib = module._ModelFnWrapper, module.model_fn_lib
    call, verify = wrapper._call_model_fn, wrapper._verify_tpu_spec_predictions
    kinds = (model_fn_lib.EstimatorSpec, model_fn_lib._TPUEstimatorSpec)

    def _call_model_fn(self: Any, *args: Any, **kwargs: Any) -> Any:
        operation_seeds.resume(tf.get_default_graph())
        spec = call(self, *args, **kwargs)
        if not isinstance(spec, kinds):
            raise BadValueError("TPU330", f"model_fn should return an EstimatorSpec, not {spec!r}.")
        return spec

    def _verify_tpu_spec_predictions(self: Any, predictions: Any) -> Any:
        for key, tensor in predictions.items() if isinstance(predictions, dict) else ():
            if tensor.shape.ndims == 0:
                raise BadValueError(
                    "TPU332",
                    f"The tensor with key ({key}) in TPUEstimatorSpec.predictions is a scalar.",
                )
        return verify(self, predictions)

    seams.replace(module, "_ModelFnWrapper._call_model_fn", _call_model_fn)
    seams.replace(
        module, "_ModelFnWrapper._verify_tpu_spec_predictions", _verify_tpu_spec_predictions
    )
    _name_what_is_fed(module)


def _context_of_script(original: Any) -> Any:
    """The class of ``params['context']``."""

    class TPUContext(original):
        """TensorFlow's own; a model function is told the cores of replicas whose number of cores it sets."""

        @property
        def device_assignment(self) -> Any:
            """The ``DeviceAssignment``, None without model parallelism."""
            theirs = super().device_assignment  # refused in an input function
            assignment = getattr(self._internal_ctx, "assignment", None)
            return theirs if assignment is None else assignment()

        def device_for_replica(self, replica_id: int) -> Any:
            """The device of a replica's host, and the number of its core there."""
            device, core = super().device_for_replica(replica_id)
            return device, core % self._internal_ctx.num_of_replicas_per_host

    return TPUContext


def _rendezvous(original: Any) -> Any:
    """The class that picks the error to be raised when several threads of a call have failed."""

    class ErrorRendezvous(original):
        """TensorFlow's own; what a thread says of a Session closed under it is not the cause."""

        def record_error(self, source: str, exc_info: Any, session: Any = None) -> None:
            error = exc_info[1]
            if isinstance(error, RuntimeError) and "closed Session" in str(error):
                return
            if stopping.was_ended(session):
                return
            super().record_error(source, exc_info, session)

    return ErrorRendezvous


class _Replaced:
    """A module with some of its names replaced."""

    def __init__(self, module: Any, **names: Any) -> None:
        self._module = module
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


# Feeds -------------------------------------------------------------------------------------------


class InfeedQueue(feeds.InfeedQueue):
    """The infeed of all cores, as TPUEstimator builds it."""

    def _generate_enqueue_op(
        self,
        inputs: Any,
        name_prefix: str,
        index: int,
        device: Any = None,
        tpu_ordinal: int = -1,
    ) -> Any:
        """The end on the host for one core."""
        del name_prefix, device
        cores = device_lib.device_for_graph()
        # A queue of one host counts that host's replicas: its ordinals are LocalContext's, counted
        # through. A queue of all hosts (BROADCAST) counts all replicas, by TensorFlow's own ordinals.
        core = cores.placement.core_of(max(index, tpu_ordinal))
        if core is None:
            return cores.placement.leave_out(inputs)
        return cores.enqueue(core, inputs)

    def generate_dequeue_op(self, tpu_device: Any = 0) -> list[Any]:
        """The end on the core."""
        del tpu_device
        self.freeze()
        types_ = [tf.as_dtype(dtype) for dtype in self.tuple_types]
        shapes = [
            policy.get_sharded_shape(shape)
            for shape, policy in zip(self.tuple_shapes, self.sharding_policies)
        ]
        feeds.check_infeed_types(types_)
        return device_lib.device_for_graph().take(types_, shapes)


class PartitionedInfeedQueue(InfeedQueue):
    """The infeed of replicas that spread over several cores; a replica of ours has one device."""

    def __init__(
        self,
        number_of_tuple_elements: int,
        device_assignment: Any = None,
        host_id: int = 0,
        input_partition_dims: Any = None,
        **kwargs: Any,
    ) -> None:
        del device_assignment
        super().__init__(number_of_tuple_elements=number_of_tuple_elements, **kwargs)
        self._host = host_id
        self._partitions = input_partition_dims or []

    def generate_enqueue_ops(self, sharded_inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The ends on the host, one for each replica.

        Args:
          sharded_inputs: The inputs of each replica.
          *args: See :class:`InfeedQueue`.
          **kwargs: See :class:`InfeedQueue`.

        Raises:
          ValueError: If an input cannot be split as the script wants it (TPU335).
        """
        cores = device_lib.device_for_graph().placement.cores_per_replica
        for inputs in sharded_inputs:
            for tensor, dims in zip(inputs, self._partitions):
                check_partition(tensor, dims, cores)
        before = self._host * len(sharded_inputs)
        kwargs["tpu_ordinal_function"] = lambda index: before + index
        return super().generate_enqueue_ops(sharded_inputs, *args, **kwargs)


def check_partition(tensor: Any, dims: Any, cores: int) -> None:
    """As ``_check_input_partition_dims`` of ``tensorflow/python/tpu/tpu_feed.py`` in 1.15.

    Args:
      tensor: An input of a replica.
      dims: Into how many parts the script wants each dimension to be split; None for no parts.
      cores: The number of cores that it wants for a replica.

    Raises:
      ValueError: If the input cannot be split so (TPU335).
    """
    parts = np.prod(dims) if dims is not None else 1
    problem = ""
    if dims is not None and min(dims) < 1:
        problem = "All input partition dims must be >= 1."
    elif parts not in (1, cores):
        problem = (
            "The product of each input partition dim should equal to num_cores_per_replica: "
            f"{dims}, {cores}."
        )
    elif parts > 1 and len(dims) != tensor.shape.ndims:
        problem = (
            "Input partition dims must have the same number of dimensions as the `Tensor`: "
            f"{dims}, {tensor.shape}."
        )
    if problem:
        raise BadValueError("TPU335", f"TPUConfig.input_partition_dims: {problem}")


def _outfeed_dequeue_tuple(dtypes: Any, shapes: Any, device_ordinal: int) -> list[Any]:
    return device_lib.device_for_graph().dequeue(int(device_ordinal), dtypes, shapes)


# Programs ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def _core(module: Any, ctx: Any, replica: Any) -> Iterator[None]:
    """Within: the step of one core is being built."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(cross_shard.tpu_shard_context(ctx.num_replicas))
        stack.enter_context(batch_parallel.variable_rules(looped=True))
        told = getattr(module.tpu_context, "_TPUEstimatorReplicaContext", None)
        if told is not None:  # 1.14 does not tell a model function its replica
            stack.enter_context(told(replica))
        stack.enter_context(tf.device(None))
        stack.enter_context(observer.tracing(watched.kind(ctx.mode)))
        if ctx.tells_cores or accelerator.is_tpu():
            stack.enter_context(per_core.variables())
        stack.enter_context(refusals.told())
        yield


def _program(module: Any, ctx: Any, step: Any, iterations: Any = None, start: Any = None) -> Any:
    def build(replica: Any, changing: Any) -> Any:
        with _core(module, ctx, replica):
            return step(changing)

    summaries = tf.get_collection_ref(tf.GraphKeys.SUMMARIES)
    before = len(summaries)
    device = device_lib.device_for_graph()
    result = device.run_program(build, ctx.num_replicas, iterations, start)
    made = summaries[before:]
    summaries[before:] = [one for one in made if not device.is_computed_on_cores(one)]
    if len(summaries) < before + len(made):
        journal.notice(
            "TPU339",
            (
                "summaries of values on the cores are not written; use tf.contrib.summary in "
                "host_call"
            ),
        )
    return result


def _train(module: Any, ctx: Any, wrapper: Any, dequeue_fn: Any) -> Any:
    """Counterpart of ``_train_on_tpu_system``: the loss is that of replica 0, or a NaN of any."""
    step, host_call, scaffold_fn, hooks = wrapper.convert_to_single_tpu_train_step(dequeue_fn)
    device_lib.device_for_graph().outfeed_every = getattr(
        ctx.config.tpu_config, "experimental_host_call_every_n_steps", 1
    )
    iterations = module._create_or_get_iterations_per_loop()
    loss = _program(module, ctx, step, iterations)
    workers.silence(ctx.workers, host_call)
    return tf.no_op(), loss, host_call, _scaffold(module, scaffold_fn), hooks.get()


def _evaluate(module: Any, ctx: Any, wrapper: Any, dequeue_fn: Any) -> Any:
    """Counterpart of ``_eval_on_tpu_system``."""
    step, host_calls, scaffold_fn, hooks = wrapper.convert_to_single_tpu_eval_step(dequeue_fn)
    iterations = module._create_or_get_iterations_per_loop()
    loss = _program(module, ctx, step, iterations, start=module._ZERO_LOSS)
    workers.silence(ctx.workers, host_calls)
    return tf.no_op(), loss, host_calls, _scaffold(module, scaffold_fn), hooks.get()


def _predict(module: Any, ctx: Any, wrapper: Any, dequeue_fn: Any) -> Any:
    """Counterpart of ``_predict_on_tpu_system``."""
    step, host_calls, scaffold_fn, hooks = wrapper.convert_to_single_tpu_predict_step(dequeue_fn)
    stopped = _program(module, ctx, step, start=False)
    return tf.no_op(), stopped, host_calls, _scaffold(module, scaffold_fn), hooks.get()


def _scaffold(module: Any, captured: Any) -> Any:
    """What a release's own functions return for a model's ``scaffold_fn``."""
    if current_environment().has("scaffolds_captured"):
        return captured
    return module._get_scaffold(captured)


def _sync_variables_ops(ctx: Any) -> list[Any]:
    """Counterpart of the operations that read the variables back and check them."""
    if not ctx.is_input_broadcast_with_iterators():
        device_lib.device_for_graph().check_numerics(tf.trainable_variables())
    return [tf.no_op()]


def _validate_training_graph(ctx: Any = None) -> None:
    """Refuses a step without sums over the cores, with and without control flow of version 2.

    Args:
      ctx: The context, which 2.0 does not hand over.

    Raises:
      ValueError: As TensorFlow 1.15 (TPU325).
    """
    replicas = accelerator.cores() if ctx is None else ctx.num_replicas
    if replicas > 1 and not holds(tf.get_default_graph(), "CrossReplicaSum"):
        raise BadValueError(
            "TPU325", "CrossShardOptimizer must be used for model training on TPUs."
        )


def holds(graph: Any, kind: str) -> bool:
    """Whether a graph, or a function of it, has an operation of that kind."""
    if any(operation.type == kind for operation in graph.get_operations()):
        return True
    functions = graph.as_graph_def().library.function
    return any(node.op == kind for function in functions for node in function.node_def)


def _refuse_values_of_cores(self: Any, op: Any) -> None:
    """Refuses, in a scaffold_fn, operations on values of the cores
    (``_CapturingContext.AddOp``)."""
    for tensor in op.inputs:
        if device_lib.device_for_graph().is_computed_on_cores(tensor):
            raise BadValueError(
                "TPU326",
                f"{self._message}: Op {op} depends on TPU computation {tensor}, which is not "
                "allowed.",
            )
