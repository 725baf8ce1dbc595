"""The image functions of ``scipy.misc`` (gone in SciPy 1.2 and 1.3), on Pillow, which they were made with.

Behaviour follows SciPy 1.1's documentation of ``scipy.misc``: arrays are scaled to bytes from their own
minimum and maximum unless they are bytes already.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tpucompat.base.late import late

# Pillow may not be installed.
Image = late("PIL.Image")

_MODES = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}


def bytescale(
    data: Any,
    cmin: float | None = None,
    cmax: float | None = None,
    high: int = 255,
    low: int = 0,
) -> Any:
    """Scales an array from ``[cmin, cmax]`` (its own range by default) to bytes in ``[low, high]``."""
    data = np.asarray(data)
    if data.dtype == np.uint8:
        return data
    if not 0 <= low <= high <= 255:
        raise ValueError("`low` and `high` must be in [0, 255], with `low` not above `high`.")
    least = data.min() if cmin is None else cmin
    most = data.max() if cmax is None else cmax
    spread = most - least
    if spread < 0:
        raise ValueError("`cmax` should be larger than `cmin`.")
    scale = float(high - low) / (spread or 1)
    scaled = (data - least) * scale + low
    return (scaled.clip(low, high) + 0.5).astype(np.uint8)


def toimage(
    arr: Any,
    high: int = 255,
    low: int = 0,
    cmin: float | None = None,
    cmax: float | None = None,
    pal: Any = None,
    mode: str | None = None,
    channel_axis: int | None = None,
) -> Any:
    """A PIL image of an array of shape [height, width], [height, width, 3 or 4] or channels elsewhere."""
    data = np.asarray(arr)
    if mode in ("F", "I"):
        return Image.fromarray(data.astype(np.float32 if mode == "F" else np.int32), mode)
    data = bytescale(data, cmin, cmax, high, low)
    if data.ndim == 3:
        if channel_axis is None:
            channel_axis = next((a for a in (2, 0, 1) if data.shape[a] in (3, 4)), None)
            if channel_axis is None:
                raise ValueError("Could not find channel dimension.")
        data = np.moveaxis(data, channel_axis, 2)
    elif data.ndim != 2:
        raise ValueError("'arr' does not have a suitable array shape for any mode.")
    image = Image.fromarray(np.ascontiguousarray(data))
    if pal is not None:
        image.putpalette(np.asarray(pal, np.uint8).tobytes())
    return image.convert(mode) if mode else image


def fromimage(im: Any, flatten: bool = False, mode: str | None = None) -> Any:
    """The array of a PIL image; ``flatten`` gives float grey values."""
    if mode is not None and mode != im.mode:
        im = im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im)


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> Any:
    """Reads an image file into an array."""
    with Image.open(name) as image:
        return fromimage(image, flatten, mode)


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    """Writes an array as an image file; the format follows the name unless given."""
    image = toimage(arr, channel_axis=2) if np.ndim(arr) == 3 else toimage(arr)
    image.save(name, **({} if format is None else {"format": format}))


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> Any:
    """Resizes to a percentage (int), a fraction (float) or (height, width); gives bytes."""
    image = toimage(arr, mode=mode)
    if isinstance(size, (int, np.integer)):
        shape = tuple((np.array(image.size) * (size / 100.0)).astype(int))
    elif isinstance(size, (float, np.floating)):
        shape = tuple((np.array(image.size) * size).astype(int))
    else:
        shape = (size[1], size[0])
    return fromimage(image.resize(tuple(int(n) for n in shape), resample=_resampling(interp)))


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> Any:
    """Rotates counter-clockwise by ``angle`` degrees; gives bytes."""
    return fromimage(toimage(arr).rotate(angle, resample=_resampling(interp)))


def _resampling(name: str) -> Any:
    # Pillow 9.1 gave the filters an enumeration; the plain numbers are older and still valid.
    return getattr(Image, "Resampling", lambda number: number)(_MODES[name])
