"""Does a script speak TensorFlow 1 (graph and Session) or TensorFlow 2 (eager, tf.function)?

The script is read, not run: the names that it takes from TensorFlow are looked up in a table of names that
only one of the two had or that only one of the two was written with. The modules beside the script that it
imports are read too, and those in the folders of ``PYTHONPATH``, since the main file of a program often
holds nothing but flags.
"""

from __future__ import annotations

import ast
import functools
import glob
import os
import re
from typing import Iterable, Iterator, Mapping, NamedTuple, Sequence

TF1, TF2 = "tf1", "tf2"

# Dotted names below ``tensorflow`` -> weight; a name stands for everything below it. Heavy: the other
# generation cannot run it. Light: only a habit.
MARKS: Mapping[str, Mapping[str, int]] = {
    TF1: {
        "contrib": 10,
        "Session": 10,
        "InteractiveSession": 10,
        "placeholder": 10,
        "get_variable": 10,
        "variable_scope": 5,
        "global_variables_initializer": 10,
        "initialize_all_variables": 10,
        "app.run": 5,
        "flags": 5,
        "logging": 2,
        "layers": 5,
        "set_random_seed": 5,
        "gfile": 2,
        "train.AdamOptimizer": 5,
        "train.GradientDescentOptimizer": 5,
        "train.MomentumOptimizer": 5,
        "train.RMSPropOptimizer": 5,
        "train.AdagradOptimizer": 5,
        "train.Saver": 5,
        "train.MonitoredTrainingSession": 10,
        "train.get_or_create_global_step": 5,
        "train.get_global_step": 5,
        "estimator.tpu": 10,
        "estimator.Estimator": 2,
        "losses": 3,
        "metrics": 3,
        "summary.FileWriter": 5,
        "summary.merge_all": 5,
        "ConfigProto": 5,
        "enable_eager_execution": 10,
        "compat.v1.Session": 10,
        "python.keras": 2,
        # Private modules of graphs and Sessions, and the module of TensorFlow 1.15's own tests.
        "python.client.session": 5,
        "python.estimator": 5,
        "python.ops.variable_scope": 5,
        "python.platform.test": 5,
        "python.training.adam": 5,
        "python.training.basic_session_run_hooks": 5,
        "python.training.gradient_descent": 5,
        "python.training.monitored_session": 5,
        "python.training.session_run_hook": 5,
        "python.training.training": 5,
        "compat.v1": 2,
        # Computations of a Session; TensorFlow 2 starts its TPU as TensorFlow 1.15 does.
        **{
            "compat.v1.tpu." + name: 15
            for name in ("batch_parallel", "replicate", "rewrite", "shard")
        },
        "compat.v1.disable_v2_behavior": 20,
        "compat.v1.disable_eager_execution": 10,
        "keras.backend.get_session": 5,
        "keras.backend.set_session": 5,
        "to_float": 5,
        "random_uniform": 3,
        "random_normal": 3,
    },
    TF2: {
        "function": 10,
        "GradientTape": 5,
        "distribute.TPUStrategy": 10,
        "distribute.experimental": 8,
        "distribute.MirroredStrategy": 5,
        "distribute.get_strategy": 5,
        "distribute.resolver": 8,
        "config.experimental_connect_to_host": 10,
        "config.experimental_connect_to_cluster": 10,
        "config.list_logical_devices": 8,
        "config.list_physical_devices": 8,
        "config.experimental": 3,
        "tpu.experimental": 10,
        "random.set_seed": 10,
        "keras.optimizers.schedules": 5,
        "keras.mixed_precision": 5,
        "summary.create_file_writer": 5,
        "executing_eagerly": 1,
        "compat.v2": 8,
        "enable_v2_behavior": 20,
        "compat.v1.enable_v2_behavior": 20,
        "data.AUTOTUNE": 5,
    },
}


class _Word(NamedTuple):
    """A word outside TensorFlow's names: a key of History, a magic line of Colab.

    Attributes:
      era: What it speaks for.
      parts: A match has one of these in it. To look for them is 20 times as fast as the pattern, which begins
        with no fixed letter.
      pattern: The word.
      weight: As in ``MARKS``.
    """

    era: str
    parts: tuple[str, ...]
    pattern: str
    weight: int


