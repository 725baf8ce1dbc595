"""The examples on rehearsed cores: the numbers of as many emulated ones, and of one replica.

``tools/rehearse_examples.py`` prints the table of all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tpucompat.base.machine import environment

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11) or not environment().has("rehearsal"),
    reason="TensorFlow 2.15 rehearses, Python 3.11 has tomllib",
)
if sys.version_info >= (3, 11):
    import rehearse_examples

    from tpucompat.commands.verify import pairs

    PAIRS = {pair.name: pair for pair in pairs.read(str(rehearse_examples.EXAMPLES))}
else:
    PAIRS = {}

#: The rows that the default suite compares: the rest takes an hour.
QUICK = [("sharded_linear_regression", "legacy", 8)]
ROWS = [(n, half, cores) for n in PAIRS for half in ("legacy", "migrated") for cores in (1, 8)]


@pytest.mark.parametrize(
    ("name", "half", "cores"),
    [row if row in QUICK else pytest.param(*row, marks=pytest.mark.long) for row in ROWS],
)
def test_a_rehearsal_computes_what_other_cores_do(tmp_path, name, half, cores):
    row = rehearse_examples.rehearse(PAIRS[name], half, cores, tmp_path)
    assert row.agrees, row


@pytest.mark.parametrize(
    ("emulated", "one", "itself", "agrees"),
    [
        (9e-6, 2e-7, None, True),
        (9e-6, 2e-5, None, False),
        (2e-5, 2e-7, None, False),
        (2e-5, 2e-5, 3e-5, True),
        (4e-5, 2e-5, 3e-5, False),
    ],
)
def test_a_difference_counts_where_the_program_has_it_not_by_itself(emulated, one, itself, agrees):
    row = rehearse_examples.Row("name", "legacy", 8, emulated, one, itself, "loss")
    assert row.agrees == agrees


OF_TENSORFLOW_1 = """
import json
import tensorflow as tf
tf.set_random_seed(1)
drawn = [
    tf.get_variable(name, [4, 5], initializer=tf.truncated_normal_initializer()) for name in 'ab']
with tf.Session() as session:
  session.run(tf.global_variables_initializer())
  print(json.dumps([value.tolist() for value in session.run(drawn)]))
"""
OF_TENSORFLOW_2 = """
import json
import tensorflow as tf
drawn = [tf.Variable(tf.random.truncated_normal([4, 5])) for _ in "ab"]
print(json.dumps([value.numpy().tolist() for value in drawn]))
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [(OF_TENSORFLOW_1, ["-m", "tpucompat", "run", "--quiet"]), (OF_TENSORFLOW_2, [])],
    ids=["seeded", "eager"],
)
def test_moved_weights_are_those_of_the_program_but_for_their_last_place(tmp_path, text, words):
    script = tmp_path / "drawn.py"
    script.write_text(text)
    paths = [str(rehearse_examples.ROOT / "tools" / "seeded_start"), str(rehearse_examples.ROOT)]

    def run(**moved):
        done = subprocess.run(
            [sys.executable, *words, str(script)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **moved},
            capture_output=True,
            check=True,
        )
        return np.array(json.loads(done.stdout.splitlines()[-1]))

    once, again, moved = run(), run(), run(MOVED_WEIGHTS="1")
    np.testing.assert_array_equal(once, again)
    assert 0 < np.abs(moved / once - 1).max() < 2.0**-22
    assert not np.array_equal(once[0], once[1])
