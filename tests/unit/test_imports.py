"""Which modules see the old namespace; no TensorFlow is started."""

import _thread
import builtins
import ctypes
import importlib
import os
import sys
import time
import types

import pytest

import tpucompat
from tpucompat.base import journal
from tpucompat.base.errors import UnknownModuleError
from tpucompat.names import scope as scopes
from tpucompat.runtime import imports
from tpucompat.tf import patches


def globals_of(name, file=None):
    return {"__name__": name, "__file__": file} if file else {"__name__": name}


@pytest.mark.parametrize(
    "importer, owned",
    [
        (globals_of("__main__", "/home/me/train.py"), True),
        (globals_of("models.resnet", "/home/me/models/resnet.py"), True),
        (globals_of("__main__"), True),  # a notebook cell
        (globals_of("generated"), False),
        ({}, False),
        (globals_of("os", os.__file__), False),
        (globals_of("pytest", pytest.__file__), False),
        (globals_of("tpucompat.base.errors", tpucompat.__file__), False),
        (globals_of("numpy.core", "/home/me/packages/numpy/core/__init__.py"), False),  # --target
        (
            globals_of("tensorflow_probability", "/home/me/packages/tensorflow_probability.py"),
            False,
        ),
    ],
)
def test_scope(importer, owned):
    assert scopes.Scope().owns(importer) is owned


def test_an_installed_package_may_be_named_as_an_old_one():
    scope = scopes.Scope(["pytest"])
    assert scope.owns(globals_of("pytest", pytest.__file__))
    assert scope.owns(globals_of("pytest.inner", pytest.__file__))
    assert not scope.owns(globals_of("os", os.__file__))


def test_an_environment_inside_the_project_is_not_the_script(tmp_path, monkeypatch):
    packages = tmp_path / "venv" / "lib" / "site-packages"
    monkeypatch.setattr(scopes.site, "getsitepackages", lambda: [str(packages)], raising=False)
    scope = scopes.Scope()
    assert not scope.owns(globals_of("lib", str(packages / "lib" / "__init__.py")))
    assert scope.owns(globals_of("model", str(tmp_path / "model.py")))


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_a_package_of_another_environment_is_not_the_script(tmp_path, folder):
    """One that a .pth file or PYTHONPATH adds."""
    packages = tmp_path / "other" / "lib" / folder
    assert not scopes.Scope().owns(globals_of("lib", str(packages / "lib" / "__init__.py")))
    assert scopes.Scope(["lib"]).owns(globals_of("lib", str(packages / "lib" / "__init__.py")))


def installed_package(folder, name, **modules):
    """Files of a package as pip would have left them; returns the globals of each module."""
    package = folder / name
    package.mkdir(parents=True)
    found = {}
    for module, text in {"__init__": "", **modules}.items():
        file = package / f"{module}.py"
        file.write_text(text)
        inner = "" if module == "__init__" else f".{module}"
        found[module] = globals_of(name + inner, str(file))
    return found


@pytest.fixture
def site_packages(tmp_path, monkeypatch):
    folder = tmp_path / "lib" / "site-packages"
    monkeypatch.setattr(scopes.site, "getsitepackages", lambda: [str(folder)], raising=False)
    return folder


@pytest.mark.parametrize(
    "text, old",
    [
        ("import tensorflow as tf\nrnn = tf.contrib.rnn\n", True),
        ("from tensorflow.contrib import layers\n", True),
        ("from tensorflow import contrib\n", True),
        ("import tensorflow.contrib.slim as slim\n", True),
        ("import tensorflow as tf\n# once tf.contrib.rnn\n", False),
        ("'Was tf.contrib.rnn.'\nfrom sentry_sdk.contrib import x\n", False),
        ("from .contrib import layers\n", False),
        ("import tensorflow as tf\nif hasattr(tf, 'contrib'):\n    rnn = tf.contrib.rnn\n", False),
        ("import tensorflow.compat.v1 as tf\nrnn = tf.contrib.rnn\n", False),
        ("print 'tf.contrib'\n", False),
    ],
)
def test_an_old_package_is_told_by_its_code(site_packages, text, old):
    modules = installed_package(site_packages, "written_then", use=text, other="import numpy\n")
    (site_packages / "written_then" / "lost.py").symlink_to("nowhere.py")
    journal.reset()
    scope = scopes.Scope()
    assert not scope.owns(modules["other"])
    assert not scope.adopts(modules["use"], "tf2")  # whose namespace has no tf.contrib
    assert scope.adopts(modules["other"]) is old
    assert [scope.owns(modules[each]) for each in modules] == [old] * 3
    told = [text for code, text in journal.notices() if code == "TPU427"]
    assert told == (
        ["written_then is written for an earlier TensorFlow, and sees its names"] if old else []
    )


