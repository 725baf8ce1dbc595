"""Which old names a module uses, through whatever it calls them.

One walk over the tree. A scope maps a Python name to the dotted name that it stands for: what was imported
under any alias, what was taken ``from`` a module, what was assigned from such a name. Bodies of functions are
looked at after the module around them, as they run after it. Names that stand for nothing known are not
followed.
"""

from __future__ import annotations

import ast
import sys
from typing import Any, Callable, Mapping, NamedTuple

from tpucompat.names import symbols, used_scopes
from tpucompat.names.nodes import CHILDREN, asks_for_version, lines_of, parameters
from tpucompat.names.nodes import argument as argument
from tpucompat.names.nodes import children as children
from tpucompat.names.nodes import constant as constant
from tpucompat.names.nodes import index_of as index_of
from tpucompat.names.nodes import is_given as is_given
from tpucompat.names.nodes import is_guarding as is_guarding
from tpucompat.names.nodes import keyword as keyword
from tpucompat.names.nodes import members as members
from tpucompat.names.nodes import walk as walk
from tpucompat.names.used_scopes import Binding, Owner, Scope

#: Packages whose names are followed, beside those that the tables of removed names are about.
FOLLOWED = frozenset(("tensorflow", "keras", "tensorflow_estimator", "tensorflow_core"))

#: What a file is given that is alone.
NOTHING_GIVEN: Mapping[str, Scope] = {}

