"""Versions that the driver has a part in: rules with built-ins or an aggregate.

Spark joins the body and checks the negated atoms that it can; what is left needs the dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stratalog.engine.spark.rules.shapes import Wanted
from stratalog.lang.syntax import Argument, Atom, Bind, Predicate, Variable
from stratalog.plan.delta import Version
from stratalog.plan.lower import expression_variables, variables_of
from stratalog.plan.rules import PlannedRule

BINDINGS = "$bindings"


class Unit(NamedTuple):
    """A version whose bindings come to the driver."""

    version: Version
    outputs: tuple[Variable, ...]  # what is needed of a binding
    early: tuple[int, ...]  # negated atoms that are checked before
    late: tuple[int, ...]  # those that wait for a BIND

    @property
    def rule(self) -> PlannedRule:
        return self.version.rule

    @property
    def inputs(self) -> tuple[Variable, ...]:
        """The outputs that built-ins read, or compare with."""
        read = set(_of_builtins(self.rule))
        return tuple(v for v in self.outputs if v in read)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The outputs, and then the variables that BINDs add."""
        binds = (b.variable for b in self.rule.builtins if isinstance(b, Bind))
        return tuple(dict.fromkeys((*self.outputs, *binds)))

    def wanted(self, tag: int) -> Wanted:
        """Return that the bindings are wanted, as facts with a tag."""
        head = Atom(Predicate(BINDINGS, len(self.outputs)), self.outputs)
        return Wanted(self.version, head, self.early, tag)


def needs_driver(rule: PlannedRule) -> bool:
    """Return whether a rule has what Spark cannot compute."""
    return bool(rule.builtins) or rule.grouping is not None


def unit_of(version: Version, results: Iterable[Argument]) -> Unit:
    """Return the part of a version that Spark does, if `results` are wanted in the end."""
    rule = version.rule
    bound = {v for atom in rule.body for v in variables_of(atom)}
    if version.negative and version.start is not None:
        bound.update(variables_of(rule.negated[version.start]))
    early = [j for j, atom in enumerate(rule.negated) if bound >= set(variables_of(atom))]
    late = [j for j in range(len(rule.negated)) if j not in early]
    needed = [*_of_builtins(rule), *(arg for arg in results if isinstance(arg, Variable))]
    needed += [v for j in late for v in variables_of(rule.negated[j])]
    outputs = tuple(v for v in dict.fromkeys(needed) if v in bound)
    return Unit(version, outputs, tuple(early), tuple(late))


def results_of(rule: PlannedRule) -> tuple[Argument, ...]:
    """Return what the heads of a rule are made from."""
    if rule.grouping is None:
        return rule.head.args
    expressions = (r.expression for r in rule.grouping.reductions if r.expression is not None)
    read = (v for expression in expressions for v in expression_variables(expression))
    return tuple(dict.fromkeys((*rule.grouping.group, *read)))


def _of_builtins(rule: PlannedRule) -> Iterator[Variable]:
    for builtin in rule.builtins:
        yield from expression_variables(builtin.expression)
        if isinstance(builtin, Bind):
            yield builtin.variable
