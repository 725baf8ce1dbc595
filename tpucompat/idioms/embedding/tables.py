"""``TPUEmbedding``: ids in, activations out, gradients back.

The tables that the cores use are variables of the program, as the hardware's are its own: they are
loaded from the variables of the script's graph before it runs and given back to them after it. The
host gives each core the ids of its batch in a lane of the infeed; the step looks them up, and
updates the tables with the gradients of all cores.
"""

from __future__ import annotations

import collections
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import GoneError
from tpucompat.base.machine import environment
from tpucompat.engines import accelerator
from tpucompat.idioms.computations import cross_shard
from tpucompat.idioms.embedding import config as config_lib
from tpucompat.idioms.embedding import optimizers
from tpucompat.idioms.tpu_estimator import device as device_lib

#: The lane of the infeed in which the ids come.
LANE = "embedding"

# For each feature: to which activation an id belongs, the id, and its weight.
_KINDS = (tf.int32, tf.int32, tf.float32)


class VariablesAndOps(NamedTuple):
    """The variables of the script's graph, and what moves their values.

    Attributes:
      embedding_variables_by_table: Table -> list of its variables, one for each host.
      slot_variables_by_table: Table -> tuple of such lists, one for each slot.
      load_ops: Makes the operations that give the cores the values.
      retrieve_ops: Makes the operations that take them back.
    """

    embedding_variables_by_table: dict[str, list[Any]]
    slot_variables_by_table: dict[str, tuple[list[Any], ...]]
    load_ops: Callable[[], list[Any]]
    retrieve_ops: Callable[[], list[Any]]


