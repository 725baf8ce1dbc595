"""``keras.backend`` functions whose meaning changed, beside TensorFlow 1.15."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap

import numpy as np
import pytest

from tpucompat.engines import session
from tpucompat.standins import keras_backend

CASES = [
    ((4, 2, 5, 3), (4, 2, 3, 6), None),
    ((4, 2, 5, 3), (4, 2, 6, 3), (3, 3)),
    ((4, 2, 3, 5), (4, 2, 3, 6), (2, 2)),
    ((4, 5, 3), (4, 3, 6), None),
    ((4, 5, 3), (4, 6, 3), (2, 2)),
    ((4, 5, 3), (4, 6, 3), 2),
    ((4, 3, 5), (4, 3, 6), 1),
    ((4, 5, 3), (4, 3), (2, 1)),
    ((4, 3), (4, 3, 5), (1, 1)),
    ((4, 3), (4, 3), 1),
    ((4, 3), (4, 3), (1, 1)),
]


def arrays(shapes):
    rng = np.random.RandomState(1)
    return [rng.rand(*shape).astype("float32") for shape in shapes]


@pytest.mark.parametrize(("x", "y", "axes"), CASES[:3])
def test_leading_dimensions_count_examples(x, y, axes):
    x, y = arrays((x, y))
    tf = session.enter_graph_mode()
    with tf.Session() as here:
        got = here.run(keras_backend.batch_dot(tf.constant(x), tf.constant(y), axes))
    left = np.swapaxes(x, 2, 3) if axes == (2, 2) else x
    right = np.swapaxes(y, 2, 3) if axes == (3, 3) else y
    np.testing.assert_allclose(got, left @ right, rtol=1e-5)


@pytest.mark.reference
def test_batch_dot_is_that_of_tensorflow_1_15():
    python = os.environ.get("TPUCOMPAT_TF115_PYTHON")
    if not python:
        pytest.skip("TPUCOMPAT_TF115_PYTHON names no Python with TensorFlow 1.15")
    script = """
        import json, sys
        import numpy as np
        import tensorflow as tf
        results = []
        for x, y, axes in json.loads(sys.argv[1]):
            rng = np.random.RandomState(1)
            x, y = [tf.constant(rng.rand(*shape).astype("float32")) for shape in (x, y)]
            axes = tuple(axes) if isinstance(axes, list) else axes
            with tf.Session() as here:
                results.append(here.run(tf.keras.backend.batch_dot(x, y, axes)).tolist())
        print("\\n" + json.dumps(results))
    """
    done = subprocess.run(
        [python, "-c", textwrap.dedent(script), json.dumps(CASES)],
        # TensorFlow 2 exports it, and 1.15 would take it for a wish.
        env={name: value for name, value in os.environ.items() if name != "TF2_BEHAVIOR"},
        stdout=subprocess.PIPE,
        check=True,
        timeout=120,
    )
    tf = session.enter_graph_mode()
    for (x, y, axes), expected in zip(CASES, json.loads(done.stdout.splitlines()[-1])):
        left, right = map(tf.constant, arrays((x, y)))
        with tf.Session() as here:
            got = here.run(keras_backend.batch_dot(left, right, axes))
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_a_condition_of_one_dimension_chooses_rows():
    """Of a square, `tf.where` of TensorFlow 2 would choose columns."""
    tf = session.enter_graph_mode()
    ours, theirs = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[-1.0, -2.0], [-3.0, -4.0]])
    with tf.Session() as here:
        chosen = keras_backend.switch(tf.constant([True, False]), ours, lambda: theirs)
        assert here.run(chosen).tolist() == [[1.0, 2.0], [-3.0, -4.0]]
        wide = keras_backend.switch(tf.constant([0, 1]), tf.ones([2, 3]), tf.zeros([2, 3]))
        assert here.run(wide).tolist() == [[0.0] * 3, [1.0] * 3]
        assert here.run(keras_backend.switch(tf.constant(True), ours, theirs))[0, 0] == 1.0


def test_huber_s_loss_is_that_of_each_element():
    """So that a sum of the losses adds up all elements, as in 1.15 (`losses.py`)."""
    import tpucompat.v1 as old

    truth, prediction = (
        old.constant([[0.0, 0.0], [0.0, 3.0]]),
        old.constant([[1.0, 0.5], [0.0, 0.0]]),
    )
    each = [[0.5, 0.125], [0.0, 2.5]]
    with old.Session() as here:
        for reduction, expected in (("none", each), ("sum", 3.125), ("auto", 3.125 / 4)):
            loss = old.keras.losses.Huber(reduction=reduction)(truth, prediction)
            assert here.run(loss).tolist() == expected, reduction
        weighted = old.keras.losses.Huber(reduction="sum")(
            truth, prediction, old.constant([2.0, 1.0])
        )
        assert here.run(weighted) == 3.75


def test_a_dataset_s_function_gets_the_values_of_variables():
    """As 1.15's `K.variable` there; its `K.eye` was refused."""
    tf = session.enter_graph_mode()
    with tf.Graph().as_default(), tf.Session() as here:
        data = tf.data.Dataset.from_tensor_slices([[1.0, 2.0]])
        data = data.map(lambda x: keras_backend.variable([1.0, 2.0]) + keras_backend.eye(2)[0] * x)
        assert here.run(tf.data.make_one_shot_iterator(data).get_next()).tolist() == [2.0, 2.0]
