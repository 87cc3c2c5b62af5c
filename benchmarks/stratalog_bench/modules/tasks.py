"""The tasks of modules: each is a part, whose kernels are counted that were compiled meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core import event

from stratalog_bench.measure import touch_memory
from stratalog_bench.modules import calls, interleaved, queryable
from stratalog_bench.modules import measurement as cell
from stratalog_bench.modules.measurement import Amounts
from stratalog_bench.systems.base import COMPILED, Told
from stratalog_bench.workloads.inputs import make_input

WARM: dict[str, dict[str, int | str]] = {
    "cliques": {"cliques": 3, "size": 12},
    "dag": {"nodes": 60, "edges": 150, "recursion": "both"},
}


def measure(
    folder: Path, told: Told, part: str, amounts: dict[str, Any], touched: int = 0
) -> dict[str, Any]:
    """Return the figures of a part, and how many kernels were compiled meanwhile."""
    touch_memory(touched)
    with event.install_recorder("numba:compile") as compiled:
        found = PARTS[part](folder, told, **amounts)
    return {"problems": [], **found, COMPILED: len(compiled.buffer)}


def _cell(folder: Path, told: Told, **settings: Any) -> dict[str, Any]:  # noqa: ANN401  # of JSON
    amounts = Amounts(**settings)
    few = Amounts(amounts.modules, facts=5, few=5, subsets=1, turns=1)
    for generator, parameters in WARM.items():  # kernels are compiled, or read
        made = make_input(generator, parameters, folder / "warm" / generator)
        cell.measure_input(made, few, lambda _: None)
    return cell.measure(folder, amounts, told)


def _queryable(folder: Path, told: Told, turns: int) -> dict[str, Any]:
    return queryable.measure(folder, turns, told)


def _search(folder: Path, told: Told, turns: int) -> dict[str, Any]:
    return queryable.search(folder, turns, told)


def _graph(_: Path, told: Told, **settings: Any) -> dict[str, Any]:  # noqa: ANN401
    return calls.graph(**settings, told=told)


def _clique(_: Path, told: Told, **settings: Any) -> dict[str, Any]:  # noqa: ANN401
    return calls.clique(**settings, told=told)


def _universities(_: Path, told: Told, **settings: Any) -> dict[str, Any]:  # noqa: ANN401
    return calls.universities(**settings, told=told)


def _interleaved(folder: Path, told: Told, **settings: Any) -> dict[str, Any]:  # noqa: ANN401
    return interleaved.measure(folder, **settings, told=told)


PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "cell": _cell,
    "queryable": _queryable,
    "search": _search,
    "graph": _graph,
    "clique": _clique,
    "universities": _universities,
    "interleaved": _interleaved,
}