class TPUEmbedding:
    """The tables of one computation.

    Args:
      table_to_config_dict: Table -> ``TableConfig``.
      feature_to_config_dict: Feature -> ``FeatureConfig``.
      batch_size: Samples of a step on all cores.
      mode: ``config.TRAINING`` or ``config.INFERENCE``.
      master: Not used: the cores are those of this process.
      optimization_parameters: The optimizer of the tables that have none of their own.
      cluster_def: Not used.
      pipeline_execution_with_tensor_core: Not used: a step looks up what the last one has written.
      partition_strategy: "div" or "mod"; on one host they are the same.
      profile_data_directory: Not used.
      device_config: Not used.
      master_job_name: Not used.
      num_cores: How many cores take part; all of this process if None.

    Raises:
      ValueError: If the description does not hold together (TPU319).
      errors.GoneError: On a TPU (TPU321).
    """

    def __init__(
        self,
        table_to_config_dict: Mapping[str, Any],
        feature_to_config_dict: Mapping[str, Any],
        batch_size: int,
        mode: int,
        master: Any = None,
        optimization_parameters: Any = None,
        cluster_def: Any = None,
        pipeline_execution_with_tensor_core: bool = False,
        partition_strategy: str = "div",
        profile_data_directory: Any = None,
        device_config: Any = None,
        master_job_name: Any = None,
        num_cores: int | None = None,
    ) -> None:
        if environment().tpu and not accelerator.emulated_cores():
            raise GoneError("TPU321", "TPUEmbedding is used.")
        if partition_strategy not in ("div", "mod"):
            raise config_lib.wrong(
                f'partition_strategy must be "div" or "mod"; received {partition_strategy!r}.'
            )
        used = {feature.table_id for feature in feature_to_config_dict.values()}
        if used != set(table_to_config_dict):
            raise config_lib.wrong(
                f"the features use the tables {sorted(used)}, but the defined tables are "
                f"{sorted(table_to_config_dict)}."
            )
        self.num_cores = num_cores or max(1, accelerator.cores())
        if batch_size % self.num_cores:
            raise config_lib.wrong(
                f"batch_size={batch_size} is not a multiple of the {self.num_cores} cores."
            )
        if mode not in (config_lib.TRAINING, config_lib.INFERENCE):
            raise config_lib.wrong(f"mode must be TRAINING or INFERENCE; received {mode!r}.")
        self._mode = mode
        self._batch_size = batch_size
        self._tables = _in_order(table_to_config_dict)
        self._features = _in_order(feature_to_config_dict)
        self._by_table = {
            table: [name for name, feature in self._features.items() if feature.table_id == table]
            for table in self._tables
        }
        self._optimization_parameters = optimization_parameters
        self._optimizers: dict[str, Any] = {}
        if mode == config_lib.TRAINING:
            for table, described in self._tables.items():
                wanted = getattr(described, "optimization_parameters", None)
                wanted = wanted or optimization_parameters
                if wanted is None:
                    raise config_lib.wrong(f"the table {table!r} has no optimization_parameters.")
                optimizers.optimizer_of(wanted)
                self._optimizers[table] = wanted
        elif optimization_parameters is not None:
            raise config_lib.wrong("optimization_parameters require the mode TRAINING.")

    # What TensorFlow's class tells of itself --------------------------------------------------

    @property
    def hosts(self) -> list[str]:
        """The hosts' devices: this machine's."""
        return ["/device:CPU:0"]

    @property
    def num_cores_per_host(self) -> int:
        """The cores of a host."""
        return self.num_cores

    @property
    def batch_size_per_core(self) -> int:
        """The samples of a core's step."""
        return self._batch_size // self.num_cores

    @property
    def config_proto(self) -> None:
        """What initializes the hardware: nothing."""

    @property
    def table_to_config_dict(self) -> dict[str, Any]:
        """Table -> its description, by name."""
        return dict(self._tables)

    _table_to_config_dict = table_to_config_dict  # tensorflow-estimator 2.15 asks for these two

    @property
    def feature_to_config_dict(self) -> dict[str, Any]:
        """Feature -> its description, by name."""
        return dict(self._features)

    _feature_to_config_dict = feature_to_config_dict

    @property
    def table_to_features_dict(self) -> dict[str, list[str]]:
        """Table -> its features, by name."""
        return {table: list(features) for table, features in self._by_table.items()}

    @property
    def optimization_parameters(self) -> Any:
        """The optimizer of the tables that have none of their own."""
        return self._optimization_parameters

    def optimizer(self, table: str) -> Any:
        """The hyperparameters of a table's optimizer; None without training."""
        return self._optimizers.get(table)

    # On the host ---------------------------------------------------------------------------------

    def generate_enqueue_ops(
        self,
        enqueue_datas_list: Sequence[Mapping[str, Any]],
        mode_override: Any = None,
        ragged: bool = False,
    ) -> list[Any]:
        """Operations that give the cores their ids.

        Args:
          enqueue_datas_list: For each core: feature -> ``EnqueueData`` or ``RaggedEnqueueData``.
          mode_override: Not used.
          ragged: Not used: the data tell.

        Returns:
          An operation for each core.

        Raises:
          ValueError: If the features are not those that were described (TPU319).
        """
        del mode_override, ragged
        operations = []
        for core, given in enumerate(enqueue_datas_list):
            if set(given) != set(self._features):
                raise config_lib.wrong(
                    f"core {core} received the features {sorted(given)}, but the defined "
                    f"features are {sorted(self._features)}."
                )
            values = [
                value
                for name, feature in self._features.items()
                for value in _lookups(given[name], feature.max_sequence_length)
            ]
            operations.append(device_lib.device_for_graph().enqueue(core, values, LANE))
        return operations

    def create_variables_and_ops(
        self,
        embedding_variable_name_by_table: Mapping[str, str] | None = None,
        slot_variable_names_by_table: Mapping[str, Sequence[str]] | None = None,
    ) -> VariablesAndOps:
        """Makes the variables that a checkpoint holds.

        Args:
          embedding_variable_name_by_table: Table -> name of its variable; the table's own if None.
          slot_variable_names_by_table: Table -> names of its slots' variables; made from the
            variable's name if None.

        Returns:
          The variables, and what moves their values to the cores and back.
        """
        pairs: list[tuple[Any, Any]] = []  # variable of the script's graph, variable of the program
        tables: dict[str, list[Any]] = {}
        slots: dict[str, tuple[list[Any], ...]] = {}
        for table, described in self._tables.items():
            name = (embedding_variable_name_by_table or {}).get(table, table)
            own = self._of_program(table)
            tables[table] = _variable(name, described, described.initializer)
            pairs.append((tables[table][0], own[0]))
            kinds = self._slots(table)
            names = (slot_variable_names_by_table or {}).get(table)
            names = names or [f"{name}/{slot.suffix}" for slot in kinds]
            slots[table] = tuple(
                _variable(slot_name, described, tf.constant_initializer(self._first(table, slot)))
                for slot_name, slot in zip(names, kinds)
            )
            pairs += [(variables[0], one) for variables, one in zip(slots[table], own[1:])]
        return VariablesAndOps(
            tables,
            slots,
            lambda: [own.assign(variable) for variable, own in pairs],
            lambda: [variable.assign(own.read_value()).op for variable, own in pairs],
        )

    def _slots(self, table: str) -> tuple[optimizers.Slot, ...]:
        wanted = self.optimizer(table)
        return () if wanted is None else optimizers.optimizer_of(wanted).slots

    def _first(self, table: str, slot: optimizers.Slot) -> float:
        return getattr(self.optimizer(table), slot.initial) if slot.initial else 0.0

    def _of_program(self, table: str) -> list[Any]:
        """The table and its slots as the cores have them; made when first asked for."""
        device = device_lib.device_for_graph()
        if table not in device.tables:
            described = self._tables[table]
            shape = [described.vocabulary_size, described.dimension]
            with tf.control_dependencies(None), tf.device(None), tf.variable_scope(
                tf.get_variable_scope(), use_resource=True
            ):
                device.tables[table] = [
                    tf.Variable(
                        lambda: tf.zeros(shape),
                        trainable=False,
                        # No session initializes them: they are loaded.
                        collections=["tpu_embedding_tables"],
                        name=f"tpu_embedding/{table}/{number}",
                    )
                    for number in range(1 + len(self._slots(table)))
                ]
        return device.tables[table]

    # On the cores --------------------------------------------------------------------------------

    def get_activations(self) -> dict[str, Any]:
        """The activations of this core's samples.

        Returns:
          Feature -> tensor of shape [samples, columns]; [samples, positions, columns] of a
          sequence.
        """
        self._taken()  # the ids of all features come together
        return collections.OrderedDict(
            (feature, self._activation(feature))
            for features in self._by_table.values()
            for feature in features
        )

    def _taken(self) -> dict[str, tuple[Any, ...]]:
        """Feature -> where the ids belong, the ids, and their weights, as the core is given them."""
        inputs = device_lib.device_for_graph().lane(LANE)
        if not inputs:
            kinds = _KINDS * len(self._features)
            inputs = device_lib.device_for_graph().take(kinds, [[None]] * len(kinds), LANE)
        return {
            name: tuple(inputs[3 * number : 3 * number + 3])
            for number, name in enumerate(self._features)
        }

    def _activation(self, name: str) -> Any:
        feature = self._features[name]
        described = self._tables[feature.table_id]
        places, ids, _ = self._taken()[name]
        rows = tf.gather(self._of_program(feature.table_id)[0], ids)
        flat = tf.math.unsorted_segment_sum(
            rows * self._share(name)[:, None], places, self._places(name)
        )
        samples = [self.batch_size_per_core]
        if feature.max_sequence_length:
            samples.append(feature.max_sequence_length)
        return tf.reshape(flat, [*samples, described.dimension])

    def _places(self, name: str) -> int:
        return self.batch_size_per_core * (self._features[name].max_sequence_length or 1)

    def _share(self, name: str) -> Any:
        """How much of its activation each id is: its weight, as the combiner divides it."""
        places, _, weights = self._taken()[name]
        combiner = self._tables[self._features[name].table_id].combiner
        if combiner not in ("mean", "sqrtn"):
            return weights
        parts = weights if combiner == "mean" else tf.square(weights)
        whole = tf.math.unsorted_segment_sum(parts, places, self._places(name))
        whole = tf.gather(whole if combiner == "mean" else tf.sqrt(whole), places)
        return tf.math.divide_no_nan(weights, whole)

    def generate_send_gradients_op(
        self, feature_to_gradient_dict: Mapping[str, Any], step: Any = None
    ) -> Any:
        """An operation of the cores that updates the tables.

        Args:
          feature_to_gradient_dict: Feature -> gradient of the loss with respect to its activations.
          step: The global step, for rates that depend on it.

        Raises:
          RuntimeError: Without training.
        """
        if self._mode != config_lib.TRAINING:
            raise RuntimeError("gradients require TPUEmbedding in the mode TRAINING.")
        return tf.group(
            *[
                self._update(table, feature_to_gradient_dict, self._rate(table, step))
                for table in self._tables
            ]
        )

    def _rate(self, table: str, step: Any) -> Any:
        described = self._tables[table]
        from_step = getattr(described, "learning_rate_fn", None)  # 2.1's estimator knows none
        if from_step is not None:
            if step is None:
                raise config_lib.wrong("a learning rate depends on the global step, which is None.")
            return tf.cast(from_step(step), tf.float32)
        return described.learning_rate or self.optimizer(table).learning_rate

    def _update(self, table: str, gradients: Mapping[str, Any], rate: Any) -> Any:
        described, wanted = self._tables[table], self.optimizer(table)
        rows = described.vocabulary_size
        total = tf.zeros([rows, described.dimension + 1])
        for name in self._by_table[table]:
            places, ids, _ = self._taken()[name]
            flat = tf.reshape(tf.cast(gradients[name], tf.float32), [-1, described.dimension])
            each = tf.gather(flat, places) * self._share(name)[:, None]
            # The last column counts how often a row was looked up.
            counted = tf.concat([each, tf.ones_like(each[:, :1])], axis=1)
            total += tf.math.unsorted_segment_sum(counted, ids, rows)
        variables = self._of_program(table)
        value, *slots = [variable.read_value() for variable in variables]
        new = (value, *slots)
        for gradient, touched in self._in_turn(total, wanted):
            changed, kept = optimizers.updated(wanted, rate, new[0], new[1:], gradient, touched)
            new = (changed, *kept)
        return tf.group(*[variable.assign(one) for variable, one in zip(variables, new)])

    def _in_turn(self, mine: Any, wanted: Any) -> list[tuple[Any, Any]]:
        """The gradients that are applied one after the other, and which rows each of them touches.

        With gradient accumulation it is the sum over the cores. Without, each core's gradient of a
        row is applied by itself, that of the core first on which the row lies
        (``tpu_estimator_gradients_test.py`` of tensorflow-estimator 2.15).
        """
        cores = self.num_cores
        if wanted.use_gradient_accumulation or cores == 1:
            given = [cross_shard.cross_replica_sum(mine)]
        else:
            slot = tf.one_hot(device_lib.device_for_graph().replica, cores)[:, None, None]
            of_cores = cross_shard.cross_replica_sum(slot * mine[None])
            row = tf.range(tf.shape(mine)[0])
            given = [
                tf.gather_nd(of_cores, tf.stack([(row + turn) % cores, row], axis=1))
                for turn in range(cores)
            ]
        return [(one[:, :-1], one[:, -1:] > 0) for one in given]


