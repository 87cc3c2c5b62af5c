"""Functions on strings, IRIs and literals as SPARQL defines them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from urllib.parse import quote

from stratalog.errors import DataError
from stratalog.lang import effort
from stratalog.lang.builtins.regex import matches, replaced
from stratalog.lang.builtins.values import (
    INTEGER_RANK,
    NODES,
    ExpressionError,
    boolean_term,
    integer,
    number_of,
    number_term,
    string_of,
)
from stratalog.lang.terms import BNODE_KIND, IRI_KIND, LANG, STRING, Term
from stratalog.lang.values.canonical import LANG_STRING, literal


def plain(term: Term) -> str:
    """Return the text of an xsd:string; a language is an error."""
    if term.kind != STRING:
        raise ExpressionError(f"{term} is not an xsd:string")
    return term.text


def literal_of(term: Term) -> Term:
    """Return the term if it is a literal."""
    if term.kind in NODES:
        raise ExpressionError(f"{term} is not a literal")
    return term


def to_string(term: Term) -> Term:
    """Return the text of an IRI or literal."""
    if term.kind == BNODE_KIND:
        raise ExpressionError("a blank node has no text")
    return Term(STRING, term.text)


def language(term: Term) -> Term:
    """Return the language tag, empty if there is none."""
    kind = literal_of(term).kind
    return Term(STRING, kind[len(LANG) :] if kind.startswith(LANG) else "")


def datatype(term: Term) -> Term:
    """Return the datatype as an IRI."""
    kind = literal_of(term).kind
    return Term(IRI_KIND, LANG_STRING if kind.startswith(LANG) else kind)


def to_iri(term: Term) -> Term:
    """Return the IRI with the text as it stands: relative IRIs are not resolved."""
    return term if term.kind == IRI_KIND else Term(IRI_KIND, plain(term))


def with_datatype(text: Term, kind: Term) -> Term:
    """Return the literal of a text and a datatype."""
    if kind.kind != IRI_KIND or kind.text == LANG_STRING:
        raise ExpressionError(f"{kind} is not the IRI of a datatype")
    return literal(plain(text), kind.text)


def with_language(text: Term, tag: Term) -> Term:
    """Return the literal of a text and a language tag."""
    try:
        return literal(plain(text), lang=plain(tag))
    except DataError as error:
        raise ExpressionError(error.message) from error


def length(term: Term) -> Term:
    """Return the number of characters."""
    return number_term(INTEGER_RANK, len(string_of(term)))


def substring(term: Term, start: Term, size: Term | None = None) -> Term:
    """Return the characters from position `start`, counted from one."""
    text, first = string_of(term), integer(start) - 1
    last = len(text) if size is None else first + integer(size)
    return Term(term.kind, text[max(first, 0) : max(last, 0)])


def upper(term: Term) -> Term:
    """Return the string in upper case."""
    return Term(term.kind, string_of(term).upper())


def lower(term: Term) -> Term:
    """Return the string in lower case."""
    return Term(term.kind, string_of(term).lower())


def starts_with(term: Term, part: Term) -> Term:
    """Return whether the string begins with the part."""
    text, found = _compatible(term, part)
    return boolean_term(text.startswith(found))


def ends_with(term: Term, part: Term) -> Term:
    """Return whether the string ends with the part."""
    text, found = _compatible(term, part)
    return boolean_term(text.endswith(found))


def contains(term: Term, part: Term) -> Term:
    """Return whether the part occurs in the string."""
    text, found = _compatible(term, part)
    return boolean_term(found in text)


def before(term: Term, part: Term) -> Term:
    """Return what stands before the first occurrence of the part, or the empty string."""
    text, found = _compatible(term, part)
    place = text.find(found)
    return Term(STRING, "") if place < 0 else Term(term.kind, text[:place])


def after(term: Term, part: Term) -> Term:
    """Return what stands after the first occurrence of the part, or the empty string."""
    text, found = _compatible(term, part)
    place = text.find(found)
    return Term(STRING, "") if place < 0 else Term(term.kind, text[place + len(found) :])


def encode_for_uri(term: Term) -> Term:
    """Return the text with all but unreserved characters as %XX of UTF-8."""
    quoted = quote(string_of(term), safe="-_.~")
    effort.check_length(len(quoted))
    return Term(STRING, quoted)


def concatenate(*terms: Term) -> Term:
    """Return the strings as one, in their language if it is the same for all."""
    texts = [string_of(term) for term in terms]
    effort.check_length(sum(map(len, texts)))
    text = "".join(texts)
    kinds = {term.kind for term in terms}
    return Term(kinds.pop() if len(kinds) == 1 else STRING, text)


def language_matches(tag: Term, wanted: Term) -> Term:
    """Return whether a language tag is in a basic language range."""
    text, pattern = plain(tag).lower(), plain(wanted).lower()
    if pattern == "*":
        return boolean_term(text != "")
    return boolean_term(text == pattern or text.startswith(pattern + "-"))


def regex(term: Term, pattern: Term, flags: Term | None = None) -> Term:
    """Return whether the pattern matches somewhere in the string."""
    options = "" if flags is None else plain(flags)
    return boolean_term(matches(string_of(term), plain(pattern), options))


def replace(term: Term, pattern: Term, replacement: Term, flags: Term | None = None) -> Term:
    """Return the string with all matches of the pattern replaced."""
    options = "" if flags is None else plain(flags)
    text = replaced(string_of(term), plain(pattern), plain(replacement), options)
    return Term(term.kind, text)


def digest(algorithm: str) -> Callable[[Term], Term]:
    """Return a function that gives the hash of a string's UTF-8 in hexadecimal digits."""

    def hashed(term: Term) -> Term:
        data = plain(term).encode()
        return Term(STRING, hashlib.new(algorithm, data, usedforsecurity=False).hexdigest())

    return hashed


def is_iri(term: Term) -> Term:
    """Return whether the term is an IRI."""
    return boolean_term(term.kind == IRI_KIND)


def is_blank(term: Term) -> Term:
    """Return whether the term is a blank node."""
    return boolean_term(term.kind == BNODE_KIND)


def is_literal(term: Term) -> Term:
    """Return whether the term is a literal."""
    return boolean_term(term.kind not in NODES)


def is_numeric(term: Term) -> Term:
    """Return whether the term is a well-typed number."""
    return boolean_term(number_of(term) is not None)


def _compatible(term: Term, part: Term) -> tuple[str, str]:
    if part.kind not in (STRING, term.kind):
        raise ExpressionError(f"{term} and {part} are not in one language")
    return string_of(term), string_of(part)
