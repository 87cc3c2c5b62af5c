"""Every program of this folder gives the facts, or the error, that lie beside it.

`name.dlog` is run on the files of `name/facts/`. `name/expected/p.csv` holds the facts of `p`, one
a line, arguments as the rule language writes them, in byte order; `triples.nt` all that are
triples. A predicate without a file has no facts. `name.err` holds an error's code and how its
message begins. `name.warn` holds codes and beginnings of the warnings that are told, one a line;
without it none is.

Where there is `name/insert/`, `name/delete/`, `name/add.rules` or `name/remove.rules`, these facts
and rules come and go in one update, by each algorithm: what holds then lies in `name/after/`, as in
`name/expected/`. `name/2/`, `name/3/` and so on hold later updates, with the same folders and
files. An update without `after/` is only tried, by `what_if`; one with a file `err` fails with that
error.

`name/options.json` holds options of `materialise`; with `engine` among them, only that one runs the
program. `name/queries/` holds queries, `q.query`, and their answers, `q.json`: a list of rows.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import pytest

import stratalog
from stratalog.engine.columnar import planned
from stratalog.errors import StratalogError
from stratalog.lang.terms import (
    BNODE_KIND,
    BOOLEAN,
    DECIMAL,
    DOUBLE,
    INTEGER,
    IRI_KIND,
    LANG,
    RDF_TYPE,
    STRING,
    Term,
)
from tests import naive

HERE = Path(__file__).parent
PROGRAMS = sorted(HERE.glob("**/*.dlog"))
CHANGES = ("insert", "delete", "add.rules", "remove.rules")
UPDATED = [p for p in PROGRAMS if any((p.with_suffix("") / each).exists() for each in CHANGES)]
ASKED = [path for path in PROGRAMS if (path.with_suffix("") / "queries").is_dir()]
KEPT = [path for path in PROGRAMS if not path.with_suffix(".err").exists()]
OPENED = ("engine", "max_facts")
"""Options that no store remembers."""
ALGORITHMS = ("auto", "counting", "dred", "dred-c", "bf", "bf-c", "rematerialise")
SIZES = pytest.mark.parametrize("large", [planned.LARGE_DELTA_ROWS, 1], ids=["usual", "all_large"])
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
PLAIN = re.compile(r"[+-]?[0-9.]+(E[+-]?[0-9]+)?|true|false")


def written(term: Term, *, plain: bool = True) -> str:
    """Return a constant as the rule language writes it, or without `plain` as N-Triples does."""
    if term.kind == IRI_KIND:
        return f"<{term.text}>"
    if term.kind == BNODE_KIND:
        return f"_:{term.text}"
    if plain and term.kind in (INTEGER, DECIMAL, DOUBLE, BOOLEAN) and PLAIN.fullmatch(term.text):
        return term.text
    quoted = '"' + "".join(ESCAPES.get(char, char) for char in term.text) + '"'
    if term.kind == STRING:
        return quoted
    return quoted + (term.kind if term.kind.startswith(LANG) else f"^^<{term.kind}>")


def relations(kb: Any) -> dict[str, list[str]]:
    """Return the lines of each file that the knowledge base would be expected to give."""
    found: dict[str, list[str]] = {}
    for predicate, args in naive.visible(kb._plan, kb._counts().keys()):
        if naive.is_rdf(predicate):
            name = Term(IRI_KIND, predicate.name[1:-1])
            triple = (args[0], RDF_TYPE, name) if len(args) == 1 else (args[0], name, args[1])
            line = " ".join(written(term, plain=False) for term in triple) + " ."
            found.setdefault("triples.nt", []).append(line)
        else:
            line = ",".join(written(term) for term in args)
            found.setdefault(f"{predicate.name}.csv", []).append(line)
    return {name: sorted(lines) for name, lines in found.items()}


def files(folder: Path) -> list[Path]:
    """Return the files of a folder, none if there is no such folder."""
    return sorted(folder.iterdir()) if folder.is_dir() else []


def expected(folder: Path) -> dict[str, list[str]]:
    """Return the lines of the files that are not empty."""
    lines = {path.name: path.read_text().splitlines() for path in files(folder)}
    return {name: found for name, found in lines.items() if found}


def options_of(path: Path, engine: str) -> dict[str, Any]:
    """Return the options that a program is run with; skip the test if that is by another engine."""
    file = path.with_suffix("") / "options.json"
    options = {"engine": engine, **(json.loads(file.read_text()) if file.exists() else {})}
    if options["engine"] != engine:
        pytest.skip(f"a program for engine={options['engine']!r}")
    return options


def materialise(path: Path, engine: str, **options: Any) -> Any:
    """Return what a program gives, if it warns of what it should warn of, and nothing else."""
    expected = path.with_suffix(".warn")
    beginnings = expected.read_text().splitlines() if expected.exists() else []
    facts, options = files(path.with_suffix("") / "facts"), options_of(path, engine) | options
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        kb = stratalog.materialise(path, facts, **options)
    found = [str(each.message) for each in told]
    assert len(found) == len(beginnings), found
    assert all(map(str.startswith, found, beginnings)), found
    return kb


def fails(error: Path, call: Callable[[], object]) -> None:
    """Fail unless a call raises the error that a file holds."""
    code, _, message = error.read_text().rstrip("\n").partition("\n")
    with pytest.raises(StratalogError) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.message.startswith(message)


def updates_of(path: Path) -> list[Path]:
    """Return the folders of a program's updates."""
    folder = path.with_suffix("")
    return [folder, *takewhile(Path.is_dir, (folder / str(number) for number in count(2)))]


