"""TensorFlow's API spelled as later releases spell it: ``tf.compat.v1`` is the old namespace itself.

Programs of 2019 and 2020 say ``import tensorflow.compat.v2 as tf`` and use Estimators by it. TensorFlow 1.15
had them there, and ``tf.compat.v1`` below; TensorFlow 2.16 lost both with ``tf.estimator``.
"""

from __future__ import annotations

from tpucompat.names.rows import Moved, Package, Row, StandIn
from tpucompat.names.tables import cluster

ON_TENSORFLOW_1 = True

_ESTIMATOR = "tpucompat.idioms.estimator:"
#: What starts a TPU up is ours there too.
_START_UP = ("config.", "distribute.", "tpu.")

ROWS: dict[str, Row] = {
    "compat.v1": Moved("tpucompat.v1"),
    "compat.v2": Package("tensorflow.compat.v2"),
    "compat.v2.compat.v1": Moved("tpucompat.v1"),
    "compat.v2.compat.v2": Moved("{own}.compat.v2"),
    "compat.v2.estimator": Package(_ESTIMATOR + "api_v2"),
    "compat.v2.keras.estimator.model_to_estimator": StandIn(_ESTIMATOR + "model_to_estimator"),
    **{
        "compat.v2." + name: row for name, row in cluster.ROWS.items() if name.startswith(_START_UP)
    },
}
