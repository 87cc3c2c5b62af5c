"""Random histories: a program and a sequence of updates, small and shrinkable.

Half of the programs are random ones of `strategies`. The others stack recursion, negation and
aggregates over dense little graphs, where facts have many derivations and support each other in
circles: what maintenance gets wrong first.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import TRIPLE, Atom, Predicate, Program, Rule
from stratalog.lang.terms import Term
from tests.naive import Fact, explicit_facts
from tests.shapes import Block
from tests.signatures import FULL, INTEGERS, Draw, Language, integer, rows_of, signatures
from tests.strategies import worlds_over


@dataclass(frozen=True)
class Update:
    """What is inserted and deleted, and how the step ends."""

    insert: frozenset[Fact]
    delete: frozenset[Fact]
    ends: str = "commit"  # or "dry run", or "abort": an error in the middle
    fails_at: int = 0  # the engine call in which the error of an abort is raised
    choices: tuple[int, ...] = (0,)  # which algorithm maintains each stratum, in turn

    def wanted(self, explicit: AbstractSet[Fact]) -> frozenset[Fact]:
        """Return the explicit facts that the step asks for."""
        return frozenset((explicit - self.delete) | self.insert)

    def after(self, explicit: AbstractSet[Fact]) -> frozenset[Fact]:
        """Return the explicit facts after the step."""
        return self.wanted(explicit) if self.ends == "commit" else frozenset(explicit)


Random = tuple[Program, list[Update]]


def sizes(least: int, most: int) -> st.SearchStrategy[int]:
    """Return numbers that are as often large as small, unlike Hypothesis's own choice."""
    return st.sampled_from(range(least, most + 1))


Facts = frozenset[Fact]


@st.composite
def updates(
    draw: Draw,
    fact: st.SearchStrategy[Fact],
    explicit: Facts,
    known: Facts,
    blocks: Sequence[Facts] = (),
) -> Update:
    """An update of few facts, of a block, of every second one or of all that were ever explicit."""
    some = st.one_of(st.sampled_from(sorted(known)), fact) if known else fact
    kinds = ("few",) * 4 + ("half", "all") + ("block",) * (5 if blocks else 0)
    size = draw(st.sampled_from(kinds))
    insert, delete = (frozenset(draw(some) for _ in range(draw(sizes(0, 4)))) for _ in range(2))
    if size == "all":
        insert, delete = draw(st.sampled_from(((insert, explicit), (known, delete))))
    elif size == "half":
        delete |= frozenset(sorted(explicit)[draw(st.integers(0, 1)) :: 2])
    elif size == "block":
        block = draw(st.sampled_from(blocks))
        comes, goes = (insert | block, delete), (insert, delete | block)
        insert, delete = draw(st.sampled_from((comes, comes, goes)))
    return Update(
        insert,
        delete,
        draw(st.sampled_from(("commit",) * 5 + ("dry run", "abort"))),
        draw(st.integers(1, 60)),
        tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))),
    )


def steps(
    draw: Draw, program: Program, fact: st.SearchStrategy[Fact], blocks: Sequence[Block] = ()
) -> list[Update]:
    """Draw updates one after the other; much of what goes comes back later."""
    together = [frozenset(map(_fact, block)) for block in blocks]
    explicit = known = frozenset(explicit_facts(program))
    made = []
    for _ in range(draw(sizes(1, 5))):
        step = draw(updates(fact, explicit, known, together))
        made.append(step)
        explicit = step.after(explicit)
        known |= step.insert
    return made


def _fact(atom: Atom) -> Fact:
    return next(iter(explicit_facts(Program(facts=(atom,)))))


@st.composite
def of_random_programs(draw: Draw, language: Language = FULL) -> Random:
    signature = draw(signatures(language))
    program, blocks = draw(worlds_over(signature))
    atom = st.one_of([rows_of(p, signature) for p in signature.levels if p != TRIPLE])
    return program, steps(draw, program, atom.map(_fact), blocks)


# ---- Layers of recursion -----------------------------------------------------------------------

