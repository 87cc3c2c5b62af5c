"""Bytes of CSV, TSV and .facts files to columns of text, block by block, all rows at once.

A delimiter counts only where the number of quotes before it is even: that one rule finds quoted
commas and line ends, because a doubled quote changes nothing. Then fields are held to RFC 4180.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stratalog.errors import DataError

NEWLINE, RETURN, TAB, COMMA, QUOTE = b'\n\r\t,"'
BLOCK = 1 << 23  # amortises the calls; its temporaries take some ten times as much
SMALL_BLOCK = 1 << 13  # first, and after a broken quote: what is scanned twice is short
LONGEST_RECORD = 1 << 28  # a quote that is not closed by then is taken for a mistake
MARK = b"\xef\xbb\xbf"  # the byte order mark, which spreadsheets write

Positions = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Reject = Callable[[DataError, str], None]
"""Told of a bad record and its text; raises the error, or counts it and returns."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How fields are told apart; TSV quotes nothing."""

    delimiter: int
    quoted: bool


CSV = Dialect(COMMA, quoted=True)
TSV = Dialect(TAB, quoted=False)


@dataclass(frozen=True, slots=True)
class Rows:
    """Whole records: one array of text per field; `starts` are their first bytes in `data`."""

    columns: list[Any]
    size: int
    data: bytes
    starts: Positions
    first_line: int

    def line(self, row: int) -> int:
        """Return the line of the file on which a row begins."""
        return self.first_line + self.data.count(b"\n", 0, int(self.starts[row]))

    def text(self, row: int) -> str:
        """Return the first line of a row as it stands in the file."""
        return _line_at(self.data, int(self.starts[row]))


class DelimitedReader:
    """A CSV or TSV file, read once from its beginning to its end, or from a line's beginning on.

    Bad records are reported after their block was yielded; if `strict`, the block ends before the
    first of them, so that the first mistake of the file is told, whoever finds it.
    """

    def __init__(
        self,
        stream: BinaryIO,
        dialect: Dialect,
        path: str,
        reject: Reject,
        *,
        strict: bool = True,
        from_start: bool = True,
    ) -> None:
        self.stream = stream
        self.dialect = dialect
        self.path = path
        self.reject = reject
        self.strict = strict
        self.buffer = stream.read(len(MARK)).removeprefix(MARK) if from_start else b""
        self.position = 0
        self.line = 1
        self.size = min(SMALL_BLOCK, BLOCK)  # the first record is looked at first
        self.ended = False

    def first_record(self) -> list[str] | None:
        """Return the fields of the first record that is not blank, without reading past it."""
        while (data := self._take()) is not None:
            fields = _split(data, self.dialect)
            filled = np.flatnonzero(~fields.blank())
            if filled.size:
                return fields.texts(int(filled[0]))
            if fields.stop == 0 or not self.dialect.quoted:
                return [""]
            self._advance(data, fields.stop)
        return None

    def drop_record(self) -> None:
        """Pass over the record that `first_record` returned: a header, which must not be bad."""
        data = self._take()
        assert data is not None  # noqa: S101  # a record was seen
        fields = _split(data, self.dialect)
        filled = np.flatnonzero(~fields.blank())
        record = int(filled[0]) if filled.size else 0  # an empty line of TSV is one empty name
        if not fields.count or fields.first_broken() <= record:
            raise self._bad_quote(data, int(fields.record_starts()[record]))
        if record in _garbled(fields, record + 1):
            start = int(fields.record_starts()[record])
            raise not_utf8(self.path, self.line + data.count(b"\n", 0, start))
        self._advance(data, int(fields.record_starts()[record + 1]))

    def rows(self, width: int) -> Iterator[Rows]:
        """Yield all records; blank lines are none, except for one TSV column: the empty string."""
        while (data := self._take()) is not None:
            fields = _split(data, self.dialect)
            broken = fields.first_broken()
            yield from self._good_rows(fields, width, broken)
            used = int(fields.record_starts()[broken])
            if broken < fields.count or fields.stop == 0:
                used = self._reject_line(data, used)
            self._advance(data, used)

    def _good_rows(self, fields: _Fields, width: int, count: int) -> Iterator[Rows]:
        """Yield the first `count` records less the bad ones, each of which is reported."""
        widths = fields.widths()[:count]
        passed = fields.blank()[:count]
        if width == 1 and not self.dialect.quoted:
            passed[:] = False
        good = widths == max(width, 1)
        garbled = _garbled(fields, count)
        good[garbled] = False
        if width == 0:
            good &= fields.equal_to(b"()")[:count]
        starts = fields.record_starts()
        keep, bad = np.flatnonzero(good & ~passed), np.flatnonzero(~good & ~passed)
        if bad.size and self.strict:
            keep = keep[keep < bad[0]]
        if keep.size:
            columns = fields.columns(keep, width)
            yield Rows(columns, keep.size, fields.data, starts[keep], self.line)
        for record in bad.tolist():
            text = _line_at(fields.data, int(starts[record]))
            self.reject(self._mistake(fields, record, width, garbled), text)

    def _mistake(self, fields: _Fields, record: int, width: int, garbled: list[int]) -> DataError:
        start = int(fields.record_starts()[record])
        line = self.line + fields.data.count(b"\n", 0, start)
        if record in garbled:
            return not_utf8(self.path, line)
        found = int(fields.widths()[record])
        if width == 0:
            return DataError(
                "D105",
                "a predicate without arguments is fed by lines that read ()",
                path=self.path,
                line=line,
                help="write () for the fact, or give the predicate as many arguments as fields",
            )
        separator = "commas" if self.dialect.quoted else "tabs"
        return DataError(
            "D105",
            f"{_fields(found)} where {width} {'is' if width == 1 else 'are'} expected",
            path=self.path,
            line=line,
            help=f"fields are separated by {separator}; correct the line, or skip bad input",
        )

    def _reject_line(self, data: bytes, start: int) -> int:
        """Report the line whose quotes are wrong and return where the next line begins."""
        stop = data.find(b"\n", start) + 1 or len(data)
        self.reject(self._bad_quote(data, start), _line_at(data, start))
        return stop

    def _bad_quote(self, data: bytes, start: int) -> DataError:
        return DataError(
            "D110",
            "a quote is out of place or never closed",
            path=self.path,
            line=self.line + data.count(b"\n", 0, start),
            help='put the whole field in quotes and double the quotes inside it: "5"" disk"',
        )

    def _take(self) -> bytes | None:
        """Return the next bytes, up to a record's end unless a quote is never closed."""
        wanted = self.size
        while True:
            self._fill(wanted)
            data = self.buffer[self.position : self.position + wanted]
            if not data:
                return None
            stop = _last_record_end(data, self.dialect)
            if stop:
                return data[:stop]
            if len(data) < wanted or wanted > LONGEST_RECORD:
                return data
            wanted *= 2

    def _fill(self, wanted: int) -> None:
        if self.ended or len(self.buffer) - self.position >= wanted:
            return
        parts = [self.buffer[self.position :]]
        missing = wanted - len(parts[0])
        while missing > 0 and (piece := self.stream.read(missing)):
            parts.append(piece)
            missing -= len(piece)
        self.buffer, self.position = b"".join(parts), 0
        if missing > 0:
            self.ended = True
            if self.buffer and not self.buffer.endswith(b"\n"):
                self.buffer += b"\n"

    def _advance(self, data: bytes, used: int) -> None:
        self.line += data.count(b"\n", 0, used)
        self.position += used
        self.size = min(BLOCK, self.size * 4) if used == len(data) else SMALL_BLOCK


