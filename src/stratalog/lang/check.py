"""Checks what a program means before it is planned: errors S2xx and warnings W3xx."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator

from stratalog.errors import ProgramError, StratalogWarning
from stratalog.lang.atoms import body_atoms, head_atoms, plain_program
from stratalog.lang.builtins.functions import FUNCTIONS
from stratalog.lang.check_patterns import PATTERNS, pattern_mistake
from stratalog.lang.diagnostics import caution, mistake
from stratalog.lang.expressions import OPERATORS
from stratalog.lang.function_atoms import call_for, one_of_two
from stratalog.lang.names import show_name
from stratalog.lang.printer import show
from stratalog.lang.scope import Report, check_variables, variables, visible
from stratalog.lang.spellings import plain_rules
from stratalog.lang.syntax import (
    TRIPLE,
    Aggregate,
    Anonymous,
    Atom,
    Bind,
    Call,
    Declaration,
    Equality,
    Expression,
    Filter,
    Literal,
    Negation,
    Place,
    Predicate,
    Program,
    Reduction,
    Rule,
    Variable,
)

COLUMN_TYPES = frozenset(
    ("integer", "decimal", "double", "string", "boolean", "date", "dateTime", "iri", "term")
)
AGGREGATES = ("COUNT", "SUM", "MIN", "MAX", "AVG")

Prefixes = tuple[tuple[str, str], ...]


MOST_SUGGESTIONS = 3


def check(program: Program) -> list[StratalogWarning]:
    """Return the program's warnings; raise its first error in the order of the text."""
    findings = _Findings(program)
    for rule in program.rules:
        _check_rule(rule, findings)
    _check_declarations(program.declarations, findings)
    _check_arities(program, findings)
    findings.raise_first()
    return doubtful_rules(program.rules)


def doubtful_rules(rules: Iterable[Rule]) -> list[StratalogWarning]:
    """Return the warnings about each rule by itself."""
    plain = (each for rule in rules for each in plain_rules(rule))
    return [warning for rule in plain for warning in _unused_locals(rule, rule.body)]


def undefined_predicates(
    program: Program, known: Collection[Predicate] = ()
) -> list[StratalogWarning]:
    """Return a warning for each body predicate that no rule, no fact and nothing `known` gives."""
    rules = plain_program(program)
    heads = {head.predicate for rule in rules for head in head_atoms(rule)}
    defined = heads | {fact.predicate for fact in program.facts} | set(known)
    seen = {TRIPLE} | defined
    warnings: list[StratalogWarning] = []
    for rule in rules:
        for atom in body_atoms(rule.body):
            if atom.predicate in seen or (TRIPLE in defined and _is_triple(atom.predicate)):
                continue
            seen.add(atom.predicate)
            # Looking for similar names is a pass over all names: only where few are missing.
            similar_to = defined if len(warnings) < MOST_SUGGESTIONS else ()
            warnings.append(_undefined(rule, atom, similar_to, program.prefixes))
    return warnings


class _Findings:
    """The errors found so far, with the places by which they are ordered."""

    def __init__(self, program: Program) -> None:
        self.prefixes = program.prefixes
        self._found: list[tuple[Place | None, ProgramError]] = []
        nodes: Iterable[Rule | Atom | Declaration] = (
            *program.rules,
            *program.facts,
            *program.declarations,
        )
        paths = dict.fromkeys(node.place.path for node in nodes if node.place is not None)
        self._order = {path: position for position, path in enumerate(paths)}

    def add(self, place: Place | None, error: ProgramError) -> None:
        self._found.append((place, error))

    def raise_first(self) -> None:
        if self._found:
            raise min(self._found, key=lambda finding: self.key(finding[0]))[1]

    def key(self, place: Place | None) -> tuple[int, int, int]:
        if place is None:
            return len(self._order), 0, 0
        return self._order.get(place.path, 0), place.line, place.column


def _check_rule(rule: Rule, findings: _Findings) -> None:
    def report(code: str, message: str, place: Place | None, word: str, advice: str) -> None:
        findings.add(place or rule.place, _in_rule(rule, code, message, place, word, advice))

    written = [head for head in rule.heads if not isinstance(head, Equality)]
    for head in written:
        if Anonymous.ANY in head.args:
            what = "the head of a rule" if rule.body else "a fact"
            advice = "write a constant, or a variable that the body binds"
            report("S214", f"_ has no value in {what}", head.place, "_", advice)
            return
    open_facts = [head for head in written if visible(head)] if not rule.body else []
    for fact in open_facts[:1]:
        word = f"?{next(v.name for arg in fact.args for v in _named(arg))}"
        advice = f"write a constant for {word}; atoms of one body are separated by commas, not dots"
        report("S210", "a fact has no variables", fact.place, word, advice)
        return
    for equality in rule.heads:
        if isinstance(equality, Equality):
            advice = (
                'equality is not supported yet; write owl:sameAs(?x, ?y) and equality="off" '
                "to treat it as an ordinary predicate"
            )
            report("S208", "= in the head of a rule", equality.place, "=", advice)
    for plain in plain_rules(rule):
        check_variables(plain, report)
        for call, place in _calls(plain.body):
            _check_call(call, place, report)


