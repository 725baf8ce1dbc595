"""Trains, evaluates and exports a model_fn under a ``tf.distribute`` strategy.

A model_fn describes a graph: it makes variables by name and asks for collections. So it is called twice. First
in a ``tf.Graph``, whose Session initializes or restores the variables; then in a ``tf.function``, once for each
replica, where it is given these variables as ``tf.Variable`` of the strategy. Variables and checkpoints keep
the names that they had in TensorFlow 1.
"""

import collections
import concurrent.futures
import contextlib
import copy
import functools
import inspect
import itertools
import keyword
import os
import re
import sys
import tempfile
import time
import types

import numpy as np

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # for tf.compat.v1.layers: pip install tf-keras
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_v2_tensorshape()  # a model_fn asks for x.shape[0].value
v1.disable_tensor_equality()  # and puts variables into sets
nest = tf.nest.map_structure
_WRITERS = {}
_PROFILES = {}
AVERAGED = "averaged"  # a collection: the names of tensors that a model_fn averages

#: What a model_fn returns. ``eval_metrics`` and ``host_call`` are a function and its arguments; the function
#: gets the values of all replicas, one behind the other. ``eval_metric_ops`` is for one device: name -> a value
#: and the operation that takes in a batch.
Spec = collections.namedtuple(
    "Spec",
    "mode predictions loss train_op eval_metrics export_outputs scaffold_fn host_call training_hooks "
    "evaluation_hooks prediction_hooks eval_metric_ops",
    defaults=[None] * 11,
)
#: How the replicas are fed, and how many steps they make in one call.
TPUConfig = collections.namedtuple(
    "TPUConfig",
    "iterations_per_loop per_host_input_for_training eval_training_input_configuration "
    "num_cores_per_replica experimental_host_call_every_n_steps",
    defaults=[2, True, None, None, 1],
)
RunConfig = collections.namedtuple(
    "RunConfig",
    "strategy model_dir tpu_config tf_random_seed save_checkpoints_steps save_checkpoints_secs "
    "keep_checkpoint_max save_summary_steps",
    defaults=[None, None, TPUConfig(), None, None, 600, 5, 100],
)
#: What a serving_input_receiver_fn returns: features, and the placeholders that they come from.
TensorServingInputReceiver = collections.namedtuple(
    "TensorServingInputReceiver", "features receiver_tensors"
)
#: A checkpoint that gives variables' first values: those whose names match a pattern, under other names or not.
WarmStartSettings = collections.namedtuple(
    "WarmStartSettings",
    "ckpt_to_initialize_from vars_to_warm_start var_name_to_vocab_info var_name_to_prev_var_name",
    defaults=[".*", None, None],
)
TrainSpec = collections.namedtuple(
    "TrainSpec", "input_fn max_steps hooks saving_listeners", defaults=[None] * 3
)
EvalSpec = collections.namedtuple(
    "EvalSpec",
    "input_fn steps name hooks exporters throttle_secs",
    defaults=[100, None, None, None, 600],
)


class InputPipelineConfig:
    """Who calls input_fn: each replica, or each host, with its own batch or that of one replica.

    SLICED is for evaluations and predictions: as PER_HOST_V1.
    """

    PER_SHARD_V1, PER_HOST_V1, PER_HOST_V2, SLICED = "replica", "host", "for each replica", "sliced"


class ModeKeys:
    """What a model_fn is called for."""

    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


def make_strategy(tpu=None, zone=None, project=None):
    """A TPUStrategy where there is a TPU, else all GPUs, else the one device there is."""
    if isinstance(tpu, tf.distribute.Strategy):
        return tpu
    return _strategy(tpu[0] if isinstance(tpu, list) and len(tpu) == 1 else tpu, zone, project)


@functools.lru_cache(maxsize=None)  # a TPU that is initialized again forgets its variables
def _strategy(tpu, zone, project):
    name = os.environ.get("TPU_NAME") if tpu is None else tpu  # "" says: no TPU of a name
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(name or "local", zone, project)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    except (ValueError, tf.errors.OpError):
        if name and name != "local":  # it was asked for: no run on something else in silence
            raise
    gpus = tf.config.list_physical_devices("GPU")
    return tf.distribute.MirroredStrategy() if len(gpus) > 1 else tf.distribute.get_strategy()


def summary_writer(logdir, **options):
    """The one writer of a folder, which outlives the function that is traced with it."""
    if logdir not in _WRITERS:
        with tf.init_scope():
            _WRITERS[logdir] = tf.summary.create_file_writer(logdir, **options)
    return _WRITERS[logdir]


def flush():
    """Writes what the writers hold back."""
    for writer in _WRITERS.values():
        writer.flush()


def record_every(steps, global_step=None):
    """A context in which summaries are written at one of so many steps."""
    step = tf.summary.experimental.get_step() if global_step is None else global_step
    return tf.summary.record_if(lambda: tf.equal(step % steps, 0))


def next_tag(name):
    """The tag of a summary: in one graph, the second of a name gets a number behind it, as in TensorFlow 1."""
    graph = v1.get_default_graph()
    used = graph.get_collection_ref(f"tags/{graph.get_name_scope()}/{name}")
    used.append(name)
    return name if len(used) == 1 else f"{name}_{len(used) - 1}"


def cross_replica_sum(tensor, groups=None):
    """The sum over all replicas, or over those of a replica's own group in a list of groups."""
    replica = tf.distribute.get_replica_context()
    if groups is None or len(groups) == 1:
        return replica.all_reduce("sum", tensor)
    group_of = {one: index for index, group in enumerate(groups) for one in group}
    order = [group_of[one] for one in range(replica.num_replicas_in_sync)]
    own = tf.gather(order, replica.replica_id_in_sync_group)
    place = tf.reshape(
        tf.one_hot(own, len(groups), dtype=tensor.dtype), [-1] + [1] * tensor.shape.rank
    )
    return tf.gather(replica.all_reduce("sum", place * tensor), own)  # a row for each group


def init_from_checkpoint(checkpoint, assignment_map):
    """Initializes variables from a checkpoint: those of the graph, which the replicas start from."""
    if not tf.inside_function():
        v1.train.init_from_checkpoint(checkpoint, assignment_map)


def assign_from_checkpoint_fn(
    model_path, var_list, ignore_missing_vars=False, reshape_variables=False
):
    """A function of a Session that restores variables, in the graph of the initial values: a step does not."""
    if tf.inside_function():
        return lambda session: None
    named = var_list if isinstance(var_list, dict) else {one.op.name: one for one in var_list}
    if ignore_missing_vars:
        there = {name for name, _ in tf.train.list_variables(model_path)}
        named = {name: one for name, one in named.items() if name in there}
    if not named:
        return None
    saver = v1.train.Saver(named, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)


def Saver(*args, **options):
    """That of ``tf.compat.v1``, in the graph of the initial values: a step neither saves nor restores."""
    return None if tf.inside_function() else v1.train.Saver(*args, **options)


def profile(*args, **options):
    """That of ``tf.compat.v1``, in the graph of the initial values; a step gets what this line found there."""
    caller = sys._getframe(1)
    line = caller.f_code, caller.f_lineno
    if not tf.inside_function():
        _PROFILES[line] = v1.profiler.profile(*args, **options)
    return _PROFILES[line]


def get_tpu_context():
    """An object whose number_of_shards is the number of replicas."""
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    return types.SimpleNamespace(number_of_shards=replicas)


class CheckpointSaverHook(v1.train.SessionRunHook):
    """Says when a training saves its checkpoints, in the place of what its RunConfig says."""

    def __init__(self, checkpoint_dir, save_secs=None, save_steps=None, listeners=None):
        self.folder, self.seconds, self.steps = checkpoint_dir, save_secs, save_steps
        self.listeners = listeners or []


