"""The footers of Parquet files: where the pages of each column lie, and how many values they have.

Read by us as well as by Arrow, see thrift.py. A store of many small relations has as many footers,
nearly all as our writer writes them: these are matched with regular expressions, which take none
that the thorough reader would read in another way.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from stratalog.pipeline.documents import OddDocumentError
from stratalog.pipeline.page_headers import BOUNDS, NUMBER
from stratalog.pipeline.thrift import STRUCT, Struct, integer, read_struct

FOREIGN = "it is no Parquet file of ours"

_SHORT = rb"[\x00-\x7f]"  # a number of one byte
_MOST_COLUMNS = 13  # a list of more than 14, and there is one of one more, has another head
_NAME = rb"\x18(?:\x02c[0-9]|\x05label|\x0cnonrecursive|\x09recursive)"
_ELEMENT = rb"\x15%b\x25%b%b\x00" % (_SHORT, _SHORT, _NAME)
_ELEMENTS = re.compile(_ELEMENT)
# From the beginning of a footer to its first column, if it is of one group.
_HEAD = re.compile(
    rb"\x15%b\x19(.)\x35\x00\x18\x06schema\x15%b\x00((?:%b)+)\x16(%b)\x19\x1c\x19(.)"
    % (_SHORT, _SHORT, _ELEMENT, NUMBER),
    re.DOTALL,
)
_ENCODINGS = rb"\x19(?:\x15%b|\x25%b{2}|\x35%b{3})" % ((_SHORT,) * 3)
_PAGES = rb"\x15%b\x15%b\x15%b\x00" % (_SHORT, _SHORT, NUMBER)  # a kind, and how many there are
# Values, bytes packed, where pages of values and of a dictionary begin.
_COLUMN = re.compile(
    rb"\x26%b\x1c\x15%b%b\x19%b\x15%b" % (NUMBER, _SHORT, _ENCODINGS, _NAME, _SHORT)
    + rb"\x16(%b)\x16%b\x16(%b)\x26(%b)(?:\x26(%b)\x1c|\x3c)" % ((NUMBER,) * 5)
    + rb"%b\x19(?:\x1c|\x2c%b)%b" % (BOUNDS, _PAGES, _PAGES)
    + rb"\x3c\x29\x06\x19\x26%b%b\x00\x00\x00" % (NUMBER, NUMBER),
    re.DOTALL,
)
_WRITER = b"|".join(rb"\x%02x.{%d}" % (size, size) for size in range(28, 40))
# The sums of the group, who wrote the file, and how the values of each column are ordered.
_TAIL = re.compile(
    rb"\x16%b\x16(%b)\x26%b\x16%b(?:\x14%b)?\x00" % ((NUMBER,) * 5)
    + rb"\x28(?:%b)\x19(.)((?:\x1c\x00\x00)+)\x00" % _WRITER,
    re.DOTALL,
)


class Chunk(NamedTuple):
    """Where the pages of a column of a group are, and how many values they have."""

    start: int
    end: int
    values: int


class Group(NamedTuple):
    """A group of rows, and its columns."""

    rows: int
    chunks: list[Chunk]


class Footer(NamedTuple):
    """How many rows a file has, and its groups of rows."""

    rows: int
    groups: list[Group]


def read_footer(content: bytes) -> Footer:
    """Return what a footer tells."""
    return _usual_footer(content) or _any_footer(content)


def _usual_footer(content: bytes) -> Footer | None:
    """Return what a footer tells, None if it is not as our writer writes it for one group."""
    head = _HEAD.match(content)
    if head is None:
        return None
    chunks = []
    at = head.end()
    while column := _COLUMN.match(content, at):
        values, packed, start, dictionary = (integer(n, 0)[0] for n in column.groups(b"\0"))
        chunks.append(_chunk(start, dictionary, packed, values))
        at = column.end()
    tail = _TAIL.fullmatch(content, at)
    if tail is None or not _is_consistent(len(chunks), head, tail):
        return None
    return Footer(integer(head[3], 0)[0], [Group(integer(tail[1], 0)[0], chunks)])


def _is_consistent(columns: int, head: re.Match[bytes], tail: re.Match[bytes]) -> bool:
    """Tell whether all lists of columns have as many members as they say."""
    if columns > _MOST_COLUMNS:
        return False
    members = len(_ELEMENTS.findall(head[2])) + 1, columns, len(tail[3]) // 3
    told = head[1] + head[4] + tail[2]
    return max(members) <= _MOST_COLUMNS + 1 and told == bytes(16 * n + STRUCT for n in members)


def _any_footer(content: bytes) -> Footer:
    """Return the same for a footer of any writer."""
    try:
        told = read_struct(content, 0)[0]
        groups = [
            Group(_number(each, 3), [_chunk_told(column[3]) for column in each[1]])
            for each in told.get(4, [])
        ]
        return Footer(_number(told, 3), groups)
    except (LookupError, TypeError, AttributeError):
        raise OddDocumentError(FOREIGN) from None


def _chunk_told(fields: Struct) -> Chunk:
    dictionary = _number(fields, 11) if 11 in fields else 0  # noqa: PLR2004  # a field's number
    return _chunk(_number(fields, 9), dictionary, _number(fields, 7), _number(fields, 5))


def _number(fields: Struct, name: int) -> int:
    if not isinstance(found := fields[name], int):
        raise OddDocumentError(FOREIGN)
    return found


def _chunk(start: int, dictionary: int, packed: int, values: int) -> Chunk:
    """Return where the pages of a column begin and end; those of its dictionary may be first."""
    if 0 < dictionary < start:
        start = dictionary
    return Chunk(start, start + packed, values)
