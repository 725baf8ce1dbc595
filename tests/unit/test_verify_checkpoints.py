"""``tpucompat convert-checkpoint`` between the files of Keras, for which no TensorFlow is needed."""

from __future__ import annotations

import collections
import contextlib
import glob
import io
import json
import os
import random
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from tpucompat.__main__ import main
from tpucompat.commands.checkpoints import conversion, formats

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
    assert "10 variables written and verified" in capsys.readouterr().out
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
    assert "has no match for" in capsys.readouterr().err
    assert main(["convert-checkpoint", source, target, "--like", keras_3, "--partial"]) == 0
    assert "layers/conv/kernel" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no.h5", "x.h5"], "no such file"),
        (["{h5}", "x.keras"], "--like FILE"),
        (["{h5}", "x"], "--to tf1"),
        (["{h5}", "x.weights.h5", "--like", "{h5}", "--to", "keras"], "has the format h5"),
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


# Files of strangers, and disks that are full -------------------------------------------------------


def _external_storage(path, secret):
    with h5py.File(path, "w") as file:
        file.create_dataset("dense/vars/0", (64,), np.uint8, external=[(secret, 0, 64)])


def _external_link(path, secret):
    with h5py.File(path, "w") as file:
        file["dense"] = h5py.ExternalLink(_other(secret), "/")


def _virtual(path, secret):
    layout = h5py.VirtualLayout((4,), np.float32)
    layout[:] = h5py.VirtualSource(_other(secret), "dense/vars/0", shape=(4,))
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("dense/vars/0", layout)


def _soft_link(path, secret):
    with h5py.File(path, "w") as file:
        file["dense/vars/0"] = np.ones(4, np.float32)
        file["dense/again"] = h5py.SoftLink("/")


def _names_a_link(path, secret):
    """The names of layers and weights lead through a link."""
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = [b"layer"]
        file.create_group("layer").attrs["weight_names"] = [b"out/dense/vars/0"]
        file["layer/out"] = h5py.ExternalLink(_other(secret), "/")


def _never_written(path, secret):
    """A terabyte that is declared; 2 KB."""
    with h5py.File(path, "w") as file:
        file.create_dataset("dense/vars/0", (1 << 38,), np.float32)


def _bomb(path, secret):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(
        formats.WEIGHTS_IN_ARCHIVE, "w", force_zip64=True
    ) as item:
        for _ in range(80):
            item.write(bytes(1 << 20))


def _other(secret):
    """Another file of HDF5."""
    other = secret + ".h5"
    with h5py.File(other, "w") as file:
        file["dense/vars/0"] = np.full(4, 7, np.float32)
    return other


@pytest.mark.parametrize(
    "make",
    [
        *(_external_storage, _external_link, _virtual, _soft_link, _names_a_link),
        *(_never_written, _bomb),
    ],
)
def test_a_file_that_reaches_out_of_itself_is_refused(make, h5, tmp_path, capsys):
    secret = tmp_path / "secret"
    secret.write_bytes(b"root:x:0:0:root:/root:/bin/bash\n" * 4)
    path = str(tmp_path / ("hostile.keras" if make is _bomb else "hostile.h5"))
    try:
        make(path, str(secret))
    except (OSError, ValueError) as error:
        pytest.skip(f"this HDF5 does not write such a file: {error}")
    target = tmp_path / "new.h5"
    for arguments in ([path, str(target)], [h5, str(target), "--like", path]):
        assert conversion_code(arguments) == "TPU486", capsys.readouterr()
        assert not target.exists()
    assert secret.read_bytes().startswith(b"root:")


def conversion_code(arguments):
    """The code that the command ends with; it runs here, where its limits are seen."""
    from tpucompat.commands.cli import convert_checkpoint

    with contextlib.redirect_stderr(io.StringIO()) as said:
        assert convert_checkpoint.convert(arguments) == 2
    return said.getvalue().split()[2]


def test_groups_that_hold_each_other(tmp_path):
    path = str(tmp_path / "cycle.weights.h5")
    with h5py.File(path, "w") as file:
        file["a/kernel"] = np.ones(4, np.float32)
        file["a/again"] = file["/"]
    assert list(formats.read(path)) == ["a/kernel"]


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 11)", "time.sleep(60)"])
def test_a_library_that_crashes_or_never_ends(end, tmp_path, monkeypatch, capsys):
    from tpucompat.base import package
    from tpucompat.commands.cli import convert_checkpoint

    cli = tmp_path / "tpucompat" / "commands" / "cli"
    cli.mkdir(parents=True)
    for folder in (cli.parent.parent, cli.parent, cli):
        (folder / "__init__.py").write_text("")
    (cli / "convert_checkpoint.py").write_text(f"import os, time\ndef convert(words): {end}\n")
    monkeypatch.setattr(package, "FOLDER", str(tmp_path / "tpucompat"))
    monkeypatch.setattr(convert_checkpoint, "SECONDS", 2 if "sleep" in end else 60)
    assert main(["convert-checkpoint", "old.h5", "new.h5"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("tpucompat: error: TPU488 old.h5: the reader ")
    assert ("SIGSEGV" in said) != ("did not finish in 2 s" in said)


def test_damaged_files_have_a_code_and_leave_the_target(h5, keras_3, tmp_path, capsys):
    """Cut off and changed at many places; whatever the libraries raise of it."""
    archive = str(tmp_path / "a.keras")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        made.write(keras_3, formats.WEIGHTS_IN_ARCHIVE)
    target = tmp_path / "target.h5"
    target.write_bytes(b"as it was")
    generator = random.Random(0)
    codes = collections.Counter()
    for source in (h5, keras_3, archive):
        with open(source, "rb") as stream:
            whole = stream.read()
        for size in (0, 1, 100, len(whole) // 2, len(whole) - 1):
            damaged = tmp_path / ("damaged" + os.path.splitext(source)[1])
            damaged.write_bytes(whole[:size])
            codes[conversion_code([str(damaged), str(target)])] += 1
        for _ in range(20):
            wrong = bytearray(whole[:-1])
            for _ in range(10):
                wrong[generator.randrange(len(wrong))] = generator.randrange(256)
            damaged.write_bytes(wrong)
            codes[conversion_code([str(damaged), str(target)])] += 1
    assert set(codes) <= {"TPU471", "TPU486"} and sum(codes.values()) == 75
    assert target.read_bytes() == b"as it was" and not glob.glob(str(tmp_path / ".tpucompat*"))


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_disk_that_is_full(h5, tmp_path):
    """The files of the process may have 4 KB: what a full disk does to a write."""
    import resource

    target = tmp_path / "target.h5"
    target.write_bytes(b"as it was")
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "convert-checkpoint", h5, str(target)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert f"TPU471 {target} was not written" in done.stderr
    assert target.read_bytes() == b"as it was" and not glob.glob(str(tmp_path / ".tpucompat*"))