#: Attributes behind each other that are a name; generated code may have thousands.
_LONGEST = 64
#: A function that a module has under another name than its package.
_SUPPORT = "tensorflow.contrib.tpu.python.tpu.keras_support."
_SAME = {_SUPPORT + "tpu_model": _SUPPORT + "keras_to_tpu_model"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
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


class Names:
    """What one unit, or the cells of a notebook in turn, use.

    Args:
      roots: First parts of the dotted names that are followed.
      given: Modules of the same program, as import statements name them -> what their names stand for.
    """

    def __init__(
        self, roots: frozenset[str] = FOLLOWED, given: Mapping[str, Scope] = NOTHING_GIVEN
    ) -> None:
        self.roots = roots
        self._given = given
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
        self._module = Scope(None, None)
        #: Modules of 1.15's that all names were imported of, as keys: in their order.
        self._stars: dict[str, None] = {}
        self._scope = self._module
        #: Attributes of all classes of the module that stand for modules.
        self._attributes: dict[str, Binding] = {}
        self._guards = 0
        self._reads = 0  # whether the statements of a function are read, before its body is visited
        self._branches = 0
        self._deferred: list[tuple[Callable[[], None], Scope, int]] = []
        #: The functions of calls that are those of the script's own classes, whatever they are called.
        self.own: set[int] = set()
        #: Tests ``hasattr(module, "name")`` that are renamed with what they guard, by their identities.
        self.asked: set[int] = set()
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

    @property
    def scope(self) -> Scope:
        """What the names of the module stand for."""
        return self._module

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
        for field in CHILDREN[node.__class__]:
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

    def _binding(self, node: ast.AST) -> Binding | None:
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
        if found is None and attributes:
            found = self._attribute(node, attributes)
        if found is None or not attributes:
            return found
        if found.name.count(".") + len(attributes) > _LONGEST:
            return None
        name = ".".join([found.name, *reversed(attributes)])
        return Binding(_SAME.get(name, name), found.guarded, found.base or found.name)

    def _attribute(self, node: ast.AST, names: list[str]) -> Binding | None:
        """What one of the attributes behind an object stands for; leaves those behind it, the last first."""
        owner = self._owner(node)
        for index in reversed(range(len(names)) if owner or self._attributes else ()):
            name = names[index]
            found = owner.attribute(name) if owner else self._attributes.get(name)
            if found is not None:
                del names[index:]
                return found
            owner = None
        return None

    def _owner(self, node: ast.AST) -> Owner | None:
        """The class of the module that an expression is, or is an object of."""
        if node.__class__ is ast.Call:
            node = node.func
        if node.__class__ is not ast.Name:
            return None
        if node.id in ("self", "cls"):
            return self._scope.around()
        holder = self._scope.holder(node.id)
        return holder.owners.get(node.id) if holder is not None else None

    def _look_up(self, name: str) -> Binding | None:
        scope: Scope | None = self._scope
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        for module in self._stars:
            full = f"{module}.{name}"
            if _kind(full) is not None:
                return Binding(full, False, module)
        return None

    def _module_of(self, function: ast.Attribute) -> str:
        """The module that a function such as ``re.compile`` belongs to, or ""."""
        owner = function.value
        scope: Scope | None = self._scope if isinstance(owner, ast.Name) else None
        while scope is not None and isinstance(owner, ast.Name):
            if owner.id in scope.names:
                return scope.modules.get(owner.id, "")
            scope = scope.outer
        return ""

    def _called(self, node: ast.Call) -> Binding | None:
        """What a call gives: ``getattr(module, "name")``, or what a function of the module returns."""
        found = self._looked_up(node)
        if found is not None:
            return found
        function = node.func
        if isinstance(function, ast.Name):
            holder = self._scope.holder(function.id)
            return holder.returned.get(function.id) if holder is not None else None
        if not isinstance(function, ast.Attribute):
            return None
        owner = self._owner(function.value)
        return owner.result(function.attr) if owner is not None else None

    def _looked_up(self, node: ast.Call) -> Binding | None:
        """``getattr(module, "name")`` and ``importlib.import_module("name")``."""
        function = node.func
        if isinstance(function, ast.Name) and function.id == "getattr" and len(node.args) >= 2:
            name = constant(node.args[1])
            base = self._binding(node.args[0])
            if base and isinstance(name, str):
                return Binding(f"{base.name}.{name}", base.guarded or len(node.args) > 2, base.name)
        last = function.attr if isinstance(function, ast.Attribute) else ""
        last = function.id if isinstance(function, ast.Name) else last
        if last == "partial" and len(node.args) == 1:
            base = self._binding(node.args[0])
            return base if base and base.name.endswith(".keras_to_tpu_model") else None
        if last in ("import_module", "__import__") and node.args:
            name = constant(node.args[0])
            if isinstance(name, str) and name.partition(".")[0] in self.roots:
                return Binding(name if last == "import_module" else name.partition(".")[0], False)
        return None

    def _bind(self, name: str, binding: Binding | None) -> None:
        if binding is not None and binding.base:
            binding = Binding(binding.name, binding.guarded)
        names = self._scope.names
        self._scope.forget(name)
        if self._branches and name in names and names[name] is not None:
            before = names[name]
            # The other branch of a try or an if.
            if before is not None and (binding is None or binding.name != before.name):
                names[name] = used_scopes.joined(before, binding)
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
        if self._reads:
            return
        guarded = guarded or self._guards > 0
        name, base = _below_root(name), _below_root(base)
        self.uses.append(Use(name, node, statement, guarded, self._scope.function, parent, base))

    # Imports -------------------------------------------------------------------------------------

    def _import(self, node: ast.Import) -> None:
        if not self._reads:
            self.imports.append(node)
        for alias in node.names:
            head = alias.name.partition(".")[0]
            target = alias.name if alias.asname else head
            if head not in self.roots:
                self._bind(alias.asname or head, None)
                self._scope.modules[alias.asname or head] = target
                if target in self._given:
                    self._scope.owners[alias.asname or head] = self._given[target].as_owner()
                continue
            self._use(alias.name, alias, statement=node)
            self._bind(alias.asname or head, Binding(target, False))

    def _import_from(self, node: ast.ImportFrom) -> None:
        if not self._reads:
            self.imports.append(node)
        module = node.module or ""
        if node.level or module.partition(".")[0] not in self.roots:
            for alias in node.names:
                self._take("." * node.level + module, alias.name, alias.asname or alias.name)
            return
        for alias in node.names:
            full = module if alias.name == "*" else f"{module}.{alias.name}"
            full = _SAME.get(full, full)
            self._use(full, alias, statement=node)
            if alias.name != "*":
                self._bind(alias.asname or alias.name, Binding(full, False))
            elif full == "tensorflow" or _kind(full) is not None:
                self._stars[full] = None

    def _take(self, module: str, name: str, bound: str) -> None:
        """A name that is imported from a module that is not followed, or is of the same program."""
        other = self._given.get(module)
        self._bind(bound, None if other is None else other.names.get(name))
        below = self._given.get(module + name if module[-1:] in ("", ".") else f"{module}.{name}")
        if other is not None:
            self._scope.take(bound, other, name)
        elif below is not None:
            self._scope.owners[bound] = below.as_owner()

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
            self._around(node)

    def _around(self, node: ast.AST) -> None:
        """Looks at the call of the module's own that a name is taken from."""
        while node.__class__ is ast.Attribute:
            node = node.value
        if node.__class__ is ast.Call and self._looked_up(node) is None:
            self._visit(node)

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
            self._around(function)
        else:
            if isinstance(function, ast.Attribute):
                name = f"{self._module_of(function)}.{function.attr}"
                self.calls.append(Call(name, node, self._scope.function, self._guards > 0))
            elif isinstance(function, ast.Name):
                self.calls.append(Call(function.id, node, self._scope.function, self._guards > 0))
                looked_up = self._looked_up(node)
                if looked_up is not None:
                    self._use(looked_up.name, node, looked_up.guarded, base=looked_up.base)
                    for default in node.args[2:]:
                        self._visit(default)
                    return
            self._visit(function)
        for given in node.args:
            self._visit(given)
        for word in node.keywords:
            self._visit(word.value)

    # Statements ----------------------------------------------------------------------------------

    def _assign(self, node: ast.Assign) -> None:
        self._visit(node.value)
        for target in node.targets:
            pairs = list(used_scopes.pairs(target, node.value))
            known = [(one, self._binding(part), self._owner(part)) for one, part in pairs]
            for one, binding, owner in known:
                if not isinstance(one, ast.Name):
                    self._visit(one)
                    continue
                self._bind(one.id, binding)
                if owner is not None:
                    self._scope.owners[one.id] = owner
            if not pairs:
                self._visit(target)
            if isinstance(target, ast.Name) and self._scope is self._module:
                self.constants[target.id] = node.value

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
        self._read(node)
        function = Function(node, self._scope.function)
        self.functions[node.name] = function
        if self._scope.function is not None:
            self._scope.function.names.add(node.name)
        self._defer(node.body, arguments, function)

    def _read(self, node: Any) -> None:
        """Learns what a function returns, and what it makes attributes and global names stand for."""
        outer = self._scope
        self._scope = Scope(outer, outer.function)
        self._scope.names.update((one.arg, None) for one in parameters(node.args))
        self._reads += 1
        shared: set[str] = set()
        returned: list[Binding | None] = []
        for one in used_scopes.statements(node.body):
            if isinstance(one, ast.Import):
                self._import(one)
            elif isinstance(one, ast.ImportFrom):
                self._import_from(one)
            elif isinstance(one, ast.Global):
                shared.update(one.names)
            elif isinstance(one, ast.Return) and one.value is not None:
                returned.append(self._binding(one.value))
            for target, value in used_scopes.targets(one):
                if isinstance(target, ast.Name):
                    self._bind(target.id, self._binding(value))
                elif outer.owner is not None and used_scopes.is_own(target):
                    outer.owner.learn(target.attr, self._binding(value))
        self._reads -= 1
        for name in shared & self._scope.names.keys():
            self._module.names[name] = self._module.names.get(name) or self._scope.names[name]
        self._scope = outer
        outer.hand_on(node, used_scopes.common(returned))

    def _lambda(self, node: ast.Lambda) -> None:
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self._visit(default)
        self._defer([node.body], node.args, self._scope.function)

    def _defer(self, body: list[Any], arguments: ast.arguments, function: Any) -> None:
        scope = Scope(self._scope, function)
        for one in parameters(arguments):
            scope.names[one.arg] = None
            if one.annotation is not None:
                self._visit(one.annotation)

        def visit() -> None:
            for statement in body:
                self._visit(statement)

        self._deferred.append((visit, scope, self._guards))

    def _class(self, node: ast.ClassDef) -> None:
        for part in [*node.decorator_list, *node.bases, *node.keywords]:
            self._visit(part)
        self._bind(node.name, None)
        owner = Owner(filter(None, map(self._owner, node.bases)))
        outer, self._scope = self._scope, Scope(self._scope, self._scope.function, owner)
        for statement in node.body:
            self._visit(statement)
        for name, binding in [*self._scope.names.items()]:
            owner.learn(name, binding)
        self._scope = outer
        outer.owners[node.name] = owner
        self._attributes.update(owner.modules())

    def _handler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self._visit(node.type)
        for statement in node.body:
            self._visit(statement)

    def _try(self, node: ast.Try) -> None:
        guards = any(is_guarding(handler) for handler in node.handlers)
        self._branches += 1
        # Only a body that is there to be tried: a whole program inside of `try` is none.
        small = guards and lines_of(node.body) <= 12
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
        guards = asks_for_version(node.test)
        self._branches += 1
        self._guards += guards
        for statement in [*node.body, *node.orelse]:
            self._visit(statement)
        self._guards -= guards
        self._branches -= 1

    def _if_expression(self, node: ast.IfExp) -> None:
        self._visit(node.test)
        guards = asks_for_version(node.test)
        self._guards += guards
        for branch in (node.body, node.orelse):
            self._visit(branch)
        self._guards -= guards


#: What looks at the nodes of a class; those that are not here have no children. One table for all modules, so
#: that no module's walk is kept alive by it.
_VISITORS: dict[type, Callable[[Names, Any], None]] = {
    **{node: Names._children for node, fields in CHILDREN.items() if fields},
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
