"""Constants of a question that occur nowhere, while one that looks like them does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stratalog.errors import StratalogWarning
from stratalog.lang.printer import show
from stratalog.lang.terms import IRI_KIND, LANG, STRING, Term
from stratalog.pipeline.convert import convert_term
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.native import KIND_OF_TYPE
from stratalog.plan.rules import PlannedRule


def unknown_constants(
    rules: Iterable[PlannedRule], dictionary: Dictionary, prefixes: Sequence[tuple[str, str]]
) -> Iterator[StratalogWarning]:
    """Yield a warning for each constant in an atom that only another type would make known.

    That is `"1"` where nothing is the string 1, but something the integer.
    """
    atoms = [atom for rule in rules for atom in rule.body]
    terms = list(dict.fromkeys(arg for a in atoms for arg in a.args if isinstance(arg, Term)))
    numbers = dictionary.find(terms).tolist()
    for term in (term for term, number in zip(terms, numbers, strict=True) if number < 0):
        alike = list(_alike(term, dictionary))
        known = [each for each, n in zip(alike, dictionary.find(alike), strict=True) if n >= 0]
        if known:
            written = [show(each, prefixes) for each in (term, *known)]
            told = f"{written[0]} occurs nowhere, and so matches nothing"
            advice = f"did you mean {' or '.join(written[1:])}? Constants of other types are others"
            yield StratalogWarning("W307", told, help=advice)


def _alike(term: Term, dictionary: Dictionary) -> Iterator[Term]:
    """Yield what people may take for a constant: its text or its value with another type."""
    found = {convert_term(term, name, spelled=False) for name in KIND_OF_TYPE}
    yield from sorted(each for each in found if each is not None and each != term)
    if term.kind == STRING:
        yield from (Term(kind, term.text) for kind in dictionary.kinds if kind.startswith(LANG))
    elif term.kind == IRI_KIND or term.kind.startswith(LANG):
        yield Term(STRING, term.text)
