"""What Keras has removed since TensorFlow 1.15 and standalone Keras 2.2."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

from tpucompat.base import journal
from tpucompat.base.machine import current_environment
from tpucompat.engines import session
from tpucompat.standins import keras_yaml
from tpucompat.tf import patches, private


def multi_gpu_model(
    model: Any, gpus: Any = None, cpu_merge: bool = True, cpu_relocation: bool = False
) -> Any:
    """``keras.utils.multi_gpu_model`` (until 2.4): the model itself.

    Its replicas shared the weights and their gradients were averaged, so that it trained as the one model
    does; it was only meant to be faster.
    """
    del cpu_merge, cpu_relocation
    journal.notice(
        "TPU426",
        (f"multi_gpu_model(gpus={gpus}) returns the model itself, which trains on one device"),
    )
    return model


def get_custom_objects() -> dict[str, Any]:
    """``keras.utils.get_custom_objects``: what the script and its scopes have added; Keras' own are apart."""
    return private.custom_objects()


def image_dim_ordering() -> str:
    """``keras.backend.image_dim_ordering`` (Keras 1): "tf" for channels last, "th" for channels first."""
    return "th" if _backend().image_data_format() == "channels_first" else "tf"


def set_image_dim_ordering(dim_ordering: str) -> None:
    """``keras.backend.set_image_dim_ordering`` (Keras 1).

    Raises:
      ValueError: If ``dim_ordering`` is neither "tf" nor "th".
    """
    if dim_ordering not in ("tf", "th"):
        raise ValueError("Unknown dim_ordering:", dim_ordering)
    _backend().set_image_data_format("channels_first" if dim_ordering == "th" else "channels_last")


class _Tracked:
    """``Layer._layers``: the layers of a model as a list that it uses itself, as scripts change it.

    A layer that sets an attribute of the name keeps its own: this has no ``__set__``.
    """

    def __get__(self, layer: Any, owner: Any) -> Any:
        return self if layer is None else layer._self_tracked_trackables


@patches.patch
def restore_methods() -> None:
    """Gives Keras' classes back the methods that they have lost.

    Adding a missing method affects no other user of the class.
    """
    keras = session.keras_of_the_era()
    for name, method in (("predict_classes", _predict_classes), ("predict_proba", _predict_proba)):
        if not hasattr(keras.Sequential, name):  # removed in 2.6 (release notes)
            patches.replace(keras.Sequential, name, method)
    if not hasattr(keras.layers.Layer, "apply"):  # 2.15 has it in tf.layers alone
        patches.replace(keras.layers.Layer, "apply", _apply)
    if not current_environment().has("contrib"):  # patch releases of TensorFlow 2 removed it too
        patches.replace(keras.Model, "to_yaml", keras_yaml.to_yaml)
    private.take_inputs_of_updates()
    for engine in private.keras_model_engines():  # a name that scripts and files of models compare
        patches.replace(engine, "__name__", "Model")
        patches.replace(engine, "__qualname__", "Model")
    # 2.5 calls the list _self_tracked_trackables (tensorflow/python/keras/engine/base_layer.py).
    if not hasattr(keras.layers.Layer, "_layers"):
        patches.replace(keras.layers.Layer, "_layers", _Tracked())
    _take_numpy_number(keras.layers.RepeatVector)
    generator = keras.preprocessing.image.ImageDataGenerator
    flow = generator.flow_from_dataframe
    patches.replace(generator, "flow_from_dataframe", _flow_with_extensions(flow))


@patches.patch
def start_adagrad_from_zero() -> None:
    """Lets ``compile("adagrad")`` start with sums of 0, as 1.15 did where a configuration names none.

    Later releases start with 0.1 (``from_config`` in 1.15's tensorflow/python/keras/optimizer_v2/adagrad.py).
    """
    adagrad = session.optimizers_of_the_era().Adagrad
    own = adagrad.from_config.__func__

    @functools.wraps(own)
    def from_config(cls: Any, config: dict[str, Any], *args: Any, **options: Any) -> Any:
        return own(cls, {"initial_accumulator_value": 0.0, **config}, *args, **options)

    patches.replace(adagrad, "from_config", classmethod(from_config))


def _take_numpy_number(vector: Any) -> None:
    """Lets ``RepeatVector`` take a whole number of NumPy's, such as ``max`` gives, as up to 2.4."""
    own = vector.__init__

    @functools.wraps(own)
    def init(self: Any, n: Any, **options: Any) -> None:
        own(self, int(n) if isinstance(n, np.integer) else n, **options)

    patches.replace(vector, "__init__", init)


def _flow_with_extensions(flow: Any) -> Any:
    """``flow_from_dataframe`` with ``has_ext=False``, which looked for the files of names without extension.

    keras_preprocessing took it up to 1.0.5 (TensorFlow 1.12); later ones ignore it, and find no file.
    """

    @functools.wraps(flow)
    def flow_from_dataframe(
        self: Any,
        dataframe: Any,
        directory: Any = None,
        x_col: str = "filename",
        *args: Any,
        **options: Any,
    ) -> Any:
        # 2.3's warning of the argument fails itself (tensorflow/python/keras/preprocessing/image.py).
        if options.pop("has_ext", True) is False and directory is not None:
            names = dict(sorted((os.path.splitext(n)[0], n) for n in os.listdir(directory)))
            found = [names.get(str(name), name) for name in dataframe[x_col]]
            dataframe = dataframe.assign(**{x_col: found})
        return flow(self, dataframe, directory, x_col, *args, **options)

    return flow_from_dataframe


def _apply(self: Any, inputs: Any, *args: Any, **options: Any) -> Any:
    """What a call of the layer gives."""
    return self(inputs, *args, **options)


def _predict_proba(self: Any, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
    """Class probabilities, shape [samples, classes]."""
    return self.predict(x, batch_size, verbose)


def _predict_classes(self: Any, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
    """The class of each sample: the largest output, or whether the only one is above a half."""
    outputs = self.predict(x, batch_size, verbose)
    is_binary = outputs.shape[-1] == 1
    return np.greater(outputs, 0.5).astype("int32") if is_binary else outputs.argmax(-1)


def _backend() -> Any:
    return session.keras().backend
