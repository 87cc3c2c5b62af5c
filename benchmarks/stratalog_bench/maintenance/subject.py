"""A materialisation in memory whose explicit facts are deleted and inserted, with a clock."""

from __future__ import annotations

import gc
import math
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.errors import EngineError
from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.labels import E
from stratalog.knowledge.adapters import ColumnarHost
from stratalog.lang.syntax import Predicate
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason import seminaive
from stratalog.reason.choose import Chooser
from stratalog.reason.update import Changed, StratumChanges, update
from stratalog.runtime.limits import Limits
from stratalog_bench.maintenance.digest import Digest, digest
from stratalog_bench.maintenance.prepare import terms_of
from stratalog_bench.measure import Clock
from stratalog_bench.workloads.inputs import Input

ALGORITHMS = ("dred-c", "dred", "bf-c", "bf", "auto")
TIME_LIMIT = "E102"  # the engine's error
NOTHING = ColumnarBatch({})


class CpuLimits(Limits):
    """Limits whose time is that of the CPU: a busy machine makes no run end earlier."""

    __slots__ = ("_end",)

    def start(self, absent: int = 0) -> None:
        super().start(absent)
        self._end = math.inf if self.timeout is None else time.process_time() + self.timeout

    def check_time(self, rule: str) -> None:
        if time.process_time() > self._end:
            raise EngineError(TIME_LIMIT, f"{self.timeout} s of CPU time: {rule}")


@dataclass(slots=True)
class Took:
    """What an update took; `chosen` tells how many strata with rules each algorithm kept."""

    cpu: float
    wall: float
    work: int
    removed: int = 0
    added: int = 0
    chosen: dict[str, int] = field(default_factory=dict)

    def as_figures(self) -> dict[str, Any]:
        """Return all as JSON can hold it."""
        return asdict(self)


