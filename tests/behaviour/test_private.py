"""Every private path that tpucompat uses is where ``tpucompat/tf/private`` says."""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import json
import logging
import pkgutil
import sys
import threading
import time
import types

import numpy as np
import pytest
import tensorflow as tf

from tpucompat.base.machine import environment
from tpucompat.engines import session
from tpucompat.tf import patches, private

TF1 = tf.__version__.startswith("1.")
v1 = tf.compat.v1


def _value(tensor):
    with v1.Session() as session:
        return session.run(tensor)


def _call_config():
    with private.eager_mode():
        before = private.call_config(optimized=True)
        plain = private.call_config(optimized=False)
        assert not before.graph_options.rewrite_options.disable_meta_optimizer
        assert plain.graph_options.rewrite_options.disable_meta_optimizer
        with private.functions_called_with(plain):
            assert private.call_config(optimized=True) == plain
        with private.functions_called_with(None):
            assert private.call_config(optimized=True) == before
        assert private.call_config(optimized=True) == before


def _eager_mode():
    with private.eager_mode():
        assert tf.executing_eagerly()
    assert not tf.executing_eagerly()


def _cross_replica_sum():
    with private.tpu_function().tpu_shard_context(2):
        assert private.tpu_function().get_tpu_context().number_of_shards == 2
        found = private.cross_replica_sum(tf.constant([1.0]))
    assert found.op.type == "CrossReplicaSum"


def _xla_replica_id():
    if (environment().release or (0, 0)) < (1, 15):
        pytest.skip("came with 1.15")
    assert private.xla_replica_id().op.type == "XlaReplicaId"


def _plain_function():
    if TF1:
        pytest.skip("needs tf.function")
    with private.eager_mode():
        assert private.plain_function(lambda x: x * 2)(tf.constant(3)).numpy() == 6


def _wrapped_functions():
    if TF1:
        pytest.skip("needs tf.function")
    with private.eager_mode():
        assert private.wrapped_functions(lambda x: x * 2)(tf.constant(3)).numpy() == 6


def _function_library():
    """A function of a graph, known to the runtime and read back as a graph."""
    if TF1:
        pytest.skip("needs tf.function")
    with private.eager_mode():
        concrete = tf.function(lambda x: x + 1).get_concrete_function(tf.TensorSpec([], tf.int32))
    library = concrete.graph.as_graph_def().library
    definition = tf.compat.v1.GraphDef()
    with tf.Graph().as_default() as graph:
        concrete(tf.constant(1))
        library = graph.as_graph_def().library
        private.add_functions(library)
        definition, names = private.function_as_graph(library.function[0])
    assert "AddV2" in [node.op for node in definition.node]
    assert names


def _must_run():
    graph = private.func_graph()("body")
    with graph.as_default():
        operation = tf.no_op()
    private.must_run(operation)
    assert operation in graph.control_outputs


def _control_captures():
    outside = tf.constant(1.0)
    graph = private.func_graph()("body")
    with graph.as_default():
        inner = graph.capture(outside)
    assert inner.graph is graph
    assert list(private.control_captures(graph)) == []


def _per_replica():
    if TF1:
        pytest.skip("the strategy engine needs TensorFlow 2")
    with private.eager_mode():
        strategy = tf.distribute.MirroredStrategy(
            ["/cpu:0", "/cpu:1"], cross_device_ops=tf.distribute.ReductionToOneDevice()
        )
        made = private.per_replica(
            strategy, lambda context: tf.constant(context.replica_id_in_sync_group)
        )
        assert [int(one) for one in strategy.experimental_local_results(made)] == [0, 1]
        ran = private.run_on_replicas(strategy, lambda value: value + 1, (made,))
        assert [int(one) for one in strategy.experimental_local_results(ran)] == [1, 2]
        single = private.one_replica(tf.distribute.get_strategy(), tf.constant(5))
        assert [int(one) for one in single.values] == [5]


def _cross_replica_context():
    if TF1:
        pytest.skip("the strategy engine needs TensorFlow 2")
    assert private.cross_replica_context() is tf.distribute.get_strategy() or (
        private.cross_replica_context() is None
    )
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        assert private.cross_replica_context() is strategy


def _watch_sessions(monkeypatch):
    base = v1.Session.__mro__[1]
    for name in ("_do_run", "_make_callable_from_options", "make_callable", "partial_run_setup"):
        monkeypatch.setattr(base, name, getattr(base, name))
    seen, ended = [], []

    def watcher(session, names):
        seen.append(names)
        return lambda: ended.append(names)

    private.watch_sessions(watcher)
    x = tf.constant(1.0, name="watched")
    fed = v1.placeholder(tf.float32, [], name="fed")
    total = tf.add(x, fed, name="total")
    with v1.Session() as session:
        session.run(x)
        run = session.make_callable(x)
        assert run() == run() == 1.0
        session.make_callable(x.op)()
        assert session.make_callable([x, [x]])() == [1.0, [1.0]]
        assert seen == ended == [{"watched"}] * 5
        assert session.make_callable(total, [fed])(2.0) == 3.0
        assert seen.pop() == ended.pop() == {"total"}
        handle = session.partial_run_setup([x, total], [fed])
        assert seen.pop() == {"watched", "total"}
        assert session.partial_run(handle, x) == 1.0
        assert seen.pop() == ended.pop() == {"watched"}
        assert len(ended) == 5  # the partial run goes on
        assert session.partial_run(handle, total, {fed: 4.0}) == 5.0
        assert seen.pop() == {"total"} == ended.pop(-2)
        assert ended.pop() == {"watched", "total"}
        assert seen == ended == [{"watched"}] * 5
    assert private.session_run_function() == (base, "_do_run")


def _average_masked_losses(monkeypatch):
    import importlib

    root = v1.keras.Model.__module__.rpartition(".engine.")[0]
    try:
        module = importlib.import_module(root + ".utils.losses_utils")
    except ImportError:
        module = None
    if not hasattr(module, "apply_valid_mask"):
        pytest.skip("this Keras divides as TensorFlow 1.15 did")
    monkeypatch.setattr(module, "apply_valid_mask", module.apply_valid_mask)
    private.average_masked_losses_over_all()
    found = module.apply_valid_mask(
        tf.constant([2.0, 4.0]),
        None,
        tf.constant([1.0, 0.0]),
        module.ReductionV2.SUM_OVER_BATCH_SIZE,
    )
    assert _value(found).tolist() == [1.0, 0.0]  # not scaled by 2 / 1


def _normalize_without_masks():
    private.normalize_without_masks()

    class Shifted(v1.layers.BatchNormalization):
        def _moments(self, inputs, reduction_axes, keep_dims):
            mean, variance = super()._moments(inputs, reduction_axes, keep_dims=keep_dims)
            return mean + 1.0, variance

    class Plain(v1.layers.BatchNormalization):
        def _moments(self, *args, **options):
            return super()._moments(*args, **options)

    with v1.Graph().as_default():
        x = v1.constant([[1.0], [3.0]])  # of mean 2 and variance 1
        found = [each(fused=False, epsilon=0.0)(x, training=True) for each in (Shifted, Plain)]
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            values = np.squeeze(session.run(found))
    np.testing.assert_allclose(values, [[-2.0, 0.0], [-1.0, 1.0]], atol=1e-6)
    layers = v1.keras.layers
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 2, 1])
        y = layers.BatchNormalization(epsilon=0.0)(layers.Masking(0.0)(x), training=True)
        session.run(v1.global_variables_initializer())
        found = session.run(y, {x: [[[0.0], [4.0]]]})  # of mean 2 and variance 4
    np.testing.assert_allclose(np.ravel(found), [-1.0, 1.0], atol=1e-6)


