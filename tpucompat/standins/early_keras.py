"""What TensorFlow 2.0 to 2.3 called ``keras.optimizers`` and ``keras.mixed_precision``, and how models stepped.

A name of this module is the object that a script of that time got by it, on the TensorFlow that is
installed: up to 2.10 the one of the same name, since 2.11 its counterpart in ``optimizers.legacy``.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Callable

import numpy as np
import tensorflow

from tpucompat.engines import session
from tpucompat.standins import standalone_keras
from tpucompat.tf import patches, private

_keras: Any = tensorflow.keras
_optimizers: Any = session.optimizers_of_the_era()
# 2.9 has the name `legacy` already, and those optimizers alone.
_has_two = len(inspect.signature(_keras.optimizers.get).parameters) > 1
_precision: Any = _keras.mixed_precision


def __getattr__(name: str) -> Any:
    """The optimizer class of that name."""
    return getattr(_optimizers, name)


def get(identifier: Any) -> Any:
    """``tf.keras.optimizers.get``: an optimizer by its name or configuration.

    Args:
      identifier: A name, a configuration or an optimizer.
    """
    options = {"use_legacy_optimizer": True} if _has_two else {}
    return _keras.optimizers.get(identifier, **options)


def Policy(name: str, loss_scale: Any = "auto") -> Any:
    """``mixed_precision.experimental.Policy``: the dtypes of computations and variables.

    Args:
      name: "float32", "mixed_float16", "mixed_bfloat16" and the like.
      loss_scale: Not needed: a policy of 2.4 and later leaves it to ``LossScaleOptimizer``, which
        ``compile`` puts around the optimizer where the policy is "mixed_float16".
    """
    if hasattr(_precision, "Policy"):
        return _precision.Policy(name)
    options = {} if loss_scale == "auto" else {"loss_scale": loss_scale}
    return _precision.experimental.Policy(name, **options)


def set_policy(policy: Any) -> None:
    """``mixed_precision.experimental.set_policy``: makes it the policy of layers made from now on."""
    chosen = getattr(_precision, "set_global_policy", None)
    (chosen or _precision.experimental.set_policy)(policy)


def global_policy() -> Any:
    """``mixed_precision.experimental.global_policy``: the policy of layers made now."""
    asked = getattr(_precision, "global_policy", None)
    return (asked or _precision.experimental.global_policy)()


def LossScaleOptimizer(opt: Any, loss_scale: Any = "dynamic") -> Any:
    """``mixed_precision.experimental.LossScaleOptimizer``: scales the loss up for float16 gradients.

    Args:
      opt: The optimizer around which it is put.
      loss_scale: "dynamic", or a fixed number.
    """
    if not hasattr(_precision, "LossScaleOptimizer"):
        return _precision.experimental.LossScaleOptimizer(opt, loss_scale)
    if loss_scale == "dynamic":
        return _precision.LossScaleOptimizer(opt)
    return _precision.LossScaleOptimizer(opt, dynamic=False, initial_scale=float(loss_scale))


@patches.patch
def draw_by_global_seed() -> None:
    """Lets initializers without a seed draw what ``tf.random.set_seed`` decides, as up to 2.9.

    Since 2.10 they take a seed from Python's ``random``, which ``tf.keras.utils.set_random_seed`` alone sets.
    A script that calls that keeps its values.
    """
    generator = "keras/backend:RandomGenerator"
    private.replace_functions({f"{generator}._maybe_init": _drawn_by_operations})
    reuse = "keras/initializers.initializers:Initializer._warn_reuse"
    older = "keras/initializers.initializers_v2:Initializer._warn_reuse"  # up to 2.12
    private.replace_functions({reuse: _not_the_same_again, older: _not_the_same_again})


def _drawn_by_operations(start: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(start)
    def started(generator: Any) -> Any:
        unseeded = generator._seed is None and not generator._built
        if (
            unseeded
            and generator._rng_type == generator.RNG_STATELESS
            and not private.is_seeded_by_keras()
        ):
            generator._rng_type = generator.RNG_LEGACY_STATEFUL
        return start(generator)

    return started


def _not_the_same_again(warn: Callable[..., Any]) -> Callable[..., Any]:
    """The warning that values repeat."""

    @functools.wraps(warn)
    def warned(initializer: Any) -> Any:
        return warn(initializer) if private.is_seeded_by_keras() else None

    return warned


@patches.patch
def restore_compile() -> None:
    """Lets ``compile("rmsprop")`` make the optimizer that the word meant up to 2.10, and takes 2.1's arguments.

    The later ones of the same names round differently: their RMSprop and Adagrad add epsilon below the root
    (``tf_keras/src/optimizers/rmsprop.py``), where the earlier ones added it to the root.
    """
    compile_model = _keras.Model.compile

    @functools.wraps(compile_model)
    def compiled(self: Any, optimizer: Any = "rmsprop", *args: Any, **kwargs: Any) -> Any:
        if isinstance(optimizer, (str, dict)):
            of_the_package = standalone_keras.optimizer_by_name(optimizer, sys._getframe(1))
            optimizer = of_the_package or get(optimizer)
        if (
            len(args) > 3
        ):  # up to 2.4 sample_weight_mode came before weighted_metrics; then target_tensors
            names = ("sample_weight_mode", "weighted_metrics", "target_tensors", "distribute")
            kwargs.update(zip(names, args[3:]))
        return compile_model(self, optimizer, *args[:3], **kwargs)

    patches.replace(_keras.Model, "compile", compiled)


@patches.patch
def accept_old_arguments() -> None:
    """Lets the methods of models take what they took in 2.0 and 2.1, also where it is refused or differs today.

    Compared were the signatures of 2.0.4, 2.1.4, 2.2.3, 2.3.4 and 2.4.4 with those of tf-keras 2.21, and
    calls with values of other types.
    """
    for name, changes in _ARGUMENTS.items():
        method = getattr(_keras.Model, name, None)
        if method is not None and not hasattr(method, "_tpucompat_arguments"):
            patches.replace(_keras.Model, name, _with_arguments(method, changes))


def _with_arguments(method: Any, changes: dict[str, Any]) -> Any:
    """A method that changes arguments by name before it is called; see :data:`_ARGUMENTS`."""
    names = list(inspect.signature(method).parameters)[1:]

    @functools.wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = [*args]
        for name, change in changes.items():
            place = names.index(name) if name in names else len(given)
            if name in kwargs:
                kwargs[name] = change(kwargs[name])
            elif place < len(given):
                given[place] = change(given[place])
            elif change is _silent:
                kwargs[name] = 0
        return method(self, *given, **kwargs)

    called._tpucompat_arguments = True  # type: ignore[attr-defined]
    return called


def _class_weight(weights: Any) -> Any:
    """Weights by class, from 0 to the highest one; up to 2.1 of a dictionary alone any notice was taken.

    That is so in 2.1 ``engine/training_utils.py`` (``standardize_weights``). Since 2.2 every class has to be
    there, in the data or not (``engine/data_adapter.py``).
    """
    if not isinstance(weights, dict):
        return None
    if not weights or any(isinstance(name, str) for name in weights):
        return weights
    return {number: weights.get(number, 1.0) for number in range(int(max(weights)) + 1)}


@patches.patch
def weigh_classes_that_are_bools() -> None:
    """Lets ``fit(class_weight=)`` take labels that are true or false, as up to 2.4.

    Up to 2.4 the labels were cast to numbers of classes (``engine/data_adapter.py``); tf-keras 2.21 rounds them
    first, and ``tf.round`` takes no bools. The labels stay what they are: a loss of the script may rely on it.
    """
    method = _keras.Model.fit
    if not hasattr(method, "_tpucompat_bools"):
        patches.replace(_keras.Model, "fit", _with_weights_of_bools(method))


def _with_weights_of_bools(fit: Any) -> Any:
    @functools.wraps(fit)
    def fitted(self: Any, x: Any = None, y: Any = None, *args: Any, **kwargs: Any) -> Any:
        weights = kwargs.get("class_weight")
        if isinstance(weights, dict) and {0, 1} <= weights.keys():
            table = np.array([weights[0], weights[1]], np.float32)
            if isinstance(x, tensorflow.data.Dataset) and _are_bools(_labels(x.element_spec)):
                x, kwargs["class_weight"] = x.map(functools.partial(_weighed, table)), None
            elif _are_bools(y):
                _, _, given = _weighed(table, x, y, kwargs.get("sample_weight"))
                kwargs.update(class_weight=None, sample_weight=np.asarray(given))
        return fit(self, x, y, *args, **kwargs)

    fitted._tpucompat_bools = True  # type: ignore[attr-defined]
    return fitted


def _labels(element: Any) -> Any:
    return element[1] if isinstance(element, tuple) and len(element) > 1 else None


def _are_bools(labels: Any) -> bool:
    """Whether labels are a vector, or a column, of bools."""
    # By name: NumPy up to 1.19 compares its dtypes with no others.
    if not hasattr(labels, "shape") or getattr(labels.dtype, "name", "") != "bool":
        return False
    shape = tensorflow.TensorShape(labels.shape)
    return shape.rank == 1 or (shape.rank == 2 and shape[-1] == 1)


def _weighed(table: Any, x: Any, y: Any, given: Any = None) -> tuple[Any, Any, Any]:
    """Examples with weights of their own, from a table of those of false and true."""
    weights = tensorflow.gather(table, tensorflow.cast(tensorflow.reshape(y, [-1]), "int32"))
    if given is not None:
        weights = tensorflow.cast(weights, tensorflow.as_dtype(given.dtype)) * given
    return x, y, weights


def _silent(verbose: Any) -> Any:
    """``predict`` wrote no progress bar unless asked; since 2.9 its default is "auto"."""
    return verbose


#: Method -> argument -> what is made of its value.
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "fit": {"class_weight": _class_weight},
    "fit_generator": {"class_weight": _class_weight},
    "train_on_batch": {"class_weight": _class_weight},
    "predict": {"verbose": _silent},
    "predict_generator": {"verbose": _silent},
}


@patches.patch
def report_the_first_replica() -> None:
    """Lets ``fit`` and ``evaluate`` report the first replica of a script's own step, as up to 2.10.

    2.11 has ``distribute_reduction_method``, and adds the replicas up where no TPU is.
    """
    own: Any = vars(_keras.Model)["distribute_reduction_method"]
    method = own.getter(lambda self: self._distribute_reduction_method or "first")
    patches.replace(_keras.Model, "distribute_reduction_method", method)


@patches.patch
def restore_columns_of_vectors() -> None:
    """Lets ``fit``, ``evaluate`` and ``predict`` make columns of vectors, as up to 2.6.

    A model whose inputs are not declared (a subclass) was called with (batch, 1) where the data had the shape
    (batch,): up to 2.1 by the checks of the arrays, since 2.2 by ``expand_1d`` in the steps of ``Model``
    (2.6 ``keras/engine/training.py``), which 2.7 took out. A step that a script has written itself gets what
    it got since 2.2, the data as they are.
    """
    for name in ("train_step", "test_step", "predict_step"):
        step = getattr(_keras.Model, name)
        if not hasattr(step, "_tpucompat"):
            patches.replace(_keras.Model, name, _with_columns(step))
    patches.replace(_keras.Model, "predict", _of_columns(_keras.Model.predict))


def _of_columns(predict: Any) -> Any:
    """``predict`` that makes columns of arrays itself.

    In its step the rank is unknown once a model has seen (batch, 1) and (batch,): one trace serves both.
    """

    @functools.wraps(predict)
    def predicted(self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        parts = tensorflow.nest.flatten(x) if isinstance(x, (list, tuple, dict)) else [x]
        own_step = type(self).predict_step is not _keras.Model.predict_step
        if not own_step and all(isinstance(part, np.ndarray) for part in parts):
            columns = [part[:, np.newaxis] if part.ndim == 1 else part for part in parts]
            x = tensorflow.nest.pack_sequence_as(x, columns)
        return predict(self, x, *args, **kwargs)

    return predicted


def _with_columns(step: Any) -> Any:
    @functools.wraps(step)
    def stepped(self: Any, data: Any) -> Any:
        return step(self, tensorflow.nest.map_structure(_as_column, data))

    stepped._tpucompat = True  # type: ignore[attr-defined]
    return stepped


def _as_column(part: Any) -> Any:
    if isinstance(part, tensorflow.Tensor) and part.shape.rank == 1:
        return tensorflow.expand_dims(part, -1)
    return part


@patches.patch
def restore_methods() -> None:
    """Gives models the methods of 2.0 and 2.1 that scripts called, private as they are.

    Adding a missing method affects no other user of the class.
    """
    for name, method in _OLD_METHODS.items():
        if not hasattr(_keras.Model, name):
            patches.replace(_keras.Model, name, method)


def _get_distribution_strategy(self: Any) -> Any:
    """The strategy that a model was made under; None for the default one (2.1 ``engine/training.py``)."""
    strategy = self.distribute_strategy
    return None if strategy is tensorflow.distribute.get_strategy() else strategy


#: ``_make_predict_function`` and its like are public since 2.2; scripts called them before starting threads.
_OLD_METHODS = {
    "_get_distribution_strategy": _get_distribution_strategy,
    "_make_predict_function": lambda self: self.make_predict_function(),
    "_make_test_function": lambda self: self.make_test_function(),
    "_make_train_function": lambda self: self.make_train_function(),
}
