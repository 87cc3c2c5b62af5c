"""The judge: a fixpoint over Python sets, slow and obvious, sharing no code with what it judges.

Only the abstract syntax is imported, and `safety`, which refuses what has no meaning. `materialise`
says which facts follow from a program; `counts` says how often each follows from a planned program.
Both are meant to be read as definitions.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import count
from typing import Any

from stratalog.lang.syntax import (
    TRIPLE,
    Aggregate,
    Anonymous,
    Argument,
    Atom,
    Bind,
    Call,
    Choice,
    Equation,
    Expression,
    Filter,
    Head,
    Literal,
    Negation,
    Pattern,
    Predicate,
    Program,
    Reduction,
    Variable,
)
from stratalog.lang.terms import (
    BOOLEAN,
    DECIMAL,
    DOUBLE,
    INTEGER,
    IRI_KIND,
    RDF_TYPE,
    STRING,
    Term,
)
from stratalog.plan.rules import Plan, PlannedRule, Stratum
from tests.safety import alternatives, check_safe

Fact = tuple[Predicate, tuple[Term, ...]]
Instance = dict[Variable, Term]

TYPE = Predicate(f"<{RDF_TYPE.text}>", 2)
LIMIT = 20_000  # instances of one join: beyond, a random program is too slow to judge


class TooLargeError(Exception):
    """The program has too many instances for the judge."""


# ---- The RDF view ------------------------------------------------------------------------------


def is_rdf(predicate: Predicate) -> bool:
    """Say whether facts of the predicate are triples: IRI-named, unary or binary."""
    return predicate.name.startswith("<") and predicate.arity in (1, 2)


def stored(predicate: Predicate, args: tuple[Term, ...]) -> Fact | None:
    """Return the fact under the predicate that keeps it; None if a triple's verb is no IRI."""
    if predicate == TYPE:
        predicate, args = TRIPLE, (args[0], RDF_TYPE, args[1])
    if predicate != TRIPLE:
        return predicate, args
    subject, verb, thing = args
    if verb == RDF_TYPE and thing.kind == IRI_KIND:
        return Predicate(f"<{thing.text}>", 1), (subject,)
    if verb.kind == IRI_KIND:
        return Predicate(f"<{verb.text}>", 2), (subject, thing)
    return None


Row = tuple[Term, ...]


