"""Every code that tpucompat reports, as data.

A code is stable: scripts, documentation and issue reports refer to it. 1xx: the symbol is gone; 2xx: it
lives elsewhere; 3xx: it behaves differently; 4xx: the environment or the command line; 5xx: Keras 3 and what
a migration leaves. The documentation
page of a code and ``tpucompat explain CODE`` are made from the row here.
"""

from __future__ import annotations

from typing import NamedTuple

#: Where the guide is published; pyproject.toml names it too.
GUIDE = "https://tpucompat.readthedocs.io/en/latest/"


class Code(NamedTuple):
    """One row: what went wrong in general, why, and what one does about it."""

    title: str
    why: str
    what_to_do: str


CODES: dict[str, Code] = {
    # 1xx: gone -----------------------------------------------------------------------------------
    "TPU101": Code(
        "A TensorFlow 1.x symbol with no replacement",
        "TensorFlow 2 removed this symbol, and tpucompat has no implementation that gives the same results.",
        "Use the alternative named in the message, or open an issue that quotes the line.",
    ),
    "TPU102": Code(
        "A name that TensorFlow 1.15 did not have either",
        "The script asks the old namespace for a name that does not exist in TensorFlow 1.15. For private "
        "modules (tensorflow.contrib.….python, tensorflow.python), tpucompat provides the names that known "
        "scripts use and those that still exist.",
        "Check the spelling and the TensorFlow version the script was written for. Replace a private name "
        "with its public counterpart.",
    ),
    "TPU110": Code(
        "A package that provides part of tf.contrib is not installed",
        "Parts of tf.contrib live on in separate packages: tf-slim (contrib.layers, slim, framework, "
        "metrics, losses) and tensorboard (contrib.tensorboard).",
        "Install the package with the command in the message.",
    ),
    "TPU103": Code(
        "An invalid argument to a tf.contrib function",
        "TensorFlow 1.15 rejected this argument with the same type of error.",
        "Read the message; the TensorFlow 1.15 documentation describes the argument.",
    ),
    # 2xx: elsewhere; what `tpucompat scan` finds -------------------------------------------------------
    "TPU201": Code(
        "A tf.contrib symbol that moved elsewhere in TensorFlow 2",
        "TensorFlow 2.0 removed tf.contrib. Its most useful parts moved into the core API.",
        "Use the new name; `tpucompat migrate` rewrites it.",
    ),
    "TPU202": Code(
        "A renamed symbol",
        "TensorFlow 2.0 reorganized its namespace. The function or class is the same.",
        "Use the new name; `tpucompat migrate` rewrites it.",
    ),
    "TPU203": Code(
        "A symbol that exists only in tf.compat.v1",
        "It belongs to graphs and sessions. TensorFlow 2 keeps it in tf.compat.v1 for old programs.",
        "Use tf.compat.v1; `tpucompat migrate` rewrites it. Do not use graphs and sessions in new code.",
    ),
    "TPU204": Code(
        "A name with a different meaning in TensorFlow 2",
        "TensorFlow 2 uses this name for a different function or class, with other arguments or results.",
        "Use tf.compat.v1 to keep the old one; `tpucompat migrate` rewrites it.",
    ),
    "TPU205": Code(
        "A private TensorFlow module",
        "Modules below tensorflow.python, and the python folders of tf.contrib, were never part of the "
        "public API.",
        "Use the public name, if there is one.",
    ),
    "TPU206": Code(
        "A symbol that only tpucompat still provides",
        "TensorFlow 2 removed it, and no other package keeps it. tpucompat implements it with TensorFlow "
        "1.15's results.",
        "Import it from tpucompat.v1; `tpucompat migrate` rewrites the import.",
    ),
    "TPU207": Code(
        "A symbol that moved to another package",
        "Parts of TensorFlow 1 live on in other packages: tf-slim (contrib.layers, slim, metrics, losses) "
        "and tf-keras (Keras 2 layers and cells).",
        "Install the package and use its name; `tpucompat migrate` rewrites it.",
    ),
    "TPU208": Code(
        "TPU start-up code from 2019",
        "Colab and TensorFlow used to connect to a TPU node over gRPC. Today the TPU is attached to the "
        "machine itself, and the strategy is no longer experimental.",
        "Use TPUClusterResolver(tpu='local'), initialize_tpu_system and tf.distribute.TPUStrategy; "
        "`tpucompat migrate` writes them.",
    ),
    "TPU211": Code(
        "keras_to_tpu_model",
        "TensorFlow 1.x converted a finished Keras model into a TPU model. In TensorFlow 2, a model that "
        "is built under a strategy runs on the TPU.",
        "Build and compile the model inside `with strategy.scope():`. `tpucompat migrate` does this, or copies "
        "the model there, if the program keeps using only the converted model.",
    ),
    "TPU212": Code(
        "TPUEstimator or tf.estimator",
        "TensorFlow 2.16 removed Estimators. Their model functions build graphs, and no automatic rewrite "
        "into a Keras model is known to be equivalent.",
        "Run `tpucompat migrate`: it keeps the model function and writes a training loop in TensorFlow 2 next "
        "to the script. What the loop does not cover stays on tpucompat.v1, with the reason.",
    ),
    "TPU213": Code(
        "A hand-built TPU computation",
        "batch_parallel, shard, replicate and rewrite run one computation on all cores of a TPU from a "
        "Session. The TensorFlow 2 equivalent is strategy.run inside a tf.function.",
        "Call the function with strategy.run and combine the results with strategy.reduce. `tpucompat "
        "migrate` does this for functions without side effects; tpucompat.v1 provides the old calls until "
        "then.",
    ),
    "TPU214": Code(
        "A removed method",
        "Keras or tf.data removed this method; its replacement has another name.",
        "Use the current method; `tpucompat migrate` rewrites the call if the arguments are the same.",
    ),
    "TPU215": Code(
        "Batch logs have a different meaning",
        "In TensorFlow 1, a callback's on_batch_end received the loss of that batch, beside metrics "
        "since the start of the epoch. In TensorFlow 2 the loss too is a mean since the start of the epoch.",
        "Compute the difference of the running sums, or return the loss of the step from your own "
        "train_step.",
    ),
    "TPU216": Code(
        "A changed default",
        "TensorFlow 2.0 changed the defaults of some Keras layers: LSTM and GRU use sigmoid instead of "
        "hard_sigmoid as recurrent_activation, and GRU applies the reset gate after the matrix product. "
        "Weights that were trained with the old defaults give different results.",
        "If the model is already trained, set the old default explicitly. Under Keras 3 this is lambda x: "
        "tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0), because its hard_sigmoid is a different function. "
        "Otherwise remove the comment.",
    ),
    "TPU217": Code(
        "The validation loss is averaged differently",
        "In TensorFlow 1, fit_generator took the mean of the batch losses, including a smaller last batch. "
        "In TensorFlow 2, fit weights each batch by its size, which gives the mean over the examples.",
        "Usually nothing. If the number has to match, choose a batch size that divides the number of "
        "examples.",
    ),
    "TPU218": Code(
        "A condition on the version of TensorFlow",
        "The script compares tf.__version__, or asks for a module such as tf.contrib. TensorFlow 2 takes the "
        "other branch, which ends the program or leaves a name undefined. A test for a minor version alone "
        "takes those of TensorFlow 2 for those of 1.",
        "Write the branch for TensorFlow 2, or remove the condition.",
    ),
    "TPU220": Code(
        "A name that Python or a library removed",
        "Python, NumPy, pandas, SciPy, scikit-learn and Pillow have removed many old names since 2018.",
        "Use the current name; `tpucompat migrate` rewrites it if there is one.",
    ),
    "TPU221": Code(
        "A call that a library computes or accepts differently",
        "NumPy, pandas, h5py and scikit-learn have changed arguments, defaults and types of results since "
        "2018: pandas 3 returns columns as copies, h5py 3 opens files read-only by default.",
        "Write the call as the message says; `tpucompat migrate` does this if the result is the same.",
    ),
    # 370-379: what a TPU does not like
    "TPU370": Code(
        "A shape that is unknown until the step runs",
        "TPU programs are compiled for fixed shapes. An unknown batch dimension, or an operation whose "
        "output size depends on the data, cannot be compiled or is recompiled for every new shape.",
        "Batch with drop_remainder=True. Use masks instead of tf.boolean_mask, tf.unique and tf.where with "
        "one argument.",
    ),
    "TPU373": Code(
        "The cores received values of different shapes",
        "All cores of a TPU run the same program, which is compiled for one shape per value.",
        "Batch with drop_remainder=True, or pad the last batch, so that every core receives the same "
        "number of examples.",
    ),
    "TPU371": Code(
        "A Python function inside the step",
        "tf.py_func runs in the host's Python interpreter, which a TPU program cannot call.",
        "Move it into the input pipeline, or rewrite it with TensorFlow operations.",
    ),
    "TPU372": Code(
        "File access inside the step",
        "The step runs on the TPU, which has no file system. The call would run once, during tracing.",
        "Move it into the input pipeline, or before the training loop.",
    ),
    "TPU374": Code(
        "An initial value that is computed inside the TPU computation",
        "Variables get their values before the computation runs. TensorFlow 1.15 refused such a tensor on a "
        "TPU too; on one replica and on emulated cores it is accepted.",
        "Pass a function that returns the tensor, an initializer such as tf.constant_initializer, or a NumPy "
        "array.",
    ),
    # 378-399: check
    "TPU378": Code(
        "No TPU computation was found",
        "The script ended before it built a TPU computation.",
        "Pass the arguments that make it train on a TPU (--use_tpu=True), and the data that it reads.",
    ),
    "TPU379": Code(
        "The TPU compiler is not installed",
        "libtpu can compile for a TPU on a machine without one. It is a Google product under the Google "
        "Cloud terms of service and the license in its wheel, for Linux on x86-64. tpucompat does not "
        "bundle it.",
        "Read its license, then run: python -m pip install libtpu.",
    ),
    "TPU380": Code(
        "An unknown TPU type",
        "tpucompat check identifies a TPU by its generation and size, as Google Cloud does.",
        "Use one or more of v2-8, v3-8, v4-8, v5e-1, v5e-4, v5e-8, v5p-8, v6e-1, v6e-4, v6e-8.",
    ),
    "TPU381": Code(
        "An operation that is unsupported on TPU",
        "The XLA compiler for TPUs has no kernel for this operation.",
        "Replace it with supported operations, move it to the input function, or run it on the host with "
        "tf.contrib.tpu.outside_compilation.",
    ),
    "TPU382": Code(
        "More shards than cores",
        "shard, batch_parallel or replicate requests more copies than the TPU has cores. The two cores of "
        "a v4 or v5p chip count as one.",
        "Set num_shards to the number of cores, or choose a larger TPU.",
    ),
    "TPU383": Code(
        "Strings or file access inside a TPU computation",
        "TPUs process numeric data only.",
        "Do this in the input function, which runs on the host CPU.",
    ),
    "TPU384": Code(
        "A summary inside a TPU computation",
        "The cores cannot write files, and tf.summary has no TPU kernel.",
        "Return the value from the computation, and write the summary in host_call or in a callback.",
    ),
    "TPU385": Code(
        "Printing inside a TPU computation",
        "The cores have no console.",
        "Remove the print, or return the value and print it on the host.",
    ),
    "TPU386": Code(
        "A lookup table, queue or iterator inside a TPU computation",
        "These live in host memory.",
        "Look up words and read data in the input function.",
    ),
    "TPU387": Code(
        "A sparse or ragged value inside a TPU computation",
        "Its size is unknown when the program is compiled.",
        "Convert it to a dense tensor of fixed size in the input function.",
    ),
    "TPU388": Code(
        "A data-dependent size",
        "A TPU program is compiled once, for fixed shapes.",
        "Keep the size fixed: use tf.where with three arguments, tf.nn.top_k, or padding and a mask.",
    ),
    "TPU389": Code(
        "A reference variable inside a TPU computation",
        "TPU programs support resource variables only.",
        "Create the variable with tf.get_variable(..., use_resource=True).",
    ),
    "TPU390": Code(
        "A dtype that is unsupported on TPU",
        "The operation exists on TPUs, but not for this dtype (complex128 or string, for example).",
        "Cast to float32, bfloat16 or int32.",
    ),
    "TPU391": Code(
        "An unknown dimension",
        "A dimension of an input is None, usually the batch dimension. TPU programs are compiled for fixed "
        "shapes.",
        "Batch with drop_remainder=True, and give every placeholder a static shape.",
    ),
    "TPU392": Code(
        "A size that is computed inside the step",
        "An argument that determines a shape or an axis has to be a compile-time constant.",
        "Compute it in Python from static shapes.",
    ),
    "TPU393": Code(
        "The gradient of a loop with an unknown trip count",
        "The gradient stores a value for every iteration, in memory that is allocated at compile time.",
        "Pass a constant maximum_iterations to tf.while_loop.",
    ),
    "TPU394": Code(
        "Values that change shape or dtype",
        "Both branches of a conditional, and all iterations of a loop, must produce the same shapes and "
        "dtypes.",
        "Pad or cast the values so that they match.",
    ),
    "TPU395": Code(
        "Rejected by the XLA compiler",
        "TensorFlow's XLA compiler, or libtpu, rejects the computation.",
        "Read the compiler's message, and change the line that it names.",
    ),
    "TPU396": Code(
        "A placeholder inside a TPU computation that receives no value",
        "The feed_dict of Session.run reaches the host graph only.",
        "Pass the value through the inputs of the computation, or through the input function.",
    ),
    "TPU397": Code(
        "A computation that cannot be traced",
        "The script's function raised an error during tracing.",
        "Fix the line that the message names.",
    ),
    "TPU398": Code(
        "A program that exceeds the TPU's memory",
        "Variables, batch and intermediate values of one core need more memory than a core has.",
        "Reduce the batch size, use bfloat16, or choose a TPU with more memory per core.",
    ),
    "TPU399": Code(
        "Batches that do not split evenly across the cores",
        "The last batch is smaller, or the batch size is not a multiple of the number of cores.",
        "Batch with drop_remainder=True, and choose a batch size that is a multiple of the number of cores.",
    ),
    # 3xx: behaviour ------------------------------------------------------------------------------
    "TPU360": Code(
        "A TPU computation depends on a placeholder that has no value",
        "The traced step reads a placeholder that is not one of its inputs. Replicas have no feed_dict.",
        "Pass the value through the input function or the inputs of the computation, or replace the "
        "placeholder with a constant or tf.placeholder_with_default.",
    ),
    "TPU361": Code(
        "An operation that cannot run on several replicas",
        "Reference variables, queues, iterators and lookup tables belong to the host's Session. Infeed, "
        "outfeed and direct exchange between cores are not available in a tf.distribute step.",
        "Use resource variables, read data through the input function, look up words in the input "
        "pipeline, and exchange values between cores with sums. Or run on one replica (TPUCOMPAT_CORES=1).",
    ),
    "TPU362": Code(
        "A cross-replica sum inside a loop or function",
        "Replicas synchronize between the stages of a step, and a stage contains its loops and functions "
        "as a whole.",
        "Move the sum out of the loop or function: accumulate inside, and sum afterwards.",
    ),
    "TPU363": Code(
        "A cycle in the traced graph that is not a loop",
        "Some nodes depend on each other, with no NextIteration node between them.",
        "The graph was edited, or is corrupt. Rebuild it.",
    ),
    "TPU364": Code(
        "A cross-replica sum whose groups are unknown at trace time",
        "The group assignment determines which cores are summed together, and must be a constant.",
        "Pass a Python list as the group assignment of cross_replica_sum.",
    ),
    "TPU365": Code(
        "A variable without a value",
        "Replicas copy their variables from the host before the first step. This variable had no value "
        "there: it was never initialized, or was created after the initializer ran.",
        "Create the variable inside the model function, or initialize it in the scaffold.",
    ),
    "TPU366": Code(
        "The fed values do not match the replicas",
        "Every replica needs one value for every input of the step.",
        "Feed one set of inputs per replica of the strategy.",
    ),
    "TPU367": Code(
        "A batch does not split evenly across the cores",
        "A global batch is split into equal parts along its first axis.",
        "Make the batch size a multiple of the number of cores, and batch with drop_remainder=True.",
    ),
    "TPU368": Code(
        "A value does not match the shape of a variable",
        "Replicas copy their variables from the host, where this variable has a different shape.",
        "Restore a checkpoint of this model, or rename the new variable.",
    ),
    # 319-339: tf.estimator, TPUEstimator -------------------------------------------------------------
    "TPU319": Code(
        "Embedding tables and features do not match",
        "The description of the tables, the features or their optimizer is out of range or refers to "
        "something that does not exist.",
        "Correct the arguments of TableConfig, FeatureConfig or EmbeddingConfigSpec, or the optimizer "
        "parameters.",
    ),
    "TPU320": Code(
        "An Estimator with a multi-machine strategy",
        "TensorFlow 2.16 removed the coordinator that starts tf.estimator on every machine of a cluster.",
        "Train on one machine, or on TensorFlow 2.15. TPUEstimator does not need train_distribute.",
    ),
    "TPU321": Code(
        "Embedding tables need emulated cores or GPUs",
        "TensorFlow 2.16 removed the API behind embedding_config_spec on TPUs, and TensorFlow 1 has no "
        "cores other than a TPU's. On TensorFlow 2, tpucompat computes the tables on CPUs and GPUs.",
        "Train on one replica or with --cores N on TensorFlow 2. In new code, use "
        "tfrs.layers.embedding.TPUEmbedding.",
    ),
    "TPU322": Code(
        "The latest checkpoint is incomplete",
        "One of its files, or the file `checkpoint` that names it, is missing, truncated or modified. The "
        "machine may have stopped while writing, or the disk was full. Training resumes from the previous "
        "checkpoint.",
        "Nothing; the steps after that checkpoint are repeated.",
    ),
    "TPU324": Code(
        "A hook fetches a value that exists only on the cores",
        "The model function of TPUEstimator runs on the cores. The host sees the loss, the global step, "
        "the outputs of host_call and the variables.",
        "Pass the value to the host through host_call, or log it with use_tpu=False.",
    ),
    "TPU325": Code(
        "A training step without a cross-replica sum",
        "Each core would train its own model on its part of the batch.",
        "Wrap the optimizer: tf.contrib.tpu.CrossShardOptimizer(optimizer).",
    ),
    "TPU326": Code(
        "scaffold_fn uses a tensor of the model function",
        "scaffold_fn runs on the host, which cannot see tensors on the cores.",
        "Create what it needs inside scaffold_fn. Variables are available there.",
    ),
    "TPU327": Code(
        "num_shards differs from the number of replicas",
        "TPUConfig gives the size of the TPU that the script was written for. This process has a different "
        "number of devices.",
        "Nothing; batches are split across the available replicas. Set TPUCOMPAT_CORES to change their "
        "number.",
    ),
    "TPU328": Code(
        "Another process trains in the model directory",
        "Each of the two would write over the other's checkpoints and remove them.",
        "End the other process, or give this one a model_dir of its own.",
    ),
    "TPU329": Code(
        "A batch size that TPUEstimator cannot use",
        "train_batch_size, eval_batch_size and predict_batch_size are global batch sizes, split evenly "
        "across the replicas. Each one is required for the method that uses it.",
        "Pass integers that are multiples of the number of replicas.",
    ),
    "TPU330": Code(
        "The model function returned the wrong type",
        "TPUEstimator requires a TPUEstimatorSpec, at least for evaluation and prediction.",
        "Return tf.contrib.tpu.TPUEstimatorSpec(mode=mode, ...) in every mode.",
    ),
    "TPU331": Code(
        "Invalid host_call or eval_metrics",
        "Each is a pair: a function that runs on the host, and its tensors, as a list (positional "
        "arguments) or a dictionary (keyword arguments). The tensors of all replicas are concatenated "
        "along the first axis.",
        "Pass (function, [tensors]) with one tensor per argument, of rank 1 or higher: tf.reshape(loss, [1]).",
    ),
    "TPU332": Code(
        "Predictions that cannot be collected from the replicas",
        "The predictions of all replicas are concatenated along the first axis, which is the batch.",
        "Return a dictionary of tensors whose first dimension is the static batch size.",
    ),
    "TPU333": Code(
        "An invalid input function",
        "TPUEstimator calls input_fn(params), and each replica needs batches of one static shape.",
        "Accept `params`, return a Dataset with batch(params['batch_size'], drop_remainder=True), and give "
        "the features static shapes.",
    ),
    "TPU334": Code(
        "The number of steps is missing",
        "On a TPU, the host tells the cores how many steps to run.",
        "Pass steps or max_steps to train, and steps to evaluate.",
    ),
    "TPU335": Code(
        "Invalid TPUEstimator configuration",
        "TPUEstimator requires a tf.contrib.tpu.RunConfig with a single address, and params that contain "
        "none of its reserved names.",
        "Correct the argument that the message names.",
    ),
    "TPU336": Code(
        "The input ended before the last step",
        "The replicas need one batch per step.",
        "Repeat the Dataset (.repeat()), or request fewer steps.",
    ),
    "TPU337": Code(
        "A checkpoint that does not match the model",
        "The model directory, or warm_start_from, contains variables with other names or shapes.",
        "Use a different model_dir for a different model, or the model that wrote the checkpoint.",
    ),
    "TPU338": Code(
        "The model directory is not writable",
        "Checkpoints and summaries are written there.",
        "Pass a model_dir that is writable and has free space.",
    ),
    "TPU339": Code(
        "A summary of a value that exists only on the cores",
        "tf.summary in the model function writes on the host, which cannot see values on the cores. A TPU "
        "rejects such a graph.",
        "Pass the values to the host through host_call, and write tf.contrib.summary there.",
    ),
    # 340-359: batch_parallel, shard, replicate, rewrite, infeed, CrossShardOptimizer
    "TPU340": Code(
        "CrossShardOptimizer received an unknown reduction",
        "Gradients can be averaged or summed over the shards.",
        "Pass tf.losses.Reduction.MEAN (the default) or tf.losses.Reduction.SUM.",
    ),
    "TPU341": Code(
        "CrossShardOptimizer received a Keras optimizer",
        "Under a tf.distribute strategy, Keras optimizers sum gradients over the replicas themselves.",
        "Wrap an optimizer of tf.train, or use the Keras optimizer under a strategy without the wrapper.",
    ),
    "TPU342": Code(
        "The groups of a cross-replica sum do not match the shards",
        "group_assignment must list every shard once, in groups of equal size.",
        "Pass a list of lists such as [[0, 1], [2, 3]], or None for a single group.",
    ),
    "TPU343": Code(
        "A reference variable inside a TPU computation",
        "TPU computations support resource variables only. This variable was created with "
        "use_resource=False, or before resource variables were enabled.",
        "Create the variable with tf.get_variable(..., use_resource=True), or inside the computation.",
    ),
    "TPU344": Code(
        "A cross-replica sum inside a loop or conditional that may diverge",
        "The condition depends on values that can differ between shards. If it does differ, a TPU "
        "deadlocks.",
        "Nothing if the condition is the same in all shards: the value of shard 0 is used. Otherwise "
        "compute it from cross-replica sums.",
    ),
    "TPU345": Code(
        "The inputs of the replicas do not match",
        "All replicas run the same computation, and need inputs of the same number, structure and dtypes.",
        "Pass one list of inputs per replica, all with the same structure.",
    ),
    "TPU346": Code(
        "Wrong number of inputs for a computation",
        "The computation is called with one argument per input and one per element of the infeed queue.",
        "Change the parameters of the computation or the list of inputs.",
    ),
    "TPU347": Code(
        "Inputs or outputs cannot be split across the shards",
        "Every input is split into equal parts along its axis. Each input and output needs one axis.",
        "Make the size of the axis a multiple of num_shards (drop or pad the last batch), and pass one "
        "axis per input and output.",
    ),
    "TPU348": Code(
        "A computation returns a value that is not a tensor",
        "A TPU computation returns tensors, followed by operations.",
        "Return tensors, or values that tf.convert_to_tensor accepts. Return operations last, or attach "
        "them to a tensor with tf.control_dependencies.",
    ),
    "TPU349": Code(
        "The TPU system is not initialized",
        "tf.contrib.tpu.initialize_system() did not run before the computation, or shutdown_system() did.",
        "Run session.run(tf.contrib.tpu.initialize_system()) before the first computation.",
    ),
    "TPU350": Code(
        "A computation without results is empty",
        "Only returned values, and operations that change a variable or a queue, are computed. Everything "
        "else is pruned, on a TPU as well. A benchmark of such a function measures only the call.",
        "Return the result, or a sum of it.",
    ),
    "TPU351": Code(
        "A dtype that the infeed does not support",
        "The infeed supports bool, int32, int64, uint32, bfloat16, float32 and complex64.",
        "Cast on the host before enqueueing the tensor, and cast back inside the computation.",
    ),
    "TPU352": Code(
        "The two ends of an infeed or outfeed do not match",
        "A tuple is dequeued with other dtypes or shapes than it was enqueued with, its shape cannot be "
        "split across the shards, or one end was built twice.",
        "Give both ends the same dtypes and static shapes, with a sharded dimension that is a multiple of "
        "the number of shards. Batch with drop_remainder=True to get a static batch size.",
    ),
    "TPU353": Code(
        "A variable whose initial value is computed inside the computation",
        "A variable is initialized once, outside the computation, where those tensors do not exist.",
        "Use tf.get_variable with an initializer, or tf.Variable(lambda: value).",
    ),
    "TPU354": Code(
        "A computation that runs on the host instead of the TPU",
        "On a TPU, tpucompat runs a computation under TPUStrategy, with one replica per core. Infeed, "
        "outfeed, Python code, summaries, and the Session's tables, queues and iterators need the host.",
        "Nothing if it is fast enough. Otherwise pass data through the inputs of the computation, and do "
        "host-only work on its outputs. TPUCOMPAT_REQUIRE_TPU=1 turns this into an error.",
    ),
    "TPU355": Code(
        "An infeed that is filled from another Session",
        "On a TPU, the infeed belongs to the device, so a program can fill it from a separate graph and "
        "Session. Here it is a queue, which belongs to one Session; a thread copies the tuples across.",
        "Nothing if it is fast enough. Otherwise build the enqueue operations in the same graph as the "
        "computation, and run them from a thread in the same Session.",
    ),
    "TPU356": Code(
        "A model that was exported for a TPU",
        "The SavedModel contains a program for a TPU core. Without a TPU, the program runs on the "
        "available device.",
        'Nothing. The tag "serve" without "tpu" selects the version for other devices.',
    ),
    "TPU357": Code(
        "Several cores, shard and rewrite need TensorFlow 1.14 or later",
        "Their computations are traced into separate graphs and run under TensorFlow 2 strategies. "
        "TensorFlow 1.13 supports neither.",
        "Run the script on TensorFlow 1.15 or 2.x. Keras models and TPUEstimator also train on one core: "
        "unset TPUCOMPAT_CORES.",
    ),
    "TPU358": Code(
        "A computation that needs the host, while a TPU is required",
        "TPUCOMPAT_REQUIRE_TPU is set, and the cores cannot run this computation: infeed, outfeed, Python "
        "code, summaries, and the Session's tables, queues and iterators need the host.",
        "Pass data through the inputs of the computation, and do host-only work on its outputs; or unset "
        "TPUCOMPAT_REQUIRE_TPU.",
    ),
    # 300-318: keras_to_tpu_model
    "TPU301": Code(
        "A Keras TPU model trains on this machine only",
        "TF_CONFIG lists several machines, but keras_to_tpu_model ignores it, as in TensorFlow 1.13: each "
        "machine trains its own model on the full data.",
        "Nothing if this is intended. To train one model on all machines, use TPUEstimator, which reads "
        "TF_CONFIG, or tf.distribute.MultiWorkerMirroredStrategy in TensorFlow 2.",
    ),
    "TPU302": Code(
        "A layer has an unknown dimension besides the batch",
        "TPU models need static shapes; only the number of examples may vary.",
        "Give the Input its full shape, and recurrent layers an `input_length`.",
    ),
    "TPU303": Code(
        "The data does not match the model",
        "Arrays, and batches from a generator, must have the shapes of the model's inputs and outputs.",
        "Check the shapes. A generator yields (inputs, targets) or (inputs, targets, sample weights).",
    ),
    "TPU304": Code(
        "A batch does not split evenly across the cores",
        "Every core processes an equal part of each batch, including the last one of an epoch.",
        "Make the batch size and the number of samples multiples of the number of cores, or drop the last "
        "partial batch.",
    ),
    "TPU305": Code(
        "Wrong arguments with a function that returns a Dataset",
        "Keras cannot determine the number of batches in a Dataset, and the Dataset provides the targets.",
        "Pass the number of steps, and no `y`.",
    ),
    "TPU306": Code(
        "A Dataset that cannot feed the cores",
        "Each core takes the next batch of the Dataset, and all batches must have the same shape.",
        "Return a tf.data.Dataset of (inputs, targets), batched with drop_remainder=True.",
    ),
    "TPU307": Code(
        "Not a strategy for Keras TPU models",
        "keras_to_tpu_model accepts a tf.contrib.tpu.TPUDistributionStrategy, as in TensorFlow 1.15.",
        "Pass tf.contrib.tpu.TPUDistributionStrategy(resolver), or omit the strategy to use all cores.",
    ),
    "TPU308": Code(
        "Keras TPU models are limited to one replica on TensorFlow 1.x",
        "Training on several replicas uses the tf.distribute strategies of TensorFlow 2.",
        "Unset TPUCOMPAT_CORES, or run the script on TensorFlow 2.",
    ),
    "TPU309": Code(
        "A stateful model trains on one core",
        "The states of its layers have the size of a batch. TensorFlow 1.13 also used a single core.",
        "Nothing; the batch size is per core.",
    ),
    "TPU310": Code(
        "A batch does not have the static batch size that a layer needs",
        "The Input of the model fixes the batch size, and one of the layers cannot be built without it.",
        "Feed batches of exactly this size (times the number of cores), or read the batch size in the "
        "layer from tf.shape(x)[0].",
    ),
    "TPU311": Code(
        "target_tensors on a TPU or on several cores",
        "Targets are split across the cores like inputs, and therefore have to be fed.",
        "Pass the targets as y or in the Dataset, or train on one core that is not a TPU's.",
    ),
    "TPU312": Code(
        "The model has no static graph of layers",
        "keras_to_tpu_model supports functional models and Sequential models with a known input shape, as "
        "TensorFlow 1.13 did.",
        "Build the model from Input layers, or give the first layer an input_shape.",
    ),
    "TPU313": Code(
        "A type that cannot be combined across cores",
        "Batches are combined across cores with sums, which sparse tensors and strings do not support.",
        "Use dense numeric tensors, or train on one core.",
    ),
    "TPU314": Code(
        "Training on several machines",
        "TF_CONFIG lists several workers. TPUEstimator trains on all of them at once, and each worker "
        "processes its part of every batch, like a TPU pod in TensorFlow 1. Parameter servers are not used.",
        "Start the script on every machine with the same TF_CONFIG except for its task, and with a shared "
        "model_dir.",
    ),
    "TPU315": Code(
        "How the workers share the input",
        "An input function that reads the current host from its TPUContext shards the input itself, as on "
        "a TPU pod. Otherwise every worker reads the full input, and uses the part of each batch that its "
        "cores would use on a single machine. Every worker runs evaluation and prediction independently.",
        "Nothing. If reading is slow, shard by params['context'].current_host and num_hosts.",
    ),
    "TPU316": Code(
        "The workers are out of sync",
        "A worker crashed, ended or reached another point of the script, and every step needs all workers. "
        "The latest checkpoint is the last state they had in common.",
        "Read the last output of the named worker, then restart all workers. They resume from the "
        "checkpoint.",
    ),
    "TPU317": Code(
        "This task has nothing to do",
        "TF_CONFIG declares this process a parameter server. TPUEstimator workers sum their gradients "
        "directly.",
        "Start the chief and the workers only.",
    ),
    "TPU318": Code(
        "The workers do not share a model_dir",
        "The chief writes the checkpoints, and all workers restore them.",
        "Use a model_dir on shared storage, with the same path on all machines.",
    ),
    # 4xx: environment and command line -----------------------------------------------------------
    # 400-419: environment, accelerator, doctor, explain
    "TPU400": Code(
        "TensorFlow is not installed",
        "tpucompat uses the installed TensorFlow, and this Python environment has none.",
        "Install it with the command that `tpucompat doctor` prints.",
    ),
    "TPU401": Code(
        "TensorFlow is older than 1.13",
        "Releases before 1.13 lack parts of the TPU API that tpucompat builds on.",
        "Install TensorFlow 1.13 or later; `tpucompat doctor` prints the command.",
    ),
    "TPU402": Code(
        "An untested TensorFlow version",
        "The installed release is newer than the latest tested one, or its version is unknown.",
        "Continue: tpucompat treats it like the latest known release. Compare the losses of a first run.",
    ),
    "TPU403": Code(
        "tf-keras is missing",
        "Since TensorFlow 2.16, `tf.keras` is Keras 3, which cannot train a TensorFlow 1 graph. The "
        "package tf-keras provides Keras 2.",
        'Install the tf-keras that matches TensorFlow: `pip install "tf-keras==2.X.*"`. Add --no-deps if '
        "TensorFlow was installed as tensorflow-cpu or tensorflow-tpu.",
    ),
    "TPU404": Code(
        "tf-keras and TensorFlow versions do not match",
        "Each tf-keras release supports one minor release of TensorFlow, and uses its private APIs.",
        'Install the tf-keras that matches TensorFlow: `pip install "tf-keras==2.X.*"`.',
    ),
    "TPU405": Code(
        "tensorflow-estimator is missing",
        "TensorFlow 2.16 removed tf.estimator. TPUEstimator scripts run on the tensorflow-estimator "
        "package, whose last release is 2.15.0.",
        "`pip install tensorflow-estimator==2.15.0`. Scripts without Estimators do not need it.",
    ),
    "TPU406": Code(
        "TF_USE_LEGACY_KERAS conflicts with the script",
        "With TensorFlow 2.16 or later it must be 1, so that tf.keras is Keras 2. With TensorFlow 2.15 and "
        "no tf-keras it must be unset, because TensorFlow would find no Keras at all. tpucompat never "
        "overrides your setting.",
        "`unset TF_USE_LEGACY_KERAS`; tpucompat sets it when needed.",
    ),
    "TPU407": Code(
        "Several TensorFlow distributions are installed over each other",
        "tensorflow, tensorflow-cpu, tensorflow-tpu and tf-nightly install the same package, and the last "
        "one overwrites the others. This often happens when a package that depends on `tensorflow` is "
        "installed next to tensorflow-cpu.",
        "Uninstall all of them and install one; `tpucompat doctor` prints the command.",
    ),
    "TPU408": Code(
        "This TensorFlow does not support this Python version",
        "There are no wheels of this release for this version of Python.",
        "Install a supported release with the command that `tpucompat doctor` prints, or create an "
        "environment with another Python version.",
    ),
    "TPU409": Code(
        "keras and TensorFlow versions do not match",
        "TensorFlow 2.6 to 2.15 load tf.keras from the keras package of the same minor version.",
        'Install it: `pip install "keras==2.X.*"`, with the minor version of TensorFlow.',
    ),
    "TPU410": Code(
        "No TPU found",
        "The script requests a TPU, and this machine has none. tpucompat did not try to connect to a "
        "remote one. The script trains on one CPU or GPU replica.",
        "Nothing. Set TPUCOMPAT_CORES=8 to emulate the eight cores of a TPU v2-8 or v3-8, or "
        "TPUCOMPAT_REQUIRE_TPU=1 to stop instead.",
    ),
    "TPU411": Code(
        "A TPU is required, but none was found",
        "TPUCOMPAT_REQUIRE_TPU is set, and this machine has no TPU chip or no libtpu.",
        "Run on a TPU VM with tensorflow-tpu, or unset TPUCOMPAT_REQUIRE_TPU.",
    ),
    "TPU412": Code(
        "TPUCOMPAT_CORES is not a positive integer",
        "It sets the number of cores to emulate, such as 8.",
        "Set it to a number such as 8, or unset it for one replica.",
    ),
    "TPU413": Code(
        "Emulated cores were requested after TensorFlow started",
        "Logical devices must be created before the TensorFlow runtime first lists its devices.",
        "Set TPUCOMPAT_CORES or call tpucompat.install() before the first TensorFlow call.",
    ),
    "TPU414": Code(
        "TensorFlow cannot use the TPU of this machine",
        "TensorFlow accesses the TPU of a TPU VM through libtpu, which requires a build with TPU support.",
        "Install tensorflow-tpu with the command that `tpucompat doctor` prints.",
    ),
    "TPU415": Code(
        "Invalid arguments to a cluster resolver",
        "The arguments contradict each other, or refer to a cluster that does not exist.",
        "Pass the name or address of the TPU, or nothing; see tf.distribute.cluster_resolver.",
    ),
    "TPU416": Code(
        "Neither a code nor an old symbol",
        "`tpucompat explain` accepts a code such as TPU410 or a name such as tf.contrib.tpu.shard.",
        "Check the spelling. `tpucompat scan FILE` lists the old names in a script, with their codes.",
    ),
    "TPU417": Code(
        "The address of a remote TPU is ignored",
        "TPU nodes, which were accessed over gRPC, were replaced by TPU VMs, where the TPU is attached to "
        "the machine itself. tpucompat does not connect to remote addresses.",
        "To use a TPU, run the script on the TPU VM itself.",
    ),
    "TPU418": Code(
        "TF_CONFIG is invalid",
        "It is not valid JSON, or does not define the cluster and the task of this machine.",
        "Set it as described in TensorFlow's guide to distributed training. For the second of two "
        'machines: `TF_CONFIG=\'{"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", '
        '"index": 1}}\'`. Unset it to train on one machine.',
    ),
    "TPU419": Code(
        "This multi-machine setup is not supported",
        "Workers are connected by tf.distribute.MultiWorkerMirroredStrategy, which uses one CPU, or all "
        "GPUs, of each machine and must be created before TensorFlow starts.",
        "Change what the message names, or unset TF_CONFIG to train on one machine.",
    ),
    "TPU420": Code(
        "The script cannot be read",
        "The file does not exist, or cannot be opened or decoded.",
        "Check the path and the permissions.",
    ),
    "TPU450": Code(
        "The notebook cannot be read",
        "A notebook is a JSON file with a list of cells. This file is corrupt, or not a notebook.",
        "Open it in Jupyter and save it again, or skip it with `exclude`.",
    ),
    "TPU451": Code(
        "Invalid configuration",
        "The settings of scan and migrate are in the table [tool.tpucompat] of pyproject.toml: select, "
        "ignore, exclude.",
        "Correct the setting that the message names.",
    ),
    "TPU452": Code(
        "The file was not written",
        "tpucompat writes a new file next to the old one and then replaces it, so that a file is never "
        "half written. The folder does not permit this, or the file changed in the meantime.",
        "Check the permissions of the file and its folder.",
    ),
    "TPU453": Code(
        "migrate requires Python 3.9 or later",
        "Python 3.9 was the first release to record where each argument of a call stands, which is needed to "
        "replace it in place. The TensorFlow that migrate writes for needs it too.",
        "Run `tpucompat migrate` with a later Python. The scripts may target any version.",
    ),
    "TPU454": Code(
        "The file could not be rewritten",
        "The output of migrate is not valid Python, which is a bug in migrate. The file is unchanged.",
        "Open an issue with the file, or rewrite it by hand with the help of `tpucompat scan`.",
    ),
    "TPU455": Code(
        "Invalid TPUCOMPAT_REHEARSE",
        "It is the number of cores to rehearse, such as 8, or the name of a TPU, such as v3-8. It cannot "
        "be combined with TPUCOMPAT_CORES, which emulates cores with a different strategy.",
        "Set it to a number or a name and unset TPUCOMPAT_CORES, or unset it.",
    ),
    "TPU456": Code(
        "This TensorFlow version cannot rehearse a TPU",
        "Rehearsal uses private parts of TPUStrategy, which are known for TensorFlow 2.15 to 2.21.",
        "Install TensorFlow 2.15 or later, or emulate the cores: TPUCOMPAT_CORES=8.",
    ),
    "TPU457": Code(
        "Rehearsing a TPU",
        "TensorFlow's own TPUStrategy runs the script on simulated cores: one program for all cores, "
        "compiled by XLA for the CPU. A rehearsal does not show the arithmetic, memory use, speed or "
        "infeed of a TPU.",
        "Nothing. To compile the script's computations for a real TPU, use `tpucompat check`.",
    ),
    "TPU458": Code(
        "TPUCOMPAT_TPU conflicts with another setting",
        "It names a TPU to connect to, and cannot be combined with emulated cores, rehearsed cores or "
        "TPUCOMPAT_NO_TPU.",
        "Unset one of the two.",
    ),
    "TPU459": Code(
        "Cannot connect to the TPU in TPUCOMPAT_TPU",
        "TensorFlow's TPUClusterResolver found no TPU with this name, or its machines do not respond.",
        "Compare the name with `gcloud compute tpus tpu-vm list`. Unset TPUCOMPAT_TPU to use this machine.",
    ),
    "TPU460": Code(
        "A data file cannot be decoded",
        "The file is truncated or corrupt, has another format, or is compressed in another way than the "
        "script reads it.",
        "Check the file's format, and the compression_type that the script gives to TFRecordDataset or "
        "TextLineDataset; copy or write the file again.",
    ),
    "TPU461": Code(
        "The installed release of a package lacks a name that the script uses",
        "Packages remove and rename functions. The script was written for another release.",
        "Install a release from the script's time, or use the package's current name.",
    ),
    "TPU463": Code(
        "A rehearsal cannot run this outside_compilation",
        "A rehearsal runs the host part of a step after the step's program has ended. A host call that "
        "returns a value to the cores, or that is inside a loop or conditional, would have to run in the "
        "middle of the program.",
        "Return the value from the step and use it on the host, or run with --cores instead of --rehearse. "
        "TensorFlow supports this on a TPU; tpucompat has not been tested with it there.",
    ),
    "TPU464": Code(
        "Operations that the script places on a TPU run on the host",
        "Operations inside `with tf.device('/TPU:0')`, and the graph-mode "
        "tf.contrib.distribute.TPUStrategy, need a Session that owns the TPU. The TPU belongs to the "
        "TPUStrategy of TensorFlow 2, which a process initializes once. Emulated and rehearsed cores are no "
        "such devices either.",
        "Run it on the TPU with batch_parallel, shard, rewrite, keras_to_tpu_model or a TPUEstimator. "
        "TPUCOMPAT_REQUIRE_TPU turns this into an error.",
    ),
    "TPU421": Code(
        "The script is written for Python 2",
        "It contains syntax that only Python 2 supports, such as a print statement.",
        "Convert it first: `python -m lib2to3 -w SCRIPT` on Python 3.12 or older, or `2to3`.",
    ),
    "TPU422": Code(
        "tpucompat was installed after Keras was loaded",
        "TensorFlow 2.16 and later choose the Keras version on the first access to `tf.keras`. Keras 3, "
        "which cannot train a TensorFlow 1 graph, was already loaded.",
        "Put `import tpucompat; tpucompat.install()` on the first line, before any TensorFlow import.",
    ),
    "TPU423": Code(
        "tpucompat is already installed for another era",
        "A process uses either TensorFlow 1 (graphs) or early TensorFlow 2 (eager).",
        "Run the other script in a separate process, or pass `--era` / `install(era=…)` once.",
    ),
    "TPU424": Code(
        "The script has a syntax error",
        "This Python version cannot parse the script.",
        "Correct the line shown above. The script fails under plain `python` as well.",
    ),
    "TPU448": Code(
        "The script is an exported notebook",
        "Lines that begin with % or ! are IPython syntax, which Python does not support.",
        "Convert the text into a notebook (`pip install jupytext; jupytext --to notebook FILE.py`) and run "
        "that: `tpucompat run FILE.ipynb`.",
    ),
    "TPU449": Code(
        "A Kaggle dataset is missing",
        "On Kaggle, datasets are attached to a notebook. Elsewhere they are local folders.",
        "Put the dataset where the message says, under its name below /kaggle/input.",
    ),
    "TPU426": Code(
        "multi_gpu_model returns the model itself",
        "Keras 2.4 removed it. Its replicas shared weights and averaged gradients, so the results equal "
        "those of a single model.",
        "Nothing, or train on several devices with keras_to_tpu_model or a tf.distribute strategy.",
    ),
    "TPU425": Code(
        "A smoke run",
        "With --smoke, every training, evaluation and prediction stops after a few steps.",
        "When the script completes, run it without --smoke.",
    ),
    "TPU427": Code(
        "An imported package or module targets TensorFlow 1",
        "The package uses tf.contrib, or dates from the TensorFlow 1 era and does not support later "
        "releases. In a TODO of `tpucompat migrate`: a module beside the script, which was not migrated.",
        "With `tpucompat run` nothing: the package sees the old names, as the script does. Migrate a "
        "module with the script: `tpucompat migrate script.py module.py`.",
    ),
    "TPU428": Code(
        "An installed package uses a removed TensorFlow name",
        "The error comes from a package installed with pip. Installed packages see the current TensorFlow "
        "unless they are declared as legacy packages.",
        "If the package was written for TensorFlow 1, run with `--legacy-package NAME`, or install its "
        "latest release.",
    ),
    # 429-449: notebooks, Colab, paths, what a script runs into
    "TPU429": Code(
        "A form field of the notebook cannot be set",
        "--form NAME=VALUE sets the value of a line such as `NAME = '' #@param`. The value is what you "
        "would enter in Colab: text without quotes, a number, true or false.",
        "Use a name from the list in the message, and a value of the field's type.",
    ),
    "TPU430": Code(
        "The packages that execute notebooks are missing",
        "Notebooks run in a kernel through nbclient, nbformat and ipykernel, as in Jupyter. These packages "
        "are optional.",
        "`pip install nbclient nbformat ipykernel`, or `pip install tpucompat[notebook]`.",
    ),
    "TPU431": Code(
        "The notebook cannot be read or written",
        "The file is not a notebook of format 3 or later, or it or the --out file cannot be opened.",
        "Open the file in Jupyter and save it again; check the path and the permissions.",
    ),
    "TPU432": Code(
        "A cell of the notebook failed",
        "The error above comes from the cell. Later cells did not run.",
        "Fix the cell, or run the notebook in parts. With --out FILE, the outputs so far are kept.",
    ),
    "TPU433": Code(
        "The notebook's kernel died",
        "The kernel process ran out of memory, crashed in native code, or was ended by a cell.",
        "Check the cell named above: run it with less data, or remove the line that exits.",
    ),
    "TPU434": Code(
        "The notebook is written for Python 2",
        "It contains syntax that only Python 2 supports, such as a print statement. No cell ran.",
        "Convert it first: `jupyter nbconvert --to script`, then `2to3 -w`; or correct the cells named "
        "above.",
    ),
    "TPU435": Code(
        "A shell line in the notebook",
        "Lines that begin with ! run programs. On another machine, or without a network, they may fail; "
        "Jupyter continues after a failure.",
        "Do by hand what the line does, then run with --shell skip. `--shell name` lists such lines.",
    ),
    "TPU436": Code(
        "Skipped an installation of TensorFlow or Keras",
        "The notebook installs the TensorFlow of its time, which would replace the one that tpucompat runs "
        "on. Other packages on the line were installed.",
        "Nothing; the cells run on the installed TensorFlow.",
    ),
    "TPU437": Code(
        "%tensorflow_version comes too late",
        "A process uses either TensorFlow 1 (graphs) or early TensorFlow 2 (eager). The choice is final "
        "once TensorFlow has been used.",
        "Restart the kernel and run the %tensorflow_version cell first.",
    ),
    "TPU438": Code(
        "A local replacement for Colab or Kaggle",
        "google.colab exists only on Colab. Elsewhere a local folder replaces Google Drive and downloads, "
        "and no sign-in is needed. kaggle_datasets exists only on Kaggle; elsewhere a dataset is a folder.",
        "Point TPUCOMPAT_DRIVE, TPUCOMPAT_DOWNLOADS, TPUCOMPAT_UPLOADS and TPUCOMPAT_KAGGLE_INPUT to your "
        "own folders and files.",
    ),
    "TPU439": Code(
        "A Colab feature without a local replacement",
        "It requires a user at the browser, or Colab's own services.",
        "Follow the message, or remove the cell.",
    ),
    "TPU440": Code(
        "Invalid path mapping",
        "--map and TPUCOMPAT_MAP expect gs://bucket=DIR or gs://bucket/folder=DIR.",
        "Write it as in `--map gs://my-bucket=./bucket`. In TPUCOMPAT_MAP, separate several mappings with "
        "a semicolon.",
    ),
    "TPU441": Code(
        "Created a folder for a gs:// path",
        "A bucket exists before its first file, so the folder that replaces it is created when it is "
        "missing.",
        "Nothing if the script writes there. Otherwise copy its data into the folder, or correct the "
        "mapping.",
    ),
    "TPU442": Code(
        "A gs:// path is not accessible",
        "Google Cloud Storage did not respond, or this machine has no credentials for it.",
        "Replace the bucket with a local folder: `--map gs://bucket=DIR`. Or sign in with `gcloud auth "
        "application-default login`.",
    ),
    "TPU443": Code(
        "A download failed",
        "The script downloads data, and the server did not respond or the address no longer exists.",
        "Put the file where the script caches it (Keras: ~/.keras/datasets), and run the script again.",
    ),
    "TPU444": Code(
        "A file that the script opens is missing",
        "Old scripts contain paths from their author's machine, from Colab (/content), or from a dataset "
        "that has to be downloaded first.",
        "Put the file there, or pass its path with the script's own flag. Use --map to replace a bucket "
        "with a local folder.",
    ),
    "TPU445": Code(
        "The Google Drive mount point cannot be created",
        "The notebook reads files from a path such as /content/drive, which the current user may not "
        "create.",
        "Create it once with the command in the message.",
    ),
    "TPU446": Code(
        "A native TensorFlow 1 operation",
        "The script loads a shared library that was compiled for another TensorFlow. Binaries for 1.x do "
        "not work with later releases.",
        "Recompile the library for the installed TensorFlow, or use the package's Python implementation.",
    ),
    "TPU447": Code(
        "A module is missing",
        "The script imports a package that is not installed, or a local module that is not on the path.",
        "Install the package with pip, or put the module's folder next to the script (notebooks often "
        "fetch it with !git clone).",
    ),
    # 475-484: what a script runs into, and how the command says it
    "TPU475": Code(
        "A Python 2 module",
        "Python 3 renamed some standard library modules, and no package on PyPI restores the old names.",
        "Use the Python 3 name. Up to Python 3.12, `2to3 -f imports -w SCRIPT` rewrites them.",
    ),
    "TPU476": Code(
        "A folder or file cannot be created",
        "The parent folder is missing, is a file, or is not writable for the current user.",
        "Give the script another output location (model_dir, logdir), or create the folder first.",
    ),
    "TPU477": Code(
        "The script reads a TPU address that is not set",
        "tpucompat sets COLAB_TPU_ADDR and TPU_NAME for scripts that read them. With TPUCOMPAT_NO_TPU they "
        "are unset, as on a machine without a TPU.",
        "Unset TPUCOMPAT_NO_TPU, or read the variable with os.environ.get. If an imported module reads it, "
        "set it to any name: tpucompat does not connect to it.",
    ),
    "TPU478": Code(
        "A label outside the range of classes",
        "The loss numbers classes from 0, and the model has as many classes as its last layer has units. A "
        "TPU returns NaN for such a label, without an error.",
        "Number the labels from 0 to the number of classes - 1, or give the last layer more units.",
    ),
    "TPU479": Code(
        "The shape of the labels does not match the model's output",
        "Sparse losses (sparse_softmax_cross_entropy_with_logits, sparse_categorical_crossentropy) expect "
        "one integer per example. Other losses expect one number per class.",
        "Reshape the labels in the input pipeline, or use the other kind of loss.",
    ),
    "TPU480": Code(
        "A fed value does not match the shape of its placeholder",
        "The feed_dict of Session.run contains an array with a different shape than the placeholder.",
        "Reshape the array (np.reshape), or create the placeholder with None in the dimension that varies.",
    ),
    "TPU481": Code(
        "A variable is used before it is initialized",
        "Graph variables have no value until their initializer runs or a checkpoint is restored. A "
        "variable that is created later is not included.",
        "Run session.run(tf.global_variables_initializer()) when the graph is complete, and "
        "tf.local_variables_initializer() for metrics.",
    ),
    "TPU482": Code(
        "A Python function called by TensorFlow raised an error",
        "A generator, or a function passed to py_func, runs inside the step or the input pipeline.",
        "Fix the line of the script that the error names; the error is unrelated to TPUs.",
    ),
    "TPU483": Code(
        "Training was interrupted and saved",
        "On Ctrl-C, TPUEstimator finishes the current step (on several cores, the current loop of steps) "
        "and saves a checkpoint. While a step is being compiled, which nothing can interrupt, the process "
        "ends at once, unless the script has trained something that it may still save.",
        "Run the script again with the same model_dir to resume.",
    ),
    "TPU484": Code(
        "A tpucompat option after the script name",
        "Everything after the script name is passed to the script, and this script does not define the "
        "option.",
        "Put the option before the script: `tpucompat run --cores 8 SCRIPT`.",
    ),
    # 470-474: verify, convert-checkpoint and exact mode
    "TPU470": Code(
        "Nothing to compare",
        "tpucompat verify needs two existing scripts, or a table of pairs, and consistent options.",
        "Read the message; `tpucompat verify --help` lists the options.",
    ),
    "TPU471": Code(
        "A checkpoint cannot be converted",
        "It does not exist, has an unknown format, or its variables do not match those of the target.",
        "Read the message. `--map FILE` assigns variables explicitly, and `--like FILE` gives the target "
        "layout.",
    ),
    "TPU472": Code(
        "Exact mode was requested too late",
        "TensorFlow decides on import whether to use oneDNN, whose rounding differs from TensorFlow 1.15.",
        "Request it before TensorFlow is imported: `tpucompat run --exact`, TPUCOMPAT_EXACT=1, or "
        "`tpucompat.install(exact=True)` on the first line.",
    ),
    "TPU473": Code(
        "Exact mode conflicts with TF_ENABLE_ONEDNN_OPTS",
        "Exact mode disables the oneDNN kernels, whose rounding differs from TensorFlow 1.15. The variable "
        "enables them.",
        "Unset TF_ENABLE_ONEDNN_OPTS to get the rounding of TensorFlow 1.15, or omit --exact and "
        "TPUCOMPAT_EXACT.",
    ),
    "TPU474": Code(
        "A channels_first layer cannot be trained on this CPU",
        "TensorFlow's own CPU kernels support channels_last (NHWC) only. oneDNN supports both layouts, but "
        "exact mode disables it, as does TensorFlow itself on CPUs without AVX512_VNNI.",
        "Use fast mode: omit --exact and TPUCOMPAT_EXACT. If that is not enough, set "
        "TF_ENABLE_ONEDNN_OPTS=1.",
    ),
    # 485-499: faults, and files of strangers
    "TPU485": Code(
        "A symbolic link that leaves the tree",
        "Its target lies outside the folder on the command line. tpucompat neither reads nor rewrites it, "
        "so that an untrusted tree cannot reach other files.",
        "Nothing. To include the target, name it or its folder on the command line.",
    ),
    "TPU486": Code(
        "A checkpoint that refers to other files, or declares too much data",
        "HDF5 files can link to other files, and a small archive can unpack to any size. Keras and "
        "TensorFlow write neither. A file may declare up to 20 times its own size, and at least 64 MB.",
        "If you trust the file, load it with the program that wrote it, and save it again.",
    ),
    "TPU487": Code(
        "The output could not be written",
        "The disk is full, or the process that reads the output has exited.",
        "Free some space or redirect the output elsewhere, and run the command again.",
    ),
    "TPU488": Code(
        "The checkpoint reader crashed",
        "A corrupt file can crash the libraries that read checkpoints, or make them hang. They run in a "
        "separate process, and nothing was written.",
        "Use another copy of the file.",
    ),
    "TPU489": Code(
        "A fed batch cannot be split evenly",
        "batch_parallel and shard split the first dimension into num_shards parts of the same size, and "
        "tf.split into as many as it is told. The size was unknown until the graph ran.",
        "Feed a multiple of that number of rows: pad the last batch, or leave it out (drop_remainder=True).",
    ),
    "TPU490": Code(
        "The training data have no batch",
        "With drop_remainder=True, fewer examples than a batch give none. On a TPU the batch is that of "
        "all cores.",
        "Use a smaller batch size, or more examples, and check that the Dataset is not filtered empty.",
    ),
    "TPU491": Code(
        "This needs eager execution, and the script runs with graphs",
        "In a graph a tensor has no value until a Session computes it. A script that reads as one of "
        "TensorFlow 1 runs with graphs.",
        "For a script of TensorFlow 2 pass `tpucompat run --era tf2`, or `install(era='tf2')`.",
    ),
    "TPU492": Code(
        "This needs a graph, and the script runs eagerly",
        "With eager execution operations are computed at once, and no graph holds them for a Session. A script "
        "that reads as one of TensorFlow 2, or calls enable_eager_execution, runs eagerly.",
        "For a script of TensorFlow 1 pass `tpucompat run --era tf1`, or `install(era='tf1')`.",
    ),
    "TPU493": Code(
        "Invalid command line",
        "The command has no such option, does not take this value, or two options exclude each other.",
        "`tpucompat COMMAND --help` lists the options of a command.",
    ),
    "TPU494": Code(
        "A tensor has a type that the operation does not take",
        "Labels of sparse losses are integers, and most other operations take floats. NumPy's default types "
        "are float64 and int64.",
        "Cast it in the input pipeline, such as tf.cast(labels, tf.int32).",
    ),
    "TPU495": Code(
        "The loss of a model_fn is not one number",
        "Training minimizes one number. Functions such as sparse_softmax_cross_entropy_with_logits return one "
        "for each example.",
        "Average it with tf.reduce_mean, and pass it as `loss` of the specification, except to predict.",
    ),
    "TPU496": Code(
        "No variable influences the loss",
        "Operations such as argmax, round and casts to integers have no gradient.",
        "Compute the loss from the output of the model by operations with gradients.",
    ),
    "TPU497": Code(
        "Training produced NaN or infinity",
        "The input has such a value, a label is out of range, a logarithm or a division is of 0, or the "
        "learning rate is too high.",
        "Check the data with np.isfinite, lower the learning rate, or clip the gradients.",
    ),
    "TPU498": Code(
        "A model_fn does not return what its mode requires",
        "TRAIN requires a train_op, which makes one step, and PREDICT requires predictions.",
        "Pass train_op=optimizer.minimize(loss, global_step=tf.train.get_global_step()) to train, and "
        "predictions={name: tensor} to predict.",
    ),
    "TPU499": Code(
        "The script expects what Python 2 returned",
        "In Python 3, zip, map, filter, range and the keys, values and items of a dict are not lists, and "
        "generators and dicts lost the methods next, has_key and iteritems. `/` divides integers to a float.",
        "Write list(zip(...)), next(generator), d.items(), and a // b for integers. Up to Python 3.12, "
        "`2to3 -w SCRIPT` rewrites all but the division; `tpucompat migrate` rewrites the methods.",
    ),
    # 5xx: Keras 3, and what a migration leaves -----------------------------------------------------
    "TPU510": Code(
        "An argument that Keras 3 does not support",
        "Keras 2 accepted this argument. Keras 3 raises an error, or ignores it with a warning.",
        "Use the replacement listed in docs/topics/keras_2_and_3.md; `tpucompat migrate` writes it if "
        "there is one. `migrate --keras 2` keeps Keras 2, as the package tf-keras.",
    ),
    "TPU511": Code(
        "A name that Keras 3 removed",
        "Keras 3 removed or renamed this method, attribute or function.",
        "Use the replacement listed in docs/topics/keras_2_and_3.md; `tpucompat migrate` writes it if "
        "there is one. `migrate --keras 2` keeps Keras 2, as the package tf-keras.",
    ),
    "TPU512": Code(
        "An argument whose position or default changed in Keras 3",
        "A positional argument is assigned to a different parameter, or an omitted argument gets a "
        "different value.",
        "Pass the arguments by keyword, including the old default; `tpucompat migrate` does this.",
    ),
    "TPU513": Code(
        "A file name that Keras 3 rejects",
        "Keras 3 chooses the file format by the name: weights end in .weights.h5, models in .keras or .h5.",
        "Use the new extension everywhere; `tpucompat migrate` does this where the name is a literal.",
    ),
    "TPU514": Code(
        "A call that Keras 3 computes or reports differently",
        "The call is the same, but its results, logs or accepted values differ.",
        "Use the replacement listed in docs/topics/keras_2_and_3.md; `tpucompat migrate` writes it if "
        "there is one.",
    ),
    "TPU515": Code(
        "A graph tensor or Session next to Keras 3",
        "Keras 2 was built on graphs: its models returned tensors that TensorFlow operations accepted, and "
        "ran in a Session. Keras 3 supports neither.",
        "Put the operations into a layer (Lambda, or a subclass with call), and read values with .numpy(). "
        "tpucompat.v1 runs the program as it is.",
    ),
    "TPU516": Code(
        "A name that does not exist",
        "`tpucompat migrate` looks up every name that it writes in the installed TensorFlow and Keras, and "
        "did not find this one.",
        "Install the release or package that provides it, or resolve the TODO by hand.",
    ),
    "TPU517": Code(
        "A migrated script fails",
        "`tpucompat migrate --try` ran the rewritten script under plain Python for a few steps, and it "
        "raised an error.",
        "Read the error; its line refers to the rewritten script. The original file is unchanged.",
    ),
}


def page(code: str) -> str:
    """Where a code's page lies in the guide."""
    return f"codes/{code}.html"
