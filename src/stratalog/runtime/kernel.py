"""What a notebook's kernel shows: one display that is updated, and Arrow tables as tables."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

ARROW_TABLE = ("pyarrow.lib", "Table")


def shell() -> Any:  # noqa: ANN401  # IPython's, which may not be installed
    """Return IPython's shell if its kernel is running in this process, else None."""
    ipython: Any = sys.modules.get("IPython")
    if not hasattr(ipython, "get_ipython"):  # not there, or half imported
        return None
    found = ipython.get_ipython()
    return found if getattr(found, "kernel", None) is not None else None


def cell() -> int | None:
    """Return the number of the cell that is running, None where there is no notebook."""
    found = shell()
    return None if found is None else int(found.execution_count)


def show_tables(html: Callable[[Any], str]) -> None:
    """Let a notebook show Arrow tables, the answers of queries, as tables; others go first."""
    found = shell()
    if found is None:
        return
    formatter = found.display_formatter.formatters["text/html"]
    if formatter.for_type_by_name(*ARROW_TABLE) is None:
        formatter.for_type_by_name(*ARROW_TABLE, html)