def _training_loops():
    private.take_iterators()
    private.give_validation_data()
    x, y = np.ones((4, 2), "float32"), np.ones((4, 1), "float32")
    read = []

    class Reading(v1.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            read.append(self.validation_data and [each.shape for each in self.validation_data])

    with v1.Graph().as_default():
        model = v1.keras.Sequential([v1.keras.layers.Dense(1, input_shape=(2,))])
        model.compile("sgd", "mse")
        batches = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(2)
        iterator = v1.data.make_one_shot_iterator(batches)
        told = {"callbacks": [Reading()], "validation_data": (x, y), "verbose": 0}
        model.fit(iterator, steps_per_epoch=2, verbose=0)
        model.fit(x, y, **told)
        model.fit_generator(((x, y) for _ in range(3)), steps_per_epoch=1, **told)
    assert read == [[(4, 2), (4, 1), (4,)]] * 2


def _sums_of_losses():
    """An evaluation sums losses in float64: 1e8 and 1."""
    before = patches.mark()
    private.sum_losses_in_float64()
    try:
        with tf.Graph().as_default(), v1.Session():
            layer = v1.keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(2,))
            model = v1.keras.Sequential([layer])
            model.compile("sgd", "mse")
            data = np.ones((2, 2), "float32"), np.array([[1e4], [1.0]], "float32")
            assert float(model.evaluate(*data, batch_size=1, verbose=0)) == 50000000.5
    finally:
        patches.undo(before)