def update(kb: Any, folder: Path, algorithm: str) -> None:
    """Do what a folder says; fail unless the facts are then those that it says."""
    before = relations(kb)
    wish: dict[str, Any] = {"insert": files(folder / "insert"), "delete": files(folder / "delete")}
    for key in ("add", "remove"):
        if (folder / f"{key}.rules").exists():
            wish[f"{key}_rules"] = (folder / f"{key}.rules").read_text()
    wish["maintenance"] = algorithm
    if (folder / "err").exists():
        fails(folder / "err", lambda: kb.update(**wish))
    elif (folder / "after").is_dir():
        kb.update(**wish)
        before = expected(folder / "after")
    else:
        kb.what_if(**wish)
    assert relations(kb) == before, (folder.name, algorithm)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_golden(path: Path, engine: str):
    error = path.with_suffix(".err")
    if error.exists():
        fails(error, lambda: materialise(path, engine))
        return
    assert relations(materialise(path, engine)) == expected(path.with_suffix("") / "expected")


@SIZES
@pytest.mark.parametrize("path", UPDATED, ids=lambda path: path.stem)
def test_golden_updates(path: Path, engine: str, large: int, monkeypatch: pytest.MonkeyPatch):
    """Also with rules planned as for large deltas, however few facts these programs have."""
    monkeypatch.setattr(planned, "LARGE_DELTA_ROWS", large)
    updates = updates_of(path)
    may_recur = any((folder / "add.rules").exists() for folder in updates)
    for algorithm in ALGORITHMS:
        kb = materialise(path, engine)
        may_recur = may_recur or any(stratum.recursive for stratum in kb._plan.strata)
        if algorithm != "counting" or not may_recur:
            for folder in updates:
                update(kb, folder, algorithm)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_golden_stores(path: Path, engine: str, tmp_path: Path):
    """A store has the facts, counts those that users see, and is opened anew for each update."""
    kb = materialise(path, engine, store=tmp_path / "kb")
    options = {key: option for key, option in options_of(path, engine).items() if key in OPENED}
    for folder in (*(updates_of(path) if path in UPDATED else ()), None):
        before = relations(kb), kb.stats["facts"]
        kb = stratalog.open(tmp_path / "kb", **options)
        assert (relations(kb), kb.versions()[-1].facts) == before
        if folder is not None:
            update(kb, folder, "auto")


@pytest.mark.parametrize("path", ASKED, ids=lambda path: path.stem)
def test_golden_queries(path: Path, engine: str):
    """Queries have the answers that lie beside them, asked again too, and change nothing."""
    kb = materialise(path, engine)
    before = relations(kb), kb.stats["constants"]
    queries = sorted((path.with_suffix("") / "queries").glob("*.query"))
    for query in (*queries, *queries):
        found = kb.query(query.read_text()).to_pylist()
        assert sorted(found, key=str) == json.loads(query.with_suffix(".json").read_text()), query
    assert (relations(kb), kb.stats["constants"]) == before
