"""Thrift's compact protocol, in which Parquet writes its footers and the headers of its pages.

Read by us as well as by Arrow: asked for a column's place in a file with an odd footer, Arrow ends
the process.
"""

from __future__ import annotations

from typing import Any

from stratalog.pipeline.documents import OddDocumentError

BINARY, LIST, SET, STRUCT = 8, 9, 10, 12
_TRUTHS = (1, 2)
_DEEPEST = 12  # values in each other: a footer has eight
_LONGEST = 10  # bytes of a number
_BROKEN = "its headers cannot be read"

Content = bytes | memoryview
Struct = dict[int, Any]


def read_struct(content: Content, at: int, depth: int = 0) -> tuple[Struct, int]:
    """Return the fields of a structure by number, and where it ends."""
    found: Struct = {}
    number = 0
    try:
        while head := content[at]:
            at += 1
            if head >> 4:
                number += head >> 4
            else:
                number, at = integer(content, at)
            if number in found:  # readers differ in which one they take
                raise OddDocumentError(_BROKEN)
            kind = head & 15
            if 4 <= kind <= 6:  # noqa: PLR2004  # integers, as most are
                value = content[at]
                at += 1
                if value >= 128:  # noqa: PLR2004  # of several bytes
                    value, at = _unsigned(content, at - 1)
                found[number] = (value >> 1) ^ -(value & 1)
            elif kind in _TRUTHS:
                found[number] = kind == 1
            else:
                found[number], at = _value(content, at, kind, depth)
    except IndexError:
        raise OddDocumentError(_BROKEN) from None
    return found, at + 1


def _value(content: Content, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if 4 <= kind <= 6:  # noqa: PLR2004  # integers
        return integer(content, at)
    if kind == BINARY:
        size, at = _unsigned(content, at)
        return content[at : at + size], at + size
    if depth >= _DEEPEST:
        raise OddDocumentError(_BROKEN)
    if kind == STRUCT:
        return read_struct(content, at, depth + 1)
    if kind in (LIST, SET):
        return _list(content, at, depth + 1)
    widths = {3: 1, 7: 8}  # a byte, a double
    if kind not in widths:
        raise OddDocumentError(_BROKEN)
    return None, at + widths[kind]


def _list(content: Content, at: int, depth: int) -> tuple[list[Any], int]:
    head = content[at]
    size, at = (head >> 4, at + 1) if head < 0xF0 else _unsigned(content, at + 1)  # noqa: PLR2004
    kind = head & 15
    if size > len(content) - at:
        raise OddDocumentError(_BROKEN)
    if kind in _TRUTHS:
        return [None] * size, at + size
    found = []
    for _ in range(size):
        value, at = _value(content, at, kind, depth)
        found.append(value)
    return found, at


def integer(content: Content, at: int) -> tuple[int, int]:
    """Return a number with a sign, and where it ends."""
    value = content[at]
    if value < 128:  # noqa: PLR2004  # of one byte, as most are
        return (value >> 1) ^ -(value & 1), at + 1
    value, at = _unsigned(content, at)
    return (value >> 1) ^ -(value & 1), at


def _unsigned(content: Content, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_LONGEST):
        byte = content[at + place]
        value |= (byte & 127) << 7 * place
        if byte < 128:  # noqa: PLR2004  # the last byte
            return value, at + place + 1
    raise OddDocumentError(_BROKEN)
