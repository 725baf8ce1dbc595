"""What tpucompat changes in other libraries for the whole process has a row; nothing is changed beside it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tpucompat.runtime import surroundings
from tpucompat.tf.patches.rows import ROWS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tpucompat"
FILES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}

#: Modules that change what is not theirs without a row, and why.
WITHOUT_ROWS = {
    "base/keras_generation.py": "the environment, which TensorFlow reads when it is imported",
    "commands/": "a process of the command's own: a script that it runs, records or compiles",
    "contrib/cloud.py": "the environment, which TensorFlow's file system reads",
    "idioms/estimator.py": "modules that no longer exist, which tensorflow-estimator imports",
    "idioms/keras_tpu/": "a model of the script's and its inputs",
    "idioms/tpu_estimator/seams.py": "a copy of TensorFlow's module",
    "idioms/tpu_estimator/source.py": "a copy of TensorFlow's module",
    "idioms/tpu_estimator/workers.py": "TF_CONFIG, for as long as a RunConfig reads it",
    "runtime/imports.py": "the import hook, which uninstall() takes out",
    "runtime/namespace.py": "modules of the old namespace",
    "runtime/notebooks/": "the process of a kernel",
    "runtime/script_modules.py": "sys.modules as the script's own modules see it",
    "standins/imp_module.py": "what imp.load_module does",
    "standins/keras_models.py": "the script's own assignment to keras.Model",
    "tf/patches/__init__.py": "the one place",
    "__main__.py": "sys.path of the command's process",
}
#: Lines that set attributes of graphs, of classes of our own, or for as long as a block lasts.
OWN = {
    "contrib/hparam.py": 3,
    "contrib/training.py": 1,
    "engines/coherence.py": 2,
    "idioms/computations/far_feeds.py": 1,
    "idioms/computations/feeds.py": 1,
    "tf/private/functions.py": 1,
    "tf/private/keras.py": 3,
}


def _imported(tree):
    """Names of a module that are another library's, or private parts of TensorFlow."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(
                (alias.asname or alias.name).partition(".")[0]
                for alias in node.names
                if not alias.name.startswith("tpucompat")
            )
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            ours = node.module.startswith("tpucompat")
            if not ours or node.module.startswith("tpucompat.tf.private"):
                found.update(alias.asname or alias.name for alias in node.names)
    return found


def _is_foreign(value, names):
    """Whether an expression is a module or a class of another library, or an attribute of one."""
    if isinstance(value, ast.Name):
        return value.id in names
    if isinstance(value, (ast.Attribute, ast.Subscript, ast.Starred)):
        return _is_foreign(value.value, names)
    if isinstance(value, ast.Call):
        called = getattr(value.func, "id", getattr(value.func, "attr", ""))
        if called in ("late", "load", "own_module", "import_module"):
            return True
        return called in ("getattr", "vars", "type") and _is_foreign(value.args[0], names)
    parts = {
        ast.IfExp: lambda: (value.body, value.orelse),
        ast.BoolOp: lambda: value.values,
        ast.Tuple: lambda: value.elts,
        ast.List: lambda: value.elts,
    }.get(type(value), tuple)()
    return any(_is_foreign(part, names) for part in parts)


def _foreign_names(tree):
    names = _imported(tree)
    before = -1
    while before != len(names):
        before = len(names)
        for node in ast.walk(tree):
            targets = []
            if isinstance(node, ast.Assign) and _is_foreign(node.value, names):
                targets = node.targets
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                targets = [node.target] if _is_foreign(node.value, names) else []
            elif isinstance(node, (ast.For, ast.comprehension)) and _is_foreign(node.iter, names):
                targets = [node.target]
            for target in targets:
                names.update(
                    each.id
                    for each in ast.walk(target)
                    if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
                )
    return names


def _root(value):
    while isinstance(value, (ast.Attribute, ast.Subscript)):
        value = value.value
    return getattr(value, "id", "")


