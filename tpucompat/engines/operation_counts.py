"""How many operations more, or fewer, TensorFlow 1.15 makes for a call than TensorFlow 2.

The numbers come from the Python of both (1.15.5; 2.15 and 2.21, which agree), each with its reason, and from
``tests/data/operation_counts.json``, which ``tools/record_operation_counts.py`` writes under 1.15. Earlier
releases of TensorFlow 2 make other numbers here and there (2.4 of a dataset iterator's operations).
What a function calls is counted by its own row: a row is about its function's own lines.
"""

from __future__ import annotations

import functools
import numbers
from typing import Any, Callable, Mapping, NamedTuple

import numpy as np
import tensorflow

from tpucompat.base.machine import current_environment
from tpucompat.engines import known_shapes, references
from tpucompat.tf import private

_v1 = tensorflow.compat.v1


class More(NamedTuple):
    """Operations that 1.15 makes besides; negative: operations that it does not make.

    Attributes:
      before: Those that count for the seeds that are taken within the call.
      after: Those that count from the end of the call on.
    """

    before: int = 0
    after: int = 0


Arguments = Mapping[str, Any]
Difference = Callable[[Arguments], More]


def _always(before: int = 0, after: int = 0) -> Difference:
    more = More(before, after)
    return lambda arguments: more


def _random_uniform(arguments: Arguments) -> More:
    """1.15 computes ``u * (maxval - minval) + minval`` whatever the two are."""
    lowest, highest = arguments["minval"], arguments["maxval"]
    if tensorflow.as_dtype(arguments["dtype"]).is_integer or not _is_number(lowest, 0):
        return More()
    if highest is None or _is_number(highest, 1):
        return More(before=2, after=3)
    return More(after=2)


def _is_number(value: Any, number: int) -> bool:
    return isinstance(value, int) and value == number


def _dropout(arguments: Arguments) -> More:
    """1.15 makes a tensor of the rate, and multiplies by the scale and by the mask."""
    rate = arguments["rate"]
    if not isinstance(rate, numbers.Real):
        return More(before=-3, after=5)
    return More(before=-1, after=4) if rate else More()


def _filled(arguments: Arguments) -> More:
    """1.15 multiplies the sizes, of which some are tensors, to see whether a constant would be small."""
    shape = arguments["shape"]
    if not isinstance(shape, (list, tuple)) or not any(map(tensorflow.is_tensor, shape)):
        return More()
    if _numpy_multiplies_tensors():
        return More()
    operations, product_known = 2, True  # ``product < 1000``
    for position, size in enumerate(shape):
        known = not tensorflow.is_tensor(size)
        if position and not (known and product_known):
            operations += 1 + (known or product_known)  # a number becomes a constant
        product_known = product_known and known
    return More(before=operations)


@functools.lru_cache(maxsize=None)
def _numpy_multiplies_tensors() -> bool:
    """Whether ``np.prod`` multiplies a list of tensors as in 1.15; so NumPy 1.19 with 2.6."""
    with _v1.Graph().as_default():
        try:
            return bool(tensorflow.is_tensor(np.prod([_v1.placeholder(tensorflow.int32, [])])))
        except NotImplementedError:
            return False


def _one_hot(arguments: Arguments) -> More:
    """1.15 makes a tensor of each given value to know its type, and another one to use."""
    values = (arguments["on_value"], arguments["off_value"])
    return More(before=sum(each is not None and not tensorflow.is_tensor(each) for each in values))


def _checked_image(arguments: Arguments) -> More:
    """1.15 checks the whole shape, 2.x the last three sizes only."""
    shape = tensorflow.TensorShape(getattr(arguments["image"], "shape", None))
    if shape.is_fully_defined():
        return More()
    return More(before=22 if shape.rank is not None and shape[-3:].is_fully_defined() else -4)


def _decoded_image(arguments: Arguments) -> More:
    """1.15 chooses among the decoders of each format in the graph; 2.x has an operation for it."""
    whole = tensorflow.as_dtype(arguments["dtype"]) == tensorflow.uint8
    return More(after=75 if whole else 83)


def _convolution(arguments: Arguments) -> More:
    """1.15 has the dilation as a tensor also where there is none."""
    return More(after=int(set(arguments["self"].dilation_rate) == {1}))


