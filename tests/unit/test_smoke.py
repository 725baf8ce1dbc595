"""``--smoke``: what is cut off, and that the batches are those of the whole run; no TensorFlow."""

import numpy as np

from tpucompat.runtime import smoke
from tpucompat.standins import keras1_arguments


def capped(**arguments):
    given = {"epochs": 20, "steps_per_epoch": None, "validation_steps": None, **arguments}
    smoke._cap_fit(given)
    return given


def test_a_split_is_made_before_rows_are_cut_off():
    """25,000 examples in batches of 1024, a fifth for validation: 3 whole batches of each."""
    x, y = np.arange(50000).reshape(25000, 2), np.arange(25000)
    got = capped(x=[x, x], y={"out": y}, batch_size=1024, validation_split=0.2)
    assert (got["epochs"], got["validation_split"]) == (1, 0.0)
    inputs, targets = got["validation_data"]
    assert got["x"][1].tolist() == x[:3072].tolist() and got["y"]["out"].tolist() == list(
        range(3072)
    )
    assert inputs[1].tolist() == x[20000:23072].tolist()
    assert targets["out"].tolist() == y[20000:23072].tolist()


def test_what_is_small_keeps_its_own_split():
    x, y = np.zeros((20, 3)), np.arange(20)
    got = capped(x=x, y=y, sample_weight=y * 2, batch_size=8, validation_split=0.25)
    assert [len(got[name]) for name in ("x", "y", "sample_weight")] == [15] * 3
    assert [part.tolist() for part in got["validation_data"][1:]] == [
        [15, 16, 17, 18, 19],
        [30, 32, 34, 36, 38],
    ]


def test_validation_data_stand_before_a_split():
    x = np.zeros((200, 3))
    got = capped(x=x, y=x, batch_size=8, validation_split=0.5, validation_data=(x, x))
    assert len(got["x"]) == 24 and [len(part) for part in got["validation_data"]] == [24, 24]


def test_epochs_by_their_name_in_keras_1():
    class Model:
        def fit(self, x, epochs=1):
            return x, epochs

    keras1_arguments._wrap(Model, "fit", keras1_arguments.METHODS["fit"])
    smoke._wrap(Model, "fit", lambda arguments: arguments.update(epochs=arguments["epochs"] // 10))
    assert Model().fit("x", nb_epoch=20) == ("x", 2)
    assert Model().fit("x", epochs=10) == ("x", 1)