def _named(arg: Expression | Anonymous) -> Iterator[Variable]:
    return iter(()) if isinstance(arg, Anonymous) else variables(arg)


def _in_rule(
    rule: Rule, code: str, message: str, place: Place | None, word: str, advice: str
) -> ProgramError:
    return mistake(code, message, *_spot(rule, place, word), advice)


def _spot(rule: Rule, place: Place | None, word: str) -> tuple[Place | None, str]:
    """Return where `word` stands in the rule's text, from `place` on, and the text."""
    text = rule.text or show(rule)
    place = place or rule.place
    if place is None or rule.place is None:
        return None, text
    start = max(0, place.column - rule.place.column) if place.line == rule.place.line else 0
    wanted = re.compile(re.escape(word) + r"(?!\w)", re.IGNORECASE)
    found = wanted.search(text, start) or wanted.search(text)
    offset = found.end() - len(word.rpartition(" ")[2]) if found and word else start
    source = " " * (rule.place.column - 1) + text
    return Place(place.path, place.line, rule.place.column + offset), source


# Functions


def _calls(body: Iterable[Literal]) -> Iterator[tuple[Call | Reduction, Place | None]]:
    for literal in body:
        if isinstance(literal, Filter | Bind):
            yield from _calls_in(literal.expression)
        elif isinstance(literal, Negation | Aggregate):
            yield from _calls(literal.body)
        if isinstance(literal, Aggregate):
            for reduction in literal.reductions:
                yield reduction, literal.place
                yield from _calls_in(reduction.expression)


def _calls_in(expression: Expression | None) -> Iterator[tuple[Call, Place | None]]:
    if isinstance(expression, Call):
        yield expression, expression.place
        for arg in expression.args:
            yield from _calls_in(arg)


def _check_call(call: Call | Reduction, place: Place | None, report: Report) -> None:
    if isinstance(call, Reduction):
        _check_reduction(call, place, report)
        return
    if call.name in OPERATORS:
        return
    shown = show_name(call.name)
    if call.name not in FUNCTIONS:
        message = f"there is no function {shown}"
        report("S206", message, place, _as_written(call.name), _function_help(shown, call))
        return
    least, most = FUNCTIONS[call.name]
    if len(call.args) < least or (most is not None and len(call.args) > most):
        wanted = _count(least, most)
        message = f"{shown} takes {wanted}, not {len(call.args)}"
        report("S207", message, place, _as_written(call.name), f"give {shown} {wanted}")
        return
    if call.name in PATTERNS:
        found = pattern_mistake(call)
        if found is not None:
            report(found.code, found.message, place, found.word, found.advice)


def _as_written(name: str) -> str:
    """Return a word at which the search for the caret may start: an IRI's spelling is not known."""
    return "" if name.startswith("<") else name


def _count(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} or more arguments"
    if least == most:
        return f"{least} argument{'' if least == 1 else 's'}"
    return f"{least} to {most} arguments"