# A list of metrics says nothing.
_WORDS = (
    _Word(TF1, ("acc'", 'acc"'), r"""(?<=[\w)\]])\[\s*['"](val_)?acc['"]\s*\]""", 3),
    _Word(TF2, ("accuracy'", 'accuracy"'), r"""(?<=[\w)\]])\[\s*['"](val_)?accuracy['"]\s*\]""", 3),
    _Word(TF2, ("val_ma", "val_ms"), r"""['"]val_(mae|mse|mape|msle)['"]""", 3),
    # Of TensorFlow 1 these are functions.
    _Word(
        TF2, ("tf.losses.", "tf.metrics."), r"\btf\.(?:losses|metrics)\.(?!Reduction\b)[A-Z]", 10
    ),
    _Word(TF1, ("%tensorflow_version",), r"%tensorflow_version\s+1", 20),
    _Word(TF2, ("%tensorflow_version",), r"%tensorflow_version\s+2", 20),
    _Word(TF1, ("COLAB_TPU_ADDR",), r"COLAB_TPU_ADDR", 1),
    # Arguments of Keras 1, which standalone Keras took until 2.3.
    _Word(
        TF1,
        ("nb_epoch", "nb_filter", "border_mode", "samples_per_epoch"),
        r"\b(?:nb_epoch|nb_filter|border_mode|samples_per_epoch)\s*=[^=]",
        5,
    ),
    _Word(TF1, ("tensorflow_estimator",), r"\b(?:from|import) tensorflow_estimator\b", 5),
    _Word(
        TF2,
        ("experimental_run_v2", "strategy.run("),
        r"\bexperimental_run_v2\b|\bstrategy\.run\(",
        10,
    ),
    _Word(
        TF1,
        ("keras_to_tpu_model", "TPUEstimator"),
        r"\bkeras_to_tpu_model\b|\bTPUEstimator\b",
        10,
    ),
)


# Marks of TensorFlow 2 that 1.14 and 1.15 have too, as the API that was to come: they say nothing of a
# script that takes names which TensorFlow 2 has lost, unless something else speaks for it.
_IN_BOTH = frozenset(
    (
        "compat.v2",
        "config.experimental",
        "config.experimental_connect_to_cluster",
        "config.experimental_connect_to_host",
        "distribute.MirroredStrategy",
        "distribute.experimental",
        "distribute.get_strategy",
        "keras.mixed_precision",
        "keras.optimizers.schedules",
        "tpu.experimental",
    )
)
# So do these of a script that opens a Session: 1.15 has them in graphs.
_IN_GRAPHS = frozenset(("tf.GradientTape", "experimental_run_v2", "strategy.run("))
_SESSIONS = frozenset(("Session", "InteractiveSession"))
# A Session by tensorflow.compat.v1 is a graph's; tf.logging may be a habit.
_OF_GRAPHS = frozenset(
    mark for mark, weight in MARKS[TF1].items() if weight >= 10 and "." not in mark
)
# Packages whose names left TensorFlow 2 one by one, some long after 2.0 (tf.estimator in 2.16).
_LOST_LATER = (
    "compat",
    "config",
    "data",
    "distribute",
    "estimator",
    "keras",
    "lite",
    "summary",
    "test",
    "tpu",
)


# What is no module of the script's wherever it lies: a checkout on PYTHONPATH.
_NEVER_READ = ("keras", "tensorflow", "tpucompat")


class Verdict(NamedTuple):
    """The era found, with the evidence for both: (mark, weight) pairs."""

    era: str
    evidence: Mapping[str, list[tuple[str, int]]]


def detect(source: str, directory: str = "", most_files: int = 100) -> Verdict:
    """The era of a script.

    Args:
      source: The script's text.
      directory: Where its own modules lie; "" reads the script alone.
      most_files: How many of its modules are read at most.

    Returns:
      The verdict. Without any evidence, and where both weigh the same, it is TensorFlow 1: that is what
      tpucompat is for, and a TensorFlow 2 script without a trace of the TPU start-up gains nothing here.
    """
    texts = _sources(source, directory, most_files)
    return weigh((text, _tensorflow_names(text)) for text in texts)


def weigh(sources: Iterable[tuple[str, set[str]]]) -> Verdict:
    """The era of a program whose texts are known, each with the names below ``tensorflow`` that it takes."""
    evidence: dict[str, dict[str, int]] = {TF1: {}, TF2: {}}
    lost: set[str] = set()
    is_habit = asks = False
    for text, names in sources:
        is_habit |= "compat.v1" in names and names.isdisjoint(_OF_GRAPHS)
        asks |= "executing_eagerly" in names
        lost.update(name for name in names if _lost(name))
        for era, mark, weight in _marks(text, names):
            evidence[era][mark] = weight
    in_both = {"tf." + mark for mark in _IN_BOTH}
    opens = not lost.isdisjoint(_SESSIONS)
    in_both |= _IN_GRAPHS if opens else set()
    serves_both = asks or (is_habit and not opens)
    only_there = [
        mark for mark, weight in evidence[TF2].items() if weight >= 5 and mark not in in_both
    ]
    if lost and not serves_both and not only_there:
        evidence[TF1].setdefault("tf." + min(lost), 5)
        for mark in in_both:
            evidence[TF2].pop(mark, None)
    weights = {era: sum(found.values()) for era, found in evidence.items()}
    era = TF2 if weights[TF2] > weights[TF1] else TF1
    return Verdict(era, {e: sorted(found.items()) for e, found in evidence.items()})