class Relations(dict[Predicate, set[Row]]):
    """The facts of each predicate, nothing implied."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        super().__init__()
        for predicate, row in facts:
            self.keep(predicate, row)

    def rows(self, predicate: Predicate) -> Iterable[Row]:
        return self.get(predicate, ())

    def keep(self, predicate: Predicate, row: Row) -> bool:
        """Add a fact; say whether it is new."""
        kept = self.setdefault(predicate, set())
        before = len(kept)
        kept.add(row)
        return len(kept) > before

    def facts(self) -> set[Fact]:
        return {(predicate, row) for predicate, rows in self.items() for row in rows}


class RdfRelations(Relations):
    """Relations of which the IRI-named unary and binary ones can be used as triples too."""

    def rows(self, predicate: Predicate) -> Iterable[Row]:
        if predicate == TRIPLE:
            return list(self._triples())
        if predicate == TYPE:
            return [(s, o) for s, p, o in self._triples() if p == RDF_TYPE]
        return super().rows(predicate)

    def keep(self, predicate: Predicate, row: Row) -> bool:
        fact = stored(predicate, row)
        return fact is not None and super().keep(*fact)

    def _triples(self) -> Iterator[tuple[Term, Term, Term]]:
        for predicate, rows in self.items():
            if is_rdf(predicate):
                name = Term(IRI_KIND, predicate.name[1:-1])
                for row in rows:
                    yield (row[0], RDF_TYPE, name) if len(row) == 1 else (row[0], name, row[1])


# ---- Matching a body ---------------------------------------------------------------------------


def fill(args: Iterable[Argument], instance: Instance) -> tuple[Term, ...]:
    return tuple(instance[a] if isinstance(a, Variable) else a for a in args)


def unify(args: Sequence[Argument], row: tuple[Term, ...], instance: Instance) -> Instance | None:
    """Return the instance extended so that the arguments are the row, or None."""
    extended = dict(instance)
    for argument, term in zip(args, row, strict=True):
        wanted = extended.setdefault(argument, term) if isinstance(argument, Variable) else argument
        if wanted != term:
            return None
    return extended


_fresh = count(1)


@dataclass(frozen=True)
class Projected:
    """An atom that has `_` in some columns: its rows without these, each once."""

    predicate: Predicate
    columns: tuple[int, ...]
    args: tuple[Argument, ...]

    def rows(self, relations: Relations) -> set[Row]:
        return {tuple(row[i] for i in self.columns) for row in relations.rows(self.predicate)}


def written_out(pattern: Pattern) -> tuple[Projected, list[Bind]]:
    """Return what a pattern reads; each expression is a BIND to a variable of its own."""
    columns, args, binds = [], [], []
    for column, arg in enumerate(pattern.args):
        if isinstance(arg, Anonymous):
            continue
        columns.append(column)
        if isinstance(arg, Call):
            binds.append(Bind(arg, Variable(f"$judge{next(_fresh)}")))
            args.append(binds[-1].variable)
        else:
            args.append(arg)
    return Projected(pattern.predicate, tuple(columns), tuple(args)), binds


def matches(body: Sequence[Literal], relations: Relations, given: Instance) -> list[Instance]:
    """Return every substitution of the body's variables under which all of it holds, each once.

    Of alternatives, each has its own: what two of them match is here twice.
    """
    return [found for one in alternatives(body) for found in _matches(one, relations, given)]


def _matches(body: Sequence[Literal], relations: Relations, given: Instance) -> list[Instance]:
    found = [given]
    computed: list[Bind | Equation] = [x for x in body if isinstance(x, Bind | Equation)]
    for literal in sorted(body, key=_turn):
        if isinstance(literal, Atom):
            found = _joined(found, literal.args, relations.rows(literal.predicate))
        elif isinstance(literal, Pattern):
            projected, binds = written_out(literal)
            found = _joined(found, projected.args, projected.rows(relations))
            computed += binds
        elif isinstance(literal, Aggregate):
            names = (*literal.group, *(r.variable for r in literal.reductions))
            found = _joined(found, names, aggregate(literal, relations))
    found = [new for old in found if (new := _bound(computed, old)) is not None]
    tests = [literal for literal in body if isinstance(literal, Filter | Negation)]
    return [one for one in found if all(_passes(test, relations, one) for test in tests)]


def _joined(
    found: list[Instance], args: Sequence[Argument], rows: Iterable[tuple[Term, ...]]
) -> list[Instance]:
    """Return the instances extended by each row that fits; rows are looked up by what is bound."""
    if not found:
        return []
    bound = [i for i, a in enumerate(args) if isinstance(a, Term) or a in found[0]]
    known = [args[i] for i in bound]
    table: dict[tuple[Term, ...], list[tuple[Term, ...]]] = defaultdict(list)
    for row in rows:
        table[tuple(row[i] for i in bound)].append(row)
    joined = [unify(args, row, old) for old in found for row in table.get(fill(known, old), ())]
    if len(joined) > LIMIT:
        raise TooLargeError
    return [instance for instance in joined if instance is not None]


def _turn(literal: Literal) -> int:
    """Constants first: enough order for small data, and no match depends on it."""
    is_read = isinstance(literal, Atom | Pattern)
    return -sum(isinstance(a, Term) for a in literal.args) if is_read else 1


def _bound(computed: Iterable[Bind | Equation], instance: Instance) -> Instance | None:
    """Return the instance with the variables of BIND and `=`, whichever depends on which.

    None where an expression is an error, or a variable gets two values. `?y = e` gives ?y a value
    if nothing else does: no atom, no BIND, no other `=` that comes before it and can be evaluated.
    """
    waiting = sorted(computed, key=lambda literal: isinstance(literal, Equation))
    extended: Instance | None = dict(instance)
    while waiting and extended is not None:
        ready = next((x for x in waiting if _assigned(x, waiting, extended) is not None), None)
        if ready is None:
            raise ValueError(f"an unsafe body, nothing gives a value to what these read: {waiting}")
        waiting.remove(ready)
        variable, expression = _assigned(ready, waiting, extended) or (None, None)
        try:
            term = evaluate(expression, extended)
        except ExpressionError:
            return None
        if variable is None:
            extended = extended if truth(term) else None
        else:
            extended = unify((variable,), (term,), extended)
    return extended


def _assigned(
    literal: Bind | Equation, waiting: Iterable[Bind | Equation], instance: Instance
) -> tuple[Variable | None, Expression] | None:
    """Return which variable a literal gives a value now, none if it is a test; None: not yet."""
    if isinstance(literal, Bind):
        ready = variables(literal.expression) <= instance.keys()
        return (literal.variable, literal.expression) if ready else None
    taken = instance.keys() | {each.variable for each in waiting if isinstance(each, Bind)}
    left, right = literal.left, literal.right
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Variable) and side not in taken and variables(other) <= instance.keys():
            return side, other
    if variables(left) | variables(right) <= instance.keys():
        return None, Call("=", (left, right))
    return None


def _passes(test: Filter | Negation, relations: Relations, instance: Instance) -> bool:
    if isinstance(test, Filter):
        return holds(test.expression, instance)
    outer = {v: t for v, t in instance.items() if v not in test.local}
    return not matches(test.body, relations, outer)


def variables(expression: object) -> set[Variable]:
    if isinstance(expression, Variable):
        return {expression}
    if isinstance(expression, Call):
        return {v for argument in expression.args for v in variables(argument)}
    return set()


def aggregate(literal: Aggregate, relations: Relations) -> list[tuple[Term, ...]]:
    """Return group and results for each non-empty group whose reductions have a value."""
    groups: dict[tuple[Term, ...], list[Instance]] = defaultdict(list)
    for instance in matches(literal.body, relations, {}):
        groups[fill(literal.group, instance)].append(instance)
    table = []
    for group, instances in groups.items():
        try:
            results = tuple(reduce(reduction, instances) for reduction in literal.reductions)
        except ExpressionError:
            continue
        table.append(group + results)
    return table


# ---- Expressions -------------------------------------------------------------------------------

NUMBERS = (INTEGER, DECIMAL, DOUBLE)  # in the order of SPARQL's type promotion
ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
TRUE, FALSE = Term(BOOLEAN, "true"), Term(BOOLEAN, "false")


class ExpressionError(Exception):
    """The expression has no value here; the match fails."""


def number(term: Term) -> Fraction:
    if term.kind not in NUMBERS:
        raise ExpressionError(term)
    return Fraction(term.text)


def numeral(kind: str, value: Fraction) -> Term:
    """Return the constant in canonical spelling; doubles are rounded once, from the exact value."""
    if kind == INTEGER:
        return Term(kind, str(int(value)))
    if kind == DOUBLE:
        mantissa, _, exponent = f"{Decimal(repr(float(value))).normalize():E}".partition("E")
        return Term(kind, f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}")
    ends = 10**200 % value.denominator == 0  # otherwise 28 significant digits are kept
    with localcontext(prec=200 if ends else 28):
        text = f"{(Decimal(value.numerator) / Decimal(value.denominator)).normalize():f}"
    return Term(kind, text if "." in text else text + ".0")


def evaluate(expression: Expression, instance: Instance) -> Term:
    """Return the value of an expression, or raise ExpressionError."""
    if isinstance(expression, Variable):
        return instance[expression]
    if isinstance(expression, Term):
        return expression
    if expression.name in ("&&", "||"):
        return _connective(expression, instance)
    args = [evaluate(argument, instance) for argument in expression.args]
    return _apply(expression.name, args)


def _apply(name: str, args: list[Term]) -> Term:
    if name in ARITHMETIC:
        return _calculate(name, args)
    if name in ORDER:
        return TRUE if _compare(name, *args) else FALSE
    if name == "$KEY":
        return _key(args[0])
    if name == "NEG":
        return numeral(args[0].kind, -number(args[0]))
    if name == "!":
        return FALSE if truth(args[0]) else TRUE
    if name == "ISIRI":
        return TRUE if args[0].kind == IRI_KIND else FALSE
    assert name in ("CONCAT", "STRLEN"), f"the judge does not know {name}"
    if any(argument.kind != STRING for argument in args):
        raise ExpressionError(name)
    text = "".join(argument.text for argument in args)
    return Term(STRING, text) if name == "CONCAT" else Term(INTEGER, str(len(text)))


def _key(term: Term) -> Term:
    """Return what is the same for equal terms: an integer, otherwise a double, if that is exact."""
    if term.kind not in NUMBERS:
        return term
    value = number(term)
    if value.denominator == 1:
        return numeral(INTEGER, value)
    return numeral(DOUBLE if Fraction(float(value)) == value else DECIMAL, value)


def _calculate(name: str, args: list[Term]) -> Term:
    values = [number(argument) for argument in args]
    kind = max((argument.kind for argument in args), key=NUMBERS.index)
    if kind == DOUBLE:
        values = [Fraction(float(value)) for value in values]
    return numeral(kind, ARITHMETIC[name](*values))


def _compare(name: str, left: Term, right: Term) -> bool:
    if left.kind in NUMBERS and right.kind in NUMBERS:
        return ORDER[name](number(left), number(right))
    if left.kind == right.kind == STRING:
        return ORDER[name](left.text, right.text)
    if left.kind == right.kind == BOOLEAN:
        return ORDER[name](left == TRUE, right == TRUE)
    if name in ("=", "!="):
        return ORDER[name](left, right)
    raise ExpressionError(name)


def truth(term: Term) -> bool:
    """Return the effective boolean value."""
    if term.kind == STRING:
        return term.text != ""
    return term == TRUE if term.kind == BOOLEAN else number(term) != 0


def _connective(call: Call, instance: Instance) -> Term:
    """`&&` and `||` have a value if one side decides, even where the other is an error."""
    decisive = call.name == "||"
    outcomes: list[bool | None] = []
    for argument in call.args:
        try:
            outcomes.append(truth(evaluate(argument, instance)))
        except ExpressionError:
            outcomes.append(None)
    if decisive not in outcomes and None in outcomes:
        raise ExpressionError(call.name)
    return TRUE if (decisive in outcomes) == decisive else FALSE


def holds(expression: Expression, instance: Instance) -> bool:
    """Say whether a FILTER lets the instance through; an error does not."""
    try:
        return truth(evaluate(expression, instance))
    except ExpressionError:
        return False


def reduce(reduction: Reduction, instances: Sequence[Instance]) -> Term:
    """Return the reduction of a group's instances; an error in one is an error of the group."""
    if reduction.expression is None:
        return Term(INTEGER, str(len(instances)))
    terms = [evaluate(reduction.expression, instance) for instance in instances]
    if reduction.distinct:
        terms = list(set(terms))
    if reduction.function == "COUNT":
        return Term(INTEGER, str(len(terms)))
    if reduction.function in ("MIN", "MAX"):
        return (min if reduction.function == "MIN" else max)(terms, key=_rank)
    total = sum(map(number, terms), Fraction(0))
    kind = max((term.kind for term in terms), key=NUMBERS.index)
    if reduction.function == "SUM":
        return numeral(kind, total)
    return numeral(DOUBLE if kind == DOUBLE else DECIMAL, total / len(terms))


