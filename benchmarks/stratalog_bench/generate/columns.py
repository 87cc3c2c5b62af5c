"""What generators return: facts by predicate, and the rules that they are meant for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

Ids = npt.NDArray[np.uint32]

TYPE_KEY = b"stratalog.type"  # readers of Arrow and Parquet find a column's type there
IRI_TYPE, STRING_TYPE = "iri", "string"


@dataclass(frozen=True, slots=True)
class Relation:
    """The facts of one predicate: a column of term numbers per argument, and what each holds."""

    columns: Sequence[Ids]
    types: Sequence[str]

    def __len__(self) -> int:
        return len(self.columns[0])


@dataclass(frozen=True, slots=True)
class EncodedColumns:
    """Facts whose constants are numbered: number n is `texts[n]`, an IRI without <> or a string.

    Not every text need occur in a fact. Predicates are named by their IRIs, without <>.
    """

    texts: pa.LargeStringArray
    relations: Mapping[str, Relation]
    rules: str = ""

    @property
    def count(self) -> int:
        """The number of facts."""
        return sum(len(relation) for relation in self.relations.values())

    def counts(self) -> dict[str, int]:
        """Return the number of facts of each predicate."""
        return {name: len(relation) for name, relation in self.relations.items()}

    def tables(self) -> dict[str, pa.Table]:
        """Return an Arrow table for each predicate, ready to be materialised."""
        return {f"<{name}>": self.table(name) for name in self.relations}

    def table(self, name: str) -> pa.Table:
        """Return the facts of one predicate, its columns typed and dictionary-encoded."""
        import pyarrow as pa

        relation = self.relations[name]
        columns = [self._column(ids) for ids in relation.columns]
        fields = [
            pa.field(f"c{place}", column.type, nullable=False, metadata={TYPE_KEY: kind.encode()})
            for place, (column, kind) in enumerate(zip(columns, relation.types, strict=True))
        ]
        return pa.table(columns, schema=pa.schema(fields))

    def _column(self, ids: Ids) -> Any:  # noqa: ANN401  # Arrow has no types
        import pyarrow as pa

        used = np.zeros(len(self.texts), np.bool_)
        used[ids] = True
        places = (np.cumsum(used) - 1).astype(np.int32)
        texts = self.texts.take(pa.array(np.flatnonzero(used)))
        return pa.DictionaryArray.from_arrays(pa.array(places[ids]), texts)


def merged(relations: Iterable[Mapping[str, Relation]]) -> dict[str, Relation]:
    """Return the facts of several blocks together, predicates in order of appearance."""
    parts: dict[str, list[Relation]] = {}
    for block in relations:
        for name, relation in block.items():
            parts.setdefault(name, []).append(relation)
    return {
        name: Relation(
            [np.concatenate(column) for column in zip(*(p.columns for p in found), strict=True)],
            found[0].types,
        )
        for name, found in parts.items()
    }
