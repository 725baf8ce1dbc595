"""Makes remote paths local where TensorFlow is handed them.

TensorFlow has no Python interface for a file system of one's own. But all paths reach its native code through
four ways, for every caller: functions of its extension modules (gfile, event files, checkpoint readers, record
files), operations made in a graph, operations run eagerly, and values fed to a Session. So Estimators,
summaries, datasets, checkpoints and SavedModels are covered without knowing of them; scripts and libraries
go on seeing gs:// everywhere.

A path that is computed inside a graph is mapped by operations put in front of its reader. One that is fed is
mapped when it is fed, and nothing is put into the graph: exported models hold no local folder. File names that
stand in a graph as constants become local there.
"""

from __future__ import annotations

import functools
import os
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from tpucompat.base import journal
from tpucompat.base.late import late
from tpucompat.runtime.paths.mapping import PathMap
from tpucompat.tf import patches, private

# The mapping is put in place before TensorFlow and NumPy are imported.
numpy = late("numpy")
tensorflow = late("tensorflow")

READ, WRITE, PATTERN = "read", "write", "pattern"


class PathOp(NamedTuple):
    """An operation that opens files.

    Attributes:
      inputs: The name of each input (or attribute) that holds paths -> what it does with them.
      finds: Whether its first output are paths that it found.
    """

    inputs: Mapping[str, str]
    finds: bool = False


def _reads(*names: str) -> PathOp:
    return PathOp(dict.fromkeys(names, READ))


def _writes(*names: str) -> PathOp:
    return PathOp(dict.fromkeys(names, WRITE))


#: Every operation of TensorFlow 1.13 to 2.21 that opens the files named in a string input: read off the
#: registered operations' definitions.
OPERATIONS: Mapping[str, PathOp] = {
    "ReadFile": _reads("filename"),
    "WriteFile": _writes("filename"),
    "MatchingFiles": PathOp({"pattern": PATTERN}, finds=True),
    # Checkpoints.
    "Save": _writes("filename"),
    "SaveSlices": _writes("filename"),
    "SaveV2": _writes("prefix"),
    "Restore": _reads("file_pattern"),
    "RestoreSlice": _reads("file_pattern"),
    "RestoreV2": _reads("prefix"),
    "MergeV2Checkpoints": _writes("checkpoint_prefixes", "destination_prefix"),
    "LoadAndRemapMatrix": _reads("ckpt_path"),
    "GenerateVocabRemapping": _reads("new_vocab_file", "old_vocab_file"),
    # Lookup tables.
    "InitializeTableFromTextFile": _reads("filename"),
    "InitializeTableFromTextFileV2": _reads("filename"),
    # Summaries.
    "CreateSummaryFileWriter": _writes("logdir"),
    # Input pipelines.
    "TFRecordDataset": _reads("filenames"),
    "TFRecordDatasetV2": _reads("filenames"),
    "TextLineDataset": _reads("filenames"),
    "FixedLengthRecordDataset": _reads("filenames"),
    "FixedLengthRecordDatasetV2": _reads("filenames"),
    "CSVDataset": _reads("filenames"),
    "CSVDatasetV2": _reads("filenames"),
    "ExperimentalCSVDataset": _reads("filenames"),
    "LMDBDataset": _reads("filenames"),
    "ExperimentalLMDBDataset": _reads("filenames"),
    "MatchingFilesDataset": PathOp({"patterns": PATTERN}),
    "ExperimentalMatchingFilesDataset": PathOp({"patterns": PATTERN}),
    "CacheDataset": _writes("filename"),
    "CacheDatasetV2": _writes("filename"),
    "SnapshotDataset": _writes("path"),
    "SnapshotDatasetV2": _writes("path"),
    "SaveDataset": _writes("path"),
    "SaveDatasetV2": _writes("path"),
    "LoadDataset": _reads("path"),
    "DatasetToTFRecord": _writes("filename"),
    "ExperimentalDatasetToTFRecord": _writes("filename"),
    "RecordInput": PathOp({"file_pattern": PATTERN}),
}

