"""Compiles one TensorFlow 1 training step as TensorFlow 1.15 lowers it, and as tpucompat does, and compares.

    python tools/compare_flops.py /path/to/python-with-tensorflow-1.15

TensorFlow 1.15 writes its own lowered form of the step (`tf.contrib.compiler.xla`, XLA_FLAGS=--xla_dump_to);
`tpucompat check` lowers the same function given to `tf.contrib.tpu.rewrite`. libtpu compiles both for one core,
and counts the floating-point operations of what it has made. It fails where they differ by more than 1 %, and
leaves what it found in tools/check_examples.json for docs/check.md.
"""

from __future__ import annotations

import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import check_examples

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tpucompat.base import targets  # noqa: E402
from tpucompat.commands.check import compiler  # noqa: E402
from tpucompat.tf import private  # noqa: E402

TPUS = ("v3-8", "v5e-1")
LIMIT = 0.01

STEP = """
import sys
import numpy as np
import tensorflow as tf

def step(images, labels):
  net = tf.reshape(images, [32, 28, 28, 1])
  for index, width in enumerate((8, 16)):
    kernel = tf.get_variable('kernel%d' % index, [3, 3, net.shape[-1], width], use_resource=True)
    scale = tf.get_variable('scale%d' % index, [width], use_resource=True)
    net = tf.nn.conv2d(net, kernel, [1, 1, 1, 1], 'SAME')
    net, _, _ = tf.nn.fused_batch_norm(net, scale, tf.zeros([width]))
    net = tf.nn.max_pool(tf.nn.relu(net), [1, 2, 2, 1], [1, 2, 2, 1], 'SAME')
  dense = tf.get_variable('dense', [7 * 7 * 16, 10], use_resource=True)
  logits = tf.matmul(tf.reshape(net, [32, -1]), dense)
  loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
  optimizer = tf.train.AdamOptimizer(1e-3)
  gradients, variables = zip(*optimizer.compute_gradients(loss))
  clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
  with tf.control_dependencies([optimizer.apply_gradients(zip(clipped, variables))]):
    return tf.identity(loss)

tf.enable_resource_variables()
images, labels = tf.placeholder(tf.float32, [32, 784]), tf.placeholder(tf.int32, [32])
if 'own' in sys.argv:
  from tensorflow.contrib.compiler import xla
  loss = xla.compile(step, [images, labels])
else:
  loss = tf.contrib.tpu.rewrite(step, [images, labels])
with tf.Session() as session:
  session.run(tf.global_variables_initializer())
  session.run(loss, {images: np.ones([32, 784]), labels: np.zeros([32], np.int32)})
"""


def lowered_by_tensorflow_1(python: str, script: str, folder: str) -> bytes:
    """TensorFlow 1.15's own ``HloModuleProto`` of the step, before XLA's optimizations."""
    flags = f"--xla_dump_to={folder}/dump --xla_dump_hlo_as_proto"
    subprocess.run(
        [python, script, "own"],
        env=dict(os.environ, XLA_FLAGS=flags, CUDA_VISIBLE_DEVICES="-1"),
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    files = glob.glob(folder + "/dump/*before_optimizations*.pb")
    largest = max(files, key=os.path.getsize)  # the others initialize variables
    return _as_today(_first_field(pathlib.Path(largest).read_bytes()))


def _as_today(program: bytes) -> bytes:
    """The program with the size of a dimension as a signed integer: unsigned in 2019, refused today."""
    module = private.hlo_module(program)
    for computation in module.computations:
        for instruction in computation.instructions:
            if instruction.opcode == "get-dimension-size":
                instruction.shape.element_type = _SIGNED
    return bytes(module.SerializeToString())


_SIGNED = 4  # xla.PrimitiveType.S32


def _first_field(message: bytes) -> bytes:
    """Field 1 of a serialized ``HloProto``, which is its module."""
    assert message[0] == 0x0A, message[:4]
    size = shift = 0
    for place, byte in enumerate(message[1:], 2):
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return message[place : place + size]
    raise ValueError("the message is cut off")


def lowered_by_tpucompat(script: str, folder: str) -> bytes:
    """What ``tpucompat check`` keeps of the step."""
    command = [sys.executable, "-m", "tpucompat", "check", "--tpu", "v5e-1"]
    command += ["--keep", folder + "/kept", "--no-compiler", "--json", script]
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["verdict"] == "lowers", done.stdout
    (file,) = glob.glob(folder + "/kept/1/*.hlo")
    return pathlib.Path(file).read_bytes()


def main() -> int:
    """Prints both counts and their relative difference; 1 if it is more than 1 %."""
    libtpu = compiler.find()
    compiles = compiler.Compiler(libtpu)
    flops: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "step.py")
        pathlib.Path(script).write_text(STEP)
        programs = {
            "TensorFlow 1.15": lowered_by_tensorflow_1(sys.argv[1], script, folder),
            "tpucompat": lowered_by_tpucompat(script, folder),
        }
        for name, program in programs.items():
            file = os.path.join(folder, "program")
            pathlib.Path(file).write_bytes(program)
            for tpu in TPUS:
                outcome = compiles.compile(file, targets.TARGETS[tpu], 1, "full")
                assert outcome.verdict == "compiles", (name, outcome)
                flops.setdefault(tpu, {})[name] = outcome.flops
    compiles.close()
    found = {"compiler": f"libtpu {libtpu.version}", "flops": flops}
    check_examples.keep({"flops": found}, "flops")
    worst = 0.0
    for tpu, counts in flops.items():
        difference = check_examples.apart(counts)
        worst = max(worst, difference)
        told = ", ".join(f"{name} {count:.0f} FLOP" for name, count in counts.items())
        print(f"{tpu}: {told}; relative difference {difference:.1e}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