class Subject:
    """An engine with a data set, materialised with both counts."""

    def __init__(
        self, given: Input, limit: float, *, modules: str = "off", patience: float | None = None
    ) -> None:
        """Materialise, within CPU seconds if there is a `patience`; `limit` is for updates."""
        self.plan = given.plan(modules=modules)
        self.terms = terms_of(given)
        self.limits = CpuLimits(timeout=patience)
        self.limits.start()
        self.host = ColumnarHost(self.terms, self.limits)
        for predicate, relation in given.predicates().items():
            columns = given.columns(relation, as_values=False)
            self.host.load(predicate, list(columns), relation.rows)
        self.limits.start()  # loading does not count
        self.materialised = _materialised(self.engine, self.plan.strata)
        self.limits.timeout = limit
        self._maintenance = Chooser(self.host)
        relations = [(r, self.engine.rows_of(r, E)) for r in self.engine.by_number]
        self._explicit = [(relation, rows) for relation, rows in relations if rows.size]
        self.start = self.digest()

    @property
    def engine(self) -> ColumnarEngine:
        """Where the facts live."""
        return self.host.engine

    @property
    def explicit(self) -> int:
        """The number of explicit facts before anything is deleted."""
        return sum(rows.size for _, rows in self._explicit)

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms that can keep all strata."""
        is_recursive = any(stratum.recursive for stratum in self.plan.strata)
        return ALGORITHMS if is_recursive else ("counting", *ALGORITHMS)

    def facts_and_rules(self) -> dict[str, int]:
        """Return how many facts there are, and the rules as 001's Table 1 counts them."""
        strata = self.plan.strata
        return {
            "explicit": self.start.explicit,
            "facts": self.start.facts,
            "strata": sum(1 for s in strata if s.nonrecursive or s.recursive),
            "levels": _levels(strata),
            "nonrecursive": sum(len(s.nonrecursive) for s in strata),
            "recursive": sum(len(s.recursive) for s in strata),
        }

    def shuffled(self, seed: int) -> npt.NDArray[np.int64]:
        """Return the numbers of all explicit facts in random order."""
        return np.random.default_rng(seed).permutation(self.explicit)

    def batch(self, numbers: npt.NDArray[np.int64]) -> ColumnarBatch:
        """Return explicit facts by number."""
        ordered, found, first = np.sort(numbers), {}, 0
        for relation, rows in self._explicit:
            low, high = np.searchsorted(ordered, (first, first + rows.size))
            if high > low:
                found[relation.number] = rows[ordered[low:high] - first]
            first += rows.size
        return ColumnarBatch(found)

    def forget_choices(self) -> None:
        """Let `auto` know nothing of earlier updates."""
        self._maintenance = Chooser(self.host)

    def delete(self, name: str, batch: ColumnarBatch) -> Took | None:
        """Delete facts by an algorithm; None, and nothing has changed, beyond the time limit.

        `commit` or `roll_back` must follow.
        """
        try:
            return self._update(name, batch, NOTHING)
        except EngineError as error:
            if error.code != TIME_LIMIT:
                raise
            self.roll_back()
            return None

    def insert(self, name: str, batch: ColumnarBatch) -> Took:
        """Insert facts that were deleted; `commit` must follow."""
        limit, self.limits.timeout = self.limits.timeout, None
        took = self._update(name, NOTHING, batch)
        self.limits.timeout = limit
        return took

    def _update(self, name: str, deleted: ColumnarBatch, inserted: ColumnarBatch) -> Took:
        chosen: Counter[str] = Counter()

        def maintain(
            engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges
        ) -> Changed:
            changed, choice = self._maintenance.choose(name, engine, stratum, changes)
            if stratum.nonrecursive or stratum.recursive:
                chosen[choice.algorithm] += 1
            return changed

        engine = self.engine
        before = engine.work()
        self.limits.start()
        engine.begin()
        with _undisturbed():
            clock = Clock()
            done = update(engine, self.plan.strata, deleted, inserted, maintain)
            lap = clock.lap()
        work = engine.work() - before
        return Took(lap.cpu, lap.wall, work, len(done.removed), len(done.added), dict(chosen))

    def commit(self) -> None:
        """Let the last update stand."""
        self.engine.commit()

    def roll_back(self) -> None:
        """Undo the last update."""
        self.engine.roll_back()

    def digest(self) -> Digest:
        """Return the digest of what there is now."""
        return digest(self.engine)

    def afresh(
        self, without: ColumnarBatch, counts: Collection[Count] = tuple(Count)
    ) -> tuple[ColumnarEngine, Took]:
        """Materialise all explicit facts but some in another engine; loading is not timed."""
        engine = ColumnarEngine(self.terms)
        for relation, rows in self._explicit:
            gone = without.rows.get(relation.number)
            kept = rows if gone is None else np.setdiff1d(rows, gone, assume_unique=True)
            engine.load(relation.predicate, [c[kept] for c in relation.columns], kept.size)
        return engine, _materialised(engine, self.plan.strata, counts)


def _materialised(
    engine: ColumnarEngine, strata: Sequence[Stratum], counts: Collection[Count] = tuple(Count)
) -> Took:
    """Materialise what is loaded; return what that took."""
    with _undisturbed():
        clock = Clock()
        seminaive.materialise(engine, strata, counts=counts)
        lap = clock.lap()
    return Took(lap.cpu, lap.wall, engine.work())


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let Python not look for garbage meanwhile, in what earlier runs have left."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _levels(strata: Sequence[Stratum]) -> int:
    """Return the number of strata where as many as possible are one: the longest chain of them."""
    level: dict[Predicate, int] = {}
    for stratum in strata:
        if stratum.nonrecursive or stratum.recursive:
            below = (level.get(p, 0) for p in stratum.reads - stratum.predicates)
            level.update(dict.fromkeys(stratum.predicates, 1 + max(below, default=0)))
    return max(level.values(), default=0)
