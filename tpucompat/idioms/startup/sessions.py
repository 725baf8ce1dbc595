"""Sessions that take the address of a TPU, and run on the devices of this machine.

Old scripts open ``tf.Session('grpc://' + os.environ['COLAB_TPU_ADDR'])``. The stand-ins here are
TensorFlow's own classes with two arguments looked at on the way in: the target, which becomes local
(:func:`tpucompat.engines.accelerator.normalise_target`), and the ConfigProto, which gets one CPU device per
emulated core where the script does not say how many.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

import tensorflow

from tpucompat.engines import accelerator, session
from tpucompat.tf import private

_v1 = tensorflow.compat.v1


def local(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of TensorFlow that is given a local target and config.

    Args:
      function: One with the arguments ``target`` or ``master``, and ``config``.
    """
    signature = inspect.signature(function)
    target_name = "target" if "target" in signature.parameters else "master"

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # for TensorFlow's own TypeError
        session.enter_graph_mode()
        bound.apply_defaults()
        arguments = bound.arguments
        asked = arguments[target_name]
        arguments[target_name] = accelerator.normalise_target(asked)
        elsewhere = bool(asked) and not arguments[target_name]
        arguments["config"] = _local_config(arguments["config"], elsewhere)
        return function(*bound.args, **bound.kwargs)

    return wrapper


def _local_config(config: Any, elsewhere: bool) -> Any:
    """The ConfigProto of a local session; what the script has set in it stays.

    Args:
      config: The script's own; None for TensorFlow's default, which has the emulated cores already.
      elsewhere: Whether the target was that of a TPU. Its graph may name devices of the TPU, so
        that operations have to be placed on others.
    """
    accelerator.prepare()
    cores = accelerator.emulated_cores()
    if config is None and elsewhere:
        config = private.default_session_config()
    if not isinstance(config, _v1.ConfigProto) or (cores < 2 and not elsewhere):
        return config
    changed = _v1.ConfigProto()
    changed.CopyFrom(config)
    if cores > 1 and "CPU" not in changed.device_count:
        changed.device_count["CPU"] = cores
    if elsewhere:
        changed.allow_soft_placement = True
    return changed


def _stand_in(original: Any, *methods: str) -> Any:
    """A subclass of a TensorFlow class whose methods are local.

    ``isinstance`` and ``issubclass`` against it hold for the original too, because TensorFlow and
    Keras go on making those.
    """

    class Local(type(original)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: Any) -> bool:
            if cls is made:
                return isinstance(instance, original)
            return bool(super().__instancecheck__(instance))

        def __subclasscheck__(cls, subclass: Any) -> bool:
            if cls is made:
                return issubclass(subclass, original)
            return bool(super().__subclasscheck__(subclass))

    body = {"__module__": original.__module__, "__doc__": original.__doc__}
    body.update((name, local(getattr(original, name))) for name in methods)
    made: Any = Local(original.__name__, (original,), body)
    return made


def _reset(target: Any, containers: Any = None, config: Any = None) -> None:
    """``tf.Session.reset``: closes the sessions on the target, here those of this process.

    Args:
      target: A session's target.
      containers: Names of resource containers to clear; all if None.
      config: A ConfigProto, or None.
    """
    _v1.Session.reset(accelerator.normalise_target(target), containers, config)


Session = _stand_in(_v1.Session, "__init__")
Session.reset = staticmethod(_reset)
InteractiveSession = _stand_in(_v1.InteractiveSession, "__init__")
# What __del__ looks at, for a session that is refused before TensorFlow's constructor has set it.
Session._session = InteractiveSession._session = None

ChiefSessionCreator = _stand_in(_v1.train.ChiefSessionCreator, "__init__")
WorkerSessionCreator = _stand_in(_v1.train.WorkerSessionCreator, "__init__")
SingularMonitoredSession = _stand_in(_v1.train.SingularMonitoredSession, "__init__")
MonitoredTrainingSession = local(_v1.train.MonitoredTrainingSession)
SessionManager = _stand_in(
    _v1.train.SessionManager, "prepare_session", "recover_session", "wait_for_session"
)
Supervisor = _stand_in(_v1.train.Supervisor, "prepare_or_wait_for_session", "managed_session")


def _create_local_server(config: Any = None, start: bool = True) -> Any:
    """``tf.train.Server.create_local_server``: its job is called "local", as devices of scripts say.

    TensorFlow 2 calls it "localhost" (tensorflow/python/training/server_lib.py).

    Args:
      config: A ConfigProto, or None.
      start: Whether it starts at once.
    """
    return _v1.train.Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)


Server = _stand_in(_v1.train.Server)
Server.create_local_server = staticmethod(_create_local_server)
