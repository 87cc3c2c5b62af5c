"""Rounds of an update, counted and watched: told to the user, stopped if they do not end."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from stratalog.errors import EngineError
from stratalog.facts.engine import Engine
from stratalog.facts.labels import A, D
from stratalog.facts.sets import Batch, Label
from stratalog.knowledge.options import Options
from stratalog.lang.builtins.functions import VALUE_KEY
from stratalog.lang.syntax import Bind, Call, Filter
from stratalog.plan.rules import PlannedRule, Stratum

MOST_ROUNDS_WITH_BIND = 100_000
"""Rounds of a recursion through BIND before we say that it does not end."""


class Rounds:
    """An engine that also counts rounds: each marks the facts that it deletes or adds, once.

    `notice` is told how many there were since the last `start`, and what this one marks.
    """

    def __init__(self, engine: Engine[PlannedRule], notice: Callable[[int, Batch], None]) -> None:
        self._engine = engine
        self._notice = notice
        self._begun = 0
        self.count = 0

    def start(self) -> None:
        """Begin to count the rounds of another stratum."""
        self._begun = self.count

    @property
    def of_stratum(self) -> int:
        """How many rounds there were since the last `start`."""
        return self.count - self._begun

    @property
    def engine(self) -> Engine[PlannedRule]:
        """The same object, as algorithms see it."""
        return cast("Engine[PlannedRule]", self)

    def __getattr__(self, name: str) -> object:
        found = getattr(self._engine, name)
        setattr(self, name, found)  # small updates ask for the same methods again and again
        return found

    def mark(self, batch: Batch, label: Label) -> None:
        if label in (D, A) and batch:
            self.count += 1
            self._notice(self.of_stratum, batch)
        self._engine.mark(batch, label)


class Endless:
    """Stops a recursion through BIND that makes values without end, unless a limit will."""

    def __init__(self, options: Options) -> None:
        self._is_bounded = options.max_facts is not None or options.timeout is not None

    def check(self, stratum: Stratum, rounds: int) -> None:
        """Raise if a stratum has taken too many rounds."""
        if rounds <= MOST_ROUNDS_WITH_BIND or self._is_bounded:
            return
        if text := _binds(stratum):
            raise EngineError(
                "E104",
                f"no end after {MOST_ROUNDS_WITH_BIND:,} rounds of a recursion with BIND: {text}",
                help="bound the values with FILTER, or set max_facts= or timeout= to go on",
            )


def _binds(stratum: Stratum) -> str:
    """Return a recursive rule of the stratum that has a BIND, as text, or nothing."""
    for rule in stratum.recursive:
        if rule.origin and any(map(_makes_values, rule.builtins)):
            return rule.origin.text
    return ""


def _makes_values(builtin: Filter | Bind) -> bool:
    """Return whether a built-in is a BIND to more than the key of a value that there is."""
    expression = builtin.expression
    is_key = isinstance(expression, Call) and expression.name == VALUE_KEY
    return isinstance(builtin, Bind) and not is_key
