"""What TPUEstimator refuses: its own errors, with a code and the next step.

The types and texts are those of TensorFlow's source
(``tensorflow_estimator/python/estimator/tpu/*.py``), where they are raised; here they are recognised.
"""

from __future__ import annotations

import contextlib
import os
import re
import traceback
from typing import Any, Iterator

import tensorflow.compat.v1 as tf

from tpucompat.base.codes import CODES
from tpucompat.base.errors import (
    BadTypeError,
    BadValueError,
    RefusedError,
    TPUCompatError,
    describe,
)

# Part of the text -> code.
_TEXTS = (
    ("batch size .* must be divisible by number of replicas", "TPU329"),
    ("_batch_size`? (in TPUEstimator constructor )?(cannot be|must be)", "TPU329"),
    ("estimator_spec used by TPU (evaluation|prediction) must have type", "TPU330"),
    ("model_fn should return an EstimatorSpec", "TPU330"),
    ("returned by EstimatorSpec is not supported in TPUEstimator", "TPU330"),
    ("All hooks must be SessionRunHook instances", "TPU330"),
    ("(host_call|eval_metrics)(\\[.\\])? should", "TPU331"),
    ("length of tensors .* does not match", "TPU331"),
    ("All tensors outfed from TPU should preserve batch size dimension", "TPU331"),
    ("Please use tf.contrib.summary instead of tf.summary", "TPU331"),
    ("TPUEstimatorSpec.predictions", "TPU332"),
    ("to the model returned by input_fn must have static shape", "TPU333"),
    ("`input_fn` (must return|returning) ", "TPU333"),
    ("does not include params argument", "TPU333"),
    ("model_fn does not take labels", "TPU333"),
    ("^unsupported callable$|is not a callable object", "TPU333"),  # input_fn() for input_fn
    ("Queue.* dequeued shape|Shape mismatch in tuple component", "TPU333"),
    ("one of `steps` or `max_steps` must be set", "TPU334"),
    ("Evaluate `steps` must be set on TPU", "TPU334"),
    ("Must specify (max_)?steps > 0", "TPU334"),
    ("`config` must be provided with type", "TPU335"),
    ("are reserved keys but existed in params", "TPU335"),
    ("(Both master and cluster are set|provide a ClusterResolver and)", "TPU335"),
)
_PATTERNS = tuple((re.compile(text, re.DOTALL), code) for text, code in _TEXTS)

# TensorFlow's own errors while it runs: part of the text -> code.
_OPERATIONS = (
    ("End of sequence", "TPU336"),
    ("Restoring from checkpoint failed", "TPU337"),
    ("[Pp]ermission denied|Read-only file system|No space left on device", "TPU338"),
)
_OPERATION_PATTERNS = tuple((re.compile(text), code) for text, code in _OPERATIONS)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Within: TPUEstimator's errors get a code, and say what to do."""
    try:
        yield
    except TPUCompatError:
        raise
    except tf.errors.OpError as error:
        raise _with_next_step(error) from error.__cause__
    except (TypeError, ValueError, RuntimeError) as error:
        code = _code_of(str(error), _PATTERNS)
        if code is None:
            raise
        raise _KINDS[_kind_of(error)](code, str(error)) from error
    except AttributeError as error:
        # A None among the inputs of a step: TensorFlow asks it for its type.
        where = traceback.extract_tb(error.__traceback__)[-1].filename
        if os.path.basename(where) != "tpu_estimator.py" or not _NONE.search(str(error)):
            raise
        text = "input_fn returned None, or a None among its tensors."
        raise BadValueError("TPU333", text) from error


# What is said of None where a tensor should be.
_NONE = re.compile("'NoneType' object has no attribute '(dtype|shape|get_shape)'")
_KINDS: dict[type, Any] = {
    TypeError: BadTypeError,
    ValueError: BadValueError,
    RuntimeError: RefusedError,
}


def _kind_of(error: Exception) -> type:
    return next(kind for kind in _KINDS if isinstance(error, kind))


def _code_of(text: str, patterns: Any) -> str | None:
    return next((code for pattern, code in patterns if pattern.search(text)), None)


def _with_next_step(error: Any) -> Any:
    """The error, or one of the same type that says what to do."""
    code = _code_of(error.message, _OPERATION_PATTERNS)
    if code is None or code in error.message:
        return error
    text = describe(code, error.message, CODES[code].what_to_do)
    return type(error)(error.node_def, error.op, text).with_traceback(error.__traceback__)
