"""What all feature columns of ``tf.contrib.layers`` have in common, and how they are embedded.

Behaviour follows tensorflow/contrib/layers/python/layers/feature_column.py of TensorFlow 1.15. Names and
fields of the classes are 1.15's too: a column's ``key`` is made of them, and the columns of a layer stand in
the order of their keys.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import tensorflow.compat.v1 as tf

from tpucompat import private
from tpucompat.errors import BadTypeError, BadValueError
from tpucompat.legacy.contrib import layers as contrib_layers
from tpucompat.legacy.contrib.slim import layers, tf_slim

#: The columns of ``tf.feature_column`` before they became V2: ours serve where those do.
CORE: Any = private.feature_columns_of_graphs()
#: Builds a network's input from such columns.
InputLayer = CORE.InputLayer


class LinearEmbeddingLookupArguments(NamedTuple):
    """What a linear model looks a column's weights up by."""

    input_tensor: Any
    weight_tensor: Any
    vocab_size: int
    initializer: Any
    combiner: str


class DeepEmbeddingLookupArguments(NamedTuple):
    """What a network looks a column's embeddings up by."""

    input_tensor: Any
    weight_tensor: Any
    vocab_size: int
    initializer: Any
    combiner: str
    dimension: int
    shared_embedding_name: str | None
    hash_key: int | None
    max_norm: float | None
    trainable: bool


class Given:
    """The features that are there, by name, and what columns have made of them."""

    def __init__(self, columns_to_tensors: dict[Any, Any]) -> None:
        self._columns_to_tensors = columns_to_tensors

    def get(self, key: Any) -> Any:
        """A feature by its name, or what a column makes of it, which is made once.

        Raises:
          ValueError: If there is no feature of that name.
          TypeError: If the key is neither a name nor a column.
        """
        if key in self._columns_to_tensors:
            return self._columns_to_tensors[key]
        if isinstance(key, str):
            raise BadValueError("TPU103", f"features dictionary doesn't contain key ({key})")
        if not isinstance(key, FeatureColumn):
            raise BadTypeError(
                "TPU103", f'"key" must be either a "str" or "_FeatureColumn". Provided: {key}'
            )
        key.insert_transformed_feature(self._columns_to_tensors)
        return self._columns_to_tensors[key]


class FeatureColumn:
    """A feature, or what is made of one, that a model can take in; a base of named tuples."""

    #: The fields that two columns of the same key may differ in.
    _not_in_key: Sequence[str] = ()

    @property
    def name(self) -> str:
        """What variables and operations of the column are called."""
        raise NotImplementedError

    @property
    def config(self) -> dict[str, Any]:
        """Feature name -> how it is parsed from an Example."""
        raise NotImplementedError

    @property
    def key(self) -> str:
        """What tells the column from others, and gives them their order."""
        this: Any = self  # a named tuple
        if not self._not_in_key:
            return str(self)
        fields = (
            f"{field}={getattr(self, field)}"
            for field in this._fields
            if field not in self._not_in_key
        )
        return "{}({})".format(type(self).__name__, ", ".join(fields))

    def insert_transformed_feature(self, columns_to_tensors: dict[Any, Any]) -> None:
        """Adds what the column makes of the features to their dictionary, under the column."""
        columns_to_tensors[self] = self._transform_feature(Given(columns_to_tensors))

    def _transform_feature(self, inputs: Any) -> Any:
        raise NotImplementedError(f"Transform is not implemented for {self}.")

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return self.config

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Any = None,
        trainable: bool = True,
        output_rank: int = 2,
    ) -> Any:
        raise BadValueError("TPU103", "Calling an abstract method.")

    def _deep_embedding_lookup_arguments(self, input_tensor: Any) -> DeepEmbeddingLookupArguments:
        raise NotImplementedError(f"No deep embedding lookup arguments for column {self}.")

    def _wide_embedding_lookup_arguments(self, input_tensor: Any) -> LinearEmbeddingLookupArguments:
        raise NotImplementedError(f"No wide embedding lookup arguments for column {self}.")

    def _to_dense_tensor(self, input_tensor: Any) -> Any:
        raise NotImplementedError(f"No dense tensor representation for column {self}.")

    def _checkpoint_path(self) -> tuple[str, str] | None:
        """The checkpoint and the name in it that the column's weights start from."""
        this: Any = self
        path = getattr(this, "ckpt_to_load_from", None)
        return None if path is None else (path, this.tensor_name_in_ckpt)


class CategoricalColumn(FeatureColumn, CORE._CategoricalColumn):
    """A column that gives integers, each with a weight or none."""

    @property
    def length(self) -> int:
        """One more than the largest integer."""
        raise NotImplementedError

    @property
    def _num_buckets(self) -> int:
        return self.length

    def id_tensor(self, input_tensor: Any) -> Any:
        """The integers in what the column has made of its feature."""
        return input_tensor

    def weight_tensor(self, input_tensor: Any) -> Any:
        """The weights in it, or None."""
        return None

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        made = inputs.get(self)
        return CORE._CategoricalColumn.IdWeightPair(self.id_tensor(made), self.weight_tensor(made))

    def _linear(self, input_tensor: Any, combiner: str) -> LinearEmbeddingLookupArguments:
        return LinearEmbeddingLookupArguments(
            input_tensor=self.id_tensor(input_tensor),
            weight_tensor=self.weight_tensor(input_tensor),
            vocab_size=self._num_buckets,
            initializer=tf.zeros_initializer(),
            combiner=combiner,
        )