#: Operations whose output is a path where an input is one: what Savers put before their readers.
_HANDED_ON = frozenset(
    (
        "ExpandDims",
        "Fill",
        "Identity",
        "Pack",
        "Reshape",
        "Select",
        "SelectV2",
        "ShardedFilename",
        "ShardedFilespec",
        "StringJoin",
    )
)
_QUEUE_READERS = frozenset(("ReaderRead", "ReaderReadV2", "ReaderReadUpTo", "ReaderReadUpToV2"))
_FED = ("Placeholder", "PlaceholderWithDefault", "PlaceholderV2")

_active: Redirection | None = None


def install(path_map: PathMap) -> None:
    """Puts the mapping in place, for the whole process; imports TensorFlow.

    Makes the folders that do not exist yet, since a bucket is there before the first file in it.
    """
    global _active
    uninstall()
    for remote, local in path_map.folders:
        if not os.path.isdir(local):
            os.makedirs(local)
            journal.notice("TPU441", f"{remote} is {local}, a new empty folder")
    _active = Redirection(path_map)
    since = patches.mark()
    map_paths(_active)
    _active.done = patches.entries(since)


def uninstall() -> None:
    """Takes the mapping away again; graphs made meanwhile keep the paths that they have."""
    global _active
    if _active is not None:
        patches.take_back(_active.done)
        _active = None


def _wrap(owner: Any, name: str, wrapper: Callable[[Any], Any]) -> None:
    original = getattr(owner, name)
    patches.replace(owner, name, functools.wraps(original, updated=())(wrapper(original)))


@patches.patch
def map_paths(redirection: Redirection) -> None:
    """Puts a mapping in place."""
    redirection.install()