def _logs_and_metrics():
    """Logs are numbers of NumPy, and a method of an object is a metric."""
    if tuple(map(int, tf.__version__.split(".")[:2])) < (2, 5):
        pytest.skip("1.15 is the model; 2.5 is the first that has both")
    before = patches.mark()
    private.log_numbers_of_numpy()
    private.measure_by_methods()
    read = []

    class Reading(v1.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            read.append(
                [logs["loss"].item(), logs["spread"].tolist(), logs["loss"].astype("float32")]
            )

        def spread(self, y_true, y_pred):
            return v1.keras.backend.abs(y_true - y_pred)

    with v1.Graph().as_default():
        reading = Reading()
        model = v1.keras.Sequential([v1.keras.layers.Dense(1, input_shape=(2,))])
        model.compile("sgd", "mse", metrics=[reading.spread])
        x, y = np.ones((4, 2), "float32"), np.ones((4, 1), "float32")
        history = model.fit(x, y, verbose=0, callbacks=[reading]).history
    patches.undo(before)
    assert read == [[history["loss"][0], history["spread"][0], np.float32(history["loss"][0])]]
    if tuple(map(int, tf.__version__.split(".")[:2])) >= (2, 8):  # before, Keras' own are of NumPy
        assert json.dumps(history)


def _feed_missing_axes():
    if TF1:
        pytest.skip("1.15 refuses it")
    private.feed_missing_axes()
    steps = v1.keras.layers.Input([3])
    classes = v1.keras.layers.Reshape([3, 4])(v1.keras.layers.Dense(12)(steps))
    model = v1.keras.Model(steps, classes)
    loss = "sparse_categorical_crossentropy"
    model.compile("sgd", loss, metrics=["sparse_categorical_accuracy"])
    x, y = np.ones([8, 3], "float32"), np.zeros([8, 3], "int32")
    data = v1.data.Dataset.from_tensor_slices((x, y)).batch(4)
    accuracy = model.evaluate(data, steps=2, verbose=0)[1]
    predicted = model.predict(x).argmax(-1)
    assert accuracy == np.mean(predicted == y, dtype="float32")


def _silence_deprecations(monkeypatch):
    from tensorflow.python.util import deprecation

    monkeypatch.setattr(deprecation, "_PRINT_DEPRECATION_WARNINGS", True)
    private.silence_deprecations()
    assert deprecation._PRINT_DEPRECATION_WARNINGS is False


def _forget_eager_start(monkeypatch):
    if TF1:
        pytest.skip("TensorFlow 1.x starts in graph mode")
    private.forget_eager_start()
    with tf.Graph().as_default() as graph, tf.init_scope():
        assert v1.get_default_graph() is graph
        assert not tf.executing_eagerly()
    from tensorflow.python.eager import context

    monkeypatch.setattr(context, "default_execution_mode", context.EAGER_MODE)
    with private.func_graph()("f").as_default(), tf.init_scope():
        assert tf.executing_eagerly()
    monkeypatch.undo()
    private.forget_eager_start.__wrapped__()  # again: this thread has noted the start


def _path_functions():
    names = {(function.owner.__name__, function.name) for function in private.path_functions()}
    assert any(name == "ReadFileToString" for _, name in names)
    assert any(name == "EventsWriter" for _, name in names)
    assert any(owner == "CheckpointReader" for owner, _ in names) or TF1


def _op_functions():
    for owner, name in private.graph_op_functions() + private.eager_op_functions():
        assert callable(getattr(owner, name))
    assert private.graph_op_functions()


def _replace_input():
    x, y = tf.constant(1.0), tf.constant(5.0)
    negated = tf.negative(x)
    private.replace_input(negated.op, 0, y)
    assert _value(negated) == -5.0


def _function_graph():
    with v1.Graph().as_default() as graph:
        called = tf.function(lambda x: x + 1.0)(v1.constant(1.0)).op
        while called.type == "Identity":
            called = called.inputs[0].op
        traced = private.function_graph(graph, called.get_attr("f").name)
    assert traced is None or "add" in {each.type.lower()[:3] for each in traced.get_operations()}
    assert traced is not None or tf.__version__.startswith(("1.", "2.0"))


def _converted_by_autograph():
    if not hasattr(tf.distribute.Strategy, "run"):
        pytest.skip("came with 2.2")
    assert private.converted_by_autograph(lambda x: x + 1)(1) == 2


def _left_alone_by_autograph():
    if not hasattr(tf.distribute.Strategy, "run"):
        pytest.skip("came with 2.2")
    from tensorflow.python.autograph.core import ag_ctx

    told = []

    @private.left_alone_by_autograph
    def told_of():
        told.append((ag_ctx.control_status_ctx().status, sys._getframe().f_code.co_filename))

    tf.function(lambda: told_of())()
    # AutoGraph is on for what it calls, and yet this file's own code runs.
    assert told == [(ag_ctx.Status.ENABLED, __file__)]


def _package_left_to_itself():
    if not hasattr(tf.distribute.Strategy, "run"):
        pytest.skip("came with 2.2")
    from tensorflow.python.autograph.core import ag_ctx, config
    from tensorflow.python.autograph.impl import api

    rules = config.CONVERSION_RULES
    module = types.ModuleType("a_package_of_ours.module")
    exec(
        "def refuse():\n    raise ours('as it was')", vars(module)
    )  # such an error becomes another one
    module.ours = type("Ours", (ValueError,), {"__init__": lambda self, text: None})
    sys.modules[module.__name__] = module
    try:
        private.leave_package_to_itself("a_package_of_ours")
        private.leave_package_to_itself("a_package_of_ours")
        assert len(config.CONVERSION_RULES) == len(rules) + 1
        with pytest.raises(module.ours):
            api.tf_convert(module.refuse, ag_ctx.ControlStatusCtx(ag_ctx.Status.ENABLED))()
    finally:
        config.CONVERSION_RULES = rules
        del sys.modules[module.__name__]


def _xla_operations():
    pytest.importorskip("tensorflow.compiler.tf2xla.ops.gen_xla_ops")
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops

    if not hasattr(gen_xla_ops, "xla_custom_call"):
        pytest.skip("came with 2.8")
    with v1.Graph().as_default() as graph:
        value = v1.constant([1, 2], tf.int32)
        called = private.custom_call(value, "a function", "its settings")
        summed = private.all_reduce(value, [[0, 1]])
    assert called.shape == summed.shape == [2] and called.dtype == summed.dtype == tf.int32
    assert {"XlaCustomCall", "XlaAllReduce"} <= {each.type for each in graph.get_operations()}


def _hlo_module():
    pytest.importorskip("tensorflow.compiler.xla.service.hlo_pb2")
    # HloModuleProto{name: "step" entry_computation_id: 3}
    module = private.hlo_module(bytes.fromhex("0a04737465703003"))
    assert (module.name, module.entry_computation_id) == ("step", 3)


def _limit_start_of_peers(monkeypatch):
    from tensorflow.python.eager import context

    told = {}
    start = "configure_coordination_service"
    if hasattr(context.context(), start):
        monkeypatch.setattr(context.context(), start, lambda **options: told.update(options))
    cluster = tf.train.ClusterSpec({"worker": ["a:1", "b:1"]})
    private.limit_start_of_peers(types.SimpleNamespace(cluster_spec=lambda: cluster), 7)
    assert told.get("cluster_register_timeout_in_ms", 7000) == 7000
    assert told or tuple(map(int, tf.__version__.split(".")[:2])) < (2, 15)


def _leave_replica_inputs_untuned(monkeypatch):
    """What is made for the replicas is told not to tune itself."""
    module = importlib.import_module("tensorflow.python.data.ops.multi_device_iterator_ops")
    if not hasattr(module, "OwnedMultiDeviceIterator"):
        pytest.skip("came with 2.1")
    given = []
    kinds = module.MultiDeviceIterator, module.OwnedMultiDeviceIterator
    for kind in kinds:
        monkeypatch.setattr(kind, "__init__", lambda self, dataset=None: given.append(dataset))
    monkeypatch.setattr(module, "_create_device_dataset", lambda dataset: dataset)
    plain = importlib.import_module("tensorflow.python.data.ops.dataset_ops").DatasetV2
    if hasattr(plain, "_apply_debug_options"):
        monkeypatch.setattr(plain, "_apply_debug_options", lambda self: self)
    private.leave_replica_inputs_untuned.__wrapped__()  # noted as applied, it would be taken for that later
    create = module._create_device_dataset
    for kind in kinds:
        kind(None)
        assert given.pop() is None
        kind(tf.data.Dataset.range(3))
    of_a_session = getattr(plain, "_apply_debug_options", create)(tf.data.Dataset.range(3))
    for dataset in (*given, create(tf.data.Dataset.range(3)), of_a_session):
        options = dataset.options()
        tuned = getattr(options, "autotune", options.experimental_optimization)
        assert getattr(tuned, "enabled", getattr(tuned, "autotune", None)) is False
    assert len(given) == 2


def _read_no_element_ahead():
    """Each of three steps finds as many elements drawn as it and those before it have asked for."""
    private.read_no_element_ahead()
    drawn = []

    def draw():
        for number in range(9):
            drawn.append(number)
            yield number

    with v1.Graph().as_default(), v1.Session() as session:
        numbers = v1.data.Dataset.from_generator(draw, tf.int64)
        number = v1.data.make_one_shot_iterator(numbers).get_next()
        for count in range(3):
            assert session.run(number) == count
            time.sleep(0.1)  # what reads ahead has the time for it
            assert len(drawn) == count + 1


def _graphs_as_text(tmp_path):
    with v1.Graph().as_default() as graph:
        v1.constant(0.1, name="tenth")
    path = v1.train.write_graph(graph, str(tmp_path), "graph.pbtxt")
    text = (tmp_path / "graph.pbtxt").read_text()
    assert path == str(tmp_path / "graph.pbtxt") and 'name: "tenth"' in text
    from google.protobuf import text_format

    assert text_format.Parse(text, v1.GraphDef()) == graph.as_graph_def()


def _write_all_h5_files_alike(tmp_path):
    """One weights file by two suffixes; the model that reads it computes what it did before."""
    v1.keras.backend.clear_session()  # Keras of 1.13 keeps the session of an earlier graph.
    model = v1.keras.Sequential([v1.keras.layers.Dense(2, input_shape=(3,))])
    kept = model.get_weights()
    for name in ("x.weights.h5", "x.h5"):
        model.save_weights(str(tmp_path / name))
        model.set_weights([0 * array for array in kept])
        model.load_weights(str(tmp_path / name))
        assert all(map(np.array_equal, model.get_weights(), kept))
    sizes = {(tmp_path / name).stat().st_size for name in ("x.weights.h5", "x.h5")}
    assert len(sizes) == 1


def _name_recurrent_weights_by_layer():
    layers = v1.keras.layers
    lines = layers.Input((4, 3))
    found = []
    for layer in (
        layers.LSTM(2, name="one"),
        layers.Bidirectional(layers.GRU(2, name="way"), name="two"),
        layers.RNN([layers.SimpleRNNCell(2), layers.LSTMCell(2)], name="stack"),
    ):
        layer(lines)
        found += [variable.op.name for variable in layer.weights]
    # As TensorFlow 1.15.5 names them.
    parts = ("kernel", "recurrent_kernel", "bias")
    scopes = ("one", "two/forward_way", "two/backward_way")
    assert found[:9] == [f"{scope}/{part}" for scope in scopes for part in parts]
    assert found[9:] == ["stack/" + part for part in parts] + [f"stack/{part}_1" for part in parts]


def _add_control_inputs():
    first, second = tf.constant(1.0).op, tf.constant(2.0).op
    private.add_control_inputs(second, [first])
    assert list(second.control_inputs) == [first]


def _topology():
    proto = private.topology_proto()()
    assert private.topology_rank() in (3, 4)
    proto.mesh_shape.extend([1] * private.topology_rank())
    proto.num_tasks = proto.num_tpu_devices_per_task = 1
    proto.device_coordinates.extend([0] * private.topology_rank())
    assert private.topology_class()(serialized=proto.SerializeToString()).num_tasks == 1


def _xla_context():
    context = private.XlaContext()
    with context, context:
        operation = tf.constant(1.0).op
    assert operation._get_control_flow_context() is context._context
    assert tf.constant(1.0).op._get_control_flow_context() is None
    x = v1.placeholder_with_default(2.0, [])
    with context:  # gradients of a loop and of a conditional outside of it
        _, y = v1.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x), maximum_iterations=3
        )
        y = v1.cond(y > 0.0, lambda: y * 2.0, lambda: y)
        (gradient,) = v1.gradients(y, x)
    with v1.Session() as session:
        assert session.run(gradient) == 2 * 4 * 2.0**3


def _added_by_layers():
    layers = v1.keras.layers

    class Adding(layers.Layer):
        def call(self, inputs):
            self.add_loss(tf.reduce_mean(inputs))
            self.add_update(v1.assign_add(self.count, 1.0))
            return inputs

        def build(self, input_shape):
            self.count = self.add_weight("count", shape=(), initializer="zeros", trainable=False)

    class Unsorted(v1.keras.Sequential):
        @property
        def submodules(self):  # as that of a model of 1.15 with a dictionary whose keys are layers
            raise TypeError("'<' not supported between instances of 'InputLayer' and 'Model'")

    for kind in (v1.keras.Sequential, Unsorted):
        inner = v1.keras.Sequential([layers.Dense(3, input_shape=(6,)), Adding()])
        model = kind([inner, layers.Dense(2)])
        # The inner model was called once for itself, and once in the other.
        found = [
            ([getattr(one, mark) for one in added], mark)
            for added, mark in private.added_by_layers(model)
        ]
        assert found == [([True] * 2, "_unconditional_loss"), ([True] * 2, "_unconditional_update")]