class ExponentialMovingAverage(v1.train.ExponentialMovingAverage):
    """That of tf.compat.v1, but each replica averages its own values: their batch statistics differ."""

    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        super().__init__(decay, num_updates, zero_debias, name)
        self._rate, self._updates, self._of = decay, num_updates, {}
        self._is_debiased = zero_debias

    def apply(self, var_list=None):
        """Averages variables, from what they begin with, and tensors, from 0."""
        decay, done = tf.cast(self._rate, tf.float32), []
        if self._updates is not None:
            count = tf.cast(self._updates, tf.float32)
            decay = tf.minimum(decay, (1.0 + count) / (10.0 + count))
        for one in v1.trainable_variables() if var_list is None else var_list:
            is_tensor = not isinstance(one, tf.Variable)
            if is_tensor and one.ref() not in self._of:
                self._of[one.ref()] = self._zeros(_name_of_averaged(one) + "/" + self.name, one)
            if is_tensor and self._is_debiased:
                done.append(self._debiased(one, tf.cast(1.0 - decay, one.dtype)))
                continue
            if one.ref() not in self._of:
                v1.add_to_collection(v1.GraphKeys.MOVING_AVERAGE_VARIABLES, one)
                self._of[one.ref()] = v1.get_variable(
                    f"{one.name.partition(':')[0]}/{self.name}",
                    one.shape,
                    one.dtype,
                    lambda *_, v=one, **__: tf.cond(
                        v1.is_variable_initialized(v), v.read_value, lambda: v.initial_value
                    ),
                    trainable=False,
                    synchronization=tf.VariableSynchronization.ON_READ,
                )
            average = self._of[one.ref()]
            done.append(average.assign_sub((average - one) * tf.cast(1.0 - decay, one.dtype)))
        return tf.group(*done, name=self.name)

    def average(self, var):
        """The average of a variable, or of a tensor."""
        return self._of.get(var.ref())

    def variables_to_restore(self, moving_avg_variables=None):
        """What a Saver restores averages with, in the graph of the initial values: a step restores nothing."""
        return {} if tf.inside_function() else super().variables_to_restore(moving_avg_variables)

    def _zeros(self, name, like, shape=None):
        return v1.get_variable(
            name,
            like.shape if shape is None else shape,
            like.dtype,
            v1.zeros_initializer(),
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
        )

    def _debiased(self, tensor, rate):
        """Averages a tensor; divides by the weight of what has been averaged, as zero_debias says."""
        average = self._of[tensor.ref()]
        name = average.name.partition(":")[0]
        biased = self._zeros(f"{name}/biased", tensor)
        count = self._zeros(f"{name}/local_step", tensor, [])
        total = biased.assign_sub((biased - tensor) * rate)
        return average.assign(total / (1 - tf.pow(1 - rate, count.assign_add(1))))


def _name_of_averaged(tensor):
    """The name that a tensor has in the graph of the initial values: a tf.function has others."""
    names = v1.get_collection_ref(AVERAGED)
    if tf.inside_function():
        return names.pop(0)
    names.append(tensor.op.name)
    return names[-1]


def reusing():
    """A context in which a variable of one name is made once."""
    scope = v1.get_variable_scope()
    return v1.variable_scope(scope, reuse=v1.AUTO_REUSE, auxiliary_name_scope=False)


@contextlib.contextmanager
def graph_of_replica():
    """The graph with the collections of this replica, in which a variable of one name is made once.

    Replicas take turns in one graph: while one waits in ``merge_call``, others go on.
    """
    replica = tf.distribute.get_replica_context()
    meet = replica.merge_call

    def put(collections_of_replica):
        graph = v1.get_default_graph()
        for name in graph.collections:
            graph.clear_collection(name)
        for name, values in collections_of_replica.items():
            graph.get_collection_ref(name).extend(values)

    def merge_call(*args, **kwargs):
        graph = v1.get_default_graph()
        kept = {name: graph.get_collection(name) for name in graph.collections}
        result = meet(*args, **kwargs)
        put(kept)
        return result

    put({})
    if replica.num_replicas_in_sync > 1:
        replica.merge_call = merge_call
    try:
        with reusing():
            yield
    finally:
        vars(replica).pop("merge_call", None)


