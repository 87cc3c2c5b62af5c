"""The headers of Parquet pages: what sizes and encodings they tell, before a page is unpacked.

Arrow unpacks a page into as much memory as its header asks for, and looks at the footer's sums no
more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from stratalog.pipeline.documents import OddDocumentError
from stratalog.pipeline.thrift import Content, integer, read_struct

DATA_PAGE, DICTIONARY_PAGE = 0, 2
NUMBER = rb"[\x80-\xff]{0,4}[\x00-\x7f]"
_VALUE = rb"(?:\x08.{8}|\x04.{4})"
BOUNDS = rb"\x18%b\x18%b\x16\x00\x28%b\x18%b[\x11\x12]{2}\x00" % ((_VALUE,) * 4)
# A page of numbers as Arrow writes it; there are fifty of them in a column of a million rows.
_USUAL = re.compile(
    rb"\x15\x00\x15(%b)\x15(%b)\x2c\x15%b\x15([\x00-\x7e])\x15\x06\x15\x06(?:\x1c%b)?\x00\x00"
    % (NUMBER, NUMBER, NUMBER, BOUNDS),
    re.DOTALL,
)
_DICTIONARY = re.compile(
    rb"\x15\x04\x15(%b)\x15(%b)\x4c\x15%b\x15([\x00-\x7e])[\x11\x12]?\x00\x00"
    % (NUMBER, NUMBER, NUMBER),
    re.DOTALL,
)
_BROKEN = "a page has no header"


class Page(NamedTuple):
    """What a header tells: the page's type, its size unpacked and packed, and its encoding."""

    type: int
    unpacked: int
    packed: int
    encoding: int | None


def pages(content: Content) -> Iterator[Page]:
    """Yield the headers of pages that lie one after the other."""
    start, size = 0, len(content)
    while start < size:
        page, body = _header(content, start)
        _, unpacked, packed, _ = page
        start = body + packed
        if unpacked < 0 or packed < 0 or start > size:
            raise OddDocumentError("a page is larger than its column")
        yield page


def _header(content: Content, at: int) -> tuple[Page, int]:
    """Return the header that begins at a place, and where it ends."""
    usual = _USUAL.match(content, at) or _DICTIONARY.match(content, at)
    if usual is None:
        return _any_header(content, at)
    unpacked, packed, encoding = usual.groups()
    page_type = DATA_PAGE if usual.re is _USUAL else DICTIONARY_PAGE
    numbers = integer(unpacked, 0)[0], integer(packed, 0)[0], integer(encoding, 0)[0]
    return Page(page_type, *numbers), usual.end()


def _any_header(content: Content, at: int) -> tuple[Page, int]:
    """Return the same for a header of any writer."""
    fields, end = read_struct(content, at)
    try:
        page_type, unpacked, packed = fields[1], fields[2], fields[3]
    except KeyError:
        raise OddDocumentError(_BROKEN) from None
    told = [inner.get(2) for inner in fields.values() if isinstance(inner, dict)]
    encoding = told[0] if len(told) == 1 else None
    if not all(isinstance(number, int) for number in (page_type, unpacked, packed)):
        raise OddDocumentError(_BROKEN)
    return Page(page_type, unpacked, packed, encoding), end