def _convolutional_masks():
    if not hasattr(tf.distribute.Strategy, "run"):
        pytest.skip("came with 2.2")
    private.forget_masks_of_convolutional_cells()
    private.forget_masks_of_convolutional_cells()
    layer = v1.keras.layers.ConvLSTM2D(1, 2, dropout=0.5, padding="same")
    first, second = (v1.placeholder(tf.float32, [2, 3, 4, 4, 1], name) for name in ("one", "other"))
    layer(first, training=True)
    with v1.Session() as session:
        output = layer(second, training=True)
        session.run(v1.global_variables_initializer())
        session.run(output, {second: np.ones([2, 3, 4, 4, 1])})  # needs no value for the first


def _states_start_at_zero():
    private.start_recurrent_states_at_zero()
    private.start_recurrent_states_at_zero()

    class Cell(v1.keras.layers.SimpleRNNCell):
        def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
            return tf.ones([batch_size if inputs is None else tf.shape(inputs)[0], 3], dtype)

    inputs = tf.zeros([2, 4, 5])
    outputs = [v1.keras.layers.RNN(Cell(3), stateful=kept)(inputs) for kept in (True, False)]
    lstm = v1.keras.layers.LSTM(3, stateful=True)

    def body(number, _):
        return number + 1, tf.reduce_sum(lstm(inputs))  # builds its states within the loop

    looped = tf.while_loop(lambda number, _: number < 2, body, [0, 0.0])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        stateful, stateless = session.run(outputs)
        assert not stateful.any() and stateless.all()
        assert session.run(looped) == (2, 0.0)
    assert [state.shape.as_list() for state in lstm.states] == [[2, 3]] * 2


def _states_dropped_together():
    if not hasattr(tf.distribute.Strategy, "run"):
        pytest.skip("came with 2.2")
    private.drop_states_for_all_gates_together()
    private.drop_states_for_all_gates_together()
    for kind, gates in ((v1.keras.layers.LSTMCell, 4), (v1.keras.layers.GRUCell, 3)):
        for number in (1, 2):
            cell = kind(4, implementation=number, recurrent_dropout=0.5)
            assert cell.get_config()["implementation"] == number
            states = [tf.ones([1, 4])] * (2 if gates == 4 else 1)
            output, _ = cell(tf.ones([1, 3]), states, training=True)
            masks = cell.get_recurrent_dropout_mask_for_cell(states[0], True, count=gates)
            used = [each is not None for each in v1.gradients(output, masks)]
            assert used == [True] + [number == 1] * (gates - 1)


def _open_batches():
    layers = v1.keras.layers
    model = v1.keras.Sequential([layers.Dense(3, batch_input_shape=(4, 6))])
    with private.open_batches():
        assert model.call(layers.Input((6,))).shape.as_list() == [None, 3]
    assert model.inputs[0].shape.as_list() == [4, 6]


def _keras_models():
    (trained,) = private.keras_models(graph=True)
    assert issubclass(v1.keras.Model, trained) or issubclass(trained, v1.keras.Model)
    assert "fit_generator" in trained.__dict__
    assert private.keras_models(graph=False) == (tf.keras.Model,)


def _hdf5_format():
    assert callable(private.hdf5_format().preprocess_weights_for_loading)


def _keras_model_engines():
    engines = private.keras_model_engines()
    release = tuple(map(int, tf.__version__.split(".")[:2]))
    assert len(engines) == (0 if release < (2, 2) else 1 if release < (2, 3) else 2)
    model = v1.keras.Sequential([v1.keras.layers.Dense(1, input_shape=(2,))])
    assert all(isinstance(model, engine) for engine in engines)


def _keras_layer_engines():
    engines = private.keras_layer_engines()
    release = tuple(map(int, tf.__version__.split(".")[:2]))
    assert len(engines) == (release >= (2, 2))
    assert all(isinstance(v1.keras.layers.Dense(1), engine) for engine in engines)
    assert all("add_weight" in vars(engine) for engine in engines)


def _functional_model():
    functional = private.functional_model()
    release = tuple(map(int, tf.__version__.split(".")[:2]))
    assert (functional is None) == (release < (2, 3))
    inputs = v1.keras.Input((2,))
    model = v1.keras.Model(inputs, v1.keras.layers.Dense(1)(inputs))
    assert functional is None or isinstance(model, functional)


def _first_keras_optimizers():
    first = private.first_keras_optimizers()
    assert issubclass(first.Adam, first.Optimizer) and callable(first.Optimizer.get_updates)
    assert private.is_of_keras(first.Adam) and private.is_of_keras(v1.keras.optimizers.Adam)
    assert not private.is_of_keras(dict)


def _monitoring():
    assert hasattr(private.monitoring(), "BoolGauge")


def _small_modules():
    assert private.nest().flatten_up_to([0, 0], [1, [2]]) == [1, [2]]
    assert callable(private.load_and_remap_matrix_initializer())
    assert callable(private.tpu_ops().infeed_dequeue_tuple)
    assert inspect.isclass(private.tpu_feed().InfeedQueue)
    assert callable(private.training_loop().repeat)
    assert hasattr(private.summary_ops_v2(), "create_file_writer")
    assert callable(private.lookup_ops().index_table_from_file)
    assert inspect.isclass(private.data_flow_ops().Barrier)
    assert callable(private.test_util().run_in_graph_and_eager_modes)
    assert inspect.isclass(private.cluster_resolver_class())
    assert isinstance(private.gpus(), list)
    assert issubclass(v1.Session, private.session_interface())
    assert private.op_def("MatMul").name == "MatMul"
    assert private.op_def("NoSuchOperation") is None
    assert callable(private.saved_model_loader().get_meta_graph_def_from_tags)
    assert type(private.default_session_config()).__name__ == "ConfigProto"
    assert callable(private.plain_variable_class()._init_from_args)
    assert private.smart_cond(True, lambda: 1, lambda: 2) == 1
    assert private.tf_inspect().getfullargspec(lambda a, b=1: a).args == ["a", "b"]


def _trackables():
    assert private.trackable_module().VARIABLE_VALUE_KEY == "VARIABLE_VALUE"
    assert issubclass(private.data_structures().List, private.trackable_class())


def _keras_test_modules():
    utilities, decorators = private.keras_test_modules()
    with utilities.run_eagerly_scope(True):
        assert utilities.should_run_eagerly() is tf.executing_eagerly()
    assert callable(decorators._test_or_class_decorator)


def _inputs_of_updates():
    private.take_inputs_of_updates()
    private.take_inputs_of_updates()

    class Counting(v1.keras.layers.Layer):
        def build(self, input_shape):
            self.seen = self.add_weight("seen", (), initializer="zeros", trainable=False)
            super().build(input_shape)

        def call(self, inputs):
            self.add_update([v1.assign_add(self.seen, 1.0)], inputs)
            self.add_loss(v1.reduce_sum(inputs), inputs)
            return inputs

    with v1.Graph().as_default():
        layer = Counting()
        layer(v1.keras.layers.Input((2,)))
        assert [len(layer.updates), len(layer.losses)] == [1, 1]


def _names_of_losses():
    private.name_losses_like_tensorflow_1()
    for name in ("kullback_leibler_divergence", "logcosh", "cosine_proximity"):
        assert v1.keras.metrics.get(name).__name__ == name