def _rank(term: Term) -> tuple[Any, ...]:
    """Return the place of a term in the total order of MIN and MAX: IRIs, numbers, strings."""
    if term.kind in NUMBERS:
        return 1, number(term), term
    return {IRI_KIND: 0, STRING: 2}[term.kind], term.text


# ---- Strata ------------------------------------------------------------------------------------


def reads(literal: Literal, *, strictly: bool = False) -> Iterator[tuple[Predicate, bool]]:
    """Yield the predicates a literal reads, and whether they must be complete before that."""
    if isinstance(literal, Atom | Pattern):
        yield literal.predicate, strictly
    elif isinstance(literal, Choice):
        for body in literal.alternatives:
            for inner in body:
                yield from reads(inner, strictly=strictly)
    elif isinstance(literal, Negation | Aggregate):
        for inner in literal.body:
            yield from reads(inner, strictly=True)


@dataclass(frozen=True)
class Step:
    """A rule as the judge uses it: one head and a body, nothing else."""

    head: Atom
    body: tuple[Literal, ...]


def levels(steps: Sequence[Step]) -> dict[Predicate, int]:
    """Return each predicate's level: at least that of what it reads, above what it negates."""
    level: dict[Predicate, int] = defaultdict(int)
    writes_triples = any(step.head.predicate in (TRIPLE, TYPE) for step in steps)
    changed = True
    while changed:
        changed = False
        for step in steps:
            for read, strictly in (pair for literal in step.body for pair in reads(literal)):
                name = _node(step.head.predicate, writes_triples)
                needed = _level(read, level, writes_triples) + strictly
                if level[name] < needed:
                    level[name], changed = needed, True
                if needed > 2 * len(steps) + 2:
                    raise AssertionError(f"not stratified: {read}")
    return defaultdict(int, {p: level[_node(p, writes_triples)] for p in _heads(steps)})


