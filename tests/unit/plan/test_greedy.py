"""Orders of long bodies: how many estimates they take, and that they are good ones."""

from random import Random
from types import SimpleNamespace

import pytest

from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Variable
from stratalog.plan import order
from stratalog.plan.delta import versions
from stratalog.plan.greedy import greedy_groups
from stratalog.plan.order import join_order
from stratalog.plan.program import plan_program
from stratalog.plan.steps import Read

SHAPES = {
    "chain": lambda n: [f"e{i}(?x{i}, ?x{i + 1})" for i in range(n)],
    "star": lambda n: [f"e{i}(?x0, ?x{i + 1})" for i in range(n)],
    "apart": lambda n: [f"e{i}(?x{i}, {i})" for i in range(n)],
    "ground": lambda n: [f"e{i}({i}, {i + 1})" for i in range(n)],
    "one variable": lambda n: [f"e{i}({i}, ?x0)" for i in range(n)],
    "a variable comes, and an atom more that misses the last": lambda n: [
        f"e{i}({', '.join([f'?x{i // 2}', f'?x{i // 2 + 1}' if i % 2 else '?z'])})"
        for i in range(n)
    ],
}


class Sizes:
    def rows(self, predicate):
        return 1000.0 + int(predicate.name[1:])

    def distinct(self, _, column):
        return 20.0 + column


def rule_of(shape, atoms):
    head = "p()" if shape == "ground" else "p(?x0)"
    return plan_program(parse_program(f"{head} :- {', '.join(SHAPES[shape](atoms))} .")).rules[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_estimates_for_one_version_are_at_most_quadratic_in_its_atoms(shape, monkeypatch):
    calls = []
    counted = order.matching
    monkeypatch.setattr(order, "matching", lambda *args: calls.append(args) or counted(*args))
    made = []
    for atoms in (40, 80, 160):
        calls.clear()
        steps = join_order(versions(rule_of(shape, atoms))[atoms // 2], Sizes())
        assert len(steps) == atoms
        made.append(len(calls))
    assert made[1] <= 4.2 * made[0]
    assert made[2] <= 4.2 * made[1]
    if shape in {"chain", "star", "apart", "ground"}:
        assert made[2] <= 4 * 160


@pytest.mark.parametrize("shape", SHAPES)
def test_no_atom_is_read_without_a_known_column_if_another_has_one(shape):
    for version in versions(rule_of(shape, 20))[::7]:
        first, *others = join_order(version, Sizes())
        assert first.atom == version.rule.body[version.start]
        assert {id(first.atom), *(id(s.atom) for s in others)} == set(map(id, version.rule.body))
        if shape in {"chain", "star"}:
            assert all(step.bound for step in others)


@pytest.mark.parametrize("seed", range(40, 50))
def test_atoms_are_read_together_only_while_they_miss_a_variable(seed):
    rule = (
        "h(?x) :- t(?x, ?x, ?x), t(?y, ?w, ?x), s(?z, 2), p(?w), t(?x, 1, ?w), q(?y, ?x), p(?z), "
        "s(?w, ?y), p(?y) ."
    )
    atoms = dict(enumerate(plan_program(parse_program(rule)).rules[0].body))
    random = Random(seed)
    told = SimpleNamespace(growth=lambda *_: (random.choice((0.5, 1.0, 3.0)), 1.0))
    known = set()
    for group in greedy_groups(atoms, [], known, told):
        missing = [{a for a in atoms[i].args if isinstance(a, Variable)} - known for i in group]
        assert len(group) == 1 or all(len(m) == 1 and m == missing[0] for m in missing)
        known |= set().union(*missing)


def test_the_smallest_result_comes_first_and_ties_go_by_cost_then_place():
    growths = {(0,): (3.0, 1.0), (1,): (2.0, 9.0), (2,): (2.0, 5.0), (3,): (2.0, 5.0)}
    told = SimpleNamespace(growth=lambda group, _: growths.get(group))
    atoms = dict(enumerate(rule_of("apart", 4).body))
    assert greedy_groups(atoms, [], set(), told) == [(2,), (3,), (1,), (0,)]


def test_a_bind_makes_its_variable_known_to_later_atoms():
    filling = ", ".join(f"e{i}(?x0, ?x{i + 1})" for i in range(8))
    text = f"p(?x0) :- {filling}, e9(?m, ?w), BIND(?x3 + 1 AS ?m) ."
    rule = plan_program(parse_program(text), has_keys=False).rules[0]
    steps = join_order(versions(rule)[0], Sizes())
    names = [step.atom.predicate.name if isinstance(step, Read) else "BIND" for step in steps]
    assert names.index("e2") < names.index("BIND") < names.index("e9")
    assert steps[names.index("e9")].bound == (0,)
