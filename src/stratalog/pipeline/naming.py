"""Names of predicates as names of folders and of views in SQL: readable, and never the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping

from stratalog.lang.names import show_name
from stratalog.lang.syntax import Predicate

LONGEST = 80  # characters: a file system takes 255 bytes
_OTHER = re.compile(r"\W+")


def plain_names(
    predicates: Iterable[Predicate],
    prefixes: Iterable[tuple[str, str]] = (),
    taken: Mapping[Predicate, str] | None = None,
) -> dict[Predicate, str]:
    """Return a name of letters, digits and _ for each predicate; those in `taken` keep theirs.

    `path` stays `path`, `ex:knows` becomes `ex_knows` and `:knows` becomes `knows`. A name that
    another predicate has gets the arity at its end, and if that is taken too, or an IRI has no
    prefix, it is the end of its text and a digest. Upper and lower case count as one, as they do
    in Spark and in some file systems.
    """
    known = tuple(prefixes)
    names = dict(taken or {})
    used = {name.casefold() for name in names.values()}
    wanted = list(predicates)
    for predicate in sorted(set(wanted) - set(names), key=lambda p: (p.name.startswith("<"), p)):
        name = next(n for n in _candidates(predicate, known) if n.casefold() not in used)
        used.add(name.casefold())
        names[predicate] = name
    return {predicate: names[predicate] for predicate in wanted}


def _candidates(predicate: Predicate, prefixes: tuple[tuple[str, str], ...]) -> Iterator[str]:
    if (name := _readable(predicate, prefixes)) is not None:
        yield name
        yield f"{name}_{predicate.arity}"  # an IRI may be a class and a property
    yield _unique(predicate)


def _readable(predicate: Predicate, prefixes: tuple[tuple[str, str], ...]) -> str | None:
    """Return a name without a digest, or None where it would tell too little, or be hidden."""
    shown = show_name(predicate.name, prefixes)
    name = _OTHER.sub("_", shown.removeprefix(":"))
    is_hidden = name.startswith("_")  # Spark and Arrow pass over such folders
    return None if shown.startswith("<") or is_hidden or not 0 < len(name) <= LONGEST else name


def _unique(predicate: Predicate) -> str:
    end = re.split(r"[#/]", predicate.name.strip("<>").rstrip("#/"))[-1]
    word = _OTHER.sub("_", end).strip("_")[:LONGEST] or "p"
    digest = hashlib.sha256(f"{predicate.name}/{predicate.arity}".encode()).hexdigest()
    return f"{word}_{digest[:8]}"
