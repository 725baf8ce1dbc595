"""Chooses what becomes of a file, and rewrites it.

A file goes one of four ways. *Plain*: each old name has a successor in TensorFlow 2 (or in tf.compat.v1), and
is rewritten where it stands. *Keras*: plain, and its model is built under a strategy. *Loop*: plain, and a
training loop is written beside it. *Compatible*: something in it has no successor that is known to give the
same numbers (computations in a Session, hooks, stand-ins), so that the file uses ``tpucompat.v1``, and
says why.
"""

from __future__ import annotations

import ast
import collections
import re
from typing import AbstractSet, Mapping, NamedTuple, Sequence

from tpucompat.commands.analysis import findings, guards, sources
from tpucompat.commands.analysis.findings import Finding, Module
from tpucompat.commands.analysis.keras_3 import applies as uses_todays_keras
from tpucompat.commands.migrate import (
    applied,
    compatible,
    computations,
    contrib_modules,
    estimator_hooks,
    estimator_tables,
    estimators,
    graph_names,
    initializers,
    input_functions,
    installations,
    kaggle,
    keras,
    keras_3,
    keras_v1,
    left_modules,
    library_members,
    methods,
    notebook_text,
    optimizers,
    overrides,
    record,
    session_inputs,
    session_plan,
    session_settings,
    sessions,
    several_gpus,
    strategy_setup,
    symbols,
    tpu_connections,
    tpu_tests,
    written,
)
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.scan import hostile
from tpucompat.names import era
from tpucompat.names import successors as today
from tpucompat.names.used import walk

NOTHING, PLAIN, KERAS, COMPATIBLE = "nothing", "plain", "keras", "compatible"
LOOP, SESSION = "loop", "session"  # with a module beside it
#: The module of such a file -> its way.
_BESIDE = {estimator_tables.MODULE: LOOP, session_inputs.MODULE: SESSION}

#: What a module that is only imported does not call by itself.
_BUILDS = frozenset(
    "tensorflow." + name
    for name in ("InteractiveSession", "Session", "get_variable", "placeholder", "train.Saver")
)
_DISABLE = "{tf}.compat.v1.disable_v2_behavior()"
_LEGACY_KERAS = (
    "os.environ.setdefault('TF_USE_LEGACY_KERAS', '1')  # tf.layers: pip install tf-keras"
)

_SHARES = (
    "{} of the same program uses tpucompat.v1, and a process has one mode: give each of them a copy of the "
    "modules that both import"
)
_KERAS_2 = (
    "tf.layers and tf.nn.rnn_cell need tf-keras, and TF_USE_LEGACY_KERAS=1 before "
    "TensorFlow is imported"
)


class Keras2(NamedTuple):
    """Which other files of a file's program bear on whether it asks for Keras 2.

    Attributes:
      wanted: Whether one that it imports needs Keras 2, and none asks for it.
      asked: Whether one that imports it asks for Keras 2.
      slim: Whether one that it imports uses tf_slim.
    """

    wanted: bool
    asked: bool
    slim: bool = False


NOTHING_ASKED = Keras2(wanted=False, asked=False)


class Result(NamedTuple):
    """What became of one file.

    Attributes:
      path: The file.
      before: Its bytes.
      after: Its bytes afterwards.
      way: Which way it went.
      problems: What cannot be read in it.
      changes: What was replaced, by which rule.
      uses: What it uses of TensorFlow and Keras, and what became of each.
      beside: Modules that are written beside it: name -> content.
    """

    path: str
    before: bytes
    after: bytes
    way: str
    problems: list[Finding]
    changes: Sequence[record.Change] = ()
    uses: Sequence[record.ApiUse] = ()
    beside: Mapping[str, bytes] = {}

    @property
    def changed(self) -> bool:
        """Whether anything is rewritten."""
        return self.before != self.after

    @property
    def todos(self) -> int:
        """How many TODOs are open in it."""
        return self.after.count(b"TODO(tpucompat ")

    @property
    def notes(self) -> int:
        """How many NOTEs say what is computed or reported differently, where nothing is left to do."""
        return self.after.count(b"NOTE(tpucompat ")


