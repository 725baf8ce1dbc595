"""``tf.contrib.testing``: summaries for tests, kept in memory or read back from event files.

Behaviour follows tensorflow/contrib/testing/python/framework of TensorFlow 1.15.
"""

from __future__ import annotations

import glob
import os
from typing import Any, Iterable, Mapping, Sequence

import tensorflow.compat.v1 as tf

from tpucompat import private


class FakeSummaryWriter:
    """A ``tf.summary.FileWriter`` that keeps what it is given.

    After :meth:`install` it is what hooks and Estimators get for a folder.

    Args:
      logdir: The folder, which is not touched.
      graph: The graph that the real one would write.
    """

    _replaced: Any = None

    @classmethod
    def install(cls) -> None:
        """Puts the class in the place of the real one.

        Raises:
          ValueError: It is there already.
        """
        if cls._replaced:
            raise ValueError("FakeSummaryWriter already installed.")
        modules = private.summary_writer_modules()
        cls._replaced = modules[0].FileWriter
        for module in modules:
            module.FileWriter = FakeSummaryWriter

    @classmethod
    def uninstall(cls) -> None:
        """Puts the real one back.

        Raises:
          ValueError: :meth:`install` was not called.
        """
        if not cls._replaced:
            raise ValueError("FakeSummaryWriter not installed.")
        for module in private.summary_writer_modules():
            module.FileWriter = cls._replaced
        cls._replaced = None

    def __init__(self, logdir: Any, graph: Any = None) -> None:
        self._logdir = logdir
        self._graph = graph
        self._summaries: dict[int, list[Any]] = {}
        self._added_graphs: list[Any] = []
        self._added_meta_graphs: list[Any] = []
        self._added_session_logs: list[Any] = []
        self._added_run_metadata: dict[str, Any] = {}

    @property
    def summaries(self) -> Mapping[int, list[Any]]:
        """Global step -> the summaries that were added for it, as protocol buffers."""
        return self._summaries

    def assert_summaries(
        self,
        test_case: Any,
        expected_logdir: Any = None,
        expected_graph: Any = None,
        expected_summaries: Mapping[int, Mapping[str, float]] | None = None,
        expected_added_graphs: Sequence[Any] | None = None,
        expected_added_meta_graphs: Sequence[Any] | None = None,
        expected_session_logs: Sequence[Any] | None = None,
    ) -> None:
        """Compares what was added; None leaves a part out.

        Args:
          test_case: The test, whose assertions are used.
          expected_logdir: The folder.
          expected_graph: The graph that the writer was made with.
          expected_summaries: Global step -> tag -> value. The speed ``global_step/sec`` is left out.
          expected_added_graphs: What :meth:`add_graph` got.
          expected_added_meta_graphs: What :meth:`add_meta_graph` got.
          expected_session_logs: What :meth:`add_session_log` got.
        """
        if expected_logdir is not None:
            test_case.assertEqual(expected_logdir, self._logdir)
        if expected_graph is not None:
            test_case.assertIs(expected_graph, self._graph)
        for step, expected in (expected_summaries or {}).items():
            test_case.assertIn(step, self._summaries)
            values = [value for summary in self._summaries[step] for value in summary.value]
            found = {v.tag: v.simple_value for v in values if v.tag != "global_step/sec"}
            test_case.assertEqual(expected, found)
        if expected_added_graphs is not None:
            test_case.assertEqual(expected_added_graphs, self._added_graphs)
        if expected_added_meta_graphs is not None:
            test_case.assertEqual(len(expected_added_meta_graphs), len(self._added_meta_graphs))
            for meta_graph, found_graph in zip(expected_added_meta_graphs, self._added_meta_graphs):
                private.test_util().assert_meta_graph_protos_equal(
                    test_case, meta_graph, found_graph
                )
        if expected_session_logs is not None:
            test_case.assertEqual(expected_session_logs, self._added_session_logs)

    def add_summary(self, summ: Any, current_global_step: int) -> None:
        """Keeps a summary.

        Args:
          summ: The protocol buffer, or its bytes.
          current_global_step: The step that it belongs to.
        """
        if isinstance(summ, bytes):
            summ = tf.Summary.FromString(summ)
        self._summaries.setdefault(current_global_step, []).append(summ)

    def add_graph(self, graph: Any, global_step: int | None = None, graph_def: Any = None) -> None:
        """Keeps a graph.

        Args:
          graph: The graph.
          global_step: A step that is not negative.
          graph_def: None.

        Raises:
          ValueError: One of the two is not.
        """
        _check_step(global_step)
        if graph_def is not None:
            raise ValueError(f"Unexpected graph_def {graph_def}.")
        self._added_graphs.append(graph)

    def add_meta_graph(self, meta_graph_def: Any, global_step: int | None = None) -> None:
        """Keeps a MetaGraphDef.

        Args:
          meta_graph_def: The protocol buffer.
          global_step: A step that is not negative.

        Raises:
          ValueError: It is negative.
        """
        _check_step(global_step)
        self._added_meta_graphs.append(meta_graph_def)

    def add_session_log(self, session_log: Any, global_step: int | None = None) -> None:
        """Keeps a SessionLog.

        Args:
          session_log: The protocol buffer.
          global_step: Ignored.
        """
        del global_step
        self._added_session_logs.append(session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: int | None = None) -> None:
        """Keeps the metadata of a run.

        Args:
          run_metadata: The protocol buffer.
          tag: What it is kept under.
          global_step: A step that is not negative.

        Raises:
          ValueError: It is negative.
        """
        _check_step(global_step)
        self._added_run_metadata[tag] = run_metadata

    def flush(self) -> None:
        """Does nothing, as :meth:`reopen` and :meth:`close`."""

    def reopen(self) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""


