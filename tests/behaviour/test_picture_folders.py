"""``keras_support``, ``flow_from_directory`` and ``fit_generator`` in one program."""

from __future__ import annotations

import os
import subprocess
import sys

import first_pair
import numpy as np
import pytest

PROGRAM = os.path.join(os.path.dirname(__file__), "programs", "picture_folders.py")
TF115 = os.environ.get("TPUCOMPAT_TF115_PYTHON")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Bright discs and bright crosses on noise, as PNG files in one folder per class."""
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.RandomState(0)
    down, across = np.mgrid[:32, :32]
    for part, count in (("train", 64), ("validation", 16)):
        for name in ("cross", "disc"):
            os.makedirs(str(folder / part / name))
            for number in range(count):
                y, x = rng.randint(10, 22, 2)
                if name == "disc":
                    shape = (down - y) ** 2 + (across - x) ** 2 <= 49
                else:
                    shape = (abs(down - y) <= 2) | (abs(across - x) <= 2)
                noise = rng.randint(0, 100, (32, 32, 3))
                pixels = (noise + 130 * shape[..., np.newaxis]).astype(np.uint8)
                image.fromarray(pixels).save(str(folder / part / name / f"{number:03}.png"))
    return folder


def run(python, words, folder, **environ):
    done = subprocess.run(
        [python, *words],
        env=first_pair.environ(**environ),
        cwd=str(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
    )
    output = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, output[-4000:]
    return output


@pytest.fixture(scope="module")
def trained(pictures, tmp_path_factory):
    """The folder with the weights and predictions of one training run."""
    folder = tmp_path_factory.mktemp("trained")
    run(sys.executable, ["-m", "tpucompat", "run", PROGRAM, str(pictures)], folder)
    return folder


def test_the_program_learns_its_pictures_and_saves_weights(trained):
    with np.load(str(trained / "predictions.npz")) as result:
        assert result["loss"][-1] < 0.5 * result["loss"][0]
        assert result["val_acc"][-1] > 0.9
        assert result["predictions"].shape == (16, 1)
    h5py = pytest.importorskip("h5py")
    with h5py.File(str(trained / "weights.h5"), "r") as weights:
        # The layout of Keras 2: one group per layer, which TensorFlow 1.15 reads.
        names = [
            name.decode() if isinstance(name, bytes) else name
            for name in weights.attrs["layer_names"]
        ]
    assert [name for name in names if name.startswith(("conv2d", "dense"))] == names[:1] + names[
        -2:
    ]


@pytest.mark.reference
@pytest.mark.skipif(not TF115, reason="TPUCOMPAT_TF115_PYTHON is not set")
def test_tensorflow_1_15_loads_the_weights_and_predicts_the_same(trained):
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np, picture_folders\n"
        "model = picture_folders.make_model()\n"
        "model.load_weights('weights.h5')\n"
        "with np.load('predictions.npz') as saved:\n"
        "    print(repr(np.abs(model.predict(saved['x']) - saved['predictions']).max()))\n"
    )
    # Plain TensorFlow 1.15: tpucompat has no part in the loading.
    output = run(TF115, ["-c", program, os.path.dirname(PROGRAM)], trained)
    assert float(output.strip().splitlines()[-1]) <= 1e-6