LAYERS = """
t(?x, ?y) :- e(?x, ?y) .
t(?x, ?z) :- t(?x, ?y), t(?y, ?z) .
t(?x, ?z) :- t(?x, ?y), e(?y, ?z) .
t(?y, ?x) :- t(?x, ?y) .
t(?x, ?y) :- f(?x, ?y), n(?x) .
t(?x, ?y) :- s(?x), e(?x, ?y), NOT f(?x, ?x) .
t(?x, ?x) :- t(?x, ?x), s(?x) .
s(?x) :- t(?x, ?x) .
s(?y) :- s(?x), e(?x, ?y), NOT n(?y) .
s(?x) :- n(?x), f(?x, ?x) .
c(?x, ?k) :- AGGREGATE(t(?x, ?y) ON ?x BIND COUNT(?y) AS ?k) .
u(?x, ?y) :- t(?x, ?y), NOT f(?x, ?y) .
u(?x, ?y) :- e(?x, ?y), NOT t(?y, ?x) .
u(?x, ?z) :- u(?x, ?y), t(?y, ?z), NOT s(?z) .
u(?x, ?z) :- u(?x, ?y), u(?y, ?z) .
u(?x, ?y) :- e(?x, ?y), c(?x, ?k), ?k < 3 .
u(?x, ?m) :- u(?x, ?y), BIND(?y + 1 AS ?m), ?m < 4 .
v(?x) :- n(?x), NOT u(?x, ?y) .
v(?y) :- v(?x), u(?x, ?y), NOT s(?y) .
v(?x) :- AGGREGATE(u(?x, ?y) ON ?x BIND MAX(?y) AS ?m), s(?k), ?k = ?m .
w(?x, ?y) :- v(?x), u(?x, ?y), NOT t(?y, ?x) .
"""

PREDICATES = tuple(
    Predicate(name, arity) for name, arity in zip("efnetuvs", (2, 2, 1, 2, 2, 2, 1, 1), strict=True)
)


@cache
def layers() -> tuple[Rule, ...]:
    return parse_program(LAYERS).rules


MODULES = (1, 3, 14)  # the rules of the layers that modules are made of


def atoms_over(predicates: tuple[Predicate, ...], terms: Sequence[Term]) -> st.SearchStrategy[Atom]:
    """Return facts of predicates."""
    term = st.sampled_from(terms)
    return st.sampled_from(predicates).flatmap(
        lambda p: st.tuples(*[term] * p.arity).map(lambda args: Atom(p, args))
    )


@st.composite
def of_layers(draw: Draw, often: tuple[int, ...] = ()) -> Random:
    """Draw some of the layers' rules, those of some numbers more often than not."""
    rules = [
        rule
        for number, rule in enumerate(layers())
        if draw(st.integers(0, 5)) > (0 if number in often else 2)
    ]
    atom = atoms_over(PREDICATES, INTEGERS[: draw(st.integers(2, 4))])
    given = dict.fromkeys(draw(atom) for _ in range(draw(sizes(1, 24))))
    program = Program(rules=tuple(rules), facts=tuple(given))
    return program, steps(draw, program, atom.map(_fact))


# ---- A module among rules that derive and read its relation ------------------------------------

MIXED = """
t(?x, ?z) :- t(?x, ?y), t(?y, ?z) .
t(?x, ?y) :- e(?x, ?y) .
t(?y, ?x) :- t(?x, ?y) .
t(?x, ?z) :- t(?x, ?y), f(?y, ?z) .
t(?x, ?y) :- w(?x, ?y) .
w(?x, ?y) :- t(?x, ?z), f(?z, ?y) .
w(?x, ?y) :- t(?y, ?x), e(?x, ?x) .
w(?x, ?z) :- w(?x, ?y), w(?y, ?z) .
t(?x, ?y) :- s(?x), f(?x, ?y), NOT n(?y) .
s(?y) :- t(?x, ?y), f(?x, ?x) .
s(?y) :- s(?x), e(?x, ?y) .
t(?x, ?y) :- t(?x, ?y), n(?x) .
t(?x, ?y) :- t(?x, ?x), t(?y, ?y), f(?x, ?y) .
"""
MIXED_PREDICATES = tuple(
    Predicate(name, arity) for name, arity in zip("efefntws", (2, 2, 2, 2, 1, 2, 2, 1), strict=True)
)
SELDOM = {0: -1, 1: 0, 2: 3}  # by a rule's number: the greatest draw of six that leaves it out


@st.composite
def of_mixed_modules(draw: Draw) -> Random:
    """Draw some of the mixed rules: the transitive one always, the symmetric one now and then."""
    rules = [
        rule
        for number, rule in enumerate(parse_program(MIXED).rules)
        if draw(st.integers(0, 5)) > SELDOM.get(number, 2)
    ]
    atom = atoms_over(MIXED_PREDICATES, [integer(i) for i in range(draw(sizes(3, 5)))])
    given = dict.fromkeys(draw(atom) for _ in range(draw(sizes(3, 20))))
    program = Program(rules=tuple(rules), facts=tuple(given))
    return program, steps(draw, program, atom.map(_fact))


def of_modules() -> st.SearchStrategy[Random]:
    """Return histories of programs that mostly have modules."""
    return st.one_of(of_layers(often=MODULES), of_closures())


