"""Inputs and linear models of the feature columns of ``tf.contrib.layers``, and parsing by them.

Behaviour follows tensorflow/contrib/layers/python/layers/{feature_column,feature_column_ops}.py of TensorFlow
1.15.
"""

from __future__ import annotations

import functools
from typing import Any, Iterable, Iterator

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadTypeError, BadValueError
from tpucompat.legacy.contrib import layers as contrib_layers
from tpucompat.legacy.contrib.columns import base
from tpucompat.legacy.contrib.columns.embedded import (
    _EmbeddingColumn,
    _OneHotColumn,
    _ScatteredEmbeddingColumn,
)
from tpucompat.legacy.contrib.columns.real_valued import (
    _BucketizedColumn,
    _RealValuedColumn,
    _RealValuedVarLenColumn,
    real_valued_column,
)
from tpucompat.legacy.contrib.columns.sparse import _CrossedColumn, _WeightedSparseColumn
from tpucompat.legacy.contrib.slim import tf_slim

_IN_SEQUENCES = (_OneHotColumn, _EmbeddingColumn, _RealValuedColumn, _RealValuedVarLenColumn)
_NOT_IN_SEQUENCES = (_ScatteredEmbeddingColumn, _BucketizedColumn, _CrossedColumn)


# The features --------------------------------------------------------------------------------------


class _Transformer:
    """Makes of features what columns make of them, each once.

    Args:
      columns_to_tensors: The features by name; what is made is added to it.
    """

    def __init__(self, columns_to_tensors: dict[Any, Any]) -> None:
        self._columns_to_tensors = columns_to_tensors

    def transform(self, feature_column: Any) -> Any:
        """What a column makes of its feature.

        Raises:
          ValueError: If the column adds nothing to the dictionary.
        """
        tf.logging.debug("Transforming feature_column %s", feature_column)
        if feature_column not in self._columns_to_tensors:
            feature_column.insert_transformed_feature(self._columns_to_tensors)
        if feature_column not in self._columns_to_tensors:
            raise BadValueError("TPU103", f"Column {feature_column.name} is not supported.")
        return self._columns_to_tensors[feature_column]


def check_feature_columns(feature_columns: Any) -> None:
    """Refuses a dictionary, and two columns of the same key.

    Raises:
      ValueError: If it is one, or there are some.
    """
    if isinstance(feature_columns, dict):
        raise BadValueError("TPU103", "Expected feature_columns to be iterable, found dict.")
    seen = set()
    for column in feature_columns:
        if column.key in seen:
            raise BadValueError(
                "TPU103",
                f"Duplicate feature column key found for column: {column.name}. This usually means that the "
                "column is almost identical to another column, and one must be discarded.",
            )
        seen.add(column.key)


def _in_order(feature_columns: Any) -> list[Any]:
    """The columns in the order in which their variables and outputs stand."""
    return sorted(set(feature_columns), key=lambda column: column.key)


def transform_features(features: dict[Any, Any], feature_columns: Any) -> dict[Any, Any]:
    """What columns make of the features.

    Args:
      features: Feature name to tensor.
      feature_columns: The columns.

    Returns:
      Column to tensor.

    Raises:
      ValueError: If two columns are the same.
    """
    made = features.copy()
    check_feature_columns(feature_columns)
    transformer = _Transformer(made)
    for column in _in_order(feature_columns):
        transformer.transform(column)
    return {column: tensor for column, tensor in made.items() if column in feature_columns}


def infer_real_valued_columns(features: Any) -> list[Any]:
    """A column of numbers for each feature.

    Args:
      features: Feature name to tensor, or one tensor, whose name is then "".

    Raises:
      ValueError: If a feature is sparse or holds no numbers.
    """
    if not isinstance(features, dict):
        features = {"": features}
    return [_inferred(name, tensor) for name, tensor in features.items()]


