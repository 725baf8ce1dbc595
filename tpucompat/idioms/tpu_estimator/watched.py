"""What TPUEstimator does while somebody only wants to see its computations (``tpucompat check``).

Where a model function has been called, its graph is complete: the observer receives the step, and
the call of train, evaluate or predict ends there, before a Session is made.
"""

from __future__ import annotations

from typing import Any, Iterable

import tensorflow.compat.v1 as tf

from tpucompat.engines import observer
from tpucompat.idioms.tpu_estimator import device as device_lib

_STEPS = {"train": "training step", "eval": "evaluation step", "infer": "prediction step"}


def kind(mode: str) -> str:
    """What the step of a mode is called."""
    return _STEPS.get(mode, mode) + " of TPUEstimator"


def tell(mode: str, spec: Any) -> None:
    """Shows the default graph's step to the observer, and ends the call.

    Args:
      mode: The mode of the call.
      spec: What building the graph came to.

    Raises:
      observer.Told: Always where somebody observes.
    """
    if not observer.watched():
        return
    device = device_lib.device_for_graph(tf.get_default_graph())
    program = device.program
    if program is not None:
        observer.tell(
            observer.Computation(
                kind(mode),
                device.graph,
                inputs=device._inputs(),
                outputs=[program.output, *device.outfeed_outputs],
                replicas=device.replicas,
            )
        )
    else:
        observer.note(f"the {kind(mode)} is built for the host (use_tpu=False)")
    raise observer.Told(spec)


def metrics(spec: Any) -> dict[str, float]:
    """What an evaluation gives that was not made: zeros by the metrics' names."""
    names = list(getattr(spec, "eval_metric_ops", None) or {})
    return {**dict.fromkeys(names, 0.0), "loss": 0.0, "global_step": 0}


def evaluate_for(estimator: Any, listeners: Iterable[Any]) -> None:
    """Makes the evaluations that ``train_and_evaluate`` hangs on the checkpoints of a training.

    Args:
      estimator: The TPUEstimator.
      listeners: The training's saving listeners; that of ``train_and_evaluate`` is a private class
        with the attribute ``_evaluator`` (tensorflow-estimator 1.13 to 2.15).
    """
    for listener in listeners or ():
        wanted = getattr(getattr(listener, "_evaluator", None), "_eval_spec", None)
        if wanted is not None:
            estimator.evaluate(wanted.input_fn, steps=wanted.steps, name=wanted.name)