class Redirection:
    """A mapping, wherever TensorFlow is handed a path."""

    def __init__(self, path_map: PathMap) -> None:
        self.path_map = path_map
        self._tensor_class = tensorflow.Tensor
        self.done: list[Any] = []  # what is to be taken back

    def install(self) -> None:
        """Wraps the functions that are handed paths."""
        for row in private.path_functions():
            _wrap(row.owner, row.name, functools.partial(self._function, row))
        for owner, name in private.graph_op_functions():
            _wrap(owner, name, self._graph_op)
        for owner, name in private.eager_op_functions():
            _wrap(owner, name, self._eager_op)
        _wrap(*private.session_run_function(), self._session_run)

    # The functions --------------------------------------------------------------------------------

    def _function(self, row: private.PathFunction, original: Any) -> Any:
        """A function of Python that takes paths."""

        def mapped(*args: Any, **kwargs: Any) -> Any:
            given = list(args)
            for position, use in row.positions.items():
                if position < len(given):
                    given[position] = self.mapped(given[position], use)
            result = original(*given, **kwargs)
            if row.finds and given != list(args):
                return [self.path_map.remote(path) for path in result]
            return result

        return mapped

    def _graph_op(self, original: Any) -> Any:
        """``apply_op_helper``, through which every generated function adds its node to a graph.

        It is a function of its module, or a method with ``self`` before the operation's name (1.x).
        """

        def make(*args: Any, **keywords: Any) -> Any:
            kind = next((arg for arg in args if isinstance(arg, str)), "")
            row = OPERATIONS.get(kind)
            if kind in _QUEUE_READERS:
                self._map_queue(keywords["queue_handle"])
            if row is None:
                return original(*args, **keywords)
            for name, use in row.inputs.items():
                if name in keywords:
                    keywords[name] = self.mapped(keywords[name], use)
            made = original(*args, **keywords)
            return self._with_remote_output(made) if row.finds else made

        return make

    def _eager_op(self, original: Any) -> Any:
        """``TFE_Py_FastPathExecute`` and ``execute``, which run an operation at once."""
        sizes = _input_positions()

        def run(*args: Any, **keywords: Any) -> Any:
            where = next((i for i in (0, 1, 2) if i < len(args) and _op_name(args[i])), None)
            if where is None:
                return original(*args, **keywords)
            kind = _op_name(args[where])
            row, positions = OPERATIONS[kind], sizes(kind)
            given = list(args)
            if where == 0:  # execute(op_name, num_outputs, inputs, attrs, ctx, name)
                inputs = list(keywords["inputs"] if "inputs" in keywords else given[2])
                self._map_inputs(inputs, 0, row, positions)
                if "inputs" in keywords:
                    keywords["inputs"] = inputs
                else:
                    given[2] = inputs
            else:  # (context, op, name, *inputs), up to 2.3 (handle, device, op, name, callbacks, *inputs)
                self._map_inputs(given, where + (2 if where == 1 else 3), row, positions)
            result = original(*given, **keywords)
            return self._remote_values(result) if row.finds else result

        return run

    def _session_run(self, original: Any) -> Any:
        """``BaseSession._do_run``, with the fed values in its fourth argument."""

        def run(
            session: Any,
            handle: Any,
            targets: Any,
            fetches: Any,
            feeds: Mapping[Any, Any],
            *rest: Any,
        ) -> Any:
            mapped = {}
            for key, value in feeds.items():
                if getattr(value, "dtype", None) is not None and value.dtype.kind in "OSU":
                    uses = _uses(key.deref() if hasattr(key, "deref") else key)
                    use = next((use for use in (WRITE, PATTERN, READ) if use in uses), None)
                    if use is not None:
                        mapped[key] = self._values(value, use)
            if all(value is feeds[key] for key, value in mapped.items()):
                return original(session, handle, targets, fetches, feeds, *rest)
            results = original(session, handle, targets, fetches, {**feeds, **mapped}, *rest)
            # A Saver hands on the path that it has saved to, and writes it down in its folder.
            return [self._remote_result(result) for result in results]

        return run

    # Values ---------------------------------------------------------------------------------------

    def mapped(self, value: Any, use: str) -> Any:
        """Paths of any kind with the remote ones made local: text, lists, arrays, tensors."""
        if isinstance(value, (str, bytes, os.PathLike)):
            return self._path(value, use)
        if isinstance(value, (list, tuple)):
            return type(value)(self.mapped(part, use) for part in value)
        if isinstance(value, self._tensor_class):
            return self._tensor(value, use)
        if getattr(value, "dtype", None) is not None and hasattr(value, "tolist"):
            return self._values(value, use)
        return value

    def _path(self, path: Any, use: str) -> Any:
        local = self.path_map.local(path, use == PATTERN)
        if use == WRITE and self.path_map.holds(path):
            # A bucket has no folders: what is written there needs none before it.
            os.makedirs(os.path.dirname(os.fsdecode(local)), exist_ok=True)
        return local

    def _values(self, array: Any, use: str) -> Any:
        """The same for a NumPy array or scalar of strings."""
        old = array.tolist()
        new = _each(old, lambda path: self._path(path, use))
        return array if new == old else numpy.array(new, dtype=object)

    def _tensor(self, tensor: Any, use: str) -> Any:
        if hasattr(tensor, "numpy"):  # an eager one
            values = tensor.numpy()
            if isinstance(values, bytes):
                local = self._path(values, use)
                changed = local != values
            else:
                local = self._values(values, use)
                changed = local is not values
            return tensorflow.constant(local) if changed else tensor
        known = _constant(tensor)
        if known is not None:
            local = self._values(known, use)
            return tensor if local is known else tensorflow.constant(local, tensorflow.string)
        if self._is_fed(tensor):
            return tensor
        for pattern, replacement in self.path_map.to_local():
            tensor = tensorflow.compat.v1.strings.regex_replace(
                tensor, pattern, replacement, replace_global=False
            )
        return tensor

    def _map_queue(self, handle: Any) -> None:
        """What is put into the queue of file names that a reader of TensorFlow 1 takes its own from."""
        for operation in handle.consumers():
            if operation.type.startswith("QueueEnqueue"):
                for at, part in enumerate(operation.inputs):
                    if part.dtype.name == "string":
                        local = self._tensor(part, READ)
                        if local is not part:
                            private.replace_input(operation, at, local)

    def _is_fed(self, tensor: Any) -> bool:
        """Whether a path comes from placeholders alone, so that it is mapped when it is fed."""
        if getattr(tensor.graph, "building_function", False):
            return False
        waiting = [tensor]
        seen: set[str] = set()
        while waiting:
            part = waiting.pop()
            if part.name in seen or part.dtype.name != "string":
                continue
            seen.add(part.name)
            kind = part.op.type
            if kind == "Const":
                values = _flat(_constant(part).tolist())
                if any(self.path_map.holds(value) for value in values):
                    return False
            elif kind in _FED:
                waiting.extend(part.op.inputs)  # the default
            elif kind in _HANDED_ON:
                waiting.extend(part.op.inputs)
            else:
                return False
        return True

    def _with_remote_output(self, made: Any) -> Any:
        """What ``apply_op_helper`` returned, with the names that were found made remote.

        That is the operation (1.x), or a tuple with the operation and its outputs at the end.
        """
        found = made[-1] if isinstance(made, tuple) else None
        output = found[0] if isinstance(found, list) else (found or made).outputs[0]
        for pattern, replacement in self.path_map.to_remote():
            output = tensorflow.compat.v1.strings.regex_replace(
                output, pattern, replacement, replace_global=False
            )
        if isinstance(found, list):
            return (*made[:-2], output.op, [output])
        return (*made[:-1], output.op) if found is not None else output.op

    def _remote_values(self, result: Any) -> Any:
        if isinstance(result, list):
            return [self._remote_values(part) for part in result]
        return tensorflow.constant(
            [self.path_map.remote(path) for path in result.numpy().tolist()], tensorflow.string
        )

    def _remote_result(self, result: Any) -> Any:
        if isinstance(result, bytes):
            return self.path_map.remote(result)
        if getattr(getattr(result, "dtype", None), "kind", "") in tuple("OSU"):
            return numpy.array(_each(result.tolist(), self.path_map.remote), dtype=object)
        return result

    def _map_inputs(
        self, given: list[Any], first: int, row: PathOp, positions: Mapping[str, int]
    ) -> None:
        for name, use in row.inputs.items():
            at = first + positions.get(name, len(given))
            if at < len(given):
                given[at] = self.mapped(given[at], use)


