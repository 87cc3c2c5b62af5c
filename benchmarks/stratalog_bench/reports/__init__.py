"""Measurements of Stratalog alone, each run in a process of its own."""

from typing import Any

Figures = dict[str, Any]  # "columns", "rows" and "notes" of a report
