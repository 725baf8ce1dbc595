"""``tf.contrib.seq2seq``: code of ours."""

from __future__ import annotations

from tpucompat.names.rows import Package, Row, StandIn

_OURS = "tpucompat.contrib.seq2seq"
_ATTENTION = "tpucompat.contrib.seq2seq_attention"
_BEAM = "tpucompat.contrib.seq2seq_beam"

ROWS: dict[str, Row] = {
    "contrib.seq2seq": Package((_OURS, _ATTENTION, _BEAM)),
    "contrib.seq2seq.python.ops.beam_search_decoder": Package(_BEAM),
    **{
        "contrib.seq2seq." + name: StandIn(_OURS + ":" + name)
        for name in (
            "BasicDecoder",
            "BasicDecoderOutput",
            "CustomHelper",
            "Decoder",
            "GreedyEmbeddingHelper",
            "Helper",
            "InferenceHelper",
            "SampleEmbeddingHelper",
            "ScheduledEmbeddingTrainingHelper",
            "ScheduledOutputTrainingHelper",
            "TrainingHelper",
            "dynamic_decode",
            "sequence_loss",
        )
    },
    **{
        "contrib.seq2seq." + name: StandIn(_ATTENTION + ":" + name)
        for name in (
            "AttentionMechanism",
            "AttentionWrapper",
            "AttentionWrapperState",
            "BahdanauAttention",
            "BahdanauMonotonicAttention",
            "LuongAttention",
            "LuongMonotonicAttention",
            "hardmax",
            "monotonic_attention",
            "safe_cumprod",
        )
    },
    **{
        "contrib.seq2seq." + name: StandIn(_BEAM + ":" + name)
        for name in (
            "BeamSearchDecoder",
            "BeamSearchDecoderOutput",
            "BeamSearchDecoderState",
            "FinalBeamSearchDecoderOutput",
            "gather_tree",
            "tile_batch",
        )
    },
}
