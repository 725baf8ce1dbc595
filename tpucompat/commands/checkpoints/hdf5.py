"""Reads HDF5 files of strangers: what lies in the file, and no more than fits into it.

HDF5 can keep a dataset's bytes in any other file (external storage, virtual datasets), and a link can lead
into another one; a file of a few bytes can declare an array of any size. No Keras writes such files.
"""

from __future__ import annotations

import os
from typing import Any, Iterator

import numpy as np

from tpucompat.base.late import late

# H5py is not installed everywhere.
h5py = late("h5py")

#: How many times its own size a file may hold, as compressed data do.
MOST_TIMES = 20
#: Bytes that every file may hold.
LEAST = 64 << 20


class UnsafeError(ValueError):
    """A file that reaches out of itself, or declares more than it can hold."""


def most_bytes(path: str) -> int:
    """How many bytes of data a file may declare."""
    return max(LEAST, MOST_TIMES * os.path.getsize(path))


def must_fit(count: int, most: int, what: str) -> None:
    """Refuses what is larger than the file that declares it can hold.

    Raises:
      UnsafeError: If it is.
    """
    if count > most:
        raise UnsafeError(f"{what}: declares {count} bytes, but its file can hold {most}")


class Reader:
    """An open file of h5py, read with care.

    Args:
      file: The file.
      most: How many bytes all that is read of it may have; see :func:`most_bytes`.
    """

    def __init__(self, file: Any, most: int) -> None:
        self._file = file
        self._most = most
        self._taken = 0

    def get(self, where: str) -> Any:
        """The group or dataset at a path; None if there is none.

        Raises:
          UnsafeError: If a link on the way is another than a plain one.
        """
        found = self._file
        for part in where.split("/"):
            if part:
                found = self._member(found, part)
            if found is None:
                return None
        return found

    def _member(self, group: Any, name: str) -> Any:
        link = group.get(name, getlink=True) if isinstance(group, h5py.Group) else None
        if link is None:
            return None
        if not isinstance(link, h5py.HardLink):
            raise UnsafeError(f"{group.name}/{name}: a link that may point outside the file")
        return group[name]

    def attribute(self, where: str, name: str) -> list[str]:
        """A list of texts that is an attribute; empty if there is none."""
        found = self.get(where)
        if found is None or name not in found.attrs:
            return []
        declared = found.attrs.get_id(name)
        self._take(int(np.prod(np.array(declared.shape, object))) * declared.dtype.itemsize, where)
        return [
            text.decode("utf-8") if isinstance(text, bytes) else str(text)
            for text in np.ravel(found.attrs[name])
        ]

    def dataset(self, where: str) -> Any:
        """The dataset at a path, of which nothing is read yet.

        Raises:
          UnsafeError: If its bytes lie elsewhere, or are more than the file can hold.
          KeyError: If there is none.
        """
        found = self.get(where)
        if not isinstance(found, h5py.Dataset):
            raise KeyError(f"{where} is not a dataset")
        if found.external or found.is_virtual:
            raise UnsafeError(f"{where}: its data is in another file")
        must_fit(_size(found), self._most, where)
        return found

    def read(self, where: str) -> np.ndarray:
        """The values of the dataset at a path."""
        found = self.dataset(where)
        self._take(_size(found), where)
        return np.asarray(found)

    def _take(self, count: int, what: str) -> None:
        self._taken += count
        must_fit(self._taken, self._most, what)

    def datasets(self) -> Iterator[str]:
        """The paths of all datasets, each once though groups may hold each other."""
        return (path for path, is_group in self._members() if not is_group)

    def groups(self) -> Iterator[str]:
        """The paths of all groups below the root, each group once."""
        return (path for path, is_group in self._members() if is_group)

    def _members(self) -> Iterator[tuple[str, bool]]:
        seen = set()
        waiting = [("", self._file)]
        while waiting:
            path, group = waiting.pop()
            for name in group:
                found = self._member(group, name)
                if isinstance(found, h5py.Dataset):
                    yield f"{path}/{name}", False
                elif isinstance(found, h5py.Group):
                    address = h5py.h5o.get_info(found.id).addr
                    if address not in seen:
                        seen.add(address)
                        yield f"{path}/{name}", True
                        waiting.append((f"{path}/{name}", found))


def _size(dataset: Any) -> int:
    """Bytes of a dataset, from what it declares."""
    return int(np.prod(np.array(dataset.shape or (), object))) * int(dataset.dtype.itemsize)
