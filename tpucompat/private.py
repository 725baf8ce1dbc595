"""Every private import of TensorFlow and Keras that tpucompat needs, in one place.

Each function names the releases in which the path was seen; ``tests/behaviour/test_private.py`` calls all of
them, so that a path which moves fails there first.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import numbers
import re
import sys
import types
from typing import (
    Any,
    Callable,
    ContextManager,
    Iterator,
    Mapping,
    NamedTuple,
    Sequence,
)


def eager_mode() -> ContextManager[None]:
    """A context in which operations run eagerly in a process that is otherwise in graph mode.

    Seen in 1.13 to 2.21 as ``tensorflow.python.eager.context.eager_mode``; the public API has
    ``tf.init_scope`` only, which is eager only when eager execution is enabled globally.
    """
    from tensorflow.python.eager import context

    return context.eager_mode()


def default_session_config() -> Any:
    """The ConfigProto that a session without one gets, made from the settings of ``tf.config``.

    Seen in 1.14 to 2.21 as ``tensorflow.python.eager.context.context().config``; in 1.13 a session without
    a ConfigProto gets an empty one.
    """
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.eager import context

    return getattr(context.context(), "config", None) or config_pb2.ConfigProto()


def saved_model_loader() -> Any:
    """The class that finds, imports and restores a MetaGraphDef of a SavedModel.

    Seen in 1.13 to 2.21 as ``tensorflow.python.saved_model.loader_impl.SavedModelLoader``; the public API has
    the function that does all of it.
    """
    from tensorflow.python.saved_model import loader_impl

    return loader_impl.SavedModelLoader


def add_control_inputs(operation: Any, before: Sequence[Any]) -> None:
    """Lets an operation that is in a graph wait for others; the public API orders new ones only.

    Seen in 1.13 to 2.21 as ``tf.Operation._add_control_inputs``.
    """
    operation._add_control_inputs(list(before))


def cluster_resolver_class() -> Any:
    """``tf.distribute.cluster_resolver.ClusterResolver``, which 1.13 has below ``tensorflow.python`` only."""
    from tensorflow.python.distribute.cluster_resolver import cluster_resolver

    return cluster_resolver.ClusterResolver


def topology_class() -> Any:
    """``tf.tpu.experimental.Topology``, which is public from 2.2 on.

    Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.topology``; in 1.13 under ``tensorflow.contrib.tpu``.
    """
    try:
        from tensorflow.python.tpu import topology
    except ImportError:
        from tensorflow.contrib.tpu.python.tpu import topology
    return topology.Topology


def cross_replica_sum(value: Any, name: str = "") -> Any:
    """Adds a native ``CrossReplicaSum`` node for all cores of the TPU to the default graph.

    Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.ops.tpu_ops``; in 1.13 under ``tensorflow.contrib.tpu``.
    """
    try:
        from tensorflow.python.tpu.ops import tpu_ops
    except ImportError:
        from tensorflow.contrib.tpu.python.ops import tpu_ops
    return tpu_ops.cross_replica_sum(value, name=name or None)


def tpu_function() -> Any:
    """The module that holds the thread's TPU context: ``get_tpu_context`` and ``tpu_shard_context``.

    TensorFlow's own module is used, so that library code (tensorflow-estimator) and the stand-ins see the
    same number of shards. Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.tpu_function``; in 1.13 under
    ``tensorflow.contrib.tpu``.
    """
    try:
        from tensorflow.python.tpu import tpu_function as module
    except ImportError:
        from tensorflow.contrib.tpu.python.tpu import tpu_function as module
    return module


def tpu_ops() -> Any:
    """The module of the TPU's native operations, which also registers their gradients.

    Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.ops.tpu_ops``; in 1.13 under ``tensorflow.contrib.tpu``.
    """
    try:
        from tensorflow.python.tpu.ops import tpu_ops as module
    except ImportError:
        from tensorflow.contrib.tpu.python.ops import tpu_ops as module
    return module


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
    import tensorflow as tf

    try:
        from tensorflow.python.eager.polymorphic_function import attributes

        known = "_disable_acd" in attributes.POLYMORPHIC_FUNCTION_ALLOWLIST
    except (ImportError, AttributeError):
        known = False
    if not known:
        return _wrapped_functions(python_function)
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
    import tensorflow as tf
    from tensorflow.python.eager import context

    if not tf.compat.v1.get_default_graph().building_function:
        return
    runtime = context.context()
    for function in library.function:
        if not runtime.has_function(function.signature.name):
            runtime.add_function_def(function)


def per_replica(strategy: Any, value_of: Any) -> Any:
    """A value of a strategy from a function that is called with the context of each replica.

    Public since 2.4 (``experimental_distribute_values_from_function``); before, replicas that run
    eagerly give the same.
    """
    import tensorflow as tf

    give = getattr(strategy, "experimental_distribute_values_from_function", None)
    if give is not None:
        return give(value_of)
    return run_on_replicas(strategy, lambda: value_of(tf.distribute.get_replica_context()))


def run_on_replicas(strategy: Any, function: Any, args: Any = ()) -> Any:
    """``strategy.run``, which is public since 2.2; 2.0 and 2.1 have it as ``experimental_run_v2``."""
    run = getattr(strategy, "run", None) or strategy.experimental_run_v2
    return run(function, args=args)


def static_value(value: Any) -> Any:
    """The value of a tensor, where it is known when the graph is made, as NumPy has it; else None.

    Seen in 1.13 to 2.21; the public name is ``tf.get_static_value`` since 2.4.
    """
    import tensorflow as tf
    from tensorflow.python.framework import tensor_util

    return tensor_util.constant_value(tf.convert_to_tensor(value))


def function_as_graph(function: Any) -> Any:
    """The body of a FunctionDef as a GraphDef, and what the tensors of the one are in the other.

    The functions that it calls have to be known to the default graph. Seen in 1.13 to 2.21.
    """
    from tensorflow.python.framework import function_def_to_graph

    return function_def_to_graph.function_def_to_graph_def(function)


def must_run(operation: Any) -> None:
    """Makes the function that is being traced run an operation, whether or not its outputs are used.

    Without automatic control dependencies a function has no side effects of its own: a call whose
    outputs nobody takes would be pruned. Seen in 2.0 to 2.21 as ``FuncGraph.control_outputs``.
    """
    operation.graph.control_outputs.append(operation)


def _wrapped_functions(python_function: Any) -> Any:
    """A function that is traced by ``wrap_function`` for each signature it is called with."""
    import tensorflow as tf

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


def nest() -> Any:
    """TensorFlow's structure helpers, more of them than ``tf.nest`` shows.

    Seen in 1.13 to 2.21; ``is_sequence`` became ``is_nested`` in 2.4.
    """
    from tensorflow.python.util import nest

    return nest


def complete_api() -> None:
    """Gives TensorFlow 1.13 ``tf.nest`` and ``tf.raw_ops``, which became public in 1.14.

    Seen in 1.13: ``tensorflow.python.util.nest``, and an operation's function in the module
    ``tensorflow.python.ops.gen_*_ops`` of its kind.
    """
    import tensorflow as tf

    for each in (tf, tf.compat.v1):
        if not hasattr(each, "nest"):
            each.nest = nest()
        if not hasattr(each, "raw_ops"):
            each.raw_ops = RawOperations("tensorflow.raw_ops")


class RawOperations(types.ModuleType):
    """``tf.raw_ops`` of a TensorFlow that has none."""

    def __getattr__(self, name: str) -> Any:
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
        for module_name, module in list(sys.modules.items()):
            if re.fullmatch(r"tensorflow\.python\.ops\.gen_\w+_ops", module_name):
                function = getattr(module, snake, None) or getattr(module, "_" + snake, None)
                if function is not None:
                    return function
        raise AttributeError(name)


def count_resource_variables_as_variables() -> None:
    """Lets ``isinstance(variable, tf.Variable)`` hold for resource variables, as in TensorFlow 1.

    ``resource_variable_ops.ResourceVariable`` was a ``VariableV1`` up to 2.0; since then the classes are
    siblings, and VariableV1 is an abstract base class (seen in 2.15 to 2.21), which can be told.
    """
    import tensorflow as tf
    from tensorflow.python.ops import resource_variable_ops

    base = getattr(resource_variable_ops, "BaseResourceVariable", None)
    register = getattr(tf.compat.v1.Variable, "register", None)
    if base is not None and register is not None:
        register(base)


def let_graph_variables_be_true() -> None:
    """Lets ``average if average else variable`` be asked of a graph's variables, as in TensorFlow 1.

    Up to 1.15 scripts get reference variables, objects like any other, which are true. A resource variable
    reads its value for that, seen in 1.13 to 2.21, and in a graph there is none.
    """
    import tensorflow as tf

    base = resource_variable_class()
    truth = base.__bool__
    if hasattr(truth, "__wrapped__"):
        return

    @functools.wraps(truth)
    def true_in_graphs(self: Any) -> bool:
        return bool(truth(self)) if tf.executing_eagerly() else True

    base.__bool__ = true_in_graphs


def resource_variable_class() -> Any:
    """The class of resource variables.

    Seen in 1.14 to 2.21 as ``resource_variable_ops.BaseResourceVariable``; in 1.13 as ``ResourceVariable``.
    """
    from tensorflow.python.ops import resource_variable_ops

    name = "BaseResourceVariable"
    return getattr(resource_variable_ops, name, resource_variable_ops.ResourceVariable)


def complete_resource_variables() -> None:
    """Gives resource variables the methods of reference variables that they have lost, or never had.

    ``initialized_value`` and ``load`` follow ``VariableV1`` of 1.15 (``tensorflow/python/ops/variables.py``),
    and are seen in 2.15 to 2.21 to raise NotImplementedError. ``_ref`` is what ``tf.assign`` and its
    kin were given. With ``validate_shape=False`` a variable's shape is unknown, as in ``RefVariable``.
    """
    import tensorflow as tf
    from tensorflow.python.ops import resource_variable_ops

    base = resource_variable_class()
    base._ref = lambda self: self  # 1.13 has one that raises, others have none
    if tf.__version__.startswith("1."):
        return

    def initialized_value(self: Any) -> Any:
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

    base.initialized_value, base.load = initialized_value, load
    made = resource_variable_ops.ResourceVariable
    original: Any = made.__init__

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("validate_shape") is False and kwargs.get("shape") is None:
            kwargs["shape"] = tf.TensorShape(None)
        original(self, *args, **kwargs)

    if not hasattr(original, "__wrapped__"):
        made.__init__ = __init__


def convert_in_sessions(
    kind: type, fetch: Callable[..., Any], feed: Callable[..., list[tuple[Any, Any]]]
) -> None:
    """Says what sessions fetch and feed for a value of some type.

    Seen in 1.13 to 2.21 in ``tensorflow/python/client/session.py``.

    Args:
      kind: The type.
      fetch: Gives what to fetch for it, and the function that makes one value of what was fetched.
      feed: Gives the tensors to feed for it and their values; without a value, for a partial run.
    """
    from tensorflow.python.client import session

    register = session.register_session_run_conversion_functions
    register(kind, fetch, feed, lambda value: [tensor for tensor, _ in feed(value)])


def change_inputs_of_imports(change: Callable[[Any, dict[Any, Any]], dict[Any, Any]]) -> None:
    """Says what an import of a graph takes for the values of its ``input_map``.

    Seen in 1.15 to 2.21 as ``tensorflow.python.framework.importer._import_graph_def_internal``, which all
    imports go through; 1.13 has ``import_graph_def`` alone, where MetaGraphs come in.

    Args:
      change: Gets the ``GraphDef`` and the map; gives the map to use.
    """
    from tensorflow.python.framework import importer

    name = "_import_graph_def_internal"
    name = name if hasattr(importer, name) else "import_graph_def"
    original = getattr(importer, name)

    @functools.wraps(original)
    def import_graph(graph_def: Any, input_map: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(input_map, dict) and hasattr(graph_def, "node"):
            input_map = change(graph_def, input_map)
        return original(graph_def, input_map, *args, **kwargs)

    setattr(importer, name, import_graph)


def control_flow_context(operation: Any) -> Any:
    """The loop or conditional of TensorFlow 1 that an operation is in, or None.

    Seen in 1.13 to 2.21 as ``tf.Operation._get_control_flow_context``.
    """
    return operation._get_control_flow_context()


def is_in_loop(operation: Any) -> bool:
    """Whether a loop of TensorFlow 1 has an operation, in a conditional of its own too.

    Seen in 1.13 to 2.21 as ``tensorflow.python.ops.control_flow_util.GetContainingWhileContext``.
    """
    from tensorflow.python.ops import control_flow_util

    context = control_flow_context(operation)
    return control_flow_util.GetContainingWhileContext(context) is not None


def gate_gradients(told: Callable[[Any, int], None]) -> None:
    """Lets ``tf.gradients`` finish an operation's gradients together, where reference variables are.

    A gradient that is applied at once (``var.assign(var - rate * grad)``) otherwise races with the gradients
    of the layer below, which read the same variable: training on 1.15 and 2.21 diverges. ``tf.train``'s
    optimizers ask for the same by their GATE_OP; a TPU computes all gradients from the values before the step.

    Seen in 1.14 to 2.21 as ``tensorflow.python.ops.gradients_util._GradientsHelper``; in 1.13 in
    ``gradients_impl``.

    Args:
      told: Called with a graph and the number of operations that were made for it there, where the caller
        had not asked for them.
    """
    import tensorflow as tf

    gradients_util: Any
    try:
        gradients_util = importlib.import_module("tensorflow.python.ops.gradients_util")
    except ImportError:
        gradients_util = importlib.import_module("tensorflow.python.ops.gradients_impl")

    helper = gradients_util._GradientsHelper
    if hasattr(helper, "__wrapped__"):
        return
    position = list(inspect.signature(helper).parameters).index("gate_gradients")

    @functools.wraps(helper)
    def gated(*args: Any, **kwargs: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        asked = args[position] if len(args) > position else kwargs.get("gate_gradients", False)
        if asked or graph.building_function or not any(map(_is_reference, _variables_of(graph))):
            return helper(*args, **kwargs)
        if len(args) > position:
            args = (*args[:position], True, *args[position + 1 :])
        else:
            kwargs["gate_gradients"] = True
        before = len(graph.get_operations())
        gradients = helper(*args, **kwargs)
        told(graph, sum("_grad/tuple/" in each.name for each in graph.get_operations()[before:]))
        return gradients

    gradients_util._GradientsHelper = gated


def _variables_of(graph: Any) -> list[Any]:
    return [
        variable
        for name in ("trainable_variables", "variables")
        for variable in graph.get_collection_ref(name)
    ]


def _is_reference(variable: Any) -> bool:
    return getattr(getattr(variable, "op", None), "type", "") in ("Variable", "VariableV2")


def give_specs_their_sizes() -> None:
    """Gives ``tf.TensorSpec`` the sizes of its shape as ``_shape_tuple``, None for an unknown rank.

    1.13 to 2.6 have the attribute (tensorflow/python/framework/tensor_spec.py), which subclasses of the time
    compare (tensor2robot); seen to be gone in 2.15 to 2.21.
    """
    import tensorflow as tf

    def sizes(self: Any) -> Any:
        return None if self.shape.ndims is None else tuple(self.shape.as_list())

    if not hasattr(tf.TensorSpec, "_shape_tuple"):
        tf.TensorSpec._shape_tuple = property(sizes)


def accept_whole_numbers_as_dimensions() -> None:
    """Lets a static shape have ``256.0`` for a dimension, as in TensorFlow 1: ``16 * 16 / 1`` in Python 3.

    ``tensor_shape.Dimension`` takes ``int(value)`` of any number in 1.13 to 1.15, where that is equal to the
    number (``tensorflow/python/framework/tensor_shape.py``); seen in 2.15 to 2.21 to ask for ``__index__``,
    which floats lack.
    """
    from tensorflow.python.framework import tensor_shape

    dimension = tensor_shape.Dimension
    initialize = dimension.__init__
    if hasattr(initialize, "__wrapped__"):
        return

    @functools.wraps(initialize)
    def with_whole_numbers(self: Any, value: Any) -> None:
        if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
            if value % 1 != 0:  # not for infinity and NaN either, whose remainder is NaN
                raise ValueError(f"Ambiguous dimension: {value}")
            value = int(float(value))
        initialize(self, value)

    dimension.__init__ = with_whole_numbers


def load_and_remap_matrix_initializer() -> Any:
    """The function behind ``tf.contrib.framework.load_and_remap_matrix_initializer``.

    Seen in 1.13 to 2.21 as a private name of ``tensorflow.python.training.checkpoint_ops``.
    """
    from tensorflow.python.training import checkpoint_ops

    return checkpoint_ops._load_and_remap_matrix_initializer


def track_tf_optimizer(optimizer: Any) -> None:
    """Lets Keras' session initialise the slots of a ``TFOptimizer`` that a script made itself.

    Keras does so for those that it makes from a ``tf.train.Optimizer``. Seen in 1.13 to 2.15 (bundled Keras)
    and in tf-keras 2.16 to 2.21 as ``backend.track_tf_optimizer`` beside ``optimizers.TFOptimizer``.

    Args:
      optimizer: Any optimizer of the graph world's Keras.
    """
    optimizers = importlib.import_module(_keras_source() + ".optimizers")
    if isinstance(optimizer, optimizers.TFOptimizer):
        importlib.import_module(_keras_source() + ".backend").track_tf_optimizer(optimizer)


def hdf5_format() -> Any:
    """The module that writes and reads weights in the groups of an HDF5 file.

    Seen as ``saving.hdf5_format`` in 1.15 and to 2.11, as ``saving.legacy.hdf5_format`` in 2.15 (bundled Keras)
    and in tf-keras 2.16 to 2.21.
    """
    try:
        return importlib.import_module(_keras_source() + ".saving.legacy.hdf5_format")
    except ImportError:
        return importlib.import_module(_keras_source() + ".saving.hdf5_format")


def _keras_source() -> str:
    """The package with the source of Keras 2: ``tf_keras.src``, ``keras.src``, ``tensorflow.python.keras``."""
    import tensorflow as tf

    root: list[str] = tf.compat.v1.keras.Model.__module__.split(".")
    depth = root.index("src") + 1 if "src" in root else root.index("keras") + 1
    return ".".join(root[:depth])


@contextlib.contextmanager
def open_batches() -> Iterator[None]:
    """A context in which a model's layers are called without the batch size of its Input layers.

    When a model is called in a graph, its ``_conform_to_reference_input`` gives the tensor the static shape
    of the model's own input, batch size included. Seen in 2.2 in ``engine.network``, in 2.4 to 2.11 in
    ``engine.functional``; 2.1 does so in the middle of a longer method, 2.0 and 2.15 to 2.21 do not.
    """
    for name in ("functional:Functional", "network:Network"):
        module, _, attribute = name.partition(":")
        try:
            base: Any = getattr(
                importlib.import_module(f"{_keras_source()}.engine.{module}"), attribute
            )
            conform = base._conform_to_reference_input
            break
        except (ImportError, AttributeError):
            continue
    else:
        yield
        return

    @functools.wraps(conform)
    def with_open_batch(self: Any, tensor: Any, ref_input: Any) -> Any:
        import tensorflow as tf

        if tensor.shape.rank and tensor.shape.as_list()[0] is None and ref_input.shape.rank:
            shape = [None, *ref_input.shape.as_list()[1:]]
            ref_input = tf.TensorSpec(shape, ref_input.dtype)
        return conform(self, tensor, ref_input)

    base._conform_to_reference_input = with_open_batch
    try:
        yield
    finally:
        base._conform_to_reference_input = conform


def keras_models(graph: bool) -> tuple[type, ...]:
    """Keras' model classes whose methods train, in graph mode or eagerly.

    Seen as ``engine.training_v1.Model`` in 2.2 to 2.15 (bundled Keras) and in tf-keras 2.16 to 2.21; before
    2.2 the one class ``Model`` serves both modes.
    """
    import tensorflow as tf

    public = tf.compat.v1.keras.Model if graph else tf.keras.Model
    if not graph:
        return (public,)
    root = public.__module__.rpartition(".")[0]
    try:
        graph_engine = importlib.import_module(root + ".training_v1")
    except ImportError:
        return (public,)
    return (graph_engine.Model,)


def keras_model_engines() -> tuple[type, ...]:
    """The classes beside ``Model`` that a model is an instance of: of graph mode, and of connected layers.

    Seen as ``engine.training_v1.Model`` and ``engine.functional.Functional`` in 2.2 (``functional`` in 2.3) to
    2.15 and in tf-keras 2.16 to 2.21; before that ``Model`` is all of them.
    """
    import tensorflow as tf

    root = tf.compat.v1.keras.Model.__module__.rpartition(".")[0]
    found = []
    for module, name in (("training_v1", "Model"), ("functional", "Functional")):
        with contextlib.suppress(ImportError):
            found.append(getattr(importlib.import_module(f"{root}.{module}"), name))
    return tuple(found)


def keras_layer_engines() -> tuple[type, ...]:
    """The classes beside ``Layer`` that a layer is an instance of: that of graph mode.

    Seen as ``engine.base_layer_v1.Layer`` in 2.2 to 2.15 and in tf-keras 2.16 to 2.21; before that ``Layer`` is
    all of them.
    """
    try:
        return (importlib.import_module(_keras_source() + ".engine.base_layer_v1").Layer,)
    except ImportError:
        return ()


def functional_model() -> Any:
    """The class of models made of layers, where Keras has one beside ``Model``; None before.

    Seen as ``engine.functional.Functional`` in 2.3 to 2.15 and in tf-keras 2.16 to 2.21.
    """
    import tensorflow as tf

    root = tf.compat.v1.keras.Model.__module__.rpartition(".")[0]
    try:
        return importlib.import_module(root + ".functional").Functional
    except ImportError:
        return None


def first_keras_optimizers() -> Any:
    """The module with Keras' optimizers of the first kind, whose ``get_updates`` makes a list of updates.

    Seen as ``optimizers`` in 1.13 to 2.2, as ``optimizer_v1`` in 2.3 to 2.8, and as ``optimizers.optimizer_v1``
    from Keras 2.9 to tf-keras 2.21.
    """
    for name in ("optimizers.optimizer_v1", "optimizer_v1", "optimizers"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(f"{_keras_source()}.{name}")
    raise ImportError("Keras has no module with its first optimizers")


def is_of_keras(cls: type) -> bool:
    """Whether Keras 2 itself, or this package in its name, defines a class."""
    return f"{cls.__module__}.".startswith((_keras_source() + ".", "tpucompat."))


def silence_deprecations() -> None:
    """Stops TensorFlow's deprecation warnings, for good: its public switch is a context only.

    Seen in 1.13 to 2.21 as ``tensorflow.python.util.deprecation``.
    """
    from tensorflow.python.util import deprecation

    deprecation._PRINT_DEPRECATION_WARNINGS = False


def watch_sessions(watcher: Callable[[Any, set[str]], Callable[[], None] | None]) -> None:
    """Tells a watcher about everything that any Session of the process is going to run.

    ``Session.run`` and callables (Keras makes one for every function) come together in these two methods
    only. Seen in 1.13 to 2.21 as ``BaseSession._do_run`` and ``BaseSession._make_callable_from_options``.

    Args:
      watcher: Called before a run with the session and the names of the operations that are fetched or run;
        returns what is to be called when the run has ended, or None.
    """
    from tensorflow.python.client.session import BaseSession

    do_run = BaseSession._do_run
    make_callable = BaseSession._make_callable_from_options

    def watched_run(
        self: Any, handle: Any, targets: Any, fetches: Any, *args: Any, **kwargs: Any
    ) -> Any:
        done = watcher(self, {one.name for one in targets} | {one.op.name for one in fetches})
        try:
            return do_run(self, handle, targets, fetches, *args, **kwargs)
        finally:
            if done is not None:
                done()

    def make_watched_callable(self: Any, options: Any) -> Callable[..., Any]:
        call = make_callable(self, options)
        connected = [connection.from_tensor for connection in options.tensor_connection]
        names = {name.partition(":")[0] for name in [*options.fetch, *options.target, *connected]}

        def watched_call(*args: Any, **kwargs: Any) -> Any:
            done = watcher(self, names)
            try:
                return call(*args, **kwargs)
            finally:
                if done is not None:
                    done()

        return watched_call

    BaseSession._do_run = watched_run
    BaseSession._make_callable_from_options = make_watched_callable


def average_masked_losses_over_all() -> None:
    """Lets Keras divide the loss of a masked sequence by all its steps again, as TensorFlow 1.15 did.

    Since Keras 2.10 it divides by the steps that are not masked. Seen as ``losses_utils.apply_valid_mask`` in
    ``keras.src.utils`` of 2.15 and ``tf_keras.src.utils`` of 2.16 to 2.21.
    """
    import tensorflow as tf

    root = tf.compat.v1.keras.Model.__module__.rpartition(".engine.")[0]
    try:
        module: Any = importlib.import_module(root + ".utils.losses_utils")
    except ImportError:
        return
    if hasattr(module, "apply_valid_mask"):
        module.apply_valid_mask = lambda losses, sw, mask, reduction: module.apply_mask(
            losses, sw, mask
        )


def normalize_without_masks() -> None:
    """Lets a subclass of BatchNormalization define ``_moments(inputs, reduction_axes, keep_dims)`` as ever.

    Models that average over the cores of a TPU do so there. Up to 1.15 Keras asks for no more
    (``tensorflow/python/keras/layers/normalization.py``); ``layers.normalization.batch_normalization`` gives a
    ``mask`` besides, seen in Keras 2.15 and tf-keras 2.16 to 2.21, which such a layer does not look at.
    """
    try:
        path = _keras_source() + ".layers.normalization.batch_normalization"
        base: Any = importlib.import_module(path).BatchNormalizationBase
    except (ImportError, AttributeError):
        return

    def without_mask(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def as_then(*args: Any, mask: Any = None, **options: Any) -> Any:
            return method(*args, **options)

        return as_then

    def adapt(cls: Any, **options: Any) -> None:
        super(base, cls).__init_subclass__(**options)
        for name in ("_moments", "_calculate_mean_and_var"):
            method = vars(cls).get(name)
            if not inspect.isfunction(method):
                continue
            parameters = inspect.signature(method).parameters
            if "mask" not in parameters and all(
                each.kind is not each.VAR_KEYWORD for each in parameters.values()
            ):
                setattr(cls, name, without_mask(method))

    base.__init_subclass__ = classmethod(adapt)


def feed_missing_axes() -> None:
    """Lets a target without its last axis be fed where the graph takes that axis off again.

    A TPU's models were built for the targets of the data set; others make placeholders with the rank of the
    outputs, and the metric of a sequence of classes squeezes [samples, steps] as [samples, steps, 1]. Tensors
    are fed in ``GraphExecutionFunction._make_callable``, seen in 1.13 (``Function``) to 2.15 (bundled Keras)
    and in tf-keras 2.16 to 2.21.
    """
    import tensorflow.compat.v1 as tf

    backend = importlib.import_module(_keras_source() + ".backend")
    function: Any = getattr(backend, "GraphExecutionFunction", None) or backend.Function
    make = function._make_callable

    def is_squeezed(tensor: Any) -> bool:
        last = tensor.shape.ndims - 1
        for user in tensor.consumers():
            if user.type == "Squeeze":
                axes = user.get_attr("squeeze_dims")
                if -1 in axes or last in axes:
                    return True
            elif user.type in ("Cast", "Identity") and is_squeezed(user.outputs[0]):
                return True
        return False

    def fitted(placeholder: Any, value: Any) -> Any:
        ranks = placeholder.shape.ndims, value.shape.ndims
        if None in ranks or ranks[0] != ranks[1] + 1 or not is_squeezed(placeholder):
            return value
        with value.graph.as_default():
            return tf.expand_dims(value, -1)

    @functools.wraps(make)
    def make_callable(
        self: Any, feed_arrays: Any, feed_symbols: Any, symbol_vals: Any, session: Any
    ) -> None:
        fed = [fitted(*pair) for pair in zip(feed_symbols, symbol_vals)]
        make(self, feed_arrays, feed_symbols, fed, session)
        self._symbol_vals = symbol_vals  # which it compares with those of the next call

    function._make_callable = make_callable


def op_def(name: str) -> Any:
    """The definition of a registered operation, or None.

    Seen in 1.13 to 1.15 as ``op_def_registry.get_registered_ops``, in 2.0 to 2.21 as ``op_def_registry.get``.
    """
    from tensorflow.python.framework import op_def_registry

    if hasattr(op_def_registry, "get"):
        return op_def_registry.get(name)
    return op_def_registry.get_registered_ops().get(name)


def func_graph() -> Any:
    """The graph class that captures values of the graph around it.

    Seen in 1.13 to 2.21 as ``tensorflow.python.framework.func_graph.FuncGraph``.
    """
    from tensorflow.python.framework.func_graph import FuncGraph

    return FuncGraph


def graph_collections(graph: Any) -> Any:
    """The dictionary that holds a graph's collections; seen in 1.13 to 2.21 as ``Graph._collections``."""
    return graph._collections


