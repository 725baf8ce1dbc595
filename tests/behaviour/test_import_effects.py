"""No module changes the process when it is imported, and each can be imported alone."""

from __future__ import annotations

import builtins
import gc
import importlib
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import types
import warnings

import pytest

import tpucompat

#: What users import for its effect, and what runs at once.
EXEMPT = ("tpucompat.v1", "tpucompat.__main__", "tpucompat.commands.migrate.written.")
#: The packages whose attributes count.
PATCHED = ("tensorflow", "tf_keras", "keras", "tensorflow_estimator", "numpy", "tf_slim")


#: Needs an extra that is not installed everywhere.
NEEDS = {"tpucompat.runtime.notebooks.client": "nbclient"}


def _modules():
    folder = pathlib.Path(tpucompat.__file__).parent
    names = {
        ".".join(path.relative_to(folder.parent).with_suffix("").parts)
        for path in folder.rglob("*.py")
    }
    names = {re.sub(r"\.__init__$", "", name) for name in names}
    missing = {name for name, needed in NEEDS.items() if importlib.util.find_spec(needed) is None}
    return sorted(name for name in names - missing if not name.startswith(EXEMPT))


def _attributes():
    """Every attribute of the packages' modules and classes: (its owner's __dict__, owner, name, value)."""
    rows, seen = [], set()
    for name, module in list(sys.modules.items()):
        if module is None or name.partition(".")[0] not in PATCHED:
            continue
        owners = [(name, module)]
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__.partition(".")[0] in PATCHED:
                owners.append((value.__module__ + "." + value.__qualname__, value))
        for owner_name, owner in owners:
            if id(owner) in seen:
                continue
            seen.add(id(owner))
            rows += [
                (vars(owner), owner_name, key, value)
                for key, value in list(vars(owner).items())
                if isinstance(
                    value, (type, types.FunctionType, property, staticmethod, classmethod)
                )
            ]
    return rows


def _process():
    import tensorflow as tf

    return {
        "eager": tf.executing_eagerly(),
        "resource variables": tf.compat.v1.resource_variables_enabled(),
        # OpenMP's settings are scikit-learn's doing, up to 1.0.
        "environment": {key: one for key, one in os.environ.items() if key[:4] != "KMP_"},
        "import": builtins.__import__,
        "finders": list(sys.meta_path),
        "warnings": list(warnings.filters),
        "hooks": (sys.excepthook, sys.displayhook),
    }


def _effects(modules, before, attributes):
    """What importing modules changes."""
    import tensorflow as tf

    if "contrib" in modules:
        # tf.compat.v1.layers, whose classes others derive from, is that of tf-keras from 2.16 on.
        os.environ["TF_USE_LEGACY_KERAS"] = "1"
        before = dict(before, environment=_process()["environment"])
    for module in modules.split("+"):
        importlib.import_module(module)
    after = _process()
    changed = [
        f"{key}: {before[key]!r} -> {after[key]!r}" for key in before if before[key] != after[key]
    ]
    changed += [
        f"{owner}.{name}"
        for place, owner, name, value in attributes
        if place.get(name) is not value
    ]
    if not tf.executing_eagerly() or tf.compat.v1.get_default_graph().get_operations():
        changed.append("the default graph")
    return changed


def main():
    """Forks a process for each argument, MODULE or MODULE+MODULE..., and prints what importing it changed."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow  # noqa: F401

    gc.freeze()  # what a child collects it would copy
    before, attributes = _process(), _attributes()
    results = {}
    for module in sys.argv[1:]:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            try:
                found = _effects(module, before, attributes)
            except BaseException as error:
                found = [f"{type(error).__name__}: {error}"]
            os.write(writer, json.dumps(found)[:60000].encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            text = stream.read()
        os.waitpid(child, 0)
        results[module] = json.loads(text) if text else ["it ended the process"]
    print(json.dumps({"attributes": len(attributes), "results": results}))


def _found(*arguments):
    command = [sys.executable, os.path.abspath(__file__), *arguments]
    root = os.path.dirname(os.path.dirname(tpucompat.__file__))
    environment = {key: value for key, value in os.environ.items() if key != "TF_USE_LEGACY_KERAS"}
    environment["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [os.environ.get("CHANGES")])])
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout.decode().splitlines()[-1])
    assert found["attributes"] > 10000
    return {name: changed[:5] for name, changed in found["results"].items() if changed}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_importing_all_modules_changes_nothing():
    assert len(_modules()) > 300
    assert not _found("+".join(_modules()))


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_each_module_can_be_imported_alone_and_changes_nothing():
    assert not _found(*_modules())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_change_is_seen(tmp_path, monkeypatch):
    (tmp_path / "changes.py").write_text(
        "import os\nimport tensorflow as tf\nos.environ['CHANGED'] = '1'\n"
        "tf.compat.v1.disable_eager_execution()\ntf.Module.name = property(lambda self: '')\n"
    )
    monkeypatch.setenv("CHANGES", str(tmp_path))
    (changed,) = _found("changes").values()
    assert [each.partition(":")[0] for each in changed[:2]] == ["eager", "environment"]
    assert any(each.endswith("Module.name") for each in changed)


def test_a_library_may_touch_keras_between_the_import_of_v1_and_its_use():
    script = (
        "import tpucompat.v1 as tf\nimport tensorflow\ntensorflow.keras.Model\n"
        "from tpucompat.v1.contrib.layers import l2_regularizer\n"
        "print(tf.Session().run(l2_regularizer(1.0)(tf.ones(2))))\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "TF_USE_LEGACY_KERAS"}
    environment["PYTHONPATH"] = os.path.dirname(os.path.dirname(tpucompat.__file__))
    done = subprocess.run([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout.decode().strip()) == (0, "1.0")


if __name__ == "__main__":
    main()