def _function_help(name: str, call: Call) -> str:
    if choice := one_of_two(call):
        return f"write {choice}; {name} of many belongs into AGGREGATE(...)"
    if name in AGGREGATES:
        return f"{name} belongs into AGGREGATE(... BIND {name}(...) AS ?n)"
    if name == "NOT":
        return "write ! before the condition"
    functions = {show_name(function): function for function in FUNCTIONS}
    close = difflib.get_close_matches(name, functions, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return "functions are those of SPARQL 1.1, such as STRLEN, REGEX, ABS, YEAR, xsd:integer"


def _check_reduction(reduction: Reduction, place: Place | None, report: Report) -> None:
    name = reduction.function
    if name not in AGGREGATES:
        close = difflib.get_close_matches(name, AGGREGATES, n=1)
        advice = f"did you mean {close[0]}?" if close else f"use one of {', '.join(AGGREGATES)}"
        report("S206", f"there is no aggregate {name}", place, name, advice)
    elif reduction.expression is None and name != "COUNT":
        report("S207", f"{name} takes an expression, not *", place, name, f"write {name}(?x)")


# Predicates and declarations


def _check_arities(program: Program, findings: _Findings) -> None:
    """Find bare names that are used with two arities; both places are named."""
    first: dict[str, tuple[int, Place | None]] = {}
    for predicate, place, node in sorted(_uses(program), key=lambda use: findings.key(use[1])):
        name, arity = predicate
        if name.startswith(("<", "$")):
            continue
        known, known_place = first.setdefault(name, (arity, place))
        if known != arity:
            message = f"{name} has {_count(arity, arity)} here and {known} {_at(known_place)}"
            advice = "a bare name has one arity: correct one of them, or choose another name"
            if isinstance(node, Rule):
                source: tuple[Place | None, str] = _spot(node, place, name)
            else:
                source = place, _shown_at(node, place)
            findings.add(place, mistake("S202", message, *source, advice))


def _uses(
    program: Program,
) -> Iterator[tuple[Predicate, Place | None, Rule | Atom | Declaration]]:
    for declaration in program.declarations:
        yield declaration.predicate, declaration.place, declaration
    for fact in program.facts:
        yield fact.predicate, fact.place, fact
    for rule in plain_program(program):
        for atom in (*head_atoms(rule), *body_atoms(rule.body)):
            yield atom.predicate, atom.place, rule


def _at(place: Place | None) -> str:
    if place is None:
        return "elsewhere"
    where = f"line {place.line}, column {place.column}"
    return f"in {place.path}, {where}" if place.path else f"in {where}"


def _check_declarations(declarations: Iterable[Declaration], findings: _Findings) -> None:
    first: dict[Predicate, Place | None] = {}
    for declaration in declarations:
        place = declaration.place
        for message, advice in _declaration_mistakes(declaration):
            findings.add(place, _in_declaration(declaration, message, advice))
        if declaration.predicate in first:
            name = show_name(declaration.predicate.name, findings.prefixes)
            message = f"{name} is declared already {_at(first[declaration.predicate])}"
            findings.add(place, _in_declaration(declaration, message, "remove one of the two"))
        first.setdefault(declaration.predicate, place)


def _in_declaration(declaration: Declaration, message: str, advice: str) -> ProgramError:
    place = declaration.place
    return mistake("S209", message, place, _shown_at(declaration, place), advice)


def _shown_at(node: Atom | Declaration, place: Place | None) -> str:
    """Return the node's text, moved so that the name of its predicate stands at `place`."""
    text = show(node)
    if place is None:
        return text
    lead = place.column - 1 - (len("@declare ") if isinstance(node, Declaration) else 0)
    return " " * lead + text if lead >= 0 else text[-lead:]


def _declaration_mistakes(declaration: Declaration) -> Iterator[tuple[str, str]]:
    names: set[str] = set()
    for column in declaration.columns:
        if column.type not in COLUMN_TYPES:
            close = difflib.get_close_matches(column.type, sorted(COLUMN_TYPES), n=1)
            hint = f"did you mean {close[0]}? " if close else ""
            types = "integer decimal double string boolean date dateTime iri term"
            yield f"{column.type} is not a column type", f"{hint}the types are {types}"
        if column.name in names:
            yield f"two columns are named {column.name}", "give each column a name of its own"
        names.add(column.name)


# Warnings


def _unused_locals(rule: Rule, body: Iterable[Literal]) -> Iterator[StratalogWarning]:
    for literal in body:
        if not isinstance(literal, Negation):
            continue
        inside = frozenset().union(*map(visible, literal.body))
        for variable in literal.local:
            if variable not in inside:
                yield caution(
                    "W303",
                    f"?{variable.name} stands after EXISTS, but not in what follows",
                    literal.place,
                    rule.text or None,
                    f"use ?{variable.name} inside the parentheses, or remove it",
                )
        yield from _unused_locals(rule, literal.body)


def _is_triple(predicate: Predicate) -> bool:
    return predicate.name.startswith("<") and predicate.arity in {1, 2}


def _undefined(
    rule: Rule, atom: Atom, defined: Collection[Predicate], prefixes: Prefixes
) -> StratalogWarning:
    name = show_name(atom.predicate.name, prefixes)
    arities = sorted(other.arity for other in defined if other.name == atom.predicate.name)
    close = difflib.get_close_matches(
        name, {show_name(other.name, prefixes) for other in defined}, 1
    )
    if arities:
        advice = f"there is {name} with {_count(arities[0], arities[0])}"
    elif call := call_for(atom):
        advice = call
    elif close:
        advice = f"did you mean {close[0]}?"
    else:
        advice = f"give facts for {name}, or correct its name; until then the atom matches nothing"
    arity = atom.predicate.arity
    message = f"{name} with {_count(arity, arity)} has no facts and no rules"
    return caution("W301", message, *_spot(rule, atom.place, name), advice)
