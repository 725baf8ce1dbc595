"""What of a step a TPU cannot run, in the script's terms."""

from __future__ import annotations

import contextlib
import re
from typing import Any, Iterator

import tensorflow.compat.v1 as v1

from tpucompat.base import errors
from tpucompat.engines import lowering, trace
from tpucompat.engines import xla_operations as operations
from tpucompat.engines.script_lines import Sources
from tpucompat.names import scope as scopes

# What TensorFlow says while a graph for XLA is built -> code; with the operation that it is about.
_WHILE_BUILT = {
    # The gradient of a loop without a bound (control_flow_ops.py of 1.15, control_flow_state.py of 2.21).
    r"accumulator for tensor .([^:]+):.*maximum_iterations was not passed": "TPU393",
    # A variable whose initial value is a tensor (resource_variable_ops.py; 1.15 does not name it).
    r"inside a control-flow\s+construct(?:.*Tensor\(\"([^:]+):)?": "TPU374",
}


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Within: a computation for XLA is built in the default graph; what it may not hold is told with a code.

    Raises:
      errors.BadValueError: With the script's line: a loop with a gradient that has no bound (TPU393), a
        variable whose initial value is a tensor (TPU374).
    """
    try:
        yield
    except errors.TPUCompatError:
        raise
    except ValueError as error:
        for pattern, code in _WHILE_BUILT.items():
            found = re.search(pattern, str(error), re.DOTALL)
            if found is not None:
                operation = found.group(1)
                where = made_at(v1.get_default_graph(), operation, "") if operation else ""
                raise errors.BadValueError(code, str(error).rstrip(".") + where) from error
        raise


@contextlib.contextmanager
def located(graph: Any) -> Iterator[None]:
    """Within: what refuses an operation of the graph names the script's line, too."""
    try:
        yield
    except errors.UnsupportedGraphError as error:
        where = made_at(graph, *error.operation) if error.operation else ""
        raise errors.UnsupportedGraphError(
            error.code, error.cause + where, error.next_step
        ) from None


def refuse(graph: Any, cut: trace.Cut) -> None:
    """Raises for the first operation of a step that a TPU has no kernel for.

    Args:
      graph: What the step was traced into.
      cut: The step.

    Raises:
      errors.UnsupportedGraphError: With the operation and the script's line (TPU371 to TPU396).
    """
    for finding in operations.refused(_written(cut)):
        raise _refusal(finding, graph)


def explained(error: Exception, graph: Any, cut: trace.Cut) -> Exception:
    """What XLA's compiler says of a step, in the script's terms; another error as it is.

    Args:
      error: What running the step has raised.
      graph: As for :func:`refuse`.
      cut: As for :func:`refuse`.
    """
    if not re.search(r"XLA_CPU_JIT|tf2xla|compile-time constant", str(error)):
        return error
    text = re.sub(r"\b(replay(_\d+)?/)+", "", str(error))
    return _refusal(lowering.explain(text, _written(cut)), graph)


def _written(cut: trace.Cut) -> Any:
    """All stages of a step as one GraphDef."""
    graph_def = v1.GraphDef(library=cut.library)
    for stage in cut.stages:
        graph_def.node.extend(stage.graph_def.node)
    return graph_def


def _refusal(finding: Any, graph: Any) -> errors.UnsupportedGraphError:
    where = made_at(graph, finding.operation, finding.function)
    return errors.UnsupportedGraphError(finding.code, finding.text + where, finding.instead)


def made_at(graph: Any, operation: str, function: str) -> str:
    """The script's line that made an operation, to be put behind what is said of it."""

    sources = Sources(scopes.current().packages)
    function = re.sub(r"(_freed_\d+)+\Z", "", function)
    line = sources.of_operation(graph, operation, function)
    return f"; created at {line.place}: {line.text}" if line.place else ""