def _enlarged_images(arguments: Arguments) -> More:
    """1.15 asks for the height and the width when it runs also where they are known."""
    shape, first = arguments["x"].shape, 1 + (arguments["data_format"] == "channels_first")
    known = shape.rank is not None and shape[first : first + 2].is_fully_defined()
    return More(after=4 if known else 0)


def _weighted_loss(arguments: Arguments) -> More:
    """1.15 broadcasts the weights to the losses; those that are not given are 1."""
    losses, weights = (
        known_shapes.shape(arguments["losses"]),
        known_shapes.shape(arguments["sample_weight"]),
    )
    if losses.rank is not None and weights.rank is not None:
        if weights.rank == losses.rank + 1:
            weights = weights[:-1]
        elif 0 < weights.rank == losses.rank - 1:
            weights = weights.concatenate(1)
    if losses.is_fully_defined() and losses == weights:
        return More()
    with _v1.Graph().as_default():
        given = [_v1.placeholder(_v1.float32, each) for each in (weights, losses)]
        checks = private.operations_of_weights(*given)
    return More(after=checks + 4)


def _unchecked_weights(values: str, are_tensors: bool = False) -> Difference:
    """TensorFlow 2 does not check weights in a step for XLA, which would draw other numbers after a loss.

    Args:
      values: The argument that the weights have to fit.
      are_tensors: Whether the function has made tensors of both before it checks.
    """

    def more(arguments: Arguments) -> More:
        if not private.is_for_xla():
            return More()
        given, weights = arguments[values], arguments["weights"]
        return More(before=private.operations_of_weights(weights, given, are_tensors))

    return more


def _broadcast_weights(arguments: Arguments) -> More:
    """As the losses; weights of the values' shape are returned as they are."""
    weights, values = (getattr(arguments[name], "shape", None) for name in ("weights", "values"))
    if weights is not None and weights.is_fully_defined() and weights == values:
        return More()
    return _unchecked_weights("values")(arguments)


def _recurrent(arguments: Arguments) -> More:
    """A loop for XLA also counts its steps, up to the most that there can be."""
    looped = not arguments["unroll"] and private.is_for_xla()
    return More(after=-19 if looped else 0)


def _keys(features: Any) -> int:
    """How many keys of a tf.Example some features read."""
    keys: set[str] = set()
    for name, feature in (features or {}).items():
        if hasattr(feature, "value_key"):
            index = feature.index_key
            keys.update([feature.value_key, *([index] if isinstance(index, str) else index)])
        else:
            keys.add(name)
    return len(keys)


def _parsed(arguments: Arguments) -> More:
    """1.15 has a tensor for each key, 2.x one for each kind of features, ragged ones too."""
    return More(after=1 + _keys(arguments["features"]) - 4)


def _parsed_sequence(arguments: Arguments) -> More:
    """As for one example, of the context and of the sequences."""
    context, sequence = arguments["context_features"], arguments["sequence_features"]
    return More(after=_keys(context) + _keys(sequence) - 6)


def _split(arguments: Arguments) -> More:
    """1.15 makes a tensor of the number of parts before it looks whether it is a number."""
    parts = arguments["num_or_size_splits"]
    return More(before=int(isinstance(parts, (numbers.Integral, _v1.Dimension))))


def _tensordot(arguments: Arguments) -> More:
    """1.15 transposes and reshapes an operand of known shape also where nothing comes out of it."""
    left, right = arguments["a"], arguments["b"]
    axes = arguments["axes"]
    if isinstance(axes, int):
        rank = known_shapes.rank(left)
        if rank is None:
            return More()
        summed = [list(range(rank - axes, rank)), list(range(axes))]
    elif isinstance(axes, (list, tuple)) and len(axes) == 2:
        summed = [[each] if isinstance(each, int) else each for each in axes]
    else:
        return More()
    more = 0
    for operand, over, flipped in ((left, summed[0], False), (right, summed[1], True)):
        shape = known_shapes.known_shape(operand)
        if shape is None or not isinstance(over, (list, tuple)):
            continue
        over = [axis % len(shape) for axis in over]
        free = [axis for axis in range(len(shape)) if axis not in over]
        order = over + free if flipped else free + over
        matrix = [known_shapes.product(shape, over), known_shapes.product(shape, free)]
        moved = [shape[axis] for axis in order]
        more += 2 * (order == sorted(order))
        more += 2 * (moved == (matrix if flipped else matrix[::-1]))
    return More(after=more)