class EmbeddedColumn(FeatureColumn, CORE._DenseColumn):
    """A column whose values are rows of a variable."""

    _not_in_key = ("initializer",)
    dimension: int

    @property
    def _variable_shape(self) -> Any:
        return tf.TensorShape([self.dimension])

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: bool = True
    ) -> Any:
        arguments = self._deep_embedding_lookup_arguments(inputs.get(self))
        return embeddings(self, arguments, weight_collections, trainable)


def feature_config(column: Any) -> dict[str, Any]:
    """How the features of a column are parsed.

    Raises:
      TypeError: If it is no feature column, or one that is not parsed.
    """
    if not isinstance(column, FeatureColumn):
        raise BadTypeError(
            "TPU103",
            "feature_columns should only contain instances of _FeatureColumn. "
            f"Given column is {column}",
        )
    if not getattr(column, "_is_parsed", True):
        raise BadTypeError("TPU103", f"Not supported _FeatureColumn type. Given column is {column}")
    return column.config


def inner_flatten(tensor: Any, rank: int) -> Any:
    """Flattens the last dimensions of a tensor, which may be sparse, into one."""
    return layers.layers._inner_flatten(tensor, rank)


def of_rank(tensor: Any, rank: int, name: str | None = None) -> Any:
    """A feature with as many dimensions as its layer has: a last one is added, or the last are flattened.

    Raises:
      ValueError: If more than one is missing.
    """
    here = tensor.shape.ndims
    if here is not None and rank > here + 1:
        where = "" if name is None else f"Error while processing column {name}."
        raise BadValueError("TPU103", where + wrong_rank(here, rank))
    if here is not None and rank == here + 1:
        tf.logging.warning(
            "Rank of input Tensor (%s) should be the same as output_rank (%s) for column. Will attempt to "
            "expand dims. It is highly recommended that you resize your input, as this behavior may change.",
            here,
            rank,
        )
        return tf.expand_dims(tensor, -1, name="expand_dims")
    return tensor if here == rank else inner_flatten(tensor, rank)


def wrong_rank(here: Any, rank: int) -> str:
    """What 1.15 says of a feature with too few dimensions."""
    return (
        f"Rank of input Tensor ({here}) should be the same as output_rank ({rank}). For example, sequence "
        "data should typically be 3 dimensional (rank 3) while non-sequence data is typically 2 dimensional "
        "(rank 2)."
    )


def is_variable(value: Any) -> bool:
    """Whether a value is a variable that is not partitioned."""
    return isinstance(value, tf.Variable)


def parts_of(variable: Any) -> list[Any]:
    """The parts of a variable that may be partitioned."""
    return [variable] if is_variable(variable) else variable._get_variable_list()


def restore(checkpoint_path: tuple[str, str] | None, variable: list[Any]) -> None:
    """Lets a variable start from a checkpoint, if the column names one."""
    if checkpoint_path is not None:
        path, name = checkpoint_path
        tf.train.init_from_checkpoint(path, {name: variable[0] if len(variable) == 1 else variable})


def embeddings(
    column: Any,
    arguments: DeepEmbeddingLookupArguments,
    weight_collections: Any,
    trainable: bool,
    output_rank: int = 2,
) -> Any:
    """A dense tensor of a column's embeddings; makes the variable that holds them.

    Args:
      column: The column.
      arguments: What it is looked up by.
      weight_collections: The collections that the variable goes into.
      trainable: Whether it is trained, where the column says so too.
      output_rank: The number of dimensions of the result.

    Raises:
      ValueError: If a shared embedding exists with another shape.
    """
    ids = inner_flatten(arguments.input_tensor, output_rank)
    weights = arguments.weight_tensor
    if weights is not None:
        weights = inner_flatten(weights, output_rank)
    options = {
        "dtype": tf.float32,
        "initializer": arguments.initializer,
        "trainable": trainable and arguments.trainable,
        "collections": weight_collections,
    }
    if arguments.hash_key:
        table = tf_slim.model_variable("weights", shape=[arguments.vocab_size], **options)
        return contrib_layers.scattered_embedding_lookup_sparse(
            table,
            ids,
            arguments.dimension,
            hash_key=arguments.hash_key,
            combiner=arguments.combiner,
            name="lookup",
        )
    options["shape"] = [arguments.vocab_size, arguments.dimension]
    if arguments.shared_embedding_name is None:
        table = tf_slim.model_variable("weights", **options)
    else:
        table = _shared(arguments.shared_embedding_name, options)
    parts = parts_of(table)
    restore(column._checkpoint_path(), parts)
    return contrib_layers.safe_embedding_lookup_sparse(
        parts,
        ids,
        sparse_weights=weights,
        combiner=arguments.combiner,
        name=column.name + "weights",
        max_norm=arguments.max_norm,
    )


def _shared(name: str, options: dict[str, Any]) -> Any:
    """The variable that columns share under a name, made by the first."""
    collection = "SHARED_EMBEDDING_COLLECTION_" + name.upper()
    found = tf.get_collection_ref(collection)
    if not found:
        found.append(tf_slim.model_variable(name, **options))
    elif len(found) > 1:
        raise BadValueError(
            "TPU103", f"Collection {collection} can only contain one (partitioned) variable."
        )
    elif found[0].get_shape() != options["shape"]:
        raise BadValueError(
            "TPU103",
            f"The embedding variable with name {name} already exists, but its shape does not match required "
            "embedding shape here. Please make sure to use different shared_embedding_name for different "
            "shared embeddings.",
        )
    return found[0]
