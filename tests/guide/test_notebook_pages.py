"""The notebooks of the repository, executed in a kernel, each in its folder as Colab would."""

from __future__ import annotations

import glob
import os
import shutil
import sys

import pytest

from tpucompat.base.machine import environment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOTEBOOKS = sorted(glob.glob(os.path.join(ROOT, "notebooks", "*.ipynb")))

RELEASE = environment().release or (0, 0)
pytestmark = pytest.mark.skipif(
    RELEASE < (2, 15) or (RELEASE > (2, 15) and not environment().tf_keras_version),
    reason="the notebooks are written for TensorFlow 2.15 and later, with tf-keras beside it",
)


def test_the_three_notebooks_are_there():
    assert [os.path.basename(path) for path in NOTEBOOKS] == [
        "migrate_a_tpu_estimator.ipynb",
        "run_an_old_tpu_script.ipynb",
        "verify_a_migration.ipynb",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=os.path.basename)
def test_a_notebook_runs_to_its_end(path, tmp_path, monkeypatch):
    """The cells assert what they show."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    for folder in ("legacy_examples", "migrated_examples", "examples_data", "notebooks"):
        shutil.copytree(os.path.join(ROOT, folder), tmp_path / folder)
    (tmp_path / "build").mkdir()
    monkeypatch.setenv("PYTHONPATH", ROOT)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    notebook = nbformat.read(path, as_version=4)
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
    assert all(not cell.get("outputs") for cell in notebook.cells), "clear the outputs"
    where = {"metadata": {"path": str(tmp_path / "notebooks")}}
    client = nbclient.NotebookClient(notebook, timeout=300, resources=where)
    client.km = client.create_kernel_manager()
    client.km.kernel_cmd = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    client.execute()
    last = [cell for cell in notebook.cells if cell.cell_type == "code"][-1]
    assert last.execution_count == sum(cell.cell_type == "code" for cell in notebook.cells)
