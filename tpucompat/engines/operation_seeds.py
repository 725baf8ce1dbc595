"""The seeds of operations that were given none, as TensorFlow 1.15 chooses them.

Where a graph has a seed (``tf.set_random_seed``, an Estimator's ``tf_random_seed``), 1.15 seeds an operation by
the number of operations that its graph has so far (``python/framework/random_seed.py``, ``Graph._last_id``).
TensorFlow 2 counts the seeds that the graph has given out instead, so that a program starts from other
weights and drops other values. Here the seed is 1.15's again: the number of operations, and with
it what :mod:`tpucompat.engines.operation_counts` knows of functions that make more or fewer than they did.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
import weakref
from typing import Any, Callable, Iterator

import numpy as np
import tensorflow

from tpucompat.engines import gradient_counts, missing_folders, operation_counts, references
from tpucompat.tf import patches, private

_v1 = tensorflow.compat.v1
#: How many operations more a graph would have in 1.15, but for its variables.
_missing: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_marks: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
#: Whether operations that are given no seed get one from NumPy.
_from_numpy = contextvars.ContextVar("_from_numpy", default=False)


@patches.patch
def install_tf1_op_seeds() -> None:
    """Lets graphs choose their operations' seeds so; idempotent."""
    module = private.random_seed()
    patches.replace(module, "get_seed", _seeded_like_tf1(module.get_seed))
    places: dict[str, Callable[[Callable[..., Any]], Any]] = {
        place: functools.partial(_counted, difference=difference)
        for place, difference in operation_counts.DIFFERENCES.items()
    }
    places.update(_OTHERWISE)
    places.update(dict.fromkeys(_DRAWS_SEEDS, _seeded_by_numpy))
    places["keras/backend:RandomGenerator.make_legacy_seed"] = _seeded_once
    places["tensorflow.python.ops.variable_scope:_VariableStore._get_single_variable"] = _got
    places["tensorflow.python.training.slot_creator:_create_slot_var"] = _of_the_kind_of("primary")
    optimizer = "tensorflow.python.training.optimizer:Optimizer"
    places[f"{optimizer}._create_non_slot_variable"] = _of_the_kind_of("colocate_with")
    for place in private.DEFAULT_VARIABLE_CREATORS:
        places[place] = _created
    private.replace_functions(places)
    private.replace_gradients(
        {
            operation: functools.partial(_counted_gradient, difference=difference)
            for operation, difference in gradient_counts.DIFFERENCES.items()
        }
    )
    private.replace_gradients({"SelectV2": _of_masks})


def _softmax_by_parts(softmax: Callable[..., Any]) -> Callable[..., Any]:
    """Keras' activation "softmax" as 1.15 computed it for more than two dimensions.

    The output is then not an operation Softmax (1.15 ``python/keras/activations.py``), of which Keras' losses
    would take the logits: they clip the probabilities at 1e-7 and 1 - 1e-7.
    """

    @functools.wraps(softmax)
    def computed(x: Any, axis: int = -1) -> Any:
        if tensorflow.executing_eagerly() or (x.shape.rank or 0) <= 2:
            return softmax(x, axis)
        powers = tensorflow.exp(x - tensorflow.reduce_max(x, axis=axis, keepdims=True))
        return powers / tensorflow.reduce_sum(powers, axis=axis, keepdims=True)

    return computed


