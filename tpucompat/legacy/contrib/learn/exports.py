"""``tf.contrib.learn``'s export strategies: what an Experiment does with a trained model.

Follows tensorflow/contrib/learn/python/learn/export_strategy.py, utils/saved_model_export_utils.py and
utils/input_fn_utils.py of TensorFlow 1.15, for the Estimators of tf.estimator.
"""

from __future__ import annotations

import collections
import inspect
import os
import time
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadValueError, RefusedError
from tpucompat.legacy import estimator as _estimator

_LOSS = "loss"


class ExportStrategy(
    collections.namedtuple("ExportStrategy", ["name", "export_fn", "strip_default_attrs"])
):
    """A way of exporting a model, with a name, which is that of its folder.

    Args:
      name: The name.
      export_fn: A function of the Estimator and a folder, and, if it names them, ``checkpoint_path``,
        ``eval_result`` and ``strip_default_attrs``; it returns the path of what it wrote.
      strip_default_attrs: Whether attributes of operations that have their default value are left out.
    """

    def __new__(
        cls, name: str, export_fn: Callable[..., Any], strip_default_attrs: bool | None = None
    ) -> ExportStrategy:
        """Makes one; two of the arguments may be left out."""
        return super().__new__(cls, name, export_fn, strip_default_attrs)

    def export(
        self,
        estimator: Any,
        export_path: Any,
        checkpoint_path: str | None = None,
        eval_result: Mapping[str, Any] | None = None,
    ) -> Any:
        """Exports the model of a checkpoint.

        Args:
          estimator: The Estimator.
          export_path: The folder.
          checkpoint_path: The newest checkpoint by default.
          eval_result: The metrics of this checkpoint.

        Returns:
          The path of the export.

        Raises:
          BadValueError: The function asks for metrics, and not for the checkpoint that they are of.
        """
        names = inspect.getfullargspec(self.export_fn).args
        if "eval_result" in names and "checkpoint_path" not in names:
            raise BadValueError(
                "TPU103", "An export_fn accepting eval_result must also accept checkpoint_path."
            )
        known = {
            "checkpoint_path": checkpoint_path,
            "eval_result": eval_result,
            "strip_default_attrs": self.strip_default_attrs,
        }
        asked = {name: value for name, value in known.items() if name in names}
        return self.export_fn(estimator, export_path, **asked)


class InputFnOps(NamedTuple):
    """What a function for serving gives: features, labels, and the placeholders that are fed."""

    features: Any
    labels: Any
    default_inputs: Any


def build_parsing_serving_input_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """A function that parses serialized examples.

    Args:
      feature_spec: As for ``tf.parse_example``.
      default_batch_size: The number of examples; None for any.
    """

    def input_fn() -> InputFnOps:
        examples = tf.placeholder(tf.string, [default_batch_size], name="input_example_tensor")
        return InputFnOps(tf.parse_example(examples, feature_spec), None, {"examples": examples})

    return input_fn


def build_default_serving_input_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """A function with a placeholder for each feature.

    Args:
      features: Tensors of the shapes and types that are fed; their first dimension is the batch.
      default_batch_size: The number of examples; None for any.
    """

    def input_fn() -> InputFnOps:
        fed = {
            name: tf.placeholder(
                tensor.dtype, [default_batch_size, *tensor.shape.as_list()[1:]], tensor.op.name
            )
            for name, tensor in features.items()
        }
        return InputFnOps(fed, None, fed)

    return input_fn


