"""``tf.contrib.learn``'s export strategies: what an Experiment does with a trained model.

Follows tensorflow/contrib/learn/python/learn/export_strategy.py, utils/saved_model_export_utils.py and
utils/input_fn_utils.py of TensorFlow 1.15, for the Estimators of tf.estimator.
"""

from __future__ import annotations

import collections
import inspect
import os
from typing import Any, Callable, Mapping, NamedTuple

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError

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
