"""Peers who judge too: clingo and nemo, run in process on the programs they can express.

A program is first brought to plain clauses (one head, atoms, negated closed atoms, comparisons) and
then spelled in the peer's language. Integers stay integers; every other constant becomes a name
that only equals itself. What a peer cannot say raises UnsupportedError.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stratalog.lang.syntax import (
    TRIPLE,
    Aggregate,
    Argument,
    Atom,
    Bind,
    Call,
    Expression,
    Filter,
    Literal,
    Negation,
    Predicate,
    Program,
    Reduction,
    Rule,
    Variable,
)
from stratalog.lang.terms import INTEGER, IRI_KIND, RDF_TYPE, STRING, Term
from tests.naive import TYPE, Fact, explicit_facts, is_rdf, stored, variables
from tests.strategies import variables_of

OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "=": "!=", "!=": "="}
NONINTEGER = Predicate("$noninteger", 1)
RESOURCE = Predicate("$resource", 1)


class UnsupportedError(Exception):
    """The peer's language has no words for this program."""


# ---- Plain clauses -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Clause:
    head: Atom
    body: tuple[Atom, ...]
    negated: tuple[Atom, ...] = ()
    tests: tuple[Call, ...] = ()
    binds: tuple[Bind, ...] = ()
    reduction: Reduction | None = None  # the head's last argument reduces the body's instances


@dataclass
class Lowering:
    """A program as clauses over visible and auxiliary predicates (named with `$`)."""

    program: Program
    clauses: list[Clause] = field(default_factory=list)
    number: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        heads = [head for rule in self.program.rules for head in rule.heads]
        self.as_triples = any(isinstance(h, Atom) and h.predicate in (TRIPLE, TYPE) for h in heads)
        for rule in self.program.rules:
            self._rule(rule)
        if not self.as_triples and any(a.predicate == TRIPLE for c in self.clauses for a in c.body):
            self._copy_triples()

    def _rule(self, rule: Rule) -> None:
        for head in rule.heads:
            if not isinstance(head, Atom):
                raise UnsupportedError("equality")
            body = list(rule.body)
            head = self.stored(head)  # noqa: PLW2901  # the same head as it is kept
            if head.predicate == TRIPLE and isinstance(head.args[1], Variable):
                body.append(Atom(RESOURCE, (head.args[1],)))
            self._clauses(head, body)

    def stored(self, atom: Atom) -> Atom:
        """Return the atom over the relation that holds its facts."""
        if atom.predicate == TYPE:
            return Atom(TRIPLE, (atom.args[0], RDF_TYPE, atom.args[1]))
        if not (self.as_triples and is_rdf(atom.predicate)):
            return atom
        name = Term(IRI_KIND, atom.predicate.name[1:-1])
        if atom.predicate.arity == 1:
            return Atom(TRIPLE, (atom.args[0], RDF_TYPE, name))
        return Atom(TRIPLE, (atom.args[0], name, atom.args[1]))

    def _clauses(self, head: Atom, body: Sequence[Literal]) -> None:
        """Add the clauses of a rule, one for each way its filters can hold."""
        atoms = [self.stored(literal) for literal in body if isinstance(literal, Atom)]
        bound = variables_of(list(body))
        negated = [self._negation(item, bound) for item in body if isinstance(item, Negation)]
        for item in body:
            if isinstance(item, Aggregate):
                atoms += self._aggregate(item)
        binds = tuple(item for item in body if isinstance(item, Bind))
        ways = [alternatives(item.expression) for item in body if isinstance(item, Filter)]
        for way in itertools.product(*ways):
            tests = tuple(itertools.chain.from_iterable(way))
            self.clauses.append(Clause(head, tuple(atoms), tuple(negated), tests, binds))

    def _negation(self, negation: Negation, bound: list[Variable]) -> Atom:
        inner = variables_of(list(negation.body))
        shared = tuple(v for v in inner if v in bound and v not in negation.local)
        used = {
            v
            for part in negation.body
            if isinstance(part, Filter)
            for v in variables(part.expression)
        }
        if used - set(inner):
            raise UnsupportedError("a variable from outside in a FILTER under NOT")
        head = self._auxiliary("not", shared)
        self._clauses(head, negation.body)
        return head

    def _auxiliary(self, kind: str, args: tuple[Argument, ...]) -> Atom:
        return Atom(Predicate(f"${kind}{next(self.number)}", len(args)), args)

    def _aggregate(self, aggregate: Aggregate) -> list[Atom]:
        """Return one atom per reduction: an error in one leaves its group out of that relation."""
        return [self._reduction(aggregate, reduction) for reduction in aggregate.reductions]

    def _reduction(self, aggregate: Aggregate, reduction: Reduction) -> Atom:
        names = tuple(variables_of(list(aggregate.body)))
        value = reduction.expression
        if not isinstance(value, Variable) or reduction.function == "AVG":
            raise UnsupportedError(reduction.function)
        if reduction.function in ("MIN", "MAX") and self._has_names():
            raise UnsupportedError("the order of constants that are no integers")
        matched = self._auxiliary("matched", (*aggregate.group, value, *names))
        self._clauses(matched, aggregate.body)
        places = tuple(Variable(f"A{i}") for i in range(matched.predicate.arity))
        group, result = places[: len(aggregate.group)], places[len(aggregate.group)]
        matched = Atom(matched.predicate, places)
        wrong = self._auxiliary("wrong", group)
        if reduction.function != "COUNT":
            self.clauses.append(Clause(wrong, (matched, Atom(NONINTEGER, (result,)))))
        head = self._auxiliary("reduced", (*group, Variable("R")))
        reduce = reduction._replace(expression=result)
        self.clauses.append(Clause(head, (matched,), (wrong,), reduction=reduce))
        return Atom(head.predicate, (*aggregate.group, reduction.variable))

    def _has_names(self) -> bool:
        written = [head for rule in self.program.rules for head in rule.heads]
        atoms = [atom for atom in (*self.program.facts, *written) if isinstance(atom, Atom)]
        return any(isinstance(t, Term) and t.kind != INTEGER for a in atoms for t in a.args)

    def _copy_triples(self) -> None:
        s, o = Variable("s"), Variable("o")
        for predicate in sorted(filter(is_rdf, self.predicates())):
            name = Term(IRI_KIND, predicate.name[1:-1])
            row = (s, RDF_TYPE, name) if predicate.arity == 1 else (s, name, o)
            self.clauses.append(
                Clause(Atom(TRIPLE, row), (Atom(predicate, (s, o)[: predicate.arity]),))
            )

    def predicates(self) -> set[Predicate]:
        """Return all predicates of the clauses and of the program's facts."""
        found = {fact.predicate for fact in self.program.facts}
        for clause in self.clauses:
            found.update(a.predicate for a in (clause.head, *clause.body, *clause.negated))
        return found

    def terms(self) -> set[Term]:
        """Return all constants in atoms."""
        atoms = itertools.chain(
            self.program.facts,
            (a for c in self.clauses for a in (c.head, *c.body, *c.negated)),
        )
        return {t for atom in atoms for t in atom.args if isinstance(t, Term)} | {
            Term(IRI_KIND, p.name[1:-1]) for p in self.predicates() if p.name.startswith("<")
        }

    def facts(self, explicit: Iterable[Fact]) -> Iterator[Atom]:
        for predicate, args in explicit:
            yield self.stored(Atom(predicate, args))
        for term in self.terms():
            if term.kind != INTEGER:
                yield Atom(NONINTEGER, (term,))
            if term.kind == IRI_KIND:
                yield Atom(RESOURCE, (term,))


