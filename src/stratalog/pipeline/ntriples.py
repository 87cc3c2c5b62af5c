"""N-Triples and N-Quads: bytes to columns of constants' numbers.

A kernel scans the lines that are plainly well formed; the others go to the parser of odd lines.
Literals with a datatype are brought to canonical spelling once per distinct literal, not once per
occurrence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stratalog.kernels.terms import scan
from stratalog.lang.terms import BNODE_KIND, LANG, STRING, XSD, Term
from stratalog.lang.values.numbers import is_long
from stratalog.lang.values.terms import literal
from stratalog.pipeline.dictionary import STRING_INDEX, Bytes, Dictionary, Ids, KindIds, Offsets
from stratalog.pipeline.files import ReadReport
from stratalog.pipeline.oddlines import OddLine, Reading, Statement, read_odd_lines
from stratalog.pipeline.order import number_by_row

NO_GRAPH = np.uint32(0xFFFFFFFF)
ROWS_PER_CALL = 1 << 17
SHORTEST_STATEMENT = len("<a:><b:><c:>.\n")
ODD_LINES_PER_CALL = 1 << 13
MOST_SPELLINGS = 1 << 20  # remembered from batch to batch, then forgotten: memory stays bounded
LABEL_KIND = -1  # the raw kind of blank nodes that are to be renamed
CANONICAL_LATER = -1
TOO_LONG = NO_GRAPH  # in place of an object's number: its line is left to the parser of odd lines

Relabel = Callable[[str], str]


class Quads(NamedTuple):
    """Triples as numbers; `g` is None where graphs are dropped, NO_GRAPH in the default graph."""

    s: Ids
    p: Ids
    o: Ids
    g: Ids | None = None


class _Batch(NamedTuple):
    """What one call of the scanner found, row by row."""

    data: Bytes
    starts: Offsets  # one row per statement, one column per term
    ends: Offsets
    kinds: KindIds
    types: Offsets  # start and end of the object's datatype or language


class _Lines(NamedTuple):
    """The lines of a batch as they stand in the file."""

    data: bytes
    at: int  # where the batch begins
    number: int  # of its first line


class LineReader:
    """Reads the lines of one file, piece by piece, into a dictionary."""

    def __init__(
        self,
        dictionary: Dictionary,
        reading: Reading,
        report: ReadReport,
        relabel: Relabel | None = None,
        first_line: int = 1,
    ) -> None:
        self._dictionary = dictionary
        self._reading = reading
        self._report = report
        self._line = first_line
        self._width = 4 if reading.data_format == "nq" else 3
        self._spellings = _Spellings(dictionary, relabel)

    def read(self, data: bytes) -> Iterator[Quads]:
        """Yield the statements of `data`, which ends where a line ends or the file does."""
        lines = bytearray(data)  # a copy: escapes are replaced in place
        if not data.endswith(b"\n"):
            lines += b"\n"
        array = np.frombuffer(lines, np.uint8)
        rows = min(ROWS_PER_CALL, len(lines) // SHORTEST_STATEMENT + 1)
        flat = rows * self._width
        starts, ends = np.empty(flat, np.int64), np.empty(flat, np.int64)
        kinds, types = np.empty(flat, np.int32), np.zeros((rows, 2), np.int64)
        odd = np.empty((min(rows, ODD_LINES_PER_CALL), 3), np.int64)
        at = 0
        while at < array.size:
            before = at, self._line
            at, self._line, found, odd_lines = scan.scan_lines(
                array, at, self._line, self._width, starts, ends, kinds, types, odd
            )
            shape = (found, self._width)
            used = found * self._width
            places = starts[:used].reshape(shape), ends[:used].reshape(shape)
            batch = _Batch(array, *places, kinds[:used].reshape(shape), types[:found])
            yield self._encode(batch, odd[:odd_lines], _Lines(data, *before))

    def _encode(self, batch: _Batch, odd: Offsets, lines: _Lines) -> Quads:
        known = len(self._dictionary)
        ids = self._spellings.encode(batch if self._keeps_graphs else _without_graphs(batch))
        if self._spellings.has_long:
            batch, ids, odd = _without_long(batch, ids, odd, lines)
            self._spellings.forget()  # it may know terms that no other row has
        if self._width == 4 and not self._keeps_graphs:  # noqa: PLR2004  # the graph's column
            named = np.count_nonzero(batch.kinds[:, 3] != scan.NO_GRAPH)
            self._report.graphs_dropped += int(named)
        if len(odd):
            ids = self._with_odd_lines(ids, batch, odd, lines.data)
        changed = number_by_row(self._dictionary, known, ids)
        if changed is not None:
            self._spellings.renumber(known, changed)
        self._report.rows += len(ids)
        return Quads(*(np.ascontiguousarray(column) for column in ids.T))

    def _with_odd_lines(self, ids: Ids, batch: _Batch, odd: Offsets, data: bytes) -> Ids:
        """Return the rows of a batch with those of its odd lines, in the order of the file."""
        lines = [OddLine(line, data[start:end]) for start, end, line in odd.tolist()]
        found = read_odd_lines(lines, self._reading, self._report)
        if not found:
            return ids
        starts = odd[[place for place, _ in found], 0]
        order = np.argsort(np.concatenate([batch.starts[:, 0], starts]), kind="stable")
        ids = np.concatenate([ids, self._encode_statements([each for _, each in found])])
        return ids[order]

    def _encode_statements(self, statements: list[Statement]) -> Ids:
        width = 4 if self._keeps_graphs else 3
        named = [row for row, statement in enumerate(statements) if statement[3]]
        terms = [self._spellings.rename(term) for row in statements for term in row[:3]]
        ids = np.full((len(statements), width), NO_GRAPH, np.uint32)
        ids[:, :3] = self._dictionary.encode(terms).reshape(-1, 3)
        if self._keeps_graphs:
            graphs = [graph for statement in statements if (graph := statement[3])]
            ids[named, 3] = self._dictionary.encode(graphs)
        else:
            self._report.graphs_dropped += len(named)
        return ids

    @property
    def _keeps_graphs(self) -> bool:
        return self._width == 4 and self._reading.graphs == "keep"  # noqa: PLR2004


class _Spellings:
    """The numbers of terms as they are spelled in the file, each spelling looked at once."""

    def __init__(self, dictionary: Dictionary, relabel: Relabel | None) -> None:
        self._dictionary = dictionary
        self._relabel = relabel
        self._types = Dictionary()  # of datatypes (kind 0) and languages (kind 1)
        self._kinds = np.empty(0, np.int32)  # by type: a kind of the dictionary or CANONICAL_LATER
        self.forget()

    def forget(self) -> None:
        self.has_long = False  # spellings of numbers of too many digits
        self._texts = Dictionary()  # of spellings; their kind is the number of their type
        self._ids = np.empty(0, np.uint32)  # by spelling
        self._most = 0  # no number in `_ids` is as large

    def renumber(self, known: int, numbers: Ids) -> None:
        """Take over new numbers of the terms from `known` on."""
        changed = np.flatnonzero(self._ids >= known)
        self._ids[changed] = numbers[self._ids[changed] - np.uint32(known)]

    def rename(self, term: Term) -> Term:
        """Return the term under the name it has outside its file."""
        if term.kind == BNODE_KIND and self._relabel is not None:
            return Term(BNODE_KIND, self._relabel(term.text))
        return term

    def encode(self, batch: _Batch) -> Ids:
        """Return the numbers of the batch's terms, one row per statement."""
        if len(self._dictionary) < self._most:
            self.forget()  # the dictionary was truncated
        later = self._settle_kinds(batch)
        data, kinds = batch.data, batch.kinds.ravel()
        starts, ends = batch.starts.ravel(), batch.ends.ravel()
        if later is None and (kinds >= 0).all():
            return self._dictionary.intern_spans(data, starts, ends, kinds).reshape(
                batch.kinds.shape
            )
        raw = np.full(kinds.size, NO_GRAPH, np.uint32)
        is_later = np.zeros(kinds.size, np.bool_)
        types = np.zeros(kinds.size, np.int32)
        if later is not None:
            is_later[later[0]] = True
            types[later[0]] = later[1]
        now = np.flatnonzero(~is_later & (kinds >= 0))
        raw[now] = self._dictionary.intern_spans(data, starts[now], ends[now], kinds[now])
        spelled = np.flatnonzero(is_later)
        raw[spelled] = self._respell(data, starts[spelled], ends[spelled], types[spelled])
        return raw.reshape(batch.kinds.shape)

    def _settle_kinds(self, batch: _Batch) -> tuple[npt.NDArray[np.int64], KindIds] | None:
        """Fill in the kinds of objects; return the places and types of terms to be respelled."""
        width = batch.kinds.shape[1]
        objects = batch.kinds[:, 2]
        rows = np.flatnonzero((objects == scan.TYPED) | (objects == scan.TAGGED))
        places, types = rows[:0], np.empty(0, np.int32)
        if rows.size:
            spans = batch.types[rows]
            tagged = (objects[rows] == scan.TAGGED).astype(np.int32)
            numbers = self._types.intern_spans(
                batch.data,
                np.ascontiguousarray(spans[:, 0]),
                np.ascontiguousarray(spans[:, 1]),
                tagged,
            )
            self._learn_types()
            settled = self._kinds[numbers]
            batch.kinds[rows, 2] = np.maximum(settled, STRING_INDEX)
            places = rows[settled == CANONICAL_LATER] * width + 2
            types = numbers[settled == CANONICAL_LATER].astype(np.int32)
        if self._relabel is not None:
            labels = np.flatnonzero(batch.kinds.ravel() == scan.BNODE)
            places = np.concatenate([places, labels])
            types = np.concatenate([types, np.full(labels.size, LABEL_KIND, np.int32)])
        return (places, types) if places.size else None

    def _learn_types(self) -> None:
        known = len(self._kinds)
        new = range(known, len(self._types))
        texts = self._types.texts(new).to_pylist()
        kinds = [
            self._kind_of(text, is_tag=bool(self._types.kind_ids[number]))
            for number, text in zip(new, texts, strict=True)
        ]
        self._kinds = np.concatenate([self._kinds, np.array(kinds, np.int32)])

    def _kind_of(self, text: str, *, is_tag: bool) -> int:
        if is_tag:
            return self._dictionary.kind_index(LANG + text.lower())
        if text == STRING:
            return STRING_INDEX
        # Only XML Schema's datatypes have several spellings of one value.
        return CANONICAL_LATER if text.startswith(XSD) else self._dictionary.kind_index(text)

    def _respell(self, data: Bytes, starts: Offsets, ends: Offsets, types: KindIds) -> Ids:
        if len(self._texts) > MOST_SPELLINGS:
            self.forget()
        numbers = self._texts.intern_spans(data, starts, ends, types)
        new = range(len(self._ids), len(self._texts))
        if new:
            self._ids = np.concatenate([self._ids, self._encode_new(new)])
            self._most = len(self._dictionary)
        return self._ids[numbers]

    def _encode_new(self, new: range) -> Ids:
        """Return the numbers of new spellings, TOO_LONG for numbers of too many digits."""
        terms = self._canonical(new)
        long = self._long_places(terms, new)
        if not long:
            return self._dictionary.encode(terms)
        self.has_long = True
        ids = np.full(len(terms), TOO_LONG, np.uint32)
        short = np.delete(np.arange(len(terms)), long)
        ids[short] = self._dictionary.encode([terms[place] for place in short])
        return ids

    def _long_places(self, terms: list[Term], new: range) -> list[int]:
        most = self._dictionary.max_digits
        if most is None:
            return []
        # A canonical spelling has at most one digit more than the text: 1 is the decimal 1.0.
        places = np.flatnonzero(self._texts.sizes(new.start) >= most).tolist()
        return [place for place in places if is_long(terms[place], most)]

    def _canonical(self, new: range) -> list[Term]:
        names = self._types.texts(range(len(self._types))).to_pylist()
        texts = self._texts.texts(new).to_pylist()
        types = self._texts.kind_ids[new.start : new.stop].tolist()
        return [
            self.rename(Term(BNODE_KIND, text))
            if number == LABEL_KIND
            else literal(text, names[number])
            for text, number in zip(texts, types, strict=True)
        ]


