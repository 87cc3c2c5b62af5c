"""What one version of a store holds, as Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from stratalog.lang.syntax import Predicate
from stratalog.pipeline.manifest import JSON

COUNTS = ("nonrecursive", "recursive")
DICTIONARY_SCHEMA = pa.schema([("kind", pa.int32()), ("text", pa.large_string())])


def relation_schema(arity: int) -> pa.Schema:
    """Return the columns of a stored relation: constants, label word and both counts."""
    constants = [(f"c{position}", pa.int64()) for position in range(arity)]
    counted = [(name, pa.int32()) for name in COUNTS]
    return pa.schema([*constants, ("label", pa.int32()), *counted])


@dataclass(frozen=True)
class StoredRelation:
    """The facts of a predicate as rows (c0, ..., label, nonrecursive, recursive) of integers."""

    predicate: Predicate
    table: pa.Table

    def __post_init__(self) -> None:
        names = relation_schema(self.predicate.arity).names
        if self.table.column_names != names:
            raise ValueError(
                f"{self.predicate}: columns {self.table.column_names}, expected {names}"
            )
        if any(column.null_count for column in self.table.itercolumns()):
            raise ValueError(f"{self.predicate}: a stored relation has no nulls")

    def as_stored(self) -> pa.Table:
        """Return the table with the types that go to disk; counts of 64 bits keep them."""
        fields = list(relation_schema(self.predicate.arity))
        for position, stored in enumerate(fields):
            if stored.name in COUNTS and self.table.schema.field(stored.name).type == pa.int64():
                fields[position] = stored.with_type(pa.int64())
        return self.table.cast(pa.schema(fields))


@dataclass(frozen=True)
class Delta:
    """How a relation differs from the one that is stored.

    The table has the columns of a relation; a row stands for the stored one of the same fact, and
    says with label 0 that the fact is gone. `facts` and `explicit` say how many there are more.
    """

    table: pa.Table
    facts: int
    explicit: int


@dataclass(frozen=True)
class Snapshot:
    """A knowledge base at rest.

    A constant's id is its row in `dictionary`, whose column `kind` holds positions in `kinds`.
    `plan` is opaque: it is saved because counts are valid only for the plan that made them.
    `labels` gives the bit of each label in the label word.
    """

    kinds: list[str]
    dictionary: pa.Table
    relations: Mapping[Predicate, pa.Table]
    program: str
    options: dict[str, JSON] = field(default_factory=dict)
    plan: JSON = None
    statistics: JSON = None
    labels: dict[str, int] = field(default_factory=dict)
    version: int = 0  # where it was read from; a commit does not look at it