def _eager_keys():
    private.make_eager_tensors_hashable()
    private.make_eager_tensors_hashable()
    with private.eager_mode():
        one, other = tf.constant(1), tf.constant(1)
        assert {one: "a", other: "b"}[one] == "a"


def _static_value():
    assert np.array_equal(private.static_value(tf.constant([1, 2])), [1, 2])
    assert private.static_value(v1.placeholder(tf.int32)) is None


def _graph_collections():
    v1.add_to_collection("own", 1)
    assert private.graph_collections(v1.get_default_graph())["own"] == [1]


def _track_tf_optimizer():
    with v1.Graph().as_default():
        keras = private.keras_source()
        optimizers = importlib.import_module(keras + ".optimizers")
        backend = importlib.import_module(keras + ".backend")
        optimizer = optimizers.TFOptimizer(v1.train.AdagradOptimizer(0.1))
        private.track_tf_optimizer(optimizer)
        private.track_tf_optimizer(v1.keras.optimizers.SGD())  # left alone
        tracked = backend._GRAPH_TF_OPTIMIZERS[v1.get_default_graph()]
        assert list(tracked) == [optimizer]


def _resource_variables():
    private.count_resource_variables_as_variables()
    made = [
        v1.get_variable("a", [2]),
        v1.Variable(1.0),
        v1.Variable(v1.zeros([2]), trainable=False),
    ]
    assert all(isinstance(variable, v1.Variable) for variable in made)
    assert not isinstance(v1.zeros([2]), v1.Variable)


def _gradients_that_leave_loops():
    private.let_gradients_leave_loops()
    private.let_gradients_leave_loops()
    with v1.Graph().as_default(), v1.Session() as session:
        start = v1.placeholder("float32", [])
        loop = v1.while_loop(lambda n, y: n < 3, lambda n, y: (n + 1, y * start), [0, start])
        with v1.control_dependencies([v1.add(start, 1.0)]):
            (slope,) = v1.gradients(loop[1], [start], gate_gradients=True)
        assert session.run(slope, {start: 2.0}) == 4 * 2.0**3


def _gradients_of_sums_over_any_axes():
    private.sum_over_axes_of_any_type()
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder("float32", [None, 2])
        (slope,) = v1.gradients(v1.reduce_sum(x * x, np.arange(1, 2)), [x])
        assert session.run(slope, {x: [[1.0, 2.0]]}).tolist() == [[2.0, 4.0]]


def _gradients_and_loops():
    seen = []

    def noted(function):
        def gradient(operation, *gradients):
            seen.append((operation.type, private.is_in_loop(operation)))
            return function(operation, *gradients)

        gradient.original = function
        return gradient

    private.replace_gradients({"Tanh": noted, "NoSuchOperation": noted})
    try:
        with v1.Graph().as_default():
            x = v1.placeholder("float32")
            steps = v1.while_loop(lambda n, y: n < 3, lambda n, y: (n + 1, v1.tanh(y)), [0, x])
            v1.gradients(v1.tanh(steps[1]), [x])
    finally:
        private.replace_gradients({"Tanh": lambda function: function.original})
    assert seen == [("Tanh", False), ("Tanh", True)]


def _zero_state():
    with v1.Graph().as_default(), v1.Session() as session:
        batch = v1.placeholder("int32", [])
        zeros = private.zero_state(v1.TensorShape([3]), batch, v1.float64)
        assert zeros.shape.as_list() == [None, 3]
        assert session.run(zeros, {batch: 2}).tolist() == [[0.0] * 3] * 2
        assert private.zero_state(v1.TensorShape([]), 2, v1.int32).shape.as_list() == [2]


def _function_of_a_dataset():
    seen = []

    def traced(one):
        seen.append(private.is_function_of_a_dataset(v1.get_default_graph()))
        return one

    with v1.Graph().as_default() as graph:
        numbers = tf.data.Dataset.range(2).map(traced).filter(lambda one: traced(one) < 1)
        numbers.flat_map(lambda one: tf.data.Dataset.from_tensors(traced(one)))
        assert seen == [True] * 3 and not private.is_function_of_a_dataset(graph)
        if hasattr(tf, "function"):
            tf.function(traced)(tf.constant(1))
            assert seen.pop() is False


def _computes_with_onednn():
    # conftest.py has asked for exact mode before TensorFlow was loaded.
    assert private.computes_with_onednn() is False


def _checked_image():
    with v1.Graph().as_default() as graph:
        image = v1.placeholder("float32")
        assert private.checked_image(image) is not image
        assert "Assert" in {each.type for each in graph.get_operations()}


def _seeds():
    with v1.Graph().as_default() as graph:
        v1.set_random_seed(5)
        assert private.random_seed().get_seed(None) == (5, 0)
        v1.random_normal([2])
        assert private.random_seed().get_seed(None)[0] == 5
        product = v1.einsum("ij,jk->ik", v1.ones([2, 3]), v1.ones([3, 4]))
        assert product.shape == (2, 4)
        assert "Einsum" not in {each.type for each in graph.get_operations()}
        assert not private.is_for_xla()
        with private.XlaContext():
            assert private.is_for_xla() or (environment().release or (0, 0)) < (2, 5)
            assert private.operations_of_weights(1.0, v1.ones([2, 3])) == 6
        original = private.einsum_of_matrices(lambda *args: "the other")
        assert original("ii->i", v1.ones([2, 2])) == "the other"
    for name in ("repeat_dataset", "shuffle_dataset", "concatenate_dataset"):
        assert callable(getattr(private.dataset_operations(), name))
    from tensorflow.python.ops import nn_impl

    def noted(function):
        @functools.wraps(function)
        def call(*args, **options):
            calls.append(1)
            return function(*args, **options)

        return call

    calls = []
    place = "tensorflow.python.ops.nn_impl"
    before = nn_impl.l2_normalize
    private.replace_functions({f"{place}:l2_normalize": noted, f"{place}:nothing": noted})
    with v1.Graph().as_default():
        v1.nn.l2_normalize([1.0], 0)
        nn_impl.l2_normalize([1.0], 0)
    assert len(calls) == 2
    private.replace_functions({f"{place}:l2_normalize": lambda function: before})


def _gated_gradients():
    # Idempotent. What it is told is counted: "gradients" in seed_cases.py.
    private.gate_gradients(session._not_made_then)
    private.gate_gradients(session._not_made_then)
    with v1.Graph().as_default() as graph:
        v1.get_variable_scope().set_use_resource(False)
        lower = v1.get_variable("lower", initializer=v1.ones([2, 2]))
        upper = v1.get_variable("upper", initializer=v1.ones([2, 2]))
        of_upper, of_lower = v1.gradients(
            v1.matmul(v1.matmul([[1.0, 2.0]], lower), upper), [upper, lower], None, "steep"
        )
    assert {lower.op.type, upper.op.type} == {"VariableV2"}
    # Nobody can write `upper` before the gradient of what is below has read it.
    for gradient in (of_upper, of_lower):
        (gate,) = gradient.op.control_inputs
        assert [op.type for op in gate.control_inputs] == ["MatMul", "MatMul"]
    with v1.Graph().as_default() as graph:  # what has a value of its own needs no gate
        copied = v1.get_variable("copied", initializer=v1.ones([2, 2]), use_resource=True)
        v1.gradients(v1.matmul([[1.0, 2.0]], copied), [copied])
        assert not [op for op in graph.get_operations() if "tuple" in op.name]