GONE = "import tensorflow.compat.v1 as tf\nclass Hook(tf.estimator.SessionRunHook): pass\n"
PARTS = {"inner": GONE, "use": "import tensorflow as tf\n"}
_EITHER = "import os\nif os.environ.get('TF_KERAS'):\n    "
_OR = "\nelse:\n    import keras as k\n"


@pytest.mark.parametrize(
    "modules, old",
    [
        ({"__init__": GONE}, True),
        ({"__init__": "from . import inner\n", **PARTS}, True),
        ({"__init__": "from written_then.inner import Hook\n", **PARTS}, True),
        ({"__init__": "import written_then.inner\n", **PARTS}, True),
        ({"__init__": "from keras.engine import Layer\n"}, True),
        ({"__init__": "import keras\nclass A(keras.engine.Layer): pass\n"}, True),
        ({"use": "A = 1\ndef _set_hyper(): pass\ndef _resource_apply_dense(): pass\n"}, True),
        # It is imported by nobody, in a function alone, or where its lack is foreseen.
        ({"__init__": "", **PARTS}, False),
        ({"__init__": "def later():\n    from . import inner\n", **PARTS}, False),
        (
            {
                "__init__": f"try:\n    {GONE.replace(chr(10), chr(10) + '    ')}pass\n"
                "except AttributeError:\n    pass\n"
            },
            False,
        ),
        (
            {
                "__init__": "import tensorflow as tf\ndef late():\n    return tf.estimator.Estimator\n"
            },
            False,
        ),
        ({"__init__": "from keras.layers import Dense\n"}, False),
        (
            {
                "use": "# optimizers.legacy\ndef _set_hyper(): pass\ndef _resource_apply_dense(): pass\n"
            },
            False,
        ),
        # Which Keras it is, an `if` decides; none of them has the module.
        ({"use": f"{_EITHER}import tensorflow as tf\n    k = tf.keras{_OR}w = k.wrappers"}, True),
        (
            {"use": f"{_EITHER}from tensorflow.python import keras as k{_OR}a = k.applications"},
            True,
        ),
        ({"use": f"{_EITHER}from tensorflow.python import keras as k{_OR}a = k.layers"}, False),
        ({"use": f"{_EITHER}import tensorflow as tf\n    k = tf.keras{_OR}w = k.layers"}, False),
    ],
)
def test_an_old_package_is_told_by_what_it_uses_on_import(site_packages, monkeypatch, modules, old):
    monkeypatch.setattr(
        scopes.old_packages,
        "_has_folder",
        lambda root, *parts: not {"estimator", "engine", "wrappers", "applications"} & {*parts},
    )
    scopes.old_packages._is_gone.cache_clear()
    scopes.old_packages.is_old.cache_clear()
    found = installed_package(site_packages, "written_then", **{"use": "", **modules})
    assert scopes.Scope().adopts(found["use"]) is old
    assert scopes.Scope().adopts(found["use"], "tf2") is old
    scopes.old_packages._is_gone.cache_clear()


