"""The package has seven floors: imports go downward only, and never in a circle.

``lint-imports`` (``pyproject.toml``) checks the floors too. This reads the files alone, so that it runs
wherever the tests run, and it sees what import-linter does not: circles below a floor's own folders, and rows
that name modules by string.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tpucompat"
#: Folder or module -> its floor.
FLOORS = {
    "version": 1,
    "base": 1,
    "names": 2,
    "tf": 2,
    "engines": 3,
    "idioms": 4,
    "contrib": 5,
    "standins": 5,
    "runtime": 6,
    "v1": 6,
    "commands": 7,
    "__main__": 7,
}
#: Rooms of one floor that may import each other in this direction alone.
BESIDE = {("contrib", "standins"), ("base", "version"), ("v1", "runtime"), ("__main__", "commands")}
ROWS = re.compile(r'"(tpucompat(?:\.\w+)+):')


def module_of(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name[: -len(".__init__")] if name.endswith(".__init__") else name


MODULES = {module_of(path): path for path in PACKAGE.rglob("*.py")}


def for_checkers_alone(tree: ast.Module) -> set[int]:
    """Nodes below ``if TYPE_CHECKING:``."""
    return {
        id(inside)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inside in ast.walk(node)
    }


def imported(path: Path) -> set[str]:
    """Modules of the package that a file imports, in functions too."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unseen = for_checkers_alone(tree)
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                found.add(name if name in MODULES else str(node.module))
    return found & MODULES.keys()


IMPORTED = {module: imported(path) - {module} for module, path in MODULES.items()}


def room(module: str) -> str:
    return module.partition(".")[2].partition(".")[0]


@pytest.mark.parametrize("name", sorted({room(each) for each in MODULES if room(each)}))
def test_every_room_is_on_a_floor(name):
    assert name in FLOORS


def test_imports_go_downward():
    wrong = []
    for module, others in IMPORTED.items():
        for other in others:
            here, there = room(module), room(other)
            allowed = here == there or (here, there) in BESIDE
            if here and there and not allowed and FLOORS[here] <= FLOORS[there]:
                wrong.append(f"{module} imports {other}")
    assert wrong == []


def test_no_circle_of_imports():
    done: set[str] = set()

    def circle(module: str, way: tuple[str, ...]) -> tuple[str, ...]:
        if module in way:
            return (*way[way.index(module) :], module)
        if module in done:
            return ()
        for other in sorted(IMPORTED[module]):
            found = circle(other, (*way, module))
            if found:
                return found
        done.add(module)
        return ()

    # The root offers the public names; it imports them when they are asked for.
    below = [each for each in sorted(MODULES) if each != "tpucompat"]
    assert [found for found in (circle(each, ()) for each in below) if found] == []


def test_the_package_is_imported_by_none_of_its_modules():
    assert [each for each, others in IMPORTED.items() if "tpucompat" in others] == []


def test_rows_alone_name_modules_by_string():
    named = {
        module
        for module, path in MODULES.items()
        if any(FLOORS[room(row)] > FLOORS[room(module)] for row in ROWS.findall(path.read_text()))
        if room(module)
    }
    tables = ("tpucompat.names.", "tpucompat.tf.patches.")
    assert {module for module in named if not module.startswith(tables)} == set()


def test_rows_name_modules_that_there_are():
    named = {row for path in MODULES.values() for row in ROWS.findall(path.read_text())}
    assert named - MODULES.keys() == set()
    assert len(named) > 50


#: Says in a file's head why its functions import for themselves.
REASON = "# Imports inside functions: "
#: Today's number of such imports; at most 30 is the aim.
INSIDE = 24


def inside_functions(path: Path) -> list[int]:
    """The lines of imports inside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [
        n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    inside = [n for each in functions for n in ast.walk(each)]
    return sorted({n.lineno for n in inside if isinstance(n, (ast.Import, ast.ImportFrom))})


def test_imports_inside_functions_have_a_reason():
    count, without = 0, []
    for module, path in sorted(MODULES.items()):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for line in inside_functions(path):
            count += 1
            said = "  # " in lines[line - 1] or lines[line - 2].strip().startswith("# ")
            if not said and REASON not in text:
                without.append(f"{module}:{line}")
    assert without == []
    assert count <= INSIDE


def test_late_modules_are_not_of_the_package():
    """``late`` is for libraries; a module of the package that comes late is imported by a statement."""
    names = {
        argument.value
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "late"
        for argument in node.args
    }
    assert len(names) > 20
    assert {name for name in names if name.startswith("tpucompat")} == set()


#: Of a file: the lines of code and docstrings. Of a function: all lines but its docstring.
MOST_LINES, MOST_OF_A_FUNCTION = 500, 60
#: Files that may be longer, and why.
LONG_FILES = {
    "base/codes.py": "data: a row per code",
    "commands/analysis/keras_3_rows.py": "data: a row per difference of Keras 3",
    "commands/migrate/written/training_loop.py": "one file that is written beside the user's script",
}
#: Functions that may be longer, and why.
LONG_FUNCTIONS = {
    "commands/migrate/written/training_loop.py:train": "the user reads it from top to bottom",
}


def test_no_file_is_longer_than_500_lines():
    long = {}
    for path in MODULES.values():
        text = path.read_text(encoding="utf-8")
        lines = [
            line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")
        ]
        if len(lines) > MOST_LINES:
            long[path.relative_to(PACKAGE).as_posix()] = len(lines)
    assert long.keys() == LONG_FILES.keys(), long


def test_no_function_is_longer_than_60_lines():
    long = {}
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1:] if ast.get_docstring(node) and node.body[1:] else node.body
                head = body[0].lineno - node.body[0].lineno
                length = node.end_lineno - node.lineno + 1 - head  # type: ignore[operator]
                if length > MOST_OF_A_FUNCTION:
                    long[f"{path.relative_to(PACKAGE).as_posix()}:{node.name}"] = length
    assert long.keys() == LONG_FUNCTIONS.keys(), long
