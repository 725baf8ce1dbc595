"""Shows the old namespace to a script and its own modules, and to nobody else.

``builtins.__import__`` is the one function through which every ``import`` statement goes, and it is told the
importing module's globals. The hook here looks at them: code of the user's gets ``tensorflow`` and ``keras``
from the old namespace, installed code gets Python's own import. ``importlib.import_module`` has one of
its own, which the hook wraps likewise. ``sys.modules`` keeps the real TensorFlow; the script's own modules
have a table of their own for what lies below it (:mod:`tpucompat.runtime.script_modules`).
"""

from __future__ import annotations

import builtins
import importlib
import sys
import types
from typing import Any, Callable, Mapping, Sequence

from tpucompat.base.errors import MissingModuleError, UnknownModuleError
from tpucompat.names import scope as scopes
from tpucompat.names import surroundings as table
from tpucompat.runtime import legacy_modules, script_code, script_modules, surroundings
from tpucompat.runtime import namespace as namespaces
from tpucompat.standins import python2_names
from tpucompat.tf import patches

ROOTS = {"tf1": namespaces.V1, "tf2": namespaces.V2}


# Libraries that TensorFlow has left behind -> the module of ours that puts them right when it is imported. Such
# a module enters the world of graphs, which no script of TensorFlow 2 is to be brought into.
_MENDED: Mapping[str, Mapping[str, str]] = {"tf1": {"tf_slim": "tpucompat.contrib.slim"}}


