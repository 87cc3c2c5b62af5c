"""Universities in the manner of the LUBM benchmark: as many as wanted, each from its own stream.

University i is the same whatever the number of universities, so that a small set is contained in
every larger one of the same seed. No fact occurs twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from stratalog_bench.generate import lubm_profile as profile
from stratalog_bench.generate.columns import EncodedColumns, Ids, Relation, merged
from stratalog_bench.generate.lubm_terms import shared_terms
from stratalog_bench.generate.parameters import whole
from stratalog_bench.generate.university import University

if TYPE_CHECKING:
    import pyarrow as pa

MOST_IN_MEMORY = 100_000  # whose terms can be numbered with 32 bits
UNIVERSITY = profile.NAMESPACE + "University"


def lubm(universities: int = 1, seed: int = 0) -> EncodedColumns:
    """Return the facts about so many universities, about 130,000 for each."""
    import pyarrow as pa

    whole("universities", universities, least=1, most=MOST_IN_MEMORY)
    blocks = list(lubm_blocks(universities, seed))
    shared = len(shared_terms().texts)
    own: list[pa.Array] = [shared_terms().texts]
    relations = []
    first = shared
    for block in blocks:
        move = first - shared
        relations.append({n: _moved(r, shared, move) for n, r in block.relations.items()})
        own.append(block.texts.slice(shared))
        first += len(own[-1])
    return EncodedColumns(pa.concat_arrays(own), merged(relations), profile.RULES)


def lubm_blocks(universities: int = 1, seed: int = 0) -> Iterator[EncodedColumns]:
    """Yield the same facts university by university, each block with texts of its own."""
    whole("universities", universities, least=1, most=1_000_000)
    whole("seed", seed)
    shared = shared_terms()
    seen = _Seen(np.zeros(len(shared.texts), np.bool_))
    for number in range(universities):
        made = University(number, seed, shared)
        relations = dict(made.relations)
        relations[UNIVERSITY] = seen.first_mention(relations[UNIVERSITY])
        yield EncodedColumns(made.texts(), relations, profile.RULES)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Which shared terms were called universities before: each may be mentioned by all."""

    marks: np.ndarray[tuple[int], np.dtype[np.bool_]]

    def first_mention(self, relation: Relation) -> Relation:
        (ids,) = relation.columns
        is_shared = ids < len(self.marks)
        fresh = ~is_shared
        fresh[is_shared] = ~self.marks[ids[is_shared]]
        self.marks[ids[is_shared]] = True
        return replace(relation, columns=[ids[fresh]])


def _moved(relation: Relation, shared: int, move: int) -> Relation:
    """Return the facts with the numbers of a university's own terms raised."""
    step = np.uint32(move)
    columns: list[Ids] = [ids + step * (ids >= shared) for ids in relation.columns]
    return replace(relation, columns=columns)