def needs(context: Context, handled: AbstractSet[int] = frozenset()) -> Mapping[str, str]:
    """Code -> the first name of a file that only tpucompat still answers.

    Args:
      context: The file.
      handled: Identities of nodes that another rewriting has an answer for.
    """
    found: dict[str, str] = {}
    context.planned |= {id(node) for one in applied.find(context) for node in walk(one.inner.func)}
    context.planned.update(*(one.handled for one in tpu_connections.listings(context)))
    context.planned.update(id(call.node.func) for call in tpu_connections.idle_calls(context))
    context.planned.update(id(call.node.func) for call in several_gpus.find(context))
    context.planned.update(symbols.named_modules(context))
    context.planned.update(id(call.func) for call, _ in optimizers.wrapped(context))
    context.planned.update(id(one.use.node) for one in contrib_modules.find(context))
    known = context.place_of.keys() | handled
    asked: dict[str, set[int]] = collections.defaultdict(set)
    for use in context.names.uses:
        if use.statement is None:
            asked[use.base].add(id(use.node))
    for place in context.places:
        is_answered = id(place.use.node) in context.planned | handled
        if not place.fate.becomes.startswith("tpucompat.v1") or is_answered:
            continue
        is_import = place.use.statement is not None
        if is_import and isinstance(place.use.node, ast.alias) and context.is_idle(place.use.node):
            continue
        if is_import and today.is_module(place.fate) and asked[place.use.name] <= known:
            continue  # all that is used of the module has a fate of its own
        if (
            is_import
            and asked[place.use.name]
            and asked[place.use.name] <= context.planned | handled
        ):
            continue
        found.setdefault(place.finding.code, place.fate.was)
    return found


def stays(context: Context, has_loop: bool = False) -> bool:
    """Whether a file needs tpucompat.v1 for its own sake.

    Args:
      context: The file.
      has_loop: Whether its program has a training loop in the place of TPUEstimator.
    """
    way = _choose(context, together="", has_loop=has_loop)
    if way.program is not None:
        way.program.undo()
    return bool(way.reasons)


def needs_graph(context: Context) -> str:
    """The first name of a file that works in a graph only; "" if there is none."""
    if context.module.era != era.TF1 or tpu_connections.eager_calls(context):
        return ""
    rewritten = {node for listing in tpu_connections.listings(context) for node in listing.handled}
    rewritten |= session_settings.plan(context).nodes
    rewritten.update(initializers.nodes(context))
    for place in context.places:
        if id(place.use.node) in rewritten:
            continue
        is_graph = place.finding.code in ("TPU203", "TPU207") and not place.fate.becomes.startswith(
            "tf_keras"
        )
        if is_graph and not graph_names.WITHOUT_GRAPH.match(place.fate.was):
            return place.fate.was
    return ""


def migrate(
    module: Module,
    unsafe: bool = False,
    together: str = "",
    with_loop: estimators.Home | None = None,
    version: int = 3,
    keras_2: Keras2 = NOTHING_ASKED,
    homes: Mapping[str, estimators.Home] | None = None,
) -> Result:
    """Rewrites one file.

    Args:
      module: The file as it was read.
      unsafe: Whether to rewrite too what may change what the program does.
      together: A file of its program that uses tpucompat.v1, so that this one has to if it builds graphs or
        uses Keras; "" if there is none.
      with_loop: The training loop of its program, whose model functions this file may have.
      version: Which Keras it gets: 3, or 2, the package tf-keras.
      keras_2: What asks for Keras 2 in its program.
      homes: Where its program has the modules with names of tf.contrib; None for beside it.

    Returns:
      Its new bytes, or the old ones.
    """
    source = module.source
    # A script that cannot be read is left alone; so is a cell, and the rest of its notebook is rewritten.
    if not source.is_notebook and module.problems:
        return Result(source.path, source.data, source.data, NOTHING, module.problems)
    context = Context(module, unsafe, version)
    way = _rewrite(context, together, with_loop, keras_2, homes or {})
    changed = _finished(context) if way != NOTHING else {}
    beside = {}
    if way not in (NOTHING, COMPATIBLE):
        for name in contrib_modules.modules(context):
            if homes is None or homes[name].is_here:
                beside[name + ".py"] = written.source(name + ".py")
    for name, found in _BESIDE.items():
        if way == found and changed and (with_loop is None or with_loop.is_here):
            beside[name + ".py"] = written.source(name + ".py")
    after = encoded(module, changed)
    if after != source.data and not _is_sound(source.path, after, module):
        # Whatever happened, a file is never made worse.
        what = "The rewritten text would not be valid Python."
        slip = findings.problem(source.path, sources.SourceError("TPU454", what))
        return Result(source.path, source.data, source.data, NOTHING, [*module.problems, slip])
    way = way if changed else NOTHING
    changes = record.changes(context) if changed else []
    uses = record.uses(context, way == COMPATIBLE)
    return Result(source.path, source.data, after, way, module.problems, changes, uses, beside)


