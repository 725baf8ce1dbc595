"""Reads what the graph of a Session is made of: placeholders, computations, savers, variables of the host."""

from __future__ import annotations

import ast
from typing import Any, Iterator

from tpucompat.commands.analysis.keras_values import key
from tpucompat.commands.migrate import (
    computation_functions,
    computations,
    keras,
    session_attributes,
    session_blocks,
    session_forms,
    session_functions,
    session_inputs,
    session_plan,
    session_summaries,
)
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.commands.migrate.session_inputs import MODULE, Parts
from tpucompat.commands.migrate.session_plan import Computation
from tpucompat.names.used import Call, argument, constant, index_of, walk

_TF = "tensorflow."
#: What gives the variables of the graph their first values.
GLOBAL = {_TF + "global_variables_initializer", _TF + "initialize_all_variables"}
_CONFIGS = frozenset((_TF + "ConfigProto", _TF + "GPUOptions"))
_LOCAL = frozenset(_TF + name for name in ("local_variables_initializer", "tables_initializer"))


class Graph:
    """Reads the statements before a Session, and where it is open."""

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
        #: The identity of a computation -> the names of its results, and what else is made of them.
        self._more: dict[int, tuple[list[str], list[ast.Call | str]]] = {}
        #: Where a function that is given the Session reads a computation by its own name.
        self._renamed: dict[int, list[Computation]] = {}
        #: What merges summaries of what a run is fed -> tag -> placeholder.
        self._shown: dict[str, dict[str, str]] = {}
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

    def _called(self, node: ast.AST | None) -> str:
        return self._calls.get(id(node), "")

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
        named = getattr(function, "func", function)
        name = f"run_{getattr(named, 'id', getattr(named, 'attr', kind))}"
        if kind == "replicate":
            self._check_rows(inputs)
        given = [] if kind == "replicate" else self._given(inputs)
        self._keep(Computation(node, given, name, []), statement)

    def _check_rows(self, rows: ast.AST | None) -> None:
        """That what each core is given, one list for each, is there before the Session."""
        names = [one.id for one in walk(rows) if isinstance(one, ast.Name)] if rows else []
        if rows is None or any(name in self._inputs or name in self._variables for name in names):
            raise CannotSee("what each core is given: use shard, which splits its inputs")

    def _pass_in(self, call: Call) -> None:
        """Placeholders that its function reads from outside become arguments of it, the same on all cores."""
        function = computation_functions.function_of(self._context, call).node
        read = session_functions.read_outside(function)
        names = [name for name in self._inputs.placeholders if name in read]
        if not names:
            return
        self._names |= {id(one) for one in walk(function) if getattr(one, "id", "") in names}
        self._add_parameters(function, names, argument(call.node, 0, "computation"))
        at = next(at for at, (one, _) in enumerate(self._replaced) if one is call.node)
        *parts, end = self._replaced[at][1]
        if computations.NAMES[call.name] == "replicate":
            raise CannotSee(f"its function reads {names[0]} from outside")
        if computations.NAMES[call.name] != "rewrite":
            parts += [f", whole=[{', '.join(names)}]"]
        else:
            own = getattr(parts[3], "elts", [])
            words = [self._context.texts[self._cell].source(one) for one in own] + names
            parts[3:4] = (
                [f"[{', '.join(words)}]"] if own else ["[*", parts[3], f", {', '.join(names)}]"]
            )
        self._replaced[at] = (call.node, [*parts, end])
        next(one for _, one in self._made if one.node is call.node).given.extend(names)

    def _add_parameters(self, function: Any, names: list[str], given: ast.AST | None) -> None:
        """Gives a function that is called by its name alone more parameters, once."""
        parameters = function.args
        others = [parameters.vararg, parameters.kwarg, *parameters.kwonlyargs, *parameters.defaults]
        is_named = isinstance(given, ast.Name) and given.id == getattr(function, "name", "")
        if any(others) or not is_named or not parameters.args:
            raise CannotSee(
                f"its function reads {names[0]} from outside: give it to it as an input"
            )
        last = parameters.args[-1]
        if not any(node is last for node, _ in self._replaced):
            self._replaced.append((last, [last, ", " + ", ".join(names)]))

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

    def _extend(self, statement: ast.Assign) -> None:
        """``mean = tf.reduce_mean(losses)`` of what a computation gives becomes one more of its results."""
        node, target = statement.value, statement.targets[0]
        names = [one for one in walk(node) if isinstance(one, ast.Name)]
        read = [one for one in names if one.id in self._outputs]
        if not read or not isinstance(node, ast.Call) or not isinstance(target, ast.Name):
            return
        (found, *others) = (self._outputs[one.id][0] for one in read)
        own = self._more.get(id(found.node), ([*found.outputs], []))[0]
        is_own = all(one.node is found.node for one in others) and {one.id for one in read} <= {
            *own
        }
        is_named = all(one.isidentifier() for one in own)
        if not is_own or not is_named or not self._is_stateless(node, names):
            return
        self._more.setdefault(id(found.node), (own, []))[1].append(node)
        self._outputs[target.id] = (found, len(found.outputs))
        found.outputs.append(target.id)
        self._dropped.append(statement)

    def _summarize(self, statements: list[Any]) -> None:
        """Summaries of a computation's results become one more of them, those of feeds are made of these."""
        found = session_summaries.scalars(statements, self._calls)
        blocks = [one for one in self._session.scopes if isinstance(one, ast.With)]
        lines = {one.statement.lineno for one in found}
        if any(lines & {*range(one.lineno + 1, (one.end_lineno or 0) + 1)} for one in blocks):
            raise CannotSee("a summary whose name has a scope")
        names = session_summaries.names(self._context.nodes)
        if any(one.tag in names for one in found):  # it would get a number
            raise CannotSee("a summary with the name of something else")
        for statement in statements:
            called = self._called(getattr(statement, "value", None))
            merged = session_summaries.merged(statement, called, found)
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if not merged or not isinstance(target, ast.Name):
                continue
            self._dropped.append(statement)
            given = [getattr(one.value, "id", "") for one in merged]
            if all(name in self._inputs.placeholders for name in given):
                self._shown[target.id] = dict(zip((one.tag for one in merged), given))
            else:
                self._merge(target.id, merged)
        self._dropped += [one.statement for one in found]

    def _merge(self, name: str, merged: list[session_summaries.Scalar]) -> None:
        """Makes summaries of a computation's results one of them."""
        read, is_known = set(), True
        for one in merged:
            names = [node for node in walk(one.value) if isinstance(node, ast.Name)]
            read |= {node.id for node in names if node.id in self._outputs}
            is_known = is_known and self._is_stateless(one.value, names)
        found = next((self._outputs[one][0] for one in read), None)
        own = self._more.get(id(found.node), ([*found.outputs], []))[0] if found else []
        if (
            found is None
            or not is_known
            or not read <= {*own}
            or not all(map(str.isidentifier, own))
        ):
            raise CannotSee("a summary of something else than the results of one computation")
        text = self._context.texts[self._cell]
        values = {one.tag: text.source(one.value) for one in merged}
        self._more.setdefault(id(found.node), (own, []))[1].append(
            session_summaries.written(values)
        )
        self._outputs[name] = (found, len(found.outputs))
        found.outputs.append(name)

    def _is_stateless(self, node: ast.AST, names: list[ast.Name]) -> bool:
        """Whether an expression only calls functions that TensorFlow 2 has too, with results and numbers."""
        known = session_functions.uses(self._context)
        calls = [one for one in walk(node) if isinstance(one, ast.Call)]
        inside = {id(one) for call in calls for one in walk(call.func)}
        words = {word.arg for call in calls for word in call.keywords}
        below = (self._called(call).partition(_TF)[2] for call in calls)
        is_known = all(one in session_plan.ON_RESULTS for one in below) and words <= {"axis"}
        return is_known and all(
            one.id in self._outputs or id(one) in inside | known for one in names
        )

    def _write_more(self) -> None:
        """Gives computations the results that are made of theirs."""
        text = self._context.texts[self._cell]
        for at, (node, parts) in enumerate(self._replaced):
            names, made = self._more.get(id(node), ([], []))
            if made:
                words = [one if isinstance(one, str) else text.source(one) for one in made]
                more = f"lambda {', '.join(names)}: [{', '.join(words)}])"
                self._replaced[at] = (node, [f"{MODULE}.with_more(", *parts, ", ", more])

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

    def _asked(self, fetch: ast.AST) -> set[str]:
        """The initializers that are run, and what starts and stops the TPU; nothing if anything else is."""
        several = fetch.elts if isinstance(fetch, (ast.List, ast.Tuple)) else [fetch]
        if self._called(fetch) == _TF + "group" and not fetch.keywords:  # type: ignore[attr-defined]
            several = fetch.args  # type: ignore[attr-defined]
        found: set[str] = set()
        for one in several:
            found |= self._initializers.get(getattr(one, "id", ""), {self._called(one)})
        if not found <= GLOBAL | _LOCAL | computations.SYSTEM:
            return set()
        self._names.update(map(id, several))
        return found
