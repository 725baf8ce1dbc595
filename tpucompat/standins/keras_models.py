"""Models as Keras had them: their one class, what they show, and the variables of their Lambda layers.

Up to 2.1 ``type(model) is keras.Model`` held for a model made of layers. 2.2 has one class for graphs and
one for eager programs; since 2.3 such a model is a ``Functional``, a subclass of either, and Keras chooses
when one is made.
"""

from __future__ import annotations

import abc
import functools
import inspect
import re
import sys
import types
from typing import Any

from tpucompat.engines import session
from tpucompat.tf import patches, private


def __getattr__(name: str) -> Any:
    """``keras.Model``, for the script's own modules."""
    if name != "Model":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    functional = private.functional_model()
    if functional is None:
        (of_mode,) = private.keras_models(graph=not session.v1().executing_eagerly())
        return of_mode
    make_one_class()
    return functional._tpucompat_class


@patches.patch
def summarize_without_sizes() -> None:
    """Lets summaries end with the numbers of parameters, which scripts parse, and not with sizes in bytes."""
    owner: Any = next(one for one in session.keras().Model.__mro__ if "summary" in vars(one))
    original = owner.summary

    @functools.wraps(original)
    def summary(
        self: Any,
        line_length: Any = None,
        positions: Any = None,
        print_fn: Any = None,
        **later: Any,
    ) -> Any:
        def show(line: str, *more: Any, **words: Any) -> None:
            (print_fn or print)(_SIZE.sub("", line), *more, **words)

        return original(self, line_length, positions, show, **later)

    patches.replace(owner, "summary", summary)


@patches.patch
def configure_without_input_layers() -> None:
    """Lets the configuration of a Sequential model begin with its first layer, which has the inputs' shape.

    Scripts change layers by their places: ``config["layers"][0]["config"]["batch_input_shape"]``. Since 2.3
    the input layer is in the list as well. ``from_config`` takes either.
    """
    owner: Any = session.keras().Sequential
    original = owner.get_config

    @functools.wraps(original)
    def get_config(self: Any) -> Any:
        config = original(self)
        first, *others = config["layers"] or [{}]
        if first.get("class_name") == "InputLayer" and others:
            config["layers"] = others
            others[0]["config"].setdefault(
                "batch_input_shape", first["config"]["batch_input_shape"]
            )
        return config

    patches.replace(owner, "get_config", get_config)


@patches.patch
def reset_metrics_before_predictions() -> None:
    """Lets ``predict`` reset the metrics of what was evaluated before, which ``test_on_batch`` would continue.

    Keras leaves that out for arrays since 2.1, for speed, and does it for generators still.
    """
    (owner,) = private.keras_models(graph=True)
    original: Any = owner.predict  # type: ignore[attr-defined]

    @functools.wraps(original)
    def predict(self: Any, *args: Any, **words: Any) -> Any:
        self.reset_metrics()
        return original(self, *args, **words)

    patches.replace(owner, "predict", predict)


@patches.patch
def show_metrics_alone() -> None:
    """Lets the progress bar of steps leave out the number and the size of a batch, as in 1.15.

    Up to 2.1 it showed what the model was compiled with; later ones show all that Keras' graph engine logs.
    """
    owner: Any = session.keras().callbacks.ProgbarLogger
    for name in ("on_train_batch_end", "on_test_batch_end"):
        patches.replace(owner, name, _without_batches(getattr(owner, name)))


def _without_batches(method: Any) -> Any:
    @functools.wraps(method)
    def shown(self: Any, batch: int, logs: Any = None) -> Any:
        if self.use_steps:
            logs = {name: logs[name] for name in logs or {} if name not in ("batch", "size")}
        return method(self, batch, logs)

    return shown


@patches.patch
def show_evaluations() -> None:
    """Lets ``evaluate`` and ``predict`` show their progress bar where they are asked to, as up to 2.1.

    The bar has the results of an evaluation; since 2.2 Keras' graph engine gives only ``fit`` one.
    """
    logger: Any = session.keras().callbacks.ProgbarLogger
    module: Any = sys.modules[logger.__module__]
    original = module.configure_callbacks
    shown = _logger_of_evaluations(logger)

    @functools.wraps(original)
    def configure(callbacks: Any, *args: Any, **words: Any) -> Any:
        # The validation of `fit` is given the list that `fit` made, and is silent.
        is_alone = not isinstance(callbacks, module.CallbackList)
        if is_alone and words.get("mode") in ("test", "predict") and words.get("verbose"):
            callbacks = [shown(words.get("count_mode", "steps")), *(callbacks or ())]
        return original(callbacks, *args, **words)

    patches.replace(module, "configure_callbacks", configure)