def _of_logits(activation: str) -> Callable[[Callable[..., Any]], Any]:
    """A cross entropy of Keras' backend that takes a model's output apart where 1.15 does, and only there.

    1.15 (``python/keras/backend.py``) looks at the operation alone, and does not take apart what the caller
    calls logits. 2.3 asks that no layer has made it. Since 2.4 the activations note their logits, which every
    cross entropy takes: that of binary labels those of a softmax.
    """

    def computed(crossentropy: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(crossentropy)
        def of_logits(
            target: Any, output: Any, from_logits: bool = False, *args: Any, **options: Any
        ) -> Any:
            made_by: Any = getattr(output, "op", None)  # what is eager has none
            is_activation = getattr(made_by, "type", "") == activation
            if is_activation and not from_logits:
                if hasattr(output, "_keras_history"):
                    output, from_logits = made_by.inputs[0], True
            elif is_activation or hasattr(output, "_keras_logits"):
                with uncounted():
                    output = tensorflow.identity(output)  # which has no logits
            return crossentropy(target, output, from_logits, *args, **options)

        return of_logits

    return computed


def _flip_one(flip: Callable[..., Any]) -> Callable[..., Any]:
    """``tf.image.random_flip_*``: 1.15 takes an image of unknown rank for a single one, and draws once.

    2.x builds the flip of a batch too, with a draw of its own.
    """

    @functools.wraps(flip)
    def computed(image: Any, flip_index: int, random_func: Any, scope_name: str) -> Any:
        shape = tensorflow.TensorShape(getattr(image, "shape", np.shape(image)))
        if tensorflow.executing_eagerly() or shape.rank is not None or not callable(random_func):
            return flip(image, flip_index, random_func, scope_name)
        with _v1.name_scope(None, scope_name, [image]) as scope:
            image = private.checked_image(image)
            drawn = random_func(shape=[], minval=0, maxval=1.0)
            flipped = _v1.cond(
                tensorflow.less(drawn, 0.5),
                lambda: tensorflow.reverse(image, [flip_index]),
                lambda: image,
                name=scope,
            )
        flipped.set_shape([None] * 3)
        return flipped

    return computed


def _regularized(call: Callable[..., Any]) -> Callable[..., Any]:
    """A regularizer as 1.15 computed it: it adds up from 0, and sums squares."""

    @functools.wraps(call)
    def computed(regularizer: Any, x: Any) -> Any:
        if tensorflow.executing_eagerly():
            return call(regularizer, x)
        sizes = (("l1", tensorflow.abs), ("l2", tensorflow.square))
        strengths = [(getattr(regularizer, name, 0.0), size) for name, size in sizes]
        if not any(strength for strength, _ in strengths):
            return tensorflow.constant(0.0)
        return sum(
            (factor * tensorflow.reduce_sum(size(x)) for factor, size in strengths if factor), 0.0
        )

    return computed


def _huber_of_elements(_: Callable[..., Any]) -> Callable[..., Any]:
    """Huber's loss as 1.15 computed it: of each element, where 2.2 has the mean over the last dimension."""

    def huber(y_true: Any, y_pred: Any, delta: Any = 1.0) -> Any:
        """The loss of each element of ``y_pred``."""
        real = _v1.keras.backend.floatx()
        y_pred, y_true = (tensorflow.cast(each, real) for each in (y_pred, y_true))
        size = tensorflow.abs(y_pred - y_true)
        near = tensorflow.minimum(size, delta)
        far = size - near
        half = tensorflow.convert_to_tensor(0.5, near.dtype)
        return half * (near * near) + delta * far

    return huber


def _without_a_phase(call: Callable[..., Any]) -> Callable[..., Any]:
    """A layer whose function 1.15 did not tell whether it trains: no learning phase is made for it."""
    signature = inspect.signature(call)

    @functools.wraps(call)
    def called(*args: Any, **options: Any) -> Any:
        given = signature.bind(*args, **options)
        drops = getattr(given.arguments["self"], "dropout", 0)
        if given.arguments.get("training") is None and not drops:
            given.arguments["training"] = False
        return call(*given.args, **given.kwargs)

    called.__signature__ = signature  # type: ignore[attr-defined]  # Keras looks for `training`
    return called


def _drawn_by_default(start: Callable[..., Any]) -> Callable[..., Any]:
    """``keras.experimental.LinearModel``, whose kernel 2.3 lets start from zeros."""
    signature = inspect.signature(start)

    @functools.wraps(start)
    def started(*args: Any, **options: Any) -> None:
        given = signature.bind(*args, **options)
        given.arguments.setdefault("kernel_initializer", "glorot_uniform")
        start(*given.args, **given.kwargs)

    return started


def _without_beta(start: Callable[..., Any]) -> Callable[..., Any]:
    """Ftrl, to which 2.4 gave a variable for beta: of its 0 none is made."""

    @functools.wraps(start)
    def started(optimizer: Any, *args: Any, **options: Any) -> None:
        start(optimizer, *args, **options)
        if not tensorflow.executing_eagerly() and optimizer._hyper.get("beta") == 0.0:
            optimizer._set_hyper("beta", lambda: 0.0)

    return started


#: Keras' functions of probabilities, which early TensorFlow 2 computed in the same way.
_CROSS_ENTROPIES: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "keras/backend:categorical_crossentropy": _of_logits("Softmax"),
    "keras/backend:sparse_categorical_crossentropy": _of_logits("Softmax"),
    "keras/backend:binary_crossentropy": _of_logits("Sigmoid"),
}
#: Functions that TensorFlow 2 computes with other operations.
_OTHERWISE: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "tensorflow.python.ops.special_math_ops:einsum": private.einsum_of_matrices,
    # Inside of a TPU's step einsum would be one XlaEinsum, which gives all that comes after it other seeds
    # than the same step has on one replica, and has no kernel on a CPU.
    "tensorflow.python.ops.special_math_ops:_enclosing_tpu_context": lambda _: lambda: None,
    "keras/activations:softmax": _softmax_by_parts,
    **_CROSS_ENTROPIES,
    **{f"keras/regularizers:{name}.__call__": _regularized for name in ("L1", "L2", "L1L2")},
    "keras/optimizers.legacy.ftrl:Ftrl.__init__": _without_beta,
    "keras/losses:huber": _huber_of_elements,
    "keras/premade_models.linear:LinearModel.__init__": _drawn_by_default,
    "keras:Attention._apply_scores": _without_a_phase,
    "keras:DenseFeatures.call": _without_a_phase,
    "keras/feature_column.sequence_feature_column:SequenceFeatures.call": _without_a_phase,
    "tensorflow.python.ops.image_ops_impl:_random_flip": _flip_one,
    "tensorflow.python.ops.gen_io_ops:matching_files": lambda original: missing_folders.checked(
        original, add
    ),
}


