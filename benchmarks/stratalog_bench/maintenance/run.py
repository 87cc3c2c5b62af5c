"""Run the tables of maintenance: each row is two processes, and a part of the result at once."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stratalog_bench.harness.parts import note_entries, raise_if_any, run_part
from stratalog_bench.harness.results import Result
from stratalog_bench.harness.run import Settings
from stratalog_bench.maintenance.datasets import DataSet, chosen_sets
from stratalog_bench.maintenance.entries import entries_of, entries_of_updates
from stratalog_bench.maintenance.prepare import prepare
from stratalog_bench.maintenance.tables import Tables
from stratalog_bench.maintenance.update_table import UpdateTable

MEASURE = "maintenance.tasks:measure"
ADVICE = "; --set NAME runs one data set alone"
LIMIT = 60.0  # CPU seconds for one deletion, if the user names none
AMOUNTS: dict[str, dict[str, int]] = {
    "full": {"facts": 1_000, "subsets": 5},
    "small": {"facts": 10, "subsets": 2},
}
UNIVERSITIES = {"full": (5, 54), "small": (1,)}
UPDATES: dict[str, dict[str, int]] = {
    "full": {"facts": 1_000, "turns": 5, "single": 1_000},
    "small": {"facts": 100, "turns": 2, "single": 10},
}


def run_maintenance(title: str, settings: Settings, result: Result) -> None:
    """Run all data sets, or those asked for; what is wrong is an error when all are done."""
    wanted, missing = chosen_sets(list(settings.sets), settings.data)
    amounts = {
        **AMOUNTS[settings.scale],
        "turns": settings.runs,
        "limit": settings.limit or LIMIT,
    }
    tables = Tables(title, amounts, result.reports)
    if missing:
        tables.note_missing(missing)
    problems: list[str] = []
    for each in wanted:
        figures = _run_set(title, each, settings, amounts)
        tables.add(each.name, figures)
        note_entries(entries_of(each, settings.scale, figures), settings, result)
        found = [problem for part in figures.values() for problem in part["problems"]]
        problems += [f"{each.name}, {problem}" for problem in found]
    raise_if_any(problems, advice=ADVICE)


def run_updates(title: str, settings: Settings, result: Result) -> None:
    """Run updates of knowledge bases of all sizes; what is wrong is an error at the end."""
    sizes = UNIVERSITIES[settings.scale]
    if settings.universities is not None:
        sizes = (settings.universities,)
    table = UpdateTable(title, settings.rules_name, result.reports)
    problems: list[str] = []
    for universities in sizes:
        usual = UPDATES[settings.scale]
        amounts = {
            **usual,
            "turns": max(usual["turns"], settings.runs),
            "universities": universities,
            "rules": settings.rules or "",
        }
        with tempfile.TemporaryDirectory(prefix="stratalog-bench-") as folder:
            name = f"{title}, {universities} universities"
            figures = run_part(name, MEASURE, folder, "updates", amounts, settings)
        problems += [f"{name}: {each}" for each in figures["problems"]]
        if not figures["problems"]:
            table.add(figures)
            named: dict[str, int | str] = {
                "universities": universities,
                "rules": settings.rules_name,
            }
            note_entries(entries_of_updates(title, named, figures), settings, result)
    raise_if_any(problems, advice=ADVICE)


def _run_set(
    title: str, wanted: DataSet, settings: Settings, amounts: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the figures of both parts of a row."""
    name = f"{title}, {wanted.name}"
    settings.told(name, "making facts")
    with tempfile.TemporaryDirectory(prefix="stratalog-bench-") as folder:
        prepare(wanted, settings.scale, Path(folder), settings.data)
        return {
            part: run_part(name, MEASURE, folder, part, amounts, settings)
            for part in ("small", "large")
        }