class ImportHook:
    """Replaces ``builtins.__import__`` and ``importlib.import_module`` while installed.

    Args:
      era: "tf1" or "tf2": which view of TensorFlow the script's modules see.
      scope: Which modules those are.
    """

    def __init__(self, era: str, scope: scopes.Scope) -> None:
        self.era = era
        self._scope = scope
        self._view = scopes.VIEWS[era]
        self._mended = _MENDED.get(era, {})
        self._import: Callable[..., Any] = builtins.__import__
        self._import_module: Callable[..., Any] = importlib.import_module
        self._surroundings = surroundings.Surroundings(self._import_module, scope.owns)
        self._finder = script_code.Finder(scope.owns)
        self._modules = script_modules.Modules(self._view)
        self._system = script_modules.System(self._modules)
        # One look-up in one dictionary decides for most imports that nothing has to be done.
        self._roots = {
            **dict.fromkeys([*self._view, *self._mended], True),
            **table.ROOTS,
            "sys": False,
        }

    def install(self) -> None:
        """Puts the hook in; the namespace's root exists from here on."""
        self._patches = patches.mark()
        namespaces.root(ROOTS[self.era])
        self._import, self._import_module = builtins.__import__, importlib.import_module
        hook = self

        def __import__(
            name: str,
            globals: Mapping[str, Any] | None = None,
            locals: Mapping[str, Any] | None = None,
            fromlist: Sequence[str] | None = (),
            level: int = 0,
        ) -> Any:
            if level == 0 and name.partition(".")[0] in hook._roots:
                frame = _caller(2)
                importer = globals if globals is not None or frame is None else frame.f_globals
                if frame is not None and hook._serves(importer or {}, name):
                    if python2_names.give(frame):
                        hook._surroundings.module("builtins")
                    if hook._answers(name, fromlist or (), frame):
                        hook._note(name, importer or {})
                        return hook._legacy_import(name, fromlist or ())
            return hook._import(name, globals, locals, fromlist, level)

        def import_module(name: str, package: str | None = None) -> Any:
            if name.partition(".")[0] in hook._roots:
                frame = _caller(2)
                if (
                    frame is not None
                    and hook._serves(frame.f_globals, name)
                    and hook._answers(name, (), frame)
                ):
                    hook._note(name, frame.f_globals)
                    return hook._module(name)
            return hook._import_module(name, package)

        import_module.__doc__ = importlib.import_module.__doc__
        self._installed = (__import__, import_module)
        builtins.__import__ = __import__
        importlib.import_module = import_module
        self._finder.install()

    def uninstall(self) -> None:
        """Takes the hook out again, unless somebody has wrapped it meanwhile, and undoes the patches since."""
        self._finder.uninstall()
        if builtins.__import__ is self._installed[0]:
            builtins.__import__ = self._import
        if importlib.import_module is self._installed[1]:
            importlib.import_module = self._import_module
        patches.undo(self._patches)

    def _serves(self, importer: Mapping[str, Any], name: str) -> bool:
        """Whether what a module imports is answered for the script's era."""
        if self._scope.owns(importer):
            return True
        if name.partition(".")[0] not in self._view:
            return False
        if not self._scope.adopts(importer, self.era):
            return False
        self._show_again(importer["__name__"].partition(".")[0])
        return True

    def _note(self, name: str, importer: Mapping[str, Any]) -> None:
        """Remembers a module that imports ``keras``, if the script has put nothing in its place."""
        if name.partition(".")[0] == "keras" and self._modules.imported(name) is None:
            self._scope.importers_of_keras.add(importer.get("__name__"))

    def _show_again(self, package: str) -> None:
        """Gives the modules of a package that has just been told as an old one what it has missed."""
        for name, module in list(sys.modules.items()):
            if not scopes.is_part(name, package) or module is None:
                continue
            for key, value in list(vars(module).items()):
                if isinstance(value, types.ModuleType) and self._roots.get(value.__name__):
                    module.__dict__[key] = self._module(value.__name__)

    def _answers(self, name: str, fromlist: Sequence[str], importer: Any) -> bool:
        """Whether an import below one of the roots is answered here at all."""
        if name == "sys":
            return script_modules.asks(importer.f_code)
        return self._roots[name.partition(".")[0]] or self._surroundings.stands_in(
            name, fromlist, importer
        )

    def _legacy_import(self, name: str, fromlist: Sequence[str]) -> Any:
        """What ``__import__`` returns: the named module with a fromlist, else its root."""
        module = self._module(name)
        if not fromlist:
            return self._module(name.partition(".")[0])
        for attribute in fromlist:
            if attribute == "*":
                continue
            if isinstance(module, legacy_modules.LegacyModule):
                if not self._has(module, attribute):
                    raise UnknownModuleError(
                        "TPU102",
                        (
                            f"cannot import name {attribute!r} from {name!r}: it is not in "
                            "the public API of TensorFlow 1.15, and tpucompat has no "
                            "replacement."
                        ),
                    )
            elif not hasattr(module, attribute) and hasattr(module, "__path__"):
                # A real package: import the submodule that is asked for, as Python does.
                self._import(module.__name__, None, None, (attribute,), 0)
        return module

    def _module(self, name: str) -> Any:
        head = name.partition(".")[0]
        if head in self._view:
            put = self._modules.imported(name)
            return self._legacy_module(name) if put is None else put
        if head == "sys":
            return self._system
        if head in self._mended:
            module = self._import_module(name)  # Python's own error, where it is not installed
            self._import_module(self._mended[head]).load()
            return module
        return self._surroundings.module(name)

    @staticmethod
    def _has(module: legacy_modules.LegacyModule, attribute: str) -> bool:
        if attribute in module.__dict__:
            return True
        return bool(module._namespace.has(module._path, attribute))

    def _legacy_module(self, name: str) -> types.ModuleType:
        self._surroundings.module("numpy")  # what TensorFlow gives the script are its arrays
        head, _, below = name.partition(".")
        full = self._view[head] + ("." + below if below else "")
        try:
            module: types.ModuleType = self._import_module(full)
            return module
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith(ROOTS[self.era].prefix):
                raise  # a package that TensorFlow itself needs is missing
            raise _missing_module(name) from None


def _caller(depth: int) -> Any:
    """A frame of the importing code; None where native code imports, in a thread without Python's frames."""
    try:
        return sys._getframe(depth)
    except ValueError:
        return None


def _missing_module(name: str) -> ImportError:
    error = MissingModuleError(
        "TPU102",
        (
            f"No module named {name!r}: it is not in the public API of TensorFlow 1.15, and "
            "tpucompat has no replacement."
        ),
    )
    error.name = name
    return error


def is_hook_frame(filename: str) -> bool:
    """Whether a traceback line belongs to the hook; such lines are left out of a script's tracebacks."""
    operators = sys.modules.get(scopes.OPERATORS)
    files = (
        __file__,
        surroundings.__file__,
        script_code.__file__,
        getattr(operators, "__file__", None),
    )
    return filename in files or filename.startswith("<frozen importlib")
