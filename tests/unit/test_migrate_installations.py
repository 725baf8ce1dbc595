"""What a notebook installs, and the TensorFlow that it chooses, before and after migration."""

from __future__ import annotations

import json

import pytest

from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.migrate import plan


def migrated(*cells, **settings):
    """The cells after migration; a second pass leaves them unchanged."""
    book = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    data = json.dumps(book).encode()
    for _ in range(2):
        module = findings.understand(sources.decode("book.ipynb", data))
        result = plan.migrate(module, **settings)
        assert not result.problems
        after = [cell["source"] for cell in json.loads(result.after)["cells"]]
        data = result.after
    assert after == [cell["source"] for cell in json.loads(data)["cells"]]
    return after


USED = "import tensorflow as tf\nx = tf.math.log(1.0)"


def test_the_choice_of_tensorflow_goes():
    cell = "try:\n  # %tensorflow_version is Colab's\n  %tensorflow_version 2.x\nexcept Exception:\n  pass"
    before = ["%tensorflow_version 1.x\n" + USED, "%tensorflow_version 2.x  # at last", cell]
    inside = cell.replace("  %tensorflow_version 2.x", "  pass")
    assert migrated(*before) == [USED, "", inside]


def test_the_choice_in_a_text_stays():
    cell = "told = '''\n%tensorflow_version 1.x\n'''"
    assert migrated(USED, cell) == [USED, cell]


@pytest.mark.parametrize(
    "before, after",
    [
        ("!pip install -q tensorflow==1.15", "!pip install -q tensorflow"),
        ("%pip install 'tensorflow-gpu<2' h5py<3", "%pip install 'tensorflow' h5py<3"),
        ("!pip3 install tensorflow-gpu", "!pip3 install tensorflow"),
        ("!python -m pip install keras==2.2.4", "!python -m pip install keras"),
        ("pip install tensorflow~=2.3.1", "pip install tensorflow"),
        *(
            (line, line)
            for line in (
                "!pip install tensorflow==2.18.0 keras>=3",
                "!pip install tensorflow-datasets==4.1.0 keras-bert==0.89 tensorflow_hub==0.7",
                "!pip install tensorflow>=1.14,<3 ./tensorflow==1.14.whl",
                "!pip uninstall -y tensorflow==1.14",
                "!echo tensorflow==1.14",
                "print('!pip install tensorflow==1.14')",
            )
        ),
    ],
)
def test_versions_before_keras_3_are_not_installed(before, after):
    assert migrated(before, USED) == [after, USED]


def test_keras_2_has_a_package_of_its_own():
    before = "!pip install keras==2.3.1"
    assert migrated(before, USED, version=2)[0] == "!pip install tf-keras"
