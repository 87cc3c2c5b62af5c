"""How predicates and IRIs are spelled: prefixes, the base, escapes, short forms for people."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from stratalog.errors import ProgramError
from stratalog.lang.terms import OWL, RDF, RDFS, SKOS, XSD

PREDECLARED: Mapping[str, str] = {"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD, "skos": SKOS}
KEYWORDS = frozenset({"NOT", "FILTER", "BIND", "AGGREGATE"})  # in any case; they begin no atom

_BARE = re.compile(r"[^\W\d]\w*")
_ESCAPED_IN_LOCAL = r"\\[_~.!$&'()*+,;=/?#@%-]"
_PLAIN_LOCAL = re.compile(r"(?:[\w:](?:[\w·:-]|\.+(?=[\w·:-]))*)?")
_LOCAL_PIECE = rf"[\w:]|%[0-9A-Fa-f]{{2}}|{_ESCAPED_IN_LOCAL}"
_LOCAL_NEXT = rf"[\w·:-]|%[0-9A-Fa-f]{{2}}|{_ESCAPED_IN_LOCAL}"
_PREFIXED = re.compile(
    rf"((?:[^\W\d_](?:[\w·-]|\.+(?=[\w·:-]))*)?):((?:(?:{_LOCAL_PIECE})(?:{_LOCAL_NEXT}|\.+(?={_LOCAL_NEXT}))*)?)"
)
_WITH_ARITY = re.compile(r"(.+)/([0-9]+)", re.DOTALL)
_HALF_PAIR = re.compile("[\ud800-\udfff]")  # half of a surrogate pair, which is no character
_IN_BRACKETS = re.compile(r"<[^\x00-\x20<>\"{}|^`]*>")
_MOST_LISTED = 8  # predicates in a message
_SURROGATES = range(0xD800, 0xE000)  # halves of pairs, no characters
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([\s\S]|\Z))")
_CHARACTERS = {
    "t": "\t",
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "f": "\f",
    '"': '"',
    "'": "'",
    "\\": "\\",
}
_IRI_PARTS = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL
)


def known_predicates(name: str, known: Iterable[str]) -> str:
    """Return the help for an unknown predicate: the nearest name, and the first names."""
    names = sorted(set(known))
    if not names:
        return "there are no facts and no rules"
    shown = ", ".join(names[:_MOST_LISTED]) + (" ..." if len(names) > _MOST_LISTED else "")
    close = get_close_matches(name, names, 1)
    meant = f"did you mean {close[0]}? " if close else ""
    return f"{meant}known predicates: {shown}"


def predicate_name(text: str, prefixes: Iterable[tuple[str, str]] = ()) -> str:
    """Return the name as programs hold it: `path`, or `<iri>` for `p:name` and `<iri>`."""
    if _BARE.fullmatch(text):
        if text.upper() in KEYWORDS:
            raise ProgramError(
                "S113", f"{text} is a word of the rule language", help="choose another name"
            )
        return text
    if _IN_BRACKETS.fullmatch(text) and not _HALF_PAIR.search(text):
        return f"<{unescape(text[1:-1])}>"
    prefixed = _PREFIXED.fullmatch(text)
    if prefixed is None:
        raise _no_name(text)
    known = all_prefixes(prefixes)
    if prefixed[1] not in known:
        raise ProgramError(
            "S111", f"the prefix {prefixed[1]}: is not declared", help=prefix_help(prefixed[1])
        )
    return f"<{known[prefixed[1]]}{unescape_local(prefixed[2])}>"


def _no_name(text: object) -> ProgramError:
    return ProgramError(
        "S112",
        f"{text!r} is not the name of a predicate",
        help="write a name of letters, digits and _, a prefixed name p:name, or <iri>",
    )


def all_prefixes(prefixes: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the predeclared prefixes and `prefixes`, which win."""
    return {**PREDECLARED, **dict(prefixes)}


def prefix_help(prefix: str) -> str:
    """Return what to do about an undeclared prefix."""
    return f"add a line such as  @prefix {prefix}: <http://example.org/> .  before its first use"


