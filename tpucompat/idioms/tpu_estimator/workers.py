"""TPUEstimator on several machines: every worker runs the script, in a graph and Session of its own.

A training's steps are common (:mod:`tpucompat.engines.workers`), and all that is around them is each
worker's own business, but for what is written: checkpoints, summaries and the lines of the log are the
chief's. An evaluation or a prediction is made by each worker for itself, with as many cores as the
training has, so that it may stop in the middle or be made by the chief alone.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import tempfile
import zlib
from typing import Any, Callable, Iterator, Sequence

import numpy as np
import tensorflow
import tensorflow.compat.v1 as tf

from tpucompat.base import cluster, journal
from tpucompat.base.errors import BadValueError, LostWorkerError, SetupError
from tpucompat.engines import operation_seeds
from tpucompat.engines import workers as workers_lib
from tpucompat.engines.workers import Place, Workers
from tpucompat.idioms.tpu_estimator import device as device_lib
from tpucompat.idioms.tpu_estimator import placement, seams

# Hooks that write or report, which only the chief does.
_OF_THE_CHIEF = (
    tf.train.CheckpointSaverHook,
    tf.train.SummarySaverHook,
    tf.train.StepCounterHook,
    tf.train.LoggingTensorHook,
    tf.train.ProfilerHook,
)


# Configuration -----------------------------------------------------------------------------------


@contextlib.contextmanager
def readable_cluster() -> Iterator[Callable[[Any], None]]:
    """Within: ``tf.estimator.RunConfig`` can be made where TF_CONFIG names workers only.

    It refuses a cluster without a chief, which is usual with MultiWorkerMirroredStrategy, whose chief
    is worker 0 then.

    Yields:
      A function that completes the configuration.

    Raises:
      BadValueError: If TF_CONFIG cannot be used (TPU418).
    """
    given = cluster.cluster()
    if given is None or given.has_chief:
        yield lambda config: None
        return

    def complete(config: Any) -> None:
        config._task_type, config._task_id = given.task, given.task_id
        trains = given.trains
        config._is_chief = trains and given.rank == 0
        config._num_worker_replicas = given.machines if trains else 0
        config._global_id_in_cluster = given.rank if trains else None
        config._without_chief = True

    before = os.environ[cluster.VARIABLE]
    os.environ[cluster.VARIABLE] = cluster.without_cluster()
    try:
        yield complete
    finally:
        os.environ[cluster.VARIABLE] = before


def connected(
    constructor: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[dict[str, Any], Workers | None]:
    """The arguments of a TPUEstimator for this worker, and the workers if there are several.

    Args:
      constructor: That of TensorFlow's class.
      args: The script's arguments.
      kwargs: The same by name.

    Raises:
      ValueError: If a TPU is not wanted and TF_CONFIG names no chief, as TensorFlow does.
      BadValueError: TF_CONFIG cannot be used (TPU418), or there is no model_dir (TPU318).
      SetupError, LostWorkerError: As :func:`tpucompat.engines.workers.of_process`.
    """
    bound = inspect.signature(constructor).bind(None, *args, **kwargs)
    given = dict(list(bound.arguments.items())[1:])
    config = given.get("config")
    without_chief = getattr(config, "_without_chief", False)
    if not given.get("use_tpu", True):
        if without_chief:
            raise ValueError('If "cluster" is set in TF_CONFIG, it must have one "chief" node.')
        return given, None
    if config is None or cluster.cluster() is None:
        return given, None
    if config.task_type == "evaluator":
        return given, None
    workers = workers_lib.of_process()
    if workers is not None:
        if given.get("embedding_config_spec") is not None:
            raise SetupError("TPU419", "embedding tables support a single machine only.")
        if not (given.get("model_dir") or config.model_dir):
            raise BadValueError(
                "TPU318", "model_dir is not set, and each worker would create its own."
            )
        journal.notice(
            "TPU315", ("each worker evaluates and predicts independently, on the full input")
        )
    given["config"] = _local(config)
    return given, workers


def _local(config: Any) -> Any:
    """The configuration for a Session of this process, which no server is needed for."""
    made = config.replace()
    made._master = made._evaluation_master = ""
    made._cluster_spec = tf.train.ClusterSpec({})
    made._num_ps_replicas = 0
    return made


# Training ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def training(workers: Workers | None, model_dir: str) -> Iterator[None]:
    """Within: a training of all workers. They begin together, and end when the chief has saved.

    Args:
      workers: The workers; None if there is one machine.
      model_dir: The Estimator's directory.

    Raises:
      BadValueError: If the workers do not start from the same checkpoint (TPU318).
      LostWorkerError: If another worker fails, is gone, or was told to stop (TPU316).
    """
    if workers is None:
        yield
        return
    workers.meet(Place("train"))
    newest = os.path.basename(tf.train.latest_checkpoint(model_dir) or "")
    seen = workers.together([np.int64(zlib.crc32(newest.encode()))])
    for worker, (theirs,) in enumerate(seen):
        if theirs != seen[0][0]:
            raise BadValueError(
                "TPU318",
                (
                    f"in {model_dir}, worker {workers.index} sees "
                    f"{newest or 'no checkpoint'}, but worker "
                    f"{worker if worker != workers.index else 0} sees something different."
                ),
            )
    try:
        yield
    except BaseException as error:
        workers.leave(error)
        raise
    workers.meet(Place("end of train"))
    if workers.stopping not in (None, workers.index):
        raise LostWorkerError(
            "TPU316",
            (f"worker {workers.stopping} received a stop signal; the chief saved a checkpoint."),
        )


def without_writing(config: Any) -> Any:
    """The configuration of a training that saves and reports nothing, with a Session of its own."""
    made = config.replace(
        save_checkpoints_steps=None,
        save_checkpoints_secs=None,
        save_summary_steps=0,
        log_step_count_steps=None,
    )
    made._is_chief = True  # of its Session: it waits for nobody to initialize the variables
    return made


def silent(hooks: Sequence[Any]) -> list[Any]:
    """The hooks without those that write or report."""
    return [hook for hook in hooks or () if not isinstance(hook, _OF_THE_CHIEF)]


def silence(workers: Workers | None, host_calls: Any) -> None:
    """Lets the host_call of a worker that is not the chief take its values, and do nothing.

    Args:
      workers: The workers; None if there is one machine.
      host_calls: TPUEstimator's object for ``host_call`` and ``eval_metrics``.
    """
    if workers is None or workers.is_chief or "host_call" not in host_calls._host_fns:
        return

    def take(*args: Any, **kwargs: Any) -> list[Any]:
        return [tf.group(*args, *kwargs.values())]

    host_calls._host_fns["host_call"] = take


_scratch: Any = None


def scratch_dir() -> str:
    """A directory for what a worker that is not the chief writes; it goes with the process."""
    global _scratch
    if _scratch is None:
        _scratch = tempfile.TemporaryDirectory()
    return str(_scratch.name)


# Input -------------------------------------------------------------------------------------------


class SharedInput:
    """The input function of a training on several machines.

    Args:
      whole: Gives the input of all cores, as on one machine; takes a ``TPUContext``.
      part: Gives the input of this machine's cores.
    """

    def __init__(self, whole: Callable[[Any], Any], part: Callable[[Any], Any]) -> None:
        self.whole = whole
        self.part = part

    def __call__(self, context: Any) -> Any:
        """The input of all cores: TPUEstimator checks that it is a function."""
        return self.whole(context)


class _Asked(BaseException):
    """The input function asks which machine this is: it shards its input by itself."""


#: What 1.15 makes of a Dataset: its two optimizations with a constant, the iterator with its initializer and
#: its handle, and the elements (``python/data/ops/dataset_ops.py``).
_ITERATOR = 7


def _marked(inputs: Any) -> Any:
    """Notes where a model's operations begin on one replica, which takes a Dataset by an iterator."""
    is_dataset = isinstance(inputs, (tf.data.Dataset, tensorflow.data.Dataset))
    operation_seeds.mark(tf.get_default_graph(), _ITERATOR if is_dataset else 0)
    return inputs


