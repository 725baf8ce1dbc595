"""Pictures of ``keras.preprocessing.image`` moved, turned and brightened as before TensorFlow 2.9.

They came from Keras-Preprocessing 1.1 then (``keras_preprocessing/image/affine_transformations.py``). Keras 2.9
took the code in and changed it: rows and columns change places, a picture turns about another point, and
``ImageDataGenerator`` keeps the range of what it brightens. The generator draws the same numbers.
"""

from __future__ import annotations

import inspect
import types
from typing import Any, Callable

import numpy as np
import tensorflow

from tpucompat.base.late import late, load

ndimage = late("scipy.ndimage")  # may not be installed
_image: Any = tensorflow.keras.preprocessing.image
_AFFINE = ("theta", "tx", "ty", "shear", "zx", "zy")


def apply_affine_transform(
    x: Any,
    theta: float = 0,
    tx: float = 0,
    ty: float = 0,
    shear: float = 0,
    zx: float = 1,
    zy: float = 1,
    row_axis: int = 0,
    col_axis: int = 1,
    channel_axis: int = 2,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    order: int = 1,
) -> Any:
    """``keras.preprocessing.image.apply_affine_transform``: one picture turned, shifted, sheared and zoomed.

    Args:
      x: The picture, three-dimensional.
      theta: An angle in degrees.
      tx: By how many pixels it moves along the rows' axis.
      ty: By how many pixels it moves along the columns' axis.
      shear: An angle in degrees.
      zx: A factor along the rows' axis.
      zy: A factor along the columns' axis.
      row_axis: The rows' axis.
      col_axis: The columns' axis.
      channel_axis: The channels' axis.
      fill_mode: What is around the picture, as SciPy calls it.
      cval: Its value where ``fill_mode`` is "constant".
      order: Of the interpolation.
    """
    turn, slant = np.deg2rad(theta), np.deg2rad(shear)
    parts = (
        (theta != 0, [[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0]]),
        (tx != 0 or ty != 0, [[1, 0, tx], [0, 1, ty]]),
        (shear != 0, [[1, -np.sin(slant), 0], [0, np.cos(slant), 0]]),
        (zx != 1 or zy != 1, [[zx, 0, 0], [0, zy, 0]]),
    )
    matrices = [np.array([*rows, [0, 0, 1]]) for wanted, rows in parts if wanted]
    if not matrices:
        return x
    try:
        load(ndimage)
    except ImportError as error:
        raise ImportError("Image transformations require SciPy. Install SciPy.") from error
    matrix = matrices[0]
    for further in matrices[1:]:
        matrix = np.dot(matrix, further)
    middle = np.eye(3)
    middle[:2, 2] = x.shape[row_axis] / 2 + 0.5, x.shape[col_axis] / 2 + 0.5
    back = np.eye(3)
    back[:2, 2] = -middle[:2, 2]
    matrix = np.dot(np.dot(middle, matrix), back)
    options = {"order": order, "mode": fill_mode, "cval": cval}
    channels = np.rollaxis(x, channel_axis, 0)
    if fill_mode == "reflect":
        places = _reflected(matrix, channels.shape[1:])
        moved = [
            ndimage.map_coordinates(channel, places, order=order, mode="mirror")
            for channel in channels
        ]
    else:
        moved = [
            ndimage.affine_transform(channel, matrix[:2, :2], matrix[:2, 2], **options)
            for channel in channels
        ]
    return np.rollaxis(np.stack(moved, axis=0), 0, channel_axis + 1)


def _reflected(matrix: Any, shape: Any) -> Any:
    """Where the pixels of a picture come from, reflected at its edges as by SciPy before 1.6.

    It interpolates between the outermost pixel and its neighbour there, not between the pixel and its
    reflection (``map_coordinate`` in ``scipy/ndimage/src/ni_interpolation.c``): a place half a pixel outside is
    mirrored.
    """
    places = np.tensordot(matrix[:2, :2], np.indices(shape), 1) + matrix[:2, 2][:, None, None]
    for axis, size in enumerate(shape):
        at = places[axis]
        below = np.fmod(at, 2 * size)
        below = np.where(below < -size, below + 2 * size, -below - 1)
        above = np.fmod(at, 2 * size)
        above = np.where(above >= size, 2 * size - above - 1, above)
        places[axis] = np.where(at < 0, below, np.where(at > size - 1, above, at))
    return places


class ImageDataGenerator(_image.ImageDataGenerator):
    """``keras.preprocessing.image.ImageDataGenerator``; its arguments are Keras' own."""

    def apply_transform(self, x: Any, transform_parameters: Any) -> Any:
        """A picture changed by what ``get_random_transform`` drew.

        Args:
          x: The picture, three-dimensional.
          transform_parameters: By name, as in Keras.
        """
        rest = dict(transform_parameters)
        affine = {name: rest.pop(name) for name in _AFFINE if name in rest}
        brightness = rest.pop("brightness", None)
        x = apply_affine_transform(
            x,
            **affine,
            row_axis=self.row_axis - 1,
            col_axis=self.col_axis - 1,
            channel_axis=self.channel_axis - 1,
            fill_mode=self.fill_mode,
            cval=self.cval,
            order=getattr(self, "interpolation_order", 1),
        )
        x = super().apply_transform(x, rest)
        return x if brightness is None else _image.apply_brightness_shift(x, brightness)


def _affine_of_the_first_axes(x: Any, *args: Any, **options: Any) -> Any:
    """What the functions below called: they did not hand the axes of rows and columns on."""
    for name in ("row_axis", "col_axis"):
        options.pop(name, None)
    return apply_affine_transform(x, *args, **options)


def _moved_like_tf1(name: str) -> Callable[..., Any]:
    """A function of Keras' module that finds the affine transformation above."""
    function = inspect.unwrap(getattr(_image, name))
    names = {**function.__globals__, "apply_affine_transform": _affine_of_the_first_axes}
    made = types.FunctionType(function.__code__, names, name, function.__defaults__)
    made.__doc__ = f"``keras.preprocessing.image.{name}``, as up to 2.8."
    return made


random_rotation = _moved_like_tf1("random_rotation")
random_shear = _moved_like_tf1("random_shear")
random_shift = _moved_like_tf1("random_shift")
random_zoom = _moved_like_tf1("random_zoom")
