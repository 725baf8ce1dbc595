"""How tables, features and their optimizers are described to a TPU.

``tensorflow.python.tpu.tpu_embedding`` where TensorFlow no longer has it (2.16 and later); names,
defaults and checks are those of release 2.15. Nothing here starts TensorFlow.
"""

from __future__ import annotations

import inspect
import math
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError

#: ``TPUEmbeddingConfiguration.Mode`` of ``tpu_embedding_configuration.proto``.
INFERENCE = 1
TRAINING = 2

COMBINERS = ("mean", "sum", "sqrtn", None)


def wrong(what: str) -> BadValueError:
    """A ``ValueError`` about the description of tables or features (TPU319)."""
    return BadValueError("TPU319", what)


def _positive(value: Any, name: str, lowest: int = 1) -> None:
    if not isinstance(value, int) or value < lowest:
        raise wrong(f"{name} must be an integer >= {lowest}; received {value!r}.")


class _TableConfig(NamedTuple):
    vocabulary_size: int
    dimension: int
    initializer: Any
    combiner: str | None
    hot_id_replication: bool
    learning_rate: float | None
    learning_rate_fn: Any
    optimization_parameters: Any


class TableConfig(_TableConfig):
    """An embedding table.

    Args:
      vocabulary_size: Its number of rows.
      dimension: Its number of columns.
      initializer: Makes the first values; a truncated normal of standard deviation
        ``1 / sqrt(dimension)`` if None.
      combiner: How the rows of one sample become one: "mean", "sum", "sqrtn", or None where every
        sample has one id.
      hot_id_replication: Makes lookups of frequent ids faster on the hardware; ignored.
      learning_rate: A rate of its own.
      learning_rate_fn: Gives the rate, from the global step.
      optimization_parameters: An optimizer of its own.

    Raises:
      ValueError: If they do not fit (TPU319).
    """

    __slots__ = ()

    def __new__(
        cls,
        vocabulary_size: int,
        dimension: int,
        initializer: Any = None,
        combiner: str | None = "mean",
        hot_id_replication: bool = False,
        learning_rate: float | None = None,
        learning_rate_fn: Any = None,
        optimization_parameters: Any = None,
    ) -> TableConfig:
        """Checks the arguments, as TensorFlow 2.15 does."""
        _positive(vocabulary_size, "vocabulary_size")
        _positive(dimension, "dimension")
        if initializer is not None and not callable(initializer):
            raise wrong(f"initializer must be callable; received {initializer!r}.")
        if combiner not in COMBINERS:
            raise wrong(f'combiner must be "mean", "sum", "sqrtn" or None; received {combiner!r}.')
        if learning_rate is not None and learning_rate_fn is not None:
            raise wrong("learning_rate and learning_rate_fn are mutually exclusive.")
        if initializer is None:
            initializer = tf.truncated_normal_initializer(stddev=1 / math.sqrt(dimension))
        return super().__new__(
            cls,
            vocabulary_size,
            dimension,
            initializer,
            combiner,
            hot_id_replication,
            learning_rate,
            learning_rate_fn,
            optimization_parameters,
        )


class _FeatureConfig(NamedTuple):
    table_id: str
    max_sequence_length: int
    weight_key: str | None


class FeatureConfig(_FeatureConfig):
    """A feature whose ids are looked up.

    Args:
      table_id: The name of its table.
      max_sequence_length: How many positions of a sequence are kept; 0 for no sequence.
      weight_key: The feature that has the weights of its ids.

    Raises:
      ValueError: If the length is not a positive integer (TPU319).
    """

    __slots__ = ()

    def __new__(
        cls, table_id: str, max_sequence_length: int = 0, weight_key: str | None = None
    ) -> FeatureConfig:
        """Checks the arguments, as TensorFlow 2.15 does."""
        _positive(max_sequence_length, "max_sequence_length", lowest=0)
        return super().__new__(cls, table_id, max_sequence_length, weight_key)


class EnqueueData(NamedTuple):
    """The ids of one feature for one core, as a sparse tensor has them.

    Attributes:
      embedding_indices: The ids, of shape [ids].
      sample_indices: The sample (and, of a sequence, the position) of each, of shape [ids, 2 or 3];
        None if every id is a sample.
      aggregation_weights: The weight of each, of shape [ids]; None for ones.
    """

    embedding_indices: Any
    sample_indices: Any = None
    aggregation_weights: Any = None

    @staticmethod
    def from_sparse_tensor(sp_tensor: Any, weights: Any = None) -> EnqueueData:
        """That of a ``SparseTensor``.

        Args:
          sp_tensor: The ids.
          weights: Another with their weights.
        """
        return EnqueueData(
            sp_tensor.values, sp_tensor.indices, weights.values if weights is not None else None
        )


class RaggedEnqueueData(NamedTuple):
    """The same as a ragged tensor has them.

    Attributes:
      embedding_indices: The ids, of shape [ids].
      row_splits: Where the samples begin, of shape [samples + 1]; None if every id is a sample.
      aggregation_weights: The weight of each id; None for ones.
    """

    embedding_indices: Any
    row_splits: Any = None
    aggregation_weights: Any = None

    @staticmethod
    def from_ragged_tensor(rg_tensor: Any, weights: Any = None) -> RaggedEnqueueData:
        """That of a ``RaggedTensor``.

        Args:
          rg_tensor: The ids.
          weights: Another with their weights.
        """
        return RaggedEnqueueData(
            rg_tensor.values, rg_tensor.row_splits, weights.values if weights is not None else None
        )


