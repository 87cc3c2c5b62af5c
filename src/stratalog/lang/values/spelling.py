"""Terms as text: the canonical N-Triples spelling, and back."""

from __future__ import annotations

import re

from stratalog.errors import DataError
from stratalog.lang.terms import BNODE_KIND, IRI_KIND, LANG, STRING, Term
from stratalog.lang.values.canonical import literal

LABEL = re.compile(r"[\w:](?:[\w:.·-]*[\w:·-])?")

_SHORT_ESCAPES = {
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "f": "\f",
    "r": "\r",
    '"': '"',
    "'": "'",
    "\\": "\\",
}
_TEXT_ESCAPES = {code: f"\\u{code:04X}" for code in (*range(0x20), 0x7F)} | {
    ord(char): "\\" + letter for letter, char in _SHORT_ESCAPES.items() if letter != "'"
}
_IRI_ESCAPES = {code: f"\\u{code:04X}" for code in (*range(0x21), *map(ord, '<>"{}|^`\\'))}
_IRI = r'<([^\x00-\x20<>"]*)>'
_SPELLING = re.compile(
    rf'{_IRI}|_:([^\s<>"]+)|"((?:[^"\\]|\\.)*)"(?:@([A-Za-z0-9-]+)|\^\^{_IRI})?', re.DOTALL
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)


def spell(term: Term) -> str:
    """Return the term in canonical N-Triples spelling."""
    kind, text = term
    if kind == IRI_KIND:
        return f"<{text.translate(_IRI_ESCAPES)}>"
    if kind == BNODE_KIND:
        return "_:" + text
    quoted = f'"{text.translate(_TEXT_ESCAPES)}"'
    if kind == STRING:
        return quoted
    if kind.startswith(LANG):
        return quoted + kind
    return f"{quoted}^^<{kind.translate(_IRI_ESCAPES)}>"


def unspell(text: str) -> Term:
    """Return the term that an N-Triples spelling denotes; the inverse of `spell`."""
    found = _SPELLING.fullmatch(text)
    if not found:
        raise _malformed(text)
    iri, label, quoted, lang, datatype = found.groups()
    if iri is not None:
        return Term(IRI_KIND, _unescape(iri, text))
    if label is not None:
        if not LABEL.fullmatch(label):
            raise _malformed(text)
        return Term(BNODE_KIND, label)
    kind = None if datatype is None else _unescape(datatype, text)
    return literal(_unescape(quoted, text), kind, lang)


def _unescape(text: str, whole: str) -> str:
    if "\\" not in text:
        return text

    def character(found: re.Match[str]) -> str:
        code = found[1] or found[2]
        if code is None:
            if found[3] not in _SHORT_ESCAPES:
                raise _malformed(whole)
            return _SHORT_ESCAPES[found[3]]
        if 0xD800 <= int(code, 16) < 0xE000 or int(code, 16) > 0x10FFFF:  # noqa: PLR2004
            raise _malformed(whole)
        return chr(int(code, 16))

    return _ESCAPE.sub(character, text)


def _malformed(text: str) -> DataError:
    return DataError(
        "D203",
        f"not a term in N-Triples spelling: {text!r}",
        help='write <iri>, _:label, "text", "text"@lang or "text"^^<datatype>',
    )
