"""What a TPU does not like, found in the source of model functions and input pipelines.

A rule looks at the calls of one module and knows which of its functions run on the TPU: those that are given to
TPUEstimator, batch_parallel, strategy.run and their kin, and those that these call. What a rule cannot see in
the source it does not report.
"""

from __future__ import annotations

import ast
from typing import Any, Callable, Iterable, Iterator, NamedTuple

from tpucompat.commands.analysis.findings import Module
from tpucompat.names.used import Call, Function, argument, constant, keyword, walk

#: The cores of a TPU v2-8 and v3-8, and what every larger slice is a multiple of.
CORES = 8


class Hazard(NamedTuple):
    """A construct: its code, where it stands, what it is, what to write."""

    code: str
    node: ast.AST
    was: str
    becomes: str
    note: str = ""


# Functions that take a computation for all cores as their first argument, by the last part of their names.
_TAKE_COMPUTATION = frozenset(
    ("batch_parallel", "shard", "replicate", "rewrite", "split_compile_and_shard")
)
_PARALLEL_METHODS = frozenset((".run", ".experimental_run_v2"))
# What TPUEstimator runs on the host although it stands inside of a model function.
_ON_HOST = ("host_call", "metric_fn", "eval_metric", "scaffold_fn", "input_fn", "host_fn")
#: Arguments of TPUEstimatorSpec that say so of a function, by itself or as the first of a tuple.
_HOSTED = ("eval_metrics", "host_call", "scaffold_fn")

_DYNAMIC = {
    "boolean_mask": "tf.where(mask, x, 0), or weights",
    "unique": "tf.math.unsorted_segment_sum with a fixed number of segments",
    "unique_with_counts": "tf.math.unsorted_segment_sum with a fixed number of segments",
    "dynamic_partition": "a mask for each part",
    "setdiff1d": "a mask",
}
_PYTHON = frozenset(("py_func", "py_function", "numpy_function"))
_FILES = (
    *("tensorflow.gfile", "tensorflow.io.gfile", "tensorflow.compat.v1.gfile"),
    *("tensorflow.io.read_file", "tensorflow.read_file", "tensorflow.io.write_file"),
    *("tensorflow.write_file", "tensorflow.python_io", "numpy.load"),
)
_SUMMARIES = ("tensorflow.summary.", "tensorflow.compat.v1.summary.")
_CONVERSION = "keras_to_tpu_model"
_ESTIMATOR_BATCHES = ("train_batch_size", "eval_batch_size", "predict_batch_size")


def hazards(module: Module) -> Iterator[Hazard]:
    """All constructs of a module that a TPU does not like."""
    if not module.names.calls:
        return
    program = _Program(module)
    if not program.uses_tpu:
        return
    for call in module.names.calls:
        yield from _outside(call, program)
        if program.on_tpu(call.function) and not program.is_hosted(call):
            for rule in _INSIDE:
                yield from rule(call, program)