def not_utf8(path: str, line: int) -> DataError:
    """Return the error for bytes that are no text."""
    return DataError(
        "D102", "the line is not valid UTF-8", path=path, line=line,
        help="convert the file to UTF-8, for instance with iconv, or skip bad input",
    )  # fmt: skip


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


def _line_at(data: bytes, start: int) -> str:
    stop = data.find(b"\n", start)
    line = data[start : stop if stop >= 0 else len(data)]
    return line.removesuffix(b"\r").decode("utf-8", "replace")


def _last_record_end(data: bytes, dialect: Dialect) -> int:
    """Return the length of the whole records at the beginning of `data`."""
    stop = data.rfind(b"\n") + 1
    if not dialect.quoted or data.count(b'"', 0, stop) % 2 == 0:
        return stop
    return _split(data, dialect).stop


def _split(data: bytes, dialect: Dialect) -> _Fields:
    """Return where the fields of all whole records are."""
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero((text == NEWLINE) | (text == dialect.delimiter))
    quotes = None
    if dialect.quoted and b'"' in data:
        quotes = np.flatnonzero(text == QUOTE)
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    last = np.flatnonzero(text[ends] == NEWLINE)
    ends = ends[: int(last[-1]) + 1] if last.size else ends[:0]
    starts = np.concatenate((np.zeros(min(1, ends.size), np.int64), ends[:-1] + 1))
    stop = int(ends[-1]) + 1 if ends.size else 0
    returns = (ends[last] > starts[last]) & (text[ends[last] - 1] == RETURN)
    ends[last] -= returns
    return _Fields(data, text, starts, ends, last, stop, quotes)


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of a block, bytes [start, end) each; `last` are the records' last fields."""

    data: bytes
    text: Bytes
    starts: Positions
    ends: Positions
    last: Positions
    stop: int
    quotes: Positions | None  # where quotes are; None where they mean nothing

    @property
    def count(self) -> int:
        """The number of records."""
        return int(self.last.size)

    def first(self) -> Positions:
        """Return the number of each record's first field."""
        return np.concatenate((np.zeros(min(1, self.count), np.int64), self.last[:-1] + 1))

    def record_starts(self) -> Positions:
        """Return the first byte of each record, and the end of the last."""
        return np.append(self.starts[self.first()], self.stop)

    def widths(self) -> Positions:
        """Return how many fields each record has."""
        return self.last - self.first() + 1

    def blank(self) -> Mask:
        """Return which records have nothing in them."""
        empty: Mask = self.starts[self.first()] == self.ends[self.last]
        return empty

    def equal_to(self, wanted: bytes) -> Mask:
        """Return which records consist of these bytes, `wanted` being short."""
        starts, ends = self.starts[self.first()], self.ends[self.last]
        same: Mask = ends - starts == len(wanted)
        for offset, byte in enumerate(wanted):
            same &= self.text[np.minimum(starts + offset, len(self.data) - 1)] == byte
        return same

    def texts(self, record: int) -> list[str]:
        """Return the fields of one record, however wrong it is."""
        found = range(int(self.first()[record]), int(self.last[record]) + 1)
        raw = [self.data[self.starts[i] : self.ends[i]].decode("utf-8", "replace") for i in found]
        if self.quotes is None:
            return raw
        return [t[1:-1].replace('""', '"') if t[:1] == '"' == t[-1:] else t for t in raw]

    def first_broken(self) -> int:
        """Return the first record whose quotes violate RFC 4180, or the number of records."""
        if self.quotes is None:
            return self.count
        inside = _between(self.quotes, self.starts, self.ends)
        quoted = self._wrapped(inside)
        bad = (inside > 0) & ~quoted
        inner = np.flatnonzero(quoted & (inside > 2))  # noqa: PLR2004  # more than its own two
        if inner.size:
            texts = _gather(self.text, self.starts[inner] + 1, self.ends[inner] - 1)
            single = pc.match_substring(pc.replace_substring(texts, b'""', b""), b'"')
            bad[inner[single.to_numpy(zero_copy_only=False)]] = True
        first = np.flatnonzero(bad)[:1]
        return int(np.searchsorted(self.last, first[0])) if first.size else self.count

    def _wrapped(self, inside: Positions) -> Mask:
        """Return which fields begin and end with a quote, each with its own."""
        ends = (self.text[self.starts] == QUOTE) & (self.text[self.ends - 1] == QUOTE)
        wrapped: Mask = (inside > 1) & ends
        return wrapped

    def columns(self, records: Positions, width: int) -> list[Any]:
        """Return the text of `records`, which all have `width` fields, one array per field."""
        chosen = (self.first()[records][:, None] + np.arange(width)).reshape(-1)
        starts, ends = self.starts[chosen], self.ends[chosen]
        escaped = False
        if self.quotes is not None:
            inside = _between(self.quotes, starts, ends)
            starts, ends = starts + (inside > 0), ends - (inside > 0)
            escaped = bool((inside > 2).any())  # noqa: PLR2004  # more than its own two
        flat = _gather(self.text, starts, ends).view(pa.large_string())
        if escaped:
            flat = pc.replace_substring(flat, '""', '"')
        if width == 1:
            return [flat]
        return [flat.take(pa.array(np.arange(i, len(flat), width))) for i in range(width)]


