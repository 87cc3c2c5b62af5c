"""Every program of this folder gives the facts, or the error, that lie beside it.

`name.dlog` is run on the files of `name/facts/`. `name/expected/p.csv` holds the facts of `p`, one
a line, arguments as the rule language writes them, in byte order; `triples.nt` all that are
triples. A predicate without a file has no facts. `name.err` holds an error's code and how its
message begins. `name.warn` holds codes and beginnings of the warnings that are told, one a line;
without it none is.

Where there is `name/after/`, the facts of `name/insert/` and `name/delete/` come and go in one
update, by each algorithm: what holds then lies in `name/after/`, as in `name/expected/`.
"""

from __future__ import annotations

import re
import warnings
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
UPDATED = [path for path in PROGRAMS if (path.with_suffix("") / "after").is_dir()]
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


def expected(folder: Path) -> dict[str, list[str]]:
    """Return the lines of the files that are not empty."""
    lines = {path.name: path.read_text().splitlines() for path in sorted(folder.iterdir())}
    return {name: found for name, found in lines.items() if found}


def files(path: Path, folder: str) -> list[Path]:
    """Return the files of a program's folder, none if it has no such folder."""
    found = path.with_suffix("") / folder
    return sorted(found.iterdir()) if found.is_dir() else []


def materialise(path: Path, data: list[Path], engine: str, **options: Any) -> Any:
    """Return what a program gives, if it warns of what it should warn of, and nothing else."""
    expected = path.with_suffix(".warn")
    beginnings = expected.read_text().splitlines() if expected.exists() else []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        kb = stratalog.materialise(path, data, engine=engine, **options)
    found = [str(each.message) for each in told]
    assert len(found) == len(beginnings), found
    assert all(map(str.startswith, found, beginnings)), found
    return kb


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_golden(path: Path, engine: str):
    data = files(path, "facts")
    error = path.with_suffix(".err")
    if error.exists():
        code, _, message = error.read_text().rstrip("\n").partition("\n")
        with pytest.raises(StratalogError) as caught:
            materialise(path, data, engine)
        assert caught.value.code == code
        assert caught.value.message.startswith(message)
        return
    kb = materialise(path, data, engine)
    assert relations(kb) == expected(path.with_suffix("") / "expected")


@SIZES
@pytest.mark.parametrize("path", UPDATED, ids=lambda path: path.stem)
def test_golden_updates(path: Path, engine: str, large: int, monkeypatch: pytest.MonkeyPatch):
    """Also with rules planned as for large deltas, however few facts these programs have."""
    monkeypatch.setattr(planned, "LARGE_DELTA_ROWS", large)
    for algorithm in ALGORITHMS:
        kb = materialise(path, files(path, "facts"), engine)
        assert relations(kb) == expected(path.with_suffix("") / "expected")
        if algorithm == "counting" and any(s.recursive for s in kb._plan.strata):
            continue
        kb.update(files(path, "insert"), files(path, "delete"), maintenance=algorithm)
        assert relations(kb) == expected(path.with_suffix("") / "after"), algorithm
