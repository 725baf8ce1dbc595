"""Reads what a Session is open for: its computations, what they are given, and what it is asked for."""

from __future__ import annotations

import ast
from typing import Any, Callable, Iterator, Mapping

from tpucompat.commands.analysis.keras_values import key
from tpucompat.commands.migrate import (
    computations,
    keras,
    session_attributes,
    session_blocks,
    session_forms,
    session_functions,
    session_inputs,
    session_plan,
    session_scopes,
    session_variables,
)
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.commands.migrate.session_inputs import MODULE, Parts
from tpucompat.commands.migrate.session_plan import Computation, Plan
from tpucompat.names.used import Call, argument, constant, index_of, walk

_TF = "tensorflow."
_GLOBAL = {_TF + "global_variables_initializer", _TF + "initialize_all_variables"}
_CONFIGS = frozenset((_TF + "ConfigProto", _TF + "GPUOptions"))
_LOCAL = frozenset(_TF + name for name in ("local_variables_initializer", "tables_initializer"))
#: What a Session is asked for without a computation -> what is written.
_ASKED = {
    _TF + "trainable_variables": "{}.values(trainable=True)",
    _TF + "global_variables": "{}.values()",
    _TF + "train.get_global_step": "{}.global_step()",
    _TF + "train.get_or_create_global_step": "{}.global_step()",
}
#: Names that stand in functions -> those of the module.
NAMES = {
    path: name
    for path, name in computations.NAMES.items()
    if name in ("CrossShardOptimizer", "cross_replica_sum", "repeat")
}


