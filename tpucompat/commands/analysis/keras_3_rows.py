"""What becomes of each thing that Keras 3 offers otherwise than ``tf.keras`` of TensorFlow 1.15, or not at all.

``names/tables/keras_3.txt`` lists by signatures what is other; the rows here say what one writes instead, and
hold what no signature shows: file names, logs, what is computed. A line of the list without a row is a TODO at
the line that uses it. ``tpucompat scan``, ``tpucompat migrate`` and the guide's page are made from both.
"""

from __future__ import annotations

import functools
import os
from typing import Mapping, NamedTuple

from tpucompat.names import lookup

_LIST = os.path.join(os.path.dirname(lookup.__file__), "tables", "keras_3.txt")

REFUSED, GONE, PLACE, FILE, BEHAVIOUR, GRAPH = (
    "TPU510",
    "TPU511",
    "TPU512",
    "TPU513",
    "TPU514",
    "TPU515",
)


class Row(NamedTuple):
    """What becomes of one thing.

    Attributes:
      was: The old way, as people write it.
      becomes: What one writes today; "" where there is nothing.
      how: The rewriting in :mod:`tpucompat.commands.migrate.keras_3`; "" where a person has to.
      code: Why it is reported.
      note: What to know beside it.
      tf1: Whether it is about programs of TensorFlow 1 alone: TensorFlow 2.0 was like Keras 3 already.
      keras_2: Whether today's tf-keras has the old way, so that ``--keras 2`` keeps it.
    """

    was: str
    becomes: str = ""
    how: str = ""
    code: str = BEHAVIOUR
    note: str = ""
    tf1: bool = False
    keras_2: bool = False


class Line(NamedTuple):
    """A line of the list: what is other, of which owner, which part of it, and the rest."""

    kind: str
    owner: str
    rest: tuple[str, ...]


@functools.lru_cache(maxsize=None)
def lines() -> Mapping[tuple[str, str], list[Line]]:
    """(kind, owner) -> the lines."""
    found: dict[tuple[str, str], list[Line]] = {}
    with open(_LIST, encoding="utf-8") as stream:
        for text in stream:
            if not text.startswith("#"):
                kind, owner, *rest = text.split()
                found.setdefault((kind, owner), []).append(Line(kind, owner, tuple(rest)))
    return found


@functools.lru_cache(maxsize=None)
def owners(name: str) -> tuple[str, ...]:
    """A class and the public classes above it, as the list has them."""
    return (name, *(base for line in lines().get(("base", name), ()) for base in line.rest))


def _dropped(was: str, note: str) -> Row:
    return Row(was, "removed", "drop", REFUSED, note)


_WORKERS = "It affects how batches are fetched; a PyDataset takes it in its constructor."
_DTYPE = "The dtype of the layer is used."
_INPUT = "tf.keras.Input before the layer"

#: (owner, argument) -> what becomes of the argument; "*" stands for any owner.
ARGUMENTS: Mapping[tuple[str, str], Row] = {
    **{
        (f"Model.{method}", argument): _dropped(f"{method}({argument}=)", _WORKERS)
        for method in ("fit", "evaluate", "predict")
        for argument in ("workers", "use_multiprocessing", "max_queue_size")
    },
    ("Model.fit", "nb_epoch"): Row("fit(nb_epoch=)", "epochs", "rename", REFUSED),
    ("Model.fit_generator", "nb_epoch"): Row(
        "fit_generator(nb_epoch=)", "epochs", "rename", REFUSED
    ),
    **{
        (f"{owner}.compile", "experimental_steps_per_execution"): Row(
            "compile(experimental_steps_per_execution=)", "steps_per_execution", "rename", REFUSED
        )
        for owner in ("Model", "Sequential")
    },
    ("Model.compile", "sample_weight_mode"): _dropped(
        "compile(sample_weight_mode=)", "Weights of any shape are accepted."
    ),
    ("Model.compile", "distribute"): Row(
        "compile(distribute=)", "with strategy.scope():", "", REFUSED
    ),
    ("Model.compile", "target_tensors"): Row(
        "compile(target_tensors=)", "fit(dataset)", "", GRAPH, "The batches contain the targets."
    ),
    ("Model.save", "save_format"): _dropped(
        "save(save_format=)", "The file name determines the format."
    ),
    ("Model.save_weights", "save_format"): _dropped(
        "save_weights(save_format=)", "The file name determines the format."
    ),
    ("models.save_model", "save_format"): _dropped(
        "save_model(save_format=)", "The file name determines the format."
    ),
    ("Model.save", "signatures"): Row("", "", "keep"),  # see BEHAVIOURS
    ("Model.add_metric", "value"): Row("", "", "keep"),
    ("layers.Layer.add_weight", "aggregation"): Row(
        "add_weight(aggregation=tf.VariableAggregation.SUM)",
        "add_weight(aggregation='sum')",
        "aggregation",
        REFUSED,
        "Keras 3 takes the name as text.",
    ),
    ("Model.add_metric", "aggregation"): Row("", "", "keep"),
    # HDF5 takes them as before (keras/src/models/model.py), and such a file keeps its format.
    ("Model.save", "include_optimizer"): Row("", "", "keep"),
    ("models.save_model", "include_optimizer"): Row("", "", "keep"),
    ("Model.load_weights", "by_name"): Row(
        "load_weights(by_name=True)",
        "load_weights of the .h5 of a whole model, which the script then saves",
        "by_name",
        REFUSED,
        "Keras 3 finds layers by name in .h5 files of Keras 2 and of whole models only.",
        keras_2=True,
    ),
    ("Model.train_on_batch", "reset_metrics"): Row(
        "train_on_batch(reset_metrics=)", "removed if True", "drop_true", REFUSED
    ),
    ("Model.test_on_batch", "reset_metrics"): Row(
        "test_on_batch(reset_metrics=)", "removed if True", "drop_true", REFUSED
    ),
    ("callbacks.ModelCheckpoint", "period"): Row(
        "ModelCheckpoint(period=)",
        "a callback that counts epochs, added to the script",
        "period",
        REFUSED,
    ),
    ("callbacks.ModelCheckpoint", "load_weights_on_restart"): Row(
        "ModelCheckpoint(load_weights_on_restart=)", "model.load_weights", "drop_false", REFUSED
    ),
    ("callbacks.ReduceLROnPlateau", "epsilon"): Row(
        "ReduceLROnPlateau(epsilon=)", "min_delta", "rename", REFUSED
    ),
    ("callbacks.TensorBoard", "write_grads"): _dropped(
        "TensorBoard(write_grads=)", "TensorFlow 2 writes no histograms of gradients."
    ),
    **{
        ("callbacks.TensorBoard", name): _dropped(
            f"TensorBoard({name}=)", "It controlled what was written for graphs."
        )
        for name in ("batch_size", "embeddings_layer_names", "embeddings_data")
    },
    ("callbacks.ProgbarLogger", "count_mode"): _dropped(
        "ProgbarLogger(count_mode=)", "It counts steps."
    ),
    ("callbacks.LambdaCallback", "on_batch_begin"): Row("", "", "keep"),
    ("callbacks.LambdaCallback", "on_batch_end"): Row("", "", "keep"),
    ("layers.BatchNormalization", "fused"): _dropped(
        "BatchNormalization(fused=)", "It affected speed, not results."
    ),
    ("*", "lr"): Row("Adam(lr=)", "learning_rate", "rename", REFUSED),
    ("*", "decay"): Row(
        "SGD(lr=, decay=)",
        "tf.keras.optimizers.schedules.InverseTimeDecay",
        "decay",
        REFUSED,
        "Keras 3 ignores it with a warning. Where the script sets the rate, a function written into it "
        "divides each step's rate.",
    ),
    ("optimizers.Nadam", "schedule_decay"): _dropped(
        "Nadam(schedule_decay=)", "Keras 3 has no such setting."
    ),
    ("*", "clipnorm"): Row("", "", "keep"),
    ("*", "clipvalue"): Row("", "", "keep"),
    ("*", "name"): Row("", "", "keep"),
    ("*", "trainable"): Row("", "", "keep"),
    ("*", "dtype"): Row("", "", "keep"),
    ("*", "input_shape"): Row("", "", "keep"),
    ("*", "input_dim"): Row("", "", "keep"),
    ("layers.Embedding", "activity_regularizer"): Row("", "", "keep"),
    ("*", "batch_input_shape"): Row("Dense(batch_input_shape=)", _INPUT, "input", REFUSED),
    ("layers.Embedding", "input_length"): Row(
        "Embedding(input_length=)",
        _INPUT,
        "input",
        REFUSED,
        "Without it the model is not built before it sees a batch.",
    ),
    ("layers.Embedding", "weights"): Row("", "", "keep"),
    ("*", "weights"): Row(
        "Dense(weights=)",
        "layer.set_weights after the model is built",
        "",
        REFUSED,
        keras_2=True,
    ),
    ("*", "batch_size"): Row(
        "Dense(input_shape=, batch_size=)", _INPUT, "input", REFUSED, keras_2=True
    ),
    ("*", "input_dtype"): Row(
        "Embedding(input_dtype=)", "dtype of tf.keras.Input", "", REFUSED, keras_2=True
    ),
    ("*", "dynamic"): Row(
        "Layer(dynamic=)", "nothing, or run_eagerly of compile", "drop_false", REFUSED
    ),
    ("*", "implementation"): _dropped(
        "LSTM(implementation=)", "It selected an implementation with the same results."
    ),
    ("layers.LeakyReLU", "alpha"): Row("LeakyReLU(alpha=)", "negative_slope", "rename", REFUSED),
    ("layers.InputLayer", "input_shape"): Row(
        "InputLayer(input_shape=)", "shape", "rename", REFUSED
    ),
    ("layers.InputLayer", "batch_input_shape"): Row(
        "InputLayer(batch_input_shape=)", "batch_shape", "rename", REFUSED
    ),
    ("regularizers.l1", "l"): Row("l1(l=)", "l1", "rename", REFUSED),
    ("regularizers.l2", "l"): Row("l2(l=)", "l2", "rename", REFUSED),
    ("utils.to_categorical", "y"): Row("to_categorical(y=)", "x", "rename", REFUSED),
    ("utils.to_categorical", "dtype"): Row("to_categorical(dtype=)", ".astype", "astype", REFUSED),
    ("preprocessing.text.one_hot", "text"): Row("one_hot(text=)", "input_text", "rename", REFUSED),
    ("preprocessing.text.text_to_word_sequence", "text"): Row(
        "text_to_word_sequence(text=)", "input_text", "rename", REFUSED
    ),
    ("mixed_precision.experimental.LossScaleOptimizer", "loss_scale"): Row(
        "LossScaleOptimizer(loss_scale='dynamic')",
        "nothing: it is the default. A fixed scale is initial_scale with no growth",
        "drop_dynamic",
        REFUSED,
    ),
    ("layers.Layer.add_weight", "partitioner"): _dropped(
        "add_weight(partitioner=)", "Variables are whole."
    ),
    ("layers.Layer.add_weight", "use_resource"): _dropped(
        "add_weight(use_resource=)", "All variables are resource variables."
    ),
    ("layers.Layer.add_weight", "synchronization"): _dropped(
        "add_weight(synchronization=)", "The strategy decides."
    ),
    ("layers.Layer.add_loss", "inputs"): _dropped(
        "add_loss(loss, inputs)", "The loss is of the call that it is added in."
    ),
    ("layers.Layer.add_loss", "losses"): Row("add_loss(losses=)", "loss", "rename", REFUSED),
    ("Model", "inputs"): Row("", "", "keep"),
    ("Model", "outputs"): Row("", "", "keep"),
    **{
        (f"initializers.{name}", "dtype"): _dropped(f"{name}(dtype=)", _DTYPE)
        for name in (
            *("Constant", "Identity", "Ones", "Orthogonal", "RandomNormal", "RandomUniform"),
            *("TruncatedNormal", "VarianceScaling", "Zeros", "constant", "glorot_normal", "ones"),
            *("glorot_uniform", "identity", "orthogonal", "random_normal", "random_uniform"),
            *("truncated_normal", "zeros", "he_normal", "he_uniform", "lecun_normal"),
            *("lecun_uniform",),
        )
    },
    ("*", "verify_shape"): _dropped("Constant(verify_shape=)", "Shapes are always verified."),
}

