"""Rewrites the files of a tree, those of a program in view of each other."""

from __future__ import annotations

import ast
import functools
import os
import re
import sys
from typing import AbstractSet, Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from tpucompat.commands.analysis import (
    collector,
    findings,
    keras_3,
    keras_3_files,
    sources,
    star_imports,
)
from tpucompat.commands.analysis.sources import SourceError
from tpucompat.commands.migrate import (
    compat_v1,
    contrib_modules,
    estimators,
    left_modules,
    loop_parts,
    notebook_modules,
    plan,
    record,
    written,
)
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.plan import Result
from tpucompat.commands.migrate.programs import Imports
from tpucompat.commands.scan.scanner import DEPTH
from tpucompat.names.used import walk

#: How often a file is looked at again.
_PASSES = 3
#: What writes models and weights to files.
_SAVES = re.compile(rb"\bsave(_weights|_model)?\(|ModelCheckpoint")
#: Way -> what is said of a file that went it.
WAYS: Mapping[str, str] = {
    plan.NOTHING: "nothing to rewrite",
    plan.PLAIN: "rewritten to TensorFlow 2",
    plan.KERAS: "rewritten to TensorFlow 2, with its model under a strategy",
    plan.LOOP: "rewritten to TensorFlow 2, with training_loop.py beside it",
    plan.SESSION: "rewritten to TensorFlow 2, with session_loop.py beside it",
    plan.COMPATIBLE: "uses tpucompat.v1; its TODO gives the reason",
}


class Spelled(NamedTuple):
    """A file that is read otherwise than it lies on the disk.

    Attributes:
      data: What lies there.
      prefixed: The file with the prefix ``tf.compat.v1``, where it is read without.
    """

    data: bytes
    prefixed: findings.Module | None


def said(result: Result, written: bool = True) -> str:
    """What is said of a file: that it is TensorFlow 2 only where nothing is left to do in it.

    Args:
      result: What becomes of it.
      written: Whether it has become that, or would.
    """
    if not written:
        return re.sub(
            "^uses", "would use", re.sub("^(partly )?rewritten", r"would be \g<0>", said(result))
        )
    if result.way == plan.COMPATIBLE and not result.todos:
        return "uses tpucompat.v1, as another module of its program does"
    if result.todos == 0 or result.way == plan.COMPATIBLE:
        way = WAYS[result.way]
        if result.path.endswith(".ipynb") and not result.beside:
            way = way.replace("beside it", "in a cell of it")
        if result.notes == 0:
            return way
        many = "a NOTE describes" if result.notes == 1 else f"{result.notes} NOTEs describe"
        return f"{way}; {many} what is reported differently"
    many = "1 TODO is" if result.todos == 1 else f"{result.todos} TODOs are"
    return f"partly rewritten; {many} left to resolve by hand"


