"""Which loop of ``tpucompat migrate`` a script runs, also in a package, and that its module is seen."""

from __future__ import annotations

import importlib
import sys

import pytest

from tpucompat.commands.migrate import written
from tpucompat.commands.verify import loops

LOOP = written.MODULES["training_loop"] + '."""\n'


def _tree(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"main.py": "import training_loop", "training_loop.py": LOOP}, {"training_loop"}),
        ({"main.py": "import model", "training_loop.py": LOOP, "model.py": ""}, set()),
        (
            {"main.py": "from lm import model", "lm/model.py": "from lm import training_loop",
             "lm/training_loop.py": LOOP}, {"training_loop"},
        ),
        (
            {"main.py": "import lm.model", "lm/model.py": "from . import training_loop",
             "lm/training_loop.py": LOOP}, {"training_loop"},
        ),
        (
            {"main.py": "import lm.model", "lm/model.py": "", "lm/__init__.py": "from lm import training_loop",
             "lm/training_loop.py": LOOP}, {"training_loop"},
        ),
        ({"main.py": "import lm.model", "lm/model.py": "", "lm/training_loop.py": LOOP}, set()),
        ({"main.py": "import training_loop", "training_loop.py": "'''My own.'''"}, set()),
        ({"main.py": "import model", "other/model.py": "import training_loop",
          "other/training_loop.py": LOOP}, set()),
        (
            {"main.py": "import model\nx = (", "training_loop.py": LOOP, "model.py": ""}, set()
        ),
        (  # a folder that the script has put on its path
            {"main.py": "import model", "src/model.py": "import training_loop", "training_loop.py": LOOP},
            {"training_loop"},
        ),
    ],
)  # fmt: skip
def test_the_loops_that_a_script_imports(tmp_path, files, expected):
    assert loops.of(str(_tree(tmp_path, files) / "main.py")) == expected


def test_a_script_of_a_package_names_its_modules_from_above(tmp_path):
    files = {"lm/train.py": "from lm.model import f", "lm/model.py": "from lm import training_loop",
             "lm/training_loop.py": LOOP}  # fmt: skip
    assert loops.of(str(_tree(tmp_path, files) / "lm" / "train.py")) == {"training_loop"}


def test_who_asks_is_given_the_module_by_whatever_name(tmp_path, monkeypatch):
    """A module that is no loop of ours, and one of another name, are not shown."""
    _tree(tmp_path, {"lm_a/__init__.py": "", "lm_a/training_loop.py": LOOP + "x = 1\n",
                     "lm_b/__init__.py": "", "lm_b/training_loop.py": "x = 2\n"})  # fmt: skip
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    given = []
    loops.Watch({"training_loop": [given.append, given.append]}).open()
    for name in ("lm_a.training_loop", "lm_b.training_loop"):
        importlib.import_module(name)
        monkeypatch.delitem(sys.modules, name)
        monkeypatch.delitem(sys.modules, name.partition(".")[0])
    assert [(one.__name__, one.x) for one in given] == [("lm_a.training_loop", 1)] * 2