def device_assignment() -> Any:
    """The module that spreads replicas over cores; the class is public as tf.tpu.experimental.DeviceAssignment.

    Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.device_assignment``; in 1.13 under
    ``tensorflow.contrib.tpu``.
    """
    try:
        from tensorflow.python.tpu import device_assignment
    except ImportError:  # 1.13
        from tensorflow.contrib.tpu.python.tpu import device_assignment
    return device_assignment


def topology_proto() -> Any:
    """The class ``TopologyProto``; seen in 1.14 to 2.21 in ``tensorflow.core.protobuf.tpu``."""
    try:
        from tensorflow.core.protobuf.tpu import topology_pb2
    except ImportError:  # 1.13
        from tensorflow.contrib.tpu.proto import topology_pb2
    return topology_pb2.TopologyProto


def topology_rank() -> int:
    """The number of mesh dimensions that the installed ``Topology`` class takes: 3 in 1.x, 4 from 2.1 on."""
    try:
        from tensorflow.python.tpu.topology import Topology
    except ImportError:  # 1.13
        return 3
    proto = topology_proto()()
    proto.mesh_shape.extend([1, 1, 1, 1])
    proto.num_tasks = proto.num_tpu_devices_per_task = 1
    proto.device_coordinates.extend([0, 0, 0, 0])
    try:
        Topology(serialized=proto.SerializeToString())
    except ValueError:
        return 3
    return 4