def get_enqueue_datas_list_from_sparse_tensors_list(
    sp_tensors_list: Sequence[Mapping[str, Any]],
) -> list[dict[str, EnqueueData]]:
    """For each core's sparse tensors by feature, what :class:`EnqueueData` makes of them."""
    return [
        {name: EnqueueData.from_sparse_tensor(tensor) for name, tensor in tensors.items()}
        for tensors in sp_tensors_list
    ]


def get_enqueue_datas_list_from_ragged_tensors_list(
    rg_tensors_list: Sequence[Mapping[str, Any]],
) -> list[dict[str, RaggedEnqueueData]]:
    """For each core's ragged tensors by feature, what :class:`RaggedEnqueueData` makes of them."""
    return [
        {name: RaggedEnqueueData.from_ragged_tensor(tensor) for name, tensor in tensors.items()}
        for tensors in rg_tensors_list
    ]


# Optimizers --------------------------------------------------------------------------------------


class _OptimizationParameters:
    """An optimizer of embedding tables, and its hyperparameters as attributes."""

    learning_rate: float


#: What every optimizer takes behind its own arguments, in this order.
_COMMON: dict[str, Any] = {
    "use_gradient_accumulation": True,
    "clip_weight_min": None,
    "clip_weight_max": None,
    "weight_decay_factor": None,
    "multiply_weight_decay_factor_by_learning_rate": None,
}
#: What stands at the end, behind an optimizer's later additions.
_CLIPPING: dict[str, Any] = {"clip_gradient_min": None, "clip_gradient_max": None}

_WANTED: Any = inspect.Parameter.empty


def _optimizer(
    name: str,
    own: Mapping[str, Any],
    late: Mapping[str, Any] | None = None,
    **checks: Callable[[Any], bool],
) -> type:
    """The class of an optimizer's hyperparameters.

    Args:
      name: Its name.
      own: Name -> default of its own arguments, behind ``learning_rate``.
      late: The same for those that stand behind the common ones.
      **checks: Name of an argument -> whether a value is allowed.
    """
    defaults = {"learning_rate": _WANTED, **own, **_COMMON, **(late or {}), **_CLIPPING}
    signature = inspect.Signature(
        [
            inspect.Parameter(key, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
            for key, default in defaults.items()
        ]
    )

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        self.__dict__.update(bound.arguments)
        for key, allowed in checks.items():
            if not allowed(bound.arguments[key]):
                raise wrong(f"{name}({key}={bound.arguments[key]!r}) is out of range.")
        clipped = self.clip_gradient_min is not None or self.clip_gradient_max is not None
        if clipped and not self.use_gradient_accumulation:
            raise wrong("gradient clipping requires use_gradient_accumulation=True.")
        if not getattr(self, "lazy_adam", True) and not self.use_gradient_accumulation:
            raise wrong("lazy_adam=False requires use_gradient_accumulation=True.")

    members = {
        "__init__": __init__,
        "__signature__": signature,
        "__module__": __name__,
        "__doc__": f"Hyperparameters of {name[: -len('Parameters')]} for embedding tables.",
    }
    return type(name, (_OptimizationParameters,), members)


def _not_negative(value: float) -> bool:
    return value >= 0


def _above_zero(value: float) -> bool:
    return value > 0


def _decay(value: float) -> bool:
    return 0 <= value < 1


_PROXIMAL: dict[str, Any] = {"l1_regularization_strength": 0.0, "l2_regularization_strength": 0.0}

StochasticGradientDescentParameters = _optimizer("StochasticGradientDescentParameters", {})
AdagradParameters = _optimizer(
    "AdagradParameters", {"initial_accumulator": 0.1}, initial_accumulator=_above_zero
)
ProximalAdagradParameters = _optimizer(
    "ProximalAdagradParameters",
    {"initial_accumulator": 0.1, **_PROXIMAL},
    initial_accumulator=_above_zero,
    l1_regularization_strength=_not_negative,
    l2_regularization_strength=_not_negative,
)
AdamParameters = _optimizer(
    "AdamParameters",
    {
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-08,
        "lazy_adam": True,
        "sum_inside_sqrt": True,
    },
    beta1=_decay,
    beta2=_decay,
    epsilon=_above_zero,
)
FtrlParameters = _optimizer(
    "FtrlParameters",
    {"learning_rate_power": -0.5, "initial_accumulator_value": 0.1, **_PROXIMAL},
    {"multiply_linear_by_learning_rate": False, "beta": 0, "allow_zero_accumulator": False},
    learning_rate_power=lambda value: value <= 0,
    initial_accumulator_value=_not_negative,
    l1_regularization_strength=_not_negative,
    l2_regularization_strength=_not_negative,
)
MomentumParameters = _optimizer("MomentumParameters", {"momentum": _WANTED, "use_nesterov": False})
RMSPropParameters = _optimizer(
    "RMSPropParameters", {"rho": _WANTED, "momentum": _WANTED, "epsilon": _WANTED}
)
