"""TPUEstimator: the script's model_fn under a ``tf.distribute`` strategy, by a small training loop beside it.

A model_fn is unchanged; what called it becomes ``training_loop.py``, which belongs to the user and is plain
TensorFlow 2. What that does not do (hooks, model parallelism, embedding tables of a TPU) is found before
anything is rewritten, and such a file uses ``tpucompat.v1``.
"""

from __future__ import annotations

import ast
import os
from typing import Any, Iterable, Iterator, Mapping, NamedTuple

from tpucompat.commands.migrate import estimator_limits, written
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee, finish
from tpucompat.names.used import Call

#: The module that is written beside the script.
MODULE = "training_loop"

_CLASSES: Mapping[str, str] = {
    "TPUEstimator": "Trainer",
    "TPUEstimatorSpec": "Spec",
    "RunConfig": "RunConfig",
    "TPUConfig": "TPUConfig",
    "InputPipelineConfig": "InputPipelineConfig",
}
_COMPUTATIONS: Mapping[str, str] = {
    "CrossShardOptimizer": "CrossShardOptimizer",
    "cross_replica_sum": "cross_replica_sum",
}
_ESTIMATOR: Mapping[str, str] = {
    "ModeKeys": "ModeKeys",
    "Estimator": "Estimator",
    "EstimatorSpec": "Spec",
    "RunConfig": "RunConfig",
    "WarmStartSettings": "WarmStartSettings",
    "TrainSpec": "TrainSpec",
    "EvalSpec": "EvalSpec",
    "train_and_evaluate": "train_and_evaluate",
    "export.PredictOutput": "PredictOutput",
    "export.ServingInputReceiver": "ServingInputReceiver",
    "export.TensorServingInputReceiver": "TensorServingInputReceiver",
}
_CONTRIB: tuple[str, ...] = (
    "tensorflow.contrib.tpu.",
    "tensorflow.contrib.tpu.python.tpu.tpu_config.",
)
_CONTRIB += tuple(
    f"tensorflow.contrib.tpu.python.tpu.tpu_{name}." for name in ("estimator", "optimizer")
)
_CONTRIB += ("tensorflow.contrib.tpu.python.ops.tpu_ops.",)
_TPU = ("tensorflow.tpu.", "tensorflow.compat.v1.tpu.")
_CORE = ("tensorflow.estimator.", "tensorflow.compat.v1.estimator.")

#: Dotted name of then -> name in the module.
NAMES: Mapping[str, str] = {
    **{head + was: now for head in _CONTRIB for was, now in {**_CLASSES, **_COMPUTATIONS}.items()},
    **{head + "tpu." + was: now for head in _CORE for was, now in _CLASSES.items()},
    **{head + was: now for head in _TPU for was, now in _COMPUTATIONS.items()},
    **{head + was: now for head in _CORE for was, now in _ESTIMATOR.items()},
    "tensorflow.train.init_from_checkpoint": "init_from_checkpoint",
    "tensorflow.compat.v1.train.init_from_checkpoint": "init_from_checkpoint",
    **{
        head
        + ".python.estimator.estimator._load_global_step_from_checkpoint_dir": "load_global_step"
        for head in ("tensorflow", "tensorflow_estimator")
    },
}
_SUMMARY = "tensorflow.contrib.summary."
_SUMMARIES: Mapping[str, str] = {
    "create_file_writer": MODULE + ".summary_writer",
    "create_summary_file_writer": MODULE + ".summary_writer",
    "always_record_summaries": "tf.summary.record_if",
    "never_record_summaries": "tf.summary.record_if",
    "record_summaries_every_n_global_steps": MODULE + ".record_every",
    "scalar": "tf.summary.scalar",
    "histogram": "tf.summary.histogram",
    "all_summary_ops": "tf.compat.v1.summary.all_v2_summary_ops",
}
_RESOLVERS = tuple(
    head + "cluster_resolver." for head in ("contrib.", "distribute.", "compat.v1.distribute.")
)

