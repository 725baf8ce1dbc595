"""Modules below ``tensorflow.python`` whose names lie in several others, or in one of another name, today.

``private_moves.py`` has single names, listed from the packages that scripts reached into most. These are the
rest, and modules that are gone as a whole: the old place, where it is still there, then the new ones.
"""

from __future__ import annotations

from tpucompat.names.rows import Gone, Moved, Package, Row, StandIn

_PYTHON = "tensorflow.python."
_DATA = "tpucompat.contrib.data:"
_KERAS_TESTS = "tpucompat.standins.keras_test_util"

#: Module below ``tensorflow.python`` -> where its names are looked up, in turn.
_PLACES = {
    "distribute.all_reduce": "distribute.all_reduce distribute.v1.all_reduce",
    # 2.13 and 2.14 put the functions into distribute_lib; python.training had them up to 1.13.
    "distribute.distribution_strategy_context": (
        "distribute.distribution_strategy_context distribute.distribute_lib"
    ),
    "training.distribute": "distribute.distribute_lib distribute.distribution_strategy_context",
    # 2.3 divided it.
    "distribute.values": "distribute.values distribute.distribute_utils",
    # 2.14 generates it beside the other operations; 1.15's training_ops was all of it.
    "training.training_ops": (
        "training.training_ops ops.gen_training_ops training.gen_training_ops"
    ),
    "training.gen_training_ops": "training.gen_training_ops ops.gen_training_ops",
    # 2.11 (checkpoint) and 2.14 (trackable) took the package apart.
    "training.tracking.base": (
        "training.tracking.base trackable.base trackable.python_state checkpoint.restore"
    ),
    "training.tracking.data_structures": (
        "training.tracking.data_structures trackable.data_structures"
    ),
    "training.tracking.tracking": (
        "training.tracking.tracking training.tracking.autotrackable trackable.autotrackable "
        "trackable.resource trackable.asset"
    ),
    "training.tracking.util": (
        "training.tracking.util checkpoint.checkpoint training.tracking.graph_view"
    ),
}

#: Of these, the modules that have all that scripts took from them in one other place today (2.14 or later).
TODAY = {
    "python." + module: _PYTHON + place
    for module, place in {
        "distribute.all_reduce": "distribute.v1.all_reduce",
        "distribute.distribution_strategy_context": "distribute.distribute_lib",
        "training.gen_training_ops": "ops.gen_training_ops",
        "training.tracking.data_structures": "trackable.data_structures",
        "training.training_ops": "ops.gen_training_ops",
    }.items()
}

ROWS: dict[str, Row] = {
    **{
        "python." + module: Package(tuple(_PYTHON + place for place in places.split()))
        for module, places in _PLACES.items()
    },
    # The helpers of Keras' own tests; 2.9 gave them a folder.
    "python.keras.keras_parameterized": Package(
        (_KERAS_TESTS, "{keras}.testing_infra.test_combinations", "{keras}.keras_parameterized")
    ),
    "python.keras.keras_parameterized.run_all_keras_modes": StandIn(
        _KERAS_TESTS + ":run_all_keras_modes"
    ),
    "python.keras.testing_utils": Package(
        (_KERAS_TESTS, "{keras}.testing_infra.test_utils", "{keras}.testing_utils")
    ),
    "python.keras.model_subclassing_test_util": Package(
        ("{keras}.tests.model_subclassing_test_util", "{keras}.model_subclassing_test_util")
    ),
    "python.keras.mixed_precision.experimental.test_util": Package(
        ("{keras}.mixed_precision.test_util", "{keras}.mixed_precision.experimental.test_util")
    ),
    # The private path had Keras 2.2's optimizers, with arguments, defaults and a decay of their own.
    **{
        "python.keras.optimizers." + name: StandIn("tpucompat.standins.keras_optimizers:" + name)
        for name in ("Adadelta", "Adagrad", "Adam", "Adamax", "Nadam", "RMSprop", "SGD")
    },
    # Those of Keras under a strategy, and the models that both test.
    **{
        "python.distribute." + name: Package("{keras}.distribute." + now)
        for name, now in {
            "model_combinations": "model_combinations",
            "saved_model_test_base": "saved_model_test_base",
            "model_collection.model_collection_base": "model_collection_base",
            "model_collection.simple_models": "simple_models",
        }.items()
    },
    "core.protobuf.config_pb2.RPCOptions": Moved(
        "tensorflow.core.protobuf.rpc_options_pb2:RPCOptions", since="2.14"
    ),
    # 2.4 called it is_nested.
    **{
        module + ".is_sequence": Moved("tensorflow." + module + ":is_nested", since="2.4")
        for module in ("python.util.nest", "python.data.util.nest")
    },
    "python.util.tf_inspect.getfullargspec": StandIn(
        "tpucompat.standins.signatures:getfullargspec"
    ),
    "python.framework.ops.IndexedSlicesValue": Moved(
        _PYTHON + "framework.indexed_slices:IndexedSlicesValue", since="2.4"
    ),
    "python.feature_column.sequence_feature_column.SequenceFeatures": Moved(
        "{tf}:keras.experimental.SequenceFeatures", since="2.2"
    ),
    "python.ops.losses.loss_reduction.ReductionV2": Moved(
        "{keras}.utils.losses_utils:ReductionV2", since="2.2"
    ),
    "python.eager.function.defun": StandIn("tpucompat.contrib.eager:defun"),
    **{
        "python.training.experimental.mixed_precision." + name: Moved(
            "{tf}:mixed_precision." + name
        )
        for name in (
            "disable_mixed_precision_graph_rewrite",
            "enable_mixed_precision_graph_rewrite",
        )
    },
    # 2.2 wrote them anew; tensorflow-probability 0.8 imports them for its auto_batching.
    **{
        "python.autograph." + module: Gone(
            "TPU101",
            ("This private AutoGraph module was replaced by one with a different interface."),
            "Use the public tf.autograph.",
            since="2.2",
        )
        for module in ("core.naming", "pyct.compiler")
    },
    # A pool of threads for a Dataset, before its options had one.
    **{
        module + ".ops.threadpool." + name: StandIn(_DATA + name)
        for module in ("contrib.data.python", "python.data.experimental")
        for name in ("PrivateThreadPool", "override_threadpool")
    },
    **{
        module + ".TF_bfloat16_type": StandIn("tpucompat.standins.tensors:bfloat16_type")
        for module in ("pywrap_tensorflow", "python.pywrap_tensorflow")
    },
    "contrib.rnn.python.ops.lstm_ops._block_lstm": StandIn("tpucompat.contrib.rnn:block_lstm"),
}
