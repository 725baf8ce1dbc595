"""What an old name becomes in a current program, from the tables that ``run`` and ``explain`` use.

The rows of :mod:`tpucompat.names.tables` say what answers an old name under ``run``. What one writes instead
follows from them and from ``tf2_homes.txt``, a list made from a real TensorFlow 2; :data:`IDIOMS` holds the
few names whose successor neither can know.
"""

from __future__ import annotations

import ast
import functools
import os
import re
from typing import Mapping, NamedTuple

from tpucompat.base import package
from tpucompat.names import lookup, old_packages, symbols
from tpucompat.names import surroundings as removed
from tpucompat.names.fixes import ALIKE, COMPUTATIONS, IDIOMS, NONE, PARAMETERS, SAFE
from tpucompat.names.rows import Changed, Constant, Gone, Moved, Package, Row, StandIn
from tpucompat.names.tables import private_modules

#: Names of tf.contrib.layers that tf-slim has beside its module ``layers``, and not in it.
_ABOVE_LAYERS = frozenset(
    (
        *("OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "RevBlock", "apply_regularization"),
        *("group_norm", "instance_norm", "l1_l2_regularizer", "l1_regularizer", "l2_regularizer"),
        *("optimize_loss", "recompute_grad", "rev_block", "sum_regularizer"),
        *("summarize_activation", "summarize_activations", "summarize_collection"),
        *("summarize_tensor", "summarize_tensors", "variance_scaling_initializer"),
        *("xavier_initializer", "xavier_initializer_conv2d"),
    )
)
_HOMES = os.path.join(os.path.dirname(lookup.__file__), "tables", "tf2_homes.txt")
_SLIM = "tpucompat.contrib.slim"
#: What of ``tf_slim.training`` makes no Session.
_TRAIN_OP = "training.training.create_train_op"


class Home(NamedTuple):
    """What TensorFlow 2 has for a name: a line of ``tf2_homes.txt``."""

    kind: str
    target: str
    before: str = "-"
    now: str = "-"


class Fate(NamedTuple):
    """What became of a name.

    Attributes:
      code: Why it is reported.
      was: The old name, as people write it.
      becomes: The dotted name to write today; "" if there is none.
      note: What to know beside it, or the reason why there is none.
      covered: Whether ``tpucompat run`` answers it; None where only the installed packages can tell.
      fix: Whether ``migrate`` writes ``becomes`` by itself: :data:`SAFE`, :data:`UNSAFE` or :data:`NONE`.
      rest: What follows the name in the source, such as an attribute of a class.
      home: For a name that means something else now, both lists of parameters.
    """

    code: str
    was: str
    becomes: str
    note: str
    covered: bool | None
    fix: str
    rest: str = ""
    home: Home | None = None


# A method that its class has since TensorFlow 2 only, and that migrate writes.
_CURRENT = ("lite.TFLiteConverter.from_keras_model",)
# Packages whose functions do something else than before, also with arguments that both take.
_OTHERWISE = ("summary.", "losses.", "metrics.", "saved_model.", "initializers.", "test.", "lite.")
_OTHERWISE_NAMES = frozenset(("nn.ctc_loss", "gradients", "hessians", "device"))


@functools.lru_cache(maxsize=None)
def homes() -> Mapping[str, Home]:
    """What TensorFlow 2 has for the names of TensorFlow 1.15 that are not the same in it."""
    with open(_HOMES, encoding="utf-8") as lines:
        rows = (line.split() for line in lines if not line.startswith("#"))
        return {row[0]: Home(*row[1:]) for row in rows}


@functools.lru_cache(maxsize=None)
def roots() -> frozenset[str]:
    """First parts of the names that have a fate."""
    of_tensorflow = ("tensorflow", "keras", "tf_keras", "tensorflow_estimator", "tpucompat")
    tables = (removed.ROWS, removed.ATTRIBUTES, removed.MODULES, old_packages.DROPPED)
    return frozenset(of_tensorflow).union(
        name.partition(".")[0] for table in tables for name in table
    )


@functools.lru_cache(maxsize=None)
def fate(name: str) -> Fate | None:
    """What became of a dotted name as a program imports it; None where there is nothing to say."""
    found = _fate(name)
    head, _, last = found.becomes.rpartition(".") if found is not None else ("", "", "")
    if found is not None and head == "tf_slim.layers" and last in _ABOVE_LAYERS:
        return found._replace(becomes="tf_slim." + last)
    return found


def _fate(name: str) -> Fate | None:
    head, _, path = name.partition(".")
    if head == "tensorflow":
        return _of_tensorflow(path) if path and path not in _CURRENT else None
    if head == "keras":
        return _of_keras(path)
    if head == "tensorflow_estimator":
        return _estimator(name, path)
    return _of_library(name)


def length(found: Fate, name: str) -> int:
    """How many dots of a dotted name belong to the symbol that its fate is about."""
    return name.count(".") - (found.rest.count(".") + 1 if found.rest else 0)


def needs_keras_2(found: Fate) -> bool:
    """Whether a name needs tf-keras, and the setting that makes it TensorFlow's Keras."""
    if found.becomes.startswith(("tf.compat.v1.layers", "tf.compat.v1.nn.rnn_cell")):
        return True
    return found.code == "TPU207" and not found.becomes.startswith("tf_")


def is_of_tf_slim(found: Fate) -> bool:
    """Whether a name belongs to the package tf_slim today."""
    return found.becomes.partition(".")[0] == "tf_slim"


#: Functions of tf-keras that compute from tensors, whichever Keras has made them.
_OF_ANY_KERAS = re.compile(
    r"tf_keras\.((losses|metrics)\.[a-z_]+|constraints\.\w+|utils\.\w+Enqueuer"
    r"|backend\.(local_conv[12]d|normalize_batch_in_training|print_tensor|random_binomial|in_\w+_phase))$"
)


def is_of_keras_2(found: Fate) -> bool:
    """Whether a name of tf-keras is of no use to models of Keras 3: a layer, a switch of its engine."""
    return found.becomes.startswith("tf_keras.") and not _OF_ANY_KERAS.match(found.becomes)


def is_module(found: Fate) -> bool:
    """Whether a fate is that of a module, whose names have fates of their own."""
    symbol = found.was.partition(".")[2]
    if symbol.startswith("compat.v1."):
        symbol = symbol[len("compat.v1.") :]
    row = lookup.find_row(symbol)
    return isinstance(row, Package) or symbols.kind(symbol) == "module"


def is_of_tensorflow_1(found: Fate) -> bool:
    """Whether a name is reported only in a program that speaks TensorFlow 1."""
    return found.code == "TPU204"


def fits_both(found: Fate, call: ast.Call | None) -> bool:
    """Whether a call means the same with the parameters of then and of now.

    Args:
      found: The fate of the function.
      call: The call; None where the function is passed on.
    """
    home = found.home
    if home is None or "-" in (home.before, home.now):
        return False
    before, now = home.before.split(","), home.now.split(",")
    if before == now:
        return True
    if call is None:
        return found.was[len("tf.") :] in PARAMETERS  # isinstance(x, tf.Variable)
    if any(isinstance(value, ast.Starred) for value in call.args):
        return False
    count = len(call.args)
    words = [word.arg for word in call.keywords]
    return before[:count] == now[:count] and all(word in before and word in now for word in words)


# tensorflow ------------------------------------------------------------------------------------------


def _of_tensorflow(path: str) -> Fate | None:
    if path == "compat.v1" or path.startswith("compat.v1."):
        return _of_compat_v1(path[len("compat.v1.") :])
    if path.startswith("compat.v2."):
        return _of_compat_v2(path[len("compat.v2.") :])
    if path.startswith("compat."):
        return None
    for symbol, rest in _prefixes(path):
        found = _of_symbol(symbol, rest)
        if found is not None:
            return found
        if symbols.kind(symbol) is not None and not symbol.startswith("contrib"):
            return None
    if path.startswith("contrib."):
        return _unknown(path)
    return None


def _of_symbol(symbol: str, rest: str) -> Fate | None:
    was = "tf." + symbol
    idiom = IDIOMS.get(symbol)
    if idiom is not None:
        return Fate(idiom.code, was, idiom.becomes, idiom.note, _covered(symbol), idiom.fix, rest)
    if symbol == "contrib" and not rest:
        return None  # what stands behind it is reported
    if symbol.startswith("contrib."):
        return _of_contrib(symbol, rest)
    if symbol.startswith("estimator"):
        return _estimator(was, rest, symbol)
    if symbol.startswith("python."):
        return _of_private(symbol, rest)
    if symbol.startswith("examples."):  # what its wheels had beside TensorFlow
        row = lookup.find_row(symbol)
        return row and Fate("TPU206", was, "tpucompat.v1." + symbol, "", True, SAFE, rest)
    home = homes().get(symbol)
    return None if home is None else _at_home(symbol, rest, home)


def _at_home(symbol: str, rest: str, home: Home) -> Fate | None:
    was = "tf." + symbol
    covered = _covered(symbol)
    if home.kind == "renamed":
        code = "TPU207" if home.target.startswith("tf_keras") else "TPU202"
        note = "The tf-keras package provides it." if code == "TPU207" else ""
        return Fate(code, was, home.target, note, covered, SAFE, rest)
    if home.kind == "v1":
        return Fate("TPU203", was, home.target, "", covered, SAFE, rest)
    if home.kind == "keras2":
        note = (
            "It needs the tf-keras package, and TF_USE_LEGACY_KERAS=1 before "
            "TensorFlow is imported."
        )
        return Fate("TPU207", was, home.target, note, covered, SAFE, rest)
    if home.kind == "changed":
        if symbol in ALIKE:
            return None
        differs = symbol.startswith(_OTHERWISE) or symbol in _OTHERWISE_NAMES
        both = Home(home.kind, home.target) if differs else home
        if symbol in PARAMETERS:
            both = Home(home.kind, home.target, *PARAMETERS[symbol])
        note = "In TensorFlow 2 this name has other arguments or a different meaning."
        return Fate("TPU204", was, home.target, note, covered, SAFE, rest, both)
    row = lookup.find_row(symbol)
    if isinstance(row, Gone):
        return Fate(row.code, was, "", f"{row.reason} {row.instead}".strip(), False, NONE, rest)
    if isinstance(row, (Moved, StandIn)):
        return _by_row(symbol, rest, row)
    return Fate("TPU101", was, "", "TensorFlow 2 has no counterpart.", covered, NONE, rest)


def _of_compat_v2(path: str) -> Fate | None:
    """A name of TensorFlow 2 from before its release: only what 2 itself has renamed since is another one."""
    for symbol, rest in _prefixes(path):
        if symbol in IDIOMS:
            found = _of_symbol(symbol, rest)
            return found and found._replace(was="tf.compat.v2." + symbol)
    return None


def _of_compat_v1(path: str) -> Fate | None:
    """A name of ``tf.compat.v1``, which today's TensorFlow may have lost as well."""
    for symbol, rest in _prefixes(path):
        if symbol.startswith(("contrib", "estimator")) or symbol in COMPUTATIONS:
            found = _of_symbol(symbol, rest)
            return found and found._replace(was="tf.compat.v1." + symbol)
        home = homes().get(symbol)
        if home is not None:
            if home.kind in ("gone", "keras2"):
                found = _at_home(symbol, rest, home)
                becomes = "" if home.kind == "keras2" else (found.becomes if found else "")
                return found and found._replace(
                    was="tf.compat.v1." + symbol,
                    becomes=becomes,
                    fix=found.fix if becomes else NONE,
                )
            return None
        if symbols.kind(symbol) is not None:
            return None
    return None


@functools.lru_cache(maxsize=None)
def _keras_in_contrib() -> tuple[str, ...]:
    """Packages of tf.contrib that are ``tf.keras``, by their rows; the longest name first."""
    rows = lookup.table_rows("tf1").items()
    found = (n for n, row in rows if isinstance(row, Package) and row.targets == ("{own}.keras",))
    return tuple(sorted((n for n in found if n.startswith("contrib.")), key=len, reverse=True))


def _of_contrib(symbol: str, rest: str) -> Fate | None:
    row = lookup.find_row(symbol)
    kind = symbols.kind(symbol)
    for head in _keras_in_contrib():
        if symbol == head or (symbol.startswith(head + ".") and kind is not None):
            other = Fate("TPU201", "tf." + head, "", "It was tf.keras.", True, NONE)
            found = _other_keras(other, symbol[len(head) + 1 :])
            if found is not None and found.becomes:
                return found._replace(rest=rest)
    if row is not None and not (isinstance(row, Package) and rest):
        return _by_row(symbol, rest, row)
    if kind is None or (kind == "module" and rest):
        return None  # a shorter name may say more
    public = _public_of_private(f"{symbol}.{rest}" if rest else symbol)
    if public is not None:
        return public
    above, package = package_above(symbol)
    if isinstance(package, Gone):
        return _gone(symbol, rest, package)
    if package is None and kind != "module":
        return _gone(symbol, rest, Gone("TPU101", "TensorFlow 2 has no counterpart."))
    covered = True if kind == "module" else _in_package(package, symbol[len(above) + 1 :])
    if covered is False:
        gone = package.rest if package and package.rest else None
        return _gone(symbol, rest, gone or Gone("TPU101", "TensorFlow 2 has no counterpart."))
    becomes = _package_target(package, symbol[len(above) + 1 :]) or "tpucompat.v1." + symbol
    code = "TPU207" if becomes.startswith("tf_slim") else "TPU206"
    return Fate(code, "tf." + symbol, becomes, "", covered, SAFE, rest)


def _gone(symbol: str, rest: str, row: Gone) -> Fate:
    note = f"{row.reason} {row.instead}".strip()
    return Fate(row.code, "tf." + symbol, "", note, False, NONE, rest)


def _public_of_private(path: str) -> Fate | None:
    """What became of ``contrib.PACKAGE.python.….NAME``, which is ``contrib.PACKAGE.NAME``; None for others."""
    parts = path.split(".")
    public = f"contrib.{parts[1]}.{parts[-1]}"
    if len(parts) < 4 or parts[2] != "python" or symbols.kind(public) not in ("function", "class"):
        return None
    found = _of_symbol(public, "")
    return found and found._replace(was="tf." + path)


def _unknown(path: str) -> Fate:
    """A name in ``tf.contrib`` that no table has: a private path, or one that never was."""
    public = _public_of_private(path)
    if public is not None:
        return public
    parts = path.split(".")
    above, package = package_above(path)
    if isinstance(package, Gone):
        return _gone(path, "", package)
    if isinstance(package, Package) and above.count(".") > 1:
        becomes = _package_target(package, path[len(above) + 1 :])
        code = "TPU207" if becomes else "TPU206"
        return Fate(code, "tf." + path, becomes or "tpucompat.v1." + path, "", None, SAFE)
    if "python" in parts or "ops" in parts:
        becomes = "tpucompat.v1." + path
        return Fate("TPU205", "tf." + path, becomes, "A private tf.contrib module.", None, SAFE)
    note = "TensorFlow 1.15 had no such name."
    known = symbols.kind(".".join(parts[:2])) is not None
    if not known and isinstance(package, Package):
        return Fate("TPU206", "tf." + path, "tpucompat.v1." + path, "", None, SAFE)
    return Fate("TPU102", "tf." + path, "", note, False if known else None, NONE)


def _by_row(symbol: str, rest: str, row: Row) -> Fate:
    was = "tf." + symbol
    ours = "tpucompat.v1." + symbol
    note = getattr(row, "note", "")
    if isinstance(row, Gone):
        return _gone(symbol, rest, row)
    if isinstance(row, Package):
        becomes = _package_target(row, "")
        if becomes:
            return Fate("TPU207", was, becomes, note, True, SAFE, rest)
        return Fate("TPU206", was, ours, note, True, SAFE, rest)
    if isinstance(row, Moved):
        becomes = _public(row.target)
        if becomes.startswith(("tf_slim", "tf_keras")):
            return Fate("TPU207", was, becomes, note, True, SAFE, rest)
        if becomes:
            return Fate("TPU201", was, becomes, note, True, SAFE, rest)
    return Fate("TPU206", was, ours, note, True, SAFE, rest)


def _public(target: str) -> str:
    """The public name of a row's target as a current program writes it; "" if it has none."""
    module, _, attributes = target.partition(":")
    if module in ("{tf}", "{own}"):
        home = homes().get(attributes)
        return home.target if home and home.target != "-" else "tf." + attributes
    if module == "tensorflow":
        return "tf." + attributes
    if module == _SLIM:
        return _slim(attributes)
    return ""


def _slim(attributes: str) -> str:
    """A name of the package tf-slim, which our module hands on."""
    head = attributes.partition(".")[0]
    if head == "tf_slim":
        return attributes
    if attributes == _TRAIN_OP:
        return "tf_slim.training.create_train_op"
    return "tf_slim." + attributes if head in ("layers", "losses", "metrics", "nets") else ""


def _package_target(package: Package | Gone | None, below: str) -> str:
    if not isinstance(package, Package):
        return ""
    modules = [target.partition(":") for target in package.targets]
    ours = [module for module in modules if module[0] == _SLIM]
    if not ours or (below and _in_module(modules[0][0], below) and modules[0][0] != _SLIM):
        return ""
    if below.partition(".")[0] == "python":  # its folder in TensorFlow, which the package has not
        return ""
    target = _slim(ours[0][2])
    return f"{target}.{below}" if target and below else target


def _of_private(symbol: str, rest: str) -> Fate | None:
    """``tensorflow.python…``: reported where a release is known to have moved or removed it."""
    row = lookup.find_row(symbol)
    was = "tensorflow." + symbol
    if row is None:
        return None
    if symbol in private_modules.TODAY:
        return Fate("TPU205", was, private_modules.TODAY[symbol], "", True, SAFE, rest)
    if isinstance(row, Package):
        if symbol.startswith(("python.layers", "python.tpu", "python.estimator")):
            return Fate("TPU205", was, "tpucompat.v1." + symbol, "", True, SAFE, rest)
        if symbol != "python.keras":
            return None
        note = "TensorFlow 2.16 removed tensorflow.python.keras in favour of tf.keras."
        return _other_keras(Fate("TPU205", was, "", note, True, NONE), symbols.in_keras(rest))
    if isinstance(row, Gone):
        return Fate(row.code, was, "", f"{row.reason} {row.instead}".strip(), False, NONE, rest)
    becomes = _public(row.target) if isinstance(row, Moved) else ""
    if symbol.startswith("python.keras.optimizers."):  # with defaults of their own
        becomes = "tf." + symbol.partition(".")[2]
    return Fate("TPU205", was, becomes or "tpucompat.v1." + symbol, "", True, SAFE, rest)


def _other_keras(found: Fate, below: str) -> Fate | None:
    """A name of a module that is ``tf.keras`` by another name.

    Args:
      found: What is said of that module.
      below: The name in it.
    """
    public = "keras." + below if below else "keras"
    found = found._replace(was=found.was + ("." + below if below else ""))
    if not below or (symbols.kind(public) is not None and public not in homes()):
        return found._replace(becomes="tf." + public, fix=SAFE)
    if symbols.kind(public) is not None:
        gone = _of_tensorflow(public)  # from the public one too
        return gone and gone._replace(was=found.was)
    return found


def _estimator(was: str, rest: str, symbol: str = "") -> Fate:
    note = "TensorFlow 2.16 removed tf.estimator. The replacement in plain TensorFlow 2 is Keras."
    if not symbol:
        return Fate("TPU212", was, "", note, True, NONE)
    row = lookup.find_row(symbol)
    if isinstance(row, Gone):
        return _gone(symbol, rest, row)
    hook = homes().get(symbol.replace("estimator.", "train.", 1))
    if hook is not None and hook.kind == "v1":  # 1.15 had hooks and what they are given in both
        return Fate("TPU203", was, hook.target, "", True, SAFE, rest)
    return Fate("TPU212", was, "tpucompat.v1." + symbol, note, True, SAFE, rest)


def _of_keras(path: str) -> Fate | None:
    """Standalone Keras: its names are those of ``tf.keras``."""
    for symbol, rest in _prefixes("keras." + path if path else "keras"):
        home = homes().get(symbol)
        if symbol in IDIOMS:
            found = _of_symbol(symbol, rest)
            if found is None or not found.becomes.startswith("tf.keras."):
                return found and found._replace(was=symbol)
            return found._replace(was=symbol, becomes=found.becomes[len("tf.") :])
        if home is not None:
            found = _at_home(symbol, rest, home)
            return found and found._replace(was=symbol)
        row = lookup.find_row(symbol)
        if isinstance(row, StandIn) and (row.varies or symbols.kind(symbol) is not None):
            return None  # it is there, and answers to old habits only under `run`
        if isinstance(row, (Moved, StandIn)):
            becomes = _public(row.target) if isinstance(row, Moved) else ""
            if becomes.startswith("tf.keras."):
                becomes = becomes[3:]
            fix = SAFE if becomes else NONE
            note = "" if becomes else "Keras 3 does not have it; tpucompat provides it."
            return Fate("TPU202" if becomes else "TPU206", symbol, becomes, note, True, fix, rest)
        if symbols.kind(symbol) is not None:
            return None
    return None


# What run covers -------------------------------------------------------------------------------------


def _covered(symbol: str) -> bool | None:
    row = lookup.find_row(symbol)
    if isinstance(row, Gone):
        return False
    if row is not None:
        return True
    home = homes().get(symbol)
    if symbol.startswith(("contrib", "estimator")):
        return None
    # Keras 2 answers for the names that Keras 3 has not.
    return None if home is not None and home.kind == "gone" else True


def package_above(symbol: str, at_least: int = 2) -> tuple[str, Package | Gone | None]:
    """The nearest module above a name whose row holds for its names too, and the row.

    Args:
      symbol: The name.
      at_least: How many parts the module's own name has.
    """
    parts = symbol.split(".")
    for length in range(len(parts) - 1, at_least - 1, -1):
        above = ".".join(parts[:length])
        row = lookup.find_row(above)
        if isinstance(row, (Package, Gone)):
            return above, row
    return "", None


def _in_package(package: Package | Gone | None, below: str) -> bool | None:
    """Whether the modules behind a package row have a name; None where only an import can tell."""
    if not isinstance(package, Package):
        return None
    answers = [_in_module(target.partition(":")[0], below) for target in package.targets]
    if any(answers):
        return True
    return False if all(answer is False for answer in answers) else None


def _in_module(module: str, below: str) -> bool | None:
    if not module.startswith("tpucompat."):
        return None
    return below.partition(".")[0] in _names_of(module) or (None if module == _SLIM else False)


@functools.lru_cache(maxsize=None)
def _names_of(module: str) -> frozenset[str]:
    """What a module of ours defines, read from its source."""
    path = os.path.join(package.FOLDER, *module.split(".")[1:])
    path = os.path.join(path, "__init__.py") if os.path.isdir(path) else path + ".py"
    try:
        with open(path, encoding="utf-8") as stream:
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError):
        return frozenset()
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return frozenset(found)


