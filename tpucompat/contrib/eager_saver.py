"""``tf.contrib.eager.Saver`` and its relatives: checkpoints by name, where execution is eager.

Behaviour follows tensorflow/contrib/eager/python/saver.py of TensorFlow 1.15.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

import tensorflow.compat.v1 as tf

from tpucompat.tf import private


class Saver:
    """A ``tf.train.Saver`` without a Session.

    Args:
      var_list: Variables, or a dictionary of names in the checkpoint to variables.

    Raises:
      RuntimeError: Execution is not eager.
    """

    def __init__(self, var_list: Any) -> None:
        if not tf.executing_eagerly():
            raise RuntimeError(
                "tfe.Saver can only be used when eager execution is enabled. "
                "Use tf.train.Saver when building graphs."
            )
        self._saver = tf.train.Saver(var_list=var_list)

    def save(self, file_prefix: str, global_step: Any = None) -> str:
        """Writes a checkpoint.

        Args:
          file_prefix: Where, without the endings of its files.
          global_step: A number that is appended to it: a tensor, a variable or an integer.

        Returns:
          The prefix of the files that were written.
        """
        with tf.device("/device:CPU:0"):
            return self._saver.save(
                None, file_prefix, write_meta_graph=False, global_step=global_step
            )

    def restore(self, file_prefix: str) -> None:
        """Gives the variables the values of a checkpoint.

        Args:
          file_prefix: What :meth:`save` returned.
        """
        with tf.device("/device:CPU:0"):
            self._saver.restore(None, file_prefix)


@contextlib.contextmanager
def restore_variables_on_create(
    save_path: str | None, map_func: Callable[[str], str] | None = None
) -> Iterator[None]:
    """A context in which new variables start with the values of a checkpoint.

    Args:
      save_path: The checkpoint; without one, variables start as they say.
      map_func: The name of a variable -> its name in the checkpoint; None keeps the names.

    Yields:
      Nothing.

    Raises:
      NotFoundError: The checkpoint does not have the variable.
      ValueError: Execution is not eager, or ``map_func`` is not a function.
    """
    if not tf.executing_eagerly():
        raise ValueError(
            "Currently, restore_variables_on_create can only be used with eager execution enabled."
        )
    if map_func is not None and not callable(map_func):
        raise ValueError("map_func must be callable.")
    if not save_path:
        yield
        return
    reader = tf.train.load_checkpoint(save_path)
    left = set(reader.get_variable_to_shape_map())
    known = frozenset(left)
    kind = private.plain_variable_class()
    make = kind._init_from_args

    def restored(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        name = (map_func or str)(self._shared_name)
        if name not in known:
            raise tf.errors.NotFoundError(None, None, f"{name} not found in checkpoint")
        if name in left:  # the first of its name only
            left.discard(name)
            self.assign(reader.get_tensor(name))

    kind._init_from_args = restored
    try:
        yield
    finally:
        kind._init_from_args = make


def get_optimizer_variables(optimizer: Any) -> list[Any]:
    """The variables that a ``tf.train`` optimizer has made so far.

    Args:
      optimizer: The optimizer.
    """
    return optimizer.variables()
