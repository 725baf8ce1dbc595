"""Graphs of TensorFlow 1: their operations, their static shapes, and eager execution beside them."""

from __future__ import annotations

import functools
import numbers
from typing import Any, Callable, ContextManager, Sequence

import tensorflow as tf
from tensorflow.python.eager import context as context_module
from tensorflow.python.framework import importer, op_def_registry, ops, tensor_shape, tensor_util
from tensorflow.python.framework import random_seed as random_seed_module
from tensorflow.python.framework import smart_cond as smart_cond_module
from tensorflow.python.ops import control_flow_util

from tpucompat.base.late import own_module
from tpucompat.tf import patches


def eager_mode() -> ContextManager[None]:
    """A context in which operations run eagerly in a process in graph mode.

    Seen in 1.13 to 2.21 as ``tensorflow.python.eager.context.eager_mode``; the public API has
    ``tf.init_scope`` only, which is eager only when eager execution is enabled globally.
    """
    mode: ContextManager[None] = context_module.eager_mode()
    return mode


def add_control_inputs(operation: Any, before: Sequence[Any]) -> None:
    """Lets an operation that is in a graph wait for others; the public API orders new ones only.

    Seen in 1.13 to 2.21 as ``tf.Operation._add_control_inputs``.
    """
    operation._add_control_inputs(list(before))


def static_value(value: Any) -> Any:
    """The value of a tensor, where it is known when the graph is made, as NumPy has it; else None.

    Seen in 1.13 to 2.21; the public name is ``tf.get_static_value`` since 2.4.
    """
    return tensor_util.constant_value(tf.convert_to_tensor(value))


