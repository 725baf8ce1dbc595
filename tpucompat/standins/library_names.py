"""What smaller libraries have removed or changed: Pillow, h5py, PyYAML, scikit-learn, SciPy, plots."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np

from tpucompat.base.late import late
from tpucompat.names import renamed
from tpucompat.standins.attributes import Owns

# Each function is for a library that may not be installed.
h5py = late("h5py")
metrics = late("sklearn.metrics")
class_weights = late("sklearn.utils.class_weight")
impute = late("sklearn.impute")
pyplot = late("matplotlib.pyplot")
stats = late("scipy.stats")
style = late("matplotlib.style")
yaml = late("yaml")


def textsize(self: Any, text: str, font: Any = None, **options: Any) -> tuple[int, int]:
    """``ImageDraw.textsize``: width and height in pixels (Pillow up to 9)."""
    left, top, right, bottom = self.textbbox((0, 0), text, font, **options)
    del left, top  # the size counted from the origin
    return int(right), int(bottom)


def getsize(self: Any, text: str, *args: Any, **options: Any) -> tuple[int, int]:
    """``ImageFont.getsize``: width and height in pixels (Pillow up to 9)."""
    left, top, right, bottom = self.getbbox(text, *args, **options)
    del left, top
    return int(right), int(bottom)


def open_h5(self: Any, name: Any, mode: Any = None, *args: Any, **options: Any) -> None:
    """``h5py.File`` without a mode: to read and write, or to read, or a new file (h5py up to 2)."""
    for each in ("r+", "r", "x") if mode is None else (mode,):
        try:
            h5py.File.__init__(self, name, each, *args, **options)
            return
        except OSError:
            if each in ("x", mode):
                raise


def h5_item(self: Any, *key: Any) -> Any:
    """``dataset[key]``: strings of any length in UTF-8 are ``str`` (h5py up to 2), and no bytes."""
    kind = h5py.check_string_dtype(self.dtype) if self.dtype.kind == "O" else None
    text = kind is not None and kind.length is None and kind.encoding == "utf-8"
    return (self.asstr() if text else self).__getitem__(*key)


def h5_items(self: Any) -> Iterator[Any]:
    """What a loop over a data set of :mod:`h5py` gives: its elements, as :func:`h5_item` does."""
    if not self.shape:
        raise TypeError("Can't iterate over a scalar dataset")
    return (h5_item(self, index) for index in range(self.shape[0]))


def h5_attribute(self: Any, name: str) -> Any:
    """``group.attrs[name]``: strings of any length are ``str`` in UTF-8 only, else ``bytes`` (h5py up to 2).

    Keras writes a model's configuration and its layers' names so; scripts that look into its files decode them.
    """
    value = self[name]
    kind = h5py.check_string_dtype(self.get_id(name).dtype)
    if kind is None or kind.length is not None or kind.encoding == "utf-8":
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    encoded = [each.encode("utf-8", "surrogateescape") for each in value.flat]
    return np.array(encoded, dtype=object).reshape(value.shape)


def h5_attribute_or(self: Any, name: str, default: Any = None) -> Any:
    """``group.attrs.get(name)``, as :func:`h5_attribute`."""
    return h5_attribute(self, name) if name in self else default


def h5_attribute_items(self: Any) -> Any:
    """``group.attrs.items()``, as :func:`h5_attribute`."""
    return {name: h5_attribute(self, name) for name in self}.items()


def h5_attribute_values(self: Any) -> Any:
    """``group.attrs.values()``, as :func:`h5_attribute`."""
    return {name: h5_attribute(self, name) for name in self}.values()


_NOT_GIVEN = object()


def h5_attribute_taken(self: Any, name: str, default: Any = _NOT_GIVEN) -> Any:
    """``group.attrs.pop(name)``, as :func:`h5_attribute`."""
    if name not in self and default is not _NOT_GIVEN:
        return default
    value = h5_attribute(self, name)
    del self[name]
    return value


def _read_all(dataset: Any) -> Any:
    return h5_item(dataset, ())


value = property(_read_all, doc="``Dataset.value``: the whole data set (h5py up to 2).")


def yaml_load(stream: Any, Loader: Any = None) -> Any:
    """``yaml.load`` without a loader, which PyYAML 5 took as ``FullLoader`` and 6 refuses."""
    return yaml.load(stream, Loader or yaml.FullLoader)


def mean_squared_error(*args: Any, **options: Any) -> Any:
    """``mean_squared_error`` with ``squared`` (scikit-learn up to 1.5)."""
    squared = options.pop("squared", True)
    error = metrics.mean_squared_error(*args, **options)
    return error if squared else error**0.5


def compute_class_weight(class_weight: Any, classes: Any, y: Any) -> Any:
    """``compute_class_weight`` by position, with a list of classes (scikit-learn up to 0.24)."""
    return class_weights.compute_class_weight(class_weight, classes=np.asarray(classes), y=y)


def jaccard_similarity_score(*args: Any, **options: Any) -> Any:
    """``jaccard_similarity_score`` (scikit-learn up to 0.22), which was the accuracy for single labels."""
    if np.ndim(args[0] if args else options["y_true"]) > 1:
        raise NotImplementedError(
            "tpucompat: jaccard_similarity_score of several labels an example."
        )
    return metrics.accuracy_score(*args, **options)


def plot_confusion_matrix(estimator: Any, X: Any, y_true: Any, **options: Any) -> Any:
    """``sklearn.metrics.plot_confusion_matrix`` (0.22 to 1.1)."""
    return metrics.ConfusionMatrixDisplay.from_estimator(estimator, X, y_true, **options)


def itemfreq(a: Any) -> Any:
    """``scipy.stats.itemfreq`` (up to 1.8): the values, and how often they are there."""
    return np.array(np.unique(a, return_counts=True)).T


def median_absolute_deviation(x: Any, axis: Any = 0, center: Any = None, **options: Any) -> Any:
    """``scipy.stats.median_absolute_deviation`` (1.3 to 1.10), by default that of a normal distribution."""
    scale = options.pop(
        "scale", 1.482602218505602
    )  # one over its own scale: the other way round than now
    return stats.median_abs_deviation(x, axis=axis, center=center or np.median, **options) * scale


def factorplot(*args: Any, **options: Any) -> Any:
    """``seaborn.factorplot``, catplot of points by default (up to 0.10)."""
    options.setdefault("kind", "point")
    catplot: Any = getattr(renamed.__getattr__("seaborn"), "catplot")  # noqa: B009
    return catplot(*args, **options)


def Imputer(
    missing_values: Any = "NaN", strategy: str = "mean", axis: int = 0, **options: Any
) -> Any:
    """``sklearn.preprocessing.Imputer`` along columns (scikit-learn up to 0.21)."""
    if axis != 0:
        raise NotImplementedError("tpucompat: Imputer(axis=1); transpose the data instead.")
    options.pop("verbose", None)
    missing = np.nan if missing_values == "NaN" else missing_values
    return impute.SimpleImputer(missing_values=missing, strategy=strategy, **options)


def get_cmap(name: Any = None, lut: int | None = None) -> Any:
    """``matplotlib.cm.get_cmap`` (matplotlib up to 3.8)."""
    return pyplot.get_cmap(name, lut)


def add_styles_without_version(owns: Owns) -> None:
    """Gives matplotlib's styles after seaborn their names without its version (up to 3.7)."""
    del owns  # the list of styles is one for the whole process
    mark = "seaborn-v0_8"
    for name in [name for name in style.library if name.startswith(mark)]:
        old = "seaborn" + name[len(mark) :]
        style.library.setdefault(old, style.library[name])
        if old not in style.available:
            style.available.append(old)
