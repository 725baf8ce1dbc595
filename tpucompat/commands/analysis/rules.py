"""Which calls of a script a rule is asked about."""

from __future__ import annotations

from typing import Any, Callable, Iterable, TypeVar

_Rule = TypeVar("_Rule", bound=Callable[..., Any])


def of_calls(*names: str, below: tuple[str, ...] = ()) -> Callable[[_Rule], _Rule]:
    """Marks a rule that has something to say of some calls alone.

    Args:
      names: How their names begin: ``.fit`` stands for ``.fit_generator`` too.
      below: How the names of others begin in Keras: ``layers.``; "" for all that is of Keras.
    """

    def mark(rule: _Rule) -> _Rule:
        rule.names, rule.below = names, below  # type: ignore[attr-defined]
        return rule

    return mark


def asked(rules: Iterable[Any], name: str, below: str) -> tuple[Any, ...]:
    """Those of some rules that may have something to say of a call, in their order.

    Args:
      rules: The rules; one that is not marked looks at all calls.
      name: The name of the call.
      below: The same in Keras; "" for anything else.
    """
    return tuple(
        rule
        for rule in rules
        if not hasattr(rule, "names")
        or name.startswith(rule.names)
        or (below != "" and below.startswith(rule.below))
    )
