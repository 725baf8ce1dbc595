"""Modules that the protocol buffers' compiler wrote up to 3.18 (``*_pb2.py``), for today's protobuf.

They built each descriptor by a call of its class, which protobuf 4 refuses ("Descriptors cannot be created
directly"). All that those calls say stands in the serialized file that the module holds as well; protobuf's
own builder makes the same names out of it.
"""

from __future__ import annotations

import ast

_BUILT = """
from google.protobuf import descriptor_pool as _descriptor_pool
from google.protobuf.internal import builder as _builder
DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(_serialized)
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, globals())
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, __name__, globals())
"""


def mentioned(text: str) -> bool:
    """Whether the text can be such a module; :func:`rewritten` knows."""
    return "serialized_pb=" in text and "FileDescriptor(" in text


def rewritten(tree: ast.Module) -> bool:
    """Lets protobuf's builder make what the module made by hand; tells whether it is such a module.

    What it imports of others' messages, and the classes and functions that plugins of the compiler have added,
    stay.

    Args:
      tree: A module; changed in place.
    """
    at, serialized = _file_descriptor(tree)
    if serialized is None:
        return False
    body: list[ast.stmt] = []
    for place, statement in enumerate(tree.body):
        if place == at:
            built = ast.parse(_BUILT).body
            assert isinstance(built[2], ast.Assign) and isinstance(built[2].value, ast.Call)
            built[2].value.args = [serialized]
            for new in built:
                ast.increment_lineno(new, statement.lineno - 1)
            body += built
        elif _stays(statement):
            body.append(statement)
    tree.body = body
    ast.fix_missing_locations(tree)
    return True


def _file_descriptor(tree: ast.Module) -> tuple[int, ast.expr | None]:
    """Where ``DESCRIPTOR = _descriptor.FileDescriptor(...)`` stands, and its serialized file."""
    for at, statement in enumerate(tree.body):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        target, function = statement.targets[0], statement.value.func
        if not (isinstance(target, ast.Name) and target.id == "DESCRIPTOR"):
            continue
        if isinstance(function, ast.Attribute) and function.attr == "FileDescriptor":
            for keyword in statement.value.keywords:
                if keyword.arg == "serialized_pb":
                    return at, keyword.value
    return -1, None


def _stays(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom):
        # Of protobuf itself only messages: reflection and service are modules that come and go.
        own = (statement.module or "").startswith("google.protobuf")
        return not own or any(name.name.endswith("_pb2") for name in statement.names)
    if isinstance(statement, ast.Assign):  # _b, which makes bytes of the serialized file
        target = statement.targets[0]
        return isinstance(target, ast.Name) and target.id == "_b"
    return not isinstance(statement, ast.Expr)