@patches.patch
def change_inputs_of_imports(change: Callable[[Any, dict[Any, Any]], dict[Any, Any]]) -> None:
    """Says what an import of a graph takes for the values of its ``input_map``.

    Seen in 1.15 to 2.21 as ``tensorflow.python.framework.importer._import_graph_def_internal``, which all
    imports go through; 1.13 has ``import_graph_def`` alone, where MetaGraphs come in.

    Args:
      change: Gets the ``GraphDef`` and the map; gives the map to use.
    """
    name = "_import_graph_def_internal"
    name = name if hasattr(importer, name) else "import_graph_def"
    original = getattr(importer, name)

    @functools.wraps(original)
    def import_graph(graph_def: Any, input_map: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(input_map, dict) and hasattr(graph_def, "node"):
            input_map = change(graph_def, input_map)
        return original(graph_def, input_map, *args, **kwargs)

    patches.replace(importer, name, import_graph)


def control_flow_context(operation: Any) -> Any:
    """The loop or conditional of TensorFlow 1 that an operation is in, or None.

    Seen in 1.13 to 2.21 as ``tf.Operation._get_control_flow_context``.
    """
    return operation._get_control_flow_context()


def is_in_loop(operation: Any) -> bool:
    """Whether a loop of TensorFlow 1 has an operation, in a conditional of its own too.

    Seen in 1.13 to 2.21 as ``tensorflow.python.ops.control_flow_util.GetContainingWhileContext``.
    """
    context = control_flow_context(operation)
    return control_flow_util.GetContainingWhileContext(context) is not None


@patches.patch
def give_specs_their_sizes() -> None:
    """Gives ``tf.TensorSpec`` the sizes of its shape as ``_shape_tuple``, None for an unknown rank.

    1.13 to 2.6 have the attribute (tensorflow/python/framework/tensor_spec.py), which subclasses of the time
    compare (tensor2robot); seen to be gone in 2.15 to 2.21.
    """

    def sizes(self: Any) -> Any:
        return None if self.shape.ndims is None else tuple(self.shape.as_list())

    if not hasattr(tf.TensorSpec, "_shape_tuple"):
        patches.replace(tf.TensorSpec, "_shape_tuple", property(sizes))


@patches.patch
def accept_whole_numbers_as_dimensions() -> None:
    """Lets a static shape have ``256.0`` for a dimension, as in TensorFlow 1: ``16 * 16 / 1`` in Python 3.

    ``tensor_shape.Dimension`` takes ``int(value)`` of any number in 1.13 to 1.15, where that is equal to the
    number (``tensorflow/python/framework/tensor_shape.py``); seen in 2.15 to 2.21 to ask for ``__index__``,
    which floats lack.
    """
    dimension = tensor_shape.Dimension
    initialize = dimension.__init__

    @functools.wraps(initialize)
    def with_whole_numbers(self: Any, value: Any) -> None:
        if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
            if value % 1 != 0:  # not for infinity and NaN either, whose remainder is NaN
                raise ValueError(f"Ambiguous dimension: {value}")
            value = int(float(value))
        initialize(self, value)

    patches.replace(dimension, "__init__", with_whole_numbers)


def op_def(name: str) -> Any:
    """The definition of a registered operation, or None.

    Seen in 1.13 to 1.15 as ``op_def_registry.get_registered_ops``, in 2.0 to 2.21 as ``op_def_registry.get``.
    """
    if hasattr(op_def_registry, "get"):
        return op_def_registry.get(name)
    return op_def_registry.get_registered_ops().get(name)


def graph_collections(graph: Any) -> Any:
    """The dictionary that holds a graph's collections; seen in 1.13 to 2.21 as ``Graph._collections``."""
    return graph._collections


@patches.patch
def forget_eager_start() -> None:
    """Lets ``tf.init_scope`` lift out of functions into the graph, in every thread.

    Where TensorFlow's runtime was touched before eager execution was turned off (to make logical
    devices), its context remembers that it started eagerly, and a variable that is made inside a
    function of a graph would be an eager one. Where a script turns eager execution on again, it counts as
    the start after all: Keras asks for that in its own graph. Seen in 2.0 to 2.21 as
    ``Context._context_switches``.
    """
    eagerly = context_module.ContextSwitch(False, context_module.eager_mode, None)

    def is_start(switch: Any) -> bool:
        return switch.enter_context_fn is context_module.eager_mode

    class Switches(context_module._ContextSwitchStack):  # one for each thread
        @property
        def stack(self) -> list[Any]:
            started = bool(self._stack) and is_start(self._stack[0])
            if context_module.default_execution_mode == context_module.EAGER_MODE and not started:
                self._stack.insert(0, eagerly)
            return self._stack

        @stack.setter
        def stack(self, switches: list[Any]) -> None:
            self._stack = switches

    switches = Switches(False)
    before = context_module.context()._context_switches.stack
    switches.stack.extend(before[1:] if before and is_start(before[0]) else before)
    patches.replace(context_module.context(), "_context_switches", switches)


def graph_op_functions() -> list[tuple[Any, str]]:
    """Where every generated function adds its node to a graph.

    Seen in 1.13 to 2.0 as the method ``OpDefLibrary._apply_op_helper``, in 2.1 to 2.21 as a function.
    """
    module, name = own_module("tensorflow.python.framework.op_def_library"), "_apply_op_helper"
    owners = (module, getattr(module, "OpDefLibrary", None))
    return [(owner, name) for owner in owners if hasattr(owner, name)]


def eager_op_functions() -> list[tuple[Any, str]]:
    """Where every generated function runs its operation eagerly: the fast way, and the one after it.

    Seen in 1.13 to 2.1 in ``pywrap_tensorflow``, in 2.2 to 2.21 in ``pywrap_tfe``.
    """
    try:
        native = own_module("tensorflow.python.pywrap_tfe")
    except ImportError:
        native = own_module("tensorflow.python.pywrap_tensorflow")
    execute = own_module("tensorflow.python.eager.execute")
    return [(native, "TFE_Py_FastPathExecute"), (execute, "execute")]


def replace_input(operation: Any, position: int, tensor: Any) -> None:
    """Gives an operation of a graph another input; seen in 1.13 to 2.21 as ``Operation._update_input``."""
    operation._update_input(position, tensor)


def random_seed() -> Any:
    """The module whose ``get_seed(op_seed)`` every random operation calls.

    Seen in 1.13 to 2.21 as ``tensorflow.python.framework.random_seed``.
    """
    return random_seed_module


def smart_cond(predicate: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """``tf.cond`` that makes one branch only where the predicate is known; the public one has no name.

    Seen in 1.13 to 2.21 as ``tensorflow.python.framework.smart_cond.smart_cond``.
    """
    return smart_cond_module.smart_cond(predicate, true_fn, false_fn)


@patches.patch
def make_eager_tensors_hashable() -> None:
    """Lets eager tensors be keys and members of sets by their identity, as graph tensors are.

    So they are up to 1.15, where ``==`` compares identities too; eager tensors refuse ``hash`` by themselves
    from about 2.12 on, also after ``disable_tensor_equality``. Seen in 2.15 to 2.21 as
    ``tensorflow.python.framework.ops._EagerTensorBase``.
    """
    base = getattr(ops, "_EagerTensorBase", None)
    if base is not None and "__hash__" in vars(base):
        patches.replace(base, "__hash__", base.__mro__[1].__hash__)