_NO_GRAPH = "Keras 3 has no graph that it would be a part of."
_SEEDS = "Keras 3 counts the states of random numbers among the variables."
_MONITOR_OP = Row(
    "monitor_op of ModelCheckpoint or EarlyStopping",
    "numpy.less or numpy.greater",
    "",
    BEHAVIOUR,
    "It is None until the callback of Keras 3 itself compares, and best is None before that.",
    keras_2=True,
)

#: (owner, member) -> what becomes of a method or attribute that is gone.
MEMBERS: Mapping[tuple[str, str], Row] = {
    ("Model", "fit_generator"): Row("model.fit_generator", "model.fit", "generator", GONE),
    ("Model", "evaluate_generator"): Row(
        "model.evaluate_generator", "model.evaluate", "generator", GONE
    ),
    ("Model", "predict_generator"): Row(
        "model.predict_generator", "model.predict", "generator", GONE
    ),
    ("Sequential", "predict_classes"): Row(
        "model.predict_classes",
        "the class computed from model.predict, by a function added to the script",
        "classes",
        GONE,
    ),
    ("Sequential", "predict_proba"): Row("model.predict_proba", "model.predict", "predict", GONE),
    ("Model", "reset_states"): Row(
        "model.reset_states()", "reset_states of every stateful layer", "reset", GONE
    ),
    ("layers.Layer", "output_shape"): Row(
        "layer.output_shape", "tuple(layer.output.shape)", "shape", GONE
    ),
    ("layers.Layer", "input_shape"): Row(
        "layer.input_shape", "tuple(layer.input.shape)", "shape", GONE
    ),
    **{
        ("layers.Layer", f"get_{what}_at"): Row(
            f"layer.get_{what}_at(0)", f"layer.{what}", "at", GONE
        )
        for what in ("input", "output")
    },
    **{
        ("layers.Layer", f"get_{what}_shape_at"): Row(
            f"layer.get_{what}_shape_at(0)", f"tuple(layer.{what}.shape)", "at", GONE
        )
        for what in ("input", "output")
    },
    ("optimizers.Optimizer", "decay"): Row("optimizer.decay", "the decay of a schedule", "", GONE),
    **{
        ("Model", name): Row(f"model.{name}", "", "", GONE)
        for name in ("total_loss", "targets", "metrics_tensors", "sample_weights")
    },
    ("optimizers.Optimizer", "minimize"): Row(
        "optimizer.minimize(loss, var_list=v)",
        "apply_gradients, with a tape by a function added to the script",
        "gradients",
        GONE,
    ),
    ("optimizers.Optimizer", "compute_gradients"): Row(
        "optimizer.compute_gradients(loss, v)",
        "a tape, by a function added to the script",
        "gradients",
        GONE,
    ),
    ("metrics.Metric", "reset_states"): Row(
        "metric.reset_states()", "metric.reset_state()", "member", GONE, keras_2=True
    ),
    ("layers.Layer", "non_trainable_variables"): Row(
        "layer.non_trainable_variables",
        "layer.non_trainable_weights",
        "member",
        BEHAVIOUR,
        _SEEDS,
        keras_2=True,
    ),
    **{
        (owner, name): Row(f"{name} of a {owner} of a Keras model", "", "", GRAPH, _NO_GRAPH)
        for owner, names in (
            ("tensor", ("op", "graph", "device", "eval", "consumers", "value_index")),
            (
                "variable",
                ("op", "graph", "eval", "load", "device", "initializer", "initialized_value"),
            ),
        )
        for name in names
    },
    ("optimizers.Optimizer", "variables"): Row(
        "optimizer.variables()",
        "optimizer.variables",
        "",
        BEHAVIOUR,
        "It is a list now, with the learning rate behind the number of the step.",
    ),
    ("optimizers.Optimizer", "set_weights"): Row(
        "optimizer.set_weights(values)",
        "",
        "",
        BEHAVIOUR,
        "The learning rate is one of the values of Keras 3.",
    ),
    ("tensor", "name"): Row(
        "model.output.name", "model.layers[-1].name", "", BEHAVIOUR, _NO_GRAPH, keras_2=True
    ),
    **{
        (f"callbacks.{name}", "monitor_op"): _MONITOR_OP
        for name in ("EarlyStopping", "ModelCheckpoint", "ReduceLROnPlateau")
    },
    ("Model", "metrics"): Row(
        "model.metrics",
        "",
        "",
        BEHAVIOUR,
        "It begins with the loss, and has all other metrics in one object.",
    ),
    ("Model", "input_names"): Row(
        "model.input_names", "[one.name for one in model.inputs]", "input_names", GONE, keras_2=True
    ),
    ("Sequential", "output_names"): Row(
        "model.output_names of a Sequential",
        "[model.layers[-1].name]",
        "output_names",
        GONE,
        keras_2=True,
    ),
    ("layers.Bidirectional", "layer"): Row(
        "layer.layer of Bidirectional", "layer.forward_layer", "member", GONE, keras_2=True
    ),
    ("layers.LeakyReLU", "alpha"): Row(
        "layer.alpha of LeakyReLU", "layer.negative_slope", "member", GONE, keras_2=True
    ),
    ("layers.BatchNormalization", "axis"): Row(
        "layer.axis of BatchNormalization",
        "",
        "",
        BEHAVIOUR,
        "It is a number, and was a list of one.",
        keras_2=True,
    ),
    ("layers.Layer", "apply"): Row("layer.apply(x)", "layer(x)", "", GONE, keras_2=True),
    ("Model", "to_yaml"): Row(
        "model.to_yaml()", "model.to_json()", "to_json", GONE, "JSON is YAML."
    ),
}