#: Class -> its parameters that the module has, under the names they have there.
_KEPT: Mapping[str, Mapping[str, str]] = {
    "RunConfig": {
        "cluster": "strategy",
        **{
            name: name
            for name in (
                "model_dir",
                "tf_random_seed",
                "save_checkpoints_steps",
                "save_checkpoints_secs",
                "save_summary_steps",
                "keep_checkpoint_max",
                "tpu_config",
            )
        },
        "master": "strategy",  # of scripts that have no cluster=
    },
    "TPUConfig": {name: name for name in ("iterations_per_loop", "per_host_input_for_training")},
    "Trainer": {
        name: name
        for name in (
            "model_fn",
            "model_dir",
            "config",
            "params",
            "use_tpu",
            "train_batch_size",
            "eval_batch_size",
            "predict_batch_size",
            "warm_start_from",
            "eval_on_tpu",
        )
    },
    "Spec": {
        name: name
        for name in (
            "mode",
            "predictions",
            "loss",
            "train_op",
            "eval_metrics",
            "export_outputs",
            "scaffold_fn",
            "host_call",
        )
    },
    "EstimatorSpec": {
        name: name
        for name in (
            "mode",
            "predictions",
            "loss",
            "train_op",
            "eval_metric_ops",
            "export_outputs",
        )
    },
    "Estimator": {
        name: name for name in ("model_fn", "model_dir", "config", "params", "warm_start_from")
    },
    "WarmStartSettings": {
        name: name
        for name in (
            "ckpt_to_initialize_from",
            "vars_to_warm_start",
            "var_name_to_vocab_info",
            "var_name_to_prev_var_name",
        )
    },
    "TrainSpec": {name: name for name in ("input_fn", "max_steps")},
    "EvalSpec": {name: name for name in ("input_fn", "steps", "name", "throttle_secs")},
    "train_and_evaluate": {
        "estimator": "trainer",
        "train_spec": "train_spec",
        "eval_spec": "eval_spec",
    },
    "ServingInputReceiver": {name: name for name in ("features", "receiver_tensors")},
    "TensorServingInputReceiver": {name: name for name in ("features", "receiver_tensors")},
    "PredictOutput": {"outputs": "outputs"},
    "init_from_checkpoint": {
        "ckpt_dir_or_file": "checkpoint",
        "assignment_map": "assignment_map",
    },
    "CrossShardOptimizer": {"opt": "optimizer", "name": "name"},
    "cross_replica_sum": {"x": "tensor"},
    "load_global_step": {"checkpoint_dir": "folder"},
    "summary_writer": {
        name: name for name in ("logdir", "max_queue", "flush_millis", "filename_suffix", "name")
    },
    "record_every": {"n": "steps", "global_step": "global_step"},
    ".train": {name: name for name in ("input_fn", "steps", "max_steps")},
    ".evaluate": {name: name for name in ("input_fn", "steps", "checkpoint_path", "name")},
    ".predict": {name: name for name in ("input_fn", "checkpoint_path", "yield_single_examples")},
    ".export_saved_model": {
        name: name for name in ("export_dir_base", "serving_input_receiver_fn", "checkpoint_path")
    },
    "make_strategy": {name: name for name in ("tpu", "zone", "project")},
    "summary": {"name": "name", "tensor": "data", "data": "data", "step": "step"},
}
#: Parameters that TensorFlow 2 has no use for.
_DROPPED: Mapping[str, frozenset[str]] = {
    "RunConfig": frozenset(
        (
            "evaluation_master",
            "session_config",
            "log_step_count_steps",
            "keep_checkpoint_every_n_hours",
            "protocol",
        )
    ),
    "TPUConfig": frozenset(("num_shards", "tpu_job_name", "initial_infeed_sleep_secs")),
    "Trainer": frozenset(("export_to_tpu", "export_to_cpu", "export_saved_model_api_version")),
    "EvalSpec": frozenset(("start_delay_secs",)),
    "cross_replica_sum": frozenset(("name",)),
    ".export_saved_model": frozenset(("strip_default_attrs", "as_text")),
    "make_strategy": frozenset(
        ("job_name", "coordinator_name", "coordinator_address", "credentials")
    ),
}
#: How many positional arguments mean the same in the module.
_POSITIONAL: Mapping[str, int] = {
    "RunConfig": 0,
    "TPUConfig": 1,
    "Trainer": 8,
    "Spec": 8,
    "EstimatorSpec": 4,
    "Estimator": 5,
    "WarmStartSettings": 4,
    "TrainSpec": 2,
    "EvalSpec": 3,
    "train_and_evaluate": 3,
    "ServingInputReceiver": 2,
    "TensorServingInputReceiver": 2,
    "PredictOutput": 1,
    "init_from_checkpoint": 2,
    "CrossShardOptimizer": 1,
    "cross_replica_sum": 1,
    "load_global_step": 1,
    "summary_writer": 1,
    "record_every": 2,
    ".train": 1,
    ".evaluate": 2,
    ".predict": 1,
    ".export_saved_model": 2,
    "make_strategy": 3,
    "summary": 2,
}
_SESSIONS = (".tpu.shard", ".tpu.batch_parallel", ".tpu.replicate", ".tpu.rewrite")
#: Keyword arguments that tell a method of an estimator from one of Keras.
_OF_ESTIMATORS = ("hooks", "saving_listeners", "serving_input_receiver_fn")
_METHODS = {
    "train": ".train",
    "evaluate": ".evaluate",
    "predict": ".predict",
    "export_saved_model": ".export_saved_model",
    "export_savedmodel": ".export_saved_model",
}


