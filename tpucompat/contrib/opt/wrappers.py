"""Optimizers around another optimizer, and clipping.

Behaviour follows moving_average_optimizer.py, variable_clipping_optimizer.py and
multitask_optimizer_wrapper.py of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError


class MovingAverageOptimizer(tf.train.Optimizer):
    """Keeps a moving average of the variables that another optimizer trains
    (moving_average_optimizer.py).

    Args:
      opt: The other optimizer.
      average_decay: Of the average.
      num_updates: Makes the decay smaller at the start, as in
        ``tf.train.ExponentialMovingAverage``.
      sequential_update: Whether the average is updated after the variables, or beside them.
    """

    def __init__(
        self,
        opt: Any,
        average_decay: float = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ) -> None:
        self._optimizer = opt
        self._ema = tf.train.ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped: dict[str, str] | None = None
        self._sequential_update = sequential_update

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Applies the gradients and updates the averages; one operation for both."""
        grads_and_vars = list(grads_and_vars)
        train = self._optimizer.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        variables = [var for gradient, var in grads_and_vars if gradient is not None]
        with tf.control_dependencies([train] if self._sequential_update else []):
            average = self._ema.apply(variables)
        self._swapped = {}
        for var in variables:
            names = var.op.name, self._ema.average(var).op.name
            self._swapped.update([names, names[::-1]])
        return tf.group(train, average, name="train_with_avg")

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Any:
        """A Saver that writes averages under the names of their variables, and the reverse.

        Args:
          var_list: Variables, or name to variable; all global ones by default.
          name: Of the saver.
          **kwargs: More arguments of ``tf.train.Saver``.

        Returns:
          The saver.

        Raises:
          RuntimeError: Before ``apply_gradients`` or ``minimize``.
          ValueError: If a variable is to be saved without its average.
        """
        if self._swapped is None:
            raise RuntimeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        saved = _by_name(tf.global_variables() if var_list is None else var_list)
        known: dict[str, Any] = {}
        for key, entry in saved.items():
            if isinstance(entry, list):
                known.update((part.op.name, part) for part in entry)
            else:
                known[key] = entry
        swapped = {
            key: [self._other(known, part.op.name, part) for part in entry]
            if isinstance(entry, list)
            else self._other(known, key, entry)
            for key, entry in saved.items()
        }
        return tf.train.Saver(swapped, name=name, **kwargs)

    def _other(self, known: dict[str, Any], name: str, variable: Any) -> Any:
        assert self._swapped is not None
        other = self._swapped.get(name)
        if other is None:
            return variable
        if other not in known:
            raise BadValueError(
                "TPU103",
                f"Variable to swap {other} is not part of variables to save. "
                "This breaks MovingAverageOptimizer.",
            )
        return known[other]


def _by_name(var_list: Any) -> dict[str, Any]:
    """Name in the checkpoint -> variable, or the list of the parts of a partitioned one."""
    if isinstance(var_list, dict):
        return {
            name: entry if isinstance(entry, tf.Variable) or tf.is_tensor(entry) else list(entry)
            for name, entry in var_list.items()
        }
    found: dict[str, Any] = {}
    for var in var_list:
        part = getattr(var, "_save_slice_info", None)
        if part is None:
            found[var.op.name] = var
        else:
            found.setdefault(part.full_name, []).append(var)
    return found
