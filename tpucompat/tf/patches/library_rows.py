"""The patches of Keras and NumPy: one row each, in the order in which a group is applied."""

from __future__ import annotations

from tpucompat.tf.patches.row import ALL, EAGER_KERAS, GRAPH_KERAS, LIBRARIES, ON_DEMAND, Patch

LIBRARY_ROWS = (
    Patch(
        "tpucompat.standins.numpy_names:print_numbers_like_numpy_1",
        LIBRARIES,
        "numpy>=2.0",
        ("numpy.set_printoptions.legacy",),
        "NumPy 2 prints its scalars as NumPy 1 did: 0.5 instead of np.float32(0.5).",
    ),
    Patch(
        "tpucompat.standins.keras_names:restore_methods",
        LIBRARIES,
        ALL,
        (
            *("*keras*.Layer.apply", "*keras*.Layer._layers", "*keras*.Sequential.predict_*"),
            *("*keras*.Model.to_yaml", "*keras*.__name__", "*keras*.__qualname__"),
            *("*keras*.RepeatVector.__init__", "*keras*.ImageDataGenerator.flow_from_dataframe"),
        ),
        "Keras' classes have the methods that they have lost.",
    ),
    Patch(
        "tpucompat.tf.private.keras:take_inputs_of_updates",
        LIBRARIES,
        ">=2.3",
        ("*.Layer.add_update", "*.Layer.add_loss"),
        "add_update and add_loss of a layer may be given its inputs in the second place.",
    ),
    Patch(
        "tpucompat.standins.keras1_arguments:accept_keras_1_arguments",
        LIBRARIES,
        ALL,
        ("*.__init__", "*.__new__", "*.Model.*", "*.Layer.add_weight"),
        "Keras' layers and models take the arguments of Keras 1.",
    ),
    Patch(
        "tpucompat.standins.keras_positions:accept_old_positions",
        LIBRARIES,
        ALL,
        (
            *("*.__init__", "*.Model.*", "*.Layer.add_metric"),
            *("*.save_model", "*.model_to_dot", "*.plot_model"),
        ),
        "Keras' classes, methods and functions take their arguments in the order of 1.15.",
    ),
    Patch(
        "tpucompat.standins.standalone_keras:take_arguments_of_the_package",
        LIBRARIES,
        ALL,
        ("*.__init__", "*.Model.*", "*.layers.Input", "*.Callback.on_train_batch_*"),
        "Keras takes positions, defaults and kernels of the package keras from modules that import it.",
    ),
    Patch(
        "tpucompat.idioms.startup.early_tf2:restore_methods",
        LIBRARIES,
        ">=2.4",
        ("*.Strategy*.experimental_*",),
        "Strategies have the methods that they have lost since 1.15 and 2.0.",
    ),
    Patch(
        "tpucompat.standins.own_optimizers:accept_old_optimizers",
        GRAPH_KERAS,
        ">=1.14",
        ("*.__init_subclass__",),
        "A script's optimizer may be of the older kind, with get_updates.",
    ),
    Patch(
        "tpucompat.standins.own_layers:accept_old_layers",
        GRAPH_KERAS,
        ALL,
        ("*.add_weight", "*trainable_weights"),
        "A script's layer may give a weight's shape first, and assign its lists of weights.",
    ),
    Patch(
        "tpucompat.standins.keras_models:make_one_class",
        GRAPH_KERAS,
        ">=2.3",
        ("*.Functional.__new__", "*.Functional._tpucompat_class"),
        "type(model) is keras.Model holds for models of layers.",
    ),
    Patch(
        "tpucompat.standins.keras_losses:register",
        GRAPH_KERAS,
        ">=2.0",
        ("dict.cosine*",),
        'compile(loss="cosine_proximity") computes what 1.15 did, and "cosine" what 1.13 did.',
    ),
    Patch(
        "tpucompat.standins.keras_names:start_adagrad_from_zero",
        GRAPH_KERAS,
        ">=2.0",
        ("*.Adagrad.from_config",),
        'compile("adagrad") starts with sums of 0, as 1.15 did.',
    ),
    Patch(
        "tpucompat.engines.operation_seeds:take_no_logits_of_another_activation",
        EAGER_KERAS,
        ">=2.4",
        ("*.backend.*crossentropy", "*crossentropy"),
        "A cross entropy takes the logits of its own activation alone, as up to 2.3.",
    ),
    Patch(
        "tpucompat.standins.early_keras:restore_optimizer_names",
        EAGER_KERAS,
        ">=2.11",
        ("*.Model.compile",),
        'compile("rmsprop") makes the optimizer that the word meant up to 2.10.',
    ),
    Patch(
        "tpucompat.standins.early_keras:restore_columns_of_vectors",
        EAGER_KERAS,
        ">=2.7",
        ("*.Model.*_step", "*.Model.predict"),
        "fit, evaluate and predict make columns of vectors, as up to 2.6.",
    ),
    Patch(
        "tpucompat.standins.early_keras:accept_old_arguments",
        EAGER_KERAS,
        ">=2.0",
        ("*.Model.*",),
        "The methods of models take what they took in 2.0 and 2.1.",
    ),
    Patch(
        "tpucompat.standins.early_keras:restore_methods",
        EAGER_KERAS,
        ">=2.2",
        ("*.Model._*",),
        "Models have the methods of 2.0 and 2.1 that scripts called, private as they are.",
    ),
    Patch(
        "tpucompat.standins.eager_start:name_metrics_like_tensorflow_1",
        ON_DEMAND,
        ALL,
        ("*.Model.compile",),
        "In a TensorFlow 1 script that turns eager execution on, a metric is called acc.",
    ),
    Patch(
        "tpucompat.contrib.slim:complete_tf_slim",
        ON_DEMAND,
        ALL,
        ("tf_slim.*",),
        "tf-slim's modules have the names that they miss in TensorFlow's.",
    ),
)
