"""``tf.contrib.lookup``: the functions whose arguments have other names in TensorFlow's own module.

Behaviour follows tensorflow/contrib/lookup/lookup_ops.py of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.tf import private

_OPS: Any = private.lookup_ops()
_FAST = _OPS.FastHashSpec


class HashTable(_OPS.HashTable):
    """A table that does not change once it is initialized.

    Args:
      initializer: Fills it.
      default_value: The value of other keys.
      shared_name: Tables with this name are one, also across the sessions of a server. Without it,
        TensorFlow 2 makes one from the initializer.
      name: Of the operation.
    """

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        self._given_name = shared_name
        super().__init__(initializer, default_value, name=name)

    # The base class derives the name, and makes the table by it, in its constructor.
    @property
    def _shared_name(self) -> str:
        return self._given_name or self._derived_name

    @_shared_name.setter
    def _shared_name(self, value: str) -> None:
        self._derived_name = value


def _given(mapping: Any) -> Any:
    if mapping is None:
        raise BadValueError("TPU103", "mapping must be specified.")
    return mapping


def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = _FAST,
    dtype: Any = tf.string,
    name: str | None = None,
) -> Any:
    """A table from keys to their places in a list.

    Args:
      mapping: The keys, a vector or a list.
      num_oov_buckets: Places for other keys, which are hashed into them.
      default_value: The place of other keys where there are no such buckets.
      hasher_spec: The hash.
      dtype: Of the keys.
      name: Of the table.

    Returns:
      A table; it is initialized by ``tf.tables_initializer()``.

    Raises:
      ValueError: If ``mapping`` is None.
    """
    return _OPS.index_table_from_tensor(
        vocabulary_list=_given(mapping),
        num_oov_buckets=num_oov_buckets,
        default_value=default_value,
        hasher_spec=hasher_spec,
        dtype=dtype,
        name=name,
    )


def index_to_string_table_from_tensor(
    mapping: Any, default_value: str = "UNK", name: str | None = None
) -> Any:
    """A table from places in a list to the strings there.

    Args:
      mapping: The strings, a vector or a list.
      default_value: For other places.
      name: Of the table.

    Returns:
      A table.

    Raises:
      ValueError: If ``mapping`` is None.
    """
    return _OPS.index_to_string_table_from_tensor(
        vocabulary_list=_given(mapping), default_value=default_value, name=name
    )
