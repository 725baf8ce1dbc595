"""``tf.contrib.tfprof.model_analyzer``: ``tf.profiler`` under its first names."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

_Builder = tf.profiler.ProfileOptionBuilder

TRAINABLE_VARS_PARAMS_STAT_OPTIONS = _Builder.trainable_variables_parameter()
FLOAT_OPS_OPTIONS = _Builder.float_operation()
PRINT_ALL_TIMING_MEMORY = _Builder.time_and_memory()
ALL_ADVICE: dict[str, dict[str, Any]] = {
    "ExpensiveOperationChecker": {},
    "AcceleratorUtilizationChecker": {},
    "JobChecker": {},
    "OperationChecker": {},
}
Profiler = tf.profiler.Profiler
advise = tf.profiler.advise


def print_model_analysis(
    graph: Any,
    run_meta: Any = None,
    op_log: Any = None,
    tfprof_cmd: str = "scope",
    tfprof_options: Any = TRAINABLE_VARS_PARAMS_STAT_OPTIONS,
) -> Any:
    """Profiles a model and prints the result.

    Args:
      graph: The graph.
      run_meta: Of a traced run, for times and memory.
      op_log: More about operations; ignored.
      tfprof_cmd: "scope", "graph", "op" or "code".
      tfprof_options: What is profiled and shown.

    Returns:
      The profile, a GraphNodeProto or MultiGraphNodeProto.
    """
    return tf.profiler.profile(graph, run_meta, op_log, cmd=tfprof_cmd, options=tfprof_options)
