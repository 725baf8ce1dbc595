"""The arguments of Keras 1, and what Keras 2 called them: the package ``keras`` translated them until 2.3.

``tables/keras_1.txt`` is read from the decorators of Keras 2.2.4; what is here, they did in code.
"""

from __future__ import annotations

import os
from typing import Any, Mapping

from tpucompat.names import tables

#: What an old name becomes: one word, two, or none where the argument did nothing any more.
Names = Mapping[str, str]


def _table() -> dict[str, Names]:
    """Class of a layer, ``Model`` or ``Model.METHOD`` -> its old arguments."""
    path = os.path.join(os.path.dirname(tables.__file__), "keras_1.txt")
    with open(path, encoding="ascii") as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    return {
        name: {
            old: new.replace(",", " ") for old, _, new in (pair.partition("=") for pair in pairs)
        }
        for name, *pairs in lines
    }


_TABLE = _table()
_METHOD = "Model."
#: The sides of a kernel, in the order in which it has them.
SIDES = ("nb_row", "nb_col", "kernel_dim1", "kernel_dim2", "kernel_dim3")
#: Class of a layer -> its old arguments.
LAYERS: Mapping[str, Names] = {
    name: names for name, names in _TABLE.items() if not name.startswith("Model")
}
#: Method of a model -> its old arguments.
METHODS: Mapping[str, Names] = {
    "fit": {"nb_epoch": "epochs"},
    **{name[len(_METHOD) :]: names for name, names in _TABLE.items() if name.startswith(_METHOD)},
}
#: Of the constructor of a model.
MODEL: Names = _TABLE["Model"]

#: Argument -> its old values, and what they became.
VALUES: Mapping[str, Mapping[Any, Any]] = {
    "dim_ordering": {"tf": "channels_last", "th": "channels_first", "default": None},
    "consume_less": {"cpu": 0, "mem": 1, "gpu": 2},
}
#: Not translated, so that Keras refuses it: Keras 2 could not normalize in these ways.
REFUSED: Mapping[str, tuple[Any, ...]] = {"mode": (1, 2)}
#: Layers that took the shape of their sequences in two numbers: ``input_dim=64, input_length=10``.
SEQUENCES = ("Conv1D", "LocallyConnected1D")