def _logger_of_evaluations(logger: Any) -> Any:
    """Keras' progress bar, which also counts what it predicts, and has results to show with ``verbose=2``."""

    def on_test_batch_end(self: Any, batch: int, logs: Any = None) -> None:
        logger.on_test_batch_end(self, batch, logs)
        if self.verbose != 1:
            results = [one for one in (logs or {}).items() if one[0] not in _COUNTS]
            self.progbar.update(self.seen, results, finalize=False)

    def on_predict_batch_end(self: Any, batch: int, logs: Any = None) -> None:
        counts = {name: logs[name] for name in _COUNTS if name in (logs or {})}
        self.on_test_batch_end(batch, counts)

    methods = {
        "on_test_batch_end": on_test_batch_end,
        "on_predict_batch_end": on_predict_batch_end,
        "_implements_test_batch_hooks": lambda self: True,
    }
    return type("ProgbarLogger", (logger,), methods)


_COUNTS = ("batch", "size", "num_steps")


_SIZE = re.compile(r" \(\d[\d.]* [KMGTP]?(?:Byte|B)\)$")


@patches.patch
def keep_variables_of_lambdas() -> None:
    """Lets a Lambda make variables, which are its weights and are made once for each name that they are given.

    So it was in 1.15 (``layers/core.py``). Since 2.1 such a function is refused.
    """
    layer: Any = session.keras().layers.Lambda
    original = layer.call

    @functools.wraps(original)
    def call(self: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        made = vars(self).setdefault("_tpucompat_made", {})

        def create(next_creator: Any, **given: Any) -> Any:
            name = given.get("name")
            if name not in made:
                made[name] = next_creator(**given)
                setattr(self, f"_variable_{len(made)}", made[name])  # which makes it a weight
            return made[name]

        with session.v1().variable_creator_scope(create):
            return original(self, inputs, *args, **kwargs)

    patches.replace(layer, "call", call)


@patches.patch
def store_functions_of_keras() -> None:
    """Lets a model be loaded whose Lambda has a function of Keras or TensorFlow, as ``Lambda(K.square)``.

    A Lambda stores the code of its function. Since 2.2 these functions are in others, which dispatch calls and
    shorten tracebacks: their code without what they enclose is of no use. 1.15 had ``K.square`` itself.
    """
    layer: Any = session.keras().layers.Lambda
    original = layer._serialize_function_to_config

    @functools.wraps(original)
    def serialize(self: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        package = str(getattr(function, "__module__", "")).partition(".")[0]
        if package in ("tensorflow", "keras", "tf_keras"):
            function = inspect.unwrap(function)
        return original(self, function, *args, **kwargs)

    patches.replace(layer, "_serialize_function_to_config", serialize)


@patches.patch
def make_one_class() -> None:
    """Lets Keras give models made of layers the class that scripts have as ``keras.Model``."""
    functional: Any = private.functional_model()
    made = _class_of(functional)
    original = functional.__new__

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return original(made if cls is functional else cls, *args, **kwargs)

    patches.replace(functional, "__new__", staticmethod(new))
    patches.replace(functional, "_tpucompat_class", made)


class _AsModel(abc.ABCMeta):  # a script's class may have abc.ABC for a base besides
    """The class of a subclass of ``Functional`` that is in all else what it stands for: Keras' ``Model``."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        """A script's own subclass is one of Keras' ``Model``, which takes layers or defines ``call``."""
        if not any(isinstance(base, _AsModel) for base in bases):
            return super().__new__(mcs, name, bases, namespace, **options)
        model = session.keras().Model
        bases = tuple(model if isinstance(base, _AsModel) else base for base in bases)
        return types.new_class(name, bases, options, lambda body: body.update(namespace))

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """A model; without layers it is one that a subclass would complete."""
        return session.keras().Model(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, session.keras().Model)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, session.keras().Model)

    def __getattribute__(cls, name: str) -> Any:
        """Methods are those of ``Model`` itself: ``keras.Model.__init__(self)`` of a subclass' instance."""
        functional = type.__getattribute__(cls, "__base__")
        own = vars(functional).get(name)
        if not inspect.isfunction(own) or name in cls.__dict__:
            return super().__getattribute__(name)
        of_model = getattr(super(functional, cls), name)

        @functools.wraps(own)
        def method(*args: Any, **kwargs: Any) -> Any:
            return of_model(*args, **kwargs)

        # By its arguments Keras tells a constructor that a configuration has all arguments of.
        method.__signature__ = inspect.signature(own)  # type: ignore[attr-defined]
        return method

    def __setattr__(cls, name: str, value: Any) -> None:
        """What a script puts in the place of a method holds for all models."""
        super().__setattr__(name, value)
        if not name.startswith("_"):
            for owner in (session.keras().Model, *private.keras_model_engines()):
                setattr(owner, name, value)


def _class_of(functional: type) -> type:
    model = session.keras().Model
    names = {"__module__": model.__module__, "__qualname__": model.__qualname__}
    return _AsModel(model.__name__, (functional,), {**names, "__doc__": model.__doc__})
