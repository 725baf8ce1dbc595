"""Keras 2: as TensorFlow has it, or in the package tf_keras."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import inspect
from typing import Any, Callable, ContextManager, Iterator, cast

import tensorflow as tf
import tensorflow.compat.v1 as v1

from tpucompat.tf import patches
from tpucompat.tf.private.functions import left_alone_by_autograph


def keras_source() -> str:
    """The package with the source of Keras 2: ``tf_keras.src``, ``keras.src``, ``tensorflow.python.keras``."""
    root: list[str] = tf.compat.v1.keras.Model.__module__.split(".")
    depth = root.index("src") + 1 if "src" in root else root.index("keras") + 1
    return ".".join(root[:depth])


def is_seeded_by_keras() -> bool:
    """Whether ``tf.keras.utils.set_random_seed`` has set what initializers draw their seeds from.

    Seen as ``backend._SEED_GENERATOR`` in 2.10 to 2.15 (bundled Keras) and in tf-keras 2.16 to 2.21.
    """
    backend = importlib.import_module(keras_source() + ".backend")
    return bool(getattr(getattr(backend, "_SEED_GENERATOR", None), "generator", None))


def is_of_keras(cls: type) -> bool:
    """Whether Keras 2 itself, or this package in its name, defines a class."""
    return f"{cls.__module__}.".startswith((keras_source() + ".", "tpucompat."))


def keras_models(graph: bool) -> tuple[type, ...]:
    """Keras' model classes whose methods train, in graph mode or eagerly.

    Seen as ``engine.training_v1.Model`` in 2.2 to 2.15 (bundled Keras) and in tf-keras 2.16 to 2.21; before
    2.2 the one class ``Model`` serves both modes.
    """
    public = tf.compat.v1.keras.Model if graph else tf.keras.Model
    if not graph:
        return (public,)
    root = public.__module__.rpartition(".")[0]
    try:
        graph_engine = importlib.import_module(root + ".training_v1")
    except ImportError:
        return (public,)
    return (graph_engine.Model,)


def keras_model_engines() -> tuple[type, ...]:
    """The classes beside ``Model`` that a model is an instance of: of graph mode, and of connected layers.

    Seen as ``engine.training_v1.Model`` and ``engine.functional.Functional`` in 2.2 (``functional`` in 2.3) to
    2.15 and in tf-keras 2.16 to 2.21; before that ``Model`` is all of them.
    """
    root = tf.compat.v1.keras.Model.__module__.rpartition(".")[0]
    found = []
    for module, name in (("training_v1", "Model"), ("functional", "Functional")):
        with contextlib.suppress(ImportError):
            found.append(getattr(importlib.import_module(f"{root}.{module}"), name))
    return tuple(found)


def keras_layer_engines() -> tuple[type, ...]:
    """The classes beside ``Layer`` that a layer is an instance of: that of graph mode.

    Seen as ``engine.base_layer_v1.Layer`` in 2.2 to 2.15 and in tf-keras 2.16 to 2.21; before that ``Layer`` is
    all of them.
    """
    try:
        return (importlib.import_module(keras_source() + ".engine.base_layer_v1").Layer,)
    except ImportError:
        return ()


def functional_model() -> Any:
    """The class of models made of layers, where Keras has one beside ``Model``; None before.

    Seen as ``engine.functional.Functional`` in 2.3 to 2.15 and in tf-keras 2.16 to 2.21.
    """
    root = tf.compat.v1.keras.Model.__module__.rpartition(".")[0]
    try:
        return importlib.import_module(root + ".functional").Functional
    except ImportError:
        return None


def first_keras_optimizers() -> Any:
    """The module with Keras' optimizers of the first kind, whose ``get_updates`` makes a list of updates.

    Seen as ``optimizers`` in 1.13 to 2.2, as ``optimizer_v1`` in 2.3 to 2.8, and as ``optimizers.optimizer_v1``
    from Keras 2.9 to tf-keras 2.21.
    """
    for name in ("optimizers.optimizer_v1", "optimizer_v1", "optimizers"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(f"{keras_source()}.{name}")
    raise ImportError("Keras has no module with its first optimizers")


def track_tf_optimizer(optimizer: Any) -> None:
    """Lets Keras' session initialise the slots of a ``TFOptimizer`` that a script made itself.

    Keras does so for those that it makes from a ``tf.train.Optimizer``. Seen in 1.13 to 2.15 (bundled Keras)
    and in tf-keras 2.16 to 2.21 as ``backend.track_tf_optimizer`` beside ``optimizers.TFOptimizer``.

    Args:
      optimizer: Any optimizer of the graph world's Keras.
    """
    optimizers = importlib.import_module(keras_source() + ".optimizers")
    if isinstance(optimizer, optimizers.TFOptimizer):
        importlib.import_module(keras_source() + ".backend").track_tf_optimizer(optimizer)


def hdf5_format() -> Any:
    """The module that writes and reads weights in the groups of an HDF5 file.

    Seen as ``saving.hdf5_format`` in 1.15 and to 2.11, as ``saving.legacy.hdf5_format`` in 2.15 (bundled Keras)
    and in tf-keras 2.16 to 2.21.
    """
    try:
        return importlib.import_module(keras_source() + ".saving.legacy.hdf5_format")
    except ImportError:
        return importlib.import_module(keras_source() + ".saving.hdf5_format")


@contextlib.contextmanager
def open_batches() -> Iterator[None]:
    """A context in which a model's layers are called without the batch size of its Input layers.

    When a model is called in a graph, its ``_conform_to_reference_input`` gives the tensor the static shape
    of the model's own input, batch size included. Seen in 2.2 in ``engine.network``, in 2.4 to 2.11 in
    ``engine.functional``; 2.1 does so in the middle of a longer method, 2.0 and 2.15 to 2.21 do not.
    """
    for name in ("functional:Functional", "network:Network"):
        module, _, attribute = name.partition(":")
        try:
            base: Any = getattr(
                importlib.import_module(f"{keras_source()}.engine.{module}"), attribute
            )
            conform = base._conform_to_reference_input
            break
        except (ImportError, AttributeError):
            continue
    else:
        yield
        return

    @functools.wraps(conform)
    def with_open_batch(self: Any, tensor: Any, ref_input: Any) -> Any:
        if tensor.shape.rank and tensor.shape.as_list()[0] is None and ref_input.shape.rank:
            shape = [None, *ref_input.shape.as_list()[1:]]
            ref_input = tf.TensorSpec(shape, ref_input.dtype)
        return conform(self, tensor, ref_input)

    base._conform_to_reference_input = with_open_batch
    try:
        yield
    finally:
        base._conform_to_reference_input = conform


def added_by_layers(model: Any) -> Iterator[tuple[list[Any], str]]:
    """The losses and updates that a model's layers have added, which ``losses`` and ``updates`` copy.

    Seen in 1.14 to 2.1 in ``engine.base_layer`` and in 2.2 to 2.21 in ``engine.base_layer_v1``.

    Args:
      model: A model of the graph world.

    Yields:
      A list with tensors and operations, and the attribute that says of each whether it belongs to no inputs.
    """
    for layer in (model, *_layers_below(model)):
        for name, mark in (
            ("_losses", "_unconditional_loss"),
            ("_updates", "_unconditional_update"),
        ):
            added = getattr(layer, name, None)
            if added and not any(map(callable, added)):
                yield added, mark


def _layers_below(model: Any) -> list[Any]:
    """A model's layers, with those inside them.

    1.14 and 1.15 look for ``submodules`` in all attributes, and fail to sort one whose keys are layers.
    """
    try:
        return list(getattr(model, "submodules", model.layers))
    except TypeError:
        found: dict[int, Any] = {}
        waiting: list[Any] = [model]
        while waiting:
            above: Any = waiting.pop()
            inside: Any = getattr(above, "_layers", None) or getattr(above, "layers", ())
            new = [one for one in inside if id(one) not in found]
            found.update((id(one), one) for one in new)
            waiting += new
        return list(found.values())


@patches.patch
def average_masked_losses_over_all() -> None:
    """Lets Keras divide the loss of a masked sequence by all its steps again, as TensorFlow 1.15 did.

    Since Keras 2.10 it divides by the steps that are not masked. Seen as ``losses_utils.apply_valid_mask`` in
    ``keras.src.utils`` of 2.15 and ``tf_keras.src.utils`` of 2.16 to 2.21.
    """
    root = tf.compat.v1.keras.Model.__module__.rpartition(".engine.")[0]
    try:
        module: Any = importlib.import_module(root + ".utils.losses_utils")
    except ImportError:
        return
    if hasattr(module, "apply_valid_mask"):
        patches.replace(
            module,
            "apply_valid_mask",
            lambda losses, sw, mask, reduction: module.apply_mask(losses, sw, mask),
        )


@patches.patch
def normalize_without_masks() -> None:
    """Lets BatchNormalization take all steps into its statistics, and subclasses define ``_moments`` as ever.

    Up to 1.15 Keras passes a mask on without looking at it, and asks for no more than ``_moments(inputs,
    reduction_axes, keep_dims)``, where models average over the cores of a TPU
    (``tensorflow/python/keras/layers/normalization.py``). ``layers.normalization.batch_normalization`` leaves
    masked steps out, and gives ``_moments`` a ``mask``; seen in Keras 2.15 and tf-keras 2.16 to 2.21.
    """
    try:
        path = keras_source() + ".layers.normalization.batch_normalization"
        base: Any = importlib.import_module(path).BatchNormalizationBase
    except (ImportError, AttributeError):
        return

    def without_mask(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def moments(*args: Any, mask: Any = None, **options: Any) -> Any:
            return method(*args, **options)

        return moments

    def adapt(cls: Any, **options: Any) -> None:
        super(base, cls).__init_subclass__(**options)
        for name in ("_moments", "_calculate_mean_and_var"):
            method = vars(cls).get(name)
            if not inspect.isfunction(method):
                continue
            parameters = inspect.signature(method).parameters
            if "mask" not in parameters and all(
                each.kind is not each.VAR_KEYWORD for each in parameters.values()
            ):
                setattr(cls, name, without_mask(method))

    patches.replace(base, "__init_subclass__", classmethod(cast(Any, adapt)))
    call = base.call
    if "mask" not in inspect.signature(call).parameters:
        return

    @functools.wraps(call)
    def over_all_steps(self: Any, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        return call(self, inputs, training)

    patches.replace(base, "call", left_alone_by_autograph(over_all_steps))


@patches.patch
def name_layers_by_their_classes() -> None:
    """Makes a layer's name of its class as 1.15: ``ConvLSTM2D`` is ``conv_lst_m2d``, ``FC1`` is ``f_c1``.

    Checkpoints have these names. ``to_snake_case`` counts digits to the words there, and in the Keras that
    TensorFlow keeps for itself, seen in 2.15, 2.16 and 2.21. Keras 2.15 and tf-keras 2.16 to 2.21 do not.
    """
    source = keras_source()
    in_words = importlib.import_module("tensorflow.python.keras.utils.generic_utils").to_snake_case
    for path in ("utils.generic_utils", "engine.base_layer", "engine.base_layer_v1"):
        # 2.2 is the first with base_layer_v1.
        if importlib.util.find_spec(f"{source}.{path}"):
            module = importlib.import_module(f"{source}.{path}")
            if hasattr(module, "to_snake_case"):
                patches.replace(module, "to_snake_case", in_words)


@patches.patch
def threshold_within_wrappers() -> None:
    """Lets a ThresholdedReLU stand in a wrapper (TimeDistributed).

    A wrapper builds its layer by itself, and a layer of graph mode that has no weights does not know its dtype
    then, to which ``ThresholdedReLU.call`` casts the comparison: seen in 2.4 to 2.15 (bundled Keras) and in
    tf-keras 2.16 to 2.21. Up to 2.3 it casts to ``floatx``.
    """

    def call(self: Any, inputs: Any) -> Any:
        return inputs * tf.cast(tf.greater(inputs, self.theta), inputs.dtype)

    patches.replace(v1.keras.layers.ThresholdedReLU, "call", call)


@patches.patch
def activate_selu_by_elu() -> None:
    """Computes Keras' ``selu`` of an ``elu``, as 1.15 (``tensorflow/python/keras/activations.py``).

    At zero, of which masked and padded inputs are full, that has the slope of negative numbers. ``tf.nn.selu``,
    of which later Keras computes it, has the slope of positive ones.
    """
    module = importlib.import_module(keras_source() + ".activations")
    alpha, scale = 1.6732632423543772, 1.0507009873554805

    @functools.wraps(module.selu)
    def selu(x: Any) -> Any:
        values = tf.nn.elu(x)
        return scale * v1.where_v2(x > 0, values, alpha * values)

    for owner in (module, v1.keras.activations):
        patches.replace(owner, "selu", selu)


@patches.patch
def feed_missing_axes() -> None:
    """Lets a target without its last axis be fed where the graph takes that axis off again.

    A TPU's models were built for the targets of the data set; others make placeholders with the rank of the
    outputs, and the metric of a sequence of classes squeezes [samples, steps] as [samples, steps, 1]. Tensors
    are fed in ``GraphExecutionFunction._make_callable``, seen in 1.13 (``Function``) to 2.15 (bundled Keras)
    and in tf-keras 2.16 to 2.21.
    """
    backend = importlib.import_module(keras_source() + ".backend")
    function: Any = getattr(backend, "GraphExecutionFunction", None) or backend.Function
    make = function._make_callable

    def is_squeezed(tensor: Any) -> bool:
        last = tensor.shape.ndims - 1
        for user in tensor.consumers():
            if user.type == "Squeeze":
                axes = user.get_attr("squeeze_dims")
                if -1 in axes or last in axes:
                    return True
            elif user.type in ("Cast", "Identity") and is_squeezed(user.outputs[0]):
                return True
        return False

    def fitted(placeholder: Any, value: Any) -> Any:
        ranks = placeholder.shape.ndims, value.shape.ndims
        if None in ranks or ranks[0] != ranks[1] + 1 or not is_squeezed(placeholder):
            return value
        with value.graph.as_default():
            return v1.expand_dims(value, -1)

    @functools.wraps(make)
    def make_callable(
        self: Any, feed_arrays: Any, feed_symbols: Any, symbol_vals: Any, session: Any
    ) -> None:
        fed = [fitted(*pair) for pair in zip(feed_symbols, symbol_vals)]
        make(self, feed_arrays, feed_symbols, fed, session)
        self._symbol_vals = symbol_vals  # which it compares with those of the next call

    patches.replace(function, "_make_callable", make_callable)


@patches.patch
def write_all_h5_files_alike() -> None:
    """Lets models of the graph world write and read ``x.weights.h5`` as every other ``.h5`` file.

    Since Keras 2.12 that suffix means another format (``saving_api.py``), which takes values eagerly:
    saving fails in a graph, and loading makes assignments that nobody runs. Seen in Keras 2.12 to 2.15 and
    tf-keras 2.16 to 2.21 as ``saving.legacy.save``; earlier ones know one format, 2.11 with a module of that
    name which has other functions.
    """
    try:
        legacy = importlib.import_module(keras_source() + ".saving.legacy.save")
    except ImportError:
        return
    if not hasattr(legacy, "save_weights"):
        return
    for model in keras_models(graph=True):
        for name in ("save_weights", "load_weights"):
            own, plain = getattr(model, name), getattr(legacy, name)
            patches.replace(model, name, _by_suffix(".weights.h5", plain, own))


def _by_suffix(suffix: str, chosen: Any, others: Any) -> Any:
    @functools.wraps(others)
    def call(self: Any, filepath: Any, *args: Any, **kwargs: Any) -> Any:
        function = chosen if str(filepath).endswith(suffix) else others
        return function(self, filepath, *args, **kwargs)

    return call


@patches.patch
def name_recurrent_weights_by_layer() -> None:
    """Lets a recurrent layer's weights be ``lstm/kernel`` again, as in checkpoints of TensorFlow 1.15.

    Since 2.2 the scope of the cell lies between: ``lstm/lstm_cell/kernel``. ``RNN.build`` and
    ``StackedRNNCells.build`` ask Keras' backend for it, and their modules ask it for no other scope: seen as
    ``layers.recurrent`` in 2.2 to 2.8, and as ``layers.rnn.base_rnn`` and ``stacked_rnn_cells`` in Keras 2.9
    to 2.15 and tf-keras 2.16 to 2.21.
    """

    class Backend:
        """Keras' backend, whose name scopes are those that one is in."""

        def __init__(self, module: Any) -> None:
            self._module = module

        def __getattr__(self, name: str) -> Any:
            return getattr(self._module, name)

        @staticmethod
        def name_scope(name: str) -> ContextManager[None]:
            return contextlib.nullcontext()

    for path in ("recurrent", "rnn.base_rnn", "rnn.stacked_rnn_cells"):
        try:
            module = importlib.import_module(f"{keras_source()}.layers.{path}")
        except ImportError:
            continue
        for name in {"K", "backend"} & vars(module).keys():
            if inspect.ismodule(getattr(module, name)):
                patches.replace(module, name, Backend(getattr(module, name)))


