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
        "A symbol of TensorFlow 1.x has no counterpart",
        "TensorFlow 2 removed it, and tpucompat has nothing that gives the same results.",
        "Take the alternative that the message names, or open an issue with the script's line.",
    ),
    "TPU102": Code(
        "A name that TensorFlow 1.15 did not have either",
        "The script asks the old namespace for a name that is not in TensorFlow 1.15. Of private modules "
        "(tensorflow.contrib.….python, tensorflow.python) it has what known scripts use and what is left.",
        "Check the spelling, or the TensorFlow version that the script was written for; take a private "
        "name's public counterpart.",
    ),
    "TPU110": Code(
        "A package that holds a part of the old tf.contrib is not installed",
        "Some of tf.contrib lives on in packages of its own, such as tf-slim (contrib.layers, slim, "
        "framework, metrics, losses) and tensorboard (contrib.tensorboard).",
        "Install the package by the command that the message names.",
    ),
    "TPU103": Code(
        "An argument that tf.contrib refuses",
        "TensorFlow 1.15 refused it with the same type of error.",
        "Read the message; the documentation of TensorFlow 1.15 describes the argument.",
    ),
    # 2xx: elsewhere; what `tpucompat scan` finds -------------------------------------------------------
    "TPU201": Code(
        "A symbol of tf.contrib that TensorFlow 2 has elsewhere",
        "TensorFlow 2.0 removed tf.contrib; what was good in it moved into TensorFlow proper.",
        "Write the name of today; `tpucompat migrate` does.",
    ),
    "TPU202": Code(
        "A symbol that TensorFlow 2 has under another name",
        "TensorFlow 2.0 put its names in order; it is the same function or class.",
        "Write the name of today; `tpucompat migrate` does.",
    ),
    "TPU203": Code(
        "A symbol that only tf.compat.v1 still has",
        "It belongs to graphs and Sessions. TensorFlow 2 keeps it in tf.compat.v1 for old programs.",
        "Write tf.compat.v1; `tpucompat migrate` does. In new code, leave graphs and Sessions behind.",
    ),
    "TPU204": Code(
        "A name that means something else in TensorFlow 2",
        "TensorFlow 2 has another function or class under this name, with other arguments or other results.",
        "Write tf.compat.v1 for the old one; `tpucompat migrate` does.",
    ),
    "TPU205": Code(
        "A private module of TensorFlow",
        "Modules below tensorflow.python and tf.contrib's own python folders were never promised to stay.",
        "Write the public name, where there is one.",
    ),
    "TPU206": Code(
        "A symbol that only tpucompat still has",
        "TensorFlow 2 removed it, and no other package keeps it. tpucompat has code that gives TensorFlow "
        "1.15's results.",
        "Import it from tpucompat.v1; `tpucompat migrate` does.",
    ),
    "TPU207": Code(
        "A symbol that another package keeps",
        "Some of TensorFlow 1 lives on outside of it: tf-slim (contrib.layers, slim, metrics, losses) and "
        "tf-keras (layers and cells that are Keras 2's).",
        "Install the package, and write its name; `tpucompat migrate` does.",
    ),
    "TPU208": Code(
        "The start-up of a TPU as it was in 2019",
        "Colab and TensorFlow reached a TPU node over gRPC. Today the TPU belongs to the machine itself, "
        "and the strategy is no longer experimental.",
        "TPUClusterResolver(tpu='local'), initialize_tpu_system, tf.distribute.TPUStrategy; "
        "`tpucompat migrate` writes them.",
    ),
    "TPU211": Code(
        "keras_to_tpu_model",
        "TensorFlow 1.x turned a finished Keras model into one for the TPU. In TensorFlow 2 a model that is "
        "built under a strategy is one.",
        "Build and compile the model in `with strategy.scope():`; `tpucompat migrate` does where it can see "
        "where the model is built.",
    ),
    "TPU212": Code(
        "TPUEstimator or tf.estimator",
        "TensorFlow 2.16 removed Estimators. Their model functions build graphs, which no rewriting turns "
        "into a Keras model that is known to be the same.",
        "Keep it with tpucompat.v1, which `tpucompat migrate` writes, and move the model to Keras by hand.",
    ),
    "TPU213": Code(
        "A TPU computation built by hand",
        "batch_parallel, shard, replicate and rewrite put one computation on all cores of a TPU, from a "
        "Session. In TensorFlow 2 that is strategy.run in a tf.function.",
        "Call the function by strategy.run and join the results by strategy.reduce, as `tpucompat migrate` "
        "does where the function only computes; until then tpucompat.v1 has them.",
    ),
    "TPU214": Code(
        "A method that is gone",
        "Keras and tf.data removed it; what takes its place is called otherwise.",
        "Write the call of today; `tpucompat migrate` does where the arguments are the same.",
    ),
    "TPU215": Code(
        "The logs of a step mean something else",
        "In TensorFlow 1, a callback's on_batch_end got the loss and metrics of that batch. In TensorFlow 2 "
        "they are the means since the epoch began.",
        "Take the difference of the sums, or return the step's own loss from a train_step of your own.",
    ),
    "TPU216": Code(
        "A default that has changed",
        "TensorFlow 2.0 gave some layers of Keras other defaults: LSTM and GRU take sigmoid instead of "
        "hard_sigmoid as recurrent_activation, and GRU resets after the product. The weights of an old model "
        "then give other results.",
        "Write the old default if the model was trained before, under Keras 3 as lambda x: tf.clip_by_value("
        "0.2 * x + 0.5, 0.0, 1.0), since its hard_sigmoid is another function; otherwise remove the comment.",
    ),
    "TPU217": Code(
        "The validation loss is averaged otherwise",
        "In TensorFlow 1, fit_generator averaged the losses of the validation's batches, the last and smaller "
        "one too. In TensorFlow 2, fit weighs them by their sizes, which is the mean over the examples.",
        "Nothing; where the number has to be the same, take a batch size that divides the examples.",
    ),
    "TPU220": Code(
        "A name that Python or a library has removed",
        "Python, NumPy, pandas, SciPy, scikit-learn and Pillow have cleared away old names since 2018.",
        "Write the name of today; `tpucompat migrate` does where there is one.",
    ),
    # 370-379: what a TPU does not like
    "TPU370": Code(
        "A shape that is known only when the step runs",
        "A TPU program is compiled for fixed shapes. An unknown batch dimension, or an operation whose result "
        "has as many elements as the data happen to have, cannot be compiled, or is compiled anew each time.",
        "Batch with drop_remainder=True; use masks instead of tf.boolean_mask, tf.unique and one-armed "
        "tf.where.",
    ),
    "TPU373": Code(
        "The cores of a TPU were given values of different shapes",
        "All cores of a TPU run one program, which is compiled for one shape of every value.",
        "Batch with drop_remainder=True, or pad the last batch, so that every core gets as many examples.",
    ),
    "TPU371": Code(
        "A Python function inside of the step",
        "tf.py_func runs in the Python of the host, which a TPU program cannot call.",
        "Move it into the input pipeline, or write it in TensorFlow.",
    ),
    "TPU372": Code(
        "A file is read or written inside of the step",
        "The step runs on the TPU, which has no files: the call would happen once, while it is traced.",
        "Move it into the input pipeline, or before the training.",
    ),
    # 373-399: check
    "TPU378": Code(
        "No TPU computation was seen",
        "The script ended, or did not get far enough, before it built one.",
        "Give the arguments that make it train on a TPU (--use_tpu=True), and the data that it reads.",
    ),
    "TPU379": Code(
        "The TPU's compiler is not here",
        "libtpu compiles for a TPU without one. It is Google's, under Google Cloud's terms of service and the "
        "licence in its wheel, for Linux on x86-64; tpucompat does not bring it along.",
        "Read its licence, then: python -m pip install libtpu.",
    ),
    "TPU380": Code(
        "A TPU that check does not know",
        "tpucompat check names TPUs as they are rented: generation and size.",
        "Name some of v2-8, v3-8, v4-8, v5e-1, v5e-4, v5e-8, v5p-8, v6e-1, v6e-4, v6e-8.",
    ),
    "TPU381": Code(
        "An operation that a TPU has not",
        "XLA's compiler for TPUs has no kernel for it.",
        "Write it with other operations, compute it in the input function, or hand it to the host by "
        "tf.contrib.tpu.outside_compilation.",
    ),
    "TPU382": Code(
        "More shards than the TPU has cores",
        "shard, batch_parallel or replicate is asked for more copies than there are cores; the two cores of "
        "a v4 or v5p chip count as one.",
        "Give num_shards the number of cores, or name a larger TPU.",
    ),
    "TPU383": Code(
        "Text or files inside a TPU computation",
        "A TPU computes with numbers.",
        "Do it in the input function, where the host's CPU runs it.",
    ),
    "TPU384": Code(
        "A summary inside a TPU computation",
        "The cores cannot write files, and tf.summary has no kernel there.",
        "Return the value, and write the summary in host_call or in a callback.",
    ),
    "TPU385": Code(
        "Printing inside a TPU computation",
        "The cores have no console.",
        "Leave it out, or print on the host what the computation returns.",
    ),
    "TPU386": Code(
        "A table, queue or input inside a TPU computation",
        "They live in the host's memory.",
        "Look words up and read data in the input function.",
    ),
    "TPU387": Code(
        "A sparse or ragged value inside a TPU computation",
        "Its size is not known when the program is compiled.",
        "Make it dense with a fixed size in the input function.",
    ),
    "TPU388": Code(
        "A size that depends on the data",
        "A TPU's program is compiled once, for fixed shapes.",
        "Keep the size fixed: tf.where with three arguments, tf.nn.top_k, padding and a mask.",
    ),
    "TPU389": Code(
        "A reference variable inside a TPU computation",
        "A TPU program takes resource variables only.",
        "Make it with tf.get_variable(..., use_resource=True).",
    ),
    "TPU390": Code(
        "A type that a TPU does not compute with",
        "The operation exists there, but not for this type (complex128 and text among them).",
        "Cast to float32, bfloat16 or int32.",
    ),
    "TPU391": Code(
        "A dimension that is not known",
        "A dimension of an input is None, mostly that of the batch, and a TPU's program is compiled for "
        "fixed shapes.",
        "Batch with drop_remainder=True, and give every placeholder its shape.",
    ),
    "TPU392": Code(
        "A size that is computed by the step",
        "An argument that decides on a shape or an axis has to be known when the program is compiled.",
        "Compute it from static shapes in Python.",
    ),
    "TPU393": Code(
        "A loop without a known number of steps, and its gradient",
        "The gradient keeps a value of every step, in memory that is reserved when the program is compiled.",
        "Give tf.while_loop a constant maximum_iterations.",
    ),
    "TPU394": Code(
        "Values that change their shape or type",
        "Both branches of a conditional and all steps of a loop have to give the same shapes and types.",
        "Pad or cast them to be the same.",
    ),
    "TPU395": Code(
        "Refused by XLA's compiler",
        "TensorFlow's compiler, or libtpu, does not take the computation as it is.",
        "Read what it says, and change the line that it names.",
    ),
    "TPU396": Code(
        "A placeholder inside a TPU computation that no core is fed",
        "The feed_dict of Session.run reaches the host's graph only.",
        "Pass the value through the computation's inputs, or the input function.",
    ),
    "TPU397": Code(
        "A computation that cannot be built",
        "The script's function raised an error while it was traced.",
        "Correct the line that is named.",
    ),
    "TPU398": Code(
        "A program that does not fit into the TPU's memory",
        "Variables, batch and intermediate values of one core need more than a core has.",
        "Lower the batch size, use bfloat16, or take a TPU with more memory per core.",
    ),
    "TPU399": Code(
        "Batches that the cores cannot share equally",
        "The last batch of the data is smaller, or the batch size is no multiple of the number of cores.",
        "Batch with drop_remainder=True, and take a batch size that is a multiple of the number of cores.",
    ),
    # 3xx: behaviour ------------------------------------------------------------------------------
    "TPU360": Code(
        "A TPU computation needs a value that nobody gives",
        "The traced step of one replica reaches a placeholder that is none of its inputs; a replica has no "
        "feed_dict of its own.",
        "Give the value through the input function or the inputs of the computation, or make the placeholder "
        "a constant or a placeholder with a default.",
    ),
    "TPU361": Code(
        "A TPU computation holds an operation that cannot be replayed on several replicas",
        "Reference variables, queues, iterators and lookup tables belong to the Session's host; an infeed, an "
        "outfeed or a direct exchange between cores has no place in a step that tf.distribute runs.",
        "Use resource variables, take the input through the input function, look words up in the input "
        "pipeline, and exchange between cores by sums; or run on one replica (TPUCOMPAT_CORES=1).",
    ),
    "TPU362": Code(
        "A sum over the cores inside a loop or a function",
        "The replicas of a tf.distribute strategy meet between the stages of a step, and a stage holds its "
        "loops and functions as a whole.",
        "Move the sum out of the loop or function: gather there, and sum after it.",
    ),
    "TPU363": Code(
        "A traced graph with a cycle that is no loop",
        "Nodes wait for each other, and no NextIteration of a TensorFlow loop is between them.",
        "The graph was edited, or is damaged; build it anew.",
    ),
    "TPU364": Code(
        "A sum over the cores whose groups are not known when the step is traced",
        "The group assignment says which cores are summed with each other, and has to be a constant.",
        "Give cross_replica_sum a Python list as its group assignment.",
    ),
    "TPU365": Code(
        "A variable of the step has no value",
        "The replicas get their variables from the host before the first step, and for this one the host had "
        "none: it was never initialized, or was made after the initializer had run.",
        "Make the variable inside the model function, or initialize it in the scaffold.",
    ),
    "TPU366": Code(
        "The values fed do not fit the replicas",
        "Every replica wants one value for every input of the step.",
        "Feed as many replicas as the strategy has, and each of them all inputs.",
    ),
    "TPU367": Code(
        "The cores cannot share a batch of the input pipeline",
        "A batch for all cores is split into equal parts on its first axis.",
        "Make the batch size a multiple of the number of cores, and batch with drop_remainder=True.",
    ),
    "TPU368": Code(
        "A value does not fit a variable of the step",
        "The replicas get their variables from the host, and there the variable has another shape.",
        "Restore a checkpoint of this model, or give the new variable another name.",
    ),
    # 319-339: tf.estimator, TPUEstimator -------------------------------------------------------------
    "TPU319": Code(
        "Embedding tables and features do not fit each other",
        "What describes the tables, the features or their optimizer to TPUEstimator is out of range or names "
        "something that is not there.",
        "Correct the arguments of TableConfig, FeatureConfig, EmbeddingConfigSpec or of the optimizer's "
        "parameters.",
    ),
    "TPU320": Code(
        "An Estimator with a strategy over several machines",
        "TensorFlow 2.16 removed the coordinator that starts tf.estimator on every machine of a cluster.",
        "Train on one machine, or on TensorFlow 2.15; TPUEstimator needs no train_distribute.",
    ),
    "TPU321": Code(
        "Embedding tables need cores that are emulated, or GPUs",
        "The API that gives embedding_config_spec's tables to a TPU went with TensorFlow 2.16, and TensorFlow "
        "1 has no cores but a TPU's. On TensorFlow 2 the tables are computed by tpucompat, on devices that are "
        "no TPU.",
        "Train on one replica or with --cores N on TensorFlow 2; in new code "
        "tfrs.layers.embedding.TPUEmbedding takes their place.",
    ),
    "TPU322": Code(
        "The newest checkpoint is not whole",
        "A file of it, or the file `checkpoint` that names it, is missing, too short or changed; the machine "
        "may have stopped, or the disk been full, meanwhile. The training goes on from the one before.",
        "Nothing; the steps since that checkpoint are done again.",
    ),
    "TPU324": Code(
        "A hook asks for a value that exists on the cores only",
        "The model function of TPUEstimator runs on the cores; the host sees the loss, the global step, the "
        "outputs of host_call and the variables.",
        "Pass the value to the host through host_call, or log it with use_tpu=False.",
    ),
    "TPU325": Code(
        "A training step without a sum over the cores",
        "Each core would train a model of its own on its part of the batch.",
        "Wrap the optimizer: tf.contrib.tpu.CrossShardOptimizer(optimizer).",
    ),
    "TPU326": Code(
        "A scaffold_fn uses a value of the cores",
        "It is called on the host, which does not have the tensors of the model function.",
        "Make what it needs inside scaffold_fn; variables can be used.",
    ),
    "TPU327": Code(
        "The number of shards is not that of the replicas",
        "TPUConfig names the size of the TPU that the script was written for; this process has other devices.",
        "Nothing; the batches are shared by the replicas that are here. TPUCOMPAT_CORES sets their number.",
    ),
    "TPU328": Code(
        "Another process trains in the model directory",
        "Each of the two would write over the other's checkpoints and remove them.",
        "End the other process, or give this one a model_dir of its own.",
    ),
    "TPU329": Code(
        "A batch size that TPUEstimator cannot use",
        "The batches of train_batch_size, eval_batch_size and predict_batch_size are shared equally by the "
        "replicas; each has to be given for what is called.",
        "Pass whole numbers that are multiples of the number of replicas.",
    ),
    "TPU330": Code(
        "A model function returned something else than its specification",
        "TPUEstimator wants a TPUEstimatorSpec, for evaluation and prediction at any rate.",
        "Return tf.contrib.tpu.TPUEstimatorSpec(mode=mode, ...) in every mode.",
    ),
    "TPU331": Code(
        "host_call or eval_metrics do not fit",
        "Each is a pair: a function that runs on the host, and the tensors it is called with: a list for "
        "positional arguments or a dictionary for named ones. The tensors of all replicas are joined on their "
        "first axis.",
        "Give a tensor for each argument, of rank 1 or more: tf.reshape(loss, [1]).",
    ),
    "TPU332": Code(
        "Predictions that the replicas cannot give",
        "The predictions of all replicas are joined on their first axis, which is the batch.",
        "Return a dictionary of tensors whose first dimension is the static batch size.",
    ),
    "TPU333": Code(
        "An input function does not fit",
        "TPUEstimator calls input_fn(params), and each replica gets batches of one static shape.",
        "Take `params`, return a Dataset with batch(params['batch_size'], drop_remainder=True), and give "
        "the features fixed shapes.",
    ),
    "TPU334": Code(
        "The number of steps is missing",
        "On a TPU the host tells the cores how many steps to run.",
        "Pass steps or max_steps to train, and steps to evaluate.",
    ),
    "TPU335": Code(
        "TPUEstimator's configuration is wrong",
        "It wants a tf.contrib.tpu.RunConfig, with one address, and parameters without names of its own.",
        "Correct the argument that the message names.",
    ),
    "TPU336": Code(
        "The input ended before the steps did",
        "The replicas wait for as many batches as there are steps.",
        "Let the Dataset repeat (.repeat()), or ask for fewer steps.",
    ),
    "TPU337": Code(
        "A checkpoint that does not fit the model",
        "The model directory, or warm_start_from, has variables of other names or shapes.",
        "Take another model_dir for another model, or the model that the checkpoint was made with.",
    ),
    "TPU338": Code(
        "The model directory cannot be written",
        "Checkpoints and summaries go there.",
        "Pass a model_dir on a disk with free space that you may write to.",
    ),
    "TPU339": Code(
        "A summary of a value that exists on the cores only",
        "tf.summary in the model function makes summaries on the host, which does not have the values of the "
        "cores. On a TPU such a graph is refused.",
        "Pass the values to the host through host_call, and write tf.contrib.summary there.",
    ),
    # 340-359: batch_parallel, shard, replicate, rewrite, infeed, CrossShardOptimizer
    "TPU340": Code(
        "CrossShardOptimizer got an unknown reduction",
        "Gradients are averaged or summed over the shards; nothing else is defined.",
        "Pass tf.losses.Reduction.MEAN (the default) or tf.losses.Reduction.SUM.",
    ),
    "TPU341": Code(
        "CrossShardOptimizer got a Keras optimizer",
        "Optimizers of Keras sum gradients over the replicas themselves, under a tf.distribute strategy.",
        "Wrap an optimizer of tf.train, or use the Keras optimizer without the wrapper under a strategy.",
    ),
    "TPU342": Code(
        "The groups of a sum over the shards do not fit the shards",
        "group_assignment must name every shard once, in groups of the same size.",
        "Pass a list of lists such as [[0, 1], [2, 3]], or None for one group of all shards.",
    ),
    "TPU343": Code(
        "A reference variable inside a TPU computation",
        "A TPU computation can only use resource variables; this one was made with use_resource=False, or "
        "before resource variables were turned on.",
        "Make the variable with tf.get_variable(..., use_resource=True), or inside the computation.",
    ),
    "TPU344": Code(
        "A sum over the shards inside a loop or conditional that may run differently in each shard",
        "The condition is computed from values that can differ between the shards. A TPU would wait for ever "
        "where it really does differ.",
        "Nothing, if the condition is the same in all shards: shard 0's is used. Otherwise compute it from "
        "sums over the shards.",
    ),
    "TPU345": Code(
        "The inputs of the replicas do not fit each other",
        "All replicas run the same computation, so they need the same number, structure and types of inputs.",
        "Pass one list of inputs for each replica, all built in the same way.",
    ),
    "TPU346": Code(
        "A computation does not take the number of inputs that it is given",
        "It is called with one argument for each input, and one for each element of the infeed queue.",
        "Change the parameters of the computation or the list of inputs.",
    ),
    "TPU347": Code(
        "Inputs or outputs cannot be shared by the shards",
        "Every input is split into equal pieces along its axis, and there is one axis for each input and "
        "output.",
        "Make the size of the axis a multiple of num_shards (drop the rest of a batch, or pad it), and pass "
        "one axis for each input and output.",
    ),
    "TPU348": Code(
        "A computation returns something that is no tensor",
        "What leaves a TPU computation are tensors, followed by operations.",
        "Return tensors, or values that tf.convert_to_tensor accepts; return operations last, or let a "
        "tensor depend on them by tf.control_dependencies.",
    ),
    "TPU349": Code(
        "The TPU system is not initialized",
        "tf.contrib.tpu.initialize_system() was not run before the computation, or shutdown_system() was.",
        "session.run(tf.contrib.tpu.initialize_system()) before the first computation.",
    ),
    "TPU350": Code(
        "A computation that returns nothing computes nothing",
        "Only what is returned, and what changes a variable or a queue, is computed; the rest is left out, "
        "on a TPU as here. A benchmark of such a function measures the call alone.",
        "Return the result, or a sum of it.",
    ),
    "TPU351": Code(
        "An infeed of a type that a TPU's infeed does not have",
        "The infeed carries bool, int32, int64, uint32, bfloat16, float32 and complex64.",
        "Cast on the host before the tensor is enqueued, and back inside the computation.",
    ),
    "TPU352": Code(
        "The two ends of an infeed or outfeed do not fit each other",
        "A tuple is taken out with other types or shapes than it was put in with, its shape cannot be shared "
        "by the shards, or an end was built twice.",
        "Give both ends the same types and fully known shapes, whose sharded dimension is a multiple of the "
        "number of shards; batch with drop_remainder=True, or the size of a batch is not known.",
    ),
    "TPU353": Code(
        "A variable made inside a computation from a value computed there",
        "A variable is initialized once, outside of the computation, where its tensors do not exist.",
        "Use tf.get_variable with an initializer, or tf.Variable(lambda: value).",
    ),
    "TPU354": Code(
        "A computation that the host runs, beside the TPU",
        "On a TPU a computation is replayed under a TPUStrategy, one replica for each core. What the "
        "replicas cannot do by themselves the host does: an infeed or outfeed, Python code and summaries, "
        "tables, queues and iterators of the Session.",
        "Nothing, if it is fast enough. Otherwise give the input through the computation's inputs, and do on "
        "its outputs what only the host can do; TPUCOMPAT_REQUIRE_TPU=1 makes it an error.",
    ),
    "TPU355": Code(
        "An infeed that is filled in another Session",
        "A TPU's infeed belongs to the device, so that programs fill it from a graph and Session of its own. "
        "Here it is a queue, which lives in one Session; a thread carries the tuples from one to the other.",
        "Nothing, if it is fast enough. Otherwise build the enqueue operations in the computation's graph, "
        "and run them in the same Session from a thread.",
    ),
    "TPU356": Code(
        "A model that was exported for a TPU",
        "It is a program for a core of a TPU. Here is none, and what it computes is computed in place.",
        'Nothing has to be done; the tag "serve" without "tpu" is the model for other machines.',
    ),
    "TPU357": Code(
        "Several cores need TensorFlow 1.14 or later",
        "Computations of several cores are traced into graphs of their own and trained under strategies of "
        "TensorFlow 2; TensorFlow 1.13 has neither.",
        "Run the script on TensorFlow 1.15 or 2.x, or on one core: unset TPUCOMPAT_CORES.",
    ),
    "TPU358": Code(
        "A computation that the host would run, where a TPU is required",
        "TPUCOMPAT_REQUIRE_TPU is set, and the cores cannot run what the computation does: an infeed or "
        "outfeed, Python code and summaries, tables, queues and iterators of the Session need the host.",
        "Give the input through the computation's inputs, and do on its outputs what only the host can do; "
        "or unset TPUCOMPAT_REQUIRE_TPU.",
    ),
    # 300-318: keras_to_tpu_model
    "TPU301": Code(
        "A Keras TPU model trains on this machine alone",
        "TF_CONFIG names several machines. keras_to_tpu_model never read it, in TensorFlow 1.13 either: each "
        "of them trains a model of its own on the whole data.",
        "Nothing, if that is meant. For one model on all machines use TPUEstimator, which reads TF_CONFIG, or "
        "tf.distribute.MultiWorkerMirroredStrategy in TensorFlow 2.",
    ),
    "TPU302": Code(
        "A layer's shape is variable beyond the batch",
        "TPU models have constant shapes for all operations; only the number of examples may differ.",
        "Give the Input its full shape, and recurrent layers their `input_length`.",
    ),
    "TPU303": Code(
        "The data do not fit the model",
        "Arrays, or the batches that a generator yields, have to be shaped like the model's inputs and "
        "outputs.",
        "A generator yields (inputs, targets) or (inputs, targets, sample weights); check the shapes.",
    ),
    "TPU304": Code(
        "The cores cannot share a batch",
        "Every core takes an equal part of a batch, the last one of an epoch included.",
        "Make the batch size and the number of samples multiples of the number of cores, or drop the "
        "last partial batch.",
    ),
    "TPU305": Code(
        "A function that returns a Dataset came with the wrong arguments",
        "Keras cannot count the batches of a Dataset, and the targets come out of it.",
        "Pass the number of steps and no `y`.",
    ),
    "TPU306": Code(
        "A Dataset that the cores cannot be fed from",
        "Each core takes the next batch of the Dataset; all of them have to be of one shape.",
        "Return a tf.data.Dataset of (inputs, targets), batched with drop_remainder=True.",
    ),
    "TPU307": Code(
        "Not a strategy for Keras TPU models",
        "keras_to_tpu_model takes a tf.contrib.tpu.TPUDistributionStrategy, as TensorFlow 1.15 did.",
        "Pass tf.contrib.tpu.TPUDistributionStrategy(resolver), or no strategy for all cores.",
    ),
    "TPU308": Code(
        "Keras TPU models train on one replica on TensorFlow 1.x",
        "Several replicas are trained under a tf.distribute strategy of TensorFlow 2.",
        "Unset TPUCOMPAT_CORES, or run the script on TensorFlow 2.",
    ),
    "TPU309": Code(
        "A stateful model trains on one core",
        "The states of its layers have the size of a batch; TensorFlow 1.13 used one core for it too.",
        "Nothing; the batch is that of one core.",
    ),
    "TPU310": Code(
        "A layer needs the static batch size, and another one came",
        "The model's Input fixes the batch size, and a layer could not be built without it.",
        "Feed batches of exactly that size (times the cores), or take the batch size in the layer from "
        "tf.shape(x)[0].",
    ),
    "TPU311": Code(
        "target_tensors with several cores",
        "The targets have to be split over the cores like the inputs, so they have to be fed.",
        "Pass the targets as y or in the Dataset, or train on one core.",
    ),
    "TPU312": Code(
        "The model has no static graph of layers",
        "keras_to_tpu_model takes functional models and Sequential models whose input shape is known, "
        "as TensorFlow 1.13 did.",
        "Build the model from Input layers, or give the first layer an input_shape.",
    ),
    "TPU313": Code(
        "Several cores cannot share a value of this kind",
        "Batches are joined over the cores by sums, which sparse tensors and strings do not have.",
        "Give the model dense numbers, or train on one core.",
    ),
    "TPU314": Code(
        "Several machines train together",
        "TF_CONFIG names several workers. TPUEstimator trains on all of them at once, each taking its part of "
        "every batch, where TensorFlow 1 had a TPU pod. Parameter servers have no part in that.",
        "Start the script on every machine, with the same TF_CONFIG but for its task, and a model_dir that all "
        "of them see.",
    ),
    "TPU315": Code(
        "How the workers share the input",
        "An input function that asks its TPUContext for the host shards the input by itself, as on a TPU pod. "
        "Otherwise every worker reads the whole input, and takes from each batch what its cores would have "
        "taken on one machine. Evaluation and prediction are done by every worker for itself.",
        "Nothing, or shard by params['context'].current_host and num_hosts where reading takes long.",
    ),
    "TPU316": Code(
        "The workers are no longer together",
        "A worker has died, ended, failed or come to another point of the script than the others, and a step "
        "takes all of them. The newest checkpoint is the last state that all had in common.",
        "Read what the named worker wrote last, then start all workers again: they go on from the checkpoint.",
    ),
    "TPU317": Code(
        "This task has nothing to do",
        "TF_CONFIG makes this process a parameter server. The workers of TPUEstimator sum their gradients "
        "among themselves.",
        "Start the chief and the workers only.",
    ),
    "TPU318": Code(
        "The workers do not see the same model_dir",
        "The chief writes the checkpoints, and all workers start from them.",
        "Give TPUEstimator a model_dir on storage that all machines share, the same on all of them.",
    ),
    # 4xx: environment and command line -----------------------------------------------------------
    # 400-419: environment, accelerator, doctor, explain
    "TPU400": Code(
        "TensorFlow is not installed",
        "tpucompat works on the TensorFlow that is installed beside it, and this Python has none.",
        "Install it by the command that `tpucompat doctor` prints.",
    ),
    "TPU401": Code(
        "TensorFlow is older than 1.13",
        "Releases before 1.13 lack parts of the TPU API that tpucompat builds on.",
        "Install TensorFlow 1.13 or later; `tpucompat doctor` prints the command.",
    ),
    "TPU402": Code(
        "A TensorFlow that tpucompat was not tried with",
        "It is newer than the newest release that was tested, or its version cannot be told.",
        "Go on: it is treated like the newest known one. Compare the losses of a first run.",
    ),
    "TPU403": Code(
        "tf-keras is missing",
        "From TensorFlow 2.16 on `tf.keras` is Keras 3, which cannot train a TensorFlow 1 graph. "
        "tf-keras is Keras 2 as a package of its own.",
        'Install the tf-keras of TensorFlow\'s minor: `pip install "tf-keras==2.X.*"`, with --no-deps '
        "where TensorFlow was installed as tensorflow-cpu or tensorflow-tpu.",
    ),
    "TPU404": Code(
        "tf-keras belongs to another TensorFlow",
        "Each tf-keras is made for one minor release of TensorFlow and uses private parts of it.",
        'Install the tf-keras of TensorFlow\'s minor: `pip install "tf-keras==2.X.*"`.',
    ),
    "TPU405": Code(
        "tensorflow-estimator is missing",
        "TensorFlow 2.16 removed tf.estimator; TPUEstimator scripts run on the package "
        "tensorflow-estimator, whose last release is 2.15.0.",
        "`pip install tensorflow-estimator==2.15.0`. Scripts without Estimators do not need it.",
    ),
    "TPU406": Code(
        "TF_USE_LEGACY_KERAS is set against what the script needs",
        "From TensorFlow 2.16 on it must be 1, so that tf.keras is Keras 2; on 2.15 without tf-keras "
        "it must not be set, because TensorFlow then finds no Keras at all. A setting of yours is "
        "never overridden.",
        "`unset TF_USE_LEGACY_KERAS`, and tpucompat sets it where it is needed.",
    ),
    "TPU407": Code(
        "Two TensorFlow distributions are installed over each other",
        "tensorflow, tensorflow-cpu, tensorflow-tpu and tf-nightly all bring the same package, and the "
        "files of the one installed last win. It often happens when a package that asks for "
        "`tensorflow` is added to tensorflow-cpu.",
        "Uninstall all of them and install one; `tpucompat doctor` prints the command.",
    ),
    "TPU408": Code(
        "This TensorFlow was not published for this Python",
        "There are no wheels of this release for this version of Python.",
        "Install a release for this Python by the command that `tpucompat doctor` prints, or make an "
        "environment with another Python.",
    ),
    "TPU409": Code(
        "The package keras belongs to another TensorFlow",
        "TensorFlow 2.6 to 2.15 take tf.keras from the package keras of the same minor.",
        'Install it: `pip install "keras==2.X.*"` with TensorFlow\'s minor.',
    ),
    "TPU410": Code(
        "There is no TPU here",
        "The script asks for a TPU, and this machine has none. Nothing was dialled; it trains on one "
        "CPU or GPU replica.",
        "Nothing, or TPUCOMPAT_CORES=8 to emulate the eight cores of a TPU v2-8 or v3-8, or "
        "TPUCOMPAT_REQUIRE_TPU=1 to stop here instead.",
    ),
    "TPU411": Code(
        "A TPU is required, and there is none",
        "TPUCOMPAT_REQUIRE_TPU is set, and this machine shows no TPU chip or no libtpu.",
        "Run on a TPU VM with tensorflow-tpu, or unset TPUCOMPAT_REQUIRE_TPU.",
    ),
    "TPU412": Code(
        "TPUCOMPAT_CORES is not a positive whole number",
        "It is the number of cores to emulate, such as 8.",
        "Set it to a number such as 8, or unset it for one replica.",
    ),
    "TPU413": Code(
        "The cores were asked for after TensorFlow had started",
        "Logical devices have to be made before TensorFlow's runtime first lists its devices.",
        "Set TPUCOMPAT_CORES or call tpucompat.install() before the first TensorFlow call.",
    ),
    "TPU414": Code(
        "A TPU is here, but TensorFlow cannot use it",
        "TensorFlow reaches the TPU of a TPU VM through libtpu, and only builds with TPU support do.",
        "Install tensorflow-tpu by the command that `tpucompat doctor` prints.",
    ),
    "TPU415": Code(
        "A cluster resolver got something that it cannot use",
        "The arguments contradict each other, or name a cluster that is not there.",
        "Pass the TPU's name or address, or nothing; see tf.distribute.cluster_resolver.",
    ),
    "TPU416": Code(
        "Neither a code nor an old symbol",
        "`tpucompat explain` takes a code such as TPU410 or a name such as tf.contrib.tpu.shard.",
        "Check the spelling; close matches are printed.",
    ),
    "TPU417": Code(
        "The address of a TPU elsewhere is not used",
        "TPU nodes that were reached over gRPC were replaced by TPU VMs, where the TPU belongs to the "
        "machine itself. tpucompat dials nothing.",
        "Run on the TPU VM itself to use a TPU.",
    ),
    "TPU418": Code(
        "TF_CONFIG cannot be used",
        "It is no JSON, or does not say which machines there are and which of them this one is.",
        "Set it as TensorFlow's guide to distributed training does, for the second of two machines: "
        """`TF_CONFIG='{"cluster": {"worker": ["a:2222", "b:2222"]}, """
        """"task": {"type": "worker", "index": 1}}'`; unset it to train on one machine.""",
    ),
    "TPU419": Code(
        "Several machines cannot train together as they are set up",
        "Workers are connected by tf.distribute.MultiWorkerMirroredStrategy, which takes one CPU, or all GPUs, "
        "of each machine, and has to be made before TensorFlow starts.",
        "Change what the message names, or unset TF_CONFIG to train on one machine.",
    ),
    "TPU420": Code(
        "The script cannot be read",
        "There is no such file, or it cannot be opened or decoded.",
        "Check the path and the permissions; `tpucompat run -m NAME` takes a module's name.",
    ),
    "TPU450": Code(
        "The notebook cannot be read",
        "A notebook is a JSON file with a list of cells; this one is damaged, or something else.",
        "Open it in Jupyter and save it again, or leave it out by `exclude`.",
    ),
    "TPU451": Code(
        "The configuration cannot be used",
        "Settings for scan and migrate stand in the table [tool.tpucompat] of pyproject.toml: select, "
        "ignore, exclude.",
        "Correct the setting that the message names.",
    ),
    "TPU452": Code(
        "The file was not written",
        "The new text is written beside the file and then takes its place, so that nothing is ever half "
        "written; the folder does not allow it, or the file has changed in the meantime.",
        "Check the permissions of the file and of its folder.",
    ),
    "TPU453": Code(
        "migrate needs a later Python",
        "Python 3.8 was the first to tell where an expression ends; without that nothing can be rewritten in "
        "its place.",
        "Run `tpucompat migrate` with a later Python; the scripts may be for any.",
    ),
    "TPU454": Code(
        "The file could not be rewritten",
        "What migrate made of it cannot be read as Python, which is a fault of migrate; the file is as it was.",
        "Open an issue with the file, or rewrite it by hand with the help of `tpucompat scan`.",
    ),
    "TPU455": Code(
        "TPUCOMPAT_REHEARSE cannot be used as it is set",
        "It is the number of cores of the TPU to rehearse, such as 8, or a TPU's name, such as v3-8. It "
        "excludes TPUCOMPAT_CORES, which emulates cores by another strategy.",
        "Set it to a number or a name, and unset TPUCOMPAT_CORES; or unset it.",
    ),
    "TPU456": Code(
        "This TensorFlow cannot rehearse a TPU",
        "A rehearsal rests on private parts of TensorFlow's TPUStrategy, which were seen in 2.15 to 2.21.",
        "Install TensorFlow 2.15 or later, or emulate the cores: TPUCOMPAT_CORES=8.",
    ),
    "TPU457": Code(
        "The script rehearses a TPU",
        "TensorFlow's own TPUStrategy runs the script over cores that are not there: one program for all of "
        "them, which XLA compiles for the CPU. Nothing is said of a TPU's arithmetic, memory, speed or infeed.",
        "Nothing; `tpucompat check` compiles the script's computations for a TPU.",
    ),
    "TPU458": Code(
        "TPUCOMPAT_TPU contradicts another setting",
        "It names a TPU to connect to. Emulated and rehearsed cores, and a script that is to find no TPU, "
        "exclude it.",
        "Unset one of the two.",
    ),
    "TPU459": Code(
        "The TPU that TPUCOMPAT_TPU names cannot be reached",
        "TensorFlow's TPUClusterResolver found no TPU of that name, or its machines do not answer.",
        "Compare the name with `gcloud compute tpus tpu-vm list`; unset TPUCOMPAT_TPU to use this machine.",
    ),
    "TPU463": Code(
        "The host's part of a step that a rehearsal cannot take apart",
        "What outside_compilation leaves to the host, a rehearsal runs when the step's program has ended. "
        "What gives a value back to the cores, or stands in a loop or a conditional, would have to run in the "
        "middle of it.",
        "Return the value from the step, and use it on the host; or run with --cores instead of --rehearse. "
        "On a TPU, TensorFlow runs it; that has not been tried here.",
    ),
    "TPU464": Code(
        "The host runs what a script places on a TPU by itself",
        "Operations in `with tf.device('/TPU:0')` and a graph's tf.contrib.distribute.TPUStrategy want a "
        "Session that has the TPU. The TPU belongs to TensorFlow 2's TPUStrategy, which a process "
        "initializes once; a rehearsal has no such devices either.",
        "Give it to the TPU by batch_parallel, shard or rewrite, by keras_to_tpu_model or a TPUEstimator. "
        "TPUCOMPAT_REQUIRE_TPU makes it an error.",
    ),
    "TPU421": Code(
        "The script is written for Python 2",
        "It has statements that only Python 2 reads, such as a print statement.",
        "Convert it first: `python -m lib2to3 -w SCRIPT` on Python 3.12 or older, or `2to3`.",
    ),
    "TPU422": Code(
        "tpucompat was installed after TensorFlow's Keras had been used",
        "TensorFlow 2.16 and later choose the Keras generation at the first touch of `tf.keras`; "
        "by then it was Keras 3, which cannot train a TensorFlow 1 graph.",
        "Put `import tpucompat; tpucompat.install()` on the first line, before any TensorFlow import.",
    ),
    "TPU423": Code(
        "tpucompat is already installed for another era",
        "A process sees one TensorFlow: the graph world of TensorFlow 1 or early TensorFlow 2.",
        "Run the other script in a process of its own, or give `--era` / `install(era=…)` once.",
    ),
    "TPU424": Code(
        "The script has a syntax error",
        "This Python cannot read the script.",
        "Correct the line shown above; it fails with plain `python` too.",
    ),
    "TPU448": Code(
        "The script is the text of a notebook",
        "Lines that begin with % or ! are IPython's; python does not read them, and did not then.",
        "Put the text into a notebook (`pip install jupytext; jupytext --to notebook FILE.py`) and run that: "
        "`tpucompat run FILE.ipynb`.",
    ),
    "TPU449": Code(
        "A data set of Kaggle is not here",
        "On Kaggle the data sets that a notebook names were attached to it; here they are folders.",
        "Put it where the message says, under the name that it has below /kaggle/input.",
    ),
    "TPU426": Code(
        "multi_gpu_model gives the model itself",
        "Keras 2.4 removed it; its replicas shared weights and averaged gradients, so that the numbers are "
        "those of the one model.",
        "Nothing, or train on several devices with keras_to_tpu_model or a tf.distribute strategy.",
    ),
    "TPU425": Code(
        "A smoke run",
        "With --smoke every training, evaluation and prediction stops after a few steps.",
        "When the script comes through, run it without --smoke.",
    ),
    "TPU427": Code(
        "An installed package is written for TensorFlow 1",
        "Its code uses tf.contrib, or its release is of that time, and it knows of no later TensorFlow.",
        "Nothing; it is shown the old names, as the script is. Newer releases of the package may need none.",
    ),
    "TPU428": Code(
        "An installed package asks for what TensorFlow no longer has",
        "The error comes from a package that pip has installed, and those see today's TensorFlow unless "
        "they are named as old ones.",
        "If it was written for TensorFlow 1, run with `--legacy-package NAME`, or install the package's newest "
        "release.",
    ),
    # 429-449: notebooks, Colab, paths, what a script runs into
    "TPU429": Code(
        "A field of the notebook's form cannot be filled in",
        "--form NAME=VALUE enters a value where the notebook has a line like `NAME = '' #@param`; it is what "
        "one would enter in Colab: a text without quotes, a number, true or false.",
        "Take a name that the message lists, and a value of the field's kind.",
    ),
    "TPU430": Code(
        "The packages that execute notebooks are missing",
        "A notebook is executed in a kernel by nbclient, nbformat and ipykernel, as Jupyter does; they are an "
        "extra of tpucompat.",
        "`pip install nbclient nbformat ipykernel`, or `pip install tpucompat[notebook]`.",
    ),
    "TPU431": Code(
        "The notebook cannot be read or written",
        "The file is no notebook of format 3 or later, or it or the file for --out cannot be opened.",
        "Open the file in Jupyter and save it anew; check the path and the permissions.",
    ),
    "TPU432": Code(
        "A cell of the notebook failed",
        "The error above is the cell's own; the cells after it were not run.",
        "Correct the cell, or try the notebook in parts; with --out FILE the outputs so far are kept.",
    ),
    "TPU433": Code(
        "The notebook's kernel ended",
        "The process that runs the cells is gone: it ran out of memory, crashed in native code, or a cell "
        "ended it.",
        "Look at the cell named above; run it with smaller data, or leave out the line that exits.",
    ),
    "TPU434": Code(
        "The notebook is written for Python 2",
        "It has statements that only Python 2 reads, such as a print statement. Nothing was run.",
        "Convert it first: `jupyter nbconvert --to script`, then `2to3 -w`; or correct the cells named above.",
    ),
    "TPU435": Code(
        "A shell line of the notebook",
        "Lines that start with ! run programs of the machine. On another machine than the author's, and "
        "without a network, they may fail, and Jupyter goes on after that.",
        "Do by hand what the line does, then run with --shell skip; `--shell name` names such lines.",
    ),
    "TPU436": Code(
        "An installation of TensorFlow or Keras was left out",
        "A notebook that installs the TensorFlow of its time would replace the one that tpucompat works on. "
        "Other packages on the line were installed.",
        "Nothing; the cells run on the TensorFlow that is here.",
    ),
    "TPU437": Code(
        "%tensorflow_version comes too late",
        "A process sees one TensorFlow: the graph world of TensorFlow 1 or early TensorFlow 2. It can be "
        "chosen until TensorFlow is first used.",
        "Restart the kernel and run the %tensorflow_version cell first.",
    ),
    "TPU438": Code(
        "Something stands in for Colab or Kaggle",
        "google.colab exists on Colab only. Elsewhere a local folder stands for Google Drive and for "
        "downloads, and nobody has to sign in. kaggle_datasets exists on Kaggle only; elsewhere a data set is "
        "a folder.",
        "Set TPUCOMPAT_DRIVE, TPUCOMPAT_DOWNLOADS, TPUCOMPAT_UPLOADS and TPUCOMPAT_KAGGLE_INPUT to folders and "
        "files of yours.",
    ),
    "TPU439": Code(
        "A part of Colab that nothing stands in for",
        "It asks the person at the browser for something, or talks to Colab's own services.",
        "Take the way that the message names, or leave the cell out.",
    ),
    "TPU440": Code(
        "A mapping of paths cannot be used",
        "--map and TPUCOMPAT_MAP take gs://bucket=DIR, or gs://bucket/folder=DIR.",
        "Write it as in `--map gs://my-bucket=./bucket`; in TPUCOMPAT_MAP, several are separated by ;.",
    ),
    "TPU441": Code(
        "A new folder stands for a gs:// path",
        "A bucket is there before the first file in it, so a mapping's folder is made where it is missing.",
        "Nothing, if the script writes there; else put its data into the folder, or correct the mapping.",
    ),
    "TPU442": Code(
        "A gs:// path cannot be reached",
        "Google Cloud Storage did not answer, or there are no credentials for it on this machine.",
        "Let a local folder stand for the bucket: `--map gs://bucket=DIR`; or sign in by "
        "`gcloud auth application-default login`.",
    ),
    "TPU443": Code(
        "A download failed",
        "The script fetches data from the network, and the address did not answer or no longer exists.",
        "Put the file where the script keeps it (Keras: ~/.keras/datasets), and run it again.",
    ),
    "TPU444": Code(
        "A file that the script opens is missing",
        "Old scripts carry paths of their author's machine, of Colab (/content) or of a data set that has to "
        "be fetched first.",
        "Put the file there, or give the script's flag for it; a local folder can stand for a bucket by --map.",
    ),
    "TPU445": Code(
        "A folder cannot stand where Google Drive is mounted",
        "The notebook takes files from a path such as /content/drive, which this user may not make.",
        "Make it once by the command that the message names.",
    ),
    "TPU446": Code(
        "A compiled operation of TensorFlow 1",
        "The script loads a shared library that was built for another TensorFlow; native code of 1.x fits no "
        "later release.",
        "Build the library anew against the TensorFlow that is here, or use what the package offers in Python.",
    ),
    "TPU447": Code(
        "A module is missing",
        "The script imports a package that is not installed, or a module of its author's that lies elsewhere.",
        "Install the package that brings it by pip, or put the module's folder beside the script (notebooks "
        "often fetch it by !git clone).",
    ),
    # 475-484: what a script runs into, and how the command says it
    "TPU475": Code(
        "A module of Python 2",
        "Python 3 gave some modules of the standard library other names; no package on PyPI brings them back.",
        "Write the name of Python 3: `2to3 -f imports -w SCRIPT`, up to Python 3.12, does so.",
    ),
    "TPU476": Code(
        "A folder or file cannot be made",
        "The folder that it would be in is missing, is a file, or may not be written to by this user.",
        "Give the script another place for its output (model_dir, logdir), or make the folder first.",
    ),
    "TPU477": Code(
        "The script reads the address of a TPU, and none is set",
        "COLAB_TPU_ADDR and TPU_NAME are set for scripts that read them. With TPUCOMPAT_NO_TPU they are "
        "not, as on a machine without a TPU.",
        "Unset TPUCOMPAT_NO_TPU, or let the script read the variable by os.environ.get. Where a module that "
        "the script imports reads it, set it to any name; nothing is dialled.",
    ),
    "TPU478": Code(
        "A label that is none of the classes",
        "The loss counts the classes from 0, and the model has as many as its last layer has units. A TPU "
        "gives NaN for such a label and no error.",
        "Number the labels from 0 to the number of classes - 1, or give the last layer as many units.",
    ),
    "TPU479": Code(
        "Labels that do not have the shape of what the model gives",
        "Losses of the sparse kind (sparse_softmax_cross_entropy_with_logits, sparse_categorical_crossentropy) "
        "take one whole number for each example, the others as many numbers as there are classes.",
        "Change the labels' shape in the input, or take the loss of the other kind.",
    ),
    "TPU480": Code(
        "A value does not have the shape of the placeholder that it is fed to",
        "The feed_dict of Session.run gives an array whose shape is not that of the placeholder.",
        "Change the array's shape (np.reshape), or make the placeholder with None for what differs.",
    ),
    "TPU481": Code(
        "A variable is used before it has a value",
        "A graph's variables have none until their initializer runs or a checkpoint is restored; a variable "
        "that is made after that has none either.",
        "session.run(tf.global_variables_initializer()) when the graph is complete, and "
        "tf.local_variables_initializer() for metrics.",
    ),
    "TPU482": Code(
        "A function of the script that TensorFlow called raised an error",
        "A generator, or a function given to py_func, runs within the step or the input pipeline.",
        "Correct the line of the script that the error names; it has nothing to do with TPUs.",
    ),
    "TPU483": Code(
        "A training was stopped and saved",
        "Ctrl-C lets a training of TPUEstimator finish its step (on several cores the steps of a call) and "
        "save a checkpoint.",
        "Run the script again with the same model_dir to go on from there.",
    ),
    "TPU484": Code(
        "An option of tpucompat's behind the script's name",
        "What stands behind the script's name is given to the script, and this one does not name the option.",
        "Write the option before the script: `tpucompat run --cores 8 SCRIPT`.",
    ),
    # 470-474: verify, convert-checkpoint and exact mode
    "TPU470": Code(
        "Nothing can be compared",
        "tpucompat verify needs two scripts that exist, or a table of pairs, and options that make sense.",
        "Read the message; `tpucompat verify --help` lists the options.",
    ),
    "TPU471": Code(
        "A checkpoint cannot be converted",
        "It does not exist, is of no known kind, or the variables of the two sides do not belong together.",
        "Read the message; `--map FILE` says which variable is which, `--like FILE` shows the wanted layout.",
    ),
    "TPU472": Code(
        "Exact mode was asked for too late",
        "TensorFlow decides when it is loaded whether it computes with oneDNN, which rounds otherwise than "
        "TensorFlow 1.15.",
        "Say it before TensorFlow is imported: `tpucompat run --exact`, TPUCOMPAT_EXACT=1, or "
        "`tpucompat.install(exact=True)` on the first line.",
    ),
    "TPU473": Code(
        "Exact mode and TF_ENABLE_ONEDNN_OPTS contradict each other",
        "Exact mode leaves out oneDNN's kernels, which round otherwise than TensorFlow 1.15, and the variable "
        "asks for them.",
        "Unset TF_ENABLE_ONEDNN_OPTS for TensorFlow 1.15's rounding, or leave --exact and TPUCOMPAT_EXACT out.",
    ),
    "TPU474": Code(
        "A layer with channels_first cannot be trained on this CPU",
        "TensorFlow's own kernels for a CPU know channels_last (NHWC) only. oneDNN's have both, but exact mode "
        "leaves them out, and so does TensorFlow by itself on CPUs without AVX512_VNNI.",
        "Use the fast mode: leave out --exact and TPUCOMPAT_EXACT; where that is not enough, set "
        "TF_ENABLE_ONEDNN_OPTS=1.",
    ),
    # 485-499: faults, and files of strangers
    "TPU485": Code(
        "A link that leads out of the tree",
        "What it points to lies outside of the folder that was named. It is neither read nor rewritten, so "
        "that a tree of somebody else's cannot reach the other files of the machine.",
        "Nothing; where the files are meant, name them or their folder on the command line.",
    ),
    "TPU486": Code(
        "A checkpoint that reaches out of its file, or declares more than it can hold",
        "HDF5 can keep the bytes of an array in any other file and link to it, and an archive of a few bytes "
        "can unpack to any size. Neither Keras nor TensorFlow writes such checkpoints. A file may hold 20 "
        "times its own size, and 64 MB in any case.",
        "If you trust the file, load it with the program that made it, and save it again.",
    ),
    "TPU487": Code(
        "The output could not be written",
        "The disk that the output is redirected to is full, or what reads it has gone.",
        "Make room, or write the output elsewhere, and run the command again.",
    ),
    "TPU488": Code(
        "Reading a checkpoint ended the process that reads it",
        "A damaged file can make the libraries that read checkpoints crash, or read for ever. They run in a "
        "process of their own; nothing was written.",
        "Take another copy of the file.",
    ),
    # 5xx: Keras 3, and what a migration leaves -----------------------------------------------------
    "TPU510": Code(
        "An argument that Keras 3 does not take",
        "Keras 2 had it. Keras 3 raises an error, or ignores it and says so in a warning.",
        "Write what docs/topics/keras_2_and_3.md names; `tpucompat migrate` does where there is something. "
        "`migrate --keras 2` keeps Keras 2, as the package tf-keras.",
    ),
    "TPU511": Code(
        "A name that Keras 3 does not have",
        "A method, an attribute or a function of Keras 2 that Keras 3 removed or calls otherwise.",
        "Write what docs/topics/keras_2_and_3.md names; `tpucompat migrate` does where there is something. "
        "`migrate --keras 2` keeps Keras 2, as the package tf-keras.",
    ),
    "TPU512": Code(
        "An argument whose place or default Keras 3 has changed",
        "What is given by position lands in another parameter, or where nothing is given another value is "
        "taken.",
        "Write the arguments by name, and the old default; `tpucompat migrate` does.",
    ),
    "TPU513": Code(
        "A file name that Keras 3 refuses",
        "Keras 3 tells a file's format by its name: weights end in .weights.h5, models in .keras or .h5.",
        "Give the file that ending everywhere; `tpucompat migrate` does where it sees the name.",
    ),
    "TPU514": Code(
        "Something that Keras 3 computes or reports otherwise",
        "The call is the same, and what it computes, logs or accepts is not.",
        "Write what docs/topics/keras_2_and_3.md names; `tpucompat migrate` does where there is something.",
    ),
    "TPU515": Code(
        "A tensor or Session of a graph beside Keras 3",
        "Keras 2 was built of graphs: its models gave tensors that operations of TensorFlow took, and ran in a "
        "Session. Keras 3 has neither.",
        "Put the operations into a layer (Lambda, or a class with call), and read values by .numpy(). Until "
        "then tpucompat.v1 runs the program as it is.",
    ),
    "TPU516": Code(
        "A name that is not there",
        "`tpucompat migrate` looks up every name of what it wrote in the TensorFlow and Keras that are "
        "installed, and did not find this one.",
        "Install the release or the package that has it, or leave the TODO to a person.",
    ),
    "TPU517": Code(
        "A migrated script does not run",
        "`tpucompat migrate --try` ran it under plain Python, for few steps, and it ended with an error.",
        "Read the error; the line is that of the rewritten script. What fails has been left as it was.",
    ),
}


def page(code: str) -> str:
    """Where a code's page lies in the guide."""
    return f"codes/{code}.html"
