"""Finding the terms of N-Triples and N-Quads lines that are plainly well formed.

The scanner accepts less than the grammar: what it does not recognise (escapes in IRIs, rare
characters, odd language tags, mistakes) it leaves to a complete parser, which decides and explains.
What it accepts must mean the same to both. Every scanning function relies on the newline at the end
of the bytes, which is no part of any term, and returns the position after what it read, or 0 if it
did not recognise it.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.wrapping import difference

IRI, BNODE, STRING = 0, 1, 2  # the dictionary's kinds
BYTES_PER_ROW = 16  # that take as long as a row in other kernels
TYPED, TAGGED, NO_GRAPH = -1, -2, -3  # a datatype or language to be looked at; no fourth term

_LETTER, _DIGIT, _LABEL, _SCHEME, _HOST, _IRI, _TEXT, _HEX = (np.uint8(1 << i) for i in range(8))


def _classes():
    """Return the classes that each byte belongs to, as bits."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    digits = "0123456789"
    host = letters + digits + "-._~!$&'()*+,;="
    members = {
        _LETTER: letters,
        _DIGIT: digits,
        _LABEL: letters + digits + "_-.",
        _SCHEME: letters + digits + "+-.",
        _HOST: host,
        _IRI: host + ":@/?",
        _TEXT: "".join(chr(i) for i in range(128) if chr(i) not in '"\\\n\r'),
        _HEX: digits + "abcdefABCDEF",
    }
    classes = np.zeros(256, np.uint8)
    for bit, characters in members.items():
        for character in characters:
            classes[ord(character)] |= bit
    return classes


_CLASS = _classes()
_NEWLINE, _RETURN, _TAB, _SPACE, _HASH, _QUOTE = (np.uint8(ord(c)) for c in '\n\r\t #"')
_LESS, _GREATER, _COLON, _SLASH, _DOT, _AT = (np.uint8(ord(c)) for c in "<>:/.@")
_CARET, _BACKSLASH, _PERCENT, _UNDERSCORE, _MINUS = (np.uint8(ord(c)) for c in "^\\%_-")
_ASCII = np.uint8(0x80)
_ESCAPED = np.zeros(256, np.uint8)  # what a byte after a backslash means; 0: not recognised
_ESCAPED[list(b"tbnrf\"'\\")] = list(b"\t\b\n\r\f\"'\\")
_LANG_STRING = np.frombuffer(b"angString", np.uint8).copy()
_1, _2, _3, _4, _0 = (np.uint64(i) for i in (1, 2, 3, 4, 0))


@kernel
def is_continuation(byte):
    """Return whether this is a second or later byte of a character."""
    return byte & np.uint8(0xC0) == np.uint8(0x80)


@kernel
def character(data, at):
    """Return (size, code point) of the valid non-ASCII character at `at`, or (0, 0)."""
    lead = data[at]
    if lead < np.uint8(0xC2) or lead > np.uint8(0xF4) or not is_continuation(data[at + _1]):
        return _0, np.uint32(0)
    point = np.uint32(data[at + _1] & np.uint8(0x3F))
    if lead < np.uint8(0xE0):
        return _2, (np.uint32(lead & np.uint8(0x1F)) << np.uint32(6)) | point
    if not is_continuation(data[at + _2]):
        return _0, np.uint32(0)
    point = (point << np.uint32(6)) | np.uint32(data[at + _2] & np.uint8(0x3F))
    if lead < np.uint8(0xF0):
        point |= np.uint32(lead & np.uint8(0x0F)) << np.uint32(12)
        if point < np.uint32(0x800) or np.uint32(0xD800) <= point <= np.uint32(0xDFFF):
            return _0, np.uint32(0)
        return _3, point
    if not is_continuation(data[at + _3]):
        return _0, np.uint32(0)
    point = (point << np.uint32(6)) | np.uint32(data[at + _3] & np.uint8(0x3F))
    point |= np.uint32(lead & np.uint8(0x07)) << np.uint32(18)
    if point < np.uint32(0x10000) or point > np.uint32(0x10FFFF):
        return _0, np.uint32(0)
    return _4, point


@kernel
def iri_character(data, at):
    """Return the size of the non-ASCII character at `at`, 0 if not all parts of an IRI take it."""
    size, point = character(data, at)
    if (
        np.uint32(0xA0) <= point <= np.uint32(0xD7FF)
        or np.uint32(0xF900) <= point <= np.uint32(0xFDCF)
        or np.uint32(0xFDF0) <= point <= np.uint32(0xFFEF)
    ):
        return size
    return _0


