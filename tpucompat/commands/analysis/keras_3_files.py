"""The names of files with models and weights, of which Keras 3 takes some endings only."""

from __future__ import annotations

import re

#: How files end that Keras 3 loads, its own and those of Keras 2.
LOADABLE = (".keras", ".h5", ".hdf5")


#: What shows that a name is made of parts; of a sum, the last one is seen.
_PARTS = re.compile(r"[%{]|^\.")


def may_be(text: str | None, saved: str | None) -> bool:
    """Whether two texts in a script may name one file, because one of them is made of parts."""
    if text is None or saved is None or not (_PARTS.search(text) or _PARTS.search(saved)):
        return False
    return "." in text and text.rpartition(".")[2] == saved.rpartition(".")[2]


def ends_well(text: str | None, rule: str) -> bool:
    """Whether Keras 3 writes weights or a model to a file whose name ends so."""
    if text is None:
        return False
    return text.endswith(".weights.h5" if rule == "weights_file" else (".keras", ".h5"))
