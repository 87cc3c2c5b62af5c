"""The distribution `stratalog-bench`, which is imported only where its commands are asked for."""

from __future__ import annotations

from stratalog.errors import StratalogError

INSTALL = "pip install -e benchmarks"


def not_installed(what: str) -> StratalogError:
    """Return the error for something that comes with the benchmarks."""
    return StratalogError(
        "B110",
        f"{what} is part of stratalog-bench, which is not installed",
        help=f"{INSTALL}, in a checkout of Stratalog, brings it",
    )
