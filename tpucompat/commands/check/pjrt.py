"""Compiles a lowered computation with libtpu, the TPU's compiler, on a machine without TPU.

This file is run as a process of its own: libtpu ends the process that it runs in when something
inside it fails. It reads one request per line from standard input and answers with
one line of JSON each. Nothing but the standard library is imported; libtpu is called through the
PJRT C API (``xla/pjrt/c/pjrt_c_api.h``), whose functions keep their place in the table for good.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from typing import Any, Iterable, Sequence

# The place of a function in the PJRT_Api structure (pjrt_c_api.h of OpenXLA, C API 0.90).
_FUNCTIONS = {
    "PJRT_Error_Destroy": 0,
    "PJRT_Error_Message": 1,
    "PJRT_Plugin_Initialize": 3,
    "PJRT_Executable_Destroy": 40,
    "PJRT_Executable_GetCostAnalysis": 46,
    "PJRT_TopologyDescription_Create": 82,
    "PJRT_Compile": 89,
    "PJRT_Executable_GetCompiledMemoryStats": 96,
}
# What comes before them: the size, the extensions, and the version with both of its own.
_HEADER = 8 + 8 + (8 + 8 + 4 + 4)

#: Of the C API; another one means other structures.
_MAJOR = 0

_MEMORY = [
    "code",
    "arguments",
    "outputs",
    "aliased",
    "temporaries",
    "host_code",
    "host_arguments",
    "host_outputs",
    "host_aliased",
    "host_temporaries",
    "peak",
    "total",
]

#: xla.ExecutionOptions.EffortLevel (xla/xla.proto).
EFFORT = {"quick": 9, "full": 0}

_POINTER, _SIZE, _INT64 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64


class CompilerError(Exception):
    """What libtpu says of a program that it refuses."""


class Libtpu:
    """The compiler.

    Args:
      path: Where ``libtpu.so`` is.
    """

    def __init__(self, path: str) -> None:
        # It asks the cloud's metadata server otherwise, which is not here.
        os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
        os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-4")
        os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
        # It would let one process in at a time, as if it had a TPU.
        os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")
        library = ctypes.CDLL(path)
        library.GetPjrtApi.restype = _POINTER
        self._api: int = library.GetPjrtApi()
        self._size = _SIZE.from_address(self._api).value
        self.version = tuple((ctypes.c_int * 2).from_address(self._api + 32))
        self._topologies: dict[str, Any] = {}
        if self.version[0] != _MAJOR:
            raise CompilerError(
                f"its PJRT version is {self.version[0]}.x; tpucompat supports {_MAJOR}.x"
            )
        self._call("PJRT_Plugin_Initialize", _structure())

    def compile(self, program: bytes, topology: str, replicas: int, effort: str) -> dict[str, Any]:
        """Compiles one program.

        Args:
          program: A serialized ``HloModuleProto``.
          topology: Chips of a TPU as libtpu names them: "v5e:2x4"; "v4:2x2x1/megacore" where
            both cores of a chip are one device.
          replicas: On how many of its cores the program runs.
          effort: A key of :data:`EFFORT`.

        Returns:
          ``memory`` (bytes per core, see :data:`_MEMORY`) and ``flops``, where they are told.

        Raises:
          CompilerError: If the compiler refuses the program.
        """
        code = ctypes.create_string_buffer(program, len(program))
        kind = ctypes.create_string_buffer(b"hlo")
        source = _structure(code=_POINTER, size=_SIZE, kind=_POINTER, kind_size=_SIZE)
        source.code, source.size = ctypes.addressof(code), len(program)
        source.kind, source.kind_size = ctypes.addressof(kind), 3
        options = compile_options(replicas, EFFORT[effort])
        given = ctypes.create_string_buffer(options, len(options))
        request = _structure(
            topology=_POINTER,
            program=_POINTER,
            options=_POINTER,
            options_size=_SIZE,
            client=_POINTER,
            executable=_POINTER,
        )
        request.topology = self._topology(topology)
        request.program = ctypes.addressof(source)
        request.options, request.options_size = ctypes.addressof(given), len(options)
        self._call("PJRT_Compile", request)
        try:
            return {
                "memory": self._memory(request.executable),
                "flops": self._flops(request.executable),
            }
        finally:
            destroyed = _structure(executable=_POINTER)
            destroyed.executable = request.executable
            self._call("PJRT_Executable_Destroy", destroyed)

    def _topology(self, name: str) -> Any:
        if name not in self._topologies:
            text, _, config = name.encode().partition(b"/")
            buffer = ctypes.create_string_buffer(text)
            request = _structure(
                name=_POINTER,
                name_size=_SIZE,
                options=_POINTER,
                num_options=_SIZE,
                topology=_POINTER,
            )
            request.name, request.name_size = ctypes.addressof(buffer), len(text)
            if config:
                key, value = (ctypes.create_string_buffer(t) for t in (b"chip_config_name", config))
                option = _NamedValue()
                option.struct_size, option.kind = ctypes.sizeof(_NamedValue), _STRING
                option.name, option.name_size = ctypes.addressof(key), len(key.value)
                option.value.text, option.value_size = ctypes.addressof(value), len(config)
                request.options, request.num_options = ctypes.addressof(option), 1
            self._call("PJRT_TopologyDescription_Create", request)
            self._topologies[name] = request.topology
        return self._topologies[name]

    def _memory(self, executable: Any) -> dict[str, int]:
        answer = _structure(executable=_POINTER, **dict.fromkeys(_MEMORY, _INT64))
        answer.executable = executable
        self._call("PJRT_Executable_GetCompiledMemoryStats", answer)
        return {name: getattr(answer, name) for name in _MEMORY}

    def _flops(self, executable: Any) -> float | None:
        answer = _structure(executable=_POINTER, count=_SIZE, properties=_POINTER)
        answer.executable = executable
        try:
            self._call("PJRT_Executable_GetCostAnalysis", answer)
        except CompilerError:
            return None
        properties = ctypes.cast(answer.properties, ctypes.POINTER(_NamedValue))
        for index in range(answer.count):
            value = properties[index]
            if ctypes.string_at(value.name, value.name_size) == b"flops" and value.kind == _FLOAT:
                return float(value.value.number)
        return None

    def _function(self, name: str, returns: Any) -> Any:
        place = _HEADER + 8 * _FUNCTIONS[name]
        if place >= self._size:
            raise CompilerError(f"this libtpu is too old: it has no {name}")
        address = _POINTER.from_address(self._api + place).value
        return ctypes.CFUNCTYPE(returns, _POINTER)(address or 0)

    def _call(self, name: str, arguments: Any) -> None:
        error = self._function(name, _POINTER)(ctypes.addressof(arguments))
        if error:
            raise CompilerError(self._message(error))

    def _message(self, error: int) -> str:
        told = _structure(error=_POINTER, message=_POINTER, size=_SIZE)
        told.error = error
        self._function("PJRT_Error_Message", None)(ctypes.addressof(told))
        text = ctypes.string_at(told.message, told.size).decode("utf-8", "replace")
        gone = _structure(error=_POINTER)
        gone.error = error
        self._function("PJRT_Error_Destroy", None)(ctypes.addressof(gone))
        return text


_STRING, _FLOAT = 0, 3  # PJRT_NamedValue_kString, _kFloat


class _Value(ctypes.Union):
    _fields_ = [("number", ctypes.c_float), ("text", _POINTER)]


class _NamedValue(ctypes.Structure):
    _fields_ = [
        ("struct_size", _SIZE),
        ("extensions", _POINTER),
        ("name", _POINTER),
        ("name_size", _SIZE),
        ("kind", ctypes.c_int),
        ("value", _Value),
        ("value_size", _SIZE),
    ]


def _structure(**fields: Any) -> Any:
    """An argument structure of the C API: its size, its extensions, then its own fields."""

    class Structure(ctypes.Structure):
        _fields_ = (("struct_size", _SIZE), ("extensions", _POINTER), *fields.items())

    made = Structure()
    made.struct_size = ctypes.sizeof(Structure)
    return made


# Protocol buffers, written by hand: there is no TensorFlow in this process ----------------------


def compile_options(replicas: int, effort: int = 0) -> bytes:
    """A serialized ``CompileOptionsProto`` (xla/pjrt/proto/compile_options.proto)."""
    devices = b"".join(_field(1, number, keep_zero=True) for number in range(replicas))
    assignment = _field(1, replicas) + _field(2, 1) + _field(3, devices)
    build = _field(1, -1) + _field(4, replicas) + _field(5, 1) + _field(9, assignment)
    build += _field(24, effort)
    return _field(3, build)


def _field(number: int, value: int | bytes, keep_zero: bool = False) -> bytes:
    if isinstance(value, bytes):
        return _varint(number << 3 | 2) + _varint(len(value)) + value
    return _varint(number << 3) + _varint(value % 2**64) if value or keep_zero else b""


def _varint(value: int) -> bytes:
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*result, value])


# The process ------------------------------------------------------------------------------------


def serve(path: str, requests: Iterable[str], answer: Any) -> None:
    """Answers requests.

    Args:
      path: Where ``libtpu.so`` is.
      requests: Lines of JSON: ``program`` (a file), ``topology``, ``replicas``, ``effort``.
      answer: Is called with what to answer.
    """
    try:
        compiler = Libtpu(path)
    except (CompilerError, OSError, AttributeError) as error:
        answer({"fault": f"this libtpu cannot be used: {error}"})
        return
    answer({"api": compiler.version})
    for line in requests:
        wanted = json.loads(line)
        start, used = time.time(), time.process_time()
        with open(wanted["program"], "rb") as stream:
            program = stream.read()
        try:
            result = compiler.compile(
                program, wanted["topology"], wanted["replicas"], wanted["effort"]
            )
        except CompilerError as error:
            result = {"error": str(error)}
        result["seconds"] = round(time.time() - start, 3)
        result["cpu"] = round(time.process_time() - used, 3)
        answer(result)


def main(argv: Sequence[str]) -> int:
    """Serves standard input; what libtpu prints itself goes to standard error."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(value: Any) -> None:
        channel.write(json.dumps(value) + "\n")
        channel.flush()

    serve(argv[0], sys.stdin, answer)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
