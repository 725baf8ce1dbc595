"""What TPUEstimator starts from where checkpoints are damaged, and two processes in one directory."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import tpucompat.v1 as tf
from tpucompat.base import journal
from tpucompat.base.errors import BadValueError, RefusedError
from tpucompat.idioms.tpu_estimator import checkpoints

tpu = tf.contrib.tpu


def model_fn(features, labels, mode, params):
    loss = tf.reduce_sum(tf.get_variable("w", [300], use_resource=True) * 2.0)
    optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    train = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train)


def input_fn(params):
    return tf.data.Dataset.from_tensors([1.0]).repeat().batch(1, drop_remainder=True)


def estimator(folder):
    config = tpu.RunConfig(model_dir=str(folder), save_checkpoints_steps=1, keep_checkpoint_max=9)
    return tpu.TPUEstimator(model_fn, config=config, train_batch_size=1)


@pytest.fixture
def folder(tmp_path):
    estimator(tmp_path).train(input_fn, steps=3)
    journal.reset()
    return tmp_path


def steps(folder):
    return sorted(int(name[11:-6]) for name in os.listdir(str(folder)) if name.endswith(".index"))


def flip(path, at=None):
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 1
    path.write_bytes(bytes(data))


def truncate(path):
    path.write_bytes(path.read_bytes()[:10])


DATA, INDEX = "model.ckpt-3.data-00000-of-00001", "model.ckpt-3.index"
DAMAGED = {
    "garbage": (lambda folder: (folder / "checkpoint").write_bytes(b"\xff\0 no state"), 3),
    "empty": (lambda folder: (folder / "checkpoint").write_text(""), 3),
    "names nothing": (lambda folder: (folder / "checkpoint").write_text("# nothing\n"), 3),
    "flipped data": (lambda folder: flip(folder / DATA), 2),
    "flipped index": (lambda folder: flip(folder / INDEX, at=0), 2),
    "short data": (lambda folder: truncate(folder / DATA), 2),
    "empty index": (lambda folder: (folder / INDEX).write_text(""), 2),
    "no data": (lambda folder: (folder / DATA).unlink(), 2),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_the_newest_whole_checkpoint_is_used_and_none_removed(folder, damage):
    break_it, newest = DAMAGED[damage]
    before = steps(folder)
    break_it(folder)
    made = estimator(folder)
    ((code, said),) = journal.notices()
    assert code == "TPU322" and f", using model.ckpt-{newest}" in said
    assert made.latest_checkpoint() == str(folder / f"model.ckpt-{newest}")
    made.train(input_fn, steps=2)
    assert made.get_variable_value("global_step") == newest + 2
    assert set(before) <= set(steps(folder))


def test_a_directory_without_a_whole_checkpoint_is_refused(folder):
    for path in folder.glob("*.index"):
        flip(path, at=0)
    (folder / "checkpoint").write_text("")
    before = sorted(os.listdir(str(folder)))
    with pytest.raises(BadValueError) as caught:
        estimator(folder)
    assert caught.value.code == "TPU322" and "a different model_dir" in caught.value.next_step
    assert sorted(os.listdir(str(folder))) == before


def test_without_the_file_that_names_them_a_training_begins_anew(folder):
    (folder / "checkpoint").unlink()
    assert estimator(folder).train(input_fn, steps=1).get_variable_value("global_step") == 1


def test_a_flipped_bit_anywhere_is_seen_or_changes_nothing(folder):
    def values(path):
        reader = tf.train.NewCheckpointReader(path)
        names = sorted(reader.get_variable_to_shape_map())
        return [(name, reader.get_tensor(name).tolist()) for name in names]

    path, index = str(folder / "model.ckpt-3"), folder / INDEX
    whole, wanted, seen = index.read_bytes(), values(path), 0
    for at in range(len(whole)):
        flip(index, at)
        if checkpoints.is_whole(path):
            assert values(path) == wanted, at
        else:
            seen += 1
        index.write_bytes(whole)
    assert seen > len(whole) / 2


HOLDS = """
import fcntl, os, sys
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)
print("holds", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_two_processes_in_one_directory(folder):
    command = [sys.executable, "-c", HOLDS, str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, universal_newlines=True) as process:
        assert process.stdout.readline() == "holds\n"
        with pytest.raises(RefusedError) as caught:
            estimator(folder).train(input_fn, steps=1)
        process.stdin.close()
    assert caught.value.code == "TPU328" and "a model_dir of its own" in caught.value.next_step
    with checkpoints.alone_in(str(folder)):  # and within one process, which is no other
        estimator(folder).train(input_fn, steps=1)
    assert steps(folder)[-1] == 4
