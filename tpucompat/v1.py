"""``import tpucompat.v1 as tf``: the ``tensorflow`` of TensorFlow 1.15 on the one installed today.

Importing this module replaces it by the root of the old namespace; see
:mod:`tpucompat.runtime.namespace`.
"""

from __future__ import annotations

from tpucompat.base import keras_generation as _keras_generation
from tpucompat.engines import accelerator as _accelerator
from tpucompat.runtime import namespace as _namespace
from tpucompat.runtime import rounding as _rounding

_accelerator.offer_address()  # old scripts read it as soon as they start
_rounding.choose()
_keras_generation.offer()  # libraries that the script imports next touch tf.keras
_namespace.root(_namespace.V1)
