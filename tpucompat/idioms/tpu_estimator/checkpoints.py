"""The checkpoint that a TPUEstimator starts from, and the one process that trains in its directory.

A machine that goes away, a full disk or a damaged one can leave the newest checkpoint truncated or changed, or
the file ``checkpoint``, which names it, empty. TensorFlow would then fail, or begin at step 0 and remove what
is there. Here the newest whole checkpoint is used, and none is removed before that.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import Any, Iterator

import tensorflow.compat.v1 as tf

from tpucompat.base import journal
from tpucompat.base.errors import BadValueError, RefusedError

_STEP = re.compile(r"model\.ckpt-(\d+)(?:\.index)?")

#: Model directories that this process trains in.
_held: set[str] = set()


def pass_over_damaged(model_dir: str) -> None:
    """Makes the newest whole checkpoint the one that the directory's state names.

    Does nothing if that is the case already, if nothing was saved, and if the file ``checkpoint`` does not
    exist, which restarts a training.

    Args:
      model_dir: The Estimator's directory.

    Raises:
      BadValueError: If checkpoints are there, and none of them is whole (TPU322).
    """
    if not tf.gfile.Exists(os.path.join(model_dir, "checkpoint")):
        return
    state = _state(model_dir)
    if state is not None and is_whole(state.model_checkpoint_path):
        return
    there = _saved(model_dir)
    whole = list(there)
    while whole and not is_whole(whole[-1]):
        whole.pop()
    if not whole:
        if there:
            raise BadValueError(
                "TPU322",
                f"all {len(there)} checkpoints in {model_dir} are incomplete.",
                "Restore a backup of the directory, or use a different model_dir.",
            )
        return
    named = (
        f"the checkpoint {os.path.basename(state.model_checkpoint_path)}"
        if state
        else "the file checkpoint"
    )
    wrong = "is incomplete" if state else "cannot be read"
    text = f"{named} in {model_dir} {wrong}, using {os.path.basename(whole[-1])}"
    journal.notice("TPU322", text)
    tf.train.update_checkpoint_state(model_dir, whole[-1], whole)


def _state(model_dir: str) -> Any:
    """What the file ``checkpoint`` says; None where it cannot be read, or names nothing."""
    before = tf.logging.get_verbosity()
    tf.logging.set_verbosity(tf.logging.ERROR)  # which warns of it, without a next step
    try:
        state = tf.train.get_checkpoint_state(model_dir)
    except (tf.errors.OpError, ValueError):
        state = None
    finally:
        tf.logging.set_verbosity(before)
    return state if state is not None and state.model_checkpoint_path else None


def _saved(model_dir: str) -> list[str]:
    """The checkpoints that are there, by their steps."""
    steps = {}
    for name in tf.gfile.ListDirectory(model_dir):
        match = _STEP.fullmatch(name)
        if match:
            steps[int(match.group(1))] = os.path.join(model_dir, name.replace(".index", ""))
    return [steps[step] for step in sorted(steps)]


def is_whole(path: str) -> bool:
    """Whether a checkpoint's files are there in their full size, and hold what was written.

    Args:
      path: The checkpoint's prefix.
    """
    try:
        reader = tf.train.NewCheckpointReader(path)
        types, shapes = reader.get_variable_to_dtype_map(), reader.get_variable_to_shape_map()
        expected = sum(
            _elements(shape) * (0 if types[name] == tf.string else types[name].size)
            for name, shape in shapes.items()
        )
        files = tf.gfile.Glob(path + ".data-*") or tf.gfile.Glob(path)  # V2; V1 is one file
        if sum(tf.gfile.Stat(file).length for file in files) < expected:
            return False
        for name in shapes:
            reader.get_tensor(name)  # which compares the checksum
    except (tf.errors.OpError, ValueError, RuntimeError):  # the class differs between releases
        return False
    return True


def _elements(shape: Any) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


@contextlib.contextmanager
def alone_in(model_dir: str) -> Iterator[None]:
    """Within: no other process of this machine trains in the directory.

    The lock is the operating system's, on the directory itself: nothing is written, and it ends with the
    process.

    Args:
      model_dir: The Estimator's directory.

    Raises:
      RefusedError: If another process trains there (TPU328).
    """
    place = os.path.realpath(model_dir)
    try:
        import fcntl  # Unix alone has it

        os.makedirs(place, exist_ok=True)
        directory = os.open(place, os.O_RDONLY)
    except (ImportError, OSError):  # Windows; a directory elsewhere, or one that cannot be made
        yield
        return
    try:
        if place not in _held:
            try:
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RefusedError(
                    "TPU328", f"another process is training in {model_dir}."
                ) from None
            except OSError:  # a file system without locks
                pass
        mine = place not in _held
        _held.add(place)
        try:
            yield
        finally:
            if mine:
                _held.discard(place)
    finally:
        os.close(directory)
