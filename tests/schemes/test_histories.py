"""Every kind of scheme, through random histories, against Python sets."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.schemes.kinds import KINDS
from tests.schemes.machine import Histories
from tests.schemes.model import Kind

SHARE = 4  # of the usual number of examples, for each kind
STEPS = 20


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_relations_are_what_their_scheme_says_at_every_moment_of_a_history(kind: Kind):
    class OfKind(Histories):
        pass

    OfKind.kind = kind
    run_state_machine_as_test(
        OfKind,
        settings=settings(
            max_examples=max(1, settings().max_examples // SHARE), stateful_step_count=STEPS
        ),
    )
