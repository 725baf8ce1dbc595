"""``uninstall()`` puts back everything that was replaced in TensorFlow and Keras."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy
import pytest
import tensorflow

import tpucompat
from tpucompat.tf import patches
from tpucompat.tf.patches import row as row_lib
from tpucompat.tf.patches import rows

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
    found = {row["make"]: row["replaced"] for row in json.loads(done.stdout)}
    assert list(found) == [row.make for row in rows.ROWS]
    printed = found["tpucompat.standins.numpy_names:print_numbers_like_numpy_1"]
    if int(numpy.__version__.partition(".")[0]) > 1:
        assert printed == ["numpy.set_printoptions.legacy"]
    assert found["tpucompat.engines.local_devices:watch"] == [
        "tensorflow.python.client.session.BaseSession._extend_graph"
    ]
    assert sum(map(bool, found.values())) > 15


def test_what_somebody_else_has_replaced_stays():
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
    values = ["before"]
    setting = patches.Setting("library.option", lambda: values[-1], values.append)
    since = patches.mark()
    patches.replace(setting, "", "after")
    assert values[-1] == "after"
    (change,) = patches.changes(since)
    assert change.target == "library.option"
    patches.undo(since)
    assert values[-1] == "before"


def test_a_patch_is_applied_once_until_it_is_undone(monkeypatch):
    class Owner:
        calls = 0

    def count():
        patches.replace(Owner, "calls", Owner.calls + 1)

    row = row_lib.Patch(
        f"{__name__}:count", row_lib.ON_DEMAND, row_lib.ALL, ("*.calls",), "Counts."
    )
    monkeypatch.setitem(patches._BY_MAKER, row.make, row)
    once = patches.patch(count)
    since = patches.mark()
    once()
    once()
    assert Owner.calls == 1
    (change,) = patches.changes(since)
    assert (change.patch, change.target.endswith("Owner.calls")) == (row, True)
    patches.undo(since)
    assert Owner.calls == 0
    once()
    assert Owner.calls == 1
    patches.take_back(patches.entries(since))
    assert Owner.calls == 0 and patches.mark() == since


def test_a_patch_is_applied_in_its_releases_alone(monkeypatch):
    row = row_lib.Patch(f"{__name__}:never", row_lib.ON_DEMAND, ">=99", (), "")
    monkeypatch.setitem(patches._BY_MAKER, row.make, row)

    def never():
        raise AssertionError("applied")

    assert patches.patch(never)() is None
    with pytest.raises(KeyError):
        patches.patch(main)


def test_classes_written_in_c_and_dictionaries_are_put_back():
    names = {}
    since = patches.mark()
    patches.replace(numpy.ndarray, "tpucompat", 1)
    patches.replace(names, "name", 1)
    assert numpy.ones(1).tpucompat == names["name"] == 1
    patches.undo(since)
    assert not hasattr(numpy.ones(1), "tpucompat")
    assert names == {}


if __name__ == "__main__":
    main()
