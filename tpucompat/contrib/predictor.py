"""``tf.contrib.predictor``: a session behind a call, from a SavedModel or from an Estimator.

Behaviour follows tensorflow/contrib/predictor of TensorFlow 1.15.
"""

from __future__ import annotations

import logging
from typing import Any, Mapping

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.idioms import saved_models

_SERVING = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class Predictor:
    """Runs a session: a dictionary of inputs in, a dictionary of outputs out.

    A subclass sets the attributes that the properties show.
    """

    _graph: Any
    _session: Any
    _feed_tensors: dict[str, Any]
    _fetch_tensors: dict[str, Any]

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._graph

    @property
    def session(self) -> Any:
        """The session."""
        return self._session

    @property
    def feed_tensors(self) -> dict[str, Any]:
        """Name to tensor of the inputs."""
        return self._feed_tensors

    @property
    def fetch_tensors(self) -> dict[str, Any]:
        """Name to tensor of the outputs."""
        return self._fetch_tensors

    def __repr__(self) -> str:
        """Names the tensors."""
        return (
            f"{type(self).__name__} with feed tensors {self._feed_tensors} "
            f"and fetch_tensors {self._fetch_tensors}"
        )

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Predicts.

        Args:
          input_dict: Name to value; names that are left out are not fed.

        Returns:
          Name to array of the outputs.

        Raises:
          ValueError: If a name is none of the inputs'.
        """
        unexpected = set(input_dict) - set(self._feed_tensors)
        if unexpected:
            raise BadValueError(
                "TPU103",
                f"Got unexpected keys in input_dict: {unexpected}\n"
                f"expected: {set(self._feed_tensors)}",
            )
        feed = {
            tensor: input_dict[name]
            for name, tensor in self._feed_tensors.items()
            if input_dict.get(name) is not None
        }
        return self._session.run(self._fetch_tensors, feed)

    def _use(self, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> None:
        """Sets the tensors by their names in the graph."""
        named = self._graph.get_tensor_by_name
        self._feed_tensors = {key: named(name) for key, name in inputs.items()}
        self._fetch_tensors = {key: named(name) for key, name in outputs.items()}


class SavedModelPredictor(Predictor):
    """A predictor from a SavedModel; see :func:`from_saved_model`."""

    def __init__(
        self,
        export_dir: str,
        signature_def_key: str | None = None,
        signature_def: Any = None,
        input_names: Mapping[str, str] | None = None,
        output_names: Mapping[str, str] | None = None,
        tags: str | None = None,
        graph: Any = None,
        config: Any = None,
    ) -> None:
        if (input_names is None) != (output_names is None):
            raise BadValueError(
                "TPU103",
                "input_names and output_names must both be specified or both be unspecified.",
            )
        if sum(way is not None for way in (signature_def_key, signature_def, input_names)) > 1:
            raise BadValueError(
                "TPU103",
                "You must specify at most one of signature_def_key OR signature_def OR"
                "(input_names AND output_names).",
            )
        self._graph = graph or tf.Graph()
        with self._graph.as_default():
            self._session = tf.Session(config=config)
            meta = saved_models.load(self._session, (tags or "serve").split(","), export_dir)
        if input_names is None or output_names is None:
            signature = signature_def or _signature(meta, signature_def_key or _SERVING)
            input_names = {key: tensor.name for key, tensor in signature.inputs.items()}
            output_names = {key: tensor.name for key, tensor in signature.outputs.items()}
        self._use(input_names, output_names)


def _signature(meta: Any, key: str) -> Any:
    """The signature of a key, or the one that tf.contrib.learn exported under a longer name."""
    for name in (key, f"default_input_alternative:{key}"):
        if name in meta.signature_def:
            if name != key:
                logging.warning('Could not find signature def "%s". Using "%s" instead', key, name)
            return meta.signature_def[name]
    raise BadValueError(
        "TPU103",
        f'Got signature_def_key "{key}". Available signatures are {list(meta.signature_def)}.',
    )


class CoreEstimatorPredictor(Predictor):
    """A predictor from an Estimator; see :func:`from_estimator`."""

    def __init__(
        self,
        estimator: Any,
        serving_input_receiver_fn: Any,
        output_key: str | None = None,
        graph: Any = None,
        config: Any = None,
    ) -> None:
        key = output_key or _SERVING
        self._graph = graph or tf.Graph()
        with self._graph.as_default():
            receiver = serving_input_receiver_fn()
            # Estimator.model_fn wraps the user's function with the arguments that it wants.
            spec = estimator.model_fn(receiver.features, None, "infer", estimator.config)
            output = spec.export_outputs.get(key)
            if output is None:
                raise KeyError(f"output_key must be one of {spec.export_outputs.keys()}; got {key}")
            signature = output.as_signature_def(receiver.receiver_tensors)
            self._session = tf.train.MonitoredSession(
                session_creator=tf.train.ChiefSessionCreator(
                    config=config, checkpoint_dir=estimator.model_dir
                )
            )
        self._use(
            {name: tensor.name for name, tensor in signature.inputs.items()},
            {name: tensor.name for name, tensor in signature.outputs.items()},
        )


def from_saved_model(
    export_dir: str,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: str | None = None,
    graph: Any = None,
    config: Any = None,
) -> SavedModelPredictor:
    """A predictor from a SavedModel.

    Args:
      export_dir: Its folder.
      signature_def_key: Which signature; "serving_default" by default.
      signature_def: Or the signature itself.
      input_names: Or the names of the input tensors, by key.
      output_names: With those of the outputs.
      tags: Of the graph in the SavedModel, with commas between; "serve" by default.
      graph: To load it into; a new one by default.
      config: Of the session.

    Returns:
      The predictor.

    Raises:
      ValueError: If more than one way to name the tensors is taken, or there is no such signature.
    """
    return SavedModelPredictor(
        export_dir, signature_def_key, signature_def, input_names, output_names, tags, graph, config
    )


def from_estimator(
    estimator: Any,
    serving_input_receiver_fn: Any,
    output_key: str | None = None,
    graph: Any = None,
    config: Any = None,
) -> CoreEstimatorPredictor:
    """A predictor from an Estimator's latest checkpoint.

    Args:
      estimator: The Estimator.
      serving_input_receiver_fn: Makes the inputs.
      output_key: Which of its export outputs; "serving_default" by default.
      graph: To build it in; a new one by default.
      config: Of the session.

    Returns:
      The predictor.

    Raises:
      KeyError: If there is no such output.
    """
    return CoreEstimatorPredictor(estimator, serving_input_receiver_fn, output_key, graph, config)