def _finished(context: Context) -> dict[int, str]:
    """The new texts of the units that change."""
    left_modules.mark(context)
    changed = context.finish()
    for cell in changed:
        if tpu_connections.is_python(context, cell):
            left = tpu_connections.without_checks(changed[cell])
            changed[cell] = tpu_tests.without_constants(left)
    return changed


class _Way(NamedTuple):
    """How a file is rewritten.

    Attributes:
      reasons: What keeps it in TensorFlow 1's namespace: the code of a rule -> words.
      graph: What of it works in a graph; "" if nothing does.
      loop: What of TPUEstimator becomes a training loop.
      conversions: The calls of ``keras_to_tpu_model``.
      on_cores: What of ``batch_parallel`` and its kind becomes ``strategy.run``.
      program: The same of one whose functions have variables, or are given something in each run.
    """

    reasons: dict[str, str]
    graph: str
    loop: estimators.Plan | None
    conversions: list[keras.Conversion]
    on_cores: computations.Plan | None
    program: session_plan.Plan | None


def _rewrite(
    context: Context,
    together: str,
    with_loop: estimators.Home | None,
    keras_2: Keras2,
    homes: Mapping[str, estimators.Home],
) -> str:
    names = context.names
    if not (names.uses or names.strings or names.calls or keras_2.wanted or keras_2.slim):
        return NOTHING
    beside = written.imported(context.module.source.data)
    if beside:  # it went that way before
        _rewrite_around(context)
        return _BESIDE[beside]
    way = _choose(context, together, with_loop is not None)
    if way.reasons or (together and (way.graph or uses_keras(context))):
        _mark_hazards(context)
        with context.rule(min(way.reasons, default="TPU203")):
            compatible.rewrite(context, way.reasons)
        _rewrite_around(context)
        return COMPATIBLE
    if context.module.uses_tpucompat:  # it went that way before
        _rewrite_around(context)
        return COMPATIBLE
    with context.rule("TPU206"):
        packages = {name: home.package for name, home in homes.items()}
        contrib_modules.rewrite(context, contrib_modules.find(context), packages)
    _rewrite_parts(context, way, with_loop)
    if together and context.module.era == era.TF2:
        context.todo_at_import("TPU203", _SHARES.format(together))
    if way.graph and is_script(context):
        with context.rule("TPU203"):
            _enter_graph(context)
    if way.loop is None and way.program is None:  # else the module beside it asks for Keras 2
        _ask_for_keras_2(context, keras_2)
        _complete_tf_slim(context, keras_2)
    if way.loop is not None or way.program is not None:
        return LOOP if way.program is None else SESSION
    return KERAS if way.conversions else PLAIN


def _choose(context: Context, together: str, has_loop: bool) -> _Way:
    # The old namespace is a graph's; a program of TensorFlow 2 cannot live in it, and gets a TODO instead.
    reasons = dict(needs(context)) if context.module.era == era.TF1 else {}
    graph = needs_graph(context)
    loop: estimators.Plan | None = None
    if context.module.era == era.TF1 and estimators.is_wanted(context, has_loop):
        try:
            found = estimators.plan(context)
            reasons = dict(needs(context, found.handled))
            if together and not reasons:
                raise keras.CannotSee(f"{together} of the same program uses tpucompat.v1")
            loop = found
            graph = graph if reasons or together else ""
        except keras.CannotSee as error:
            makers = [one.fate.was for one in context.places if estimators.is_trainer(one.use.name)]
            maker = next(iter(makers), reasons.get("TPU212", "TPUEstimator"))
            served = {id(use.node) for use in context.names.uses if estimators.target(use.name)}
            reasons = {**needs(context, served), "TPU212": f"{maker} ({error})"}
    if context.module.era == era.TF1 and estimator_hooks.finds_metrics(context):
        reasons.setdefault("TPU212", "a hook that finds the tensor of a metric by its name")
    if not together and has_loop and not is_script(context):
        graph = ""
    conversions: list[keras.Conversion] = []
    if any(keras.is_conversion(call) for call in context.names.calls):
        try:
            conversions = keras.plan(context)
            if graph and not reasons:
                raise keras.CannotSee(f"{graph} works in a graph")
        except keras.CannotSee as error:
            reasons["TPU211"] = f"keras_to_tpu_model ({error})"
    on_cores: computations.Plan | None = None
    program: session_plan.Plan | None = None
    if "TPU213" in reasons and any(map(computations.is_computation, context.names.calls)):
        try:
            on_cores = computations.plan(context)
            del reasons["TPU213"]
            graph = ""
        except keras.CannotSee:
            try:
                program = sessions.plan(context)
                reasons, graph = dict(needs(context, program.handled)), ""
            except keras.CannotSee as error:
                reasons["TPU213"] += f" ({error})"
    if not reasons and loop is None and tpu_connections.in_session(context, graph):
        reasons["TPU213"] = "TPUStrategy (in the graph of a Session)"
    if graph and not reasons and keras_3.uses_models(context):
        reasons["TPU515"] = f"{graph} works in a graph"
    return _Way(reasons, graph, loop, conversions, on_cores, program)


