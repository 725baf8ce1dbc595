"""``tf.saved_model.load``: a model that was exported for a TPU runs without one too."""

from __future__ import annotations

from tpucompat.names.rows import Row, StandIn

_LOAD = StandIn("tpucompat.idioms.saved_models:load")

ROWS: dict[str, Row] = {
    "saved_model.load": _LOAD,
    "saved_model.loader.load": _LOAD,
    "python.saved_model.loader.load": _LOAD,
    "python.saved_model.loader_impl.load": _LOAD,
}
