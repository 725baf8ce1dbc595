"""The functions that hand paths to native code."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from tpucompat.base.late import own_module
from tpucompat.base.machine import environment


class PathFunction(NamedTuple):
    """A function of Python that hands paths to native code.

    Attributes:
      owner: The module or class that callers look it up in.
      name: Its name there.
      positions: Position of each argument that is a path -> "read", "write" or "pattern".
      finds: Whether it returns the paths that it found.
    """

    owner: Any
    name: str
    positions: Mapping[int, str]
    finds: bool = False


# The functions of SWIG (1.13 to 2.1, in pywrap_tensorflow) and pybind11 (2.2 to 2.21, in modules of their own)
# that take paths; the names are mostly the same.
_FILE_FUNCTIONS: Mapping[str, Mapping[int, str]] = {
    "FileExists": {0: "read"},
    "DeleteFile": {0: "read"},
    "ReadFileToString": {0: "read"},
    "WriteStringToFile": {0: "write"},
    "GetChildren": {0: "read"},
    "GetMatchingFiles": {0: "pattern"},
    "CreateDir": {0: "write"},
    "RecursivelyCreateDir": {0: "write"},
    "CopyFile": {0: "read", 1: "write"},
    "RenameFile": {0: "read", 1: "write"},
    "DeleteRecursively": {0: "read"},
    "IsDirectory": {0: "read"},
    "HasAtomicMove": {0: "read"},
    "Stat": {0: "read"},
    "BufferedInputStream": {0: "read"},
    "CreateBufferedInputStream": {0: "read"},
    "WritableFile": {0: "write"},
    "CreateWritableFile": {0: "write"},
}


_RECORD_FUNCTIONS: Mapping[str, Mapping[int, str]] = {
    "RecordIterator": {0: "read"},
    "RandomRecordReader": {0: "read"},
    "PyRecordReader_New": {0: "read"},
    "PyRecordWriter_New": {0: "write"},
}


_PATH_FUNCTIONS: Sequence[tuple[str, Mapping[str, Mapping[int, str]]]] = (
    ("tensorflow.python.lib.io._pywrap_file_io", _FILE_FUNCTIONS),
    ("tensorflow.python.lib.io._pywrap_record_io", _RECORD_FUNCTIONS),
    ("tensorflow.python._pywrap_file_io", _FILE_FUNCTIONS),  # 2.2 to 2.4
    ("tensorflow.python._pywrap_record_io", _RECORD_FUNCTIONS),
    # From 2.2 on a subclass of the native class, so that its constructor is wrapped.
    ("tensorflow.python.lib.io.tf_record:TFRecordWriter", {"__init__": {1: "write"}}),
    (
        "tensorflow.python.summary.writer.event_file_writer:_pywrap_events_writer",
        {"EventsWriter": {0: "write"}},
    ),
    ("tensorflow.python.training.py_checkpoint_reader:CheckpointReader", {"__init__": {1: "read"}}),
    ("tensorflow.python.pywrap_tensorflow_internal:CheckpointReader", {"__init__": {1: "read"}}),
    (
        "tensorflow.python.pywrap_tensorflow",
        {**_FILE_FUNCTIONS, **_RECORD_FUNCTIONS, "EventsWriter": {0: "write"}},
    ),
    (
        "tensorflow.python.saved_model.pywrap_saved_model:fingerprinting",
        {
            "CreateFingerprintDef": {0: "read"},
            "ReadSavedModelFingerprint": {0: "read"},
            "SingleprintFromFP": {0: "read"},
            "SingleprintFromSM": {0: "read"},
        },
    ),
    ("tensorflow.python.saved_model.pywrap_saved_model", {"Save": {0: "read"}}),
    ("tensorflow.python.saved_model.experimental.pywrap_libexport", {"Save": {0: "read"}}),  # 2.6
    (
        "tensorflow.python.profiler.internal._pywrap_profiler:ProfilerSession",
        {"start": {1: "write"}},
    ),
    ("h5py:File", {"__init__": {1: "write"}}),
    ("h5py", {"is_hdf5": {0: "read"}}),
    # Keras 2.13 to 2.15 and tf-keras take remote files by way of a temporary one, and lose some of them.
    ("{keras}.src.saving.saving_api", {"_support_gcs_uri": {0: "write"}}),
    ("{keras}.src.saving.saving_api:SupportReadFromRemote", {"__init__": {1: "read"}}),
    ("{keras}.src.saving.saving_api:SupportWriteToRemote", {"__init__": {1: "write"}}),
)


def path_functions() -> list[PathFunction]:
    """The functions that hand paths to native code, as far as the installed releases have them.

    Seen as listed in 1.13, 1.15, 2.15, 2.16 and 2.21.
    """
    found = []
    keras = "tf_keras" if environment().keras == "tf-keras" else "keras"
    for target, functions in _PATH_FUNCTIONS:
        module, _, attribute = target.format(keras=keras).partition(":")
        try:
            owner = own_module(module)
            owner = getattr(owner, attribute) if attribute else owner
        except (ImportError, AttributeError):
            continue
        for name, positions in functions.items():
            if hasattr(owner, name):
                found.append(PathFunction(owner, name, positions, name == "GetMatchingFiles"))
    return found
