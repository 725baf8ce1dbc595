"""Runs functions on the cores of a ``tf.distribute`` strategy, with the variables that they share.

The functions make variables by name, as in TensorFlow 1. So each is called twice. First in a ``tf.Graph``,
whose Session gives the variables their first values; then in a ``tf.function``, once for each replica, where it
is given these variables as ``tf.Variable`` of the strategy. Variables and checkpoints keep the names that they
had in TensorFlow 1.
"""

import collections
import contextlib
import functools
import os
import re

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # for tf.compat.v1.layers: pip install tf-keras
import tensorflow as tf
from training_loop import (
    CrossShardOptimizer,
    cross_replica_sum,
    graph_of_replica,
    is_own,
    make_strategy,
)

v1 = tf.compat.v1
v1.disable_v2_tensorshape()  # functions of TensorFlow 1 ask for x.shape[0].value


def one_core():
    """A strategy for one core of the TPU, or one of several devices."""
    strategy = make_strategy()
    if strategy.num_replicas_in_sync == 1:
        return strategy
    if not tf.config.list_logical_devices("TPU"):
        return tf.distribute.OneDeviceStrategy(strategy.extended.worker_devices[0])
    resolver = strategy.cluster_resolver
    topology = tf.tpu.experimental.initialize_tpu_system(resolver)
    core = tf.tpu.experimental.DeviceAssignment.build(topology, num_replicas=1)
    return tf.distribute.TPUStrategy(resolver, experimental_device_assignment=core)


def repeat(n, body, inputs=None, name=None):
    """Calls a function n times, each time with what it returned before; returns the last of it as a list.

    Replicas cannot meet in such a loop: an optimizer in it has to run on one core.
    """

    def once(*values):
        results = tf.nest.flatten(body(*values))
        with tf.control_dependencies([one for one in results if isinstance(one, tf.Operation)]):
            return [tf.identity(one) for one in results if isinstance(one, tf.Tensor)]

    values = [tf.convert_to_tensor(one) for one in inputs or []]
    if not tf.inside_function():  # in the graph that the variables are made in
        with v1.get_default_graph().name_scope(None):  # which a loop of TensorFlow 1 leaves
            return once(*values)

    def count(step, *values):
        return [step + 1, *once(*values)]

    return tf.while_loop(lambda step, *_: step < n, count, [tf.constant(0), *values], name=name)[1:]


