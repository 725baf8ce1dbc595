"""``tf.contrib.gan``: the package tensorflow-gan, into which it moved with TensorFlow 1.15."""

from __future__ import annotations

from typing import Any

from tpucompat.base.errors import SetupError
from tpucompat.base.late import late, load

tensorflow_gan = late("tensorflow_gan")  # may not be installed

# What pip calls modules that tensorflow-gan imports and has not asked pip for.
_PACKAGES = {"pkg_resources": "'setuptools<81'", "tensorflow_gan": "tensorflow-gan"}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        load(tensorflow_gan)
    except ImportError as error:
        raise SetupError(
            "TPU110",
            (
                f"tf.contrib.gan.{name} requires the package tensorflow-gan, which cannot be "
                f"imported: {error}."
            ),
            f"pip install {_PACKAGES.get(error.name or '', error.name or 'tensorflow-gan')}",
        ) from error
    except AttributeError as error:  # a class of tf.estimator's, for one
        raise SetupError(
            "TPU110",
            f"tf.contrib.gan.{name} comes from the package tensorflow-gan, which fails where it is imported: "
            f"{error}.",
            "Use `tpucompat run --legacy-package tensorflow_gan SCRIPT`; under plain Python, call "
            "`tpucompat.install(legacy_packages=['tensorflow_gan'])` before the import",
        ) from error
    return getattr(tensorflow_gan, name)
