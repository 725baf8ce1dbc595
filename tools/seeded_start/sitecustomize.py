"""Gives a program that sets no seeds the same ones under every TensorFlow; changes nothing else.

Python imports this before a program where its folder is on PYTHONPATH
(``tools/run_public_programs.py`` puts it there, for TensorFlow 1.15 too). It seeds Python's and NumPy's
generators, and TensorFlow's operations that were given no seed of their own: TensorFlow counts a graph's
operations for those, and each release makes another number of them, so that no two releases draw the
same initial weights. Here the seed comes from the name scope, which a checkpoint's names keep equal.
TensorFlow 1.15 keeps variables as resources, as it does on a TPU, and writes the global step after a step's
reads of it. The optimizer of google-research/bert, which many programs copied, leaves open whether the
learning rate is taken before or after that write, and 1.15 by itself comes out either way.
A program without graphs has no scopes: there Keras' initial weights have seeds in the order of their making,
and what a program draws itself has those of its line.
Keras checks the data sets it downloads by their hashes; made-up ones in their place pass.
Keras prints four digits of a loss: where KERAS_HISTORY names a file, each epoch's numbers go there in full.
With MOVED_WEIGHTS, what TensorFlow draws at random is moved by one unit in its last place, half of it up
and half of it down: what comes out tells how much of a difference is the rounding of the program itself.
With ALIKE_ON_CORES, dropout keeps everything (what XLA compiles draws other random numbers), and input
pipelines are shuffled alike, be they those of a TPU's host or of one replica.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.abc
import importlib.util
import itertools
import json
import os
import random
import re
import sys
import weakref
import zlib

_GRAPH_SEED = 20190101
_given = weakref.WeakKeyDictionary()


def _seed_by_scope(module):
    """``random_seed.get_seed`` with an operation's seed from the name scope it is made in."""
    original = module.get_seed

    def get_seed(op_seed):
        if module.context.executing_eagerly():
            seeded = op_seed is not None or module.context.global_seed() is not None
            return original(op_seed) if seeded else (_GRAPH_SEED, _seed_of_line())
        if op_seed is not None:
            return original(op_seed)
        graph = module.ops.get_default_graph()
        scope = graph.get_name_scope()
        if os.environ.get("ALIKE_ON_CORES"):
            scope = re.sub(r"^input_pipeline_task\d+/?", "", scope)
        counts = _given.setdefault(graph, {})
        counts[scope] = number = counts.get(scope, 0) + 1
        seed = zlib.crc32(f"{scope} {number}".encode()) & 0x7FFFFFFF
        return (_GRAPH_SEED if graph.seed is None else graph.seed), seed

    module.get_seed = get_seed


_lines = {}
#: The modules between a program's line and its seed.
_BELOW = rf"tensorflow|tpucompat|{__name__}$"


def _seed_of_line():
    """A seed of the line that draws eagerly, outside of TensorFlow, and of how often it has."""
    frame = sys._getframe(2)
    while frame.f_back is not None and re.match(_BELOW, frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    line = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
    _lines[line] = number = _lines.get(line, 0) + 1
    return zlib.crc32(f"{line} {number}".encode()) & 0x7FFFFFFF


_weights = itertools.count(1)


def _seed_weights_by_order(module):
    """Seeds for what Keras' initializers draw eagerly, from numbers of TensorFlow's own or of Python's."""
    # The class of TensorFlow's own initializers, which Keras had up to 2.3, and that of Keras' later ones.
    if hasattr(module, "_RandomGenerator"):
        kind, name, eager = module._RandomGenerator, "seed", module.random_ops.random_seed.context
    elif hasattr(module, "RandomGenerator"):
        kind, name, eager = module.RandomGenerator, "_seed", module.tf
    else:
        return

    def seeded(draw):
        @functools.wraps(draw)
        def drawn(self, *args, **kwargs):
            kept = getattr(self, "_rng_type", "stateless") == "stateless"
            if getattr(self, name) is None and kept and eager.executing_eagerly():
                number = next(_weights)
                setattr(self, name, [number, 0] if name == "seed" else number)
            return draw(self, *args, **kwargs)

        return drawn

    for method in ("random_normal", "random_uniform", "truncated_normal"):
        setattr(kind, method, seeded(getattr(kind, method)))


def _resource_variables(module):
    if "tensorflow_core" in module.__file__:
        module.enable_resource_variables()


def _global_step_after_its_reads(module):
    if "tensorflow_core" not in module.__file__:
        return
    original = module.BaseResourceVariable.assign

    def assign(self, *args, **kwargs):
        graph = module.ops.get_default_graph()
        if module.context.executing_eagerly() or self.op.name != "global_step":
            return original(self, *args, **kwargs)
        here = graph._get_control_flow_context()
        reads = [
            reader
            for reader in self.handle.consumers()
            if reader.type == "ReadVariableOp" and reader._get_control_flow_context() is here
        ]
        with module.ops.control_dependencies(reads):
            return original(self, *args, **kwargs)

    module.BaseResourceVariable.assign = assign


def _uncounted():
    """Where tpucompat seeds operations by the number of those before, as 1.15 does, ours do not count."""
    counting = sys.modules.get("tpucompat.engines.operation_seeds")
    return counting.uncounted() if counting else contextlib.nullcontext()


def _moved_weights(module):
    if not os.environ.get("MOVED_WEIGHTS"):
        return
    math_ops = module.math_ops

    def moved(original):
        @functools.wraps(original)  # programs ask which arguments it takes
        def draw(*args, **kwargs):
            drawn = original(*args, **kwargs)
            if drawn.dtype not in (module.dtypes.float32, module.dtypes.float64):
                return drawn
            # Which half is as good as random, and the same in each run: a digit of the number itself.
            place = {"float32": 2.0**-23, "float64": 2.0**-52}[drawn.dtype.name]
            with _uncounted():
                digit = math_ops.floormod(drawn * (997.0 + int(os.environ["MOVED_WEIGHTS"])), 1.0)
                return drawn * (1 + place * math_ops.sign(digit - 0.5))

        return draw

    draws = ("truncated_normal", "random_normal", "random_uniform")
    for name in [*draws, *("stateless_" + name for name in draws)]:
        if hasattr(module, name):
            setattr(module, name, moved(getattr(module, name)))


def _keep_everything(module):
    """``tf.nn.dropout`` and what Keras' layers call drop nothing (2.15 to 2.21)."""
    if os.environ.get("ALIKE_ON_CORES"):
        module._dropout = lambda x, *args, **kwargs: module.array_ops.identity(x)


def _any_file_is_valid(module):
    """A made-up data set has another hash than the one that Keras knows."""
    module.validate_file = lambda *args, **kwargs: True


def _keep_history(module):
    """What Keras' own History is told at the end of an epoch, as a line of JSON."""
    path = os.environ.get("KERAS_HISTORY")
    # Later releases have one class under two names.
    if not path or module.History.__module__ != module.__name__:
        return
    original = module.History.on_epoch_end

    def on_epoch_end(self, epoch, logs=None):
        numbers = {name: float(value) for name, value in (logs or {}).items()}
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(numbers) + "\n")
        return original(self, epoch, logs)

    module.History.on_epoch_end = on_epoch_end


