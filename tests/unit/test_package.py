"""The package's own surface."""

import ast
import re
from pathlib import Path

import tpucompat
from tpucompat.base.machine import Environment, environment


def test_environment_is_a_function():
    assert isinstance(tpucompat.environment(), Environment)
    assert tpucompat.environment() is environment()


def test_unknown_names_are_attribute_errors():
    assert not hasattr(tpucompat, "nonsense")


def test_version():
    from tpucompat.version import VERSION

    assert tpucompat.__version__ == VERSION


# TensorFlow's protocol buffers have no public names; their modules did not move between 1.13 and 2.21.
PRIVATE = re.compile(
    r"(tensorflow\.python|tensorflow\.contrib|tensorflow_core|keras\.src|tf_keras\.src)\b"
)


def _imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def test_private_imports_live_in_one_place():
    package = Path(tpucompat.__file__).parent
    found = [
        f"{path.relative_to(package)}:{line}: {name}"
        for path in sorted(package.rglob("*.py"))
        if path.parent.name != "private"
        for line, name in _imported(ast.parse(path.read_text(encoding="utf-8")))
        if PRIVATE.match(name)
    ]
    assert found == []


def test_the_wheel_has_every_file_of_the_package():
    package = Path(tpucompat.__file__).parent
    text = (package.parent / "pyproject.toml").read_text(encoding="utf-8")
    (patterns,) = re.findall(r"(?m)^tpucompat = \[(.*)\]$", text)
    packed = {
        path for pattern in re.findall(r'"(.+?)"', patterns) for path in package.glob(pattern)
    }
    data = {
        path
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".py" and path.parent.name != "__pycache__"
    }
    assert data - packed == set()
    assert len(data) > 3


#: Functions of the standard library that came with Python 3.8 or 3.9, as decorators.
LATER = {"cached_property", "cache"}


def test_no_decorator_needs_a_python_after_3_7():
    for path in Path(tpucompat.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                used = {getattr(each, "attr", "") for each in node.decorator_list}
                assert used.isdisjoint(LATER), f"{path}:{node.lineno}"


def test_nothing_at_import_needs_a_python_after_3_7():
    """``list[int]`` is evaluated outside of annotations, and there it came with Python 3.9."""
    generic = {"dict", "frozenset", "list", "set", "tuple", "type"}
    for path in Path(tpucompat.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for statement in tree.body:
            values = [getattr(statement, "value", None), *getattr(statement, "bases", [])]
            for part in (part for value in values if value for part in ast.walk(value)):
                if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
                    assert part.value.id not in generic, f"{path}:{part.lineno}"
