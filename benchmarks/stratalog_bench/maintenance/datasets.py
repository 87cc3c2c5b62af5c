"""The data sets by name: made by a generator, or read from a folder of rules and facts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from stratalog_bench.failures import BenchmarkError
from stratalog_bench.workloads.catalogue import BY_NAME as BENCHMARKS
from stratalog_bench.workloads.catalogue import Parameters


@dataclass(frozen=True, slots=True)
class DataSet:
    """Facts of a generator or of files, and rules: the generator's own, or those of a file.

    `rules` and `files` are below the folder that the user names; the rules have a folder there.
    """

    name: str
    generator: str = ""
    full: Parameters = field(default_factory=dict)
    small: Parameters = field(default_factory=dict)
    rules: str = ""
    files: tuple[str, ...] = ()

    @property
    def needs_folder(self) -> bool:
        """Whether anything of it is in the user's folder."""
        return bool(self.rules)

    def parameters(self, scale: str) -> dict[str, int | str]:
        """Return the generator's parameters at a scale, and where rules and facts come from."""
        chosen = dict(self.full if scale == "full" else self.small)
        named: dict[str, int | str] = {"rules": self.rules} if self.rules else {}
        if self.files:
            named["files"] = " ".join(self.files)
        return chosen | named

    def rules_in(self, folder: Path) -> Path:
        """Return the file of the rules."""
        return folder / "rules" / f"{self.rules}.dlog"

    def files_in(self, folder: Path) -> list[Path]:
        """Return the files of the facts."""
        return [folder / name for name in self.files]


MUSEUM = ("museum/cbm.crm-owl.nt.gz", "museum/wam.crm-owl.nt.gz")
DEBIAN = tuple(
    f"debian/{name}.tsv.gz" for name in ("conflicts", "depends", "package", "provides", "source")
)
UNIVERSITIES: Parameters = {"universities": 10}


def _made(name: str, benchmark: str, full: Parameters | None = None, rules: str = "") -> DataSet:
    """Return the data set of a benchmark, at full scale with other parameters if there are any."""
    known = BENCHMARKS[benchmark]
    return DataSet(name, known.generator, full or known.full, known.small, rules)


DATA_SETS = (
    _made("SSPE", "path-lengths", {"nodes": 10_000, "edges": 100_000, "longest": 20}),
    _made("SSPE-short", "path-lengths"),
    _made("pathways", "pathways"),
    _made(
        "pathways-given",
        "pathways",
        {"molecules": 50_000, "reactions": 100_000, "cells": 2, "given": 30},
    ),
    _made("dag", "dag", {"nodes": 20_000, "edges": 80_000, "recursion": "left"}),
    _made("same-generation", "same-generation", {"nodes": 8_000, "layers": 12, "parents": 2}),
    _made("points-to", "points-to", {"modules": 20}),
    _made("triangles", "triangles", {"nodes": 20_000, "edges": 300_000, "skew": 2}),
    _made("LUBM", "lubm", UNIVERSITIES),
    _made("LUBM_L", "lubm", UNIVERSITIES, "LUBM_L"),
    _made("LUBM_LE", "lubm", UNIVERSITIES, "LUBM_LE"),
    DataSet("LUBM_LE-files", rules="LUBM_LE", files=("lubm/lubm-5-seed0.nt.gz",)),
    DataSet("UOBM_L", rules="UOBM_L.core", files=("uobm/uobm-1-seed0.nt.gz",)),
    DataSet("Claros_L", rules="Claros_L.core", files=MUSEUM),
    DataSet("Claros_LE", rules="Claros_LE.core", files=MUSEUM),
    DataSet("DBpedia_L", rules="DBpedia_L.core", files=("kg/dbpedia50.nt.gz",)),
    DataSet("SKOS", rules="skos", files=("skos/stw-9.06.nt.gz",)),
    DataSet("Wikipedia", rules="skos", files=("skos/wikipedia-cs-categories.nt.gz",)),
    DataSet("GO", rules="go-relations", files=("obo/go-2013-07-13-edges.nt.gz",)),
    DataSet("CoDEx", rules="codex-cyclic", files=("kg/codex-m.nt.gz",)),
    DataSet("Debian", rules="debian", files=DEBIAN),
)
BY_NAME = {each.name: each for each in DATA_SETS}


def chosen_sets(names: list[str], folder: Path | None) -> tuple[list[DataSet], list[str]]:
    """Return the data sets asked for, or all, and the names of those that lack a folder."""
    wanted = [BY_NAME[name] for name in dict.fromkeys(names)] if names else list(DATA_SETS)
    return with_files(wanted, folder)


def with_files(wanted: list[DataSet], folder: Path | None) -> tuple[list[DataSet], list[str]]:
    """Return the data sets whose files are there, and the names of those that lack a folder."""
    if folder is None:
        return (
            [each for each in wanted if not each.needs_folder],
            [each.name for each in wanted if each.needs_folder],
        )
    for each in wanted:
        _check_files(each, folder)
    return wanted, []


def _check_files(wanted: DataSet, folder: Path) -> None:
    needed = [*wanted.files_in(folder), *([wanted.rules_in(folder)] if wanted.rules else [])]
    missing = next((path for path in needed if not path.is_file()), None)
    if missing is not None:
        raise BenchmarkError(
            "B108",
            f"{wanted.name} lacks a file",
            path=str(missing),
            help="--data takes a folder with rules/*.dlog and data; --set chooses data sets",
        )
