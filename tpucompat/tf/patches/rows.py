"""Every patch of TensorFlow, Keras and NumPy: one row each, in the order in which a group is applied."""

from __future__ import annotations

import functools
import importlib
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.version import Version

# The groups, and when each is applied.
GRAPH = "in graph mode"
SEVERAL_CORES = "in graph mode, on several cores"
TPU = "in graph mode, on a TPU"
LIBRARIES = "at the script's first use of TensorFlow"
GRAPH_KERAS = "at the first use of TensorFlow by a script of TensorFlow 1"
EAGER_KERAS = "at the first use of TensorFlow by a script of TensorFlow 2"
ON_DEMAND = "when a script needs it"

#: All releases.
ALL = ""
#: Libraries whose module has another name.
_MODULES = {"protobuf": "google.protobuf"}


class Patch(NamedTuple):
    """A patch.

    Attributes:
      make: ``module:function`` of what replaces the targets; marked by ``@patches.patch``.
      group: When it is applied.
      releases: Those in which it replaces something, of TensorFlow where no other library is named.
      targets: What it replaces: patterns of ``module.Class.attribute``, whichever of them a release has.
      why: What it is for.
    """

    make: str
    group: str
    releases: str
    targets: tuple[str, ...]
    why: str

    def is_needed(self) -> bool:
        """Whether the installed release is one of them; imports the library where that is the question."""
        return self.releases == ALL or _is_installed(self.releases)


@functools.lru_cache(maxsize=None)  # patches ask at each call of what they are for
def _is_installed(releases: str) -> bool:
    needed = Requirement(releases if releases[0].isalpha() else "tensorflow" + releases)
    library = importlib.import_module(_MODULES.get(needed.name, needed.name))
    return needed.specifier.contains(Version(library.__version__).base_version)


