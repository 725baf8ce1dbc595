"""Embedding columns: which tables they describe to TPUEstimator's cores, and under which names."""

from __future__ import annotations

from typing import Any, Mapping

from tpucompat.idioms import estimator as estimator_lib
from tpucompat.idioms.embedding import config as config_lib
from tpucompat.idioms.embedding import optimizers, tables

_embedding: Any = estimator_lib.load(
    "tensorflow_estimator.python.estimator.tpu._tpu_estimator_embedding"
)

# ``_TPU_FC_TO_SCOPE`` of tensorflow/python/tpu/feature_column.py (2.0 to 2.21): the collection in
# which a column keeps the scope that it was used in.
_SCOPES = "_tpu_feature_column_scope"
# What ``get_configs_from_feature_columns`` puts before the name of a column's variable.
_TABLE = "tbl_"


class EmbeddingConfig(_embedding.EmbeddingConfig):
    """The tables of one TPUEstimator, on the cores of this process."""

    def _create_tpu_embedding(self, mode: str) -> tables.TPUEmbedding:
        spec = self._embedding_config_spec
        training = mode == _embedding.model_fn_lib.ModeKeys.TRAIN
        return tables.TPUEmbedding(
            self._table_to_config_dict,
            self._feature_to_config_dict,
            self._train_batch_size if training else self._eval_batch_size,
            config_lib.TRAINING if training else config_lib.INFERENCE,
            optimization_parameters=spec.optimization_parameters if training else None,
            partition_strategy=self._partition_strategy,
            num_cores=self._num_cores,
        )


def full_variable_names(
    graph: Any, table_to_config_dict: Mapping[str, Any], optimization_parameters: Any = None
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The names that the tables' variables would have without a TPU.

    Args:
      graph: The graph in which the model function has used the columns.
      table_to_config_dict: The tables.
      optimization_parameters: Their optimizer; None without training.

    Returns:
      Table -> name of its variable, and table -> names of its slots' variables.

    Raises:
      RuntimeError: If the model function has not used the columns.
    """
    scopes = graph.get_collection_ref(_SCOPES)
    if not scopes:
        raise RuntimeError(
            "Embedding feature column did not capture any thing: the model_fn does not use the "
            "feature columns of embedding_config_spec."
        )
    names = {}
    for table in table_to_config_dict:
        scope, variable = scopes[0][table[len(_TABLE) :]]
        names[table] = f"{scope}/{variable}" if scope else variable
    graph.clear_collection(_SCOPES)
    if optimization_parameters is None:
        return names, {}
    slots = optimizers.optimizer_of(optimization_parameters).slots
    return names, {
        table: [f"{name}/{slot.suffix}" for slot in slots] for table, name in names.items()
    }
