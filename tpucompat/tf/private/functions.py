"""Traced functions, function libraries, and what AutoGraph makes of Python's functions."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Iterator

import tensorflow as tf
from tensorflow.python.autograph.impl import api
from tensorflow.python.eager import context
from tensorflow.python.framework import function_def_to_graph
from tensorflow.python.framework.func_graph import FuncGraph
from tensorflow.python.util import tf_inspect as tf_inspect_module

from tpucompat.base.late import late, load
from tpucompat.tf import patches

_ag_ctx = late("tensorflow.python.autograph.core.ag_ctx")
_attributes = late("tensorflow.python.eager.polymorphic_function.attributes")
_config = late("tensorflow.python.autograph.core.config")


def plain_function(
    python_function: Any, jit_compile: bool = False, relax_shapes: bool = False
) -> Any:
    """A ``tf.function`` to which TensorFlow adds no control dependencies of its own.

    A graph of TF 1 holds every dependency that it needs, and the automatic ones are wrong for it:
    they do not know the contexts of imported conditionals and loops ("inputs from different
    frames").

    Seen in 2.15 to 2.21 as a function attribute (``eager/polymorphic_function/attributes.py``).
    Without it the function is made by ``wrap_function``, once for each signature; it is not
    compiled then.

    Args:
      python_function: What is traced.
      jit_compile: Whether XLA compiles it.
      relax_shapes: Whether the second trace leaves open what differs from the first.
    """
    try:
        known = "_disable_acd" in _attributes.POLYMORPHIC_FUNCTION_ALLOWLIST
    except (ImportError, AttributeError):
        known = False
    if not known:
        return wrapped_functions(python_function)
    # TensorFlow counts retracings by the code object, and would take the first tracings of many
    # methods for many tracings of one; a partial has none.
    return tf.function(
        functools.partial(python_function),
        autograph=False,
        jit_compile=jit_compile or None,
        reduce_retracing=relax_shapes,
        experimental_attributes={"_disable_acd": True},
    )


def add_functions(library: Any) -> None:
    """Makes the functions of a FunctionDefLibrary known to the runtime of a traced ``tf.function``.

    ``import_graph_def`` adds them to the graph alone; a function that is traced finds those it calls
    in the eager context. Nothing is done for the graph of a Session. Seen in 1.14 to 2.21.
    """
    if not tf.compat.v1.get_default_graph().building_function:
        return
    runtime = context.context()
    for function in library.function:
        if not runtime.has_function(function.signature.name):
            runtime.add_function_def(function)


def call_config(optimized: bool) -> Any:
    """The ``ConfigProto`` that functions are called with in this thread, in eager mode.

    Seen in 1.14 to 2.21 as ``context().function_call_options``.

    Args:
      optimized: Whether Grappler optimizes them.
    """
    config = tf.compat.v1.ConfigProto()
    config.ParseFromString(context.context().function_call_options.config_proto_serialized)
    config.graph_options.rewrite_options.disable_meta_optimizer |= not optimized
    return config


@contextlib.contextmanager
def functions_called_with(config: Any) -> Iterator[None]:
    """Within: functions are called with another ``ConfigProto``; None changes nothing.

    Seen in 1.14 to 2.21 as ``context().function_call_options``.
    """
    runtime = context.context()
    before = runtime.function_call_options
    if config is not None:
        runtime.function_call_options = context.FunctionCallOptions(
            executor_type=before.executor_type, config_proto=config
        )
    try:
        yield
    finally:
        runtime.function_call_options = before


def function_as_graph(function: Any) -> Any:
    """The body of a FunctionDef as a GraphDef, and what the tensors of the one are in the other.

    The functions that it calls have to be known to the default graph. Seen in 1.13 to 2.21.
    """
    return function_def_to_graph.function_def_to_graph_def(function)


def must_run(operation: Any) -> None:
    """Makes the function that is being traced run an operation, whether or not its outputs are used.

    Without automatic control dependencies a function has no side effects of its own: a call whose
    outputs nobody takes would be pruned. Seen in 2.0 to 2.21 as ``FuncGraph.control_outputs``.
    """
    operation.graph.control_outputs.append(operation)


def wrapped_functions(python_function: Any) -> Any:
    """A function that is traced by ``wrap_function`` for each signature it is called with."""
    traced: dict[Any, Any] = {}

    def call(*args: Any) -> Any:
        flat = [
            tf.convert_to_tensor(value) for value in tf.nest.flatten(args, expand_composites=True)
        ]
        signature = [tf.TensorSpec(value.shape, value.dtype) for value in flat]
        key = tuple((str(spec.shape), spec.dtype) for spec in signature)
        if key not in traced:

            def restored(*values: Any) -> Any:
                return python_function(
                    *tf.nest.pack_sequence_as(args, list(values), expand_composites=True)
                )

            traced[key] = tf.compat.v1.wrap_function(restored, signature)
        return traced[key](*flat)

    return call


def func_graph() -> Any:
    """The graph class that captures values of the graph around it.

    Seen in 1.13 to 2.21 as ``tensorflow.python.framework.func_graph.FuncGraph``.
    """
    return FuncGraph


def control_captures(graph: Any) -> Any:
    """The outer operations that a graph of :func:`func_graph` waits for.

    Seen in 1.14 to 2.11 as ``FuncGraph.control_captures``, in 2.12 to 2.21 as
    ``FuncGraph.function_captures.control``.
    """
    if hasattr(graph, "function_captures"):
        return graph.function_captures.control
    return getattr(graph, "control_captures", ())


def is_function_of_a_dataset(graph: Any) -> bool:
    """Whether a graph is that of a function that ``Dataset.map``, ``filter`` and the like trace.

    Seen in 2.0 to 2.21: the graph has the name that the function gets, such as ``Dataset_map_<lambda>``.
    """
    return str(getattr(graph, "name", "")).startswith("Dataset_")


def function_graph(graph: Any, name: str) -> Any:
    """The graph that a library function of a graph was traced from; None where nobody has it.

    Seen in 1.15 to 2.21 as ``Graph._get_function``, whose result has the attribute ``graph``.
    """
    find = getattr(graph, "_get_function", None)
    return getattr(find(name), "graph", None) if find is not None else None


def converted_by_autograph(function: Any) -> Any:
    """A function as ``Strategy.run`` would convert it here: if the function around it is converted.

    Seen in 2.2 to 2.21 in ``distribute_lib.py``: ``autograph.tf_convert`` with the control status.
    """
    return api.tf_convert(function, _ag_ctx.control_status_ctx(), convert_by_default=False)


def left_alone_by_autograph(function: Any) -> Any:
    """A function that AutoGraph calls as it is, and with its own state unchanged.

    ``tf.autograph.experimental.do_not_convert`` tells what the function calls that AutoGraph is off. Seen in
    2.2 to 2.21 as ``autograph_artifact`` of ``tensorflow/python/autograph/impl/api.py``; before, AutoGraph
    converts the function as any other.
    """
    return getattr(api, "autograph_artifact", lambda same: same)(function)


@patches.patch
def leave_package_to_itself(name: str = "tpucompat") -> None:
    """Lets AutoGraph call the functions of a package as they are, as it does with TensorFlow's own; idempotent.

    It would rewrite what layers compute, where it takes them for the script's own, and an error of theirs
    would lose its type. Seen in 1.15 to 2.21 as ``CONVERSION_RULES`` of ``autograph/core/config.py``.
    """
    try:
        config = load(_config)
    except ImportError:
        return
    rules = getattr(config, "CONVERSION_RULES", None)
    if rules is not None and not any(getattr(rule, "_prefix", None) == name for rule in rules):
        patches.replace(config, "CONVERSION_RULES", (config.DoNotConvert(name), *rules))


def tf_inspect() -> Any:
    """The module that looks at functions through TensorFlow's decorators.

    Seen in 1.13 to 2.21 as ``tensorflow.python.util.tf_inspect``.
    """
    return tf_inspect_module