ROWS = (
    # Graph mode -----------------------------------------------------------------------------------
    Patch(
        "tpucompat.engines.session:quieten",
        GRAPH,
        ">=2.0",
        ("tensorflow.python.util.deprecation._PRINT_DEPRECATION_WARNINGS", "warnings.filters"),
        "Silences the warnings that tell the author of an old script to write a new one.",
    ),
    Patch(
        "tpucompat.tf.private.graphs:forget_eager_start",
        GRAPH,
        ">=2.0",
        ("Context._context_switches",),
        "tf.init_scope lifts out of functions into the graph, in every thread.",
    ),
    Patch(
        "tpucompat.tf.private.operations:complete_api",
        GRAPH,
        "==1.13.*",
        ("tensorflow*.nest", "tensorflow*.raw_ops"),
        "Adds tf.nest and tf.raw_ops, which became public in 1.14.",
    ),
    Patch(
        "tpucompat.tf.private.keras:average_masked_losses_over_all",
        GRAPH,
        ">=2.10",
        ("*.losses_utils.apply_valid_mask",),
        "Keras divides the loss of a masked sequence by all its steps, as TensorFlow 1.15 did.",
    ),
    Patch(
        "tpucompat.tf.private.keras:normalize_without_masks",
        GRAPH,
        ">=2.6",
        ("*.BatchNormalizationBase.__init_subclass__",),
        "A subclass of BatchNormalization may define _moments without a mask.",
    ),
    Patch(
        "tpucompat.tf.private.keras:threshold_within_wrappers",
        GRAPH,
        ">=2.4",
        ("*.ThresholdedReLU.call",),
        "TimeDistributed takes a ThresholdedReLU.",
    ),
    Patch(
        "tpucompat.tf.private.keras:feed_missing_axes",
        GRAPH,
        ">=2.0",
        ("*.backend.*Function._make_callable",),
        "A target without its last axis may be fed where the graph takes that axis off again.",
    ),
    Patch(
        "tpucompat.tf.private.keras_training:take_iterators",
        GRAPH,
        ">=1.15",
        ("*.Model._select_training_loop",),
        "fit, evaluate and predict take an iterator over a Dataset, as up to 1.14.",
    ),
    Patch(
        "tpucompat.tf.private.keras_training:give_validation_data",
        GRAPH,
        ALL,
        ("*.fit_loop", "*.fit_generator"),
        "A script's callback reads the validation's arrays as self.validation_data.",
    ),
    Patch(
        "tpucompat.tf.private.saving:write_graphs_with_any_protobuf",
        GRAPH,
        "protobuf>=7",
        ("tensorflow.python.framework.graph_io.text_format",),
        "tf.train.write_graph works with protobuf 7.",
    ),
    Patch(
        "tpucompat.tf.private.keras:write_all_h5_files_alike",
        GRAPH,
        ">=2.12",
        ("*.Model.save_weights", "*.Model.load_weights"),
        "Models of graphs write and read x.weights.h5 as every other .h5 file.",
    ),
    Patch(
        "tpucompat.tf.private.keras:name_recurrent_weights_by_layer",
        GRAPH,
        ">=2.2",
        ("*.layers.recurrent.*", "*.layers.rnn.*.backend"),
        "The weights of a recurrent layer are named lstm/kernel, as in checkpoints of TensorFlow 1.15.",
    ),
    Patch(
        "tpucompat.tf.private.keras:forget_masks_of_convolutional_cells",
        GRAPH,
        ">=2.0",
        ("*.call",),
        "A ConvLSTM2D draws its dropout again whenever it is called.",
    ),
    Patch(
        "tpucompat.tf.private.keras:name_losses_like_tensorflow_1",
        GRAPH,
        ">=2.0",
        ("*.__name__",),
        "Keras' loss functions have the names of 1.15, from which the names of metrics follow.",
    ),
    Patch(
        "tpucompat.tf.private.variables:count_resource_variables_as_variables",
        GRAPH,
        ">=2.11",
        ("tensorflow.compat.v1.Variable.register",),
        "isinstance(variable, tf.Variable) holds for resource variables.",
    ),
    Patch(
        "tpucompat.tf.private.variables:let_graph_variables_be_true",
        GRAPH,
        ALL,
        ("*ResourceVariable.__bool__",),
        "A variable of a graph is true, as in `average if average else variable`.",
    ),
    Patch(
        "tpucompat.tf.private.graphs:make_eager_tensors_hashable",
        GRAPH,
        ">=2.13",
        ("tensorflow.python.framework.ops._EagerTensorBase.__hash__",),
        "Eager tensors can be keys by their identity, as graph tensors are.",
    ),
    Patch(
        "tpucompat.tf.private.graphs:accept_whole_numbers_as_dimensions",
        GRAPH,
        ">=2.0",
        ("tensorflow.python.framework.tensor_shape.Dimension.__init__",),
        "A static shape may have 256.0 for a dimension.",
    ),
    Patch(
        "tpucompat.tf.private.graphs:give_specs_their_sizes",
        GRAPH,
        ">=2.9",
        ("*.TensorSpec._shape_tuple",),
        "tf.TensorSpec has _shape_tuple, which subclasses of the time compare.",
    ),
    Patch(
        "tpucompat.tf.private.variables:complete_resource_variables",
        GRAPH,
        ALL,
        ("*ResourceVariable.*", "*.DistributedVariable.load"),
        "Resource variables have the methods of reference variables.",
    ),
    Patch(
        "tpucompat.tf.private.inputs:read_no_element_ahead",
        GRAPH,
        ">=2.10",
        ("tensorflow.python.data.ops.dataset_ops.DatasetV2._apply_debug_options",),
        "An iterator asks its dataset for an element only when somebody asks the iterator.",
    ),
    Patch(
        "tpucompat.engines.variables:show_values",
        GRAPH,
        ALL,
        (
            "tensorflow.python.client.session._REGISTERED_EXPANSIONS",
            "tensorflow.python.framework.ops.Graph.get_tensor_by_name",
        ),
        "Sessions and graphs know a resource variable by the names of a reference variable.",
    ),
    Patch(
        "tpucompat.tf.private.graphs:change_inputs_of_imports",
        ON_DEMAND,
        ALL,
        ("tensorflow.python.framework.importer.*",),
        "The input_map of an imported graph may name the value of a variable.",
    ),
    Patch(
        "tpucompat.engines.operation_seeds:install_tf1_computations",
        GRAPH,
        ">=2.0,<2.6",
        ("tensorflow*", "*keras*"),
        "Computes with the operations of 1.15 where today's give other numbers.",
    ),
    Patch(
        "tpucompat.engines.operation_seeds:install_tf1_op_seeds",
        GRAPH,
        ">=2.6",
        ("tensorflow*", "*keras*", "dict.type"),  # a gradient is in a dictionary of TensorFlow's
        "Random operations of a graph have the seeds that they have in 1.15.",
    ),
    Patch(
        "tpucompat.engines.repeated_shuffles:install_tf1_shuffles",
        GRAPH,
        ">=2.6",
        ("tensorflow.python.ops.gen_dataset_ops.*repeat_dataset",),
        "shuffle().repeat() has the order that it has in 1.15.",
    ),
    Patch(
        "tpucompat.engines.local_devices:watch",
        GRAPH,
        ALL,
        ("tensorflow.python.client.session.BaseSession._extend_graph",),
        "Operations on devices of another job run on this machine.",
    ),
    Patch(
        "tpucompat.tf.private.gradients:gate_gradients",
        ON_DEMAND,
        ALL,
        ("tensorflow.python.ops.gradients*._GradientsHelper",),
        "tf.gradients finishes an operation's gradients together, where reference variables are.",
    ),
    Patch(
        "tpucompat.tf.private.operations:shape_convolutions_of_no_examples",
        ON_DEMAND,
        ">=2.9",  # the first release that computes with oneDNN by itself
        ("tensorflow.python.ops.gen_nn_ops.*conv*",),
        "A replica without examples gets the shape of a convolution, which oneDNN's kernels do not give.",
    ),
    # Several cores, and TPUs ------------------------------------------------------------------------
    Patch(
        "tpucompat.engines.coherence:watch",
        SEVERAL_CORES,
        ALL,
        ("tensorflow.python.client.session.BaseSession.*",),
        "A session's variables and the replicas' copies stay the same.",
    ),
    Patch(
        "tpucompat.engines.tpu_devices:keep_sessions_off",
        TPU,
        ALL,
        ("tensorflow.python.client.session.BaseSession._extend_graph",),
        "No Session places an operation on a TPU.",
    ),
    Patch(
        "tpucompat.tf.private.inputs:leave_replica_inputs_untuned",
        ON_DEMAND,
        ">=2.0",
        ("tensorflow.python.data.ops.multi_device_iterator_ops.*",),
        "The inputs of replicas end at once, and not in minutes.",
    ),
    Patch(
        "tpucompat.tf.private.rehearsal:replicate_by",
        ON_DEMAND,
        ">=2.15",
        ("tensorflow.python.distribute.tpu_strategy.tpu",),
        "A rehearsed TPUStrategy calls our tpu.replicate.",
    ),
    Patch(
        "tpucompat.idioms.computations.far_feeds:watch_lanes",
        ON_DEMAND,
        ALL,
        ("tensorflow.python.client.session.BaseSession.*",),
        "An infeed that another graph fills begins and ends with the Sessions of that graph.",
    ),
    Patch(
        "tpucompat.idioms.startup.distribute:take_partial_batches",
        ON_DEMAND,
        ALL,
        ("*.get_input_params",),
        "Keras evaluates numbers of examples that the batch does not divide, as on a TPU.",
    ),
    # Estimators -------------------------------------------------------------------------------------
    Patch(
        "tpucompat.idioms.tpu_estimator.estimator:open_sessions_here",
        ON_DEMAND,
        ALL,
        ("*.maybe_overwrite_model_dir_and_session_config",),
        "Estimators with a RunConfig open their Sessions on this machine.",
    ),
    Patch(
        "tpucompat.idioms.estimator:write_variables_last",
        ON_DEMAND,
        ALL,
        ("*.Estimator*._call_model_fn",),
        "A training step of an Estimator reads its variables before it writes them.",
    ),
    Patch(
        "tpucompat.idioms.estimator:export_only_what_is_better",
        ON_DEMAND,
        ALL,
        ("*.BestExporter.__init__",),
        "A BestExporter that restarts compares with the event files.",
    ),
    # Keras and NumPy ----------------------------------------------------------------------------------
    Patch(
        "tpucompat.tf.private.functions:leave_package_to_itself",
        LIBRARIES,
        ">=1.15",
        ("tensorflow*.autograph.core.config.CONVERSION_RULES",),
        "AutoGraph calls the functions of tpucompat as they are.",
    ),
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
    # Classes and functions that the script alone sees changed -----------------------------------------
    Patch(
        "tpucompat.standins.attributes:restore_attribute",
        ON_DEMAND,
        ALL,
        (
            *("PIL.*", "array.*", "builtins.*", "h5py.*", "numpy.*"),
            *("pandas.*", "threading.*", "unittest.*", "xml.*"),
        ),
        "Classes of libraries and of Python have the methods that they have lost, for the script alone.",
    ),
    Patch(
        "tpucompat.standins.python2_names:give_encoding",
        ON_DEMAND,
        ALL,
        ("sys.setdefaultencoding",),
        "A sys that a script reloads has setdefaultencoding, as in Python 2; it does nothing.",
    ),
    Patch(
        "tpucompat.standins.array_numbers:accept_arrays_as_numbers",
        ON_DEMAND,
        ALL,
        ("numpy.ndarray.__*__*", "builtins.chr"),
        "float(), bool() and chr() take the arrays that they took, in the script alone.",
    ),
    Patch(
        "tpucompat.standins.pandas_names:keep_text_as_objects",
        ON_DEMAND,
        "pandas>=3.0",
        ("pandas.options.future.infer_string",),
        "pandas 3 reads text into columns of dtype object.",
    ),
    Patch(
        "tpucompat.runtime.paths.redirection:map_paths",
        ON_DEMAND,
        ALL,
        (
            *("tensorflow*", "h5py*"),
            *(
                "*keras*.Support*Remote.__init__",
                "*keras*._support_gcs_uri",
            ),  # of Keras 3 beside it
        ),
        "Paths such as gs://... lead to local folders (--map).",
    ),
    Patch(
        "tpucompat.runtime.smoke:enable",
        ON_DEMAND,
        ALL,
        ("*.Model.*", "*.Estimator*.*"),
        "Training, evaluation and prediction stop after a few steps (--smoke).",
    ),
)
