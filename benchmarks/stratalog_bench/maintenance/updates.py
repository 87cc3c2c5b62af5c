"""Whole updates of a knowledge base of universities, as users make them, against starting anew.

`kb.update` is given Arrow tables of facts by name, so that finding the numbers of constants is
part of what is timed. Deletions and insertions take turns with materialising from scratch.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.facts.labels import E, I
from stratalog.lang.syntax import Predicate
from stratalog_bench import measure as memory
from stratalog_bench.generate.columns import TYPE_KEY, EncodedColumns
from stratalog_bench.generate.universities import lubm
from stratalog_bench.maintenance.digest import digest
from stratalog_bench.measure import Clock, Lap
from stratalog_bench.systems.base import Told
from stratalog_bench.systems.own import dictionary_of, make_engine, run
from stratalog_bench.workloads.inputs import Input, write_input

if TYPE_CHECKING:
    import pyarrow as pa

    from stratalog.knowledge.base import KnowledgeBase

Rows = Mapping[str, npt.NDArray[np.int64]]  # by predicate
QUARTER = 0.25


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is measured."""

    universities: int
    rules: str = ""  # the generator's own, if there are none
    facts: int = 1_000  # in an update
    turns: int = 5
    single: int = 1_000  # updates of one fact


@dataclass(slots=True)
class Timed:
    """Updates of one kind: seconds of each call, and of its reasoning alone."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    reason_cpu: list[float] = field(default_factory=list)

    def add(self, lap: Lap, reason_cpu: float) -> None:
        """Take in a call."""
        self.cpu.append(lap.cpu)
        self.wall.append(lap.wall)
        self.reason_cpu.append(reason_cpu)

    def figures(self) -> dict[str, Any]:
        """Return the least and the median of each, and how many there were."""
        found: dict[str, Any] = {"runs": len(self.cpu)}
        for name in ("cpu", "wall", "reason_cpu"):
            values = getattr(self, name)
            found |= {name: min(values), f"{name}_median": statistics.median(values)}
        return found


def measure(folder: Path, amounts: Amounts, told: Told) -> dict[str, Any]:
    """Return the times of all kinds of update, and what was wrong, if anything was."""
    import stratalog

    told("making facts")
    made = lubm(universities=amounts.universities)
    given = write_input(made, folder / "columns", amounts.rules or None)
    told("materialising")
    tables = made.tables()
    clock = Clock()
    kb = stratalog.materialise(given.rules, tables, progress=False)
    lap = clock.lap()
    memory.forget_peak()
    updates = _Updates(kb, made, given, amounts, told)
    updates.times["materialise"] = Timed([lap.cpu], [lap.wall], [kb.stats["phases"]["reason_cpu"]])
    return updates.measure(folder / "store")


class _Updates:
    """A knowledge base that is updated and each time brought back to where it was."""

    def __init__(
        self,
        kb: KnowledgeBase,
        made: EncodedColumns,
        given: Input,
        amounts: Amounts,
        told: Told,
    ) -> None:
        self._kb, self._amounts, self._told = kb, amounts, told
        self._facts = Facts(made)
        self._given = given
        self.times: dict[str, Timed] = {}
        self._problems: list[str] = []
        self._start = digest(_engine(kb))

    def measure(self, store: Path) -> dict[str, Any]:
        gc.collect()
        gc.freeze()  # what is there now will stay
        self._thousands()
        self._singles()
        self._quarter()
        base, stored = memory.resident_bytes(), self._stored(store)
        return {
            "explicit": self._start.explicit,
            "facts": self._start.facts,
            "many": self._amounts.facts,
            "times": {name: timed.figures() for name, timed in self.times.items()},
            "store": stored,
            "base_bytes": base,
            "peak_bytes": memory.peak_bytes(),
            "problems": self._problems,
        }

    def _thousands(self) -> None:
        """Delete and insert a thousand facts, in turn with materialising all from scratch."""
        size = min(self._amounts.facts, self._facts.count // 2)
        for turn in range(self._amounts.turns + 1):
            self._told(f"{size:,} facts, turn {turn + 1}")
            rows = self._facts.sample(size, turn)
            noted = "many" if turn else ""
            self._delete_and_insert(self._facts.tables(rows), noted)
            self._afresh({}, "scratch" if turn else "")

    def _singles(self) -> None:
        self._told("facts one by one")
        for number in self._facts.sample_numbers(self._amounts.single, 1000):
            tables = self._facts.tables(self._facts.rows(np.array([number])))
            self._delete_and_insert(tables, "one", checked=False)
        self._check("one by one")

    def _quarter(self) -> None:
        """Delete a quarter of the facts, and materialise what is left from scratch."""
        rows = self._facts.sample(round(QUARTER * self._facts.count), 2000)
        tables = self._facts.tables(rows)
        for turn in range(min(self._amounts.turns, 3)):
            self._told(f"a quarter of the facts, turn {turn + 1}")
            self._timed("quarter delete", delete=tables)
            left = _sums(_engine(self._kb))
            if self._afresh(rows, "quarter scratch") != left:
                self._problems.append("a quarter deleted: not what is found from scratch")
            self._timed("quarter insert", insert=tables)
            self._check("a quarter")
        few = self._facts.tables(self._facts.sample(self._amounts.facts, 3000))
        for _ in range(self._amounts.turns):
            self._delete_and_insert(few, "later")

    def _stored(self, store: Path) -> dict[str, int]:
        """Return the bytes of a saved store, and how many an update writes; opened afresh."""
        import stratalog

        self._told("store")
        self._kb.save(store)
        self._kb.close()
        clock = Clock()
        self._kb = stratalog.open(store)
        lap = clock.lap()
        self.times["open"] = Timed([lap.cpu], [lap.wall], [0.0])
        before = _files(store)
        tables = self._facts.tables(self._facts.sample(self._amounts.facts, 1))
        self._timed("stored delete", delete=tables)
        between = _files(store)
        self._timed("stored insert", insert=tables)
        self._check("stored")
        return {
            "bytes": sum(size for size, _ in before.values()),
            "delete_bytes": _written(before, between),
            "insert_bytes": _written(between, _files(store)),
        }

    def _delete_and_insert(
        self, tables: Mapping[str, pa.Table], noted: str, *, checked: bool = True
    ) -> None:
        self._timed(noted and f"{noted} delete", delete=tables)
        self._timed(noted and f"{noted} insert", insert=tables)
        if checked:
            self._check(noted)

    def _timed(
        self,
        name: str,
        insert: Mapping[str, pa.Table] | None = None,
        delete: Mapping[str, pa.Table] | None = None,
    ) -> None:
        """Update; note the time under a name, if there is one."""
        timed_update(self._kb, self.times, name, insert, delete)

    def _check(self, when: str) -> None:
        found = digest(_engine(self._kb))
        if found != self._start:
            self._problems.append(f"{when}, inserted again: {found}; before: {self._start}")

    def _afresh(self, gone: Rows, name: str) -> dict[str, tuple[int, ...]]:
        """Materialise all facts but some in another engine; return its sums."""
        given = self._given
        engine = make_engine(dictionary_of(given))
        for predicate, relation in given.predicates().items():
            columns = given.columns(relation, as_values=False)
            kept = np.delete(columns, gone.get(predicate.name[1:-1], []), axis=1)
            engine.load(predicate, list(kept), kept.shape[1])
        strata = given.plan(modules="auto").strata
        clock = Clock()
        run(engine, strata)
        lap = clock.lap()
        if name:
            self.times.setdefault(name, Timed()).add(lap, lap.cpu)
        return _sums(engine)


def timed_update(
    kb: KnowledgeBase,
    times: dict[str, Timed],
    name: str,
    insert: Mapping[str, pa.Table] | None,
    delete: Mapping[str, pa.Table] | None,
) -> None:
    """Update a knowledge base; note the time under a name, if there is one."""
    clock = Clock()
    changes = kb.update(insert, delete)
    lap = clock.lap()
    if name:
        times.setdefault(name, Timed()).add(lap, changes.stats["phases"]["reason_cpu"])


class Facts:
    """The explicit facts, numbered across all predicates."""

    def __init__(self, made: EncodedColumns) -> None:
        self._made = made
        sizes = [len(relation) for relation in made.relations.values()]
        self._first = np.concatenate([[0], np.cumsum(sizes)])
        self.count = int(self._first[-1])

    def sample_numbers(self, size: int, seed: int) -> npt.NDArray[np.int64]:
        """Return the numbers of random facts."""
        random = np.random.default_rng(seed)
        return random.choice(self.count, min(size, self.count), replace=False)

    def sample(self, size: int, seed: int) -> Rows:
        """Return random facts."""
        return self.rows(self.sample_numbers(size, seed))

    def rows(self, numbers: npt.NDArray[np.int64]) -> Rows:
        """Return which rows of each predicate these facts are."""
        ordered = np.sort(numbers)
        bounds = np.searchsorted(ordered, self._first)
        return {
            name: ordered[low:high] - first
            for name, low, high, first in zip(
                self._made.relations, bounds[:-1], bounds[1:], self._first[:-1], strict=True
            )
            if high > low
        }

    def tables(self, rows: Rows) -> dict[str, pa.Table]:
        """Return facts as users have them: tables of texts, by predicate."""
        return {f"<{name}>": self._table(name, chosen) for name, chosen in rows.items()}

    def _table(self, name: str, chosen: npt.NDArray[np.int64]) -> pa.Table:
        import pyarrow as pa

        relation = self._made.relations[name]
        columns, fields = [], []
        for place, (ids, kind) in enumerate(zip(relation.columns, relation.types, strict=True)):
            used, places = np.unique(ids[chosen], return_inverse=True)
            texts = self._made.texts.take(pa.array(used))
            columns.append(pa.DictionaryArray.from_arrays(places.astype(np.int32), texts))
            fields.append(pa.field(f"c{place}", columns[-1].type, metadata={TYPE_KEY: kind}))
        return pa.table(columns, schema=pa.schema(fields))


def _engine(kb: KnowledgeBase) -> ColumnarEngine:
    engine = kb._host.engine  # noqa: SLF001  # no method of users tells counts
    assert isinstance(engine, ColumnarEngine)  # noqa: S101
    return engine


def _sums(engine: ColumnarEngine) -> dict[str, tuple[int, ...]]:
    """Return facts, explicit facts and the sums of both counts for each predicate with facts.

    Unlike a digest, they are the same however constants are numbered.
    """
    found = {}
    for predicate, relation in engine.relations.items():
        rows = engine.rows_of(relation, I)
        if rows.size:
            counts = (int(count[rows].sum(dtype=np.int64)) for count in relation.counts)
            found[_named(predicate)] = (rows.size, engine.size(predicate, E), *counts)
    return found


def _named(predicate: Predicate) -> str:
    return f"{predicate.name}/{predicate.arity}"


def _files(store: Path) -> dict[Path, tuple[int, int]]:
    """Return size and time of change of every file."""
    paths = (path for path in store.rglob("*") if path.is_file())
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in paths}


def _written(before: Mapping[Path, object], after: Mapping[Path, tuple[int, int]]) -> int:
    """Return the bytes of files that are new or have changed."""
    return sum(told[0] for path, told in after.items() if before.get(path) != told)