def _reduction(arguments: Arguments) -> More:
    """2.x asks a scalar for its rank when it runs; 1.15 has an empty constant, and asks a variable."""
    value = arguments["x"]
    rank = known_shapes.rank(value)
    if arguments["axis"] is not None or rank is None:
        return More()
    if not isinstance(value, _v1.Variable):
        return More(after=0 if rank else -3)
    # A resource is read for it.
    return More(after=3 + (not references.includes(value)) if rank else 0)


def _array_size(arguments: Arguments) -> More:
    """1.15 always asks the TensorArray."""
    array = arguments["self"]
    size = None if array._dynamic_size else array._size
    return More(after=int(tensorflow.is_tensor(size)))


def _crop(arguments: Arguments) -> More:
    """2.x takes the batch and the channels from the image's shape; 1.15 says -1."""
    sizes = (arguments["target_height"], arguments["target_width"])
    return More(after=-8 if any(map(tensorflow.is_tensor, sizes)) else -12)


def _slice(arguments: Arguments) -> More:
    """2.x gives what a slice leaves out the type of the tensors that are its other bounds.

    A list of numbers (begins, ends, strides) is one constant in 1.15; here those with such a default are packed
    from one constant each. In 1.15 the constant is cast where other bounds are int64.
    """
    if not current_environment().has("typed_slices"):
        return More()
    entries = arguments["slice_spec"]
    entries = entries if isinstance(entries, (list, tuple)) else [entries]
    with_tensors = [False] * 3
    defaults: list[Any] = [None] * 3
    for entry in entries:
        if isinstance(entry, slice):
            bounds = [entry.start, entry.stop, entry.step]
            types = [each.dtype for each in bounds if isinstance(each, tensorflow.Tensor)]
            kind = max(types, key=lambda each: each.size, default=None)
        elif isinstance(entry, tensorflow.Tensor) and entry.dtype != tensorflow.bool:
            # One element: the next is the end, and the stride has a type where it is not the usual one.
            bounds = [entry, entry, None]
            kind = None if entry.dtype == tensorflow.int32 else entry.dtype
        else:
            continue
        for place, bound in enumerate(bounds):
            if isinstance(bound, tensorflow.Tensor):
                with_tensors[place] = True
            elif bound is None and kind is not None:
                defaults[place] = kind
    after = 0
    for has_tensor, kind in zip(with_tensors, defaults):
        if kind is not None and not has_tensor:
            after -= len(entries) - (kind == tensorflow.int64)
    return More(after=after)


def _flatten(arguments: Arguments) -> More:
    """2.x makes a constant shape wherever it can."""
    shape = arguments["inputs"].shape
    rank = shape.rank
    if rank is None:
        return More()
    batch, rest = _v1.dimension_value(shape[0]) if rank else None, shape[1:]
    then = 2 if batch else 8  # (batch, -1): one constant, or a slice of the shape, packed with -1
    if rank == 1:
        return More(after=then - 2)
    now = 2 if rest.is_fully_defined() or batch is not None else 8
    return More(after=then - now)


def _transposed_convolution(arguments: Arguments) -> More:
    """1.15 computes the height and the width of what comes out in the graph also where they are known."""
    layer, shape = arguments["self"], arguments["inputs"].shape
    if shape.rank is None:
        return More()
    first = 2 if layer.data_format == "channels_first" else 1
    known = sum(_v1.dimension_value(shape[axis]) is not None for axis in (first, first + 1))
    if layer.output_padding is not None:
        length = 10 if layer.padding == "same" else 8
    else:
        length = 4 if layer.padding == "valid" else 2
    return More(after=known * (4 + length - 1))


def _batch_normalization(arguments: Arguments) -> More:
    """1.15 gives a training step two empty constants for the moving averages, and each call its momentum."""
    training = known_shapes.static(arguments["training"])
    includes = references.includes(arguments["self"].moving_mean)
    # In the conditional each moving average is switched, and a resource is read.
    switched = 0 if includes else -2
    return More(after=switched if training is None else 2 * includes if training else 1)