#: What `compile` is told by name -> what TensorFlow 1 took for it (from_config of optimizer_v2 in 1.15).
WORDS: Mapping[str, str] = {
    "adagrad": "Adagrad(learning_rate=0.001, initial_accumulator_value=0.0)",
    "rmsprop": "RMSprop(learning_rate=0.001)",
}

#: Rewritings that a program needs for Keras 3 alone: tf-keras of today has the old way.
KEPT_BY_KERAS_2 = frozenset(
    (
        *(
            "as_layer",
            "at",
            "by_rows",
            "embedding",
            "file",
            "first",
            "hard_sigmoid_function",
            "input",
        ),
        *("lists", "metrics_names", "period", "place", "reset", "shape", "standalone"),
        "tensor_shape",
    )
)
#: Parameters that have another name in Keras 3 alone.
_NEW_NAMES = frozenset(
    ("negative_slope", "shape", "batch_shape", "l1", "l2", "x", "input_text", "loss")
)


def kept_by_keras_2(row: Row) -> bool:
    """Whether ``migrate --keras 2`` leaves the old way as it is."""
    renamed = row.how == "rename" and row.becomes in _NEW_NAMES
    return row.keras_2 or renamed or row.how in KEPT_BY_KERAS_2


#: Defaults that change nothing of what is computed, or that Keras 3 fills in by itself.
SAME_DEFAULTS = frozenset(
    (
        *("name", "verbose", "dtype", "sparse", "ragged", "data_format", "log_dir", "training"),
        *("width", "dpi", "show_layer_names", "reduction", "trainable", "aggregation", "axes"),
        *("profile_batch", "origin", "fname", "alpha_initializer", "input_shape", "mask", "inputs"),
    )
)

#: What belongs to models and layers alone, so that its name tells it also where the object is not known.
DISTINCT = frozenset(
    (
        *("fit_generator", "evaluate_generator", "predict_generator", "predict_classes"),
        *("predict_proba", "get_output_at", "get_input_at", "get_output_shape_at", "output_shape"),
        *("get_input_shape_at", "get_updates_for", "get_losses_for", "add_update", "add_metric"),
        *("inbound_nodes", "outbound_nodes", "state_updates", "to_yaml", "input_names"),
    )
)