def control_captures(graph: Any) -> Any:
    """The outer operations that a graph of :func:`func_graph` waits for.

    Seen in 1.14 to 2.11 as ``FuncGraph.control_captures``, in 2.12 to 2.21 as
    ``FuncGraph.function_captures.control``.
    """
    if hasattr(graph, "function_captures"):
        return graph.function_captures.control
    return getattr(graph, "control_captures", ())


def tpu_feed() -> Any:
    """The module of ``InfeedQueue``: ``tensorflow.python.tpu.tpu_feed``, 1.14 to 2.21; 1.13 in contrib."""
    try:
        from tensorflow.python.tpu import tpu_feed as module
    except ImportError:
        from tensorflow.contrib.tpu.python.tpu import tpu_feed as module
    return module


def training_loop() -> Any:
    """The module of ``repeat``: ``tensorflow.python.tpu.training_loop``, 1.14 to 2.21; 1.13 in contrib."""
    try:
        from tensorflow.python.tpu import training_loop as module
    except ImportError:
        from tensorflow.contrib.tpu.python.tpu import training_loop as module
    return module


def summary_ops_v2() -> Any:
    """The module that was ``tf.contrib.summary``.

    Seen in 1.13 to 2.21. Public names took another meaning on the way, and the first version stayed beside
    them under the names that :mod:`tpucompat.legacy.contrib.summary` asks for.
    """
    from tensorflow.python.ops import summary_ops_v2

    return summary_ops_v2


