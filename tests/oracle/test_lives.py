"""A knowledge base equals the judge at every moment of its life, whatever happens to it.

Updates by any algorithm, questions, errors, interrupts, spent budgets, a failing disk, rules that
come and go, stores that are opened again or overtaken by another writer.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import assume, given, note, settings

from stratalog.errors import ProgramError
from tests import lives, naive
from tests.lives import Life
from tests.oracle.living import Judge, live

SHARE = 3  # of the usual number of examples: a life is judged at some ten moments


def follow(life: Life, engine: str) -> None:
    """Live a life; what the judge cannot do is skipped."""
    note(lives.show(life))
    try:
        Judge(life).see_all()
        with tempfile.TemporaryDirectory() as folder:
            live(life, engine, Path(folder))
    except naive.TooLargeError:
        assume(condition=False)
    except ProgramError as error:
        assume(error.code != "S303")  # a built-in inside NOT that looks at a recursion
        raise


@given(life=lives.lives())
@settings(max_examples=max(1, settings().max_examples // SHARE))
def test_a_knowledge_base_is_exact_at_every_moment_of_its_life(engine: str, life: Life):
    follow(life, engine)
