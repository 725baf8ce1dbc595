"""``tf.contrib.distributions``: the package tensorflow-probability, for what TensorFlow did not keep."""

from __future__ import annotations

from typing import Any

from tpucompat.base.errors import SetupError
from tpucompat.base.late import late, load

tensorflow_probability = late("tensorflow_probability")  # may not be installed


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        load(tensorflow_probability)
    except ImportError as error:
        raise SetupError(
            "TPU110",
            (
                f"tf.contrib.distributions.{name} requires the package "
                f"tensorflow-probability, which cannot be imported: {error}."
            ),
            "pip install tensorflow-probability, of the release made for this TensorFlow",
        ) from error
    if name == "bijectors":
        return tensorflow_probability.bijectors
    return getattr(tensorflow_probability.distributions, name)