def _heads(steps: Sequence[Step]) -> set[Predicate]:
    return {step.head.predicate for step in steps}


def _node(predicate: Predicate, writes_triples: bool) -> Predicate:
    """Once a rule can write any triple, all that are triples go together."""
    together = writes_triples and (predicate == TRIPLE or is_rdf(predicate))
    return TRIPLE if together else predicate


def _level(read: Predicate, level: dict[Predicate, int], writes_triples: bool) -> int:
    if read in (TRIPLE, TYPE) and not writes_triples:
        return max((n for p, n in level.items() if is_rdf(p)), default=0)
    return level[_node(read, writes_triples)]


# ---- The fixpoint ------------------------------------------------------------------------------


def steps_of(program: Program) -> list[Step]:
    """Return a step per head: those of one rule may be of different levels.

    A rule that is not safe says nothing about some variable: that is a ValueError.
    """
    found = []
    for rule in program.rules:
        check_safe(rule)
        written = [plain_head(head) for head in rule.heads]
        made = [bind for _, binds in written for bind in binds]
        found += [Step(head, (*rule.body, *made)) for head, _ in written]
    return found


def plain_head(head: Head) -> tuple[Atom, list[Bind]]:
    """Return a head over variables, and the BINDs that give them their values.

    They belong to the whole rule: where one is an error, none of its heads is derived.
    """
    if isinstance(head, Pattern):
        projected, binds = written_out(head)
        return Atom(head.predicate, projected.args), binds
    assert isinstance(head, Atom)
    return head, []