@patches.patch
def install_tf1_computations() -> None:
    """Only what is computed with other operations is as in 1.15, not the seeds."""
    private.replace_functions(_OTHERWISE)


@patches.patch
def take_no_logits_of_another_activation() -> None:
    """Lets the cross entropies of early TensorFlow 2 take the logits of their own activation alone."""
    private.replace_functions(_CROSS_ENTROPIES)


def count(graph: Any) -> int:
    """The number of operations that a graph would have in 1.15."""
    number: int = graph.version + _missing.get(graph, 0) + references.more_operations(graph)
    return number


def add(graph: Any, operations: int) -> None:
    """Counts operations that 1.15 would have made in a graph by now, besides those that are there.

    Args:
      graph: The ``tf.Graph``.
      operations: How many; negative where 1.15 would have made fewer.
    """
    _missing[graph] = _missing.get(graph, 0) + operations


@contextlib.contextmanager
def uncounted() -> Iterator[None]:
    """Operations of the default graph that are there on some machines only; they change no seed after them."""
    graph = _v1.get_default_graph()
    before = count(graph)
    yield
    add(graph, before - count(graph))


def mark(graph: Any, more: int = 0) -> None:
    """Notes how many operations a graph has in 1.15 by now, for :func:`resume`; the first mark stays.

    Args:
      graph: The ``tf.Graph``.
      more: Operations that 1.15 makes next.
    """
    _marks.setdefault(graph, count(graph) + more)


def resume(graph: Any) -> None:
    """Counts on from a graph's mark, if it has one: what was made since, 1.15 makes for a TPU only."""
    if graph in _marks:
        add(graph, _marks[graph] - count(graph))


