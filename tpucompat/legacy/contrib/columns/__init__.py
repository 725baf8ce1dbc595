"""The feature columns of ``tf.contrib.layers``."""

from __future__ import annotations

from tpucompat.legacy.contrib.columns.base import InputLayer
from tpucompat.legacy.contrib.columns.embedded import (
    _EmbeddingColumn,
    _OneHotColumn,
    _ScatteredEmbeddingColumn,
    embedding_column,
    one_hot_column,
    scattered_embedding_column,
    shared_embedding_columns,
)
from tpucompat.legacy.contrib.columns.networks import (
    _create_sequence_feature_spec_for_parsing,
    _Transformer,
    check_feature_columns,
    create_feature_spec_for_parsing,
    infer_real_valued_columns,
    input_from_feature_columns,
    joint_weighted_sum_from_feature_columns,
    make_place_holder_tensors_for_base_features,
    parse_feature_columns_from_examples,
    parse_feature_columns_from_sequence_examples,
    sequence_input_from_feature_columns,
    transform_features,
    weighted_sum_from_feature_columns,
)
from tpucompat.legacy.contrib.columns.real_valued import (
    DataFrameColumn,
    _BucketizedColumn,
    _RealValuedColumn,
    _RealValuedVarLenColumn,
    bucketized_column,
    real_valued_column,
)
from tpucompat.legacy.contrib.columns.real_valued import (
    real_valued_var_len_column as _real_valued_var_len_column,
)
from tpucompat.legacy.contrib.columns.sparse import (
    _CrossedColumn,
    _SparseColumn,
    _SparseIdLookupConfig,
    _WeightedSparseColumn,
    crossed_column,
    sparse_column_with_hash_bucket,
    sparse_column_with_integerized_feature,
    sparse_column_with_keys,
    sparse_column_with_vocabulary_file,
    weighted_sparse_column,
)

__all__ = [
    "DataFrameColumn",
    "InputLayer",
    "_BucketizedColumn",
    "_CrossedColumn",
    "_EmbeddingColumn",
    "_OneHotColumn",
    "_RealValuedColumn",
    "_RealValuedVarLenColumn",
    "_ScatteredEmbeddingColumn",
    "_SparseColumn",
    "_SparseIdLookupConfig",
    "_Transformer",
    "_WeightedSparseColumn",
    "_create_sequence_feature_spec_for_parsing",
    "_real_valued_var_len_column",
    "bucketized_column",
    "check_feature_columns",
    "create_feature_spec_for_parsing",
    "crossed_column",
    "embedding_column",
    "infer_real_valued_columns",
    "input_from_feature_columns",
    "joint_weighted_sum_from_feature_columns",
    "make_place_holder_tensors_for_base_features",
    "one_hot_column",
    "parse_feature_columns_from_examples",
    "parse_feature_columns_from_sequence_examples",
    "real_valued_column",
    "scattered_embedding_column",
    "sequence_input_from_feature_columns",
    "shared_embedding_columns",
    "sparse_column_with_hash_bucket",
    "sparse_column_with_integerized_feature",
    "sparse_column_with_keys",
    "sparse_column_with_vocabulary_file",
    "transform_features",
    "weighted_sparse_column",
    "weighted_sum_from_feature_columns",
]