@kernel
def scan_authority(data, at):
    """Read `host` or `host:port`, up to what cannot belong to it."""
    while True:
        byte = data[at]
        if _CLASS[byte] & _HOST:
            at += _1
        elif byte >= _ASCII:
            size = iri_character(data, at)
            if size == _0:
                return _0
            at += size
        else:
            break
    if data[at] == _COLON:
        at += _1
        while _CLASS[data[at]] & _DIGIT:
            at += _1
    byte = data[at]
    if byte in (_SLASH, _GREATER, _HASH, np.uint8(ord("?"))):
        return at
    return _0


@kernel
def scan_iri(data, at):
    """Read an absolute IRI; `at` is at its `<`, the position returned after its `>`."""
    at += _1
    if not _CLASS[data[at]] & _LETTER:
        return _0
    while _CLASS[data[at]] & _SCHEME:
        at += _1
    if data[at] != _COLON:
        return _0
    at += _1
    if data[at] == _SLASH and data[at + _1] == _SLASH:
        at = scan_authority(data, at + _2)
        if at == _0:
            return _0
    in_fragment = False
    while True:
        byte = data[at]
        if _CLASS[byte] & _IRI:
            at += _1
        elif byte == _GREATER:
            return at + _1
        elif byte == _HASH and not in_fragment:
            in_fragment = True
            at += _1
        elif byte == _PERCENT:
            if not (_CLASS[data[at + _1]] & _HEX and _CLASS[data[at + _2]] & _HEX):
                return _0
            at += _3
        elif byte >= _ASCII:
            size = iri_character(data, at)
            if size == _0:
                return _0
            at += size
        else:
            return _0


@kernel
def scan_label(data, at):
    """Read a blank node's label in ASCII; `at` is after the `_:`."""
    first = data[at]
    if not _CLASS[first] & (_LETTER | _DIGIT) and first != _UNDERSCORE:
        return _0
    while _CLASS[data[at]] & _LABEL:
        at += _1
    while data[at - _1] == _DOT:
        at -= _1
    return _0 if data[at] >= _ASCII else at


@kernel
def scan_text(data, at):
    """Read a quoted text; `at` is after the opening quote. Returns also whether it has escapes."""
    has_escapes = False
    while True:
        byte = data[at]
        if _CLASS[byte] & _TEXT:
            at += _1
        elif byte == _QUOTE:
            return at + _1, has_escapes
        elif byte == _BACKSLASH:
            if _ESCAPED[data[at + _1]] == np.uint8(0):
                return _0, has_escapes
            has_escapes = True
            at += _2
        elif byte >= _ASCII:
            size, _ = character(data, at)
            if size == _0:
                return _0, has_escapes
            at += size
        else:
            return _0, has_escapes


@kernel
def scan_language(data, at):
    """Read a tag such as en, en-GB, zh-Hans or zh-Hans-CN; `at` is after the `@`."""
    start = at
    while _CLASS[data[at]] & _LETTER:
        at += _1
    size = at - start
    if size < _2 or size > _3:
        return _0
    smallest = _2
    while data[at] == _MINUS:
        start = at + _1
        at = start
        while _CLASS[data[at]] & _LETTER:
            at += _1
        size = at - start
        is_script = size == _4 and smallest == _2
        if not is_script and (size != _2 or smallest > _3):
            return _0
        smallest = _3 if is_script else _4
    return _0 if _CLASS[data[at]] & (_LABEL | _LETTER) and data[at] != _DOT else at


@kernel
def is_language_type(data, end):
    """Return whether the datatype that ends at `end` looks like rdf:langString or its variant."""
    for i in range(np.uint64(_LANG_STRING.size)):
        if data[end - np.uint64(_LANG_STRING.size) + i] != _LANG_STRING[i]:
            return False
    return True


@kernel
def unescape(data, start, end):
    """Replace the escapes of a text by what they mean, in place; return the new end."""
    at = start
    while data[at] != _BACKSLASH:
        at += _1
    to = at
    while at < end:
        byte = data[at]
        if byte == _BACKSLASH:
            at += _1
            byte = _ESCAPED[data[at]]
        data[to] = byte
        to += _1
        at += _1
    return to


@kernel
def skip_spaces(data, at):
    while data[at] in (_SPACE, _TAB):
        at += _1
    return at


@kernel
def scan_rest(data, at):
    """Read the rest of a line: spaces, a comment, the line's end; returns the next line's start."""
    at = skip_spaces(data, at)
    if data[at] == _HASH:
        while data[at] not in (_NEWLINE, _RETURN):
            if data[at] < _ASCII:
                at += _1
            else:
                size, _ = character(data, at)
                if size == _0:
                    return _0
                at += size
    if data[at] == _RETURN:
        at += _1
    return at + _1 if data[at] == _NEWLINE else _0


