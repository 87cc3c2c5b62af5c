"""The headers of Parquet pages: what sizes and encodings they tell, before a page is unpacked.

Arrow unpacks a page into as much memory as its header asks for, and looks at the footer's sums no
more. The format is Thrift's compact protocol; all that is not needed here is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stratalog.pipeline.documents import OddDocumentError

DATA_PAGE, DICTIONARY_PAGE = 0, 2
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)
_DEEPEST = 8  # structures in structures: a page header has two
_LONGEST = 10  # bytes of a number
_BROKEN = "a page has no header"


class Page(NamedTuple):
    """What a header tells: the page's type, its size unpacked and packed, and its encoding."""

    type: int
    unpacked: int
    packed: int
    encoding: int | None


def pages(content: memoryview, start: int, end: int) -> Iterator[Page]:
    """Yield the headers of the pages that lie one after the other from `start` to `end`."""
    while start < end:
        try:
            page, body = _header(content, start)
        except IndexError:
            raise OddDocumentError(_BROKEN) from None
        if page.unpacked < 0 or page.packed < 0 or body + page.packed > end:
            raise OddDocumentError("a page is larger than its column")
        yield page
        start = body + page.packed


def _header(content: memoryview, at: int) -> tuple[Page, int]:
    """Return the header that begins at a place, and where it ends."""
    found: dict[int, int] = {}
    encoding = None
    number = 0
    while True:
        number, kind, at = _field(content, at, number)
        if not kind:
            break
        if kind in _INTEGERS and number <= 3:  # noqa: PLR2004  # type and both sizes
            found[number], at = _integer(content, at)
        elif kind == _STRUCT:
            inner, at = _encoding(content, at)
            encoding = inner if encoding is None else encoding
        else:
            at = _skip(content, at, kind, 0)
    if len(found) < 3:  # noqa: PLR2004
        raise OddDocumentError(_BROKEN)
    return Page(found[1], found[2], found[3], encoding), at


def _encoding(content: memoryview, at: int) -> tuple[int | None, int]:
    """Return the second field of a structure, and where it ends: the encoding of values."""
    number, found = 0, None
    while True:
        number, kind, at = _field(content, at, number)
        if not kind:
            return found, at
        if number == 2 and kind in _INTEGERS:  # noqa: PLR2004
            found, at = _integer(content, at)
        else:
            at = _skip(content, at, kind, 1)


def _field(content: memoryview, at: int, before: int) -> tuple[int, int, int]:
    """Return the number and type of the next field, type 0 at the end, and where it goes on."""
    head = content[at]
    at += 1
    kind, step = head & 15, head >> 4
    if not kind:
        return before, 0, at
    if step:
        return before + step, kind, at
    number, at = _integer(content, at)
    return number, kind, at


def _unsigned(content: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_LONGEST):
        byte = content[at + place]
        value |= (byte & 127) << 7 * place
        if byte < 128:  # noqa: PLR2004  # the last byte
            return value, at + place + 1
    raise OddDocumentError(_BROKEN)


def _integer(content: memoryview, at: int) -> tuple[int, int]:
    value, at = _unsigned(content, at)
    return (value >> 1) ^ -(value & 1), at


def _skip(content: memoryview, at: int, kind: int, depth: int) -> int:
    """Return where a value ends."""
    if kind in (_TRUE, _FALSE):
        return at
    if kind == _BYTE:
        return at + 1
    if kind in _INTEGERS:
        return _unsigned(content, at)[1]
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        size, at = _unsigned(content, at)
        return at + size
    if kind == _STRUCT and depth < _DEEPEST:
        number = 0
        while True:
            number, inner, at = _field(content, at, number)
            if not inner:
                return at
            at = _skip(content, at, inner, depth + 1)
    raise OddDocumentError(_BROKEN)  # lists, sets and maps are in no page header
