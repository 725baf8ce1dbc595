"""Asks two exported models the same questions: ``python -m tpucompat.commands.verify.exports OLD NEW OUT.npz``.

Runs in the new script's interpreter: TensorFlow 2 loads what TensorFlow 1 exported.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import zipfile
from typing import Any, Mapping, Sequence

import numpy as np

from tpucompat.base.late import late
from tpucompat.commands.verify.recorder import storable

tf = late("tensorflow")

#: The signature that a server answers with where none is named.
SIGNATURE = "serving_default"
#: Examples in a question.
_EXAMPLES = 8
_SEED = 0


def ask(
    python: str, old: str, new: str, out: str, environment: Mapping[str, str], timeout: float = 300
) -> dict[str, Any]:
    """Loads both models in another process.

    Returns:
      ``{"old": answers, "new": answers}``, arrays by name, and which signatures they are of
      (``old_signature``, ``new_signature``). ``{"problem": ...}`` if the new model gives none,
      ``{"old_problem": ...}`` if the old one does not: TensorFlow 2 may not load it.
    """
    command = [python, "-m", "tpucompat.commands.verify.exports", old, new, out]
    try:
        done = subprocess.run(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"problem": f"the exported models were not loaded: {error}"}
    if done.returncode:
        lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
        return {"problem": "the exported models were not loaded: " + (lines[-1] if lines else "?")}
    with np.load(out) as data:
        answers: dict[str, Any] = {"old": {}, "new": {}}
        for key in data.files:
            which, _, name = key.partition("|")
            if which in answers:
                answers[which][name] = data[key]
            else:
                answers[which] = str(data[key])
    return answers


def main(arguments: Sequence[str]) -> int:
    """Loads both models, asks them, writes the answers down."""
    old, new, out = arguments
    answers: dict[str, Any] = {}
    for which, path, problem in (("old", old, "old_problem"), ("new", new, "problem")):
        try:
            found, signature = answers_of(path)
        except Exception as error:  # whatever loading and calling raise
            text = (str(error).strip().splitlines() or [type(error).__name__])[0]
            answers[problem] = f"the {which} model returns no answer: {text}"
            continue
        answers[f"{which}_signature"] = signature
        for name, value in found.items():
            answers[f"{which}|{name}"] = value
    np.savez(out, **answers)
    return 0


def answers_of(path: str) -> tuple[dict[str, np.ndarray], str]:
    """What a model answers to random numbers, which are the same for all models.

    Args:
      path: A SavedModel, whose first signature is called, or a file with a Keras model.

    Returns:
      Arrays by name, and the signature that was asked; "" for a Keras model.
    """
    if os.path.isfile(path):
        return _answers_of_keras(_keras_of(path).models.load_model(path, compile=False)), ""
    try:
        model = tf.saved_model.load(path)
    except (
        ValueError
    ):  # of several graphs: TPUEstimator exports one for the host, and one for the TPU
        model = tf.saved_model.load(path, tags=["serve"])
    names = sorted(model.signatures)
    chosen = SIGNATURE if SIGNATURE in names else names[0]
    signature = model.signatures[chosen]
    _, inputs = signature.structured_input_signature
    rng = np.random.RandomState(_SEED)
    questions = {name: tf.constant(_question(spec, rng)) for name, spec in sorted(inputs.items())}
    found = {name: storable(np.asarray(v)) for name, v in signature(**questions).items()}
    return found, chosen


def _keras_of(path: str) -> Any:
    """The Keras that wrote a .keras file: it says its release."""
    with zipfile.ZipFile(path) as archive:
        release = str(json.loads(archive.read("metadata.json"))["keras_version"])
    return importlib.import_module("tf_keras" if release.startswith("2.") else "keras")


def _answers_of_keras(model: Any) -> dict[str, np.ndarray]:
    rng = np.random.RandomState(_SEED)
    specs = {one.name: one for one in model.inputs}
    questions = {name: _question(specs[name], rng) for name in sorted(specs)}
    inputs = [questions[one.name] for one in model.inputs]
    outputs = tf.nest.flatten(model(inputs if len(inputs) > 1 else inputs[0], training=False))
    return {f"output_{index}": storable(np.asarray(v)) for index, v in enumerate(outputs)}


def _question(spec: Any, rng: np.random.RandomState) -> np.ndarray:
    shape = [_EXAMPLES if size is None else size for size in tuple(spec.shape)]
    dtype = tf.as_dtype(spec.dtype)
    if dtype.is_floating:
        return rng.uniform(size=shape).astype(dtype.as_numpy_dtype)
    return rng.randint(0, 2, size=shape).astype(dtype.as_numpy_dtype)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