def alternatives(expression: Expression) -> list[list[Call]]:
    """Return a filter as alternatives of comparisons: it lets through iff all of one hold."""
    if isinstance(expression, Call) and expression.name == "||":
        return [way for argument in expression.args for way in alternatives(argument)]
    if isinstance(expression, Call) and expression.name == "&&":
        ways = itertools.product(*map(alternatives, expression.args))
        return [list(itertools.chain.from_iterable(way)) for way in ways]
    negated = isinstance(expression, Call) and expression.name == "!"
    comparison = expression.args[0] if isinstance(expression, Call) and negated else expression
    if not isinstance(comparison, Call) or comparison.name not in OPPOSITE:
        raise UnsupportedError(str(expression))
    name = OPPOSITE[comparison.name] if negated else comparison.name
    return [[Call(name, comparison.args)]]


@dataclass
class Names:
    """Predicates and constants spelled as names that any language accepts."""

    predicates: dict[Predicate, str] = field(default_factory=dict)
    terms: dict[Term, str] = field(default_factory=dict)

    def predicate(self, predicate: Predicate) -> str:
        return self.predicates.setdefault(predicate, f"p{len(self.predicates)}")

    def term(self, term: Term) -> str:
        return (
            term.text
            if term.kind == INTEGER
            else self.terms.setdefault(term, f"c{len(self.terms)}")
        )

    def back(self, name: str | int) -> Term:
        if isinstance(name, int):
            return Term(INTEGER, str(name))
        return {spelled: term for term, spelled in self.terms.items()}[name]


