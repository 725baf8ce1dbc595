"""``tf.estimator`` and the private paths that scripts took parts of it from.

TensorFlow has the API itself up to 2.15; see :mod:`tpucompat.idioms.estimator` for later releases.
"""

from __future__ import annotations

from tpucompat.names.rows import Package, Row, StandIn

_OURS = "tpucompat.idioms.estimator:"

ROWS: dict[str, Row] = {
    "estimator": Package(_OURS + "api"),
    "python.estimator": Package(_OURS + "source"),
    "python.estimator.keras": Package(_OURS + "keras_lib"),
    "keras.estimator.model_to_estimator": StandIn(_OURS + "model_to_estimator"),
}