class _Program:
    """Which functions of a module run on the TPU, and what its batches are."""

    def __init__(self, module: Module) -> None:
        self.names = module.names
        self.functions = module.names.functions
        self.uses_tpu = any(
            ".contrib.tpu" in use.name
            or use.name.endswith(("TPUStrategy", "TPUEstimator", "TPUClusterResolver"))
            for use in module.names.uses
        )
        self.is_estimator = False
        #: The first conversion of a model, which the findings about all trainings come with.
        self.conversion = next((one for one in self.names.calls if _last(one) == _CONVERSION), None)
        self._flags = _flags(self.names.calls)
        hosted = _hosted(module) if self.uses_tpu else []
        self._hosted = {one.id for one in hosted if isinstance(one, ast.Name)} & {*self.functions}
        self._in_lambdas = {
            id(node) for one in hosted if isinstance(one, ast.Lambda) for node in walk(one)
        }
        self._shapes: set[str] | None = None
        self._on_tpu = self._find() if self.uses_tpu else frozenset()
        self.has_unknown_batch = self.uses_tpu and self._unknown_batch()

    def on_tpu(self, function: Function | None) -> bool:
        """Whether a function, or one around it, runs on the TPU."""
        while function is not None:
            if self._is_hosted(function.node.name):
                return False
            if function.node.name in self._on_tpu:
                return True
            function = function.outer
        return False

    def is_hosted(self, call: Call) -> bool:
        """Whether a call stands in a lambda that runs on the host."""
        return id(call.node) in self._in_lambdas

    def _is_hosted(self, name: str) -> bool:
        return name in self._hosted or any(word in name for word in _ON_HOST)

    def _find(self) -> frozenset[str]:
        found: set[str] = set()
        for call in self.names.calls:
            last = call.name.rpartition(".")[2]
            given: ast.AST | None = None
            if call.name.startswith("tensorflow") and last in _TAKE_COMPUTATION:
                given = argument(call.node, 0, "computation")
            elif call.name in _PARALLEL_METHODS and _is_of_strategy(call):
                given = call.node.args[0] if call.node.args else keyword(call.node, "fn")
            elif last == "TPUEstimator":
                self.is_estimator = True
                given = argument(call.node, 0, "model_fn")
            if isinstance(given, ast.Name) and given.id in self.functions:
                found.add(given.id)
        if self.is_estimator or self.uses_tpu:
            found.update(name for name in self.functions if name.endswith("model_fn"))
        waiting = list(found)
        while waiting:  # what they call runs there too
            function = self.functions.get(waiting.pop())
            for name in function.names if function else ():
                is_new = name in self.functions and name not in found
                if is_new and not self._is_hosted(name):
                    found.add(name)
                    waiting.append(name)
        return frozenset(found)

    def _unknown_batch(self) -> bool:
        """Whether a batch that reaches the TPU has no size; what a server is asked does not reach it."""
        is_asked = {
            id(call.function or call)
            for call in self.names.calls
            if call.name.endswith("InputReceiver")
        }
        for call in self.names.calls:
            if call.name.endswith(".placeholder") and id(call.function) not in is_asked:
                first = _first(argument(call.node, 1, "shape"))
                if first is not None and _is_none(first):
                    return True
            elif _drops_nothing(call) and not self._is_given_size(call):
                return True
        return False

    def _is_given_size(self, batch: Call) -> bool:
        """Whether the program tells the tensors of a batch its size: ``x.set_shape([size, 28])``."""
        size = ast.dump(batch.node.args[0]) if batch.node.args else ""
        if self._shapes is None:
            self._shapes = self._find_shapes()
        return size in self._shapes or "batch" in self._shapes

    def _find_shapes(self) -> set[str]:
        """All that the program says of shapes, as dumps; the word batch too where a name has it."""
        found = set()
        for call in self.names.calls:
            if call.name not in (".set_shape", ".ensure_shape", "tensorflow.ensure_shape"):
                continue
            for node in (inside for one in call.node.args for inside in walk(one)):
                name = getattr(node, "id", "") or getattr(node, "attr", "")
                found |= {ast.dump(node)} | ({"batch"} if "batch" in name else set())
        return found

    def number(self, node: ast.AST | None) -> int | None:
        """A whole number that the source shows: a constant, one by name, or the default of a flag."""
        value = constant(node)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(node, ast.Name):
            found = self.names.constants.get(node.id)
            return self.number(found) if isinstance(constant(found), int) else None
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "FLAGS":
            return self._flags.get(node.attr)
        return None


def _hosted(module: Module) -> list[ast.AST]:
    """The functions that TPUEstimatorSpec is given for the host: names and lambdas."""
    given: list[ast.AST] = []
    for call in module.names.calls:
        if _last(call) == "TPUEstimatorSpec":
            given += [word.value for word in call.node.keywords if word.arg in _HOSTED]
    assigned: dict[str, list[ast.AST]] = {}
    for tree in module.trees if given else ():
        for node in walk(tree) if tree is not None else ():
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    assigned.setdefault(getattr(target, "id", ""), []).append(node.value)
    found: list[ast.AST] = []
    while given:
        one = given.pop()
        one = one.elts[0] if isinstance(one, ast.Tuple) and one.elts else one
        found.append(one)
        given += assigned.pop(one.id, []) if isinstance(one, ast.Name) else []
    return found


def _last(call: Call) -> str:
    return call.name.rpartition(".")[2]


def _flags(calls: Iterable[Call]) -> dict[str, int | None]:
    """The names of the flags that are whole numbers -> their defaults, where the source shows them."""
    found: dict[str, int | None] = {}
    for call in calls:
        if _last(call) == "DEFINE_integer" and len(call.node.args) > 1:
            value = constant(call.node.args[1])
            found.setdefault(constant(call.node.args[0]), value if isinstance(value, int) else None)
    return found


# Rules -----------------------------------------------------------------------------------------------


def _outside(call: Call, program: _Program) -> Iterator[Hazard]:
    last = call.name.rpartition(".")[2]
    if call.name.startswith("tensorflow") and last in _TAKE_COMPUTATION:
        yield from _returns_nothing(call, program)
    if last == "TPUEstimator" and constant(keyword(call.node, "use_tpu")) is not False:
        yield from _uneven_batches(call, program, _ESTIMATOR_BATCHES)
    if call is program.conversion:
        for other in program.names.calls:
            if other.name in (".fit", ".evaluate", ".predict"):
                yield from _uneven_batches(other, program, ("batch_size",))
    # Batches to predict are filled up by TPUEstimator.
    if program.is_estimator and _drops_nothing(call) and not _predicts(call):
        yield Hazard(
            "TPU370",
            call.node,
            "batch() with a smaller last batch",
            "batch(size, drop_remainder=True)",
        )


