"""Random histories notice mistakes: each algorithm, changed in one place, fails on a fixed sample.

A mistake stands between algorithm and engine and changes some of the calls, so that it does not
depend on how an algorithm is written. An algorithm without mistake follows the whole sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from stratalog.facts.counts import Count
from stratalog.facts.labels import A, D, E, I, P, Y
from stratalog.facts.sets import FactSet, Meet, Minus, Supported, Union
from stratalog.reason.update import NEW, NOTHING, OLD, STANDING
from tests import naive, updates
from tests.oracle import histories
from tests.oracle.histories import History
from tests.oracle.named_histories import NAMED, named

NR, R = Count.NONRECURSIVE, Count.RECURSIVE
SAMPLE = 60

Call = tuple[str, list[Any], dict[str, Any]]
Mistake = Callable[[str, list[Any], dict[str, Any]], Call | None]
"""Returns the call as it is made instead; None if it is not made at all."""


@cache
def sample() -> list[History]:
    """Return the fixed sample: small histories, and dense random ones whose steps are all kept."""
    found: list[History] = [named(name) for name in NAMED]

    @seed(7)
    @settings(
        max_examples=SAMPLE,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(updates.of_layers())
    def collect(made: updates.Random) -> None:
        program, steps = made
        history = History(program, [replace(step, ends="commit") for step in steps])
        try:
            history.judge_all()
        except naive.TooLargeError:
            return
        found.append(history)

    collect()
    return found


class Mistaken:
    """An engine that is asked for something else than the algorithm wants."""

    def __init__(self, engine: Any, mistake: Mistake) -> None:
        self._engine = engine
        self._mistake = mistake

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._engine, name)

        def call(*args: Any, **options: Any) -> Any:
            made = self._mistake(name, list(args), options)
            if made is None:
                return None
            return method(*made[1], **made[2])

        return call


def exchanged(described: Any, wrong: FactSet, instead: FactSet) -> Any:
    """Return the set with every part that equals `wrong` exchanged."""
    if described == wrong:
        return instead
    if isinstance(described, Union | Meet | Minus):
        left = exchanged(described.left, wrong, instead)
        return type(described)(left, exchanged(described.right, wrong, instead))
    return described


# ---- Mistakes ----------------------------------------------------------------------------------


def reads(call: str, wrong: FactSet, instead: FactSet) -> Mistake:
    """A call reads another set."""

    def mistake(name: str, args: list[Any], options: dict[str, Any]) -> Call:
        if name == call:
            args = [exchanged(a, wrong, instead) if isinstance(a, FactSet) else a for a in args]
        return name, args, options

    return mistake


def negates(call: str, instead: FactSet) -> Mistake:
    """What is negated is looked up in another set."""

    def mistake(name: str, args: list[Any], options: dict[str, Any]) -> Call:
        if name == call and args[2 if call == "apply" else 3] == I | A:
            args[2 if call == "apply" else 3] = instead
        return name, args, options

    return mistake


def uncounted(pos: FactSet, count: Count, *, lower: bool = False) -> Mistake:
    """The instances of one `apply` leave the count as it is."""

    def mistake(name: str, args: list[Any], options: dict[str, Any]) -> Call:
        meant = {"count": count, **({"lower": True} if lower else {})}
        if name == "apply" and args[1] == pos and options == meant:
            options = {}
        return name, args, options

    return mistake


def without_negative_delta(pos: FactSet) -> Mistake:
    """What changed under NOT is overlooked."""

    def mistake(name: str, args: list[Any], options: dict[str, Any]) -> Call:
        if name == "apply" and args[1] == pos and len(args) == 5:
            args = args[:4]
        return name, args, options

    return mistake


def skipped(call: str, *wanted: Any) -> Mistake:
    """A call, with these last arguments, is not made."""

    def mistake(name: str, args: list[Any], options: dict[str, Any]) -> Call | None:
        if name == call and args[len(args) - len(wanted) :] == list(wanted):
            return None
        return name, args, options

    return mistake


def without_backward_rules() -> Mistake:
    """Rules are not evaluated backwards."""

    def mistake(name: str, args: list[Any], options: dict[str, Any]) -> Call:
        if name == "bodies_of":
            args[0] = ()
        return name, args, options

    return mistake


EVERYWHERE: dict[str, Mistake] = {
    "insertion does not raise C_nr": uncounted(NEW, NR),
    "losses under NOT are overlooked": without_negative_delta(OLD),
    "gains under NOT are overlooked": without_negative_delta(NEW),
    "what is deleted keeps its count": skipped("change_count", NR, -1),
}

DELETING: dict[str, Mistake] = {
    "what came back in an earlier stratum does not stand": reads("apply", STANDING, I - D),
    "negation looks only at the old facts": negates("apply", I),
    "C_r is not lowered by changes of earlier strata": uncounted(OLD, R, lower=True),
    "C_r is not lowered by what is deleted": uncounted(STANDING, R, lower=True),
    "C_r is not raised by what is added": uncounted(NEW, R),
}

PROVING: dict[str, Mistake] = {
    "a fact is proved from facts that are not": reads("apply", P, STANDING),
    "what was proved before it was checked is forgotten": skipped("mark", Y),
    "the search goes back no step": without_backward_rules(),
}

MISTAKES: dict[str, dict[str, Mistake]] = {
    "counting": {
        **EVERYWHERE,
        "a fact is deleted whatever its count": reads("settle", Supported(NR), NOTHING),
    },
    "dred": {
        **EVERYWHERE,
        **DELETING,
        "explicit facts do not come back": reads("settle", E, NOTHING),
        "facts come back from deleted ones": reads("bodies_of", STANDING, I),
        "nothing comes back by a rule": without_backward_rules(),
        "a fact comes back although NOT fails now": negates("bodies_of", I),
    },
    "dred-c": {
        **EVERYWHERE,
        **DELETING,
        "facts come back without support": reads("settle", Supported(R), D),
        "no fact comes back": reads("settle", Supported(R), NOTHING),
        "facts with C_nr > 0 are overdeleted": reads("settle", Supported(NR), NOTHING),
    },
    "bf": {
        **EVERYWHERE,
        **DELETING,
        **PROVING,
        "explicit facts need a proof": reads("settle", E, NOTHING),
        "a deleted fact can prove another without recursion": reads("bodies_of", STANDING, I),
    },
    "bf-c": {
        **EVERYWHERE,
        **DELETING,
        **PROVING,
        "facts with C_nr > 0 need a proof": reads("settle", Supported(NR), NOTHING),
    },
    "rematerialise": {
        "counts go on from the old ones": skipped("clear_counts"),
        "C_nr is not counted": uncounted(NEW, NR),
        "C_r is not counted": uncounted(NEW, R),
        "unchanged facts count as new for later strata": skipped("unmark", A),
        "explicit facts are forgotten": reads("settle", E, NOTHING),
    },
}


def follows(history: History, algorithm: str, mistake: Mistake | None) -> bool:
    """Return whether the history is followed without a difference to the judge."""

    def wrapped(maintain: Any) -> Any:
        return lambda engine, stratum, changes: maintain(
            engine if mistake is None else Mistaken(engine, mistake), stratum, changes
        )

    try:
        histories.run(history, algorithm, wrap=wrapped)
    except AssertionError:
        return False
    return True


CASES = [(name, mistake) for name, mistakes in MISTAKES.items() for mistake in mistakes]


@pytest.mark.parametrize(("algorithm", "mistake"), CASES)
def test_a_mistake_is_noticed(algorithm: str, mistake: str):
    made = MISTAKES[algorithm][mistake]
    assert not all(follows(history, algorithm, made) for history in sample())


@pytest.mark.parametrize("algorithm", MISTAKES)
def test_without_a_mistake_the_sample_is_followed(algorithm: str):
    assert all(follows(history, algorithm, None) for history in sample()[:30])
