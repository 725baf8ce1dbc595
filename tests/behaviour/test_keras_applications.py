"""The models of ``tf.keras.applications`` beside TensorFlow 1.15: layers, names, weights and results."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tpucompat.engines import session
from tpucompat.runtime import namespace

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(ROOT, "behaviour", "programs", "applications.py")
with open(os.path.join(ROOT, "data", "applications_tf115.json"), encoding="ascii") as file:
    OF_115 = json.load(file)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    out = tmp_path_factory.mktemp("applications") / "out.json"
    command = [sys.executable, "-m", "tpucompat", "run", PROGRAM, str(out)]
    subprocess.run(command, check=True, env={**os.environ, "TPUCOMPAT_CORES": "1"})
    return json.loads(out.read_text())


@pytest.mark.parametrize("case", sorted(set(OF_115) - {"made", "blocks"}))
def test_models_have_the_layers_and_weights_of_115(found, case):
    then, now = dict(OF_115[case]), found[case]
    shape, number = then.pop("computed")
    assert {word: now[word] for word in then} == then
    assert now["computed"][0] == shape
    np.testing.assert_allclose(
        now["computed"][1], number, rtol=1e-4
    )  # convolutions round otherwise


def test_blocks_of_inception_have_their_names(found):
    assert found["blocks"] == OF_115["blocks"]


@pytest.mark.parametrize("module", ["vgg16", "vgg19"])
def test_images_are_prepared_in_a_mode(module):
    prepare = namespace.V1.lookup(f"keras.applications.{module}", "preprocess_input")
    image = np.array([[[0.0, 127.5, 255.0]]], "float32")
    np.testing.assert_allclose(prepare(image.copy(), mode="tf")[0, 0], [-1, 0, 1])
    # Without one: other channels first, and without their means on ImageNet.
    np.testing.assert_allclose(
        prepare(image)[0, 0], [255 - 103.939, 127.5 - 116.779, -123.68], 1e-5
    )


def test_an_application_is_the_same_by_all_its_names():
    keras = namespace.V1.lookup("", "keras")
    of_module = namespace.V1.lookup("keras.applications.mobilenet_v2", "MobileNetV2")
    assert keras.applications.MobileNetV2 is of_module
    # Up to 2.1 all of Keras-Applications' functions have the name of their wrapper.
    today = session.keras_of_the_era().applications.MobileNetV2
    assert of_module.__name__ == today.__name__
    resnet = namespace.V1.lookup("keras.applications.resnet50", "ResNet50")
    assert resnet is keras.applications.ResNet50
