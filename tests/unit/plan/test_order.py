"""Which join orders are chosen, given sizes."""

import pytest

from stratalog.lang.parse import parse_program
from stratalog.plan.delta import Role, Version
from stratalog.plan.order import join_order, visits
from stratalog.plan.program import plan_program
from stratalog.plan.steps import Compute, Read


class Sizes:
    """Rows, and distinct constants per column, by name."""

    def __init__(self, **sizes):
        self._sizes = sizes

    def rows(self, predicate):
        return float(self._sizes[predicate.name][0])

    def distinct(self, predicate, column):
        return float(self._sizes[predicate.name][1 + column])


def order_of(text, sizes, start=None, delta_rows=None, *, negative=False):
    rule = plan_program(parse_program(text)).rules[0]
    return join_order(Version(rule, start, negative=negative), sizes, delta_rows)


def shown(steps):
    """Atoms by predicate and bound columns, joined by + where they are read together."""
    text = ""
    for step in steps:
        if isinstance(step, Compute):
            text += " compute"
        else:
            bound = "".join(map(str, step.bound))
            text += ("+" if step.together else " ") + step.atom.predicate.name + bound
    return text.strip()


CHAIR = "chair(?x) :- person(?x), head(?x, ?y), department(?y) ."
CHAIRS = Sizes(person=(1_000_000, 1_000_000), head=(1000, 1000, 1000), department=(1000, 1000))


@pytest.mark.parametrize(
    ("delta_rows", "expected"),
    [(None, "person head0 department0"), (900_000.0, "head person0 department0")],
)
def test_a_large_delta_is_read_where_it_is_cheapest(delta_rows, expected):
    steps = order_of(CHAIR, CHAIRS, 0, delta_rows)
    assert shown(steps) == expected
    roles = {step.atom.predicate.name: step.role for step in steps if isinstance(step, Read)}
    assert roles == {"person": Role.DELTA, "head": Role.FULL, "department": Role.FULL}


def test_a_large_delta_that_gains_little_elsewhere_stays_first():
    sizes = Sizes(p=(10_000, 10_000, 100), q=(9_000, 9_000, 100))
    steps = order_of("h(?x) :- p(?x, ?y), q(?x, ?z) .", sizes, 0, 10_000.0)
    assert shown(steps) == "p q0"


def test_roles_do_not_depend_on_the_order():
    sizes = Sizes(p=(100_000, 50_000, 50_000), q=(10, 10, 10))
    steps = order_of("h(?x) :- p(?x, ?y), q(?y, ?z), p(?z, ?w) .", sizes, 2, 90_000.0)
    roles = [(s.atom.args[0].name, s.role) for s in steps if isinstance(s, Read)]
    assert shown(steps).startswith("q")
    assert sorted(roles) == [("x", Role.OLD), ("y", Role.OLD), ("z", Role.DELTA)]


@pytest.mark.parametrize(("delta_rows", "bound"), [(None, ()), (5_000.0, ()), (900_000.0, (1,))])
def test_a_large_delta_with_a_constant_is_found_by_it(delta_rows, bound):
    sizes = Sizes(p=(1_000_000, 500_000, 100))
    assert order_of("h(?x) :- p(?x, 7) .", sizes, 0, delta_rows)[0].bound == bound


def test_atoms_that_miss_the_same_variable_are_read_together():
    sizes = Sizes(edge=(1_000_000, 20_000, 20_000))
    text = "triangle(?x, ?y, ?z) :- edge(?x, ?y), edge(?y, ?z), edge(?z, ?x) ."
    assert shown(order_of(text, sizes)) == "edge edge0+edge1"
    assert shown(order_of(text, sizes, 1)) == "edge edge1+edge0"


def test_atoms_with_few_facts_per_binding_are_read_one_after_the_other():
    sizes = Sizes(p=(1000, 10, 1000), q=(1000, 1000, 1000))
    steps = order_of("h(?x) :- p(?x, ?y), q(?x, ?z), q(?y, ?z) .", sizes, 0)
    assert "+" not in shown(steps)


def test_an_atom_with_a_repeated_variable_is_read_alone():
    sizes = Sizes(p=(100_000, 100, 100, 100), q=(100_000, 100, 100), k=(10, 10))
    steps = order_of("h(?x) :- k(?x), p(?x, ?y, ?y), q(?x, ?y) .", sizes)
    assert "+" not in shown(steps)


def test_checks_come_as_soon_as_their_variables_are_known():
    sizes = Sizes(edge=(1_000_000, 20_000, 20_000), good=(10, 10))
    text = (
        "h(?x, ?z) :- edge(?x, ?y), edge(?y, ?z), edge(?z, ?x), ?x < ?y, ?z > 3,"
        " NOT good(?x), NOT good(?z) ."
    )
    assert shown(order_of(text, sizes)) == "edge good0 compute edge0+edge1 good0 compute"


def test_a_negative_delta_is_read_first():
    sizes = Sizes(edge=(1_000_000, 20_000, 20_000), good=(10, 10))
    steps = order_of("h(?x) :- edge(?x, ?y), NOT good(?y) .", sizes, 0, negative=True)
    assert [s.role for s in steps] == [Role.NEGATED_DELTA, Role.OLD]
    assert shown(steps) == "good edge1"


def test_a_body_of_many_atoms_is_ordered_greedily():
    names = "abcdefgh"
    sizes = Sizes(**{n: (1000 - 100 * i, 50, 50) for i, n in enumerate(names)})
    body = ", ".join(f"{n}(?v{i}, ?v{i + 1})" for i, n in enumerate(names))
    steps = order_of(f"r(?v0, ?v8) :- {body} .", sizes)
    assert shown(steps) == "h g1 f1 e1 d1 c1 b1 a1"
    assert shown(order_of(f"r(?v0, ?v8) :- {body} .", sizes, 0, 900.0)).startswith("a b0")


def test_visits_are_per_fact_of_the_delta():
    from_delta = visits(order_of(CHAIR, CHAIRS, 0), CHAIRS)
    anywhere = visits(order_of(CHAIR, CHAIRS, 0, 900_000.0), CHAIRS, 900_000.0)
    assert from_delta > 1
    assert anywhere < 0.01


MET = Sizes(a=(1000, 10, 100), b=(6000, 3000, 2), c=(9000, 100, 10, 9), n=(10, 10))


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        ("h(?x) :- a(1, ?x), b(?x, 2) .", 1, "a0+b1"),
        ("h(?x) :- b(?x, 2), a(1, ?x), NOT n(?x) .", 0, "b1+a0 n0"),
        ("h(?x) :- a(1, ?x), b(?x, 2), c(?x, 3, 4) .", 1, "a0+b1+c12"),
    ],
)
def test_a_delta_that_is_read_together_with_others_is_found_by_its_constants(text, start, expected):
    assert shown(order_of(text, MET, start, 5_900.0)) == expected


def test_a_delta_with_a_repeated_variable_is_read_alone():
    assert "+" not in shown(order_of("h(?x) :- a(1, ?x), b(?x, ?x) .", MET, 1, 5_900.0))


def test_a_small_delta_is_scanned_also_where_a_bind_knows_a_column():
    text = "h(?x) :- b(?y, ?x), BIND(1 AS ?y) ."
    assert shown(order_of(text, MET, 0)) == "compute b"
    assert shown(order_of(text, MET, 0, 5_900.0)) == "compute b0"
