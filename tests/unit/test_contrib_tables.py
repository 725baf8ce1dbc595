"""The rows of tf.contrib and TensorFlow 1.15's own list of symbols; no TensorFlow is started."""

from __future__ import annotations

import collections

import pytest

from tpucompat.base.codes import CODES
from tpucompat.names import lookup, successors, symbols
from tpucompat.names.rows import Constant, Gone, Moved, Package, StandIn

ROWS = lookup.table_rows("tf1")
CONTRIB = {name: row for name, row in ROWS.items() if name.startswith("contrib.")}


def _packages():
    """The packages of tf.contrib in TensorFlow 1.15."""
    return sorted(
        {name for name in symbols.names() if name.count(".") == 1 and name[:8] == "contrib."}
    )


def test_the_list_has_the_size_of_tensorflow_1():
    kinds = collections.Counter(symbols.kind(name) for name in symbols.names())
    assert len(symbols.names()) > 8500
    assert kinds["function"] > 5000 and kinds["class"] > 1000 and kinds["module"] > 1100
    assert symbols.kind("contrib.data.map_and_batch") == "function"
    assert symbols.kind("contrib.opt.LARSOptimizer") == "class"
    assert symbols.kind("contrib.data.AUTOTUNE") == "value"
    assert symbols.kind("contrib.slim.nets") == "module"
    # A package's function hides the module of the same name.
    assert symbols.kind("contrib.framework.python.ops.arg_scope") == "function"
    assert symbols.kind("contrib.data.never_was") is None


@pytest.mark.parametrize("package", _packages())
def test_every_package_of_contrib_has_a_row(package):
    assert package in ROWS or any(name.startswith(package + ".") for name in ROWS)


@pytest.mark.parametrize(
    "name", sorted(name for name, row in CONTRIB.items() if isinstance(row, Gone))
)
def test_what_is_gone_has_a_code_a_reason_and_an_alternative(name):
    row = CONTRIB[name]
    assert row.code in CODES
    assert row.reason.endswith(".") and len(row.reason) > 20
    assert len(row.instead) > 8


def test_rows_name_symbols_of_tensorflow_1():
    """A row for a name that 1.15 did not have is a slip, but for those of releases before."""
    of_earlier_releases = ("contrib.coder", "contrib.gan", "contrib.lite", "contrib.rate")
    of_earlier_releases += ("contrib.linalg", "contrib.image.adjust_hsv_in_yiq")
    of_earlier_releases += ("contrib.image.random_hsv_in_yiq", "contrib.training.Tuner")
    of_earlier_releases += ("contrib.eager.in_eager_mode", "contrib.data.Dataset")
    of_earlier_releases += ("contrib.data.FixedLengthRecordDataset", "contrib.data.Iterator")
    of_earlier_releases += ("contrib.data.TFRecordDataset", "contrib.data.TextLineDataset")
    unknown = [
        name
        for name, row in CONTRIB.items()
        if symbols.kind(name) is None
        and not name.startswith(of_earlier_releases)
        and not isinstance(row, Package)
        # Other tables: private paths and TPU names of their own.
        and not name.startswith(("contrib.tpu", "contrib.distribute", "contrib.cluster_resolver"))
        and "python" not in name
        and not name.startswith(("contrib.slim.", "contrib.summary.summary.", "contrib.estimator"))
    ]
    assert unknown == []


def test_targets_are_written_as_module_and_attribute():
    for name, row in CONTRIB.items():
        targets = row.targets if isinstance(row, Package) else ()
        targets = (row.target,) if isinstance(row, (Moved, StandIn)) else targets
        for target in targets:
            module, _, attribute = target.partition(":")
            assert module and " " not in target, name
            if isinstance(row, (Moved, StandIn)):
                assert attribute, name
        assert isinstance(row, (Moved, StandIn, Package, Gone, Constant)), name


@pytest.mark.parametrize(
    "name",
    [
        "estimator.add_metrics",  # of tf.estimator itself
        "layers.embed_sequence",
        "model_pruning.Pruning",  # what stands in for the package is a package too
        "model_pruning.masked_conv2d",
        "rnn.LSTMBlockFusedCell",
        "training.bucket_by_sequence_length",
    ],
)
def test_scan_sees_that_run_has_a_name(name):
    assert successors.fate("tensorflow.contrib." + name).covered


@pytest.mark.parametrize(
    ("name", "becomes"),
    [
        ("utils.collect_named_outputs", "tf_slim.layers.utils.collect_named_outputs"),
        ("initializers.xavier_initializer", "tf_slim.layers.initializers.xavier_initializer"),
        ("regularizers.l2_regularizer", "tf_slim.layers.regularizers.l2_regularizer"),
        ("layers.conv2d", "tf_slim.layers.layers.conv2d"),
        ("losses.get_total_loss", "tf_slim.losses.get_total_loss"),
        ("metrics.aggregate_metric_map", "tf_slim.metrics.aggregate_metric_map"),
        ("encoders.bow_encoder", "tpucompat.v1.contrib.slim.encoders.bow_encoder"),
    ],
)
def test_slim_has_the_packages_that_it_imported(name, becomes):
    """TensorFlow's list of public names has none of them, and the networks of slim use them."""
    found = successors.fate("tensorflow.contrib.slim." + name)
    assert (found.becomes, found.code) == (becomes, "TPU207" if "tf_slim" in becomes else "TPU206")
