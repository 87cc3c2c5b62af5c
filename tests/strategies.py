"""Random programs and facts: small, shrinkable, stratified by construction.

Every predicate has a level. A rule of level n reads positively what is at most n, and reads under
NOT or AGGREGATE only what is below n; predicates of one level may therefore depend on each other.
Arithmetic in recursion is fenced by a FILTER, so that every materialisation is finite.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from stratalog.lang.syntax import (
    TRIPLE,
    Aggregate,
    Argument,
    Atom,
    Bind,
    Call,
    Expression,
    Filter,
    Head,
    Literal,
    Negation,
    Predicate,
    Program,
    Reduction,
    Rule,
    Variable,
)
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


FULL = Language()


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
        return [p for p in lower if self.triples != "write" or not _is_rdf(p)]


def _is_rdf(predicate: Predicate) -> bool:
    return predicate == TRIPLE or predicate.name.startswith("<")


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
    uses = draw(st.sampled_from(("none",) * 6 + ("read", "write"))) if language.triples else "none"
    if uses != "none":
        levels = {
            p: min(n, 1) if _is_rdf(p) and uses == "read" else 1 if _is_rdf(p) else n
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
        given = level == 0 or _is_rdf(predicate) or _rarely(draw)
        if given and predicate != TRIPLE:
            rows = rows_of(predicate, signature)
            least = min(2 * predicate.arity, 5)  # enough for most bodies to match
            facts += draw(st.lists(rows, min_size=least, max_size=9, unique=True))
    return facts


# ---- Rules -------------------------------------------------------------------------------------


@st.composite
def atoms(draw: Draw, signature: Signature, predicates: list[Predicate]) -> Atom:
    predicate = draw(st.sampled_from(predicates))
    start = draw(st.integers(0, 3))
    args: list[Argument] = [NAMES[(start + i) % len(NAMES)] for i in range(predicate.arity)]
    for place in range(predicate.arity):
        change = draw(st.integers(0, 11))
        if change == 11:
            args[place] = draw(st.sampled_from(signature.constants))
        elif change > 8:
            args[place] = draw(st.sampled_from(NAMES))
    return Atom(predicate, tuple(args)) if predicate != TRIPLE else triple(*args)


def triple(subject: Argument, verb: Argument, thing: Argument) -> Atom:
    """Return the atom that `[s, v, o]` is; a verb that is no IRI becomes a variable."""
    if isinstance(verb, Variable) or verb.kind != IRI_KIND:
        return Atom(TRIPLE, (subject, verb if isinstance(verb, Variable) else NAMES[3], thing))
    if verb != RDF_TYPE:
        return Atom(Predicate(f"<{verb.text}>", 2), (subject, thing))
    if isinstance(thing, Variable):
        return Atom(TRIPLE, (subject, verb, thing))
    if thing.kind == IRI_KIND:
        return Atom(Predicate(f"<{thing.text}>", 1), (subject,))
    return Atom(Predicate(f"<{verb.text}>", 2), (subject, thing))


def variables_of(body: list[Literal]) -> list[Variable]:
    """Return the variables a body binds, in order."""
    found: dict[Variable, None] = {}
    for literal in body:
        if isinstance(literal, Atom):
            found.update((a, None) for a in literal.args if isinstance(a, Variable))
        elif isinstance(literal, Bind):
            found[literal.variable] = None
        elif isinstance(literal, Aggregate):
            found.update((v, None) for v in literal.group)
            found.update((r.variable, None) for r in literal.reductions)
    return list(found)


@st.composite
def negations(draw: Draw, signature: Signature, level: int, bound: list[Variable]) -> Negation:
    """NOT of one or two atoms: closed, existential, or with its locals named."""
    below = signature.below(level)
    body: list[Literal] = list(draw(st.lists(atoms(signature, below), min_size=1, max_size=2)))
    local = [v for v in variables_of(body) if v not in bound]
    if signature.language.outer_filters and local and bound and _rarely(draw):
        order = Call("<", (draw(st.sampled_from(local)), draw(st.sampled_from(bound))))
        body.append(Filter(order))
    if local and draw(st.integers(0, 2)) == 2:
        return Negation(tuple(body), tuple(local))
    return Negation(tuple(body))


@st.composite
def filters(draw: Draw, signature: Signature, bound: list[Variable]) -> Filter:
    def comparison() -> Call:
        right: Expression = draw(st.sampled_from([*bound, *signature.constants]))
        name = draw(st.sampled_from(("<", "<=", ">", ">=", "=", "!=")))
        return Call(name, (draw(st.sampled_from(bound)), right))

    expression = comparison()
    shape = draw(st.integers(0, 5))
    if shape == 5:
        expression = Call("!", (expression,))
    elif shape in (3, 4):
        expression = Call("&&" if shape == 3 else "||", (expression, comparison()))
    return Filter(expression)


@st.composite
def binds(draw: Draw, signature: Signature, bound: list[Variable], new: Variable) -> list[Literal]:
    """A BIND and the FILTER that keeps its values in a finite range."""
    left = draw(st.sampled_from(bound))
    if signature.constants[0].kind == STRING and draw(st.booleans()):
        call = Call("CONCAT", (left, draw(st.sampled_from([*bound, *STRINGS]))))
        return [Bind(call, new), Filter(Call("<", (Call("STRLEN", (new,)), integer(3))))]
    name = draw(st.sampled_from("++-*"))
    right: Expression = integer(2) if name == "*" else draw(st.sampled_from([*bound, integer(1)]))
    fence = Call("&&", (Call("<", (new, integer(5))), Call(">", (new, integer(-3)))))
    return [Bind(Call(name, (left, right)), new), Filter(fence)]


@st.composite
def aggregates(draw: Draw, signature: Signature, level: int, number: int) -> Aggregate:
    below = [p for p in signature.below(level) if p.arity]
    body: list[Literal] = list(draw(st.lists(atoms(signature, below), min_size=1, max_size=2)))
    names = variables_of(body)
    if not names:
        return Aggregate(
            tuple(body), (), (Reduction("COUNT", False, None, Variable(f"n{number}")),)
        )
    group = draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
    body, names = apart(body, group), [v if v in group else _local(v) for v in names]
    reductions = []
    for place in range(draw(st.sampled_from((1, 1, 2)))):
        function = draw(st.sampled_from(signature.language.functions))
        distinct = draw(st.booleans())
        expression = draw(st.sampled_from(names))
        reductions.append(Reduction(function, distinct, expression, Variable(f"n{number}{place}")))
    return Aggregate(tuple(body), tuple(group), tuple(reductions))


def apart(body: list[Literal], group: list[Variable]) -> list[Literal]:
    """Return the atoms with variables outside the group renamed: they are the aggregate's own."""
    atoms_ = [atom for atom in body if isinstance(atom, Atom)]
    own = {v: _local(v) for v in variables_of(body) if v not in group}
    return [
        Atom(a.predicate, tuple(own.get(t, t) if isinstance(t, Variable) else t for t in a.args))
        for a in atoms_
    ]


