"""docs/architecture.md names files and functions that there are, and every room of the package."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tpucompat"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
DRAWING = PAGE.split("```")[1]
STOP = re.compile(r"(?m)^\d\. `([\w/]+\.py)` ((?:`\w+`(?:, )?)+):")
FILE = re.compile(r"[\w-]+(?:/[\w.-]+)*(?:\.py|\.txt|\.toml|/)")


def drawn():
    """The paths in the drawing, below the package."""
    floor = room = ""
    for line in DRAWING.strip("\n").splitlines():
        depth = len(line) - len(line.lstrip(" 1234567"))
        name = line[depth:].split()[0]
        if depth == 3:
            floor, room = name, ""
        else:
            room = name
        yield floor + room


def test_the_paths_of_the_drawing_exist():
    assert [path for path in drawn() if not (PACKAGE / path).exists()] == []


def test_files_named_behind_a_path_are_of_the_same_floor():
    lines = DRAWING.strip("\n").splitlines()
    missing = [
        name
        for line, path in zip(lines, drawn())
        for name in re.findall(r"\b\w+\.py\b", line)
        if not list((PACKAGE / path.split("/")[0]).rglob(name)) and not (PACKAGE / name).exists()
    ]
    assert missing == []


def test_every_folder_of_the_package_is_drawn():
    folders = {
        path.parent.relative_to(PACKAGE).as_posix() + "/" for path in PACKAGE.rglob("*/__init__.py")
    }
    inside = {"commands/migrate/written/", "commands/verify/report/"}  # named in their rooms' lines
    assert folders - set(drawn()) - {"./"} == inside
    assert all(path.split("/")[-2] + "/" in DRAWING for path in inside)


def test_the_walks_name_what_their_files_define():
    stops = STOP.findall(PAGE)
    for path, names in stops:
        tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
        defined = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        }
        assert set(re.findall(r"\w+", names)) <= defined, path
    assert [len(walk) for walk in _walks()] == [8, 8]
    assert len(stops) == 16


def _walks():
    text = PAGE.split("## Two walks")[1].split("\n## ")[0]
    return [re.findall(r"(?m)^\d\. ", walk) for walk in text.split("\n**")[1:]]


def test_files_named_in_the_text_exist():
    text = "".join(PAGE.split("```")[::2])
    named = {name for name in re.findall(r"`([^`\s]+)`", text) if FILE.fullmatch(name)}
    missing = [
        name
        for name in sorted(named)
        if not name.startswith("tensorflow/")  # TensorFlow's own
        if not any(place.exists() for place in (ROOT / name, ROOT / "docs" / name))
        if not any(PACKAGE.rglob(name))
    ]
    assert missing == []
    assert len(named) > 40