def _inferred(name: str, tensor: Any) -> Any:
    problem = ""
    if isinstance(tensor, tf.SparseTensor):
        problem = "SparseTensor is"
    elif not (tensor.dtype.is_integer or tensor.dtype.is_floating):
        problem = "Non integer or non floating types are"
    if problem:
        raise BadValueError(
            "TPU103",
            f"{problem} not supported for auto detection. Please define corresponding FeatureColumn for "
            f"tensor {name} {tensor}.",
        )
    dimension = 1
    for size in tensor.shape.as_list()[1:]:
        dimension *= size
    return real_valued_column(name, dimension=dimension, dtype=tensor.dtype)


# Networks ------------------------------------------------------------------------------------------


def input_from_feature_columns(
    columns_to_tensors: dict[Any, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    cols_to_outs: dict[Any, Any] | None = None,
) -> Any:
    """The input of a network: what the columns make of the features, side by side.

    Args:
      columns_to_tensors: Feature name to tensor.
      feature_columns: The columns; they stand in the order of their keys.
      weight_collections: The collections that variables go into.
      trainable: Whether they are trained.
      scope: A name or variable scope.
      cols_to_outs: A dictionary that gets each column's part.

    Returns:
      ``[batch, size]`` float32.

    Raises:
      ValueError: If a column fits no network.
    """
    return _input(
        columns_to_tensors,
        feature_columns,
        weight_collections,
        trainable,
        scope,
        output_rank=2,
        default_name="input_from_feature_columns",
        cols_to_outs=cols_to_outs,
    )


def sequence_input_from_feature_columns(
    columns_to_tensors: dict[Any, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """The input of a recurrent network: what the columns make of sequences of features, side by side.

    Args:
      columns_to_tensors: Feature name to tensor.
      feature_columns: One-hot, embedding and real-valued columns.
      weight_collections: The collections that variables go into.
      trainable: Whether they are trained.
      scope: A name or variable scope.

    Returns:
      ``[batch, time, size]`` float32.

    Raises:
      ValueError: If a column fits no sequence.
    """
    for column in feature_columns:
        if not isinstance(column, _IN_SEQUENCES):
            raise BadValueError(
                "TPU103",
                f"FeatureColumn type {type(column).__name__} is not currently supported for sequence data.",
            )
    for column in _with_sources(feature_columns):
        if isinstance(column, _NOT_IN_SEQUENCES):
            raise BadValueError(
                "TPU103",
                f"Column {column.name} is of type {type(column).__name__}, which is not currently supported "
                "for sequences.",
            )
    return _input(
        columns_to_tensors,
        feature_columns,
        weight_collections,
        trainable,
        scope,
        output_rank=3,
        default_name="sequence_input_from_feature_columns",
    )


def _with_sources(feature_columns: Iterable[Any]) -> Iterator[Any]:
    """Columns, and those that they are made of."""
    for column in feature_columns:
        yield column
        if isinstance(column, (_WeightedSparseColumn, _OneHotColumn, _EmbeddingColumn)):
            yield from _with_sources([column.sparse_id_column])
        elif isinstance(column, _BucketizedColumn):
            yield column.source_column
        elif isinstance(column, _CrossedColumn):
            yield from _with_sources(column.columns)


def _input(
    columns_to_tensors: dict[Any, Any],
    feature_columns: Any,
    weight_collections: Any,
    trainable: bool,
    scope: Any,
    output_rank: int,
    default_name: str,
    cols_to_outs: dict[Any, Any] | None = None,
) -> Any:
    features = columns_to_tensors.copy()
    check_feature_columns(feature_columns)
    if cols_to_outs is not None and not isinstance(cols_to_outs, dict):
        raise BadValueError("TPU103", "cols_to_outs must be a dict unless None")
    with tf.variable_scope(scope, default_name=default_name, values=features.values()):
        outputs = []
        transformer = _Transformer(features)
        collections = _with_global_variables(weight_collections)
        for column in _in_order(feature_columns):
            with tf.variable_scope(None, default_name=column.name, values=features.values()):
                feature = transformer.transform(column)
                if output_rank == 3:
                    reshape = functools.partial(_reshaped, name=column.name, rank=output_rank)
                    feature = tf.nest.map_structure(reshape, feature)
                outputs.append(_embedded(column, feature, collections, trainable, output_rank))
            if cols_to_outs is not None:
                cols_to_outs[column] = outputs[-1]
        return tf.concat(outputs, output_rank - 1)


def _embedded(column: Any, feature: Any, collections: Any, trainable: bool, rank: int) -> Any:
    """A column's part of a network's input: its embeddings, or else its numbers."""
    try:
        arguments = column._deep_embedding_lookup_arguments(feature)
    except NotImplementedError as none:
        try:
            return column._to_dnn_input_layer(feature, collections, trainable, output_rank=rank)
        except ValueError as error:
            cause = getattr(error, "cause", error)
            raise BadValueError(
                "TPU103", f"Error creating input layer for column: {column.name}.\n{cause}, {none}"
            ) from error
    return base.embeddings(column, arguments, collections, trainable, output_rank=rank)


def _reshaped(tensor: Any, name: str, rank: int) -> Any:
    """A feature, dense or sparse, with as many dimensions as its layer has.

    Raises:
      ValueError: If more than one is missing, or it is not known how many there are.
    """
    sparse = isinstance(tensor, tf.SparseTensor)
    here = tensor.shape.ndims
    if here is None and sparse:
        here = tensor.dense_shape.shape.as_list()[0]
    where = f"Error while processing column {name}. "
    if here is None:
        raise BadValueError("TPU103", f"{where}Rank of input Tensor can not be None.")
    if rank > here + 1:
        raise BadValueError("TPU103", where + base.wrong_rank(here, rank))
    if rank < here:
        return base.inner_flatten(tensor, rank)
    if rank == here:
        return tensor
    if sparse:
        return tf.sparse_reshape(tensor, tf.concat([tensor.dense_shape, [1]], 0))
    return tf.expand_dims(tensor, -1)


def _with_global_variables(collections: Any) -> Any:
    """The collections that a variable goes into: the given ones, and that of all variables."""
    if not collections:
        return collections
    return list({*collections, tf.GraphKeys.GLOBAL_VARIABLES})


# Linear models -------------------------------------------------------------------------------------


def weighted_sum_from_feature_columns(
    columns_to_tensors: dict[Any, Any],
    feature_columns: Any,
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> tuple[Any, dict[Any, Any], Any]:
    """A linear model: the sum of the weights of all categories and of the weighted numbers, and a bias.

    Args:
      columns_to_tensors: Feature name to tensor.
      feature_columns: The columns.
      num_outputs: How many sums there are.
      weight_collections: The collections that variables go into.
      trainable: Whether they are trained.
      scope: A name or variable scope.

    Returns:
      ``[batch, num_outputs]`` sums, column to list of its variables, and the bias.

    Raises:
      ValueError: If a column fits no linear model.
    """
    features = columns_to_tensors.copy()
    check_feature_columns(feature_columns)
    default_name = "weighted_sum_from_feature_columns"
    with tf.variable_scope(scope, default_name=default_name, values=features.values()):
        sums, variables = [], {}
        transformer = _Transformer(features)
        make = functools.partial(
            tf_slim.model_variable, trainable=trainable, collections=weight_collections
        )
        for column in _in_order(feature_columns):
            feature = transformer.transform(column)
            try:
                arguments = column._wide_embedding_lookup_arguments(feature)
                with tf.variable_scope(None, default_name=column.name, values=features.values()):
                    parts, found = _looked_up(
                        make,
                        num_outputs,
                        arguments.vocab_size,
                        arguments.initializer,
                        arguments.input_tensor,
                        sparse_weights=arguments.weight_tensor,
                        combiner=arguments.combiner,
                        name=column.name + "_weights",
                    )
            except NotImplementedError:
                with tf.variable_scope(None, default_name=column.name, values=features.values()):
                    numbers = _reshaped(column._to_dense_tensor(feature), column.name, rank=2)
                    shape = [numbers.shape[1], num_outputs]
                    weight = make("weight", shape=shape, initializer=tf.zeros_initializer())
                    parts, found = [weight], tf.matmul(numbers, weight, name="matmul")
            except ValueError as error:
                cause = getattr(error, "cause", error)
                raise BadValueError(
                    "TPU103", f"Error creating weighted sum for column: {column.name}.\n{cause}"
                ) from error
            sums.append(tf.reshape(found, shape=(-1, num_outputs)))
            variables[column] = parts
            base.restore(column._checkpoint_path(), parts)
        without_bias = tf.add_n(sums)
        outputs, bias = _biased(without_bias, num_outputs, weight_collections, trainable)
        return outputs, variables, bias


def joint_weighted_sum_from_feature_columns(
    columns_to_tensors: dict[Any, Any],
    feature_columns: Any,
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """A linear model of categories whose weights are all in one variable.

    Args:
      columns_to_tensors: Feature name to tensor.
      feature_columns: Columns of categories, without weights, whose combiner is "sum".
      num_outputs: How many sums there are.
      weight_collections: The collections that variables go into.
      trainable: Whether they are trained.
      scope: A name or variable scope.

    Returns:
      ``[batch, num_outputs]`` sums, the list of the variable's parts, and the bias.

    Raises:
      AssertionError: If categories have weights or another combiner.
      NotImplementedError: If a column is of numbers.
    """
    features = columns_to_tensors.copy()
    check_feature_columns(feature_columns)
    default_name = "joint_weighted_sum_from_feature_columns"
    with tf.variable_scope(scope, default_name=default_name, values=features.values()):
        transformer = _Transformer(features)
        size, ids = 0, []
        for column in _in_order(feature_columns):
            feature = transformer.transform(column)
            try:
                arguments = column._wide_embedding_lookup_arguments(feature)
            except NotImplementedError:
                raise NotImplementedError(
                    "Real-valued columns are not supported. Use weighted_sum_from_feature_columns instead, "
                    "or bucketize these columns."
                ) from None
            _check_joint(arguments)
            ids.append((arguments.input_tensor, size))
            size += arguments.vocab_size
        assert ids, "At least one column must be in the model."
        moved = [
            tf.SparseTensor(each.indices, each.values + first, each.dense_shape)
            for each, first in ids
        ]
        joint = tf.sparse_concat(1, moved)
        make = functools.partial(
            tf_slim.model_variable, trainable=trainable, collections=weight_collections
        )
        with tf.variable_scope(None, default_name="linear_weights", values=features.values()):
            parts, found = _looked_up(
                make,
                num_outputs,
                size,
                tf.zeros_initializer(),
                joint,
                combiner="sum",
                name="_weights",
            )
        outputs, bias = _biased(found, num_outputs, weight_collections, trainable)
        return outputs, parts, bias


def _check_joint(arguments: base.LinearEmbeddingLookupArguments) -> None:
    instead = "Please use weighted_sum_from_feature_columns instead."
    assert arguments.weight_tensor is None, (
        f"Joint sums for weighted sparse columns are not supported. {instead}"
    )
    assert arguments.combiner == "sum", (
        f"Combiners other than sum are not supported for joint sums. {instead}"
    )


def _looked_up(
    make: Any, num_outputs: int, size: int, initializer: Any, ids: Any, **options: Any
) -> tuple[list[Any], Any]:
    """The parts of a variable of weights, and the sums of those that are asked for."""
    table = make("weights", shape=[size, num_outputs], dtype=tf.float32, initializer=initializer)
    parts = base.parts_of(table)
    return parts, contrib_layers.safe_embedding_lookup_sparse(parts, ids, **options)


def _biased(
    sums: Any, num_outputs: int, weight_collections: Any, trainable: bool
) -> tuple[Any, Any]:
    """Sums with a bias, and the bias."""
    bias = tf_slim.model_variable(
        "bias_weight",
        shape=[num_outputs],
        initializer=tf.zeros_initializer(),
        trainable=trainable,
        collections=_with_global_variables(weight_collections),
    )
    return tf.nn.bias_add(sums, bias), bias


# Parsing -------------------------------------------------------------------------------------------


def create_feature_spec_for_parsing(feature_columns: Any) -> dict[str, Any]:
    """How ``tf.parse_example`` parses the features of columns.

    Args:
      feature_columns: The columns, or a dictionary of them.

    Raises:
      TypeError: If one is no column, or cannot be parsed.
    """
    if isinstance(feature_columns, dict):
        feature_columns = feature_columns.values()
    return {
        name: how for column in feature_columns for name, how in base.feature_config(column).items()
    }


def _create_sequence_feature_spec_for_parsing(
    sequence_feature_columns: Any, allow_missing_by_default: bool = False
) -> dict[str, Any]:
    """The same for features that are sequences; a default lets a feature be missing."""
    found = {}
    for key, how in create_feature_spec_for_parsing(sequence_feature_columns).items():
        if isinstance(how, (tf.FixedLenFeature, tf.FixedLenSequenceFeature)):
            has_default = how.default_value is not None
            if has_default:
                tf.logging.warning(
                    'Found default value %s for feature "%s". Ignoring this value and setting '
                    "`allow_missing=True` instead.",
                    how.default_value,
                    key,
                )
            how = tf.FixedLenSequenceFeature(
                shape=how.shape,
                dtype=how.dtype,
                allow_missing=allow_missing_by_default or has_default,
            )
        elif not isinstance(how, tf.VarLenFeature):
            raise BadTypeError("TPU103", f"Unsupported feature type: {type(how).__name__}")
        found[key] = how
    return found


def make_place_holder_tensors_for_base_features(feature_columns: Any) -> dict[str, Any]:
    """A placeholder for each feature of columns, by its name."""
    placeholders = {}
    for name, how in create_feature_spec_for_parsing(feature_columns).items():
        called = f"Placeholder_{name}"
        if isinstance(how, tf.VarLenFeature):
            placeholders[name] = tf.sparse_placeholder(how.dtype, name=called)
        else:
            placeholders[name] = tf.placeholder(how.dtype, shape=(None, how.shape[0]), name=called)
    return placeholders


def parse_feature_columns_from_examples(
    serialized: Any, feature_columns: Any, name: str | None = None, example_names: Any = None
) -> dict[Any, Any]:
    """Parses a batch of Examples.

    Args:
      serialized: A vector of serialized Examples.
      feature_columns: The columns whose features are parsed.
      name: Of the operation.
      example_names: Names for messages.

    Returns:
      Feature name, and column, to tensor.

    Raises:
      ValueError: If two columns are the same.
    """
    check_feature_columns(feature_columns)
    features = tf.parse_example(
        serialized=serialized,
        features=create_feature_spec_for_parsing(feature_columns),
        name=name,
        example_names=example_names,
    )
    transformer = _Transformer(features)
    for column in _in_order(feature_columns):
        transformer.transform(column)
    return features


def parse_feature_columns_from_sequence_examples(
    serialized: Any,
    context_feature_columns: Any,
    sequence_feature_columns: Any,
    name: str | None = None,
    example_name: Any = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parses one SequenceExample.

    Args:
      serialized: It, serialized.
      context_feature_columns: Columns of the whole example, or None.
      sequence_feature_columns: Columns of its sequences, or None.
      name: Of the operation.
      example_name: A name for messages.

    Returns:
      The context's features by name, and those of the sequences.

    Raises:
      ValueError: If there are several examples, or two columns are the same.
    """
    try:
        serialized = tf.reshape(serialized, [])
    except ValueError as error:
        raise BadValueError(
            "TPU103",
            "serialized must contain as single sequence example. Batching must be done after parsing for "
            f"sequence examples. Error: {error}",
        ) from error
    context, sequences = context_feature_columns or [], sequence_feature_columns or []
    check_feature_columns(context)
    check_feature_columns(sequences)
    return tf.parse_single_sequence_example(
        serialized,
        create_feature_spec_for_parsing(context),
        _create_sequence_feature_spec_for_parsing(sequences),
        example_name,
        name,
    )