def make_export_strategy(
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """Exports SavedModels for serving into folders that are named by the time; ``Servo`` is its name.

    Args:
      serving_input_fn: Without arguments; returns a ``ServingInputReceiver``.
      default_output_alternative_key: Of tf.contrib.learn's own Estimators only.
      assets_extra: Files to be put beside the model, by the names that they get.
      as_text: Whether the graph is written as text.
      exports_to_keep: How many of the newest are kept; None for all.
      strip_default_attrs: Whether attributes of operations that have their default value are left out.
    """

    def export_fn(
        estimator: Any,
        export_dir_base: str,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool | None = False,
    ) -> Any:
        if default_output_alternative_key is not None:
            raise BadValueError(
                "TPU103",
                "default_output_alternative_key is not supported in core Estimator. "
                f"Given: {default_output_alternative_key}",
            )
        result = estimator.export_savedmodel(
            export_dir_base,
            serving_input_fn,
            assets_extra=assets_extra,
            as_text=as_text,
            checkpoint_path=checkpoint_path,
            strip_default_attrs=bool(strip_default_attrs),
        )
        garbage_collect_exports(export_dir_base, exports_to_keep)
        return result

    return ExportStrategy("Servo", export_fn, strip_default_attrs)


def make_parsing_export_strategy(
    feature_columns: Sequence[Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    target_core: bool = False,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """As :func:`make_export_strategy`, for serialized examples with the features of columns.

    Args:
      feature_columns: Of ``tf.feature_column``.
      default_output_alternative_key: See :func:`make_export_strategy`, as all that follow.
      assets_extra: See there.
      as_text: See there.
      exports_to_keep: See there.
      target_core: Whether the Estimator is one of tf.estimator; it has to be.
      strip_default_attrs: See there.
    """
    spec = tf.feature_column.make_parse_example_spec(feature_columns)
    if target_core:
        serving_input_fn = _estimator.api.export.build_parsing_serving_input_receiver_fn(spec)
    else:
        serving_input_fn = build_parsing_serving_input_fn(spec)
    return make_export_strategy(
        serving_input_fn,
        default_output_alternative_key=default_output_alternative_key,
        assets_extra=assets_extra,
        as_text=as_text,
        exports_to_keep=exports_to_keep,
        strip_default_attrs=strip_default_attrs,
    )


class BestModelSelector:
    """Remembers the best metrics that it was shown.

    Args:
      event_file_pattern: Event files of an earlier run, whose best metrics it starts with.
      compare_fn: Whether the second of two sets of metrics is better; by default, that of the smaller loss.
    """

    def __init__(
        self,
        event_file_pattern: str | None = None,
        compare_fn: Callable[[Any, Any], bool] | None = None,
    ) -> None:
        self._better = compare_fn or _has_a_smaller_loss
        self._best: Any = None
        for path in tf.gfile.Glob(event_file_pattern) if event_file_pattern else ():
            for event in tf.train.summary_iterator(path):
                if event.HasField("summary"):
                    values = [v for v in event.summary.value if v.HasField("simple_value")]
                    found = {value.tag: value.simple_value for value in values}
                    if self._best is None or self._better(self._best, found):
                        self._best = found

    def update(self, checkpoint_path: str, eval_result: Any) -> tuple[str, Any]:
        """The checkpoint and its metrics where they are the best so far; else an empty path and None.

        Raises:
          BadValueError: A checkpoint without a path, or without metrics.
        """
        if not checkpoint_path:
            raise BadValueError("TPU103", "Checkpoint path is empty.")
        if eval_result is None:
            raise BadValueError("TPU103", f"{checkpoint_path} has empty evaluation results.")
        if self._best is not None and not self._better(self._best, eval_result):
            return "", None
        self._best = eval_result
        return checkpoint_path, eval_result


def _has_a_smaller_loss(best: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    for metrics in (best, other):
        if not metrics or _LOSS not in metrics:
            raise BadValueError(
                "TPU103", "an evaluation result cannot be empty or no loss is found in it."
            )
    return best[_LOSS] > other[_LOSS]


def make_best_model_export_strategy(
    serving_input_fn: Callable[[], Any],
    exports_to_keep: int | None = 1,
    model_dir: str | None = None,
    event_file_pattern: str | None = None,
    compare_fn: Callable[[Any, Any], bool] | None = None,
    default_output_alternative_key: str | None = None,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """As :func:`make_export_strategy`, for models better than all before; ``best_model`` is its name.

    Args:
      serving_input_fn: Without arguments; returns a ``ServingInputReceiver``.
      exports_to_keep: How many of the newest are kept; None for all.
      model_dir: Where the event files of earlier runs are.
      event_file_pattern: Which those are, below ``model_dir``.
      compare_fn: Whether the second of two sets of metrics is better; by default, that of the smaller loss.
      default_output_alternative_key: Of tf.contrib.learn's own Estimators only.
      strip_default_attrs: Whether attributes of operations that have their default value are left out.
    """
    strategy = make_export_strategy(
        serving_input_fn,
        exports_to_keep=exports_to_keep,
        default_output_alternative_key=default_output_alternative_key,
        strip_default_attrs=strip_default_attrs,
    )
    earlier = (
        os.path.join(model_dir, event_file_pattern) if model_dir and event_file_pattern else None
    )
    selector = BestModelSelector(earlier, compare_fn)

    def export_fn(
        estimator: Any, export_dir_base: Any, checkpoint_path: str | None, eval_result: Any = None
    ) -> Any:
        path, metrics = selector.update(
            checkpoint_path or tf.train.latest_checkpoint(estimator.model_dir), eval_result
        )
        if not path or metrics is None:
            return ""
        folder = os.path.join(tf.compat.as_text(export_dir_base), os.path.basename(path))
        return strategy.export(estimator, folder, path, metrics)

    return ExportStrategy("best_model", export_fn)


def extend_export_strategy(
    base_export_strategy: ExportStrategy,
    post_export_fn: Callable[[Any, str], str],
    post_export_name: str | None = None,
) -> ExportStrategy:
    """Exports, and lets a function make another export of that.

    Args:
      base_export_strategy: Exports into a temporary folder.
      post_export_fn: A function of this export and an empty folder; returns a folder within it.
      post_export_name: Of the strategy; that of the first by default.
    """

    def export_fn(estimator: Any, export_dir_base: Any, checkpoint_path: str | None = None) -> str:
        base = tf.compat.as_text(export_dir_base)
        first = _temporary(base, "temp-base-export-")
        exported = base_export_strategy.export(estimator, first, checkpoint_path)
        second = _temporary(base, "temp-post-export-")
        made = tf.compat.as_text(post_export_fn(exported, second))
        if not made.startswith(second):
            raise BadValueError("TPU103", f"post_export_fn must return a sub-directory of {second}")
        last = os.path.join(base, os.path.relpath(made, second))
        if tf.gfile.Exists(last):
            raise RefusedError("TPU103", f"the folder of the final export exists: {last}")
        tf.gfile.Rename(made, last)
        for folder in (first, second):
            tf.gfile.DeleteRecursively(folder)
        return last

    return ExportStrategy(post_export_name or base_export_strategy.name, export_fn)


def _temporary(base: str, prefix: str) -> str:
    folder = os.path.join(base, prefix + str(int(time.time())))
    if tf.gfile.Exists(folder):
        raise RefusedError("TPU103", f"the folder of a temporary export exists: {folder}")
    tf.gfile.MakeDirs(folder)
    return folder


def _exports(export_dir_base: Any) -> list[str]:
    """The exports in a folder, the oldest first: ten digits, seconds of the time."""
    base = tf.compat.as_text(export_dir_base)
    names = [tf.compat.as_text(name).rstrip("/") for name in tf.gfile.ListDirectory(base)]
    names = [name for name in names if len(name) == 10 and name.isdigit()]
    return [os.path.join(base, name) for name in sorted(names, key=int)]


def garbage_collect_exports(export_dir_base: Any, exports_to_keep: int | None) -> None:
    """Deletes all exports in a folder but the newest.

    Args:
      export_dir_base: The folder.
      exports_to_keep: How many are kept; None deletes nothing.
    """
    if exports_to_keep is None:
        return
    found = _exports(export_dir_base)
    for path in found[: max(len(found) - exports_to_keep, 0)]:
        try:
            tf.gfile.DeleteRecursively(path)
        except tf.errors.NotFoundError as error:
            tf.logging.warn("Can not delete %s recursively: %s", path, error)


class Path(NamedTuple):
    """An export: its folder, and the number in its name."""

    path: str
    export_version: int | None


def get_most_recent_export(export_dir_base: Any) -> Path | None:
    """The newest export in a folder; None where there is none."""
    found = _exports(export_dir_base)
    return Path(found[-1], int(os.path.basename(found[-1]))) if found else None


def get_timestamped_export_dir(export_dir_base: Any) -> bytes:
    """The path of a folder for an export made now, which is not there yet; waits a second if it is.

    Raises:
      RefusedError: Ten such folders exist.
    """
    for _ in range(10):
        folder = os.path.join(tf.compat.as_bytes(export_dir_base), b"%d" % time.time())
        if not tf.gfile.Exists(folder):
            return folder
        time.sleep(1)
    raise RefusedError(
        "TPU103", "Failed to obtain a unique export directory name after 10 attempts."
    )


def get_temp_export_dir(timestamped_export_dir: Any) -> bytes:
    """The path of a folder for an export that is not finished."""
    folder, name = os.path.split(tf.compat.as_bytes(timestamped_export_dir))
    return os.path.join(folder, b"temp-" + name)