#: What no signature shows; the name of a rule of :mod:`tpucompat.commands.analysis.keras_3_rules`.
BEHAVIOURS: Mapping[str, Row] = {
    "keras_1": Row(
        "Dense(output_dim=, init=) of Keras 1",
        "Dense(units=, kernel_initializer=)",
        "keras_1",
        REFUSED,
        "Keras 2.3 was the last to accept these names.",
    ),
    "sides": Row("keras.layers.Conv2D(32, 3, 3)", "Conv2D(32, (3, 3))", "sides", REFUSED),
    "package_default": Row(
        "keras.optimizers.Adadelta()",
        "Adadelta(learning_rate=1.0)",
        "default",
        BEHAVIOUR,
        "The package keras had other defaults than tf.keras.",
        tf1=True,
    ),
    "package_word": Row(
        "compile(optimizer='adadelta') beside import keras",
        "tf.keras.optimizers.Adadelta(learning_rate=1.0)",
        "optimizer_word",
        BEHAVIOUR,
        "The package keras had other defaults than tf.keras.",
        tf1=True,
    ),
    "package_clipnorm": Row(
        "keras.optimizers.SGD(clipnorm=)",
        "global_clipnorm",
        "rename",
        BEHAVIOUR,
        "The package keras clipped the norm of all gradients together.",
        tf1=True,
    ),
    "class_weight": Row(
        "fit(class_weight='auto')",
        "nothing: only a dictionary had an effect",
        "drop",
        REFUSED,
        "Keras 2 ignored texts, lists and arrays of class weights; Keras 3 fails on them.",
        keras_2=True,
    ),
    "weighted_generator": Row(
        "fit_generator(generator, class_weight={0: 1., 1: 5.})",
        "a generator that yields sample weights, by a function added to the script",
        "weighted_generator",
        REFUSED,
        "Keras 3 takes class weights for arrays, Datasets and Sequences only.",
        keras_2=True,
    ),
    "weighted_dataset": Row(
        "fit(dataset, class_weight={0: 1., 1: 5.})",
        "nothing: class weights had an effect on arrays and generators only",
        "drop",
        BEHAVIOUR,
        "TensorFlow 1 ignored class weights beside a Dataset; Keras 3 applies them.",
        tf1=True,
    ),
    "boolean_labels": Row(
        "fit(x, y > 0)",
        "fit(x, (y > 0).astype('float32'))",
        "numbers",
        REFUSED,
        "On several replicas, Keras 3 adds the labels of a batch.",
        keras_2=True,
    ),
    "numpy_size": Row(
        "Dense(np.prod(shape))",
        "Dense(int(np.prod(shape)))",
        "integer",
        REFUSED,
        "Keras 3 accepts Python's integers only.",
        keras_2=True,
    ),
    "weights_of_outputs": Row(
        "fit(x, y, sample_weight={'output': w})",
        "lists in the order of the outputs, by a function added to the script",
        "by_output",
        REFUSED,
        "Keras 3 takes no dictionary of weights, and weights only in the structure of the targets.",
        keras_2=True,
    ),
    "loss_weights": Row(
        "compile(loss={'a': 'mse', 'b': 'mse'}, loss_weights={'a': 2.})",
        "loss_weights={'a': 2., 'b': 1.0}",
        "loss_weights",
        REFUSED,
        "Keras 3 wants a weight for each loss.",
        keras_2=True,
    ),
    "yielded_weights": Row(
        "yield x, y, {'output': w}",
        "targets and weights as tuples in the order of the outputs",
        "",
        REFUSED,
        "Keras 3 takes no dictionary of weights.",
        keras_2=True,
    ),
    "class_weight_of_outputs": Row(
        "fit(class_weight={'output': {0: 1., 1: 2.}})",
        "a sample_weight for each output, by a function added to the script",
        "class_weights",
        REFUSED,
        "Keras 3 takes class weights only for models with a single output.",
    ),
    "named_target": Row(
        "fit(x, {'output': y}) of a model with one output",
        "fit(x, y)",
        "only_value",
        REFUSED,
        "Keras 3 wants the structure of the outputs.",
        keras_2=True,
    ),
    "dimension": Row(
        "x.shape[1].value",
        "x.shape[1]",
        "dimension",
        GONE,
        "Dimensions are integers or None.",
        tf1=True,
    ),
    "shape_list": Row(
        "input_shape.as_list() in a layer",
        "list(input_shape)",
        "shape_list",
        GONE,
        "Keras 3 gives layers tuples.",
    ),
    "ctc_decode": Row(
        "K.ctc_decode(y, lengths)",
        "the same without its padding, by a function added to the script",
        "ctc_decode",
        BEHAVIOUR,
        "Keras 3 pads what it finds to the number of steps; TensorFlow 1 to the longest that it found.",
        tf1=True,
    ),
    "python_random": Row(
        "random.seed(1) before layers are made",
        "",
        "note",
        BEHAVIOUR,
        "Keras 3 draws seeds of layers from Python's random, so what the script draws differs.",
        keras_2=True,
    ),
    "slash": Row(
        "Dense(8, name='block/dense')",
        "name='block_dense', also where the script asks for the layer",
        "slash",
        REFUSED,
        "Names have no slash.",
        keras_2=True,
    ),
    "custom_object": Row(
        "Dense(4, activation='gelu') with get_custom_objects().update({'gelu': gelu})",
        "activation=tf.keras.utils.get_custom_objects()['gelu']",
        "custom_object",
        REFUSED,
        "A name stands for a function of Keras alone.",
    ),
    "own_steps": Row(
        "a class that extends an optimizer, with get_updates or _resource_apply_dense",
        "update_step(self, gradient, variable, learning_rate), and build(self, variables)",
        "",
        GONE,
        "Keras 3 calls no such method.",
    ),
    "own_state": Row(
        "self.add_update, self.add_metric in a class",
        "assign, and a metric that the class keeps",
        "",
        GONE,
        keras_2=True,
    ),
    "input_tensor": Row(
        "Input(tensor=tensor)", "fit(dataset)", "", GRAPH, "An input stands for arrays."
    ),
    "lite_file": Row(
        "tf.lite.TFLiteConverter.from_keras_model_file(path)",
        "from_keras_model(tf.keras.models.load_model(path))",
        "lite_file",
        GONE,
    ),
    "seeded": Row(
        "RandomNormal(seed=1), tf.set_random_seed(1)",
        "",
        "note",
        BEHAVIOUR,
        "A seed gives other numbers: initial weights, dropout and shuffles keep their distributions only.",
        tf1=True,
    ),
    "python_seed": Row(
        "tf.set_random_seed(1) before layers are made",
        "the same, and random.seed(1)",
        "python_seed",
        BEHAVIOUR,
        "Keras 3 draws the seeds of layers from Python's random.",
        tf1=True,
    ),
    "shared_initializer": Row(
        "kernel_initializer=init of several layers",
        "kernel_initializer=init.clone()",
        "clone_initializer",
        BEHAVIOUR,
        "An initializer of Keras 3 draws the same values each time.",
        tf1=True,
    ),
    "one_element": Row(
        "float(model.predict(x)[0])",
        "float(model.predict(x)[0].item())",
        "one_element",
        REFUSED,
        "NumPy 2.4 makes no number of an array that has axes.",
    ),
    "number_method": Row(
        "history.history['loss'][-1].item(), model.evaluate(x, y)[0].tolist()",
        "numpy.asarray(…).item()",
        "number_method",
        REFUSED,
        "Results and logs were NumPy's numbers; Keras 3 gives Python's.",
    ),
    "best": Row(
        "ModelCheckpoint(…).best, before the first value",
        "best_of(checkpoint), by a function added to the script",
        "best",
        BEHAVIOUR,
        "Keras 2 had the worst value there is; Keras 3 has None.",
        keras_2=True,
    ),
    "dim_ordering": Row(
        "K.image_dim_ordering() == 'tf'",
        "K.image_data_format() == 'channels_last'",
        "dim_ordering",
        GONE,
    ),
    "config_key": Row(
        "layer.get_config()['batch_input_shape'], ['dtype'], optimizer.get_config()['decay']",
        "",
        "",
        GONE,
        "A configuration of Keras 3 has no such entry; dtype is a dictionary.",
        keras_2=True,
    ),
    "config_layers": Row(
        "model.get_config()['layers'][0]",
        "one place further on in a Sequential model",
        "",
        BEHAVIOUR,
        "The layers of a Sequential model's configuration begin with its InputLayer, which has a batch_shape.",
        tf1=True,
    ),
    "set_values": Row(
        "K.batch_set_value([(layer.bias, values)])",
        "assign of each variable, by a function added to the script",
        "set_values",
        REFUSED,
        "It takes variables of TensorFlow only.",
        keras_2=True,
    ),
    "compiled_again": Row(
        "a second compile(optimizer, loss) of a model, without metrics",
        "metrics=[]",
        "no_metrics",
        BEHAVIOUR,
        "Keras 3 keeps the metrics that it was compiled with before.",
        keras_2=True,
    ),
    "unnamed": Row(
        "Input(shape) and Model(inputs, outputs), where names are read",
        "name=next_name('input'), by a function added to the script",
        "unnamed",
        BEHAVIOUR,
        "Inputs and models without a name are input_layer and functional now.",
        keras_2=True,
    ),
    "optimizer_name": Row(
        "optimizer.get_config()['name'], optimizer._name",
        "type(optimizer).__name__",
        "optimizer_name",
        BEHAVIOUR,
        "The name of an optimizer is in small letters now.",
        keras_2=True,
    ),
    "class_name": Row(
        "type(model).__name__",
        "type(model).__name__.replace('Functional', 'Model')",
        "class_name",
        BEHAVIOUR,
        "A model of inputs and outputs is of the class Functional.",
        keras_2=True,
    ),
    "own_model_names": Row(
        "model.input_names, model.output_names of a class that extends Model",
        "",
        "",
        GONE,
        "They are input_1 and output_1, and Keras 3 has none.",
        keras_2=True,
    ),
    "own_metrics": Row(
        "the weights of a model that keeps metrics in its attributes",
        "",
        "",
        BEHAVIOUR,
        "Keras 2 counted the variables of the metrics among them.",
        keras_2=True,
    ),
    "config": Row(
        "get_config() as a whole",
        "single entries",
        "",
        BEHAVIOUR,
        "Keras 3 has other entries, and other values of some.",
        keras_2=True,
    ),
    "json": Row(
        "the text of to_json()",
        "model_from_json",
        "",
        BEHAVIOUR,
        "Keras 3 writes other entries, and other values of some.",
        keras_2=True,
    ),
    "repeated_name": Row(
        "variable.name of a model that is loaded or copied beside others",
        "",
        "",
        BEHAVIOUR,
        "In a graph, Keras 2 added a number to the names of a second layer of one name.",
        tf1=True,
        keras_2=True,
    ),
    "log_shown": Row(
        "print(history.history)",
        "",
        "note",
        BEHAVIOUR,
        "Losses came first, then metrics as compiled; Keras 3 sorts them by name.",
        keras_2=True,
    ),
    "default_name": Row(
        "model.get_layer('input_1'), fit({'input_1': x})",
        "a name that the script gives, or input_layer",
        "",
        BEHAVIOUR,
        "Inputs and models without a name are input_layer and functional now.",
        keras_2=True,
    ),
    "config_lr": Row(
        "optimizer.get_config()['lr']",
        "optimizer.get_config()['learning_rate']",
        "text",
        GONE,
    ),
    "rate_computed": Row(
        "K.get_value(optimizer.lr) * 0.5",
        "float(K.get_value(optimizer.learning_rate)) * 0.5",
        "rate_computed",
        BEHAVIOUR,
        "NumPy 1 made float64 of a rate and another number; NumPy 2 keeps the rate's float32.",
        tf1=True,
    ),
    "rate_shown": Row(
        "print(optimizer.get_config()['learning_rate'])",
        "numpy.float32(…) of it",
        "rate_shown",
        BEHAVIOUR,
        "It was a float32, and is a float with more digits.",
        tf1=True,
    ),
    "add_variable": Row(
        "self.add_variable('w', shape)",
        "self.add_weight(name='w', shape=shape)",
        "add_variable",
        GONE,
        "Keras 3 expects the shape first.",
    ),
    "closure": Row(
        "compile(loss=f) where f uses tensors of the model that are not its arguments",
        "add_loss in the call of a layer",
        "",
        GRAPH,
        "A tensor of the model has no value in a loss.",
        keras_2=True,
    ),
    "quiet": Row(
        "model.predict(x)",
        "model.predict(x, verbose=0)",
        "quiet",
        BEHAVIOUR,
        "Keras 3 prints a progress bar by default.",
        tf1=True,
    ),
    "learning_phase": Row(
        "K.set_learning_phase(0)",
        "removed where the script does not train; else the layers' trainable and training",
        "learning_phase",
        GONE,
        "predict and evaluate run in inference mode; fit runs in training mode.",
        keras_2=True,
    ),
    "train_phase": Row(
        "K.in_train_phase(a, b)",
        "the training argument of the layer's call",
        "",
        GONE,
        "Without training= it is always b, because tf-keras does not know the mode of a Keras 3 model.",
        keras_2=True,
    ),
    "training_mode": Row(
        "K.learning_phase() in call",
        "the training argument of the layer's call",
        "training_mode",
        GONE,
        keras_2=True,
    ),
    "training_tensor": Row(
        "tf.cond(training, …) in call",
        "tf.cast(training, tf.bool)",
        "training_tensor",
        BEHAVIOUR,
        "Keras 3 gives call True, False or None, and no tensor of the graph.",
        keras_2=True,
    ),
    "weighted_validation": Row(
        "fit(class_weight=, validation_split=)",
        "",
        "note",
        BEHAVIOUR,
        "TensorFlow 1 applied the class weights to val_loss too; Keras 3 does not.",
        tf1=True,
    ),
    "validation_batches": Row(
        "fit(validation_data=) and a metric of a whole batch",
        "",
        "note",
        BEHAVIOUR,
        "TensorFlow 1 shuffled validation arrays, so its val_ metrics were of other batches.",
        tf1=True,
    ),
    "compared": Row(
        "if K.sum(y_true) == 0",
        "if False",
        "compared",
        BEHAVIOUR,
        "TensorFlow 1 compared the objects, never the values of tensors.",
        tf1=True,
    ),
    "carried_metrics": Row(
        "train_on_batch after evaluate or fit",
        "",
        "note",
        BEHAVIOUR,
        "In TensorFlow 1, its first metrics counted the examples of evaluate or fit too.",
        tf1=True,
    ),
    "order_of_values": Row(
        "model.evaluate of several outputs",
        "the values in their old order, by a function added to the script",
        "in_order",
        BEHAVIOUR,
        "TensorFlow 1 returned metrics in the order of the outputs; Keras 3 sorts them by name.",
        keras_2=True,
    ),
    "validation_data": Row(
        "callback.validation_data",
        "validation data that the script passes to the callback",
        "",
        GONE,
    ),
    "variable": Row(
        "K.variable(value) in a layer's call",
        "K.constant(value)",
        "call_variable",
        GONE,
        "A variable cannot be made again in each call.",
    ),
    "layer_input": Row(
        "model.layers[0].input",
        "the output of an input layer, by a function added to the script",
        "layer_input",
        GONE,
        "The input of an input layer is an empty list.",
        keras_2=True,
    ),
    "layer_config": Row(
        "layers.deserialize({'class_name': 'Dense', 'config': {…}})",
        "layer_of(…), by a function added to the script",
        "layer_config",
        REFUSED,
        "Keras 3 wants the module of the class too.",
    ),
    "architecture": Row(
        "model_from_json(text)",
        "the model without what it was compiled with, by a function added to the script",
        "architecture",
        BEHAVIOUR,
        "The text has the losses and metrics of a compiled model, and its own functions cannot be found.",
        keras_2=True,
    ),
    "yaml": Row(
        "model_from_yaml(text)",
        "the same of JSON, which the script writes instead of YAML",
        "yaml",
        GONE,
        "The text has to be in JSON.",
    ),
    "clone": Row(
        "clone_model(model)",
        "a copy that is not compiled, by a function added to the script",
        "clone",
        BEHAVIOUR,
        "Keras 3 compiles the copy too, and cannot find functions of the script's own.",
        keras_2=True,
    ),
    "schedule_step": Row(
        "class Schedule(LearningRateSchedule) with __call__(self, step)",
        "step = tf.cast(step, 'float32') first",
        "schedule_step",
        BEHAVIOUR,
        "Optimizers passed the step as a float up to TensorFlow 2.10; it is an integer.",
    ),
    "callback_model": Row(
        "self.model = model in a callback",
        "super().set_model(model)",
        "callback_model",
        GONE,
        "A callback's model is a property that cannot be assigned.",
        keras_2=True,
    ),
    "converted_layers": Row(
        "tpu_model.layers[1] of a Sequential",
        "model.layers[0]",
        "converted_layers",
        BEHAVIOUR,
        "keras_to_tpu_model put an input layer before the layers of a Sequential.",
    ),
    "by_line": Row(
        "model.summary(print_fn=f)",
        "model.summary(print_fn=by_line(f)), by a function added to the script",
        "by_line",
        BEHAVIOUR,
        "Keras 3 gives f the whole text at once, with lines around it and sizes in bytes.",
        keras_2=True,
    ),
    "epochs_of": Row(
        "fit_generator(sequence) of a class with on_epoch_end",
        "fit(EpochsOf(sequence)), by a class added to the script",
        "epochs_of",
        BEHAVIOUR,
        "Keras 3 calls it once before the first epoch, and after evaluate and predict too.",
        keras_2=True,
    ),
    "unknown_length": Row(
        "fit and evaluate of a Dataset of unknown length with drop_remainder=True",
        "of_any_size(dataset), by a function added to the script",
        "unknown_length",
        BEHAVIOUR,
        "Without a TPU, Keras 3 counts one batch more than there is, and its means are too small.",
        keras_2=True,
    ),
    "batches_of_steps": Row(
        "fit_generator(batches, steps_per_epoch=100)",
        "fit(StepsOf(batches, 100)), by a class added to the script",
        "batches_of_steps",
        BEHAVIOUR,
        "An epoch had so many batches; Keras 3 ends one early where a Sequence ends, and reads batches ahead.",
    ),
    "first_batches": Row(
        "fit(validation_data=sequence, validation_steps=2)",
        "validation_data=first_of(sequence, 2), by a function added to the script",
        "first_batches",
        BEHAVIOUR,
        "Each evaluation began with the first batch; Keras 3 evaluates the batches that are left.",
        keras_2=True,
    ),
    "slots": Row(
        "optimizer.apply_gradients in a step of several replicas",
        "optimizer.build(model.trainable_variables) beforehand",
        "slots",
        BEHAVIOUR,
        "Keras 3 makes the slots of an optimizer in its first step, where several replicas cannot.",
        keras_2=True,
    ),
    "variable_name": Row(
        "variable.name",
        "name_of(variable), by a function added to the script",
        "variable_name",
        BEHAVIOUR,
        "The name is without that of the layer, and neither ends in :0.",
        keras_2=True,
    ),
    "state_name": Row(
        "variable.name of a metric",
        "state_name(variable), by a function added to the script",
        "state_name",
        BEHAVIOUR,
        "The name no longer ends in :0.",
        keras_2=True,
    ),
    "called_rate": Row(
        "optimizer.learning_rate as a schedule",
        "the schedule that the optimizer was given",
        "called_rate",
        GONE,
        "The attribute is the current value; call the schedule by a name of its own.",
        keras_2=True,
    ),
    "epsilon": Row(
        "Adam(epsilon=None)",
        "nothing: it is left out",
        "no_epsilon",
        REFUSED,
        "None meant 1e-7, which is the default.",
    ),
    "nadam": Row(
        "Nadam()",
        "Adam, or Nadam with other steps",
        "",
        BEHAVIOUR,
        "The momentum schedule was 0.96 ** (0.004 t), and is now 0.96 ** t.",
    ),
    "sequential_tensors": Row(
        "model.input of a Sequential",
        "model.inputs[0]",
        "first",
        GONE,
        "A Sequential that was never called has only the lists.",
    ),
    "loaded_tensors": Row(
        "model.output of a model that was loaded",
        "model.outputs[0], or model.outputs where there are several",
        "only",
        GONE,
        "It may be a Sequential; one that was never called has only the lists.",
    ),
    "metrics_of_outputs": Row(
        "compile(metrics=['acc']) of a model with several outputs",
        "metrics=[['acc'] for _ in model.outputs]",
        "each_output",
        REFUSED,
        "One list applied to every output; Keras 3 needs a list for each output.",
    ),
    "frozen_statistics": Row(
        "layer.trainable = False with batch normalization",
        "a layer that goes on normalizing by the batch, by a class added to the script",
        "normalize_by_batch",
        BEHAVIOUR,
        "TensorFlow 1 kept normalizing by the batch; Keras 3 uses the moving averages.",
        tf1=True,
    ),
    "columns": Row(
        "compile(loss=my_loss)",
        "with_columns(my_loss), by a function written into the script",
        "columns",
        BEHAVIOUR,
        "Targets with one axis arrived as a column; now predictions arrive as a row.",
        tf1=True,
    ),
    "unaligned": Row(
        "metrics=['poisson'] of one unit",
        "with_columns(tf.keras.metrics.poisson), by a function written into the script",
        "unaligned",
        BEHAVIOUR,
        "Keras 3 compares each target with each prediction if targets have one axis.",
        tf1=True,
    ),
    "unaligned_object": Row(
        "metrics=[tf.keras.metrics.Poisson()] of one unit",
        "of_columns(tf.keras.metrics.Poisson()), by a function written into the script",
        "unaligned_object",
        BEHAVIOUR,
        "Keras 3 compares each target with each prediction if targets have one axis.",
        tf1=True,
    ),
    "vector": Row(
        "model.predict(vector) after model.predict(column)",
        "as_column(vector), by a function written into the script",
        "as_column",
        BEHAVIOUR,
        "Keras 3 compiles one step for both, whose input has no known number of axes.",
        keras_2=True,
    ),
    "repeated_metric": Row(
        "one metric in metrics and in weighted_metrics",
        "evaluate's values once each, by a function added to the script",
        "in_order",
        BEHAVIOUR,
        "Keras 3 returns the unweighted value twice.",
        keras_2=True,
    ),
    "embedding": Row(
        "Embedding(1000, 8) and an optimizer that squares gradients",
        "an Embedding that sums its gradients, by a class written into the script",
        "embedding",
        BEHAVIOUR,
        "If an entry occurs twice in a batch, Keras 3 squares the parts of its gradient separately.",
    ),
    "by_rows": Row(
        "SGD(momentum=0.9) and an Embedding",
        "by_rows(SGD(momentum=0.9)), by a function written into the script",
        "by_rows",
        BEHAVIOUR,
        "Entries that are not in a batch kept their values and momentum; Keras 3 moves them too.",
    ),
    "masked_outputs": Row(
        "a loss for each step of masked sequences",
        "",
        "",
        BEHAVIOUR,
        "The mean was over all steps; now it is over the unmasked steps.",
    ),
    "sparse_labels": Row(
        "metrics=['mae'] beside a sparse loss",
        "a metric of the labels' classes",
        "",
        BEHAVIOUR,
        "Labels arrived as a column, which was subtracted from all classes.",
        tf1=True,
    ),
    "hard_sigmoid_function": Row(
        "tf.keras.activations.hard_sigmoid",
        "a function written into the script",
        "hard_sigmoid_function",
        "TPU216",
        "Keras 3's hard_sigmoid is x / 6 + 0.5; the old one is x / 5 + 0.5.",
    ),
    "weights_file": Row(
        "save_weights('w.h5')",
        "save_weights('w.weights.h5'), and every other use of that name",
        "file",
        FILE,
        "Keras 3 rejects other extensions. It can load a Keras 2 file that ends in .h5.",
    ),
    "model_folder": Row(
        "the folder of a SavedModel",
        "the file that model.save writes",
        "",
        FILE,
        "The model is one file now: tf.saved_model.save writes a folder, which Keras 3 cannot load.",
        keras_2=True,
    ),
    "weights_attributes": Row(
        "attributes of a file of weights",
        "the names of the layers of a model",
        "",
        FILE,
        "Keras 3 writes none into a file of save_weights; its groups are the layers.",
        keras_2=True,
    ),
    "checkpoint_files": Row(
        "the files of a checkpoint",
        "the file that save_weights writes",
        "",
        FILE,
        "The weights are one file in HDF5 now.",
        keras_2=True,
    ),
    "signatures": Row(
        "model.save(path, signatures=function)",
        "tf.saved_model.save(model, path, signatures=function)",
        "signatures",
        FILE,
        "Keras 3 writes no SavedModel, and does not load one.",
        keras_2=True,
    ),
    "model_file": Row(
        "model.save('model')",
        "model.save('model.keras'), and every other use of that name",
        "file",
        FILE,
        (
            "Keras 3 supports .keras and .h5, but cannot load its own .h5 files if a metric "
            "was given by name."
        ),
    ),
    "old_model": Row(
        "load_model('old.h5')",
        "load_model('old.keras')",
        "",
        FILE,
        (
            "Keras 3 cannot load most whole models that Keras 2 saved; tpucompat convert-checkpoint old.h5 "
            "old.keras makes them its own."
        ),
        keras_2=True,
    ),
    "old_architecture": Row(
        "model_from_json(old_text)",
        "load_model('old.keras'), or the layers in the script",
        "",
        FILE,
        (
            "Keras 3 cannot read most architectures that Keras 2 wrote. Save the whole model with "
            "Keras 2 (model.save('old.h5')); tpucompat convert-checkpoint old.h5 old.keras makes it its own."
        ),
        keras_2=True,
    ),
    "learning_rate": Row(
        "optimizer.lr",
        "optimizer.learning_rate",
        "learning_rate",
        GONE,
        "Assigning optimizer.lr changes nothing.",
    ),
    "set_variable": Row(
        "K.set_value(layer.kernel, v)",
        "layer.kernel.assign(v)",
        "set_value",
        GONE,
        "K.set_value knows variables of TensorFlow alone.",
        keras_2=True,
    ),
    "set_value": Row(
        "K.set_value(optimizer.lr, v)", "optimizer.learning_rate = v", "set_value", GONE
    ),
    "log_lr": Row(
        "logs['lr']",
        "logs['learning_rate']",
        "text",
        BEHAVIOUR,
        "ReduceLROnPlateau and LearningRateScheduler log it under the new name.",
        keras_2=True,
    ),
    "metric_name": Row(
        "metrics=['accuracy'] and logs['acc']",
        "metrics=['acc']",
        "text",
        BEHAVIOUR,
        ("TensorFlow 1 logged the metric under its own name; Keras 3 uses the name in the script."),
        tf1=True,
    ),
    "binary_accuracy": Row(
        "metrics=['accuracy'] beside binary_crossentropy of several units",
        "metrics=[tf.keras.metrics.BinaryAccuracy('acc')]",
        "metric_object",
        BEHAVIOUR,
        "TensorFlow 1 chose the accuracy by the loss, Keras 3 chooses it by the shapes.",
        tf1=True,
    ),
    "accuracy_of_loss": Row(
        "metrics=['accuracy'] beside loss=name",
        "metrics=[accuracy_of(name)], by a function added to the script",
        "accuracy_of_loss",
        BEHAVIOUR,
        "TensorFlow 1 chose the accuracy by the loss, Keras 3 chooses it by the shapes.",
        tf1=True,
    ),
    "metric_word": Row(
        "metrics=['AUC', 'logcosh']",
        "metrics=[tf.keras.metrics.AUC()]",
        "metric_object",
        BEHAVIOUR,
        "Keras 2 logged a class under the name of its instances; Keras 3 uses the text, or does not know it.",
        keras_2=True,
    ),
    "kl_divergence": Row(
        "tf.keras.metrics.KLDivergence()",
        "KLDivergence(name='kullback_leibler_divergence')",
        "kl_divergence",
        BEHAVIOUR,
        "Keras 3 has another default name, which is that in logs.",
        keras_2=True,
    ),
    "metric_object": Row(
        "metrics=['kld', 'cosine_similarity']",
        "metrics=[tf.keras.metrics.KLDivergence('kullback_leibler_divergence')]",
        "metric_object",
        REFUSED,
        "Keras 3 knows other names.",
        tf1=True,
    ),
    "cosine": Row(
        "compile(loss='cosine_similarity')",
        "the cosine, by a function added to the script",
        "cosine",
        BEHAVIOUR,
        "TensorFlow 1.15 minimized the cosine; Keras 3 minimizes minus the cosine.",
        tf1=True,
    ),
    "loss_name": Row(
        "compile(loss='kullback_leibler_divergence')",
        "compile(loss='kl_divergence')",
        "text",
        REFUSED,
        keras_2=True,
    ),
    "word": Row(
        "kernel_constraint='maxnorm', kernel_initializer='constant'",
        "'max_norm', 'zeros'",
        "text",
        REFUSED,
        "Keras 3 knows fewer names.",
        keras_2=True,
    ),
    "word_of_text": Row(
        "Dense(8, activation=name, kernel_constraint=name)",
        "activation_of(name), constraint_of(name), by functions added to the script",
        "word_of_text",
        BEHAVIOUR,
        "Keras 3's hard_sigmoid has another slope; some initializers and constraints have other names.",
        keras_2=True,
    ),
    "crossentropy": Row(
        "softmax and binary_crossentropy, sigmoid and categorical_crossentropy",
        "the loss of the probabilities, by a function added to the script",
        "crossentropy",
        BEHAVIOUR,
        "Keras 3 takes what the activation was given for the logits of any cross entropy.",
    ),
    "crossentropy_of_steps": Row(
        "softmax of sequences or images, and categorical_crossentropy",
        "the loss of the probabilities, by a function added to the script",
        "crossentropy",
        BEHAVIOUR,
        "TensorFlow 1 learned nothing from steps without a class; Keras 3 takes the softmax's logits.",
        tf1=True,
    ),
    "logged_rate": Row(
        "LearningRateScheduler(f) where all logs are written or passed on",
        "a callback that logs lr, by a function added to the script",
        "logged_rate",
        BEHAVIOUR,
        "The rate is logged as learning_rate, also in files and histories.",
        keras_2=True,
    ),
    "log_columns": Row(
        "CSVLogger('log.csv') of a training without validation",
        "a CSVLogger with the columns of the first epoch, by a class added to the script",
        "log_columns",
        BEHAVIOUR,
        "Keras 3 adds a column val_ with NA for each metric.",
    ),
    "log_order": Row(
        "list(history.history.values())",
        "the values in their old order, by a function added to the script",
        "log_order",
        BEHAVIOUR,
        "Losses came first, then metrics as compiled; Keras 3 sorts them by name.",
        keras_2=True,
    ),
    "events": Row(
        "tf.train.summary_iterator(path) of what TensorBoard() wrote",
        "the files in LOG_DIR/train and LOG_DIR/validation, and tf.make_ndarray(value.tensor)",
        "",
        BEHAVIOUR,
        "simple_value is 0, and epoch_val_loss is the epoch_loss of LOG_DIR/validation.",
        tf1=True,
    ),
    "image_statistics": Row(
        "BatchNormalization of images",
        "",
        "note",
        BEHAVIOUR,
        "TensorFlow 1 averaged the variance times n / (n - 1), n being the pixels of a batch.",
        tf1=True,
    ),
    "yielded_inputs": Row(
        "yield x, for predict_generator",
        "yield (x,)",
        "tuple",
        REFUSED,
        "Keras 3 accepts tuples only.",
    ),
    "built": Row(
        "model.build(shape) of a class that extends Model",
        "model(tf.keras.Input(batch_shape=shape))",
        "built",
        BEHAVIOUR,
        "Keras 3 builds none of its layers, and loads no weights into them.",
        keras_2=True,
    ),
    "unbuilt": Row(
        "load_weights of a new model of a class that extends Model",
        "a call of the model on a batch before load_weights",
        "",
        REFUSED,
        "Keras 2 restored a checkpoint when the model was first called.",
        keras_2=True,
    ),
    "lambda_layer": Row(
        "Lambda(lambda x: …) of a model that is loaded",
        "a function that is registered by a name",
        "lambda_layer",
        REFUSED,
        "Keras 3 loads functions of Lambda layers by name; Keras 2 stored their code.",
        keras_2=True,
    ),
    "metrics_names": Row(
        "model.metrics_names",
        "the names that evaluate reports, by a function added to the script",
        "metrics_names",
        BEHAVIOUR,
        "Keras 3 returns ['loss', 'compile_metrics'].",
    ),
    "hard_sigmoid": Row(
        "recurrent_activation='hard_sigmoid'",
        "a function added to the script",
        "hard_sigmoid",
        "TPU216",
        "Keras 3's hard_sigmoid has slope 1/6; the old one has slope 1/5.",
    ),
    "cudnn": Row(
        "CuDNNLSTM(8)",
        "LSTM(8, recurrent_activation='sigmoid')",
        "cudnn",
        GONE,
        "The LSTM of TensorFlow 1 used hard_sigmoid, so the default is now explicit.",
    ),
    "steps": Row(
        "fit(steps_per_epoch=len(x) / 8)",
        "int(numpy.ceil(len(x) / 8))",
        "steps",
        REFUSED,
        "Keras 3 requires an integer.",
    ),
    "bound_method": Row(
        "train = model.fit, partial(model.fit, …)",
        "model.fit(…) where it is called",
        "",
        BEHAVIOUR,
        "Its arguments are given elsewhere, and may not be those of Keras 3, which has other defaults too.",
    ),
    "fit_function": Row(
        "tpu_model.fit(input_function)",
        "model.fit(input_function())",
        "call",
        REFUSED,
        "Only KerasTPUModel accepted a function that returns a Dataset.",
    ),
    "fit_iterator": Row(
        "fit(dataset.make_one_shot_iterator())", "fit(dataset)", "iterator", REFUSED
    ),
    "fit_batch": Row(
        "fit(*iterator.get_next())",
        "fit(dataset)",
        "batch",
        GRAPH,
        "In TensorFlow 2 that is a single batch.",
    ),
    "generator_lists": Row(
        "yield [a, b], y, or return of a Sequence",
        "yield (a, b), y",
        "lists",
        REFUSED,
        "Keras 3 accepts tuples only.",
    ),
    "rmsprop": Row(
        "RMSprop()",
        "the same with its own epsilon, by a class written into the script",
        "outer_epsilon",
        BEHAVIOUR,
        ("TensorFlow 1 added epsilon to the square root, Keras 3 adds it inside the square root."),
    ),
    "class_of_text": Row(
        "getattr(keras.optimizers, name)",
        "with_outer_epsilon(getattr(…)), a function added to the script",
        "class_of_text",
        BEHAVIOUR,
        "TensorFlow 1's RMSprop added epsilon to the square root, Keras 3 adds it inside the square root.",
    ),
    "optimizer_word": Row(
        "compile(optimizer='adagrad')",
        "OuterEpsilonAdagrad(learning_rate=0.001, initial_accumulator_value=0.0)",
        "optimizer_word",
        BEHAVIOUR,
        "By name, TensorFlow 1 started with a zero accumulator.",
    ),
    "optimizer_of_text": Row(
        "compile(optimizer=name)",
        "compile(optimizer=optimizer_of(name)), by a function added to the script",
        "optimizer_of_text",
        BEHAVIOUR,
        "For some names, TensorFlow 1 made an optimizer with another epsilon or other settings.",
    ),
    "settings": Row(
        "Adam(**settings)",
        "optimizer_with(Adam, **settings), a function added to the script",
        "settings",
        REFUSED,
        "Settings may hold lr, decay and an epsilon of None, which Keras 3 refuses.",
    ),
    "loss_of_text": Row(
        "compile(loss=name)",
        "compile(loss=loss_of(name)), by a function added to the script",
        "loss_of_text",
        REFUSED,
        "Keras 3 knows some losses by another name only.",
    ),
    "metric_of_text": Row(
        "compile(metrics=names)",
        "compile(metrics=metric_of(names)), by a function added to the script",
        "metric_of_text",
        BEHAVIOUR,
        "Keras 3 knows some metrics by another name only, or logs them under another one.",
    ),
    "validation_generator": Row(
        "fit_generator(validation_data=generator)",
        "a Sequence with a fixed number of batches, added to the script",
        "validation_generator",
        BEHAVIOUR,
        ("Keras 3 reads more batches than it evaluates, so every epoch sees different ones."),
    ),
    "constant": Row(
        "K.ones(shape) in a function",
        "tf.ones(shape)",
        "constant",
        BEHAVIOUR,
        "It creates a variable, which a tf.function may do only once.",
    ),
    "tensor_operation": Row(
        "tf.reshape(layer(x), …)",
        "a Lambda layer, by a function written into the script",
        "as_layer",
        GRAPH,
        "TensorFlow operations do not accept symbolic Keras tensors.",
    ),
    "gradients": Row(
        "K.gradients(model.output, model.input)",
        "a layer with a tf.GradientTape, by a function added to the script",
        "model_gradients",
        GRAPH,
    ),
    "positional": Row(
        "layer(x, True, mask) of a class of the script",
        "layer(x, training=True, mask=mask)",
        "positional",
        REFUSED,
        "Keras 3 takes tensors alone by position.",
        keras_2=True,
    ),
    "add_metric": Row(
        "model.add_metric(tensor, name='name')",
        "update_state in the call of a layer, by a class written into the script",
        "add_metric",
        GRAPH,
        keras_2=True,
    ),
    "add_loss": Row(
        "model.add_loss(tensor)",
        "add_loss in the call of a layer, by a class written into the script",
        "add_loss",
        GRAPH,
        keras_2=True,
    ),
    "added_layers": Row(
        "len(model.layers) after model.add_loss(tensor)",
        "",
        "",
        BEHAVIOUR,
        "TensorFlow 1 added a layer for each operation of the tensor, behind the others.",
        tf1=True,
    ),
    "application_layers": Row(
        "MobileNetV2().layers[:100]",
        "",
        "",
        BEHAVIOUR,
        "TensorFlow up to 2.3 had the layer Conv1_pad (MobileNet: conv1_pad and reshape_1), so that the layers "
        "after it had other places; it named last layers fc1000, probs, Logits and act_softmax.",
    ),
    "application_sides": Row(
        "MobileNet(input_shape=(101, 101, 3))",
        "",
        "",
        BEHAVIOUR,
        "TensorFlow up to 2.3 padded below and to the right alone, Keras 3 an odd side before too.",
    ),
    "metric_function": Row(
        "tf.keras.metrics.get('mae')",
        "metric_function('mae'), a function added to the script",
        "metric_function",
        BEHAVIOUR,
        "Keras 2 gave a function of each row; Keras 3 gives an object with a mean.",
        keras_2=True,
    ),
    "accuracy_of_rows": Row(
        "tf.keras.metrics.binary_accuracy(y_true, y_pred)",
        "tf.reduce_mean(tf.keras.metrics.binary_accuracy(y_true, y_pred), axis=-1)",
        "mean_of_rows",
        BEHAVIOUR,
        "Keras 2 gave the mean of each row; Keras 3 gives one value of each number.",
        keras_2=True,
    ),
    "made_of_text": Row(
        "tf.keras.initializers.get('he_normal').get_config()",
        "",
        "",
        BEHAVIOUR,
        "Keras 3 has other classes for some texts, and other entries.",
    ),
    "serialized": Row(
        "tf.keras.losses.serialize(tf.keras.losses.mse)",
        "",
        "",
        BEHAVIOUR,
        "Keras 3 gives a dictionary; Keras 2 gave the name.",
        keras_2=True,
    ),
    "graph_mode": Row(
        "tf.compat.v1.disable_eager_execution()",
        "nothing, where the program builds no graph of its own",
        "graph_mode",
        GRAPH,
        "Keras 3 trains in eager mode only.",
        keras_2=True,
    ),
    "tensor_shape": Row(
        "x.get_shape().as_list(), x.shape.ndims",
        "list(x.shape), len(x.shape)",
        "tensor_shape",
        GONE,
    ),
    "variables": Row(
        "model.variables of a model with dropout or recurrent layers",
        "model.weights",
        "member",
        BEHAVIOUR,
        _SEEDS,
        keras_2=True,
    ),
    "stateful": Row(
        "layer.stateful", "getattr(layer, 'stateful', False)", "stateful", GONE, keras_2=True
    ),
    "compiled_loss": Row(
        "self.compiled_loss(y, y_pred) in train_step",
        "compiled_loss(self, y, y_pred), by a function added to the script",
        "compiled_loss",
        BEHAVIOUR,
        "Keras 3 leaves the loss out of the logs.",
        keras_2=True,
    ),
    "compiled_metrics": Row(
        "self.compiled_metrics.update_state(y, y_pred) in train_step",
        "update_metrics(self, y, y_pred), by a function added to the script",
        "compiled_metrics",
        BEHAVIOUR,
        "Keras 3 logs the mean of y_pred as the loss.",
        keras_2=True,
    ),
    "variable_value": Row(
        "layer.kernel.read_value()", "layer.kernel.value", "variable_value", GONE, keras_2=True
    ),
    "dtype_name": Row(
        "model.input.dtype.name",
        "tf.as_dtype(model.input.dtype).name",
        "as_dtype",
        GONE,
        keras_2=True,
    ),
    "ndim": Row(
        "K.ndim(layer.output), K.dtype(layer.output)",
        "len(layer.output.shape), layer.output.dtype",
        "ndim",
        REFUSED,
        keras_2=True,
    ),
    "backend_variable": Row(
        "K.mean(layer.kernel)",
        "K.mean(tf.convert_to_tensor(layer.kernel))",
        "backend_variable",
        REFUSED,
        keras_2=True,
    ),
    "private": Row(
        "model._make_predict_function()",
        "model.make_predict_function()",
        "private",
        GONE,
        "Keras 3 has other private attributes.",
    ),
    "function": Row(
        "K.function([model.input], [layer.output])",
        "tf.keras.Model, by a function added to the script",
        "function",
        GRAPH,
    ),
    "trainable": Row(
        "model.trainable = False after compile",
        "the weights that were trainable at compile, by a function added to the script",
        "keep_trainable",
        BEHAVIOUR,
        "TensorFlow 1 kept the trainable weights from compile; Keras 3 checks them again.",
    ),
    "mode": Row(
        "EarlyStopping(monitor='val_f1')",
        "EarlyStopping(monitor='val_f1', mode='min')",
        "mode",
        BEHAVIOUR,
        "Only acc in the name meant that more is better; Keras 3 asks the metric, and fails without one.",
        tf1=True,
    ),
    "monitor_op": _MONITOR_OP,
    "restored": Row(
        "EarlyStopping(restore_best_weights=True)",
        "the same where it stops a training, by a class added to the script",
        "restored",
        BEHAVIOUR,
        "Keras 3 also restores the best weights at the end of a training that was not stopped.",
        tf1=True,
    ),
    "shared_optimizer": Row(
        "two models compiled with one optimizer",
        "an optimizer that is built for the weights of both, by a function added to the script",
        "share_optimizer",
        BEHAVIOUR,
        "Keras 3 builds an optimizer for the first weights that it trains, and refuses others.",
    ),
    "optimizer_in_weights": Row(
        "load_weights('w.h5') in a program that trains on",
        "the same without the optimizer, by a function added to the script",
        "layers_only",
        BEHAVIOUR,
        "Weights files of Keras 3 hold the optimizer's state and learning rate, which load_weights restores.",
    ),
    "params": Row(
        "callback.params['samples']",
        "",
        "",
        GONE,
        "Keras 3 provides verbose, epochs and steps, which was None for arrays.",
    ),
    "module": Row(
        "build(tf.keras)",
        "",
        "",
        GONE,
        "What is taken from a module of Keras that is given away is unknown: compare it with this list.",
        keras_2=True,
    ),
    "standalone": Row(
        "from keras.preprocessing.text import Tokenizer",
        "from tensorflow.keras.preprocessing.text import Tokenizer",
        "standalone",
        GONE,
        "The keras package no longer has it; tf.keras does.",
    ),
}
