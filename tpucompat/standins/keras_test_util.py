"""``tensorflow.python.keras.testing_utils`` and ``keras_parameterized``: what Keras has dropped from them.

The rest is in ``testing_infra`` of the installed Keras. Behaviour follows tensorflow/python/keras/
testing_utils.py and keras_parameterized.py of TensorFlow 1.15, which ran a test method in four ways.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from typing import Any, Iterator

import tensorflow.compat.v1 as tf

from tpucompat.tf import private

_local = threading.local()


@contextlib.contextmanager
def experimental_run_tf_function_scope(value: bool) -> Iterator[bool]:
    """A context in which :func:`should_run_tf_function` says so, where execution is eager.

    Args:
      value: Whether the models under test run by the training loop of TensorFlow 2.

    Yields:
      The value.
    """
    before = getattr(_local, "tf_function", None)
    _local.tf_function = value
    try:
        yield value
    finally:
        _local.tf_function = before


def should_run_tf_function() -> bool:
    """What a test gives ``Model.compile`` for ``experimental_run_tf_function``, which Keras ignores today.

    Raises:
      ValueError: Outside of :func:`experimental_run_tf_function_scope` and :func:`run_all_keras_modes`.
    """
    value = getattr(_local, "tf_function", None)
    if value is None:
        raise ValueError(
            "should_run_tf_function() belongs into experimental_run_tf_function_scope() or a method "
            "that run_all_keras_modes decorates."
        )
    return bool(value) and bool(tf.executing_eagerly())


# How a test method runs: its suffix and name -> (eagerly, what should_run_eagerly and
# should_run_tf_function say).
_MODES = {
    "v2_function": (True, False, True),
    "v2_funcgraph": (True, False, False),
    "v2_eager": (True, True, True),
    "v1_session": (False, False, False),
}


def run_all_keras_modes(
    test_or_class: Any = None,
    config: Any = None,
    always_skip_v1: bool = False,
    always_skip_eager: bool = False,
) -> Any:
    """Runs a test method, or all of a class, in a Session and eagerly in three ways.

    Args:
      test_or_class: The method or class; without it, the result is a decorator.
      config: Of the Session.
      always_skip_v1: Leaves the Session out.
      always_skip_eager: Leaves out the way in which Keras' models do not become functions.

    Returns:
      The methods, one for each way, or a decorator.
    """
    from absl.testing import parameterized  # for tests alone

    utilities, decorators = private.keras_test_modules()
    skipped = {"v2_eager": always_skip_eager, "v1_session": always_skip_v1}
    named = [("_" + mode, mode) for mode in _MODES if not skipped.get(mode)]

    def decorate(method: Any) -> Any:
        @parameterized.named_parameters(*named)
        @functools.wraps(method)
        def run(self: Any, run_mode: str, *args: Any, **kwargs: Any) -> None:
            eagerly, run_eagerly, run_function = _MODES[run_mode]
            with contextlib.ExitStack() as stack:
                stack.enter_context(
                    private.eager_mode() if eagerly else tf.get_default_graph().as_default()
                )
                stack.enter_context(utilities.run_eagerly_scope(run_eagerly))
                stack.enter_context(experimental_run_tf_function_scope(run_function))
                if not eagerly:
                    stack.enter_context(self.test_session(config=config))
                method(self, *args, **kwargs)

        return run

    return decorators._test_or_class_decorator(test_or_class, decorate)
