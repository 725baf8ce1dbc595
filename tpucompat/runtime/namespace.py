"""The module tree of the old ``tensorflow``, built lazily from tables.

A :class:`Namespace` is one view of TensorFlow: a prefix in ``sys.modules`` (``tpucompat.v1``), the rows that
apply, and the real module behind it. Its modules are :class:`LegacyModule` objects. A name is looked up on
first use, in this order:

1. a row of the tables;
2. a module that exists only because rows lie below it (``tensorflow.contrib``);
3. the modules that the nearest :class:`~tpucompat.names.rows.Package` row names;
4. the real module of the same name: ``tf.compat.v1`` on TensorFlow 2, TensorFlow itself on 1.x;
5. for the private paths of ``tf.contrib`` (``contrib.layers.python.layers.initializers``), the public names
   of that package, since there the private modules were re-exported whole;
6. TensorFlow 1.15's own list of symbols, which tells a symbol that is gone (an object that raises when it
   is used) from one that never was (an error at once).
"""

from __future__ import annotations

import difflib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
import types
from typing import (
    Any,
    Callable,
    Mapping,
    Sequence,
)

from tpucompat.base import journal
from tpucompat.base.codes import CODES
from tpucompat.base.errors import TPUCompatError, UnknownNameError
from tpucompat.base.machine import environment
from tpucompat.names import lookup, symbols
from tpucompat.names.rows import Constant, Gone, Moved, Package, Row, StandIn
from tpucompat.runtime.legacy_modules import (
    MISSING,
    LegacyModule,
    Vanished,
    attribute_of,
    import_or_none,
    is_own_submodule,
    public_names,
)

#: The next step where a script asks TensorFlow 1's names for one that came later.
IN_TENSORFLOW_2 = CODES["TPU491"].what_to_do


def came_later(full: str) -> bool:
    """Whether TensorFlow 2 has a public name, and 1.15 had not.

    Args:
      full: The name below ``tensorflow``.
    """
    if symbols.kind(full) is not None:
        return False
    value: Any = import_or_none("tensorflow")
    for part in full.split("."):
        value = attribute_of(value, part)
    return value is not MISSING and not full.startswith("python.")


