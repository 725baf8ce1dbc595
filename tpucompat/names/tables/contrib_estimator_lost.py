"""What ``tf.contrib.estimator`` had in TensorFlow 1.13 and 1.15 has in ``tf.estimator.experimental`` alone."""

from __future__ import annotations

from tpucompat.names.rows import Moved, Row

# Beside a real TensorFlow 1.14 or 1.15 too: scripts of 1.13 find them there.
ON_TENSORFLOW_1 = True

_NAMES = (
    "build_raw_supervised_input_receiver_fn",
    "call_logit_fn",
    "dnn_logit_fn_builder",
    "linear_logit_fn_builder",
    "make_early_stopping_hook",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
)

ROWS: dict[str, Row] = {
    "contrib.estimator." + name: Moved(
        "tpucompat.idioms.estimator:api.experimental." + name, since="1.14"
    )
    for name in _NAMES
}
