"""Facts for a benchmark, as arrays of integers by predicate, and the rules meant for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Workload:
    """Facts and rules: `stratalog.materialise(workload.rules, workload.facts)`.

    `facts` has an array per predicate, a row per fact; `names` has the names of its columns.
    """

    facts: Mapping[str, Rows]
    names: Mapping[str, tuple[str, ...]]
    program: str

    @property
    def rules(self) -> str:
        """The rules, after declarations by which text files are read as integers."""
        declared = (
            f"@declare {predicate}({', '.join(f'{name} integer' for name in names)}) .\n"
            for predicate, names in self.names.items()
        )
        return "".join(declared) + "\n" + self.program

    @property
    def count(self) -> int:
        """The number of facts."""
        return sum(self.counts().values())

    def counts(self) -> dict[str, int]:
        """Return the number of facts of each predicate."""
        return {predicate: len(rows) for predicate, rows in self.facts.items()}

    def tables(self) -> dict[str, pa.Table]:
        """Return an Arrow table for each predicate."""
        import pyarrow as pa

        return {
            predicate: pa.table(list(np.ascontiguousarray(rows.T)), names=self.names[predicate])
            for predicate, rows in self.facts.items()
        }


def rows_of(*columns: npt.ArrayLike) -> Rows:
    """Return columns side by side; a single number fills its column."""
    return np.stack(np.broadcast_arrays(*columns), axis=1).astype(np.int64)
