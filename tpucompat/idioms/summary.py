"""``tf.contrib.summary``: the three functions whose names now mean something else in TensorFlow."""

from __future__ import annotations

from tpucompat.tf import private

_OPS = private.summary_ops_v2()

# Writes a serialized graph; the later ``graph`` takes a Graph, in eager mode only (2.5).
graph = getattr(_OPS, "graph_v1", _OPS.graph)
# Flushes a raw resource too (2.5).
flush = getattr(_OPS, "legacy_raw_flush", _OPS.flush)
# False where nothing was said, which became True (2.3).
should_record_summaries = getattr(
    _OPS, "_legacy_contrib_should_record_summaries", _OPS.should_record_summaries
)
