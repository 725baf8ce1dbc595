"""Where in the script an operation of a traced graph was made."""

from __future__ import annotations

import linecache
import os
import re
import sys
import traceback
import weakref
from typing import Any, Iterable, NamedTuple

from tpucompat.base import package
from tpucompat.names import scope as scopes
from tpucompat.tf import private

_OURS = package.FOLDER + os.sep


# The scope of an operation's gradient (tensorflow/python/ops/gradients_util.py of 1.13 to 2.21).
_GRADIENT = re.compile(r"(?:^|/)gradients(?:_\d+)?/(.+?)_grad(?:_\d+)?(?:/|\Z)")


# The nodes that an error's text names (tensorflow/core/graph/error_format_tag of 1.13 to 2.21).
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")

# The operation that asked a data set for its next element, as it follows the node that failed. With a number
# ("IteratorGetNext/_5") it is only the sender of what a node waits for.
_NEXT = re.compile(r"\[\[(?:\{\{node )?((?:[^\]}/]+/)*IteratorGetNext\w*)(?:\}\})?\]\]")

# What TensorFlow shows of the graph's operation with a node's name (error_interpolation.py of 1.13 to 2.21).
_SHOWN = re.compile(r"Detected at node (.|\n)*?\nNode: |Original stack trace for (.|\n)*")
_RAISED = "Traceback (most recent call last):"  # what py_func.cc tells of the script's function

# The graphs that computations were taken from. A replayed step has other graphs, whose operations know nothing
# of the script; but the names of their nodes end in those of the operations that they came from.
_traced: weakref.WeakSet[Any] = weakref.WeakSet()


# Graph -> the one whose nodes were written into it; those of an import know nothing of the script either.
_origins: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def remember(graph: Any) -> None:
    """Looks a failed node's line up in this graph too, as long as it is there."""
    _traced.add(graph)


def written_from(graph: Any, origin: Any) -> None:
    """Looks the lines of a graph's operations up in another one, with the end of their names.

    Args:
      graph: What was imported.
      origin: What the script has built.
    """
    _origins[graph] = origin


class Line(NamedTuple):
    """A line of the script; both are "" where it is not known."""

    place: str = ""
    text: str = ""


