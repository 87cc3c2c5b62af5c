"""One mutated store goes through all doors: refused with a code, or its facts are well-formed."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import stratalog as sl
from stratalog.knowledge.compare import compare_versions
from stratalog.knowledge.stored.checks import checked_statistics
from stratalog.knowledge.stream.batches import Batches
from stratalog.pipeline.store import Store
from tests.fuzz import stores
from tests.fuzz.store_mutations import HARMLESS, MUTATIONS, Mutant
from tests.fuzz.watch import watched

CODE = re.compile(r"[A-Z]\d{3}")


class Fault(Exception):  # noqa: N818  # reads as a claim
    """A mutated store did what no store may do."""


class Originals:
    """Stores of every kind as they were made, and what they hold."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.contents: dict[str, Any] = {}
        for name in stores.KINDS:
            stores.make(name, folder / name)
            with sl.open(folder / name, progress=False) as kb:
                self.contents[name] = stores.contents(kb)


def run(number: int, originals: Originals, folder: Path) -> str:
    """Mutate a store, the same one for each number, and use it; return what became of it."""
    random = Random(number)
    name = random.choice(sorted(stores.KINDS))
    mutation = random.choice(MUTATIONS)
    place = Path(tempfile.mkdtemp(prefix=f"{number}-", dir=folder))
    path = place / "kb"
    shutil.copytree(originals.folder / name, path)
    mutant = Mutant(path, random)
    mutation(mutant)
    mutant.seal()
    told = f"{number}: {name}, {mutation.__name__}"
    try:
        with watched(writable=[place]) as seen:
            became = _use(name, path, place)
    except Exception as error:
        raise Fault(f"{told}: {type(error).__name__}: {error}") from error
    if seen:
        raise Fault(f"{told}: {seen}")
    if mutation in HARMLESS and became.get("facts") != originals.contents[name]:
        raise Fault(f"{told}: other facts, or {became}")
    shutil.rmtree(place)
    return f"{told}: {became['open']}"


def _use(name: str, path: Path, place: Path) -> dict[str, Any]:
    """Go through all doors of a store; return what each has given, a code where it was refused."""
    kind = stores.KINDS[name]
    became: dict[str, Any] = {}

    def door(what: str, action: Callable[[], Any]) -> None:
        try:
            became[what] = action()
        except sl.StratalogError as error:
            if not CODE.fullmatch(error.code) or not error.help:
                raise
            str(error).encode()
            became[what] = error.code

    door("versions", lambda: Store.open(path).versions())
    door("statistics", lambda: checked_statistics(Store.open(path).statistics(), path))
    opened: list[sl.KnowledgeBase] = []
    door("open", lambda: opened.append(sl.open(path, progress=False)))
    for kb in opened:
        door("facts", lambda kb=kb: _well_formed(kb))
        door("stats", lambda kb=kb: (repr(kb), kb.stats, kb.profile(), kb._repr_html_()))
        door("query", lambda kb=kb: kb.query(kind.query).validate(full=True))
        door("streams", lambda kb=kb: Batches(kb).recover())
        door("update", lambda kb=kb: kb.update(insert=kind.update, delete=kind.update).stats)
        door("insert", lambda kb=kb: kb.update(insert=kind.update).added)
        door("changed", lambda kb=kb: _well_formed(kb))
        door("publish", lambda kb=kb: kb.publish(place / "published").version)
    door("old", lambda: _well_formed(sl.open(path, 1, progress=False)))
    door("compare", lambda: compare_versions(path, 1, Store.open(path).version))
    door("drop", lambda: Store.open(path).drop(1))
    return became


def _well_formed(kb: sl.KnowledgeBase) -> dict[str, list[tuple[object, ...]]]:
    """Return all facts, after a look at their widths, texts and counts."""
    for name, table in kb.tables():
        table.validate(full=True)
        if table.num_rows != kb.count_of(name):
            raise Fault(f"{name} has {table.num_rows} rows, not {kb.count_of(name)}")
    counts = kb.counts()
    if any(min(each) < 0 for each in counts.values()):
        raise Fault("a count is below zero")
    if len(counts) != sum(kb._host.size(p) for p in kb._host.predicates()):
        raise Fault("a fact is there twice")
    found = stores.contents(kb)
    for name, facts in found.items():
        name.encode()
        if any(len(fact) != kb[name].predicate.arity for fact in facts):
            raise Fault(f"{name} lists a fact of another width")
    return found