def _check_step(global_step: int | None) -> None:
    if global_step is not None and global_step < 0:
        raise ValueError(f"Invalid global_step {global_step}.")


def assert_summary(
    expected_tags: Iterable[str], expected_simple_values: Mapping[str, float], summary_proto: Any
) -> None:
    """Compares the tags of a summary, and some of its values to two decimals.

    Args:
      expected_tags: All tags.
      expected_simple_values: Tag -> value.
      summary_proto: The summary.

    Raises:
      ValueError: It has other tags.
      AssertionError: It has another value.
    """
    import numpy as np

    for value in summary_proto.value:
        if value.tag in expected_simple_values:
            np.testing.assert_almost_equal(
                value.simple_value, expected_simple_values[value.tag], decimal=2, err_msg=value.tag
            )
    found = {value.tag for value in summary_proto.value}
    if set(expected_tags) != found:
        raise ValueError(f"Expected tags {set(expected_tags)}, got {found}.")


def to_summary_proto(summary_str: bytes) -> Any:
    """The summary whose bytes are given."""
    return tf.Summary.FromString(summary_str)


def latest_event_file(base_dir: str) -> str | None:
    """The last event file of a folder by name; None where there is none."""
    return max(glob.glob(os.path.join(base_dir, "events.*")), default=None)


def latest_events(base_dir: str) -> Iterable[Any]:
    """The events of :func:`latest_event_file`, none where there is none."""
    path = latest_event_file(base_dir)
    return tf.train.summary_iterator(path) if path else []


def latest_summaries(base_dir: str) -> list[Any]:
    """Those of :func:`latest_events` that have a summary."""
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


def simple_values_from_events(events: Iterable[Any], tags: Iterable[str]) -> dict[str, float]:
    """Tag -> its value in the event of the latest step.

    Args:
      events: The events.
      tags: The tags to look for.

    Raises:
      ValueError: One of them has no simple value.
    """
    wanted = set(tags)
    found: dict[str, tuple[int, float]] = {}
    for event in events:
        for value in event.summary.value if event.HasField("summary") else ():
            if value.tag not in wanted:
                continue
            if not value.HasField("simple_value"):
                raise ValueError(f"Summary for {value.tag} is not a simple_value.")
            if value.tag not in found or event.step > found[value.tag][0]:
                found[value.tag] = (event.step, value.simple_value)
    return {tag: value for tag, (_, value) in found.items()}
