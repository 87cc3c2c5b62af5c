"""Which algorithm maintains which stratum in an update."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from stratalog.plan.rules import Stratum
from stratalog.reason import counting
from stratalog.reason.update import Maintain

ALGORITHMS = {
    "counting": "counting",
    "dred": "dred",
    "dred-c": "dred_c",
    "bf": "bf",
    "bf-c": "bf_c",
    "rematerialise": "rematerialise",
}
"""The file of `reason/` that each choice of `maintenance` stands for."""


class Choice(NamedTuple):
    """An algorithm for a stratum, and why it is the one."""

    name: str
    why: str

    @property
    def maintain(self) -> Maintain:
        """The algorithm itself."""
        found: Maintain = import_module(f"stratalog.reason.{ALGORITHMS[self.name]}").maintain
        return found


def choose(stratum: Stratum, maintenance: str) -> Choice:
    """Return the algorithm for a stratum."""
    if maintenance != "auto":
        return Choice(maintenance, "asked for")
    kind = "recursive rules" if stratum.recursive else "no recursive rules"
    return Choice("dred-c", f"{kind}; counts are kept, which spares most rederivation")


def check_maintenance(strata: Sequence[Stratum], maintenance: str) -> None:
    """Refuse an algorithm that cannot keep some stratum, before anything is changed."""
    if maintenance == "counting":
        for stratum in strata:
            counting.check(stratum)