class Computations:
    """Functions without variables; by default on the TPU, or on what devices there are.

    Args:
      strategy: Where the functions run.
    """

    def __init__(self, strategy=None):
        self.strategy = strategy or make_strategy()

    def on_all_cores(self, function, inputs, from_all=True, shards=None, whole=()):
        """A function that computes on all cores, each on its rows of the inputs, and returns a list of arrays.

        Args:
          function: What each core computes.
          inputs: What it is given: tensors, variables, or a tf.TensorSpec of what is given in each call.
          from_all: Whether to return the results of all cores, one behind the other, or those of the first one.
          shards: How many parts the rows have; by default one for each core. Cores take turns at more of them.
          whole: What the function is given behind its rows, the same on all cores.
        """
        cores = self.strategy.num_replicas_in_sync
        shards = shards or cores
        turns = -(-shards // cores)

        def split(value):
            parts = tf.split(value, shards)
            parts += parts[-1:] * (-shards % cores)  # for cores that have none in the last turn
            return [
                self.strategy.experimental_distribute_values_from_function(
                    lambda context, turn=turn: parts[turn + context.replica_id_in_sync_group]
                )
                for turn in range(0, shards, cores)
            ]

        def share(values):
            rows = len(inputs)
            return [split(one) for one in values[:rows]] + [[one] * turns for one in values[rows:]]

        def join(parts):
            if not from_all:
                return parts[0].numpy()
            parts = parts[:shards]
            return (tf.concat(parts, 0) if parts[0].shape.rank else tf.stack(parts)).numpy()

        counts = [shards for _ in inputs] + [1 for _ in whole]
        return self._function(function, [*inputs, *whole], share, join, counts, turns)

    def on_each_core(self, function, inputs):
        """A function that computes on cores and returns a list of results for each.

        Args:
          function: What each core computes.
          inputs: For each core, a list of what its function is given; cores take turns at more of them.
        """

        def compute(*values):
            found = tf.nest.flatten(function(*(one[0] for one in values)))
            return [
                one if isinstance(one, tf.Operation) else tf.expand_dims(one, 0) for one in found
            ]

        columns = [tf.stack(one) for one in zip(*inputs)]
        on_all = self.on_all_cores(compute, columns, shards=len(inputs))
        return lambda: [list(one) for one in zip(*on_all())]

    def on_one_core(self, function, inputs=()):
        """A function that computes on a core and returns a list of arrays; see ``on_all_cores``."""
        counts = [1 for _ in inputs]
        return self._function(
            function,
            inputs,
            lambda values: [[one] for one in values],
            lambda parts: parts[0].numpy(),
            counts,
        )

    def _function(self, function, inputs, share, join, counts, turns=1):
        inputs = [one if _is_given(one) else tf.convert_to_tensor(one) for one in inputs]
        function = _in_scope(function, v1.get_variable_scope())
        made = self._build(function, inputs, counts)

        def replica_step(*values):
            with graph_of_replica(), self._given(made):
                self._begin()
                return self._tensors(made, tf.nest.flatten(function(*values)))

        def turn(values):
            with self._given(made, parts=True):  # optimizers make theirs for all replicas together
                return self.strategy.run(replica_step, args=tuple(values)) or []

        step = tf.function(lambda values: [turn(one) for one in values], autograph=False)

        def compute(*given):
            left = list(given)
            values = [left.pop(0) if isinstance(one, tf.TensorSpec) else one for one in inputs]
            dtypes = [one.dtype for one in inputs]
            values = share([tf.convert_to_tensor(*pair) for pair in zip(values, dtypes)])
            found = step([[one[index] for one in values] for index in range(turns)])
            self._share()
            local = self.strategy.experimental_local_results
            results = [
                join([part for one in each for part in local(one)])
                for each in zip(*found)
                if each[0] is not None
            ]
            return results or None

        return compute

    def _build(self, *_):
        return None

    def _begin(self):
        pass

    def _tensors(self, _, results):
        return [one for one in results if not isinstance(one, tf.Operation)]

    def _given(self, *_, **__):
        return contextlib.nullcontext()

    def _share(self):
        pass


class Program(Computations):
    """Functions that share variables.

    Args:
      strategy: Where the functions run.
      seed: What variables' first values are drawn with.
      global_step: Whether there is a global step before a function makes it.
    """

    def __init__(self, strategy=None, seed=None, global_step=False):
        super().__init__(strategy)
        self._has_step = global_step
        self._graph = tf.Graph()
        self._session = v1.Session(graph=self._graph)
        with self._graph.as_default():
            v1.set_random_seed(seed)
        self._made = []  # the variables of the graph
        self._is_own = {}  # name -> whether each core computes it for itself, such as moving averages
        self._on_read = set()  # the names of those
        #: Name -> variable, once they are initialized or restored.
        self.variables = {}

    def _build(self, function, inputs, counts):
        """Calls a function in the graph, for the variables that it makes."""
        made = _Made(collections.defaultdict(list), [])

        def record(next_creator, **kwargs):
            variable = next_creator(**kwargs)
            self._made.append(variable)
            self._is_own[variable.op.name] = is_own(kwargs)
            made.asked[kwargs.get("name")].append(variable.op.name)
            return variable

        with self._graph.as_default():
            given = []
            for one, count in zip(inputs, counts):
                shape = one.shape
                if count > 1 and shape.rank:
                    size = shape[0] and shape[0] // count
                    shape = [size, *shape[1:]]
                given.append(v1.placeholder(one.dtype, shape))
            with tf.variable_creator_scope(record):
                self._begin()
                results = tf.nest.flatten(function(*given))
            made.is_tensor.extend(not isinstance(one, tf.Operation) for one in results)
        return made

    def _begin(self):
        if self._has_step:
            v1.train.get_or_create_global_step()

    def _tensors(self, made, results):
        """The results that are tensors; what an optimizer returns on several cores is not an operation."""
        return [one for one, is_tensor in zip(results, made.is_tensor) if is_tensor]

    def _given(self, made, parts=False):
        """A context in which who makes a variable gets the strategy's, of its name and in its turn."""
        counts, shares = collections.Counter(), []

        def give(_, **kwargs):
            name = kwargs.get("name")
            if parts and re.search(r"/replica_\d+/$", name or ""):
                return shares.pop(0)
            asked = made.asked.get(name) or [name]  # another function has made it
            counts[name] += 1
            variable = self.variables[asked[counts[name] - 1]]
            if parts:
                shares[:] = self.strategy.experimental_local_results(variable)
                return shares.pop(0)
            groups = {*(kwargs.get("collections") or [v1.GraphKeys.GLOBAL_VARIABLES])}
            groups |= {v1.GraphKeys.TRAINABLE_VARIABLES} if variable.trainable else set()
            v1.add_to_collections(groups, variable)
            return variable

        return tf.variable_creator_scope(give)

    def _share(self):
        """Gives all cores the first one's moving averages: TensorFlow 1 had one of each between two calls."""
        for name in self._on_read & self.variables.keys():
            first, *others = self.strategy.experimental_local_results(self.variables[name])
            for one in others:
                one.assign(first)

    def initialize(self):
        """Gives all variables their first values."""
        with self._graph.as_default():
            self._session.run(v1.variables_initializer(self._made))
        self._assign(self._session.run(self._made))

    def restore(self, path):
        """Gives the variables the values in a checkpoint."""
        reader = tf.train.load_checkpoint(path)
        self._assign([reader.get_tensor(one.op.name) for one in self._made])

    def _assign(self, values):
        for old, value in zip(self._made, values):
            name = old.op.name
            if name in self.variables:
                self.variables[name].assign(value)
                continue
            self._on_read |= {name} if self._is_own[name](old) else set()
            kind = "ON_READ" if name in self._on_read else "AUTO"
            with self.strategy.scope():
                self.variables[name] = tf.Variable(
                    value,
                    name=name,
                    trainable=old.trainable,
                    synchronization=tf.VariableSynchronization[kind],
                    aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
                )

    def values(self, trainable=False):
        """Their values; see ``in_order``."""
        local = self.strategy.experimental_local_results
        return [local(one)[0].numpy() for one in self.in_order(trainable)]

    def value(self, name):
        """The value of a variable, by its name or that of its tensor."""
        variable = self.variables[name.partition(":")[0]]
        return self.strategy.experimental_local_results(variable)[0].numpy()

    def in_order(self, trainable=False):
        """All variables, or those that are trained, in the order that they were made in."""
        return [self.variables[old.op.name] for old in self._made if old.trainable >= trainable]

    def global_step(self):
        """How many steps the optimizer has made."""
        return self.variables[v1.train.get_global_step(self._graph).op.name].numpy()


class Saver:
    """Saves the variables of a program under their names, in the format of TensorFlow 1.

    Args:
      program: The program.
      max_to_keep: How many of its checkpoints are left.
    """

    def __init__(self, program, max_to_keep=5):
        self._program, self._max_to_keep, self._saver = program, max_to_keep, None

    def save(self, path, global_step=None):
        """Writes a checkpoint; returns its path."""
        if self._saver is None:
            local, variables = (
                self._program.strategy.experimental_local_results,
                self._program.variables,
            )
            first = {name: local(one)[0] for name, one in variables.items()}
            self._saver = v1.train.Saver(first, max_to_keep=self._max_to_keep)
        return self._saver.save(None, path, global_step)

    def restore(self, path):
        """Gives the variables the values in a checkpoint."""
        self._program.restore(path)


def file_writer(logdir, **options):
    """A tf.compat.v1.summary.FileWriter, which is only made in a graph."""
    with tf.Graph().as_default():
        return v1.summary.FileWriter(logdir, **options)


def scalars(values):
    """The summary of numbers, by their tags, as a FileWriter takes it."""
    parts = [
        v1.Summary.Value(tag=tag, simple_value=float(tf.convert_to_tensor(value)))
        for tag, value in values.items()
    ]
    return v1.Summary(value=parts).SerializeToString()


def with_more(compute, function):
    """A computation with more results, which a function makes of its own."""

    def compute_more(*given):
        results = compute(*given)
        return [*results, *(tf.convert_to_tensor(one).numpy() for one in function(*results))]

    return compute_more


def chosen(results, *places):
    """Some of a computation's results, in the order of their places."""
    return [results[place] for place in places]


#: Of a function in the graph: the names of its variables by what it called them, and which of its results are
#: tensors and not operations.
_Made = collections.namedtuple("_Made", "asked is_tensor")


def _in_scope(function, scope):
    """Names the variables of a function after the ``tf.compat.v1.variable_scope`` that a program is made in."""

    def compute(*values):
        opened = v1.variable_scope(scope, reuse=v1.AUTO_REUSE, auxiliary_name_scope=False)
        with opened, v1.name_scope(scope.original_name_scope):  # for variables of an optimizer
            return function(*values)

    return compute if scope.name else function


def _is_given(one):
    return isinstance(one, (tf.TensorSpec, tf.Variable))