class Sources:
    """Finds the script's lines.

    Args:
      legacy_packages: Names of installed packages that count as the script's.
    """

    def __init__(self, legacy_packages: Iterable[str] = ()) -> None:
        self._scope = scopes.Scope(legacy_packages)
        self._own: dict[str, bool] = {}

    def of_operation(self, graph: Any, name: str, function: str = "") -> Line:
        """The line that made an operation.

        Args:
          graph: The graph.
          name: The operation's name; that of a node.
          function: The library function of the graph that it is in; "" for none.
        """
        if graph in _origins:
            return self._of_origin(_origins[graph], name, function)
        operation = _find(graph, name, function)
        if operation is None:
            return Line()
        # An operation of the gradient stands for the one whose gradient it is.
        original = getattr(operation, "_original_op", None)
        forward = _GRADIENT.search(name)
        if original is None and forward is not None:
            original = _find(graph, forward.group(1), function)
        for each in filter(None, (original, operation)):
            made = each.traceback or ()  # None of one that was imported
            line = self._newest([(frame.filename, frame.lineno, frame.name) for frame in made])
            if line.place:
                return line
        return Line()

    def of_nodes(self, text: str) -> Line:
        """The line that made the first node that an error's text names and that has one.

        Args:
          text: The error's text.
        """
        for name in () if _asked_by(text) else _NODE.findall(text):
            for graph in _traced:
                line = self._of_end(graph, name)
                if line.place:
                    return line
        return Line()

    def of_element(self, error: BaseException) -> Line:
        """The line of a data set's function in which an element failed, or else where it was asked for.

        The name of the node is that of one of the function's nodes. TensorFlow takes it for one of the graph,
        and shows the line that made an operation of that name. What a generator raised has its own lines.
        """
        text = str(error)
        graph = getattr(getattr(error, "op", None), "graph", None)
        asked = _asked_by(text)
        if not asked or graph is None or _RAISED in text:
            return Line()
        name = _NODE.findall(text)[0]
        bodies = [each.signature.name for each in graph.as_graph_def().library.function]
        lines = {self.of_operation(graph, name, body) for body in bodies} - {Line()}
        return lines.pop() if len(lines) == 1 else self.of_operation(graph, asked)

    def _of_end(self, graph: Any, name: str, function: str = "") -> Line:
        """The line of an operation with the longest end of a name."""
        parts = name.split("/")
        ends = ("/".join(parts[start:]) for start in range(len(parts)))
        lines = (self.of_operation(graph, end, function) for end in ends)
        return next((line for line in lines if line.place), Line())

    def _of_origin(self, origin: Any, name: str, function: str) -> Line:
        """The line of what an operation was written from; a body may have another name where it was written."""
        if not function:
            return self._of_end(origin, name)
        bodies = [each.signature.name for each in origin.as_graph_def().library.function]
        bodies.sort(key=lambda body: not function.startswith(body))
        lines = (self._of_end(origin, name, body) for body in bodies)
        return next((line for line in lines if line.place), Line())

    def of_error(self, error: BaseException) -> Line:
        """The newest line of the script in an error's traceback."""
        # AutoGraph raises anew, and tells the frames in the error's text.
        text = _SHOWN.sub("", str(error)) if _asked_by(str(error)) else str(error)
        told = re.findall(r'File "([^"]+)", line (\d+), in (\S+)', text)
        frames = [(each.filename, each.lineno or 0, each.name) for each in _frames_of(error)]
        frames += [(file, int(number), name) for file, number, name in told]
        return self._newest(frames)

    def here(self) -> Line:
        """The line of the script that is being executed."""
        frames = traceback.extract_stack()
        return self._newest([(each.filename, each.lineno or 0, each.name) for each in frames])

    def _newest(self, frames: list[tuple[str, int, str]]) -> Line:
        for file, number, _ in reversed(frames):
            if self.is_own(file):
                cell = _cell(file)
                place = f"{cell}, line {number}" if cell else f"{_short(file)}:{number}"
                return Line(place, linecache.getline(file, number).strip())
        return Line()

    def is_own(self, file: str) -> bool:
        """Whether a file is the script's own."""
        if file not in self._own:
            self._own[file] = bool(_cell(file)) or (
                not file.startswith("<")
                and not os.path.abspath(file).startswith(_OURS)
                and "__autograph_generated_file" not in file
                and os.path.exists(file)  # compiled modules tell of sources that are not here
                and self._scope.owns({"__name__": file, "__file__": file})
            )
        return self._own[file]


def _asked_by(text: str) -> str:
    """What asked for the element of a data set in whose function a node failed; "" for another error."""
    names, asked = _NODE.findall(text), _NEXT.search(text)
    return asked.group(1) if asked and names and names[0] != asked.group(1) else ""


def _frames_of(error: BaseException) -> list[traceback.FrameSummary]:
    return list(traceback.extract_tb(error.__traceback__))


def _cell(file: str) -> str:
    """What a notebook calls the cell that a file stands for, as in "Cell In[3]"; "" for other files."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    named = getattr(getattr(shell, "compile", None), "format_code_name", None)  # IPython 8
    return " ".join(named(file) or ()) if named is not None else ""


def _short(file: str) -> str:
    relative = os.path.relpath(file)
    return file if relative.startswith("..") else relative


def _find(graph: Any, name: str, function: str) -> Any:
    if function:
        graph = private.function_graph(graph, function)
        if graph is None:
            return None
    # A function's nodes are numbered on where an operation's name ends in a digit.
    for candidate in (name, re.sub(r"_\d+\Z", "", name)):
        try:
            return graph.get_operation_by_name(candidate)
        except (KeyError, ValueError):
            continue
    return None
