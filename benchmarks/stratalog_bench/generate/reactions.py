"""Molecules that reactions make from one another in cells: facts that support each other in cycles.

Like biological pathways: a molecule comes from several reactions, many of which can be undone.
When a few explicit facts are deleted, most of what follows from them still follows from others,
which suits algorithms that look for another proof before they delete.

How well depends on how long proofs are, and how many facts lose one. With 10 of 100 molecules
given, proofs are long: the rest barely follows. With 30, most facts have several short ones. And a
fact on a reaction concerns all cells: where cells are few and molecules many, a deletion raises few
doubts.
"""

from __future__ import annotations

import numpy as np

from stratalog_bench.generate.draws import Draws
from stratalog_bench.generate.parameters import whole
from stratalog_bench.generate.workload import Workload, rows_of

PROGRAM = """\
present(?m, ?c) :- given(?m, ?c) .
occurs(?r, ?c) :- substrate(?r, ?m), present(?m, ?c), catalyst(?r, ?e), present(?e, ?c) .
present(?m, ?c) :- occurs(?r, ?c), product(?r, ?m) .
"""
NAMES = {
    "substrate": ("reaction", "molecule"),
    "product": ("reaction", "molecule"),
    "catalyst": ("reaction", "molecule"),
    "given": ("molecule", "cell"),
}


def pathways(
    molecules: int = 5_000, reactions: int = 10_000, cells: int = 20, given: int = 10, seed: int = 0
) -> Workload:
    """Return reactions that go both ways, and the molecules given in each cell, `given` in 100.

    A reaction and its reverse need a third molecule, their catalyst, and are numbered apart.
    """
    whole("molecules", molecules, least=3)
    whole("reactions", reactions, least=1, most=2**30)
    whole("cells", cells, least=1)
    whole("given", given, most=100)
    draws = Draws(whole("seed", seed))
    roles = np.full(reactions, 3)
    chosen = draws.samples(np.full(reactions, molecules), roles)[1].reshape(-1, 3)
    turned = draws.below(3, reactions)  # samples ascend: without turning, all reactions would, too
    one, other, catalyst = (
        chosen[np.arange(reactions), (turned + place) % 3] for place in range(3)
    )
    forth = molecules + np.arange(reactions)
    back = forth + reactions
    both = np.concatenate([forth, back])
    facts = {
        "substrate": rows_of(both, np.concatenate([one, other])),
        "product": rows_of(both, np.concatenate([other, one])),
        "catalyst": rows_of(both, np.tile(catalyst, 2)),
    }
    is_given = draws.below(100, cells * molecules) < given
    cell, molecule = np.divmod(np.flatnonzero(is_given), molecules)
    facts["given"] = rows_of(molecule, molecules + 2 * reactions + cell)
    return Workload(facts, NAMES, PROGRAM)
