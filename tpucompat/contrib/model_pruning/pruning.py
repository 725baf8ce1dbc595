"""When weights are pruned, and how many: the schedule of a training, and the masks' new values."""

from __future__ import annotations

import copy
import re
from typing import Any, Callable, Mapping

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.contrib.hparam import HParams
from tpucompat.contrib.model_pruning import masks
from tpucompat.contrib.model_pruning.masks import (
    apply_mask,
    get_masked_weights,
    get_masks,
    get_thresholds,
    get_weight_sparsity,
    get_weights,
)

__all__ = [
    "Pruning",
    "apply_mask",
    "get_masked_weights",
    "get_masks",
    "get_pruning_hparams",
    "get_thresholds",
    "get_weight_sparsity",
    "get_weights",
]


#: The hyperparameters and their default values; get_pruning_hparams says what they mean.
_DEFAULTS: Mapping[str, Any] = {
    "name": "model_pruning",
    "begin_pruning_step": 0,
    "end_pruning_step": -1,
    "weight_sparsity_map": [""],
    "block_dims_map": [""],
    "threshold_decay": 0.0,
    "pruning_frequency": 10,
    "nbins": 256,
    "block_height": 1,
    "block_width": 1,
    "block_pooling_function": "AVG",
    "initial_sparsity": 0.0,
    "target_sparsity": 0.5,
    "sparsity_function_begin_step": 0,
    "sparsity_function_end_step": 100,
    "sparsity_function_exponent": 3.0,
    "use_tpu": False,
}


def get_pruning_hparams() -> Any:
    """The hyperparameters of :class:`Pruning`, with their default values.

    Returns:
      HParams. name: of the name scope. begin_pruning_step, end_pruning_step: between these global steps
      masks change; -1 means no end. pruning_frequency: steps between changes. weight_sparsity_map:
      ["pattern:sparsity"] for weights that have a target of their own; block_dims_map:
      ["pattern:heightxwidth"], block_height, block_width: weights that are pruned together, -1 for all of
      an axis, block_pooling_function: "AVG" or "MAX" of their sizes. threshold_decay: of the thresholds'
      moving average. initial_sparsity, target_sparsity, sparsity_function_begin_step,
      sparsity_function_end_step, sparsity_function_exponent: the sparsity is ``initial + (target -
      initial) * (1 - (1 - p) ** exponent)`` where p goes from 0 to 1 between the two steps. use_tpu:
      resource variables, and a pooling that a TPU does well. nbins: not used.
    """
    return HParams(**copy.deepcopy(_DEFAULTS))


def _block(text: str) -> list[int]:
    return [int(size) for size in text.split("x")]


def _by_pattern(entries: list[str], parse: Callable[[str], Any]) -> dict[Any, Any]:
    """``["pattern:value"]`` as patterns and values; empty entries stand for none."""
    pairs = [entry.split(":") for entry in entries if entry]
    return {re.compile(pattern): parse(value) for pattern, value in pairs}


def _only(found: dict[Any, Any], name: str, table: str) -> Any:
    """The value of the one pattern that fits a name, or None."""
    fitting = [value for pattern, value in found.items() if pattern.search(name)]
    if len(fitting) > 1:
        raise BadValueError("TPU103", f"Multiple matches in {table} for weight {name}")
    return fitting[0] if fitting else None


