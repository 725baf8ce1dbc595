"""Every public symbol of TensorFlow 1.15 is something that works, or an error with a code."""

from __future__ import annotations

import collections
import importlib
import time
import types

import numpy as np
import pytest
import tensorflow as tf

from tpucompat.base.codes import CODES
from tpucompat.base.errors import TPUCompatError
from tpucompat.commands.migrate import symbols as migrated_symbols
from tpucompat.names import symbols
from tpucompat.names.tables import private_moves
from tpucompat.runtime import legacy_modules, namespace

pytestmark = pytest.mark.skipif(
    tf.__version__.startswith("1."), reason="TensorFlow 1.x answers by itself"
)

# Private parts that modules of 1.15 happened to show; nothing can be said of them one by one.
WITHOUT_A_REASON = (
    "contrib.framework.python.framework.experimental",
    "contrib.slim.make_all",
    "contrib.slim.queues.contextmanager",
)


@pytest.fixture(scope="module")
def found():
    """What stands for each symbol: its value, or the coded error that looking it up raised."""
    values = {}
    for symbol in symbols.names():
        path, _, name = symbol.rpartition(".")
        try:
            values[symbol] = namespace.V1.find(path, name)
        except TPUCompatError as error:  # a package that has to be installed
            values[symbol] = error
    return values


def test_no_symbol_is_missing(found):
    assert [symbol for symbol, value in found.items() if value is legacy_modules.MISSING] == []


def test_every_symbol_is_of_its_kind(found):
    """A function or class can be called, and a module is one; values are of many kinds."""
    wrong = [
        symbol
        for symbol, value in found.items()
        if not isinstance(value, TPUCompatError)
        and not {
            "function": callable,
            "class": callable,
            "module": lambda it: isinstance(it, (types.ModuleType, legacy_modules.Vanished)),
            "value": lambda it: True,
        }[symbols.kind(symbol)](value)
    ]
    assert wrong == []


def test_what_is_gone_says_why_and_what_to_do(found):
    silent, errors = [], collections.Counter()
    for symbol, value in found.items():
        if isinstance(value, legacy_modules.Vanished):
            with pytest.raises(TPUCompatError) as caught:
                value()
            value = caught.value
            assert symbol.rpartition(".")[2] in value.cause
        if isinstance(value, TPUCompatError):
            errors[value.code] += 1
            if value.code not in CODES or not value.next_step or "no counterpart" in value.cause:
                silent.append(symbol)
    assert [symbol for symbol in silent if symbol not in WITHOUT_A_REASON] == []
    assert set(errors) <= {"TPU101", "TPU110"}
    assert sum(errors.values()) < len(found) * 0.17  # the rest works


def test_private_names_that_moved_are_found():
    for symbol in private_moves.ROWS:
        path, _, name = symbol.rpartition(".")
        value = namespace.V1.find(path, name)
        assert callable(value) and not isinstance(value, legacy_modules.Vanished), symbol
    # One that is gone from its module in every release that has none of tf.estimator.
    variable_scope = importlib.import_module("tpucompat.v1.python.ops.variable_scope")
    made = variable_scope.variable(1.0, trainable=False, use_resource=True, name="made")
    assert made.op.name == "made" and made.dtype.base_dtype == tf.float32
    assert variable_scope.get_variable is tf.compat.v1.get_variable


def test_types_of_a_script_may_pass_for_tensors():
    ops = importlib.import_module("tpucompat.v1.python.framework.ops")

    class Handle:
        name, dtype = property(lambda self: "h"), property(lambda self: tf.float32)

    def convert(handle, dtype=None, name=None, as_ref=False):
        return tf.compat.v1.constant([1.0, 2.0])

    ops.register_tensor_conversion_function(Handle, convert)
    ops.register_dense_tensor_like_type(Handle)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert session.run(tf.reduce_sum(Handle()) + Handle()).tolist() == [4.0, 5.0]
    with pytest.raises(TypeError, match="`name` property"):
        ops.register_dense_tensor_like_type(int)


