"""Random signatures and their facts: predicates with levels, constants that collide.

Every predicate has a level. A rule of level n reads positively what is at most n, and reads under
NOT or AGGREGATE only what is below n; predicates of one level may therefore depend on each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from stratalog.lang.syntax import TRIPLE, Atom, Predicate, Variable
from stratalog.lang.terms import DECIMAL, DOUBLE, INTEGER, IRI_KIND, RDF_TYPE, STRING, Term

Draw = Any  # what Hypothesis hands to a composite strategy
NAMESPACE = "http://example.org/"
NAMES = tuple(Variable(name) for name in "xyzw")


def iri(name: str) -> Term:
    return Term(IRI_KIND, NAMESPACE + name)


def integer(value: int) -> Term:
    return Term(INTEGER, str(value))


INTEGERS = tuple(integer(n) for n in range(4))
RESOURCES = (*map(iri, ("a", "b", "c", "C", "P")), RDF_TYPE)
STRINGS = tuple(Term(STRING, text) for text in ("a", "b", "ab", "1", ""))
FRACTIONS = (
    *(Term(DECIMAL, t) for t in ("1.0", "0.5")),
    *(Term(DOUBLE, t) for t in ("1.0E0", "2.5E-1")),
)
POOLS = (
    INTEGERS,
    RESOURCES,
    INTEGERS[:3] + RESOURCES[:2],
    STRINGS + INTEGERS[:2],
    FRACTIONS + INTEGERS,
)
PEER_POOLS = POOLS[:3]

ARITIES = st.sampled_from((2, 2, 2, 1, 1, 3, 0, 4, 2, 1, 5, 8))
RDF_NAMES = st.sampled_from(
    [
        Predicate(f"<{NAMESPACE}{name}>", arity)
        for name, arity in (("C", 1), ("P", 2), ("C", 2), ("D", 1))
    ]
)


@dataclass(frozen=True)
class Language:
    """Which features a random program may use, so that a peer who lacks one can still take part."""

    pools: tuple[tuple[Term, ...], ...] = POOLS
    negation: bool = True
    builtins: bool = True
    outer_filters: bool = True  # a FILTER inside NOT compares with a variable from outside
    functions: tuple[str, ...] = ("COUNT", "SUM", "MIN", "MAX", "AVG")
    triples: bool = True
    spellings: bool = True  # `_`, expressions in atoms, `=` and `;`
    foreign: bool = False  # every program has some of `shapes`


FULL = Language()
FOREIGN = Language(foreign=True)


@dataclass
class Signature:
    """The predicates of a program with their levels, its constants, its use of triple atoms."""

    levels: dict[Predicate, int]
    constants: tuple[Term, ...]
    triples: str  # "none", "read" or "write": what `[?x, ?p, ?y]` is used for
    language: Language = field(default=FULL)

    def up_to(self, level: int) -> list[Predicate]:
        return [p for p, n in self.levels.items() if n <= level]

    def below(self, level: int) -> list[Predicate]:
        """What may stand under NOT or AGGREGATE; once any triple can be written, none of them."""
        lower = self.up_to(level - 1)
        return [p for p in lower if self.triples != "write" or not is_rdf(p)]


def is_rdf(predicate: Predicate) -> bool:
    return predicate == TRIPLE or predicate.name.startswith("<")


def rarely(draw: Draw) -> bool:
    """Return whether a draw of one in four says so."""
    return bool(draw(st.integers(0, 3)) == 3)


# ---- Signatures and facts ----------------------------------------------------------------------


@st.composite
def signatures(draw: Draw, language: Language = FULL) -> Signature:
    levels: dict[Predicate, int] = {}
    for number, level in enumerate(
        (0, 0, *draw(st.lists(st.integers(0, 3), min_size=1, max_size=5)))
    ):
        if draw(st.integers(0, 3)) == 0:
            levels.setdefault(draw(RDF_NAMES), level)
        else:
            levels[Predicate("pqrstuv"[number], draw(ARITIES))] = level
    if rarely(draw):  # a class that is a property too
        known = [p for p in levels if p.name.startswith("<")]
        name = known[0].name if known else draw(RDF_NAMES).name
        for arity in (1, 2):
            levels.setdefault(Predicate(name, arity), draw(st.integers(0, 2)))
    uses = draw(st.sampled_from(("none",) * 6 + ("read", "write"))) if language.triples else "none"
    if uses != "none":
        levels = {
            p: min(n, 1) if is_rdf(p) and uses == "read" else 1 if is_rdf(p) else n
            for p, n in levels.items()
        }
        levels[TRIPLE] = 1
    constants = draw(st.sampled_from(language.pools))
    return Signature(levels, constants + (RESOURCES[3:] if uses == "write" else ()), uses, language)


def rows_of(predicate: Predicate, signature: Signature) -> st.SearchStrategy[Atom]:
    """Return a strategy for facts of the predicate: few constants, so that many collide."""
    term = st.sampled_from(signature.constants[:3] * 3 + signature.constants)
    return st.tuples(*[term] * predicate.arity).map(lambda args: Atom(predicate, args))


@st.composite
def datasets(draw: Draw, signature: Signature) -> list[Atom]:
    """Facts mostly of the predicates that rules do not derive."""
    facts: list[Atom] = []
    for predicate, level in signature.levels.items():
        given = level == 0 or is_rdf(predicate) or rarely(draw)
        if given and predicate != TRIPLE:
            rows = rows_of(predicate, signature)
            least = min(2 * predicate.arity, 5)  # enough for most bodies to match
            facts += draw(st.lists(rows, min_size=least, max_size=9, unique=True))
    return facts
