"""Sessions that were only made to set something: ``K.set_session(tf.Session(config=config))``.

Today's Keras has no Session. What its ConfigProto said of devices, memory and threads is said to TensorFlow,
and a Session that initializes the variables of Keras has nothing to do. Any other use of the Session, and any
setting that is not in the table, and the file goes the way that it would have gone.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.commands.migrate.context import Context
from tpucompat.names.used import constant, walk

_GROWTH = (
    "for gpu in {tf}.config.list_physical_devices('GPU'):\n"
    "{i}{tf}.config.experimental.set_memory_growth(gpu, True)"
)
#: Field of ConfigProto -> what says it today; {value} is the value. "" where nothing has to be said.
_SETTINGS = {
    "gpu_options.allow_growth": _GROWTH,
    "gpu_options.per_process_gpu_memory_fraction": _GROWTH,  # a share of the memory is no setting any more
    "intra_op_parallelism_threads": "{tf}.config.threading.set_intra_op_parallelism_threads({value})",
    "inter_op_parallelism_threads": "{tf}.config.threading.set_inter_op_parallelism_threads({value})",
    "allow_soft_placement": "{tf}.config.set_soft_device_placement({value})",
    "log_device_placement": "{tf}.debugging.set_log_device_placement({value})",
    "gpu_options.force_gpu_compatible": "",
}
_SESSIONS = frozenset(("tensorflow.Session", "tensorflow.InteractiveSession"))
_INITIALIZERS = frozenset(
    f"tensorflow.{name}"
    for name in (
        *("global_variables_initializer", "initialize_all_variables"),
        *("local_variables_initializer", "tables_initializer"),
    )
)


class Plan(NamedTuple):
    """Statements that go, and what is said in their place.

    Attributes:
      statements: (statement, cell, the lines that take its place).
      nodes: The identities of all that stands in them.
    """

    statements: list[tuple[Any, int, list[str]]]
    nodes: frozenset[int]


_NOTHING = Plan([], frozenset())


class _CannotSee(Exception):
    """Something else is done with a Session or a ConfigProto."""


def plan(context: Context) -> Plan:
    """The settings of a file, where all of its Sessions only set something."""
    calls = {id(call.node): call.name for call in context.names.calls}
    if not any(
        name in _SESSIONS or below_keras(name) in ("backend.get_session", "backend.set_session")
        for name in calls.values()
    ):
        return _NOTHING
    try:
        statements = _Reader(context, calls).read()
    except _CannotSee:
        return _NOTHING
    nodes = frozenset(id(node) for one, _, _ in statements for node in walk(one))
    return Plan(statements, nodes)


def rewrite(context: Context, found: Plan) -> None:
    """Puts the settings in the place of the Sessions."""
    said: set[str] = set()
    for statement, cell, lines in found.statements:
        text = context.texts[cell]
        fresh = [line for line in lines if line not in said]
        said.update(fresh)
        context.done.update(id(node) for node in walk(statement))
        if not fresh:
            context.remove(statement, cell)
            continue
        tf = context.local("tf.nest").rpartition(".")[0]
        indent = text.indent(statement.lineno)
        words = [
            part
            for line in fresh
            for part in line.format(tf=tf, i=context.indent_unit()).split("\n")
        ]
        context.replace(statement, cell, (text.newline + indent).join(words))


class _Reader:
    def __init__(self, context: Context, calls: dict[int, str]) -> None:
        self.context = context
        self.calls = calls
        self.sessions: set[str] = set()
        self.configs: set[str] = set()

    def read(self) -> list[tuple[Any, int, list[str]]]:
        """The statements that set something; everything that uses a Session has to be among them."""
        statements = [
            (node, cell)
            for cell, tree in self.context.trees.items()
            for node in walk(tree)
            if isinstance(node, (ast.Assign, ast.Expr))
            and self.context.texts[cell].owns_lines(node)
        ]
        for node, _ in statements:
            if isinstance(node, ast.Assign):
                self._name(node)
        found = []
        for node, cell in statements:
            lines = self._lines(node, cell)
            if lines is not None:
                found.append((node, cell, lines))
        self._check([node for node, _, _ in found])
        return found

    def _called(self, node: ast.AST) -> str:
        return self.calls.get(id(node), "") if isinstance(node, ast.Call) else ""

    def _name(self, node: ast.Assign) -> None:
        name = self._called(node.value)
        names = self.sessions if self._is_session(node.value) else self.configs
        if self._is_session(node.value) or name == "tensorflow.ConfigProto":
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))

    def _is_session(self, node: ast.AST) -> bool:
        name = self._called(node)
        return name in _SESSIONS or below_keras(name) == "backend.get_session"

    def _lines(self, node: Any, cell: int) -> list[str] | None:
        """What is said in the place of a statement; None where it has nothing to do with Sessions."""
        if isinstance(node, ast.Assign):
            if self._is_session(node.value):
                return self._session(node.value, cell)
            if self._called(node.value) == "tensorflow.ConfigProto":
                return self._config(node.value, cell)
            target = key(node.targets[0])
            head, _, field = target.partition(".")
            if len(node.targets) == 1 and field and head in self.configs:
                return self._setting(field, node.value, cell)
            return None
        call = node.value
        if below_keras(self._called(call)) == "backend.set_session":
            given = call.args[0] if len(call.args) == 1 and not call.keywords else None
            if given is not None and self._is_session(given):
                return self._session(given, cell)
            if given is None or key(given) not in self.sessions:
                raise _CannotSee
            return []
        return [] if self._initializes(call) else None

    def _initializes(self, call: ast.AST) -> bool:
        """``session.run(tf.global_variables_initializer())``, of a Session of Keras."""
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return False
        owner = call.func.value
        if not self._is_session(owner) and key(owner) not in self.sessions:
            return False
        given = call.args[0] if len(call.args) == 1 and not call.keywords else None
        several = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given]
        return call.func.attr == "run" and all(
            one is not None and self._called(one) in _INITIALIZERS for one in several
        )

    def _session(self, call: Any, cell: int) -> list[str]:
        lines: list[str] = []
        if call.args:
            raise _CannotSee  # of some machine
        for word in call.keywords:
            if word.arg != "config":
                raise _CannotSee
            if self._called(word.value) == "tensorflow.ConfigProto":
                lines += self._config(word.value, cell)
            elif key(word.value) not in self.configs:
                raise _CannotSee
        return lines

    def _config(self, call: Any, cell: int, above: str = "") -> list[str]:
        lines: list[str] = []
        if call.args:
            raise _CannotSee
        for word in call.keywords:
            value = word.value
            if isinstance(value, ast.Name):
                made = self.context.names.functions.get(value.id)
                if made is not None:
                    raise _CannotSee
            if self._called(value) == "tensorflow.GPUOptions":
                lines += self._config(value, cell, "gpu_options.")
            else:
                lines += self._setting(above + (word.arg or "?"), value, cell)
        return lines

    def _setting(self, field: str, value: ast.AST, cell: int) -> list[str]:
        if field == "device_count":
            counts = {
                constant(one): constant(count)
                for one, count in zip(getattr(value, "keys", ()), getattr(value, "values", ()))
            }
            if counts.get("GPU") == 0 and set(counts) <= {"GPU", "CPU"}:
                return ["{tf}.config.set_visible_devices([], 'GPU')"]
            if set(counts) == {"CPU"}:
                return []
        if field not in _SETTINGS:
            raise _CannotSee
        if _SETTINGS[field] == _GROWTH and constant(value) is False:
            return []
        text = self.context.texts[cell].source(value).replace("{", "{{").replace("}", "}}")
        said = _SETTINGS[field].replace("{value}", text)
        return [said] if said else []

    def _check(self, statements: list[ast.AST]) -> None:
        """Nothing outside of the statements may use a Session or a ConfigProto."""
        inside = {id(node) for one in statements for node in walk(one)}
        for tree in self.context.trees.values():
            for node in walk(tree):
                if id(node) in inside:
                    continue
                name = self._called(node)
                if self._is_session(node) or name in (
                    *("tensorflow.ConfigProto", "tensorflow.GPUOptions"),
                ):
                    raise _CannotSee
                loaded = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
                if loaded and node.id in self.sessions | self.configs:  # type: ignore[attr-defined]
                    raise _CannotSee
