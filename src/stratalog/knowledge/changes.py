"""What an update has changed: net facts per predicate, and what it took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stratalog.knowledge.adapters import Encoded, Ids
from stratalog.knowledge.display.terminal import visible
from stratalog.knowledge.warned import warnings_html
from stratalog.lang.syntax import TRIPLE, Declaration
from stratalog.pipeline.dictionary import Dictionary

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SHOWN = 6  # predicates in a line


@dataclass(slots=True)
class ChangedFacts:
    """Facts of one predicate that came or went, decoded when somebody asks."""

    columns: Sequence[Ids]
    size: int
    dictionary: Dictionary
    declaration: Declaration | None
    rdf: bool
    _table: pa.Table | None = None

    def table(self) -> pa.Table:
        """Return the facts as a table."""
        from stratalog.pipeline.decode import decode_table

        if self._table is None:
            self._table = decode_table(
                list(self.columns), self.size, self.dictionary, self.declaration, rdf=self.rdf
            )
        return self._table


class ChangedTables(Mapping[str, "pa.Table"]):
    """The facts that came, or went, by the name of their predicate; empty tables are left out."""

    def __init__(self, facts: Mapping[str, ChangedFacts]) -> None:
        self._facts = dict(facts)

    def __getitem__(self, name: str) -> pa.Table:
        return self._facts[name].table()

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    @property
    def facts(self) -> dict[str, ChangedFacts]:
        """The facts as they are kept, not decoded."""
        return dict(self._facts)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of facts per predicate; nothing is decoded for it."""
        return {name: facts.size for name, facts in self._facts.items()}

    def decode(self) -> None:
        """Decode all tables now, because the dictionary is about to forget constants."""
        for facts in self._facts.values():
            facts.table()

    def __repr__(self) -> str:
        return f"<{', '.join(f'{name}: {size:,} facts' for name, size in self.sizes.items())}>"


class Changes:
    """The net result of an update; true if facts that users see came or went.

    `added` and `removed` give a table per predicate, `stats` the keys of `--json`.
    """

    def __init__(self, added: ChangedTables, removed: ChangedTables, stats: dict[str, Any]) -> None:
        self.added = added
        self.removed = removed
        self.stats = stats

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Return how many facts came and went, per predicate, sorted."""
        came, went = self.added.sizes, self.removed.sizes
        return {name: (came.get(name, 0), went.get(name, 0)) for name in sorted({*came, *went})}

    def __repr__(self) -> str:
        came, went = (sum(tables.sizes.values()) for tables in (self.added, self.removed))
        each = [f"{name} {_signed(*size)}" for name, size in self.sizes().items()]
        shown = ", ".join([*each[:MOST_SHOWN], *(["..."] if len(each) > MOST_SHOWN else [])])
        return f"<Changes: +{came:,} -{went:,} facts{': ' if shown else ''}{shown}>"

    def _repr_html_(self) -> str:
        from html import escape

        from stratalog.knowledge.display.table_html import rows_html

        names, sides = ("predicate", "added", "removed"), ("left", "right", "right")
        rows = ((visible(n), f"{came:,}", f"{went:,}") for n, (came, went) in self.sizes().items())
        told = warnings_html(self.stats.get("warnings", ()))
        return escape(repr(self)) + rows_html(names, rows, sides, "") + told


def _signed(came: int, went: int) -> str:
    return " ".join([f"+{came:,}"] * bool(came) + [f"-{went:,}"] * bool(went))


def visible_facts(
    facts: Iterable[Encoded], dictionary: Dictionary, *, triples: bool
) -> list[Encoded]:
    """Return the facts that users see; of triples, under the predicates that they name."""
    from stratalog.pipeline.rdf import group_triples

    found: list[Encoded] = []
    for predicate, columns, size in facts:
        if predicate == TRIPLE and triples:
            subjects, names, objects = columns
            groups = group_triples(subjects, names, objects, dictionary)
            found += [(p, parts, parts[0].size) for p, parts in groups.items()]
        elif not predicate.name.startswith("$"):
            found.append((predicate, columns, size))
    return found
