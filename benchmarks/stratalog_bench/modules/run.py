"""Run the parts of the benchmark of modules: each measurement is a process of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from stratalog_bench.harness.parts import note_entries, raise_if_any, run_part
from stratalog_bench.harness.results import Result
from stratalog_bench.harness.run import Settings
from stratalog_bench.maintenance.datasets import DataSet
from stratalog_bench.maintenance.prepare import prepare
from stratalog_bench.maintenance.run import ADVICE
from stratalog_bench.modules import interleaved, sets
from stratalog_bench.modules.figures import (
    clique_figures,
    example_figures,
    graph_figures,
    interleaved_figures,
    spark_figures,
    university_figures,
)
from stratalog_bench.modules.measurement import MODES
from stratalog_bench.modules.parts import PARTS
from stratalog_bench.modules.scale import AMOUNTS, Scale
from stratalog_bench.modules.spark_paths import measure_paths
from stratalog_bench.modules.tables import Tables, entries_of
from stratalog_bench.modules.targets import WantedTable
from stratalog_bench.systems.base import COMPILED

MEASURE = "modules.tasks:measure"
CALLED = ("graph", "clique", "universities")  # tasks that make their facts themselves
NEEDS_DATA = "--data FOLDER names a folder with rules and facts"

Figures = Mapping[str, Any]


def run_modules(title: str, settings: Settings, result: Result) -> None:
    """Run all parts, or those asked for; what is wrong is an error when all are done."""
    with tempfile.TemporaryDirectory(prefix="stratalog-bench-") as folder:
        measured = _Modules(title, settings, result, Path(folder))
        for name in settings.only or PARTS:
            measured.parts[name]()
        measured.note_scale()
    raise_if_any(measured.problems, advice=ADVICE)


class _Modules:
    """What was measured so far: a data set in a mode is measured once."""

    def __init__(self, title: str, settings: Settings, result: Result, folder: Path) -> None:
        self._title, self._settings, self._result = title, settings, result
        self._folder = folder
        self._amounts: Scale = AMOUNTS[settings.scale].within(settings.limit, settings.runs)
        self._cells: dict[tuple[str, str], Figures] = {}
        self._figures = WantedTable(title, result.reports)
        self.problems: list[str] = []
        self.parts: dict[str, Callable[[], None]] = {
            "tables": self._tables,
            "dag": self._dag,
            "examples": self._examples,
            "clique": self._clique,
            "universities": self._universities,
            "without": self._without,
            "spark": self._spark,
        }

    def note_scale(self) -> None:
        """Say what figures of a small scale are good for."""
        if self._scale != "full" and self._figures.report.rows:
            self._figures.note(f"at {self._scale} scale: what is wanted is meant for full scale")

    # -- the parts

    def _tables(self) -> None:
        settings = self._settings
        chosen, missing = sets.tabled_sets(list(settings.sets), settings.scale, settings.data)
        tables = Tables(self._title, self._amounts.cell, self._result.reports)
        if missing:
            line = f"left out: {', '.join(missing)}; {NEEDS_DATA}"
            tables.materialise.notes.append(line)
        for each in chosen:
            cells = self._all_modes(each)
            if cells is None:
                tables.add_wrong(each.name)
                continue
            tables.add(each.name, cells)
            parameters = each.parameters(settings.scale)
            entries = entries_of(f"{self._title}, {each.name}", parameters, cells)
            note_entries(entries, settings, self._result)

    def _dag(self) -> None:
        amounts, given = self._amounts, sets.DAG_R
        cells = self._all_modes(given)
        turns = {"turns": amounts.turns}
        closure = self._run("queryable", given, turns)
        search = self._run("search", given, {"turns": 1})
        size = {"size": amounts.facts, **turns}
        called = self._run("graph", given, {"parameters": given.parameters(self._scale), **size})
        if cells is None or closure is None or search is None or called is None:
            return
        self.problems += graph_figures(self._figures, amounts, cells, (closure, search, called))

    def _examples(self) -> None:
        for each in sets.EXAMPLES:
            cells = self._all_modes(each, updates=False)
            if cells is not None:
                nodes = each.parameters(self._scale)["nodes"]
                example_figures(self._figures, f"{each.name} of {nodes:,}", self._amounts, cells)

    def _clique(self) -> None:
        parameters = sets.CLIQUE.parameters(self._scale)
        chosen = {"links": self._amounts.links, "turns": self._amounts.turns}
        found = self._run("clique", sets.CLIQUE, {"parameters": parameters, **chosen})
        if found is not None:
            clique_figures(self._figures, int(parameters["size"]), found)

    def _universities(self) -> None:
        data = self._settings.data
        if data is None:
            self._figures.note(f"left out: universities with {sets.LUBM_LE.rules}; {NEEDS_DATA}")
            return
        amounts = self._amounts
        wanted = {
            "number": self._settings.universities or amounts.universities,
            "rules": sets.LUBM_LE.rules_in(data).read_text(),
            "size": amounts.facts,
            "turns": 2 * amounts.turns + 1,
        }
        found = self._run("universities", sets.LUBM_LE, wanted)
        if found is not None:
            university_figures(self._figures, sets.LUBM_LE.name, amounts.facts, found)

    def _without(self) -> None:
        amounts = self._amounts
        for each in sets.WITHOUT:
            turns: dict[str, list[Figures]] = {mode: [] for mode in interleaved.MODES}
            for turn in range(1, amounts.interleaved + 1):
                for mode in interleaved.order(turn):
                    settings = {"mode": mode, "size": amounts.facts, "turn": turn}
                    found = self._run("interleaved", each, settings)
                    turns[mode] += [] if found is None else [found]
            if all(len(found) == amounts.interleaved for found in turns.values()):
                compared = interleaved.compare(turns)
                interleaved_figures(self._figures, each.name, amounts, compared)

    def _spark(self) -> None:
        if find_spec("pyspark") is None:
            self._figures.note('left out: Spark, which pip install "stratalog[spark]" brings')
            return
        graph = sets.DAG_R.parameters(self._scale)
        title = f"{self._title}, Spark"
        found = measure_paths(
            graph,
            self._scale,
            self._settings.runs,
            self._folder / "spark",
            lambda stage, _: self._settings.told(title, stage),
        )
        self.problems += found["problems"]
        if not found["problems"]:
            spark_figures(self._figures, int(graph["edges"]), found)

    # -- how they are measured

    @property
    def _scale(self) -> str:
        return self._settings.scale

    def _all_modes(self, given: DataSet, *, updates: bool = True) -> dict[str, Figures] | None:
        """Return the cells of a data set; None, and a problem, if modes differ in their facts."""
        for mode in MODES:
            if (given.name, mode) not in self._cells:
                amounts = {**self._amounts.cell, "modules": mode, "updates": updates}
                found = self._raw("cell", given, amounts, f", {mode}")
                self._cells[given.name, mode] = found
        cells = {mode: self._cells[given.name, mode] for mode in MODES}
        problems = [f"{mode}: {each}" for mode in MODES for each in cells[mode]["problems"]]
        problems = problems or differences(cells)
        self.problems += [
            problem
            for each in problems
            if (problem := f"{given.name}, {each}") not in self.problems
        ]
        return None if problems else cells

    def _run(self, part: str, given: DataSet, amounts: Figures) -> Figures | None:
        """Return figures; None, and a problem, if something was wrong."""
        found = self._raw(part, given, amounts, "")
        self.problems += [f"{given.name}, {part}: {each}" for each in found["problems"]]
        return None if found["problems"] else found

    def _raw(self, part: str, given: DataSet, amounts: Figures, more: str) -> dict[str, Any]:
        title = f"{self._title}, {given.name}{more}"
        place = self._folder / given.name
        if part not in CALLED and not place.exists():
            self._settings.told(title, "making facts")
            prepare(given, self._scale, place, self._settings.data)
        arguments = title, MEASURE, place, part, amounts, self._settings
        found = run_part(*arguments)
        # What was compiled is kept: a second run need not.
        return run_part(*arguments) if found.get(COMPILED) else found


def differences(cells: Mapping[str, Figures]) -> list[str]:
    """Return a sentence for each mode whose facts differ from those of an earlier mode."""
    seen: dict[str, tuple[str, str]] = {}
    found = []
    for mode, cell in cells.items():
        for when, told in cell["digests"].items():
            judge, expected = seen.setdefault(when, (mode, told))
            if told != expected:
                found.append(f"{when}: {told} with modules={mode}; {judge}: {expected}")
    return found