def explicit_facts(program: Program) -> set[Fact]:
    """Return the facts that stand in the program."""
    given = ((a.predicate, tuple(t for t in a.args if isinstance(t, Term))) for a in program.facts)
    return RdfRelations(given).facts()


def materialise(program: Program, explicit: AbstractSet[Fact] = frozenset()) -> set[Fact]:
    """Return the explicit facts, those of the program and all that follows from them."""
    steps = steps_of(program)
    level = levels(steps)
    relations = RdfRelations(explicit | explicit_facts(program))
    for number in sorted({level[p] for p in _heads(steps)}):
        close([s for s in steps if level[s.head.predicate] == number], relations)
    return relations.facts()


def close(steps: Sequence[Step], relations: Relations) -> None:
    """Add what the steps derive until nothing is new."""
    new = True
    while new:
        new = False
        for step in steps:
            for instance in matches(step.body, relations, {}):
                new |= relations.keep(step.head.predicate, fill(step.head.args, instance))


# ---- Counts ------------------------------------------------------------------------------------


def body_of(rule: PlannedRule) -> tuple[Literal, ...]:
    """Return the body of a planned rule as literals; an aggregate rule's body is the AGGREGATE."""
    negated = tuple(Negation((atom,)) for atom in rule.negated)
    body: tuple[Literal, ...] = (*rule.body, *negated, *rule.builtins)
    if rule.grouping is None:
        return body
    return (Aggregate(body, rule.grouping.group, rule.grouping.reductions),)


