"""The kinds of schemes that the suite runs are those that the planner finds in rules."""

from __future__ import annotations

import pytest

from stratalog.lang.parse import parse_program
from stratalog.plan.program import plan_program
from tests.schemes.kinds import KINDS, PROGRAMS
from tests.schemes.model import Kind


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.schemes], ids=lambda kind: kind.name
)
def test_rules_say_what_the_kind_is(kind: Kind):
    plan = plan_program(parse_program(PROGRAMS[kind.name]), modules="auto")
    found = [stratum.closing for stratum in plan.strata if stratum.closing is not None]
    assert found == list(kind.schemes)
    assert [spec.is_plain for spec in found] == [spec.is_plain for spec in kind.schemes]
