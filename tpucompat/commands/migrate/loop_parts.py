"""What a program has that parts of its training loop are for.

``training_loop.py`` marks a part by a comment, ``# if hooks:``, and what stands there without it by
``# if not hooks: ...``. A row of :data:`PARTS` says what in a program needs it. A part that is left out only
where nothing unknown is imported has ``foreign`` in its row.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import sys
from typing import Any, Iterable, Iterator, Mapping, Sequence

from tpucompat.commands.migrate import loop_inputs, loop_modes
from tpucompat.names.used import walk

#: What no module needs to be looked into for: Python's, and those that make no variables and no graphs.
_KNOWN = {"absl", "numpy", "six", "tensorflow", "training_loop", "session_loop", "hyperparameters"}
_KNOWN |= {"tf_slim", "tensorflow_datasets", "google", "googleapiclient", "oauth2client", "yaml"}
_KNOWN |= {
    "PIL",
    "cv2",
    "h5py",
    "joblib",
    "matplotlib",
    "nltk",
    "pandas",
    "psutil",
    "regex",
    "requests",
}
_KNOWN |= {"scipy", "seaborn", "sentencepiece", "sklearn", "tqdm"}
_KNOWN |= {*sys.builtin_module_names, *getattr(sys, "stdlib_module_names", ())}
#: Calls with the arguments that parts are for.
_OURS = {
    *(
        "Spec",
        "Trainer",
        "Estimator",
        "RunConfig",
        "TPUConfig",
        "TrainSpec",
        "EvalSpec",
        "_replace",
    ),
    *("train", "evaluate", "predict", "export_saved_model", "train_and_evaluate", "partial"),
    *("FinalExporter", "LatestExporter", "BestExporter"),
}
#: Optimizers whose ``apply_gradients`` is that of ``tf.compat.v1.train.Optimizer``.
_SUMMING = (
    "Adadelta|Adagrad|AdagradDA|Adam|Ftrl|GradientDescent|Momentum|ProximalAdagrad|"
    "ProximalGradientDescent|RMSProp|CrossShard"
)
_HOOKS = (
    r"train#1|TrainSpec#2|hooks=|training_hooks=|Spec#8|CheckpointSaverHook|"
    r"train#4|TrainSpec#3|saving_listeners=|\*\*"
)
_LATER_HOOKS = (
    r"evaluate#2|predict#2|EvalSpec#3|evaluate hooks=|predict hooks=|EvalSpec hooks=|"
    r"evaluation_hooks=|prediction_hooks=|Spec#(9|10)|\*\*"
)
_HOST_CALL = r"host_call=|Spec#7|\*\*"
#: The last ones are of tf_slim.
_SUMMARIES = (
    r"v1\.summary\.(?!all_v2_summary_ops|FileWriter|summary_iterator).*|foreign|"
    r"summarize\w*|optimize_loss|create_train_op"
)
_UPDATES = r"batch_norm\w*|BatchNorm\w*|keras|nets|optimize_loss|create_train_op|foreign"

#: A part -> a pattern of the words, as :func:`words` finds them, that need it.
PARTS: Mapping[str, str] = {
    # What model_fn gives.
    "host_call": _HOST_CALL,
    "host_call_every": r"experimental_host_call_every_n_steps=|TPUConfig#4|\*\*",
    "scaffold_fn": r"scaffold_fn=|Spec#6|\*\*",
    "eval_metric_ops": r"eval_metric_ops=|Spec#11|\*\*",
    "hooks": f"{_HOOKS}|{_LATER_HOOKS}",
    "evaluation_hooks": _LATER_HOOKS,
    "CheckpointSaverHook": "CheckpointSaverHook",
    # What it makes: variables that it writes itself, collections that it reads, summaries.
    "own_variables": r"assign(_add|_sub|_moving_average\w*)?|scatter_\w+|count_up_to|ON_READ|"
    r"synchronization=|trainable=|Variable#1|get_variable#5|(local|global|model)_variable|streaming_\w+|"
    rf"\w*MovingAverage\w*|metrics of model_fn|eval_metric_ops=|updates in any mode|{_UPDATES}",
    "collections": r"(get_collection|add_to_collection|get_regularization_loss)\w*|GraphKeys|"
    rf"(?!list_)\w+_variables|get_total_loss|get_losses|\w*regularizer=?|merge_all|{_UPDATES}",
    "summaries": _SUMMARIES,
    "loss_scope": r"(?i:'loss(/.*)?'|dict loss=|foreign)",
    "ExponentialMovingAverage": "ExponentialMovingAverage",
    "recurrent_layers": r"\w*RNN|GRU|LSTM|ConvLSTM2D|StackedRNNCells|recurrent_layers=|foreign",
    "own_optimizers": rf"(?!({_SUMMING})Optimizer)\w*Optimizer\w*|optimizers|apply_gradients of it|foreign",
    # How it is fed.
    "input_tensors": f"{loop_inputs.TENSORS}|foreign",
    "per_host": "per host|foreign",
    "context": r"'?context'?|current_input_fn_deployment|num_hosts|current_host|per shard|foreign",
    "batch_axis": r"batch_axis=|Trainer#10|\*\*",
    "eval_training_input_configuration": r"eval_training_input_configuration=|TPUConfig#2|\*\*",
    # What an Estimator is made with, and what it is asked.
    "meta_graph": "import_meta_graph",
    "own_params": "params of it",
    "tf_random_seed": r"tf_random_seed=|RunConfig#3|\*\*",
    "num_cores_per_replica": r"num_cores_per_replica=|TPUConfig#3|\*\*",
    "warm_start_from": r"warm_start_from=|Trainer#8|Estimator#4|\*\*",
    "eval_on_tpu": r"eval_on_tpu=|Trainer#9|\*\*",
    "saving_listeners": r"train_and_evaluate|saving_listeners=|train#4|CheckpointSaverHook|\*\*",
    "examples": "ClassificationOutput|RegressionOutput",
    "predict_keys": r"predict_keys=|predict#1|\*\*",
    "exporters": r"exporters=|EvalSpec#4|\*\*",
    "assets_extra": r"assets_extra=|export_saved_model#2|(Final|Latest)Exporter#2|BestExporter#4|\*\*",
    "slots": r"(?!(GradientDescent|CrossShard)Optimizer)\w*Optimizer\w*|optimizers|"
    "apply_gradients of it|foreign",
}


#: A part -> those that it is made of.
NEEDS: Mapping[str, set[str]] = {
    "evaluation_hooks": {"hooks"},
    "CheckpointSaverHook": {"hooks", "saving_listeners"},
}


def closed(parts: set[str]) -> set[str]:
    """Parts, with those that they are made of."""
    return parts.union(*(NEEDS.get(one, set()) for one in parts))


def needed(texts: Sequence[bytes], names: Iterable[str]) -> set[str]:
    """The parts that a program needs.

    Args:
      texts: Its files.
      names: How the files of a program import each other: the last parts of modules' names.
    """
    found: set[str] = set()
    trees = [*_trees(texts)]
    for tree in trees:
        found |= words(tree, {*names})
    found |= loop_inputs.words(trees)
    return closed(
        {part for part, pattern in PARTS.items() if any(map(re.compile(pattern).fullmatch, found))}
    )


def _trees(texts: Iterable[bytes]) -> Iterator[ast.Module]:
    """The trees of files; a file of Python 2 among them runs with none of the parts."""
    for text in texts:
        with contextlib.suppress(SyntaxError, ValueError):
            yield ast.parse(text)


def words(tree: ast.Module, own: set[str]) -> set[str]:
    """What a file says, in words.

    ``name`` is one that it has, ``name=`` one that it gives an argument by, ``name#1`` the argument at this
    place of a call, ``'text'`` a constant; others are said in words. None does not count.

    Args:
      tree: The file.
      own: The modules of its program.
    """
    nodes = list(walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    found = {node.id for node in nodes if isinstance(node, ast.Name)}
    found |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    constants = (node.value for node in nodes if isinstance(node, ast.Constant))
    found |= {f"'{value}'" for value in constants if isinstance(value, str)}
    found |= {"apply_gradients of it" for node in nodes if _name(node) == "apply_gradients"}
    for call in calls:
        found |= {*_arguments(call), *_settings(call, nodes)}
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= _imported(node, own)
    found |= {"updates in any mode"} if loop_modes.updates_anywhere(tree) else set()
    return found | _summaries(nodes, found) | _metrics(tree, calls)


def _name(node: Any) -> str:
    return node.name if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else ""


def called(call: ast.Call) -> str:
    """The last part of the name of what is called."""
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _arguments(call: ast.Call) -> Iterator[str]:
    name = called(call)
    for place, one in enumerate(call.args):
        if not _is_none(one):
            yield f"{name}#{place}"
        if isinstance(one, ast.Starred) and name in _OURS:
            yield "**"
    for word in call.keywords:
        if word.arg is None:
            yield "**" if name in _OURS else ""
        elif not _is_none(word.value):
            yield from (f"{word.arg}=", f"{name} {word.arg}=")


def argument(call: ast.Call, name: str, place: int) -> ast.expr | None:
    """What a call is given for a parameter; None where it is given nothing, or None."""
    given = [word.value for word in call.keywords if word.arg == name]
    given += call.args[place : place + 1]
    return given[0] if given and not _is_none(given[0]) else None


def _values(node: ast.expr, nodes: list[ast.AST]) -> list[ast.expr]:
    """What a name is assigned anywhere in a file; else the expression itself."""
    if not isinstance(node, ast.Name):
        return [node]
    assigned = (one for one in nodes if isinstance(one, ast.Assign))
    names = [(one.targets, one.value) for one in assigned]
    return [
        value
        for targets, value in names
        if any(getattr(one, "id", "") == node.id for one in targets)
    ] or [node]


def _settings(call: ast.Call, nodes: list[ast.AST]) -> Iterator[str]:
    """What the arguments of a configuration and of an Estimator say."""
    name = called(call)
    if name in ("Trainer", "Estimator"):
        params = argument(call, "params", 3)
        for value in _values(params, nodes) if params else ():
            makes_dict = isinstance(value, ast.Call) and called(value) in ("dict", "values")
            if not makes_dict and not isinstance(value, ast.Dict):
                yield "params of it"
        if name == "Trainer" and argument(call, "config", 2) is None:
            yield "per host"
    elif name == "RunConfig" and argument(call, "tpu_config", 2) is None:
        yield "per host"
    elif name == "TPUConfig":
        kind = argument(call, "per_host_input_for_training", 1)
        for value in _values(kind, nodes) if kind else [ast.Constant(True)]:
            if getattr(value, "attr", "") != "PER_HOST_V2":
                yield "per host"
            if getattr(value, "attr", "") not in ("PER_HOST_V2", "PER_HOST_V1") and not (
                isinstance(value, ast.Constant) and value.value is True
            ):
                yield "per shard"


def _imported(node: ast.Import | ast.ImportFrom, own: set[str]) -> set[str]:
    names = {alias.name.rpartition(".")[2] for alias in node.names}
    modules = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        modules = [node.module or ""]
    said = {"imports compat"} if any("compat" in one.split(".") for one in modules) else set()
    for module in modules:
        is_own = getattr(node, "level", 0) or module.rpartition(".")[2] in own or names <= own
        if not is_own and module.partition(".")[0] not in _KNOWN:
            said.add("foreign")
    return names | said


def _summaries(nodes: list[ast.AST], found: set[str]) -> set[str]:
    """``v1.summary.scalar`` for each use of the summaries of ``tf.compat.v1``."""
    asked = {
        id(node.value): node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and getattr(node.value, "attr", "") == "summary"
    }
    return {
        f"v1.summary.{asked.get(id(node), 'alias')}"
        for node in nodes
        if isinstance(node, ast.Attribute)
        and node.attr == "summary"
        and (
            "imports compat" in found or "v1" in (_last(node.value), getattr(node.value, "id", ""))
        )
    }


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ""


def _metrics(tree: ast.Module, calls: list[ast.Call]) -> set[str]:
    """Whether metrics are made elsewhere than in the functions that are given as ``eval_metrics``."""
    given = [argument(call, "eval_metrics", 4) for call in calls if called(call) == "Spec"]
    functions = {one.elts[0].id for one in given if isinstance(one, ast.Tuple) and one.elts
                 and isinstance(one.elts[0], ast.Name)}  # fmt: skip
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef) and node.name in functions:
            continue
        if isinstance(node, ast.Attribute) and node.attr == "metrics":
            return {"metrics of model_fn"}
        waiting += ast.iter_child_nodes(node)
    return set()


def module_names(paths: Iterable[str]) -> set[str]:
    """How files import each other: by their names; packages by those of their folders."""
    parts = [os.path.splitext(os.path.abspath(path))[0].split(os.sep) for path in paths]
    return {one[-2] if one[-1] == "__init__" else one[-1] for one in parts}
