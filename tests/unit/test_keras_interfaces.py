"""Keras 1's decorators, by themselves."""

import pytest

from tpucompat.standins import keras_interfaces


class Rolling:
    @keras_interfaces.legacy_get_updates_support
    def get_updates(self, loss, params):
        return loss, params


@pytest.mark.parametrize(
    "args, kwargs",
    [
        (("loss", ["w"]), {}),
        ((), {"loss": "loss", "params": ["w"]}),
        ((["w"], {}, "loss"), {}),  # Keras 1: params, constraints, loss
        ((["w"], []), {"loss": "loss"}),
        ((), {"params": ["w"], "constraints": [], "loss": "loss"}),
    ],
)
def test_updates_may_be_asked_for_as_in_keras_1(args, kwargs):
    assert Rolling().get_updates(*args, **kwargs) == ("loss", ["w"])


def test_nothing_may_be_trained():
    assert Rolling().get_updates("loss", []) == ("loss", [])


def test_the_others_leave_a_function_as_it_is():
    assert keras_interfaces.legacy_dense_support(test_the_others_leave_a_function_as_it_is)
    decorate = keras_interfaces.generate_legacy_interface(conversions=[("p", "rate")])
    assert decorate(len) is len
    with pytest.raises(AttributeError, match="nothing"):
        keras_interfaces.nothing
