"""Files and weights that Keras no longer reads: ``HDF5Matrix``, kernels of Theano.

Behaviour follows io_utils.py, layer_utils.py and conv_utils.py of tensorflow/python/keras/utils in 1.15.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow

from tpucompat.base.late import late, load

h5py = late("h5py")  # may not be installed

_CONVOLUTIONS = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose")
_FILES: dict[str, Any] = {}


class HDF5Matrix:
    """A part of a dataset of an HDF5 file, which a model reads batch by batch.

    Args:
      datapath: The file; it stays open.
      dataset: The name of the dataset.
      start: Its first row.
      end: The row behind its last; None for all.
      normalizer: What is done with each piece that is read.

    Raises:
      ImportError: h5py is not installed.
    """

    def __init__(
        self,
        datapath: str,
        dataset: str,
        start: int = 0,
        end: int | None = None,
        normalizer: Callable[[Any], Any] | None = None,
    ) -> None:
        try:
            load(h5py)
        except ImportError:
            raise ImportError("The use of HDF5Matrix requires HDF5 and h5py installed.") from None
        if datapath not in _FILES:
            _FILES[datapath] = h5py.File(datapath, "r")
        self.data = _FILES[datapath][dataset]
        self.start = start
        self.end = self.data.shape[0] if end is None else end
        self.normalizer = normalizer

    def __len__(self) -> int:
        return int(self.end - self.start)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            first, last = key.start or 0, len(self) if key.stop is None else key.stop
            rows: Any = slice(first + self.start, last + self.start)
            behind = last + self.start
        else:
            rows = np.asarray(key) + self.start
            behind = int(np.max(rows)) + 1
            rows = int(rows) if np.ndim(rows) == 0 else rows.tolist()
        if behind > self.end:
            raise IndexError(f"row {behind - 1 - self.start} of {len(self)}")
        found = self.data[rows]
        return found if self.normalizer is None else self.normalizer(found)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the part."""
        return (len(self), *self.data.shape[1:])

    @property
    def dtype(self) -> Any:
        """The NumPy type of the dataset."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self.data.ndim)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))


_own = getattr(tensorflow.keras.utils, "HDF5Matrix", None)
if _own is not None:  # up to 2.3, whose models read batch by batch from no other class
    HDF5Matrix = _own  # type: ignore[misc]


def convert_all_kernels_in_model(model: Any) -> None:
    """Turns the kernels of a model's convolutions by 180 degrees: Theano's for TensorFlow, and back.

    Args:
      model: The model, whose weights are changed.
    """
    for layer in model.layers:
        if type(layer).__name__ in _CONVOLUTIONS:
            kernel, *rest = layer.get_weights()
            layer.set_weights([convert_kernel(kernel), *rest])


def convert_kernel(kernel: Any) -> Any:
    """A kernel turned in its spatial dimensions.

    Args:
      kernel: An array of three to five dimensions, the last two of which are channels.

    Raises:
      ValueError: It has others.
    """
    kernel = np.asarray(kernel)
    if not 3 <= kernel.ndim <= 5:
        raise ValueError("Invalid kernel shape:", kernel.shape)
    return np.copy(kernel[(slice(None, None, -1),) * (kernel.ndim - 2)])
