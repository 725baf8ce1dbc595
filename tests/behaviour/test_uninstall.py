"""``uninstall()`` puts back everything that was replaced in TensorFlow and Keras."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy
import pytest
import tensorflow

import tpucompat

HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENT = dict(os.environ, TF_USE_LEGACY_KERAS="1", TF_CPP_MIN_LOG_LEVEL="3")

pytestmark = pytest.mark.skipif(tensorflow.__version__ < "2.16", reason="imports tf_keras")


def main():
    """Installs, uses the old names, uninstalls and installs again; prints what differed at each point."""
    import tensorflow as tf

    # Loaded before, so that loading them replaces nothing.
    assert tf.keras.Model and tf.compat.v1.keras.Model and tf.compat.v1.layers.Layer
    import test_import_effects

    attributes = test_import_effects._attributes()

    def changed():
        rows = [
            (owner + "." + name, place.get(name), value) for place, owner, name, value in attributes
        ]
        return {name for name, now, value in rows if now is not value}

    def use():
        import tpucompat.v1 as old

        assert old.Session and old.keras.Model
        assert old.contrib.tpu.RunConfig() and old.contrib.slim.conv2d
        found = changed()
        tpucompat.uninstall()
        return found

    tf.compat.v1.disable_v2_behavior()
    by_graph_mode = changed()
    tpucompat.install("tf1")
    first = use()
    left = changed() - by_graph_mode
    tpucompat.install("tf1")
    second = use()
    print(
        json.dumps(
            {
                "attributes": len(attributes),
                "replaced": len(first - by_graph_mode),
                "left": sorted(left),
                "not replaced again": sorted(first - second),
                "left again": sorted(changed() - by_graph_mode),
            }
        )
    )


def test_uninstall_puts_everything_back():
    root = os.path.dirname(os.path.dirname(tpucompat.__file__))
    done = subprocess.run(
        [sys.executable, os.path.abspath(__file__)],
        env=dict(ENVIRONMENT, PYTHONPATH=os.pathsep.join([root, HERE])),
        stdout=subprocess.PIPE,
        check=True,
    )
    found = json.loads(done.stdout.decode().splitlines()[-1])
    assert found["attributes"] > 10000
    assert found["replaced"] > 200
    assert found["left"] == []
    assert found["not replaced again"] == []
    assert found["left again"] == []


def test_doctor_lists_what_is_replaced():
    command = [sys.executable, "-m", "tpucompat", "doctor", "--patches", "--json"]
    done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, check=True)
    rows = json.loads(done.stdout)
    assert all(row["why"] and row["targets"] for row in rows)
    of_tensorflow = re.compile(r"[12]\.\d+( to [12]\.\d+)?")
    assert all(
        of_tensorflow.fullmatch(row["releases"]) or row["releases"].startswith("NumPy ")
        for row in rows
    )
    by_name = {row["name"].rpartition(".")[2]: row for row in rows}
    printed = by_name.get("print_numbers_like_numpy_1")
    if int(numpy.__version__.partition(".")[0]) > 1:
        assert printed is not None
        assert printed["targets"] == ["numpy.set_printoptions.legacy"]
    targets = {target for row in rows for target in row["targets"]}
    assert "tensorflow.python.client.session.BaseSession._extend_graph" in targets
    assert len(rows) > 15


def test_what_somebody_else_has_replaced_stays():
    from tpucompat.tf.private import patches

    class Owner:
        value = 1

    since = patches.mark()
    patches.replace(Owner, "value", 2)
    patches.replace(Owner, "other", 3)
    Owner.value = 4
    patches.undo(since)
    assert Owner.value == 4
    assert not hasattr(Owner, "other")


def test_a_setting_is_put_back():
    from tpucompat.tf.private import patches

    values = ["before"]
    setting = patches.Setting("library.option", lambda: values[-1], values.append)
    since = patches.mark()
    patches.replace(setting, "", "after")
    assert values[-1] == "after"
    (change,) = patches.changes(since)
    assert change.target == "library.option"
    patches.undo(since)
    assert values[-1] == "before"


def test_a_patch_is_applied_once_until_it_is_undone():
    from tpucompat.tf.private import patches

    class Owner:
        calls = 0

    @patches.patch("1.13 to 2.21")
    def count():
        """Counts."""
        patches.replace(Owner, "calls", Owner.calls + 1)

    since = patches.mark()
    count()
    count()
    assert Owner.calls == 1
    (change,) = patches.changes(since)
    assert (change.patch.why, change.target.endswith("Owner.calls")) == ("Counts.", True)
    patches.undo(since)
    assert Owner.calls == 0
    count()
    assert Owner.calls == 1
    patches.undo(since)


if __name__ == "__main__":
    main()