def _sources(source: str, directory: str, most_files: int) -> Iterator[str]:
    waiting = [(source, directory)]
    roots = [directory, *_python_path()] if directory else []
    seen: set[str] = set()
    while waiting:
        text, folder = waiting.pop(0)
        yield text
        for level, module in sorted(_imported(text)) if directory else ():
            parts = module.split(".")
            if not level and parts[0] in _NEVER_READ:
                continue
            here = os.path.join(folder, *[os.pardir] * (level - 1))
            for path in _files([here] if level else roots, parts):
                if path not in seen and len(seen) < most_files:
                    seen.add(path)
                    with open(path, encoding="utf-8", errors="replace") as file:
                        waiting.append((file.read(), os.path.dirname(path)))


def _python_path() -> list[str]:
    """The folders of ``PYTHONPATH`` that hold somebody's code, not what pip has installed there."""
    folders = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return [folder for folder in folders if not glob.glob(os.path.join(folder, "*.dist-info"))]


def _files(roots: Sequence[str], parts: Sequence[str]) -> Iterator[str]:
    """The file of a module, and that of its package where it is one."""
    for root in roots:
        base = os.path.normpath(os.path.join(root, *parts))
        yield from filter(os.path.isfile, (base + ".py", os.path.join(base, "__init__.py")))


def _parse(text: str) -> ast.AST:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


def _imported(text: str) -> set[tuple[int, str]]:
    """The modules that a source imports, each after the number of dots before its name."""
    found: set[tuple[int, str]] = set()
    for node in ast.walk(_parse(text)):
        if isinstance(node, ast.Import):
            found.update((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            head = [node.module] if node.module else []
            found.update((node.level, ".".join([*head, alias.name])) for alias in node.names)
            found.update((node.level, module) for module in head)
    return found


@functools.lru_cache(maxsize=None)
def _names_lost() -> frozenset[str]:
    """Names of 1.15 that TensorFlow 2 has below ``tf.compat.v1`` at most."""
    from tpucompat.names import successors as today  # all tables, for few scripts

    return frozenset(
        name
        for name, home in today.homes().items()
        if home.kind in ("v1", "gone", "renamed") and name.partition(".")[0] not in _LOST_LATER
    )


@functools.lru_cache(maxsize=None)
def _lost(name: str) -> bool:
    """Whether a name below ``tensorflow``, or what it hangs below, is TensorFlow 1's alone."""
    parts = name.split(".")
    heads = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return parts[0] == "contrib" or not heads.isdisjoint(_names_lost())


def _marks(text: str, names: set[str]) -> Iterator[tuple[str, str, int]]:
    for word in _WORDS:
        found = any(part in text for part in word.parts) and re.search(word.pattern, text)
        if found:
            yield word.era, found.group(), word.weight
    # A mark stands for everything below it.
    above: set[str] = set()
    for name in names:
        while name and name not in above:
            above.add(name)
            name = name.rpartition(".")[0]
    for era, marks in MARKS.items():
        for mark in above & marks.keys():
            yield era, "tf." + mark, marks[mark]


def _tensorflow_names(text: str) -> set[str]:
    """Dotted names below ``tensorflow`` that a source takes, through any alias of an import."""
    tree = _parse(text)
    aliases: dict[str, str] = {}
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "tensorflow":
                    below = alias.name.partition(".")[2]
                    names.add(below)
                    if alias.asname:
                        aliases[alias.asname] = below
                    else:
                        aliases["tensorflow"] = ""
        elif isinstance(node, ast.ImportFrom) and not node.level:
            head, _, below = (node.module or "").partition(".")
            if head == "tensorflow":
                for alias in node.names:
                    full = below + "." + alias.name if below else alias.name
                    names.add(full)
                    aliases[alias.asname or alias.name] = full
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            parts: list[str] = []
            value: ast.AST = node
            while isinstance(value, ast.Attribute):
                parts.append(value.attr)
                value = value.value
            if isinstance(value, ast.Name) and value.id in aliases:
                start = aliases[value.id]
                names.add(".".join(([start] if start else []) + parts[::-1]))
    if "compat.v1" in aliases.values():
        # ``import tensorflow.compat.v1 as tf`` makes the names below TensorFlow 1's own; in a script that
        # imports plain tensorflow, ``tf.compat.v1.x`` is a TensorFlow 2 programmer's exception.
        names |= {n[len("compat.v1.") :] for n in names if n.startswith("compat.v1.")}
    if "compat.v2" in aliases.values():
        names |= {n[len("compat.v2.") :] for n in names if n.startswith("compat.v2.")}
    return names