def forget_eager_start() -> None:
    """Lets ``tf.init_scope`` lift out of functions into the graph, in every thread.

    Where TensorFlow's runtime was touched before eager execution was turned off (to make logical
    devices), its context remembers that it started eagerly, and a variable that is made inside a
    function of a graph would be an eager one. Where a script turns eager execution on again, it counts as
    the start after all: Keras asks for that in its own graph. Seen in 2.0 to 2.21 as
    ``Context._context_switches``.
    """
    from tensorflow.python.eager import context

    eagerly = context.ContextSwitch(False, context.eager_mode, None)

    def is_start(switch: Any) -> bool:
        return switch.enter_context_fn is context.eager_mode

    class Switches(context._ContextSwitchStack):  # one for each thread
        @property
        def stack(self) -> list[Any]:
            started = bool(self._stack) and is_start(self._stack[0])
            if context.default_execution_mode == context.EAGER_MODE and not started:
                self._stack.insert(0, eagerly)
            return self._stack

        @stack.setter
        def stack(self, switches: list[Any]) -> None:
            self._stack = switches

    switches = Switches(False)
    before = context.context()._context_switches.stack
    switches.stack.extend(before[1:] if before and is_start(before[0]) else before)
    context.context()._context_switches = switches


class PathFunction(NamedTuple):
    """A function of Python that hands paths to native code.

    Attributes:
      owner: The module or class that callers look it up in.
      name: Its name there.
      positions: Position of each argument that is a path -> "read", "write" or "pattern".
      finds: Whether it returns the paths that it found.
    """

    owner: Any
    name: str
    positions: Mapping[int, str]
    finds: bool = False


