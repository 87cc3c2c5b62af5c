"""What was measured as figures beside what is wanted of them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from stratalog_bench.modules import scale as wanted
from stratalog_bench.modules.scale import Scale
from stratalog_bench.modules.spark_paths import TOLD
from stratalog_bench.modules.spark_ways import CLOSURE, JOINS, LOOP, ONE_IN
from stratalog_bench.modules.tables import times_faster
from stratalog_bench.modules.targets import WantedTable
from stratalog_bench.systems.registry import INSTALL

Figures = Mapping[str, Any]
CALLS = "updates of graphs, cliques and universities: CPU time of whole calls of kb.update"


def graph_figures(
    table: WantedTable,
    amounts: Scale,
    cells: Mapping[str, Figures],
    found: tuple[Figures, Figures, Figures],
) -> list[str]:
    """Add the figures of DAG-R; return what was wrong."""
    closure, search, called = found
    pairs = closure["pairs"]
    _graph_queryable(table, amounts, cells, closure, search)
    table.tell("DAG-R: a call of materialise", called["materialise"] * 1e3, "ms")
    table.at_most(f"DAG-R: {pairs:,} pairs into Arrow", called["arrow"], wanted.ARROW, "s")
    times = called["times"]
    few = f"{amounts.facts:,} edges"
    for what in ("delete", "insert"):
        table.at_most(
            f"DAG-R: {what} {few}", times[f"edges {what}"]["cpu"] * 1e3, wanted.UPDATE, "ms"
        )
    paper, ours = cells["paper"]["delete"], cells["auto"]["delete"]
    if ours["runs"]:
        times_less = times_faster(paper, ours, amounts.limit)
        table.at_least(
            f"DAG-R: delete {few}, against 000",
            times_less,
            wanted.PAPER,
            is_bound=not paper["runs"],
        )
    each = called["bytes"] / max(pairs, 1)
    table.at_most("DAG-R: relations, per pair", each, wanted.BYTES, "bytes")
    table.tell("DAG-R: memory gained, per pair", called["resident"] / max(pairs, 1), "bytes")
    table.note(CALLS)
    others = {"scipy": search.get("pairs", pairs), "Arrow": called["pairs"]}
    return [
        f"DAG-R: {number:,} pairs by {name}, {pairs:,} by the closure"
        for name, number in others.items()
        if number != pairs
    ]


def _graph_queryable(
    table: WantedTable,
    amounts: Scale,
    cells: Mapping[str, Figures],
    closure: Figures,
    search: Figures,
) -> None:
    table.tell("DAG-R: queryable, from columns of numbers", closure["cpu"] * 1e3, "ms")
    if "missing" in search:
        table.tell("DAG-R: queryable, against scipy's searches", "not measured")
        table.note(f"scipy is not installed: {INSTALL} brings it")
    else:
        table.tell("DAG-R: scipy's breadth-first search from every node", search["cpu"] * 1e3, "ms")
        table.at_least(
            "DAG-R: queryable, against scipy's searches",
            search["cpu"] / closure["cpu"],
            wanted.SEARCHED,
        )
    parts = ", ".join(f"{name} {closure[name] * 1e3:.1f} ms" for name in ("load", "reason", "ask"))
    table.note(f"queryable: {parts}, where 1,000 pairs and the number of all are asked for")
    _against_off(table, "DAG-R: queryable, against modules off", amounts, cells["off"], closure)


def _against_off(
    table: WantedTable, name: str, amounts: Scale, off: Figures, closure: Figures
) -> None:
    ours = {"runs": [{"cpu": closure["cpu"]}]}
    table.at_least(
        name,
        times_faster(off["materialise"], ours, amounts.patience),
        wanted.WITHOUT_MODULES,
        is_bound=not off["materialise"]["runs"],
    )


def example_figures(
    table: WantedTable, name: str, amounts: Scale, cells: Mapping[str, Figures]
) -> None:
    """Add the figures of one of 000's examples."""
    off, ours = cells["off"]["materialise"], cells["auto"]["materialise"]
    if ours["runs"]:
        table.at_least(
            f"{name}: materialise, against modules off",
            times_faster(off, ours, amounts.patience),
            wanted.EXAMPLE,
            is_bound=not off["runs"],
        )


def clique_figures(table: WantedTable, members: int, found: Figures) -> None:
    """Add the figures of single links."""
    name = f"clique of {members:,}"
    for what, (halves, *times) in found["least"].items():
        middle, slowest = statistics.median(times) * 1e3, max(times) * 1e3
        table.at_most(f"{name}: {what} a link, median of {len(times)}", middle, wanted.LINK, "ms")
        table.at_most(f"{name}: {what} a link, the slowest", slowest, wanted.LINK, "ms")
        table.at_most(f"{name}: {what} the link of two halves", halves * 1e3, wanted.LINK, "ms")
    table.note(CALLS)


def university_figures(table: WantedTable, name: str, facts: int, found: Figures) -> None:
    """Add the figures of universities."""
    table.tell(f"{name}: facts", found["facts"])
    for what in ("delete", "insert"):
        times = found["times"][f"facts {what}"]
        title = f"{name}: {what} {facts:,} facts"
        table.at_most(f"{title}, least", times["cpu"] * 1e3, wanted.UNIVERSITY_UPDATE, "ms")
        table.tell(f"{title}, median", times["cpu_median"] * 1e3, "ms")
        table.tell(f"{title}, reasoning, median", times["reason_cpu_median"] * 1e3, "ms")
    table.note(CALLS)


def interleaved_figures(table: WantedTable, name: str, amounts: Scale, found: Figures) -> None:
    """Add the figures of a program without modules."""
    table.holds(f"{name}: equal work, with modules wanted or not", is_met=found["is_equal"])
    for what, ratio in found["ratios"].items():
        title = f"{name}: {what}, median of {amounts.interleaved}, to modules off"
        table.at_most(title, ratio, wanted.SLOWER, "ratio")


def spark_figures(table: WantedTable, edges: int, found: Figures) -> None:
    """Add the figures of DAG-R on Spark."""
    seconds = found["seconds"]
    ours = seconds[CLOSURE]
    table.tell(f"Spark, DAG-R: {TOLD[CLOSURE]}", ours, "s")
    table.holds("Spark, DAG-R: executors list it in one stage", is_met=found["stages"] == 1)
    for way in (LOOP, JOINS):
        taken = seconds[way]
        times = (found["ended"][way] if taken is None else taken) / ours
        name = f"Spark, DAG-R: against {TOLD[way]}"
        table.at_least(name, times, wanted.JOINED, is_bound=taken is None)
        if taken is None:
            ended, why = found["ended"][way], found["why"][way]
            table.note(f"Spark, {TOLD[way]}: not done after {ended:.0f} s, {why}")
    for what in ("delete", "insert"):
        table.tell(f"Spark, DAG-R: {what} {-(-edges // ONE_IN):,} edges", found[what], "s")
    table.note("Spark: local[2], wall seconds")
