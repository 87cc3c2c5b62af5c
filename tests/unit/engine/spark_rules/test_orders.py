"""In which order atoms are joined, and what is sent to all."""

from __future__ import annotations

from stratalog.engine.spark.rules.orders import BROADCAST, Extents, join_steps
from stratalog.engine.spark.rules.shapes import Row, shape_of, wanted
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.delta import Role, Version, versions
from tests.unit.engine.spark_rules.worlds import planned

LARGE = 100 * BROADCAST
ONLY_LEFT, ONLY_RIGHT = "/*+ BROADCAST(l) */", "/*+ BROADCAST(a) */"


def shaped(version: Version):
    terms, predicates = Dictionary(), []

    def number(predicate):
        if predicate not in predicates:
            predicates.append(predicate)
        return predicates.index(predicate)

    return shape_of(wanted(version), number, lambda term: int(terms.encode([term])[0]))


def rule(text: str):
    return planned(text)[0][0]


def test_names_and_order_of_atoms_make_no_shape():
    first = shaped(versions(rule("p(?x) :- e(?x, ?y), c(?y), NOT d(?x)."))[0])
    second = shaped(versions(rule("q(?a) :- k(?b), f(?a, ?b), NOT g(?a)."))[1])
    assert second[0].output == first[0].output
    assert second[0].absent == first[0].absent
    assert [read.args for read in second[0].reads] == [read.args for read in first[0].reads]
    assert {read.role for read in second[0].reads} == {Role.DELTA, Role.OLD}


def test_constants_are_part_of_the_row():
    one = shaped(Version(rule("p(?x, 1) :- e(?x, 2).")))
    other = shaped(Version(rule("q(?z, 5) :- f(?z, 7).")))
    assert one[0] == other[0]
    assert isinstance(one[1], Row)
    assert len(one[1].constants) == 2


def test_a_small_delta_is_sent_to_large_facts():
    shape, _ = shaped(versions(rule("p(?x, ?z) :- e(?x, ?y), f(?y, ?z)."))[1])
    steps = join_steps(shape, Extents(1, (3, LARGE), (), (1, 1)))
    assert [step.atom for step in steps] == [0, 1]
    assert shape.reads[0].role is Role.DELTA
    assert steps[1].hint == ONLY_LEFT


def test_small_facts_are_sent_to_a_large_delta():
    shape, _ = shaped(versions(rule("p(?x, ?z) :- e(?x, ?y), f(?y, ?z)."))[0])
    steps = join_steps(shape, Extents(1, (LARGE, 3), (), (1, 1)))
    assert steps[1].hint == ONLY_RIGHT


def test_nothing_large_is_sent():
    shape, _ = shaped(Version(rule("p(?x, ?z) :- e(?x, ?y), f(?y, ?z), NOT g(?x, ?z).")))
    steps = join_steps(shape, Extents(1, (LARGE, LARGE), (LARGE,), (1, 1)))
    assert [step.hint for step in steps[1:]] == ["", ""]
    assert not steps[2].narrowed


def test_no_product_while_an_atom_shares_a_variable():
    shape, _ = shaped(Version(rule("p(?x, ?w) :- e(?x, ?y), f(?y, ?z), g(?z, ?w).")))
    by_args = {read.args: place for place, read in enumerate(shape.reads)}
    ends = [by_args[min(by_args)], by_args[max(by_args)]]
    sizes = tuple(1 if place in ends else LARGE for place in range(3))
    steps = join_steps(shape, Extents(1, sizes, (), (1, 1, 1)))
    known = set(shape.reads[steps[0].atom].args)
    for step in steps[1:]:
        assert known & set(shape.reads[step.atom].args)
        known.update(shape.reads[step.atom].args)


def test_large_negated_facts_are_narrowed_by_few_bindings():
    shape, _ = shaped(versions(rule("p(?x) :- c(?x), NOT e(?x, ?x), NOT f(?x, ?x)."))[0])
    steps = join_steps(shape, Extents(1, (2,), (LARGE, LARGE), (1,)))
    assert [step.narrowed for step in steps] == [False, True, True]