class Namespace:
    """One view of TensorFlow.

    Args:
      prefix: The name of the root in ``sys.modules``.
      rows: Old dotted name below ``tensorflow.`` -> row.
      enter: Called once before the real TensorFlow is touched; returns the name of the real root module.
      known: TensorFlow 1.15's symbols, asked only when a name is not found otherwise.
      package: The real package, whose private modules (``tensorflow.python``) are reached as they are.
    """

    def __init__(
        self,
        prefix: str,
        rows: Callable[[], Mapping[str, Row]],
        enter: Callable[[], str],
        known: Callable[[str], str | None] = symbols.kind,
        package: str = "tensorflow",
    ) -> None:
        self.prefix = prefix
        self._load_rows = rows
        self._enter = enter
        self._known = known
        self._package = package
        self._rows: Mapping[str, Row] | None = None
        self._packages: frozenset[str] = frozenset()
        self._base: str | None = None
        self._replaced: dict[tuple[str, str], list[tuple[types.ModuleType, Any]]] = {}
        self._lock = threading.RLock()

    # Tables --------------------------------------------------------------------------------------

    @property
    def rows(self) -> Mapping[str, Row]:
        """All rows of this view."""
        if self._rows is None:
            with self._lock:
                rows = self._load_rows()
                packages: set[str] = {""}
                for name, row in rows.items():
                    packages.update(_ancestors(name))
                    if isinstance(row, Package):
                        packages.add(name)
                self._packages = frozenset(packages)
                self._rows = rows
        return self._rows

    @property
    def base(self) -> str:
        """The name of the real module behind the root; TensorFlow is imported when this is first asked."""
        if self._base is None:
            with self._lock:
                if self._base is None:
                    self._base = self._enter()
        return self._base

    @property
    def in_use(self) -> bool:
        """Whether TensorFlow has been imported for this view."""
        return self._base is not None

    def forget(self) -> None:
        """Lets the mode of the era be entered again when TensorFlow is used the next time."""
        self._base = None

    def module_name(self, path: str) -> str:
        """The name in ``sys.modules`` of the module at ``path`` below ``tensorflow``."""
        return self.prefix + "." + path if path else self.prefix

    # Names ---------------------------------------------------------------------------------------

    def lookup(self, path: str, name: str, is_used: bool = True) -> Any:
        """The value of ``name`` in the module at ``path``.

        Args:
          path: The module.
          name: The name.
          is_used: Whether the script uses it, and does not only import it with all others.

        Raises:
          UnknownNameError: If neither the tables, TensorFlow nor TensorFlow 1.15 know it.
        """
        full = path + "." + name if path else name
        value = self.find(path, name)
        if value is MISSING:
            raise UnknownNameError("TPU102", *self._unknown(path, name))
        row = self.rows.get(full)
        if isinstance(row, StandIn) and row.varies:
            return value
        if self._is_counted(full) and not isinstance(value, types.ModuleType):
            if is_used:  # the value is not kept in the module, so that each use comes by here
                journal.used("tf." + full)
        else:
            module = sys.modules.get(self.module_name(path))
            if module is not None:
                module.__dict__[name] = value
        return value

    def _is_counted(self, full: str) -> bool:
        return full.startswith("contrib.") or isinstance(self.rows.get(full), (Moved, StandIn))

    def has(self, path: str, name: str) -> bool:
        """Whether the module at ``path`` has ``name``; counts no use."""
        return self.find(path, name) is not MISSING

    def find(self, path: str, name: str) -> Any:
        """Like :meth:`lookup`, but counts nothing and gives a private mark where there is no such name."""
        full = path + "." + name if path else name
        row = self.rows.get(full)
        late = row if isinstance(row, (Gone, Moved)) and row.since else None
        if late is not None:
            row = None  # found below where the installed release has it, else as its row says
        if row is not None and not (isinstance(row, Gone) and self._is_gone_module(full)):
            return self._from_row(full, row)
        if row is not None or full in self._packages or self._is_listed_module(full):
            return importlib.import_module(self.module_name(full))
        for finder in (self._from_package, self._from_real, self._from_private_path):
            value = finder(path, name)
            if value is not MISSING:
                return value
        try:
            return self._vanished(full) if late is None else self._from_row(full, late)
        except (ImportError, AttributeError) as error:
            if isinstance(error, TPUCompatError):  # a package that has to be installed
                raise
            # A release between those that the row was made from may have the name in neither place.
            return self._vanished(full)

    def _vanished(self, full: str) -> Any:
        """What stands for a symbol of TensorFlow 1.15 that nothing answers, by the row of its package."""
        if not self._is_legacy:
            return MISSING
        kind = self._known(full)
        above = (self.rows.get(name) for name in reversed(_ancestors(full)))
        rows = (row.rest if isinstance(row, Package) else row for row in above)
        row = next((row for row in rows if isinstance(row, Gone)), None)
        if kind == "module" and full.startswith("contrib."):
            return importlib.import_module(self.module_name(full))
        if row is None and kind is not None:
            row = Gone("TPU101", f"TensorFlow 2 has no counterpart of this {kind}.")
        # Packages that 1.15 did not have any more are not in its list either, nor are private modules.
        package = ".".join(full.split(".")[:2])
        if row is None or (
            kind is None
            and self._known(package) is not None
            and not isinstance(self.rows.get(package), Gone)
        ):
            return MISSING
        return Vanished(full, row)

    def _is_gone_module(self, path: str) -> bool:
        """Whether a row says that a whole module is gone: it can be imported, its names raise."""
        if not isinstance(self.rows.get(path), Gone):
            return False
        is_package = path.startswith("contrib.") and path.count(".") == 1
        return is_package or self._known(path) == "module"

    def _is_listed_module(self, full: str) -> bool:
        """Whether ``full`` is a private module of a contrib package, and nothing else of that name."""
        parts = full.split(".")
        return parts[0] == "contrib" and "python" in parts[2:-1] and self._known(full) == "module"

    @property
    def _is_legacy(self) -> bool:
        return self.base == "tensorflow.compat.v1"

    def _from_row(self, full: str, row: Row) -> Any:
        if isinstance(row, Gone):
            return Vanished(full, row)
        if isinstance(row, Constant):
            return row.value
        if isinstance(row, Package):
            return importlib.import_module(self.module_name(full))
        return self.resolve(row.target)

    def _from_package(self, path: str, name: str) -> Any:
        """Asks the rows and the modules of the nearest package row at or above ``path``."""
        row, below = self._package_row(path)
        if row is None:
            return MISSING
        above = path
        for _ in below.split(".") if below else ():  # a private module's public ones, row first
            above = above.rpartition(".")[0]
            full = above + "." + name
            public = self.rows.get(full)
            if public is not None and not isinstance(public, Package):  # nobody re-exported modules
                return self._from_row(full, public)
        for target in row.targets:
            for module in reversed(self._chain(target, below)):
                value = attribute_of(module, name)
                if is_own_submodule(module, name, value):
                    # As `import keras.optimizers` finds it, with the rows and private modules below.
                    return importlib.import_module(
                        self.module_name(path + "." + name if path else name)
                    )
                if value is not MISSING:
                    return value
        return MISSING

    def _package_row(self, path: str) -> tuple[Package | None, str]:
        """The nearest package row at or above ``path``, and the path below it."""
        for ancestor in [path, *reversed(_ancestors(path))]:
            row = self.rows.get(ancestor)
            if isinstance(row, Package):
                return row, path[len(ancestor) :].strip(".")
        return None, ""

    def _from_real(self, path: str, name: str) -> Any:
        real = self.real(path)
        return MISSING if real is None else attribute_of(real, name)

    def _from_private_path(self, path: str, name: str) -> Any:
        """``contrib.tpu.python.tpu.tpu_sharding.shard_count`` is ``contrib.tpu``'s own, if it has it."""
        parts = path.split(".")
        if len(parts) < 3 or parts[0] != "contrib":
            return MISSING
        value = self.find(".".join(parts[:2]), name)
        # A module's function of the module's own name is not the module.
        is_other = (
            isinstance(value, types.ModuleType) and self._known(path + "." + name) != "module"
        )
        return MISSING if is_other else value

    def _chain(self, target: str, below: str) -> list[Any]:
        """The target's module and those below it, as far down as they exist.

        Old private modules were often re-exported by the public one above them (keras.layers.convolutional,
        contrib.layers.python.layers.initializers); so a name is asked of each, the deepest first.
        """
        try:
            chain = [self.resolve(target)]
        except ImportError:
            return []
        for part in below.split(".") if below else ():
            value = attribute_of(chain[-1], part)
            if isinstance(value, types.ModuleType):
                chain.append(value)
        return chain

    def resolve(self, target: str) -> Any:
        """Imports ``module:attribute.path``, with ``{tf}``, ``{keras}`` and ``{own}`` filled in."""
        base = self.base  # the process enters the era's world before anything of TensorFlow is used
        if "{" in target:
            target = target.format(tf=base, keras=_KerasSource(self), own=self.prefix)
        module_name, _, attributes = target.partition(":")
        value = importlib.import_module(module_name)
        for part in attributes.split(".") if attributes else ():
            value = getattr(value, part)
        return value

    def real(self, path: str) -> Any | None:
        """The real object at ``path``: in the base module, else a module of TensorFlow itself."""
        value: Any = importlib.import_module(self.base)
        for part in path.split(".") if path else ():
            value = attribute_of(value, part)
            # The import system binds a module of ours to its parent, which may be a real one beside 1.15.
            if value is MISSING or isinstance(value, LegacyModule):
                break
        else:
            return value
        return import_or_none(self._package + "." + path)

    def replace_behind(self, path: str, name: str, value: Any) -> None:
        """Gives a name that a script has set in an old module to the module of ours behind it.

        Code of ours looks the name up there: a script sets ``tpu_estimator._WRAP_INPUT_FN_INTO_WHILE_LOOP``, a
        test replaces a function. Modules of TensorFlow are unchanged: other libraries see them too.
        """
        row, below = self._package_row(path)
        for target in row.targets if row is not None else ():
            for module in self._chain(target, below):
                if module.__name__.startswith("tpucompat.") and name in vars(module):
                    self._replaced.setdefault((path, name), []).append((module, vars(module)[name]))
                    setattr(module, name, value)

    def restore_behind(self, path: str, name: str) -> None:
        """Undoes :meth:`replace_behind`."""
        for module, value in reversed(self._replaced.pop((path, name), [])):
            setattr(module, name, value)

    # Modules -------------------------------------------------------------------------------------

    def module(self, path: str) -> types.ModuleType | None:
        """The module at ``path`` as a script imports it, or None where there is none."""
        row = self.rows.get(path)
        has_rows = row is not None or path in self._packages
        if path.startswith("compat.v1.") and not has_rows:
            # TensorFlow 1's names, spelled as later releases do.
            return importlib.import_module(self.module_name(path[len("compat.v1.") :]))
        if isinstance(row, (Moved, StandIn)):
            value = self.resolve(row.target)
            return value if isinstance(value, types.ModuleType) else None
        if self._is_gone_module(path):
            return LegacyModule(self, path)
        if isinstance(row, (Gone, Constant)):
            return None
        if path in self._packages or self._is_private_module(path):
            return LegacyModule(self, path)
        value = self.real(path)
        if not isinstance(value, types.ModuleType):
            return None
        return LegacyModule(self, path) if self._hides_a_package(value, path) else value

    def _hides_a_package(self, value: types.ModuleType, path: str) -> bool:
        """Whether a module passes for a package that has modules below it.

        ``tf.contrib.eager`` of 1.15 is ``contrib.eager.python.tfe`` (tensorflow/contrib/__init__.py).
        """
        if (
            hasattr(value, "__path__")
            or value.__name__.rpartition(".")[2] == path.rpartition(".")[2]
        ):
            return False
        spec = importlib.util.find_spec(f"{self._package}.{path}")
        return spec is not None and spec.submodule_search_locations is not None

    def _is_private_module(self, path: str) -> bool:
        """Whether ``path`` is a module of old that only re-exported, or split up, what tables now hold."""
        if self._package_row(path)[0] is not None:
            return True
        parts = path.split(".")
        if parts[0] == "contrib" and len(parts) > 2:
            if parts[2] in ("python", "ops") or self._known(path) == "module":
                return True
            return isinstance(
                self.rows.get(".".join(parts[:2])), Gone
            )  # the reason is the package's
        return False

    def names(self, path: str, star: bool = False) -> set[str]:
        """The names of the module at ``path``: for dir(), or what a star import takes.

        A star import takes the rows and the public names of the first module behind ``path``, without what
        that module has merely imported.
        """
        prefix = path + "." if path else ""
        found = {f[len(prefix) :].partition(".")[0] for f in self.rows if f.startswith(prefix)}
        row, below = self._package_row(path)
        behind = [self._chain(target, below)[-1:] for target in (row.targets if row else ())]
        modules = [module for chain in behind for module in chain]
        real = self.real(path)
        if real is not None:
            modules.append(real)
        for module in modules[:1] if star else modules:
            found.update(public_names(module) if star else dir(module))
        return {name for name in found if not name.startswith("_")}

    def _unknown(self, path: str, name: str) -> Sequence[str]:
        where = "tf" + ("." + path if path else "")
        close = difflib.get_close_matches(name, self.names(path), n=3)
        if "python" in path.split("."):  # 1.15's list of symbols does not look into private modules
            then = "; it may have been a private name in TensorFlow 1.15"
        else:
            then = ", in TensorFlow 1.15 neither" if self is V1 else ""
        cause = f"{where} has no {name!r}{then}."
        if self._is_legacy and came_later(f"{path}.{name}".strip(".")):
            return cause, IN_TENSORFLOW_2
        return cause, "did you mean {}?".format(", ".join(close)) if close else ""


class LegacyFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports ``tpucompat.v1.…`` (and ``tpucompat.v2.…``) from their namespace."""

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Finds modules below the root of a namespace; everything else is left to others."""
        namespace, below = namespace_of(fullname)
        if namespace is None or not below:
            return None
        module = namespace.module(below)
        if module is None:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        spec.loader_state = module
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        """Gives the legacy module itself; for a real module, an empty one that exec_module replaces."""
        module = spec.loader_state
        return module if isinstance(module, LegacyModule) and module.__name__ == spec.name else None

    def exec_module(self, module: types.ModuleType) -> None:
        """Puts the real module under the legacy name; its own ``__spec__`` stays as it was."""
        assert module.__spec__ is not None
        real = module.__spec__.loader_state
        if real is not module:
            sys.modules[module.__spec__.name] = real


def _ancestors(name: str) -> list[str]:
    """``a.b.c`` -> ``['', 'a', 'a.b']``."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(len(parts))]


class _KerasSource:
    """Fills ``{keras}`` in: the package with the source of the Keras 2 behind ``tf.keras``."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def __format__(self, spec: str) -> str:
        base: Any = importlib.import_module(self._namespace.base)
        root = base.keras.Model.__module__.split(".")
        # tf_keras.src (2.16 on), keras.src (2.13 to 2.15), keras (2.6 to 2.12), tensorflow.python.keras.
        depth = root.index("src") + 1 if "src" in root else root.index("keras") + 1
        return ".".join(root[:depth])