class Loop(NamedTuple):
    """Where a program has its training loop.

    Attributes:
      package: What a file imports it from; "" for the folder of the script.
      is_here: Whether it is written beside this file.
    """

    package: str
    is_here: bool


class Plan(NamedTuple):
    """What is rewritten in a file.

    Attributes:
      uses: The place of a name, and what stands there afterwards.
      calls: Calls whose arguments change, and the row of the table for each.
      renamed: Methods that have another name.
      op_names: ``variable.op.name``.
      aliases: ``tpu = tf.contrib.tpu``, where all that is used of it has a place.
      addresses: ``resolver.get_master()``, which a strategy has no need of.
    """

    uses: list[tuple[Any, str]]
    calls: list[tuple[ast.Call, str]]
    renamed: list[tuple[ast.Attribute, str]]
    op_names: list[ast.Attribute]
    aliases: list[ast.Assign]
    addresses: list[ast.Call]

    @property
    def handled(self) -> frozenset[int]:
        """Nodes that need nothing else."""
        values = [one.value for one in self.aliases]
        return frozenset(map(id, [*(node for node, _ in self.uses), *values]))


def target(name: str) -> str:
    """What stands in the place of an old name; "" if that is another rewriter's business."""
    head, dot, rest = name, "", ""
    while head:
        found = _target(head)
        if found:
            return found + dot + rest
        head, _, last = head.rpartition(".")
        rest, dot = (f"{last}.{rest}" if rest else last), "."
    return ""


def _target(name: str) -> str:
    if name in NAMES:
        return f"{MODULE}.{NAMES[name]}"
    if name.startswith(_SUMMARY):
        return _SUMMARIES.get(name[len(_SUMMARY) :].replace("summary.", ""), "")
    head, _, last = name.rpartition(".")
    if last == "TPUClusterResolver" and (head + ".").partition("tensorflow.")[2] in _RESOLVERS:
        return MODULE + ".make_strategy"
    return ""


def is_wanted(context: Context) -> bool:
    """Whether a file has to do with TPUEstimator; one with an optimizer for it may, and has no Session."""
    names = {use.name for use in context.names.uses}
    found = {target(name).split(".")[1] for name in names if target(name).startswith(MODULE)}
    found -= {"make_strategy", "summary_writer", "record_every"}
    if found - {*_COMPUTATIONS, "init_from_checkpoint"}:
        return True
    return bool(found & {*_COMPUTATIONS}) and not _has_session(context)


def makes_trainer(context: Context) -> bool:
    """Whether a file makes a TPUEstimator, or an Estimator."""
    return any(
        target(use.name).startswith((MODULE + ".Trainer", MODULE + ".Estimator"))
        for use in context.names.uses
    )


def plan(context: Context) -> Plan:
    """What becomes of the file.

    Raises:
      CannotSee: If something in it is out of reach.
    """
    if context.module.source.is_notebook:
        raise CannotSee("a notebook has no module beside it")
    beside = os.path.join(
        os.path.dirname(os.path.abspath(context.module.source.path)), MODULE + ".py"
    )
    if os.path.exists(beside) and not written.is_ours(beside):
        raise CannotSee(f"there is another {MODULE}.py beside it")
    uses = [(use.node, target(use.name)) for use in context.names.uses if target(use.name)]
    if any(use.guarded and target(use.name) for use in context.names.uses):
        raise CannotSee("it also runs without TPUEstimator")
    calls = [(call.node, row) for call in context.names.calls for row in [_row(call)] if row]
    estimators = _estimators(context)
    renamed = []
    for call in context.names.calls:
        function = call.node.func
        if not isinstance(function, ast.Attribute) or function.attr not in _METHODS:
            continue
        row = _METHODS[function.attr]
        given = function.attr in estimator_limits.RENAMED or any(
            word.arg == "input_fn" or (word.arg in _OF_ESTIMATORS and call.name.startswith("."))
            for word in call.node.keywords
        )
        if ast.dump(function.value) in estimators or given:
            calls.append((call.node, row))
            if function.attr != row[1:]:
                renamed.append((function, row[1:]))
    for node, row in calls:
        _check(context, node, row)
    addresses = list(_addresses(context))
    op_names = [
        node
        for tree in context.trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr == "name"
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "op"
    ]
    estimator_limits.check(context, MODULE, target)
    return Plan(uses, calls, renamed, op_names, list(_aliases(context)), addresses)


