"""Whole packages of ``tf.contrib`` that are gone, each with its reason and what to use instead.

A row on a package holds for every name in it that has no row of its own.
"""

from __future__ import annotations

from tpucompat.names.rows import Gone, Package, Row

_OURS = "tpucompat.contrib."


def _gone(reason: str, instead: str) -> Gone:
    return Gone("TPU101", reason, instead)


_IO = _gone(
    "It read data with native operations that TensorFlow 2 does not have.",
    "Use the package tensorflow-io, or convert the data to TFRecord files.",
)
_COMPILED = "It was a native tf.contrib operation, which TensorFlow 2 does not have."
_TREES = _gone(
    "TensorFlow 2 has no operations for trees of this kind.",
    "Use the package tensorflow-decision-forests, or xgboost.",
)

_PRUNING = _OURS + "model_pruning"

ROWS: dict[str, Row] = {
    "contrib.bayesflow": _gone(
        "Its Monte Carlo functions moved into tensorflow-probability.",
        "Use tfp.monte_carlo.expectation of the package tensorflow-probability.",
    ),
    "contrib.bigtable": _gone(
        "TensorFlow 2 has no client for Bigtable.",
        "Use tfio.bigtable of the package tensorflow-io, or TFRecord files.",
    ),
    "contrib.boosted_trees": _TREES,
    "contrib.decision_trees": _TREES,
    "contrib.tensor_forest": _TREES,
    "contrib.cmake": _gone(
        "It was part of the TensorFlow build.", "Remove it: no known program used it."
    ),
    "contrib.coder": _gone(_COMPILED, "Use the package tensorflow-compression."),
    "contrib.constrained_optimization": _gone(
        "It moved to a separate package.",
        "Use the package tensorflow-constrained-optimization.",
    ),
    "contrib.copy_graph": _gone(
        "It copied operations with private APIs.",
        "Use tf.train.export_meta_graph and import_meta_graph, or tf.import_graph_def.",
    ),
    "contrib.factorization": _gone(
        "Its solvers were native tf.contrib operations.",
        "Use sklearn.cluster.KMeans and sklearn.mixture.GaussianMixture, or the package implicit for WALS.",
    ),
    "contrib.ffmpeg": _gone(_COMPILED, "Use tfio.audio of the package tensorflow-io, or tf.audio."),
    "contrib.fused_conv": _gone(
        _COMPILED, "Use tf.nn.conv2d, tf.nn.bias_add and the activation; XLA fuses them."
    ),
    "contrib.grid_rnn": _gone(
        "A research cell that no known TPU program uses.", "Use tf.nn.rnn_cell.LSTMCell."
    ),
    "contrib.hadoop": _IO,
    "contrib.ignite": _IO,
    "contrib.kafka": _IO,
    "contrib.kinesis": _IO,
    "contrib.libsvm": _IO,
    "contrib.input_pipeline": _gone(_COMPILED, "Use tf.data."),
    "contrib.integrate": _gone(
        "Its solvers moved into tensorflow-probability.",
        "Use tfp.math.ode.DormandPrince of the package tensorflow-probability.",
    ),
    "contrib.kernel_methods": _gone(
        "It was based on the Estimators of tf.contrib.learn.",
        "Use tf.keras.layers.experimental.RandomFourierFeatures, or scikit-learn.",
    ),
    "contrib.labeled_tensor": _gone(
        "Nothing in TensorFlow followed it.",
        "Use plain tensors, or the package xarray on the host.",
    ),
    "contrib.linear_optimizer": _gone(
        "It was based on the feature columns of tf.contrib.layers.",
        "Use tf.estimator.LinearClassifier, or scikit-learn.",
    ),
    "contrib.memory_stats": _gone(
        _COMPILED, "Use tf.config.experimental.get_memory_info, or the profiler."
    ),
    "contrib.meta_graph_transform": _gone(
        "The graph transforms that it called were removed in TensorFlow 2.",
        ("Use tf.lite.TFLiteConverter, or save the model again with the required signature."),
    ),
    "contrib.mixed_precision": Package(_OURS + "mixed_precision"),
    "contrib.model_pruning": Package(_PRUNING),
    "contrib.model_pruning.python.pruning": Package(_PRUNING + ".pruning"),
    "contrib.model_pruning.python.pruning_utils": Package(_PRUNING + ".masks"),
    "contrib.model_pruning.python.layers.core_layers": Package(
        (_PRUNING + ".layers", _PRUNING + ".masks")
    ),
    "contrib.model_pruning.python.layers.layers": Package(_PRUNING + ".layers"),
    "contrib.nearest_neighbor": _gone(_COMPILED, "Use the package scann."),
    "contrib.periodic_resample": _gone(_COMPILED, "Use tf.nn.depth_to_space."),
    "contrib.quantize": _gone(
        "Quantization by rewriting graphs was removed.",
        "Use the package tensorflow-model-optimization, or post-training quantization of "
        "tf.lite.TFLiteConverter.",
    ),
    "contrib.rate": _gone("Nothing in TensorFlow followed it.", "Use tf.metrics.mean."),
    "contrib.receptive_field": _gone(
        "It moved to a separate package.", "Use the package receptive_field of google-research."
    ),
    "contrib.reduce_slice_ops": _gone(_COMPILED, "Use tf.math.segment_sum and its relatives."),
    "contrib.remote_fused_graph": _gone(_COMPILED, "Use the Hexagon delegate of TensorFlow Lite."),
    "contrib.rpc": _gone(_COMPILED, "Use a gRPC client in a tf.py_func."),
    "contrib.saved_model": Package(_OURS + "saved_model"),
    "contrib.saved_model.python.saved_model.keras_saved_model": Package(_OURS + "saved_model"),
    "contrib.session_bundle": _gone(
        "Session bundles were replaced by SavedModels in TensorFlow 1.0.",
        "Use tf.saved_model.builder.SavedModelBuilder and tf.saved_model.loader.",
    ),
    "contrib.solvers": _gone(
        "Its solvers moved into the core API.",
        "Use tf.linalg.experimental.conjugate_gradient, tf.linalg.lstsq, or tfp.math.",
    ),
    "contrib.specs": _gone("Nothing in TensorFlow followed it.", "Use tf.keras.layers."),
    "contrib.stat_summarizer": _gone(
        "It belonged to a removed tool.", "Use tf.profiler or the TensorBoard profiler."
    ),
    "contrib.tensorrt": _gone(
        "It converted frozen graphs for one kind of GPU.",
        "Use tf.experimental.tensorrt.Converter on a SavedModel.",
    ),
    "contrib.text": _gone(_COMPILED, "Use tf.keras.preprocessing.sequence.skipgrams."),
    "contrib.timeseries": _gone(
        "It was based on the Estimators of tf.contrib.", "Use tfp.sts of tensorflow-probability."
    ),
    # Packages that someone else keeps
    "contrib.gan": Package(_OURS + "gan"),
    "contrib.distributions": Package(("{tf}:distributions", _OURS + "distributions")),
}
