"""Which old names a module uses, through whatever it calls them.

One walk over the tree. A scope maps a Python name to the dotted name that it stands for: what was imported
under any alias, what was taken ``from`` a module, what was assigned from such a name. Bodies of functions are
looked at after the module around them, as they run after it. Names that stand for nothing known are not
followed.
"""

from __future__ import annotations

import ast
import sys
from typing import Any, Callable, NamedTuple

from tpucompat.names import symbols

#: Packages whose names are followed, beside those that the tables of removed names are about.
FOLLOWED = frozenset(("tensorflow", "keras", "tensorflow_estimator", "tensorflow_core"))

#: Attributes behind each other that are a name; generated code may have thousands.
_LONGEST = 64
#: A function that a module has under another name than its package.
_SUPPORT = "tensorflow.contrib.tpu.python.tpu.keras_support."
_SAME = {_SUPPORT + "tpu_model": _SUPPORT + "keras_to_tpu_model"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_GUARDING = frozenset(
    ("ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException")
)
_VERSION_WORDS = frozenset(("__version__", "VERSION", "version_info", "LooseVersion", "hasattr"))


_OF_V1 = "tensorflow.compat.v1.contrib"


def _kind(full: str) -> str | None:
    return symbols.kind(full[11:] if full[:11] == "tensorflow." else full)


def _below_root(name: str) -> str:
    """``tf.compat.v1.contrib``, which some programs write, was ``tf.contrib``."""
    return name.replace(_OF_V1, "tensorflow.contrib", 1) if name.startswith(_OF_V1) else name


class Use(NamedTuple):
    """A place where a name of a followed package stands.

    Attributes:
      name: The dotted name it stands for: ``tensorflow.contrib.tpu.shard``.
      node: The expression, or the alias of an import.
      statement: The import statement; None for an expression.
      guarded: Whether the program is written to go on without it.
      function: The function around it, or None.
      parent: The call that the expression is the function of, or None.
      base: What the Python name in it stands for: ``tensorflow.contrib.tpu`` of ``contrib_tpu.shard``.
    """

    name: str
    node: ast.AST
    statement: ast.AST | None
    guarded: bool
    function: Function | None
    parent: ast.Call | None
    base: str


class Function:
    """A function of the module, with what is called in it."""

    def __init__(self, node: Any, outer: Function | None) -> None:
        self.node = node
        self.outer = outer
        #: Names of the module's own functions that are used in it.
        self.names: set[str] = set()


class Call(NamedTuple):
    """A call whose function has a dotted name; or a method call by its last name, ``.fit``."""

    name: str
    node: ast.Call
    function: Function | None
    guarded: bool


class _Binding(NamedTuple):
    name: str
    guarded: bool
    base: str = ""


class _Scope:
    def __init__(self, outer: _Scope | None, function: Function | None) -> None:
        self.outer = outer
        self.function = function
        self.names: dict[str, _Binding | None] = {}
        #: Names of modules that are not followed -> the module.
        self.modules: dict[str, str] = {}


class Names:
    """What one unit, or the cells of a notebook in turn, use.

    Args:
      roots: First parts of the dotted names that are followed.
    """

    def __init__(self, roots: frozenset[str] = FOLLOWED) -> None:
        self.roots = roots
        self.uses: list[Use] = []
        self.calls: list[Call] = []
        #: All imports, those of packages that are not followed too.
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self.functions: dict[str, Function] = {}
        self.strings: list[tuple[ast.AST, str, Function | None, bool]] = []
        #: Module-level names -> the values that they are assigned, where it is one plain assignment.
        self.constants: dict[str, ast.AST] = {}
        #: Names of the module that stand for one thing here, and for another one further on.
        self._rebound: set[str] = set()
        self._module = _Scope(None, None)
        #: Modules of 1.15's that all names were imported of, as keys: in their order.
        self._stars: dict[str, None] = {}
        self._scope = self._module
        self._guards = 0
        self._branches = 0
        self._deferred: list[tuple[Callable[[], None], _Scope, int]] = []
        #: All nodes of the trees, once something asks for them.
        self.nodes: list[ast.AST] = []

    # The walk ----------------------------------------------------------------------------------

    def add(self, tree: ast.Module) -> None:
        """Looks at a module, or at the next cell of a notebook."""
        for statement in tree.body:
            self._visit(statement)
        while self._deferred:
            body, self._scope, self._guards = self._deferred.pop(0)
            body()
        self._scope, self._guards = self._module, 0

    def bound(self) -> dict[str, str]:
        """The names of the module itself, and what they stand for all along; "" for what is not followed."""
        return {
            name: found.name if found and name not in self._rebound else ""
            for name, found in self._module.names.items()
        }

    def _visit(self, node: ast.AST) -> None:
        visitor = _VISITORS.get(node.__class__)
        if visitor is not None:
            visitor(self, node)

    def _children(self, node: ast.AST) -> None:
        visitors = _VISITORS
        inside = node.__dict__
        for field in _CHILDREN[node.__class__]:
            value = inside.get(field)
            if value.__class__ is list:
                for item in value:
                    visitor = visitors.get(item.__class__)
                    if visitor is not None:
                        visitor(self, item)
            elif value is not None:
                visitor = visitors.get(value.__class__)
                if visitor is not None:
                    visitor(self, value)

    # What a name stands for ----------------------------------------------------------------------

    def resolve(self, node: ast.AST) -> str | None:
        """The dotted name that an expression stands for here, or None."""
        binding = self._binding(node)
        return binding.name if binding else None

    def _binding(self, node: ast.AST) -> _Binding | None:
        attributes: list[str] = []
        while node.__class__ is ast.Attribute:
            attributes.append(node.attr)
            node = node.value
        if node.__class__ is ast.Name:
            found = self._look_up(node.id)
        elif node.__class__ is ast.Call:
            found = self._called(node)
        elif node.__class__ is ast.IfExp:
            found = self._binding(node.body) or self._binding(node.orelse)
        else:
            return None
        if found is None or not attributes:
            return found
        if found.name.count(".") + len(attributes) > _LONGEST:
            return None
        name = ".".join([found.name, *reversed(attributes)])
        return _Binding(_SAME.get(name, name), found.guarded, found.base or found.name)

    def _look_up(self, name: str) -> _Binding | None:
        scope: _Scope | None = self._scope
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        for module in self._stars:
            full = f"{module}.{name}"
            if _kind(full) is not None:
                return _Binding(full, False, module)
        return None

    def _module_of(self, function: ast.Attribute) -> str:
        """The module that a function such as ``re.compile`` belongs to, or ""."""
        owner = function.value
        scope: _Scope | None = self._scope if isinstance(owner, ast.Name) else None
        while scope is not None and isinstance(owner, ast.Name):
            if owner.id in scope.names:
                return scope.modules.get(owner.id, "")
            scope = scope.outer
        return ""

    def _called(self, node: ast.Call) -> _Binding | None:
        """``getattr(module, "name")`` and ``importlib.import_module("name")``."""
        function = node.func
        if isinstance(function, ast.Name) and function.id == "getattr" and len(node.args) >= 2:
            name = constant(node.args[1])
            base = self._binding(node.args[0])
            if base and isinstance(name, str):
                return _Binding(
                    f"{base.name}.{name}", base.guarded or len(node.args) > 2, base.name
                )
        last = function.attr if isinstance(function, ast.Attribute) else ""
        last = function.id if isinstance(function, ast.Name) else last
        if last == "partial" and len(node.args) == 1:
            base = self._binding(node.args[0])
            return base if base and base.name.endswith(".keras_to_tpu_model") else None
        if last in ("import_module", "__import__") and node.args:
            name = constant(node.args[0])
            if isinstance(name, str) and name.partition(".")[0] in self.roots:
                return _Binding(name if last == "import_module" else name.partition(".")[0], False)
        return None

    def _bind(self, name: str, binding: _Binding | None) -> None:
        if binding is not None and binding.base:
            binding = _Binding(binding.name, binding.guarded)
        names = self._scope.names
        self._scope.modules.pop(name, None)
        if self._branches and name in names and names[name] is not None:
            before = names[name]
            # The other branch of a try or an if: the first that is known holds, and is a matter of versions.
            if before is not None and (binding is None or binding.name != before.name):
                names[name] = _Binding(before.name, before.guarded or binding is not None)
            return
        before = names.get(name) if names is self._module.names else None
        if before is not None and binding is not None and before.name != binding.name:
            self._rebound.add(name)
        names[name] = binding

    def _use(
        self,
        name: str,
        node: ast.AST,
        guarded: bool = False,
        statement: ast.AST | None = None,
        parent: ast.Call | None = None,
        base: str = "",
    ) -> None:
        guarded = guarded or self._guards > 0
        name, base = _below_root(name), _below_root(base)
        self.uses.append(Use(name, node, statement, guarded, self._scope.function, parent, base))

    # Imports -------------------------------------------------------------------------------------

    def _import(self, node: ast.Import) -> None:
        self.imports.append(node)
        for alias in node.names:
            head = alias.name.partition(".")[0]
            target = alias.name if alias.asname else head
            if head not in self.roots:
                self._bind(alias.asname or head, None)
                self._scope.modules[alias.asname or head] = target
                continue
            self._use(alias.name, alias, statement=node)
            self._bind(alias.asname or head, _Binding(target, False))

    def _import_from(self, node: ast.ImportFrom) -> None:
        self.imports.append(node)
        module = node.module or ""
        if node.level or module.partition(".")[0] not in self.roots:
            for alias in node.names:
                self._bind(alias.asname or alias.name, None)
            return
        for alias in node.names:
            full = module if alias.name == "*" else f"{module}.{alias.name}"
            full = _SAME.get(full, full)
            self._use(full, alias, statement=node)
            if alias.name != "*":
                self._bind(alias.asname or alias.name, _Binding(full, False))
            elif full == "tensorflow" or _kind(full) is not None:
                self._stars[full] = None

    # Expressions ---------------------------------------------------------------------------------

    def _expression(self, node: ast.Attribute) -> None:
        binding = self._binding(node)
        if binding is None:
            base: ast.AST = node
            while (
                base.__class__ is ast.Attribute
            ):  # all at once: none of what is between has a name
                base = base.value
            self._visit(base)
        elif node.ctx.__class__ is ast.Load:
            self._use(binding.name, node, binding.guarded, base=binding.base or binding.name)

    def _name(self, node: ast.Name) -> None:
        if node.ctx.__class__ is not ast.Load:
            self._bind(node.id, None)
            return
        binding = self._look_up(node.id)
        if binding is not None:
            self._use(binding.name, node, binding.guarded, base=binding.base or binding.name)
        elif self._scope.function is not None:
            self._scope.function.names.add(node.id)

    def _constant(self, node: Any) -> None:
        value = node.value if hasattr(node, "value") else node.s
        if value.__class__ is str and "COLAB_TPU_ADDR" in value and len(value) < 40:
            self.strings.append((node, value, self._scope.function, self._guards > 0))

    def _call(self, node: ast.Call) -> None:
        function = node.func
        binding = self._binding(function)
        if binding is not None:
            guarded = binding.guarded or self._guards > 0
            self.calls.append(Call(_below_root(binding.name), node, self._scope.function, guarded))
            base = binding.base or binding.name
            self._use(binding.name, function, binding.guarded, parent=node, base=base)
        else:
            if isinstance(function, ast.Attribute):
                name = f"{self._module_of(function)}.{function.attr}"
                self.calls.append(Call(name, node, self._scope.function, self._guards > 0))
            elif isinstance(function, ast.Name):
                self.calls.append(Call(function.id, node, self._scope.function, self._guards > 0))
                looked_up = self._called(node)
                if looked_up is not None:
                    self._use(looked_up.name, node, looked_up.guarded, base=looked_up.base)
                    return
            self._visit(function)
        for argument in node.args:
            self._visit(argument)
        for keyword in node.keywords:
            self._visit(keyword.value)

    # Statements ----------------------------------------------------------------------------------

    def _assign(self, node: ast.Assign) -> None:
        self._visit(node.value)
        binding = self._binding(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._bind(target.id, binding)
                if self._scope is self._module:
                    self.constants[target.id] = node.value
            else:
                self._visit(target)

    def _annotated(self, node: ast.AnnAssign) -> None:
        self._visit(node.annotation)
        if node.value is not None:
            self._visit(node.value)
        if isinstance(node.target, ast.Name):
            self._bind(node.target.id, self._binding(node.value) if node.value else None)
        else:
            self._visit(node.target)

    def _function(self, node: Any) -> None:
        for decorator in node.decorator_list:
            self._visit(decorator)
        arguments = node.args
        for default in [*arguments.defaults, *filter(None, arguments.kw_defaults)]:
            self._visit(default)
        if node.returns is not None:
            self._visit(node.returns)
        self._bind(node.name, None)
        function = Function(node, self._scope.function)
        self.functions[node.name] = function
        if self._scope.function is not None:
            self._scope.function.names.add(node.name)
        self._defer(node.body, arguments, function)

    def _lambda(self, node: ast.Lambda) -> None:
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self._visit(default)
        self._defer([node.body], node.args, self._scope.function)

    def _defer(self, body: list[Any], arguments: ast.arguments, function: Any) -> None:
        scope = _Scope(self._scope, function)
        for argument in [
            *getattr(arguments, "posonlyargs", []),
            *arguments.args,
            *arguments.kwonlyargs,
            *filter(None, (arguments.vararg, arguments.kwarg)),
        ]:
            scope.names[argument.arg] = None
            if argument.annotation is not None:
                self._visit(argument.annotation)

        def visit() -> None:
            for statement in body:
                self._visit(statement)

        self._deferred.append((visit, scope, self._guards))

    def _class(self, node: ast.ClassDef) -> None:
        for part in [*node.decorator_list, *node.bases, *node.keywords]:
            self._visit(part)
        self._bind(node.name, None)
        outer, self._scope = self._scope, _Scope(self._scope, self._scope.function)
        for statement in node.body:
            self._visit(statement)
        self._scope = outer

    def _handler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self._visit(node.type)
        for statement in node.body:
            self._visit(statement)

    def _try(self, node: ast.Try) -> None:
        guards = any(is_guarding(handler) for handler in node.handlers)
        self._branches += 1
        # Only a body that is there to be tried: a whole program inside of `try` is none.
        small = guards and _lines(node.body) <= 12
        self._guards += small
        for statement in node.body:
            self._visit(statement)
        self._guards -= small
        # What stands in the handler is the other way, for another release.
        self._guards += small
        for handler in node.handlers:
            self._handler(handler)
        self._guards -= small
        for statement in [*node.orelse, *node.finalbody]:
            self._visit(statement)
        self._branches -= 1

    def _if(self, node: ast.If) -> None:
        self._visit(node.test)
        guards = _asks_for_version(node.test)
        self._branches += 1
        self._guards += guards
        for statement in [*node.body, *node.orelse]:
            self._visit(statement)
        self._guards -= guards
        self._branches -= 1

    def _if_expression(self, node: ast.IfExp) -> None:
        self._visit(node.test)
        guards = _asks_for_version(node.test)
        self._guards += guards
        for branch in (node.body, node.orelse):
            self._visit(branch)
        self._guards -= guards


#: Fields of nodes that never hold other nodes, or none that matter.
_PLAIN = frozenset(
    (
        *(
            "id",
            "attr",
            "arg",
            "name",
            "asname",
            "module",
            "level",
            "ctx",
            "op",
            "ops",
            "kind",
            "tag",
        ),
        *(
            "type_comment",
            "conversion",
            "is_async",
            "simple",
            "lineno",
            "rest",
            "kwd_attrs",
            "n",
            "s",
        ),
    )
)
#: Class of nodes -> the fields of its children.
_CHILDREN: dict[type, tuple[str, ...]] = {
    node: tuple(field for field in node._fields if field not in _PLAIN)
    for node in vars(ast).values()
    if isinstance(node, type) and issubclass(node, ast.AST)
}


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below one, without operators and contexts."""
    found: list[Any] = []
    inside = node.__dict__
    for field in _CHILDREN[node.__class__]:
        value = inside.get(field)
        if value.__class__ is list:
            found += [item for item in value if item.__class__ in _CHILDREN]
        elif value.__class__ in _CHILDREN:
            found.append(value)
    return found


def walk(tree: ast.AST) -> list[ast.AST]:
    """The nodes of a tree in the order of ``ast.walk``, in less than half of its time."""
    found = [tree]
    for node in found:  # which grows
        found += children(node)
    return found


#: What looks at the nodes of a class; those that are not here have no children. One table for all modules, so
#: that no module's walk is kept alive by it.
_VISITORS: dict[type, Callable[[Names, Any], None]] = {
    **{node: Names._children for node, fields in _CHILDREN.items() if fields},
    ast.Import: Names._import,
    ast.ImportFrom: Names._import_from,
    ast.Attribute: Names._expression,
    ast.Name: Names._name,
    ast.Call: Names._call,
    ast.Assign: Names._assign,
    ast.AnnAssign: Names._annotated,
    ast.FunctionDef: Names._function,
    ast.AsyncFunctionDef: Names._function,
    ast.Lambda: Names._lambda,
    ast.ClassDef: Names._class,
    ast.Try: Names._try,
    ast.If: Names._if,
    ast.IfExp: Names._if_expression,
    ast.ExceptHandler: Names._handler,
    ast.Constant: Names._constant,
}
if sys.version_info < (3, 8):
    _VISITORS[ast.Str] = Names._constant


def constant(node: ast.AST | None) -> Any:
    """The value of a constant of any Python; None for anything else."""
    if node is None:
        return None
    if isinstance(node, ast.Constant):
        return node.value
    name = type(node).__name__
    if name in ("Str", "Bytes"):
        return node.s  # type: ignore[attr-defined]
    if name == "Num":
        return node.n  # type: ignore[attr-defined]
    if name == "NameConstant":
        return node.value  # type: ignore[attr-defined]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = constant(node.operand)
        return -value if isinstance(value, (int, float)) else None
    return None


def keyword(node: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument, or None."""
    return next((word.value for word in node.keywords if word.arg == name), None)


def argument(node: ast.Call, position: int, name: str) -> ast.expr | None:
    """An argument that may be given by position or by name."""
    if position < len(node.args) and not any(
        isinstance(value, ast.Starred) for value in node.args[: position + 1]
    ):
        return node.args[position]
    return keyword(node, name)


def is_given(node: ast.expr | None) -> bool:
    """Whether an argument is there, and is not the word None."""
    return node is not None and not (isinstance(node, ast.Constant) and node.value is None)


def index_of(node: ast.Subscript) -> Any:
    """What stands in the brackets, which Python 3.8 wraps."""
    inner: Any = node.slice
    return inner.value if type(inner).__name__ == "Index" else inner


def is_guarding(handler: ast.ExceptHandler) -> bool:
    """Whether a handler is for what is not installed."""
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id in _GUARDING for kind in kinds)


def _lines(body: list[ast.stmt]) -> int:
    return getattr(body[-1], "lineno", 0) - body[0].lineno + 1 if body else 0


def _asks_for_version(test: ast.expr) -> bool:
    if test.__class__ is ast.Name:
        return False
    for node in walk(test):
        word = getattr(node, "attr", None) or getattr(node, "id", None)
        if word in _VERSION_WORDS:
            return True
    return False
