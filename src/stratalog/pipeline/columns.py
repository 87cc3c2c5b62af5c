"""Columns of facts decoded a slice at a time, each slice in the types that the whole column has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from stratalog.lang.syntax import Declaration
from stratalog.pipeline.decode import decode_table
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import Ids
from stratalog.pipeline.native import TYPE_OF_KIND
from stratalog.pipeline.portable import HOLDS, portable

TEXTS = frozenset({"string", "iri", "term"})

_Slice = Callable[[int, int], Any]


class Decoder:
    """Decodes facts slice by slice; memory is bounded by a slice and the numbers that occur.

    A column's type depends on all its constants: on the scale that its decimals need, or on whether
    they are of one kind. So numbers and dates are decoded once, each value that occurs; texts,
    which are long, are decoded with their slice.
    """

    def __init__(
        self,
        columns: Sequence[Ids],
        dictionary: Dictionary,
        declaration: Declaration | None = None,
        *,
        rdf: bool = False,
    ) -> None:
        self._dictionary = dictionary
        self._rdf = rdf
        fields, self._slices = [], list[_Slice]()
        for place, ids in enumerate(columns):
            each, slicer = self._column(ids, place, declaration)
            fields.append(each)
            self._slices.append(slicer)
        self.schema = pa.schema(fields or [pa.field(HOLDS, pa.bool_())])

    def rows(self, start: int, end: int) -> pa.Table:
        """Return the facts from `start` to `end` as a table."""
        if not self._slices:
            return pa.table([pa.repeat(pa.scalar(value=True), end - start)], schema=self.schema)
        return pa.table([take(start, end) for take in self._slices], schema=self.schema)

    def _column(self, ids: Ids, place: int, declaration: Declaration | None) -> tuple[Any, _Slice]:
        """Return a column's field, and what decodes a slice of it."""
        single = None
        if declaration is not None:
            single = replace(declaration, columns=(declaration.columns[place],))
        rdf = self._rdf or (single is None and self._is_mixed(ids))

        def decode(some: Ids) -> pa.Table:
            return portable(decode_table([some], len(some), self._dictionary, single, rdf=rdf))

        if self._is_text(ids, single, rdf=rdf):
            sample, take = _text_slices(ids, decode)
        else:
            sample, take = _value_slices(ids, decode)
        name = f"c{place}" if single is None else single.columns[0].name
        return sample.schema.field(0).with_name(name), take

    def _is_mixed(self, ids: Ids) -> bool:
        return np.unique(self._dictionary.kind_ids[ids]).size > 1

    def _is_text(self, ids: Ids, single: Declaration | None, *, rdf: bool) -> bool:
        """Tell whether a column is text whatever its constants are."""
        if single is not None:
            return single.columns[0].type in TEXTS
        if rdf or not len(ids):
            return True
        kind = self._dictionary.kinds[int(self._dictionary.kind_ids[ids[0]])]
        return TYPE_OF_KIND.get(kind, "term") in TEXTS


def _text_slices(ids: Ids, decode: Callable[[Ids], pa.Table]) -> tuple[pa.Table, _Slice]:
    def take(start: int, end: int) -> Any:  # noqa: ANN401  # Arrow has no types
        return decode(ids[start:end]).column(0)

    return decode(ids[:1]), take


def _value_slices(ids: Ids, decode: Callable[[Ids], pa.Table]) -> tuple[pa.Table, _Slice]:
    distinct = np.unique(ids)
    table = decode(distinct)
    values = table.column(0).combine_chunks()

    def take(start: int, end: int) -> Any:  # noqa: ANN401
        return values.take(pa.array(np.searchsorted(distinct, ids[start:end])))

    return table, take
