"""The checkpoint that a TPUEstimator starts from: the newest that is whole.

A machine that goes away, or a disk that is full, can leave the newest checkpoint truncated. It is
reported, and the one before is used.
"""

from __future__ import annotations

import os
from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat import journal


def pass_over_truncated(model_dir: str) -> None:
    """Makes the newest whole checkpoint the one that the directory's state names.

    Does nothing where that is the case already, or where no checkpoint is whole: then restoring
    says what is wrong.

    Args:
      model_dir: The Estimator's directory.
    """
    state = tf.train.get_checkpoint_state(model_dir)
    if state is None or is_whole(state.model_checkpoint_path):
        return
    newest = state.model_checkpoint_path
    others = [path for path in state.all_model_checkpoint_paths if path != newest]
    while others and not is_whole(others[-1]):
        others.pop()
    if not others:
        return
    journal.notice(
        "TPU322",
        f"the checkpoint {newest} is incomplete, using {os.path.basename(others[-1])}",
    )
    tf.train.update_checkpoint_state(model_dir, others[-1], others)


def is_whole(path: str) -> bool:
    """Whether a checkpoint's files are there in their full size; their contents are not read.

    Args:
      path: The checkpoint's prefix.
    """
    try:
        reader = tf.train.NewCheckpointReader(path)
    except (tf.errors.OpError, ValueError, RuntimeError):  # the class differs between releases
        return False
    types = reader.get_variable_to_dtype_map()
    expected = sum(
        _elements(shape) * (0 if types[name] == tf.string else types[name].size)
        for name, shape in reader.get_variable_to_shape_map().items()
    )
    files = tf.gfile.Glob(path + ".data-*") or tf.gfile.Glob(path)  # V2; V1 is one file
    return sum(tf.gfile.Stat(file).length for file in files) >= expected


def _elements(shape: Any) -> int:
    count = 1
    for size in shape:
        count *= size
    return count
