"""A materialisation in memory, told by its facts alone: modes of modules count differently."""

from __future__ import annotations

from collections import Counter

import numpy as np

from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.facts.labels import E, I
from stratalog_bench.maintenance.digest import Digest, mixed
from stratalog_bench.maintenance.subject import Subject

HIDDEN = "$"  # how the names of relations begin that no user sees


class ModularSubject(Subject):
    """An engine with a data set, materialised with rule modules or without."""

    def digest(self) -> Digest:
        """Return the digest of the facts there are now, however they are kept and counted."""
        return facts_digest(self.engine)

    def modules(self) -> str:
        """Return how many relations of each kind have a module."""
        kinds = Counter(m.kind.value for stratum in self.plan.strata for m in stratum.modules)
        return ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))

    def derivations(self) -> int:
        """Return the rule instances that were looked at so far."""
        return sum(cost.derivations for cost in self.engine.profile().values())


def facts_digest(engine: ColumnarEngine) -> Digest:
    """Return the digest of an engine's facts as they are read, and of how many are explicit."""
    facts = explicit = value = 0
    for predicate in list(engine.relations):
        if predicate.name.startswith(HIDDEN):
            continue
        columns, size = engine.read(predicate, I)
        facts += engine.size(predicate, I)
        explicit += engine.size(predicate, E)
        value += int(mixed(predicate, columns, size).sum(dtype=np.uint64))
    return Digest(facts, explicit, value % 2**64)
