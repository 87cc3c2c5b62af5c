"""A plan as data: strata with their rules, and the join order of each version of a rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stratalog.facts.scheme_spec import ClosureSpec
from stratalog.knowledge.display.progress import Reporter
from stratalog.knowledge.doubts import never_joining
from stratalog.knowledge.engines import modules_for
from stratalog.knowledge.load import read_facts, triple_columns
from stratalog.knowledge.options import check_options
from stratalog.knowledge.programs import load_program
from stratalog.lang.check import check
from stratalog.lang.names import show_name
from stratalog.lang.printer import show
from stratalog.lang.syntax import TRIPLE, Aggregate, Predicate, Program
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import EncodedFacts
from stratalog.plan.delta import Version, versions
from stratalog.plan.order import join_order
from stratalog.plan.program import plan_program
from stratalog.plan.rules import ModuleKind, Plan, PlannedRule, Stratum
from stratalog.plan.steps import Compute, Step
from stratalog.plan.triples import is_triple_shaped
from stratalog.runtime.telling import Warned

ASSUMED_ROWS = 1_000.0
ASSUMED_REPEATS = 10.0
"""Facts per constant in a column of which nothing is known."""


@dataclass(slots=True)
class Sizes:
    """Sizes of the given relations; unknown ones are taken to be as large as the largest."""

    rows_of: dict[Predicate, int] = field(default_factory=dict)
    distinct_of: dict[tuple[Predicate, int], int] = field(default_factory=dict)

    def rows(self, predicate: Predicate) -> float:
        """Return the number of facts, or the largest that is known."""
        return float(
            self.rows_of.get(predicate) or max(self.rows_of.values(), default=ASSUMED_ROWS)
        )

    def distinct(self, predicate: Predicate, column: int) -> float:
        """Return the number of different constants in a column, or a part of the facts."""
        assumed = max(1.0, self.rows(predicate) / ASSUMED_REPEATS)
        return float(self.distinct_of.get((predicate, column), assumed))


def describe(program: object, facts: object = None, **options: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the plan of a program, with join orders for the sizes that the facts have."""
    chosen = check_options(**options)
    loaded = load_program(program)
    warned = Warned()
    warned.tell(check(loaded))
    dictionary = Dictionary()
    encoded = read_facts(loaded, facts, chosen, dictionary, Reporter(), warned)
    modules = modules_for(chosen, dictionary, encoded.count)
    plan = plan_program(loaded, encoded.predicates(), modules=modules)
    warned.tell(never_joining(loaded, plan, encoded, dictionary, facts))
    sizes = _measure(encoded, plan, dictionary)
    description = _Description(loaded, plan, sizes)
    return {
        "rules": len(loaded.rules),
        "planned_rules": len(plan.rules),
        "stored_as_triples": plan.stored_as_triples,
        "sizes": {description.name(p): rows for p, rows in sorted(sizes.rows_of.items())},
        "hidden": {p.name: description.meaning(p) for p in sorted(plan.hidden)},
        "strata": description.strata(),
        "warnings": warned.texts,
    }


def _measure(encoded: EncodedFacts, plan: Plan, dictionary: Dictionary) -> Sizes:
    blocks: dict[Predicate, list[Any]] = {}
    for predicate, columns, size in encoded:
        if plan.stored_as_triples and is_triple_shaped(predicate):
            triples = triple_columns(predicate, columns, size, dictionary)
            blocks.setdefault(TRIPLE, []).append(triples)
        elif size:
            blocks.setdefault(predicate, []).append(columns)
    sizes = Sizes()
    for predicate, found in blocks.items():
        if not predicate.arity:
            sizes.rows_of[predicate] = 1
            continue
        whole = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        sizes.rows_of[predicate] = len(whole[0])
        for place, column in enumerate(whole):
            sizes.distinct_of[predicate, place] = int(np.unique(column).size)
    return sizes