class Reader:
    """Reads the block that a Session stands in."""

    def __init__(
        self,
        context: Context,
        session: session_blocks.Opened,
        passed: session_forms.Passed,
    ) -> None:
        self._context = context
        self._passed = passed
        self._cell = session.cell
        self._session = session
        self._name = session.name
        #: What the program is called: an attribute where the Session is one.
        self._program = "self.program" if session.name.startswith("self.") else "program"
        self._body = context.body_of(session.statement, self._cell)
        self._parents = context.parents(self._cell)
        self._block = session_attributes.Block(self._parents)
        self._calls = {id(call.node): call.name for call in context.names.calls}
        self._dropped: list[Any] = []
        self._inputs = session_inputs.Inputs(context, self._cell)
        self._replaced = self._inputs.replaced
        self._names = self._inputs.names
        self._variables: dict[str, ast.Assign] = {}
        self._savers: dict[str, ast.Assign] = {}
        self._loads: dict[str, tuple[str, str]] = {}  # a name -> the variable, and what it is given
        self._initializers: dict[str, set[str]] = {}
        #: A name -> the computations that it may stand for.
        self._computations: dict[str, list[Computation]] = {}
        self._outputs: dict[str, tuple[Computation, int]] = {}
        #: Where a function that is given the Session reads a computation by its own name.
        self._renamed: dict[int, list[Computation]] = {}
        #: What configures the Session: of no effect without it.
        self._configs: set[str] = set()
        self._made: list[tuple[Any, Computation]] = []
        #: A name of the global step -> the statement that makes it.
        self._steps: dict[str, ast.Assign] = {}
        self._aliases = session_blocks.aliases(context, self._cell)
        self._counts = False
        #: The identities of names that stand for each variable in turn.
        self._each: set[int] = set()
        self._is_initialized = False
        #: Names of the module, where the Session is opened in a function of it -> what assigns them.
        self._outer: dict[str, ast.stmt] = {}

    def read(self, undo: Callable[[], None]) -> Plan:
        """Everything that becomes of the file.

        Args:
          undo: Puts its tree back.
        """
        at = next(index for index, one in enumerate(self._body) if one is self._session.statement)
        outer = session_blocks.outer(self._context, self._session)
        self._outer.update((name, one) for one in outer for name in session_functions.bound(one))
        statements = [*outer, *self._body[:at], *self._session.body]
        self._dropped += self._aliases.values()
        if self._session.maker is not None:
            self._dropped.append(self._session.maker)
        for one in statements:
            self._begin(one)
        before = [one for one in statements if isinstance(one, ast.Assign)]
        for statement in before:
            self._define(statement)
        calls = [call for call in self._context.names.calls if computations.is_computation(call)]
        for call in calls:
            self._compute(call, before)
        reached = session_functions.reached(self._context, calls)
        makes = session_functions.check(
            self._context, reached, self._steps.keys() | self._aliases.keys()
        )
        session_functions.check_loops(self._context, calls)
        self._read_steps(reached)
        self._pass_on()
        self._loop(makes)
        blocks = [self._session.block, *self._passed.functions]
        runs = {id(node): node for one in blocks for node in walk(one) if self._method(node)}
        for node in runs.values():
            self._run(node, makes)  # type: ignore[arg-type]
        for node in (node for one in blocks for node in walk(one) if id(node) not in runs):
            self._initialize(node, makes)
        if self._each - self._names:
            raise CannotSee("a variable has other uses")
        if not any(computation.node for _, computation in self._made):
            raise CannotSee("no computation runs")
        self._check_state(makes)
        self._check_names()
        handled = self._handled(reached)
        naming = session_plan.identities(one.items[0] for one in self._session.naming)
        session_functions.check_around(self._context, reached, handled | naming)
        statements = [one for one, _ in self._made] + list(self._savers.values())
        is_outer = [one for one in statements if any(one is other for other in outer)]
        first = min(is_outer or statements, key=lambda statement: statement.lineno)
        shared = [one.node for one in calls if session_functions.has_shares(self._context, one)]
        if not session_functions.meets(self._context, calls):
            while shared:
                self._shard(shared.pop())
        elif shared and not makes:
            raise CannotSee("its results are others on fewer cores")
        return Plan(
            session=self._session,
            passed=self._passed,
            name=self._program,
            first=first,
            dropped=self._dropped,
            inputs=self._inputs,
            shared=shared,
            handled=handled,
            makes=makes,
            counts=self._counts,
            is_one=session_functions.is_one(self._context, calls, makes),
            undo=undo,
        )

    def _called(self, node: ast.AST | None) -> str:
        return self._calls.get(id(node), "")

    # The graph ---------------------------------------------------------------------------------

    def _begin(self, statement: ast.stmt) -> None:
        """``tf.train.create_global_step()``, whose result has a name or none; or what a function made."""
        node = getattr(statement, "value", None)
        called = self._called(node)
        if called == _TF + "reset_default_graph" and isinstance(statement, ast.Expr):
            self._dropped.append(statement)
        if not called.endswith(("create_global_step", "get_global_step")):
            return
        self._counts = self._counts or "create" in called
        self._dropped.append(statement)
        if isinstance(statement, ast.Assign):
            name = getattr(statement.targets[0], "id", "")
            if not name or len(statement.targets) != 1:
                raise CannotSee("what the global step is assigned to")
            self._steps[name] = statement

    def _read_steps(self, reached: set[Any]) -> None:
        """Functions that read the global step from outside ask for it by themselves."""
        inside = {id(node) for function in reached for node in walk(function.node)}
        asks = self._context.local("tf.compat.v1") + ".train.get_global_step()"
        for node in self._seen({*self._steps}) if self._steps else ():
            if id(node) in inside and isinstance(node.ctx, ast.Load):
                self._names.add(id(node))
                self._replaced.append((node, [asks]))

    def _define(self, statement: ast.Assign) -> None:
        """Keeps what a statement before the Session calls by a name."""
        node = statement.value
        name = getattr(statement.targets[0], "id", "")
        called = self._called(node)
        if key(statement.targets[0]).partition(".")[0] in {*self._configs} - {name}:
            self._dropped.append(statement)  # config.gpu_options.allow_growth = True
            return
        if len(statement.targets) != 1 or self._inputs.define_all(statement, self._calls):
            return
        if not isinstance(node, ast.Call):
            return
        if called in _CONFIGS and name:
            self._configs.add(name)
            self._dropped.append(statement)
            return
        if self._inputs.define(statement, called) or not name:
            return
        words = {word.arg for word in node.keywords}
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        owner = getattr(getattr(node.func, "value", None), "id", "")
        if called == _TF + "Variable":
            self._replaced += session_plan.variable(node)
            self._variables[name] = statement
        elif called == _TF + "train.Saver":
            saved = argument(node, 0, "var_list")
            is_all = saved is None or self._called(saved) == _TF + "global_variables"
            if not is_all or node.args[1:] or words - {"max_to_keep", "var_list"}:
                raise CannotSee("it saves some of its variables")
            kept = argument(node, 99, "max_to_keep")
            more: Parts = [", max_to_keep=", kept] if kept else []
            self._savers[name] = statement
            self._replaced.append((node, [f"{MODULE}.Saver({self._program}", *more, ")"]))
        elif self._asked(node):
            self._initializers[name] = self._asked(node)
            self._dropped.append(statement)
        elif method == "assign" and owner in self._variables:
            given = node.args[0] if len(node.args) == 1 and not node.keywords else None
            if getattr(given, "id", "") not in self._inputs.placeholders:
                raise CannotSee(f"{owner}.assign of something that is not fed")
            self._loads[name] = (owner, given.id)  # type: ignore[union-attr]
            self._dropped.append(statement)

    def _compute(self, call: Call, before: list[ast.Assign]) -> None:
        node = call.node
        statement = self._context.innermost(node, self._cell)
        kind = computations.NAMES[call.name]
        if call.guarded or not any(statement is one for one in before):
            raise CannotSee("it is not made beside its Session, in the same part of the file")
        session_plan.check_arguments(node, kind)
        function, inputs = argument(node, 0, "computation"), argument(node, 1, "inputs")
        parts: list[Any] = [f"{self._program}.{session_plan.METHODS[kind]}(", function, ", "]
        parts.append("[]" if inputs is None else inputs)
        from_all = argument(node, 99, "outputs_from_all_shards")
        if from_all is not None:
            parts += [", from_all=", from_all]
        self._replaced.append((node, [*parts, ")"]))
        name = f"run_{getattr(function, 'id', kind)}"
        self._keep(Computation(node, self._given(inputs), name, []), statement)

    def _shard(self, node: ast.Call) -> None:
        """Keeps the number of shards of a computation whose results depend on it."""
        at = next(at for at, (one, _) in enumerate(self._replaced) if one is node)
        shards = argument(node, 2, "num_shards") or "1"
        self._replaced[at] = (node, [*self._replaced[at][1][:-1], ", shards=", shards, ")"])

    def _given(self, inputs: ast.AST | None) -> list[str]:
        """The placeholders among the inputs."""
        if isinstance(inputs, ast.Name):
            made = keras.only_assignment(self._context, inputs.id)
            inputs = made[0].value if made else None
            if not isinstance(inputs, (ast.List, ast.Tuple)):
                raise CannotSee("cannot find its inputs")
        if inputs is None or (isinstance(inputs, ast.Constant) and inputs.value is None):
            return []
        if not isinstance(inputs, (ast.List, ast.Tuple)):
            raise CannotSee("its inputs are not a list")
        given = []
        for one in inputs.elts:
            if isinstance(one, ast.Name):
                self._names.add(id(one))
                if one.id in self._inputs:
                    given.append(one.id)
        return given

    def _keep(self, one: Computation, statement: ast.Assign) -> None:
        """Keeps what a computation is called by."""
        target = statement.targets[0]
        value: ast.AST = statement.value
        if len(statement.targets) != 1:
            raise CannotSee("its result has two names")
        if value is one.node and isinstance(target, ast.Name):
            self._computations[target.id] = [one._replace(name=target.id)]
        elif value is one.node and isinstance(target, (ast.Tuple, ast.List)):
            names = [getattr(each, "id", "") for each in target.elts]
            if not all(names) or not self._context.is_free(one.name):
                raise CannotSee("its results are assigned to something without a name")
            if any(name.startswith("self.") for name in names):
                one = one._replace(name="self." + one.name)
            one = one._replace(outputs=names)
            self._outputs.update({name: (one, index) for index, name in enumerate(names)})
            self._replaced.append((target, [one.name]))
        elif (
            isinstance(value, ast.Subscript)
            and value.value is one.node
            and isinstance(constant(index_of(value)), int)
            and isinstance(target, ast.Name)
            and self._context.is_free(one.name)
        ):
            self._outputs[target.id] = (one, constant(index_of(value)))
            self._replaced += [(target, [one.name]), (value, [one.node])]
        elif not isinstance(target, ast.Name) or not session_plan.is_item(
            self._parents, value, one.node
        ):
            raise CannotSee("its result is not assigned directly")
        else:
            self._iterate(target.id, value, one)
        self._made.append((statement, one))

    def _iterate(self, name: str, table: Any, one: Computation) -> None:
        """``for label, operations in table:`` of a table that has a computation in each row."""
        row = self._parents[id(one.node)]
        column = row.elts.index(one.node) if row is not table else -1  # type: ignore[attr-defined]
        for node in walk(self._session.block):
            if not isinstance(node, ast.For) or getattr(node.iter, "id", "") != name:
                continue
            target: Any = node.target
            if column >= 0:
                fits = isinstance(target, ast.Tuple) and len(target.elts) == len(row.elts)  # type: ignore[attr-defined]
                target = target.elts[column] if fits else None
            if not isinstance(target, ast.Name) or self._assigned(target.id) != 1:
                raise CannotSee(f"what is read of {name}")
            rows = [each.elts[column] if column >= 0 else each for each in table.elts]
            if not all(self._called(each) in computations.NAMES for each in rows):
                raise CannotSee(f"{name} has something else beside computations")
            self._names.add(id(node.iter))
            named = one._replace(name=target.id)
            self._computations.setdefault(target.id, []).append(named)

    def _assigned(self, name: str) -> int:
        return sum(isinstance(node.ctx, ast.Store) for node in self._seen({name}))

    def _seen(self, names: set[str]) -> Iterator[ast.Name]:
        statement, outer = self._session.statement, names & self._outer.keys()
        yield from self._block.seen(statement, self._name, names - outer)
        if outer:
            yield from self._block.seen(self._outer[min(outer)], "", outer)

    def _initialize(self, node: ast.AST, makes: bool) -> None:
        """``tf.global_variables_initializer().run()``, of the Session that is open."""
        function: Any = node.func if isinstance(node, ast.Call) else None
        if getattr(function, "attr", "") == "run" and not node.args:  # type: ignore[attr-defined]
            asked = self._asked(function.value)
            if asked:
                self._start(node, function.value, asked, makes)  # type: ignore[arg-type]
                self._names |= {id(word.value) for word in node.keywords}  # type: ignore[attr-defined]

    def _pass_on(self) -> None:
        """Functions that are given the Session may be given a computation too, whole and by its name."""
        for name, found in self._computations.items():
            for given, read in self._passed.named(name):
                self._names.add(id(given))
                self._renamed.update({id(one): found for one in read})

    def _loop(self, makes: bool) -> None:
        """Loops over the variables of the graph."""
        blocks = [self._session.block, *self._passed.functions]
        found = [loop for block in blocks for loop in session_variables.loops(block, self._calls)]
        if not found:
            return
        if not makes or self._variables:
            raise CannotSee("variables of several kinds")
        names = self._seen({one.name for one in found})
        self._each = session_variables.check(found, names, self._parents)
        for one in found:
            written = session_variables.LISTS[self._called(one.call)]
            self._replaced.append((one.call, [written.format(self._program)]))

    # The Session -------------------------------------------------------------------------------

    def _method(self, node: ast.AST) -> str:
        """The method of the Session, or of a Saver, that a call calls."""
        function = node.func if isinstance(node, ast.Call) else None
        owner = function.value if isinstance(function, ast.Attribute) else None
        if not isinstance(owner, ast.Name) or owner.id not in {self._name, *self._savers}:
            return ""
        self._names.add(id(owner))
        return function.attr  # type: ignore[union-attr]

    def _run(self, node: ast.Call, makes: bool) -> None:
        owner, method = node.func.value.id, node.func.attr  # type: ignore[attr-defined]
        if owner in self._savers:
            self._save(node, method)
            return
        if method == "close" and isinstance(self._parents[id(node)], ast.Expr):
            self._dropped.append(self._parents[id(node)])
            return
        if method != "run" or not node.args or len(node.args) > 2:
            raise CannotSee(f"{self._name}.{method}")
        if any(word.arg != "feed_dict" for word in node.keywords):
            raise CannotSee(f"options of {self._name}.run")
        fetch, feeds = node.args[0], self._inputs.fed(argument(node, 1, "feed_dict"))
        asked = self._asked(fetch)
        statement = self._context.innermost(node, self._cell)
        is_statement = isinstance(statement, ast.Expr) and statement.value is node
        if self._inputs.begins_again(fetch, node, is_statement and not feeds):
            return
        if asked:
            self._start(node, fetch, asked, makes)
        elif self._called(fetch) in _ASKED:
            if not makes or self._variables:
                raise CannotSee("variables of several kinds")
            self._replaced.append((node, [_ASKED[self._called(fetch)].format(self._program)]))
        elif isinstance(fetch, ast.Name) and fetch.id in self._steps:
            self._names.add(id(fetch))
            self._replaced.append((node, [f"{self._program}.global_step()"]))
        elif isinstance(fetch, ast.Name) and fetch.id in self._loads:
            variable, fed = self._loads[fetch.id]
            self._names.add(id(fetch))
            self._replaced.append(
                (node, [variable, ".assign(", *self._inputs.values(feeds, [fed]), ")"])
            )
        elif isinstance(fetch, ast.Name) and (
            fetch.id in self._variables or id(fetch) in self._each
        ):
            self._names.add(id(fetch))
            self._replaced.append((node, [fetch.id + ".numpy()"]))
        else:
            self._fetch(node, fetch, feeds, makes)

    def _fetch(
        self, node: ast.Call, fetch: ast.AST, feeds: Mapping[str, ast.AST], makes: bool
    ) -> None:
        """A run of a computation becomes a call."""
        names = fetch.elts if isinstance(fetch, (ast.List, ast.Tuple)) else [fetch]
        places = [self._place(one) for one in names]
        if not places or not all(found for found, _ in places):
            raise CannotSee(
                f"the Session fetches more than a computation: {session_plan.shown(self._context, fetch)}"
            )
        found, index = places[0]
        # Of one that trains and others nobody knows which goes first.
        is_whole = all(len(one) == 1 and at is None for one, at in places)
        if not makes and len(names) > 1 and is_whole:
            self._inputs.call_all(node, [one[0] for one, _ in places], feeds, fetch)
            return
        head = tail = ""
        if fetch is not names[0]:
            indices = [at for _, at in places]
            if None in indices or any(one[0].node is not found[0].node for one, _ in places):
                raise CannotSee("the Session fetches more than a computation")
            is_all = indices == [*range(len(found[0].outputs))]
            if not is_all or isinstance(fetch, ast.Tuple):
                head, tail = f"{MODULE}.chosen(", f", {', '.join(map(str, indices))})"
                if isinstance(fetch, ast.Tuple):
                    head, tail = "tuple(" + head, tail + ")"
        elif index is not None:
            tail = f"[{index}]"
        if any(one.given != found[0].given for one in found):
            raise CannotSee("its computations are fed differently")
        values = self._inputs.values(feeds, found[0].given)
        self._replaced.append((node, [f"{head}{found[0].name}(", *values, ")" + tail]))

    def _place(self, fetch: ast.AST) -> tuple[list[Computation], int | None]:
        """The computations that a fetch may stand for, and which of their results; None for all of them."""
        index = None
        if isinstance(fetch, ast.Subscript):  # result[0]
            index = constant(index_of(fetch))
            is_known = isinstance(index, int) and isinstance(fetch.value, ast.Name)
            fetch = fetch.value if is_known else fetch
        self._names.add(id(fetch))
        name = getattr(fetch, "id", "")
        if name in self._outputs and index is None:
            one, index = self._outputs[name]
            return [one], index
        found = self._renamed.get(id(fetch)) or self._computations.get(name, [])
        return [one._replace(name=name) for one in found], index

    def _asked(self, fetch: ast.AST) -> set[str]:
        """The initializers that are run, and what starts and stops the TPU; nothing if anything else is."""
        several = fetch.elts if isinstance(fetch, (ast.List, ast.Tuple)) else [fetch]
        if self._called(fetch) == _TF + "group" and not fetch.keywords:  # type: ignore[attr-defined]
            several = fetch.args  # type: ignore[attr-defined]
        found: set[str] = set()
        for one in several:
            found |= self._initializers.get(getattr(one, "id", ""), {self._called(one)})
        if not found <= _GLOBAL | _LOCAL | computations.SYSTEM:
            return set()
        self._names.update(map(id, several))
        return found

    def _start(self, node: ast.Call, fetch: ast.AST, asked: set[str], makes: bool) -> None:
        statement = self._context.innermost(node, self._cell)
        names = {getattr(one, "id", "") for one in getattr(statement, "targets", ())}
        is_read = any(isinstance(one.ctx, ast.Load) for one in self._seen(names))
        if statement.value is not node or (names and ("" in names or is_read)):
            raise CannotSee("what starting the TPU returns is used")
        if not asked & _GLOBAL or not makes:
            self._dropped.append(statement)
        else:
            self._replaced.append((node, [f"{self._program}.initialize()"]))
        if asked & _GLOBAL and self._variables:
            again = self._is_initialized or not any(one is statement for one in self._session.body)
            if again or any(self._method(one) for one in self._earlier(statement)):
                raise CannotSee("variables are initialized again")
        self._is_initialized = self._is_initialized or bool(asked & _GLOBAL)

    def _earlier(self, statement: ast.stmt) -> Iterator[ast.AST]:
        """What stands in the Session before a statement, but for what starts the TPU."""
        for one in self._session.body:
            if one is statement:
                return
            if not any(one is dropped for dropped in self._dropped):
                yield from walk(one)

    def _save(self, node: ast.Call, method: str) -> None:
        """``saver.save(session, path, global_step=step)`` without its Session."""
        wanted = {"save": {"global_step"}, "restore": set()}.get(method)
        first = node.args[0] if len(node.args) > 1 else None
        more = {word.arg for word in node.keywords}
        if wanted is None or not more <= wanted or getattr(first, "id", "") != self._name:
            raise CannotSee(f"arguments of {method} of a Saver")
        if len(node.args) > (3 if method == "save" else 2) or self._variables:
            raise CannotSee(f"arguments of {method} of a Saver")
        self._names.add(id(first))
        parts: list[Any] = [node.func, "("]
        for index, value in enumerate(node.args[1:]):
            parts += [", ", value] if index else [value]
        for word in node.keywords:
            name = getattr(word.value, "id", "")
            if name in self._steps:
                self._names.add(id(word.value))
            counts = name in self._steps or "global_step" in _ASKED.get(
                self._called(word.value), ""
            )
            step = f"{self._program}.global_step()"
            parts += [f", {word.arg}=", step if counts else word.value]
        self._replaced.append((node, [*parts, ")"]))

    # What is left ------------------------------------------------------------------------------

    def _check_state(self, makes: bool) -> None:
        if (makes or self._variables) and not self._is_initialized and not self._savers:
            raise CannotSee("its variables are never initialized")
        if self._savers and not makes:
            raise CannotSee("it saves variables of the host")

    def _check_names(self) -> None:
        """Names of the graph may only be used as they are known to be."""
        given = {name for _, one in self._made for name in one.given}
        for name, statement in self._inputs.placeholders.items():
            if name not in given:  # it fed an assignment
                if not isinstance(self._parents[id(statement.value)], ast.Assign):
                    raise CannotSee(f"{name} is made beside others")
                self._dropped.append(statement)
                self._replaced[:] = [one for one in self._replaced if one[0] is not statement.value]
        defined: list[Any] = [self._inputs.placeholders, self._variables, self._savers, self._loads]
        names = {name for one in defined for name in one}
        names |= {*self._initializers, *self._computations, *self._outputs, self._name}
        names |= {*self._steps} | self._inputs.known | self._configs
        names |= session_scopes.graphs(self._session.scopes)
        self._names |= session_blocks.opening(self._session)
        gone, stored = session_plan.identities(self._dropped), dict.fromkeys(names, 0)
        for node in self._seen(names):
            if not isinstance(node.ctx, ast.Load):
                stored[node.id] += 1
            elif id(node) not in self._names | gone:
                raise CannotSee(
                    f"{node.id} has other uses: {session_plan.shown(self._context, node)}"
                )
        for name, count in stored.items():
            if count != 1:
                raise CannotSee(f"{name} is also used for something else")

    def _handled(self, reached: set[Any]) -> frozenset[int]:
        """The identities of what needs nothing else."""
        kept: set[int] = set()
        nodes: set[int] = set()
        rewritten = {id(node) for node, _ in self._replaced}
        for node, parts in self._replaced:
            nodes |= {id(inside) for inside in walk(node)}
            for part in parts:
                if isinstance(part, ast.AST) and id(part) not in rewritten:
                    kept |= {id(inside) for inside in walk(part)}
        nodes -= kept
        nodes |= session_plan.identities(self._dropped)
        for statement in self._variables.values():
            nodes.add(id(statement.value.func))  # type: ignore[attr-defined]
        nodes |= session_blocks.opening(self._session)
        inside = {id(node) for function in reached for node in walk(function.node)}
        inside |= session_functions.unused(self._context)
        inside |= {id(one.value) for one in self._aliases.values()}
        for use in self._context.names.uses:
            if use.name in NAMES:
                if use.statement is None and id(use.node) not in inside:
                    raise CannotSee(f"{NAMES[use.name]} outside of a computation")
                nodes |= {id(inside) for inside in walk(use.node)}
        nodes |= session_plan.imports(self._context, nodes)
        for node in self._seen({*self._aliases}) if self._aliases else ():
            if id(node) not in nodes:
                raise CannotSee(f"what is read of {node.id}")
        return frozenset(nodes)