def test_integers_of_an_example_may_be_truth_values_of_numpy():
    train = importlib.import_module("tpucompat.v1").train
    for value in (np.array([True, False]), [np.bool_(True), np.int64(0)], iter([True, False])):
        made = train.Int64List(value=value)
        assert list(made.value) == [1, 0] and isinstance(made, train.Int64List)
    assert train.Int64List.FromString(made.SerializeToString()) == made
    assert not train.Int64List().value
    with pytest.raises(TypeError):
        train.Int64List(value=["1"])


def test_what_copies_of_tpu_estimator_import():
    from_old = importlib.import_module
    result = from_old("tpucompat.v1.contrib.tpu.proto").compilation_result_pb2
    assert not result.CompilationResultProto().status_error_message
    summaries = from_old("tpucompat.v1.python.ops.summary_ops_v2")
    resource = tf.raw_ops.SummaryWriter()
    assert summaries.flush(writer=resource).type == "FlushSummaryWriter"
    assert summaries.all_summary_ops is tf.compat.v1.summary.all_v2_summary_ops


def test_estimators_are_found_by_compat_v2():
    """As ``import tensorflow.compat.v2 as tf`` of 2019 found them, and TensorFlow 2.16 does not."""
    root = importlib.import_module("tpucompat.v1")
    v2 = importlib.import_module("tpucompat.v1.compat.v2")
    assert v2 is root.compat.v2 is v2.compat.v2 and v2.compat.v1 is root
    assert v2.estimator.ModeKeys.TRAIN == "train"
    assert v2.estimator.Estimator.__name__ == "EstimatorV2"
    assert v2.compat.v1.estimator.tpu.TPUEstimator is root.estimator.tpu.TPUEstimator
    assert v2.distribute.cluster_resolver.TPUClusterResolver is (
        root.distribute.cluster_resolver.TPUClusterResolver
    )
    assert v2.io.FixedLenFeature is tf.compat.v2.io.FixedLenFeature
    assert v2.constant is tf.constant
    assert importlib.import_module("tpucompat.v1.compat.v2.keras.layers").Dense is (
        root.compat.v2.keras.layers.Dense
    )


def test_names_that_1_15_had_lost_itself():
    data = importlib.import_module("tpucompat.v1.contrib.data")
    batching = importlib.import_module("tpucompat.v1.contrib.data.python.ops.batching")
    profiler = importlib.import_module("tpucompat.v1.python.eager.profiler")
    cudnn = importlib.import_module("tpucompat.v1.contrib.cudnn_rnn.python.ops.cudnn_rnn_ops")
    assert callable(profiler.start_profiler_server)
    assert cudnn.CUDNN_RNN_BIDIRECTION == "bidirectional"
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        pairs = data.Dataset.zip((data.Dataset.range(10), data.Dataset.range(10)))
        full = pairs.batch(4).apply(batching.filter_irregular_batches(4))
        first, second = tf.compat.v1.data.make_one_shot_iterator(full).get_next()
        assert first.shape == second.shape == (4,)
        assert [session.run([first, second])[1].tolist() for _ in range(2)] == [
            [0, 1, 2, 3],
            [4, 5, 6, 7],
        ]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(first)


