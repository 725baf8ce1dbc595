"""docs/contrib.md and the rows that follow from it; no TensorFlow is started."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tpucompat.names import lookup
from tpucompat.names.rows import Gone
from tpucompat.names.tables import contrib_unused

ROOT = Path(__file__).resolve().parents[2]
COUNTS = json.loads((ROOT / "tools" / "contrib_uses.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location(
        "count_contrib", ROOT / "tools" / "count_contrib.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_gone_as_unused_is_used_by_no_program_for_tpus():
    rows = lookup.table_rows("tf1")
    for name in contrib_unused.ROWS:
        assert isinstance(rows[name], Gone), name
        projects = COUNTS["symbols"].get(name, {})
        assert not any(of_tpus for of_tpus, _ in projects.values()), name
        assert len(projects) <= 2, name


def test_the_page_is_made_from_the_counts_and_the_rows(tool):
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(COUNTS)


def test_contrib_stays_small():
    files = (ROOT / "tpucompat" / "legacy" / "contrib").rglob("*.py")
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 15_000


PROGRAM = """
import tensorflow as tf
from tensorflow.contrib import layers as contrib_layers
slim = tf.contrib.slim
estimator = tf.contrib.tpu.TPUEstimator
contrib_layers.layer_norm(slim.conv2d)
"""


def test_symbols_are_found_behind_other_names(tool):
    assert tool.symbols_of("a.py", PROGRAM.encode()) == {
        "contrib.layers.layer_norm",
        "contrib.slim.conv2d",
        "contrib.tpu.TPUEstimator",
    }
    assert tool.symbols_of("a.py", b"print 'Python 2'") == set()
    assert (
        tool.public_symbol("contrib.data.python.ops.batching.map_and_batch")
        == "contrib.data.map_and_batch"
    )
    assert tool.public_symbol("contrib.layers") is None


def test_a_program_is_what_its_script_imports(tool):
    files = {
        "model/main.py": "1",
        "model/lib/net.py": "2",
        "other/net.py": "3",
        "model/alone.py": "4",
    }
    texts = {"1": b"from lib import net\nTPUEstimator(", "2": b"", "3": b"", "4": b"import lib.net"}
    contents = {blob: (b"TPU" in text, tool.imported(text)) for blob, text in texts.items()}
    assert tool.reached(files, contents) == {"model/main.py", "model/lib/net.py"}