# The functions of SWIG (1.13 to 2.1, in pywrap_tensorflow) and pybind11 (2.2 to 2.21, in modules of their own)
# that take paths; the names are mostly the same.
_FILE_FUNCTIONS: Mapping[str, Mapping[int, str]] = {
    "FileExists": {0: "read"},
    "DeleteFile": {0: "read"},
    "ReadFileToString": {0: "read"},
    "WriteStringToFile": {0: "write"},
    "GetChildren": {0: "read"},
    "GetMatchingFiles": {0: "pattern"},
    "CreateDir": {0: "write"},
    "RecursivelyCreateDir": {0: "write"},
    "CopyFile": {0: "read", 1: "write"},
    "RenameFile": {0: "read", 1: "write"},
    "DeleteRecursively": {0: "read"},
    "IsDirectory": {0: "read"},
    "HasAtomicMove": {0: "read"},
    "Stat": {0: "read"},
    "BufferedInputStream": {0: "read"},
    "CreateBufferedInputStream": {0: "read"},
    "WritableFile": {0: "write"},
    "CreateWritableFile": {0: "write"},
}
_RECORD_FUNCTIONS: Mapping[str, Mapping[int, str]] = {
    "RecordIterator": {0: "read"},
    "RandomRecordReader": {0: "read"},
    "PyRecordReader_New": {0: "read"},
    "PyRecordWriter_New": {0: "write"},
}
_PATH_FUNCTIONS: Sequence[tuple[str, Mapping[str, Mapping[int, str]]]] = (
    ("tensorflow.python.lib.io._pywrap_file_io", _FILE_FUNCTIONS),
    ("tensorflow.python.lib.io._pywrap_record_io", _RECORD_FUNCTIONS),
    ("tensorflow.python._pywrap_file_io", _FILE_FUNCTIONS),  # 2.2 to 2.4
    ("tensorflow.python._pywrap_record_io", _RECORD_FUNCTIONS),
    # From 2.2 on a subclass of the native class, so that its constructor is the door.
    ("tensorflow.python.lib.io.tf_record:TFRecordWriter", {"__init__": {1: "write"}}),
    (
        "tensorflow.python.summary.writer.event_file_writer:_pywrap_events_writer",
        {"EventsWriter": {0: "write"}},
    ),
    ("tensorflow.python.training.py_checkpoint_reader:CheckpointReader", {"__init__": {1: "read"}}),
    ("tensorflow.python.pywrap_tensorflow_internal:CheckpointReader", {"__init__": {1: "read"}}),
    (
        "tensorflow.python.pywrap_tensorflow",
        {**_FILE_FUNCTIONS, **_RECORD_FUNCTIONS, "EventsWriter": {0: "write"}},
    ),
    (
        "tensorflow.python.saved_model.pywrap_saved_model:fingerprinting",
        {
            "CreateFingerprintDef": {0: "read"},
            "ReadSavedModelFingerprint": {0: "read"},
            "SingleprintFromFP": {0: "read"},
            "SingleprintFromSM": {0: "read"},
        },
    ),
    ("tensorflow.python.saved_model.pywrap_saved_model", {"Save": {0: "read"}}),
    ("tensorflow.python.saved_model.experimental.pywrap_libexport", {"Save": {0: "read"}}),  # 2.6
    (
        "tensorflow.python.profiler.internal._pywrap_profiler:ProfilerSession",
        {"start": {1: "write"}},
    ),
    ("h5py:File", {"__init__": {1: "write"}}),
    ("h5py", {"is_hdf5": {0: "read"}}),
    # Keras 2.13 to 2.15 and tf-keras take remote files by way of a temporary one, and lose some of them.
    ("{keras}.src.saving.saving_api", {"_support_gcs_uri": {0: "write"}}),
    ("{keras}.src.saving.saving_api:SupportReadFromRemote", {"__init__": {1: "read"}}),
    ("{keras}.src.saving.saving_api:SupportWriteToRemote", {"__init__": {1: "write"}}),
)


def path_functions() -> list[PathFunction]:
    """The functions that hand paths to native code, as far as the installed releases have them.

    Seen as listed in 1.13, 1.15, 2.15, 2.16 and 2.21.
    """
    from tpucompat.environment import environment

    found = []
    keras = "tf_keras" if environment().keras == "tf-keras" else "keras"
    for target, functions in _PATH_FUNCTIONS:
        module, _, attribute = target.format(keras=keras).partition(":")
        try:
            owner = _own_module(module)
            owner = getattr(owner, attribute) if attribute else owner
        except (ImportError, AttributeError):
            continue
        for name, positions in functions.items():
            if hasattr(owner, name):
                found.append(PathFunction(owner, name, positions, name == "GetMatchingFiles"))
    return found


def _own_module(name: str) -> Any:
    """A private module as TensorFlow's own ``from parent import child`` finds it.

    In 1.14 and 1.15 ``tensorflow.python.pywrap_tensorflow`` imported by its full name is a second copy that
    TensorFlow does not look at.
    """
    parent, _, child = name.rpartition(".")
    found = getattr(importlib.import_module(parent), child, None) if parent else None
    return importlib.import_module(name) if found is None else found


def graph_op_functions() -> list[tuple[Any, str]]:
    """Where every generated function adds its node to a graph.

    Seen in 1.13 to 2.0 as the method ``OpDefLibrary._apply_op_helper``, in 2.1 to 2.21 as a function.
    """
    module, name = _own_module("tensorflow.python.framework.op_def_library"), "_apply_op_helper"
    owners = (module, getattr(module, "OpDefLibrary", None))
    return [(owner, name) for owner in owners if hasattr(owner, name)]


def eager_op_functions() -> list[tuple[Any, str]]:
    """Where every generated function runs its operation eagerly: the fast way, and the one after it.

    Seen in 1.13 to 2.1 in ``pywrap_tensorflow``, in 2.2 to 2.21 in ``pywrap_tfe``.
    """
    try:
        native = _own_module("tensorflow.python.pywrap_tfe")
    except ImportError:
        native = _own_module("tensorflow.python.pywrap_tensorflow")
    execute = _own_module("tensorflow.python.eager.execute")
    return [(native, "TFE_Py_FastPathExecute"), (execute, "execute")]


def session_run_function() -> tuple[Any, str]:
    """The method that every ``Session.run`` ends in; seen in 1.13 to 2.21 as ``BaseSession._do_run``."""
    return _own_module("tensorflow.python.client.session").BaseSession, "_do_run"


def replace_input(operation: Any, position: int, tensor: Any) -> None:
    """Gives an operation of a graph another input; seen in 1.13 to 2.21 as ``Operation._update_input``."""
    operation._update_input(position, tensor)


def monitoring() -> Any:
    """The module with TensorFlow's usage counters, as libraries outside TensorFlow reach it.

    Seen in 2.5 to 2.21 as ``tf.compat.v2.__internal__.monitoring``; before, libraries imported
    ``tensorflow.python.eager.monitoring``.
    """
    import tensorflow as tf

    internal = getattr(getattr(tf.compat, "v2", None), "__internal__", None)
    if internal is not None and hasattr(internal, "monitoring"):
        return internal.monitoring
    return importlib.import_module("tensorflow.python.eager.monitoring")


def gpus() -> Any:
    """The GPUs that TensorFlow sees.

    Public as ``tf.config.list_physical_devices`` from 2.1 on; under ``experimental`` in 1.14 and 2.0;
    1.13 has no such list.
    """
    import tensorflow as tf

    config = getattr(tf, "config", None)
    where = (
        config
        if hasattr(config, "list_physical_devices")
        else getattr(config, "experimental", None)
    )
    return where.list_physical_devices("GPU") if where is not None else []


def one_replica(strategy: Any, value: Any) -> Any:
    """The value of a strategy's only replica, in the form that values of several replicas have.

    Seen in 1.14 to 2.21 as ``tensorflow.python.distribute.values.PerReplica``, which up to 2.0 wants to
    be told the devices.
    """
    from tensorflow.python.distribute import values

    if isinstance(value, values.DistributedValues):
        return value
    if hasattr(values, "SingleDeviceMap"):
        try:
            device = strategy.extended.worker_devices[0]
        except RuntimeError:  # 2.0's default strategy names none
            device = "/device:CPU:0"
        return values.PerReplica(values.SingleDeviceMap(device), (value,))
    return values.PerReplica((value,))


def cross_replica_context() -> Any:
    """The strategy, if the code is not inside a replica; seen in 1.14 to 2.21 under two modules."""
    from tensorflow.python.distribute import distribute_lib

    if hasattr(distribute_lib, "get_cross_replica_context"):
        return distribute_lib.get_cross_replica_context()
    from tensorflow.python.distribute import distribution_strategy_context

    return distribution_strategy_context.get_cross_replica_context()


def limit_start_of_peers(resolver: Any, seconds: int) -> None:
    """Limits how long this process waits for the other machines of a cluster to start.

    To be called before their strategy is made, which otherwise sets the limit itself, to an hour.
    Seen in 2.15 to 2.21 as ``tensorflow.python.eager.context.Context.configure_coordination_service``,
    called so by ``collective_all_reduce_strategy.py``; older releases wait without a limit.
    """
    from tensorflow.python.distribute import collective_all_reduce_strategy, multi_worker_util
    from tensorflow.python.eager import context

    configure = getattr(context.context(), "configure_coordination_service", None)
    config = getattr(collective_all_reduce_strategy, "coordination_config_pb2", None)
    if configure is None or config is None or not hasattr(config, "CoordinatedJob"):
        return
    machines = multi_worker_util.normalize_cluster_spec(resolver.cluster_spec())
    configure(
        service_type="standalone",
        service_leader=multi_worker_util.coordination_leader(machines),
        cluster_register_timeout_in_ms=1000 * seconds,
        coordinated_jobs=[
            config.CoordinatedJob(name=job, num_tasks=machines.num_tasks(job))
            for job in machines.jobs
        ],
    )


