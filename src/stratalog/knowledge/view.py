"""The facts of one predicate, as Python sees a collection of tuples."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

from stratalog.facts.labels import I
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
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row) + "</tr>"
            for row in islice(taken.rows(), SHOWN)
        )
        more = f"<p>... and {taken.size - SHOWN:,} more</p>" if taken.size > SHOWN else ""
        return f"{escape(self._told(taken.size))}<table><tr>{head}</tr>{rows}</table>{more}"

    def _told(self, size: int) -> str:
        return f"<{self._kb.name_of(self.predicate)}: {size:,} facts>"
