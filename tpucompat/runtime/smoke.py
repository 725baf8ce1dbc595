"""``tpucompat run --smoke``: caps epochs and steps, so that a script of hours is tried in a minute.

Every training, evaluation and prediction of Keras and of ``tf.estimator`` stops after a few steps. The
arguments are capped before they reach TensorFlow; what the script does between them runs as it is. Numbers of
such a run mean nothing, and files that the script writes are written.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, Mapping

from tpucompat.base import journal
from tpucompat.base.late import late
from tpucompat.runtime import imports
from tpucompat.standins import keras1_arguments
from tpucompat.tf import patches, private

tensorflow = late("tensorflow")

STEPS = 3
EPOCHS = 1


@patches.patch
def enable(era: str) -> None:
    """Caps Keras and Estimator; imports TensorFlow, which the script is about to do anyway.

    Args:
      era: What the script speaks: "tf1" or "tf2".
    """
    journal.notice(
        "TPU425",
        (f"smoke run: at most {EPOCHS} epoch of {STEPS} steps; the results are meaningless"),
    )
    namespace = imports.ROOTS[era]
    _ = namespace.base  # imports TensorFlow, in the way this era needs
    for model in private.keras_models(graph=era == "tf1"):
        for name, cap in _KERAS.items():
            _wrap(model, name, cap)
    estimator = namespace.find("estimator", "Estimator")
    if isinstance(estimator, type):
        for name, cap in _ESTIMATOR.items():
            _wrap(estimator, name, cap)


Cap = Callable[[Dict[str, Any]], None]


def _wrap(owner: type, name: str, cap: Cap) -> None:
    method = owner.__dict__.get(name)
    if method is None:
        return
    signature = inspect.signature(method)

    @functools.wraps(method)
    def capped(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(self, *args, **keras1_arguments.as_today(method, args, kwargs))
        bound.apply_defaults()
        cap(bound.arguments)
        return method(*bound.args, **bound.kwargs)

    patches.replace(owner, name, capped)


def _cap_fit(arguments: dict[str, Any]) -> None:
    first = arguments.get("initial_epoch") or 0
    arguments["epochs"] = min(arguments["epochs"], first + EPOCHS)
    _cap_steps(arguments, "steps_per_epoch", _data(arguments))
    _split_off_validation(arguments)
    _cap_arrays(arguments, ("x", "y", "sample_weight"))
    validation = arguments.get("validation_data")
    _cap_steps(arguments, "validation_steps", validation)
    if isinstance(validation, (tuple, list)):
        rows = STEPS * _batch_size(arguments)
        arguments["validation_data"] = type(validation)(
            _first_rows(part, rows) for part in validation
        )


def _split_off_validation(arguments: dict[str, Any]) -> None:
    """Splits as Keras does, before rows are cut off: the batches are those of the whole run then.

    A fraction of a few batches leaves odd ones, which the cores of a TPU may not be able to share.
    """
    split, data = arguments.get("validation_split"), _data(arguments)
    names = [n for n in ("x", "y", "sample_weight") if arguments.get(n) is not None]
    if not split or arguments.get("validation_data") is not None or not _is_arrays(data):
        return
    rows = _rows(data)
    if rows is None:
        return
    first = int(rows * (1.0 - split))
    arguments["validation_data"] = tuple(_from_row(arguments[name], first) for name in names)
    arguments["validation_split"] = 0.0
    for name in names:
        arguments[name] = _first_rows(arguments[name], first)


def _rows(data: Any) -> int | None:
    """How many rows arrays have; None where a graph knows it, or nobody."""
    while isinstance(data, (Mapping, tuple, list)) and data:
        data = next(iter(data.values())) if isinstance(data, Mapping) else data[0]
    shape = getattr(data, "shape", None)
    return (
        int(shape[0]) if shape is not None and hasattr(data, "__array__") and len(shape) else None
    )


def _cap_evaluation(arguments: dict[str, Any]) -> None:
    _cap_steps(arguments, "steps", _data(arguments))
    _cap_arrays(arguments, ("x", "y", "sample_weight"))


def _cap_prediction(arguments: dict[str, Any]) -> None:
    # A prediction has one row per input row, and scripts rely on it: arrays stay whole.
    _cap_steps(arguments, "steps", _data(arguments))


def _data(arguments: Mapping[str, Any]) -> Any:
    return arguments.get("x", arguments.get("generator"))


def _cap_steps(arguments: dict[str, Any], name: str, data: Any) -> None:
    """Caps a number of steps; sets it where the data has no end or no known one."""
    steps = arguments.get(name)
    if steps is not None:
        arguments[name] = min(steps, STEPS)
    elif name in arguments and data is not None and not _is_arrays(data):
        arguments[name] = STEPS


def _is_arrays(data: Any) -> bool:
    if isinstance(data, Mapping):
        return all(_is_arrays(part) for part in data.values())
    if isinstance(data, (tuple, list)):
        return all(_is_arrays(part) for part in data)
    return hasattr(data, "shape") or isinstance(data, (int, float)) or data is None


def _cap_arrays(arguments: dict[str, Any], names: Any) -> None:
    if not _is_arrays(_data(arguments)):
        return
    rows = STEPS * _batch_size(arguments)
    for name in names:
        if arguments.get(name) is not None:
            arguments[name] = _first_rows(arguments[name], rows)


def _batch_size(arguments: Mapping[str, Any]) -> int:
    return arguments.get("batch_size") or 32  # Keras' own default


def _first_rows(data: Any, rows: int) -> Any:
    return _sliced(data, slice(rows))


def _from_row(data: Any, first: int) -> Any:
    return _sliced(data, slice(first, None))


def _sliced(data: Any, which: slice) -> Any:
    if isinstance(data, Mapping):
        return {name: _sliced(part, which) for name, part in data.items()}
    if isinstance(data, (tuple, list)) and data and hasattr(data[0], "shape"):
        return type(data)(_sliced(part, which) for part in data)
    shape = getattr(data, "shape", None)
    # A symbolic tensor has no rows of its own: its graph decides.
    return data[which] if shape is not None and hasattr(data, "__array__") and len(shape) else data


def _cap_train(arguments: dict[str, Any]) -> None:
    # By its own arguments: a hook would be asked after all steps of a TPU's loop (iterations_per_loop).
    if arguments.get("max_steps") is None:
        arguments["steps"] = min(arguments.get("steps") or STEPS, STEPS)
    else:
        last = arguments["self"].latest_checkpoint()
        reader = tensorflow.train.load_checkpoint(last) if last else None
        name = "global_step"
        done = int(reader.get_tensor(name)) if reader and reader.has_tensor(name) else 0
        arguments["max_steps"] = min(arguments["max_steps"], done + STEPS)


def _cap_estimator_evaluation(arguments: dict[str, Any]) -> None:
    arguments["steps"] = min(arguments.get("steps") or STEPS, STEPS)


_KERAS: Mapping[str, Cap] = {
    "fit": _cap_fit,
    "fit_generator": _cap_fit,
    "evaluate": _cap_evaluation,
    "evaluate_generator": _cap_evaluation,
    "predict": _cap_prediction,
    "predict_generator": _cap_prediction,
}
_ESTIMATOR: Mapping[str, Cap] = {"train": _cap_train, "evaluate": _cap_estimator_evaluation}