def migrate(paths: Iterable[str], unsafe: bool = False, version: int = 3) -> Iterator[Result]:
    """Rewrites files in memory.

    The modules of one program share a process, and that is in the graph world, with Keras 2, as soon as one of
    them uses tpucompat.v1; so of the files that import each other those that build graphs or use Keras use it
    all, or none does.

    Args:
      paths: The files.
      unsafe: Whether to rewrite too what may change what the program does.
      version: Which Keras they get: 3, or 2, the package tf-keras.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEPTH))
    try:
        with collector.paused():
            yield from _tree(list(paths), unsafe, version)
    finally:
        sys.setrecursionlimit(before)


def _tree(paths: list[str], unsafe: bool, version: int) -> Iterator[Result]:
    modules: list[findings.Module] = []
    spelled: dict[str, Spelled] = {}
    for path in paths:
        try:
            lies = findings.analyse(path)
        except SourceError as error:
            yield Result(path, b"", b"", plan.NOTHING, [findings.problem(path, error)])
            continue
        module = star_imports.explicit(lies) or lies
        then = compat_v1.respelled(module)
        if then is not None or module is not lies:
            spelled[os.path.abspath(path)] = Spelled(lies.source.data, then and module)
        modules.append(then or module)
    yield from _programs(modules, spelled, unsafe, version)


def _programs(
    modules: list[findings.Module],
    spelled: Mapping[str, Spelled],
    unsafe: bool,
    version: int,
) -> Iterator[Result]:
    imports = _imports(modules)
    contexts = {path: Context(module) for path, module in imports.paths.items()}
    trainers = {path for path, one in contexts.items() if estimators.makes_trainer(one)}
    of_trainers = imports.reached(trainers)
    of_trainers |= {path for path in contexts if trainers & imports.reached([path])}
    stays, wanted = {}, {}
    for path, context in contexts.items():
        wanted[path] = estimators.is_wanted(context, path in of_trainers)
        stays[path] = plan.stays(context, path in of_trainers)
    # What only builds a part of a graph does so beside tpucompat.v1 too.
    shared = {
        path: stays[path] or wanted[path] or plan.uses_keras(context)
        for path, context in contexts.items()
    }
    of_keras_2, keras_2_only = _of_keras_2(imports, contexts, wanted)
    of_contrib = {path: contrib_modules.modules(one) for path, one in contexts.items()}
    done: set[str] = set()
    groups = list(imports.programs(shared))
    keeps = {id(group): [one for one in group if stays[one]] for group in groups}
    for group in sorted(groups, key=lambda one: bool(keeps[id(one)])):
        with_loop = not keeps[id(group)] and any(wanted[path] for path in group)
        homes = [path for path in group if estimators.makes_trainer(contexts[path])]
        for path in group:
            if path in done:
                continue
            done.add(path)
            own = [one for one in keeps[id(group)] if one in imports.reached([path])]
            together = os.path.basename(next(iter([*own, *keeps[id(group)]]), ""))
            loop = _home(imports, path, homes) if with_loop else None
            beside = {}
            for name in of_contrib[path]:
                users = {one for one in contexts if name in of_contrib[one]}
                beside[name] = _home(imports, path, _in_one_process(imports, path, users)[:1])
            settled = functools.partial(
                _settled,
                unsafe=unsafe,
                together=together,
                with_loop=loop,
                version=2 if path in keras_2_only and not with_loop else version,
                keras_2=of_keras_2[path],
                homes=beside,
            )
            yield _as_spelled(spelled.get(path), settled(imports.paths[path]), settled)
    settled = functools.partial(_settled, unsafe=unsafe, version=version)
    for module in modules:
        if module.source.is_notebook:
            module = module._replace(left=left_modules.find(module, imports.paths))
            yield _as_spelled(
                spelled.get(os.path.abspath(module.source.path)), settled(module), settled
            )


def _imports(modules: Sequence[findings.Module]) -> Imports:
    """The files that are not notebooks, told what they need to know of each other."""
    imports = Imports([module for module in modules if not module.source.is_notebook])
    _take_names(imports)
    _take_eras(imports)
    _take_models(imports)
    for path, module in imports.paths.items():
        imports.paths[path] = module._replace(left=left_modules.find(module, imports.paths))
    return imports


def _as_spelled(
    own: Spelled | None, result: Result, settled: Callable[[findings.Module], Result]
) -> Result:
    """The result for a file as it lies on the disk.

    Args:
      own: How it lies there, where it was read otherwise.
      result: What became of it.
      settled: Rewrites it.
    """
    if own is None:
        return result
    if own.prefixed is not None and result.way in (plan.NOTHING, plan.COMPATIBLE):
        result = settled(own.prefixed)  # the prefix is as good there
    after = own.data if result.way == plan.NOTHING else result.after
    return result._replace(before=own.data, after=after)


def _of_keras_2(
    imports: Imports, contexts: Mapping[str, Context], with_loop: Mapping[str, bool]
) -> tuple[Mapping[str, plan.Keras2], set[str]]:
    """What asks for Keras 2 where a file needs it: a training loop, or else the script that imports it.

    Returns:
      That of each file, and the files whose every process has Keras 2.
    """
    loops = {
        path for path in contexts if with_loop[path]
    }  # the module beside them completes tf_slim
    asking = loops | {path for path in contexts if plan.asks_for_keras_2(contexts[path])}
    scripts = {path for path, context in contexts.items() if plan.is_script(context)}
    of_slim = {path for path, context in contexts.items() if plan.uses_tf_slim(context)}
    needed = of_slim | {path for path, one in contexts.items() if plan.needs_keras_2(one)}
    wanted: set[str] = set()
    asked: set[str] = set()
    slim: set[str] = set()
    reach = {path: imports.reached([path]) for path in contexts}
    for path, reached in reach.items():
        is_wanting = path in scripts and bool(needed & reached) and not asking & reached
        if is_wanting:
            wanted.add(path)
        if is_wanting or asking & reached:
            asked |= reached - scripts
        if path in scripts and of_slim & reached and not loops & reached:
            slim.add(path)
    with_keras_2 = {path for path in contexts if (needed | asking) & reach[path]}
    keras_2_only = imports.reached(with_keras_2) - imports.reached(scripts - with_keras_2)
    found = {path: plan.Keras2(path in wanted, path in asked, path in slim) for path in contexts}
    return found, keras_2_only


def _take_names(imports: Imports) -> None:
    """Tells files what they import of TensorFlow and Keras from others of their program."""
    for _ in range(_PASSES):  # which may have it from others in turn
        told = False
        for path, module in [*imports.paths.items()]:
            given = {
                link.name: scope
                for link in imports.links
                for scope in [imports.paths[link.target].names.scope]
                if link.source == path and _takes(module, scope.handed_on())
            }
            if {name: one.handed_on() for name, one in given.items()} != {
                name: one.handed_on() for name, one in module.given.items()
            }:
                again = findings.understand(module.source, module.given_models, given)
                imports.paths[path] = again
                told = True
        if not told:
            return


def _takes(module: findings.Module, names: set[str]) -> bool:
    """Whether a file imports one of some names, or may take one from a module."""
    return any(
        alias.name in names
        for tree in filter(None, module.trees)
        for node in walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ) or any(f".{name}".encode() in module.source.data for name in names)


def _take_eras(imports: Imports) -> None:
    """Gives a module that says nothing of its era the one of the files that import it, or that it imports."""
    waiting = {path for path, module in imports.paths.items() if not module.era_known}
    while waiting:
        importing = {
            path: {link.source for link in imports.links if link.target == path} for path in waiting
        }
        told = _told(imports, importing, waiting)
        if not told:  # the main file of a program often holds nothing but flags
            told = _told(imports, {path: imports.reached([path]) for path in waiting}, waiting)
        for path, era in told.items():
            imports.paths[path] = imports.paths[path]._replace(era=era)
        if not told:
            return
        waiting -= told.keys()


def _take_models(imports: Imports) -> None:
    """Tells modules that they may be given a model of Keras, and which files others of their program write."""
    of_keras = {path for path, module in imports.paths.items() if keras_3.applies(module)}
    related = imports.reached(of_keras)
    related |= {path for path in imports.paths if of_keras & imports.reached([path])}
    for path in related - of_keras:
        before = imports.paths[path]
        module = findings.understand(before.source, given_models=True, given=before.given)
        imports.paths[path] = module._replace(era=before.era)
    saving = [
        path
        for path in related
        if _SAVES.search(imports.paths[path].source.data) and keras_3.applies(imports.paths[path])
    ]
    for path in saving if len(related) > 1 else ():
        texts = keras_3_files.renamed(keras_3.Finder(imports.paths[path]))
        for other in _in_one_process(imports, path, related - {path}) if texts else ():
            module = imports.paths[other]
            imports.paths[other] = module._replace(renamed=module.renamed | texts)


def _told(
    imports: Imports, related: Mapping[str, AbstractSet[str]], waiting: set[str]
) -> dict[str, str]:
    """The era that all files have that a file is related to, of those whose era is known."""
    eras = {
        path: {imports.paths[one].era for one in others - waiting}
        for path, others in related.items()
    }
    return {path: found.pop() for path, found in eras.items() if len(found) == 1}


def with_parts(results: Sequence[Result]) -> list[Result]:
    """The results with only those parts of the modules beside them that their programs use."""
    cut = list(results)
    uses_slim = any(b"tf_slim" in result.after for result in cut)
    parts = _parts_of_loop(cut)
    for module in written.MODULES:
        name = module + ".py"
        uses: set[str] = set()
        for result in _importing(cut, module):
            uses |= written.mentioned(notebook_modules.code(result.path, result.after))
            for other in {*result.beside} - {name}:  # already cut to what is used
                uses |= written.mentioned(result.beside[other])
        uses |= written.marks(parts) if uses else set()
        for index, result in enumerate(cut):
            if name in result.beside:
                part = written.part(result.beside[name], uses)
                if uses_slim and module in written.LOOPS:  # beside other modules scripts do it
                    part = written.completing_tf_slim(part)
                cut[index] = result._replace(beside={**result.beside, name: part})
    return [notebook_modules.in_cells(one) for one in cut]


def _parts_of_loop(results: Sequence[Result]) -> set[str]:
    """The parts of a training loop that the files of a program need."""
    if not any("training_loop.py" in result.beside for result in results):
        return set()
    files = [
        (os.path.basename(one.path), notebook_modules.code(one.path, one.after)) for one in results
    ]
    files += [pair for one in results for pair in one.beside.items()]
    texts = [text for name, text in files if name != "training_loop.py"]
    names = loop_parts.module_names(one.path for one in results)
    return loop_parts.needed(texts, names | {*written.MODULES})


def _importing(results: Sequence[Result], module: str) -> list[Result]:
    """The files that name a module, and those that import these: they may be given objects of it."""
    left = list(results)
    found = [one for one in left if module.encode() in one.after]
    while True:
        left = [one for one in left if one not in found]
        names = {os.path.splitext(os.path.basename(one.path))[0] for one in found}
        more = [
            one
            for one in left
            if names & written.imported_names(notebook_modules.code(one.path, one.after))
        ]
        if not more:
            return found
        found += more


def _home(imports: Imports, path: str, users: list[str]) -> estimators.Home:
    """How a file imports a module of its program: there is one, beside one of the files that use it.

    Args:
      imports: The tree.
      path: The file.
      users: The files beside which it is, the likeliest first.
    """
    own = os.path.dirname(path)
    folders = [os.path.dirname(one) for one in users]
    folder = own if own in folders or not folders else folders[0]
    return estimators.Home(imports.package_of(folder, path) or "", folder == own)


def _in_one_process(imports: Imports, path: str, users: set[str]) -> list[str]:
    """Those of some files that may share a process with a file; the nearest to the script first."""
    importing = [one for one in imports.paths if path in imports.reached([one])]
    return sorted(users & imports.reached(importing), key=lambda one: (one.count(os.sep), one))


def _settled(
    module: findings.Module,
    unsafe: bool,
    together: str = "",
    with_loop: estimators.Home | None = None,
    version: int = 3,
    keras_2: plan.Keras2 = plan.NOTHING_ASKED,
    homes: Mapping[str, estimators.Home] | None = None,
) -> Result:
    """A rewriting in which nothing is left to rewrite: one may show what another rests on."""
    result = plan.migrate(module, unsafe, together, with_loop, version, keras_2, homes)
    for _ in range(_PASSES if result.changed else 0):
        source = sources.decode(result.path, result.after)
        again = findings.understand(source, module.given_models, module.given)
        again = again._replace(renamed=module.renamed)
        again = again if again.era_known else again._replace(era=module.era)
        later = plan.migrate(again, unsafe, together, with_loop, version, keras_2, homes)
        if later.after == result.after:
            break
        more = record.moved(later.changes, _texts(module), _texts(again))
        changes = sorted([*result.changes, *more], key=lambda one: (one.cell, one.line))
        result = result._replace(after=later.after, changes=changes)
    return result


def _texts(module: findings.Module) -> dict[int, str]:
    return {unit.cell: unit.original for unit in module.source.units}