def read_no_element_ahead() -> None:
    """Lets an iterator ask its dataset for an element only when somebody asks the iterator, as 1.15 does.

    tf.data puts a ``prefetch`` behind a pipeline's last step (the option ``inject_prefetch``, in force where
    nobody has set it). What has a state then runs ahead of the steps that it belongs to: Python's generators
    and NumPy's random numbers that the script draws from as well, variables that a ``map`` counts with.

    Seen in 2.15 and 2.21 as ``DatasetV2._apply_debug_options`` of
    ``tensorflow/python/data/ops/dataset_ops.py``, which every iterator asks; the option in those that have it.
    """
    import tensorflow as tf

    if not hasattr(tf.data.Options().experimental_optimization, "inject_prefetch"):
        return
    from tensorflow.python.data.ops import dataset_ops

    own = dataset_ops.DatasetV2._apply_debug_options
    if hasattr(own, "__wrapped__"):
        return

    @functools.wraps(own)
    def _apply_debug_options(self: Any) -> Any:
        options = tf.data.Options()
        options.experimental_optimization.inject_prefetch = False
        return own(self).with_options(options)

    dataset_ops.DatasetV2._apply_debug_options = _apply_debug_options


def leave_replica_inputs_untuned() -> None:
    """Lets what brings batches to the replicas go without tf.data's tuning of buffers and threads.

    The thread that tunes an iterator sleeps twice as long each time, up to a minute. Its end is a race
    that a machine of few processors often loses: ``CancellationManager`` says that it has been cancelled
    after it has woken the thread (``cancellation.cc``, ``Model::OptimizeLoop`` in ``model.cc``, up to
    2.21), which goes back to sleep, and the iterator's end waits for it. With an iterator for each of 8
    replicas, one after the other, the end of a ``fit`` took minutes.

    Seen in 2.0 to 2.21 as ``_create_device_dataset`` and ``MultiDeviceIterator``, in 2.1 to 2.21 as
    ``OwnedMultiDeviceIterator``, all in ``tensorflow.python.data.ops.multi_device_iterator_ops``.
    """
    import tensorflow as tf
    from tensorflow.python.data.ops import multi_device_iterator_ops as module

    def untuned(dataset: Any) -> Any:
        options = tf.data.Options()
        if hasattr(options, "autotune"):  # 2.7 and later
            options.autotune.enabled = False
        else:
            options.experimental_optimization.autotune = False
        return dataset.with_options(options)

    create = getattr(module, "_create_device_dataset", None)
    if create is not None and not hasattr(create, "__wrapped__"):
        module._create_device_dataset = functools.wraps(create)(
            lambda *args, **kwargs: untuned(create(*args, **kwargs))
        )
    for name in ("MultiDeviceIterator", "OwnedMultiDeviceIterator"):  # of a graph, of eager code
        kind = getattr(module, name, None)
        if kind is not None and not hasattr(kind.__init__, "__wrapped__"):
            kind.__init__ = _with_dataset(untuned, kind.__init__)


def _with_dataset(changed: Callable[[Any], Any], initialize: Any) -> Any:
    @functools.wraps(initialize)
    def initialize_changed(self: Any, dataset: Any = None, *args: Any, **kwargs: Any) -> None:
        if dataset is not None:  # else it is put together from the parts of another one
            dataset = changed(dataset)
        initialize(self, dataset, *args, **kwargs)

    return initialize_changed


def write_graphs_with_any_protobuf() -> None:
    """Lets ``tf.train.write_graph`` work with protobuf 7, and so every saver of a MonitoredSession.

    That no longer has the argument ``float_format``, which ``graph_io.py`` of tensorflow/python/framework
    gives, seen in 1.13 to 2.20 without a format. 2.20 is the first release that takes protobuf 7, and 2.21
    gives no argument.
    """
    from google.protobuf import text_format
    from tensorflow.python.framework import graph_io

    if "float_format" in inspect.signature(text_format.MessageToString).parameters:
        return

    def as_text(message: Any, float_format: str = "", **options: Any) -> str:
        del float_format
        text: str = text_format.MessageToString(message, **options)
        return text

    graph_io.text_format = types.SimpleNamespace(MessageToString=as_text)


def write_all_h5_files_alike() -> None:
    """Lets models of the graph world write and read ``x.weights.h5`` as every other ``.h5`` file.

    Since Keras 2.12 that suffix means another format (``saving_api.py``), which takes values eagerly:
    saving fails in a graph, and loading makes assignments that nobody runs. Seen in Keras 2.12 to 2.15 and
    tf-keras 2.16 to 2.21 as ``saving.legacy.save``; earlier ones know one format, 2.11 with a module of that
    name which has other functions.
    """
    try:
        legacy = importlib.import_module(_keras_source() + ".saving.legacy.save")
    except ImportError:
        return
    if not hasattr(legacy, "save_weights"):
        return
    for model in keras_models(graph=True):
        for name in ("save_weights", "load_weights"):
            own, plain = getattr(model, name), getattr(legacy, name)
            if not hasattr(own, "_tpucompat"):
                setattr(model, name, _by_suffix(".weights.h5", plain, own))


def _by_suffix(suffix: str, chosen: Any, others: Any) -> Any:
    @functools.wraps(others)
    def call(self: Any, filepath: Any, *args: Any, **kwargs: Any) -> Any:
        function = chosen if str(filepath).endswith(suffix) else others
        return function(self, filepath, *args, **kwargs)

    call._tpucompat = True  # type: ignore[attr-defined]
    return call


def name_recurrent_weights_by_layer() -> None:
    """Lets a recurrent layer's weights be ``lstm/kernel`` again, as in checkpoints of TensorFlow 1.15.

    Since 2.2 the scope of the cell lies between: ``lstm/lstm_cell/kernel``. ``RNN.build`` and
    ``StackedRNNCells.build`` ask Keras' backend for it, and their modules ask it for no other scope: seen as
    ``layers.recurrent`` in 2.2 to 2.8, and as ``layers.rnn.base_rnn`` and ``stacked_rnn_cells`` in Keras 2.9
    to 2.15 and tf-keras 2.16 to 2.21.
    """

    class Backend:
        """Keras' backend, whose name scopes are those that one is in."""

        def __init__(self, module: Any) -> None:
            self._module = module

        def __getattr__(self, name: str) -> Any:
            return getattr(self._module, name)

        @staticmethod
        def name_scope(name: str) -> ContextManager[None]:
            return contextlib.nullcontext()

    for path in ("recurrent", "rnn.base_rnn", "rnn.stacked_rnn_cells"):
        try:
            module = importlib.import_module(f"{_keras_source()}.layers.{path}")
        except ImportError:
            continue
        for name in {"K", "backend"} & vars(module).keys():
            if inspect.ismodule(getattr(module, name)):
                setattr(module, name, Backend(getattr(module, name)))


def lookup_ops() -> Any:
    """Tables from files and tensors; ``tf.contrib.lookup`` under other names.

    Seen in 1.13 to 2.21; ``tf.lookup`` shows only a part of it.
    """
    from tensorflow.python.ops import lookup_ops

    return lookup_ops


def feature_columns_of_graphs() -> Any:
    """The module with the columns that ``tf.feature_column`` had before those of V2, and their base classes.

    Seen in 1.13 to 2.21; ``tf.compat.v1.feature_column`` shows what reads such columns, but no base class.
    """
    from tensorflow.python.feature_column import feature_column

    return feature_column


def queue_inputs() -> Any:
    """The module of ``tf.train.batch``, with what takes examples apart for queues and puts batches together.

    Seen in 1.13 to 2.21; the public API has the functions that fill one queue.
    """
    from tensorflow.python.training import input as module

    return module


def assign_moving_average(variable: Any, value: Any, decay: float) -> Any:
    """Moves a variable towards a value; its first values count as if they had been there before.

    Seen in 1.13 to 2.21; the public ``tf.train.ExponentialMovingAverage`` makes its variables itself.
    """
    from tensorflow.python.training import moving_averages

    return moving_averages.assign_moving_average(variable, value, decay)


def data_flow_ops() -> Any:
    """The module of the queues, with the barrier and with queues without a bound.

    Seen in 1.13 to 2.21; ``tf.queue`` shows the queues only, and no barrier.
    """
    from tensorflow.python.ops import data_flow_ops as module

    return module


class SparseMaps(NamedTuple):
    """Puts the rows of a SparseTensor into a table, and takes them out."""

    add_many: Callable[..., Any]
    take_many: Callable[..., Any]


def sparse_maps() -> SparseMaps:
    """What ``tf.train.batch`` carries SparseTensors through queues by.

    Seen in 1.13 to 2.21 in ``tensorflow.python.ops.sparse_ops``; the operations alone are in ``tf.raw_ops``.
    """
    from tensorflow.python.ops import sparse_ops

    return SparseMaps(
        sparse_ops._add_many_sparse_to_tensors_map, sparse_ops._take_many_sparse_from_tensors_map
    )