def _rewrite_parts(context: Context, way: _Way, with_loop: estimators.Home | None) -> None:
    """Rewrites a file to TensorFlow 2, each of its parts by its own rules."""
    if way.loop is not None:
        with context.rule("TPU212"):
            estimators.rewrite(context, way.loop, with_loop.package if with_loop else "")
    if way.on_cores is not None:
        with context.rule("TPU213"):
            computations.rewrite(context, way.on_cores)
    if way.program is not None:
        with context.rule("TPU213"):
            sessions.rewrite(context, way.program)
    with context.rule("TPU214"):
        applied.rewrite(context, applied.find(context))
    with context.rule("TPU426"):
        several_gpus.rewrite(context, several_gpus.find(context))
    if not way.graph:
        with context.rule("TPU515"):
            session_settings.rewrite(context, session_settings.plan(context))
        if way.loop is None and way.program is None:
            with context.rule("TPU203"):
                initializers.rewrite(context, initializers.plan(context))
    with context.rule("TPU208"):
        tpu_connections.rewrite_listings(context, tpu_connections.listings(context))
    eager = not way.graph and not graph_names.builds(context)
    with context.rule("TPU211"):
        in_graph = way.loop is not None or way.program is not None or with_loop is not None
        trains = bool(way.conversions) or (eager and _trains_keras_models(context, in_graph))
        keras.rewrite(context, way.conversions, trains)
    with context.rule("TPU208"):
        start_ups = strategy_setup.find(context)
        strategy_setup.rewrite(context, start_ups)
        strategy_setup.mark_left(context, start_ups)
        strategy_setup.rewrite_workers(context)
        tpu_connections.rewrite(context)
        tpu_connections.remove_eager_calls(context)
    with context.rule("TPU213"):
        tpu_connections.remove_idle_calls(context)
    if in_graph:
        with context.rule("TPU212"):
            tpu_connections.remove_modes(context)
    if in_graph:  # which Keras 2 alone can build
        keras_3.rewrite_numbers(context)
    else:
        keras_3.rewrite(context)
    with context.rule("TPU214"):
        if way.loop is not None or with_loop is not None:
            input_functions.rewrite(context)
            keras_v1.rewrite(context, keras_v1.find(context))
        methods.rewrite(context)
        overrides.rewrite(context, in_graph)
    installations.rewrite(context)
    kaggle.rewrite(context)
    library_members.rewrite(context)
    symbols.rewrite(context)
    _mark_conditions(context)
    _mark_hazards(context, kept="TPU350" if way.program is not None else "")


def _rewrite_around(context: Context) -> None:
    """Rewrites what other libraries have removed, and leaves TensorFlow's names to tpucompat.v1."""
    keras_3.rewrite_numbers(context)
    installations.rewrite(context)
    kaggle.rewrite(context)
    library_members.rewrite(context)
    symbols.rewrite(context, around_only=True)


def _trains_keras_models(context: Context, in_graph: bool) -> bool:
    """Whether optimizers of a file change variables of Keras, by compile or in a loop of its own.

    In the graph of a model function or of a Session program it is TensorFlow 1's optimizers that do.
    """
    called = {call.name for call in context.names.calls}
    by_hand = ".apply_gradients" in called and not in_graph and keras_3.uses_models(context)
    return ".compile" in called or by_hand


