"""Encoded facts on their way from a reader to an engine: columns of numbers per predicate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stratalog.errors import StratalogWarning
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.files import ReadReport

Ids = npt.NDArray[np.uint32]

TABLE, TEXT, RDF = "table", "text", "rdf"
BYTES_PER_ID = np.dtype(np.uint32).itemsize


@dataclass(slots=True)
class _Relation:
    """The blocks of one predicate: a list of columns each, and how many facts they hold."""

    blocks: list[list[Ids]] = field(default_factory=list)
    size: int = 0
    origin: str = TABLE


class EncodedFacts:
    """Facts as read: duplicates are kept, blocks of one predicate are in the order they were read.

    `origin` of a predicate is "table", "text" or "rdf": what types an undeclared one has in output.
    A predicate of arity 0 has no columns; its size alone tells how many rows were read.
    """

    def __init__(self, report: ReadReport | None = None) -> None:
        self.report = ReadReport() if report is None else report
        self.warnings: list[StratalogWarning] = []
        self._relations: dict[Predicate, _Relation] = {}

    def add(
        self, predicate: Predicate, columns: Sequence[Ids], size: int, origin: str = TABLE
    ) -> None:
        """Append `size` facts of a predicate; a predicate once fed by RDF stays "rdf"."""
        assert len(columns) == predicate.arity, (predicate, len(columns))  # noqa: S101
        assert all(len(column) == size for column in columns), predicate  # noqa: S101
        relation = self._relations.setdefault(predicate, _Relation(origin=origin))
        if origin == RDF:
            relation.origin = RDF
        if size:
            relation.blocks.append(list(columns))
            relation.size += size
            self.report.took(size * len(columns) * BYTES_PER_ID)

    def extend(self, other: EncodedFacts) -> None:
        """Append all facts of `other`, and its warnings."""
        self.warnings += other.warnings
        for predicate in other.predicates():
            relation = other._relations[predicate]
            self.add(predicate, other.columns(predicate), relation.size, relation.origin)

    def columns(self, predicate: Predicate) -> list[Ids]:
        """Return one array per argument, all blocks together."""
        relation = self._relations.get(predicate)
        if relation is None or not relation.blocks:
            return [np.empty(0, np.uint32) for _ in range(predicate.arity)]
        if len(relation.blocks) > 1:
            relation.blocks = [
                [np.concatenate(parts) for parts in zip(*relation.blocks, strict=True)]
            ]
        return relation.blocks[0]

    def release(self) -> None:
        """Let go of the columns; sizes, origins and warnings stay."""
        for relation in self._relations.values():
            relation.blocks.clear()

    def size(self, predicate: Predicate) -> int:
        """Return how many rows were read for a predicate."""
        relation = self._relations.get(predicate)
        return 0 if relation is None else relation.size

    def origin(self, predicate: Predicate) -> str:
        """Return "table", "text" or "rdf"."""
        return self._relations[predicate].origin

    def predicates(self) -> list[Predicate]:
        """Return the predicates in the order in which they were first fed, empty ones included."""
        return list(self._relations)

    @property
    def count(self) -> int:
        """The number of rows read, duplicates included."""
        return sum(relation.size for relation in self._relations.values())

    def __iter__(self) -> Iterator[tuple[Predicate, list[Ids], int]]:
        for predicate, relation in self._relations.items():
            yield predicate, self.columns(predicate), relation.size

    def __len__(self) -> int:
        return self.count

    def __contains__(self, predicate: object) -> bool:
        return predicate in self._relations
