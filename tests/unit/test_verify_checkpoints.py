"""``tpucompat convert-checkpoint`` between the files of Keras, for which no TensorFlow is needed."""

from __future__ import annotations

import json
import os
import zipfile

import numpy as np
import pytest

from tpucompat.__main__ import main
from tpucompat.checkpoints import conversion, formats

h5py = pytest.importorskip("h5py")

RNG = np.random.RandomState(0)
# As Keras 2 calls them; two layers of the same shape, and batch normalization with four vectors.
WEIGHTS = {
    "conv/kernel": RNG.randn(3, 3, 1, 4),
    "conv/bias": RNG.randn(4),
    "norm/gamma": RNG.randn(4),
    "norm/beta": RNG.randn(4),
    "norm/moving_mean": RNG.randn(4),
    "norm/moving_variance": RNG.rand(4),
    "dense/kernel": RNG.randn(4, 4),
    "dense/bias": RNG.randn(4),
    "dense_1/kernel": RNG.randn(4, 4),
    "dense_1/bias": RNG.randn(4),
}
WEIGHTS = {name: value.astype(np.float32) for name, value in WEIGHTS.items()}


@pytest.fixture
def h5(tmp_path):
    path = str(tmp_path / "old.h5")
    conversion._write_h5(path, WEIGHTS)
    return path


@pytest.fixture
def keras_3(tmp_path):
    """A file as Keras 3 writes it: layers by name, variables by number, and the optimizer's."""
    path = str(tmp_path / "new.weights.h5")
    with h5py.File(path, "w") as file:
        for layer in ("conv", "norm", "dense", "dense_1"):
            group = file.create_group(f"layers/{layer}/vars")
            values = [v for name, v in WEIGHTS.items() if name.startswith(layer + "/")]
            for index, value in enumerate(values):
                group.create_dataset(str(index), data=np.zeros_like(value))
        file.create_group("optimizer/vars").create_dataset("0", data=np.int64(7))
    return path


def test_keras_2_to_keras_3_and_back(h5, keras_3, tmp_path, capsys):
    there, back = str(tmp_path / "there.weights.h5"), str(tmp_path / "back.h5")
    assert main(["convert-checkpoint", h5, there, "--like", keras_3]) == 0
    assert "10 variables, read back and equal" in capsys.readouterr().out
    with h5py.File(there) as file:
        np.testing.assert_array_equal(file["layers/norm/vars/3"], WEIGHTS["norm/moving_variance"])
        np.testing.assert_array_equal(file["layers/dense_1/vars/0"], WEIGHTS["dense_1/kernel"])
        assert file["optimizer/vars/0"][()] == 7  # what is not the model's stays
    assert formats.kind(there) == "keras" and formats.kind(h5) == "h5"
    assert main(["convert-checkpoint", there, back, "--like", h5]) == 0
    found = formats.read(back)
    assert list(found) == list(WEIGHTS)
    for name, value in WEIGHTS.items():
        np.testing.assert_array_equal(found[name], value)


def test_an_archive_of_keras_3_keeps_its_other_files(h5, keras_3, tmp_path):
    like, target = str(tmp_path / "like.keras"), str(tmp_path / "target.keras")
    with zipfile.ZipFile(like, "w") as archive:
        archive.writestr("config.json", '{"class_name": "Sequential"}')
        archive.write(keras_3, formats.WEIGHTS_IN_ARCHIVE)
    done = conversion.convert(h5, target, like=like)
    assert done.target == "keras" and done.kept == []
    np.testing.assert_array_equal(
        formats.read(target)["layers/dense/kernel"], WEIGHTS["dense/kernel"]
    )
    with zipfile.ZipFile(target) as archive:
        assert archive.read("config.json") == b'{"class_name": "Sequential"}'


def test_a_mapping_decides(h5, keras_3, tmp_path):
    mapping = tmp_path / "map.json"
    swapped = {"layers/dense/kernel": "dense_1/kernel", "layers/dense_1/kernel": "dense/kernel"}
    mapping.write_text(json.dumps(swapped))
    target = str(tmp_path / "target.weights.h5")
    arguments = [h5, target, "--like", keras_3, "--map", str(mapping)]
    assert main(["convert-checkpoint", *arguments]) == 0
    found = formats.read(target)
    np.testing.assert_array_equal(found["layers/dense/kernel"], WEIGHTS["dense_1/kernel"])


def test_variables_without_a_twin_are_said_or_kept(keras_3, tmp_path, capsys):
    source, target = str(tmp_path / "part.h5"), str(tmp_path / "target.weights.h5")
    conversion._write_h5(source, {n: v for n, v in WEIGHTS.items() if not n.startswith("conv")})
    assert main(["convert-checkpoint", source, target, "--like", keras_3]) == 2
    assert "nothing in" in capsys.readouterr().err
    assert main(["convert-checkpoint", source, target, "--like", keras_3, "--partial"]) == 0
    assert "layers/conv/kernel" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no.h5", "x.h5"], "there is no such file"),
        (["{h5}", "x.keras"], "--like FILE"),
        (["{h5}", "x"], "--to tf1"),
        (["{h5}", "x.weights.h5", "--like", "{h5}", "--to", "keras"], "is of the kind h5"),
    ],
)
def test_what_cannot_be_converted_is_said(arguments, said, h5, capsys):
    words = [word.replace("{h5}", h5) for word in arguments]
    assert main(["convert-checkpoint", *words]) == 2
    assert said in capsys.readouterr().err


def test_numbers_in_names_are_counted():
    names = ["dense_10/kernel", "dense_9/kernel", "dense/kernel", "a"]
    assert sorted(names, key=formats.natural) == [
        "a",
        "dense/kernel",
        "dense_9/kernel",
        "dense_10/kernel",
    ]


def test_what_belongs_to_an_optimizer():
    for name in (
        "dense/kernel/Adam_1",
        "beta1_power",
        "optimizer/vars/0",
        "save_counter",
        "global_step",
    ):
        assert formats.is_optimizers(name), name
    for name in ("dense/kernel", "adam_block/kernel", "steps_embedding/kernel", "model/norm/gamma"):
        assert not formats.is_optimizers(name), name


def test_a_file_of_keras_2_that_ends_in_keras(h5, tmp_path):
    """Up to TensorFlow 2.11 it is HDF5, not an archive."""
    old, target = str(tmp_path / "old.keras"), str(tmp_path / "target.keras")
    os.rename(h5, old)
    assert formats.kind(old) == "h5"
    changed = str(tmp_path / "changed.h5")
    conversion._write_h5(changed, {name: value + 1 for name, value in WEIGHTS.items()})
    conversion.convert(changed, target, like=old)
    found = formats.read(target)
    assert list(found) == list(WEIGHTS)
    for name, value in WEIGHTS.items():
        np.testing.assert_array_equal(found[name], value + 1)


def test_a_file_that_is_neither(tmp_path, capsys):
    broken = tmp_path / "broken.keras"
    broken.write_bytes(b"no weights")
    assert main(["convert-checkpoint", str(broken), str(tmp_path / "x.h5")]) == 2
    assert "broken.keras" in capsys.readouterr().err
    assert not (tmp_path / "x.h5").exists()
