"""Errors and warnings that point into the program's text."""

from __future__ import annotations

import re
from typing import TypeVar

from stratalog.errors import ProgramError, StratalogWarning
from stratalog.lang.syntax import Place

_WINDOW = 100  # characters of a long line that are shown around the place
_PIECE = re.compile(
    r'''("""(?:"{0,2}(?:[^"\\]|\\.))*"""|\'\'\'(?:'{0,2}(?:[^'\\]|\\.))*\'\'\''''
    r"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"""
    r"""|<[^\s<>"{}|^`]*>|[\w·.-]+(?::(?:[\w·:%.-]|\\.)*)?|:(?:[\w·:%.-]|\\.)*)"""
    r"|((?:(?:#|%|//)[^\n]*|\s+)+)",
    re.DOTALL,
)


_Kind = TypeVar("_Kind", ProgramError, StratalogWarning)


def mistake(
    code: str,
    message: str,
    place: Place | None,
    source: str | None,
    help: str | None,  # noqa: A002  # the word that the message prints
) -> ProgramError:
    """Return the error at `place`, whose column counts in `source`; long lines are cut."""
    return _placed(ProgramError, code, message, place, source, help)


def caution(
    code: str,
    message: str,
    place: Place | None,
    source: str | None,
    help: str | None,  # noqa: A002
) -> StratalogWarning:
    """Return the warning at `place`, shown as a mistake is."""
    return _placed(StratalogWarning, code, message, place, source, help)


def _placed(
    kind: type[_Kind],
    code: str,
    message: str,
    place: Place | None,
    source: str | None,
    help: str | None,  # noqa: A002
) -> _Kind:
    if place is None:
        return kind(code, message, source=source, help=help)
    caret = place.column
    if source is not None:
        source, caret = _window(source, caret)
    return kind(
        code,
        message,
        path=place.path,
        line=place.line,
        column=place.column,
        source=source,
        caret=caret,
        help=help,
    )


def _window(source: str, column: int) -> tuple[str, int]:
    source = source.expandtabs(1).rstrip()
    if len(source) <= _WINDOW:
        return source, column
    start = max(0, min(column - _WINDOW // 2, len(source) - _WINDOW))
    shown = source[start : start + _WINDOW]
    before = "…" if start else ""
    after = "…" if start + _WINDOW < len(source) else ""
    return before + shown + after, column - start + len(before)


def line_at(text: str, position: int) -> tuple[int, int, str]:
    """Return the line number, the column and the line of a position in a text."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start:] if end < 0 else text[start:end]
    return text.count("\n", 0, start) + 1, position - start + 1, line


def one_line(source: str) -> str:
    """Return a rule's text on one line, without comments; what stands in quotes is kept."""
    if "\n" not in source:
        return source.strip()
    return _PIECE.sub(_kept, source).strip()


def _kept(piece: re.Match[str]) -> str:
    return " " if piece[1] is None else piece[1].replace("\r", "\\r").replace("\n", "\\n")


def last_end(text: str, position: int) -> int:
    """Return where the last word before `position` ends, comments and blanks left out."""
    end = start = 0
    while start < position:
        piece = _PIECE.search(text, start, position)
        if piece is None:
            return position
        if piece.start() > start or piece[1] is not None:
            end = piece.start() if piece[1] is None else piece.end()
        start = piece.end()
    return end


def position_of(text: str, place: Place) -> int:
    """Return the position of a place in the text that it is in."""
    before = text.split("\n")[: place.line - 1]
    return sum(len(line) + 1 for line in before) + place.column - 1
