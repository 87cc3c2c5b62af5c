"""Facts taken out of a knowledge base: copied in one version, decoded whenever they are read."""

# ruff: noqa: SLF001  # this module and base.py are one

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stratalog.errors import StratalogError
from stratalog.facts.sets import FactSet
from stratalog.knowledge.adapters import Ids
from stratalog.knowledge.display.progress import plural
from stratalog.lang.syntax import Declaration, Predicate
from stratalog.pipeline.decode import decode_table, rows
from stratalog.pipeline.dictionary import Dictionary
from stratalog.runtime.limits import full_memory_explained
from stratalog.tracebacks import shown_briefly

if TYPE_CHECKING:
    import pyarrow as pa

    from stratalog.knowledge.base import KnowledgeBase


@dataclass(frozen=True, slots=True)
class Taken:
    """The facts of a predicate in one version, whatever becomes of the knowledge base later.

    The dictionary only grows: what it says of these constants stays.
    """

    predicate: Predicate
    columns: list[Ids]
    size: int
    dictionary: Dictionary
    declaration: Declaration | None
    rdf: bool

    def table(self, limit: int | None = None) -> pa.Table:
        """Return the facts, or the first of them, as a table."""
        if limit is None or limit >= self.size:
            return self._decoded(self.columns, self.size)
        rows = self._first_rows(limit)
        return self._decoded([column[rows] for column in self.columns], limit).slice(0, limit)

    def _decoded(self, columns: list[Ids], size: int) -> pa.Table:
        doing = f"listing the {plural(size, 'fact')} of {self.predicate.name}"
        with shown_briefly(), full_memory_explained(doing):
            return decode_table(columns, size, self.dictionary, self.declaration, rdf=self.rdf)

    def _first_rows(self, limit: int) -> Ids:
        """Return the first rows and one of each kind of constant, which a column's type needs."""
        kinds = self.dictionary.kind_ids
        others = [np.unique(kinds[column], return_index=True)[1] for column in self.columns]
        return np.concatenate([np.arange(limit), *others]).astype(np.uint32)

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Yield the facts as tuples of Python values."""
        with shown_briefly():
            yield from rows(self.columns, self.size, self.dictionary)


def take(kb: KnowledgeBase, predicate: Predicate, described: FactSet) -> Taken:
    """Return the facts of a predicate that are in a set."""
    with kb._lock:
        columns, size = kb._read(predicate, described)
        rdf, declaration = kb.is_rdf(predicate), kb.declaration(predicate)
        return Taken(predicate, columns, size, kb._dictionary, declaration, rdf)


class Reading:
    """Relations of one version, each copied when it is read, or when facts are about to change."""

    def __init__(self, kb: KnowledgeBase, predicates: Iterable[Predicate], chosen: FactSet) -> None:
        """Begin; the caller has the engine."""
        self._kb = kb
        self._chosen = chosen
        self._unread = list(predicates)[::-1]
        self._copied: dict[Predicate, Taken | StratalogError] = {}
        kb._readings.add(self)

    def __iter__(self) -> Iterator[Taken]:
        while self._unread:
            with self._kb._lock:
                predicate = self._unread.pop()
                found = self._copied.pop(predicate, None) or self._take(predicate)
            if isinstance(found, StratalogError):
                raise found
            yield found

    def settle(self) -> None:
        """Copy all that was not read yet; the caller has the engine.

        Where there is no room for a copy, that is told to whoever reads on, not to who writes.
        """
        for predicate in self._unread:
            if predicate not in self._copied:
                self._copied[predicate] = self._take(predicate)

    def _take(self, predicate: Predicate) -> Taken | StratalogError:
        try:
            return take(self._kb, predicate, self._chosen)
        except StratalogError as error:
            return error


def settle(kb: KnowledgeBase) -> None:
    """Copy what was asked for and not read yet, before facts change; the caller has the engine."""
    if kb._readings:
        for reading in list(kb._readings):
            reading.settle()
