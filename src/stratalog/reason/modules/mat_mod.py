"""Materialisation with rule modules.

000 (Hu, Motik, Horrocks: Modular Materialisation of Datalog Programs), Algorithm 2, MAT-MOD.
Lines 7-8 and 10 are in seminaive.py, whose strata without modules are Algorithm 1.
Paper lines: 9, 11-15.

| paper                      | here                                                        |
|----------------------------|-------------------------------------------------------------|
| Δ_1, ..., Δ_n(s)           | own, of the special modules                                 |
| Add^{s,i}                  | module.add                                                  |
| the rest, as one module    | engine.apply(stratum.rest, ...), which counts               |
"""

from __future__ import annotations

from collections.abc import Iterator

from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.sets import Batch, FactSet, Label
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason.modules.functions import Functions
from stratalog.reason.update import NOTHING, union


def rounds(  # noqa: PLR0913  # what the two algorithms that share it differ in
    engine: Engine[PlannedRule],
    stratum: Stratum,
    modules: list[Functions],
    found: Batch,
    present: FactSet,
    label: Label,
    *,
    own: list[Batch] | None = None,
    count: Count | None = Count.RECURSIVE,
) -> Iterator[Batch]:
    """Close what is found under the recursive rules; yield what each round has marked.

    `present` are the facts of the materialisation, to which `label` adds. `own` is what each module
    has derived itself of what is found: it knows all that follows from that.
    """
    own = own or [engine.settle(NOTHING) for _ in modules]  # L9
    while delta := engine.settle(found - present):  # L11
        engine.mark(delta, label)  # L12
        yield delta
        # Differs: the rest module takes one step per round, and so its own facts again (L14).
        derived = engine.apply(stratum.rest, present, present, delta, count=count)
        own = [
            module.add(present, engine.settle(delta - mine))
            for module, mine in zip(modules, own, strict=True)  # L13-14
        ]
        found = union(engine, [derived, *own])  # L15
