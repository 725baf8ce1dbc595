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
from tpucompat.commands.verify import interfaces, questions
from tpucompat.commands.verify.recorder import storable

tf = late("tensorflow")

#: The signature that a server answers with where none is named.
SIGNATURE = "serving_default"
_SEED = 0
#: Behind "old" and "new" in the names of what is told of the models themselves.
_INTERFACE = "_interface"


def ask(
    python: str, old: str, new: str, out: str, environment: Mapping[str, str], timeout: float = 300
) -> dict[str, Any]:
    """Loads both models in another process.

    Returns:
      ``{"old": answers, "new": answers}``, arrays by name, and what can be asked of each model
      (``old_interface``, ``new_interface``: see :mod:`tpucompat.commands.verify.interfaces`).
      ``{"problem": ...}`` if the new model gives none, ``{"old_problem": ...}`` if the old one does not:
      TensorFlow 2 may not load it.
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
    return read(out)


def read(path: str) -> dict[str, Any]:
    """What :func:`main` has written down, as :func:`ask` returns it."""
    with np.load(path) as data:
        answers: dict[str, Any] = {"old": {}, "new": {}}
        for key in data.files:
            which, _, name = key.partition("|")
            if which in answers:
                answers[which][name] = data[key]
            elif key.endswith(_INTERFACE):
                answers[key] = json.loads(str(data[key]))
            else:
                answers[key] = str(data[key])
    return answers


def main(arguments: Sequence[str]) -> int:
    """Loads both models, asks them, writes the answers down."""
    old, new, out = arguments
    answers: dict[str, Any] = {}
    for which, path, problem in (("old", old, "old_problem"), ("new", new, "problem")):
        try:
            found, interface = answers_of(path)
        except Exception as error:  # whatever loading and calling raise
            text = (str(error).strip().splitlines() or [type(error).__name__])[0]
            answers[problem] = f"the {which} model returns no answer: {text}"
            continue
        answers[which + _INTERFACE] = json.dumps(interface)
        for name, value in found.items():
            answers[f"{which}|{name}"] = value
    np.savez(out, **answers)
    return 0


def answers_of(path: str) -> tuple[dict[str, np.ndarray], interfaces.Interface]:
    """What a model answers to random numbers, which are the same for all models.

    Args:
      path: A SavedModel, whose signatures are called, or a file with a Keras model.

    Returns:
      Arrays by name, behind their signature where it is not the usual one; and what can be asked, which is
      empty for a Keras model.
    """
    if os.path.isfile(path):
        return _answers_of_keras(_keras_of(path).models.load_model(path, compile=False)), {}
    try:
        model = tf.saved_model.load(path)
    except (
        ValueError
    ):  # of several graphs: TPUEstimator exports one for the host, and one for the TPU
        model = tf.saved_model.load(path, tags=["serve"])
    names = sorted(model.signatures)
    first = SIGNATURE if SIGNATURE in names else names[0]
    found: dict[str, np.ndarray] = {}
    interface: dict[str, Any] = {}
    for chosen in [first, *(name for name in names if name != first)]:
        signature = model.signatures[chosen]
        _, inputs = signature.structured_input_signature
        outputs = signature.structured_outputs
        interface[chosen] = {
            "inputs": {name: _form(spec) for name, spec in inputs.items()},
            "outputs": {name: _form(spec) for name, spec in outputs.items()},
        }
        texts = None
        if any(_form(spec)[0] == "string" for spec in inputs.values()):
            texts = questions.texts_of(signature.graph)
            for name, feature in texts.features.items():
                interface[chosen]["inputs"][f"feature {name}"] = questions.form_of(feature)
        rng = np.random.RandomState(_SEED)
        asked = {
            name: tf.constant(questions.question(spec, rng, texts))
            for name, spec in sorted(inputs.items())
        }
        place = "" if chosen == first else f"{chosen}: "
        try:
            answered = signature(**asked)
        except Exception:
            if place and texts is not None:
                continue  # text of a form that is not known
            raise
        for name, value in answered.items():
            found[place + name] = storable(np.asarray(value))
    return found, interface


def _form(spec: Any) -> list[Any]:
    """A tensor's type, and its shape; None where that is not known."""
    rank = spec.shape.rank
    return [spec.dtype.name, None if rank is None else spec.shape.as_list()]


def _keras_of(path: str) -> Any:
    """The Keras that wrote a .keras file: it says its release."""
    with zipfile.ZipFile(path) as archive:
        release = str(json.loads(archive.read("metadata.json"))["keras_version"])
    return importlib.import_module("tf_keras" if release.startswith("2.") else "keras")


def _answers_of_keras(model: Any) -> dict[str, np.ndarray]:
    rng = np.random.RandomState(_SEED)
    specs = {one.name: one for one in model.inputs}
    asked = {name: questions.question(specs[name], rng) for name in sorted(specs)}
    inputs = [asked[one.name] for one in model.inputs]
    outputs = tf.nest.flatten(model(inputs if len(inputs) > 1 else inputs[0], training=False))
    return {f"output_{index}": storable(np.asarray(v)) for index, v in enumerate(outputs)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