def _visible(lowering: Lowering, rows: Iterable[Fact]) -> set[Fact]:
    found = set()
    for predicate, args in rows:
        kept = predicate == TRIPLE and lowering.as_triples
        if (kept or not predicate.name.startswith("$")) and (fact := stored(predicate, args)):
            found.add(fact)
    return found


# ---- clingo ------------------------------------------------------------------------------------


class Clingo:
    """Clauses in the language of clingo."""

    def __init__(self) -> None:
        self.names = Names()

    def arg(self, argument: Expression) -> str:
        if isinstance(argument, Variable):
            return "V_" + argument.name
        if isinstance(argument, Term):
            return self.names.term(argument)
        left, right = map(self.arg, argument.args)
        return f"({left}{argument.name}{right})"

    def atom(self, atom: Atom) -> str:
        return f"{self.names.predicate(atom.predicate)}({','.join(map(self.arg, atom.args))})"

    def test(self, call: Call) -> str:
        # Adding to a name is undefined in clingo and drops the instance, as an error does here.
        add = "" if call.name in ("=", "!=") else "+0"
        left, right = (self.arg(a) + add for a in call.args)
        return f"{left} {call.name} {right}"

    def clause(self, clause: Clause) -> str:
        body = [self.atom(atom) for atom in clause.body]
        if clause.reduction:
            body = self._reduce(clause)
        body += ["not " + self.atom(atom) for atom in clause.negated]
        body += [f"{self.arg(b.variable)} = {self.arg(b.expression)}" for b in clause.binds]
        body += [self.test(call) for call in clause.tests]
        return (
            f"{self.atom(clause.head)} :- {', '.join(body)}."
            if body
            else self.atom(clause.head) + "."
        )

    def _reduce(self, clause: Clause) -> list[str]:
        reduction, matched = clause.reduction, clause.body[0]
        assert reduction is not None
        group = len(clause.head.args) - 1
        inner = [self.arg(a) for a in matched.args]
        tuple_ = inner[group : group + 1] if reduction.distinct else inner[group:]
        outer = [*inner[:group], *("_" for _ in inner[group:])]
        name = self.names.predicate(matched.predicate)
        function = f"#{reduction.function.lower()}"
        elements = f"{','.join(tuple_)} : {name}({','.join(inner)})"
        result = self.arg(clause.head.args[-1])
        return [f"{name}({','.join(outer)})", f"{result} = {function}{{ {elements} }}"]


def clingo_facts(program: Program, explicit: Iterable[Fact] | None = None) -> set[Fact]:
    """Return the materialisation that clingo computes."""
    import clingo

    lowering, peer = Lowering(program), Clingo()
    given = explicit_facts(program) if explicit is None else explicit
    lines = [peer.atom(fact) + "." for fact in lowering.facts(given)]
    lines += [peer.clause(clause) for clause in lowering.clauses]
    control = clingo.Control(["--warn=none"], logger=lambda *_: None)
    control.add("base", [], "\n".join(lines))
    control.ground([("base", [])])
    predicates = {name: predicate for predicate, name in peer.names.predicates.items()}
    rows: list[Fact] = []
    with control.solve(yield_=True) as models:
        for symbol in next(iter(models)).symbols(atoms=True):
            args = (
                a.number if a.type == clingo.SymbolType.Number else str(a) for a in symbol.arguments
            )
            rows.append((predicates[symbol.name], tuple(peer.names.back(a) for a in args)))
    return _visible(lowering, rows)


# ---- nemo --------------------------------------------------------------------------------------


