"""Materialisation by seminaïve evaluation: each rule instance is considered at most once.

000 (Hu, Motik, Horrocks: Modular Materialisation of Datalog Programs), Algorithm 1, MAT.
Paper lines: 1-6.

| paper            | here                                                    |
|------------------|---------------------------------------------------------|
| Π_nr^s, Π_r^s    | stratum.nonrecursive, stratum.recursive                 |
| O^s              | Over(stratum.predicates)                                |
| Π[I : Δ]         | engine.apply(rules, I, I, delta)                        |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.labels import E, I
from stratalog.facts.sets import Over
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason.modules import mat_mod
from stratalog.reason.modules.functions import functions

Watch = Callable[[int, int, int], None]
"""Called with the stratum's index, the round within it and the size of the round's delta."""


def materialise(
    engine: Engine[PlannedRule],
    strata: Iterable[Stratum],
    watch: Watch = lambda *_: None,
    *,
    counts: Collection[Count] = tuple(Count),
) -> int:
    """Mark every consequence with I, with exact counts; return the number of rounds.

    The engine starts with I = ∅ (L1) and its explicit facts marked E with C_nr = 1. Which counts
    are kept matters to those who compare algorithms: maintenance needs both.
    """
    nonrecursive = Count.NONRECURSIVE if Count.NONRECURSIVE in counts else None
    recursive = Count.RECURSIVE if Count.RECURSIVE in counts else None
    rounds = 0
    for s, stratum in enumerate(strata):  # L2
        here = Over(stratum.predicates)
        # Differs: each derivation is also counted (001), nonrecursive and recursive ones apart.
        derived = engine.apply(stratum.nonrecursive, I, I, count=nonrecursive)
        delta = engine.settle((E & here) | derived)  # L3
        if stratum.closing is not None and engine.hold(stratum.closing, delta):
            if delta:
                rounds += 1
                watch(s, rounds, len(delta))
            continue
        if stratum.modules:  # Algorithm 2
            modules = functions(engine, stratum)
            for new in mat_mod.rounds(engine, stratum, modules, delta, I, I, count=recursive):
                rounds += 1
                watch(s, rounds, len(new))
            continue
        while delta:  # L4
            rounds += 1
            watch(s, rounds, len(delta))
            engine.mark(delta, I)  # L5
            # Differs: where an engine closes a delta under the rules at once, L4-6 are one step.
            closed = engine.saturate(stratum.recursive, I, delta, count=recursive)
            if closed is not None:
                engine.mark(closed.facts, I)
                rounds += closed.rounds
                break
            derived = engine.apply(stratum.recursive, I, I, delta, count=recursive)
            delta = engine.settle(derived - I)  # L6
    return rounds