def planned_facts(plan: Plan, explicit: AbstractSet[Fact]) -> set[Fact]:
    """Return the materialisation of a planned program, hidden predicates included."""
    relations = Relations(as_planned(plan, explicit))
    for stratum in plan.strata:
        rules = (*stratum.nonrecursive, *stratum.recursive)
        close([Step(rule.head, body_of(rule)) for rule in rules], relations)
    return relations.facts()


def as_planned(plan: Plan, facts: AbstractSet[Fact]) -> set[Fact]:
    """Return the facts under the predicates that hold them in the plan."""
    if not plan.stored_as_triples:
        return set(facts)
    relations = RdfRelations(facts)
    rest = {fact for fact in facts if not is_rdf(fact[0])}
    return rest | {(TRIPLE, row) for row in relations.rows(TRIPLE)}


def visible(plan: Plan, facts: AbstractSet[Fact]) -> set[Fact]:
    """Return the facts as a user sees them."""
    if plan.stored_as_triples:
        facts = RdfRelations(facts).facts()
    return {fact for fact in facts if not fact[0].name.startswith("$")}


def instances(rules: Iterable[PlannedRule], facts: AbstractSet[Fact]) -> Iterator[Fact]:
    """Yield the head of every instance of the rules that holds in the facts, once per instance."""
    relations = Relations(facts)
    for rule in rules:
        for instance in matches(body_of(rule), relations, {}):
            yield rule.head.predicate, fill(rule.head.args, instance)


def counts(plan: Plan, explicit: AbstractSet[Fact]) -> dict[Fact, tuple[int, int]]:
    """Return C_nr and C_r of every fact of the planned program's materialisation.

    C_nr: one if the fact is explicit, and one for each instance of a nonrecursive rule. C_r: one
    for each instance of a recursive rule that belongs to no module. An instance fills in all
    variables of its rule.
    """
    facts = planned_facts(plan, explicit)
    nonrecursive: dict[Fact, int] = defaultdict(int)
    recursive: dict[Fact, int] = defaultdict(int)
    for fact in as_planned(plan, explicit):
        nonrecursive[fact] += 1
    for stratum in plan.strata:
        for fact in instances(stratum.nonrecursive, facts):
            nonrecursive[fact] += 1
        special = rules_of_modules(stratum) if plan.has_modules else []
        for fact in instances([r for r in stratum.recursive if r not in special], facts):
            recursive[fact] += 1
    return {fact: (nonrecursive[fact], recursive[fact]) for fact in facts}


def rules_of_modules(stratum: Stratum) -> Sequence[PlannedRule]:
    """Return the rules that say that a relation is transitive, or that such a one is symmetric.

    Where all of them together are a closure, none is counted: that is for the plan to say.
    """
    rules = stratum.recursive
    if stratum.closing is not None:
        return rules
    transitive = [rule for rule in rules if says(rule, "01:02,21")]
    relations = {rule.head.predicate for rule in transitive}
    symmetric = [r for r in rules if r.head.predicate in relations and says(r, "01:10")]
    return transitive + symmetric


def says(rule: PlannedRule, form: str) -> bool:
    """Say whether a rule is of a form: head and atoms of one relation, variables by number."""
    numbers: dict[Argument, int] = {}
    for argument in (a for atom in (rule.head, *rule.body) for a in atom.args):
        numbers.setdefault(argument, len(numbers))
    if any(not isinstance(argument, Variable) for argument in numbers):
        return False
    if rule.negated or rule.builtins or rule.grouping is not None:
        return False
    relations = {atom.predicate for atom in (rule.head, *rule.body)}
    head, *body = ("".join(str(numbers[a]) for a in atom.args) for atom in (rule.head, *rule.body))
    return len(relations) == 1 and f"{head}:{','.join(sorted(body))}" == form
