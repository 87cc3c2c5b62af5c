"""Which versions of rules the facts of a delta can begin, by the constants of their first atom."""

from __future__ import annotations

from collections.abc import Callable

from stratalog.engine.columnar.relation import Relation
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Predicate, Variable
from stratalog.lang.terms import Term
from stratalog.plan.delta import Version

MAX_DELTA_ROWS = sized(1024, 3)  # facts of a delta: more are not looked through


class Starts:
    """The constants in the deltas of one `apply`, found when first asked for."""

    def __init__(self, constant: Callable[[Term], int]) -> None:
        self._constant = constant
        self._found: dict[tuple[Relation, bool, int], set[int] | None] = {}

    def may_meet(self, version: Version, relation_of: Callable[[Predicate], Relation]) -> bool:
        """Return False if no fact of the delta has the constants that a version begins with."""
        if version.start is None:
            return True
        atoms = version.rule.negated if version.negative else version.rule.body
        atom = atoms[version.start]
        relation = relation_of(atom.predicate)
        for column, argument in enumerate(atom.args):
            if not isinstance(argument, Variable):
                there = self._constants(relation, column, negated=version.negative)
                if there is not None and self._constant(argument) not in there:
                    return False
        return True

    def _constants(self, relation: Relation, column: int, *, negated: bool) -> set[int] | None:
        """Return the constants in a column of a delta; None if it is not looked through."""
        key = relation, negated, column
        if key not in self._found:
            rows = relation.delta(negated=negated)
            is_read = rows.size == relation.delta_size(negated=negated) <= MAX_DELTA_ROWS
            self._found[key] = set(relation.columns[column][rows].tolist()) if is_read else None
        return self._found[key]