def _predicts(call: Call) -> bool:
    """Whether a call stands in a function that predicts, or in one inside of it."""
    function = call.function
    while function is not None and "predict" not in function.node.name:
        function = function.outer
    return function is not None


def _returns_nothing(call: Call, program: _Program) -> Iterator[Hazard]:
    given = argument(call.node, 0, "computation")
    function = program.functions.get(given.id) if isinstance(given, ast.Name) else None
    if function is None or _returns(function.node) or _changes(function.node):
        return
    yield Hazard(
        "TPU350",
        call.node,
        f"{function.node.name} returns nothing",
        "return the result, or a sum of it",
    )


def _uneven_batches(call: Call, program: _Program, names: tuple[str, ...]) -> Iterator[Hazard]:
    for name in names:
        node = keyword(call.node, name)
        size = program.number(node)
        if node is not None and size is not None and size % CORES:
            nearest = max(CORES, round(size / CORES) * CORES)
            yield Hazard(
                "TPU367",
                node,
                f"{name}={size}, which does not split evenly across {CORES} cores",
                f"{name}={nearest}",
            )


def _dynamic_shape(call: Call, program: _Program) -> Iterator[Hazard]:
    last = call.name.rpartition(".")[2]
    if not call.name.startswith("tensorflow."):
        return
    if last in _DYNAMIC:
        yield Hazard("TPU370", call.node, f"tf.{last}", _DYNAMIC[last])
    elif last in ("where", "where_v2") and len(call.node.args) == 1 and not call.node.keywords:
        yield Hazard("TPU370", call.node, "tf.where with one argument", "tf.where(mask, x, y)")
    elif (
        last == "reshape"
        and program.has_unknown_batch
        and constant(_first(argument(call.node, 1, "shape"))) == -1
    ):
        yield Hazard(
            "TPU370",
            call.node,
            "tf.reshape to -1 of an unknown batch",
            "the batch size, with drop_remainder=True in the input pipeline",
        )


def _python_function(call: Call, program: _Program) -> Iterator[Hazard]:
    last = call.name.rpartition(".")[2]
    if last in _PYTHON and call.name.startswith("tensorflow."):
        yield Hazard("TPU371", call.node, f"tf.{last} in the step", "a map in the input pipeline")


def _files(call: Call, program: _Program) -> Iterator[Hazard]:
    if call.name == "open" or call.name.startswith(_FILES):
        was = call.name.replace("tensorflow.", "tf.")
        yield Hazard("TPU372", call.node, was + "() in the step", "before the training")


def _summaries(call: Call, program: _Program) -> Iterator[Hazard]:
    if program.is_estimator and call.name.startswith(_SUMMARIES):
        last = call.name.rpartition(".")[2]
        if last in ("scalar", "histogram", "image", "audio", "text", "tensor_summary"):
            was = f"tf.summary.{last} in a model function"
            yield Hazard("TPU339", call.node, was, "host_call, with tf.contrib.summary in it")


_INSIDE: tuple[Callable[[Call, _Program], Iterator[Hazard]], ...] = (
    _dynamic_shape,
    _python_function,
    _files,
    _summaries,
)


def _is_of_strategy(call: Call) -> bool:
    """Whether a method is called on something that the program calls a strategy."""
    value = getattr(call.node.func, "value", None)
    name = getattr(value, "attr", "") or getattr(value, "id", "")
    return "strategy" in str(name).lower()


def _drops_nothing(call: Call) -> bool:
    """Whether a dataset is batched so that its last batch may be smaller."""
    if call.name not in (".batch", ".padded_batch") or not (call.node.args or call.node.keywords):
        return False
    position = 1 if call.name == ".batch" else 4
    return constant(argument(call.node, position, "drop_remainder")) in (None, False) and not (
        keyword(call.node, "drop_remainder") is not None
        and constant(keyword(call.node, "drop_remainder")) is None
    )


def _first(shape: ast.AST | None) -> ast.AST | None:
    """The first dimension of a shape that is written as a list or tuple."""
    if isinstance(shape, (ast.List, ast.Tuple)) and shape.elts:
        return shape.elts[0]
    return None


def _is_none(node: ast.AST) -> bool:
    is_constant = isinstance(node, ast.Constant) or type(node).__name__ == "NameConstant"
    return is_constant and constant(node) is None


def _own(node: Any) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions inside of it."""
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        found = waiting.pop()
        yield found
        if not isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(found))


def _returns(node: Any) -> bool:
    return any(isinstance(found, (ast.Return, ast.Yield)) and found.value for found in _own(node))


def _changes(node: Any) -> bool:
    """Whether a function changes a variable or a queue, which counts where nothing is returned."""
    words = ("assign", "minimize", "apply_gradients", "enqueue", "scatter", "while_loop", "repeat")
    for found in _own(node):
        name = (
            getattr(getattr(found, "func", None), "attr", "") if isinstance(found, ast.Call) else ""
        )
        if any(word in name for word in words):
            return True
    return False