def _local(variable: Variable) -> Variable:
    return Variable(variable.name + "0")


@st.composite
def bodies(draw: Draw, signature: Signature, level: int) -> list[Literal]:
    body: list[Literal] = list(
        draw(st.lists(atoms(signature, signature.up_to(level)), min_size=1, max_size=3))
    )
    language = signature.language
    if language.functions and any(p.arity for p in signature.below(level)) and _rarely(draw):
        body.append(draw(aggregates(signature, level, len(body))))
    if language.builtins and variables_of(body) and _rarely(draw):
        body += draw(binds(signature, variables_of(body), Variable("m")))
    if language.builtins and variables_of(body) and _rarely(draw):
        body.append(draw(filters(signature, variables_of(body))))
    if language.negation and signature.below(level) and draw(st.integers(0, 2)) == 2:
        body.append(draw(negations(signature, level, variables_of(body))))
    return body


def _rarely(draw: Draw) -> bool:
    return bool(draw(st.integers(0, 3)) == 3)


@st.composite
def rules(draw: Draw, signature: Signature, head: Predicate) -> Rule:
    level = signature.levels[head]
    body = draw(bodies(signature, level))
    heads = [head]
    if _rarely(draw):
        heads.append(draw(st.sampled_from(_derivable(signature, level))))
    terms: list[Argument] = [*variables_of(body) * 4, *signature.constants[:2]]
    written: list[Head] = []
    for predicate in heads:
        args = [draw(st.sampled_from(terms)) for _ in range(predicate.arity)]
        if predicate == TRIPLE:
            verbs: list[Argument] = [*variables_of(body)] or [RDF_TYPE]
            written.append(triple(args[0], draw(st.sampled_from(verbs)), args[2]))
        else:
            written.append(Atom(predicate, tuple(args)))
    return Rule(tuple(written), tuple(body))


def _derivable(signature: Signature, level: int) -> list[Predicate]:
    writes = signature.triples == "write"
    return [p for p, n in signature.levels.items() if n == level and (p != TRIPLE or writes)]


@st.composite
def shapes(draw: Draw, signature: Signature, head: Predicate) -> list[Rule]:
    """Rules with algorithms of their own: closures, symmetric relations, cyclic bodies."""
    x, y, z, w = NAMES
    base = draw(
        st.sampled_from(
            [p for p in signature.up_to(signature.levels[head]) if p.arity == 2] or [head]
        )
    )

    def rule(*body: Atom, args: tuple[Variable, Variable] = (x, z)) -> Rule:
        return Rule((Atom(head, args),), body)

    def h(a: Variable, b: Variable) -> Atom:
        return Atom(head, (a, b))

    def e(a: Variable, b: Variable) -> Atom:
        return Atom(base, (a, b))

    choices = (
        [rule(h(x, y), h(y, z))],
        [rule(h(x, y), args=(y, x)), rule(h(x, y), h(y, z))],
        [rule(e(x, z)), rule(e(x, y), h(y, z))],
        [rule(e(x, y), e(y, z), e(z, x))],
        [rule(e(x, y), h(y, z), e(z, w), e(w, x))],
    )
    return list(draw(st.sampled_from(choices)))


# ---- Programs ----------------------------------------------------------------------------------


@st.composite
def programs(draw: Draw, language: Language = FULL) -> Program:
    """A stratified program with its explicit facts."""
    program: Program = draw(programs_over(draw(signatures(language))))
    return program


@st.composite
def programs_over(draw: Draw, signature: Signature) -> Program:
    made: list[Rule] = []
    heads = [p for n in range(1, 4) for p in _derivable(signature, n)] or _derivable(signature, 0)
    for head in heads + draw(st.lists(st.sampled_from(heads), max_size=3)):
        if head.arity == 2 and _rarely(draw):
            made += draw(shapes(signature, head))
        else:
            made.append(draw(rules(signature, head)))
    return Program(rules=tuple(made), facts=tuple(draw(datasets(signature))))


def program_text(program: Program) -> str:
    """Return the program in the rule language."""
    from stratalog.lang.printer import show

    return show(program)