# Around TensorFlow -----------------------------------------------------------------------------------


_ON_KAGGLE = "It exists on Kaggle only."


def _of_library(name: str) -> Fate | None:
    for module, rest in _prefixes(name):
        rows = removed.ROWS.get(module) or old_packages.DROPPED.get(module)
        if rows and rest:
            attribute, _, behind = rest.partition(".")
            row = rows.get(attribute)
            if row is not None and not isinstance(row, Changed):
                return _of_row(f"{module}.{attribute}", behind, row)
        if module in removed.MODULES and module not in ("google", "google.colab", "scipy.misc"):
            target = removed.MODULES[module]
            if target and not target.startswith("tpucompat."):
                return Fate("TPU220", module, target, "", True, SAFE, rest)
            note = _ON_KAGGLE if module in removed.PLACES else "Later releases have no such module."
            return Fate("TPU220", module, "", note, True, NONE, rest)
    return None


def _of_row(was: str, rest: str, row: Row) -> Fate:
    if isinstance(row, Moved):
        becomes = row.target.replace(":", ".").replace("builtins.", "")
        return Fate("TPU220", was, becomes, row.note, True, SAFE, rest)
    if isinstance(row, Constant):
        becomes = {"inf": "numpy.inf", "-inf": "-numpy.inf", "nan": "numpy.nan"}.get(
            repr(row.value), ""
        )
        return Fate("TPU220", was, becomes or repr(row.value), "", True, SAFE, rest)
    kept = "tpucompat provides a replacement."
    note = f"{row.reason} {row.instead}" if isinstance(row, Gone) else kept
    return Fate("TPU220", was, "", note, True, NONE, rest)


def _prefixes(path: str) -> list[tuple[str, str]]:
    """(``a.b.c``, ""), (``a.b``, ``c``), (``a``, ``b.c``)."""
    parts = path.split(".")
    lengths = range(len(parts), 0, -1)
    return [(".".join(parts[:length]), ".".join(parts[length:])) for length in lengths]
