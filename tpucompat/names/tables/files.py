"""Files: what raises in TensorFlow 1.15, and in a later release does not."""

from __future__ import annotations

from tpucompat.names.rows import Row, StandIn

_FOLDERS = "tpucompat.engines.missing_folders:"

_V1 = StandIn(_FOLDERS + "Glob", varies=True)
_V2 = StandIn(_FOLDERS + "glob", varies=True)

ROWS: dict[str, Row] = {
    "gfile.Glob": _V1,
    "io.gfile.glob": _V2,
    "python.platform.gfile.Glob": _V1,
    "python.lib.io.file_io.get_matching_files": _V1,
    "python.lib.io.file_io.get_matching_files_v2": _V2,
}