def _ask_for_keras_2(context: Context, program: Keras2) -> None:
    """Sets TF_USE_LEGACY_KERAS in a script that needs it or imports what does, or leaves a TODO in a module."""
    asks = asks_for_keras_2(context) or program.asked
    of_slim = uses_tf_slim(context) and is_script(context)  # tf_slim is made of tf.layers
    if asks or not (context.needs_keras_2 or program.wanted or of_slim):
        return
    with context.rule("TPU207"):
        if is_script(context):
            context.want("os")
            context.put_before_imports(_LEGACY_KERAS)
        elif context.needs_keras_2:
            context.todo_at_import("TPU207", _KERAS_2)


def _complete_tf_slim(context: Context, program: Keras2) -> None:
    """Lets a script give tf_slim, which it or a module of it uses, the names that it misses in TensorFlow."""
    if b"complete_tf_slim" in context.module.source.data or not is_script(context):
        return
    if uses_tf_slim(context) or program.slim:
        v1 = context.local("tf.compat.v1")
        with context.rule("TPU207"):
            context.put_behind_imports(
                "\n" + written.completion_of_tf_slim(v1.rpartition(".compat")[0], v1).rstrip()
            )


def _mark_conditions(context: Context) -> None:
    """Marks tests for the version of TensorFlow that end a program of TensorFlow 2."""
    for found in guards.dead(context.names, context.trees.values()):
        context.todo("TPU218", found.what, found.node, context.cell_of(found.node))


def _mark_hazards(context: Context, kept: str = "") -> None:
    """Marks what a TPU does not like; of one code what goes on as it was."""
    for hazard in hostile.hazards(context.module):
        cell = context.cell_of(hazard.node)
        words = hazard.was + (f" → {hazard.becomes}" if hazard.becomes else "")
        mark = context.note if hazard.code == kept else context.todo
        mark(hazard.code, words, hazard.node, cell)


def _enter_graph(context: Context) -> None:
    """TensorFlow 2 builds graphs after a call, which stands behind the imports."""
    if any(call.name.endswith("disable_v2_behavior") for call in context.names.calls):
        return
    tf = context.local("tf.compat.v1").rpartition(".compat")[0]
    context.put_behind_imports(_DISABLE.format(tf=tf))


def needs_keras_2(context: Context) -> bool:
    """Whether a file uses what TensorFlow has only beside Keras 2."""
    is_needed = any(today.needs_keras_2(place.fate) for place in context.places)
    return is_needed or contrib_modules.needs_keras_2(context)


def uses_tf_slim(context: Context) -> bool:
    """Whether names of a file belong to tf_slim today."""
    return any(today.is_of_tf_slim(place.fate) for place in context.places)


def uses_keras(context: Context) -> bool:
    """Whether a file of TensorFlow 1 uses Keras: a process has one, and that of tpucompat.v1 is Keras 2."""
    return context.module.era == era.TF1 and uses_todays_keras(context.module)


def asks_for_keras_2(context: Context) -> bool:
    """Whether a file sets what makes Keras 2 TensorFlow's Keras, or imports a module written here that does."""
    data = context.module.source.data
    return b"TF_USE_LEGACY_KERAS" in data or bool(written.imported(data))


def is_script(context: Context) -> bool:
    """Whether a file is run, and not only imported."""
    if context.module.source.is_notebook:
        return True
    text = context.module.source.units[0].original
    if "__main__" in text or not re.search(r"^(def|class) ", text, re.MULTILINE):
        return True
    works = (ast.For, ast.While, ast.With)
    if any(isinstance(one, works) for tree in context.trees.values() for one in tree.body):
        return True
    return any(call.function is None and call.name in _BUILDS for call in context.names.calls)


def encoded(module: Module, changed: Mapping[int, str]) -> bytes:
    """A file's bytes with new texts of some of its units."""
    source = module.source
    if not changed:
        return source.data
    if source.is_notebook:
        return notebook_text.replace_cells(source.data, changed)
    return changed[0].encode(source.encoding)


def _is_sound(path: str, data: bytes, before: Module) -> bool:
    """Whether what was written can be read again, in as many units as before."""
    try:
        after = findings.understand(sources.decode(path, data))
    except sources.SourceError:
        return False
    if len(after.problems) > len(before.problems):
        return False
    if after.source.is_notebook:
        return True
    try:
        # `ast` takes what Python refuses: a keyword argument that stands there twice.
        compile(after.source.units[0].text or "", path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        try:
            compile(before.source.units[0].text or "", path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            return True
        return False
    return True