def show_name(name: str, prefixes: Iterable[tuple[str, str]] = ()) -> str:
    """Return the shortest spelling of a name: `p:name` if a prefix fits, else as it is."""
    if not name.startswith("<"):
        return name
    return show_iri(name[1:-1], all_prefixes(prefixes))


def show_iri(iri: str, prefixes: Mapping[str, str]) -> str:
    """Return the shortest `p:name` that the prefixes allow, or `<iri>`; both can be read back."""
    short = [
        f"{prefix}:{iri[len(space) :]}"
        for prefix, space in prefixes.items()
        if space and iri.startswith(space) and _PLAIN_LOCAL.fullmatch(iri, len(space))
    ]
    if short:
        return min(short, key=lambda spelling: (len(spelling), spelling))
    return f"<{re.sub(_NOT_IN_IRI, _escaped, iri)}>"


_NOT_IN_IRI = r"[\x00-\x20<>\"{}|^`\\]"


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04X}"


def split_arity(name: object) -> tuple[str, str]:
    """Return `name/2` as name and arity; the arity is empty where a name has none."""
    if not isinstance(name, str):
        raise _no_name(name)
    found = _WITH_ARITY.fullmatch(name) if name[-1:].isdecimal() else None
    return (found[1], found[2]) if found else (name, "")


def table_name(text: object, prefixes: Iterable[tuple[str, str]] = ()) -> str:
    """Return the name of what a table feeds; the arity follows a slash if `text` says it."""
    wanted, arity = split_arity(text)
    name = predicate_name(wanted, prefixes)
    return f"{name}/{int(arity)}" if arity else name


def unescape(text: str) -> str:
    """Return `text` with Turtle's escapes replaced; ValueError names one that means nothing."""
    if "\\" not in text:
        return text

    def character(escape: re.Match[str]) -> str:
        code = escape[1] or escape[2]
        if not code and escape[3] in _CHARACTERS:
            return _CHARACTERS[escape[3]]
        if not code or int(code, 16) > sys.maxunicode or int(code, 16) in _SURROGATES:
            raise ValueError(escape[0])
        return chr(int(code, 16))

    return _ESCAPE.sub(character, text)


def unescape_local(local: str) -> str:
    """Return the local part of a prefixed name without backslashes; %-escapes stay."""
    return re.sub(r"\\(.)", r"\1", local) if "\\" in local else local


def resolve(base: str | None, iri: str) -> str:
    """Return `iri` seen from `base` (RFC 3986, section 5.2); an absolute IRI is kept as written."""
    scheme, authority, path, query, fragment = _iri_parts(iri)
    if base is None or scheme is not None:
        return iri
    base_scheme, base_authority, base_path, base_query, _ = _iri_parts(base)
    if authority is not None:
        path = _without_dots(path)
    elif not path:
        authority, path, query = base_authority, base_path, query or base_query
    else:
        if not path.startswith("/"):
            path = _merged(base_path, path, has_authority=base_authority is not None)
        authority, path = base_authority, _without_dots(path)
    start = "" if base_scheme is None else base_scheme + ":"
    middle = "" if authority is None else "//" + authority
    return start + middle + path + (query or "") + (fragment or "")


def is_absolute(iri: str) -> bool:
    """Return whether the IRI begins with a scheme."""
    return _iri_parts(iri)[0] is not None


def _iri_parts(iri: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    found = _IRI_PARTS.fullmatch(iri)
    assert found is not None, "every string has the five parts"  # noqa: S101
    return found[1], found[2], found[3], found[4], found[5]


def _merged(base_path: str, path: str, *, has_authority: bool) -> str:
    if has_authority and not base_path:
        return "/" + path
    return base_path[: base_path.rfind("/") + 1] + path


def _without_dots(path: str) -> str:
    kept: list[str] = []
    parts = path.split("/")
    for position, part in enumerate(parts):
        is_last = position == len(parts) - 1
        if part == "..":
            if len(kept) > 1 or (kept and kept[0]):
                kept.pop()
        elif part != ".":
            kept.append(part)
            continue
        if is_last:
            kept.append("")
    return "/".join(kept)