@patches.patch
def take_inputs_of_updates() -> None:
    """Lets a layer's ``add_update`` and ``add_loss`` be given the layer's inputs in the second place.

    1.15 ignores them there (``add_update`` of tensorflow/python/keras/engine/base_layer.py), and custom layers
    of the time pass them. ``add_update`` has lost the argument in 2.15 to 2.21, ``add_loss`` of eager layers
    takes it by name only since 2.3; seen as ``engine.base_layer.Layer`` and ``engine.base_layer_v1.Layer``.
    """
    for module in ("base_layer", "base_layer_v1"):
        try:
            layer = importlib.import_module(f"{keras_source()}.engine.{module}").Layer
        except ModuleNotFoundError:  # base_layer_v1 came in 2.2
            continue
        for name in ("add_update", "add_loss"):
            method = vars(layer)[name]
            # The signature, not the code: 1.15 decorates both.
            if "inputs" not in inspect.signature(method).parameters:
                patches.replace(layer, name, left_alone_by_autograph(_without_inputs(method)))


def _without_inputs(method: Any) -> Any:
    @functools.wraps(method)
    def add(self: Any, entries: Any, inputs: Any = None, **options: Any) -> Any:
        del inputs
        return method(self, entries, **options)

    return add


@patches.patch
def name_losses_like_tensorflow_1() -> None:
    """Calls Keras' loss functions what they were called in 1.15, from which the names of metrics follow.

    ``compile(metrics=["logcosh"])`` names the metric by the function (``engine/training_utils_v1.py``), which
    2.2 to 2.4 renamed and kept under the old name too. Seen in 2.15 to 2.21 as ``losses`` and ``metrics`` of
    Keras' source.
    """
    renamed = {
        "cosine_similarity": "cosine_proximity",
        "huber": "huber_loss",
        "kl_divergence": "kullback_leibler_divergence",
        "log_cosh": "logcosh",
    }
    for module in ("losses", "metrics"):
        functions = importlib.import_module(f"{keras_source()}.{module}")
        for now, then in renamed.items():
            function = getattr(functions, now, None)
            if inspect.isfunction(function):
                patches.replace(function, "__name__", then)