class XlaContext:
    """What is built inside is meant for XLA: loops get a maximal number of steps.

    Keras' recurrent layers and the gradients of loops look for it (``GraphOrParentsInXlaContext``). It can
    be entered several times, since a gradient needs the context of its loop. Seen in 1.13 to 2.21 as
    ``control_flow_ops.XLAControlFlowContext``; the TPU's own, a subclass, has ``get_replicated_var_handle``.

    Args:
      replicated_handle: Stands for that method; None for a context without it.
    """

    def __init__(self, replicated_handle: Callable[..., Any] | None = None) -> None:
        from tensorflow.python.ops import control_flow_ops

        self._context = control_flow_ops.XLAControlFlowContext()
        if replicated_handle is not None:
            self._context.get_replicated_var_handle = replicated_handle

    def __enter__(self) -> None:
        self._context.Enter()

    def __exit__(self, *error: Any) -> None:
        self._context.Exit()


def session_interface() -> Any:
    """The base class of all Sessions, which savers insist on.

    Seen in 1.13 to 2.21 as ``SessionInterface`` of ``tensorflow.python.client.session``.
    """
    from tensorflow.python.client.session import SessionInterface

    return SessionInterface


def loss_modules() -> list[Any]:
    """The modules that the functions of ``tf.nn`` are looked up in by losses and by Keras.

    Seen in 1.13 to 2.21 as ``tensorflow.python.ops.nn``, ``nn_ops`` and ``nn_impl``.
    """
    import tensorflow as tf
    from tensorflow.python.ops import nn, nn_impl, nn_ops

    return [nn_ops, nn_impl, nn, tf.nn, tf.compat.v1.nn]


def gradient_modules() -> list[Any]:
    """The modules in which optimizers and Keras look ``gradients`` up.

    Seen in 1.13 to 2.21 as ``tensorflow.python.ops.gradients`` and ``gradients_impl``.
    """
    import tensorflow as tf
    from tensorflow.python.ops import gradients, gradients_impl

    return [gradients_impl, gradients, tf, tf.compat.v1]


def before_sessions_close(watcher: Callable[[Any], None]) -> None:
    """Tells a watcher about every Session that is about to close.

    Seen in 1.13 to 2.21 as ``tensorflow.python.client.session.BaseSession.close``, through which monitored
    sessions and Estimators close theirs.
    """
    from tensorflow.python.client.session import BaseSession

    close = BaseSession.close

    def watched_close(self: Any) -> None:
        if not self._closed:
            watcher(self)
        close(self)

    BaseSession.close = watched_close


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
    from tensorflow.python.autograph.core import ag_ctx
    from tensorflow.python.autograph.impl import api

    return api.tf_convert(function, ag_ctx.control_status_ctx(), convert_by_default=False)


def left_alone_by_autograph(function: Any) -> Any:
    """A function that AutoGraph calls as it is, and with its own state unchanged.

    ``tf.autograph.experimental.do_not_convert`` tells what the function calls that AutoGraph is off. Seen in
    2.2 to 2.21 as ``autograph_artifact`` of ``tensorflow/python/autograph/impl/api.py``.
    """
    from tensorflow.python.autograph.impl import api

    return api.autograph_artifact(function)


def leave_package_to_itself(name: str) -> None:
    """Lets AutoGraph call the functions of a package as they are, as it does with TensorFlow's own; idempotent.

    It would rewrite what layers compute, where it takes them for the script's own, and an error of theirs
    would lose its type. Seen in 1.15 to 2.21 as ``CONVERSION_RULES`` of ``autograph/core/config.py``.
    """
    try:
        from tensorflow.python.autograph.core import config
    except ImportError:
        return
    rules = getattr(config, "CONVERSION_RULES", None)
    if rules is not None and not any(getattr(rule, "_prefix", None) == name for rule in rules):
        config.CONVERSION_RULES = (config.DoNotConvert(name), *rules)


def custom_call(value: Any, target: str, config: str) -> Any:
    """A call, in XLA's program, of a function that takes a tensor and gives one like it.

    Seen in 2.8 to 2.21 as ``xla_custom_call`` of ``tensorflow/compiler/tf2xla/ops/gen_xla_ops.py``.
    """
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops

    return gen_xla_ops.xla_custom_call(
        args=[value],
        target_name=target,
        backend_config=config,
        dtype=value.dtype,
        shape=value.shape,
    )


def all_reduce(value: Any, groups: Any) -> Any:
    """The sum over cores as an operation that has no static shape to know.

    Seen in 2.8 to 2.21 as ``xla_all_reduce`` of ``tensorflow/compiler/tf2xla/ops/gen_xla_ops.py``; XLA's
    compiler for a CPU has it from 2.16 on.
    """
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops

    return gen_xla_ops.xla_all_reduce(value, groups, "Add", "CrossReplica")


def hlo_module(program: bytes) -> Any:
    """A serialized ``HloModuleProto`` as a message.

    Seen in 2.12 to 2.21 in ``tensorflow/compiler/xla/service/hlo_pb2.py``.
    """
    from tensorflow.compiler.xla.service import hlo_pb2

    return hlo_pb2.HloModuleProto.FromString(program)


def random_seed() -> Any:
    """The module whose ``get_seed(op_seed)`` every random operation calls.

    Seen in 1.13 to 2.21 as ``tensorflow.python.framework.random_seed``.
    """
    from tensorflow.python.framework import random_seed as module

    return module


#: Where ``tf.Variable`` of a graph is made, as places of :func:`replace_functions`: up to 2.11, and from 2.12.
DEFAULT_VARIABLE_CREATORS = (
    "tensorflow.python.ops.variable_scope:default_variable_creator",
    "tensorflow.python.ops.ref_variable:default_variable_creator",
)


def replace_functions(by_place: Mapping[str, Callable[[Callable[..., Any]], Any]]) -> None:
    """Puts other functions in the place of TensorFlow's own, wherever a loaded module holds them.

    Args:
      by_place: For each place what makes the new function of the old one. A place is
        ``module:name`` or ``module:Class.name``; ``keras:Layer.name`` for a layer of
        ``tf.compat.v1.keras.layers``, ``keras/module:name`` for a module of Keras' source. One that this
        release does not have is left out.
    """
    import tensorflow as tf

    new: dict[Any, Any] = {}
    for place, change in by_place.items():
        path, _, name = place.partition(":")
        try:
            if path == "keras":
                owner = tf.compat.v1.keras.layers
            else:
                path = path.replace("keras/", _keras_source() + ".")
                owner = importlib.import_module(path)
            for part in name.split(".")[:-1]:
                owner = getattr(owner, part)
        except (ImportError, AttributeError):
            continue
        attribute = name.rpartition(".")[2]
        if inspect.isclass(owner):
            owner = next((each for each in owner.__mro__ if attribute in vars(each)), owner)
        old = vars(owner).get(attribute)
        if old is None:
            continue
        changed = change(old)
        setattr(owner, attribute, changed)
        if inspect.ismodule(owner):
            new[inspect.unwrap(old)] = changed
    names = {function.__name__ for function in new}
    for module in list(sys.modules.values()):
        if not getattr(module, "__name__", "").startswith(("tensorflow", "keras", "tf_keras")):
            continue
        # Some 80,000 values, at every start: their type is compared, and only what is found is looked at.
        found = [
            (name, value)
            for name, value in vars(module).copy().items()
            if type(value) is types.FunctionType and value.__name__ in names
        ]
        for name, value in found:
            # Two decorated forms of one function may be about: tf.nn.swish is not tf.compat.v1.nn.swish.
            changed = new.get(inspect.unwrap(value))
            if changed is not None and changed is not value:
                setattr(module, name, changed)


def replace_gradients(by_type: Mapping[str, Callable[[Callable[..., Any]], Any]]) -> None:
    """Puts other functions in the place of those that compute operations' gradients.

    Seen in 1.13 to 2.21 in ``tensorflow/python/framework/ops.py`` (``_gradient_registry``) and ``registry.py``
    (the function is the "type" of an entry).

    Args:
      by_type: For each type of operation what makes the new function of the old one.
    """
    from tensorflow.python.framework import ops

    entries = ops._gradient_registry._registry
    for operation, change in by_type.items():
        if operation in entries:
            entries[operation]["type"] = change(entries[operation]["type"])


