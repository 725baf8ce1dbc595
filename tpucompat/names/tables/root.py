"""The root of the old namespace: what TensorFlow 1.15 said of itself."""

from __future__ import annotations

from tpucompat.names.rows import Constant, Row

# Scripts branch on the version; this is the last of TensorFlow 1.
_VERSION = "1.15.5"

ROWS: dict[str, Row] = {
    "__version__": Constant(_VERSION),
    "VERSION": Constant(_VERSION),
    "version.VERSION": Constant(_VERSION),
}