def _plain_normalization(arguments: Arguments) -> More:
    """1.15 casts what it normalizes halves by, where 2.x casts the results alone.

    Of virtual batches 1.15 knows the shape before they run.
    """
    layer, training = arguments["self"], known_shapes.static(arguments["training"])
    is_half = arguments["inputs"].dtype in (tensorflow.float16, tensorflow.bfloat16)
    casts = layer.center + layer.scale + (training is None or bool(training))
    if layer.fused:
        return More()
    return More(after=int(casts * is_half) - 13 * (layer.virtual_batch_size is not None))


def _distributed_over_time(arguments: Arguments) -> More:
    """A reshape to the shape that is there; of batches of known size a loop, whose steps 1.15 counts."""
    layer, inputs = arguments["self"], tensorflow.nest.flatten(arguments["inputs"])[0]
    of_known_size = 0 if layer._always_use_reshape else 13
    return More(after=of_known_size if _v1.dimension_value(inputs.shape[0]) else -2)


def _keras_dropout(arguments: Arguments) -> More:
    """1.15 asks for the learning phase, and makes the shape of the noise, also where nothing is dropped."""
    layer, inputs, training = (arguments[name] for name in ("self", "inputs", "training"))
    if not isinstance(layer.rate, numbers.Real) or layer.rate:
        return More()
    if training is None:
        training = _v1.keras.backend.learning_phase()
    is_fed = tensorflow.is_tensor(training)
    if not is_fed and not training:
        return More()
    with _v1.Graph().as_default() as graph:
        layer._get_noise_shape(_v1.placeholder(inputs.dtype, inputs.shape))
        operations = len(graph.get_operations()) - 1
    if is_fed:
        return More(after=operations + 7)  # the conditional
    # What comes out is what went in, of which only a functional model makes an identity.
    return More(after=operations - (not hasattr(inputs, "_keras_history")))


def _convolutional_recurrent(arguments: Arguments) -> More:
    """1.15 counts the steps of its loop where it knows how many there are."""
    inputs = tensorflow.nest.flatten(arguments["inputs"])[0]
    return More(after=0 if _v1.dimension_value(inputs.shape[1]) is None else 13)


def _gated_cell(arguments: Arguments) -> More:
    """1.15 takes the gates from the one product by slices, and 2.x splits it."""
    cell = arguments["self"]
    if cell.implementation == 1:
        return More()
    return More(after=18 if cell.reset_after else 14)


def _added_bias(arguments: Arguments) -> More:
    """1.15 reshapes the bias, and adds it, where BiasAdd takes no such rank or order."""
    rank = known_shapes.rank(arguments["x"])
    is_first = arguments["data_format"] == "channels_first"
    reshaped = known_shapes.rank(arguments["bias"]) == 1 and (
        rank in (3, 5) or (rank == 4 and is_first)
    )
    return More(after=2 if reshaped else 0)


def _batch_dot(arguments: Arguments) -> More:
    """1.15 multiplies by adjoints; 2.x moves the axes first, and asks for the shape that comes out."""
    ranks = [known_shapes.rank(arguments["x"]) or 0, known_shapes.rank(arguments["y"]) or 0]
    then = {(2, 2): 5, (3, 3): 1, (3, 2): 7, (2, 3): 7}.get((ranks[0], ranks[1]))
    axes = arguments["axes"]
    if then is None:
        return More()
    if axes is None:
        axes = [-1, -1 if ranks[1] == 2 else -2]
    axes = [axes, axes] if isinstance(axes, int) else axes
    first, second = (axis % rank for axis, rank in zip(axes, ranks))
    flat = [rank == 2 for rank in ranks]
    moved = [not flat[0] and first == 1, second != 1]
    return More(after=then - 2 - 2 * sum(flat) - any(flat) - 2 * sum(moved))


def _masked_average(arguments: Arguments) -> More:
    """2.x slices the first example to know the type."""
    return More(after=0 if arguments["mask"] is None else -4)


def _aggregated(arguments: Arguments) -> More:
    """2.x sums dense gradients over replicas by a function with a gradient of its own: an Identity each."""
    gradients = [gradient for gradient, _ in arguments["grads_and_vars"]]
    is_dense = all(isinstance(each, tensorflow.Tensor) for each in gradients)
    return More(after=-(1 + len(gradients)) * is_dense)