def zero_state(size: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros ``[batch_size, *size]``, as recurrent cells start from.

    Seen as ``_zero_state_tensors`` in ``tensorflow.python.ops.rnn_cell_impl`` (1.13 to 2.1, and 2.15 to 2.21)
    and in ``tensorflow.python.keras.layers.legacy_rnn.rnn_cell_impl`` (2.3 to 2.21).
    """
    module = importlib.import_module("tensorflow.python.ops.rnn_cell_impl")
    if not hasattr(module, "_zero_state_tensors"):
        path = "tensorflow.python.keras.layers.legacy_rnn.rnn_cell_impl"
        module = importlib.import_module(path)
    return module._zero_state_tensors(size, batch_size, dtype)


def checked_image(image: Any) -> Any:
    """An image, which is checked to have three dimensions at least.

    Seen in 1.13 to 2.21 as ``tensorflow.python.ops.image_ops_impl._AssertAtLeast3DImage``.
    """
    from tensorflow.python.ops import image_ops_impl

    return image_ops_impl._AssertAtLeast3DImage(image)


def tf_inspect() -> Any:
    """The module that looks at functions through TensorFlow's decorators.

    Seen in 1.13 to 2.21 as ``tensorflow.python.util.tf_inspect``.
    """
    from tensorflow.python.util import tf_inspect as module

    return module


def dataset_operations() -> Any:
    """The module of tf.data's operations, with those that ``tf.raw_ops`` calls by keywords alone.

    Seen in 1.13 to 2.21 as ``tensorflow.python.ops.gen_dataset_ops``.
    """
    from tensorflow.python.ops import gen_dataset_ops

    return gen_dataset_ops


def einsum_of_matrices(einsum: Callable[..., Any]) -> Callable[..., Any]:
    """``tf.einsum`` by transpose, reshape and matmul, as up to 1.15; ``einsum`` where there is none.

    Seen in 2.2 to 2.21 as ``tensorflow.python.ops.special_math_ops._einsum_v1``; up to 2.1 it is ``einsum``.
    What only the later one takes (an index that an operand has twice, an unknown rank behind an ellipsis)
    is left to it: libraries of today, which ask for that, see the same function.
    """
    from tensorflow.python.ops import special_math_ops

    first: Any = getattr(special_math_ops, "_einsum_v1", None)
    if first is None:
        return einsum

    @functools.wraps(einsum)
    def as_then(equation: str, *inputs: Any, **options: Any) -> Any:
        own = {name: value for name, value in options.items() if name != "optimize"}
        try:
            return first(equation, *inputs, **own)
        except ValueError:
            return einsum(equation, *inputs, **options)

    return as_then


def test_util() -> Any:
    """The module of TensorFlow's own tests: decorators for test methods, and their base class.

    Seen in 1.13 to 2.21 as ``tensorflow.python.framework.test_util``; the public ``tf.test`` has the base
    class only.
    """
    from tensorflow.python.framework import test_util as module

    return module


def keras_test_modules() -> tuple[Any, Any]:
    """The modules of Keras' own tests: their helpers, and the decorators that run a test in several ways.

    Seen in tf-keras 2.16 to 2.21 and Keras 2.13 to 2.15 below ``src.testing_infra``, in 2.9 to 2.12 as
    ``keras.testing_infra``; up to 2.8 the modules are ``keras.testing_utils`` and ``keras_parameterized``.
    """
    root = _keras_source()
    try:
        return (
            importlib.import_module(root + ".testing_infra.test_utils"),
            importlib.import_module(root + ".testing_infra.test_combinations"),
        )
    except ModuleNotFoundError:
        return (
            importlib.import_module(root + ".testing_utils"),
            importlib.import_module(root + ".keras_parameterized"),
        )


def smart_cond(predicate: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """``tf.cond`` that makes one branch only where the predicate is known; the public one has no name.

    Seen in 1.13 to 2.21 as ``tensorflow.python.framework.smart_cond.smart_cond``.
    """
    from tensorflow.python.framework import smart_cond as module

    return module.smart_cond(predicate, true_fn, false_fn)


def trackable_module() -> Any:
    """The module with ``Trackable``, of which whatever object-based checkpoints save is a subclass.

    Seen in 2.9 to 2.21 as ``tensorflow.python.trackable.base``, in 1.14 to 2.8 as
    ``tensorflow.python.training.tracking.base``.
    """
    try:
        from tensorflow.python.trackable import base
    except ImportError:
        from tensorflow.python.training.tracking import base
    return base


def trackable_class() -> Any:
    """``Trackable`` of :func:`trackable_module`; it looks up and restores the attributes of objects."""
    return trackable_module().Trackable


def plain_variable_class() -> Any:
    """The class of resource variables that a program makes, whose ``_init_from_args`` gives them a value.

    Seen in 1.13 to 2.21 as ``tensorflow.python.ops.resource_variable_ops.ResourceVariable``; the public
    ``tf.Variable`` is one of its bases.
    """
    from tensorflow.python.ops import resource_variable_ops

    return resource_variable_ops.ResourceVariable


def data_structures() -> Any:
    """The module of lists and mappings that object-based checkpoints follow.

    Seen in 2.9 to 2.21 as ``tensorflow.python.trackable.data_structures``, in 1.14 to 2.8 as
    ``tensorflow.python.training.tracking.data_structures``.
    """
    try:
        from tensorflow.python.trackable import data_structures as module
    except ImportError:
        from tensorflow.python.training.tracking import data_structures as module
    return module


def object_checkpoints() -> Any:
    """The module of object-based checkpoints, with what looks into one.

    Seen in 2.9 to 2.21 as ``tensorflow.python.checkpoint.checkpoint``, in 1.14 to 2.8 as
    ``tensorflow.python.training.tracking.util``.
    """
    try:
        from tensorflow.python.checkpoint import checkpoint
    except ImportError:
        from tensorflow.python.training.tracking import util as checkpoint
    return checkpoint


def saver_builder() -> Any:
    """The class whose attributes ``SaveableObject`` and ``SaveSpec`` say what a ``tf.train.Saver`` writes.

    Seen in 1.13 to 2.21 as ``tensorflow.python.training.saver.BaseSaverBuilder``.
    """
    from tensorflow.python.training import saver

    return saver.BaseSaverBuilder


def let_eager_tensors_be_keys() -> None:
    """Lets eager tensors be keys and members of sets by their identity, as graph tensors are.

    So they are up to 1.15, where ``==`` compares identities too; eager tensors refuse ``hash`` by themselves
    from about 2.12 on, also after ``disable_tensor_equality``. Seen in 2.15 to 2.21 as
    ``tensorflow.python.framework.ops._EagerTensorBase``.
    """
    from tensorflow.python.framework import ops

    base = getattr(ops, "_EagerTensorBase", None)
    if base is not None and "__hash__" in vars(base):
        base.__hash__ = base.__mro__[1].__hash__


def summary_writer_modules() -> tuple[Any, Any]:
    """The two modules whose ``FileWriter`` writes what hooks and Estimators summarize.

    Seen in 1.13 to 2.21 as ``tensorflow.python.summary.writer.writer`` and ``writer_cache``.
    """
    from tensorflow.python.summary.writer import writer, writer_cache

    return writer, writer_cache


def take_inputs_of_updates() -> None:
    """Lets a layer's ``add_update`` and ``add_loss`` be given the layer's inputs in the second place.

    1.15 ignores them there (``add_update`` of tensorflow/python/keras/engine/base_layer.py), and custom layers
    of the time pass them. ``add_update`` has lost the argument in 2.15 to 2.21, ``add_loss`` of eager layers
    takes it by name only since 2.3; seen as ``engine.base_layer.Layer`` and ``engine.base_layer_v1.Layer``.
    """
    for module in ("base_layer", "base_layer_v1"):
        try:
            layer = importlib.import_module(f"{_keras_source()}.engine.{module}").Layer
        except ModuleNotFoundError:  # base_layer_v1 came in 2.2
            continue
        for name in ("add_update", "add_loss"):
            method = vars(layer)[name]
            # The signature, not the code: 1.15 decorates both.
            if "inputs" not in inspect.signature(method).parameters:
                setattr(layer, name, left_alone_by_autograph(_without_inputs(method)))


def _without_inputs(method: Any) -> Any:
    @functools.wraps(method)
    def add(self: Any, entries: Any, inputs: Any = None, **options: Any) -> Any:
        del inputs
        return method(self, entries, **options)

    return add


def name_losses_as_then() -> None:
    """Calls Keras' loss functions what they were called in 1.15, from which the names of metrics follow.

    ``compile(metrics=["logcosh"])`` names the metric by the function (``engine/training_utils_v1.py``), which
    2.2 to 2.4 renamed and kept under the old name too. Seen in 2.15 to 2.21 as ``losses`` and ``metrics`` of
    Keras' source.
    """
    renamed = {
        "cosine_similarity": "cosine_proximity",
        "huber": "huber_loss",
        "kl_divergence": "kullback_leibler_divergence",
        "log_cosh": "logcosh",
    }
    for module in ("losses", "metrics"):
        functions = importlib.import_module(f"{_keras_source()}.{module}")
        for now, then in renamed.items():
            function = getattr(functions, now, None)
            if inspect.isfunction(function):
                function.__name__ = then