def _true_variables():
    private.let_graph_variables_be_true()
    private.let_graph_variables_be_true()
    average = v1.train.ExponentialMovingAverage(0.5)
    variable = v1.get_variable("true", [], initializer=v1.zeros_initializer(), use_resource=True)
    average.apply([variable])

    def averaged(getter, *args, **options):
        return average.average(getter(*args, **options)) or 0

    with v1.variable_scope("", reuse=True, custom_getter=averaged):
        assert v1.get_variable("true", []) is average.average(variable)
    with private.eager_mode():  # there is a value to ask for
        assert [bool(tf.Variable(value)) for value in (0.0, 2.0)] == [False, True]


def _whole_dimensions():
    if TF1:
        pytest.skip("1.15 takes whole numbers itself, and says another thing of the rest")
    private.accept_whole_numbers_as_dimensions()
    private.accept_whole_numbers_as_dimensions()
    assert v1.get_variable("whole", [8 / 2, np.float32(3)]).shape.as_list() == [4, 3]
    assert v1.placeholder(tf.float32, [None, 6 / 3]).shape.as_list() == [None, 2]
    assert v1.zeros([4 / 2, 3]).shape.as_list() == [2, 3]
    for value, error in ((2.5, ValueError), (float("nan"), ValueError), (-1.0, ValueError)):
        with pytest.raises(error, match="Ambiguous dimension|>= 0"):
            tf.TensorShape([value])
    with pytest.raises(TypeError):
        tf.TensorShape([tf.float32])


def _verify_watchers(monkeypatch):
    assert all(
        hasattr(module, "sparse_softmax_cross_entropy_with_logits")
        for module in private.loss_modules()
        if module.__name__.rpartition(".")[2] in ("nn", "nn_ops")
    )
    assert all(callable(module.dropout) for module in (tf.nn, v1.nn))
    assert {tf.nn, v1.nn} <= set(private.dropout_modules())
    assert all(callable(module.gradients) for module in private.gradient_modules())
    if hasattr(tf.compat, "v2"):  # which Keras 2 imports
        assert tf.compat.v2.nn in private.loss_modules()
        old = getattr(getattr(tf.compat.v2, "compat", None), "v1", None)  # 1.14 has compat alone
        assert old is None or old in private.gradient_modules()
    assert not private.may_record_gradients()
    with tf.GradientTape():
        assert private.may_record_gradients()
    from tensorflow.python.client.session import BaseSession

    monkeypatch.setattr(BaseSession, "close", BaseSession.close)
    closing, order = [], []
    private.before_sessions_close(closing.append)
    private.before_sessions_close(lambda session: order.append("before"))
    private.after_sessions_close(
        lambda session: order.append("after")
    )  # in whatever order they come
    private.before_sessions_close(lambda session: order.append("before"))
    with v1.Session() as session:
        assert closing == []
    assert closing == [session]
    assert order == ["before", "before", "after"]
    session.close()
    assert closing.pop() is session and not closing
    del session  # while the methods that it closes itself with are still in place


def _complete_api():
    private.complete_api()
    assert v1.nest.flatten([1, [2]]) == [1, 2]
    assert v1.raw_ops.AddV2 and v1.raw_ops.ReadVariableOp
    own = private.RawOperations("raw_ops")  # what 1.13 gets, in whose place others have their own
    with v1.Session() as session:
        assert session.run(own.AddV2(x=1.0, y=2.0)) == 3.0
    assert not hasattr(own, "NoSuchOperation")


def _complete_variables():
    private.complete_resource_variables()
    variable = v1.get_variable("whole", [], initializer=v1.ones_initializer(), use_resource=True)
    assert isinstance(variable, private.resource_variable_class()) and variable._ref() is variable
    assert private.control_flow_context(variable.op) is None
    with v1.control_dependencies([v1.assign(variable, 5.0)]):
        initial = variable.initialized_value()
    with v1.Session() as session:
        assert session.run(initial) == 1.0  # which is not assigned for it
        variable.load(2.0)
        assert session.run(variable) == 2.0
    with pytest.raises(ValueError):
        variable.load(2.0)
    if not tf.__version__.startswith("1."):
        _load_into_replicas()
    with private.eager_mode():
        eager = tf.Variable(0.0)
        eager.load(3.0)
        assert eager.numpy() == 3.0


def _load_into_replicas():
    with v1.Graph().as_default() as graph:
        with v1.distribute.MirroredStrategy(["/cpu:0"]).scope():
            shared = v1.get_variable("shared", [])
        graph.finalize()  # as a hook finds it, which loads the steps of a run
        with v1.Session(graph=graph) as session:
            shared.load(4.0, session)
            assert session.run("shared/Read/ReadVariableOp:0") == 4.0


def _session_conversions():
    class Pair:
        def __init__(self, *tensors):
            self.tensors = tensors

    def fetch(pair):
        return list(pair.tensors), tuple

    def feed(pair, value=(None, None)):
        return list(zip(pair.tensors, value))

    private.convert_in_sessions(Pair, fetch, feed)
    pair = Pair(v1.placeholder(tf.float32, []), v1.placeholder(tf.float32, []))
    with v1.Session() as session:
        assert session.run(pair, {pair: (1.0, 2.0)}) == (1.0, 2.0)


def _inputs_of_imports(monkeypatch):
    from tensorflow.python.framework import importer

    for name in ("import_graph_def", "_import_graph_def_internal"):
        if hasattr(importer, name):
            monkeypatch.setattr(importer, name, getattr(importer, name))
    with tf.Graph().as_default() as graph:
        tf.identity(v1.placeholder(tf.float32, [], name="x"), name="y")
    graph_def, one, two = graph.as_graph_def(), tf.constant(1.0), tf.constant(2.0)
    asked = []

    def change(what, input_map):
        asked.append([node.name for node in what.node])
        return dict.fromkeys(input_map, two)

    private.change_inputs_of_imports(change)
    [y] = importer.import_graph_def(graph_def, {"x:0": one}, ["y:0"])
    importer.import_graph_def(graph_def, name="without")
    assert asked == [["x", "y"]] and y.op.inputs[0] is two


def _sizes_of_specs():
    private.give_specs_their_sizes()
    assert tf.TensorSpec([2, None], tf.float32)._shape_tuple == (2, None)


# The names of tpucompat.tf.private that each check covers.
def _rehearsal(monkeypatch):
    """TensorFlow's TPUStrategy over two cores that are not there: a variable, a number, a sum."""
    if not environment().has("rehearsal"):
        pytest.skip("needs TensorFlow 2.15")
    from tensorflow.python.distribute import tpu_strategy

    from tpucompat.engines import rehearsal

    monkeypatch.setattr(tpu_strategy, "tpu", tpu_strategy.tpu)
    with private.eager_mode():
        strategy = rehearsal.strategy_over(2)
        with strategy.scope():
            variable = tf.Variable(5.0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)

        def step():
            context = tf.distribute.get_replica_context()
            core = tf.cast(context.replica_id_in_sync_group, tf.float32)
            variable.assign_add(core + 1.0)  # that of the first core is taken
            return context.all_reduce(tf.distribute.ReduceOp.SUM, core + 1.0)

        sums = tf.function(lambda: strategy.run(step), autograph=False)()
        values = strategy.experimental_local_results
        assert [float(each) for each in values(sums)] == [3.0, 3.0]
        assert [float(each) for each in values(variable)] == [6.0, 6.0]
    assert strategy.cluster_resolver.get_tpu_system_metadata().num_cores == 2


