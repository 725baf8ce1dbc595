"""Trains, evaluates and exports a model_fn under a ``tf.distribute`` strategy.

A model_fn describes a graph: it makes variables by name and asks for collections. So it is called twice.
First in a ``tf.Graph``, whose Session initializes the variables, from a checkpoint if there is one. Then in
a ``tf.function``, once for each replica, where it gets these variables as ``tf.Variable`` of the strategy.
Variables and checkpoints keep the names that they had in TensorFlow 1.
"""

import collections
import enum
import inspect
import os
import sys
import time
from typing import Any, Callable, NamedTuple, Optional

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
_WRITERS: dict = {}


class ModeKeys:
    """What a model_fn is called for."""

    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


class Spec(NamedTuple):
    """What a model_fn returns.

    ``eval_metrics`` and ``host_call`` are a function and its arguments, which have a batch dimension: the
    function gets those of all replicas, one behind the other.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metrics: Any = None
    export_outputs: Any = None
    scaffold_fn: Optional[Callable] = None
    host_call: Any = None


class InputPipelineConfig(enum.Enum):
    """Who calls input_fn: each replica, or each host with its own batch or that of one replica."""

    PER_SHARD_V1, PER_HOST_V1, PER_HOST_V2 = 1, 2, 3


class TPUConfig(NamedTuple):
    """How the replicas are fed, and how many steps they make in one call."""

    iterations_per_loop: int = 2
    per_host_input_for_training: Any = True


class RunConfig(NamedTuple):
    """Where to train, and when to save."""

    strategy: Optional[tf.distribute.Strategy] = None
    model_dir: Optional[str] = None
    tpu_config: TPUConfig = TPUConfig()
    tf_random_seed: Optional[int] = 1
    save_checkpoints_steps: Optional[int] = None
    save_checkpoints_secs: Optional[int] = 600
    keep_checkpoint_max: int = 5


class ServingInputReceiver(NamedTuple):
    """What a serving_input_receiver_fn returns: features, and the placeholders that they come from."""

    features: Any
    receiver_tensors: Any


class Context(NamedTuple):
    """``params['context']`` of model_fn and input_fn."""

    num_replicas: int
    num_hosts: int = 1
    current_host: int = 0


def make_strategy(tpu=None, zone=None, project=None):
    """A TPUStrategy where there is a TPU, else all GPUs, else the one device there is."""
    name = tpu or os.environ.get("TPU_NAME")
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(name or "local", zone, project)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    except (ValueError, tf.errors.OpError):
        if name and name != "local":  # it was asked for: no run on something else in silence
            raise
    if len(tf.config.list_physical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()


def summary_writer(logdir, **options):
    """The one writer of a folder: a function that is traced must not make it anew."""
    if logdir not in _WRITERS:
        with tf.init_scope():
            _WRITERS[logdir] = tf.summary.create_file_writer(logdir, **options)
    return _WRITERS[logdir]


def cross_replica_sum(tensor):
    """The sum over all replicas."""
    return tf.distribute.get_replica_context().all_reduce("sum", tensor)


def init_from_checkpoint(checkpoint, assignment_map):
    """Initializes variables from a checkpoint: those of the graph, which the replicas start from."""
    if not tf.inside_function():
        v1.train.init_from_checkpoint(checkpoint, assignment_map)


class CrossShardOptimizer(v1.train.Optimizer):
    """Gives another optimizer the mean of the replicas' gradients."""

    def __init__(self, optimizer, name="CrossShardOptimizer"):
        super().__init__(False, name)
        self._optimizer = optimizer

    def compute_gradients(self, loss, *args, **kwargs):
        """The gradients of a replica's part of the loss."""
        replicas = tf.distribute.get_strategy().num_replicas_in_sync
        return self._optimizer.compute_gradients(loss / replicas, *args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Sums the gradients over the replicas; the optimizers of ``tf.compat.v1.train`` do that themselves."""
        if type(self._optimizer).apply_gradients is not v1.train.Optimizer.apply_gradients:
            grads_and_vars = [(g, v) for g, v in grads_and_vars if g is not None]
            grads = [cross_replica_sum(tf.convert_to_tensor(g)) for g, _ in grads_and_vars]
            grads_and_vars = list(zip(grads, [v for _, v in grads_and_vars]))
        return self._optimizer.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, *args, **kwargs):
        """A slot of the other optimizer."""
        return self._optimizer.get_slot(*args, **kwargs)

    def variables(self):
        """The variables of the other optimizer."""
        return self._optimizer.variables()


class Model:
    """A model_fn with its variables.

    Args:
      call: Calls the model_fn; gets features and labels.
      inputs: Makes features and labels in a graph.
      strategy: Where the variables go.
      checkpoint: What to restore them from; None to initialize them.
      config: The RunConfig.
      warm_start: What initializes variables in another way; a function without arguments.
    """

    def __init__(self, call, inputs, strategy, checkpoint, config, warm_start=None):
        self._call = call
        made = []

        def record(next_creator, **kwargs):
            variable = next_creator(**kwargs)
            made.append((kwargs.get("name"), variable))
            return variable

        with tf.Graph().as_default(), tf.variable_creator_scope(record):
            v1.set_random_seed(config.tf_random_seed)
            v1.train.get_or_create_global_step()
            self.spec = call(*inputs())
            scaffold = self.spec.scaffold_fn() if self.spec.scaffold_fn else v1.train.Scaffold()
            if checkpoint is None and warm_start:
                warm_start()
            scaffold.finalize()
            with v1.Session() as session:
                session.run([scaffold.init_op, scaffold.local_init_op], scaffold.init_feed_dict)
                if checkpoint is not None:
                    scaffold.saver.restore(session, checkpoint)
                elif scaffold.init_fn:
                    scaffold.init_fn(session)
                values = session.run([variable for _, variable in made])
            saved = {id(variable) for variable in v1.global_variables()}
        self.variables = {}
        self._asked = collections.defaultdict(list)
        with strategy.scope():
            for (asked, old), value in zip(made, values):
                variable = tf.Variable(
                    value,
                    name=old.op.name,
                    trainable=old.trainable,
                    aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
                )
                self._asked[asked].append(variable)
                if id(old) in saved:
                    self.variables[old.op.name] = variable
        first = {name: strategy.experimental_local_results(one)[0] for name, one in self.variables.items()}
        self._saver = v1.train.Saver(first, max_to_keep=config.keep_checkpoint_max)

    @property
    def step(self):
        """The global step."""
        return int(self.variables["global_step"].numpy())

    def save(self, model_dir):
        """Writes a checkpoint."""
        self._saver.save(None, os.path.join(model_dir, "model.ckpt"), self.step)

    def given(self):
        """A context in which who makes a variable gets the one of this name, in the order of their making."""
        counts: collections.Counter = collections.Counter()

        def give(_, **kwargs):
            name = kwargs.get("name")
            counts[name] += 1
            variable = self._asked[name][counts[name] - 1]
            groups = list(kwargs.get("collections") or [v1.GraphKeys.GLOBAL_VARIABLES])
            groups += [v1.GraphKeys.TRAINABLE_VARIABLES] if variable.trainable else []
            for group in {*groups}:
                v1.add_to_collection(group, variable)
            return variable

        return tf.variable_creator_scope(give)

    def __call__(self, features, labels):
        """Calls the model_fn with the variables of the strategy, in a function that is traced."""
        graph = v1.get_default_graph()
        for name in graph.collections:  # those of another replica
            graph.clear_collection(name)
        with self.given():
            v1.train.get_or_create_global_step()
            return self._call(features, labels)


class Trainer:
    """Does with a model_fn what TPUEstimator did.

    Args:
      model_fn: Takes features, and labels, mode, params and config if it has such parameters.
      config: A RunConfig.
      params: For model_fn and input_fn, with ``batch_size`` and ``context`` added.
      use_tpu: Whether to use the strategy of the config, or one device.
      train_batch_size: Batch of all replicas together; so are the other two.
    """

    def __init__(self, model_fn, config=None, params=None, use_tpu=True, train_batch_size=None,
                 eval_batch_size=None, predict_batch_size=None, model_dir=None, warm_start_from=None):  # fmt: skip
        config = config or RunConfig()
        self.config = config._replace(model_dir=model_dir or config.model_dir)
        self.model_dir = self.config.model_dir
        self.params = dict(params or {}, use_tpu=use_tpu)
        self.strategy = (use_tpu and config.strategy) or tf.distribute.get_strategy()
        self._model_fn = tf.autograph.experimental.do_not_convert(model_fn)
        self._batch_sizes = {"train": train_batch_size, "eval": eval_batch_size, "infer": predict_batch_size}
        self._warm_start_from = warm_start_from

    def _params(self, mode, replicas, batches=1):
        size = self._batch_sizes[mode]
        context = Context(replicas)
        return dict(self.params, context=context, batch_size=size and size // batches)

    def _model(self, mode, checkpoint, inputs):
        replicas = self.strategy.num_replicas_in_sync
        params = self._params(mode, replicas, replicas)

        def call(features, labels):
            options = {"labels": labels, "mode": mode, "params": params, "config": self.config}
            return _called(self._model_fn, features, **options)

        return Model(call, inputs, self.strategy, checkpoint, self.config, self._warm_start)

    def _warm_start(self):
        if self._warm_start_from:
            v1.train.warm_start(self._warm_start_from)

    def _batches(self, input_fn, mode):
        """A dataset with an element for each replica, and what makes such elements in a graph."""
        kind = self.config.tpu_config.per_host_input_for_training
        if isinstance(kind, bool):
            kind = InputPipelineConfig.PER_HOST_V1 if kind else InputPipelineConfig.PER_SHARD_V1
        if kind is InputPipelineConfig.PER_SHARD_V1 and mode != ModeKeys.TRAIN:
            kind = InputPipelineConfig.PER_HOST_V1

        def of_host(context):
            replicas, hosts = context.num_replicas_in_sync, context.num_input_pipelines
            here, split = replicas // hosts, kind is InputPipelineConfig.PER_HOST_V1
            params = self._params(mode, replicas, hosts if split else replicas)
            params["context"] = Context(replicas, hosts, context.input_pipeline_id)

            def made():
                return _dataset(_called(input_fn, params=params, config=self.config, mode=mode))

            if kind is InputPipelineConfig.PER_SHARD_V1:
                turns = tf.data.Dataset.range(here).repeat()
                data = tf.data.Dataset.choose_from_datasets([made() for _ in range(here)], turns)
            else:
                data = made()
                data = data.map(lambda *batch: _in_parts(batch, here)).unbatch() if split else data
            specs.append(data.element_spec)
            return data

        specs = []
        data = self.strategy.distribute_datasets_from_function(of_host)
        return data, lambda: _placeholders(specs[0])

    def train(self, input_fn, steps=None, max_steps=None, after_save=None):
        """Trains for some steps more, or until there were max_steps; goes on from the last checkpoint.

        Args:
          input_fn: Returns a ``tf.data.Dataset``.
          steps: How many more.
          max_steps: The step to stop at.
          after_save: Called when a checkpoint is written.
        """
        checkpoint = self.latest_checkpoint()
        data, inputs = self._batches(input_fn, ModeKeys.TRAIN)
        model = self._model(ModeKeys.TRAIN, checkpoint, inputs)
        last = max_steps if max_steps is not None else model.step + (steps or sys.maxsize)
        specs = []

        def replica_step(batch):
            spec = model(*_features_and_labels(batch))
            specs.append(spec)
            tensors = spec.host_call[1] if spec.host_call else []
            return tf.cast(spec.loss, tf.float32), tensors

        @tf.function
        def loop(iterator, steps):
            loss = tf.constant(0.0)
            for _ in tf.range(steps):
                losses, tensors = self.strategy.run(replica_step, args=(next(iterator),))
                loss = self.strategy.experimental_local_results(losses)[0]
                if specs[0].host_call:
                    tf.summary.experimental.set_step(model.variables["global_step"])
                    with v1.get_default_graph().name_scope(None):  # the loop's is no part of a summary's tag
                        _with_arguments(specs[0].host_call[0], self._together(tensors))
            return loss

        def save():
            model.save(self.model_dir)
            if after_save is not None:
                after_save()
            return model.step, time.time()

        saved, saved_at = (model.step, time.time()) if checkpoint else save()
        iterator = iter(data)
        while model.step < last:
            steps = min(self.config.tpu_config.iterations_per_loop, last - model.step)
            try:
                loss = loop(iterator, tf.constant(steps))
            except tf.errors.OutOfRangeError:
                break
            v1.logging.info("loss = %s, step = %d", loss.numpy(), model.step)
            every, seconds = self.config.save_checkpoints_steps, self.config.save_checkpoints_secs
            is_due = model.step - saved >= every if every else seconds and time.time() - saved_at >= seconds
            if is_due and model.step < last:
                saved, saved_at = save()
        if model.step != saved:
            save()
        for writer in _WRITERS.values():
            writer.flush()
        return self

    def _together(self, tensors):
        """The values of all replicas, one behind the other."""
        if self.strategy.num_replicas_in_sync == 1:
            return tensors
        return tf.nest.map_structure(
            lambda one: tf.concat(self.strategy.experimental_local_results(one), 0), tensors
        )

    def evaluate(self, input_fn, steps=None, checkpoint_path=None, name=None):
        """The metrics of a checkpoint: those of eval_metrics, and the mean loss of the first replica."""
        data, inputs = self._batches(input_fn, ModeKeys.EVAL)
        model = self._model(ModeKeys.EVAL, checkpoint_path or self.latest_checkpoint(), inputs)

        def replica_step(batch):
            spec = model(*_features_and_labels(batch))
            return spec.loss, spec.eval_metrics[1] if spec.eval_metrics else []

        @tf.function
        def step(batch):
            loss, tensors = self.strategy.run(replica_step, args=(batch,))
            return self.strategy.experimental_local_results(loss)[0], self._together(tensors)

        losses, metrics = [], None
        for batch in data:
            if len(losses) == steps:
                break
            loss, tensors = step(batch)
            losses.append(loss.numpy())
            if model.spec.eval_metrics:
                metrics = metrics or Metrics(model.spec.eval_metrics[0], tensors)
                metrics.update(tensors)
        found = dict(metrics.result() if metrics else {}, loss=np.mean(losses), global_step=model.step)
        with summary_writer(os.path.join(self.model_dir, "eval" + ("_" + name if name else ""))).as_default():
            for key, value in found.items():
                if np.ndim(value) == 0 and key != "global_step":
                    tf.summary.scalar(key, value, step=model.step)
        v1.logging.info("%s", found)
        return found

    def predict(self, input_fn, checkpoint_path=None, yield_single_examples=True):
        """Yields the predictions of a checkpoint for each example, or for each batch."""
        mode, replicas = ModeKeys.PREDICT, self.strategy.num_replicas_in_sync
        size = self._batch_sizes[mode]
        params = self._params(mode, replicas, replicas)
        data = _dataset(_called(input_fn, params=params, config=self.config, mode=mode))
        data = data.unbatch().batch(size) if size else data
        part = size and size // replicas
        spec = tf.nest.map_structure(lambda one: tf.TensorSpec([part, *one.shape[1:]], one.dtype), data.element_spec)

        def inputs():
            return _placeholders(spec)

        model = self._model(mode, checkpoint_path or self.latest_checkpoint(), inputs)

        def replica_step(batch):
            return model(_features_and_labels(batch)[0], None).predictions

        @tf.function
        def step(batch):
            return self._together(self.strategy.run(replica_step, args=(batch,)))

        for batch in data:
            count = len(tf.nest.flatten(batch)[0])
            # The last batch is filled up: a TPU computes in one shape.
            filled = tf.nest.map_structure(
                lambda one, more=(size or count) - count: tf.concat([one, tf.repeat(one[-1:], more, 0)], 0), batch
            )
            found = tf.nest.map_structure(lambda one: one.numpy()[:count], step(self._shared(filled)))
            if not yield_single_examples:
                yield found
            else:
                for index in range(count):
                    yield tf.nest.map_structure(lambda one, at=index: one[at], found)

    def _shared(self, batch):
        """A batch, each replica's part for it."""
        replicas = self.strategy.num_replicas_in_sync
        if replicas == 1:
            return batch
        parts = _in_parts(batch, replicas)
        return self.strategy.experimental_distribute_values_from_function(
            lambda context: tf.nest.map_structure(lambda one: one[context.replica_id_in_sync_group], parts)
        )

    def export_saved_model(self, export_dir_base, serving_input_receiver_fn, checkpoint_path=None):
        """Writes a SavedModel with the predictions' export_outputs as signatures.

        Returns:
          Its folder, below export_dir_base.
        """
        receivers, fetched = [], {}

        def inputs():
            receivers.append(serving_input_receiver_fn())
            return receivers[-1].features, None

        params = self._params(ModeKeys.PREDICT, 1)

        def call(features, labels):
            options = {"labels": labels, "mode": ModeKeys.PREDICT, "params": params, "config": self.config}
            return _called(self._model_fn, features, **options)

        one = tf.distribute.get_strategy()
        model = Model(call, inputs, one, checkpoint_path or self.latest_checkpoint(), self.config)
        graph = v1.wrap_function(lambda: fetched.update(model(*inputs()).export_outputs), [])
        module = tf.Module()
        module.model_variables = list(model.variables.values())
        placeholders = receivers[-1].receiver_tensors
        if not isinstance(placeholders, dict):
            placeholders = {"input": placeholders}
        specs = [tf.TensorSpec(one.shape, one.dtype, name) for name, one in placeholders.items()]

        def signature(outputs):
            pruned = graph.prune(list(placeholders.values()), outputs)
            return tf.function(lambda *given: pruned(*given), specs)

        signatures = {name: signature(outputs) for name, outputs in fetched.items()}
        if len(signatures) == 1:
            signatures["serving_default"] = next(iter(signatures.values()))
        path = os.path.join(export_dir_base, str(int(time.time())))
        tf.saved_model.save(module, path, signatures)
        return path

    def latest_checkpoint(self):
        """The last checkpoint in model_dir, or None."""
        return tf.train.latest_checkpoint(self.model_dir)

    def get_variable_names(self):
        """What the last checkpoint holds."""
        return [name for name, _ in tf.train.list_variables(self.latest_checkpoint())]

    def get_variable_value(self, name):
        """The value of a variable in the last checkpoint."""
        return tf.train.load_variable(self.latest_checkpoint(), name)


class Metrics:
    """The metrics of a metric_fn over all batches: for each a value, and an operation that takes in a batch."""

    def __init__(self, metric_fn, tensors):
        spec = tf.nest.map_structure(lambda one: tf.TensorSpec([None, *one.shape[1:]] if one.shape.rank else [], one.dtype), tensors)
        found, given = {}, []

        def build(*flat):
            given.extend(flat)
            found.update(_with_arguments(metric_fn, tf.nest.pack_sequence_as(spec, flat)))

        graph = v1.wrap_function(build, tf.nest.flatten(spec))
        self._update = graph.prune(given, [update for _, update in found.values()])
        self._result = graph.prune([], {name: value for name, (value, _) in found.items()})

    def update(self, tensors):
        """Takes in a batch."""
        self._update(*tf.nest.flatten(tensors))

    def result(self):
        """Name -> value."""
        return {name: value.numpy() for name, value in self._result().items()}


def PredictOutput(outputs):
    """The outputs of a signature, by name."""
    return outputs if isinstance(outputs, dict) else {"output": outputs}


def _called(function, *args, **options):
    names = inspect.signature(function).parameters
    return function(*args, **{name: value for name, value in options.items() if name in names})


def _with_arguments(function, arguments):
    return function(**arguments) if isinstance(arguments, dict) else function(*arguments)


def _dataset(made):
    if not isinstance(made, tf.data.Dataset):
        raise TypeError("An input_fn has to return a tf.data.Dataset, and no tensors of an iterator.")
    return made


def _features_and_labels(batch):
    return batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)


def _in_parts(batch, count):
    batch = batch[0] if isinstance(batch, tuple) and len(batch) == 1 else batch
    return tf.nest.map_structure(lambda one: tf.stack(tf.split(one, count)), batch)


def _placeholders(spec):
    batch = tf.nest.map_structure(lambda one: v1.placeholder(one.dtype, one.shape), spec)
    return _features_and_labels(batch)
