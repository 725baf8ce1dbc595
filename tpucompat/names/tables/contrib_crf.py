"""``tf.contrib.crf``: code of ours."""

from __future__ import annotations

from tpucompat.names.rows import Package, Row, StandIn

_OURS = "tpucompat.contrib.crf"

ROWS: dict[str, Row] = {
    "contrib.crf": Package(_OURS),
    **{
        "contrib.crf." + name: StandIn(_OURS + ":" + name)
        for name in (
            "CrfDecodeBackwardRnnCell",
            "CrfDecodeForwardRnnCell",
            "CrfForwardRnnCell",
            "crf_binary_score",
            "crf_decode",
            "crf_log_likelihood",
            "crf_log_norm",
            "crf_multitag_sequence_score",
            "crf_sequence_score",
            "crf_unary_score",
            "viterbi_decode",
        )
    },
}