# The namespaces ------------------------------------------------------------------------------------


def _v1_rows() -> Mapping[str, Row]:
    return lookup.table_rows("tf1", on_tensorflow_1=environment().has("contrib"))


def _preparation(module: str) -> Callable[[], str]:
    """``prepare`` of a module of this room, which imports TensorFlow: it is imported when it is called."""

    def prepare() -> str:
        name: str = importlib.import_module("tpucompat.runtime." + module).prepare()
        return name

    return prepare


V1 = Namespace("tpucompat.v1", _v1_rows, _preparation("tensorflow_1"))
V2 = Namespace("tpucompat.v2", lambda: lookup.table_rows("tf2"), _preparation("tensorflow_2"))
_NAMESPACES = (V1, V2)


def forget() -> None:
    """Forgets that TensorFlow has been used; see :meth:`Namespace.forget`."""
    for namespace in _NAMESPACES:
        namespace.forget()


def namespace_of(fullname: str) -> Any:
    """(namespace, path below its root) of a module name; (None, "") for a module of nobody's."""
    for namespace in _NAMESPACES:
        if fullname == namespace.prefix or fullname.startswith(namespace.prefix + "."):
            return namespace, fullname[len(namespace.prefix) + 1 :]
    return None, ""


def root(namespace: Namespace) -> LegacyModule:
    """The root module of a namespace, put into ``sys.modules`` when first asked."""
    if not any(isinstance(finder, LegacyFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, LegacyFinder())
    module = sys.modules.get(namespace.prefix)
    if not isinstance(module, LegacyModule):
        module = LegacyModule(namespace, "")
        module.__spec__ = importlib.machinery.ModuleSpec(namespace.prefix, None, is_package=True)
        sys.modules[namespace.prefix] = module
        # The import system binds a submodule to its package after import; roots are put there by hand.
        setattr(sys.modules["tpucompat"], namespace.prefix.rpartition(".")[2], module)
    return module