class Nemo:
    """Clauses in the language of nemo; a predicate without arguments gets one."""

    def __init__(self, *, native: bool = False) -> None:
        self.names = Names()
        self.native = native  # constants as they are, to join with what nemo reads from files

    def arg(self, argument: Expression) -> str:
        if isinstance(argument, Variable):
            return "?" + argument.name
        if isinstance(argument, Term):
            return self._native(argument) if self.native else self._name(argument)
        left, right = map(self.arg, argument.args)
        return f"({left} {argument.name} {right})"

    def _name(self, term: Term) -> str:
        return term.text if term.kind == INTEGER else f"<{self.names.term(term)}>"

    def _native(self, term: Term) -> str:
        if term.kind == IRI_KIND:
            return f"<{term.text}>"
        if term.kind not in (INTEGER, STRING) or '"' in term.text or "\\" in term.text:
            raise UnsupportedError(str(term))
        return term.text if term.kind == INTEGER else f'"{term.text}"'

    def atom(self, atom: Atom) -> str:
        args = [self.arg(a) for a in atom.args] or ["<unit>"]
        return f"{self.names.predicate(atom.predicate)}({', '.join(args)})"

    def clause(self, clause: Clause) -> str:
        body = [self.atom(atom) for atom in clause.body]
        body += ["~" + self.atom(atom) for atom in clause.negated]
        body += [f"{self.arg(b.variable)} = {self.arg(b.expression)}" for b in clause.binds]
        body += [f"{self.arg(c.args[0])} {c.name} {self.arg(c.args[1])}" for c in clause.tests]
        head = self._reduce(clause) if clause.reduction else self.atom(clause.head)
        return f"{head} :- {', '.join(body)} ."

    def _reduce(self, clause: Clause) -> str:
        reduction, group = clause.reduction, clause.head.args[:-1]
        assert reduction is not None
        value, *others = clause.body[0].args[len(group) :]
        counted = (
            [value]
            if reduction.distinct or reduction.function in ("MIN", "MAX")
            else [value, *others]
        )
        result = f"#{reduction.function.lower()}({', '.join(map(self.arg, counted))})"
        head = [*map(self.arg, group), result]
        return f"{self.names.predicate(clause.head.predicate)}({', '.join(head)})"


def nemo_facts(program: Program, explicit: Iterable[Fact] | None = None) -> set[Fact]:
    """Return the materialisation that nemo computes."""
    lowering, peer = Lowering(program), Nemo()
    given = explicit_facts(program) if explicit is None else explicit
    lines = [peer.atom(fact) + " ." for fact in lowering.facts(given)]
    lines += [peer.clause(clause) for clause in lowering.clauses]
    engine = _nemo_run(lines, peer.names.predicates.values())
    rows: list[Fact] = []
    for predicate, name in peer.names.predicates.items():
        for row in engine.result(name):
            args = (
                peer.names.back(v if isinstance(v, int) else v.strip("<>"))
                for v in row
                if v != "<unit>"
            )
            rows.append((predicate, tuple(args)))
    return _visible(lowering, rows)


def _nemo_run(lines: Iterable[str], outputs: Iterable[str]) -> Any:
    import nmo_python  # type: ignore[import-untyped]

    text = "\n".join([*lines, *(f"@output {name} ." for name in outputs)])
    engine = nmo_python.NemoEngine(nmo_python.load_string(text))
    engine.reason()
    return engine


@dataclass(frozen=True)
class PeerCounts:
    """How many facts each predicate has, and the CPU seconds that loading and reasoning took."""

    facts: dict[Predicate, int]
    load_seconds: float
    reason_seconds: float


def nemo_counts(
    program: Program, data: Sequence[Path], predicates: Iterable[Predicate] = ()
) -> PeerCounts:
    """Return nemo's number of facts for the program's predicates and those of `predicates`.

    RDF files (.nt, .nt.gz) are split by predicate in nemo itself; a .tsv or .tsv.gz file feeds the
    predicate of its name, all columns strings.
    """
    lowering, peer = Lowering(program), Nemo(native=True)
    lines = [peer.atom(fact) + " ." for fact in program.facts]
    lines += [peer.clause(clause) for clause in lowering.clauses]
    wanted = {*lowering.predicates(), *predicates}
    names = {p: peer.names.predicate(p) for p in sorted(wanted) if not p.name.startswith("$")}
    for path in data:
        lines += _nemo_import(path, names)
    if any(".nt" in path.suffixes for path in data):
        lines += [_nemo_split(p, name) for p, name in names.items() if is_rdf(p)]
    engine = _nemo_run(lines, names.values())
    reasoning = engine.timing().subnode("Reasoning").subnode("Execution")
    load = reasoning.subnode("Load Table").process_time.total_seconds()
    counted = {p: sum(1 for _ in engine.result(name)) for p, name in names.items()}
    return PeerCounts(counted, load, reasoning.process_time.total_seconds() - load)


def _nemo_import(path: Path, names: dict[Predicate, str]) -> Iterator[str]:
    if ".nt" in path.suffixes:
        yield f'@import rdf :- ntriples{{resource="{path}"}} .'
        return
    for predicate, name in names.items():
        if predicate.name == path.name.partition(".")[0]:
            columns = ", ".join(["string"] * predicate.arity)
            yield f'@import {name} :- tsv{{resource="{path}", format=({columns})}} .'


def _nemo_split(predicate: Predicate, name: str) -> str:
    if predicate.arity == 1:
        return f"{name}(?s) :- rdf(?s, <{RDF_TYPE.text}>, {predicate.name}) ."
    return f"{name}(?s, ?o) :- rdf(?s, {predicate.name}, ?o) ."
