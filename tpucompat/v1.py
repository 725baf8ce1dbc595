"""``import tpucompat.v1 as tf``: the ``tensorflow`` of TensorFlow 1.15 on the one installed today.

Importing this module replaces it by the root of the old namespace; see
:mod:`tpucompat.legacy.namespace`.
"""

from __future__ import annotations

from tpucompat.legacy import namespace as _namespace

_namespace.root(_namespace.V1)