@patches.patch
def forget_masks_of_convolutional_cells() -> None:
    """Lets a ``ConvLSTM2D`` draw its dropout again whenever it is called, as other recurrent layers do.

    1.15 does (``ConvLSTM2D.call`` in tensorflow/python/keras/layers/convolutional_recurrent.py). Today a second
    call, of the layer or of a model around it, is given the masks of the first one's inputs. Seen as
    ``layers.rnn.base_conv_lstm.ConvLSTM`` in Keras 2.15 and tf-keras 2.21.
    """
    kind = tf.compat.v1.keras.layers.ConvLSTM2D
    owner: Any = next(base for base in kind.__mro__ if "call" in vars(base))
    call = owner.call

    @functools.wraps(call)
    def with_masks_of_its_own(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.cell.reset_dropout_mask()
        self.cell.reset_recurrent_dropout_mask()
        return call(self, *args, **kwargs)

    patches.replace(owner, "call", left_alone_by_autograph(with_masks_of_its_own))


@patches.patch
def start_recurrent_states_at_zero() -> None:
    """Lets a stateful recurrent layer start from zeros, and outside the computation it is built in.

    1.15's come from ``K.zeros`` (``RNN.reset_states`` in tensorflow/python/keras/layers/recurrent.py), which
    leaves loops and computations. Today they are what the cell's ``get_initial_state`` returns where the layer
    is built: a cell of the script's own may return others, and a computation refuses values from inside.
    """
    kind: Any = tf.compat.v1.keras.layers.RNN
    reset = kind.reset_states

    @functools.wraps(reset)
    def reset_states(self: Any, states: Any = None) -> None:
        shape = None if self.input_spec is None else self.input_spec[0].shape
        batch = None if shape is None else shape[1 if self.time_major else 0]
        if not self.stateful or not batch or tf.nest.flatten(self.states)[0] is not None:
            reset(self, states)
            return

        def zeros(size: Any) -> Any:
            return tf.compat.v1.keras.backend.zeros(
                [batch, *tf.TensorShape(size).as_list()], self.dtype
            )

        made = tf.nest.map_structure(zeros, self.cell.state_size)
        self.states = made if tf.nest.is_nested(made) else [made]

    patches.replace(kind, "reset_states", left_alone_by_autograph(reset_states))


@patches.patch
def drop_states_for_all_gates_together() -> None:
    """Lets an LSTM and a GRU with ``implementation=2`` drop out their states for all gates by one mask.

    1.15 does (``LSTMCell.call`` and ``GRUCell.call`` in tensorflow/python/keras/layers/recurrent.py), and a
    GRU's new state takes its part of the dropped ones. Where a later cell has ``recurrent_dropout``, it has
    ``implementation=1`` instead, and draws a mask for each gate. Seen as ``RECURRENT_DROPOUT_WARNING_MSG``
    beside the cells of Keras 2.15 and tf-keras 2.21; without it a cell does as 1.15.
    """
    for name, gates in (("LSTMCell", 4), ("GRUCell", 3)):
        kind: Any = getattr(tf.compat.v1.keras.layers, name)
        owner = next(base for base in kind.__mro__ if "call" in vars(base))
        if hasattr(importlib.import_module(owner.__module__), "RECURRENT_DROPOUT_WARNING_MSG"):
            patches.replace(owner, "__init__", _as_asked_for(owner.__init__))
            patches.replace(
                owner, "call", left_alone_by_autograph(_with_one_mask(owner.call, gates))
            )


def _as_asked_for(make: Callable[..., None]) -> Callable[..., None]:
    """A cell's constructor, which keeps ``implementation=2``; that is the default of a cell by itself."""

    @functools.wraps(make)
    def made(self: Any, *args: Any, **options: Any) -> None:
        asked = options.get("implementation", 2)
        make(self, *args, **options)
        self.implementation = asked

    return made


def _with_one_mask(call: Callable[..., Any], gates: int) -> Callable[..., Any]:
    """A cell's step, from states that are dropped already if the cell itself does not drop them."""

    @functools.wraps(call)
    def with_one_mask(self: Any, inputs: Any, states: Any, training: Any = None) -> Any:
        if self.implementation != 1 and 0 < self.recurrent_dropout < 1:
            state, *rest = states if tf.nest.is_nested(states) else [states]
            # 1.15 draws what drops the inputs first.
            self.get_dropout_mask_for_cell(inputs, training, count=gates)
            masks = self.get_recurrent_dropout_mask_for_cell(state, training, count=gates)
            dropped = [state * masks[0], *rest]
            states = dropped if tf.nest.is_nested(states) else dropped[0]
        return call(self, inputs, states, training)

    return with_one_mask