class Pruning:
    """Masks the smallest weights of a graph, more of them from time to time.

    Args:
      spec: HParams as of :func:`get_pruning_hparams`, those by default.
      global_step: A scalar; the graph's global step by default.
      sparsity: A scalar, the part of the weights to mask; by default the schedule of ``spec``.

    Raises:
      ValueError: If the schedule contradicts itself.
    """

    def __init__(self, spec: Any = None, global_step: Any = None, sparsity: Any = None) -> None:
        self._spec = spec if spec else get_pruning_hparams()
        self._validate_spec()
        step = tf.train.get_global_step() if global_step is None else global_step
        self._global_step = tf.cast(step, tf.int32)
        self._sparsity = self._scheduled_sparsity() if sparsity is None else sparsity
        self._assign_ops: list[Any] = []
        self._last_update_step = self._make_last_update_step()
        self._block_dims = [self._spec.block_height, self._spec.block_width]
        self._block_pooling_function = self._spec.block_pooling_function
        self._block_dims_map = _by_pattern(self._spec.block_dims_map, _block)
        for size in self._block_dims_map.values():
            if len(size) != 2:
                raise BadValueError("TPU103", f"Expected 2 values for block dim, got {size}")
        self._weight_sparsity_map = _by_pattern(self._spec.weight_sparsity_map, float)
        if any(target >= 1.0 for target in self._weight_sparsity_map.values()):
            raise BadValueError("TPU103", "Weight sparsity can not exceed 1.0")

    def _validate_spec(self) -> None:
        spec = self._spec
        begin, end = spec.begin_pruning_step, spec.end_pruning_step
        rules = {
            "Illegal value for begin_pruning_step": begin >= 0,
            f"Pruning must begin before it can end. begin_step={begin}, end_step={end}. "
            "Set end_pruning_step to -1 if pruning is required till training stops": end == -1
            or begin < end,
            "Illegal value for sparsity_function_begin_step": spec.sparsity_function_begin_step
            >= 0,
            "Sparsity function requires begin_step < end_step": spec.sparsity_function_begin_step
            < spec.sparsity_function_end_step,
            "threshold_decay must be in range [0,1)": 0.0 <= spec.threshold_decay < 1.0,
            "initial_sparsity must be in range [0,1)": 0.0 <= spec.initial_sparsity < 1.0,
            "target_sparsity must be in range [0,1)": 0.0 <= spec.target_sparsity < 1.0,
        }
        for text, holds in rules.items():
            if not holds:
                raise BadValueError("TPU103", text)

    def _scheduled_sparsity(self) -> Any:
        spec = self._spec
        begin, end = spec.sparsity_function_begin_step, spec.sparsity_function_end_step
        with tf.name_scope(spec.name):
            passed = tf.div(tf.cast(self._global_step - begin, tf.float32), end - begin)
            p = tf.minimum(1.0, tf.maximum(0.0, passed))
            left = tf.pow(1 - p, spec.sparsity_function_exponent)
            return tf.add(
                tf.multiply(spec.initial_sparsity - spec.target_sparsity, left),
                spec.target_sparsity,
                name="sparsity",
            )

    def _make_last_update_step(self) -> Any:
        """The global step at which the masks changed last; several schedules of a name share it."""
        with tf.variable_scope(
            self._spec.name, use_resource=self._spec.use_tpu, reuse=tf.AUTO_REUSE
        ):
            return tf.get_variable(
                "last_mask_update_step",
                [],
                initializer=tf.zeros_initializer(),
                trainable=False,
                dtype=tf.int32,
            )

    # The three methods below are called by programs, with TensorFlow 1.15's names.

    def _get_block_dims(self, weight_name: str) -> list[int]:
        found = _only(self._block_dims_map, weight_name, "block_dims_map")
        return self._block_dims if found is None else found

    def _get_sparsity(self, weight_name: str) -> Any:
        """The part to mask, a scalar: a weight with a target of its own goes there in step with the others."""
        target = _only(self._weight_sparsity_map, weight_name, "weight_sparsity_map")
        if target is None:
            return self._sparsity
        return tf.multiply(self._sparsity, tf.div(target, self._spec.target_sparsity))

    def _update_mask(self, weights: Any, threshold: Any) -> tuple[Any, Any]:
        """The threshold that masks the wished part of the weights, and the mask by it.

        Args:
          weights: Of any shape.
          threshold: The present one, a scalar, for the moving average.

        Returns:
          The new threshold, and a mask of the weights' shape.
        """
        if self._sparsity is None:
            raise BadValueError("TPU103", "Sparsity variable undefined")
        sparsity = self._get_sparsity(weights.op.name)
        decay = self._spec.threshold_decay
        with tf.name_scope(weights.op.name + "_pruning_ops"):
            sizes = tf.abs(weights)
            kept = tf.cast(tf.round(tf.cast(tf.size(sizes), tf.float32) * (1 - sparsity)), tf.int32)
            descending, _ = tf.nn.top_k(tf.reshape(sizes, [-1]), k=tf.size(sizes))
            smallest_kept = tf.gather(descending, kept - 1)
            smoothed = tf.add_n(
                [tf.multiply(smallest_kept, 1 - decay), tf.multiply(threshold, decay)]
            )
            return smoothed, tf.cast(tf.greater_equal(sizes, smoothed), tf.float32)

    def _maybe_update_block_mask(self, weights: Any, threshold: Any) -> tuple[Any, Any]:
        """As :meth:`_update_mask`, by blocks where the weights are a matrix and blocks are asked for."""
        blocks = self._get_block_dims(weights.op.name)
        matrix = tf.squeeze(weights)
        if matrix.get_shape().ndims != 2 or blocks == [1, 1]:
            return self._update_mask(weights, threshold)
        rows, columns = matrix.get_shape().as_list()
        window = [size if block == -1 else block for block, size in zip(blocks, (rows, columns))]
        if self._block_pooling_function not in ("AVG", "MAX"):
            raise BadValueError(
                "TPU103",
                f"Unknown pooling function for block sparsity: {self._block_pooling_function}",
            )
        with tf.name_scope(weights.op.name + "_pruning_ops"):
            sizes = tf.abs(matrix)
            how: dict[str, Any] = {
                "window_shape": window,
                "pooling_type": self._block_pooling_function,
                "strides": window,
                "padding": "SAME",
                "name": weights.op.name + "_pooled",
            }
            if self._spec.use_tpu:
                pooled = masks.factorized_pool(sizes, **how)
            else:
                pooled = tf.squeeze(tf.nn.pool(sizes[tf.newaxis, :, :, tf.newaxis], **how), [0, 3])
            smoothed, mask = self._update_mask(pooled, threshold)
            mask = masks.expand_tensor(mask, window)[:rows, :columns]
        return smoothed, tf.reshape(mask, tf.shape(weights))

    def _get_mask_assign_ops(self) -> None:
        if self._assign_ops:
            raise BadValueError(
                "TPU103", "Assign op list not empty. _get_mask_assign_ops() called twice?"
            )
        found, thresholds = get_masks(), get_thresholds()
        if len(found) != len(thresholds):
            raise BadValueError(
                "TPU103",
                f"Number of masks {len(found)} and number of thresholds {len(thresholds)} mismatch",
            )
        for mask, threshold, weight in zip(found, thresholds, get_weights()):
            in_parts = hasattr(weight, "as_tensor")
            new_threshold, new_mask = self._maybe_update_block_mask(
                weight.as_tensor() if in_parts else weight, threshold
            )
            assign = masks.partitioned_variable_assign if in_parts else masks.variable_assign
            self._assign_ops += [
                masks.variable_assign(threshold, new_threshold),
                assign(mask, new_mask),
            ]

    def mask_update_op(self) -> Any:
        """An operation that updates all masks."""
        with tf.name_scope(self._spec.name):
            if not self._assign_ops:
                self._get_mask_assign_ops()
            step = "last_mask_update_step_assign"
            updates = [tf.assign(self._last_update_step, self._global_step, name=step)]
            tf.logging.info("Updating masks.")
            return tf.group(*updates, *self._assign_ops, name="mask_update")

    def conditional_mask_update_op(self) -> Any:
        """An operation that updates all masks if the schedule asks for it at the current step."""
        spec, step = self._spec, self._global_step
        with tf.name_scope(spec.name):
            within = tf.logical_and(
                tf.greater_equal(step, spec.begin_pruning_step),
                tf.logical_or(
                    tf.less_equal(step, spec.end_pruning_step), tf.less(spec.end_pruning_step, 0)
                ),
            )
            due = tf.less_equal(tf.add(self._last_update_step, spec.pruning_frequency), step)
            now = tf.logical_and(within, due)
        return tf.cond(now, self.mask_update_op, tf.no_op)

    def add_pruning_summaries(self) -> None:
        """Adds summaries of the sparsities and thresholds."""
        with tf.name_scope(self._spec.name + "_summaries"):
            tf.summary.scalar("sparsity", self._sparsity)
            tf.summary.scalar("last_mask_update_step", self._last_update_step)
            for mask, threshold in zip(get_masks(), get_thresholds()):
                tf.summary.scalar(mask.op.name + "/sparsity", tf.nn.zero_fraction(mask))
                tf.summary.scalar(threshold.op.name + "/threshold", threshold)

    def print_hparams(self) -> None:
        """Logs the hyperparameters as JSON."""
        tf.logging.info(self._spec.to_json())