def test_files_tell_what_tensorflow_has(tmp_path, monkeypatch):
    has = scopes.old_packages._has_folder
    for package in ("tensorflow", "keras"):
        (tmp_path / package / "_api" / "v2" / "nn").mkdir(parents=True)
        (tmp_path / package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    assert has("tensorflow", "_api", "v2", "nn") and not has(
        "tensorflow", "_api", "v2", "estimator"
    )
    assert not has("keras", "engine") and has("no_such_package", "engine")


def test_a_large_package_is_not_read_to_its_end(site_packages, monkeypatch):
    monkeypatch.setattr(scopes.old_packages, "_FILES", 2)
    modules = installed_package(site_packages, "large", a="", b="", use="tf.contrib.rnn\n")
    assert not scopes.Scope().adopts(modules["use"])


def test_tensorflow_s_own_packages_are_never_old(site_packages):
    text = "import tensorflow as tf\ntf.contrib.rnn\n"
    for name in ("tensorflow", "tf_slim", "keras", "numpy"):
        modules = installed_package(site_packages, name, use=text)
        assert not scopes.Scope().adopts(modules["use"])


@pytest.mark.skipif(
    sys.version_info < (3, 8), reason="the TensorFlow there goes with such releases"
)
@pytest.mark.parametrize(
    "name, release, old",
    [
        ("tensorflow_hub", "0.7.0", True),
        ("tensorflow_hub", "0.16.1", False),
        ("tensorflow_datasets", "1.0.1", True),
        ("tensorflow_datasets", "4.9.3", False),
        ("tensorflow_datasets", "odd", False),
        ("tensorflow_probability", "0.8.0", True),
        ("tensorflow_probability", "0.25.0", False),
    ],
)
def test_an_old_package_is_told_by_its_release(site_packages, monkeypatch, name, release, old):
    from importlib import metadata

    monkeypatch.setattr(metadata, "version", lambda distribution: release)
    modules = installed_package(site_packages, name, use="import tensorflow\n")
    assert scopes.Scope().adopts(modules["use"]) is old


@pytest.mark.parametrize("era", ["tf1", "tf2"])
def test_an_old_package_gets_what_it_imported_before(hook, site_packages, monkeypatch, era):
    """The made-up view stands for TensorFlow's."""
    installed_package(
        site_packages,
        "written_then",
        __init__="import numpy\nfrom written_then import use\nbefore = numpy.float\n",
        use="import oldpkg\ndef f():\n    import tensorflow as tf\n    return tf.contrib\n"
        "def _set_hyper(): pass\ndef _resource_apply_dense(): pass\n",
    )
    monkeypatch.syspath_prepend(str(site_packages))
    monkeypatch.setattr(hook, "era", era)
    try:
        package = importlib.import_module("written_then")
        assert package.use.oldpkg.name == "real"
        assert package.before is float
    finally:
        for name in ("written_then", "written_then.use"):
            sys.modules.pop(name, None)


@pytest.fixture
def hook(monkeypatch):
    """A hook over a made-up view: ``oldpkg`` is answered by ``realpkg``."""
    real = types.ModuleType("realpkg")
    real.__path__ = []
    real.name = "real"
    sub = types.ModuleType("realpkg.sub")
    real.sub = sub
    monkeypatch.setitem(sys.modules, "realpkg", real)
    monkeypatch.setitem(sys.modules, "realpkg.sub", sub)
    monkeypatch.setitem(scopes.VIEWS, "test", {"oldpkg": "realpkg"})
    monkeypatch.setitem(imports.ROOTS, "test", types.SimpleNamespace(prefix="realpkg"))
    monkeypatch.setattr(imports.namespaces, "root", lambda namespace: None)
    made = imports.ImportHook("test", scopes.Scope())
    before = builtins.__import__, importlib.import_module
    made.install()
    yield made
    made.uninstall()
    assert (builtins.__import__, importlib.import_module) == before


OWN = {"__name__": "__main__", "__file__": "/home/me/train.py"}


def run(code, **names):
    scope = dict(OWN, **names)
    exec(code, scope)
    return scope


def test_every_import_form_reaches_the_view(hook):
    scope = run(
        "import oldpkg as a\n"
        "import oldpkg.sub as b\n"
        "import oldpkg.sub\n"
        "from oldpkg import sub as c, name\n"
        "import importlib\n"
        "d = importlib.import_module('oldpkg.sub')\n"
        "e = __import__('oldpkg')\n"
    )
    real = sys.modules["realpkg"]
    assert scope["a"] is scope["oldpkg"] is scope["e"] is real
    assert scope["b"] is scope["c"] is scope["d"] is real.sub
    assert scope["name"] == "real"


def test_a_module_is_given_the_names_of_python_2_that_it_uses(hook):
    scope = run(
        "import oldpkg\n"
        "def kind(x):\n"
        "    return [isinstance(x, (int, long)), cmp(x, 2), list(xrange(2)), x.unicode]\n"
        "basestring = 'own'\n"
        "class Number(int):\n"
        "    unicode = 3\n"
        "result = kind(Number(3))\n"
    )
    assert scope["result"] == [True, 1, [0, 1], 3]
    assert scope["basestring"] == "own"
    assert "unicode" not in scope and "reduce" not in scope
    assert not hasattr(builtins, "long")


def test_a_reloaded_sys_has_the_encoding_of_python_2(hook):
    before = patches.mark()
    run("import sys\nimport oldpkg\nreload(sys)\nsys.setdefaultencoding('utf8')\n")
    assert sys.getdefaultencoding() == "utf-8"
    patches.undo(before)
    assert not hasattr(sys, "setdefaultencoding")


def test_dictionaries_have_the_methods_of_python_2_for_a_module_that_uses_them(hook):
    scope = run(
        "import collections\n"
        "import oldpkg\n"
        "def of(d):\n"
        "    return [next(d.iteritems()), list(d.iterkeys()), sum(d.itervalues()), d.has_key(1),\n"
        "            len(d.viewitems()), d.viewkeys() & {1}, list(d.viewvalues())]\n"
        "result = [of({1: 2}), of(collections.OrderedDict([(1, 2)]))]\n"
    )
    assert scope["result"] == [[(1, 2), [1], 2, True, 1, {1}, [2]]] * 2
    library = {"__name__": "lib", "__file__": os.__file__}
    exec("found = hasattr({}, 'iteritems')", library)
    assert not library["found"]
    hook.uninstall()
    assert "iteritems" not in vars(dict)
    hook.install()


def test_a_module_that_asks_for_python_2_gets_the_true_answer(hook):
    scope = run(
        "import oldpkg\ntry:\n    unicode\n    result = 2\nexcept NameError:\n    result = 3\n"
    )
    assert scope["result"] == 3


def test_installed_code_sees_python_s_own(hook):
    with pytest.raises(ModuleNotFoundError, match="oldpkg"):
        exec("import oldpkg", {"__name__": "lib", "__file__": os.__file__})


def test_the_table_of_modules_is_the_script_s_own_below_the_roots(hook, monkeypatch):
    theirs = types.ModuleType("oldpkg")
    monkeypatch.setitem(sys.modules, "oldpkg", theirs)  # keras, which TensorFlow imports up to 2.15
    monkeypatch.setitem(sys.modules, "mine", None)
    monkeypatch.setattr(sys, "tracebacklimit", 9, raising=False)
    found = run(
        """
import importlib
import sys
from sys import modules
import oldpkg.sub
before = modules["oldpkg"], sys.modules.get("oldpkg.sub"), [n for n in modules if n.startswith("oldpkg")]
for name in list(modules):
    if name.split(".")[0] == "oldpkg":
        del sys.modules[name]
after = modules.get("oldpkg"), "oldpkg.sub" in list(modules)
import oldpkg as again
back = modules["oldpkg"]
put = type(sys)("put")
sys.modules["oldpkg"] = put
put.sub = "a part of what was put"
import oldpkg as third
from oldpkg import sub
inner = importlib.import_module("oldpkg.sub")
sys.modules["mine"] = put
import mine
sys.tracebacklimit = 7
copied = modules.copy()
"""
    )
    real = sys.modules["realpkg"]
    assert found["before"] == (real, real.sub, ["oldpkg", "oldpkg.sub"])
    assert found["after"] == (None, False)
    assert found["back"] is found["again"] is real
    assert found["third"] is found["put"]
    assert found["sub"] == found["inner"] == found["put"].sub
    assert found["mine"] is sys.modules["mine"] is found["put"]
    assert sys.modules["oldpkg"] is theirs
    assert sys.tracebacklimit == 7 and found["sys"].path is sys.path
    assert found["copied"]["oldpkg"] is found["put"]
    assert len(found["modules"]) == len(found["copied"])
    with pytest.raises(KeyError):
        found["modules"]["oldpkg.nothing"]
    with pytest.raises(KeyError):
        del found["modules"]["oldpkg.nothing"]


def test_a_module_that_never_asks_for_modules_gets_python_s_own_sys(hook):
    assert run("import sys")["sys"] is sys
    text = "def look():\n    import sys\n    return sys.modules\nmodules = look()"
    assert run(text)["modules"] is not sys.modules


def test_a_missing_module_is_an_import_error_with_a_code(hook):
    with pytest.raises(UnknownModuleError, match="TPU102 No module named 'oldpkg.none'") as caught:
        run("import oldpkg.none")
    assert isinstance(caught.value, ModuleNotFoundError)
    assert caught.value.name == "oldpkg.none"


def test_a_guard_may_name_python_s_own_error(hook):
    scope = run(
        "try:\n    from oldpkg.none import core\nexcept ModuleNotFoundError:\n    result = 'guarded'\n"
    )
    assert scope["result"] == "guarded"


def test_other_imports_are_untouched(hook):
    assert run("import json.decoder as j")["j"].__name__ == "json.decoder"
    assert run("import os")["os"] is os


def test_uninstall_leaves_a_later_wrapper_alone(monkeypatch):
    monkeypatch.setattr(imports.namespaces, "root", lambda namespace: None)
    hook = imports.ImportHook("tf1", scopes.Scope())
    original = builtins.__import__
    # Before the hook: what monkeypatch puts back at the end is what it found here.
    monkeypatch.setattr(builtins, "__import__", original)
    monkeypatch.setattr(importlib, "import_module", importlib.import_module)
    hook.install()
    wrapper = lambda *args, **kwargs: original(*args, **kwargs)
    builtins.__import__ = wrapper
    hook.uninstall()
    assert builtins.__import__ is wrapper


def test_native_code_imports_in_a_thread_without_frames(hook, monkeypatch):
    """TensorFlow's threads do; the importer's frame is then missing."""
    failures = []
    monkeypatch.setattr(sys, "unraisablehook", failures.append, raising=False)  # Python 3.8
    monkeypatch.delitem(sys.modules, "fractions", raising=False)
    native_import = ctypes.pythonapi.PyImport_Import
    native_import.argtypes, native_import.restype = [ctypes.py_object], ctypes.py_object
    _thread.start_new_thread(native_import, ("fractions",))
    end = time.time() + 5
    while "fractions" not in sys.modules and not failures and time.time() < end:
        time.sleep(0.01)
    assert failures == []
    assert "fractions" in sys.modules
