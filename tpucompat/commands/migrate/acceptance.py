"""What the installed TensorFlow and Keras say of the calls of a rewritten file, without running it.

A :class:`Question` is about a call (are its arguments accepted?), about a method of Keras (does it exist, and
are its arguments accepted?), or about a word that stands for an object of Keras: ``metrics=['cosine']``.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from typing import Any, Iterator, NamedTuple

from tpucompat.commands.analysis import keras_values
from tpucompat.commands.analysis.findings import Module
from tpucompat.commands.analysis.keras_3_members import own_members
from tpucompat.commands.analysis.keras_values import IS_OF_TRAIN, Values, below_keras, key
from tpucompat.commands.migrate import library_acceptance
from tpucompat.names import era
from tpucompat.names.used import Call, argument, constant, walk

_CALL, _WORD = "call", "word"
#: Kind of an object -> the class that has its methods.
_CLASSES = {
    keras_values.MODEL: "tensorflow.keras.Sequential",  # load_model may return one
    keras_values.SEQUENTIAL: "tensorflow.keras.Sequential",
    keras_values.OPTIMIZER: "tensorflow.keras.optimizers.Optimizer",
}
#: Argument of compile -> its place, and the module whose `get` takes its words.
_COMPILED = (("optimizer", 0, "optimizers"), ("loss", 1, "losses"), ("metrics", 2, "metrics"))
#: Words that compile understands by itself.
_OF_COMPILE = frozenset(("accuracy", "acc", "crossentropy", "ce", "auto"))
#: How the arguments of layers that are given as words end -> the module whose `get` takes them.
_ENDINGS = (
    ("activation", "activations"),
    ("initializer", "initializers"),
    ("regularizer", "regularizers"),
    ("constraint", "constraints"),
)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Question(NamedTuple):
    """What is asked.

    Attributes:
      kind: ``call`` or ``word``.
      name: The dotted name that is called, or the module of Keras that has to know the word.
      words: The keyword arguments, sorted; or the one word.
      places: How many arguments are given by position.
    """

    kind: str
    name: str
    words: tuple[str, ...]
    places: int = 0


class Asked(NamedTuple):
    """A question, and where it comes from."""

    question: Question
    node: ast.AST


class _Rewritten(Values):
    """The kinds of the values of a rewritten file: an optimizer of ``tf.train`` that is left in it stays."""

    def _of_call(self, node: ast.Call) -> Iterator[str]:
        if not IS_OF_TRAIN.match(self.called.get(id(node), "")):
            yield from super()._of_call(node)


def questions(module: Module) -> Iterator[Asked]:
    """What a rewritten file asks of TensorFlow and Keras."""
    trees = [tree for tree in module.trees if tree is not None]
    values = _Rewritten(trees, module.names, module.era == era.TF1)
    own = own_members(one for tree in trees for one in walk(tree))
    registered = _registered(trees)
    loops = _loops(trees)
    for name, call in library_acceptance.called(module):
        yield Asked(_question(name, call.node), call.node)
    for call in module.names.calls:
        if call.guarded:
            continue
        yield from _called(call, values, own)
        for word, kind, node in _words(call, values, loops):
            if word not in registered:
                yield Asked(Question(_WORD, kind, (word,)), node)


def _called(call: Call, values: Values, own: set[str]) -> Iterator[Asked]:
    name, node = call.name, call.node
    if name.startswith("."):
        kind = values.kind(getattr(node.func, "value", node))
        above = _CLASSES.get(kind, "")
        is_own = name[1:] in own or key(node.func).startswith(("self.", "cls."))
        if not above or (is_own and kind == keras_values.MODEL):
            return
        name = above + name
    elif name.partition(".")[0] not in ("tensorflow", "keras", "tf_keras"):
        return
    yield Asked(_question(name, node), node)


def _question(name: str, node: ast.Call) -> Question:
    has_stars = any(isinstance(one, ast.Starred) for one in node.args)
    words = tuple(sorted({word.arg for word in node.keywords if word.arg}))
    return Question(_CALL, name, words, 0 if has_stars else len(node.args))


def _loops(trees: list[Any]) -> dict[str, list[ast.expr]]:
    """Variable of a loop -> the list that is written in it."""
    found: dict[str, list[ast.expr]] = {}
    for tree in trees:
        for node in walk(tree):
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                found.setdefault(node.target.id, []).append(node.iter)
    return found


def _words(
    call: Call, values: Values, loops: dict[str, list[ast.expr]]
) -> Iterator[tuple[str, str, ast.AST]]:
    """(word, module of Keras that has to know it, where it stands)"""
    below = below_keras(call.name)
    if call.name == ".compile":
        for name, place, kind in _COMPILED:
            given = argument(call.node, place, name)
            made = [] if given is None else [given, *values.values(given)]
            made += loops.get(getattr(given, "id", ""), [])
            for node in (node for one in made for node in _constants(one)):
                if node.value not in _OF_COMPILE:
                    yield node.value, kind, node
    elif below.startswith("layers."):
        for word in call.node.keywords:
            for ending, kind in _ENDINGS:
                if (word.arg or "").endswith(ending):
                    for node in _constants(word.value):
                        yield node.value, kind, node
        if below == "layers.Activation":
            for node in _constants(call.node.args[0] if call.node.args else None):
                yield node.value, "activations", node


def _constants(node: ast.AST | None) -> Iterator[Any]:
    if isinstance(constant(node), str):
        yield node
    elif isinstance(node, (ast.List, ast.Tuple)):
        for one in node.elts:
            yield from _constants(one)
    elif isinstance(node, ast.Dict):
        for one in node.values:
            yield from _constants(one)


def _registered(trees: list[Any]) -> set[str]:
    """Words that a script may have given a meaning: keys of its dictionaries, and its own functions."""
    found: set[str] = set()
    for tree in trees:
        for node in walk(tree):
            if isinstance(node, ast.Dict):
                found.update(str(constant(one)) for one in node.keys if one is not None)
            elif isinstance(node, ast.Subscript):
                found.add(str(constant(node.slice)))
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.add(node.name)
    return found


# Answers: in a process that has TensorFlow ---------------------------------------------------------------


def objection(question: Question) -> str:
    """Why something would be refused; "" if it is accepted, or nothing can be said."""
    if question.kind == _WORD:
        return _unknown_word(question.name, question.words[0])
    above, _, last = question.name.rpartition(".")
    try:
        found = library_acceptance.candidates(question.name)
        called = None if found else _resolve(question.name)
    except ImportError:
        return ""
    except AttributeError:
        if above in _CLASSES.values() or above.startswith("pandas."):
            return f"{above.rpartition('.')[2]} has no method {last}"
        return ""  # a missing name is reported where it stands
    why = [_refused(one, question, has_self=True) for one in found]
    if found:
        return why[0] if all(why) else ""
    return _refused(called, question, has_self=above in _CLASSES.values())


def _unknown_word(kind: str, word: str) -> str:
    get = _resolve(f"tensorflow.keras.{kind}.get")
    try:
        get(word)
    except (ValueError, TypeError, KeyError):  # KeyError: 'constant', without its value
        return f"Keras knows no {kind[:-1] if kind != 'losses' else 'loss'} {word!r}"
    except Exception:  # it wants to know more
        return ""
    return ""


def _resolve(name: str) -> Any:
    head, *parts = name.split(".")
    value = importlib.import_module(head)
    for part in parts:
        value = getattr(value, part)
    return value


def _refused(called: Any, question: Question, has_self: bool) -> str:
    # A class without one of its own, such as a named tuple, has a signature without self.
    initialize = vars(called).get("__init__") if isinstance(called, type) else None
    try:
        signature = inspect.signature(initialize or called)
    except (TypeError, ValueError):
        return ""
    parameters = list(signature.parameters.values())[1 if initialize or has_self else 0 :]
    last = question.name.rpartition(".")[2]
    unknown = set(question.words) - {one.name for one in parameters if one.kind in _NAMED}
    if any(one.kind == inspect.Parameter.VAR_KEYWORD for one in parameters):
        unknown = {word for word in unknown if not _takes(called, word)}
    if unknown:
        return f"{last} takes no argument {', '.join(sorted(unknown))}"
    places = [
        one for one in parameters if one.kind in (*_NAMED[:1], inspect.Parameter.POSITIONAL_ONLY)
    ]
    is_open = any(one.kind == inspect.Parameter.VAR_POSITIONAL for one in parameters)
    if question.places > len(places) and not is_open:
        return f"{last} takes {len(places)} arguments by position, not {question.places}"
    return ""


def _takes(called: Any, word: str) -> bool:
    """Whether a class passes an argument on to a class that takes it."""
    if not isinstance(called, type):
        return True
    for base in called.__mro__:
        if "__init__" not in vars(base):
            continue
        try:
            parameters = inspect.signature(base.__init__).parameters  # type: ignore[misc]
        except (TypeError, ValueError):
            return True
        if word in parameters:
            return True
        if not any(one.kind == inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
            break
    return _takes_more(called, word)


def _takes_more(called: type, word: str) -> bool:
    """Whether a class of Keras reads an argument that no signature has."""
    keras = _resolve("tensorflow.keras")
    for base, fill in (
        (keras.layers.Layer, {}),
        (keras.optimizers.Optimizer, {"learning_rate": 0.1}),
    ):
        if issubclass(called, base) and not issubclass(called, keras.Sequential):
            if issubclass(called, keras.Model):
                return word in ("inputs", "outputs", "name", "trainable", "dtype")
            try:
                base(name="asked", **fill, **{word: 1})
            except (TypeError, ValueError) as error:
                return "nrecognized" not in str(error) and "not recognized" not in str(error)
            except Exception:
                return True
    return True