def _scattered(arguments: Arguments) -> More:
    """1.15 makes a constant of the learning rate again."""
    return More(after=int(not tensorflow.is_tensor(arguments["self"]._learning_rate)))


def _sparse_lookup(arguments: Arguments) -> More:
    """1.15 casts the rows' numbers, and makes ids distinct also where one table needs no weights."""
    params = arguments["params"]
    if arguments["sp_weights"] is not None:
        return More()
    if not current_environment().has("lookup_without_unique"):
        return More(after=1)
    tables = params if isinstance(params, (list, tuple)) else [params]
    # A resource is looked up as it was.
    one = len(tables) == 1 and hasattr(tables[0], "dtype") and not hasattr(tables[0], "handle")
    return More(after=5 if one and arguments["max_norm"] is None else 1)


def _reshaped(arguments: Arguments) -> More:
    """2.x converts an empty list twice, as it is none of numbers."""
    shape = arguments["shape"]
    return More(after=-int(isinstance(shape, (list, tuple)) and not shape))


def _diagonals(arguments: Arguments) -> More:
    """2.x has tensors of the diagonals and of the padding."""
    options = (arguments["k"], arguments["padding_value"])
    return More(after=-sum(not tensorflow.is_tensor(each) for each in options))


def _polynomial_decay(arguments: Arguments) -> More:
    """1.15 makes the number of steps a constant again; in cycles it chooses by a conditional."""
    decay = arguments["self"]
    given = tensorflow.is_tensor(decay.decay_steps)
    return More(after=5 + given if decay.cycle else 1 - given)


def _confusion_matrix(arguments: Arguments) -> More:
    """A dense sum with zeros, for an operation that scatters; their shape is cast where it is of int64."""
    classes = arguments["num_classes"]
    whole = classes is None or getattr(classes, "dtype", None) == tensorflow.int64
    return More(after=2 + whole)


def _ftrl_slots(arguments: Arguments) -> More:
    """1.15 has a constant for ones times a number."""
    shapes = (variable.shape for variable in arguments["var_list"])
    return More(after=-sum(2 if shape.num_elements() < 1000 else 4 for shape in shapes))


def _ftrl_strength(arguments: Arguments) -> More:
    """2.x adds beta, divided by the learning rate, to the strength of the regularization."""
    rate = arguments["self"]._learning_rate
    return More(after=-9 + tensorflow.is_tensor(rate))


def _restored_sparse(arguments: Arguments) -> More:
    """2.x puts the sizes that are known into the shape of a SparseTensor that comes from a dataset."""
    shape = arguments["self"].shape
    if shape.rank is None or shape.is_fully_defined():
        return More(after=-int(shape.is_fully_defined()))
    known = sum(_v1.dimension_value(each) is not None for each in shape)
    return More(after=-(2 + known) if known else 0)


def _central_crop(arguments: Arguments) -> More:
    """2.x casts the fraction for each size that is unknown."""
    shape = tensorflow.TensorShape(getattr(arguments["image"], "shape", None))
    if shape.rank not in (3, 4) or _is_number(arguments["central_fraction"], 1):
        return More()
    return More(after=-sum(_v1.dimension_value(each) is None for each in shape[-3:-1]))


def _saturated(arguments: Arguments) -> More:
    """1.15 has a minimum and a maximum, each where the types ask for it; 2.x clips."""
    value, wanted = arguments["value"], tensorflow.as_dtype(arguments["dtype"]).base_dtype
    given = tensorflow.as_dtype(getattr(value, "dtype", wanted)).base_dtype
    if given.is_complex or wanted.is_complex:
        return More()
    sides = int(given.min < wanted.min) + int(given.max > wanted.max)
    return More(after=2 * sides - 3 if sides else 0)


def _identity_column(arguments: Arguments) -> More:
    """1.15 asserts that numbers are in the range; 2.x casts once more where they get a default."""
    if arguments["self"].default_value is None:
        return More(before=38)
    return More(before=-int(arguments["input_tensor"].dtype != tensorflow.int64))


