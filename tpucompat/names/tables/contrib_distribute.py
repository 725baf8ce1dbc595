"""``tf.contrib.distribute``, and the TPU strategy of TensorFlow 1.15's ``tf.distribute``."""

from __future__ import annotations

from tpucompat.names.rows import Row, StandIn

# The stand-ins hold beside a real TensorFlow 1.x too: its own classes dial a TPU.
ON_TENSORFLOW_1 = True

_OURS = "tpucompat.idioms.startup.distribute:"

ROWS: dict[str, Row] = {
    "contrib.distribute.TPUStrategy": StandIn(_OURS + "TPUStrategy"),
    "contrib.distribute.initialize_tpu_system": StandIn(_OURS + "initialize_tpu_system"),
    "contrib.distribute.python.tpu_strategy.TPUStrategy": StandIn(_OURS + "TPUStrategy"),
    "distribute.experimental.TPUStrategy": StandIn(_OURS + "TPUStrategy"),
    "distribute.MirroredStrategy": StandIn(_OURS + "PlainMirroredStrategy"),
}
