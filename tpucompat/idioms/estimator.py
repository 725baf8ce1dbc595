"""``tf.estimator`` where TensorFlow no longer has it.

TensorFlow 2.16 removed the API. Its last release lives on as the package tensorflow-estimator
2.15.0, which is pure Python but takes four modules from TensorFlow that went with it. Stand-ins for
those are put where the package looks for them; a module that is there is left alone. The attributes
of this module are the packages that the table of old symbols points to:

* ``api``: ``tf.estimator`` as a TensorFlow 1 script sees it; ``api_v2``: as ``tf.compat.v2.estimator``;
* ``package``: ``tensorflow_estimator``;
* ``source``: ``tensorflow_estimator.python.estimator``, which
  ``tensorflow.python.estimator`` re-exported;
* ``keras_lib``: its module that makes an Estimator of a Keras model;
* ``tpu_embedding``: the module of TensorFlow that describes embedding tables to a TPU.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
import threading
import types
from typing import Any, Mapping

from tpucompat.base.errors import GoneError, SetupError
from tpucompat.base.machine import environment
from tpucompat.engines import graph_walk
from tpucompat.idioms.embedding import config as embedding
from tpucompat.tf import patches, private

_API = {
    "api": ("v1", "tensorflow_estimator.python.estimator.api._v1.estimator"),
    "api_v2": ("v2", "tensorflow_estimator.python.estimator.api._v2.estimator"),
}
_SOURCE = "tensorflow_estimator.python.estimator"
_FEEDING = _SOURCE + ".inputs.queues.feeding_functions"

_MODULES = {
    "source": _SOURCE,
    "tpu_embedding": "tensorflow.python.tpu.tpu_embedding",
}

# Of resource variables, and of reference variables.
_READS = ("ReadVariableOp", "Identity")
_WRITES = tuple(f"Assign{kind}{of}" for kind in ("", "Add", "Sub") for of in ("VariableOp", ""))
_REFERENCES = ("Variable", "VariableV2")
# Operations whose output is the memory of their input (kernels/identity_op.h, reshape_op.h).
_SAME_MEMORY = ("Identity", "Reshape", "ExpandDims", "Squeeze", "StopGradient", "PreventGradient")
_lock = threading.RLock()
_prepared = False


def __getattr__(name: str) -> Any:
    """The packages of the module's docstring, imported when first asked for (PEP 562)."""
    if name in _API:
        version, package = _API[name]
        if environment().has("estimator"):
            api = getattr(importlib.import_module("tensorflow").compat, version).estimator
            write_variables_last(api.Estimator)
            export_only_what_is_better(api.BestExporter)
            feed_text_as_objects(importlib.import_module(_FEEDING))
            return api
        return load(package)
    if name == "package":
        load(_SOURCE)
        return sys.modules["tensorflow_estimator"]
    if name == "keras_lib":
        return _load_keras_lib()
    if name in _MODULES:
        return load(_MODULES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _load_keras_lib() -> Any:
    """The module that makes an Estimator of a Keras model; ``keras`` is its name up to 2.4."""
    load(_SOURCE)
    name = next(
        name
        for name in ("keras_lib", "keras")
        if importlib.util.find_spec(f"{_SOURCE}.{name}") is not None
    )
    return load(f"{_SOURCE}.{name}")


def load(name: str) -> Any:
    """Imports a module of tensorflow-estimator.

    Args:
      name: Its full name.

    Raises:
      SetupError: If the package is not installed (TPU405).
    """
    prepare()
    try:
        module = importlib.import_module(name)
        write_variables_last(importlib.import_module(_SOURCE + ".estimator").Estimator)
        export_only_what_is_better(importlib.import_module(_SOURCE + ".exporter").BestExporter)
        feed_text_as_objects(importlib.import_module(_FEEDING))
        return module
    except ModuleNotFoundError as error:
        if error.name != "tensorflow_estimator":
            raise
        repairs = [one.repair for one in environment().problems() if one.code == "TPU405"]
        raise SetupError(
            "TPU405",
            "tf.estimator is used, and the package tensorflow-estimator is not installed.",
            f"Install it: `{repairs[0]}`." if repairs else "",
        ) from error


def prepare() -> None:
    """Puts the stand-ins where tensorflow-estimator looks for them; needed since TensorFlow
    2.16."""
    global _prepared
    with _lock:
        if _prepared or environment().has("estimator"):
            return
        for name, contents in _STAND_INS.items():
            _provide(name, contents)
        _prepared = True


@patches.patch
def write_variables_last(estimator: Any) -> None:
    """Lets the steps of a training read their variables before they write them.

    A program for a TPU takes its variables at its beginning. In a Session the optimizer of
    google-research/bert (and of all who copied it) leaves open whether its learning rate is that of
    this step or of the next one, since nothing orders ``global_step.assign(global_step + 1)`` behind
    the schedule's own reads; and where two optimizers train a model (``tf.group(train_generator,
    train_discriminator)``), the updates of one race with the gradients of the other, which read the same
    reference variables. Reads that wait for something else are left unchanged, and so are the
    steps of several replicas, which the strategy engine orders.

    Args:
      estimator: The class ``tf.estimator.Estimator``; changed once.
    """
    original = estimator._call_model_fn

    @functools.wraps(original)
    def _call_model_fn(
        self: Any, features: Any, labels: Any, mode: str, *args: Any, **kwargs: Any
    ) -> Any:
        spec = original(self, features, labels, mode, *args, **kwargs)
        replicas = getattr(getattr(self, "_ctx", None), "replicas", 1)
        if mode == "train" and replicas == 1 and not self._train_distribution:
            train_op = getattr(spec.train_op, "op", spec.train_op)
            training = graph_walk.needed(train_op)
            _order(
                importlib.import_module("tensorflow").compat.v1.train.get_global_step(), training
            )
            _order_updates(training | graph_walk.needed(spec.loss.op))
        return spec

    patches.replace(estimator, "_call_model_fn", _call_model_fn)


@patches.patch
def export_only_what_is_better(exporter: Any) -> None:
    """Lets a BestExporter that restarts compare with the event files, as up to 1.15.

    tensorflow-estimator 2.15's (``exporter.py``) exports once in each process, however good the result.

    Args:
      exporter: The class ``tf.estimator.BestExporter``; changed once.
    """
    original = exporter.__init__

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if hasattr(self, "_has_exported"):
            self._has_exported = True

    patches.replace(exporter, "__init__", __init__)


@patches.patch
def feed_text_as_objects(feeding: Any) -> None:
    """Lets ``pandas_input_fn`` and ``numpy_input_fn`` take the columns of text of pandas 3.

    Their dtype was ``object`` (3.0 release notes, "Dedicated string data type by default"), and no dtype
    of TensorFlow belongs to ``str``. A migrated script imports pandas itself.

    Args:
      feeding: The module that fills the queues of both.
    """
    original = feeding._enqueue_data

    @functools.wraps(original)
    def _enqueue_data(data: Any, *args: Any, **kwargs: Any) -> Any:
        columns = getattr(data, "dtypes", data)  # of a frame, or of a dictionary of arrays
        if hasattr(columns, "items"):
            types = {name: str(getattr(one, "dtype", one)) for name, one in columns.items()}
            for name in (name for name, dtype in types.items() if dtype in ("str", "string")):
                data[name] = data[name].astype(object)
        return original(data, *args, **kwargs)

    patches.replace(feeding, "_enqueue_data", _enqueue_data)


def _order(step: Any, training: set[Any]) -> None:
    """Lets the writes of a variable wait for its reads, where they belong to the training.

    A Saver that the model function made writes it too, before there is anything to read.
    """
    if step is None:
        return
    users = step.op.outputs[0].consumers()
    reads = [op for op in users if op.type in _READS and not op.control_inputs]
    # The read of a reference variable is the variable's own memory: who uses it reads it. To wait
    # for a user must not take more than the variable.
    own = {op for op in reads if op.type == "Identity"}
    reads += {
        user
        for read in own
        for user in read.outputs[0].consumers()
        if not user.control_inputs
        and user._get_control_flow_context() is None
        # A constant holds what its user waits for: control dependencies go to the innermost operations.
        and all(
            tensor.op in own or (tensor.op.type == "Const" and not tensor.op.control_inputs)
            for tensor in user.inputs
        )
    }
    for write in users:
        if write.type in _WRITES and write in training:
            private.add_control_inputs(write, reads)


def _order_updates(step: set[Any]) -> None:
    """Lets the optimizers' updates of reference variables wait for the step's other reads of them.

    Args:
      step: The operations that run in every step. A read that needs an update itself stays behind it.
    """
    updates = {
        op
        for op in step
        if op.type.startswith(("Apply", "SparseApply")) and op.inputs[0].op.type in _REFERENCES
    }
    late = graph_walk.needing(updates, step)
    for update in updates:
        if private.control_flow_context(update) is None:
            readers = _users_of_memory(update.inputs[0], step) - late
            new = readers - set(update.control_inputs)
            private.add_control_inputs(update, sorted(new, key=lambda op: op.name))


def _users_of_memory(variable: Any, step: set[Any]) -> set[Any]:
    """The operations that compute with a reference variable: its reads hand on its own memory."""
    users: set[Any] = set()
    waiting = [variable]
    while waiting:
        for user in waiting.pop().consumers():
            if user not in step or private.control_flow_context(user) is not None:
                continue
            if user.type in _SAME_MEMORY:
                waiting.append(user.outputs[0])
            else:
                users.add(user)
    return users


def model_to_estimator(
    keras_model: Any = None,
    keras_model_path: Any = None,
    custom_objects: Any = None,
    model_dir: Any = None,
    config: Any = None,
    checkpoint_format: str = "saver",
    metric_names_map: Any = None,
    export_outputs: Any = None,
) -> Any:
    """An Estimator that trains a compiled Keras model, as ``tf.keras.estimator.model_to_estimator``
    made it.

    Args:
      keras_model: A compiled Keras model.
      keras_model_path: Path of a saved one, instead.
      custom_objects: Name -> class, for loading it.
      model_dir: Where the checkpoints go.
      config: A ``tf.estimator.RunConfig``.
      checkpoint_format: "saver" (names, as TensorFlow 1) or "checkpoint" (objects).
      metric_names_map: New names of metrics.
      export_outputs: Export outputs of the Estimator.

    Returns:
      A ``tf.estimator.Estimator``.
    """
    return _load_keras_lib().model_to_estimator(
        keras_model=keras_model,
        keras_model_path=keras_model_path,
        custom_objects=custom_objects,
        model_dir=model_dir,
        config=config,
        checkpoint_format=checkpoint_format,
        use_v2_estimator=False,
        metric_names_map=metric_names_map,
        export_outputs=export_outputs,
    )


# Stand-ins
# ------------------------------------------------------------------------------------------


def _provide(name: str, contents: Mapping[str, Any]) -> None:
    """Makes a module, unless it can be imported."""
    package, _, child = name.rpartition(".")
    if name != _EXPORT:
        try:
            importlib.import_module(name)
            return
        except ImportError:
            pass
    module = types.ModuleType(name, "Stands in for a module that TensorFlow 2.16 removed.")
    module.__dict__.update(contents)
    sys.modules[name] = module
    if package in sys.modules:
        setattr(sys.modules[package], child, module)


class _EstimatorExport:
    """Gives an API name to a symbol; nobody asks for it without the API generator that went with
    it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, symbol: Any) -> Any:
        return symbol

    def export_constant(self, module_name: str, name: str) -> None:
        """Does nothing."""


def _init_run_config(config: Any, tf_config: Mapping[str, Any]) -> None:
    """Sets up a RunConfig that has ``tf.distribute`` strategies.

    Follows ``init_run_config`` of ``tensorflow/python/distribute/estimator_training.py`` in
    TensorFlow 2.15 for one machine; the coordinator that it starts for several is gone.
    """
    wanted = config._experimental_distribute
    for mode in ("train", "eval"):
        theirs = getattr(wanted, mode + "_distribute", None)
        if theirs is None:
            continue
        if getattr(config, f"_{mode}_distribute"):
            raise ValueError(
                f"Either `{mode}_distribute` or `experimental_distribute.{mode}_distribute` can "
                "be set."
            )
        setattr(config, f"_{mode}_distribute", theirs)
    cluster = tf_config.get("cluster", {})
    if config._train_distribute and (
        getattr(wanted, "remote_cluster", None) or (cluster and "master" not in cluster)
    ):
        raise GoneError(
            "TPU320",
            "RunConfig has a train_distribute strategy and a cluster of several machines.",
        )
    config._distribute_coordinator_mode = None
    config._init_distributed_setting_from_environment_var(tf_config)
    config._maybe_overwrite_session_config_for_distributed_training()


def _no_coordinator(config: Any) -> bool:
    """``should_run_distribute_coordinator``: never, see :func:`_init_run_config`."""
    return False


def _nothing(*args: Any, **kwargs: Any) -> None:
    pass


_EXPORT = "tensorflow_estimator.python.estimator.estimator_export"

# Module -> its contents. Read in the sources of TensorFlow 2.15 (which has them) and 2.16 to 2.21.
_STAND_INS: dict[str, dict[str, Any]] = {
    # 2.16: tf_export lost ESTIMATOR_API_NAME, which the package's own module asks for.
    _EXPORT: {"estimator_export": _EstimatorExport},
    "tensorflow.python.distribute.estimator_training": {
        "init_run_config": _init_run_config,
        "should_run_distribute_coordinator": _no_coordinator,
        "train_and_evaluate": _nothing,
        "estimator_train": _nothing,
        "estimator_evaluate": _nothing,
    },
    # Watches and restarts the workers of a TPU node; the stand-in is in
    # idioms/tpu_estimator/stopping.py.
    "tensorflow.python.tpu.session_support": {},
    "tensorflow.python.tpu.tpu_embedding_gradient": {},
    "tensorflow.python.tpu.tpu_embedding": {
        name: getattr(embedding, name) for name in dir(embedding) if name[0].isupper()
    },
}