def test_names_of_modules_that_were_taken_apart_are_found():
    """What scripts took from private modules that are gone, and what is in them now."""
    for module, names in {
        "distribute.distribution_strategy_context": "get_strategy get_replica_context has_strategy",
        "training.distribute": "get_strategy",
        "distribute.values": "PerReplica regroup select_replica",
        "distribute.strategy_combinations": "one_device_strategy adagrad_optimizer_v1_fn",
        "training.training_ops": "apply_adam resource_apply_adam",
        "training.gen_training_ops": "sparse_apply_adagrad",
        "training.experimental.mixed_precision": "enable_mixed_precision_graph_rewrite",
        "training.tracking.tracking": "AutoTrackable TrackableResource",
        "training.tracking.util": "Checkpoint list_objects",
        "eager.function": "defun",
        "tpu.tpu_strategy_util": "initialize_tpu_system shutdown_tpu_system",
    }.items():
        for name in names.split():
            value = namespace.V1.find("python." + module, name)
            assert value is not legacy_modules.MISSING, (module, name)
            assert not isinstance(value, legacy_modules.Vanished), (module, name)
    base = importlib.import_module("tpucompat.v1.python.training.tracking.base")
    assert base.VARIABLE_VALUE_KEY == "VARIABLE_VALUE"
    native = importlib.import_module("tpucompat.v1.python.pywrap_tensorflow")
    assert native.TF_bfloat16_type() is tf.bfloat16.as_numpy_dtype
    options = namespace.V1.find("core.protobuf.config_pb2", "RPCOptions")(
        use_rpc_for_inprocess_master=True
    )
    assert tf.compat.v1.ConfigProto(rpc_options=options).rpc_options == options


def test_a_dataset_takes_a_pool_of_threads():
    threadpool = importlib.import_module("tpucompat.v1.contrib.data.python.ops.threadpool")
    pool = threadpool.PrivateThreadPool(3, display_name="decoding")
    made = threadpool.override_threadpool(tf.data.Dataset.range(4).map(lambda n: n * n), pool)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        made = threadpool.override_threadpool(tf.data.Dataset.range(3), pool)
        following = tf.compat.v1.data.make_one_shot_iterator(made).get_next()
        assert [session.run(following) for _ in range(3)] == [0, 1, 2]
    options = made.options()
    threading = getattr(options, "threading", None) or options.experimental_threading
    assert threading.private_threadpool_size == 3 and threading.max_intra_op_parallelism == 1


def test_a_dataset_calls_python_for_one_element_at_a_time():
    py_func = importlib.import_module("tpucompat.v1").py_func
    order, busy = [], []

    def call(number):
        busy.append(number)
        time.sleep(0.002)
        alone = busy == [number]
        busy.remove(number)
        order.append((int(number), alone))
        return number

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        numbers = tf.data.Dataset.range(100)
        called = numbers.map(lambda number: py_func(call, [number], tf.int64, stateful=False))
        following = tf.compat.v1.data.make_one_shot_iterator(called).get_next()
        assert [session.run(following) for _ in range(100)] == list(range(100))
        # Outside of functions the script's word holds: TensorFlow may leave out what nobody asks for.
        assert py_func(call, [1], tf.int64, stateful=False).op.type == "PyFuncStateless"
    assert order[:100] == [(number, True) for number in range(100)]


@pytest.mark.parametrize(
    "path, name, since", [("core", "naming", (2, 3)), ("pyct", "compiler", (2, 2))]
)
def test_modules_of_autograph_that_are_gone_can_be_imported(path, name, since):
    """TensorFlow Probability 0.8 imports them, and uses them in its auto_batching alone."""
    gone = namespace.V1.find("python.autograph." + path, name)
    if tuple(map(int, tf.__version__.split(".")[:2])) < since:
        assert isinstance(gone, types.ModuleType)
        return
    with pytest.raises(TPUCompatError, match="TPU101"):
        gone.anything()


@pytest.mark.skipif(
    tuple(map(int, tf.__version__.split(".")[:2])) < (2, 15), reason="migrate writes for today"
)
def test_modules_that_are_attributes_alone_cannot_be_imported():
    paths = ("distribute.cluster_resolver", "distribute.coordinator", "nn", "io.gfile", "data")
    alone = [path for path in paths if not _is_module("tensorflow." + path)]
    assert alone == ["distribute.cluster_resolver", "distribute.coordinator"]
    assert {f"tf.{path}." for path in alone} <= {*migrated_symbols.ATTRIBUTES_ALONE}


def _is_module(name):
    try:
        return bool(importlib.import_module(name))
    except ImportError:
        return False
