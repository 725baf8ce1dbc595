"""``tf.contrib.seq2seq`` and ``tf.contrib.legacy_seq2seq``: code of ours."""

from __future__ import annotations

from tpucompat.names.rows import Package, Row, StandIn

_OURS = "tpucompat.contrib.seq2seq"
_LOSSES = "tpucompat.contrib.seq2seq_losses"
_HELPERS = "tpucompat.contrib.seq2seq_helpers"
_MECHANISMS = "tpucompat.contrib.seq2seq_mechanisms"
_ATTENTION = "tpucompat.contrib.seq2seq_attention"
_BEAM = "tpucompat.contrib.seq2seq_beam"
_LEGACY = Package(("tpucompat.contrib.legacy_seq2seq", "tpucompat.contrib.legacy_seq2seq_losses"))

ROWS: dict[str, Row] = {
    "contrib.legacy_seq2seq": _LEGACY,
    "contrib.legacy_seq2seq.python.ops.seq2seq": _LEGACY,
    "contrib.seq2seq": Package((_OURS, _LOSSES, _HELPERS, _MECHANISMS, _ATTENTION, _BEAM)),
    "contrib.seq2seq.python.ops.beam_search_decoder": Package(_BEAM),
    "contrib.seq2seq.sequence_loss": StandIn(_LOSSES + ":sequence_loss"),
    **{
        "contrib.seq2seq." + name: StandIn(_OURS + ":" + name)
        for name in (
            "BasicDecoder",
            "BasicDecoderOutput",
            "Decoder",
            "dynamic_decode",
        )
    },
    **{
        "contrib.seq2seq." + name: StandIn(_HELPERS + ":" + name)
        for name in (
            "CustomHelper",
            "GreedyEmbeddingHelper",
            "Helper",
            "InferenceHelper",
            "SampleEmbeddingHelper",
            "ScheduledEmbeddingTrainingHelper",
            "ScheduledOutputTrainingHelper",
            "TrainingHelper",
        )
    },
    **{
        "contrib.seq2seq." + name: StandIn(_MECHANISMS + ":" + name)
        for name in (
            "AttentionMechanism",
            "BahdanauAttention",
            "BahdanauMonotonicAttention",
            "LuongAttention",
            "LuongMonotonicAttention",
            "monotonic_attention",
            "safe_cumprod",
        )
    },
    **{
        "contrib.seq2seq." + name: StandIn(_ATTENTION + ":" + name)
        for name in (
            "AttentionWrapper",
            "AttentionWrapperState",
            "hardmax",
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