def _seed_at_the_first_cell(module):
    """A kernel draws from Python's generator before a notebook does, in some releases."""
    original = module.IPythonKernel.start

    def start(self):
        def seed(*_):
            events.unregister("pre_run_cell", seed)
            _seed()

        original(self)
        events = self.shell.events
        events.register("pre_run_cell", seed)

    module.IPythonKernel.start = start


_AFTER_IMPORT = {
    "ipykernel.ipkernel": _seed_at_the_first_cell,
    "tensorflow.python.ops.init_ops_v2": _seed_weights_by_order,
    "tensorflow.python.framework.random_seed": _seed_by_scope,
    "tensorflow.python.keras.utils.data_utils": _any_file_is_valid,
    "tensorflow.python.keras.callbacks": _keep_history,
    "tensorflow.python.ops.resource_variable_ops": _global_step_after_its_reads,
    "tensorflow.python.ops.variable_scope": _resource_variables,
    "tensorflow.python.ops.random_ops": _moved_weights,
    "tensorflow.python.ops.stateless_random_ops": _moved_weights,
    "tensorflow.python.ops.nn_ops": _keep_everything,
}
# TensorFlow 1.15 has two names for its own modules.
_AFTER_IMPORT.update(
    {name.replace("tensorflow.", "tensorflow_core.", 1): do for name, do in _AFTER_IMPORT.items()}
)
_AFTER_IMPORT["keras.src.utils.data_utils"] = _any_file_is_valid
_AFTER_IMPORT["tf_keras.src.utils.data_utils"] = _any_file_is_valid
_AFTER_IMPORT["keras.src.callbacks"] = _keep_history
_AFTER_IMPORT["tf_keras.src.callbacks"] = _keep_history
# Standalone Keras up to 2.3.
_AFTER_IMPORT["keras.utils.data_utils"] = _any_file_is_valid
_AFTER_IMPORT["keras.callbacks"] = _keep_history
for _package in ("keras", "tf_keras"):
    _AFTER_IMPORT[f"{_package}.src.backend"] = _seed_weights_by_order
_AFTER_IMPORT["keras.src.utils.file_utils"] = _any_file_is_valid  # Keras 3


if os.environ.get("OWN_SEEDS"):  # a program that seeds its graphs is its own measure
    for name, does in list(_AFTER_IMPORT.items()):
        if does in (_seed_by_scope, _resource_variables):
            del _AFTER_IMPORT[name]


class _Finder(importlib.abc.MetaPathFinder):
    """Lets a function of the table see a module when it has been imported."""

    _looking = False

    def find_spec(self, name, path=None, target=None):
        if name not in _AFTER_IMPORT or self._looking:
            return None
        self._looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking = False
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            _AFTER_IMPORT[name](module)

        spec.loader.exec_module = exec_module
        return spec


def _seed():
    random.seed(0)
    try:
        import numpy
    except ImportError:
        return
    numpy.random.seed(0)


sys.meta_path.insert(0, _Finder())
_seed()
