"""TensorFlow 1's API spelled as later releases spell it: ``tf.compat.v1`` is the old namespace itself."""

from __future__ import annotations

from tpucompat.legacy.rows import Moved, Row

ON_TENSORFLOW_1 = True

ROWS: dict[str, Row] = {
    "compat.v1": Moved("tpucompat.v1"),
    "compat.v2": Moved("tensorflow.compat.v2"),
}