#: By ``module:name`` of the function; ``keras:Layer.method`` is a layer's method of the Keras with graphs.
DIFFERENCES: Mapping[str, Difference] = {
    "tensorflow.python.ops.random_ops:random_uniform": _random_uniform,
    "tensorflow.python.ops.nn_ops:dropout_v2": _dropout,
    # An operator of the class, and what variables' slices call
    "tensorflow:Tensor.__getitem__": _slice,
    "tensorflow.python.ops.array_ops:_slice_helper": _slice,
    "tensorflow.python.ops.tensor_getitem_override:_slice_helper": _slice,
    "keras:Conv2D.build": _convolution,
    "keras:Conv2DTranspose.call": _transposed_convolution,
    "keras:Flatten.call": _flatten,
    "keras:Dropout.call": _keras_dropout,
    "keras:ConvLSTM2D.call": _convolutional_recurrent,
    "keras:GRUCell.call": _gated_cell,
    "keras/backend:batch_dot": _batch_dot,
    "keras:GlobalAveragePooling1D.call": _masked_average,
    "keras/backend:bias_add": _added_bias,
    "tensorflow.python.ops.array_ops:ones_like_v2": _always(after=2),  # for which 2.x has OnesLike
    "keras/losses:mean_absolute_percentage_error": _always(after=2),
    "keras/losses:mean_squared_logarithmic_error": _always(after=4),
    "keras/metrics.accuracy_metrics:categorical_accuracy": _always(after=-1),
    "keras/metrics.accuracy_metrics:sparse_categorical_accuracy": _always(after=-2),
    "keras/metrics.accuracy_metrics:top_k_categorical_accuracy": _always(after=-2),
    "keras/optimizers.legacy.optimizer_v2:OptimizerV2._aggregate_gradients": _aggregated,
    "tensorflow.python.training.gradient_descent:GradientDescentOptimizer"
    "._resource_apply_sparse_duplicate_indices": _scattered,
    # beta, of which a number is made here, and what is computed of it
    "keras/optimizers.legacy.ftrl:Ftrl._prepare_local": _always(after=-2),
    "keras/optimizers.legacy.ftrl:Ftrl._resource_apply_dense": _always(after=-4),
    "keras/optimizers.legacy.ftrl:Ftrl._resource_apply_sparse": _always(after=-4),
    "keras:BatchNormalization._fused_batch_norm": _batch_normalization,
    "keras:BatchNormalization.call": _plain_normalization,
    "keras:TimeDistributed.call": _distributed_over_time,
    # The last axes by way of a fused batch normalization, and then what centers
    "keras:LayerNormalization.call": lambda arguments: More(
        after=-(18 + bool(arguments["self"].center)) * bool(arguments["self"]._fused)
    ),
    "keras/backend:resize_images": _enlarged_images,
    # The bias comes before the kernel
    "keras/premade_models.linear:LinearModel.build": lambda arguments: (
        More(7, -7) if arguments["self"].use_bias else More()
    ),
    "keras/backend:sqrt": _always(after=2),  # clipped, for which 2.x has a maximum
    "keras/utils.losses_utils:compute_weighted_loss": _weighted_loss,
    "tensorflow.python.ops.losses.losses_impl:compute_weighted_loss": _unchecked_weights("losses"),
    "tensorflow.python.ops.losses.losses_impl:mean_pairwise_squared_error": (
        _unchecked_weights("labels", are_tensors=True)
    ),
    "tensorflow.python.ops.weights_broadcast_ops:broadcast_weights": _broadcast_weights,
    "keras/backend:rnn": _recurrent,
    "tensorflow.python.ops.array_ops:zeros": _filled,
    "tensorflow.python.ops.array_ops:ones": _filled,
    "tensorflow.python.ops.array_ops:reshape": _reshaped,
    "tensorflow.python.ops.array_ops:one_hot": _one_hot,
    "tensorflow.python.ops.array_ops:matrix_diag": _always(after=-4),  # MatrixDiagV3's options
    "tensorflow.python.ops.array_ops:matrix_diag_part": _diagonals,
    "tensorflow.python.ops.array_ops:matrix_set_diag": _always(after=-1),  # the diagonal's number
    # One that can be fed
    "tensorflow.python.ops.array_ops:sparse_placeholder": lambda arguments: More(
        after=-(arguments["shape"] is not None)
    ),
    "tensorflow.python.ops.array_ops:split": _split,
    "tensorflow.python.ops.embedding_ops:embedding_lookup_sparse": _sparse_lookup,
    "tensorflow.python.ops.math_ops:tensordot": _tensordot,
    "tensorflow.python.ops.math_ops:_ReductionDims": _reduction,
    "tensorflow.python.ops.tensor_array_ops:_GraphTensorArray.size": _array_size,
    # Multiplied by the inverse, for two divisions
    "tensorflow.python.ops.nn_impl:weighted_moments": _always(after=1),
    "tensorflow.python.ops.math_ops:saturate_cast": _saturated,
    # The algorithm, and a key of the seed
    **{
        f"tensorflow.python.ops.stateless_random_ops:stateless_{name}": _always(after=-2)
        for name in ("random_uniform", "random_normal", "truncated_normal")
    },
    # Of tf.keras, and of tf.train
    "keras/optimizers.schedules.learning_rate_schedule:PolynomialDecay.__call__": _polynomial_decay,
    "tensorflow.python.keras.optimizer_v2.learning_rate_schedule:PolynomialDecay.__call__": (
        _polynomial_decay
    ),
    "tensorflow.python.feature_column.feature_column_v2:IdentityCategoricalColumn"
    "._transform_input_tensor": _identity_column,
    "tensorflow.python.ops.nn_impl:swish": _always(after=-2),  # beta
    # What alpha and beta are broadcast by comes before the seed
    "tensorflow.python.ops.random_ops:random_gamma": _always(before=-2),
    "tensorflow.python.ops.clip_ops:clip_by_global_norm": _always(after=1),  # tf.where(is_finite)
    # An identity of what was gathered
    "tensorflow.python.ops.resource_variable_ops:BaseResourceVariable.sparse_read": _always(
        after=1
    ),
    "tensorflow.python.ops.image_ops_impl:_CheckAtLeast3DImage": _checked_image,
    "tensorflow.python.ops.image_ops_impl:decode_image": _decoded_image,
    # One operation for those that compute it in 2.x
    "tensorflow.python.ops.math_ops:linspace_nd": _always(after=-67),
    "tensorflow.python.ops.confusion_matrix:confusion_matrix": _confusion_matrix,
    "tensorflow.python.training.ftrl:FtrlOptimizer._create_slots": _ftrl_slots,
    "tensorflow.python.training.ftrl:FtrlOptimizer._prepare": _ftrl_strength,
    "tensorflow.python.ops.image_ops_impl:crop_to_bounding_box": _crop,
    "tensorflow.python.ops.image_ops_impl:central_crop": _central_crop,
    # The sizes are slices of a tensor
    "tensorflow.python.ops.image_ops_impl:_resize_images_common": lambda arguments: More(
        after=-6 * bool(arguments["preserve_aspect_ratio"])
    ),
    # ``tf.identity`` of an image that was checked
    "tensorflow.python.ops.image_ops_impl:per_image_standardization": _always(after=1),
    "tensorflow.python.ops.parsing_ops:parse_example": _parsed,
    "tensorflow.python.ops.parsing_ops:parse_single_sequence_example": _parsed_sequence,
    # An operation of its own, with its keys as attributes
    "tensorflow.python.ops.parsing_ops:parse_single_example": _always(after=-4),
    # Their blocks' sizes, which 1.15 leaves open
    "tensorflow.python.data.ops.interleave_op:_ParallelInterleaveDataset.__init__": _always(
        before=-2
    ),
    # sloppy, which has become an attribute
    "tensorflow.python.data.ops.readers:ParallelInterleaveDataset.__init__": _always(before=1),
    # RewriteDataset with its constant, of a range that enumerates and of a choice; the first in 2.15
    "tensorflow.python.data.ops.dataset_ops:_apply_rewrite": _always(after=-2),
    "tensorflow.python.data.ops.dataset_ops:apply_rewrite": _always(after=-2),
    "tensorflow.python.framework.sparse_tensor:SparseTensorSpec._from_compatible_tensor_list": (
        _restored_sparse
    ),
    # 1.15 keeps them in Python.
    "tensorflow.python.data.ops.dataset_ops:_OptionsDataset.__init__": _always(after=-1),
    "tensorflow.python.data.experimental.ops.readers:CsvDatasetV2.__init__": _always(
        after=-1  # columns to exclude
    ),
    # OptimizeDataset with its constant, and ModelDataset
    "tensorflow.python.data.ops.dataset_ops:DatasetV1._make_initializable_iterator": _always(
        before=3
    ),
}