def _between(quotes: Positions, starts: Positions, ends: Positions) -> Positions:
    """Return how many quotes there are in each field."""
    return np.searchsorted(quotes, ends) - np.searchsorted(quotes, starts)


def _gather(text: Bytes, starts: Positions, ends: Positions) -> Any:  # noqa: ANN401  # Arrow has no types
    """Return the bytes of fields that are disjoint and in order, as an Arrow array."""
    lengths = ends - starts
    offsets = np.zeros(starts.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    filled = lengths > 0
    marks = np.zeros(text.size + 1, np.int8)
    marks[starts[filled]] = 1
    marks[ends[filled]] -= 1
    kept = np.cumsum(marks[:-1], dtype=np.int8).view(np.bool_)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text[kept])]
    return pa.Array.from_buffers(pa.large_binary(), starts.size, buffers)


def _garbled(fields: _Fields, count: int) -> list[int]:
    """Return the records, among the first `count`, that are not valid UTF-8."""
    starts = fields.record_starts()
    stop = int(starts[count])
    found: list[int] = []
    position = 0
    whole = memoryview(fields.data)
    while position < stop:
        try:
            codecs.utf_8_decode(whole[position:stop], "strict", True)
        except UnicodeDecodeError as error:
            at = position + error.start
            record = int(np.searchsorted(starts, at, side="right")) - 1
            found.append(record)
            position = int(starts[record + 1])
        else:
            break
    return found