def _seeded_like_tf1(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def get_seed(op_seed: Any) -> Any:
        if op_seed is None and not tensorflow.executing_eagerly():
            graph = _v1.get_default_graph()
            if _from_numpy.get():
                op_seed = np.random.randint(10**7)
            elif graph.seed is not None:
                op_seed = count(graph)
        return original(op_seed)

    return get_seed


#: Layers of Keras whose noise has a seed that 1.15 draws from NumPy (``keras/backend.py``), so that what a
#: program draws after them depends on it; and the masks of recurrent cells.
_DRAWS_SEEDS = (
    "keras:GaussianNoise.call",
    "keras:GaussianDropout.call",
    "keras:AlphaDropout.call",
    "keras/layers.rnn.dropout_rnn_cell_mixin:_generate_dropout_mask",
)


def _seeded_by_numpy(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def drawn(*args: Any, **options: Any) -> Any:
        token = _from_numpy.set(True)
        try:
            return call(*args, **options)
        finally:
            _from_numpy.reset(token)

    return drawn


def _seeded_once(original: Callable[..., Any]) -> Callable[..., Any]:
    """The seed that a layer was given: 2.x counts it up at each call, 1.15 takes it as it is."""

    @functools.wraps(original)
    def seed(generator: Any) -> Any:
        return original(generator) if tensorflow.executing_eagerly() else generator._seed

    return seed


def _counted(
    function: Callable[..., Any], difference: operation_counts.Difference
) -> Callable[..., Any]:
    """A function of TensorFlow whose calls are followed by what 1.15 would have counted."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def as_counted(*args: Any, **options: Any) -> Any:
        if tensorflow.executing_eagerly():
            return function(*args, **options)
        try:
            call = signature.bind(*args, **options)
        except TypeError:
            return function(*args, **options)  # which says what is wrong
        call.apply_defaults()
        more = difference(call.arguments)
        graph = _v1.get_default_graph()
        add(graph, more.before)
        result = function(*args, **options)
        add(graph, more.after)
        return result

    as_counted.__signature__ = signature  # type: ignore[attr-defined]  # Keras looks for `training`
    return as_counted


def _counted_gradient(
    function: Callable[..., Any], difference: gradient_counts.Difference
) -> Callable[..., Any]:
    """The function of an operation's gradient, as :func:`_counted`."""

    @functools.wraps(function)
    def as_counted(operation: Any, gradient: Any, *others: Any) -> Any:
        graph_is_built = not tensorflow.executing_eagerly()
        if graph_is_built and isinstance(gradient, tensorflow.Tensor):
            more = difference(operation, gradient)
            add(_v1.get_default_graph(), more.after)
        return function(operation, gradient, *others)

    return as_counted


def _is_of_one_shape(choice: Any, gradient: Any) -> bool:
    """Whether a mask was tiled to the shape of what it chooses from, outside of a loop: Keras' ``rnn``."""
    mask, *tensors = choice.inputs
    shapes = [each.shape.rank and each.shape.as_list() for each in (*tensors, gradient)]
    is_tiled = mask.op.type == "Tile" and not private.is_in_loop(choice)
    return is_tiled and bool(shapes[0]) and shapes[1:] == shapes[:-1]


def _of_masks(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of what a mask of Keras chooses, as of 1.15's Select: all have one shape."""

    @functools.wraps(function)
    def computed(operation: Any, gradient: Any) -> Any:
        mask, chosen, _ = operation.inputs
        if tensorflow.executing_eagerly() or not _is_of_one_shape(operation, gradient):
            return function(operation, gradient)
        zeros = tensorflow.zeros_like(chosen)
        return None, _v1.where(mask, gradient, zeros), _v1.where(mask, zeros, gradient)

    return computed


def _got(original: Callable[..., Any]) -> Callable[..., Any]:
    """``get_variable``: TensorFlow 2 calls a regularizer once more, to see whether it gives anything."""

    @functools.wraps(original)
    def get_single_variable(
        *args: Any, regularizer: Any = None, use_resource: Any = None, **options: Any
    ) -> Any:
        calls: list[int] = []
        wanted = references.wanted(use_resource)
        uncounted = "ReadVariableOp" if wanted else ""

        def counted(variable: Any) -> Any:
            graph = _v1.get_default_graph()
            before = len(graph.get_operations())
            loss = regularizer(variable)
            if not calls and not tensorflow.executing_eagerly():
                made = graph.get_operations()[before:]
                add(graph, -sum(each.type != uncounted for each in made))
            calls.append(1)
            return loss

        variable = original(
            *args, regularizer=regularizer and counted, use_resource=use_resource, **options
        )
        if wanted:
            references.note(variable)
        return variable

    return get_single_variable


def _of_the_kind_of(parameter: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function of optimizers that makes a variable of the same kind as the one that it is told.

    Args:
      parameter: Which of its parameters that is.
    """

    def computed(original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def create(*args: Any, **options: Any) -> Any:
            variable = original(*args, **options)
            told = signature.bind(*args, **options).arguments[parameter]
            if not tensorflow.executing_eagerly() and references.includes(told):
                references.note(variable)
            return variable

        return create

    return computed


def _created(original: Callable[..., Any]) -> Callable[..., Any]:
    """``tf.Variable``."""

    @functools.wraps(original)
    def default_variable_creator(*args: Any, **options: Any) -> Any:
        explicit = options.get("use_resource")
        wanted = explicit is None and references.wanted(explicit)
        variable = original(*args, **options)
        if wanted:
            references.note(variable)
        return variable

    return default_variable_creator
