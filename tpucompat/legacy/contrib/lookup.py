"""``tf.contrib.lookup``: the functions whose arguments have other names in TensorFlow's own module.

Behaviour follows tensorflow/contrib/lookup/lookup_ops.py of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat import private
from tpucompat.errors import BadValueError

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


def string_to_index(
    tensor: Any, mapping: Any, default_value: int = -1, name: str | None = None
) -> Any:
    """Looks strings up in :func:`index_table_from_tensor`.

    Args:
      tensor: The strings.
      mapping: As there.
      default_value: As there.
      name: Of the table.

    Returns:
      int64 places, in the shape of ``tensor``.
    """
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


def index_to_string(
    tensor: Any, mapping: Any, default_value: str = "UNK", name: str | None = None
) -> Any:
    """Looks places up in :func:`index_to_string_table_from_tensor`.

    Args:
      tensor: int64 places.
      mapping: As there.
      default_value: As there.
      name: Of the table.

    Returns:
      Strings, in the shape of ``tensor``.
    """
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)


def string_to_index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: Any = _FAST,
    name: str | None = None,
) -> Any:
    """The older name of ``index_table_from_file``, for strings.

    Args:
      vocabulary_file: A file with one key a line.
      num_oov_buckets: As in :func:`index_table_from_tensor`.
      vocab_size: How many lines count; all by default.
      default_value: As there.
      hasher_spec: As there.
      name: Of the table.

    Returns:
      A table.
    """
    return _OPS.index_table_from_file(
        vocabulary_file,
        num_oov_buckets,
        vocab_size,
        default_value,
        hasher_spec,
        key_dtype=tf.string,
        name=name,
    )


def string_to_index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = _FAST,
    name: str | None = None,
) -> Any:
    """The older name of :func:`index_table_from_tensor`, for strings.

    Args:
      mapping: The strings.
      num_oov_buckets: As there.
      default_value: As there.
      hasher_spec: As there.
      name: Of the table.

    Returns:
      A table.

    Raises:
      ValueError: If ``mapping`` is not of strings.
    """
    mapping = tf.convert_to_tensor(mapping)
    if mapping.dtype.base_dtype != tf.string:
        raise BadValueError("TPU103", "string_to_index_table_from_tensor requires string.")
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, name=name)
