"""Callbacks of ``tf.keras`` that decide otherwise today than in TensorFlow 1.15."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow

_callbacks: Any = tensorflow.keras.callbacks
_backend: Any = tensorflow.keras.backend

# What both callbacks print of a rate.
_RATE = "\nEpoch {:05d}: {} reducing learning rate to {!s}."


class CSVLogger(_callbacks.CSVLogger):
    """``tf.keras.callbacks.CSVLogger`` with the columns of the first epoch, as in 1.15.

    Later ones add columns for a validation, which are NA in a training without one.
    """

    keys: Any

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Writes a line."""
        self.keys = self.keys or sorted(logs or {})
        super().on_epoch_end(epoch, logs)


class EarlyStopping(_callbacks.EarlyStopping):
    """``tf.keras.callbacks.EarlyStopping`` as 1.15 to 2.3 had it (1.15 ``python/keras/callbacks.py``).

    The best weights come back where training was stopped, and not where it came to its own end; tf-keras 2.16
    and later bring them back then, too. The baseline is what the first epoch has to beat, and the first
    epoch can be the last. Of a monitor's name the letters "acc" anywhere mean that more is better.

    Args:
      monitor: What is watched, as a name of the logs.
      min_delta: How much is an improvement.
      patience: How many epochs without one are waited for.
      verbose: 1 prints a line.
      mode: "min", "max" or "auto".
      baseline: What has to be beaten from the start; None for nothing.
      restore_best_weights: Whether a training that was stopped ends with its best weights.
    """

    best: Any
    best_weights: Any
    model: Any
    stopped_epoch: int
    wait: int

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: Any = None,
        restore_best_weights: bool = False,
        **later: Any,
    ) -> None:
        if mode == "auto":
            mode = "max" if "acc" in monitor else "min"
        given = (monitor, min_delta, patience, verbose, mode, baseline, restore_best_weights)
        super().__init__(*given, **later)

    def on_train_begin(self, logs: Any = None) -> None:
        """Forgets an earlier training."""
        del logs
        self.wait = self.stopped_epoch = 0
        worst = np.inf if self.monitor_op == np.less else -np.inf
        self.best = worst if self.baseline is None else self.baseline

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Decides whether the next epoch is trained."""
        reached = self.get_monitor_value(logs)
        if reached is None or epoch < getattr(self, "start_from_epoch", 0):
            return
        is_better = self.monitor_op(reached - self.min_delta, self.best)
        self.wait = 0 if is_better else self.wait + 1
        if is_better:
            self._keep(reached)
        elif self.wait >= self.patience:
            self._stop(epoch)

    def _keep(self, reached: Any) -> None:
        """Takes this epoch for the best one."""
        self.best = reached
        self.best_weights = self.model.get_weights() if self.restore_best_weights else None

    def _stop(self, epoch: int) -> None:
        """Ends the training after this epoch, with the weights of the best one if that is wished."""
        self.stopped_epoch, self.model.stop_training = epoch, True
        if not self.restore_best_weights or self.best_weights is None:
            return
        if self.verbose > 0:
            print("Restoring model weights from the end of the best epoch.")
        self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: Any = None) -> None:
        """Says that training was stopped."""
        del logs
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")


class LearningRateScheduler(_callbacks.LearningRateScheduler):
    """``tf.keras.callbacks.LearningRateScheduler`` with the line of 1.15 to 2.3 for ``verbose=1``."""

    schedule: Any
    verbose: int

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Sets the rate of an epoch."""
        own, verbose = self.schedule, self.verbose
        rates: list[Any] = []

        def schedule(*given: Any) -> Any:
            rates.append(own(*given))
            return rates[-1]

        self.schedule, self.verbose = schedule, 0
        try:
            super().on_epoch_begin(epoch, logs)
        finally:
            self.schedule, self.verbose = own, verbose
        if verbose > 0:
            print(_RATE.format(epoch + 1, "LearningRateScheduler", rates[-1]))


class ReduceLROnPlateau(_callbacks.ReduceLROnPlateau):
    """``tf.keras.callbacks.ReduceLROnPlateau`` that multiplies and compares Python floats, as 1.15 did.

    Later ones take the rate as it is, a float32, and NumPy 2 multiplies it in float32. They round ``min_lr``,
    too; in 1.15 a rate that is above it by rounding alone is lowered, and printed, again.
    """

    best: Any
    cooldown: int
    cooldown_counter: int
    factor: Any
    min_lr: Any
    model: Any
    monitor: str
    patience: int
    verbose: int
    wait: int

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Decides whether the next epoch has a lower rate."""
        logs = {} if logs is None else logs
        reached = logs.get(self.monitor)
        if reached is None:
            super().on_epoch_end(epoch, logs)  # warns
            return
        logs["lr"] = _backend.get_value(self.model.optimizer.lr)
        if self.in_cooldown():
            self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
        if self.monitor_op(reached, self.best):
            self.best, self.wait = reached, 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience:
                self._lower(epoch, float(logs["lr"]))

    def _lower(self, epoch: int, rate: float) -> None:
        """Lowers the rate, unless it is the lowest one."""
        if not rate > self.min_lr:
            return
        lower = max(self.min_lr, rate * self.factor)
        _backend.set_value(self.model.optimizer.lr, lower)
        if self.verbose > 0:
            print(_RATE.format(epoch + 1, "ReduceLROnPlateau", lower))
        self.cooldown_counter, self.wait = self.cooldown, 0


class ModelCheckpoint(_callbacks.ModelCheckpoint):
    """``tf.keras.callbacks.ModelCheckpoint`` whose ``save_freq`` counts examples, as up to 2.1.

    Later ones count batches. What a batch's logs call ``size`` is added up: the number of its examples, or 1
    where a Dataset does not tell.
    """

    save_freq: Any
    _seen = 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Saves the model if enough examples were seen since the last time."""
        if not isinstance(self.save_freq, int):
            return
        self._seen += (logs or {}).get("size", 1)
        if self._seen >= self.save_freq:
            self._seen = 0
            examples, self.save_freq = self.save_freq, 1
            try:
                super().on_train_batch_end(batch, logs)
            finally:
                self.save_freq = examples