def _graphs_on_their_way(monkeypatch):
    base = v1.Session.__mro__[1]
    monkeypatch.setattr(base, "_extend_graph", base._extend_graph)
    seen = []

    def watcher(session, operations):
        seen.append((session, [operation.name for operation in operations]))
        for operation in operations:
            private.place(operation, "")

    private.before_graphs_are_sent(watcher)
    with tf.Graph().as_default(), tf.device("/device:TPU:0"):
        one = tf.constant(1.0, name="one")
        with v1.Session() as session:
            assert session.run(one) == session.run(one) == 1.0
            two = tf.add(one, 1.0, name="two")
            assert session.make_callable(two, [one])(2.0) == 3.0
        with v1.Session() as other:
            assert other.run(two) == 2.0
    assert [names for _, names in seen] == [["one"], ["two/y", "two"], ["one", "two/y", "two"]]
    assert [one for one, _ in seen] == [session, session, other] and not two.op.device


def _convolutions_of_no_examples():
    before = patches.mark()
    private.shape_convolutions_of_no_examples()
    with v1.Graph().as_default(), v1.Session() as session:
        pictures = v1.placeholder(tf.float32, [None, 4, 4, 1])
        result = tf.nn.conv2d(pictures, tf.ones([3, 3, 1, 2]), [1, 1, 1, 1], "VALID")
        assert result.op.type == (
            "Reshape" if (environment().release or (2, 5)) >= (2, 5) else "Conv2D"
        )
        for examples in (0, 3):
            found = session.run(result, {pictures: np.ones([examples, 4, 4, 1])})
            assert found.shape == (examples, 2, 2, 2) and (found == 9).all()
    patches.undo(before)


def _step_without_masks():
    before = patches.mark()
    private.step_without_masks()
    layers = v1.keras.layers
    with v1.Graph().as_default(), v1.Session() as session:
        steps = v1.constant([[[1.0], [0.0], [2.0]]])  # of a known batch
        mask = v1.constant([[True, False, True]])
        wrapped = layers.TimeDistributed(
            type("Own", (layers.Layer,), {"call": lambda _, x: x + 1})()
        )
        values = session.run(wrapped(steps, mask=mask))
        found = layers.TimeDistributed(layers.Conv1D(1, 1)).compute_mask(
            v1.zeros([1, 3, 2, 1]), mask
        )
    assert values.ravel().tolist() == [2.0, 1.0, 3.0]  # of 1.15.5; the loop repeats 2.0 at a mask
    assert found is mask
    patches.undo(before)


def _read_updated_metrics():
    before = patches.mark()
    private.read_updated_metrics()
    with v1.Graph().as_default(), v1.Session() as session:
        metric = v1.keras.metrics.MeanIoU(2)
        update = metric.update_state([0, 1, 1], [0, 1, 0])
        session.run(v1.variables_initializer(metric.variables))
        found = [session.run(update).tolist() for _ in range(2)]
    assert found == [[[1, 0], [1, 1]], [[2, 0], [2, 2]]]
    patches.undo(before)


def _custom_objects():
    before = patches.mark()
    private.share_custom_objects()
    found = []
    with v1.keras.utils.CustomObjectScope({"one": len}):
        private.custom_objects()["two"] = max
        asked = threading.Thread(
            target=lambda: found.append(v1.keras.utils.deserialize_keras_object("one", {}))
        )
        asked.start()
        asked.join()
        assert {"one", "two"} <= set(private.custom_objects())
    assert found == [len]
    assert not {"one", "two"} & set(private.custom_objects())
    patches.undo(before)


def _look_at_the_nearest_threshold():
    before = patches.mark()
    private.look_at_the_nearest_threshold()
    found, metrics = [], v1.keras.metrics
    with v1.Graph().as_default(), v1.Session() as session:
        for make in (metrics.SensitivityAtSpecificity, metrics.SpecificityAtSensitivity):
            metric = make(0.6, num_thresholds=4)
            update = metric.update_state([0, 0, 1, 1, 1], [0.1, 0.5, 0.2, 0.4, 0.9])
            session.run(v1.variables_initializer(metric.variables))
            session.run(update)
            found.append(float(session.run(metric.result())))
    assert found == pytest.approx([2.0 / 3.0, 0.5])  # of 1.15.5
    patches.undo(before)


def _name_layers_by_their_classes():
    before = patches.mark()
    private.name_layers_by_their_classes()
    layers = v1.keras.layers
    own = type("FC1", (layers.Layer,), {})
    hidden = type("_Hidden2", (layers.Layer,), {})
    with v1.Graph().as_default():
        made = [layers.ConvLSTM2D(2, 2), layers.Conv2DTranspose(2, 2), own(), hidden()]
        names = [each.name for each in made]
    # Of 1.15.5
    assert names == ["conv_lst_m2d", "conv2d_transpose", "f_c1", "private__hidden2"]
    patches.undo(before)


def _activate_selu_by_elu():
    before = patches.mark()
    private.activate_selu_by_elu()
    with v1.Graph().as_default(), v1.Session() as session:
        x = tf.constant([0.0, -0.0, 2.0, -2.5])
        for function in (v1.keras.activations.selu, v1.keras.activations.get("selu")):
            y = function(x)
            found = session.run([y, v1.gradients(y, x)[0]])
            assert found[0].tolist() == pytest.approx([0.0, 0.0, 2.101402, -1.6137857])
            # Of 1.15.5; tf.nn.selu has 1.050701 at zero, there too.
            assert found[1].tolist() == pytest.approx([1.7580993, 1.7580993, 1.050701, 0.1443136])
    assert v1.keras.activations.serialize(function) == "selu"
    patches.undo(before)


def _refuse_other_shapes(tmp_path):
    before = patches.mark()
    private.refuse_other_shapes()
    path = str(tmp_path / "model")

    def act(shapes, what):
        with v1.Graph().as_default(), v1.Session() as session:
            for name, shape in shapes.items():
                v1.get_variable(name, shape, initializer=v1.ones_initializer(), use_resource=True)
            session.run(v1.global_variables_initializer())
            saver = v1.train.Saver()
            return saver.save(session, path) if what == "save" else saver.restore(session, path)

    act({"w": [4, 8], "b": [8]}, "save")
    act({"w": [4, 8]}, "restore")
    with pytest.raises(v1.errors.InvalidArgumentError) as caught:
        act({"w": [4, 12], "b": [8]}, "restore")
    assert "w has the shape [4, 8] in" in caught.value.message
    assert caught.value.message.endswith("and [4, 12] in the graph.")
    patches.undo(before)


def _threshold_within_wrappers():
    before = patches.mark()
    private.threshold_within_wrappers()
    layers = v1.keras.layers
    with v1.Graph().as_default(), v1.Session() as session:
        steps = v1.placeholder(tf.float32, [None, 2, 3])
        result = layers.TimeDistributed(layers.ThresholdedReLU(theta=1.0))(steps)
        found = session.run(result, {steps: [[[0.5, 1.0, 1.5], [2.0, -2.0, 0.0]]]})
    assert found.tolist() == [[[0.0, 0.0, 1.5], [2.0, 0.0, 0.0]]]
    patches.undo(before)


def _is_seeded_by_keras(monkeypatch):
    assert not private.is_seeded_by_keras()
    if (environment().release or (2, 10)) >= (2, 10):
        backend = importlib.import_module(private.keras_source() + ".backend")
        monkeypatch.setattr(backend._SEED_GENERATOR, "generator", "a generator", raising=False)
        assert private.is_seeded_by_keras()