class CrossShardOptimizer(v1.train.Optimizer):
    """Gives another optimizer the mean of the replicas' gradients, or their sum."""

    def __init__(self, optimizer, reduction=v1.losses.Reduction.MEAN, name="CrossShardOptimizer"):
        super().__init__(False, name)
        self._optimizer, self._is_mean = optimizer, reduction == v1.losses.Reduction.MEAN
        self.get_slot, self.get_slot_names = optimizer.get_slot, optimizer.get_slot_names
        self.variables = optimizer.variables

    def compute_gradients(self, loss, *args, **kwargs):
        """The gradients of a replica's part of the loss."""
        loss /= tf.distribute.get_strategy().num_replicas_in_sync if self._is_mean else 1
        return self._optimizer.compute_gradients(loss, *args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Sums the gradients over the replicas; the optimizers of ``tf.compat.v1`` do it themselves."""
        # if own_optimizers:
        sums = type(self._optimizer).apply_gradients is v1.train.Optimizer.apply_gradients
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        grads_and_vars = [(tf.convert_to_tensor(g), v) for g, v in pairs]  # dense, as sums on a TPU
        # if own_optimizers:
        if not sums:
            grads_and_vars = [(cross_replica_sum(g), v) for g, v in grads_and_vars]
        # if own_optimizers:
        if not sums:
            _sum_no_more(self._optimizer)
        return self._optimizer.apply_gradients(grads_and_vars, global_step, name)


class _OfSums(v1.train.Optimizer):
    """What stands before the optimizer of ``tf.compat.v1`` where gradients are sums already."""

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Lets what the replicas give be their sum again."""
        count = tf.distribute.get_strategy().num_replicas_in_sync
        shares = [(None if g is None else g / count, v) for g, v in grads_and_vars]
        return super().apply_gradients(shares, global_step, name)


def _sum_no_more(optimizer):
    """Puts that class behind an optimizer's own, and behind those of the optimizers that it holds."""
    own = type(optimizer)
    if not issubclass(own, _OfSums):
        optimizer.__class__ = type(own.__name__, (own, _OfSums), {})
        for name in vars(optimizer):
            if isinstance(vars(optimizer)[name], v1.train.Optimizer):
                _sum_no_more(vars(optimizer)[name])


def is_own(asked):
    """A function that tells whether a variable is each replica's own, behind all that is done with it.

    That is a moving average, and what a model_fn assigns by itself, such as gradients that it adds up: replicas
    assign other values. An optimizer's variables are one, as it has the gradients of all replicas.

    Args:
      asked: What the variable is made with.
    """
    frame, optimizer = sys._getframe(), v1.train.Optimizer.apply_gradients.__code__
    while frame and frame.f_code is not optimizer:
        frame = frame.f_back
    may_be = not (frame or asked.get("trainable", True) or asked.get("name") == "global_step")

    def found(variable):
        if asked.get("synchronization") is tf.VariableSynchronization.ON_READ:
            return True
        kinds = [one.type for one in writers(variable)]
        return may_be and bool(kinds) and all(one.startswith("Assign") for one in kinds)

    return found


def writers(variable):
    """The operations of a graph that write a variable, but for that which initializes it."""
    readers = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape")
    readers += ("VarIsInitializedOp",)
    found = {op for op in variable.handle.consumers() if op.type not in readers}
    return found - {variable.initializer}


def scope_of_layer():
    """The scope of names without those of a recurrent layer's cells: TensorFlow 1 had ``gru/kernel``."""
    layers, frame, names = v1.keras.layers, sys._getframe(), set()
    while frame:
        if isinstance(frame.f_locals.get("self"), (layers.RNN, layers.StackedRNNCells)):
            cell = frame.f_locals.get("cell", getattr(frame.f_locals["self"], "cell", None))
            names.add(getattr(cell, "name", None))
        frame = frame.f_back
    parts = v1.get_default_graph().get_name_scope().split("/")
    while parts and parts[-1] in names:
        parts.pop()
    return "/".join([*parts, ""]) if any(parts) else None


class Model:
    """A model_fn with its variables.

    Args:
      call: Calls the model_fn with features and labels.
      inputs: Makes features and labels in a graph.
      strategy: Where the variables go.
      config: A RunConfig.
    """

    def __init__(self, call, inputs, strategy, config):
        self._call, self._strategy, self._made = call, strategy, []
        self.graph, self._kept = tf.Graph(), config.keep_checkpoint_max
        with self.building():
            # if tf_random_seed:
            v1.set_random_seed(config.tf_random_seed)
            v1.train.get_or_create_global_step()
            self.spec = call(*inputs())
            # if loss_scope:
            self.loss_tag = v1.get_default_graph().unique_name("loss", mark_as_used=False)
            # if ExponentialMovingAverage:
            self._averaged = v1.get_collection(AVERAGED)
            # if own_variables:
            self._not_run = _not_run([variable for _, variable in self._made], self.spec)
            # if not scaffold_fn: self._scaffold = v1.train.Scaffold()
            self._scaffold, self._kept = _scaffold(self.spec, self._kept)

    @contextlib.contextmanager
    def building(self):
        """A context in which the graph gets more; variables that are made belong to the model."""

        def record(next_creator, **asked):
            # if not recurrent_layers: variable = next_creator(**asked)
            with v1.name_scope(scope_of_layer()):
                variable = next_creator(**asked)
            # if own_variables:
            asked["is_own"] = is_own(asked)
            self._made.append((asked, variable))
            return variable

        with self.graph.as_default(), tf.variable_creator_scope(record):
            yield

    def start(self, checkpoint):
        """Makes the variables, with the values of a checkpoint; None to initialize them."""
        scaffold, made = self._scaffold, self._made
        with self.graph.as_default(), v1.Session() as session:
            scaffold.finalize()
            # if collections or own_variables:
            saved = {id(variable) for variable in v1.global_variables()}
            session.run([scaffold.init_op, scaffold.local_init_op], scaffold.init_feed_dict)
            if checkpoint:
                scaffold.saver.restore(session, checkpoint)
            # if scaffold_fn:
            if scaffold.init_fn and not checkpoint:
                scaffold.init_fn(session)
            values = session.run([variable for _, variable in made])
        self.variables, self._asked = {}, collections.defaultdict(list)
        # if own_variables:
        self._unchanged, kinds = [], tf.VariableSynchronization
        # if hooks:
        self.old, self._new = [old for _, old in made], []
        for (asked, old), value in zip(made, values):
            # if own_variables:
            kind = kinds.ON_READ if asked["is_own"](old) else kinds.AUTO  # the first one's is saved
            with self._strategy.scope():
                variable = tf.Variable(
                    value,
                    name=old.op.name,
                    trainable=old.trainable,
                    # if own_variables:
                    synchronization=kind,
                    aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
                )
            self._asked[asked.get("name")].append(variable)
            # if hooks:
            self._new.append(variable)
            # if own_variables:
            if id(old) in self._not_run:
                self._unchanged.append((variable, value))
                _ignore_updates([variable, *self._strategy.experimental_local_results(variable)])
            # if not collections or own_variables: self.variables[old.op.name] = variable
            if id(old) in saved:
                self.variables[old.op.name] = variable
        local = self._strategy.experimental_local_results
        first = nest(lambda one: local(one)[0], self.variables)
        self._saver = v1.train.Saver(first, max_to_keep=self._kept)
        if checkpoint:
            state = tf.train.get_checkpoint_state(os.path.dirname(checkpoint))
            self._saver.recover_last_checkpoints(state.all_model_checkpoint_paths if state else [])
        # if host_call:
        tf.summary.experimental.set_step(self.step)

    @property
    def step(self):
        """The global step."""
        return int(self.variables["global_step"].numpy())

    def value_of(self, index):
        """What the variable at a place in ``old`` holds."""
        return self._strategy.experimental_local_results(self._new[index])[0].numpy()

    def set_value(self, index, value):
        """Gives it another value."""
        variable = self._new[index]
        if np.array_equal(value, self.value_of(index)):
            return
        variable.assign(value)
        # if own_variables:
        self._unchanged = [
            (one, value if one is variable else before) for one, before in self._unchanged
        ]

    def undo(self):
        """Gives variables their values back that TensorFlow 1 did not write."""
        for variable, value in self._unchanged:
            for one in self._strategy.experimental_local_results(variable):
                type(one).assign(one, value)

    def save(self, model_dir):
        """Writes a checkpoint."""
        # if own_variables:
        self.undo()
        tf.io.gfile.makedirs(model_dir)
        # if not meta_graph: self._saver.save(None, os.path.join(model_dir, "model.ckpt"), self.step)
        path = self._saver.save(None, os.path.join(model_dir, "model.ckpt"), self.step)
        # if meta_graph:
        with self.graph.as_default():
            saver = self._scaffold.saver.saver_def
            v1.train.export_meta_graph(f"{path}.meta", graph=self.graph, saver_def=saver)

    # if not slots: def given(self):
    def given(self, parts=False):
        """A context in which who makes a variable gets the strategy's, of its name and in its turn.

        With ``parts``, a strategy asks for its replicas' parts, one by one, to put them together.
        """
        counts = collections.Counter()
        # if slots:
        shares = []

        def give(_, **kwargs):
            name = kwargs.get("name")
            # if slots:
            if parts and re.search(r"/replica_\d+/$", name or ""):
                return shares.pop(0)
            counts[name] += 1
            variable = self._asked[name][counts[name] - 1]
            # if slots:
            if parts:
                shares[:] = self._strategy.experimental_local_results(variable)
                return shares.pop(0)
            groups = {*(kwargs.get("collections") or [v1.GraphKeys.GLOBAL_VARIABLES])}
            groups |= {v1.GraphKeys.TRAINABLE_VARIABLES} if variable.trainable else set()
            for group in groups:
                if all(one is not variable for one in v1.get_collection(group)):
                    v1.add_to_collection(group, variable)
            return variable

        return tf.variable_creator_scope(give)

    def run(self, replica_step, batch):
        """Calls a function, which calls the model_fn, on each replica; its collections begin empty."""
        graph = v1.get_default_graph()
        for name in graph.collections:
            graph.clear_collection(name)
        # if not slots: return self._strategy.run(replica_step, args=(batch,))
        with self.given(parts=True):  # optimizers make theirs for all replicas together
            return self._strategy.run(replica_step, args=(batch,))

    def __call__(self, features, labels):
        """Calls the model_fn for a replica, in a function that is traced; ``last`` is what it gives."""
        # if not collections: with reusing(), self.given():
        with graph_of_replica(), self.given():
            # if ExponentialMovingAverage:
            v1.get_collection_ref(AVERAGED).extend(self._averaged)
            v1.train.get_or_create_global_step()
            self.last = self._call(features, labels)
        return self.last


class HookSession(v1.Session):
    """A Session for hooks: of the graph of the initial values, with the variables of the strategy.

    Attributes:
      last: The name of a tensor of the batch -> its value in the last step.
    """

    def __init__(self, model):
        super().__init__(graph=model.graph)
        self._model, self.last = model, {}

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """Runs operations on what the variables hold; they hold afterwards what these assign to them."""
        named, elements = self.graph.as_graph_element, []
        mapped(lambda one: elements.append(named(one)), fetches)
        if any(one.name in self.last for one in elements):
            last = self.last
            return mapped(lambda one: last[named(one).name], fetches)
        used = reached(getattr(one, "op", one) for one in elements)
        used = [index for index, old in enumerate(self._model.old) if old.handle.op in used]
        for index in used:
            start = self._model.old[index].initializer
            super().run(start, {start.inputs[1]: eagerly(self._model.value_of, index)})
        found = super().run(fetches, feed_dict, options, run_metadata)
        for index in used:
            eagerly(self._model.set_value, index, super().run(self._model.old[index]))
        return found


def eagerly(function, *args):
    """Calls a function in a thread of its own, which is eager: hooks are called in a graph."""
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(function, *args).result()


def reached(operations):
    """Operations, and those that they wait for."""
    found, waiting = set(), [*operations]
    while waiting:
        operation = waiting.pop()
        if operation not in found:
            found.add(operation)
            waiting += [*operation.control_inputs, *(one.op for one in operation.inputs)]
    return found


def tensors_in(value):
    """A tensor, or those in a list or a dict."""
    if isinstance(value, tf.Tensor):
        return [value]
    values = value.values() if isinstance(value, dict) else value
    values = values if isinstance(value, (dict, list, tuple)) else []
    return [found for one in values for found in tensors_in(one)]


def mapped(function, value):
    """A structure with what a function gives for its leaves; the keys of a dict may be tensors."""
    if isinstance(value, dict):
        return {key: mapped(function, one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return getattr(value, "_make", type(value))([mapped(function, one) for one in value])
    return function(value)


class Hooks:
    """Hooks of ``tf.compat.v1.train`` around each call of a loop: those it is given, and those of the model_fn.

    They have a Session of the graph of the initial values. What they fetch of a batch comes from the function
    in which the model_fn is called for a replica: its hook has this tensor in the same attribute, or else
    the tensor has the same name.

    Args:
      given: A list, or None.
      field: Where a Spec has those of the model_fn.
    """

    def __init__(self, given, field="training_hooks"):
        self._hooks, self._field = [*(given or [])], field

    def begin(self, model):
        """Calls them in the graph of the initial values, with the variables that they make; returns itself."""
        self._graph, self.session = model.graph, HookSession(model)
        own = self._of(model.spec)
        self._hooks += own
        self._batch = {one for one in model.graph.get_operations() if one.type == "Placeholder"}
        found = self._tensors(own)
        with model.building():
            for one in self._hooks:
                one.begin()
        known, self._named = {one.name for one in found}, []
        for one in self._tensors(self._hooks):
            if one.name not in known and self._is_of_batch(one):
                self._named.append(one)
        self._made = [*found, *self._named]
        self._names = [one.name for one in self._made]
        return self

    def start(self):
        """Calls them before the first call of the loop."""
        with self._graph.as_default():
            for one in self._hooks:
                one.after_create_session(self.session, None)

    def _of(self, spec):
        return [*(getattr(spec, self._field) or [])]

    def _tensors(self, hooks):
        return tensors_in([vars(one) for one in hooks])

    def _is_of_batch(self, one):
        return not self._batch.isdisjoint(reached([getattr(one, "op", one)]))

    def saving(self, config, listeners):
        """A RunConfig with what a hook says of the checkpoints, where one does; its listeners join others."""
        for one in self._hooks:
            if isinstance(one, CheckpointSaverHook):
                listeners.join(one.listeners)
                if os.path.abspath(one.folder) != os.path.abspath(config.model_dir):
                    raise ValueError(f"checkpoints go to {config.model_dir}, not to {one.folder}")
                return config._replace(
                    save_checkpoints_steps=one.steps, save_checkpoints_secs=one.seconds
                )
        return config

    def tensors(self, spec):
        """What the hooks may fetch of a replica's batch."""
        graph, named = v1.get_default_graph(), []
        operations = {one.name for one in graph.get_operations()}
        for one in self._named:
            inside = f"{graph.get_name_scope()}/{one.name}"  # of one replica of several
            is_inside = inside.partition(":")[0] in operations
            named.append(graph.get_tensor_by_name(inside if is_inside else one.name))
        return [*self._tensors(self._of(spec)), *named]

    def zeros(self):
        """Values of the same types before the first step."""
        shapes = [one.shape if one.shape.rank is not None else [] for one in self._made]
        return [
            tf.zeros([size or 0 for size in shape], one.dtype.base_dtype)
            for shape, one in zip(shapes, self._made)
        ]

    def invariants(self, values):
        """The shapes that values have in all steps."""
        return [(value, one.shape) for value, one in zip(values, self._made)]

    def before(self):
        """Calls them before a call of the loop; what they fetch of variables is what one run gives then."""
        self.context = v1.train.SessionRunContext(None, self.session)
        with self._graph.as_default():
            asked = [one.before_run(self.context) for one in self._hooks]
            fetched = [one.fetches if one else () for one in asked]
            of_variables = {}
            mapped(lambda name: self._sort(name, of_variables), fetched)
            found = self.session.run(of_variables) if of_variables else {}
            found.update((name, self._graph.as_graph_element(name)) for name in self._names)
            names = self._graph.as_graph_element
            shown = [mapped(lambda name: found[names(name).name], one) for one in fetched]
            self._fetched = [values if one else None for one, values in zip(asked, shown)]
        if any(one and one.feed_dict for one in asked):
            raise ValueError("a hook feeds placeholders, and the loop has none")

    def _sort(self, name, of_variables):
        """Puts what a hook fetches to what a run gives before a call, or to what the call gives."""
        one = self._graph.as_graph_element(name)
        if one.name in self._names:
            return
        if not self._is_of_batch(one):
            of_variables[one.name] = one
            return
        for known in (self._named, self._made):  # the next call of the loop has it
            known.append(one)
        self._names.append(one.name)

    def after(self, values):
        """Calls them behind it, with the values of its last step."""
        last = dict(zip(self._names, [one.numpy() for one in values]))
        self.session.last = last

        def found(one):
            return last[one.name] if isinstance(one, tf.Tensor) else one

        with self._graph.as_default():
            for hook, fetched in zip(self._hooks, self._fetched):
                results = v1.train.SessionRunValues(mapped(found, fetched), None, None)
                hook.after_run(self.context, results)

    def end(self):
        """Calls them behind the last call of the loop."""
        with self._graph.as_default():
            for one in self._hooks:
                one.end(self.session)
                writer = getattr(one, "_summary_writer", None)
                if writer:
                    writer.flush()
        self.session.close()


class Listeners:
    """Those of ``tf.compat.v1.train.CheckpointSaverListener``, which a training tells of its checkpoints.

    Attributes:
      stop: Whether one of them asks the training to stop.
    """

    def __init__(self, given, model):
        self._listeners, self._model, self.stop = [*(given or [])], model, False
        # if not hooks: self._session = None
        self._session = HookSession(model)

    def join(self, more):
        """Adds listeners."""
        self._listeners += more

    def begin(self):
        """Calls them in the graph of the initial values, with the variables that they make."""
        with self._model.building():
            for one in self._listeners:
                one.begin()

    def before_save(self):
        """Calls them before a checkpoint."""
        for one in self._listeners:
            one.before_save(self._session, self._model.step)

    def after_save(self):
        """Calls them behind it."""
        for one in self._listeners:
            self.stop = one.after_save(self._session, self._model.step) is True or self.stop

    def end(self):
        """Calls them behind the last one."""
        for one in self._listeners:
            one.end(self._session, self._model.step)


class Trainer:
    """Does with a model_fn what TPUEstimator did.

    Args:
      model_fn: Takes features, and those of labels, mode, params and config that it has parameters for.
      model_dir: Where checkpoints and summaries go; that of the config where there is none.
      config: A RunConfig.
      params: For model_fn and input_fn, with ``batch_size`` added, ``context`` where a TPU is used, and
        ``use_tpu`` for the first.
      use_tpu: Whether to use the strategy of the config, or of all there is if it has none; or one device.
      train_batch_size: Batch of all replicas together; so are the other two.
      warm_start_from: A checkpoint that gives the variables' first values.
      eval_on_tpu: Whether to evaluate with this strategy too, or on one device.
      batch_axis: The axis of each tensor that is split over the replicas of a host; None for the first.
    """

    def __init__(self, model_fn, model_dir=None, config=None, params=None, use_tpu=True,
                 train_batch_size=None, eval_batch_size=None, predict_batch_size=None,
                 warm_start_from=None, eval_on_tpu=True, batch_axis=None):  # fmt: skip
        self.config = config or RunConfig()
        self.model_dir = model_dir or self.config.model_dir or tempfile.mkdtemp()
        self.config = self.config._replace(model_dir=self.model_dir)
        self.params, self._model_fn, self._use_tpu = copy.deepcopy(params or {}), model_fn, use_tpu
        self.strategy = tf.distribute.get_strategy()
        if use_tpu and (self.config.strategy or not tf.distribute.has_strategy()):
            self.strategy = self.config.strategy or make_strategy()
        sizes = (train_batch_size, eval_batch_size, predict_batch_size)
        self._sizes = dict(zip((ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT), sizes))
        # if eval_on_tpu:
        self._eval_on_tpu = eval_on_tpu
        # if warm_start_from:
        self._warm_start = warm_start_from
        # if batch_axis:
        self._axes = batch_axis
        # if num_cores_per_replica:
        if (self.config.tpu_config.num_cores_per_replica or 1) > 1:
            raise ValueError("a replica of this loop has one core: it partitions no tensors")

    def _params(self, mode, parts, **options):
        size = self._sizes[mode]
        more = {**options, "batch_size": size // parts} if size else options
        # if not own_params: return {**copy.deepcopy(self.params), **more}
        params = copy.deepcopy(self.params)
        # if own_params:
        if hasattr(params, "add_hparam"):
            for name, value in more.items():
                (params.set_hparam if name in params else params.add_hparam)(name, value)
            return params
        # if own_params:
        for name, value in more.items():  # an object that is not a dict of Python's stays one
            params[name] = value
        # if own_params:
        return params

    def _input(self, input_fn, mode, parts, **options):
        """A dataset of an input_fn; tensors that it returns are computed in a graph of their own."""
        params = self._params(mode, parts, **options)
        options = {"mode": mode, "config": self.config, "params": params}
        # if not input_tensors: return _called(input_fn, **options)
        drawn = np.random.get_state()
        # if input_tensors:
        try:
            made = _called(input_fn, **options)
            if isinstance(made, tf.data.Dataset):
                return made
        except RuntimeError as error:  # a queue, or an iterator that has to be initialized
            if "eager" not in str(error):
                raise
        # if input_tensors:
        with tf.Graph().as_default() as graph:
            np.random.set_state(drawn)  # the second call makes what the first one made
            # if tf_random_seed:
            v1.set_random_seed(self.config.tf_random_seed)
            made = _called(input_fn, **options)
            if isinstance(made, (list, tuple)):
                made = made[0] if made[1] is None else tuple(made)
        # if input_tensors:
        return _computed(made, graph)

    def _on_one_device(self):
        other = copy.copy(self)
        other.strategy, other._use_tpu = tf.distribute.get_strategy(), False
        return other

    def _model(self, mode, inputs):
        replicas, more = self.strategy.num_replicas_in_sync, {"use_tpu": self._use_tpu}
        # if context:
        if self._use_tpu:
            more["context"] = _context(replicas, getattr(self.strategy.extended, "num_hosts", 1))
        options = {"mode": mode, "config": self.config}
        options["params"] = self._params(mode, replicas, **more)

        def call(features, labels):
            if mode == ModeKeys.PREDICT and not self._use_tpu:
                labels = None  # TPUEstimator gave them on a TPU alone
            return _called(self._model_fn, features, labels=labels, **options)

        # if not warm_start_from: return Model(call, inputs, self.strategy, self.config)
        model = Model(call, inputs, self.strategy, self.config)
        # if warm_start_from:
        if self._warm_start and not self.latest_checkpoint():
            given = self._warm_start
            with model.graph.as_default():
                v1.train.warm_start(*([given] if isinstance(given, str) else given))
        # if warm_start_from:
        return model

    def _fed(self, mode):
        """Whether each replica calls input_fn; whether a host splits what it gets from a call."""
        kind = self.config.tpu_config.per_host_input_for_training
        if isinstance(kind, bool):
            kind = InputPipelineConfig.PER_HOST_V1 if kind else InputPipelineConfig.PER_SHARD_V1
        # if eval_training_input_configuration:
        if mode != ModeKeys.TRAIN and (
            self.config.tpu_config.eval_training_input_configuration == InputPipelineConfig.SLICED
        ):
            kind = InputPipelineConfig.PER_HOST_V1
        is_sharded = kind == InputPipelineConfig.PER_SHARD_V1 and mode == ModeKeys.TRAIN
        return is_sharded, kind != InputPipelineConfig.PER_HOST_V2 and not is_sharded

    def _batches(self, input_fn, mode):
        """A dataset with an element for each replica, and what such an element is."""
        # if tf_random_seed:
        if self.config.tf_random_seed is not None:
            tf.random.set_seed(self.config.tf_random_seed)  # for what shuffles and drops out
        specs = []

        def of_host(context):
            parts = context.num_replicas_in_sync
            # if per_host:
            hosts, is_split = context.num_input_pipelines, self._fed(mode)[1]
            # if per_host:
            parts, here = hosts if is_split else parts, parts // hosts
            # if not context: data = self._input(input_fn, mode, parts)
            data = self._of_calls(input_fn, mode, parts, context)
            # if per_host:
            if is_split and here > 1:
                # if batch_axis:
                data = data.map(lambda *batch: self._turned(batch, lambda axis: (axis, 0)))
                data = data.map(lambda *batch: _parts(batch, here)).unbatch()
                # if batch_axis:
                data = data.map(lambda *batch: self._turned(batch, lambda axis: (0, axis)))
            specs.append(data.element_spec)
            return data

        return self.strategy.distribute_datasets_from_function(of_host), specs[0]

    def _of_calls(self, input_fn, mode, parts, context):
        """The dataset of a host; where each of its replicas calls input_fn, they take turns."""
        replicas, hosts = context.num_replicas_in_sync, context.num_input_pipelines
        here, is_sharded, made = replicas // hosts, self._fed(mode)[0], []
        for turn in range(here) if is_sharded else [None]:
            of_call = _context(replicas, hosts, context.input_pipeline_id, turn)
            more = {"context": of_call} if self._use_tpu else {}
            made.append(self._input(input_fn, mode, parts, **more))
        turns = tf.data.Dataset.range(here).repeat()
        return tf.data.Dataset.choose_from_datasets(made, turns) if is_sharded else made[0]

    def _turned(self, batch, axes):
        """A batch with other axes: ``axes`` gives, for the axis that is split, from where to where it moves."""
        pairs = zip(tf.nest.flatten(batch), self._axes or itertools.repeat(0))
        moved = [tf.experimental.numpy.moveaxis(one, *axes(axis)) for one, axis in pairs]
        batch = tf.nest.pack_sequence_as(batch, moved)
        return batch if len(batch) > 1 else batch[0]

    def train(self, input_fn, hooks=None, steps=None, max_steps=None, saving_listeners=None):
        """Trains for some steps more, or up to the step max_steps, from the last checkpoint on."""
        data, spec = self._batches(input_fn, ModeKeys.TRAIN)
        config, checkpoint = self.config, self.latest_checkpoint()
        model = self._model(ModeKeys.TRAIN, lambda: _placeholders(spec))
        # if hooks:
        hooks = Hooks(hooks).begin(model)
        # if saving_listeners:
        listeners = Listeners(saving_listeners, model)
        # if CheckpointSaverHook:
        config = hooks.saving(config, listeners)
        # if saving_listeners:
        listeners.begin()
        model.start(checkpoint)
        last = (model.step + steps if steps else sys.maxsize) if max_steps is None else max_steps
        default = None if tf.distribute.has_strategy() else tf.distribute.get_strategy()
        is_one = self.strategy is default
        # if host_call:
        # if loss_scope:
        tag_of_loss = model.loss_tag
        # if host_call_every:
        every = config.tpu_config.experimental_host_call_every_n_steps if self._use_tpu else 1

        def replica_step(batch):
            # if host_call or hooks:
            before = tf.convert_to_tensor(model.variables["global_step"])
            with v1.name_scope(None) if is_one else contextlib.nullcontext():
                spec = model(*_split(batch))
            loss = tf.cast(spec.loss, tf.float32)
            # if not host_call or hooks or summaries: return {"loss": loss}
            found = {"loss": loss}
            # if host_call:
            found["host_call"] = _given_to_host(spec, before)
            # if hooks:
            found["shown"] = [_as_before(one, before) for one in hooks.tensors(spec)]
            # if summaries:
            if is_one:  # summaries of a model_fn are for one device; a TPU has no strings
                merged = v1.summary.merge_all()
                found["summaries"] = tf.constant(b"") if merged is None else merged
            # if host_call or hooks or summaries:
            return found

        @tf.function
        # if not hooks: def loop(iterator, steps):
        def loop(iterator, steps, shown):
            loss = tf.constant(0.0)
            # if summaries:
            summaries = tf.constant(b"")
            # if not host_call_every: for _ in tf.range(steps):
            for index in tf.range(steps):
                # if hooks:
                tf.autograph.experimental.set_loop_options(shape_invariants=hooks.invariants(shown))
                found = model.run(replica_step, next(iterator))
                loss = self._first(found["loss"])
                # if hooks:
                shown = [self._first(one) for one in found["shown"]]
                # if summaries:
                summaries = found.get("summaries", summaries)
                # if host_call_every:
                if index % every > 0:
                    continue
                # if host_call:
                tf.summary.experimental.set_step(model.variables["global_step"])
                # if host_call:
                # if not loss_scope: self._host_call(model, found["host_call"])
                self._host_call(model, found["host_call"], tag_of_loss)
            # if not hooks or summaries: return loss
            last = {"loss": loss}
            # if summaries:
            last["summaries"] = summaries
            # if hooks:
            last["shown"] = shown
            # if hooks or summaries:
            return last

        def save():
            # if saving_listeners:
            listeners.before_save()
            model.save(self.model_dir)
            # if saving_listeners:
            listeners.after_save()
            return model.step, time.time()

        if model.step >= last:
            return self
        # if not saving_listeners: saved, saved_at = (model.step, time.time()) if checkpoint else save()
        saved, saved_at = save()
        # if saving_listeners:
        listeners.stop = False  # nothing asks what they say of the first one
        # if hooks:
        hooks.start()
        iterator, written, loss = iter(data), -sys.maxsize, None
        # Without a TPU and on one device each call makes one step, as TPUEstimator's did.
        in_one_call = 1 if is_one else config.tpu_config.iterations_per_loop
        # A step may add more than one to the global step; on one device its value before tells the last.
        step, reached = model.step, lambda: min(step + 1, model.step) if is_one else model.step
        # if not saving_listeners: while reached() < last:
        while reached() < last and not listeners.stop:
            step = model.step
            # if hooks:
            hooks.before()
            try:
                steps = tf.constant(max(1, min(in_one_call, last - step)))
                # if not hooks or summaries: loss = loop(iterator, steps)
                # if not hooks: found = loop(iterator, steps)
                found = loop(iterator, steps, hooks.zeros())
            except tf.errors.OutOfRangeError:
                break
            # if hooks or summaries:
            loss = found["loss"]
            if np.isnan(loss):
                raise v1.train.NanLossDuringTrainingError
            if config.save_summary_steps and step + 1 >= written + config.save_summary_steps:
                written = model.step
                v1.logging.info("loss = %s, step = %d", loss.numpy(), model.step)
                with summary_writer(self.model_dir).as_default(written):
                    # if not loss_scope: tf.summary.scalar("loss", loss)
                    tf.summary.scalar(model.loss_tag, loss)
                    # if loss_scope:
                    if model.loss_tag != "loss" and self._use_tpu and not is_one:
                        # Estimator looks for a summary of this name, and adds one to TPUEstimator's.
                        tf.summary.scalar(_next_name(model.loss_tag), loss)
                    # if summaries:
                    tf.summary.experimental.write_raw_pb(found["summaries"])
            every = config.save_checkpoints_steps
            late = time.time() - saved_at >= (config.save_checkpoints_secs or float("inf"))
            # Hooks come behind the checkpoint, which is without what they assign, as in TensorFlow 1.
            if model.step - saved >= every if every else late:
                saved, saved_at = save()
            # if hooks:
            hooks.after(found["shown"])
            # if hooks:
            last = 0 if hooks.context.stop_requested else last
        if model.step != saved:
            save()
        # if saving_listeners:
        listeners.end()
        # if hooks:
        hooks.end()
        flush()
        if loss is not None:
            v1.logging.info("Loss for final step: %s.", loss.numpy())
        return self

    @tf.autograph.experimental.do_not_convert
    # if not loss_scope: def _host_call(self, model, values):
    def _host_call(self, model, values, tag_of_loss):
        function, _ = model.last.host_call or (lambda: None, ())
        graph = v1.get_default_graph()
        with graph.name_scope(None):  # tags are without the loop's scope
            # if loss_scope:
            before = graph.unique_name("loss", mark_as_used=False)
            _given(function, self._together(values))
            # if loss_scope:
            # The summary of the loss has the name that this left, as in TensorFlow 1.
            if graph.unique_name("loss", mark_as_used=False) != before:
                model.loss_tag = _next_name(tag_of_loss)

    def _first(self, value):
        """The value of the first replica."""
        return self.strategy.experimental_local_results(value)[0]

    def _together(self, values):
        """The values of all replicas, one behind the other."""
        local = self.strategy.experimental_local_results
        return nest(
            lambda one: tf.concat(local(one), 0) if len(local(one)) > 1 else local(one)[0], values
        )

    def evaluate(self, input_fn, steps=None, hooks=None, checkpoint_path=None, name=None):
        """The metrics of a checkpoint, with the mean loss of the first replica."""
        # if eval_on_tpu:
        if self._use_tpu and not self._eval_on_tpu:
            return self._on_one_device().evaluate(input_fn, steps, hooks, checkpoint_path, name)
        data, spec = self._batches(input_fn, ModeKeys.EVAL)
        checkpoint = checkpoint_path or self.latest_checkpoint()
        model = self._model(ModeKeys.EVAL, lambda: _placeholders(spec))
        # if evaluation_hooks:
        hooks = Hooks(hooks, "evaluation_hooks").begin(model)
        model.start(checkpoint)
        losses, update, result = [], None, dict

        def replica_step(batch):
            # if host_call:
            before = tf.convert_to_tensor(model.variables["global_step"])
            spec = model(*_split(batch))
            values = spec.eval_metrics[1] if spec.eval_metrics else []
            # if not host_call or evaluation_hooks: return {"loss": spec.loss, "values": values}
            found = {"loss": spec.loss, "values": values}
            # if host_call:
            found["host_call"] = _given_to_host(spec, before)
            # if evaluation_hooks:
            found["shown"] = hooks.tensors(spec)
            # if host_call or evaluation_hooks:
            return found

        @tf.function
        def step(batch):
            found = model.run(replica_step, batch)
            # if host_call:
            # if not loss_scope: self._host_call(model, found["host_call"])
            self._host_call(model, found["host_call"], model.loss_tag)
            loss, values = self._first(found["loss"]), self._together(found["values"])
            # if not evaluation_hooks: return loss, values
            return loss, values, nest(self._first, found["shown"])

        # if evaluation_hooks:
        hooks.start()
        for batch in itertools.islice(data, steps):
            # if evaluation_hooks:
            hooks.before()
            # if eval_metric_ops:
            if model.spec.eval_metric_ops and not losses:
                step, result = _metric_ops(model, spec, hooks)
            # if not evaluation_hooks: loss, values = step(batch)
            loss, values, shown = step(batch)
            losses.append(loss.numpy())
            # if evaluation_hooks:
            hooks.after(shown)
            # if own_variables:
            if not model.spec.eval_metric_ops:
                model.undo()
            if model.spec.eval_metrics:
                if update is None:
                    update, result = _metrics(*model.spec.eval_metrics, values)
                update(*tf.nest.flatten(values))
        # if evaluation_hooks:
        hooks.end()
        found = dict(nest(lambda one: one.numpy(), result()), loss=np.mean(losses))
        return self._report(found, model.step, self.eval_dir(name), checkpoint)

    def _report(self, found, step, folder, checkpoint):
        """Writes the metrics of a step to the summaries and to the log."""
        found = dict(sorted(found.items()))
        with summary_writer(folder).as_default(step):
            for key, value in found.items():
                (tf.summary.write if np.ndim(value) else tf.summary.scalar)(key, value)
            if checkpoint:
                tf.summary.text("checkpoint_path", checkpoint)
        flush()
        found["global_step"] = np.int64(step)
        said = ", ".join(f"{key} = {found[key]}" for key in sorted(found))
        v1.logging.info("Saving dict for global step %d: %s", step, said)
        return found

    def predict(self, input_fn, predict_keys=None, hooks=None, checkpoint_path=None,
                yield_single_examples=True):  # fmt: skip
        """Yields the predictions of a checkpoint, or some of them, for each example, or for each batch."""
        mode, replicas = ModeKeys.PREDICT, self.strategy.num_replicas_in_sync
        parts, size = replicas, self._sizes[mode]
        # if per_host:
        parts = 1 if self._fed(mode)[1] else replicas
        # if not context: data = self._input(input_fn, mode, parts)
        data = self._of_calls(input_fn, mode, parts, tf.distribute.InputContext(1, 0, replicas))
        data = data.unbatch().batch(size) if size else data
        part = size and size // replicas
        spec = nest(lambda one: tf.TensorSpec([part, *one.shape[1:]], one.dtype), data.element_spec)
        model = self._model(mode, lambda: _placeholders(spec))
        # if evaluation_hooks:
        hooks = Hooks(hooks, "prediction_hooks").begin(model)
        model.start(checkpoint_path or self.latest_checkpoint())

        def replica_step(batch):
            spec = model(*_split(batch))
            # if predict_keys:
            if predict_keys:
                kept = {key: one for key, one in spec.predictions.items() if key in predict_keys}
                spec = spec._replace(predictions=kept)
            # if not evaluation_hooks: return spec.predictions
            return spec.predictions, hooks.tensors(spec)

        @tf.function
        def step(batch):
            # if not evaluation_hooks: return self._together(model.run(replica_step, batch))
            found, shown = model.run(replica_step, batch)
            # if evaluation_hooks:
            return self._together(found), nest(self._first, shown)

        # if evaluation_hooks:
        hooks.start()
        for batch in data:
            count = len(tf.nest.flatten(batch)[0])
            if size:  # the last batch is filled up: a TPU computes in one shape
                rows = tf.minimum(tf.range(size), count - 1)
                batch = nest(lambda one, at=rows: tf.gather(one, at), batch)
            if replicas > 1:
                share = functools.partial(_share, _parts((batch,), replicas))
                batch = self.strategy.experimental_distribute_values_from_function(share)
            # if evaluation_hooks:
            hooks.before()
            # if not evaluation_hooks: found = step(batch)
            found, shown = step(batch)
            # if evaluation_hooks:
            hooks.after(shown)
            # if own_variables:
            model.undo()
            found = nest(lambda one, n=count: one.numpy()[:n], found)
            rows = range(count) if yield_single_examples else [slice(None)]
            yield from (nest(lambda one, at=row: one[at], found) for row in rows)
        # if evaluation_hooks:
        hooks.end()

    def export_saved_model(
        self, export_dir_base, serving_input_receiver_fn, assets_extra=None, *, checkpoint_path=None
    ):
        """Writes a SavedModel with export_outputs as signatures; returns its folder, as bytes."""
        given = []

        def inputs():
            given[:] = [serving_input_receiver_fn()]
            return given[0].features, None

        def build():
            spec = model(*inputs())
            return spec.export_outputs or {"serving_default": PredictOutput(spec.predictions)}

        def tensors():
            found = given[0].receiver_tensors
            return found if isinstance(found, dict) else {"input": found}

        module, stamp = tf.Module(), int(time.time())
        while tf.io.gfile.exists(os.path.join(export_dir_base, str(stamp))):
            stamp += 1
        path = os.path.join(export_dir_base, str(stamp))
        one_device = self._on_one_device()
        one_device._sizes = dict.fromkeys(self._sizes)
        model = one_device._model(ModeKeys.PREDICT, inputs)
        checkpoint = checkpoint_path or self.latest_checkpoint()
        has_tables = bool(model.graph.get_collection(v1.GraphKeys.TABLE_INITIALIZERS))
        # Functions can have no such parameters: 'class', 'sepal-length'.
        names = [re.sub(r"\A(?=\d)|\W", "_", name) for name in tensors()]
        if has_tables or names != [*tensors()] or any(map(keyword.iskeyword, names)):
            _export_graph(model, checkpoint, tensors(), path)
            # if assets_extra:
            _add_assets(path, assets_extra)
            return os.fsencode(path)
        model.start(checkpoint)
        graph = v1.wrap_function(build, [])
        specs = [tf.TensorSpec(one.shape, one.dtype, name) for name, one in tensors().items()]
        signatures = {}
        for name, output in graph.structured_outputs.items():
            pruned = graph.prune(list(tensors().values()), output)
            # if not examples: signatures[name] = tf.function(lambda *values, f=pruned: f(*values), specs)
            asked = specs
            # if examples:
            if isinstance(output, OfExamples) and len(specs) == 1:
                asked = [tf.TensorSpec(specs[0].shape, specs[0].dtype, "inputs")]
            # if examples:
            signatures[name] = tf.function(lambda *values, f=pruned: f(*values), asked)
        if len(signatures) == 1:
            signatures["serving_default"] = next(iter(signatures.values()))
        module.model_variables = list(model.variables.values())
        # Gradients of a graph's functions, of tf.nn.swish for one, are its own: a server needs none.
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
        tf.saved_model.save(module, path, signatures, options)
        # if assets_extra:
        _add_assets(path, assets_extra)
        return os.fsencode(path)

    def eval_dir(self, name=None):
        """Where the summaries of an evaluation go."""
        return os.path.join(self.model_dir, "eval" + (f"_{name}" if name else ""))

    def latest_checkpoint(self):
        """The last checkpoint in model_dir, or None."""
        return tf.train.latest_checkpoint(self.model_dir)

    def get_variable_names(self):
        """What the last checkpoint holds."""
        return [name for name, _ in tf.train.list_variables(self.latest_checkpoint())]

    def get_variable_value(self, name):
        """The value of a variable in the last checkpoint."""
        return tf.train.load_variable(self.latest_checkpoint(), name)


class Estimator(Trainer):
    """The same on one device, for a model_fn and an input_fn that are given params as they are."""

    def __init__(self, model_fn, model_dir=None, config=None, params=None, warm_start_from=None):
        super().__init__(
            model_fn, model_dir, config, use_tpu=False, warm_start_from=warm_start_from
        )
        self.params = params or {}

    def _params(self, *_, **__):
        return self.params


def train_and_evaluate(trainer, train_spec, eval_spec):
    """Trains, evaluates the checkpoints on the way, not more often than the spec says, and the last one."""
    evaluated, results, exported = [None], [], []

    def evaluate():
        spec = eval_spec
        results[:] = [trainer.evaluate(spec.input_fn, spec.steps, spec.hooks, name=spec.name)]
        evaluated[0] = time.time()
        # if exporters:
        exporters = eval_spec.exporters or []
        # if exporters:
        exporters = exporters if isinstance(exporters, (list, tuple)) else [exporters]
        # if exporters:
        exported[:] = [one.export(trainer, results[0], train_spec.max_steps) for one in exporters]

    class Evaluating(v1.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            if evaluated[0] is None:  # the first one is of the initial values
                evaluated[0] = -float("inf")
            elif time.time() - evaluated[0] >= eval_spec.throttle_secs:
                evaluate()

    listeners = [*(train_spec.saving_listeners or []), Evaluating()]
    trainer.train(train_spec.input_fn, train_spec.hooks, None, train_spec.max_steps, listeners)
    if not results or results[0]["global_step"] != load_global_step(trainer.model_dir):
        evaluate()
    return results[0], exported


class FinalExporter:
    """Exports the model of the last evaluation of train_and_evaluate."""

    def __init__(self, name, serving_input_receiver_fn, assets_extra=None, exports_to_keep=None):
        self.name, self._receiver, self._assets = name, serving_input_receiver_fn, assets_extra
        self._keep = exports_to_keep

    def is_due(self, result, last):
        """Whether to export the model with these metrics."""
        return last is not None and result["global_step"] >= last

    def export(self, trainer, result, last):
        """Writes a SavedModel and takes out the oldest of too many; returns its folder, or None."""
        if not self.is_due(result, last):
            return None
        folder = os.path.join(trainer.model_dir, "export", self.name)
        exported = trainer.export_saved_model(folder, self._receiver, self._assets)
        for one in sorted(tf.io.gfile.glob(os.path.join(folder, "*")))[
            : -(self._keep or sys.maxsize)
        ]:
            tf.io.gfile.rmtree(one)
        return exported


class LatestExporter(FinalExporter):
    """Exports the model of each evaluation."""

    def __init__(self, name, serving_input_receiver_fn, assets_extra=None, exports_to_keep=5):
        super().__init__(name, serving_input_receiver_fn, assets_extra, exports_to_keep)

    def is_due(self, result, last):
        """Says that it is."""
        return True


class BestExporter(FinalExporter):
    """Exports the model of each evaluation that is better than those before, which has the smaller loss.

    The first one is compared with all that the event files have, itself included, as in TensorFlow 1.
    """

    def __init__(self, name="best_exporter", serving_input_receiver_fn=None,
                 event_file_pattern="eval/*.tfevents.*", compare_fn=None, assets_extra=None,
                 exports_to_keep=5):  # fmt: skip
        super().__init__(name, serving_input_receiver_fn, assets_extra, exports_to_keep)
        self._pattern, self._is_better = event_file_pattern, compare_fn or self._has_smaller_loss
        self._best = None

    def export(self, trainer, result, last):
        """Exports the model if it is better."""
        if self._pattern:
            for metrics in read_eval_metrics(trainer.model_dir, self._pattern).values():
                self.is_due(metrics, None)
            self._pattern = None
        return super().export(trainer, result, last)

    def is_due(self, result, last):
        """Compares the metrics with the best before."""
        if self._best and not self._is_better(
            best_eval_result=self._best, current_eval_result=result
        ):
            return False
        self._best = result
        return True

    @staticmethod
    def _has_smaller_loss(best_eval_result, current_eval_result):
        return best_eval_result["loss"] > current_eval_result["loss"]


def read_eval_metrics(eval_dir, files="*.tfevents.*"):
    """The metrics in the event files of a folder: step -> name -> value."""
    eagerly(flush)
    steps = collections.defaultdict(dict)
    for path in sorted(tf.io.gfile.glob(os.path.join(eval_dir, files))):
        for event in v1.train.summary_iterator(path):
            for one in event.summary.value:
                is_old = one.HasField("simple_value")
                steps[event.step][one.tag] = (
                    one.simple_value if is_old else tf.make_ndarray(one.tensor)
                )
    return dict(sorted(steps.items()))


class StopHook(v1.train.SessionRunHook):
    """Stops a training where a function says so, which is asked each so many seconds or steps."""

    def __init__(self, should_stop, every_secs, every_steps):
        self._should_stop = should_stop
        self._timer = v1.train.SecondOrStepTimer(every_secs, every_steps)

    def begin(self):
        """Finds the step."""
        self._step = v1.train.get_global_step()

    def before_run(self, run_context):
        """Fetches it."""
        return v1.train.SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        """Asks the function."""
        step = run_values.results
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._should_stop():
                v1.logging.info("Requesting early stopping at global step %d", step)
                run_context.request_stop()


def make_early_stopping_hook(estimator, should_stop_fn, run_every_secs=60, run_every_steps=None):
    """A hook that stops a training where a function gives True."""
    return StopHook(should_stop_fn, run_every_secs, run_every_steps)


def stop_if_higher_hook(estimator, metric_name, threshold, eval_dir=None, min_steps=0,
                        run_every_secs=60, run_every_steps=None):  # fmt: skip
    """A hook that stops a training when a metric of an evaluation is above a threshold."""
    folder = eval_dir or estimator.eval_dir()
    is_higher = functools.partial(_is_beyond, folder, metric_name, min_steps, threshold, 1)
    return StopHook(is_higher, run_every_secs, run_every_steps)


def stop_if_lower_hook(estimator, metric_name, threshold, eval_dir=None, min_steps=0,
                       run_every_secs=60, run_every_steps=None):  # fmt: skip
    """A hook that stops a training when a metric of an evaluation is below a threshold."""
    folder = eval_dir or estimator.eval_dir()
    is_lower = functools.partial(_is_beyond, folder, metric_name, min_steps, threshold, -1)
    return StopHook(is_lower, run_every_secs, run_every_steps)


def stop_if_no_increase_hook(estimator, metric_name, max_steps_without_increase, eval_dir=None,
                             min_steps=0, run_every_secs=60, run_every_steps=None):  # fmt: skip
    """A hook that stops a training when a metric of the evaluations has not grown for so many steps."""
    folder, most = eval_dir or estimator.eval_dir(), max_steps_without_increase
    is_stuck = functools.partial(_is_stuck, folder, metric_name, min_steps, most, 1)
    return StopHook(is_stuck, run_every_secs, run_every_steps)


def stop_if_no_decrease_hook(estimator, metric_name, max_steps_without_decrease, eval_dir=None,
                             min_steps=0, run_every_secs=60, run_every_steps=None):  # fmt: skip
    """A hook that stops a training when a metric of the evaluations has not shrunk for so many steps."""
    folder, most = eval_dir or estimator.eval_dir(), max_steps_without_decrease
    is_stuck = functools.partial(_is_stuck, folder, metric_name, min_steps, most, -1)
    return StopHook(is_stuck, run_every_secs, run_every_steps)


def _is_beyond(folder, metric, min_steps, threshold, sign):
    found = read_eval_metrics(folder).items()
    return any(sign * (one[metric] - threshold) > 0 for step, one in found if step >= min_steps)


def _is_stuck(folder, metric, min_steps, most, sign):
    best = best_step = None
    for step, found in read_eval_metrics(folder).items():
        if step >= min_steps:
            if best is None or sign * (found[metric] - best) > 0:
                best, best_step = found[metric], step
            if step - best_step >= most:
                return True
    return False


def load_global_step(folder):
    """The step of the last checkpoint in a folder; 0 where there is none."""
    checkpoint = tf.train.latest_checkpoint(folder)
    return int(tf.train.load_variable(checkpoint, "global_step")) if checkpoint else 0


def from_saved_model(folder, signature="serving_default"):
    """A function that computes with a SavedModel: a dict of arrays from a dict of what it is given."""
    session = v1.Session(graph=tf.Graph())
    with session.graph.as_default():
        model = v1.saved_model.load(session, ["serve"], os.fsdecode(folder))
    inputs, outputs = (
        {name: one.name for name, one in tensors.items()}
        for made in [model.signature_def[signature]]
        for tensors in (made.inputs, made.outputs)
    )

    def compute(given):
        return session.run(outputs, {inputs[name]: one for name, one in given.items()})

    return compute


def numpy_input_fn(
    x, y=None, batch_size=128, num_epochs=1, shuffle=None, queue_capacity=1000, num_threads=1
):
    """An input_fn that gives arrays in batches, which may go on from one epoch into the next."""
    del num_threads

    def input_fn():
        dataset = tf.data.Dataset.from_tensor_slices(x if y is None else (x, y))
        dataset = dataset.shuffle(queue_capacity) if shuffle else dataset
        return dataset.repeat(num_epochs).batch(batch_size)

    return input_fn


def pandas_input_fn(
    x,
    y=None,
    batch_size=128,
    num_epochs=1,
    shuffle=None,
    queue_capacity=1000,
    num_threads=1,
    target_column="target",
):
    """The same of a DataFrame, whose columns become features by name; y is a Series."""
    del target_column
    columns = {name: np.asarray(x[name]) for name in x.columns}
    y = None if y is None else np.asarray(y)
    return numpy_input_fn(columns, y, batch_size, num_epochs, shuffle, queue_capacity, num_threads)


def build_raw_serving_input_receiver_fn(features, default_batch_size=None):
    """A serving_input_receiver_fn that is given features as they are, which some tensors are examples of."""

    def receive():
        given = {}
        for name, one in features.items():
            shape = tf.TensorShape([default_batch_size]).concatenate(one.shape[1:])
            given[name] = v1.placeholder(one.dtype, shape)
        return ServingInputReceiver(given, given)

    return receive


def build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size=None):
    """A serving_input_receiver_fn that is given each ``tf.train.Example`` as a string."""

    def receive():
        texts = v1.placeholder(tf.string, [default_batch_size])
        return ServingInputReceiver(tf.io.parse_example(texts, feature_spec), {"examples": texts})

    return receive


def ServingInputReceiver(features, receiver_tensors):
    """The same, with features by name."""
    features = features if isinstance(features, dict) else {"feature": features}
    return TensorServingInputReceiver(features, receiver_tensors)


def PredictOutput(outputs):
    """The outputs of a signature, by name."""
    return outputs if isinstance(outputs, dict) else {"output": outputs}


class OfExamples(dict):
    """The outputs of a signature whose one input is called "inputs"."""


def ClassificationOutput(scores=None, classes=None):
    """The outputs of a signature that classifies: scores, or names of classes, or both."""
    given = {"scores": scores, "classes": classes}
    return OfExamples({name: one for name, one in given.items() if one is not None})


def RegressionOutput(value):
    """The output of a signature that predicts a number."""
    return OfExamples({"outputs": value})


def _add_assets(path, assets):
    for name, asset in (assets or {}).items():
        place = os.path.join(path, "assets.extra", name)
        tf.io.gfile.makedirs(os.path.dirname(place))
        tf.io.gfile.copy(asset, place)


def _export_graph(model, checkpoint, tensors, path):
    """Writes a SavedModel of a graph, with its tables and any names of inputs."""
    outputs = model.spec.export_outputs or {
        "serving_default": PredictOutput(model.spec.predictions)
    }
    signatures = {}
    with model.graph.as_default(), v1.Session() as session:
        for name, output in outputs.items():
            given = tensors
            # if examples:
            if isinstance(output, OfExamples) and len(tensors) == 1:
                given = {"inputs": next(iter(tensors.values()))}
            signatures[name] = v1.saved_model.predict_signature_def(given, output)
        if len(signatures) == 1:
            signatures["serving_default"] = next(iter(signatures.values()))
        saver = model._scaffold.saver or v1.train.Saver()
        saver.restore(session, checkpoint)
        builder = v1.saved_model.Builder(path)
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            signatures,
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
            main_op=tf.group(v1.local_variables_initializer(), v1.tables_initializer()),
            saver=saver,
        )
        builder.save()


def _scaffold(spec, most):
    """What initializes the variables of a graph, and how many checkpoints are kept: its own Saver decides."""
    made = spec.scaffold_fn and spec.scaffold_fn()
    if made and made.saver:
        most = made.saver.saver_def.max_to_keep
    return made or v1.train.Scaffold(), most


def _given_to_host(spec, step):
    """What host_call is given: its function is called where the values of all replicas are."""
    _, values = spec.host_call or ((), [])
    return nest(lambda one: _as_before(one, step), values)


def _metrics(metric_fn, arguments, values):
    """A function that takes in a batch, and one that gives the metrics of all batches."""
    numbers = [None if tf.is_tensor(one) else one for one in tf.nest.flatten(arguments)]
    spec = nest(
        lambda one: tf.TensorSpec([None] * (one.shape.rank > 0) + one.shape[1:], one.dtype), values
    )
    found = {}

    def build(*flat):
        # A Python number stays one: a shape may be made of it.
        flat = [one if number is None else number for one, number in zip(flat, numbers)]
        metrics = _given(metric_fn, tf.nest.pack_sequence_as(spec, flat))
        # A value may be a variable.
        found.update({name: tf.convert_to_tensor(value) for name, (value, _) in metrics.items()})
        with tf.control_dependencies(_updates(metrics)):
            return tf.constant(True)

    update = v1.wrap_function(build, tf.nest.flatten(spec))
    return update, update.prune([], found)


def _updates(metrics):
    """The operations that take in a batch, also of assignments; each once, as metrics may share it."""
    operations = (getattr(update, "op", update) for _, update in metrics.values())
    return list({one.name: one for one in operations}.values())


def _metric_ops(model, spec, hooks):
    """A function that takes in a batch and gives the loss, and one that gives the metrics of all batches."""
    given, made, shown = [], [], []

    def build(*flat):
        given.extend(flat)
        made.append(model(*_split(tf.nest.pack_sequence_as(spec, flat))))
        # if evaluation_hooks:
        shown.append(hooks.tensors(made[0]))

    graph = v1.wrap_function(build, tf.nest.flatten(spec))
    metrics = made[0].eval_metric_ops
    update = graph.prune(given, [made[0].loss, _updates(metrics), *shown])
    result = graph.prune([], {name: value for name, (value, _) in metrics.items()})
    return lambda batch: update(*tf.nest.flatten(batch)), result


def _not_run(variables, spec):
    """Variables that TensorFlow 1 did not write: it ran what its fetches wait for, a tf.function runs all."""
    asked = [spec.loss, spec.predictions, spec.eval_metric_ops]
    asked += [given[1] for given in (spec.eval_metrics, spec.host_call) if given]
    asked += [spec.train_op] if spec.mode == ModeKeys.TRAIN else []
    fetched = (getattr(one, "op", one) for one in tf.nest.flatten(asked, expand_composites=True))
    ran = reached(one for one in fetched if isinstance(one, tf.Operation))
    return {id(one) for one in variables if writers(one) and not writers(one) & ran}


def _ignore_updates(variables):
    """Leaves variables as they are in a tf.function, whatever in it would change them."""
    for one in variables:
        for name in dir(one):
            if re.match(r"(batch_)?scatter_|assign|count_up_to$", name):
                setattr(one, name, lambda *_, one=one, **__: one.read_value())


def _as_before(tensor, step):
    """The same, or the step if that is what it shows: train_op has changed it when it is read behind it."""
    tensor = tf.convert_to_tensor(tensor)
    shown, read = tensor.op, step.op
    passing = ("Reshape", "ExpandDims", "Cast", "Identity", "Tile", "Pack")
    while shown.type in passing and not shown.control_inputs:
        shown = shown.inputs[0].op
    while read.type != "ReadVariableOp":
        read = read.inputs[0].op
    is_step = shown.type == read.type and shown.inputs[0].name == read.inputs[0].name
    if shown.control_inputs or not is_step:  # or it asks for what comes after something
        return tensor
    return tf.fill(tf.shape(tensor), tf.cast(step, tensor.dtype))


def _next_name(name):
    """What the next operation is called that is given the name of another one."""
    head, _, number = name.partition("_")
    return f"{head}_{int(number or 0) + 1}"


def _context(replicas, hosts, host=0, turn=None):
    """What params hold as context."""
    here = replicas // hosts
    # A device, which call of how many, for how many replicas.
    deployment = (None, host, hosts, here)
    deployment = deployment if turn is None else (None, host * here + turn, replicas, 1)
    return types.SimpleNamespace(
        num_replicas=replicas,
        num_hosts=hosts,
        current_host=host,
        current_input_fn_deployment=lambda: deployment,
    )


def _computed(tensors, graph):
    """A dataset of what the tensors of a graph are, again and again."""

    def batches():
        with graph.as_default():
            session = v1.train.MonitoredSession()
        with session:
            while not session.should_stop():
                yield session.run(tensors)

    with graph.as_default():
        spec = nest(tf.TensorSpec.from_tensor, tensors)
    return tf.data.Dataset.from_generator(batches, output_signature=spec)


def _called(function, *args, **options):
    """Calls a function with the options that it has parameters for, and a partial has not given."""
    names = {*inspect.signature(function).parameters} - {*getattr(function, "keywords", {})}
    options = {name: options[name] for name in options if name in names}
    return tf.autograph.experimental.do_not_convert(function)(*args, **options)


def _given(function, arguments):
    return function(**arguments) if isinstance(arguments, dict) else function(*arguments)


def _split(batch):
    return batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)


def _parts(batch, count):
    return nest(lambda one: tf.stack(tf.split(one, count)), batch if len(batch) > 1 else batch[0])


def _share(shares, context):
    return nest(lambda one: one[context.replica_id_in_sync_group], shares)


def _placeholders(spec):
    return _split(nest(lambda one: v1.placeholder(one.dtype, one.shape), spec))
