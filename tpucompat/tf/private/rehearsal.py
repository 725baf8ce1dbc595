"""What TensorFlow's own ``TPUStrategy`` needs in order to run where there is no TPU.

Seen in 2.15 to 2.21.
"""

from __future__ import annotations

import contextlib
import types
from typing import Any, Callable, Iterator, Sequence

import tensorflow as tf
import tensorflow.compat.v1 as v1

from tpucompat.base.late import late, load
from tpucompat.tf import patches

auto_control_deps = late("tensorflow.python.framework.auto_control_deps")
context = late("tensorflow.python.eager.context")
graph_to_function_def = late("tensorflow.python.framework.graph_to_function_def")
handle_data_util = late("tensorflow.python.ops.handle_data_util")
tpu = late("tensorflow.python.tpu.tpu")
tpu_replication = late("tensorflow.python.tpu.tpu_replication")
tpu_strategy = late("tensorflow.python.distribute.tpu_strategy")
tpu_system_metadata = late("tensorflow.python.tpu.tpu_system_metadata")


@patches.patch
def replicate_by(replicate: Callable[..., Any]) -> None:
    """Lets ``TPUStrategy.run`` call a function where it calls ``tpu.replicate``; idempotent.

    A process that rehearses has no TPU, so nobody misses the original. ``tpu_strategy.py`` calls it
    through its module ``tpu``.

    Args:
      replicate: Takes the arguments of ``tensorflow.python.tpu.tpu.replicate``.
    """

    class Tpu(types.ModuleType):
        """The module, but for one function."""

        def __getattr__(self, name: str) -> Any:
            return getattr(tpu, name)

    stand_in = Tpu("tpu")
    stand_in.replicate = replicate  # type: ignore[attr-defined]
    patches.replace(load(tpu_strategy), "tpu", stand_in)


def unpacked_tpu_strategy(resolver: Any) -> Any:
    """``tf.distribute.TPUStrategy`` whose variables are one for each core, and not packed into one.

    A packed variable is spread over devices, which there are not: ``_enable_packed_variable_in_eager_mode``.

    Args:
      resolver: Tells of the TPU; see :func:`system_metadata`.
    """
    made = tpu_strategy.TPUStrategyV2(resolver)
    made._enable_packed_variable_in_eager_mode = False
    return made


def system_metadata(cores: int, hosts: int) -> Any:
    """``TPUSystemMetadata`` of a TPU whose hosts are all this machine.

    Args:
      cores: The number of cores.
      hosts: The number of hosts that they belong to.
    """
    devices = [
        context.LogicalDevice(f"/job:localhost/replica:0/task:0/device:TPU:{core}", "TPU")
        for core in range(cores)
    ]
    return tpu_system_metadata.TPUSystemMetadata(
        num_cores=cores,
        num_hosts=hosts,
        num_of_cores_per_host=cores // hosts,
        topology=None,
        devices=devices,
    )


def program_context(graph: Any, cores: int, handle_of: Callable[[Any], Any]) -> Any:
    """TensorFlow's context of a computation for all cores of a TPU, to be entered and left.

    Args:
      graph: The graph that the computation is traced into.
      cores: How many cores run it.
      handle_of: The handles of all cores' variables -> the one that stands for them.
    """

    base: Any = tpu_replication.TPUReplicateContext

    class Context(base):
        """Knows the variables of the cores by one handle, as ``TPUReplicatedInput`` does."""

        def get_replicated_var_handle(
            self, name: str, handle_id: str, vars_: Sequence[Any], *args: Any, **kwargs: Any
        ) -> Any:
            """The one handle of a variable that is one on each core."""
            del name, args, kwargs
            if handle_id not in self._replicated_vars:
                own = [getattr(variable, "handle", variable) for variable in vars_]
                with graph.as_default(), v1.control_dependencies(None):
                    graph._set_control_flow_context(None)
                    self._replicated_vars[handle_id] = handle_of(own)
                    graph._set_control_flow_context(self)
            return self._replicated_vars[handle_id]

    with graph.as_default():
        pivot = v1.no_op(name="pivot")
    return Context(b"program", cores, pivot)


@contextlib.contextmanager
def inside_program(context: Any, graph: Any) -> Iterator[None]:
    """Within: what the graph gets belongs to the computation.

    Args:
      context: That of :func:`program_context`.
      graph: The default graph.
    """
    context.Enter()
    graph._set_control_flow_context(context)
    try:
        yield
    finally:
        context.Exit()


def is_ordered(graph: Any) -> bool:
    """Whether TensorFlow orders what a function's graph does (automatic control dependencies)."""
    return bool(getattr(graph, "_add_control_dependencies", False))


@contextlib.contextmanager
def ordered_program(wanted: bool) -> Iterator[Callable[[Any], Any]]:
    """Within: TensorFlow orders what is done, if wanted; gives what marks a returned tensor."""
    if not wanted:
        yield tf.identity
        return
    with auto_control_deps.AutomaticControlDependencies() as order:
        yield order.mark_as_return


def handle_like(handle: Any) -> Any:
    """A placeholder of the default graph for a variable's handle; it knows type and shape."""
    made = v1.placeholder(v1.resource, [])
    handle_data_util.copy_handle_data(handle, made)
    return made


def function_def(graph: Any, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
    """A graph as a ``FunctionDef``.

    Args:
      graph: The graph.
      name: The function's name.
      inputs: Placeholders of the graph.
      outputs: Tensors of the graph.
    """
    taken = {tensor.op for tensor in inputs}
    operations = [operation for operation in graph.get_operations() if operation not in taken]
    made = graph_to_function_def.graph_to_function_def(graph, operations, inputs, outputs)
    made.signature.name = name
    return made