CHECKS = {
    _is_seeded_by_keras: ["is_seeded_by_keras"],
    _complete_api: ["complete_api", "RawOperations"],
    _complete_variables: [
        "complete_resource_variables",
        "control_flow_context",
        "resource_variable_class",
    ],
    _session_conversions: ["convert_in_sessions"],
    _inputs_of_imports: ["change_inputs_of_imports"],
    _sizes_of_specs: ["give_specs_their_sizes"],
    _call_config: ["call_config", "functions_called_with"],
    _eager_mode: ["eager_mode"],
    _cross_replica_sum: ["cross_replica_sum", "tpu_function"],
    _xla_replica_id: ["xla_replica_id"],
    _plain_function: ["plain_function"],
    _wrapped_functions: ["wrapped_functions"],
    _function_library: ["add_functions", "function_as_graph"],
    _must_run: ["must_run", "func_graph"],
    _control_captures: ["control_captures"],
    _per_replica: ["per_replica", "one_replica", "run_on_replicas"],
    _cross_replica_context: ["cross_replica_context"],
    _graphs_on_their_way: ["before_graphs_are_sent", "place"],
    _watch_sessions: ["watch_sessions", "_between", "_names_of", "session_run_function"],
    _average_masked_losses: ["average_masked_losses_over_all"],
    _normalize_without_masks: ["normalize_without_masks"],
    _feed_missing_axes: ["feed_missing_axes"],
    _training_loops: [
        "take_iterators",
        "give_validation_data",
        "_announcing",
        "_arrays",
        "_as_list",
        "_engine_module",
        "_is_pair",
        "_listed",
        "_of_tensors",
    ],
    _logs_and_metrics: ["log_numbers_of_numpy", "measure_by_methods"],
    _sums_of_losses: ["sum_losses_in_float64"],
    _silence_deprecations: ["silence_deprecations"],
    _forget_eager_start: ["forget_eager_start"],
    _path_functions: ["path_functions", "PathFunction"],
    _op_functions: ["graph_op_functions", "eager_op_functions"],
    _replace_input: ["replace_input"],
    _add_control_inputs: ["add_control_inputs"],
    _function_graph: ["function_graph"],
    _converted_by_autograph: ["converted_by_autograph"],
    _left_alone_by_autograph: ["left_alone_by_autograph"],
    _package_left_to_itself: ["leave_package_to_itself"],
    _xla_operations: ["custom_call", "all_reduce"],
    _hlo_module: ["hlo_module"],
    _limit_start_of_peers: ["limit_start_of_peers"],
    _graphs_as_text: ["write_graphs_with_any_protobuf"],
    _write_all_h5_files_alike: ["write_all_h5_files_alike", "_by_suffix"],
    _name_recurrent_weights_by_layer: ["name_recurrent_weights_by_layer"],
    _read_no_element_ahead: ["read_no_element_ahead"],
    _leave_replica_inputs_untuned: ["leave_replica_inputs_untuned", "_with_dataset"],
    _topology: ["device_assignment", "topology_class", "topology_proto", "topology_rank"],
    _xla_context: ["XlaContext", "_xla_control_flow_context"],
    _added_by_layers: ["added_by_layers", "_layers_below"],
    _convolutional_masks: ["forget_masks_of_convolutional_cells"],
    _states_start_at_zero: ["start_recurrent_states_at_zero"],
    _states_dropped_together: [
        "drop_states_for_all_gates_together",
        "_as_asked_for",
        "_with_one_mask",
    ],
    _open_batches: ["open_batches"],
    _keras_models: ["keras_models"],
    _keras_model_engines: ["keras_model_engines"],
    _keras_layer_engines: ["keras_layer_engines"],
    _functional_model: ["functional_model"],
    _first_keras_optimizers: ["first_keras_optimizers", "is_of_keras"],
    _hdf5_format: ["hdf5_format"],
    _track_tf_optimizer: ["track_tf_optimizer", "keras_source"],
    _resource_variables: [
        "count_resource_variables_as_variables",
        "_registered_variables",
        "_register_variables",
    ],
    _gated_gradients: ["gate_gradients", "_variables_of", "_is_reference"],
    _gradients_that_leave_loops: ["let_gradients_leave_loops"],
    _gradients_of_sums_over_any_axes: ["sum_over_axes_of_any_type"],
    _gradients_and_loops: ["replace_gradients", "is_in_loop"],
    _zero_state: ["zero_state"],
    _checked_image: ["checked_image"],
    _threshold_within_wrappers: ["threshold_within_wrappers"],
    _step_without_masks: ["step_without_masks"],
    _read_updated_metrics: ["read_updated_metrics"],
    _custom_objects: ["_object_registration", "custom_objects", "share_custom_objects"],
    _look_at_the_nearest_threshold: ["look_at_the_nearest_threshold"],
    _name_layers_by_their_classes: ["name_layers_by_their_classes"],
    _activate_selu_by_elu: ["activate_selu_by_elu"],
    _refuse_other_shapes: ["refuse_other_shapes", "_other_shapes"],
    _convolutions_of_no_examples: ["shape_convolutions_of_no_examples"],
    _function_of_a_dataset: ["is_function_of_a_dataset"],
    _computes_with_onednn: ["computes_with_onednn"],
    _seeds: [
        "random_seed",
        "replace_functions",
        "einsum_of_matrices",
        "dataset_operations",
        "is_for_xla",
        "operations_of_weights",
    ],
    _true_variables: ["let_graph_variables_be_true"],
    _eager_keys: ["make_eager_tensors_hashable"],
    _names_of_losses: ["name_losses_like_tensorflow_1"],
    _inputs_of_updates: ["take_inputs_of_updates", "_without_inputs"],
    _trackables: [
        "data_structures",
        "trackable_class",
        "trackable_module",
    ],
    _keras_test_modules: ["keras_test_modules"],
    _whole_dimensions: ["accept_whole_numbers_as_dimensions"],
    _monitoring: ["monitoring"],
    _small_modules: [
        "cluster_resolver_class",
        "data_flow_ops",
        "default_session_config",
        "gpus",
        "load_and_remap_matrix_initializer",
        "lookup_ops",
        "nest",
        "op_def",
        "plain_variable_class",
        "saved_model_loader",
        "session_interface",
        "smart_cond",
        "summary_ops_v2",
        "test_util",
        "tf_inspect",
        "tpu_feed",
        "tpu_ops",
        "training_loop",
    ],
    _static_value: ["static_value"],
    _rehearsal: [
        "function_def",
        "handle_like",
        "inside_program",
        "is_ordered",
        "ordered_program",
        "program_context",
        "replicate_by",
        "system_metadata",
        "unpacked_tpu_strategy",
    ],
    _graph_collections: ["graph_collections"],
    _verify_watchers: [
        "loss_modules",
        "dropout_modules",
        "gradient_modules",
        "may_record_gradients",
        "after_sessions_close",
        "before_sessions_close",
    ],
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.strip("_"))
def test_is_where_it_was_seen(check, monkeypatch, tmp_path):
    given = {"monkeypatch": monkeypatch, "tmp_path": tmp_path}
    check(**{name: given[name] for name in inspect.signature(check).parameters})


def test_every_function_has_a_check():
    rooms = [
        importlib.import_module(f"{private.__name__}.{found.name}")
        for found in pkgutil.iter_modules(private.__path__)
    ]
    defined = {
        name
        for room in rooms
        for name, value in vars(room).items()
        if getattr(value, "__module__", "") == room.__name__ and not inspect.ismodule(value)
    }
    assert defined == {name for names in CHECKS.values() for name in names}


def test_tensorflow_does_not_miss_a_check_that_only_counts():
    said = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    log = logging.getLogger("tensorflow")
    log.addHandler(handler)
    try:
        with v1.Graph().as_default():
            weights = v1.placeholder("float32", [None])
            assert private.operations_of_weights(weights, v1.placeholder("float32", [None])) > 6
        gc.collect()  # which is when it would
    finally:
        log.removeHandler(handler)
    assert not [text for text in said if "never used" in text]
