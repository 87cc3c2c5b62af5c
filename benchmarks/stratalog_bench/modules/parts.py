"""The names of the parts, which the command line knows without NumPy."""

from __future__ import annotations

PARTS = ("tables", "dag", "examples", "clique", "universities", "without", "spark")
