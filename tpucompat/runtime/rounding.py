"""Whose rounding a process has: TensorFlow's own, the default, or TensorFlow 1.15's (exact mode).

On CPUs of recent years (x86 with AVX512_VNNI and later; release notes of 2.9), TensorFlow computes with
oneDNN, which is up to three times as fast and rounds differently, so that a training soon goes another way
than on 1.15. Exact mode leaves oneDNN's kernels out. TensorFlow decides once, when it is loaded.
"""

from __future__ import annotations

import os
import sys
from typing import Mapping

from tpucompat.base import journal
from tpucompat.base.errors import SetupError
from tpucompat.base.machine import current_environment
from tpucompat.tf import private

_ONEDNN = "TF_ENABLE_ONEDNN_OPTS"
# What TensorFlow takes for no (2.21 tensorflow/core/util/env_var.cc); "" counts as unset here.
_OFF = ("0", "false")

#: The variables of exact mode: ours, and the one that a plain TensorFlow 2 program needs as well.
EXACT = {"TPUCOMPAT_EXACT": "1", _ONEDNN: "0"}


def exact(environ: Mapping[str, str]) -> dict[str, str]:
    """Environment variables with those of exact mode among them.

    Raises:
      SetupError: The user's own TF_ENABLE_ONEDNN_OPTS asks for oneDNN (TPU473).
    """
    wish = environ.get(_ONEDNN, "").strip()
    if wish and wish.lower() not in _OFF:
        raise SetupError("TPU473", f"Exact mode was requested, but {_ONEDNN}={wish} is set.")
    return {**environ, **EXACT}


def choose(asked: bool = False) -> None:
    """Enters exact mode if TPUCOMPAT_EXACT or the caller asks for it; else changes nothing.

    To be called before TensorFlow is loaded; later a notice says that it is too late (TPU472).

    Raises:
      SetupError: As in :func:`exact`.
    """
    here = current_environment()
    if not (asked or here.exact):
        return
    settings = exact(os.environ)
    if "tensorflow" in sys.modules and private.computes_with_onednn():
        journal.notice(
            "TPU472", ("exact mode comes too late: TensorFlow is already loaded, with oneDNN")
        )
        return
    os.environ.update({name: settings[name] for name in EXACT})
