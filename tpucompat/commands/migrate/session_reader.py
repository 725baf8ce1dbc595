"""Reads what a Session is open for: its computations, what they are given, and what it is asked for."""

from __future__ import annotations

import ast
from typing import Any, Callable, Iterator

from tpucompat.commands.migrate import (
    computations,
    session_blocks,
    session_fetches,
    session_functions,
    session_plan,
    session_scopes,
    session_summaries,
    session_variables,
)
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.commands.migrate.session_graph import GLOBAL, Graph
from tpucompat.commands.migrate.session_inputs import MODULE, Fed
from tpucompat.commands.migrate.session_plan import Plan
from tpucompat.names.used import Call, argument, constant, index_of, walk

_TF = "tensorflow."
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


class Reader(Graph):
    """Reads the block that a Session stands in."""

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
        for call in calls:
            self._pass_in(call)
        for statement in before:
            self._extend(statement)
        self._summarize(statements)
        reached = session_functions.reached(self._context, calls)
        known = self._steps.keys() | self._aliases.keys() | self._inputs.placeholders.keys()
        makes = session_functions.check(self._context, reached, known)
        session_functions.check_loops(self._context, calls)
        self._read_steps(reached)
        self._pass_on()
        self._loop(makes)
        self._write_events(before)
        self._read_runs(makes)
        if not any(computation.node for _, computation in self._made):
            raise CannotSee("no computation runs")
        self._check_state(makes)
        self._check_names()
        shared = self._shares(calls, makes)
        self._write_more()
        handled = self._handled(reached)
        naming = session_plan.identities(one.items[0] for one in self._session.naming)
        session_functions.check_around(self._context, reached, handled | naming)
        statements = [one for one, _ in self._made] + list(self._savers.values())
        is_outer = [one for one in statements if any(one is other for other in outer)]
        first = min(is_outer or statements, key=lambda statement: statement.lineno)
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

    def _read_runs(self, makes: bool) -> None:
        """What the Session is asked for, wherever it is open."""
        blocks = [self._session.block, *self._passed.functions]
        runs = {id(node): node for one in blocks for node in walk(one) if self._method(node)}
        for node in runs.values():
            self._run(node, makes)  # type: ignore[arg-type]
        for node in (node for one in blocks for node in walk(one) if id(node) not in runs):
            self._initialize(node, makes)
        if self._each - self._names:
            raise CannotSee("a variable has other uses")

    def _shares(self, calls: list[Call], makes: bool) -> list[ast.Call]:
        """The computations that have a share for each core; others keep the number of their shards."""
        shared = [one.node for one in calls if session_functions.has_shares(self._context, one)]
        rows = [one.node for one in calls if computations.NAMES[one.name] == "replicate"]
        if not session_functions.meets(self._context, calls):
            for one in shared:
                if one not in rows:  # which have one share each
                    self._shard(one)
            return []
        if rows:
            raise CannotSee("it names what each core is given, and these meet: use shard")
        if shared and not makes:
            raise CannotSee("its results are others on fewer cores")
        return shared

    def _initialize(self, node: ast.AST, makes: bool) -> None:
        """``tf.global_variables_initializer().run()``, of the Session that is open."""
        function: Any = node.func if isinstance(node, ast.Call) else None
        if getattr(function, "attr", "") == "run" and not node.args:  # type: ignore[attr-defined]
            asked = self._asked(function.value)
            if asked:
                self._start(node, function.value, asked, makes)  # type: ignore[arg-type]
                self._names |= {id(word.value) for word in node.keywords}  # type: ignore[attr-defined]

    def _pass_on(self) -> None:
        """Functions that are given the Session may be given a computation, whole, and what feeds it."""
        for name in self._inputs.placeholders:
            for given, read in self._passed.named(name):
                self._names.add(id(given))
                self._inputs.called.update({id(one): name for one in read})
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

    def _write_events(self, before: list[ast.Assign]) -> None:
        """Files of summaries that the script makes by itself, which need no graph."""
        blocks = [*before, self._session.block, *self._passed.functions]
        for node in {id(node): node for one in blocks for node in walk(one)}.values():
            if self._called(node) == _TF + "summary.FileWriter":
                parts = session_fetches.writes(node, self._name)  # type: ignore[arg-type]
                if parts is None:
                    raise CannotSee("arguments of tf.summary.FileWriter")
                self._names |= session_plan.identities([node])
                self._replaced.append((node, parts))
            elif getattr(getattr(node, "func", None), "attr", "") == "add_graph":
                statement, given = self._parents[id(node)], node.args  # type: ignore[attr-defined]
                is_graph = all(session_fetches.is_graph(one, self._name) for one in given)
                if is_graph and isinstance(statement, ast.Expr):
                    self._dropped.append(statement)

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
        elif isinstance(fetch, ast.Name) and fetch.id in self._shown:
            self._show(node, fetch, feeds)
        elif isinstance(fetch, ast.Name) and fetch.id in self._loads:
            variable, fed = self._loads[fetch.id]
            self._names.add(id(fetch))
            self._replaced.append(
                (node, [variable, ".assign(", *self._inputs.values(feeds, [fed]), ")"])
            )
        else:
            self._fetch(node, fetch, feeds, makes)

    def _show(self, node: ast.Call, fetch: ast.Name, feeds: Fed) -> None:
        """A run of summaries of what it is fed."""
        shown, text = self._shown[fetch.id], self._context.texts[self._cell]
        if feeds.by is not None or {*feeds} != {*shown.values()}:
            raise CannotSee("a summary is fed something else than what it shows")
        self._names.add(id(fetch))
        values = {tag: text.source(feeds[name]) for tag, name in shown.items()}
        self._replaced.append((node, [session_summaries.written(values)]))

    def _fetch(self, node: ast.Call, fetch: ast.AST, feeds: Fed, makes: bool) -> None:
        """A run of a computation becomes a call."""
        if isinstance(fetch, ast.Dict):
            keys = [constant(one) for one in fetch.keys]
            if not all(isinstance(one, str) for one in keys):
                raise CannotSee("what the Session fetches by other keys than words")
            several = ast.copy_location(ast.List(fetch.values, ast.Load()), fetch)
            self._fetch(node, several, feeds, makes)
            self._replaced[-1] = (node, [f"dict(zip({keys}, ", *self._replaced[-1][1], "))"])
            return
        names = fetch.elts if isinstance(fetch, (ast.List, ast.Tuple)) else [fetch]
        values = [self._value(one, makes) for one in names]
        places = [self._place(one) for one, value in zip(names, values) if not value]
        if not names or not all(place.computations for place in places):
            raise CannotSee(
                f"the Session fetches more than a computation: {session_plan.shown(self._context, fetch)}"
            )
        if any(values):
            wanted = places[0].computations[0].given if places else []
            given = self._inputs.values(feeds, wanted)
            is_list = isinstance(fetch, (ast.List, ast.Tuple))
            parts = session_fetches.beside(fetch, places, given, values) if is_list else values
            self._replaced.append((node, parts))
            return
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
        given = self._inputs.values(feeds, found[0].given)
        self._replaced.append((node, [f"{head}{found[0].name}(", *given, ")" + tail]))

    def _value(self, fetch: ast.AST, makes: bool) -> str:
        """What is written for the value of a variable, or a list of them; "" for something else."""
        text = self._context.texts[self._cell]
        name, named = getattr(fetch, "id", ""), constant(fetch)
        listed = fetch.value if isinstance(fetch, ast.Subscript) else fetch
        if self._called(listed) in _ASKED:
            if not makes or self._variables:
                raise CannotSee("variables of several kinds")
            behind = text.source(fetch)[len(text.source(listed)) :]  # of tf.global_variables()[0]
            return _ASKED[self._called(listed)].format(self._program) + behind
        if (
            isinstance(named, str)
            and makes
            and session_fetches.names_variable(self._context, named)
        ):
            return f"{self._program}.value({text.source(fetch)})"
        if name in self._steps or name in self._variables or id(fetch) in self._each:
            self._names.add(id(fetch))
            return f"{self._program}.global_step()" if name in self._steps else name + ".numpy()"
        return ""

    def _place(self, fetch: ast.AST) -> session_fetches.Place:
        """The computations that a fetch may stand for, and which of their results."""
        index = None
        if isinstance(fetch, ast.Subscript):  # result[0]
            index = constant(index_of(fetch))
            is_known = isinstance(index, int) and isinstance(fetch.value, ast.Name)
            fetch = fetch.value if is_known else fetch
        self._names.add(id(fetch))
        name = getattr(fetch, "id", "")
        if name in self._outputs and index is None:
            one, index = self._outputs[name]
            return session_fetches.Place([one], index)
        found = self._renamed.get(id(fetch)) or self._computations.get(name, [])
        return session_fetches.Place([one._replace(name=name) for one in found], index)

    def _start(self, node: ast.Call, fetch: ast.AST, asked: set[str], makes: bool) -> None:
        statement = self._context.innermost(node, self._cell)
        names = {getattr(one, "id", "") for one in getattr(statement, "targets", ())}
        is_read = any(isinstance(one.ctx, ast.Load) for one in self._seen(names))
        if statement.value is not node or (names and ("" in names or is_read)):
            raise CannotSee("what starting the TPU returns is used")
        if not asked & GLOBAL or not makes:
            self._dropped.append(statement)
        else:
            self._replaced.append((node, [f"{self._program}.initialize()"]))
        if asked & GLOBAL and self._variables:
            again = self._is_initialized or not any(one is statement for one in self._session.body)
            if again or any(self._method(one) for one in self._earlier(statement)):
                raise CannotSee("variables are initialized again")
        self._is_initialized = self._is_initialized or bool(asked & GLOBAL)

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
        defined.append(self._shown)
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
