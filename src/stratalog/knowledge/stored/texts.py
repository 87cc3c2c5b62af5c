"""The texts that a store keeps of a program and of its plan."""

from __future__ import annotations

from stratalog.lang.printer import show
from stratalog.lang.syntax import Aggregate, Program
from stratalog.plan.rules import Plan, PlannedRule

OF_MODULE = "  [module]"  # after a rule whose derivations are not counted


class StoredTexts:
    """Prints a program and its plan once for all versions that have them."""

    def __init__(self) -> None:
        self._program: tuple[Program, str] | None = None
        self._plan: tuple[Plan, list[str]] | None = None

    def of_program(self, program: Program) -> str:
        """Return the program as text."""
        if self._program is None or self._program[0] is not program:
            self._program = program, show(program)
        return self._program[1]

    def of_plan(self, plan: Plan) -> list[str]:
        """Return the planned rules as texts."""
        if self._plan is None or self._plan[0] is not plan:
            self._plan = plan, plan_key(plan)
        return list(self._plan[1])


def plan_key(plan: Plan) -> list[str]:
    """Return the planned rules as text: counts are valid only for the plan that made them."""
    special = {rule.index for stratum in plan.strata for rule in stratum.special}
    return [_rule_key(rule) + (OF_MODULE if rule.index in special else "") for rule in plan.rules]


def _rule_key(rule: PlannedRule) -> str:
    parts = [show(atom) for atom in rule.body]
    parts += [f"NOT {show(atom)}" for atom in rule.negated]
    parts += [show(builtin) for builtin in rule.builtins]
    grouped = ""
    if rule.grouping is not None:
        grouped = show(Aggregate((), rule.grouping.group, rule.grouping.reductions))
    return f"{show(rule.head)} :- {', '.join(parts)} {grouped}".strip()