def _aliases(context: Context) -> Iterator[ast.Assign]:
    packages = {_SUMMARY[:-1], *(head[:-1] for head in _CONTRIB)}
    places = {id(use.node): use for use in context.names.uses if use.name in packages}
    for tree in context.trees.values():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Assign) or id(node.value) not in places:
                continue
            package = places[id(node.value)].name
            below = [use.name for use in context.names.uses if use.base == package]
            if len(node.targets) == 1 and all(target(name) for name in below):
                yield node


def _row(call: Call) -> str:
    """The row of the table for a call; "" if its arguments stay."""
    found = target(call.name)
    if not found:
        return ""
    if call.name.startswith(_SUMMARY) and found.endswith((".scalar", ".histogram")):
        return "summary"
    if call.name.endswith(".EstimatorSpec"):
        return "EstimatorSpec"
    row = found.rpartition(".")[2]
    return row if row in _KEPT else ""


def _estimators(context: Context) -> set[str]:
    """Expressions that an estimator is assigned to, as ``ast.dump`` writes them where they are read."""
    makers = {
        id(call.node)
        for call in context.names.calls
        if target(call.name).endswith((".Trainer", ".Estimator"))
    }
    found = set()
    for tree in context.trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and id(node.value) in makers:
                for one in node.targets:
                    found.add(ast.dump(one).replace("ctx=Store()", "ctx=Load()"))
    return found


def _check(context: Context, node: ast.Call, row: str) -> None:
    """That all arguments of a call have a place in the module."""
    shown = ast.unparse(node.func) if hasattr(ast, "unparse") else row
    if len(node.args) > _POSITIONAL[row] and not any(
        isinstance(one, ast.Starred) for one in node.args
    ):
        extra = node.args[_POSITIONAL[row] :]
        if not (row == "TPUConfig" and len(extra) == 1):
            raise CannotSee(f"{shown} has {len(node.args)} arguments without a name")
    for word in node.keywords:
        kept, dropped = _KEPT[row], _DROPPED.get(row, frozenset())
        if word.arg is None:
            if row in ("Spec", "Trainer"):
                continue
            raise CannotSee(f"{shown} takes ** arguments")
        if word.arg in kept or word.arg in dropped or _is_nothing(word.value):
            continue
        raise CannotSee(f"{word.arg}= of {shown}")


def _is_nothing(node: ast.AST) -> bool:
    empty = isinstance(node, (ast.List, ast.Tuple)) and not node.elts
    return empty or (isinstance(node, ast.Constant) and node.value in (None, False))


def _addresses(context: Context) -> Iterator[ast.Call]:
    """Calls for a resolver's address; there is a strategy in its place, of which nothing else can be asked."""
    makers = {
        id(call.node)
        for call in context.names.calls
        if target(call.name).endswith(".make_strategy")
    }
    for tree in context.trees.values():
        names = {
            one.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            and any(id(inside) in makers for inside in ast.walk(node.value))
            for one in node.targets
            if isinstance(one, ast.Name)
        }
        called = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute):
                continue
            asked = isinstance(node.value, ast.Name) and node.value.id in names
            if not asked and id(node.value) not in makers:
                continue
            if (
                node.attr not in ("get_master", "master")
                or id(node) not in called
                or _has_session(context)
            ):
                raise CannotSee(f"{node.attr} of the resolver")
            yield called[id(node)]


def _has_session(context: Context) -> bool:
    return any(
        use.name.startswith("tensorflow.Session") or use.name.endswith(_SESSIONS)
        for use in context.names.uses
    )


# Rewriting -----------------------------------------------------------------------------------------


