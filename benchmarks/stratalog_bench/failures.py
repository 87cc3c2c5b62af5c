"""Errors of benchmarks, and how a system says that it cannot express a program."""

from __future__ import annotations

from stratalog.errors import StratalogError


class BenchmarkError(StratalogError):
    """A benchmark cannot be run, or its result cannot be trusted: B1xx."""


class Inexpressible(Exception):  # noqa: N818  # an answer, not an error
    """The system has no way to write this program; the text says what is missing."""