@dataclass(frozen=True, slots=True)
class _Description:
    program: Program
    plan: Plan
    sizes: Sizes

    def name(self, predicate: Predicate) -> str:
        """Return a predicate as people write it, with its arity."""
        return f"{show_name(predicate.name, self.program.prefixes)}/{predicate.arity}"

    def strata(self) -> list[dict[str, Any]]:
        """Return all strata in the order of evaluation."""
        level_of: dict[Predicate, int] = {}
        described = []
        for stratum in self.plan.strata:
            level = _level(stratum, level_of)
            level_of |= dict.fromkeys(stratum.predicates, level)
            described.append(self._stratum(stratum, level))
        return described

    def _stratum(self, stratum: Stratum, level: int) -> dict[str, Any]:
        return {
            "level": level,
            "predicates": [self.name(p) for p in sorted(stratum.predicates)],
            "is_hidden": bool(stratum.predicates) and stratum.predicates <= self.plan.hidden,
            "is_recursive": bool(stratum.recursive),
            "rules": [
                self._rule(rule, stratum) for rule in (*stratum.nonrecursive, *stratum.recursive)
            ],
        }

    def _rule(self, rule: PlannedRule, stratum: Stratum) -> dict[str, Any]:
        recursive = rule in stratum.recursive
        is_first = [i for i, atom in enumerate(rule.body) if atom.predicate in stratum.predicates]
        return {
            "rule": self.text(rule),
            "source": rule.origin.text if rule.origin else None,
            "line": rule.origin.place.line if rule.origin and rule.origin.place else None,
            "is_recursive": recursive,
            "module": self._module(rule, stratum),
            "is_held": any(rule in m.rules and m.closing is not None for m in stratum.modules),
            "versions": [
                *([] if recursive else [self._version(Version(rule), "materialise")]),
                *(
                    self._version(
                        v, "materialise" if recursive and _starts(v, is_first) else "update"
                    )
                    for v in versions(rule)
                ),
            ],
        }

    def _module(self, rule: PlannedRule, stratum: Stratum) -> str | None:
        """Return what the module of a rule says of its relation, if it is in one."""
        for module in stratum.modules:
            if rule in module.rules:
                if module.kind is ModuleKind.CLOSURE and module.closing is not None:
                    return self._closing(module.closing)
                return f"{self.name(module.predicate)} is {module.kind.value}"
        return None

    def _closing(self, closing: ClosureSpec) -> str:
        """Return what rules together say of their relations."""
        first, *others = closing.sides
        name = self.name(first.predicate)
        if closing.steps is not None:
            side = "on the right" if first.is_turned else "on the left"
            return f"{name} follows steps of {self.name(closing.steps.predicate)} {side}"
        said = ["symmetric"] * closing.is_symmetric + ["transitive"]
        said += ["reflexive"] * (closing.has_sources or closing.has_targets)
        same = [self.name(s.predicate) + ", turned," * s.is_turned for s in others]
        also = f", and {' and '.join(same)} {'are' if same[1:] else 'is'} the same" if same else ""
        return f"{name} is {' and '.join(said)}{also}"

    def _version(self, version: Version, used: str) -> dict[str, Any]:
        steps = join_order(version, self.sizes)
        return {
            "delta": self._start(version),
            "used": used,
            "steps": [self._step(s) for s in steps],
        }

    def _start(self, version: Version) -> str | None:
        if version.start is None:
            return None
        atoms = version.rule.negated if version.negative else version.rule.body
        return ("NOT " if version.negative else "") + self._show(atoms[version.start])

    def _step(self, step: Step) -> dict[str, Any]:
        if isinstance(step, Compute):
            return {"compute": self._show(step.builtin)}
        found = {"read": self._show(step.atom), "from": step.role.value}
        if step.negated:
            return {"absent": found["read"], "from": found["from"]}
        arity = step.atom.predicate.arity
        access = "check" if len(step.bound) == arity else "index" if step.bound else "scan"
        return {**found, "access": access, "bound": list(step.bound)}

    def text(self, rule: PlannedRule) -> str:
        """Return a planned rule as text."""
        parts = [self._show(atom) for atom in rule.body]
        parts += [f"NOT {self._show(atom)}" for atom in rule.negated]
        parts += [self._show(builtin) for builtin in rule.builtins]
        if rule.grouping is not None:
            parts = [self._aggregate(rule)]
        return f"{self._show(rule.head)} :- {', '.join(parts)} ."

    def meaning(self, hidden: Predicate) -> str:
        """Return what a hidden predicate stands for."""
        if hidden == TRIPLE:
            return "all facts of IRI-named unary and binary predicates, as triples"
        rule = next(rule for rule in self.plan.rules if rule.head.predicate == hidden)
        if rule.grouping is not None:
            return self._aggregate(rule)
        parts = [self._show(atom) for atom in rule.body]
        parts += [f"NOT {self._show(atom)}" for atom in rule.negated]
        parts += [self._show(builtin) for builtin in rule.builtins]
        return f"{_KINDS[_kind(hidden)]} ({', '.join(parts)})"

    def _aggregate(self, rule: PlannedRule) -> str:
        assert rule.grouping is not None  # noqa: S101  # the caller has looked
        body = (*rule.body, *rule.builtins)
        return self._show(Aggregate(body, rule.grouping.group, rule.grouping.reductions))

    def _show(self, node: Any) -> str:  # noqa: ANN401  # any syntax
        return show(node, self.program.prefixes)


_KINDS = {
    "any": "a projection: _ is left out of",
    "value": "keys, by which FILTER's = joins, of the values in",
    "not": "what is inside NOT",
    "within": "what is inside NOT",
}


def _kind(hidden: Predicate) -> str:
    return hidden.name.strip("$0123456789")


def _level(stratum: Stratum, level_of: dict[Predicate, int]) -> int:
    """Return the length of the longest chain of strata below."""
    rules = (*stratum.nonrecursive, *stratum.recursive)
    below = {
        a.predicate for rule in rules for a in (*rule.body, *rule.negated)
    } - stratum.predicates
    return 1 + max((level_of[p] for p in below), default=0) if rules else 0


def _starts(version: Version, places: list[int]) -> bool:
    return not version.negative and version.start in places