def _op_name(value: Any) -> str:
    """The name of an operation of the table, or ""."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return value if isinstance(value, str) and value in OPERATIONS else ""


def _input_positions() -> Callable[[str], dict[str, int]]:
    @functools.lru_cache(maxsize=None)
    def positions(kind: str) -> dict[str, int]:
        definition = private.op_def(kind)
        return {argument.name: at for at, argument in enumerate(definition.input_arg)}

    return positions


def _uses(tensor: Any) -> set[str]:
    """What a graph does with the path in a tensor: nothing, reading, writing, matching."""
    uses: set[str] = set()
    waiting = [tensor]
    seen: set[str] = set()
    while waiting:
        part = waiting.pop()
        if part.name in seen or part.dtype.name != "string":
            continue
        seen.add(part.name)
        for operation in part.consumers():
            row = OPERATIONS.get(operation.type)
            if row is not None:
                uses.update(_uses_of(operation, part, row))
            elif operation.type in _HANDED_ON or operation.type == "PlaceholderWithDefault":
                waiting.extend(operation.outputs)
    return uses


def _uses_of(operation: Any, tensor: Any, row: PathOp) -> Iterable[str]:
    definition: Sequence[Any] = private.op_def(operation.type).input_arg
    at = 0
    for argument in definition:
        size = operation.get_attr(argument.number_attr) if argument.number_attr else 1
        if argument.type_list_attr:
            size = len(operation.get_attr(argument.type_list_attr))
        if argument.name in row.inputs and any(
            part is tensor or part.name == tensor.name for part in operation.inputs[at : at + size]
        ):
            yield row.inputs[argument.name]
        at += size


def _constant(tensor: Any) -> Any:
    """The value of a constant of a graph, or None.

    TensorFlow's own function for this forbids to feed the tensor from then on, and Keras feeds a constant to
    its Savers.
    """
    if tensor.op.type != "Const":
        return None
    return tensorflow.make_ndarray(tensor.op.get_attr("value"))


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    return [_each(part, change) for part in value] if isinstance(value, list) else change(value)


def _flat(value: Any) -> Iterable[Any]:
    if isinstance(value, list):
        for part in value:
            yield from _flat(part)
    else:
        yield value
