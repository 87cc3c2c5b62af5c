"""Programs for Andersen's points-to analysis: allocations, assignments, loads and stores."""

from __future__ import annotations

import numpy as np

from stratalog_bench.generate.draws import Draws
from stratalog_bench.generate.parameters import whole
from stratalog_bench.generate.workload import Rows, Workload, rows_of

PROGRAM = """\
points(?y, ?x) :- address(?y, ?x) .
points(?y, ?x) :- assign(?y, ?z), points(?z, ?x) .
points(?y, ?w) :- load(?y, ?x), points(?x, ?z), points(?z, ?w) .
points(?z, ?w) :- store(?y, ?x), points(?y, ?z), points(?x, ?w) .
"""
STATEMENTS = ("address", "assign", "load", "store")


def points_to(  # each is a number of the table that a benchmark quotes
    modules: int = 140,
    variables: int = 400,
    addresses: int = 300,
    assigns: int = 800,
    loads: int = 8,
    stores: int = 8,
    seed: int = 0,
) -> Workload:
    """Return the statements of program modules that know only their own variables.

    `address(y, x)` is y = &x, `assign(y, x)` is y = x, `load(y, x)` is y = *x and `store(y, x)` is
    *y = x; a statement drawn twice counts once.
    """
    whole("modules", modules, least=1)
    whole("variables", variables, least=1)
    amounts = {"addresses": addresses, "assigns": assigns, "loads": loads, "stores": stores}
    draws = Draws(whole("seed", seed))
    facts: dict[str, Rows] = {}
    for statement, (name, amount) in zip(STATEMENTS, amounts.items(), strict=True):
        size = modules * whole(name, amount, most=10_000_000)
        first = np.repeat(np.arange(modules) * variables, amount)
        left, right = draws.below(variables, size), draws.below(variables, size)
        facts[statement] = np.unique(rows_of(first + left, first + right), axis=0)
    return Workload(facts, dict.fromkeys(STATEMENTS, ("left", "right")), PROGRAM)
