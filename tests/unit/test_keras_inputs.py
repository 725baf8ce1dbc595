"""What scripts hand to Keras TPU models, as far as it needs no TensorFlow."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tpucompat.base import errors
from tpucompat.idioms.keras_tpu import inputs as keras_inputs


class Shape:
    def __init__(self, ndims):
        self.ndims = ndims


class Weight:
    def __init__(self, ndims):
        self.shape = Shape(ndims)


class Endpoint:
    def __init__(self, ndims=None, fed=True):
        self.sample_weight = None if ndims is None else Weight(ndims)
        self.fed = fed

    def has_feedable_training_target(self):
        return self.fed


def test_the_module_starts_no_tensorflow():
    program = "import sys, tpucompat.idioms.keras_tpu.inputs; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@pytest.mark.parametrize(("steps", "whole"), [(None, None), (4, 4), (7.5, 8), (8.0, 8), (0.1, 1)])
def test_a_fraction_of_a_step_is_a_step(steps, whole):
    assert keras_inputs.whole_steps(steps) == whole


def test_a_model_that_never_had_weights_gets_none():
    assert keras_inputs.weights_or_ones(None, [np.zeros((4, 3))], [Endpoint()]) is None


def test_a_model_that_had_weights_gets_ones():
    (ones,) = keras_inputs.weights_or_ones(None, [np.zeros((4, 3))], [Endpoint(1)])
    assert ones.tolist() == [1, 1, 1, 1]
    (temporal,) = keras_inputs.weights_or_ones([None], [np.zeros((4, 3, 2))], [Endpoint(2)])
    assert temporal.shape == (4, 3)


def test_given_weights_are_kept():
    weights = [np.array([1.0, 2.0])]
    assert keras_inputs.weights_or_ones(weights, [np.zeros((2, 3))], [Endpoint(1)]) is weights


def test_outputs_without_a_target_count_for_nothing():
    (ones,) = keras_inputs.weights_or_ones(
        None, [np.zeros((2, 3))], [Endpoint(fed=False), Endpoint(1)]
    )
    assert ones.shape == (2,)


@pytest.mark.parametrize("y", [[], None, [object()]])
def test_predictions_and_tensors_get_no_ones(y):
    assert keras_inputs.weights_or_ones(None, y, [Endpoint(1)]) is None


@pytest.mark.parametrize(
    ("shapes", "flat"),
    [
        ((None, 3), [(None, 3)]),
        ([(None, 3)], [(None, 3)]),
        ([(None, 3), (None, None, 2)], [(None, 3), (None, None, 2)]),
        ({"a": (None, 3)}, [(None, 3)]),
        (None, []),
    ],
)
def test_shapes_of_layers(shapes, flat):
    assert keras_inputs._flat_shapes(shapes) == flat


def test_a_fixed_batch():
    def double(inputs):
        return [2 * inputs[0]]

    double.outputs = "outputs"
    function = keras_inputs.FixedBatch(double, 2, TypeError("no size"))
    assert function([np.ones(2)])[0].tolist() == [2, 2]
    assert function.outputs == "outputs"
    with pytest.raises(errors.BadValueError, match="TPU310 Received a batch of 3.*no size"):
        function([np.ones(3)])


def test_errors_about_generators_get_a_code():
    with pytest.raises(
        ValueError, match="TPU303 Output of generator"
    ) as caught, keras_inputs.named_errors():
        raise ValueError("Output of generator should be a tuple")
    assert caught.value.code == "TPU303"
    with pytest.raises(ValueError, match="^another$"), keras_inputs.named_errors():
        raise ValueError("another")
