# ruff: noqa: INP001  # a script, not a package
"""Write the facts of this example: made-up packages, the same ones each time."""

from __future__ import annotations

import csv
import random
from pathlib import Path

NAMES = ("amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heath")
REACH = 3
"""A package needs only some of the next three in the list, so that there are no circles."""


def make(seed: int = 1) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the rows of `package` and of `depends`."""
    chance = random.Random(seed)  # noqa: S311  # nothing secret
    packages: list[tuple[str, ...]] = []
    depends: list[tuple[str, ...]] = []
    for place, name in enumerate(NAMES):
        later = NAMES[place + 1 : place + 1 + REACH]
        for version in (f"1.{chance.randint(0, 4)}", f"1.{chance.randint(5, 12)}"):
            packages.append((name, version))
            needed = chance.sample(later, min(2, len(later)))
            depends += [(name, version, other, f"1.{chance.randint(0, 10)}") for other in needed]
    return packages, depends


def write(folder: Path) -> None:
    """Write both tables, with the declared names in the first line."""
    packages, depends = make()
    headers = {"package": ("name", "version"), "depends": ("name", "version", "needed", "least")}
    for (name, header), rows in zip(headers.items(), (packages, depends), strict=True):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])


if __name__ == "__main__":
    write(Path(__file__).parent / "facts")
