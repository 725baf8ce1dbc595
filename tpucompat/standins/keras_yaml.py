"""A Keras model's architecture as YAML.

TensorFlow 2.6 removed it, and 2.4.3 and other patch releases (RELEASE.md), because ``yaml.load`` could be made
to run code; what is loaded here is plain data and tuples.
"""

from __future__ import annotations

import json
from typing import Any, Mapping

from tpucompat.base.late import late, load
from tpucompat.engines import session

yaml = late("yaml")  # may not be installed


def _yaml() -> Any:
    try:
        return load(yaml)
    except ImportError:  # in the words of 1.15 (tensorflow/python/keras/engine/network.py)
        raise ImportError("Requires yaml module installed (`pip install pyyaml`).") from None


def to_yaml(self: Any, **kwargs: Any) -> str:
    """``Model.to_yaml``: the model's configuration, without its weights.

    Args:
      self: The model.
      **kwargs: For ``yaml.dump``.

    Raises:
      ImportError: PyYAML is not installed.
    """
    text: str = _yaml().dump(json.loads(self.to_json()), **kwargs)
    return text


def model_from_yaml(yaml_string: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """``keras.models.model_from_yaml``: a model, not compiled, with weights of its own.

    Args:
      yaml_string: Text or an open file, as :func:`to_yaml` or TensorFlow 1.15 wrote it.
      custom_objects: Name -> class or function of the script's own.

    Raises:
      ImportError: PyYAML is not installed.
    """
    yaml = _yaml()
    config = yaml.load(yaml_string, Loader=yaml.FullLoader)
    layers = session.keras_of_the_era().layers
    return layers.deserialize(config, custom_objects=custom_objects)
