"""What `tpucompat verify` asks exported models that take text: examples in protocol buffers, pictures."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
import tensorflow as tf
from tpucompat.commands.verify import exports

def answers(function, name):
    module = tf.Module()
    module.serve = tf.function(function, input_signature=[tf.TensorSpec([None], tf.string, name="given")])
    tf.saved_model.save(module, sys.argv[1] + name, module.serve)
    return exports.answers_of(sys.argv[1] + name)

def parsed(factor, words="words"):
    def serve(given):
        fixed = tf.io.FixedLenFeature
        found = tf.io.parse_example(given, {
            "x": fixed([3], tf.float32), "n": fixed([], tf.int64), words: tf.io.VarLenFeature(tf.string)})
        count = tf.cast(tf.strings.length(tf.sparse.to_dense(found[words])), tf.float32)
        return {"y": factor * found["x"] + tf.cast(found["n"], tf.float32)[:, None] + count}
    return serve

def one_by_one(given):
    features = {"x": tf.io.FixedLenFeature([3], tf.float32)}
    return {"y": tf.map_fn(lambda g: tf.io.parse_single_example(g, features)["x"], given, tf.float32)}

def pictures(given):
    decode = lambda g: tf.reduce_mean(tf.cast(tf.io.decode_jpeg(g, channels=3), tf.float32))
    return {"y": tf.map_fn(decode, given, tf.float32)}

first, interface = answers(parsed(1.0), "a")
again, other = answers(parsed(1.0), "b")[0], answers(parsed(2.0), "c")[0]
assert first["y"].shape == (8, 3) and np.array_equal(first["y"], again["y"])
assert not np.allclose(first["y"], other["y"])
asked = interface["serving_default"]["inputs"]
assert asked["feature x"] == ["float32", [3]] and asked["feature n"] == ["int64", []], asked
assert asked["feature words"] == ["string", None], asked
assert "feature tokens" in answers(parsed(1.0, "tokens"), "d")[1]["serving_default"]["inputs"]
assert answers(one_by_one, "e")[0]["y"].shape == (8, 3)
assert np.ptp(answers(pictures, "f")[0]["y"]) > 1
print("asked")
"""


def test_models_that_take_text_are_asked_in_their_form(tmp_path):
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "model-")],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=200,
    )
    assert b"asked" in done.stdout, done.stderr.decode()[-3000:]