@kernel
def scan_object(data, at, spot, row, starts, ends, kinds, types):
    """Read a literal; notes the place of its datatype or language, if any, in types[row]."""
    at += _1
    starts[spot] = np.int64(at)
    after, has_escapes = scan_text(data, at)
    if after == _0:
        return _0, has_escapes
    ends[spot] = np.int64(after - _1)
    kinds[spot] = STRING
    at = after
    if data[at] == _AT:
        after = scan_language(data, at + _1)
        kinds[spot] = TAGGED
        types[row, 0] = np.int64(at + _1)
        types[row, 1] = np.int64(after)
        return after, has_escapes
    if data[at] == _CARET:
        if data[at + _1] != _CARET or data[at + _2] != _LESS:
            return _0, has_escapes
        after = scan_iri(data, at + _2)
        if after == _0 or is_language_type(data, after - _1):
            return _0, has_escapes
        kinds[spot] = TYPED
        types[row, 0] = np.int64(at + _3)
        types[row, 1] = np.int64(after - _1)
        return after, has_escapes
    return at, has_escapes


@kernel
def scan_term(data, at, spot, starts, ends, kinds, with_bnode):
    """Read an IRI, or a blank node where one may be."""
    if data[at] == _LESS:
        after = scan_iri(data, at)
        starts[spot] = np.int64(at + _1)
        ends[spot] = np.int64(difference(after, _1))  # of no use where `after` is 0
        kinds[spot] = IRI
        return after
    if with_bnode and data[at] == _UNDERSCORE and data[at + _1] == _COLON:
        after = scan_label(data, at + _2)
        starts[spot] = np.int64(at + _2)
        ends[spot] = np.int64(after)
        kinds[spot] = BNODE
        return after
    return _0


@kernel
def scan_statement(data, at, row, width, starts, ends, kinds, types):
    """Read `s p o .` or `s p o g .`; its terms become row `row`."""
    spot = row * width
    after = scan_term(data, at, spot, starts, ends, kinds, True)
    if after == _0:
        return _0
    after = scan_term(data, skip_spaces(data, after), spot + _1, starts, ends, kinds, False)
    if after == _0:
        return _0
    at = skip_spaces(data, after)
    has_escapes = False
    if data[at] == _QUOTE:
        after, has_escapes = scan_object(data, at, spot + _2, row, starts, ends, kinds, types)
    else:
        after = scan_term(data, at, spot + _2, starts, ends, kinds, True)
    if after == _0:
        return _0
    at = skip_spaces(data, after)
    if width == _4:
        kinds[spot + _3] = NO_GRAPH
        starts[spot + _3] = 0
        ends[spot + _3] = 0
        if data[at] == _LESS:
            after = scan_term(data, at, spot + _3, starts, ends, kinds, False)
            if after == _0:
                return _0
            at = skip_spaces(data, after)
    if data[at] != _DOT:
        return _0
    at = scan_rest(data, at + _1)
    if at != _0 and has_escapes:
        begin = np.uint64(starts[spot + _2])
        ends[spot + _2] = np.int64(unescape(data, begin, np.uint64(ends[spot + _2])))
    return at


@kernel(work=lambda data, *_: data.size // BYTES_PER_ROW)
def scan_lines(data, at, line, width, starts, ends, kinds, types, odd):
    """Read lines from `at`, which is line number `line`, until there is no room for another.

    Row r of the result has its terms at starts[r * width] and following; types[r] is the place of
    the object's datatype or language. odd[i] is (start, end, number) of a line left to the real
    parser. Escapes are replaced in `data`, which must end with a newline. Returns the next position
    and line, the number of rows and the number of odd lines.
    """
    at = np.uint64(at)
    stop = np.uint64(data.size)
    width = np.uint64(width)
    rows = _0
    odd_lines = _0
    room = np.uint64(types.shape[0])
    odd_room = np.uint64(odd.shape[0])
    while at < stop and rows < room and odd_lines < odd_room:
        begin = skip_spaces(data, at)
        after = scan_rest(data, begin)
        if after == _0 and data[begin] != _HASH:
            after = scan_statement(data, begin, rows, width, starts, ends, kinds, types)
            if after != _0:
                rows += _1
        if after == _0:
            after = begin
            while data[after] != _NEWLINE:
                after += _1
            odd[odd_lines, 0] = np.int64(at)
            odd[odd_lines, 1] = np.int64(after)
            odd[odd_lines, 2] = line
            odd_lines += _1
            after += _1
        at = after
        line += 1
    return np.int64(at), line, np.int64(rows), np.int64(odd_lines)
