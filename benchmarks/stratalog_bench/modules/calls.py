"""Calls as users make them: `materialise`, `facts` and `update` on a knowledge base."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stratalog_bench import measure as memory
from stratalog_bench.generate.columns import EncodedColumns
from stratalog_bench.generate.graphs import cliques, dag
from stratalog_bench.generate.universities import lubm
from stratalog_bench.generate.workload import Workload
from stratalog_bench.maintenance.updates import Facts, Timed, timed_update
from stratalog_bench.measure import Clock
from stratalog_bench.systems.base import Told

if TYPE_CHECKING:
    import pyarrow as pa

    from stratalog.knowledge.base import KnowledgeBase

Tables = Mapping[str, "pa.Table"]


class Calls:
    """A knowledge base with rule modules, brought back to where it was after each update."""

    def __init__(self, made: Workload | EncodedColumns, rules: str, told: Told) -> None:
        import stratalog

        told("starting")
        _warm()
        told("materialising")
        tables = made.tables()
        memory.forget_peak()
        before = memory.resident_bytes()
        clock = Clock()
        self.kb = stratalog.materialise(rules or made.rules, tables, progress=False)
        self.materialise = clock.lap().cpu
        self.resident = memory.resident_bytes() - before
        self.times: dict[str, Timed] = {}
        self.problems: list[str] = []
        self._sizes = self._all_sizes()
        gc.collect()
        gc.freeze()  # what is there now will stay

    def turn(self, tables: Tables, noted: str) -> None:
        """Delete facts and insert them again; note both times under a name, if there is one."""
        timed_update(self.kb, self.times, noted and f"{noted} delete", None, tables)
        if self._all_sizes() == self._sizes:
            self.problems.append(f"{noted}: nothing is gone after a deletion")
        timed_update(self.kb, self.times, noted and f"{noted} insert", tables, None)
        if (found := self._all_sizes()) != self._sizes:
            self.problems.append(f"{noted}, inserted again: {found}; before: {self._sizes}")

    def _all_sizes(self) -> list[dict[str, tuple[int, int]]]:
        """Return how many facts there are, and how many are explicit, of each predicate."""
        return [self.kb.sizes(), self.kb.sizes(only="explicit")]

    def figures(self) -> dict[str, Any]:
        """Return all times, and how much there is."""
        facts = sum(size for _, size in self._sizes[0].values())
        return {
            "facts": facts,
            "materialise": self.materialise,
            "bytes": bytes_of(self.kb),
            "resident": self.resident,
            "times": {name: timed.figures() for name, timed in self.times.items()},
            "problems": self.problems,
        }


def _warm() -> None:
    """Let kernels be compiled, or read, by a small graph and a small clique."""
    import stratalog

    for made in (dag(nodes=40, edges=80, recursion="both"), cliques(cliques=2, size=10)):
        kb = stratalog.materialise(made.rules, made.tables(), progress=False)
        few = {name: table.slice(0, 2) for name, table in made.tables().items()}
        kb.update(delete=few)
        kb.update(insert=few)


def bytes_of(kb: KnowledgeBase) -> int:
    """Return the bytes that the engine's relations take."""
    return int(kb._host.nbytes())  # noqa: SLF001  # users are told bytes per fact, rounded


def graph(parameters: Mapping[str, Any], size: int, turns: int, told: Told) -> dict[str, Any]:
    """Return what a graph's closure costs: to be spelled out, and when edges come and go."""
    made = dag(**parameters)
    calls = Calls(made, "", told)
    figures: dict[str, Any] = calls.figures()  # before anybody has asked for its facts
    rows = made.facts["edge"]
    for turn in range(turns + 1):
        told(f"updates, turn {turn}")
        chosen = np.random.default_rng(turn).permutation(len(rows))[:size]
        calls.turn(_tables(made, "edge", chosen), "edges" if turn else "")
    figures["times"] = calls.figures()["times"]
    spelled = []
    for turn in range(turns + 1):
        told(f"into Arrow, turn {turn}")
        clock = Clock()
        table = calls.kb.facts("path")
        spelled.append(clock.lap().cpu)
        pairs = table.num_rows
        del table
    if pairs != len(calls.kb["path"]):
        calls.problems.append(f"{pairs:,} pairs in Arrow, {len(calls.kb['path']):,} counted")
    return figures | {"arrow": min(spelled[1:]), "pairs": pairs, "problems": calls.problems}


def clique(parameters: Mapping[str, Any], links: int, turns: int, told: Told) -> dict[str, Any]:
    """Return the times of single links, of each the least of all turns: first that of halves."""
    made = two_halves(**parameters)
    calls = Calls(made, "", told)
    others = 1 + np.random.default_rng(0).permutation(len(made.facts["related"]) - 1)[:links]
    calls.turn(_tables(made, "related", others[:1]), "")
    least: dict[str, list[float]] = {"delete": [], "insert": []}
    for number, link in enumerate((0, *others)):
        told(f"link {number + 1}")
        for _ in range(turns):
            calls.turn(_tables(made, "related", [link]), f"{number}")
        for what, found in least.items():
            found.append(min(calls.times[f"{number} {what}"].cpu))
    return calls.figures() | {"times": {}, "least": least}


def two_halves(size: int, extra: int) -> Workload:
    """Return a clique of two halves that one link holds together, the first of its facts."""
    half = cliques(cliques=1, size=size // 2, extra=extra)
    rows, shift = half.facts["related"], size // 2
    return replace(half, facts={"related": np.concatenate([[[0, shift]], rows, rows + shift])})


def universities(number: int, rules: str, size: int, turns: int, told: Told) -> dict[str, Any]:
    """Return the times of updates of so many facts."""
    made = lubm(universities=number)
    facts = Facts(made)
    calls = Calls(made, rules, told)
    for turn in range(turns + 1):
        told(f"{size:,} facts, turn {turn}")
        calls.turn(facts.tables(facts.sample(size, turn)), "facts" if turn else "")
    return calls.figures()


def _tables(made: Workload, name: str, rows: Sequence[int] | npt.NDArray[np.int64]) -> Tables:
    """Return chosen facts of a predicate as a table."""
    return {name: made.tables()[name].take(rows)}