def changes(tree):
    """The lines that set or delete attributes of other libraries, or of whatever ``setattr`` is given."""
    nodes = list(ast.walk(tree))
    lines = {
        node.lineno
        for node in nodes
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in ("setattr", "delattr")
        and _root(node.args[0]) != "self"
    }
    stored = [
        node
        for node in nodes
        if isinstance(node, (ast.Attribute, ast.Subscript))
        and isinstance(node.ctx, (ast.Store, ast.Del))
        and _root(node) != "self"
    ]
    names = _foreign_names(tree) if stored else ()
    return lines | {node.lineno for node in stored if _is_foreign(node.value, names)}


def test_other_libraries_are_changed_by_rows_alone():
    found = {name: sorted(changes(tree)) for name, tree in TREES.items()}
    left = {
        name: lines
        for name, lines in found.items()
        if lines and not name.startswith(tuple(WITHOUT_ROWS)) and len(lines) != OWN.get(name)
    }
    assert left == {}


def test_every_exception_is_needed():
    found = {name for name, tree in TREES.items() if changes(tree)}
    assert [one for one in WITHOUT_ROWS if not any(name.startswith(one) for name in found)] == []


@pytest.mark.parametrize(
    "source",
    [
        "import tensorflow as tf\ntf.Graph.finalize = None",
        "import tensorflow as tf\nkind = getattr(tf, 'Graph')\nkind.finalize = None",
        "from tensorflow.python.ops import nn\nfor one in (nn, nn.x):\n    setattr(one, 'relu', 1)",
        "from tpucompat.base.late import late\nnp = late('numpy')\nnp.random.seed = None",
        "import numpy\ndel numpy.float_",
        "import importlib\nimportlib.import_module('keras').__dict__['Model'] = 1",
        "import numpy as np\nvars(np)['float'] = float",
    ],
)
def test_a_change_is_seen(source):
    assert changes(ast.parse(source))


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nvalue = np.zeros(3)\nvalue[0] = 1",
        "class A:\n    def f(self):\n        setattr(self, 'x', 1)\n        self.y = 2",
        "from tpucompat.engines import session\nrows = {}\nrows['x'] = session",
    ],
)
def test_a_change_of_its_own_is_not(source):
    assert not changes(ast.parse(source))


def _marked():
    """``module:function`` of each function that is marked as a patch."""
    for name, tree in TREES.items():
        module = "tpucompat." + name[: -len(".py")].replace("/", ".")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and any(
                ast.unparse(each) == "patches.patch" for each in node.decorator_list
            ):
                yield f"{module}:{node.name}"


@pytest.mark.skipif(not hasattr(ast, "unparse"), reason="Python 3.9 and later")
def test_each_row_has_its_function():
    assert sorted(_marked()) == sorted(row.make for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.make.partition(":")[2])
def test_a_row_says_what_and_why(row):
    assert row.why.endswith(".") and row.targets and row.group
    # A pattern that fits everything would let the test that applies the patches pass whatever they replace.
    assert [target for target in row.targets if not target.strip("*.")] == []


def test_the_row_of_old_attributes_names_the_libraries_of_their_table():
    row = next(row for row in ROWS if row.make.endswith(":restore_attribute"))
    libraries = {module.partition(".")[0] + ".*" for module in surroundings.table.ATTRIBUTES}
    assert set(row.targets) == libraries


def test_the_readme_names_what_is_patched_for_the_whole_process():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    statement = " ".join(readme.split("Process-wide\n")[1].split("`tpucompat doctor")[0].split())
    libraries = {
        target.partition(".")[0].rstrip("*")
        for row in ROWS
        for target in row.targets
        if "script alone" not in row.why and target[0].islower()
    } - {"dict"}  # of TensorFlow's
    words = statement.lower().replace("tf-slim", "tf_slim")
    assert {"tensorflow", "numpy"} < libraries
    assert [name for name in sorted(libraries) if name not in words] == []
