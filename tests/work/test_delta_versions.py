"""Each case of the delta versions matters: change any one, and instances are lost or met twice.

Every mutation below is applied to `plan/delta.py` while a small program runs on the columnar
engine; the derivations must then differ from the definition's, which the reference engine spells
out.
"""

import pytest

from stratalog.lang.parse import parse_program
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.delta import Role, Version
from stratalog.plan.program import plan_program
from tests.agreement.test_apply import P, Q, R, columnar, derived, reference

TEXT = "h(?x, ?y) :- p(?x, ?y), q(?x, ?y), NOT r(?x), NOT q(?y, ?x) ."
FACTS = [(P, (a, b)) for a in range(4) for b in range(4)]
FACTS += [(Q, (a, b)) for a in range(4) for b in range(4)]
FACTS += [(R, (a,)) for a in range(4)]

POS = [f for f in FACTS if f[0] is not R]
NEG = [(Q, (0, b)) for b in range(4)] + [(R, (3,))]
POS_DELTA = [(Q, (2, 2)), (P, (1, 2)), (P, (2, 1)), (Q, (1, 2)), (Q, (1, 1)), (P, (1, 1))]
NEG_DELTA = [(Q, (2, 0)), (R, (1,)), (R, (2,)), (Q, (2, 1)), (Q, (2, 2)), (Q, (1, 2)), (Q, (3, 2))]

MUTATIONS = {
    "an earlier positive atom is read from all of pos": ("role", Role.OLD, Role.FULL, False),
    "a later positive atom is read without the delta": ("role", Role.FULL, Role.OLD, False),
    "positive atoms of a negative version are read from all of pos": (
        "role", Role.OLD, Role.FULL, True,
    ),
    "an earlier negative atom may be in the delta": (
        "negated_role", Role.OUTSIDE_BOTH, Role.OUTSIDE, True,
    ),
    "a later negative atom must be outside the delta too": (
        "negated_role", Role.OUTSIDE, Role.OUTSIDE_BOTH, True,
    ),
}  # fmt: skip


def derivations(engine):
    program = plan_program(parse_program(TEXT))
    return derived(engine, program, POS, NEG, POS_DELTA, NEG_DELTA)


def test_the_delta_versions_agree_with_the_definition():
    dictionary = Dictionary()
    found = derivations(columnar(FACTS, dictionary))
    assert found == derivations(reference(FACTS, dictionary))
    assert len(found) > 3


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutated_delta_version_is_noticed(name, monkeypatch):
    method, wrong, instead, negative = MUTATIONS[name]
    original = getattr(Version, method)

    def mutated(self, atom):
        role = original(self, atom)
        is_case = self.start is not None and self.negative == negative and role is wrong
        return instead if is_case else role

    dictionary = Dictionary()
    expected = derivations(reference(FACTS, dictionary))
    monkeypatch.setattr(Version, method, mutated)
    assert derivations(columnar(FACTS, dictionary)) != expected


@pytest.mark.parametrize("lost", [(0, False), (1, False), (0, True), (1, True)])
def test_a_lost_delta_version_is_noticed(lost, monkeypatch):
    from stratalog.engine.columnar import planned

    original = planned.versions
    monkeypatch.setattr(
        planned,
        "versions",
        lambda rule: tuple(v for v in original(rule) if (v.start, v.negative) != lost),
    )
    dictionary = Dictionary()
    found = derivations(columnar(FACTS, dictionary))
    assert found != derivations(reference(FACTS, dictionary))