# ---- Relations that are one closure ------------------------------------------------------------

SHAPES = (
    "t(?x, ?z) :- t(?x, ?y), t(?y, ?z) .",
    "t(?x, ?z) :- t(?y, ?z), t(?x, ?y) . t(?y, ?x) :- t(?x, ?y) .",
    "t(?x, ?z) :- t(?x, ?y), t(?y, ?z) . t(?x, ?y) :- r(?y, ?x) . r(?x, ?y) :- t(?y, ?x) .",
    """t(?x, ?z) :- r(?y, ?x), t(?y, ?z) . t(?x, ?y) :- r(?y, ?x) . r(?x, ?y) :- q(?x, ?y) .
    q(?x, ?y) :- t(?y, ?x) .""",
    "r(?x, ?z) :- t(?y, ?x), t(?y, ?z) . t(?x, ?y) :- r(?y, ?x) . r(?x, ?y) :- t(?x, ?y) .",
    "t(?x, ?z) :- t(?x, ?y), t(?y, ?z) . t(?x, ?x) :- t(?x, ?y) .",
    """t(?x, ?z) :- t(?x, ?y), t(?y, ?z) . t(?x, ?x) :- r(?y, ?x) . t(?x, ?x) :- t(?y, ?x) .
    t(?x, ?y) :- r(?y, ?x) . r(?x, ?y) :- t(?y, ?x) .""",
    "t(?x, ?z) :- e(?x, ?y), t(?y, ?z) .",
    "t(?x, ?z) :- t(?x, ?y), e(?z, ?y) .",
    "f(?x, ?z) :- f(?x, ?y), f(?y, ?z) . t(?x, ?z) :- t(?x, ?y), f(?y, ?z) .",
)

AROUND_CLOSURES = """
t(?x, ?y) :- e(?x, ?y) .
t(?x, ?y) :- f(?x, ?y), n(?x) .
t(?x, ?x) :- n(?x), NOT e(?x, ?x) .
r(?x, ?y) :- e(?y, ?x), n(?x) .
c(?x, ?k) :- AGGREGATE(t(?x, ?y) ON ?x BIND COUNT(?y) AS ?k) .
s(?x) :- t(?x, ?x) .
s(?y) :- t(1, ?y) .
s(?x) :- t(?x, 2), NOT t(2, ?x) .
u(?x, ?z) :- e(?x, ?y), t(?y, ?z), NOT s(?z) .
u(?x, ?y) :- t(?x, ?y), r(?y, ?z), t(?z, ?x) .
u(?x, ?z) :- u(?x, ?y), u(?y, ?z) .
u(?x, ?z) :- u(?x, ?y), t(?y, ?z) .
v(?x) :- n(?x), NOT u(?x, ?y) .
v(?y) :- v(?x), t(?x, ?y), NOT u(?x, ?y) .
t(?x, ?y) :- t(?y, ?x), n(?x) .
"""

CLOSED = tuple(
    Predicate(name, arity) for name, arity in zip("eefntru", (2, 2, 2, 1, 2, 2, 2), strict=True)
)


@st.composite
def of_closures(draw: Draw) -> Random:
    """Draw relations that are one closure, and rules that feed and read them; the last mixes in."""
    others = parse_program(AROUND_CLOSURES).rules
    chosen = [rule for rule in others[:-1] if draw(st.booleans())]
    if draw(st.integers(0, 9)) == 0:
        chosen.append(others[-1])
    rules = (*parse_program(draw(st.sampled_from(SHAPES))).rules, *chosen)
    term = st.sampled_from(INTEGERS[: draw(st.integers(2, 4))])
    atom = st.sampled_from(CLOSED).flatmap(
        lambda p: st.tuples(*[term] * p.arity).map(lambda args: Atom(p, args))
    )
    given = dict.fromkeys(draw(atom) for _ in range(draw(sizes(1, 16))))
    program = Program(rules=rules, facts=tuple(given))
    return program, steps(draw, program, atom.map(_fact))


def histories() -> st.SearchStrategy[Random]:
    """Return the strategy of all histories."""
    return st.one_of(of_random_programs(), of_layers())


def show(history: Random) -> str:
    """Return a history as text, for failures."""
    from tests.strategies import program_text

    program, taken = history
    lines = [program_text(program)]
    for step in taken:
        how = f"{step.ends} (fails at {step.fails_at}, algorithms {step.choices})"
        lines += [how, f"  - {facts(step.delete)}", f"  + {facts(step.insert)}"]
    return "\n".join(lines)


def facts(some: AbstractSet[Any]) -> str:
    shown = (f"{p.name}({', '.join(t.text for t in args)})" for p, args in sorted(some))
    return " ".join(shown)
