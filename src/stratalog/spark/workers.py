"""What a Python worker raised, read back from the text as which Spark hands it on."""

from __future__ import annotations

import re

from stratalog.errors import DataError, EngineError, ProgramError, StoreError, StratalogError

TRACEBACK = "Traceback (most recent call last)"

KINDS = {kind.__name__: kind for kind in (DataError, EngineError, ProgramError, StoreError)}

RENDERED = re.compile(
    r"stratalog\.errors\.(?P<kind>\w+): (?P<code>[A-Z]\d{3}): (?P<message>.*)"
    r"(?:\n  (?! |help: )(?P<place>.*))?"
    r"(?:\n    (?P<source>.*)(?:\n    (?P<caret> *)\^)?)?"
    r"(?:\n  help: (?P<help>.*))?"
)
PLACE = re.compile(r"(?:line |(?P<path>.+?)(?::|$))(?:(?P<line>\d+)(?::(?P<column>\d+))?)?")


def error_of_worker(text: str) -> StratalogError | None:
    """Return the error that Stratalog raised in a worker, with its code, path and line."""
    found = RENDERED.search(text)
    if found is None:
        return None
    place = PLACE.fullmatch(found["place"] or "")
    line, column = (place["line"], place["column"]) if place else (None, None)
    return KINDS.get(found["kind"], EngineError)(
        found["code"],
        found["message"],
        path=place["path"] if place else None,
        line=int(line) if line else None,
        column=int(column) if column else None,
        source=found["source"],
        caret=None if found["caret"] is None else len(found["caret"]) + 1,
        help=found["help"],
    )


def last_line_of_traceback(text: str) -> str:
    """Return `ValueError: what it says`, without the name of the exception's module."""
    lines = text.rpartition(TRACEBACK)[2].splitlines()[1:]
    told = next((line for line in lines if line and not line.startswith(" ")), "")
    return re.sub(r"^(?:\w+\.)+(?=\w+:)", "", told)
