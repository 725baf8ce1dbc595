"""Code cells as Python, and what they speak."""

import pytest

pytest.importorskip("IPython", reason="the extra [notebook] is not installed")
nbformat = pytest.importorskip("nbformat", reason="the extra [notebook] is not installed")

from tpucompat.names import era  # noqa: E402
from tpucompat.names.python_2 import is_python_2  # noqa: E402
from tpucompat.runtime.notebooks import cells  # noqa: E402


def code(*sources):
    v4 = nbformat.v4
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell("# title")])
    notebook.cells += [v4.new_code_cell(source) for source in sources]
    return list(cells.code_cells(notebook))


def test_cells_are_numbered_as_in_the_file():
    assert [cell.number for cell in code("a = 1", "", "b = 2")] == [2, 4]


@pytest.mark.parametrize(
    "source",
    [
        "%matplotlib inline\nimport os",
        "!ls {path}\nfiles = !ls\nfor f in files:\n    !cat $f",
        "%%time\nx = 1",
        "%%timeit -n 3\nx = 1",
        "x?\nx",
        "await something()",
        "\n  x = [1,\n       2]\nx",
        "%%bash\necho 'no python",
        "#@title A form\n\n%%bash\necho 'no python",
        "get_ipython().magic('matplotlib inline')",
    ],
)
def test_magics_are_no_syntax_errors(source):
    (cell,) = code(source)
    assert cells.syntax_error(cell) is None


def test_the_body_of_a_timed_cell_is_read():
    (cell,) = code("%%time\nimport tensorflow")
    assert "import tensorflow" in cell.python


def test_comments_may_stand_above_a_magic():
    (cell,) = code("#@title A form\n%%time\nimport tensorflow")
    assert "import tensorflow" in cell.python
    lines = ["# one\n", "%%bash\n", "ls\n"]
    assert cells.outdented(lines) == lines[1:]
    assert cells.outdented(["# one\n", "x = 1\n"]) == ["# one\n", "x = 1\n"]
    (cell,) = code("%%bash\nimport tensorflow")
    assert cell.python == ""


@pytest.mark.parametrize("source, old", [("print 'hello'", True), ("x = (1", False)])
def test_python_2_is_told_from_other_errors(source, old):
    (cell,) = code("%matplotlib inline\n" + source)
    assert is_python_2(cells.syntax_error(cell)) is old


@pytest.mark.parametrize(
    "sources, found",
    [
        (["%tensorflow_version 2.x", "import tensorflow as tf"], era.TF2),
        (["%tensorflow_version 1.x", "import tensorflow as tf\ntf.function(f)"], era.TF1),
        (["import tensorflow as tf", "!pip list", "%%time\n@tf.function\ndef f(): pass"], era.TF2),
        (["import tensorflow as tf", "x = (1", "tf.contrib.tpu"], era.TF1),
    ],
)
def test_the_era_is_found_in_all_cells(sources, found):
    assert era.detect(cells.source_for_era(code(*sources))).era == found
