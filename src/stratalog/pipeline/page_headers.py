"""The headers of Parquet pages: what sizes and encodings they tell, before a page is unpacked.

Arrow unpacks a page into as much memory as its header asks for, and looks at the footer's sums no
more. The format is Thrift's compact protocol; all that is not needed here is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from stratalog.pipeline.documents import OddDocumentError

DATA_PAGE, DICTIONARY_PAGE = 0, 2
_BINARY, _STRUCT = 8, 12
_WIDTHS = {1: 0, 2: 0, 3: 1, 7: 8}  # bytes of truths, which are in the type, bytes and doubles
_INTEGERS = frozenset({4, 5, 6})
_DEEPEST = 8  # structures in structures: a page header has two
_LONGEST = 10  # bytes of a number
_NUMBER = rb"[\x80-\xff]{0,4}[\x00-\x7f]"
_VALUE = rb"(?:\x08.{8}|\x04.{4})"
_BOUNDS = rb"\x1c\x18%b\x18%b\x16\x00\x28%b\x18%b[\x11\x12]{2}\x00" % ((_VALUE,) * 4)
# A page of numbers as Arrow writes it; there are fifty of them in a column of a million rows.
_USUAL = re.compile(
    rb"\x15\x00\x15(%b)\x15(%b)\x2c\x15%b\x15([\x00-\x7e])\x15\x06\x15\x06(?:%b)?\x00\x00"
    % (_NUMBER, _NUMBER, _NUMBER, _BOUNDS),
    re.DOTALL,
)
_DICTIONARY = re.compile(
    rb"\x15\x04\x15(%b)\x15(%b)\x4c\x15%b\x15([\x00-\x7e])[\x11\x12]?\x00\x00"
    % (_NUMBER, _NUMBER, _NUMBER),
    re.DOTALL,
)
_BROKEN = "a page has no header"


class Page(NamedTuple):
    """What a header tells: the page's type, its size unpacked and packed, and its encoding."""

    type: int
    unpacked: int
    packed: int
    encoding: int | None


def pages(content: bytes) -> Iterator[Page]:
    """Yield the headers of pages that lie one after the other."""
    start = 0
    while start < len(content):
        try:
            page, body = _header(content, start)
        except (IndexError, KeyError):
            raise OddDocumentError(_BROKEN) from None
        if page.unpacked < 0 or page.packed < 0 or body + page.packed > len(content):
            raise OddDocumentError("a page is larger than its column")
        yield page
        start = body + page.packed


def _header(content: bytes, at: int) -> tuple[Page, int]:
    """Return the header that begins at a place, and where it ends."""
    usual = _USUAL.match(content, at) or _DICTIONARY.match(content, at)
    if usual is None:
        return _any_header(content, at)
    unpacked, packed, encoding = (_integer(usual[place], 0)[0] for place in (1, 2, 3))
    return Page(usual[0][1] >> 1, unpacked, packed, encoding), usual.end()


def _any_header(content: bytes, at: int) -> tuple[Page, int]:
    """Return the same for a header of any writer.

    Its fields 1 to 3 are the type and both sizes; in the first structure, field 2 is the encoding.
    """
    found: dict[tuple[int, ...], int] = {}
    numbers = [0]  # of the last field, in the header and in each structure of it that is open
    while numbers:
        numbers[-1], kind, at = _field(content, at, numbers[-1])
        if not kind:
            numbers.pop()
        elif kind in _INTEGERS:
            value, at = _integer(content, at)
            place = (len(numbers), numbers[-1])
            if place in found and len(numbers) < 3:  # noqa: PLR2004  # readers differ in what holds
                raise OddDocumentError(_BROKEN)
            found[place] = value
        elif kind == _STRUCT and len(numbers) < _DEEPEST:
            numbers.append(0)
        else:
            at = _skip(content, at, kind)
    return Page(found[1, 1], found[1, 2], found[1, 3], found.get((2, 2))), at


def _field(content: bytes, at: int, before: int) -> tuple[int, int, int]:
    """Return the number and type of the next field, type 0 at the end, and where it goes on."""
    head = content[at]
    if not head:
        return before, 0, at + 1
    if head >> 4:
        return before + (head >> 4), head & 15, at + 1
    number, at = _integer(content, at + 1)
    return number, head & 15, at


def _skip(content: bytes, at: int, kind: int) -> int:
    """Return where a value ends; lists, sets and maps are in no page header."""
    if kind == _BINARY:
        size, at = _unsigned(content, at)
        return at + size
    return at + _WIDTHS[kind]


def _integer(content: bytes, at: int) -> tuple[int, int]:
    value, at = _unsigned(content, at)
    return (value >> 1) ^ -(value & 1), at


def _unsigned(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_LONGEST):
        byte = content[at + place]
        value |= (byte & 127) << 7 * place
        if byte < 128:  # noqa: PLR2004  # the last byte
            return value, at + place + 1
    raise OddDocumentError(_BROKEN)
