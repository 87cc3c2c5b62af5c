"""The table of maintenance algorithms: the choices of `maintenance`, but for `auto`.

To add an algorithm takes a line here, and a file with its `maintain`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stratalog.plan.rules import Stratum
from stratalog.reason import bf, bf_c, counting, dred, dred_c, rematerialise
from stratalog.reason.modules import bf_c_mod, dred_c_mod
from stratalog.reason.update import Maintain


@dataclass(frozen=True, slots=True)
class Algorithm:
    """How a stratum is updated after its earlier strata."""

    name: str
    plain: Maintain
    with_modules: Maintain | None = None  # without it, the rules of modules are like all others
    check: Callable[[Stratum], None] | None = None  # raises for a stratum that it cannot follow
    is_candidate: Callable[[Stratum, bool], bool] | None = None  # of `auto`; whether facts may go

    def of(self, stratum: Stratum) -> Maintain:
        """Return the function that updates a stratum."""
        return self.with_modules if stratum.modules and self.with_modules else self.plain


def _has_proofs(stratum: Stratum, deletes: bool) -> bool:  # as the table says
    """Return whether proofs make a difference: insertion is the same in all algorithms."""
    is_exact = any(module.is_alone for module in stratum.modules)  # with nothing to prove
    return bool(stratum.recursive) and deletes and not is_exact


_TABLE = (
    Algorithm(
        "counting",
        counting.maintain,
        check=counting.check,
        is_candidate=lambda stratum, _: counting.applies_to(stratum),
    ),
    Algorithm("dred", dred.maintain),
    Algorithm(
        "dred-c",
        dred_c.maintain,
        dred_c_mod.maintain,
        is_candidate=lambda stratum, _: bool(stratum.recursive),
    ),
    Algorithm("bf", bf.maintain),
    Algorithm("bf-c", bf_c.maintain, bf_c_mod.maintain, is_candidate=_has_proofs),
    Algorithm("rematerialise", rematerialise.maintain),
)
ALGORITHMS = {algorithm.name: algorithm for algorithm in _TABLE}


def candidates(stratum: Stratum, *, deletes: bool) -> tuple[str, ...]:
    """Return the algorithms that `auto` may try for a stratum, in the order of the table."""
    return tuple(a.name for a in _TABLE if a.is_candidate and a.is_candidate(stratum, deletes))
