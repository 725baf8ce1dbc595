"""TPUEstimator on one replica: the script's own graph and Session, as on a TPU with one core.

Hooks, scaffolds, collections, summaries and queue runners are the graph's own. What a model
function and an input function are told is what they are told on a TPU (``params['use_tpu']``,
``params['context']``, the batch sizes); ``host_call`` and ``eval_metrics`` are called with the
tensors themselves, and the batches of a prediction have the full, static size.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.idioms.computations import batch_parallel, cross_shard
from tpucompat.idioms.tpu_estimator import source

_source = source.load()
_model_fn_lib = _source.model_fn_lib
_ModeKeys = _model_fn_lib.ModeKeys
_Wrapper: Any = _source._ModelFnWrapper

_HOST = "/replica:0/task:0/device:CPU:0"


def call_input_fn(input_fn: Callable[[Any], Any], ctx: Any) -> Any:
    """The input function's return value.

    Args:
      input_fn: Takes a ``TPUContext``.
      ctx: TPUEstimator's context, with its mode.

    Returns:
      What it returned. For a prediction, a Dataset of dictionaries: the batches are padded, and
      know by how much; another Dataset, or tensors, as they are.
    """
    context = _source.tpu_context.TPUContext(
        internal_ctx=ctx, input_device=_HOST, invocation_index=0
    )
    context._host_id = 0  # an argument since 2.1
    with tf.device("/device:CPU:0"):
        inputs = input_fn(context)
        if ctx.mode == _ModeKeys.PREDICT and _is_dataset(inputs):
            batch_size = ctx.batch_size_for_input_fn
            return inputs.map(
                _source._InputsWithStoppingSignals.insert_stopping_signal(
                    stop=False, batch_size=batch_size, add_padding=True
                )
            )
    return inputs


def call_model_fn(
    model_fn: Callable[..., Any],
    features: Any,
    labels: Any,
    config: Any,
    params: Any,
    ctx: Any,
    hooks: Callable[[Any], Sequence[Any]],
) -> Any:
    """The model function's specification, for an Estimator.

    Args:
      model_fn: The script's model function.
      features: What the input function gave, or what :func:`call_input_fn` made of it.
      labels: The labels; None if there are none.
      config: The RunConfig.
      params: The script's parameters.
      ctx: TPUEstimator's context, with its mode.
      hooks: Gives the hooks that TPUEstimator adds to a training; takes the loss.

    Returns:
      An ``EstimatorSpec``.
    """
    signals = None
    if ctx.mode == _ModeKeys.PREDICT and isinstance(features, dict) and "signals" in features:
        signals, labels = features["signals"], features.get("labels")
        features = features["features"]
    if ctx.input_partition_dims is not None:
        _check_partitions(features, labels, ctx)
    with _one_shard(ctx), batch_parallel.variable_rules(looped=True):
        spec = _OneReplica(model_fn, config, params, ctx)._call_model_fn(features, labels)
    if not isinstance(spec, _model_fn_lib._TPUEstimatorSpec):
        return spec if signals is None else _without_padding(spec, signals)
    spec = _as_estimator_spec(spec, ctx.mode)
    if ctx.mode == _ModeKeys.TRAIN:
        spec = spec._replace(
            training_hooks=(*hooks(spec.loss), *spec.training_hooks),
            training_chief_hooks=(*_saving_hooks(config, spec), *spec.training_chief_hooks),
        )
    return spec if signals is None else _without_padding(spec, signals)


def _saving_hooks(config: Any, spec: Any) -> list[Any]:
    """The hook that saves in model_dir; on a TPU a script's own CheckpointSaverHook does not replace it."""
    secs, steps = config.save_checkpoints_secs, config.save_checkpoints_steps
    if not (secs or steps):
        return []
    return [tf.train.CheckpointSaverHook(config.model_dir, secs, steps, scaffold=spec.scaffold)]


def _check_partitions(features: Any, labels: Any, ctx: Any) -> None:
    """Refuses what a TPU could not split between the cores of a replica, as its infeed does."""
    recorder = _source._InputPipeline.InputsStructureRecorder(ctx.input_partition_dims)
    recorder.validate_and_record_structure(features, labels)
    tensors = tf.nest.flatten([features] if labels is None else [features, labels])
    for tensor, dims in zip(tensors, recorder.flattened_input_dims):
        source.check_partition(tensor, dims, ctx.cores_per_replica)


def _is_dataset(inputs: Any) -> bool:
    return not isinstance(inputs, (dict, list, tuple)) and (
        _source._Inputs.from_input_fn(inputs).is_dataset
    )


class _OneReplica(_Wrapper):
    """Calls a model function as on a TPU."""

    def _validate_model_features_and_labels(self, *args: Any, **kwargs: Any) -> None:
        """Shapes may be open: nothing is compiled for them."""


@contextlib.contextmanager
def _one_shard(ctx: Any) -> Iterator[None]:
    """Within: CrossShardOptimizer knows that there is one shard."""
    if ctx.embedding_config is not None:
        # TensorFlow's embedding columns take a number of shards for a TPU with embedding tables.
        yield
        return
    with cross_shard.tpu_shard_context(1):
        yield


def _as_estimator_spec(spec: Any, mode: str) -> Any:
    """As ``TPUEstimatorSpec.as_estimator_spec``, but metrics are not called for in training."""
    calls = {}
    if spec.eval_metrics is not None and mode != _ModeKeys.TRAIN:
        calls["eval_metrics"] = spec.eval_metrics
    if spec.host_call is not None:
        calls["host_call"] = spec.host_call
    returned = _source._OutfeedHostCall.create_cpu_hostcall(calls)
    hooks: tuple[Any, ...] = ()
    if "host_call" in returned:
        hooks = (_source._OutfeedHostCallHook(returned["host_call"]),)
    scaffold = None
    if spec.scaffold_fn:
        scaffold = spec.scaffold_fn()
        if scaffold is None:
            raise BadValueError(
                "TPU326", "TPUEstimatorSpec.scaffold_fn returns None, which is not allowed"
            )
    return _model_fn_lib.EstimatorSpec(
        mode=spec.mode,
        predictions=spec.predictions,
        loss=spec.loss,
        train_op=spec.train_op,
        eval_metric_ops=returned.get("eval_metrics"),
        export_outputs=spec.export_outputs,
        scaffold=scaffold,
        training_hooks=(*spec.training_hooks, *hooks),
        evaluation_hooks=(*spec.evaluation_hooks, *hooks),
        prediction_hooks=(*spec.prediction_hooks, *hooks),
    )


def _without_padding(spec: Any, signals: Any) -> Any:
    """The specification with the predictions of real examples only."""
    predictions = _OneReplica._verify_tpu_spec_predictions(None, spec.predictions)
    return spec._replace(
        predictions=_source._PaddingSignals.slice_tensor_or_dict(predictions, signals)
    )