def _worker_context(base: Any) -> Any:
    class WorkerContext(base):
        """What an input function is told: the truth about all machines."""

        _raises = False

        @property
        def current_host(self) -> Any:
            """The number of this machine."""
            self._asked()
            return super().current_host

        def current_input_fn_deployment(self) -> Any:
            """Which of the calls of the input function this is."""
            self._asked()
            return super().current_input_fn_deployment()

        def _asked(self) -> None:
            if self._raises:
                raise _Asked

    return WorkerContext


def share_input(module: Any) -> None:
    """Lets the input pipelines of a copy of TPUEstimator's source feed the cores of this worker.

    Args:
      module: The copy.
    """
    pipeline = module._InputPipeline
    original = pipeline._invoke_input_fn_and_record_structure
    worker_context = _worker_context(module.tpu_context.TPUContext)

    def context_of(context: Any, pod: Any, host: int, invocation: int, raises: bool = False) -> Any:
        made = worker_context(pod, context._input_device, invocation, host_id=host)
        made._raises = raises
        return made

    def invoke(self: Any) -> Any:
        device = device_lib.device_for_graph()
        ctx, given = self._ctx, self._input_fn
        workers = ctx.workers
        if workers is None or ctx.mode != module.model_fn_lib.ModeKeys.TRAIN:
            device.placement = ctx.placement()
            self._input_fn = lambda context: _marked(given(context))
            return original(self)
        pod = ctx.of_workers()
        per_core = ctx.is_input_sharded_per_core()
        device.placement = placement.AmongWorkers(workers, drains=not per_core)

        def whole(context: Any) -> Any:
            if ctx.is_input_broadcast_with_iterators():
                return _marked(given.whole(context_of(context, pod, 0, 0)))
            if per_core:
                core = context._invocation_index
                return _marked(
                    given.whole(context_of(context, pod, core // len(workers.cores), core))
                )
            return _marked(
                given.whole(context_of(context, pod, workers.index, workers.index, raises=True))
            )

        with _common_seed(workers):
            graph = tf.get_default_graph()
            before = operation_seeds.count(graph)
            try:
                self._input_fn = whole
                return original(self)
            except _Asked:
                # On one machine it is called once.
                operation_seeds.add(graph, before - operation_seeds.count(graph))
            journal.notice("TPU315", "the input function shards its input across the workers")
            device.placement = placement.AmongWorkers(workers, own_infeeds=True)
            self._inputs_structure_recorder = pipeline.InputsStructureRecorder(
                ctx.input_partition_dims
            )
            self._ctx = ctx.seen(hosts=1, per_host=len(workers.cores))
            self._input_fn = lambda context: _marked(
                given.part(context_of(context, pod, workers.index, workers.index))
            )
            try:
                return original(self)
            finally:
                self._ctx = ctx

    seams.replace(module, "_InputPipeline._invoke_input_fn_and_record_structure", invoke)


@contextlib.contextmanager
def _common_seed(workers: Workers) -> Iterator[None]:
    """Within: what is random in the default graph, and has no seed, is the same on all workers.

    So a Dataset that is shuffled comes in the same order everywhere, and the workers' parts of it
    are parts of one whole.
    """
    graph = tf.get_default_graph()
    seed = int(workers.chiefs(np.int64(np.frombuffer(os.urandom(4), np.uint32)[0] >> 1)))
    before = graph.seed
    if before is None:
        graph.seed = seed
    try:
        yield
    finally:
        graph.seed = before
