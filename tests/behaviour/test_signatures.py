"""What introspection tells of TensorFlow's functions, beside a real TensorFlow 1.15.5.

``tests/data/signatures_tf115.json`` holds what ``tf_inspect.getfullargspec`` says there: names and defaults.
"""

import functools
import json
import pathlib

import pytest

import tpucompat.v1 as tf
from tpucompat.base.machine import environment
from tpucompat.standins import python_names, signatures

pytestmark = pytest.mark.skipif(
    (environment().release or (0, 0)) < (1, 15), reason="its functions are older than those of 1.15"
)

THERE = json.loads(
    (pathlib.Path(__file__).parent.parent / "data" / "signatures_tf115.json").read_text("utf-8")
)
del THERE["_"]  # what made it: tools/record_tables.py


@pytest.mark.parametrize("name", THERE)
def test_a_function_has_the_arguments_of_115(name):
    function = functools.reduce(getattr, name.split("."), tf)
    spec = signatures.getfullargspec(function)
    assert [spec.args, repr(spec.defaults)] == THERE[name]
    assert spec.annotations == {}


def test_other_functions_keep_what_they_have():
    def zeros(shape, layout: int = 3):
        return shape, layout

    spec = signatures.getfullargspec(zeros)
    assert (spec.args, spec.defaults, spec.annotations) == (
        ["shape", "layout"],
        (3,),
        {"layout": "int"} if isinstance(spec.annotations["layout"], str) else {"layout": int},
    )


def test_getargspec_tells_the_same():
    names, _, _, defaults = python_names.getargspec(tf.zeros)
    assert [names, repr(defaults)] == THERE["zeros"]
