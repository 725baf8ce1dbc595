"""The first pair (``fashion_mnist_keras.py``), run half by half with equal weights and batches.

The demo, the tests, the comparison and the recorded reference share this module.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(ROOT, "examples_data")
LEGACY = os.path.join(ROOT, "legacy_examples", "fashion_mnist_keras.py")
MIGRATED = os.path.join(ROOT, "migrated_examples", "fashion_mnist_keras.py")
REFERENCE = os.path.join(ROOT, "tests", "data", "first_pair_tf115.json")

#: The filters of the first convolution, as the scripts have it by default.
FILTERS = 16
#: The only random thing left when weights and batch order are given is dropout: it is off.
FLAGS = ("--data-dir", DATA, "--dropout", "0")
#: TensorFlow 1.15's rounding, for both halves: what tpucompat/runtime/rounding.py calls exact mode.
EXACT = {"TPUCOMPAT_EXACT": "1", "TF_ENABLE_ONEDNN_OPTS": "0"}


class Case(NamedTuple):
    """One way to train the pair.

    Attributes:
      flags: The flags of the scripts.
      batch_norm: Whether the model has batch normalization.
      limit: The largest relative difference that a step's loss may have from TensorFlow 1.15.
      first: The limit holds for this many steps; later, rounding has grown by itself.
      why: Where the limit comes from.
    """

    flags: tuple[str, ...]
    batch_norm: bool
    limit: float
    first: int
    why: str


CASES: Mapping[str, Case] = {
    "plain": Case(
        ("--no-batch-norm",),
        batch_norm=False,
        limit=1e-5,
        first=10,
        why="single precision; the releases add up in another order",
    ),
    "batch_norm_float64": Case(
        ("--float64",),
        batch_norm=True,
        limit=1e-5,
        first=10,
        why="double precision: what is left is TensorFlow's arithmetic itself",
    ),
    "batch_norm": Case(
        (),
        batch_norm=True,
        limit=2e-3,
        first=10,
        why="TensorFlow's own batch norm sums 800,000 single-precision numbers per channel in "
        "another order in each release: its variance is wrong by 1e-4 to 1e-3, in 1.15 too",
    ),
}

#: What the migrated half may differ by where a case allows less. Adam's constants are float32 in
#: TensorFlow 1 (0.999 is 0.99900001) and exact in Keras: an update differs by up to 6e-6.
MIGRATED_LIMIT = 2e-5


def initial_weights(batch_norm: bool, filters: int = FILTERS, seed: int = 0) -> list[np.ndarray]:
    """The weights that both halves start from, in the order of ``model.get_weights()``.

    Kernels are Glorot-uniform as in Keras, drawn by NumPy's frozen ``RandomState``: they are the
    same numbers on every machine and NumPy version.
    """
    rng = np.random.RandomState(seed)
    weights: list[np.ndarray] = []

    def kernel(*shape: int) -> None:
        window = int(np.prod(shape[:-2]))
        limit = np.sqrt(6.0 / (window * (shape[-2] + shape[-1])))
        weights.append(rng.uniform(-limit, limit, shape).astype(np.float32))

    def constants(count: int, *values: float) -> None:
        weights.extend(np.full(count, value, np.float32) for value in values)

    channels = 1
    for block in range(3):
        width = filters * 2**block
        kernel(3, 3, channels, width)
        if batch_norm:
            constants(width, 1, 0, 0, 1)  # gamma, beta, moving mean and variance
        else:
            constants(width, 0)  # the bias, which batch norm makes superfluous
        channels = width
    for inputs, outputs in ((9 * channels, 128), (128, 10)):
        kernel(inputs, outputs)
        constants(outputs, 0)
    return weights


def save_initial_weights(path: str, batch_norm: bool, filters: int = FILTERS) -> None:
    """Writes :func:`initial_weights` as the scripts' ``--initial-weights`` reads them."""
    np.savez(path, *initial_weights(batch_norm, filters))


def legacy_command(python: str, options: Sequence[str] = ()) -> list[str]:
    """The command that runs the legacy half through tpucompat; ``options`` are tpucompat's own."""
    return [python, "-m", "tpucompat", "run", *options, LEGACY]


def reference_command(python: str) -> list[str]:
    """The command that runs the legacy half on a TensorFlow 1.15 without tpucompat."""
    return [python, os.path.join(ROOT, "tools", "host_clone.py"), LEGACY]


def migrated_command(python: str) -> list[str]:
    """The command that runs the migrated half."""
    return [python, MIGRATED]


def environ(**changes: str) -> dict[str, str]:
    """The environment of a run: this one, this tree first on the path, no GPU, few log lines."""
    found = [ROOT, os.environ.get("PYTHONPATH", "")]
    result = dict(os.environ, PYTHONPATH=os.pathsep.join(part for part in found if part))
    # A comparison of two CPUs is meant, also on a machine that has a GPU.
    result.update(CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="2")
    result.update(changes)
    return result


def train(
    command: Sequence[str],
    case: Case,
    steps: int,
    epochs: int = 1,
    filters: int = FILTERS,
    flags: Sequence[str] = (),
    timeout: float = 600,
    **changes: str,
) -> dict[str, Any]:
    """Runs one half and returns what it wrote to ``--history``.

    Args:
      command: From :func:`legacy_command` or :func:`migrated_command`.
      case: Which model, in which precision.
      steps: Steps of all epochs together; a multiple of ``epochs``.
      epochs: How often to validate on the way.
      filters: The width of the first convolution.
      flags: More flags for the script.
      timeout: Seconds after which the run is ended.
      **changes: Environment variables, beside those of exact mode.

    Returns:
      ``step_loss`` (a list of ``steps`` numbers), ``epochs``, ``test``, ``predictions``; and
      ``output``, standard output and error as text.

    Raises:
      RuntimeError: The run failed; the end of its output is in the text.
    """
    with tempfile.TemporaryDirectory() as folder:
        weights = os.path.join(folder, "initial.npz")
        history = os.path.join(folder, "history.json")
        save_initial_weights(weights, case.batch_norm, filters)
        words = [*command, *FLAGS, *case.flags, *flags, "--filters", str(filters)]
        words += ["--epochs", str(epochs), "--steps-per-epoch", str(steps // epochs)]
        words += ["--initial-weights", weights, "--history", history]
        done = subprocess.run(
            words,
            env=environ(**{**EXACT, **changes}),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
        )
        output = done.stdout.decode("utf-8", "replace")
        if done.returncode:
            raise RuntimeError(
                f"exit code {done.returncode} from {' '.join(words)}\n{output[-4000:]}"
            )
        with open(history, encoding="utf-8") as stream:
            result: dict[str, Any] = json.load(stream)
    result["output"] = output
    return result


def differences(losses: Sequence[float], reference: Sequence[float]) -> np.ndarray:
    """The relative difference of each step's loss, shape (steps,)."""
    expected = np.asarray(reference, np.float64)
    return np.abs(np.asarray(losses, np.float64) - expected) / np.abs(expected)


def versions(python: str) -> dict[str, str]:
    """The versions of Python, NumPy and TensorFlow behind an interpreter; imports no TensorFlow."""
    program = (
        "import json, platform\n"
        "from tpucompat.base.machine import environment\n"
        "import numpy\n"
        "print(json.dumps({'python': platform.python_version(), 'numpy': numpy.__version__,"
        " 'tensorflow': environment().tensorflow}))"
    )
    output = subprocess.check_output([python, "-c", program], env=environ())
    found: dict[str, str] = json.loads(output.decode("utf-8"))
    return found
