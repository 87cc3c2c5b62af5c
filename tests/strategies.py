"""Random programs: small, shrinkable, stratified by construction.

Rules keep to the levels of `signatures`. Arithmetic in recursion is fenced by a FILTER, so that
every materialisation is finite. Some programs also have the shapes of `shapes`.
"""

from __future__ import annotations

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
from stratalog.lang.terms import IRI_KIND, RDF_TYPE, STRING
from tests import shapes
from tests.signatures import (
    FULL,
    NAMES,
    STRINGS,
    Draw,
    Language,
    Signature,
    datasets,
    integer,
    rarely,
    signatures,
)
from tests.spellings import respelled

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
    if signature.language.outer_filters and local and bound and rarely(draw):
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
    if language.functions and any(p.arity for p in signature.below(level)) and rarely(draw):
        body.append(draw(aggregates(signature, level, len(body))))
    if language.builtins and variables_of(body) and rarely(draw):
        body += draw(binds(signature, variables_of(body), Variable("m")))
    if language.builtins and variables_of(body) and rarely(draw):
        body.append(draw(filters(signature, variables_of(body))))
    if language.negation and signature.below(level) and draw(st.integers(0, 2)) == 2:
        body.append(draw(negations(signature, level, variables_of(body))))
    return body


@st.composite
def rules(draw: Draw, signature: Signature, head: Predicate) -> Rule:
    level = signature.levels[head]
    body = draw(bodies(signature, level))
    heads = [head]
    if rarely(draw):
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
def closures(draw: Draw, signature: Signature, head: Predicate) -> list[Rule]:
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


World = tuple[Program, tuple[shapes.Block, ...]]
"""A program with its explicit facts, and facts that come and go together."""


@st.composite
def programs(draw: Draw, language: Language = FULL) -> Program:
    """A stratified program with its explicit facts."""
    program: Program = draw(programs_over(draw(signatures(language))))
    return program


def programs_over(signature: Signature) -> st.SearchStrategy[Program]:
    return worlds_over(signature).map(lambda world: world[0])


@st.composite
def worlds_over(draw: Draw, signature: Signature) -> World:
    heads = [p for n in range(1, 4) for p in _derivable(signature, n)] or _derivable(signature, 0)
    made: list[Rule] = []
    for head in heads + draw(st.lists(st.sampled_from(heads), max_size=3)):
        if head.arity == 2 and rarely(draw):
            made += draw(closures(signature, head))
        else:
            made.append(draw(rules(signature, head)))
    shape = shapes.Shape()
    plain = [head for head in heads if head != TRIPLE]
    if plain and (signature.language.foreign or rarely(draw)):
        shape = shapes.draw_shapes(draw, signature, plain, 3 if signature.language.foreign else 1)
    said = shapes.said_otherwise(draw, [*made, *shape.rules])
    if signature.language.spellings:
        said = [respelled(draw, signature, rule) if rarely(draw) else rule for rule in said]
    given = dict.fromkeys((*draw(datasets(signature)), *shape.facts))
    return Program(rules=tuple(said), facts=tuple(given)), shape.blocks


def program_text(program: Program) -> str:
    """Return the program in the rule language."""
    from stratalog.lang.printer import show

    return show(program)
