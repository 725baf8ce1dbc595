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
from tpucompat.errors import UnknownModuleError
from tpucompat.legacy import imports


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
        (globals_of("tpucompat.errors", tpucompat.__file__), False),
        (globals_of("numpy.core", "/home/me/packages/numpy/core/__init__.py"), False),  # --target
        (
            globals_of("tensorflow_probability", "/home/me/packages/tensorflow_probability.py"),
            False,
        ),
    ],
)
def test_scope(importer, owned):
    assert imports.Scope().owns(importer) is owned


def test_an_installed_package_may_be_named_as_an_old_one():
    scope = imports.Scope(["pytest"])
    assert scope.owns(globals_of("pytest", pytest.__file__))
    assert scope.owns(globals_of("pytest.inner", pytest.__file__))
    assert not scope.owns(globals_of("os", os.__file__))


def test_an_environment_inside_the_project_is_not_the_script(tmp_path, monkeypatch):
    packages = tmp_path / "venv" / "lib" / "site-packages"
    monkeypatch.setattr(imports.site, "getsitepackages", lambda: [str(packages)], raising=False)
    scope = imports.Scope()
    assert not scope.owns(globals_of("lib", str(packages / "lib" / "__init__.py")))
    assert scope.owns(globals_of("model", str(tmp_path / "model.py")))


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
    monkeypatch.setitem(imports.VIEWS, "test", {"oldpkg": "realpkg"})
    monkeypatch.setitem(imports.ROOTS, "test", types.SimpleNamespace(prefix="realpkg"))
    monkeypatch.setattr(imports.namespaces, "root", lambda namespace: None)
    made = imports.ImportHook("test", imports.Scope())
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
    hook = imports.ImportHook("tf1", imports.Scope())
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