def parse_ntriples(
    data: bytes,
    dictionary: Dictionary,
    reading: Reading,
    report: ReadReport,
    first_line: int = 1,
) -> Quads:
    """Return the statements of `data`, whole lines, as numbers in `dictionary`."""
    reader = LineReader(dictionary, reading, report, first_line=first_line)
    return join_quads(list(reader.read(data)))


def join_quads(parts: list[Quads]) -> Quads:
    """Return the statements of all parts together."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Quads(*(np.empty(0, np.uint32) for _ in range(3)))
    columns = zip(*parts, strict=True)
    return Quads(*(None if part[0] is None else np.concatenate(part) for part in columns))  # type: ignore[arg-type]


def _without_graphs(batch: _Batch) -> _Batch:
    return batch._replace(
        starts=np.ascontiguousarray(batch.starts[:, :3]),
        ends=np.ascontiguousarray(batch.ends[:, :3]),
        kinds=np.ascontiguousarray(batch.kinds[:, :3]),
    )


def _without_long(
    batch: _Batch, ids: Ids, odd: Offsets, lines: _Lines
) -> tuple[_Batch, Ids, Offsets]:
    """Return a batch without the rows of numbers of too many digits, whose lines become odd."""
    is_long_row = ids[:, 2] == TOO_LONG
    places = _places(lines, batch.starts[is_long_row, 0].tolist())
    odd = np.concatenate([odd, np.array(places, np.int64).reshape(-1, 3)])
    kept = ~is_long_row
    parts = (np.ascontiguousarray(part[kept]) for part in batch[1:])
    return _Batch(batch.data, *parts), ids[kept], odd[np.argsort(odd[:, 0], kind="stable")]


def _places(lines: _Lines, inside: list[int]) -> list[tuple[int, int, int]]:
    """Return start, end and number of the lines that have something at the places `inside`."""
    data, at, number = lines
    found = []
    for place in inside:
        start = max(at, data.rfind(b"\n", at, place) + 1)
        number += data.count(b"\n", at, start)
        end = data.find(b"\n", place)
        found.append((start, len(data) if end < 0 else end, number))
        at = start
    return found
