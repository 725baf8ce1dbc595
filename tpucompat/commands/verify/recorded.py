"""Runs a script and records it, in a process of its own (:mod:`tpucompat.commands.verify.child` starts it).

The script is run as :mod:`tpucompat.commands.cli.run` or plain ``python`` runs it, with functions of TensorFlow
watched. What it prints, its exit code and its traceback are its own.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import platform
import random
import runpy
import signal
import sys
import traceback
from typing import Any

import numpy as np

from tpucompat.base import keras_generation
from tpucompat.base.late import late
from tpucompat.base.machine import environment
from tpucompat.commands.analysis import findings
from tpucompat.commands.analysis.sources import SourceError
from tpucompat.commands.cli import run
from tpucompat.commands.migrate import estimator_tables, session_inputs
from tpucompat.commands.verify import files, loops
from tpucompat.commands.verify.flags import Flags
from tpucompat.commands.verify.printed import Printed
from tpucompat.commands.verify.recorder import Recorder, Recording
from tpucompat.engines import accelerator

tf = late("tensorflow")

# Imports inside functions: TensorFlow comes when the process is prepared for it.


def main() -> int:
    """Runs the script that the file on the command line describes; returns the exit code."""
    with open(sys.argv[1], encoding="utf-8") as stream:
        spec: dict[str, Any] = json.load(stream)
    recorder = Recorder(spec["folder"], spec["snapshot_steps"])
    recorded = _Recorded(recorder, spec)
    # A run that is ended from outside says how far it came; the lines are on the disk already.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(124))
    try:
        recorded.run()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else (1 if end.code else 0)
        if isinstance(end.code, str):
            sys.stderr.write(end.code + "\n")
        recorded.end("" if not code else f"exit code {code}: {end.code}")
        return code
    except BaseException as error:
        traceback.print_exc()
        recorded.end(f"{type(error).__name__}: {error}")
        return 1
    recorded.end("")
    return 0


class _Recorded:
    """One recorded run.

    Args:
      recorder: Where to write.
      spec: What to run: see :func:`tpucompat.commands.verify.runs.record`.
    """

    def __init__(self, recorder: Recorder, spec: dict[str, Any]) -> None:
        self._recorder = recorder
        self._spec = spec
        self._watchers: list[Any] = []
        self._models: Any = None
        self._dropouts: Any = None
        self._printed = Printed(recorder, spec["script"])
        for own in (self._printed, Flags(recorder)):
            own.open()
            self._watchers.append(own)

    def run(self) -> None:
        """Runs the script to its end."""
        spec = self._spec
        random.seed(spec["seed"])
        np.random.seed(spec["seed"])
        if spec["legacy"]:
            self._run_legacy()
        else:
            self._run_plainly()

    def end(self, error: str) -> None:
        """The script has ended: writes down what is final."""
        for watcher in self._watchers:
            try:
                watcher.finish()
            except Exception as problem:
                self._recorder.write("problem", text=f"{type(problem).__name__}: {problem}")
        self._files()
        self._recorder.write("end", error=error)

    def _run_legacy(self) -> None:
        spec = self._spec
        options = ["--quiet"]
        if spec["rehearse"]:
            options += ["--rehearse", spec["rehearse"]]
        elif spec["cores"] > 1:
            options += ["--cores", str(spec["cores"])]
        program, era = run.prepare([*options, *spec["options"], spec["script"], *spec["arguments"]])
        self._open(graph=era == "tf1")
        run.execute(program)

    def _run_plainly(self) -> None:
        spec = self._spec
        goes_on = _sees_old_namespace(spec["script"])
        if asks_for_keras_2(spec["script"]):  # before the watchers look for Keras
            os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
        if spec["rehearse"]:
            os.environ["TPUCOMPAT_REHEARSE"] = spec["rehearse"]
        elif goes_on or spec["cores"] > 1:
            os.environ["TPUCOMPAT_CORES"] = str(spec["cores"])
        if goes_on:
            _prepare_old_namespace()
        elif spec["rehearse"] or spec["cores"] > 1:
            _show_tpu()
        self._open(graph=goes_on)
        sys.argv[:] = [spec["script"], *spec["arguments"]]
        sys.path[0] = os.path.dirname(os.path.realpath(spec["script"]))
        models, dropouts = self._models, self._dropouts
        opened = {
            estimator_tables.MODULE: [models.open_training_loop, dropouts.open_training_loop],
            session_inputs.MODULE: [dropouts.open_session_loop],
        }
        loops.Watch(opened).open()
        runpy.run_path(spec["script"], run_name="__main__")

    def _open(self, graph: bool) -> None:
        # They import TensorFlow, for which the process is prepared by now.
        from tpucompat.commands.verify import (
            dropouts,
            eager_watcher,
            graph_watcher,
            model_watcher,
            outputs,
            shuffles,
        )

        eager = None
        start = _initial(self._spec["initial"])
        # A script of TensorFlow 2 may keep its Sessions, too; those of a loop are for initial values.
        graphs = None
        if graph or not loops.of(self._spec["script"]):
            graphs = graph_watcher.GraphWatcher(self._recorder, start, self._spec["map"])
        if not tf.__version__.startswith("1."):
            _compile_plainly()
            eager = eager_watcher.EagerWatcher(self._recorder, start, self._spec["map"])
            eager.open()
            self._watchers.append(eager)
        outputs.watch()
        self._dropouts = dropouts.Dropouts(self._recorder, self._spec["dropout"])
        self._dropouts.open()
        shuffles.Shuffles(self._recorder, _orders(self._spec["initial"])).open()
        calls = [eager.between_calls, eager.begins_anew, eager.saved] if eager else []
        models = model_watcher.ModelWatcher(
            self._recorder,
            graphs,
            self._printed.repeated,
            *calls,  # type: ignore[arg-type]
        )
        models.open_keras()
        self._models = models
        if graphs is not None:
            graphs.open()
            self._watchers.append(graphs)
        if graph:
            # Before the script asks for a seed of its own, and in the graph that it begins with.
            tf.compat.v1.set_random_seed(self._spec["seed"])
            models.open_tpu_models()
            try:
                models.open_estimators()
            except Exception as problem:  # there may be no Estimator here, and no need for one
                self._recorder.write("problem", text=f"Estimators are not watched: {problem}")
        else:
            tf.random.set_seed(self._spec["seed"])
        # Whoever looks for variables among all objects need not look at TensorFlow's half a million.
        gc.freeze()
        self._environment()

    def _environment(self) -> None:
        self._recorder.write(
            "environment",
            python=platform.python_version(),
            numpy=np.__version__,
            tensorflow=environment().tensorflow,
            keras=_keras_version(tf),
            platform=platform.platform(),
            cores=self._spec["cores"],
            mode=environment().mode,
            rehearsed=bool(self._spec["rehearse"]),
            through="tpucompat run" if self._spec["legacy"] else "python",
        )

    def _files(self) -> None:
        try:
            files.record(self._recorder, self._spec["work"])
        except Exception as problem:
            self._recorder.write("problem", text=f"files: {type(problem).__name__}: {problem}")


def asks_for_keras_2(script: str) -> bool:
    """Whether a script sets TF_USE_LEGACY_KERAS itself, or what ``migrate`` has written beside it does."""
    if loops.of(script):
        return True
    with open(script, "rb") as stream:
        return b"'TF_USE_LEGACY_KERAS', '1'" in stream.read().replace(b'"', b"'")


def _initial(folder: str | None) -> Any:
    if not folder:
        return None
    recording = Recording(folder)
    values = recording.initial()
    return [v for v in recording.variables() if v.name in values], values


def _orders(folder: str | None) -> list[np.ndarray]:
    """The orders that the old run has drawn for its epochs."""
    if not folder:
        return []
    recording = Recording(folder)
    return [
        order for event in recording.all("shuffle") for order in recording.arrays(event).values()
    ]


def _keras_version(tf: Any) -> str:
    keras = sys.modules.get(tf.keras.Model.__module__.partition(".")[0])
    return str(getattr(keras, "__version__", "") or getattr(tf.keras, "__version__", ""))


def _compile_plainly() -> None:
    """Lets no function be compiled by XLA: what is recorded leaves it through Python.

    Keras 3 compiles its training step wherever it can (``jit_compile="auto"``).
    """
    function_type: Any = type(tf.function(lambda: None))
    original = function_type.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("jit_compile"):
            kwargs["jit_compile"] = None
        original(self, *args, **kwargs)

    function_type.__init__ = init


def _sees_old_namespace(script: str) -> bool:
    """Whether a migrated script keeps graphs and sessions, by ``import tpucompat.v1``."""
    try:
        return findings.analyse(script).uses_tpucompat
    except SourceError:  # which Python says better
        return False


def _prepare_old_namespace() -> None:
    """What the script's import would do, before the watchers touch ``tf.keras`` and choose Keras 3."""
    import tpucompat.v1  # noqa: F401

    keras_generation.choose()


def _show_tpu() -> None:
    """Shows a TensorFlow 2 program a TPU, whose cores are emulated or rehearsed."""
    from tpucompat.idioms.startup import cluster_resolver, early_tf2, tpu_system

    accelerator.prepare()
    strategies: Any = tf.distribute
    strategies.cluster_resolver.TPUClusterResolver = cluster_resolver.TPUClusterResolver
    strategies.TPUStrategy = early_tf2.TPUStrategy
    strategies.experimental.TPUStrategy = early_tf2.TPUStrategy
    tf.tpu.experimental.initialize_tpu_system = tpu_system.initialize_tpu_system
    tf.config.experimental_connect_to_cluster = lambda *args, **kwargs: None
