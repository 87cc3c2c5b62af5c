"""What Spark's exceptions mean for the person who asked."""

from __future__ import annotations

from stratalog.errors import EngineError, StratalogError


def translate(error: BaseException, doing: str) -> StratalogError:
    """Return the coded error for what Spark raised while `doing` something."""
    if isinstance(error, StratalogError):
        return error
    return EngineError("E204", f"Spark failed while {doing}: {error}")
