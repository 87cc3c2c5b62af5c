"""Cutting files into tasks: byte ranges of line formats, row groups of tables, else whole files."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import FileIO
from itertools import pairwise
from pathlib import Path

import numpy as np

from stratalog.pipeline.delimited import NEWLINE, QUOTE
from stratalog.pipeline.files import COMPRESSIONS, ByteStream, open_bytes
from stratalog.pipeline.paths import DataFile
from stratalog.pipeline.table_files import TABLE_FORMATS, table_parts

RANGE = 32 << 20  # bytes of a task: its memory is some ten times that, its overhead still small
LINE_FORMATS = frozenset({"nt", "nq", "csv", "tsv", "facts", "jsonl"})
OPENING = 1 << 16  # bytes that could be read while a file is opened
BLOCK = 1 << 22  # bytes looked at to find where records begin
SEARCHED = 1 << 16  # bytes read at once to find the end of a line


@dataclass(frozen=True, slots=True)
class Task:
    """A part of a file: bytes [begin, end) or table parts [begin, end); all if `end` is None.

    The lines that begin in the range belong to it.
    """

    file: DataFile
    begin: int = 0
    end: int | None = None
    size: int = 0  # bytes, for progress


def cut_files(
    files: Sequence[DataFile], size: int = RANGE, *, skip: bool = False
) -> Iterator[Task]:
    """Yield the tasks that together read the files, in order; `skip` if bad lines are skipped."""
    for file in files:
        length = Path(file.path).stat().st_size
        compressed = Path(file.path).suffix.lower() in COMPRESSIONS
        if length <= size or compressed:
            yield Task(file, size=length)
        elif file.format in TABLE_FORMATS:
            yield from _cut_table(file, length, size)
        elif file.format in LINE_FORMATS:
            quoted = file.format == "csv" and _has_quotes(file.path)
            cuts = _cuts(file.path, length, size, quoted=quoted, skip=skip)
            for begin, end in pairwise(cuts):
                yield Task(file, begin, end, end - begin)
        else:
            yield Task(file, size=length)


def pack_tasks(tasks: Sequence[Task], least: int) -> list[list[int]]:
    """Return the tasks' numbers in runs of about RANGE bytes, `least` runs if there are as many.

    A run is a task of Spark's: many small files in one cost one start.
    """
    costs = [task.size + OPENING for task in tasks]
    size = min(RANGE, sum(costs) // least + 1)
    runs: list[list[int]] = []
    held = size
    for number, cost in enumerate(costs):
        if held + cost // 2 >= size:
            runs.append([])
            held = 0
        runs[-1].append(number)
        held += cost
    return runs


def _cut_table(file: DataFile, length: int, size: int) -> Iterator[Task]:
    """Yield tasks of whole row groups, of about `size` bytes each."""
    rows = table_parts(file)
    total = max(1, sum(rows))
    begin, told, seen = 0, 0, 0
    for part, count in enumerate(rows):
        seen += count
        upto = length if part == len(rows) - 1 else length * seen // total
        if upto - told >= size or part == len(rows) - 1:
            yield Task(file, begin, part + 1, upto - told)
            begin, told = part + 1, upto


def _cuts(path: str, length: int, size: int, *, quoted: bool, skip: bool) -> list[int]:
    """Return where the tasks of a file begin, and its end."""
    if not quoted:
        return [*range(0, length, size), length]
    # A stray quote turns the inside out for all that follows. If it is an error, the task that has
    # it tells it; if such lines are skipped, only reading from the start finds the next record.
    return [0, length] if skip else [0, *_record_starts(path, size), length]


def _record_starts(path: str, size: int) -> Iterator[int]:
    """Yield about every `size` bytes where a record of a CSV file begins.

    A line end is the end of a record if an even number of quotes precedes it.
    """
    at, quotes, wanted = 0, 0, size
    with Path(path).open("rb") as file:
        while block := file.read(BLOCK):
            while wanted <= at + len(block):
                found = _record_end(block, max(0, wanted - 1 - at), quotes)
                if found is None:
                    break
                yield at + found
                wanted = at + found + size
            quotes += block.count(b'"')
            at += len(block)


def _record_end(block: bytes, begin: int, quotes: int) -> int | None:
    """Return where the first record end from `begin` on is passed; `quotes` precede the block."""
    before = quotes + block.count(b'"', 0, begin)
    rest = np.frombuffer(block, np.uint8)[begin:]
    ends, marks = np.flatnonzero(rest == NEWLINE), np.flatnonzero(rest == QUOTE)
    outside = np.flatnonzero((np.searchsorted(marks, ends) + before) % 2 == 0)
    return begin + int(ends[outside[0]]) + 1 if outside.size else None


def _has_quotes(path: str) -> bool:
    """Tell whether a line end may be quoted."""
    with open_bytes(path), Path(path).open("rb") as file:
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with whole:
            return whole.find(b'"') >= 0


class LineRange(ByteStream):
    """The lines of a file that begin within a range of bytes."""

    def __init__(self, path: str, plain: FileIO, begin: int, end: int) -> None:
        super().__init__(path, plain, None)
        self.lines = 0  # line ends passed
        first = self._line_start(begin)
        self._left = max(0, self._line_start(end) - first)
        plain.seek(first)
        self.bytes_read = 0

    def _line_start(self, at: int) -> int:
        """Return where the first line that does not begin before `at` begins."""
        if at == 0:
            return 0
        self._plain.seek(at - 1)
        at -= 1
        while block := super().read(SEARCHED):
            cut = block.find(b"\n")
            if cut >= 0:
                return at + cut + 1
            at += len(block)
        return at

    def read(self, size: int = -1, /) -> bytes:
        """Return at most `size` bytes, none only at the end of the range."""
        wanted = self._left if size < 0 else min(size, self._left)
        data = super().read(wanted) if wanted else b""
        self._left -= len(data)
        self.lines += data.count(b"\n")
        return data


def open_range(path: str, begin: int, end: int) -> LineRange:
    """Open the lines that begin in [begin, end); errors name the file."""
    open_bytes(path).close()  # which says what is wrong with a path
    return LineRange(path, FileIO(path), begin, end)
