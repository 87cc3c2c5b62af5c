"""The limits of entities in RDF/XML documents.

`<!ENTITY owl "http://www.w3.org/2002/07/owl#">` lets a document write `&owl;Class`. The parser
replaces entities without a limit, so that a kilobyte could grow to more than any memory. Here the
bytes are looked at before the parser gets them. What looks like a declaration counts as one
wherever it stands, in a comment too, since the parser does not tell these apart.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from stratalog.errors import DataError
from stratalog.pipeline.files import LONGEST_LINE, ByteStream, too_long

PIECE = 1 << 18  # bytes looked at together
LONGEST_DECLARATION = 1 << 16
LONGEST_NAME = 256
FREE_EXPANSION = 16 << 20  # bytes that entities may stand for in any document
EXPANSION_PER_BYTE = 10  # beyond these; a document of nothing but `&owl;` stays below

_BEGIN = b"<!ENTITY"
_NAME = rb"[^\s<>\"'%&;#]+"
_DECLARATION = re.compile(rb"<!ENTITY\s+(" + _NAME + rb")\s+(?:\"([^\"<]*)\"|'([^'<]*)')\s*>")
_UNFINISHED = re.compile(
    rb"<!ENTITY(?:\s+(?:%|"
    + _NAME
    + rb"(?:\s+(?:[A-Z]{0,8}|\"[^\"<]*(?:\"\s*)?|'[^'<]*(?:'\s*)?))?)?)?\Z"
)
_REFERENCE_TO_ANOTHER = re.compile(rb"&(?!#|(?:amp|lt|gt|quot|apos);)")
_REFERENCE = re.compile(rb"&([^\s&;<>#]{1,256});")
_OTHER_ENCODINGS = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<", b"\0\0")


class BoundedEntities:
    """A stream of the same bytes, which raises D111 before entities can grow beyond their limits.

    The parser reads from it as from a file.
    """

    def __init__(self, stream: ByteStream | BinaryIO, path: str) -> None:
        self._pieces = self._checked(stream)
        self._ready = io.BytesIO()
        self._path = path
        self._line = 1
        self._sizes: dict[bytes, int] = {}  # of what each entity stands for
        self._largest = 0
        self._text = 0  # bytes since the last tag began
        self._excess = 0  # bytes beyond EXPANSION_PER_BYTE for each byte read

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, some piece if it is negative, none only at the end."""
        data = self._ready.read(size)
        if not data:
            self._ready = io.BytesIO(next(self._pieces, b""))
            data = self._ready.read(size)
        return data

    def _checked(self, stream: ByteStream | BinaryIO) -> Iterator[bytes]:
        """Yield the bytes as far as they are looked at; what was cut waits for its rest."""
        waiting = b""
        data = stream.read(PIECE)
        self._refuse_other_encodings(data)
        while data:
            text = waiting + data
            end = _before_open_reference(text, self._declare(text))
            self._count(text[:end])
            self._measure(data)
            if end:
                yield text[:end]
            waiting = text[end:]
            data = stream.read(PIECE)
        self._count(waiting)
        yield waiting

    def _refuse_other_encodings(self, text: bytes) -> None:
        if text.startswith(_OTHER_ENCODINGS):
            raise DataError(
                "D102",
                "the document is not written in UTF-8",
                path=self._path,
                help="convert it, for example with iconv -f UTF-16 -t UTF-8",
            )

    def _declare(self, text: bytes) -> int:
        """Note the entities that `text` declares; return where what is whole ends."""
        at = 0
        while (at := text.find(_BEGIN, at)) >= 0:
            found = _DECLARATION.match(text, at)
            if found is None:
                if len(text) - at > LONGEST_DECLARATION or not _UNFINISHED.match(text, at):
                    raise self._refused(_fault(text[at:]), text, at)
                return at
            self._note(found, text)
            at = found.end()
        return _before_begun_word(text)

    def _note(self, found: re.Match[bytes], text: bytes) -> None:
        name, value = found[1], found[2] or found[3] or b""
        if len(name) > LONGEST_NAME or len(found[0]) > LONGEST_DECLARATION:
            raise self._refused("an entity is too long", text, found.start())
        if _REFERENCE_TO_ANOTHER.search(value):
            raise self._refused("an entity refers to another entity", text, found.start())
        self._sizes[name] = max(len(value), self._sizes.get(name, 0))
        self._largest = max(self._largest, len(value))

    def _count(self, text: bytes) -> None:
        """Add what the references in `text` grow to, and raise D111 beyond the limit."""
        allowed = EXPANSION_PER_BYTE * len(text)
        if text.count(b"&") * self._largest > allowed:
            grown = Counter(_REFERENCE.findall(text)).items()
            size = sum(times * self._sizes.get(name, 0) for name, times in grown)
            self._excess += max(0, size - allowed)
            if self._excess > FREE_EXPANSION:
                raise self._refused("entities grow too much", text, len(text))
        self._line += text.count(b"\n")

    def _measure(self, data: bytes) -> None:
        """Raise D112 if there has been no tag for too long: the parser holds a text as a whole."""
        tag = data.rfind(b"<")
        self._text = self._text + len(data) if tag < 0 else len(data) - tag
        if self._text > LONGEST_LINE:
            raise too_long(self._path)

    def _refused(self, message: str, text: bytes, at: int) -> DataError:
        return DataError(
            "D111",
            message,
            path=self._path,
            line=self._line + text.count(b"\n", 0, at),
            help="write what the entity stands for in its place, or convert the file to Turtle or"
            " N-Triples",
        )


def _fault(declaration: bytes) -> str:
    """Return what is wrong with a declaration that is none of a plain entity."""
    if re.match(rb"<!ENTITY\s*%", declaration):
        return "parameter entities are not read"
    if re.match(rb"<!ENTITY\s+\S+\s+(?:SYSTEM|PUBLIC)\b", declaration):
        return "an entity is kept outside the document"
    return "the declaration of an entity is wrong or too long"


def _before_begun_word(text: bytes) -> int:
    """Return the length of `text` without a beginning of `<!ENTITY` at its end."""
    at = text.rfind(b"<", -len(_BEGIN) + 1)
    return at if at >= 0 and _BEGIN.startswith(text[at:]) else len(text)


def _before_open_reference(text: bytes, end: int) -> int:
    """Return where a reference begins that `text` up to `end` does not close, else `end`."""
    at = text.rfind(b"&", max(0, end - LONGEST_NAME - 1), end)
    return at if at >= 0 and text.find(b";", at, end) < 0 else end