def rewrite(context: Context, found: Plan, package: str = "") -> None:
    """Writes the names of the module, and takes out arguments that it has no use for.

    Args:
      context: The file.
      found: What to rewrite.
      package: What the module is imported from.
    """
    for node, row in found.calls:
        _arguments(context, node, row)
    for call in context.names.calls:
        if call.name.startswith(_SUMMARY):
            _recording(context, call)
    for method, name in found.renamed:
        cell = context.cell_of(method)
        end = context.texts[cell].span(method)[1]
        context.texts[cell].replace(end - len(method.attr), end, name)
    for use in context.names.uses:
        if use.statement is None and target(use.name) and id(use.node) not in context.done:
            cell = context.cell_of(use.node)
            if context.replace(use.node, cell, _written(context, target(use.name))):
                context.done.update(map(id, ast.walk(use.node)))  # so that its import goes
    for address in found.addresses:
        cell, resolver = context.cell_of(address), address.func.value  # type: ignore[attr-defined]
        if _is_by_address(found.calls):
            end = context.texts[cell].span(address)[1]
            context.texts[cell].replace(context.texts[cell].span(resolver)[1], end, "")
        elif context.replace(address, cell, '""'):
            finish(context, address)
    for statement in found.aliases:
        context.remove(statement, context.cell_of(statement))
    for named in found.op_names:
        cell = context.cell_of(named)
        start = context.texts[cell].span(named.value.value)[1]  # type: ignore[attr-defined]
        end = context.texts[cell].span(named)[1]
        context.texts[cell].replace(start, end, '.name.split(":")[0]')
    context.want(MODULE, package)


def _written(context: Context, name: str) -> str:
    return name if name.startswith(MODULE) else context.local(name)


def _has_cluster(node: ast.Call) -> bool:
    return any(word.arg == "cluster" and not _is_nothing(word.value) for word in node.keywords)


def _is_by_address(calls: Iterable[tuple[ast.Call, str]]) -> bool:
    """Whether a RunConfig is given the TPU's address and no cluster."""
    return any(
        row == "RunConfig"
        and not _has_cluster(node)
        and any(word.arg == "master" and not _is_nothing(word.value) for word in node.keywords)
        for node, row in calls
    )


def _arguments(context: Context, node: ast.Call, row: str) -> None:
    cell = context.cell_of(node)
    text = context.texts[cell]
    kept = dict(_KEPT[row])
    if row == "RunConfig":
        kept.pop("cluster" if _is_by_address([(node, row)]) else "master")
        for word in node.keywords:
            if word.arg == "master" in kept:
                start, end = text.span(word.value)
                text.replace(start, start, MODULE + ".make_strategy(")
                text.replace(end, end, ")")
    gone = [word for word in node.keywords if word.arg and word.arg not in kept]
    if row == "TPUConfig":
        gone += node.args[1:]  # type: ignore[arg-type]
    for word in node.keywords:
        if word.arg and kept.get(word.arg, word.arg) != word.arg:
            text.replace(*text.keyword(word), kept[word.arg])
    for start, end, values in _spans(context, node, cell, gone):
        text.replace(start, end, "")
        for value in values:
            finish(context, value)


def _spans(
    context: Context, node: ast.Call, cell: int, gone: list[Any]
) -> Iterator[tuple[int, int, list[Any]]]:
    """The spans of arguments with the commas and the white space that go with them."""
    text = context.texts[cell]

    def start_of(one: Any) -> int:
        return (
            text.keyword(one)[0]
            if isinstance(one, ast.keyword) and one.arg
            else text.span(getattr(one, "value", one) if isinstance(one, ast.keyword) else one)[0]
        )

    def end_of(one: Any) -> int:
        return text.span(one.value if isinstance(one, ast.keyword) else one)[1]

    everything = sorted([*node.args, *node.keywords], key=start_of)
    leaves = [any(one is other for other in gone) for one in everything]
    index = 0
    while index < len(everything):
        if not leaves[index]:
            index += 1
            continue
        first = index
        while index < len(everything) and leaves[index]:
            index += 1
        values = everything[first:index]
        if first:
            yield end_of(everything[first - 1]), end_of(values[-1]), values
        elif index < len(everything):
            yield start_of(values[0]), start_of(everything[index]), values
        else:
            yield start_of(values[0]), end_of(values[-1]), values


def _recording(context: Context, call: Call) -> None:
    """``always_record_summaries()`` -> ``tf.summary.record_if(True)``."""
    last = call.name.rpartition(".")[2]
    if last not in ("always_record_summaries", "never_record_summaries"):
        return
    name = context.local("tf.summary.record_if")
    context.replace(call.node, context.cell_of(call.node), f"{name}({last.startswith('always')})")
    finish(context, call.node)
