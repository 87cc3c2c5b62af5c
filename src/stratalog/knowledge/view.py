"""The facts of one predicate, as Python sees a collection of tuples."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

from stratalog.facts.labels import I
from stratalog.knowledge.display.progress import plural
from stratalog.knowledge.display.table_html import rows_html
from stratalog.knowledge.display.terminal import visible
from stratalog.knowledge.reading import take
from stratalog.lang.syntax import Predicate

if TYPE_CHECKING:
    import pyarrow as pa

    from stratalog.knowledge.base import KnowledgeBase

SHOWN = 20  # rows in a notebook


class RelationView(Collection[tuple[object, ...]]):
    """`kb["path"]`: length, membership and iteration, read from the knowledge base."""

    def __init__(self, kb: KnowledgeBase, predicate: Predicate) -> None:
        self._kb = kb
        self.predicate = predicate

    def __len__(self) -> int:
        return self._kb.count(self.predicate)

    def __contains__(self, fact: object) -> bool:
        return isinstance(fact, tuple | list) and self._kb.holds(self.predicate, tuple(fact))

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        return self._kb.rows(self.predicate)

    def table(self) -> pa.Table:
        """Return the facts as a table."""
        return take(self._kb, self.predicate, I).table()

    def __repr__(self) -> str:
        return self._told(len(self))

    def _repr_html_(self) -> str:
        taken = take(self._kb, self.predicate, I)
        columns = taken.declaration.columns if taken.declaration else ()
        names = [c.name for c in columns] or [f"c{i}" for i in range(self.predicate.arity)]
        rows = ([visible(str(value)) for value in row] for row in islice(taken.rows(), SHOWN))
        more = f"... and {taken.size - SHOWN:,} more" if taken.size > SHOWN else ""
        table = rows_html(names, rows, ["left"] * len(names), more)
        return f"{escape(self._told(taken.size))}{table}"

    def _told(self, size: int) -> str:
        return f"<{self._kb.name_of(self.predicate)}: {plural(size, 'fact')}>"
