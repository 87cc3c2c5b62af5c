"""One number for a whole materialisation: facts, which of them are explicit, and both counts.

Equal materialisations have equal digests in whatever order their facts are stored; different ones
have the same digest about once in 2**64 times. Nothing here looks at facts one by one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.engine.columnar.relation import Relation
from stratalog.facts.labels import E, I
from stratalog.lang.syntax import Predicate

KEYS = "$keys"  # relations that the engine looks at and empties in between
Words = npt.NDArray[np.uint64]


class Digest(NamedTuple):
    """How many facts there are and how many of them are explicit, and a number for all."""

    facts: int
    explicit: int
    value: int

    def __str__(self) -> str:
        return f"{self.facts:,} facts, {self.explicit:,} of them explicit, digest {self.value:016x}"


def digest(engine: ColumnarEngine) -> Digest:
    """Return the digest of what an engine holds."""
    facts = explicit = value = 0
    for predicate, relation in engine.relations.items():
        if predicate.name.startswith(KEYS):
            continue
        rows = engine.rows_of(relation, I)
        facts += rows.size
        explicit += engine.size(predicate, E)
        value += int(_mixed(relation, rows).sum(dtype=np.uint64))
    return Digest(facts, explicit, value % 2**64)


def _mixed(relation: Relation, rows: npt.NDArray[np.uint32]) -> Words:
    """Return a number for each fact, from its predicate, constants, label and counts."""
    is_explicit = relation.labels[rows] >> np.uint16(E.bit) & np.uint16(1)
    told = (column[rows] for column in (*relation.columns, *relation.counts))
    return mixed(relation.predicate, (*told, is_explicit), rows.size)


def mixed(predicate: Predicate, columns: Iterable[npt.NDArray[Any]], size: int) -> Words:
    """Return a number for each fact of a predicate, from what columns tell of it."""
    name = f"{predicate.name}/{predicate.arity}".encode()
    words = np.full(size, zlib.crc32(name), np.uint64)
    for column in columns:
        words = _scrambled(words + column.astype(np.int64).view(np.uint64))
    return words


def _scrambled(words: Words) -> Words:
    """Return the finaliser of splitmix64 for each word."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return words ^ words >> np.uint64(31)