def _in_order(by_name: Mapping[str, Any]) -> dict[str, Any]:
    return {name: by_name[name] for name in sorted(by_name)}


def _variable(name: str, described: Any, initializer: Any) -> list[Any]:
    """A table's variable in parts, one for each host, as a TPU's tables are saved."""
    return list(
        tf.get_variable(
            name,
            shape=(described.vocabulary_size, described.dimension),
            dtype=tf.float32,
            initializer=initializer,
            partitioner=tf.fixed_size_partitioner(1),
            trainable=False,
            use_resource=True,
            collections=[tf.GraphKeys.GLOBAL_VARIABLES],
        )
    )


def _lookups(given: Any, positions: int) -> tuple[Any, Any, Any]:
    """Where the ids of a core belong, the ids, and their weights.

    Args:
      given: ``EnqueueData`` or ``RaggedEnqueueData``.
      positions: How many positions of a sequence are kept; 0 for no sequence. Those behind are left
        out.

    Returns:
      Three tensors of one length, of the types ``_KINDS``.
    """
    ids = tf.cast(given.embedding_indices, tf.int32)
    weights = given.aggregation_weights
    weights = tf.ones_like(ids, tf.float32) if weights is None else tf.cast(weights, tf.float32)
    if hasattr(given, "row_splits"):
        splits = given.row_splits
        indices = None if splits is None else _indices_of_ragged(splits, tf.shape(ids)[0])
    else:
        indices = given.sample_indices
    if indices is None:
        return tf.range(tf.shape(ids)[0]), ids, weights
    indices = tf.cast(indices, tf.int32)
    if not positions:
        return indices[:, 0], ids, weights
    kept = indices[:, 1] < positions
    places = indices[:, 0] * positions + indices[:, 1]
    return tuple(tf.boolean_mask(one, kept) for one in (places, ids, weights))


def _indices_of_ragged(splits: Any, count: Any) -> Any:
    """Sample and position of each value of a ragged tensor, of shape [values, 2]."""
    splits = tf.cast(splits, tf.int32)
    number = tf.range(count)
    sample = tf.searchsorted(splits, number, side="right") - 1
    return tf.stack([sample, number - tf.gather(splits, sample)], axis=1)
