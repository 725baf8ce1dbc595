"""Variables of graphs."""

from __future__ import annotations

import _abc  # what ``abc`` has no way to take back
import functools
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import values
from tensorflow.python.ops import resource_variable_ops

from tpucompat.tf import patches


@patches.patch
def count_resource_variables_as_variables() -> None:
    """Lets ``isinstance(variable, tf.Variable)`` hold for resource variables, as in TensorFlow 1.

    ``resource_variable_ops.ResourceVariable`` was a ``VariableV1`` up to 2.0; since then the classes are
    siblings. VariableV1 is an abstract base class since 2.11 (seen in 2.11 to 2.21), which can be told.
    """
    registry = patches.Setting(
        "tensorflow.compat.v1.Variable.register", _registered_variables, _register_variables
    )
    patches.replace(registry, "", {*_registered_variables(), resource_variable_class()})


def _registered_variables() -> set[type]:
    """The classes that count as ``tf.compat.v1.Variable``."""
    registry, *_ = _abc._get_dump(tf.compat.v1.Variable)
    return {reference() for reference in registry}


def _register_variables(classes: set[type]) -> None:
    _abc._reset_registry(tf.compat.v1.Variable)
    _abc._reset_caches(tf.compat.v1.Variable)
    for each in classes:
        tf.compat.v1.Variable.register(each)


@patches.patch
def let_graph_variables_be_true() -> None:
    """Lets ``average if average else variable`` be asked of a graph's variables, as in TensorFlow 1.

    Up to 1.15 scripts get reference variables, objects like any other, which are true. A resource variable
    reads its value for that, seen in 1.13 to 2.21, and in a graph there is none.
    """
    base = resource_variable_class()
    truth = base.__bool__

    @functools.wraps(truth)
    def true_in_graphs(self: Any) -> bool:
        return bool(truth(self)) if tf.executing_eagerly() else True

    patches.replace(base, "__bool__", true_in_graphs)


def resource_variable_class() -> Any:
    """The class of resource variables.

    Seen in 1.14 to 2.21 as ``resource_variable_ops.BaseResourceVariable``; in 1.13 as ``ResourceVariable``.
    """
    name = "BaseResourceVariable"
    return getattr(resource_variable_ops, name, resource_variable_ops.ResourceVariable)


@patches.patch
def complete_resource_variables() -> None:
    """Gives resource variables the methods of reference variables that they have lost, or never had.

    ``initialized_value`` and ``load`` follow ``VariableV1`` of 1.15 (``tensorflow/python/ops/variables.py``),
    and are seen in 2.15 to 2.21 to raise NotImplementedError. ``_ref`` is what ``tf.assign`` and its
    kin were given. With ``validate_shape=False`` a variable's shape is unknown, as in ``RefVariable``.
    A variable of several replicas loads into each; seen as ``distribute.values.DistributedVariable``, whose
    ``load`` is that of one variable since 2.0 and adds an operation to the graph.
    """
    base = resource_variable_class()
    patches.replace(base, "_ref", lambda self: self)  # 1.13 has one that raises, others have none
    if tf.__version__.startswith("1."):
        return

    def initialized_value(self: Any) -> Any:
        with tf.control_dependencies(None):  # what initializes by it waits for no step
            known = tf.compat.v1.is_variable_initialized(self)
            return tf.compat.v1.cond(known, self.read_value, lambda: self.initial_value)

    def load(self: Any, value: Any, session: Any = None) -> None:
        if tf.executing_eagerly():
            self.assign(value)
            return
        session = session or tf.compat.v1.get_default_session()
        if session is None:
            raise ValueError("There is no session: give one, or enter `with session.as_default()`")
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    patches.replace(base, "initialized_value", initialized_value)
    patches.replace(base, "load", load)

    def load_each(self: Any, value: Any, session: Any = None) -> None:
        for each in self.values:
            each.load(value, session)

    patches.replace(values.DistributedVariable, "load", load_each)
    made = resource_variable_ops.ResourceVariable
    original: Any = made.__init__

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("validate_shape") is False and kwargs.get("shape") is None:
            kwargs["shape"] = tf.TensorShape(None)
        original(self, *args, **kwargs)

    patches.replace(made, "__init__", __init__)


#: Where ``tf.Variable`` of a graph is made, as places of :func:`replace_functions`: up to 2.11, and from 2.12.
DEFAULT_VARIABLE_CREATORS = (
    "tensorflow.python.ops.variable_scope:default_variable_creator",
    "tensorflow.python.ops.ref_variable:default_variable_creator",
)


def plain_variable_class() -> Any:
    """The class of resource variables that a program makes, whose ``_init_from_args`` gives them a value.

    Seen in 1.13 to 2.21 as ``tensorflow.python.ops.resource_variable_ops.ResourceVariable``; the public
    ``tf.Variable`` is one of its bases.
    """
    return resource_variable_ops.ResourceVariable
